"""Pytrees behave as JAX's: structures, leaves, paths, maps, prefixes, errors."""

from __future__ import annotations

import collections
import copy
import functools
import gc
import importlib
import itertools
import operator
import pickle
import weakref

import pytest
from hypothesis import given, strategies as st

from minijax import pytree
from tests.oracle import in_both, jax
from tests.pytree.trees import (
    TREES,
    Dropped,
    Keyed,
    Layer,
    Mode,
    NoFields,
    Pair,
    Point,
)

jax_api_util = jax._src.api_util
jax_tree_util = jax._src.tree_util

PAIRS = list(itertools.product(TREES, TREES))
every_tree = pytest.mark.parametrize("tree", TREES, ids=lambda tree: repr(tree)[:40])


def outcome(f, *args, **kwargs):
    """What a call gives, in a form in which both libraries' answers can be compared."""
    try:
        return repr(f(*args, **kwargs))
    except Exception as e:
        return type(e)


def one_field_name(text):
    """JAX 0.10.2 names every field of a namedtuple by the first one, if a level at a time is asked.

    We do not. So that only this is not compared, both get that name.
    """
    return text.replace("(name='y')", "(name='x')").replace("tree.y", "tree.x")


# -- the table: every tree, every question -------------------------------------------------------


@every_tree
def test_structure(tree):
    ours, theirs = pytree.tree_structure(tree), jax.tree.structure(tree)
    assert repr(ours) == repr(theirs)
    assert (ours.num_leaves, ours.num_nodes) == (theirs.num_leaves, theirs.num_nodes)
    assert repr(ours.node_data()) == repr(theirs.node_data())
    assert repr(ours.children()) == repr(theirs.children())
    assert pytree.treedef_is_leaf(ours) == jax.tree_util.treedef_is_leaf(theirs)
    assert pytree.treedef_is_strict_leaf(ours) == jax_tree_util.treedef_is_strict_leaf(theirs)
    assert repr(pytree.treedef_tuple([ours, ours])) == repr(
        jax.tree_util.treedef_tuple([theirs, theirs])
    )
    assert pytree.is_tree_node(type(tree)) == jax.tree_util.is_tree_node(type(tree))


@every_tree
def test_leaves(tree):
    ours, theirs = pytree.tree_leaves(tree), jax.tree.leaves(tree)
    assert len(ours) == len(theirs) and all(map(operator.is_, ours, theirs))
    for is_leaf in (None, bool, lambda x: isinstance(x, list), lambda x: x is None):
        for values in ([tree], [tree, 1], [], {"a": tree}):
            assert pytree.all_leaves(values, is_leaf) == jax.tree_util.all_leaves(values, is_leaf)


@every_tree
def test_unflatten_is_the_inverse(tree):
    leaves, treedef = pytree.tree_flatten(tree)
    again = treedef.unflatten(leaves)
    assert pytree.tree_structure(again) == treedef
    assert repr(again) == repr(jax.tree.unflatten(jax.tree.structure(tree), leaves))
    assert repr(treedef.unflatten(iter(leaves))) == repr(again)


@every_tree
def test_paths(tree):
    ours, treedef = pytree.tree_flatten_with_path(tree)
    theirs, _ = jax.tree_util.tree_flatten_with_path(tree)
    assert treedef == pytree.tree_structure(tree)
    assert repr(ours) == repr(theirs)
    for (path, _), (their_path, _) in zip(ours, theirs):
        assert pytree.keystr(path) == jax.tree_util.keystr(their_path)
        simple = {"simple": True, "separator": "/"}
        assert pytree.keystr(path, **simple) == jax.tree_util.keystr(their_path, **simple)


@every_tree
def test_one_level(tree):
    def level(children, aux):
        return list(children), aux

    for name in ("flatten_one_level", "flatten_one_level_with_keys"):
        ours = outcome(lambda: level(*getattr(pytree, name)(tree)))
        theirs = outcome(lambda: level(*getattr(jax.tree_util, name)(tree)))
        if name.endswith("keys"):
            ours, theirs = map(one_field_name, map(str, (ours, theirs)))
        assert ours == theirs


