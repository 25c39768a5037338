"""Chapter 15: `debug_nans` and `debug_infs`, which raise where a NaN or an infinity comes from.

While one of the settings is on, every evaluation of a primitive is looked at. A jitted function is
one primitive: if its result is not as it should be, it is evaluated again, one equation at a time,
until an operation in it is found to be the one.
"""

from collections.abc import Sequence

import numpy as np

from ..core import dtypes
from ..core.array import Array
from ..core.core import Primitive
from ..core.extension import Extension, register, remove
from ..core.jaxpr import Literal, eval_jaxpr
from ..core.jit import jit_p
from ..lax.control_flow.cond import values_unseen
from ..parallel.programs.placed_array import contents_here
from ..settings import bool_state

debug_nans = bool_state(
    "jax_debug_nans",
    "Whether an operation that makes a NaN raises FloatingPointError.")
debug_infs = bool_state(
    "jax_debug_infs",
    "Whether an operation that makes an infinity raises FloatingPointError.")


def _unwanted(outs: Sequence) -> str | None:
    """ "nan" or "inf", if the results have some, and the setting for it is on."""
    floats = [contents for x in outs
              if isinstance(x, Array) and dtypes.issubdtype(x.aval.dtype, np.inexact)
              for contents in contents_here(x)]
    if debug_nans.value and any(np.isnan(x).any() for x in floats):
        return "nan"
    if debug_infs.value and any(np.isinf(x).any() for x in floats):
        return "inf"
    return None


def check_values(primitive: Primitive, args: Sequence, params: dict, out) -> None:
    """Raise `FloatingPointError` if there is a NaN (or an infinity) in a result."""
    if values_unseen.value or not (debug_nans.value or debug_infs.value):
        return
    kind = _unwanted(out if primitive.multiple_results else [out])
    if kind is None:
        return
    if primitive is jit_p:
        _find_inside(kind, args, **params)
    raise _found(kind, primitive)


def _found(kind: str, primitive: Primitive) -> FloatingPointError:
    return FloatingPointError(
        f"Invalid value ({kind}) encountered in sharded computation."
        if primitive.name == "shard_map" else f"invalid value ({kind}) encountered in {primitive}")


def _find_inside(kind: str, args, *, name, jaxpr, **params) -> None:
    """Evaluate a jitted function one equation at a time: one of them will raise."""
    if (len(jaxpr.eqns) == 1 and (only := jaxpr.eqns[0].primitive) is not jit_p
            and not any(type(v) is Literal for v in jaxpr.jaxpr.outvars)):
        raise _found(kind, only)
    if not any(isinstance(x, Array) and x.is_deleted() for x in args):  # donated
        eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args)
    raise FloatingPointError(
        f"invalid value ({kind}) encountered in jit({name}). It was evaluated again, one operation "
        "at a time, to find out where. However, the de-optimized function did not produce an "
        "invalid value (or its arguments were donated): the value may be a literal or an input of "
        "the function, or XLA rewrote the program to one that has it. Try `jax.disable_jit()`.")


class ValueChecks(Extension):
    """Checks the result of every evaluation."""

    def after_evaluation(self, primitive, args, params, out):
        check_values(primitive, args, params, out)


_checks = ValueChecks()


def watch(value: bool, begins: bool) -> None:
    """The checks are registered once for each place where one of the settings is on: in the
    process, or in a thread's override."""
    if value:
        (register if begins else remove)(_checks)


debug_nans.watched_by(watch)
debug_infs.watched_by(watch)
