"""Every starter primitive as a program, `lax -> function of one example`, with examples' types."""

from __future__ import annotations

import zlib
from types import SimpleNamespace
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from minijax.core.primitives import add_any_p, stop_gradient_p
from minijax.lax import cutting
from minijax.lax.shaping import copy_p
from tests.families import functions
from tests.oracle import jax

ad_util = jax._src.ad_util
jax_lax = jax._src.lax.lax

SIZE = 4  # of the batch; unlike every other size in the table


def _ours():
    return SimpleNamespace(**functions() | {
        "stack": lambda xs, axis: cutting.stack_p.bind(*xs, axis=axis),
        "unstack": lambda x, axis: cutting.unstack_p.bind(x, axis=axis),
        "add_any": add_any_p.bind,
        "copy": copy_p.bind,
        "stop_gradient": stop_gradient_p.bind,
    })


ours = _ours()
jaxs = SimpleNamespace(**vars(jax.lax) | {
    "add_any": ad_util.add_jaxvals_p.bind,
    "copy": jax_lax.copy_p.bind,
    "stop_gradient": ad_util.stop_gradient_p.bind,
})


class Program(NamedTuple):
    """`make(lax)` is a function of arrays of the types `specs`, like "f32[2,3]"."""

    name: str
    make: Any
    specs: tuple[str, ...]
    same_text: bool = True  # whether its batching makes the equations that JAX's makes
    jax_can: bool = True  # whether JAX's own rule is right


def named(name: str, **params: Any):
    """The program that calls the `lax` function of this name."""
    return lambda lax: lambda *args: getattr(lax, name)(*args, **params)


DTYPES = {"f32": np.float32, "i32": np.int32, "i8": np.int8, "u8": np.uint8, "bool": np.bool_,
          "c64": np.complex64, "bf16": ml_dtypes.bfloat16, "f16": np.float16}

UNARY_FLOAT = ["neg", "sin", "cos", "tan", "tanh", "atanh", "exp", "exp2", "log", "log1p", "expm1", "sqrt",
               "rsqrt", "cbrt", "logistic", "abs", "sign", "floor", "ceil", "round", "square",
               "is_finite", "stop_gradient", "copy"]
BINARY_FLOAT = ["add", "sub", "mul", "div", "rem", "pow", "max", "min", "eq", "ne", "lt", "le",
                "gt", "ge", "complex"]

