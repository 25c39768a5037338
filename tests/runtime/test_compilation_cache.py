"""Compiled programs on disk: found again, never mistaken, never trusted when damaged."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import minijax
import minijax.numpy as jnp
from minijax import lax
from minijax.core.extension import Extension, hooks
from minijax.debugging.registering import registered
from minijax.experimental.compilation_cache import compilation_cache as facade
from minijax.runtime import compilation_cache as cache, xla
from tests.oracle import jax

jax_cache = jax.experimental.compilation_cache.compilation_cache

X = np.arange(6, dtype=np.float32).reshape(2, 3)
HIT, MISS = "/jax/compilation_cache/cache_hits", "/jax/compilation_cache/cache_misses"


@pytest.fixture
def folder(tmp_path):
    """A new folder that is in use, for all programs."""
    cache.reset_cache()
    path = tmp_path / "programs"
    with cache.directory(str(path)), cache.min_compile_time(0.0):
        yield path
    cache.reset_cache()


@contextlib.contextmanager
def events():
    """What the cache tells meanwhile: a list of hits and misses."""
    told = []

    class Listening(Extension):
        def record(self, event, seconds, about):
            told.append(event)

    with registered(Listening()):
        yield told
    told[:] = [event for event in told if event in (HIT, MISS)]


def files(folder):
    return sorted(path for path in folder.iterdir())


def program(x):
    return jnp.sin(x) * 2


def compiled():
    """A fresh compilation of `program`."""
    return minijax.jit(lambda x: program(x))


# ----------------------------------------------------------------------------------------------
# Found again


def test_the_second_compilation_reads_what_the_first_has_written(folder):
    with events() as told:
        first = compiled()(X)
        second = compiled()(X)
    assert told == [MISS, HIT]
    np.testing.assert_array_equal(first, second)
    (path,) = files(folder)
    assert path.name.startswith("jit__lambda-") and path.name.endswith("-cache")


def test_the_events_are_those_of_jax(tmp_path):
    def told_by(m, reset, path):
        told = []

        def listen(event, *rest, **kwargs):
            if event.startswith("/jax/compilation_cache/") and "tasks" not in event:
                told.append(event)

        m.monitoring.register_event_listener(listen)
        m.monitoring.register_event_duration_secs_listener(listen)
        before = m.config.jax_persistent_cache_min_compile_time_secs
        m.config.update("jax_compilation_cache_dir", str(path))
        m.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        reset()
        try:
            for _ in range(2):
                m.jit(lambda x: x * 2 + 1)(X)
        finally:
            m.config.update("jax_compilation_cache_dir", None)
            m.config.update("jax_persistent_cache_min_compile_time_secs", before)
            reset()
            m.monitoring.clear_event_listeners()
            if m is minijax:  # the library's own extension is not a listener
                assert hooks.record
        return told

    theirs = told_by(jax, jax_cache.reset_cache, tmp_path / "theirs")
    assert told_by(minijax, facade.reset_cache, tmp_path / "ours") == theirs
    assert len(theirs) == 6


def test_the_public_names_are_those_of_jax():
    def names(m):
        return {name for name in dir(m) if not name.startswith("_")}

    assert names(facade) == names(jax_cache)
    facade.set_cache_dir("/nowhere")
    assert minijax.config.jax_compilation_cache_dir == "/nowhere"
    facade.set_cache_dir(None)


def _on_all_devices(x):
    mesh = minijax.make_mesh((len(minijax.devices()),), ("i",))
    sharding = minijax.NamedSharding(mesh, minijax.P("i"))
    return minijax.device_put(np.arange(16.0, dtype=np.float32), sharding)


SPD = (X.T @ X + 3 * np.eye(3)).astype(np.float32)
PROGRAMS = {  # a program, and its argument
    "elementwise": (lambda x: jnp.sin(x) + 1, X),
    "several results": (lambda x: (x + 1, x.sum(), x > 2), X),
    "a tree": (lambda t: {"b": t["a"] * 2}, {"a": X}),
    "no result": (lambda x: (), X),
    "a large constant": (lambda x: x + jnp.asarray(np.arange(3000.0, dtype=np.float32)), X[0, 0]),
    "an unused argument": (lambda t: t[0] + 1, (X, X)),
    "bfloat16": (lambda x: x.astype(jnp.bfloat16) * 2, X),
    "complex": (lambda x: jnp.exp(1j * x), X),
    "a scan": (lambda x: lax.scan(lambda c, a: (c + a, c * a), x[0], x), X),
    "a loop": (lambda x: lax.while_loop(lambda v: v.sum() < 99, lambda v: 2 * v, x + 1), X),
    "sort": (lambda x: jnp.sort(-x), X),
    "random": (lambda x: minijax.random.normal(minijax.random.key(0), x.shape), X),
    "keys": (lambda x: minijax.random.split(minijax.random.key(0)), X),
    "LAPACK": (lambda x: (jnp.linalg.cholesky(x), jnp.linalg.eigh(x), jnp.linalg.inv(x)), SPD),
    "gradient": (minijax.grad(lambda x: jnp.sum(jnp.tanh(x @ x.T))), X),
    "many devices": (lambda x: (x.sum(), x * 2), _on_all_devices),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_from_disk_computes_the_same(folder, name):
    function, x = PROGRAMS[name]
    x = x(X) if callable(x) else x
    with events() as told:
        first = minijax.jit(lambda x: function(x))(x)
        second = minijax.jit(lambda x: function(x))(x)
    assert MISS in told and told[-1] == HIT and told.count(HIT) == told.count(MISS)
    leaves, tree = minijax.tree.flatten(first)
    again, again_tree = minijax.tree.flatten(second)
    assert tree == again_tree
    for a, b in zip(leaves, again):
        assert a.aval == b.aval and str(a.devices()) == str(b.devices())
        if name != "keys":
            np.testing.assert_array_equal(a, b)


def test_donation_works_from_disk(folder):
    for _ in range(2):
        x = jnp.asarray(X) + 0
        y = minijax.jit(lambda x: x + 1, donate_argnums=0)(x)
        np.testing.assert_array_equal(y, X + 1)
        assert x.is_deleted()


def test_a_program_from_disk_tells_about_itself(folder):
    first, second = (compiled().lower(X).compile() for _ in range(2))
    assert first.as_text() == second.as_text()
    assert first.cost_analysis() == second.cost_analysis()
    assert first.memory_analysis().output_size_in_bytes == 24


def test_each_device_has_its_program(folder):
    for device in minijax.devices()[:2]:
        for _ in range(2):
            y = minijax.jit(lambda x: program(x))(minijax.device_put(X, device))
            assert y.devices() == {device}
            np.testing.assert_allclose(y, np.sin(X) * 2, rtol=1e-6)


SCRIPT = """
import sys, numpy as np
import minijax as jax, minijax.numpy as jnp
told = []
jax.monitoring.register_event_listener(lambda event: told.append(event.rpartition("_")[2]))
x = np.eye(3, dtype=np.float32) * 4
print(float(jax.jit(lambda x: jnp.linalg.cholesky(x).sum())(x)), told[-1], "jax" in sys.modules)
"""


def start(folder, script=SCRIPT, **environment):
    variables = {"PATH": "", "JAX_COMPILATION_CACHE_DIR": str(folder),
                 "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0", **environment}
    return subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, env=variables)


def printed(process):
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert not err, err
    return out.split()


@pytest.mark.long
def test_another_process_finds_it(tmp_path):
    assert printed(start(tmp_path)) == ["6.0", "misses", "False"]
    assert printed(start(tmp_path)) == ["6.0", "hits", "False"]
    # more devices are another program as XLA sees it, or may be; the result is right in any case
    assert printed(start(tmp_path, XLA_FLAGS="--xla_backend_optimization_level=0"))[1] == "misses"


@pytest.mark.long
def test_processes_that_start_together(tmp_path):
    processes = [start(tmp_path) for _ in range(3)]
    assert all(printed(process)[0] == "6.0" for process in processes)
    (path,) = files(tmp_path)
    cache.unpack(path.name, path.read_bytes())


# ----------------------------------------------------------------------------------------------
# Damaged files


def _flip(data, i):
    return data[:i] + bytes([data[i] ^ 1]) + data[i + 1:]


DAMAGES = {
    "empty": lambda data: b"",
    "the header, in part": lambda data: data[:40],
    "the header only": lambda data: data[:cache._HEADER.size],
    "truncated": lambda data: data[:-1],
    "half": lambda data: data[: len(data) // 2],
    "longer": lambda data: data + b"\0",
    "another version": lambda data: b"minijax program 0" + data[17:],
    "foreign": lambda data: b"#!/bin/sh\n" * 1000,
    "a bit in the header": lambda data: _flip(data, 20),
    "a bit of the hash": lambda data: _flip(data, 60),
    "the first bit": lambda data: _flip(data, 0),
    "the last bit": lambda data: _flip(data, len(data) - 1),
    "a bit in the middle": lambda data: _flip(data, len(data) // 2),
    "another program": lambda data: cache.pack("jit_other", b"program", 1.0),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_file_is_not_used_but_replaced(folder, monkeypatch, name):
    expected = compiled()(X)
    (path,) = files(folder)
    whole = path.read_bytes()
    path.write_bytes(DAMAGES[name](whole))
    given = []
    with monkeypatch.context() as patch, cache.min_compile_time(100.0):
        patch.setattr(xla("compiler"), "deserialize", lambda *args: given.append(args))
        with pytest.warns(UserWarning, match=path.name):
            result = compiled()(X)
    assert not given
    np.testing.assert_array_equal(result, expected)
    with events() as told, warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(compiled()(X), expected)
    assert told == [HIT]


def test_what_xla_cannot_read_is_compiled_again(folder):
    """A file that is whole, but whose contents mean nothing to this XLA."""
    expected = compiled()(X)
    (path,) = files(folder)
    path.write_bytes(cache.pack(path.name, b"nonsense", 1.0))
    with pytest.warns(UserWarning, match=path.name):
        np.testing.assert_array_equal(compiled()(X), expected)


def test_an_error_if_it_is_asked_for(folder):
    compiled()(X)
    (path,) = files(folder)
    path.write_bytes(b"")
    with cache.raise_errors(True), pytest.raises(ValueError, match="not written by"):
        compiled()(X)


@pytest.mark.parametrize("below", ["", "deeper/"])
def test_a_folder_that_cannot_be_used_is_told_of_once(tmp_path, below):
    cache.reset_cache()
    (tmp_path / "file").write_text("no folder")
    place = tmp_path / "file" / below
    with cache.directory(str(place)), cache.min_compile_time(0.0):
        with pytest.warns(UserWarning, match="file") as caught:
            for k in range(3):
                np.testing.assert_allclose(minijax.jit(lambda x: x + k)(X), X + k)
        assert len(caught) == 1 and caught[0].filename == __file__
        with cache.raise_errors(True), pytest.raises(OSError):
            compiled()(X)
    cache.reset_cache()


def test_a_folder_in_place_of_the_file(folder):
    compiled()(X)
    (path,) = files(folder)
    path.unlink()
    path.mkdir()
    with pytest.warns(UserWarning, match=path.name):
        compiled()(X)
    assert not [p for p in files(folder) if p.name.startswith(".")]


def test_many_threads_write_and_read_the_same_file(tmp_path):
    path, wrong = tmp_path / "jit_f-cache", []
    contents = [cache.pack(path.name, bytes([i]) * 100_000, float(i)) for i in range(4)]

    def work(i):
        for _ in range(30):
            cache._write(str(path), contents[i])
            program, seconds = cache.unpack(path.name, path.read_bytes())
            if program != bytes([int(seconds)]) * 100_000:
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and files(tmp_path) == [path]


# ----------------------------------------------------------------------------------------------
# Names


def name_of(text="module @jit_f {}", flags=None, device=0):
    devices = (minijax.devices()[device],)
    return cache.file_name(text, xla("compiler").compile_options(devices, flags), devices)


@pytest.mark.parametrize("change", [
    lambda patch: {"text": "module @jit_f { }"},
    lambda patch: {"text": "module @jit_g {}"},
    lambda patch: {"flags": {"xla_cpu_enable_fast_math": True}},
    lambda patch: {"device": 1},
    lambda patch: patch.setattr(xla(), "JAXLIB_VERSION", (0, 10, 99)) or {},
    lambda patch: patch.setattr(cache, "_processor", lambda: "another one") or {},
    lambda patch: patch.setattr(cache, "_MAGIC", b"minijax program 9") or {},
], ids=["text", "name", "flags", "device", "jaxlib", "processor", "format"])
def test_whatever_the_compiler_sees_is_in_the_name(monkeypatch, change):
    before = name_of()
    assert before == name_of()
    assert name_of(**change(monkeypatch)) != before


def test_names_of_equations_are_not_unless_wanted():
    def text(name):
        return f'module @jit_f {{\n  %0 = stablehlo.add %a, %b : tensor<f32> loc("{name}")\n}}'

    assert name_of(text("here")) == name_of(text("there"))
    with cache.locations_in_key(True):
        assert name_of(text("here")) != name_of(text("there"))


def test_the_processor_is_known():
    assert len(cache._processor()) > 3


# ----------------------------------------------------------------------------------------------
# What is kept


def test_programs_that_call_python_are_not_kept(folder):
    def function(x):
        return minijax.pure_callback(np.sin, x, x)

    for _ in range(2):
        np.testing.assert_allclose(minijax.jit(function)(X), np.sin(X), rtol=1e-6)
    assert not folder.exists()


@pytest.mark.parametrize("setting", [
    lambda: cache.enable(False), lambda: cache.min_compile_time(100.0),
    lambda: cache.min_entry_size(1 << 30), lambda: cache.max_size(0),
    lambda: cache.directory(None),
], ids=["disabled", "quickly compiled", "small", "no room", "no folder"])
def test_what_is_not_kept(folder, setting):
    with setting(), events() as told:
        compiled()(X)
    assert told == [] and not (folder.exists() and files(folder))


def test_by_default_only_what_took_a_second_is_kept(tmp_path):
    with cache.directory(str(tmp_path)):
        compiled()(X)
    assert not files(tmp_path)


def test_what_was_not_used_for_longest_makes_room(folder):
    def run(k):
        with events() as told:
            minijax.jit(lambda x: x * k)(X)
        return told

    run(1.5)
    size = files(folder)[0].stat().st_size
    with cache.max_size(3 * size + size // 2):
        for k in (2.5, 3.5):
            time.sleep(0.01)
            assert run(k) == [MISS]
        time.sleep(0.01)
        assert run(1.5) == [HIT]  # so 2.5 is now the oldest
        assert run(4.5) == [MISS]
        assert len(files(folder)) == 3
        assert run(1.5) == run(3.5) == run(4.5) == [HIT]
        assert run(2.5) == [MISS]


def test_a_program_that_is_larger_than_the_folder_may_be(folder):
    with cache.max_size(100), pytest.warns(UserWarning, match="compilation_cache_max_size"):
        compiled()(X)
    assert not folder.exists() or not files(folder)


@pytest.mark.parametrize("kept, names", [
    (None, []), ("none", []),
    ("xla_gpu_per_fusion_autotune_cache_dir", ["xla_gpu_per_fusion_autotune_cache_dir"]),
    ("all", ["xla_gpu_enable_llvm_module_compilation_parallelism", "xla_gpu_kernel_cache_file",
             "xla_gpu_per_fusion_autotune_cache_dir"]),
])
def test_what_xla_keeps_by_itself_for_gpus(folder, kept, names):
    with cache.xla_caches(kept):
        flags = cache.flags_for_gpus()
        assert sorted(flags) == names
        assert all(value == str(folder / name) for name, value in flags.items() if "llvm" not in name)
        given = xla("compiler").compile_options(minijax.devices()[:1], flags)  # XLA knows these names
        minijax.jit(lambda x: x + 1).lower(X).compile(flags)
        assert dict(given.env_option_overrides) == flags
    with cache.directory(None):
        assert cache.flags_for_gpus() == {}


def test_a_long_name(folder):
    def function(x):
        return x + 1

    function.__name__ = "f" * 300
    for _ in range(2):
        np.testing.assert_array_equal(minijax.jit(lambda x: minijax.jit(function)(x))(X), X + 1)
        minijax.jit(function)(X)
    assert len(files(folder)) == 2


def test_files_of_others_are_left_alone(folder):
    folder.mkdir()
    (folder / "notes.txt").write_text("x" * 10_000)
    with cache.max_size(1 << 20):
        compiled()(X)
    assert Path(folder / "notes.txt").read_text() and len(os.listdir(folder)) == 2


def test_what_a_killed_process_had_begun_is_deleted_after_an_hour(folder):
    folder.mkdir()
    old, new, others = (folder / f".jit_f-{name}-cache-0123456789abcdef" for name in "abc")
    others = others.with_name(".notes")
    for path in (old, new, others):
        path.write_bytes(b"begun")
    for path in (old, others):
        os.utime(path, (time.time() - 4000,) * 2)
    compiled()(X)
    assert [path.name for path in files(folder) if path.name.startswith(".")] == [
        new.name, others.name]


def test_ctrl_c_while_writing_leaves_nothing_behind(folder, monkeypatch):
    def replace(source, target):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(KeyboardInterrupt):
        compiled()(X)
    assert files(folder) == []
