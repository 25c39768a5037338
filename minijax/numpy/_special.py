"""Chapter 12: elementwise functions of several steps."""

import functools
from collections.abc import Callable, Sequence

import numpy as np

from ..checks.primitives import places_fit
from ..core import dtypes
from ..core.boundary import public
from ..core.core import typeof
from ..core.operators import with_own_arrays
from ..core.primitives import stop_gradient_p
from ..custom_rules import custom_jvp
from ..lax import bitwise, complex_numbers, elementwise as lax
from ..lax.compile_time import concrete_or_error, is_concrete
from ..lax.cutting import concatenate
from ..lax.dtypes import default_int_dtype, to_floating_dtype
from ..lax.operators import add, bitwise_or, greater, less, maximum, minimum
from ..lax.reductions import argmax_p
from ..lax.selection import select as lax_select, select_n
from ..lax.shaping import expand_dims as lax_expand_dims, full_like
from ..lax.sizes import canonical_shape
from ..lax.stacking import stack_p
from ..settings import numpy_dtype_promotion, numpy_rank_promotion
from ._arguments import (
    check_arraylike,
    complex_input,
    constant_like,
    convert,
    ensure_arraylike,
    ensure_arraylikes,
    is_inexact,
    promote_args,
    promote_args_inexact,
    promote_dtypes,
    promote_dtypes_inexact,
    to_bool,
)
from ._constructors import array, asarray, on_device
from ._indexing import nonzero_of_size
from ._reductions import all
from ._running import cumsum
from ._select import _where, broadcast_arrays, broadcast_together
from ._staged import compiled, staged
from ._ufuncs import isfinite, isnan, isneginf, isposinf, logical_and, logical_or

# ----------------------------------------------------------------------------------------------
# Into an interval


@staged
def clip(arr=None, /, min=None, max=None):
    """`arr` brought into the interval from `min` to `max`, elementwise.

    Args:
      arr: an array of real numbers.
      min, max: arrays or scalars, or `None` for no bound.

    Raises:
      ValueError: complex numbers, or no `arr`.

    >>> clip(jnp.arange(5), 1, 3).tolist()
    [1, 1, 2, 3, 3]
    """
    if arr is None:
        raise ValueError("No input was provided to the clip function.")
    check_arraylike("clip", arr)
    if any(bound is not None and complex_input(bound) for bound in (arr, min, max)):
        raise ValueError("Clip received a complex value. Complex values have no ordering and "
                         "cannot be clipped. Clip the real or the imaginary part "
                         "(jax.numpy.real, jax.numpy.imag).")
    if min is not None:
        arr = maximum(min, arr)
    if max is not None:
        arr = minimum(max, arr)
    return asarray(arr)


@staged
def nan_to_num(x, copy: bool = True, nan=0.0, posinf=None, neginf=None):
    """`x` with numbers in the place of NaN and infinities.

    Args:
      x: an array; integers and random keys are returned as they are.
      nan, posinf, neginf: what to put; by default 0 and the largest and least finite numbers.
    """
    x = ensure_arraylike("nan_to_num", x)
    check_arraylike("nan_to_num", nan, *(y for y in (posinf, neginf) if y is not None))
    if not is_inexact(x):
        return x
    if complex_input(x):
        return complex_numbers.complex(
            nan_to_num(complex_numbers.real(x), nan=nan, posinf=posinf, neginf=neginf),
            nan_to_num(complex_numbers.imag(x), nan=nan, posinf=posinf, neginf=neginf))
    info = dtypes.finfo(x.dtype)
    numbers = (constant_like(x, default) if given is None else asarray(given, x.dtype)
               for given, default in ((nan, 0), (posinf, info.max), (neginf, info.min)))
    return _replace_nonfinite(x, *numbers)


@compiled
def _replace_nonfinite(x, nan, posinf, neginf):
    out = _where(isnan(x), nan, x)
    out = _where(isposinf(out), posinf, out)
    return _where(isneginf(out), neginf, out)


@staged(eager=False)
def fmin(x1, x2):
    """Elementwise minimum; of a number and NaN, the number."""
    return where(bitwise_or(less(x1, x2), isnan(x2)), x1, x2)


