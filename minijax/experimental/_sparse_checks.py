"""What the functions of `sparse/` refuse, and the words for it."""

import math
import operator
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from ..core import dtypes
from ..core.core import Tracer
from ..errors import ConcretizationTypeError
from ..lax.compile_time import concrete_or_error
from ..lax.windows import GatherScatterMode


class SparseEfficiencyError(ValueError):
    """A sparse array would be stored in a layout that takes much memory."""


class SparseEfficiencyWarning(UserWarning):
    """A sparse array is stored in a layout that takes much memory."""


class CuSparseEfficiencyWarning(SparseEfficiencyWarning):
    """JAX gives it on GPUs; it exists here so that programs can name it."""


def nse_of_dense(nse: Any, count: Any) -> int:
    """How many elements of a dense array to store: `nse`, or by default the largest `count`."""
    return concrete_or_error(operator.index, count.max(initial=0) if nse is None else nse, """
The error arose for the nse argument of fromdense. Within jit and other transformations, the
number of stored elements must be given as a concrete integer.
""")


def nse_of_unique(count: Any) -> int:
    """The largest number of unique indices in an example."""
    try:
        return concrete_or_error(operator.index, count.max(initial=0))
    except ConcretizationTypeError:
        raise ValueError("bcoo_sum_duplicates: nse must be specified when using the function "
                         "within jit, vmap, and other transformations requiring abstract "
                         "evaluation.") from None


def sparse_repr(mat: Any) -> str:
    """`BCOO(float32[3, 4], nse=2, n_batch=1)`, within the name of the tracer that its data is."""
    name = type(mat).__name__
    try:
        assert mat.n_batch >= 0 <= mat.n_dense
        counts = f", nse={mat.nse}" + "".join(
            f", {count}={n}" for count in ("n_batch", "n_dense") if (n := getattr(mat, count)))
        text = f"{name}({mat.dtype}{[*mat.shape]}{counts})"
    except Exception:  # a pytree with other leaves than arrays, or with buffers that do not fit
        text = f"{name}(<invalid>)"
    return f"{type(mat.data).__name__}[{text}]" if isinstance(mat.data, Tracer) else text


def refused(mat: Any, *args, **kwargs) -> Any:
    """Raise NotImplementedError: what `BCOO` can, and other sparse arrays cannot."""
    raise NotImplementedError(f"{type(mat).__name__} has only products with dense arrays, and "
                              "functions that are sparsified. Use to_bcoo().")


def buffers(mat: Any, *index_names: str) -> None:
    """Raise unless the buffers of a sparse array fit each other and the shape."""
    name, shape = type(mat).__name__, mat.shape
    for index_name in index_names:
        dtype = getattr(mat, index_name).dtype
        if not np.issubdtype(dtype, np.integer):
            raise TypeError(f"{name}: {index_name} must be integers, got {dtype}.")
    for buffer in ("data", *index_names):
        sizes = getattr(mat, buffer).shape[: mat.n_batch]
        if len(sizes) > len(shape) or any(n not in (1, m) for n, m in zip(sizes, shape)):
            raise ValueError(f"{buffer} batch dimensions not compatible for {buffer}.shape="
                             f"{getattr(mat, buffer).shape}, {shape=}")
    dense = shape[mat.n_batch + mat.n_sparse:]
    if (len(shape) != mat.n_batch + mat.n_sparse + mat.n_dense
            or mat.data.shape[mat.n_batch:] != (mat.nse, *dense)):
        raise ValueError(f"Invalid data.shape={mat.data.shape} for nse={mat.nse}, n_batch="
                         f"{mat.n_batch}, n_sparse={mat.n_sparse}, n_dense={len(dense)}, {shape=}")
    if index_names[1:] and mat.indptr.shape[mat.n_batch:] != (shape[mat.n_batch] + 1,):
        raise ValueError(f"indptr shape must match the matrix shape plus 1: got indptr.shape="
                         f"{mat.indptr.shape}, {shape=}.")


