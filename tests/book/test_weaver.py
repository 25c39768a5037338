"""The weaver shows what is so, and ends the build where the book says what is not."""

from __future__ import annotations

import textwrap

import markdown
import pytest
from weaver import WeaveError, examples, listings

PAGE = "page.md"


def woven(page: str) -> str:
    return markdown.markdown(textwrap.dedent(page), extensions=["weaver.extension"])


def run(page: str) -> list[examples.Example]:
    lines = textwrap.dedent(page).splitlines()
    found = examples.examples(examples.blocks(lines, PAGE), lines)
    examples.run(found, PAGE)
    return found


def outputs(page: str) -> list[str]:
    return [example.outcome.text for example in run(page)]


# ----------------------------------------------------------------------------------------------
# Listings


@pytest.mark.parametrize(
    ("reference", "first", "last"),
    [
        ("core/forward.py:JVPTrace", "class JVPTrace(Trace):", None),
        ("core/forward.py:JVPTrace.process_primitive", "    def process_primitive", None),
        ("core/forward.py:primitive_jvps", "primitive_jvps", None),
        ("core/forward.py:defjvp .. defjvp2", "def defjvp(", None),
        ('core/forward.py:"Tangents"', "# Tangents", None),
        ("core/forward.py:head", '"""', "from ."),
        ("core/forward.py:all", '"""', None),
        ("core/primitives.py:sin_p", "sin_p", None),
        ("core/forward.py:'defjvp(lax.sin_p'", "defjvp(lax.sin_p", None),
        ("core/forward.py:'defjvp(lax.sin_p' .. 'defjvp(lax.log_p'", "defjvp(lax.sin_p", "defjvp(lax.log"),
    ],
)
def test_references_find_lines(reference, first, last):
    lines = listings.find(reference).lines
    code = [line for line in lines if not line.lstrip().startswith(("@", "#"))]
    assert any(line.startswith(first) for line in (lines[0], code[0]))
    assert lines[-1].strip()
    assert last is None or lines[-1].startswith(last)


@pytest.mark.parametrize(
    "reference",
    ["core/forward.py:NoSuchTrace", "core/forward.py:'defjvp(lax.no_such_p'",
     "core/forward.py:'defjvp'", "core/forward.py:JVPTrace.no_such_rule",
     'core/forward.py:"No such section"', "no_such_file.py:all", "core/forward.py",
     "core/forward.py:", "core/forward.py:defjvp2 .. defjvp"],
)
def test_a_vanished_name_ends_the_build(reference):
    with pytest.raises(listings.NoSuchLines):
        listings.find(reference)
    with pytest.raises(WeaveError, match="page:1"):
        woven(f"```listing\n{reference}\n```")


def test_a_listing_has_its_true_line_numbers_and_a_link():
    listing = listings.find("core/forward.py:JVPTrace.process_primitive")
    html = woven("```listing\ncore/forward.py:JVPTrace.process_primitive  "
                 "mark=JVPTrace.process_primitive\n```")
    assert f"--first: {listing.first - 1}" in html
    assert html.count("<i") == listing.last - listing.first + 1
    assert html.count("<i class=marked>") == listing.last - listing.first + 1
    assert f"../source/core/forward.html#L{listing.first}" in html
    assert listing.text.startswith("def process_primitive")  # moved to the margin


def test_every_ruler_has_a_heading_under_it():
    package = listings.PACKAGE
    files = [path.relative_to(package).as_posix() for path in package.rglob("*.py")]
    assert len(sum(map(listings.headings, files), [])) > 400


def test_a_comment_above_belongs_to_a_definition_but_a_heading_does_not():
    for path in ("core/core.py", "core/forward.py", "core/staging.py"):
        for number, _ in listings.headings(path):
            assert all(not number <= listings.find(f"{path}:{name}").first <= number + 1
                       for name in _names(path))


def _names(path):
    import ast

    tree = ast.parse("\n".join(listings.source_lines(path)))
    return [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]


def test_the_lines_that_no_listing_shows_are_told():
    everything = listings.find("core/forward.py:all")
    assert listings.not_shown("core/forward.py", [everything]) == []
    one = listings.find("core/forward.py:JVPTrace")
    missing = listings.not_shown("core/forward.py", [one])
    assert missing[0] == 1
    assert one.first not in missing


# ----------------------------------------------------------------------------------------------
# Examples


def test_examples_share_a_namespace_and_show_prints_and_the_last_value():
    assert outputs("""
        ```python
        x = 3
        print("a")
        x + 1
        ```
        then
        ```python
        x
        ```
        """) == ["a\n4", "3"]


