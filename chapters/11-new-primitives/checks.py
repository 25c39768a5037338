"""The checks of chapter 11's exercises."""

from __future__ import annotations

import sys
from unittest import mock

import numpy as np
from learning.checking import compare, exercise, expect

from minijax import grad, jit, jvp, lax, linear_transpose, make_jaxpr, typeof, vmap
from minijax.core import transposition
from minijax.core.forward import Zero

F = np.float32
X = np.array([-100.0, -1.5, 0.0, 0.5, 100.0], F)


@exercise("11.1", "A row of your own", ["make_log_cosh"], hints=[
    "With a = |x|, the formula holds for all x: a + log1p(exp(-2 a)) - log 2.",
    "You need it twice: with np for the evaluation, and with lax for the lowering.",
    "The derivative of log(cosh(x)) is tanh(x): jvp=lambda t, x: ...",
    "unary_row returns (primitive, function): return the function.",
])
def log_cosh(make_log_cosh):
    f = make_log_cosh()
    exact = lambda x: np.logaddexp(x, -x) - F(np.log(2))
    compare(lambda x: np.asarray(f(x)), exact, [(X[2:4],), (X,), (X[None],)], "x =")
    compare(lambda x: np.asarray(jit(f)(x)), exact, [(X,)], "under jit, x =")
    compare(lambda x: np.asarray(vmap(grad(f))(x)), np.tanh, [(X,)], "the gradient at")
    compare(lambda x: np.asarray(vmap(grad(grad(f)))(x)), lambda x: 1 - np.tanh(x) ** 2, [(X,)],
            "the second derivative at")
    text = "{ lambda ; a:f32[5]. let b:f32[5] = log_cosh a in (b,) }"
    compare(lambda x: str(make_jaxpr(f)(x)), lambda x: text, [(X,)], "the jaxpr for")
    compare(lambda x: str(f(x).dtype), lambda x: "float16", [(X[2:4].astype(np.float16),)],
            "the dtype for")


@exercise("11.2", "A linear primitive", ["make_difference"], hints=[
    "The type is that of the operand, and the lowering mlir.lower_fun(difference_of, "
    "multiple_results=False).",
    "Evaluation can be jit of the function that binds the primitive.",
    "Batching: move the batch to the front; then the last axis is the example's.",
    "y[i] = x[i] - x[i - 1], so x[i] is used in y[i] and y[i + 1]: its cotangent is "
    "ct[i] - ct[i + 1].",
    "That is the same difference, taken from the other end.",
])
def difference(make_difference):
    f = make_difference()
    matrix = np.arange(6.0, dtype=F).reshape(2, 3) ** 2
    want = lambda x: np.diff(x, axis=-1, prepend=F(0))
    back = lambda ct: ct - np.append(ct[..., 1:], np.zeros_like(ct[..., :1]), -1)
    compare(lambda x: np.asarray(f(x)), want, [(matrix[0],), (matrix,)], "x =")
    compare(lambda x: np.asarray(jit(f)(x)), want, [(matrix,)], "under jit, x =")
    compare(lambda x: np.asarray(jvp(f, (x,), (x + 1,))[1]), lambda x: want(x + 1), [(matrix,)],
            "along x + 1, the tangent at x =")
    compare(lambda ct: np.asarray(linear_transpose(f, ct)(ct)[0]), back, [(matrix[1],), (matrix,)],
            "transposed, ct =")
    for axis in (0, 1):
        compare(lambda x, a=axis: np.asarray(vmap(f, a, a)(x)),
                lambda x, a=axis: np.moveaxis(want(np.moveaxis(x, a, 0)), 0, a), [(matrix,)],
                f"vmap over axis {axis} of")
    loss = lambda x: lax.reduce_sum(lax.mul(f(x), f(x)), (0,))
    compare(lambda x: np.asarray(jit(vmap(grad(loss)))(x)), lambda x: back(2 * want(x)),
            [(matrix,)], "the gradients of |f(x)|² for a batch")
    found = [str(eqn.primitive) for eqn in make_jaxpr(f)(matrix).eqns]
    expect(found == ["difference"], f"the jaxpr should have one equation, and has {found}")


