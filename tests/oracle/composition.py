"""Transformations as building blocks that stack on any function and any arguments.

Each entry of `TRANSFORMS` takes a namespace, a function and example arguments, and gives back a
function and arguments of the same kind: pytrees in, pytrees out. So every sequence of them is
a program, whatever it starts from. Tangents and cotangents are made from the values at hand,
so that an outer derivative has something to differentiate in them too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

Function = Callable[..., Any]
Step = Callable[[ModuleType, Function, tuple], tuple[Function, tuple]]


def compose(
    jx: ModuleType, names: Sequence[str], f: Function, args: tuple
) -> tuple[Function, tuple]:
    """`names[0](names[1](… f))`, with the arguments it wants."""
    for name in reversed(names):
        f, args = TRANSFORMS[name](jx, f, args)
    return f, args


def _jit(jx: ModuleType, f: Function, args: tuple) -> tuple[Function, tuple]:
    return jx.jit(f), args


def _vmap(jx: ModuleType, f: Function, args: tuple) -> tuple[Function, tuple]:
    """Batch the first argument in front, the second behind, the third not at all, and so on."""
    axes = tuple((0, -1, None)[i % 3] for i in range(len(args)))
    batched = tuple(_map(jx, lambda x, axis=axis: _batch(x, axis), arg)
                    for axis, arg in zip(axes, args, strict=True))
    in_axes = tuple(_map(jx, lambda x, axis=axis: None if _is_scalar(x) else axis, arg)
                    for axis, arg in zip(axes, args, strict=True))
    return jx.vmap(f, in_axes=in_axes), batched


def _jvp(jx: ModuleType, f: Function, args: tuple) -> tuple[Function, tuple]:
    def pushed(*primals: Any) -> Any:
        out, tangent = jx.jvp(f, primals, _tangents(jx, primals))
        return out, _drop_float0(jx, tangent)

    return pushed, args


def _linearize(jx: ModuleType, f: Function, args: tuple) -> tuple[Function, tuple]:
    def linearized(*primals: Any) -> Any:
        out, f_jvp = jx.linearize(f, *primals)
        return out, _drop_float0(jx, f_jvp(*_tangents(jx, primals)))

    return linearized, args


def _vjp(jx: ModuleType, f: Function, args: tuple) -> tuple[Function, tuple]:
    def pulled(*primals: Any) -> Any:
        out, f_vjp = jx.vjp(f, *primals)
        return out, _drop_float0(jx, f_vjp(_tangents(jx, out)))

    return pulled, args


def _grad(jx: ModuleType, f: Function, args: tuple) -> tuple[Function, tuple]:
    """Gradient of a weighted sum of the outputs, in all arguments that have one.

    With no such argument this raises, as it must: that outcome is compared too.
    """
    leaves = [jx.tree_util.tree_leaves(arg) for arg in args]
    argnums = tuple(i for i, xs in enumerate(leaves) if xs and all(map(_is_inexact, xs))) or 0
    return jx.grad(lambda *xs: _weighted_sum(jx, f(*xs)), argnums), args


def _make_jaxpr(jx: ModuleType, f: Function, args: tuple) -> tuple[Function, tuple]:
    """Stage, then evaluate what was staged."""

    def staged(*xs: Any) -> Any:
        closed, out_shape = jx.make_jaxpr(f, return_shape=True)(*xs)
        outs = jx.extend.core.jaxpr_as_fun(closed)(*jx.tree_util.tree_leaves(xs))
        # A constant output comes back as the literal's own value: in JAX, a kind of Python number.
        literals = [isinstance(v, jx.extend.core.Literal) for v in closed.jaxpr.outvars]
        outs = [jx.numpy.asarray(x, aval.dtype) if literal or not isinstance(x, jx.Array) else x
                for x, aval, literal in zip(outs, closed.out_avals, literals, strict=True)]
        return jx.tree_util.tree_unflatten(jx.tree_util.tree_structure(out_shape), outs)

    return staged, args


TRANSFORMS: dict[str, Step] = {
    "jit": _jit,
    "vmap": _vmap,
    "jvp": _jvp,
    "grad": _grad,
    "linearize": _linearize,
    "vjp": _vjp,
    "make_jaxpr": _make_jaxpr,
}


# --- values for tangents, cotangents and batches ---


def weights(shape: tuple[int, ...], dtype: Any = np.float32) -> np.ndarray:
    """Unequal numbers near one: a mixed-up axis or a lost factor shows."""
    size = int(np.prod(shape))
    return (0.75 + 0.5 * np.cos(np.arange(size))).reshape(shape).astype(dtype)


def _tangents(jx: ModuleType, tree: Any) -> Any:
    return _map(jx, lambda x: _tangent(jx, x), tree)


def _tangent(jx: ModuleType, x: Any) -> Any:
    if _is_scalar(x):
        return 0.5 * x if _is_inexact(x) else np.zeros((), jx.dtypes.float0)
    if not _is_inexact(x):
        return np.zeros(x.shape, jx.dtypes.float0)
    if not x.shape:
        return x * 0.75  # by a Python number: as weakly typed as x is
    return x * weights(x.shape, x.dtype)


def _weighted_sum(jx: ModuleType, tree: Any) -> Any:
    total = jx.numpy.float32(0)
    for leaf in filter(_is_inexact, jx.tree_util.tree_leaves(tree)):
        if jx.numpy.iscomplexobj(leaf):
            leaf = jx.numpy.real(leaf) + 0.5 * jx.numpy.imag(leaf)
        total += jx.numpy.sum(leaf * weights(np.shape(leaf)))
    return total


def _batch(x: Any, axis: int | None) -> Any:
    """Two different examples along `axis`; Python scalars stay as they are, unbatched."""
    if axis is None or _is_scalar(x):
        return x
    x = np.asarray(x)
    other = x * x.dtype.type(0.75) if _is_inexact(x) else np.roll(x, 1)
    return np.stack([x, other], axis)


def _drop_float0(jx: ModuleType, tree: Any) -> Any:
    """Integers have tangents without values; later transformations need not meet them."""
    return _map(jx, lambda x: None if x.dtype == jx.dtypes.float0 else x, tree)


def _map(jx: ModuleType, f: Function, tree: Any) -> Any:
    return jx.tree_util.tree_map(f, tree)


def _is_scalar(x: Any) -> bool:
    return isinstance(x, (bool, int, float, complex))


def _is_inexact(x: Any) -> bool:
    if _is_scalar(x):
        return isinstance(x, (float, complex))
    return x.dtype.kind in "fc" or x.dtype.name == "bfloat16"
