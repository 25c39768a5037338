"""Every primitive × every rule × every dtype, against real JAX.

An operation that a dtype does not allow is a case like any other: both libraries must refuse
it with the same class of error.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from tests.families import primitives_of_families
from tests.oracle import both, subject
from tests.oracle.composition import TRANSFORMS, weights
from tests.oracle.primitives_table import DTYPES_32, DTYPES_64, ROWS, Row, operands


def _evaluation(jx: Any, f: Any, args: tuple) -> Any:
    return f(*args)


def _abstract_eval(jx: Any, f: Any, args: tuple) -> Any:
    """Shapes and types alone, and the text of the equation that was staged."""
    shapes = jx.tree_util.tree_leaves(jx.eval_shape(f, *args))
    return [(s.shape, str(s.dtype), s.weak_type) for s in shapes], jx.make_jaxpr(f)(*args)


def _lowering(jx: Any, f: Any, args: tuple) -> Any:
    return jx.jit(f)(*args)


def _transform(name: str) -> Any:
    def rule(jx: Any, f: Any, args: tuple) -> Any:
        transformed, args = TRANSFORMS[name](jx, f, args)
        return transformed(*args)

    return rule


def _batching(jx: Any, f: Any, args: tuple) -> Any:
    """Each non-empty subset of the operands batched, in front and behind."""
    return [mapped(*args) for mapped, args in _mapped(jx, f, args)]


def _batching_text(jx: Any, f: Any, args: tuple) -> Any:
    return [jx.make_jaxpr(mapped)(*args) for mapped, args in _mapped(jx, f, args)]


def _mapped(jx: Any, f: Any, args: tuple) -> Iterator[tuple[Any, list]]:
    for axes in itertools.product((None, 0, -1), repeat=len(args)):
        ranks = [x.ndim for x in args]
        if all(a is None for a in axes) or any(a == -1 and not n for a, n in zip(axes, ranks)):
            continue
        if len(args) > 2 and sum(a is not None for a in axes) == 2:
            continue  # with three operands: one batched, or all
        batched = [_stack(jx, x, axis) for x, axis in zip(args, axes, strict=True)]
        yield jx.vmap(f, in_axes=axes, out_axes=0), batched


def _stack(jx: Any, x: Any, axis: int | None) -> Any:
    if axis is None:
        return x
    return jx.numpy.stack([x, jx.numpy.flip(x) if x.ndim else x], axis)


def _second_order(jx: Any, f: Any, args: tuple) -> Any:
    """Forward over reverse: the rules of the rules' own equations."""
    transformed, args = TRANSFORMS["vjp"](jx, f, args)
    transformed, args = TRANSFORMS["jvp"](jx, transformed, args)
    return transformed(*args)


def _linear_transpose(jx: Any, f: Any, args: tuple) -> Any:
    """The transpose alone. Nothing but a linear primitive has one: the others must say so."""
    shapes = jx.eval_shape(f, *args)
    ct = jx.tree_util.tree_map(lambda s: jx.numpy.asarray(weights(s.shape, s.dtype)), shapes)
    return jx.linear_transpose(f, *args)(ct)


RULES = {
    "evaluation": _evaluation,
    "abstract_eval": _abstract_eval,
    "lowering": _lowering,
    "jvp": _transform("jvp"),
    "batching": _batching,
    "batching_text": _batching_text,
    "partial_eval": _transform("linearize"),
    "transpose": _transform("vjp"),
    "linear_transpose": _linear_transpose,
    "second_order": _second_order,
}

# Rules whose work does not depend on the dtype are tried with one of each kind.
FEW_DTYPES = ("bool", "int32", "bfloat16", "float32", "complex64")
DTYPES_OF_RULE = {
    "evaluation": DTYPES_32 + DTYPES_64,
    "abstract_eval": DTYPES_32 + DTYPES_64,
    "lowering": DTYPES_32 + DTYPES_64,
    "jvp": FEW_DTYPES + ("float16", "float64"),
    "batching": ("bool", "int32", "float32"),
    "batching_text": ("float32",),
    "partial_eval": FEW_DTYPES,
    "transpose": FEW_DTYPES + ("float16", "float64"),
    "linear_transpose": ("float32", "complex64"),
    "second_order": ("float32", "complex64"),
}

CASES = [
    pytest.param(row, rule, dtype, id=f"{row.label}-{rule}-{dtype}")
    for row in ROWS
    for rule, dtypes in DTYPES_OF_RULE.items()
    for dtype in dtypes
    if row.takes(dtype)
    # Derivatives of complex signs are 0 in JAX: see tests/laws/test_right_derivatives.py.
    and not (row.label == "sign" and dtype == "complex64" and rule in ("transpose", "second_order"))
]


@pytest.mark.parametrize("row, rule, dtype", CASES)
def test_primitive(row: Row, rule: str, dtype: str) -> None:
    # The eager rules see every line of operands; the others, which compile more, the first.
    lines = row.operands if rule in ("evaluation", "abstract_eval") else row.operands[:1]
    for line in lines:
        args = operands(line, dtype)

        def program(jx: Any) -> Any:
            def run(*args: Any) -> Any:
                with jx.enable_x64(dtype in DTYPES_64):
                    args = tuple(jx.numpy.asarray(x) for x in args)
                    return RULES[rule](jx, row.call(jx), args)

            return run

        both(program, *args)


def test_every_primitive_has_a_row():
    rows = {row.primitive for row in ROWS}
    missing = {p.name for p in primitives_of_families(subject.__name__)} - rows
    assert not missing, f"no row in the table for: {sorted(missing)}"
