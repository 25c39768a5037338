"""What `core/core.py` refuses: values that are not arrays, and tracers where they cannot be."""

from __future__ import annotations

import gc
import operator
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from .. import errors, settings
from .dtypes import valid_dtype
from .tracebacks import hide_frames

# ----------------------------------------------------------------------------------------------
# Values


def sized(aval: Any) -> None:
    """An array has a length if it has a dimension."""
    if not aval.shape:
        raise TypeError("len() of unsized object")


def python_int(x: int, dtype: np.dtype) -> None:
    """A Python integer fits in the default integer type."""
    if x.bit_length() >= 8 * dtype.itemsize and x != np.iinfo(dtype).min:
        raise OverflowError(f"Python int {x} too large to convert to {dtype.name}")


def numpy_value(valid: bool, x: Any) -> None:
    """A value of NumPy's that holds numbers has a dtype of ours, and no mask."""
    if valid or x.dtype.kind in "biufc":
        valid_dtype(valid, x, x.dtype)


def not_a_value(x: Any) -> NoReturn:
    """Raise TypeError for a value that has no type."""
    raise TypeError(
        f"Argument {x!r} of type {type(x)} is not a valid JAX type: expected an array or a number "
        "(a list or a tuple must be made one first, by `jnp.asarray`).")


def is_value(x: Any, cls: type, types: Mapping) -> None:
    """Raise TypeError for a value that has no type, because its class is not in the table."""
    try:
        if cls not in types:
            not_a_value(x)
    except TypeError as error:
        hide_frames(error)
        raise


# ----------------------------------------------------------------------------------------------
# Tracers


def truth_value_of_tracer(x: Any) -> None:
    """A tracer used as a condition has one element, or is known (and then looks for itself)."""
    if x.aval.ndim and x.aval.size != 1 and x.concrete_value() is None:
        raise ValueError("The truth value of an array with more than one element is ambiguous. "
                         "Use a.any() or a.all()" if x.aval.size else EMPTY_CONDITION)


EMPTY_CONDITION = ("The truth value of an empty array is ambiguous. "
                   "Use `array.size > 0` to check that an array is not empty.")


def scalar(x: Any) -> None:
    """A tracer that becomes a Python number has no dimensions."""
    if x.aval.ndim:
        raise TypeError("Only scalar arrays can be converted to Python scalars; "
                        f"got arr.ndim={x.aval.ndim}")


def index(x: Any) -> None:
    """A tracer that is used as a Python index is an integer scalar."""
    if hasattr(x, "_trace"):
        escaped(x)
    if x.aval.ndim or x.aval.dtype.kind not in "iu":
        raise TypeError("Only integer scalar arrays can be converted to a scalar index.")


def may_gain(cls: type, methods: dict[str, Any], base: type) -> None:
    """Raise `TypeError` unless all `methods` are new to a class of arrays or tracers."""
    if not issubclass(cls, base):
        raise TypeError(f"{cls.__name__} is not a class of arrays or tracers. Write its methods in "
                        "the body of the class.")
    for name in methods:
        owner = next((c for c in cls.__mro__ if name in vars(c)), None)
        if owner is not None and (owner is not object or name not in _OF_ANY_OBJECT):
            raise TypeError(f"{cls.__name__} has `{name}` already, from {owner.__name__}. A method "
                            "that a class has is never replaced.")


