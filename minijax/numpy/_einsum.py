"""Chapter 12: `einsum`. opt_einsum chooses the order of the contractions, each is one here."""

import collections
import functools
from collections.abc import Sequence
from typing import Any

from ..core.boundary import public
from ..core.core import typeof
from ..core.operators import with_own_arrays
from ..core.primitives import convert
from ..lax.bitwise import bitwise_and
from ..lax.dtypes import check_and_canonicalize_user_dtype, result_type
from ..lax.elementwise import eq
from ..lax.out_shardings import call_sharded, permuted_sharding
from ..lax.products import dot_general
from ..lax.reductions import reduce_or, reduce_sum
from ..lax.selection import select
from ..lax.shaping import broadcast_in_dim, broadcasted_iota, full_like, squeeze, transpose
from ._arguments import check_no_out, ensure_arraylike


@functools.cache
def _opt_einsum() -> Any:
    """The library that finds orders of contractions, loaded with the first `einsum`."""
    import opt_einsum

    return opt_einsum


def _optimizer(optimize):
    if optimize is True:
        return "optimal"
    return _left_to_right() if optimize is False else optimize


def _left_to_right():
    """`optimize=False`: contract the first two operands, again and again."""

    class LeftToRight(_opt_einsum().paths.PathOptimizer):
        def __call__(self, inputs, *args, **kwargs):
            return [(0, 1)] * (len(inputs) - 1)

    return LeftToRight()


@public
def einsum(subscripts, /, *operands, out=None, optimize: Any = "auto", precision=None,
           preferred_element_type=None, _dot_general=dot_general, out_sharding=None):
    """Sums of products in Einstein's notation.

    Args:
      subscripts: a letter for each dimension, as in `"ij,jk->ik"`. Dimensions that the result does
        not name are summed over. (Or operands and lists of ints in turn, as in NumPy.)
      *operands: arrays.
      optimize: how opt_einsum looks for the order of contractions.
      precision, preferred_element_type, out_sharding: as for `lax.dot_general`.
      _dot_general: the function that multiplies two operands; libraries pass quantized ones.

    Returns:
      an array with the dimensions after the arrow.

    Raises:
      ValueError: subscripts that do not fit the operands.

    >>> einsum("ij,j->i", jnp.ones((2, 3)), jnp.arange(3.0)).tolist()
    [3.0, 3.0]
    """
    check_no_out("einsum", out)
    given = (subscripts, *operands)
    operands = tuple(with_own_arrays(operands))
    (subscripts,) = with_own_arrays([subscripts])
    try:
        arrays, contractions = _opt_einsum().contract_path(
            subscripts, *operands, einsum_call=True, use_blas=True,
            optimize=_optimizer(optimize))
    except KeyError as error:
        if "optimizer" in str(error):  # the name of one, which opt_einsum says
            raise
        raise KeyError(f"einsum: the dimension {error} of the result is not one of the operands'."
                       ) from None
    arrays = [ensure_arraylike("einsum", x) for x in arrays]
    if out_sharding is not None and not _ends_with_one_operation(contractions, arrays):
        return call_sharded(einsum, *given, optimize=optimize, precision=precision,
                            preferred_element_type=preferred_element_type,
                            _dot_general=_dot_general, out_sharding=out_sharding)
    return _einsum(arrays, contractions, precision, preferred_element_type, _dot_general,
                   out_sharding)


def _einsum(operands, contractions, precision, preferred_element_type, _dot_general=dot_general,
            out_sharding=None):
    """The products and sums of `opt_einsum`'s contractions, in their order.

    JAX's private function of this name is called by libraries that choose the order themselves.
    """
    arrays = list(operands)
    if preferred_element_type is None:
        dtype, weak_type = result_type(*arrays, return_weak_type_flag=True)
    else:
        dtype = check_and_canonicalize_user_dtype(preferred_element_type, "einsum")
        weak_type = False
    for positions, summed, expression, *_ in contractions:
        picked = [arrays.pop(i) for i in positions]
        arrays.append(_contract(picked, sorted(summed), expression, precision, dtype, _dot_general,
                                out_sharding))
    return convert(arrays[0], dtype, weak_type)


def _ends_with_one_operation(contractions, arrays):
    """Whether the result is one product, or one sum, that can be told its sharding."""
    if len(contractions) > 1:
        return False
    positions, summed, expression, *_ = contractions[0]
    names, _ = expression.split("->")
    if len(positions) == 2:
        return True
    return bool(summed) and len({*names}) == len(names) and arrays[0].dtype != bool


@public
def einsum_path(subscripts, /, *operands, optimize: Any = "auto"):
    """The order in which `einsum` would contract the operands; see `opt_einsum.contract_path`."""
    return _opt_einsum().contract_path(subscripts, *operands, optimize=_optimizer(optimize))


