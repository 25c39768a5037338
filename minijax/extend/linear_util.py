"""The public names of `jax.extend.linear_util`."""

# chapter 10
from ..custom_rules.linear_util import (
    StoreException,
    WrappedFun,
    cache,
    merge_linear_aux,
    transformation,
    transformation2,
    transformation_with_aux,
    transformation_with_aux2,
    wrap_init,
)
