"""The parameters of an equation in the form in which interpreters of libraries bind them.

In an equation, a call has its function as a jaxpr, and the rules of that function beside it. For
`bind`, JAX gives all of them as functions: an interpreter may run them or wrap them.
"""

from __future__ import annotations

# chapter 10
from collections.abc import Callable
from typing import Any

from ...compat.linear_util import wrap_init
from ...core.core import Primitive, install_methods
from ...core.jaxpr import ClosedJaxpr, Jaxpr
from ...custom_rules.common import as_fun


def get_bind_params(self: Primitive, params: dict) -> dict:
    """The parameters of an equation as JAX's `bind` takes them: called functions as `subfuns`."""
    names = getattr(self, "functions", ())
    if not names:
        return params
    call_jaxpr, *rules = (params[name] for name in names)
    info = getattr(call_jaxpr, "jaxpr", call_jaxpr).debug_info
    left = {name: x for name, x in params.items() if name not in (*names, "num_consts")}
    return left | {"subfuns": (wrap_init(_called(call_jaxpr), debug_info=info),
                               *map(wrap_init, rules))}


def _called(call_jaxpr: Any) -> Callable:
    """The function that a call calls: its jaxpr, closed or without constants, or the function."""
    return as_fun(ClosedJaxpr(call_jaxpr) if isinstance(call_jaxpr, Jaxpr) else call_jaxpr)


install_methods({"get_bind_params": get_bind_params}, Primitive)
