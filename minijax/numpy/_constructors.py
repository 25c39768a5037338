"""Chapter 12: arrays out of numbers, lists, shapes and other arrays."""

import contextlib
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..checks.dtypes import valid_dtype
from ..core import dtypes
from ..core.array import Array
from ..core.boundary import public
from ..core.core import ArrayMethods, ShapedArray, Tracer, state, typeof
from ..core.operators import with_own_arrays
from ..core.primitives import broadcast_in_dim_p, convert
from ..errors import ConcretizationTypeError
from ..lax.compile_time import concrete_or_error, is_concrete
from ..lax.cutting import concatenate
from ..lax.dtypes import (
    check_and_canonicalize_user_dtype,
    coerce_to_array,
    default_float_dtype,
    of_any_size,
    plain_number,
    python_scalars,
    result_type,
)
from ..lax.elementwise import add, mul
from ..lax.operators import astype as astype_method
from ..lax.shaping import (
    broadcast,
    broadcast_to,
    broadcasted_iota,
    converted_on,
    copy_p,
    expand_dims,
    full as lax_full,
    full_like as lax_full_like,
    on_device,
)
from ..text.naming import named
from ._arguments import (
    canonical_shape,
    check_arraylike,
    ensure_array,
    ensure_arraylike,
    user_dtype,
)

# ----------------------------------------------------------------------------------------------
# array and asarray


@public
def array(object, dtype=None, *, copy: bool = True, order: str | None = "K", ndmin: int = 0,
          device=None, out_sharding=None) -> Any:
    """An array of numbers, of nested lists, of NumPy values or of arrays.

    Args:
      object: what to convert; lists may hold arrays and traced values.
      dtype: the element type; by default the least that holds all elements. A single Python
        number stays weakly typed, a list of them does not.
      copy: whether the result must not share memory with an array.
      order: `"K"` only.
      ndmin: the least number of dimensions; new ones are put in front.
      device: where to put it, as for `device_put`.

    Raises:
      ValueError: lists of unequal lengths, or `None` among the elements.
      TypeError: elements that are not numbers.
      OverflowError: a Python integer too large for its type.

    >>> array([[1, 2], [3, 4]])
    Array([[1, 2],
           [3, 4]], dtype=int32)
    """
    if order not in (None, "K"):
        raise NotImplementedError("Only implemented for order='K'")
    out = _array(object, user_dtype(dtype, "array"), copy)
    out = expand_dims(out, range(ndmin - out.ndim)) if ndmin > out.ndim else out
    return converted_on(out, device, out_sharding)


@public
def asarray(a, dtype=None, order: str | None = None, *, copy: bool | None = None,
            device=None, out_sharding=None) -> Any:
    """`array`, but an array of the right type is returned as it is.

    Args, raises: as `array`.

    >>> x = jnp.ones(3)
    >>> asarray(x) is x
    True
    """
    if order not in (None, "K"):
        raise NotImplementedError("Only implemented for order='K'")
    if dtype is not None and hasattr(dtype, "aval"):
        user_dtype(dtype, "asarray")  # refuses it: NumPy would compare with its dtype
    if isinstance(a, ArrayMethods) and (dtype is None or a.aval.dtype == dtype) and not copy \
            and device is out_sharding is None:
        return a if dtype is None else convert(a, a.aval.dtype)
    out = _array(a, user_dtype(dtype, "asarray"), bool(copy))
    return converted_on(out, device, out_sharding)


def _array(x, dtype, copy):
    """`array` for a canonical dtype or `None`."""
    if hasattr(x, "__jax_array__"):
        x = x.__jax_array__()
        if dtype is None:  # a weak type is not handed on
            dtype = typeof(x).dtype
    if isinstance(x, ArrayMethods):
        x = copy_p.bind(x) if copy else x
        return x if dtype is None else convert(x, dtype)
    if isinstance(x, (list, tuple)):
        return _from_list(x, dtype)
    if isinstance(x, np.ndarray) and type(x) is not np.ndarray:
        x = _plain_array(x, copy)
    if dtype is None and isinstance(x, (np.ndarray, np.generic)) and not _is_record(x.dtype):
        return ensure_array(x)
    if isinstance(x, python_scalars) and not isinstance(x, np.generic):
        x = x if type(x) in dtypes.python_scalar_types else plain_number(x)
        value = coerce_to_array(x, dtype)
        return convert(value, value.dtype, dtype is None and type(x) is not bool)
    if x is None:
        raise ValueError("None is not a valid value for jnp.array")
    if isinstance(x, (str, bytes)) and dtype is not None:
        return ensure_array(_number_of_text(x, dtype))
    if isinstance(getattr(x, "dtype", None), np.dtype) and _is_record(x.dtype):
        raise TypeError(f"jnp.array: an array of records, of dtype {x.dtype}, cannot become an "
                        "array of numbers. Give one of its fields.")
    return ensure_array(np.asarray(x, dtype or dtypes.dtype(np.asarray(x))))


