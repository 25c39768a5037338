"""Descriptions of values: a tracer is a box, in which there are other boxes.

A description is a dict of plain data. Its key "box" says which kind it is: "value", "zero", "jvp",
"batch", "unknown", "staged" or "other". To describe a value must compute nothing.
"""

from typing import Any

import numpy as np

from ...core.array import Array
from ...core.batching import BatchTracer
from ...core.core import ShapedArray, Tracer, typeof
from ...core.forward import JVPTracer, Zero
from ...core.jaxpr import Literal
from ...core.partial_eval import JaxprTracer
from ...core.staging import DynamicJaxprTracer
from ...core.transposition import UndefinedPrimal
from ...pytree.arguments import valid_jaxtype

LONGEST_TEXT = 48


class Names:
    """Letters for the variables of all jaxprs of a recording, in the order they are met."""

    def __init__(self):
        self._letters: dict[Any, str] = {}

    def __getitem__(self, atom: Any) -> str:
        if isinstance(atom, Literal):
            return shorten(str(atom.val))
        return self._letters.setdefault(atom, _letters(len(self._letters)))


def _letters(number):
    """0, 1, … 25, 26 as a, b, … z, ba."""
    rest, last = divmod(number, 26)
    return (_letters(rest) if rest else "") + chr(ord("a") + last)


def shorten(text: str) -> str:
    """The text on one line, cut if it is long."""
    text = " ".join(text.split())
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"


def describe(x: Any, names: Names) -> dict[str, Any]:
    """The description of a value."""
    if isinstance(x, JVPTracer):
        inside = {"primal": describe(x.primal, names), "tangent": describe(x.tangent, names)}
        return {"box": "jvp", "type": _type(x), **inside}
    if isinstance(x, BatchTracer):
        inner = describe(x.val, names)
        return {"box": "batch", "type": _type(x), "value": inner, "dim": x.batch_dim}
    if isinstance(x, JaxprTracer):
        return {"box": "unknown", "type": _type(x), "name": names[x.atom]}
    if isinstance(x, DynamicJaxprTracer):
        return {"box": "staged", "type": _type(x), "name": names[x.atom]}
    if isinstance(x, Zero | UndefinedPrimal):
        kind = "zero" if isinstance(x, Zero) else "unknown"
        return {"box": kind, "type": x.aval.str_short(short_dtypes=True)}
    return _describe_value(x)


def _describe_value(x):
    if isinstance(x, Tracer):  # of a trace that the reader wrote
        return {"box": "other", "type": _type(x), "text": shorten(repr(x))}
    if isinstance(x, Array) and not isinstance(x.dtype, np.dtype):  # random keys
        return {"box": "other", "type": _type(x), "text": _type(x)}
    if isinstance(x, Array | np.ndarray | np.generic | bool | int | float | complex):
        value = np.asarray(x)
        text = _number(value[()]) if value.ndim == 0 else np.array2string(
            value, precision=4, suppress_small=True, threshold=8)
        return {"box": "value", "type": _type(x), "text": shorten(text)}
    return {"box": "other", "text": shorten(type(x).__name__)}


def _number(x):
    return f"{x:.5g}" if x.dtype.kind in "fcV" else str(x)


def _type(x):
    if isinstance(x, Tracer):
        aval: Any = x.aval
    elif valid_jaxtype(x):
        aval = typeof(x)
    else:
        return ""
    return aval.str_short(short_dtypes=True) if isinstance(aval, ShapedArray) else str(aval)


def sentence(box: dict[str, Any]) -> str:
    """A description in words."""
    kind = box["box"]
    if kind == "jvp":
        return f"({sentence(box['primal'])} with tangent {sentence(box['tangent'])})"
    if kind == "batch":
        return f"(the entries of {sentence(box['value'])} along axis {box['dim']})"
    if kind == "zero":
        return "zero"
    if kind in ("unknown", "staged"):
        return f"{box['name']}:{box['type']}" if "name" in box else f"unknown {box['type']}"
    return box["text"]


def short(box: dict[str, Any]) -> str:
    """A description in a few characters: of a batch its values, of a variable its name."""
    kind = box["box"]
    if kind == "jvp":
        return f"({short(box['primal'])}, {short(box['tangent'])})"
    if kind == "batch":
        return short(box["value"])
    if kind in ("unknown", "staged"):
        return box.get("name", "?")
    return "0" if kind == "zero" else box["text"]