@staged(eager=False)
def fmax(x1, x2):
    """Elementwise maximum; of a number and NaN, the number."""
    return where(bitwise_or(greater(x1, x2), isnan(x2)), x1, x2)


# ----------------------------------------------------------------------------------------------
# Closeness


@staged(static_argnames=("equal_nan",))
def isclose(a, b, rtol=1e-05, atol=1e-08, equal_nan: bool = False):
    """Elementwise: |a - b| ≤ atol + rtol |b|, or equal.

    Args:
      a, b: arrays whose shapes broadcast.
      rtol, atol: the relative and the absolute tolerance.
      equal_nan: whether NaN is close to NaN.
    """
    a, b = promote_args("isclose", a, b)
    if isinstance(typeof(a).dtype, dtypes.ExtendedDType):  # keys are equal, or not close
        return lax.eq(a, b)
    return _isclose(*promote_args_inexact("isclose", a, b), rtol, atol, equal_nan)


@functools.partial(compiled, static_argnums=4)
def _isclose(a, b, rtol, atol, equal_nan):
    real_dtype = to_floating_dtype(typeof(a).dtype)
    rtol, atol = convert(rtol, real_dtype), convert(atol, real_dtype)
    both_nan = logical_and(isnan(a), isnan(b))
    finite = isfinite(b)
    in_range = lax.le(lax.abs_(lax.sub(a, b)), lax.add(atol, lax.mul(rtol, lax.abs_(b))))
    out = logical_or(lax.eq(a, b), logical_and(finite, in_range))
    return logical_or(out, both_nan) if equal_nan else out


@staged(static_argnames=("equal_nan",))
def allclose(a, b, rtol=1e-05, atol=1e-08, equal_nan: bool = False):
    """Whether all elements are close, see `isclose`; a boolean array without dimensions."""
    check_arraylike("allclose", a, b)
    return all(isclose(a, b, rtol, atol, equal_nan))


@public
def array_equal(a1, a2, equal_nan: bool = False):
    """Whether two arrays have one shape and equal elements; a boolean array without dimensions."""
    a1, a2 = asarray(a1), asarray(a2)
    if a1.shape != a2.shape:
        return array(False)
    eq = asarray(a1 == a2)
    if equal_nan:
        eq = logical_or(eq, logical_and(isnan(a1), isnan(a2)))
    return all(eq)


@public
def array_equiv(a1, a2):
    """Whether two arrays broadcast and have equal elements; a boolean array of no dimensions."""
    a1, a2 = asarray(a1), asarray(a2)
    try:
        np.broadcast_shapes(a1.shape, a2.shape)
    except ValueError:
        return array(False)
    # Values of all types and ranks can be compared.
    with numpy_rank_promotion("allow"), numpy_dtype_promotion("standard"):
        return all(a1 == a2)


# ----------------------------------------------------------------------------------------------
# Exponentials, distances and steps


def logaddexp(x1, x2, /):
    """Elementwise log(exp(x1) + exp(x2)), without overflow."""
    return _logaddexp(*promote_args_inexact("logaddexp", x1, x2))


def logaddexp2(x1, x2, /):
    """Elementwise log2(2**x1 + 2**x2), without overflow."""
    return _logaddexp2(*promote_args_inexact("logaddexp2", x1, x2))


