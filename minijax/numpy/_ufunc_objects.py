"""Chapter 12: functions of elements as objects, which can also reduce, accumulate and scatter.

`jnp.add` is such an object: a call goes to the function of `operators.py`, and the methods go to
what is quickest for it: `jnp.add.reduce` is `jnp.sum`. A function that has nothing of its own,
like those that `frompyfunc` makes, is carried from row to row by `scan`.
"""

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..checks.tracebacks import hide_frames
from ..core import dtypes
from ..core.api import eval_shape, vmap
from ..core.boundary import public
from ..core.core import state, typeof
from ..lax import operators, reductions as red
from ..lax.bitwise import bitwise_and as and_bits, bitwise_or as or_bits, bitwise_xor as xor_bits
from ..lax.control_flow.scan import scan
from ..lax.indexing import as_tuple
from ..lax.shaping import full
from ..runtime.structs import ShapeDtypeStruct
from . import _reductions, _running, _special, _ufuncs
from ._arguments import canonical_axis, check_arraylike, ensure_arraylike, ensure_arraylikes
from ._constructors import arange, array, asarray
from ._indexing import take
from ._joining import concatenate
from ._select import _where
from ._shaping import broadcast_to, moveaxis, ravel
from ._softmax import logsumexp
from ._staged import staged
from ._vectorize import vectorize


def _compiled(**statics) -> Callable:
    """Decorator: a method that is compiled; if the function has a way of its own, which is quick
    anyway, only when it is traced."""

    def decorate(method):
        jitted = staged(method, eager=False, **statics)

        @functools.wraps(method)
        def call(self, *args, **kwargs):
            try:
                plain = self._own.get(method.__name__) and not state.trace.staging
                return (method if plain else jitted)(self, *args, **kwargs)
            except Exception as error:
                hide_frames(error)
                raise

        return call

    return decorate


