"""Chapter 3, first half: the *structure* of a pytree.

A pytree is a value seen as nested containers with leaves. Flattening splits it into its leaves
(a plain list) and a `PyTreeDef`, which remembers everything else; unflattening puts them together
again. What counts as a container is decided by exact type, in one table: `registry`. This file
holds that table, the keys of which paths are made, the recursions, and `PyTreeDef`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

# ----------------------------------------------------------------------------------------------
# Paths


@dataclass(frozen=True, slots=True)
class SequenceKey:
    """The step to element `idx` of a list or tuple."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"


@dataclass(frozen=True, slots=True)
class DictKey:
    """The step to the value under `key` of a mapping."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"


@dataclass(frozen=True, slots=True)
class GetAttrKey:
    """The step to attribute `name`."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"


@dataclass(frozen=True, slots=True)
class FlattenedIndexKey:
    """The step to child number `key` of a node whose registration names no keys."""

    key: int

    def __str__(self) -> str:
        return f"[<flat index {self.key}>]"


KeyEntry = Any  # one of the four above, or any object that a registered type uses as its key
KeyPath = tuple[KeyEntry, ...]


def keystr(keys: KeyPath, *, simple: bool = False, separator: str = "") -> str:
    """Write a key path as text.

    Args:
        keys: a tuple of keys, as `tree_flatten_with_path` gives.
        simple: leave out brackets, quotes and dots.
        separator: what to put between the keys.

    >>> import minijax as jax
    >>> [(path, _)] = jax.tree_util.tree_leaves_with_path({"layers": [1.0]})
    >>> jax.tree_util.keystr(path), jax.tree_util.keystr(path, simple=True, separator="/")
    ("['layers'][0]", 'layers/0')
    """
    return separator.join(map(_simple_key if simple else str, keys))


def _simple_key(key: KeyEntry) -> str:
    match key:
        case SequenceKey(inner) | DictKey(inner) | GetAttrKey(inner) | FlattenedIndexKey(inner):
            return str(inner)
    return str(key)


# ----------------------------------------------------------------------------------------------
# Node types: how each container comes apart and goes together


class NodeType:
    """How values of one type flatten by one level.

    `flatten(x) -> (children, aux)` and `unflatten(aux, children) -> x` are inverse to each other;
    `aux` is what of `x` is not a child, compared with `==`. `flatten_with_keys(x)` gives
    `((key, child), ...), aux`. `dataclass_fields` is (data fields, meta fields) for a type from
    `register_dataclass`, else None: whoever mirrors this registry may treat those specially.
    """

    __slots__ = ("python_type", "flatten", "unflatten", "flatten_with_keys", "dataclass_fields")

    def __init__(self, python_type: type, flatten: Callable[[Any], tuple[Any, Any]],
                 unflatten: Callable[[Any, Any], Any],
                 flatten_with_keys: Callable[[Any], tuple[Any, Any]] | None = None,
                 dataclass_fields: tuple[tuple[str, ...], tuple[str, ...]] | None = None):
        self.python_type = python_type
        self.flatten = flatten
        self.unflatten = unflatten
        self.flatten_with_keys = flatten_with_keys or self._flatten_with_indices
        self.dataclass_fields = dataclass_fields

    def _flatten_with_indices(self, tree):
        children, aux = self.flatten(tree)
        return [(FlattenedIndexKey(i), child) for i, child in enumerate(children)], aux

    def __repr__(self) -> str:
        return f"NodeType({self.python_type.__name__})"


registry: dict[type, NodeType] = {}

# Called with each newly registered NodeType. Whoever keeps a second registry (chapter 6: XLA's, in
# C++) first copies `registry`, then appends itself here.
register_listeners: list[Callable[[NodeType], None]] = []


