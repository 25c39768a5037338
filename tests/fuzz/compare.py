"""Runs a program's text in one library, and compares what two libraries made of it."""

from __future__ import annotations

import ast
import functools
import importlib
import signal
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from tests.fuzz.generate import PRELUDE

SUBMODULES = ("numpy", "lax", "nn", "random", "image", "ops", "tree_util", "dtypes", "scipy",
              "scipy.special", "scipy.linalg", "scipy.signal", "scipy.stats", "scipy.fft",
              "experimental.sparse")  # fmt: skip
TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 2e-5, "complex64": 2e-5,
             "float64": 1e-10, "complex128": 1e-10}  # fmt: skip
EPSILON = {"float16": 1e-3, "bfloat16": 8e-3, "float32": 1.2e-7, "complex64": 1.2e-7,
           "float64": 2.2e-16, "complex128": 2.2e-16}  # fmt: skip
# JAX's own failures: a program that JAX cannot run says nothing about ours.
INTERNAL = ("AssertionError", "NotImplementedError", "JaxRuntimeError", "XlaRuntimeError", "KeyError",
            "RecursionError", "UnboundLocalError", "MLIRError", "IndexError", "LinAlgError")  # fmt: skip
# The last: `clamp` with scalar ends, differentiated by one of them.
INTERNAL_MESSAGES = ("a bytes-like object is required", "Linearization failed to produce known values",
                     "No constant handler for type", "select cases must have the same shapes",
                     # References, and sparse arrays that are batched in another than the first axis.
                     "'ValAccum' object", "`JaxprInputEffect` ", "Invalid shape for `swap`",
                     "_closed_call_discharge_rule() got an unexpected keyword",
                     "Expected 0 < bdim <= n_batch", "DynamicJaxprTracer has no attribute accum",
                     "DynamicJaxprTracer has no attribute ref",
                     "'TypedNdArray' object has no attribute 'accum'",
                     "Error interpreting argument to reduce_sum as a JAX value. The problematic value is "
                     "of type <class 'NoneType'>",
                     "dot_general requires lhs batch dimensions and rhs batch dimensions to have the same "
                     "shape, got (17, 3) and (1, 3)",
                     "Triggering __jax_array__() during abstractification",
                     "Cannot transform type: ", "integer modulo by zero",
                     "rhs batch dimensions to have the same shape, got (3, 1) and (1, 1)",
                     "broadcast_in_dim broadcast_dimensions must have length equal to operand ndim; "
                     "got broadcast_dimensions (0,)")  # fmt: skip
SECONDS = 20  # a program that takes longer is given up


class Timeout(BaseException):
    """The program took too long."""


@dataclass(frozen=True)
class Mismatch:
    """What differs: a word for it, and what each library gave."""

    kind: str
    ours: str
    theirs: str

    @property
    def signature(self) -> tuple[str, ...]:
        """What stays the same while a program shrinks."""
        if self.kind == "error":
            return self.kind, self.ours.partition(":")[0], self.theirs.partition(":")[0]
        return (self.kind,)

    def __str__(self) -> str:
        return f"{self.kind}\n  minijax: {self.ours}\n  JAX:     {self.theirs}"


@functools.cache
def library(name: str) -> ModuleType:
    """A library with all submodules that programs use."""
    module = importlib.import_module(name)
    for submodule in SUBMODULES:
        importlib.import_module(f"{name}.{submodule}")
    return module


@functools.cache
def _prelude(name: str) -> dict[str, Any]:
    module = library(name)
    lines = [line for line in PRELUDE.splitlines() if not line.startswith(("import", "from"))]
    space: dict[str, Any] = {"jax": module, "jnp": module.numpy, "lax": module.lax, "np": np,
                             "sparse": module.experimental.sparse}
    exec(compile("\n".join(lines), f"<prelude of {name}>", "exec"), space)
    return space


def namespace(name: str) -> dict[str, Any]:
    """A new namespace with the prelude's names in one library."""
    space = _prelude(name)
    return {k: v for k, v in space.items() if k != "__builtins__"}


