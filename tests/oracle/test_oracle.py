"""The oracle itself: what it compares, what it stores, and that it runs without JAX."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import OrderedDict, namedtuple
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tests.oracle import refusals, stored, subject
from tests.oracle.absent import Absent, NeedsJax
from tests.oracle.compare import assert_same_answer, both
from tests.oracle.stored import answer_of, decode, encode, value_of

ROOT = Path(__file__).resolve().parents[2]
Point = namedtuple("Point", "x y")
VALUES = {
    "numbers": (1, 2.5, -1j, True, None, "text"),
    "arrays": {"a": np.arange(3), "b": [np.float32(1.5), np.zeros((0, 2), np.int8)]},
    "dtypes": [np.array([1, 2], t) for t in (ml_dtypes.bfloat16, np.float16, np.complex64, bool)],
    "special": np.array([np.nan, np.inf, -0.0], np.float32),
    "containers": (OrderedDict(b=1, a=2), Point(1, (2.0,)), (), [[]], {(1, 2): 3, "a * 'b'": 4}),
    "large": np.sin(np.arange(10_000, dtype=np.float32)),
    "large integers": np.arange(10_000),
    "float0": np.zeros((2, 3), np.dtype([("float0", np.void, 0)])),
}


@pytest.mark.parametrize("name", VALUES)
def test_an_answer_that_was_stored_is_the_answer(name):
    answer = answer_of(subject, VALUES[name])
    again = decode(encode(answer))
    assert_same_answer(answer, again)
    assert encode(answer_of(subject, VALUES[name])) == encode(answer)


def test_stored_values_can_be_used():
    value = (1, [2.5, None], {"a": np.float32([1, 2])}, "text", (True,), {"a * b": 2, "'*'": 3})
    again = value_of(decode(encode(answer_of(subject, value))))
    assert again[:2] == (1, [2.5, None]) and again[3:] == value[3:]
    np.testing.assert_array_equal(again[2]["a"], value[2]["a"])
    error = value_of(decode(encode(answer_of(subject, KeyError("a")))))
    assert isinstance(error, Exception) and type(error).__name__ == "KeyError"


@pytest.mark.parametrize("name, other", [
    ("arrays", {"a": np.arange(3), "b": [np.float32(1.75), np.zeros((0, 2), np.int8)]}),
    ("arrays", {"a": np.arange(3.0), "b": [np.float32(1.5), np.zeros((0, 2), np.int8)]}),
    ("arrays", {"a": np.arange(3), "b": (np.float32(1.5), np.zeros((0, 2), np.int8))}),
    ("large", np.sin(np.arange(10_000, dtype=np.float32)) * np.float32(1.001)),
    ("large", np.sin(np.arange(10_000, dtype=np.float32))[::-1]),
    ("large integers", np.r_[np.arange(9_999), 7]),
    ("special", np.array([np.nan, np.inf, 1.0], np.float32)),
    ("numbers", (1, 2.5, -1j, True, None, "other")),
])
def test_another_answer_is_noticed(name, other):
    want = decode(encode(answer_of(subject, VALUES[name])))
    with pytest.raises(AssertionError):
        assert_same_answer(answer_of(subject, other), want)


def test_refusals_are_written_and_read():
    cases = {
        "a::b": {"sin-jvp-bool": "TypeError", "cos-jvp-bool": "TypeError", "cos-jvp-int": "TypeError",
                 "sin-jvp-int": "TypeError", "tan-jvp-int": "ValueError", "tan-jvp-int#1": "TypeError"},
        "a::c": {"f(x, {1})": "KeyError", "x=1": "KeyError", "": "KeyError"},
    }
    text = refusals.text_of(cases)
    assert refusals.parse(text) == cases
    assert "    TypeError: {cos,sin}-jvp-{bool,int}\n" in text


@pytest.mark.live_jax
def test_two_refusals_agree_only_where_the_test_says_so():
    refused = lambda jx: lambda: jx.numpy.ones(3) + jx.numpy.ones(2)
    both(refused, raises=TypeError)


@pytest.mark.live_jax
def test_what_is_not_declared_fails():
    stored.session.case.module = "products.test_primitives"  # of which there are stored answers
    refused = lambda jx: lambda: jx.numpy.ones(3) + jx.numpy.ones(2)
    for raises in (None, ValueError, "KeyError"):
        with pytest.raises(AssertionError, match="JAX raises TypeError"):
            both(refused, raises=raises)
    with pytest.raises(AssertionError, match="was to raise TypeError"):
        both(lambda jx: lambda: 1, raises=TypeError)


def test_the_stand_in_for_jax_is_good_for_imports_only():
    jax = Absent("jax")
    for use in (lambda: jax.jit(lambda x: x), lambda: bool(jax), lambda: list(jax.devices),
                lambda: isinstance(1, jax.Array), lambda: jax == 1, lambda: f"{jax}"):
        with pytest.raises(NeedsJax):
            use()


def test_stored_answers_need_no_jax():
    """The tests of the text of jaxprs, in a process in which `import jax` fails."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p",
               "tools.sampling", "--sample", "40", "tests/products/test_jaxpr_text.py"]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, "MINIJAX_ORACLE": "stored"},
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    assert "skipped" not in done.stdout.splitlines()[-1]


def test_the_answers_are_those_of_the_pinned_jax():
    pinned = f'"jax=={stored.JAX_VERSION}"'
    assert pinned in (ROOT / "pyproject.toml").read_text()
    assert [path.name for path in stored.FOLDER.parent.iterdir()] == [stored.FOLDER.name]


def test_the_answers_are_small():
    assert sum(path.stat().st_size for path in stored.FOLDER.iterdir()) < 8_000_000
