"""Chapter 5: the data types of jaxprs, their evaluation and their type checker."""

from __future__ import annotations

import gc
import sys
import weakref

import numpy as np
import pytest

from minijax import core, errors, util
from minijax.checks.typecheck import check_jaxpr
from minijax.core.jaxpr import (
    ClosedJaxpr,
    DropVar,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    clean_up_dead_vars,
    custom_typechecks,
    eval_jaxpr,
    jaxpr_as_fun,
    jaxprs_in_params,
    last_used,
    no_effects,
    open_jaxpr,
)
from minijax.source import SourceInfo, new_source_info
from tests.oracle import jax

jex = jax.extend.core

F32 = core.ShapedArray((), "float32")
WEAK = core.ShapedArray((), "float32", True)
VEC = core.ShapedArray((3,), "float32")
I32 = core.ShapedArray((), "int32")


def primitive(name, evaluate, multiple_results=False):
    """A primitive on Python objects: `typed` says whether operands must have one type."""
    p = core.Primitive(name, multiple_results)
    p.def_impl(evaluate)
    return p


sin = primitive("sin", np.sin)
sin.def_abstract_eval(lambda x: x)
add = primitive("add", lambda x, y: x + y)
two = primitive("two", lambda x: [x, x + 1], multiple_results=True)
two.def_abstract_eval(lambda x: [x, x])
scale = primitive("scale", lambda x, *, by: x * by)
scale.def_abstract_eval(lambda x, *, by: x)
fail = primitive("fail", lambda x: 1 // 0)
fail.def_abstract_eval(lambda x: x)
call = primitive(
    "jit", lambda *args, jaxpr, name: eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args), True
)


@add.def_abstract_eval
def add_aval(x, y):
    if x.shape != y.shape:
        raise TypeError(f"add got incompatible shapes: {x.shape} and {{}} {y.shape}")
    return x


def eqn(p, invars, outvars, **params):
    return JaxprEqn(p, invars, outvars, params, SourceInfo())


def variables(n, aval=F32):
    return [Var(aval) for _ in range(n)]


def sin_plus_const():
    """`{ lambda c; a. let b = sin a; d = add b c in (d,) }`"""
    a, b, c, d = variables(4)
    return Jaxpr([c], [a], [d], [eqn(sin, [a], [b]), eqn(add, [b, c], [d])])


def calling(inner, n_in=1, n_out=1, aval=F32):
    ins, outs = variables(n_in, aval), variables(n_out, aval)
    return Jaxpr([], ins, outs, [eqn(call, ins, outs, name="g", jaxpr=inner)])


# ----------------------------------------------------------------------------------------------
# Atoms.


def test_variables_are_equal_only_if_identical():
    a, b = variables(2)
    assert a == a and a != b and len({a, b}) == 2


def test_var_repr_as_jax():
    a = Var(F32)
    assert repr(a) == f"Var(id={id(a)}):float32[]"


def test_drop_var():
    v = DropVar(F32)
    assert isinstance(v, Var) and repr(v) == "_" and v.aval is F32


def test_literals_can_be_in_sets():
    literal = Literal(1.0, F32)
    assert literal in {literal, Var(F32)} and Literal(1.0, F32) not in {literal}


def test_literal_repr_as_jax():
    real = jax.make_jaxpr(lambda x: x * 2)(1.0).eqns[0].invars[1]
    assert repr(Literal(2.0, F32)) == repr(real) == "Literal(2.0)"


def test_atoms_have_no_dict():
    for atom in (Var(F32), DropVar(F32), Literal(1.0, F32)):
        assert not hasattr(atom, "__dict__")


# ----------------------------------------------------------------------------------------------
# Equations and jaxprs.


def test_eqn_replace():
    a, b, c = variables(3)
    old = eqn(scale, [a], [b], by=2)
    new = old.replace(invars=[c], params={"by": 3})
    assert (new.invars, new.outvars, new.primitive, new.params) == ([c], [b], scale, {"by": 3})
    assert new.source_info is old.source_info and old.invars == [a]


def test_eqn_replace_treats_none_as_jax_does():
    old = eqn(scale, [Var(F32)], [Var(F32)], by=2)
    assert old.replace(params=None, effects=no_effects).params is old.params


def test_source_info_as_jax():
    """The same file, line, column and function."""
    summarize = jax._src.source_info_util.summarize

    found = []

    def program(x):
        for g in (jax.lax.sin, new_source_info):
            found.append(g(x))  # one place for both
        return found[0]

    real = jax.make_jaxpr(program)(1.0)
    assert str(found[1]) == summarize(real.eqns[0].source_info)


