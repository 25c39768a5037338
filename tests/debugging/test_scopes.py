"""`named_scope`, `named_call`: the names in jaxprs and in StableHLO; compile-time evaluation."""

from __future__ import annotations

import importlib
import re

import pytest

from tests.oracle import both, in_both, oracle, subject


def scoped(jx):
    def f(x):
        with jx.named_scope("outer"):
            with jx.named_scope("inner"):
                y = jx.numpy.sin(x)
            y = jx.named_call(lambda z: jx.numpy.cos(z), name="call")(y)
            y = jx.jit(jx.named_call(jx.numpy.exp))(y)
        return y * 2

    return f


def stacks(jaxpr):
    """The primitive and the name stack of each equation, those of inner jaxprs included."""
    found = []
    for eqn in jaxpr.eqns:
        found.append((eqn.primitive.name, str(eqn.source_info.name_stack)))
        if eqn.primitive.name == "jit":
            found += stacks(eqn.params["jaxpr"])
    return found


def test_names_in_jaxprs():
    both(lambda jx: lambda: stacks(jx.make_jaxpr(scoped(jx))(1.0)))


def test_names_in_stablehlo():
    text = {jx: jx.jit(scoped(jx)).lower(1.0).as_text(debug_info=True) for jx in (subject, oracle)}
    names = {jx: set(re.findall(r'"jit\(f\)/([\w/]+/(?:sin|cos|mul))"', t)) for jx, t in text.items()}
    assert names[subject] == names[oracle] == {"outer/inner/sin", "outer/call/cos"}


# ----------------------------------------------------------------------------------------------
# Transformations are named too


def _elementwise(jx, x):
    with jx.named_scope("foo"):
        return jx.numpy.sin(x) * jx.numpy.exp(x)


def _call(jx, x):
    with jx.named_scope("foo"):
        return jx.jit(jx.named_scope("bar")(lambda x: jx.numpy.sin(x) * 2))(x) + 1


def _loop(jx, x):
    body = jx.named_scope("body")(lambda c, x: (c * x, c + x))
    with jx.named_scope("foo"):
        return jx.lax.scan(body, x, jx.numpy.arange(8.0))[0]


def _branches(jx, x):
    true = jx.named_scope("true")(lambda x: x * 3)
    with jx.named_scope("foo"):
        return jx.lax.cond(True, true, jx.named_scope("false")(jx.numpy.sin), x)


def _inner_grad(jx, x):
    with jx.named_scope("outer"):
        return jx.grad(lambda x: _elementwise(jx, x))(x) * 2


def _inner_vmap(jx, x):
    with jx.named_scope("outer"):
        return jx.vmap(lambda x: _elementwise(jx, x))(x + jx.numpy.arange(2.0)).sum()


def _linearized(jx, x):
    y, push = jx.linearize(lambda x: _elementwise(jx, x), x)
    with jx.named_scope("later"):
        return push(y)


FUNCTIONS = [_elementwise, _call, _loop, _branches, _inner_grad, _inner_vmap, _linearized]
TRANSFORMS = {
    "vmap": lambda jx, f: lambda x: jx.vmap(f)(x + jx.numpy.arange(2.0)),
    "jvp": lambda jx, f: lambda x: jx.jvp(f, (x,), (x,)),
    "value_and_grad": lambda jx, f: jx.value_and_grad(f),
    "vmap grad": lambda jx, f: lambda x: jx.vmap(jx.grad(f))(x + jx.numpy.arange(2.0)),
    "vmap jvp": lambda jx, f: lambda x: jx.vmap(lambda x: jx.jvp(f, (x,), (x,)))(
        x + jx.numpy.arange(2.0)),
    "grad jit": lambda jx, f: jx.grad(jx.jit(f)),
    "jvp grad": lambda jx, f: lambda x: jx.jvp(jx.grad(f), (x,), (x,)),
    "jacfwd": lambda jx, f: jx.jacfwd(f),
}  # fmt: skip


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("function", FUNCTIONS)
@in_both
def test_names_of_transformations(jx, function, transform):
    """In jaxprs, with those inside of equations."""
    f = TRANSFORMS[transform](jx, lambda x: function(jx, x))
    return sorted({*_all_stacks(jx.make_jaxpr(f)(1.0).jaxpr)} - {""})


