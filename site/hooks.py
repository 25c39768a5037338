"""What mkdocs asks of us beyond Markdown: pages and notebooks that are generated, and the
player's files.

All else is in the weaver, which knows nothing of mkdocs.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
for folder in (HERE, ROOT):
    sys.path.insert(0, str(folder))

from mkdocs.plugins import CombinedEvent, event_priority  # noqa: E402
from mkdocs.structure.files import File, InclusionLevel  # noqa: E402
from weaver import cards, engine, exercises, extension, notebooks, pages, tiny  # noqa: E402


@event_priority(-50)  # before the plugin `offline`, which copies the index into a script
def trim_search_index(config: Any) -> None:
    """Of the reference, the names and the first words are to be found; the rest is long."""
    path = Path(config["site_dir"]) / "search" / "search_index.json"
    index = json.loads(path.read_text())
    for entry in index["docs"]:
        if entry["location"].startswith("reference/"):
            entry["text"] = entry["text"][:80]
    path.write_text(json.dumps(index, separators=(",", ":")))


@event_priority(-200)  # after the plugin `offline`, which reads the index
def remove_what_is_never_loaded(config: Any) -> None:
    """Remove other languages' search, and a server's page for errors.

    `search_index.json` stays: on a server, the theme's script asks for it, and ends without it.
    """
    site = Path(config["site_dir"])
    (site / "404.html").unlink(missing_ok=True)
    shutil.rmtree(site / "assets" / "javascripts" / "lunr", ignore_errors=True)


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages, and the player of the theatre, which belongs to the library."""
    for uri, text in pages.generated():
        files.append(File.generated(config, uri, content=text))
    for uri, text in tiny.downloads():
        included = InclusionLevel.INCLUDED  # other Python files are not
        files.append(File.generated(config, uri, content=text, inclusion=included))
    files.append(File.generated(config, "assets/engine.js", content=engine.script()))
    solved = json.dumps(exercises.solved_on_the_page())  # for the browser's tests
    files.append(File.generated(config, "assets/exercises.json", content=solved))
    for name, picture in cards.cards():
        files.append(File.generated(config, f"assets/cards/{name}.png", content=picture))
    # The theatre's scripts and styles stand beside the recorder, which needs them for files of its
    # own. All of them come along; `mkdocs.yml` names those that every page loads.
    theatre = ROOT / "minijax" / "debugging" / "theatre"
    for source in sorted([*theatre.glob("*.css"), *theatre.glob("*.js")]):
        files.append(File.generated(config, f"assets/{source.name}", abs_src_path=str(source)))
    return files


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:
    """A link to a chapter's notebook, under its heading."""
    if not re.fullmatch(r"\d\d-[^/]+/README\.md", page.file.src_uri):
        return html
    name = notebooks.name(Path(page.file.src_uri))
    link = f'<p class="place"><a href="{name}" download>This chapter as a notebook</a></p>'
    return html.replace("</h1>", f"</h1>{link}", 1)


def write_notebooks(config: Any) -> None:
    """Write each chapter as a notebook beside its page."""
    for page in sorted((ROOT / "chapters").glob("[0-9][0-9]-*/README.md")):
        target = Path(config["site_dir"]) / page.parent.name / notebooks.name(page)
        target.write_text(notebooks.text(page, extension.figures))


on_post_build = CombinedEvent(trim_search_index, write_notebooks, remove_what_is_never_loaded)
