"""Chapter 10: what `custom_jvp` and `custom_vjp` share.

A call of such a function carries Python functions: the function itself, and its rules. They are
flat, from leaves to lists of leaves. The trace that interprets the call runs them *now*. Evaluation
runs the function, differentiation the rules, and batching wraps them all. So eager values stay
concrete in the user's code. Only staging turns the function into a jaxpr.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ..core.api_util import (
    ensure_index_tuple,
    positive_argnums,
)
from ..core.batching import AxisData, batch_subtrace, mapped_aval, matchaxis, unmapped_aval
from ..core.boundary import public
from ..core.core import (
    Primitive,
    ShapedArray,
    Tracer,
    eval_trace,
    set_current_trace,
    state,
    typeof,
)
from ..core.dtypes import python_scalar_types
from ..core.forward import Zero, instantiate_zeros
from ..core.jaxpr import (
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    convert_constvars_jaxpr,
    eval_jaxpr,
    jaxpr_as_fun,
)
from ..core.partial_eval import dce_closed, default_partial_eval, without_dead_code
from ..core.primitives import constant, ensure_array
from ..core.staging import (
    DynamicJaxprTrace,
    jaxpr_of,
    trace_to_jaxpr,
    unchecked_constants,
)
from ..core.tree import PyTreeDef, tree_flatten, tree_map, tree_structure
from ..core.util import merge_lists, partition_list
from ..errors import UnexpectedTracerError
from ..lax.control_flow.parts import PartsTrace
from ..pytree.arguments import infer_argnums_and_argnames, resolve_kwargs
from ..pytree.functions import treedef_tuple
from ..pytree.names import fun_signature, traced_info
from ..settings import clear_caches
from ..source import fun_name
from ..text.debug_info import DebugInfo
from .linear_util import wrap_init

# ----------------------------------------------------------------------------------------------
# A rule around a rule


class CustomRule:
    """What the three decorators are: `fun`, with the methods of the decorator inside it.

    So `f = custom_vjp(custom_vmap(fun))` takes both `f.defvjp` and `f.def_vmap`.
    """

    @public
    def __init__(self, fun: Callable, nondiff_argnums: int | Sequence[int] = (),
                 nondiff_argnames: str | Sequence[str] = ()):
        functools.update_wrapper(self, fun)  # type: ignore[arg-type]  # subclasses are callable
        self.fun, self._arity = fun, takes_just(fun)
        self.nondiff_argnums = nondiff_numbers(fun, nondiff_argnums, nondiff_argnames)

    def _set_rules(self, **rules: Any) -> None:
        """Set the attributes of these names. A rule in the place of another one is obeyed at once:
        what was traced by the other one is traced again."""
        replaced = any(map(vars(self).get, rules))
        vars(self).update(rules)
        if replaced:
            clear_caches()

    @public
    def __getattr__(self, name: str) -> Any:
        fun = self.__dict__.get("fun")
        if isinstance(fun, CustomRule):
            return getattr(fun, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


# ----------------------------------------------------------------------------------------------
# Zeros in a user's rule


class SymbolicZero:
    """A tangent or cotangent that is known to be zero, in a rule with `symbolic_zeros`.

    Args:
      aval: its type; the attributes of it (`shape`, `dtype` …) are also the zero's own.

    >>> zero_from_primal(jnp.ones(3), symbolic_zeros=True).shape
    (3,)
    """

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray):
        self.aval = aval

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.aval, name)

    @staticmethod
    def from_primal_value(val: Any) -> SymbolicZero:
        """The zero tangent of a value."""
        return SymbolicZero(Zero.from_primal_value(val).aval)

    def __repr__(self):
        return "SymbolicZero"


def zero_from_primal(val: Any, symbolic_zeros: bool = False) -> Any:
    """The zero tangent of a pytree of values: zeros, or `SymbolicZero`s.

    >>> zero_from_primal({"a": jnp.ones(2)})
    {'a': Array([0., 0.], dtype=float32)}
    """
    return tree_map(lambda x: to_rule(Zero.from_primal_value(x), symbolic_zeros), val)


def to_rule(tangent, symbolic_zeros: bool):
    """A tangent as the user's rule gets it: its zeros as arrays, or as `SymbolicZero`s."""
    if symbolic_zeros and type(tangent) is Zero:
        return SymbolicZero(tangent.aval)
    return instantiate_zeros(tangent)


def from_rule(tangent):
    """A tangent that the user's rule returned."""
    return Zero(tangent.aval) if type(tangent) is SymbolicZero else tangent


# ----------------------------------------------------------------------------------------------
# From the user's arguments to leaves


