"""What chex takes from `jax._src.compiler`: the function that compiles.

`chex.restrict_backends` puts another function in its place here, which refuses some platforms.
"""

# chapter 6
from ..runtime import backend_compile_and_load
