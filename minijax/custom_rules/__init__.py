"""Chapter 10: rules that the user writes.

`jvp.py` holds `custom_jvp`, `vjp.py` `custom_vjp`, `gradient.py` `custom_gradient`, `closures.py`
what makes closures explicit, `vmap.py` `custom_vmap`, `solves.py` implicit differentiation:
`custom_root` and `custom_linear_solve`. Each primitive stands with all its rules in one file.
"""

from .common import SymbolicZero, zero_from_primal
from .jvp import custom_jvp, custom_jvp_call_p
from .vjp import (
    CustomVJPException, CustomVJPPrimal, custom_vjp, custom_vjp_call_p,
    custom_vjp_primal_tree_values)
from .gradient import custom_gradient
from .closures import closure_convert
from .calls import CallPrimitive, call_p, closed_call_p
from .vmap import custom_vmap, custom_vmap_p, sequential_vmap
from .solves import custom_linear_solve, custom_root, linear_solve_p
