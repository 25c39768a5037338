"""The command line: what it prints, its exit codes, and that the tour leaves jax alone."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from minijax.cli.main import main

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess:
    """Run Python in the repository, as a user would."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | (env or {})
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True
    )


def complaint(capsys, *arguments: str) -> tuple[int, str]:
    """The exit code and the one line on stderr of a command that fails; stdout stays empty."""
    try:
        code = main(arguments)
    except SystemExit as stop:  # argparse's way out
        code = stop.code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.endswith("\n")
    assert err.count("\n") == 1, err
    return code, err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "COMMAND"),
        (["fly"], "invalid choice: 'fly'"),
        (["jaxpr"], "MODULE:FUNCTION"),
        (["tour", "--speed", "9"], "--speed"),
        (["doctor", "now"], "now"),
        (["jaxpr", "minijax.numpy"], "not of the form MODULE:FUNCTION"),
        (["jaxpr", "no_such_module:f"], "No module named 'no_such_module'"),
        (["jaxpr", "math:no_such"], "'math' has no function 'no_such'"),
        (["jaxpr", "math:pi"], "cannot be called"),
        (["jaxpr", "minijax.numpy:sin", "--args", "f32[3"], "'f32[3' is not understood"),
        (["jaxpr", "minijax.numpy:sin", "--args", "1/0"], "ZeroDivisionError"),
        (["jaxpr", "minijax.numpy:sin", "--args", "x"], "name 'x' is not defined"),
    ],
)
def test_bad_arguments_get_one_line_and_exit_code_2(capsys, arguments, words):
    code, line = complaint(capsys, *arguments)
    assert code == 2
    assert words in line
    assert line.startswith("python -m minijax")


def test_the_installed_command_is_called_by_its_name(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["/usr/bin/minijax"])
    code, line = complaint(capsys, "fly")
    assert code == 2 and line.startswith("minijax: error") and "try: minijax --help" in line


def test_a_function_that_fails_is_named_with_its_place(capsys):
    code, line = complaint(capsys, "jaxpr", "tests.cli.test_cli:choose", "--args", "f32[]")
    assert code == 1
    assert "tracing tests.cli.test_cli:choose failed at tests/cli/test_cli.py:" in line
    assert "TracerBoolConversionError" in line


def choose(x):
    """A function that cannot be traced: it wants to know a value."""
    return x if x > 0 else -x


@pytest.mark.parametrize(
    ("target", "expressions", "text"),
    [
        ("minijax.lax:sin", ["f32[3,4]"], "a:f32[3,4]. let b:f32[3,4] = sin a in (b,)"),
        ("minijax.lax:sin", ["bf16[]"], "a:bf16[]. let b:bf16[] = sin a in (b,)"),
        ("minijax.lax:mul", ["2.0", "np.float32(3)"], "= mul a b in"),
        ("tests.cli.test_cli:first_of_pair", ["(f32[2], i32[3])"], "a:f32[2] b:i32[3]. let  in (a,)"),
    ],
)
def test_jaxpr_prints_what_make_jaxpr_returns(capsys, target, expressions, text):
    assert main(["jaxpr", target, "--args", *expressions]) == 0
    assert text in " ".join(capsys.readouterr().out.split("\n")).replace("   ", " ")


LOSS = """
import jax.numpy as jnp

def loss(x):
    return jnp.sum(jnp.log(x))

if __name__ == "__main__":
    raise SystemExit("the file is not the program that runs")
"""


def test_explain_prints_or_writes_a_page(capsys, tmp_path):
    file, page = tmp_path / "loss.py", tmp_path / "page.html"
    file.write_text(LOSS)
    arguments = ["-m", "minijax", "explain", f"{file}:loss", "--args", "jnp.zeros(3)", "--grad"]
    printed = run(*arguments)
    assert "jnp.log(x)" in printed.stdout and "transpose of div, of jvp of log" in printed.stdout
    written = run(*arguments, "--jit", "-o", str(page))
    assert written.stdout == f"wrote {page}\n", written.stderr
    assert "StableHLO" in page.read_text()
    assert "random" in run(*arguments[:4], "--args", "f32[3]").stdout


def test_explain_says_what_failed(capsys):
    code, line = complaint(capsys, "explain", "minijax.numpy:add", "--args", "f32[3]", "f32[2]")
    assert code == 1 and "tracing minijax.numpy:add failed" in line
    code, line = complaint(capsys, "explain", "no_such_file.py:f")
    assert code == 2 and "no_such_file.py" in line


def test_theatre_writes_a_page_of_a_run(capsys, tmp_path):
    page = tmp_path / "page.html"
    arguments = ["minijax.numpy:sum", "--args", "f32[3]", "--grad", "--output", str(page)]
    assert main(["theatre", *arguments]) == 0
    assert capsys.readouterr().out == f"wrote {page}\n"
    assert "transpose rule of reduce_sum" in page.read_text()


def test_theatre_says_what_failed_and_where_the_steps_before_it_are(capsys, tmp_path):
    page = tmp_path / "page.html"
    code, line = complaint(capsys, "theatre", "minijax.numpy:add", "--args", "f32[3]", "f32[2]",
                           "--output", str(page))
    assert (code, str(page) in line, page.exists()) == (1, True, True)
    assert "running minijax.numpy:add failed" in line


