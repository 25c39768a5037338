"""Chapter 11: what the primitives of linear algebra have in common.

Each works on matrices (and vectors) in the last dimensions of its operands; the dimensions before
those count a batch, and are the same in all operands.
"""

import functools
from collections.abc import Callable, Sequence

import numpy as np

from ...checks import primitives as checks
from ...core import dtypes
from ...core.array import def_numpy
from ...core.batching import primitive_batchers
from ...core.core import Primitive, ShapedArray, state, typeof
from ...core.primitives import all_weak, convert
from ...lax.operators import true_divide
from ...runtime.dispatch import apply_primitive
from ...text.printing import pp_rules
from .. import complex_numbers, elementwise as prim
from ..families import COMPLEX, FLOAT, all_at_front
from ..precision import Precision
from ..products import batch_matmul
from ..selection import select
from ..shaping import (
    broadcast,
    broadcast_to_rank,
    broadcasted_iota,
    expand_dims,
    full_like,
    transpose,
)

# ----------------------------------------------------------------------------------------------
# Making the primitives

FLOAT_OR_COMPLEX = (*FLOAT, *COMPLEX)


def linear_algebra_primitive(
    name: str,
    ranks: Sequence[int],
    result_shapes: Callable,
    result_dtypes: Callable | None = None,
    accepted: Sequence[tuple] | None = None,
    same_dtypes: bool = True,
    multiple_results: bool = False,
    batched_in_front: bool = True,
    numpy_rule: Callable | None = None,
) -> Primitive:
    """A primitive with its type, evaluation and batching rules.

    Args:
      ranks: for each operand, how many dimensions it has beside those of the batch.
      result_shapes: `(*shapes, **params)`, without the batch, -> the shape of the result (a list
        of shapes if there are several).
      result_dtypes: `(dtype, **params)` -> dtypes likewise; by default all are of the operands'.
      accepted: the kinds of element types of each operand; floating and complex by default.
      same_dtypes: whether the operands must have one dtype.
      batched_in_front: whether its batching rule is to bring the examples to the front.
      numpy_rule: its evaluation on NumPy; by default, it is compiled.
    """
    accepted = accepted or [FLOAT_OR_COMPLEX] * len(ranks)

    def result_types(*avals, **params):
        batch = _common_batch(name, ranks, avals)
        shapes = result_shapes(*[a.shape[a.ndim - rank :] for a, rank in zip(avals, ranks)],
                               **params)
        for position, (aval, kinds) in enumerate(zip(avals, accepted)):
            checks.dtype_kind(name, aval, kinds, position)
        if same_dtypes:
            checks.same_dtypes(name, avals)
        dtype, weak = avals[0].dtype, all_weak(avals)
        if not multiple_results:
            return ShapedArray((*batch, *shapes), dtype, weak)
        types = result_dtypes(dtype, **params) if result_dtypes else [dtype] * len(shapes)
        return [ShapedArray((*batch, *shape), d, weak) for shape, d in zip(shapes, types)]

    primitive = Primitive(name, multiple_results)
    primitive.def_abstract_eval(result_types)
    if numpy_rule is None:
        primitive.def_impl(functools.partial(apply_primitive, primitive))
    else:
        def_numpy(primitive, numpy_rule)
    if batched_in_front:
        primitive_batchers[primitive] = functools.partial(_batch_in_front, primitive)
    return primitive


def _common_batch(name, ranks, avals) -> tuple[int, ...]:
    """The dimensions of the batch, in which all operands must agree."""
    for position, (rank, aval) in enumerate(zip(ranks, avals)):
        if aval.ndim < rank:
            kind = "a matrix" if rank == 2 else "a vector"
            raise TypeError(f"{name} takes {kind}, or a batch of them, as argument {position}; got "
                            f"shape {aval.shape}.")
    batches = [aval.shape[: aval.ndim - rank] for aval, rank in zip(avals, ranks)]
    if len({*map(len, batches)}) > 1:
        raise TypeError(f"{name} takes arguments with the same number of batch dimensions, got "
                        f"{[*map(len, batches)]} in shapes {[aval.shape for aval in avals]}.")
    if len({*batches}) > 1:
        raise ValueError(f"{name} takes arguments with equal batch dimensions, got {batches}: "
                         "broadcast them first.")
    return batches[0]


