"""Chapter 11: values that are parameters of equations, and then attributes in StableHLO's text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..core.core import ShapedArray
from ..core.lowering import element_type, tensor_type


class HashableArray:
    """A NumPy array as a parameter of an equation, compared by its contents."""

    __slots__ = ("val",)

    def __init__(self, val: np.ndarray):
        self.val = np.array(val)
        self.val.setflags(write=False)

    def _key(self):
        return self.val.shape, self.val.dtype, self.val.tobytes()

    def __hash__(self):
        return hash(self._key())

    def __eq__(self, other):
        return isinstance(other, HashableArray) and self._key() == other._key()

    def __repr__(self):
        return f"HashableArray({self.val!r})"


def quoted(value: str | bytes) -> str:
    """A string in MLIR's language."""
    raw = value.encode() if isinstance(value, str) else value
    return '"' + "".join(chr(c) if 32 <= c < 127 and c not in b'"\\' else f"\\{c:02X}"
                         for c in raw) + '"'


def attribute_text(value: Any) -> str:
    """A value in MLIR's language: `3 : i32`, `"text"`, `dense<[1, 2]> : tensor<2xi64>` …

    Raises:
      TypeError: there is no attribute for values of this class.
    """
    if isinstance(value, (str, bytes)):
        return quoted(value)
    if isinstance(value, Mapping):
        items = [f"{attribute_text(key)} = {attribute_text(x)}" for key, x in value.items()]
        return f"{{{', '.join(items)}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(attribute_text, value))}]"
    if isinstance(value, HashableArray):
        value = value.val
    if isinstance(value, np.dtype) or isinstance(value, type) and issubclass(value, np.generic):
        return element_type(np.dtype(value))
    if isinstance(value, np.ndarray):
        aval = ShapedArray(value.shape, value.dtype)
        data = np.ascontiguousarray(value).tobytes().hex().upper()
        return f"dense<{_elements(value, data)}> : {tensor_type(aval)}"
    return _number_text(value)


def _elements(value, data):
    if not value.size:
        return ""
    if value.dtype == bool:
        return str(value.tolist()).lower()
    return f'"0x{data}"'


def _number_text(value):
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value)).lower()
    if isinstance(value, (int, float)) or hasattr(value, "dtype"):
        number = np.asarray(value)
        if number.dtype.kind in "iu":
            return f"{int(value)} : {element_type(number.dtype)}"
        if number.dtype.kind in "fV":
            bits = number.tobytes()[::-1].hex().upper()
            return f"0x{bits} : {element_type(number.dtype)}"
    if isinstance(value, complex):
        raise TypeError(f"Unsupported scalar attribute type: {type(value)}")
    raise TypeError(f"No attribute handler defined for type: {type(value)}")
