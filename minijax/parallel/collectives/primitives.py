"""Chapter 14: the primitives of collectives, and the types of their results.

An axis has a name, or it is a dimension of the operand, an int: `vmap` makes a name into one.
A type rule finds the shape of the result and, where types say so, the axes along which it varies
(`types/varying_axes.py`) or is unreduced or reduced (`types/unreduced.py`).

The functions for users are in `reductions.py` and `exchanges.py`.
"""

from collections.abc import Callable, Hashable, Sequence

import numpy as np

from ...core.core import Primitive, ShapedArray
from ...core.primitives import reduce_sum_p
from ...lax.control_flow.axes import axis_size
from ...lax.reductions import reduce_max_p, reduce_min_p
from ...runtime import settings
from ..types.varying_axes import (
    Collective,
    along,
    axis_tuple,
    check_names,
    in_state_only,
    of_mesh,
    varying_axes,
)

AxisName = Hashable | Sequence[Hashable]
Groups = Sequence[Sequence[int]] | None

# ----------------------------------------------------------------------------------------------
# Axes and groups


def is_positional(axis) -> bool:
    """Whether an axis is a dimension of the array, not a name."""
    return isinstance(axis, int)


def group_size(axis_name: AxisName, groups: Groups = None) -> int:
    """How many take part: all along the axes, or those of one group.

    Raises:
      ValueError: the groups are not of one size.
    """
    if groups is None:
        return axis_size(axis_name)
    if len(set(map(len, groups))) != 1:
        raise ValueError(f"axis_index_groups must be of one size here: {groups}")
    return len(groups[0])


# ----------------------------------------------------------------------------------------------
# Types


def _kept_vma(x: ShapedArray, axes: tuple, name: str) -> frozenset:
    """A result that differs by device along the same axes as the operand."""
    check_names(axes)
    if settings.check_vma.value and not varying_axes(x).issuperset(of_mesh(axes)):
        raise ValueError(f"{name} over {axes} is for values that vary along these axes, got "
                         f"{x.str_short(True)}.")
    return varying_axes(x)


def _reduced_vma(x: ShapedArray, axes: tuple) -> frozenset:
    """A result that is the same along the named axes."""
    check_names(axes)
    return varying_axes(x).difference(axes)


def _reduction_type(x, *, axes, axis_index_groups):
    """As a reduction over the dimensions among the axes; names change no shape."""
    vma = _reduced_vma(x, axes)
    dims = tuple(filter(is_positional, axes))
    out = reduce_max_p.abstract_eval(x, axes=dims) if dims else x
    weak = x.weak_type and settings.check_vma.value  # as in JAX
    return along(ShapedArray(out.shape, x.dtype, weak), vma)


def _psum_invariant_type(x, *, axes):
    if any(map(is_positional, axes)):
        raise ValueError(f"psum_invariant is over named axes, got {axes}.")
    return along(x, _reduced_vma(x, axes))


def _gathered(x, *, all_gather_dimension, axis_size, tiled, **params):
    dimension, shape = all_gather_dimension, x.shape
    size = shape[dimension] * axis_size if tiled else axis_size
    return x.update(shape=(*shape[:dimension], size, *shape[dimension + tiled:]))


def _scattered(x, *, scatter_dimension, axis_size, tiled, **params):
    dimension, shape = scatter_dimension, x.shape
    part = (shape[dimension] // axis_size,) if tiled else ()
    return x.update(shape=(*shape[:dimension], *part, *shape[dimension + 1:]))


def _varying(name, shape_rule):
    """The type rule of a collective whose results vary as the operands do."""
    def rule(x, *, axis_name, **params):
        out = shape_rule(x, **params)
        return along(out, _kept_vma(x, axis_tuple(axis_name), name))

    return rule


def _all_gather_invariant_type(x, *, axis_name, **params):
    return along(_gathered(x, **params), _reduced_vma(x, axis_name))


def _all_to_all_type(x, *, axis_name, split_axis, concat_axis, axis_index_groups, tiled):
    vma = _kept_vma(x, axis_tuple(axis_name), "all_to_all")
    size, shape = group_size(axis_name, axis_index_groups), list(x.shape)
    assert shape[split_axis] % size == 0, (shape[split_axis], size)
    shape[split_axis] //= size
    shape[concat_axis] *= size
    return along(ShapedArray(shape, x.dtype), vma)


def _axis_index_type(*, axis_name):
    axes = axis_tuple(axis_name)
    check_names(axes)
    return along(ShapedArray((), np.int32), of_mesh(axes) if settings.check_vma.value else ())


# ----------------------------------------------------------------------------------------------
# Primitives


def _collective(name: str, shape_rule: Callable) -> Primitive:
    primitive = Collective(name)
    primitive.def_abstract_eval(shape_rule)
    return primitive


psum_p = _collective("psum", _reduction_type)
pmax_p = _collective("pmax", _reduction_type)
pmin_p = _collective("pmin", _reduction_type)
psum_invariant_p = _collective("psum_invariant", _psum_invariant_type)
all_gather_p = _collective("all_gather", _varying("all_gather", _gathered))
all_gather_invariant_p = _collective("all_gather_invariant", _all_gather_invariant_type)
reduce_scatter_p = _collective("reduce_scatter", _varying("psum_scatter", _scattered))
all_to_all_p = _collective("all_to_all", _all_to_all_type)
ppermute_p = _collective("ppermute", _varying("ppermute", lambda x, **params: x))
pbroadcast_p = _collective("pbroadcast", _varying("pbroadcast", lambda x, **params: x))
axis_index_p = _collective("axis_index", _axis_index_type)

# Those from and to the states of types in which sums are still to be made.
unreduced_psum_p = _collective("unreduced_psum", in_state_only(
    "psum", "unreduced", "invarying", lambda x, *, axes: x))
unreduced_reduce_scatter_p = _collective("unreduced_reduce_scatter", in_state_only(
    "psum_scatter", "unreduced", "varying", _scattered))
all_gather_reduced_p = _collective("all_gather_reduced", in_state_only(
    "all_gather", "varying", "reduced", _gathered))


def _def_reduction(primitive, reducer):
    """Where all axes are dimensions (`vmap` made them so), it is the ordinary reduction."""

    def evaluate(x, *, axes, axis_index_groups):
        if all(map(is_positional, axes)):
            return reducer.bind(x, axes=axes)
        return Collective.impl(primitive, x, axes=axes)

    primitive.def_impl(evaluate)


_def_reduction(psum_p, reduce_sum_p)
_def_reduction(pmax_p, reduce_max_p)
_def_reduction(pmin_p, reduce_min_p)
