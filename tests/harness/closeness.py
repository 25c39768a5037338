"""Results compared with the tolerances of their dtypes: a part of `jax._src.public_test_util`."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from minijax.core import dtypes
from minijax.core.tree import tree_map

_TOLERANCE = {"float4_e2m1fn": 1.0, "float8_e8m0fnu": 1.0, "bfloat16": 1e-2, "float16": 1e-3,
              "float32": 1e-6, "float64": 1e-15, "complex64": 1e-6, "complex128": 1e-15}


def tolerance(dtype: Any, tol: Any = None) -> float:
    """How much values of this dtype may differ: `tol`, or its entry for the dtype."""
    if tol is not None and not isinstance(tol, dict):
        return tol
    dtype = _kept(np.dtype(dtype))
    given = {np.dtype(key): value for key, value in (tol or {}).items()}
    name = dtype.name
    return given[dtype] if dtype in given else _TOLERANCE.get(name, name.startswith("float8") / 10)


def _kept(dtype: np.dtype) -> np.dtype:
    """A dtype as an array would have it."""
    return dtype if dtype == dtypes.float0 else dtypes.canonicalize_dtype(dtype)


def check_close(xs: Any, ys: Any, atol: Any = None, rtol: Any = None, err_msg: str = "") -> None:
    """Check that the leaves of two trees are close, the more so the smaller they are."""
    def check(a, b):
        a, b = np.asarray(a), np.asarray(b)
        assert a.shape == b.shape, (a.shape, b.shape)
        atol_, rtol_ = (max(tolerance(a.dtype, tol), tolerance(b.dtype, tol)) * a.size
                        for tol in (atol, rtol))
        assert_allclose(a, b, atol_, rtol_, err_msg)

    tree_map(check, xs, ys)


def check_eq(xs: Any, ys: Any, err_msg: str = "") -> None:
    """Check that the leaves of two trees are equal, but for a millionth of a percent."""
    tree_map(functools.partial(assert_allclose, err_msg=err_msg), xs, ys)


def assert_allclose(a: Any, b: Any, atol: Any = None, rtol: Any = None, err_msg: str = "") -> None:
    """Check that two arrays are close."""
    if a.dtype == b.dtype == dtypes.float0:
        np.testing.assert_array_equal(a, b, err_msg=err_msg)
        return
    a, b = (x.astype(np.float32) if x.dtype.kind == "V" else x for x in map(np.asarray, (a, b)))
    given = {name: tol for name, tol in {"atol": atol, "rtol": rtol}.items() if tol}
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(a, b, **given, err_msg=err_msg)
