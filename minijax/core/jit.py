"""Chapter 6: how does a Python function become a compiled program?

    jit : (a → b) → (a → b)

    call → trace → jaxpr → lower → StableHLO → compile → program → run
           └ cache: signature → jaxpr            └ cache: jaxpr → program

A jitted function is traced once for each signature: the structure of its arguments, the avals of
their leaves, the values of the static ones, and the settings that tracing obeys. Under another
transformation the traced function becomes one equation, `jit`, with its jaxpr as a parameter.
Outside of all transformations the jaxpr is compiled, and the program runs on the arguments'
buffers. Both caches are weak: traces live as long as the function, programs as long as the jaxpr.

XLA computes asynchronously. A call returns at once, with buffers that are still being filled; an
`Array` that holds such a buffer waits for it when its contents are needed.

The counterparts in JAX are `jax/_src/pjit.py`, `jax/_src/interpreters/pxla.py` and
`jax/_src/dispatch.py`.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import time
import types
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import settings
from ..checks import jit as checks
from ..checks.arguments import (
    check_callable,
    fun_signature,
    resolve_argnums,
    weak_arg_names,
)
from ..errors import DebugInfo, api_boundary, fun_name, fun_sourceinfo
from ..runtime import xla
from .array import Array
from .calls import call_rules
from .core import Primitive, ShapedArray, Tracer, eval_trace, state
from .dtypes import float0
from .extension import hooks
from .jaxpr import ClosedJaxpr, eval_jaxpr
from .lowering import LoweredModule, contents, lower_jaxpr, register_lowering, stored
from .staging import abstractify_args, staging_rules, trace_to_jaxpr
from .tree import (
    PyTreeDef,
    flatten_fun,
    positive_argnums,
    split_statics,
    tree_flatten,
    with_statics,
)

if TYPE_CHECKING:
    from ..runtime.stages import Lowered, Traced

# ----------------------------------------------------------------------------------------------
# The primitive, and its rules


jit_p = Primitive("jit", multiple_results=True, memoize_avals=False)


@jit_p.def_impl
def _evaluate(*args, jaxpr, name, donated_invars, keep_unused, inline):
    if settings.disable_jit.value:
        return eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args)
    return program_of(jaxpr, Spec(name, donated_invars, keep_unused), args)(args)


@jit_p.def_abstract_eval
def _result_types(*avals, jaxpr, **params):
    return jaxpr.out_avals


def _stage(trace, args, params):
    """One equation, unless the function asked to be written out."""
    if params["inline"]:
        return eval_jaxpr(params["jaxpr"].jaxpr, params["jaxpr"].consts, *args)
    return trace.default_process_primitive(jit_p, args, params)


staging_rules[jit_p] = _stage


def _donation(params, in_sources, out_sources, shared) -> dict:
    """An operand of a transformed call is donated if the operand that it comes from is donated. If
    the call is split, nothing is, because the other part may need the buffer."""
    old = params["donated_invars"]
    return {"donated_invars": tuple(not shared and i is not None and old[i] for i in in_sources)}


call_rules(jit_p, "jaxpr", _donation)


def _lower(ctx, *operands, jaxpr, name, **params):
    """The call of a function that holds the jaxpr, one for all calls of the same jaxpr."""
    return ctx.call(jaxpr, operands, name)


register_lowering(jit_p, _lower)

# ----------------------------------------------------------------------------------------------
# Trace: from a signature to a jaxpr


class Options(NamedTuple):
    """How a function is jitted; part of the caches' keys.

    `placement` belongs to chapter 14: the devices and shardings that the user asked for.
    """

    static_argnums: tuple[int, ...] = ()
    static_argnames: tuple[str, ...] = ()
    donate_argnums: tuple[int, ...] = ()
    donate_argnames: tuple[str, ...] = ()
    keep_unused: bool = False
    inline: bool = False
    compiler_options: tuple[tuple[str, Any], ...] = ()
    placement: Any = None


class Call(NamedTuple):
    """The arguments of one call, taken apart."""

    args: tuple  # the traced arguments
    kwargs: dict
    statics: tuple  # (position or name, value, type of the value) for each static argument
    leaves: list  # of (args, kwargs)
    in_tree: PyTreeDef


class Tracing(NamedTuple):
    """A traced function: its jaxpr, and the structure of its result.

    `outer_tracers` are the tracers of outer traces that the function closed over. They are the
    jaxpr's first arguments.
    """

    jaxpr: ClosedJaxpr
    out_tree: PyTreeDef
    outer_tracers: tuple


def trace(fun: Callable, call: Call, in_avals: Sequence) -> Tracing:
    """Trace a function at arguments of these types."""
    flat_fun, out_tree = flatten_fun(with_statics(fun, by_place(call.statics)), call.in_tree)
    names = weak_arg_names(fun, call.in_tree, by_place(call.statics))
    jaxpr = trace_to_jaxpr(flat_fun, in_avals, DebugInfo("jit", fun_sourceinfo(fun), names))
    if not any(isinstance(c, Tracer) for c in jaxpr.consts):
        return Tracing(jaxpr, out_tree(), ())
    inner = jaxpr.jaxpr
    lifted = inner.replace(constvars=[], invars=inner.constvars + inner.invars)
    return Tracing(ClosedJaxpr(lifted, ()), out_tree(), tuple(jaxpr.consts))


def by_place(statics: tuple) -> dict[int | str, Any]:
    """The static arguments of a `Call` by position or name."""
    return {place: value for place, value, _ in statics}


_CACHE_LIMIT = 4096
_lock = threading.Lock()
_caches: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def cache_of(fun: Callable, key: Any) -> dict:
    """The dictionary that belongs to `fun` and `key` as long as `fun` lives."""
    try:
        with _lock:
            return _caches.setdefault(fun, {}).setdefault(key, {})
    except TypeError:  # `fun` has no hash, or takes no weak references
        return {}


def remember(cache: dict, key: Any, value: Any) -> Any:
    """Enter `value`, unless another thread was faster; returns the entry."""
    with _lock:
        if len(cache) >= _CACHE_LIMIT:
            cache.clear()
        return cache.setdefault(key, value)


def clear_caches() -> None:
    """Forget all traces and compiled programs."""
    with _lock:
        for caches in _caches.values():
            for cache in caches.values():
                cache.clear()


# ----------------------------------------------------------------------------------------------
# Lower and compile: from a jaxpr to a program


class Spec(NamedTuple):
    """What a program depends on besides its jaxpr: part of the key under which it is kept."""

    name: str
    donated: tuple[bool, ...]
    keep_unused: bool
    options: tuple[tuple[str, Any], ...] = ()
    placement: Any = None


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
        return xla().put(contents(x, aval), stored(aval))
    if x._buffer is None:
        x._check_alive()
        value, inside = np.asarray(x._value), stored(aval)
        # XLA would take any bytes. What a wrong evaluation rule made must not get that far.
        assert (value.shape, value.dtype) == (inside.shape, inside.dtype), (value, aval)
        x._buffer = xla().put(value, inside, owned=True)
    return x._buffer


def array_of(buffer: Any, aval: ShapedArray) -> Any:
    """A result of a program. XLA may still be computing it."""
    return np.zeros(aval.shape, float0) if aval.dtype == float0 else Array(None, aval, buffer)


@contextlib.contextmanager
def timed(what: str, event: str) -> Iterator[None]:
    """Tell extensions how long the block took."""
    start = time.perf_counter()
    yield
    for record_duration in hooks.record_duration:
        record_duration(f"/jax/core/compile/{event}_duration", time.perf_counter() - start, what)


def lower(jaxpr: ClosedJaxpr, spec: Spec) -> LoweredModule:
    """The StableHLO module of a jaxpr."""
    with timed(f"Finished translating {spec.name} to StableHLO", "jaxpr_to_mlir_module"):
        module = lower_jaxpr(jaxpr, spec.name, spec.donated, spec.keep_unused, locations=True)
    checks.donations(jaxpr, module)
    return module


def compile_module(module: LoweredModule, jaxpr: ClosedJaxpr, options: dict) -> Program:
    """The program of a module."""
    with timed(f"Finished XLA compilation for argument types {jaxpr.in_avals}", "backend_compile"):
        executable = xla().compile(module.text, [*map(stored, jaxpr.out_avals)], options=options,
                                   **module.for_compiler)
    return Program(executable, module, jaxpr)


def program_of(jaxpr: ClosedJaxpr, spec: Spec, args: Sequence) -> Program:
    """The compiled program of a jaxpr for these arguments, kept while the jaxpr lives."""
    places = places_of(jaxpr, spec, args)

    def make():
        if places is not None:
            return places.compile(places.lower(jaxpr, spec), jaxpr, dict(spec.options))
        return compile_module(lower(jaxpr, spec), jaxpr, dict(spec.options))

    with _lock:
        once = _programs.setdefault(jaxpr, {}).setdefault((spec, places), _Once())
    return once.get(make)


def places_of(jaxpr: ClosedJaxpr, spec: Spec, args: Sequence) -> Any:
    """Where an extension wants the program to run; `None` for the default device."""
    wanted = (places(jaxpr, spec, args) for places in hooks.program_places)
    return next((places for places in wanted if places is not None), None)


class _Once:
    """A result that the first thread to ask computes, while the others wait for it."""

    __slots__ = ("lock", "value")

    def __init__(self):
        self.lock, self.value = threading.Lock(), None

    def get(self, make: Callable):
        with self.lock:
            if self.value is None:
                self.value = make()
            return self.value


_programs: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def forget_programs() -> None:
    """Drop all compiled programs."""
    with _lock:
        _programs.clear()


# ----------------------------------------------------------------------------------------------
# The jitted function


class JitFunction:
    """What `jit` returns: called like the function it wraps; its methods show the stages."""

    __slots__ = ("_fun", "_options", "_traces", "__dict__", "__weakref__")

    def __init__(self, fun: Callable, options: Options):
        functools.update_wrapper(self, fun, updated=())
        for name, value in getattr(fun, "__dict__", {}).items():
            if not hasattr(self, name):  # an attribute of `fun` must not hide a method
                self.__dict__[name] = value
        self._fun, self._options = fun, options
        self._traces = cache_of(fun, options)

    @api_boundary
    def __call__(self, *args, **kwargs):
        if settings.disable_jit.value:
            return self._fun(*args, **kwargs)
        call = self._call(args, kwargs)
        tracing = self._traced(call)
        if state.trace is eval_trace and not tracing.outer_tracers and not hooks.after_evaluation:
            outs = self._run(call, tracing)
        else:
            outs = self._bind(call, tracing)
        return tracing.out_tree.unflatten(outs)

    def _call(self, args, kwargs) -> Call:
        args, kwargs, statics = self._split(args, kwargs)
        return Call(args, kwargs, statics, *tree_flatten((args, kwargs)))

    def _split(self, args, kwargs) -> tuple[tuple, dict, tuple]:
        """Separate the static arguments from the others."""
        numbers = static_positions(self._options.static_argnums, len(args))
        args, kwargs, statics = split_statics(
            args, kwargs, numbers, self._options.static_argnames)
        return args, kwargs, tuple([(place, x, type(x)) for place, x in statics.items()])

    def _traced(self, call: Call) -> Tracing:
        """The function traced at the types of these arguments."""
        checks.static_arguments(call.statics)
        names = weak_arg_names(self._fun, call.in_tree, by_place(call.statics))
        in_avals = abstractify_args(self._fun, call.leaves, names)
        axes = tuple(state.axis_sizes.items())
        key = (call.in_tree, settings.trace_context(), call.statics, axes, *in_avals)
        tracing = self._traces.get(key)
        if tracing is None:
            checks.may_trace(self._fun)
            tracing = self._trace(call, in_avals)
            if not tracing.outer_tracers:  # the next call has other ones
                tracing = remember(self._traces, key, tracing)
        return tracing

    def _trace(self, call: Call, in_avals: Sequence) -> Tracing:
        return trace(self._fun, call, in_avals)

    def _run(self, call: Call, tracing: Tracing) -> list:
        """Run the compiled program."""
        return self._program(call, tracing)(call.leaves)

    def _program(self, call: Call, tracing: Tracing) -> Program:
        return program_of(tracing.jaxpr, self._spec(call, tracing), self._placed(call))

    def _placed(self, call: Call) -> Sequence:
        """The arguments as the program gets them."""
        return call.leaves

    def _bind(self, call: Call, tracing: Tracing) -> list:
        """Let the current trace interpret the call, as one primitive."""
        spec = self._spec(call, tracing)
        outer = tracing.outer_tracers
        return jit_p.bind(
            *outer, *call.leaves, name=spec.name, jaxpr=tracing.jaxpr,
            donated_invars=(False,) * len(outer) + spec.donated,
            keep_unused=spec.keep_unused, inline=self._options.inline)

    def _spec(self, call: Call, tracing: Tracing) -> Spec:
        options = self._options
        return Spec(fun_name(self._fun), self._donated(call), options.keep_unused,
                    options.compiler_options)

    def _donated(self, call: Call) -> tuple[bool, ...]:
        """For each leaf whether it is donated."""
        options = self._options
        if not (options.donate_argnums or options.donate_argnames):
            return (False,) * len(call.leaves)
        args_tree, kwargs_tree = call.in_tree.children()
        static = [place for place, *_ in call.statics if isinstance(place, int)]
        count = len(call.args) + len(static)
        donated = static_positions(options.donate_argnums, count)
        checks.not_static_and_donated(static, donated)
        flags = [i in donated for i in range(count) if i not in static]
        flags += [name in options.donate_argnames for name in kwargs_tree.aux]
        trees = [*args_tree.children(), *kwargs_tree.children()]
        return tuple([flag for flag, tree in zip(flags, trees) for _ in range(tree.num_leaves)])

    # Stages

    @api_boundary
    def trace(self, *args, **kwargs) -> Traced:
        """Trace only: `.jaxpr` of the result is the jaxpr.

        Args:
          *args, **kwargs: as for the function; arrays may be `ShapeDtypeStruct`s.
        """
        from ..runtime.stages import CallInfo, Traced

        call = self._call(args, kwargs)
        jaxpr, out_tree, _ = tracing = self._traced(call)
        spec = self._spec(call, tracing)
        places = places_of(jaxpr, spec, self._placed(call))
        return Traced(CallInfo(self._fun, spec, jaxpr, call.in_tree, out_tree, places))

    @api_boundary
    def lower(self, *args, **kwargs) -> Lowered:
        """Trace, and translate to StableHLO: `.as_text()` of the result is the program.

        Args:
          *args, **kwargs: as for the function; arrays may be `ShapeDtypeStruct`s.
        """
        return self.trace(*args, **kwargs).lower()

    @api_boundary
    def eval_shape(self, *args, **kwargs) -> Any:
        """The result as a pytree of `ShapeDtypeStruct`s, without computing it.

        Args:
          *args, **kwargs: as for the function; arrays may be `ShapeDtypeStruct`s.
        """
        return self.trace(*args, **kwargs).out_info

    def clear_cache(self) -> None:
        """Forget what was traced for this function."""
        self._traces.clear()

    def _cache_size(self) -> int:
        return len(self._traces)

    def __get__(self, obj, objtype=None):
        """As a method: bound to the object, like any function."""
        return self if obj is None else types.MethodType(self, obj)

    def __repr__(self):
        return f"<PjitFunction of {self._fun!r}>"


@functools.lru_cache
def static_positions(argnums: tuple[int, ...], num_args: int) -> tuple[int, ...]:
    """`argnums` as positions among so many arguments, in ascending order."""
    return tuple(sorted(positive_argnums(argnums, num_args, drop_too_large=True)))


class _Unspecified:
    """The default of `in_shardings` and `out_shardings`."""

    def __repr__(self):
        return "UnspecifiedValue"


UNSPECIFIED = _Unspecified()


class Placement(NamedTuple):
    """What the user asked for with the arguments of `jit` that chapter 14 explains."""

    in_shardings: Any = UNSPECIFIED
    out_shardings: Any = UNSPECIFIED
    device: Any = None
    backend: str | None = None


@api_boundary
def jit(
    fun: Callable | None = None,
    /,
    *,
    in_shardings: Any = UNSPECIFIED,
    out_shardings: Any = UNSPECIFIED,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    keep_unused: bool = False,
    device: Any = None,
    backend: str | None = None,
    inline: bool = False,
    compiler_options: dict[str, Any] | None = None,
) -> Any:
    """A function that is compiled by XLA when it is first called, and then runs compiled.

    Args:
      fun: a function of pytrees of arrays that returns one. It should have no side effects, since
        it runs only when its arguments have new shapes or dtypes. Without it, a decorator.
      in_shardings, out_shardings: how arguments and results lie on devices (chapter 14): for all,
        or as prefixes of the tuple of arguments and of the result, shardings or specs.
      static_argnums, static_argnames: positions and names of arguments that are part of the
        program: any hashable values. A new value makes a new program.
      donate_argnums, donate_argnames: arguments whose memory may be used for the results. They
        cannot be used afterwards.
      keep_unused: hand over also the arguments that the program does not need.
      device, backend: the device to run on, or the first one of a platform such as "cpu".
      inline: under another `jit`, write the function's operations out, instead of a call.
      compiler_options: values of XLA flags by name.

    Returns:
      a function with the same arguments and results, and the methods `trace`, `lower`,
      `eval_shape` and `clear_cache`.

    Raises:
      TypeError: `fun` is not callable.
      ValueError: a number or name does not belong to an argument of `fun`; a static argument, in a
        call, is not hashable.

    >>> @jax.jit
    ... def f(x):
    ...     return x * 2 + 1
    >>> f(3.0)
    Array(7., dtype=float32, weak_type=True)
    """
    if fun is None:
        given = {name: value for name, value in locals().items() if name != "fun"}
        return functools.partial(jit, **given)
    check_callable(fun)
    numbers = resolve_argnums(
        fun, fun_signature(fun), donate_argnums, donate_argnames, static_argnums, static_argnames
    )
    placement = Placement(in_shardings, out_shardings, device, backend)
    return jit_function(fun, Options(
        numbers.static_argnums, numbers.static_argnames,
        numbers.donate_argnums, numbers.donate_argnames,
        bool(keep_unused), bool(inline), tuple(sorted((compiler_options or {}).items())),
        placement if any(x not in (None, UNSPECIFIED) for x in placement) else None,
    ))  # fmt: skip


def jit_function(fun: Callable, options: Options) -> JitFunction:
    """The jitted function, of the class that extensions have chosen."""
    cls = JitFunction
    for jit_class in hooks.jit_class:
        cls = jit_class(cls, options)
    return cls(fun, options)


def disable_jit(disable: bool = True) -> settings.Override:
    """A context in which `jit` steps aside: every operation runs eagerly, and can be inspected.

    >>> with jax.disable_jit():
    ...     jax.jit(lambda x: x if x > 0 else -x)(-2.0)
    2.0
    """
    return settings.disable_jit(disable)


# ----------------------------------------------------------------------------------------------
# Evaluation by compiling


@functools.lru_cache(_CACHE_LIMIT)
def _jitted_primitive(primitive: Primitive, params: tuple) -> JitFunction:
    def call(*args):
        return primitive.bind(*args, **dict(params))

    call.__name__ = primitive.name
    return jit(call)


def apply_primitive(primitive: Primitive, *args, **params) -> Any:
    """Evaluate a primitive by compiling it, for those that NumPy has no function for.

    `primitive.def_impl(functools.partial(apply_primitive, primitive))` makes it the evaluation
    rule. The program is kept for the next call with these parameters and types.
    """
    call = _jitted_primitive(primitive, tuple(params.items()))
    if not settings.disable_jit.value:
        return call(*args)
    with settings.disable_jit(False):  # the setting concerns the user's functions only
        return call(*args)
