"""Interpreters that make one jaxpr of another, as users write them."""

from __future__ import annotations

import copy
import functools
import pickle
from typing import Any

import numpy as np
import pytest

from tests.oracle import both, in_both, subject
from tests.users.test_interpreters import NETWORK, VECTORS, F, f, network, same

# ----------------------------------------------------------------------------------------------
# Literals

LITERALS = {"float": (lambda x: x * 2.0, 1.5), "int": (lambda x: x * 2, 3),
            "complex": (lambda x: x * 2j, 1j), "float32": (lambda x: x * 2.0, F(1)),
            "float16": (lambda x: x + 2, np.float16(1)), "result": (lambda x: (x, 2.0, 3), 1.0),
            "loop": (lambda x: sum(x * n for n in range(3)), 1)}  # fmt: skip


@pytest.mark.parametrize("name", LITERALS)
def test_a_literal_keeps_its_dtype(name):
    """Also when the jaxpr is evaluated under another setting of 64-bit mode."""
    function, x = LITERALS[name]

    def program(jx):
        Literal = jx.extend.core.Literal

        def run():
            closed = jx.make_jaxpr(function)(x)
            atoms = [*closed.jaxpr.outvars, *(v for eqn in closed.eqns for v in eqn.invars)]
            values = [v.val for v in atoms if isinstance(v, Literal)]
            arg, evaluate = jx.numpy.asarray(x), jx.extend.core.jaxpr_as_fun(closed)
            with jx.enable_x64(True):
                again = [[*map(jx.numpy.asarray, evaluate(arg))], jx.jit(evaluate)(arg), jx.vmap(evaluate)(arg[None])]
            copies = copy.deepcopy(values) + pickle.loads(pickle.dumps(values))
            kinds = [[issubclass(type(value), kind) for kind in (int, float, complex)]
                     for value in values if jx.typeof(value).weak_type]
            return [str(v.dtype) for v in values + copies], kinds, [*map(float, map(abs, copies))], again

        return run

    both(program)


# ----------------------------------------------------------------------------------------------
# From jaxpr to jaxpr


def fused(jx: Any, closed: Any) -> Any:
    """`a * b + c` with the product used once, as one equation that calls `jit`; else unchanged."""
    core, lax = jx.extend.core, jx.lax
    jaxpr = closed.jaxpr
    makers = {eqn.outvars[0]: eqn for eqn in jaxpr.eqns if eqn.primitive is lax.mul_p}
    uses: dict = {}
    for atom in [*jaxpr.outvars, *(v for eqn in jaxpr.eqns for v in eqn.invars)]:
        if not isinstance(atom, core.Literal):
            uses[atom] = uses.get(atom, 0) + 1

    eqns, gone = [], set()
    for eqn in jaxpr.eqns:
        first = eqn.invars[0] if eqn.invars else None
        product = None if isinstance(first, core.Literal) else makers.get(first)
        if eqn.primitive is lax.add_p and product is not None and uses[first] == 1:
            operands = [*product.invars, eqn.invars[1]]
            called = jx.make_jaxpr(jx.jit(fma))(*(v.aval for v in operands)).eqns[0]
            eqns.append(called.replace(invars=operands, outvars=eqn.outvars))
            gone.add(id(product))
        else:
            eqns.append(eqn)
    kept = [eqn for eqn in eqns if id(eqn) not in gone]
    return closed.replace(jaxpr=jaxpr.replace(eqns=kept))


def fma(a: Any, b: Any, c: Any) -> Any:
    return a * b + c


def test_fusing_equations():
    def program(jx):
        def fun(x, y):
            z = x * y + x
            return z * 2.0 + jx.numpy.sin(z), z * y

        def run(x, y):
            closed = fused(jx, jx.make_jaxpr(fun)(x, y))
            jx.extend.core.check_jaxpr(closed.jaxpr)
            new = jx.extend.core.jaxpr_as_fun(closed)
            return closed, new(x, y), jx.jit(new)(x, y), jx.make_jaxpr(new)(x, y), fun(x, y)

        return run

    same(program, VECTORS[0], VECTORS[1])


def test_new_equations():
    """`x ** 2` in place of `x * x`, and each result doubled by a new equation with a new variable."""

    def program(jx):
        core, lax = jx.extend.core, jx.lax

        def simpler(eqn):
            if eqn.primitive is lax.mul_p and eqn.invars[0] is eqn.invars[1]:
                return eqn.replace(primitive=lax.square_p, invars=eqn.invars[:1], params={})
            return eqn

        def doubled(jaxpr):
            newvar = core.gensym()
            outvars = [newvar(v.aval) for v in jaxpr.outvars]
            doubling = [core.new_jaxpr_eqn([v, v], [new], lax.add_p, {}, core.no_effects)
                        for v, new in zip(jaxpr.outvars, outvars, strict=True)]
            eqns = [*map(simpler, jaxpr.eqns), *doubling]
            info = jaxpr.debug_info._replace(result_paths=None) if jx is not subject else None
            return core.Jaxpr(jaxpr.constvars, jaxpr.invars, outvars, eqns, jaxpr.effects, info)

        def run(x, y):
            closed = jx.make_jaxpr(lambda x, y: (x * x + y, y * np.arange(3, dtype=F)))(x, y)
            new = doubled(closed.jaxpr)
            core.check_jaxpr(new)
            outs = jx.core.eval_jaxpr(new, closed.consts, x, y)
            fun = core.jaxpr_as_fun(core.ClosedJaxpr(new, closed.consts))
            slope = jx.grad(lambda x: fun(x, y)[0].sum())(x)
            return new, core.ClosedJaxpr(new, closed.consts), outs, slope, jx.vmap(fun)(x, y)

        return run

    same(program, VECTORS[0], VECTORS[1])