def aux_data(cls: type, given: dict, keys: set) -> None:
    """Raise ValueError unless the static part of a pytree is that of a sparse array."""
    if given.keys() != keys:
        raise ValueError(f"{cls.__name__}.tree_unflatten: invalid aux_data={given}; expected the "
                         f"keys {sorted(keys)}")


def mapped_axis(mat: Any, axis: int | None, last: int) -> None:
    """Raise ValueError unless `vmap` maps over one of the batch dimensions, up to the `last`."""
    if not (axis is None or 0 <= axis <= last):
        raise ValueError(
            f"vmap: cannot map axis {axis} of {type(mat).__name__} array with n_batch="
            f"{mat.n_batch}: in_axes and out_axes must be among the leading batch dimensions.")


def dimension_counts(shape: Sequence[int], n_batch: int, n_dense: int, nse: int = 0) -> None:
    """Raise ValueError unless so many of the dimensions can be batch and dense ones."""
    if n_batch < 0 or n_dense < 0 or nse < 0 or n_batch + n_dense > len(shape):
        raise ValueError(f"Invalid inputs: {shape=}, {n_dense=}, {n_batch=}, {nse=}: the numbers "
                         "of dimensions must be non-negative, and not more than there are.")


def from_scipy(mat: Any, n_batch: int, n_dense: int) -> None:
    """Raise unless a matrix of SciPy is to be stored with sparse dimensions only."""
    if n_dense or n_batch:
        raise NotImplementedError("from_scipy_sparse with nonzero n_dense/n_batch: use "
                                  "update_layout of the result.")
    if mat.ndim != 2:
        raise ValueError(f"from_scipy_sparse requires 2D array; {mat.ndim}D is given.")


def permutation(mat: Any, given: Sequence[int]) -> None:
    """Raise unless batch, sparse and dense dimensions are permuted among themselves."""
    if not isinstance(given, (tuple, list, np.ndarray)):
        raise TypeError(f"transpose permutation must be a tuple/list/ndarray, got {type(given)}.")
    if sorted(given) != [*range(mat.ndim)]:
        raise TypeError("transpose permutation isn't a permutation of operand dimensions, got "
                        f"permutation {given} for shape {mat.shape}.")
    for kind, part, dims in zip(("batch", "sparse", "dense"), mat.split(given),
                                mat.split(range(mat.ndim))):
        if sorted(part) != [*dims]:
            raise NotImplementedError(
                f"transpose permutation cannot permute {kind} axes with others; got permutation "
                f"{given}, with n_batch={mat.n_batch}, n_dense={mat.n_dense}.")


def broadcast(mat: Any, shape: Sequence[int], dims: Sequence[int]) -> None:
    """Raise unless the dimensions keep their order, and only batch and dense ones grow."""
    if mat.ndim != len(dims):
        raise ValueError(f"{mat.shape=} and broadcast_dimensions={dims} must have the same length")
    batch, sparse, dense = mat.split(dims)
    for first, then in (batch, sparse), (sparse, dense):
        if max(first, default=0) > min(then, default=len(shape)):
            raise ValueError("Cannot mix batch, sparse and dense dimensions during "
                             f"broadcast_in_dim: got broadcast_dimensions={dims}")
    new = shape[min((*sparse, *dense), default=len(shape)):min(dense, default=len(shape))]
    if np.prod(mat.sparse_shape) != np.prod(new):
        raise NotImplementedError("Adding sparse dimensions with lengths != 1: got shape="
                                  f"{mat.shape}, and {shape} is wanted")


def multiply_dense(mat: Any, v: Any, out_shape: tuple) -> None:
    """Raise NotImplementedError if the product is larger than the sparse array."""
    if out_shape != mat.shape:
        raise NotImplementedError(
            "multiplication between sparse and dense is only implemented for cases where the "
            f"output shape matches the sparse matrix shape. Got shape={mat.shape}, {v.shape=}")


