"""`jax._src.pretty_printer`: documents as JAX's tests make them, set by our own printer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from minijax.text import documents
from minijax.text.documents import AnyDoc


class Doc:
    """A document of `minijax.text.documents`, with JAX's methods."""

    __slots__ = ("doc",)

    def __init__(self, doc: AnyDoc):
        self.doc = doc

    def __add__(self, other: Doc) -> Doc:
        return concat([self, other])

    def format(self, width: int = 80, *, use_color: bool = False, annotation_prefix: str = " # ",
               source_map: Any = None) -> str:
        """The document in lines of at most `width` columns, where its breaks allow that."""
        return documents.layout(self.doc, width, use_color).replace(" # ", annotation_prefix)

    __str__ = format


def nil() -> Doc:
    """Nothing."""
    return Doc("")


def text(s: str, annotation: str | None = None) -> Doc:
    """A text, perhaps with a note for the margin."""
    return Doc(s if annotation is None else documents.Text(s, annotation))


def concat(docs: Sequence[Doc]) -> Doc:
    """Documents in a row."""
    return Doc(documents.Concat([doc.doc for doc in docs]))


def brk(text: str = " ") -> Doc:
    """`text`, or a new line."""
    return Doc(documents.Break(text))


def group(doc: Doc) -> Doc:
    """A document that is set on one line if it fits."""
    return Doc(documents.Group(_whole(doc)))


def nest(n: int, doc: Doc) -> Doc:
    """A document whose new lines begin further to the right."""
    return Doc(documents.Nest(n, _whole(doc)))


def _whole(doc: Doc) -> documents.Doc:
    return documents.Concat([doc.doc])


def join(sep: Doc, docs: Iterable[Doc]) -> Doc:
    """Documents in a row, with one between them."""
    return Doc(documents.join(sep.doc, [doc.doc for doc in docs]))
