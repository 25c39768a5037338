"""Chapter 16: the shardings of exported functions as bytes, in JAX's format.

Each sharding and each mesh is stored once. The numbers of the fields are those of JAX's schema.
Chapter 14 is loaded when a sharding is read, which few functions have.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .flatbuffer import Table, Writer

_MESH, _SPEC, _MEMORY, _MESH_NUMBER = range(4)  # the fields of a sharding
_NAMED = 2  # the field of an entry that holds a sharding by name
_HLO = 1  # and the one in which JAX stored shardings before January 2026
_TYPES = ["Missing", "Auto", "Explicit", "Manual"]  # of axes


class StoredShardings:
    """The shardings of a function that is being stored."""

    def __init__(self, shardings: Sequence[Any]):
        self.each = [*dict.fromkeys(x for x in shardings if x is not None)]
        self.meshes = [*dict.fromkeys(x.mesh for x in self.each)]

    def number(self, sharding: Any) -> int:
        """What is stored for a sharding: 0 for `None`."""
        return 0 if sharding is None else 1 + self.each.index(sharding)

    def write_entry(self, writer: Writer, sharding: Any) -> int:
        """Write a sharding or `None`, as readers expect it that do not know the numbers."""
        if sharding is None:
            return writer.table({})
        return writer.table({_NAMED: ("", lambda writer: self.write(writer, sharding))})

    def write(self, writer: Writer, sharding: Any) -> int:
        """Write a sharding."""
        fields: dict[int, tuple[str, Any]] = {
            _MESH: ("", lambda writer: write_mesh(writer, sharding.mesh)),
            _SPEC: ("", lambda writer: _write_spec(writer, sharding.spec)),
            _MESH_NUMBER: ("I", self.meshes.index(sharding.mesh))}
        if (kind := sharding.memory_kind) is not None:
            fields[_MEMORY] = "", lambda writer: writer.string(kind)
        return writer.table(fields)


def write_mesh(writer: Writer, mesh: Any) -> int:
    """Write an abstract mesh."""
    types = [_TYPES.index(kind.name) for kind in mesh.axis_types]
    fields: dict[int, tuple[str, Any]] = {
        0: ("", lambda writer: writer.scalars("I", mesh.axis_sizes)),
        1: ("", lambda writer: _write_names(writer, mesh.axis_names)),
        2: ("", lambda writer: writer.scalars("b", types))}
    if (device := mesh.abstract_device) is not None:
        fields[3] = "", lambda writer: _write_device(writer, device)
    return writer.table(fields)


def _write_device(writer, device):
    fields: dict[int, tuple[str, Any]] = {
        0: ("", lambda writer: writer.string(device.device_kind)),
        2: ("", lambda writer: writer.string(device.platform))}
    if device.num_cores is not None:
        fields[1] = "I", device.num_cores
    return writer.table(fields)


def _write_spec(writer: Writer, spec: Any) -> int:
    return writer.table({
        0: ("", lambda writer: writer.vector(spec.partitions, _write_axes)),
        1: ("", lambda writer: _write_names(writer, sorted(spec.reduced))),
        2: ("", lambda writer: _write_names(writer, sorted(spec.unreduced)))})


def _write_axes(writer, entry):
    axes = () if entry is None else (entry,) if isinstance(entry, str) else entry
    if not isinstance(axes, tuple):
        raise TypeError(f"serialize: the entry {entry} of a PartitionSpec cannot be stored. Name "
                        "the axes of the mesh, or write None.")
    return writer.table({0: ("", lambda writer: _write_names(writer, axes))})


def _write_names(writer, names):
    if others := [name for name in names if not isinstance(name, str)]:
        raise TypeError(f"serialize: the axis {others[0]!r} of a mesh cannot be stored, since its "
                        "name is not a string.")
    return writer.vector([*names], Writer.string)


# ----------------------------------------------------------------------------------------------
# Reading


def read_shardings(numbers: Sequence[int], entries: Sequence[Table], each: Sequence[Table],
                   meshes: Sequence[Table]) -> tuple[Any, ...]:
    """The shardings of the arguments, or those of the results.

    Args:
      numbers: those of the shardings in `each`, from 1, or 0 for `None`.
      entries: the same as tables, which older functions have instead.
      each: the shardings.
      meshes: the meshes.
    """
    known = [*map(read_mesh, meshes)]
    if numbers:
        read = [_read(table, known) for table in each]
        return tuple(None if number == 0 else read[number - 1] for number in numbers)
    return tuple(_read_entry(entry, known) for entry in entries)


def _read_entry(entry, meshes):
    if entry.blob(_HLO):
        raise NotImplementedError("deserialize: the function says its shardings as JAX did before "
                                  "January 2026, without a mesh. Export it again.")
    table = entry.table(_NAMED)
    return table and _read(table, meshes)


def _read(table: Table, meshes: Sequence) -> Any:
    from ..parallel.sharding import NamedSharding

    mesh = table.table(_MESH)
    assert mesh is not None or meshes
    known = meshes[table.scalar(_MESH_NUMBER, "I")] if meshes else read_mesh(mesh)
    return NamedSharding(known, _read_spec(table.table(_SPEC)), memory_kind=table.string(_MEMORY))


def read_mesh(table: Any) -> Any:
    """The abstract mesh of a table."""
    from ..parallel.mesh import AbstractDevice, AbstractMesh, AxisType

    device = table.table(3)
    if device is not None:
        kind = device.string(0) or ""
        device = AbstractDevice(kind, device.scalar(1, "I", None),
                                device.string(2) or _platform_of(kind))
    types = tuple(AxisType[_TYPES[number]] for number in table.scalars(2, "b"))
    return AbstractMesh(tuple(table.scalars(0, "I")), tuple(table.strings(1)), types,
                        abstract_device=device)


def _platform_of(kind: str) -> str:
    """The platform of a kind of device, which older functions do not say."""
    kind = kind.lower()
    return next((name for name in ("cpu", "tpu") if name in kind), "gpu")


def _read_spec(table: Any) -> Any:
    from ..parallel.partition_spec import P

    entries = [tuple(entry.strings(0)) for entry in table.tables(0)]
    return P(*(axes[0] if len(axes) == 1 else axes or None for axes in entries),
             reduced=frozenset(table.strings(1)), unreduced=frozenset(table.strings(2)))