@pytest.mark.parametrize("children", [list, tuple, iter], ids=lambda f: f.__name__)
@pytest.mark.parametrize("registered", ["function", "method", "dataclass", "partial"])
@in_both
def test_one_level_has_the_children_as_they_were_given(jx, registered, children):
    """JAX gives a library's own function's children as they are: a list, a tuple, an iterator."""
    tu = jx.tree_util

    class Own:
        def tree_flatten(self):
            return children([1, 2]), None

        @classmethod
        def tree_unflatten(cls, aux, children):
            return cls()

    own = Own()
    if registered == "function":
        tu.register_pytree_node(Own, lambda _: (children([1, 2]), None), lambda *_: Own())
    elif registered == "method":
        tu.register_pytree_node_class(Own)
    elif registered == "dataclass":
        own.x = 1
        tu.register_dataclass(Own, ["x"], [])
    else:
        own = tu.Partial(max, 1, *children([2]))
    given, _ = tu.flatten_one_level(own)
    named, _ = tu.flatten_one_level_with_keys(own)
    return type(given).__name__, type(named).__name__, tu.tree_leaves(own)


@every_tree
def test_pickle_and_hash(tree):
    treedef = pytree.tree_structure(tree)
    assert pickle.loads(pickle.dumps(treedef)) == treedef
    assert copy.deepcopy(treedef) == treedef
    assert hash(treedef) == hash(pytree.tree_structure(tree)) == hash(treedef)
    assert treedef in {pytree.tree_structure(tree): 1}


@every_tree
def test_maps(tree):
    def same(library, name, f, **kwargs):
        return outcome(getattr(library, name), f, tree, tree, **kwargs)

    keystrs = [lambda path, x, y, lib=lib: (lib.keystr(path), x) for lib in (pytree, jax.tree_util)]
    ours = same(pytree, "tree_map_with_path", keystrs[0])
    theirs = same(jax.tree_util, "tree_map_with_path", keystrs[1])
    assert ours == theirs
    pair = lambda x, y: (x, y)
    assert same(pytree, "tree_map", pair) == same(jax.tree_util, "tree_map", pair)
    is_leaf = lambda x: isinstance(x, (list, Pair))
    kept = lambda library: library.tree_leaves(tree, is_leaf=is_leaf)
    assert all(map(operator.is_, kept(pytree), kept(jax.tree_util)))
    assert len(kept(pytree)) == len(kept(jax.tree_util))


@every_tree
def test_reductions(tree):
    add = lambda x, y: f"({x}+{y})"
    for args in [(add, tree), (add, tree, "start"), (add, tree, None)]:
        assert outcome(pytree.tree_reduce, *args) == outcome(jax.tree_util.tree_reduce, *args)
    for identity in ({}, {"identity": "id"}, {"identity": None}):
        ours = outcome(pytree.tree_reduce_associative, add, tree, **identity)
        assert ours == outcome(jax.tree_util.tree_reduce_associative, add, tree, **identity)
    if not any(hasattr(leaf, "shape") for leaf in pytree.tree_leaves(tree)):
        assert pytree.tree_all(tree) == jax.tree_util.tree_all(tree)


def test_equality_of_every_pair():
    ours = [pytree.tree_structure(tree) for tree in TREES]
    theirs = [jax.tree.structure(tree) for tree in TREES]
    for i, j in itertools.product(range(len(TREES)), repeat=2):
        assert (ours[i] == ours[j]) == (theirs[i] == theirs[j]), (TREES[i], TREES[j])
        assert (ours[i] != ours[j]) == (theirs[i] != theirs[j])
        if ours[i] == ours[j]:
            assert hash(ours[i]) == hash(ours[j])


