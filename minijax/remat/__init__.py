"""Chapter 10: `checkpoint`, also called `remat`, saves memory by computing values twice.

The forward pass of reverse mode keeps the residuals, the values that the backward pass will need.
A function under `checkpoint` keeps its arguments instead, and its residuals are computed again when
they are needed. A *policy* names intermediate results that are kept after all.

    policies.py   what may be saved
    names.py      names for values, which policies refer to
    barrier.py    `optimization_barrier`
    choice.py     what is saved, and what is done again
    origins.py    where saved values come from, for messages
    primitive.py  the primitive, with its rules
    function.py   `checkpoint`
    residuals.py  `saved_residuals`, which shows what is saved

Its counterpart in JAX is `jax/_src/ad_checkpoint.py`.
"""

from .policies import (
    Offloadable, checkpoint_policies, everything_saveable, nothing_saveable, products, recompute,
    saveable)
from .names import checkpoint_name, name_p
from .barrier import barrier, optimization_barrier, optimization_barrier_p
from .choice import choose_inside, choose_saved
from .origins import log_saved
from .primitive import remat_p
from .function import checkpoint, remat
from .residuals import print_saved_residuals, saved_residuals
