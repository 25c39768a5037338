"""Every stub fails, every solution passes, and no check uses what a later chapter brings."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "chapters"))

from learning import catalog, command  # noqa: E402
from learning.checking import in_place  # noqa: E402

from minijax.cli.main import build_parser  # noqa: E402
from tools import cut  # noqa: E402

EXERCISES = catalog.exercises()
CHAPTERS = sorted({catalog.chapter_of(number) for number in EXERCISES})


@pytest.fixture(scope="session")
def outcomes():
    """What came out for each exercise, with its stub, its solution, and a copy of the library."""
    done = subprocess.run([sys.executable, str(Path(__file__).with_name("outcomes.py"))], cwd=ROOT,
                          env=plain(catalog.CHAPTERS, ROOT), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def plain(*paths: Path) -> dict:
    """The environment in which `learn check` runs an exercise."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))}


@pytest.mark.long
@pytest.mark.parametrize("number", EXERCISES)
def test_a_stub_fails(number, outcomes):
    assert outcomes[number]["stub"] in ("wrong", "stub")


@pytest.mark.long
@pytest.mark.parametrize("number", EXERCISES)
def test_a_solution_passes(number, outcomes):
    assert outcomes[number]["solution"] == "right"
    assert EXERCISES[number].hints


@pytest.mark.long
@pytest.mark.parametrize("number", [n for n, exercise in EXERCISES.items() if exercise.hole])
def test_a_copy_of_the_library_does_not_fill_a_hole(number, outcomes):
    """Each hole asks for something that no listing shows."""
    assert outcomes[number]["copy"] == "wrong"
    assert outcomes[number]["calls"] > 0  # the library uses what stands in the hole


def names_needed(number: str) -> set[str]:
    """The names that the solution imports from the library, itself or by functions beside it."""
    body = ast.parse(catalog.solutions(number).read_text()).body
    imports = [node for node in body if isinstance(node, ast.ImportFrom) and node.module.startswith("minijax")]
    original = {alias.asname or alias.name: alias.name for node in imports for alias in node.names}
    defined = {node.name: node for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    defined |= {node.targets[0].id: node for node in body if isinstance(node, ast.Assign)}
    found, to_do, seen = set(), [*EXERCISES[number].answers], set()
    while to_do:
        name = to_do.pop()
        if name in defined and name not in seen:
            seen.add(name)
            used = {node.id for node in ast.walk(defined[name]) if isinstance(node, ast.Name)}
            found |= {original[word] for word in used & original.keys()}
            to_do += used
    return found


@pytest.mark.parametrize("number", [n for n in EXERCISES if catalog.chapter_of(n) >= 1])
def test_the_names_that_an_exercise_needs_stand_in_its_text(number):
    """In the stub: in its docstring, or in the code that is given. `jnp` is `minijax.numpy`."""
    source = catalog.stubs(number).read_text()
    nodes = [node for node in ast.parse(source).body if getattr(node, "name", "") in EXERCISES[number].answers]
    text = " ".join(ast.get_source_segment(source, node) for node in nodes)
    words = {OTHER_WORDS.get(name, name) for name in names_needed(number)}
    assert not {word for word in words if not re.search(rf"\b({word})\b", text)}


OTHER_WORDS = {"primitives": "lax", "numpy": "numpy|jnp"}


@pytest.mark.long
@pytest.mark.parametrize("chapter", [c for c in CHAPTERS if 1 <= c <= cut.LAST])
def test_no_check_uses_a_later_chapter(chapter, tmp_path):
    """In a process of its own, in which minijax ends with the chapter."""
    folder = cut.cut(chapter, tmp_path)
    numbers = [n for n in EXERCISES if catalog.chapter_of(n) == chapter]
    path = str(catalog.solutions(numbers[0]))
    program = f"from learning.run import main\nassert not any(main(n, {path!r}) for n in {numbers})"
    done = subprocess.run([sys.executable, "-c", program], env=plain(folder, catalog.CHAPTERS),
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("chapter", [c for c in CHAPTERS if c >= 1])
def test_every_chapter_has_three_to_seven_exercises_and_a_hole(chapter):
    found = [e for n, e in EXERCISES.items() if catalog.chapter_of(n) == chapter]
    assert 3 <= len(found) <= 7
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
    assert command.check("2.1", catalog.stubs("2.1"), progress) == 1
    assert "it should be" in capsys.readouterr().out
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
        ("def quotient_tangent(x, y, x_dot, y_dot):\n    return 7.0", "it should be  1.0\n  you say       7.0"),
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


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("return self.parent.process_primitive(primitive, args, params)", "it should be current"),
        ("return self.in_parent(self.parent.process_primitive, primitive, args, params)",
         "the rule in partial_eval_rules should be called"),
        ("return self.in_parent(partial_eval_rules.get(primitive, default_partial_eval), self, primitive, args, params)",
         "with no unknown argument, call self.parent.process_primitive"),
        ("if any(map(self.is_unknown, args)):\n        return default_partial_eval(self, primitive, args, params)\n"
         "    return self.in_parent(self.parent.process_primitive, primitive, args, params)",
         "the rule in partial_eval_rules should be called"),
        ("if any(map(self.is_unknown, args)):\n"
         "        return partial_eval_rules.get(primitive, default_partial_eval)(self, primitive, args, params)\n"
         "    return self.in_parent(self.parent.process_primitive, primitive, args, params)",
         "while a rule runs, the parent should be current"),
    ],
)
def test_the_heart_of_partial_evaluation_says_what_is_wrong(body, words, tmp_path):
    (tmp_path / "mine.py").write_text(
        "from minijax.core.partial_eval import default_partial_eval, partial_eval_rules\n\n\n"
        f"def process_primitive(self, primitive, args, params):\n    {body}\n")
    code, said = command.run("7.5", tmp_path / "mine.py")
    assert code == 1
    assert words in said