def test_source_info_without_location():
    assert str(SourceInfo()) == "unknown"


def test_nothing_has_effects():
    jaxpr = sin_plus_const()
    assert (
        jaxpr.effects == jaxpr.eqns[0].effects == ClosedJaxpr(jaxpr, [1.0]).effects == frozenset()
    )


def test_jaxpr_replace():
    jaxpr = sin_plus_const()
    short = jaxpr.replace(eqns=jaxpr.eqns[:1], outvars=jaxpr.eqns[0].outvars)
    assert len(short.eqns) == 1 and short.invars == jaxpr.invars and len(jaxpr.eqns) == 2


def test_jaxpr_replace_of_unknown_names():
    with pytest.raises(ValueError, match="Unknown keyword arguments"):
        sin_plus_const().replace(equations=[])


def test_jaxpr_copies_its_lists():
    eqns = []
    jaxpr = Jaxpr((), (), (), eqns)
    eqns.append(None)
    assert jaxpr.eqns == [] and isinstance(jaxpr.invars, list)


def test_debug_info_is_kept():
    jaxpr = sin_plus_const().replace(debug_info="info")
    assert ClosedJaxpr(jaxpr.replace(eqns=[]), [1.0]).debug_info == "info"


def test_jaxprs_are_hashed_by_identity():
    jaxpr = sin_plus_const()
    assert len({jaxpr, jaxpr, jaxpr.replace()}) == 2
    assert weakref.ref(jaxpr)() is jaxpr


def test_closed_jaxpr_shows_its_jaxpr():
    jaxpr = sin_plus_const()
    closed = ClosedJaxpr(jaxpr, [1.0])
    for name in ("invars", "outvars", "constvars", "eqns", "in_avals", "out_avals"):
        assert getattr(closed, name) == getattr(jaxpr, name)
    assert closed.consts == [1.0]
    assert closed.in_avals == [F32] and closed.out_avals == [F32]


def test_closed_jaxpr_needs_all_constants():
    with pytest.raises(ValueError, match="1 constvars cannot be closed by 2"):
        ClosedJaxpr(sin_plus_const(), [1.0, 2.0])


def test_closed_jaxpr_replace():
    closed, other = ClosedJaxpr(sin_plus_const(), [1.0]), sin_plus_const()
    assert closed.replace(consts=[2.0]).consts == [2.0]
    assert closed.replace(jaxpr=other).jaxpr is other


def test_open_jaxpr():
    jaxpr = sin_plus_const()
    assert open_jaxpr(jaxpr) is open_jaxpr(ClosedJaxpr(jaxpr, [1.0])) is jaxpr


def test_jaxprs_in_params():
    j, k, m = sin_plus_const(), sin_plus_const(), sin_plus_const()
    params = {"jaxpr": ClosedJaxpr(j, [1.0]), "branches": (k, ClosedJaxpr(m, [1.0])), "n": 3}
    assert list(jaxprs_in_params(params)) == [j, k, m]


@pytest.mark.parametrize("name", ["Var", "Literal", "Jaxpr", "ClosedJaxpr", "JaxprEqn"])
@pytest.mark.live_jax
def test_attributes_are_among_jaxs(name):
    """Whoever knows ours knows JAX's."""
    import minijax.core.jaxpr as ours

    allowed = {"ref_count", "own_params"} | set(dir(getattr(jex, name)))
    if name == "JaxprEqn":
        allowed |= set(jax.make_jaxpr(jax.lax.sin)(1.0).eqns[0].__slots__)
    public = {a for a in dir(getattr(ours, name)) if not a.startswith("_")}
    assert public <= allowed


# ----------------------------------------------------------------------------------------------
# Evaluation.


def test_eval_jaxpr():
    assert eval_jaxpr(sin_plus_const(), [10.0], 2.0) == [np.sin(2.0) + 10.0]


def test_eval_of_literals():
    a, b = variables(2)
    jaxpr = Jaxpr([], [a], [b, Literal(7, I32)], [eqn(add, [a, Literal(1.0, F32)], [b])])
    assert eval_jaxpr(jaxpr, [], 2.0) == [3.0, 7]


def test_eval_of_multiple_results():
    a, b, c = variables(3)
    jaxpr = Jaxpr([], [a], [c, b], [eqn(two, [a], [b, c])])
    assert eval_jaxpr(jaxpr, [], 1) == [2, 1]


