"""What mkdocs asks of us beyond Markdown: pages that are generated, and the player's files.

All else is in the weaver, which knows nothing of mkdocs.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
for folder in (HERE, ROOT):
    sys.path.insert(0, str(folder))

from mkdocs.structure.files import File  # noqa: E402
from weaver import pages  # noqa: E402


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages, and the player of the theatre, which belongs to the library."""
    for uri, text in pages.generated():
        files.append(File.generated(config, uri, content=text))
    for name in ("player.css", "player.js"):
        source = ROOT / "minijax" / "theatre" / name
        files.append(File.generated(config, f"assets/{name}", abs_src_path=str(source)))
    return files
