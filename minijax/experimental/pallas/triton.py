"""`jax.experimental.pallas.triton`, which minijax does not have: kernels for GPUs."""

from .. import pallas

__getattr__ = pallas.__getattr__
