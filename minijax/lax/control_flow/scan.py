"""Chapter 9: `scan`, a loop of known length, with all its rules.

    scan[jaxpr length reverse unroll num_consts num_carry] *consts *carry *xs  →  *carry *ys

The body, `jaxpr`, maps `(*consts, *carry, *x)` to `(*carry, *y)`. The constants are the same in
each step, a carry goes from step to step, and step `i` takes `x = xs[i]` and gives `y = ys[i]`. As
the number of steps is known, what a step leaves for the backward pass has a place: one more `ys`.
So scan, unlike `while_loop`, has a transpose, which is a scan in the other direction.

Most rules here first find out which carries have a tangent (are batched, are unknown, are needed).
A carry that comes out of the body so has to go in so, which may make more of them so: a fixpoint.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ... import settings
from ...checks.api import leaf_names
from ...checks.jaxpr import is_ordered
from ...checks.staging import custom_typechecks
from ...core.array import as_array
from ...core.batching import WithTrace, matchaxis, primitive_batchers
from ...core.core import Primitive, ShapedArray, concrete_or_error, state, typeof
from ...core.forward import Zero, instantiate_zeros, primitive_jvps, zeros
from ...core.jaxpr import ClosedJaxpr, JaxprEqn, eval_jaxpr
from ...core.lowering import (
    Body,
    Value,
    cast_text,
    compare,
    emit,
    emit_slice,
    register_lowering,
    typed_text,
    with_shape,
)
from ...core.partial_eval import (
    JaxprTrace,
    dce_closed,
    dce_rules,
    default_partial_eval,
    partial_eval_jaxpr,
    partial_eval_rules,
)
from ...core.primitives import broadcast_in_dim_p
from ...core.staging import batch_jaxpr, jvp_jaxpr, trace_to_jaxpr, weakref_cache
from ...core.transposition import (
    UndefinedPrimal,
    backward_pass,
    is_undefined_primal,
    primitive_transposes,
)
from ...core.tree import tree_flatten, tree_map, treedef_tuple
from ...core.util import merge_lists, partition_list, split_list
from ...errors import JaxprTypeError, api_boundary
from ...pytree.arguments import argument_avals
from ...pytree.paths import keystr
from .. import shaping, slicing
from .common import (
    check_carry,
    evaluate_compiled,
    fixpoint,
    forwarded,
    keep_outputs,
    leaf_paths,
    move_inputs,
    move_outputs,
    op_with_regions,
    promote_weak_types,
    region_arguments,
    same_type,
    show_avals,
    stage,
    to_front,
)
from .parts import enter_rules, flat, grouped

# ----------------------------------------------------------------------------------------------
# The function


@api_boundary
def scan(f: Callable, init: Any, xs: Any = None, length: int | None = None, reverse: bool = False,
         unroll: int | bool = 1, _split_transpose: bool = False) -> Any:
    """A loop over the leading axis of `xs` that carries a state along.

        carry, ys = init, []
        for x in xs:
            carry, y = f(carry, x)
            ys.append(y)
        return carry, stack(ys)

    `f` is traced once, and the loop is compiled as a loop: neither depends on the length.

    Args:
      f: `(carry, x) -> (carry, y)`, functions of pytrees of arrays. The carry that it returns has
        the structure, shapes and dtypes of the one that it takes.
      init: the first carry. A Python number becomes of the dtype that `f` returns for it.
      xs: a pytree of arrays with one size of leading axis; `None` if there is nothing to take.
      length: the number of steps, if `xs` does not say it.
      reverse: whether to go from the end of `xs` (and `ys`) to the beginning.
      unroll: how many steps to write out in an iteration of the compiled loop; `True` or 0: all.
      _split_transpose: accepted as JAX does, and without effect.

    Returns:
      the pair of the last carry, and a pytree of arrays `ys`, which have a leading axis.

    Raises:
      TypeError: `f` does not return a pair, or changes the structure or the type of the carry.
      ValueError: the length is missing, negative, or not that of `xs`, or `xs` differ in theirs.

    >>> scan(lambda total, x: (total + x, total * x), 0, jnp.arange(1, 5))
    (Array(10, dtype=int32), Array([ 0,  2,  9, 24], dtype=int32))
    """
    if not callable(f):
        raise TypeError("lax.scan: f argument should be a callable.")
    (carry, carry_tree), (xs_leaves, xs_tree) = tree_flatten(init), tree_flatten(xs)
    carry_avals = argument_avals(carry, "scan", lambda: leaf_names("init", init))
    xs_avals = argument_avals(xs_leaves, "scan", lambda: leaf_names("xs", xs))
    length = scan_length(xs_tree, xs_leaves, length)
    if settings.disable_jit.value:
        return _python_loop(f, init, xs, length, reverse)
    x_avals = [_without_leading(aval) for aval in xs_avals]
    in_tree = treedef_tuple([carry_tree, xs_tree])
    staged, ys_avals = _stage_body(f, in_tree, carry_tree, carry_avals, x_avals)
    carry, promoted = promote_weak_types(carry, staged.jaxpr.out_avals)
    if promoted:
        carry_avals = [*map(typeof, carry)]
        staged, ys_avals = _stage_body(f, in_tree, carry_tree, carry_avals, x_avals)
    check_carry("scan body", f, carry_tree, carry_avals, carry_tree,
                staged.jaxpr.out_avals[:len(carry)])
    params = {"length": length, "reverse": bool(reverse), "unroll": _checked_unroll(unroll, length)}
    outs = _bind_without_forwarding(staged.jaxpr, staged.consts, carry, xs_leaves, params)
    return staged.out_tree.unflatten(outs)


def _stage_body(f, in_tree, carry_tree, carry_avals, x_avals):
    """The body as a jaxpr, and the types of its `y`s."""
    staged = stage(f, in_tree, [*carry_avals, *x_avals], "scan")
    children = staged.out_tree.children()
    if len(children) != 2:
        got = staged.out_tree.unflatten(staged.jaxpr.out_avals)
        raise TypeError(f"scan body output must be a pair, got {got}.")
    out_avals = staged.jaxpr.out_avals
    if children[0] != carry_tree:
        check_carry("scan body", f, carry_tree, carry_avals, children[0], out_avals)
    return staged, out_avals[len(carry_avals):]


def _bind_without_forwarding(jaxpr, consts, carry, xs, params) -> list:
    """Bind `scan_p` for what changes only.

    A carry that the body returns as it was is a constant, and a `y` that is its `x` is among `xs`.
    """
    sources = forwarded(jaxpr)
    is_const = [source == len(consts) + i for i, source in enumerate(sources[:len(carry)])]
    carry, new_consts = partition_list(is_const, carry)
    first_x = len(consts) + len(is_const)
    from_xs = [None if source is None or source < first_x else source - first_x
               for source in sources[len(is_const):]]
    computed = [not const for const in is_const] + [source is None for source in from_xs]
    if not all(computed):
        jaxpr = keep_outputs(jaxpr, tuple(computed))
    if new_consts:
        others = [False] * len(consts), [False] * len(xs)
        jaxpr = move_inputs(jaxpr, to_front([*others[0], *is_const, *others[1]]))
    consts = [*new_consts, *consts]
    outs = scan_p.bind(*consts, *carry, *xs, jaxpr=jaxpr, num_consts=len(consts),
                       num_carry=len(carry), **params)
    carry_out, ys = split_list(outs, [len(carry)])
    rest = iter(ys)
    ys = [next(rest) if source is None else _as_ours(xs[source]) for source in from_xs]
    return merge_lists(is_const, carry_out, new_consts) + ys


def _as_ours(x):
    return as_array(x) if isinstance(x, np.ndarray) else x


def _python_loop(f, init, xs, length, reverse):
    """What `scan` means, step by step: for `disable_jit`."""
    if length == 0:
        raise ValueError("zero-length scan is not supported in disable_jit() mode because the "
                         "output type is unknown.")
    carry, ys = init, []
    for i in reversed(range(length)) if reverse else range(length):
        x = tree_map(lambda leaf: slicing.index_in_dim(leaf, i, keepdims=False), xs)
        carry, y = f(carry, x)
        ys.append(y)
    return carry, tree_map(lambda *leaves: shaping.stack(leaves), *(ys[::-1] if reverse else ys))


def scan_length(xs_tree, leaves, length) -> int:
    """The number of steps: what `length` says, and the leading axes of `xs` agree with."""
    names = [f"xs{keystr(path)}" for path in leaf_paths(xs_tree)]
    for name, x in zip(names, leaves):
        if not np.shape(x):
            error = IndexError if hasattr(x, "shape") else ValueError  # as JAX
            raise error(f"scan got value with no leading axis to scan over: {name} is {x!r}.")
    sizes = [typeof(x).shape[0] for x in leaves]
    listed = ", ".join(f"{name} of type {typeof(x).str_short()}" for name, x in zip(names, leaves))
    if length is None:
        if not leaves:
            raise ValueError("scan got no values to scan over and `length` not provided.")
        if len(set(sizes)) > 1:
            raise ValueError(f"scan got values with different leading axis sizes: {listed}.")
        return sizes[0]
    length = concrete_or_error(
        int, length, "The `length` argument to `scan` expects a concrete `int` value. For "
        "scan-like iteration with a dynamic length, use `while_loop` or `fori_loop`.")
    if length < 0:
        raise ValueError(f"scan got a negative `length`: {length}.")
    if any(size != length for size in sizes):
        raise ValueError(f"scan got `length` argument of {length} which disagrees with leading "
                         f"axis sizes {sizes}: {listed}.")
    return length


def _checked_unroll(unroll, length) -> int:
    unroll = concrete_or_error(
        None, unroll, "The `unroll` argument to `scan` expects a concrete `int` or `bool` value.")
    if isinstance(unroll, bool):
        return max(length, 1) if unroll else 1
    if unroll < 0:
        raise ValueError("`unroll` must be a `bool` or a non-negative `int`.")
    return operator.index(unroll)


# ----------------------------------------------------------------------------------------------
# The primitive: evaluation and types


scan_p = Primitive("scan", multiple_results=True, memoize_avals=False)


@scan_p.def_impl
def _evaluate(*args, **params):
    return evaluate_compiled(scan_p, args, "jaxpr", params)


@scan_p.def_abstract_eval
def _result_types(*avals, jaxpr, length, num_carry, **params):
    carry_avals, y_avals = split_list(jaxpr.out_avals, [num_carry])
    return carry_avals + [_with_leading(length, aval) for aval in y_avals]


def _with_leading(length, aval: ShapedArray) -> ShapedArray:
    return aval.update(shape=(length, *aval.shape))


def _without_leading(aval: ShapedArray) -> ShapedArray:
    return aval.update(shape=aval.shape[1:])


def _typecheck(*avals, jaxpr, length, reverse, unroll, num_consts, num_carry):
    """The body gives the carry that it takes, and the operands are what it takes."""
    expected = split_list(jaxpr.in_avals, [num_consts, num_carry])
    consts, init, xs = split_list(avals, [num_consts, num_carry])
    given = consts, init, [*map(_without_leading, xs)]
    carry_out = jaxpr.out_avals[:num_carry]
    if not _same_types(expected[1], carry_out):
        raise JaxprTypeError("scan input carry input and output types mismatch:\n"
                             f"{show_avals(expected[1])}\nvs\n{show_avals(carry_out)}")
    for what, wanted, got in zip(("consts", "carry", "sequence items"), expected, given):
        if not _same_types(wanted, got):
            raise JaxprTypeError(f"scan jaxpr takes {what} of types\n{show_avals(wanted)},\n"
                                 f"called with {what} of types\n{show_avals(got)}")
    if any(x.shape[:1] != (length,) for x in xs):
        raise JaxprTypeError(f"scan of length {length} is called with {show_avals(xs)}")
    return _result_types(*avals, jaxpr=jaxpr, length=length, num_carry=num_carry)


def _same_types(avals, others) -> bool:
    return len(avals) == len(others) and all(map(same_type, avals, others))


custom_typechecks["scan"] = _typecheck

# ----------------------------------------------------------------------------------------------
# Forward mode


def _jvp(primals, tangents, *, jaxpr, num_consts, num_carry, **params):
    """A scan whose carry has more parts: the tangents, of those carries that ever have one."""
    consts_nz, carry_nz, xs_nz = split_list(
        [type(t) is not Zero for t in tangents], [num_consts, num_carry])
    no_ys = (False,) * (len(jaxpr.outvars) - num_carry)

    def body_jvp(carry_nz):
        return jvp_jaxpr(jaxpr, (*consts_nz, *carry_nz, *xs_nz), (*carry_nz, *no_ys))

    carry_nz = fixpoint(lambda carry_nz: body_jvp(carry_nz)[1][:num_carry], carry_nz)
    body, out_nz = body_jvp(carry_nz)
    nonzeros = (*consts_nz, *carry_nz, *xs_nz)
    tangents = [_instantiate(t) for t, nonzero in zip(tangents, nonzeros) if nonzero]
    in_order, in_sizes = _zipped_order(nonzeros, num_consts, num_carry)
    out_order, out_sizes = _zipped_order(out_nz, num_carry)
    args = [*primals, *tangents]
    outs = scan_p.bind(*(args[i] for i in in_order), num_consts=in_sizes[0], num_carry=in_sizes[1],
                       jaxpr=move_outputs(move_inputs(body, in_order), out_order), **params)
    by_place = dict(zip(out_order, outs))
    primals_out = [by_place[i] for i in range(len(out_nz))]
    rest = iter(range(len(out_nz), len(outs)))
    return primals_out, [by_place[next(rest)] if nonzero else Zero.from_primal_value(x)
                         for x, nonzero in zip(primals_out, out_nz)]


def _instantiate(tangent):
    """A tangent that a carry will have, if it starts as zero. While linearizing, zeros are made
    together with the other tangents: those known now would have to be kept till then."""
    trace = state.trace
    if type(tangent) is not Zero or not isinstance(trace, JaxprTrace):
        return instantiate_zeros(tangent)
    zero, shape = tangent.aval.dtype.type(0), tangent.aval.shape
    if not shape:
        return zero
    params = {"shape": shape, "broadcast_dimensions": ()}
    return default_partial_eval(trace, broadcast_in_dim_p, [zero], params)


def _zipped_order(nonzeros, *sizes):
    """The order that brings primals and tangents (which come after all primals) together by group.

    The groups have these sizes (the last one the rest), and `nonzeros` says which primals have a
    tangent. Returns the order, and the sizes of the groups with their tangents.
    """
    rest = iter(range(len(nonzeros), 2 * len(nonzeros)))
    pairs = [(i, next(rest) if nonzero else None) for i, nonzero in enumerate(nonzeros)]
    groups = [[i for i, _ in group] + [t for _, t in group if t is not None]
              for group in split_list(pairs, sizes)]
    return tuple(i for group in groups for i in group), [*map(len, groups)]


primitive_jvps[scan_p] = _jvp

# ----------------------------------------------------------------------------------------------
# Batching


def _batch(trace, args, dims, *, jaxpr, num_consts, num_carry, **params):
    """The examples in front of constants and carries, and behind the steps in `xs` and `ys`."""
    axis_data = trace.axis_data
    consts_dims, carry_dims, xs_dims = split_list(
        [None if d is None else 0 for d in dims], [num_consts, num_carry])

    def out_batched(carry_batched):
        in_dims = (*consts_dims, *(0 if b else None for b in carry_batched), *xs_dims)
        _, out_dims = batch_jaxpr(jaxpr, axis_data, in_dims, None)
        return [d is not None for d in out_dims]

    carry_batched = fixpoint(lambda carry: out_batched(carry)[:num_carry],
                             [d is not None for d in carry_dims])
    carry_dims = [0 if b else None for b in carry_batched]
    ys_batched = out_batched(carry_batched)[num_carry:]
    in_dims = (*consts_dims, *carry_dims, *xs_dims)
    out_dims = (*carry_dims, *(0 if b else None for b in ys_batched))
    body, _ = batch_jaxpr(jaxpr, axis_data, in_dims, out_dims)
    wanted = [*consts_dims, *carry_dims, *(None if d is None else 1 for d in xs_dims)]
    args = [matchaxis(axis_data, *dims_and_arg) for dims_and_arg in zip(dims, wanted, args)]
    outs = scan_p.bind(*args, jaxpr=body, num_consts=num_consts, num_carry=num_carry, **params)
    return outs, [*carry_dims, *(1 if b else None for b in ys_batched)]


primitive_batchers[scan_p] = WithTrace(_batch)



def _enter(trace, values, *, jaxpr, num_consts, num_carry, **params):
    """Other transformations: a carry has from the start as many parts as it ever gets."""
    consts, carry, xs = split_list(values, [num_consts, num_carry])
    n_consts, n_carry, n_xs = (tuple(map(len, group)) for group in (consts, carry, xs))

    def out_counts(n_carry):
        return trace.transform(jaxpr, (*n_consts, *n_carry, *n_xs))[1]

    n_carry = fixpoint(lambda n_carry: out_counts(n_carry)[:num_carry], n_carry)
    n_outs = (*n_carry, *out_counts(n_carry)[num_carry:])
    body, _ = trace.transform(jaxpr, (*n_consts, *n_carry, *n_xs), n_outs)
    carry = [*map(trace.widen, carry, n_carry)]
    outs = scan_p.bind(*flat(consts), *flat(carry), *flat(xs), jaxpr=body,
                       num_consts=sum(n_consts), num_carry=sum(n_carry), **params)
    return grouped(outs, n_outs)


enter_rules[scan_p] = _enter

# ----------------------------------------------------------------------------------------------
# Partial evaluation


class Halves(NamedTuple):
    """A body split into what can be known and what can not.

    The residuals, which the unknown half takes besides its own arguments, are of four kinds: known
    constants and known `xs` as they are, results of `invariant`, and more `ys` of `known`.
    """

    unknown_args: tuple[bool, ...]  # more than was asked for: all carries that are ever unknown
    unknown_outs: tuple[bool, ...]
    # Known constants to the invariant residuals, and to what is known of the constants of `known`.
    invariant: ClosedJaxpr
    known_consts: tuple[int | None, ...]  # the constants of `known`, by number; `None`: computed
    known: ClosedJaxpr  # constants, known carries and `x`s to known results and stacked residuals
    unknown: ClosedJaxpr  # invariant residuals, unknown arguments, stacked residuals to results
    sources: tuple[int | None, ...]  # residuals that are known arguments, by number
    stacked: tuple[bool, ...]  # for each residual whether it differs from step to step


def _ever_unknown(jaxpr, unknown, num_consts, num_carry):
    """`unknown`, with the carries added that a step makes unknown; and `partial_eval_jaxpr`."""
    consts, carry, xs = split_list(unknown, [num_consts, num_carry])
    no_ys = (False,) * (len(jaxpr.outvars) - num_carry)

    def body_halves(carry):
        return partial_eval_jaxpr(jaxpr, (*consts, *carry, *xs), (*carry, *no_ys))

    carry = fixpoint(lambda carry: body_halves(carry)[2][:num_carry], carry)
    return (*consts, *carry, *xs), body_halves(carry)


@weakref_cache
def _halves(jaxpr, unknown, num_consts, num_carry) -> Halves:
    """Split a body by which arguments are unknown to begin with."""
    unknown, (known, unknown_body, unknown_outs, n_computed, sources) = _ever_unknown(
        jaxpr, unknown, num_consts, num_carry)
    n_outs, n_known = unknown_outs.count(False), [
        group.count(False) for group in split_list(unknown, [num_consts, num_carry])]
    # A residual that is a carry is another one in each step: it has to be stacked.
    is_carry = [i is not None and n_known[0] <= i < sum(n_known[:2]) for i in sources]
    computed = iter(range(n_outs, n_outs + n_computed))
    result_vars = [known.invars[i] if carry else known.outvars[next(computed)]
                   for i, carry in zip(sources, is_carry) if carry or i is None]
    sources = tuple(None if carry else i for i, carry in zip(sources, is_carry))
    known = ClosedJaxpr(
        known.jaxpr.replace(outvars=known.jaxpr.outvars[:n_outs] + result_vars), known.consts)
    # What depends on constants alone is the same in each step: it leaves the loop.
    invariant, known, depends, _, known_consts = partial_eval_jaxpr(
        known, (False,) * n_known[0] + (True,) * sum(n_known[1:]),
        (True,) * n_outs + (False,) * len(result_vars))
    varies = iter(depends[n_outs:])
    stacked = tuple(next(varies) if i is None else i >= sum(n_known[:2]) for i in sources)
    order = _stacked_last(stacked, len(unknown_body.invars))
    return Halves(unknown, unknown_outs, invariant, known_consts, known,
                  move_inputs(unknown_body, order), sources, stacked)


def _stacked_last(stacked, n) -> tuple[int, ...]:
    """The order of `n` arguments, residuals first, that brings the stacked ones to the end."""
    invariant, last = partition_list(stacked, range(len(stacked)))
    return (*invariant, *range(len(stacked), n), *last)


def _run_known_half(args, unknown, params):
    """Run as much of a scan as depends on known arguments alone.

    Returns:
      `(known_outs, rest_args, rest_params, unknown_outs)`: the scan with `rest_params` of
      `rest_args`, known and unknown ones, has the results that are unknown.
    """
    jaxpr, num_consts, num_carry = (params[k] for k in ("jaxpr", "num_consts", "num_carry"))
    halves = _halves(jaxpr, tuple(unknown), num_consts, num_carry)
    known_args, unknown_args = partition_list(halves.unknown_args, args)
    counts = [(group.count(False), group.count(True))
              for group in split_list(halves.unknown_args, [num_consts, num_carry])]
    consts, others = split_list(known_args, [counts[0][0]])
    once = eval_jaxpr(halves.invariant.jaxpr, halves.invariant.consts, *consts)
    invariant, computed = split_list(once, [len(once) - halves.known_consts.count(None)])
    rest = iter(computed)
    consts = [next(rest) if i is None else consts[i] for i in halves.known_consts]
    outs = []
    if halves.known.outvars or halves.known.effects:
        outs = scan_p.bind(*consts, *others, **params | {
            "jaxpr": halves.known, "num_consts": len(consts), "num_carry": counts[1][0]})
    known_outs, stacked = split_list(outs, [halves.unknown_outs.count(False)])
    rest = {False: iter(invariant), True: iter(stacked)}
    residuals = [next(rest[varies]) if i is None else known_args[i]
                 for i, varies in zip(halves.sources, halves.stacked)]
    invariant, stacked = partition_list(halves.stacked, residuals)
    rest_params = params | {"jaxpr": halves.unknown, "num_carry": counts[1][1],
                            "num_consts": len(invariant) + counts[0][1]}
    return known_outs, [*invariant, *unknown_args, *stacked], rest_params, halves.unknown_outs


def _partial_eval(trace, primitive, args, params):
    """Two scans: the known one runs now and stacks up residuals, the unknown one takes them."""
    known_outs, rest_args, rest_params, unknown_outs = _run_known_half(
        args, map(trace.is_unknown, args), params)
    outs = []
    if any(unknown_outs) or rest_params["jaxpr"].effects:
        outs = default_partial_eval(trace, scan_p, rest_args, rest_params)
    return merge_lists(unknown_outs, known_outs, outs)


partial_eval_rules[scan_p] = _partial_eval

# ----------------------------------------------------------------------------------------------
# Dead code


def _dce(used_outputs, eqn: JaxprEqn):
    """Drop what no used result needs: a carry may be needed for another one only."""
    if not any(used_outputs) and not eqn.effects:
        return [False] * len(eqn.invars), None
    jaxpr, num_consts, num_carry = (eqn.params[k] for k in ("jaxpr", "num_consts", "num_carry"))
    num_xs = len(jaxpr.invars) - num_consts - num_carry
    carry, ys = split_list(used_outputs, [num_carry])

    def live_body(carry):
        keep = (False,) * num_consts + tuple(carry) + (False,) * num_xs
        return dce_closed(jaxpr, (*carry, *ys), keep)

    live = fixpoint(lambda carry: live_body(carry)[1][num_consts:num_consts + num_carry], carry)
    body, used_inputs = live_body(live)
    params = eqn.params | {"jaxpr": body, "num_carry": sum(live),
                           "num_consts": sum(used_inputs[:num_consts])}
    invars = partition_list(used_inputs, eqn.invars)[1]
    outvars = partition_list([*live, *ys], eqn.outvars)[1]
    return used_inputs, eqn.replace(invars=invars, outvars=outvars, params=params)


dce_rules[scan_p] = _dce

# ----------------------------------------------------------------------------------------------
# Transposition


def _transpose(cts, *args, jaxpr, num_consts, num_carry, reverse, **params):
    """A scan the other way round, which carries the cotangents of the carry and of the constants.

        body:        res  consts  carry  x  res             →  carry  y
        transposed:  res  [ct_consts  ct_carry]  ct_y  res  →  [ct_consts  ct_carry]  ct_x

    where `res` is not linear. (A carry that starts as zeros is a known value, but linear as soon as
    it has been through the body.)
    """
    linear = tuple(map(is_undefined_primal, args))
    if not all(linear[num_consts:num_consts + num_carry]):
        linear, _ = _ever_unknown(jaxpr, linear, num_consts, num_carry)
        if not all(linear[num_consts:num_consts + num_carry]):
            return _transpose_unknown_half(cts, args, params | {
                "jaxpr": jaxpr, "num_consts": num_consts, "num_carry": num_carry,
                "reverse": reverse})
    consts, _, xs = split_list(zip(linear, args), [num_consts, num_carry])
    first, last = ([x for is_linear, x in group if not is_linear] for group in (consts, xs))
    ct_carry, ct_ys = split_list(cts, [num_carry])
    ct_carry = [*map(instantiate_zeros, ct_carry)]
    ct_consts = [zeros(x.aval) for is_linear, x in consts if is_linear]
    nonzero_ys = tuple(type(ct) is not Zero for ct in ct_ys)
    ct_ys = partition_list(nonzero_ys, ct_ys)[1]
    once = [*map(typeof, [*first, *ct_consts, *ct_carry])]
    in_avals = (*once, *(_without_leading(typeof(x)) for x in [*ct_ys, *last]))
    sizes = len(first), len(ct_consts), num_carry, len(ct_ys)
    outs = scan_p.bind(
        *first, *ct_consts, *ct_carry, *ct_ys, *last, reverse=not reverse,
        jaxpr=_transposed_body(jaxpr, linear, nonzero_ys, in_avals, sizes),
        num_consts=len(first), num_carry=len(ct_consts) + num_carry, **params)
    ct_args = merge_lists(linear, [None] * linear.count(False), outs)
    return [ct if is_undefined_primal(x) else None for x, ct in zip(args, ct_args)]


@weakref_cache
def _transposed_body(jaxpr, linear, nonzero_ys, in_avals, sizes) -> ClosedJaxpr:
    """One step backwards: cotangents of the results of a step to those of its linear arguments."""
    zero_ys = [Zero(aval) for nonzero, aval in
               zip(nonzero_ys, jaxpr.out_avals[-len(nonzero_ys):]) if not nonzero]
    x_avals = partition_list(linear, jaxpr.in_avals)[1][sum(sizes[1:3]):]

    def transposed(*args):
        first, ct_consts, ct_carry, ct_ys, last = split_list(args, sizes)
        undefined = [*map(UndefinedPrimal, [*map(typeof, ct_consts + ct_carry), *x_avals])]
        ct_args = backward_pass(
            jaxpr.jaxpr, jaxpr.consts, merge_lists(linear, first + last, undefined),
            ct_carry + merge_lists(nonzero_ys, zero_ys, ct_ys),
            sums=merge_lists(linear, [None] * linear.count(False),
                       ct_consts + [None] * (len(undefined) - len(ct_consts))))
        return [instantiate_zeros(ct) for ct in partition_list(linear, ct_args)[1]]

    return trace_to_jaxpr(transposed, in_avals, jaxpr.debug_info)


def _transpose_unknown_half(cts, args, params):
    """Run the part of a scan that is not linear, such as a counter; transpose what is left."""
    linear = [*map(is_undefined_primal, args)]
    _, rest_args, rest_params, unknown_outs = _run_known_half(args, linear, params)
    ct_args = _transpose(partition_list(unknown_outs, cts)[1], *rest_args, **rest_params)
    linear_cts = [ct for x, ct in zip(rest_args, ct_args) if is_undefined_primal(x)]
    return merge_lists(linear, [None] * linear.count(False), linear_cts)


primitive_transposes[scan_p] = _transpose

# ----------------------------------------------------------------------------------------------
# Lowering


_INDEX = ShapedArray((), np.int32)


def _lower(ctx, *operands, jaxpr, length, reverse, unroll, num_consts, num_carry):
    """A loop that takes `unroll` rows of `xs` at a time, and writes as many rows of `ys`.

    Steps that are left over come after the loop; all of them, if it had one iteration only.
    """
    consts, carry, xs = split_list(operands, [num_consts, num_carry])
    n_looped = 0 if unroll == 0 or length < 2 * unroll else length - length % unroll

    def take_steps(start: Value, n: int, state):
        carry, ys = split_list(state, [num_carry])
        blocks = [_rows(ctx, x, start, n) for x in xs]
        elements: list = [None] * n
        for i in reversed(range(n)) if reverse else range(n):
            outs = ctx.inline(jaxpr, [*consts, *carry, *(_element(ctx, b, i) for b in blocks)])
            carry, elements[i] = split_list(outs, [num_carry])
        return carry + [_with_rows(ctx, *y, start) for y in zip(ys, zip(*elements))]

    def iteration(step, *state):
        start = step
        if reverse:
            start = emit(ctx, "subtract", ctx.constant(length - unroll, _INDEX), step)
        state = take_steps(start, unroll, state)
        return [emit(ctx, "add", step, ctx.constant(unroll, _INDEX)), *state]

    state = carry + [ctx.constant(0, aval) for aval in ctx.avals_out[num_carry:]]
    if n_looped:
        _, *state = _counted_loop(ctx, n_looped, iteration, state, is_ordered(jaxpr.effects))
    if n_looped < length:
        start = ctx.constant(0 if reverse else n_looped, _INDEX)
        state = take_steps(start, length - n_looped, state)
    return state


def _counted_loop(ctx: Body, limit: int, body: Callable, state: list[Value],
                  ordered: bool) -> list[Value]:
    """`body` maps a counter, which begins at 0, and the state to new ones, up to the `limit`."""
    init = [ctx.constant(0, _INDEX), *state]
    avals = [x.aval for x in init]
    in_condition, in_body = (region_arguments(ctx, avals) for _ in range(2))
    limit_value = ctx.constant(limit, _INDEX)
    return op_with_regions(
        ctx, "stablehlo.while", init, avals,
        (in_condition, lambda: [compare(ctx, "LT", in_condition[0], limit_value)]),
        (in_body, lambda: body(*in_body)), ordered=ordered)


def _rows(ctx: Body, xs: Value, start: Value, n: int) -> Value:
    """`xs[start : start + n]`"""
    if n == xs.aval.shape[0]:
        return xs
    out = with_shape(xs.aval, (n, *xs.aval.shape[1:]))
    options = f", sizes = {[*out.shape]}"
    return ctx.op(typed_text("dynamic_slice", [xs, *_starts(ctx, start, out)], out, options), out)


def _element(ctx: Body, xs: Value, i: int) -> Value:
    """`xs[i]`, for a number that is known now."""
    n, *shape = xs.aval.shape
    if n > 1:
        row = with_shape(xs.aval, (1, *shape))
        xs = emit_slice(ctx, xs, [i] + [0] * len(shape), [i + 1, *shape], None, row)
    out = with_shape(xs.aval, tuple(shape))
    return ctx.op(cast_text("reshape", xs, out), out)


def _with_rows(ctx: Body, ys: Value, elements: Sequence[Value], start: Value) -> Value:
    """`ys` with `elements` in the rows from `start` on."""
    row = with_shape(elements[0].aval, (1, *elements[0].aval.shape))
    rows = [ctx.op(cast_text("reshape", x, row), row) for x in elements]
    block = rows[0]
    if len(rows) > 1:
        out = with_shape(row, (len(rows), *row.shape[1:]))
        block = ctx.op(typed_text("concatenate", rows, out, ", dim = 0"), out)
    if len(rows) == ys.aval.shape[0]:
        return block
    operands = [ys, block, *_starts(ctx, start, row)]
    return ctx.op(typed_text("dynamic_update_slice", operands, ys.aval), ys.aval)


def _starts(ctx, start, rows):
    return [start] + [ctx.constant(0, _INDEX)] * (rows.ndim - 1)


register_lowering(scan_p, _lower)
