"""Interpreters of jaxprs, written as users write them, do the same in minijax as in JAX.

First the steps of JAX's notebook "Writing custom Jaxpr interpreters", then chapter 5's own files
(run on JAX too: there `import minijax` means `import jax`), then interpreters of other kinds.
"""

from __future__ import annotations

import functools
import sys
import types
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

from tests.oracle import both, in_both, subject

F = np.float32
POINTS = (np.arange(5, dtype=F) + 1) / 5


def same(program: Any, *args: Any) -> Any:
    """The program succeeds, and gives the same in both libraries: this."""
    both(program, *args)
    return program(subject)(*args)


# ----------------------------------------------------------------------------------------------
# The notebook's steps


def f(jx: Any) -> Any:
    return lambda x: jx.numpy.exp(jx.numpy.tanh(x))


def bar(jx: Any) -> Any:
    return lambda w, b, x: (jx.numpy.dot(w, x) + b + jx.numpy.ones(5), x)


def examine(jx: Any, closed: Any) -> list:
    """What the notebook prints; variables, which have no name yet, by their types."""
    core = jx.extend.core
    jaxpr = closed.jaxpr

    def show(atoms: Any) -> list:
        return [(type(v).__name__, v.aval.str_short(short_dtypes=True),
                 float(v.val) if isinstance(v, core.Literal) else None) for v in atoms]

    def params(eqn: Any) -> dict:
        return {k: str(v) for k, v in sorted(eqn.params.items())}

    eqns = [(show(e.invars), str(e.primitive), show(e.outvars), params(e)) for e in jaxpr.eqns]
    return [show(jaxpr.invars), show(jaxpr.outvars), show(jaxpr.constvars), eqns]


EXAMINED = {
    "foo": (lambda jx: lambda x: x + 1, (5,)),
    "bar": (bar, (np.ones((5, 10), F), np.ones(5, F), np.ones(10, F))),
    "constants": (lambda jx: lambda x: x * np.arange(3, dtype=F) + np.ones(3, F), (np.ones(3, F),)),
    "no_equations": (lambda jx: lambda x, y: (y, x), (1.0, 2)),
    "jit": (lambda jx: jx.jit(f(jx)), (1.0,)),
    "reductions": (lambda jx: lambda x: (x.sum(0), x.max(), x.T), (np.ones((2, 3), F),)),
}


@pytest.mark.parametrize("name", EXAMINED)
def test_examine(name):
    function, args = EXAMINED[name]

    def program(jx):
        def run(*args):
            closed = jx.make_jaxpr(function(jx))(*args)
            return examine(jx, closed) if name != "jit" else len(closed.eqns), closed

        return run

    same(program, *args)


def eval_jaxpr(jx: Any) -> Any:
    """The notebook's evaluator."""
    core, safe_map = jx.extend.core, jx.api_util.safe_map

    def evaluate(jaxpr, consts, *args):
        env = {}

        def read(var):
            return var.val if type(var) is core.Literal else env[var]

        safe_map(env.__setitem__, jaxpr.invars, args)
        safe_map(env.__setitem__, jaxpr.constvars, consts)
        for eqn in jaxpr.eqns:
            outvals = eqn.primitive.bind(*safe_map(read, eqn.invars), **eqn.params)
            if not eqn.primitive.multiple_results:
                outvals = [outvals]
            safe_map(env.__setitem__, eqn.outvars, outvals)
        return safe_map(read, jaxpr.outvars)

    return evaluate


def traced_and_evaluated(jx: Any, fun: Any) -> Any:
    """The function that traces `fun`, and evaluates the jaxpr at the same arguments."""

    def run(*args):
        closed = jx.make_jaxpr(fun)(*args)
        return eval_jaxpr(jx)(closed.jaxpr, closed.literals, *args)

    return run


@pytest.mark.parametrize("name", EXAMINED)
def test_eval_jaxpr(name):
    function, args = EXAMINED[name]
    same(lambda jx: traced_and_evaluated(jx, function(jx)), *args)
    same(lambda jx: jx.make_jaxpr(traced_and_evaluated(jx, function(jx))), *args)


@pytest.mark.parametrize("transform", ["jit", "grad", "hessian", "jacfwd", "linearize"])
def test_the_evaluator_is_transformed(transform):
    def program(jx):
        fun = traced_and_evaluated(jx, f(jx))

        def first(x):
            return fun(x)[0]

        if transform == "linearize":
            return lambda x: jx.linearize(first, x)[1](1.0)
        return getattr(jx, transform)(first)

    same(program, 0.5)


