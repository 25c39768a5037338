"""Chapter 11: products of arrays of few bits, whose elements have a scale for each block.

`scaled_dot` is how machines with 8-bit and 4-bit floating point numbers multiply them. On the CPU
it is a product of bfloat16 numbers.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from ..core.batching import primitive_batchers
from ..core.boundary import public
from ..core.core import Primitive, ShapedArray, typeof
from ..core.lowering import register_lowering
from ..core.primitives import convert, mul
from ..runtime.dispatch import apply_primitive
from .dtypes import check_and_canonicalize_user_dtype
from .families import all_at_front, lower_fun
from .products import dot_general
from .shaping import broadcast_in_dim, full, reshape

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


@public
def scaled_dot(lhs, rhs, *, lhs_scale=None, rhs_scale=None, dimension_numbers=None,
               preferred_element_type=None):
    """`(lhs * lhs_scale) @ (rhs * rhs_scale)`, where a scale is that of a block of elements.

    Args:
      lhs, rhs: arrays of one rank.
      lhs_scale, rhs_scale: arrays of that rank, by default all 1. They have the operand's shape,
        but a contracted dimension is shorter: each element is for a block of two or more.
      dimension_numbers: as for `lax.dot_general`; by default those of a product of matrices, or of
        stacks of matrices.
      preferred_element_type: the dtype of the result, by default bfloat16.

    Raises:
      TypeError: the shapes do not fit, or the operands have fewer than two dimensions.

    >>> scales = jnp.array([[1.0, 10.0]])
    >>> lax.scaled_dot(jnp.ones((1, 4)), jnp.ones((4, 1)), lhs_scale=scales)
    Array([[22]], dtype=bfloat16)
    """
    if dimension_numbers is None:
        n = lhs.ndim
        if n < 2:
            raise TypeError("scaled_dot does not support 0-rank and 1-rank operands.")
        dimension_numbers = ((n - 1,), (n - 2,)), (tuple(range(n - 2)), tuple(range(n - 2)))
    contracting, batch = dimension_numbers
    contracting = tuple(contracting[0]), tuple(contracting[1])
    if lhs_scale is None:
        lhs_scale = _no_scale(lhs, contracting[0])
    if rhs_scale is None:
        rhs_scale = _no_scale(rhs, contracting[1])
    dtype = BFLOAT16 if preferred_element_type is None else preferred_element_type
    return scaled_dot_p.bind(
        lhs, rhs, lhs_scale, rhs_scale,
        dimension_numbers=(contracting, (tuple(batch[0]), tuple(batch[1]))),
        preferred_element_type=check_and_canonicalize_user_dtype(dtype, "scaled_dot"))


def _no_scale(operand, contracting: Sequence[int]):
    shape = [1 if d in contracting else size for d, size in enumerate(operand.shape)]
    return full(shape, 1, ml_dtypes.float8_e8m0fnu)


# ----------------------------------------------------------------------------------------------
# The rules


def _type(lhs, rhs, lhs_scale, rhs_scale, *, dimension_numbers, preferred_element_type):
    contracting, batch = dimension_numbers
    _check_operands((lhs, rhs, lhs_scale, rhs_scale), contracting, batch)
    _check_scale("LHS", lhs, lhs_scale, contracting[0])
    _check_scale("RHS", rhs, rhs_scale, contracting[1])
    kept = [size for aval, taken in ((lhs, (*contracting[0], *batch[0])),
                                     (rhs, (*contracting[1], *batch[1])))
            for d, size in enumerate(aval.shape) if d not in taken]
    return ShapedArray((*(lhs.shape[d] for d in batch[0]), *kept), preferred_element_type)


def _check_operands(avals: Sequence, contracting: Any, batch: Any) -> None:
    lhs, rhs = avals[:2]
    if len({aval.ndim for aval in avals}) > 1:
        raise TypeError("All input tensors must have the same rank. Got ranks "
                        f"{[aval.ndim for aval in avals]} of lhs, rhs, lhs_scale and rhs_scale.")
    for what, (of_lhs, of_rhs) in (("batch", batch), ("contracting", contracting)):
        if len(of_lhs) != len(of_rhs):
            raise TypeError(f"LHS and RHS must have the same number of {what} dimensions, got "
                            f"{len(of_lhs)} and {len(of_rhs)}.")
    for i, j in zip(*batch):
        if len({avals[k].shape[j if k % 2 else i] for k in range(4)}) > 1:
            raise TypeError("All input tensors must have the same batch dimension size for batch "
                            f"dims ({i}, {j}).")
    for i, j in zip(*contracting):
        if lhs.shape[i] != rhs.shape[j]:
            raise TypeError(f"LHS contracting dim {i} of size {lhs.shape[i]} does not match RHS "
                            f"contracting dim {j} of size {rhs.shape[j]}.")


def _check_scale(side: str, operand: Any, scale: Any, contracting: Sequence[int]) -> None:
    for d, (size, n) in enumerate(zip(operand.shape, scale.shape)):
        if d not in contracting:
            if size != n:
                raise TypeError(f"{side} dim {d} of size {size} does not match scale dim size {n}.")
        elif size % n:
            raise TypeError(f"{side} contracting dim {d} of size {size} must be divisible by its "
                            f"scale's dim size {n}.")
        elif size // n < 2:
            raise TypeError(f"The ratio of {side} contracting dim {d} to its scale's dim size "
                            f"({size // n}) must be at least 2.")


def _product(lhs, rhs, lhs_scale, rhs_scale, *, dimension_numbers, preferred_element_type):
    return dot_general(_scaled(lhs, lhs_scale), _scaled(rhs, rhs_scale), dimension_numbers,
                       preferred_element_type=preferred_element_type)


def _scaled(operand, scale):
    """The operand in bfloat16, each element times the scale of its block."""
    shape, blocks = typeof(operand).shape, typeof(scale).shape
    apart = [n for size, n in zip(shape, blocks) for n in (n, size // n if n else 1)]
    scale = reshape(broadcast_in_dim(scale, apart, range(0, len(apart), 2)), shape)
    return mul(convert(operand, BFLOAT16), convert(scale, BFLOAT16))


def _batch(args, dims, *, dimension_numbers, preferred_element_type):
    contracting, batch = (tuple(tuple(d + 1 for d in side) for side in pair)
                          for pair in dimension_numbers)
    return scaled_dot_p.bind(
        *all_at_front(args, dims),
        dimension_numbers=(contracting, tuple((0, *side) for side in batch)),
        preferred_element_type=preferred_element_type), 0


scaled_dot_p = Primitive("scaled_dot")
scaled_dot_p.def_abstract_eval(_type)
scaled_dot_p.def_impl(functools.partial(apply_primitive, scaled_dot_p))
register_lowering(scaled_dot_p, lower_fun(_product))
primitive_batchers[scaled_dot_p] = _batch
