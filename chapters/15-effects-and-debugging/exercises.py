"""Exercises of chapter 15: fill in the stubs, then `python -m minijax learn check 15.1`."""

from __future__ import annotations

import math
from collections import namedtuple

import numpy as np  # noqa: F401  (these are for your answers)

import minijax as jax  # noqa: F401
from minijax import lax, numpy as jnp  # noqa: F401
from minijax.core.jaxpr import Literal  # noqa: F401

Eqn = namedtuple("Eqn", ("out", "op", "inputs", "effect"))

OPS = {"sin": math.sin, "cos": math.cos, "mul": lambda x, y: x * y, "add": lambda x, y: x + y,
       "select": lambda which, x, y: x if which else y}


def run(eqns, results, env):
    """The values of some variables, after equations without effects. `env` has the arguments."""
    env = dict(env)
    for eqn in eqns:
        env[eqn.out] = OPS[eqn.op](*[env[x] for x in eqn.inputs])
    return [env[x] for x in results]


def with_channels(eqns):
    """15.1: the equations with tokens, a separate chain of them for each channel.

    Here `effect` is the name of a channel, such as "screen" or "file", or None. An equation on a
    channel takes the channel's token as its last input, and its `out` becomes the next token. The
    tokens of "screen" are named "screen0", "screen1" and so on; "screen0" is an argument of the
    program. Keep `effect` as it is. Returns the new list, and a dict of each channel's last token.
    """
    raise NotImplementedError


def discharge_branches(eqns, refs):
    """15.2: the program without references, and a dict of each reference's last contents.

    `refs` are the names of the references. In the new program, each of these names is a variable
    with the contents at the start.
    Equations read with "get" and write with "set", as in the chapter. In addition, there is

        Eqn("_", "if", (p, yes, no), True)

    where p is a variable, and yes and no are lists of equations, of which one runs. They may read
    and write references, and contain further "if"s; outside of a branch, its variables are not
    used. The new program must not have "get", "set" or "if". It may compute both branches. Of use:
    the operation "select" of three inputs (p, x, y), which is x if p is true, and y if not. All
    names of variables in a program are different, and none ends with a digit. So a letter and a
    number make a new name. The new program has to run with `run` above.
    """
    raise NotImplementedError


def _one_by_one(bind, args, dims, **options):
    """15.3: the results of `bind` for each example of a batch, stacked, as a list.

    `bind(*operands)` calls back for one example, and returns a list of arrays. Operand i of one
    example is the whole args[i] if dims[i] is None. Else dims[i] is the batch axis of args[i], any
    axis. (The library's function gets 0 or None.) At least one is not None. The results are
    stacked along axis 0. The calls happen in the order of the examples. No Python loop over
    examples: `bind` must be traced once, however large the batch. Of use: `lax.scan(f, carry, xs,
    **options)`, where f(carry, x) returns (carry, y), and xs and y may be lists of arrays. Pass it
    the `options`. `jnp.moveaxis(x, source, destination)` moves an axis.
    """
    raise NotImplementedError


def cube_root(x):
    """15.4: the real cube root of a float array, computed outside of the program by `np.cbrt`.

    `jax.pure_callback(np.cbrt, jax.ShapeDtypeStruct(shape, dtype), x)` calls the function with an
    array; `jnp.shape(x)` and `jnp.result_type(x)` are those of x. Under `vmap` there must be a
    single call for the whole batch: pass `pure_callback` the option `vmap_method="expand_dims"`.
    The derivative of y = cube_root(x) is 1 / (3 y**2). Second derivatives must also work. Of use:
    `jax.custom_jvp`, and its method `defjvp`, for a rule that takes the primals and the tangents
    (two tuples of one array each), and returns the result and its tangent.
    """
    raise NotImplementedError


def first_infinity(f):
    """15.5: a function of an array x that returns the pair (f(x), n); it can be jitted and vmapped.

    n is an int32: the number, from 0, of the first equation in the jaxpr of f with an infinity
    among its results, or -1. `jax.make_jaxpr(f)(x)` is closed: it has `consts`, and its `jaxpr`
    has `constvars`, `invars`, `eqns` and `outvars`. An operand of an equation (`eqn.invars`) is a
    variable, or a `Literal` whose number is its `val`. `eqn.primitive.bind(*operands,
    **eqn.params)` evaluates, and returns a list if `eqn.primitive.multiple_results`. `jnp.isinf`
    also takes integers. f takes one array and returns one. Do not look into jaxprs within
    equations.
    """
    raise NotImplementedError
