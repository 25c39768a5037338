"""The public names of `jax.interpreters.ad`."""

# chapter 2
from ..forward import (
    JVPTrace,
    JVPTracer,
    Zero,
    add_tangents,
    defbilinear,
    defjvp,
    defjvp2,
    defjvp_zero,
    instantiate_zeros,
    primitive_jvps,
)
from ..primitives.elementwise import add_any_p as add_jaxvals_p
from .. import forward as _forward

# chapter 5
from ..staging import jvp_jaxpr

# chapter 8
from ..transposition import (
    UndefinedPrimal,
    backward_pass,
    is_undefined_primal,
    primitive_transposes,
)
from .. import transposition as _transposition


def deflinear(primitive, transpose_rule):
    """The primitive is linear in all operands; `transpose_rule(ct, **params)` gives the list of
    their cotangents."""
    deflinear2(primitive, lambda ct, *operands, **params: transpose_rule(ct, **params))


def deflinear2(primitive, transpose_rule):
    """As `deflinear`, for a rule `(ct, *operands, **params)`; operands are `UndefinedPrimal`s."""
    _forward.deflinear(primitive)
    _transposition.deflinear2(primitive, transpose_rule)
