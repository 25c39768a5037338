"""Chapter 1: who interprets an operation?

A function that uses only *primitives* (`sin`, `add`, `reshape` …) can be interpreted in more than
one way: evaluated, differentiated, vectorised, staged out. The *current trace* of this thread
decides which, not the arguments:

    primitive.bind(*args, **params)  →  current_trace().process_primitive(primitive, args, params)

A trace boxes its values in *tracers*. Each trace has a parent, the trace that was current when
it began, and its rules run with the parent current. So the outer traces interpret a rule that is
written with ordinary operations.

Counterpart in JAX: `jax/_src/core.py`.
"""

from __future__ import annotations

import contextlib
import operator
import threading
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from ..checks import core as checks
from ..checks.tracebacks import hide_frames
from ..settings import cache_of, clear_caches, remember
from .avals import ShapedArray as ShapedArray, typeof as typeof
from .extension import Printed, hooks, text
from .placements import placements

# ----------------------------------------------------------------------------------------------
# Traces: the interpreters, and the one that is current.


class Trace(Printed):
    """An interpreter of primitives, standing on its `parent`.

    `staging` says whether the values at the bottom are symbolic: then nothing is computed now.
    """

    __slots__ = ("parent", "staging", "valid", "__weakref__")

    def __init__(self, parent: Trace | None):
        self.parent = parent
        self.staging: bool = parent is not None and parent.staging
        self.valid = True

    def process_primitive(self, primitive: Primitive, args: Sequence, params: dict) -> Any:
        """Interpret one application of a primitive."""
        raise NotImplementedError

    def in_parent(self, f: Callable, /, *args, **params) -> Any:
        """Call `f` with this trace's parent current. A trace runs all its rules in this way."""
        outside, state.trace = state.trace, self.parent  # type: ignore[assignment]
        try:
            return f(*args, **params)
        finally:
            state.trace = outside

    def literal(self, value, aval: ShapedArray) -> Any:
        """A known value, under staging: the staging trace writes it into the program."""
        return self.parent.literal(value, aval)  # type: ignore[union-attr]

    def invalidate(self) -> None:
        """Mark the trace as over. A tracer of it that is used later has leaked."""
        self.valid = False

    main = None  # JAX's older name for what tracers belong to


class EvalTrace(Trace):
    """The bottom of every stack: it computes, by a primitive's evaluation rule."""

    __slots__ = ()

    def __init__(self):
        super().__init__(None)

    def process_primitive(self, primitive, args, params):
        if not (hooks.evaluate or hooks.evaluate_placed or hooks.after_evaluation):
            return primitive.impl(*args, **params)
        return self._process_extended(primitive, args, params)

    def _process_extended(self, primitive, args, params):
        """The first extension that can evaluate the primitive does; then all see the result."""
        for evaluate in hooks.evaluate + hooks.evaluate_placed:
            out = evaluate(primitive, args, params)
            if out is not NotImplemented:
                break
        else:
            out = primitive.impl(*args, **params)
        for look in hooks.after_evaluation:
            look(primitive, args, params, out)
        return out


eval_trace = EvalTrace()


class _ThreadState(threading.local):
    """The state of a thread: the current trace, and the sizes of the named axes in scope."""

    def __init__(self):
        self.trace: Trace = eval_trace
        self.axis_sizes: dict = {}


state = _ThreadState()


def current_trace() -> Trace:
    """The trace that interprets the next primitive in this thread."""
    return state.trace


@contextlib.contextmanager
def set_current_trace(trace: Trace) -> Iterator[Trace]:
    """Make `trace` current within a `with` block."""
    previous, state.trace = state.trace, trace
    try:
        yield trace
    finally:
        state.trace = previous


@contextlib.contextmanager
def new_trace(trace: Trace) -> Iterator[Trace]:
    """Make a fresh `trace` current within a `with` block, and invalidate it at the end."""
    previous, state.trace = state.trace, trace
    try:
        yield trace
    finally:
        state.trace = previous
        trace.invalidate()


# ----------------------------------------------------------------------------------------------
# Tracers: the boxes.


