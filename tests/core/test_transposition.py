"""Every transpose rule: by the law ⟨Jv, w⟩ = ⟨v, Jᵀw⟩, and against JAX."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import minijax
from minijax import core, lax
from minijax.core.array import as_array
from minijax.core.core import Primitive, ShapedArray, typeof
from minijax.core.forward import Zero, deflinear_jvp
from minijax.core.transposition import (
    UndefinedPrimal,
    backward_pass,
    deflinear2,
    deftranspose,
    is_undefined_primal,
    primitive_transposes,
    transpose_jaxpr,
)
from tests.core.differentiable_programs import jaxs, ours
from tests.core.same import close
from tests.families import primitives_of_families
from tests.oracle import jax

I32 = np.int32
W = np.float32([[1.5, -2.0, 0.5], [3.0, 0.25, -1.0]])
WHICH = np.array([[True, False, True], [False, False, True]])

# name: (program, shapes): linear in all its arguments together.
LINEAR = {
    "neg": (lambda l: l.neg, [(2, 3)]), "copy": (lambda l: l.copy, [(2, 3)]),
    "add": (lambda l: l.add, [(2, 3), (2, 3)]), "add a scalar": (lambda l: l.add, [(2, 3), ()]),
    "add sizes of one": (lambda l: l.add, [(2, 1), (1, 3)]), "add itself": (lambda l: lambda x: l.add(x, x), [(2, 3)]),
    "sub": (lambda l: l.sub, [(2, 3), (2, 3)]), "sub from a scalar": (lambda l: l.sub, [(), (2, 3)]),
    "add_any": (lambda l: l.add_any, [(2, 3), (2, 3)]),
    "mul": (lambda l: lambda x: l.mul(x, W), [(2, 3)]), "mul from the left": (lambda l: lambda x: l.mul(W, x), [(2, 3)]),
    "mul of a scalar": (lambda l: lambda x: l.mul(x, W), [()]), "mul by a number": (lambda l: lambda x: l.mul(3.0, x), [(2,)]),
    "mul of a column": (lambda l: lambda x: l.mul(x, W), [(2, 1)]),
    "div": (lambda l: lambda x: l.div(x, W), [(2, 3)]), "div of a row": (lambda l: lambda x: l.div(x, W), [(1, 3)]),
    "convert": (lambda l: lambda x: l.convert_element_type(l.convert_element_type(x, np.float16), np.float32), [(2, 3)]),
    "convert and back": (lambda l: lambda x: l.real(l.convert_element_type(x, np.complex64)), [(2, 3)]),
    "complex": (lambda l: lambda x, y: l.imag(l.mul(l.complex(x, y), np.complex64(2 + 3j))), [(2, 3), (2, 3)]),
    "conj": (lambda l: lambda x, y: l.imag(l.conj(l.complex(x, y))), [(2, 3), (2, 3)]),
    "conj of real": (lambda l: lambda x: l.real(l.mul(l.conj(x), np.complex64(2 + 3j))), [(3,)]),
    "select": (lambda l: lambda x, y: l.select(WHICH, x, y), [(2, 3), (2, 3)]),
    "select one": (lambda l: lambda x: l.select(WHICH, W, x), [(2, 3)]),
    "select of three": (lambda l: lambda x, y, z: l.select_n(I32([0, 2, 1]), x, y, z), [(3,)] * 3),
    "select by a scalar": (lambda l: lambda x, y: l.select_n(np.bool_(True), x, y), [(2, 3), (2, 3)]),
    "broadcast": (lambda l: lambda x: l.broadcast_in_dim(x, (2, 4, 3), (0, 2)), [(2, 3)]),
    "broadcast of one": (lambda l: lambda x: l.broadcast_in_dim(x, (2, 4, 3), (0, 2)), [(2, 1)]),
    "broadcast of ones": (lambda l: lambda x: l.broadcast_in_dim(x, (2, 4, 3), (0, 1)), [(1, 1)]),
    "broadcast a scalar": (lambda l: lambda x: l.broadcast_in_dim(x, (2, 3), ()), [()]),
    "broadcast to one": (lambda l: lambda x: l.broadcast_in_dim(x, (1, 3), (1,)), [(3,)]),
    "reshape": (lambda l: lambda x: l.reshape(x, (3, 2)), [(2, 3)]),
    "reshape in order": (lambda l: lambda x: l.reshape(x, (4, 6), (2, 0, 1)), [(2, 3, 4)]),
    "squeeze": (lambda l: lambda x: l.squeeze(x, (0, 2)), [(1, 3, 1)]), "expand": (lambda l: lambda x: l.expand_dims(x, (0, 2)), [(2, 3)]),
    "transpose": (lambda l: lambda x: l.transpose(x, (2, 0, 1)), [(2, 3, 4)]), "rev": (lambda l: lambda x: l.rev(x, (0, 2)), [(2, 1, 3)]),
    "concatenate": (lambda l: lambda x, y: l.concatenate([x, W, y, x], 1), [(2, 3), (2, 1)]),
    "stack": (lambda l: lambda x, y: l.stack([x, y, x], 1), [(2, 3), (2, 3)]),
    "unstack": (lambda l: lambda x: l.unstack(x, 1)[1], [(2, 3)]), "unstack all": (lambda l: lambda x: l.sub(*l.unstack(x, 0)), [(2, 3)]),
    "split": (lambda l: lambda x: l.split(x, (1, 0, 2), 1)[2], [(2, 3)]), "split all": (lambda l: lambda x: l.sub(*l.split(x, (2, 2), 0)), [(4, 3)]),
    "pad": (lambda l: lambda x, v: l.pad(x, v, ((1, 2, 0), (0, 1, 2))), [(2, 3), ()]),
    "pad negatively": (lambda l: lambda x, v: l.pad(x, v, ((-1, 2, 1), (1, -1, 0))), [(3, 3), ()]),
    "pad with zeros": (lambda l: lambda x: l.pad(x, np.float32(0), ((1, 0, 3),)), [(3,)]),
    "pad of a constant": (lambda l: lambda v: l.pad(W, v, ((1, 0, 0), (0, 0, 1))), [()]),
    "pad nothing": (lambda l: lambda x, v: l.pad(x, v, ((2, 1, 1),)), [(0,), ()]),
    "slice": (lambda l: lambda x: l.slice(x, (1, 0), (3, 4)), [(4, 5)]), "slice by strides": (lambda l: lambda x: l.slice(x, (0, 1), (4, 7), (3, 2)), [(5, 8)]),
    "slice nothing": (lambda l: lambda x: l.slice(x, (2,), (2,)), [(4,)]),
    **{f"dynamic_slice {i}": (lambda l, i=i: lambda x: l.dynamic_slice(x, (I32(i), I32(1)), (2, 2)), [(4, 3)]) for i in (0, 1, 9)},
    **{f"dynamic_update {i}": (lambda l, i=i: lambda x, u: l.dynamic_update_slice(x, u, (I32(i), I32(0))), [(4, 3), (2, 2)]) for i in (0, 1, 9)},
    "update of a constant": (lambda l: lambda u: l.dynamic_update_slice(W, u, (I32(0), I32(1))), [(1, 2)]),
    "update by a constant": (lambda l: lambda x: l.dynamic_update_slice(x, W, (I32(0), I32(1))), [(3, 4)]),
    "reduce_sum": (lambda l: lambda x: l.reduce_sum(x, (0, 2)), [(2, 3, 4)]), "sum of nothing": (lambda l: lambda x: l.reduce_sum(x, (0,)), [(0, 2)]),
    "cumsum": (lambda l: lambda x: l.cumsum(x, 1), [(2, 4)]), "cumsum reversed": (lambda l: lambda x: l.cumsum(x, 0, reverse=True), [(4, 2)]),
    "dot left": (lambda l: lambda a: l.dot(a, W), [(4, 2)]), "dot right": (lambda l: lambda b: l.dot(W, b), [(3, 4)]),
    "dot of vectors": (lambda l: lambda a: l.dot(a, W[0]), [(3,)]), "matrix and vector": (lambda l: lambda a: l.dot(W, a), [(3,)]),
    "outer": (lambda l: lambda a: l.dot_general(a, W, (((), ()), ((), ()))), [(2,)]), "nothing at all": (lambda l: lambda x: l.neg(l.reshape(x, (0, 2))), [(3, 0)]),
    "jit": (lambda l: lambda x, y: (jax if l is jaxs else minijax).jit(lambda a, b: l.add(l.mul(a, W), b))(x, y), [(2, 3), (2, 3)]),
    "jit twice": (lambda l: lambda x: (lambda j: j(l.neg(j(x))))((jax if l is jaxs else minijax).jit(lambda a: l.mul(a, W))), [(2, 3)]),
}

# All ways to contract two arrays of three dimensions with a batch, and others.
_A, _B = (2, 3, 4), {2: 2, 3: 3, 4: 4}
for _batch, _contract in itertools.product([(), (0,), (2,), (2, 0)], [(), (1,), (1, 2), (2, 1), (0,)]):
    if set(_batch) & set(_contract):
        continue
    _other = [*(_A[d] for d in _contract), 5, *(_A[d] for d in _batch)]
    _k = len(_contract)
    _numbers = ((_contract, tuple(range(_k))), (_batch, tuple(range(_k + 1, len(_other)))))
    _free = [d for d in range(3) if d not in (*_batch, *_contract)]
    LINEAR[f"dot_general left {_batch} {_contract}"] = (
        lambda l, n=_numbers, o=tuple(_other): lambda a: l.dot_general(a, np.float32(np.arange(np.prod(o)).reshape(o) % 7 - 3), n), [_A])
    LINEAR[f"dot_general right {_batch} {_contract}"] = (
        lambda l, n=_numbers: lambda b: l.dot_general(np.float32(np.arange(24).reshape(_A) % 5 - 2), b, n), [tuple(_other)])


def values(shapes, seed):
    rng = np.random.default_rng(seed)
    return [np.float32(rng.integers(-8, 9, shape)) / 4 for shape in shapes]


def inner(xs, ys):
    return sum(float(np.sum(np.asarray(x, np.float64) * np.asarray(y, np.float64))) for x, y in zip(xs, ys))


@pytest.mark.parametrize("name", LINEAR)
def test_the_law_of_the_transpose(name):
    program, shapes = LINEAR[name]
    f = program(ours)
    xs, vs = values(shapes, 1), values(shapes, 2)
    out, jv = minijax.jvp(f, xs, vs)
    w = values([out.shape], 3)[0]
    _, f_vjp = minijax.vjp(f, *xs)
    cts = f_vjp(w)
    assert [ct.shape for ct in cts] == shapes and all(ct.dtype == np.float32 for ct in cts)
    np.testing.assert_allclose(inner([jv], [w]), inner(vs, cts), rtol=2e-3 if name == "convert" else 1e-5, atol=1e-4)


def test_as_jax():
    """All of them in one program of JAX."""
    cases = {name: (program, values(shapes, 1)) for name, (program, shapes) in LINEAR.items()
             if name != "pad of a constant"}  # which JAX does not know how to do
    outs = {name: program(ours)(*xs) for name, (program, xs) in cases.items()}
    cts = {name: values([out.shape], 3)[0] for name, out in outs.items()}
    wants = jax.jit(lambda cts: {name: jax.vjp(program(jaxs), *xs)[1](cts[name])
                                 for name, (program, xs) in cases.items()})(cts)
    for name, (program, xs) in cases.items():
        got = minijax.vjp(program(ours), *xs)[1](cts[name])
        for x, want in zip(got, wants[name], strict=True):
            assert (x.shape, x.dtype) == (want.shape, want.dtype), name
            close(x, want, name, 1e-3 if name == "convert" else 1e-5)


@pytest.mark.parametrize("name", ["mul", "dot left", "select", "pad", "concatenate", "jit", "dynamic_update 1", "cumsum"])
def test_transposing_twice_is_the_function(name):
    program, shapes = LINEAR[name]
    f = lambda *xs: minijax.lax.sub(program(ours)(*xs), program(ours)(*(np.zeros(s, np.float32) for s in shapes)))
    xs = values(shapes, 1)
    out = f(*xs)
    _, f_vjp = minijax.vjp(f, *xs)
    _, f_vjp_vjp = minijax.vjp(f_vjp, np.zeros(out.shape, np.float32))
    close(f_vjp_vjp(tuple(xs))[0], out, tol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "complex64"])
def test_cotangents_keep_the_dtype(dtype):
    dtype = np.dtype(jax.numpy.dtype(dtype))
    for name in ("neg", "add a scalar", "concatenate", "pad", "reduce_sum", "cumsum", "slice by strides", "transpose", "stack"):
        program, shapes = LINEAR[name]
        if name == "concatenate":
            program = lambda l: lambda x, y: l.concatenate([x, y, x], 1)
        xs = [x.astype(dtype) for x in values(shapes, 1)]
        out, f_vjp = minijax.vjp(program(ours), *xs)
        assert {ct.dtype for ct in f_vjp(np.ones(out.shape, dtype))} == {dtype}, name


@pytest.mark.parametrize("x_dtype, y_dtype, preferred", [
    ("float16", "float16", "float32"), ("bfloat16", "bfloat16", "float32"), ("float32", "float32", None)])
def test_products_of_a_preferred_type(x_dtype, y_dtype, preferred):
    def program(jx):
        def f(a, b):
            return jx.lax.dot_general(a, b, (((1,), (0,)), ((), ())), preferred_element_type=preferred and np.dtype(preferred))
        return f

    a, b = (np.ones((2, 2)).astype(jax.numpy.dtype(d)) for d in (x_dtype, y_dtype))
    out, f_vjp = minijax.vjp(program(minijax), a, b)
    want_out, want_vjp = jax.vjp(program(jax), a, b)
    assert out.dtype == want_out.dtype
    for got, want in zip(f_vjp(np.ones((2, 2), out.dtype)), want_vjp(np.ones((2, 2), out.dtype))):
        assert got.dtype == want.dtype
        close(got, want)


# -- The backward pass --------------------------------------------------------------------------

F3 = ShapedArray((3,), np.float32)
Y = np.float32([1, 2, 4])


def test_undefined_primals():
    x = UndefinedPrimal(F3)
    assert is_undefined_primal(x) and not is_undefined_primal(Y) and not is_undefined_primal(None)
    assert x.aval is F3 and repr(x) == "UndefinedPrimal(float32[3])"


def test_arguments_that_are_values_have_no_cotangent():
    closed = minijax.make_jaxpr(lambda x, y: lax.mul(lax.sin(x), y))(Y, Y)
    out = backward_pass(closed.jaxpr, closed.consts, [Y, UndefinedPrimal(F3)], [Y])
    assert out[0] is None
    close(out[1], np.sin(Y) * Y, tol=1e-6)


def test_unused_arguments_have_a_symbolic_zero():
    closed = minijax.make_jaxpr(lambda x, y: lax.neg(x))(Y, Y)
    _, ct = backward_pass(closed.jaxpr, closed.consts, [UndefinedPrimal(F3)] * 2, [Y])
    assert type(ct) is Zero and ct.aval is F3


def test_zero_cotangents_cost_nothing():
    closed = minijax.make_jaxpr(lambda x: (lax.neg(x), lax.mul(lax.mul(x, Y), Y)))(Y)
    seen = []

    class Recorder(core.core.Trace):
        def process_primitive(self, primitive, args, params):
            seen.append(primitive.name)
            return primitive.impl(*args, **params)

    with core.set_current_trace(Recorder(core.eval_trace)):
        (ct,) = backward_pass(closed.jaxpr, closed.consts, [UndefinedPrimal(F3)], [Y, Zero(F3)])
        (none,) = backward_pass(closed.jaxpr, closed.consts, [UndefinedPrimal(F3)], [Zero(F3), Zero(F3)])
    assert seen == ["neg"] and type(none) is Zero
    close(ct, -Y)


def test_cotangents_of_a_value_used_often_are_summed():
    closed = minijax.make_jaxpr(lambda x: (lax.add(lax.neg(x), x), x, x))(Y)
    (ct,) = backward_pass(closed.jaxpr, closed.consts, [UndefinedPrimal(F3)], [Y, Y, Y])
    close(ct, 2 * Y)


def test_sums_to_add_to():
    closed = minijax.make_jaxpr(lambda x, y: lax.add(x, x))(Y, Y)
    got = backward_pass(closed.jaxpr, closed.consts, [UndefinedPrimal(F3)] * 2, [Y], [as_array(Y), as_array(3 * Y)])
    close(got[0], 3 * Y)
    close(got[1], 3 * Y)


def test_a_jaxpr_transposed():
    closed = minijax.make_jaxpr(lambda x, y, z: (lax.mul(lax.sin(x), y), lax.neg(z)))(Y, Y, Y)
    kinds = (None, UndefinedPrimal, UndefinedPrimal)
    transposed, nonzero = transpose_jaxpr(closed, kinds, (F3,), (F3, None))
    assert nonzero == (True, False)  # the cotangent of z is zero
    assert [e.primitive.name for e in transposed.eqns] == ["sin", "mul"]
    assert transposed.in_avals == [F3, F3] and transposed.out_avals == [F3]
    assert transpose_jaxpr(closed, kinds, (F3,), (F3, None))[0] is transposed


def test_jit_is_transposed_as_one_equation():
    f = minijax.jit(lambda x, y: lax.mul(lax.sin(x), y))
    text = str(minijax.make_jaxpr(lambda w: minijax.vjp(f, Y, Y)[1](w))(Y))
    assert text.count("jit[") == 2  # the known half, and the transposed one
    constant = minijax.jit(lambda x: lax.mul(x, as_array(Y)))
    close(minijax.vjp(constant, Y)[1](Y)[0], Y * Y)
    nothing = minijax.jit(lambda x, y: (lax.neg(x), lax.neg(y)))
    close(minijax.vjp(lambda x, y: nothing(x, y)[0], Y, Y)[1](Y)[1], 0 * Y)


# -- The table ----------------------------------------------------------------------------------


def test_the_linear_primitives_have_a_rule():
    """A primitive that occurs in tangents of others, but those of steps and integers."""
    never_linear = """sin cos tan tanh atanh exp exp2 log log1p expm1 sqrt rsqrt cbrt logistic abs sign floor ceil round
        square is_finite integer_pow pow rem max min eq ne lt le gt ge and or not xor shift_left shift_right_logical
        shift_right_arithmetic clamp stop_gradient iota reduce_max reduce_min reduce_prod reduce_and reduce_or
        reduce_xor argmax argmin cumprod cummax cummin cumlogsumexp""".split()
    assert {p.name for p in primitives_of_families() - set(primitive_transposes)} == set(never_linear)


def test_missing_rule():
    nameless_p = Primitive("nameless")
    nameless_p.def_impl(lambda x: x)
    nameless_p.def_abstract_eval(lambda aval: aval)
    deflinear_jvp(nameless_p)
    with pytest.raises(NotImplementedError, match=r"Transpose rule .*for 'nameless'.*chapter 8"):
        minijax.vjp(nameless_p.bind, Y)[1](Y)


def test_what_is_not_linear_cannot_be_transposed():
    """JAX's assertions fail; a silent zero would be wrong."""
    quotient, product = lambda l: lambda x: l.div(Y, x), lambda l: lambda x: l.mul(x, x)
    scalar = lambda l: lambda x: l.dot(x, x)
    for f in (lambda l: l.sin, quotient, product, scalar, lambda l: lambda x: l.div(x, x),
              lambda l: lambda x: l.select(l.convert_element_type(x, bool), x, x)):
        for staged in (lambda g, jx: g, lambda g, jx: jx.jit(g)):
            ct = np.float32(1) if f is scalar else Y
            for jx in (minijax, jax):
                with pytest.raises((NotImplementedError, AssertionError, RuntimeError)) as info:
                    jx.linear_transpose(staged(f(jx.lax), jx), Y)(ct)
                assert jx is jax or "linear" in str(info.value) or "'sin'" in str(info.value)


