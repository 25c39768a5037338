"""Chapter 14: `inspect_array_sharding`, which reports the sharding of a value inside of a program.

Inside of a compiled function, a value's sharding is unknown until XLA's partitioner has chosen it.
So the program contains a call of a function named `InspectSharding`. The call is never run. The
partitioner removes it, and passes the sharding to the listener whose address it holds.
"""

from collections.abc import Callable
from typing import Any

from ...core.batching import primitive_batchers
from ...core.boundary import public
from ...core.core import Primitive
from ...core.forward import primitive_jvps
from ...core.jaxpr import Effect
from ...core.lowering import register_lowering
from ...core.transposition import primitive_transposes
from ...core.tree import tree_map
from ...runtime import xla
from ...runtime.effect_sets import (
    control_flow_allowed_effects,
    lowerable_effects,
    remat_allowed_effects,
)
from ..meshes.sharding import Sharding, SingleDeviceSharding
from ..meshes.visualize import visualize_sharding
from ..types.stablehlo import add_host_callback
from .eager_operations import sees_to_places
from .placed_program import sharding_of
from .program_places import lowering


class InspectEffect(Effect):
    """Somebody looks: the equation stays although it has no results."""

    def __str__(self):
        return "Inspect"


for _allowed in (lowerable_effects, control_flow_allowed_effects, remat_allowed_effects):
    _allowed.add_type(InspectEffect)

inspect_sharding_p = Primitive("inspect_sharding", multiple_results=True)
sees_to_places.add(inspect_sharding_p)


@public
def inspect_array_sharding(value: Any, *, callback: Callable[[Sharding], None]) -> None:
    """Call a function with the sharding of each array of a pytree, also inside of `jit`.

    Outside of a compiled function it is called at once. Inside it is called when the function is
    compiled, for only then it is known, and not again when the function runs. (What `checkpoint`
    computes again is a second array, with a call of its own.)

    Args:
      value: a pytree of arrays.
      callback: takes a `Sharding`; what it returns is not used.

    Raises:
      AttributeError: a leaf, outside of compiled functions, is no array of minijax.

    >>> jax.debug.inspect_array_sharding(jnp.ones(2), callback=print)
    SingleDeviceSharding(device=CpuDevice(id=0), memory_kind=device)
    """
    tree_map(lambda x: inspect_sharding_p.bind(x, callback=callback), value)


@public
def visualize_array_sharding(arr: Any, **kwargs: Any) -> None:
    """Print a picture of which device holds which part of an array, also inside of `jit`.

    Args:
      arr: an array of one dimension, or two.
      **kwargs: as for `visualize_sharding`.

    Raises:
      ValueError: `rich` is not installed; another number of dimensions.

    >>> jax.debug.visualize_array_sharding(jnp.ones(2))
    ┌──────────┐
    │  CPU 0   │
    └──────────┘
    """
    inspect_array_sharding(
        arr, callback=lambda sharding: visualize_sharding(arr.shape, sharding, **kwargs))


# ----------------------------------------------------------------------------------------------
# The rules: it looks at primals, and is no part of what is computed


@inspect_sharding_p.def_impl
def _evaluate(x, *, callback):
    callback(x.sharding)
    return []


@inspect_sharding_p.def_effectful_abstract_eval
def _abstract_eval(aval, *, callback):
    return [], {_effect}


def _jvp(primals, tangents, **params):
    return inspect_sharding_p.bind(*primals, **params), []


def _batch(args, dims, **params):
    return inspect_sharding_p.bind(*args, **params), []


def _lower(ctx, x, *, callback):
    places = lowering.places
    if places is None or len(places.devices) == 1:
        callback(SingleDeviceSharding(places.devices[0] if places else xla().default_device()))
        return []
    listener, address = xla("several_devices").sharding_listener(
        lambda tiling: callback(sharding_of(tiling, places)))
    add_host_callback(ctx, listener)  # lives as long as the program
    key = "".join(f"\\{byte:02X}" for byte in address)
    ctx.op(f'stablehlo.custom_call @InspectSharding({x.name}) {{api_version = 1 : i32, '
           f'backend_config = "{key}", has_side_effect = true}} : ({x.type}) -> {x.type}', x.aval)
    return []


_effect = InspectEffect()
primitive_jvps[inspect_sharding_p] = _jvp
primitive_batchers[inspect_sharding_p] = _batch
primitive_transposes[inspect_sharding_p] = lambda cts, x, **params: [None]
register_lowering(inspect_sharding_p, _lower)
