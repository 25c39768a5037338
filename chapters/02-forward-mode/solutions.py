"""Solutions of chapter 2."""

from __future__ import annotations

from minijax.core import primitives as lax
from minijax.core.core import missing_rule, state
from minijax.core.forward import Zero, jvpfun, primitive_jvps
from minijax.core.primitives import add_any_p


def quotient_tangent(x, y, x_dot, y_dot):
    """Linear in both speeds."""
    return x_dot / y - x * y_dot / (y * y)


def logaddexp_jvp(primals, tangents):
    """With r the result: exp(r) dr = exp(x) dx + exp(y) dy."""
    (x, y), (x_dot, y_dot) = primals, tangents
    r = lax.log(lax.add(lax.exp(x), lax.exp(y)))
    share = lambda z, z_dot: lax.mul(lax.exp(lax.sub(z, r)), z_dot)
    return r, lax.add(share(x, x_dot), share(y, y_dot))


def derivative(f, n):
    """One trace a level."""
    if n == 0:
        return f
    g = derivative(f, n - 1)
    return lambda x: jvpfun(lambda x: [g(x)], [x], [lax.full_like(x, 1)])[1][0]


def add_tangents(x, y):
    """A zero leaves the other as it is."""
    if type(x) is Zero:
        return y
    return x if type(y) is Zero else add_any_p.bind(x, y)


def process_primitive(self, primitive, args, params):
    """Open, apply the rule one level down, box."""
    primals, tangents = zip(*map(self.unbox, args)) if args else ((), ())
    state.trace = self.parent
    try:
        if all(type(t) is Zero for t in tangents):
            return self.parent.process_primitive(primitive, primals, params)
        if primitive not in primitive_jvps:
            raise missing_rule(primitive, "Differentiation", 2)
        outs, outs_dot = primitive_jvps[primitive](primals, tangents, **params)
    finally:
        state.trace = self
    if primitive.multiple_results:
        return [self.box(out, out_dot) for out, out_dot in zip(outs, outs_dot)]
    return self.box(outs, outs_dot)