@exercise("11.3", "A triangular solve, run backwards", ["_transpose"], hints=[
    "X = op(A)⁻¹ B. What is the transpose of the linear map B → op(A)⁻¹ B?",
    "It is ct → op(A)⁻ᵀ ct: again a triangular solve.",
    "op(A)ᵀ is op(Aᵀ), for both values of transpose_a: solve with matrix_transpose(a).",
    "The transpose of a lower triangle is an upper one: lower=not lower.",
], hole="lax.linalg.triangular_solve._transpose")
def solve(_transpose):
    from minijax.lax.linalg.triangular_solve import triangular_solve, triangular_solve_p

    a = np.array([[2.0, 0.0], [1.0, 4.0]], F)
    w = np.array([[1.0, -2.0], [3.0, 5.0]], F)
    in_the_hole = sys.modules[triangular_solve.__module__]._transpose
    with mock.patch.dict(transposition.primitive_transposes, {triangular_solve_p: in_the_hole}):
        for transposed in (False, True):
            matrix = a.T if transposed else a
            loss = lambda b, t=transposed: lax.reduce_sum(lax.mul(w, triangular_solve(
                a, b, left_side=True, lower=True, transpose_a=t)), (0, 1))
            compare(lambda b, f=loss: np.asarray(grad(f)(b)),
                    lambda b, m=matrix: np.linalg.solve(m.T, w), [(w,)],
                    f"transpose_a={transposed}: the gradient of sum(w X) by B, at B =")
            used = {eqn.params["transpose_a"] for eqn in make_jaxpr(grad(loss))(w).eqns
                    if eqn.primitive is triangular_solve_p}
            expect(used == {transposed}, f"transpose_a={transposed} should stay as it is; the "
                                         f"gradient's jaxpr has solves with {sorted(used)}")
            right = lambda b, t=transposed: lax.reduce_sum(lax.mul(w, triangular_solve(
                a, b, left_side=False, lower=True, transpose_a=t)), (0, 1))
            compare(lambda b, f=right: np.asarray(grad(f)(b)),
                    lambda b, m=matrix: np.linalg.solve(m, w.T).T, [(w,)],
                    f"left_side=False, transpose_a={transposed}: the gradient at B =")
        upper = lambda b: lax.reduce_sum(lax.mul(w, triangular_solve(
            a.T, b, left_side=True, lower=False)), (0, 1))
        compare(lambda b: np.asarray(grad(upper)(b)), lambda b: np.linalg.solve(a, w), [(w,)],
                "lower=False: the gradient of sum(w X) by B, at B =")
        spd = a @ a.T
        log_det = lambda m: lax.reduce_sum(lax.log(lax.reduce_sum(lax.mul(
            lax.linalg.cholesky(m), np.eye(2, dtype=F)), (0,))), (0,))
        compare(lambda m: np.asarray(grad(log_det)(m)), lambda m: np.linalg.inv(m) / 2, [(spd,)],
                "half the gradient of log det, by Cholesky, at")
    aval = typeof(w)
    params = {"left_side": True, "lower": True, "conjugate_a": False, "unit_diagonal": False}
    compare(lambda ct: str(_transpose(ct, a, transposition.UndefinedPrimal(aval),
                                      transpose_a=False, **params)),
            lambda ct: str([None, ct]), [(Zero(aval),)], "the cotangent")


@exercise("11.4", "The range of a sine", ["range_of_sin"], hints=[
    "There is a crest between the ends if some integer k has low <= π/2 + 2πk <= high.",
    "The least such k is ceil((low - π/2) / 2π). Is its crest at most high?",
    "A trough of sin(x) is a crest of -sin(x), half a period away.",
    "where(has_crest, 1.0, maximum(sin(low), sin(high)))",
])
def sine(range_of_sin):
    def sampled(low, high):
        steps = np.linspace(0, 1, 20001)[:, None]
        values = np.sin(np.ravel(low) + steps * (np.ravel(high) - np.ravel(low)))
        return [e.astype(F).reshape(np.shape(low)) for e in (values.min(0), values.max(0))]

    yours = lambda low, high: [np.asarray(e) for e in range_of_sin(low, high)]
    low = np.array([0.0, 1.0, 2.0, 4.0, -1.0, -10.0, 7.0, 0.5, 1.3, -1.4, -1.7], F)
    high = np.array([1.0, 2.0, 5.0, 6.0, 4.0, 10.0, 7.0, 1.4, 2.0, -0.5, -1.3], F)
    compare(yours, sampled, [*zip(low, high)], "low, high =")
    compare(lambda a, b: [np.asarray(e) for e in jit(range_of_sin)(a, b)], sampled,
            [(low, high)], "under jit, low, high =")


@exercise("11.5", "The propagation of errors", ["ErrorTrace", "with_error"], hints=[
    "The result itself: primitive.bind of all the x, with params.",
    "For operand i, f(x) = primitive.bind(*xs[:i], x, *xs[i + 1:], **params) is a function of one "
    "argument.",
    "jvp(f, (x,), (e,)) is the result and ∂f/∂x e. lax.abs of that is the operand's share.",
    "Skip the operands that have one part. At least one has two.",
])
def errors(error_trace, with_error):
    pair = lambda out: [np.asarray(part) for part in out]
    x, e = (F(2.0), F(0.1)), (F(3.0), F(0.2))
    case = lambda f, want, what: compare(
        lambda *pairs: pair(with_error(f)(*pairs)), lambda *pairs: [*map(F, want)], [(x, e)], what)
    case(lambda x, y: x * y, (6.0, 0.7), "x * y of the pairs")
    case(lambda x, y: x - y, (-1.0, 0.3), "x - y of the pairs")
    case(lambda x, y: 2.0 * x - y / 2.0, (2.5, 0.3), "2 x - y / 2 of the pairs")
    case(lambda x, y: x ** 3, (8.0, 1.2), "x³, a primitive with a parameter, of the pairs")
    case(lambda x, y: lax.sin(x), (np.sin(2), 0.1 * abs(np.cos(2))), "sin(x), of the pairs")
    case(jit(lambda x, y: lax.exp(-x) * y), (3 * np.exp(-2), np.exp(-2) * 0.5),
         "jit of exp(-x) y, of the pairs")
    case(lambda x, y: lax.fori_loop(0, 3, lambda i, v: v * x, y), (24.0, 5.2),
         "a loop, y * x three times, of the pairs")
