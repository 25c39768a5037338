"""Chapter 9: products of matrices: the public functions, and algorithms for them.

The core multiplies with the precision that the machine has. An algorithm (`dot_algorithms.py`) is
an object that names the types to compute in. Its `multiply` evaluates the product, and the
lowering rule here converts to these types before and after.
"""

import numpy as np

from ..core.boundary import public
from ..core.core import typeof
from ..core.evaluation import convert, dot_general as evaluate, like_xla, multiply_matrices
from ..core.primitives import dot_general_p
from .dtypes import check_and_canonicalize_user_dtype
from .out_shardings import bind_sharded
from .precision import canonical_precision
from .sizes import integers


def _multiply(x, y, dimension_numbers, precision, dtype):
    """The product of NumPy arrays in the types in which XLA computes. An algorithm (chapter 11)
    chooses others."""
    if precision is not None and type(precision) is not tuple:
        return precision.multiply(evaluate, x, y, dimension_numbers, dtype)
    if x.dtype != y.dtype:  # as XLA's CPU backend, which multiplies like with like
        x, y = convert(x, dtype), convert(y, dtype)
    operand, compute = x.dtype, _compute_dtype(x.dtype, dtype)
    x, y = x.astype(compute, copy=False), y.astype(compute, copy=False)
    out = multiply_matrices(x, y, dimension_numbers)
    if dtype.kind in "iu" and compute.kind not in "biu":  # XLA rounds to the operands' type first
        return convert(out.astype(operand, copy=False), dtype)
    out = out.real if out.dtype.kind == "c" and dtype.kind != "c" else out
    return out.astype(dtype, copy=False)


def _compute_dtype(operand, result):
    """The type to multiply in: the result's, unless that would lose imaginary parts or fractions
    of the operands; but at least single precision."""
    loses_imaginary_parts = operand.kind == "c" and result.kind != "c"
    loses_fractions = operand.kind not in "biu" and result.kind in "biu"
    dtype = operand if loses_imaginary_parts or loses_fractions else result
    return np.dtype(np.float32) if dtype.itemsize <= 2 and dtype.kind not in "iu" else dtype


like_xla[np.matmul] = _multiply


@public
def dot_general(lhs, rhs, dimension_numbers, precision=None, preferred_element_type=None, *,
                out_sharding=None):
    """The sum of products over any pairs of dimensions, batched over any others.

    Args:
      lhs, rhs: arrays.
      dimension_numbers: `((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch))`, each a
        sequence of dimensions.
      precision: `None`, a `Precision` or its name, or a pair of them.
      preferred_element_type: the dtype of the result; by default that of the operands.
      out_sharding: the sharding of the result, on a mesh with axes of type Explicit (chapter 14).

    Returns:
      an array with the batch dimensions first, then the others of `lhs`, then those of `rhs`.

    Raises:
      TypeError: dimensions that do not fit.

    >>> lax.dot_general(jnp.ones((2, 3)), jnp.ones((3, 4)), (((1,), (0,)), ((), ()))).shape
    (2, 4)
    """
    (x_contract, y_contract), (x_batch, y_batch) = _pairs_of_dims(dimension_numbers)
    numbers = ((_ints(x_contract), _ints(y_contract)), (_ints(x_batch), _ints(y_batch)))
    if preferred_element_type is not None:
        preferred_element_type = check_and_canonicalize_user_dtype(preferred_element_type)
    params = {"dimension_numbers": numbers, "precision": canonical_precision(precision),
              "preferred_element_type": preferred_element_type}
    if out_sharding is not None:
        return bind_sharded(dot_general_p, lhs, rhs, out_sharding=out_sharding, **params)
    return dot_general_p.bind(lhs, rhs, **params)


def _pairs_of_dims(dimension_numbers):
    expected = ("dot_general: dimension_numbers must be ((lhs_contracting, rhs_contracting), "
                f"(lhs_batch, rhs_batch)), got {dimension_numbers!r}.")
    try:
        pairs = [tuple(pair) for pair in dimension_numbers]
    except TypeError:
        raise TypeError(expected) from None
    if [len(pair) for pair in pairs] != [2, 2]:
        raise ValueError(expected)
    return pairs


def _ints(dims):
    return integers("dot_general: the dimensions of an operand", dims)


@public
def dot(lhs, rhs, *, dimension_numbers=None, precision=None, preferred_element_type=None,
        out_sharding=None):
    """The product of two vectors, of a matrix and a vector, or of two matrices.

    Args:
      lhs, rhs: arrays of one or two dimensions, unless `dimension_numbers` are given.
      dimension_numbers, precision, preferred_element_type, out_sharding: as for `dot_general`.

    Raises:
      ValueError: shapes that need `dimension_numbers`.
    """
    if dimension_numbers is None:
        x, y = typeof(lhs).shape, typeof(rhs).shape
        if not (1 <= len(x) <= 2 and 1 <= len(y) <= 2 and x[-1] == y[0]):
            raise ValueError("jax.lax.dot: dimension_numbers must be specified when not "
                             "performing simple un-batched matrix-matrix, matrix-vector, or "
                             f"vector-vector products; got lhs_shape={x} rhs_shape={y}")
        dimension_numbers = (((len(x) - 1,), (0,)), ((), ()))
    return dot_general(lhs, rhs, dimension_numbers, precision, preferred_element_type,
                       out_sharding=out_sharding)


@public
def batch_matmul(lhs, rhs, precision=None):
    """The products of stacks of matrices, of shapes `(…, n, k)` and `(…, k, m)`.

    Raises:
      ValueError, TypeError: fewer than two dimensions, or ones that do not fit.
    """
    ndim = typeof(lhs).ndim
    if ndim < 2 or typeof(rhs).ndim != ndim:
        raise ValueError("Arguments to batch_matmul must be at least 2D and of equal ndim, got "
                         f"{ndim}, {typeof(rhs).ndim}")
    batch = tuple(range(ndim - 2))
    return dot_general(lhs, rhs, (((ndim - 1,), (ndim - 2,)), (batch, batch)), precision)