def test_eval_with_dropped_results():
    a, b = variables(2)
    jaxpr = Jaxpr([], [a], [b], [eqn(two, [a], [DropVar(F32), b])])
    assert eval_jaxpr(jaxpr, [], 1) == [2]


def test_eval_with_params():
    a, b = variables(2)
    assert eval_jaxpr(Jaxpr([], [a], [b], [eqn(scale, [a], [b], by=5)]), [], 2) == [10]


def test_eval_of_operand_twice():
    a, b = variables(2)
    assert eval_jaxpr(Jaxpr([], [a], [b], [eqn(add, [a, a], [b])]), [], 2) == [4]


def test_eval_of_argument_as_result():
    a, b = variables(2)
    assert eval_jaxpr(Jaxpr([], [a], [a, b, a], [eqn(sin, [a], [b])]), [], 0.0) == [0.0, 0.0, 0.0]


def test_eval_of_calls():
    inner = ClosedJaxpr(sin_plus_const(), [1.0])
    assert eval_jaxpr(calling(ClosedJaxpr(calling(inner))), [], 0.0) == [1.0]


@pytest.mark.parametrize(("consts", "args"), [([], [1.0]), ([1.0], []), ([1.0], [1.0, 2.0])])
def test_eval_of_wrong_number_of_arguments(consts, args):
    with pytest.raises(ValueError, match="different lengths"):
        eval_jaxpr(sin_plus_const(), consts, *args)


def test_jaxpr_as_fun():
    assert jaxpr_as_fun(ClosedJaxpr(sin_plus_const(), [1.0]))(0.0) == [1.0]


def test_evaluation_goes_through_the_current_trace():
    class Names(core.core.Trace):
        __slots__ = ("seen",)

        def process_primitive(self, primitive, args, params):
            self.seen.append(primitive.name)
            return args[0]

    trace = Names(core.current_trace())
    trace.seen = []
    with core.set_current_trace(trace):
        assert eval_jaxpr(sin_plus_const(), [10.0], 2.0) == [2.0]
    assert trace.seen == ["sin", "add"]


class Block:
    """A value that is easy to watch."""


def watched(live):
    def evaluate(x):
        gc.collect()
        live.append(sum(ref() is not None for ref in refs))
        block = Block()
        refs.append(weakref.ref(block))
        return block

    refs = []
    return primitive("watched", evaluate)


def test_values_live_as_long_as_they_are_read():
    live = []
    p = watched(live)
    names = variables(6)
    eqns = [eqn(p, [a], [b]) for a, b in zip(names, names[1:], strict=False)]
    eval_jaxpr(Jaxpr([], names[:1], names[-1:], eqns), [], 0.0)
    assert live == [0, 1, 1, 1, 1]


def test_values_that_nobody_reads_are_not_kept():
    live = []
    p = watched(live)
    a, *unused = variables(5)
    eval_jaxpr(Jaxpr([], [a], [a], [eqn(p, [a], [b]) for b in unused]), [], 0.0)
    assert live == [0, 0, 0, 0]


def test_arguments_are_let_go():
    alive = []
    use = primitive("use", lambda x: 0.0)
    look = primitive("look", lambda x: alive.append(ref() is not None) or 1.0)
    a, b, c = variables(3)
    block = Block()
    ref = weakref.ref(block)
    jaxpr = Jaxpr([], [a], [c], [eqn(use, [a], [b]), eqn(look, [b], [c])])
    arguments = [block]
    del block
    eval_jaxpr(jaxpr, [], arguments.pop())
    assert alive == [False]


def test_last_used():
    a, b, c = variables(3)
    first, second = eqn(sin, [a], [b]), eqn(add, [a, Literal(1.0, F32)], [c])
    assert last_used(Jaxpr([], [a], [c, Literal(1.0, F32)], [first, second])) == {
        c: None,
        a: second,
    }


def test_clean_up_dead_vars():
    a, b, c = variables(3)
    first, second = eqn(add, [a, b], [c]), eqn(add, [b, b], [c])
    env = {a: 1, b: 2}
    last = last_used(Jaxpr([], [a, b], [c], [first, second]))
    clean_up_dead_vars(first, env, last)
    assert env == {b: 2}
    clean_up_dead_vars(second, env, last)
    assert env == {}


def notes(error):
    """The notes about equations: the first note of all says that frames were hidden."""
    return [note for note in error.__notes__ if "removed its own frames" not in note]


