"""What `jax._src.interpreters.pxla` does to a jaxpr before it is compiled."""

from __future__ import annotations

from minijax.core.jaxpr import ClosedJaxpr, Jaxpr
from minijax.core.partial_eval import dce_closed


def prune_unused_inputs(jaxpr: Jaxpr) -> tuple[Jaxpr, set[int], set[int]]:
    """The jaxpr without inputs that no result needs; the numbers of kept constants and inputs."""
    closed = ClosedJaxpr(jaxpr, jaxpr.constvars)
    pruned, used_inputs = dce_closed(closed, (True,) * len(jaxpr.outvars), False)
    used = {*pruned.jaxpr.constvars}
    return (pruned.jaxpr, {i for i, v in enumerate(jaxpr.constvars) if v in used},
            {i for i, is_used in enumerate(used_inputs) if is_used})
