"""Chapter 6: `jit`.

A jitted function is traced once for each signature: the structure of its arguments, the types of
their leaves, the values of the static ones, and the settings that tracing obeys. Under another
transformation the traced function becomes one equation, `jit`, with its jaxpr as a parameter;
with nobody around, the jaxpr is compiled, and the program runs on the arguments' buffers.

Two layers of caches make a second call quick:

    traces:    signature → jaxpr                     shared by all `jit`s of one function, weakly
    programs:  jaxpr → compiled program              in `dispatch.py`, weakly

and a third, `Caches.fast`, leads from the arguments straight to the program.
"""

from __future__ import annotations

import functools
import threading
import types
import weakref
from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from operator import attrgetter
from typing import Any, NamedTuple

from .. import settings
from ..errors import DebugInfo, api_boundary
from ..settings import trace_context
from .api_util import (
    arg_names,
    check_callable,
    check_static_hashable,
    donation_vector,
    fun_name,
    fun_signature,
    fun_sourceinfo,
    rebase_donate_argnums,
    resolve_argnums,
)
from .array import Array
from .calls import call_rules
from .core import Primitive, Tracer, eval_trace, state, typeof
from .dispatch import Program, Spec, buffer_of, fast_registry, places_of, program_of, xla
from .extension import hooks
from .jaxpr import ClosedJaxpr, eval_jaxpr
from .lowering import register_lowering
from .stages import CallInfo, Lowered, Traced
from .staging import (
    abstractify_args,
    staging_rules,
    trace_to_jaxpr,
)
from .tree import PyTreeDef, flatten_fun, positive_argnums, tree_flatten

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
    """An operand of a transformed call is donated if the one it comes from is, unless the call is
    split: then the other part may need the buffer."""
    old = params["donated_invars"]
    return {"donated_invars": tuple(not shared and i is not None and old[i] for i in in_sources)}


call_rules(jit_p, "jaxpr", _donation)


def _lower(ctx, *operands, jaxpr, name, **params):
    """The call of a function that holds the jaxpr, one for all calls of the same jaxpr."""
    return ctx.call(jaxpr, operands, name)


register_lowering(jit_p, _lower)

# ----------------------------------------------------------------------------------------------
# Tracing


class Options(NamedTuple):
    """How a function is to be jitted; part of the caches' keys."""

    static_argnums: tuple[int, ...] = ()
    static_argnames: tuple[str, ...] = ()
    donate_argnums: tuple[int, ...] = ()
    donate_argnames: tuple[str, ...] = ()
    keep_unused: bool = False
    inline: bool = False
    device: Any = None
    compiler_options: tuple[tuple[str, Any], ...] = ()
    shardings: Any = None  # chapter 14: how arguments and results are to lie on devices


class Call(NamedTuple):
    """The arguments of one call, taken apart."""

    args: tuple  # the traced arguments
    kwargs: dict
    statics: tuple  # (place, value, type of value) for each static argument


class Tracing(NamedTuple):
    """A traced function: its jaxpr, the structure of its result, and the outer tracers it met,
    which are its first arguments."""

    jaxpr: ClosedJaxpr
    out_tree: PyTreeDef
    outer_tracers: tuple


class Fast(NamedTuple):
    """A program as the quick way needs it.

    `execute` is `None` if there is more to be done than to hand over buffers and wrap the results;
    `unflatten` is `None` if the result is one array.
    """

    program: Program
    execute: Callable | None
    handlers: list
    out_avals: list
    unflatten: Callable | None


_CACHE_LIMIT = 4096
_lock = threading.Lock()


class Caches:
    """The traces of one function under one set of options, and the quick way to its programs."""

    __slots__ = ("traces", "fast")

    def __init__(self):
        self.traces: dict = {}
        self.fast: dict = {}

    def remember(self, cache: dict, key, value):
        """Enter `value`, unless another thread was quicker; returns what is entered."""
        with _lock:
            if len(cache) >= _CACHE_LIMIT:
                cache.clear()
            return cache.setdefault(key, value)

    def clear(self):
        with _lock:
            self.traces.clear()
            self.fast.clear()


_caches: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def _caches_of(fun: Callable, options: Options) -> Caches:
    """The caches that all `jit(fun)` with these options share, as long as `fun` lives."""
    try:
        with _lock:
            return _caches.setdefault(fun, {}).setdefault(options, Caches())
    except TypeError:  # a callable without hash, or that cannot be referred to weakly
        return Caches()


def clear_caches() -> None:
    """Forget all traces and compiled programs."""
    with _lock:
        everything = [caches for by_options in _caches.values() for caches in by_options.values()]
    for caches in everything:
        caches.clear()


