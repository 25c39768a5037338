"""Where the book's chapters are: in a checkout beside the package, in a wheel inside it."""

import sys
from pathlib import Path

from .errors import Failure

PACKAGE = Path(__file__).resolve().parents[1]
CHAPTERS = next((folder for folder in (PACKAGE / "_book", PACKAGE.parent / "chapters")
                 if folder.is_dir()), None)


def chapters() -> Path:
    """The folder of the chapters, from which modules can be imported then.

    Raises:
      Failure: this installation lacks it.
    """
    if CHAPTERS is None:
        raise Failure("this installation of minijax lacks the book's chapters", 1)
    if str(CHAPTERS) not in sys.path:
        sys.path.insert(0, str(CHAPTERS))
    return CHAPTERS
