"""Chapter 14: the order of an array's elements in the memory of a device.

A `Layout` names the dimensions from the slowest to the fastest: rows after rows is (0, 1), columns
after columns (1, 0). A `Format` is a layout and a sharding, and stands where a sharding can stand:
in `device_put`, `in_shardings`, `out_shardings` and `ShapeDtypeStruct`.

minijax keeps all arrays in row-major order, and refuses every other layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.api_util import flatten_axes
from ...core.array import Array
from ...core.boundary import api_boundary
from ...core.core import install_methods, typeof
from ...core.tree import tree_flatten
from ...runtime.structs import ShapeDtypeStruct
from .sharding import Sharding


class _Auto:
    """The type of `Layout.AUTO`: XLA chooses."""

    def __repr__(self):
        return "AUTO"


AUTO = _Auto()


class Layout:
    """The order of the elements of an array in memory.

    Args:
      major_to_minor: the dimensions, from the slowest to the fastest.
      tiling: the sizes of tiles, for accelerators.
      sub_byte_element_size_in_bits: of elements that share bytes; otherwise 0.

    `Layout.AUTO` leaves the choice to XLA.

    >>> from minijax.experimental.layout import Layout
    >>> Layout((0, 1)) == Layout([0, 1])
    True
    """

    __slots__ = ("major_to_minor", "tiling", "sub_byte_element_size_in_bits")

    AUTO = AUTO

    def __init__(self, major_to_minor: Sequence[int],
                 tiling: Sequence[Sequence[int]] | None = None,
                 sub_byte_element_size_in_bits: int = 0):
        self.major_to_minor = tuple(major_to_minor)
        self.tiling = None if tiling is None else tuple(map(tuple, tiling))
        self.sub_byte_element_size_in_bits = sub_byte_element_size_in_bits

    def _key(self):
        return self.major_to_minor, self.tiling, self.sub_byte_element_size_in_bits

    def update(self, **changes: Any) -> Layout:
        """The same layout with some of the three attributes replaced."""
        return Layout(**(dict(zip(Layout.__slots__, self._key())) | changes))

    def __eq__(self, other):
        return isinstance(other, Layout) and self._key() == other._key()

    def __hash__(self):
        return hash(self._key())

    def __reduce__(self):
        return Layout, self._key()

    def __repr__(self):
        return (f"Layout(major_to_minor={self.major_to_minor}, tiling={self.tiling}, "
                f"sub_byte_element_size_in_bits={self.sub_byte_element_size_in_bits})")


class Format:
    """A layout and a sharding.

    Args:
      layout: a `Layout`, `Layout.AUTO`, or `None` for the default.
      sharding: a sharding; `None` only if `layout` is not a `Layout`.

    Raises:
      ValueError: a `Layout` without a sharding.
      TypeError: an argument of another type.

    >>> from minijax.experimental.layout import Format, Layout
    >>> rows = Format(Layout((0, 1)), jnp.ones(1).sharding)
    >>> jax.device_put(jnp.ones((2, 3)), rows).format.layout.major_to_minor
    (0, 1)
    """

    __slots__ = ("layout", "sharding")

    def __init__(self, layout: Layout | _Auto | None = None, sharding: Sharding | None = None):
        if isinstance(layout, Layout) and sharding is None:
            raise ValueError(f"Format: {layout} needs a sharding. Pass a NamedSharding or a "
                             "SingleDeviceSharding as the second argument.")
        if not isinstance(layout, Layout | _Auto | None):
            raise TypeError(f"Format: layout is {layout!r} of type {type(layout)}; expected a "
                            "Layout, Layout.AUTO or None.")
        if not isinstance(sharding, Sharding | None):
            raise TypeError(f"Format: sharding is {sharding!r} of type {type(sharding)}; expected "
                            "a sharding or None.")
        self.layout, self.sharding = layout, sharding

    def __eq__(self, other):
        return (isinstance(other, Format) and self.layout == other.layout
                and self.sharding == other.sharding)

    def __hash__(self):
        return hash((self.layout, self.sharding))

    def __repr__(self):
        return f"Format(layout={self.layout}, sharding={self.sharding})"


# ----------------------------------------------------------------------------------------------
# Row-major order


def check_layout(layout: Any, what: str, ndim: int | None = None) -> None:
    """Raise an error if a `Layout` is not row-major order, of `ndim` dimensions if that is known.
    """
    if not isinstance(layout, Layout):
        return
    order = layout.major_to_minor
    if ndim not in (None, len(order)):
        raise ValueError(f"{what} is incompatible with its layout {layout}: major_to_minor must "
                         f"name each dimension of the array, which has {ndim}.")
    if order != (*range(len(order)),) or layout.tiling:
        raise NotImplementedError(f"{what}: minijax keeps arrays in row-major order, "
                                  f"Layout({(*range(len(order)),)}), got {layout}.")


def sharding_of_format(entry: Any, what: str) -> Any:
    """The sharding of a `Format`; anything else as it is."""
    if not isinstance(entry, Format):
        return entry
    check_layout(entry.layout, what)
    return entry.sharding


def default_format(x: Any, sharding: Sharding) -> Format:
    """The format of an array, or of a type, with this sharding."""
    return Format(Layout(range(x.ndim), ()), sharding)


def _format(x: Any) -> Format:
    """The layout and the sharding; random keys have none."""
    if not isinstance(x.dtype, np.dtype):
        raise AttributeError("An array of random keys has no `format`.")
    return default_format(x, x.sharding)


def format_of_struct(struct: ShapeDtypeStruct) -> Format:
    """The layout, which is not stated, and the sharding."""
    return Format(None, struct.sharding)


install_methods({"format": property(_format)}, Array)


@api_boundary
def with_layout_constraint(x: Any, layouts: Any) -> Any:
    """Constrain the layouts of arrays: to row-major order, which all arrays have.

    Args:
      x: a pytree of arrays.
      layouts: a `Layout`, or a prefix of `x` with `Layout`s.

    Returns:
      the arrays.

    Raises:
      ValueError: an entry is not a `Layout`, or has another number of dimensions than its array.
      NotImplementedError: a layout is not row-major order.

    >>> from minijax.experimental.layout import Layout, with_layout_constraint
    >>> with_layout_constraint(jnp.ones((1, 2)), Layout((0, 1)))
    Array([[1., 1.]], dtype=float32)
    """
    leaves, tree = tree_flatten(x)
    flat = flatten_axes("with_layout_constraint layouts", tree, layouts)
    for leaf, layout in zip(leaves, flat):
        if not isinstance(layout, Layout):
            raise ValueError("with_layout_constraint: expected layouts of type `Layout`, got "
                             f"{layout!r}.")
        check_layout(layout, "An argument of with_layout_constraint", typeof(leaf).ndim)
    return x
