"""Chapter 15: running a compiled program that changes references.

The program that XLA compiles is the discharged one. After a run, the references hold its last
results. If a reference alone holds its array, the program gets the array's memory for the new
contents, so that nothing is copied.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

from ..checks.arguments import references_apart
from ..core.extension import Extension, register
from ..core.jaxpr import ClosedJaxpr
from ..core.jit import Spec, compile_module, lower, program_of
from ..core.lowering import LoweredModule
from ..runtime.modules import asked
from .discharge import discharge, is_ref_type
from .primitives import as_contents
from .refs import uses_refs


class RefProgram:
    """A program with references among its arguments: call it with a list of arguments."""

    def __init__(self, jaxpr: ClosedJaxpr, spec: Spec, lowered: _Lowered):
        self.jaxpr, self.spec, self.lowered = jaxpr, spec, lowered
        self.in_avals, self.out_avals = jaxpr.in_avals, jaxpr.out_avals
        self.kept = range(len(self.in_avals))
        self.pure = lowered.pure
        self.is_ref = [*map(is_ref_type, jaxpr.in_avals)]
        info = jaxpr.jaxpr.debug_info
        self.name = f"{info.func_src_info} for jit" if info else spec.name
        self.arg_names = info.arg_names if info else ()

    def __call__(self, args: Sequence) -> list:
        refs = [x for x, ref in zip(args, self.is_ref) if ref]
        n_closed = len(args) - len(self.arg_names)
        references_apart(self.name, args[n_closed:], args[:n_closed], lambda: self.arg_names)
        more = asked(self.spec)._replace(donated_invars=self._donated(args))
        spec = self.spec._replace(more=more)
        values = [x.value if ref else x for x, ref in zip(args, self.is_ref)]
        outs = program_of(self.pure, spec, values)(values)
        n_outs = len(self.out_avals)
        for ref, new in zip(refs, outs[n_outs:]):
            ref.value, ref.is_shared = as_contents(new, ref), False
        return outs[:n_outs]

    @functools.cached_property
    def executable(self) -> Any:
        """XLA's program, for its text and its costs."""
        return compile_module(self.lowered.module, self.pure, dict(self.spec.options)).executable

    def _donated(self, args) -> tuple[bool, ...]:
        donated = asked(self.spec).donated_invars or (False,) * len(args)
        return tuple(not x.is_shared if ref else given
                     for x, ref, given in zip(args, self.is_ref, donated))


class _Lowered:
    """A program with references, before it is compiled: its text is that of the discharged one."""

    def __init__(self, jaxpr: ClosedJaxpr, spec: Spec):
        self.jaxpr, self.spec = jaxpr, spec

    @functools.cached_property
    def pure(self) -> ClosedJaxpr:
        """The discharged program."""
        return discharge(self.jaxpr)

    @functools.cached_property
    def module(self) -> LoweredModule:
        """The discharged program, lowered. It writes the new contents over the old ones."""
        given = asked(self.spec).donated_invars or (False,) * len(self.jaxpr.in_avals)
        donated = tuple(map(operator.or_, given, map(is_ref_type, self.jaxpr.in_avals)))
        return lower(self.pure, self.spec._replace(
            more=asked(self.spec)._replace(donated_invars=donated)))

    @property
    def text(self) -> str:
        """The module as text."""
        return self.module.text


class _Discharging:
    """How a program with references is made."""

    def lower(self, jaxpr: ClosedJaxpr, spec: Spec) -> _Lowered:
        return _Lowered(jaxpr, spec)

    def compile(self, lowered: _Lowered, jaxpr: ClosedJaxpr, options: dict) -> RefProgram:
        spec = lowered.spec._replace(options=tuple(options.items()))
        return RefProgram(jaxpr, spec, lowered)


_discharging = _Discharging()


class Programs(Extension):
    """Programs with references run discharged."""

    def program_places(self, jaxpr, spec, args):
        uses = uses_refs(jaxpr) or any(map(is_ref_type, jaxpr.in_avals))
        return _discharging if uses else None


register(Programs())