def _contract(operands, summed, expression, precision, dtype, dot, out_sharding):
    """One or two operands, as `expression` says; `summed` are the letters to sum over."""
    inputs, result = expression.split("->")
    names = inputs.split(",")
    if len(operands) == 1:
        out, out_names = _sum_one(operands[0], names[0], summed, result, dtype, out_sharding)
    elif len(operands) == 2:
        out, out_names = _multiply_two(operands, names, summed, result, precision, dtype, dot,
                                       out_sharding)
    else:
        raise NotImplementedError("jax.numpy.einsum does not support simultaneous contraction of "
                                  "3 or more operands: choose another `optimize`.")
    return transpose(out, [out_names.index(name) for name in result])


def _sum_one(x, names, summed, result, dtype, out_sharding):
    counts = collections.Counter(names)
    x, names = _sum_over(x, names, [n for n in summed if counts[n] == 1], dtype, out_sharding,
                         result)
    return _merge_repeats(x, names, counts, result, dtype)


def _sum(x, axes, dtype, **sharding):
    if result_type(x, dtype) != x.dtype:
        x = convert(x, dtype)
    return (reduce_or if x.dtype == bool else reduce_sum)(x, axes, **sharding)


def _sum_over(x, names, letters, dtype, out_sharding=None, result=""):
    """Sum over dimensions that occur nowhere else."""
    kept = "".join(name for name in names if name not in letters)
    if letters:
        x = _sum(x, [names.index(name) for name in letters], dtype,
                 **_stated(out_sharding, kept, result))
    return x, kept


def _stated(out_sharding, names, result):
    """The keyword argument that states the sharding of a result whose dimensions are `names`, and
    will be in the order of `result`."""
    if out_sharding is None:
        return {}
    order = [result.index(name) for name in names]
    return {"out_sharding": permuted_sharding(out_sharding, order)}


def _merge_repeats(x, names, counts, kept, dtype):
    """Take the diagonal of dimensions of one letter, by a mask and a sum."""
    for name, count in counts.items():
        if count < 2:
            continue
        axes = [d for d, n in enumerate(names) if n == name]
        x = select(_diagonal_mask(typeof(x).shape, axes), x, full_like(x, 0))
        if name in kept:
            x, names = _sum(x, axes[:-1], dtype), names.replace(name, "", count - 1)
        else:
            x, names = _sum(x, axes, dtype), names.replace(name, "")
    return x, names


def _diagonal_mask(shape, axes):
    sizes = [shape[d] for d in axes]
    positions = [broadcasted_iota("uint32", sizes, d) for d in range(len(axes))]
    pairs = [eq(i, j) for i, j in zip(positions, positions[1:])]
    mask = pairs[0]
    for pair in pairs[1:]:
        mask = bitwise_and(mask, pair)
    return broadcast_in_dim(mask, shape, axes)


def _multiply_two(operands, names, summed, result, precision, dtype, dot, out_sharding):
    """Reduce each operand on its own as far as possible, then one `dot`."""
    (x, y), (x_names, y_names) = operands, names
    x, x_names = _without_broadcast_ones(x, x_names, typeof(y).shape, y_names)
    y, y_names = _without_broadcast_ones(y, y_names, typeof(x).shape, x_names)
    x_counts, y_counts = collections.Counter(x_names), collections.Counter(y_names)
    x, x_names = _sum_over(
        x, x_names, [n for n in summed if x_counts[n] == 1 and not y_counts[n]], dtype)
    y, y_names = _sum_over(
        y, y_names, [n for n in summed if y_counts[n] == 1 and not x_counts[n]], dtype)
    x, x_names = _merge_repeats(x, x_names, x_counts, result + y_names, dtype)
    y, y_names = _merge_repeats(y, y_names, y_counts, result + x_names, dtype)
    contracted = [n for n in summed if n in x_names or n in y_names]
    batch = [n for n in result if n in x_names and n in y_names]
    x_free, y_free = (_remaining(n, batch + contracted) for n in (x_names, y_names))
    if "".join(batch) + y_free + x_free == result:  # then nothing is left to transpose
        x, x_names, x_free, y, y_names, y_free = y, y_names, y_free, x, x_names, x_free
    contracting = _positions(x_names, contracted), _positions(y_names, contracted)
    batching = _positions(x_names, batch), _positions(y_names, batch)
    out_names = "".join(batch) + x_free + y_free
    out = dot(x, y, (contracting, batching), precision=precision, preferred_element_type=dtype,
              **_stated(out_sharding, out_names, result))
    return out, out_names


def _without_broadcast_ones(x, names, other_shape, other_names):
    """`x` without the dimensions of size 1 that broadcast against the other operand's."""
    ones = [d for d, name in enumerate(names) if typeof(x).shape[d] == 1
            and name in other_names and other_shape[other_names.index(name)] != 1]
    x = squeeze(x, ones)
    return x, "".join(name for d, name in enumerate(names) if d not in ones)


def _remaining(names: str, taken: Sequence[str]) -> str:
    return "".join(name for name in names if name not in taken)


def _positions(names: str, letters: Sequence[str]) -> tuple[int, ...]:
    return tuple(names.index(name) for name in letters)
