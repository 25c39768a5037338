"""What mkdocs asks of us beyond Markdown: pages that are generated, and the player's files.

All else is in the weaver, which knows nothing of mkdocs.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
for folder in (HERE, ROOT):
    sys.path.insert(0, str(folder))

from mkdocs.plugins import event_priority  # noqa: E402
from mkdocs.structure.files import File  # noqa: E402
from weaver import pages  # noqa: E402


@event_priority(-200)  # after the plugin `offline`, which reads the index
def on_post_build(config: Any) -> None:
    """Remove what the site never loads: the search index in its form for servers, and other
    languages' search."""
    site = Path(config["site_dir"])
    (site / "search" / "search_index.json").unlink(missing_ok=True)
    shutil.rmtree(site / "assets" / "javascripts" / "lunr", ignore_errors=True)


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages, and the player of the theatre, which belongs to the library."""
    for uri, text in pages.generated():
        files.append(File.generated(config, uri, content=text))
    for name in ("player.css", "player.js"):
        source = ROOT / "minijax" / "theatre" / name
        files.append(File.generated(config, f"assets/{name}", abs_src_path=str(source)))
    return files
