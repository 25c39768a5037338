"""Chapter 6: how does a Python function become a compiled program?

    jit : (a → b) → (a → b)

    call → trace → jaxpr → lower → StableHLO → compile → program → run
           └ cache: signature → jaxpr            └ cache: jaxpr → program

A jitted function is traced once for each signature (`traced.py`). Under another transformation
the traced function becomes one equation, `jit`, with its jaxpr as a parameter. Outside of all
transformations the jaxpr is compiled, and the program runs on the arguments' buffers. Both caches
are weak: traces live as long as the function, programs as long as the jaxpr.

XLA computes asynchronously. A call returns at once, with buffers that are still being filled; an
`Array` that holds such a buffer waits for it when its contents are needed.

The counterparts in JAX are `jax/_src/pjit.py`, `jax/_src/interpreters/pxla.py` and
`jax/_src/dispatch.py`.
"""

from __future__ import annotations

import functools
import threading
import types
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import settings
from ..checks import array as checks
from ..runtime import timed, xla
from ..source import fun_name
from . import lowering_rules as lowering_rules  # gives the starters their rules
from .array import Array
from .boundary import api_boundary
from .calls import around, call_rules
from .core import Primitive, ShapedArray, eval_trace, state
from .dtypes import float0
from .extension import hooks
from .jaxpr import ClosedJaxpr, eval_jaxpr
from .lowering import LoweredModule, Module, lower_jaxpr, register_lowering, stored, stored_contents
from .traced import Call, Options, TracedFunction, Tracing

# ----------------------------------------------------------------------------------------------
# The primitive, and its rules


jit_p = Primitive("jit", multiple_results=True, memoize_avals=False)


def _evaluate(*args, jaxpr, **params):
    if settings.disable_jit.value:
        return eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args)
    return program_of(jaxpr, Spec(**params), args)(args)


jit_p.def_abstract_eval(lambda *avals, jaxpr, **params: jaxpr.out_avals)
jit_p.def_impl(around("evaluation", jit_p, _evaluate))
# Parameters that later rooms add may have an entry for each operand.
call_rules(jit_p, "jaxpr", by_operand=around("operands", jit_p, lambda *sources: {}))
# Each jaxpr is lowered to one function of the module, and each equation to a call of it.
register_lowering(jit_p, around("lowering", jit_p, lambda ctx, *xs, jaxpr, name, **params:
                                ctx.call(jaxpr, xs, name)))

# ----------------------------------------------------------------------------------------------
# Lower and compile: from a jaxpr to a program


class Spec(NamedTuple):
    """What a program depends on besides its jaxpr: part of the key under which it is kept.

    `options` are for the compiler. `more` belongs to `runtime/jit.py`, as that of `Options` does.
    """

    name: str
    keep_unused: bool = False
    options: tuple[tuple[str, Any], ...] = ()
    more: Any = None


class Program:
    """A compiled jaxpr: call it with a list of arrays for a list of arrays.

    XLA gets the arguments whose numbers are in `kept`, and then the `constants`. Arguments in
    `donated` give their memory away.
    """

    __slots__ = ("executable", "run", "in_avals", "out_avals", "kept", "constants", "donated")

    def __init__(self, executable: Any, module: LoweredModule, jaxpr: ClosedJaxpr):
        self.executable, self.run = executable, runner(executable, jaxpr.effects)
        self.in_avals, self.out_avals = jaxpr.in_avals, jaxpr.out_avals
        self.kept, self.donated = module.kept, module.donated
        self.constants = [buffer_of(x, aval) for x, aval in module.hoisted]

    def __call__(self, args: Sequence) -> list:
        in_avals = self.in_avals
        buffers = [buffer_of(args[i], in_avals[i]) for i in self.kept]
        outs = self.run(buffers + self.constants)
        for i in self.donated:
            if isinstance(args[i], Array):
                args[i].delete()
        return [*map(array_of, outs, self.out_avals)]


def runner(executable: Callable, effects: frozenset) -> Callable:
    """The function of buffers that starts a program; an extension runs those with effects."""
    for run_with_effects in hooks.run_with_effects if effects else ():
        return functools.partial(run_with_effects, executable, effects)
    return executable


def buffer_of(x: Any, aval: ShapedArray) -> Any:
    """An XLA buffer with the contents of an argument of this type; an `Array` keeps its own."""
    if type(x) is not Array:
        return xla().put(stored_contents(x, aval), stored(aval))
    if x._buffer is None:
        checks.alive(x)
        value, inside = np.asarray(x._host), stored(aval)
        # XLA would take any bytes. What a wrong evaluation rule made must not get that far.
        assert (value.shape, value.dtype) == (inside.shape, inside.dtype), (value, aval)
        x._buffer = xla().put(value, inside, owned=True)
    return x._buffer


