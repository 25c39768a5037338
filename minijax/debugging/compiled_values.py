"""Chapter 15: `check_compiled`: does a compiled program compute what its jaxpr says?

There are two evaluators of a jaxpr, which share no code: XLA, and our rules on NumPy. The jaxpr is
compiled once more so that it returns the value of each equation. Each equation is then evaluated on
the compiled values of its operands, so that rounding does not add up from one to the next.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core import dtypes
from ..core.array import Array
from ..core.boundary import api_boundary
from ..core.calls import calls
from ..core.core import typeof
from ..core.jaxpr import Atom, ClosedJaxpr, DropVar, JaxprEqn, Literal, Var
from ..core.jit import Spec, program_of
from ..core.primitives import broadcast_in_dim, ensure_array
from ..core.staging import weakref_cache
from ..core.traced import Options, TracedFunction
from ..core.util import split_list
from ..lax.control_flow.cond import cond_p
from ..lax.control_flow.scan import scan_p
from ..lax.control_flow.while_loop import while_p
from ..lax.cutting import concatenate
from ..lax.selection import select_n
from ..lax.shaping import expand_dims
from ..parallel.programs.shard_map_primitive import shard_map_p
from ..random.key_functions import key_data
from ..state.discharge import discharge, is_ref_type
from ..state.refs import uses_refs
from ..text.locations import source_text

Values = list[Any]
_LONGEST = 400  # characters of an equation in a message


class CompiledValueError(ArithmeticError):
    """A compiled program has a value that differs from the one of its jaxpr.

    Args:
      message: what differs, where, and by how much.
      eqn: the equation.
      compiled, evaluated: its two values, NumPy arrays.
    """

    def __init__(self, message: str, eqn: JaxprEqn, compiled: np.ndarray, evaluated: np.ndarray):
        super().__init__(message)
        self.eqn, self.compiled, self.evaluated = eqn, compiled, evaluated


def check_compiled(fun: Callable, compiler_options: dict[str, Any] | None = None) -> Callable:
    """A function that computes `fun` by XLA, and checks each value against our own evaluation.

    The compiled value of each equation is compared with that of its NumPy rule on the same
    operands, also inside of `jit`, `checkpoint`, custom rules, branches and loops. A difference
    counts if it is larger than what rounding does: a few units in the last place, more for long
    sums and products, and more where the equation magnifies a change of its operands by so little.
    Then the results of the program are compared with those of the program that returns all values,
    which XLA may have fused in other ways.

    Callbacks run several times. An equation without a NumPy rule, and a `shard_map`, is compared
    with a program of this equation alone.

    Args:
      fun: a function of pytrees of arrays that returns one; it may be jitted.
      compiler_options: XLA's options by name, as `jit` takes them.

    Returns:
      a function of the same arguments, with the same result as `jit(fun)`.

    Raises:
      CompiledValueError: when called, if a value differs. It names the first equation that does,
        with the line that it comes from, both values and the difference.

    >>> jax.debug.check_compiled(lambda x: jnp.sin(x) ** 2)(2.0)
    Array(0.82682174, dtype=float32, weak_type=True)
    """
    traced = fun if isinstance(fun, TracedFunction) else TracedFunction(fun, Options())
    options = tuple((compiler_options or {}).items())

    @api_boundary
    @functools.wraps(fun)
    def checked(*args, **kwargs):
        call = traced._call(args, kwargs)
        tracing = traced._traced(call)
        values = [*map(ensure_array, [*tracing.outer_tracers, *call.leaves])]
        if any(is_ref_type(typeof(x)) for x in values):
            raise TypeError("check_compiled: the function takes a reference, or closes over one. "
                            "Pass its contents, and make the reference inside of the function.")
        jaxpr = discharge(tracing.jaxpr) if uses_refs(tracing.jaxpr) else tracing.jaxpr
        return tracing.out_tree.unflatten(_check(jaxpr, values, options))

    return checked


# ----------------------------------------------------------------------------------------------
# Programs


def _check(jaxpr: ClosedJaxpr, args: Values, options: tuple) -> Values:
    """The results of the compiled jaxpr, after a check of each of its equations."""
    outs = _run(jaxpr, args, options)
    compiled = dict(zip(_results(jaxpr.eqns), _run(_returning(jaxpr), args, options)[len(outs):]))

    def check(eqn, operands):
        values = [compiled.get(v) for v in eqn.outvars]
        _check_equation(eqn, operands, values, options)
        return values

    expected = _evaluate(jaxpr, args, check)
    if jaxpr.eqns:
        _check_results(jaxpr, args, outs, expected, options)
    return outs


def _run(jaxpr: ClosedJaxpr, args: Values, options: tuple) -> Values:
    return program_of(jaxpr, Spec("check_compiled", options=options), args)(args)


def _results(eqns: Sequence[JaxprEqn]) -> list[Var]:
    return [v for eqn in eqns for v in eqn.outvars if type(v) is not DropVar]


@weakref_cache
def _returning(jaxpr: ClosedJaxpr, count: int | None = None) -> ClosedJaxpr:
    """The jaxpr that also returns the results of its first equations, by default of all."""
    inner = jaxpr.jaxpr
    outvars = [*inner.outvars, *_results(inner.eqns[:count])]
    return ClosedJaxpr(inner.replace(outvars=outvars), jaxpr.consts)


def _check_equation(eqn: JaxprEqn, operands: Values, compiled: Values, options: tuple) -> None:
    expected = _entered(eqn, operands, functools.partial(_check, options=options))
    compare = _Comparison(
        _length(eqn), lambda random, ulps: _evaluate_shaken(eqn, random, ulps, operands))
    if found := compare.first_difference(compiled, expected):
        raise _error(eqn, "XLA computes another value of this equation than its rule", *found)


def _check_results(jaxpr, args: Values, outs: Values, expected: Values, options: tuple) -> None:
    """Compare the results of the program with those of the program that returns all values."""
    def shake(random, ulps):
        return _evaluate(jaxpr, args, lambda eqn, operands: _evaluate_shaken(
            eqn, random, ulps, operands))

    compare = _Comparison(max(map(_length, jaxpr.eqns)), shake)
    found = compare.first_difference(outs, expected)
    if found is None:
        return
    wrong, right = 0, len(jaxpr.eqns)  # how many equations' values are returned as well
    while right - wrong > 1:
        middle = (right + wrong) // 2
        also = _run(_returning(jaxpr, middle), args, options)[:len(outs)]
        is_right = compare.first_difference(also, expected) is None
        wrong, right = (wrong, middle) if is_right else (middle, right)
    raise _error(jaxpr.eqns[right - 1], "The compiled program has a wrong result, and the right "
                 "one if it also returns the value of this equation", *found)


def _error(eqn, what, compiled, evaluated, place, difference, allowed) -> CompiledValueError:
    where = f"element {list(map(int, place))}: " if place else ""
    return CompiledValueError(
        f"{what}:\n  {str(eqn).strip()[:_LONGEST]}\n  from {source_text(eqn.source_info)}\n"
        f"  {where}{compiled[place]} compiled, {evaluated[place]} evaluated. The difference is "
        f"{difference:.3g}; rounding explains {allowed:.3g}.", eqn, compiled, evaluated)


# ----------------------------------------------------------------------------------------------
# Our evaluation


def _bind(eqn: JaxprEqn, operands: Values) -> Values:
    out = eqn.primitive.bind(*operands, **eqn.own_params)
    return out if eqn.primitive.multiple_results else [out]


def _entered(eqn: JaxprEqn, operands: Values, run: Callable) -> Values:
    """The results of an equation, if `run(jaxpr, args)` computes what it calls."""
    enter = _ENTER.get(eqn.primitive)
    if enter is not None:
        return enter(run, eqn, operands)
    called = eqn.own_params.get("call_jaxpr")
    if eqn.primitive in calls and eqn.primitive is not shard_map_p:
        called = eqn.own_params[calls[eqn.primitive].jaxpr_param]
    return _bind(eqn, operands) if called is None else run(called, operands)


def _enter_cond(run, eqn, operands):
    branches = eqn.own_params["branches"]
    return run(branches[min(max(int(operands[0]), 0), len(branches) - 1)], operands[1:])


def _enter_while(run, eqn, operands):
    cond, body, *counts = [eqn.own_params[name] for name in (
        "cond_jaxpr", "body_jaxpr", "cond_nconsts", "body_nconsts")]
    cond_consts, body_consts, carry = split_list(operands, counts)
    while (goes_on := run(cond, [*cond_consts, *carry])[0]).any():
        after = run(body, [*body_consts, *carry])
        carry = [carried_on(goes_on, new, old) for new, old in zip(after, carry)]
    return carry


def carried_on(goes_on, new, old):
    """The new carry of those examples that go on: a predicate can be batched."""
    if not goes_on.ndim:
        return new
    return select_n(broadcast_in_dim(goes_on, new.shape, range(goes_on.ndim)), old, new)


def _enter_scan(run, eqn, operands):
    body, length, reverse, *counts = [eqn.own_params[name] for name in (
        "jaxpr", "length", "reverse", "num_consts", "num_carry")]
    if not length:
        return _bind(eqn, operands)
    consts, carry, xs = split_list(operands, counts)
    rows = []
    for i in reversed(range(length)) if reverse else range(length):
        outs = run(body, [*consts, *carry, *[x[i] for x in xs]])
        carry, ys = split_list(outs, [len(carry)])
        rows.append([expand_dims(y, (0,)) for y in ys])
    return [*carry, *[concatenate(ys, 0) for ys in zip(*rows[::-1 if reverse else 1])]]


_ENTER = {cond_p: _enter_cond, while_p: _enter_while, scan_p: _enter_scan}


def _evaluate(jaxpr: ClosedJaxpr, args: Values, evaluate: Callable) -> Values:
    """The results of a jaxpr, if `evaluate(eqn, operands)` are those of an equation."""
    env = dict(zip(jaxpr.constvars + jaxpr.invars, [*jaxpr.consts, *args]))
    for eqn in jaxpr.eqns:
        env.update(zip(eqn.outvars, evaluate(eqn, _read(env, eqn.invars))))
    return _read(env, jaxpr.outvars)


def _read(env: dict, atoms: Sequence[Atom]) -> Values:
    return [ensure_array(v.val) if type(v) is Literal else env[v] for v in atoms]


# ----------------------------------------------------------------------------------------------
# How much two values may differ

_SAMPLES = 30  # at most: as long as a difference is not explained
_ULPS = 5, 1, 0.2  # of one sample after the other: small changes turn other comparisons round
_FACTOR = 8  # how much more than the shaken values two results may differ
_ROUGH = 1000  # the length of sums that lose as many digits as XLA's approximations
_APPROXIMATIONS = {
    "digamma", "lgamma", "polygamma", "zeta", "igamma", "igammac", "igamma_grad_a", "erf_inv",
    "random_gamma_grad", "regularized_incomplete_beta", "bessel_i0e", "bessel_i1e",
}


def _length(eqn: JaxprEqn) -> float:
    """How many elements of the operands go into one of the results, about."""
    if eqn.primitive.name in _APPROXIMATIONS:
        return _ROUGH
    shapes = [v.aval.shape for v in eqn.invars]
    out = eqn.outvars[0].aval.shape if eqn.outvars else ()
    if all(shape in ((), out) for shape in shapes) and not eqn.primitive.name.startswith("cum"):
        return 1
    return max(math.prod(shape) / max(1, math.prod(out)) for shape in shapes) + max(
        max(shape, default=1) for shape in shapes)


def _evaluate_shaken(eqn: JaxprEqn, random: np.random.RandomState, ulps: float,
                     operands: Values) -> Values:
    """The results on operands of which each element is some units in the last place off: `ulps`,
    and more if many of them go into a result."""
    ulps = ulps * (1 + math.sqrt(_length(eqn)) / 4)
    return _bind(eqn, [_shaken(x, ulps, random) for x in operands])


def _shaken(x: Any, ulps: float, random: np.random.RandomState) -> Any:
    if not isinstance(x, Array) or not dtypes.issubdtype(x.dtype, np.inexact):
        return x
    wide = _numbers(x)
    largest = np.max(np.abs(wide), where=np.isfinite(wide), initial=0)
    noise = random.standard_normal(wide.shape) * ulps * float(dtypes.finfo(x.dtype).eps)
    moved = np.where(wide == 0, noise * largest, wide * (1 + noise))
    return Array(np.asarray(moved).astype(x.dtype), x.aval)


def _numbers(x: Any) -> np.ndarray:
    """The elements, in a dtype in which NumPy computes."""
    if dtypes.issubdtype(x.dtype, dtypes.extended):
        x = key_data(x)
    value = np.asarray(x)
    if not dtypes.issubdtype(x.dtype, np.inexact):
        return value
    return value.astype(np.complex128 if value.dtype.kind == "c" else np.float64)


class _Comparison:
    """Compares compiled results with those of an evaluation.

    Two values may differ by some units in the last place, and by what a change of the operands by
    so little does to them: `shake(random, ulps)` evaluates with such a change, and is called only
    for values that differ by more than the former.
    """

    def __init__(self, length: float, shake: Callable[[np.random.RandomState, float], Values]):
        self.length, self.shake = length, shake
        self.random = np.random.RandomState(0)
        self.samples: list[Values] = []

    def first_difference(self, compiled: Values, evaluated: Values) -> tuple | None:
        """Both values, the place, the difference and what was allowed; `None` if they agree."""
        pairs = enumerate(zip(compiled, evaluated))
        with np.errstate(all="ignore"):
            found = (self._compare(i, got, want) for i, (got, want) in pairs if got is not None)
            return next(filter(None, found), None)

    def _compare(self, i: int, compiled: Any, evaluated: Any) -> tuple | None:
        got, want = _numbers(compiled), _numbers(evaluated)
        same = (got == want) | (got != got) & (want != want)
        if same.all():
            return None
        difference, allowed = np.abs(got * 1.0 - want), np.zeros(want.shape)
        if dtypes.issubdtype(compiled.dtype, np.inexact):
            info = dtypes.finfo(compiled.dtype)
            allowed = float(info.eps) * (16 + self.length / 8) * np.abs(want) + float(info.tiny)
        for n in range(_SAMPLES):
            wrong = ~(same | (difference <= allowed) | ~np.isfinite(allowed))
            if not wrong.any():
                return None
            if n == len(self.samples):
                self.samples.append(self.shake(self.random, _ULPS[n % 3]))
            change = np.abs(_numbers(self.samples[n][i]) * 1.0 - want)
            allowed = np.maximum(allowed, _FACTOR * change)
        place = tuple(np.argwhere(wrong)[0])
        return got, want, place, difference[place], allowed[place]
