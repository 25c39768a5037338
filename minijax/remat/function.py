"""Chapter 10: the function `checkpoint`, which is also called `remat`."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..checks import remat as checks
from ..core.api_util import with_statics
from ..core.boundary import api_boundary
from ..core.traced import by_place
from ..core.tree import tree_flatten
from ..core.util import split_list
from ..lax.control_flow.common import stage
from ..pytree.arguments import argument_avals
from ..pytree.functions import broadcast_prefix
from ..pytree.names import arg_names
from ..source import wraps
from ..text.naming import renamed
from .primitive import remat_p


@api_boundary
def checkpoint(fun: Callable, *, prevent_cse: bool | Sequence[bool] = True,
               policy: Callable[..., bool] | None = None,
               static_argnums: int | tuple[int, ...] = ()) -> Callable:
    """`fun` as a function that is differentiated with less memory.

    The backward pass computes its intermediate values again, instead of keeping them.

    Args:
      fun: a function of pytrees of arrays that returns one.
      prevent_cse: whether to keep XLA from merging the recomputation with the first computation,
        which would undo it (a bool, or a prefix of the arguments). Inside `scan` it can be False.
      policy: one of `checkpoint_policies`, or a function `(primitive, *in_avals, **params) -> bool`
        that returns whether the results of this equation may be kept.
      static_argnums: positions of arguments that are passed on untraced.

    Returns:
      a function like `fun`.

    Raises:
      TypeError: `prevent_cse`, `policy` or `static_argnums` of another type.
      ValueError (when it is called): `static_argnums` out of bounds.

    >>> f = checkpoint(lambda x: jnp.sin(jnp.sin(x)))
    >>> jax.grad(f)(2.0)
    Array(-0.2556391, dtype=float32, weak_type=True)
    """
    checks.prevent_cse(prevent_cse)
    checks.policy(policy)
    if isinstance(static_argnums, int):
        static_argnums = (static_argnums,)
    remember = functools.lru_cache(_of_dynamic_arguments)

    @wraps(fun)
    def fun_remat(*args, **kwargs):
        statics = _static_arguments(static_argnums, args)
        names = tuple(sorted(kwargs))
        of_dynamic = (remember if _has_hash(statics) else _of_dynamic_arguments)(
            fun, statics, names)
        dynamic = [x for i, x in enumerate(args) if i not in by_place(statics)]
        return _call(of_dynamic, [*dynamic, *(kwargs[name] for name in names)], prevent_cse, policy)

    return api_boundary(fun_remat)


remat = renamed(checkpoint, "remat")


def _has_hash(x) -> bool:
    """Whether `x` can be a key of a cache. Of a tuple, its elements decide."""
    try:
        hash(x)
    except TypeError:
        return False
    return True


def _static_arguments(static_argnums, args) -> tuple[tuple[int, Any, type], ...]:
    """(position, value, type) of each static argument: 1 and True are equal."""
    checks.static_argnums(static_argnums, len(args))
    positions = sorted({i % len(args) for i in static_argnums})
    return tuple((i, args[i], type(args[i])) for i in positions)


def _of_dynamic_arguments(fun, statics, names):
    """`fun` as a function of positional arguments only: the dynamic ones, then those named."""
    if not statics and not names:
        return fun

    def of_dynamic(*args):
        positional, named = split_list(args, [len(args) - len(names)])
        return with_statics(functools.partial(fun, **dict(zip(names, named))), by_place(statics))(
            *positional)

    return wraps(fun)(of_dynamic)


def _call(fun, args, prevent_cse, policy):
    """Trace `fun`, and bind the primitive."""
    leaves, in_tree = tree_flatten(tuple(args))
    avals = argument_avals(leaves, "checkpoint", lambda: arg_names(fun, args, {}))
    try:
        jaxpr, consts, out_tree = stage(fun, in_tree, avals, "checkpoint / remat")
    except Exception as error:
        checks.traced_argument(error)
        raise
    if not isinstance(prevent_cse, bool):
        flags = broadcast_prefix(tuple(prevent_cse), tuple(args))
        prevent_cse = (False,) * len(consts) + tuple(flags)
    outs = remat_p.bind(*consts, *leaves, jaxpr=jaxpr, prevent_cse=prevent_cse,
                        differentiated=False, policy=policy)
    return out_tree.unflatten(outs)
