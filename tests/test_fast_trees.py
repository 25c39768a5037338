"""The public functions of trees give what the core's give, and structures that do not differ.

Where XLA is loaded, C++ flattens. No user can tell.
"""

from __future__ import annotations

import collections
import copy
import itertools
import math
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import minijax
from minijax import pytree
from minijax.core import tree as core
from minijax.core.tree import LEAF, NONE
from minijax.pytree import functions
from minijax.runtime import xla
from tests.ch03.trees import TREES, Keyed, Mode, Pair, Point
from tests.oracle import jax


@pytest.fixture(autouse=True)
def _with_fast_paths():
    if os.environ.get("MINIJAX_FAST") == "0":
        pytest.skip("there are no fast paths")
    xla()


def outcome(f, *args, **kwargs):
    """What a call gives, or its error."""
    try:
        return f(*args, **kwargs)
    except Exception as error:
        return type(error), str(error)


def in_xla(treedef):
    return hasattr(treedef, "_in_xla")


def is_pair(x):
    return type(x) in (Pair, Keyed)


SAME_NAMES = ({1: 0}, {True: 0}, {1.0: 0}, {(1,): 0}, {(True,): 0}, Pair(1, 2, 0.0), Pair(1, 2, -0.0))
ALL = [*TREES, *SAME_NAMES, {"b": [1, {"a": (None, Point(1, 2))}], "a": Mode("on")},
       collections.OrderedDict(b=1, a=2), [()] * 300, list(range(300))]
every_tree = pytest.mark.parametrize("tree", ALL, ids=lambda tree: repr(tree)[:40])


@every_tree
@pytest.mark.parametrize("is_leaf", (None, is_pair, lambda x: None, lambda x: x is None))
def test_leaves_and_structure(tree, is_leaf):
    leaves, treedef = pytree.tree_flatten(tree, is_leaf)
    expected, known = core.tree_flatten(tree, is_leaf)
    assert len(leaves) == len(expected) and all(a is b for a, b in zip(leaves, expected))
    assert (treedef is LEAF, treedef is NONE) == (known is LEAF, known is NONE)
    assert repr(pytree.tree_leaves(tree, is_leaf)) == repr(expected)
    assert repr(pytree.tree_structure(tree, is_leaf)) == repr(known)
    for ask in (repr, hash, lambda t: t.num_leaves, lambda t: t.num_nodes, lambda t: t.children(),
                lambda t: t.aux, lambda t: repr(t.node_data()), lambda t: t.subtrees,
                lambda t: t.unflatten(range(t.num_leaves)), lambda t: t.unflatten(iter(expected)),
                lambda t: t.compose(known), lambda t: known.compose(t),
                lambda t: t.walk(lambda *x: x, None, expected)):
        fresh = pytree.tree_structure(tree, is_leaf)
        assert repr(outcome(ask, fresh)) == repr(outcome(ask, known))
    for same in (pickle.loads(pickle.dumps(known)), copy.copy(treedef), copy.deepcopy(treedef)):
        assert same == known and same == treedef == known and known == treedef
    assert isinstance(treedef, core.PyTreeDef) and type(treedef).__name__ == "PyTreeDef"


def test_all_pairs_of_structures():
    fast, slow = [[*map(f, ALL)] for f in (pytree.tree_structure, core.tree_structure)]
    for (i, a), (j, b) in itertools.product(enumerate(fast), enumerate(slow)):
        same = slow[i] == b
        assert (a == b, b == a, a == fast[j], a != fast[j]) == (same, same, same, not same)
        if same:
            assert hash(a) == hash(b) == hash(pytree.tree_structure(ALL[i]))


def test_names_that_are_equal_stay_what_they_are():
    for tree in SAME_NAMES * 2:
        treedef = pytree.tree_structure(tree)
        hash(treedef)
        assert repr(treedef.unflatten(pytree.tree_leaves(tree))) == repr(tree)
        assert repr(pytree.tree_map(lambda x: x, tree)) == repr(tree)
        assert repr(pytree.tree_leaves_with_path(tree)) == repr(
            [*functions.checks.leaves_with_path(tree)])


