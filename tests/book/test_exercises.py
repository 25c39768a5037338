"""Every stub fails, every solution passes, and no check uses what a later chapter brings."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "chapters"))

from learning import catalog, command  # noqa: E402
from learning.checking import Wrong, in_place  # noqa: E402

from tools import cut  # noqa: E402

EXERCISES = catalog.exercises()
CHAPTERS = sorted({catalog.chapter_of(number) for number in EXERCISES})


@pytest.mark.parametrize("number", EXERCISES)
def test_a_stub_fails(number):
    answers = vars(catalog.load(catalog.stubs(number)))
    with pytest.raises((Wrong, NotImplementedError)):
        EXERCISES[number].run(answers)


@pytest.mark.parametrize("number", EXERCISES)
def test_a_solution_passes(number):
    EXERCISES[number].run(vars(catalog.load(catalog.solutions(number))))
    assert EXERCISES[number].hints


@pytest.mark.parametrize("chapter", [c for c in CHAPTERS if 1 <= c <= cut.LAST])
def test_no_check_uses_a_later_chapter(chapter, tmp_path):
    """In a process of its own, in which minijax ends with the chapter."""
    folder = cut.cut(chapter, tmp_path)
    numbers = [n for n in EXERCISES if catalog.chapter_of(n) == chapter]
    path = str(catalog.solutions(numbers[0]))
    program = f"from learning.run import main\nassert not any(main(n, {path!r}) for n in {numbers})"
    variables = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), str(catalog.CHAPTERS)])}
    done = subprocess.run([sys.executable, "-c", program], env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("chapter", [c for c in CHAPTERS if c >= 1])
def test_every_chapter_has_three_to_six_exercises_and_a_hole(chapter):
    found = [e for n, e in EXERCISES.items() if catalog.chapter_of(n) == chapter]
    assert 3 <= len(found) <= 6
    assert any(e.hole for e in found)
    text = (catalog.chapter_folders()[chapter] / "README.md").read_text()
    assert all(f"**{e.number}**" in text for e in found)


# ----------------------------------------------------------------------------------------------
# The command


@pytest.fixture
def progress(tmp_path):
    return command.Progress(tmp_path / "progress.json")


def test_progress_is_kept_in_the_readers_file(progress, capsys):
    solutions = catalog.solutions("2.1")
    assert command.check("2.1", None, progress) == 1
    assert "JAX says" in capsys.readouterr().out
    assert command.check("2.1", solutions, progress) == 0
    assert command.Progress(progress.path).solved == ["2.1"]
    command.show_list(command.Progress(progress.path))
    out = capsys.readouterr().out
    assert "✓ 2.1" in out
    assert "· 2.2" in out


def test_hints_come_one_by_one_and_the_solution_after_it_is_solved(progress, capsys):
    hints = EXERCISES["2.1"].hints
    for i in range(len(hints) + 1):
        assert command.hint("2.1", progress) == 0
        assert capsys.readouterr().out.count("hint ") >= min(i + 1, len(hints))
    assert command.solution("2.1", False, progress) == 1
    assert "def " not in capsys.readouterr().out
    assert command.solution("2.1", True, progress) == 0
    assert "def quotient_tangent" in capsys.readouterr().out
    assert command.check("99.1", None, progress) == 2


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("def quotient_tangent(x, y, x_dot, y_dot):\n    return 7.0", "you say   7.0"),
        ("def quotient_tangent(x, y, x_dot, y_dot):\n    return 1 / 0", "ZeroDivisionError"),
        ("x = 1", "your file defines no quotient_tangent"),
        ("def quotient_tangent(:", "SyntaxError"),
        ("raise KeyError('mine')", "KeyError: 'mine'"),
    ],
)
def test_a_wrong_answer_is_explained(answer, words, tmp_path):
    (tmp_path / "mine.py").write_text(answer)
    code, said = command.run("2.1", tmp_path / "mine.py")
    assert code in (1, 2)
    assert words in said


def test_a_hole_is_filled_wherever_the_function_was_imported_and_emptied_again():
    from minijax.core import api, partial_eval, transposition

    original = transposition.backward_pass
    answer = lambda *args: original(*args)
    with in_place("core.transposition.backward_pass", answer):
        assert transposition.backward_pass is answer
        assert api.backward_pass is answer
    assert transposition.backward_pass is api.backward_pass is original
    assert not hasattr(partial_eval, "backward_pass")
    with pytest.raises(LookupError), in_place("core.transposition.no_such_name", answer):
        pass


def test_the_chapters_tests_run_with_an_answer_in_place(tmp_path):
    wrong = tmp_path / "mine.py"
    wrong.write_text("def add_tangents(x, y):\n    return x\n")
    variables = os.environ | {"PYTHONPATH": str(catalog.CHAPTERS)}
    codes = []
    for path in (catalog.solutions("2.4"), wrong):
        variables["MINIJAX_HOLE"] = f"2.4:{path}"
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-x", "-p", "learning.plugin", "-p",
             "no:cacheprovider", "tests/ch02/test_forward.py", "-k", "third_derivatives"],
            env=variables, cwd=ROOT, capture_output=True, text=True)
        codes.append(done.returncode)
    assert codes == [0, 1]