def test_an_exception_says_which_equation():
    a, b = variables(2)
    jaxpr = Jaxpr([], [a], [b], [JaxprEqn(fail, [a], [b], {}, new_source_info())])
    with pytest.raises(ZeroDivisionError) as caught:
        eval_jaxpr(jaxpr, [], 1.0)
    (note,) = notes(caught.value)
    assert "`a:f32[] = fail b`" in note and f"{__file__}:" in note


def test_an_exception_names_the_innermost_equation_only():
    a, b = variables(2)
    inner = ClosedJaxpr(Jaxpr([], [a], [b], [eqn(fail, [a], [b])]))
    with pytest.raises(ZeroDivisionError) as caught:
        eval_jaxpr(calling(inner), [], 1.0)
    (note,) = notes(caught.value)
    assert "fail" in note and "jit" not in note


def test_long_equations_are_cut_in_notes():
    inner = ClosedJaxpr(sin_plus_const(), [1.0])
    with pytest.raises(ValueError) as caught:
        eval_jaxpr(calling(inner, n_in=2), [], 1.0, 2.0)
    assert "jit[ …`" in notes(caught.value)[0]


def tower(depth):
    a, b = variables(2)
    jaxpr = Jaxpr([], [a], [b], [eqn(sin, [a], [b])])
    for _ in range(depth):
        jaxpr = calling(ClosedJaxpr(jaxpr))
    return jaxpr


# ----------------------------------------------------------------------------------------------
# The type checker.


def test_check_of_well_typed():
    check_jaxpr(sin_plus_const())
    check_jaxpr(ClosedJaxpr(sin_plus_const(), [1.0]))
    check_jaxpr(calling(ClosedJaxpr(sin_plus_const(), [1.0])))


def test_check_of_dropped_results():
    a, b = variables(2)
    drop = DropVar(F32)
    check_jaxpr(Jaxpr([], [a], [b], [eqn(two, [a], [drop, b]), eqn(two, [a], [drop, drop])]))


def test_weak_types_are_not_compared():
    a, b = Var(WEAK), Var(F32)
    check_jaxpr(Jaxpr([], [a], [b], [eqn(sin, [a], [b])]))


def message(jaxpr):
    with pytest.raises(errors.JaxprTypeError) as caught:
        check_jaxpr(jaxpr)
    return str(caught.value)


def test_unbound_operand():
    a, b, c = variables(3)
    text = message(Jaxpr([], [a], [c], [eqn(sin, [a], [b]), eqn(sin, [Var(F32)], [c])]))
    assert text == (
        "Variable 'c' not defined\n\n"
        "in equation:\n\n"
        "b:f32[] = sin c\n\n"
        "from source: unknown\n\n"
        "while checking jaxpr:\n\n"
        "{ lambda ; a:f32[]. let _:f32[] = sin a; b:f32[] = sin c in (b,) } # <-- here"
    )


def test_message_begins_as_jaxs():
    """The same jaxpr made ill typed in both libraries."""
    jax_core = jax._src.core

    from tests.core.real_jaxprs import converted

    real = jax.make_jaxpr(lambda x: jax.lax.sin(jax.lax.cos(jax.lax.neg(x))))(1.0).jaxpr
    real = real.replace(eqns=[real.eqns[0], real.eqns[2]])
    with pytest.raises(jax.errors.JaxprTypeError) as theirs:
        jax_core.check_jaxpr(real)
    ours = converted(jex.ClosedJaxpr(real, [])).jaxpr
    ours.eqns[0].primitive = sin  # any with our kind of rule
    first_line = str(theirs.value).split("\n")[0]
    assert message(ours).split("\n")[0] == first_line == "Variable 'c' not defined"


def test_unbound_result():
    a = Var(F32)
    text = message(Jaxpr([], [a], [Var(F32)], []))
    assert text.startswith("Variable 'b' not defined\n\nwhile checking jaxpr:")


def test_use_before_definition():
    a, b, c = variables(3)
    text = message(Jaxpr([], [a], [b], [eqn(sin, [c], [b]), eqn(sin, [a], [c])]))
    assert "not defined" in text and "= sin" in text


def test_variable_bound_twice():
    a, b = variables(2)
    text = message(Jaxpr([], [a], [b], [eqn(sin, [a], [b]), eqn(sin, [b], [b])]))
    assert text.startswith("Variable 'b' already bound\n\nin equation:\n\nb:f32[] = sin b")


def test_argument_bound_twice():
    a = Var(F32)
    assert "Variable 'a' already bound" in message(Jaxpr([], [a, a], [a], []))
    assert "Variable 'a' already bound" in message(Jaxpr([a], [a], [a], []))


