"""Comparison with JAX in the first chapters, where there is no `minijax.numpy` yet."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from minijax.core.array import Array, as_array
from minijax.core.primitives import convert
from tests.oracle import jax, jnp

_convert_element_type = jax._src.lax.lax._convert_element_type

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
TOLERANCE = {"bfloat16": 2e-2, "float16": 2e-3, "float32": 1e-5, "complex64": 1e-5,
             "float64": 1e-12, "complex128": 1e-12}


def pair(value, dtype=None, weak_type: bool = False) -> tuple:
    """One array in both libraries."""
    value = np.asarray(value, dtype)
    if not weak_type:
        return as_array(value), jnp.asarray(value)
    return (convert(as_array(value), value.dtype, True),
            _convert_element_type(value, value.dtype, weak_type=True))


def outcome(function, *args) -> Any:
    """What a call returns, or the exception it raises."""
    try:
        return function(*args)
    except Exception as error:
        return error


def same(got, want, where: Any = "", tol: float | None = None) -> None:
    """Assert the same value, shape, dtype and weak type; of exceptions, the same class."""
    if isinstance(want, Exception) or isinstance(got, Exception):
        assert type(got).__name__ == type(want).__name__, f"{where}: {got!r}, in JAX {want!r}"
    elif isinstance(want, (tuple, list)):
        assert type(got) is type(want) and len(got) == len(want), f"{where}: {got}, in JAX {want}"
        for i, (x, y) in enumerate(zip(got, want)):
            same(x, y, f"{where}[{i}]", tol)
    elif hasattr(want, "weak_type") or type(got) is Array:
        assert type(got) is Array, f"{where}: {got!r}, in JAX {want!r}"
        facts = [(x.shape, x.dtype, x.weak_type) for x in (got, want)]
        assert facts[0] == facts[1], f"{where}: {facts[0]}, in JAX {facts[1]}"
        close(got, want, where, tol)
    else:
        assert type(got) is type(want) and got == want, f"{where}: {got!r}, in JAX {want!r}"


def close(got, want, where: Any = "", tol: float | None = None) -> None:
    """Assert equal values: exactly, for integers; else to the dtype's precision, or `tol`."""
    got, want = np.asarray(got), np.asarray(want)
    if want.dtype.name not in TOLERANCE:
        np.testing.assert_array_equal(got, want, err_msg=str(where))
        return
    tol = TOLERANCE[want.dtype.name] if tol is None else tol
    wide = np.complex128 if want.dtype.kind == "c" else np.float64
    np.testing.assert_allclose(got.astype(wide), want.astype(wide), tol, tol, err_msg=str(where))
