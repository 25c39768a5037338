"""What flax and orbax take from `jax._src.tree_util`."""

# chapter 3
from ..core.tree import registry as _registry
from ..pytree.functions import flatten_one_level
