"""Chapter 14: meshes, which are arrays of devices whose axes have names.

A program for several devices never speaks of devices. It says "split the rows over axis `x`", and
the mesh says which devices that are:

    Mesh([[d0, d1],        y ->        Rows split over x: d0 and d1 hold the first quarter of
          [d2, d3],    x   d0 d1       them, d2 and d3 the second, …
          [d4, d5],    |   d2 d3       Rows split over y: the left devices hold the first half,
          [d6, d7]],   v   d4 d5       the right ones the second.
         ("x", "y"))       d6 d7
"""

from __future__ import annotations

import enum
import functools
import math
import threading
import warnings
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import ContextDecorator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...checks.sequences import iterable
from ...core.boundary import public
from ...runtime.devices import devices as all_devices
from ...settings import Override, WatchedState, add_traced
from ...text.locations import user_stacklevel
from .interned import Immutable, interned
from .mesh_utils import create_device_mesh, mesh_sizes

# ----------------------------------------------------------------------------------------------
# Meshes


class AxisType(enum.Enum):
    """Who decides how arrays are split over an axis of a mesh.

    `Auto`: the compiler. `Explicit`: the user, in the types of arrays. `Manual`: the function
    itself, which sees its own shard only: `shard_map`.
    """

    Auto = enum.auto()
    Explicit = enum.auto()
    Manual = enum.auto()

    def __repr__(self) -> str:
        return self.name


class _NamedAxes(Immutable):
    """What a mesh and an abstract mesh have in common: axes with names, sizes and types."""

    axis_names: tuple[Any, ...]
    axis_types: tuple[AxisType, ...]
    axis_sizes: tuple[int, ...]
    size: int

    @cached_property
    def shape(self) -> OrderedDict[Any, int]:
        """The sizes of the axes by name."""
        return OrderedDict(self.shape_tuple)

    @cached_property
    def shape_tuple(self) -> tuple[tuple[Any, int], ...]:
        return tuple(zip(self.axis_names, self.axis_sizes, strict=True))

    @property
    def empty(self) -> bool:
        """Whether there are no devices."""
        return self.size == 0

    def _axes_of_type(self, axis_type: AxisType) -> tuple[Any, ...]:
        pairs = zip(self.axis_names, self.axis_types, strict=True)
        return tuple(name for name, given in pairs if given is axis_type)

    @cached_property
    def auto_axes(self) -> tuple[Any, ...]:
        """The names of the axes of type `Auto`."""
        return self._axes_of_type(AxisType.Auto)

    @cached_property
    def explicit_axes(self) -> tuple[Any, ...]:
        """The names of the axes of type `Explicit`."""
        return self._axes_of_type(AxisType.Explicit)

    @cached_property
    def manual_axes(self) -> tuple[Any, ...]:
        """The names of the axes of type `Manual`."""
        return self._axes_of_type(AxisType.Manual)

    @property
    def are_all_axes_auto(self) -> bool:
        return set(self.axis_types) == {AxisType.Auto}

    @property
    def are_all_axes_explicit(self) -> bool:
        return set(self.axis_types) == {AxisType.Explicit}

    @property
    def are_all_axes_manual(self) -> bool:
        return set(self.axis_types) == {AxisType.Manual}

    # Private names of JAX's that libraries read
    _any_axis_auto = property(lambda self: AxisType.Auto in self.axis_types)
    _any_axis_explicit = property(lambda self: AxisType.Explicit in self.axis_types)
    _any_axis_manual = property(lambda self: AxisType.Manual in self.axis_types)
    _name_to_type = property(lambda self: dict(zip(self.axis_names, self.axis_types)))


def _as_axis_types(types: Any, axis_names: Sequence, caller: str) -> tuple[AxisType, ...]:
    """The types of the axes as a tuple; `None` means that all are `Auto`."""
    if types is None:
        return (AxisType.Auto,) * len(axis_names)
    types = types if isinstance(types, tuple) else (types,)
    if not all(isinstance(axis_type, AxisType) for axis_type in types):
        raise TypeError(f"{caller}: axis_types must be a tuple of jax.sharding.AxisType, "
                        f"got {types}.")
    if len(types) != len(axis_names):
        raise ValueError(f"{caller}: every axis needs a type, but there are "
                         f"axis_names={tuple(axis_names)} and axis_types={types}.")
    return types