def _batch_in_front(primitive, args, dims, **params):
    """One more dimension of the batch, in front; operands that are not batched are repeated."""
    out = primitive.bind(*all_at_front(args, dims), **params)
    return (out, [0] * len(out)) if primitive.multiple_results else (out, 0)


def real_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype of the real parts."""
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


def check_square(name: str, shape: tuple[int, ...]) -> None:
    """Raise `ValueError` unless these are the dimensions of a square matrix."""
    if shape[0] != shape[1]:
        raise ValueError(f"{name} takes square matrices, got ones of shape {shape}.")


# ----------------------------------------------------------------------------------------------
# Matrices


def matrix_transpose(x):
    """The transposes of the matrices in the last two dimensions."""
    ndim = typeof(x).ndim
    return transpose(x, (*range(ndim - 2), ndim - 1, ndim - 2))


def conj(x):
    """The complex conjugate; of a real array, itself."""
    return complex_numbers.conj(x) if typeof(x).dtype.kind == "c" else x


def real(x):
    """The real part; of a real array, itself."""
    return complex_numbers.real(x) if typeof(x).dtype.kind == "c" else x


def adjoint(x):
    """The conjugate transposes."""
    return conj(matrix_transpose(x))


def symmetrize(x):
    """The Hermitian part, (x + xᴴ) / 2."""
    return true_divide(x + adjoint(x), 2)


def lower_half(x):
    """The lower triangles, with half of the diagonal."""
    below, aval = tril(x), typeof(x)
    one_plus = prim.add(aval.dtype.type(1), eye(aval.dtype, aval.shape[-1]))
    return prim.div(below, expand_dims(one_plus, range(aval.ndim - 2)))


def from_triangle(x, lower: bool):
    """The Hermitian matrices of which `x` holds the lower or the upper triangles."""
    half = lower_half(x if lower else adjoint(x))
    return prim.add(half, adjoint(half))


# Factorizations of Hermitian matrices read one triangle. Where the other one holds anything, the
# equation has this parameter, and the derivative by the other triangle is zero. JAX has no such
# parameter, and half of the derivative there.
ONE_TRIANGLE = {"one_triangle": True}
pp_rules |= dict.fromkeys(("cholesky", "eigh"), lambda params: {
    name: value for name, value in sorted(params.items()) if name not in ONE_TRIANGLE})


def eye(dtype: np.dtype, n: int):
    """A matrix with ones on the diagonal."""
    return convert(prim.eq(*_places(n, n, 0, np.dtype(np.int32))), dtype)


def _below(n: int, m: int, k: int):
    """Which elements of a matrix are on or below the diagonal number `k`."""
    if not state.trace.staging:
        return np.tri(n, m, k, np.bool_)
    return prim.ge(*_places(n, m, k, dtypes.canonicalize_dtype(int)))


def _places(n, m, k, dtype):
    """For each element the number of its row plus `k`, and that of its column."""
    rows = prim.add(broadcasted_iota(dtype, (n, m), 0), dtype.type(k))
    return rows, broadcasted_iota(dtype, (n, m), 1)


def tril(x, k: int = 0):
    """The matrices with zeros above the diagonal number `k`."""
    *batch, n, m = typeof(x).shape
    return select(broadcast(_below(n, m, k), batch), x, full_like(x, 0))


def triu(x, k: int = 0):
    """The matrices with zeros below the diagonal number `k`."""
    *batch, n, m = typeof(x).shape
    return select(broadcast(_below(n, m, k - 1), batch), full_like(x, 0), x)


def diagonal(x):
    """The diagonals of square matrices, as vectors."""
    i = broadcasted_iota(np.int32, typeof(x).shape[-1:], 0)
    return x[..., i, i]


def product(x, y):
    """The matrix product, as exactly as the device can."""
    return batch_matmul(x, y, Precision.HIGHEST)


def match_rank(x, like):
    """`x` with dimensions of size 1 in front, to the rank of `like`."""
    return broadcast_to_rank(x, typeof(like).ndim)
