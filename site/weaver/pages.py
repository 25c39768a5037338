"""Pages that nobody writes: the library's files, the atlas, lists of all kinds, the reference."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator

from tools.cut import PACKAGE, READING_ORDER, ROOMS, ROOT, sources

from . import examples, listings, reference, rule_atlas

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
    yield "extensions.md", _extensions(paths)
    yield "wrong_in_jax.md", _wrong_in_jax()
    yield "source/index.md", _index(paths)
    for path in paths:
        yield f"source/{path.removesuffix('.py')}.md", _source_page(path)
    for path in rule_atlas.test_files():
        yield f"source/tests/{path.removesuffix('.py')}.md", _test_page(path)


def shown_files() -> list[str]:
    """The files that have a page: those of the rooms of chapters 1 to 10, of the core, those that
    define primitives, and those that later chapters quote."""
    rooms = ["core", "runtime.__init__"]
    rooms += [room for chapter in range(1, LAST_SHOWN + 1) for room in ROOMS[chapter]]
    primitives = {path for _, path in rule_atlas.defined_in()}
    in_rooms = {str(path) for room in rooms for path in sources(room)}
    return sorted(in_rooms | primitives | quoted_files())


def quoted_files() -> set[str]:
    """The files that listings in the chapters show lines of."""
    pages = (examples.load(path)[1] for path in CHAPTERS.glob("[0-9][0-9]-*/*.md"))
    lines = (line for blocks in pages for block in blocks if block.kind == "listing"
             for line in block.body)
    return {line.partition(":")[0].strip() for line in lines if line.strip()}


def _source_page(path: str) -> str:
    """One file of the library."""
    up = "../" * path.count("/")
    place = f"One of [the library's files]({up}index.md)"
    if folder := _folder(_chapters_of_files().get(path)):
        place += f" · told in [chapter {int(folder[:2])}]({up}../{folder}/README.md)"
    return f"""---
title: minijax/{path}
search:
  exclude: true
---

# `minijax/{path}`

<p class="place" markdown="1">{place}</p>

```source
{path}
```
"""


def _test_page(path: str) -> str:
    """One file of the tests, which the atlas links to."""
    up = "../" * (path.count("/") + 2)
    return f"""---
title: tests/{path}
search:
  exclude: true
---

# `tests/{path}`

<p class="place" markdown="1">Linked from [the rule atlas]({up}atlas.md)</p>

```source
../tests/{path}
```
"""


@functools.cache
def _chapters_of_files() -> dict[str, int]:
    """Each file of a room, and the first chapter that has the room."""
    return {str(path): chapter for chapter, rooms in reversed(ROOMS.items()) for room in rooms
            for path in sources(room)}


def _folder(chapter: int | None) -> str:
    """The name of a chapter's folder; nothing if it has no page yet."""
    return "".join(path.name for path in CHAPTERS.glob(f"{chapter or 99:02d}-*/"))


def _atlas() -> str:
    """Appendix C: which primitive has which rule, and how good its derivatives are."""
    from tools import edge_derivatives

    return f"""# Appendix C: the rule atlas

Every primitive of the library, by family, and the rules it has. A check mark leads to the lines of
the rule. A number leads to the reason why there is none: a test fails on a hole without a reason.
The chapters of the columns are 1 for evaluation and shape, 2 for jvp, 4 for batching, 6 for
lowering, 7 for partial evaluation, 8 for transposition, and 14 for sharding.

The last column leads to a primitive's test, or to its row in the table of
`tests/products/test_primitives.py`, which compares each mark with JAX for every dtype. The head of
a column leads to the test of its rules. To run one:
`pytest tests/products/test_primitives.py -k sin-jvp`.

{rule_atlas.page(set(shown_files()))}

## Derivatives at their edges

First and second derivatives of elementwise functions at 0, at tiny and at large numbers, near
poles, branch points and ties, beside what mpmath computes with 50 digits and more. A derivative
counts as *wrong* if it is NaN, infinite, of another sign, or not half as large or twice as large as
it should be. There are two exceptions. *Digits* are lost where the error is not larger than the
rounding errors of the terms that the formula adds, as for the sigmoid function at 17. The *range*
is left where the square of an argument, or of the derivative itself, is no number of the type. The
worst relative error is that of all others. Points are left out where the function has no
derivative, or where the library does not compute the function itself to three digits. A row for
both libraries means that the counts agree; then the worst error is ours.
`python -m tests.edges.derivatives` makes the table.

{edge_derivatives.page()}
"""


def _differences() -> str:
    """Appendix D: what JAX has or does, and we do not."""
    from tools import differences

    return f"""# Appendix D: differences from JAX

What is left out, and what is done otherwise, on purpose, with the reason. A test compares the
public names of both libraries, and fails on a missing one that is not in this list.

{differences.page()}
"""


def _wrong_in_jax() -> str:
    """Appendix F: what JAX computes wrongly, and we do not."""
    from tools import wrong_in_jax

    return f"""# Appendix F: where JAX is wrong, and what we do

{wrong_in_jax.page()}
"""


def _extensions(paths: list[str]) -> str:
    """Appendix E: where later rooms change what earlier ones do."""
    from tools import extensions

    def link(place: extensions.Place) -> str:
        if place.path not in paths:
            return f"`{place}`"
        start = max(n for n in listings.starts(place.path) if n <= place.line)
        page = f"source/{place.path.removesuffix('.py')}.html"
        return f'<a href="{page}#L{start}"><code>{place}</code></a>'

    return f"""# Appendix E: the extension points

Most rules of a later chapter stand in a table. Where a table does not do, an earlier file asks its
extensions before it acts. These are all points at which it asks. What shardings need is one object
with several methods, which has a table of its own.

{extensions.page(link)}
"""


def _index(paths: list[str]) -> str:
    """The list of the files: the core in the order in which it is read, then folder by folder."""
    order = [f"core/{name}.py" for name in READING_ORDER]
    core = [path for path in order if path in paths]
    folders: dict[str, list[str]] = {}
    for path in paths:
        if path not in core:
            folders.setdefault(path.rpartition("/")[0], []).append(path)
    parts = [INDEX, *map(_row, core)]
    for folder, members in sorted(folders.items()):
        parts += ["", f"## `{folder}/`" if folder else "## `minijax/`", "", *map(_row, members)]
    return "\n".join(parts) + "\n"


INDEX = """# The library's files

Each file has a page with all its lines. The core is the engine of chapters 1 to 8. You can read its
files from first to last; each says in its first lines what it is about. The other folders are
listed by name.

## The core, in reading order
"""


def _row(path: str) -> str:
    """A link to the page of a file, and the first sentence of its docstring."""
    text = ast.get_docstring(ast.parse((PACKAGE / path).read_text())) or ""
    sentence = re.match(r".*?[.?!](?=\s|$)", " ".join(text.partition("\n\n")[0].split()))
    return f"- [`{path}`]({path.removesuffix('.py')}.md): {sentence[0] if sentence else ''}"