PROGRAMS = [
    *[Program(name, named(name), ("f32[2,3]",)) for name in UNARY_FLOAT],
    *[Program(name, named(name), ("c64[2,3]",)) for name in ("real", "imag", "conj", "exp")],
    *[Program(name, named(name), ("i32[3]",)) for name in ("bitwise_not", "sign", "abs")],
    Program("integer_pow", lambda lax: lambda x: lax.integer_pow(x, 3), ("f32[2,3]",)),
    Program("convert", lambda lax: lambda x: lax.convert_element_type(x, np.int32), ("f32[2,3]",)),
    *[Program(name, named(name), ("f32[2,3]", "f32[2,3]")) for name in BINARY_FLOAT],
    *[Program(name, named(name), ("i32[3]", "i32[3]"))
      for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "div", "rem", "shift_left",
                   "shift_right_logical", "shift_right_arithmetic")],
    Program("and of bools", named("bitwise_and"), ("bool[3]", "bool[3]")),
    Program("scalar and array", named("mul"), ("f32[]", "f32[2,3]")),
    Program("array and scalar", named("sub"), ("f32[2,3]", "f32[]")),
    Program("scalars", named("add"), ("f32[]", "f32[]")),
    Program("size-one dimensions", named("add"), ("f32[2,1]", "f32[1,3]")),
    Program("a Python number", lambda lax: lambda x: lax.mul(2.0, x), ("f32[2,3]",)),
    Program("half precision", named("mul"), ("bf16[3]", "bf16[]")),
    Program("add_any", named("add_any"), ("f32[2,3]", "f32[2,3]")),
    Program("add_any of scalars", named("add_any"), ("f32[]", "f32[]")),
    Program("select", named("select_n"), ("bool[2,3]", "f32[2,3]", "f32[2,3]")),
    Program("select by a scalar", named("select_n"), ("bool[]", "f32[2,3]", "f32[2,3]")),
    Program("select scalars", named("select_n"), ("bool[]", "f32[]", "f32[]")),
    Program("select by a number",
            lambda lax: lambda w, x, y, z: lax.select_n(lax.clamp(np.int32(0), w, np.int32(2)),
                                                        x, y, z),
            ("i32[3]", "f32[3]", "f32[3]", "f32[3]")),
    Program("clamp", named("clamp"), ("f32[2,3]", "f32[2,3]", "f32[2,3]")),
    Program("clamp by scalars", named("clamp"), ("f32[]", "f32[2,3]", "f32[]"), same_text=False),
    Program("clamp by one scalar", named("clamp"), ("f32[]", "f32[2,3]", "f32[2,3]")),
    Program("clamp a scalar", named("clamp"), ("f32[]", "f32[]", "f32[]"),
            same_text=False, jax_can=False),  # JAX fails if only the upper bound is batched

    Program("broadcast_in_dim", named("broadcast_in_dim", shape=(2, 5, 3),
                                      broadcast_dimensions=(0, 2)), ("f32[2,3]",)),
    Program("broadcast a scalar", named("broadcast_in_dim", shape=(2, 3),
                                        broadcast_dimensions=()), ("f32[]",)),
    Program("reshape", named("reshape", new_sizes=(3, 2)), ("f32[2,3]",)),
    Program("reshape in another order", named("reshape", new_sizes=(6,), dimensions=(1, 0)),
            ("f32[2,3]",)),
    Program("reshape nothing", named("reshape", new_sizes=(5, 0)), ("f32[0,3]",)),
    Program("squeeze", named("squeeze", dimensions=(0, 2)), ("f32[1,3,1]",)),
    Program("expand_dims", named("expand_dims", dimensions=(0, -1)), ("f32[2,3]",)),
    Program("transpose", named("transpose", permutation=(2, 0, 1)), ("f32[2,3,5]",)),
    Program("rev", named("rev", dimensions=(1,)), ("f32[2,3]",)),
    Program("rev of two", named("rev", dimensions=(2, 0)), ("f32[2,3,5]",)),
    Program("concatenate", lambda lax: lambda *xs: lax.concatenate(xs, 1),
            ("f32[2,3]", "f32[2,1]")),
    Program("concatenate three", lambda lax: lambda *xs: lax.concatenate(xs, 0),
            ("i32[2]", "i32[0]", "i32[3]")),
    *[Program(f"stack {axis}", lambda lax, axis=axis: lambda *xs: lax.stack(xs, axis),
              ("f32[2,3]", "f32[2,3]")) for axis in range(3)],
    *[Program(f"unstack {axis}", lambda lax, axis=axis: lambda x: lax.unstack(x, axis),
              ("f32[2,3]",)) for axis in range(2)],
    *[Program(f"split {axis}", lambda lax, axis=axis: lambda x: lax.split(x, (2, 1), axis),
              ("f32[3,3]",)) for axis in range(2)],
    Program("pad", lambda lax: lambda x, v: lax.pad(x, v, [(1, 2, 0), (0, -1, 2)]),
            ("f32[2,3]", "f32[]")),
    Program("pad booleans", lambda lax: lambda x, v: lax.pad(x, v, [(1, 0, 1)]),
            ("bool[3]", "bool[]")),
    Program("pad a scalar", lambda lax: lambda x, v: lax.pad(x, v, []), ("f32[]", "f32[]")),
    Program("iota", lambda lax: lambda x: lax.add(x, lax.broadcasted_iota(np.float32, (2, 3), 1)),
            ("f32[2,3]",)),

    Program("slice", named("slice", start_indices=(0, 1), limit_indices=(2, 5), strides=(1, 2)),
            ("f32[2,6]",)),
    Program("slice without strides", named("slice", start_indices=(1, 0), limit_indices=(2, 3)),
            ("f32[2,3]",)),
    Program("index_in_dim", lambda lax: lambda x: lax.index_in_dim(x, -1, 1, keepdims=False),
            ("f32[2,3]",)),

    *[Program(name, named(name, axes=(0, 2)), ("f32[2,3,5]",))
      for name in ("reduce_sum", "reduce_prod", "reduce_max", "reduce_min")],
    Program("reduce no axes", named("reduce_sum", axes=()), ("f32[2,3]",)),
    Program("reduce axes out of order", named("reduce_max", axes=(2, 0)), ("f32[2,3,5]",)),
    *[Program(name, named(name, axes=(1,)), ("i32[2,3]",))
      for name in ("reduce_and", "reduce_or", "reduce_xor")],
    *[Program(f"{name} {axis}", named(name, axis=axis, index_dtype=np.int32), ("f32[2,3]",))
      for name in ("argmax", "argmin") for axis in (0, 1)],
    *[Program(f"{name} {axis}", named(name, axis=axis, reverse=bool(axis)), ("f32[2,3]",))
      for name in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp") for axis in (0, 1)],

    Program("dot", named("dot"), ("f32[2,3]", "f32[3,5]")),
    Program("inner product", named("dot"), ("f32[3]", "f32[3]")),
    Program("dot of integers", named("dot"), ("i32[2,3]", "i32[3]")),
    Program("outer product",
            named("dot_general", dimension_numbers=(((), ()), ((), ()))), ("f32[2]", "f32[3]")),
    Program("dot_general, contracting first", named(
        "dot_general", dimension_numbers=(((0,), (1,)), ((), ()))), ("f32[3,2]", "f32[5,3]")),
    Program("dot_general with a batch", named(
        "dot_general", dimension_numbers=(((2,), (0,)), ((1,), (2,)))),
        ("f32[2,5,3]", "f32[3,6,5]")),
    Program("dot_general with two batches and two contractions", named(
        "dot_general", dimension_numbers=(((1, 3), (3, 1)), ((2, 0), (0, 2))),
        preferred_element_type=np.float32), ("f16[2,3,5,1]", "f16[5,1,2,3,6]")),
]

