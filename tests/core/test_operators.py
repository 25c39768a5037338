"""Every operator × every kind of operand × every dtype, against JAX."""

from __future__ import annotations

import operator
import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest

import minijax
from minijax.core import operators as core_operators
from minijax.core.array import Array, as_array
from minijax.core.core import typeof
from minijax.lax import operators
from tests.core.same import BFLOAT16, close, outcome, pair, same
from tests.oracle import ask, jax, jnp

DTYPES = {"bool": np.bool_, "int8": np.int8, "uint8": np.uint8, "int32": np.int32,
          "float16": np.float16, "bfloat16": BFLOAT16.type, "float32": np.float32,
          "complex64": np.complex64}
BINARY = {name: getattr(operator, name) for name in (
    "add", "sub", "mul", "truediv", "pow", "and_", "or_", "xor", "eq", "ne", "lt", "le", "gt",
    "ge", "matmul")}
UNARY = {name: getattr(operator, name) for name in ("neg", "pos", "abs", "invert")}


def values(dtype):
    """Three small numbers, good as bases, exponents and divisors of every kind."""
    plain = np.array([1, 3, 2], np.float32)
    return (plain + 0.25j if dtype == np.complex64 else plain).astype(dtype)


ARRAYS = {f"{name} array": values(dtype) for name, dtype in DTYPES.items()}
SCALARS: dict[str, Any] = {
    "bool": True, "int": 2, "negative int": -2, "float": 1.5, "complex": 1.5 + 0.5j,
    **{f"NumPy {name}": dtype(2) for name, dtype in DTYPES.items()},
    "NumPy float64": np.float64(1.5), "NumPy int64": np.int64(2),
}
NUMPYS = {f"NumPy array {name}": values(dtype)
          for name, dtype in [*DTYPES.items(), ("float64", np.float64), ("int64", np.int64)]}


class Cases:
    """Many operations, done by JAX in one program: their results, types or errors."""

    def __init__(self, operands):
        self.calls, self.operands = {}, operands

    def add(self, where, function, *names_or_values):
        """A call on operands by name (JAX's program takes these as arguments) or by value."""
        self.calls[where] = (function, names_or_values)

    def in_jax(self):
        """The classes of the errors, the types of the results, and the results."""
        errors, types = {}, {}

        def all_at_once(operands):
            outs = {}
            for where, (function, args) in self.calls.items():
                out = outcome(function, *(operands[a] if type(a) is str else a for a in args))
                if isinstance(out, Exception):
                    errors[where] = type(out).__name__
                elif isinstance(out, (jax.Array, np.ndarray, np.generic)):
                    types[where] = (out.shape, np.dtype(out.dtype), getattr(out, "weak_type", None))
                    outs[where] = out
            return outs

        wants = jax.jit(all_at_once)({k: jnp.asarray(x) for k, x in self.operands.items()})
        return errors, types, wants

    def check(self):
        errors, types, wants = ask(self.in_jax)
        ours = {k: as_array(x) for k, x in self.operands.items()}
        for where, (function, args) in self.calls.items():
            got = outcome(function, *(ours[a] if type(a) is str else a for a in args))
            if where in errors:
                assert type(got).__name__ == errors[where], where
                continue
            if isinstance(got, Exception):
                raise AssertionError(f"{where}: in JAX {types[where]}") from got
            assert type(got) is Array, where
            assert (got.shape, got.dtype, got.weak_type) == types[where], (
                f"{where}: {got.aval}, in JAX {types[where]}")
            close(got, wants[where], where, 2e-5 if got.dtype.itemsize > 2 else None)


@pytest.mark.parametrize("name", BINARY)
def test_arrays_of_any_two_dtypes(name):
    cases = Cases(ARRAYS)
    for x in ARRAYS:
        for y in ARRAYS:
            cases.add(f"{x} {name} {y}", BINARY[name], x, y)
    cases.check()


@pytest.mark.parametrize("name", BINARY)
def test_scalars_on_both_sides(name):
    cases = Cases(ARRAYS)
    for x in ARRAYS:
        for y, scalar in SCALARS.items():
            cases.add(f"{x} {name} {y}", BINARY[name], x, scalar)
            cases.add(f"{y} {name} {x}", BINARY[name], scalar, x)
    cases.check()


