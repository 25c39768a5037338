"""The few private names of JAX that its libraries import.

Where JAX has no public name for something, libraries import it from `jax._src`. Each file here
holds what they take from JAX's module of that name. Nothing else of `jax._src` exists, so a program
that imports another gets an `ImportError`.
"""

from . import (
    ad_util,
    api_util,
    array,
    checkify,
    compiler,
    core,
    dispatch,
    distributed,
    dtypes,
    flatten_util,
    state,
    traceback_util,
    tree_util,
)
