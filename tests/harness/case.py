"""The class of JAX's tests and what decorates them: a part of `jax._src.test_util`.

With absl installed, the test cases are absl's, which run parameterized tests.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import itertools
import math
import os
import re
import sys
import tempfile
import textwrap
import unittest
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

import minijax
from minijax._src._names import trace_state_clean
from minijax.compat.jaxpr import subjaxprs
from minijax.core.api import make_jaxpr, vjp
from minijax.core.core import state
from minijax.core.jit import jit
from minijax.core.operators import promote_dtypes, promote_dtypes_inexact
from minijax.core.tree import tree_flatten, tree_map, tree_unflatten
from minijax.debugging import monitoring
from minijax.lax import dot_general_p
from minijax.parallel.meshes.mesh import AxisType, Mesh, make_mesh
from minijax.parallel.meshes.mesh_in_force import set_mesh
from minijax.runtime.devices import devices
from minijax.runtime.processes import local_devices
from tests.harness import config as _config
from tests.harness import counts
from tests.harness.closeness import assert_allclose as _assert_numpy_allclose
from tests.harness.values import (
    NUM_GENERATED_CASES,
    _dtype,
    _kept,
    device_under_test,
    tolerance,
)

try:  # the marks of absl's parameterized tests
    parameterized: Any = importlib.import_module("absl.testing.parameterized")
except ImportError:
    parameterized = None
_BaseCase: Any = parameterized.TestCase if parameterized else unittest.TestCase


# ----------------------------------------------------------------------------------------------
# Settings, warnings and what else holds for a while


@contextlib.contextmanager
def global_config_context(**kwds: Any) -> Iterator[None]:
    """Settings of the process within a block."""
    before = {name: _config._read(name) for name in kwds}
    try:
        for name, value in kwds.items():
            minijax.config.update(name, value)
        yield
    finally:
        for name, value in before.items():
            minijax.config.update(name, value)


@contextlib.contextmanager
def thread_local_config_context(**kwds: Any) -> Iterator[None]:
    """Settings of this thread within a block."""
    with contextlib.ExitStack() as stack:
        for name, value in kwds.items():
            stack.enter_context(_config.config_states[name](value))
        yield


def _class_settings(attribute: str) -> Callable:
    def with_settings(**kwds: Any) -> Callable:
        def decorate(cls):
            inherited = {}
            for base in reversed(cls.__bases__):
                inherited |= getattr(base, attribute, {})
            setattr(cls, attribute, inherited | kwds)
            return cls

        return decorate

    return with_settings


with_config = _class_settings("_default_thread_local_config")
with_global_config = _class_settings("_default_global_config")


@contextlib.contextmanager
def set_env(**kwargs: str | None) -> Iterator[None]:
    """Environment variables within a block; `None` unsets one."""
    before = {name: os.environ.pop(name, None) for name in kwargs}
    os.environ.update({name: x for name, x in kwargs.items() if x is not None})
    try:
        yield
    finally:
        for name in kwargs:
            os.environ.pop(name, None)
        os.environ.update({name: x for name, x in before.items() if x is not None})


@contextlib.contextmanager
def ignore_warning(*, message: str | None = None, category: type = Warning) -> Iterator[None]:
    """Within the block, warnings of this class whose text begins so are not shown."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=message or "", category=category)
        yield


@contextlib.contextmanager
def _capture_output(name: str) -> Iterator[Callable[[], str]]:
    """Collect what is written to the file with this name in `sys`, by C++ too."""
    stream, text = getattr(sys, name), [""]
    stream.flush()
    with tempfile.TemporaryFile(mode="w+", encoding="utf-8") as file:
        kept = os.dup(stream.fileno())
        os.dup2(file.fileno(), stream.fileno())
        try:
            yield lambda: text[-1]
        finally:
            stream.flush()
            file.seek(0)
            text.append(file.read())
            os.dup2(kept, stream.fileno())
            os.close(kept)


capture_stdout = functools.partial(_capture_output, "stdout")
capture_stderr = functools.partial(_capture_output, "stderr")