def register_node_type(node_type: NodeType) -> None:
    """Enter `node_type` in the registry; a type has at most one entry, for good."""
    if registry.setdefault(node_type.python_type, node_type) is not node_type:
        raise ValueError(
            f"{node_type.python_type} is already registered as a pytree node type. A type can only "
            "be registered once, because structures made earlier rely on its registration."
        )
    for listener in register_listeners:
        listener(node_type)


def node_type_of(tree: Any) -> NodeType | None:
    """The node type that takes `tree` apart, or None for a leaf.

    Only the exact type counts: an instance of a subclass of `dict` is a leaf, as in JAX.
    """
    node_type = registry.get(type(tree))
    if node_type is None and isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return NAMEDTUPLE
    return node_type


def sorted_keys(mapping: dict) -> tuple:
    """The keys in the order of their leaves: sorted, so that equal dicts flatten alike."""
    try:
        return tuple(sorted(mapping))
    except Exception as e:
        types = ", ".join(sorted({type(key).__name__ for key in mapping}))
        raise ValueError(
            "A dict in a pytree must have keys that can be sorted, but comparing the keys "
            f"{list(mapping)!r} (of type {types}) raised {type(e).__name__}: {e}. "
            "Use keys of one type, or an OrderedDict."
        ) from e


def _flatten_sequence(xs):
    return xs, None


def _flatten_sequence_with_keys(xs):
    return [(SequenceKey(i), x) for i, x in enumerate(xs)], None


def _flatten_dict(mapping):
    keys = sorted_keys(mapping)
    return [mapping[key] for key in keys], keys


def _flatten_dict_with_keys(mapping):
    keys = sorted_keys(mapping)
    return [(DictKey(key), mapping[key]) for key in keys], keys


def _flatten_namedtuple_with_keys(xs):
    return [(GetAttrKey(name), x) for name, x in zip(xs._fields, xs)], type(xs)


TUPLE = NodeType(tuple, _flatten_sequence, lambda _, xs: tuple(xs), _flatten_sequence_with_keys)
LIST = NodeType(list, _flatten_sequence, lambda _, xs: list(xs), _flatten_sequence_with_keys)
DICT = NodeType(dict, _flatten_dict, lambda keys, xs: dict(zip(keys, xs)), _flatten_dict_with_keys)
NONE_TYPE = NodeType(type(None), lambda _: ((), None), lambda *_: None)
# One entry serves all namedtuple classes: the class itself is the aux data.
NAMEDTUPLE = NodeType(
    tuple, lambda xs: (xs, type(xs)), lambda cls, xs: cls(*xs), _flatten_namedtuple_with_keys
)

BUILTIN_NODE_TYPES = (TUPLE, LIST, DICT, NONE_TYPE)
for _node_type in BUILTIN_NODE_TYPES:
    register_node_type(_node_type)


# ----------------------------------------------------------------------------------------------
# PyTreeDef: what remains of a tree when the leaves are taken out


