"""Chapter 12: covariances and correlations."""

import functools

import numpy as np

from ..core import dtypes
from ..lax import complex_numbers
from ..lax.cutting import concatenate
from ..lax.shaping import full
from ..runtime.jit import jit
from ._arguments import complex_input, ensure_arraylike, promote_args_inexact
from ._arithmetic import divide
from ._constructors import array
from ._diagonals import diag
from ._products import dot
from ._reductions import average, sum
from ._shaping import atleast_2d, squeeze
from ._special import clip
from ._ufuncs import abs, conj, sqrt


@functools.partial(jit, static_argnames=("rowvar", "bias", "ddof", "dtype"))
def cov(m, y=None, rowvar: bool = True, bias: bool = False, ddof: int | None = None, fweights=None,
        aweights=None, dtype=None):
    """The covariances of variables.

    Args:
      m: a matrix, a row for each variable and a column for each observation; or a vector, one
        variable.
      y: more variables, of as many observations.
      rowvar: false if variables are the columns.
      bias: whether to divide by the number of observations n, and not by n - 1.
      ddof: to divide by n - ddof instead.
      fweights: a vector of integers, how often each observation was made.
      aweights: a vector, how much each observation counts.
      dtype: the result's.

    Returns:
      a matrix of a row and a column for each variable; of one variable, a scalar.

    Raises:
      ValueError: more than two dimensions, or a dtype that is not inexact.
      RuntimeError: weights of another shape.
      TypeError: `fweights` that are no integers.

    >>> cov(jnp.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    args = promote_args_inexact("cov", m) if y is None else promote_args_inexact("cov", m, y)
    _check_dtype("cov", dtype)
    for name, x in zip("my", args):
        if x.ndim > 2:
            raise ValueError(f"{name} has more than 2 dimensions")
    x = atleast_2d(args[0])
    x = x if rowvar or args[0].ndim == 1 else x.T
    if x.shape[0] == 0:
        return array([]).reshape(0, 0)
    if y is not None:
        y = atleast_2d(args[1])
        x = concatenate([x, y if rowvar or y.shape[0] == 1 else y.T], 0)
    if x.shape[1] == 0:
        return squeeze(full((x.shape[0],) * 2, np.nan, x.dtype))
    ddof = int(bias == 0) if ddof is None else ddof
    weights, aweights = _weights(x.shape[1], fweights, aweights)
    if dtype is not None:
        x = x.astype(dtype)
        weights = None if weights is None else weights.astype(dtype)
    mean, total = average(x, axis=1, weights=weights, returned=True)
    divisor = _divisor(x.shape[1], total[0], weights, aweights, ddof)
    x = x - mean[:, None]
    weighted = x if weights is None else x * weights[None, :]
    return squeeze(divide(dot(x, conj(weighted.T)), divisor))


def _check_dtype(name, dtype):
    if dtype is not None and not dtypes.issubdtype(dtype, np.inexact):
        raise ValueError(f"{name}: dtype must be a subclass of float or complex; got {dtype=}")


def _weights(n, fweights, aweights):
    """What each observation counts, together; and the second kind alone."""
    weights = None
    if fweights is not None:
        fweights = _checked(fweights, "fweights", n)
        if not dtypes.issubdtype(fweights.dtype, np.integer):
            raise TypeError(f"fweights must be integer, got {fweights.dtype.name}.")
        weights = abs(fweights)
    if aweights is not None:
        aweights = abs(_checked(aweights, "aweights", n))
        weights = aweights if weights is None else weights * aweights
    return weights, aweights


def _checked(weights, name, n):
    weights = ensure_arraylike("cov", weights)
    if weights.ndim > 1:
        raise RuntimeError(f"cannot handle multidimensional {name}")
    if weights.shape[0] != n:
        raise RuntimeError(f"incompatible numbers of samples and {name}: {n}, {weights.shape[0]}")
    return weights


def _divisor(n, total, weights, aweights, ddof):
    if weights is None:
        return n - ddof
    if ddof == 0:
        return total
    if aweights is None:
        return total - ddof
    return total - ddof * sum(weights * aweights) / total


@functools.partial(jit, static_argnames=("rowvar", "dtype"))
def corrcoef(x, y=None, rowvar: bool = True, dtype=None):
    """The correlations of variables: their covariances, each divided by both deviations.

    Args:
      x, y, rowvar, dtype: as m, y … of `cov`.

    Raises:
      ValueError: more than two dimensions, or a dtype that is not inexact.

    >>> corrcoef(jnp.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])).round(3).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    x = ensure_arraylike("corrcoef", x)
    _check_dtype("corrcoef", dtype)
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return divide(c, c)
    deviation = sqrt(complex_numbers.real(diag(c)) if complex_input(c) else diag(c)).astype(c.dtype)
    c = c / deviation[:, None] / deviation[None, :]
    if complex_input(c):
        real, imag = complex_numbers.real(c), complex_numbers.imag(c)
        return complex_numbers.complex(clip(real, -1, 1), clip(imag, -1, 1))
    return clip(c, -1, 1)