@contextlib.contextmanager
def register_event_duration_listener(callback: Callable) -> Iterator[None]:
    """Have `callback` called for durations within the block."""
    monitoring.register_event_duration_secs_listener(callback)
    try:
        yield
    finally:
        monitoring.unregister_event_duration_listener(callback)


# ----------------------------------------------------------------------------------------------
# Which tests run


def test_device_matches(device_types: Iterable[str]) -> bool:
    """Whether programs run on a device of one of these types."""
    assert not isinstance(device_types, str), "device_types should be a list of strings"
    here = {device_under_test()} | ({"cuda"} if is_device_cuda() else set())
    return bool(here & {*device_types})


test_device_matches.__test__ = False  # type: ignore[attr-defined]  # pytest: not a test


def is_device_cuda() -> bool:
    """Whether programs run on a GPU of NVIDIA."""
    return device_under_test() == "gpu"


def _never(*args: Any, **kwargs: Any) -> bool:
    """The answer of questions about devices and builds that minijax has not."""
    return False


is_device_rocm = is_device_tpu = is_device_tpu_at_least = is_cloud_tpu = _never
is_asan = is_msan = is_tsan = is_sanitized = is_test_rbe = is_gil_disabled = _never
is_cuda_compute_capability_at_least = is_cuda_compute_capability_equal = _never
is_cuda_version_at_least = _never


def pjrt_c_api_version_at_least(major_version: int, minor_version: int) -> bool:
    """True, as everywhere where XLA's part for a platform is no plugin."""
    return True


SKIP_SLOW_TESTS = _config.bool_flag(
    "jax_skip_slow_tests", _config.bool_env("JAX_SKIP_SLOW_TESTS", False))
TEST_NUM_THREADS = _config.int_flag("jax_test_num_threads", 0)
TEST_WITH_PERSISTENT_COMPILATION_CACHE = _config.bool_flag(
    "jax_test_with_persistent_compilation_cache", False)


def is_cloud_tpu_at_least(year: int, month: int, day: int) -> bool:
    """True, as everywhere but on a TPU."""
    return True


def is_running_under_pytest() -> bool:
    """Whether pytest has been imported."""
    return "pytest" in sys.modules


def _only_if(condition: Callable[[], bool], reason: str) -> Callable:
    def decorate(method):
        @functools.wraps(method)
        def run(self, *args, **kwargs):
            if not condition():
                raise unittest.SkipTest(reason)
            return method(self, *args, **kwargs)

        return run

    return decorate


def skip_on_devices(*disabled_devices: str, skip_reason: str | None = None) -> Callable:
    """Decorator: a test that does not run on these types of devices."""
    return _only_if(lambda: not test_device_matches(disabled_devices),
                    skip_reason or f"not on {', '.join(disabled_devices)}")


def run_on_devices(*enabled_devices: str, skip_reason: str | None = None) -> Callable:
    """Decorator: a test that runs on these types of devices only."""
    return _only_if(lambda: test_device_matches(enabled_devices),
                    skip_reason or f"only on {', '.join(enabled_devices)}")


def skip_on_flag(flag_name: str, skip_value: Any) -> Callable:
    """Decorator: a test that does not run under this value of a setting."""
    return _only_if(lambda: _config._read(flag_name) != skip_value,
                    f"not with {flag_name}={skip_value}")


def device_supports_buffer_donation() -> Callable:
    """Decorator: a test of donated arguments. All devices take them."""
    return _only_if(lambda: True, "")


def skip_under_pytest(reason: str) -> Callable:
    """Decorator: a test that pytest does not run."""
    return unittest.skipIf(is_running_under_pytest(), reason)


def pytest_mark_if_available(marker: str) -> Callable:
    """Decorator: a mark of pytest's."""
    def mark(test):
        pytest = sys.modules.get("pytest")
        return getattr(pytest.mark, marker)(test) if pytest else test

    return mark


def thread_unsafe_test() -> Callable:
    """Decorator: a test that runs alone. All of ours do."""
    return lambda test: test


