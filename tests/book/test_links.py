"""Broken links, anchors and loads from elsewhere are found in a built site."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from weaver.__main__ import CHAPTERS
from weaver.links import broken, main

GOOD = '<h1 id="top">a</h1><a href="b/c.html#there">c</a><a href="#top">up</a><img src="x.svg">'


@pytest.fixture
def site(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "x.svg").write_text("<svg></svg>")
    (tmp_path / "b" / "c.html").write_text('<p id="there"><a href="../a.html">back</a></p>')
    (tmp_path / "a.html").write_text(GOOD + '<a href="https://example.org">outside</a>')
    return tmp_path


def test_a_good_site_has_nothing_broken(site, capsys):
    assert list(broken(site)) == []
    assert main(str(site)) == 0


@pytest.mark.parametrize(
    ("html", "words"),
    [
        ('<a href="d.html">d</a>', "no such file"),
        ('<a href="b/c.html#nowhere">c</a>', "no such anchor"),
        ('<a href="#nowhere">c</a>', "no such anchor"),
        ('<img src="y.svg">', "no such file"),
        ('<script src="https://example.org/x.js"></script>', "from elsewhere"),
        ('<link rel="stylesheet" href="//example.org/x.css">', "from elsewhere"),
    ],
)
def test_what_is_broken_ends_the_build(site, html, words, capsys):
    (site / "a.html").write_text(GOOD + html)
    (problem,) = broken(site)
    assert words in problem
    assert problem.startswith("a.html")
    assert main(str(site)) == 1


KATEX = Path(__file__).resolve().parents[2] / "site/theme/assets/vendor/katex"
FAMILIES = {"texttt": "Typewriter", "mathtt": "Typewriter", "mathcal": "Caligraphic", "mathfrak": "Fraktur",
            "mathsf": "SansSerif", "textsf": "SansSerif", "mathscr": "Script", "mathbb": "AMS"}


def test_each_alphabet_of_the_formulas_has_its_font():
    """The site has only the fonts of KaTeX that the book uses. A browser replaces a missing one in silence."""
    pages = "".join(path.read_text() for path in CHAPTERS.rglob("*.md"))
    used = {FAMILIES[command] for command in re.findall(r"\\([a-z]+)\{", pages) if command in FAMILIES}
    faces = re.findall(r"font-family:KaTeX_(\w+)[^}]*url\((fonts/[^)]*)\)", (KATEX / "katex.min.css").read_text())
    assert "Typewriter" in used
    assert used <= {family for family, _ in faces}
    assert all((KATEX / file).is_file() for _, file in faces)
