"""The immutable array: conversions, printing, copies, and what NumPy makes of it."""

from __future__ import annotations

import copy
import gc
import operator
import pickle
import weakref

import numpy as np
import pytest

from minijax.core.array import Array, as_array, def_numpy
from minijax.core.core import Primitive, Tracer, typeof
from minijax.core.dtypes import float0
from minijax.core.primitives import ensure_array, stop_gradient_p
from minijax.lax import complex_numbers, cutting, elementwise as lax, reductions, selection, shaping
from minijax.lax.shaping import copy_p
from minijax.lax.stacking import unstack
from tests.core.same import BFLOAT16, outcome, pair, same
from tests.counting import calls_in
from tests.oracle import jax, jnp

DTYPES = ["bool", "int8", "uint8", "int32", "float16", BFLOAT16, "float32", "complex64"]


@pytest.mark.parametrize("read", [np.asarray, np.array, lambda x: np.add(x, 1), bytes, pickle.dumps])
def test_numpy_reads_an_array_in_few_calls(read):
    """From Python 3.12 on, NumPy asks for `__buffer__` before `__array__`. Neither may ask NumPy again."""
    assert calls_in(lambda: read(as_array(np.float32([1, 2])))) < 200


def test_an_array_cannot_be_assigned_to():
    """In the core alone this is Python's own error; the whole library says what to write instead."""
    x = as_array(np.float32([1, 2]))
    with pytest.raises(TypeError, match="item assignment"):
        x[0] = 3.0
    assert x.tolist() == [1.0, 2.0]


def numbers(shape, dtype):
    """Small values, none of them whole in floating point."""
    values = np.arange(np.prod(shape, dtype=int)).reshape(shape) % 7 + 1
    dtype = np.dtype(dtype)
    if dtype.kind in "biu":
        return (values % (2 if dtype.kind == "b" else 7)).astype(dtype)
    return (values * (0.375 - 1j) if dtype.kind == "c" else values * 0.375).astype(dtype)


# -- Conversions, for every dtype and size of shape ---------------------------------------------

CONVERSIONS = {
    "bool": bool, "int": int, "float": float, "complex": complex, "index": operator.index,
    "round": lambda x: [1, 2, 3, 4][x], "len": len, "iter": lambda x: [*map(np.asarray, x)],
    "item": lambda x: x.item(), "item of a place": lambda x: x.item(1),
    "item of two": lambda x: x.item(0, 1), "tolist": lambda x: x.tolist(),
    "format": lambda x: f"{x:6.2f}", "format integer": lambda x: f"{x:04d}", "plain": format,
    "str": str, "hash": hash, "range": lambda x: [*range(x)], "reversed": lambda x: [*map(
        np.asarray, reversed(x))], "in a set": lambda x: {x}, "unpack": lambda x: (lambda *a: len(a))(*x),
    "nbytes": lambda x: x.nbytes, "itemsize": lambda x: x.itemsize, "size": lambda x: x.size,
    "ndim": lambda x: x.ndim, "ready": lambda x: np.asarray(x.block_until_ready()),
    "addressable": lambda x: x.is_fully_addressable, "deleted": lambda x: x.is_deleted(),
}


@pytest.mark.daily(3)
@pytest.mark.parametrize("name", CONVERSIONS)
def test_conversions_as_jax(name):
    convert = CONVERSIONS[name]
    for dtype in DTYPES:
        for shape in ((), (1,), (1, 1), (3,), (2, 3), (0,), (0, 2)):
            ours, jaxs = pair(numbers(shape, dtype))
            got, want = outcome(convert, ours), outcome(convert, jaxs)
            where = f"{name} of {dtype}{shape}"
            if isinstance(want, list) and want and isinstance(want[0], np.ndarray):
                assert len(got) == len(want), where
                for x, y in zip(got, want):
                    np.testing.assert_array_equal(x, y, where)
            elif isinstance(want, np.ndarray):
                np.testing.assert_array_equal(got, want, where)
            else:
                same(got, want, where)


def test_extreme_values_survive():
    for value in (np.float32(np.inf), np.float32(np.nan), np.float32(-0.0), np.int8(-128),
                  np.uint32(2**32 - 1), np.complex64(complex(np.nan, -np.inf))):
        ours, jaxs = pair(value)
        for convert in (repr, str, lambda x: repr(x.item()), lambda x: repr(x.tolist())):
            assert convert(ours) == convert(jaxs)


