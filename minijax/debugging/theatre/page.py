"""A recording as HTML: a part of a page, or a page of its own that needs nothing else."""

import html
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .drawing import draw
from .recorder import Recording, record

HERE = Path(__file__).parent
PAGE_STYLE = """
body { margin: 1rem auto; max-width: 60rem; padding: 0 0.6rem; font-family: system-ui, sans-serif; }
h1 { font-size: 1.2rem; }
.t-title { display: none; }
@media (prefers-color-scheme: dark) { body { background: #11151c; color: #e6e8ee; } }
"""


def stage(recording: Recording) -> str:
    """The element that the player takes over.

    Without scripts it is the whole graph, and a list of sentences.
    """
    data = json.dumps(recording.as_dict(), separators=(",", ":")).replace("<", "\\u003c")
    sentences = "".join(f"<li>{html.escape(line)}</li>" for line in recording.sentences())
    title = html.escape(recording.title)
    graph = draw(recording.graph, f"tg{zlib.crc32(data.encode()):x}")
    return (f'<div class="theatre" data-search-exclude role="group" aria-label="{title}">'
            f'<script type="application/json">{data}</script>'
            f'<div class="t-graph" role="group" aria-label="the graph" tabindex="0">{graph}</div>'
            f"<details open><summary>{title}</summary><ol>{sentences}</ol></details></div>")


def write_page(recording: Recording, path: str | Path) -> Path:
    """Write a recording, with the player, to one HTML file."""
    style, script = ((HERE / name).read_text() for name in ("player.css", "player.js"))
    path = Path(path)
    path.write_text(
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(recording.title)}</title>"
        f"<style>{PAGE_STYLE}\n{style}</style>"
        f"</head><body><main><h1>{html.escape(recording.title)}</h1>{stage(recording)}</main>"
        f"<script>{script}</script></body></html>\n"
    )
    return path


def theatre(f: Callable, *args: Any, path: str | Path = "theatre.html", **kwargs: Any) -> Any:
    """Run a function, and write what the library did to an HTML file to step through.

    The page shows the stack of traces, the computation graph and the lines that are executed. It
    needs no network and no other file. Of a long loop, the page shows the first steps and says how
    many were left out.

    Args:
      f: any function, for one `jit(vmap(grad(g)))`.
      *args, **kwargs: its arguments.
      path: the file to write.

    Returns:
      the result of `f`.

    Raises:
      whatever `f` raises; the page is written all the same, up to the error.

    >>> import tempfile, os
    >>> page = os.path.join(tempfile.mkdtemp(), "grad.html")
    >>> float(theatre(jax.grad(jax.numpy.sin), 0.0, path=page)), os.path.exists(page)
    (1.0, True)
    """
    name = getattr(f, "__name__", type(f).__name__)
    recording = Recording(name)
    try:
        with record(f"A run of {name}") as recording:
            return f(*args, **kwargs)
    finally:
        write_page(recording, path)
