"""The autotuner: what it may choose, what it remembers, and that it disturbs nothing."""

from __future__ import annotations

import contextlib
import ctypes
import json
import threading

import numpy as np
import pytest

import minijax
import minijax.numpy as jnp
from minijax.experimental import autotune
from minijax.runtime import autotune as tuning, compilation_cache as cache, settings
from tests.processes import run

X = np.random.default_rng(0).uniform(-1, 1, (200, 200)).astype(np.float32)
LESS_PRECISE = {"xla_allow_excess_precision": False}  # rounds between operations


def work(x):
    """Takes long enough to be tuned."""
    for _ in range(3):
        x = jnp.tanh(x @ x / 50)
    return x, x.sum(0)


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch):
    """No test profits from what another one has found out."""
    minijax.clear_caches()
    monkeypatch.setattr(tuning, "SHORTEST", 0.0)
    tuning._choices.clear()
    yield
    assert autotune.wait(60)


@contextlib.contextmanager
def trying(**variants):
    """Let the autotuner try only these variants."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuning, "VARIANTS", variants)
        yield


@contextlib.contextmanager
def first_is(seconds, monkeypatch):
    """Let the program that was compiled first seem to take so many seconds."""
    time_of = tuning.Tuning._time
    with monkeypatch.context() as patch:
        patch.setattr(tuning.Tuning, "_time", lambda self, program: (
            seconds if program is self.first else min(time_of(self, program), 0.1)))
        yield


def tune(fun, *args, **options):
    """A jitted function after its tuning, its last result, and the choice (`None` for none)."""
    jitted = minijax.jit(fun, compiler_options="autotune", **options)
    for _ in range(tuning.CALLS):
        out = jitted(*args)
    assert autotune.wait(60)
    return jitted, out, autotune.choices()[-1] if autotune.choices() else None


def used(fun, *args):
    """The loaded program behind the calls of a jitted function."""
    call = fun._call(args, {})
    loaded = fun._program(call, fun._traced(call)).executable.loaded
    return loaded, getattr(loaded, "best", loaded)


# -- The choice --------------------------------------------------------------------------------


def test_off_by_default():
    f = minijax.jit(work)
    for _ in range(5):
        f(X)
    assert not minijax.config.jax_cpu_autotune and not autotune.choices()
    assert used(f, X)[0] is used(f, X)[1]


def test_a_faster_variant_is_used_and_gives_the_same(monkeypatch):
    expected = minijax.jit(work)(X)
    with trying(same={"xla_cpu_use_fusion_emitters": True}), first_is(1.0, monkeypatch):
        f, _, choice = tune(work, X)
    assert choice.variant == "same", choice
    assert set(choice.seconds) == {tuning.AS_ALWAYS, "same"}
    assert choice.module == "jit_work"
    for x, y in zip(expected, f(X)):
        np.testing.assert_array_equal(x, y)
    program, best = used(f, X)
    assert best is not program
    assert f.lower(X).compile().cost_analysis()["flops"] > 0  # of a program that is tuned itself


def test_a_variant_that_is_not_clearly_faster_is_not_used(monkeypatch):
    with trying(same={"xla_cpu_use_fusion_emitters": True}), first_is(1e-9, monkeypatch):
        f, _, choice = tune(work, X)
    assert choice.variant == tuning.AS_ALWAYS and "same" in choice.seconds


def test_a_variant_with_other_results_is_refused(monkeypatch):
    def narrow(x):
        return (x.astype(jnp.bfloat16) * 3).astype(jnp.float32)

    expected = minijax.jit(narrow)(X)
    wrong = minijax.jit(narrow, compiler_options=LESS_PRECISE)(X)
    assert not np.allclose(expected, wrong, rtol=1e-4)  # or this test tests nothing
    with trying(wrong=LESS_PRECISE), first_is(1.0, monkeypatch):
        f, _, choice = tune(narrow, X)
    assert choice.variant == tuning.AS_ALWAYS and set(choice.seconds) == {tuning.AS_ALWAYS}
    np.testing.assert_array_equal(f(X), expected)


def test_a_variant_that_does_not_compile_leaves_the_first_program(monkeypatch):
    with trying(bad={"no_such_flag": 1}, same={}), first_is(1.0, monkeypatch):
        f, out, choice = tune(work, X)
    assert choice.variant == "same" and "bad" not in choice.seconds
    np.testing.assert_array_equal(f(X)[0], out[0])


def test_an_error_in_the_tuner_leaves_the_first_program(monkeypatch):
    def fail(*args):
        raise ValueError("broken")

    monkeypatch.setattr(tuning, "agree", fail)
    with trying(same={}):
        f, out, choice = tune(work, X)
    assert choice.variant == tuning.AS_ALWAYS
    monkeypatch.setattr(tuning.Tuning, "_measured", fail)
    f, out, _ = tune(lambda x: work(x + 1), X)
    np.testing.assert_array_equal(f(X)[0], out[0])


@pytest.mark.parametrize("x, y, same", [
    (np.float32([1, 2]), np.float32([1, 2.00001]), True),
    (np.float32([1, 2]), np.float32([1, 2.001]), False),
    (np.float64([1, 2]), np.float64([1, 2.00001]), False),
    (np.float32([1e-9, 1]), np.float32([1e-7, 1]), True),  # a sum of terms near 1
    (np.float32([1e-9, 0]), np.float32([1e-7, 0]), False),
    (np.float32([np.nan, np.inf]), np.float32([np.nan, np.inf]), True),
    (np.float32([np.inf]), np.float32([-np.inf]), False),
    (np.float32([1]), np.float32([np.nan]), False),
    (np.float32([np.nan]), np.float32([1]), False),
    (np.complex64([1 + 1j]), np.complex64([1 + 1.000001j]), True),
    (np.complex64([1 + 1j]), np.complex64([1 + 2j]), False),
    (np.int32([1, 2]), np.int32([1, 3]), False),
    (np.array([True]), np.array([True]), True),
    (np.float32([]), np.float32([]), True),
])
def test_agreement(x, y, same):
    assert tuning.agree([x], [y]) is same


def test_agreement_of_16_bits():
    x = np.asarray(jnp.linspace(1, 2, 50, dtype=jnp.bfloat16))
    assert tuning.agree([x], [x * np.array(1.01, x.dtype)])
    assert not tuning.agree([x], [x * np.array(1.1, x.dtype)])


@pytest.mark.parametrize("options", [None, {"jax_cpu_autotune": True},
                                     {"jax_cpu_autotune": True, "xla_cpu_use_fusion_emitters": True}])
def test_switched_on_by_the_setting_and_by_options(options):
    with settings.cpu_autotune(options is None), trying(same={}):
        f = minijax.jit(work, compiler_options=options)
        for _ in range(3):
            f(X)
        assert autotune.wait(60)
    assert [choice.module for choice in autotune.choices()].count("jit_work") == 1


def test_an_option_excludes_a_function():
    with settings.cpu_autotune(True):
        f = minijax.jit(work, compiler_options={"jax_cpu_autotune": False})
        for _ in range(3):
            f(X)
    assert autotune.wait(60)
    assert "jit_work" not in [choice.module for choice in autotune.choices()]


def test_another_word_is_refused():
    with pytest.raises(ValueError, match='dictionary of XLA flags by name, or "autotune"; got .fast'):
        minijax.jit(work, compiler_options="fast")


def test_short_programs_are_left_alone(monkeypatch):
    monkeypatch.setattr(tuning, "SHORTEST", 10.0)
    assert tune(work, X)[2] is None


def test_long_programs_are_left_alone(monkeypatch):
    monkeypatch.setattr(tuning, "LONGEST", 0.0)
    assert tune(work, X)[2] is None


# -- What is not tuned -------------------------------------------------------------------------


def test_programs_with_callbacks_are_not_run_again():
    seen = []

    def f(x):
        minijax.debug.callback(lambda x: seen.append(float(x)), x.sum())
        return work(x)

    for function in (f, lambda x: minijax.pure_callback(lambda x: seen.append(1) or x, x, x)):
        seen.clear()
        assert tune(function, X)[2] is None
        minijax.effects_barrier()
        assert len(seen) == tuning.CALLS


# -- Arguments ---------------------------------------------------------------------------------


def test_donated_arguments(monkeypatch):
    def step(x, y):
        return x + work(y)[0], y.sum()

    with trying(same={}), first_is(1.0, monkeypatch):
        f = minijax.jit(step, compiler_options="autotune", donate_argnums=0)
        x, expected = jnp.asarray(X) + 0, jnp.asarray(X) + 0
        for _ in range(6):
            old, (x, _) = x, f(x, X)
            expected = minijax.jit(step)(expected, X)[0]
            assert old.is_deleted()
        np.testing.assert_allclose(x, expected, rtol=1e-6)
        assert autotune.wait(60)
        x = f(x, X)[0]
    assert autotune.choices()[-1].variant == "same"
    np.testing.assert_allclose(x, minijax.jit(step)(expected, X)[0], rtol=1e-6)


def test_a_deleted_argument_is_refused_in_jaxs_words_at_every_call():
    f = minijax.jit(work, compiler_options="autotune")
    x = jnp.asarray(X) + 0
    x.delete()
    for _ in range(5):
        with pytest.raises(RuntimeError, match="deleted"):
            f(x)


def test_arguments_that_are_deleted_during_the_tuning():
    f = minijax.jit(work, compiler_options="autotune")
    x = jnp.asarray(X) + 0
    for _ in range(3):
        out = f(x)
    x.delete()
    assert autotune.wait(60) and len(autotune.choices()) == 1
    np.testing.assert_array_equal(f(X)[0], out[0])


def test_committed_arguments_static_arguments_keys_and_narrow_dtypes():
    x = minijax.device_put(X, minijax.devices()[0])
    f, out, choice = tune(lambda x, n: work(x)[n], x, 0, static_argnums=1)
    assert choice is not None
    np.testing.assert_allclose(f(x, 0), minijax.jit(work)(X)[0], rtol=1e-5, atol=1e-6)
    key = minijax.random.key(0)
    f, out, choice = tune(lambda k, x: (minijax.random.fold_in(k, 1), x.astype("bfloat16")), key, X)
    assert choice is not None and f(key, X)[0] == minijax.random.fold_in(key, 1)


@pytest.mark.long
def test_programs_that_die_before_their_turn():
    for i in range(5):
        tune_it = minijax.jit(lambda x: work(x + i), compiler_options="autotune")
        for _ in range(3):
            tune_it(X)
        del tune_it
    assert autotune.wait(60)


# -- Memory of choices -------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    with cache.directory(str(tmp_path)):
        minijax.config.update("jax_compilation_cache_dir", str(tmp_path))
        yield tmp_path
        assert autotune.wait(60)
        minijax.config.update("jax_compilation_cache_dir", None)


def test_the_choice_is_kept_and_read_again(folder, monkeypatch):
    flags = {"xla_cpu_use_fusion_emitters": False}
    with trying(older=flags), first_is(1.0, monkeypatch):
        _, out, choice = tune(work, X)
        (path,) = folder.glob("autotune-*-cache")
        assert cache.count_choices() == 1
        written = json.loads(cache.unpack(path.name, path.read_bytes())[0])
        assert (written["variant"], written["flags"]) == ("older", flags)

        tuning._choices.clear()
        minijax.clear_caches()
        f = minijax.jit(work, compiler_options="autotune")
        with monkeypatch.context() as patch:
            patch.setattr(tuning.Tuning, "run", None)  # nothing is measured again
            again = f(X)
        np.testing.assert_array_equal(again[0], out[0])
        assert autotune.choices() == [choice]
        assert used(f, X)[0] is used(f, X)[1]


def test_a_choice_for_other_options_is_not_used(folder, monkeypatch):
    with trying(v={"xla_cpu_use_fusion_emitters": False}), first_is(1.0, monkeypatch):
        tune(work, X)
    tuning._choices.clear()
    minijax.clear_caches()
    with trying(v={"xla_cpu_use_fusion_emitters": True}):
        f = minijax.jit(work, compiler_options="autotune")
        f(X)
        assert autotune.choices() == [] and used(f, X)[0] is not used(f, X)[1]


def test_a_damaged_file_is_measured_again(folder, monkeypatch):
    with trying(v={}), first_is(1.0, monkeypatch):
        tune(work, X)
        (path,) = folder.glob("autotune-*-cache")
        path.write_bytes(path.read_bytes()[:-1])
        tuning._choices.clear()
        minijax.clear_caches()
        with pytest.warns(UserWarning, match="could not be used: ValueError: it is damaged"):
            _, _, choice = tune(work, X)
        assert choice.variant == "v"
    cache.reset_cache()


def test_in_one_process_a_module_is_tuned_once(monkeypatch):
    runs, run_tuning = [], tuning.Tuning.run
    monkeypatch.setattr(tuning.Tuning, "run", lambda self: (runs.append(self), run_tuning(self)))
    with trying(v={}), first_is(1.0, monkeypatch):
        tune(work, X)
        minijax.clear_caches()
        tune(work, X)
        assert len(runs) == len(autotune.choices()) == 1


# -- Threads, and the end of the process -------------------------------------------------------


def test_threads_that_call_a_function_while_it_is_tuned():
    f = minijax.jit(lambda x, i: work(x + i)[1], compiler_options="autotune")
    expected = [np.asarray(minijax.jit(lambda x, i: work(x + i)[1])(X, i)) for i in range(4)]
    wrong = []

    def call(i):
        for _ in range(200):
            if not np.allclose(f(X, i), expected[i], rtol=1e-4, atol=1e-5):
                wrong.append(i)

    threads = [threading.Thread(target=call, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert autotune.wait(60) and not wrong
    assert len(autotune.choices()) == 1


END_DURING = """
from minijax.experimental import autotune
from minijax.runtime import autotune as tuning
x = np.ones((300, 300), 'f')
def f(x):
    for i in range(SIZE):
        x = jnp.tanh(x @ x) + jnp.sin(x * i)
    return x.sum()
