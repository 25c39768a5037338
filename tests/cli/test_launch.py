"""`python -m minijax launch`: what it sets, prints and returns, and that nothing survives it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from minijax.cli import launch
from minijax.cli.main import main

ROOT = Path(__file__).resolve().parents[2]

# Scripts with the least imports: starting Python takes most of the time.
NAMES = "JAX_NUM_PROCESSES JAX_COORDINATOR_ADDRESS JAX_COORDINATOR_BIND_ADDRESS JAX_NUM_CPU_DEVICES".split()
TELL = f"""
import os, sys
print("one", sys.argv[1:], repr(sys.stdin.read()))
print("two", *(os.environ.get(name) for name in {NAMES}))
print("wrong \\xe9", file=sys.stderr)
print("no end", end="")
"""
WAIT = """
import os, subprocess, sys, time
rank, (folder, *todo) = os.environ["JAX_PROCESS_ID"], sys.argv[1:]
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
print(os.getpid(), child.pid, file=open(f"{folder}/{rank}", "w"), flush=True)
while len([name for name in os.listdir(folder) if open(f"{folder}/{name}").read()]) < 2:
    time.sleep(0.01)
if rank == "1":
    exec(" ".join(todo))
time.sleep(60)
"""


def script(folder: Path, text: str) -> str:
    """A file with a program."""
    path = folder / "script.py"
    path.write_text(text)
    return str(path)


def all_gone(folder: Path) -> bool:
    """Whether none is left of the processes whose numbers are in the files of a folder."""
    numbers = [int(word) for path in folder.iterdir() for word in path.read_text().split()]
    assert len(numbers) == 4
    deadline = time.monotonic() + 5  # a signal takes its time
    while any(map(is_alive, numbers)) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not any(map(is_alive, numbers))


def is_alive(number: int) -> bool:
    """Whether there is a process with this number; one that nobody has waited for is none."""
    try:
        return f"{number} (" in (text := Path(f"/proc/{number}/stat").read_text()) and ") Z " not in text
    except FileNotFoundError:
        return False


@pytest.fixture
def pids(tmp_path):
    folder = tmp_path / "pids"
    folder.mkdir()
    return folder


def test_each_line_has_its_rank_and_each_process_knows_the_others(capfd, tmp_path):
    program = script(tmp_path, TELL)
    assert main(["launch", "-n", "2", "--devices-per-process", "3", program, "a", "-n", "--x=1"]) == 0
    out, err = capfd.readouterr()
    lines = [[line[4:] for line in out.splitlines() if line.startswith(f"[{rank}] ")] for rank in (0, 1)]
    assert lines[0] == lines[1]
    assert sum(map(len, lines)) == len(out.splitlines())
    one, two, three = lines[0]
    assert one == "one ['a', '-n', '--x=1'] ''"
    _, count, address, bind, devices = two.split()
    assert (count, devices, bind) == ("2", "3", address)
    assert address.startswith("127.0.0.1:")
    assert three == "no end"
    assert sorted(err.splitlines()) == ["[0] wrong é", "[1] wrong é"]


@pytest.mark.parametrize(("arguments", "seen"), [
    (["-m", "calendar", "--type", "text", "2000", "1"], "January 2000"),
    (["--", "SCRIPT", "-n", "3"], "one ['-n', '3'] ''"),
])
def test_modules_and_what_follows_two_dashes(capfd, tmp_path, arguments, seen):
    program = script(tmp_path, TELL)
    assert main(["launch", "-n", "1", *(program if word == "SCRIPT" else word for word in arguments)]) == 0
    assert seen in capfd.readouterr().out


@pytest.mark.parametrize(("todo", "code", "says"), [
    ("sys.exit(7)", 7, "process 1 failed with exit code 7"),
    ("raise ValueError('no')", 1, "process 1 failed with exit code 1"),
    ("os.kill(os.getpid(), 9)", 137, "process 1 was ended by SIGKILL"),
])
def test_when_one_fails_all_are_ended_and_its_exit_code_is_returned(capfd, tmp_path, pids, todo, code, says):
    assert main(["launch", "-n", "2", script(tmp_path, WAIT), str(pids), todo]) == code
    assert capfd.readouterr().err.splitlines()[-1] == f"[launch] {says}"
    assert all_gone(pids)


def test_who_ignores_the_request_to_end_is_killed(capfd, tmp_path, pids, monkeypatch):
    monkeypatch.setattr(launch, "GRACE", 0.2)
    deaf = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    assert main(["launch", "-n", "2", script(tmp_path, deaf + WAIT), str(pids), "sys.exit(3)"]) == 3
    assert all_gone(pids)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_who_ends_the_launcher_ends_all(tmp_path, pids, number, code):
    # A process in the background may be started so that it ignores Ctrl-C.
    listen = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    run = "import sys; from minijax.cli.main import main; sys.exit(main())"
    command = [sys.executable, "-c", f"{listen}; {run}", "launch", "-n", "2", script(tmp_path, WAIT), str(pids)]
    launcher = subprocess.Popen(command, env=os.environ | {"PYTHONPATH": str(ROOT)}, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 30
    while sum(bool(path.read_text()) for path in pids.iterdir()) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    launcher.send_signal(number)
    assert "Traceback" not in launcher.communicate(timeout=20)[1]
    assert launcher.returncode == code
    assert all_gone(pids)


@pytest.mark.parametrize(("arguments", "words"), [
    ([], "-n, SCRIPT"),
    (["-n", "x", "a.py"], "invalid positive value"),
    (["-n", "0", "a.py"], "-n: 0 is less than 1"),
    (["-n", "1", "--devices-per-process", "0", "a.py"], "--devices-per-process: 0 is less than 1"),
    (["-n", "1", "no_such_script.py"], "there is no file no_such_script.py"),
])
def test_bad_arguments_get_one_line_and_exit_code_2(capsys, arguments, words):
    try:
        code = main(["launch", *arguments])
    except SystemExit as stop:  # argparse's way out
        code = stop.code
    out, err = capsys.readouterr()
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert words in err