def test_argument_bound_again():
    a = Var(F32)
    assert "Variable 'a' already bound" in message(Jaxpr([], [a], [a], [eqn(sin, [a], [a])]))


def test_dropped_variable_cannot_be_read():
    a, b, drop = Var(F32), Var(F32), DropVar(F32)
    text = message(Jaxpr([], [a], [b], [eqn(sin, [a], [drop]), eqn(sin, [drop], [b])]))
    assert "Variable '_' not defined" in text


@pytest.mark.parametrize("wrong", [VEC, I32, core.ShapedArray((), "float64")], ids=str)
def test_wrong_type_of_binder(wrong):
    a, b = Var(F32), Var(wrong)
    text = message(Jaxpr([], [a], [b], [eqn(sin, [a], [b])]))
    kind = wrong.str_short(True)
    assert f"'b' inconsistently typed as f32[] for let-binder of type {kind}" in text


def test_wrong_number_of_binders():
    a, b = variables(2)
    assert "2 results for 1 let-binders" in message(Jaxpr([], [a], [b], [eqn(two, [a], [b])]))


def test_primitive_that_does_not_apply():
    a, b, c = Var(F32), Var(VEC), Var(F32)
    text = message(Jaxpr([], [a, b], [c], [eqn(add, [a, b], [c])]))
    assert text.startswith(
        "add cannot be applied here: add got incompatible shapes: () and {} (3,)"
    )


def test_the_rules_own_error_is_the_cause():
    a, b, c = Var(F32), Var(VEC), Var(F32)
    with pytest.raises(errors.JaxprTypeError) as caught:
        check_jaxpr(Jaxpr([], [a, b], [c], [eqn(add, [a, b], [c])]))
    assert "incompatible shapes" in str(caught.value.__cause__)


@pytest.mark.parametrize(
    ("value", "aval"),
    [(np.float32(1), I32), (np.ones(3, "float32"), F32), (1.0, VEC), (np.int32(1), F32)],
)
def test_literal_of_another_type(value, aval):
    a = Var(aval)
    text = message(Jaxpr([], [], [a], [eqn(sin, [Literal(value, aval)], [a])]))
    assert "does not match its type annotation" in text


@pytest.mark.parametrize(
    ("value", "aval"),
    [(np.float32(1), F32), (1, F32), (True, core.ShapedArray((), "bool")), (2.0, WEAK)],
)
def test_literal_of_its_type(value, aval):
    a = Var(aval)
    check_jaxpr(Jaxpr([], [], [a, Literal(value, aval)], [eqn(sin, [Literal(value, aval)], [a])]))


def test_error_in_an_inner_jaxpr():
    a, b = variables(2)
    inner = ClosedJaxpr(Jaxpr([], [a], [b], [eqn(sin, [Var(F32)], [b])]))
    text = message(calling(ClosedJaxpr(calling(inner))))
    assert "not defined" in text and "jit" not in text


def test_error_in_a_branch():
    a, b, c = variables(3)
    good, bad = Jaxpr([], [a], [a], []), Jaxpr([], [b], [c], [])
    choose = primitive("choose", None)
    choose.def_abstract_eval(lambda x, branches: x)
    jaxpr = Jaxpr([], [a], [b], [eqn(choose, [a], [b], branches=(good, ClosedJaxpr(bad)))])
    assert "not defined" in message(jaxpr)


def test_inner_jaxprs_do_not_see_outer_variables():
    a, b = variables(2)
    inner = ClosedJaxpr(Jaxpr([], [], [a], []))
    outer = Jaxpr([], [a], [b], [eqn(call, [], [b], name="g", jaxpr=inner)])
    assert "Variable 'a' not defined" in message(outer)


def test_jit_with_operands_of_other_types():
    inner = ClosedJaxpr(sin_plus_const(), [1.0])
    text = message(calling(inner, aval=VEC))
    assert text.startswith("Operands of types f32[3] for a jaxpr that expects f32[]")


def test_jit_with_more_operands():
    text = message(calling(ClosedJaxpr(sin_plus_const(), [1.0]), n_in=2))
    assert text.startswith("2 operands cannot call jaxpr with 1 inputs")


def test_jit_with_other_results():
    inner = ClosedJaxpr(sin_plus_const(), [1.0])
    assert "1 results for 2 let-binders" in message(calling(inner, n_out=2))


