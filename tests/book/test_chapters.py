"""Each chapter says what is so: its examples give what is stored, its listings exist."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest
from weaver import examples, listings, pages as site_pages
from weaver.__main__ import check, pages
from weaver.extension import parse_listing

from tests.oracle import jax
from tools.cut import ROOMS, sources

ROOT = Path(__file__).resolve().parents[2]
PAGES = {str(path.relative_to(ROOT)): path for path in pages()}
SYMBOL = re.compile(r"`(jax(?:\._src)?(?:\.\w+)+)`")


@pytest.mark.parametrize("name", PAGES)
def test_the_examples_give_what_is_stored(name):
    check(PAGES[name])


def shown(path: Path) -> list[listings.Listing]:
    """What the listings of a page show."""
    blocks = examples.load(path)[1]
    lines = [line for block in blocks if block.kind == "listing" for line in block.body]
    return [listings.find(parse_listing(line)[0]) for line in lines if line.strip()]


def chapter(path: Path) -> int | None:
    match = re.match(r"(\d\d)-", path.parent.name)
    return int(match[1]) if match else None


@pytest.mark.long
def test_every_line_of_the_core_is_on_a_page():
    """Each file has a page with its whole source, which links to the chapters that show it."""
    generated = dict(site_pages.generated())
    for path in sources("core"):
        text = generated[f"source/{str(path).removesuffix('.py')}.md"]
        assert f"```source\n{path}\n```" in text


@pytest.mark.parametrize("number", range(1, 17))
def test_a_chapter_shows_lines_of_its_rooms(number):
    files = {str(path) for room in ROOMS[number] for path in sources(room)}
    found = {listing.path for path in PAGES.values() if chapter(path) == number for listing in shown(path)}
    assert found & files


@pytest.mark.parametrize("name", PAGES)
def test_what_is_said_to_be_in_jax_is_there(name):
    """Names like `jax._src.core.Trace`, in the release that is installed."""
    for symbol in SYMBOL.findall(PAGES[name].read_text()):
        _resolve(symbol)
    assert jax.__version__


def _resolve(symbol):
    parts = symbol.split(".")
    for split in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:split]))
        except ImportError:
            continue
        for part in parts[split:]:
            assert hasattr(found, part), f"JAX has no {symbol}"
            found = getattr(found, part)
        return
