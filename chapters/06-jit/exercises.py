"""Exercises of chapter 6: fill in the stubs, then `python -m minijax learn check 6.1`."""

from __future__ import annotations


def signature(args, static):
    """6.1: the key under which `jit` keeps the trace of the call f(*args, static).

    The last argument is static, `args` are pytrees of arrays and numbers. Return something hashable
    that is equal for two calls if and only if they share a trace. (The settings are the same, and
    no axes have names.)
    """
    raise NotImplementedError


def translate(jaxpr):
    """6.2: the text of the StableHLO function `@main` that computes a jaxpr.

    Its primitives are sin, add and mul. Arguments are float32 arrays of any shape; the operands of
    an operation have one shape, but each may be a literal, too, which stands for an array of the
    shape of the result, all alike. There may be any number of results: write the types in
    parentheses, as in `@main(...) -> (tensor<3xf32>, tensor<f32>)`, and
    `return %0, %1 : tensor<3xf32>, tensor<f32>`.
    """
    raise NotImplementedError


def lower_axpy(ctx, a, x, y):
    """6.3: the lowering rule of the primitive axpy: a x + y.

    `a` is a scalar, `x` and `y` are arrays of one type (which may be scalars, too). All are
    `Value`s: `x.aval` is the type. Write the lines by `ctx.broadcast(value, shape)` and by
    `emit(ctx, "multiply", x, y)`, which is `minijax.core.lowering.emit`.
    """
    raise NotImplementedError


def live_equations(jaxpr):
    """6.4: the equations that a result depends on, or that have effects, in their order.

    `eqn.effects` is a set. A variable, or a literal, of `jaxpr.outvars` and `eqn.invars` is
    hashable.
    """
    raise NotImplementedError


def call_program(self, args):
    """6.5: how a `Program` (which is `self`) is called with a list of arguments.

    It has `executable`, which takes a list of buffers and gives a list of buffers; `in_avals` and
    `out_avals`; `kept`, the numbers of the arguments that the executable takes; `constants`,
    buffers that it takes after them; `donated`, the numbers of the arguments whose memory it takes
    away.
    Return a list of arrays. (There are no effects.) Of use, from `minijax.core.jit`:
    `buffer_of(x, aval)` and `array_of(buffer, aval)`. An `Array` has a method `delete`.
    """
    raise NotImplementedError


def jit_jvp(primals, tangents, *, jaxpr, donated_invars, **params):
    """6.6: the JVP rule of the primitive `jit`.

    Of the tangents some may be `Zero`s. Return the lists of the results and of their tangents. Of
    use: `jvp_jaxpr(jaxpr, nonzeros, instantiate)` of `minijax.core.staging` (give it tuples, since
    it remembers its results), `jit_p` of `minijax.core.jit`, `Zero` of `minijax.core.forward`, and
    `aval.to_tangent_aval()`, the type of the tangents of a type. An argument's tangent is donated
    if the argument is.
    """
    raise NotImplementedError
