"""Settings every test shares: real JAX first, XLA quick to compile, Hypothesis repeatable."""

from __future__ import annotations

import datetime
import gc
import os
import sys
from collections import Counter
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
os.environ["JAX_NUM_CPU_DEVICES"] = "8"  # for chapter 14; read when either library is imported

# JAX comes first, unless it is not to be imported: jaxlib's C++ imports `jax` by itself the first
# time it needs one of its helpers, and then JAX must be complete.
from tests.oracle import MODE, oracle, stored, subject  # isort: skip
import pytest
from hypothesis import HealthCheck, settings

from tests.processes import QUICK_COMPILATION

del os.environ["JAX_NUM_CPU_DEVICES"]  # processes that a test starts are ordinary ones


def _compile_quickly() -> None:
    """Ask XLA for cheap code in this process.

    Both libraries compile thousands of tiny programs here and run each once: this halves the
    suite's time. XLA reads the flags with its first compilation; afterwards they are taken
    back, so that a test which starts a process of its own starts an ordinary one.
    """
    if "XLA_FLAGS" in os.environ:
        return
    os.environ["XLA_FLAGS"] = QUICK_COMPILATION
    if hasattr(subject, "jit"):  # minijax, cut at an earlier chapter, has none
        subject.jit(lambda x: x + 1)(0)
    del os.environ["XLA_FLAGS"]


_compile_quickly()

DAY = datetime.date.today().toordinal()
_common = {"deadline": None, "suppress_health_check": list(HealthCheck)}
# CI tries the same programs each time; `HYPOTHESIS_PROFILE=explore` looks for new ones.
settings.register_profile("ci", derandomize=True, max_examples=25, database=None, **_common)
settings.register_profile("explore", max_examples=300, **_common)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_collection_modifyitems(config, items):
    """Leave out what is not for this run: cases of other days, and without JAX what needs it."""
    kept = _of_today(items) if MODE != "refresh" and "MINIJAX_ALL_CASES" not in os.environ else items
    if MODE == "stored":
        kept = [item for item in kept if not item.get_closest_marker("live_jax")]
    config.hook.pytest_deselected(items=[*{*items} - {*kept}])
    items[:] = kept


def _of_today(items):
    """Of a test marked `daily(n)` every n-th case, other ones each day, and at least one."""
    kept, seen = [], Counter()
    cases = Counter(item.nodeid.partition("[")[0] for item in items)
    for item in items:
        mark, name = item.get_closest_marker("daily"), item.nodeid.partition("[")[0]
        step = min(mark.args[0], cases[name]) if mark else 1
        if (seen[name] + DAY) % step == 0:
            kept.append(item)
        seen[name] += 1
    return kept


def pytest_collection_finish():
    """Hide the collected tests from the garbage collector.

    Their objects stay to the end. Without this, each full collection looks at all of them: half a
    second, and a test of lifetimes or leaks collects several times.
    """
    gc.collect()
    gc.freeze()
    kept_memory[0] = _used_memory()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Questions to JAX belong to the test that asks them."""
    stored.begin(item.nodeid, live=item.get_closest_marker("live_jax") is not None)
    try:
        return (yield)
    finally:
        stored.begin("", live=False)


@pytest.fixture(scope="module", autouse=True)
def forget_programs():
    """After a file of tests, forget the compiled programs if they need much more memory than before.

    JAX compiles most operations that a test asks it for, and no later test needs these programs.
    """
    yield
    if _used_memory() > kept_memory[0] + 400e6:
        for library in {subject, oracle} if MODE != "stored" and hasattr(subject, "clear_caches") else ():
            library.clear_caches()
        gc.collect()
        kept_memory[0] = _used_memory()


kept_memory = [0.0]


def _used_memory() -> int:
    """The memory of this process in bytes; 0 where the system does not tell."""
    place = Path("/proc/self/statm")
    return int(place.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if place.exists() else 0


def pytest_sessionfinish():
    """Leave the fresh answers of this process, if there are any, for `make oracle`."""
    stored.leave_fresh()
    if MODE == "stored":
        assert "jax" not in sys.modules, "jax has been imported"
