"""Random well-typed programs, as Hypothesis data.

A program is a list of instructions on a growing list of float vectors and matrices. Each
instruction names an operation and the positions of its operands, so that a failing program is
short and can be read. Every operation is smooth and keeps its values within a few units.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st


@dataclass(frozen=True)
class Instruction:
    """`operation` applied to values at `operands`; `text` prints it."""

    operation: str
    operands: tuple[int, ...]
    parameter: int = 0

    def __repr__(self) -> str:
        return f"{self.operation}{self.operands}[{self.parameter}]"


def _axis(x: Any, k: int) -> int:
    return k % max(x.ndim, 1)


def _reduced(jx: Any, name: str) -> Callable[..., Any]:
    return lambda x, k: getattr(jx.numpy, name)(x, axis=_axis(x, k)) if x.ndim else x


UNARY: dict[str, Callable[[Any], Callable[[Any, int], Any]]] = {
    "sin": lambda jx: lambda x, k: jx.numpy.sin(x),
    "tanh": lambda jx: lambda x, k: jx.numpy.tanh(x),
    "exp": lambda jx: lambda x, k: jx.numpy.exp(-x * x),
    "log": lambda jx: lambda x, k: jx.numpy.log(1.5 + x * x),
    "rsqrt": lambda jx: lambda x, k: jx.lax.rsqrt(1.5 + x * x),
    "logistic": lambda jx: lambda x, k: jx.lax.logistic(x),
    "scale": lambda jx: lambda x, k: x * (0.25 * (k + 1)) - 0.5,
    "mean": lambda jx: _reduced(jx, "mean"),
    "max": lambda jx: _reduced(jx, "max"),
    "cumsum": lambda jx: lambda x, k: jx.lax.cumsum(x, _axis(x, k)) * 0.3 if x.ndim else x,
    "reverse": lambda jx: lambda x, k: jx.lax.rev(x, (_axis(x, k),)) if x.ndim else x,
    "transpose": lambda jx: lambda x, k: jx.numpy.transpose(x),
    "flatten": lambda jx: lambda x, k: jx.numpy.reshape(x, (-1,)),
    "expand": lambda jx: lambda x, k: jx.numpy.expand_dims(x, _axis(x, k)) if x.ndim < 3 else x,
    "slice": lambda jx: lambda x, k: x[k % x.shape[0] :] if x.ndim else x,
    "index": lambda jx: lambda x, k: x[k % x.shape[0]] if x.ndim else x,
    "pad": lambda jx: lambda x, k: jx.lax.pad(x, np.float32(0.5), [(k % 2, 1, 0)] * x.ndim),
    "where": lambda jx: lambda x, k: jx.numpy.where(x > 0.3, x * 0.5, x + 1.0),
    "jit": lambda jx: lambda x, k: jx.jit(lambda y: jx.numpy.cos(y) * y)(x),
    "vmap": lambda jx: lambda x, k: jx.vmap(lambda y: y * jx.numpy.sum(y) * 0.2)(x)
    if x.ndim else x,
    "derivative": lambda jx: lambda x, k: jx.jvp(jx.numpy.sin, (x,), (x,))[1],
    "gradient": lambda jx: lambda x, k: jx.grad(lambda y: jx.numpy.sum(jx.numpy.tanh(y * y)))(x),
    "stop": lambda jx: lambda x, k: jx.lax.stop_gradient(x) * 0.5 + x,
}  # fmt: skip

BINARY: dict[str, Callable[[Any], Callable[[Any, Any, int], Any]]] = {
    "add": lambda jx: lambda x, y, k: x + _corner(y),
    "mul": lambda jx: lambda x, y, k: 0.3 * x * _corner(y),
    "div": lambda jx: lambda x, y, k: x / (2.0 + _corner(y) ** 2),
    "maximum": lambda jx: lambda x, y, k: jx.numpy.maximum(x, _corner(y)),
    "dot": lambda jx: lambda x, y, k: jx.numpy.tanh(jx.numpy.tensordot(x, y, 0).sum(0))
    if x.ndim + y.ndim <= 3 and x.ndim else x,
    "outer": lambda jx: lambda x, y, k: jx.numpy.outer(x, y)[:4, :4],
    "concatenate": lambda jx: lambda x, y, k: jx.numpy.concatenate(
        [jx.numpy.ravel(x)[:4], jx.numpy.ravel(y)[:4]]
    ),
}  # fmt: skip


def _corner(y: Any) -> Any:
    """One number, with the rank of `y`: it broadcasts with any shape."""
    return y[(slice(0, 1),) * y.ndim] if y.ndim else y


@st.composite
def random_programs(draw: Any, max_size: int = 8) -> tuple[Instruction, ...]:
    """Up to `max_size` instructions; operands are any inputs or earlier results."""
    instructions: list[Instruction] = []
    for position in range(draw(st.integers(1, max_size))):
        name = draw(st.sampled_from([*UNARY, *BINARY]))
        known = st.integers(0, position + NUM_INPUTS - 1)
        operands = tuple(draw(known) for _ in range(1 if name in UNARY else 2))
        instructions.append(Instruction(name, operands, draw(st.integers(0, 2))))
    return tuple(instructions)


NUM_INPUTS = 3


def inputs() -> tuple[np.ndarray, ...]:
    """A scalar, a vector, and a matrix."""
    return (
        np.float32(0.6),
        np.array([0.4, -0.9, 1.2], np.float32),
        np.array([[0.1, 0.8], [-0.5, 1.1], [0.7, -1.3]], np.float32),
    )


def interpret(jx: Any, instructions: tuple[Instruction, ...]) -> Callable[..., Any]:
    """The program as a function of its inputs, returning its last few values."""

    def f(*args: Any) -> Any:
        values = [jx.numpy.asarray(x) for x in args]
        for step in instructions:
            table = UNARY if step.operation in UNARY else BINARY
            operation = table[step.operation](jx)
            values.append(operation(*(values[i] for i in step.operands), step.parameter))
        return values[-2:]

    return f
