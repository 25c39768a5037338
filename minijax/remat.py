"""Chapter 10: `checkpoint`, also called `remat`: recompute in the backward pass, and save memory.

Reverse mode keeps what the backward pass will need, the residuals, from the moment when the forward
pass computes them. A function under `checkpoint` keeps its arguments instead, and computes the
residuals again when they are needed; a *policy* says of which intermediate values it keeps the
results after all. The primitive is `remat2`, JAX's name:

    jaxpr           the function
    policy          (primitive, *in_avals, **params) -> whether the results may be kept; `None`: no
    prevent_cse     whether XLA must not find out that forward and backward pass do the same work;
                    a bool, or one for each operand
    differentiated  whether it is the backward pass's part

All happens in the rule for partial evaluation. The others treat the call as `jit`'s do.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from .core.api_util import arg_names, argument_avals
from .core.array import as_array
from .core.batching import primitive_batchers
from .core.calls import call_rules, calls
from .core.core import Primitive, ShapedArray
from .core.effects import check_allowed, remat_allowed_effects
from .core.forward import instantiate_zeros, primitive_jvps
from .core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, jaxpr_as_fun
from .core.jit import jit_p
from .core.lowering import register_lowering
from .core.partial_eval import (
    dce_closed,
    dce_rules,
    default_partial_eval,
    partial_eval_jaxpr,
    partial_eval_rules,
)
from .core.primitives.dot import dot_general_p
from .core.reverse import vjp
from .core.staging import jaxpr_cache, make_jaxpr, trace_to_jaxpr
from .core.transposition import (
    primitive_transposes,
)
from .core.tree import tree_flatten, tree_leaves, tree_map
from .core.util import merge_lists, partition_list, split_list
from .custom_rules.common import with_statics
from .errors import ConcretizationTypeError, api_boundary
from .lax.control_flow.common import stage
from .lax.control_flow.scan import scan_p
from .pytree.functions import broadcast_prefix

# ----------------------------------------------------------------------------------------------
# Policies


class Recompute:
    """What a policy may answer for False: not to keep it."""

    def __bool__(self):
        return False


class Saveable:
    """What a policy may answer for True: it may be kept."""


recompute, saveable = Recompute(), Saveable()

def everything_saveable(*_, **__) -> bool:
    """The policy that keeps everything, as if there were no `checkpoint`."""
    return True


def nothing_saveable(*_, **__) -> bool:
    """The policy that keeps nothing but the arguments: that of `checkpoint` without a policy."""
    return False


products = {dot_general_p}  # chapter 11 adds convolution


@dataclass(frozen=True)
class DotsSaveable:
    """Keep the results of matrix products and convolutions (or of the former only, and of those
    without batch dimensions)."""

    only_if_no_batch_dims: bool

    def __call__(self, primitive, *_, **params):
        if self.only_if_no_batch_dims:
            return primitive is dot_general_p and not params["dimension_numbers"][1][0]
        return primitive in products


@dataclass(frozen=True)
class SaveOnlyTheseNames:
    """Keep what `checkpoint_name` gave one of these names."""

    saveable_names: frozenset[str]

    def __call__(self, primitive, *_, **params):
        return primitive is name_p and params["name"] in self.saveable_names


@dataclass(frozen=True)
class SaveAnyNamesButThese:
    """Keep what `checkpoint_name` gave any name that is not one of these."""

    names: frozenset[str]

    def __call__(self, primitive, *_, **params):
        return primitive is name_p and params["name"] not in self.names


dots_saveable = DotsSaveable(False)
dots_with_no_batch_dims_saveable = DotsSaveable(True)


def save_only_these_names(*names_which_can_be_saved: str) -> Callable[..., bool]:
    """The policy that keeps the values named so by `checkpoint_name`."""
    return SaveOnlyTheseNames(frozenset(names_which_can_be_saved))


def save_any_names_but_these(*names_not_to_save: str) -> Callable[..., bool]:
    """The policy that keeps the values named by `checkpoint_name`, except these names."""
    return SaveAnyNamesButThese(frozenset(names_not_to_save))


def save_anything_except_these_names(*names_not_to_save: str) -> Callable[..., bool]:
    """The policy that keeps everything. (The names make no difference, as in JAX: an unnamed copy
    of each value is there to be kept.)"""
    return everything_saveable


def save_from_both_policies(policy_1: Callable, policy_2: Callable) -> Callable[..., bool]:
    """The policy that keeps what one of two policies keeps.

    Raises (when it is asked):
      ValueError: one of them does not answer with a bool.
    """
    def policy(primitive, *avals, **params):
        answers = [p(primitive, *avals, **params) for p in (policy_1, policy_2)]
        if not all(isinstance(answer, bool) for answer in answers):
            raise ValueError("The return value of the policies should be a boolean. Got: "
                             f"{answers[0]} and {answers[1]}.")
        return any(answers)

    return policy


checkpoint_policies = types.SimpleNamespace(
    everything_saveable=everything_saveable,
    nothing_saveable=nothing_saveable,
    dots_saveable=dots_saveable,
    checkpoint_dots=dots_saveable,
    dots_with_no_batch_dims_saveable=dots_with_no_batch_dims_saveable,
    checkpoint_dots_with_no_batch_dims=dots_with_no_batch_dims_saveable,
    save_anything_except_these_names=save_anything_except_these_names,
    save_any_names_but_these=save_any_names_but_these,
    save_only_these_names=save_only_these_names,
    save_from_both_policies=save_from_both_policies,
)

# ----------------------------------------------------------------------------------------------
# The public function


@api_boundary
def checkpoint(fun: Callable, *, prevent_cse: bool | Sequence[bool] = True,
               policy: Callable[..., bool] | None = None,
               static_argnums: int | tuple[int, ...] = ()) -> Callable:
    """`fun`, differentiated with less memory: its intermediate values are computed again.

    Args:
      fun: a function of pytrees of arrays that returns one.
      prevent_cse: whether to keep XLA from merging the recomputation with the first computation,
        which would undo it (a bool, or a prefix of the arguments). Inside `scan` it can be False.
      policy: one of `checkpoint_policies`, or `(primitive, *in_avals, **params) -> bool`: whether
        the results of this equation may be kept.
      static_argnums: positions of arguments that are passed on as they are, untraced.

    Returns:
      a function like `fun`.

    Raises:
      TypeError: `prevent_cse` or `static_argnums` of another type.
      ValueError (when it is called): `static_argnums` out of bounds.

    >>> f = checkpoint(lambda x: jnp.sin(jnp.sin(x)))
    >>> jax.grad(f)(2.0)
    Array(-0.2556391, dtype=float32, weak_type=True)
    """
    if not isinstance(prevent_cse, (bool, Sequence)):
        raise TypeError("prevent_cse must be a bool or tuple of bools, got "
                        f"type(prevent_cse)={type(prevent_cse)}")
    if isinstance(static_argnums, int):
        static_argnums = (static_argnums,)
    remember = functools.lru_cache(_of_dynamic_arguments)

    @functools.wraps(fun)
    def fun_remat(*args, **kwargs):
        statics = _static_arguments(static_argnums, args)
        names = tuple(sorted(kwargs))
        of_dynamic = (remember if all(isinstance(x, Hashable) for _, x in statics)
                      else _of_dynamic_arguments)(fun, statics, names)
        dynamic = [x for i, x in enumerate(args) if i not in dict(statics)]
        return _call(of_dynamic, [*dynamic, *(kwargs[name] for name in names)], prevent_cse, policy)

    return api_boundary(fun_remat)


remat = checkpoint


def _static_arguments(static_argnums, args) -> tuple[tuple[int, Any], ...]:
    """(position, value) of each static argument."""
    if type(static_argnums) is not tuple:
        raise TypeError("the `static_argnums` argument to `jax.checkpoint` / `jax.remat` must be "
                        f"an int or a tuple of ints, but got value {static_argnums}")
    n = len(args)
    if not all(-n <= i < n for i in static_argnums):
        raise ValueError(
            "the `static_argnums` argument to `jax.checkpoint` / `jax.remat` can only take integer "
            "values greater than or equal to `-len(args)` and less than `len(args)`, but got "
            f"{static_argnums}, while `len(args)` = {n}")
    return tuple((i, args[i]) for i in sorted({i % n for i in static_argnums}))


def _of_dynamic_arguments(fun, statics, names):
    """`fun` as a function of positional arguments only: the dynamic ones, then those named."""
    if not statics and not names:
        return fun

    def of_dynamic(*args):
        positional, named = split_list(args, [len(args) - len(names)])
        return with_statics(functools.partial(fun, **dict(zip(names, named))), dict(statics))(
            *positional)

    return functools.wraps(fun)(of_dynamic)


def _call(fun, args, prevent_cse, policy):
    """Trace `fun`, and bind the primitive."""
    leaves, in_tree = tree_flatten(tuple(args))
    avals = argument_avals(leaves, "checkpoint", lambda: arg_names(fun, args, {}))
    try:
        jaxpr, consts, out_tree = stage(fun, in_tree, avals, "checkpoint / remat")
    except ConcretizationTypeError as error:
        error.add_note("If an argument of a function under `checkpoint` decides what the function "
                       "does, mark it by `static_argnums`.")
        raise
    if not isinstance(prevent_cse, bool):
        flags = broadcast_prefix(tuple(prevent_cse), tuple(args))
        prevent_cse = (False,) * len(consts) + tuple(flags)
    outs = remat_p.bind(*consts, *leaves, jaxpr=jaxpr, prevent_cse=prevent_cse,
                        differentiated=False, policy=policy)
    return out_tree.unflatten(outs)


# ----------------------------------------------------------------------------------------------
# The primitive


remat_p = Primitive("remat2", multiple_results=True, memoize_avals=False)


@remat_p.def_impl
def _evaluate(*args, jaxpr, **params):
    return jaxpr_as_fun(jaxpr)(*args)


remat_p.def_abstract_eval(lambda *avals, jaxpr, **params: jaxpr.out_avals)


def _flags(prevent_cse, like: Sequence) -> tuple[bool, ...]:
    return (prevent_cse,) * len(like) if isinstance(prevent_cse, bool) else prevent_cse


def _prevent_cse(params, in_sources, out_sources, shared) -> dict:
    """An operand keeps its flag. Tangents, residuals and cotangents are guarded."""
    flags = params["prevent_cse"]
    if isinstance(flags, bool):
        return {}
    is_new = [i is None or i in in_sources[:place] for place, i in enumerate(in_sources)]
    return {"prevent_cse": tuple(new or flags[i] for i, new in zip(in_sources, is_new))}


def _lower(ctx, *operands, jaxpr, prevent_cse, differentiated, policy):
    """The equations in place; in the backward pass behind a barrier, which XLA does not look
    across when it searches for work that is done twice."""
    flags = _flags(prevent_cse, operands)
    if differentiated and any(flags):
        free, guarded = partition_list(flags, operands)
        operands = merge_lists(flags, free, barrier(ctx, guarded))
    return ctx.inline(jaxpr, operands)


call_rules(remat_p, "jaxpr", _prevent_cse)
register_lowering(remat_p, _lower)

# ----------------------------------------------------------------------------------------------
# The rule for partial evaluation
#
# What depends on known operands alone is computed now, outside of the call. What is left is a call
# of the unknown part, which computes the residuals again, from the known operands and from what
# the policy let us save.


@dataclass(frozen=True)
class _Split:
    known: ClosedJaxpr  # from the known arguments to the known results, and what is saved
    again: ClosedJaxpr  # from what is saved, and the arguments used again, to the unknown results
    out_unknowns: tuple[bool, ...]
    used_again: list[bool]  # of all arguments, which `again` takes
    n_saved: int


def _partial_eval(trace, primitive, args, params):
    policy = params["policy"] or nothing_saveable
    check_allowed(params["jaxpr"].effects, remat_allowed_effects,
                  "partial evaluation of checkpoint / remat")
    split = _split(params["jaxpr"], tuple(map(trace.is_unknown, args)), policy)
    known_args = [x for x in args if not trace.is_unknown(x)]
    outs = jaxpr_as_fun(split.known)(*known_args)
    known_outs, saved = split_list(outs, [len(outs) - split.n_saved])
    unknown_outs: list = []
    if any(split.out_unknowns) or split.again.effects:
        operands = [*saved, *partition_list(split.used_again, args)[1]]
        used = partition_list(split.used_again, range(len(args)))[1]
        again = calls[remat_p].params(params, split.again, [*[None] * len(saved), *used], ())
        again["differentiated"] = True
        unknown_outs = default_partial_eval(trace, remat_p, operands, again)
    return merge_lists(split.out_unknowns, known_outs, unknown_outs)


partial_eval_rules[remat_p] = _partial_eval


@jaxpr_cache
def _split(jaxpr: ClosedJaxpr, unknowns: tuple, policy: Callable) -> _Split:
    """Split as if all residuals were saved; then choose which are, by the policy."""
    known, unknown, out_unknowns, n_residuals, forwarded = partial_eval_jaxpr(
        jaxpr, unknowns, (False,) * len(jaxpr.outvars))
    known_outs, residuals = split_list(known.outvars, [len(known.outvars) - n_residuals])
    eqns, saved, eqns_again = _choose(known.jaxpr, residuals, policy)
    recompute = ClosedJaxpr(known.jaxpr.replace(
        invars=[*saved, *known.invars], outvars=residuals, eqns=eqns_again), known.consts)

    def again(*args):
        saved_values, all_args = split_list(args, [len(saved)])
        known_args, unknown_args = partition_list(unknowns, all_args)
        computed = iter(jaxpr_as_fun(recompute)(*saved_values, *known_args))
        needed = [next(computed) if i is None else known_args[i] for i in forwarded]
        return jaxpr_as_fun(unknown)(*needed, *unknown_args)

    again_jaxpr = trace_to_jaxpr(again, [*(v.aval for v in saved), *jaxpr.in_avals],
                                 jaxpr.debug_info)
    again_jaxpr, used = dce_closed(again_jaxpr, [True] * len(again_jaxpr.outvars))
    saved_used, args_used = split_list(used, [len(saved)])
    saved = partition_list(saved_used, saved)[1]
    known = ClosedJaxpr(known.jaxpr.replace(outvars=[*known_outs, *saved], eqns=eqns), known.consts)
    known, _ = dce_closed(known, [True] * len(known.outvars), keep_inputs=True)
    return _Split(known, again_jaxpr, out_unknowns, args_used, len(saved))


def _choose(jaxpr: Jaxpr, wanted: Sequence, policy: Callable):
    """Choose what to save so that the variables `wanted` can be computed again.

    From the last equation to the first: if its results are needed, they are saved if the policy
    says so; else it is done again, and its operands are needed.

    An equation with effects has them again in the backward pass, unless the policy keeps its
    results and its operands are at hand there for no other reason.

    Returns:
      `(eqns, saved, eqns_again)`: the equations of the jaxpr (where a `jit` or a `scan` has
      something to save inside, it returns that too), the variables saved, and the equations to be
      done again.
    """
    needed = {v for v in wanted if type(v) is not Literal}
    at_hand = {*jaxpr.constvars, *jaxpr.invars}
    eqns: list[JaxprEqn] = []
    saved: list[Var] = []
    eqns_again: list[JaxprEqn] = []
    for eqn in reversed(jaxpr.eqns):
        used = [v in needed for v in eqn.outvars]
        if not any(used) and not eqn.effects:
            pass
        elif policy(eqn.primitive, *[v.aval for v in eqn.invars], **eqn.params):
            saved = partition_list(used, eqn.outvars)[1] + saved
            if eqn.effects and not eqn.outvars and all(
                    type(v) is Literal or v in at_hand for v in eqn.invars):
                eqns_again.append(eqn)
        else:
            inside: list[Var] = []
            again: JaxprEqn | None = eqn
            if eqn.primitive in _choose_inside:
                eqn, inside, again = _choose_inside[eqn.primitive](eqn, used, policy)
            saved = inside + saved
            if again is not None:
                eqns_again.append(again)
                needed.update(v for v in again.invars if type(v) is not Literal)
        eqns.append(eqn)
    return eqns[::-1], saved, eqns_again[::-1]


def _choose_inside_jit(eqn: JaxprEqn, used: Sequence[bool], policy: Callable):
    """`_choose` inside a `jit`: the equation that returns also what is saved, that, and the
    equation of what has to be done again, if anything."""
    closed = eqn.params["jaxpr"]
    inner_of = dict(zip(eqn.outvars, closed.outvars))
    wanted = [inner_of[v] for v in partition_list(used, eqn.outvars)[1]]
    eqns, saved_inside, eqns_again = _choose(closed.jaxpr, wanted, policy)
    outer_of = {inner: outer for outer, inner in inner_of.items() if inner in saved_inside}
    more = [v for v in saved_inside if v not in outer_of]
    outer_of.update((v, Var(v.aval)) for v in more)
    saved = [outer_of[v] for v in saved_inside]
    outvars = [v for v, u in zip(eqn.outvars, used) if u and inner_of[v] not in outer_of]
    whole = _jit_eqn(eqn, closed, eqn.invars, [*eqn.outvars, *(outer_of[v] for v in more)],
                     closed.jaxpr.replace(eqns=eqns, outvars=[*closed.outvars, *more]))
    again = _jit_eqn(eqn, closed, [*eqn.invars, *saved], outvars, closed.jaxpr.replace(
        invars=[*closed.invars, *saved_inside], eqns=eqns_again,
        outvars=[inner_of[v] for v in outvars]))
    if not (outvars or again.effects):
        return whole, saved, None
    return whole, saved, dce_rules[jit_p]([True] * len(outvars), again)[1]


def _jit_eqn(eqn, closed, invars, outvars, jaxpr) -> JaxprEqn:
    """The equation `eqn`, for another jaxpr with the same constants."""
    params = eqn.params | {"jaxpr": ClosedJaxpr(jaxpr, closed.consts),
                           "donated_invars": (False,) * len(invars)}
    return eqn.replace(invars=invars, outvars=outvars, params=params)


def _choose_inside_scan(eqn: JaxprEqn, used: Sequence[bool], policy: Callable):
    """`_choose` inside a `scan`: what is saved in each step is stacked, as one more result of the
    loop, and one more array to loop over when the rest is done again."""
    closed, num_carry = eqn.params["jaxpr"], eqn.params["num_carry"]
    ys_used = partition_list(used[num_carry:], closed.outvars[num_carry:])[1]
    wanted = [*closed.outvars[:num_carry], *ys_used]
    eqns, saved, eqns_again = _choose(closed.jaxpr, wanted, policy)
    if not saved:
        return eqn, [], eqn
    length = eqn.params["length"]
    stacked = [Var(v.aval.update(shape=(length, *v.aval.shape))) for v in saved]
    whole = _scan_eqn(eqn, eqn.invars, [*eqn.outvars, *stacked], closed.jaxpr.replace(
        eqns=eqns, outvars=[*closed.outvars, *saved]))
    again = _scan_eqn(eqn, [*eqn.invars, *stacked], eqn.outvars, closed.jaxpr.replace(
        invars=[*closed.invars, *saved], eqns=eqns_again))
    return whole, stacked, dce_rules[scan_p](used, again)[1]


def _scan_eqn(eqn, invars, outvars, jaxpr) -> JaxprEqn:
    """The equation `eqn`, for another body with the same constants."""
    closed = ClosedJaxpr(jaxpr, eqn.params["jaxpr"].consts)
    return eqn.replace(invars=invars, outvars=outvars, params=eqn.params | {"jaxpr": closed})


_choose_inside = {jit_p: _choose_inside_jit, scan_p: _choose_inside_scan}


# ----------------------------------------------------------------------------------------------
# Names for values, for policies to speak of

name_p = Primitive("name")


def checkpoint_name(x: Any, name: str) -> Any:
    """`x`, its leaves named for the policies of `checkpoint` that speak of names.

    Args:
      x: a pytree of arrays.
      name: a string.

    >>> f = lambda x: jnp.cos(checkpoint_name(jnp.sin(x), "inner"))
    >>> f = checkpoint(f, policy=checkpoint_policies.save_only_these_names("inner"))
    >>> jax.grad(f)(0.0).item()
    -0.0
    """
    return tree_map(lambda leaf: name_p.bind(leaf, name=name), x)


name_p.def_impl(lambda x, *, name: x)
name_p.def_abstract_eval(lambda aval, *, name: aval)
primitive_jvps[name_p] = lambda primals, tangents, *, name: (
    name_p.bind(*primals, name=name), tangents[0])  # the tangent has no name
primitive_batchers[name_p] = lambda args, dims, *, name: (name_p.bind(*args, name=name), dims[0])
register_lowering(name_p, lambda ctx, x, *, name: x)

# ----------------------------------------------------------------------------------------------
# optimization_barrier

optimization_barrier_p = Primitive("optimization_barrier", multiple_results=True)


def optimization_barrier(operand: Any, /) -> Any:
    """`operand`, computed in full before anything that uses the result (in compiled programs).

    Args:
      operand: a pytree of arrays.

    >>> optimization_barrier(1.0)
    Array(1., dtype=float32, weak_type=True)
    """
    leaves, tree = tree_flatten(operand)
    return tree.unflatten(optimization_barrier_p.bind(*leaves))


def barrier(ctx, operands: Sequence) -> list:
    """The values behind a barrier."""
    names, kinds = (", ".join(texts) for texts in zip(*[(x.name, x.type) for x in operands]))
    avals = [x.aval for x in operands]
    text = f"stablehlo.optimization_barrier {names} : {kinds}"
    return ctx.ops(text, avals) if len(avals) > 1 else [ctx.op(text, avals[0])]


optimization_barrier_p.def_impl(lambda *args: [*map(as_array, args)])
optimization_barrier_p.def_abstract_eval(lambda *avals: list(avals))
primitive_jvps[optimization_barrier_p] = lambda primals, tangents: (
    optimization_barrier_p.bind(*primals),
    optimization_barrier_p.bind(*map(instantiate_zeros, tangents)))
primitive_batchers[optimization_barrier_p] = lambda args, dims: (
    optimization_barrier_p.bind(*args), dims)
primitive_transposes[optimization_barrier_p] = lambda cts, *operands: (
    optimization_barrier_p.bind(*map(instantiate_zeros, cts)))
register_lowering(optimization_barrier_p, lambda ctx, *operands: barrier(ctx, operands))

# ----------------------------------------------------------------------------------------------
# What is saved


def saved_residuals(f: Callable, *args, **kwargs) -> list[tuple[ShapedArray, str]]:
    """What reverse mode keeps between forward and backward pass of `f`, and where it comes from.

    Args:
      f: a function of pytrees of arrays that returns one.
      *args, **kwargs: arguments for it.

    >>> saved_residuals(jnp.exp, 1.0)[0][0]
    ShapedArray(float32[], weak_type=True)
    """
    leaves, in_tree = tree_flatten((args, kwargs))

    def of_leaves(*leaves):
        args, kwargs = in_tree.unflatten(leaves)
        return f(*args, **kwargs)

    closed, (_, pullback) = make_jaxpr(lambda *xs: vjp(of_leaves, *xs), return_shape=True)(*leaves)
    _, residuals = split_list(closed.outvars, [len(closed.outvars) - len(tree_leaves(pullback))])
    return _sources(closed.jaxpr, residuals, arg_names(f, args, kwargs))


def _sources(jaxpr, residuals, names) -> list[tuple[ShapedArray, str]]:
    """For each residual its type, and the argument or the equation that it comes from."""
    found = [(v.aval, "from a literal") for v in residuals if type(v) is Literal]
    kept = {v for v in residuals if type(v) is not Literal}
    found += [(v.aval, "from a constant") for v in jaxpr.constvars if v in kept]
    found += [(v.aval, f"from the argument {name}") for v, name in zip(jaxpr.invars, names)
              if v in kept]
    return found + [(v.aval, _maker(eqn)) for eqn in jaxpr.eqns for v in eqn.outvars if v in kept]


def _maker(eqn) -> str:
    if eqn.primitive is name_p:
        return f"named '{eqn.params['name']}' from {eqn.source_info}"
    if eqn.primitive is jit_p:
        return f"output of jitted function '{eqn.params['name']}' from {eqn.source_info}"
    return f"output of {eqn.primitive.name} from {eqn.source_info}"


def print_saved_residuals(f: Callable, *args, **kwargs) -> None:
    """Print what `saved_residuals` returns, a line for each.

    >>> print_saved_residuals(lambda x: jnp.sin(x), 1.0)  # doctest: +ELLIPSIS
    f32[] output of cos from ...
    """
    for aval, source in saved_residuals(f, *args, **kwargs):
        print(f"{aval.str_short()} {source}")