def _plain_array(x: np.ndarray, copy: bool) -> np.ndarray:
    """The values of an array of a subclass of NumPy's. As in NumPy, a copy of a masked array has
    all values; without a copy it is refused, because nothing says that the mask may go."""
    if copy:
        return np.array(x)
    valid_dtype(True, x, x.dtype)
    return np.asarray(x)


def _number_of_text(text: str | bytes, dtype) -> np.ndarray:
    """Text that spells a number of this dtype, as NumPy reads it."""
    try:
        return np.asarray(text, dtype)
    except ValueError:
        raise ValueError(f"could not convert the text {text!r} to {dtype.name}: expected the "
                         "spelling of a number.") from None


def _as_numpy(xs, dtype) -> np.ndarray:
    try:
        return np.asarray(xs, dtype)
    except ValueError as error:
        if "inhomogeneous" not in str(error):
            raise
        raise ValueError("jnp.array: the lists inside a list must be equally long, and nested "
                         f"equally deep, got {xs!r}.") from None


def _is_record(dtype) -> bool:
    return getattr(dtype, "fields", None) is not None and dtype != dtypes.float0


def _from_list(xs, dtype):
    """The array of a nested list: by NumPy if all of it is known, else by `concatenate`."""
    leaves = list(_leaves(xs))
    if any(hasattr(leaf, "__jax_array__") for leaf in leaves):
        xs = _with_own_arrays(xs)
        leaves = list(_leaves(xs))
    if dtype is None:
        dtype = _common_dtype(leaves)
    if not any(isinstance(leaf, ArrayMethods) for leaf in leaves):
        return _wrap(_as_numpy(xs, dtype))
    in_numpy = isinstance(dtype, np.dtype) and not state.trace.staging  # NumPy has no keys
    if in_numpy and not any(_is_elsewhere(leaf) for leaf in leaves):
        # Rows of unequal shapes are told better below; bfloat16 takes no objects for numbers.
        with contextlib.suppress(ValueError, TypeError):
            return _wrap(np.asarray(xs, dtype))
    rows = [expand_dims(_array(x, dtype, False), [0]) for x in xs]
    while len(rows) > 16:
        rows = [concatenate(rows[i:i + 16], 0) for i in range(0, len(rows), 16)]
    return concatenate(rows, 0)


def _is_elsewhere(x) -> bool:
    """Whether it is traced, or an array that chapter 14 has put somewhere."""
    return isinstance(x, ArrayMethods) and type(x) is not Array


def _wrap(value: np.ndarray) -> Array:
    """An array around a NumPy value that has no other owner."""
    return Array(value, ShapedArray(value.shape, value.dtype))


def _leaves(xs) -> Iterator:
    """The elements of a nested list."""
    for x in xs:
        if isinstance(x, (list, tuple)):
            yield from _leaves(x)
        elif x is None:
            raise ValueError("None is not a valid value for jnp.array")
        else:
            yield x


def _with_own_arrays(xs):
    """A nested list, in which what has a method `__jax_array__` is replaced by its result."""
    if isinstance(xs, (list, tuple)):
        return [*map(_with_own_arrays, xs)]
    return xs.__jax_array__() if hasattr(xs, "__jax_array__") else xs


def _common_dtype(leaves) -> np.dtype:
    """The least dtype that holds all of them; each kind of leaf is looked at once."""
    kinds = {getattr(leaf, "aval", type(leaf)): leaf for leaf in leaves}
    samples = [leaf if isinstance(leaf, (ArrayMethods, *dtypes.python_scalar_types))
               else np.asarray(leaf) for leaf in kinds.values()]
    return dtypes.lattice_result_type(*samples)[0] if samples else default_float_dtype()


# ----------------------------------------------------------------------------------------------
# Arrays of one value


def _shape(shape) -> tuple[int, ...]:
    """The `shape` argument of a constructor: an int or a sequence of ints."""
    if type(shape) is int and shape >= 0:
        return (shape,)
    if isinstance(shape, types.GeneratorType):
        raise TypeError("expected sequence object with len >= 0 or a single integer")
    is_scalar = not isinstance(shape, (tuple, list)) and np.ndim(shape) == 0
    return canonical_shape((shape,) if is_scalar else shape)


def _check_forgotten_parentheses(name, shape, dtype):
    if isinstance(dtype, int) and isinstance(shape, int):
        raise TypeError(f"Cannot interpret '{dtype}' as a data type. Did you accidentally write "
                        f"`jax.numpy.{name}({shape}, {dtype})` when you meant "
                        f"`jax.numpy.{name}(({shape}, {dtype}))`, one tuple for the shape?")


