"""Chapter 11: products with structure: A Aᵀ, and the update of a Cholesky decomposition by w wᵀ."""

from __future__ import annotations

import functools

from ...checks.primitives import dtype_kind, same_dtypes
from ...core.boundary import public
from ...core.core import typeof
from ...core.lowering import register_lowering
from ...core.primitives import make_primitive, select
from ...runtime.dispatch import apply_primitive
from .. import elementwise as prim
from ..control_flow.fori_loop import fori_loop
from ..families import FLOAT, lower_fun
from ..shaping import full_like
from ..slicing import dynamic_index_in_dim, dynamic_update_index_in_dim
from .common import linear_algebra_primitive, matrix_transpose, product, tril

# ----------------------------------------------------------------------------------------------
# symmetric_product


def _symmetric_shape(a, c, **params):
    if a[0] != c[1] or c[0] != c[1]:
        raise ValueError("symmetric_product takes matrices of shapes (m, n) and (m, m), got "
                         f"{a} and {c}.")
    return c


def _symmetric_program(a, c, *, alpha, beta):
    return alpha * product(a, matrix_transpose(a)) + beta * c


symmetric_product_p = linear_algebra_primitive(
    "symmetric_product", (2, 2), _symmetric_shape, accepted=[FLOAT, FLOAT])
register_lowering(symmetric_product_p, lower_fun(_symmetric_program))


@public
def symmetric_product(a_matrix, c_matrix, *, alpha: float = 1.0, beta: float = 0.0,
                      symmetrize_output: bool = False):
    """alpha A Aᵀ + beta C.

    Args:
      a_matrix: shape `(..., m, n)`; dtype floating.
      c_matrix: symmetric matrices of the same dtype, shape `(..., m, m)`.
      alpha, beta: numbers.
      symmetrize_output: make the upper triangle from the lower one.

    Returns:
      an array of the shape of `c_matrix`.

    Raises:
      TypeError, ValueError: dtypes or shapes that do not fit.

    >>> lax.linalg.symmetric_product(jnp.array([[1.0], [2.0]]), jnp.zeros((2, 2)))
    Array([[1., 2.],
           [2., 4.]], dtype=float32)
    """
    out = symmetric_product_p.bind(a_matrix, c_matrix, alpha=alpha, beta=beta)
    if symmetrize_output:
        above = matrix_transpose(tril(out, -1))
        return tril(out) + above
    return out


# ----------------------------------------------------------------------------------------------
# cholesky_update


def _update_type(r, w):
    for position, (aval, rank) in enumerate(((r, 2), (w, 1))):
        if aval.ndim != rank:
            raise TypeError("cholesky_update takes one matrix and one vector, got shape "
                            f"{aval.shape} as argument {position}.")
        dtype_kind("cholesky_update", aval, FLOAT, position)
    same_dtypes("cholesky_update", (r, w))
    if not r.shape[0] == r.shape[1] == w.shape[0]:
        raise ValueError("cholesky_update takes a square matrix and a vector of as many elements "
                         f"as that has rows, got shapes {r.shape} and {w.shape}.")
    return r


def _update_program(r, w):
    """Rotate each row of R together with w, so that w's element on the diagonal vanishes."""

    def rotate(k, state):
        r, w = state
        row = dynamic_index_in_dim(r, k, keepdims=False)
        c, s = _rotation(dynamic_index_in_dim(row, k, keepdims=False),
                         dynamic_index_in_dim(w, k, keepdims=False))
        return dynamic_update_index_in_dim(r, c * row + s * w, k, 0), c * w - s * row

    n = typeof(w).shape[0]
    return fori_loop(0, n, rotate, (r, w))[0] if n else r


def _rotation(x, y):
    """(x, y) divided by their length, which is computed without overflow; (1, 0) if y is zero."""
    scale = prim.max(prim.abs_(x), prim.abs_(y))
    x_scaled, y_scaled = x / scale, y / scale
    length = prim.sqrt(prim.square(x_scaled) + prim.square(y_scaled))
    is_zero = y == 0
    return (select(is_zero, full_like(x, 1), x_scaled / length),
            select(is_zero, full_like(y, 0), y_scaled / length))


cholesky_update_p = make_primitive("cholesky_update", _update_type)
cholesky_update_p.def_impl(functools.partial(apply_primitive, cholesky_update_p))
register_lowering(cholesky_update_p, lower_fun(_update_program))


@public
def cholesky_update(r_matrix, w_vector):
    """The upper triangular S with Sᵀ S = Rᵀ R + w wᵀ, in n² steps.

    Args:
      r_matrix: R, upper triangular, shape `(n, n)`; dtype floating.
      w_vector: w, of the same dtype, shape `(n,)`.

    Returns:
      an array of the shape of `r_matrix`.

    Raises:
      TypeError, ValueError: dtypes or shapes that do not fit.

    >>> lax.linalg.cholesky_update(jnp.array([[3.0]]), jnp.array([4.0]))
    Array([[5.]], dtype=float32)
    """
    return cholesky_update_p.bind(r_matrix, w_vector)
