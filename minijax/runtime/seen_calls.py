"""Chapter 6: how does a call of a jitted function find its program again?

The core flattens the arguments in Python, looks up the jaxpr by their avals, and the program by the
jaxpr. For a call that was seen before, one look-up leads from the arguments straight to the
program: an `Entry`, under a key of the settings, the structure of the arguments, and for each leaf
what a program depends on. XLA's C++ flattens the containers. First calls, traced arguments, and
everything unusual take the core's way, whose result is the same.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np

from ..checks.array import alive
from ..core.array import Array
from ..core.dtypes import float0
from ..core.jit import Program, buffer_of
from ..core.tree import BUILTIN_NODE_TYPES, registry
from ..core.util import partition_list
from ..settings import cache_of, remember
from . import xla

# ----------------------------------------------------------------------------------------------
# The leaves of arguments

_NUMBERS = {float, int, bool}
_SCALARS = {complex, *(np.dtype(letter).type for letter in "?bBhHiIefF")}

_numeric = _NUMBERS | _SCALARS

# For each class of leaves, what a program for such a leaf depends on.
leaf_keys: dict[type, Callable] = {
    Array: attrgetter("aval"), np.ndarray: attrgetter("shape", "dtype"),
    **dict.fromkeys(_numeric, type)}
_SMALL = 128  # bytes of a NumPy array whose buffer is kept for the next call with these contents


def _buffer(x, aval):
    """`buffer_of` an argument. That of a number or of a small array is kept for the next call."""
    kind = type(x)
    if kind in _NUMBERS and (x or kind is not float):  # 0.0 and -0.0 are equal
        key = x, aval
    elif kind is np.ndarray and x.nbytes <= _SMALL or kind in _SCALARS and kind is not complex:
        key = x.tobytes(), x.dtype, aval
    elif isinstance(x, Array):
        return buffer_of(x, aval) if x._buffer is None else x._buffer
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
_buffers: dict[tuple, Any] = cache_of(_buffer, "buffers")


# ----------------------------------------------------------------------------------------------
# The structure of arguments

_registry: Any = None
_copied = {*BUILTIN_NODE_TYPES}  # the node types that the copy has
_copying = threading.RLock()


def tree_registry() -> Any:
    """A copy of the registry of pytree nodes in XLA's C++, which flattens several times as fast.

    All threads share one, because structures of two registries do not mix.
    """
    if _registry is None or len(_copied) != len(registry):  # types are added, and never change
        with _copying:
            _copy_registry()
    return _registry


def _copy_registry():
    global _registry
    kinds = ("none", "tuple", "namedtuple", "list", "dict")
    copy = _registry or xla("lib").PyTreeRegistry(**{f"enable_{kind}": True for kind in kinds})
    for node_type in {*registry.values()} - _copied:
        if fields := getattr(node_type, "fields", None):
            copy.register_dataclass_node(node_type.python_type, *map(list, fields))
        else:
            copy.register_node(node_type.python_type, node_type.flatten, node_type.unflatten)
        _copied.add(node_type)
    _registry = copy


# ----------------------------------------------------------------------------------------------
# What the look-up finds

NONES = itertools.repeat(None)

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
    of a leaf that has none.
    """

    __slots__ = ("program", "execute", "handlers", "takes_all", "donated", "array_class",
                 "out_types", "unflatten", "own")

    def __init__(self, program: Program, leaves: Sequence, out_tree: Any, result: Any):
        self.program, compiled = program, isinstance(program, Program)
        self.donated = program.donated if compiled else ()  # there are programs with references
        self.own = _new_buffer if self.donated else _buffer  # XLA may take the memory of those
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

    def run(self, leaves: Sequence) -> Any:
        """The result of a program with more to a run than buffers."""
        results = self.program(leaves)
        return results[0] if self.unflatten is None else self.unflatten(results)

    def failure(self, error: Exception, leaves: Sequence) -> BaseException:
        """The error for one of XLA's.

        Raises:
          RuntimeError: it came because the contents of a leaf were given away.
        """
        for x in leaves:
            if isinstance(x, Array):
                alive(x)
        return xla().our_error(error)
