"""`jax.experimental.pallas.triton`, which minijax does not have: kernels for GPUs."""