def inverse(jx: Any) -> Any:
    """The notebook's `inverse`."""
    core, lax, safe_map = jx.extend.core, jx.lax, jx.api_util.safe_map
    registry = {lax.exp_p: jx.numpy.log, lax.tanh_p: jx.numpy.arctanh}

    def inverse_jaxpr(jaxpr, consts, *args):
        env = {}

        def read(var):
            return var.val if type(var) is core.Literal else env[var]

        safe_map(env.__setitem__, jaxpr.outvars, args)
        safe_map(env.__setitem__, jaxpr.constvars, consts)
        for eqn in jaxpr.eqns[::-1]:
            if eqn.primitive not in registry:
                raise NotImplementedError(f"{eqn.primitive} does not have registered inverse.")
            outval = registry[eqn.primitive](*safe_map(read, eqn.outvars))
            safe_map(env.__setitem__, eqn.invars, [outval])
        return safe_map(read, jaxpr.invars)

    def inverse(fun):
        @functools.wraps(fun)
        def wrapped(*args, **kwargs):
            closed = jx.make_jaxpr(fun)(*args, **kwargs)
            return inverse_jaxpr(closed.jaxpr, closed.literals, *args)[0]

        return wrapped

    return inverse


INVERTED = {
    "plain": lambda jx, f_inv: f_inv,
    "jaxpr": lambda jx, f_inv: jx.make_jaxpr(f_inv),
    "grad": lambda jx, f_inv: jx.grad(f_inv),
    "grad_of_grad": lambda jx, f_inv: jx.grad(jx.grad(f_inv)),
    "value_and_grad": lambda jx, f_inv: jx.value_and_grad(f_inv),
    "jvp": lambda jx, f_inv: lambda y: jx.jvp(f_inv, (y,), (1.0,)),
    "jit": lambda jx, f_inv: jx.jit(f_inv),
    "grad_of_jit": lambda jx, f_inv: jx.grad(jx.jit(f_inv)),
}


@pytest.mark.parametrize("name", INVERTED)
@pytest.mark.parametrize("y", [1.5, F(0.8)])
def test_inverse(name, y):
    same(lambda jx: INVERTED[name](jx, inverse(jx)(f(jx))), y)


ON_VECTORS = {
    "plain": lambda jx, f_inv: f_inv,
    "vmap": lambda jx, f_inv: jx.vmap(f_inv),
    "vmap_of_grad": lambda jx, f_inv: jx.vmap(jx.grad(f_inv)),
    "the_notebook": lambda jx, f_inv: jx.jit(jx.vmap(jx.grad(f_inv))),
    "its_jaxpr": lambda jx, f_inv: jx.make_jaxpr(jx.jit(jx.vmap(jx.grad(f_inv)))),
    "grad_of_sum_of_vmap": lambda jx, f_inv: jx.grad(lambda ys: jx.vmap(f_inv)(ys).sum()),
    "jacobian": lambda jx, f_inv: jx.jacrev(f_inv),
    "jaxpr_of_jvp": lambda jx, f_inv: jx.make_jaxpr(lambda ys: jx.jvp(f_inv, (ys,), (ys,))),
}


@pytest.mark.parametrize("name", ON_VECTORS)
def test_inverse_of_vectors(name):
    same(lambda jx: ON_VECTORS[name](jx, inverse(jx)(f(jx))), POINTS + F(0.5))


def test_the_notebook_in_minijax():
    jax, jnp = subject, subject.numpy
    f_inv = inverse(jax)(f(jax))
    assert jnp.allclose(f_inv(f(jax)(1.0)), 1.0)
    slopes = jax.jit(jax.vmap(jax.grad(f_inv)))((jnp.arange(5) + 1.0) / 5)
    expected = [-3.1440797, 15.584931, 2.2551253, 1.3155028, 1.0]
    np.testing.assert_allclose(slopes, expected, rtol=1e-5)


def test_a_missing_inverse():
    """The notebook's interpreter knows neither `sin` nor `jit`."""
    both(lambda jx: inverse(jx)(jx.numpy.sin), 0.5)
    both(lambda jx: inverse(jx)(jx.jit(f(jx))), 0.5)


# ----------------------------------------------------------------------------------------------
# The files of chapter 5

FOLDER = Path(__file__).parents[2] / "chapters" / "05-jaxprs"


@functools.cache
def chapter(jx: Any, name: str = "interpreters") -> types.ModuleType:
    """A file of the chapter, written for `jx`."""
    source = (FOLDER / f"{name}.py").read_text().replace("minijax", jx.__name__)
    module = types.ModuleType(name)
    known = {} if name == "interpreters" else {"interpreters": chapter(jx)}
    with mock.patch.dict(sys.modules, known):
        exec(compile(source, FOLDER / f"{name}.py", "exec"), vars(module))
    return module


