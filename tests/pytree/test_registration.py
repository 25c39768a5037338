"""`tree_util.default_registry` by its methods, as JAX's libraries call them."""

from __future__ import annotations

import collections
import dataclasses
from typing import Any, NamedTuple

import pytest

from tests.oracle import both, in_both


class Point(NamedTuple):
    x: Any
    y: Any


class Record:
    def __init__(self, x, y):
        self.x, self.y = x, y


VALUES = {
    "dict": {"b": 1, "a": 2}, "list": [1, [2, 3]], "tuple": (1,), "None": None, "leaf": 1,
    "namedtuple": Point(1, (2,)), "OrderedDict": collections.OrderedDict(z=1, y=2),
    "defaultdict": collections.defaultdict(list, {"b": 1}),
}
QUESTIONS = {
    "flatten": lambda r, x: (r.flatten(x)[0], str(r.flatten(x)[1])),
    "flatten up to tuples": lambda r, x: r.flatten(x, lambda x: isinstance(x, tuple))[0],
    "flatten_with_path": lambda r, x: [(str(path), leaf) for path, leaf in
                                       r.flatten_with_path(x)[0]],
    "one level": lambda r, x: [*r.flatten_one_level(x)[0]],
    "one level with keys": lambda r, x: [
        (str(key), child) for key, child in r.flatten_one_level_with_keys(x)[0]],
    "aux": lambda r, x: r.flatten_one_level(x)[1],
    "is_node": lambda r, x: r.is_node(type(x)),
}


# (Of a namedtuple, JAX names the first field for each of the children.)
@pytest.mark.parametrize(("name", "question"), [
    (name, question) for name in VALUES for question in QUESTIONS
    if (name, question) != ("namedtuple", "one level with keys")])
def test_registry(name, question):
    def program(jx):
        registry = jx.tree_util.default_registry
        if name == "leaf" and "one level" in question or question == "aux" and name == "leaf":
            return lambda: (registry.flatten_one_level(1), registry.flatten_one_level_with_keys(1))
        return lambda: QUESTIONS[question](registry, VALUES[name])

    both(program)


def registered(jx: Any, keys: bool) -> Any:
    class Own(Record):
        pass

    arguments = [Own, lambda r: ((r.x, r.y), "aux"), lambda aux, children: Own(*children)]
    if keys:
        arguments.append(lambda r: ((("x", r.x), ("y", r.y)), "aux"))
    assert jx.tree_util.default_registry.register_node(*arguments) is None
    return Own


@pytest.mark.parametrize("keys", [False, True])
@in_both
def test_register_node(jx, keys):
    registry = jx.tree_util.default_registry
    own = registered(jx, keys)(1, [2, 3])
    children, aux = registry.flatten_one_level(own)
    paths = [(*map(str, path), leaf) for path, leaf in registry.flatten_with_path(own)[0]]
    return [*children], aux, paths, registry.is_node(type(own))


def test_register_node_twice():
    def again(jx):
        cls = registered(jx, False)
        jx.tree_util.default_registry.register_node(cls, lambda r: ((), None), lambda *_: None)

    both(lambda jx: lambda: again(jx), raises=ValueError)


@in_both
def test_register_dataclass_node(jx):
    @dataclasses.dataclass
    class Own:
        x: int
        y: int

    registry = jx.tree_util.default_registry
    assert registry.register_dataclass_node(Own, ["x"], ["y"]) is None
    children, aux = registry.flatten_one_level(Own(1, 2))
    return [*children], aux, [str(k) for k, _ in registry.flatten_one_level_with_keys(
        Own(1, 2))[0]], jx.tree.map(lambda x: 2 * x, Own(1, 2)).x


@pytest.mark.parametrize("value", [1, object()])
def test_only_types_are_types_of_nodes(value):
    both(lambda jx: lambda: (jx.tree_util.is_tree_node(value),
                             jx.tree_util.default_registry.is_node(value)))
