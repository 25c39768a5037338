"""Chapter 15: how a compiled program calls Python, by a custom call with the function's number.

XLA takes any bytes for a result, so what the function returns is checked before.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import settings
from ..core import dtypes
from ..core.array import Array
from ..core.core import ShapedArray
from ..core.lowering import tensor_type
from ..lax.compile_time import eval_context
from ..lax.control_flow.tokens import TOKEN, ordered_token, set_token
from ..parallel.meshes.sharding import NamedSharding, SingleDeviceSharding
from ..parallel.programs.program_places import on_all_devices
from ..parallel.types.stablehlo import add_host_callback, devices_of_module, manual_context
from ..runtime.effect_sets import is_ordered


def checked_results(outs: Sequence, avals: Sequence[ShapedArray]) -> list[np.ndarray]:
    """What the function returned, in NumPy: XLA would take any bytes, and so we look first."""
    if len(outs) != len(avals):
        raise RuntimeError("Mismatched number of outputs from callback. "
                           f"Expected: {len(avals)}, Actual: {len(outs)}")
    values = [np.asarray(x) for x in outs]
    values = [x.astype(dtypes.canonicalize_dtype(x.dtype), copy=False) for x in values]
    for i, (x, aval) in enumerate(zip(values, avals)):
        for what in ("shape", "dtype"):
            expected, actual = getattr(aval, what), getattr(x, what)
            if expected != actual:
                raise RuntimeError(f"Incorrect output {what} for return value #{i}: "
                                   f"Expected: {expected}, Actual: {actual}")
    return values


def check_sharding(sharding: Any, devices: Sequence, manual: bool = False) -> None:
    """Refuse a sharding that is not on one of these devices.

    Raises:
      NotImplementedError: it can be on several devices, or each device calls for itself.
      ValueError: its device does not run the program.
    """
    if manual:
        raise NotImplementedError("callbacks take no sharding within a `shard_map`, where each "
                                  "device calls Python for itself: leave `sharding` out.")
    if not (isinstance(sharding, SingleDeviceSharding)
            or isinstance(sharding, NamedSharding) and not sharding.mesh.axis_names):
        raise NotImplementedError("pure_callback and io_callback take only a SingleDeviceSharding "
                                  f"as `sharding`, but got {type(sharding)}.")
    (device,) = sharding.device_set
    if devices and device not in devices:
        raise ValueError(f"the callback's sharding is on {device}, which is not among the devices "
                         f"that run the program, {list(devices)}: name one of these.")


def lower_callback(ctx, callback: Callable, operands: Sequence, avals: Sequence[ShapedArray],
                   effects: frozenset | set, partitioned: bool = False,
                   sharding: Any = None) -> list:
    """Have the program call `callback`, from arrays to a list of arrays.

    XLA may call it in a thread of its own, where this thread's settings do not hold. If
    `partitioned`, each device calls it with its own part of the operands. Otherwise, a `sharding`
    may name one of the devices; the first one calls it, because XLA loses what others return.
    """
    if sharding is not None:
        check_sharding(sharding, devices_of_module(ctx), manual_context(ctx)[0] is not None)
    in_avals = [x.aval.strip_weak_type() for x in operands]
    x64 = settings.enable_x64.value

    def on_host(*values):
        if settings.enable_x64.value != x64:
            with settings.enable_x64(x64):
                return on_host(*values)
        with eval_context():
            types = [aval.update(shape=x.shape) for x, aval in zip(values, in_avals)] \
                if partitioned else in_avals
            outs = callback(*map(Array, values, types))
            return tuple(checked_results(outs, avals))

    outs = call_python(ctx, on_host, operands, avals, bool(effects), is_ordered(effects),
                       partitioned)
    return on_all_devices(ctx, outs)


def call_python(ctx, function: Callable, operands: Sequence, avals: Sequence[ShapedArray],
                has_side_effect: bool, ordered: bool, partitioned: bool = False) -> list:
    """Append a call of a function from NumPy arrays to a tuple of them. An ordered one takes and
    gives a token, which is nothing in Python. A partitioned one has no results."""
    call = function
    if ordered:
        call = lambda token, *xs: (token, *function(*xs))
        operands, avals = [ordered_token(ctx), *operands], [TOKEN, *avals]
    names, kinds = (", ".join(texts) for texts in zip(*[(x.name, x.type) for x in operands])
                    ) if operands else ("", "")
    outs = ", ".join(map(tensor_type, avals))
    backend_config = f"{{index = {add_host_callback(ctx, call)} : ui64}}"
    options = (f"api_version = 4 : i32, backend_config = {backend_config}, "
               f"has_side_effect = {str(has_side_effect).lower()}{_caller(ctx, avals)}")
    if partitioned:  # XLA cuts the operands, and asks for their layouts
        options += f", operand_layouts = [{', '.join(map(_layout, operands))}], result_layouts = []"
    target = f"xla_ffi{'_partitioned' * partitioned}_python_cpu_callback"
    results = ctx.ops(f"stablehlo.custom_call @{target}({names}) "
                      f"{{{options}}} : ({kinds}) -> ({outs})", avals)
    if ordered:
        token, *results = results
        set_token(ctx, token)
    return results


def _layout(operand) -> str:
    """Row-major."""
    rank = len(operand.aval.shape)
    return f"dense<{[*range(rank)][::-1] if rank else ''}> : tensor<{rank}xindex>"


def _caller(ctx, avals) -> str:
    """Of several devices the first calls Python; within a `shard_map`, each for itself."""
    if not devices_of_module(ctx):
        return ""
    mesh, manual_axes = manual_context(ctx)
    if mesh and set(manual_axes) != set(mesh.axis_names):
        raise NotImplementedError("Python cannot be called within a `shard_map` over some axes "
                                  f"of the mesh, {manual_axes} of {mesh}.")
    who = "" if mesh else ", device_ids=[0]"
    symbol = ctx.module.declare("caller", f"sdy.mesh @ = <[]{who}>")
    ranks = [len(aval.shape) * bool(mesh) for aval in avals] or [0]
    each = ", ".join(f"<@{symbol}, [{', '.join(['{}'] * rank)}]>" for rank in ranks)
    return f", sdy.sharding = #sdy.sharding_per_value<[{each}]>"