class ufunc:
    """A function that is applied to each element of its arguments, which broadcast.

    Args:
      func: the function, of scalars.
      nin, nout: how many arguments it has, and how many results.
      name: by default that of `func`.
      nargs: by default `nin`.
      identity: the neutral element of a binary function, if it has one.
      call, reduce, accumulate, at, reduceat: quicker ways to do the same as the methods.

    >>> jnp.add.reduce(jnp.arange(4)), jnp.multiply.outer(jnp.arange(2), jnp.arange(3)).shape
    (Array(6, dtype=int32), (2, 3))
    """

    def __init__(self, func: Callable[..., Any], /, nin: int, nout: int, *, name: str | None = None,
                 nargs: int | None = None, identity: Any = None,
                 call: Callable[..., Any] | None = None, reduce: Callable[..., Any] | None = None,
                 accumulate: Callable[..., Any] | None = None,
                 at: Callable[..., Any] | None = None, reduceat: Callable[..., Any] | None = None):
        self.__doc__, self.__name__ = func.__doc__, name or func.__name__
        self._call = call or self._call_vectorized
        self._own = {"reduce": reduce, "accumulate": accumulate, "at": at, "reduceat": reduceat}
        self._key = (func, self.__name__, identity, operator.index(nin), operator.index(nout),
                     operator.index(nargs or nin))

    _func = property(lambda self: self._key[0], doc="The function, of scalars.")
    identity = property(lambda self: self._key[2], doc="The neutral element, or `None`.")
    nin = property(lambda self: self._key[3], doc="How many arguments there are.")
    nout = property(lambda self: self._key[4], doc="How many results there are.")
    nargs = property(lambda self: self._key[5], doc="How many arguments there are.")

    def __hash__(self):
        return hash(self._key)

    def __eq__(self, other):
        return isinstance(other, ufunc) and self._key == other._key

    def __repr__(self):
        return f"<jnp.ufunc '{self.__name__}'>"

    def __call__(self, *args, out: None = None, where: None = None) -> Any:
        """The function of each element."""
        try:
            if out is not None or where is not None:
                unknown = "where" if out is None else "out"
                raise NotImplementedError(f"{unknown} argument of {self}")
            return self._call(*args)
        except Exception as error:
            hide_frames(error)
            raise

    @_compiled(static_argnames=("self",))
    def _call_vectorized(self, *args):
        check_arraylike(self.__name__, *args)
        return vectorize(self._func)(*args)

    def _check_binary(self, method, out=None):
        if self.nin != 2:
            raise ValueError(f"{method} only supported for binary ufuncs")
        if self.nout != 1:
            raise ValueError(f"{method} only supported for functions returning a single value")
        if out is not None:
            raise NotImplementedError(f"out argument of {self.__name__}.{method}()")

    def _out_dtype(self, *args):
        """The dtype of the result for elements of these arguments."""
        of_one = (ShapeDtypeStruct((), arg.dtype, weak_type=typeof(arg).weak_type) for arg in args)
        return eval_shape(self._func, *of_one).dtype

    @_compiled(static_argnames=("self", "axis", "dtype", "out", "keepdims"))
    def reduce(self, a, axis: int | None = 0, dtype=None, out: None = None, keepdims: bool = False,
               initial=None, where=None) -> Any:
        """The elements along an axis combined into one, from the first to the last.

        Args:
          a: an array.
          axis: an int, or `None` for all elements.
          dtype: the type of the result.
          keepdims: whether the axis remains, with size 1.
          initial: a scalar to begin with.
          where: a boolean array: which elements count.

        Raises:
          ValueError: the function is not binary; nothing to reduce and no neutral element.

        >>> jnp.maximum.reduce(jnp.array([[1, 5], [4, 2]])).tolist()
        [4, 5]
        """
        a = ensure_arraylike(f"{self.__name__}.reduce", a)
        self._check_binary("reduce", out)
        if where is not None:
            where = ensure_arraylike(f"{self.__name__}.reduce", where)
            if self.identity is None and initial is None:
                raise ValueError(f"reduction operation {self.__name__!r} does not have an identity"
                                 ", so to use a where mask one has to specify 'initial'.")
            if where.dtype != bool:
                raise ValueError(f"where argument must have dtype=bool; got dtype={where.dtype}")
        own = self._own["reduce"] or self._reduce_by_scan
        return own(a, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where)

    def _reduce_by_scan(self, a, axis, dtype, keepdims, initial, where):
        dtype = dtype or self._out_dtype(a, a)
        if initial is None and self.identity is not None:
            initial = _reductions.start_value(self.identity, np.dtype(dtype))
        where = None if where is None else broadcast_to(where, a.shape)
        if isinstance(axis, tuple):
            raise NotImplementedError(f"{self.__name__}.reduce over a tuple of axes")
        kept = tuple(1 if axis is None or d == canonical_axis(axis, a.ndim) else n
                     for d, n in enumerate(a.shape))
        if axis is None:
            a, axis, where = ravel(a), 0, None if where is None else ravel(where)
        rows = moveaxis(a, axis, 0).astype(dtype)
        if initial is None and not len(rows):
            raise ValueError(f"zero-size array to reduction operation {self.__name__} which has no "
                             "identity")
        first, rest = (rows[0], rows[1:]) if initial is None else (initial, rows)
        first = broadcast_to(asarray(first, dtype), rows.shape[1:])

        def step(total, row_and_mask):
            row, mask = row_and_mask
            combined = self(total, row)
            return combined if mask is None else _where(mask, combined, total), None

        mask = None if where is None else moveaxis(where, axis, 0)
        total, _ = scan(step, first, (rest, mask))
        return total.reshape(kept) if keepdims else total

    @_compiled(static_argnames=("self", "axis", "dtype"))
    def accumulate(self, a, axis: int = 0, dtype=None, out: None = None) -> Any:
        """The results of `reduce` for the first element, the first two, … along an axis.

        Args:
          a: an array.
          axis: an int.
          dtype: the type of the result.

        >>> jnp.add.accumulate(jnp.arange(4)).tolist()
        [0, 1, 3, 6]
        """
        self._check_binary("accumulate", out)
        a = ensure_arraylike(f"{self.__name__}.accumulate", a)
        canonical_axis(0 if axis is None or isinstance(axis, tuple) else axis, a.ndim)
        own = self._own["accumulate"] or self._accumulate_by_scan
        return own(a, axis=axis, dtype=dtype)

    def _accumulate_by_scan(self, a, axis, dtype):
        a = ensure_arraylike(f"{self.__name__}.accumulate", a)
        dtype = dtype or self._out_dtype(a, a)
        if axis is None or isinstance(axis, tuple):
            raise ValueError("accumulate does not allow multiple axes")
        axis = canonical_axis(axis, a.ndim)
        if not a.size:
            return full(a.shape, 0, dtype)
        rows = moveaxis(a, axis, 0).astype(dtype)

        def step(total, row):
            total = self(total, row).astype(dtype)
            return total, total

        _, totals = scan(step, rows[0], rows[1:])
        return moveaxis(concatenate([rows[:1], totals]), 0, axis)

    @_compiled(static_argnums=(0,), static_argnames=("inplace",))
    def at(self, a, indices, b=None, /, *, inplace: bool = True) -> Any:
        """A copy of `a` with the function applied to some elements, those met twice twice.

        Args:
          a: an array.
          indices: an index, as in `a[indices]`.
          b: the second argument of a binary function.
          inplace: must be `False`: arrays do not change.

        >>> jnp.add.at(jnp.zeros(3), jnp.array([0, 0, 2]), 1, inplace=False).tolist()
        [2.0, 0.0, 1.0]
        """
        if inplace:
            raise NotImplementedError(
                "JAX arrays are immutable, so jnp.ufunc.at() cannot operate inplace, as "
                "np.ufunc.at() does. Pass inplace=False and take the result, as in "
                "arr = jnp.add.at(arr, i, x, inplace=False).")
        own, a = self._own["at"] or self._at_by_scan, ensure_arraylike(f"{self.__name__}.at", a)
        return own(a, indices) if b is None else own(a, indices, b)

    def _at_by_scan(self, a, indices, *args):
        """Update one index after the other, since an index may occur more than once."""
        a, *args = ensure_arraylikes(f"{self.__name__}.at", a, *args)
        dtype = self._out_dtype(a, *args)
        a, args = a.astype(dtype), [arg.astype(dtype) for arg in args]
        entries = as_tuple(indices)
        shape = np.broadcast_shapes(*(np.shape(i) for i in entries if not isinstance(i, slice)))
        if not shape:
            return a.at[entries].set(self(a.at[entries].get(), *args)) if entries else a
        args = [broadcast_to(arg, (*shape, *arg.shape[len(shape):])) for arg in args]
        args = [arg.reshape(math.prod(shape), *arg.shape[len(shape):]) for arg in args]
        positions = [ravel(broadcast_to(i, shape)) for i in entries if not isinstance(i, slice)]

        def step(a, row):
            ints, operands = row
            rest = iter(ints)
            entry = tuple(i if isinstance(i, slice) else next(rest) for i in entries)
            return a.at[entry].set(self(a.at[entry].get(), *operands)), None

        return scan(step, a, (positions, args))[0]

    @_compiled(static_argnames=("self", "axis", "dtype"))
    def reduceat(self, a, indices, axis: int = 0, dtype=None, out: None = None) -> Any:
        """`reduce` of the segments that begin at the `indices`.

        Args:
          a: an array.
          indices: a vector of integers; each segment ends where the next one begins.
          axis: an int.
          dtype: the type of the result.

        Raises:
          ValueError: a scalar `a`, `indices` that are no vector, or more than one axis.

        >>> jnp.add.reduceat(jnp.arange(5), jnp.array([0, 2])).tolist()
        [1, 9]
        """
        self._check_binary("reduceat", out)
        if self._own["reduceat"]:
            return self._own["reduceat"](a, indices, axis=axis, dtype=dtype)
        a, indices = ensure_arraylikes(f"{self.__name__}.reduceat", a, indices)
        if a.ndim == 0:
            raise ValueError(f"reduceat: a must have 1 or more dimension, got a.shape={a.shape}")
        if indices.ndim != 1:
            raise ValueError("reduceat: indices must be one-dimensional, got indices.shape="
                             f"{indices.shape}")
        if not dtypes.issubdtype(indices.dtype, np.integer):
            raise ValueError(f"reduceat: indices must be integers, got {indices.dtype.name}.")
        if axis is None or isinstance(axis, (tuple, list)):
            raise ValueError("reduceat requires a single integer axis.")
        rows = moveaxis(a, axis, 0)
        ends = concatenate([indices[1:], array([len(rows)], indices.dtype)])

        def step(out, row_and_number):
            row, i = row_and_number
            inside = (i > indices) & (i < ends)
            inside = inside.reshape(-1, *[1] * (out.ndim - 1))
            return _where(inside, self(out, row[None]), out), None

        out, _ = scan(step, take(rows, indices, axis=0), (rows, arange(len(rows))))
        return moveaxis(out, 0, axis)

    @_compiled(static_argnums=(0,))
    def outer(self, A, B, /) -> Any:
        """The function of all pairs of elements, in an array of shape `(*A.shape, *B.shape)`.

        Raises:
          ValueError: the function is not binary.
        """
        self._check_binary("outer")
        A, B = ensure_arraylikes(f"{self.__name__}.outer", A, B)
        table = vmap(vmap(self, (None, 0)), (0, None))(ravel(A), ravel(B))
        return table.reshape(*A.shape, *B.shape)


