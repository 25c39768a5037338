"""Chapter 5: the data types of jaxprs, their evaluation and their type checker."""

from __future__ import annotations

import gc
import re
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
from minijax.source import SourceInfo
from minijax.text.locations import new_source_info
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


def test_atoms():
    a, b = variables(2)
    assert a == a and a != b and len({a, b}) == 2
    assert repr(a) == f"Var(id={id(a)}):float32[]"
    drop, literal = DropVar(F32), Literal(1.0, F32)
    assert isinstance(drop, Var) and repr(drop) == "_" and drop.aval is F32
    assert literal in {literal, a} and Literal(1.0, F32) not in {literal}
    real = jax.make_jaxpr(lambda x: x * 2)(1.0).eqns[0].invars[1]
    assert repr(Literal(2.0, F32)) == repr(real) == "Literal(2.0)"
    assert not any(hasattr(atom, "__dict__") for atom in (a, drop, literal))


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


# Of variables a, b, c: a jaxpr, its arguments, and its results.
EVALUATED = {
    "literals": (lambda a, b, c: Jaxpr([], [a], [b, Literal(7, I32)], [
        eqn(add, [a, Literal(1.0, F32)], [b])]), [2.0], [3.0, 7]),
    "two results": (lambda a, b, c: Jaxpr([], [a], [c, b], [eqn(two, [a], [b, c])]), [1], [2, 1]),
    "dropped": (lambda a, b, c: Jaxpr([], [a], [b], [eqn(two, [a], [DropVar(F32), b])]), [1], [2]),
    "params": (lambda a, b, c: Jaxpr([], [a], [b], [eqn(scale, [a], [b], by=5)]), [2], [10]),
    "operand twice": (lambda a, b, c: Jaxpr([], [a], [b], [eqn(add, [a, a], [b])]), [2], [4]),
    "argument as result": (lambda a, b, c: Jaxpr([], [a], [a, b, a], [eqn(sin, [a], [b])]), [0.0],
                           [0.0, 0.0, 0.0]),
    "calls": (lambda *_: calling(ClosedJaxpr(calling(ClosedJaxpr(sin_plus_const(), [1.0])))), [0.0],
              [1.0]),
}


@pytest.mark.parametrize("name", EVALUATED)
def test_eval_jaxpr(name):
    build, args, results = EVALUATED[name]
    assert eval_jaxpr(build(*variables(3)), [], *args) == results


def test_eval_with_constants():
    assert eval_jaxpr(sin_plus_const(), [10.0], 2.0) == [np.sin(2.0) + 10.0]
    assert jaxpr_as_fun(ClosedJaxpr(sin_plus_const(), [1.0]))(0.0) == [1.0]


@pytest.mark.parametrize(("consts", "args"), [([], [1.0]), ([1.0], []), ([1.0], [1.0, 2.0])])
def test_eval_of_wrong_number_of_arguments(consts, args):
    with pytest.raises(ValueError, match="different lengths"):
        eval_jaxpr(sin_plus_const(), consts, *args)


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


def test_the_rules_own_error_is_the_cause():
    a, b, c = Var(F32), Var(VEC), Var(F32)
    with pytest.raises(errors.JaxprTypeError) as caught:
        check_jaxpr(Jaxpr([], [a, b], [c], [eqn(add, [a, b], [c])]))
    assert "incompatible shapes" in str(caught.value.__cause__)


@pytest.mark.parametrize(
    ("value", "aval"),
    [(np.float32(1), F32), (1, F32), (True, core.ShapedArray((), "bool")), (2.0, WEAK)],
)
def test_literal_of_its_type(value, aval):
    a = Var(aval)
    check_jaxpr(Jaxpr([], [], [a, Literal(value, aval)], [eqn(sin, [Literal(value, aval)], [a])]))