@every_tree
def test_map(tree):
    for other in (tree, [tree], *ALL[:20]):
        for f in (lambda x, y: (x, y), lambda x, y: 1 / 0):
            assert repr(outcome(pytree.tree_map, f, tree, other)) == repr(
                outcome(core.tree_map, f, tree, other))
    assert repr(pytree.tree_map(id, tree, is_leaf=is_pair)) == repr(
        core.tree_map(id, tree, is_leaf=is_pair))


@every_tree
def test_up_to(tree):
    fast, slow = pytree.tree_structure(tree), core.tree_structure(tree)
    for other in ALL:
        assert repr(outcome(fast.flatten_up_to, other)) == repr(outcome(slow.flatten_up_to, other))
    for leaves in ([], [1], range(3), "abcdef", iter([1, 2]), None, 5):
        leaves, again = itertools.tee(leaves) if hasattr(leaves, "__next__") else (leaves, leaves)
        assert repr(outcome(fast.unflatten, leaves)) == repr(outcome(slow.unflatten, again))


@every_tree
def test_paths(tree):
    pairs, treedef = pytree.tree_flatten_with_path(tree)
    expected, known = pytree.tree_flatten_with_path.__wrapped__(tree)
    assert repr(pairs) == repr(expected) and pairs == expected and treedef == known
    assert pytree.tree_leaves_with_path(tree) == expected
    for takes_path in (False, True):
        stop = (lambda _, x: is_pair(x)) if takes_path else is_pair
        assert repr(pytree.tree_flatten_with_path(tree, stop, takes_path)) == repr(
            pytree.tree_flatten_with_path.__wrapped__(tree, stop, takes_path))


class Boom(Exception):
    pass


def boom(*_):
    raise Boom("x")


class Faulty:
    """A node whose functions fail where `where` says."""

    def __init__(self, where, x=1):
        self.where, self.x = where, x

    def tree_flatten(self):
        return boom() if self.where == "flatten" else ((self.x,), self.where)

    @classmethod
    def tree_unflatten(cls, where, children):
        return boom() if where == "unflatten" else cls(where, *children)


pytree.register_pytree_node_class(Faulty)
DEEP = [0]
for _ in range(5000):
    DEEP = [DEEP]


@pytest.mark.parametrize("call", [
    lambda t: t.tree_flatten({1: 2, "a": 3}), lambda t: t.tree_map(abs, {1: 2, "a": 3}),
    lambda t: t.tree_leaves([1], lambda x: 1), lambda t: t.tree_structure([1], lambda x: "no"),
    lambda t: t.tree_leaves([1], boom), lambda t: t.tree_map(boom, [1]),
    lambda t: t.tree_map(boom, [1], [2]), lambda t: t.tree_map(3, [1]),
    lambda t: t.tree_leaves(Faulty("flatten")), lambda t: t.tree_map(abs, Faulty("unflatten")),
    lambda t: t.tree_structure(Faulty("unflatten")).unflatten([1]),
    lambda t: t.tree_map(max, [1], Faulty("flatten")), lambda t: t.tree_map(max, (1,), [1], [2]),
    lambda t: t.tree_structure([Faulty("")]).flatten_up_to([Faulty("flatten")]),
    lambda t: t.tree_leaves(DEEP),
])
def test_errors(call):
    errors = []
    for library in (pytree, core):
        with pytest.raises(Exception) as caught:
            call(library)
        errors.append((type(caught.value), str(caught.value), caught.value.__context__))
    assert repr(errors[0]) == repr(errors[1])


def test_auxiliary_data_that_is_equal_to_nothing():
    nan, array = math.nan, np.ones(2)
    for aux in (nan, array):
        one, two = (pytree.tree_structure(Pair(1, 2, aux)) for _ in range(2))
        assert one == two and one == core.tree_structure(Pair(1, 2, aux))
    assert pytree.tree_structure(Pair(1, 2, nan)) != pytree.tree_structure(Pair(1, 2, math.nan + 1))