# The methods of `object` that arrays and tracers may have in a form of their own.
_OF_ANY_OBJECT = {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__reduce__"}


def one_type_each(primitive: Any, args: Sequence, avals: Sequence) -> None:
    """Raise `TypeError` unless there is a type for each operand."""
    if len(args) != len(avals):
        raise TypeError(f"{primitive.name}.bind_with_trace: expected a type for each operand, got "
                        f"{len(avals)} types for {len(args)} operands.")


def escaped(x: Any, convert: Callable | None = None) -> None:
    """A tracer is not used after its trace has ended. (NumPy takes no tracer in any case.)"""
    if not x._trace.valid and convert is not np.asarray:
        raise errors.UnexpectedTracerError(
            f"Encountered an unexpected tracer: a {errors.describe(x)}, wrapped in a "
            f"{type(x).__name__}, was used after the end of the transformation that made it.\n"
            f"{x._origin_msg()}")


_REFUSALS: dict[Callable, Callable[[Any], Exception]] = {
    bool: errors.TracerBoolConversionError,
    int: errors.in_conversion("int"),
    float: errors.in_conversion("float", "complex"),
    operator.index: errors.TracerIntegerConversionError,
    np.asarray: errors.TracerArrayConversionError,
}


def not_converted(x: Any, convert: Callable) -> NoReturn:
    """Raise the error for a tracer that Python or NumPy cannot convert in this way."""
    raise _REFUSALS[convert](x)


def leaks(trace: Any) -> None:
    """When a trace has ended, none of its tracers is still alive (`check_tracer_leaks`).

    The caller has let go of its own ones.
    """
    if not settings.check_tracer_leaks.value:
        return
    gc.collect()
    leaked = [x for x in gc.get_referrers(trace) if hasattr(type(x), "_origin_msg")]
    if leaked:
        texts = ["\n".join(filter(None, [str(x), x._origin_msg(), *_holders(x, leaked)]))
                 for x in leaked]
        raise Exception(f"Leaked trace {type(trace).__name__}. Leaked tracer(s), which a global "
                        "variable, an attribute or a closure still refers to:\n\n"
                        + "\n\n".join(texts))


def _holders(x: Any, hidden: list) -> list[str]:
    """What refers to a leaked tracer, what refers to that, and so on up to a variable.

    Nothing here may close over the objects, or the search would find the search.
    """
    lines: list[str] = []
    name, known = f"<{type(x._trace).__name__}r {id(x)}>", {id(hidden), id(lines)}
    while len(lines) < 10:
        known.add(id(x))
        link = None
        for holder in gc.get_referrers(x):
            link = link or (None if id(holder) in known else _link(x, holder))
        if link is None:
            return lines
        holder, place = link
        module = isinstance(holder, types.ModuleType)
        kind = holder.__name__ if module else f"<{type(holder).__name__} {id(holder)}>"
        lines.append(f"{name} is referred to by {kind}{place}")
        if module:
            return lines
        x, name = holder, kind
    return lines


def _link(x: Any, holder: Any) -> tuple[Any, str] | None:
    """The object that holds `x`, or has `holder` as a part, and where in it `x` is."""
    if isinstance(holder, types.CellType):
        return _closure(holder)
    if isinstance(holder, list | tuple):
        return holder, f"[{[*map(id, holder)].index(id(x))}]"
    values = holder if isinstance(holder, dict) else getattr(holder, "__dict__", {})
    for key, value in values.items():
        if value is not x:
            continue
        if holder is not values:
            return holder, f".{key}"
        for owner in gc.get_referrers(values):
            if getattr(owner, "__dict__", None) is values:
                return owner, f".{key}"
        return holder, f"[{key!r}]"
    return None


def _closure(cell: Any) -> tuple[Any, str] | None:
    """The function with this cell in its closure, and what it calls the variable."""
    for cells in [x for x in gc.get_referrers(cell) if isinstance(x, tuple)]:
        for function in gc.get_referrers(cells):
            if getattr(function, "__closure__", None) is cells:
                place = [*map(id, cells)].index(id(cell))
                variable = function.__code__.co_freevars[place]
                return function, f" ({function.__name__}) closed-over variable {variable}"
    return None


# ----------------------------------------------------------------------------------------------
# Primitives

# By a transformation: what a missing rule of it is called, if that differs.
_RULES = {"Abstract evaluation": "Abstract evaluation for '{}' not implemented",
          "Lowering": "MLIR translation rule for primitive '{}' not found",
          "Transpose (reverse-mode differentiation)":
              "Transpose rule (for reverse-mode differentiation) for '{}' not implemented"}
_ADVICE = {"Transpose (reverse-mode differentiation)":
               "a program can be transposed where it is linear in the arguments, as a derivative "
               "is. '{}' may not be linear. If it is, chapter 8 tells how to write the rule.",
           "Evaluation": "give it one by `{}_p.def_impl` (chapter 11 tells how).",
           "Abstract evaluation": "give it one by `{}_p.def_abstract_eval` (chapter 1 tells how)."}


def no_rule(primitive: Any, transformation: str, chapter: int) -> NoReturn:
    """Raise NotImplementedError for a primitive for which a transformation has no rule."""
    advice = _ADVICE.get(transformation, f"chapter {chapter} tells how to write one.")
    missing = _RULES.get(transformation, transformation + " rule for '{}' not implemented")
    raise NotImplementedError(f"{missing}: {advice}".format(*[primitive.name] * 2))


def output_is_mapped(destination: int | None, axis_name: Any) -> None:
    """Raise ValueError for examples that differ, where `out_axes` says that they are the same."""
    if destination is None:
        raise ValueError(
            f"vmap has a mapped output (axis_name={axis_name}) but out_axes is None")


def unbound_axis(axis_name: Any, axis_sizes: Mapping) -> NoReturn:
    """Raise NameError for the name of an axis that is not in scope."""
    raise NameError(
        f"Found an unbound axis name: {axis_name}. It is bound within a function that is "
        f"mapped with axis_name={axis_name!r}; in scope here: {list(axis_sizes) or 'none'}.")


def result_types(out: Any, primitive: Any) -> None:
    """Raise ValueError unless `abstract_eval` returned one type, or a list of types if the
    primitive has multiple results; and NotImplementedError if it returned effects beside them, as a
    method may in JAX."""
    if type(out) is tuple and len(out) == 2 and isinstance(out[1], (set, frozenset)):
        out, effects = out
        if effects and primitive.effects is None:
            raise NotImplementedError(
                f"the method {type(primitive).__name__}.abstract_eval returned the effects "
                f"{effects}, which minijax does not read from a method. Give the rule to "
                "`def_effectful_abstract_eval`.")
    if isinstance(out, (list, tuple)) is not primitive.multiple_results:
        raise ValueError(f"{primitive.name}.abstract_eval() method should return a tuple or list "
                         "of types if multiple_results is True, else one type; "
                         f"multiple_results is {primitive.multiple_results}, and it returned {out}")


def operands(primitive: Any, avals: Sequence) -> None:
    """Raise `ValueError` for a reference among the operands of a primitive without effects."""
    if primitive.effects is None:
        for aval in avals:
            if hasattr(aval, "inner_aval"):
                raise ValueError("Attempting to pass a reference of type "
                                 f"{aval.str_short(True)} to the primitive {primitive}. "
                                 "Read its contents first: `ref[...]`.")
