"""What a library answered, in a form that can be compared and stored.

An answer is the class of an error, or a tree: its structure as text, and its leaves. JAX's
answers are stored in `tests/oracle/answers/`, one file for each test module, under the test's
name and the number of the question in it.
"""

from __future__ import annotations

import ast
import base64
import builtins
import datetime
import functools
import json
import lzma
import os
import re
import zlib
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from tests.oracle import absent
from tests.oracle.absent import NeedsJax
from tests.oracle.namespaces import JAX_VERSION, MODE, oracle, subject
from tests.oracle.text import is_jaxpr, jaxpr_text

FOLDER = Path(__file__).parent / "answers" / f"jax-{JAX_VERSION}"
FRESH = Path(__file__).parents[2] / "build" / "oracle"  # where `refresh` leaves its answers
SAMPLE = 1024  # elements of an array that are stored; a larger array is sampled


# --- leaves ---


@dataclass(frozen=True)
class Leaf:
    """One leaf: its class, its type where it is an array, and its value in some form."""

    kind: str
    dtype: str | None = None  # None for a Python number
    shape: tuple[int, ...] = ()
    weak: bool = False
    array: Any = None  # a NumPy array, or a Sample
    text: str | None = None  # of a jaxpr, or of a value that is no array
    value: Any = None  # the value itself, where it is at hand

    @property
    def is_array(self) -> bool:
        """Whether its value is numbers."""
        return self.array is not None


@dataclass(frozen=True)
class Sample:
    """What is stored of a large array: some elements, and numbers that depend on all."""

    elements: np.ndarray
    largest: float
    mean: complex
    checksum: int

    @staticmethod
    def of(array: np.ndarray) -> Sample:
        """Elements at equal distances, the largest finite magnitude, the mean, and a checksum."""
        numbers = np.asarray(wide(array)).ravel()
        finite = numbers[np.isfinite(numbers)]
        return Sample(
            elements=array.ravel()[:: sample_step(array.size)],
            largest=float(np.abs(finite).max(initial=0.0)),
            mean=complex(finite.mean()) if finite.size else 0j,
            checksum=zlib.crc32(np.ascontiguousarray(array).tobytes()),
        )