@pytest.mark.parametrize("name", BINARY)
def test_numpy_arrays_on_both_sides(name):
    cases = Cases({k: ARRAYS[k] for k in ("int8 array", "float16 array", "complex64 array")})
    for x in cases.operands:
        for y, array in NUMPYS.items():
            cases.add(f"{x} {name} {y}", BINARY[name], x, array)
            cases.add(f"{y} {name} {x}", BINARY[name], array, x)
    cases.check()


@pytest.mark.parametrize("name", UNARY)
def test_unary_operators(name):
    cases = Cases(ARRAYS)
    for x in ARRAYS:
        cases.add(f"{name} {x}", UNARY[name], x)
    cases.check()


# -- Weak types ---------------------------------------------------------------------------------

WEAK = {"weak int": (2, np.int32), "weak float": (1.5, np.float32), "weak complex": (1j, np.complex64),
        "weak float16": ([1.5, 2.5], np.float16), "weak int8": ([1, 2], np.int8)}


@pytest.mark.parametrize("name", ["add", "truediv", "pow", "lt"])
def test_weakly_typed_arrays(name):
    weak = {k: pair(value, dtype, weak_type=True) for k, (value, dtype) in WEAK.items()}
    others = [*weak.values(), pair(np.int8(2)), pair(np.float16(2)), pair(2, np.uint8),
              (3, 3), (1.5, 1.5), (np.float32(2), np.float32(2))]
    wants = {}

    def all_at_once():
        for i, (_, x) in enumerate(weak.values()):
            for j, (_, y) in enumerate(others):
                out = outcome(BINARY[name], x, y)
                wants[i, j] = out if isinstance(out, Exception) else (out.dtype, out.weak_type)

    jax.eval_shape(all_at_once)
    for i, (x, _) in enumerate(weak.values()):
        for j, (y, _) in enumerate(others):
            got = outcome(BINARY[name], x, y)
            want = wants[i, j]
            if isinstance(want, Exception):
                same(got, want, (name, x, y))
            else:
                assert (got.dtype, got.weak_type) == want, (name, x, y)


# -- Shapes -------------------------------------------------------------------------------------

SHAPES = [(), (1,), (3,), (2, 3), (2, 1), (4, 1, 3), (0,), (2, 0), (5,)]


@pytest.mark.parametrize("name", ["add", "eq", "matmul"])
def test_shapes_broadcast_or_are_refused(name):
    operands = {str(shape): np.arange(np.prod(shape), dtype=np.float32).reshape(shape) for shape in SHAPES}
    cases = Cases(operands)
    for x in operands:
        for y in operands:
            cases.add(f"{x} {name} {y}", BINARY[name], x, y)
    cases.check()


MATRICES = [(3,), (2, 3), (3, 2), (4, 2, 3), (1, 3, 2), (4, 3, 1), (5, 1, 2, 3), (1, 4, 3, 2), (0, 3),
            (3, 0), (1, 1), (2, 2, 3, 3), (1,), ()]


def test_matrix_products_of_all_shapes():
    operands = {str(shape): np.arange(np.prod(shape), dtype=np.float32).reshape(shape) for shape in MATRICES}
    cases = Cases(operands)
    for x in operands:
        for y in operands:
            cases.add(f"{x} @ {y}", operator.matmul, x, y)
    cases.check()


@pytest.mark.filterwarnings("ignore:Casting complex")
@pytest.mark.parametrize("preferred", [None, np.float32, np.float16, np.int32, np.complex64, bool])
def test_matrix_products_of_a_preferred_type(preferred):
    for dtype in DTYPES.values():
        if dtype == np.complex64 != preferred:
            continue  # XLA may fail; see below
        ours, jaxs = pair(np.array([[1.5, 2], [3, 4]]).astype(dtype))
        got, want = (outcome(lambda: namespace.matmul(z, z, preferred_element_type=preferred))
                     for namespace, z in ((operators, ours), (jnp, jaxs)))
        same(got, want, (dtype, preferred))


def test_a_real_product_of_complex_matrices():
    x = np.array([[1 + 2j, 2], [3j, 4]], np.complex64)
    for dtype in (np.float32, np.int32):
        got = operators.matmul(as_array(x), as_array(x), preferred_element_type=dtype)
        assert got.dtype == dtype and got.tolist() == (x @ x).real.tolist()


