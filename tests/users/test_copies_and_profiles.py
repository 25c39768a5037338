"""Copies, the memory of arrays, and what the profiler writes, as libraries use them."""

from __future__ import annotations

import copy
import ctypes
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.oracle import both, in_both, subject

# ----------------------------------------------------------------------------------------------
# Copies, and the memory of arrays

COPIES = {
    "array": lambda jx, x: jx.numpy.array(x), "copy=True": lambda jx, x: jx.numpy.array(
        x, copy=True), "asarray": lambda jx, x: jx.numpy.asarray(x, copy=True),
    "copy": lambda jx, x: jx.numpy.copy(x), "method": lambda jx, x: x.copy(),
    "astype": lambda jx, x: jx.numpy.astype(x, x.dtype, copy=True),
    "copy.copy": lambda jx, x: copy.copy(x), "deepcopy": lambda jx, x: copy.deepcopy(x),
    "jit": lambda jx, x: jx.jit(jx.numpy.copy)(x), "vmap": lambda jx, x: jx.vmap(
        jx.numpy.copy)(x), "of a view": lambda jx, x: x.reshape(2, -1).copy(),
    "device_put": lambda jx, x: jx.device_put(x, may_alias=False),
}


@pytest.mark.parametrize("computed", [False, True])
@pytest.mark.parametrize("name", COPIES)
def test_a_copy_survives_its_original(name, computed):
    def program(jx):
        def run(x, delete):
            x = jx.numpy.arange(2048.0)
            x = jx.jit(lambda x: x + 1)(x) if computed else x
            other = COPIES[name](jx, x)
            if delete:
                x.delete()
            else:
                jx.block_until_ready(jx.jit(lambda x: 0 * x - 7, donate_argnums=0)(x))
            return other, x.is_deleted()
        return run

    both(program, 1.0, False)
    both(program, 1.0, True)


@in_both
def test_a_copy_has_its_own_memory(jx):
    x = jx.numpy.arange(2048.0)
    x.copy_to_host_async()
    y = jx.numpy.copy(x)
    same = x.unsafe_buffer_pointer() == x.unsafe_buffer_pointer()
    return same, x.unsafe_buffer_pointer() == y.unsafe_buffer_pointer()


def test_an_address_is_that_of_the_contents():
    x = subject.numpy.arange(8.0) + 1
    found = (ctypes.c_float * 8).from_address(x.unsafe_buffer_pointer())
    assert list(found) == list(range(1, 9))


# ----------------------------------------------------------------------------------------------
# The profiler


def profiled(jx: Any, folder: Path, **kwargs: Any) -> str:
    """What is in the trace of a small program."""
    profiler = jx.profiler
    with profiler.trace(folder, create_perfetto_trace=True, **kwargs):
        f = profiler.annotate_function(jx.jit(lambda x: x @ x), name="the_product")
        for step in range(2):
            with profiler.StepTraceAnnotation("one_step", step_num=step):
                f(np.ones((8, 8), "float32")).block_until_ready()
        with profiler.TraceAnnotation("an_annotation", size=3):
            pass
    (file,) = folder.glob("plugins/profile/*/perfetto_trace.json.gz")
    events = json.loads(gzip.decompress(file.read_bytes()))["traceEvents"]
    assert next(e for e in events if e.get("name") == "an_annotation")["args"]["size"] == "3"
    return " ".join(sorted(str(event.get("name")) for event in events))


def test_a_trace_holds_annotations_and_steps(tmp_path):
    text = profiled(subject, tmp_path)
    assert text.count("the_product") == text.count("one_step") == 2


def test_traces_do_not_overlap(tmp_path):
    profiler = subject.profiler
    with pytest.raises(RuntimeError, match="No profile started"):
        profiler.stop_trace()
    with profiler.trace(tmp_path), pytest.raises(RuntimeError, match="already been started"):
        profiler.start_trace(tmp_path)
    with pytest.raises(ValueError, match="No active profiler server"):
        profiler.stop_server()
    with pytest.raises(NotImplementedError, match="create_perfetto_trace"):
        profiler.start_trace(tmp_path, create_perfetto_link=True)


def test_memory_profiles_are_written(tmp_path):
    keep = subject.jit(lambda x: x + 1)(subject.numpy.ones(1000))
    subject.profiler.save_device_memory_profile(tmp_path / "memory.prof")
    text = gzip.decompress((tmp_path / "memory.prof").read_bytes())
    assert b"bytes" in text and keep.size == 1000


def test_annotate_function_keeps_the_function():
    def f(x, *, y):
        "Its text."
        return x + y

    both(lambda jx: lambda: (lambda g: (g(1, y=2), g.__name__, g.__doc__))(
        jx.profiler.annotate_function(f)))
