"""Chapter 16: values that change, and other values that are no arrays, in traced functions.

A value of a `HiType` is represented by arrays, as its type says. Where a function is traced, such a
value enters as these arrays. The function gets a value of the same class that holds tracers, so an
operation on it is applied to the tracers at once, and jaxprs know arrays only. This is done where a
function is jitted, and where it is the body of a loop or a branch.

A value of a `MutableHiType` has a state, of which a part is known when tracing (`cur_qdd`: which
arrays there are). The traced function changes a *shadow* of the value. The shadow's last arrays
are further results of the program, and each call ends by storing them in the value itself.

A function may close over such a value. Tracing finds out at the first operation on it: the
operation raises `Touched`, and the function is traced again. This time a shadow stands for that
value.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..core.avals import pytype_aval_mappings
from ..core.batching import primitive_batchers
from ..core.core import Primitive, Tracer, state
from ..core.forward import JVPTrace, Zero, primitive_jvps
from ..core.jaxpr import Jaxpr, jaxprs_in_params
from ..core.lowering import register_lowering
from ..core.partial_eval import JaxprTrace
from ..core.staging import DynamicJaxprTrace
from ..core.tree import PyTreeDef, tree_flatten

hi_types: set[type] = set()  # the classes of values that are no arrays


def is_high(x: Any) -> bool:
    """Whether a value is no array, and has a type of hijax."""
    return not isinstance(x, Tracer) and any(cls in hi_types for cls in type(x).__mro__)


def is_value(x: Any) -> bool:
    """Whether `x` is such a value, or the tracer of one that is being differentiated."""
    return is_high(x) or isinstance(x, Tracer) and getattr(x.aval, "is_high", False)


def hi_type(x: Any) -> Any:
    """The type of such a value."""
    cls = next(cls for cls in type(x).__mro__ if cls in hi_types)
    return pytype_aval_mappings[cls](x)


def changes(x: Any) -> bool:
    return is_high(x) and hi_type(x).has_qdd


# ----------------------------------------------------------------------------------------------
# What a traced function sees of values that change


class Touched(NotImplementedError):
    """A traced function used a value that changes, and that was made outside of it."""

    def __init__(self, value: Any):
        super().__init__(
            f"A value of type {type(value).__name__}, which changes, is used by a traced function "
            "that it was made outside of. This is not supported here: it is for functions that are "
            "jitted, and for lax.scan, while_loop, fori_loop and cond.")
        self.value = value


class Untraced(NotImplementedError):
    """A value that is no array was taken for an array by a function that is being traced."""

    def __init__(self) -> None:
        super().__init__("A value of a type of hijax cannot be used here in minijax: where it is, "
                         "only arrays are traced. Pass its arrays.")


class _Frame:
    """The values that a function which is traced now may change: those that it made, and shadows.

    The dictionaries are by `id`, and keep the values alive, so that no `id` is used twice.
    """

    def __init__(self, trace: Any):
        self.trace = trace
        self.made: dict[int, Any] = {}
        self.shadows: dict[int, tuple[Any, Any]] = {}

    def add(self, value: Any) -> Any:
        self.made[id(value)] = value
        return value


class _Thread(threading.local):
    def __init__(self):
        self.frames: list[_Frame] = []


_thread = _Thread()


def _staging_trace() -> Any:
    """The trace that writes the jaxpr of the function that is being traced, if there is one."""
    trace: Any = state.trace
    while trace is not None and not isinstance(trace, DynamicJaxprTrace):
        trace = trace.parent
    return trace


def _frame() -> _Frame | None:
    """The frame of the function that is being traced; a new one is never made here."""
    trace = _staging_trace()
    if trace is None or not _thread.frames or _thread.frames[-1].trace is not trace:
        return None
    return _thread.frames[-1]


def resolved(x: Any) -> Any:
    """What an operation on a value is applied to: a shadow, or the value itself.

    Raises:
      Touched: the function that is being traced has no shadow of it.
    """
    if not changes(x) or _staging_trace() is None:
        return x
    frame = _frame()
    if frame is not None and id(x) in frame.made:
        return x
    if frame is None or id(x) not in frame.shadows:
        raise Touched(x)
    return frame.shadows[id(x)][1]


def made(x: Any) -> Any:
    """Note that the function which is being traced has made a value."""
    frame = _frame()
    for leaf in x if isinstance(x, (list, tuple)) else (x,):
        if frame is not None and changes(leaf):
            frame.add(leaf)
    return x


def without_derivative(x: Any) -> Any:
    """A value that is stored. Its tracer is left behind if it has no tangent."""
    while isinstance(x, Tracer) and isinstance(x._trace, JVPTrace):
        value, tangent = x._trace.unbox(x)
        if type(tangent) is not Zero:
            break
        x = value
    return x


def is_differentiated() -> bool:
    """Whether a derivative is in the making, and no function is traced inside of it."""
    trace: Any = state.trace
    while trace is not None and not isinstance(trace, DynamicJaxprTrace):
        if isinstance(trace, (JVPTrace, JaxprTrace)):
            return True
        trace = trace.parent
    return False


# In a jaxpr, nothing is left of an operation with a derivative of its own. This identity is, and
# refuses to be differentiated.
rule_lost_p = Primitive("rule_lost")
rule_lost_p.def_impl(lambda x, name: x)
rule_lost_p.def_abstract_eval(lambda aval, name: aval)
register_lowering(rule_lost_p, lambda ctx, x, name: x)
primitive_batchers[rule_lost_p] = lambda args, dims, name: (
    rule_lost_p.bind(args[0], name=name), dims[0])


def _refuse_derivative(primals, tangents, name):
    raise NotImplementedError(
        f"{name} has a rule for its derivative, and was traced as part of a jitted function, a "
        "loop or a branch, which only its arrays remain of. Differentiate inside of that function.")


primitive_jvps[rule_lost_p] = _refuse_derivative


def has_lost_rules(jaxpr: Jaxpr) -> bool:
    return any(eqn.primitive is rule_lost_p
               or any(map(has_lost_rules, jaxprs_in_params(eqn.own_params)))
               for eqn in jaxpr.eqns)


def guarded(out: Any, name: str) -> Any:
    """The results of an operation with a rule for its derivative. The arrays in them refuse to be
    differentiated, if they are part of a jaxpr."""
    if _staging_trace() is None:
        return out
    if isinstance(out, (list, tuple)):
        return type(out)(guarded(x, name) for x in out)
    if is_high(out):
        ty = hi_type(out)
        return out if ty.has_qdd else ty.raise_val(*guarded(ty.lower_val(out), name))
    return rule_lost_p.bind(out, name=name) if isinstance(out, Tracer) else out


def cur_qdd(x: Any) -> Any:
    """The static part of the state of a value that changes."""
    return resolved(x).cur_qdd()


# ----------------------------------------------------------------------------------------------
# Values as arrays


class Form(NamedTuple):
    """How arrays represent a value: its type, and what is known of its state."""

    type: Any
    qdd: Any


def _lowered(x: Any) -> tuple[Form, list]:
    ty = hi_type(x)
    if not ty.has_qdd:
        return Form(ty, None), [*ty.lower_val(x)]
    x = resolved(x)
    qdd = x.cur_qdd()
    return Form(ty, qdd), [*ty.read_loval(qdd, x)]


def _at_the_end(x: Any) -> tuple[Form, list]:
    """The form and the arrays of a shadow when its function has returned."""
    ty = hi_type(x)
    if not ty.has_qdd:
        return Form(ty, None), []
    qdd = x.cur_qdd()
    return Form(ty, qdd), [*ty.read_loval(qdd, x)]


def read_all(values: Sequence) -> tuple[tuple[Form, ...], list[list]]:
    pairs = [_lowered(x) for x in values]
    return tuple(form for form, _ in pairs), [arrays for _, arrays in pairs]


def _raised(form: Form, arrays: Sequence) -> Any:
    if form.type.has_qdd:
        return form.type.new_from_loval(form.qdd, *arrays)
    return form.type.raise_val(*arrays)


def _shadows(frame: _Frame, values: Sequence, forms: Sequence[Form], arrays: Sequence) -> list:
    """Values with tracers inside, which `frame` shows in place of these."""
    shadows = [_raised(form, part) for form, part in zip(forms, arrays)]
    for value, shadow in zip(values, shadows):
        if changes(shadow):
            frame.shadows[id(value)] = value, frame.add(shadow)
    return shadows


class Framed:
    """`fun`, traced with shadows of values that change.

    Called with the arrays of each value and then the arguments of `fun`, it returns its result and
    the arrays of each shadow at the end; `after` has their forms. `in_place` says for each argument
    that is such a value which one it is; the result is taken apart as far as it has such values.
    """

    def __init__(self, fun: Callable, values: Sequence, forms: Sequence[Form]):
        self.fun, self.values, self.forms = fun, values, forms
        self.after: tuple[Form, ...] = ()
        self.out: tuple[PyTreeDef, list] | None = None

    def __call__(self, arrays: Sequence, *args: Any) -> Any:
        frame = _Frame(_staging_trace())
        _thread.frames.append(frame)
        try:
            shadows = _shadows(frame, self.values, self.forms, arrays)
            result = self.fun(shadows, *args)
            self.after, contents = self._contents(shadows)
            leaves, tree = tree_flatten(result)
            self.out = tree, [form_of_result(x) for x in leaves]
            lowered = [x if form is None else form.type.lower_val(x)
                       for x, form in zip(leaves, self.out[1])]
            return lowered, contents
        finally:
            _thread.frames.pop()

    def _contents(self, shadows):
        pairs = [*map(_at_the_end, shadows)]
        return tuple(form for form, _ in pairs), [arrays for _, arrays in pairs]

    def result(self, lowered: Sequence) -> Any:
        """The result of `fun`, of its parts."""
        assert self.out is not None
        tree, forms = self.out
        return tree.unflatten([x if form is None else form.type.raise_val(*x)
                               for x, form in zip(lowered, forms)])


def form_of_result(x: Any) -> Form | None:
    """How a leaf of a result is represented; `None` for an array."""
    if not is_high(x):
        return None
    if (ty := hi_type(x)).has_qdd:
        raise NotImplementedError(
            f"A traced function returned a value of type {type(x).__name__}, which changes. Pass "
            "the value as an argument, or return its contents.")
    return Form(ty, None)


def store(values: Sequence, forms: Sequence[Form], contents: Sequence) -> None:
    """End a call: the values get the contents that their shadows had at the end."""
    for value, form, arrays in zip(values, forms, contents):
        if form.type.has_qdd:
            form.type.update_from_loval(form.qdd, value, *arrays)


def with_closures(run: Callable[[list], Any]) -> Any:
    """`run(captured)`, again and again until `captured` has all values that the function closes
    over. A value that belongs to a function further out is left to that one."""
    captured: list = []
    while True:
        depth = len(_thread.frames)
        try:
            return run(captured)
        except Touched as touched:
            del _thread.frames[depth:]
            if any(touched.value is x for x in captured):
                raise
            resolved(touched.value)  # raises if the function around this call has no shadow of it
            captured.append(touched.value)