def sparse_times_dense(mat: Any, contract: Sequence[int], batch: Sequence[int]) -> None:
    """Raise unless batch dimensions are stored as such, and no dense dimension is summed."""
    if max(batch, default=-1) >= mat.n_batch:
        raise NotImplementedError(
            "bcoo_dot_general batch dimensions must be among the batch dimensions in the sparse "
            f"representation. Got lhs_batch={batch}, n_batch={mat.n_batch}")
    if max(contract, default=-1) >= mat.n_batch + mat.n_sparse:
        raise NotImplementedError("bcoo_dot_general: contracting over dense dimensions.")


def bcsr_operands(lhs: Any, rhs: Any, cls: type) -> None:
    """Raise unless a `BCSR` is multiplied by a dense array."""
    if isinstance(rhs, cls) or not isinstance(lhs, cls):
        raise NotImplementedError("bcsr_dot_general currently implemented for BCSR lhs and dense "
                                  f"rhs; got {type(lhs)}, {type(rhs)}.")


def addition(x: Any, y: Any, out_shape: tuple, cls: type) -> None:
    """Raise NotImplementedError for a sum that is neither sparse nor as large as its dense term."""
    if not (isinstance(x, cls) and isinstance(y, cls)):
        dense = y if isinstance(x, cls) else x
        if dense.shape != out_shape:
            raise NotImplementedError(
                "Addition between a sparse array X and a dense array Y is not implemented when the "
                "output shape is larger than Y.shape. If this is your intent, use todense().")
    elif x.shape != y.shape:
        raise NotImplementedError("Addition between sparse matrices of different shapes.")
    elif x.indices is not y.indices and (x.n_batch, x.n_dense) != (y.n_batch, y.n_dense):
        raise NotImplementedError("Addition between sparse matrices with different batch/dense "
                                  "dimensions.")


def subtrahend(x: Any, y: Any, cls: type) -> Any:
    """`y`; both operands must be sparse, else NotImplementedError."""
    if not (isinstance(x, cls) and isinstance(y, cls)):
        raise NotImplementedError("Subtraction between sparse and dense array: use todense().")
    return y


def divisor(y: Any) -> Any:
    """`y`, which must be dense: else NotImplementedError."""
    if hasattr(y, "todense"):
        raise NotImplementedError(f"Division by a sparse array{_DENSE}")
    return y


def sparse_operand(lhs: Any, rhs: Any, cls: type) -> None:
    """Raise TypeError unless an operand is sparse."""
    if not (isinstance(lhs, cls) or isinstance(rhs, cls)):
        raise TypeError(f"bcoo_dot_general: expected a BCOO array among the operands, got "
                        f"{type(lhs)} and {type(rhs)}. Use lax.dot_general for dense arrays.")


_DENSE = (" is not implemented because it would result in dense output. If this is your intent, "
          "use sparse.todense() to convert your arguments to dense arrays.")


def elementwise(primitive: Any, params: dict) -> None:
    """Raise NotImplementedError for a power of zero that is not zero."""
    if (y := params.get("y", 1)) <= 0:
        raise NotImplementedError(f"sparse rule for integer_pow with non-positive exponent {y}"
                                  f"{_DENSE}")


_DENSIFYING = "acos acosh bessel_i0e cos cosh eq exp ge gt le lt log ne xor".split()


def no_rule(primitive: Any) -> NoReturn:
    """Raise the error for a primitive without a rule for sparse operands."""
    why = _DENSE if primitive.name in _DENSIFYING else " is not implemented."
    raise NotImplementedError(f"sparse rule for {primitive}{why}")


def no_tracer(use_tracer: bool) -> None:
    """Raise NotImplementedError: there is one way to sparsify a function."""
    if use_tracer:
        raise NotImplementedError("sparsify: the function is traced to a jaxpr. Leave `use_tracer` "
                                  "out, and use lax.cond for Python's `if`.")


