"""Chapter 13: what the functions that draw samples do with their arguments first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import numpy as jnp
from ..core import dtypes
from ..core.core import eval_trace, state, typeof
from ..core.operators import with_own_arrays
from ..errors import TypePromotionError
from ..lax.dtypes import check_and_canonicalize_user_dtype, safe_to_cast
from ..lax.out_shardings import shardable
from ..lax.shaping import broadcast_shapes
from ..lax.sizes import canonical_shape
from ..runtime.jit import jit
from ..settings import enable_x64
from ..text.naming import named
from .key_functions import typed_key

_KEPT: dict[tuple, Any] = {}  # arrays of numbers, for `at_hand`


def float_dtype(name: str, dtype, kind=np.floating) -> np.dtype:
    """The `dtype` argument of the function `name`, by default the usual float.

    Raises:
      ValueError: it is not of this kind.
    """
    dtype = check_and_canonicalize_user_dtype(float if dtype is None else dtype)
    if not dtypes.issubdtype(dtype, kind):
        kinds = "a float" if kind is np.floating else "a float or complex"
        raise ValueError(f"dtype argument to `{name}` must be {kinds} dtype, got {dtype}")
    return dtype


def int_dtype(name: str, dtype, error: type[Exception] = ValueError) -> np.dtype:
    """The `dtype` argument of the function `name`, by default the usual integer.

    Raises:
      error: it is not an integer dtype.
    """
    dtype = check_and_canonicalize_user_dtype(int if dtype is None else dtype)
    if not dtypes.issubdtype(dtype, np.integer):
        raise error(f"dtype argument to `{name}` must be an int dtype, got {dtype}")
    return dtype


def check_shape(name: str, shape: tuple[int, ...], *param_shapes) -> None:
    """Raise `ValueError` unless parameters of these shapes can be repeated to `shape`."""
    if param_shapes:
        common = broadcast_shapes(shape, *param_shapes)
        if common != shape:
            raise ValueError(
                f"{name} parameter shapes must be broadcast-compatible with shape argument, and "
                "the result of broadcasting the shapes must equal the shape argument, but got "
                f"result {common} for shape argument {shape}."
            )


def shape_with(name: str, shape: Sequence[int] | None, *params) -> tuple[int, ...]:
    """The `shape` argument of the function `name`; by default the common one of `params`."""
    param_shapes = [typeof(x).shape for x in params]
    if shape is None:
        return broadcast_shapes(*param_shapes)
    shape = canonical_shape(shape)
    check_shape(name, shape, *param_shapes)
    return shape


def check_safe_to_cast(name: str, dtype, *params) -> None:
    """Raise `TypePromotionError` if a parameter has a dtype that promotes to more than `dtype`."""
    for x in params:
        if not safe_to_cast(x, dtype):
            raise TypePromotionError(
                f"In arguments to {name}, cannot safely cast argument of type "
                f"{dtypes.dtype(x)} to {dtype}"
            )


def at_hand(x):
    """A number as an array that is kept for the next time, with its buffer: compiled functions that
    are called again and again with the same numbers are quicker so."""
    if type(x) not in (int, float) or state.trace is not eval_trace:
        return with_own_arrays([x])[0]
    key = str(x), type(x), enable_x64.value  # by its text, as -0.0 == 0.0
    if (kept := _KEPT.get(key)) is None:
        kept = jnp.asarray(x)
        if kept.aval.placement is None and len(_KEPT) < 256:  # else it belongs to a mesh
            _KEPT[key] = kept
    return kept


def without_parameters(sample: Callable) -> Callable:
    """The public function of a distribution that has no parameters.

    `sample(key, shape, dtype)`, called `_<name>`, gets canonical arguments, and is compiled.
    """
    name = sample.__name__.removeprefix("_")
    compiled = jit(sample, static_argnums=(1, 2))

    @named(name, sample.__module__, doc=sample.__doc__ or "")
    def draw(key, shape: Sequence[int] = (), dtype: Any = None):
        """{doc}

        Args:
          key: one key.
          shape: the result's shape.
          dtype: a float dtype.

        Raises:
          ValueError: another dtype.
        """
        key = typed_key(name, key)
        return compiled(key, canonical_shape(shape), float_dtype(name, dtype))

    return shardable(draw)


def draw(compiled: Callable, name: str, key, params: tuple, shape, dtype):
    """A sample of the distribution `name`, by `compiled(key, *params, shape, dtype)`."""
    key, dtype = typed_key(name, key), float_dtype(name, dtype)
    shape = shape_with(name, shape, *params)
    check_safe_to_cast(name, dtype, *params)
    return compiled(key, *params, shape, dtype)