def _filled(name, value):
    """`zeros`, `ones` and `empty`."""

    @named(name, what="unspecified contents (zeros)" if name == "empty" else name)
    @public
    def constructor(shape, dtype=None, *, device=None, out_sharding=None):
        """An array of {what}.

        Args:
          shape: an int or a sequence of ints.
          dtype: the element type; by default floating point.

        Raises:
          TypeError: a shape that is traced or negative.

        >>> {name}((2, 3)).shape
        (2, 3)
        """
        _check_forgotten_parentheses(name, shape, dtype)
        dtype = (dtypes.python_scalar_dtype(float) if dtype is None else
                 check_and_canonicalize_user_dtype(dtype, name))
        shape = _shape(shape)
        if not shape or dtype.kind == "V":
            out = lax_full(shape, value, dtype)
        elif out_sharding is not None and device is None:
            return broadcast(dtype.type(value), shape, out_sharding=out_sharding)
        else:
            out = broadcast_in_dim_p.bind(dtype.type(value), shape=shape, broadcast_dimensions=())
        return converted_on(out, device, out_sharding)

    return constructor


zeros, ones, empty = _filled("zeros", 0), _filled("ones", 1), _filled("empty", 0)


def _is_scalar(value) -> bool:
    """Whether it has no dimensions. A Python integer may be too large to have a type."""
    return type(value) is int or not typeof(value).ndim


@public
def full(shape, fill_value, dtype=None, *, device=None, out_sharding=None):
    """An array with `fill_value` everywhere.

    Args:
      shape: an int or a sequence of ints.
      fill_value: a scalar, or an array that broadcasts to `shape`.
      dtype: the element type; by default that of `fill_value`.

    Raises:
      TypeError, ValueError: a shape that is traced, negative, or not that of the broadcast.

    >>> full(2, 7.0)
    Array([7., 7.], dtype=float32, weak_type=True)
    """
    dtype = user_dtype(dtype, "full")
    check_arraylike("full", fill_value)
    if out_sharding is not None and device is None:
        return broadcast_to(lax_full((), fill_value, dtype) if _is_scalar(fill_value)
                            else asarray(fill_value, dtype), _shape(shape),
                            out_sharding=out_sharding)
    if _is_scalar(fill_value):
        out = lax_full(_shape(shape), fill_value, dtype)
    else:
        out = broadcast_to(asarray(fill_value, dtype), _shape(shape))
    out = out if device is None or isinstance(out, Tracer) else out.astype(out.dtype)
    return converted_on(out, device, out_sharding)


def _filled_like(name, value):
    """`zeros_like` and `ones_like`."""

    @named(name, as_for=name.removesuffix("_like"))
    @public
    def constructor(a, dtype=None, shape=None, *, device=None, out_sharding=None):
        """`{as_for}` with the shape and the dtype of `a`, unless given.

        Args:
          a: an array, or what has a `shape` and a `dtype`.
          dtype, shape: as for `{as_for}`.

        Raises:
          TypeError: `a` is no array.
        """
        if not (hasattr(a, "dtype") and hasattr(a, "shape")):
            check_arraylike(name, a)
        dtype, shape = user_dtype(dtype, name), None if shape is None else _shape(shape)
        if out_sharding is not None and device is None:
            return _stated_like(a, value, dtype, shape, out_sharding)
        out = lax_full_like(a, value, dtype, shape)
        return converted_on(out, device, out_sharding, a)

    return constructor


def _stated_like(a, value, dtype, shape, out_sharding):
    """An array of one value with the shape and the dtype of `a`, unless given."""
    value = lax_full_like(a, value, dtype, ())
    return broadcast(value, np.shape(a) if shape is None else shape, out_sharding=out_sharding)


zeros_like, ones_like = _filled_like("zeros_like", 0), _filled_like("ones_like", 1)


@public
def empty_like(prototype, dtype=None, shape=None, *, device=None) -> Any:
    """`zeros_like`: there are no arrays without contents."""
    check_arraylike("empty_like", 0 if hasattr(prototype, "dtype") else prototype)
    return zeros_like(prototype, dtype, shape, device=device)


@public
def full_like(a, fill_value, dtype=None, shape=None, *, device=None, out_sharding=None):
    """`full` with the shape and the dtype of `a`, unless given.

    Args, raises: as `full`.
    """
    check_arraylike("full_like", 0 if hasattr(a, "dtype") and hasattr(a, "shape") else a,
                    fill_value)
    (fill_value,) = with_own_arrays([fill_value])
    dtype = user_dtype(dtype, "full_like")
    shape = None if shape is None else _shape(shape)
    if _is_scalar(fill_value):
        if out_sharding is not None and device is None:
            return _stated_like(a, fill_value, dtype, shape, out_sharding)
        out = lax_full_like(a, fill_value, dtype, shape)
    else:
        value = asarray(fill_value, result_type(a) if dtype is None else dtype)
        out = broadcast_to(value, np.shape(a) if shape is None else shape)
    return converted_on(out, device, out_sharding, a)