class Mesh(_NamedAxes, ContextDecorator):
    """An array of devices whose axes have names.

    Equal meshes are one object. `with mesh:` lets functions find it (deprecated: `set_mesh`).

    Args:
      devices: a NumPy array of devices, or a sequence of them.
      axis_names: a name for each of its axes; a string is one name.
      axis_types: an `AxisType` for each axis; by default all are `Auto`.

    Raises:
      ValueError: there are not as many names, or types, as axes; a name is `None`.
      TypeError: an entry of `axis_types` is not an `AxisType`.

    >>> mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]).reshape(1, 1), ("x", "y"))
    >>> mesh
    Mesh(axis_sizes=(1, 1), axis_names=('x', 'y'), axis_types=(Auto, Auto))
    >>> mesh.shape["x"], mesh.size
    (1, 1)
    """

    devices: np.ndarray

    @public
    def __new__(cls, devices: Any, axis_names: Any, axis_types: Any = None) -> Mesh:
        devices = devices if isinstance(devices, np.ndarray) else np.array(devices)
        iterable("Mesh: axis_names", axis_names, "a sequence of names")
        axis_names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
        _check_names(devices, axis_names)
        axis_types = _as_axis_types(axis_types, axis_names, "Mesh")

        def make() -> Mesh:
            own = devices.copy()
            own.flags.writeable = False
            no_mesh = not axis_names and own.flat[0] is None
            return cls._new(devices=own, axis_names=axis_names, axis_types=axis_types,
                            axis_sizes=own.shape, size=0 if no_mesh else own.size)

        return interned(cls, tuple(devices.flat), devices.shape, axis_names, axis_types, make=make)

    def __reduce__(self) -> tuple:
        return Mesh, (self.devices, self.axis_names, self.axis_types)

    def update(self, devices: Any = None, axis_names: Any = None, axis_types: Any = None) -> Mesh:
        """This mesh with other devices, names or types."""
        return Mesh(self.devices if devices is None else devices,
                    self.axis_names if axis_names is None else axis_names,
                    self.axis_types if axis_types is None else axis_types)

    @cached_property
    def device_ids(self) -> np.ndarray:
        """The ids of the devices, an array of the mesh's shape."""
        ids = [device.id for device in self.devices.flat]
        return np.array(ids, dtype=int).reshape(self.devices.shape)

    @cached_property
    def device_assignment(self) -> tuple[Any, ...]:
        """The devices in row-major order: number i of a partitioned program runs on number i."""
        return tuple(self.devices.flat)

    @cached_property
    def local_devices(self) -> list:
        """The devices of this process."""
        return [device for device in self.device_assignment if is_local(device)]

    @cached_property
    def is_multi_process(self) -> bool:
        """Whether some devices belong to other processes."""
        return len(self.local_devices) != self.devices.size

    @cached_property
    def local_mesh(self) -> Mesh:
        """The block of the mesh that holds the devices of this process.

        Raises:
          ValueError: they form no block.
        """
        if self.empty:
            return self
        local = np.array([is_local(device) for device in self.device_assignment])
        places = local.reshape(self.devices.shape).nonzero()
        block = self.devices[tuple(slice(min(place), max(place) + 1) for place in places)]
        if block.size != len(self.local_devices):
            raise ValueError("local_mesh: this process's devices form no block of the mesh: "
                             f"{self.local_devices} in {self.device_ids}.")
        return Mesh(block, self.axis_names)

    @property
    def is_scalar(self) -> bool:
        """Whether it is one device, with no axes."""
        return self.size == 1 and not self.axis_names

    @cached_property
    def abstract_mesh(self) -> AbstractMesh:
        """The mesh without its devices."""
        if not self.axis_names:
            return no_abstract_mesh
        first = self.devices.flat[0]
        cores = getattr(first, "core_count", None) if first.platform == "gpu" else None
        kind = AbstractDevice(first.device_kind, cores, first.platform)
        return AbstractMesh(self.axis_sizes, self.axis_names, self.axis_types, abstract_device=kind)

    def __str__(self) -> str:
        if self.empty:
            return "Mesh()"
        return f"Mesh({_named_sizes(self)}, axis_types={self.axis_types})"

    def __repr__(self) -> str:
        if self.empty:
            return "Mesh(axis_sizes=(), axis_names=())"
        return (f"Mesh(axis_sizes={self.axis_sizes}, axis_names={self.axis_names}, "
                f"axis_types={self.axis_types})")

    def __enter__(self) -> Mesh:
        warnings.warn("`with mesh:` is deprecated, as it is in JAX: "
                      "use `with jax.set_mesh(mesh):`.", DeprecationWarning, user_stacklevel())
        override = Override(entered_mesh, self)
        override.__enter__()
        _entered.overrides.append(override)
        return self

    def __exit__(self, *exc_info: object) -> None:
        _entered.overrides.pop().__exit__(*exc_info)


