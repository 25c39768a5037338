"""Messages, with their notes, that name the cause of a mistake and what to do, where JAX's do not."""

from __future__ import annotations

import functools
import re
from typing import Any

import numpy as np
import pytest

import minijax as jax
import minijax.numpy as jnp
from minijax import lax


def closes_over(kind: Any, *rules: Any) -> Any:
    """A function of `a` that calls a function with a custom rule, which closes over `a`."""
    def outer(a):
        f = kind(lambda x: x * a)
        (f.defjvp if kind is jax.custom_jvp else f.defvjp)(*rules)
        return f(2.0)
    return outer


def nested(depth: int) -> list:
    x: Any = 1.0
    for _ in range(depth):
        x = [x]
    return x


def put(x: Any) -> Any:
    array = np.zeros(2)
    array[0] = x
    return array


def branch_on_tangent(x: Any) -> Any:
    f = jax.custom_jvp(lambda x: x)
    f.defjvp(lambda p, t: (p[0], lax.cond(t[0] > 0, lambda t: t, lambda t: 2 * t, t[0])))
    return f(x)


def traced_nondiff(x: Any) -> Any:
    f = jax.custom_vjp(lambda a, m: a * m, nondiff_argnums=(1,))
    f.defvjp(lambda a, m: (a * m, None), lambda m, r, g: (g * m,))
    return f(1.0, x)


def jits(n: int) -> Any:
    return functools.reduce(lambda f, _: jax.jit(f), range(n), lambda x: x)


cyclic: list = [1.0]
cyclic.append(cyclic)
NAMES = {"closes_over": closes_over, "nested": nested, "put": put, "cyclic": cyclic, "jax": jax,
         "jnp": jnp, "lax": lax, "np": np, "V": np.ones(3, "f"), "M": np.ones((2, 2), "f"),
         "branch_on_tangent": branch_on_tangent, "traced_nondiff": traced_nondiff, "jits": jits,
         "key": jax.random.key(0), "tree": {"w": 1.0, "n": 2}, "cached": functools.lru_cache(abs),
         "product": lambda p: p["w"] * p["n"]}  # fmt: skip

# the program -> the class, and what the message or its notes say
CAUSES = {
    "jax.grad(closes_over(jax.custom_jvp, lambda p, t: (p[0], t[0])))(3.)":
        "UnexpectedTracerError: custom derivative uses this value.*make the value an argument",
    "jax.jvp(closes_over(jax.custom_vjp, lambda x: (x, 0), lambda r, g: (g,)), (3.,), (1.,))":
        "UnexpectedTracerError: custom derivative uses this value.*make the value an argument",
    "jax.grad(traced_nondiff)(3.)": "UnexpectedTracerError: nondiff_argnums.*an ordinary argument",
    "jax.jit(traced_nondiff)(3.)": "UnexpectedTracerError: nondiff_argnums.*an ordinary argument",
    "jax.linear_transpose(jnp.sin, 1.)(1.)": "NotImplementedError: 'sin' may not be linear",
    "jax.linear_transpose(jax.jit(jnp.exp), 1.)(1.)": "NotImplementedError: 'exp' may not be linear",
    "jax.grad(branch_on_tangent)(1.)": "AssertionError: 'cond' is not linear",
    "jax.vmap(lambda x: x, out_axes=1)(V)":
        "ValueError: axis 1 is out of bounds for array of dimension 1: vmap's out_axes says",
    "jax.vmap(lambda x: {'a': x}, out_axes=-2)(V)": r"ValueError: vmap's out_axes\['a'\] says",
    "jax.jit(put)(1.)": r"ValueError: a.at\[i\].set\(x\)",
    "jax.grad(put)(1.)": r"ValueError: a.at\[i\].set\(x\)",
    "jax.jit(lambda x: {x: 1})(1.)": "TypeError: cannot be a key of a dictionary",
    "jax.jit(lambda x: len({x}))(1.)": "TypeError: a member of a set",
    "jax.vmap(lambda x: cached(x))(V)": "TypeError: that remembers its results",
    "jax.grad(product)(tree)": r"TypeError: The argument is p\['n'\]",
    "jax.value_and_grad(lambda x, p: x, (0, 1))(1., [1., 2])": r"TypeError: The argument is p\[1\]",
    "jax.jacfwd(product)(tree)": r"TypeError: The argument is p\['n'\]",
    "jax.jacrev(product)(tree)": r"TypeError: The argument is p\['n'\]",
    "jax.hessian(product)(tree)": r"TypeError: The argument is p\['n'\]",
    "jax.hessian(lambda x: None)(1.)": "ValueError: at least one array or dtype is required",
    "jax.jacrev(lambda x: None)(1.)": "ValueError: at least one array or dtype is required",
    "jnp.concatenate(V, V)": r"ValueError: not concatenate\(a, b\)",
    "jnp.concatenate(M, V)": r"TypeError: not f\(a, b\)",
    "jnp.stack(V, V)": r"TypeError: not f\(a, b\)",
    "jnp.stack(1., 2.)": "TypeError: arrays must be a sequence of arrays, got 1.0",
    "jnp.hstack(jnp.ones(2), jnp.ones(2))": r"ValueError: not f\(a, b\)",
    "jax.random.normal(key, 3, 4)": r"TypeError: f\(\(3, 4\)\), not f\(3, 4\)",
    "jax.random.uniform(key, 3, 4)": r"TypeError: f\(\(3, 4\)\), not f\(3, 4\)",
    "jnp.random.normal()": "AttributeError: Use jax.random",
    "jax.grad(abs, argnums='x')": "TypeError: positions of arguments.*'x'",
    "jax.jacrev(abs, argnums=('x',))": "TypeError: positions of arguments.*'x'",
    "lax.cummax(V, axis='a')": "TypeError: an axis must be an integer, got 'a'",
    "jnp.cumsum(V, axis='a')": "TypeError: an axis must be an integer, got 'a'",
    "jnp.sort(V, axis='a')": "TypeError: an axis must be an integer, got 'a'",
    "jnp.argmax(V, axis='a')": "TypeError: an axis must be an integer, got 'a'",
    "lax.argmax(V, axis='a', index_dtype=int)": "TypeError: an axis must be an integer, got 'a'",
    "jax.jit(lambda: jnp.zeros((2**40, 2**40)))()": "ValueError: too big: it has 2**80 elements",
    "jax.jit(lambda: jnp.zeros(2**62))()": "ValueError: fewer than 2**63 bytes",
    "jax.jit(lambda: jnp.broadcast_to(1., (2**80,)).sum())()": "ValueError: too big",
    "jax.jit(lambda x: 1)(nested(10_000))": "RecursionError: a container",
    "jax.vmap(lambda x: 1)(nested(10_000))": "RecursionError: a container",
    "jax.tree.map(abs, nested(10_000))": "RecursionError: a container",
    "jax.jit(lambda x: 1)(cyclic)": "RecursionError: or it contains itself",
    "jax.grad(lambda x: 1.)(cyclic)": "RecursionError: or it contains itself",
    "jits(2_000)(1.)": "RecursionError: functions are nested deeper",
}  # fmt: skip


@pytest.mark.parametrize("program", CAUSES)
def test_a_message_names_the_cause(program):
    kind, pattern = CAUSES[program].split(": ", 1)
    pattern = pattern.replace("2**80", str(2**80)).replace("2**63", r"2\*\*63")
    with pytest.raises(Exception) as info:
        eval(program, NAMES)
    text = "\n".join([str(info.value), *getattr(info.value, "__notes__", ())])
    assert type(info.value).__name__ == kind
    assert re.search(pattern, text, re.DOTALL), text
