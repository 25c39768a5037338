"""Chapter 12: polynomials, as vectors of their coefficients, the highest degree first."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..control_flow.scan import scan
from ..core import concrete_or_error
from ..operators import maximum, true_divide
from ..primitives.shaping import expand_dims
from ._arguments import (
    ensure_array,
    ensure_arrays,
    promote_dtypes,
    promote_dtypes_inexact,
    static_index,
)
from ._constructors import arange, full, zeros, zeros_like
from ._joining import concatenate
from ._reductions import prod
from ._shaping import atleast_1d
from ._staged import staged
from ._ufuncs import abs


@staged(static_argnames=("unroll",))
def polyval(p, x, *, unroll: int = 16) -> Any:
    """The polynomial with coefficients `p` at `x` (Horner's scheme).

    Args:
      p: coefficients along the first dimension.
      x: where to evaluate it.
      unroll: how many steps a turn of the compiled loop makes.

    >>> polyval(jnp.array([1, 0, -2]), 3)
    Array(7, dtype=int32)
    """
    p, x = promote_dtypes(*ensure_arrays("polyval", p, x))
    y = zeros_like(x, shape=np.broadcast_shapes(p.shape[1:], x.shape))
    y, _ = scan(lambda y, coefficient: (y * x + coefficient, None), y, p, unroll=unroll)
    return y


@staged
def polyadd(a1, a2) -> Any:
    """The coefficients of the sum of two polynomials.

    >>> polyadd(jnp.array([1, 2, 3]), jnp.array([1, 1])).tolist()
    [1, 3, 4]
    """
    longer, shorter = promote_dtypes(*ensure_arrays("polyadd", a1, a2))
    if longer.shape[0] < shorter.shape[0]:
        longer, shorter = shorter, longer
    return longer.at[-shorter.shape[0]:].add(shorter)


@staged
def polysub(a1, a2) -> Any:
    """The coefficients of the difference of two polynomials."""
    a1, a2 = promote_dtypes(*ensure_arrays("polysub", a1, a2))
    return polyadd(a1, -a2)


@staged(static_argnames=("m",))
def polyder(p, m: int = 1) -> Any:
    """The coefficients of the `m`-th derivative of a polynomial.

    Raises:
      ValueError: a negative `m`.

    >>> polyder(jnp.array([1.0, 2.0, 3.0])).tolist()
    [2.0, 2.0]
    """
    (p,) = promote_dtypes_inexact(ensure_array("polyder", p))
    m = static_index(m, "'m' argument of jnp.polyder")
    if m < 0:
        raise ValueError("Order of derivative must be positive")
    return p[:-m] * _falling_powers(arange(m, len(p), dtype=p.dtype), m)[::-1] if m else p


@staged(static_argnames=("m",))
def polyint(p, m: int = 1, k=None) -> Any:
    """The coefficients of the `m`-th integral of a polynomial.

    Args:
      p: coefficients.
      m: how often to integrate.
      k: the constants of integration: one number, or one for each of the integrals.

    Raises:
      ValueError: a negative `m`, or a wrong number of constants.

    >>> polyint(jnp.array([3.0, 2.0, 1.0])).tolist()
    [1.0, 1.0, 1.0, 0.0]
    """
    m = static_index(m, "'m' argument of jnp.polyint")
    p, k = promote_dtypes_inexact(*ensure_arrays("polyint", p, 0 if k is None else k))
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    k = atleast_1d(k)
    k = full((m,), k[0]) if len(k) == 1 else k
    if k.shape != (m,):
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or m.")
    if not m:
        return p
    powers = _falling_powers(arange(len(p) + m, dtype=p.dtype), m)
    return true_divide(concatenate((p, k)), powers[::-1])


def _falling_powers(n, m: int):
    """n (n - 1) … (n - m + 1), without the factors below 1: what m derivatives bring down."""
    factors = expand_dims(n, (0,)) - expand_dims(arange(m, dtype=n.dtype), (1,))
    return prod(maximum(1, factors), axis=0)


def polydiv(u, v, *, trim_leading_zeros: bool = False) -> tuple:
    """The quotient and the remainder of two polynomials (long division).

    Args:
      u, v: coefficients of the dividend and of the divisor, whose first one is not zero.
      trim_leading_zeros: whether to take zeros off the remainder; not under `jit`.

    >>> [x.tolist() for x in polydiv(jnp.array([1.0, 3.0, 5.0]), jnp.array([1.0, 1.0]))]
    [[1.0, 2.0], [0.0, 0.0, 3.0]]
    """
    u, v = promote_dtypes_inexact(*ensure_arrays("polydiv", u, v))
    steps = len(u) - len(v) + 1
    scale = 1.0 / v[0]
    q = zeros(max(steps, 1), dtype=u.dtype)
    for k in range(steps):
        factor = scale * u[k]
        q = q.at[k].set(factor)
        u = u.at[k:k + len(v)].add(-factor * v)
    return q, _without_leading_zeros(u) if trim_leading_zeros else u


def _without_leading_zeros(p):
    """The coefficients from the first one that is more than an error of rounding."""
    p = concrete_or_error(None, p, "trim_leading_zeros=True needs known coefficients.")
    is_zero = np.asarray(abs(p)) < np.sqrt(dtypes.finfo(p.dtype).eps)
    return p[int(is_zero.argmin()):] if not is_zero.all() else p[:0]
