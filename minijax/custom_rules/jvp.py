"""Chapter 10: `custom_jvp`, a function with a forward-mode rule of the user's own.

The primitive is `custom_jvp_call`, applied to the leaves of the arguments:

    call_jaxpr     the function, flat
    jvp_jaxpr_fun  its rule, flat: (*primals, *tangents) -> [*primals_out, *tangents_out]
    num_consts     how many of the operands are values that the function closed over
    symbolic_zeros whether the rule gets tangents that are zero as `SymbolicZero`s

Reverse mode needs nothing more. It linearizes the rule, and transposes the result.
"""

import functools
from collections.abc import Callable

from ..core.api_util import with_statics
from ..core.batching import WithTrace, primitive_batchers
from ..core.boundary import api_boundary
from ..core.core import Tracer, state, typeof
from ..core.forward import Zero, add_tangents, instantiate_zeros, primitive_jvps
from ..core.jaxpr import ClosedJaxpr
from ..core.lowering import register_lowering
from ..core.partial_eval import JaxprTrace, dce_rules, partial_eval_rules
from ..core.primitives import stop_gradient_p
from ..core.staging import staging_rules
from ..core.transposition import backward_pass, primitive_transposes
from ..core.tree import PyTreeDef, tree_flatten, tree_map
from ..lax.control_flow.parts import enter_rules
from ..source import fun_name
from ..text.printing import pp_rules
from .common import (
    BatchedFun,
    CustomCall,
    CustomRule,
    FlatFun,
    Named,
    as_fun,
    check_leaves,
    dce_call,
    enter_function,
    from_rule,
    keep_used,
    match_batch_dim,
    nondiff_values,
    partial_eval_call,
    positional,
    run_later,
    stage_function,
    to_rule,
    without_literals,
)
from .linearization import linear_body, linear_part, only_linear

# ----------------------------------------------------------------------------------------------
# The decorator


class custom_jvp(CustomRule):
    """A function whose derivative is given by a rule, instead of by differentiating its code.

    Args:
      fun: a function of pytrees of arrays that returns one.
      nondiff_argnums, nondiff_argnames: positions and names of arguments that are not
        differentiated, such as functions. The rule gets them first.

    Raises (when it is called):
      AttributeError: no rule was given by `defjvp` or `defjvps`.
      TypeError: arguments that are no arrays; a rule whose results do not fit the function's.

    >>> @custom_jvp
    ... def log1pexp(x):
    ...     return jnp.log(1 + jnp.exp(x))
    >>> @log1pexp.defjvp
    ... def log1pexp_jvp(primals, tangents):
    ...     (x,), (t,) = primals, tangents
    ...     return log1pexp(x), (1 - 1 / (1 + jnp.exp(x))) * t
    >>> jax.grad(log1pexp)(100.0)
    Array(1., dtype=float32, weak_type=True)
    """

    jvp: Callable | None = None
    symbolic_zeros = False

    def defjvp(self, jvp: Callable, symbolic_zeros: bool = False) -> Callable:
        """Set the rule; returns it, so that this can be a decorator.

        Args:
          jvp: `(primals, tangents) -> (primals_out, tangents_out)`, two tuples to two pytrees like
            the function's result; arguments marked as not differentiated come before these two.
          symbolic_zeros: whether tangents that are known to be zero are passed as `SymbolicZero`s.

        >>> f = custom_jvp(lambda x: x)
        >>> _ = f.defjvp(lambda primals, tangents: (primals[0], 2 * tangents[0]))
        >>> jax.grad(f)(1.0)
        Array(2., dtype=float32, weak_type=True)
        """
        self._set_rules(jvp=jvp, symbolic_zeros=symbolic_zeros)
        return jvp

    def defjvps(self, *jvps: Callable | None) -> None:
        """Set the rule by its parts, one for each argument; they are summed.

        Args:
          *jvps: `(tangent, primal_out, *primals) -> its part of the result's tangent`, or `None`
            where the derivative is zero.

        Raises:
          TypeError: the function has `nondiff_argnums`.

        >>> f = custom_jvp(lambda x, y: x * y)
        >>> f.defjvps(lambda t, ans, x, y: t * y, None)
        >>> jax.grad(f, (0, 1))(2.0, 3.0)[1].item()
        0.0
        """
        if self.nondiff_argnums:
            raise TypeError("Can't use ``defjvps`` with ``nondiff_argnums``.")

        def jvp(primals, tangents):
            if len(jvps) != len(primals):
                raise ValueError(f"defjvps got {len(jvps)} rules for {fun_name(self.fun)}, which "
                                 f"was called with {len(primals)} arguments: give one rule, or "
                                 "None, for each.")
            out = self(*primals)
            zero = tree_map(Zero.from_primal_value, out)
            parts = [rule(t, out, *primals) if rule else zero for t, rule in zip(tangents, jvps)]
            return out, tree_map(lambda _, *ts: instantiate_zeros(
                functools.reduce(add_tangents, ts)), out, *parts)

        self.defjvp(jvp)

    @api_boundary
    def __call__(self, *args, **kwargs):
        if self.jvp is None:
            raise AttributeError(f"No JVP defined for custom_jvp function {fun_name(self.fun)} "
                                 "using defjvp.")
        if kwargs or self._arity != len(args):
            args = positional(self.fun, "custom_jvp", args, kwargs)
        fun, jvp = self.fun, self.jvp
        if self.nondiff_argnums:
            statics = nondiff_values(self.nondiff_argnums, args, _stopped)
            fun, jvp = with_statics(fun, statics), functools.partial(jvp, *statics.values())
            args = tuple(x for i, x in enumerate(args) if i not in statics)
        leaves, in_tree = tree_flatten(args)
        check_leaves("custom_jvp_call", leaves)
        flat_fun = FlatFun(fun, self.fun, in_tree, "custom_jvp fun")
        flat_jvp = FlatJVP(jvp, self.jvp, flat_fun)
        outs = custom_jvp_call_p.bind(
            *leaves, call_jaxpr=flat_fun, jvp_jaxpr_fun=Named(flat_jvp, fun_name(self.jvp)),
            num_consts=0, symbolic_zeros=self.symbolic_zeros)
        return (flat_fun.out_tree or flat_jvp.out_tree).unflatten(outs)


