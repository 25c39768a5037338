"""Exercises of chapter 6: fill in the stubs, then `python -m minijax learn check 6.1`."""

from __future__ import annotations


def signature(args, static):
    """6.1: the key under which `jit` keeps the trace of the call f(*args, static).

    The last argument is static, `args` are pytrees of arrays and numbers. Return something hashable
    that is equal for two calls if and only if they share a trace. (The settings are the same, and
    no axes have names.) Of use: `tree_flatten(tree)` of `minijax.tree_util`, which gives the leaves
    and the structure, and `minijax.typeof(leaf)`.
    """
    raise NotImplementedError


def translate(jaxpr):
    """6.2: the text of the StableHLO function `@main` that computes a jaxpr.

    Its primitives are sin, add and mul. Arguments are float32 arrays of any shape; the operands of
    an operation have one shape, but each may also be a `Literal` of `minijax.core.jaxpr`, whose
    `val` is a number: it stands for an array of the shape of the result, all alike. There may be
    any number of results: write the types in parentheses, as in
    `@main(...) -> (tensor<3xf32>, tensor<f32>)`, and `return %0, %1 : tensor<3xf32>, tensor<f32>`.
    """
    raise NotImplementedError


def lower_axpy(ctx, a, x, y):
    """6.3: the lowering rule of the primitive axpy: a x + y.

    `a` is a scalar, `x` and `y` are arrays of one type, which may be scalars. All are
    `Value`s: `x.aval` is the type. Write the lines by `ctx.broadcast(value, shape)` and by
    `emit(ctx, "multiply", x, y)`, which is `minijax.core.lowering.emit`.
    """
    raise NotImplementedError


def last_uses(jaxpr):
    """6.4: for each equation of a jaxpr, the set of variables whose memory is free after it.

    A variable is free after the last equation that reads it, or after the one that makes it if none
    reads it. The results of the jaxpr are never free. Arguments and constants are also variables,
    but one that no equation reads is in no set. Literals are not variables:
    `isinstance(atom, Literal)`, of `minijax.core.jaxpr`.
    """
    raise NotImplementedError


def call_program(self, args):
    """6.5: how a `Program` (which is `self`) is called with a list of arguments.

    It has `executable`, which takes a list of buffers and gives a list of buffers; `in_avals` and
    `out_avals`; `kept`, the numbers of the arguments that the executable takes; `constants`,
    buffers that it takes after them; `donated`, the numbers of the arguments whose memory it takes
    away. Return a list of arrays. (There are no effects.)

    If an array that is donated is also another kept argument, XLA would read memory that it has
    overwritten. Raise `ValueError` before anything runs, with both numbers in the message.

    Of use, from `minijax.core.jit`: `buffer_of(x, aval)` and `array_of(buffer, aval)`. After the
    run, the donated arguments that are a `minijax.core.array.Array` are deleted: `x.delete()`.
    """
    raise NotImplementedError


def without_jit(closed):
    """6.6: a closed jaxpr that computes the same, in which no equation is a `jit`, at any depth.

    What a `jit` equation holds, the closed jaxpr `eqn.params["jaxpr"]`, takes its place, with its
    equations in their order. The primitive is `minijax.core.jit.jit_p`.
    `minijax.core.staging.jaxpr_of(f, avals)` traces a function that takes arrays of these
    types, and returns a list of arrays. A closed jaxpr has `in_avals`, `consts` and `jaxpr`. An
    operand may be a `Literal` of `minijax.core.jaxpr`, whose value is its `val`.
    """
    raise NotImplementedError


def lower_softplus(emit, out, x):
    """6.7: the lowering rule of log(1 + exp(x)) in tiny, for a scalar `x`.

    `emit(text, out)` writes a line, and returns its `Value`; `x` is a `Value`, and `out` the type
    of the result. From `tiny`: `op(name)` makes the rule of one operation, which is called as
    `rule(emit, out, *operands)`, and `constant(emit, number)` writes a number. The names of
    StableHLO's operations are in step 6.3. Return the `Value` of the result.
    """
    raise NotImplementedError
