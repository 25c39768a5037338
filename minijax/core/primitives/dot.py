"""Chapter 1: `dot_general`, all products of matrices and vectors in one primitive."""

from __future__ import annotations

import math
import operator

import numpy as np

from .. import dtypes
from ..array import def_numpy
from ..core import ShapedArray, typeof
from .precision import Precision as Precision
from .precision import canonical_precision, is_algorithm
from .shape_rules import make_primitive


def _free(ndim, *taken):
    """The dimensions in none of the `taken`."""
    return [d for d in range(ndim) if not any(d in dims for dims in taken)]


def _dot_general_shape(x, y, *, dimension_numbers, precision, preferred_element_type):
    (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
    _check_dims("contracting", x, y, x_contract, y_contract)
    _check_dims("batch", x, y, x_batch, y_batch)
    for contract, batch in ((x_contract, x_batch), (y_contract, y_batch)):
        if set(contract) & set(batch):
            raise TypeError("dot_general requires batch dimensions and contracting dimensions to "
                            f"be disjoint, got {batch} and {contract}.")
    dtype = dtypes.promote_types(x.dtype, y.dtype)
    if preferred_element_type is not None:
        if not is_algorithm(precision):
            _check_preferred(dtype, preferred_element_type)
        dtype = preferred_element_type
    batch = [x.shape[d] for d in x_batch]
    x_free = [x.shape[d] for d in _free(x.ndim, x_contract, x_batch)]
    y_free = [y.shape[d] for d in _free(y.ndim, y_contract, y_batch)]
    weak = x.weak_type and y.weak_type and preferred_element_type is None
    return ShapedArray([*batch, *x_free, *y_free], dtype, weak)


def _check_preferred(dtype, preferred):
    """The preferred type may narrow floats only."""
    def bits(d):
        return 1 if d == bool else (dtypes.iinfo if d.kind in "iu" else dtypes.finfo)(d).bits

    if not dtypes.issubdtype(dtype, np.floating) and bits(preferred) < bits(dtype):
        raise TypeError("`preferred_element_type` must not be narrower than the original type, got "
                        f"preferred_element_type of {preferred.name} for result type of "
                        f"{dtype.name}.")


def _check_dims(kind, x, y, x_dims, y_dims):
    name = f"dot_general requires {kind} dimensions"
    if len(x_dims) != len(y_dims):
        raise TypeError(f"{name} to be equally many, got {x_dims} and {y_dims}.")
    for aval, dims in ((x, x_dims), (y, y_dims)):
        if len(set(dims)) != len(dims):
            raise TypeError(f"{name} to be distinct, got {dims}.")
        if any(not 0 <= d < aval.ndim for d in dims):
            raise TypeError(f"{name} to be nonnegative and less than the number of axes of the "
                            f"operand, got {dims} for shape {aval.shape}.")
    x_sizes = tuple(x.shape[d] for d in x_dims)
    y_sizes = tuple(y.shape[d] for d in y_dims)
    if x_sizes != y_sizes:
        raise TypeError(f"{name} to have the same shape, got {x_sizes} and {y_sizes}.")


def _dot_general(x, y, *, dimension_numbers, precision, preferred_element_type):
    """Bring each operand into the shape (batch, rows, contracted) and let `matmul` do it."""
    (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
    dtype = preferred_element_type or np.promote_types(x.dtype, y.dtype)
    if precision is not None and type(precision) is not tuple:
        return _by_algorithm(x, y, dimension_numbers, precision, dtype)
    if x.dtype == y.dtype == dtype and dtype.itemsize > 2 and y.ndim < 3 and not x_batch \
            and x_contract == (x.ndim - 1,) and y_contract == (0,):
        return np.dot(x, y)
    x_free, y_free = _free(x.ndim, x_contract, x_batch), _free(y.ndim, y_contract, y_batch)
    shape = [x.shape[d] for d in (*x_batch, *x_free)] + [y.shape[d] for d in y_free]
    compute = _compute_dtype(x.dtype, dtype)
    left = _as_matrices(x.astype(compute, copy=False), x_batch, x_free, x_contract)
    right = _as_matrices(y.astype(compute, copy=False), y_batch, y_contract, y_free)
    out = np.matmul(left, right).reshape(shape)
    out = out.real if out.dtype.kind == "c" != dtype.kind else out
    return out.astype(dtype, copy=False)


def _by_algorithm(x, y, dimension_numbers, algorithm, dtype):
    x_dtype, y_dtype, out_dtype = algorithm.compute_types(x.dtype, y.dtype, dtype)
    out = _dot_general(x.astype(x_dtype), y.astype(y_dtype), dimension_numbers=dimension_numbers,
                       precision=None, preferred_element_type=out_dtype)
    return out.astype(dtype, copy=False)


def _compute_dtype(operand, result):
    """The type to multiply in: the result's, unless that would lose imaginary parts or fractions
    of the operands; but at least single precision."""
    loses = operand.kind == "c" != result.kind or operand.kind not in "biu" and result.kind in "biu"
    dtype = operand if loses else result
    return np.dtype(np.float32) if dtype.itemsize <= 2 and dtype.kind not in "iu" else dtype


def _as_matrices(x, batch, rows, columns):
    sizes = [x.shape[d] for d in batch]
    n, m = (math.prod(x.shape[d] for d in dims) for dims in (rows, columns))
    return np.transpose(x, (*batch, *rows, *columns)).reshape(*sizes, n, m)


dot_general_p = make_primitive("dot_general", _dot_general_shape)
def_numpy(dot_general_p, _dot_general)


def dot_general(lhs, rhs, dimension_numbers, precision=None, preferred_element_type=None, *,
                out_sharding=None):
    """The sum of products over any pairs of dimensions, batched over any others.

    Args:
      lhs, rhs: arrays.
      dimension_numbers: `((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch))`, each a
        sequence of dimensions.
      precision: `None`, a `Precision` or its name, or a pair of them.
      preferred_element_type: the dtype of the result; by default that of the operands.
      out_sharding: ignored; `reshard` moves the result (chapter 14).

    Returns:
      an array with the batch dimensions first, then the others of `lhs`, then those of `rhs`.

    Raises:
      TypeError: dimensions that do not fit.

    >>> lax.dot_general(jnp.ones((2, 3)), jnp.ones((3, 4)), (((1,), (0,)), ((), ()))).shape
    (2, 4)
    """
    (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
    numbers = ((_ints(x_contract), _ints(y_contract)), (_ints(x_batch), _ints(y_batch)))
    if preferred_element_type is not None:
        preferred_element_type = dtypes.check_and_canonicalize_user_dtype(preferred_element_type)
    return dot_general_p.bind(lhs, rhs, dimension_numbers=numbers,
                              precision=canonical_precision(precision),
                              preferred_element_type=preferred_element_type)


def _ints(dims):
    return tuple(map(operator.index, dims))


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
    return dot_general(lhs, rhs, dimension_numbers, precision, preferred_element_type)


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
