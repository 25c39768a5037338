"""The starter primitives evaluated: every dtype, edge values, shapes, and what they refuse."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

from minijax import lax as ours_lax
from minijax.core.array import Array, as_array
from minijax.core.core import Primitive
from minijax.core.primitives import add_any_p, constant, convert, stop_gradient_p
from minijax.lax.shaping import copy_p
from tests.core.same import BFLOAT16, close, outcome
from tests.families import families
from tests.oracle import ask, jax

MODULES = families()
DTYPES = {"bool": np.bool_, "int8": np.int8, "uint8": np.uint8, "int32": np.int32, "uint32": np.uint32,
          "float16": np.float16, "bfloat16": BFLOAT16.type, "float32": np.float32, "complex64": np.complex64}
RELAXED = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 3e-5, "complex64": 3e-5}


def edges(dtype) -> np.ndarray:
    """Zero, ones, extremes and, in floating point, what is no number."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        signed = [-1, -2, -3, -7] if dtype.kind == "i" else []
        return np.array([0, 1, 2, 3, 5, 7, info.max, info.min, info.max - 1, *signed], dtype)
    reals = np.array([0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3, 7.25, np.inf, -np.inf, np.nan])
    if dtype.kind == "c":
        return np.array([0, 1, -1, 1j, -1j, 1 + 2j, -2.5 + 0.5j, 0.25 - 0.75j], dtype)
    return reals.astype(dtype)


class Calls:
    """Calls of `lax` functions on arrays, done by JAX in one program."""

    def __init__(self):
        self.calls = []

    def add(self, where, function, *args):
        self.calls.append((where, function, args))

    def in_jax(self):
        """The classes of the errors, the types of the results, and the results."""
        errors, types = {}, {}

        def all_at_once(all_args):
            outs = {}
            for i, ((_, function, _), args) in enumerate(zip(self.calls, all_args)):
                out = outcome(function, jax.lax, *args)
                if isinstance(out, Exception):
                    errors[i] = type(out).__name__
                else:
                    out = [*out] if isinstance(out, (list, tuple)) else [out]
                    types[i] = [(x.shape, np.dtype(x.dtype), x.weak_type) for x in map(jax.typeof, out)]
                    outs[i] = out
            return outs

        wants = jax.jit(all_at_once)([args for _, _, args in self.calls])
        return errors, types, wants

    def check(self, tol=RELAXED):
        errors, types, wants = ask(self.in_jax)
        for i, (where, function, args) in enumerate(self.calls):
            got = outcome(function, ours_lax, *args)
            if i in errors:
                assert type(got).__name__ == errors[i], where
                continue
            if isinstance(got, Exception):
                raise AssertionError(f"{where}: in JAX {types[i]}") from got
            got = [*got] if isinstance(got, (list, tuple)) else [got]
            for x, want, in_jax in zip(got, wants[i], types[i], strict=True):
                assert type(x) is Array, where
                assert (x.shape, x.dtype, x.weak_type) == in_jax, where
                close(x, want, where, tol.get(x.dtype.name, 0))


UNARY = ("neg sin cos tan tanh exp exp2 log log1p expm1 sqrt rsqrt cbrt logistic abs sign floor ceil round square "
         "is_finite real imag conj bitwise_not reciprocal").split()
BINARY = ("add sub mul div rem max min eq ne lt le gt ge bitwise_and bitwise_or bitwise_xor "
          "shift_left shift_right_arithmetic shift_right_logical complex").split()
# XLA and NumPy differ at complex poles and in the last bits near them: all finite, none special.
TAME = np.array([0.5 + 0.25j, -0.75 + 1j, 1.25 - 0.5j, -0.5 - 0.75j], np.complex64)


@pytest.mark.parametrize("name", UNARY)
def test_unary_at_edge_values(name):
    calls = Calls()
    for label, dtype in DTYPES.items():
        x = TAME if dtype == np.complex64 else edges(dtype)
        calls.add(f"{name} {label}", lambda lax, x: getattr(lax, name)(x), x)
    calls.check()


