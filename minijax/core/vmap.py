"""Chapter 4: `vmap`, the public transformation."""

from __future__ import annotations

import collections
import operator
from collections.abc import Callable, Hashable
from typing import Any

from ..checks.tree import keystr, leaves_with_path
from ..errors import api_boundary
from .api_util import arg_names, check_callable, fun_name
from .batching import AxisData, batch_fun, matchaxis
from .core import typeof, valid_jaxtype
from .tree import flatten_axes, flatten_fun, tree_flatten, tree_leaves


def vmap(fun: Callable, in_axes: Any = 0, out_axes: Any = 0, axis_name: Hashable | None = None,
         axis_size: int | None = None, spmd_axis_name: Hashable | None = None) -> Callable:
    """Turn a function of one example into a function of many, without a loop.

    Args:
      fun: takes and returns pytrees of arrays.
      in_axes: which dimension of each argument counts the examples; `None`: the argument is the
        same for all. An int for all positional arguments, or a tuple with an entry for each, which
        may be a pytree (a prefix of the argument). Negative axes count from the end. Arguments
        passed by keyword are always mapped over their first dimension.
      out_axes: where that dimension is to be in the results, in the same manner. `None` is only
        for results that are the same for all examples; with an int, those are repeated.
      axis_name: a name for the axis, for operations across examples (and `lax.axis_size`).
      axis_size: how many examples there are; needed only if no argument tells.
      spmd_axis_name: the axis of a mesh over which sharding constraints split the batch dimension
        (chapter 14).

    Returns:
      a function of the same arguments, each with one more dimension.

    Raises:
      TypeError: an axis that is no int and not `None`; an argument or a result that is no array.
      ValueError: axes that do not fit the arguments; sizes that disagree, with the arguments'
        names; nothing to map over; `None` in `out_axes` for a result that differs by example.

    >>> import minijax as jax
    >>> dot = lambda x, y: jax.numpy.dot(x, y)
    >>> matvec = jax.vmap(dot, in_axes=(0, None))
    >>> matvec(jax.numpy.eye(2), jax.numpy.array([3.0, 4.0])).tolist()
    [3.0, 4.0]
    """
    check_callable(fun)
    in_axes = tuple(in_axes) if isinstance(in_axes, list) else in_axes
    _check_axes_specs(in_axes, out_axes)

    @api_boundary
    def vmap_f(*args, **kwargs):
        _check_number_of_arguments(in_axes, args)
        leaves, in_tree = tree_flatten((args, kwargs))
        axes = flatten_axes("vmap in_axes", in_tree, (in_axes, 0), kws=True)
        size = _mapped_axis_size(fun, args, kwargs, leaves, axes, axis_size)
        in_dims = [None if d is None else d % typeof(x).ndim for x, d in zip(leaves, axes)]
        axis_data = AxisData(axis_name, size, spmd_axis_name)
        flat_fun, out_tree = flatten_fun(fun, in_tree)
        outs, out_dims = batch_fun(flat_fun, axis_data, in_dims, leaves)
        destinations = flatten_axes("vmap out_axes", out_tree(), out_axes)
        _check_outputs(outs, out_dims, destinations, out_tree())
        triples = zip(out_dims, destinations, outs)
        return out_tree().unflatten([matchaxis(axis_data, *triple) for triple in triples])

    return _named_after(fun, vmap_f)


def _named_after(fun, vmap_f):
    """The name, the attributes and, introduced by a sentence, the documentation of `fun`."""
    name = fun_name(fun)
    vmap_f.__dict__.update(getattr(fun, "__dict__", {}))
    vmap_f.__wrapped__ = fun
    vmap_f.__name__ = name
    vmap_f.__qualname__ = getattr(fun, "__qualname__", name)
    vmap_f.__module__ = getattr(fun, "__module__", None) or "<unknown module>"
    vmap_f.__annotations__ = getattr(fun, "__annotations__", {})
    doc = getattr(fun, "__doc__", None)
    vmap_f.__doc__ = f"{name}, vectorized: arguments and results have one more dimension." + (
        f"\n\nOf {name}:\n\n{doc}" if doc else "")
    return vmap_f