def _with_statics(fun, statics):
    """`fun` as a function of its traced arguments only."""
    if not statics:
        return fun
    by_number = [(place, value) for place, value, _ in statics if isinstance(place, int)]
    by_name = {place: value for place, value, _ in statics if isinstance(place, str)}

    def fun_of_traced(*args, **kwargs):
        all_args = list(args)
        for place, value in by_number:  # in ascending order
            all_args.insert(place, value)
        return fun(*all_args, **kwargs, **by_name)

    return fun_of_traced


def _trace(fun: Callable, call: Call, in_tree: PyTreeDef, in_avals: Sequence) -> Tracing:
    """Trace `fun`. Tracers of outer traces that it closes over become its first arguments."""
    flat_fun, out_tree = flatten_fun(_with_statics(fun, call.statics), in_tree)
    jaxpr = trace_to_jaxpr(flat_fun, in_avals, _debug_info(fun, call, in_tree))
    if not any(isinstance(c, Tracer) for c in jaxpr.consts):
        return Tracing(jaxpr, out_tree(), ())
    inner = jaxpr.jaxpr
    lifted = inner.replace(constvars=[], invars=inner.constvars + inner.invars)
    return Tracing(ClosedJaxpr(lifted, ()), out_tree(), tuple(jaxpr.consts))


def _debug_info(fun, call, in_tree):
    """Names for messages. Neither the function nor its arguments are kept alive by them."""
    weak_fun, statics = weakref.ref(fun) if _weakly_referable(fun) else lambda: None, call.statics

    def names():
        return _argument_names(weak_fun(), in_tree, statics)

    return DebugInfo("jit", fun_sourceinfo(fun), names)


def _weakly_referable(fun):
    return type(fun).__weakrefoffset__ != 0


def _argument_names(fun, in_tree, statics) -> tuple[str, ...]:
    """A name like `x['w'][0]` for each traced leaf."""
    try:
        args, kwargs = in_tree.unflatten([0] * in_tree.num_leaves)
        with_statics = _with_statics(lambda *a, **k: (a, k), statics)
        numbers = [place for place, *_ in statics if isinstance(place, int)]
        names = [place for place, *_ in statics if isinstance(place, str)]
        all_args, all_kwargs = with_statics(*args, **kwargs)
        return arg_names(fun, all_args, all_kwargs, numbers, names)
    except Exception:  # a registered class that does not take numbers for arrays; or `fun` is gone
        return tuple(f"argument {i}" for i in range(in_tree.num_leaves))


# ----------------------------------------------------------------------------------------------
# The jitted function


# What a program depends on: the type of an argument, and its place if chapter 14 gave it one.
Array.placed_type = Array.aval  # type: ignore[attr-defined, misc]
_placed_type, _buffer_at_hand = attrgetter("placed_type"), attrgetter("_buffer")
array_classes: set[type] = {Array}  # of concrete arrays; chapter 14 adds its own


def _signature(x):
    """`_placed_type`, of any argument."""
    return x.placed_type if hasattr(x, "placed_type") else typeof(x)


