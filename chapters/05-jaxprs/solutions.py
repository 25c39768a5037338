"""Solutions of chapter 5's exercises."""

from __future__ import annotations

import math
from collections import Counter

from minijax import make_jaxpr
from minijax.core import primitives as lax
from minijax.core.jaxpr import JaxprEqn, Literal, SourceInfo, Var, jaxprs_in_params


def count_operations(jaxpr):
    """Sums over the equations and what they hold."""
    counts: Counter[str] = Counter()
    for eqn in jaxpr.eqns:
        counts[eqn.primitive.name] += 1
        for inner in jaxprs_in_params(eqn.params):
            counts.update(count_operations(inner))
    return dict(counts)


def evaluate(jaxpr, consts, args, wanted):
    """Backwards, to see what is needed; forwards, to read, bind and write."""
    outvars = [jaxpr.outvars[i] for i in wanted]
    needed, eqns = {*outvars}, []
    for eqn in reversed(jaxpr.eqns):
        if not needed.isdisjoint(eqn.outvars):
            needed.update(eqn.invars)
            eqns.append(eqn)
    env = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *args]))
    read = lambda atom: atom.val if isinstance(atom, Literal) else env[atom]
    for eqn in reversed(eqns):
        outs = eqn.primitive.bind(*map(read, eqn.invars), **eqn.params)
        env.update(zip(eqn.outvars, outs if eqn.primitive.multiple_results else [outs]))
    return [read(atom) for atom in outvars]


BOUNDS = {
    "add": lambda x, y: (x[0] + y[0], x[1] + y[1]),
    "sub": lambda x, y: (x[0] - y[1], x[1] - y[0]),
    "neg": lambda x: (-x[1], -x[0]),
    "exp": lambda x: (math.exp(x[0]), math.exp(x[1])),
    "mul": lambda x, y: (min(a * b for a in x for b in y), max(a * b for a in x for b in y)),
}


def interval(jaxpr, *intervals):
    """The same loop, with a table of its own in the place of `bind`."""
    env = dict(zip(jaxpr.invars, intervals))
    read = lambda a: (float(a.val), float(a.val)) if isinstance(a, Literal) else env[a]
    for eqn in jaxpr.eqns:
        env[eqn.outvars[0]] = BOUNDS[eqn.primitive.name](*map(read, eqn.invars))
    return read(jaxpr.outvars[0])


# For each operand how to find it, from the result and the other one.
UNDO = {
    "add": (lambda z, y: lax.sub(z, y), lambda z, x: lax.sub(z, x)),
    "sub": (lambda z, y: lax.add(z, y), lambda z, x: lax.sub(x, z)),
    "mul": (lambda z, y: lax.div(z, y), lambda z, x: lax.div(z, x)),
    "exp": (lambda z: lax.log(z),),
}


def inverse_of_two(f):
    """Visit all equations again and again, until a round finds no new value."""

    def inverted(*results):
        jaxpr = make_jaxpr(f)(*results).jaxpr
        env, known = dict(zip(jaxpr.outvars, results)), -1
        while known < len(env):
            known = len(env)
            for eqn in jaxpr.eqns:
                learn(eqn, env)
        if not all(v in env for v in jaxpr.invars):
            raise ValueError("the results do not determine the arguments step by step")
        return tuple(env[v] for v in jaxpr.invars)

    return inverted


def learn(eqn, env):
    """Enter the result of an equation, or its one unknown operand."""
    operands = [v.val if isinstance(v, Literal) else env.get(v) for v in eqn.invars]
    unknown = [i for i, x in enumerate(operands) if x is None]
    (result,) = eqn.outvars
    if not unknown:
        env[result] = eqn.primitive.bind(*operands)
    elif result in env and len(unknown) == 1:
        (i,) = unknown
        known = operands[:i] + operands[i + 1:]
        env[eqn.invars[i]] = UNDO[eqn.primitive.name][i](env[result], *known)


def add_eqn(self, primitive, invars, params, location=None):
    """Look for one like it; else the shape rule says the types."""
    out_avals = primitive.out_aval(tuple(v.aval for v in invars), params)
    outvars = [Var(a) for a in (out_avals if primitive.multiple_results else [out_avals])]
    new = JaxprEqn(primitive, invars, outvars, params, SourceInfo(location))
    eqn = next((eqn for eqn in self.eqns if computes_the_same(eqn, new)), None)
    if eqn is None:
        self.eqns.append(eqn := new)
    return eqn.outvars if primitive.multiple_results else eqn.outvars[0]


def computes_the_same(a, b):
    """Whether two equations do."""
    return (a.primitive is b.primitive and not b.effects and len(a.invars) == len(b.invars)
            and all(map(same_operand, a.invars, b.invars)) and a.params == b.params)


def same_operand(a, b):
    """A variable is the same as itself, a literal as one with its value and type."""
    if isinstance(a, Literal) and isinstance(b, Literal):
        return repr(a.val) == repr(b.val) and a.aval == b.aval  # 0.0 == -0.0
    return a is b


def cost(jaxpr):
    """The sizes of results, but for sums and products of matrices."""
    def size(shape):
        n = 1
        for m in shape:
            n *= m
        return n

    total = 0
    for eqn in jaxpr.eqns:
        name, shape = eqn.primitive.name, getattr(eqn.invars[0], "aval", ())
        if name == "reduce_sum":
            total += size(shape)
        elif name not in ("broadcast", "transpose"):
            total += size(eqn.outvars[0].aval) * (shape[-1] if name == "dot" else 1)
    return total
