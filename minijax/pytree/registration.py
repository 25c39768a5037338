"""Registering types as pytree nodes: by functions, by methods, as dataclasses, as static data."""

import collections
import dataclasses
from collections.abc import Callable, Iterable, Sequence
from operator import methodcaller
from typing import Any, TypeVar

from ..checks import tree as checks
from ..core.boundary import public
from ..core.tree import NodeType, registry, sorted_keys
from ..text.key_paths import DictKey, GetAttrKey

Class = TypeVar("Class", bound=type)


@dataclasses.dataclass(frozen=True, eq=False, repr=False, slots=True)
class OwnNodeType(NodeType):
    """The node type of a class whose user gave `as_given`, which flattens. Its children may be any
    iterable; those of `flatten` are a tuple."""

    as_given: Callable[[Any], tuple[Any, Any]] = dataclasses.field(kw_only=True)


def register_node_type(node_type: NodeType) -> None:
    """Enter `node_type` in the registry. A type has at most one entry, which never changes."""
    checks.registered_once(node_type, registry)
    registry.setdefault(node_type.python_type, node_type)


@public
def register_pytree_node(
    nodetype: type,
    flatten_func: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten_func: Callable[[Any, Iterable[Any]], Any],
    flatten_with_keys_func: Callable[[Any], tuple[Iterable[Any], Any]] | None = None,
) -> None:
    """Make instances of exactly `nodetype` containers in pytrees.

    Args:
        nodetype: the class.
        flatten_func: takes an instance, returns (children, aux data). Aux data should be hashable.
        unflatten_func: takes (aux data, children), returns an instance.
        flatten_with_keys_func: as `flatten_func`, but gives (key, child) pairs.

    Raises:
        ValueError: if `nodetype` is registered already.

    >>> import minijax as jax
    >>> class Pair(list): pass
    >>> jax.tree_util.register_pytree_node(Pair, lambda p: (p, None), lambda _, xs: Pair(xs))
    >>> jax.tree.map(lambda x: 2 * x, Pair([1, 2]))
    [2, 4]
    """
    keyed = flatten_with_keys_func and _checked_with_keys(flatten_with_keys_func, nodetype)
    flatten = _checked(flatten_func, nodetype)
    as_given = _checked(flatten_func, nodetype, lambda children: children)
    register_node_type(OwnNodeType(nodetype, flatten, unflatten_func, keyed, as_given=as_given))


_WHERE_ITERABLE = " where 'children' is iterable"


def _checked(flatten, cls, put=tuple):
    """`flatten`, checked to return children and aux data, with `put` of the children."""

    def checked_flatten(tree):
        result = flatten(tree)
        is_pair = isinstance(result, tuple) and len(result) == 2
        if not (is_pair and hasattr(result[0], "__iter__")):
            raise ValueError(
                "The to_iterable function for a custom PyTree node should return a (children, "
                f"aux_data) tuple{_WHERE_ITERABLE * is_pair}, got {result!r}, of {cls}."
            )
        children, aux = result
        return put(children), aux

    return checked_flatten


def _checked_with_keys(flatten_with_keys, cls):
    flatten = _checked(flatten_with_keys, cls)

    def checked_flatten(tree):
        pairs, aux = flatten(tree)
        for pair in pairs:
            if not (isinstance(pair, tuple) and len(pair) == 2):
                raise ValueError(
                    f"The flatten-with-keys function registered for {cls} must return pairs "
                    f"(key, child) as children, but one of them is {pair!r}."
                )
        return pairs, aux

    return checked_flatten


@public
def register_pytree_node_class(cls: Class) -> Class:
    """Class decorator: a pytree node by its methods `tree_flatten` and (class) `tree_unflatten`.

    >>> import minijax as jax
    >>> @jax.tree_util.register_pytree_node_class
    ... class Ball:
    ...     def __init__(self, x, v): self.x, self.v = x, v
    ...     def tree_flatten(self): return (self.x, self.v), None
    ...     @classmethod
    ...     def tree_unflatten(cls, aux, children): return cls(*children)
    >>> jax.tree.leaves(Ball(1.0, 2.0))
    [1.0, 2.0]
    """
    register_pytree_node(cls, methodcaller("tree_flatten"), cls.tree_unflatten)  # type: ignore
    return cls


