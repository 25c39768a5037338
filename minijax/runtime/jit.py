"""Chapter 6: all that `jax.jit` offers besides compiling: donation, stages, options for XLA.

The core's `jit` has static arguments and nothing else. This file adds the rest by an extension:

* Donated arguments give their memory away. The module names for each the result that takes it, as
  long as one of the same shape and dtype is free.
* `keep_unused`, `inline` and `compiler_options` change the program, or where it is written.
* `trace`, `lower` and `eval_shape` stop at a stage (`stages.py`).

The options that say on which devices a program runs are only stored; chapter 14 reads them.
"""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import settings
from ..checks import jit as checks
from ..checks.arguments import check_callable, references_apart
from ..checks.tracebacks import hide_frames
from ..core.array import Array
from ..core.boundary import api_boundary
from ..core.core import Tracer, eval_trace, state
from ..core.extension import hooks
from ..core.jaxpr import ClosedJaxpr
from ..core.jit import JitFunction, Program, Spec, jit_p, places_of, program_of
from ..core.lowering import used_variables
from ..core.staging import shapes_only
from ..core.traced import Call, Options, Tracing, by_place
from ..core.tree import PyTreeDef, tree_structure
from ..core.util import partition_list, split_list
from ..pytree.arguments import ResolvedArgs, resolve_argnums
from ..pytree.names import fun_signature, weak_arg_names
from ..settings import cache_of, remember, trace_context
from ..source import fun_name
from ..text.cache_misses import Misses, misses
from .jit_equations import OF_OPERANDS, UNSPECIFIED, passing_what_is_read
from .modules import Asked, asked
from .placements import placements
from .seen_calls import NONES, Entry, Plan, leaf_keys, tree_registry
from .settings import cpu_autotune
from .stages import CallInfo, Lowered, Traced
from .structs import ShapeDtypeStruct

# ----------------------------------------------------------------------------------------------
# Options


class JitPlacement(NamedTuple):
    """What the user asked for with the arguments of `jit` that chapter 14 explains."""

    in_shardings: Any = UNSPECIFIED
    out_shardings: Any = UNSPECIFIED
    device: Any = None
    backend: str | None = None



class MoreOptions(NamedTuple):
    """The options of `jit` that the engine does not have: `Options.more`."""

    donate_argnums: tuple[int, ...] = ()
    donate_argnames: tuple[str, ...] = ()
    keep_unused: bool = False
    inline: bool = False
    compiler_options: tuple[tuple[str, Any], ...] = ()
    placement: Any = None


_NO_OPTIONS = MoreOptions()
_NONE_SPECIAL = ResolvedArgs((), (), (), ())
_DECORATOR = object()  # stands for the function that a decorator will be given


