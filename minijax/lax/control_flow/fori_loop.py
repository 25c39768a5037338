"""Chapter 9: `fori_loop`, a loop over integers, which is a `scan` or a `while_loop`."""

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import settings
from ...core import dtypes
from ...core.boundary import api_boundary
from ...core.core import typeof
from ...core.operators import with_own_arrays
from ...core.primitives import constant
from ...core.tree import tree_leaves
from ...pytree.arguments import argument_avals
from ...pytree.names import leaf_names
from .. import elementwise as lax
from ..compile_time import is_concrete
from .common import BodyOf
from .scan import scan
from .while_loop import while_loop


@api_boundary
def fori_loop(lower, upper, body_fun: Callable, init_val: Any, *,
              unroll: int | bool | None = None) -> Any:
    """A loop over a range of integers.

        val = init_val
        for i in range(lower, upper):
            val = body_fun(i, val)
        return val

    With bounds that are known while tracing it is a `scan`, and can be differentiated in reverse;
    with others it is a `while_loop`, and cannot.

    Args:
      lower, upper: integer scalars of one dtype.
      body_fun: from the number of the round and the loop's value to the next value, of the same
        structure, shapes and dtypes.
      init_val: a pytree of arrays.
      unroll: how many rounds to write out one after the other, or `True` for all. It needs known
        bounds.

    Returns:
      the last value; `init_val` if `upper <= lower`.

    Raises:
      TypeError: the bounds differ in dtype; `body_fun` changes the type of the value.
      ValueError: `unroll` with bounds that are not known.

    >>> import minijax as jax
    >>> jax.lax.fori_loop(0, 5, lambda i, x: x + i, 0)
    Array(10, dtype=int32, weak_type=True)
    """
    if not callable(body_fun):
        raise TypeError(f"lax.fori_loop: body_fun must be callable, got {body_fun!r}.")
    argument_avals(tree_leaves(init_val), "fori_loop", lambda: leaf_names("init_val", init_val))
    dtype = _bound_dtype(lower, upper)
    lower, upper = with_own_arrays((lower, upper))
    if is_concrete(lower) and is_concrete(upper):
        length = max(int(upper) - int(lower), 0)
        if settings.disable_jit.value and length == 0:
            return init_val
        body = _wrapped(body_fun, _scan_body)
        return scan(body, (int(lower), init_val), None, length,
                    unroll=False if unroll is None else unroll)[0][1]
    if unroll is not None and unroll is not False and unroll != 1:
        raise ValueError("Can only use `unroll` in `fori_loop` if the loop bounds are static, that "
                         "is, known while tracing.")
    lower, upper = (x if typeof(x).dtype == dtype else lax.convert_element_type(x, dtype)
                    for x in (lower, upper))
    init = lower, upper, init_val
    return while_loop(_is_before_end, _wrapped(body_fun, _while_body), init)[2]


def _bound_dtype(lower, upper) -> np.dtype:
    """The dtype of the counter, which both bounds have unless one is a Python integer."""
    if lower is None or upper is None:
        raise ValueError(f"fori_loop: the bounds must be integers, got {lower} and {upper}.")
    low, high = typeof(lower), typeof(upper)
    if low.dtype == high.dtype:
        return low.dtype
    signed = all(dtypes.issubdtype(aval.dtype, np.signedinteger) for aval in (low, high))
    if signed and low.weak_type != high.weak_type:
        return high.dtype if low.weak_type else low.dtype
    raise TypeError("lower and upper arguments to fori_loop must have equal types, got "
                    f"{low.dtype.name} and {high.dtype.name}.")


def _is_before_end(carry):
    i, upper, _ = carry
    return lax.lt(i, upper)


def _while_body(body_fun, carry):
    i, upper, value = carry
    return lax.add(i, constant(1, typeof(i).dtype)), upper, body_fun(i, value)


def _scan_body(body_fun, carry, _):
    i, value = carry
    return (i + 1, body_fun(i, value)), None


_bodies: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def _wrapped(body_fun, body) -> Callable:
    """The loop's `body` that calls `body_fun`: one function for one `body_fun`, as it is staged
    once for one function. It does not keep `body_fun` alive, whose entry it is."""
    try:
        known = _bodies.setdefault(body_fun, {})
    except TypeError:  # a callable without hash, or that cannot be referred to weakly
        known = {}
    if body not in known:
        known[body] = BodyOf("fori_loop", body_fun, body, _argument)
    return known[body]


def _argument(path):
    """The carry's first part is the number of the round, its last part the value."""
    _, part, *rest = path
    return min(part.idx, 1), rest
