"""The public names of `jax.extend.linear_util`."""

# chapter 10
from ..compat.absent import with_absent_names as _with_absent_names
from ..custom_rules.linear_util import (
    StoreException, WrappedFun, transformation, transformation2, transformation_with_aux,
    transformation_with_aux2, wrap_init)

__getattr__ = _with_absent_names(__name__)
