"""The backward pass over a linear jaxpr, and which primitives have a rule for it.

The rules' results are compared with JAX's in `products/test_primitives.py`."""

from __future__ import annotations

import numpy as np
import pytest

import minijax
from minijax import lax
from minijax.core.array import as_array
from minijax.core.core import Primitive, ShapedArray, set_current_trace, typeof
from minijax.core.forward import Zero, deflinear_jvp
from minijax.core.transposition import (
    UndefinedPrimal,
    backward_pass,
    deftranspose,
    is_undefined_primal,
    primitive_transposes,
    transpose_jaxpr,
)
from minijax.lax.families import deflinear2
from tests.core.same import close
from tests.families import primitives_of_families
from tests.oracle import jax
from tests.recorder import Recorder


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
    recorder = Recorder()
    with set_current_trace(recorder):
        (ct,) = backward_pass(closed.jaxpr, closed.consts, [UndefinedPrimal(F3)], [Y, Zero(F3)])
        (none,) = backward_pass(closed.jaxpr, closed.consts, [UndefinedPrimal(F3)], [Zero(F3), Zero(F3)])
    assert recorder.names == ["neg"] and type(none) is Zero
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