def _log_of_sum(name: str, exp: Callable, factor: float) -> custom_jvp:
    """The larger operand, plus the logarithm of one plus the ratio of the exponentials.

    The derivative is the share of each exponential in the sum: exp(x - result), which overflows
    nowhere, and is right where the operands are infinite.
    """
    def log_of_sum(x1, x2):
        larger = lax.max(x1, x2)
        if complex_input(x1):
            difference = lax.sub(lax.add(x1, x2), lax.mul(larger, constant_like(larger, 2)))
            out = lax.add(larger, scaled(lax.log1p(exp(difference))))
            angle = _wrap(complex_numbers.imag(out), np.pi * factor)
            return complex_numbers.complex(complex_numbers.real(out), angle)
        difference = lax.sub(x1, x2)
        is_nan = lax.ne(difference, difference)  # NaNs, or infinities of one sign
        total = lax.add(x1, x2)
        ratio = exp(lax.neg(lax.abs_(difference)))
        return lax_select(is_nan, total, lax.add(larger, scaled(lax.log1p(ratio))))

    def scaled(x):
        return x if factor == 1.0 else lax.mul(constant_like(x, factor), x)

    def jvp(primals, tangents):
        out = function(*primals)
        x1, x2 = [lax.mul(t, exp(lax.sub(_without_inf(x), _without_inf(out))))
                  for x, t in zip(primals, tangents)]
        return out, lax.add(x1, x2)

    log_of_sum.__name__, jvp.__name__ = name, f"_{name}_jvp"  # as jaxprs shall print them
    function = custom_jvp(log_of_sum)
    function.defjvp(jvp)
    return function


def _without_inf(x):
    """`x`, with 0 in the place of plus infinity."""
    real = complex_numbers.real(x) if complex_input(x) else x
    return lax_select(lax.eq(real, constant_like(real, np.inf)), full_like(x, 0), x)


_logaddexp = _log_of_sum("logaddexp", lax.exp, 1.0)
_logaddexp2 = _log_of_sum("logaddexp2", lax.exp2, 1 / np.log(2))


def _wrap(x, half_period):
    """`x` moved by whole periods into the interval around 0."""
    period, half = constant_like(x, 2 * half_period), constant_like(x, half_period)
    shifted = lax.rem(lax.add(x, half), period)
    nonnegative = lax.rem(lax.add(shifted, period), period)
    return lax.sub(nonnegative, half)


@staged(eager=False)
def hypot(x1, x2, /):
    """Elementwise length of the vector (x1, x2), without overflow.

    Raises:
      ValueError: complex arguments.
    """
    x1, x2 = promote_args_inexact("hypot", x1, x2)
    if complex_input(x1):
        raise ValueError("jnp.hypot is not well defined for complex-valued inputs. Take the "
                         "absolute values first (jax.numpy.abs).")
    x1, x2 = lax.abs_(x1), lax.abs_(x2)
    infinite = bitwise.bitwise_or(isposinf(x1), isposinf(x2))
    # Where both are equal, the extremes have no derivative, but the length has.
    is_less = lax.lt(x1, x2)
    large, small = _where(is_less, x2, x1), _where(is_less, x1, x2)
    is_zero = lax.eq(large, constant_like(x1, 0))
    ratio = lax.div(small, _where(is_zero, full_like(x1, 1), large))
    length = lax.mul(large, lax.sqrt(add(1, lax.square(ratio))))
    out = _where(is_zero, maximum(x1, x2), length)
    return _where(infinite, constant_like(out, np.inf), out)


@staged(eager=False)
def heaviside(x1, x2, /):
    """Elementwise step: 0 for negative x1, 1 for positive, x2 at zero."""
    x1, x2 = promote_dtypes_inexact(*ensure_arraylikes("heaviside", x1, x2))
    zero, one = constant_like(x1, 0), constant_like(x1, 1)
    negative, positive = lax.lt(x1, zero), lax.gt(x1, zero)
    return _where(negative, zero, _where(positive, one, _where(lax.ne(x1, x1), x1, x2)))


@staged
def sinc(x, /):
    """Elementwise sin(πx) / (πx), and 1 at 0."""
    return _sinc(*promote_dtypes_inexact(ensure_arraylike("sinc", x)))


@compiled
def _sinc(x):
    at_zero = lax.eq(x, constant_like(x, 0))
    t = lax.mul(constant_like(x, np.pi), x)
    safe = _where(at_zero, constant_like(x, 1), t)
    return _where(at_zero, _sinc_maclaurin(0, t), lax.div(lax.sin(safe), safe))


