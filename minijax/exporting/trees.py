"""Chapter 16: which pytrees can be stored, and how.

Tuples, lists, dictionaries with strings as keys, and `None` can. Other classes are registered here,
by a name that is stored in their place.
"""

from __future__ import annotations

import collections
import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..core.tree import registry


class Serialization(NamedTuple):
    """How the nodes of a class are stored."""

    nodetype: type
    name: str
    serialize: Callable[[Any], bytes]
    deserialize: Callable[[bytes], Any]
    from_children: Callable[[Any, Sequence], Any]


by_type: dict[type, Serialization] = {}
by_name: dict[str, Serialization] = {}


def register_pytree_node_serialization(
        nodetype: type, *, serialized_name: str, serialize_auxdata: Callable[[Any], bytes],
        deserialize_auxdata: Callable[[bytes], Any],
        from_children: Callable[[Any, Sequence], Any] | None = None) -> type:
    """Let the pytrees of exported functions have nodes of a class.

    Args:
      nodetype: the class, registered by `tree_util.register_pytree_node` before.
      serialized_name: what is stored for the class. The process that reads it registers a class
        under the same name.
      serialize_auxdata: from a node's aux data to bytes.
      deserialize_auxdata: from bytes to aux data.
      from_children: from aux data and children to a node. By default, what the class was
        registered with.

    Returns:
      the class, so this can be a decorator.

    Raises:
      ValueError: the class or the name is registered already; or the class is not a pytree node.
    """
    if nodetype in by_type:
        raise ValueError(
            f"Duplicate serialization registration for type `{nodetype}`. Previous registration "
            f"was with serialized_name `{by_type[nodetype].name}`.")
    if serialized_name in by_name:
        raise ValueError(
            f"Duplicate serialization registration for serialized_name `{serialized_name}`. "
            f"Previous registration was for type `{by_name[serialized_name].nodetype}`.")
    if from_children is None:
        if nodetype not in registry:
            raise ValueError("If `from_children` is not present, you must call first "
                             f"`jax.tree_util.register_pytree_node` for `{nodetype}`")
        from_children = registry[nodetype].unflatten
    entry = Serialization(nodetype, serialized_name, serialize_auxdata, deserialize_auxdata,
                          from_children)
    by_type[nodetype] = by_name[serialized_name] = entry
    return nodetype


def register_namedtuple_serialization(nodetype: type, *, serialized_name: str) -> type:
    """Let the pytrees of exported functions have nodes of a class of named tuples.

    Args:
      nodetype: the class. The process that reads it needs a class with the same fields.
      serialized_name: what is stored for the class.

    Returns:
      the class, so this can be a decorator.

    Raises:
      ValueError: the class has no named fields, or the class or the name is registered already.

    >>> import collections
    >>> from minijax import export
    >>> Point = collections.namedtuple("Point", "x y")
    >>> export.register_namedtuple_serialization(Point, serialized_name="example.Point") is Point
    True
    """
    if not (issubclass(nodetype, tuple) and hasattr(nodetype, "_fields")):
        raise ValueError("Use `jax.export.register_pytree_node_serialization` for types other "
                         f"than `collections.namedtuple`, such as {nodetype}.")
    return register_pytree_node_serialization(
        nodetype, serialized_name=serialized_name,
        serialize_auxdata=lambda _: json.dumps(nodetype._fields).encode(),
        deserialize_auxdata=json.loads,
        from_children=lambda names, children: nodetype(**dict(zip(names, children))))


def _serialized_keys(keys: Sequence) -> bytes:
    if not all(isinstance(key, str) for key in keys):
        raise NotImplementedError(
            "Serialization of collections.OrderedDict is supported only when the keys are strings. "
            f"Found keys: {keys}.")
    return json.dumps(keys).encode()


register_pytree_node_serialization(
    collections.OrderedDict, serialized_name="collections.OrderedDict",
    serialize_auxdata=_serialized_keys, deserialize_auxdata=json.loads)
