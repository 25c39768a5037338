"""Pages that nobody writes: the library's files, the rule atlas, the differences, the reference."""

from __future__ import annotations

from collections.abc import Iterator

from tools.cut import ROOMS, ROOT, sources

from . import examples, reference

CHAPTERS = ROOT / "chapters"
LAST_SHOWN = 10  # the last chapter of whose rooms all files are shown; later ones quote some


def generated() -> Iterator[tuple[str, str]]:
    """The generated pages: where each is to stand, and its Markdown.

    Each file of the core, of the other rooms of chapters 1 to 10, and each that a later chapter
    quotes, has one, with all its lines.
    """
    paths = shown_files()
    yield from reference.pages()
    yield "atlas.md", _atlas()
    yield "differences.md", _differences()
    yield "source/index.md", _index(paths)
    for path in paths:
        yield f"source/{path.removesuffix('.py')}.md", _source_page(path)


def shown_files() -> list[str]:
    """The files that have a page: those of the rooms of chapters 1 to 10, of the core, and those
    that later chapters quote."""
    rooms = ["core", "runtime.__init__"]
    rooms += [room for chapter in range(1, LAST_SHOWN + 1) for room in ROOMS[chapter]]
    return sorted({str(path) for room in rooms for path in sources(room)} | quoted_files())


def quoted_files() -> set[str]:
    """The files that listings in the chapters show lines of."""
    pages = (examples.load(path)[1] for path in CHAPTERS.glob("[0-9][0-9]-*/*.md"))
    lines = (line for blocks in pages for block in blocks if block.kind == "listing"
             for line in block.body)
    return {line.partition(":")[0].strip() for line in lines if line.strip()}


def _source_page(path: str) -> str:
    """One file of the library."""
    return f"""---
title: minijax/{path}
template: plain.html
kind: source
search:
  exclude: true
---

# minijax/{path}

```source
{path}
```
"""


def _atlas() -> str:
    """Appendix C: which primitive has which rule."""
    from tools import atlas

    return f"""# Appendix C: the rule atlas

Every primitive of the library, and the rules it has. Where a rule is missing, the reason is given;
a test fails on a hole without one. The chapters of the columns: evaluation and shape 1, jvp 2,
batching 4, lowering 6, partial evaluation 7, transposition 8.

{atlas.page()}
"""


def _differences() -> str:
    """Appendix D: what JAX has or does, and we do not."""
    from tools import differences

    return f"""# Appendix D: differences from JAX

What is left out, and what is done otherwise, on purpose, with the reason. A test compares the
public names of both libraries, and fails on a missing one that is not in this list.

{differences.page()}
"""


def _index(paths: list[str]) -> str:
    rows = "\n".join(f"- [minijax/{path}]({path.removesuffix('.py')}.md)" for path in paths)
    return f"# The library's files\n\n{rows}\n"