@pytest.mark.parametrize("name", BINARY)
def test_binary_at_edge_values(name):
    calls = Calls()
    for label, dtype in DTYPES.items():
        x, y = np.meshgrid(edges(dtype), edges(dtype))
        if dtype == np.complex64 and name == "div":
            x, y = np.meshgrid(TAME, TAME)
        calls.add(f"{name} {label}", lambda lax, x, y: getattr(lax, name)(x, y), x, y)
    calls.check()


@pytest.mark.parametrize("y", [-3, -1, 0, 1, 2, 3, 8, 31])
def test_integer_powers(y):
    calls = Calls()
    for label, dtype in DTYPES.items():
        x = TAME if dtype == np.complex64 else edges(dtype)
        calls.add(f"{label} ** {y}", lambda lax, x: lax.integer_pow(x, y), x)
    calls.check({**RELAXED, "float16": 2e-2, "bfloat16": 0.1})


def test_powers():
    calls = Calls()
    for label in ("float16", "bfloat16", "float32"):
        x, y = np.meshgrid(edges(DTYPES[label]), edges(DTYPES[label]))
        calls.add(label, lambda lax, x, y: lax.pow(x, y), x, y)
        calls.add(f"{label} to integers", lambda lax, x, y: lax.pow(x, y), x, np.rint(
            np.nan_to_num(y.astype(np.float32), posinf=4, neginf=-4)).astype(np.int32))
    calls.add("complex", lambda lax, x, y: lax.pow(x, y), TAME, TAME[::-1].copy())
    calls.check({**RELAXED, "float16": 2e-2, "bfloat16": 0.1})


@pytest.mark.parametrize("source", DTYPES)
def test_conversions_between_all_dtypes(source):
    calls = Calls()
    x = edges(DTYPES[source])
    if source not in ("bool", "complex64") and np.dtype(DTYPES[source]).kind not in "iu":
        x = np.concatenate([x, np.array([300, -300, 1e4, -1e4, 0.999, -1.999]).astype(x.dtype)])
    for target in DTYPES.values():
        calls.add(f"{source} to {target}", lambda lax, x, target=target: lax.convert_element_type(x, target), x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)  # JAX's, where it runs
        calls.check()


def test_large_floats_saturate_as_integers():
    x = np.float32([3e9, -3e9, 1e30, -1e30, np.nan, np.inf, -np.inf, 2**31, -2**31])
    calls = Calls()
    for target in (np.int32, np.uint32, np.int8, np.uint8, np.int16):
        calls.add(target, lambda lax, x, target=target: lax.convert_element_type(x, target), x)
    calls.check()


# -- Shapes -------------------------------------------------------------------------------------


def array(shape, dtype=np.float32):
    values = (np.arange(np.prod(shape)) * 5 % 11).reshape(shape)
    return (values % 2 == 0 if dtype == np.bool_ else values.astype(dtype))


