"""Which platforms there are, how the one for GPUs is found, and eager operations on it.

No test here has a GPU. What can be had without one is tested: the search, with packages that are
made up, and evaluation operation by operation, which is forced on the CPU.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import minijax
from minijax.core.array import Array
from minijax.debugging.registering import registered
from minijax.parallel.programs import eager_operations
from minijax.runtime import cuda, platforms, settings, xla
from minijax.runtime.platforms import lowered_for
from tests.oracle import both, in_both, jax

# ----------------------------------------------------------------------------------------------
# Names of platforms


@pytest.mark.parametrize("name", ["gpu", "cuda", "tpu", "nonsense"])
@pytest.mark.parametrize("program", [
    lambda m, name: lambda: m.devices(name),
    lambda m, name: lambda: m.local_devices(backend=name),
    lambda m, name: lambda: m.device_count(name),
    lambda m, name: lambda: m.jit(lambda x: x, backend=name)(1.0),
], ids=["devices", "local_devices", "device_count", "jit"])
@pytest.mark.filterwarnings("ignore:backend and device:DeprecationWarning")
def test_a_platform_that_is_not_here_is_an_error_as_in_jax(program, name):
    both(lambda m: program(m, name))


def test_the_cpu_may_be_named():
    x = np.arange(3.0, dtype=np.float32)
    assert minijax.devices("cpu") == minijax.devices()
    np.testing.assert_array_equal(minijax.jit(lambda x: x + 1, backend="cpu")(x), x + 1)


PLATFORMS = [  # jax_platforms, jax_platform_name, is there a GPU -> platforms
    (None, "", False, ["cpu"]),
    (None, "", True, ["cuda", "cpu"]),
    ("cpu", "", True, ["cpu"]),
    ("gpu", "", True, ["cuda"]),
    ("cuda", "", False, ["cuda"]),  # which is an error when it is used
    ("cuda,cpu", "", True, ["cuda", "cpu"]),
    ("cuda,cpu", "", False, ["cpu"]),
    ("cpu, gpu", "", True, ["cpu", "cuda"]),
    ("cpu,cuda", "gpu", True, ["cuda", "cpu"]),
    (None, "cpu", True, ["cpu", "cuda"]),
]


@pytest.mark.parametrize("names, first, is_here, expected", PLATFORMS)
def test_the_platforms_and_their_order(monkeypatch, names, first, is_here, expected):
    monkeypatch.setitem(platforms.accelerators, "cuda", SimpleNamespace(is_here=lambda: is_here))
    with settings.platforms(names), settings.platform_name(first):
        assert platforms.platforms() == expected


# ----------------------------------------------------------------------------------------------
# Finding the plugin

POISON = "raise SystemExit('code of the plugin was run')"


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder on the path, in which files can be made."""
    monkeypatch.syspath_prepend(tmp_path)
    cuda._tools.cache_clear()

    def make(name, text=""):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return str(path)

    yield make
    cuda._tools.cache_clear()


def test_no_plugin(site):
    site("jax_plugins/xla_cuda12/__init__.py", POISON)  # without the library
    assert cuda.plugin() is None


def test_the_plugin_is_found_without_running_code(site):
    site("jax_plugins/xla_cuda12/__init__.py", POISON)
    library = site("jax_plugins/xla_cuda12/xla_cuda_plugin.so")
    assert cuda.plugin() == (library, 12)
    newer = site("jax_plugins/xla_cuda13/xla_cuda_plugin.so")
    assert cuda.plugin() == (newer, 13)


def test_nvidias_libraries_are_found_in_the_order_of_their_dependence(site):
    cudnn = site("nvidia/cudnn/lib/libcudnn.so.9")
    runtime = site("nvidia/cuda_runtime/lib/libcudart.so.12")
    assert list(cuda.libraries(12)) == [runtime, cudnn]
    runtime = site("nvidia/cu13/lib/libcudart.so.13")
    assert list(cuda.libraries(13)) == [runtime, cudnn]


def test_a_plugin_that_does_not_load_is_an_error_that_names_it(site):
    library = site("jax_plugins/xla_cuda12/xla_cuda_plugin.so", "no library")
    site("nvidia/cudnn/lib/libcudnn.so.9", "no library")  # is passed over
    with pytest.raises(RuntimeError, match=f"Unable to initialize backend 'cuda'.*{library}"):
        cuda.start(xla("backends").load_plugin)


