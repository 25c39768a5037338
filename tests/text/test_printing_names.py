"""JAX's names for printing: rules for equations of libraries' primitives, in JAX's words."""

from __future__ import annotations

from collections import OrderedDict
from importlib import import_module

from tests.oracle import both


def with_rule(jx):
    """The text of a program with a primitive that has a rule of its own, and parts of it."""
    core = import_module(f"{jx.__name__}._src.core")
    pp = import_module(f"{jx.__name__}._src.pretty_printer")
    twice_p = import_module(f"{jx.__name__}.extend.core").Primitive("twice_as_printed")
    twice_p.def_abstract_eval(lambda x, **params: x)

    def rule(eqn, context, settings):
        return pp.concat([
            core.pp_vars(eqn.outvars, context, print_shapes=settings.print_shapes),
            pp.text(" <- "), pp.text(eqn.primitive.name),
            core.pp_kv_pairs(sorted(eqn.params.items()), context, settings),
            pp.text(" | "), core.pp_vars(eqn.invars, context)])

    core.pp_eqn_rules[twice_p] = rule

    def texts(x):
        jaxpr = jx.make_jaxpr(lambda x: twice_p.bind(jx.numpy.sin(x) * 2, a=1, b=(2, 3)))(x).jaxpr
        sin, _, twice = jaxpr.eqns
        names = core.JaxprPpContext()
        return [
            str(jaxpr), core.pp_eqn(sin, names, core.JaxprPpSettings()).format(),
            core.pp_eqn(twice, names, core.JaxprPpSettings(custom_pp_eqn_rules=False)).format(),
            core.pp_jaxpr(jaxpr, names, core.JaxprPpSettings(print_shapes=False)).format(),
            core.pp_var(sin.outvars[0], names, is_binder=True).format(),
            core.pp_vars(sin.outvars, names, is_binder=True).format(),
            core.pp_kv_pairs([], names, core.JaxprPpSettings()).format(),
            tuple(core.JaxprPpSettings()), twice_p in core.pp_eqn_rules]

    return texts


def test_rules_for_equations_of_libraries():
    both(with_rule, 1.0)


def test_array_mappings():
    def of(jx):
        pxla = import_module(f"{jx.__name__}.interpreters.pxla")
        mappings = [OrderedDict(), OrderedDict(x=0, y=2), OrderedDict(x=0, y=0), OrderedDict(x=1)]
        return lambda: [str(pxla.array_mapping_to_axis_resources(m)) for m in mappings]

    both(of)


def test_classes_of_mlir():
    """They are jaxlib's own, and so read what a lowered program says."""
    import minijax
    from minijax.extend.mlir import ir
    from minijax.extend.mlir.dialects import func

    module = minijax.jit(lambda x: x + 1).lower(1.0).compiler_ir()
    assert isinstance(module, ir.Module)
    assert isinstance(module.body.operations[0], func.FuncOp)
