"""Chapter 10: `custom_vjp`, a function with a reverse-mode rule of the user's own.

The rule has two parts: `fwd` runs in the function's place and also returns residuals; `bwd` maps
the residuals and the cotangents of the results to those of the arguments. The primitive is
`custom_vjp_call`, applied to the leaves of the arguments:

    call_jaxpr       the function, flat
    fwd_jaxpr_thunk  (perturbed, *primals) -> [*residuals, *primals_out]; the first is a tuple that
                     says of each primal whether it is differentiated
    bwd              (*residuals, *cotangents) -> cotangents of the primals, or `Zero`s
    out_trees        () -> the structures of the function's result and of the residuals
    num_consts       how many of the operands are values that the function closed over
    symbolic_zeros   whether the rule gets zeros as `SymbolicZero`s

Linearization turns the call into a `custom_lin`, a linear map that can only be transposed. Its
transpose is `bwd`.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks.arguments import references_apart
from ..core import dtypes
from ..core.api_util import with_statics
from ..core.batching import WithTrace, primitive_batchers
from ..core.boundary import api_boundary
from ..core.calls import around
from ..core.core import Primitive, ShapedArray, Tracer, typeof
from ..core.forward import Zero, primitive_jvps
from ..core.jaxpr import ClosedJaxpr
from ..core.lowering import register_lowering
from ..core.partial_eval import dce_rules, partial_eval_rules, without_dead_code
from ..core.staging import drop_dead_code_at_end, staging_rules, unchecked_constants
from ..core.transposition import TransposeOfZeros, primitive_transposes
from ..core.tree import PyTreeDef, tree_flatten, tree_leaves, tree_map
from ..errors import UnexpectedTracerError
from ..lax.control_flow.parts import enter_rules
from ..lax.reductions import reduce_sum
from ..pytree.functions import broadcast_prefix
from ..pytree.paths import keystr, tree_flatten_with_path
from ..runtime.placements import placements
from ..settings import bool_state
from ..source import fun_name, fun_sourceinfo
from ..text.printing import pp_rules
from .common import (
    BatchedFun,
    CustomCall,
    CustomRule,
    FlatFun,
    Named,
    SymbolicZero,
    as_fun,
    check_leaves,
    dce_call,
    enter_function,
    from_rule,
    keep_used,
    match_batch_dim,
    no_references,
    nondiff_values,
    partial_eval_call,
    positional,
    residuals_without_literals,
    run_later,
    stage_function,
    to_rule,
    without_literals,
)
from .unusable import Unusable

disable_bwd_checks = bool_state(
    "jax_disable_bwd_checks",
    "Whether the types of the cotangents that bwd rules return are not checked.")

# ----------------------------------------------------------------------------------------------
# The decorator


class custom_vjp(CustomRule):
    """A function whose reverse-mode derivative is given by a rule.

    Args:
      fun: a function of pytrees of arrays that returns one.
      nondiff_argnums, nondiff_argnames: positions and names of arguments that are not
        differentiated and contain no traced values, such as functions. `fwd` gets them at their
        places, `bwd` before its other arguments.

    Raises (when it is called):
      AttributeError: no rule was given by `defvjp`.
      TypeError: arguments that are not arrays, or a rule whose results do not fit, or forward-mode
        differentiation, for which there is no rule.
      ValueError: a cotangent from `bwd` that has not the type of the argument.

    >>> @custom_vjp
    ... def clip_gradient(x):
    ...     return x
    >>> clip_gradient.defvjp(lambda x: (x, None), lambda res, ct: (jnp.minimum(ct, 1.0),))
    >>> jax.grad(lambda x: 10 * clip_gradient(x))(2.0)
    Array(1., dtype=float32, weak_type=True)
    """

    fwd: Callable | None = None
    bwd: Callable | None = None
    symbolic_zeros = optimize_remat = False

    def defvjp(self, fwd: Callable, bwd: Callable, symbolic_zeros: bool = False,
               optimize_remat: bool = False) -> None:
        """Set the rule.

        Args:
          fwd: takes the function's arguments; returns a pair: the function's result, and residuals,
            a pytree of arrays.
          bwd: takes the residuals and a cotangent like the result; returns a tuple with a cotangent
            for each argument. `None` stands for zero.
          symbolic_zeros: whether the leaves of `fwd`'s arguments are `CustomVJPPrimal`s, which say
            whether they are differentiated, and the zeros among `bwd`'s cotangents `SymbolicZero`s.
          optimize_remat: accepted, without effect: under `checkpoint`, `fwd` is run again.

        >>> f = custom_vjp(lambda x: x * x)
        >>> f.defvjp(lambda x: (x * x, x), lambda x, ct: (3 * x * ct,))
        >>> jax.grad(f)(2.0)
        Array(6., dtype=float32, weak_type=True)
        """
        if symbolic_zeros and optimize_remat:
            raise NotImplementedError(
                "remat optimization for custom_vjp does not support symbolic zeros")
        self._set_rules(fwd=fwd, bwd=bwd, symbolic_zeros=symbolic_zeros,
                        optimize_remat=optimize_remat)

    @api_boundary
    def __call__(self, *args, **kwargs):
        if self.fwd is None or self.bwd is None:
            raise AttributeError(f"No VJP defined for custom_vjp function {fun_name(self.fun)} "
                                 "using defvjp.")
        if kwargs or self._arity != len(args):
            args = positional(self.fun, "custom_vjp", args, kwargs)
        fun, fwd, bwd = self.fun, self.fwd, self.bwd
        if self.nondiff_argnums:
            statics = nondiff_values(self.nondiff_argnums, args, _without_tracers)
            fun, fwd = with_statics(fun, statics), with_statics(fwd, statics)
            bwd = functools.partial(bwd, *statics.values())
            args = tuple(x for i, x in enumerate(args) if i not in statics)
        leaves, in_tree = tree_flatten(args)
        check_leaves("custom_vjp_call", leaves)
        flat_fun = FlatFun(fun, self.fun, in_tree, "custom_vjp fun")
        references_apart(f"{fun_sourceinfo(self.fun)} for custom_vjp", leaves, (),
                         lambda: flat_fun.debug_info.arg_names)
        flat_fwd = FlatFwd(fwd, self.fwd, flat_fun, self.symbolic_zeros)
        flat_bwd = FlatBwd(bwd, in_tree, [typeof(x) for x in leaves], flat_fwd.out_trees)
        outs = custom_vjp_call_p.bind(
            *leaves, call_jaxpr=flat_fun, fwd_jaxpr_thunk=Named(flat_fwd, fun_name(self.fwd)),
            bwd=Named(flat_bwd, fun_name(self.bwd)), num_consts=0, out_trees=flat_fwd.out_trees,
            symbolic_zeros=self.symbolic_zeros)
        return (flat_fun.out_tree or flat_fwd.out_tree).unflatten(outs)


def _without_tracers(tree):
    """An argument that is not differentiated, checked to contain no traced value."""
    if any(isinstance(x, Tracer) for x in tree_leaves(tree)):
        raise UnexpectedTracerError(
            "Found a JAX Tracer object passed as an argument to a custom_vjp function, and marked "
            "by nondiff_argnums as non-differentiable.",
            "That is for arguments that cannot contain traced values, such as functions. Pass an "
            "array as an ordinary argument, and let bwd return None for it.")
    return tree


@dataclass(slots=True)
class CustomVJPPrimal:
    """An argument of `fwd` under `symbolic_zeros`.

    Args:
      value: the argument.
      perturbed: whether it is differentiated.
    """

    value: Any
    perturbed: bool


def custom_vjp_primal_tree_values(tree: Any) -> Any:
    """`tree`, an argument of `fwd` under `symbolic_zeros`, with the values as its leaves.

    Raises:
      TypeError: a leaf is no `CustomVJPPrimal`.

    >>> custom_vjp_primal_tree_values({"x": CustomVJPPrimal(1.0, True)})
    {'x': 1.0}
    """
    def value(leaf):
        if type(leaf) is not CustomVJPPrimal:
            raise TypeError(f"unexpected leaf type {type(leaf)}: expected CustomVJPPrimal")
        return leaf.value

    return tree_map(value, tree)


# ----------------------------------------------------------------------------------------------
# The user's rules, on leaves


class FlatFwd:
    """`fwd` on leaves: `(perturbed, *primals) -> [*residuals, *primals_out]`."""

    __slots__ = ("fwd", "name", "fun", "symbolic_zeros", "out_tree", "res_tree")

    def __init__(self, fwd: Callable, user_fwd: Callable, fun: FlatFun, symbolic_zeros: bool):
        self.fwd, self.fun, self.symbolic_zeros = fwd, fun, symbolic_zeros
        self.name = (f"Custom VJP fwd rule {fun_name(user_fwd)} for function "
                     f"{fun.debug_info.func_name}")
        self.out_tree: PyTreeDef | None = None
        self.res_tree: PyTreeDef | None = None

    def out_trees(self) -> tuple[PyTreeDef | None, PyTreeDef | None]:
        """The structures of the result and of the residuals, once it has run."""
        return self.out_tree, self.res_tree

    def __call__(self, perturbed, *leaves):
        args = map(CustomVJPPrimal, leaves, perturbed) if self.symbolic_zeros else leaves
        pair = self.fwd(*self.fun.in_tree.unflatten(args))
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise TypeError(
                f"{self.name} must produce a pair (list or tuple of length two): the function's "
                "output, and residuals (values stored from the forward pass for use on the "
                f"backward pass), but instead of a pair it produced {pair}.")
        outs, self.out_tree = tree_flatten(pair[0])
        residuals, self.res_tree = tree_flatten(pair[1])
        no_references(f"custom_vjp fwd function of {self.fun.debug_info.func_src_info}",
                      residuals + outs, leaves)
        self.fun.check_agrees(
            f"{self.name} must produce a pair (list or tuple of length two) where the first "
            "element represents the primal output (equal to the output of the custom_vjp-decorated "
            f"function {self.fun.debug_info.func_name}) and the second element represents "
            "residuals (i.e. values stored from the forward pass for use on the backward pass), "
            "but instead the fwd rule", "custom_vjp", self.out_tree, [typeof(x) for x in outs])
        return residuals + outs


class FlatBwd:
    """`bwd` on leaves: `(*residuals, *cotangents) -> cotangents of the primals, or Zeros`."""

    __slots__ = ("bwd", "in_tree", "in_avals", "out_trees")

    def __init__(self, bwd: Callable, in_tree: PyTreeDef, in_avals: list[ShapedArray],
                 out_trees: Callable):
        self.bwd, self.in_tree, self.in_avals, self.out_trees = bwd, in_tree, in_avals, out_trees

    def __call__(self, *leaves):
        out_tree, res_tree = self.out_trees()
        n = res_tree.num_leaves
        # A literal is a NumPy scalar, but a Python bool is a bool again, which rules branch on.
        residuals = [bool(x) if isinstance(x, np.bool_) else x for x in leaves[:n]]
        cts = self.bwd(res_tree.unflatten(residuals), out_tree.unflatten(leaves[n:]))
        names = self.in_tree.unflatten(range(self.in_tree.num_leaves))
        return [_checked_ct(path, aval, ct) for (path, _), aval, ct in
                zip(tree_flatten_with_path(names)[0], self.in_avals, self._flatten(cts, names))]

    def _flatten(self, cts, names):
        """A cotangent for each leaf of the arguments; `None`s are spread over subtrees."""
        if isinstance(cts, list) and len(cts) == len(self.in_tree.children()):
            cts = tuple(cts)
        if isinstance(cts, tuple):
            try:
                return broadcast_prefix(cts, names, is_leaf=lambda x: x is None)
            except ValueError:
                pass
        raise TypeError(
            "Custom VJP bwd rule must produce an output with the same container (pytree) structure "
            "as the args tuple of the primal function, and in particular must produce a tuple of "
            "length equal to the number of arguments to the primal function, but got bwd output "
            f"structure {tree_flatten(cts)[1]} for primal input structure {self.in_tree}.")


def _checked_ct(path, aval, ct):
    """A cotangent for an argument of type `aval`: an array, or a `Zero`."""
    wanted = aval.to_cotangent_aval()
    if ct is None or wanted.dtype == dtypes.float0:
        return Zero(wanted)
    got = typeof(ct)
    if disable_bwd_checks.value:
        return from_rule(ct)
    same = got.shape == wanted.shape and got.dtype == wanted.dtype
    # As JAX, let pass what has the shape: the dtype is often lost in a rule for low precision.
    loosely = got.shape == wanted.shape and type(ct) is not SymbolicZero
    hints = [*placements().hints(wanted, got), *placements().hints(got, wanted)]
    if (same or loosely) and not hints:
        return from_rule(ct)
    raise ValueError(
        "Custom VJP bwd rule must produce an output with the same type as the args tuple of the "
        f"primal function, but at output{keystr(path)} the bwd rule produced an output of type "
        f"{got.str_short(False)} corresponding to an input of type {aval.str_short(False)}"
        f"{''.join(f', so the two do not match ({x})' for x in hints)}. "
        "Consider just returning a None here, if the cotangent is zero.")


# ----------------------------------------------------------------------------------------------
# The primitive, and its rules. Evaluation: run the function.

custom_vjp_call_p = CustomCall("custom_vjp_call", "fwd_jaxpr_thunk", "bwd")


class CustomVJPException(Exception):
    """A value that the function closed over is differentiated, which the rule does not cover."""

    def __init__(self):
        super().__init__(
            "Detected differentiation of a custom_vjp function with respect to a value that it "
            "closed over. The custom VJP rule only says how to differentiate the function with "
            "respect to its arguments: pass the value as one, and extend fwd and bwd to it.")


def _stage(trace, args, params):
    """Staging: the function becomes a jaxpr; what it closed over, operands in front."""
    if isinstance(params["call_jaxpr"], ClosedJaxpr):
        return trace.default_process_primitive(custom_vjp_call_p, args, params)
    jaxpr, consts = stage_function(trace, params["call_jaxpr"], args)
    fwd, bwd, n = params["fwd_jaxpr_thunk"], params["bwd"], len(consts)
    zeros = [Zero(typeof(x).to_cotangent_aval()) for x in consts]
    params |= {
        "call_jaxpr": jaxpr, "num_consts": n,
        "fwd_jaxpr_thunk": Named(functools.partial(_without_consts, n, fwd), fwd.name),
        "bwd": Named(lambda *leaves: zeros + run_later(bwd, *residuals_without_literals(leaves)),
                     bwd.name),
    }
    return trace.default_process_primitive(custom_vjp_call_p, [*consts, *args], params)


def _without_consts(num_consts, fwd, perturbed, *leaves):
    """`fwd` of the function without the operands that it closed over."""
    if any(perturbed[:num_consts]):
        raise CustomVJPException
    return run_later(fwd, perturbed[num_consts:], *without_literals(leaves[num_consts:]))


def _jvp(primals, tangents, *, call_jaxpr, fwd_jaxpr_thunk, bwd, num_consts, out_trees,
         symbolic_zeros):
    """Differentiation: run `fwd`. The tangents go into a map that will be transposed."""
    in_zeros = [type(t) is Zero for t in tangents]
    leaves = fwd_jaxpr_thunk(tuple(not zero for zero in in_zeros), *primals)
    n = out_trees()[1].num_leaves
    residuals, outs = leaves[:n], leaves[n:]
    tangents_out = custom_lin_p.bind(
        *residuals, *[t for t in tangents if type(t) is not Zero], num_res=n, bwd=bwd,
        out_avals=[typeof(x).to_tangent_aval() for x in outs], symbolic_zeros=symbolic_zeros,
        in_zeros=in_zeros)
    return outs, tangents_out


def _batch(trace, args, dims, *, call_jaxpr, fwd_jaxpr_thunk, bwd, num_consts, out_trees,
           symbolic_zeros):
    """Batching: the function and both parts of its rule, batched."""
    fun = BatchedFun(as_fun(call_jaxpr), trace.axis_data, dims, trace.tag)
    fun.debug_info = call_jaxpr.debug_info
    fwd = BatchedFwd(fwd_jaxpr_thunk, fun, out_trees)
    batched_bwd = functools.partial(_batched_bwd, bwd, fwd)
    outs = custom_vjp_call_p.bind(
        *args, call_jaxpr=fun, fwd_jaxpr_thunk=Named(fwd, fwd_jaxpr_thunk.name),
        bwd=Named(batched_bwd, bwd.name), num_consts=0, out_trees=out_trees,
        symbolic_zeros=symbolic_zeros)
    return outs, fun.out_dims if fun.out_dims is not None else fwd.out_dims


class BatchedFwd:
    """`fwd`, batched when it is called. Its results are batched as the function's, if that ran."""

    def __init__(self, fwd: Callable, fun: BatchedFun, out_trees: Callable):
        self.fwd, self.fun, self.out_trees = fwd, fun, out_trees
        self.res_dims: list | None = None
        self.out_dims: list | None = None

    def __call__(self, perturbed, *args):
        fun = self.fun
        batched = BatchedFun(functools.partial(self.fwd, perturbed), fun.axis_data, fun.in_dims,
                             fun.tag)
        leaves = batched(*args)
        n = self.out_trees()[1].num_leaves
        self.res_dims, found = batched.out_dims[:n], batched.out_dims[n:]
        self.out_dims = found if fun.out_dims is None else fun.out_dims
        return leaves[:n] + [match_batch_dim(fun.axis_data, d, wanted, x)
                             for x, d, wanted in zip(leaves[n:], found, self.out_dims)]


