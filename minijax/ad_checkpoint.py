"""The public names of `jax.ad_checkpoint`."""

# chapter 10
from .remat import (
    Offloadable, checkpoint, checkpoint_name, checkpoint_policies, print_saved_residuals,
    recompute as Recompute, remat, saveable as Saveable, saved_residuals)
