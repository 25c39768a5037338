"""Chapter 14: collectives, operations across a named axis.

`vmap(axis_name="i")` and `shard_map` run many instances of one function at once, one for each index
along an axis. Each instance has only its own values, and a collective gives it those of others.
Under `vmap` a collective is an ordinary operation on the whole array (`rules.py`). On
several devices they exchange messages (`lowering.py`).

In the drawings a column is an instance (a device), with its operand and its result.

Their transposes:

    psum ↔ psum            without types that vary; with them, psum ↔ pvary
                           (see `types/varying_axes.py`)
    all_gather ↔ psum_scatter
    all_to_all ↔ all_to_all, and ppermute ↔ ppermute the other way round
"""

import math
from typing import Any

import numpy as np

from ...core import dtypes
from ...core.boundary import public
from ...core.core import Tracer, typeof
from ...core.primitives import add_p, canonical_axis
from ...core.tree import tree_map
from ...lax import elementwise as prim
from ...lax.control_flow.axes import axis_size
from ...lax.families import const_like
from ...lax.reductions import reduce_sum
from ...runtime import settings
from ..types.varying_axes import (
    axis_tuple,
    in_scope_order,
    of_mesh,
    state_along,
    sums_of,
    varies,
    varying,
)
from .primitives import (
    AxisName,
    Groups,
    is_positional,
    pmax_p,
    pmin_p,
    psum_invariant_p,
    psum_p,
    unreduced_psum_p,
)

# ----------------------------------------------------------------------------------------------
# Arguments that many of them have


def as_groups(groups: Groups, axes: tuple = ()) -> tuple | None:
    """The groups as tuples, so that they can be hashed."""
    if groups is None:
        return None
    if any(map(is_positional, axes)):
        raise ValueError(f"axis_index_groups only supported over named axes, got {axes}")
    return tuple(map(tuple, groups))


def _counted_from_front(axes: tuple, x) -> tuple:
    """Axes of which those that are dimensions are not negative."""
    return tuple(canonical_axis(axis, typeof(x).ndim) if is_positional(axis) else axis
                 for axis in axes)


def _check_covering(groups: Groups) -> None:
    """Each instance is in one group."""
    if groups is not None:
        members = {i for group in groups for i in group}
        if members != set(range(sum(map(len, groups)))):
            raise ValueError(f"axis_index_groups must cover all indices exactly once: {groups}")


def check_addition(x) -> None:
    """Raise a `TypeError` if two such values cannot be added."""
    add_p.abstract_eval(typeof(x), typeof(x))


# ----------------------------------------------------------------------------------------------
# Reductions


@public
def psum(x: Any, axis_name: AxisName, *, axis_index_groups: Groups = None) -> Any:
    """The sum along a named axis; each gets all of it.

        gives     1    2    3    4              with groups [[0, 1], [2, 3]]
                  └────┴─ + ─┴────┘               └─ + ─┘   └─ + ─┘
        gets     10   10   10   10                3    3    7    7

    A value that is known when the function is traced is the same everywhere, and multiplied by the
    number of instances at once: `psum(1, axis_name)` is the size of the axis, a Python number.

    Args:
      x: a pytree of arrays; booleans are summed as int32.
      axis_name: a name, or a tuple of several. An int among them is a dimension of the array.
      axis_index_groups: disjoint groups of indices that cover the axis, each summed for itself
        (on devices only, not under the `vmap` of this axis).

    Raises:
      NameError: no axis of this name is in scope.
      ValueError: groups that overlap or leave one out, or with dimensions.
      NotImplementedError: groups under `vmap`, or where types say what varies.

    >>> share = lambda x: x / jax.lax.psum(x, "i")
    >>> jax.vmap(share, axis_name="i")(jnp.array([1.0, 2.0, 5.0])).tolist()
    [0.125, 0.25, 0.625]
    """
    axes = axis_tuple(axis_name)
    groups = as_groups(axis_index_groups, axes)
    _check_covering(groups)
    return tree_map(lambda leaf: _psum(leaf, axes, groups), x) if axes else x