@public
def frompyfunc(func: Callable[..., Any], /, nin: int, nout: int, *, identity: Any = None) -> ufunc:
    """A function of scalars as a `ufunc`.

    Args:
      func: a function of `nin` scalars that returns `nout` of them.
      nin, nout: ints.
      identity: its neutral element, if there is one.

    >>> frompyfunc(lambda x, y: x + 2 * y, 2, 1).accumulate(jnp.arange(4)).tolist()
    [0, 2, 6, 12]
    """
    return ufunc(func, nin, nout, identity=identity)


# ----------------------------------------------------------------------------------------------
# The table: functions with their neutral elements, and their own ways to reduce, accumulate, update


def _only_integers(a):
    if not np.issubdtype(a.dtype, np.integer) and a.dtype != bool:
        raise ValueError(f"integer argument required; got dtype={a.dtype}")
    return a


def _reduction(name, primitive, combine, start, prepare=None, may_be_empty=True):
    """A row: `reduce` by a primitive."""
    kind = _reductions.Reduction(name, primitive, combine, start, prepare, None, may_be_empty)

    def reduce(a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=None):
        return _reductions._reduce(kind, a, axis, keepdims, dtype, out, initial, where)

    return reduce


def _reduce_log(scale: float, combine: Callable):
    """`reduce` of `logaddexp` to a base whose logarithm is `scale`."""

    def reduce(a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=None):
        a = a if scale == 1 else a * scale
        masked = a if where is None else _where(where, a, -np.inf)
        total = logsumexp(masked, axis, keepdims=keepdims)
        total = total if scale == 1 else total / scale
        return total if initial is None else combine(initial, total)

    return reduce