class ArrayMethods(Printed):
    """The base class of arrays and tracers. `operators.py` and `numpy/` install methods in it."""

    __slots__ = ()
    __array_priority__ = 100  # with one of ours as the other operand, NumPy's operators defer to it

    aval: Any

    shape = property(attrgetter("aval.shape"))
    dtype = property(attrgetter("aval.dtype"))
    weak_type = property(attrgetter("aval.weak_type"))
    ndim = property(attrgetter("aval.ndim"))
    size = property(attrgetter("aval.size"))

    def __len__(self):
        return len(self.aval)

    def __format__(self, spec):
        try:
            return text(self, "__format__", spec)
        except Exception as error:
            hide_frames(error)
            raise


def install_methods(methods: dict[str, Any], cls: type = ArrayMethods) -> None:
    """Give arrays and tracers, or only one of these two, new methods and properties. This is how
    later chapters add theirs. What a class has, or inherits, stays as it is."""
    checks.may_gain(cls, methods, ArrayMethods)
    for name, method in methods.items():
        setattr(cls, name, method)


class Tracer(ArrayMethods):
    """A box around a value of a trace. It shows the type of the value, and hides the contents."""

    __slots__ = ("_trace", "__weakref__")
    __hash__ = None  # type: ignore[assignment]

    _trace: Trace

    def __init__(self, trace: Trace, aval: ShapedArray):
        self._trace, self.aval = trace, aval

    def concrete_value(self):
        """The array behind the box if its contents are known, else `None`."""
        return None

    def _concretize(self, convert: Callable) -> Any:
        """`convert` of the contents, if they are known.

        The derivative of its result is lost. That is right for a step function, whose result is a
        truth value or an integer. A float or an array is refused even if the contents are known.
        """
        value = None if convert in (float, np.asarray) else self.concrete_value()
        if value is None:
            checks.escaped(self, convert)
            checks.not_converted(self, convert)
            raise TypeError(f"{self} has no contents that Python can take.")
        return convert(value)

    def __bool__(self):
        checks.truth_value_of_tracer(self)
        return self._concretize(bool)

    def __int__(self):
        checks.scalar(self)
        return self._concretize(int)

    def __float__(self):
        checks.scalar(self)
        return self._concretize(float)

    __complex__ = __float__

    def __index__(self):
        checks.index(self)
        return self._concretize(operator.index)

    def __array__(self, *args, **kwargs):
        return self._concretize(np.asarray)

    def _origin_msg(self) -> str:
        """Where the value came from, for error messages."""
        return text(self, "_origin_msg")


# ----------------------------------------------------------------------------------------------
# Primitives: the words of the language.