def test_what_the_plugin_is_started_with(site):
    library = site("jax_plugins/xla_cuda13/xla_cuda_plugin.so")
    site("jax_cuda13_plugin/cuda_plugin_extension.py", "mark = 13")
    calls = []
    cuda.start(lambda *args: calls.append(args))
    ((platform, path, extension),) = calls
    assert (platform, path, extension.mark) == ("cuda", library, 13)


def test_a_plugin_of_another_release_is_not_used(site):
    site("jax_plugins/xla_cuda12/xla_cuda_plugin.so")
    site("jax_cuda12_pjrt-0.1.2.dist-info/METADATA", "Name: jax-cuda12-pjrt\nVersion: 0.1.2\n")
    with pytest.raises(RuntimeError, match="jax-cuda12-pjrt 0.1.2 is not for jaxlib"):
        cuda.start(lambda *args: None)


class Recorder:
    """Stands for a module of jaxlib: notes what is called, with the arguments."""

    def __init__(self, **results):
        self.results, self.calls = results, []

    def __getattr__(self, name):
        def call(*args, **kwargs):
            self.calls.append((name, *args, kwargs) if kwargs else (name, *args))
            return self.results.get(name)

        return call


def test_how_the_plugin_is_loaded(monkeypatch):
    jaxlib = Recorder(load_pjrt_plugin_dynamically="plugin", make_c_api_client="client",
                      generate_pjrt_gpu_plugin_options={"memory_fraction": 0.5})
    extension = Recorder(ffi_types={"a type": 1}, ffi_handlers={"a call": 2})
    monkeypatch.setattr(xla("backends"), "xla_client", jaxlib)
    monkeypatch.setattr(xla("backends"), "peers", {"node_id": 1, "num_nodes": 2, "collectives": "gloo",
                                         "distributed_client": "peers"})
    assert xla("backends").load_plugin("cuda", "the/library.so", extension) == "client"
    wanted = [
        ("load_pjrt_plugin_dynamically", "cuda", "the/library.so"),
        ("register_custom_type", "a type", 1, {"platform": "CUDA"}),
        ("register_custom_call_target", "a call", 2, {"platform": "CUDA", "api_version": 1}),
        ("initialize_pjrt_plugin", "cuda"),
        ("make_c_api_client", "cuda", {"memory_fraction": 0.5, "node_id": 1, "num_nodes": 2},
         "peers"),
    ]
    assert [call for call in jaxlib.calls if call in wanted] == wanted
    handlers = {name: handler for name, platform, handler in
                (call for call in jaxlib.calls if call[0].endswith("_handler"))}
    handlers["register_custom_call_handler"]("f", "target")
    assert extension.calls[-1] == ("register_custom_call_target", "plugin", "f", "target")


def test_a_gpu_without_the_plugin_is_told_of(monkeypatch, caplog):
    monkeypatch.setattr(cuda, "has_device", lambda: True)
    cuda.is_here.cache_clear()
    try:
        assert not cuda.is_here()
    finally:
        cuda.is_here.cache_clear()
    assert 'pip install "minijax[cuda]"' in caplog.text


def in_fresh_process(program: str, **environment: str) -> str:
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                            env={"PATH": "", **environment})
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_a_process_that_asks_for_a_gpu(tmp_path):
    """The error comes when XLA is needed, and tells what to do; jax is not imported."""
    printed = in_fresh_process("""
import sys, minijax
print(minijax.jit)
try:
    minijax.devices()
except RuntimeError as error:
    print(error)
print("jax" in sys.modules)
""", JAX_PLATFORMS="cuda")
    assert 'pip install "minijax[cuda]"' in printed and printed.endswith("False\n")


# ----------------------------------------------------------------------------------------------
# Programs for it


def options():
    return SimpleNamespace(env_option_overrides=[])


def test_callbacks_are_those_of_the_gpu():
    text = minijax.jit(
        lambda x: minijax.pure_callback(np.sin, x, x)).lower(np.float32(1)).as_text()
    prepared = cuda.prepare(text, options())
    assert "@xla_ffi_python_gpu_callback" in prepared and "cpu_callback" not in prepared


@pytest.mark.parametrize("function", ["qr", "eigh", "svd", "lu", "cholesky"])
def test_lapack_is_refused(function):
    x = np.eye(3, dtype=np.float32)
    text = minijax.jit(getattr(minijax.lax.linalg, function)).lower(x).as_text()
    with pytest.raises(NotImplementedError, match=r"calls lapack_\w+_ffi.*'cuda'"):
        cuda.prepare(text, options())


