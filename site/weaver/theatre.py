"""The theatre's stage in a page: a recording as data for the player, and as a list for those who
have no scripts."""

from __future__ import annotations

import html
import json
from typing import Any


def html_of(recording: Any) -> str:
    """The element that the player takes over."""
    data = json.dumps(recording.as_dict(), separators=(",", ":")).replace("</", "<\\/")
    sentences = "".join(f"<li>{html.escape(line)}</li>" for line in recording.sentences())
    title = html.escape(recording.title)
    return (f'<div class="theatre" role="group" aria-label="{title}">'
            f'<script type="application/json">{data}</script>'
            f"<details open><summary>{title}</summary><ol>{sentences}</ol></details></div>")