# ----------------------------------------------------------------------------------------------
# Ranges and grids


@public
def arange(start, stop=None, step=None, dtype=None, *, device=None, out_sharding=None):
    """Evenly spaced numbers: `start`, `start + step`, … before `stop`.

    Args:
      start, stop, step: known scalars; a single one is `stop`.
      dtype: the element type; by default that of the arguments.

    Raises:
      ConcretizationTypeError: an argument is traced, so the shape would depend on it, or `start` or
        `step` is differentiated.
      ValueError: an argument is not a real scalar.

    >>> arange(1, 7, 2)
    Array([1, 3, 5], dtype=int32)
    """
    dtype = user_dtype(dtype, "arange")
    if start is None:
        raise TypeError("arange: start (or stop, if it is alone) must be a number, got None.")
    if step is not None and not isinstance(step, Tracer) and np.ndim(step) == 0 and step == 0:
        raise ZeroDivisionError("arange: step must not be zero.")
    name = "stop" if stop is None and step is None else "start"
    _check_constant(step)
    if name == "start":
        _check_constant(start)
    start, stop, step = (_range_argument(*named) for named in
                         ((name, start), ("stop", stop), ("step", step)))
    chosen = dtype is None
    if chosen:
        dtype = result_type(*(x for x in (start, stop, step) if x is not None))
    if stop is None:
        start, stop = 0, start
    stated = out_sharding if device is None else None
    size = int(np.ceil(stop - start if step is None else (stop - start) / step))
    if chosen and size > 0:
        _check_range_fits(start, (size - 1) * (1 if step is None else step), dtype)
    if step is not None:
        out = _stepped_range(start, step, size, dtype, stated)
    else:
        size = max(0, size)
        if size >= 2**63:
            raise TypeError(f"arange: {stop - start} elements are more than an array can have.")
        out = broadcasted_iota(dtype, (size,), 0, out_sharding=stated)
        out = out if start == 0 else add(convert(of_any_size(start, dtype), dtype), out)
    return on_device(out, device, out_sharding=out_sharding if stated is None else None)


def _check_range_fits(first, length, dtype):
    """Raise if the integer type chosen for a range cannot hold its ends: it would wrap around."""
    if dtypes.issubdtype(dtype, np.integer):
        info, last = dtypes.iinfo(dtype), int(first) + int(length)
        if not all(info.min <= end <= info.max for end in (first, last)):
            raise OverflowError(f"arange: {dtype} cannot hold the numbers from {first} to {last}. "
                                "Pass a floating point `dtype`, or enable 64 bits "
                                "(jax_enable_x64).")


def _check_constant(value):
    """Raise for a differentiated start or step: the elements depend on it, not only the size."""
    if isinstance(value, Tracer) and is_concrete(value):
        raise ConcretizationTypeError(value, "jnp.arange makes constants of its start and step; "
                                             "jnp.linspace keeps their derivatives.")


def _range_argument(name, value):
    """`value` as a known real scalar, or `None`."""
    if value is None:
        return None
    check_arraylike("arange", value)
    value = concrete_or_error(None, value, f"It arose in the jnp.arange argument '{name}'")
    if np.ndim(value):
        raise ValueError(f"jax.numpy.arange: arguments must be scalars; got {name}={value}")
    if np.iscomplexobj(value):
        raise ValueError("Passing complex start/stop/step to jnp.arange is no longer supported; "
                         f"got {name}={value}")
    return value


def _stepped_range(start, step, size, dtype, out_sharding):
    """`start + step * i`; in single precision for the narrower floating point types."""
    narrow = dtypes.issubdtype(dtype, np.floating) and dtypes.finfo(dtype).bits < 32
    working = np.dtype("float32") if narrow else dtype
    start, step = (convert(of_any_size(x, working), working) for x in (start, step))
    # Without a name each array is freed as soon as the next one is made of it.
    return convert(add(start, mul(step, broadcasted_iota(
        working, (max(0, size),), 0, out_sharding=out_sharding))), dtype)


@public
def astype(x, dtype, /, *, copy: bool = False, device=None) -> Any:
    """`x` converted to another element type.

    Args:
      x: an array.
      dtype: an element type; `None` is the default floating point type.
      copy: whether the result must be another array.
      device: where to put it, as for `device_put`.

    Raises:
      TypeError: `x` is no array.

    >>> astype(jnp.array([1.5, 2.5]), int).tolist()
    [1, 2]
    """
    out = astype_method(ensure_arraylike("astype", x), dtype, copy)
    return converted_on(out, device)


@public
def copy(a, order: str | None = None):
    """A copy of `a`."""
    check_arraylike("copy", a)
    return array(a, copy=True, order=order)