# ----------------------------------------------------------------------------------------------
# Checks of what the user gave


def _check_axes_specs(in_axes, out_axes):
    if not (in_axes is None or type(in_axes) in (int, tuple)):
        raise TypeError(
            "vmap in_axes must be an int, None, or a tuple of entries corresponding to the "
            f"positional arguments passed to the function, but got {in_axes!r}."
        )
    for name, axes in (("in_axes", in_axes), ("out_axes", out_axes)):
        if any(type(axis) is not int for axis in tree_leaves(axes)):
            raise TypeError(
                f"vmap {name} must be an int, None, or a (nested) container with those types as "
                f"leaves, but got {axes!r}."
            )


def _check_number_of_arguments(in_axes, args):
    if isinstance(in_axes, tuple) and len(in_axes) != len(args):
        raise ValueError(
            "vmap in_axes must be an int, None, or a tuple of entries corresponding to the "
            f"positional arguments passed to the function, but got {len(in_axes)=}, {len(args)=}"
        )


def _mapped_axis_size(fun, args, kwargs, leaves, axes, axis_size):
    """How many examples there are: what all mapped arguments, and `axis_size`, agree on."""
    name_of = lambda i: arg_names(fun, args, kwargs)[i]
    sizes = [None if d is None else _size_along(x, d, i, name_of)
             for i, (x, d) in enumerate(zip(leaves, axes))]
    found = {size for size in sizes if size is not None}
    if axis_size is not None:
        axis_size = operator.index(axis_size)
        found.add(axis_size)
    if len(found) == 1:
        return found.pop()
    if found:
        raise _inconsistent_sizes(sizes, axes, leaves, axis_size, name_of)
    if leaves:
        raise ValueError("vmap must have at least one non-None value in in_axes, or axis_size "
                         "must be specified.")
    raise ValueError("vmap wrapped function must be passed at least one argument containing an "
                     "array, or axis_size must be specified; got empty "
                     f"*args={args} and **kwargs={kwargs}.")


def _size_along(x, axis, i, name_of):
    """The size of the leaf `x`, the `i`th, along its mapped axis."""
    try:
        shape = typeof(x).shape
    except TypeError as error:
        raise TypeError(f"vmap cannot map over its argument {name_of(i)}: {error}") from None
    if -len(shape) <= axis < len(shape):
        return shape[axis]
    raise ValueError(
        f"vmap was requested to map its argument {name_of(i)} along axis {axis}, which implies "
        f"that its rank should be at least {axis + 1 if axis >= 0 else -axis}, but is only "
        f"{len(shape)} (its shape is {shape})."
    )


def _inconsistent_sizes(sizes, axes, leaves, axis_size, name_of):
    """An error with an example of each size, the most frequent first."""
    lines = ["vmap got inconsistent sizes for array axes to be mapped:"]
    if axis_size is not None:
        lines.append(f"  * the `axis_size` argument was {axis_size};")
    counts = collections.Counter(size for size in sizes if size is not None).most_common()
    for rank, (size, count) in enumerate(counts):
        i = sizes.index(size)
        which = f"{'some' if rank else 'most'} axes ({count} of them)" if count > 1 else "one axis"
        example = f"axis {axes[i]} of argument {name_of(i)} of type " \
                  f"{typeof(leaves[i]).str_short(short_dtypes=False)}"
        lines.append(f"  * {which} had size {size}{', e.g.' if count > 1 else ':'} {example};")
    return ValueError("\n".join(lines)[:-1])


def _check_outputs(outs, dims, destinations, out_tree):
    for i, (x, dim, destination) in enumerate(zip(outs, dims, destinations)):
        if not valid_jaxtype(x):
            raise TypeError(f"Output from batched function {x!r} with type {type(x)} is not a "
                            f"valid JAX type (at result{_path(out_tree, i)}).")
        if destination is None and dim is not None:
            raise ValueError(
                f"at vmap out_axes{_path(out_tree, i)}, got axis spec None but output was batched "
                f"on axis {dim}: it differs by example, so give it an int."
            )


def _path(tree, i):
    """Where in the tree its `i`th leaf is."""
    return keystr([*leaves_with_path(tree.unflatten(range(tree.num_leaves)))][i][0])