@functools.partial(custom_jvp, nondiff_argnums=(0,))
def _sinc_maclaurin(order: int, t):
    """The derivative of this order of sin(t)/t at 0, whatever `t` is. Its own derivative is the one
    of the next order, so that those of `sinc` at 0 are right."""
    if order % 2:
        return t * 0
    return t * 0 + constant_like(t, (-1) ** (order // 2) / (order + 1))


@_sinc_maclaurin.defjvp
def _sinc_maclaurin_jvp(order, primals, tangents):
    (t,), (dt,) = primals, tangents
    return _sinc_maclaurin(order, t), _sinc_maclaurin(order + 1, t) * dt


# ----------------------------------------------------------------------------------------------
# Choice among several


@public
def where(condition, x=None, y=None, /, *, size: int | None = None, fill_value=None):
    """`x` where `condition` holds, else `y`, elementwise; or the indices where it holds.

    Args:
      condition: an array; elements other than zero count as true.
      x, y: arrays that broadcast with it; dtypes are promoted. Without them, as `nonzero`.
      size, fill_value: as for `nonzero`.

    Raises:
      TypeError: only one of `x` and `y`.
      ValueError: shapes that do not broadcast.

    >>> where(jnp.arange(4) < 2, 1.0, 0.0).tolist()
    [1.0, 1.0, 0.0, 0.0]
    """
    if x is None and y is None:
        return nonzero(condition, size=size, fill_value=fill_value)
    check_arraylike("where", condition, x, y)
    condition, x, y = with_own_arrays([condition, x, y])
    if size is not None or fill_value is not None:
        raise ValueError("size and fill_value arguments cannot be used in three-term where "
                         "function.")
    return _where(condition, x, y)


@public
def nonzero(a, *, size: int | None = None, fill_value=None) -> tuple:
    """The indices of the elements other than zero, one vector a dimension.

    Args:
      a: an array of at least one dimension. How many indices there are depends on its contents:
        they must be known, unless a `size` is given.
      size: the length of the result: what is too much is cut, what lacks is `fill_value`.
      fill_value: a scalar, or one for each dimension; by default 0. The result has the dtype that
        it and the indices are promoted to.

    Raises:
      ValueError: a scalar.
      ConcretizationTypeError: `a` is traced, and there is no `size`.
    """
    a = ensure_arraylike("nonzero", a)
    if a.ndim == 0:
        raise ValueError("Calling nonzero on 0d arrays is not allowed. "
                         "Use jnp.atleast_1d(scalar).nonzero() instead.")
    if size is not None:
        canonical_shape((size,), "nonzero: size")
    fills = fill_value if isinstance(fill_value, tuple) else (fill_value,) * a.ndim
    if len(fills) != a.ndim:
        raise ValueError(f"nonzero: fill_value must be a scalar, or one for each of the {a.ndim} "
                         f"dimensions, got {fill_value!r}.")
    if fill_value is not None and not isinstance(fill_value, list):
        check_arraylike("nonzero", *fills)
    if any(np.ndim(fill) for fill in fills):
        raise ValueError("nonzero: fill_value must be a scalar, or a tuple with one for each "
                         f"dimension, got {fill_value!r}.")
    fills = (None,) * a.ndim if 0 in (*a.shape, size) else fills  # as in JAX
    places_fit("nonzero", max(a.shape) if is_concrete(a) else a.size, default_int_dtype())
    if size is not None and not is_concrete(a):
        return nonzero_of_size(a, size, fills)
    value = concrete_or_error(np.asarray, a, "The size argument of jnp.nonzero must be statically "
                              "specified to use jnp.nonzero within JAX transformations.")
    found = np.nonzero(value)
    return tuple(_resized(index, size, fill, like=a) for index, fill in zip(found, fills))


def _resized(index, size, fill, like):
    """Indices as an array of this size. What fills it up also decides its dtype."""
    kept = index[:size]
    missing = 0 if size is None else size - len(kept)
    padded = np.append(kept, np.zeros(missing, index.dtype)) if missing else kept
    places = on_device(asarray(padded, default_int_dtype()), None, like=like)
    return places if fill is None else _where(np.arange(places.size) >= len(kept), fill, places)


@public
def flatnonzero(a, *, size: int | None = None, fill_value=None):
    """The indices of the elements other than zero, in row-major order; see `nonzero`."""
    flat = ensure_arraylike("flatnonzero", a).reshape(-1)
    return nonzero(flat, size=size, fill_value=fill_value)[0]


@public
def argwhere(a, *, size: int | None = None, fill_value=None):
    """The indices of the elements other than zero, one row an element; see `nonzero`."""
    a = ensure_arraylike("argwhere", a)
    found = nonzero(a if a.ndim else a.reshape(1), size=size, fill_value=fill_value)
    rows = stack_p.bind(*promote_dtypes(*found), axis=1)
    return rows if a.ndim else rows[:, :0]


@public
def select(condlist: Sequence, choicelist: Sequence, default=0):
    """Elementwise the first choice whose condition holds.

    Args:
      condlist: boolean arrays.
      choicelist: as many arrays; all shapes broadcast, dtypes are promoted.
      default: what to take where no condition holds.

    Raises:
      ValueError: lists of different lengths, or empty ones.
    """
    if len(condlist) != len(choicelist):
        raise ValueError("condlist must have length equal to choicelist "
                         f"({len(condlist)} vs {len(choicelist)})")
    if not len(condlist):
        raise ValueError("condlist must be non-empty")
    check_arraylike("select", *condlist, *choicelist, default)
    choices = promote_dtypes(*ensure_arraylikes("select", default, *choicelist))
    truths = map(to_bool, ensure_arraylikes("select", *condlist))
    conditions = stack_p.bind(*broadcast_arrays(False, *truths), axis=0)
    index_dtype = default_int_dtype()
    first = argmax_p.bind(conditions, axes=(0,), index_dtype=index_dtype)
    return select_n(*broadcast_together(first, *choices))


@public
def piecewise(x, condlist, funclist: Sequence, *args, **kw):
    """A function given by pieces.

    Args:
      x: an array.
      condlist: booleans that say where each piece applies (the last that does wins).
      funclist: for each condition a function of `x` or a number; one more is for elsewhere.
      *args, **kw: further arguments of the functions.

    Raises:
      ValueError: numbers of conditions and functions that do not fit.
    """
    x = ensure_arraylike("piecewise", x)
    if isinstance(condlist, Sequence) and not condlist:
        raise ValueError("piecewise needs at least one condition, got none.")
    conditions = array(condlist, dtype=bool)
    if not conditions.ndim:
        raise TypeError("piecewise: condlist must be a sequence of conditions, got the scalar "
                        f"{condlist!r}. Put it in a list.")
    n_conditions, n_pieces = conditions.shape[0], len(funclist)
    if n_pieces == n_conditions + 1:
        funclist = [*funclist[-1:], *funclist[:-1]]
    elif n_pieces == n_conditions:
        funclist = [0, *funclist]
    else:
        raise ValueError(f"with {n_conditions} condition(s), either {n_conditions} or "
                         f"{n_conditions + 1} functions are expected; got {n_pieces}")
    if not any(map(callable, funclist)):
        return _pieces_of_numbers(x, conditions, *funclist)
    return _pieces(x, conditions, funclist, args, kw)


def _pieces_of_numbers(x, conditions, *numbers):
    return _pieces(x, conditions, numbers, (), {})


def _pieces(x, conditions, funclist, args, kw):
    none = full_like(lax_expand_dims(conditions[0], (0,)), False)
    first = cumsum(concatenate([none, conditions], 0), axis=0)
    which = argmax_p.bind(first, axes=(0,), index_dtype=default_int_dtype())
    which, x = broadcast_together(which, x)
    values = [_piece(piece, x, lax.eq(which, constant_like(which, i)), args, kw)
              for i, piece in enumerate(funclist)]
    return select_n(which, *values)


def _piece(piece, x, applies, args, kw):
    """The values of one piece; elsewhere constant, that no NaN of a derivative comes through."""
    if not isinstance(piece, Callable):
        return broadcast_together(convert(asarray(piece), x.dtype), x)[0]
    inexact = dtypes.issubdtype(x.dtype, np.inexact)
    elsewhere = stop_gradient_p.bind(x) if inexact else x
    return convert(piece(lax_select(applies, x, elsewhere), *args, **kw), x.dtype)