class PyTreeDef:
    """The structure of a pytree: a node type, its aux data, and the structures of its children.

    Immutable. The structure of a leaf is the one object `LEAF`, that of None the one object `NONE`.

    >>> import minijax as jax
    >>> jax.tree.structure({"b": [1, 2], "a": None})
    PyTreeDef({'a': None, 'b': [*, *]})
    """

    __slots__ = ("node_type", "aux", "subtrees", "num_leaves", "_hash", "__weakref__")

    def __init__(
        self, node_type: NodeType | None, aux: Any, subtrees: tuple[PyTreeDef, ...], num_leaves: int
    ):
        self.node_type = node_type
        self.aux = aux
        self.subtrees = subtrees
        self.num_leaves = num_leaves
        self._hash: int | None = None

    @property
    def num_nodes(self) -> int:
        """The number of nodes, leaves and Nones included."""
        return 1 + sum(subtree.num_nodes for subtree in self.subtrees)

    def children(self) -> list[PyTreeDef]:
        """The structures one level down."""
        return list(self.subtrees)

    def node_data(self) -> tuple[type, Any] | None:
        """The root's type and aux data; None for a leaf."""
        if self.node_type is None:
            return None
        if self.node_type is NAMEDTUPLE:
            return self.aux, None
        return self.node_type.python_type, list(self.aux) if self.node_type is DICT else self.aux

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """Build the tree that has this structure and these leaves."""
        if not isinstance(leaves, (list, tuple)):
            # One more than needed shows that there are too many, even of infinitely many.
            leaves = list(islice(leaves, self.num_leaves + 1))
        if len(leaves) != self.num_leaves:
            got = f"more than {self.num_leaves}" if len(leaves) > self.num_leaves else len(leaves)
            raise ValueError(
                f"Cannot unflatten: {self} has {self.num_leaves} leaves, but {got} were given."
            )
        return _unflatten(self, iter(leaves))

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """The subtrees of `tree` at the places where this structure has leaves.

        Raises ValueError if this structure is not a prefix of `tree`'s.
        """
        return flatten_up_to(self, tree, "tree")

    def compose(self, inner: PyTreeDef) -> PyTreeDef:
        """The structure in which every leaf of this one is replaced by `inner`."""
        if not isinstance(inner, PyTreeDef):
            raise TypeError(f"PyTreeDef.compose expects a PyTreeDef, got {type(inner)}.")
        if self is LEAF:
            return inner
        assert self.node_type is not None
        subtrees = tuple(subtree.compose(inner) for subtree in self.subtrees)
        return make_treedef(self.node_type, self.aux, subtrees)

    def walk(self, f_node: Callable[[tuple, Any], Any], f_leaf: Callable[[Any], Any] | None,
             leaves: Iterable[Any]) -> Any:
        """Fold: `f_leaf(leaf)` at leaves, else `f_node(results of the children, aux data)`."""
        leaves = list(map(f_leaf, leaves) if f_leaf else leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"Cannot walk: {self} has {self.num_leaves} leaves, but {len(leaves)} were given."
            )
        return _walk(self, f_node, iter(leaves))

    @staticmethod
    def from_node_data_and_children(
        node_registry: Any, node_data: tuple[type, Any] | None, children: Iterable[PyTreeDef]
    ) -> PyTreeDef:
        """The inverse of `node_data` and `children`. The first argument is there for JAX's sake."""
        if node_data is None:
            return LEAF
        cls, aux = node_data
        node_type = registry.get(cls)
        if node_type is None and issubclass(cls, tuple) and hasattr(cls, "_fields"):
            node_type, aux = NAMEDTUPLE, cls
        if node_type is None:
            raise RuntimeError(f"{cls} is not registered as a pytree node type.")
        return make_treedef(node_type, tuple(aux) if node_type is DICT else aux, tuple(children))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, PyTreeDef):
            return NotImplemented
        return (
            self.node_type is other.node_type
            and self.num_leaves == other.num_leaves
            and self.subtrees == other.subtrees
            and (self.aux is other.aux or self.aux == other.aux)
        )

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((id(self.node_type), _hash_if_possible(self.aux), self.subtrees))
        return self._hash

    def __repr__(self) -> str:
        return f"PyTreeDef({_text(self)})"

    def __reduce__(self):
        return PyTreeDef.from_node_data_and_children, (None, self.node_data(), self.subtrees)


LEAF = PyTreeDef(None, None, (), 1)
NONE = PyTreeDef(NONE_TYPE, None, (), 0)


def make_treedef(node_type: NodeType, aux: Any, subtrees: tuple[PyTreeDef, ...]) -> PyTreeDef:
    """A node over `subtrees`; keeps `NONE` the only structure of None."""
    if node_type is NONE_TYPE:
        return NONE
    return PyTreeDef(node_type, aux, subtrees, sum(sub.num_leaves for sub in subtrees))


def _hash_if_possible(aux):
    try:
        return hash(aux)
    except TypeError:  # aux data need not be hashable to be compared
        return 0


