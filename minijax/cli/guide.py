"""The tour's voice: paragraphs, code, progress bars and checks, in a terminal or in a plain log."""

import textwrap
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text


class Guide:
    """Prints, and remembers which checks failed."""

    def __init__(self) -> None:
        self.console = Console(highlight=False, markup=False, emoji=False)
        self.passed: list[str] = []
        self.failed: list[str] = []
        self.stops = 0

    def stop(self, title: str) -> None:
        """The heading of the next stop on the tour."""
        self.stops += 1
        self.console.print(Text(f"\n{self.stops}. {title}", style="bold cyan"))

    def say(self, paragraph: str) -> None:
        """A paragraph of explanation, wrapped to the terminal."""
        self.console.print(" ".join(paragraph.split()))

    def show(self, lines: str) -> None:
        """Code or numbers, indented, with their own line breaks."""
        self.console.print(Text(textwrap.indent(lines, "    "), style="green"), soft_wrap=True)

    def check(self, claim: str, holds: bool) -> None:
        """Say whether a claim held, and remember it."""
        (self.passed if holds else self.failed).append(claim)
        mark, style = ("✓", "green") if holds else ("✗ FAILED:", "bold red")
        self.console.print(Text(f"  {mark} {claim}", style=style))

    def progress(self, items: Iterator[Any], total: int, label: str) -> Iterator[tuple[Any, Any]]:
        """Yield each item and a function that writes a note beside the bar (in a log: a line)."""
        if not self.console.is_terminal:
            yield from self._progress_lines(items, total, label)
            return
        note = TextColumn("    {task.description}")
        with Progress(note, BarColumn(), TimeElapsedColumn(), console=self.console) as bar:
            task = bar.add_task(label, total=total)
            for item in items:
                yield item, lambda note: bar.update(task, description=f"{label}: {note}")
                bar.advance(task)

    def _progress_lines(self, items, total, label):
        """The same without a terminal: a line for about every tenth of the way."""
        for count, item in enumerate(items, start=1):
            notes: list[str] = []
            yield item, notes.append
            if notes and (count == total or count % max(1, total // 10) == 0):
                self.show(f"{label} {count}/{total}: {notes[-1]}")