def test_the_file_runs(capsys):
    chapter(subject).main()
    out = capsys.readouterr().out
    assert "tanh of a variable gives f32[]" in out
    assert "{ lambda ; a:f32[]. let b:f32[] = log a; c:f32[] = atanh b in (c,) }" in out


@pytest.mark.parametrize("name", EXAMINED)
def test_describe(name):
    function, args = EXAMINED[name]
    same(lambda jx: lambda *args: list(
        chapter(jx).describe(jx.make_jaxpr(function(jx))(*args))), *args)


def test_evaluate():
    def program(jx):
        def run(*args):
            closed = jx.make_jaxpr(bar(jx))(*args)
            return chapter(jx).evaluate(closed.jaxpr, closed.consts, *args)

        return run

    same(program, *EXAMINED["bar"][1])


INVERTIBLE = {
    "exp_tanh": (f, F(0.5)),
    "neg_log": (lambda jx: lambda x: -jx.numpy.log(x), F(0.7)),
    "expm1_log1p": (lambda jx: lambda x: jx.numpy.expm1(jx.numpy.log1p(x)), F(0.7)),
    "log1p_expm1": (lambda jx: lambda x: jx.numpy.log1p(jx.numpy.expm1(x)), F(0.7)),
    "logistic": (lambda jx: jx.lax.logistic, F(0.3)),
    "powers": (lambda jx: lambda x: jx.numpy.sqrt(x) ** 3, F(0.7)),
    "square": (lambda jx: jx.numpy.square, F(0.7)),
    "atanh": (lambda jx: jx.numpy.arctanh, F(0.7)),
    "transpose": (lambda jx: lambda x: jx.numpy.exp(x.transpose(1, 2, 0)),
                  np.arange(8, dtype=F).reshape(2, 2, 2) / 8),
}


@pytest.mark.parametrize("name", INVERTIBLE)
def test_the_chapters_inverse_goes_back(name):
    function, x = INVERTIBLE[name]
    inverse, fun = chapter(subject).inverse, function(subject)
    np.testing.assert_allclose(inverse(fun)(fun(x)), x, rtol=1e-5, atol=1e-6)
    same(lambda jx: lambda y: chapter(jx).inverse(function(jx))(y), np.asarray(fun(x)))
    same(lambda jx: jx.make_jaxpr(chapter(jx).inverse(function(jx))), np.asarray(fun(x)))


@in_both
def test_the_inverse_of_the_inverse(jx):
    inverse = chapter(jx).inverse
    twice = inverse(inverse(f(jx)))
    x = F(0.5)
    return (twice(x), jx.make_jaxpr(twice)(x), jx.grad(twice)(x))


def test_the_chapters_inverse_has_limits():
    both(lambda jx: chapter(jx).inverse(jx.numpy.sin), 0.5)


SOLVED = {
    "add": (lambda jx: lambda x, y: x + y, 2),
    "sub": (lambda jx: lambda x, y: x - y, 2),
    "mul": (lambda jx: lambda x, y: x * y, 2),
    "div": (lambda jx: lambda x, y: x / y, 2),
    "pow": (lambda jx: lambda x, y: x**y, 2),
    "affine": (lambda jx: lambda x, w, b: w * x + b, 3),
    "literals": (lambda jx: lambda x: jx.numpy.exp(2.0 * x + 1.0) / 3.0, 1),
    "known_branch": (lambda jx: lambda x, w: jx.numpy.tanh(jx.numpy.sin(w) * x) - w.sum(), 2),
    "constant_array": (lambda jx: lambda x: x * np.array([1.0, 2.0, 4.0], F), 1),
    "jit": (lambda jx: lambda x, y: jx.jit(f(jx))(x) * y, 2),
    "jit_of_two": (lambda jx: jx.jit(lambda x, y: jx.numpy.exp(x * y)), 2),
    "jit_in_jit": (lambda jx: jx.jit(lambda x, y: jx.jit(lambda a, b: (a + b, a))(x, y)[0]), 2),
    "jit_partly_known": (
        lambda jx: lambda x, y: jx.jit(lambda a, b: (jx.numpy.exp(a), b * b))(x, y)[0] + y, 2),
}
VECTORS = (np.array([0.25, 0.5, 0.75], F), np.array([1.5, 0.75, 1.25], F), np.array([2, 3, 4], F))
CASES = [(name, i) for name, (_, n) in SOLVED.items() for i in range(n)
         if (name, i) not in {("known_branch", 1), ("jit_partly_known", 1)}]


