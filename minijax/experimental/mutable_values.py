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
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..core.batching import BatchTracer, primitive_batchers
from ..core.core import (
    Primitive,
    ShapedArray,
    Tracer,
    pytype_aval_mappings,
    state,
    typeof,
)
from ..core.extension import Extension, register
from ..core.forward import JVPTrace, Zero, primitive_jvps
from ..core.jaxpr import ClosedJaxpr, Jaxpr, jaxprs_in_params
from ..core.lowering import register_lowering
from ..core.partial_eval import JaxprTrace
from ..core.primitives import add_any_p
from ..core.staging import DynamicJaxprTrace, staging_rules
from ..core.traced import by_place
from ..core.tree import PyTreeDef, tree_flatten, tree_leaves
from ..runtime.jit import jit
from .hi_stages import HiStage

hi_types: set[type] = set()  # the classes of values that are no arrays


def is_high(x: Any) -> bool:
    """Whether a value is no array, and has a type of hijax."""
    return not isinstance(x, Tracer) and any(cls in hi_types for cls in type(x).__mro__)


def _is_value(x: Any) -> bool:
    """Whether `x` is such a value, or the tracer of one that is being differentiated."""
    return is_high(x) or isinstance(x, Tracer) and getattr(x.aval, "is_high", False)


def hi_type(x: Any) -> Any:
    """The type of such a value."""
    cls = next(cls for cls in type(x).__mro__ if cls in hi_types)
    return pytype_aval_mappings[cls](x)


def _changes(x: Any) -> bool:
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
        self.direct = False


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
    if not _changes(x) or _staging_trace() is None:
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
        if frame is not None and _changes(leaf):
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


def _is_differentiated() -> bool:
    """Whether a derivative is in the making, and no function is traced inside of it."""
    trace: Any = state.trace
    while trace is not None and not isinstance(trace, DynamicJaxprTrace):
        if isinstance(trace, (JVPTrace, JaxprTrace)):
            return True
        trace = trace.parent
    return False


def is_mapped(x: Any) -> bool:
    """Whether `x` stands for one example of such values."""
    return isinstance(x, BatchTracer) and getattr(x.aval, "is_high", False)


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


