"""What programs that extend minijax need, under the names of `jax.extend`."""

# chapter 5
from . import core
