"""Chapter 12: functions of scalars or vectors made functions of arrays, by `vmap`."""

import re
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from ..checks.operators import rank_promotion_of_loops
from ..core.api import vmap
from ..core.boundary import public
from ..core.primitives import canonical_axis
from ..lax.shaping import broadcast_shapes, expand_dims, squeeze
from ..lax.sizes import integers, known_sizes
from ..source import wraps
from ._arguments import ensure_arraylike
from ._constructors import arange, asarray

_ARGUMENT = r"\((?:\w+(?:,\w+)*)?\)"
_SIGNATURE = re.compile(f"{_ARGUMENT}(?:,{_ARGUMENT})*->{_ARGUMENT}(?:,{_ARGUMENT})*")
_Dims = tuple[str, ...]


@public
def vectorize(pyfunc: Callable, *, excluded: Collection[int | str] = frozenset(),
              signature: str | None = None) -> Callable:
    """A function that applies `pyfunc` to all elements of its arguments, which broadcast.

    Args:
      pyfunc: a function of scalars, or of arrays of the dimensions that `signature` says.
      excluded: positions and names of arguments that are passed on as they are.
      signature: the last dimensions that belong to one call, as in `"(n,m),(m)->(n)"`.

    Raises:
      TypeError, ValueError: a bad `excluded` or `signature`; shapes that do not fit them.

    >>> vectorize(jnp.dot, signature="(n),(n)->()")(jnp.ones((2, 3)), jnp.ones(3)).tolist()
    [3.0, 3.0]
    """
    if any(not isinstance(e, (str, int)) for e in excluded):
        raise TypeError("jax.numpy.vectorize can only exclude integer or string arguments, but "
                        f"{excluded=}")
    if any(isinstance(e, int) and e < 0 for e in excluded):
        raise ValueError(f"{excluded=} contains negative numbers")
    left_out: Any = set(excluded) or frozenset()
    context = f"on vectorized function with excluded={left_out} and {signature=}"

    @public
    @wraps(pyfunc)
    def wrapped(*args, **kwargs):
        function, args = _fix_excluded(pyfunc, set(excluded), args, kwargs)
        if signature is None:
            in_dims: list[_Dims] = [()] * len(args)
            out_dims = None
        else:
            in_dims, out_dims = _parse(signature)
        function, args, in_dims = _fix_none(function, args, in_dims, signature)
        args = [asarray(arg) for arg in args]
        shape, sizes = _loop_shape(args, in_dims, context)
        rank_promotion_of_loops(args, in_dims, signature)
        if out_dims is not None:
            function = _check_outputs(function, sizes, out_dims, context)
        return _apply(function, args, in_dims, shape)

    return wrapped


def _parse(signature: str) -> tuple[list[_Dims], list[_Dims]]:
    """The dimension names of the arguments, and those of the results."""
    if not _SIGNATURE.fullmatch(signature):
        raise ValueError(f"not a valid gufunc signature: {signature}")
    sides = (re.findall(_ARGUMENT, side) for side in signature.split("->"))
    inputs, outputs = ([tuple(re.findall(r"\w+", dims)) for dims in side] for side in sides)
    return inputs, outputs


def _fix_excluded(function, excluded, args, kwargs):
    """`function` of the other arguments only."""
    fixed = {i: arg for i, arg in enumerate(args) if i in excluded}
    if not fixed and not kwargs:
        return function, list(args)
    unknown = set(kwargs) - excluded
    names = sorted(unknown)
    others = [arg for i, arg in enumerate(args) if i not in excluded]
    n_positional = len(args)

    def of_others(*values):
        rest = iter(values)
        positional = [fixed[i] if i in fixed else next(rest) for i in range(n_positional)]
        by_name = dict(zip(names, rest))
        constant = {name: value for name, value in kwargs.items() if name in excluded}
        return function(*positional, **by_name, **constant)

    return of_others, others + [kwargs[name] for name in names]


def _fix_none(function, args, in_dims, signature):
    """`None` may stand for an argument that has no core dimensions: it is passed on."""
    missing = {i for i, arg in enumerate(args) if arg is None}
    if not missing:
        return function, args, in_dims
    if any(in_dims[i] for i in missing):
        raise ValueError(f"Cannot pass None at locations {missing} with {signature=}")
    function, args = _fix_excluded(function, missing, args, {})
    return function, args, [dims for i, dims in enumerate(in_dims) if i not in missing]


def _bind_sizes(sizes: dict, shape, dims: _Dims, context: str) -> None:
    """Note the sizes of named dimensions; they must agree."""
    for dim, size in zip(dims, shape):
        if sizes.setdefault(dim, size) != size:
            raise ValueError(f"inconsistent size for core dimension {dim!r}: {size} vs "
                             f"{sizes[dim]} {context}")


