"""The checks of chapter 8's exercises."""

from __future__ import annotations

import numpy as np
from learning.checking import Wrong, compare, exercise, expect

import minijax
from minijax import jacrev, vjp
from minijax.core import primitives as lax
from minijax.core.array import def_numpy
from minijax.core.core import Primitive, ShapedArray, typeof
from minijax.core.forward import deflinear_jvp
from minijax.core.transposition import UndefinedPrimal, primitive_transposes
from minijax.lax import cutting

F = np.float32
X = np.array([0.5, -1.0, 2.0], F)


@exercise("8.1", "The law of transposition", ["law_holds"], hints=[
    "np.sum(a * b) is the product of two arrays.",
    "Both products are numbers; compare them up to 1e-3.",
])
def law(law_holds):
    double, third, cut = (lambda x: 2 * x), (lambda x: x / 3), (lambda x: x[:2])
    cases = [("2 x and 2 x", double, double, X, X, True),
             ("2 x and 3 x", double, lambda x: 3 * x, X, X, False),
             ("x[:2], and padding", cut, lambda w: np.append(w, F(0)), X, X[:2], True),
             ("x[:2], and repeating", cut, lambda w: np.append(w, w[:1]), X, X[:2], False),
             ("sum, and repeating", np.sum, lambda w: np.full(3, w), X, F(2), True),
             ("2 x and 2 x", double, double, np.stack([X, X]), np.stack([X, 3 * X]), True),
             ("x / 3 and x / 3", third, third, 3 / (X + 4), X, True),
             ("x / 3 and 0.335 x", third, lambda w: F(0.335) * w, X, X, False)]
    for name, f, transposed, v, w, want in cases:
        compare(lambda v, w, f=f, t=transposed: law_holds(f, t, v, w),
                lambda v, w, want=want: want, [(v, w)], f"{name}, and v, w =")


@exercise("8.2", "A transpose rule", ["roll_transpose"], hints=[
    "Forwards, the element at i goes to i + shift. So the cotangent at i + shift belongs to i.",
    "Rolling back by shift is: what comes after the first shift elements, and then those.",
    "lax.slice(x, (start,), (stop,)) and lax.concatenate([a, b], 0). shift may be negative.",
])
def rolling(roll_transpose):
    roll_p = Primitive("roll")
    roll_p.def_impl(lambda x, *, shift: np.roll(np.asarray(x), shift))
    roll_p.def_abstract_eval(lambda x, *, shift: ShapedArray(x.shape, x.dtype))
    deflinear_jvp(roll_p)
    primitive_transposes[roll_p] = roll_transpose
    for shift in (0, 1, 2, -1, 5):
        compare(lambda ct, s=shift: np.asarray(
                    roll_transpose(ct, UndefinedPrimal(typeof(ct)), shift=s)[0]),
                lambda ct, s=shift: np.roll(ct, -s), [(X,)], f"shift={shift}, ct =")
    slope = lambda x: vjp(lambda x: lax.mul(roll_p.bind(x, shift=1), x), x)[1](np.ones(3, F))[0]
    compare(lambda x: np.asarray(slope(x)), lambda x: np.roll(x, 1) + np.roll(x, -1), [(X,)],
            "the gradient of sum(roll(x) x) at")


@exercise("8.3", "A Jacobian", ["my_jacobian"], hints=[
    "y, pullback = minijax.vjp(f, x); pullback(w) is a tuple with one entry.",
    "The pullback of a unit vector is a row.",
    "minijax.vmap(pullback) takes a matrix whose rows are the cotangents.",
])
def jacobian(my_jacobian):
    functions = {
        "sin": lax.sin,
        "x[:2] squared": lambda x: lax.integer_pow(cutting.slice(x, (0,), (2,)), 2),
        "x sum(x)": lambda x: lax.mul(x, lax.reduce_sum(x, (0,))),
    }
    for name, f in functions.items():
        compare(lambda x, f=f: np.asarray(my_jacobian(f, x)),
                lambda x, f=f: np.asarray(jacrev(f)(x)), [(X,)], f"f = {name}, x =")


@exercise("8.4", "Undoing a broadcast", ["unbroadcast"], hints=[
    "Write ones in front of the operand's shape, until it is as long as that of ct.",
    "A dimension of size 1 was repeated if it is larger in ct.",
    "lax.reduce_sum(ct, axes), and lax.reshape to the operand's shape.",
], hole="core.transposition.unbroadcast")
def unbroadcasting(unbroadcast):
    whole = np.arange(6, dtype=F).reshape(2, 3)
    for ct, shape in [(whole, s) for s in ((2, 3), (), (1, 3), (2, 1), (1, 1), (3,), (1,))] + [
            (np.stack([whole] * 4), s) for s in ((2, 3), (2, 1), (4, 1, 3), (3,), ())]:
        aval = ShapedArray(shape, np.dtype(F))
        own = (1,) * (ct.ndim - len(shape)) + shape
        axes = tuple(d for d in range(ct.ndim) if own[d] == 1 != ct.shape[d])
        compare(lambda ct, a=aval: np.asarray(unbroadcast(a, ct)),
                lambda ct, axes=axes, s=shape: ct.sum(axes).reshape(s), [(ct,)],
                f"an operand of shape {shape}, and ct =")
    slope = lambda x: minijax.grad(lambda s: lax.reduce_sum(lax.mul(s, x), (0,)))(2.0)
    compare(lambda x: float(slope(x)), lambda x: float(x.sum()), [(X,)],
            "the derivative of sum(s x) with respect to s, x =")


