"""A NumPy array that only passes through a transformation comes out as an `Array` of our dtype, in memory of its own.

JAX hands back the user's array in many of these cases, float64 without x64; there we are right. A jaxpr that is
interpreted (`eval_jaxpr`, `closure_convert`), and functions that just call (`named_call`, a `switch` of one branch),
give back what they got, in both libraries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minijax as jax
import minijax.numpy as jnp
from minijax import lax
from minijax.dtypes import canonicalize_dtype, float0


def itself(x: Any) -> Any:
    return x


def with_rule(f: Any, define: str, *rules: Callable) -> Any:
    getattr(f, define)(*rules)
    return f


by_jvp = with_rule(jax.custom_jvp(lambda x: x), "defjvp", lambda primals, tangents: (primals[0], tangents[0]))
by_vjp = with_rule(jax.custom_vjp(lambda x: x), "defvjp", lambda x: (x, None), lambda _, ct: (ct,))
by_vmap = with_rule(jax.custom_batching.custom_vmap(lambda x: x), "def_vmap", lambda n, batched, x: (x, batched[0]))


def tangent(x: Any) -> Any:
    return jax.tree.map(lambda a: np.ones(a.shape, a.dtype if jnp.issubdtype(a.dtype, np.inexact) else float0), x)


def in_mesh(x: Any) -> Any:
    mesh = jax.make_mesh((1,), ("i",))
    return jax.shard_map(itself, mesh=mesh, in_specs=jax.P(), out_specs=jax.P())(x)


THROUGH: dict[str, Callable] = {
    "vmap": lambda x: jax.vmap(itself)(x),
    "vmap of None": lambda x: jax.vmap(lambda a, b: (a, b), in_axes=(0, None), out_axes=(0, None))(x, x),
    "vmap in containers": lambda x: jax.vmap(lambda a: {"k": (a, [a])})(x),
    "jvp": lambda x: jax.jvp(itself, (x,), (tangent(x),)),
    "aux of jvp": lambda x: jax.jvp(lambda a: (1.0, a), (x,), (tangent(x),), has_aux=True)[2],
    "linearize": lambda x: jax.linearize(itself, x)[0],
    "linear function": lambda x: jax.linearize(itself, x)[1](tangent(x)),
    "aux of linearize": lambda x: jax.linearize(lambda a: (1.0, a), x, has_aux=True)[2],
    "vjp": lambda x: jax.vjp(itself, x)[0],
    "cotangents": lambda x: jax.vjp(itself, x)[1](tangent(x)),
    "aux of vjp": lambda x: jax.vjp(lambda a: (1.0, a), x, has_aux=True)[2],
    "aux of grad": lambda x: jax.grad(lambda a: (1.0, a), has_aux=True, allow_int=True)(x)[1],
    "custom_jvp": by_jvp, "custom_vjp": by_vjp, "custom_vmap": by_vmap,
    "vmap of custom_vmap": lambda x: jax.vmap(by_vmap)(x),
    "jvp of custom_jvp": lambda x: jax.jvp(by_jvp, (x,), (tangent(x),)),
    "vjp of custom_vjp": lambda x: jax.vjp(by_vjp, x)[0],
    "cotangents of custom_vjp": lambda x: jax.vjp(by_vjp, x)[1](tangent(x)),
    "carry of scan": lambda x: lax.scan(lambda c, _: (c, c), x, None, length=2),
    "scan of no rounds": lambda x: lax.scan(lambda c, _: (c, c), x, None, length=0),
    "xs of scan": lambda x: lax.scan(lambda c, a: (c, a), 0, x)[1],
    "cond": lambda x: lax.cond(True, itself, itself, x),
    "closure of cond": lambda x: lax.cond(True, lambda: x, lambda: x),
    "switch": lambda x: lax.switch(0, [itself, itself], x),
    "while_loop": lambda x: lax.while_loop(lambda c: False, itself, x),
    "fori_loop": lambda x: lax.fori_loop(0, 2, lambda i, c: c, x),
    "map": lambda x: lax.map(itself, x),
    "checkpoint": lambda x: jax.checkpoint(itself)(x),
    "jit": lambda x: jax.jit(itself)(x),
    "closure of jit": lambda x: jax.jit(lambda: x)(),
    "pmap": lambda x: jax.pmap(itself)(jax.tree.map(lambda a: a[:1], x)),
    "shard_map": in_mesh,
    "stop_gradient": lax.stop_gradient, "optimization_barrier": lax.optimization_barrier, "device_put": jax.device_put,
    "custom_linear_solve": lambda x: lax.custom_linear_solve(itself, x, lambda matvec, b: b),
    "associative_scan": lambda x: lax.associative_scan(lambda a, b: a, x),
}  # fmt: skip

ARGUMENTS: dict[str, Any] = {
    **{d: np.array([[1, 2], [3, 4]]).astype(d) for d in "int64 uint64 float64 complex128 int32 float32 bool".split()},
    "bfloat16": np.ones((2, 2), jnp.bfloat16), "in Fortran's order": np.asfortranarray([[1.0, 2.0], [3.0, 4.0]]),
    "a tree": {"a": np.ones((2, 2)), "b": [np.arange(2)]},
}  # fmt: skip


@pytest.mark.parametrize("through", THROUGH)
def test_what_passes_through_is_ours(through):
    for argument in ARGUMENTS.values():
        given = [np.asarray(x) for x in jax.tree.leaves(argument)]
        for out in jax.tree.leaves(THROUGH[through](argument)):
            if getattr(out, "dtype", None) == float0 or isinstance(out, float):
                continue
            assert isinstance(out, jax.Array)
            assert out.dtype == canonicalize_dtype(out.dtype)
            assert not any(np.may_share_memory(np.asarray(out), x) for x in given)
