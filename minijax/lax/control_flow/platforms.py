"""Chapter 9: `platform_dependent`, which chooses a function by the platform of the program."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.array import as_array
from ...core.core import Primitive, ShapedArray
from ...core.forward import defjvp_zero
from ...core.lowering import register_lowering
from ..compile_time import is_concrete
from .common import branch_number
from .cond import staged_switch


def platform_dependent(*args, default: Callable | None = None, **per_platform: Callable) -> Any:
    """The value of the function that is for this platform.

    Args:
      *args: the arguments of the functions.
      default: the function for platforms that are not named.
      **per_platform: functions, by the name of their platform: "cpu", "cuda", "rocm", "tpu".

    Raises:
      TypeError: not a function.
      ValueError: a platform "gpu", which would be two.
      NotImplementedError: no function for this platform.

    In a function that is traced, all functions are traced, and the jaxpr shows them. A program
    contains those for its platforms.

    >>> lax.platform_dependent(3.0, cpu=lambda x: x + 1, tpu=lambda x: x + 2)
    4.0
    """
    for name, branch in [*per_platform.items(), *([("default", default)] if default else [])]:
        if not callable(branch):
            raise TypeError(f"lax.platform_dependent: the '{name}' branch must be a callable.")
    if "gpu" in per_platform:
        raise ValueError("Use 'cuda' or 'rocm' for lax.platform_dependent.")
    names = tuple((name,) for name in per_platform) + ((None,) if default else ())
    branches = [*per_platform.values(), *([default] if default else [])]
    index = platform_index_p.bind(platforms=names)
    if is_concrete(index):
        return branches[int(index)](*args)
    if not branches:
        raise TypeError("lax.platform_dependent requires at least one branch; got none. Pass a "
                        "function by the name of its platform, or as `default`.")
    return staged_switch(index, branches, args, branches_platforms=names)


# Which branch is for the platform that a program runs on.
platform_index_p = Primitive("platform_index")
platform_index_p.def_impl(lambda platforms: as_array(np.int32(branch_number(platforms))))
platform_index_p.def_abstract_eval(lambda platforms: ShapedArray((), np.dtype(np.int32)))
defjvp_zero(platform_index_p)
register_lowering(platform_index_p, lambda ctx, platforms: ctx.constant(
    branch_number(platforms), ctx.avals_out[0]))
