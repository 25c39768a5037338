"""The engine, chapters 1 to 8. Here are the public names of `jax.core`."""

# chapter 1
from .core import (
    ArrayMethods, EvalTrace, Primitive, ShapedArray, Tracer,
    current_trace, eval_trace, missing_rule, new_trace, set_current_trace, state, typeof,
)

# chapter 5
from .jaxpr import Atom, DropVar, Effects, Literal, Var, eval_jaxpr, no_effects
from ..text.debug_info import DebugInfo

ParamDict = dict

# Public names of `jax.core` that later rooms define, and put here.
later: dict = {}


# Names that JAX removed -> what to use in their place.
removed: dict = {}


def __getattr__(name):
    if name in later:
        return later[name]
    if name in removed:
        raise AttributeError(f"jax.core.{name} was removed from JAX. Use {removed[name]}.")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
