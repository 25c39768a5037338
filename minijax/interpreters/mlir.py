"""The public names of `jax.interpreters.mlir`: StableHLO here is text, see `minijax.xla`."""

# chapter 6
from ..xla import lowering as _lowering


def register_lowering(primitive, rule, platform=None, inline=True, cacheable=True):
    """Give a primitive its lowering rule: `(ctx, *operands, **params)` -> its result(s).

    Args:
      primitive: a `Primitive`.
      rule: from `lower_fun`, or written by hand: operands are `minijax.xla.lowering.Value`s, and
        `ctx.op(text, aval)` appends an operation. It returns a value, or a sequence of them.
      platform: where the rule is for. XLA is driven on "cpu" here: rules for others are not kept.
      inline, cacheable: accepted for JAX's sake.

    >>> double_p = jax.extend.core.Primitive("double")
    >>> register_lowering(double_p, lower_fun(lambda x: x + x, multiple_results=False))
    """

    def lower(ctx, *operands, **params):
        out = rule(ctx, *operands, **params)
        if primitive.multiple_results or not isinstance(out, (list, tuple)):
            return out
        (out,) = out
        return out

    if platform in (None, "cpu"):
        _lowering.register_lowering(primitive, lower)


def lower_fun(fun, multiple_results=True):
    """A lowering rule made of `fun`, which computes on arrays what the primitive means.

    Args:
      fun: `(*arrays, **params)` -> an array, or a sequence of arrays if `multiple_results`.
    """
    return _lowering.lower_fun(fun, multiple_results)
