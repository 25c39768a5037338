"""Chapter 10: `custom_vmap`, a function with a batching rule of the user's own.

The primitive is `custom_vmap_call`, applied to the leaves of the arguments:

    call      the function, a jaxpr
    rule      (axis_size, in_batched, leaves) -> (results, out_batched), all flat; batched leaves
              have the batch dimension in front
    in_tree, out_tree   the structures of arguments and results

Its derivative is a `custom_vmap_call`, too, whose rule is the derivative of the rule.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.batching import (
    AxisData,
    batch_subtrace,
    bdim_at_front,
    moveaxis,
    primitive_batchers,
)
from ..core.boundary import api_boundary
from ..core.core import Primitive, typeof
from ..core.forward import Zero, instantiate_zeros, jvpfun, primitive_jvps
from ..core.jaxpr import jaxpr_as_fun
from ..core.lowering import register_lowering
from ..core.primitives import ensure_array
from ..core.staging import jvp_jaxpr
from ..core.tree import PyTreeDef, tree_flatten, tree_map
from ..core.util import merge_lists, partition_list, split_list
from ..lax.control_flow.common import stage
from ..lax.control_flow.map import map as lax_map
from ..lax.control_flow.parts import enter_rules
from ..pytree.functions import treedef_tuple
from ..source import fun_name
from .common import CustomRule, check_leaves, positional, run_later


class custom_vmap(CustomRule):
    """A function that `vmap` batches by a rule, instead of by its code.

    It can be differentiated in forward mode. For reverse mode put a `custom_vjp` around it.

    Args:
      fun: a function of pytrees of arrays that returns one.

    Raises (when it is called):
      AttributeError: no rule was given by `def_vmap`.
      ValueError (under `vmap`): the rule's results do not fit the function's.

    >>> @jax.custom_batching.custom_vmap
    ... def f(x, y):
    ...     return x + y
    >>> @f.def_vmap
    ... def rule(axis_size, in_batched, xs, ys):
    ...     return xs * ys, True
    >>> jax.vmap(f)(jnp.arange(3), jnp.arange(1, 4))
    Array([0, 2, 6], dtype=int32)
    """

    def __init__(self, fun: Callable):
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.vmap_rule: Callable | None = None

    def def_vmap(self, vmap_rule: Callable) -> Callable:
        """Set the rule; returns it, so that this can be a decorator.

        Args:
          vmap_rule: `(axis_size, in_batched, *args) -> (out, out_batched)`: the number of examples;
            for each argument a pytree that says which of its leaves have a batch dimension, in
            front; the arguments. `out_batched` says the same of the result `out`.

        >>> f = jax.custom_batching.custom_vmap(jnp.sin)
        >>> _ = f.def_vmap(lambda axis_size, in_batched, xs: (0 * xs, True))
        >>> jax.vmap(f)(jnp.ones(2)).tolist()
        [0.0, 0.0]
        """
        self._set_rules(vmap_rule=vmap_rule)
        return vmap_rule

    @api_boundary
    def __call__(self, *args, **kwargs):
        args = positional(self.fun, "custom_vmap", args, kwargs)
        if self.vmap_rule is None:
            raise AttributeError(f"No batching rule defined for custom_vmap function "
                                 f"{fun_name(self.fun)} using def_vmap.")
        leaves, in_tree = tree_flatten(args)
        check_leaves("custom_vmap_call", leaves)
        jaxpr, consts, out_tree = stage(self.fun, in_tree, [*map(typeof, leaves)], "custom_vmap")
        outs = custom_vmap_p.bind(
            *consts, *leaves, call=jaxpr, rule=FlatRule(self.vmap_rule, len(consts), in_tree,
                                                        out_tree),
            in_tree=treedef_tuple([tree_flatten(list(consts))[1], in_tree]), out_tree=out_tree)
        return out_tree.unflatten(map(ensure_array, outs))


class FlatRule:
    """The user's rule, on leaves."""

    def __init__(self, rule: Callable, num_consts: int, in_tree: PyTreeDef, out_tree: PyTreeDef):
        self.rule, self.num_consts = rule, num_consts
        self.in_tree, self.out_tree = in_tree, out_tree

    def __call__(self, size: int, batched: Sequence[bool], leaves: Sequence):
        consts_batched, batched = split_list(batched, [self.num_consts])
        assert not any(consts_batched), (
            "a custom_vmap function closes over a value that is batched: make it an argument")
        args = self.in_tree.unflatten(leaves[self.num_consts:])
        returned = self.rule(size, list(self.in_tree.unflatten(batched)), *args)
        if not (isinstance(returned, (tuple, list)) and len(returned) == 2):
            raise ValueError(f"The rule {fun_name(self.rule)} of def_vmap must return a pair "
                             f"(result, whether each of its arrays is batched), got {returned!r}.")
        out, out_batched = returned
        outs, out_tree = tree_flatten(out)
        flags, flags_tree = tree_flatten(out_batched)
        name = fun_name(self.rule)
        if out_tree != flags_tree:
            raise ValueError(
                "structure of output value and output batching specification returned by custom "
                f"vmap rule ({name}) do not match.\nOutput values: {out_tree}\n"
                f"Batching spec: {flags_tree}")
        if out_tree != self.out_tree:
            raise ValueError(
                f"structure of output returned by custom vmap rule ({name}) does not match that of "
                f"original custom-vmapped function.\nOriginal output: {self.out_tree}\n"
                f"Rule output: {out_tree}")
        return outs, flags

    def __repr__(self):
        return repr(self.rule)


custom_vmap_p = Primitive("custom_vmap_call", multiple_results=True)


@custom_vmap_p.def_impl
def _evaluate(*args, call, **params):
    return jaxpr_as_fun(call)(*args)


