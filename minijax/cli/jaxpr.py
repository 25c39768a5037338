"""`python -m minijax jaxpr MODULE:FUNCTION --args ...`: what a function becomes when traced."""

import contextlib
import importlib
import os
import re
import runpy
import sys
import traceback
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import minijax as jax
import minijax.numpy as jnp

from ..compat import alias
from ..core import dtypes
from ..text.reprs import short_name
from .errors import Failure

TYPES = (
    *(np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64),
    *(dtypes.bfloat16, np.float16, np.float32, np.float64, np.complex64, np.complex128),
)
DTYPES = {short_name(np.dtype(type_)): np.dtype(type_) for type_ in TYPES}


class Split(NamedTuple):
    """`8@x` or `8@(x,y)` in a shape: a dimension that is split over axes of the mesh."""

    size: int
    axes: tuple[str, ...]


class ShapeMaker:
    """`f32` in an expression: `f32[3,4]` is a `ShapeDtypeStruct`, alone or in a pytree."""

    def __init__(self, dtype: np.dtype):
        self.dtype = dtype

    def __getitem__(self, shape: int | Split | tuple) -> jax.ShapeDtypeStruct:
        shape = shape if type(shape) is tuple else (shape,)
        sizes = [n.size if isinstance(n, Split) else n for n in shape]
        axes = [n.axes if isinstance(n, Split) else None for n in shape]
        return jax.ShapeDtypeStruct(sizes, self.dtype, sharding=jax.P(*axes) if any(axes) else None)


SHAPES = {name: ShapeMaker(dtype) for name, dtype in DTYPES.items()}
NAMES = {"np": np, "jnp": jnp, "jax": jax, "minijax": jax, "Split": Split} | SHAPES
SCALAR_SHAPE = re.compile(rf"\b({'|'.join(DTYPES)})\[\s*\]")  # f32[] is not Python, f32[()] is
SPLIT = re.compile(r"\b(\d+)@(\w+|\([\w,]+\))")


def evaluate(expression: str) -> Any:
    """The argument that an expression on the command line stands for."""
    try:
        return eval(SPLIT.sub(_split, SCALAR_SHAPE.sub(r"\1[()]", expression)), dict(NAMES))
    except Exception as error:
        raise Failure(f"argument {expression!r} is not understood: {describe(error)}") from None


def _split(match: re.Match) -> str:
    size, axes = match.groups()
    return f"Split({size}, {tuple(axes.strip('()').split(','))!r})"


def mesh_of_type_explicit(text: str) -> Any:
    """The mesh of `x=4,y=2`, without devices; its axes are of type Explicit."""
    try:
        axes = {name: int(size) for name, size in (axis.split("=") for axis in text.split(","))}
    except ValueError:
        raise Failure(f"--mesh {text!r} is not understood: write it as x=4,y=2") from None
    types = (jax.sharding.AxisType.Explicit,) * len(axes)
    return jax.sharding.AbstractMesh(tuple(axes.values()), tuple(axes), types)


def find_function(target: str) -> Callable:
    """The function that MODULE:FUNCTION or FILE.py:FUNCTION names. The working folder is searched
    for modules. A file may have been written for JAX."""
    place, colon, path = target.rpartition(":")
    if not (place and colon and path):
        raise Failure(f"{target!r} is not of the form MODULE:FUNCTION or FILE.py:FUNCTION, as "
                      "minijax.numpy:mean is")
    try:
        found = _run_file(place) if place.endswith(".py") else _import_module(place)
    except Exception as error:
        raise Failure(f"cannot import {place!r}: {describe(error)}") from None
    for name in path.split("."):
        if not hasattr(found, name):
            raise Failure(f"{place!r} has no function {path!r}")
        found = getattr(found, name)
    if not callable(found):
        raise Failure(f"{target} is {type(found).__name__}, which cannot be called")
    return found


def _import_module(name: str) -> Any:
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    return importlib.import_module(name)


def _run_file(path: str) -> Any:
    """What a file defines, where `import jax` gives minijax. Its `__name__` is that of a module."""
    alias.install()
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    return types.SimpleNamespace(**runpy.run_path(path, run_name=Path(path).stem))


def is_shape(x: Any) -> bool:
    """Whether an argument is only a type."""
    return isinstance(x, jax.ShapeDtypeStruct)


def describe(error: Exception) -> str:
    """The kind of error and the first line of what it says."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def place_in_user_code(error: Exception) -> str:
    """` at file.py:12`: the innermost frame outside of minijax; empty if all are inside."""
    ours = os.path.dirname(os.path.abspath(jax.__file__))
    frames = traceback.extract_tb(error.__traceback__)
    users = [frame for frame in frames if not frame.filename.startswith(ours)]
    return f" at {os.path.relpath(users[-1].filename)}:{users[-1].lineno}" if users else ""


def print_jaxpr(target: str, expressions: Sequence[str], mesh: str | None = None) -> int:
    """Trace the function with the arguments, perhaps under a mesh, and print its jaxpr."""
    function = find_function(target)
    in_force: Any = contextlib.nullcontext()
    if mesh is not None:
        in_force = jax.sharding.use_abstract_mesh(mesh_of_type_explicit(mesh))
    with in_force:
        arguments = [evaluate(expression) for expression in expressions]
        try:
            print(jax.make_jaxpr(function)(*arguments))
        except Exception as error:
            where = place_in_user_code(error)
            raise Failure(f"tracing {target} failed{where}: {describe(error)}",
                          exit_code=1) from None
    return 0
