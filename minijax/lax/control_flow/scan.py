"""Chapter 9: `scan`, a loop of known length, with all its rules.

    scan[jaxpr length reverse unroll num_consts num_carry] *consts *carry *xs  →  *carry *ys

The body, `jaxpr`, maps `(*consts, *carry, *x)` to `(*carry, *y)`. The constants are the same in
each step, a carry goes from step to step, and step `i` takes `x = xs[i]` and gives `y = ys[i]`. As
the number of steps is known, the residuals of all steps can be stored, as one more `ys`. So scan,
unlike `while_loop`, has a transpose, which is a scan in the other direction.

Most rules here first find out which carries have a tangent (are batched, are unknown, are needed).
If the body gives a carry a tangent, that carry must also enter the body with one. This may give
other carries a tangent, so the rules repeat it until nothing changes: a fixpoint.
"""

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import settings
from ...core.batching import mapped_aval, matchaxis, primitive_batchers, unmapped_aval
from ...core.boundary import api_boundary
from ...core.calls import around, batcher, with_zero_tangents
from ...core.core import Primitive, ShapedArray, state, typeof
from ...core.forward import Zero, instantiate_zeros, primitive_jvps
from ...core.jaxpr import ClosedJaxpr, JaxprEqn, custom_typechecks
from ...core.partial_eval import JaxprTrace, dce_closed, dce_rules, default_partial_eval
from ...core.primitives import broadcast_in_dim_p, ensure_array
from ...core.staging import batch_jaxpr, jvp_jaxpr
from ...core.tree import tree_flatten, tree_map
from ...core.util import merge_lists, partition_list, split_list
from ...errors import JaxprTypeError
from ...pytree.arguments import argument_avals
from ...pytree.functions import treedef_tuple
from ...pytree.names import leaf_names
from ...pytree.paths import keystr, leaf_paths
from .. import cutting
from ..compile_time import concrete_or_error
from ..stacking import stack
from . import common
from .agreement import check_carry
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
      unroll: how many steps to write out in an iteration of the compiled loop. `True` and 0 write
        out all of them.
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
        raise TypeError(f"lax.scan: f argument should be a callable. Got {f!r}.")
    return scan_loop("scan", f, init, xs, length, reverse, unroll)


def scan_loop(loop: str, f: Callable, init: Any, xs: Any, length: int | None = None,
              reverse: bool = False, unroll: int | bool = 1) -> Any:
    """`scan` for the function `loop`, which its error messages name."""
    (carry, carry_tree), (xs_leaves, xs_tree) = tree_flatten(init), tree_flatten(xs)
    carry_avals = argument_avals(carry, loop, lambda: leaf_names("init", init))
    xs_avals = argument_avals(xs_leaves, loop, lambda: leaf_names("xs", xs))
    length = scan_length(xs_tree, xs_leaves, length, loop)
    if settings.disable_jit.value:
        return _python_loop(f, init, xs, length, reverse)
    x_avals = [without_leading(aval) for aval in xs_avals]
    in_tree = treedef_tuple([carry_tree, xs_tree])
    common.check_references(f, in_tree, [*carry, *xs_leaves], "scan")
    staged, ys_avals = _stage_body(f, in_tree, carry_tree, carry_avals, x_avals)
    common.check_references(f, in_tree, [*carry, *xs_leaves], "scan", staged.consts)
    carry, promoted = common.promote_weak_types(carry, staged.jaxpr.out_avals)
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
    staged = common.stage(f, in_tree, [*carry_avals, *x_avals], "scan")
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
    sources = common.forwarded(jaxpr)
    is_const = [source == len(consts) + i for i, source in enumerate(sources[:len(carry)])]
    carry, new_consts = partition_list(is_const, carry)
    first_x = len(consts) + len(is_const)
    from_xs = [None if source is None or source < first_x else source - first_x
               for source in sources[len(is_const):]]
    computed = [not const for const in is_const] + [source is None for source in from_xs]
    if not all(computed):
        jaxpr = common.keep_outputs(jaxpr, tuple(computed))
    if new_consts:
        others = [False] * len(consts), [False] * len(xs)
        jaxpr = common.move_inputs(jaxpr, common.to_front([*others[0], *is_const, *others[1]]))
    consts = [*new_consts, *consts]
    outs = scan_p.bind(*consts, *carry, *xs, jaxpr=jaxpr, num_consts=len(consts),
                       num_carry=len(carry), **params)
    carry_out, ys = split_list(outs, [len(carry)])
    rest = iter(ys)
    ys = [next(rest) if source is None else ensure_array(xs[source]) for source in from_xs]
    return merge_lists(is_const, carry_out, map(ensure_array, new_consts)) + ys


