"""Chapter 14: all that the engine asks of shardings, and who answers.

`core/placements.py` and `runtime/placements.py` say what each question means. A rule of types that
has several parts, such as `join`, asks one function for each part of a placement.
"""

from ..core.extension import Extension, register
from ..runtime.placements import AllPlacements
from .meshes.layouts import format_of_struct
from .programs.device_put import place_new
from .programs.eager_operations import jit_params
from .programs.explicit_axes import manual_axes, memory_space, type_sharding
from .programs.jit_shardings import check_arguments, program_formats, shardings_of_jit
from .programs.out_sharding import bind, call, filled, permuted, resharded, transposed
from .programs.reshard import placement_of_batch, sharded_like
from .programs.shape_structs import sharding_of, struct_placement, struct_sharding
from .programs.shard_map_printing import tracer_text
from .types.join import (
    cotangent_fits,
    given_placement,
    join_memories,
    join_shardings,
    memory_hint,
    tangent_hint,
)
from .types.placement import varying_axes
from .types.stablehlo import part_lowered
from .types.varying_axes import join_varying, pcast_text, varying_like, varying_tangent_hint


class Answers(AllPlacements):
    """The answers where arrays have shardings."""

    stated = staticmethod(given_placement)
    of_batch = staticmethod(placement_of_batch)
    sharding_of = staticmethod(sharding_of)
    type_sharding = staticmethod(type_sharding)
    manual_axes = staticmethod(manual_axes)
    memory_space = staticmethod(memory_space)
    struct_format = staticmethod(format_of_struct)
    struct_sharding = staticmethod(struct_sharding)
    struct_placement = staticmethod(struct_placement)
    tracer_text = staticmethod(tracer_text)
    new = staticmethod(place_new)
    transposed = staticmethod(transposed)
    bind = staticmethod(bind)
    call = staticmethod(call)
    reshard = staticmethod(resharded)
    filled = staticmethod(filled)
    permuted = staticmethod(permuted)
    of_jit = staticmethod(shardings_of_jit)
    jit_params = staticmethod(jit_params)
    part_lowered = staticmethod(part_lowered)
    formats = staticmethod(program_formats)
    check_arguments = staticmethod(check_arguments)

    def join(self, primitive, avals, params, out):
        for join in (join_varying, join_shardings, join_memories):
            out = join(primitive, avals, params, out)
        return out

    def like(self, x, aval):
        return varying_like(sharded_like(x, aval), aval)

    def hints(self, a, b):
        return [hint for hint in (pcast_text(a, b), memory_hint(a, b)) if hint]

    def tangent_hint(self, wanted, got):
        return varying_tangent_hint(wanted, got) + tangent_hint(wanted, got)

    def cotangent_fits(self, aval, ct):  # one that varies along more axes would not be summed
        return varying_axes(ct) <= varying_axes(aval) and cotangent_fits(aval, ct)


class ShardingsOfArrays(Extension):
    """Arrays, types and programs have shardings."""

    placements = Answers()


register(ShardingsOfArrays())
