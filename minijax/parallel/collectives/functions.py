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

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core import dtypes
from ...core.boundary import public
from ...core.core import Tracer, typeof
from ...core.primitives import add_p, canonical_axis, constant
from ...core.tree import tree_map
from ...lax import elementwise as prim
from ...lax.control_flow.axes import axis_size
from ...lax.families import const_like
from ...lax.reductions import reduce_sum
from ...lax.shaping import expand_dims, squeeze
from ...lax.sizes import size_along
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
    all_gather_invariant_p,
    all_gather_p,
    all_gather_reduced_p,
    all_to_all_p,
    axis_index_p,
    group_size,
    is_positional,
    pbroadcast_p,
    pmax_p,
    pmin_p,
    ppermute_p,
    psum_invariant_p,
    psum_p,
    reduce_scatter_p,
    unreduced_psum_p,
    unreduced_reduce_scatter_p,
)

# ----------------------------------------------------------------------------------------------
# Arguments that many of them have


def _as_groups(groups: Groups, axes: tuple = ()) -> tuple | None:
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


def _check_parts(collective, axis_name, x, dimension, size, tiled):
    """Each instance gets a part of the dimension: one element, or if `tiled` some."""
    given = typeof(x).shape[dimension]
    if given % size if tiled else given != size:
        raise ValueError(
            f"{collective} over {axis_name}, of size {size}: there must be {size} parts to give, "
            f"but dimension {dimension} of {typeof(x).str_short(True)} has the size {given}.")


def _check_addition(x) -> None:
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
    groups = _as_groups(axis_index_groups, axes)
    _check_covering(groups)
    return tree_map(lambda leaf: _psum(leaf, axes, groups), x) if axes else x


def _psum(x, axes, groups):
    if is_unreduced_along(x, axes, "psum"):
        return unreduced_psum_p.bind(x, axes=in_scope_order(axes))
    varies(x, axes, "psum")
    axes = _counted_from_front(axes, x)
    if typeof(x).dtype == np.bool_:
        x = prim.convert_element_type(x, np.int32)
    _check_addition(x)
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
    groups = _as_groups(axis_index_groups, axes)
    _check_covering(groups)

    def bind(leaf):
        return primitive.bind(varying(leaf, axes), axes=_counted_from_front(axes, leaf),
                              axis_index_groups=groups)

    return tree_map(bind, x)


# ----------------------------------------------------------------------------------------------
# Gathering and scattering


@public
def all_gather(x: Any, axis_name: AxisName, *, axis_index_groups: Groups = None, axis: int = 0,
               tiled: bool = False, to: str = "varying") -> Any:
    """What all have, along a new dimension; each gets it.

        gives     a      b      c
        gets     [a]    [a]    [a]
                 [b]    [b]    [b]
                 [c]    [c]    [c]

    Args:
      x: a pytree of arrays.
      axis_name: a name, or a tuple of several, the first of which counts slowest.
      axis_index_groups: groups of one size, within each of which it is done (on devices only).
      axis: where the new dimension is; if `tiled`, the dimension along which to join the parts.
      tiled: no new dimension.
      to: what types say of the result, where they speak of axes: "varying", "invarying" for the
        same on all devices, or "reduced" for that with unreduced cotangents.

    Raises:
      NameError: no axis of this name is in scope.
      ValueError: no such dimension; an unknown `to`.
      NotImplementedError: groups under `vmap`, or with "invarying" or "reduced".

    >>> others = lambda x: jax.lax.all_gather(x, "i")
    >>> jax.vmap(others, axis_name="i")(jnp.array([1, 2])).tolist()
    [[1, 2], [1, 2]]
    """
    if to not in ("varying", "reduced", "invarying"):
        raise ValueError(f"all_gather: `to` is 'varying', 'reduced' or 'invarying', got {to!r}")
    if to != "varying" and axis_index_groups is not None:
        raise NotImplementedError(f"all_gather to {to!r}, axis_index_groups={axis_index_groups}")
    names, groups = axis_tuple(axis_name), _as_groups(axis_index_groups)
    if not names:
        return x
    params: dict[str, Any] = {"axis_name": names, "axis_size": group_size(names, groups),
                              "tiled": tiled}
    primitive = all_gather_reduced_p if to == "reduced" else all_gather_invariant_p
    if to == "varying":
        primitive, params = all_gather_p, params | {"axis_index_groups": groups}

    def gather(leaf):
        dimension = canonical_axis(axis, typeof(leaf).ndim + (not tiled))
        return primitive.bind(varying(leaf, names), all_gather_dimension=dimension, **params)

    return tree_map(gather, x)


