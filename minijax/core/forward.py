"""Chapter 2: forward mode.

A `JVPTracer` pairs a primal value with a tangent, a perturbation of it. To process a primitive,
`JVPTrace` looks up the primitive's JVP rule, which computes the result and its tangent with
ordinary operations: those are interpreted by the parent trace, so forward mode nests.

A tangent that is known to be zero is not an array of zeros but a `Zero`: it costs nothing, and
whole branches of the tangent computation are never done.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

import numpy as np

from . import dtypes
from .core import (
    Primitive,
    ShapedArray,
    Trace,
    Tracer,
    missing_rule,
    new_trace,
    state,
    typeof,
    vary_like,
)
from .extension import hooks
from .primitives import dot, reductions, shaping, slicing
from .primitives import elementwise as lax

# ----------------------------------------------------------------------------------------------
# Tangents


class Zero:
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

    def __repr__(self):
        return f"Zero({self.aval.str_short()})"


def instantiate_zeros(tangent):
    """A symbolic zero as an array of zeros; any other tangent as it is."""
    return zeros(tangent.aval) if type(tangent) is Zero else tangent


def zeros(aval: ShapedArray):
    """An array of zeros of this type; of dtype `float0` it is NumPy's, as JAX's are."""
    if aval.dtype == dtypes.float0:
        return np.zeros(aval.shape, dtypes.float0)
    x = shaping.full(aval.shape, lax.constant(0, aval.dtype, aval.weak_type))
    return vary_like(x, aval) if aval.vma else x


def add_tangents(x, y):
    """The sum of two tangents (or cotangents), either of which may be a `Zero`."""
    if type(x) is Zero:
        return y
    return x if type(y) is Zero else lax.add_any_p.bind(x, y)


# ----------------------------------------------------------------------------------------------
# The trace


class JVPTracer(Tracer):
    """A primal value and its tangent, travelling together."""

    __slots__ = ("primal", "tangent")

    def __init__(self, trace: JVPTrace, primal, tangent):
        self._trace, self.primal, self.tangent = trace, primal, tangent

    @property
    def aval(self) -> ShapedArray:
        return typeof(self.primal)

    def concrete_value(self):
        primal = self.primal
        return primal.concrete_value() if isinstance(primal, Tracer) else primal

    def __repr__(self):
        return f"JVPTracer(primal={self.primal}, tangent={self.tangent})"


class LinearizeTracer(JVPTracer):
    """A primal value with a tangent that is still unknown: what `grad` passes to a function."""

    __slots__ = ()

    def __repr__(self):
        kind = typeof(self.tangent).str_short()
        return f"GradTracer(primal={self.primal}, typeof(tangent)={kind})"


class JVPTrace(Trace):
    """Forward-mode differentiation."""

    __slots__ = ("tracer_type",)

    def __init__(self, parent: Trace, tracer_type: type = JVPTracer):
        super().__init__(parent)
        self.tracer_type = tracer_type

    def unbox(self, x):
        """The primal and the tangent of `x`; a value of an outer trace is a constant here."""
        if isinstance(x, JVPTracer) and x._trace is self:
            return x.primal, x.tangent
        return x, Zero.from_primal_value(x)

    def box(self, primal, tangent):
        """A tracer, unless the tangent is zero: then the primal alone will do."""
        if type(tangent) is Zero or typeof(tangent).dtype == dtypes.float0:
            return primal
        if hooks.vary_like:
            tangent = vary_like(tangent, typeof(primal))
        return self.tracer_type(self, primal, tangent)

    def process_primitive(self, primitive, args, params):
        primals, tangents = zip(*map(self.unbox, args)) if args else ((), ())
        if all(type(t) is Zero for t in tangents):
            return self.in_parent(self.parent.process_primitive, primitive, primals, params)
        rule = primitive_jvps.get(primitive)
        if rule is None:
            raise missing_rule(primitive, "Differentiation", 2)
        primal_out, tangent_out = self.in_parent(rule, primals, tangents, **params)
        if primitive.multiple_results:
            return [*map(self.box, primal_out, tangent_out)]
        return self.box(primal_out, tangent_out)


def jvp_flat(f: Callable, primals: Sequence, tangents: Sequence, tracer_type: type = JVPTracer):
    """Values and tangents of `f`, a function of arrays that returns a list of arrays.

    Tangents in and out may be `Zero`s.
    """
    trace = JVPTrace(state.trace, tracer_type)
    with new_trace(trace):
        outs = f(*map(trace.box, primals, tangents))
        pairs = [trace.unbox(out) for out in outs]
    return [primal for primal, _ in pairs], [tangent for _, tangent in pairs]


# ----------------------------------------------------------------------------------------------
# The table of rules, and the ways to fill it

# primitive -> (primals, tangents, **params) -> (primal_out, tangent_out)
primitive_jvps: dict[Primitive, Callable] = {}


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


def _sum_of_parts(primitive, rules, primals, tangents, **params):
    ans = primitive.bind(*primals, **params)
    parts = [rule(t, ans, *primals, **params) for rule, t in zip(rules, tangents)
             if rule is not None and type(t) is not Zero]
    tangent_out = functools.reduce(add_tangents, parts) if parts else Zero.from_primal_value(ans)
    return ans, tangent_out


def deflinear(primitive: Primitive) -> None:
    """The primitive is linear in all its arguments together: it maps tangents as it maps values."""
    primitive_jvps[primitive] = functools.partial(_linear_jvp, primitive)


def _linear_jvp(primitive, primals, tangents, **params):
    primals_out = primitive.bind(*primals, **params)
    if all(type(t) is Zero for t in tangents):
        return primals_out, _zero_tangents(primitive, primals_out)
    return primals_out, primitive.bind(*map(instantiate_zeros, tangents), **params)


def _zero_tangents(primitive, primals_out):
    if primitive.multiple_results:
        return [*map(Zero.from_primal_value, primals_out)]
    return Zero.from_primal_value(primals_out)


def defjvp_zero(primitive: Primitive) -> None:
    """The derivative is zero wherever it exists (steps, comparisons, indices)."""
    def rule(primals, tangents, **params):
        primals_out = primitive.bind(*primals, **params)
        return primals_out, _zero_tangents(primitive, primals_out)

    primitive_jvps[primitive] = rule


def defbilinear(primitive: Primitive) -> None:
    """The primitive is linear in each of its two arguments."""
    defjvp(primitive,
           lambda t, x, y, **params: primitive.bind(t, y, **params),
           lambda t, x, y, **params: primitive.bind(x, t, **params))


# ----------------------------------------------------------------------------------------------
# The starter set. A scalar constant takes the dtype of its neighbour.


def _const(like, value):
    aval = typeof(like)
    return lax.constant(value, aval.dtype, aval.weak_type)


def _full(like, value):
    return shaping.full_like(like, value)


def _broadcast(t, out):
    """`t` in the shape of `out`, where a scalar or a dimension of size 1 was repeated."""
    shape, out_shape = typeof(t).shape, typeof(out).shape
    if shape == out_shape:
        return t
    return shaping.broadcast_in_dim(t, out_shape, range(len(out_shape)) if shape else ())


def _nonzero(x):
    """`x` with its zeros replaced by ones: safe to divide by, or to take the logarithm of."""
    return lax.select(lax.eq(x, _const(x, 0)), _full(x, 1), x)


for p in (lax.neg_p, lax.real_p, lax.imag_p, lax.complex_p, lax.conj_p, lax.copy_p, lax.add_any_p,
          shaping.broadcast_in_dim_p, shaping.reshape_p, shaping.squeeze_p, shaping.transpose_p,
          shaping.rev_p, shaping.concatenate_p, shaping.stack_p, shaping.unstack_p,
          shaping.split_p, shaping.pad_p, slicing.slice_p, reductions.reduce_sum_p,
          reductions.cumsum_p):
    deflinear(p)

for p in (lax.sign_p, lax.floor_p, lax.ceil_p, lax.round_p, lax.is_finite_p, lax.not_p, lax.eq_p,
          lax.ne_p, lax.lt_p, lax.le_p, lax.gt_p, lax.ge_p, lax.and_p, lax.or_p, lax.xor_p,
          lax.shift_left_p, lax.shift_right_logical_p, lax.shift_right_arithmetic_p,
          lax.stop_gradient_p, shaping.iota_p, reductions.reduce_and_p, reductions.reduce_or_p,
          reductions.reduce_xor_p, reductions.argmax_p, reductions.argmin_p):
    defjvp_zero(p)

defjvp(lax.sin_p, lambda t, x: lax.mul(t, lax.cos(x)))
defjvp(lax.cos_p, lambda t, x: lax.neg(lax.mul(t, lax.sin(x))))
defjvp2(lax.tan_p, lambda t, y, x: lax.mul(t, lax.add(_const(x, 1), lax.square(y))))
defjvp2(lax.tanh_p, lambda t, y, x: lax.mul(lax.add(t, lax.mul(t, y)), lax.sub(_const(x, 1), y)))
defjvp(lax.atanh_p, lambda t, x: lax.mul(lax.reciprocal(lax.add(_const(x, 1), x)),
                                         lax.div(t, lax.sub(_const(x, 1), x))))
defjvp2(lax.logistic_p, lambda t, y, x: lax.mul(t, lax.mul(y, lax.sub(_const(x, 1), y))))
defjvp2(lax.exp_p, lambda t, y, x: lax.mul(t, y))
defjvp2(lax.exp2_p, lambda t, y, x: lax.mul(lax.log(_const(x, 2)), lax.mul(t, y)))
defjvp(lax.log_p, lambda t, x: lax.div(t, x))
defjvp(lax.log1p_p, lambda t, x: lax.div(t, lax.add(x, _const(x, 1))))
defjvp2(lax.expm1_p, lambda t, y, x: lax.mul(t, lax.add(y, _const(x, 1))))
defjvp2(lax.sqrt_p, lambda t, y, x: lax.mul(t, lax.div(_const(x, 0.5), y)))
defjvp2(lax.rsqrt_p, lambda t, y, x: lax.mul(t, lax.mul(_const(x, -0.5), lax.div(y, x))))
defjvp2(lax.cbrt_p,
        lambda t, y, x: lax.mul(t, lax.mul(_const(x, 1 / 3), lax.integer_pow(y, -2))))
defjvp(lax.square_p, lambda t, x: lax.mul(t, lax.mul(_const(x, 2), x)))


def _abs_jvp(t, y, x):
    dtype = typeof(x).dtype
    if dtype.kind == "c":
        unit = lax.div(lax.conj(x), _nonzero(lax.convert(y, dtype)))
        return lax.real(lax.mul(t, unit))
    return lax.select(lax.ge(x, _const(x, 0)), t, lax.neg(t))


defjvp2(lax.abs_p, _abs_jvp)


def _integer_pow_jvp(t, x, *, y):
    if y == 0:
        return _full(t, 0)
    if y == 1:
        return t
    return lax.mul(t, lax.mul(_const(x, y), x if y == 2 else lax.integer_pow(x, y - 1)))


defjvp(lax.integer_pow_p, _integer_pow_jvp)


def _pow_jvp_base(t, z, x, y):
    if dtypes.issubdtype(typeof(y).dtype, np.integer):
        # At y = 0 the power of x may be infinite, and must not meet the factor 0.
        y = shaping.full_like(x, y) if not typeof(y).shape else lax.convert(y, typeof(x).dtype)
        slope = lax.mul(_nonzero(y), lax.pow(x, lax.sub(y, _full(y, 1))))
        return lax.mul(t, lax.select(lax.eq(y, _const(y, 0)), _full(y, 0), slope))
    return lax.mul(t, lax.mul(y, lax.pow(x, lax.sub(y, _full(y, 1)))))


defjvp2(lax.pow_p, _pow_jvp_base,
        lambda t, z, x, y: lax.mul(t, lax.mul(lax.log(_nonzero(x)), z)))


def _add_jvp(primals, tangents):
    out = lax.add_p.bind(*primals)
    x_dot, y_dot = tangents
    if type(x_dot) is not Zero and type(y_dot) is not Zero:
        return out, lax.add_p.bind(x_dot, y_dot)
    return out, _broadcast(y_dot if type(x_dot) is Zero else x_dot, out)


def _sub_jvp(primals, tangents):
    out = lax.sub_p.bind(*primals)
    x_dot, y_dot = tangents
    if type(x_dot) is not Zero and type(y_dot) is not Zero:
        return out, lax.sub_p.bind(x_dot, y_dot)
    return out, _broadcast(lax.neg(y_dot) if type(x_dot) is Zero else x_dot, out)


primitive_jvps[lax.add_p] = _add_jvp
primitive_jvps[lax.sub_p] = _sub_jvp
defbilinear(lax.mul_p)
defbilinear(dot.dot_general_p)
defjvp(lax.div_p,
       lambda t, x, y: lax.div(t, y),
       lambda t, x, y: lax.mul(lax.mul(lax.neg(t), x), lax.integer_pow(y, -2)))


def _rem_jvp_divisor(t, z, x, y):
    whole = lax.mul(lax.sign(lax.div(x, y)), lax.floor(lax.abs_(lax.div(x, y))))
    return lax.mul(lax.neg(t), whole)


defjvp2(lax.rem_p, lambda t, z, x, y: _broadcast(t, z), _rem_jvp_divisor)


def _share_of_extreme(x, y, z):
    """1 where `x` is the chosen of `x` and `y`, 1/2 where they tie, else 0."""
    wins = lax.select(lax.eq(x, z), _full(z, 1), _full(z, 0))
    return lax.div(wins, lax.select(lax.eq(y, z), _full(z, 2), _full(z, 1)))


for p in (lax.max_p, lax.min_p):
    defjvp2(p, lambda t, z, x, y: lax.mul(t, _share_of_extreme(x, y, z)),
            lambda t, z, x, y: lax.mul(t, _share_of_extreme(y, x, z)))


def _select_n_jvp(primals, tangents):
    which, *cases = primals
    out = lax.select_n_p.bind(which, *cases)
    if all(type(t) is Zero for t in tangents[1:]):
        return out, Zero.from_primal_value(out)
    zero = zeros(typeof(next(t for t in tangents[1:] if type(t) is not Zero)))
    return out, lax.select_n_p.bind(which, *(zero if type(t) is Zero else t for t in tangents[1:]))


primitive_jvps[lax.select_n_p] = _select_n_jvp


def _where(which, t, out):
    """`t` where `which`, else 0, both repeated to the shape of `out`."""
    return lax.select(_broadcast(which, out), _broadcast(t, out), _full(out, 0))


defjvp2(lax.clamp_p,
        lambda t, z, low, x, high: _where(lax.bitwise_and(lax.gt(low, x), lax.lt(low, high)), t, z),
        lambda t, z, low, x, high: _where(lax.bitwise_and(lax.gt(x, low), lax.lt(x, high)), t, z),
        lambda t, z, low, x, high: _where(lax.lt(high, x), t, z))


def _convert_element_type_jvp(primals, tangents, *, new_dtype, weak_type):
    (x,), (t,) = primals, tangents
    out = lax.convert_element_type_p.bind(x, new_dtype=new_dtype, weak_type=weak_type)
    if type(t) is Zero or not dtypes.issubdtype(new_dtype, np.inexact):
        return out, Zero.from_primal_value(out)
    return out, lax.convert_element_type_p.bind(t, new_dtype=new_dtype, weak_type=weak_type)


primitive_jvps[lax.convert_element_type_p] = _convert_element_type_jvp


def _dynamic_slice_jvp(primals, tangents, *, slice_sizes):
    (x, *starts), t = primals, tangents[0]
    bind = functools.partial(slicing.dynamic_slice_p.bind, slice_sizes=slice_sizes)
    t_out = t if type(t) is Zero else bind(t, *starts)
    out = bind(x, *starts)
    return out, Zero.from_primal_value(out) if type(t) is Zero else t_out


def _dynamic_update_slice_jvp(primals, tangents):
    x_dot, update_dot, *_ = tangents
    out = slicing.dynamic_update_slice_p.bind(*primals)
    if type(x_dot) is Zero and type(update_dot) is Zero:
        return out, Zero.from_primal_value(out)
    x_dot, update_dot = instantiate_zeros(x_dot), instantiate_zeros(update_dot)
    return out, slicing.dynamic_update_slice_p.bind(x_dot, update_dot, *primals[2:])


primitive_jvps[slicing.dynamic_slice_p] = _dynamic_slice_jvp
primitive_jvps[slicing.dynamic_update_slice_p] = _dynamic_update_slice_jvp


def _reduce_extreme_jvp(t, y, x, *, axes):
    """The tangent at the extreme; the mean of the tangents where several elements share it."""
    kept = [1 if d in axes else n for d, n in enumerate(typeof(x).shape)]
    chosen = lax.convert(lax.eq(x, shaping.reshape(y, kept)), typeof(t).dtype)
    count = reductions.reduce_sum(chosen, axes)
    return lax.div(reductions.reduce_sum(lax.mul(t, chosen), axes), count)


defjvp2(reductions.reduce_max_p, _reduce_extreme_jvp)
defjvp2(reductions.reduce_min_p, _reduce_extreme_jvp)


# Products, and running extremes, are differentiated through a program that computes them: a tree
# of pairwise operations, which divides by nothing and so is right at zeros too.


def _jvp_through(program: Callable) -> Callable:
    def rule(primals, tangents, **params):
        outs, tangents_out = jvp_flat(lambda x: [program(x, **params)], primals, tangents)
        return outs[0], tangents_out[0]

    return rule


def _product_by_halves(x, *, axes):
    """The product over `axes`, multiplying the first half with the second until one is left."""
    shape = typeof(x).shape
    others = [d for d in range(len(shape)) if d not in axes]
    size = math.prod(shape[d] for d in axes)
    x = shaping.reshape(x, [size] + [shape[d] for d in others], (*axes, *others))
    if size == 0:
        return shaping.full([shape[d] for d in others], _const(x, 1))
    while (n := typeof(x).shape[0]) > 1:
        half = (n + 1) // 2
        first, second = slicing.slice_in_dim(x, 0, half), slicing.slice_in_dim(x, half, None)
        if n % 2:
            config = [(0, 1, 0)] + [(0, 0, 0)] * len(others)
            second = shaping.pad(second, _const(x, 1), config)
        x = lax.mul(first, second)
    return shaping.squeeze(x, (0,))


primitive_jvps[reductions.reduce_prod_p] = _jvp_through(_product_by_halves)


def running(combine: Callable, x, axis: int, reverse: bool):
    """All prefixes of an associative operation, in a logarithmic number of steps.

    Neighbours are combined into pairs; the prefixes of those are every second prefix, and one
    more step fills in the others (Blelloch, "Prefix sums and their applications", 1990).
    """
    if reverse:
        x = shaping.rev(x, (axis,))
    out = _running_forwards(combine, x, axis)
    return shaping.rev(out, (axis,)) if reverse else out


def _running_forwards(combine, x, axis):
    n = typeof(x).shape[axis]
    if n < 2:
        return x
    take = functools.partial(slicing.slice_in_dim, axis=axis)
    pairs = combine(take(x, 0, -1, stride=2), take(x, 1, None, stride=2))
    odd = _running_forwards(combine, pairs, axis)
    rest = take(odd, 0, -1) if n % 2 == 0 else odd
    even = combine(rest, take(x, 2, None, stride=2))
    even = shaping.concatenate([take(x, 0, 1), even], axis)
    return lax.add(_spread(even, axis, 0, n), _spread(odd, axis, 1, n))


def _spread(x, axis, first, n):
    """The elements at every second place from `first`, zeros between, `n` places in all."""
    size = typeof(x).shape[axis]
    last = n - (first + 2 * size - 1) if size else n - first
    config = [(0, 0, 0)] * typeof(x).ndim
    config[axis] = (first, last, 1)
    return shaping.pad(x, _const(x, 0), config)


def _log_add_exp(x, y):
    """log(exp(x) + exp(y)) without overflow."""
    is_complex = typeof(x).dtype.kind == "c"
    larger = lax.max(*map(lax.real, (x, y))) if is_complex else lax.max(x, y)
    safe = lax.select(lax.is_finite(larger), larger, _full(larger, 0))
    safe = lax.complex(safe, _full(safe, 0)) if is_complex else safe
    total = lax.add(lax.exp(lax.sub(x, safe)), lax.exp(lax.sub(y, safe)))
    return lax.add(lax.log(total), safe)


for p, combine in ((reductions.cumprod_p, lax.mul), (reductions.cummax_p, lax.max),
                   (reductions.cummin_p, lax.min), (reductions.cumlogsumexp_p, _log_add_exp)):
    primitive_jvps[p] = _jvp_through(functools.partial(running, combine))
