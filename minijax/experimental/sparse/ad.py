"""Derivatives with respect to sparse arrays: with respect to their data.

A gradient is then a sparse array with the indices of the argument. It is the gradient in the space
of the arrays with this pattern, and not the gradient with respect to the dense array.
"""

import functools
from collections.abc import Callable

from ... import numpy as jnp
from ...core import api
from ...core.api_util import ensure_index_tuple
from ...core.tree import tree_map
from ...lax import jacobians
from .transform import is_sparse


def _with_data(x, data):
    """`x` with other data, which has further leading dimensions if it is a Jacobian."""
    if not is_sparse(x):
        return data
    lead = data.shape[:data.ndim - x.data.ndim]
    others = (jnp.broadcast_to(buffer, lead + buffer.shape) for buffer in x.buffers[1:])
    return x.rebuilt((data, *others), shape=lead + x.shape)


def _sparse_aware(transform: Callable) -> Callable:
    """`transform`, which differentiates by arrays, for arguments that contain sparse ones."""
    @functools.wraps(transform)
    def of_function(fun, argnums=0, has_aux=False, **options):
        @functools.wraps(fun)
        def derivative(*args):
            numbers = sorted(ensure_index_tuple(argnums))
            given = [args[i] for i in numbers]
            restored = lambda data: tree_map(_with_data, given, [*data], is_leaf=is_sparse)

            def of_data(*data):
                new = dict(zip(numbers, restored(data)))
                return fun(*(new.get(i, x) for i, x in enumerate(args)))

            data = tree_map(lambda x: x.data if is_sparse(x) else x, given, is_leaf=is_sparse)
            out = transform(of_data, (*range(len(data)),), has_aux=has_aux, **options)(*data)
            parts = [*out] if has_aux or transform is api.value_and_grad else [out]
            place = int(transform is api.value_and_grad)
            grads = restored(parts[place])
            parts[place] = grads[0] if len(grads) == 1 else tuple(grads)
            return tuple(parts) if parts[1:] else parts[0]
        return derivative
    return of_function


grad, value_and_grad, jacfwd, jacrev = map(_sparse_aware, (
    api.grad, api.value_and_grad, jacobians.jacfwd, jacobians.jacrev))
