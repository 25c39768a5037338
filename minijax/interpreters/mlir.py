"""The public names of `jax.interpreters.mlir`: StableHLO here is text, see `minijax.core`."""

# chapter 6
from ..compat import optional as _optional
from ..runtime.effect_sets import lowerable_effects
from ..core import lowering as _lowering
from ..core.lowering import Body as LoweringRuleContext, Value, tensor_type as _tensor_type


class _ModuleContext:
    """What a rule may ask of the module, in JAX's words. A program keeps what it calls alive."""

    def add_keepalive(self, keepalive) -> None:
        """Accepted for JAX's sake."""


_PLATFORMS = ("cpu", "cuda", "gpu", "oneapi", "rocm", "tpu")


def register_lowering(prim, rule, platform=None, inline=True, cacheable=True):
    """Give a primitive its lowering rule: `(ctx, *operands, **params)` -> its result(s).

    Args:
      prim: a `Primitive`.
      rule: from `lower_fun`, or written by hand: operands are `minijax.core.lowering.Value`s, and
        `ctx.op(text, aval)` appends an operation. It returns a value, or a sequence of them.
        `ctx.avals_in` and `ctx.avals_out` are the abstract values of the operands and results.
      platform: where the rule is for. XLA is driven on "cpu" here: rules for others are not kept.
      inline, cacheable: accepted for JAX's sake.

    Raises:
      NotImplementedError: there is no such platform.

    >>> double_p = jax.extend.core.Primitive("double")
    >>> register_lowering(double_p, lower_fun(lambda x: x + x, multiple_results=False))
    """

    def lower(ctx, *operands, **params):
        outside = vars(ctx).get("avals_in")
        ctx.avals_in, ctx.module_context = [x.aval for x in operands], _ModuleContext()
        out = rule(ctx, *operands, **_optional.listed(prim, params))
        ctx.avals_in = outside
        if prim.multiple_results or not isinstance(out, (list, tuple)):
            return out
        (out,) = out
        return out

    if platform is not None and platform not in _PLATFORMS:
        raise NotImplementedError(
            f"Registering an MLIR lowering rule for primitive {prim} for an unknown platform "
            f"{platform}. Known platforms are: {', '.join(_PLATFORMS)}.")
    if platform in (None, "cpu"):
        _lowering.register_lowering(prim, lower)


def aval_to_ir_type(ctx, aval=None) -> str:
    """The type of an array in StableHLO, as text. `ctx` may be left out.

    >>> jax.interpreters.mlir.aval_to_ir_type(jax.typeof(jnp.ones((2, 3))))
    'tensor<2x3xf32>'
    """
    return _tensor_type(ctx if aval is None else aval)


# chapter 9
from collections.abc import Callable as _Callable

from ..lax.families import lower_fun as _lower_fun


def _without_references(fun: _Callable, multiple_results: bool) -> _Callable:
    """`fun`: there are no references yet."""
    return fun


def lower_fun(fun, multiple_results=True):
    """A lowering rule made of `fun`, which computes on arrays what the primitive means.

    Args:
      fun: `(*arrays, **params)` -> an array, or a sequence of arrays if `multiple_results`.
    """
    return _lower_fun(_without_references(fun, multiple_results), multiple_results)


# chapter 15
from ..debugging.host_calls import call_python as _call_python
from ..lax.control_flow.tokens import ordered_token as _ordered_token
from ..state.discharge import pure_function as _without_references


def emit_python_callback(ctx, callback, token, operands, operand_avals, result_avals, *,
                         has_side_effect, returns_token=True, partitioned=False, sharding=None):
    """Have the program call a Python function, in a lowering rule.

    Args:
      ctx: the rule's context.
      callback: from NumPy arrays to a tuple of NumPy arrays of exactly the declared types.
      token: not `None` if the call is to happen in the order of the program.
      operands: the values to hand over; `operand_avals` their types.
      result_avals: the types of the results.
      has_side_effect: whether it has to be called though nobody reads the results.
      partitioned: whether each device calls it with its own part of the operands.
      returns_token, sharding: accepted for JAX's sake.

    Returns:
      the results, the next token (or `None`), and the function.
    """
    results = _call_python(
        ctx, callback, operands, result_avals, has_side_effect, token is not None, partitioned)
    return results, _ordered_token(ctx) if token is not None else None, callback
