"""Logarithms and their products, as entropies are made of."""

import functools

import numpy as np

from ... import numpy as jnp
from ...core.boundary import public
from ...core.core import typeof
from ...core.primitives import convert_element_type_p
from ...custom_rules import custom_jvp
from ...lax import bitwise, elementwise as lax
from ...lax.selection import select
from ...lax.shaping import full_like
from ...numpy._arguments import constant_like, promote_numbers_inexact


def real_args(name: str, *args):
    """`promote_numbers_inexact`, for functions that are not defined for complex numbers."""
    promoted = promote_numbers_inexact(name, *args)
    if any(typeof(x).dtype.kind == "c" for x in promoted):
        raise ValueError(f"{name} does not support complex-valued inputs.")
    return promoted


@custom_jvp
def logit(x):
    """log(x / (1 - x)), the inverse of `expit`.

    Args:
      x: an array of probabilities.

    >>> logit(0.5).item()
    0.0
    """
    (x,) = promote_numbers_inexact("logit", x)
    return lax.log(lax.div(x, lax.sub(constant_like(x, 1), x)))


logit.defjvps(lambda t, ans, x: lax.div(t, lax.mul(x, lax.sub(constant_like(x, 1), x))))


@public
def expit(x):
    """1 / (1 + e⁻ˣ), the logistic sigmoid function.

    Args:
      x: an array.

    >>> expit(0.0).item()
    0.5
    """
    return lax.logistic(*promote_numbers_inexact("expit", x))


@custom_jvp
def xlogy(x, y):
    """x log(y), and 0 where x is 0.

    Args:
      x, y: arrays that broadcast together.

    >>> xlogy(0.0, 0.0).item()
    0.0
    """
    x, y = promote_numbers_inexact("xlogy", x, y)
    return jnp.where((x != 0.0) | jnp.isnan(y), lax.mul(x, lax.log(y)), jnp.zeros_like(x))


@xlogy.defjvp
def _xlogy_jvp(primals, tangents):
    (x, y), (x_dot, y_dot) = primals, tangents
    result = xlogy(x, y)
    return result, (x_dot * lax.log(y) + y_dot * x / y).astype(result.dtype)


@custom_jvp
def xlog1py(x, y):
    """x log(1 + y), exact for small y; and 0 where x is 0.

    Args:
      x, y: arrays that broadcast together.

    >>> xlog1py(0.0, -1.0).item()
    0.0
    """
    x, y = promote_numbers_inexact("xlog1py", x, y)
    return jnp.where((x != 0.0) | jnp.isnan(y), lax.mul(x, lax.log1p(y)), jnp.zeros_like(x))


@xlog1py.defjvp
def _xlog1py_jvp(primals, tangents):
    (x, y), (x_dot, y_dot) = primals, tangents
    result = xlog1py(x, y)
    return result, (x_dot * lax.log1p(y) + y_dot * x / (1 + y)).astype(result.dtype)


@custom_jvp
def _xlogx(x):
    return xlogy(x, x)


@_xlogx.defjvp
def _xlogx_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    return _xlogx(x), t * (lax.log(x) + 1)


@public
def entr(x):
    """-x log(x), 0 at 0 and -∞ below: what an event of probability x adds to the entropy.

    Args:
      x: a real array.

    Raises:
      ValueError: complex numbers.

    >>> entr(jnp.array([0.0, 1.0, -1.0])).tolist()
    [-0.0, -0.0, -inf]
    """
    (x,) = real_args("entr", x)
    return select(lax.lt(x, constant_like(x, 0)), full_like(x, -np.inf), lax.neg(_xlogx(x)))


@public
def rel_entr(p, q):
    """p log(p / q), 0 where p is 0, and ∞ outside of the domain.

    Args:
      p, q: real arrays that broadcast together.

    Raises:
      ValueError: complex numbers.

    >>> rel_entr(1.0, 1.0).item()
    0.0
    """
    p, q = real_args("rel_entr", p, q)
    zero = constant_like(p, 0.0)
    inside = bitwise.bitwise_and(lax.gt(p, zero), lax.gt(q, zero))
    at_zero = bitwise.bitwise_and(lax.eq(p, zero), lax.ge(q, zero))
    safe_p, safe_q = jnp.where(inside, p, 1), jnp.where(inside, q, 1)
    value = lax.sub(_xlogx(safe_p), xlogy(safe_p, safe_q))
    # A tangent becomes as weakly typed as the value. (JAX compiles `where`, which does that.)
    value = convert_element_type_p.bind(value, new_dtype=value.dtype, weak_type=value.weak_type)
    return jnp.where(inside, value, jnp.where(at_zero, zero, np.inf))


@public
def kl_div(p, q):
    """p log(p / q) - p + q; the Kullback-Leibler divergence of two densities is its integral.

    Args:
      p, q: real arrays that broadcast together.

    Raises:
      ValueError: complex numbers.

    >>> kl_div(1.0, 2.0).round(4).item()
    0.3068999946117401
    """
    p, q = real_args("kl_div", p, q)
    return rel_entr(p, q) - p + q


@functools.partial(custom_jvp, nondiff_argnums=(0,))
def _moment(n: int, u):
    """∫ sⁿ exp(us) ds from 0 to 1: near u = 0 by its power series, else by parts. Its derivative is
    that of the next order."""
    is_small = abs(u) < 1
    small, large = jnp.where(is_small, u, 0), jnp.where(is_small, 1, u)
    series, term = 1 / (n + 1), jnp.ones_like(u)
    for k in range(1, 18):
        term = term * small / k
        series = series + term / (n + k + 1)
    parts = jnp.expm1(large) / large
    for k in range(1, n + 1):
        parts = (jnp.exp(large) - k * parts) / large
    return jnp.where(is_small, series, parts)


@_moment.defjvp
def _moment_jvp(n, primals, tangents):
    (u,), (t,) = primals, tangents
    return _moment(n, u), t * _moment(n + 1, u)


@custom_jvp
def _box_cox(log_x, lmbda):
    is_zero = lmbda == 0
    safe = jnp.where(is_zero, jnp.ones_like(lmbda), lmbda)
    return jnp.where(is_zero, log_x, jnp.expm1(safe * log_x) / safe)


def _box_cox_slope(t, ans, log_x, lmbda):
    """t exp(lmbda log_x), where 0 times infinity is 0."""
    is_undefined = (lmbda == 0) & jnp.isinf(log_x)
    return t * jnp.exp(jnp.where(is_undefined, 0, lmbda * log_x))


_box_cox.defjvps(_box_cox_slope,
                 lambda t, ans, log_x, lmbda: t * log_x * log_x * _moment(1, lmbda * log_x))


@public
def boxcox(x, lmbda):
    """The power transformation of Box and Cox, (x^lmbda - 1) / lmbda; log(x) if lmbda is 0.

    Args:
      x, lmbda: arrays that broadcast together.

    >>> boxcox(3.0, 1.0).round(4).item()
    2.0
    """
    x, lmbda = promote_numbers_inexact("boxcox", x, lmbda)
    return _box_cox(jnp.log(x), lmbda)


@public
def boxcox1p(x, lmbda):
    """`boxcox` of 1 + x, exact for small x.

    Args:
      x, lmbda: arrays that broadcast together.

    >>> boxcox1p(2.0, 1.0).round(4).item()
    2.0
    """
    x, lmbda = promote_numbers_inexact("boxcox1p", x, lmbda)
    return _box_cox(jnp.log1p(x), lmbda)
