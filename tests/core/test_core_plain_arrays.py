"""Primitives on plain arrays are evaluated without the road through the trace. The bits are the same.

An extension that looks at each evaluation closes the short cut, so that the two roads can be compared.
"""

from __future__ import annotations

import operator
import threading

import numpy as np
import pytest

import minijax as jax
import minijax.numpy as jnp
from minijax import lax
from minijax.core.extension import Extension, hooks
from minijax.core.primitives import convert, mul_p, neg_p, sin_p
from minijax.debugging.registering import registered

X = np.array([-1.5, 0.0, -0.0, 2.0, np.inf, np.nan, 3e38, 1e-40])
NUMPY = ["float32", "float16", "bfloat16", "int32", "uint8", "int8", "bool", "complex64"]
SCALARS = [2.0, 0.0, -0.0, -1.5, float("nan"), float("inf"), 1e300, 1e-50, 0, 1, -1, 2, 127, 128, 300,
           2**31 - 1, 2**31, True, False, 2j, np.float32(2), np.float64(2), np.int64(2), None, "a",
           [1.0], X[::-1].astype(np.float32), np.arange(8, dtype=np.int32)]  # fmt: skip
OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.lt, operator.le,
             operator.gt, operator.ge, operator.eq, operator.ne, operator.and_, operator.or_]


class Looking(Extension):
    """Sees every evaluation."""

    def after_evaluation(self, primitive, args, params, out):
        pass


def outcome(program):
    """The result with its type and bits, or the error."""
    try:
        leaves = jax.tree.leaves(program())
    except Exception as error:
        return type(error), str(error)
    return [(str(getattr(x, "aval", type(x))), np.asarray(x).tobytes()) for x in leaves]


def as_it_is(program):
    """The outcome without the short cut."""
    with registered(Looking()):
        return outcome(program)


def array(dtype):
    with np.errstate(all="ignore"):
        return jnp.asarray(X.astype(int) if np.dtype(dtype).kind in "iu" else X).astype(dtype)


def operands():
    yield from (array(dtype) for dtype in NUMPY)
    yield jnp.asarray(2.5, jnp.float32)  # a scalar of strong type
    yield jnp.asarray(2.5)
    yield convert(array("float32"), np.dtype(np.float32), True)
    yield jnp.asarray(3)
    yield jax.jit(lambda x: x + 1)(jnp.asarray(X, jnp.float32))  # its contents are in a buffer
    yield jnp.asarray(X.reshape(2, 4), jnp.float32)
    yield jnp.asarray(X[:0], jnp.float32)
    yield jax.device_put(jnp.asarray(X, jnp.float32), jax.devices()[0])
    yield X.astype(np.float32)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("operate", OPERATORS, ids=lambda f: f.__name__)
def test_operators(operate):
    values = [*operands()]
    for x in values[:-1]:
        for y in [*values, *SCALARS, x]:
            for a, b in ((x, y), (y, x)):
                expected = as_it_is(lambda: operate(a, b))
                assert outcome(lambda: operate(a, b)) == expected, (operate, a, b)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("operate", OPERATORS[:10], ids=lambda f: f.__name__)
def test_operators_in_64_bits(operate):
    values = [1, 2.0, 2**31, 2**40, 1e300, 0.0]
    with jax.enable_x64(True):
        wide = [jnp.asarray(X), jnp.arange(8), jnp.asarray(X, jnp.float32)]
        expected = [as_it_is(lambda: operate(x, y)) for x in wide for y in [*values, *wide]]
        assert expected == [outcome(lambda: operate(x, y))
                            for x in wide for y in [*values, *wide]]
    # Outside, NumPy's arrays have 32 bits, beside arrays of 64 bits, too.
    pairs = [(x, y) for x in wide for y in [*values, x, np.asarray(x)]]
    expected = [as_it_is(lambda: operate(x, y)) for x, y in pairs]
    assert expected == [outcome(lambda: operate(x, y)) for x, y in pairs]


@pytest.mark.parametrize("operate", [operator.eq, operator.ne], ids=lambda f: f.__name__)
def test_keys_of_two_shapes_are_compared(operate):
    keys = jax.random.split(jax.random.key(0), 3)
    same = np.eye(3, dtype=bool)
    for x, y, equal in [(keys, keys[0], same[0]), (keys[1], keys, same[1]),
                        (keys[None], keys[:, None], same)]:
        for _ in range(3):
            out = operate(x, y)
            assert out.dtype == bool
            np.testing.assert_array_equal(out, operate(equal, True))


