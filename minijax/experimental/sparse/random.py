"""Random sparse arrays, where JAX has them."""

from .bcsr import random_bcoo as random_bcoo