def _at(method: str):
    """A row: `at` by a method of `a.at[…]`."""
    return lambda a, indices, b: getattr(a.at[indices], method)(b)


def _binary(function, identity=None, **own) -> ufunc:
    return ufunc(function, 2, 1, identity=identity, call=function, **own)


_and, _or, _xor = ((red.reduce_and_p, and_bits), (red.reduce_or_p, or_bits),
                   (red.reduce_xor_p, xor_bits))
_bool = _reductions._to_bool

add = _binary(operators.add, 0, reduce=_reductions.sum, accumulate=_running.cumsum, at=_at("add"))
multiply = _binary(operators.multiply, 1, reduce=_reductions.prod, accumulate=_running.cumprod,
                   at=_at("multiply"))
subtract = _binary(operators.subtract, at=_at("subtract"))
negative = ufunc(operators.negative, 1, 1, call=operators.negative)
bitwise_and = _binary(operators.bitwise_and, -1,
                      reduce=_reduction("reduce_bitwise_and", *_and, -1, _only_integers))
bitwise_or = _binary(operators.bitwise_or, 0,
                     reduce=_reduction("reduce_bitwise_or", *_or, 0, _only_integers))
bitwise_xor = _binary(operators.bitwise_xor, 0,
                      reduce=_reduction("reduce_bitwise_xor", *_xor, 0, _only_integers))
logical_and = _binary(_ufuncs.logical_and, True,
                      reduce=_reduction("reduce_logical_and", *_and, 1, _bool))
logical_or = _binary(_ufuncs.logical_or, False,
                     reduce=_reduction("reduce_logical_or", *_or, 0, _bool))
logical_xor = _binary(_ufuncs.logical_xor, False,
                      reduce=_reduction("reduce_logical_xor", *_xor, 0, _bool))
minimum = _binary(operators.minimum, reduce=_reduction("min", *_reductions.MIN[1:4], None, False))
maximum = _binary(operators.maximum, reduce=_reduction("max", *_reductions.MAX[1:4], None, False))
logaddexp = _binary(_special.logaddexp, -np.inf, reduce=_reduce_log(1, _special.logaddexp))
logaddexp2 = _binary(_special.logaddexp2, -np.inf,
                     reduce=_reduce_log(float(np.log(2)), _special.logaddexp2))
