"""Chapter 11: calls of LAPACK's routines from compiled programs.

XLA has no factorizations of its own worth speaking of. It calls functions of the host by name, as
a `custom_call`, and jaxlib brings such functions for the LAPACK that SciPy is built with. They
work in place on matrices stored by columns, as Fortran stores them, and say by a number, `info`,
whether they succeeded: otherwise the result is NaN.

On NVIDIA's GPUs the routines are those of cuSOLVER, which has most of LAPACK's under the same
names, for real and complex matrices alike. `cusolver.py` calls those that differ.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core.core import Primitive, ShapedArray
from ...core.lowering import Body, Value, compare, register_lowering, tensor_type
from ...runtime import xla
from ...runtime.platforms import program_platform
from ..selection import emit_select

LAPACK_DTYPES = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}


# What cuSOLVER has of LAPACK, by its names for real and for complex matrices.
_ON_GPUS = {name: name for name in "potrf getrf geqrf orgqr ormqr syevd sytrd".split()}
_ON_GPUS |= {"ungqr": "orgqr", "unmqr": "ormqr", "heevd": "syevd", "hetrd": "sytrd"}


def routine(name: str, dtype: np.dtype) -> str:
    """The name of the function for a LAPACK routine in this precision, on the platform that the
    program is for.

    Raises:
      NotImplementedError: LAPACK computes with single and double precision only; or the platform
        has no such routine.
    """
    if dtype.name not in LAPACK_DTYPES:
        raise NotImplementedError(
            f"Unsupported dtype {dtype.name}: linear algebra is computed in "
            f"{', '.join(LAPACK_DTYPES)}. Convert the array, with `astype`.")
    if (platform := program_platform()) == "cuda" and name in _ON_GPUS:
        return f"cusolver_{_ON_GPUS[name]}_ffi"
    if platform != "cpu":
        raise NotImplementedError(
            f"There is no LAPACK routine {name} for the platform {platform!r}. Put the arrays on a "
            "CPU, by `jax.device_put(x, jax.devices('cpu')[0])`.")
    return f"lapack_{LAPACK_DTYPES[dtype.name]}{name}_ffi"


def has_lapack() -> bool:
    """Whether the program is for a CPU, so that it can call LAPACK."""
    return program_platform() == "cpu"


def triangle(lower: bool) -> dict[str, Any]:
    """The attribute that says which triangle of a matrix is read."""
    return {"uplo": "L" if lower else "U"} if has_lapack() else {"lower": bool(lower)}


def register_solver(primitive: Primitive, rule: Callable) -> Callable:
    """Give a primitive its lowering rule, and return it. For GPUs it may have another."""
    lower = by_platform(primitive, rule)
    register_lowering(primitive, lower)
    return lower


def by_platform(primitive: Primitive, call: Callable) -> Callable:
    """A function that writes the calls of a primitive: by `call`, or by that of the platform of the
    program."""
    return lambda *args, **params: calls_of_platform.get(
        (program_platform(), primitive), call)(*args, **params)


# For a platform and a primitive, the function that writes its calls, if it is not LAPACK's.
calls_of_platform: dict[tuple[str, Primitive], Callable] = {}


def lapack_call(
    ctx: Body,
    target: str,
    operands: Sequence[Value],
    results: Sequence[ShapedArray],
    in_place: dict[int, int],
    by_columns: bool = True,
    **attributes: str | int,
) -> list[Value]:
    """Append a call.

    Args:
      results: the types of the results.
      in_place: numbers of operands, and of the results that take their memory.
      by_columns: how matrices are stored; else by rows.
      attributes: letters, as LAPACK has them, words, and integers.
    """
    if has_lapack():
        xla("compiler").load_lapack()
    ndim = max(x.aval.ndim for x in operands) if by_columns else 0
    in_types, out_types = [x.type for x in operands], [*map(tensor_type, results)]
    aliases = ", ".join(_alias(i, out, len(results)) for i, out in in_place.items())
    return ctx.ops(
        f"stablehlo.custom_call @{target}({', '.join(x.name for x in operands)}) "
        f"{{api_version = 4 : i32, backend_config = {{{_attributes(attributes)}}}, "
        f"operand_layouts = [{', '.join(_layout(x.aval, ndim) for x in operands)}], "
        f"result_layouts = [{', '.join(_layout(aval, ndim) for aval in results)}], "
        f"output_operand_aliases = [{aliases}]}} : "
        f"({', '.join(in_types)}) -> ({', '.join(out_types)})", results)


def _alias(operand, result, n_results):
    indices = result if n_results > 1 else ""
    return (f"#stablehlo.output_operand_alias<output_tuple_indices = [{indices}], "
            f"operand_index = {operand}, operand_tuple_indices = []>")


def _attributes(attributes):
    """`uplo = 76 : ui8, low = 1 : i32`"""
    return ", ".join(f"{name} = {_attribute(value)}" for name, value in attributes.items())


def _attribute(value):
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f"{ord(value)} : ui8" if len(value) == 1 else f'"{value}"'
    return f"{value} : i32"


def _layout(aval, ndim):
    """Dimensions from the fastest running one: matrices by columns, all else by rows."""
    order = list(range(aval.ndim - 1, -1, -1))
    if aval.ndim == ndim >= 2:
        order[:2] = [ndim - 2, ndim - 1]
    return f"dense<{order if order else ''}> : tensor<{aval.ndim}xindex>"


def info_type(x: Value) -> ShapedArray:
    """The type of `info`, for a batch of matrices `x`."""
    return ShapedArray(x.aval.shape[:-2], np.int32)


def succeeded(ctx: Body, info: Value, direction: str = "EQ") -> Value:
    """Which calls report success by an `info` of 0; `GE`: also by a positive one."""
    return compare(ctx, direction, info, ctx.constant(0, info.aval))


def nan_unless(ctx: Body, ok: Value, x: Value) -> Value:
    """`x` with NaN for the members of the batch that are not `ok`."""
    dtype = x.aval.dtype
    nan = ctx.constant(dtype.type(complex(np.nan, np.nan) if dtype.kind == "c" else np.nan), x.aval)
    return emit_select(ctx, ctx.broadcast(ok, x.aval.shape), x, nan)


def nan_if_failed(ctx: Body, info: Value, results: Sequence[Value]) -> list[Value]:
    """The results of calls, with NaN for those of the batch that report no success."""
    ok = succeeded(ctx, info)
    return [nan_unless(ctx, ok, x) for x in results]
