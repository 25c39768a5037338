"""The eigenvalues and eigenvectors of symmetric tridiagonal matrices."""

from __future__ import annotations

import functools

import numpy as np

from ... import numpy as jnp
from ... import random
from ...core import dtypes
from ...custom_rules import custom_jvp
from ...lax import linalg as lax_linalg
from ...lax.control_flow.fori_loop import fori_loop
from ...lax.control_flow.while_loop import while_loop
from ...numpy import linalg
from ...runtime.jit import jit


@functools.partial(jit, static_argnames=("eigvals_only", "select", "select_range"))
def eigh_tridiagonal(d, e, *, eigvals_only: bool = False, select: str = "a",
                     select_range: tuple[int, int] | None = None, tol: float | None = None,
                     key=None):
    """The eigenvalues and eigenvectors of a symmetric (or Hermitian) tridiagonal matrix: by
    bisection, and by inverse iteration.

    Args:
      d: the diagonal, `(n,)`, of 32- or 64-bit floats or complex numbers.
      e: the diagonal above it, `(n - 1,)`, of the same dtype.
      eigvals_only: whether the eigenvectors are not wanted.
      select: "a" for all eigenvalues; "i" for those from number `select_range[0]` up to and with
        number `select_range[1]`, in ascending order.
      tol: how exact the eigenvalues shall be; by default as exact as the dtype permits.
      key: for the random vectors that the inverse iteration starts from.

    Returns:
      the eigenvalues `(k,)`, ascending, and the eigenvectors `(n, k)`, or only the former. Their
      derivatives take all eigenvectors: about as long as those of `eigh`.

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
    if eigvals_only:
        return _eigenvalues(jnp.real(d), e, numbers, tol)
    return _eigenpairs(jnp.real(d), e, numbers, tol, random.key(42) if key is None else key)


def _numbers(n, select, select_range):
    """The numbers of the eigenvalues that are wanted."""
    if select == "a":
        return jnp.arange(n, dtype=np.int32)
    if select == "v":
        raise NotImplementedError("eigh_tridiagonal(..., select='v') is not implemented")
    if select != "i":
        raise ValueError("eigh_tridiagonal: select must be 'a', 'i' or 'v', got "
                         f"{select!r}.")
    if select_range is None or select_range[0] > select_range[1]:
        raise ValueError("for select='i', select_range must be a range that is not empty; got "
                         f"{select_range}")
    return jnp.arange(select_range[0], select_range[1] + 1, dtype=np.int32)


# ----------------------------------------------------------------------------------------------
# Both, with their derivatives. Bisection and iteration have none of their own: what they compare
# and count is constant. The derivatives are those of perturbation theory.


@custom_jvp
def _eigenvalues(d, e, numbers, tol):
    return _bisect(d, jnp.abs(e), numbers, tol)


@custom_jvp
def _eigenpairs(d, e, numbers, tol, key):
    values = _bisect(d, jnp.abs(e), numbers, tol)
    return values, _inverse_iteration(d, e, values, key).T


@_eigenvalues.defjvp
def _(primals, tangents):
    d, e, numbers, _ = primals
    vectors = _dense_eigh(d, e)[1][:, numbers]
    return _eigenvalues(*primals), _quadratic(vectors, _product(*tangents[:2], vectors))


@_eigenpairs.defjvp
def _(primals, tangents):
    """v' is the sum over the other eigenvectors u, of eigenvalue μ, of u (u* T' v) / (λ - μ)."""
    d, e, numbers, *_ = primals
    values, vectors = _eigenpairs(*primals)
    all_values, all_vectors = _dense_eigh(d, e)
    change = _product(*tangents[:2], vectors)
    is_own = jnp.arange(len(d))[:, None] == numbers
    gaps = jnp.where(is_own, np.inf, values - all_values[:, None])
    vectors_dot = all_vectors @ ((all_vectors.conj().T @ change) / gaps)
    return (values, vectors), (_quadratic(vectors, change), vectors_dot)


def _dense_eigh(d, e):
    return linalg.eigh(jnp.diag(d.astype(e.dtype)) + jnp.diag(e, 1) + jnp.diag(e.conj(), -1))


def _product(d, e, x):
    """The tridiagonal matrix times `x`."""
    column = e[:, None]
    above = jnp.pad(column * x[1:], ((0, 1), (0, 0)))
    below = jnp.pad(column.conj() * x[:-1], ((1, 0), (0, 0)))
    return d[:, None] * x + above + below


def _quadratic(vectors, products):
    return jnp.real(jnp.sum(vectors.conj() * products, axis=0))


# ----------------------------------------------------------------------------------------------
# Eigenvalues: Barth, Martin and Wilkinson, "Calculation of the eigenvalues of a symmetric
# tridiagonal matrix by the method of bisection", 1967


def _bisect(d, e, numbers, tol):
    """All at once: an interval is halved by how many eigenvalues are below its middle."""
    info = dtypes.finfo(d.dtype)
    e_square = e * e
    tiny = max(1 / float(info.max), (1 + float(info.eps)) * float(info.tiny))
    pivot_min = d.dtype.type(tiny) * jnp.maximum(1, e_square.max())
    radius = jnp.pad(e, (1, 0)) + jnp.pad(e, (0, 1))  # of the circles that hold the eigenvalues
    least, most = (d - radius).min(), (d + radius).max()
    size = jnp.maximum(abs(least), abs(most))
    abs_tol = info.eps * size if tol is None else jnp.maximum(tol, info.eps * size)
    slack = 2.1 * len(d) * info.eps * size
    lower = jnp.full(numbers.shape, least - slack - 2 * 2.1 * pivot_min)
    upper = jnp.full(numbers.shape, most + slack + 2.1 * pivot_min)

    def running(state):
        i, lower, _, upper = state
        return (i < info.nmant + 1) & (abs_tol < (upper - lower).max())

    def halve(state):
        i, lower, middle, upper = state
        counts = _count_below(d, e_square, pivot_min, jnp.square(info.eps * e[0]), middle)
        lower = jnp.where(counts <= numbers, middle, lower)
        upper = jnp.where(counts > numbers, middle, upper)
        return i + 1, lower, 0.5 * (lower + upper), upper

    return while_loop(running, halve, (0, lower, 0.5 * (upper + lower), upper))[2]


def _count_below(d, e_square, pivot_min, first_pivot, x):
    """How many eigenvalues are below each `x`: as many as T - x has negative pivots (Sturm)."""
    pivot = d[0] - x
    count = (pivot < 0).astype(np.int32)
    pivot = jnp.where(d[0] == x, first_pivot, pivot)

    def eliminate(i, state):
        pivot, count = state
        pivot = d[i] - e_square[i - 1] / pivot - x
        is_negative = pivot <= pivot_min
        return (jnp.where(is_negative, jnp.minimum(pivot, -pivot_min), pivot),
                count + is_negative.astype(np.int32))

    return fori_loop(1, len(d), eliminate, (pivot, count))[1]


# ----------------------------------------------------------------------------------------------
# Eigenvectors


def _inverse_iteration(d, e, values, key):
    """Solve (T - λ) v' = v, again and again: the eigenvector's part of v grows. It takes few steps,
    of a random start. Vectors whose eigenvalues nearly agree would become the same one."""
    k, n = len(values), len(d)
    dtype, real = e.dtype, values.dtype
    repeated = [jnp.broadcast_to(x.astype(dtype), (k, n))
                for x in (jnp.pad(jnp.conj(e), (1, 0)), jnp.pad(e, (0, 1)))]
    below, above = repeated
    shifted = (d[None, :] - values[:, None]).astype(dtype)
    cluster = _clusters(values)
    v = random.normal(key, (k, n), dtype=real).astype(dtype)

    def growing(state):
        i, _, growth, previous = state
        return (i < 5) & (growth >= 1.1 * previous).any()

    def step(state):
        i, v, growth, _ = state
        v = lax_linalg.tridiagonal_solve(below, shifted, above, v[:, :, None],
                                         perturb_singular=True)[..., 0]
        return i + 1, _orthogonalized(_unit(v), cluster), linalg.norm(v, axis=-1), growth

    start = 0, _unit(v), jnp.ones(k, real), jnp.zeros(k, real)
    return while_loop(growing, step, start)[1]


def _unit(v):
    """Vectors of norm 1; the squares of huge elements must not overflow."""
    v = v / abs(v).max(axis=-1, keepdims=True).astype(v.dtype)
    return v / linalg.norm(v, axis=-1, keepdims=True).astype(v.dtype)


def _clusters(values):
    """To which group of close eigenvalues each belongs."""
    size = jnp.maximum(abs(values[0]), abs(values[-1]))
    is_far = jnp.diff(values) >= jnp.sqrt(dtypes.finfo(values.dtype).eps) * size
    return jnp.pad(jnp.cumsum(is_far), (1, 0))


def _orthogonalized(v, cluster):
    """The vectors of each group by the method of Gram and Schmidt, twice for exactness."""
    numbers = jnp.arange(len(v))

    def one(i, v):
        earlier = (cluster == cluster[i]) & (numbers < i)
        for _ in range(2):
            parts = jnp.where(earlier, v.conj() @ v[i], 0)
            v = v.at[i].add(-(parts @ v))
        return v.at[i].set(_unit(v[i]))

    return fori_loop(0, len(v), one, v)
