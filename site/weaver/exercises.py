"""Exercises on the page: under each item of a chapter's list, its stub, its hints, and its check.

An item is written `1. **2.1** what is asked`. An exercise whose check is marked with `page=True`
needs no more than tiny: it is done in a live cell, and checked there by the same function.
"""

from __future__ import annotations

import ast
import html
import inspect
import json
import re
import textwrap
from collections.abc import Callable
from typing import Any

from minijax.cli.book import chapters

from . import live, tiny

ITEM = re.compile(r"\d+\. \*\*(\d+\.\d+)\*\* (.*)")


def with_boxes(lines: list[str], box: Callable[[str], str]) -> list[str]:
    """The lines of a page, each item as a paragraph, and after it what `box` makes of its number.
    """
    result: list[str] = []
    number = None
    for line in [*lines, ""]:
        match = ITEM.match(line)
        if number and (match or not line.startswith(" ")):
            result += ["", box(number), ""]
            number = None
        if match:
            number = match[1]
            line = f"**{number}** {match[2]}"
        result.append(line.strip() if number else line)
    return result[:-1]


def find(number: str) -> Any:
    """An exercise, by its number; `None` if no file has it."""
    chapters()
    from learning import catalog

    return catalog.exercises(catalog.chapter_of(number)).get(number)


def solved_on_the_page() -> list[tuple[str, str, str]]:
    """Of each exercise that is checked on the page: the page, its number, and a solution."""
    chapters()
    from learning import catalog

    return [(f"{catalog.stubs(number).parent.name}/index.html", number, _solution(number, exercise))
            for number, exercise in catalog.exercises().items() if exercise.page]


def _solution(number, exercise):
    from learning import catalog

    return source_of(catalog.solutions(number).read_text(), exercise.answers)


def stub(number: str) -> str:
    """The stub of an exercise, as it stands in the reader's file."""
    from learning import catalog

    return source_of(catalog.stubs(number).read_text(), find(number).answers)


def source_of(text: str, names: tuple[str, ...]) -> str:
    """The source of some functions and classes of a file."""
    nodes = {node.name: node for node in ast.parse(text).body
             if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    found = [ast.get_source_segment(text, nodes[name]) or "" for name in names]
    return "\n\n\n".join(found)


def check(exercise: Any) -> dict[str, Any]:
    """The check of an exercise for the page: its source, its name, and the names of the answers."""
    text = textwrap.dedent(inspect.getsource(exercise.check))
    node = ast.parse(text).body[0]
    assert isinstance(node, ast.FunctionDef)
    code = "\n".join(text.splitlines()[node.lineno - 1 :])
    return {"code": code, "function": node.name, "answers": list(exercise.answers)}


def box(number: str, highlighted: Callable[[str], str]) -> str:
    """The HTML under an item: a live cell, or the stub; the hints; and the command that checks."""
    exercise = find(number)
    if exercise is None:
        return ""
    code, title = highlighted(stub(number)), "The stub, hints, and how to check it"
    if exercise.page:
        chapter = min(int(number.split(".")[0]), live.LAST)
        data = html.escape(json.dumps(check(exercise)))
        code = (f'<div class="woven live exercise" data-chapter="{chapter}" data-check="{data}">'
                f"{code}</div>")
        title = "Solve it here"
    hints = "".join(f"<details><summary>Hint {i}</summary><p>{tiny.with_code(hint)}</p></details>"
                    for i, hint in enumerate(exercise.hints, start=1))
    return (f'<details class="exercise-box" id="exercise-{number.replace(".", "-")}" '
            f"data-search-exclude><summary>{title}</summary>{code}{hints}"
            f'<p class="command">In your folder: <code>minijax learn check {number}</code></p>'
            "</details>")