def broadcast_sizes(sizes: set[int]) -> None:
    """Raise ValueError unless all sizes are the same or 1."""
    if len(sizes - {1}) > 1:
        raise ValueError("broadcasting_vmap: mismatched input shapes: the mapped axes have the "
                         f"sizes {sorted(sizes)}, which may only be 1 or the same.")


def same_branches(trees: Sequence) -> None:
    """Raise TypeError unless all branches return sparse arrays where the first one does."""
    if any(tree != trees[0] for tree in trees):
        raise TypeError("sparsified true_fun output must have same type structure as sparsified "
                        f"false_fun output, but there are differences: {trees}.")


def loop_rows(arrays: Sequence, cls: tuple[type, ...]) -> None:
    """Raise NotImplementedError if a loop would take rows of sparse arrays, or collect them."""
    if any(isinstance(x, cls) for x in arrays):
        raise NotImplementedError("sparse rule for scan with x values: loop over dense arrays, and "
                                  "return dense rows; the carry may be sparse.")


def undifferentiated(primals: Any, tangents: Any) -> NoReturn:
    """Raise NotImplementedError: the rule of a function is for dense arrays."""
    raise NotImplementedError("The derivative of a sparsified function that calls a custom_jvp "
                              "function is not implemented. Sparsify the derivative instead: "
                              "sparsify(jax.grad(f)).")


def sparse_format(given: str, formats: dict) -> type:
    """The class of this name."""
    if given not in formats:
        raise ValueError(f"sparse_format={given!r} not recognized; must be one of {[*formats]}")
    return formats[given]


def eye(N: Any, M: Any, k: Any) -> tuple[int, int, int]:
    """The arguments of `eye` as integers, which must be known."""
    N, M, k = (concrete_or_error(operator.index, n) for n in (N, N if M is None else M, k))
    return N, M, k


def gather_mode(mode: Any, dimension_numbers: Any) -> None:
    """A gather from a sparse array has indices in bounds, and no batching dimensions."""
    if GatherScatterMode.from_any(mode or "promise_in_bounds") != (
            GatherScatterMode.PROMISE_IN_BOUNDS):
        raise NotImplementedError(f"bcoo_gather: {mode=} not yet supported. "
                                  'Use mode="promise_in_bounds".')
    if dimension_numbers.operand_batching_dims:
        raise NotImplementedError("bcoo_gather: operand_batching_dims are not supported.")


def random_nse(nse: Any, sparse_size: int, dtype: Any) -> int:
    """The number of random elements, of which so many must fit; the dtype must hold the indices."""
    if not 0 <= nse < sparse_size:
        raise ValueError(f"got {nse=}, expected to be between 0 and {sparse_size}")
    if sparse_size > np.iinfo(dtypes.canonicalize_dtype(dtype)).max:
        raise ValueError(f"indices_dtype={dtype} does not have enough range to generate sparse "
                         f"indices of size {sparse_size}.")
    return math.ceil(nse * sparse_size) if 0 < nse < 1 else operator.index(nse)


def solve_operands(data: Any, indices: Any, indptr: Any, b: Any, reorder: int) -> None:
    """Raise ValueError unless the arguments are those of a square system in compressed rows."""
    if data.dtype != b.dtype:
        raise ValueError(f"data types do not match: {data.dtype=} {b.dtype=}")
    if not all(np.issubdtype(x.dtype, np.integer) for x in (indices, indptr)):
        raise ValueError(f"index arrays must be integer typed; got {indices.dtype=} "
                         f"{indptr.dtype=}")
    if not data.ndim == indices.ndim == indptr.ndim == b.ndim == 1:
        raise ValueError("Arrays must be one-dimensional. "
                         f"Got {data.shape=} {indices.shape=} {indptr.shape=} {b.shape=}")
    if indptr.size != b.size + 1 or data.shape != indices.shape:
        raise ValueError(f"Invalid CSR buffer sizes: {data.shape=} {indices.shape=} "
                         f"{indptr.shape=}")
    if reorder not in [0, 1, 2, 3]:
        raise ValueError(f"{reorder=} not valid, must be one of [0, 1, 2, 3]")


