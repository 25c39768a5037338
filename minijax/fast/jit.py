"""A fast path for calls of jitted functions.

The core flattens the arguments in Python, looks up the jaxpr by their avals, and the program by the
jaxpr. Here one look-up leads from the arguments straight to the program, and pytrees are flattened
in XLA's C++. First calls, traced arguments, and everything unusual take the core's way.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from itertools import repeat
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

import numpy as np

from ..core.array import Array
from ..core.core import eval_trace, state, typeof
from ..core.dtypes import float0
from ..core.extension import Extension, hooks, register
from ..core.jit import JitFunction, Program, buffer_of, cache_of, remember, traces
from ..core.tree import BUILTIN_NODE_TYPES, registry
from ..core.util import partition_list
from ..runtime import xla
from ..runtime.jit import array_classes
from ..settings import trace_context


class Statics(NamedTuple):
    """Which arguments of a call are static, by position and by name, and which are not."""

    positions: list[int]
    names: list[str]
    dynamic_positions: list[int]
    dynamic_names: list[str]


class Entry(NamedTuple):
    """A program as the fast path needs it.

    `execute` is `None` if a run takes more than handing over buffers and wrapping the results;
    `unflatten` is `None` if the result is one array.
    """

    program: Program
    execute: Callable | None
    handlers: list
    out_avals: list
    unflatten: Callable | None


class FlatEntry(NamedTuple):
    """A program for arguments that are arrays and numbers, not containers.

    `takes` has for each argument the type that the program expects. `unflatten` is `None` if the
    result is one array.
    """

    execute: Callable
    handlers: list
    takes: list
    out_avals: list
    unflatten: Callable | None


# What a program for an array depends on: its aval, and its sharding if it has a fixed one.
_placed_type, _buffer_at_hand = attrgetter("placed_type"), attrgetter("_buffer")


_FOREIGN = {np.ndarray, float, int, bool, complex}
_NUMBERS = {float, int, bool}


def _signature(x):
    """`_placed_type` of any argument."""
    return x.placed_type if type(x) not in _FOREIGN and hasattr(x, "placed_type") else typeof(x)


def _buffer(x, aval):
    """`buffer_of` an argument; that of a Python number is kept for the next call."""
    if type(x) is np.ndarray and x.dtype is aval.dtype:
        return xla().put(x, aval)
    if type(x) is Array and x._buffer is not None:
        return x._buffer
    if type(x) not in _NUMBERS or (x == 0 and type(x) is float):  # 0.0 and -0.0 are equal
        return _new_buffer(x, aval)
    return _numbers.get((x, aval)) or remember(_numbers, (x, aval), _new_buffer(x, aval))


def _new_buffer(x, aval):
    """`buffer_of` an argument, without questions if its contents need no conversion."""
    if type(x) in _FOREIGN and aval.dtype.isbuiltin == 1:
        value = np.asarray(x, None if type(x) is np.ndarray else aval.dtype)
        if value.dtype == aval.dtype:
            return xla().put(value, aval)
    return buffer_of(x, aval)


# (Python number, type) -> a buffer with it
_numbers: dict[tuple, Any] = cache_of(traces, _buffer, "numbers")


def in_order(kwargs: dict) -> tuple | None:
    """The names of arguments, if they stand in the order in which a dictionary is flattened."""
    names = tuple(kwargs)
    return names if len(names) < 2 or [*names] == sorted(names) else None


class FastCall(JitFunction):
    """A jitted function with the fast path."""

    __slots__ = ("_has_statics", "_statics_of", "_entries", "_by_signature", "_pickers", "_flatten")

    def __init__(self, fun, options):
        super().__init__(fun, options)
        self._has_statics = bool(options.static_argnums or options.static_argnames)
        self._statics_of: dict[tuple, Statics] = {}
        self._entries = cache_of(traces, fun, ("fast", options))
        self._by_signature: dict[tuple, FlatEntry] = cache_of(traces, fun, ("flat", options))
        # For each number of arguments, what picks the others and the static ones among them.
        self._pickers: dict[int, tuple[Callable, Callable]] = {}
        self._flatten: Callable | None = None  # set by the first call

    def __call__(self, *args, **kwargs):
        if self._flatten is None or state.trace is not eval_trace or hooks.after_evaluation:
            return JitFunction.__call__(self, *args, **kwargs)
        key, buffers, leaves, ready = [trace_context()], [], args, True
        if kwargs:
            names = in_order(kwargs)
            if names is None or self._has_statics:
                return self._call_with_containers(args, kwargs)
            key.append(names)
            leaves = (*args, *kwargs.values())
        elif self._has_statics:
            plan = self._pickers.get(len(args))
            if plan is None:
                return self._call_with_containers(args, kwargs)
            leaves, static = plan[0](args), plan[1](args)
            key += len(args), static, *map(type, static)
        for x in leaves:
            kind = type(x)
            if kind is Array:
                key.append(x.aval)
                buffer = x._buffer
                buffers.append(buffer)
                if buffer is None:  # its contents are in NumPy
                    ready = False
                continue
            ready = False
            if kind is np.ndarray:
                key += x.shape, x.dtype
            elif kind in _NUMBERS:
                key.append(kind)
            else:
                return self._call_with_containers(args, kwargs)
        signature = tuple(key)
        try:
            entry = self._by_signature.get(signature)
        except (TypeError, ValueError):  # a static argument without a hash
            return self._call_with_containers(args, kwargs)
        if entry is None:
            return self._call_with_containers(args, kwargs, signature)
        execute, handlers, takes, out_avals, unflatten = entry
        try:
            if not ready:
                buffers = [*map(_buffer, leaves, takes)]
            outs = execute(buffers).consume_with_handlers(handlers)
        except RuntimeError as error:
            raise xla().our_error(error) from None
        except OverflowError:  # an integer that is too large for its type
            return JitFunction.__call__(self, *args, **kwargs)
        if unflatten is None:
            return Array(None, out_avals[0], outs[0])
        return unflatten([*map(Array, repeat(None), out_avals, outs)])

    def _call_with_containers(self, args, kwargs, signature=None):
        """A call with any arguments. Its program is kept for those of this `signature`."""
        dynamic_args, dynamic_kwargs, statics = args, kwargs, ()
        try:
            if self._has_statics:
                dynamic_args, dynamic_kwargs, statics = self._split(args, kwargs)
            leaves, tree, foreign = dynamic_args, None, False
            if dynamic_kwargs:
                leaves, tree = (*leaves, *dynamic_kwargs.values()), in_order(dynamic_kwargs)
                if tree is None:
                    leaves, tree = self._flatten((dynamic_args, dynamic_kwargs))
            for x in leaves:
                if type(x) in _FOREIGN:
                    foreign = True
                elif type(x) not in array_classes:
                    leaves, tree = self._flatten((dynamic_args, dynamic_kwargs))
                    break
            try:
                if foreign:
                    avals, buffers = [*map(_signature, leaves)], None
                else:
                    avals, buffers = [*map(_placed_type, leaves)], [*map(_buffer_at_hand, leaves)]
            except AttributeError:  # a NumPy array or a number in a container
                avals, buffers = [*map(_signature, leaves)], None
            entry = self._entries.get((tree, trace_context(), statics, *avals))
        except (TypeError, ValueError):
            return JitFunction.__call__(self, *args, **kwargs)
        if entry is None:
            return JitFunction.__call__(self, *args, **kwargs)
        program, execute, handlers, out_avals, unflatten = entry
        if signature is not None and execute is not None:
            remember(self._by_signature, signature, FlatEntry(
                execute, handlers, program.in_avals, out_avals, unflatten))
        if execute is None:
            results = program(leaves)
            return results[0] if unflatten is None else unflatten(results)
        try:
            if buffers is None:
                started = execute([*map(_buffer, leaves, program.in_avals)])
            else:
                try:
                    started = execute(buffers)
                except TypeError:  # some contents are in NumPy, and have no buffer yet
                    started = execute([*map(buffer_of, leaves, program.in_avals)])
            outs = started.consume_with_handlers(handlers)
        except RuntimeError as error:
            raise xla().our_error(error) from None
        if unflatten is None:
            return Array(None, out_avals[0], outs[0])
        return unflatten([*map(Array, repeat(None), out_avals, outs)])

    def _split(self, args, kwargs):
        names = (len(args), *kwargs)
        found = self._statics_of.get(names) or self._find_statics(names, args, kwargs)
        static = [(i, args[i], type(args[i])) for i in found.positions]
        static += [(name, kwargs[name], type(kwargs[name])) for name in found.names]
        return (tuple([args[i] for i in found.dynamic_positions]),
                {name: kwargs[name] for name in found.dynamic_names}, tuple(static))

    def _find_statics(self, names, args, kwargs):
        static = {place for place, _, _ in super()._split(args, kwargs)[2]}

        def apart(places):
            return partition_list([place in static for place in places], places)

        (dynamic, positions), (dynamic_names, static_names) = apart(range(len(args))), apart(kwargs)
        if not kwargs:
            remember(self._pickers, len(args), (picker(dynamic), picker(positions)))
        return remember(self._statics_of, names, Statics(
            positions, static_names, dynamic, dynamic_names))

    def _run(self, call, tracing):
        program = self._program(call, tracing)
        outs = program(call.leaves)
        self._remember(call, tracing, program, outs)
        return outs

    def _remember(self, call, tracing, program, outs):
        """Enter a program for the fast path."""
        flatten = tree_registry().flatten
        leaves, tree = flatten((call.args, call.kwargs))
        out_leaves, out_tree = flatten(tracing.out_tree.unflatten(outs))
        simple = is_simple(program) and len(out_leaves) == len(program.out_avals)
        entry = Entry(
            program,
            program.executable.execute if simple else None,
            program.executable.handlers if simple else [],
            program.out_avals,
            None if out_tree == flatten(0)[1] else out_tree.unflatten,
        )
        types = {*map(type, call.args), *map(type, call.kwargs.values())}
        if types <= array_classes | _FOREIGN and (names := in_order(call.kwargs)) is not None:
            tree = names or None  # nothing but leaves: their number and names are the structure
        key = (tree, trace_context(), call.statics)
        remember(self._entries, (*key, *map(_signature, leaves)), entry)
        self._flatten = flatten

    def clear_cache(self) -> None:
        """Forget what was traced and compiled for this function."""
        super().clear_cache()
        self._entries.clear()
        self._by_signature.clear()


def picker(positions: list[int]) -> Callable:
    """A function from a tuple to the tuple of its elements at these positions."""
    if len(positions) > 1:
        return itemgetter(*positions)
    return (lambda xs, i=positions[0]: (xs[i],)) if positions else lambda xs: ()


def is_simple(program: Program) -> bool:
    """Whether a run is no more than to hand over all buffers and to wrap the results."""
    if type(program) is not Program:
        return False
    takes_all = len(program.kept) == len(program.in_avals)
    special = any(aval.dtype == float0 for aval in program.out_avals)
    plain = program.run is program.executable
    return takes_all and plain and not (program.constants or program.donated or special)


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
    with _lock:
        if _registry is None:
            _registry = _copy_registry()
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
