"""Chapter 10: where the values come from that a function under `checkpoint` saves."""

import importlib
from collections.abc import Sequence
from typing import Any

from ..core.core import ShapedArray
from ..core.jaxpr import ClosedJaxpr, Jaxpr, Literal
from ..core.jit import jit_p
from ..core.util import partition_list, split_list
from ..lax.fewer_bits import reduce_precision_p
from ..settings import bool_state
from .names import name_p

log_checkpoint_residuals = bool_state(
    "jax_log_checkpoint_residuals",
    "Whether it is logged as a warning what `checkpoint` saves (else at level DEBUG).")


def origins(jaxpr: Jaxpr, residuals: Sequence,
            names: Sequence[str]) -> list[tuple[ShapedArray, str]]:
    """For each residual its type, and the argument or the equation that it comes from."""
    found = [(v.aval, "from a literal") for v in residuals if type(v) is Literal]
    exact = {eqn.outvars[0]: eqn.invars[0] for eqn in jaxpr.eqns
             if eqn.primitive is reduce_precision_p}
    kept = {exact.get(v, v) for v in residuals if type(v) is not Literal}
    found += [(v.aval, "from a constant") for v in jaxpr.constvars if v in kept]
    found += [(v.aval, f"from the argument {name}") for v, name in zip(jaxpr.invars, names)
              if v in kept]
    return found + [(v.aval, _maker(eqn)) for eqn in jaxpr.eqns for v in eqn.outvars if v in kept]


def _maker(eqn) -> str:
    if eqn.primitive is name_p:
        return f"named '{eqn.own_params['name']}' from {eqn.source_info}"
    if eqn.primitive is jit_p:
        return f"output of jitted function '{eqn.own_params['name']}' from {eqn.source_info}"
    return f"output of {eqn.primitive.name} from {eqn.source_info}"


def log_saved(known: ClosedJaxpr, again: ClosedJaxpr, n_saved: int,
              args_known: Sequence[bool]) -> None:
    """Log what is saved: arguments, and results of the equations of `known`, the last `n_saved`.

    The message is a warning with the setting `log_checkpoint_residuals`, else at level DEBUG.

    Args:
      args_known: for each argument of `again` after the saved values, whether it is known.
    """
    logging = importlib.import_module("logging")  # it takes a while to load
    level = logging.WARNING if log_checkpoint_residuals.value else logging.DEBUG
    logger = logging.getLogger("minijax.remat")
    if not logger.isEnabledFor(level):
        return
    _, inputs = partition_list(args_known, again.jaxpr.invars[n_saved:])
    _, saved = split_list(known.jaxpr.outvars, [len(known.jaxpr.outvars) - n_saved])
    lines: list[Any] = []
    if inputs:
        lines += ["saving inputs with shapes:", *(f"  {v.aval.str_short(True)}" for v in inputs)]
    if saved:
        lines.append("and " * bool(inputs) + "saving these intermediates:")
        lines += [f"  {aval.str_short(True)} from {place}" for aval, place in
                  origins(known.jaxpr, saved, [""] * len(known.jaxpr.invars))]
    if lines:
        logger.log(level, "remat-decorated function %s", "\n".join(lines))