def _loop_shape(args, in_dims, context) -> tuple[tuple[int, ...], dict]:
    """The shape to which the leading dimensions broadcast, and the sizes of the named ones."""
    if len(args) != len(in_dims):
        raise TypeError(f"wrong number of positional arguments: expected {len(in_dims)}, got "
                        f"{len(args)} {context}")
    sizes: dict = {}
    for arg, dims in zip(args, in_dims):
        if arg.ndim < len(dims):
            raise ValueError(f"input with shape {arg.shape} does not have enough dimensions for "
                             f"all core dimensions {dims} {context}")
        _bind_sizes(sizes, arg.shape[arg.ndim - len(dims):], dims, context)
    shapes = [arg.shape[:arg.ndim - len(dims)] for arg, dims in zip(args, in_dims)]
    return broadcast_shapes(*shapes), sizes


def _check_outputs(function, sizes, out_dims, context):
    """`function`, whose results must have the dimensions that the signature says."""

    def checked(*args):
        out = function(*args)
        outs = out if isinstance(out, tuple) else (out,)
        if len(out_dims) > 1 and not isinstance(out, tuple):
            raise TypeError("output must be a tuple when multiple outputs are expected, got: "
                            f"{out!r} {context}")
        if len(outs) != len(out_dims):
            raise TypeError(f"wrong number of output arguments: expected {len(out_dims)}, got "
                            f"{len(outs)} {context}")
        known = dict(sizes)
        for value, dims in zip(outs, out_dims):
            shape = np.shape(value)  # of a tree that has no shape, ()
            if len(shape) != len(dims):
                raise ValueError(f"output shape {shape} does not match core dimensions {dims} "
                                 f"{context}")
            _bind_sizes(known, shape, dims, context)
        return out

    return checked


def _apply(function, args, in_dims, shape) -> Any:
    """One `vmap` for each dimension of the loop, over the arguments whose size in it is not 1."""
    squeezed, sizes_from_last = [], []
    for arg, dims in zip(args, in_dims):
        own = arg.shape[:arg.ndim - len(dims)]
        squeezed.append(squeeze(arg, [d for d, n in enumerate(own) if n == 1]))
        sizes_from_last.append(((1,) * (len(shape) - len(own)) + own)[::-1])
    ones = []
    for d, sizes in enumerate(zip(*sizes_from_last)):
        in_axes = tuple(None if size == 1 else 0 for size in sizes)
        if any(axis is not None for axis in in_axes):
            function = vmap(function, in_axes)
        else:
            ones.append(len(shape) - 1 - d)
    out = function(*squeezed)
    if not ones:
        return out
    if isinstance(out, tuple):
        return tuple(expand_dims(o, ones) for o in out)
    return expand_dims(out, ones)


@public
def apply_along_axis(func1d: Callable, axis: int, arr, *args, **kwargs):
    """`func1d` of each vector along an axis.

    Args:
      func1d: a function of a vector.
      axis: the dimension along which the vectors lie.
      arr: an array.
      *args, **kwargs: further arguments of `func1d`.

    Raises:
      ValueError: an axis out of bounds.
    """
    arr = ensure_arraylike("apply_along_axis", arr)
    axis = canonical_axis(axis, arr.ndim)

    def function(vector):
        return func1d(vector, *args, **kwargs)

    for d in range(1, arr.ndim - axis):
        function = vmap(function, in_axes=d, out_axes=-1)
    for _ in range(axis):
        function = vmap(function, in_axes=0, out_axes=0)
    return function(arr)


@public
def apply_over_axes(func: Callable, a, axes):
    """`func(a, axis)` for one axis after another; it may drop the axis or keep it.

    Raises:
      ValueError: `func` returns another number of dimensions.
    """
    a = ensure_arraylike("apply_over_axes", a)
    names: Any = axes if isinstance(axes, str) else integers("apply_over_axes: axes", axes)
    for axis in names:
        b = func(a, axis)
        if b.ndim == a.ndim - 1:
            b = expand_dims(b, (axis,))
        elif b.ndim != a.ndim:
            raise ValueError("function is not returning an array of the correct shape")
        a = b
    return a


@public
def fromfunction(function: Callable, shape, *, dtype=float, **kwargs):
    """The array whose element at `(i, j, …)` is `function(i, j, …)`.

    Args:
      function: a function of as many scalars as there are dimensions.
      shape: a sequence of ints.
      dtype: the type of the indices.
      **kwargs: further arguments, arrays, which are mapped over like the indices.
    """
    shape = known_sizes(shape)
    for d in range(len(shape)):
        in_axes = [0 if d == other else None for other in range(len(shape))]
        function = vmap(function, in_axes=tuple(in_axes[::-1]))
    return function(*(arange(n, dtype=dtype) for n in shape), **kwargs)
