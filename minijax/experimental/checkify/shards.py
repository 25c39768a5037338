"""Chapter 16: `checkify` for `shard_map`, and so for `pmap`: each device finds its own errors."""

from collections.abc import Sequence

from ...core.core import typeof
from ...core.staging import jaxpr_of
from ...core.tree import tree_flatten
from ...lax.shaping import expand_dims
from ...parallel.meshes.partition_spec import P
from ...parallel.programs.shard_map_primitive import Scope, inside, shard_map_p
from .errors import Error
from .interpreter import interpret, rules


def _check_shard_map(error: Error, enabled, eqn, operands: Sequence):
    """Every device gets the error. Theirs come out side by side: the result has an error for each,
    as after `vmap`."""
    params = eqn.own_params
    jaxpr = params["jaxpr"]
    scope = Scope(params["mesh"], params["newly_manual_axes"], params["check_vma"])
    leaves, in_tree = tree_flatten(error)
    out_trees = []

    def on_each_device(*args):
        errors, args = args[:len(leaves)], args[len(leaves):]
        out_error, outs = interpret(jaxpr, enabled, in_tree.unflatten(errors), args)
        out_leaves, tree = tree_flatten(out_error)
        out_trees.append(tree)
        return [*(expand_dims(x, [0]) for x in out_leaves), *outs]

    new_avals = [scope.shard_aval(P(), typeof(x).strip_weak_type()) for x in leaves]
    with inside(scope):
        checked = jaxpr_of(on_each_device, [*new_avals, *jaxpr.in_avals], jaxpr.debug_info)
    n_out = out_trees[0].num_leaves
    outs = shard_map_p.bind(*leaves, *operands, **params | {
        "jaxpr": checked, "in_specs": (P(),) * len(leaves) + tuple(params["in_specs"]),
        "out_specs": (P(scope.mesh.axis_names),) * n_out + tuple(params["out_specs"])})
    return out_trees[0].unflatten(outs[:n_out]), outs[n_out:]


rules[shard_map_p.name] = _check_shard_map
