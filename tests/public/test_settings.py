"""Settings: values, overrides and errors as JAX's; threads; environment variables."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import minijax
from minijax import config, settings
from minijax.compat import options
from tests.oracle import jax

# JAX has the first as a flag, which is no state, and not the second.
NAMES = sorted(settings.states.keys() - {"jax_platform_name", "jax_cpu_autotune"})
FIXED = sorted(state.name for state in (options.auto_pcast, options.jax2tf_associative_scan_reductions,
                                          options.remove_size_one_mesh_axis_from_type,
                                          options.thread_guard, *options.fixed_states))
VALUES = {
    "jax_numpy_rank_promotion": "warn", "jax_numpy_dtype_promotion": "strict",
    "jax_default_matmul_precision": "highest", "jax_traceback_filtering": "off",
    "jax_platforms": "cpu", "jax_compilation_cache_dir": "/nowhere", "jax_num_cpu_devices": 8,
    "jax_default_prng_impl": "rbg", "jax_legacy_prng_key": "warn", "jax_threefry_partitionable": False,
    "jax_cpu_collectives_implementation": None, "jax_default_device": None,
    "jax_logging_level": "ERROR",
    "jax_persistent_cache_enable_xla_caches": "all",
    **{name: "log" for name in NAMES if name.startswith("jax_transfer_guard")}}


def error_of(fun, *args):
    try:
        fun(*args)
    except Exception as error:
        return type(error)
    return None


# -- The same as JAX ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_default_and_read_as_jax(name):
    assert getattr(config, name) == getattr(jax.config, name)
    assert error_of(config.read, name) == error_of(jax.config.read, name)


@pytest.mark.parametrize("value", [True, 0, "yes", None, 3, 2.5, "warn", "strict", "highest",
                                   "raise", "off", b"x", ("a",)])
@pytest.mark.parametrize("name", sorted({*NAMES} - {*FIXED, "jax_num_cpu_devices"}))
def test_accepted_values_as_jax(name, value):
    ours, theirs = settings.states[name], jax.config._value_holders[name]
    assert error_of(ours, value) == error_of(theirs, value)
    if error_of(ours, value) is None:
        with ours(value), theirs(value):
            assert getattr(config, name) == getattr(jax.config, name)


@pytest.mark.parametrize("name", FIXED)
def test_a_setting_with_one_value_refuses_others(name, monkeypatch):
    state, value = settings.states[name], getattr(config, name)
    config.update(name, value)
    with state(value):
        assert getattr(config, name) == value
    other = not value if isinstance(value, bool) else "O0" if isinstance(value, str) else value + 1
    with pytest.raises(ValueError, match=f"{name} is always {value!r} in minijax"):
        config.update(name, other)
    with pytest.raises(ValueError, match="is always"):
        state(other).__enter__()
    monkeypatch.delitem(settings.states, name)  # afterwards it is there again
    again = name, value, "Again."
    monkeypatch.setenv(name.upper(), str(int(value) if isinstance(value, bool) else value))
    assert options.fixed_state(*again).value == value
    del settings.states[name]
    monkeypatch.setenv(name.upper(), str(int(other) if isinstance(other, bool) else other))
    with pytest.raises(ValueError, match="The environment variable .* is always"):
        options.fixed_state(*again)


@pytest.mark.live_jax
@pytest.mark.parametrize("access", [lambda c: c.update("jax_foo", 1), lambda c: c.read("jax_foo"),
                                    lambda c: c.jax_foo, lambda c: c.foo,
                                    lambda c: setattr(c, "jax_enable_x64", True)])
def test_unknown_names_and_assignment(access):
    assert error_of(access, config) is error_of(access, jax.config) is AttributeError


@pytest.mark.parametrize("name", sorted({*NAMES} - {*FIXED}))
def test_a_manager_without_an_argument_needs_a_default(name):
    ours, theirs = settings.states[name], jax.config._value_holders[name]
    assert error_of(ours) == error_of(theirs)


def test_a_state_is_not_a_truth_value():
    with pytest.raises(TypeError, match=r"State\.value"):
        bool(settings.enable_x64)


def test_errors_name_the_options():
    with pytest.raises(AttributeError, match="Unrecognized config option: jax_x64.*jax_enable_x64"):
        config.update("jax_x64", True)
    with pytest.raises(AttributeError, match="enable_x64. Did you mean jax_enable_x64[?]"):
        minijax.config.update("enable_x64", True)


# -- Process values and overrides --------------------------------------------------------------


@pytest.fixture
def restored():
    before = config.values
    yield
    for name, value in before.items():
        config.update(name, value)


@pytest.mark.parametrize("name", sorted({*NAMES} - {*FIXED}))
def test_update_sets_the_value_and_an_override_shadows_it(name, restored):
    state, before = settings.states[name], getattr(config, name)
    new = VALUES.get(name, True)
    with state(before):
        config.update(name, new)
        assert state.value == getattr(config, name) == config.values[name] == before
    assert state.value == getattr(config, name) == config.values[name] == new


def test_overrides_nest_and_survive_exceptions():
    states = []
    with settings.enable_x64(True):
        with pytest.raises(KeyError), settings.enable_x64(False):
            states.append(settings.enable_x64.value)
            raise KeyError
        states.append(settings.enable_x64.value)
    assert [*states, settings.enable_x64.value] == [False, True, False]


def test_one_override_may_be_entered_twice():
    override = settings.enable_x64(True)
    with override, override:
        assert settings.enable_x64.value
    assert not settings.enable_x64.value


def test_an_override_decorates_functions():
    @settings.enable_x64(True)
    def read():
        """Reads."""
        return config.x64_enabled, config.jax_enable_x64, config.enable_x64.value

    assert read() == (True, True, True) and read.__doc__ == "Reads."
    assert not config.x64_enabled


def test_checking_leaks():
    with minijax.checking_leaks():
        assert config.jax_check_tracer_leaks
    assert not config.jax_check_tracer_leaks


def test_the_number_of_devices_is_fixed_when_xla_has_started():
    program = """if True:
        import minijax
        minijax.config.update("jax_num_cpu_devices", 2)
        assert len(minijax.devices()) == 2
        minijax.config.update("jax_num_cpu_devices", 2)
        for count in 3, "two":
            try:
                minijax.config.update("jax_num_cpu_devices", count)
            except Exception as error:
                print(type(error).__name__, "there are 2 CPU devices" in str(error))
    """
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.stdout.split() == ["RuntimeError", "True", "ValueError", "False"], result.stderr


CONTEXT = [("jax_enable_x64", True), ("jax_disable_jit", True),
           ("jax_numpy_rank_promotion", "warn"), ("jax_numpy_dtype_promotion", "strict"),
           ("jax_default_matmul_precision", "highest")]


@pytest.mark.parametrize("name, value", CONTEXT)
def test_trace_context_changes_with_what_tracing_depends_on(name, value):
    before = settings.trace_context()
    with settings.states[name](value):
        assert settings.trace_context() != before
        hash(settings.trace_context())
    assert settings.trace_context() == before


# -- Threads -----------------------------------------------------------------------------------


def test_an_override_is_seen_by_its_own_thread_only():
    """Eight threads hold different overrides at once; each sees its own, the rest see none."""
    inside, seen, before = threading.Barrier(9), {}, config.platforms.value

    def work(index):
        with settings.enable_x64(index % 2 == 0), config.platforms(str(index)):
            inside.wait()
            seen[index] = settings.enable_x64.value, config.platforms.value
            inside.wait()

    threads = [threading.Thread(target=work, args=(index,)) for index in range(8)]
    for thread in threads:
        thread.start()
    inside.wait()
    outside = settings.enable_x64.value, config.platforms.value
    inside.wait()
    for thread in threads:
        thread.join()
    assert outside == (False, before)
    assert seen == {index: (index % 2 == 0, str(index)) for index in range(8)}


def test_update_in_one_thread_reaches_threads_that_are_running(restored):
    updated, seen = threading.Event(), []

    def work():
        seen.append(settings.enable_x64.value)
        updated.wait()
        seen.append(settings.enable_x64.value)

    thread = threading.Thread(target=work)
    thread.start()
    while not seen:
        pass
    config.update("jax_enable_x64", True)
    updated.set()
    thread.join()
    assert seen == [False, True]


# -- Environment variables ---------------------------------------------------------------------


def read_in_new_process(**environment):
    program = "import minijax; print(minijax.config.values)"
    return subprocess.run([sys.executable, "-c", program], env={**os.environ, **environment},
                          capture_output=True, text=True)


def test_environment_variables_set_the_process_values():
    result = read_in_new_process(JAX_ENABLE_X64="True", JAX_DISABLE_JIT="on", JAX_DEBUG_NANS="0",
                                 JAX_NUMPY_RANK_PROMOTION="raise", JAX_NUM_CPU_DEVICES="8",
                                 JAX_PLATFORMS="cpu", JAX_NUMPY_DTYPE_PROMOTION="strict")
    values = eval(result.stdout)
    expected = {"jax_enable_x64": True, "jax_disable_jit": True, "jax_debug_nans": False,
                "jax_numpy_rank_promotion": "raise", "jax_num_cpu_devices": 8,
                "jax_platforms": "cpu", "jax_numpy_dtype_promotion": "strict"}
    assert expected.items() <= values.items()


@pytest.mark.parametrize("variable, word", [("JAX_ENABLE_X64", "maybe"),
                                            ("JAX_NUMPY_RANK_PROMOTION", "never"),
                                            ("JAX_NUM_CPU_DEVICES", "two")])
def test_bad_environment_variables_are_named(variable, word):
    result = read_in_new_process(**{variable: word})
    last_line = result.stderr.strip().splitlines()[-1]
    assert result.returncode and "ValueError" in last_line
    assert variable in last_line and word in last_line


def test_a_trace_context_is_that_of_the_settings_in_force_in_a_thread():
    def elsewhere():
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(settings.trace_context).result()

    here = settings.trace_context()
    assert here == elsewhere()
    with minijax.default_matmul_precision("highest"):
        assert settings.trace_context() != here == elsewhere()
        with ThreadPoolExecutor(1) as pool, minijax.default_matmul_precision(None):
            assert pool.submit(settings.trace_context).result() == settings.trace_context() == here
        assert settings.trace_context() != here
    assert settings.trace_context() == here == elsewhere()


def test_a_mesh_that_was_taken_back_leaves_nothing_in_the_thread():
    before, jax_settings = settings.trace_context(), {*settings.overrides.values}
    minijax.set_mesh(minijax.make_mesh((1,), ("x",)))
    assert settings.trace_context() != before
    minijax.set_mesh(None)
    assert settings.trace_context() == before and {*settings.overrides.values} == jax_settings


def test_a_jitted_function_follows_the_settings_of_each_thread_after_many_calls():
    f = minijax.jit(lambda x: x + (1.0 if minijax.default_matmul_precision.value else 0.0))
    x = minijax.jit(lambda x: x)(minijax.numpy.ones(2))

    def results():
        return {float(f(x)[0]) for _ in range(20)}

    assert results() == {1.0}
    with minijax.default_matmul_precision("highest"), ThreadPoolExecutor(1) as pool:
        assert results() == {2.0}
        assert pool.submit(results).result() == {1.0}
        assert results() == {2.0}
    assert results() == {1.0}