def _has_lost_rules(jaxpr: Jaxpr) -> bool:
    return any(eqn.primitive is rule_lost_p
               or any(map(_has_lost_rules, jaxprs_in_params(eqn.own_params)))
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


class _Form(NamedTuple):
    """How arrays represent a value: its type, and what is known of its state."""

    type: Any
    qdd: Any


def _lowered(x: Any) -> tuple[_Form, list]:
    ty = hi_type(x)
    if not ty.has_qdd:
        return _Form(ty, None), [*ty.lower_val(x)]
    if ty.is_writer:  # the function only adds to it
        return _Form(ty, None), [*ty.read_loval_in(None, resolved(x))]
    x = resolved(x)
    qdd = x.cur_qdd()
    return _Form(ty, qdd), [*ty.read_loval(qdd, x)]


def _at_the_end(x: Any) -> tuple[_Form, list]:
    """The form and the arrays of a shadow when its function has returned."""
    ty = hi_type(x)
    if not ty.has_qdd:
        return _Form(ty, None), []
    qdd = x.cur_qdd()
    return _Form(ty, qdd), [*ty.read_loval(qdd, x)]


def _read_all(values: Sequence) -> tuple[tuple[_Form, ...], list[list]]:
    pairs = [_lowered(x) for x in values]
    return tuple(form for form, _ in pairs), [arrays for _, arrays in pairs]


def _raised(form: _Form, arrays: Sequence) -> Any:
    if form.type.has_qdd:
        return form.type.new_from_loval(form.qdd, *arrays)
    return form.type.raise_val(*arrays)


def _shadows(frame: _Frame, values: Sequence, forms: Sequence[_Form], arrays: Sequence) -> list:
    """Values with tracers inside, which `frame` shows in place of these."""
    shadows = [_raised(form, part) for form, part in zip(forms, arrays)]
    for value, shadow in zip(values, shadows):
        if _changes(shadow):
            frame.shadows[id(value)] = value, frame.add(shadow)
    return shadows


class _Framed:
    """`fun`, traced with shadows of values that change.

    Called with the arrays of each value and then the arguments of `fun`, it returns its result and
    the arrays of each shadow at the end; `after` has their forms. `in_place` says for each argument
    that is such a value which one it is; the result is taken apart as far as it has such values.
    """

    def __init__(self, fun: Callable, values: Sequence, forms: Sequence[_Form]):
        self.fun, self.values, self.forms = fun, values, forms
        self.after: tuple[_Form, ...] = ()
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


def form_of_result(x: Any) -> _Form | None:
    """How a leaf of a result is represented; `None` for an array."""
    if not is_high(x):
        return None
    if (ty := hi_type(x)).has_qdd:
        raise NotImplementedError(
            f"A traced function returned a value of type {type(x).__name__}, which changes. Pass "
            "the value as an argument, or return its contents.")
    return _Form(ty, None)


def _store(values: Sequence, forms: Sequence[_Form], contents: Sequence) -> None:
    """End a call: the values get the contents that their shadows had at the end."""
    for value, form, arrays in zip(values, forms, contents):
        if form.type.has_qdd:
            form.type.update_from_loval(form.qdd, value, *arrays)


def _with_closures(run: Callable[[list], Any]) -> Any:
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


# ----------------------------------------------------------------------------------------------
# Jitted functions


class _HiProgram:
    """A jitted function for values of these forms."""

    def __init__(self, jitted: Any, call: Any, positions: list[int], values: Sequence,
                 forms: Sequence[_Form]):
        statics, in_tree = by_place(call.statics), call.in_tree

        def fun(shadows, leaves):
            leaves = [*leaves]
            for i, shadow in zip(positions, shadows):
                leaves[i] = shadow
            args, kwargs = in_tree.unflatten(leaves)
            return _with_statics(jitted, statics, args, kwargs)

        self.framed = _Framed(fun, values, forms)
        self.framed.__name__ = getattr(jitted, "__name__", "f")  # type: ignore[attr-defined]
        self.jitted = jit(self.framed)
        _of_arrays.add(self.jitted)


def _call_plainly(jitted, call):
    """The call of the function itself, by Python."""
    statics, args, kwargs = by_place(call.statics), call.args, call.kwargs
    return _with_statics(jitted, statics, args, kwargs)


def _with_statics(jitted, statics, args, kwargs):
    args, kwargs = [*args], dict(kwargs)
    for place in sorted(place for place in statics if isinstance(place, int)):
        args.insert(place, statics[place])
    named = {place: x for place, x in statics.items() if isinstance(place, str)}
    return jitted._fun(*args, **kwargs, **named)


def _hi_state(jitted):
    """What a jitted function closes over, and its programs."""
    return _closed_over.setdefault(jitted, ([], {}))


_closed_over: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
_of_arrays: weakref.WeakSet = weakref.WeakSet()  # jitted functions that do the work for others


def _traced(jitted, usual, call):
    if jitted in _of_arrays:
        return usual(call)
    if jitted in _closed_over or any(map(_is_value, call.leaves)):
        return _BY_ARRAYS
    try:
        tracing = usual(call)
    except (Touched, Untraced):
        tracing = _BY_ARRAYS
    if tracing is _BY_ARRAYS or _has_values(tracing.jaxpr):
        _hi_state(jitted)
        return _BY_ARRAYS
    return tracing


def _bind(jitted, usual, call, tracing):
    differentiated = _is_differentiated() or any(map(is_mapped, call.leaves))
    if tracing is not _BY_ARRAYS:
        if not (differentiated and _has_lost_rules(tracing.jaxpr.jaxpr)):
            return usual(call, tracing)
        return tree_leaves(_call_plainly(jitted, call))
    if differentiated:  # by the rules of the operations, which a jaxpr does not have
        return [_call_plainly(jitted, call)]
    placement = jitted._options.more.placement
    if placement and placement.says_something():
        raise NotImplementedError("jit: in_shardings, out_shardings, device and backend are "
                                  "for arrays, and this call has a value that is none.")
    known, programs = _hi_state(jitted)

    def run(captured):
        known.extend(x for x in captured if not any(x is y for y in known))
        return _by_arrays(jitted, call, known, programs)

    return [_with_closures(run)]


def _trace(jitted, usual, args, kwargs):
    call = jitted._call(args, kwargs)
    if jitted._traced(call) is not _BY_ARRAYS:
        return usual(args, kwargs)
    known, programs = _hi_state(jitted)

    def run(captured):
        known.extend(x for x in captured if not any(x is y for y in known))
        program, _, *arguments = _program_of(jitted, call, known, programs)
        return HiStage(program.jitted.trace(*arguments), program.framed, jitted)

    return _with_closures(run)


def _jaxpr(jitted, usual, args, kwargs):
    """What `eval_shape` needs: the types of the results, and their structure."""
    if jitted._traced(jitted._call(args, kwargs)) is not _BY_ARRAYS:
        return usual(args, kwargs)
    leaves, tree = tree_flatten(jitted.trace(*args, **kwargs).out_info)
    return _Results([x if is_high(x) or getattr(x, "is_high", False) else
                     ShapedArray(x.shape, x.dtype, x.weak_type) for x in leaves]), tree


_STEPS: dict[str, Callable] = {"traced": _traced, "bind": _bind, "trace": _trace, "jaxpr": _jaxpr}


def _by_arrays(jitted, call, captured, programs):
    program, values, arrays, leaves = _program_of(jitted, call, captured, programs)
    lowered, contents = program.jitted(arrays, leaves)
    _store(values, program.framed.after, contents)
    return program.framed.result(lowered)


def _program_of(jitted, call, captured, programs):
    positions = [i for i, x in enumerate(call.leaves) if is_high(x)]
    values = [*[call.leaves[i] for i in positions], *captured]
    forms, arrays = _read_all(values)
    leaves = [None if is_high(x) else x for x in call.leaves]
    key = (call.in_tree, call.statics, tuple(positions), forms,
           tuple(map(id, captured)),
           tuple(None if x is None else typeof(x) for x in leaves))
    program = programs.get(key)
    if program is None:
        program = programs[key] = _HiProgram(jitted, call, positions, values, forms)
    program.framed.values = values  # if it is traced again, it shadows the values of this call
    return program, values, arrays, leaves


def _has_values(closed: ClosedJaxpr) -> bool:
    """Whether constants or results of a jaxpr are no arrays."""
    return any(getattr(aval, "is_high", False) for aval in (*closed.in_avals, *closed.out_avals)
               ) or any(map(is_high, closed.consts))


class _Whole:
    """In place of the structure of results: there is one, the result itself."""

    def unflatten(self, leaves):
        return leaves[0]


class _Results(NamedTuple):
    """In place of a jaxpr: its results."""

    out_avals: list


class _ByArrays(NamedTuple):
    """In place of a tracing: `_bind` does all."""

    jaxpr: Any = None
    out_tree: Any = _Whole()
    outer_tracers: tuple = (True,)


_BY_ARRAYS = _ByArrays()


# ----------------------------------------------------------------------------------------------
# Loops and branches


class HiValues(Extension):
    """Jitted functions, loops and branches take values that are no arrays."""

    def jit_step(self, jitted, step, usual, *args):
        return _STEPS[step](jitted, usual, *args)

    def evaluate_placed(self, primitive, args, params):
        """Cotangents of such values are added as their type says."""
        if primitive is not add_any_p or not is_high(args[0]):
            return NotImplemented
        return hi_type(args[0]).vspace_add(*args)

    def control_flow(self, function, *args):
        if _thread.direct:  # this is the call that `_direct` makes
            _thread.direct = False
            return NotImplemented
        by_arrays = _CONTROL_FLOW[function.__name__]
        return _with_closures(lambda captured: by_arrays(function, captured, *args))


def _direct(function: Callable, *args: Any) -> Any:
    """Call a function of `lax` itself, which then asks no extension."""
    _thread.direct = True
    try:
        return function(*args)
    finally:
        _thread.direct = False


class _Leaves:
    """A pytree with values that are no arrays, and their arrays."""

    def __init__(self, tree: Any):
        leaves, self.tree = tree_flatten(tree)
        if mapped := [x for x in leaves if is_mapped(x)]:
            raise NotImplementedError(
                f"A value of type {mapped[0].aval}, which vmap maps by {mapped[0].batch_dim}, "
                "cannot be an operand of a loop or a branch. Pass its elements.")
        self.types = [hi_type(x) if is_high(x) else None for x in leaves]
        # A value that changes is passed on as if the function closed over it.
        self.values = [x if _changes(x) else None for x in leaves]
        self.arrays = [x if ty is None else [] if ty.has_qdd else ty.lower_val(x)
                       for ty, x in zip(self.types, leaves)]

    def whole(self, arrays: Sequence) -> Any:
        """The pytree with other arrays in it."""
        return self.tree.unflatten([
            x if ty is None else value if ty.has_qdd else ty.raise_val(*x)
            for ty, value, x in zip(self.types, self.values, arrays)])

    @property
    def high(self) -> bool:
        return any(ty is not None for ty in self.types)


def _types_of(arrays: Any) -> list:
    return [(typeof(x).shape, typeof(x).dtype) for x in tree_leaves(arrays)]


def _check_unchanged(before: Any, after: Any) -> None:
    if _types_of(before) != _types_of(after):
        raise TypeError("type-changing mutations not allowed in while_loop body, scan body or a "
                        "branch: a value must hold arrays of the same types before and after.")


def _scan(scan, captured, loop, f, init, xs, length, reverse, unroll):
    carry, xs = _Leaves(init), _Leaves(xs)
    if not captured and not carry.high and not xs.high:
        return _direct(scan, loop, f, init, xs.whole(xs.arrays), length, reverse, unroll)
    if length is None and all(ty is not None for ty in xs.types):
        raise ValueError("must provide `length` to `scan` over values that are no arrays.")
    if length is None:
        length = next(typeof(x).shape[0] for x, ty in zip(xs.arrays, xs.types) if ty is None)
    xs.types = [ty and ty.dec_rank(length, ty.leading_axis_spec()) for ty in xs.types]
    forms, arrays = _read_all(captured)
    framed = _Framed(lambda _, c, x: f(carry.whole(c), xs.whole(x)), captured, forms)
    writers = [form.type.has_qdd and form.type.is_writer for form in forms]

    def body(state, x):
        contents, c = state
        lowered, after = framed(contents, c, x)
        written = [part for part, writer in zip(after, writers) if writer]
        after = [[] if writer else part for part, writer in zip(after, writers)]
        _check_unchanged(contents, after)
        n = framed.out[0].children()[0].num_leaves
        return (after, lowered[:n]), (written, lowered[n:])

    (after, c), (written, ys) = _direct(scan, loop, body, (arrays, carry.arrays), xs.arrays,
                                        length, reverse, unroll)
    written = iter(written)
    after = [next(written) if writer else part for part, writer in zip(after, writers)]
    _store(captured, framed.after, after)
    tree, out = framed.out
    framed.out = tree, [*out[:len(c)], *[_stacked(form, length) for form in out[len(c):]]]
    return framed.result([*c, *ys])


def _stacked(form, length):
    """The form of values of all rounds of a loop."""
    if form is None or not hasattr(form.type, "inc_rank"):
        return form
    return _Form(form.type.inc_rank(length, form.type.leading_axis_spec()), None)


def _while_loop(while_loop, captured, cond_fun, body_fun, init_val):
    init = _Leaves(init_val)
    if not captured and not init.high:
        return _direct(while_loop, cond_fun, body_fun, init_val)
    forms, arrays = _read_all(captured)
    condition = _Framed(lambda _, leaves: cond_fun(init.whole(leaves)), captured, forms)
    framed = _Framed(lambda _, leaves: body_fun(init.whole(leaves)), captured, forms)

    def body(state):
        lowered, after = framed(*state)
        _check_unchanged(state[0], after)
        return after, lowered

    after, lowered = _direct(while_loop, lambda state: condition(*state)[0][0], body,
                             (arrays, init.arrays))
    _store(captured, framed.after, after)
    return framed.result(lowered)


def _cond(cond, captured, pred, true_fun, false_fun, operands):
    return _branches(captured, [true_fun, false_fun], operands, lambda funs, *leaves: _direct(
        cond, pred, *funs, *leaves))


def _switch(switch, captured, index, branches, operands):
    return _branches(captured, branches, operands, lambda funs, *leaves: _direct(
        switch, index, funs, *leaves))


def _branches(captured, funs, operands, run):
    inputs = _Leaves(operands)
    if not captured and not inputs.high:
        return run(funs, *operands)
    forms, arrays = _read_all(captured)
    framed = [_Framed(lambda _, leaves, fun=fun: fun(*inputs.whole(leaves)), captured, forms)
              for fun in funs]

    def branch(framed):
        def traced(arrays, leaves):
            lowered, after = framed(arrays, leaves)
            _check_unchanged(arrays, after)
            return lowered, after
        return traced

    lowered, after = run([*map(branch, framed)], arrays, inputs.arrays)
    _store(captured, framed[0].after, after)
    return framed[0].result(lowered)


def _stage_sum(trace, args, params):
    """The sum of two tangents or cotangents. That of such values is no equation."""
    if is_high(args[0]):
        return hi_type(args[0]).vspace_add(*args)
    return trace.default_process_primitive(add_any_p, args, params)


_CONTROL_FLOW = {"scan_loop": _scan, "while_loop": _while_loop, "cond": _cond, "switch": _switch}
_extension = HiValues()


def register_class(cls: type) -> None:
    """Declare a class of values that are no arrays. From the first one on, jitted functions, loops
    and branches take such values."""
    if not hi_types:
        register(_extension)
        staging_rules[add_any_p] = _stage_sum
    hi_types.add(cls)
