"""Chapter 9: a program of large arrays as a loop over parts of them.

XLA's CPU compiler writes most intermediate arrays of a long computation to memory, and reads them
again. If each row of the results needs only the same row of the arguments, the program can compute
a few thousand rows at a time. The intermediate arrays of so few rows stay in the processor's cache,
and the program needs no large blocks of memory.

The autotuner tries this as one of its variants. Values have rows if their first dimension is that
of the largest argument. Equations that mix rows, or that are in none of the tables below, are
refused.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...core.extension import Extension, register
from ...core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal
from ...core.jit import lower
from ...core.lowering import used_variables
from ...core.primitives import reduce_sum_p
from ...core.staging import jaxpr_of
from ...runtime.settings import cpu_autotune
from .. import bitwise, elementwise as prim, reductions
from ..shaping import full, reshape
from .scan import scan

LEAST = 2**18  # elements: smaller arrays stay in the cache anyway
PART = 20_000  # elements of a part, at most

# Primitives that compute each element of the result from the same element of each operand.
ELEMENTWISE = frozenset("""
    abs acos acosh add add_any and asin asinh atan atan2 atanh bessel_i0e bessel_i1e cbrt ceil clamp
    clz complex conj convert_element_type copy cos cosh digamma div eq erf erf_inv erfc exp exp2
    expm1 floor ge gt imag integer_pow is_finite le lgamma log log1p logistic lt max min mul ne neg
    nextafter not or polygamma population_count pow real reduce_precision rem round rsqrt select_n
    shift_left shift_right_arithmetic shift_right_logical sign sin sinh sqrt square stop_gradient
    sub tan tanh xor zeta""".split())
CALLS = {"jit": "jaxpr", "custom_jvp_call": "call_jaxpr", "custom_vjp_call": "call_jaxpr"}
# A reduction, and how the results of two parts are combined.
SUMS = {reduce_sum_p: prim.add, reductions.reduce_prod_p: prim.mul,
        reductions.reduce_max_p: prim.max, reductions.reduce_min_p: prim.min,
        reductions.reduce_and_p: bitwise.bitwise_and, reductions.reduce_or_p: bitwise.bitwise_or}


class _NotByRows(Exception):
    """The program does not compute its rows one by one."""


class _Sorted(NamedTuple):
    """The equations before, in and after the loop, and what the loop carries and returns."""

    before: list[JaxprEqn]
    body: list[JaxprEqn]
    after: list[JaxprEqn]
    rows: set  # the variables with rows
    sums: list[JaxprEqn]  # the reductions of all rows: their results exist after the loop only


def in_parts(closed: ClosedJaxpr) -> ClosedJaxpr | None:
    """The program as a loop over parts, or `None` if it does not compute its rows one by one."""
    shapes = [aval.shape for aval in closed.in_avals]
    shape: tuple[int, ...] = max(shapes, key=math.prod, default=())
    parts = _number_of_parts(shape)
    if not parts or closed.effects:
        return None
    try:
        equations = _sorted(closed.jaxpr, shape[0])
    except _NotByRows:
        return None
    return jaxpr_of(lambda *args: _loop(closed, equations, shape[0], parts, args), closed.in_avals)


def _number_of_parts(shape: tuple[int, ...]) -> int:
    """How many equal parts the rows are computed in; 0 if no number gives parts of a good size."""
    size = math.prod(shape)
    if not shape or size < LEAST:
        return 0
    least = -(-size // PART)
    return next((n for n in range(least, 4 * least) if shape[0] % n == 0), 0)


def _has_rows(v: Any, n: int) -> bool:
    return v.aval.shape[:1] == (n,)


def _sorted(jaxpr: Jaxpr, n: int) -> _Sorted:
    """Each equation where it is computed."""
    rows = {v for v in (*jaxpr.constvars, *jaxpr.invars) if _has_rows(v, n)}
    found = _Sorted([], [], [], rows, [])
    late: set = set()
    for eqn in jaxpr.eqns:
        ins = {v for v in eqn.invars if type(v) is not Literal}
        is_late = not late.isdisjoint(ins)
        if rows.isdisjoint(ins) and not any(_has_rows(v, n) for v in eqn.outvars):
            (found.after if is_late else found.before).append(eqn)
            late.update(eqn.outvars if is_late else ())
            continue
        if is_late:
            raise _NotByRows
        found.body.append(eqn)
        if eqn.primitive in SUMS and 0 in eqn.params["axes"]:
            found.sums.append(eqn)
            late.update(eqn.outvars)
        else:
            _check(eqn, rows, n)
            rows.update(eqn.outvars)
    if not found.sums and rows.isdisjoint(v for v in jaxpr.outvars if type(v) is not Literal):
        raise _NotByRows
    return found


def _check(eqn: JaxprEqn, rows: set, n: int) -> None:
    """Refuse an equation that mixes rows."""
    name, params = eqn.primitive.name, eqn.own_params
    first_has_rows = any(type(x) is not Literal and x in rows for x in eqn.invars[:1])
    if name == "broadcast_in_dim":
        dims = params["broadcast_dimensions"]
        good = dims[0] == 0 if first_has_rows else (
            0 not in dims or eqn.invars[0].aval.shape[0] == 1)
    elif name == "reshape" or eqn.primitive in SUMS and 0 not in params["axes"]:
        good = first_has_rows and params.get("dimensions") is None
    elif name in CALLS:
        inner = _sorted(params[CALLS[name]].jaxpr, n)
        good = not inner.sums
    else:
        good = name in ELEMENTWISE
    if not good or not all(_has_rows(v, n) for v in eqn.outvars):
        raise _NotByRows


def _evaluate(eqns: Sequence[JaxprEqn], env: dict, bind: Callable) -> None:
    for eqn in eqns:
        env.update(zip(eqn.outvars, bind(eqn, [_read(env, v) for v in eqn.invars])))


def _read(env, v):
    return v.val if type(v) is Literal else env[v]


def _bind(eqn: JaxprEqn, operands: Sequence, **changed: Any) -> list:
    out = eqn.primitive.bind(*operands, **eqn.own_params | changed)
    return out if eqn.primitive.multiple_results else [out]


def _loop(closed: ClosedJaxpr, equations: _Sorted, n: int, parts: int, args: Sequence) -> list:
    """The results of the program for these arguments, by a loop over its parts."""
    jaxpr, part = closed.jaxpr, n // parts
    env = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*closed.consts, *args)))
    whole = [v for v in env if v in equations.rows]
    _evaluate(equations.before, env, _bind)

    def of_part(eqn, operands):
        if (name := eqn.primitive.name) in CALLS:
            inner = eqn.own_params[CALLS[name]]
            env = dict(zip((*inner.constvars, *inner.invars), (*inner.consts, *operands)))
            _evaluate(inner.eqns, env, of_part)
            return [_read(env, v) for v in inner.outvars]
        sizes = {k: (part, *x[1:]) for k, x in eqn.own_params.items()
                 if k in ("shape", "new_sizes") and x[0] == n}
        return _bind(eqn, operands, **sizes)

    results = [v for v in dict.fromkeys(v for v in jaxpr.outvars if type(v) is not Literal)
               if v in equations.rows and v not in whole]

    def body(totals, xs):
        inside = env | dict(zip(whole, xs))
        _evaluate(equations.body, inside, of_part)
        totals = [SUMS[eqn.primitive](total, prim.convert(inside[eqn.outvars[0]], total.dtype))
                  for eqn, total in zip(equations.sums, totals)]
        return totals, [inside[v] for v in results]

    nothing = [full((0, *eqn.invars[0].aval.shape[1:]), 0, eqn.invars[0].aval.dtype)
               for eqn in equations.sums]
    starts = [_bind(eqn, [x])[0] for eqn, x in zip(equations.sums, nothing)]
    totals, ys = scan(body, starts, [reshape(env[v], (parts, part, *v.aval.shape[1:]))
                                     for v in whole])
    env |= {eqn.outvars[0]: total for eqn, total in zip(equations.sums, totals)}
    env |= {v: reshape(y, v.aval.shape) for v, y in zip(results, ys)}
    _evaluate(equations.after, env, _bind)
    return [_read(env, v) for v in jaxpr.outvars]


class InParts(Extension):
    """The autotuner gets the text of the program as a loop over parts."""

    def program_module(self, module, jaxpr, spec):
        if dict(spec.options).get(cpu_autotune.name, cpu_autotune.value):
            parts = in_parts(jaxpr)
            if parts is not None and _used(parts) == _used(jaxpr):
                loop = lower(parts, spec)
                if not loop.hoisted:
                    module.for_compiler["in_parts"] = loop.text
        return module


def _used(closed):
    used = used_variables(closed.jaxpr)
    return [v in used for v in closed.invars]


register(InParts())