def _text(treedef):
    """`treedef` in JAX's notation: `*` for a leaf, Python's own for the built-in containers."""
    node_type, aux = treedef.node_type, treedef.aux
    if node_type is None:
        return "*"
    parts = [_text(sub) for sub in treedef.subtrees]
    inside = ", ".join(parts)
    if node_type is NONE_TYPE:
        return "None"
    if node_type is TUPLE:
        return f"({inside},)" if len(parts) == 1 else f"({inside})"
    if node_type is LIST:
        return f"[{inside}]"
    if node_type is DICT:
        return "{" + ", ".join(f"{key!r}: {part}" for key, part in zip(aux, parts)) + "}"
    if node_type is NAMEDTUPLE:
        return f"CustomNode(namedtuple[{aux.__name__}], [{inside}])"
    return f"CustomNode({node_type.python_type.__name__}[{aux}], [{inside}])"


# ----------------------------------------------------------------------------------------------
# The recursions


def flatten_into(tree: Any, leaves: list[Any], is_leaf: Callable[[Any], bool] | None) -> PyTreeDef:
    """Append the leaves of `tree` to `leaves`, left to right, and return its structure."""
    if is_leaf is not None and _says_leaf(is_leaf(tree)):
        leaves.append(tree)
        return LEAF
    node_type = registry.get(type(tree))
    if node_type is None:  # the hottest path: node_type_of by hand
        if not (isinstance(tree, tuple) and hasattr(tree, "_fields")):
            leaves.append(tree)
            return LEAF
        node_type = NAMEDTUPLE
    if tree is None:
        return NONE
    start = len(leaves)
    children, aux = node_type.flatten(tree)
    subtrees = []
    for child in children:
        subtrees.append(flatten_into(child, leaves, is_leaf))
    return PyTreeDef(node_type, aux, tuple(subtrees), len(leaves) - start)


def flatten_with_path_into(tree: Any, path: KeyPath, out: list[tuple[KeyPath, Any]],
                           is_leaf: Callable[[KeyPath, Any], bool] | None) -> PyTreeDef:
    """`flatten_into`, but appends (path, leaf) pairs, and `is_leaf` sees the path too."""
    node_type = node_type_of(tree)
    if node_type is None or (is_leaf is not None and _says_leaf(is_leaf(path, tree))):
        out.append((path, tree))
        return LEAF
    pairs, aux = node_type.flatten_with_keys(tree)
    subtrees = [flatten_with_path_into(child, (*path, key), out, is_leaf) for key, child in pairs]
    return make_treedef(node_type, aux, tuple(subtrees))


def _says_leaf(answer):
    if answer is True or answer is False or answer is None:
        return answer
    raise ValueError(
        f"is_leaf must return True or False, but it returned {answer!r} of type {type(answer)}."
    )


def _unflatten(treedef, leaves):
    """Take this structure's leaves from the iterator, and build its tree."""
    if treedef.node_type is None:
        return next(leaves)
    children = []
    for subtree in treedef.subtrees:
        children.append(_unflatten(subtree, leaves))
    return treedef.node_type.unflatten(treedef.aux, tuple(children))


def _walk(treedef, f_node, leaves):
    if treedef is LEAF:
        return next(leaves)
    results = tuple([_walk(subtree, f_node, leaves) for subtree in treedef.subtrees])
    return f_node(
        results, treedef.aux if treedef.node_type is NAMEDTUPLE else treedef.node_data()[1]
    )


class _Mismatch(Exception):
    """A structure is no prefix of a tree. Says no more: `differences` finds out where and why."""


def flatten_up_to(treedef: PyTreeDef, tree: Any, name: str) -> list[Any]:
    """`treedef.flatten_up_to(tree)`; `name` says in the error which tree it was."""
    subtrees: list[Any] = []
    try:
        _flatten_up_to_into(treedef, tree, subtrees)
    except _Mismatch:
        raise mismatch_error(treedef, tree, name) from None
    return subtrees