def _all_stacks(jaxpr):
    for eqn in jaxpr.eqns:
        yield str(eqn.source_info.name_stack)
        for value in eqn.params.values():
            for inner in value if isinstance(value, tuple) else (value,):
                if hasattr(inner, "jaxpr"):
                    yield from _all_stacks(inner.jaxpr)


@in_both
def test_names_of_a_vmap_over_containers(jx):
    """`vmap` of functions of sparse arrays takes another way."""
    def f(x, M):
        with jx.named_scope("foo"):
            return jx.numpy.sin(x) + M.todense().sum()

    sparse = importlib.import_module(f"{jx.__name__}.experimental.sparse")
    M = sparse.BCOO.fromdense(jx.numpy.eye(3), n_batch=1)
    jaxpr = jx.make_jaxpr(jx.vmap(f))(jx.numpy.ones(3), M).jaxpr
    return [str(eqn.source_info.name_stack) for eqn in jaxpr.eqns
            if eqn.primitive.name in ("sin", "reduce_sum")]


def test_names_of_transformations_in_programs():
    """As XLA's profiles show them: in main, in functions, and in regions."""
    f = subject.vmap(subject.grad(lambda x: _call(subject, x) + _branches(subject, x)))
    text = subject.jit(f).lower(subject.numpy.arange(2.0)).as_text(debug_info=True)
    names = {*re.findall(r'loc\("([^"]*)"', text)}
    for name in ("jit(<lambda>)/vmap(transpose(jvp(foo)))/jit(<lambda>)", "bar/cos",
                 "jit(<lambda>)/vmap(transpose(jvp(foo)))/cond/branch_1_fun/true/mul"):
        assert name in names, names


def test_names_of_loops_in_programs():
    @subject.named_scope("foo")
    def f(x):
        return subject.lax.while_loop(subject.named_scope("test")(lambda x: x.sum() < 9),
                                      subject.named_scope("step")(lambda x: x * 2), x)

    text = subject.jit(subject.vmap(f)).lower(subject.numpy.ones((2, 3))).as_text("hlo", debug_info=True)
    for name in ("cond/test/lt", "body/step/mul", "body_pred/test/lt"):
        assert f'"jit(f)/vmap(foo)/while/{name}"' in text


def test_a_recomputed_part_says_so():
    def names(f):
        text = subject.jit(f).lower(1.0).as_text("hlo", debug_info=True)
        return " ".join(re.findall(r'op_name="([^"]*)"', text))

    f = subject.checkpoint(lambda x: subject.numpy.sin(subject.numpy.sin(x)))
    assert "checkpoint/sin" in names(f)
    assert "rematted_computation" not in names(f)
    assert "checkpoint/rematted_computation/cos" in names(subject.grad(f))


@in_both
def test_a_scope_ends_with_an_error(jx):
    def f(x):
        try:
            with jx.named_scope("a"):
                raise ValueError
        except ValueError:
            return jx.numpy.sin(x)

    return stacks(jx.make_jaxpr(f)(1.0))


CALLS = {
    "decorator": lambda jx: stacks(jx.make_jaxpr(jx.named_scope("deco")(jx.numpy.sin))(1.0)),
    "no string": lambda jx: jx.named_scope(3).__enter__(),
    "compile time": lambda jx: jx.make_jaxpr(_with_compile_time_eval(jx))(1.0),
    "compile time, traced": lambda jx: jx.jit(_with_traced_compile_time_eval(jx))(1.0),
    "compile time, differentiated": lambda jx: jx.grad(_with_compile_time_eval(jx))(2.0),
    "compile time, eager": lambda jx: _with_compile_time_eval(jx)(2.0),
}  # fmt: skip


def _with_compile_time_eval(jx):
    def f(x):
        with jx.ensure_compile_time_eval():
            n = int(jx.numpy.sum(jx.numpy.arange(4)))
        return x * n

    return f


def _with_traced_compile_time_eval(jx):
    def f(x):
        with jx.ensure_compile_time_eval():
            return jx.numpy.sin(x)

    return f


@pytest.mark.parametrize("call", CALLS)
def test_as_in_jax(call):
    both(lambda jx: lambda: CALLS[call](jx))