@public
def register_pytree_with_keys(
    nodetype: type,
    flatten_with_keys: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten_func: Callable[[Any, Iterable[Any]], Any],
    flatten_func: Callable[[Any], tuple[Iterable[Any], Any]] | None = None,
) -> None:
    """Like `register_pytree_node`, with a name for each child, which paths show.

    Args:
        nodetype: the class.
        flatten_with_keys: takes an instance, returns ((key, child), ...) and aux data.
        unflatten_func: takes (aux data, children), returns an instance.
        flatten_func: `flatten_with_keys` without the keys, if that can be done faster.

    >>> import minijax as jax
    >>> class Box:
    ...     def __init__(self, inside): self.inside = inside
    >>> key = jax.tree_util.GetAttrKey("inside")
    >>> jax.tree_util.register_pytree_with_keys(
    ...     Box, lambda b: (((key, b.inside),), None), lambda _, xs: Box(*xs))
    >>> jax.tree_util.tree_leaves_with_path(Box(7))
    [((GetAttrKey(name='inside'),), 7)]
    """
    if flatten_func is None:
        keyed = _checked_with_keys(flatten_with_keys, nodetype)

        def flatten_func(tree):
            pairs, aux = keyed(tree)
            return [child for _, child in pairs], aux

    register_pytree_node(nodetype, flatten_func, unflatten_func, flatten_with_keys)


@public
def register_pytree_with_keys_class(cls: Class) -> Class:
    """Class decorator: a node by `tree_flatten_with_keys` and (class) `tree_unflatten`.

    A method `tree_flatten`, if there is one, is used where keys are not asked for.

    >>> import minijax as jax
    >>> @jax.tree_util.register_pytree_with_keys_class
    ... class Point:
    ...     def __init__(self, x): self.x = x
    ...     def tree_flatten_with_keys(self): return (("the x", self.x),), None
    ...     @classmethod
    ...     def tree_unflatten(cls, aux, children): return cls(*children)
    >>> jax.tree_util.tree_leaves_with_path(Point(3))
    [(('the x',), 3)]
    """
    flatten = methodcaller("tree_flatten") if hasattr(cls, "tree_flatten") else None
    with_keys = methodcaller("tree_flatten_with_keys")
    register_pytree_with_keys(cls, with_keys, cls.tree_unflatten, flatten)  # type: ignore
    return cls


# ----------------------------------------------------------------------------------------------
# Dataclasses


@public
def static(**kwargs: Any) -> Any:
    """A dataclass field that is part of the structure, not a child: `dataclasses.field`, marked.

    >>> import dataclasses, minijax as jax
    >>> @jax.tree_util.register_dataclass
    ... @dataclasses.dataclass
    ... class Scale:
    ...     factor: float
    ...     name: str = jax.tree.static(default="scale")
    >>> jax.tree.structure(Scale(2.0))
    PyTreeDef(CustomNode(Scale[('scale',)], [*]))
    """
    metadata = {"static": True} | dict(kwargs.pop("metadata", None) or {})
    return dataclasses.field(metadata=metadata, **kwargs)