def sample_step(size: int) -> int:
    """The distance of sampled elements: odd, so that no axis of even length is favoured."""
    return max(size // SAMPLE, 1) | 1


def wide(array: np.ndarray) -> np.ndarray:
    """The array in a dtype in which NumPy can compute with it."""
    if array.dtype.kind == "V":
        return array.astype(np.float32) if array.dtype.fields is None else np.zeros(array.shape)
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def leaf_of(value: Any) -> Leaf:
    """A result's leaf, of either library."""
    if is_jaxpr(value):
        return Leaf("jaxpr", text=jaxpr_text(value))
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        weak = bool(getattr(getattr(value, "aval", value), "weak_type", False))
        kind = kind_of(value)
        array = None if kind in ABSTRACT else np.asarray(value)
        return Leaf(kind, dtype_text(value.dtype), tuple(value.shape), weak, array, value=value)
    if isinstance(value, (float, complex)) and not isinstance(value, bool):
        return Leaf(kind_of(value), array=np.asarray(value))
    return Leaf(kind_of(value), text=plain_text(value), value=value)


ABSTRACT = ("ShapeDtypeStruct", "ShapedArray", "Tracer")


def kind_of(value: Any) -> str:
    """A leaf's class, where the two libraries' own classes count as one."""
    name = type(value).__name__
    if isinstance(value, (np.ndarray, np.generic)) or name == "TypedNdArray":
        return "NumPy array"
    for library in LIBRARIES:
        if isinstance(value, library.Array):
            return "Tracer" if isinstance(value, library.core.Tracer) else "Array"
        if isinstance(value, library.core.Tracer):
            return "Tracer"
    module = type(value).__module__
    if module.partition(".")[0] in ("jax", "jaxlib", "minijax"):
        return name
    return f"{module}.{name}"


LIBRARIES = (subject,) if MODE == "stored" else (oracle, subject)


def dtype_text(dtype: Any) -> str:
    """A dtype's name; of a structured one, such as float0, its description."""
    return str(getattr(dtype, "name", dtype)) if getattr(dtype, "fields", None) is None else "float0"


def plain_text(value: Any) -> str:
    """The text of a value that is no array, without the libraries' names and without addresses."""
    return re.sub(r"\b(jax|minijax)(\.[a-z_]\w*)*\.|(?<= at )0x[0-9a-f]+", "", repr(value))


# --- trees ---


@dataclass(frozen=True)
class Answer:
    """What a program did: it raised `error`, or returned a tree of this structure and leaves."""

    error: str | None = None
    message: str = ""  # the error's, where JAX is asked now
    structure: str = ""
    leaves: tuple[tuple[str, Leaf], ...] = ()  # with each leaf's path
    value: Any = None  # what was answered, where it is at hand


def answer_of(library: Any, value: Any) -> Answer:
    """The answer that is `value`, or the exception `value`."""
    if isinstance(value, Exception):
        return Answer(error=type(value).__name__, message=str(value), value=value)
    leaves: list[tuple[str, Leaf]] = []
    structure = _flatten(library, value, "", leaves)
    return Answer(structure=structure, leaves=tuple(leaves), value=value)


def _flatten(library: Any, tree: Any, path: str, leaves: list) -> str:
    """The structure of a tree as text; its leaves are added to `leaves`."""

    def of(key: Any, child: Any) -> str:
        return _flatten(library, child, f"{path}[{key!r}]", leaves)

    if tree is None:
        return "None"
    if type(tree) in (tuple, list):
        inner = "".join(of(i, child) + ", " for i, child in enumerate(tree))
        return f"({inner})" if type(tree) is tuple else f"[{inner}]"
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        inner = ", ".join(of(name, child) for name, child in zip(tree._fields, tree, strict=True))
        return f"{type(tree).__name__}({inner})"
    if type(tree) in (dict, OrderedDict, defaultdict):
        keys = list(tree) if type(tree) is OrderedDict else _sorted(tree)
        inner = ", ".join(f"({key!r}, {of(key, tree[key])})" for key in keys)
        return f"{type(tree).__name__}({inner})"
    children = _children(library, tree)
    if children is None:
        leaves.append((path, leaf_of(tree)))
        return "*"
    inner = ", ".join(of(i, child) for i, child in enumerate(children))
    return f"{type(tree).__name__}<{inner}>"


def _sorted(keys: Any) -> list:
    try:
        return sorted(keys)
    except TypeError:
        return sorted(keys, key=str)


def _children(library: Any, value: Any) -> list | None:
    """The children of a node of a class that the library knows; None for a leaf."""
    if hasattr(value, "dtype") or isinstance(value, (str, int, float, complex)):
        return None
    if not hasattr(library, "tree_util"):
        return None
    tree_util = library.tree_util
    if tree_util.all_leaves([value]):
        return None
    return tree_util.tree_leaves(value, is_leaf=lambda x: x is not value)


class StoredArray:
    """An array that JAX returned."""

    def __init__(self, leaf: Leaf) -> None:
        self.shape, self.weak_type, self.array = leaf.shape, leaf.weak, leaf.array
        self.dtype = None if leaf.array is None else leaf.array.dtype
        if self.dtype is None:
            self.dtype = np.dtype(getattr(ml_dtypes, str(leaf.dtype), None) or leaf.dtype)
        self.ndim = len(self.shape)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self.array if dtype is None else self.array.astype(dtype)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "array":
            raise AttributeError(name)
        return getattr(self.array, name)

    def __repr__(self) -> str:
        return f"StoredArray({self.array!r})"


def value_of(answer: Answer) -> Any:
    """The answered value: JAX's own where it is at hand, else one like it."""
    if answer.value is not None:
        return answer.value
    if answer.error is not None:
        named = getattr(builtins, answer.error, None)
        return named() if isinstance(named, type) else type(answer.error, (Exception,), {})()
    leaves = iter([_leaf_value(leaf) for _, leaf in answer.leaves])
    text = QUOTED_OR_LEAF.sub(lambda m: "leaf()" if m[0] == "*" else m[0], answer.structure)
    return eval(text, {"leaf": lambda: next(leaves), "dict": _dict, "OrderedDict": _dict})


# A key may have a star in its text.
QUOTED_OR_LEAF = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\*")


def _dict(*pairs: tuple) -> dict:
    return dict(pairs)


def _leaf_value(leaf: Leaf) -> Any:
    if leaf.dtype is not None:
        return leaf.array if leaf.kind == "NumPy array" else StoredArray(leaf)
    if leaf.array is not None:
        return leaf.array.item()
    if leaf.kind == "numpy.dtype" or leaf.text is not None and leaf.text.startswith("dtype("):
        return eval(leaf.text, {"dtype": np.dtype, **vars(ml_dtypes)})
    return leaf.text if leaf.kind == "jaxpr" else ast.literal_eval(str(leaf.text))


# --- storage ---


def encode(answer: Answer) -> Any:
    """The answer as JSON."""
    if answer.error is not None:
        return answer.error
    return [answer.structure, *(_encode_leaf(leaf) for _, leaf in answer.leaves)]


def decode(data: Any) -> Answer:
    """The answer that `encode` made this JSON of."""
    if isinstance(data, str):
        return Answer(error=data)
    structure, *leaves = data
    return Answer(structure=structure,
                  leaves=tuple((f" {i}", _decode_leaf(leaf)) for i, leaf in enumerate(leaves)))


def _encode_leaf(leaf: Leaf) -> Any:
    if leaf.text is not None:
        return [leaf.kind, leaf.text]
    facts = [leaf.kind, leaf.dtype, list(leaf.shape), int(leaf.weak)]
    if leaf.array is None:
        return facts
    array = leaf.array
    if array.dtype.kind == "O":
        return [*facts, repr(array.tolist())]
    if array.size <= 2 * SAMPLE:
        return [*facts, [array.dtype.name, _encode_bytes(array)]]
    s = Sample.of(array)
    summary = [s.largest.hex(), s.mean.real.hex(), s.mean.imag.hex(), s.checksum]
    return [*facts, [array.dtype.name, _encode_bytes(s.elements), summary]]


def _decode_leaf(data: list) -> Leaf:
    kind, *rest = data
    if len(rest) == 1:
        return Leaf(kind, text=rest[0])
    dtype, shape, weak, *value = rest
    leaf = {"kind": kind, "dtype": dtype, "shape": tuple(shape), "weak": bool(weak)}
    if not value:
        return Leaf(**leaf)
    if isinstance(value[0], str):
        return Leaf(**leaf, array=np.array(eval(value[0]), object))
    name, text, *summary = value[0]
    elements = _decode_bytes(name, text)
    if not summary:
        return Leaf(**leaf, array=elements.reshape(shape))
    largest, real, imag, checksum = summary[0]
    largest, mean = float.fromhex(largest), complex(float.fromhex(real), float.fromhex(imag))
    return Leaf(**leaf, array=Sample(elements, largest, mean, checksum))


def _encode_bytes(array: np.ndarray) -> str:
    if array.dtype.fields is not None:  # float0 has no bytes
        return str(array.size)
    if array.dtype.kind in "biuf" and array.dtype.kind != "V" and array.size <= 4:
        return ",".join(map(_number_text, array.ravel()))
    return "=" + base64.b85encode(np.ascontiguousarray(array).tobytes()).decode()


def _number_text(number: Any) -> str:
    return repr(number.item())


def _decode_bytes(name: str, text: str) -> np.ndarray:
    if name.startswith("void"):
        return np.zeros(int(text), np.dtype([("float0", np.void, 0)]))
    dtype = np.dtype(getattr(ml_dtypes, name, None) or name)
    if text.startswith("="):
        return np.frombuffer(base64.b85decode(text[1:]), dtype)
    numbers = {"True": True, "False": False}
    items = [numbers[x] if x in numbers else float(x) if dtype.kind == "f" else int(x)
             for x in text.split(",") if x]
    return np.array(items, dtype)


# --- which question is being asked ---


@dataclass
class Case:
    """The test that runs now, and how many questions it has asked."""

    module: str = ""
    name: str = ""
    live: bool = False  # the test needs JAX itself
    asked: int = 0


@dataclass
class Session:
    """What this process knows of answers."""

    case: Case = field(default_factory=Case)
    stored: dict[str, dict[str, list]] = field(default_factory=dict)  # by module, then by test
    fresh: dict[str, dict[str, list]] = field(default_factory=dict)
    messages: dict[str, str] = field(default_factory=dict)  # of errors, for who reviews them


DAYS = 30  # in so many days, each stored answer is compared with JAX's once
session = Session()


def name_of(nodeid: str) -> tuple[str, str]:
    """The module of a test, and its name there."""
    path, _, name = nodeid.partition("::")
    return path.removesuffix(".py").removeprefix("tests/").replace("/", "."), name


def begin(nodeid: str, live: bool) -> None:
    """The test with this name begins."""
    session.case = Case(*name_of(nodeid), live)
    absent.running = bool(nodeid)


def expected(ask: Callable[[], Answer]) -> Answer:
    """JAX's answer to the test's next question: stored, or what `ask` gives."""
    case = session.case
    number, case.asked = case.asked, case.asked + 1
    if case.live or in_hypothesis() or not case.module:
        if MODE == "stored":
            raise NeedsJax("needs JAX itself")
        return ask()
    if MODE == "refresh":
        return _store(ask())
    stored = None if MODE == "live" else _recall(case, number)
    if stored is None:
        if MODE == "stored":
            raise NeedsJax(f"no stored answer for question {number}: make oracle")
        return ask()
    if MODE == "daily" and _is_of_today(case):
        _assert_up_to_date(stored, ask())
    return stored


def _assert_up_to_date(stored: Answer, fresh: Answer) -> None:
    from tests.oracle.compare import assert_same_answer

    try:
        assert_same_answer(fresh, stored)
    except AssertionError as error:
        raise AssertionError("JAX's stored answer is not what JAX says now: make oracle") from error


def in_hypothesis() -> bool:
    """Hypothesis makes up its questions: they have no stored answers."""
    from hypothesis import currently_in_test_context

    return currently_in_test_context()


def _is_of_today(case: Case) -> bool:
    day = int(os.environ.get("MINIJAX_ORACLE_DAY", datetime.date.today().toordinal()))
    return zlib.crc32(f"{case.module}::{case.name}".encode()) % DAYS == day % DAYS


def _store(answer: Answer) -> Answer:
    case = session.case
    answers = session.fresh.setdefault(case.module, {}).setdefault(case.name, [])
    del answers[case.asked - 1 :]  # a test that is run again asks again
    answers.append(encode(answer))
    if answer.error is not None:
        session.messages[f"{case.module}::{case.name}#{case.asked - 1}"] = answer.message
    return answer


def _recall(case: Case, number: int) -> Answer | None:
    if case.module not in session.stored:
        session.stored[case.module] = read(case.module)
    answers = session.stored[case.module].get(case.name, ())
    return decode(answers[number]) if number < len(answers) else None


@functools.cache
def is_stored(module: str) -> bool:
    """Whether there are stored answers for a test module."""
    return (FOLDER / f"{module}.json.xz").exists()


def read(module: str) -> dict[str, list]:
    """The stored answers of a test module, by test."""
    path = FOLDER / f"{module}.json.xz"
    return json.loads(lzma.decompress(path.read_bytes())) if path.exists() else {}


# The order of eigenvalues, and the signs of eigenvectors, depend on the machine's processor.
OF_THIS_MACHINE = re.compile(
    r"test_(values|vmap|derivatives|double_precision)\[.*(schur|linalg\.eig\(|complex128)")


def write(module: str, answers: dict[str, list]) -> None:
    """Store a test module's answers, except values that another machine would answer otherwise."""
    answers = {name: found for name, found in answers.items()
               if not OF_THIS_MACHINE.match(name) or all(isinstance(x, str) for x in found)}
    FOLDER.mkdir(parents=True, exist_ok=True)
    text = json.dumps(answers, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    (FOLDER / f"{module}.json.xz").write_bytes(lzma.compress(text.encode(), preset=9))


def leave_fresh() -> None:
    """At the end of a process that refreshes: leave its answers where `make oracle` collects them."""
    if session.fresh:
        FRESH.mkdir(parents=True, exist_ok=True)
        (FRESH / f"{os.getpid()}.json").write_text(json.dumps(session.fresh))
        (FRESH / f"{os.getpid()}.messages").write_text(json.dumps(session.messages))


def collect_fresh() -> None:
    """Merge what the processes left into the stored answers. Each module's are replaced by test."""
    fresh: dict[str, dict[str, list]] = {}
    for path in sorted(FRESH.glob("*.json")):
        for module, answers in json.loads(path.read_text()).items():
            fresh.setdefault(module, {}).update(answers)
        path.unlink()
    for module, answers in fresh.items():
        write(module, {**read(module), **answers})
        print(f"{len(answers):6} tests of {module}")