SHAPING = [
    ("broadcast_in_dim", lambda lax, x: lax.broadcast_in_dim(x, (2, 4, 3), (0, 2)), [(2, 3)], [(1, 3)], [(2, 1)]),
    ("broadcast", lambda lax, x: lax.broadcast(x, (2, 0)), [(3,)], [()]),
    ("reshape", lambda lax, x: lax.reshape(x, (3, 2)), [(2, 3)], [(6,)], [(1, 6, 1)]),
    ("reshape in order", lambda lax, x: lax.reshape(x, (3, 2), (1, 0)), [(2, 3)]),
    ("squeeze", lambda lax, x: lax.squeeze(x, (0, -1)), [(1, 3, 1)], [(1, 1)]),
    ("expand_dims", lambda lax, x: lax.expand_dims(x, (0, -1)), [(2,)], [()]),
    ("transpose", lambda lax, x: lax.transpose(x, (2, 0, 1)), [(2, 3, 4)], [(0, 1, 2)]),
    ("rev", lambda lax, x: lax.rev(x, (0, 2)), [(2, 3, 4)], [(2, 0, 1)]),
    ("concatenate", lambda lax, *xs: lax.concatenate(xs, 1), [(2, 3), (2, 0), (2, 1)], [(2, 3)]),
    ("stack", lambda lax, *xs: lax.stack(xs, 1), [(2, 3), (2, 3)]),
    ("unstack", lambda lax, x: lax.unstack(x, 1), [(2, 3)], [(3, 2, 0)]),
    ("split", lambda lax, x: lax.split(x, (1, 0, 2), 1), [(2, 3)]),
    ("pad", lambda lax, x, v: lax.pad(x, v, ((1, 2, 0), (-1, 1, 2))), [(2, 3), ()], [(0, 1), ()]),
    ("pad nothing", lambda lax, x, v: lax.pad(x, v, ((-2, -2, 1),)), [(3,), ()]),
    ("collapse", lambda lax, x: lax.collapse(x, 0, 2), [(2, 3, 4)]),
    ("slice", lambda lax, x: lax.slice(x, (1, 0), (3, 4), (2, 3)), [(3, 4)]),
    ("slice_in_dim", lambda lax, x: lax.slice_in_dim(x, -3, None, 2, axis=1), [(3, 4)]),
    ("index_in_dim", lambda lax, x: lax.index_in_dim(x, -1, 0, keepdims=False), [(3, 4)]),
    ("select_n", lambda lax, x: lax.select_n(lax.eq(x, x), x, x), [(3,)]),
    ("clamp", lambda lax, a, x, b: lax.clamp(a, x, b), [(), (2, 3), ()], [(3,), (3,), (3,)]),
    ("full_like", lambda lax, x: lax.full_like(x, 1), [(2, 3)]),
    ("iota", lambda lax, x: lax.broadcasted_iota(np.int32, (2, 3), 1), [()]),
    ("cumsum", lambda lax, x: lax.cumsum(x, 1), [(2, 4)], [(2, 0)]),
    ("cumprod", lambda lax, x: lax.cumprod(x, 0, reverse=True), [(4, 2)]),
    ("cummax", lambda lax, x: lax.cummax(x, 1), [(2, 4)]),
    ("cummin", lambda lax, x: lax.cummin(x, 0, reverse=True), [(4,)]),
    ("cumlogsumexp", lambda lax, x: lax.cumlogsumexp(x, 1), [(2, 4)]),
    ("argmax", lambda lax, x: lax.argmax(x, 1, np.int32), [(2, 3)]),
    ("argmin", lambda lax, x: lax.argmin(x, 0, np.uint8), [(2, 3)]),
    ("dynamic_index", lambda lax, x: lax.dynamic_index_in_dim(x, np.int32(-1), 1), [(2, 3)]),
    ("dynamic_update", lambda lax, x, u: lax.dynamic_update_slice_in_dim(x, u, np.int32(1), 0), [(3, 2), (1, 2)]),
    ("dot", lambda lax, a, b: lax.dot(a, b), [(2, 3), (3, 4)], [(3,), (3,)], [(2, 0), (0, 3)], [(2, 3), (3,)]),
    ("batch_matmul", lambda lax, a, b: lax.batch_matmul(a, b), [(2, 3, 4), (2, 4, 1)]),
    ("dot_general", lambda lax, a, b: lax.dot_general(a, b, (((1, 3), (3, 1)), ((2, 0), (0, 2)))),
     [(2, 3, 5, 1), (5, 1, 2, 3, 6)]),
    *[(f"reduce_{name}", lambda lax, x, name=name: getattr(lax, f"reduce_{name}")(x, (0, 2)),
       [(2, 3, 4)], [(0, 3, 1)]) for name in ("sum", "max", "min", "prod", "and", "or", "xor")],
]


# What XLA cannot compile, though JAX's types allow it.
NOT_IN_XLA = {"clamp": ["bool", "complex64"], "argmax": ["complex64"], "argmin": ["complex64"],
              "cumlogsumexp": ["bool", "int8", "uint8", "int32", "uint32", "complex64"]}


@pytest.mark.parametrize("name, function, shapes", [(name, f, shapes) for name, f, *shapes in SHAPING],
                         ids=[name for name, *_ in SHAPING])
def test_shapes_of_every_dtype(name, function, shapes):
    calls = Calls()
    for label, dtype in DTYPES.items():
        for line in shapes if label not in NOT_IN_XLA.get(name, ()) else ():
            calls.add(f"{name} {label} {line}", function, *(array(shape, dtype) for shape in line))
    calls.check({**RELAXED, "bfloat16": 0.1, "float16": 1e-2})


