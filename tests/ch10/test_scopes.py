"""`named_scope`, `named_call`: the names in jaxprs and in StableHLO; compile-time evaluation."""

from __future__ import annotations

import re

import pytest

from tests.oracle import both, oracle, subject


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


def test_names_survive_differentiation():
    """JAX marks them, `jvp(outer)`; we keep them as they are."""
    jaxpr = subject.make_jaxpr(subject.grad(scoped(subject)))(1.0)
    assert ("cos", "outer/inner") in stacks(jaxpr)


def test_a_scope_ends_with_an_error():
    def program(jx):
        def f(x):
            try:
                with jx.named_scope("a"):
                    raise ValueError
            except ValueError:
                return jx.numpy.sin(x)

        return lambda: stacks(jx.make_jaxpr(f)(1.0))

    both(program)


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