def _stopped(tree):
    """Arguments that are not differentiated, without their tangents."""
    return tree_map(lambda x: stop_gradient_p.bind(x) if isinstance(x, Tracer) else x, tree)


class FlatJVP:
    """The user's rule on leaves: `(*primals, *tangents) -> [*primals_out, *tangents_out]`."""

    __slots__ = ("jvp", "name", "fun", "out_tree")

    def __init__(self, jvp: Callable, user_jvp: Callable, fun: FlatFun):
        self.jvp, self.fun = jvp, fun
        self.name = f"Custom JVP rule {fun_name(user_jvp)} for function {fun.debug_info.func_name}"
        self.out_tree: PyTreeDef | None = None

    def __call__(self, *leaves):
        n = len(leaves) // 2
        in_tree = self.fun.in_tree
        pair = self.jvp(in_tree.unflatten(leaves[:n]), in_tree.unflatten(leaves[n:]))
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise TypeError(
                f"{self.name} must produce a pair (list or tuple of length two) representing "
                f"primal and tangent outputs, but got {pair}.")
        outs, self.out_tree = tree_flatten(pair[0])
        tangents, tangent_tree = tree_flatten(pair[1])
        if self.out_tree != tangent_tree:
            raise TypeError(
                f"{self.name} must produce primal and tangent outputs with equal container "
                f"(pytree) structures, but got {self.out_tree} and {tangent_tree} respectively.")
        self.fun.check_agrees(
            f"{self.name} must produce a pair (list or tuple of length two) where the first "
            "element represents the primal output (equal in value to the output of the "
            f"custom_jvp-decorated function {self.fun.debug_info.func_name}, and in particular "
            "{same}), but instead the JVP rule", "custom_jvp", self.out_tree,
            [typeof(x) for x in outs])
        _check_tangents(self.name, outs, tangents)
        return outs + tangents


def _check_tangents(name, outs, tangents):
    """Tangents must have the shape and the tangent type of their primals."""
    for i, (x, t) in enumerate(zip(outs, tangents)):
        primal, got = typeof(x), typeof(t)
        wanted = primal.to_tangent_aval()
        if (got.shape, got.dtype) != (wanted.shape, wanted.dtype):
            where = f" at output {i}" if len(outs) > 1 else ""
            raise TypeError(
                "Custom JVP rule must produce primal and tangent outputs with corresponding shapes "
                f"and dtypes. Expected {wanted.str_short(False)} (tangent type of "
                f"{primal.str_short(False)}) but got {got.str_short(False)}. It is the "
                f"{name.removeprefix('Custom ')}{where}.")


# ----------------------------------------------------------------------------------------------
# The primitive, and its rules. Evaluation: run the function.

custom_jvp_call_p = CustomCall("custom_jvp_call", "jvp_jaxpr_fun")


def _stage(trace, args, params):
    """Staging: the function becomes a jaxpr; what it closed over, operands in front."""
    if isinstance(params["call_jaxpr"], ClosedJaxpr):
        return trace.default_process_primitive(custom_jvp_call_p, args, params)
    jaxpr, consts = stage_function(trace, params["call_jaxpr"], args)
    rule = params["jvp_jaxpr_fun"]
    rule = Named(functools.partial(_without_consts, len(consts), rule), rule.name)
    params |= {"call_jaxpr": jaxpr, "jvp_jaxpr_fun": rule, "num_consts": len(consts)}
    return trace.default_process_primitive(custom_jvp_call_p, [*consts, *args], params)


