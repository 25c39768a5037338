"""Chapter 14: the order of an array's elements in the memory of a device.

A `Layout` names the dimensions from the slowest to the fastest: rows after rows is (0, 1), columns
after columns (1, 0). A `Format` is a layout and a sharding, and stands where a sharding can stand:
in `device_put`, `in_shardings`, `out_shardings` and `ShapeDtypeStruct`. Values never depend on it.

On a CPU, minijax keeps all of XLA's buffers in row-major order. An array's layout, which `format`
returns, is that of its NumPy contents.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.api_util import flatten_axes
from ...core.array import Array
from ...core.batching import primitive_batchers
from ...core.boundary import api_boundary
from ...core.core import Primitive, ShapedArray, install_methods, typeof
from ...core.lowering import register_lowering
from ...core.transposition import deflinear2
from ...core.tree import tree_flatten
from ...errors import JaxRuntimeError
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
    >>> Layout((1, 0)) == Layout([1, 0])
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
    >>> columns = Format(Layout((1, 0)), jnp.ones(1).sharding)
    >>> jax.device_put(jnp.ones((2, 3)), columns).format.layout.major_to_minor
    (1, 0)
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
# The layout of an array


def check_layout(layout: Any, aval: ShapedArray, what: str) -> None:
    """Raise ValueError unless an array of this type has the dimensions that the layout names."""
    if not isinstance(layout, Layout):
        return
    if len(layout.major_to_minor) != aval.ndim:
        raise ValueError(
            f"{what} is incompatible with its layout {layout}: major_to_minor must name each "
            f"dimension of the array, whose shape is {aval.shape}.")


def check_order(layout: Layout, aval: ShapedArray) -> None:
    """Raise XLA's error for a layout that does not name each dimension exactly once."""
    if sorted(layout.major_to_minor) != [*range(aval.ndim)]:
        raise JaxRuntimeError(f"INVALID_ARGUMENT: the layout {layout} must name each dimension of "
                              f"the shape {aval.shape} once.")


def default_layout(ndim: int) -> Layout:
    """The order of the dimensions."""
    return Layout(range(ndim), ())


def settled(layout: Any) -> Layout | None:
    """The layout of an array for which this one was asked: `None` is the default one."""
    if not isinstance(layout, Layout) or layout.major_to_minor == (
            *range(len(layout.major_to_minor)),):
        return None
    return Layout(layout.major_to_minor, layout.tiling or ())


def given_layout(x: Any) -> Layout | None:
    """The layout of an array or of a `ShapeDtypeStruct`; `None` for the default."""
    layout = getattr(x, "layout", None) or getattr(x, "_layout", None)
    return settled(layout)


def layout_of(x: Any) -> Layout:
    """The layout of an array."""
    return given_layout(x) or default_layout(typeof(x).ndim)


def in_order(value: np.ndarray, layout: Layout | None) -> np.ndarray:
    """The same contents, with strides as the layout says."""
    if layout is None:
        return value
    order = layout.major_to_minor
    out = np.ascontiguousarray(value.transpose(order)).transpose(np.argsort(order))
    out.flags.writeable = False
    return out


def _format(x: Any) -> Format:
    """The layout and the sharding; random keys have none."""
    if not isinstance(x.dtype, np.dtype):
        raise AttributeError("An array of random keys has no `format`.")
    return Format(layout_of(x), x.sharding)


def format_of_struct(struct: ShapeDtypeStruct) -> Format:
    """The layout and the sharding, as far as they are known."""
    return Format(struct._layout, struct.sharding)


install_methods({"format": property(_format)}, Array)

# ----------------------------------------------------------------------------------------------
# Constraints


layout_constraint_p = Primitive("layout_constraint")


@layout_constraint_p.def_abstract_eval
def _same_type(aval, *, layout):
    check_layout(layout, aval, "An argument of with_layout_constraint")
    return aval


def _batch(args, dims, *, layout):
    """The examples lie one after another."""
    (x,), (dim,) = args, dims
    return layout_constraint_p.bind(x, layout=layout_of_batch(layout, dim)), dim


def layout_of_batch(layout: Layout, dim: int) -> Layout:
    """The layout of examples that lie one after another, with the batch dimension at `dim`."""
    return layout.update(major_to_minor=(dim, *[d + (d >= dim) for d in layout.major_to_minor]))


def lower_layout(ctx, x, *, layout):
    """A custom call that XLA removes once it has chosen the layout."""
    minor_to_major = f"dense<{[*layout.major_to_minor[::-1]]}> : tensor<{x.aval.ndim}xindex>"
    return ctx.op(f"stablehlo.custom_call @LayoutConstraint({x.name}) {{"
                  f"operand_layouts = [{minor_to_major}], result_layouts = [{minor_to_major}]}} : "
                  f"({x.type}) -> {x.type}", x.aval)


deflinear2(layout_constraint_p, lambda ct, x, *, layout: [
    layout_constraint_p.bind(ct, layout=layout)])
primitive_batchers[layout_constraint_p] = _batch
register_lowering(layout_constraint_p, lower_layout)


@api_boundary
def with_layout_constraint(x: Any, layouts: Any) -> Any:
    """Constrain the layouts of arrays.

    Args:
      x: a pytree of arrays.
      layouts: a `Layout`, or a prefix of `x` with `Layout`s.

    Returns:
      the arrays. Their cotangents get the same layouts.

    Raises:
      ValueError: an entry is not a `Layout`, or has another number of dimensions than its array.

    >>> from minijax.experimental.layout import Layout, with_layout_constraint
    >>> with_layout_constraint(jnp.ones((1, 2)), Layout((1, 0)))
    Array([[1., 1.]], dtype=float32)
    """
    leaves, tree = tree_flatten(x)
    flat = flatten_axes("with_layout_constraint layouts", tree, layouts)
    if wrong := [layout for layout in flat if not isinstance(layout, Layout)]:
        raise ValueError("with_layout_constraint: expected layouts of type `Layout`, got "
                         f"{wrong}.")
    return tree.unflatten([layout_constraint_p.bind(leaf, layout=layout)
                           for leaf, layout in zip(leaves, flat)])