g = jax.jit(f, compiler_options="autotune")
for _ in range(3):
    y = float(g(x))
"""


@pytest.mark.long
@pytest.mark.daily(4)
@pytest.mark.parametrize("seconds", [0.0, 0.05, 0.3, 1.0])
def test_the_process_ends_while_the_tuner_works(seconds):
    out, complaint = run("SIZE = 60", END_DURING, f"""
        time.sleep({seconds})
        print(autotune.wait(0.0))
        sys.exit(3)
        """, code=3)
    assert complaint == "" and out in ("False\n", "True\n")


@pytest.mark.long
def test_the_end_does_not_wait_for_the_tuner():
    out, complaint = run("SIZE = 60", END_DURING, """
        from minijax.runtime import exits
        assert not autotune.wait(0.0)
        began = time.monotonic()
        tuning.tuner.leave()  # what atexit calls
        exits._leave()
        print(time.monotonic() - began < exits.PATIENCE / 2)
        """)
    assert (out, complaint) == ("True\n", "")


def test_a_fork_has_no_tuner():
    out, _ = run("SIZE = 2", END_DURING, """
        warnings.simplefilter("ignore")
        if (child := os.fork()) == 0:
            print("child", autotune.wait(5))
            sys.stdout.flush()
            os._exit(0)
        os.waitpid(child, 0)
        print("parent", autotune.wait(90))
        """)
    assert out == "child True\nparent True\n"


PAGES = """
import resource
def pages(f):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(5):
        jax.block_until_ready(f(x))
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
"""


@pytest.mark.long
def test_large_blocks_of_memory_are_kept():
    if not hasattr(ctypes.CDLL(None), "gnu_get_libc_version"):
        pytest.skip("needs glibc")
    out, complaint = run(PAGES, """
        from minijax.runtime import memory
        g = jax.jit(lambda x: jnp.tanh(x) + x[::-1])
        x = jax.device_put(np.ones(10_000_000, 'f'))
        pages(g)
        before = pages(g)
        memory.keep_large_blocks(g.lower(x).compile().runtime_executable())
        pages(g)
        print(before > 20_000, min(pages(g) for _ in range(20)) < before / 10)
        """)
    assert (out, complaint) == ("True True\n", "")


def test_small_programs_leave_memory_as_it_is(monkeypatch):
    from minijax.runtime import memory

    switched = []
    monkeypatch.setattr(memory, "_set", lambda *args: switched.append(args))
    monkeypatch.setattr(memory, "_is_kept", False)
    program = minijax.jit(work).lower(X).compile().runtime_executable()
    memory.keep_large_blocks(program)
    assert not switched
    program = minijax.jit(lambda x: jnp.tanh(x) + 1).lower(jnp.ones(9_000_000)).compile()
    memory.keep_large_blocks(program.runtime_executable())
    assert len(switched) == 2
