"""The public names of `jax.interpreters.ad`."""

# chapter 2
from ..core.forward import (
    JVPTrace, JVPTracer, Zero, add_tangents, defjvp, defjvp2, defjvp_zero, instantiate_zeros,
    primitive_jvps, zeros as zeros_like_aval)
from ..core.primitives import add_any_p as add_jaxvals_p

# chapter 5
from ..core.staging import jvp_jaxpr

# chapter 8
from ..core.transposition import (
    UndefinedPrimal, backward_pass, is_undefined_primal, primitive_transposes)
from ..core.core import missing_rule as _missing_rule


def get_primitive_transpose(primitive):
    """The primitive's transpose rule.

    Raises:
      NotImplementedError: it has none.
    """
    if primitive not in primitive_transposes:
        raise _missing_rule(primitive, "Transpose (for reverse-mode differentiation)", 8)
    return primitive_transposes[primitive]


def add_jaxvals(x, y):
    """The sum of two tangents or cotangents of one type."""
    return add_jaxvals_p.bind(x, y)


# chapter 9
from ..lax.families import defbilinear, deflinear2


def deflinear(primitive, transpose_rule):
    """The primitive is linear in all operands; `transpose_rule(ct, **params)` gives the list of
    their cotangents."""
    deflinear2(primitive, lambda ct, *operands, **params: transpose_rule(ct, **params))


# chapter 10
from ..compat.params import (  # type: ignore[assignment]  # noqa: F811  (now in JAX's form)
    primitive_jvps,
    primitive_transposes,
)
