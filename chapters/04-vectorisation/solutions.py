"""Solutions of chapter 4."""

from __future__ import annotations

import numpy as np

from minijax import lax
from minijax.core.batching import BatchTracer, bdim_at_front, moveaxis as front, primitive_batchers
from minijax.core.core import typeof


def moved_axis(axis, batch_dim):
    """One further, unless it lies before."""
    return axis + (axis >= batch_dim)


def outer_rule(args, dims):
    """Put the batch in front, and give each vector a dimension of size one beside it."""
    size = next(typeof(x).shape[d] for x, d in zip(args, dims) if d is not None)
    x, y = (bdim_at_front(x, d, size) for x, d in zip(args, dims))
    return lax.mul(lax.expand_dims(x, (2,)), lax.expand_dims(y, (1,))), 0


def loop_map(f, in_axes, *args):
    """Take the examples out one by one."""
    size = next(x.shape[d] for x, d in zip(args, in_axes) if d is not None)
    rows = [[x if d is None else np.take(x, i, d) for x, d in zip(args, in_axes)]
            for i in range(size)]
    return np.stack([np.asarray(f(*row)) for row in rows])


def moveaxis(x, source, destination):
    """Those that are moved go to their places, from left to right; the others stay in order."""
    pair = lambda n: (n,) if isinstance(n, int) else tuple(n)
    source, destination = pair(source), pair(destination)
    if source == destination:
        return x
    order = [d for d in range(typeof(x).ndim) if d not in source]
    for to, from_ in sorted(zip(destination, source)):
        order.insert(to, from_)
    return lax.transpose(x, order)


def process_primitive(self, primitive, args, params):
    """Open, apply the rule one level down, or a loop, box."""
    values, dims = zip(*map(self.to_batch_info, args)) if args else ((), ())
    if all(d is None for d in dims):
        return self.in_parent(self.parent.process_primitive, primitive, values, params)
    if primitive in primitive_batchers:
        out, out_dim = self.in_parent(primitive_batchers[primitive], values, dims, **params)
    else:
        out, out_dim = self.in_parent(
            one_by_one, self.axis_data.size, primitive, values, dims, params)
    if primitive.multiple_results:
        return [x if d is None else BatchTracer(self, x, d) for x, d in zip(out, out_dim)]
    return out if out_dim is None else BatchTracer(self, out, out_dim)


def one_by_one(size, primitive, values, dims, params):
    """The results of a loop over the examples, and their batch dimensions."""
    fronts = [x if d is None else front(x, d, 0) for x, d in zip(values, dims)]
    outs = [primitive.bind(*(x if d is None else x[i] for x, d in zip(fronts, dims)), **params)
            for i in range(size)]
    stack = lambda rows: lax.concatenate([lax.expand_dims(row, (0,)) for row in rows], 0)
    if not primitive.multiple_results:
        return stack(outs), 0
    return [stack(rows) for rows in zip(*outs)], [0] * len(outs[0])


def pairwise(f):
    """All of the second argument for each of the first."""
    from tiny import vmap

    return vmap(vmap(f, (None, 0)), (0, None))
