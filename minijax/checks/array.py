"""What arrays refuse: to give away contents that they no longer have, or that are not numbers."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from ..errors import UnexpectedTracerError
from . import core
from .core import EMPTY_CONDITION, escaped, index as index
from .tracebacks import hide_frames


def immutable(x: Any) -> NoReturn:
    """Raise TypeError: an array is never changed."""
    raise TypeError(
        "JAX arrays are immutable and do not support in-place item assignment. Instead of "
        "x[idx] = y, use x = x.at[idx].set(y) or another .at[] method: "
        "https://docs.jax.dev/en/latest/_autosummary/jax.numpy.ndarray.at.html")


def alive(x: Any) -> None:
    """The contents of an array have not been donated or deleted."""
    try:
        if x.is_deleted():
            kind = x.aval.str_short(short_dtypes=False)
            raise RuntimeError(
                f"Array has been deleted with shape={kind}. It was donated to a jitted function "
                "(`donate_argnums`), or `delete()` was called on it.")
    except RuntimeError as error:
        hide_frames(error)
        raise


def numeric(x: Any, purpose: str) -> None:
    """The elements of an array are numbers, and not random keys."""
    if not isinstance(x.aval.dtype, np.dtype):
        name = str(x.aval.dtype)
        kind = "PRNGKey dtype" if name.startswith("key<") else f"dtype {name}"
        raise TypeError(
            f"JAX array with {kind} cannot be {purpose}. Use "
            "jax.random.key_data(arr) if you wish to extract the underlying integer array.")


def scalar(x: Any) -> None:
    """An array that becomes a Python number has no dimensions, and is a number."""
    core.scalar(x)
    numeric(x, "converted to a number")


def truth_value(x: Any) -> None:
    """An array that is used as a condition has one element."""
    numeric(x, "converted to a boolean")
    if x.aval.size != 1:
        raise ValueError(
            "The truth value of an array with more than one element is ambiguous. "
            "Use a.any() or a.all()" if x.aval.size else EMPTY_CONDITION)


HIDDEN_TRACER = (
    "Triggering __jax_array__() during abstractification is no longer supported. To avoid this "
    "error, either explicitly convert your object using jax.numpy.array(), or register your "
    "object as a pytree. A primitive got an object of type {}, whose array is traced.")


def concrete(x: Any) -> None:
    """A value that is evaluated is not a tracer."""
    if hasattr(x, "_trace"):
        if not hasattr(type(x), "_trace"):  # an object that shows the attributes of its array
            raise ValueError(HIDDEN_TRACER.format(type(x).__name__))
        escaped(x)
        raise UnexpectedTracerError(f"a traced value reached evaluation: {x}")
