"""Check a built site: every link leads to a file of it, and every fragment to an anchor there.

    python -m weaver.links build/site
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlparse

OUTSIDE = ("http", "https", "mailto", "data", "javascript")


class _Page(HTMLParser):
    """The anchors of a page, and what it refers to."""

    def __init__(self, text: str):
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.anchors.update(filter(None, (found.get("id"), found.get("name"))))
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        if tag in ("script", "img", "iframe") and found.get("src"):
            self.loads.append(found["src"])
        if tag == "link" and found.get("rel") in ("stylesheet", "icon", "preload"):
            self.loads.append(found["href"])


def broken(site: Path) -> Iterator[str]:
    """What is wrong, a line each."""
    pages = {path.resolve(): _Page(path.read_text()) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        here = path.relative_to(site.resolve())
        for url in page.loads:
            if urlparse(url).scheme or url.startswith("//"):
                yield f"{here} loads {url} from elsewhere"
        for url in [*page.links, *page.loads]:
            problem = _problem(path, url, pages)
            if problem and here.name != "404.html":  # whose links begin at the server's root
                yield f"{here}: {url}: {problem}"


def _problem(path, url, pages):
    parsed = urlparse(url)
    if parsed.scheme in OUTSIDE or parsed.netloc:
        return None
    place, fragment = urldefrag(url)
    target = (path.parent / unquote(parsed.path)).resolve() if parsed.path else path
    if target.is_dir():
        target = target / "index.html"
    if not target.exists():
        return "no such file"
    if fragment and target in pages and unquote(fragment) not in pages[target].anchors:
        return "no such anchor"
    return None


def main(site: str) -> int:
    """Print what is broken; returns the exit code."""
    found = list(broken(Path(site)))
    print("\n".join(found) or f"all links of {site} lead somewhere")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
