"""Run one program in both libraries, and compare what happened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import jax
import numpy as np

from tests.oracle.namespaces import oracle, subject
from tests.oracle.text import is_jaxpr, jaxpr_text

Program = Callable[[ModuleType], Callable[..., Any]]

# Relative to the larger of 1 and the largest expected magnitude: the two libraries sum in
# different orders, and third derivatives carry that on.
TOLERANCE = {
    "float16": 1e-2,
    "bfloat16": 6e-2,
    "float32": 5e-5,
    "complex64": 5e-5,
    "float64": 1e-9,
    "complex128": 1e-9,
}


@dataclass(frozen=True)
class Outcome:
    """What a program did: it returned `value`, or it raised `error`."""

    value: Any = None
    error: Exception | None = None


def run(namespace: ModuleType, program: Program, *args: Any, **kwargs: Any) -> Outcome:
    """The program's outcome in one library; only `Exception`s count as outcomes."""
    try:
        value = program(namespace)(*args, **kwargs)
        jax.tree_util.tree_map(_wait, value)
        return Outcome(value=value)
    except Exception as error:
        return Outcome(error=error)


def both(
    program: Program, *args: Any, tol: float | None = None, text: bool = True, **kwargs: Any
) -> Outcome:
    """Assert that the program does the same in minijax as in JAX, an error included.

    `tol` overrides the dtype's own tolerance; `text=False` skips the text of returned jaxprs.
    Returns what JAX did.
    """
    expected = run(oracle, program, *args, **kwargs)
    actual = run(subject, program, *args, **kwargs)
    assert_same_outcome(actual, expected, tol=tol, text=text)
    return expected


def assert_same_outcome(
    actual: Outcome, expected: Outcome, tol: float | None = None, text: bool = True
) -> None:
    """Same values, or errors of the same class."""
    if expected.error is not None:
        assert actual.error is not None, (
            f"JAX raises {_describe(expected.error)}, minijax returned {actual.value!r}"
        )
        same = type(actual.error).__name__ == type(expected.error).__name__
        if not same:
            raise AssertionError(
                f"JAX raises {_describe(expected.error)}\nminijax {_describe(actual.error)}"
            ) from actual.error
        return
    if actual.error is not None:
        raise actual.error
    assert_same(actual.value, expected.value, tol=tol, text=text)


def assert_same(
    actual: Any, expected: Any, where: str = "", tol: float | None = None, text: bool = True
) -> None:
    """Compare two results leaf by leaf, saying where in the result they first differ."""
    expected_leaves, expected_tree = _flatten(expected)
    actual_leaves, actual_tree = _flatten(actual)
    assert actual_tree == expected_tree, f"structure{where}: {actual_tree} != {expected_tree}"
    for (path, want), (_, got) in zip(expected_leaves, actual_leaves, strict=True):
        _assert_same_leaf(got, want, f"{where}{jax.tree_util.keystr(path)}", tol, text)


def _assert_same_leaf(got: Any, want: Any, where: str, tol: float | None, text: bool) -> None:
    if is_jaxpr(want):
        assert is_jaxpr(got), f"result{where}: {type(got)} is no jaxpr"
        if text:
            assert jaxpr_text(got) == jaxpr_text(want), f"jaxpr{where}"
        return
    assert _kind(got) in (_kind(want), *_passes_for(_kind(want))), (
        f"result{where}: {_kind(got)}, in JAX {_kind(want)}"
    )
    if hasattr(want, "dtype"):
        _assert_same_type(got, want, where)
        _assert_close(np.asarray(got), np.asarray(want), where, tol)
    elif isinstance(want, (float, complex)):
        _assert_close(np.asarray(got), np.asarray(want), where, tol)
    else:
        assert got == want, f"result{where}: {got!r}, in JAX {want!r}"


def _assert_same_type(got: Any, want: Any, where: str) -> None:
    assert got.shape == want.shape, f"shape{where}: {got.shape}, in JAX {want.shape}"
    assert got.dtype == want.dtype, f"dtype{where}: {got.dtype}, in JAX {want.dtype}"
    weak, weak_in_jax = _weak_type(got), _weak_type(want)
    assert weak == weak_in_jax, f"weak type{where}: {weak}, in JAX {weak_in_jax}"


def _assert_close(got: np.ndarray, want: np.ndarray, where: str, tol: float | None) -> None:
    name = want.dtype.name
    if name == "bfloat16":
        got, want = got.astype(np.float32), want.astype(np.float32)
    if name not in TOLERANCE:
        assert np.array_equal(got, want), f"value{where}:\n{got}\nin JAX\n{want}"
        return
    tol = TOLERANCE[name] if tol is None else tol
    finite = np.abs(want[np.isfinite(want)])
    atol = tol * max(1.0, float(finite.max(initial=0.0)))
    same = np.allclose(got, want, rtol=tol, atol=atol, equal_nan=True)
    assert same, f"value{where}:\n{got}\nin JAX\n{want}"


def _kind(value: Any) -> str:
    """A leaf's class, where the two libraries' own classes count as one."""
    if isinstance(value, (oracle.core.Tracer, subject.core.Tracer)):
        return "Tracer"
    if isinstance(value, (oracle.Array, subject.Array)):
        return "Array"
    if isinstance(value, (np.ndarray, np.generic)) or type(value).__name__ == "TypedNdArray":
        return "NumPy array"
    if type(value).__module__.startswith((oracle.__name__, subject.__name__)):
        return type(value).__name__
    return f"{type(value).__module__}.{type(value).__name__}"


def _passes_for(kind: str) -> tuple[str, ...]:
    """Where JAX hands a NumPy argument through untouched, an `Array` of it is as good."""
    return ("Array",) if kind == "NumPy array" else ()


def _weak_type(value: Any) -> bool:
    return bool(getattr(getattr(value, "aval", value), "weak_type", False))


def _flatten(tree: Any) -> tuple[list[tuple[Any, Any]], Any]:
    """Flattened by JAX's own tree library: both libraries return the same Python containers."""
    return jax.tree_util.tree_flatten_with_path(tree)


def _wait(leaf: Any) -> None:
    """An asynchronous failure belongs to the program that caused it."""
    if hasattr(leaf, "block_until_ready"):
        leaf.block_until_ready()


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error)[:300]}"
