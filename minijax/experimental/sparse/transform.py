"""`sparsify`: how does a function of dense arrays become one of sparse arrays?

The function is traced as if its arguments were dense. The jaxpr is then evaluated with sparse
arrays in place of the dense ones: an equation with a sparse operand is computed by the rule that
the class of the operand has for the primitive.

    sparse_rules[BCOO][primitive] : (*operands, **params) → result, or a list if it has several

A result of a rule may be dense, and equations without a sparse operand are computed as ever. So
the transformation needs no trace of its own; it is `eval_jaxpr` with one more table.
"""

import functools
from collections.abc import Callable
from typing import Any

from ... import lax, numpy as jnp
from ...core import api_util, batching, forward, jit, lowering, staging, transposition, tree
from ...core.api import eval_shape
from ...core.core import Primitive, RuleTable, ShapedArray, typeof
from ...core.jaxpr import ClosedJaxpr, Literal
from ...core.primitives import ensure_array, make_primitive
from ...core.util import split_list
from ...custom_rules.jvp import custom_jvp, custom_jvp_call_p
from .. import _sparse_checks as checks

sparse_rules: dict[type, dict[Primitive, Callable]] = {}


def is_sparse(x: Any) -> bool:
    """Whether `x` is of a class that has sparse rules."""
    return type(x) in sparse_rules


def dense_type(x: Any) -> ShapedArray:
    """The type that an array would have if it were dense."""
    return ShapedArray(x.shape, x.dtype, typeof(x.data).weak_type) if is_sparse(x) else typeof(x)


def rule_for(primitive: Primitive, classes: set[type]) -> Callable:
    """What computes an equation with operands of these classes."""
    rules = next((sparse_rules[cls] for cls in sparse_rules if cls in classes), None)
    if rules is None:
        return primitive.bind
    return rules.get(primitive) or checks.no_rule(primitive)


def sparsify(f: Callable, use_tracer: bool = False) -> Callable:
    """Turn a function of dense arrays into one that also takes sparse arrays.

    Args:
      f: a function of pytrees of arrays.
      use_tracer: `f` is always traced to a jaxpr, so it must be False.

    Returns:
      a function of pytrees of arrays, `BCOO`s and `BCSR`s. Further keyword arguments are static.

    Raises:
      NotImplementedError: a primitive has no sparse rule, or its result would be dense; or
        `use_tracer` is true.

    >>> from minijax.experimental import sparse
    >>> M = sparse.BCOO.fromdense(jnp.arange(12).reshape(3, 4))
    >>> f = sparse.sparsify(lambda M, v: 2 * M.T @ v)
    >>> f(M, jnp.array([3, 4, 2]))
    Array([ 64,  82, 100, 118], dtype=int32)
    """
    checks.no_tracer(use_tracer)

    @functools.wraps(f)
    def sparsified(*args, **params):
        leaves, in_tree = tree.tree_flatten(args, is_leaf=is_sparse)
        leaves = [x if is_sparse(x) else jnp.asarray(x) for x in leaves]
        flat, out_tree = api_util.flatten_fun_nokwargs(functools.partial(f, **params), in_tree)
        closed = staging.jaxpr_of(flat, [*map(dense_type, leaves)])
        return out_tree().unflatten(eval_sparse(closed, *leaves))
    return sparsified


def eval_sparse(closed: ClosedJaxpr, *args) -> list:
    """Apply a jaxpr to dense and sparse arrays."""
    jaxpr = closed.jaxpr
    env = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*closed.consts, *args]))
    read = lambda atom: ensure_array(atom.val) if type(atom) is Literal else env[atom]
    for eqn in jaxpr.eqns:
        operands = [*map(read, eqn.invars)]
        rule = rule_for(eqn.primitive, {*map(type, operands)})
        outs = rule(*operands, **eqn.own_params)
        env.update(zip(eqn.outvars, outs if eqn.primitive.multiple_results else [outs]))
    return [*map(read, jaxpr.outvars)]


# ----------------------------------------------------------------------------------------------
# Elementwise functions that map 0 to 0