DROPPED, ARRAY = DropVar(F32), Var(VEC)
choose = primitive("choose", None)
choose.def_abstract_eval(lambda x, branches: x)
# Of variables a, b, c: an ill-typed jaxpr, and what the message says.
ILL_TYPED = {
    "unbound result": (lambda a, b, c: Jaxpr([], [a], [b], []),
                       "^Variable 'b' not defined\n\nwhile checking jaxpr:"),
    "use before definition": (lambda a, b, c: Jaxpr([], [a], [b], [
        eqn(sin, [c], [b]), eqn(sin, [a], [c])]), "not defined(.|\n)*= sin"),
    "bound twice": (lambda a, b, c: Jaxpr([], [a], [b], [eqn(sin, [a], [b]), eqn(sin, [b], [b])]),
                    "^Variable 'b' already bound\n\nin equation:\n\nb:f32\\[\\] = sin b"),
    "two arguments": (lambda a, b, c: Jaxpr([], [a, a], [a], []), "Variable 'a' already bound"),
    "constant and argument": (lambda a, b, c: Jaxpr([a], [a], [a], []), "Variable 'a' already bound"),
    "argument again": (lambda a, b, c: Jaxpr([], [a], [a], [eqn(sin, [a], [a])]),
                       "Variable 'a' already bound"),
    "dropped variable": (lambda a, b, c: Jaxpr([], [a], [b], [
        eqn(sin, [a], [DROPPED]), eqn(sin, [DROPPED], [b])]), "Variable '_' not defined"),
    **{f"binder of type {kind}": (
        lambda a, b, c, wrong=wrong: Jaxpr([], [a], [w := Var(wrong)], [eqn(sin, [a], [w])]),
        f"'b' inconsistently typed as f32\\[\\] for let-binder of type {kind}")
       for wrong, kind in ((VEC, r"f32\[3\]"), (I32, r"i32\[\]"),
                           (core.ShapedArray((), "float64"), r"f64\[\]"))},
    "number of binders": (lambda a, b, c: Jaxpr([], [a], [b], [eqn(two, [a], [b])]),
                          "2 results for 1 let-binders"),
    "operands": (lambda a, b, c: Jaxpr([], [a, ARRAY], [c], [eqn(add, [a, ARRAY], [c])]),
                 r"^add cannot be applied here: add got incompatible shapes: \(\) and {} \(3,\)"),
    **{f"literal {value}": (
        lambda a, b, c, value=value, aval=aval: Jaxpr([], [], [v := Var(aval)], [
            eqn(sin, [Literal(value, aval)], [v])]), "does not match its type annotation")
       for value, aval in ((np.float32(1), I32), (np.ones(3, "float32"), F32), (1.0, VEC),
                           (np.int32(1), F32))},
    "inner jaxpr": (lambda a, b, c: calling(ClosedJaxpr(calling(ClosedJaxpr(
        Jaxpr([], [a], [b], [eqn(sin, [c], [b])]))))), "^((?!jit)(.|\n))*not defined((?!jit)(.|\n))*$"),
    "branch": (lambda a, b, c: Jaxpr([], [a], [b], [eqn(choose, [a], [b], branches=(
        Jaxpr([], [a], [a], []), ClosedJaxpr(Jaxpr([], [b], [c], []))))]), "not defined"),
    "outer variable": (lambda a, b, c: Jaxpr([], [a], [b], [
        eqn(call, [], [b], name="g", jaxpr=ClosedJaxpr(Jaxpr([], [], [a], [])))]),
        "Variable 'a' not defined"),
    "operands of jit": (lambda *_: calling(ClosedJaxpr(sin_plus_const(), [1.0]), aval=VEC),
                        r"^Operands of types f32\[3\] for a jaxpr that expects f32\[\]"),
    "more operands of jit": (lambda *_: calling(ClosedJaxpr(sin_plus_const(), [1.0]), n_in=2),
                             "^2 operands cannot call jaxpr with 1 inputs"),
    "results of jit": (lambda *_: calling(ClosedJaxpr(sin_plus_const(), [1.0]), n_out=2),
                       "1 results for 2 let-binders"),
}


@pytest.mark.parametrize("name", ILL_TYPED)
def test_ill_typed(name):
    build, words = ILL_TYPED[name]
    assert re.search(words, message(build(*variables(3))))


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


def test_lists_of_one_length():
    assert util.safe_map(lambda x, y: x * y, (1, 2), iter([3, 4])) == [3, 8]
    assert util.safe_zip([1, 2], "ab") == [(1, "a"), (2, "b")]
    assert util.unzip2(iter([(1, "a"), (2, "b")])) == ((1, 2), ("a", "b"))
    assert util.safe_map(str, []) == [] and util.unzip2([]) == ((), ())
    for lists in ([1], [1, 2]), ([1, 2], [1]), ([], [1]), ([1], [2], [3, 4]):
        with pytest.raises(ValueError, match="one length"):
            util.safe_zip(*lists)
        with pytest.raises(ValueError, match="one length"):
            util.safe_map(max, *lists)
    for call in (lambda: util.safe_map(str), util.safe_zip):
        with pytest.raises(TypeError, match="at least"):
            call()
