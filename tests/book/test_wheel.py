"""What `pip install minijax` brings: the library with its types, and the book's exercises.

The wheel is built and installed without the network: hatchling is one of the test packages.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[2]
ANSWER = "def quotient_tangent(x, y, x_dot, y_dot):\n    return "
RIGHT = ANSWER + "x_dot / y - x * y_dot / (y * y)\n"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with the installed wheel."""
    wheels, target = tmp_path_factory.mktemp("wheels"), tmp_path_factory.mktemp("installed")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(wheels)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=300)
    (wheel,) = wheels.glob("*.whl")
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-compile",
                    "--disable-pip-version-check", "--target", str(target), str(wheel)], check=True, timeout=300)
    return target


@pytest.fixture
def python(installed, tmp_path):
    """Runs Python with the installed package, in a folder far from the repository."""

    def run(*arguments, timeout=120):
        variables = {k: v for k, v in os.environ.items() if k != "MINIJAX_PROGRESS"}
        done = subprocess.run([sys.executable, *arguments], env=variables | {"PYTHONPATH": str(installed)},
                              cwd=tmp_path, capture_output=True, text=True, timeout=timeout)
        return done.returncode, done.stdout + done.stderr

    return run


def test_the_wheel_is_what_is_imported(python, installed):
    code, said = python("-c", "import minijax; print(minijax.__file__)")
    assert (code, said.strip()) == (0, str(installed / "minijax" / "__init__.py"))


def test_type_checkers_see_our_types(installed):
    assert (installed / "minijax" / "py.typed").is_file()


def test_exercises_from_start_to_solved(python, tmp_path):
    code, said = python("-m", "minijax", "learn", "start", "mine")
    assert code == 0, said
    mine = tmp_path / "mine" / "ch02_forward_mode.py"
    assert mine.read_text() == (ROOT / "chapters" / "02-forward-mode" / "exercises.py").read_text()

    learn = ("-m", "minijax", "learn", "--folder", "mine")
    code, said = python(*learn, "check", "2.1")
    assert code == 1
    assert "the stub is still there" in said
    mine.write_text(RIGHT)
    assert python(*learn, "check", "2.1") == (0, "✓ 2.1 The tangent of a quotient\n")
    assert json.loads((tmp_path / "mine" / "minijax-progress.json").read_text())["solved"] == ["2.1"]

    assert python("-m", "minijax", "learn", "start", "mine")[0] == 0
    assert mine.read_text() == RIGHT  # what the reader wrote stays
    code, said = python(*learn)
    assert code == 0
    assert "✓ 2.1" in said


def test_without_a_folder_the_reader_is_told_how_to_start(python):
    code, said = python("-m", "minijax", "learn", "check", "2.1")
    assert code == 2
    assert "minijax learn start FOLDER" in said


def test_the_tour_finds_its_programs(python):
    code, said = python("-c", "from minijax.cli.tour import import_companions\nimport_companions()\n"
                        "from toy_models import writing\nassert 'vmap' in writing.load()")
    assert code == 0, said
