"""Chapter 15: settings that forbid something while they are on.

`no_execution` forbids to compute, though not to trace, to compile, or to move data. Without
`allow_f16_reductions`, `reduce_sum` of 16-bit floats is an error, because it loses digits.
`transfer_guard("disallow")` forbids that NumPy arrays and numbers become arrays without
`device_put`, and that arrays are copied to other devices without it, which costs time on an
accelerator.
"""

from __future__ import annotations

import inspect
import math
import sys
import threading
from typing import Any

import numpy as np

from ..core.array import Array, raw_value_handlers
from ..core.core import ShapedArray, state, typeof
from ..core.dtypes import float0
from ..core.extension import Extension, register, remove
from ..core.jit import jit_p
from ..core.primitives import reduce_sum_p
from ..core.tree import tree_leaves
from ..errors import JaxRuntimeError
from ..parallel.programs.device_put import device_put_p
from ..runtime.settings import no_execution
from ..runtime.stages import not_executed
from ..settings import State, add_traced, bool_state, choice_state, overrides
from ..text.locations import is_user_frame

allow_f16_reductions = bool_state(
    "jax_allow_f16_reductions",
    "Whether lax.reduce_sum takes 16-bit floats, whose sums lose digits.", default=True)
add_traced(allow_f16_reductions)

# On a CPU, arrays are in the host's memory. What counts as a transfer is then that a NumPy array or
# a number becomes an array, or that an array is copied to other devices. Nothing is transferred to
# the host.
(transfer_guard, transfer_guard_host_to_device, transfer_guard_device_to_device,
 transfer_guard_device_to_host) = (choice_state(
    f"jax_transfer_guard{direction}",
    (None, "allow", "log", "disallow", "log_explicit", "disallow_explicit"), None,
    "Which transfers are allowed: of NumPy arrays and numbers to the device, and of arrays from "
    "one device to others. A CPU's arrays are in the host's memory: none goes to the host.")
    for direction in ("", "_host_to_device", "_device_to_device", "_device_to_host"))


class NoExecution(Extension):
    """Refuses every evaluation. (A look after evaluations takes jitted functions here, too.)"""

    def evaluate(self, primitive, args, params):
        if no_execution.value and primitive is not device_put_p:
            name = params["name"] if primitive is jit_p else primitive.name
            raise not_executed(f"jit({name})")
        return NotImplemented

    def after_evaluation(self, primitive, args, params, out):
        pass


class No16BitSums(Extension):
    """Refuses `reduce_sum` of more than one 16-bit float."""

    def evaluate(self, primitive, args, params):
        if primitive is reduce_sum_p:
            _check_sum(typeof(args[0]), params["axes"])
        return NotImplemented

    def stage_operands(self, builder, primitive, invars, params):
        if primitive is reduce_sum_p:
            _check_sum(invars[0].aval, params["axes"])
        return invars


def _check_sum(aval: ShapedArray, axes: tuple[int, ...]) -> None:
    half = str(aval.dtype) in ("float16", "bfloat16")
    if half and not allow_f16_reductions.value and math.prod(aval.shape[d] for d in axes) != 1:
        raise ValueError(f"reduce_sum on an operand of type {aval.str_short(True)} is forbidden by "
                         "the setting allow_f16_reductions=False. Convert it to float32 first.")


class TransferGuard(Extension):
    """Refuses operands that are no arrays yet, arrays made of Python's and NumPy's values, and
    copies of arrays to other devices."""

    def __init__(self):
        self._thread = threading.local()

    def evaluate(self, primitive, args, params):
        self._thread.explicit = explicit = primitive is device_put_p
        self._thread.asked = ()
        raw = [x for x in args if not isinstance(x, Array)]
        for x in raw if explicit else _from_user(raw):
            _check_transfer(x, explicit)
        self._thread.asked = args  # the evaluation of the primitive makes arrays of them
        return NotImplemented

    def watch_value(self, x: Any) -> Any:
        """A raw value becomes an array: the value."""
        asked = any(x is arg for arg in getattr(self._thread, "asked", ()))
        if not (asked or state.trace.staging or getattr(x, "dtype", None) == float0):
            for value in _from_user([x]):
                _check_transfer(value, explicit=False)
        return x

    def after_evaluation(self, primitive, args, params, out):
        self._thread.computed, self._thread.asked = out, ()  # the result is on the device
        self._thread.explicit = False

    def watch_transfer(self, x, where, moved):
        if not moved:
            if not (state.trace.staging or x is getattr(self._thread, "computed", None)):
                _check_transfer(x, where is not None)
        elif len(devices := x.devices()) == 1 and devices != where.device_set:
            _refuse_transfer(x, getattr(self._thread, "explicit", False), "device-to-device",
                             transfer_guard_device_to_device)


