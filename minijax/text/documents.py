"""Chapter 5: a small pretty printer.

A *document* says where lines may break, and `layout` decides where they do. `printing.py` makes
documents of jaxprs.
"""

from __future__ import annotations

from collections.abc import Iterable

# ----------------------------------------------------------------------------------------------
# Documents: texts, and the places where a line may break.


class Doc:
    """A document. `width` is its width on one line. A plain `str` is also a document.

    The width is computed from the parts when the document is made. So `layout` can decide on a
    group without looking into it, and printing takes linear time.
    """

    __slots__ = ("width",)
    width: int


class Text(Doc):
    """Text with a colour, or with a note for the margin of its line."""

    __slots__ = ("text", "note", "style")

    def __init__(self, text: str, note: str | None = None, style: Style | None = None):
        self.text, self.note, self.style = text, note, style
        self.width = len(text)


class Break(Doc):
    """`text` if the group around it fits on its line, and otherwise a new line."""

    __slots__ = ("text",)

    def __init__(self, text: str = " "):
        self.text, self.width = text, len(text)


class Concat(Doc):
    """Documents in a row."""

    __slots__ = ("parts",)

    def __init__(self, parts: Iterable[AnyDoc]):
        self.parts = list(parts)
        self.width = sum([len(p) if isinstance(p, str) else p.width for p in self.parts])


class Nest(Doc):
    """A document whose new lines begin `indent` columns further to the right."""

    __slots__ = ("indent", "body")

    def __init__(self, indent: int, body: Doc):
        self.indent, self.body = indent, body
        self.width = body.width


class Group(Doc):
    """A document that is set on one line if it fits. Otherwise it breaks at *all* its breaks.

    Only the group has to fit, whatever follows it. The groups inside it decide for themselves.
    """

    __slots__ = ("body",)

    def __init__(self, body: Doc):
        self.body = body
        self.width = body.width


AnyDoc = str | Doc
Style = tuple[int, int]  # the terminal's codes for colour and intensity

SPACE = Break(" ")
NOTHING = Break("")
PLAIN: Style = (39, 22)
KEYWORD: Style = (34, 1)
TYPE: Style = (35, 22)


def join(separator: AnyDoc, docs: Iterable[AnyDoc]) -> Doc:
    """The documents in a row, with `separator` between them."""
    parts: list[AnyDoc] = []
    for doc in docs:
        parts += (separator, doc)
    return Concat(parts[1:])


# ----------------------------------------------------------------------------------------------
# Layout: from a document to lines.


class Page:
    """The finished lines, and the line that is being written."""

    __slots__ = ("lines", "pieces", "column", "notes", "style", "use_color")

    def __init__(self, use_color: bool):
        self.lines: list[tuple[str, int, list[str]]] = []
        self.pieces: list[str] = []
        self.column = 0
        self.notes: list[str] = []
        self.style = PLAIN
        self.use_color = use_color

    def write(self, text: str, style: Style = PLAIN) -> None:
        if self.use_color and style != self.style:
            codes = [str(new) for new, old in zip(style, self.style, strict=True) if new != old]
            self.pieces.append(f"\x1b[{';'.join(codes)}m")
            self.style = style
        self.pieces.append(text)
        self.column += len(text)

    def write_noted(self, doc: Text) -> None:
        self.write(doc.text, doc.style or PLAIN)
        if doc.note is not None:
            self.notes.append(doc.note)

    def end_line(self, indent: int) -> None:
        """Finish this line, and begin the next one `indent` columns in."""
        if self.notes:
            self.write("")  # in the plain style
        self.lines.append(("".join(self.pieces), self.column, self.notes))
        self.pieces, self.column, self.notes = [" " * indent], indent, []

    def text(self) -> str:
        """All lines, with the notes in one column on the right."""
        self.write("")  # leaves the terminal plain
        self.end_line(0)
        margin = max(column for _, column, _ in self.lines)
        out = []
        for line, column, notes in self.lines:
            gaps = [margin - column] + [margin] * len(notes)
            remarks = [f"{' ' * gap} # {note}" for gap, note in zip(gaps, notes, strict=False)]
            first, *more = [self.dim(remark) for remark in remarks] or [""]
            out += [line + first, *more]
        return "\n".join(out)

    def dim(self, text: str) -> str:
        return f"\x1b[2m{text}\x1b[22m" if self.use_color else text


def layout(doc: AnyDoc, width: int = 80, use_color: bool = False) -> str:
    """Set a document in lines of at most `width` columns where its breaks allow that."""
    page = Page(use_color)
    agenda: list[tuple[AnyDoc, int, bool]] = [(doc, 0, False)]  # document, indentation, flat?
    while agenda:
        doc, indent, flat = agenda.pop()
        if isinstance(doc, str):
            page.write(doc)
        elif isinstance(doc, Concat):
            agenda.extend([(part, indent, flat) for part in reversed(doc.parts)])
        elif isinstance(doc, Group):
            agenda.append((doc.body, indent, flat or page.column + doc.width <= width))
        elif isinstance(doc, Nest):
            agenda.append((doc.body, indent + doc.indent, flat))
        elif isinstance(doc, Text):
            page.write_noted(doc)
        elif isinstance(doc, Break) and flat:
            page.write(doc.text)
        else:
            page.end_line(indent)
    return page.text()