def test_the_type_checker_sees_a_wrong_rewrite():
    def wrong(rewrite):
        def program(jx):
            def run(x):
                closed = jx.make_jaxpr(lambda x: jx.numpy.sin(x * 2.0) + x)(x)
                jaxpr = closed.jaxpr
                jx.extend.core.check_jaxpr(jaxpr)
                jx.extend.core.check_jaxpr(jaxpr.replace(eqns=rewrite(jx, jaxpr.eqns)))

            return run

        return program

    def with_another_type(jx, eqns):
        var = jx.extend.core.Var(eqns[0].outvars[0].aval.update(shape=(7,)))
        return [eqns[0].replace(outvars=[var]), *eqns[1:]]

    rewrites = [
        lambda jx, eqns: eqns[1:],  # a variable that nothing binds
        lambda jx, eqns: [*eqns, eqns[0]],  # one bound twice
        lambda jx, eqns: eqns[::-1],  # read before it is bound
        with_another_type,
    ]
    for rewrite in rewrites:
        both(wrong(rewrite), VECTORS[0], raises="JaxprTypeError")


def test_dead_code_elimination():
    def program(jx):
        pe = jx.interpreters.partial_eval

        def fun(x, y, z):
            unused = jx.numpy.sin(y) * z
            return x * 2.0, jx.jit(lambda a, b: (a + 1.0, b * b))(x, y)[0], unused

        def run(*args):
            jaxpr = jx.make_jaxpr(fun)(*args).jaxpr
            new, used = pe.dce_jaxpr(jaxpr, [True, True, False])
            kept = [x for x, use in zip(args, used, strict=True) if use]
            return new, list(used), jx.core.eval_jaxpr(new, (), *kept)

        return run

    same(program, 1.0, 2.0, 3.0)


EVALUATED = {
    "plain": lambda jx, g: g,
    "jit": lambda jx, g: jx.jit(g),
    "vmap": lambda jx, g: jx.vmap(g),
    "jacobian": lambda jx, g: jx.jacrev(g),
    "jaxpr": lambda jx, g: jx.make_jaxpr(g),
    "as_constants": lambda jx, g: jx.make_jaxpr(jx.jit(lambda x: [y + x for y in g(x)])),
}


@pytest.mark.parametrize("name", EVALUATED)
@in_both
def test_eval_jaxpr_of_the_library(jx, name):
    closed = jx.make_jaxpr(lambda x: [f(jx)(x), x * np.arange(3, dtype=F), x])(VECTORS[0])
    g = functools.partial(jx.core.eval_jaxpr, closed.jaxpr, closed.consts)
    return EVALUATED[name](jx, g)(np.stack([VECTORS[0]] * 3) if name == "vmap" else VECTORS[0])


def test_an_evaluator_copied_from_jax():
    """It asks equations for their settings, and primitives for what `bind` wants."""

    def program(jx):
        core = jx.extend.core

        def evaluate(jaxpr, consts, *args):
            env = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*consts, *args), strict=True))
            for eqn in jaxpr.eqns:
                vals = [v.val if isinstance(v, core.Literal) else env[v] for v in eqn.invars]
                with eqn.ctx.manager:
                    params = eqn.primitive.get_bind_params(eqn.params)
                    ans = eqn.primitive.bind(*vals, **params)
                outs = ans if eqn.primitive.multiple_results else [ans]
                env.update(zip(eqn.outvars, outs, strict=True))
            return [env[v] for v in jaxpr.outvars]

        def run(*args):
            closed = jx.make_jaxpr(network(jx))(*args)
            return evaluate(closed.jaxpr, closed.consts, *args)

        return run

    same(program, *NETWORK)


def test_parameters_that_bind_takes_hold_functions():
    """The function of a call and its rules are `subfuns`, which an interpreter may wrap."""

    def program(jx):
        inner = jx.custom_jvp(lambda x: jx.numpy.sin(x))
        inner.defjvp(lambda primals, tangents: (inner(*primals), 10 * tangents[0]))
        outer = jx.custom_vjp(lambda x: inner(x) * 2)
        outer.defvjp(lambda x: (outer(x), x), lambda x, ct: (100 * ct * x,))

        def evaluate(jaxpr, calls, *args):
            env = dict(zip(jaxpr.invars, args, strict=True))
            for eqn in jaxpr.eqns:
                params = eqn.primitive.get_bind_params(eqn.params)
                vals = [v.val if hasattr(v, "val") else env[v] for v in eqn.invars]
                if "subfuns" in params:
                    funs = params["subfuns"]
                    calls.append((str(eqn.primitive), len(funs), funs[0].call_wrapped(*vals)))
                outs = eqn.primitive.bind(*vals, **params)
                outs = outs if eqn.primitive.multiple_results else [outs]
                env.update(zip(eqn.outvars, outs, strict=True))
            return env[jaxpr.outvars[0]]

        def run(x):
            jaxpr = jx.make_jaxpr(lambda x: inner(x) + outer(x) + 1)(x).jaxpr
            calls = []
            value = evaluate(jaxpr, calls, x)
            again = functools.partial(evaluate, jaxpr, [])
            staged = jx.make_jaxpr(again)(x)
            return (value, calls, jx.grad(again)(x), jx.jit(jx.vmap(jx.grad(again)))(
                jx.numpy.stack([x, x])), [str(eqn.primitive) for eqn in staged.eqns])

        return run

    same(program, np.float32(0.5))
