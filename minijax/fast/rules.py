"""A rule that was applied often to operands of the same types becomes one Python function.

The rules of differentiation and batching are Python functions that bind primitives. What they bind
follows from the types of the operands. So after a few applications the rule is traced, and its
jaxpr is written down as a Python function without branches. For concrete arrays, this function
calls the primitives' NumPy rules. Under other transformations, it binds the primitives.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.array import Array
from ..core.core import Primitive, ShapedArray, Trace, eval_trace, state
from ..core.extension import hooks
from ..core.jaxpr import ClosedJaxpr
from ..core.jit import cache_of, traces
from ..settings import trace_context
from .evaluation import SCALAR_AVALS, quietly
from .programs import by_binding, numpy_function


class Program:
    """A jaxpr as a function of concrete arrays, and as one that binds the primitives.

    `on_numpy` and `values_on_numpy` take NumPy values. The first makes arrays of the results, and
    the second leaves them as they are. Both are `None` if NumPy cannot evaluate the jaxpr.
    """

    __slots__ = ("out_avals", "on_numpy", "by_binding", "_closed", "_values_on_numpy")

    def __init__(self, closed: ClosedJaxpr):
        self._closed, self.out_avals, self.on_numpy = closed, closed.out_avals, None
        self._values_on_numpy: Callable | None = None
        with contextlib.suppress(NotImplementedError):
            self.on_numpy = numpy_function(closed, result=list)
        self.by_binding = by_binding(closed)

    @property
    def values_on_numpy(self) -> Callable | None:
        if self._values_on_numpy is None and self.on_numpy is not None:
            self._values_on_numpy = numpy_function(self._closed)
        return self._values_on_numpy

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
                return quietly(self.on_numpy, *values)
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
        if self._of_the_library.get(primitive) is not self.table.get(primitive):
            return None
        if sys.gettrace() is not None:  # a debugger, or the theatre, shows the rules at work
            return None
        key = (primitive, trace_context(), *operands, *params.items())
        try:
            found = self.found.get(key, 0)
        except TypeError:  # a parameter that cannot be hashed
            return None
        return self._count(found, key, params) if type(found) is int else found

    def _count(self, uses: int, key: tuple, params: dict) -> None:
        """Another use of a rule. After some, it is traced."""
        primitive, _, *operands = key[:len(key) - len(params)]
        if not primitive.memoize_avals:  # the key would keep functions and jaxprs alive
            return
        if len(self.found) >= _LIMIT:
            self.found.clear()
        self.found[key] = (uses + 1 if uses < USES else
                           self._traced(primitive, params, operands))

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