@contextmanager
def limited(seconds: int = SECONDS) -> Iterator[None]:
    """Raise `Timeout` if the block takes too long, and again where a callback of XLA's swallows it."""

    def stop(*_: Any) -> None:
        raise Timeout

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def attempt(name: str, text: str, space: dict[str, Any], result: str, x64: bool,
            disable_jit: bool = False) -> Any:
    """Execute the text in a namespace. Returns the value of `result`, or the exception."""
    module = library(name)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"), module.enable_x64(x64), \
                module.disable_jit(disable_jit):
            warnings.simplefilter("ignore")
            exec(compile(text, "<program>", "exec"), space)
            value = space.get(result)
            return module.tree_util.tree_map(_awaited, value)
    except Exception as error:
        return error


def _awaited(x: Any) -> Any:
    return x.block_until_ready() if hasattr(x, "block_until_ready") else x


def run(name: str, text: str, x64: bool = False, disable_jit: bool = False) -> Any:
    """A whole program's `result`, or the exception."""
    return attempt(name, text, namespace(name), "result", x64, disable_jit)


# --- comparison ---


# Functions of which JAX has nan where there is a number: the second derivatives of `spence` and
# `ndtri`, the derivatives of the beta function, the second derivative of `erfcx` at zero, and `expn`
# in float16, whose series overflows.
NAN_IN_JAX = ("special.spence(", "special.ndtri(", "special.beta(", "special.betaln(", "special.expn(",
              "special.erfcx(")  # fmt: skip


def without_nan(ours: Any, theirs: Any) -> Any:
    """Our value, with nan for the finite numbers in whose place JAX has nan."""
    if isinstance(ours, Exception) or isinstance(theirs, Exception):
        return ours
    mine, structure = library("minijax").tree_util.tree_flatten(ours)
    those = library("jax").tree_util.tree_leaves(theirs)
    if len(mine) != len(those):
        return ours
    with library("minijax").enable_x64(True):
        return structure.unflatten(map(_with_nan, mine, those))


def _with_nan(a: Any, b: Any) -> Any:
    if facts(a) != facts(b) or facts(a)[2] not in TOLERANCE or facts(a)[0] != "array":
        return a
    only_jax = np.isnan(numbers(b)) & np.isfinite(numbers(a))
    return library("minijax").numpy.where(only_jax, a * np.nan, a)


def compare(ours: Any, theirs: Any) -> Mismatch | None:
    """The first difference between minijax's value and JAX's; values by tolerance."""
    if isinstance(theirs, Exception):
        return _compare_errors(ours, theirs)
    if isinstance(ours, Exception):
        return Mismatch("error", _error(ours), _text(theirs))
    my_tree, their_tree = (library(n).tree_util for n in ("minijax", "jax"))
    mine, structure = my_tree.tree_flatten(ours)
    those, wanted = their_tree.tree_flatten(theirs)
    if str(structure) != str(wanted):
        return Mismatch("structure", str(structure), str(wanted))
    for a, b in zip(mine, those, strict=True):
        if (found := _compare_leaf(a, b)) is not None:
            return found
    return None


def compare_values(left: Any, right: Any, tolerance: float) -> Mismatch | None:
    """The first difference between two values of minijax."""
    tree = library("minijax").tree_util
    mine, structure = tree.tree_flatten(left)
    those, wanted = tree.tree_flatten(right)
    if structure != wanted:
        return Mismatch("structure", str(structure), str(wanted))
    for a, b in zip(mine, those, strict=True):
        for kind, x, y in zip(("class", "shape", "dtype", "weak type"), facts(a), facts(b), strict=True):
            if x != y and kind != "class":
                return Mismatch(kind, str(facts(a)), str(facts(b)))
        if facts(a)[2] in ("float0", ""):
            continue
        loose = 1e-2 if facts(a)[2] in ("float16", "bfloat16") else tolerance
        if not close(numbers(a), numbers(b), loose if facts(a)[2] in TOLERANCE else 0.0):
            return Mismatch("value", _text(np.asarray(numbers(a))), _text(np.asarray(numbers(b))))
    return None