def _python_loop(f, init, xs, length, reverse):
    """What `scan` means, step by step: for `disable_jit`."""
    if length == 0:
        raise ValueError("zero-length scan is not supported in disable_jit() mode because the "
                         "output type is unknown.")
    carry, ys = init, []
    for i in reversed(range(length)) if reverse else range(length):
        x = tree_map(lambda leaf: cutting.index_in_dim(leaf, i, keepdims=False), xs)
        carry, y = f(carry, x)
        ys.append(y)
    return carry, tree_map(lambda *leaves: stack(leaves), *(ys[::-1] if reverse else ys))


def scan_length(xs_tree, leaves, length, loop: str = "scan") -> int:
    """The number of steps: what `length` says, and the leading axes of `xs` agree with."""
    shapes = [np.shape(x) for x in leaves]
    if () in shapes:
        x, name = leaves[i := shapes.index(())], _leaf_name(xs_tree, i)
        error = IndexError if hasattr(x, "shape") else ValueError  # as JAX
        raise error(f"{loop} got value with no leading axis to scan over: {x}. "
                    f"Here {name} is {x!r}.")
    sizes = [shape[0] for shape in shapes]
    if length is None:
        if not leaves:
            raise ValueError(f"{loop} got no values to scan over" + (
                " and `length` not provided." if loop == "scan" else ": xs has no leaves."))
        if len(set(sizes)) > 1:
            raise ValueError(f"{loop} got values with different leading axis sizes: "
                             f"{', '.join(map(str, sizes))}. {_listed(xs_tree, leaves)}.")
        return sizes[0]
    if isinstance(length, str):
        raise ValueError(f"scan: `length` must be an integer, got {length!r}.")
    length = concrete_or_error(
        int, length, "The `length` argument to `scan` expects a concrete `int` value. For "
        "scan-like iteration with a dynamic length, use `while_loop` or `fori_loop`.")
    if length < 0:
        raise ValueError(f"scan got a negative `length`: {length}.")
    if any(size != length for size in sizes):
        raise ValueError(f"scan got `length` argument of {length} which disagrees with leading "
                         f"axis sizes {sizes}. {_listed(xs_tree, leaves)}.")
    return length


def _leaf_name(xs_tree, i):
    return f"xs{keystr(leaf_paths(xs_tree)[i])}"


def _listed(xs_tree, leaves):
    return ", ".join([f"{_leaf_name(xs_tree, i)} of type {typeof(x).str_short(True)}"
                      for i, x in enumerate(leaves)])


def _checked_unroll(unroll, length) -> int:
    unroll = concrete_or_error(
        None, unroll, "The `unroll` argument to `scan` expects a concrete `int` or `bool` value.")
    if isinstance(unroll, bool):
        return max(length, 1) if unroll else 1
    if unroll < 0:
        raise ValueError(f"`unroll` must be a `bool` or a non-negative `int`, got {unroll}.")
    return int(unroll) if isinstance(unroll, np.bool_) else operator.index(unroll)


# ----------------------------------------------------------------------------------------------
# The primitive: evaluation and types


scan_p = Primitive("scan", multiple_results=True, memoize_avals=False)


@scan_p.def_impl
def _evaluate(*args, **params):
    return common.evaluate_compiled(scan_p, args, "jaxpr", params)


@scan_p.def_abstract_eval
def _result_types(*avals, jaxpr, length, num_carry, **params):
    carry_avals, y_avals = split_list(jaxpr.out_avals, [num_carry])
    return carry_avals + [_with_leading(length, aval) for aval in y_avals]


def _with_leading(length, aval: ShapedArray) -> ShapedArray:
    return unmapped_aval(length, 0, aval)


def without_leading(aval: ShapedArray) -> ShapedArray:
    if aval.placement is not None:
        aval.placement.check_whole(0)
    return mapped_aval(aval.shape[0], 0, aval)


def _typecheck(*avals, jaxpr, length, reverse, unroll, num_consts, num_carry):
    """The body gives the carry that it takes, and the operands are what it takes."""
    consts, init, xs = split_list(avals, [num_consts, num_carry])
    if any(x.shape[:1] != (length,) for x in xs):
        raise JaxprTypeError(f"scan of length {length} is called with {common.show_avals(xs)}")
    carry = jaxpr.in_avals[num_consts:num_consts + num_carry]
    common.check_flow("scan", "the body returns", jaxpr.out_avals[:num_carry], carry)
    given = [*consts, *init, *map(without_leading, xs)]
    common.check_flow("scan", "the body takes", jaxpr.in_avals, given)
    return _result_types(*avals, jaxpr=jaxpr, length=length, num_carry=num_carry)


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

    carry_nz = common.fixpoint(lambda carry_nz: body_jvp(carry_nz)[1][:num_carry], carry_nz)
    body, out_nz = body_jvp(carry_nz)
    nonzeros = (*consts_nz, *carry_nz, *xs_nz)
    tangents = [instantiate_later(t) for t, nonzero in zip(tangents, nonzeros) if nonzero]
    in_order, in_sizes = _zipped_order(nonzeros, num_consts, num_carry)
    out_order, out_sizes = _zipped_order(out_nz, num_carry)
    args = [*primals, *tangents]
    body = common.move_outputs(common.move_inputs(body, in_order), out_order)
    outs = _bind([args[i] for i in in_order], body, num_consts=in_sizes[0], num_carry=in_sizes[1],
                 **params)
    by_place = dict(zip(out_order, outs))
    return with_zero_tangents([by_place[i] for i in range(len(outs))], out_nz)


