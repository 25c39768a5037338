"""The type checker finds what is wrong with a jaxpr, and says where."""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest

from minijax import core, errors, util
from minijax.checks.typecheck import check_jaxpr
from minijax.core.jaxpr import (
    ClosedJaxpr,
    DropVar,
    Jaxpr,
    Literal,
    Var,
    custom_typechecks,
)
from tests.core.small_jaxprs import (
    F32,
    I32,
    VEC,
    WEAK,
    add,
    call,
    calling,
    eqn,
    primitive,
    scale,
    sin,
    sin_plus_const,
    tower,
    two,
    variables,
)
from tests.oracle import jax

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
    ours = converted(jax.extend.core.ClosedJaxpr(real, [])).jaxpr
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
    for mapping in (lambda: util.safe_map(str), util.safe_zip):
        with pytest.raises(TypeError, match="at least"):
            mapping()