def _psum(x, axes, groups):
    if is_unreduced_along(x, axes, "psum"):
        return unreduced_psum_p.bind(x, axes=in_scope_order(axes))
    varies(x, axes, "psum")
    axes = _counted_from_front(axes, x)
    if typeof(x).dtype == np.bool_:
        x = prim.convert_element_type(x, np.int32)
    check_addition(x)
    if not isinstance(x, Tracer):
        return _psum_of_known(x, axes, groups)
    if not settings.check_vma.value:
        return psum_p.bind(x, axes=axes, axis_index_groups=groups)
    if groups is not None:
        raise NotImplementedError("psum: axis_index_groups where types say what varies; pass "
                                  "check_vma=False to shard_map.")
    return psum_invariant(x, axes)


def is_unreduced_along(x: Any, axes: tuple, name: str) -> bool:
    """Whether `x` is unreduced along these axes.

    Raises:
      ValueError: it is reduced, or only unreduced along some of them.
    """
    aval, names = typeof(x), of_mesh(axes)
    if not any(names & sums for sums in sums_of(aval)):
        return False
    if (now := state_along(aval, names, name)) != "unreduced":
        raise ValueError(f"{name} over {axes}: {aval.str_short(True)} is {now} along these axes. "
                         "Use `jax.lax.pcast` first.")
    return True


def _psum_of_known(x, axes, groups):
    names = tuple(axis for axis in axes if not is_positional(axis))
    if dims := [*filter(is_positional, axes)]:
        x = reduce_sum(x, dims)
    size = math.prod(map(axis_size, names)) if groups is None else len(groups[0])
    if type(x) in dtypes.python_scalar_types:
        return type(x)(size) * x
    factor = typeof(x).dtype.type(size)
    return factor * x if isinstance(x, np.ndarray) else prim.mul(const_like(x, factor), x)


def psum_invariant(x, axes: tuple):
    """`psum` where types say what varies: the result does not, along these axes."""
    return psum_invariant_p.bind(varying(x, axes), axes=axes)


@public
def pmean(x: Any, axis_name: AxisName, *, axis_index_groups: Groups = None) -> Any:
    """The mean along a named axis; each gets it.

        gives     1    2    3    6
        gets      3    3    3    3

    Args:
      x: a pytree of arrays.
      axis_name: a name, or a tuple of several.
      axis_index_groups: as for `psum`.

    Raises:
      NameError, ValueError, NotImplementedError: as `psum`.

    >>> centred = lambda x: x - jax.lax.pmean(x, "i")
    >>> jax.vmap(centred, axis_name="i")(jnp.array([1.0, 2.0, 6.0])).tolist()
    [-2.0, -1.0, 3.0]
    """
    total = psum(x, axis_name, axis_index_groups=axis_index_groups)
    size = psum(1, axis_name, axis_index_groups=axis_index_groups)
    return tree_map(lambda leaf: leaf / size, total)


@public
def pmax(x: Any, axis_name: AxisName, *, axis_index_groups: Groups = None) -> Any:
    """The largest value along a named axis, element by element; each gets it.

        gives     3    1    4    1
        gets      4    4    4    4

    It has no derivative (as in JAX).

    Args:
      x: a pytree of arrays.
      axis_name: a name, or a tuple of several. An int among them is a dimension of the array.
      axis_index_groups: as for `psum`.

    Raises:
      NameError, ValueError, NotImplementedError: as `psum`.

    >>> jax.vmap(lambda x: jax.lax.pmax(x, "i"), axis_name="i")(jnp.array([3, 1, 4])).tolist()
    [4, 4, 4]
    """
    return _extremum(pmax_p, x, axis_name, axis_index_groups)


@public
def pmin(x: Any, axis_name: AxisName, *, axis_index_groups: Groups = None) -> Any:
    """The least value along a named axis, element by element; each gets it.

        gives     3    1    4    1
        gets      1    1    1    1

    Args:
      x, axis_name, axis_index_groups: as for `pmax`.

    Raises:
      NameError, ValueError, NotImplementedError: as `psum`.

    >>> jax.vmap(lambda x: jax.lax.pmin(x, "i"), axis_name="i")(jnp.array([3, 1, 4])).tolist()
    [1, 1, 1]
    """
    return _extremum(pmin_p, x, axis_name, axis_index_groups)


def _extremum(primitive, x, axis_name, axis_index_groups):
    axes = axis_tuple(axis_name)
    groups = as_groups(axis_index_groups, axes)
    _check_covering(groups)

    def bind(leaf):
        return primitive.bind(varying(leaf, axes), axes=_counted_from_front(axes, leaf),
                              axis_index_groups=groups)

    return tree_map(bind, x)