custom_vmap_p.def_abstract_eval(lambda *avals, call, **params: call.out_avals)


def _batch(args, dims, *, rule, **params):
    (size,) = {typeof(x).shape[d] for x, d in zip(args, dims) if d is not None}
    args = [x if d is None else moveaxis(x, d, 0) for x, d in zip(args, dims)]

    def flat_rule(*args):
        outs, batched = rule(size, [d is not None for d in dims], args)
        return [*outs, *batched]

    results = run_later(flat_rule, *args)
    n = len(results) // 2
    return results[:n], [0 if b else None for b in results[n:]]


def _jvp(primals, tangents, *, call, rule, in_tree, out_tree):
    """The function of primals and of those tangents that are not zero, with the rule's JVP."""
    nonzeros = tuple(type(t) is not Zero for t in tangents)
    jaxpr, nonzeros_out = jvp_jaxpr(call, nonzeros, (False,) * len(call.outvars))
    kept = [t for t in tangents if type(t) is not Zero]
    outs = custom_vmap_p.bind(
        *primals, *kept, call=jaxpr, rule=functools.partial(_jvp_rule, rule, nonzeros,
                                                            nonzeros_out),
        in_tree=in_tree, out_tree=out_tree)
    outs, rest = split_list(outs, [len(nonzeros_out)])
    zeros = [Zero.from_primal_value(x) for x, nonzero in zip(outs, nonzeros_out) if not nonzero]
    return outs, merge_lists(nonzeros_out, zeros, rest)


def _jvp_rule(rule, nonzeros, nonzeros_out, size, batched, leaves):
    """The rule's derivative. A primal and its tangent are batched if one of them is.

    Where no primal is batched together with its tangent, each example has the rule's derivative at
    arguments that are not batched, as in JAX.
    """
    primals, tangents = split_list(leaves, [len(nonzeros)])
    flags, tangent_flags = split_list(batched, [len(nonzeros)])
    if not any(a and b for a, b in zip(partition_list(nonzeros, flags)[1], tangent_flags)):
        not_batched = [False] * len(nonzeros)
        in_dims = [0 if b else None for b in (*flags, *tangent_flags)]
        outs, dims = batch_subtrace(
            lambda *leaves: _flat_jvp(rule, size, not_batched, nonzeros, nonzeros_out, leaves),
            AxisData(None, size), in_dims, leaves)
        *results, out_flags = split_list(outs, [len(nonzeros_out), sum(nonzeros_out)])
        if not any(out_flags):  # else its results are of all examples after all
            outs = [x if d is None else moveaxis(x, d, 0) for x, d in zip(sum(results, []), dims)]
            return outs, [d is not None for d in dims[:len(outs)]]
    zeros = [False] * nonzeros.count(False)
    either = [a or b for a, b in zip(flags, merge_lists(nonzeros, zeros, tangent_flags))]
    primals = [_with_batch(x, b, e, size) for x, b, e in zip(primals, flags, either)]
    tangents = [_with_batch(x, b, e, size) for x, b, e in
                zip(tangents, tangent_flags, partition_list(nonzeros, either)[1])]
    outs = _flat_jvp(rule, size, either, nonzeros, nonzeros_out, [*primals, *tangents])
    *results, out_flags = split_list(outs, [len(nonzeros_out), sum(nonzeros_out)])
    return sum(results, []), [*out_flags, *partition_list(nonzeros_out, out_flags)[1]]


def _flat_jvp(rule, size, flags, nonzeros, nonzeros_out, leaves) -> list:
    """The results of `rule`, their tangents that are not zero, and which results are batched."""
    primals, tangents = split_list(leaves, [len(nonzeros)])
    zeros = [Zero.from_primal_value(x) for x in partition_list(nonzeros, primals)[0]]

    def run(*primals):
        outs, out_flags = rule(size, flags, primals)
        return [*outs, *map(np.bool_, out_flags)]

    outs, out_tangents = jvpfun(run, primals, merge_lists(nonzeros, zeros, tangents))
    outs, out_flags = split_list(outs, [len(nonzeros_out)])
    kept = partition_list(nonzeros_out, out_tangents[:len(outs)])[1]
    return [*outs, *map(instantiate_zeros, kept), *out_flags]


def _with_batch(x, is_batched: bool, wanted: bool, size: int):
    return bdim_at_front(x, None, size) if wanted and not is_batched else x


primitive_batchers[custom_vmap_p] = _batch
primitive_jvps[custom_vmap_p] = _jvp
enter_rules[custom_vmap_p] = lambda trace, values, *, call, **params: trace.call(
    jaxpr_as_fun(call), values)
register_lowering(custom_vmap_p, lambda ctx, *operands, call, **params: ctx.inline(call, operands))


def sequential_vmap(f: Callable) -> custom_vmap:
    """`f` as a function that `vmap` runs in a loop, one example after the other.

    Args:
      f: a function of pytrees of arrays that returns one.

    >>> @jax.custom_batching.sequential_vmap
    ... def f(x):
    ...     jax.debug.print("{}", x)
    ...     return x + 1
    >>> _ = jax.block_until_ready(jax.vmap(f)(jnp.arange(3)))
    0
    1
    2
    """
    wrapped = custom_vmap(f)

    @wrapped.def_vmap
    def rule(axis_size: int, in_batched: list, *args: Any):
        leaves, tree = tree_flatten(args)
        flags = tree_flatten(tuple(in_batched))[0]
        same, examples = partition_list(flags, leaves)
        out = lax_map(lambda xs: wrapped(*tree.unflatten(merge_lists(flags, same, xs))), examples)
        return out, tree_map(lambda _: True, out)

    return wrapped