def _error(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error)[:300]}"


def _text(value: Any) -> str:
    return repr(value)[:400]


def _compare_errors(ours: Any, theirs: Exception) -> Mismatch | None:
    wanted = type(theirs).__name__
    if wanted in INTERNAL or str(theirs).startswith(INTERNAL_MESSAGES):
        return None
    if isinstance(ours, Exception):
        names = [c.__name__ for c in type(ours).__mro__]  # a subclass is as good
        if wanted in names or "UnexpectedTracerError" in (names[0], wanted):
            return None  # which of two faults of a program is met first says little
        return Mismatch("error", _error(ours), _error(theirs))
    return Mismatch("error", _text(ours), _error(theirs))


def facts(x: Any) -> tuple[Any, ...]:
    """What is compared of a leaf exactly."""
    if type(x).__name__ in ("TypedInt", "TypedFloat", "TypedComplex"):
        return "array", (), x.dtype.name, True  # JAX's wrapped scalars, which `checkpoint` returns
    if hasattr(x, "dtype") and hasattr(x, "shape"):
        weak = bool(getattr(getattr(x, "aval", x), "weak_type", False))
        typed = type(x).__name__.startswith("Typed")  # JAX's scalars and constants with a type
        kind = "NumPy" if isinstance(x, (np.ndarray, np.generic)) and not typed else "array"
        if type(x).__name__ == "ShapeDtypeStruct":
            kind = "struct"
        name = getattr(x.dtype, "name", str(x.dtype))
        if getattr(x.dtype, "fields", None) is not None or name == "void":
            kind, name = "array", "float0"
        return kind, tuple(x.shape), str(name), weak
    if callable(x):
        return ("function", (), "", False)
    return (type(x).__name__, (), "", False)


def _compare_leaf(a: Any, b: Any) -> Mismatch | None:
    mine, wanted = facts(a), facts(b)
    for kind, x, y in zip(("class", "shape", "dtype", "weak type"), mine, wanted, strict=True):
        if x != y:
            return Mismatch(kind, str(mine), str(wanted))
    has_numbers = wanted[0] in ("array", "NumPy", "float", "int", "bool", "complex")
    if has_numbers and wanted[2] != "float0":
        tolerance = TOLERANCE.get(wanted[2], 0.0)
        if not close(numbers(a), numbers(b), tolerance):
            return Mismatch("value", _text(np.asarray(numbers(a))), _text(np.asarray(numbers(b))))
    return None


def numbers(x: Any) -> np.ndarray:
    """A leaf's elements, in a dtype in which NumPy computes."""
    if str(getattr(x, "dtype", "")).startswith("key<"):
        x = x._base_array if hasattr(x, "_base_array") else library(
            "minijax" if "minijax" in type(x).__module__ else "jax").random.key_data(x)
    array = np.asarray(x)
    if array.dtype.kind in "c":
        return array.astype(np.complex128)
    return array.astype(np.float64) if array.dtype.kind in "fV" else array


def close(a: np.ndarray, b: np.ndarray, tolerance: float) -> bool:
    """Whether two arrays agree, relative to the larger of 1 and the largest finite magnitude."""
    if not tolerance:
        return bool(np.array_equal(a, b, equal_nan=b.dtype.kind in "fc"))
    finite = np.abs(b[np.isfinite(b)])
    scale = max(1.0, float(finite.max(initial=0.0)))
    with np.errstate(all="ignore"):
        return bool(np.allclose(a, b, rtol=tolerance, atol=tolerance * scale, equal_nan=True))


# --- is a difference in values more than rounding? ---

DOUBLED = {"float32": "float64", "float16": "float64", "bfloat16": "float64",
           "complex64": "complex128"}  # fmt: skip


class Doubled(ast.NodeTransformer):
    """Writes a program in double precision."""

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return ast.Constant(DOUBLED.get(node.value, node.value) if isinstance(node.value, str) else node.value)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        node.attr = DOUBLED.get(node.attr, node.attr)
        return node