@pytest.mark.parametrize(("arguments", "text"), [
    (["f32[8@x,2]"], "a:f32[8@x,2]. let b:f32[8@x,2] = sin a in (b,)"),
    (["f32[3,8@(x,y)]"], "a:f32[3,8@(x,y)]. let b:f32[3,8@(x,y)] = sin a in (b,)"),
    (["f32[8@y]"], "a:f32[8@y]. let b:f32[8@y] = sin a in (b,)"),
])
def test_jaxpr_under_a_mesh(capsys, arguments, text):
    assert main(["jaxpr", "minijax.lax:sin", "--mesh", "x=4,y=2", "--args", *arguments]) == 0
    assert text in " ".join(capsys.readouterr().out.split("\n")).replace("   ", " ")


def test_a_mesh_that_is_not_understood(capsys):
    code, line = complaint(capsys, "jaxpr", "minijax.lax:sin", "--mesh", "4x2", "--args", "f32[8]")
    assert code and "write it as x=4,y=2" in line


def first_of_pair(pair):
    """Takes a pytree."""
    return pair[0]


def test_modules_are_found_in_the_working_folder(tmp_path, monkeypatch, capsys):
    (tmp_path / "a_program_of_mine.py").write_text("def double(x):\n    return 2 * x\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert main(["jaxpr", "a_program_of_mine:double", "--args", "f32[2]"]) == 0
    assert "mul 2.0:f32[] a" in capsys.readouterr().out


def test_doctor():
    done = run("-m", "minijax", "doctor")
    assert done.returncode == 0, done.stderr
    assert "compiles and runs a program" in done.stdout
    assert re.search(r"^jaxlib +0\.1", done.stdout, re.MULTILINE)
    assert re.search(r"^autotune +off \(jax_cpu_autotune", done.stdout, re.MULTILINE)


def test_doctor_counts_the_choices_of_the_autotuner(monkeypatch, tmp_path):
    from minijax.cli.doctor import autotuning
    from minijax.runtime import compilation_cache
    from minijax.runtime.settings import cpu_autotune

    with cpu_autotune(True):
        assert autotuning().startswith("on; choices last as long as the process")
        with compilation_cache.directory(str(tmp_path / "cache")):
            assert autotuning() == f"on; 0 choices in {tmp_path / 'cache'}"
        with compilation_cache.directory(str(tmp_path)):
            (tmp_path / "autotune-jit_f-0-cache").touch()
            assert autotuning() == f"on; 1 choice in {tmp_path}"


def test_doctor_without_xla(monkeypatch, capsys):
    from minijax.cli import doctor

    def broken():
        raise RuntimeError("no compiler")

    monkeypatch.setattr(doctor, "try_xla", broken)
    assert main(["doctor"]) == 1
    assert "RuntimeError: no compiler" in capsys.readouterr().out


# Runs the command line in a process where an attempt to import jax, even one that is caught, is
# noted and fails. (jaxlib's C++ tries to import it in places.)
FORBID_JAX = """
import sys

class Forbidden:
    attempts = []
    def find_spec(self, name, path=None, target=None):
        if name == "jax" or name.startswith("jax."):
            self.attempts.append(name)
            raise ImportError(f"{name} is forbidden here")

sys.meta_path.insert(0, Forbidden())
from minijax.cli.main import main
code = main(sys.argv[1:])
assert Forbidden.attempts == [], Forbidden.attempts
assert "jax" not in sys.modules
sys.exit(code)
"""


@pytest.mark.long
def test_the_tour_without_jax_in_its_process(tmp_path):
    """The whole tour; a process of its own compares with real JAX."""
    done = run("-c", FORBID_JAX, "tour", "--output", str(tmp_path / "pictures"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "checks passed" in done.stdout
    assert "real JAX 0.1" in " ".join(done.stdout.split())
    for picture in ("loss.png", "confusion.png"):
        assert (tmp_path / "pictures" / picture).read_bytes().startswith(b"\x89PNG")
    found = re.search(r"([\d.]+)% of the exam .* after ([\d.]+) s", done.stdout)
    assert float(found[1]) >= 97
    said = done.stdout.split("Then it writes", 1)[1]
    assert len(said.split("The same with real JAX")[0]) > 200  # it wrote something
    assert "what it writes: the same, character by character" in said


def test_the_tour_says_what_it_lacks(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    code, line = complaint(capsys, "tour", "--output", str(tmp_path))
    assert code == 1
    assert "pip install 'minijax[tour]'" in line


def test_the_tour_notices_a_wrong_result():
    from minijax.cli.compare import close

    assert close([1.0, 2.0], [1.0, 2.0], 0)
    assert close("text", "text", 0)
    assert not close([1.0, 2.0], [1.0, 2.1], 1e-3)
    assert not close([1.0, float("nan")], [1.0, 2.0], 1e-3)
    assert not close([float("nan"), 1.0], [1.0, 1.0], 1e-3)
    assert not close("text", "test", 1)