def test_rows_keep_the_weak_type():
    ours, jaxs = pair([1.0, 2.0], np.float32, weak_type=True)
    assert [x.weak_type for x in ours] == [x.weak_type for x in jaxs] == [True, True]


# -- Printing -----------------------------------------------------------------------------------

PRINTED = [numbers(shape, dtype) for dtype in DTYPES for shape in ((), (3,), (2, 2))] + [
    numbers((0,), "float32"), numbers((0, 3), "int32"), numbers((2, 0, 1), BFLOAT16),
    numbers((40,), "int32"), numbers((40,), "float32"), numbers((1, 30), "float16"),
    numbers((3, 12), "complex64"), numbers((2, 3, 4), "float32"), numbers((1001,), "int8"),
    numbers((60, 30), "float32"), numbers((17,), "bool"), numbers((1, 1, 1), "float32"),
    np.array([1e-30, 1e30], np.float32), np.array([np.nan, np.inf, -np.inf], np.float32),
    np.array([1e-3, 1e4], np.float16), np.float32(1) / 3 * np.arange(7, dtype=np.float32),
    np.linspace(0, 1, 9, dtype=np.float32), np.arange(16, dtype=np.uint32) * 10**8,
    np.arange(15, dtype=np.float32) / 7, np.arange(14, dtype=np.float32) / 7,
]


@pytest.mark.parametrize("number", range(len(PRINTED)))
def test_printed_as_jax_prints(number):
    for weak in (False, True):
        ours, jaxs = pair(PRINTED[number], weak_type=weak)
        assert (repr(ours), str(ours)) == (repr(jaxs), str(jaxs))
        assert f"{ours}" == f"{jaxs}"


def test_print_options_are_numpys():
    ours, jaxs = pair(numbers((30,), "float32") / 7)
    for options in ({"precision": 2}, {"linewidth": 40}, {"threshold": 5}, {"suppress": True},
                    {"linewidth": 200}):
        with np.printoptions(**options):
            assert repr(ours) == repr(jaxs)


# -- Immutability -------------------------------------------------------------------------------


@pytest.mark.parametrize("index", [0, slice(None), ..., (0, 1), None])
def test_elements_cannot_be_assigned(index):
    ours, jaxs = pair(numbers((2, 3), "float32"))
    got, want = (outcome(operator.setitem, x, index, 1) for x in (ours, jaxs))
    assert type(got) is type(want) is TypeError
    assert str(got).split()[:9] == str(want).split()[:9] and ".at[idx].set(y)" in str(got)


def test_in_place_operators_make_new_arrays():
    x = y = as_array(np.float32([1, 2]))
    x += 1
    x *= 2
    assert (x.tolist(), y.tolist()) == ([4, 6], [1, 2])


def test_numpy_sees_it_read_only():
    x = as_array(np.float32([1, 2]))
    for view in (np.asarray(x), np.array(x, copy=False), x.__array__()):
        assert not view.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            view[0] = 5
    own = np.array(x)
    own[0] = 5
    wide = np.asarray(x, np.float64)
    wide[0] = 5
    assert x.tolist() == [1, 2] and wide.dtype == np.float64


def test_a_row_of_a_read_only_view_is_read_only():
    x = as_array(numbers((2, 3), "float32"))
    row = next(iter(x))
    assert not np.asarray(row).flags.writeable and not np.asarray(x)[0].flags.writeable


def test_changing_the_source_changes_nothing():
    source = np.float32([1, 2])
    x, z = as_array(source), ensure_array(source)
    y = lax.reciprocal(source)
    source[:] = 0
    assert (x.tolist(), z.tolist(), y.tolist()) == ([1, 2], [1, 2], [1, 0.5])