def _on_data(primitive: Primitive, linear: bool) -> Callable:
    """Apply the primitive to the stored elements. Elements that are stored in several parts are
    summed before, unless the function is linear."""
    def rule(x, **params):
        checks.elementwise(primitive, params)
        if not (linear or x.unique_indices):
            x = x.sum_duplicates(nse=x.nse, remove_zeros=False)
        return x.with_data(primitive.bind(x.data, **params))
    return rule


def _primitives(names):
    return [getattr(lax, f"{name}_p") for name in names.split()]


elementwise_rules: dict[Primitive, Callable] = RuleTable({
    **{p: _on_data(p, True) for p in _primitives("conj copy imag neg real")},
    **{p: _on_data(p, False) for p in _primitives(
        "abs asin asinh atan atanh bessel_i1e expm1 log1p sign sin sinh sqrt square tan tanh "
        "convert_element_type integer_pow")},
})


# `todense`, the only primitive of this package, is a mark in the jaxpr of a function to sparsify.
todense_p = make_primitive("todense", lambda x: x)
todense_p.def_impl(lambda x: x)
forward.deflinear_jvp(todense_p)
transposition.deftranspose(todense_p, lambda ct, x: todense_p.bind(ct))
batching.defvectorized(todense_p)
lowering.register_lowering(todense_p, lambda ctx, x: x)
elementwise_rules[todense_p] = lambda x: x.todense()


def todense(arr) -> jnp.ndarray:
    """The dense array of a sparse one; a dense one is returned as it is. In a function that is
    sparsified, this marks where an array is to become dense."""
    return arr.todense() if hasattr(arr, "todense") else todense_p.bind(jnp.asarray(arr))


# ----------------------------------------------------------------------------------------------
# Primitives that contain functions are called with pytrees, which sparse arrays are


def _inside(closed, *consts):
    """The function of a jaxpr, of sparse and dense arrays."""
    return functools.partial(eval_sparse, closed, *consts)


def _jit(*operands, jaxpr, **params):
    if "in_shardings" in params:
        raise NotImplementedError("sparsify of a function that is jitted with shardings: jit the "
                                  "result of sparsify instead.")
    return jit.jit(_inside(jaxpr))(*operands)


def _while(*operands, cond_nconsts, cond_jaxpr, body_nconsts, body_jaxpr):
    n = cond_nconsts + body_nconsts
    keep_going = _inside(cond_jaxpr, *operands[:cond_nconsts])
    body = _inside(body_jaxpr, *operands[cond_nconsts:n])
    return lax.while_loop(lambda carry: keep_going(*carry)[0], lambda carry: body(*carry),
                          [*operands[n:]])


def _scan(*operands, jaxpr, num_consts, num_carry, length, reverse, unroll):
    consts, carry, xs = split_list(operands, [num_consts, num_carry])
    body = _inside(jaxpr, *consts)
    checks.loop_rows(xs, tuple(sparse_rules))

    def step(carry, xs):
        carry, ys = split_list(body(*carry, *xs), [num_carry])
        checks.loop_rows(ys, tuple(sparse_rules))
        return carry, ys

    carry, ys = lax.scan(step, carry, xs, length, reverse, unroll)
    return [*carry, *ys]


def _switch(index, *operands, branches, **_):
    functions = [*map(_inside, branches)]
    types = [tree.tree_structure(eval_shape(f, *operands)) for f in functions]
    checks.same_branches(types)
    return lax.switch(index, functions, *operands)


def _custom_jvp(*operands, call_jaxpr, **_):
    """The function itself. Its rule is for dense arrays, so nothing may be differentiated here."""
    function = custom_jvp(_inside(call_jaxpr))
    function.defjvp(checks.undifferentiated)
    return function(*operands)


call_rules: dict[Primitive, Callable] = RuleTable({
    jit.jit_p: _jit, lax.cond_p: _switch, lax.while_p: _while, lax.scan_p: _scan,
    custom_jvp_call_p: _custom_jvp,
})


def stack_rule(broadcast_in_dim: Callable, concatenate: Callable) -> Callable:
    """The rule for `stack`: each array gets one more dimension, then all are joined."""
    def rule(*arrays, axis):
        shape = arrays[0].shape
        params = {"shape": (*shape[:axis], 1, *shape[axis:]),
                  "broadcast_dimensions": [d + (d >= axis) for d in range(len(shape))]}
        return concatenate([broadcast_in_dim(x, **params) for x in arrays], dimension=axis)
    return rule