@public
def register_dataclass(
    nodetype: Class,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> Class:
    """Register a dataclass, or a class that like one is built from its fields by keyword.

    Args:
        nodetype: the class.
        data_fields: names of the fields that are children.
        meta_fields: names of the fields that are aux data (hashable). If neither is given, a
            dataclass tells: fields with metadata `static=True` are aux data, the others children.
        drop_fields: fields that are neither; `nodetype` must have defaults for them.

    Raises:
        TypeError: if the fields are neither given nor to be found out.
        ValueError: if the fields are not exactly those of the class's constructor.

    >>> import dataclasses, minijax as jax
    >>> @jax.tree_util.register_dataclass
    ... @dataclasses.dataclass
    ... class Layer:
    ...     w: float
    ...     activation: str = dataclasses.field(metadata=dict(static=True))
    >>> jax.tree.map(lambda x: x + 1, Layer(1.0, "tanh"))
    Layer(w=2.0, activation='tanh')
    """
    if data_fields is None or meta_fields is None:
        data_fields, meta_fields = _fields_of_dataclass(nodetype, data_fields, meta_fields)
    data_fields, meta_fields = tuple(data_fields), tuple(meta_fields)
    _check_fields(nodetype, data_fields, meta_fields, drop_fields)
    register_node_type(_dataclass_node_type(nodetype, data_fields, meta_fields))
    return nodetype


def _dataclass_node_type(cls, data_fields, meta_fields):
    data_keys = tuple(map(GetAttrKey, data_fields))

    def flatten(x):
        data = [getattr(x, name) for name in data_fields]
        return data, tuple([getattr(x, name) for name in meta_fields])

    def flatten_with_keys(x):
        data, meta = flatten(x)
        return list(zip(data_keys, data)), meta

    def unflatten(meta, data):
        return cls(**dict(zip(data_fields, data)), **dict(zip(meta_fields, meta)))

    return NodeType(cls, flatten, unflatten, flatten_with_keys)


def _fields_of_dataclass(cls, data_fields, meta_fields):
    """Names of the data and meta fields, as the dataclass declares them."""
    if data_fields is not None or meta_fields is not None:
        raise TypeError(
            "register_dataclass: data_fields and meta_fields must both be specified when either "
            f"is specified. Got {data_fields=} {meta_fields=}."
        )
    if not dataclasses.is_dataclass(cls):
        raise TypeError(
            "register_dataclass: data_fields and meta_fields are required when nodetype is not a "
            f"dataclass. Got nodetype={cls}."
        )
    names: dict[bool, list[str]] = {False: [], True: []}
    for field in dataclasses.fields(cls):
        names[bool(field.metadata.get("static", False))].append(field.name)
    return names[False], names[True]


_ALL_FIELDS = ("data_fields and meta_fields must include all dataclass fields with ``init=True`` "
               "and only them.")


def _check_fields(cls, data_fields, meta_fields, drop_fields):
    given = {*data_fields, *meta_fields}
    if dataclasses.is_dataclass(cls):
        needed = {field.name for field in dataclasses.fields(cls) if field.init} - {*drop_fields}
        if missing := needed - given:
            raise ValueError(
                f"register_dataclass: {_ALL_FIELDS} Missing fields: {missing} of {cls}. Add them "
                "to one, or to drop_fields."
            )
        if unexpected := given - needed:
            raise ValueError(
                f"register_dataclass: {_ALL_FIELDS} Unexpected fields: {unexpected} of {cls}. (Of "
                "a field with init=False, make the constructor compute it.)"
            )
    if overlap := {*data_fields} & {*meta_fields}:
        raise ValueError(
            f"register_dataclass: fields {sorted(overlap)} of {cls} are in both data_fields and "
            "meta_fields. A field is either a child or part of the structure."
        )


@public
def register_static(cls: Class) -> Class:
    """Class decorator: instances are nodes without children; the whole object is aux data.

    So under `jit` it is a compile-time constant. The class must define `==` and `hash`.

    >>> import minijax as jax
    >>> @jax.tree_util.register_static
    ... class Mode(str): pass
    >>> jax.tree.flatten(Mode("train"))
    ([], PyTreeDef(CustomNode(Mode[train], [])))
    """
    register_node_type(NodeType(cls, lambda obj: ((), obj), lambda obj, _: obj))
    return cls


# ----------------------------------------------------------------------------------------------
# Types of the standard library


def _zip_strict(keys, values):
    return zip(keys, values, strict=True)


def _flatten_default_dict(tree):
    keys = sorted_keys(tree)
    return [tree[key] for key in keys], (tree.default_factory, keys)


def _flatten_default_dict_with_keys(tree):
    values, (factory, keys) = _flatten_default_dict(tree)
    return list(zip(map(DictKey, keys), values)), (factory, keys)


register_node_type(
    NodeType(  # the order of the keys is part of an OrderedDict's structure: they are not sorted
        collections.OrderedDict,
        lambda tree: (tuple(tree.values()), tuple(tree)),
        lambda keys, values: collections.OrderedDict(_zip_strict(keys, values)),
        lambda tree: ([(DictKey(key), value) for key, value in tree.items()], tuple(tree)),
    )
)
register_node_type(
    NodeType(
        collections.defaultdict,
        _flatten_default_dict,
        lambda aux, values: collections.defaultdict(aux[0], _zip_strict(aux[1], values)),
        _flatten_default_dict_with_keys,
    )
)
