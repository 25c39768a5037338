"""Pages that nobody writes: the library's files, the rule atlas, the reference."""

from __future__ import annotations

from collections.abc import Iterator

from .listings import PACKAGE


def generated() -> Iterator[tuple[str, str]]:
    """The generated pages: where each is to stand, and its Markdown."""
    paths = [str(path.relative_to(PACKAGE)) for path in sorted(PACKAGE.rglob("*.py"))]
    yield "source/index.md", _index(paths)
    for path in paths:
        yield f"source/{path.removesuffix('.py')}.md", _source_page(path)


def _source_page(path: str) -> str:
    """One file of the library."""
    return f"""---
title: minijax/{path}
template: source.html
search:
  exclude: true
---

# minijax/{path}

```source
{path}
```
"""


def _index(paths: list[str]) -> str:
    rows = "\n".join(f"- [minijax/{path}]({path.removesuffix('.py')}.md)" for path in paths)
    return f"# The library's files\n\n{rows}\n"
