"""The house: what may import what, how large the core is, and no back doors between modules.

All of it is read from syntax trees. (The chapter order is import-linter's: `make lint`.)
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from tools.codelines import code_lines
from tools.cut import PACKAGE

ROOT = PACKAGE.parent
FILES = sorted(PACKAGE.rglob("*.py"))