# -- Powers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint8", "float32", "complex64"])
def test_powers(dtype):
    base = np.array([0, 1, 2, 3, 5], dtype)
    exponents = np.array([0, 1, 2, 5, 3], np.int32)
    cases = Cases({"base": base, "exponents": exponents, "matrix": base.reshape(5, 1),
                   "ones": np.ones((2, 5), dtype)})
    for power in (0, 1, 2, 3, 7, -1, np.int8(3), np.uint8(2), 0.5, True):
        cases.add(f"base ** {power!r}", operator.pow, "base", power)
    for x, y in (("base", "exponents"), ("matrix", "exponents"), ("ones", "exponents"),
                 ("exponents", "ones"), ("exponents", "base")):
        cases.add(f"{x} ** {y}", operator.pow, x, y)
    cases.check()


# -- Integers that do not fit -------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:overflow encountered")  # to float16; JAX warns, too
@pytest.mark.parametrize("number", [127, 128, 255, 256, -1, -129, 2**31 - 1, 2**31, -2**31 - 1, 2**63, 2**70])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "float32", "float16"])
def test_large_python_integers(number, dtype):
    ours, jaxs = pair(np.ones(2, dtype))
    for name in ("add", "eq"):
        for flip in (False, True):
            def call(x, name=name, flip=flip):
                return BINARY[name](number, x) if flip else BINARY[name](x, number)

            got = outcome(call, ours)
            want = outcome(lambda x, call=call: jax.eval_shape(call, x), jaxs)
            if isinstance(want, Exception):
                same(got, want, (name, flip))
            else:
                assert (got.dtype, got.weak_type) == (want.dtype, want.weak_type)


# -- Comparisons of complex numbers, floats that are special ------------------------------------


def test_complex_numbers_are_ordered_by_parts():
    x = np.complex64([1, 1j, 1 + 1j, -1, np.nan, 1 + 2j])
    cases = Cases({"column": x[:, None], "row": x})
    for name in ("lt", "le", "gt", "ge", "eq", "ne"):
        cases.add(name, BINARY[name], "column", "row")
    cases.check()


def test_special_floats():
    x = np.float32([0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-40])
    cases = Cases({"column": x[:7, None], "row": x[:7]})
    for name in ("add", "sub", "mul", "truediv", "lt", "le", "eq", "ne", "pow"):
        cases.add(name, BINARY[name], "column", "row")
    cases.check()


class Near:
    """A foreign type with comparisons of its own, as `pytest.approx` makes them."""

    __array_ufunc__ = None

    def __eq__(self, other):
        return "near"

    def __ne__(self, other):
        return "far"


class Pair(NamedTuple):
    first: int


class OddPair(Pair):
    def __eq__(self, other):
        return "odd"


@pytest.mark.parametrize("op", ["eq", "ne"])
@pytest.mark.parametrize("where", ["left", "right"])
@pytest.mark.parametrize("other", [Near(), Pair(1), OddPair(1), None, "a", object(), len, {1}, [1]],
                         ids=lambda other: type(other).__name__)
def test_foreign_types_compare_in_their_own_way(op, where, other):
    for x in (np.float32(2), np.float32([1, 2])):
        results = []
        for library in (as_array, jnp.asarray):
            pair = (library(x), other)[::1 if where == "left" else -1]
            results.append(outcome(BINARY[op], *pair))
        same(*results, (op, where, other))


def test_comparisons_of_tests():
    assert as_array(np.float32([1, 2])) == pytest.approx(np.float32([1, 2]))
    assert as_array(np.float32([1, 2])) != pytest.approx(np.float32([1, 3]))


# -- The functions ------------------------------------------------------------------------------

FUNCTIONS = ["add", "subtract", "multiply", "true_divide", "maximum", "minimum", "equal",
             "not_equal", "less", "less_equal", "greater", "greater_equal", "bitwise_and",
             "bitwise_or", "bitwise_xor", "matmul"]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_strangers(name):
    for args in ((None, 1), ("b", 1), ([1.0], 2.0), (1.0, (2.0,)), ({}, 1), (np.array([None]), 1)):
        got = outcome(getattr(operators, name), *args)
        want = outcome(getattr(jnp, name), *args)
        same(got, want, (name, args))
        if args[0] is None or type(args[0]) is list:
            assert str(got).startswith(str(want)[:len(name) + 8]), (got, want)