@api_boundary
def jit(
    fun: Callable = _DECORATOR,  # type: ignore[assignment]
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
    compiler_options: dict[str, Any] | str | None = None,
) -> Any:
    """A function that is compiled by XLA when it is first called, and then runs compiled.

    Args:
      fun: a function of pytrees of arrays that returns one. It should have no side effects, since
        it runs only when its arguments have new shapes or dtypes. Without it, a decorator.
      in_shardings, out_shardings: the shardings of arguments and results (chapter 14): one for all,
        or prefixes of the tuple of arguments and of the result, of shardings or specs.
      static_argnums, static_argnames: positions and names of arguments that are part of the
        program: any hashable values. A new value makes a new program.
      donate_argnums, donate_argnames: arguments whose memory may be used for the results. They
        cannot be used afterwards.
      keep_unused: pass also the arguments that the program does not need.
      device, backend: the device to run on, or the first one of a platform such as "cpu".
      inline: under another `jit`, write the function's operations out, instead of a call.
      compiler_options: values of XLA flags by name; or "autotune", to find the fastest ones for
        the CPU by measuring, in the background, after a few calls. `jax_cpu_autotune` does that for
        all functions. Both may make the process keep up to 1 GB of freed memory.

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
    if fun is _DECORATOR:
        given = {name: value for name, value in locals().items() if name != "fun"}
        return functools.partial(jit, **given)
    check_callable(fun)
    special = (donate_argnums, donate_argnames, static_argnums, static_argnames)
    if all(given is None for given in special):
        numbers = _NONE_SPECIAL
    else:
        numbers = resolve_argnums(fun, fun_signature(fun), *special)
    placement = JitPlacement(in_shardings, out_shardings, device, backend)
    more = MoreOptions(
        numbers.donate_argnums, numbers.donate_argnames,
        bool(keep_unused), bool(inline), _flags(compiler_options),
        placements().of_jit(placement) if any(x not in (None, UNSPECIFIED) for x in placement)
        else None,
    )  # fmt: skip
    return PjitFunction(fun, Options(numbers.static_argnums, numbers.static_argnames, more))


def _flags(compiler_options) -> tuple[tuple[str, Any], ...]:
    """Options for the compiler as a part of a key."""
    if isinstance(compiler_options, str):
        checks.compiler_options(compiler_options)
        compiler_options = {cpu_autotune.name: True}
    return tuple(sorted((compiler_options or {}).items()))


def disable_jit(disable: bool = True) -> settings.Override:
    """A context in which `jit` steps aside: every operation runs eagerly, and can be inspected.

    >>> with jax.disable_jit():
    ...     jax.jit(lambda x: x if x > 0 else -x)(-2.0)
    2.0
    """
    return settings.disable_jit(disable)


# ----------------------------------------------------------------------------------------------
# The jitted function


class PjitFunction(JitFunction):
    """What `jit` returns: called like the function it wraps; its methods show the stages.

    A call that looks like one before finds its program by one look-up (`seen_calls.py`). The
    structure of positional arguments that are all leaves is `None` in the key of an entry.
    """

    __slots__ = ("_entries", "_plans", "_has_statics", "_has_containers")

    def __init__(self, fun: Callable, options: Options):
        plain = options.more in (None, _NO_OPTIONS)  # then `make_jaxpr` finds the same traces
        super().__init__(fun, options._replace(more=None) if plain else options)
        self._options = options = options._replace(more=_NO_OPTIONS) if plain else options
        self._entries: dict[tuple, Entry] = cache_of(fun, ("seen calls", options))
        self._plans: dict[Any, Plan] = {}
        self._has_statics = bool(options.static_argnums or options.static_argnames)
        self._has_containers = False  # whether there were calls with containers
        for name, value in getattr(fun, "__dict__", {}).items():
            if not hasattr(self, name):  # an attribute of `fun` must not hide a method
                self.__dict__[name] = value

    def __call__(self, *args, **kwargs):
        try:
            if state.trace is not eval_trace or hooks.after_evaluation:
                return super().__call__(*args, **kwargs)
            try:
                if len(args) == 1 and type(x := args[0]) is Array and not kwargs:
                    key, leaves, buffer = (trace_context(), None, x.aval), args, x._buffer
                    buffers = None if buffer is None else [buffer]
                else:
                    key, leaves, buffers = self._described(args, kwargs)
                entry = self._entries.get(key)
            except Exception as error:
                if self._has_statics:
                    checks.comparable_statics(error)
                if not isinstance(error, (TypeError, ValueError, KeyError, SystemError)):
                    raise  # else it is no leaf, a static argument without a hash, or a deep tree
                return super().__call__(*args, **kwargs)
            if entry is None:
                return self._first_call(key, args, kwargs)
            if entry.execute is None:
                return entry.run(leaves)
            try:
                if buffers is None:
                    buffers = entry.buffers(leaves)
                elif not entry.takes_all:
                    kept = map(buffers.__getitem__, entry.program.kept)
                    buffers = [*kept, *entry.program.constants]
                outs = entry.execute(buffers).consume_with_handlers(entry.handlers)
            except RuntimeError as error:
                raise entry.failure(error, leaves) from None
            except OverflowError:  # an integer that is too large for its type
                return super().__call__(*args, **kwargs)
            for i in entry.donated:
                if type(leaves[i]) is Array:
                    leaves[i].delete()
            if entry.unflatten is None:
                return entry.array_class(None, entry.out_types[0], outs[0])
            return entry.unflatten([*map(entry.array_class, NONES, entry.out_types, outs)])
        except Exception as error:
            hide_frames(error)
            raise

    def _described(self, args, kwargs):
        """The key of an entry, the leaves, and their buffers, or `None` if a buffer has to be made.

        Raises:
          KeyError: a leaf is neither an array nor a number.
        """
        structure, leaves = None, args
        if kwargs or self._has_statics:
            shape, values = len(args), args
            if kwargs:
                shape, values = (shape, *kwargs), (*args, *kwargs.values())
            plan = self._plans.get(shape) or self._plan(shape, args, kwargs)
            structure, leaves = plan, plan.traced(values)
            for i in plan.static:
                structure = (structure, values[i], type(values[i]))
        if self._has_containers:
            leaves, tree = tree_registry().flatten(leaves)
            structure = tree if structure is None else (tree, structure)
        key, buffers, ready = [trace_context(), structure], [], True
        for x in leaves:
            kind = type(x)
            if kind is Array:  # the usual leaf, without a call
                key.append(x.aval)
                buffers.append(buffer := x._buffer)
                if buffer is None:  # its contents are in NumPy
                    ready = False
                continue
            ready = False
            if kind in leaf_keys:
                key.append(leaf_keys[kind](x))
            elif self._has_containers:
                raise KeyError(kind)
            else:
                self._has_containers = True
                return self._described(args, kwargs)
        return tuple(key), leaves, buffers if ready else None

    def _plan(self, shape, args, kwargs):
        static = {place for place, *_ in self._split(args, kwargs)[2]}
        return remember(self._plans, shape, Plan([*range(len(args)), *kwargs], static))

    @api_boundary
    def _first_call(self, key, args, kwargs):
        """A call by the core, whose program the next call finds by a look-up."""
        if settings.disable_jit.value:
            return super().__call__(*args, **kwargs)
        call = self._call(args, kwargs)
        tracing = self._traced(call)
        if tracing.outer_tracers:
            return tracing.out_tree.unflatten(self._bind(call, tracing))
        program = self._program(call, tracing)
        result = tracing.out_tree.unflatten(program(call.leaves))
        remember(self._entries, key, Entry(program, call.leaves, tracing.out_tree, result))
        return result

    def clear_cache(self) -> None:
        """Forget what was traced and compiled for this function."""
        self._traces.clear()
        self._entries.clear()

    def explain_misses(self) -> Misses:
        """For each time that the function was traced, why: what no earlier call had.

        Returns:
          a list of texts, which prints itself.

        >>> double = jax.jit(lambda x: 2 * x)
        >>> _ = double(1), double(1.0)
        >>> double.explain_misses()
        1. (i32[]): the first call
        2. (f32[]): it differs from the closest earlier call by
          different input types:
          * at x, now f32[] and before i32[]
        """
        return misses(self._fun, [*self._traces], self._arg_names, tree_structure)

    def _arg_names(self, in_tree: PyTreeDef, statics: tuple) -> tuple[str, ...]:
        return weak_arg_names(self._fun, in_tree, by_place(statics))()

    @api_boundary
    def trace(self, *args, **kwargs) -> Traced:
        """Trace only: `.jaxpr` of the result is the jaxpr.

        Args:
          *args, **kwargs: as for the function; arrays may be `ShapeDtypeStruct`s.
        """
        call = self._call(args, kwargs)
        jaxpr, out_tree, closed = tracing = self._traced(call)
        names = jaxpr.jaxpr.debug_info
        if closed and names:
            references_apart(f"{names.func_src_info} for jit", call.leaves, closed,
                             lambda: names.arg_names)
        spec = self._spec(call, tracing)
        donated = (False,) * len(closed) + asked(spec).donated_invars
        spec = spec._replace(more=asked(spec)._replace(donated_invars=donated))
        places = places_of(jaxpr, spec, [*closed, *self._placed(call)])
        info = CallInfo(self._fun, spec, jaxpr, call.in_tree, out_tree, places, closed)
        return Traced(info)

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
        with shapes_only(True):
            return self.trace(*args, **kwargs).out_info

    def _program(self, call: Call, tracing: Tracing) -> Program:
        tracing = self._of_values(call, tracing)
        return program_of(tracing.jaxpr, self._spec(call, tracing), self._placed(call))

    def _of_values(self, call: Call, tracing: Tracing) -> Tracing:
        """An argument without a value, a `ShapeDtypeStruct`, may be given where none is read."""
        args = *tracing.outer_tracers, *call.leaves
        without_value = [i for i, x in enumerate(args) if isinstance(x, ShapeDtypeStruct)]
        if not without_value:
            return tracing
        jaxpr = passing_what_is_read(tracing.jaxpr)
        all_are_passed = self._options.more.keep_unused
        passed = jaxpr.jaxpr.invars if all_are_passed else used_variables(jaxpr.jaxpr)
        checks.have_values(jaxpr, args, without_value, passed)
        return tracing._replace(jaxpr=jaxpr)

    def _traced(self, call: Call) -> Tracing:
        if (wanted := self._options.more.placement) is not None:
            wanted.check_call(call)
        return super()._traced(call)

    def _trace(self, call: Call, in_avals: Sequence) -> Tracing:
        tracing = super()._trace(call, in_avals)
        if (wanted := self._options.more.placement) is not None:
            wanted.check_results(tracing)
        return tracing

    def _placed(self, call: Call) -> Sequence:
        """The arguments as the program gets them."""
        wanted = self._options.more.placement
        return call.leaves if wanted is None else wanted.placed(call)

    def _cache_size(self) -> int:
        return len(self._traces)

    @property
    def __signature__(self) -> inspect.Signature:
        """That of the function. `inspect.signature` asks for it, with `follow_wrapped` or not."""
        return inspect.signature(self._fun)

    def __getstate__(self) -> dict[str, Any]:
        """The function, how it was jitted, and its name."""
        return {"fun": self._fun, "options": self._options, "function_name": fun_name(self._fun)}

    def __reduce__(self):
        return PjitFunction, (self._fun, self._options)

    def __repr__(self):
        try:
            return f"<PjitFunction of {self.__wrapped__!r}>"
        except Exception:  # the user's `__repr__` fails
            return "<PjitFunction>"

    def _params(self, call: Call, tracing: Tracing) -> dict[str, Any]:
        spec = self._spec(call, tracing)
        donated = (False,) * len(tracing.outer_tracers) + asked(spec).donated_invars
        params = {"name": spec.name, "donated_invars": donated, "keep_unused": spec.keep_unused,
                  "inline": self._options.more.inline}
        if spec.options:
            params["options"] = spec.options
        if (wanted := self._options.more.placement) is not None:
            params |= wanted.params(call, tracing)
        return params | placements().jit_params()

    def _bind(self, call: Call, tracing: Tracing) -> list:
        """As in JAX, references from outside stand behind the arguments, and arrays beside them
        are constants of the jaxpr. Beside tracers, everything from outside stands in front."""
        if state.trace is eval_trace:
            tracing = self._of_values(call, tracing)
        outside = tracing.outer_tracers
        if not outside or any(isinstance(x, Tracer) for x in outside):
            return super()._bind(call, tracing)
        references = [x for x in outside if not _is_array(x)]
        params = {name: (*value[len(outside):], *value[:len(references)])
                  if name in OF_OPERANDS else value
                  for name, value in self._params(call, tracing).items()}
        return jit_p.bind(*call.leaves, *references, jaxpr=_references_last(tracing), **params)

    def _spec(self, call: Call, tracing: Tracing) -> Spec:
        more = self._options.more
        where = None if more.placement is None else more.placement.of_program(tracing)
        return Spec(fun_name(self._fun), more.keep_unused, more.compiler_options,
                    Asked(self._donated(call), where))

    def _donated(self, call: Call) -> tuple[bool, ...]:
        """For each leaf whether it is donated."""
        more = self._options.more
        if not (more.donate_argnums or more.donate_argnames):
            return (False,) * len(call.leaves)
        args_tree, kwargs_tree = call.in_tree.children()
        static = [place for place, *_ in call.statics if isinstance(place, int)]
        count = len(call.args) + len(static)
        donated = tuple(sorted(i for i in more.donate_argnums if 0 <= i < count))
        checks.not_static_and_donated(static, donated)
        flags = [i in donated for i in range(count) if i not in static]
        flags += [name in more.donate_argnames for name in kwargs_tree.aux]
        trees = [*args_tree.children(), *kwargs_tree.children()]
        return tuple([flag for flag, tree in zip(flags, trees) for _ in range(tree.num_leaves)])


_with_references_last: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def _is_array(x: Any) -> bool:
    return isinstance(x, (Array, np.ndarray))


def _references_last(tracing: Tracing) -> ClosedJaxpr:
    """The jaxpr of a traced function, with the arrays from outside as constants, and the
    references from outside as its last arguments."""
    closed, outside = tracing.jaxpr, tracing.outer_tracers
    known = _with_references_last.get(closed)
    if known is None:
        are_arrays = [*map(_is_array, outside)]
        first, invars = split_list(closed.jaxpr.invars, [len(outside)])
        references, constvars = partition_list(are_arrays, first)
        jaxpr = closed.jaxpr.replace(constvars=constvars, invars=[*invars, *references])
        known = ClosedJaxpr(jaxpr, partition_list(are_arrays, outside)[1])
        known = _with_references_last.setdefault(closed, known)
    return known

