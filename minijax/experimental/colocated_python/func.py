"""Functions and classes that run beside the devices of their arguments."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...core.array import Array
from ...core.tree import tree_flatten, tree_leaves
from ...parallel.mesh import Mesh
from ...runtime.devices import devices as _all_devices
from ...source import wraps

# ----------------------------------------------------------------------------------------------
# Devices


def colocated_cpu_devices(devices_or_mesh: Sequence[Any] | Mesh) -> Any:
    """The CPU devices on the hosts of the given devices, in their order.

    Args:
      devices_or_mesh: devices, or a mesh of devices.

    Returns:
      A list of CPU devices, or a mesh of the same shape. A CPU device stands for itself.

    Raises:
      ValueError: the host of a device has no CPU device.

    >>> import minijax as jax
    >>> colocated_cpu_devices(jax.devices("cpu")[:1])
    [CpuDevice(id=0)]
    """
    if isinstance(devices_or_mesh, Mesh):
        mesh = devices_or_mesh
        on_cpu = np.vectorize(_cpu_device, otypes=[object])(mesh.devices)
        return Mesh(on_cpu, mesh.axis_names, axis_types=mesh.axis_types)
    return [_cpu_device(device) for device in devices_or_mesh]


def _cpu_device(device):
    if device.platform == "cpu":
        return device
    same_host = [cpu for cpu in _all_devices("cpu") if cpu.process_index == device.process_index]
    if not same_host:
        raise ValueError(f"The host of {device} has no CPU device.")
    return same_host[device.id % len(same_host)]


# ----------------------------------------------------------------------------------------------
# Functions


@dataclass(frozen=True)
class _Specialization:
    in_specs: Any = None
    out_specs_fn: Callable | None = None
    devices: tuple | None = None

    def refined(self, **new: Any) -> _Specialization:
        new = {name: value for name, value in new.items() if value is not None}
        for name in new:
            if getattr(self, name) is not None:
                raise ValueError(f"{name} already specified")
        return replace(self, **new)


def colocated_python(fun: Callable) -> Callable:
    """`fun`, run by Python on the host of its arguments' devices.

    Args:
      fun: a function of pytrees of arrays to a pytree of arrays. It is called with arrays, not with
        tracers, so it may print, read files, and keep state.

    Returns:
      A function like `fun`. Its method `specialize(in_specs=, out_specs_fn=, devices=)` returns
      one that also knows the types of its arguments, `(args, kwargs)` of `ShapeDtypeStruct`s; a
      function from the arguments to the types of its results; and its devices. A function without
      arguments must know its devices before it is called. What does not fit these types is
      refused, also where JAX lets it pass.

    Raises:
      ValueError: an argument or result is not a JAX array, or not of the type promised; arguments
        are on different devices; no device is known; the devices are not CPU devices.

    >>> import minijax.numpy as jnp
    >>> @colocated_python
    ... def double(x):
    ...     return 2 * x
    >>> double(jnp.arange(3))
    Array([0, 2, 4], dtype=int32)
    """
    return _specialized(fun, _Specialization())


def _specialized(fun, known):
    @wraps(fun)
    def call(*args: Any, **kwargs: Any) -> Any:
        _check_arrays((args, kwargs))
        _devices_to_run_on(tree_leaves((args, kwargs)), known)
        if known.in_specs is not None:
            _check_types("arguments", (args, kwargs), known.in_specs)
        out = fun(*args, **kwargs)
        _check_arrays(out)
        if known.out_specs_fn is not None:
            _check_types("results", out, known.out_specs_fn(*args, **kwargs))
        return out

    def specialize(in_specs=None, out_specs_fn=None, devices=None) -> Callable:
        where = None if devices is None else tuple(devices)
        return _specialized(fun, known.refined(
            in_specs=in_specs, out_specs_fn=out_specs_fn, devices=where))

    call.specialize = specialize  # type: ignore[attr-defined]
    return call


def _check_arrays(tree):
    for x in tree_leaves(tree):
        if not isinstance(x, Array):
            raise ValueError("colocated_python only supports jax.Array as input and output, but "
                             f"got {type(x)}. Make it an array by jnp.asarray, or close over it.")


def _devices_to_run_on(arrays, known):
    lists = {tuple(sorted(x.sharding.device_set, key=lambda device: device.id)) for x in arrays}
    if known.devices is not None:
        lists.add(tuple(sorted(known.devices, key=lambda device: device.id)))
    if not lists:
        raise ValueError("No devices found. colocated_python function without input arguments must "
                         "be first specialized with devices: use fun.specialize(devices=...).")
    if len(lists) > 1:
        raise ValueError("All arguments must use the same device list, but got multiple device "
                         f"lists: {lists}.")
    others = [device for device in lists.pop() if device.platform != "cpu"]
    if others:
        raise ValueError(f"colocated_python runs on CPU devices, and got {others}. Move the "
                         "arguments to colocated_cpu_devices(devices) first.")


def _check_types(what, values, specs):
    values, tree = tree_flatten(values)
    specs, expected = tree_flatten(specs)
    if tree != expected:
        raise ValueError(f"The {what} have the tree {tree}, and the specs {expected}.")
    for x, spec in zip(values, specs):
        if (x.shape, x.dtype) != (tuple(spec.shape), spec.dtype):
            raise ValueError(f"The {what} were specified to contain {spec}, and contain "
                             f"{x.aval.str_short(True)}.")


# ----------------------------------------------------------------------------------------------
# Classes


class _Instance:
    """An object made when it is first asked for."""

    def __init__(self, make):
        self._make, self._lock = make, threading.Lock()

    def get(self):
        with self._lock:
            if self._make is not None:
                self._object, self._make = self._make(), None
            return self._object


def colocated_python_class(cls: type) -> type:
    """`cls`, with methods that run on the host of their arguments' devices.

    Args:
      cls: a class whose methods take and return pytrees of arrays.

    Returns:
      A class with the same public methods; each has `specialize`, as a function of
      `colocated_python`. The object of `cls` behind an instance is made at the first call of a
      method, and is deleted with the instance. Its other attributes cannot be read.

    >>> import minijax.numpy as jnp
    >>> @colocated_python_class
    ... class Sum:
    ...     def __init__(self, start):
    ...         self.value = start
    ...     def add(self, x):
    ...         self.value = self.value + x
    ...         return self.value
    >>> total = Sum(1)
    >>> total.add(jnp.ones(2))
    Array([2., 2.], dtype=float32)
    """
    methods = [name for name in dir(cls)
               if not name.startswith("_") and callable(getattr(cls, name))]

    class WrappedClass:
        def __init__(self, *args: Any, **kwargs: Any):
            instance = _Instance(lambda: cls(*args, **kwargs))
            for name in methods:
                setattr(self, name, colocated_python(_method_of(instance, cls, name)))

    WrappedClass.__doc__ = cls.__doc__
    return WrappedClass


def _method_of(instance, cls, name):
    @wraps(getattr(cls, name))
    def method(*args: Any, **kwargs: Any) -> Any:
        return getattr(instance.get(), name)(*args, **kwargs)
    return method