def test_every_starter_primitive_is_applied(monkeypatch):
    applied = set()
    original = Primitive.bind

    def bind(self, *args, **params):
        applied.add(self.name)
        return original(self, *args, **params)

    monkeypatch.setattr(Primitive, "bind", bind)
    for _, function, *lines in SHAPING:
        for line in lines:
            for dtype in (np.float32, np.int32):
                outcome(function, ours_lax, *(array(shape, dtype) for shape in line))
    for name in UNARY:
        outcome(getattr(ours_lax, name), np.float32(1)), outcome(getattr(ours_lax, name), 1)
        outcome(getattr(ours_lax, name), np.complex64(1))
    for name in BINARY:
        outcome(getattr(ours_lax, name), 1, 1), outcome(getattr(ours_lax, name), np.float32(1), np.float32(1))
    ours_lax.atanh(0.5), ours_lax.pow(2.0, 2.0), ours_lax.integer_pow(2.0, 3)
    all_names = {p.name for module in MODULES for p in vars(module).values() if isinstance(p, Primitive)}
    by_other_tests = {"convert_element_type", "add_any", "copy", "stop_gradient"}
    assert all_names - by_other_tests <= applied


@pytest.mark.parametrize("function", [
    lambda lax: lax.reshape(F, (4,)),
    lambda lax: lax.slice(F, (0, 0), (2, 3), (0, 1)), lambda lax: lax.dynamic_slice(F, (0, 0), (1,))])
def test_refused_at_once_what_jax_refuses_later_or_by_accident(function):
    with pytest.raises((TypeError, ValueError, ZeroDivisionError)):
        jax.jit(lambda: function(jax.lax))()
    with pytest.raises(TypeError):
        function(ours_lax)


@pytest.mark.parametrize("primitive", [copy_p, stop_gradient_p])
def test_identities(primitive):
    x = as_array(np.float32([1, 2]))
    assert primitive.bind(x).tolist() == [1, 2] and primitive.bind(2.0).weak_type


def test_sums_of_tangents():
    strong, weak = as_array(np.float32(1)), constant(2, np.dtype(np.float32), True)
    for x, y in itertools.product((strong, weak), repeat=2):
        out = add_any_p.bind(x, y)
        assert out.weak_type == x.weak_type and out.item() == x.item() + y.item()


# -- Positions ----------------------------------------------------------------------------------


def test_starts_are_clamped_into_bounds():
    x, u = array((5, 4)), array((2, 3)) + 50
    calls = Calls()
    for i, j in itertools.product((-9, -5, -1, 0, 2, 3, 4, 9), (-5, -1, 0, 1, 3)):
        calls.add(f"slice {i} {j}", lambda lax, x, i, j: lax.dynamic_slice(x, (i, j), (2, 3)),
                  x, np.int32(i), np.int32(j))
        calls.add(f"update {i} {j}", lambda lax, x, u, i, j: lax.dynamic_update_slice(x, u, (i, j)),
                  x, u, np.int32(i), np.int32(j))
    calls.check()


def test_extremes_of_ties_and_nans():
    calls = Calls()
    x = np.float32([[1, 3, 3], [np.nan, 2, np.nan], [0.0, -0.0, 0], [-np.inf, np.inf, np.inf]])
    for name in ("argmax", "argmin"):
        calls.add(name, lambda lax, x, name=name: getattr(lax, name)(x, 1, np.int32), x)
    for name in ("reduce_max", "reduce_min", "reduce_sum", "reduce_prod"):
        calls.add(name, lambda lax, x, name=name: getattr(lax, name)(x, (1,)), x)
    for name in ("cummax", "cummin", "cumsum", "cumlogsumexp"):
        calls.add(name, lambda lax, x, name=name: getattr(lax, name)(x, 1), x)
    calls.check()


def test_half_precision_sums_are_accumulated_precisely():
    calls = Calls()
    for dtype in (np.float16, BFLOAT16):
        x = np.full(3000, 0.1).astype(dtype)
        calls.add(dtype, lambda lax, x: lax.reduce_sum(x, (0,)), x)
        calls.add(dtype, lambda lax, x: lax.dot(x, x), x)
    calls.check()


# -- What is refused: in JAX, by the compiler if not before ----------------------------------------------------------------------------

