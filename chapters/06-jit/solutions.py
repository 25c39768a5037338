"""Solutions of chapter 6."""

from __future__ import annotations

from minijax.core.array import Array
from minijax.core.core import typeof
from minijax.core.jaxpr import Literal
from minijax.core.jit import array_of, buffer_of, jit_p
from minijax.core.lowering import emit
from minijax.core.staging import jaxpr_of
from minijax.core.tree import tree_flatten


def signature(args, static):
    """All that the function can look at. The type counts because 1, 1.0 and True are equal."""
    leaves, structure = tree_flatten(args)
    return structure, type(static), static, *map(typeof, leaves)


def kind(aval):
    """The type of a float32 array, as text."""
    return f"tensor<{''.join(f'{n}x' for n in aval.shape)}f32>"


def translate(jaxpr):
    """Literals get lines of their own, at the type of the result for which they are needed."""
    names = {v: f"%arg{i}" for i, v in enumerate(jaxpr.invars)}
    arguments = ", ".join(f"{name}: {kind(v.aval)}" for v, name in names.items())
    lines = []

    def new(text):
        lines.append(f"  %{len(lines)} = stablehlo.{text}")
        return f"%{len(lines) - 1}"

    def read(atom, aval):
        if isinstance(atom, Literal):
            return new(f"constant dense<{float(atom.val)}> : {kind(aval)}")
        return names[atom]

    words = {"sin": "sine", "mul": "multiply", "add": "add"}
    for eqn in jaxpr.eqns:
        (out,) = eqn.outvars
        operands = ", ".join([read(atom, out.aval) for atom in eqn.invars])
        names[out] = new(f"{words[eqn.primitive.name]} {operands} : {kind(out.aval)}")
    results = ", ".join([read(atom, atom.aval) for atom in jaxpr.outvars])
    types = ", ".join([kind(atom.aval) for atom in jaxpr.outvars])
    head = f"func.func public @main({arguments}) -> ({types}) {{"
    return "\n".join([head, *lines, f"  return {results} : {types}", "}"])


def lower_axpy(ctx, a, x, y):
    """Spread the scalar, multiply, add."""
    return emit(ctx, "add", emit(ctx, "multiply", ctx.broadcast(a, x.aval.shape), x), y)


def last_uses(jaxpr):
    """Backwards: what has not been met yet is met for the last time."""
    met = {v for v in jaxpr.outvars if not isinstance(v, Literal)}
    freed = []
    for eqn in reversed(jaxpr.eqns):
        last = {v for v in [*eqn.invars, *eqn.outvars] if not isinstance(v, Literal)} - met
        met |= last
        freed.append(last)
    return freed[::-1]


def call_program(self, args):
    """Look for arrays that are passed twice. Buffers in, buffers out; the donated arrays go."""
    for i in self.donated:
        for j in self.kept:
            if i != j and args[i] is args[j] and isinstance(args[i], Array):
                raise ValueError(f"argument {i} is donated, and is argument {j} as well")
    buffers = [buffer_of(args[i], self.in_avals[i]) for i in self.kept]
    outs = self.executable(buffers + self.constants)
    for i in self.donated:
        if isinstance(args[i], Array):
            args[i].delete()
    return [array_of(out, aval) for out, aval in zip(outs, self.out_avals)]


def without_jit(closed):
    """Trace an interpreter that evaluates what a `jit` holds."""

    def run(inner, args):
        env = dict(zip([*inner.jaxpr.constvars, *inner.jaxpr.invars], [*inner.consts, *args]))
        read = lambda atom: atom.val if isinstance(atom, Literal) else env[atom]
        for eqn in inner.jaxpr.eqns:
            operands = [*map(read, eqn.invars)]
            if eqn.primitive is jit_p:
                outs = run(eqn.params["jaxpr"], operands)
            else:
                outs = eqn.primitive.bind(*operands, **eqn.params)
                outs = outs if eqn.primitive.multiple_results else [outs]
            env.update(zip(eqn.outvars, outs))
        return [*map(read, inner.jaxpr.outvars)]

    return jaxpr_of(lambda *args: run(closed, args), closed.in_avals)


def lower_softplus(emit, out, x):
    """Three operations and a constant."""
    from tiny import constant, op

    total = op("add")(emit, out, constant(emit, 1.0), op("exponential")(emit, out, x))
    return op("log")(emit, out, total)
