"""The computation graph as SVG.

Everything is drawn, so the picture is complete without scripts. `data-at` is the number of the
event with which a part appears, and `data-until` that with which it is replaced: the player hides
what has not happened yet, and lights what happens now.
"""

import html
from collections import Counter
from collections.abc import Iterator
from itertools import zip_longest

from .graph import Graph, Node

WIDTH, HEIGHT = 104, 40  # of a node
ACROSS = 142  # from column to column
ROW = {"primal": 58, "tangent": 76, "cotangent": 58}  # below a tangent stands its cotangent
TITLES = {"primal": "primals", "tangent": "tangents", "cotangent": "computed on the way back"}
LEFT, TITLE = 10, 24
LONGEST, LONGEST_SUM = 14, 18  # letters in a node, and below it


def draw(graph: Graph, name: str = "tg") -> str:
    """The picture, empty for no graph. On a page, each picture has a name of its own."""
    if not graph.nodes:
        return ""
    places, lanes, width, height = _places(graph.nodes)
    parts = [f'<text class="tg-lane" x="{LEFT}" y="{y + 14}">{TITLES[lane]}</text>'
             for lane, y in lanes.items()]
    parts += [_edge(places, x, node, name) for node in graph.nodes for x in node.operands]
    parts += [_way_back(places, graph.nodes[source], node, at, name) for node in graph.nodes
              for at, _, source in node.cotangents if source is not None]
    parts += [_node(node, *places[node.number]) for node in graph.nodes]
    label = html.escape(describe(graph), quote=True)
    return (f'<svg class="tg" role="img" aria-label="{label}" '
            f'width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
            f"{_arrows(name)}{''.join(parts)}</svg>")


def _arrows(name: str) -> str:
    """The heads of arrows; their ids are of this picture alone."""
    return "<defs>" + "".join(
        f'<marker id="{name}-{kind}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" markerUnits="userSpaceOnUse" orient="auto-start-reverse">'
        f'<path class="tg-head tg-{kind}" d="M0 0 8 4 0 8z"/></marker>'
        for kind in ("on", "back")) + "</defs>"


def describe(graph: Graph) -> str:
    """The graph in a sentence."""
    lanes = Counter(node.lane for node in graph.nodes)
    counted = ", ".join(f"{lanes[lane]} {TITLES[lane]}" for lane in TITLES if lanes[lane])
    residuals = {x.number for node in graph.nodes for x in node.residuals}
    more = f", of which {len(residuals)} are residuals" if residuals else ""
    back = sum(bool(node.cotangents) for node in graph.nodes)
    cotangents = f"; {back} of them received a cotangent" if back else ""
    return f"The computation graph: {counted}{more}{cotangents}."


def _columns(nodes: list[Node]) -> list[int]:
    """Each node is right of its operands; an input is directly left of its first use."""
    columns = [0] * len(nodes)
    for node in nodes:
        columns[node.number] = 1 + max((columns[x.number] for x in node.operands), default=-1)
    for node in nodes:
        uses = [columns[other.number] for other in nodes if node in other.operands]
        if not node.operands and uses:
            columns[node.number] = min(uses) - 1
    return columns


def _places(nodes: list[Node]):
    """For each node the left upper corner, for each lane its top, and the picture's size."""
    columns, used = _columns(nodes), Counter[tuple[str, int]]()
    rows = []
    for node in nodes:
        key = node.lane, columns[node.number]
        rows.append(used[key])
        used[key] += 1
    lanes, y = {}, 0
    for lane in TITLES:
        depth = max((row + 1 for node, row in zip(nodes, rows, strict=True) if node.lane == lane),
                    default=0)
        if depth:
            lanes[lane] = y
            y += TITLE + depth * ROW[lane]
    places = [(LEFT + columns[node.number] * ACROSS, lanes[lane] + TITLE + row * ROW[lane])
              for node, row in zip(nodes, rows, strict=True) for lane in [node.lane]]
    return places, lanes, max(columns) * ACROSS + WIDTH + 2 * LEFT, y


def _curve(places, start: Node, end: Node) -> str:
    """From the right side of one node to the left side of another, over nodes between them."""
    (x0, y0), (x1, y1) = places[start.number], places[end.number]
    x0, y0, y1 = x0 + WIDTH, y0 + HEIGHT // 2, y1 + HEIGHT // 2
    if y0 == y1 and x1 - x0 > ACROSS:
        over = y0 - HEIGHT // 2 - 16
        return f"M{x0} {y0 - 8}C{x0 + 30} {over} {x0 + 40} {over} {x0 + 60} {over}" \
               f"H{x1 - 60}C{x1 - 40} {over} {x1 - 30} {over} {x1} {y1 - 8}"
    bend = max(24, (x1 - x0) // 2)
    return f"M{x0} {y0}C{x0 + bend} {y0} {x1 - bend} {y1} {x1} {y1}"


def _edge(places, start: Node, end: Node, name: str) -> str:
    kind = "residual" if start in end.residuals else start.lane
    return (f'<path class="tg-edge tg-{kind}" data-at="{end.at}" d="{_curve(places, start, end)}" '
            f'marker-end="url(#{name}-on)"/>')


def _way_back(places, start: Node, end: Node, at: int, name: str) -> str:
    """The cotangent's way: along the edge, against its direction."""
    return (f'<path class="tg-way" data-at="{at}" d="{_curve(places, end, start)}" '
            f'marker-start="url(#{name}-back)"/>')


def _node(node: Node, x: int, y: int) -> str:
    kind = f"tg-node tg-{node.lane}" + " tg-input" * (not node.label)
    label = _cut(node.label or "input")
    full = html.escape(f"{node.label or 'input'}: {node.value}")
    parts = [f"<title>{full}</title>",
             f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="6"/>',
             f'<text class="tg-label" x="{x + 8}" y="{y + 16}">{label}</text>',
             f'<text class="tg-value" x="{x + 8}" y="{y + 33}">{_cut(node.value)}</text>']
    return (f'<g class="{kind}" data-at="{node.at}">{"".join(parts)}</g>'
            + "".join(_cotangents(node, x, y)))


def _cotangents(node: Node, x: int, y: int) -> Iterator[str]:
    """The texts below a node, each in place of the one before."""
    untils = [at for at, _, _ in node.cotangents][1:]
    for (at, text, _), until in zip_longest(node.cotangents, untils):
        end = f' data-until="{until}"' if until is not None else ""
        terms, _, total = text.partition(" = ")
        lines = [terms if len(terms) <= LONGEST_SUM else "… +" + terms.rpartition(" +")[2]]
        lines += [f"= {total}"] * bool(total)
        yield (f'<text class="tg-ct" data-at="{at}"{end} x="{x + 2}" y="{y + HEIGHT + 14}">'
               + "".join(f'<tspan x="{x + 2}" dy="{13 * i}">{_cut(line, LONGEST_SUM)}</tspan>'
                         for i, line in enumerate(lines))
               + f"<title>cotangent: {html.escape(text)}</title></text>")


def _cut(text: str, longest: int = LONGEST) -> str:
    """Cut, and escaped."""
    return html.escape(text if len(text) <= longest else text[: longest - 1] + "…")