def test_operands_of_two_types_obey_the_settings():
    f, i = jnp.asarray(X, jnp.float32), jnp.arange(8)
    for operate in OPERATORS[:4]:
        programs = [lambda: operate(i, f), lambda: operate(f, i), lambda: operate(i, 2.5),
                    lambda: operate(f, 1j), lambda: operate(i, i), lambda: operate(i, 2)]
        for setting, value in [("numpy_dtype_promotion", "strict"), ("enable_x64", True),
                               ("numpy_rank_promotion", "raise")]:
            before = [outcome(program) for program in programs for _ in range(3)]
            with getattr(jax, setting)(value):
                expected = [as_it_is(program) for program in programs]
                assert expected == [outcome(program) for program in programs]
            assert before == [outcome(program) for program in programs for _ in range(3)]


def test_functions():
    x = jnp.asarray(X, jnp.float32)
    for f in (jnp.add, jnp.subtract, jnp.multiply, jnp.divide, jnp.less, jnp.equal, jnp.not_equal):
        for y in (x, 2.0, 2, jnp.arange(8), True, 1e300):
            for a, b in ((x, y), (y, x)):
                expected = as_it_is(lambda: f(a, b))
                assert outcome(lambda: f(a, b)) == expected


FUNCTIONS = [f for module, names in (
    (jnp, "sin cos exp exp2 log log1p expm1 sqrt cbrt tan tanh arcsinh arctan negative abs"),
    (lax, "sin cos exp log tanh neg abs floor ceil sign sqrt rsqrt is_finite bitwise_not square "
          "real imag conj logistic erf lgamma population_count clz"))
    for f in [getattr(module, name) for name in names.split()]]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f"{f.__module__}.{f.__name__}")
def test_functions_of_one_array(f):
    values = [*operands(), 2.0, True, 3, None, "a", np.float32(2), array("bool"), array("uint8")]
    for x in values:
        expected = as_it_is(lambda: f(x))
        assert outcome(lambda: f(x)) == expected, x


def test_functions_of_one_array_take_their_arguments_as_before():
    x = jnp.asarray([1.0, 2.0])
    assert lax.sin(x=x).tolist() == lax.sin(x, accuracy=None).tolist() == jnp.sin(x).tolist()
    with pytest.raises(TypeError):
        jnp.sin()
    with pytest.raises(TypeError):
        jnp.sin(x=x)
    with pytest.raises(NotImplementedError):
        lax.sin(x, accuracy=3)


def test_a_rule_that_is_replaced():
    """The next call has the new rule."""
    x = jnp.asarray([1.0, 2.0])
    programs = [lambda: x * x, lambda: x * 3.0, lambda: jnp.sin(x), lambda: lax.sin(x),
                lambda: jax.grad(lambda x: jnp.sum(x * x))(x), lambda: -x, lambda: jnp.var(x)]
    before = [outcome(program) for program in programs for _ in range(6)]
    replaced = [(p, p.impl) for p in (mul_p, sin_p, neg_p)]
    try:
        for primitive, _ in replaced:
            primitive.def_impl(lambda x, *rest: jnp.asarray(np.asarray(x) + 1))
        assert [program().tolist() for program in programs[:4]] == [[2, 3]] * 4
        assert programs[4]().tolist() == [4, 5]  # two products, of 1 and x
        assert programs[5]().tolist() == [2, 3]
    finally:
        for primitive, impl in replaced:
            primitive.def_impl(impl)
    assert before == [outcome(program) for program in programs for _ in range(6)]


INDICES = [0, -1, 3, 4, -5, 2**70, True, None, ..., slice(None), slice(1, 3), slice(-3, None),
           slice(None, None, -1), slice(3, 1), slice(0, 100, 2), slice(-100, 2), slice(1.0, 2),
           slice(None, None, 0), slice(np.int64(1), np.int32(3)), slice(True, 3), "a", 1.0, (), (1,),
           (1, 2), (1, -9), (..., 1), (None, 1, ..., None), (slice(1, 2), slice(None, None, -2)),
           (1, 2, 3), (..., ...), (0, True), [0, 1], ([0, 1], 1), np.array([0, 1]), np.int32(2),
           (slice(1, 3), [0, 1]), (1, np.int32(2))]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