def _bind(args: Sequence, jaxpr: ClosedJaxpr, *, num_consts: int, **params) -> list:
    """The scan of a transformed body."""
    jaxpr, consts = common.traced_constants_apart(jaxpr)
    return scan_p.bind(*consts, *args, jaxpr=jaxpr, num_consts=num_consts + len(consts), **params)


def instantiate_later(tangent):
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


primitive_jvps[scan_p] = around("jvp", scan_p, _jvp)

# ----------------------------------------------------------------------------------------------
# Batching


def _batch(trace, args, dims, *, jaxpr, num_consts, num_carry, **params):
    """The examples in front of constants and carries, and behind the steps in `xs` and `ys`."""
    axis_data = trace.axis_data
    consts_dims, carry_dims, xs_dims = split_list(
        [None if d is None else 0 for d in dims], [num_consts, num_carry])

    def outs_batched(carry_batched):
        in_dims = (*consts_dims, *(0 if b else None for b in carry_batched), *xs_dims)
        return [d is not None for d in batch_jaxpr(jaxpr, axis_data, in_dims)[1]]

    carry_batched = common.fixpoint(lambda carry: outs_batched(carry)[:num_carry],
                                    [d is not None for d in carry_dims])
    carry_dims = [0 if b else None for b in carry_batched]
    ys_batched = outs_batched(carry_batched)[num_carry:]
    body = common.batch_jaxpr_to(jaxpr, axis_data, (*consts_dims, *carry_dims, *xs_dims),
                                 (*carry_dims, *(0 if b else None for b in ys_batched)))
    wanted = [*consts_dims, *carry_dims, *(None if d is None else 1 for d in xs_dims)]
    args = [matchaxis(axis_data, *dims_and_arg) for dims_and_arg in zip(dims, wanted, args)]
    outs = _bind(args, body, num_consts=num_consts, num_carry=num_carry, **params)
    return outs, [*carry_dims, *(1 if b else None for b in ys_batched)]


primitive_batchers[scan_p] = batcher(scan_p, _batch)



def _enter(trace, values, *, jaxpr, num_consts, num_carry, **params):
    """Other transformations: a carry has from the start as many parts as it ever gets."""
    consts, carry, xs = split_list(values, [num_consts, num_carry])
    n_consts, n_carry, n_xs = (tuple(map(len, group)) for group in (consts, carry, xs))

    def out_counts(n_carry):
        return trace.transform(jaxpr, (*n_consts, *n_carry, *n_xs))[1]

    n_carry = common.fixpoint(lambda n_carry: out_counts(n_carry)[:num_carry], n_carry)
    n_outs = (*n_carry, *out_counts(n_carry)[num_carry:])
    body, _ = trace.transform(jaxpr, (*n_consts, *n_carry, *n_xs), n_outs)
    carry = [*map(trace.widen, carry, n_carry)]
    outs = scan_p.bind(*flat(consts), *flat(carry), *flat(xs), jaxpr=body,
                       num_consts=sum(n_consts), num_carry=sum(n_carry), **params)
    return grouped(outs, n_outs)


enter_rules[scan_p] = _enter

# ----------------------------------------------------------------------------------------------
# Dead code


def _dce(used_outputs, eqn: JaxprEqn):
    """Drop what no used result needs. A carry may be needed only to compute another one."""
    if not any(used_outputs) and not eqn.effects:
        return [False] * len(eqn.invars), None
    jaxpr, num_consts, num_carry = (eqn.own_params[k] for k in ("jaxpr", "num_consts", "num_carry"))
    num_xs = len(jaxpr.invars) - num_consts - num_carry
    carry, ys = split_list(used_outputs, [num_carry])

    def live_body(carry):
        keep = (False,) * num_consts + tuple(carry) + (False,) * num_xs
        return dce_closed(jaxpr, (*carry, *ys), keep)

    of_carry = slice(num_consts, num_consts + num_carry)
    live = common.fixpoint(lambda carry: live_body(carry)[1][of_carry], carry)
    body, used_inputs = live_body(live)
    params = eqn.own_params | {"jaxpr": body, "num_carry": sum(live),
                           "num_consts": sum(used_inputs[:num_consts])}
    invars = partition_list(used_inputs, eqn.invars)[1]
    outvars = partition_list([*live, *ys], eqn.outvars)[1]
    return used_inputs, eqn.replace(invars=invars, outvars=outvars, params=params)


dce_rules[scan_p] = _dce
