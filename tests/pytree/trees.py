"""Trees for the pytree tests. Their classes are registered with both libraries alike."""

from __future__ import annotations

import collections
import dataclasses
import functools
from typing import Any, NamedTuple

import numpy as np

import minijax.pytree
from tests.oracle import jax

LIBRARIES = (jax.tree_util, minijax.pytree)


def register(name, *args, **kwargs):
    """A decorator that registers a class with both libraries by the function of that name."""

    def decorate(cls):
        for library in LIBRARIES:
            getattr(library, name)(cls, *args, **kwargs)
        return cls

    return decorate


class Point(NamedTuple):
    x: Any
    y: Any


class SubPoint(Point):
    pass


@register("register_pytree_node_class")
class Pair:
    """Registered without keys."""

    def __init__(self, a, b, aux=("aux", 1)):
        self.a, self.b, self.aux = a, b, aux

    def tree_flatten(self):
        return (self.a, self.b), self.aux

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children, aux)

    def __repr__(self):
        return f"{type(self).__name__}({self.a}, {self.b}, {self.aux})"

    def __eq__(self, other):
        return repr(self) == repr(other)


@register("register_pytree_with_keys_class")
class Keyed(Pair):
    """Registered with keys of its own kind."""

    def tree_flatten_with_keys(self):
        return ((".first", self.a), ("#2", self.b)), self.aux


@register("register_dataclass")
@dataclasses.dataclass
class Layer:
    w: Any
    b: Any
    activation: str = dataclasses.field(metadata={"static": True}, default="tanh")


@register("register_dataclass", data_fields=["b"], meta_fields=["w"], drop_fields=["c"])
@dataclasses.dataclass
class Dropped:
    w: Any
    b: Any
    c: Any = 7


@register("register_dataclass")
@dataclasses.dataclass
class NoFields:
    pass


@register("register_static")
class Mode(str):
    pass


class UnhashableAux(Pair):
    pass


class FromIterator(Pair):
    pass


def unflatten_unhashable(aux, children):
    return UnhashableAux(*children, *aux)


register("register_pytree_node", lambda p: ((p.a, p.b), [p.aux]), unflatten_unhashable)(
    UnhashableAux
)
register(
    "register_pytree_node", lambda p: (iter((p.a, p.b)), None), lambda _, xs: FromIterator(*xs)
)(FromIterator)


class Attributes:
    """Registered with each library's own attribute keys."""

    def __init__(self, u, v):
        self.u, self.v = u, v

    def __repr__(self):
        return f"Attributes({self.u}, {self.v})"


for _library in LIBRARIES:
    _library.register_pytree_with_keys(
        Attributes,
        lambda t, key=_library.GetAttrKey: (((key("u"), t.u), (key("v"), t.v)), None),
        lambda _, children: Attributes(*children),
        lambda t: ((t.u, t.v), None),
    )


class SubTuple(tuple):
    pass


class SubDict(dict):
    pass


class SubOrderedDict(collections.OrderedDict):
    pass


TREES: list[Any] = [
    1,
    2.5,
    "a string",
    np.ones(3),
    range(3),
    {1, 2},
    object,
    functools.partial(print, 1),
    None,
    (),
    [],
    {},
    (1,),
    [1],
    (1, 2),
    [1, 2],
    (1, 2, 3),
    (None,),
    (None, None),
    ((),),
    ([], {}),
    {"a": 1},
    {"b": 1},
    {"b": 1, "a": 2},
    {"a": 1, "b": None},
    {"a": (1, 2), "b": [3]},
    {1: 1, 0: 2},
    {1: 1},
    {True: 1},
    {1.5: 1, 0: 2},
    {(1, 2): 1, (0, 1): 2},
    {None: 1},
    {"it's": 1, 'say "hi"': 2},
    {b"a": 1},
    {np.int64(3): 1},
    {"a": {"b": {"c": [1, (2,)]}}},
    [(1, 2), [3, {"a": (4, None)}]],
    (1, (2, (3, (4,)))),
    ((1, 2), (3, 4)),
    [[1, 2], [3, 4]],
    collections.OrderedDict(),
    collections.OrderedDict([("b", 1), ("a", 2)]),
    collections.OrderedDict([("a", 1), ("b", (2, 3))]),
    collections.defaultdict(list, {"b": 1, "a": 2}),
    collections.defaultdict(dict, {"b": 1, "a": 2}),
    collections.defaultdict(None, {"b": 1}),
    collections.deque([1, 2]),
    SubTuple((1, 2)),
    SubDict(a=1),
    SubOrderedDict(a=1),
    Point(1, 2),
    Point((1, 2), None),
    SubPoint(1, 2),
    Pair(1, 2),
    Pair(1, (2, 3), None),
    Keyed(1, (2, 3)),
    Attributes([1, 2], {"a": 3}),
    Layer(1, 2),
    Layer(1, {"u": 2, "v": None}, "relu"),
    Dropped(1, 2),
    NoFields(),
    Mode("train"),
    Mode("test"),
    UnhashableAux(1, 2),
    FromIterator(1, 2),
    {"layers": [Layer(1, Point(2, 3)), Pair(4, Mode("train"))], "step": 5},
    (1, None, Mode("train"), {"k": NoFields()}),
]