def test_a_node_s_function_that_raises_is_called_once():
    class Refused:
        calls = 0

        @classmethod
        def unflatten(cls, aux, children):
            cls.calls += 1
            raise ValueError("no such node")

    minijax.tree_util.register_pytree_node(Refused, lambda x: ((1, 2), None), Refused.unflatten)
    structure = minijax.tree.structure([Refused()])
    with pytest.raises(ValueError, match="no such node"):
        minijax.tree.unflatten(structure, [1, 2])
    assert Refused.calls == 1


def test_types_that_are_registered_later_and_without_the_functions():
    class Later:
        pass

    assert pytree.tree_leaves([Later()]) != []
    core.registry[Later] = core.NodeType(Later, lambda x: ((7,), None), lambda *_: Later())
    assert pytree.tree_leaves([Later()]) == [7]


def test_structures_are_written_down_once_and_by_any_thread():
    trees = [{"a": [1, (2, Point(3, i))]} for i in range(50)]
    treedefs = [*map(pytree.tree_structure, trees)]
    assert all(map(in_xla, treedefs))
    expected = core.tree_structure(trees[0])

    def look():
        for treedef in treedefs:
            assert treedef.subtrees is treedef.subtrees
            assert treedef.aux == ("a",) and treedef.node_type is core.DICT

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(treedef == expected for treedef in treedefs)
    with pytest.raises(AttributeError, match="no attribute 'other'"):
        treedefs[0].other  # noqa: B018


def test_they_go_in_and_out_of_transformations():
    tree = {"w": 1.0, "b": [2.0, None]}
    leaves, treedef = pytree.tree_flatten(tree)
    assert in_xla(treedef)
    loss = lambda *leaves: sum(minijax.tree.leaves(treedef.unflatten(leaves)))
    assert minijax.tree.map(float, minijax.jit(minijax.grad(loss))(*leaves)) == 1.0
    assert minijax.jit(lambda x: x).lower(tree).in_tree == pytree.tree_structure(((tree,), {}))
    batch, axes = {"w": np.ones(3), "b": [np.ones(3), None]}, pytree.tree_map(lambda _: 0, tree)
    out = minijax.vmap(lambda t: pytree.tree_map(lambda x: 2 * x, t), in_axes=(axes,))(batch)
    assert pytree.tree_structure(out) == treedef and out["w"].tolist() == [2, 2, 2]


def test_trees_alone_do_not_load_xla():
    program = ("import sys, minijax as jax; t = jax.tree.structure({'a': [1, 2]}); "
               "assert jax.tree.map(abs, [1]) == [1]; assert 'jaxlib' not in sys.modules; "
               "jax.jit(abs)(1); u = jax.tree.structure({'a': [1, 2]}); "
               "assert t == u and hash(t) == hash(u) and not hasattr(t, '_in_xla') "
               "and hasattr(u, '_in_xla')")
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).parents[1])


def test_paths_of_names_that_are_equal():
    trees = [{1: 0.0, 2: 1.0}, {True: 0.0, 2: 1.0}, {1.0: 0.0, 2: 1.0}, {"a": (1, None, [2])},
             {"a": (1, None, [3])}, Point(1, {"b": 2}), Point(3, {"b": [4]}), 5, None, (), {}]
    for tree in trees * 2:
        pairs, treedef = minijax.tree.flatten_with_path(tree)
        assert pairs == minijax.tree.leaves_with_path(tree)
        assert [leaf for _, leaf in pairs] == minijax.tree.leaves(tree)
        assert treedef == minijax.tree.structure(tree)
        texts = minijax.tree.map_with_path(lambda path, x: minijax.tree_util.keystr(path), tree)
        expected = jax.tree.map_with_path(lambda path, x: jax.tree_util.keystr(path), tree)
        assert texts == expected
        assert [minijax.tree_util.keystr(path) for path, _ in pairs] == jax.tree.leaves(expected)


def test_children_of_structures():
    for tree in ([1, 2], (None, [1]), {"a": Point(1, ()), "b": None}, ((),), 1, None):
        ours, theirs = minijax.tree.structure(tree), jax.tree.structure(tree)
        assert [*map(str, ours.children())] == [*map(str, theirs.children())]
        assert ours.num_leaves == theirs.num_leaves
        for child in ours.children():
            assert child == minijax.tree.structure(child.unflatten([0] * child.num_leaves))
