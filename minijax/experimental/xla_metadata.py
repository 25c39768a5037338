"""`jax.experimental.xla_metadata`: notes for the compiler on operations."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..core.batching import defvectorized
from ..core.core import Primitive
from ..core.lowering import register_lowering
from ..core.transposition import deflinear2
from ..core.tree import tree_map


def set_xla_metadata(x: Any = None, **kwargs: Any) -> Any:
    """Note something for the compiler, as frontend attributes.

    Args:
      x: a pytree of arrays, whose operations get the note; without it, a context, or a decorator,
        in which all operations do.
      **kwargs: the note: names, and strings, numbers or truth values. No compiler for CPUs reads
        any: equations have the note, and programs are the same without it.

    Returns:
      `x`, or a context.

    >>> from minijax.experimental.xla_metadata import set_xla_metadata
    >>> set_xla_metadata(jnp.sin(0.0), origin="here").item()
    0.0
    """
    if x is None:
        return _context()
    note = tuple(sorted(kwargs.items()))
    return tree_map(lambda leaf: xla_metadata_value_p.bind(leaf, xla_metadata_kvs=note), x)


@contextmanager
def _context() -> Iterator[None]:
    yield


xla_metadata_value_p = Primitive("xla_metadata_value")
xla_metadata_value_p.def_impl(lambda x, **note: x)
xla_metadata_value_p.def_abstract_eval(lambda aval, **note: aval)
defvectorized(xla_metadata_value_p)
deflinear2(xla_metadata_value_p, lambda ct, x, **note: [ct])
register_lowering(xla_metadata_value_p, lambda ctx, x, **note: x)
