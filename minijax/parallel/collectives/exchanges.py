"""Chapter 14: collectives that send parts of values from each instance to others.

The drawings are those of `reductions.py`: a column is an instance (a device), with its operand and
its result.
"""

from collections.abc import Sequence
from typing import Any

from ...core import dtypes
from ...core.boundary import public
from ...core.core import typeof
from ...core.primitives import canonical_axis, constant
from ...core.tree import tree_map
from ...lax.control_flow.axes import axis_size
from ...lax.shaping import expand_dims, squeeze
from ...lax.sizes import size_along
from ..types.varying_axes import axis_tuple, varying
from .primitives import (
    AxisName,
    Groups,
    all_gather_invariant_p,
    all_gather_p,
    all_gather_reduced_p,
    all_to_all_p,
    axis_index_p,
    group_size,
    pbroadcast_p,
    ppermute_p,
    reduce_scatter_p,
    unreduced_reduce_scatter_p,
)
from .reductions import as_groups, check_addition, is_unreduced_along


def _check_parts(collective, axis_name, x, dimension, size, tiled):
    """Each instance gets a part of the dimension: one element, or if `tiled` some."""
    given = typeof(x).shape[dimension]
    if given % size if tiled else given != size:
        raise ValueError(
            f"{collective} over {axis_name}, of size {size}: there must be {size} parts to give, "
            f"but dimension {dimension} of {typeof(x).str_short(True)} has the size {given}.")


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
    names, groups = axis_tuple(axis_name), as_groups(axis_index_groups)
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
    names, groups = axis_tuple(axis_name), as_groups(axis_index_groups)
    if not names:
        return x
    size = group_size(names, groups)

    def scatter(leaf):
        check_addition(leaf)
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
    groups = as_groups(axis_index_groups)
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