@pytest.mark.parametrize(("name", "argnum"), CASES)
def test_solving_for_one_argument(name, argnum):
    function, n = SOLVED[name]
    fun, args = function(subject), VECTORS[:n]
    result = np.asarray(fun(*args))
    others = [x for i, x in enumerate(args) if i != argnum]
    found = chapter(subject, "extensions").inverse(fun, argnum)(result, *others)
    np.testing.assert_allclose(found, args[argnum], rtol=1e-4)

    def program(jx):
        solve = chapter(jx, "extensions").inverse(function(jx), argnum)
        return lambda *args: (
            jx.numpy.asarray(solve(*args)), jx.jit(solve)(*args), jx.make_jaxpr(solve)(*args))

    same(program, result, *others)


COMPOSED = {
    "grad": lambda jx, solve: jx.grad(lambda y, *xs: solve(y, *xs).sum(), argnums=(0, 1)),
    "vmap": lambda jx, solve: jx.vmap(solve),
    "jit_vmap_grad": lambda jx, solve: jx.jit(jx.vmap(jx.grad(solve))),
    "jvp": lambda jx, solve: lambda *xs: jx.jvp(solve, xs, xs),
    "jaxpr_of_jit_vmap_grad": lambda jx, solve: jx.make_jaxpr(jx.jit(jx.vmap(jx.grad(solve)))),
}


@pytest.mark.parametrize("name", COMPOSED)
@pytest.mark.parametrize("function", ["affine", "jit", "jit_of_two"])
def test_the_solution_composes(name, function):
    fun, n = SOLVED[function]
    same(lambda jx: COMPOSED[name](jx, chapter(jx, "extensions").inverse(fun(jx))), *VECTORS[:n])


UNSOLVABLE = {
    "twice_in_one_equation": lambda jx: lambda x, y: x + x + y,
    "both_operands": lambda jx: lambda x, y: x * jx.numpy.exp(x) + y,
    "no_rule": lambda jx: lambda x, y: jx.numpy.sin(x) + y,
    "no_dependence": lambda jx: lambda x, y: jx.numpy.exp(y),
    "dead_branch_only": lambda jx: lambda x, y: (jx.numpy.exp(x), y)[1],
}


@pytest.mark.parametrize("name", UNSOLVABLE)
def test_what_cannot_be_solved(name):
    both(lambda jx: chapter(jx, "extensions").inverse(UNSOLVABLE[name](jx)), 2.0, 3.0,
         raises=(NotImplementedError, ValueError))


def test_inlined_calls():
    def program(jx):
        inner = jx.jit(lambda x, y: (jx.numpy.sin(x) * y, y))

        @jx.jit
        def outer(x):
            a, b = inner(x, 2.0)
            return inner(a + b, x)

        def run(x):
            inlined = chapter(jx, "extensions").inline_calls(jx.make_jaxpr(outer)(x))
            jx.extend.core.check_jaxpr(inlined.jaxpr)
            return inlined, jx.extend.core.jaxpr_as_fun(inlined)(x)

        return run

    same(program, VECTORS[0])


# ----------------------------------------------------------------------------------------------
# Other interpreters


def network(jx: Any) -> Any:
    def predict(w, b, x):
        return jx.jit(lambda h: jx.numpy.tanh(h * 2.0))(x @ w + b).sum()

    return predict


NETWORK = (np.ones((4, 3), F) / 8, np.ones(3, F), np.arange(8, dtype=F).reshape(2, 4) / 8)


def test_counting_flops():
    """By primitive, in a gradient, and inside of nested jaxprs."""

    def program(jx):
        core = jx.extend.core

        def cost(eqn):
            if eqn.primitive.name == "dot_general":
                ((contracting, _), _) = eqn.params["dimension_numbers"]
                lengths = [eqn.invars[0].aval.shape[d] for d in contracting]
                return 2 * eqn.outvars[0].aval.size * int(np.prod(lengths))
            return sum(v.aval.size for v in eqn.outvars)

        def count(jaxpr, total):
            for eqn in jaxpr.eqns:
                inner = list(core.jaxprs_in_params(eqn.params))
                for sub in inner:
                    count(sub, total)
                if not inner:
                    name = str(eqn.primitive)
                    total[name] = total.get(name, 0) + cost(eqn)
            return total

        def run(*args):
            forward = jx.make_jaxpr(network(jx))(*args)
            backward = jx.make_jaxpr(jx.grad(network(jx)))(*args)
            assert len(list(core.subjaxprs(forward.jaxpr))) == 1
            return count(forward.jaxpr, {}), count(backward.jaxpr, {})

        return run

    same(program, *NETWORK)


