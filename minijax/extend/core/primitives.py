"""The public names of `jax.extend.core.primitives`: every primitive, as `<name>_p`."""

from importlib import import_module as _import_module
from pkgutil import iter_modules as _iter_modules

from ...core.core import Primitive as _Primitive


def _collect(*rooms):
    """Take over the primitives of modules, and of the modules in packages."""
    for room in rooms:
        for name, value in vars(room).items():
            if isinstance(value, _Primitive) and name.endswith("_p"):
                globals()[name] = value
        for module in _iter_modules(getattr(room, "__path__", ())):
            _collect(_import_module(f"{room.__name__}.{module.name}"))


# chapter 1
from ...core import primitives as _starters
from ...core.primitives import add_any_p

_collect(_starters)
add_jaxvals_p = add_any_p  # its older name

# chapter 6
from ...core.jit import jit_p

# chapter 9
from ...lax import control_flow as _control_flow

_collect(_control_flow)

# chapter 10
from ... import custom_rules as _custom_rules
from ...remat import name_p, remat_p

_collect(_custom_rules)

# chapter 11
from ... import lax as _families

_collect(_families)

# chapter 13
from ... import random as _random

_collect(_random)

# chapter 14
from ...parallel.collectives.primitives import (
    all_gather_p, all_to_all_p, axis_index_p, pmax_p, pmin_p, ppermute_p, psum_p)
from ...parallel.programs.sharding_constraint import sharding_constraint_p
from ...parallel.programs.device_put import device_put_p

# chapter 15
from ...state.primitives import get_p, swap_p
from ...debugging.callbacks import debug_callback_p, io_callback_p, pure_callback_p