def _without_consts(num_consts, rule, *args):
    """The rule of the function without the operands that it closed over."""
    n = len(args) // 2
    primals = without_literals(args[num_consts:n])
    return run_later(rule, *primals, *args[n + num_consts:])


def _jvp(primals, tangents, *, jvp_jaxpr_fun, symbolic_zeros, **params):
    """Differentiation: run the rule. A tangent that does not depend on the tangents is zero: JAX
    takes it so while it linearizes, and in forward mode trusts the rule."""
    def run(tangents):
        outs = jvp_jaxpr_fun(*primals, *tangents)
        n = len(outs) // 2
        return outs[:n], [*map(from_rule, outs[n:])]

    nonzeros, trace = [type(t) is not Zero for t in tangents], state.trace
    tangents = [to_rule(t, symbolic_zeros) for t in tangents]
    if isinstance(trace, JaxprTrace):
        outs, out_tangents = run(tangents)
        return outs, only_linear(trace, outs, out_tangents)
    return linear_part(run, tangents, nonzeros) if linear_body.value else run(tangents)


def _batch(trace, args, dims, *, call_jaxpr, jvp_jaxpr_fun, num_consts, symbolic_zeros):
    """Batching: the function and the rule, both batched."""
    fun = BatchedFun(as_fun(call_jaxpr), trace.axis_data, dims, trace.tag)
    fun.debug_info = call_jaxpr.debug_info
    jvp = BatchedJVP(jvp_jaxpr_fun, fun)
    outs = custom_jvp_call_p.bind(
        *args, call_jaxpr=fun, jvp_jaxpr_fun=Named(jvp, jvp_jaxpr_fun.name), num_consts=0,
        symbolic_zeros=symbolic_zeros)
    return outs, fun.out_dims if fun.out_dims is not None else jvp.out_dims


class BatchedJVP:
    """A rule, batched when it is called. A result and its tangent have one batch dimension: that
    of the function's result, if the function has run."""

    def __init__(self, jvp: Callable, fun: BatchedFun):
        self.jvp, self.fun, self.out_dims = jvp, fun, None

    def __call__(self, *args):
        axis_data = self.fun.axis_data
        batched = BatchedFun(self.jvp, axis_data, self.fun.in_dims * 2, self.fun.tag)
        outs = batched(*args)
        n = len(outs) // 2
        self.out_dims = self.fun.out_dims
        if self.out_dims is None:
            pairs = zip(batched.out_dims[:n], batched.out_dims[n:])
            self.out_dims = [t_dim if dim is None else dim for dim, t_dim in pairs]
        return [match_batch_dim(axis_data, d, wanted, x)
                for x, d, wanted in zip(outs, batched.out_dims, [*self.out_dims] * 2)]


def _transpose(cts, *operands, call_jaxpr, **params):
    """Transposition, of a function that is linear by itself."""
    return backward_pass(call_jaxpr.jaxpr, call_jaxpr.consts, operands, cts)


def _dce(used, eqn):
    """Dead code: drop the results that are not used, in the function and in the rule."""
    used, rule = tuple(used), eqn.own_params["jvp_jaxpr_fun"]
    jaxpr, used_inputs = dce_call(eqn, used)
    dropped = [None] * used_inputs.count(False)

    def rule_of_used(*args):
        n = len(args) // 2
        return keep_used(used * 2, rule(*dropped, *args[:n], *dropped, *args[n:]))

    params = eqn.own_params | {
        "call_jaxpr": jaxpr, "jvp_jaxpr_fun": Named(rule_of_used, rule.name),
        "num_consts": eqn.own_params["num_consts"] - len(dropped)}
    return used_inputs, eqn.replace(invars=keep_used(used_inputs, eqn.invars),
                                    outvars=keep_used(used, eqn.outvars), params=params)


def _printed(params):
    """The name first; the rule by its name."""
    shown = {"name": params["call_jaxpr"].debug_info.func_name,
             "call_jaxpr": params["call_jaxpr"], "jvp": params["jvp_jaxpr_fun"]}
    if params["num_consts"]:
        shown["num_consts"] = params["num_consts"]
    return shown | {"symbolic_zeros": params["symbolic_zeros"]}


staging_rules[custom_jvp_call_p] = _stage
primitive_jvps[custom_jvp_call_p] = _jvp
primitive_batchers[custom_jvp_call_p] = WithTrace(_batch, always=True)
partial_eval_rules[custom_jvp_call_p] = partial_eval_call
primitive_transposes[custom_jvp_call_p] = _transpose
dce_rules[custom_jvp_call_p] = _dce
enter_rules[custom_jvp_call_p] = enter_function
pp_rules["custom_jvp_call"] = _printed
register_lowering(custom_jvp_call_p, lambda ctx, *operands, call_jaxpr, **params:
                  ctx.inline(call_jaxpr, operands))