def replacing(jx: Any, replacements: dict) -> Any:
    """A transformation that binds other primitives than were traced, also inside `jit`."""
    core = jx.extend.core

    def evaluate(jaxpr, consts, *args):
        env = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*consts, *args), strict=True))

        def read(atom):
            return atom.val if isinstance(atom, core.Literal) else env[atom]

        for eqn in jaxpr.eqns:
            operands = [read(v) for v in eqn.invars]
            if eqn.primitive is core.primitives.jit_p:
                inner = eqn.params["jaxpr"]
                inside = functools.partial(evaluate, inner.jaxpr, inner.consts)
                inside.__name__ = eqn.params["name"]
                outs = jx.jit(inside)(*operands)
            else:
                primitive = replacements.get(eqn.primitive)
                bind = functools.partial(eqn.primitive.bind, **eqn.params)
                outs = primitive.bind(*operands) if primitive else bind(*operands)
                outs = outs if eqn.primitive.multiple_results else [outs]
            env.update(zip(eqn.outvars, outs, strict=True))
        return [read(v) for v in jaxpr.outvars]

    def transform(fun):
        def transformed(*args):
            closed, shapes = jx.make_jaxpr(fun, return_shape=True)(*args)
            leaves = jx.tree_util.tree_leaves(args)
            outs = evaluate(closed.jaxpr, closed.consts, *leaves)
            return jx.tree_util.tree_unflatten(jx.tree_util.tree_structure(shapes), outs)

        return transformed

    return transform


REPLACED = {
    "plain": lambda jx, g: g,
    "jaxpr": lambda jx, g: jx.make_jaxpr(g),
    "jit": lambda jx, g: jx.jit(g),
    "grad": lambda jx, g: jx.grad(lambda tree: g(tree)["a"].sum()),
    "vmap": lambda jx, g: jx.vmap(g),
    "twice": lambda jx, g: jx.make_jaxpr(replacing(jx, {jx.lax.sin_p: jx.lax.cos_p})(g)),
}


@pytest.mark.parametrize("name", REPLACED)
@in_both
def test_multiplications_become_additions(jx, name):
    def fun(tree):
        product = jx.jit(lambda a, b: a * b * jx.numpy.sin(a))(tree["x"], tree["y"])
        return {"a": product * 3.0, "b": (tree["x"], tree["y"] * tree["y"])}

    return REPLACED[name](jx, replacing(jx, {jx.lax.mul_p: jx.lax.add_p})(fun))({"x": VECTORS[0], "y": VECTORS[1]})


def test_interval_arithmetic():
    """A value is a pair of bounds; the interpreter runs in NumPy and in minijax, vectorised."""

    def program(jx):
        core, lax, jnp = jx.extend.core, jx.lax, jx.numpy

        def product(x, y):
            corners = [a * b for a in x for b in y]
            return functools.reduce(jnp.minimum, corners), functools.reduce(jnp.maximum, corners)

        rules = {
            lax.add_p: lambda x, y: (x[0] + y[0], x[1] + y[1]),
            lax.sub_p: lambda x, y: (x[0] - y[1], x[1] - y[0]),
            lax.mul_p: product,
            lax.neg_p: lambda x: (-x[1], -x[0]),
            lax.exp_p: lambda x: (jnp.exp(x[0]), jnp.exp(x[1])),
            lax.tanh_p: lambda x: (jnp.tanh(x[0]), jnp.tanh(x[1])),
        }

        def bounds(fun):
            def bounded(low, high):
                closed = jx.make_jaxpr(fun)(low)
                env = {closed.jaxpr.invars[0]: (low, high)}

                def read(v):
                    return (v.val, v.val) if isinstance(v, core.Literal) else env[v]

                for eqn in closed.eqns:
                    env[eqn.outvars[0]] = rules[eqn.primitive](*map(read, eqn.invars))
                return read(closed.jaxpr.outvars[0])

            return bounded

        interval = bounds(lambda x: jnp.exp(-x * 0.5) * (x - 1.0) + jnp.tanh(x) * x)

        def run(low, high):
            slope = jx.grad(lambda a, b: interval(a, b)[1])
            return (interval(low, high), jx.vmap(interval)(low, high), jx.jit(interval)(low, high),
                    jx.vmap(slope)(low, high), jx.make_jaxpr(interval)(low, high))

        return run

    same(program, POINTS - F(0.5), POINTS + F(0.125))
