"""`python -m minijax launch -n 4 script.py`: one program in several processes on this machine.

The processes find each other when the script calls `minijax.distributed.initialize()`, which reads
the environment variables set here. If one fails, the others are ended: they would wait for it.
"""

import argparse
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO

from . import run

GRACE = 5.0  # seconds from SIGTERM, which a process may use to tidy up, to SIGKILL


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("-n", type=positive, required=True, dest="processes", metavar="N",
                        help="how many processes to start")
    parser.add_argument("--devices-per-process", type=positive, metavar="K",
                        help="how many CPU devices each of them shall make")
    run.add_arguments(parser)


def positive(word: str) -> int:
    """A number of things, of which there has to be one."""
    if int(word) < 1:
        raise argparse.ArgumentTypeError(f"{word} is less than 1")
    return int(word)


def launch(options: argparse.Namespace) -> int:
    """Run the program; return 0 if all processes end well, else the exit code of the first that
    fails (as in a shell, 128 + n if signal n ended it)."""
    run.check_program(options)
    program = ["-m", options.program] if options.is_module else [options.program]
    command = [sys.executable, *program, *options.arguments]
    environment = shared_environment(options.processes, options.devices_per_process)
    processes: list[subprocess.Popen] = []
    readers: list[threading.Thread] = []
    with all_ended(processes):
        for rank in range(options.processes):
            process = start(command, environment | {"JAX_PROCESS_ID": str(rank)})
            processes.append(process)
            assert process.stdout and process.stderr
            readers += [forward(rank, process.stdout, sys.stdout),
                        forward(rank, process.stderr, sys.stderr)]
        rank, code = wait(processes)
    for reader in readers:
        reader.join(1)  # they have come to the end, unless something escaped that holds a pipe open
    if code:
        print(f"[launch] process {rank} {describe(code)}", file=sys.stderr)
    return code if code >= 0 else 128 - code


def shared_environment(processes: int, devices: int | None) -> dict[str, str]:
    """The environment variables of all processes: where they meet, and how many they are."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"  # free now, and hardly taken so soon
    environment = os.environ | {
        "JAX_COORDINATOR_ADDRESS": address,
        "JAX_COORDINATOR_BIND_ADDRESS": address,  # all processes are on this machine
        "JAX_NUM_PROCESSES": str(processes),
        "PYTHONUNBUFFERED": "1",  # a line is shown when it is printed
    }
    return environment | ({} if devices is None else {"JAX_NUM_CPU_DEVICES": str(devices)})


def start(command: list[str], environment: dict[str, str]) -> subprocess.Popen:
    """Start a process, in a group of its own: what it starts itself is ended with it."""
    return subprocess.Popen(
        command, env=environment, start_new_session=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")


def forward(rank: int, source: IO[str], target: IO[str]) -> threading.Thread:
    """Start to pass on the lines that a process prints, with its rank before each."""

    def pass_on():
        try:
            with source:
                for line in source:
                    with one_at_a_time:
                        print(f"[{rank}]", line.removesuffix("\n"), file=target, flush=True)
        except BrokenPipeError:
            pass  # the reader is closed, and the process ends at its next write

    reader = threading.Thread(target=pass_on, daemon=True)
    reader.start()
    return reader


one_at_a_time = threading.Lock()


def wait(processes: list[subprocess.Popen]) -> tuple[int, int]:
    """Wait until all have ended or a process has failed. Returns that one's rank and exit code,
    or zeros."""
    running = dict(enumerate(processes))
    while running:
        for rank, process in list(running.items()):
            code = process.poll()
            if code:
                return rank, code
            if code == 0:
                del running[rank]
        time.sleep(0.02)
    return 0, 0


def describe(code: int) -> str:
    """How a process ended."""
    if code > 0:
        return f"failed with exit code {code}"
    return f"was ended by {signal.Signals(-code).name}"


@contextmanager
def all_ended(processes: list[subprocess.Popen]) -> Iterator[None]:
    """In the end, however it comes, none of the processes is left, nor what they have started."""
    previous = signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        yield
    finally:
        try:
            send(signal.SIGTERM, processes)
            deadline = time.monotonic() + GRACE
            while time.monotonic() < deadline and any(p.poll() is None for p in processes):
                time.sleep(0.02)
        finally:  # also after a second Ctrl-C
            send(signal.SIGKILL, processes)
            for process in processes:
                process.wait()
            signal.signal(signal.SIGTERM, previous)


def send(number: signal.Signals, processes: list[subprocess.Popen]) -> None:
    """Send a signal to processes and all that they have started."""
    for process in processes:
        with suppress(ProcessLookupError, PermissionError):  # the process has ended
            os.killpg(process.pid, number)