class _Perturbed(ast.NodeTransformer):
    """Wraps the arrays that a program writes down in `perturb`."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        text = ast.unparse(node.func)
        written = (ast.List, ast.Constant, ast.UnaryOp, ast.BinOp)
        if text in ("jnp.array", "jnp.asarray") and node.args and isinstance(node.args[0], written):
            return ast.Call(ast.Name("perturb", ast.Load()), [node], [])
        return node


def rewritten(text: str, transformer: ast.NodeTransformer) -> str:
    """The program, transformed."""
    return ast.unparse(ast.fix_missing_locations(transformer.visit(ast.parse(text))))


def _perturber(seed: int) -> Any:
    noise = np.random.RandomState(seed)

    def perturb(x: Any) -> Any:
        epsilon = EPSILON.get(str(x.dtype))
        if epsilon is None:
            return x
        factor = 1 + 4 * epsilon * noise.choice([-1.0, 1.0], x.shape)
        wide = np.asarray(x).astype(np.complex128 if x.dtype.kind == "c" else np.float64)
        moved = np.where(wide == 0, epsilon * (factor - 1) / epsilon, wide * factor)
        return x - x + library("jax").numpy.asarray(moved).astype(x.dtype) if x.aval.weak_type else \
            library("jax").numpy.asarray(moved).astype(x.dtype)

    return perturb


def leaves(value: Any) -> list[np.ndarray]:
    """The numbers of a tree of either library."""
    found = []
    for x in library("jax").tree_util.tree_leaves(value) if not isinstance(value, Exception) else []:
        if facts(x)[2] != "float0" and facts(x)[0] != "function":
            found.append(numbers(x))
    return found


def is_rounding(text: str, ours: Any, theirs: Any, x64: bool) -> bool:
    """Whether both values are what a program as sensitive as this one may give.

    In double precision both libraries must agree; in the program's own precision, the difference
    must be no larger than what a change of the inputs by a few units in the last place does.
    """
    if not x64:
        doubled = rewritten(text, Doubled())
        mine64, theirs64 = run("minijax", doubled, True), run("jax", doubled, True)
        if isinstance(theirs64, Exception) or isinstance(mine64, Exception):
            if not isinstance(theirs64, Exception):
                return False
        else:
            for a, b in zip(leaves(mine64), leaves(theirs64), strict=False):
                if a.shape == b.shape and not close(a, b, 1e-7):
                    if not _within_spread(doubled, mine64, theirs64, True):
                        return False
                    break
    return _within_spread(text, ours, theirs, x64)


def _within_spread(text: str, ours: Any, theirs: Any, x64: bool) -> bool:
    """Whether perturbed inputs explain the difference."""
    perturbed = rewritten(text, _Perturbed())
    mine, base = leaves(ours), leaves(theirs)
    spread = [np.zeros(b.shape) for b in base]
    for seed in range(3):
        space = namespace("jax") | {"perturb": _perturber(seed)}
        moved = attempt("jax", perturbed, space, "result", x64)
        if isinstance(moved, Exception):
            return False
        for total, a, b in zip(spread, leaves(moved), base, strict=True):
            with np.errstate(all="ignore"):
                change = np.abs(a.astype(complex) - b.astype(complex))
            change = np.where(np.isnan(change), np.where(np.isfinite(b) & np.isfinite(a), 0, np.inf), change)
            np.maximum(total, change, out=total)
    for mine_, theirs_, moved_ in zip(mine, base, spread, strict=True):
        with np.errstate(all="ignore"):
            difference = np.abs(mine_.astype(complex) - theirs_.astype(complex))
        same = (mine_ == theirs_) | ((mine_ != mine_) & (theirs_ != theirs_))
        finite = theirs_[np.isfinite(theirs_)]
        slack = 1e-5 if not x64 else 1e-10
        allowed = 20 * moved_.max(initial=0.0) + slack * np.abs(finite).max(initial=1.0)
        if np.any(~same & ~(difference <= allowed)):
            return False
    return True
