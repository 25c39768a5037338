"""What `core/dtypes.py` refuses, and its warnings."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from ..errors import TypePromotionError
from ..text.locations import user_stacklevel

Node = Any  # as in the lattice: a np.dtype, or int, float or complex


def extended_dtype(dtype: Any, allowed: bool) -> None:
    """An extended dtype is canonical only where it is allowed."""
    if not allowed:
        raise ValueError(f"the extended dtype {dtype} has no canonical NumPy dtype.")


def user_dtype(dtype: Any, fun_name: str | None, is_valid: Callable) -> None:
    """A `dtype` argument is a dtype that arrays can have."""
    if dtype is None:
        raise ValueError("dtype must be specified.")
    if hasattr(dtype, "aval"):
        raise ValueError("Passing an array as a dtype argument is not supported; "
                         "instead of dtype=arr use dtype=arr.dtype. (Several arrays to join are "
                         "passed as one list: f([a, b]), not f(a, b).)")
    if type(dtype) is int:
        raise TypeError(f"Cannot interpret '{dtype}' as a data type. (A shape of several "
                        "dimensions is passed as one tuple: f((3, 4)), not f(3, 4).)")
    if hasattr(type(dtype), "_rules"):
        raise NotImplementedError(
            f"dtype {dtype} is defined by a library, with rules of its own. Of extended dtypes, "
            "minijax has those of random keys only: use the dtype in which its elements are "
            "stored, such as float32.")
    if not hasattr(dtype, "storage") and not is_valid(np.dtype(dtype)):
        where = f" in {fun_name}" if fun_name else ""
        raise TypeError("JAX only supports number, bool, and string dtypes, and of these minijax "
                        f"has no strings. Got dtype {dtype}{where}.")


def shortened_dtype(requested: Any, canonical: Any, fun_name: str | None) -> None:
    """Warn if the user asked for a 64-bit dtype and gets the one of half its width."""
    if canonical is requested or hasattr(requested, "storage"):
        return
    requested = np.dtype(requested)
    if canonical != requested:
        where = f" requested in {fun_name}" if fun_name else ""
        warnings.warn(
            f"Explicitly requested dtype {requested}{where} is not available, and will be "
            f"truncated to dtype {canonical.name}. To enable more dtypes, set the jax_enable_x64 "
            "configuration option or the JAX_ENABLE_X64 shell environment variable.",
            stacklevel=user_stacklevel())


def has_dtype(x: Any) -> None:
    """NumPy can tell the dtype of a value."""
    if x is None:
        raise ValueError(f"Invalid argument to dtype: {x}.")
    try:
        np.result_type(x)
    except TypeError:
        raise TypeError(f"Cannot determine dtype of {x}") from None


def valid_dtype(valid: bool, x: Any, dtype: Any) -> None:
    """The dtype of a value is one that arrays can have, and no element is masked."""
    if isinstance(x, np.ndarray) and hasattr(x, "mask"):
        raise ValueError("numpy masked arrays are not supported, because the mask would be lost. "
                         "Use `x.filled(value)`, or `jnp.where` and the mask.")
    if valid:
        return
    # NumPy takes a sparse array for a sequence, and makes an array of its rows' elements.
    if isinstance(x, np.ndarray) and x.ndim and x.size and hasattr(x.flat[0], "indices"):
        raise ValueError("setting an array element with a sequence. Make a sparse array dense "
                         "first, by its method `todense`.")
    if getattr(dtype, "kind", None) in tuple("iufc"):
        largest = {"f": 8, "c": 16}.get(dtype.kind, dtype.itemsize)
        similar = np.dtype(f"{dtype.kind}{min(dtype.itemsize, largest)}").name
        raise TypeError(f"Dtype {dtype} is not a valid JAX array type: the numbers are too wide, "
                        "or not in this machine's byte order. Convert the array first, with "
                        f"`x.astype({similar!r})`.")
    raise TypeError(f"Value '{x}' with dtype {dtype} is not a valid JAX array type. "
                    "Only arrays of numeric types are supported by JAX.")


def numeric_dtype(dtype: Any) -> None:
    """The dtype is one of numbers, not that of random keys."""
    if hasattr(dtype, "storage"):
        raise TypeError(f"{dtype} is not a type of numbers. `jax.random.key_data` gives the "
                        "numbers of keys.")


FLOAT0 = ("float0s do not support any operations by design: such an array is the derivative with "
          "respect to integers, and has no elements that count.")


def lattice_nodes(nodes: frozenset[Node], known: dict) -> None:
    """There are types, and every one is in the promotion lattice."""
    if not nodes:
        raise ValueError("at least one array or dtype is required")
    for node in nodes:
        if getattr(node, "names", None) == ("float0",):
            raise TypeError(f"Called a function with a float0 array. {FLOAT0}")
        if node not in known:
            raise ValueError(f"dtype={node!r} is not a valid dtype for JAX type promotion.")


def promotion(bound: Node | None, nodes: frozenset[Node], mode: str) -> None:
    """The types have a least upper bound. In strict mode, strong types do not give way to it."""
    strict = mode == "strict" and any(node != bound for node in nodes if not _is_weak(node))
    if bound is not None and not strict:
        return
    names = tuple(sorted(f"Python {node.__name__}" if _is_weak(node) else node.name
                         for node in nodes))
    message = f"Input dtypes {names} have no available implicit dtype promotion path"
    if mode == "strict":
        raise TypePromotionError(
            f"{message} when jax_numpy_dtype_promotion=strict. Cast the inputs to the type you "
            "want with x.astype(...), or set jax_numpy_dtype_promotion=standard.")
    narrow = {*map(_narrow_family, nodes)}
    for family in ("8-bit floats", "4-bit floats", "2-bit and 4-bit integers"):
        if family in narrow:
            raise TypePromotionError(
                f"{message}. {family} are so narrow that they are never promoted implicitly; cast "
                "first, e.g. with x.astype('float32').")
    raise TypePromotionError(
        f"{message}. Cast the inputs to the type you want with x.astype(...).")


def _is_weak(node: Node) -> bool:
    return isinstance(node, type)


def _narrow_family(node: Node) -> str:
    """The family of a dtype that does not promote, in words."""
    if _is_weak(node) or node.itemsize > 1 or node in (np.dtype("int8"), np.dtype("uint8")):
        return ""
    if "int" in node.name:
        return "2-bit and 4-bit integers"
    if "float" in node.name:
        return "4-bit floats" if ml_dtypes.finfo(node).bits == 4 else "8-bit floats"
    return ""