def multiply_sparse(x: Any, y: Any) -> None:
    """Raise NotImplementedError unless two sparse arrays store the same elements."""
    if x.indices is not y.indices or not x.unique_indices:
        raise NotImplementedError(
            "The elementwise product of two sparse arrays is implemented for arrays that share "
            "their indices, which are unique, as x and sin(x) in a sparsified function do. Use "
            "todense() of one of them.")


def sparse_times_sparse(lhs: Any, rhs: Any, contract: Sequence, batch: Sequence) -> None:
    """Raise unless only sparse dimensions are summed, and the result can have its dimensions in
    order: the batch dimensions first."""
    if lhs.n_dense or rhs.n_dense:
        raise NotImplementedError("bcoo_spdot_general with dense dimensions.")
    for mat, dims, batch_dims in zip((lhs, rhs), contract, batch):
        if max(batch_dims, default=-1) >= mat.n_batch:
            raise NotImplementedError(
                "bcoo_spdot_general: batch_dims must correspond to batch dimensions of the sparse "
                f"representation; got {batch_dims}, and n_batch={mat.n_batch}.")
        if min(dims, default=mat.ndim) < mat.n_batch:
            raise NotImplementedError("bcoo_spdot_general only supports contraction of sparse "
                                      "indices.")
    if rhs.n_batch > len(batch[1]) and lhs.n_sparse > len(contract[0]):
        raise ValueError("bcoo_spdot_general: cannot have unused batch dims on rhs with unused "
                         "sparse dims on lhs.")


def two_sparse_dimensions(n_sparse: int) -> None:
    """Raise ValueError unless there are two sparse dimensions."""
    if n_sparse != 2:
        raise ValueError(f"BCSR: must have 2 sparse dimensions, got {n_sparse}.")


# ----------------------------------------------------------------------------------------------
# Of the functions that change shapes


def slices(mat: Any, cls: type, starts: Sequence, limits: Sequence, strides: Any) -> None:
    """Raise unless these are the bounds of a slice of a sparse array."""
    if not isinstance(mat, cls):
        raise TypeError(f"bcoo_slice: input should be BCOO array, got type(mat)={type(mat)}")
    strides = [1] * mat.ndim if strides is None else strides
    if not len(starts) == len(limits) == len(strides) == mat.ndim:
        raise ValueError(f"bcoo_slice: indices must have size mat.ndim={mat.ndim}, got "
                         f"start_indices={starts}, limit_indices={limits}, strides={strides}")
    if any(step <= 0 for step in strides):
        raise ValueError(f"strides must be a sequence of positive integers; got {strides}")
    if not all(0 <= i <= j <= size for i, j, size in zip(starts, limits, mat.shape)):
        raise ValueError(f"bcoo_slice: invalid indices. Got start_indices={starts}, "
                         f"limit_indices={limits} and shape={mat.shape}")


def concatenated(operands: Sequence, cls: type) -> None:
    """Raise ValueError unless the operands are sparse arrays."""
    if not all(isinstance(mat, cls) for mat in operands):
        raise ValueError("bcoo_concatenate: expected operands to be a sequence of BCOO arrays. "
                         f"Got {operands}")


def concatenated_layouts(operands: Sequence, dimension: int) -> None:
    """Raise unless arrays can be joined along a batch or a sparse dimension."""
    first = operands[0]
    for what in ("n_batch", "n_dense"):
        if len({getattr(mat, what) for mat in operands}) > 1:
            kind = {"n_batch": "batch", "n_dense": "dense"}[what]
            raise ValueError(f"bcoo_concatenate requires inputs to have matching {kind} "
                             f"dimensions, got {what}={[getattr(mat, what) for mat in operands]}.")
    if dimension >= first.n_batch + first.n_sparse:
        raise NotImplementedError("Concatenation along dense dimensions.")
    batches = {tuple(n for d, n in enumerate(x.shape[:mat.n_batch]) if d != dimension)
               for mat in operands for x in mat.buffers}
    shared = any(x.shape[d] != mat.shape[d] for mat in operands for x in mat.buffers
                 for d in range(mat.n_batch))
    if len(batches) > 1 or (shared and dimension < first.n_batch):
        raise NotImplementedError("concatenation of arrays with broadcasted batch indices")


