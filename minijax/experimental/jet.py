"""Chapter 16: Taylor mode, derivatives of high order in one go.

Move the argument along a curve, x(ε) = x₀ + x₁ε + x₂ε² + …; then f(x(ε)) is a power series as well.
`jet` computes its coefficients up to a given order. The k-th derivative of f along v is k! times
the k-th coefficient for x(ε) = x + vε: so k nested `jvp`s, which do 2ᵏ times the work of f, are
replaced by one walk through f with polynomials, which does about k² times the work.

That is a transformation like those before: a trace, a tracer (of a polynomial instead of a pair of
primal and tangent), and a column of rules. But only few rules must be written here. For all other
primitives, the derivative of chapter 2 is enough: along the curve, y = f(x) has the slope

    y' = jvp(f)(x, x')

and the series of y' is one order shorter than that of y. So the rule differentiates by the
primitive's JVP rule, asks for the `jet` of *that* to one order less, and integrates.

A polynomial is a list of coefficients, all of one type. It may be shorter than the order asks for:
what is missing is zero. A constant is a polynomial of degree 0.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core import dtypes
from ..core.core import (
    Primitive,
    ShapedArray,
    Trace,
    Tracer,
    missing_rule,
    new_trace,
    state,
    typeof,
)
from ..core.forward import Zero, instantiate_zeros, primitive_jvps
from ..core.jaxpr import ClosedJaxpr, jaxpr_as_fun
from ..core.jit import jit_p
from ..core.primitives import (
    add_any_p,
    add_p,
    broadcast_in_dim_p,
    concatenate_p,
    convert,
    convert_element_type_p,
    copy_p,
    cos_p,
    div_p,
    dot_general_p,
    exp_p,
    integer_pow_p,
    mul_p,
    neg_p,
    pad_p,
    reduce_sum_p,
    reshape_p,
    select_n_p,
    sin_p,
    slice_p,
    split_p,
    squeeze_p,
    sub_p,
    tanh_p,
    transpose_p,
)
from ..core.staging import trace_to_jaxpr, weakref_cache
from ..core.tree import flatten_fun_nokwargs, tree_structure
from ..core.util import partition_list, split_list
from ..custom_rules.common import as_fun
from ..custom_rules.vjp import custom_vjp_call_p
from ..lax import (
    complex_numbers,
    convolution,
    cumulative,
    shaping,
    slicing,
    trigonometric,
)
from ..lax import elementwise as lax
from ..lax import (
    fourier as fft,
)
from ..lax import (
    gathering as gather,
)
from ..lax import (
    scattering as scatter,
)
from ..lax import (
    windowed_reductions as reduce_window,
)
from ..lax.control_flow.cond import cond_p
from ..lax.control_flow.scan import scan_p
from ..lax.control_flow.while_loop import while_p
from ..numpy._arguments import ensure_array
from ..pytree.functions import treedef_is_leaf
from ..remat import remat_p

Polynomial = list  # of coefficients


def jet(fun: Callable, primals: Sequence, series: Sequence, factorial_scaled: bool = True,
        **_) -> tuple[Any, Any]:
    """The Taylor series of `fun` along a curve.

    Args:
      fun: a function of arrays that returns a pytree of arrays.
      primals: the arguments at ε = 0.
      series: for each argument, a list of the derivatives of the curve there, from the first on;
        all lists have one length, the order.
      factorial_scaled: if false, the lists hold coefficients of powers of ε, in and out, instead
        of derivatives, which are k! times as large.

    Returns:
      `(primals_out, series_out)`: the result, and a pytree like it that has, for each array, the
      list of derivatives.

    Raises:
      ValueError: lists of different lengths, or arguments that are no arrays.
      TypeError: integers, which do not move along a curve.

    >>> from minijax.experimental.jet import jet
    >>> y, derivatives = jet(lambda x: x**3, (2.0,), ([1.0, 0.0, 0.0],))
    >>> y.item(), [d.item() for d in derivatives]
    (8.0, [12.0, 12.0, 6.0])
    """
    order = _order(primals, series)
    scale = [float(math.factorial(k)) if factorial_scaled else 1 for k in range(1, order + 1)]
    polynomials = [*map(functools.partial(_curve, scale), primals, series)]
    flat_fun, out_tree = flatten_fun_nokwargs(fun, tree_structure(tuple(primals)))
    outs = jet_flat(flat_fun, order, polynomials)
    values = [y[0] for y in outs]
    derivatives = [[k * c for k, c in zip(scale, _padded(y, order)[1:])] for y in outs]
    return out_tree().unflatten(values), out_tree().unflatten(derivatives)


def _order(primals, series) -> int:
    """The length that all lists have."""
    lengths = {len(terms) for terms in series}
    if len(lengths) != 1:
        raise ValueError("jet: the lists in `series` must have one length for all arguments, got "
                         f"the lengths {sorted(lengths)}")
    for i, (x, terms) in enumerate(zip(primals, series)):
        for what, leaf in (("primal value", x), *((f"term {j}", t) for j, t in enumerate(terms))):
            if not treedef_is_leaf(tree_structure(leaf)):
                raise ValueError(f"jet: the {what} of argument {i} is not an array, but {leaf!r}")
    return lengths.pop()


def _curve(scale, primal, terms) -> Polynomial:
    """An argument as a polynomial."""
    primal = ensure_array("jet", primal)
    if not dtypes.issubdtype(primal.dtype, np.inexact):
        raise TypeError(f"jet: an argument of dtype {primal.dtype} cannot move along a curve: make "
                        "it a float, or close over it.")
    return [primal, *(convert(t, primal.dtype, typeof(t).weak_type) / k
                      for k, t in zip(scale, terms))]


# ----------------------------------------------------------------------------------------------
# The trace


class JetTracer(Tracer):
    """A value that moves: a polynomial in ε, of degree 1 or more."""

    __slots__ = ("coefficients",)

    def __init__(self, trace: JetTrace, coefficients: Polynomial):
        self._trace, self.coefficients = trace, coefficients

    @property
    def aval(self) -> ShapedArray:
        return typeof(self.coefficients[0])

    def concrete_value(self):
        value = self.coefficients[0]
        return value.concrete_value() if isinstance(value, Tracer) else value


class JetTrace(Trace):
    """Computes with polynomials of degree `order` at most."""

    __slots__ = ("order",)

    def __init__(self, parent: Trace, order: int):
        super().__init__(parent)
        self.order = order

    def unbox(self, x) -> Polynomial:
        """The polynomial of `x`; a value of an outer trace is a constant here."""
        return x.coefficients if isinstance(x, JetTracer) and x._trace is self else [x]

    def box(self, polynomial: Polynomial):
        """A tracer, unless the value does not move: then the value will do."""
        value = polynomial[0]
        if len(polynomial) == 1 or not dtypes.issubdtype(typeof(value).dtype, np.inexact):
            return value
        return JetTracer(self, polynomial[: self.order + 1])

    def process_primitive(self, primitive, args, params):
        polynomials = [self.unbox(x) for x in args]
        if all(len(x) == 1 for x in polynomials):
            constants = [x[0] for x in polynomials]
            return self.in_parent(self.parent.process_primitive, primitive, constants, params)
        rule = jet_rules.get(primitive) or functools.partial(by_jvp, primitive)
        out = self.in_parent(rule, self.order, *polynomials, **params)
        return [*map(self.box, out)] if primitive.multiple_results else self.box(out)


def jet_flat(fun: Callable, order: int, polynomials: Sequence[Polynomial]) -> list[Polynomial]:
    """The polynomials of what `fun` returns, a list of arrays, for those of its arguments."""
    trace = JetTrace(state.trace, order)
    with new_trace(trace):
        return [trace.unbox(out) for out in fun(*map(trace.box, polynomials))]


# ----------------------------------------------------------------------------------------------
# Polynomials


def _padded(x: Polynomial, degree: int) -> Polynomial:
    """With zeros for the coefficients that are missing up to `degree`."""
    return x + [shaping.full_like(x[0], 0) for _ in range(degree + 1 - len(x))]


def _derivative(x: Polynomial) -> Polynomial:
    return [k * c for k, c in enumerate(x)][1:]


def _integral(start, slope: Polynomial) -> Polynomial:
    """The polynomial with this slope whose value at ε = 0 is `start`."""
    return [start, *(c / k for k, c in enumerate(slope, start=1))]


def _sum(terms: Sequence):
    return functools.reduce(lax.add, terms)


def _in_product(x: Polynomial, y: Polynomial, k: int, mul: Callable = lax.mul) -> list:
    """The products whose sum is the k-th coefficient of x · y."""
    return [mul(c, y[k - j]) for j, c in enumerate(x) if 0 <= k - j < len(y)]


# ----------------------------------------------------------------------------------------------
# The rule for everything

# primitive -> (order, *polynomials, **params) -> polynomial, or a list of them
jet_rules: dict[Primitive, Callable] = {}


def by_jvp(primitive: Primitive, order: int, *args: Polynomial, **params):
    """y' = jvp(x, x'), to one order less; integrated, that is y."""
    rule = primitive_jvps.get(primitive)
    if rule is None:
        raise missing_rule(primitive, "Taylor-mode differentiation", 2)
    moves = [len(x) > 1 for x in args]

    def jvp(*leaves):
        """Of the values of all arguments, and the slopes of those that move."""
        values, slopes = leaves[: len(args)], iter(leaves[len(args):])
        out, slope = rule(values, [next(slopes) if m else Zero.from_primal_value(x)
                                   for m, x in zip(moves, values)], **params)
        return (out, slope) if primitive.multiple_results else ([out], [slope])

    curves = [*args, *(_derivative(x) for x in args if len(x) > 1)]
    values, slopes = jvp(*(x[0] for x in curves))
    moved = [type(slope) is not Zero for slope in slopes]
    series = [[slope] for slope in partition_list(moved, slopes)[1]]
    if series and order > 1:
        series = jet_flat(lambda *leaves: partition_list(moved, jvp(*leaves)[1])[1], order - 1,
                          [x[:order] for x in curves])
    rest = iter(series)
    outs = [_integral(y, next(rest)) if m else [y] for y, m in zip(values, moved)]
    return outs if primitive.multiple_results else outs[0]


# ----------------------------------------------------------------------------------------------
# Linear primitives: each coefficient for itself


def deflinear(primitive: Primitive) -> None:
    """The primitive is linear in all its arguments together."""
    def rule(order, *args, **params):
        degree = max(map(len, args)) - 1
        in_step = zip(*(_padded(x, degree) for x in args))
        outs = [primitive.bind(*coefficients, **params) for coefficients in in_step]
        return [*map(list, zip(*outs))] if primitive.multiple_results else outs

    jet_rules[primitive] = rule


def deflinear_but(primitive: Primitive) -> None:
    """The primitive is linear in its floats; indices, or the like, it takes besides.

    Its own derivative tells which are which: coefficient by coefficient, it is applied to them.
    """
    def rule(order, *args, **params):
        values, out = [x[0] for x in args], []
        for k in range(1, max(map(len, args))):
            terms = [x[k] if k < len(x) else Zero.from_primal_value(x[0]) for x in args]
            value, term = primitive_jvps[primitive](values, terms, **params)
            out = [*(out or [value]), instantiate_zeros(term)]
        return out

    jet_rules[primitive] = rule


for _p in (
    neg_p, complex_numbers.real_p, complex_numbers.imag_p, complex_numbers.complex_p,
    complex_numbers.conj_p, copy_p,
    broadcast_in_dim_p, concatenate_p, pad_p, reshape_p,
    shaping.rev_p, split_p, squeeze_p, shaping.stack_p, transpose_p,
    shaping.unstack_p, slice_p, cumulative.cumsum_p, reduce_sum_p,
    reduce_window.reduce_window_sum_p, fft.fft_p,
):
    deflinear(_p)

for _p in (
    add_p, add_any_p, sub_p, convert_element_type_p, select_n_p,
    slicing.dynamic_slice_p, slicing.dynamic_update_slice_p, gather.gather_p,
    scatter.scatter_add_p, scatter.scatter_p, scatter.scatter_sub_p,
):
    deflinear_but(_p)

# ----------------------------------------------------------------------------------------------
# Products and quotients


def defbilinear(primitive: Primitive) -> None:
    """The primitive is linear in each of its two arguments."""
    def rule(order, x, y, **params):
        mul = functools.partial(primitive.bind, **params)
        return _product(order, x, y, mul)

    jet_rules[primitive] = rule


def _product(order, x, y, mul: Callable = lax.mul):
    degree = min(order, len(x) + len(y) - 2)
    return [_sum(_in_product(x, y, k, mul)) for k in range(degree + 1)]


for _p in (mul_p, dot_general_p, convolution.conv_general_dilated_p):
    defbilinear(_p)


def _quotient(order, x, y):
    """From x = y · z: all but one of the products in the k-th coefficient of x are known."""
    x, z = _padded(x, order), []
    for k in range(order + 1):
        known = _in_product(z, y[1:], k - 1)
        z.append((lax.sub(x[k], _sum(known)) if known else x[k]) / y[0])
    return z


def _integer_pow(order, x, *, y):
    """Products; but the power of a quotient by its equation."""
    if y < 0:
        return _power(lax.integer_pow(x[0], y), order, x, y)
    if y == 0:
        return [shaping.full_like(x[0], 1)]
    root = x if y < 2 else _integer_pow(order, x, y=y // 2)
    square = root if y < 2 else _product(order, root, root)
    return square if y % 2 == 0 or y == 1 else _product(order, square, x)


jet_rules[div_p] = _quotient
jet_rules[integer_pow_p] = _integer_pow
jet_rules[lax.square_p] = lambda order, x: _product(order, x, x)

# ----------------------------------------------------------------------------------------------
# Functions whose derivative is made of themselves. By their JVP rule, each order would compute the
# one before anew; the differential equation gives one coefficient after the other.


def _power(start, order, x, a):
    """y = xᵃ: from x y' = a y x'. The slope of the power is the power again."""
    y = [start]
    for k in range(1, order + 1):
        terms = [(a * j - (k - j)) * c * y[k - j] for j, c in enumerate(x[: k + 1]) if j]
        y.append(_sum(terms) / (k * x[0]))
    return y


def _riccati(start, order, x, a, b, c):
    """y' = (a + b y + c y²) x'."""
    y, slope, dx = [start], [], _derivative(x)
    for k in range(order):
        terms = [shaping.full_like(start, a)] if a and k == 0 else []
        terms += [b * y[k]] if b else []
        terms += [c * product for product in _in_product(y, y, k)] if c else []
        slope.append(_sum(terms))
        y.append(_sum(_in_product(slope, dx, k)) / (k + 1))
    return y


def _defpower(primitive: Primitive, exponent: float) -> None:
    jet_rules[primitive] = lambda order, x, **params: _power(
        primitive.bind(x[0], **params), order, x, exponent)


def _defriccati(primitive: Primitive, a: float, b: float, c: float) -> None:
    jet_rules[primitive] = lambda order, x, **params: _riccati(
        primitive.bind(x[0], **params), order, x, a, b, c)


_defpower(lax.sqrt_p, 1 / 2)
_defpower(lax.rsqrt_p, -1 / 2)
_defpower(lax.cbrt_p, 1 / 3)
_defriccati(exp_p, 0, 1, 0)
_defriccati(lax.exp2_p, 0, math.log(2), 0)
_defriccati(lax.expm1_p, 1, 1, 0)
_defriccati(lax.logistic_p, 0, 1, -1)
_defriccati(tanh_p, 1, 0, -1)
_defriccati(lax.tan_p, 1, 0, 1)


def _pow(order, x, y):
    """A power with a constant exponent, or exp(y log x)."""
    value = lax.pow_p.bind(x[0], y[0])
    if len(y) == 1:
        return _power(value, order, x, convert(y[0], typeof(x[0]).dtype))
    exponent, = jet_flat(lambda x, y: [lax.mul(y, lax.log(x))], order, [x, y])
    return _riccati(value, order, exponent, 0, 1, 0)


jet_rules[lax.pow_p] = _pow


def _sine_and_cosine(sine, cosine, sign: int, order: int, x: Polynomial):
    """s' = c x' and c' = ± s x'."""
    s, c, dx = [sine(x[0])], [cosine(x[0])], _derivative(x)
    for k in range(order):
        s_next, c_next = (_sum(_in_product(y, dx, k)) / (k + 1) for y in (c, s))
        s.append(s_next)
        c.append(sign * c_next)
    return s, c


def _defpair(sine_p: Primitive, cosine_p: Primitive, sign: int) -> None:
    both = functools.partial(_sine_and_cosine, sine_p.bind, cosine_p.bind, sign)
    jet_rules[sine_p] = lambda order, x, **params: both(order, x)[0]
    jet_rules[cosine_p] = lambda order, x, **params: both(order, x)[1]


_defpair(sin_p, cos_p, -1)
_defpair(trigonometric.sinh_p, trigonometric.cosh_p, 1)

# ----------------------------------------------------------------------------------------------
# Primitives that contain a program: the program computes with polynomials


@weakref_cache
def jet_jaxpr(jaxpr: ClosedJaxpr, order: int, degrees: tuple, out_degrees: tuple | None = None):
    """The jaxpr from the coefficients of its arguments to the coefficients of its results.

    Args:
      degrees: those of the arguments.
      out_degrees: those wanted of the results; `None` for whatever comes out.

    Returns:
      the new `ClosedJaxpr`, and the degrees of its results.
    """
    found: list[int] = []

    def flat_fun(*coefficients):
        outs = jet_flat(jaxpr_as_fun(jaxpr), order, _grouped(coefficients, degrees))
        if out_degrees is not None:
            outs = [[with_aval(c, aval) for c in _padded(y, degree)]
                    for y, degree, aval in zip(outs, out_degrees, jaxpr.out_avals)]
        found[:] = _degrees(outs)
        return _flat(outs)

    avals = _flat([aval] * (degree + 1) for aval, degree in zip(jaxpr.in_avals, degrees))
    return trace_to_jaxpr(flat_fun, avals, jaxpr.debug_info), tuple(found)


def with_aval(x, aval: ShapedArray):
    """`x`, as weakly typed as `aval` is."""
    return x if typeof(x) == aval else convert(x, aval.dtype, aval.weak_type)


def _flat(polynomials) -> list:
    return [c for x in polynomials for c in x]


def _grouped(coefficients: Sequence, degrees: Sequence[int]) -> list[Polynomial]:
    """The inverse of `_flat`."""
    return split_list(coefficients, [*(degree + 1 for degree in degrees)])[:-1]


def _degrees(polynomials: Sequence[Polynomial]) -> tuple[int, ...]:
    return tuple(len(x) - 1 for x in polynomials)


def _full(order: int, avals: Sequence[ShapedArray]) -> tuple[int, ...]:
    """The highest degrees that values of these types may have."""
    return tuple(order if dtypes.issubdtype(a.dtype, np.inexact) else 0 for a in avals)


def _jit(order, *args, jaxpr, donated_invars, **params):
    new_jaxpr, degrees = jet_jaxpr(jaxpr, order, _degrees(args))
    donated = tuple(_flat([d] * len(x) for d, x in zip(donated_invars, args)))
    outs = jit_p.bind(*_flat(args), jaxpr=new_jaxpr, donated_invars=donated, **params)
    return _grouped(outs, degrees)


def _cond(order, index, *args, branches):
    degrees = _full(order, branches[0].out_avals)
    new_branches = tuple(jet_jaxpr(b, order, _degrees(args), degrees)[0] for b in branches)
    return _grouped(cond_p.bind(*index, *_flat(args), branches=new_branches), degrees)


def _scan(order, *args, jaxpr, num_consts, num_carry, **params):
    """All carries have the full degree: after the first step they would have it anyway."""
    consts, carry, xs = split_list(args, [num_consts, num_carry])
    degrees = _full(order, jaxpr.out_avals)
    carry = [*map(_padded, carry, degrees)]
    args = [_flat(consts), _flat(carry), _flat(xs)]
    new_jaxpr, _ = jet_jaxpr(jaxpr, order, _degrees([*consts, *carry, *xs]), degrees)
    outs = scan_p.bind(*_flat(args), jaxpr=new_jaxpr, num_consts=len(args[0]),
                       num_carry=len(args[1]), **params)
    return _grouped(outs, degrees)


def _while(order, *args, cond_jaxpr, cond_nconsts, body_jaxpr, body_nconsts):
    """The condition looks at the values only: how often the loop runs does not move."""
    cond_consts, body_consts, carry = split_list(args, [cond_nconsts, body_nconsts])
    degrees = _full(order, body_jaxpr.out_avals)
    carry = [*map(_padded, carry, degrees)]
    values, consts = [x[0] for x in cond_consts], _flat(body_consts)
    cond_degrees = (0,) * len(values) + degrees
    new_cond = _of_values(cond_jaxpr, cond_degrees)
    new_body, _ = jet_jaxpr(body_jaxpr, order, _degrees([*body_consts, *carry]), degrees)
    outs = while_p.bind(*values, *consts, *_flat(carry), cond_jaxpr=new_cond,
                        cond_nconsts=len(values), body_jaxpr=new_body, body_nconsts=len(consts))
    return _grouped(outs, degrees)


@weakref_cache
def _of_values(jaxpr: ClosedJaxpr, degrees: tuple) -> ClosedJaxpr:
    """The jaxpr, of arguments of these degrees of which it takes the values."""
    def flat_fun(*coefficients):
        return jaxpr_as_fun(jaxpr)(*(x[0] for x in _grouped(coefficients, degrees)))

    avals = _flat([aval] * (degree + 1) for aval, degree in zip(jaxpr.in_avals, degrees))
    return trace_to_jaxpr(flat_fun, avals, jaxpr.debug_info)


jet_rules[jit_p] = _jit
jet_rules[cond_p] = _cond
jet_rules[scan_p] = _scan
jet_rules[while_p] = _while
# Nothing goes backwards here: neither what to save for it matters, nor a rule for it.
jet_rules[remat_p] = lambda order, *args, jaxpr, **params: jet_flat(
    jaxpr_as_fun(jaxpr), order, args)
jet_rules[custom_vjp_call_p] = lambda order, *args, call_jaxpr, **params: jet_flat(
    as_fun(call_jaxpr), order, args)