@pytest.mark.parametrize("name, identity", {
    "copy": copy_p.bind, "stop_gradient": stop_gradient_p.bind,
    "convert": lambda x: lax.convert_element_type(x, x.dtype), "positive": lambda x: +as_array(x),
    "real": lambda x: complex_numbers.real(complex_numbers.complex(x, x)), "pow 1": lambda x: lax.integer_pow(x, 1),
    "reshape": lambda x: shaping.reshape(shaping.reshape(x[None], (1, 2, 1)), (2,)),
    "reshape alone": lambda x: shaping.reshape(x[None], (2,)),
    "transpose": lambda x: shaping.transpose(x[None], (1, 0)).reshape(2),
    "rev": lambda x: shaping.rev(x[::-1], (0,)), "squeeze": lambda x: shaping.squeeze(x[None], (0,)),
    "broadcast": lambda x: shaping.broadcast_in_dim(x, (1, 2), (1,)).reshape(2),
    "slice": lambda x: cutting.slice(x, (0,), (2,)),
    "split": lambda x: cutting.split(x, (2, 0))[0],
    "unstack": lambda x: unstack(x[None])[0],
    "select_n": lambda x: selection.select_n(np.zeros(2, np.int32), x),
    "sum over nothing": lambda x: reductions.reduce_max(x, ()),
}.items())
def test_results_share_no_memory_with_numpys_arguments(name, identity):
    source = np.float32([1, 2])
    out = identity(source)
    source[:] = 0
    assert out.tolist() == [1, 2]


def test_an_array_stays_itself():
    array, nothing = as_array(1), np.zeros(2, float0)
    assert as_array(array) is array is ensure_array(array)
    assert ensure_array(nothing) is nothing


# -- Copies -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_copies_and_pickles(dtype):
    for shape in ((), (3,), (0, 2)):
        for weak in (False, True):
            x, jaxs = pair(numbers(shape, dtype), weak_type=weak)
            for y in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x)),
                      pickle.loads(pickle.dumps([x, x]))[0]):
                same(y, pickle.loads(pickle.dumps(jaxs)), "pickled")
            assert copy.deepcopy({"a": [x]})["a"][0].aval is x.aval


def test_deepcopy_is_a_new_array():
    x = as_array(np.float32([1, 2]))
    assert copy.deepcopy(x) is not x
    assert not np.shares_memory(np.asarray(copy.deepcopy(x)), np.asarray(x))


def test_weak_references():
    x = as_array(np.float32([1, 2]))
    ref = weakref.ref(x)
    del x
    gc.collect()
    assert ref() is None


def test_no_attributes_can_be_added():
    with pytest.raises(AttributeError):
        as_array(1).name = "x"


# -- Class --------------------------------------------------------------------------------------


class Box(Tracer):
    __slots__ = ("aval",)


def test_instances():
    assert isinstance(as_array(1), Array) and isinstance(object.__new__(Box), Array)
    for x in (1, 1.0, np.ones(2), np.float32(1), [1], None):
        assert not isinstance(x, Array)
    assert type(as_array(1)) is Array and not issubclass(np.ndarray, Array)


@pytest.mark.parametrize("other", [None, "a", b"a", object(), np.array, ...])
def test_equality_with_strangers(other):
    ours, jaxs = pair(np.float32([1, 2]))
    for relation in (operator.eq, operator.ne):
        assert relation(ours, other) is relation(jaxs, other)
        assert relation(other, ours) is relation(other, jaxs)
    assert (ours in [None, "a", 3.0][:2]) is False


@pytest.mark.parametrize("other", [[1, 2], (1, 2), [], {}, {1, 2}], ids=repr)
def test_containers_are_no_operands(other):
    ours, jaxs = pair(np.float32([1, 2]))
    relations = [operator.eq, operator.ne, operator.add, operator.mul, operator.lt, operator.sub]
    for relation in relations:
        for order in (lambda x, r=relation: r(x, other), lambda x, r=relation: r(other, x)):
            got, want = outcome(order, ours), outcome(order, jaxs)
            assert type(got) is type(want) is TypeError, (relation, got, want)


# -- With NumPy ---------------------------------------------------------------------------------

NUMPY_CALLS = {
    "np.add": lambda n, x: np.add(n, x), "np.add reflected": lambda n, x: np.add(x, n),
    "np.sin": lambda n, x: np.sin(x), "np.sum": lambda n, x: np.asarray(np.add.reduce(x)),
    "np.concatenate": lambda n, x: np.concatenate([n, x]), "np.stack": lambda n, x: np.stack([x, n]),
    "np.array_equal": lambda n, x: np.array_equal(n, x), "np.shape": lambda n, x: np.shape(x),
    "np.float32": lambda n, x: np.float32(x), "np.array of dtype": lambda n, x: np.array(x, np.int8),
    "np.asarray of list": lambda n, x: np.asarray([x, x]), "np.ndim": lambda n, x: np.ndim(x),
    "np.array twice": lambda n, x: np.array([x[0], x[1]]), "np.zeros": lambda n, x: np.zeros(x.shape),
    "np.isscalar": lambda n, x: np.isscalar(x), "np.testing": lambda n, x: np.testing.assert_allclose(x, x),
    "index": lambda n, x: n[x.astype(np.int32)], "assign": lambda n, x: np.copyto(n.copy(), x),
}