def test_rules_of_ones_own():
    twice_p, mix_p = Primitive("twice"), Primitive("mix")
    for p, impl in ((twice_p, lambda x: lax.mul(x, 2.0)), (mix_p, lambda x, y, *, k: lax.add(x, lax.mul(y, k)))):
        p.def_impl(impl)
        p.def_abstract_eval(lambda aval, *_, **params: aval)
        deflinear_jvp(p)
    calls = []
    deflinear2(twice_p, lambda ct, x: calls.append(x) or [lax.mul(ct, 2.0)])
    deftranspose(mix_p, lambda ct, x, y, *, k: ct, lambda ct, x, y, *, k: lax.mul(ct, k))
    f = lambda x, y: (mix_p.bind(twice_p.bind(x), y, k=np.float32(3)), twice_p.bind(y))
    cts = minijax.vjp(f, Y, Y)[1]((Y, 0 * Y))
    close(cts[0], 2 * Y)
    close(cts[1], 3 * Y)
    assert all(is_undefined_primal(x) and x.aval is F3 for x in calls)
    closed = minijax.make_jaxpr(f)(Y, Y)
    zeros = backward_pass(closed.jaxpr, closed.consts, [UndefinedPrimal(F3)] * 2, [Zero(F3)] * 2)
    assert all(type(ct) is Zero for ct in zeros)
    assert typeof(cts[0]) is F3