def _check_names(devices: np.ndarray, axis_names: tuple[Any, ...]) -> None:
    if None in axis_names:
        raise ValueError(f"Mesh: an axis cannot be called None, got axis_names={axis_names}.")
    if devices.ndim != len(axis_names):
        raise ValueError("Mesh requires the ndim of its first argument to be the number of names, "
                         f"but the devices have shape {devices.shape}, and the names are "
                         f"{axis_names}.")


def _named_sizes(mesh: _NamedAxes) -> str:
    return ", ".join(f"'{name}': {size}" for name, size in mesh.shape_tuple)


def is_local(device: Any) -> bool:
    """Whether a device belongs to this process. One that only stands for a device does not."""
    if device is not None and getattr(device, "client", None) is None:
        return False
    return device.process_index == device.client.process_index()


@dataclass(frozen=True, repr=False)
class AbstractDevice:
    """What kind of devices an abstract mesh would be made of. In a pytree it is a leaf."""

    device_kind: str
    num_cores: int | None
    platform: str

    def _text(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in vars(self).items())

    def __repr__(self) -> str:
        return f"AbstractDevice({self._text()})"


def _missing(name: str) -> property:
    def read(self: AbstractMesh) -> Any:
        raise ValueError(f"An AbstractMesh has no {name}: it has no devices. Use a Mesh.")

    return property(read)


class AbstractMesh(_NamedAxes):
    """A mesh without devices: enough to trace a program, and the same for all meshes like it.

    Args:
      axis_sizes: the sizes of the axes.
      axis_names: their names.
      axis_types: an `AxisType` for each axis; by default all are `Auto`.
      abstract_device: what the devices would be, if that matters.

    Raises:
      ValueError: there are not as many types as axes.
      TypeError: an entry of `axis_types` is not an `AxisType`.

    >>> jax.sharding.AbstractMesh((4, 2), ("x", "y"))
    AbstractMesh('x': 4, 'y': 2, axis_types=(Auto, Auto))
    """

    abstract_device: AbstractDevice | None
    devices, device_ids = _missing("devices"), _missing("device_ids")
    is_multi_process = _missing("is_multi_process")
    local_devices, local_mesh = _missing("local_devices"), _missing("local_mesh")

    @public
    def __new__(cls, axis_sizes: Any, axis_names: Any, axis_types: Any = None, *,
                abstract_device: Any = None) -> AbstractMesh:
        iterable("AbstractMesh: axis_sizes", axis_sizes, "a sequence of integers")
        axis_types = _as_axis_types(axis_types, axis_names, "AbstractMesh")
        axis_sizes, axis_names = tuple(axis_sizes), tuple(axis_names)
        size = math.prod(axis_sizes) if axis_sizes else 0
        return interned(cls, axis_sizes, axis_names, axis_types, abstract_device,
                        make=lambda: cls._new(
                            axis_sizes=axis_sizes, axis_names=axis_names, axis_types=axis_types,
                            abstract_device=abstract_device, size=size))

    def __reduce__(self) -> tuple:
        args = self.axis_sizes, self.axis_names, self.axis_types
        return _abstract_mesh, (*args, self.abstract_device)

    def update(self, axis_sizes: Any = None, axis_names: Any = None, axis_types: Any = None,
               **kwargs: Any) -> AbstractMesh:
        """This mesh with other sizes, names, types or `abstract_device`."""
        return AbstractMesh(self.axis_sizes if axis_sizes is None else axis_sizes,
                            self.axis_names if axis_names is None else axis_names,
                            self.axis_types if axis_types is None else axis_types,
                            **{"abstract_device": self.abstract_device, **kwargs})

    def update_axis_types(self, name_to_type: dict[Any, AxisType]) -> AbstractMesh:
        """This mesh, where the named axes have other types."""
        pairs = zip(self.axis_names, self.axis_types, strict=True)
        return _with_types(self, tuple([name_to_type.get(name, old) for name, old in pairs]))

    @property
    def abstract_mesh(self) -> AbstractMesh:
        return self

    def __repr__(self) -> str:
        sizes = _named_sizes(self) or "()"
        kind = "" if self.abstract_device is None else f", {self.abstract_device._text()}"
        return f"AbstractMesh({sizes}, axis_types={self.axis_types}{kind})"


