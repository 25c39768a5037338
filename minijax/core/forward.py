"""Chapter 2: how is a derivative pushed along with the value?

    jvpfun : (a → b) → a → T a → (b, T b)

A `JVPTracer` pairs a primal value with a tangent, a perturbation of it. To process a primitive,
`JVPTrace` looks up the primitive's JVP rule. The rule computes the result and its tangent with
ordinary operations. The parent trace interprets them, so derivatives can be nested.

A tangent that is known to be zero is a `Zero`, and not an array of zeros. It costs nothing, and
what would be computed from it alone is never computed.

In JAX: `jax/_src/interpreters/ad.py`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import numpy as np

from . import core, dtypes, primitives as lax
from .avals import vary_like
from .core import Primitive, RuleTable, ShapedArray, Trace, Tracer, typeof
from .extension import Printed

# ----------------------------------------------------------------------------------------------
# Tangents


class Zero(Printed):
    """The tangent that is zero, as a symbol.

    Args:
      aval: the tangent's type (of dtype `float0` where the primal is not inexact).
    """

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray):
        self.aval = aval

    @staticmethod
    def from_primal_value(x) -> Zero:
        """The zero tangent of the value `x`."""
        return Zero(typeof(x).to_tangent_aval())


def instantiate_zeros(tangent):
    """A symbolic zero as an array of zeros; any other tangent as it is."""
    return zeros(tangent.aval) if type(tangent) is Zero else tangent


def zeros(aval: ShapedArray):
    """An array of zeros of this type; of dtype `float0` it is NumPy's, as JAX's are."""
    if aval.dtype == dtypes.float0:
        return np.zeros(aval.shape, dtypes.float0)
    return lax.filled(aval, 0)


# Type registry: the class of an abstract value -> how two tangents of such a type are added. An
# array's class needs no entry.
sums: dict[type, Callable] = {}


def add_tangents(x, y):
    """The sum of two tangents (or cotangents), either of which may be a `Zero`."""
    if type(x) is Zero:
        return y
    if type(y) is Zero:
        return x
    add = sums.get(type(typeof(x))) if sums else None
    return add(x, y) if add else lax.add_any_p.bind(x, y)


# ----------------------------------------------------------------------------------------------
# The trace


class JVPTracer(Tracer):
    """A primal value and its tangent, travelling together."""

    __slots__ = ("primal", "tangent")

    def __init__(self, trace: JVPTrace, primal, tangent):
        self._trace, self.primal, self.tangent = trace, primal, tangent

    aval = property(lambda self: typeof(self.primal))

    def concrete_value(self):
        primal = self.primal
        return primal.concrete_value() if isinstance(primal, Tracer) else primal


class LinearizeTracer(JVPTracer):
    """A primal value with a tangent that is still unknown: what `grad` passes to a function."""

    __slots__ = ()


class JVPTrace(Trace):
    """Forward-mode differentiation."""

    __slots__ = ("tracer_type",)
    main = property(lambda self: self)

    def __init__(self, parent: Trace, tracer_type: type = JVPTracer):
        super().__init__(parent)
        self.tracer_type = tracer_type

    def unbox(self, x):
        """The primal and the tangent of `x`; a value of an outer trace is a constant here."""
        if isinstance(x, JVPTracer) and x._trace is self:
            return x.primal, x.tangent
        return x, Zero.from_primal_value(x)

    def box(self, primal, tangent):
        """A tracer, or only the primal if the tangent is zero."""
        if type(tangent) is Zero or typeof(tangent).dtype == dtypes.float0:
            return primal
        return self.tracer_type(self, primal, vary_like(tangent, typeof(primal)))

    def process_primitive(self, primitive, args, params):
        primals, tangents = zip(*map(self.unbox, args)) if args else ((), ())
        if all(type(t) is Zero for t in tangents):
            return self.in_parent(self.parent.process_primitive, primitive, primals, params)
        rule = primitive_jvps.get(primitive)
        if rule is None:
            raise core.missing_rule(primitive, "Differentiation", 2)
        primal_out, tangent_out = self.in_parent(rule, primals, tangents, **params)
        if primitive.multiple_results:
            return [*map(self.box, primal_out, tangent_out)]
        return self.box(primal_out, tangent_out)


def jvpfun(f: Callable, primals: Sequence, tangents: Sequence, tracer_type: type = JVPTracer):
    """Values and tangents of `f`, a function of arrays that returns a list of arrays.

    Tangents in and out may be `Zero`s.
    """
    trace = JVPTrace(core.state.trace, tracer_type)
    with core.new_trace(trace):
        outs = f(*map(trace.box, primals, tangents))
        pairs = [trace.unbox(out) for out in outs]
    # The number in a box becomes an array, as if an operation had made it. Others stay numbers.
    primals_out = [x if x is out else lax.ensure_array(x) for out, (x, _) in zip(outs, pairs)]
    return primals_out, [tangent for _, tangent in pairs]


# ----------------------------------------------------------------------------------------------
# The table of rules, and the ways to fill it

# primitive -> (primals, tangents, **params) -> (primal_out, tangent_out)
primitive_jvps: dict[Primitive, Callable] = RuleTable()


def defjvp(primitive: Primitive, *rules: Callable | None) -> None:
    """One rule for each argument, `(tangent, *primals, **params) -> its part of the tangent`.

    The parts are summed, as the derivative is linear. `None`: the argument is not differentiable.
    """
    with_result = [rule and (lambda t, ans, *primals, _rule=rule, **params:
                             _rule(t, *primals, **params)) for rule in rules]
    defjvp2(primitive, *with_result)


def defjvp2(primitive: Primitive, *rules: Callable | None) -> None:
    """As `defjvp`, for rules that use the result: `(tangent, result, *primals, **params)`."""
    primitive_jvps[primitive] = functools.partial(_sum_of_parts, primitive, rules)


# primitive -> the rules, as for `defjvp2`, of an operation of which the user asks more: `accuracy`.
asked_jvps: dict[Primitive, tuple] = {}


def _sum_of_parts(primitive, rules, primals, tangents, **params):
    """The JVP rule that `defjvp2` enters: one part for each tangent that is not zero."""
    ans = primitive.bind(*primals, **params)
    rules = asked_jvps.get(primitive, rules) if params else rules
    parts = [rule(t, ans, *primals, **params) for rule, t in zip(rules, tangents)
             if rule is not None and type(t) is not Zero]
    tangent_out = functools.reduce(add_tangents, parts) if parts else Zero.from_primal_value(ans)
    return ans, tangent_out


def deflinear_jvp(primitive: Primitive) -> None:
    """The JVP of a primitive that is linear in all arguments together: it maps the tangents."""
    primitive_jvps[primitive] = functools.partial(linear_jvp, primitive)


def linear_jvp(primitive, primals, tangents, **params):
    primals_out = primitive.bind(*primals, **params)
    return primals_out, primitive.bind(*map(instantiate_zeros, tangents), **params)


def defjvp_zero(primitive: Primitive) -> None:
    """The derivative is zero wherever it exists (steps, comparisons, indices)."""
    primitive_jvps[primitive] = functools.partial(zero_jvp, primitive)


def zero_jvp(primitive, primals, tangents, **params):
    out, zero = primitive.bind(*primals, **params), Zero.from_primal_value
    return out, [*map(zero, out)] if primitive.multiple_results else zero(out)


def defbilinear_jvp(primitive: Primitive) -> None:
    """The JVP of a primitive that is linear in each of its two arguments."""
    defjvp(primitive,
           lambda t, x, y, **params: primitive.bind(t, y, **params),
           lambda t, x, y, **params: primitive.bind(x, t, **params))


# ----------------------------------------------------------------------------------------------
# The starter set. A scalar constant takes the dtype of its neighbour.


def _const(like, value):
    """The scalar `value` in the dtype of `like`; weak only if `like` is a weak scalar."""
    aval = typeof(like)
    return lax.constant(value, aval.dtype, aval.weak_type and not aval.shape)


def _one(like):
    """The scalar 1 in the dtype of `like`; weak if `like` is."""
    return lax.constant(1, typeof(like).dtype, typeof(like).weak_type)


def broadcast_tangent(t, out):
    """`t` in the shape of `out`, where a scalar or a dimension of size 1 was repeated."""
    shape, out_shape = typeof(t).shape, typeof(out).shape
    if shape == out_shape:
        return t
    return lax.broadcast_in_dim(t, out_shape, range(len(out_shape)) if shape else ())


for p in (lax.neg_p, lax.add_any_p, lax.broadcast_in_dim_p, lax.reshape_p, lax.squeeze_p,
          lax.transpose_p, lax.reduce_sum_p):
    deflinear_jvp(p)

for p in (lax.eq_p, lax.ne_p, lax.lt_p, lax.le_p, lax.gt_p, lax.ge_p, lax.stop_gradient_p):
    defjvp_zero(p)

defjvp(lax.sin_p, lambda t, x: lax.mul(t, lax.cos(x)))
defjvp(lax.cos_p, lambda t, x: lax.neg(lax.mul(t, lax.sin(x))))
defjvp2(lax.tanh_p, lambda t, y, x: lax.mul(lax.add(t, lax.mul(t, y)), lax.sub(_one(x), y)))
defjvp2(lax.exp_p, lambda t, y, x: lax.mul(t, y))
defjvp(lax.log_p, lambda t, x: lax.div(t, x))


def _integer_pow_jvp(t, x, *, y):
    if y in (0, 1):
        return t if y else lax.full_like(t, 0)
    return lax.mul(t, lax.mul(_const(x, y), x if y == 2 else lax.integer_pow(x, y - 1)))


def _sum_jvp(primitive, second_alone):
    """The JVP of `add` and `sub`; `second_alone` maps the second tangent if the first is zero."""

    def rule(primals, tangents):
        out = primitive.bind(*primals)
        x_dot, y_dot = tangents
        if type(x_dot) is not Zero and type(y_dot) is not Zero:
            return out, primitive.bind(x_dot, y_dot)
        return out, broadcast_tangent(second_alone(y_dot) if type(x_dot) is Zero else x_dot, out)

    return rule


defjvp(lax.integer_pow_p, _integer_pow_jvp)
primitive_jvps[lax.add_p] = _sum_jvp(lax.add_p, lambda t: t)
primitive_jvps[lax.sub_p] = _sum_jvp(lax.sub_p, lax.neg)
defbilinear_jvp(lax.mul_p)
defbilinear_jvp(lax.dot_general_p)
defjvp(lax.div_p,
       lambda t, x, y: lax.div(t, y),
       lambda t, x, y: lax.mul(lax.mul(lax.neg(t), x), lax.integer_pow(y, -2)))


def _convert_element_type_jvp(primals, tangents, *, new_dtype, weak_type):
    (x,), (t,) = primals, tangents
    out = lax.convert_element_type_p.bind(x, new_dtype=new_dtype, weak_type=weak_type)
    if type(t) is Zero or not dtypes.issubdtype(new_dtype, np.inexact):
        return out, Zero.from_primal_value(out)
    return out, lax.convert_element_type_p.bind(t, new_dtype=new_dtype, weak_type=weak_type)


primitive_jvps[lax.convert_element_type_p] = _convert_element_type_jvp
