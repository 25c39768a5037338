"""What wrong calls of the functions of trees say."""

from __future__ import annotations

import itertools

import pytest

from minijax import pytree
from tests.oracle import jax
from tests.pytree.test_pytree import outcome
from tests.pytree.trees import (
    Layer,
    Pair,
)

# -- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "tree", [{"a": 1, 2: 3}, {1j: 1, 2j: 2}, [{None: 1, "a": 2}], {(1, "a"): 1, (1, 2): 2}]
)
def test_keys_that_cannot_be_sorted(tree):
    for library in (jax.tree_util, pytree):
        for flatten in (library.tree_flatten, library.tree_leaves_with_path):
            with pytest.raises(ValueError):
                flatten(tree)
    with pytest.raises(ValueError, match="Use keys of one type"):
        pytree.tree_structure(tree)


@pytest.mark.parametrize("leaves", [[], [1], [1, 2, 3], iter([1, 2]), "ab", {1: 2, 3: 4}, 5, None])
def test_number_of_leaves(leaves):
    leaves, again = itertools.tee(leaves) if hasattr(leaves, "__next__") else (leaves, leaves)
    ours = outcome(pytree.tree_structure((0, 0)).unflatten, leaves)
    assert ours == outcome(jax.tree.structure((0, 0)).unflatten, again)


def test_unflatten_stops_reading():
    with pytest.raises(ValueError, match="Too many leaves for PyTreeDef; expected 2"):
        pytree.tree_structure([0, 0]).unflatten(itertools.count())


@pytest.mark.parametrize("answer", [True, False, None, 0, 1, [], "yes"])
def test_is_leaf_must_return_a_bool(answer):
    for name in ("tree_flatten", "tree_leaves_with_path"):
        ours = outcome(getattr(pytree, name), (1, [2]), is_leaf=lambda _: answer)
        assert ours == outcome(getattr(jax.tree_util, name), (1, [2]), is_leaf=lambda _: answer)


def test_is_leaf_takes_path():
    is_leaf = lambda path, x: len(path) == 1
    for name in ("tree_flatten_with_path", "tree_leaves_with_path"):
        args = ({"a": (1, 2), "b": [3]}, is_leaf, True)
        assert repr(getattr(pytree, name)(*args)) == repr(getattr(jax.tree_util, name)(*args))


def test_map_error_names_the_place_and_both_structures():
    with pytest.raises(ValueError) as e:
        pytree.tree_map(lambda *xs: xs, {"w": [1, (2,)]}, {"w": [1, (2,)]}, {"w": [1, (5, 6)]})
    assert "tree_map rest[1]['w'][1]" in str(e.value)
    assert "{'w': [*, (*,)]}" in str(e.value) and "{'w': [*, (*, *)]}" in str(e.value)


def test_key_error_names_the_keys():
    with pytest.raises(ValueError, match=r"lacks keys \['b'\] and .* more keys \['c'\]"):
        pytree.tree_map(lambda *xs: xs, {"a": 1, "b": 2}, {"a": 1, "c": 2})


def test_metadata_error_names_the_metadata():
    with pytest.raises(ValueError, match="metadata.*tanh.*relu.*metadata does not match"):
        pytree.tree_map(lambda *xs: xs, Layer(1, 2), Layer(1, 2, "relu"))


def test_axes_errors():
    treedef = pytree.tree_structure(({"w": 1, "b": 2},))
    with pytest.raises(ValueError, match="tuple of one element"):
        pytree.flatten_axes("vmap in_axes", treedef, {"w": 0, "b": 0}, tupled_args=True)
    with pytest.raises(ValueError, match=r"vmap in_axes\[0\]\n.*lacks keys"):
        pytree.flatten_axes("vmap in_axes", treedef, ({"w": 0, "b": 0, "c": 0},))
    both = pytree.tree_structure(((1, 2), {"k": 3}))
    assert pytree.flatten_axes("in_axes", both, ((None, 1), 0), kws=True) == [None, 1, 0]
    with pytest.raises(ValueError, match="in_axes\nExpected a tuple of length 1, got .* 2"):
        pytree.flatten_axes("in_axes", both, ((None,), 0), kws=True)


def test_axes_error_of_a_class_that_wants_no_dummies():
    class Strict(Pair):
        pass

    def unflatten(_, children):
        assert all(isinstance(child, int) for child in children)
        return Strict(*children)

    pytree.register_pytree_node(Strict, lambda s: ((s.a, s.b), None), unflatten)
    with pytest.raises(ValueError, match="specification must be a tree prefix"):
        pytree.flatten_axes("in_axes", pytree.tree_structure([Strict(1, 2)]), (0,))


def test_wrong_arguments():
    with pytest.raises(TypeError):
        pytree.treedef_tuple([1])
    with pytest.raises(TypeError):
        pytree.tree_structure((1, 2)).compose(1)
    with pytest.raises(RuntimeError):
        pytree.PyTreeDef.from_node_data_and_children(None, (int, None), [])