def array_of(buffer: Any, aval: ShapedArray) -> Any:
    """A result of a program. XLA may still be computing it."""
    return np.zeros(aval.shape, float0) if aval.dtype == float0 else Array(None, aval, buffer)


def lower(jaxpr: ClosedJaxpr, spec: Spec) -> LoweredModule:
    """The StableHLO module of a jaxpr."""
    with timed("jaxpr_to_mlir_module", f"jit({spec.name})", jaxpr.in_avals):
        module = Module(f"jit_{spec.name}")
        for program_module in hooks.program_module:
            module = program_module(module, jaxpr, spec)
        return lower_jaxpr(jaxpr, spec.name, spec.keep_unused, module)


def compile_module(module: LoweredModule, jaxpr: ClosedJaxpr, options: dict) -> Program:
    """The program of a module."""
    with timed("backend_compile", f"jit({module.fun_name})"):
        executable = xla().compile(module.text, [*map(stored, jaxpr.out_avals)], options=options,
                                   **module.for_compiler)
    return Program(executable, module, jaxpr)


def program_of(jaxpr: ClosedJaxpr, spec: Spec, args: Sequence) -> Program:
    """The compiled program of a jaxpr for these arguments."""
    places = places_of(jaxpr, spec, args)
    make_module = lower if places is None else places.lower
    return kept_program(jaxpr, spec, places, lambda: make_module(jaxpr, spec))


def kept_program(jaxpr: ClosedJaxpr, spec: Spec, places: Any, make_module: Callable) -> Program:
    """The program of the module that `make_module` makes, kept while the jaxpr lives."""
    cache = settings.cache_of(jaxpr, (spec, places, settings.trace_context()))
    compile = compile_module if places is None else places.compile
    with cache.setdefault("lock", threading.RLock()):  # the first thread compiles, others wait
        program = cache.get("program") or compile(make_module(), jaxpr, dict(spec.options))
        return settings.remember(cache, "program", program)


def places_of(jaxpr: ClosedJaxpr, spec: Spec, args: Sequence) -> Any:
    """Where an extension wants the program to run; `None` for the default device."""
    wanted = (program_places(jaxpr, spec, args) for program_places in hooks.program_places)
    return next((places for places in wanted if places is not None), None)


# ----------------------------------------------------------------------------------------------
# The jitted function


class JitFunction(TracedFunction):
    """What `jit` returns: called like the function it wraps.

    The full `jax.jit` returns a subclass (`runtime/jit.py`). Outside of all transformations, from
    the second call of a signature on, it runs the program without the steps of `__call__`.
    """

    __slots__ = ("__dict__", "__weakref__")

    def __init__(self, fun: Callable, options: Options):
        functools.update_wrapper(self, fun, updated=())
        super().__init__(fun, options)

    @api_boundary
    def __call__(self, *args, **kwargs):
        if settings.disable_jit.value:
            return self._fun(*args, **kwargs)
        call = self._call(args, kwargs)
        tracing = self._traced(call)
        alone = state.trace is eval_trace and not tracing.outer_tracers
        # Extensions that look at results see the call as the evaluation of one primitive.
        run = self._run if alone and not hooks.after_evaluation else self._bind
        return tracing.out_tree.unflatten(run(call, tracing))

    def _run(self, call: Call, tracing: Tracing) -> list:
        """Run the compiled program."""
        return self._program(call, tracing)(call.leaves)

    def _program(self, call: Call, tracing: Tracing) -> Program:
        return program_of(tracing.jaxpr, self._spec(call, tracing), call.leaves)

    def _bind(self, call: Call, tracing: Tracing) -> list:
        """Let the current trace interpret the call, as one primitive."""
        args = *tracing.outer_tracers, *call.leaves
        return jit_p.bind(*args, jaxpr=tracing.jaxpr, **self._params(call, tracing))

    def _params(self, call: Call, tracing: Tracing) -> dict[str, Any]:
        """The other parameters of the primitive."""
        return {"name": fun_name(self._fun)}

    def _spec(self, call: Call, tracing: Tracing) -> Spec:
        return Spec(fun_name(self._fun))

    def __get__(self, obj, objtype=None):
        """As a method: bound to the object, like any function."""
        return self if obj is None else types.MethodType(self, obj)


def jit(fun: Callable, static_argnums: Sequence[int] = (),
        static_argnames: Sequence[str] = ()) -> JitFunction:
    """A function that is compiled by XLA when it is first called, and then runs compiled.

    This is `jax.jit` with the options that its idea needs; `runtime/jit.py` has all of them.

    Args:
      fun: a function of pytrees of arrays that returns one.
      static_argnums, static_argnames: positions and names of arguments that are part of the
        program: any hashable values. A new value makes a new program.
    """
    return JitFunction(fun, Options(tuple(static_argnums), tuple(static_argnames)))
