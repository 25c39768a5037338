"""Chapter 12: linear equations and inverses, of matrices and of tensors."""

import math
import operator

from ...core.boundary import public
from ...lax.linalg.solve import solve as lax_solve
from ...lax.shaping import broadcast
from ...runtime.jit import jit
from .._arguments import ensure_arraylike, ensure_arraylikes, promote_dtypes_inexact
from .._diagonals import eye
from .._shaping import moveaxis
from .._vectorize import vectorize


@jit
def solve(a, b):
    """The solution `x` of a x = b.

    Args:
      a: matrices `(…, n, n)`.
      b: a vector `(n,)`, or matrices `(…, n, k)`.

    Returns:
      an array like `b`.

    Raises:
      ValueError: shapes that do not fit.

    >>> solve(jnp.array([[2.0, 0.0], [1.0, 1.0]]), jnp.array([4.0, 5.0])).tolist()
    [2.0, 3.0]
    """
    a, b = promote_dtypes_inexact(*ensure_arraylikes("jnp.linalg.solve", a, b))
    if a.ndim < 2:
        raise ValueError(f"left hand array must be at least two dimensional; got {a.shape=}")
    if not b.ndim:
        raise ValueError("jnp.linalg.solve: b must be a vector or a matrix, got a scalar.")
    if b.ndim > 1 and a.ndim == b.ndim + 1 and a.shape[-1] == b.shape[-1] != b.shape[-2]:
        raise ValueError(f"Invalid shapes for solve: {a.shape}, {b.shape}. For vectors, use "
                         "solve(a, b[..., None]).squeeze(-1).")
    signature = "(m,m),(m)->(m)" if b.ndim == 1 else "(m,m),(m,n)->(m,n)"
    return vectorize(lax_solve, signature=signature)(a, b)


@jit
def inv(a):
    """The inverses of matrices.

    Args:
      a: matrices `(…, n, n)`.

    Raises:
      ValueError: matrices that are not square.

    >>> inv(jnp.array([[2.0, 0.0], [0.0, 4.0]])).tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    a = ensure_arraylike("jnp.linalg.inv", a)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"Argument to inv must have shape [..., n, n], got {a.shape}.")
    return solve(a, broadcast(eye(a.shape[-1], dtype=a.dtype), a.shape[:-2]))


# ----------------------------------------------------------------------------------------------
# Tensors: several dimensions taken for one


@public
def tensorinv(a, ind: int = 2):
    """The inverse of the linear map from the last dimensions of an array to its first `ind` ones.

    Args:
      a: an array; both groups of dimensions have equally many elements.
      ind: how many dimensions the first group has.

    Returns:
      an array with the last dimensions first.

    Raises:
      ValueError: groups of different sizes.
    """
    a = ensure_arraylike("tensorinv", a)
    ind = operator.index(ind)
    if ind <= 0:
        raise ValueError(f"ind must be a positive integer; got {ind=}")
    first, last = a.shape[:ind], a.shape[ind:]
    if math.prod(first) != math.prod(last):
        raise ValueError("tensorinv is only possible when the product of the first `ind` "
                         "dimensions equals that of the remaining dimensions. got "
                         f"{a.shape=} with {ind=}.")
    return inv(a.reshape(math.prod(first), math.prod(last))).reshape(*last, *first)


@public
def tensorsolve(a, b, axes: tuple[int, ...] | None = None):
    """The solution `x` of tensordot(a, x, x.ndim) = b.

    Args:
      a: an array whose shape starts with that of `b`.
      b: an array.
      axes: dimensions of `a` to be moved to its end first.

    Raises:
      ValueError: shapes that do not fit.
    """
    a, b = ensure_arraylikes("tensorsolve", a, b)
    if axes is not None:
        a = moveaxis(a, axes, len(axes) * (a.ndim - 1,))
    out_shape = a.shape[b.ndim:]
    if a.shape[:b.ndim] != b.shape:
        raise ValueError("After moving axes to end, leading shape of a must match shape of b. got "
                         f"{a.shape=}, {b.shape=}")
    if b.size != math.prod(out_shape):
        raise ValueError("Input arrays must have prod(a.shape[:b.ndim]) == "
                         f"prod(a.shape[b.ndim:]); got {a.shape=}, {b.ndim=}.")
    return solve(a.reshape(b.size, math.prod(out_shape)), b.ravel()).reshape(out_shape)