def test_the_compiler_is_told_where_its_tools_are(site):
    site("nvidia/cuda_nvcc/nvvm/libdevice/libdevice.10.bc")
    given = options()
    assert cuda.prepare("module", given) == "module"
    ((name, folder),) = given.env_option_overrides
    assert name == "xla_gpu_cuda_data_dir" and folder.rstrip("/").endswith("nvidia/cuda_nvcc")


SPD = np.array([[4, 2, 0], [2, 5, 3], [0, 3, 6]], np.float32)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize("program", [
    lambda m: lambda x: m.lax.linalg.cholesky(x),
    lambda m: lambda x: m.lax.linalg.cholesky(-x),  # NaN
    *[lambda m, a=transpose, b=conjugate, side=side: lambda x: m.lax.linalg.triangular_solve(
        x, x + 1, left_side=side, lower=True, transpose_a=a, conjugate_a=b)
      for transpose in (False, True) for conjugate in (False, True) for side in (False, True)],
])
def test_where_lapack_is_not_xla_does_what_it_can(program, dtype):
    x = SPD.astype(dtype) + (np.triu(SPD, 1) - np.tril(SPD, -1)) * (1j if dtype[0] == "c" else 0)
    x = x.astype(dtype)
    with lowered_for("tpu"):
        compiled = minijax.jit(program(minijax)).lower(x)
        assert "custom_call" not in compiled.as_text()
    both(lambda m: compiled.compile() if m is minijax else m.jit(program(m)), x, tol=1e-4)


# ----------------------------------------------------------------------------------------------
# Operation by operation


@pytest.fixture
def one_by_one(monkeypatch):
    """Eager operations are compiled, as where the default device is a GPU."""
    monkeypatch.setattr(eager_operations, "default_is_accelerator", lambda: True)
    with registered(eager_operations.placed_evaluation):
        yield


X = np.linspace(0.1, 1.2, 12, dtype=np.float32).reshape(3, 4)


def _recurrence(m):
    return lambda x: m.lax.scan(lambda c, a: (c + a, c * a), x[0], x)


def _custom(m):
    @m.custom_vjp
    def f(x):
        return x * 2

    f.defvjp(lambda x: (f(x), x), lambda x, ct: (3 * ct * x,))
    return f


SMOKE = {
    "operators": lambda m: lambda x: (x + x, x - 1.0, 2 * x, x / x, x**2, -x, x > 0.5, x @ x.T),
    "indexing": lambda m: lambda x: (x[1:], x[0, 1], x[:, None], x.at[0].set(1), x.at[1].add(x[0])),
    "reductions": lambda m: lambda x: (x.sum(), x.mean(0), m.numpy.argmax(x), m.numpy.cumsum(x)),
    "shapes": lambda m: lambda x: (x.T, x.reshape(2, 6), m.numpy.stack([x, x]), m.numpy.tile(x, 2)),
    "dtypes": lambda m: lambda x: (x.astype("int32"), m.numpy.bfloat16(x), m.numpy.int8(3) + 1),
    "softmax": lambda m: lambda x: (m.nn.softmax(x), m.nn.relu(x - 0.5), m.nn.gelu(x)),
    "random": lambda m: lambda x: m.random.normal(m.random.key(0), x.shape) + x,
    "sort": lambda m: lambda x: (m.numpy.sort(-x), m.numpy.argsort(-x)),
    "linear algebra": lambda m: lambda x: m.numpy.linalg.solve(x.T @ x + m.numpy.eye(4), x[0]),
    "scan": _recurrence,
    "while": lambda m: lambda x: m.lax.while_loop(lambda v: v.sum() < 99, lambda v: 2 * v, x),
    "cond": lambda m: lambda x: m.lax.cond(x[0, 0] > 0, m.numpy.sin, m.numpy.cos, x),
    "jvp": lambda m: lambda x: m.jvp(m.numpy.tanh, (x,), (x,)),
    "grad": lambda m: m.grad(lambda x: m.numpy.sum(m.numpy.sin(x) * x)),
    "vmap": lambda m: m.vmap(lambda x: x / m.numpy.linalg.norm(x)),
    "hessian": lambda m: lambda x: m.hessian(lambda v: m.numpy.sum(v**3))(x[0]),
    "custom_vjp": lambda m: m.grad(lambda x: m.numpy.sum(_custom(m)(x))),
    "checkpoint": lambda m: m.grad(m.checkpoint(lambda x: m.numpy.sum(m.numpy.sin(x)))),
    "jit": lambda m: lambda x: m.jit(lambda x: m.numpy.exp(x) + 1)(x) * 2,
}


@pytest.mark.parametrize("name", SMOKE)
def test_smoke_programs_operation_by_operation(one_by_one, name):
    both(lambda m: lambda x: SMOKE[name](m)(m.numpy.asarray(x)), X, tol=1e-5)


