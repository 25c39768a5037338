"""`jax.experimental.xla_metadata`: notes for the compiler on operations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..core.batching import defvectorized
from ..core.core import Primitive
from ..core.lowering import register_lowering
from ..core.transposition import deflinear2
from ..core.tree import tree_map
from ..runtime.frontend_attributes import annotate
from ..runtime.notes import attribute_value, noting
from ..source import wraps


def set_xla_metadata(x: Any = None, **kwargs: Any) -> Any:
    """Note something for the compiler, as frontend attributes of operations in StableHLO.

    Args:
      x: a pytree of arrays, whose operations get the note when they are lowered; without it, a
        context, or a decorator, in which all operations do.
      **kwargs: the note: names, and strings, numbers or truth values. `None` takes away what a
        context outside says. The compiler for CPUs reads only names of its own.

    Returns:
      `x`, or a context.

    Raises:
      TypeError: something in the note has no hash.

    >>> from minijax.experimental.xla_metadata import set_xla_metadata
    >>> @jax.jit
    ... def f(x):
    ...     with set_xla_metadata(origin="here"):
    ...         return jnp.sin(x)
    >>> print(f.lower(0.0).as_text().splitlines()[2])
        %0 = stablehlo.sine %arg0 {mhlo.frontend_attributes = {origin = "here"}} : tensor<f32>
    """
    if x is None:
        return _Metadata(kwargs)
    note = tuple(sorted(kwargs.items()))
    return tree_map(lambda leaf: xla_metadata_value_p.bind(leaf, xla_metadata_kvs=note), x)


class _Metadata(noting):
    """The context of a note, whose decorated functions keep their attributes."""

    def __init__(self, note: Mapping[str, Any]):
        super().__init__({key: None if value is None else attribute_value(value)
                          for key, value in note.items()})
        self._given = tuple(note.values())

    def __enter__(self) -> None:
        hash(self._given)  # raises an error for a list, as JAX does
        super().__enter__()

    def __call__(self, fun: Callable) -> Any:
        return _Noted(fun, self)


class _Noted:
    """A function in a context. So are its methods, such as `lower` of a jitted function."""

    def __init__(self, fun: Callable, context: noting):
        self._fun, self._context = fun, context
        wraps(fun)(self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with self._context:
            return self._fun(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._fun, name)
        if not callable(found):
            return found

        def method(*args, **kwargs):
            with self._context:
                return found(*args, **kwargs)

        return method


def _lower(ctx, x, *, xla_metadata_kvs):
    """Write the note on the operation that makes the value; an argument has none."""
    annotate(ctx, x, {key: attribute_value(value) for key, value in xla_metadata_kvs})
    return x


xla_metadata_value_p = Primitive("xla_metadata_value")
xla_metadata_value_p.def_impl(lambda x, **note: x)
xla_metadata_value_p.def_abstract_eval(lambda aval, **note: aval)
defvectorized(xla_metadata_value_p)
deflinear2(xla_metadata_value_p, lambda ct, x, **note: [ct])
register_lowering(xla_metadata_value_p, _lower)