@public
def psum_scatter(x: Any, axis_name: AxisName, *, scatter_dimension: int = 0,
                 axis_index_groups: Groups = None, tiled: bool = False) -> Any:
    """The sum along a named axis; each gets a part of it, the one with its index.

        gives   [a0]   [b0]   [c0]
                [a1]   [b1]   [c1]
                [a2]   [b2]   [c2]
        gets   a0+b0+c0   a1+b1+c1   a2+b2+c2

    An `all_gather` behind it makes a `psum` of it: this is the first half of the work.

    Args:
      x: a pytree of arrays.
      axis_name: a name, or a tuple of several.
      scatter_dimension: the dimension that is taken apart; of the size of the axis.
      axis_index_groups: groups of one size, within each of which it is done (on devices only).
      tiled: each gets a slice, of a dimension whose size need only be a multiple.

    Raises:
      NameError: no axis of this name is in scope.
      ValueError: a dimension of another size, or no such dimension.
      NotImplementedError: groups under `vmap`.

    >>> part = lambda x: jax.lax.psum_scatter(x, "i")
    >>> jax.vmap(part, axis_name="i")(jnp.array([[1, 2], [30, 40]])).tolist()
    [31, 42]
    """
    names, groups = axis_tuple(axis_name), _as_groups(axis_index_groups)
    if not names:
        return x
    size = group_size(names, groups)

    def scatter(leaf):
        _check_addition(leaf)
        shape = typeof(leaf).shape
        size_along("psum_scatter: scatter_dimension", shape, scatter_dimension)
        dimension = scatter_dimension % len(shape)
        _check_parts("psum_scatter", names, leaf, dimension, size, tiled)
        if groups is None and is_unreduced_along(leaf, names, "psum_scatter"):
            return unreduced_reduce_scatter_p.bind(
                leaf, axis_name=names, scatter_dimension=dimension, axis_size=size, tiled=tiled)
        return reduce_scatter_p.bind(
            varying(leaf, names), axis_name=names, scatter_dimension=dimension,
            axis_index_groups=groups, axis_size=size, tiled=tiled)

    return tree_map(scatter, x)


@public
def all_to_all(x: Any, axis_name: AxisName, split_axis: int, concat_axis: int, *,
               axis_index_groups: Groups = None, tiled: bool = False) -> Any:
    """Each gives every other a part, and gets one from each: a transposition across instances.

        gives   [a0]   [b0]   [c0]           gets   [a0]   [a1]   [a2]
                [a1]   [b1]   [c1]                  [b0]   [b1]   [b2]
                [a2]   [b2]   [c2]                  [c0]   [c1]   [c2]

    Args:
      x: a pytree of arrays.
      axis_name: a name, or a tuple of several.
      split_axis: the dimension that is given away, a slice to each; of the size of the axis.
      concat_axis: where in the result the dimension is that counts the givers.
      axis_index_groups: groups of one size, within each of which it is done (on devices only).
      tiled: no dimension goes and none comes: `split_axis`, whose size is to be a multiple, gets
        shorter, and along `concat_axis` the parts are joined.

    Raises:
      NameError: no axis of this name is in scope.
      ValueError: a dimension of another size, or no such dimension.
      NotImplementedError: groups under `vmap`.

    >>> exchange = lambda x: jax.lax.all_to_all(x, "i", 0, 0)
    >>> jax.vmap(exchange, axis_name="i")(jnp.array([[1, 2], [3, 4]])).tolist()
    [[1, 3], [2, 4]]
    """
    name = tuple(axis_name) if isinstance(axis_name, list) else axis_name
    groups = _as_groups(axis_index_groups)
    size = group_size(name, groups)

    def exchange(leaf):
        shape = typeof(leaf).shape
        size_along("all_to_all: split_axis", shape, split_axis)
        split, concat = split_axis % len(shape), canonical_axis(concat_axis, len(shape))
        _check_parts("all_to_all", name, leaf, split, size, tiled)
        if tiled or split == concat:
            return _bind_all_to_all(leaf, name, split, concat, groups, tiled)
        # The primitive joins along an existing dimension: add one for `concat`, remove `split`.
        concat, split = (concat + 1, split) if split < concat else (concat, split + 1)
        leaf = expand_dims(leaf, (concat,))
        return squeeze(_bind_all_to_all(leaf, name, split, concat, groups, tiled), (split,))

    return tree_map(exchange, x)


def _bind_all_to_all(x, name, split, concat, groups, tiled):
    return all_to_all_p.bind(varying(x, axis_tuple(name)), split_axis=split, concat_axis=concat,
                             axis_name=name, axis_index_groups=groups, tiled=tiled)


@public
def pswapaxes(x: Any, axis_name: AxisName, axis: int, *, axis_index_groups: Groups = None) -> Any:
    """The named axis and a dimension change places: `all_to_all(x, axis_name, axis, axis)`.

        gives   [a0  a1]   [b0  b1]           gets   [a0  b0]   [a1  b1]

    Args:
      x: a pytree of arrays.
      axis_name: a name, or a tuple of several.
      axis: a dimension, of the size of the axis.
      axis_index_groups: as for `all_to_all`.

    Raises:
      NameError, ValueError, NotImplementedError: as `all_to_all`.

    >>> swap = lambda x: jax.lax.pswapaxes(x, "i", 0)
    >>> jax.vmap(swap, axis_name="i")(jnp.array([[1, 2], [3, 4]])).tolist()
    [[1, 3], [2, 4]]
    """
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)


