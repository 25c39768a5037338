"""`jax.experimental.serialize_executable`: compiled programs as bytes.

The bytes are for the same machine and the same jaxlib. `jax.export` is for others.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..core.boundary import api_boundary
from ..core.core import ShapedArray
from ..core.jit import Program, Spec
from ..core.lowering import LoweredModule, stored
from ..core.tree import PyTreeDef
from ..runtime import xla
from ..runtime.stages import CallInfo, Compiled

_FORMAT = 1


@api_boundary
def serialize(compiled: Compiled) -> tuple[bytes, PyTreeDef, PyTreeDef]:
    """A compiled function as bytes, and the structures of (args, kwargs) and of its result.

    Args:
      compiled: what `lower(...).compile()` returned.

    Raises:
      NotImplementedError: it runs on several devices or on another one than the first, it calls
        Python, or it has effects.
      ValueError: it closes over references.
    """
    program, info = compiled._program, compiled._info
    if info.closed:
        raise ValueError("can't serialize with a closed-over mutable array ref")
    if type(program) is not Program:
        raise NotImplementedError("serialize: the program was compiled for certain devices. Only a "
                                  "program for the first device can be serialized.")
    if info.jaxpr.effects or "python_cpu_callback" in compiled.as_text():
        raise NotImplementedError("serialize: the program calls Python, or has effects.")
    parts = {
        "format": _FORMAT, "program": program.executable.loaded.serialize(),
        "in_avals": [*program.in_avals], "out_avals": [*program.out_avals],
        "kept": program.kept, "donated": program.donated, "donated_invars":
        info.spec.donated_invars, "name": info.spec.name,
        "constants": [np.asarray(xla().to_numpy(x)) for x in program.constants],
    }
    return pickle.dumps(parts), info.in_tree, info.out_tree


@api_boundary
def deserialize_and_load(serialized: bytes, in_tree: PyTreeDef, out_tree: PyTreeDef,
                         backend: Any = None, execution_devices: Sequence | None = None
                         ) -> Compiled:
    """The compiled function that `serialize` made these bytes of.

    Args:
      serialized: only bytes that you trust. Loading them can run any code.
      in_tree, out_tree: as `serialize` returned them.
      backend: the name of a platform, or its client: that of the first device.
      execution_devices: a list with the first device.

    Raises:
      ValueError: another device, or the bytes are something else.
    """
    device = xla().default_device()
    if (devices := [*(execution_devices or [device])]) != [device]:
        raise ValueError(f"deserialize_and_load: the program is for {device}; got {devices} as "
                         "execution_devices.")
    if backend is not None and (xla().backend(backend) if isinstance(backend, str) else backend
                                ) is not device.client:
        raise ValueError(f"Execution devices belong to a client other than `backend`: {backend!r} "
                         f"is not that of {device}.")
    parts = pickle.loads(serialized)
    if not isinstance(parts, dict) or parts.get("format") != _FORMAT:
        raise ValueError("deserialize_and_load: these bytes are not what `serialize` returned.")
    return _loaded(parts, in_tree, out_tree, device)


def _loaded(parts, in_tree, out_tree, device) -> Compiled:
    options = xla().compile_options((device,), {})
    loaded = xla().deserialize(parts["program"], options, (device,))
    in_avals, out_avals = parts["in_avals"], parts["out_avals"]
    handlers = [xla().result_handler(stored(a), xla().placement(device)) for a in out_avals]
    jaxpr: Any = SimpleNamespace(in_avals=in_avals, out_avals=out_avals, effects=frozenset())
    constants = tuple((x, ShapedArray(x.shape, x.dtype)) for x in parts["constants"])
    module = LoweredModule("", parts["kept"], constants, parts["donated"])
    program = Program(xla().Executable(loaded, handlers), module, jaxpr)
    spec = Spec(parts["name"], parts["donated_invars"])
    return Compiled(CallInfo(_any_arguments, spec, jaxpr, in_tree, out_tree, None), program)


_any_arguments: Callable = lambda *args, **kwargs: None  # names them in messages
