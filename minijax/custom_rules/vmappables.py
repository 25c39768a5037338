"""Containers with a batch dimension of their own: `register_vmappable`, as JAX has it.

`vmap` takes a container of a registered class apart by the library's function `to_elt`, which makes
one example's container of it, and puts results together by `from_elt`. A class has its own
specifications, which stand in `in_axes` and `out_axes` in place of an int.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..checks import api as checks
from ..core.api_util import flatten_axes
from ..core.batching import BatchTracer, batch_subtrace, containers, matchaxis, spec_types
from ..core.core import Tracer, current_trace, typeof
from ..core.tree import tree_flatten
from ..lax.shaping import iota
from ..runtime.placements import placements
from ..source import transformed


class Vmappable(NamedTuple):
    """What a library says of a class of containers."""

    axis_size_type: type
    to_elt: Callable
    from_elt: Callable

    def vmap(self, fun, args, kwargs, in_axes, out_axes, axis_data) -> Any:
        """What `vmap` does where containers of this class, or of others, may be arguments or
        results."""
        leaves, in_tree = tree_flatten((args, kwargs), is_vmappable)
        specs = flatten_axes("vmap in_axes", in_tree, (in_axes, 0), kws=True)
        size = _number_of_examples(fun, leaves, in_tree, specs, axis_data.size)
        return _batch(fun, leaves, in_tree, specs, out_axes, axis_data._replace(size=size))


make_iota_handlers: dict[type, Callable] = {}


def register_vmappable(data_type: type, spec_type: type, axis_size_type: type, to_elt: Callable,
                       from_elt: Callable, make_iota: Callable | None) -> None:
    """Let `vmap` map over containers of a class.

    Args:
      data_type: the class.
      spec_type: the class of its specifications; `int`, or one of its own.
      axis_size_type: the class of the number of examples.
      to_elt: `(cont, get_idx, x, spec) -> element`. `cont(part, spec)` makes one example of a part
        of the container, and `get_idx()` is the number of the example.
      from_elt: `(cont, axis_size, element, spec) -> x`, with `cont(axis_size, part, spec)`.
      make_iota: the numbers of the examples, for an axis size of class `axis_size_type`.
    """
    containers[data_type] = Vmappable(axis_size_type, to_elt, from_elt)
    spec_types.add(spec_type)
    if make_iota is not None:
        make_iota_handlers[axis_size_type] = make_iota


def unregister_vmappable(data_type: type) -> None:
    """Does nothing, as in JAX: a class stays registered."""


def vmappable_of(x: Any) -> Vmappable | None:
    """What is registered for the class of `x`. A tracer counts as what it stands for: the class of
    its type may be registered."""
    return containers.get(type(x.aval) if isinstance(x, Tracer) else type(x))


def is_vmappable(x: Any) -> bool:
    """Whether `x` is a container of a registered class."""
    return vmappable_of(x) is not None


def _number_of_examples(fun, leaves, in_tree, specs, axis_size):
    """What the arguments, and `axis_size`, agree on."""
    sizes = [_size_of(x, spec) for x, spec in zip(leaves, specs) if is_vmappable(x)]
    if axis_size is None:
        axis_size = next((size for size in sizes if size is not None), None)
    for x, spec in zip(leaves, specs):
        if not is_vmappable(x):
            checks.vmapped_axis(x, spec)
    arrays = [(0, None) if is_vmappable(x) else (x, spec) for x, spec in zip(leaves, specs)]
    values, axes = zip(*arrays) if arrays else ((), ())
    if type(axis_size) not in make_iota_handlers:
        checks.vmap_sizes(fun, *in_tree.unflatten(values), values, axes, axis_size)
    for x, size in zip(filter(is_vmappable, leaves), sizes):
        checks.vmappable_size(x, size, axis_size)
    if axis_size is not None:
        return axis_size
    return next(typeof(x).shape[d] for x, d in arrays if d is not None)


def _size_of(x, spec):
    """The number of examples in a container, if its shape says so."""
    try:
        return np.shape(x)[spec] if isinstance(spec, int) else None
    except Exception:  # a container need not have a shape, and NumPy tries all of its methods
        return None


def _batch(fun, leaves, in_tree, specs, out_axes, axis_data):
    """Call `fun` on all examples."""
    def run(*boxed):
        trace = current_trace()
        get_idx = functools.cache(lambda: BatchTracer(trace, _make_iota(axis_data.size), 0))
        args, kwargs = in_tree.unflatten(trace.in_parent(lambda: [
            _to_elt(trace, get_idx, x, spec) if is_vmappable(x) else x
            for x, spec in zip(boxed, specs)]))
        outs, out_tree = tree_flatten(fun(*args, **kwargs), is_vmappable)
        destinations = flatten_axes("vmap out_axes", out_tree, out_axes)
        infos = [(0, None) if is_vmappable(x) else trace.to_batch_info(x) for x in outs]
        arrays = [None if is_vmappable(x) else spec for x, spec in zip(outs, destinations)]
        checks.vmap_results(*zip(*infos), arrays, out_tree) if infos else None
        return [out_tree, *(_from_elt(trace, axis_data, x, spec)
                            for x, spec in zip(outs, destinations))]

    dims = [*map(_batch_dim, leaves, specs)]
    axis_data = placements().of_batch(axis_data, dims, leaves)
    # The results are of all examples already, and so pass through.
    (out_tree, *results), _ = batch_subtrace(transformed("vmap", run), axis_data, dims, leaves)
    return out_tree.unflatten(results)


def _to_elt(trace, get_idx, x, spec):
    """One example of an argument, or of a part of one."""
    if is_vmappable(x):
        part = functools.partial(_to_elt, trace, get_idx)
        return vmappable_of(x).to_elt(part, get_idx, x, spec)  # type: ignore[union-attr]
    axis = _batch_dim(x, spec)
    return x if axis is None else BatchTracer(trace, x, axis)


def _batch_dim(x, spec):
    """The batch dimension of an array, counted from the front. A container has none."""
    if not is_vmappable(x):
        checks.vmapped_axis(x, spec)
    axis = None if is_vmappable(x) else spec
    return None if axis is None else axis % typeof(x).ndim


def _from_elt(trace, axis_data, x, spec):
    """All examples of a result, or of a part of one."""
    if is_vmappable(x):
        def part(axis_size, element, spec):
            return _from_elt(trace, axis_data._replace(size=axis_size), element, spec)

        return vmappable_of(x).from_elt(  # type: ignore[union-attr]
            part, axis_data.size, x, spec)
    value, dim = trace.to_batch_info(x)
    return trace.in_parent(matchaxis, axis_data, dim, spec, value)


def _make_iota(size):
    """The numbers of the examples."""
    return make_iota_handlers.get(type(size), functools.partial(iota, "int32"))(size)
