"""What `core/staging.py` refuses."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import settings
from ..errors import UnexpectedTracerError
from ..pytree.names import weak_arg_names
from ..source import fun_name, fun_sourceinfo
from ..text.debug_info import DebugInfo
from ..text.differences import Structure
from ..text.locations import format_location, is_user_function, new_source_info
from ..text.origins import argument_name
from .arguments import distinct_references, references_apart
from .core import escaped, leaks as leaks
from .tree import check_static_hashable
from .typecheck import check_jaxpr

if TYPE_CHECKING:
    from ..core.core import Tracer
    from ..core.staging import DynamicJaxprTrace
    from ..core.traced import Call


def outer_tracer(trace: DynamicJaxprTrace, x: Tracer, shapes_only: bool) -> None:
    """Raise `UnexpectedTracerError` unless a tracer of another trace may be a constant of `trace`.

    It may not if that trace has ended, or if that trace stands on this one and not only shapes are
    asked for.
    """
    escaped(x)
    above = None if shapes_only else x._trace.parent
    while above is not None:
        if above is trace:
            raise UnexpectedTracerError(
                f"{x} has reached a jaxpr that is traced below the transformation it belongs "
                f"to.\n{x._origin_msg()}")
        above = above.parent


def arguments_apart(avals: list, fun: Callable, call: Call) -> None:
    """Raise `ValueError` if a reference is passed twice; `avals` are the types of the arguments."""
    distinct_references(avals, f"{fun_sourceinfo(fun)} for jit", call.leaves,
                        lambda: _names(fun, call))


def _public_name(fun: Callable) -> str:
    """The function's name; a private one of the library's without its underscores."""
    name = fun_name(fun)
    ours = (getattr(fun, "__module__", None) or "").startswith(__package__.partition(".")[0] + ".")
    return name.lstrip("_") if ours else name


def _names(fun: Callable, call: Call) -> tuple[str, ...]:
    """The names of the traced arguments."""
    statics = {place: value for place, value, _ in call.statics}
    return weak_arg_names(fun, call.in_tree, statics)()


def traced_arguments(fun: Callable, call: Call, abstractify: Callable) -> None:
    """Raise an error for an argument of the traced `fun` that `abstractify` refuses."""
    for i, x in enumerate(call.leaves):
        try:
            abstractify(x)
        except OverflowError:
            raise OverflowError(
                "An overflow was encountered while parsing an argument to a jitted computation, "
                f"whose argument path is {_names(fun, call)[i]}. Got {type(x)} with value {x}; "
                "pass it as an array of a wider dtype, or enable 64 bits by jax_enable_x64."
            ) from None
        except (TypeError, AttributeError):
            raise TypeError(
                f"Error interpreting argument to {_public_name(fun)} as an abstract array. "
                f"The problematic value is of type {type(x)} and was passed to the function at "
                f"path {_names(fun, call)[i]}.\nGot {x!r}, expected an array or a number. "
                "If the traced function depends on this argument, mark it as static "
                "(static_argnums or static_argnames of jax.jit)."
            ) from None


def traced_results(outs: Sequence[Any], info: DebugInfo | None, typeof: Callable) -> None:
    """Raise `TypeError` unless the results of a traced function are arrays and numbers, and
    `ValueError` for a reference among them."""
    for i, x in enumerate(outs):
        try:
            if hasattr(aval := typeof(x), "inner_aval"):
                where = _result_name(info, i)
                raise ValueError(
                    f"{_traced_function(info)} returned a mutable array reference of type {aval}"
                    f"{where and f' at output tree path {where}'}, but mutable array references "
                    f"cannot be returned. Return its contents, `ref[...]`.\n\n{_reference(x)}")
        except TypeError:
            where = _result_name(info, i).removeprefix("result")
            raise TypeError(
                f"{_traced_function(info)} returned a value of type {type(x)}"
                f"{where and f' at output component {where}'}, which is not a valid JAX type: {x!r}"
            ) from None


def _traced_function(info: DebugInfo | None) -> str:
    if info is None or not info.func_src_info:
        return "A traced function"
    return f"function {info.func_src_info} traced for {info.traced_for}"


def _result_name(info: DebugInfo | None, i: int) -> str:
    """Where in the structure of the results one is; empty if it is the only one."""
    names = info.result_paths if info is not None else ()
    return names[i] if names and names != ("result",) and i < len(names) else ""


def _reference(x: Any) -> str:
    """Where a reference that is returned comes from."""
    if not hasattr(x, "location"):
        return ""
    if x.location is not None:
        where = f"created on line {format_location(x.location)}"
    else:
        where = f"passed in as the argument {argument_name(x)}"
    return f"The returned mutable array was {where}."


def well_typed(closed: Any) -> None:
    """With the setting `enable_checks`, raise `JaxprTypeError` unless a jaxpr is well typed."""
    if settings.enable_checks.value:
        check_jaxpr(closed)


def struct_dtype(dtype: Any) -> None:
    """Raise `ValueError` if a `ShapeDtypeStruct` has no dtype."""
    if dtype is None:
        raise ValueError("ShapeDtypeStruct: dtype must be specified.")


def static_arguments(statics: Sequence[tuple]) -> None:
    """Raise ValueError if a static argument has no hash."""
    for place, value, _ in statics:
        check_static_hashable(value, repr(place))


def may_trace(fun: Callable, call: Call, key: tuple, seen: Mapping[tuple, Any],
              structure: Structure) -> None:
    """Raise RuntimeError if the setting `no_tracing` forbids to trace a function. With
    `explain_cache_misses`, log why it is traced for a key that is not among those in `seen`.
    """
    if settings.explain_cache_misses.value and is_user_function(fun):
        from ..text.cache_misses import reasons  # wanted by few

        logging.getLogger("minijax.jit").warning(
            "TRACING CACHE MISS at %s:\n%s", new_source_info(),
            "\n".join(reasons(fun, key, seen, lambda: _names(fun, call), structure)))
    if settings.no_tracing.value:
        raise RuntimeError(
            f"re-tracing function {fun_sourceinfo(fun)} for `jit`, but 'no_tracing' is set")


def constants_apart(closed: Any, leaves: Sequence[Any]) -> None:
    """Raise `ValueError` if a reference is both passed to a traced function and closed over."""
    references_apart(f"{closed.jaxpr.debug_info.func_src_info} for jit", leaves, closed.consts,
                     lambda: closed.jaxpr.debug_info.arg_names)
