"""`jax.experimental.compute_on`: where operations are computed, on the device or on its host.

On a CPU, the device is the host: nothing moves, and all values are the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from ..core.jaxpr import jaxprs_in_params
from ..core.tree import flatten_axes
from ..parallel.memories import MemorySpace as Space
from ..runtime.notes import COMPUTE_TYPE, COMPUTE_TYPES, compute_attributes, noting
from ._annotated_calls import annotated_call, call


def _check(compute_type: Any) -> None:
    if not isinstance(compute_type, str):
        raise TypeError("`compute_on`'s compute_type argument must be a string, got "
                        f"{compute_type!r}.")
    if compute_type not in COMPUTE_TYPES and not compute_type.startswith("gpu_stream:"):
        raise ValueError(
            f"Invalid compute type {compute_type}. Current supported values are `device_host`, "
            "`device`, `tpu_sparsecore`, and `gpu_stream:#`.")


def compute_on(compute_type: str) -> AbstractContextManager[None]:
    """A context: the operations in it are computed there, where the platform has such a place.

    Operations say it to the compiler, as frontend attributes in StableHLO. An inner context
    replaces those around it. The context is also a decorator.

    Args:
      compute_type: "device_host", "device", "tpu_sparsecore", or "gpu_stream:" and a number. On a
        CPU these are all the same.

    Raises:
      TypeError, ValueError: it is not one of these.

    >>> from minijax.experimental.compute_on import compute_on
    >>> with compute_on("device_host"):
    ...     print(jnp.sin(0.0))
    0.0
    """
    return _Place(compute_type)


class _Place(noting):
    """The context of a place, which is checked when the context is entered."""

    def __init__(self, compute_type: str):
        super().__init__({COMPUTE_TYPE: compute_type})
        self._compute_type = compute_type

    def __enter__(self) -> None:
        _check(self._compute_type)
        super().__enter__()


def _calls_compute_on(jaxpr) -> bool:
    return any(eqn.primitive is compute_on_p or any(map(
        _calls_compute_on, jaxprs_in_params(eqn.own_params))) for eqn in jaxpr.eqns)


def _attributes(jaxpr, compute_type, out_memory_spaces, compiler_options_json):
    if _calls_compute_on(jaxpr):
        raise ValueError("Nesting `compute_on` with different compute types is not allowed.")
    said = compute_attributes(compute_type)
    if compiler_options_json is not None:
        said["backend_config"] = compiler_options_json
    elif compute_type == "device":
        said["inlineable"] = "false"
    return said


def _spaces(params, in_sources, out_sources, shared) -> dict:
    """Results keep their memory; residuals, and cotangents, are on the device."""
    old = params["out_memory_spaces"]
    return {"out_memory_spaces": tuple(
        Space.Device if i is None or not 0 <= i < len(old) else old[i] for i in out_sources)}


compute_on_p = annotated_call("compute_on", _attributes, _spaces)


def compute_on2(f: Callable | None = None, *, compute_type: str, out_memory_spaces: Any,
                compiler_options: dict[str, Any] | None = None) -> Any:
    """A function that is computed somewhere, as `compute_on` says; without `f`, a decorator.

    Args:
      f: a function of pytrees of arrays that returns one.
      compute_type: as for `compute_on`.
      out_memory_spaces: `jax.memory.Space.Device`, for all results or a pytree of them. minijax
        keeps no arrays elsewhere.
      compiler_options: options for the compiler, which are written into the program.

    Raises:
      TypeError, ValueError: `compute_type` is not one of the places; or, when compiled, the
        function calls another one of this kind.
      NotImplementedError: another memory.
    """
    _check(compute_type)
    if f is None:
        return lambda fun: compute_on2(fun, compute_type=compute_type,
                                       out_memory_spaces=out_memory_spaces,
                                       compiler_options=compiler_options)
    options = None if compiler_options is None else json.dumps(compiler_options)

    def params(out_tree):
        spaces = tuple(flatten_axes("compute_on out_memory_spaces", out_tree, out_memory_spaces))
        for space in spaces:
            if space is not Space.Device:
                raise NotImplementedError(f"compute_on2: a result cannot be in {space}. minijax "
                                          "keeps arrays in Space.Device.")
        return {"compute_type": compute_type, "out_memory_spaces": spaces,
                "compiler_options_json": options}

    return lambda *args: call(compute_on_p, f, args, {}, "compute_on", params)
