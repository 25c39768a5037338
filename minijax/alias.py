"""`minijax.alias.install()`: programs that were written for JAX, on minijax."""

# chapter 16
from .compat.alias import JAX_VERSION, install
