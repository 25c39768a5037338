"""The starter primitives, each with the operands that show what it does.

`ROWS` holds `Row(primitive, call, operands)`: `call(jx)` is the function of `jx.lax` that binds
the primitive with certain parameters, `operands` are the lines it is called with. A line such as
`"T[2,3] bool[3] T+[]"` names each operand's dtype and shape; `T` stands for the dtype under
test, `+` after it asks for positive numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

DTYPES_32 = (
    "bool", "int8", "int32", "uint8", "uint32", "float16", "bfloat16", "float32", "complex64",
)  # fmt: skip
DTYPES_64 = ("int64", "uint64", "float64", "complex128")


@dataclass(frozen=True)
class Row:
    """One primitive with one choice of parameters."""

    primitive: str
    label: str
    call: Callable[[Any], Callable[..., Any]]
    operands: tuple[str, ...]
    kinds: str  # NumPy's letters for the kinds of dtype it is tried with

    def takes(self, dtype: str) -> bool:
        """Whether the row is tried with this dtype."""
        return ("f" if dtype == "bfloat16" else np.dtype(dtype).kind) in self.kinds


ROWS: list[Row] = []


def row(
    primitive: str,
    call: Callable[[Any], Callable[..., Any]],
    *operands: str,
    kinds: str = "biufc",
) -> None:
    """Add a row; several for one primitive are numbered.

    A dtype that the primitive refuses belongs to the row, since both libraries must refuse it,
    unless JAX does so only by accident: late, in XLA, or in another rule first.
    """
    number = sum(r.primitive == primitive for r in ROWS)
    label = f"{primitive}_{number}" if number else primitive
    ROWS.append(Row(primitive, label, call, operands, kinds))


def operands(line: str, dtype: str) -> tuple[np.ndarray, ...]:
    """The arrays that a line of a row describes, for the dtype under test."""
    return tuple(
        _operand(i, kind if kind != "T" else dtype, bool(positive), shape)
        for i, (kind, positive, shape) in enumerate(_SPEC.findall(line))
    )


_SPEC = re.compile(r"(\w+)(\+?)\[([\d,]*)\]")


def _operand(position: int, name: str, positive: bool, shape: str) -> np.ndarray:
    dims = tuple(int(n) for n in shape.split(",") if n)
    size = int(np.prod(dims))
    dtype = np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)
    # A permutation of 0 .. size-1, so that no two elements tie and none stands in order.
    ranks = np.array([(5 * i + position) % (size if size % 5 else size + 1) for i in range(size)])
    return _values(ranks, position, dtype, positive).reshape(dims)


def _values(ranks: np.ndarray, position: int, dtype: np.dtype, positive: bool) -> np.ndarray:
    if dtype.kind == "b":
        return (ranks + position) % 3 != 0
    if dtype.kind == "u" or (dtype.kind == "i" and positive):
        return (ranks % 7 + 1 + position).astype(dtype)
    if dtype.kind == "i":
        numbers = ranks % 9 - 3 + position
        return np.where(numbers == 0, 5, numbers).astype(dtype)
    # Multiples of 1/16 that are neither whole nor halves: exact in every float type.
    reals = (0.3125 if positive else -1.4375 + 0.25 * position) + 0.375 * (ranks % 10)
    if dtype.kind == "c":
        return (reals + 1j * (0.1875 + 0.25 * ranks[::-1])).astype(dtype)
    return reals.astype(dtype)


# --- elementwise, one operand ---

UNARY = (
    "neg", "sin", "cos", "tan", "tanh", "exp", "exp2", "expm1", "cbrt", "logistic", "abs", "sign",
    "floor", "ceil", "square", "is_finite", "real", "imag", "conj",
)  # fmt: skip
UNARY_POSITIVE = ("log", "log1p", "sqrt", "rsqrt")

for _name in UNARY:
    row(_name, lambda jx, name=_name: getattr(jx.lax, name), "T[2,3]", "T[]", "T[0,2]")
for _name in UNARY_POSITIVE:
    row(_name, lambda jx, name=_name: getattr(jx.lax, name), "T+[2,3]", "T+[]")
# Halved: of reals outside of -1 .. 1 it is NaN, and of complex ones there it has a branch cut.
row("atanh", lambda jx: lambda x: jx.lax.atanh(x / 2), "T[2,3]", "T[]")
row("not", lambda jx: jx.lax.bitwise_not, "T[2,3]", "T[]")
row("round", lambda jx: lambda x: jx.lax.round(x), "T[2,3]")
row("round", lambda jx: lambda x: jx.lax.round(x * 2, jx.lax.RoundingMethod.TO_NEAREST_EVEN),
    "T[2,3]")
for _power in (-2, -1, 0, 1, 2, 3, 5):
    row("integer_pow", lambda jx, y=_power: lambda x: jx.lax.integer_pow(x, y), "T[2,3]")
row("copy", lambda jx: jx.numpy.copy, "T[2,3]", "T[0]")
row("stop_gradient", lambda jx: jx.lax.stop_gradient, "T[2,3]")
for _new in ("bool", "int8", "int32", "uint8", "float16", "bfloat16", "float32", "complex64"):
    row("convert_element_type",
        lambda jx, new=_new: lambda x: jx.lax.convert_element_type(x, getattr(
            jx.numpy, "bool_" if new == "bool" else new)),
        "T[2,3]")

# --- elementwise, several operands ---

BINARY = (
    "add", "sub", "mul", "div", "rem", "max", "min", "eq", "ne", "lt", "le", "gt", "ge",
    "bitwise_and", "bitwise_or", "bitwise_xor",
)  # fmt: skip

for _name in BINARY:
    row(_name.removeprefix("bitwise_"), lambda jx, name=_name: getattr(jx.lax, name),
        "T[2,3] T[2,3]", "T[] T[]", "T[2,0] T[2,0]", "T[3] T[]")
for _name in ("shift_left", "shift_right_arithmetic", "shift_right_logical"):
    row(_name, lambda jx, name=_name: getattr(jx.lax, name), "T[2,3] T+[2,3]", "T[] T+[]")
row("pow", lambda jx: jx.lax.pow, "T+[2,3] T[2,3]")
row("pow", lambda jx: jx.lax.pow, "T[2,3] int32+[2,3]")
row("complex", lambda jx: jx.lax.complex, "T[2,3] T[2,3]")
row("add_any", lambda jx: lambda x: jx.vjp(lambda y: (y, y), x)[1]((x, x)), "T[2,3]", kinds="fc")
row("select_n", lambda jx: jx.lax.select_n, "bool[2,3] T[2,3] T[2,3]", "bool[] T[2,3] T[2,3]",
    "bool[] T[] T[]")
row("select_n", lambda jx: lambda i, *xs: jx.lax.select_n(i % 3, *xs),
    "int32+[4] T[4] T[4] T[4]")
row("clamp", lambda jx: jx.lax.clamp, "T[2,3] T[2,3] T[2,3]", "T[] T[2,3] T[]", kinds="iuf")

# --- shapes ---

row("broadcast_in_dim", lambda jx: lambda x: jx.lax.broadcast_in_dim(x, (2, 3), (1,)),
    "T[3]", "T[1]")
row("broadcast_in_dim", lambda jx: lambda x: jx.lax.broadcast_in_dim(x, (2, 3), ()), "T[]")
row("broadcast_in_dim", lambda jx: lambda x: jx.lax.broadcast_in_dim(x, (2, 4, 3), (0, 2)),
    "T[2,3]", "T[1,3]", "T[2,1]")
row("reshape", lambda jx: lambda x: jx.lax.reshape(x, (3, 2)), "T[2,3]", "T[6]", "T[1,6,1]")
row("reshape", lambda jx: lambda x: jx.lax.reshape(x, (3, 2), (1, 0)), "T[2,3]")
row("reshape", lambda jx: lambda x: jx.lax.reshape(x, (0, 2)), "T[4,0]")
row("squeeze", lambda jx: lambda x: jx.lax.squeeze(x, (0, 2)), "T[1,3,1]")
row("squeeze", lambda jx: lambda x: jx.lax.squeeze(x, (-1,)), "T[2,1]")
row("transpose", lambda jx: lambda x: jx.lax.transpose(x, (2, 0, 1)), "T[2,3,4]", "T[2,0,1]")
row("concatenate", lambda jx: lambda *xs: jx.lax.concatenate(xs, 0), "T[2,3] T[1,3]",
    "T[2,3] T[0,3] T[2,3]", "T[2,3]")
row("concatenate", lambda jx: lambda *xs: jx.lax.concatenate(xs, 1), "T[2,3] T[2,1]")
row("pad", lambda jx: lambda x, v: jx.lax.pad(x, v, ((1, 2, 0), (0, 1, 1))), "T[2,3] T[]")
row("pad", lambda jx: lambda x, v: jx.lax.pad(x, v, ((-1, 1, 0), (2, -1, 2))), "T[3,3] T[]")
row("pad", lambda jx: lambda x, v: jx.lax.pad(x, v, ((1, 0, 1),)), "T[0] T[]")
row("rev", lambda jx: lambda x: jx.lax.rev(x, (0,)), "T[2,3]")
row("rev", lambda jx: lambda x: jx.lax.rev(x, (1, 0)), "T[2,3]", "T[0,2]")
row("iota", lambda jx: lambda x: jx.lax.broadcasted_iota(x.dtype, (2, 3), 1) + x, "T[2,3]")
row("iota", lambda jx: lambda x: jx.lax.broadcasted_iota(x.dtype, (2, 3), 0), "T[2,3]")
row("split", lambda jx: lambda x: jx.lax.split(x, (1, 2), 0), "T[3,2]")
row("split", lambda jx: lambda x: jx.lax.split(x, (2, 0, 1), 1), "T[2,3]")

row("stack", lambda jx: lambda *xs: jx.numpy.stack(xs, 1), "T[2,3] T[2,3] T[2,3]")
row("unstack", lambda jx: lambda x: jx.numpy.unstack(x, axis=1), "T[2,3]")

# --- slices ---

row("slice", lambda jx: lambda x: jx.lax.slice(x, (1, 0), (3, 2)), "T[3,4]")
row("slice", lambda jx: lambda x: jx.lax.slice(x, (0, 1), (3, 4), (2, 3)), "T[3,4]")
row("slice", lambda jx: lambda x: jx.lax.slice(x, (1,), (1,)), "T[3]")
row("dynamic_slice", lambda jx: lambda x, i, j: jx.lax.dynamic_slice(x, (i, j), (2, 1)),
    "T[3,4] int32+[] int32+[]", "T[3,4] uint8+[] uint8+[]")
row("dynamic_slice", lambda jx: lambda x, i: jx.lax.dynamic_slice(x, (i,), (2,)),
    "T[4] int32[]", "T[9] int32+[]")
row("dynamic_update_slice", lambda jx: lambda x, u, i: jx.lax.dynamic_update_slice(x, u, (i,)),
    "T[5] T[2] int32+[]", "T[3] T[2] int32+[]", "T[3] T[0] int32+[]")
row("dynamic_update_slice",
    lambda jx: lambda x, u, i, j: jx.lax.dynamic_update_slice(x, u, (i, j)),
    "T[3,4] T[2,2] int32[] int32[]")

# --- reductions ---

for _name in ("sum", "max", "min", "prod", "and", "or", "xor"):
    _kinds = "biu" if _name in ("and", "or", "xor") else "biufc"
    row(f"reduce_{_name}",
        lambda jx, name=_name: lambda x: getattr(jx.lax, f"reduce_{name}")(x, (0,)),
        "T[3]", "T[2,3]", "T[2,0]", kinds=_kinds)
    row(f"reduce_{_name}",
        lambda jx, name=_name: lambda x: getattr(jx.lax, f"reduce_{name}")(x, (0, 2)),
        "T[2,3,2]", kinds=_kinds)
for _name in ("reduce_sum", "reduce_prod"):
    row(_name, lambda jx, name=_name: lambda x: getattr(jx.lax, name)(x, (1,)), "T[2,0]")
for _name in ("argmax", "argmin"):
    row(_name, lambda jx, name=_name: lambda x: getattr(jx.lax, name)(x, 1, np.int32), "T[2,3]",
        kinds="biuf")
    row(_name, lambda jx, name=_name: lambda x: getattr(jx.lax, name)(x, 0, np.uint8), "T[3]",
        kinds="biuf")
for _name in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"):
    _kinds = {"cumlogsumexp": "f", "cummax": "biuf", "cummin": "biuf"}.get(_name, "biufc")
    row(_name, lambda jx, name=_name: lambda x: getattr(jx.lax, name)(x, 1),
        "T[2,4]", "T[2,0]", kinds=_kinds)
    row(_name, lambda jx, name=_name: lambda x: getattr(jx.lax, name)(x, 0, reverse=True),
        "T[4]", "T[4,2]", kinds=_kinds)

# --- contractions ---


def _dot(dimension_numbers: Any, *lines: str, kinds: str = "biufc", **params: Any) -> None:
    row("dot_general",
        lambda jx: lambda a, b: jx.lax.dot_general(a, b, dimension_numbers, **params),
        *lines, kinds=kinds)


_dot((((1,), (0,)), ((), ())), "T[2,3] T[3,2]", "T[2,0] T[0,3]")
_dot((((0,), (1,)), ((), ())), "T[3,2] T[2,3]")
_dot((((2,), (1,)), ((0,), (0,))), "T[2,2,3] T[2,3,2]")
_dot((((0, 2), (2, 0)), ((), ())), "T[2,3,2] T[2,2,2]")
_dot((((1,), (2,)), ((2, 0), (0, 1))), "T[2,3,4] T[4,2,3,1]")
_dot((((), ()), ((), ())), "T[2] T[3]", "T[] T[3]")
_dot((((0,), (0,)), ((), ())), "T[3] T[3]")
_dot((((1,), (0,)), ((), ())), "bfloat16[2,3] bfloat16[3]", kinds="f",
     preferred_element_type=np.float32)
_dot((((1,), (0,)), ((), ())), "int8[2,3] int8[3]", kinds="i", preferred_element_type=np.int32)

# --- calls ---

row("jit", lambda jx: jx.jit(lambda x, y: (x + y, y)), "T[2,3] T[2,3]", "T[] T[]")