def _check_transfer(x: Any, explicit: bool) -> None:
    _refuse_transfer(x, explicit, "host-to-device", transfer_guard_host_to_device)


def _innermost(*states: State) -> Any:
    """The value of the setting that this thread has overridden last; otherwise the first value of
    the process that is not `None`."""
    for setting in reversed(overrides.values):
        if setting in states:
            return setting.value
    values = (setting.process_value for setting in states)
    return next((value for value in values if value is not None), None)


def _refuse_transfer(x: Any, explicit: bool, direction: str, setting: Any) -> None:
    """Raise `JaxRuntimeError` if the setting of this direction forbids the transfer."""
    mode = _innermost(setting, transfer_guard)
    if mode == "disallow_explicit" or mode == "disallow" and not explicit:
        advice = ("The guard forbids device_put, too." if explicit else
                  "Put the value where it is needed first, by `jax.device_put`.")
        raise JaxRuntimeError(f"INVALID_ARGUMENT: Disallowed {direction} transfer: "
                              f"aval={typeof(x)!r}. {advice}")


def _from_user(values: list) -> list:
    """Those of the values that come from the user's code. A constant that a function of ours needs
    for its arrays is no transfer: JAX compiles most functions, with their constants."""
    if not values:
        return values
    passed = _passed_by_user()
    makes_arrays = not any(hasattr(x, "aval") for x in passed)  # of numbers: `jnp.zeros(3)`
    return [x for x in values if makes_arrays and not isinstance(x, np.ndarray)
            or any(_same(x, leaf) for leaf in passed)]


def _passed_by_user() -> list:
    """The leaves of the arguments of our function that the user's code called."""
    entry = sys._getframe(1)
    while entry.f_back is not None and not is_user_frame(entry.f_back):
        entry = entry.f_back
    code, given = entry.f_code, entry.f_locals
    n_names = code.co_argcount + code.co_kwonlyargcount
    for more in (inspect.CO_VARARGS, inspect.CO_VARKEYWORDS):
        n_names += bool(code.co_flags & more)
    return tree_leaves([given[name] for name in code.co_varnames[:n_names] if name in given])


def _same(x: Any, leaf: Any) -> bool:
    """Whether a raw value is this argument, or is taken to be made of it."""
    numbers = bool, int, float, complex, np.generic
    if isinstance(x, numbers) and isinstance(leaf, numbers):
        return bool(x == leaf)
    return x is leaf or isinstance(x, np.ndarray) and isinstance(leaf, np.ndarray)


def _guard_transfers(guard: TransferGuard) -> Any:
    """What puts the guard in force while a setting forbids transfers."""
    def watch(value: str | None, begins: bool) -> None:
        if value in ("disallow", "disallow_explicit"):
            (register if begins else remove)(guard)
            change = raw_value_handlers.append if begins else raw_value_handlers.remove
            change(guard.watch_value)

    return watch


def _switch(extension: Extension, forbidding: bool) -> Any:
    """What puts an extension in force while its setting has the value that forbids."""
    def watch(value: bool, begins: bool) -> None:
        if bool(value) is forbidding:
            (register if begins else remove)(extension)

    return watch


no_execution.watched_by(_switch(NoExecution(), True))
allow_f16_reductions.watched_by(_switch(No16BitSums(), False))
_watch_transfers = _guard_transfers(TransferGuard())
for _guarded in (transfer_guard, transfer_guard_host_to_device, transfer_guard_device_to_device):
    _guarded.watched_by(_watch_transfers)