class JitFunction:
    """What `jit` returns: called like the function it wraps; its methods show the stages."""

    __slots__ = ("_fun", "_options", "_has_statics", "_static_numbers_of", "_caches", "_fast",
                 "_flatten", "__dict__", "__weakref__")  # fmt: skip

    def __init__(self, fun: Callable, options: Options):
        functools.update_wrapper(self, fun)
        for name in vars(type(self)).keys() & getattr(fun, "__dict__", {}).keys():
            if not name.startswith("__"):  # an attribute of `fun` must not hide a method
                del self.__dict__[name]
        self._fun, self._options = fun, options
        self._has_statics = bool(options.static_argnums or options.static_argnames)
        self._static_numbers_of: dict[int, tuple[int, ...]] = {}
        self._caches = _caches_of(fun, options)
        self._fast = self._caches.fast
        self._flatten: Callable | None = None  # set by the first call

    def __call__(self, *args, **kwargs):
        """The quick way: look up the program for these arguments, and run it on their buffers.

        `_call` does the rest: first calls, traced arguments, and whatever is not as it should be.
        """
        if self._flatten is None or state.trace is not eval_trace or hooks.after_evaluation:
            return self._call(args, kwargs)
        statics: tuple = ()
        try:
            if self._has_statics:
                dynamic_args, dynamic_kwargs, statics = self._take_apart(args, kwargs)
                leaves, tree = self._flatten((dynamic_args, dynamic_kwargs))
            else:
                leaves, tree = args, None  # nothing but arrays: their number is the structure
                for x in args:
                    if type(x) not in array_classes:
                        leaves, tree = self._flatten((args, kwargs))
                        break
                else:
                    if kwargs:
                        leaves, tree = self._flatten((args, kwargs))
            try:
                avals, buffers = [*map(_placed_type, leaves)], [*map(_buffer_at_hand, leaves)]
            except AttributeError:  # a NumPy array, a number
                avals, buffers = [*map(_signature, leaves)], None
            fast = self._fast.get((tree, trace_context(), statics, *avals))
        except (TypeError, ValueError):
            return self._call(args, kwargs)
        if fast is None:
            return self._call(args, kwargs)
        program, execute, handlers, out_avals, unflatten = fast
        if execute is None:
            results = program(leaves)
            return results[0] if unflatten is None else unflatten(results)
        try:
            try:
                started = execute(buffers)
            except TypeError:  # some contents are in NumPy, and have no buffer yet
                started = execute([*map(buffer_of, leaves, program.in_avals)])
            outs = started.consume_with_handlers(handlers)
        except RuntimeError as error:
            raise xla().our_error(error) from None
        if unflatten is None:
            return Array(None, out_avals[0], outs[0])
        return unflatten([*map(Array, repeat(None), out_avals, outs)])

    @api_boundary
    def _call(self, args, kwargs):
        if settings.disable_jit.value:
            return self._fun(*args, **kwargs)
        call = self._take_apart(args, kwargs)
        leaves, in_tree, trace = self._traced(call)
        if state.trace is not eval_trace or trace.outer_tracers or hooks.after_evaluation:
            return trace.out_tree.unflatten(self._bind(call, in_tree, trace, leaves))
        program = self._program(call, in_tree, trace, leaves)
        result = trace.out_tree.unflatten(program(leaves))
        self._remember(call, trace, program, result)
        return result

    def _take_apart(self, args, kwargs) -> Call:
        """Separate the static arguments from the others."""
        if not self._has_statics:
            return Call(args, kwargs, ())
        numbers = self._static_numbers(len(args))
        statics: list[tuple] = [(i, args[i], type(args[i])) for i in numbers]
        if kwargs:
            names = [name for name in self._options.static_argnames if name in kwargs]
            statics += [(name, kwargs[name], type(kwargs[name])) for name in names]
            kwargs = {name: x for name, x in kwargs.items() if name not in names}
        if numbers:
            args = tuple([x for i, x in enumerate(args) if i not in numbers])
        return Call(args, kwargs, tuple(statics))

    def _static_numbers(self, num_args) -> tuple[int, ...]:
        """Which of so many positional arguments are static, in ascending order."""
        numbers = self._static_numbers_of.get(num_args)
        if numbers is None:
            given = positive_argnums(self._options.static_argnums, num_args, drop_too_large=True)
            numbers = self._static_numbers_of[num_args] = tuple(sorted(given))
        return numbers

    def _traced(self, call: Call) -> tuple[list, PyTreeDef, Tracing]:
        """The leaves of the arguments, their structure, and the function traced at their types."""
        for place, value, _ in call.statics:
            check_static_hashable(value, repr(place))
        leaves, in_tree = tree_flatten((call.args, call.kwargs))
        names = functools.partial(_argument_names, self._fun, in_tree, call.statics)
        in_avals = abstractify_args(self._fun, leaves, names)
        axes = tuple(state.axis_sizes.items())
        key = (in_tree, trace_context(), call.statics, axes, *in_avals)
        trace = self._caches.traces.get(key)
        if trace is None:
            if settings.no_tracing.value:
                raise RuntimeError(f"re-tracing function {fun_sourceinfo(self._fun)} for `jit`, "
                                   "but 'no_tracing' is set")
            trace = self._trace(call, in_tree, in_avals)
            if not trace.outer_tracers:  # those are different ones at the next call
                trace = self._caches.remember(self._caches.traces, key, trace)
        return leaves, in_tree, trace

    def _trace(self, call, in_tree, in_avals) -> Tracing:
        return _trace(self._fun, call, in_tree, in_avals)

    def _bind(self, call, in_tree, trace, leaves) -> list:
        """Let the current trace interpret the call, as one primitive."""
        donated = (False,) * len(trace.outer_tracers) + self._donated(call, in_tree)
        return jit_p.bind(
            *trace.outer_tracers,
            *leaves,
            name=fun_name(self._fun),
            jaxpr=trace.jaxpr,
            donated_invars=donated,
            keep_unused=self._options.keep_unused,
            inline=self._options.inline,
        )

    def _donated(self, call, in_tree) -> tuple[bool, ...]:
        """For each leaf whether it is donated."""
        options = self._options
        if not (options.donate_argnums or options.donate_argnames):
            return (False,) * in_tree.num_leaves
        n = len(call.args) + sum(isinstance(place, int) for place, *_ in call.statics)
        static = self._static_numbers(n)
        donate = positive_argnums(options.donate_argnums, n, drop_too_large=True)
        return donation_vector(
            rebase_donate_argnums(donate, static), options.donate_argnames, in_tree
        )

    def _spec(self, call, in_tree, trace) -> Spec:
        options = self._options
        return Spec(fun_name(self._fun), self._donated(call, in_tree), options.keep_unused,
                    options.compiler_options, options.device)  # fmt: skip

    def _placed(self, call, in_tree, leaves) -> list:
        """The arguments as they are to lie on devices: chapter 14 has its own opinion."""
        return leaves

    def _program(self, call, in_tree, trace, leaves) -> Program:
        args = self._placed(call, in_tree, leaves)
        return program_of(trace.jaxpr, self._spec(call, in_tree, trace), args)

    def _remember(self, call, trace, program, result):
        """Enter a program for the quick way."""
        registry = fast_registry()
        leaves, tree = registry.flatten((call.args, call.kwargs))
        out_leaves, out_tree = registry.flatten(result)
        simple = program.is_simple and len(out_leaves) == len(program.out_avals)
        executable = program.executable
        fast = Fast(
            program,
            executable.execute if simple else None,
            executable.handlers,
            program.out_avals,
            None if out_tree == registry.flatten(0)[1] else out_tree.unflatten,
        )
        plain = not (call.kwargs or self._has_statics) and array_classes >= {*map(type, call.args)}
        key = (None if plain else tree, trace_context(), call.statics)
        self._caches.remember(self._fast, (*key, *map(_signature, leaves)), fast)
        self._flatten = registry.flatten

    # Stages

    @api_boundary
    def trace(self, *args, **kwargs) -> Traced:
        """Trace only: `.jaxpr` of the result is the jaxpr.

        Args:
          *args, **kwargs: as for the function; arrays may be `ShapeDtypeStruct`s.
        """
        call = self._take_apart(args, kwargs)
        leaves, in_tree, trace = self._traced(call)
        spec = self._spec(call, in_tree, trace)
        places = places_of(trace.jaxpr, spec, self._placed(call, in_tree, leaves))
        return Traced(CallInfo(self._fun, spec, trace.jaxpr, in_tree, trace.out_tree, places))

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
        """Forget what was traced and compiled for this function."""
        self._caches.clear()

    def _cache_size(self) -> int:
        return len(self._caches.traces)

    def __get__(self, obj, objtype=None):
        """As a method: bound to the object, like any function."""
        return self if obj is None else types.MethodType(self, obj)

    def __repr__(self):
        return f"<PjitFunction of {self._fun!r}>"


