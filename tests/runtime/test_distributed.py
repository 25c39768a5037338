"""Processes that compute together: how they begin, what they compute, and how they end."""

from __future__ import annotations

import importlib
import json
import os
import pickle
import re
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import minijax
from tests.conftest import QUICK_COMPILATION
from tests.oracle import jax
from tests.runtime import several_processes

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = os.environ | {
    "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu", "XLA_FLAGS": QUICK_COMPILATION}


def start(program: str, *arguments: object, **environment: str) -> subprocess.Popen:
    """A process that runs a program."""
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)], env=ENVIRONMENT | environment,
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def is_free(port: int) -> bool:
    """Whether nobody listens at a port."""
    try:
        socket.create_server(("", port)).close()
    except OSError:
        return False
    return True


# ----------------------------------------------------------------------------------------------
# Beginning

ARGUMENTS = """
import json, os, socket, sys, time
import minijax as jax

told = []

def attempt(*args, **kwargs):
    begin = time.monotonic()
    try:
        jax.distributed.initialize(*args, **kwargs)
        told.append(["no error", "", 0])
    except Exception as error:
        told.append([type(error).__name__, str(error), time.monotonic() - begin])

port = int(sys.argv[1])
here = f"127.0.0.1:{port}"
attempt()
attempt(here)
attempt(here, 2)
attempt(here, 2, 2)
attempt(here, 2, -1)
attempt(here, 2, "1")
attempt(here, 2.0, 1)
attempt("127.0.0.1", 2, 1)
os.environ.update(JAX_COORDINATOR_ADDRESS=here, JAX_NUM_PROCESSES="2", JAX_PROCESS_ID="two")
attempt()
attempt(cluster_detection_method="deactivate")
attempt(here, 2, 1, initialization_timeout=1)
with socket.create_server(("127.0.0.1", port)):
    attempt(here, 2, 0)
assert not jax.distributed.is_initialized()
os.environ.update(JAX_NUM_PROCESSES="1", JAX_PROCESS_ID="0")
attempt()
assert jax.distributed.is_initialized()
attempt()
told.append([jax.process_index(), jax.process_count(), jax.local_devices() == jax.devices()])
jax.distributed.shutdown()
jax.distributed.shutdown()
assert not jax.distributed.is_initialized()
socket.create_server(("127.0.0.1", port)).close()
attempt()
print(json.dumps(told))
"""


def test_arguments_the_environment_and_a_coordinator_that_is_not_there():
    port = free_port()
    out, err = start(ARGUMENTS, port).communicate(timeout=60)
    told = json.loads(out) if out else err
    expected = [
        ("ValueError", "coordinator_address is missing"),
        ("ValueError", "num_processes is missing"),
        ("ValueError", "process_id is missing"),
        ("ValueError", "process_id must be in 0..1, got 2"),
        ("ValueError", "process_id must be in 0..1, got -1"),
        ("TypeError", "process_id must be an int, got '1'"),
        ("TypeError", "num_processes must be an int, got 2.0"),
        ("ValueError", "'127.0.0.1' is no address"),
        ("ValueError", "JAX_PROCESS_ID must be a number, got 'two'"),
        ("ValueError", "num_processes is missing"),
        ("RuntimeError", f"No coordinator at 127.0.0.1:{port} after 1 s"),
        ("RuntimeError", f"The coordinator cannot listen on 127.0.0.1:{port}"),
        ("no error", ""),
        ("RuntimeError", "should only be called once"),
        (0, 1),
        ("RuntimeError", "must be called before any JAX calls"),
    ]
    assert len(told) == len(expected), told
    for (kind, text, _), (expected_kind, words) in zip(told, expected):
        assert kind == expected_kind, (kind, text)
        assert words in text if isinstance(words, str) else words == text
    assert 1 <= told[10][2] < 2
    assert told[14][2] is True


def test_one_process_needs_none_of_this():
    with pytest.raises(RuntimeError, match="before any JAX calls"):
        minijax.jit(lambda x: x)(0)
        minijax.distributed.initialize("127.0.0.1:1", 2, 1)
    assert (minijax.process_index(), minijax.process_count(), minijax.process_indices()) == (0, 1, [0])
    assert minijax.local_devices() == minijax.local_devices(0) == minijax.devices()
    with pytest.raises(ValueError, match="Unknown process_index 1"):
        minijax.local_devices(1)


# ----------------------------------------------------------------------------------------------
# What they compute

# how many processes, how many devices in each: the programs that they run
LAUNCHES = {(2, 4): "arrays collectives losses pmaps spread thousand utilities".split(), (4, 1): ["losses"]}


