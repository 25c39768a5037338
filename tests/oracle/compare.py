"""Run one program in both libraries, and compare what happened."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.oracle.namespaces import MODE, oracle, subject
from tests.oracle.refusals import declared_refusal
from tests.oracle.stored import (
    Answer,
    Leaf,
    Sample,
    answer_of,
    expected,
    in_hypothesis,
    is_stored,
    session,
    value_of,
    wide,
)

Program = Callable[[Any], Callable[..., Any]]
Raises = type[Exception] | str | tuple | None

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


def run(library: Any, program: Program, *args: Any, **kwargs: Any) -> Any:
    """What the program returns in one library, or the `Exception` that it raises."""
    try:
        value = program(library)(*args, **kwargs)
        _wait(library, value)
        return value
    except Exception as error:
        return error


def both(
    program: Program, *args: Any, raises: Raises = None, tol: float | None = None,
    text: bool = True, **kwargs: Any,
) -> Answer:  # fmt: skip
    """Assert that the program does the same in minijax as in JAX. Returns what JAX did.

    A program that JAX refuses must be declared: `raises` is the error's class, or its name, or a
    tuple of several. (The refused cases of a large table are listed in `refusals.txt`.) `tol`
    overrides the dtype's own tolerance; `text=False` skips the text of returned jaxprs.
    """
    want = expected(lambda: answer_of(oracle, run(oracle, program, *args, **kwargs)))
    if MODE != "refresh":
        got = run(subject, program, *args, **kwargs)
        _assert_declared(want, raises)
        _assert_answer(got, want, tol, text)
    return want


def in_both(test: Callable[..., Any]) -> Callable[..., None]:
    """Decorator of a test that is one program: it gets a library, and the results are compared.

    The test's other parameters are pytest's. `both` takes operands, and declares refusals.
    """
    @functools.wraps(test)
    def compared(**parameters: Any) -> None:
        both(lambda library: lambda: test(library, **parameters))

    signature = inspect.signature(test)
    compared.__signature__ = signature.replace(parameters=[*signature.parameters.values()][1:])
    return compared


def ask(compute: Callable[..., Any], *args: Any) -> Any:
    """What JAX's `compute` returns, or the exception it raises, for a test to compare by itself.

    A stored answer is given as containers and plain values like JAX's; an array as a `StoredArray`,
    and an exception as one of a class with the same name.
    """
    return value_of(expected(lambda: answer_of(oracle, run(oracle, lambda _: compute, *args))))


def assert_same(
    actual: Any, wanted: Any, tol: float | None = None, text: bool = True
) -> None:
    """Compare two values that are both at hand, leaf by leaf."""
    assert_same_answer(answer_of(subject, actual), answer_of(oracle, wanted), tol, text)


def _assert_declared(want: Answer, raises: Raises) -> None:
    """An error counts only where the test, or the reviewed list, says that it is expected."""
    names = [r if isinstance(r, str) else r.__name__
             for r in (raises if isinstance(raises, tuple) else (raises,)) if r is not None]
    listed = declared_refusal(session.case.module, session.case.name, session.case.asked - 1)
    if listed is not None:
        names.append(listed)
    if not names and (in_hypothesis() or not is_stored(session.case.module)):
        return  # made-up programs may be refused; so may those whose refusals are not listed yet
    if want.error is None:
        assert not names, f"JAX was to raise {' or '.join(names)}, but returned a value"
    else:
        assert want.error in names, (
            f"JAX raises {want.error}, which the test does not declare by raises=: {want.message}"
        )


def _assert_answer(got: Any, want: Answer, tol: float | None, text: bool) -> None:
    if isinstance(got, Exception) and want.error is None:
        raise got
    answer = answer_of(subject, got)
    if isinstance(got, Exception) and answer.error != want.error:
        raise AssertionError(f"JAX raises {want.error}: {want.message}\nminijax "
                             f"{answer.error}: {answer.message[:300]}") from got
    assert_same_answer(answer, want, tol, text)


def assert_same_answer(
    got: Answer, want: Answer, tol: float | None = None, text: bool = True
) -> None:
    """The same error; or the same tree, with leaves that agree."""
    assert got.error == want.error, f"{got.error or got}, in JAX {want.error or want}"
    assert got.structure == want.structure, f"structure: {got.structure}, in JAX {want.structure}"
    for (path, mine), (_, theirs) in zip(got.leaves, want.leaves, strict=True):
        _assert_same_leaf(mine, theirs, path, tol, text)


def _assert_same_leaf(got: Leaf, want: Leaf, where: str, tol: float | None, text: bool) -> None:
    if want.kind == "jaxpr":
        assert got.kind == "jaxpr", f"result{where}: {got.kind} is no jaxpr"
        assert not text or got.text == want.text, f"jaxpr{where}:\n{got.text}\nin JAX\n{want.text}"
        return
    # Where JAX hands a NumPy argument through untouched, an `Array` of it is as good.
    kinds = ("NumPy array", "Array") if want.kind == "NumPy array" else (want.kind,)
    assert got.kind in kinds, f"result{where}: {got.kind}, in JAX {want.kind}"
    facts, facts_in_jax = ((x.shape, x.dtype, x.weak) for x in (got, want))
    assert facts == facts_in_jax, f"type{where}: {facts}, in JAX {facts_in_jax}"
    if want.is_array:
        _assert_close(got.array, want.array, where, tol)
    elif got.text != want.text:
        assert got.value == want.value and want.value is not None, (
            f"result{where}: {got.text}, in JAX {want.text}"
        )


def _assert_close(got: np.ndarray, want: Any, where: str, tol: float | None) -> None:
    elements = want.elements if isinstance(want, Sample) else want
    tolerance = TOLERANCE.get(elements.dtype.name)
    if isinstance(want, Sample):
        mine = Sample.of(got)
        if tolerance is None:
            assert mine.checksum == want.checksum, f"value{where}: another checksum"
            return
        tolerance = tolerance if tol is None else tol
        _assert_close_numbers(mine.elements, elements, where, tolerance, want.largest)
        assert abs(mine.mean - want.mean) <= tolerance * max(1.0, want.largest), f"mean{where}"
    elif tolerance is None:
        same = got.dtype.fields is not None or np.array_equal(got, want)
        assert same, f"value{where}:\n{got}\nin JAX\n{want}"
    else:
        numbers = wide(want)
        largest = float(np.abs(numbers[np.isfinite(numbers)]).max(initial=0.0))
        _assert_close_numbers(got, want, where, tolerance if tol is None else tol, largest)


def _assert_close_numbers(
    got: np.ndarray, want: np.ndarray, where: str, tol: float, largest: float
) -> None:
    same = np.allclose(wide(got), wide(want), rtol=tol, atol=tol * max(1.0, largest), equal_nan=True)
    assert same, f"value{where}:\n{got}\nin JAX\n{want}"


def _wait(library: Any, value: Any) -> None:
    """An asynchronous failure belongs to the program that caused it."""
    if not hasattr(library, "tree_util"):  # minijax, cut at an earlier chapter
        return
    for leaf in library.tree_util.tree_leaves(value):
        if hasattr(leaf, "block_until_ready"):
            leaf.block_until_ready()
