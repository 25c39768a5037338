"""Chapter 11: equations with triangular matrices, what all other solutions are reduced to."""

from ...checks import transposition as checks
from ...core.batching import moveaxis, primitive_batchers
from ...core.boundary import public
from ...core.core import typeof
from ...core.forward import defjvp2
from ...core.lowering import register_lowering
from ...core.transposition import is_undefined_primal, primitive_transposes
from ..elementwise import neg
from ..families import all_at_front, lower_fun
from ..shaping import expand_dims, reshape, squeeze
from .common import (
    check_square,
    conj,
    linear_algebra_primitive,
    matrix_transpose,
    product,
    tril,
    triu,
)
from .lapack import LAPACK_DTYPES, has_lapack, lapack_call, routine


def _shape(a, b, *, left_side, **params):
    check_square("triangular_solve", a)
    if a[0] != b[0 if left_side else 1]:
        raise ValueError(f"triangular_solve: a matrix of shape {a} and b of shape {b} do not fit "
                         f"with {left_side=}.")
    return b


triangular_solve_p = linear_algebra_primitive(
    "triangular_solve", (2, 2), _shape, batched_in_front=False)


@public
def triangular_solve(a, b, *, left_side: bool = False, lower: bool = False,
                     transpose_a: bool = False, conjugate_a: bool = False,
                     unit_diagonal: bool = False):
    """The solution X of op(A) X = B, or of X op(A) = B, for triangular matrices A.

    Args:
      a: matrices, shape `(..., m, m)`; dtype floating or complex. Of each only one triangle is
        read.
      b: of the same dtype; shape `(..., m, n)` if `left_side`, else `(..., n, m)`; or without n,
        for a vector each.
      left_side: which of the equations.
      lower: whether A is the lower triangle of `a`.
      transpose_a, conjugate_a: what op does.
      unit_diagonal: take the diagonal of A to be ones.

    Returns:
      an array of the shape of `b`.

    Raises:
      TypeError: dtypes that differ, or are of integers.
      ValueError: shapes that do not fit.

    >>> a = jnp.array([[2.0, 0.0], [1.0, 4.0]])
    >>> lax.linalg.triangular_solve(a, jnp.array([2.0, 9.0]), left_side=True, lower=True)
    Array([1., 2.], dtype=float32)
    """
    conjugate_a = conjugate_a and typeof(a).dtype.kind == "c"
    is_vector = typeof(b).ndim == typeof(a).ndim - 1
    axis = typeof(b).ndim - (not left_side)
    if is_vector:
        b = expand_dims(b, (axis,))
    out = triangular_solve_p.bind(a, b, left_side=left_side, lower=lower, transpose_a=transpose_a,
                                  conjugate_a=conjugate_a, unit_diagonal=unit_diagonal)
    return squeeze(out, (axis,)) if is_vector else out


def _jvp_a(t, x, a, b, *, left_side, lower, transpose_a, conjugate_a, unit_diagonal):
    """From A X = B follows Ẋ = -A⁻¹ Ȧ X, multiplied in the order that is less work."""
    k = int(unit_diagonal)
    t = neg(tril(t, -k) if lower else triu(t, k))
    t = matrix_transpose(t) if transpose_a else t
    t = conj(t) if conjugate_a else t

    def solve(rhs):
        return triangular_solve(a, rhs, left_side=left_side, lower=lower, transpose_a=transpose_a,
                                conjugate_a=conjugate_a, unit_diagonal=unit_diagonal)

    m, n = typeof(b).shape[-2:]
    if left_side:
        return solve(product(t, x)) if m > n else product(solve(t), x)
    return solve(product(x, t)) if m < n else product(x, solve(t))


def _transpose(ct, a, b, *, transpose_a, **params):
    checks.linear(triangular_solve_p, not is_undefined_primal(a))
    return [None, triangular_solve(a, ct, transpose_a=not transpose_a, **params)]


def _batch(args, dims, *, left_side, **params):
    """If A is the same for all examples, those are but more columns (or rows) of B."""
    (a, b), (a_dim, b_dim) = args, dims
    if a_dim is not None:
        return triangular_solve(*all_at_front(args, dims), left_side=left_side, **params), 0
    new_dim = typeof(b).ndim - (1 if left_side else 2)
    b = moveaxis(b, b_dim, new_dim)
    *batch, n, m, size = typeof(b).shape
    flat = (*batch, n, m * size) if left_side else (*batch, n * m, size)
    out = triangular_solve(a, reshape(b, flat), left_side=left_side, **params)
    return reshape(out, typeof(b).shape), new_dim


_lower_conj = lower_fun(conj)


def _lower(ctx, a, b, *, left_side, lower, transpose_a, conjugate_a, unit_diagonal):
    if conjugate_a and not transpose_a:
        a, conjugate_a = _lower_conj(ctx, a), False
    if a.aval.dtype.name not in LAPACK_DTYPES or not has_lapack():
        op = "NO_TRANSPOSE" if not transpose_a else "ADJOINT" if conjugate_a else "TRANSPOSE"
        return _lower_natively(ctx, a, b, left_side, lower, op, unit_diagonal)
    (out,) = lapack_call(
        ctx, routine("trsm", a.aval.dtype), [a, b], ctx.avals_out, {1: 0},
        diag="U" if unit_diagonal else "N", side="L" if left_side else "R",
        trans_x=("C" if conjugate_a else "T") if transpose_a else "N", uplo="L" if lower else "U")
    return out


def _lower_natively(ctx, a, b, left_side, lower, op, unit_diagonal):
    """XLA's own operation, for dtypes and platforms that LAPACK is not for."""
    flags = {"left_side": left_side, "lower": lower, "unit_diagonal": unit_diagonal}
    options = ", ".join(f"{name} = {str(bool(flag)).lower()}" for name, flag in flags.items())
    return ctx.op(
        f'"stablehlo.triangular_solve"({a.name}, {b.name}) <{{{options}, transpose_a = '
        f"#stablehlo<transpose {op}>}}> : ({a.type}, {b.type}) -> {b.type}", b.aval)


defjvp2(triangular_solve_p, _jvp_a, lambda t, x, a, b, **params: triangular_solve(a, t, **params))
primitive_transposes[triangular_solve_p] = _transpose
primitive_batchers[triangular_solve_p] = _batch
register_lowering(triangular_solve_p, _lower)
