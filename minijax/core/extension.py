"""Chapter 1: how do later chapters change what the engine does?

At a few documented points the engine calls its extensions before it acts. Each point is a method
of `Extension`. A subclass overrides the points that it needs, and `register` puts an
instance in force until `remove`. For each point, `hooks` holds a tuple of the overriding methods.
The tuple is empty without extensions, and then a point costs the engine one truth test:

    out = primitive.impl(*args, **params) if not hooks.evaluate else …

If a room needs several methods together, an extension has an object with these methods as its
attribute, and `hooks` holds the objects. What shardings need is one such object (`placements.py`).
A later room can add points of its own, with `point`. `python -m tools.extensions` lists all of
them, with who asks and who answers.
The other ways to extend the engine are its rule tables and type registries. (JAX has no counterpart
of this file: there, the engine imports what it needs.)
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any


class Extension:
    """The points at which the engine can be changed. Each default is the engine's own behaviour.

    >>> class Counting(Extension):
    ...     seen = 0
    ...     def after_evaluation(self, primitive, args, params, out):
    ...         self.seen += 1
    >>> counting = Counting()
    >>> register(counting)
    >>> x = jnp.sin(jnp.cos(1.0))
    >>> remove(counting)
    >>> counting.seen
    2
    """

    _overridden: tuple[str, ...] = ()

    def __init_subclass__(cls):
        defined = {name for base in cls.__mro__ if base is not Extension for name in vars(base)}
        cls._overridden = tuple(defined & points.keys())

    def evaluate(self, primitive: Any, args: Sequence, params: dict) -> Any:
        """The result of a primitive, or `NotImplemented` to leave it to its evaluation rule. It is
        not asked about a jitted function that runs its program, unless an extension in force also
        has `after_evaluation`."""
        return NotImplemented

    def evaluate_placed(self, primitive: Any, args: Sequence, params: dict) -> Any:
        """`evaluate`, of an extension that has nothing to do with arrays of the class `Array`. The
        short cut for operators on these does not ask it."""
        return NotImplemented

    def after_evaluation(self, primitive: Any, args: Sequence, params: dict, out: Any) -> None:
        """Called with the result `out` of every evaluation of a primitive."""

    def rule_of_call(self, kind: str, primitive: Any, rule: Any, /, *args: Any,
                     **params: Any) -> Any:
        """What the rule of a primitive that calls a jaxpr returns. The `kind` of the rule is
        "evaluation", "jvp", "batching", "partial evaluation" or "lowering";
        "operands" is `JaxprCall.by_operand`, and "effects" whether the jaxpr may change values of
        a trace that none of the arguments belongs to."""
        return rule(*args, **params)

    def static_arguments(self, fun: Callable, argnums: Any, argnames: Any) -> tuple:
        """The numbers and the names of static arguments, from those that the user gave."""
        return argnums, argnames

    def debug_info(self, traced_for: str, fun: Callable, in_tree: Any, statics: Any,
                   out_tree: Callable) -> Any:
        """What messages say of a function that is about to be traced, such as the names of its
        arguments and results. `in_tree` is the structure of the traced (args, kwargs)."""
        return None

    def program_places(self, jaxpr: Any, spec: Any, args: Sequence) -> Any:
        """Where a program for these arguments runs; `None` stands for the default device.

        Otherwise, a hashable object whose method `lower(jaxpr, spec)` returns a module, and whose
        method `compile(module, jaxpr, options)` returns a `Program`.
        """
        return None

    def program_module(self, module: Any, jaxpr: Any, spec: Any) -> Any:
        """The empty module that the program of a jaxpr is written to: `module`, or another one."""
        return module

    def stage_operands(self, builder: Any, primitive: Any, invars: list, params: dict) -> list:
        """The operands of an equation that is about to be added to a jaxpr. An extension can add
        equations that bring operands to a common placement."""
        return invars

    @property
    def placements(self) -> Any:
        """The object that answers for shardings. It is of a subclass of `Placements`."""
        return None

    def shape_struct(self, aval: Any) -> Any:
        """What `eval_shape` returns for a result of this type."""
        return aval

    def linear_function(self, f: Callable, derivative: Any, residuals: list,
                        primals: Sequence | None) -> Any:
        """What `linearize` returns (`primals` is `None`), or `vjp`, for a function `f` that takes
        the residuals before its other arguments; `NotImplemented` for a plain partial."""
        return NotImplemented

    def text(self, x: Any, form: str, *args: Any, **options: Any) -> Any:
        """How an object of the engine reads: the result of its method `form` for these arguments.
        The forms are `__repr__`, `__str__`, `__format__`, `pretty_print`, `_repr_pretty_` (of
        IPython), `str_short` (of types), `name_stack` (of a `SourceInfo`), and `_origin_msg`, which
        says where a tracer comes from."""
        return x._plain_text()

    def run_with_effects(self, executable: Any, effects: frozenset, buffers: list) -> list:
        """Start a compiled program that has effects; returns the buffers of its results."""
        return executable(buffers)


points: dict[str, Any] = {}  # by name: what happens without extensions
_methods: dict[str, list] = {}  # for each point, one entry for each registration
_lock = threading.RLock()  # a garbage collection can call `remove` within `register`
hooks: Any = type("Hooks", (), {})()


def point(default: Callable) -> Callable:
    """Decorator: declare a point at which a later room asks. That room calls what is in `hooks`.
    The `default`, written as a method of `Extension`, says what happens otherwise."""
    _declare(default.__name__, default)
    return default


def _declare(name: str, default: Any) -> None:
    points[name], _methods[name] = default, []
    _update(name)


def register(extension: Extension) -> None:
    """Put an extension in force. Registered twice, it must also be removed twice."""
    for point in extension._overridden:
        _methods[point].append(getattr(extension, point))
        _update(point)


def remove(extension: Extension) -> None:
    """Undo one `register` of the extension."""
    for point in extension._overridden:
        _methods[point].remove(getattr(extension, point))
        _update(point)


def _update(point: str) -> None:
    """Bring `hooks` up to date, again if another registration or removal came between."""
    with _lock:
        methods = None
        while methods != _methods[point]:
            methods = _methods[point].copy()
            setattr(hooks, point, tuple(dict.fromkeys(methods)))


for _name, _default in vars(Extension).items():
    if not _name.startswith("_"):
        _declare(_name, _default)


class Printed:
    """The base class of objects whose text an extension writes. Without one, it is plain."""

    __slots__ = ()

    def _plain_text(self) -> str:
        """The text without extensions: the class, and the type if there is one."""
        return f"{type(self).__name__}({getattr(self, 'aval', '')})"

    def __repr__(self):
        return text(self, "__repr__")

    def __str__(self):
        return text(self, "__str__")


def text(x: Printed, form: str, *args: Any, **options: Any) -> Any:
    """What the method `form` of `x` returns."""
    for write in hooks.text:
        return write(x, form, *args, **options)
    return x._plain_text()
