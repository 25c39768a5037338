"""A fast path for calls of jitted functions.

The core flattens the arguments in Python, looks up the jaxpr by their avals, and the program by the
jaxpr. Here one look-up leads from the arguments straight to the program, and pytrees are flattened
in XLA's C++. First calls, traced arguments, and everything unusual take the core's way.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np

from .. import settings
from ..core.array import Array
from ..core.core import eval_trace, state
from ..core.dtypes import float0
from ..core.extension import Extension, hooks, register
from ..core.jit import JitFunction, Program, buffer_of, cache_of, remember, traces
from ..core.tree import BUILTIN_NODE_TYPES, registry
from ..core.util import partition_list
from ..errors import api_boundary
from ..runtime import xla
from ..runtime.jit import array_classes
from ..settings import trace_context

# ----------------------------------------------------------------------------------------------
# The leaves of arguments

_NUMBERS = {float, int, bool}
_SCALARS = [complex, *(np.dtype(letter).type for letter in "?bBhHiIefF")]

# For each type of leaf besides `Array`, what a program depends on.
_keys: dict[type, Callable] = {np.ndarray: attrgetter("shape", "dtype"),
                               **dict.fromkeys([*_NUMBERS, *_SCALARS], type)}
_ONLY_ARRAYS, _aval, _buffer_at_hand = {Array}, attrgetter("aval"), attrgetter("_buffer")


def _buffer(x, aval):
    """`buffer_of` an argument; that of a Python number is kept for the next call."""
    kind = type(x)
    if kind is Array and x._buffer is not None:
        return x._buffer
    if kind is np.ndarray and x.dtype is aval.dtype:
        return xla().put(x, aval)
    if kind not in _NUMBERS or (x == 0 and kind is float):  # 0.0 and -0.0 are equal
        return _new_buffer(x, aval)
    buffer = _numbers.get((x, aval))
    return remember(_numbers, (x, aval), _new_buffer(x, aval)) if buffer is None else buffer


def _new_buffer(x, aval):
    """`buffer_of` an argument, without questions if its contents need no conversion."""
    if type(x) in _keys and aval.dtype.isbuiltin == 1:
        value = np.asarray(x, aval.dtype if type(x) in _NUMBERS or type(x) is complex else None)
        if value.dtype == aval.dtype:
            return xla().put(value, aval)
    return buffer_of(x, aval)


# (Python number, type) -> a buffer with it
_numbers: dict[tuple, Any] = cache_of(traces, _buffer, "numbers")

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

    `execute` is `None` if there is more to a run than buffers. `kept` is `None` if XLA gets all
    arguments and no constants, and `unflatten` if the result is one array.
    """

    __slots__ = ("program", "execute", "handlers", "takes", "kept", "constants", "donated",
                 "out_avals", "unflatten")

    def __init__(self, program: Program, out_tree: Any, result: Any):
        self.program, self.takes, self.out_avals = program, program.in_avals, program.out_avals
        simple = type(program) is Program and program.run is program.executable and not any(
            aval.dtype == float0 for aval in (*self.takes, *self.out_avals))
        self.execute = program.executable.execute if simple else None
        self.handlers = program.executable.handlers if simple else []
        self.constants, self.donated = (program.constants, program.donated) if simple else ([], ())
        takes_all = len(program.kept) == len(program.in_avals) and not self.constants
        self.kept = None if takes_all else program.kept
        flatten = tree_registry().flatten
        leaves, tree = flatten(result)
        self.unflatten = (
            None if tree == flatten(0)[1] else
            tuple if tree == flatten((0,) * len(leaves))[1] else
            tree.unflatten if len(leaves) == len(self.out_avals) else out_tree.unflatten)


