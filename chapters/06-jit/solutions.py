"""Solutions of chapter 6."""

from __future__ import annotations

from minijax.core.core import typeof
from minijax.core.forward import Zero
from minijax.core.jaxpr import Literal
from minijax.core.jit import array_of, buffer_of, jit_p
from minijax.core.lowering import emit
from minijax.core.staging import jvp_jaxpr
from minijax.core.tree import tree_flatten


def signature(args, static):
    """All that the function can look at; 1, 1.0 and True are equal, so the type counts, too."""
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


def live_equations(jaxpr):
    """Backwards: what a needed equation reads is needed, too."""
    needed, live = set(jaxpr.outvars), []
    for eqn in reversed(jaxpr.eqns):
        if eqn.effects or any(v in needed for v in eqn.outvars):
            needed.update(eqn.invars)
            live.append(eqn)
    return live[::-1]


def call_program(self, args):
    """Buffers in, buffers out; then the donated arrays are gone."""
    buffers = [buffer_of(args[i], self.in_avals[i]) for i in self.kept]
    outs = self.executable(buffers + self.constants)
    for i in self.donated:
        if hasattr(args[i], "delete"):
            args[i].delete()
    return [array_of(out, aval) for out, aval in zip(outs, self.out_avals)]


def jit_jvp(primals, tangents, *, jaxpr, donated_invars, **params):
    """The call of the derivative; only tangents that are not zero go in, and come out."""
    nonzeros = tuple(type(t) is not Zero for t in tangents)
    new, nonzeros_out = jvp_jaxpr(jaxpr, nonzeros, (False,) * len(jaxpr.out_avals))
    moving = [t for t in tangents if type(t) is not Zero]
    donated = donated_invars + tuple(d for d, moves in zip(donated_invars, nonzeros) if moves)
    outs = jit_p.bind(*primals, *moving, jaxpr=new, donated_invars=donated, **params)
    n = len(jaxpr.out_avals)
    rest = iter(outs[n:])
    return outs[:n], [next(rest) if moves else Zero(aval.to_tangent_aval())
                      for moves, aval in zip(nonzeros_out, jaxpr.out_avals)]
