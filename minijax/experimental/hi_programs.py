"""Chapter 16: jitted functions, loops and branches of values that are no arrays."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..core.core import ShapedArray, typeof
from ..core.extension import Extension, register
from ..core.jaxpr import ClosedJaxpr
from ..core.traced import by_place
from ..core.tree import tree_flatten, tree_leaves
from ..runtime.jit import jit
from .mutable_values import (
    Form,
    Framed,
    Touched,
    Untraced,
    changes,
    has_lost_rules,
    hi_type,
    hi_types,
    is_differentiated,
    is_high,
    is_value,
    read_all,
    store,
    with_closures,
)

# ----------------------------------------------------------------------------------------------
# Jitted functions


class _HiProgram:
    """A jitted function for values of these forms."""

    def __init__(self, jitted: Any, call: Any, positions: list[int], values: Sequence,
                 forms: Sequence[Form]):
        statics, in_tree = by_place(call.statics), call.in_tree

        def fun(shadows, leaves):
            leaves = [*leaves]
            for i, shadow in zip(positions, shadows):
                leaves[i] = shadow
            args, kwargs = in_tree.unflatten(leaves)
            return _with_statics(jitted, statics, args, kwargs)

        self.framed = Framed(fun, values, forms)
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
    if jitted in _closed_over or any(map(is_value, call.leaves)):
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
    differentiated = is_differentiated()
    if tracing is not _BY_ARRAYS:
        if not (differentiated and has_lost_rules(tracing.jaxpr.jaxpr)):
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

    return [with_closures(run)]


def _trace(jitted, usual, args, kwargs):
    call = jitted._call(args, kwargs)
    if jitted._traced(call) is not _BY_ARRAYS:
        return usual(args, kwargs)
    known, programs = _hi_state(jitted)

    def run(captured):
        known.extend(x for x in captured if not any(x is y for y in known))
        program, _, *arguments = _program_of(jitted, call, known, programs)
        return HiStage(program.jitted.trace(*arguments), program.framed, jitted)

    return with_closures(run)


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
    store(values, program.framed.after, contents)
    return program.framed.result(lowered)


def _program_of(jitted, call, captured, programs):
    positions = [i for i, x in enumerate(call.leaves) if is_high(x)]
    values = [*[call.leaves[i] for i in positions], *captured]
    forms, arrays = read_all(values)
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


class HiStage:
    """A stage of a jitted function (traced, lowered, compiled) for values that are no arrays.

    What it lacks is that of the stage of the program for their arrays.
    """

    def __init__(self, stage: Any, framed: Any, function: Any):
        self._stage, self._framed, self._function = stage, framed, function

    def lower(self, *args: Any, **kwargs: Any) -> HiStage:
        """The next stage."""
        return HiStage(self._stage.lower(*args, **kwargs), self._framed, self._function)

    def compile(self, *args: Any, **kwargs: Any) -> HiStage:
        """The last stage, which can be called."""
        return HiStage(self._stage.compile(*args, **kwargs), self._framed, self._function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    @property
    def out_info(self) -> Any:
        """The types of the results."""
        assert self._framed.out is not None
        tree, forms = self._framed.out
        return tree.unflatten([x if form is None else form.type
                               for x, form in zip(self._stage.out_info[0], forms)])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stage, name)


# ----------------------------------------------------------------------------------------------
# Loops and branches


class _Thread(threading.local):
    direct = False  # whether the call is the one that `_direct` makes


_thread = _Thread()


class HiValues(Extension):
    """Jitted functions, loops and branches take values that are no arrays."""

    def jit_step(self, jitted, step, usual, *args):
        return _STEPS[step](jitted, usual, *args)

    def control_flow(self, function, *args):
        if _thread.direct:  # this is the call that `_direct` makes
            _thread.direct = False
            return NotImplemented
        by_arrays = _CONTROL_FLOW[function.__name__]
        return with_closures(lambda captured: by_arrays(function, captured, *args))


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
        self.types = [hi_type(x) if is_high(x) else None for x in leaves]
        # A value that changes is passed on as if the function closed over it.
        self.values = [x if changes(x) else None for x in leaves]
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
    if any(ty is not None and not ty.has_qdd for ty in xs.types):
        raise NotImplementedError("scan goes over arrays. Pass the arrays of the values.")
    forms, arrays = read_all(captured)
    framed = Framed(lambda _, c, x: f(carry.whole(c), xs.whole(x)), captured, forms)

    def body(state, x):
        contents, c = state
        lowered, after = framed(contents, c, x)
        _check_unchanged(contents, after)
        n = framed.out[0].children()[0].num_leaves
        if any(form is not None for form in framed.out[1][n:]):
            raise NotImplementedError("scan returns arrays for its rounds. Return those of values.")
        return (after, lowered[:n]), lowered[n:]

    (after, c), ys = _direct(scan, loop, body, (arrays, carry.arrays), xs.arrays, length, reverse,
                             unroll)
    store(captured, framed.after, after)
    return framed.result([*c, *ys])


def _while_loop(while_loop, captured, cond_fun, body_fun, init_val):
    init = _Leaves(init_val)
    if not captured and not init.high:
        return _direct(while_loop, cond_fun, body_fun, init_val)
    forms, arrays = read_all(captured)
    condition = Framed(lambda _, leaves: cond_fun(init.whole(leaves)), captured, forms)
    framed = Framed(lambda _, leaves: body_fun(init.whole(leaves)), captured, forms)

    def body(state):
        lowered, after = framed(*state)
        _check_unchanged(state[0], after)
        return after, lowered

    after, lowered = _direct(while_loop, lambda state: condition(*state)[0][0], body,
                             (arrays, init.arrays))
    store(captured, framed.after, after)
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
    forms, arrays = read_all(captured)
    framed = [Framed(lambda _, leaves, fun=fun: fun(*inputs.whole(leaves)), captured, forms)
              for fun in funs]

    def branch(framed):
        def traced(arrays, leaves):
            lowered, after = framed(arrays, leaves)
            _check_unchanged(arrays, after)
            return lowered, after
        return traced

    lowered, after = run([*map(branch, framed)], arrays, inputs.arrays)
    store(captured, framed[0].after, after)
    return framed[0].result(lowered)


_CONTROL_FLOW = {"scan_loop": _scan, "while_loop": _while_loop, "cond": _cond, "switch": _switch}
_extension = HiValues()


def register_class(cls: type) -> None:
    """Declare a class of values that are no arrays. From the first one on, jitted functions, loops
    and branches take such values."""
    if not hi_types:
        register(_extension)
    hi_types.add(cls)