def test_an_error_names_the_line_of_the_page():
    (example,) = run("text\n\n```python raises=ZeroDivisionError\n1 / 0\n```")
    assert example.outcome.text == "ZeroDivisionError: division by zero"
    with pytest.raises(WeaveError, match="page.md:3: the example raises ZeroDivisionError"):
        run("text\n\n```python\n1 / 0\n```")


BROKEN = {
    "exception": "```python\n1 / 0\n```",
    "another exception": "```python raises=ValueError\n1 / 0\n```",
    "no exception": "```python raises=ValueError\n1\n```",
    "exit": "```python\nraise SystemExit(0)\n```",
    "warning": "```python\nimport warnings; warnings.warn('x')\n```",
    "changed output": "```python\n1\n```\n\n```text\n2\n```",
    "output not stored": "```python\n1\n```",
    "no output any more": "```python\nx = 1\n```\n\n```text\n2\n```",
    "syntax": "```python\n1 +\n```",
    "no end": "```python\n1\n",
    "unknown option": "```python raise=ValueError\n1\n```",
    "plot of nothing": '```python plot="nothing"\nx = 1\n```',
    "other in JAX": "```python jax\nimport minijax\nminijax.__name__\n```\n\n```text\n'minijax'\n```",
    "not other in JAX": "```python jax=other\n1\n```\n\n```text\n1\n```",
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_not_so_ends_the_build(name):
    with pytest.raises(WeaveError, match=r"page:\d+"):
        woven(BROKEN[name])


def test_a_page_that_is_so_is_woven():
    html = woven("""
        Text.

        ```python jax
        import minijax
        minijax.grad(lambda x: x * x)(3.0)
        ```

        ```text
        Array(6., dtype=float32, weak_type=True)
        ```
        """)
    assert "minijax and JAX" in html
    assert "<p>Text.</p>" in html


def test_update_stores_outputs_and_then_nothing_changes():
    lines = textwrap.dedent("""
        ```python
        print(1 / 3)
        ```
        and
        ```python
        y = 2
        ```

        ```text
        old
        ```
        """).splitlines()
    new = examples.updated(lines, run("\n".join(lines)))
    assert new[:7] == ["", "```python", "print(1 / 3)", "```", "", "```text", "0.33333"]
    assert "old" not in new
    assert examples.updated(new, run("\n".join(new))) == new


def test_long_floats_are_rounded_and_addresses_hidden():
    assert examples.normalise("0.123456789 1.5 <f at 0x7f12345678> v1.23456.7") == (
        "0.12346 1.5 <f at 0x...> v1.23456.7"
    )


def test_a_plot_is_the_same_each_time():
    page = '```python plot="a line"\nimport matplotlib.pyplot as plt\n_ = plt.plot([1, 2])\n```'
    first, second = woven(page), woven(page)
    assert first == second
    assert 'aria-label="a line"' in first


# ----------------------------------------------------------------------------------------------
# Live cells

LIVE = """
    ```rooms
    {chapter}
    ```

    ```python live
    import numpy as np
    import tiny

    def f(x):
        return tiny.sin(x)

    print(np.asarray([1.0, 2.0]) * 2.0, hasattr(tiny, "jvp"), hasattr(tiny, "grad"))
    ```

    ```python live
    f(0.0)
    ```

    ```python
    import numpy as np
    f(np.zeros(2)[0]), type(np.zeros(2)).__name__
    ```
"""


@pytest.mark.parametrize("chapter, jvp, grad", [(1, False, False), (2, True, False), (8, True, True), (12, True, True)])
def test_live_cells_see_tiny_as_it_stands_after_the_chapter(chapter, jvp, grad):
    first, second, third = outputs(LIVE.format(chapter=chapter))
    assert first == f"array([2.0, 4.0]) {jvp} {grad}"
    assert (second, third) == ("0.0", "(0.0, 'ndarray')")


@pytest.mark.parametrize("info, code", [("live", "import dataclasses"), ("live", "[*range(3)]"), ("live jax", "1"), ("live", "import tiny_loops")])
def test_a_live_cell_has_what_the_page_has(info, code):
    with pytest.raises(WeaveError, match="MicroPython|live cell|ImportError|ModuleNotFoundError"):
        run(f"""
            ```rooms
            3
            ```

            ```python {info}
            {code}
            ```
        """)


def test_live_cells_see_live_cells_only():
    with pytest.raises(WeaveError, match="NameError"):
        run("""
            ```python
            x = 1
            ```

            ```python live
            x
            ```
        """)
