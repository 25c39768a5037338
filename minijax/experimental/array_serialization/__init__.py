"""`jax.experimental.array_serialization`: the interface that checkpoint libraries build on.

JAX's own way of writing arrays to files needs `tensorstore`, and is not here; libraries bring
theirs.
"""

from . import serialization