class Primitive:
    """An operation that every interpreter has a rule for.

    The two rules of this chapter are attributes: `impl` evaluates, `abstract_eval` says the types
    of the results from those of the arguments. Other chapters keep their rules in tables of
    their own, keyed by primitive.

    `bind` also accepts the parameters that only JAX lists. `own_params` removes them.

    Args:
      name: what jaxprs print.
      multiple_results: whether the rules return a list of results.
      memoize_avals: whether `out_aval` remembers its answers. They would keep the parameters alive,
        so primitives that call a jaxpr or a Python function ask their rule each time.

    >>> double_p = Primitive("double")
    >>> rule = double_p.def_impl(lambda x: x + x)
    >>> double_p.bind(3)
    6
    """

    multiple_results = False
    effects: Callable | None = None  # (*avals, **params) -> the effects of an equation, if any
    # Libraries ask for these.
    call_primitive = map_primitive = ref_primitive = ref_allocating = skip_canonicalization = False
    is_effectful: Callable | None = None

    def __init__(self, name: str, multiple_results: bool = False, memoize_avals: bool = True):
        self.out_avals = cache_of(self, "out_avals")  # not empty: the primitive has been traced
        self.name = name
        self.multiple_results = multiple_results or self.multiple_results
        self.memoize_avals = memoize_avals

    def __setattr__(self, name, value):
        """Set a rule. If the primitive has been traced, that is done again, by the new rule."""
        object.__setattr__(self, name, value)
        if self.out_avals:
            clear_caches()

    def bind(self, *args, **params):
        """Apply the primitive: the current trace decides what that means."""
        try:
            return state.trace.process_primitive(self, args, params and own_params(self, params))
        except Exception as error:
            hide_frames(error)
            raise

    def bind_with_trace(self, trace: Trace, args: Sequence, avals: Sequence, params: dict) -> Any:
        """Apply the primitive in a trace that need not be the current one."""
        checks.one_type_each(self, args, avals)
        with set_current_trace(trace):
            return self.bind(*args, **params)

    def get_bind_params(self, params: dict) -> dict:
        """An equation's parameters, as an interpreter of a library passes them to `bind`."""
        return params

    def impl(self, *args, **params):
        raise missing_rule(self, "Evaluation", 1)

    def abstract_eval(self, *avals, **params):
        raise missing_rule(self, "Abstract evaluation", 1)

    def def_impl(self, impl: Callable) -> Callable:
        """Set the evaluation rule, `(*arrays, **params) -> array(s)`; returns it."""
        self.impl = impl  # type: ignore[method-assign]
        return impl

    def def_abstract_eval(self, rule: Callable) -> Callable:
        """Set the shape rule, `(*avals, **params) -> aval(s)`; returns it."""
        self.abstract_eval = rule  # type: ignore[method-assign]
        return rule

    def def_effectful_abstract_eval(self, rule: Callable) -> Callable:
        """Set a shape rule that also says what effects an application has (chapter 5):
        `(*avals, **params) -> (aval(s), effects)`; returns it."""
        self.effects = lambda *avals, **params: frozenset(rule(*avals, **params)[1])
        self.def_abstract_eval(lambda *avals, **params: rule(*avals, **params)[0])
        return rule

    def out_aval(self, avals: tuple, params: dict):
        """`abstract_eval`, remembered: equal types and parameters give equal results."""
        if not self.memoize_avals:
            self.out_avals[()] = None
            return self.abstract_eval(*avals, **params)
        key = (avals, *params.items()) if params else avals
        try:
            out = self.out_avals.get(key)
        except TypeError:  # a parameter that cannot be hashed
            out = None
        return self._remember_out_aval(key, avals, params) if out is None else out

    def _remember_out_aval(self, key, avals, params):
        checks.operands(self, avals)
        out = self.abstract_eval(*avals, **params)
        checks.result_types(out, self)
        if type(out) is tuple and len(out) == 2 and isinstance(out[1], (set, frozenset)):
            out = out[0]  # the method of a subclass returned effects with the types, as in JAX
        if any(aval.placement is not None for aval in avals):
            out = placements().join(self, avals, params, out)
        with contextlib.suppress(TypeError):
            remember(self.out_avals, key, out)
        return out

    def __repr__(self):
        return self.name


class RuleTable(dict):
    """The rules of a transformation, by primitive. A rule that is changed or taken back is obeyed
    at once, by what was traced before as well: then that is traced again."""

    __slots__ = ()

    def __setitem__(self, primitive, rule):
        new = primitive not in self and not primitive.out_avals
        super().__setitem__(primitive, rule)
        if not new:
            clear_caches()

    def __delitem__(self, primitive):
        super().__delitem__(primitive)
        clear_caches()

    pop, popitem, clear = MutableMapping.pop, MutableMapping.popitem, MutableMapping.clear
    update, setdefault = MutableMapping.update, MutableMapping.setdefault
    __ior__ = lambda self, rules: self.update(rules) or self


# By a primitive: how the parameters that users see differ from those that our rules take. A rule is
# an object with `mark`, `own` and `listed` (`compat/optional.py`).
params_rules: dict[Primitive, Any] = RuleTable()


def own_params(primitive: Primitive, params: dict[str, Any]) -> dict[str, Any]:
    """The parameters that our rules take, from these or from those that JAX lists."""
    rule = params_rules.get(primitive)
    return params if rule is None or rule.mark not in params else rule.own(params)


def missing_rule(primitive: Primitive, transformation: str, chapter: int) -> Exception:
    """The error for a table that has no entry for `primitive`."""
    checks.no_rule(primitive, transformation, chapter)
    return NotImplementedError(f"{transformation} rule for '{primitive}' not implemented")