class _Unspecified:
    """What `in_shardings` is if nobody says anything."""

    def __repr__(self):
        return "UnspecifiedValue"


UNSPECIFIED = _Unspecified()

# Chapter 14 supplies it: `(fun, options, in_shardings, out_shardings)` to a `JitFunction`.
jit_with_shardings: Callable = lambda fun, options, *shardings: JitFunction(fun, options)


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
      ValueError: a number or name that is no argument of `fun`; a static argument, in a call, that
        is not hashable.

    >>> @jax.jit
    ... def f(x):
    ...     return x * 2 + 1
    >>> f(3.0)
    Array(7., dtype=float32, weak_type=True)
    """
    if fun is None:
        return functools.partial(
            jit, in_shardings=in_shardings, out_shardings=out_shardings,
            static_argnums=static_argnums, static_argnames=static_argnames,
            donate_argnums=donate_argnums, donate_argnames=donate_argnames,
            keep_unused=keep_unused, device=device, backend=backend, inline=inline,
            compiler_options=compiler_options,
        )  # fmt: skip
    check_callable(fun)
    numbers = resolve_argnums(
        fun, fun_signature(fun), donate_argnums, donate_argnames, static_argnums, static_argnames
    )
    if backend is not None:
        device = xla().devices(backend)[0]
    options = Options(
        numbers.static_argnums, numbers.static_argnames,
        numbers.donate_argnums, numbers.donate_argnames,
        bool(keep_unused), bool(inline), device, tuple(sorted((compiler_options or {}).items())),
    )  # fmt: skip
    if in_shardings is UNSPECIFIED and out_shardings is UNSPECIFIED:
        return JitFunction(fun, options)
    return jit_with_shardings(fun, options, in_shardings, out_shardings)


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
    with settings.disable_jit(False):  # it is about what users jit, and there is no other way here
        return call(*args)
