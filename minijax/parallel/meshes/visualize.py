"""Chapter 14: pictures of shardings, drawn as text by the package `rich`."""

import importlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ...core.boundary import public
from .sharding import Sharding

_CHARACTER = 2.5  # how much higher than wide it is


@public
def visualize_sharding(shape: Sequence[int], sharding: Sharding, *, use_color: bool = True,
                       scale: float = 1.0, min_width: int = 9, max_width: int = 80,
                       color_map: Callable | None = None) -> None:
    """Print a picture of an array: each box is a part, and says which devices hold it.

    Args:
      shape: of the array: one dimension, or two.
      sharding: its sharding.
      use_color: whether to fill the boxes with colors, on a terminal that has them.
      scale: the size of the picture; at 1 it is 10 lines high.
      min_width, max_width: of a box, in characters.
      color_map: from numbers in [0, 1] to colors: tuples that begin with red, green and blue in
        [0, 1], or texts as "#A0A0A0". By default matplotlib's "tab20b", if that is installed.

    Raises:
      ValueError: `rich` is not installed, the array does not have one or two dimensions, or a
        dimension does not divide evenly.

    >>> mesh = jax.make_mesh((1,), ("x",), devices=jax.devices()[:1])
    >>> jax.debug.visualize_sharding((4, 8), jax.NamedSharding(mesh, jax.P("x")), scale=0.2)
    ┌────────┐
    │ CPU 0  │
    └────────┘
    """
    rich = _rich()
    if len(shape) not in (1, 2):
        raise ValueError(f"visualize_sharding: a picture has one dimension or two, not {shape}.")
    rows = _labels(tuple(shape), sharding)
    width, height = _box_size(shape, rows, scale)
    width = min(max(width, min_width), max_width)
    console = rich.console.Console(width=max_width)
    colors = _colors(color_map, rows) if use_color and console.color_system else None
    table = rich.table.Table(show_header=False, show_lines=not colors, padding=0, pad_edge=False,
                             highlight=not colors, box=None if colors else rich.box.SQUARE)
    for row in rows:
        table.add_row(*[_box(rich, label, width, height, next(colors) if colors else None)
                        for label in row])
    console.print(table, end="\n\n")


def _rich() -> Any:
    """The package that draws, which is loaded when there is something to draw."""
    try:
        for part in ("align", "box", "console", "padding", "style", "table"):
            importlib.import_module(f"rich.{part}")
    except ModuleNotFoundError:
        raise ValueError("visualize_sharding draws with the package `rich`, which is not "
                         "installed: `pip install rich`.") from None
    return importlib.import_module("rich")


def _labels(shape: tuple[int, ...], sharding: Sharding) -> list[list[str]]:
    """What the boxes say, in rows; a vector is one row."""
    sharding.shard_shape(shape)  # raises an error if it cannot be split so
    parts, tiles = sharding.tiles(len(shape))
    devices = sharding._device_assignment
    holders: dict[tuple, list[int]] = {}
    for device, tile in zip(devices, tiles, strict=True):
        holders.setdefault((0, *tile)[-2:], []).append(device.id)
    rows, columns = (1, *parts)[-2:]
    kind = devices[0].platform.upper()
    return [[f"{kind} {','.join(map(str, sorted(holders[i, j])))}" for j in range(columns)]
            for i in range(rows)]


def _box_size(shape: Sequence[int], rows: list[list[str]], scale: float) -> tuple[int, int]:
    """Width and height of a box, in characters: the picture has the proportions of the array."""
    total = int(10 * scale)
    if len(shape) == 1:
        return int(1 / len(rows[0]) * int(total / shape[0]) * _CHARACTER), 1
    width = 1 / len(rows[0]) * int(total * (shape[1] / shape[0]))
    return int(width * _CHARACTER), int(1 / len(rows) * total)


def _box(rich: Any, label: str, width: int, height: int, color: str | None) -> Any:
    """A label in the middle of a box of this size; a colored box has no frame, but a margin."""
    margin = 1 if color else 0
    left, odd_column = divmod(width - len(label) - 2, 2)
    top, odd_line = divmod(height - 2, 2)
    sides = (top, left + odd_column, top + odd_line, left)
    style = rich.style.Style(bgcolor=color, color=color and _readable_on(color))
    return rich.padding.Padding(rich.align.Align(label, "center", vertical="middle"),
                                tuple(max(side + margin, 0) for side in sides), style=style)


def _colors(color_map: Callable | None, rows: list[list[str]]) -> Iterator[str] | None:
    """A color for each box, such that neighbours differ much; `None` if there are no colors."""
    if color_map is None:
        try:
            color_map = importlib.import_module("matplotlib").colormaps["tab20b"]
        except ModuleNotFoundError:
            return None
    return _far_apart(color_map, len(rows) * len(rows[0]))


def _far_apart(color_map: Callable, count: int) -> Iterator[str]:
    """`count` colors, each about half of the map away from the one before."""
    place = 0
    for _ in range(count):
        color = color_map(place / max(count - 1, 1))
        yield color if isinstance(color, str) else "#" + "".join(
            f"{int(part * 255):02X}" for part in color[:3])
        place = (place + count // 2 + (count % 2 == 0)) % count


def _readable_on(color: str) -> str:
    """Black on light colors, white on dark ones."""
    red, green, blue = (int(color[i:i + 2], 16) for i in (1, 3, 5))
    return "#000000" if red * 0.299 + green * 0.587 + blue * 0.114 > 186 else "#ffffff"