def test_compose_every_pair():
    for a, b in PAIRS:
        ours = pytree.tree_structure(a).compose(pytree.tree_structure(b))
        assert repr(ours) == repr(jax.tree.structure(a).compose(jax.tree.structure(b)))


def test_flatten_up_to_every_pair():
    for a, b in PAIRS:
        ours = outcome(pytree.tree_structure(a).flatten_up_to, b)
        assert ours == outcome(jax.tree.structure(a).flatten_up_to, b), (a, b)


def test_broadcast_every_pair():
    for a, b in PAIRS:
        ours = outcome(pytree.broadcast_prefix, a, b)
        assert ours == outcome(jax_tree_util.broadcast_prefix, a, b), (a, b)
        theirs = outcome(jax.tree_util.tree_broadcast, a, b)
        assert outcome(pytree.tree_broadcast, a, b) == theirs, (a, b)


def test_prefix_errors_name_the_same_places():
    for a, b in PAIRS:
        ours = pytree.prefix_errors(a, b)
        theirs = jax_tree_util.prefix_errors(a, b)
        assert len(ours) == len(theirs), (a, b)
        for error, their_error in zip(ours, theirs):
            place = str(their_error("tree")).splitlines()[1].strip()
            assert type(error("tree")) is ValueError
            assert f" at key path\n    {one_field_name(place)}\n" in one_field_name(str(error("tree")))


def test_equality_errors_name_the_same_places():
    for a, b in PAIRS:
        ours = [str(path) for path, *_ in pytree.equality_errors(a, b)]
        theirs = [str(path) for path, *_ in jax_tree_util.equality_errors(a, b)]
        assert list(map(one_field_name, ours)) == list(map(one_field_name, theirs)), (a, b)
        treedefs = pytree.tree_structure(a), pytree.tree_structure(b)
        assert ours == [str(d.path) for d in pytree.equality_errors_pytreedef(*treedefs)]


def test_flatten_axes_every_pair():
    for axes, tree in itertools.product([*TREES, (0, None), [None, 0], {"a": None}], TREES):
        ours = outcome(pytree.flatten_axes, "axes", pytree.tree_structure(tree), axes)
        theirs = outcome(jax_api_util.flatten_axes, "axes", jax.tree.structure(tree), axes)
        assert ours == theirs, (axes, tree)


@every_tree
def test_from_node_data_and_children(tree):
    treedef = pytree.tree_structure(tree)
    make = pytree.PyTreeDef.from_node_data_and_children
    assert make(None, treedef.node_data(), treedef.children()) == treedef


@pytest.mark.parametrize(
    "outer, inner, tree",
    [
        ((0, 0), [0, 0, 0], ([1, 2, 3], [4, 5, 6])),
        ((0, 0), None, ([1, 2, 3], [4, 5, 6])),
        ({"a": 0, "b": (0, None)}, Point(0, 0), {"a": Point(1, 2), "b": (Point(3, 4), None)}),
        ((0, 0), (), ((), ())),
        ((), None, ()),
        (0, [0, 0], [1, 2]),
        ([0, 0], 0, [1, 2]),
        ((0, 0), [0, 0, 0], ((1, 2, 3), (4, 5))),
        ((0, 0), None, [[1], [2]]),
        ((0, 0), (0, 0), [[1, 2], [3, 4]]),  # of another structure, but JAX only counts leaves
    ],
)
def test_transpose(outer, inner, tree):
    def transpose(library):
        inner_treedef = None if inner is None else library.structure(inner)
        return library.transpose(library.structure(outer), inner_treedef, tree)

    tree_module = importlib.import_module("minijax.tree")
    assert outcome(transpose, tree_module) == outcome(transpose, jax.tree)


def test_transpose_of_nothing():
    """JAX fails here, for want of a first element to read the inner structure from."""
    nothing, pair = pytree.tree_structure(()), pytree.tree_structure((0, 0))
    assert pytree.tree_transpose(nothing, pair, ()) == ((), ())


