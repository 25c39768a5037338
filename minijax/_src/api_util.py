"""What e3nn takes from `jax._src.api_util`."""

# chapter 6
from ..checks.arguments import infer_argnums_and_argnames
