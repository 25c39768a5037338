"""Chapter 16: FlatBuffers, the encoding in which JAX stores exported functions.

A *table* is a record whose fields are numbered, and can be absent. In memory it begins with the
distance to its *vtable*, which lists for each field how far from the table's start it is:

    buffer : u32 position of the root table, …
    vtable : u16 its size, u16 the size of the table, u16 offset of field 0 (0: absent), …
    table  : i32 distance back to the vtable, then the fields
    vector : u32 number of elements, then the elements;   string : a vector of bytes, and a zero

Scalars stand in the table itself. For a table, a vector or a string, it holds the distance from
that place on to the object, which therefore lies behind it. All is little-endian, and aligned.

`Writer` writes front to back: an object is given its place, and the distances to what it refers to
are filled in as those are written. `Table` reads.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

SIZES = {"b": 1, "B": 1, "?": 1, "h": 2, "H": 2, "i": 4, "I": 4}


class Writer:
    """A buffer while it is being written."""

    def __init__(self):
        self.bytes = bytearray(4)  # the position of the root

    def finish(self, root: int) -> bytearray:
        """The buffer whose root is the table at this position."""
        struct.pack_into("<I", self.bytes, 0, root)
        return self.bytes

    def _align(self, size: int) -> int:
        self.bytes.extend(bytes(-len(self.bytes) % size))
        return len(self.bytes)

    def _refer(self, place: int, position: int) -> None:
        struct.pack_into("<I", self.bytes, place, position - place)

    def scalars(self, letter: str, values: Sequence[int]) -> int:
        """Write a vector of numbers; returns its position, as the other methods do."""
        position = self._align(4)
        self.bytes.extend(struct.pack(f"<I{len(values)}{letter}", len(values), *values))
        return position

    def blob(self, value: bytes) -> int:
        """Write a vector of bytes."""
        position = self._align(4)
        self.bytes.extend(struct.pack("<I", len(value)) + value)
        return position

    def string(self, value: str) -> int:
        """Write a string."""
        position = self.blob(value.encode())
        self.bytes.append(0)
        return position

    def vector(self, items: Sequence[Any], write: Callable[[Writer, Any], int]) -> int:
        """Write a vector of tables or strings, each written by `write(writer, item)`."""
        position = self._align(4)
        self.bytes.extend(struct.pack("<I", len(items)) + bytes(4 * len(items)))
        for i, item in enumerate(items):
            self._refer(position + 4 * (i + 1), write(self, item))
        return position

    def table(self, fields: dict[int, tuple[str, Any]]) -> int:
        """Write a table. A field is a pair of a letter of `struct`'s and a number, or of "" and a
        function that writes what the field refers to."""
        sizes = {number: SIZES.get(kind, 4) for number, (kind, _) in fields.items()}
        order, offsets, size = sorted(fields, key=lambda number: -sizes[number]), {}, 4
        for number in order:
            offsets[number] = size
            size += sizes[number]
        count = max(fields, default=-1) + 1
        vtable = self._align(4)
        self.bytes.extend(struct.pack(
            f"<HH{count}H", 4 + 2 * count, size, *(offsets.get(i, 0) for i in range(count))))
        position = self._align(4)
        self.bytes.extend(struct.pack("<i", position - vtable) + bytes(size - 4))
        for number in order:
            kind, value = fields[number]
            place = position + offsets[number]
            if kind:
                struct.pack_into(f"<{kind}", self.bytes, place, value)
            else:
                self._refer(place, value(self))
        return position


class Table:
    """A table in a buffer."""

    def __init__(self, buffer: bytes, position: int):
        self.buffer, self.position = buffer, position

    @classmethod
    def root(cls, buffer: bytes) -> Table:
        """The root of a buffer."""
        return cls(buffer, _read("I", buffer, 0))

    def _place(self, number: int) -> int:
        """Where a field is; 0 if it is absent."""
        vtable = self.position - _read("i", self.buffer, self.position)
        if 4 + 2 * number >= _read("H", self.buffer, vtable):
            return 0
        offset = _read("H", self.buffer, vtable + 4 + 2 * number)
        return offset and self.position + offset

    def scalar(self, number: int, letter: str, default: Any = 0) -> Any:
        """A field that is a number."""
        place = self._place(number)
        return _read(letter, self.buffer, place) if place else default

    def _target(self, number: int) -> int:
        place = self._place(number)
        return place and _follow(self.buffer, place)

    def table(self, number: int) -> Table | None:
        """A field that is a table, or `None`."""
        target = self._target(number)
        return Table(self.buffer, target) if target else None

    def blob(self, number: int) -> bytes:
        """A field that is a vector of bytes."""
        return _blob(self.buffer, self._target(number))

    def string(self, number: int) -> str | None:
        """A field that is a string, or `None`."""
        target = self._target(number)
        return _blob(self.buffer, target).decode() if target else None

    def scalars(self, number: int, letter: str) -> list[Any]:
        """A field that is a vector of numbers."""
        target = self._target(number)
        if not target:
            return []
        count = _read("I", self.buffer, target)
        return [*struct.unpack_from(f"<{count}{letter}", self.buffer, target + 4)]

    def _elements(self, number: int) -> list[int]:
        target = self._target(number)
        count = _read("I", self.buffer, target) if target else 0
        return [_follow(self.buffer, target + 4 * (i + 1)) for i in range(count)]

    def tables(self, number: int) -> list[Table]:
        """A field that is a vector of tables."""
        return [Table(self.buffer, position) for position in self._elements(number)]

    def strings(self, number: int) -> list[str]:
        """A field that is a vector of strings."""
        return [_blob(self.buffer, position).decode() for position in self._elements(number)]


def _read(letter, buffer, place):
    return struct.unpack_from(f"<{letter}", buffer, place)[0]


def _follow(buffer, place):
    return place + _read("I", buffer, place)


def _blob(buffer, position):
    if not position:
        return b""
    count = _read("I", buffer, position)
    return bytes(buffer[position + 4: position + 4 + count])