def nondiff_numbers(fun: Callable, argnums, argnames) -> tuple[int, ...]:
    """The positions of the arguments that are not differentiated, given by number and by name."""
    numbers = set(ensure_index_tuple(argnums))
    if argnames:
        signature = fun_signature(fun)
        if signature is None:
            raise AssertionError(
                f"nondiff_argnames names parameters of {fun}, which has no signature to find them "
                "in. Give their positions as nondiff_argnums.")
        numbers.update(infer_argnums_and_argnames(signature, None, argnames)[0])
    return tuple(sorted(numbers))


def nondiff_values(argnums: tuple[int, ...], args: tuple, prepare: Callable) -> dict[int, Any]:
    """The arguments that are not differentiated, prepared, by their position from the front."""
    positions = sorted({*positive_argnums(argnums, len(args))})
    return {i: prepare(args[i]) for i in positions}


def takes_just(fun: Callable) -> int | None:
    """The number of arguments, if `fun` has only positional ones without defaults."""
    code = getattr(fun, "__code__", None)
    if code is None or code.co_kwonlyargcount or fun.__defaults__:  # type: ignore[attr-defined]
        return None
    variadic = code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    return None if variadic else code.co_argcount


def positional(fun: Callable, decorator: str, args: tuple, kwargs: dict) -> tuple:
    """All arguments of a call by position, defaults filled in."""
    try:
        return resolve_kwargs(fun, args, kwargs)
    except TypeError as error:
        raise TypeError(
            f"The input arguments to the {decorator}-decorated function {fun_name(fun)} could not "
            f"be resolved to positional-only arguments. Binding failed with the error:\n{error}"
        ) from None


def check_leaves(name: str, leaves: Iterable) -> None:
    """Raise `TypeError` for an argument that is not an array, and name its position."""
    for i, x in enumerate(leaves):
        try:
            typeof(x)
        except TypeError:
            raise TypeError(
                f"Error interpreting argument to {name} as a JAX value. The problematic value is "
                f"of type {type(x)} and was passed to {name} at position {i}. Functions and other "
                "values that are not arrays must be marked by nondiff_argnums."
            ) from None


class FlatFun:
    """The user's function, from leaves to leaves. It remembers the structure and the types of
    its last result, which its rules must agree with."""

    __slots__ = ("fun", "in_tree", "debug_info", "out_tree", "out_avals")

    def __init__(self, fun: Callable, user_fun: Callable, in_tree: PyTreeDef, traced_for: str):
        self.fun, self.in_tree = fun, in_tree
        self.out_tree: PyTreeDef | None = None
        self.debug_info = traced_info(traced_for, user_fun, treedef_tuple([in_tree, _NO_KWARGS]),
                                      {}, lambda: self.out_tree)
        self.out_avals: list[ShapedArray] = []

    def __call__(self, *leaves):
        outs, self.out_tree = tree_flatten(self.fun(*self.in_tree.unflatten(leaves)))
        self.out_avals = [typeof(x) for x in outs]
        info = self.debug_info
        no_references(f"{info.traced_for.removesuffix(' fun')} primal function "
                      f"{info.func_src_info}", outs)
        return outs

    def check_agrees(self, rule: str, decorator: str, out_tree: PyTreeDef,
                     out_avals: list[ShapedArray]) -> None:
        """Raise `TypeError` if a rule's primal results differ from the function's, if it has run.

        `rule` begins the message. In it, `{same}` stands for what must be equal.
        """
        if self.out_tree is None:
            return
        if out_tree != self.out_tree:
            what, same = "container/pytree structure", "of the same container/pytree structure"
        elif any(a.shape != b.shape or a.dtype != b.dtype
                 for a, b in zip(out_avals, self.out_avals)):
            what, same = "shapes/dtypes of", "with leaves of the same shape/dtype"
        else:
            return
        raise TypeError(
            f"{rule.replace('{same}', same)} output's first element had {what}:\n"
            f"    {_types(out_tree, out_avals)}\nwhile the {decorator}-decorated function "
            f"{self.debug_info.func_name} had output {what}:\n"
            f"    {_types(self.out_tree, self.out_avals)}.")


_NO_KWARGS = tree_structure({})


def no_references(what: str, values: Sequence, but: Sequence = ()) -> None:
    """Raise `ValueError` for a reference among the results of a function that is not in `but`."""
    for x in values:
        if is_reference(x) and not any(x is y for y in but):
            raise ValueError(f"{what} returned a mutable array reference of type {typeof(x)}, but "
                             "mutable array references cannot be returned. Return its contents, "
                             "`ref[...]`.")


def is_reference(x: Any) -> bool:
    """Whether a value is a reference (chapter 15) or stands for one."""
    return hasattr(getattr(x, "aval", None), "inner_aval")