STARTS = [
    Program("dynamic_slice", lambda lax: lambda x, i: lax.dynamic_slice(x, (i,), (3,)),
            ("f32[7]", "i32[]"), same_text=False),
    Program("dynamic_slice in two dimensions",
            lambda lax: lambda x, i, j: lax.dynamic_slice(x, (i, j), (2, 3)),
            ("i32[5,6]", "i32[]", "i32[]"), same_text=False),
    Program("dynamic_slice of long rows",
            lambda lax: lambda x, i, j: lax.dynamic_slice(x, (i, j), (1, 4)),
            ("f32[3,6]", "i32[]", "i32[]"), same_text=False),
    Program("dynamic_slice of all", lambda lax: lambda x, i: lax.dynamic_slice(x, (i, 0), (2, 3)),
            ("bool[2,3]", "i32[]"), same_text=False),
    Program("dynamic_slice of nothing", lambda lax: lambda x, i: lax.dynamic_slice(x, (i,), (0,)),
            ("f32[5]", "i32[]"), same_text=False),
    Program("dynamic_slice by bytes", lambda lax: lambda x, i: lax.dynamic_slice(
        x, (i,), (2,), allow_negative_indices=False), ("f32[300]", "i8[]"), same_text=False),
    Program("dynamic_index_in_dim",
            lambda lax: lambda x, i: lax.dynamic_index_in_dim(x, i, 1, keepdims=False),
            ("c64[2,5]", "i32[]"), same_text=False),
    Program("dynamic_update_slice",
            lambda lax: lambda x, u, i: lax.dynamic_update_slice(x, u, (i,)),
            ("f32[7]", "f32[3]", "i32[]"), same_text=False),
    Program("dynamic_update_slice in two dimensions",
            lambda lax: lambda x, u, i, j: lax.dynamic_update_slice(x, u, (i, j)),
            ("i32[5,6]", "i32[2,3]", "i32[]", "i32[]"), same_text=False),
    Program("dynamic_update_slice of all",
            lambda lax: lambda x, u, i: lax.dynamic_update_slice(x, u, (i, 0)),
            ("bool[2,3]", "bool[2,3]", "i32[]"), same_text=False),
    Program("dynamic_update_slice of nothing",
            lambda lax: lambda x, u, i: lax.dynamic_update_slice(x, u, (i,)),
            ("f32[5]", "f32[0]", "u8[]"), same_text=False),
    Program("dynamic_update_slice of a scalar",
            lambda lax: lambda x, u: lax.dynamic_update_slice(x, u, ()),
            ("f32[]", "f32[]"), same_text=False),
]


def shape_and_dtype(spec: str) -> tuple[tuple[int, ...], np.dtype]:
    """`"f32[2,3]"` as a shape and a dtype."""
    name, sizes = spec.rstrip("]").split("[")
    return tuple(map(int, filter(None, sizes.split(",")))), np.dtype(DTYPES[name])


def argument(program: Program, position: int, axis: int | None) -> np.ndarray:
    """Values of the type of this argument of the program, batched along `axis` unless `None`."""
    shape, dtype = shape_and_dtype(program.specs[position])
    if axis is not None:
        axis %= len(shape) + 1
        shape = (*shape[:axis], SIZE, *shape[axis:])
    rng = np.random.default_rng(zlib.crc32(f"{program.name}{position}".encode()))
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        low = 0 if dtype.kind == "u" else -9
        return rng.integers(low, 10, shape, dtype)
    values = rng.uniform(-2, 2, shape)
    if dtype.kind == "c":
        values = values + 1j * rng.uniform(-2, 2, shape)
    return values.astype(dtype)
