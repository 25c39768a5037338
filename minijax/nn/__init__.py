"""Chapter 13: the parts of neural networks, under `jax.nn`'s names."""

from ..compat.first_use import public_names as _public_names

from ..numpy._softmax import logsumexp, softmax
from ..numpy._ufuncs import tanh
from .activations import (
    celu, elu, gelu, glu, hard_sigmoid, hard_silu, hard_swish, hard_tanh, identity, leaky_relu,
    log1mexp, log_sigmoid, log_softmax, logmeanexp, mish, one_hot, relu, relu6, selu, sigmoid, silu,
    soft_sign, softplus, sparse_plus, sparse_sigmoid, squareplus, standardize, swish)
from .attention import dot_product_attention
from . import initializers

__all__ = _public_names(__name__, ["initializers"])


def __dir__() -> list[str]:
    return __all__