def _types(tree, avals) -> str:
    return str(tree.unflatten([a.str_short(False) for a in avals])).replace("'", "")


class Named:
    """A function with the name that jaxprs print for it."""

    __slots__ = ("fun", "name", "debug_info")

    def __init__(self, fun: Callable, name: str, debug_info: DebugInfo | None = None):
        self.fun, self.name, self.debug_info = fun, name, debug_info

    def __call__(self, *args):
        return self.fun(*args)

    @property
    def __name__(self):
        return self.name

    def __str__(self):
        return self.name

    __repr__ = __str__


# ----------------------------------------------------------------------------------------------
# The primitives


_CLOSURE = (
    "A function with a custom derivative uses this value, which is being differentiated, and which "
    "is not an argument of it. The function's rule is about its arguments only: make the value an "
    "argument, and extend the rule to it.")
_LATER = (
    "A rule for a custom derivative uses this value. The rule runs when the function's derivative "
    "is needed, which may be after the trace of the value has ended. A traced value must be an "
    "ordinary argument: the rule must not close over it, nor be given it by `nondiff_argnums`.")


@contextlib.contextmanager
def blaming(remedy: str) -> Iterator[None]:
    """An error about a tracer says `remedy`."""
    try:
        yield
    except UnexpectedTracerError as error:
        what = str(error).partition("\n")[0]
        raise UnexpectedTracerError(what, remedy).with_traceback(error.__traceback__) from None


class CustomCall(Primitive):
    """A call of a function that has rules of its own. Its param `call_jaxpr` is that function: a
    Python function while the call is interpreted, a `ClosedJaxpr` in an equation.

    `functions` are the names of the params that are functions, the called one first. `bind` also
    takes these as a tuple `subfuns`, which is what JAX's `get_bind_params` gives.
    """

    def __init__(self, name: str, *rules: str):
        super().__init__(name, multiple_results=True, memoize_avals=False)
        self.functions = ("call_jaxpr", *rules)

    def bind(self, *args, **params):
        if "subfuns" in params:
            named = (Named(fun, fun_name(fun), getattr(fun, "debug_info", None))
                     for fun in params.pop("subfuns"))
            params |= dict(zip(self.functions, named, strict=True), num_consts=0)
        return super().bind(*args, **params)

    def get_bind_params(self, params: dict) -> dict:
        return bind_params(params, self.functions)

    def impl(self, *args, call_jaxpr, **rules):
        """Run the function. An argument that it returns is returned as an array."""
        args = tuple(x if type(x) in python_scalar_types else ensure_array(x) for x in args)
        with blaming(_CLOSURE):
            outs = as_fun(call_jaxpr)(*args)
        return [ensure_array(out) if any(out is x for x in args) else out for out in outs]

    def abstract_eval(self, *avals, call_jaxpr, **rules):
        for aval, wanted in zip(avals, call_jaxpr.in_avals, strict=True):
            if (aval.shape, aval.dtype) != (wanted.shape, wanted.dtype):
                raise TypeError(f"{self.name} of a function of {wanted.str_short(True)}, but an "
                                f"operand is {aval.str_short(True)}")
        return call_jaxpr.out_avals


def bind_params(params: dict, functions: Sequence[str]) -> dict:
    """The parameters of an equation as JAX's `bind` takes them: called functions as `subfuns`."""
    call_jaxpr, *rules = (params[name] for name in functions)
    info = getattr(call_jaxpr, "jaxpr", call_jaxpr).debug_info
    left = {name: x for name, x in params.items() if name not in (*functions, "num_consts")}
    called = as_fun(ClosedJaxpr(call_jaxpr) if isinstance(call_jaxpr, Jaxpr) else call_jaxpr)
    return left | {"subfuns": (wrap_init(called, debug_info=info), *map(wrap_init, rules))}


def as_fun(call_jaxpr) -> Callable:
    """The function in the param `call_jaxpr`, whichever form it has."""
    return jaxpr_as_fun(call_jaxpr) if isinstance(call_jaxpr, ClosedJaxpr) else call_jaxpr


def stage_function(trace: DynamicJaxprTrace, fun, args) -> tuple[ClosedJaxpr, list]:
    """`fun` as a jaxpr without constants, and the values it closed over: its first arguments."""
    jaxpr = jaxpr_of(fun, [typeof(x) for x in args], fun.debug_info)
    with blaming(_CLOSURE):
        for x in jaxpr.consts:
            trace.atom(x)
    return ClosedJaxpr(convert_constvars_jaxpr(jaxpr.jaxpr)), jaxpr.consts