class FastCall(JitFunction):
    """A jitted function with the fast path."""

    __slots__ = ("_has_statics", "_plans", "_entries")

    def __init__(self, fun, options):
        super().__init__(fun, options)
        self._has_statics = bool(options.static_argnums or options.static_argnames)
        self._plans: dict[Any, Plan] = {}
        self._entries: dict[tuple, Entry] = cache_of(traces, fun, ("fast", options))

    def __call__(self, *args, **kwargs):
        if state.trace is not eval_trace or hooks.after_evaluation:
            return JitFunction.__call__(self, *args, **kwargs)
        key, leaves, buffers, ready, tree = [trace_context()], args, [], True, None
        try:
            if kwargs or self._has_statics:
                shape, values = len(args), args
                if kwargs:
                    shape, values = (shape, tuple(kwargs)), (*args, *kwargs.values())
                plan = self._plans.get(shape) or self._plan(shape, args, kwargs)
                leaves = plan.traced(values)
                key.append(plan)
                for i in plan.static:
                    key += values[i], type(values[i])
            start = len(key)
            while True:
                for x in leaves:
                    if type(x) is Array:
                        key.append(x.aval)
                        buffers.append(buffer := x._buffer)
                        if buffer is None:  # its contents are in NumPy
                            ready = False
                    elif (key_of := _keys.get(type(x))) is not None:
                        key.append(key_of(x))
                        ready = False
                    else:
                        break
                else:
                    break
                if type(x) in array_classes:  # a class that was not met before
                    _keys[type(x)] = attrgetter("placed_type")
                elif tree is None:
                    leaves, tree = tree_registry().flatten(leaves)
                else:  # a leaf is no array
                    return JitFunction.__call__(self, *args, **kwargs)
                key[start:], buffers, ready = [] if tree is None else [tree], [], True
                if len(leaves) > 4 and {*map(type, leaves)} == _ONLY_ARRAYS:  # without a loop
                    key += map(_aval, leaves)
                    buffers += map(_buffer_at_hand, leaves)
                    ready = type(None) not in map(type, buffers)
                    break
            signature = tuple(key)
            entry = self._entries.get(signature)
        except (TypeError, ValueError):  # for one, a static argument has no hash
            return JitFunction.__call__(self, *args, **kwargs)
        if entry is None:
            return self._first_call(signature, args, kwargs)
        if entry.execute is None:
            results = entry.program(leaves)
            return results[0] if entry.unflatten is None else entry.unflatten(results)
        try:
            if entry.kept is not None:
                buffers = [_buffer(leaves[i], entry.takes[i]) for i in entry.kept]
                buffers += entry.constants
            elif not ready:
                buffers = [*map(_buffer, leaves, entry.takes)]
            outs = entry.execute(buffers).consume_with_handlers(entry.handlers)
        except RuntimeError as error:
            raise xla().our_error(error) from None
        except OverflowError:  # an integer that is too large for its type
            return JitFunction.__call__(self, *args, **kwargs)
        for i in entry.donated:
            if type(leaves[i]) in array_classes:
                leaves[i].delete()
        if entry.unflatten is None:
            return Array(None, entry.out_avals[0], outs[0])
        return entry.unflatten([
            Array(None, aval, out) for aval, out in zip(entry.out_avals, outs)])

    def _plan(self, shape, args, kwargs):
        static = {place for place, *_ in self._split(args, kwargs)[2]}
        return remember(self._plans, shape, Plan([*range(len(args)), *kwargs], static))

    @api_boundary
    def _first_call(self, key, args, kwargs):
        """A call the core's way. If there is a key, the next one has the fast path."""
        if key is None or settings.disable_jit.value:
            return JitFunction.__call__(self, *args, **kwargs)
        call = self._call(args, kwargs)
        tracing = self._traced(call)
        if tracing.outer_tracers:
            return tracing.out_tree.unflatten(self._bind(call, tracing))
        program = self._program(call, tracing)
        result = tracing.out_tree.unflatten(program(call.leaves))
        remember(self._entries, key, Entry(program, tracing.out_tree, result))
        return result

    def clear_cache(self) -> None:
        """Forget what was traced and compiled for this function."""
        super().clear_cache()
        self._entries.clear()


# ----------------------------------------------------------------------------------------------
# Flattening in C++

_registry: Any = None
_copied = {*BUILTIN_NODE_TYPES}  # the node types that the copy has
_lock = threading.Lock()


def tree_registry() -> Any:
    """A copy of the registry of pytree nodes in XLA's C++, which flattens in half the time.

    All threads share one, because structures of two registries do not mix.
    """
    global _registry
    if _registry is None:
        with _lock:
            _registry = _registry or _copy_registry()
    return _registry


def _copy_registry():
    copy = xla().PyTreeRegistry(
        enable_none=True,
        enable_tuple=True,
        enable_namedtuple=True,
        enable_list=True,
        enable_dict=True,
    )
    for node_type in list(registry.values()):
        _register(copy, node_type)
    return copy


def _register(copy, node_type):
    """Enter a node type in the copy, once."""
    if node_type not in _copied:
        _copied.add(node_type)
        if fields := getattr(node_type, "fields", None):
            copy.register_dataclass_node(node_type.python_type, *map(list, fields))
        else:
            copy.register_node(node_type.python_type, node_type.flatten, node_type.unflatten)


# ----------------------------------------------------------------------------------------------
# The extension


@functools.cache
def _with_fast_path(cls):
    return FastCall if cls is JitFunction else type(cls.__name__, (FastCall, cls), {})


class FastJit(Extension):
    """Jitted functions have the fast path, and XLA's registry follows the core's."""

    def jit_class(self, cls, options):
        return _with_fast_path(cls)

    def node_type_registered(self, node_type):
        with _lock:
            if _registry is not None:
                _register(_registry, node_type)


register(FastJit())