@functools.lru_cache(256)
def _with_types(mesh, axis_types):
    """A cache, since nothing else keeps the mesh of a `shard_map` or of `auto_axes` alive."""
    return mesh.update(axis_types=axis_types)


def _abstract_mesh(*args: Any) -> AbstractMesh:
    """Makes one while unpickling, which passes no keywords."""
    *axes, abstract_device = args
    return AbstractMesh(*axes, abstract_device=abstract_device)


no_abstract_mesh = AbstractMesh((), ())
no_mesh = Mesh(np.empty((), dtype=object), ())


@public
def make_mesh(axis_shapes: Sequence[int], axis_names: Any, axis_types: Any = None, *,
              devices: Sequence[Any] | None = None) -> Mesh:
    """A mesh of the first devices there are.

    Args:
      axis_shapes: the sizes of the axes.
      axis_names: their names.
      axis_types: an `AxisType` for each axis; by default all are `Explicit`.
      devices: the devices to use; by default all there are.

    Raises:
      ValueError: there are too few devices, a size is not an integer, or there are not as many
        names as sizes.

    >>> mesh = jax.make_mesh((1,), ("x",))
    >>> mesh
    Mesh(axis_sizes=(1,), axis_names=('x',), axis_types=(Explicit,))
    >>> jax.NamedSharding(mesh, jax.P("x")).shard_shape((6, 2))
    (6, 2)
    """
    sizes = mesh_sizes(axis_shapes, "make_mesh")
    if 0 in sizes:
        raise IndexError(f"make_mesh: a mesh of shape {sizes} has no devices.")
    devices = list(all_devices() if devices is None else devices)
    if math.prod(sizes) > len(devices):
        raise ValueError(f"Number of devices {len(devices)} must be >= the product of mesh_shape "
                         f"{sizes}. On a CPU, jax.config.update('jax_num_cpu_devices', n), before "
                         "anything is computed, makes n devices.")
    if axis_types is None:
        axis_types = (AxisType.Explicit,) * len(sizes)
    return Mesh(create_device_mesh(sizes, devices[:math.prod(sizes)]), axis_names, axis_types)


# ----------------------------------------------------------------------------------------------
# The mesh in force in this thread. Traces depend on it, so it is part of every cache key.


def _mesh_setting(name: str, help: str) -> WatchedState:
    """A setting for this module's own use: it is not among those of `jax.config`."""
    return WatchedState(name, None, lambda mesh: mesh, help)


entered_mesh = _mesh_setting("entered_mesh", "The mesh of the innermost `with mesh:`, or None.")
concrete_mesh = _mesh_setting("concrete_mesh", "The mesh of `set_mesh`, or None.")
abstract_mesh = _mesh_setting("abstract_mesh", "What `get_abstract_mesh` returns, or None.")
add_traced(entered_mesh, concrete_mesh, abstract_mesh)


class _Entered(threading.local):
    """The overrides that a thread's `with mesh:` statements have yet to take back."""

    def __init__(self) -> None:
        self.overrides: list[Override] = []


_entered = _Entered()