def run_later(rule: Callable, *args) -> list:
    """The results of a user's rule that is run when a jaxpr is transformed.

    What the rule closed over may belong to a transformation that has finished, or that waits for
    this rule. Where only dead code reads such a value, it does no harm. So the rule is staged, and
    its dead code is dropped. If the rest still reads such a value, the jaxpr that it becomes a part
    of drops its dead code when its trace ends. Values that are not traced stay concrete.
    """
    if not state.trace.staging:
        with blaming(_LATER):
            return rule(*args)
    traced, others, tracers = _tracers_apart(args)

    def of_tracers(*inner):
        outs = rule(*merge_lists(traced, others, inner))
        references = {id(x): outer for x, outer in zip(inner, tracers) if is_reference(x)}
        traced_outs = [isinstance(x, Tracer) and id(x) not in references for x in outs]
        passed, outs = partition_list(traced_outs, outs)
        return outs, (traced_outs, [references.get(id(x), x) for x in passed])

    with blaming(_LATER), unchecked_constants(without_dead_code):
        closed, (traced_outs, other_outs) = trace_to_jaxpr(
            of_tracers, [*map(typeof, tracers)], copy_constants=False)
        outs = eval_jaxpr(closed.jaxpr, closed.consts, *tracers)
    return merge_lists(traced_outs, other_outs, outs)


def _tracers_apart(values: Iterable) -> tuple[list[bool], list, list]:
    """For each value whether it is a tracer; the other values; the tracers."""
    values = [*values]
    traced = [isinstance(x, Tracer) for x in values]
    return traced, *partition_list(traced, values)


def without_literals(operands: Iterable) -> list:
    """The operands of an equation as its rules get them: a literal is an array or a tracer."""
    return [constant(x, typeof(x).dtype, typeof(x).weak_type)
            if isinstance(x, (np.generic, int, float, complex)) else x for x in operands]


def residuals_without_literals(residuals: Iterable) -> list:
    """The residuals of an equation as `bwd` gets them. A number that the trace turned into a
    literal is a concrete array, which `bwd` can still use as a Python integer."""
    with set_current_trace(eval_trace):
        return [x if isinstance(x, (bool, np.bool_)) else without_literals((x,))[0]
                for x in residuals]


def enter_function(trace: PartsTrace, values, *, call_jaxpr, **rules):
    """Transformations that do not use the rules enter the function itself."""
    return trace.call(as_fun(call_jaxpr), values)


def partial_eval_call(trace, primitive, args, params):
    """The rule for partial evaluation. An equation is kept whole, with its rules: it may be
    differentiated later. A Python function that is called on tangents is in a rule already."""
    if isinstance(params["call_jaxpr"], ClosedJaxpr):
        return default_partial_eval(trace, primitive, args, params)
    with set_current_trace(trace):
        return params["call_jaxpr"](*args)


def dce_call(eqn: JaxprEqn, used_outputs: tuple) -> tuple[ClosedJaxpr, tuple[bool, ...]]:
    """The jaxpr of a call with its used outputs only, and which of its inputs it keeps: all but
    values that the function closed over, because the rules may need them."""
    jaxpr, n = eqn.own_params["call_jaxpr"], eqn.own_params["num_consts"]
    keep = (False,) * n + (True,) * (len(jaxpr.in_avals) - n)
    return dce_closed(jaxpr, used_outputs, keep)


def keep_used(used: Sequence[bool], items: Iterable) -> list:
    """The items whose flag is true."""
    return [x for x, flag in zip(items, used) if flag]


# ----------------------------------------------------------------------------------------------
# Batching functions that are called later


class BatchedFun:
    """A flat function, batched when it is called: `.out_dims` are then those of its results.

    `zeros` among arguments and results (`SymbolicZero`s, `Zero`s) pass through.
    """

    def __init__(self, fun: Callable, axis_data: AxisData, in_dims: Sequence, tag):
        self.fun, self.axis_data, self.in_dims, self.tag = fun, axis_data, tuple(in_dims), tag
        self.debug_info = getattr(fun, "debug_info", None)
        self.out_dims: list | None = None

    def __call__(self, *args):
        dims = [None if type(x) is SymbolicZero else d for x, d in zip(args, self.in_dims)]
        args = [SymbolicZero(mapped_aval(self.axis_data.size, d, x.aval))
                if type(x) is SymbolicZero else x for x, d in zip(args, self.in_dims)]
        outs, self.out_dims = batch_subtrace(self.fun, self.axis_data, dims, args, self.tag)
        return outs


def match_batch_dim(axis_data: AxisData, source: int | None, destination: int | None, x):
    """`matchaxis` also for symbolic zeros, whose type is that of one example."""
    if type(x) in (SymbolicZero, Zero):
        return type(x)(unmapped_aval(axis_data.size, destination, x.aval))
    return matchaxis(axis_data, source, destination, x)
