"""Chapter 5: two interpreters of jaxprs, and the transformation that the second one makes.

A jaxpr is a list of equations, so a loop over them is an interpreter. Run forwards, binding each
primitive, it computes the function again (`evaluate`). Run backwards, with each primitive replaced
by its inverse, it computes the function's inverse (`inverse`). This is a transformation like
`grad`, but the library did not have to provide it.

    python chapters/05-jaxprs/interpreters.py
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import minijax as jax
import minijax.numpy as jnp
from minijax.extend.core import ClosedJaxpr, Jaxpr, Literal, Primitive, primitives

# ----------------------------------------------------------------------------------------------
# The parts of a jaxpr


def describe(closed: ClosedJaxpr) -> Iterator[str]:
    """Lines that tell what a jaxpr consists of."""
    jaxpr = closed.jaxpr
    yield f"constants {len(jaxpr.constvars)}, arguments {len(jaxpr.invars)}"
    for eqn in jaxpr.eqns:
        operands = ["a literal" if isinstance(v, Literal) else "a variable" for v in eqn.invars]
        types = " ".join(v.aval.str_short(short_dtypes=True) for v in eqn.outvars)
        yield f"{eqn.primitive} of {' and '.join(operands)} gives {types}"
    yield f"results {len(jaxpr.outvars)}"


# ----------------------------------------------------------------------------------------------
# Forwards


class Environment(dict):
    """The values of variables, while an interpreter is under way."""

    def read(self, atom: Any) -> Any:
        """The value of a variable, or of a literal, which carries its own."""
        return atom.val if isinstance(atom, Literal) else self[atom]

    def write(self, variables: Sequence, values: Sequence) -> None:
        """Give each variable its value."""
        self.update(zip(variables, values, strict=True))


def evaluate(jaxpr: Jaxpr, consts: Sequence, *args: Any) -> list:
    """The results of a jaxpr, as a list.

    `bind` leaves it to the current trace what a primitive does. So `evaluate` can itself be
    differentiated, vectorised and staged out, like any other function on arrays.
    """
    env = Environment()
    env.write(jaxpr.constvars, consts)
    env.write(jaxpr.invars, args)
    for eqn in jaxpr.eqns:
        env.write(eqn.outvars, apply(eqn, [env.read(atom) for atom in eqn.invars]))
    return [env.read(atom) for atom in jaxpr.outvars]


def apply(eqn: Any, operands: Sequence) -> list:
    """Bind an equation's primitive; a list of its results, also if there is but one."""
    results = eqn.primitive.bind(*operands, **eqn.params)
    return results if eqn.primitive.multiple_results else [results]


# ----------------------------------------------------------------------------------------------
# Backwards

# Which function undoes a primitive: (result, **params) -> operand.
inverses: dict[Primitive, Callable] = {
    primitives.neg_p: lambda y, **_: -y,
    primitives.exp_p: lambda y, **_: jnp.log(y),
    primitives.log_p: lambda y, **_: jnp.exp(y),
    primitives.expm1_p: lambda y, **_: jnp.log1p(y),
    primitives.log1p_p: lambda y, **_: jnp.expm1(y),
    primitives.tanh_p: lambda y, **_: jnp.arctanh(y),
    primitives.atanh_p: lambda y, **_: jnp.tanh(y),
    primitives.logistic_p: lambda y, **_: jnp.log(y) - jnp.log1p(-y),
    primitives.integer_pow_p: lambda z, *, y: z ** (1 / y),  # of two roots the positive one
    primitives.square_p: lambda y, **_: jnp.sqrt(y),
    primitives.sqrt_p: lambda y, **_: jnp.square(y),
    primitives.transpose_p: lambda y, *, permutation: jnp.transpose(y, np.argsort(permutation)),
}


def inverse(fun: Callable) -> Callable:
    """The inverse of `fun`, a function of one array: `inverse(fun)(fun(x))` is `x`.

    To be traced, `fun` needs an argument of the right type; it is assumed to have the same type
    as the result.

    Raises:
      NotImplementedError: `fun` uses a primitive whose inverse is not in the table.
    """

    @functools.wraps(fun)
    def inverted(y):
        closed = jax.make_jaxpr(fun)(y)
        (x,) = evaluate_backwards(closed.jaxpr, closed.consts, y)
        return x

    return inverted


def evaluate_backwards(jaxpr: Jaxpr, consts: Sequence, *results: Any) -> list:
    """The arguments of a jaxpr whose equations have one operand each, from its results."""
    env = Environment()
    env.write(jaxpr.constvars, consts)
    env.write(jaxpr.outvars, results)
    for eqn in reversed(jaxpr.eqns):
        if eqn.primitive not in inverses:
            raise NotImplementedError(f"the table has no inverse of '{eqn.primitive}'")
        undo = functools.partial(inverses[eqn.primitive], **eqn.params)
        env.write(eqn.invars, [undo(env.read(v)) for v in eqn.outvars])
    return [env.read(v) for v in jaxpr.invars]


# ----------------------------------------------------------------------------------------------


def main() -> None:
    """`inverse`, alone and in company."""

    def f(x):
        return jnp.exp(jnp.tanh(x))

    print(*describe(jax.make_jaxpr(f)(1.0)), sep="\n")
    print("f(1.0) =", f(1.0), "and back:", inverse(f)(f(1.0)))
    print("The inverse is a jaxpr, too:", jax.make_jaxpr(inverse(f))(2.0))
    print("Its derivative at five points, vectorised and compiled:")
    print(jax.jit(jax.vmap(jax.grad(inverse(f))))((jnp.arange(5) + 1.0) / 5))


if __name__ == "__main__":
    main()
