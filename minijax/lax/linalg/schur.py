"""Chapter 11: matrices similar to a given one: the Schur form, and the Hessenberg form, on the way
to it. Neither has a derivative, in JAX as here."""

from collections.abc import Callable

from ...core.boundary import public
from ...core.core import ShapedArray
from ...core.lowering import register_lowering
from .common import check_square, linear_algebra_primitive
from .lapack import info_type, lapack_call, nan_if_failed, routine


def _schur_shapes(shape, *, compute_schur_vectors, **params):
    check_square("schur", shape)
    return (shape, shape) if compute_schur_vectors else (shape,)


schur_p = linear_algebra_primitive("schur", (2,), _schur_shapes, multiple_results=True)


@public
def schur(x, *, compute_schur_vectors: bool = True, sort_eig_vals: bool = False,
          select_callable: Callable | None = None):
    """Matrices T, triangular, and Q, unitary, such that `x` = Q T Qᴴ.

    Of real matrices with complex eigenvalues, T has a block of two rows on its diagonal for each
    pair of those.

    Args:
      x: shape `(..., n, n)`; dtype floating or complex.
      compute_schur_vectors: whether to return Q.
      sort_eig_vals, select_callable: accepted for JAX's sake; sorting is not implemented.

    Returns:
      a list of T, and Q. A matrix that defeats LAPACK gives NaN.

    Raises:
      TypeError, ValueError: another dtype; matrices that are not square.
      NotImplementedError: sorting.

    >>> t, q = lax.linalg.schur(jnp.array([[2.0, 1.0], [0.0, 3.0]]))
    >>> t
    Array([[2., 1.],
           [0., 3.]], dtype=float32)
    """
    return schur_p.bind(x, compute_schur_vectors=compute_schur_vectors,
                        sort_eig_vals=sort_eig_vals, select_callable=select_callable)


def _lower_schur(ctx, x, *, compute_schur_vectors, sort_eig_vals, select_callable):
    if sort_eig_vals:
        raise NotImplementedError("schur does not sort eigenvalues: leave sort_eig_vals out.")
    dtype, info = x.aval.dtype, info_type(x)
    values = [ShapedArray(x.aval.shape[:-1], dtype)] * (1 if dtype.kind == "c" else 2)
    *results, failed = lapack_call(
        ctx, routine("gees", dtype), [x], [x.aval, x.aval, *values, info, info], {0: 0},
        mode="V" if compute_schur_vectors else "N", sort="N")
    return nan_if_failed(ctx, failed, results[:len(ctx.avals_out)])


register_lowering(schur_p, _lower_schur)


def _hessenberg_shapes(shape):
    check_square("hessenberg", shape)
    if shape[0] == 0:
        raise ValueError("hessenberg takes matrices of at least one row.")
    return shape, (shape[0] - 1,)


hessenberg_p = linear_algebra_primitive(
    "hessenberg", (2,), _hessenberg_shapes, multiple_results=True)


@public
def hessenberg(a):
    """The Hessenberg form H, zero below the diagonal under the main one, with `a` = Q H Qᴴ.

    Args:
      a: shape `(..., n, n)`; dtype floating or complex.

    Returns:
      a list of: H, below whose lower diagonal lie reflections, the product of which is Q (see
      `householder_product`); their factors, shape `(..., n - 1)`.

    Raises:
      TypeError, ValueError: another dtype; matrices that are not square.

    >>> h, taus = lax.linalg.hessenberg(jnp.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> h
    Array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    return hessenberg_p.bind(a)


def _lower_hessenberg(ctx, x):
    *results, info = lapack_call(
        ctx, routine("gehrd", x.aval.dtype), [x], [*ctx.avals_out, info_type(x)], {0: 0}, low=1,
        high=x.aval.shape[-1])
    return nan_if_failed(ctx, info, results)


register_lowering(hessenberg_p, _lower_hessenberg)