thread_unsafe_test_class = thread_unsafe_test
JaxTestLoader = unittest.TestLoader


def request_cpu_devices(nr_devices: int) -> None:
    """Have so many CPU devices, if they have not been counted yet."""
    with contextlib.suppress(RuntimeError):
        minijax.config.update("jax_num_cpu_devices", nr_devices)


# ----------------------------------------------------------------------------------------------
# Parameters of tests


@functools.cache
def _choice(n: int, m: int) -> np.ndarray:
    return np.random.RandomState(42).choice(n, size=m, replace=False)


def sample_product_testcases(*args: Iterable[dict], **kw: Iterable) -> list[dict]:
    """Some cases of a product: of dicts of arguments, and of the values of each name."""
    factors = [[*arg] for arg in args] + [[{name: x} for x in xs] for name, xs in kw.items()]
    n = math.prod(map(len, factors))
    cases = []
    for i in map(int, _choice(n, min(n, NUM_GENERATED_CASES))):
        case: dict = {}
        for factor in factors:
            i, here = divmod(i, len(factor))
            case |= factor[here]
        cases.append(case)
    return cases


def _parameters(cases: Sequence[dict]) -> Callable:
    if parameterized is None:
        raise ImportError("Parameterized tests need the package absl-py: pip install absl-py")
    named = bool(cases) and "testcase_name" in cases[0]
    return (parameterized.named_parameters if named else parameterized.parameters)(*cases)


def sample_product(*args: Iterable[dict], **kw: Iterable) -> Callable:
    """Decorator: run a test with some of the cases of a product."""
    return _parameters(sample_product_testcases(*args, **kw))


def sanitize_test_name(s: str) -> str:
    """A name without the characters that `unittest -k` does not take."""
    return re.sub(r"[ \"'\[\](){}<>=,._]+", "_", s)


def parameterized_filterable(*, kwargs: Sequence[dict], testcase_name: Callable | None = None,
                             one_containing: str | None = None) -> Callable:
    """Decorator: run a test with each of the `kwargs`, under names that can be selected."""
    def name(kw):
        if testcase_name is not None:
            return str(testcase_name(kw))
        return kw.get("testcase_name") or "_".join(f"{k}={kw[k]}" for k in sorted(kw))

    cases = [{**kw, "testcase_name": sanitize_test_name(name(kw))} for kw in kwargs]
    if one_containing is not None:
        chosen = [case for case in cases if one_containing in case["testcase_name"]]
        assert chosen, f"No testcase_name contains {one_containing!r}"
        cases = [{**chosen[0], "testcase_name": ""}]
    return _parameters(cases)