def test_results_stay_on_the_device(one_by_one):
    x = minijax.numpy.asarray(X)
    for y in (x + x, x * 2.0, minijax.numpy.sin(x)[0], minijax.grad(lambda x: (x * x).sum())(x)):
        assert type(y) is Array and y._host is None and y._buffer is not None


MOVES = {
    "to a device": lambda m, x: m.device_put(x, m.devices()[1]),
    "to copies": lambda m, x: m.device_put(x, m.NamedSharding(mesh_of_all(m), m.P())),
    "to parts": lambda m, x: m.device_put(x, m.NamedSharding(mesh_of_all(m), m.P("i"))),
    "by a program": lambda m, x: m.jit(lambda x: x + 1, device=m.devices()[2])(x),
}


def mesh_of_all(m):
    return m.make_mesh((m.device_count(),), ("i",), (m.sharding.AxisType.Auto,))


@pytest.mark.parametrize("second", MOVES)
@pytest.mark.parametrize("first", MOVES)
@pytest.mark.filterwarnings("ignore:backend and device:DeprecationWarning")
def test_between_platforms_arrays_move_through_the_host(monkeypatch, first, second):
    """jaxlib moves arrays within a platform only. Here all devices count as far from each other."""
    for module in (xla("transfers"), xla("several_devices")):
        monkeypatch.setattr(module, "is_near", lambda buffer, device: False)

    def program(m):
        x = m.numpy.arange(2 * m.device_count(), dtype="float32") * 2
        return MOVES[second](m, MOVES[first](m, x))

    both(lambda m: lambda: program(m))


def test_python_sees_values_in_custom_rules(one_by_one):
    @minijax.custom_jvp
    def f(x):
        return x if x > 0 else -x  # a branch of Python's

    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0]))
    assert float(f(minijax.numpy.float32(-2))) == 2


@pytest.mark.parametrize("lowered", [False, True])
@pytest.mark.parametrize("rule", [lambda x: np.asarray(x) + 1, np.sqrt], ids=["function", "ufunc"])
@in_both
def test_a_primitive_of_the_users_is_evaluated_as_they_say(m, one_by_one, lowered, rule):
    p = m.extend.core.Primitive("by_hand")
    p.def_impl(rule)
    p.def_abstract_eval(lambda x: x)
    if lowered:
        m.interpreters.mlir.register_lowering(p, lambda ctx, x: [x])
    return np.asarray(p.bind(m.numpy.float32(4)))


@in_both
def test_a_primitive_without_evaluation_rule(m, one_by_one):
    p = m.extend.core.Primitive("no_rule")
    return p.bind(m.numpy.float32(4))


CHECKS = {
    "checkify": lambda m: lambda x: checkify(m).check((x < 0).all(), "large"),
    "debug_nans": lambda m: lambda x: m.debug_nans(True)(m.numpy.log)(-x),
    "debug_nans of a loop": lambda m: lambda x: m.debug_nans(True)(
        lambda x: m.lax.scan(lambda c, a: (m.numpy.log(c), a), -x, None, length=2))(x),
}


def checkify(m):
    return importlib.import_module(f"{m.__name__}.experimental.checkify")


@pytest.mark.parametrize("name", CHECKS)
def test_checks_operation_by_operation(one_by_one, name):
    both(lambda m: lambda x: CHECKS[name](m)(m.numpy.asarray(x)), X)


def test_a_reduction_whose_function_has_arrays(one_by_one):
    c = minijax.numpy.zeros(3)
    total = minijax.lax.reduce(X, np.float32(0), lambda a, b: a + b + c.sum(), (0,))
    np.testing.assert_allclose(total, X.sum(0), rtol=1e-6)


@pytest.mark.parametrize("settings_are_on", [False, True])
@pytest.mark.parametrize("where", ["one device", "all devices"])
def test_nans_are_found_wherever_arrays_lie(where, settings_are_on):
    def program(m):
        devices = m.devices()
        mesh = m.sharding.Mesh(np.array(devices), ("i",))
        sharding = m.NamedSharding(mesh, m.P("i"))
        x = m.device_put(np.arange(-1, len(devices) - 1, dtype=np.float32),
                         devices[1] if where == "one device" else sharding)
        return lambda: m.debug_nans(settings_are_on)(m.numpy.log)(x)

    both(program, tol=1e-6)


def test_without_an_accelerator_numpy_evaluates():
    assert jax.default_backend() == minijax.default_backend() == "cpu"
    assert not eager_operations.default_is_accelerator()
