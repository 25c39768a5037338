"""Chapter 11: equations with tridiagonal matrices."""

from ...checks import transposition as checks
from ...core.batching import moveaxis, primitive_batchers
from ...core.boundary import public
from ...core.core import typeof
from ...core.forward import Zero, add_tangents, instantiate_zeros, primitive_jvps
from ...core.transposition import is_undefined_primal, primitive_transposes
from ..cutting import concatenate
from ..elementwise import neg
from ..families import all_at_front
from ..shaping import full_like, reshape
from .common import linear_algebra_primitive
from .lapack import info_type, lapack_call, nan_unless, register_solver, routine, succeeded


def _solve_shape(dl, d, du, b, **params):
    if not dl == d == du:
        raise TypeError(f"tridiagonal_solve takes diagonals of one length, got {dl[0]}, {d[0]} and "
                        f"{du[0]}.")
    if d[0] != b[0]:
        raise TypeError("tridiagonal_solve takes b with as many rows as the diagonals have "
                        f"elements, got {b[0]} and {d[0]}.")
    return b


tridiagonal_solve_p = linear_algebra_primitive(
    "tridiagonal_solve", (1, 1, 1, 2), _solve_shape, batched_in_front=False)


@public
def tridiagonal_solve(dl, d, du, b, *, perturb_singular: bool = False):
    """The solution X of A X = B for tridiagonal matrices A.

    Args:
      dl, d, du: the diagonals below, on and above the main one, of shape `(..., m)` each; dtype
        floating or complex. The first element of `dl` and the last one of `du` are ignored.
      b: shape `(..., m, k)`.
      perturb_singular: replace pivots that are nearly zero by small numbers.

    Returns:
      an array of the shape of `b`; a matrix that is singular gives NaN.

    Raises:
      TypeError: shapes or dtypes that do not fit.

    >>> dl, d, du = jnp.array([0.0, 1.0]), jnp.array([2.0, 2.0]), jnp.array([1.0, 0.0])
    >>> lax.linalg.tridiagonal_solve(dl, d, du, jnp.array([[3.0], [3.0]]))
    Array([[1.],
           [1.]], dtype=float32)
    """
    return tridiagonal_solve_p.bind(dl, d, du, b, perturb_singular=perturb_singular)


def _product(dl, d, du, x):
    """A X, which is a sum of three products by elements."""
    y = reshape(d, (*typeof(d).shape, 1)) * x
    y = y.at[..., 1:, :].add(dl[..., 1:, None] * x[..., :-1, :])
    return y.at[..., :-1, :].add(du[..., :-1, None] * x[..., 1:, :])


def _solve_jvp(primals, tangents, **params):
    """From A X = B follows A Ẋ = Ḃ - Ȧ X."""
    *diagonals, _ = primals
    *diagonals_dot, rhs = tangents
    out = tridiagonal_solve_p.bind(*primals, **params)
    if any(type(t) is not Zero for t in diagonals_dot):
        rhs = add_tangents(rhs, neg(_product(*map(instantiate_zeros, diagonals_dot), out)))
    return out, tridiagonal_solve_p.bind(*diagonals, rhs, **params)


def _solve_transpose(ct, dl, d, du, b, **params):
    checks.linear(tridiagonal_solve_p, not any(map(is_undefined_primal, (dl, d, du))))
    axis = typeof(d).ndim - 1
    lower = concatenate((full_like(du[..., -1:], 0), du[..., :-1]), axis)
    upper = concatenate((dl[..., 1:], full_like(dl[..., :1], 0)), axis)
    return [None, None, None, tridiagonal_solve(lower, d, upper, ct, **params)]


def _solve_batch(args, dims, **params):
    """If A is the same for all examples, those are but more columns of B."""
    *diagonals, b = args
    if any(dim is not None for dim in dims[:-1]):
        return tridiagonal_solve(*all_at_front(args, dims), **params), 0
    new_dim = typeof(b).ndim - 2
    b = moveaxis(b, dims[-1], new_dim)
    *batch, size, k = typeof(b).shape
    out = tridiagonal_solve(*diagonals, reshape(b, (*batch, size * k)), **params)
    return reshape(out, typeof(b).shape), new_dim


def _lower_solve(ctx, dl, d, du, b, *, perturb_singular):
    operands = [dl, d, du, b]
    if perturb_singular:
        (out,) = lapack_call(ctx, "tridiagonal_solve_perturbed_ffi", operands, ctx.avals_out, {})
        return out
    *_, out, info = lapack_call(
        ctx, routine("gtsv", b.aval.dtype), operands, [*(x.aval for x in operands), info_type(b)],
        {0: 0, 1: 1, 2: 2, 3: 3})
    return nan_unless(ctx, succeeded(ctx, info), out)


primitive_jvps[tridiagonal_solve_p] = _solve_jvp
primitive_transposes[tridiagonal_solve_p] = _solve_transpose
primitive_batchers[tridiagonal_solve_p] = _solve_batch
register_solver(tridiagonal_solve_p, _lower_solve)
