"""Chapter 16: calling an exported function.

`call_exported` is a primitive. It is lowered by writing the functions of the exported module into
the module of the caller. Its derivative is the exported derivative, by a custom rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from ..checks.tree import equality_errors
from ..core.core import Primitive, ShapedArray
from ..core.dtypes import float0
from ..core.lowering import Module, Value, register_lowering, tensor_type
from ..core.tree import tree_flatten
from ..custom_rules import custom_vjp
from ..lax.control_flow.common import op_with_regions
from ..runtime import load, xla
from ..runtime.dispatch import apply_primitive
from .dimensions import Dim, evaluate, is_symbolic
from .exported import (
    DisabledSafetyCheck,
    Exported,
    default_export_platform,
    for_several_devices,
)
from .solving import ArgumentShapes, argument_name, leaf_name
from .words import lower_as_keys, lower_as_words, words_type

call_exported_p = Primitive("call_exported", multiple_results=True)
call_exported_p.def_impl(partial(apply_primitive, call_exported_p))


def call_exported(exported: Exported) -> Callable:
    """The function of an `Exported`, of pytrees of arrays."""
    @custom_vjp
    def f_flat(*args_flat):
        return call_exported_p.bind(*args_flat, exported=exported)

    def f_flat_vjp_fwd(*args_flat):
        return f_flat(*args_flat), args_flat

    def f_flat_vjp_bwd(args_flat, out_cts):
        derivative = exported.vjp()
        avals = derivative.in_avals[len(args_flat):]
        out_cts = [np.zeros(aval.shape, float0) if aval.dtype == float0 else ct
                   for ct, aval in zip(out_cts, avals)]
        return call_exported(derivative)(*args_flat, *out_cts)

    f_flat.defvjp(f_flat_vjp_fwd, f_flat_vjp_bwd)

    def f_imported(*args, **kwargs):
        args_flat, in_tree = tree_flatten((args, kwargs))
        if in_tree != exported.in_tree:
            raise ValueError(_structure_error(exported, in_tree))
        return exported.out_tree.unflatten(f_flat(*args_flat))

    return f_imported


def _structure_error(exported, in_tree):
    given, wanted = (tree.unflatten([0] * tree.num_leaves) for tree in (in_tree, exported.in_tree))
    lines = [f"   - {argument_name(path)} is {one} in the invocation and {two} when exported, so "
             f"{why}.\n" for path, one, two, why in equality_errors(given, wanted)]
    return ("The invocation args and kwargs must have the same pytree structure as when the "
            f"function '{exported.fun_name}' was exported, but they have the following structural "
            "differences:\n" + "\n".join(lines))


# ----------------------------------------------------------------------------------------------
# The rules of the primitive


@call_exported_p.def_effectful_abstract_eval
def _abstract_eval(*avals, exported):
    for i, (expected, found) in enumerate(zip(exported.in_avals, avals)):
        _check_argument(exported, i, expected, found)
    shapes = ArgumentShapes(exported.in_avals, exported.in_tree)
    values = shapes.solve(avals)
    outs = [ShapedArray(tuple(evaluate(size, values) for size in aval.shape), aval.dtype,
                        aval.weak_type) for aval in exported.out_avals]
    if any(exported._out_named_shardings) or any(aval.placement is not None for aval in avals):
        outs = for_several_devices().placed_avals(outs, exported._out_named_shardings)
    return outs, {*exported.ordered_effects, *exported.unordered_effects}


def _check_argument(exported, number, expected, found):
    if expected.dtype == found.dtype and expected.shape == found.shape:
        return
    name = leaf_name(exported.in_tree, number)
    if len(expected.shape) != len(found.shape):
        raise ValueError(f"Rank mismatch for {name}: expected {expected.shape} and called with "
                         f"{found.shape}")
    if expected.dtype != found.dtype:
        raise ValueError(f"Dtype mismatch for {name}: expected {expected.dtype} and called with "
                         f"{found.dtype}")
    for d, (size, other) in enumerate(zip(expected.shape, found.shape)):
        if size != other and not isinstance(size, Dim):
            raise ValueError(
                f"Shape mismatch for {name}.shape[{d}] (expected same constant): expected "
                f"{expected.shape} and called with {found.shape}")


# The functions of exported modules that a module holds already: module -> Exported -> name.
_written: WeakKeyDictionary[Module, dict[Any, str]] = WeakKeyDictionary()


def _lower(ctx, *operands, exported):
    """The lowering rule. On several devices, arguments and results lie as the function says."""
    if exported.nr_devices == 1 and not getattr(ctx.module, "devices", ()):
        return _lower_call(ctx, operands, exported)
    parallel = for_several_devices()
    parallel.check_device_count(ctx, exported.fun_name, exported.nr_devices)
    avals = ctx.avals_out
    operands = [*map(partial(parallel.constrained, ctx), operands, exported._in_named_shardings)]
    outs = _lower_call(ctx, operands, exported)
    ctx.avals_out = avals
    return [*map(partial(parallel.constrained, ctx), outs, exported._out_named_shardings)]


def _lower_call(ctx, operands, exported):
    module = ctx.module
    platforms = getattr(module, "platforms", (default_export_platform(),))
    numbers = _platform_numbers(exported, platforms)
    if exported.uses_global_constants and hasattr(module, "polymorphic"):
        module.polymorphic = True
    kept = lower_as_words(ctx, [operands[i] for i in exported.module_kept_var_idx])
    avals = [*map(words_type, ctx.avals_out)]
    is_known = not any(map(is_symbolic, [*(x.aval for x in kept), *avals]))
    if is_known and len({*numbers}) == 1:
        name = _function(module, exported, [x.type for x in kept], numbers[0])
        results = [*map(tensor_type, avals)]
    else:
        if len(exported.platforms) > 1:
            kept.insert(0, _platform_number(ctx, numbers))
        name, types, results = _unrefined_function(module, exported)
        kept = [_converted(ctx, x, kind) for x, kind in zip(kept, types)]
    outs = ctx.ops(_call(name, kept, results), avals)
    outs = [_converted(ctx, Typed(x.name, x.aval, kind), tensor_type(x.aval))
            for x, kind in zip(outs, results)]
    return lower_as_keys(ctx, [Value(x.name, aval) for x, aval in zip(outs, avals)], ctx.avals_out)


def _platform_numbers(exported, platforms) -> list[int]:
    """For each platform of the caller, its number among those of the exported function."""
    unchecked = DisabledSafetyCheck.platform() in exported.disabled_safety_checks
    if not unchecked and not {*platforms} <= {*exported.platforms}:
        raise ValueError(f"Function '{exported.fun_name}' was exported for platforms "
                         f"'{exported.platforms}' but it is used on '{platforms}'.")
    return [exported.platforms.index(p) if p in exported.platforms else 0 for p in platforms]


def _platform_number(ctx, numbers) -> Value:
    """The one of these numbers that belongs to the platform on which the program runs."""
    aval = ShapedArray((), np.dtype("int32"))
    if len({*numbers}) == 1:
        return ctx.constant(numbers[0], aval)
    regions: list = [([], lambda n=n: [ctx.constant(n, aval)]) for n in numbers]
    (out,) = op_with_regions(ctx, "stablehlo.case", [ctx.platform_index()], [aval], *regions)
    return out


class Typed(NamedTuple):
    """A value whose type in the module is another one than its aval says: sizes are left open."""

    name: str
    aval: ShapedArray
    type: str


def _converted(ctx, x, kind: str):
    """A value as one of this type, which differs in the sizes that are known."""
    if x.type == kind:
        return x
    out = ctx.op(f"stablehlo.convert {x.name} : ({x.type}) -> {kind}", x.aval)
    return Typed(out.name, x.aval, kind)


def _call(name, operands, results) -> str:
    names, types = (", ".join(getattr(x, a) for x in operands) for a in ("name", "type"))
    return f"func.call @{name}({names}) : ({types}) -> ({', '.join(results)})"


def _function(module: Module, exported: Exported, types: Sequence[str], platform: int) -> str:
    """The name of the exported function in a module, into which it is written once for arguments
    of these types on the platform of this number."""
    functions = _written.setdefault(module, {})
    key = exported, tuple(types), platform
    if key not in functions:
        callee = exported.mlir_module(serialized=False)
        if exported.uses_global_constants:
            number = platform if len(exported.platforms) > 1 else None
            callee = load("minijax.runtime.portable").refined(callee, types, number)
        functions[key] = _write(module, exported, callee)
    return functions[key]


def _unrefined_function(module, exported) -> tuple[str, list[str], list[str]]:
    """The name of an exported function whose sizes, or platform, stay open in the caller, and the
    types of its arguments and results. It is written once for each call, since XLA finds one set of
    sizes for each function."""
    callee = exported.mlir_module(serialized=False)
    types, results = load("minijax.runtime.portable").types_of_main(callee)
    return _write(module, exported, callee), types, results


def _write(module: Module, exported: Exported, callee: Any) -> str:
    """Write the functions of a module into another one; returns the name that `@main` gets."""
    if "cpu" in exported.platforms:
        xla().load_lapack()
    name = f"call_exported_{exported.fun_name}"
    main, texts = load("minijax.runtime.portable").as_private(callee, module.unique, name)
    module.functions.extend(texts)
    return main


register_lowering(call_exported_p, _lower)
