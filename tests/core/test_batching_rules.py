"""Chapter 4: the batching rule of every primitive, against JAX's `vmap` and against a loop."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from minijax import core
from minijax.core.api import vmap
from minijax.core.array import Array, as_array
from minijax.core.batching import primitive_batchers
from minijax.lax import slicing
from minijax.lax.shaping import iota_p
from tests.core.mapped_programs import PROGRAMS, SIZE, STARTS, Program, argument, jaxs, ours
from tests.families import primitives_of_families
from tests.oracle import ask, jax

AXES = (None, 0, -1)
PARAMETERS_OF_JAX_ONLY = {"sharding", "out_sharding", "accuracy", "out_dtype"}


def mappings(program: Program):
    """All choices of batch dimensions for the arguments of a program, but for none at all."""
    choices = itertools.product(AXES, repeat=len(program.specs))
    return [axes for axes in choices if set(axes) != {None}]


def arguments(program, axes):
    return [argument(program, i, axis) for i, axis in enumerate(axes)]


def examples(args, axes, i):
    """The arguments of the `i`th example."""
    return [x if axis is None else np.asarray(np.take(x, i, axis)) for x, axis in zip(args, axes)]


def leaves(out):
    return list(out) if isinstance(out, (list, tuple)) else [out]


def assert_close(got, want, where):
    assert type(got) is Array, where
    assert (got.shape, got.dtype) == (want.shape, want.dtype), where
    exact = got.dtype.kind in "biu"
    tolerance = {"bfloat16": 1e-2, "float16": 1e-3}.get(got.dtype.name, 0 if exact else 1e-5)
    wide = np.complex128 if got.dtype.kind == "c" else np.float64
    np.testing.assert_allclose(np.asarray(got).astype(wide), np.asarray(want).astype(wide),
                               rtol=tolerance, atol=tolerance, err_msg=where)


ALL = [*PROGRAMS, *STARTS]
ids = [f"{program.name} {' '.join(program.specs)}" for program in ALL]


@pytest.mark.parametrize("program", ALL, ids=ids)
def test_as_a_loop(program):
    check_loop(program)


def check_loop(program):
    for axes in mappings(program):
        args = arguments(program, axes)
        loop = [leaves(program.make(ours)(*examples(args, axes, i))) for i in range(SIZE)]
        for k, x in enumerate(leaves(vmap(program.make(ours), axes)(*args))):
            each = np.stack([np.asarray(outs[k]) for outs in loop])
            assert_close(x, each, f"in_axes={axes}")


@pytest.mark.parametrize("program", [p for p in ALL if p.jax_can], ids=lambda p: p.name)
def test_as_jax(program):
    cases = [(axes, arguments(program, axes)) for axes in mappings(program)]
    all_at_once = lambda all_args: [jax.vmap(program.make(jaxs), axes)(*args)
                                    for (axes, _), args in zip(cases, all_args)]
    wants = ask(lambda: jax.jit(all_at_once)([args for _, args in cases]))
    for (axes, args), want in zip(cases, wants):
        got = vmap(program.make(ours), axes)(*args)
        for x, y in zip(leaves(got), leaves(want), strict=True):
            assert_close(x, y, f"in_axes={axes}")
            assert x.weak_type == y.weak_type


class Recorder(core.core.Trace):
    """Evaluates, and writes down what is applied: what staging would make equations of."""

    def __init__(self):
        super().__init__(core.eval_trace)
        self.equations = []

    def process_primitive(self, primitive, args, params):
        out = primitive.impl(*args, **params)
        outs = out if primitive.multiple_results else [out]
        self.equations.append((primitive.name, plain(params), [x.aval.str_short(True) for x in outs]))
        return out


def plain(params):
    """Parameters as both libraries write them."""
    return {key: plain_value(value) for key, value in params.items()
            if key not in PARAMETERS_OF_JAX_ONLY}


def plain_value(value):
    if isinstance(value, (tuple, list)):
        return tuple(map(plain_value, value))
    if isinstance(value, np.integer) or hasattr(value, "value"):  # an enumeration
        return int(getattr(value, "value", value))
    return value


def equations_of_jax(fun, args):
    return [(str(eqn.primitive), plain(eqn.params),
             [v.aval.str_short(short_dtypes=True) for v in eqn.outvars])
            for eqn in jax.make_jaxpr(fun)(*args).eqns]


@pytest.mark.parametrize("program", PROGRAMS, ids=ids[:len(PROGRAMS)])
def test_the_equations_are_those_of_jax(program):
    for axes in mappings(program) if program.same_text else []:
        args = arguments(program, axes)
        recorder = Recorder()
        with core.set_current_trace(recorder):
            vmap(program.make(ours), axes)(*map(as_array, args))
        want = ask(lambda: repr(equations_of_jax(jax.vmap(program.make(jaxs), axes), args)))
        assert repr(recorder.equations) == want, f"in_axes={axes}"


def test_every_primitive_has_a_rule():
    without = primitives_of_families() - set(primitive_batchers)
    assert without == {iota_p}  # it has no arguments


def test_every_rule_is_in_the_table_of_programs():
    applied = set()
    for program in ALL:
        recorder = Recorder()
        with core.set_current_trace(recorder):
            program.make(ours)(*map(as_array, arguments(program, [None] * len(program.specs))))
        applied |= {name for name, _, _ in recorder.equations}
    assert {p.name for p in primitives_of_families()} <= applied


# ----------------------------------------------------------------------------------------------
# Starts that differ by example: chapter 4 has no gather to delegate to.

EVERYWHERE = np.array([-(2**31), -8, -1, 0, 1, 4, 5, 6, 2**31 - 1], np.int32)


@pytest.mark.parametrize("n, size", [(1, 1), (2, 1), (5, 1), (8, 1), (9, 4), (6, 5), (7, 0)])
def test_own_starts_are_clamped(n, size):
    x = np.arange(n, dtype=np.int16)
    cut = lambda i: slicing.dynamic_slice_p.bind(x, i, slice_sizes=(size,))
    put = lambda i: slicing.dynamic_update_slice_p.bind(x, np.full(size, -1, np.int16), i)
    for function in (cut, put):
        loop = np.stack([np.asarray(function(i)) for i in EVERYWHERE])
        np.testing.assert_array_equal(np.asarray(vmap(function)(EVERYWHERE)), loop)


@pytest.mark.parametrize("dtype", [np.uint32, np.uint8, np.int8])
def test_own_starts_of_any_type(dtype):
    x = np.arange(300, dtype=np.float32)
    starts = np.array([0, 1, 100, np.iinfo(dtype).max], dtype)
    cut = lambda i: slicing.dynamic_slice_p.bind(x, i, slice_sizes=(7,))
    loop = np.stack([np.asarray(cut(i)) for i in starts])
    np.testing.assert_array_equal(np.asarray(vmap(cut)(starts)), loop)


def test_own_starts_carry_no_values_over():
    """A one-hot product would make NaNs of what was not chosen."""
    x = np.array([np.nan, 1, np.inf, 2, -np.inf], np.float32)
    got = vmap(lambda i: slicing.dynamic_slice_p.bind(x, i, slice_sizes=(1,)))(np.array([1, 3]))
    assert got.tolist() == [[1.0], [2.0]]
    put = lambda i: slicing.dynamic_update_slice_p.bind(np.ones(3, np.float32), x[:1], i)
    assert np.isnan(np.asarray(vmap(put)(np.array([0, 2])))).sum(axis=1).tolist() == [1, 1]


def test_own_starts_take_logarithmically_many_equations():
    def equations(n):
        recorder = Recorder()
        with core.set_current_trace(recorder):
            cut = lambda i: slicing.dynamic_slice_p.bind(np.zeros(n), i, slice_sizes=(2,))
            vmap(cut)(np.arange(50))
        return len(recorder.equations)

    assert equations(1000) - equations(500) == equations(500) - equations(250) <= 8


def test_missing_rule():
    nameless_p = core.Primitive("nameless")
    with pytest.raises(NotImplementedError, match="Batching rule for 'nameless'.*chapter 4"):
        vmap(nameless_p.bind)(np.ones(3))