def test_indices():
    grid = np.arange(12, dtype=np.float32).reshape(4, 3)
    arrays = [jnp.asarray(grid), jnp.asarray(grid[:, 0].astype(int)), jnp.float32(2),
              jnp.asarray(grid).astype(jnp.bfloat16), jax.jit(lambda x: x + 1)(grid),
              jnp.zeros((0, 3)), jax.random.split(jax.random.key(0), 4),
              convert(jnp.asarray(grid), np.dtype(np.float32), True)]
    indices = [*INDICES, jnp.int32(2), slice(jnp.int32(1), jnp.int32(3)), (slice(1), jnp.int32(0))]

    def program(x, index):
        out = x[index]
        return jax.random.key_data(out) if jnp.issubdtype(x.dtype, jax.dtypes.prng_key) else out

    for x in arrays:
        for index in indices:
            expected = as_it_is(lambda: program(x, index))
            assert outcome(lambda: program(x, index)) == expected, (x, index)


def test_under_transformations():
    x = jnp.asarray(X[:4], jnp.float32)
    f = lambda x: (x * 2.0 + x[0] - 1)[1:].sum()
    f(x), f(x)
    assert jax.grad(f)(x).tolist() == [3, 2, 2, 2]
    assert jax.vmap(f)(jnp.stack([x, x])).shape == (2,)
    assert str(jax.make_jaxpr(lambda x: x * 2.0)(x)).count("mul") == 1
    closed = jax.make_jaxpr(lambda y: y + (x * 2.0)[:1])(x)  # known values are computed all the same
    assert "mul" in str(closed) or len(closed.consts) == 1


def test_checks_see_the_operations():
    x = jnp.asarray(X[:4], jnp.float32)
    for _ in range(3):
        x / x
    with jax.debug_nans(True), pytest.raises(FloatingPointError):
        x / x
    assert not hooks.after_evaluation and np.isnan(x / x).any()


def test_deleted_arrays_are_refused():
    for make in (lambda: jnp.asarray(X, jnp.float32), lambda: jax.jit(lambda x: x + 1)(X)):
        x, y = make(), make()
        x + y, x + y, x[1:]
        y.delete()
        for program in (lambda: x + y, lambda: y + x, lambda: y * 2.0, lambda: y[1:], lambda: y[0]):
            with pytest.raises(RuntimeError, match="deleted"):
                program()


def test_a_view_keeps_its_contents():
    """Its array may be given away, and overwritten by a program."""
    give = jax.jit(lambda x: x * 0 - 1, donate_argnums=0)
    for make in (lambda: jnp.arange(4096.0) * 1, lambda: jax.jit(lambda x: x + 1)(jnp.arange(4096.0))):
        for _ in range(6):
            x = make()
            np.asarray(x)
            view, expected = x[1:5], np.array(x)[1:5]
            give(x)
            assert view.tolist() == expected.tolist()


def test_threads():
    x, wrong = jnp.asarray(X[:4], jnp.float32), []

    def work():
        for n in range(200):
            if (x * float(n) + n)[3] != 2.0 * n + n or str(jax.make_jaxpr(lambda x: x + x)(x)) == "":
                wrong.append(n)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_all_floats_of_16_bits_are_rounded_away_from_zero():
    x = np.arange(2**16, dtype=np.uint16).view(np.float16)
    with np.errstate(all="ignore"):
        whole = np.trunc(x)
        expected = whole + np.copysign((np.abs(x - whole) >= 0.5).astype(x.dtype), x)
    array = jnp.asarray(x)
    out = np.asarray(lax.round(array))
    assert (out == expected)[~np.isnan(x)].all() and (np.isnan(out) == np.isnan(x)).all()
    assert (np.signbit(out) == np.signbit(expected))[~np.isnan(x)].all()
    with np.errstate(all="ignore"):
        wide = x.astype(np.float32) + np.float32(2**-20)
    expected = np.copysign(np.floor(np.abs(wide.astype(np.float64)) + 0.5), wide)
    finite = np.isfinite(wide)
    assert (np.asarray(lax.round(jnp.asarray(wide))) == expected)[finite].all()
