"""The time that a chapter takes to read is counted, not felt."""

from __future__ import annotations

import pytest
from weaver import listings
from weaver.extension import PLAIN

from tools import reading

PAGE = """# A title of five words

Two [words](https://example.org/not/these), and `code`.

<figure><svg><text>not these</text></svg></figure>

```listing
core/forward.py:JVPTrace.unbox
core/forward.py:JVPTrace  fold
```

```python
x = 1

x + 1
```

```text
2
```

## Exercises

None of this is counted.
"""


@pytest.fixture
def page(tmp_path):
    path = tmp_path / "README.md"
    path.write_text(PAGE)
    return path


def test_words_open_listings_and_examples_are_counted(page):
    found = reading.measure(page)
    lines = len(listings.find("core/forward.py:JVPTrace.unbox").lines)
    assert found == ("A title of five words", 9, lines, 2)
    assert found.minutes == pytest.approx(9 / 220 + (lines + 2) * 8 / 60)


LIMITS = [(0, 8), (1, 25), (2, 25), (3, 20), (4, 24), (5, 25), (6, 25), (7, 22), (8, 25), (9, 25),
          (10, 25), (11, 25), (12, 25), (13, 25), (14, 25), (15, 25), (16, 25)]  # minutes


@pytest.mark.parametrize(("number", "minutes"), LIMITS)
def test_a_chapter_keeps_to_its_time(number, minutes):
    found = reading.chapters()[number]
    assert found.minutes <= minutes, f"{found}: move code to a page of the room"
    assert found.listing_lines <= 150


def test_the_home_page_says_the_sum():
    found = reading.chapters()
    assert set(found) >= set(reading.MAIN_CHAPTERS)
    total = reading.total(found)
    assert total.minutes == pytest.approx(sum(found[n].minutes for n in reading.MAIN_CHAPTERS))
    html = PLAIN["reading"](None)
    assert f"<strong>{reading.duration(total.minutes)}</strong>" in html
    assert all(f"<td>{one.words:,}</td>" in html for one in found.values())
    assert "```reading" in (reading.ROOT / "chapters" / "index.md").read_text()


def test_the_tool_prints_a_line_for_each_chapter(capsys):
    assert reading.main() == 0
    said = capsys.readouterr().out
    assert all(one.title[:50] in said for one in reading.chapters().values())
