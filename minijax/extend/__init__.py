"""What programs that extend minijax need, under the names of `jax.extend`."""

# chapter 5
from . import core, linear_util, source_info_util

# chapter 6
from . import backend

# chapter 13
from . import random