def _flatten_up_to_into(treedef, tree, out):
    if treedef.node_type is None:
        out.append(tree)
        return
    if node_type_of(tree) is not treedef.node_type:
        raise _Mismatch
    children, aux = treedef.node_type.flatten(tree)
    if len(children) != len(treedef.subtrees) or aux != treedef.aux:
        raise _Mismatch
    for subtree, child in zip(treedef.subtrees, children):
        _flatten_up_to_into(subtree, child, out)


# ----------------------------------------------------------------------------------------------
# Saying where two structures differ


class Difference(NamedTuple):
    """`expected` and `found`, both in words, disagree at `path`; `why` says in what."""

    path: KeyPath
    expected: str
    found: str
    why: str


def differences(expected: PyTreeDef, tree: Any, strict: bool = False, path: KeyPath = (),
                is_leaf: Callable[[Any], bool] | None = None) -> Iterator[Difference]:
    """The topmost places where `tree` does not have the structure `expected`.

    Unless `strict`, `expected` need only be a prefix: anything may stand where it has a leaf.
    """
    found = flatten_into(tree, [], is_leaf)
    if expected is LEAF:
        if strict and found is not LEAF:
            yield Difference(path, "a leaf", _describe(found), "one is a leaf and the other is not")
        return
    why = _root_difference(expected, found)
    if why is not None:
        yield Difference(path, _describe(expected), _describe(found), why)
        return
    assert expected.node_type is not None
    keyed_children, _ = expected.node_type.flatten_with_keys(tree)
    for subtree, (key, child) in zip(expected.subtrees, keyed_children):
        yield from differences(subtree, child, strict, (*path, key), is_leaf)


def _root_difference(expected, found):
    """How the roots differ, children aside; None if they agree."""
    if found is LEAF or expected.node_data()[0] is not found.node_data()[0]:
        return "their types differ"
    if expected.node_type is DICT and (why := _key_difference(expected.aux, found.aux)):
        return why
    if len(expected.subtrees) != len(found.subtrees):
        return "their numbers of children differ"
    if expected.aux != found.aux:
        return f"their metadata differ, {expected.aux} and {found.aux}"
    return None


def _key_difference(expected, found):
    """Which keys one has and the other has not; empty if none."""
    missing = [key for key in expected if key not in set(found)]
    extra = [key for key in found if key not in set(expected)]
    parts = [("the second lacks keys", missing), ("the second has more keys", extra)]
    return " and ".join(f"{text} {keys}" for text, keys in parts if keys)


def _describe(treedef):
    """One node in words."""
    if treedef is LEAF:
        return "a leaf"
    if treedef is NONE:
        return "None"
    cls, _ = treedef.node_data()
    if treedef.node_type is DICT:
        return f"a dict with keys {list(treedef.aux)}"
    if treedef.node_type in (TUPLE, LIST):
        return f"a {cls.__name__} of length {len(treedef.subtrees)}"
    return f"a {cls.__module__}.{cls.__qualname__} with {len(treedef.subtrees)} children"


def mismatch_error(expected: PyTreeDef, tree: Any, name: str) -> ValueError:
    """The error for "`expected` is no prefix of `tree`", which the message calls `name`."""
    structure = flatten_into(tree, [], None)
    first = next(differences(expected, tree), None)
    what = (
        difference_text(first, name) if first else f"{name} does not have the expected structure."
    )
    return ValueError(
        f"{what}\n  expected structure: {expected}\n  structure of {name}: {structure}"
    )


def difference_text(difference: Difference, name: str) -> str:
    """One sentence that names the place, as in `in_axes[0]['w']`."""
    path, expected, found, why = difference
    place = f"{name}{keystr(path)}"
    return f"Pytree structures differ at {place}: expected {expected}, got {found} ({why})."