# -- keys and structures as values ---------------------------------------------------------------


@pytest.mark.parametrize(
    "name, field, value",
    [
        ("SequenceKey", "idx", 1),
        ("DictKey", "key", "a"),
        ("GetAttrKey", "name", "a"),
        ("FlattenedIndexKey", "key", 1),
    ],
)
def test_keys(name, field, value):
    ours, theirs = getattr(pytree, name)(value), getattr(jax.tree_util, name)(**{field: value})
    assert (repr(ours), str(ours)) == (repr(theirs), str(theirs))
    assert getattr(ours, field) == value and ours == getattr(pytree, name)(**{field: value})
    assert ours in {getattr(pytree, name)(value)} and type(ours).__match_args__ == (field,)
    assert pickle.loads(pickle.dumps(ours)) == ours
    with pytest.raises(AttributeError):
        setattr(ours, field, 2)
    others = {"SequenceKey", "DictKey", "GetAttrKey", "FlattenedIndexKey"} - {name}
    assert all(ours != getattr(pytree, other)(value) for other in others)


def test_keystr_of_foreign_keys():
    for kwargs in ({}, {"simple": True, "separator": "/"}):
        ours = pytree.keystr((1, "a", pytree.DictKey("x")), **kwargs)
        assert ours == jax.tree_util.keystr((1, "a", jax.tree_util.DictKey("x")), **kwargs)


def test_leaf_and_none_are_single_objects():
    leaf, none = pytree.tree_structure(1), pytree.tree_structure(None)
    assert leaf is pytree.LEAF and none is pytree.NONE
    assert pickle.loads(pickle.dumps((leaf, none))) == (leaf, none)
    assert pickle.loads(pickle.dumps(leaf)) is leaf and pickle.loads(pickle.dumps(none)) is none
    assert pytree.tree_structure((1, None)).compose(none).children() == [none, none]


def test_structures_hold_no_leaves():
    class Leaf:
        pass

    leaf = Leaf()
    alive = weakref.ref(leaf)
    treedef = pytree.tree_structure({"a": (leaf, None), "b": Keyed(leaf, leaf)})
    del leaf
    gc.collect()
    assert alive() is None and treedef.num_leaves == 3


def test_deep_trees():
    tree = 0
    for _ in range(150):
        tree = [tree]
    leaves, treedef = pytree.tree_flatten(tree)
    assert treedef == pytree.tree_structure(tree) and hash(treedef) and treedef.num_nodes == 151
    assert pytree.tree_leaves(treedef.unflatten(leaves)) == [0]


# -- laws, on random trees -----------------------------------------------------------------------

keys = st.text("abc", max_size=2)
leaves = st.integers(0, 9)
trees = st.recursive(
    leaves | st.none(),
    lambda children: st.one_of(
        st.lists(children, max_size=3),
        st.lists(children, max_size=3).map(tuple),
        st.dictionaries(keys, children, max_size=3),
        st.dictionaries(keys, children, max_size=3).map(collections.OrderedDict),
        st.dictionaries(keys, children, max_size=3).map(lambda d: collections.defaultdict(int, d)),
        st.builds(Point, children, children),
        st.builds(Pair, children, children, keys),
        st.builds(Keyed, children, children),
        st.builds(Layer, children, children, keys),
        st.builds(Dropped, keys, children),
        st.builds(Mode, keys),
        st.builds(NoFields),
    ),
    max_leaves=12,
)


@given(trees)
def test_random_trees_as_in_jax(tree):
    (ours, treedef), (theirs, their_treedef) = pytree.tree_flatten(tree), jax.tree.flatten(tree)
    assert ours == theirs and repr(treedef) == repr(their_treedef)
    assert pytree.tree_flatten(treedef.unflatten(ours)) == (ours, treedef)
    paths = [pytree.keystr(path) for path, _ in pytree.tree_leaves_with_path(tree)]
    their_paths = jax.tree_util.tree_leaves_with_path(tree)
    assert paths == [jax.tree_util.keystr(path) for path, _ in their_paths]