def _batched_bwd(bwd, fwd, *leaves):
    """`bwd`, batched. Where a primal was the same for all examples, their cotangents add."""
    fun = fwd.fun
    batched = BatchedFun(bwd, fun.axis_data, [*fwd.res_dims, *fwd.out_dims], fun.tag)
    return [reduce_sum(ct, (d,)) if wanted is None and d is not None
            else match_batch_dim(fun.axis_data, d, wanted, ct)
            for ct, d, wanted in zip(batched(*leaves), batched.out_dims, fun.in_dims)]


def _dce(used, eqn):
    """Dead code: drop the results that are not used; `bwd` gets zeros for them."""
    used, params = tuple(used), eqn.own_params
    jaxpr, used_inputs = dce_call(eqn, used)
    n_dropped = used_inputs.count(False)
    fwd, bwd, n_outs = params["fwd_jaxpr_thunk"], params["bwd"], len(used)
    zero = SymbolicZero if params["symbolic_zeros"] else lambda aval: to_rule(Zero(aval), False)
    ct_avals = [aval.to_cotangent_aval() for aval in params["call_jaxpr"].out_avals]

    def fwd_of_used(perturbed, *args):
        leaves = fwd((False,) * n_dropped + perturbed, *[None] * n_dropped, *args)
        n = len(leaves) - n_outs
        return leaves[:n] + keep_used(used, leaves[n:])

    def bwd_of_used(*leaves):
        n = len(leaves) - sum(used)
        cts = iter(leaves[n:])
        cts = [next(cts) if u else zero(a) for u, a in zip(used, ct_avals)]
        return bwd(*leaves[:n], *cts)[n_dropped:]

    params = params | {
        "call_jaxpr": jaxpr, "num_consts": params["num_consts"] - n_dropped,
        "fwd_jaxpr_thunk": Named(fwd_of_used, fwd.name), "bwd": Named(bwd_of_used, bwd.name)}
    return used_inputs, eqn.replace(invars=keep_used(used_inputs, eqn.invars),
                                    outvars=keep_used(used, eqn.outvars), params=params)