def reshaped(mat: Any, shape: tuple) -> tuple[int, int]:
    """How many of the new dimensions are batch dimensions, and how many batch or sparse ones."""
    batch, sparse, _ = mat.split(mat.shape)
    if any(x.shape[:mat.n_batch] != batch for x in mat.buffers):
        raise NotImplementedError("reshape of arrays with broadcasted batch dimensions.")
    sizes = [1, *map(int, np.cumprod(shape, dtype=np.int64))]
    kinds = [("batch and sparse", "n_batch", math.prod(batch)),
             ("sparse and dense", "n_dense", math.prod(batch) * math.prod(sparse))]
    ends = []
    for kind, name, size in kinds:
        if size not in sizes:
            raise ValueError(f"bcoo_reshape: new shape cannot mix {kind} dimensions; got "
                             f"shape={mat.shape} new_shape={shape} with {name}="
                             f"{getattr(mat, name)}")
        ends.append(len(sizes) - 1 - sizes[::-1].index(size))
    return (ends[0] if mat.n_batch else 0), ends[1] if mat.n_dense else len(shape)


def layout(mat: Any, n_batch: int, n_dense: int, on_inefficient: str | None, warn: Any) -> None:
    """Raise unless an array can have these numbers of batch and dense dimensions."""
    if on_inefficient not in ("error", "warn", None):
        raise ValueError(f"{on_inefficient=}; expected one of ['error', 'warn', None].")
    for name, n in (("n_batch", n_batch), ("n_dense", n_dense)):
        if n < 0:
            raise ValueError(f"{name} must be non-negative; got {n}")
    if n_batch + n_dense > mat.ndim:
        raise ValueError(f"sum of {n_batch=} and {n_dense=} cannot be larger than "
                         f"mat.ndim={mat.ndim}.")
    new = {"n_batch": (mat.n_batch, n_batch, mat.shape[mat.n_batch:n_batch]),
           "n_dense": (mat.n_dense, n_dense, mat.shape[mat.ndim - n_dense:mat.ndim - mat.n_dense])}
    for name, (old, n, sizes) in new.items():
        if on_inefficient is None or n <= old or all(size <= 1 for size in sizes):
            continue
        what = (f"For matrix of shape {mat.shape}, increasing {name} from {old} to {n} results in "
                "inefficient storage: zeros are stored along it.")
        if on_inefficient == "error":
            raise SparseEfficiencyError(f"{what} To disable this error, set the on_inefficient "
                                        "argument of bcoo_update_layout to 'warn' or None.")
        warn(f"{what} To disable this warning, set the on_inefficient argument of "
             "bcoo_update_layout to None.", category=SparseEfficiencyWarning, stacklevel=3)


def product_of_sparse(lhs: Any, rhs: Any) -> None:
    """Raise unless two sparse arrays can be multiplied element by element."""
    if lhs.ndim != rhs.ndim:
        raise TypeError("bcoo_multiply_sparse: arrays must have same number of dimensions, got "
                        f"{lhs.shape}, {rhs.shape}")
    if lhs.n_dense != rhs.n_dense:
        raise NotImplementedError("bcoo_multiply_sparse: arrays with differing numbers of dense "
                                  f"dimensions: {lhs}, {rhs}")


def extracted(sparr: Any, arr: Any, cls: type) -> None:
    """Raise unless a dense array has the shape of a sparse one."""
    if not isinstance(sparr, cls):
        raise TypeError("First argument to bcoo_extract should be a BCOO array. Got "
                        f"type(sparr)={type(sparr)}")
    if sparr.shape != arr.shape:
        raise ValueError(f"shape mismatch: {sparr.shape=} a.shape={arr.shape}")