@given(trees, trees)
def test_random_pairs_as_in_jax(a, b):
    ours, theirs = pytree.tree_structure(a), jax.tree.structure(a)
    assert outcome(ours.flatten_up_to, b) == outcome(theirs.flatten_up_to, b)
    assert (ours == pytree.tree_structure(b)) == (theirs == jax.tree.structure(b))


@given(trees)
def test_map_composes(tree):
    f, g = (lambda x: x + 1), (lambda x: 3 * x)
    assert pytree.tree_map(lambda x: f(g(x)), tree) == pytree.tree_map(f, pytree.tree_map(g, tree))
    assert repr(pytree.tree_map(lambda x: x, tree)) == repr(jax.tree.map(lambda x: x, tree))


@given(trees, trees)
def test_compose_and_transpose(a, b):
    outer, inner = pytree.tree_structure(a), pytree.tree_structure(b)
    composed = outer.compose(inner)
    tree = composed.unflatten(range(composed.num_leaves))
    assert pytree.tree_structure(tree) == composed
    swapped = pytree.tree_transpose(outer, inner, tree)
    if composed.num_leaves:
        assert pytree.tree_structure(swapped) == inner.compose(outer)
        assert pytree.tree_transpose(inner, outer, swapped) == tree


@given(trees, st.data())
def test_prefixes(tree, data):
    def cut(node):
        return node is not tree and data.draw(st.booleans())

    prefix = pytree.tree_map(lambda _: 0, tree, is_leaf=cut)
    values = pytree.broadcast_prefix(prefix, tree)
    assert values == [0] * len(pytree.tree_leaves(tree))
    assert pytree.prefix_errors(prefix, tree) == []
    assert list(pytree.equality_errors(tree, pytree.tree_map(str, tree))) == []


@in_both
def test_hashes_of_keys(jx):
    t = jx.tree_util
    indexed = [[hash(k(i)) for i in (0, 1, 7)] for k in (t.SequenceKey, t.DictKey,
                                                          t.FlattenedIndexKey)]
    return (indexed, hash(t.DictKey("a")) == hash(t.GetAttrKey("a")) == hash("a"))


@pytest.mark.parametrize("name", [
    "tree_flatten", "tree_leaves", "tree_structure", "tree_all", "tree_flatten_with_path",
    "tree_leaves_with_path"])
@in_both
def test_is_leaf_is_asked_about_leaves_too(library, name):
    def asked(**options):
        nodes = []
        function = getattr(library.tree_util, name)
        function((1, {"b": None, "a": [2]}), is_leaf=lambda *node: nodes.append(str(node)),
                 **options)
        return nodes

    takes_path = [{}, {"is_leaf_takes_path": True}] if name.endswith("path") else [{}]
    return [asked(**options) for options in takes_path]


def test_a_partial_in_a_partial_equals_itself():
    function = functools.partial(print, 1)
    for library in (pytree, jax.tree_util):
        hidden, again = (library.Partial(function, 2).func for _ in range(2))
        assert function == hidden and hidden == function and hidden == again and hash(hidden) == hash(again)


def test_dicts_of_different_keys_say_which():
    from minijax._src.tree_util import prefix_errors

    error, = prefix_errors({"a": 1}, {"a": 2, "b": 3})
    with pytest.raises(ValueError, match="so the symmetric difference on key sets is\n    b\n"):
        raise error("in_axes")


def test_the_containers_of_children():
    two = collections.namedtuple("two", "x y")
    trees = [(1, [2]), [1, 2], {"a": 1}, None, two(1, 2), collections.OrderedDict(b=1, a=2)]
    for name in ("flatten_one_level", "flatten_one_level_with_keys"):
        ours, theirs = ([type(getattr(library, name)(tree)[0]) for tree in trees]
                        for library in (pytree, jax.tree_util))
        assert ours == theirs