F, I, B = array((2, 3)), array((2, 3), np.int32), array((2, 3), np.bool_)
REFUSED = {
    "two dtypes": lambda lax: lax.add(F, I), "shapes": lambda lax: lax.add(F, F.T),
    "ranks": lambda lax: lax.add(F, F[0]), "sin of int": lambda lax: lax.sin(I),
    "neg of bool": lambda lax: lax.neg(B), "and of float": lambda lax: lax.bitwise_and(F, F),
    "shift of float": lambda lax: lax.shift_left(F, F), "shift of bool": lambda lax: lax.shift_left(B, B),
    "complex of int": lambda lax: lax.complex(I, I), "real of float": lambda lax: lax.real(F),
    "floor of complex": lambda lax: lax.floor(F + 1j), "lt of complex": lambda lax: lax.lt(F + 1j, F + 1j),
    "select of dtypes": lambda lax: lax.select(B, F, I), "select of shapes": lambda lax: lax.select(B, F, F.T),
    "select by float": lambda lax: lax.select(F, F, F), "select by shape": lambda lax: lax.select(B[0], F, F),
    "select of none": lambda lax: lax.select_n(B), "select of three by bool": lambda lax: lax.select_n(B, F, F, F),
    "clamp of dtypes": lambda lax: lax.clamp(0, F, 1), "clamp of shapes": lambda lax: lax.clamp(F[0], F, F),
    "integer_pow": lambda lax: lax.integer_pow(I, -1),
    "pow of ints": lambda lax: lax.pow(I, I), "pow of bools": lambda lax: lax.pow(F, B),
    "reshape negative": lambda lax: lax.reshape(F, (-1,)),
    "reshape order": lambda lax: lax.reshape(F, (6,), (0, 0)), "squeeze": lambda lax: lax.squeeze(F, (0,)),
    "squeeze outside": lambda lax: lax.squeeze(F, (5,)), "squeeze twice": lambda lax: lax.squeeze(F[:1], (0, 0)),
    "expand outside": lambda lax: lax.expand_dims(F, (7,)), "expand twice": lambda lax: lax.expand_dims(F, (0, 0)),
    "transpose": lambda lax: lax.transpose(F, (0,)), "transpose twice": lambda lax: lax.transpose(F, (0, 0)),
    "rev twice": lambda lax: lax.rev(F, (0, 0)), "rev outside": lambda lax: lax.rev(F, (2,)),
    "broadcast": lambda lax: lax.broadcast_in_dim(F, (2, 4), (0, 1)),
    "broadcast dims": lambda lax: lax.broadcast_in_dim(F, (2, 3), (0,)),
    "broadcast outside": lambda lax: lax.broadcast_in_dim(F, (2, 3), (0, 2)),
    "concatenate none": lambda lax: lax.concatenate([], 0), "concatenate dtypes": lambda lax: lax.concatenate([F, I], 0),
    "concatenate shapes": lambda lax: lax.concatenate([F, F.T], 0), "concatenate ranks": lambda lax: lax.concatenate([F, F[0]], 0),
    "concatenate outside": lambda lax: lax.concatenate([F, F], 2), "concatenate scalars": lambda lax: lax.concatenate([F[0, 0]], 0),
    "pad dtypes": lambda lax: lax.pad(F, 1, ((0, 0, 0), (0, 0, 0))), "pad rank": lambda lax: lax.pad(F, 0.0, ((0, 0, 0),)),
    "pad interior": lambda lax: lax.pad(F, 0.0, ((0, 0, -1), (0, 0, 0))), "pad too little": lambda lax: lax.pad(F, 0.0, ((-3, 0, 0), (0, 0, 0))),
    "split sizes": lambda lax: lax.split(F, (1, 3), 0), "split axis": lambda lax: lax.split(F, (1, 1), 2),
    "slice outside": lambda lax: lax.slice(F, (0, 0), (2, 4)), "slice backwards": lambda lax: lax.slice(F, (1, 0), (0, 3)),
    "slice negative": lambda lax: lax.slice(F, (-1, 0), (2, 3)), "slice rank": lambda lax: lax.slice(F, (0,), (2,)),
    "dynamic_slice rank": lambda lax: lax.dynamic_slice(F, (0,), (1, 1)),
    "dynamic_slice large": lambda lax: lax.dynamic_slice(F, (0, 0), (3, 1)), "dynamic_slice float": lambda lax: lax.dynamic_slice(F, (0.0, 0.0), (1, 1)),
    "update large": lambda lax: lax.dynamic_update_slice(F, array((3, 3)), (0, 0)),
    "update dtype": lambda lax: lax.dynamic_update_slice(F, I, (0, 0)), "update rank": lambda lax: lax.dynamic_update_slice(F, F[0], (0, 0)),
    "sum axis": lambda lax: lax.reduce_sum(F, (2,)), "sum twice": lambda lax: lax.reduce_sum(F, (0, 0)),
    "max of empty": lambda lax: lax.argmax(array((0, 2)), 0, np.int32), "argmax axis": lambda lax: lax.argmax(F, 2, np.int32),
    "argmax dtype": lambda lax: lax.argmax(F, 0, np.float32), "cumsum axis": lambda lax: lax.cumsum(F, 2),
    "cumsum negative": lambda lax: lax.cumsum(F, -1), "sum of bool": lambda lax: lax.reduce_sum(B, (0,)),
    "dot sizes": lambda lax: lax.dot(F, F), "dot dims": lambda lax: lax.dot_general(F, F, (((0,), (5,)), ((), ()))),
    "dot numbers": lambda lax: lax.dot_general(F, F, (((0, 1), (0,)), ((), ()))), "dot of scalars": lambda lax: lax.dot(1.0, 2.0),
    "dot twice": lambda lax: lax.dot_general(F, F, (((0, 0), (0, 0)), ((), ()))),
    "iota dimension": lambda lax: lax.broadcasted_iota(np.int32, (2, 3), 2), "iota negative": lambda lax: lax.iota(np.int32, -1),
    "iota of bool": lambda lax: lax.broadcasted_iota(bool, (2,), 0), "full of array": lambda lax: lax.full((2,), F),
    "a string": lambda lax: lax.neg("a"), "a list": lambda lax: lax.neg([1.0]), "None": lambda lax: lax.add(None, 1),
    "convert to text": lambda lax: lax.convert_element_type(F, "U3"), "convert to nonsense": lambda lax: lax.convert_element_type(F, "nonsense"),
    "round how": lambda lax: lax.round(I), "is_finite of int": lambda lax: lax.is_finite(I), "clamp of complex": lambda lax: lax.clamp(F + 1j, F + 1j, F + 1j),
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_the_class_of_error_that_jax_raises(name):
    want = ask(lambda: jax.eval_shape(lambda: REFUSED[name](jax.lax)))
    got = outcome(REFUSED[name], ours_lax)
    if isinstance(want, Exception):
        assert type(got).__name__ == type(want).__name__, f"{got!r}\nin JAX {want!r}"
        assert str(got)
    else:
        assert not isinstance(got, Exception), f"in JAX {want}"
        assert (got.shape, got.dtype) == (want.shape, want.dtype)


# -- Scalars and constants ----------------------------------------------------------------------


def test_python_scalars_take_the_dtype_of_their_neighbour():
    calls = Calls()
    for label, dtype in DTYPES.items():
        for scalar in (True, 2, 2.0, 2j):
            calls.add(f"{label} {scalar}", lambda lax, x, scalar=scalar: lax.mul(x, scalar), array((3,), dtype))
            calls.add(f"{scalar} {label}", lambda lax, x, scalar=scalar: lax.max(scalar, x), array((3,), dtype))
    calls.check()


def test_constants():
    x = constant(2.5, np.dtype(np.float32), True)
    assert (x.item(), x.weak_type, x.dtype) == (2.5, True, np.float32)
    assert constant(200, np.dtype(np.int8)).item() == -56
    with pytest.raises(OverflowError):
        constant(2**31, np.dtype(np.int8))
    with pytest.raises(TypeError, match="complex number cannot become"):
        constant(1j, np.dtype(np.float32))
    assert convert(x, x.dtype, True) is x


def test_padding_with_a_double_that_is_also_a_python_float():
    """With 64-bit types disabled it is a single, and no scalar of Python's."""
    calls = Calls()
    calls.add("pad", lambda lax, x: lax.pad(x, np.float64(3), [(1, 0, 0)]), np.ones(2, np.float32))
    calls.check()
