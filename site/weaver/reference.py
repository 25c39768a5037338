"""The reference: every public name, its signature and its docstring, in groups."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any

GROUPS = {
    "minijax": "Transformations, compilation, devices",
    "minijax.numpy": "Arrays, as NumPy has them",
    "minijax.numpy.linalg": "Linear algebra",
    "minijax.numpy.fft": "Fourier transforms",
    "minijax.lax": "Primitive operations and control flow",
    "minijax.lax.linalg": "Primitive operations of linear algebra",
    "minijax.random": "Random numbers",
    "minijax.nn": "Parts of neural networks",
    "minijax.nn.initializers": "Initial values of weights",
    "minijax.tree": "Pytrees",
    "minijax.tree_util": "Pytrees, under their older names",
    "minijax.scipy.special": "Special functions",
    "minijax.scipy.linalg": "Linear algebra, as SciPy has it",
    "minijax.ops": "Segments",
    "minijax.debug": "Looking into programs",
    "minijax.debugging.explain": "Explanations of programs",
    "minijax.debugging.theatre": "The trace theatre",
    "minijax.extend.core": "Jaxprs, for interpreters of your own",
    "minijax.errors": "Errors",
}
LARGEST = 120_000  # characters of Markdown a page


def pages() -> Iterator[tuple[str, str]]:
    """The reference's pages: where each is to stand, and its Markdown."""
    index = ["# Reference\n"]
    for module_name, title in GROUPS.items():
        entries = list(_entries(module_name))
        for number, part in enumerate(_parts(entries), start=1):
            name = f"{module_name}{f'-{number}' if number > 1 else ''}"
            head = f"---\ntitle: {name}\n---\n\n"
            head += f"# `{module_name}`\n\n{title}. One page of [the reference](index.md).\n\n"
            yield f"reference/{name}.md", head + "\n".join(text for _, text in part)
            span = f" ({part[0][0]} to {part[-1][0]})" if len(part) < len(entries) else ""
            index.append(f"- [`{module_name}`]({name}.md): {title}{span}")
    yield "reference/index.md", "\n".join(index) + "\n"


def _parts(entries):
    """The entries in pages that are not too long."""
    parts, size = [[]], 0
    for entry in entries:
        if size > LARGEST:
            parts.append([])
            size = 0
        parts[-1].append(entry)
        size += len(entry[1])
    return parts


def _entries(module_name: str) -> Iterator[tuple[str, str]]:
    """Name and Markdown of what a module offers: what has a docstring of its own."""
    module = importlib.import_module(module_name)
    seen: dict[int, str] = {}
    for name in sorted(dir(module), key=str.lower):
        value = getattr(module, name)
        doc = inspect.getdoc(value)
        if name.startswith("_") or inspect.ismodule(value) or not doc or not callable(value):
            continue
        if not getattr(value, "__module__", "minijax").startswith("minijax"):
            continue
        if id(value) in seen:
            yield name, f"## {name} {{ #{_anchor(name)} }}\n\nThe same as `{seen[id(value)]}`.\n"
            continue
        seen[id(value)] = name
        heading = f"## {name} {{ #{_anchor(name)} }}"
        signature = f"`{name}{_signature(value)}`{{ .signature }}"
        yield name, f"{heading}\n\n{signature}\n\n{markdown(doc)}\n"


def _anchor(name):
    return name if name.islower() else f"{name}-"  # anchors in HTML differ by more than case


def _signature(value: Any) -> str:
    try:
        text = re.sub(r"<[^<>]* at 0x\w+>", "...", str(inspect.signature(value)))
        return re.sub(r"'([\w.|\[\], ]+)'", r"\1", text)
    except (TypeError, ValueError):
        return "(...)"


# ----------------------------------------------------------------------------------------------
# Docstrings

_FIELD = re.compile(r"^(\*{0,2}[\w, *.]+):\s+(.*)$")


def markdown(doc: str) -> str:
    """A docstring as Markdown: its sections in bold, its arguments as a list, examples as code."""
    out: list[str] = []
    for line in doc.splitlines():
        if line.startswith((">>>", "...")) or (out and out[-1].startswith("    ") and line.strip()):
            if not (out and out[-1].startswith("    ")):
                out.append("")
            out.append("    " + line)
        elif re.fullmatch(r"(Args|Returns|Raises|Yields|Attributes)( \(.*\))?:", line):
            out += ["", f"**{line[:-1]}**", ""]
        elif line.startswith("  ") and (match := _FIELD.match(line.strip())) and line[2] != " ":
            names = match[1].replace("*", "\\*")
            out.append(f"- *{names}*: {match[2]}")
        elif line.startswith("  "):
            out.append("  " + line.strip())
        else:
            out.append(line)
    return "\n".join(out)
