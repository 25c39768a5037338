"""Chapter 5, solutions of the two exercises that JAX's notebook on custom interpreters closes with.

1. Primitives of several operands, some of them known: `add`, `mul` and their like.
2. Primitives that contain a jaxpr: `jit`, and other calls.

The interpreter here runs forwards as far as the values are known, and then backwards for the rest.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from interpreters import Environment, apply, inverses

import minijax as jax
import minijax.numpy as jnp
from minijax.extend.core import ClosedJaxpr, Jaxpr, Literal, Primitive, primitives

# ----------------------------------------------------------------------------------------------
# Exercise 1: several operands

# For each operand the function that finds it: (result, *operands) -> the operand.
# The others are known then; in its own place stands `None`.
partial_inverses: dict[Primitive, Sequence[Callable]] = {
    primitives.add_p: (lambda z, x, y: z - y, lambda z, x, y: z - x),
    primitives.sub_p: (lambda z, x, y: z + y, lambda z, x, y: x - z),
    primitives.mul_p: (lambda z, x, y: z / y, lambda z, x, y: z / x),
    primitives.div_p: (lambda z, x, y: z * y, lambda z, x, y: x / z),
    primitives.pow_p: (lambda z, x, y: z ** (1 / y), lambda z, x, y: jnp.log(z) / jnp.log(x)),
}


def inverse(fun: Callable, argnum: int = 0) -> Callable:
    """The inverse of `fun` with respect to one argument, the others given.

    Args:
      fun: a function of arrays that returns one array.
      argnum: which argument to solve for. It is assumed to have the type of the result.

    Returns:
      a function of the result and the other arguments: `inverse(fun, 1)(fun(x, y), x)` is `y`.

    Raises:
      NotImplementedError: an equation cannot be solved for what is unknown in it.
      ValueError: the result does not depend on the argument.
    """

    @functools.wraps(fun)
    def inverted(result, *others):
        args = [*others[:argnum], result, *others[argnum:]]
        closed = inline_calls(jax.make_jaxpr(fun)(*args))
        env = known_values(closed, argnum, args)
        env.write(closed.jaxpr.outvars, [result])
        return solve(closed.jaxpr, env, closed.jaxpr.invars[argnum])

    return inverted


def known_values(closed: ClosedJaxpr, argnum: int, args: Sequence) -> Environment:
    """Run forwards: the values of all variables that do not depend on argument `argnum`."""
    jaxpr = closed.jaxpr
    env = Environment()
    env.write(jaxpr.constvars, closed.consts)
    env.update((v, x) for i, (v, x) in enumerate(zip(jaxpr.invars, args)) if i != argnum)
    for eqn in jaxpr.eqns:
        if not unknown_operands(eqn, env):
            env.write(eqn.outvars, apply(eqn, [env.read(atom) for atom in eqn.invars]))
    return env


def unknown_operands(eqn: Any, env: Environment) -> list[int]:
    """The numbers of the operands that have no value yet."""
    return [i for i, v in enumerate(eqn.invars) if not isinstance(v, Literal) and v not in env]


def solve(jaxpr: Jaxpr, env: Environment, wanted: Any) -> Any:
    """Run backwards: each result that is known gives an operand that is not, up to `wanted`."""
    for eqn in reversed(jaxpr.eqns):
        unknown = unknown_operands(eqn, env)
        if unknown and all(v in env for v in eqn.outvars):
            env[eqn.invars[unknown[0]]] = solve_equation(eqn, env, unknown)
    if wanted not in env:
        raise ValueError("the result says nothing of the argument that is to be found")
    return env[wanted]


def solve_equation(eqn: Any, env: Environment, unknown: Sequence[int]) -> Any:
    """The value of the one operand that is unknown."""
    if len(unknown) > 1:
        raise NotImplementedError(f"`{eqn}` has {len(unknown)} unknown operands")
    results = [env[v] for v in eqn.outvars]
    if eqn.primitive in inverses:
        return inverses[eqn.primitive](*results, **eqn.params)
    if eqn.primitive not in partial_inverses:
        raise NotImplementedError(f"the primitive '{eqn.primitive}' has no inverse in the tables")
    rule = partial_inverses[eqn.primitive][unknown[0]]
    operands = [None if i in unknown else env.read(v) for i, v in enumerate(eqn.invars)]
    return rule(*results, *operands)


# ----------------------------------------------------------------------------------------------
# Exercise 2: jaxprs within jaxprs

# Primitives that do nothing but call a function, and the parameter that holds its jaxpr.
CALLS = {"jit": "jaxpr", "closed_call": "call_jaxpr", "custom_jvp_call": "call_jaxpr",
         "custom_vjp_call": "call_jaxpr"}  # fmt: skip


def inline_calls(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The same program in one piece: in place of each call stand the equations of what it calls.

    An interpreter that evaluates, only stepping into calls, and `make_jaxpr` to write down what
    it does. After it, no other interpreter need know of calls. (To have the program compiled,
    put `jit` around the whole of it.)
    """
    return jax.make_jaxpr(functools.partial(evaluate_inside, closed))(*closed.in_avals)


def evaluate_inside(closed: ClosedJaxpr, *args: Any) -> list:
    """`evaluate`, for which a call is no equation but a detour."""
    env = Environment()
    env.write(closed.jaxpr.constvars, closed.consts)
    env.write(closed.jaxpr.invars, args)
    for eqn in closed.jaxpr.eqns:
        operands = [env.read(atom) for atom in eqn.invars]
        called = eqn.params.get(CALLS.get(eqn.primitive.name))
        results = evaluate_inside(called, *operands) if called else apply(eqn, operands)
        env.write(eqn.outvars, results)
    return [env.read(atom) for atom in closed.jaxpr.outvars]