# ----------------------------------------------------------------------------------------------
# Sending


@public
def ppermute(x: Any, axis_name: AxisName, perm: Sequence[tuple[int, int]]) -> Any:
    """Each sends its value to one other; who gets none has zeros.

        perm = [(0, 1), (1, 2)]

        gives     a    b    c
                   ╲    ╲
                    ╲    ╲
        gets      0    a    b

    Args:
      x: a pytree of arrays.
      axis_name: a name, or a tuple of several. Those are counted together, the axis that came
        into scope first slowest, whatever the order of the tuple.
      perm: pairs of a sender and a receiver, each at most once as either.

    Raises:
      NameError: no axis of this name is in scope.
      ValueError: two receive from one, or one from two. (On devices, when it is compiled.)

    >>> shift = lambda x: jax.lax.ppermute(x, "i", [(0, 1), (1, 2)])
    >>> jax.vmap(shift, axis_name="i")(jnp.array([5, 6, 7])).tolist()
    [0, 5, 6]
    """
    names, pairs = axis_tuple(axis_name), _pairs_of(perm)
    return tree_map(lambda leaf: ppermute_p.bind(varying(leaf, names), axis_name=names,
                                                 perm=pairs), x)


def _pairs_of(perm) -> tuple[tuple[int, int], ...]:
    try:
        pairs = tuple(map(tuple, perm))
    except TypeError:
        pairs = ((),)
    if any(len(pair) != 2 for pair in pairs):
        raise TypeError("ppermute: perm must be a sequence of pairs (sender, receiver), got "
                        f"{perm!r}.")
    return pairs


def senders(perm: Sequence[tuple[int, int]], size: int) -> dict[int, int]:
    """For each receiver its sender.

    Raises:
      ValueError: a device sends or receives more than once, or does not exist.
    """
    froms, tos = zip(*perm) if perm else ((), ())
    if not len(set(froms)) == len(set(tos)) == len(perm):
        raise ValueError(f"ppermute sources and destinations must be unique, got {perm}.")
    if not set(froms) | set(tos) <= set(range(size)):
        raise ValueError(f"ppermute: the axis has the size {size}, got perm={perm}.")
    return dict(zip(tos, froms))


@public
def pshuffle(x: Any, axis_name: AxisName, perm: Sequence[int]) -> Any:
    """Each gets the value of the one that `perm` names: `ppermute`, written the other way round.

        perm = [2, 0, 1]

        gives     a    b    c
        gets      c    a    b

    Args:
      x: a pytree of arrays.
      axis_name: a name, or a tuple of several.
      perm: for each index the one to get from; a permutation.

    Raises:
      NameError: no axis of this name is in scope.
      ValueError: no permutation.

    >>> shuffle = lambda x: jax.lax.pshuffle(x, "i", [2, 0, 1])
    >>> jax.vmap(shuffle, axis_name="i")(jnp.array([5, 6, 7])).tolist()
    [7, 5, 6]
    """
    size = group_size(axis_name, None)
    if sorted(perm) != list(range(size)):
        raise ValueError(f"pshuffle: perm must list each index of the axis, of size {size}, once, "
                         f"got {perm!r}.")
    return ppermute(x, axis_name, [(source, i) for i, source in enumerate(perm)])


@public
def pbroadcast(x: Any, axis_name: AxisName, source: int) -> Any:
    """Each gets the value of one.

        source = 1

        gives     a    b    c
        gets      b    b    b

    Args:
      x: a pytree of arrays.
      axis_name: a name, or a tuple of several.
      source: the index of that one.

    Raises:
      NameError: no axis of this name is in scope.

    >>> first = lambda x: jax.lax.pbroadcast(x, "i", 0)
    >>> jax.vmap(first, axis_name="i")(jnp.array([5, 6, 7])).tolist()
    [5, 5, 5]
    """
    name = tuple(axis_name) if isinstance(axis_name, list) else axis_name
    return tree_map(lambda leaf: pbroadcast_p.bind(varying(leaf, axis_tuple(name)),
                                                   axis_name=name, source=source), x)


# ----------------------------------------------------------------------------------------------
# Indices


@public
def axis_index(axis_name: AxisName):
    """The own place along a named axis.

        gets      0    1    2    3

    Args:
      axis_name: a name; or a tuple of several, the first of which counts slowest.

    Returns:
      an int32.

    Raises:
      NameError: no axis of this name is in scope.

    >>> place = lambda x: x + 10 * jax.lax.axis_index("i")
    >>> jax.vmap(place, axis_name="i")(jnp.array([5, 6, 7])).tolist()
    [5, 16, 27]
    """
    if not isinstance(axis_name, (tuple, list)):
        return axis_index_p.bind(axis_name=axis_name)
    index, stride = constant(0, dtypes.python_scalar_dtype(int)), 1
    for name in reversed(axis_name):
        index += axis_index(name) * stride
        stride *= axis_size(name)
    return index