@pytest.mark.parametrize(
    ("number", "right", "wrong", "words"),
    [
        ("1.2", "for x in args:", "for x in args[-1:]:", "it should raise UnexpectedTracerError"),
        ("2.5", 'raise missing_rule(primitive, "Differentiation", 2)',
         "return self.in_parent(primitive.bind, *primals, **params)", "raise missing_rule"),
        ("5.5", "return eqn.outvars if", "return (outvars if eqn is new else eqn.outvars[:1] * 2) if",
         "x split twice"),
        ("5.5", "len(a.invars) == len(b.invars)", "True", "two and three arrays, joined"),
        ("6.6", "bind(*operands, **eqn.params)", "bind(*operands)", "a sum in a jit"),
        ("7.5", "size > 1000", "size > 1001", "where x has 1001 elements"),
        ("8.5", "if operand_ct is not None and type(operand_ct) is not Zero:",
         "if operand_ct is not None and typeof(operand_ct).size != v.aval.size:", "(3, 1)"),
        ("9.2", "carry, ys = init, [None] * len(xs)",
         "return __import__('minijax').lax.scan(f, init, xs, reverse=reverse)\n    carry, ys = init, []",
         "do not use lax.scan"),
        ("11.3", "lower=not lower", "lower=False", "lower=False: the gradient"),
        ("12.5", "jnp.full(size, fill_value, x.dtype)", "jnp.full(size, fill_value)", "yours int32[3]"),
        ("15.5", "jnp.isinf(out).any()", "(~jnp.isfinite(out)).any()", "begins with a NaN"),
        ("15.5", "for out in outs:", "for out in outs[:1]:", "a jit with two results"),
    ],
)
def test_a_check_refuses_what_is_almost_right(number, right, wrong, words, tmp_path):
    """The stored solution with one mistake."""
    solution = catalog.solutions(number).read_text()
    assert solution.count(right) >= 1
    (tmp_path / "mine.py").write_text(solution.replace(right, wrong))
    code, said = command.run(number, tmp_path / "mine.py")
    assert code == 1
    assert words in said


@pytest.mark.parametrize("words", [["--seconds", "5", "watch", "0.1"], ["watch", "0.1", "--seconds", "5"]])
def test_an_option_may_stand_before_or_after_the_action(words):
    options = build_parser().parse_args(["learn", *words])
    assert (options.action, options.number, options.seconds) == ("watch", "0.1", 5.0)
    assert (options.folder, options.progress) == (Path(), None)


SOLUTIONS_OF_0 = catalog.solutions("0.1")


@pytest.mark.parametrize("answer, words", [
    ("def slopes(f, xs):\n    sys.exit()", "ended the process"),
    ("def slopes(f, xs):\n    os._exit(0)", "ended the process"),
    ("sys.exit(0)", "ended the process"),
    ("print('0')\nexit()", "ended the process"),
    ("import learning.checking\nlearning.checking.same = lambda *args: True\ndef slopes(f, xs): ...", "changes learning.checking.same"),
    ("import numpy\nnumpy.allclose = lambda *args, **k: True\ndef slopes(f, xs): ...", "changes numpy.allclose"),
    ("import builtins\nbuiltins.all = lambda xs: True\ndef slopes(f, xs): ...", "changes builtins.all"),
    ("class Equal:\n    __eq__ = lambda self, other: True\ndef slopes(f, xs):\n    return Equal()", "it should be"),
    (f"exec(open({str(SOLUTIONS_OF_0)!r}).read())", "has the solutions"),
    (f"def slopes(f, xs):\n    exec(open({str(SOLUTIONS_OF_0)!r}).read())", "has the solutions"),
    ("def slopes(f, xs):\n    from learning import catalog\n    return catalog.load(catalog.solutions('0.1')).slopes(f, xs)",
     "has the solutions"),
    ("def slopes(f, xs):\n    import __main__\n    print(sys.stdin.readline(), vars(__main__).get('word'), 0, sep='\\n')\n"
     "    os._exit(0)", "ended the process"),
    ("import learning.checking as c\nc.same.__code__ = (lambda got, want: True).__code__\ndef slopes(f, xs): ...",
     "changes learning.checking.same"),
    ("import learning.checking as c\nc.Exercise.run = lambda self, given: None\ndef slopes(f, xs): ...",
     "changes learning.checking.Exercise.run"),
    ("import __main__\n__main__.main = lambda *args: 0\ndef slopes(f, xs): ...", "changes __main__.main"),
    ("import gc\nfor x in gc.get_objects():\n    if type(x).__name__ == 'Exercise':\n"
     "        object.__setattr__(x, 'run', lambda given: None)\ndef slopes(f, xs): ...", "should be"),
    ("import threading\ndef go():\n    print(0)\n    os._exit(0)\nthreading.Timer(0.01, go).start()\n"
     "def slopes(f, xs):\n    import time\n    time.sleep(1)", "ended the process"),
])
def test_what_is_no_answer_does_not_pass(answer, words, tmp_path, progress, capsys):
    path = tmp_path / "answers.py"
    path.write_text(f"import os, sys\n{answer}\n")
    assert command.check("0.1", path, progress) == 1
    assert words in capsys.readouterr().out
    assert progress.solved == []