def _printed(params):
    """The name first; the rules by their names."""
    shown = {"name": params["call_jaxpr"].debug_info.func_name, "bwd": params["bwd"],
             "call_jaxpr": params["call_jaxpr"], "fwd": params["fwd_jaxpr_thunk"]}
    if params["num_consts"]:
        shown["num_consts"] = params["num_consts"]
    return shown | {"symbolic_zeros": params["symbolic_zeros"]}


staging_rules[custom_vjp_call_p] = _stage
primitive_jvps[custom_vjp_call_p] = around("jvp", custom_vjp_call_p, _jvp)
primitive_batchers[custom_vjp_call_p] = WithTrace(_batch, always=True)
partial_eval_rules[custom_vjp_call_p] = partial_eval_call
dce_rules[custom_vjp_call_p] = _dce
enter_rules[custom_vjp_call_p] = enter_function
pp_rules["custom_vjp_call"] = _printed
register_lowering(custom_vjp_call_p, lambda ctx, *operands, call_jaxpr, **params:
                  ctx.inline(call_jaxpr, operands))

# ----------------------------------------------------------------------------------------------
# custom_lin, the linear map from the tangents of the arguments to those of the results. It cannot
# be evaluated, but its transpose is `bwd`.

custom_lin_p = Primitive("custom_lin", multiple_results=True)


