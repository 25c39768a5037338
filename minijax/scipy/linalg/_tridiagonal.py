"""The eigenvalues and eigenvectors of symmetric tridiagonal matrices."""

import functools

import numpy as np

from ... import numpy as jnp
from ...numpy import linalg
from ...runtime.jit import jit


@functools.partial(jit, static_argnames=("eigvals_only", "select", "select_range"))
def eigh_tridiagonal(d, e, *, eigvals_only: bool = False, select: str = "a",
                     select_range: tuple[int, int] | None = None, tol: float | None = None,
                     key=None):
    """The eigenvalues and eigenvectors of a symmetric (or Hermitian) tridiagonal matrix: by
    `jax.numpy.linalg.eigh` of the dense matrix.

    Args:
      d: the diagonal, `(n,)`, of 32- or 64-bit floats or complex numbers.
      e: the diagonal above it, `(n - 1,)`, of the same dtype.
      eigvals_only: whether the eigenvectors are not wanted.
      select: "a" for all eigenvalues; "i" for those from number `select_range[0]` up to and with
        number `select_range[1]`, in ascending order.
      tol, key: for JAX's bisection and inverse iteration; here the eigenvalues are as exact as the
        dtype permits.

    Returns:
      the eigenvalues `(k,)`, ascending, and the eigenvectors `(n, k)`, or only the former.

    Raises:
      NotImplementedError: `select` "v".
      TypeError: other dtypes.
      ValueError: another `select`, or an empty range.
    """
    d, e = jnp.asarray(d), jnp.asarray(e)
    if d.dtype != e.dtype or d.dtype not in ("float32", "float64", "complex64", "complex128"):
        raise TypeError("eigh_tridiagonal: diagonal and off-diagonal values must have the same "
                        f"32- or 64-bit floating or complex dtype, got {d.dtype} and {e.dtype}")
    if d.ndim != 1 or e.shape != (max(len(d) - 1, 0),) and len(d) > 1:
        raise TypeError("eigh_tridiagonal: d must be a vector, and e one with an element less; got "
                        f"the shapes {d.shape} and {e.shape}.")
    numbers = _numbers(len(d), select, select_range)
    if len(d) <= 1:
        return jnp.real(d) if eigvals_only else (jnp.real(d), jnp.eye(len(d), dtype=d.dtype))
    d = jnp.real(d).astype(e.dtype)
    values, vectors = linalg.eigh(jnp.diag(d) + jnp.diag(e, 1) + jnp.diag(e.conj(), -1))
    return values[numbers] if eigvals_only else (values[numbers], vectors[:, numbers])


def _numbers(n, select, select_range):
    """The numbers of the eigenvalues that are wanted."""
    if select == "a":
        return np.arange(n)
    if select == "v":
        raise NotImplementedError("eigh_tridiagonal(..., select='v') is not implemented")
    if select != "i":
        raise ValueError("eigh_tridiagonal: select must be 'a', 'i' or 'v', got "
                         f"{select!r}.")
    if select_range is None or select_range[0] > select_range[1]:
        raise ValueError("for select='i', select_range must be a range that is not empty; got "
                         f"{select_range}")
    return np.arange(select_range[0], select_range[1] + 1)