@pytest.fixture(scope="module", params=LAUNCHES, ids=str)
def launched(request, tmp_path_factory):
    """How many processes there were, and what the programs gave in each."""
    count, devices = request.param
    folder = tmp_path_factory.mktemp("results")
    command = ["launch", "-n", count, "--devices-per-process", devices, several_processes.__file__, folder]
    run = subprocess.run(
        [sys.executable, "-m", "minijax", *map(str, command), *LAUNCHES[request.param]],
        env=ENVIRONMENT, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    return [pickle.loads((folder / f"{rank}.pickle").read_bytes()) for rank in range(count)]


@contextmanager
def named(library):
    """`import minijax` means this library."""
    ours = {name: module for name, module in sys.modules.items() if name.split(".")[0] == "minijax"}
    theirs = {"minijax": library, "minijax.numpy": library.numpy, "minijax.sharding": library.sharding}
    sys.modules.update(theirs)
    try:
        yield
    finally:
        sys.modules.update(ours)


@pytest.mark.long
def test_several_processes_compute_what_one_does_and_jax(launched):
    for name, several in launched[0].items():
        for other in launched[1:]:
            for x, y in zip(several, other[name], strict=True):
                np.testing.assert_array_equal(x, y)
        if name in ("pmaps", "spread", "utilities"):  # they look at what only several processes see
            continue
        program = getattr(several_processes, name)
        one = several_processes.leaves(program(minijax))
        with named(jax):  # it has no bound on programs in flight, and would come to a standstill
            expected = one if name == "thousand" else several_processes.leaves(program(jax))
        for x, y, z in zip(several, one, expected, strict=True):
            assert x.dtype == y.dtype == z.dtype
            np.testing.assert_allclose(x, z, rtol=2e-5, atol=2e-5)
            np.testing.assert_allclose(y, z, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("call", [
    "process_allgather(np.arange(3))",
    "process_allgather(np.arange(3), tiled=True)",
    "process_allgather({'a': jnp.arange(3), 'b': (1, 2.0)})",
    "process_allgather(3.5, tiled=True)",
    "process_allgather(jax.device_put(np.arange(8), sharding), tiled=True)",
    "process_allgather(jax.device_put(np.arange(8), sharding))",
    "broadcast_one_to_all({'a': 1, 'b': jnp.ones(2)})",
    "broadcast_one_to_all(3, is_source=False)",
    "assert_equal({'a': np.arange(3)})",
    "assert_equal(np.array([np.nan]))",
    "assert_equal(jax.device_put(np.arange(8), sharding))",
    "sync_global_devices('here')",
    "host_local_array_to_global_array(np.arange(8), mesh, x)",
    "host_local_array_to_global_array({'a': np.arange(8), 'b': np.ones((8, 2))}, mesh, x)",
    "host_local_array_to_global_array({'a': np.arange(8), 'b': np.ones((8, 2))}, mesh, {'a': x, 'b': jax.P()})",
    "host_local_array_to_global_array(np.arange(8), mesh, None)",
    "host_local_array_to_global_array(np.arange(7), mesh, x)",
    "host_local_array_to_global_array((np.arange(8),), mesh, (x, x))",
    "host_local_array_to_global_array(jax.random.key(0), mesh, jax.P())",
    "global_array_to_host_local_array(jax.device_put(np.arange(8), sharding), mesh, x)",
    "global_array_to_host_local_array(np.arange(8), mesh, x)",
    "global_array_to_host_local_array(jnp.arange(8), mesh, None)",
])
@pytest.mark.live_jax
def test_utilities_in_one_process_are_jaxs(call):
    def outcome(library):
        utils = importlib.import_module(f"{library.__name__}.experimental.multihost_utils")
        mesh, x = library.make_mesh((8,), ("x",)), library.P("x")
        names = {"jax": library, "jnp": library.numpy, "np": np, "mesh": mesh, "x": x,
                 "sharding": library.NamedSharding(mesh, x)} | vars(utils)
        try:
            return library.tree.map(seen, eval(call, names))
        except (ValueError, AssertionError) as error:
            return type(error).__name__

    def seen(x):
        spec = None if isinstance(x, np.ndarray) else str(x.sharding.spec) if hasattr(x.sharding, "spec") else ""
        return x.shape, str(x.dtype), spec, "" if "key" in str(x.dtype) else np.asarray(x).tolist()

    assert outcome(minijax) == outcome(jax)


@pytest.mark.long
def test_a_program_of_the_book_prints_in_two_processes_what_it_prints_in_one():
    program = ROOT / "chapters/toy_models/data_parallel.py"
    printed = [
        subprocess.run([sys.executable, *words, program], env=ENVIRONMENT, cwd=ROOT, capture_output=True,
                       text=True, timeout=100).stdout.replace("[0] ", "")
        for words in ([], ["-m", "minijax", "launch", "-n", "2"])]
    losses = [re.findall(r"^step \d+: loss (\S+)$", text, re.MULTILINE) for text in printed]
    assert len(losses[0]) == 3
    np.testing.assert_allclose(*np.array(losses, np.float32), rtol=1e-4)


# ----------------------------------------------------------------------------------------------
# Ending

HEARTBEAT = 2
MEMBER = """
import os, sys, time
import minijax as jax

port, rank, victim, todo, busy = [eval(word) for word in sys.argv[1:]]
jax.distributed.initialize(f"127.0.0.1:{port}", 3, rank, heartbeat_timeout_seconds=HEARTBEAT,
                           coordinator_bind_address=f"127.0.0.1:{port}")
mesh = jax.make_mesh((3,), "x")
step = jax.jit(jax.shard_map(lambda x: jax.lax.psum(x, "x"), mesh=mesh, in_specs=jax.P("x"), out_specs=jax.P()))
x = jax.device_put(jax.numpy.arange(3.0), jax.NamedSharding(mesh, jax.P("x")))
assert step(x)[0] == 3
if rank == victim:
    exec(todo)
while busy:
    step(x).block_until_ready()
time.sleep(60)
""".replace("HEARTBEAT", str(HEARTBEAT))
KILL = "os.kill(os.getpid(), 9)"


@pytest.mark.parametrize(("victim", "todo", "code", "busy"), [
    (0, KILL, -9, False), (1, KILL, -9, False), (2, KILL, -9, True), (0, "raise ValueError('no')", 1, True),
    (1, "raise ValueError('no')", 1, False),
])
def test_when_a_process_dies_the_others_end_with_an_error_in_time(victim, todo, code, busy):
    port = free_port()
    processes = [start(MEMBER, port, rank, victim, repr(todo), busy) for rank in range(3)]
    _, err = processes[victim].communicate(timeout=60)
    died = time.monotonic()
    assert processes[victim].returncode == code, err
    assert ("ValueError: no" in err) == (code == 1)
    for rank in {0, 1, 2} - {victim}:
        _, err = processes[rank].communicate(timeout=60)
        assert processes[rank].returncode != 0
        assert "another task died" in err or busy and "JaxRuntimeError: UNKNOWN: Gloo all-reduce failed" in err
    assert time.monotonic() - died < 5 * HEARTBEAT  # 3 s where nothing else runs; the default is 100
    assert is_free(port)


def test_a_process_that_never_comes_is_named():
    port = free_port()
    alone = start("import minijax as jax, sys; jax.distributed.initialize("
                  "f'127.0.0.1:{sys.argv[1]}', 2, 0, initialization_timeout=1)", port)
    _, err = alone.communicate(timeout=60)
    assert alone.returncode != 0
    assert "Some timed out task names:\n1" in err
    assert is_free(port)


LISTENING = """
import sys
import minijax as jax

port, rank = int(sys.argv[1]), int(sys.argv[2])
jax.distributed.initialize(f"127.0.0.1:{port}", 2, rank)
if rank == 0:
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in open(table).readlines()[1:]:
            address, state = line.split()[1], line.split()[3]
            if state == "0A" and int(address.rpartition(":")[2], 16) == port:
                print(address.rpartition(":")[0])
"""


def test_a_coordinator_at_the_loopback_address_listens_there_only():
    if not os.path.exists("/proc/net/tcp"):
        pytest.skip("reads Linux's table of sockets")
    port = free_port()
    said = [process.communicate(timeout=100) for process in [start(LISTENING, port, rank) for rank in range(2)]]
    (address,) = said[0][0].split()
    assert address.endswith("0100007F"), said  # 127.0.0.1, perhaps as an address of IPv6


PREEMPTED = """
import os, signal, sys, time
import minijax as jax
from minijax.experimental.multihost_utils import reached_preemption_sync_point

port, rank = int(sys.argv[1]), int(sys.argv[2])
jax.distributed.initialize(f"127.0.0.1:{port}", 2, rank, coordinator_bind_address=f"127.0.0.1:{port}")
for step in range(600):
    if reached_preemption_sync_point(step):
        print("saved at", step)
        break
    if (rank, step) == (1, 3):
        os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(0.05)
"""


def test_all_processes_save_at_one_step_when_one_will_be_stopped():
    port = free_port()
    processes = [start(PREEMPTED, port, rank) for rank in range(2)]
    said = [process.communicate(timeout=100) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], said
    steps = [int(out.split()[-1]) for out, _ in said]
    assert steps[0] == steps[1] > 3
