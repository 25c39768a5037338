"""A fast path for calls of jitted functions.

The core flattens the arguments in Python, looks up the jaxpr by their avals, and the program by the
jaxpr. Here one look-up leads from the arguments straight to the program, and pytrees are flattened
in XLA's C++. First calls, traced arguments, and everything unusual take the core's way. Where calls
look alike, a function that is written for them saves the look-up as well (`repeated.py`).
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from operator import attrgetter, itemgetter
from typing import Any, NoReturn

import numpy as np

from .. import settings
from ..checks.jit import comparable_statics
from ..core.array import Array
from ..core.boundary import api_boundary, leave_out_caller
from ..core.core import eval_trace, state
from ..core.dtypes import float0
from ..core.extension import Extension, hooks, register
from ..core.jit import JitFunction, Program, buffer_of, cache_of, remember, traces
from ..core.util import partition_list
from ..runtime import xla
from ..runtime.jit import array_classes
from ..settings import trace_context
from .repeated import DIFFERENT, Unwritable, repeated
from .trees import tree_registry

# ----------------------------------------------------------------------------------------------
# The leaves of arguments

_NUMBERS = {float, int, bool}
_SCALARS = {complex, *(np.dtype(letter).type for letter in "?bBhHiIefF")}

_numeric = _NUMBERS | _SCALARS

# For each type of leaf besides arrays, what a program depends on.
_keys: dict[type, Callable] = {np.ndarray: attrgetter("shape", "dtype"),
                               **dict.fromkeys(_numeric, type)}
_NONES = itertools.repeat(None)
_IN_A_ROW = 4  # so many look-ups of the same program, and a function is written for such calls
_MOST_CHANGES = 4  # that is given up where calls keep changing
_SMALL = 128  # bytes of a NumPy array whose buffer is kept for the next call with these contents


def _buffer(x, aval):
    """`buffer_of` an argument. That of a number or of a small array is kept for the next call."""
    kind = type(x)
    if kind in array_classes:
        return buffer_of(x, aval) if x._buffer is None else x._buffer
    if kind in _NUMBERS and (x or kind is not float):  # 0.0 and -0.0 are equal
        key = x, aval
    elif kind is np.ndarray and x.nbytes <= _SMALL or kind in _SCALARS and kind is not complex:
        key = x.tobytes(), x.dtype, aval
    else:
        return _new_buffer(x, aval)
    buffer = _buffers.get(key)
    return remember(_buffers, key, _new_buffer(x, aval)) if buffer is None else buffer


def _new_buffer(x, aval):
    """`buffer_of` an argument, without questions if its contents need no conversion."""
    kind = type(x)
    if kind is np.ndarray:
        return xla().put(x, aval) if x.dtype is aval.dtype else buffer_of(x, aval)
    if kind in _numeric and aval.dtype.isbuiltin == 1:
        value = np.asarray(x, aval.dtype if kind in _NUMBERS or kind is complex else None)
        if value.dtype == aval.dtype:
            return xla().put(value, aval)
    return buffer_of(x, aval)


# (number or contents, type) -> a buffer with it
_buffers: dict[tuple, Any] = cache_of(traces, _buffer, "buffers")

# ----------------------------------------------------------------------------------------------
# The call


class Plan:
    """How calls with so many arguments, and with these names, are taken apart.

    `traced` picks from the tuple of all arguments those that are traced, in the order in which they
    are flattened. `static` has the positions of the others.
    """

    __slots__ = ("traced", "static")

    def __init__(self, places: list[int | str], is_static: set):
        named = [i for i, place in enumerate(places) if type(place) is str]
        order = [*range(len(places) - len(named)), *sorted(named, key=places.__getitem__)]
        traced, self.static = partition_list([places[i] in is_static for i in order], order)
        first, n = min(traced, default=0), len(traced)
        in_a_row = traced == [*range(first, first + n)]
        self.traced = itemgetter(slice(first, first + n)) if in_a_row else itemgetter(*traced)


class Entry:
    """A program as the fast path needs it.

    `execute` is `None` if there is more to a run than buffers. `takes_all` says whether XLA gets
    the buffers of all arguments and no constants. The results are of the class `array_class` and
    of the types `out_types`. `unflatten` is `None` if the result is one array. `own` makes a buffer
    of a leaf that has none. `repeated` is the function for calls that look alike, once written.
    """

    __slots__ = ("program", "execute", "handlers", "takes_all", "donated", "array_class",
                 "out_types", "unflatten", "own", "repeated")

    def __init__(self, program: Program, leaves: Sequence, out_tree: Any, result: Any):
        self.program, compiled = program, isinstance(program, Program)
        self.donated = program.donated if compiled else ()  # there are programs with references
        self.own = _new_buffer if self.donated else _buffer  # XLA may take the memory of those
        self.repeated: Callable | None = None
        has_float0 = any(x.dtype == float0 for x in (*program.in_avals, *program.out_avals))
        simple = compiled and program.run is program.executable and not has_float0
        if takes_buffers := getattr(program, "takes_buffers", None):  # a program of chapter 14
            simple = self.takes_all = simple and takes_buffers(leaves)
        else:
            simple = simple and type(program) is Program
            self.takes_all = simple and not program.constants and len(program.kept) == len(leaves)
        self.execute = program.executable.execute if simple else None
        self.handlers = program.executable.handlers if simple else []
        self.array_class = getattr(program, "array_class", Array)
        self.out_types = getattr(program, "out_places", program.out_avals)
        flatten = tree_registry().flatten
        outs, tree = flatten(result)
        self.unflatten = (
            None if tree == flatten(0)[1] else
            tuple if tree == flatten((0,) * len(outs))[1] else
            tree.unflatten if len(outs) == len(program.out_avals) else out_tree.unflatten)

    def buffers(self, leaves: Sequence) -> list:
        """What XLA gets."""
        program, avals, own = self.program, self.program.in_avals, self.own
        if self.takes_all:
            return [*map(own, leaves, avals)]
        return [own(leaves[i], avals[i]) for i in program.kept] + program.constants


class FastCall(JitFunction):
    """A jitted function with the fast path.

    The key of an entry has the settings, the structure of the arguments, and for each leaf what the
    program depends on. The structure of positional arguments that are all leaves is `None`.

    `_repeated` has the function for calls like the ones before. `_last` is the `id` of the entry
    that was looked up last, `_in_a_row` times; the entry itself can be forgotten.
    """

    __slots__ = ("_has_statics", "_has_containers", "_plans", "_entries", "_repeated", "_last",
                 "_in_a_row", "_changes")

    def __init__(self, fun, options):
        super().__init__(fun, options)
        self._has_statics = bool(options.static_argnums or options.static_argnames)
        self._has_containers = False  # whether there were calls with containers
        self._plans: dict[Any, Plan] = {}
        self._entries: dict[tuple, Entry] = cache_of(traces, fun, ("fast", options))
        self._repeated: dict[str, Callable] = cache_of(traces, fun, ("repeated", options))
        self._last = self._in_a_row = self._changes = 0

    def __call__(self, *args, **kwargs):
        if state.trace is not eval_trace or hooks.after_evaluation:
            return JitFunction.__call__(self, *args, **kwargs)
        if repeated := self._repeated:
            try:
                result = repeated["run"](args, kwargs)
            except RuntimeError as error:
                self._failed(error, self._described(args, kwargs)[1])
            if result is not DIFFERENT:
                return result
        try:
            if len(args) == 1 and type(x := args[0]) in array_classes and not kwargs:
                key, leaves, buffer = (trace_context(), None, x.placed_type), args, x._buffer
                buffers = None if buffer is None else [buffer]
            else:
                key, leaves, buffers = self._described(args, kwargs)
            entry = self._entries.get(key)
        except Exception as error:
            if self._has_statics:
                comparable_statics(error)
            if not isinstance(error, (TypeError, ValueError, KeyError)):
                raise  # else it is no leaf, or a static argument without a hash
            return JitFunction.__call__(self, *args, **kwargs)
        if entry is None:
            try:
                return self._first_call(key, args, kwargs)
            except Exception as error:
                leave_out_caller(error)
                raise
        if entry.execute is None:
            results = entry.program(leaves)
            return results[0] if entry.unflatten is None else entry.unflatten(results)
        try:
            if buffers is None:
                buffers = entry.buffers(leaves)
            elif not entry.takes_all:
                buffers = [*map(buffers.__getitem__, entry.program.kept), *entry.program.constants]
            outs = entry.execute(buffers).consume_with_handlers(entry.handlers)
        except RuntimeError as error:
            self._failed(error, leaves)
        except OverflowError:  # an integer that is too large for its type
            return JitFunction.__call__(self, *args, **kwargs)
        for i in entry.donated:
            if type(leaves[i]) is Array:
                leaves[i].delete()
        if id(entry) != self._last:
            self._last, self._in_a_row = id(entry), 0
        elif self._in_a_row < _IN_A_ROW:
            self._expect(entry, args, kwargs, leaves)
        if entry.unflatten is None:
            return entry.array_class(None, entry.out_types[0], outs[0])
        return entry.unflatten([*map(entry.array_class, _NONES, entry.out_types, outs)])

    def _failed(self, error, leaves) -> NoReturn:
        """Raise what an error of XLA's means to the user."""
        for x in leaves:
            if type(x) in array_classes:
                x._check_alive()
        raise xla().our_error(error) from None

    def _expect(self, entry, args, kwargs, leaves):
        """From now on, expect calls like this one, if it was the last of some in a row."""
        self._in_a_row += 1
        if self._in_a_row < _IN_A_ROW or self._changes > _MOST_CHANGES:
            return
        if entry.repeated is None:
            plan = self._plans.get((len(args), *kwargs) if kwargs else len(args))
            try:
                entry.repeated = repeated(entry, args, kwargs, plan, leaves)
            except Unwritable:
                return
        self._changes += "run" in self._repeated
        if self._changes > _MOST_CHANGES:  # the calls vary
            self._repeated.clear()
        else:
            self._repeated["run"] = entry.repeated

    def _described(self, args, kwargs):
        """The key of an entry, the leaves, and their buffers, or `None` if one has to be made.

        Raises:
          KeyError: a leaf is neither an array nor a number.
        """
        structure, leaves = None, args
        if kwargs or self._has_statics:
            shape, values = len(args), args
            if kwargs:
                shape, values = (shape, *kwargs), (*args, *kwargs.values())
            plan = self._plans.get(shape) or self._plan(shape, args, kwargs)
            structure, leaves = plan, plan.traced(values)
            for i in plan.static:
                structure = (structure, values[i], type(values[i]))
        if self._has_containers:
            leaves, tree = tree_registry().flatten(leaves)
            structure = tree if structure is None else (tree, structure)
        key, buffers, ready = [trace_context(), structure], [], True
        for x in leaves:
            if type(x) in array_classes:
                key.append(x.placed_type)
                buffers.append(buffer := x._buffer)
                if buffer is None:  # its contents are in NumPy
                    ready = False
            elif (key_of := _keys.get(type(x))) is not None:
                key.append(key_of(x))
                ready = False
            elif self._has_containers:
                raise KeyError(type(x))
            else:
                self._has_containers = True
                return self._described(args, kwargs)
        return tuple(key), leaves, buffers if ready else None

    def _plan(self, shape, args, kwargs):
        static = {place for place, *_ in self._split(args, kwargs)[2]}
        return remember(self._plans, shape, Plan([*range(len(args)), *kwargs], static))

    @api_boundary
    def _first_call(self, key, args, kwargs):
        """A call by the core, whose program the next call finds on the fast path."""
        if settings.disable_jit.value:
            return JitFunction.__call__(self, *args, **kwargs)
        call = self._call(args, kwargs)
        tracing = self._traced(call)
        if tracing.outer_tracers:
            return tracing.out_tree.unflatten(self._bind(call, tracing))
        program = self._program(call, tracing)
        result = tracing.out_tree.unflatten(program(call.leaves))
        self._last = 0  # the new entry may get the `id` of one that is gone
        remember(self._entries, key, Entry(program, call.leaves, tracing.out_tree, result))
        return result

    def clear_cache(self) -> None:
        """Forget what was traced and compiled for this function."""
        super().clear_cache()
        self._entries.clear()
        self._repeated.clear()


# ----------------------------------------------------------------------------------------------
# The extension


@functools.cache
def _with_fast_path(cls):
    return FastCall if cls is JitFunction else type(cls.__name__, (FastCall, cls), {})


class FastJit(Extension):
    """Jitted functions have the fast path."""

    def jit_class(self, cls, options):
        return _with_fast_path(cls)


register(FastJit())