@pytest.mark.parametrize("name", NUMPY_CALLS)
def test_numpy_functions_take_it_as_they_take_jaxs(name):
    n = np.float32([3, 4])
    ours, jaxs = pair(np.float32([1, 0]))
    got, want = outcome(NUMPY_CALLS[name], n, ours), outcome(NUMPY_CALLS[name], n, jaxs)
    if isinstance(want, np.ndarray):
        assert type(got) is type(want) and got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)
    else:
        same(got, want, name)


def test_numpy_operands_give_way():
    for n in (np.float32([3, 4]), np.float32(3), np.float64(3), np.array(3)):
        ours, jaxs = pair(np.float32([1, 2]))
        for operation in (operator.add, operator.mul, operator.sub, operator.lt, operator.eq):
            same(operation(n, ours), operation(n, jaxs), (n, operation))


def test_dlpack():
    x, jaxs = pair(numbers((2, 3), "float32"))
    assert x.__dlpack_device__() == tuple(jaxs.__dlpack_device__())
    out = np.from_dlpack(x)
    np.testing.assert_array_equal(out, np.asarray(x))
    assert not out.flags.writeable
    np.testing.assert_array_equal(jnp.from_dlpack(x), jaxs)


# -- Evaluation on NumPy ------------------------------------------------------------------------


def test_a_numpy_rule():
    double_p = Primitive("double")
    double_p.def_abstract_eval(lambda aval: aval)
    rule = def_numpy(double_p, lambda x: x + x)
    assert rule(3) == 6
    for x in (3, 1.5, np.int8(3), np.float32([1, 2]), as_array(np.float32([1, 2]))):
        out = double_p.bind(x)
        assert type(out) is Array and out.aval is typeof(x)
    pair_p = Primitive("pair", multiple_results=True)
    pair_p.def_abstract_eval(lambda aval: [aval, aval.update(shape=())])
    def_numpy(pair_p, lambda x: (x, x.sum()))
    first, second = pair_p.bind(np.float32([1, 2]))
    assert (first.shape, second.shape, second.item()) == ((2,), (), 3)


def test_the_shape_rule_complains_before_numpy_can_broadcast():
    with pytest.raises(TypeError):
        lax.add(np.ones(3, np.float32), np.ones(3, np.int32))
    with pytest.raises(TypeError):
        lax.add(np.ones((2, 3), np.float32), np.ones(3, np.float32))


@pytest.mark.filterwarnings("error")
def test_floating_point_errors_are_values_not_warnings():
    with np.errstate(all="raise"):
        x = as_array(np.float32([-1, 0, 3e38]))
        assert np.isnan(np.asarray(lax.log(x))[0]) and np.isinf(np.asarray(lax.mul(x, x))[2])
        assert np.isinf(np.asarray(lax.reciprocal(x))[1])
        assert lax.mul(np.int8(100), np.int8(3)).item() == jax.lax.mul(np.int8(100), np.int8(3))


@pytest.mark.parametrize("x", [None, "a", [1], {}, object(), np.array("a")], ids=lambda x: type(x).__name__)
def test_what_is_no_array(x):
    with pytest.raises(TypeError, match="not a valid JAX type"):
        as_array(x)
    with pytest.raises(TypeError):
        lax.neg(x)


# -- Life ---------------------------------------------------------------------------------------


def test_a_deleted_array():
    ours, jaxs = pair(np.float32([1, 2]))
    for x in (ours, jaxs):
        assert not x.is_deleted()
        x.delete()
        assert x.is_deleted() and x.shape == (2,)
    for use in (np.asarray, str, lambda x: x + 1, lambda x: x.tolist(), pickle.dumps, lambda x: x[0]):
        got, want = outcome(use, ours), outcome(use, jaxs)
        assert type(got) is type(want), (got, want)
        assert "deleted" in str(got)
    for x in (ours, jaxs):
        with pytest.raises(RuntimeError, match="deleted"):
            x.block_until_ready()
    assert repr(ours) == "<deleted Array with shape=float32[2]>"  # JAX's raises, as `str` does
