"""Traces of libraries: the class that JAX shows them.

A library that interprets programs in its own way derives a class from `jax.core.Trace`. It says
by `process_primitive` what an equation means, and by `process_custom_jvp_call` what a call of a
function with a derivative rule means. JAX hands over that function and its rule as `WrappedFun`s.
"""

import functools
from collections.abc import Callable
from typing import Any

from ..core import core
from ..core.core import eval_trace
from ..custom_rules.common import as_fun
from ..custom_rules.linear_util import wrap_init
from . import optional


class _AnyTrace(type):
    """Every trace of ours is an instance of what libraries know as `Trace`."""

    def __instancecheck__(cls, x: object) -> bool:
        return type.__instancecheck__(cls, x) or cls is Trace and isinstance(x, core.Trace)


class Trace(core.Trace, metaclass=_AnyTrace):
    """The base class for traces of libraries.

    Its constructor takes no argument. A trace that stands on another one keeps it as
    `parent_trace`, set before this constructor is called or after.
    """

    def __init__(self) -> None:
        super().__init__(getattr(self, "parent_trace", None) or eval_trace)

    @property
    def parent_trace(self) -> Any:
        """The trace below. A library's class may have an attribute of its own for it."""
        return self.parent

    @parent_trace.setter
    def parent_trace(self, trace: core.Trace) -> None:
        self.parent, self.staging = trace, trace.staging

    def full_raise(self, x: Any) -> Any:
        """A value as this trace takes it. Every trace takes all values."""
        return x

    def is_valid(self) -> bool:
        """Whether the transformation has not finished."""
        return self.valid

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        theirs = vars(cls).get("process_primitive")
        if theirs is not None:
            cls.process_primitive = _as_in_jax(theirs)  # type: ignore[method-assign]


def _as_in_jax(theirs: Callable) -> Callable:
    """`process_primitive` of a library's trace. It gets the parameters that JAX lists, and calls
    of `custom_jvp` by its method for them."""
    @functools.wraps(theirs)
    def process(trace, primitive, tracers, params):
        if primitive.name != "custom_jvp_call" or not hasattr(trace, "process_custom_jvp_call"):
            return theirs(trace, primitive, tracers, optional.listed(primitive, params))
        fun, jvp = wrap_init(as_fun(params["call_jaxpr"])), wrap_init(params["jvp_jaxpr_fun"])
        return trace.process_custom_jvp_call(primitive, fun, jvp, tracers,
                                             symbolic_zeros=params["symbolic_zeros"])

    return process