def cases_from_gens(*gens: Callable[[int], Any]) -> Iterator[tuple]:
    """Named cases of three sizes, of what the functions make of a size."""
    for size, i in itertools.product((1, 3, 10), range(NUM_GENERATED_CASES // 3 + 1)):
        yield (f"_{size}_{i}", *(gen(size) for gen in gens))


def named_cases_from_sampler(gen: Callable) -> Iterator[dict]:
    """Different cases of a generator that takes a function which chooses."""
    rng, seen = np.random.RandomState(42), set[str]()

    def choose(xs):
        xs = [*xs]
        return [xs[rng.randint(len(xs))]]

    for _ in range(100 * NUM_GENERATED_CASES):
        for case in gen(choose):
            if case["testcase_name"] not in seen and len(seen) < NUM_GENERATED_CASES:
                seen.add(case["testcase_name"])
                yield case


# ----------------------------------------------------------------------------------------------
# Meshes


def create_mesh(mesh_shape: Sequence[int], axis_names: Sequence[str], iota_order: bool = False,
                axis_types: Any = None) -> Mesh:
    """A mesh, or the test is left out if there are too few devices."""
    size, here = math.prod(mesh_shape), sorted(devices(), key=lambda d: d.id)
    if len(here) < size:
        raise unittest.SkipTest(f"Test requires {size} global devices and found {len(here)}.")
    if iota_order:
        return Mesh(np.array(here[:size]).reshape(mesh_shape), axis_names, axis_types=axis_types)
    axis_types = axis_types or (AxisType.Auto,) * len(mesh_shape)
    return make_mesh(tuple(mesh_shape), tuple(axis_names), axis_types)


@contextlib.contextmanager
def with_mesh(named_shape: Sequence[tuple[str, int]]) -> Iterator[None]:
    """A mesh of axes with these names and sizes within a block."""
    names, shape = zip(*named_shape) if named_shape else ((), ())
    size, here = math.prod(shape), local_devices()
    if len(here) < size:
        raise unittest.SkipTest(f"Test requires {size} local devices")
    with Mesh(np.array(here[:size]).reshape(shape), names):
        yield


def with_mesh_from_kwargs(f: Callable) -> Callable:
    """Decorator: a test under the mesh of its argument `mesh`."""
    return lambda *args, **kwargs: with_mesh(kwargs["mesh"])(f)(*args, **kwargs)


def with_explicit_mesh(sizes: Sequence[int], names: Sequence[str], axis_types: Any = None,
                       iota_order: bool = False) -> Callable:
    """Decorator: a test that gets an explicit mesh, and runs under it."""
    types = axis_types or (AxisType.Explicit,) * len(names)

    def decorate(test):
        def run(*args, **kwargs):
            mesh = create_mesh(sizes, names, iota_order, types)
            with set_mesh(mesh):
                return test(*args, **kwargs, mesh=mesh)

        return run

    return decorate


# ----------------------------------------------------------------------------------------------
# Jaxprs, and functions of NumPy


def iter_eqns(jaxpr: Any) -> Iterator:
    """The equations of a jaxpr, and of those within it."""
    yield from jaxpr.eqns
    for inner in subjaxprs(jaxpr):
        yield from iter_eqns(inner)


def _products(fun: Callable, args: Sequence) -> list[dict]:
    eqns = iter_eqns(make_jaxpr(fun)(*args).jaxpr)
    return [eqn.params for eqn in eqns if eqn.primitive is dot_general_p]


def assert_dot_precision(expected_precision: Any, fun: Callable, *args: Any) -> None:
    """Check the precision of each product of a function."""
    for params in _products(fun, args):
        found = params["precision"]
        both = found if isinstance(found, tuple) else (found,)
        assert all(p == expected_precision for p in both), (expected_precision, found)


def assert_dot_preferred_element_type(expected: Any, fun: Callable, *args: Any,
                                      **kwargs: Any) -> None:
    """Check in which dtype each product of a function adds up."""
    for params in _products(functools.partial(fun, **kwargs), args):
        assert params["preferred_element_type"] == expected, (expected, params)


def fwd_bwd_jaxprs(f: Callable, *example_args: Any) -> tuple:
    """The jaxprs of a function with its residuals, and of its backward pass."""
    forward, (out, pullback) = make_jaxpr(lambda *args: vjp(f, *args), return_shape=True)(
        *example_args)
    return forward, make_jaxpr(lambda pullback, out: pullback(out))(pullback, out)


def promote_like_jnp(fun: Callable, inexact: bool = False) -> Callable:
    """A function of NumPy whose arguments are promoted as `jax.numpy` does."""
    promote = promote_dtypes_inexact if inexact else promote_dtypes

    def promoted(*args, **kw):
        leaves, tree = tree_flatten(args)
        return fun(*tree_unflatten(tree, promote(*leaves)), **kw)

    return promoted


def check_raises(thunk: Callable, err_type: type[Exception], msg: str) -> None:
    """Check that a call raises an error whose text begins so."""
    check_raises_regexp(thunk, err_type, re.escape(msg))


def check_raises_regexp(thunk: Callable, err_type: type[Exception], pattern: str) -> None:
    """Check that a call raises an error whose text begins like the pattern."""
    try:
        thunk()
    except err_type as error:
        assert re.match(pattern, str(error)), f"{error}\n\n{pattern}\n"
    else:
        raise AssertionError(f"expected a {err_type.__name__}; nothing was raised.")


# ----------------------------------------------------------------------------------------------
# The test case


def is_sequence(x: Any) -> bool:
    """Whether one can iterate over it."""
    try:
        iter(x)
    except TypeError:
        return False
    return True


class JaxTestCase(_BaseCase):
    """A test case that compares arrays. Its tests run under strict promotion."""

    _default_global_config: dict[str, Any] = {}
    _default_thread_local_config: dict[str, Any] = {
        "jax_enable_checks": True,
        "jax_numpy_dtype_promotion": "strict",
        "jax_numpy_rank_promotion": "raise",
        "jax_traceback_filtering": "off",
        "jax_legacy_prng_key": "error",
    }

    def setUp(self) -> None:
        super().setUp()
        self._rng = np.random.RandomState(zlib.adler32(self._testMethodName.encode()))
        self.enterContext(global_config_context(**self._default_global_config))
        self.enterContext(thread_local_config_context(**self._default_thread_local_config))

    def tearDown(self) -> None:
        assert trace_state_clean(), f"the test left the trace {state.trace}"
        super().tearDown()

    def rng(self) -> np.random.RandomState:
        """Random numbers; the same ones in each run of the test."""
        return self._rng

    def assertDeprecationWarnsOrRaises(self, deprecation_id: str, message: str, *,
                                       error_class: type[Exception] = ValueError) -> Any:
        """Check for the warning that something is deprecated, or the error that it is gone."""
        return self.assertWarnsRegex(DeprecationWarning, message)

    def assertArraysEqual(self, actual: Any, desired: Any, *, check_dtypes: bool = True,
                          err_msg: str = "", allow_object_dtype: bool = False,
                          verbose: bool = True) -> None:
        """Check that two arrays are equal."""
        if check_dtypes:
            self.assertDtypesMatch(actual, desired)
        actual, desired = np.asarray(actual), np.asarray(desired)
        if object in (actual.dtype, desired.dtype) and not allow_object_dtype:
            raise TypeError("assertArraysEqual compares no arrays of objects: pass arrays of "
                            "numbers, or allow_object_dtype=True.")
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(actual, desired, err_msg=err_msg, verbose=verbose)

    def assertArraysAllClose(self, actual: Any, desired: Any, *, check_dtypes: bool = True,
                             atol: Any = None, rtol: Any = None, err_msg: str = "") -> None:
        """Check that two arrays are close."""
        self.assertEqual(actual.shape, desired.shape)
        atol, rtol = (max(tolerance(_dtype(actual), tol), tolerance(_dtype(desired), tol))
                      for tol in (atol, rtol))
        _assert_numpy_allclose(actual, desired, atol, rtol, err_msg)
        if check_dtypes:
            self.assertDtypesMatch(actual, desired)

    def assertDtypesMatch(self, actual: Any, desired: Any, *,
                          canonicalize_dtypes: bool = True) -> None:
        """Check that two dtypes are equal; without x64, 64 bits count as 32."""
        canonical = _kept if canonicalize_dtypes else lambda dtype: dtype
        self.assertEqual(canonical(_dtype(actual)), canonical(_dtype(desired)))

    def assertAllClose(self, actual: Any, desired: Any, *, check_dtypes: bool = True,
                       atol: Any = None, rtol: Any = None, canonicalize_dtypes: bool = True,
                       err_msg: str = "") -> None:
        """Check that two arrays, or containers of arrays, are close."""
        options: Any = {"check_dtypes": check_dtypes, "atol": atol, "rtol": rtol,
                        "canonicalize_dtypes": canonicalize_dtypes, "err_msg": err_msg}
        if isinstance(actual, dict):
            self.assertIsInstance(desired, dict)
            self.assertEqual({*actual}, {*desired})
            for key in actual:
                self.assertAllClose(actual[key], desired[key], **options)
        elif is_sequence(actual) and not hasattr(actual, "__array__"):
            self.assertTrue(is_sequence(desired) and not hasattr(desired, "__array__"),
                            f"Expected sequence, got {desired}")
            self.assertEqual(len(actual), len(desired))
            for a, b in zip(actual, desired):
                self.assertAllClose(a, b, **options)
        elif hasattr(actual, "__array__") or np.isscalar(actual):
            self.assertTrue(hasattr(desired, "__array__") or np.isscalar(desired),
                            f"Expected array-like, got {desired}")
            if check_dtypes:
                self.assertDtypesMatch(actual, desired, canonicalize_dtypes=canonicalize_dtypes)
            self.assertArraysAllClose(np.asarray(actual), np.asarray(desired), check_dtypes=False,
                                      atol=atol, rtol=rtol, err_msg=err_msg)
        elif actual != desired:
            raise TypeError((type(actual), type(desired)))

    def assertMultiLineStrippedEqual(self, expected: str, what: str) -> None:
        """Check that two texts have the same lines, whatever their indentation."""
        expected, what = (re.sub(r"\s*\n\s*", "\n", textwrap.dedent(text).strip())
                          for text in (expected, what))
        self.assertMultiLineEqual(expected, what)

    @contextlib.contextmanager
    def assertNoWarnings(self) -> Iterator[None]:
        """Check that nothing warns within the block."""
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield

    def _CompileAndCheck(self, fun: Callable, args_maker: Callable, *, check_dtypes: bool = True,
                         tol: Any = None, rtol: Any = None, atol: Any = None,
                         check_cache_misses: bool = True) -> None:
        """Check that a function gives the same compiled, and is traced once."""
        traced = 0

        def counted(*args):
            nonlocal traced
            traced += 1
            return fun(*args)

        options: Any = {"check_dtypes": check_dtypes, "atol": atol or tol, "rtol": rtol or tol}
        compiled, args = jit(counted), args_maker()
        expected = fun(*args)
        self.assertEqual(tree_map(np.shape, expected),
                         tree_map(lambda x: np.shape(np.asarray(x)), expected))
        self.assertAllClose(compiled(*args), expected, **options)
        once = traced
        self.assertAllClose(compiled(*args), expected, **options)
        args = args_maker()
        self.assertAllClose(compiled(*args), fun(*args), **options)
        self.assertEqual(traced, once, "the function was traced again for arguments of one type")

    def _CheckAgainstNumpy(self, numpy_reference_op: Callable, lax_op: Callable,
                           args_maker: Callable, check_dtypes: bool = True, tol: Any = None,
                           atol: Any = None, rtol: Any = None,
                           canonicalize_dtypes: bool = True) -> None:
        """Check that a function gives what NumPy's gives."""
        args = args_maker()
        self.assertAllClose(lax_op(*args), numpy_reference_op(*args), check_dtypes=check_dtypes,
                            atol=atol or tol, rtol=rtol or tol,
                            canonicalize_dtypes=canonicalize_dtypes)

    def assertCacheMisses(self, func: Callable[[], Any], *, cpp: int | None = None,
                          aot_call: int | None = None, tracing: int | None = None,
                          lowering: int | None = None,
                          compilation_after_persistent_cache_miss: int | None = None) -> None:
        """Check how often a call traces, lowers and compiles."""
        with (counts.count_pjit_cpp_cache_miss() as cpp_count,
              counts.count_jit_tracing_cache_miss() as tracing_count,
              counts.count_jit_and_pmap_lowerings() as lowering_count,
              counts.count_compilation_after_persistent_cache_miss() as compilation_count):
            func()
        for expected, count in ((cpp, cpp_count), (tracing, tracing_count),
                                (lowering, lowering_count),
                                (compilation_after_persistent_cache_miss, compilation_count)):
            if expected is not None:
                self.assertEqual(expected, count())


class BufferDonationTestCase(JaxTestCase):
    """A test case that asks whether arrays were given away."""

    def assertDeleted(self, x: Any) -> None:
        self.assertTrue(x.is_deleted())

    def assertNotDeleted(self, x: Any) -> None:
        self.assertFalse(x.is_deleted())