def test_custom_typecheck(monkeypatch):
    """A primitive's row may add conditions that its shape rule does not know."""

    def rule(x, *, by):
        if by == 0:
            raise TypeError("by must not be 0")
        return [x]

    monkeypatch.setitem(custom_typechecks, "scale", rule)
    a, b = variables(2)
    check_jaxpr(Jaxpr([], [a], [b], [eqn(scale, [a], [b], by=1)]))
    assert "by must not be 0" in message(Jaxpr([], [a], [b], [eqn(scale, [a], [b], by=0)]))


def test_long_jaxprs_are_excerpted():
    names = variables(101)
    eqns = [eqn(sin, [a], [b]) for a, b in zip(names, names[1:], strict=False)]
    eqns[50] = eqn(sin, [Var(F32)], [names[51]])
    text = message(Jaxpr([], names[:1], names[-1:], eqns))
    shown = text.split("while checking jaxpr:\n\n")[1].split("\n")
    assert shown[1] == shown[-2] == "    ..." and len(shown) == 2 + 2 + 21
    assert [i for i, line in enumerate(shown) if "<-- here" in line] == [12]


def test_names_are_those_of_the_whole_jaxpr():
    names = variables(101)
    eqns = [eqn(sin, [a], [b]) for a, b in zip(names, names[1:], strict=False)]
    eqns[50] = eqn(sin, [names[50], names[50]], [names[51]])
    jaxpr = Jaxpr([], names[:1], names[-1:], eqns)
    line = str(jaxpr).split("\n")[51].strip()
    assert f"in equation:\n\n{line}\n" in message(jaxpr)


def test_deep_jaxprs_need_no_stack():
    check_jaxpr(tower(2 * sys.getrecursionlimit()))


def test_shared_jaxprs_are_checked_once():
    seen = []
    p = primitive("seen", None)
    p.def_abstract_eval(lambda x: seen.append(x) or x)
    a, b = variables(2)
    jaxpr = Jaxpr([], [a], [b], [eqn(p, [a], [b])])
    for _ in range(100):
        inner, (a, b, c) = ClosedJaxpr(jaxpr), variables(3)
        calls = [eqn(call, [x], [y], name="g", jaxpr=inner) for x, y in ((a, b), (b, c))]
        jaxpr = Jaxpr([], [a], [c], calls)
    check_jaxpr(jaxpr)
    assert len(seen) == 1


# ----------------------------------------------------------------------------------------------
# An interpreter in the style of JAX's tutorial, in both libraries.


def inverse_names(jaxpr, literal):
    """Walk a jaxpr backwards, naming what an inverting interpreter would apply."""
    inverses = {"exp": "log", "tanh": "atanh", "sin": "asin"}
    out = []
    for equation in reversed(jaxpr.eqns):
        assert not equation.primitive.multiple_results and equation.params is not None
        reads = [atom for atom in equation.invars if type(atom) is not literal]
        out.append((inverses.get(equation.primitive.name), len(reads)))
    return out


def test_custom_interpreter_reads_both():
    from tests.core.real_jaxprs import converted

    real = jax.make_jaxpr(lambda x: jax.numpy.exp(jax.numpy.tanh(x)))(1.0)
    ours = converted(real)
    assert inverse_names(ours.jaxpr, Literal) == inverse_names(real.jaxpr, jex.Literal)
    assert len(ours.literals) == len(ours.jaxpr.constvars) == 0


# ----------------------------------------------------------------------------------------------
# Helpers.


def test_safe_map():
    assert util.safe_map(lambda x, y: x * y, (1, 2), iter([3, 4])) == [3, 8]
    assert util.safe_map(str, []) == []


def test_safe_map_of_different_lengths():
    with pytest.raises(ValueError, match="one length"):
        util.safe_map(lambda x, y: x, [1, 2], [1])


def test_safe_map_of_nothing():
    with pytest.raises(TypeError, match="at least 2 arguments"):
        util.safe_map(str)


def test_safe_zip():
    assert util.safe_zip([1, 2], "ab") == [(1, "a"), (2, "b")]
    with pytest.raises(TypeError, match="at least 1 argument"):
        util.safe_zip()


@pytest.mark.parametrize("lists", [([1], [1, 2]), ([1, 2], [1]), ([], [1]), ([1], [2], [3, 4])])
def test_safe_zip_of_different_lengths(lists):
    with pytest.raises(ValueError, match="one length"):
        util.safe_zip(*lists)


def test_unzip2():
    assert util.unzip2(iter([(1, "a"), (2, "b")])) == ((1, 2), ("a", "b"))
    assert util.unzip2([]) == ((), ())