@pytest.mark.parametrize("name", ["maximum", "minimum", "add", "less"])
def test_functions_of_scalars(name):
    for args in ((1, 2), (1.5, 2), (True, 2), (np.float16(1), 2.0), (True, True), (np.int8(3), np.uint8(4))):
        same(getattr(operators, name)(*args), getattr(jnp, name)(*args), (name, args))


def test_positive_of_unsigned_is_the_array_itself():
    x = as_array(np.uint8([1, 2]))
    assert +x is x and abs(x) is x and abs(as_array(True)).item() is True


# -- Methods ------------------------------------------------------------------------------------

METHODS = {
    "astype int": lambda x: x.astype(int), "astype float": lambda x: x.astype("float16"),
    "astype None": lambda x: x.astype(None), "astype bool": lambda x: x.astype(bool),
    "astype the same": lambda x: x.astype(x.dtype), "astype complex": lambda x: x.astype(complex),
    "astype nonsense": lambda x: x.astype("nonsense"), "astype copy": lambda x: x.astype(x.dtype, copy=True),
    "reshape": lambda x: x.reshape(3, 2), "reshape -1": lambda x: x.reshape(-1),
    "reshape tuple": lambda x: x.reshape((1, -1, 2)), "reshape list": lambda x: x.reshape([6]),
    "reshape F": lambda x: x.reshape(3, 2, order="F"), "reshape A": lambda x: x.reshape(6, order="A"),
    "reshape wrongly": lambda x: x.reshape(4), "reshape two unknown": lambda x: x.reshape(-1, -1),
    "reshape float": lambda x: x.reshape(3.0, 2), "reshape none": lambda x: x.reshape(4, -1),
    "reshape negative": lambda x: x.reshape(-2, -3), "reshape nothing": lambda x: x.reshape(),
    "transpose": lambda x: x.transpose(), "transpose None": lambda x: x.transpose(None),
    "transpose axes": lambda x: x.transpose(0, 1), "transpose tuple": lambda x: x.transpose((1, 0)),
    "transpose negative": lambda x: x.transpose(-1, 0), "transpose wrongly": lambda x: x.transpose(0, 0),
    "transpose outside": lambda x: x.transpose(0, 2), "T": lambda x: x.T, "mT": lambda x: x.mT,
    "mT of a vector": lambda x: x[0].mT, "T of a vector": lambda x: x[0].T,
    "iter": lambda x: [*x], "iter of a scalar": lambda x: iter(x[0, 0]), "len": len,
}


@pytest.mark.filterwarnings("ignore:Casting.*complex")
@pytest.mark.parametrize("name", METHODS)
def test_methods(name):
    for dtype in ("int32", "float32", "complex64"):
        ours, jaxs = pair(np.arange(6).reshape(2, 3).astype(dtype))
        same(outcome(METHODS[name], ours), outcome(METHODS[name], jaxs), (name, dtype))


def test_promotion_helpers_leave_equal_types_alone():
    x = as_array(np.float32([1, 2]))
    assert core_operators.promote_dtypes(x, x)[0] is x
    assert core_operators.promote_args("f", x, x)[1] is x
    wide, weak = core_operators.promote_dtypes_inexact(as_array(np.int8(1)), 2)
    assert typeof(wide) is typeof(weak) and wide.dtype == np.float32


@pytest.mark.parametrize("text", [
    "y * 2", "y + 1.0", "2 - y", "y * True", "i + 1", "i * 2.0", "y > 0", "y + y"])
def test_arrays_of_long_types_among_short_ones(text):
    """An array made while 64-bit types existed is used when they exist no more."""
    results = []
    for library in (jax, minijax):
        with library.enable_x64(True):
            names = {"y": library.numpy.ones(3), "i": library.numpy.arange(3)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results.append(eval(text, names))
    theirs, ours = results
    assert ours.dtype == theirs.dtype and ours.tolist() == theirs.tolist()
