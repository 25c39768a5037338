"""Chapter 9: the parameter `out_sharding`, by which a caller states a sharding (chapter 14).

Without chapter 14 there are no shardings, and the parameter must be `None`.
"""

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ..checks.tracebacks import hide_frames
from ..core.core import Primitive, ShapedArray
from ..runtime.placements import placements

F = TypeVar("F", bound=Callable)

_PARAMETER = inspect.Parameter("out_sharding", inspect.Parameter.KEYWORD_ONLY, default=None)


def cotangent_aval(aval: ShapedArray) -> ShapedArray:
    """The type of the cotangents of values of a type."""
    placement = aval.placement
    return aval if placement is None else aval.update(placement=placement.of_cotangents())


def permuted_sharding(out_sharding: Any, order: Sequence[int]) -> Any:
    """The sharding of an array that a transposition, whose permutation is the inverse of `order`,
    turns into one with the sharding `out_sharding`."""
    return placements().permuted(out_sharding, order)


def bind_sharded(primitive: Primitive, *args, out_sharding: Any, **params) -> Any:
    """Apply a primitive, whose result has the sharding `out_sharding`."""
    return placements().bind(primitive, args, params, out_sharding)


def call_sharded(f: Callable, *args, out_sharding: Any, **kwargs) -> Any:
    """Call a function, whose results have the sharding `out_sharding`. The compiler chooses the
    shardings inside it."""
    return placements().call(f, args, kwargs, out_sharding)


def resharded(x: Any, out_sharding: Any) -> Any:
    """An array, with the sharding `out_sharding`."""
    return placements().reshard(x, out_sharding)


def shardable(f: F) -> F:
    """`f` with a parameter `out_sharding`."""
    @functools.wraps(f)
    def sharded(*args, out_sharding=None, **kwargs):
        try:
            if out_sharding is None:
                return f(*args, **kwargs)
            return call_sharded(f, *args, out_sharding=out_sharding, **kwargs)
        except Exception as error:
            hide_frames(error)
            raise

    signature = inspect.signature(f)
    sharded.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*signature.parameters.values(), _PARAMETER])
    return sharded  # type: ignore[return-value]
