"""Chapter 9: the parameter `out_sharding`, by which a caller states a sharding (chapter 14).

Without chapter 14 there are no shardings, and the parameter must be `None`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ..core.core import Primitive, ShapedArray
from ..core.extension import hooks, point

F = TypeVar("F", bound=Callable)

_PARAMETER = inspect.Parameter("out_sharding", inspect.Parameter.KEYWORD_ONLY, default=None)


@point
def bind_with_sharding(self, primitive: Any, args: Sequence, params: dict, sharding: Any) -> Any:
    """The result of a primitive, with this sharding."""
    return primitive.bind(*args, **params)


@point
def call_with_sharding(self, f: Callable, args: Sequence, kwargs: dict, sharding: Any) -> Any:
    """The results of a function, with this sharding."""
    return f(*args, **kwargs)


@point
def filled(self, value: Any, shape: tuple, sharding: Any) -> Any:
    """An array of this shape with a scalar everywhere, with a sharding or on a device."""
    return value


@point
def filled_like(self, value: Any, shape: tuple, aval: Any) -> Any:
    """A scalar, or an array of it of this shape if the type `aval` states how such an array is
    split."""
    return value


@point
def with_sharding(self, x: Any, sharding: Any) -> Any:
    """An array, with this sharding."""
    return x


def cotangent_aval(aval: ShapedArray) -> ShapedArray:
    """The type of the cotangents of values of a type."""
    placement = aval.placement
    return aval if placement is None else aval.update(placement=placement.of_cotangents())


@point
def with_dimensions(self, sharding: Any, order: Sequence[int]) -> Any:
    """A sharding for an array whose dimensions are those of another one in this order."""
    return sharding


def permuted_sharding(out_sharding: Any, order: Sequence[int]) -> Any:
    """The sharding of an array that a transposition, whose permutation is the inverse of `order`,
    turns into one with the sharding `out_sharding`."""
    (permuted,) = hooks.with_dimensions
    return permuted(out_sharding, order)


def bind_sharded(primitive: Primitive, *args, out_sharding: Any, **params) -> Any:
    """Apply a primitive, whose result has the sharding `out_sharding`."""
    (bind,) = hooks.bind_with_sharding
    return bind(primitive, args, params, out_sharding)


def call_sharded(f: Callable, *args, out_sharding: Any, **kwargs) -> Any:
    """Call a function, whose results have the sharding `out_sharding`. The compiler chooses the
    shardings inside it."""
    (call,) = hooks.call_with_sharding
    return call(f, args, kwargs, out_sharding)


def resharded(x: Any, out_sharding: Any) -> Any:
    """An array, with the sharding `out_sharding`."""
    (with_sharding,) = hooks.with_sharding
    return with_sharding(x, out_sharding)


def shardable(f: F) -> F:
    """`f` with a parameter `out_sharding`."""
    @functools.wraps(f)
    def sharded(*args, out_sharding=None, **kwargs):
        if out_sharding is None:
            return f(*args, **kwargs)
        return call_sharded(f, *args, out_sharding=out_sharding, **kwargs)

    signature = inspect.signature(f)
    sharded.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*signature.parameters.values(), _PARAMETER])
    return sharded  # type: ignore[return-value]
