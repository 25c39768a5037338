"""Chapter 12: running sums and products."""

from __future__ import annotations

from ..core import dtypes
from ..core.boundary import public
from ..lax import cumulative, elementwise as lax
from ..lax.cutting import concatenate
from ..lax.shaping import full, reshape
from ..text.naming import named
from ._arguments import canonical_axis, constant_like, convert, ensure_arraylike, user_dtype
from ._reductions import wide_integer
from ._select import _where
from ._staged import staged


def _accumulate(name, lax_function, a, axis, dtype, out=None, nan_as=None, promote=False):
    """The general cumulative operation, along one axis or over the elements in row-major order."""
    a = ensure_arraylike(name, a)
    if out is not None:
        raise NotImplementedError(f"The 'out' argument to jnp.{name} is not supported")
    if axis is None or (a.ndim == 0 and a.aval.weak_type):  # as in JAX, a number is a vector of one
        a = reshape(a, (a.size,))
    axis = canonical_axis(0 if axis is None else axis, a.ndim)
    if nan_as is not None:
        a = _where(lax.ne(a, a), constant_like(a, nan_as), a)
    if dtype is None:
        dtype = dtypes.canonicalize_dtype(
            wide_integer(a.dtype) if promote or a.dtype == bool else a.dtype)
        working = dtype
    else:
        dtype = user_dtype(dtype, name)
        working = wide_integer(dtype) if dtype == bool else dtype
        if dtype == bool and a.dtype != bool:
            a = lax.ne(a, constant_like(a, 0))
    return convert(lax_function(convert(a, working), axis), dtype)


def _cumulative(name, lax_function, doc, nan_as=None):
    @staged(static_argnames=("axis", "dtype"))
    @named(name, doc=doc)
    def function(a, axis: int | None = None, dtype=None, out=None):
        """{doc}

        Args:
          a: an array.
          axis: an int; by default the elements in row-major order.
          dtype: the type of the result.

        Raises:
          ValueError: an axis out of bounds.
        """
        return _accumulate(name, lax_function, a, axis, dtype, out, nan_as)

    return function


cumsum = _cumulative("cumsum", cumulative.cumsum, "The running sum.")
cumprod = _cumulative("cumprod", cumulative.cumprod, "The running product.")
nancumsum = _cumulative("nancumsum", cumulative.cumsum, "The running sum, NaNs counted as 0.", 0)
nancumprod = _cumulative("nancumprod", cumulative.cumprod,
                         "The running product, NaNs counted as 1.", 1)


@staged(static_argnames=("axis", "dtype"))
def _cumsum_with_promotion(a, axis=None, dtype=None, out=None):
    return _accumulate("_cumsum_with_promotion", cumulative.cumsum, a, axis, dtype, out,
                       promote=True)


@public
def cumulative_sum(x, /, *, axis: int | None = None, dtype=None, include_initial: bool = False):
    """The running sum along an axis.

    Args:
      x: an array of at least one dimension.
      axis: an int; may be left out for a vector.
      dtype: the type of the result.
      include_initial: whether to put a zero in front.

    Raises:
      ValueError: a scalar, or no axis for more than one dimension.
    """
    x, axis = _axis_of_cumulative("cumulative_sum", x, axis)
    out = _cumsum_with_promotion(x, axis=axis, dtype=user_dtype(dtype, "cumulative_sum"))
    return _with_initial(out, axis, 0) if include_initial else out


@public
def cumulative_prod(x, /, *, axis: int | None = None, dtype=None, include_initial: bool = False):
    """The running product along an axis; arguments as for `cumulative_sum`."""
    x, axis = _axis_of_cumulative("cumulative_prod", x, axis)
    out = _accumulate("cumulative_prod", cumulative.cumprod, x, axis, dtype)
    return _with_initial(out, axis, 1) if include_initial else out


def _axis_of_cumulative(name, x, axis):
    x = ensure_arraylike(name, x)
    if x.ndim == 0:
        raise ValueError("The input must be non-scalar to take a running sum or product, but "
                         f"{name} got a scalar.")
    if axis is None and x.ndim > 1:
        raise ValueError(f"The input array has rank {x.ndim}, however {name} got no axis. "
                         "The axis is only optional for one-dimensional arrays.")
    return x, canonical_axis(0 if axis is None else axis, x.ndim)


def _with_initial(out, axis, value):
    shape = [1 if d == axis else n for d, n in enumerate(out.shape)]
    return concatenate([full(shape, value, out.dtype), out], axis)
