"""The values that a program computes, one equation after the other."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...core import dtypes
from ...core.array import Array
from ...core.calls import calls
from ...core.jaxpr import Literal
from ...core.primitives import ensure_array
from ..compiled_values import carried_on

if TYPE_CHECKING:
    from .program import Line, Program


class Summary(NamedTuple):
    """What the elements of a result are like; over all iterations, for a loop's.

    `low` and `high` are the least and the greatest of the numbers, `None` if there are none.
    """

    low: float | None
    high: float | None
    nans: int
    infs: int

    def __str__(self) -> str:
        counts = (self.nans, "NaN"), (self.infs, "inf")
        bad = [f"{count} {name}" for count, name in counts if count]
        if self.low is None:
            return ", ".join(bad)
        span = f"{self.low:.4g}" if self.low == self.high else f"{self.low:.4g} … {self.high:.4g}"
        return ", ".join([span, *bad])

    def joined(self, other: Summary) -> Summary:
        """The summary of the elements of both."""
        lows = [x for x in (self.low, other.low) if x is not None]
        highs = [x for x in (self.high, other.high) if x is not None]
        return Summary(min(lows, default=None), max(highs, default=None),
                       self.nans + other.nans, self.infs + other.infs)


def has_numbers(x: Any) -> bool:
    """Whether a value is an array of numbers: not of keys, a reference or a token."""
    return isinstance(x, Array | np.ndarray | np.generic | int | float | complex) and isinstance(
        getattr(x, "dtype", np.dtype(type(x))), np.dtype)


def summary(x: Any) -> Summary:
    """A summary of an array; of the magnitudes, if it is complex."""
    if not has_numbers(x):
        return Summary(None, None, 0, 0)
    a = np.asarray(x)
    inexact = dtypes.issubdtype(a.dtype, np.inexact)
    if inexact and a.dtype.kind not in "fc":
        a = a.astype(np.float32)
    finite = a[np.isfinite(a)] if inexact else a
    finite = np.abs(finite) if a.dtype.kind == "c" else finite
    nans, infs = (int(f(a).sum()) if inexact else 0 for f in (np.isnan, np.isinf))
    if not finite.size:
        return Summary(None, None, nans, infs)
    return Summary(float(finite.min()), float(finite.max()), nans, infs)


class Seen(NamedTuple):
    """One execution of a line: the values that it read, and those that it made. `line` is `None`
    where a loop takes its rows out of arrays, or puts them together."""

    line: Line | None
    operands: list
    results: list


def replay(program: Program, consts: Sequence, args: Sequence) -> Generator[Seen, None, list]:
    """Execute a program; yields each execution of a line. The results are returned."""
    jaxpr = program.jaxpr
    env = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *args], strict=True))

    def read(atom):
        return ensure_array(atom.val) if type(atom) is Literal else env[atom]

    for line in program.lines:
        operands = [read(v) for v in line.eqn.invars]
        results = yield from _executed(line, operands)
        yield Seen(line, operands, results)
        env.update(zip(line.eqn.outvars, results, strict=True))
    return [read(v) for v in jaxpr.outvars]


def exhaust(executions: Generator[Seen, None, list], visit: Callable[[Seen], None]) -> list:
    """Execute a program to its end; returns its results."""
    while True:
        try:
            visit(next(executions))
        except StopIteration as end:
            return end.value


def _executed(line: Line, operands: list) -> Any:
    """The results of a line. If it calls programs that can be replayed, they are."""
    eqn = line.eqn
    name = eqn.primitive.name
    is_call = eqn.primitive in calls and name != "shard_map"  # which runs once for each device
    replayed: Any = _REPLAYS.get(name, _call if is_call else None)
    if replayed is not None and line.inner:
        return (yield from replayed(line, operands, **eqn.params))
    if name in ("debug_print", "debug_callback"):
        return []  # the user's own run prints
    out = eqn.primitive.bind(*operands, **eqn.own_params)
    return [*out] if eqn.primitive.multiple_results else [out]


def _consts(closed: Any) -> list:
    return getattr(closed, "consts", [])


def _call(line, operands, **params):
    """A call of one jaxpr with the operands."""
    closed = params[calls[line.eqn.primitive].jaxpr_param]
    return (yield from replay(line.inner[0], _consts(closed), operands))


def _custom_call(line, operands, *, call_jaxpr, **_):
    return (yield from replay(line.inner[0], _consts(call_jaxpr), operands))


def _cond(line, operands, *, branches, **_):
    index = int(np.clip(int(operands[0]), 0, len(branches) - 1))
    return (yield from replay(line.inner[index], _consts(branches[index]), operands[1:]))


def _while(line, operands, *, cond_nconsts, cond_jaxpr, body_nconsts, body_jaxpr, **_):
    # The programs are in the order in which the parameters have their jaxprs.
    of = {id(program.jaxpr): program for program in line.inner}
    cond, body = of[id(cond_jaxpr.jaxpr)], of[id(body_jaxpr.jaxpr)]
    cond_consts, rest = operands[:cond_nconsts], operands[cond_nconsts:]
    body_consts, carry = rest[:body_nconsts], rest[body_nconsts:]
    while True:
        (goes_on,) = yield from replay(cond, cond_jaxpr.consts, [*cond_consts, *carry])
        if not goes_on.any():
            return carry
        after = yield from replay(body, body_jaxpr.consts, [*body_consts, *carry])
        old, carry = carry, [carried_on(goes_on, *pair) for pair in zip(after, carry, strict=True)]
        yield from (Seen(None, [*values[:2]], [values[2]])
                    for values in zip(after, old, carry, strict=True) if values[2] is not values[0])


def _scan(line, operands, *, jaxpr, length, reverse, num_consts, num_carry, **_):
    consts, rest = operands[:num_consts], operands[num_consts:]
    carry, xs = rest[:num_carry], rest[num_carry:]
    rows: list = [None] * length
    if not length:
        return line.eqn.primitive.bind(*operands, **line.eqn.own_params)
    for i in reversed(range(length)) if reverse else range(length):
        now = [x[i] for x in xs]
        yield from (Seen(None, [x], [row]) for x, row in zip(xs, now, strict=True))
        outs = yield from replay(line.inner[0], jaxpr.consts, [*consts, *carry, *now])
        carry, rows[i] = outs[:num_carry], outs[num_carry:]
    ys = [ensure_array(np.stack([np.asarray(y) for y in column]))
          for column in zip(*rows, strict=True)]
    yield from (Seen(None, [row[i] for row in rows], [y]) for i, y in enumerate(ys))
    return [*carry, *ys]


_REPLAYS = {"cond": _cond, "while": _while, "scan": _scan, "custom_jvp_call": _custom_call,
            "custom_vjp_call": _custom_call}
