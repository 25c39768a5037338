"""A rule that was applied often to operands of the same types becomes one Python function.

The rules of differentiation and batching are Python functions that bind primitives. What they bind
follows from the types of the operands. So after a few applications the rule is traced, and its
jaxpr is written down as a Python function without branches. For concrete arrays, this function
calls the primitives' NumPy rules. Under other transformations, it binds the primitives.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..core.array import Array, contents, numpy_rules, quiet
from ..core.core import Primitive, ShapedArray, Trace, eval_trace, state
from ..core.extension import hooks
from ..core.jaxpr import Atom, ClosedJaxpr, JaxprEqn, Literal
from ..core.jit import cache_of, traces
from ..core.primitives import stop_gradient_p
from ..fast_paths import on_numpy_if
from ..settings import trace_context
from .evaluation import NARROW, SCALAR_AVALS, evaluations
from .specialised import numpy_rule

# ----------------------------------------------------------------------------------------------
# A jaxpr as a Python function


def python_function(closed: ClosedJaxpr, operation: Callable, constant: Callable = lambda x: x,
                    fold: bool = False, casts: Sequence = (),
                    result: Callable | None = None) -> Callable:
    """The jaxpr as a Python function of its arguments that returns a tuple.

    Args:
      operation: `operation(eqn)` computes the results from operands and parameters.
      constant: `constant(x)` is what the operations take for a constant of the jaxpr.
      fold: whether to compute at once what is small and does not depend on the arguments, only
        once what is computed twice, and never what is not used.
      casts: for each argument a function that converts it, or `None`.
      result: makes something else of the results, of which it gets one `Array` each.
    """
    names: dict[Any, str] = {}  # of variables and, by type and bits, of literals
    computed: dict[Any, list[str]] = {}  # an operation and its operands -> the names of its results
    scope: dict[str, Any] = {"Array": Array}

    def known(x: Any) -> str:
        scope[new := f"c{len(scope)}"] = x
        return new

    def name(atom: Atom) -> str:
        if type(atom) is Literal:
            same = atom.aval, np.asarray(atom.val).tobytes()
            if same not in names:
                names[same] = known(constant(atom.val))
            return names[same]
        return names.setdefault(atom, f"x{len(names)}")

    def listed(atoms: Iterable[Atom]) -> str:
        return "".join(name(atom) + ", " for atom in atoms)

    scope |= {name(v): constant(x) for v, x in zip(closed.constvars, closed.consts)}
    lines = [f"def run({listed(closed.invars)}):"]
    lines += [f"{name(v)} = {known(cast)}({name(v)})"
              for v, cast in zip(closed.invars, casts) if cast]
    for eqn in _used(closed) if fold else closed.eqns:
        compute, params = operation(eqn)
        outvars, multiple = eqn.outvars, eqn.primitive.multiple_results
        operands = [name(atom) for atom in eqn.invars]
        if fold and (same := _operation_key(eqn, operands)) is not None:
            results_of = computed.setdefault(same, [name(v) for v in outvars])
            if results_of != [name(v) for v in outvars]:
                names.update(zip(outvars, results_of))
                continue
        if fold and all(x in scope for x in operands) and _small(outvars):
            outs = compute(*[scope[x] for x in operands], **params)
            scope |= zip(map(name, outvars), map(_as_operand, outs if multiple else [outs]))
            continue
        operands += [f"{key}={known(x)}" for key, x in params.items()]
        results = listed(outvars) if multiple else name(outvars[0])
        lines.append(f"{results} = {known(compute)}({', '.join(operands)})")
    if result is None:
        lines.append(f"return ({listed(closed.outvars)})")
    else:
        arrays = [f"Array({name(v)}, {known(v.aval)})" for v in closed.outvars]
        lines.append(f"return {known(result)}([{', '.join(arrays)}])" if result is not only else
                     f"return {arrays[0]}")
    # With a file of this package, equations get the line of the user's that calls this function.
    exec(compile("\n    ".join(lines), __file__, "exec"), scope)
    return scope["run"]


def _used(closed: ClosedJaxpr) -> list[JaxprEqn]:
    """The equations whose results are used."""
    used, eqns = {id(v) for v in closed.outvars}, []
    for eqn in reversed(closed.eqns):
        if not used.isdisjoint(map(id, eqn.outvars)):
            used.update(map(id, eqn.invars))
            eqns.append(eqn)
    return eqns[::-1]


def _operation_key(eqn: JaxprEqn, operands: Sequence[str]) -> Any:
    """What two equations with equal results have in common; `None` if that cannot be told."""
    key = eqn.primitive, *operands, *eqn.params.items()
    if any(type(x) is float and x == 0 for x in eqn.params.values()):  # 0.0 and -0.0 are equal
        return None
    try:
        hash(key)
    except TypeError:
        return None
    return key


def _small(variables: Sequence[Any]) -> bool:
    return all(v.aval.size <= 1024 for v in variables)


def only(results: Sequence) -> Any:
    """The one result."""
    return results[0]


def numpy_operation(eqn: JaxprEqn) -> tuple[Callable, dict]:
    """The NumPy rule of an equation's primitive and its parameters. A call of a function with a
    derivative of its own becomes that function.

    Raises:
      NotImplementedError: the primitive is not evaluated on NumPy.
    """
    called = eqn.params.get("call_jaxpr")
    if type(called) is ClosedJaxpr:
        return python_function(called, numpy_operation, numpy_constant, True), {}
    if eqn.primitive is stop_gradient_p:
        return lambda x: x, {}
    if any(v.aval.dtype in NARROW for v in eqn.outvars):
        raise NotImplementedError(eqn.primitive)
    if eqn.primitive.impl is not evaluations.get(eqn.primitive):
        impl, condition = on_numpy_if.get(eqn.primitive, (None, bool))
        if eqn.primitive.impl is not impl or not condition(*[v.aval for v in eqn.invars]):
            raise NotImplementedError(eqn.primitive)
    rule = numpy_rule(eqn)
    return (numpy_rules[eqn.primitive], eqn.params) if rule is None else (rule, {})


def numpy_constant(x: Any) -> Any:
    """What NumPy takes for a constant of a jaxpr."""
    return _as_operand(contents(x)[1])


def _as_operand(value: Any) -> Any:
    """A NumPy scalar as an array, which NumPy reads in half the time beside other arrays."""
    return np.asarray(value) if isinstance(value, np.generic) else value


def numpy_function(closed: ClosedJaxpr, casts: Sequence = (),
                   result: Callable | None = None) -> Callable:
    """`python_function` of NumPy values."""
    return quiet.run(
        python_function, closed, numpy_operation, numpy_constant, True, casts, result)


def by_binding(closed: ClosedJaxpr) -> Callable:
    """The jaxpr as a Python function that binds the primitives."""
    return python_function(closed, lambda eqn: (eqn.primitive.bind, eqn.params))


class Program:
    """A jaxpr as a function of concrete arrays, and as one that binds the primitives."""

    __slots__ = ("out_avals", "on_numpy", "by_binding")

    def __init__(self, closed: ClosedJaxpr):
        self.out_avals, self.on_numpy = closed.out_avals, None
        with contextlib.suppress(NotImplementedError):
            self.on_numpy = numpy_function(closed)
        self.by_binding = by_binding(closed)

    def run(self, trace: Trace | None, args: Sequence) -> Sequence:
        """The results, as `trace` computes them."""
        if (trace is eval_trace and self.on_numpy is not None
                and not (hooks.evaluate or hooks.after_evaluation)):
            values = []
            for x in args:
                if type(x) is Array:
                    value = x._host
                    values.append(x._numpy() if value is None else value)
                elif type(x) in SCALAR_AVALS:
                    values.append(x)
                else:
                    break
            else:
                outs = quiet.run(self.on_numpy, *values)
                return [Array(out, aval) for out, aval in zip(outs, self.out_avals)]
        outside, state.trace = state.trace, trace  # type: ignore[assignment]
        try:
            return self.by_binding(*args)
        finally:
            state.trace = outside


# ----------------------------------------------------------------------------------------------
# Rules that were traced

USES = 4  # so many applications take the core's way before the rule is traced
_LIMIT = 4096


all_traced_rules: list[TracedRules] = []


def aval_of(x: Any) -> ShapedArray | None:
    """The type of an operand; `None` for Python numbers, NumPy arrays and other foreign values."""
    aval = getattr(x, "aval", None)
    return SCALAR_AVALS.get(type(x)) if aval is None else aval


class TracedRules:
    """The traced rule for each kind of application. `clear_caches` forgets them.

    Only the library's rules are traced. A user's rule is an arbitrary function: it may depend on
    variables and values that change, and it may be replaced.

    Args:
      table: the rules of the transformation.
      trace_rule: `trace_rule(primitive, params, avals, notes)` traces the rule of a primitive for
        operands of these types, or returns `None`. `notes` says of each operand how the
        transformation sees it, in a hashable form: its batch dimension, or the type of its tangent.
        They are `None` for operands that the transformation does not concern.
    """

    def __init__(self, table: dict[Primitive, Any], trace_rule: Callable):
        self.table, self._trace_rule = table, trace_rule
        self._of_the_library: dict[Primitive, Any] = {}
        all_traced_rules.append(self)
        self.found = cache_of(traces, trace_rule, "traced rules")

    def find(self, primitive: Primitive, params: dict, operands: list) -> Any:
        """The traced rule, or `None` as long as there is none.

        Args:
          operands: the type of the first operand, the note on it, the type of the second, ...
        """
        if not primitive.memoize_avals:  # the key would keep functions and jaxprs alive
            return None
        if self._of_the_library.get(primitive) is not self.table.get(primitive):
            return None
        if sys.gettrace() is not None:  # a debugger, or the theatre, shows the rules at work
            return None
        key = (primitive, trace_context(), *operands, *params.items())
        try:
            found = self.found.get(key, 0)
        except TypeError:  # a parameter that cannot be hashed
            return None
        if type(found) is not int:
            return found
        if len(self.found) >= _LIMIT:
            self.found.clear()
        self.found[key] = (found + 1 if found < USES else
                           self._traced(primitive, params, operands))
        return None

    def trust(self, rules: dict[Primitive, Any]) -> None:
        """These rules are the library's."""
        self._of_the_library = self._of_the_library | rules

    def _traced(self, primitive, params, operands):
        """What is traced must follow from the types, and its result must be one array."""
        avals, notes = operands[::2], operands[1::2]
        if primitive.multiple_results or primitive.effects:
            return None
        if not all(map(_is_plain, avals)) or all(note is None for note in notes):
            return None
        if any(type(note) is ShapedArray and note.placement is not None for note in notes):
            return None
        if any(type(x) is float and x == 0 for x in params.values()):
            return None  # a key does not tell 0.0 from -0.0
        try:
            return self._trace_rule(primitive, params, avals, notes)
        except Exception:  # the core's way raises what there is to raise
            return None


def new_rules() -> Callable[[], None]:
    """Returns a function that trusts the rules which have been defined since this call."""
    before = [(rules, rules.table.copy()) for rules in all_traced_rules]

    def trust() -> None:
        for rules, known in before:
            rules.trust({p: rule for p, rule in rules.table.items() if known.get(p) is not rule})

    return trust


def _is_plain(aval: ShapedArray | None) -> bool:
    """Whether an operand is an array of one of NumPy's element types, on one device."""
    return aval is not None and isinstance(aval.dtype, np.dtype) and aval.placement is None