@pytest.mark.parametrize("text", ["{", "[]", '{"solved": 3}', '{"solved": [1]}', '{"hints": {"0.1": "x"}}', "\0", "[" * 10**5])
def test_a_damaged_progress_file_is_put_aside(text, tmp_path, capsys):
    path = tmp_path / command.PROGRESS
    path.write_text(text)
    progress = command.Progress(path)
    assert (progress.solved, progress.hints) == ([], {})
    assert "is damaged" in capsys.readouterr().out and path.with_suffix(".damaged").read_text() == text


@pytest.mark.long
def test_a_loop_without_end_is_stopped_and_its_line_is_named(tmp_path):
    (tmp_path / "mine.py").write_text(
        "def quotient_tangent(x, y, x_dot, y_dot):\n    while True:\n        try:\n            x += 1\n"
        "        except Exception:\n            pass\n")
    code, said = command.run("2.1", tmp_path / "mine.py", seconds=4)
    assert code == 1
    assert "with x, y, x_dot, y_dot 0.0, 1.0, 1.0, 0.0" in said
    assert re.search(r"no result within 4 seconds \(line \d of your file\)", said)


def test_code_that_cannot_be_interrupted_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr(command, "GRACE", 1)
    (tmp_path / "mine.py").write_text(
        "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])\nwhile True:\n    pass\n")
    code, said = command.run("2.1", tmp_path / "mine.py", seconds=2)
    assert code != 0
    assert "no result within 2 seconds" in said


def test_endless_output_is_cut(tmp_path):
    (tmp_path / "mine.py").write_text("while True:\n    print('and again')\n")
    code, said = command.run("2.1", tmp_path / "mine.py")
    assert code == 1
    assert "prints more than" in said
    assert len(said) < 3000


@pytest.mark.long
def test_watching_checks_at_each_save_and_goes_on(progress, tmp_path, monkeypatch, capsys):
    """The reader saves a wrong answer, then the right one; the editor replaces the file."""
    file = tmp_path / catalog.readers_file("2.1")
    versions = iter(["x = 1", "def quotient_tangent(x, y, x_dot, y_dot):\n    return x_dot / y - x * y_dot / y**2"])

    def save(_):
        file.unlink(missing_ok=True)
        file.write_text(next(versions))

    shutil.copyfile(catalog.stubs("2.1"), file)
    monkeypatch.setattr(command.time, "sleep", save)
    assert command.watch("2.1", None, tmp_path, progress) == 0
    said = capsys.readouterr().out
    assert said.count("✗ 2.1") == 2
    assert said.index("defines no quotient_tangent") < said.index("✓ 2.1")


def test_a_reader_of_the_list_may_leave(tmp_path):
    """As `learn | head -1` does."""
    process = subprocess.Popen([sys.executable, "-u", "-m", "minijax", "learn"], cwd=ROOT, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, env=os.environ | {"PYTHONPATH": str(ROOT)})
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    process.wait(60)


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


@pytest.mark.long
def test_the_chapters_tests_run_with_an_answer_in_place(tmp_path):
    wrong = tmp_path / "mine.py"
    wrong.write_text("def process_primitive(self, primitive, args, params):\n    return args[0]\n")
    variables = plain(catalog.CHAPTERS, ROOT)
    codes = []
    for path in (catalog.solutions("2.5"), wrong):
        variables["MINIJAX_HOLE"] = f"2.5:{path}"
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-x", "-p", "learning.plugin", "-p",
             "no:cacheprovider", "tests/core/test_forward.py", "-k", "perturbations"],
            env=variables, cwd=ROOT, capture_output=True, text=True)
        codes.append(done.returncode)
    assert codes == [0, 1]