@exercise("8.5", "The heart of reverse mode", ["backward_pass"], hints=[
    "Keep a dict from variables to values; for linear variables put UndefinedPrimal(v.aval) there.",
    "First go forwards: what depends on no linear variable is evaluated; keep the other equations.",
    "Then go backwards through those, with a dict from variables to cotangents; pop a result's.",
    "Where a variable was used twice, its cotangents are added: minijax.core.forward.add_tangents.",
    "A Literal has no cotangent, and a rule may return None for an operand.",
], hole="core.transposition.backward_pass")
def heart(backward_pass):
    total = lambda x: lax.reduce_sum(x, (0,))
    programs = {
        "sum(2 x)": (lambda x: total(lax.mul(2.0, x)), lambda x: 2 + 0 * x),
        "sum(x + x)": (lambda x: total(lax.add(x, x)), lambda x: 2 + 0 * x),
        "sum(sin(x))": (lambda x: total(lax.sin(x)), np.cos),
        "sum(x sin(x))": (lambda x: total(lax.mul(lax.sin(x), x)),
                          lambda x: np.sin(x) + x * np.cos(x)),
        "a part of x": (lambda x: total(cutting.split(x, (1, 2), 0)[1]),
                        lambda x: np.array([0, 1, 1], F)),
        "a constant": (lambda x: 3.0, lambda x: 0 * x),
        "a jit": (minijax.jit(lambda x: total(lax.mul(x, x))), lambda x: 2 * x),
    }
    for name, (f, gradient) in programs.items():
        compare(lambda x, f=f: np.asarray(minijax.grad(f)(x)), gradient, [(X,)],
                f"the gradient of {name} at")
    cubed = lambda x: total(lax.mul(x, lax.mul(x, x)))
    compare(lambda x: np.asarray(jacrev(minijax.grad(cubed))(x)), lambda x: np.diag(6 * x), [(X,)],
            "the Hessian of sum(x³) at")
    _wrong_shapes()
    transposed = minijax.linear_transpose(lambda x: lax.mul(lax.sin(2.0), x), X)
    expect(np.allclose(transposed(X)[0], np.sin(F(2)) * X), "linear_transpose fails: what is not "
           "linear must be evaluated on the way forwards")
    scaled = minijax.make_jaxpr(
        lambda a, x: lax.mul(total(cutting.split(lax.sin(a), (1, 2), 0)[1]), x))(X, X)
    compare(lambda a, ct: [x if x is None else np.asarray(x) for x in backward_pass(
                scaled.jaxpr, scaled.consts, [a, UndefinedPrimal(typeof(X))], [ct])],
            lambda a, ct: [None, np.sin(a)[1:].sum() * ct], [(X, 2 * X)],
            "x times the sum of a part of sin(a), where a is known; a and ct =")
    doubled = minijax.make_jaxpr(lambda x: lax.mul(2.0, x))(X)
    compare(lambda start, ct: np.asarray(backward_pass(
                doubled.jaxpr, doubled.consts, [UndefinedPrimal(typeof(X))], [ct], [start])[0]),
            lambda start, ct: start + 2 * ct, [(X, F(3) * X)], "2 x; sums and cts =")


def _wrong_shapes():
    """Rules of two primitives that give cotangents of wrong shapes."""
    for name, rule, given in (("head", lambda ct, x: [ct], (2,)),
                              ("twice", lambda ct, x: [lax.reduce_sum(ct, (0,))], ()),
                              ("triple", lambda ct, x: [lax.expand_dims(ct, (1,))], (3, 1))):
        wrong = Primitive(name)
        def_numpy(wrong, {"head": lambda x: x[:2]}.get(name, lambda x: 2 * x))
        wrong.def_abstract_eval(lambda x, n=2 if name == "head" else 3: ShapedArray((n,), x.dtype))
        deflinear_jvp(wrong)
        primitive_transposes[wrong] = rule
        for f in (lambda x: lax.reduce_sum(wrong.bind(x), (0,)),
                  lambda x: lax.reduce_sum(lax.mul(lax.reduce_sum(wrong.bind(x), (0,)), x), (0,))):
            what = (f"the transpose rule of {name!r} gives a cotangent of shape {given} for an "
                    "operand of shape (3,): raise TypeError")
            try:
                got = minijax.grad(f)(X)
            except TypeError as error:
                words = name, str(given), "(3,)"
                expect(all(word in str(error) for word in words),
                       f"the message should have {', '.join(words)}; it is\n  {error}")
            else:
                raise Wrong(f"{what}\n  you say   {got}")
