"""Chapter 11: what is said to the compiler: functions that it may know by name, values that it must
not leave out, and functions for each platform."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.array import as_array
from ..core.batching import primitive_batchers
from ..core.core import Primitive, ShapedArray, Tracer, typeof
from ..core.effects import Effect, control_flow_allowed_effects, lowerable_effects
from ..core.forward import defjvp_zero, deflinear_jvp, primitive_jvps
from ..core.jaxpr import jaxpr_as_fun
from ..core.lowering import register_lowering, tensor_type
from ..core.transposition import primitive_transposes
from ..core.tree import tree_flatten, tree_leaves
from ..errors import UnexpectedTracerError
from .attributes import HashableArray, attribute_text
from .compile_time import is_concrete
from .control_flow.common import branch_number, stage
from .control_flow.cond import staged_switch

# ----------------------------------------------------------------------------------------------
# composite


def _evaluate(*args, jaxpr, **params):
    return jaxpr_as_fun(jaxpr)(*args)


_NAME = re.compile(r"[a-zA-Z]\w*([.][\w$]+)+", re.ASCII)


def _lower(ctx, *operands, name, attributes, version, jaxpr):
    if not _NAME.fullmatch(name):
        raise ValueError(f"XLA wants the name of a composite to be like 'my_namespace.my_op', got "
                         f"{name!r}.")
    function, outs = ctx.module.function(jaxpr, name)
    operands = [*operands, *ctx.hidden_operands(function)]
    entries = {key: attribute_text(tree.unflatten(leaves)) for key, leaves, tree in attributes
               if tree.unflatten(leaves) is not None}
    given = ", ".join(f"{key} = {text}" for key, text in entries.items())
    options = f"composite_attributes = {{{given}}}, " if given else ""
    decomposition = f"decomposition = @{function.name}"
    if version:  # 0 is what MLIR assumes
        decomposition += f", version = {version} : i32"
    types, results = ", ".join(x.type for x in operands), ", ".join(map(tensor_type, outs))
    return ctx.ops(
        f'stablehlo.composite "{name}" {", ".join(x.name for x in operands)} {{{options}'
        f"{decomposition}}} : ({types}) -> {results if len(outs) == 1 else f'({results})'}", outs)


def _no_rule(kind: str) -> Callable:
    def rule(*args, **params):
        raise ValueError(f"{kind} rule for composite not implemented. You can use `jax.custom_jvp` "
                         "to add support. See https://docs.jax.dev/en/latest/_autosummary/"
                         "jax.custom_jvp.html")

    return rule


composite_p = Primitive("composite", multiple_results=True)
composite_p.def_impl(_evaluate)
composite_p.def_abstract_eval(lambda *args, jaxpr, **params: jaxpr.out_avals)
primitive_jvps[composite_p] = _no_rule("JVP")
primitive_transposes[composite_p] = _no_rule("Transpose")
register_lowering(composite_p, _lower)


def composite(decomposition: Callable, name: str, version: int = 0) -> Callable:
    """A function that the compiler can replace by something better, if it knows its name.

    Args:
      decomposition: what it computes, for compilers that do not know it. Its positional arguments
        are arrays, the keyword arguments known values: the attributes.
      name: under which the compiler sees it.
      version: of that name's meaning.

    Returns:
      a function of the same arguments. It has no derivative, and no batching.

    Raises:
      UnexpectedTracerError: when called: an attribute is traced, or something closed over is.
      ValueError: when compiled: a name without a namespace, as in "my_namespace.my_op".

    >>> tangent = lax.composite(lambda x: jnp.sin(x) / jnp.cos(x), "my.tangent")
    >>> tangent(0.0).item()
    0.0
    """
    @functools.wraps(decomposition)
    def call(*args, **kwargs):
        if any(isinstance(v, Tracer) for v in kwargs.values()):
            raise _traced(name, "an attribute", kwargs)
        leaves, in_tree = tree_flatten(args)
        function = functools.partial(decomposition, **kwargs) if kwargs else decomposition
        staged = stage(function, in_tree, tuple(map(typeof, leaves)), "composite")
        if any(isinstance(x, Tracer) for x in staged.consts):
            raise _traced(name, "a constant", staged.consts)
        outs = composite_p.bind(*staged.consts, *leaves, name=name, version=version,
                                attributes=tuple(map(_flat_attribute, kwargs.items())),
                                jaxpr=staged.jaxpr)
        return staged.out_tree.unflatten(outs)

    return call


def _flat_attribute(item):
    key, value = item
    leaves, tree = tree_flatten(value)
    return key, tuple(HashableArray(x) if isinstance(x, np.ndarray) else x for x in leaves), tree


def _traced(name, what, values):
    return UnexpectedTracerError(
        f"Found a JAX Tracer as {what} in the decomposition for the composite op '{name}'. It is "
        f"among {values}. What is not known when the program is compiled must be passed as a "
        "positional argument.\n\nNote: If you are passing jax arrays as attributes, use numpy "
        "arrays instead.")


# ----------------------------------------------------------------------------------------------
# dce_sink


class NoDCEEffect(Effect):
    """To be there counts as an effect: dead code elimination leaves the equation alone."""

    __slots__ = ()


no_dce_effect = NoDCEEffect()
lowerable_effects.add_type(NoDCEEffect)
control_flow_allowed_effects.add_type(NoDCEEffect)


def _lower_sink(ctx, x, *, prevent_mlir_dce):
    if prevent_mlir_dce:
        ctx.ops(f'stablehlo.custom_call @dce_sink({x.name}) {{backend_config = "", '
                f"has_side_effect = true, mhlo.backend_config = {{}}}} : ({x.type}) -> ()", [])
    return []


dce_sink_p = Primitive("dce_sink", multiple_results=True)
dce_sink_p.def_effectful_abstract_eval(lambda x, **params: ([], {no_dce_effect}))
dce_sink_p.def_impl(lambda x, **params: [])
deflinear_jvp(dce_sink_p)
primitive_transposes[dce_sink_p] = lambda cts, x, **params: [None]
primitive_batchers[dce_sink_p] = lambda args, dims, **params: ([], [])
register_lowering(dce_sink_p, _lower_sink)


def dce_sink(val, *, prevent_mlir_dce: bool = False) -> None:
    """Keep the equations that compute `val` in the jaxpr, although nothing uses it.

    Args:
      val: a tree of arrays.
      prevent_mlir_dce: whether to keep them in the compiled program as well.

    >>> print(jax.make_jaxpr(lambda x: lax.dce_sink(2 * x))(1.0))
    { lambda ; a:f32[]. let
        b:f32[] = mul 2.0:f32[] a
        dce_sink[prevent_mlir_dce=False] b
      in () }
    """
    for leaf in tree_leaves(val):
        dce_sink_p.bind(leaf, prevent_mlir_dce=prevent_mlir_dce)


# ----------------------------------------------------------------------------------------------
# platform_dependent


def platform_dependent(*args, default: Callable | None = None, **per_platform: Callable) -> Any:
    """The value of the function that is for this platform.

    Args:
      *args: the arguments of the functions.
      default: the function for platforms that are not named.
      **per_platform: functions, by the name of their platform: "cpu", "cuda", "rocm", "tpu".

    Raises:
      TypeError: not a function.
      ValueError: a platform "gpu", which would be two.
      NotImplementedError: no function for this platform.

    In a function that is traced, all functions are traced, and the jaxpr shows them. A program
    contains those for its platforms.

    >>> lax.platform_dependent(3.0, cpu=lambda x: x + 1, tpu=lambda x: x + 2)
    4.0
    """
    for name, branch in [*per_platform.items(), *([("default", default)] if default else [])]:
        if not callable(branch):
            raise TypeError(f"lax.platform_dependent: the '{name}' branch must be a callable.")
    if "gpu" in per_platform:
        raise ValueError("Use 'cuda' or 'rocm' for lax.platform_dependent.")
    names = tuple((name,) for name in per_platform) + ((None,) if default else ())
    branches = [*per_platform.values(), *([default] if default else [])]
    index = platform_index_p.bind(platforms=names)
    if is_concrete(index):
        return branches[int(index)](*args)
    if not branches:
        raise TypeError("lax.platform_dependent requires at least one branch; got none. Pass a "
                        "function by the name of its platform, or as `default`.")
    return staged_switch(index, branches, args, branches_platforms=names)


# Which branch is for the platform that a program runs on.
platform_index_p = Primitive("platform_index")
platform_index_p.def_impl(lambda platforms: as_array(np.int32(branch_number(platforms))))
platform_index_p.def_abstract_eval(lambda platforms: ShapedArray((), np.dtype(np.int32)))
defjvp_zero(platform_index_p)
register_lowering(platform_index_p, lambda ctx, platforms: ctx.constant(
    branch_number(platforms), ctx.avals_out[0]))