def _forward_mode_error(*args, **params):
    raise TypeError("can't apply forward-mode autodiff (jvp) to a custom_vjp function.")


def _transpose(cts, *operands, num_res, bwd, out_avals, symbolic_zeros, in_zeros):
    """Transposition: `bwd`."""
    cts_in = bwd(*operands[:num_res], *[to_rule(ct, symbolic_zeros) for ct in cts])
    return [None] * num_res + [from_rule(ct) for ct, zero in zip(cts_in, in_zeros) if not zero]


def _stage_lin(trace, args, params):
    """Staging: the equation is kept only if a result of the jaxpr depends on it. Then its residuals
    must belong to a trace that is still running."""
    drop_dead_code_at_end(trace, without_dead_code)
    with unchecked_constants(without_dead_code):
        return trace.default_process_primitive(custom_lin_p, args, params)


custom_lin_p.def_impl(_forward_mode_error)
staging_rules[custom_lin_p] = _stage_lin
custom_lin_p.def_effectful_abstract_eval(  # it has no effects, but takes references
    lambda *avals, out_avals, **params: (out_avals, ()))
primitive_batchers[custom_lin_p] = _forward_mode_error
register_lowering(custom_lin_p, lambda ctx, *operands, **params:
                  [Unusable(aval, _forward_mode_error) for aval in ctx.avals_out])
primitive_transposes[custom_lin_p] = TransposeOfZeros(_transpose)
pp_rules["custom_lin"] = lambda params: {
    name: params[name] for name in ("bwd", "in_zeros", "num_res", "symbolic_zeros")}
