"""The adapter to jaxlib: data in and out, programs, and that jax stays out of it."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import ml_dtypes
import numpy as np
import pytest

from minijax.core.core import ShapedArray
from minijax.errors import JaxRuntimeError
from minijax.runtime import client, compiler

F32_8 = ShapedArray((8,), np.dtype("float32"))
DOUBLE = """module @double {
  func.func public @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = stablehlo.add %x, %x : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}"""

DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "float32", "float64", "complex64", "complex128", ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn,
    ml_dtypes.float8_e5m2,
]  # fmt: skip


def put(value: np.ndarray, **options) -> client.Buffer:
    return client.put(value, ShapedArray(value.shape, value.dtype), **options)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (0, 3)], ids=str)
def test_values_survive_the_way_to_xla_and_back(dtype, shape):
    value = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    result = client.to_numpy(put(value))
    assert result.dtype == value.dtype and result.shape == shape
    assert result.tobytes() == value.tobytes()


@pytest.mark.parametrize("dtype", ["float32", ml_dtypes.bfloat16], ids=lambda d: np.dtype(d).name)
def test_numpy_sees_a_buffer_without_copying_it_and_cannot_write_to_it(dtype):
    buffer = put(np.ones(1000, dtype))
    view = client.to_numpy(buffer)
    assert view.ctypes.data == buffer.unsafe_buffer_pointer()
    assert not view.flags.writeable
    del buffer  # the view keeps the memory
    assert np.all(view == 1)


def aligned(n: int) -> np.ndarray:
    """Zeros at an address from which XLA would read in place."""
    memory = np.zeros(4 * n + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + 4 * n].view(np.float32)


def test_writing_to_an_array_after_handing_it_over_changes_nothing():
    x = aligned(8)
    buffer = put(x)
    x[:] = 7
    assert np.all(client.to_numpy(buffer) == 0)


def test_an_array_that_nobody_writes_to_is_not_copied():
    x = aligned(8)
    assert put(x, owned=True).unsafe_buffer_pointer() == x.ctypes.data


@pytest.mark.parametrize("strided", [
    lambda x: x[::2], lambda x: x[::-1], lambda x: x.T, lambda x: np.broadcast_to(x[0], (3, 4)),
    lambda x: np.asfortranarray(x),
])  # fmt: skip
@pytest.mark.parametrize("owned", [False, True])
def test_any_memory_layout_will_do(strided, owned):
    x = strided(np.arange(12, dtype=np.float32).reshape(3, 4))
    np.testing.assert_array_equal(client.to_numpy(put(x, owned=owned)), x)


def test_a_program_runs():
    program = client.compile(DOUBLE, [F32_8])
    x = np.arange(8, dtype=np.float32)
    (result,) = program([put(x)])
    np.testing.assert_array_equal(client.to_numpy(result), 2 * x)
    assert result.aval is F32_8


def test_a_program_tells_what_it_costs():
    program = client.compile(DOUBLE, [F32_8])
    assert compiler.cost_analysis(program)["flops"] == 8
    assert program.loaded.get_compiled_memory_stats().output_size_in_bytes == 32
    assert "HloModule double" in compiler.hlo_text(program)
    assert compiler.cost_before_compiling(DOUBLE)["flops"] == 8
    assert "add(" in compiler.hlo_before_compiling(DOUBLE)


def test_bad_programs_and_bad_options_are_refused():
    with pytest.raises(JaxRuntimeError):
        client.compile(DOUBLE.replace("%x, %x", "%x, %y"), [F32_8])
    with pytest.raises(JaxRuntimeError):
        client.compile(DOUBLE, [F32_8], options={"no_such_flag": True})


def test_compiler_options_reach_xla():
    assert client.compile(DOUBLE, [F32_8], options={"xla_cpu_enable_fast_math": True})


def test_there_is_one_client_and_it_knows_its_platform():
    assert client.backend() is client.backend("cpu")
    assert client.default_device() is client.devices()[0]
    with pytest.raises(RuntimeError, match="Unknown backend tpu. Available"):
        client.backend("tpu")


def in_fresh_process(program: str, **environment: str) -> str:
    """What a program prints that starts with nothing imported."""
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True, text=True, env={"PATH": "", **environment},
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_neither_minijax_nor_xla_imports_jax():
    printed = in_fresh_process("""
        import sys
        import minijax, numpy as np
        print("jaxlib" in sys.modules)
        f = minijax.jit(lambda x: x + x)
        x = np.arange(8, dtype=np.float32)
        print(np.asarray(f(f(x))).tolist(), f(x)[1].item())
        print("jaxlib" in sys.modules, "jax" in sys.modules)
    """)
    assert printed.splitlines() == [
        "False", "[0.0, 4.0, 8.0, 12.0, 16.0, 20.0, 24.0, 28.0] 2.0", "True False",
    ]  # fmt: skip


def test_the_number_of_devices_is_a_setting():
    printed = in_fresh_process("""
        import numpy as np
        import minijax
        minijax.config.update("jax_num_cpu_devices", 3)
        from minijax.core import ShapedArray
        from minijax.runtime import client, transfers
        aval = ShapedArray((8,), np.dtype("float32"))
        last = client.devices()[-1]
        buffer = transfers.copy_to_device(client.put(np.ones(8, np.float32), aval), last)
        print(len(client.devices()), buffer._sharding.device, client.to_numpy(buffer).sum())
    """)
    assert printed.split() == ["3", "cpu:2", "8.0"]


def test_a_platform_that_is_not_there_is_an_error():
    printed = in_fresh_process("""
        import minijax
        minijax.config.update("jax_platforms", "tpu")
        try:
            minijax.jit(lambda x: x + 1)(1.0)
        except RuntimeError as error:
            print(error)
    """)
    assert "Unable to initialize backend 'tpu'" in printed
