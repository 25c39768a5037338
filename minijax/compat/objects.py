"""Attributes that JAX's types, tracers and primitives have, and that carry no idea of their own.

JAX's types say by methods how a value is represented by arrays, batched and added. An array
represents itself, so that libraries whose types have parts of any type need no distinction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.batching import BatchTracer, mapped_aval, unmapped_aval
from ..core.core import Primitive, ShapedArray, Tracer, install_methods
from ..core.forward import JVPTracer, Zero, add_tangents
from ..source import DebugInfo

# ----------------------------------------------------------------------------------------------
# The types of arrays


def _of_one_example(aval: ShapedArray, size: int | None, spec: Any) -> ShapedArray:
    return aval if spec is None else mapped_aval(aval.shape[spec], spec, aval)


install_methods({
    "lo_ty": lambda aval: [aval],
    "lower_val": lambda aval, x: [x],
    "raise_val": lambda aval, x: x,
    "dec_rank": _of_one_example,
    "inc_rank": lambda aval, size, spec: unmapped_aval(size, spec, aval),
    "leading_axis_spec": lambda aval: 0,
    "vspace_add": lambda aval, x, y: add_tangents(x, y),
    "update_weak_type": lambda aval, weak_type: aval.update(weak_type=weak_type),
    "normalize": ShapedArray.strip_weak_type, "is_high": False, "has_qdd": False,
    "__bool__": lambda aval: True,  # as any object; a type of an empty array is no `False`
}, ShapedArray)  # type: ignore[misc]

# ----------------------------------------------------------------------------------------------
# Tracers and primitives


def _without_trace(x: Any) -> Any:
    """The value behind the tracers of transformations that it takes no part in."""
    while isinstance(x, BatchTracer) and x.batch_dim is None or (
            isinstance(x, JVPTracer) and type(x.tangent) is Zero):
        x = x.val if isinstance(x, BatchTracer) else x.primal
    return x


install_methods({"full_lower": _without_trace, "to_concrete_value": lambda x: x.concrete_value(),
                 "get_referent": lambda x: x}, Tracer)
install_methods({"is_effectful": None, "ref_primitive": False, "ref_allocating": False,
                 "skip_canonicalization": False, "is_high": lambda self, *avals, **params: False},
                Primitive)

# ----------------------------------------------------------------------------------------------
# The names of a function's arguments and results


_FIELDS = ("traced_for", "func_src_info", "arg_names", "result_paths")


def _replaced(info: DebugInfo, **changes: Any) -> DebugInfo:
    kept = {name: getattr(info, name) for name in _FIELDS}
    return DebugInfo(**kept | changes)


def _checked(names: Sequence[str] | None, expected_count: int, info: DebugInfo) -> None:
    if names is not None and len(names) != expected_count:
        raise AssertionError(f"{info} names {len(names)} values, but there are {expected_count}.")


def _safe(names: Sequence[str] | None, expected_count: int, info: DebugInfo) -> tuple[str, ...]:
    _checked(names, expected_count, info)
    return ("",) * expected_count if names is None else tuple(names)


def _kept(names: Sequence[str] | None, keep: Sequence[bool]) -> tuple[str, ...] | None:
    return None if names is None else tuple(name for name, kept in zip(names, keep) if kept)


def _with_func_name(info: DebugInfo, name: str) -> DebugInfo:
    _, space, place = info.func_src_info.partition(" ")
    return _replaced(info, func_src_info=name + space + place)


install_methods({
    "_fields": _FIELDS,
    "_replace": _replaced,
    "replace_func_name": _with_func_name,
    "resolve_result_paths": lambda info: info,
    "with_unknown_names": lambda info: _replaced(info, arg_names=None, result_paths=None),
    "safe_arg_names": lambda info, expected_count: _safe(info.arg_names, expected_count, info),
    "safe_result_paths": lambda info, expected_count: _safe(
        info.result_paths, expected_count, info),
    "assert_arg_names": lambda info, expected_count: _checked(
        info.arg_names, expected_count, info),
    "assert_result_paths": lambda info, expected_count: _checked(
        info.result_paths, expected_count, info),
    "filter_arg_names": lambda info, keep: _kept(info.arg_names, keep),
    "filter_result_paths": lambda info, keep: _kept(info.result_paths, keep),
    "__iter__": lambda info: (getattr(info, name) for name in _FIELDS),
    "__len__": lambda info: len(_FIELDS),
    "__getitem__": lambda info, i: tuple(info)[i],
    "__bool__": lambda info: True,
}, DebugInfo)
