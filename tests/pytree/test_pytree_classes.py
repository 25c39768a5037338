"""Classes that users register, and JAX's other module names."""

from __future__ import annotations

import collections
import dataclasses
import importlib
import inspect
import re

import pytest

from minijax import pytree
from tests.oracle import jax
from tests.pytree.test_pytree import outcome
from tests.pytree.trees import (
    Layer,
    Mode,
    Pair,
)

# -- Partial, which each library has for itself --------------------------------------------------


def text(x):
    """The `repr`, without the module of `Partial`, which Python 3.13 shows."""
    return re.sub(r"[\w.]+(?=\bPartial\()", "", repr(x))


@pytest.mark.parametrize(
    "make",
    [
        lambda Partial: Partial(max, 1, key=2),
        lambda Partial: Partial(max),
        lambda Partial: Partial(Partial(max, 1), [2, 3]),
        lambda Partial: Partial(max, (1, Partial(min, 2))),
    ],
)
def test_partial(make):
    ours, theirs = make(pytree.Partial), make(jax.tree_util.Partial)
    assert text(pytree.tree_structure(ours)) == text(jax.tree.structure(theirs))
    assert pytree.tree_leaves(ours) == jax.tree.leaves(theirs)
    paths = [pytree.keystr(path) for path, _ in pytree.tree_leaves_with_path(ours)]
    their_paths = jax.tree_util.tree_leaves_with_path(theirs)
    assert paths == [jax.tree_util.keystr(path) for path, _ in their_paths]
    assert text(pytree.tree_map(str, ours)) == text(jax.tree.map(str, theirs))
    assert pytree.tree_structure(ours) == pytree.tree_structure(pytree.tree_map(str, ours))


def test_partial_calls():
    inner = pytree.Partial(lambda *args, **kwargs: (args, kwargs), 1, k=2)
    outer = pytree.tree_map(lambda x: 10 * x, pytree.Partial(inner, 3, m=4))
    assert outer(5, n=6) == ((1, 30, 5), {"k": 2, "m": 40, "n": 6})
    assert pytree.tree_structure(outer) == pytree.tree_structure(pytree.Partial(inner, 3, m=4))


# -- registration --------------------------------------------------------------------------------


def test_registering_twice():
    for cls in (tuple, list, dict, type(None), Pair, Layer, Mode, collections.OrderedDict):
        with pytest.raises(ValueError, match="Duplicate custom PyTreeDef type"):
            pytree.register_pytree_node(cls, lambda x: ((), None), lambda *_: None)
    with pytest.raises(ValueError, match="Duplicate custom PyTreeDef type"):
        pytree.register_dataclass(Layer)


def test_a_registered_namedtuple_is_no_longer_just_a_namedtuple():
    Named = collections.namedtuple("Named", "a b")
    for library in (jax.tree_util, pytree):
        library.register_pytree_node(Named, lambda t: ((t.a,), t.b), lambda b, xs: Named(*xs, b))
    ours, theirs = pytree.tree_structure(Named(1, 2)), jax.tree.structure(Named(1, 2))
    assert repr(ours) == repr(theirs) == "PyTreeDef(CustomNode(Named[2], [*]))"
    assert ours.unflatten([7]) == Named(7, 2)


@pytest.mark.parametrize(
    "result",
    [5, (5, 6), ((1, 2), 3, 4), [(1, 2), 3], None],
)
def test_bad_flatten_functions(result):
    Bad = type("Bad", (), {})
    for library in (jax.tree_util, pytree):
        library.register_pytree_node(Bad, lambda _: result, lambda *_: Bad())
        with pytest.raises(ValueError):
            library.tree_flatten(Bad())


def test_bad_keys():
    Bad = type("Bad", (), {})
    for library in (jax.tree_util, pytree):
        library.register_pytree_with_keys(Bad, lambda _: ((1, 2), None), lambda *_: Bad())
        with pytest.raises(ValueError if library is pytree else Exception):
            library.tree_flatten_with_path(Bad())


@dataclasses.dataclass
class Fields:
    a: int
    b: int
    c: int = dataclasses.field(init=False, default=0)


@pytest.mark.parametrize(
    "cls, kwargs",
    [
        (Fields, {}),
        (Fields, {"data_fields": ["a"]}),
        (Fields, {"data_fields": ["a"], "meta_fields": []}),
        (Fields, {"data_fields": ["a", "b", "z"], "meta_fields": []}),
        (Fields, {"data_fields": ["a", "b"], "meta_fields": ["b"]}),
        (type("Plain", (), {}), {}),
        (type("Plain", (), {}), {"data_fields": ["a"], "meta_fields": ["a"]}),
    ],
)
def test_bad_dataclasses(cls, kwargs):
    ours = outcome(pytree.register_dataclass, cls, **kwargs)
    assert ours == outcome(jax.tree_util.register_dataclass, cls, **kwargs)
    assert ours in (TypeError, ValueError)


def test_dataclass_of_a_class_that_is_none():
    class Plain:
        def __init__(self, x, mode):
            self.x, self.mode = x, mode

    for library in (jax.tree_util, pytree):
        assert library.register_dataclass(Plain, ["x"], ["mode"]) is Plain
    assert repr(pytree.tree_structure(Plain([1], 2))) == repr(jax.tree.structure(Plain([1], 2)))
    again = pytree.tree_map(lambda x: x + 1, Plain([1], 2))
    assert (again.x, again.mode) == ([2], 2)


def test_static_fields():
    @pytree.register_dataclass
    @dataclasses.dataclass
    class Scale:
        factor: float
        name: str = pytree.static(default="scale", metadata={"unit": "m"})

    assert pytree.tree_flatten(Scale(2.0))[0] == [2.0]
    assert dict(dataclasses.fields(Scale)[1].metadata) == {"static": True, "unit": "m"}
    assert pytree.tree_map(str, Scale(2.0, "n")) == Scale("2.0", "n")


# -- the facades ---------------------------------------------------------------------------------

@pytest.mark.parametrize("name", ["tree", "tree_util"])
@pytest.mark.live_jax
def test_facades_have_jax_names_and_arguments(name):
    ours = importlib.import_module(f"minijax.{name}")
    theirs = getattr(jax, name)
    names = {n for n in vars(theirs) if not n.startswith("_")}
    assert names == set(ours.__all__)
    for n in names:
        f = getattr(theirs, n)
        if inspect.isfunction(f) and n != "static":
            assert _parameters(getattr(ours, n)) == _parameters(f), n


def _parameters(f):
    return [(p.name, p.kind) for p in inspect.signature(f).parameters.values()]
