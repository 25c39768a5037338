"""The checks of chapter 3's exercises."""

from __future__ import annotations

import collections

import numpy as np
from learning.checking import Wrong, compare, exercise, expect

from minijax import tree, tree_util
from minijax.core import primitives as lax
from minijax.core.api import jvp
from minijax.core.tree import PyTreeDef, prefix_subtrees, tree_map

F = np.float32
Point = collections.namedtuple("Point", "x y")


@exercise("3.1", "How many parameters?", ["count_parameters"], hints=[
    "tree.leaves gives the leaves, whatever the containers are.",
    "A leaf may be a Python number, without a `size`: minijax.typeof knows the type of both.",
])
def parameters(count_parameters):
    cases = [(1.0, 1), ({}, 0), (None, 0), ([1.0, 2], 2), ({"w": np.ones((2, 3), F)}, 6),
             ([{"w": np.ones((4, 4), F), "b": np.ones(4, F)}, None, Point(1.0, np.ones(0, F))], 21)]
    for given, want in cases:
        compare(count_parameters, lambda given, w=want: w, [(given,)], "the tree")


@exercise("3.2", "A container of your own", ["flatten_interval", "unflatten_interval"], hints=[
    "What would a derivative replace? Those are children. What would it leave as it is?",
    "flatten gives a pair: the children as a tuple, and the auxiliary data.",
    "unflatten must not look at the children: they may be anything.",
])
def container(flatten_interval, unflatten_interval):
    class Interval:
        def __init__(self, low, high, unit):
            self.low, self.high, self.unit = low, high, unit

        def __repr__(self):
            return f"Interval({self.low!r}, {self.high!r}, {self.unit!r})"

    compare(lambda x: [tuple(part) if isinstance(part, list) else part
                       for part in flatten_interval(x)],
            lambda x: [(1.0, 2.0), "m"], [(Interval(1.0, 2.0, "m"),)], "the interval")
    compare(lambda aux, children: repr(unflatten_interval(Interval, aux, children)),
            lambda aux, children: repr(Interval(*children, aux)),
            [("m", (1.0, 2.0)), ("s", (None, "anything"))], "aux, children =")
    tree_util.register_pytree_node(
        Interval, flatten_interval, lambda aux, xs: unflatten_interval(Interval, aux, xs))
    compare(lambda x: repr(tree.map(lambda leaf: 2 * leaf, x)),
            lambda x: repr(Interval(2.0, 4.0, "m")), [(Interval(1.0, 2.0, "m"),)],
            "tree.map, twice each leaf, of")
    length = lambda x: lax.sub(x.high, x.low)
    one, zero = Interval(1.0, 3.0, "m"), Interval(0.0, 1.0, "m")
    compare(lambda x, t: float(jvp(length, (x,), (t,))[1]), lambda x, t: 1.0, [(one, zero)],
            "jvp of the length, at and along")
    expect(tree.structure(one) != tree.structure(Interval(1.0, 3.0, "s")),
           "intervals in metres and in seconds should differ in structure: they must not be added")


@exercise("3.3", "A step downhill", ["sgd"], hints=[
    "Without the Nones it is one tree.map, of a function of two arguments.",
    "`is_leaf=lambda x: x is None` makes None a leaf, of the first of the trees.",
    "Let the gradients be the first tree. Where it has a leaf, the other may have a subtree.",
])
def downhill(sgd):
    def expected(params, gradients, rate):
        step = lambda g, p: p if g is None else p - rate * g
        return tree_map(step, gradients, params, is_leaf=lambda g: g is None)

    compare(sgd, expected, [
        (1.0, 2.0, 0.5), ([1.0, 2.0], [2.0, 4.0], 0.25), ((), (), 0.5),
        ({"w": (1.0, [2.0]), "b": 3.0}, {"w": (0.0, [1.0]), "b": 2.0}, 1.0),
        ([1.0, 2.0], [None, 4.0], 0.5), ({"w": [1.0, 2.0], "b": 3.0}, {"w": None, "b": 2.0}, 1.0),
    ], "params, gradients, rate =")


DEPTH = 10_000
TREES = [1.0, None, [], [1.0], (1.0, 2.0), {"b": 1.0, "a": 2.0}, [None, (1.0,)], Point(1.0, [2.0]),
         {"w": [{"a": 1.0, "b": (2.0, 3.0)}, None], "b": 4.0}]


@exercise("3.4", "Building without recursion", ["unflatten"], hints=[
    "Two stacks: of structures that are still to be built, and of trees that are ready.",
    "A node is met twice. The first time, put it back, and its subtrees above it. The second time, "
    "its children are the last trees that became ready.",
    "The stack gives last what was put first: put the subtrees in reverse.",
    "None, and an empty list, are nodes without children.",
], hole="core.tree._unflatten")
def building(unflatten):
    for given in TREES:
        leaves, treedef = tree.flatten(given)
        letters = "abcdef"[:len(leaves)]
        compare(lambda t, letters: unflatten(t, iter(letters)),
                lambda t, letters: _built(t, iter(letters)), [(treedef, letters)],
                "the structure, and an iterator of")
    expect(tree.map(lambda x: -x, {"a": [1, (2,)]}) == {"a": [-1, (-2,)]},
           "tree.map, with your function in place, gives something else")
    deep = tree.structure([0])
    for _ in range(DEPTH):
        deep = PyTreeDef(deep.node_type, None, (deep,), 1)
    try:
        built = unflatten(deep, iter("a"))
    except RecursionError as error:
        raise Wrong(f"with [[[… 'a' …]]], {DEPTH:,} levels deep: RecursionError") from error
    for _ in range(DEPTH + 1):
        (built,) = built
    expect(built == "a", f"with [[[… 'a' …]]], {DEPTH:,} levels deep, something else is inside")


def _built(treedef, leaves):
    if treedef.node_type is None:
        return next(leaves)
    children = tuple([_built(subtree, leaves) for subtree in treedef.subtrees])
    return treedef.node_type.unflatten(treedef.aux, children)


def _f(x, state):
    return {"sum": lax.add(x, state["a"]), "both": (state["a"], [state["b"]])}


@exercise("3.5", "From trees to leaves", ["flatten_fun_nokwargs"], hints=[
    "Unflatten what comes in, call, flatten what comes out.",
    "in_tree.unflatten(leaves) is the tuple of arguments.",
    "When is the structure of the result known? Not before flat_fun has run: leave it somewhere.",
    "TreeCell is such a place: set its `treedef`, call it for the structure.",
    "Of the first call, keep the structure; compare that of a later one by `!=`.",
], hole="core.api_util.flatten_fun_nokwargs")
def door(flatten_fun_nokwargs):
    cases = [(lambda: 1.0, ()), (lambda x: x, (1.0,)), (lambda x: [x, (x,)], (1.0,)),
             (_f, (1.0, {"a": 2.0, "b": 3.0}))]
    names = ["lambda: 1.0", "lambda x: x", "lambda x: [x, (x,)]", "f(x, {a, b})"]

    def both(args, f):
        leaves, in_tree = tree.flatten(args)
        flat, out_tree = flatten_fun_nokwargs(f, in_tree)
        return [*flat(*leaves)], str(out_tree())

    def expected(args, f):
        leaves, structure = tree.flatten(f(*args))
        return leaves, str(structure)

    for name, (f, args) in zip(names, cases):
        compare(lambda args, f=f: both(args, f), lambda args, f=f: expected(args, f), [(args,)],
                f"f = {name}, and its arguments")
    _, out_tree = flatten_fun_nokwargs(_f, tree.structure((1.0, {"a": 2.0, "b": 3.0})))
    due = ("the structure of the result is unknown before the flat function is called: "
           "raise RuntimeError")
    try:
        out_tree()
    except RuntimeError:
        pass
    except Exception as error:
        raise Wrong(f"{due}, not {type(error).__name__}") from error
    else:
        raise Wrong(due)
    results = iter([[1.0], [2.0], (1.0,), [[1.0]]])
    flat, out_tree = flatten_fun_nokwargs(lambda x: next(results), tree.structure((0,)))
    expect(flat(1.0) + flat(1.0) == [1.0, 2.0] and out_tree() == tree.structure([0]),
           "two results of the same structure are right")
    for _ in range(2):
        try:
            got = flat(1.0)
        except TypeError as error:
            expect("*]" in str(error), f"both structures should be in the message: {error}")
        else:
            raise Wrong("first the result is a list of one leaf, and then it is something else: "
                        f"raise TypeError\n  you say   {got}")
    args = (1.0, {"a": 2.0, "b": 3.0})
    compare(lambda x, t: tree.map(float, jvp(_f, x, t)[1]),
            lambda x, t: {"sum": 6.0, "both": (2.0, [0.0])},
            [(args, (4.0, {"a": 2.0, "b": 0.0}))], "jvp, with your function in place; at and along")


@exercise("3.6", "One value for a whole subtree", ["broadcast_prefix"], hints=[
    "Flatten the prefix; mind is_leaf.",
    "treedef.flatten_up_to(full_tree) gives what stands at its leaves. It also raises ValueError.",
    "Repeat each value as often as the subtree below it has leaves.",
    "The dots: first make a prefix without them, by walking down through the dicts of both trees.",
], hole="pytree.functions.broadcast_prefix")
def prefix(broadcast_prefix):
    def expected(prefix_tree, full_tree, is_leaf=None):
        values, treedef = tree.flatten(prefix_tree, is_leaf)
        subtrees = prefix_subtrees(treedef, tree.structure(full_tree))
        return [v for v, sub in zip(values, subtrees) for _ in range(sub.num_leaves)]

    compare(broadcast_prefix, expected, [
        (0, 1.0), (0, [1.0, 2.0]), (0, []), ([0, 1], [1.0, 2.0]),
        ((0, 1), ((1.0, 2.0), {"a": 3.0})),
        ([0, None], [[1.0], None]), ({"w": 0, "b": [1, 2]}, {"b": [(1.0, 2.0), 3.0], "w": [4.0]}),
    ], "prefix_tree, full_tree =")
    none_is_leaf = lambda x: x is None
    compare(lambda p, t: broadcast_prefix(p, t, none_is_leaf), lambda p, t: [0, None, None],
            [((0, None), (1.0, [2.0, 3.0]))], "None a leaf, and prefix_tree, full_tree =")
    dots = [({...: 0}, {"a": 1.0, "b": [2.0, 3.0]}, [0, 0, 0]),
            ({"b": 1, ...: 0}, {"a": 1.0, "b": [2.0, 3.0], "c": 4.0}, [0, 1, 1, 0]),
            ({...: 0}, {}, []), ({"a": 1, ...: 0}, {"a": 1.0}, [1]),
            ({"x": {...: 5, "q": 6}, ...: [7]}, {"x": {"p": 1.0, "q": 1.0}, "y": [2.0]}, [5, 6, 7])]
    for p, t, want in dots:
        compare(broadcast_prefix, lambda p, t, w=want: w, [(p, t)], "prefix_tree, full_tree =")
    for p, t in (([0, 1], 1.0), ([0], [1.0, 2.0]), ({"a": 0}, {"b": 1.0}), ({...: 0}, [1.0]),
                 ({"z": 1, ...: 0}, {"a": 1.0})):
        try:
            got = broadcast_prefix(p, t)
        except ValueError:
            continue
        raise Wrong(f"with prefix_tree, full_tree = {p}, {t}\n  it should raise ValueError\n"
                    f"  you say   {got}")
    expect(tree.broadcast((1, 2), ([0, 0], 0)) == ([1, 1], 2),
           "tree.broadcast, with your function in place, gives something else")


@exercise("3.7", "Many trees as one, in tiny", ["gather"], hints=[
    "The structure of the first tree is that of all.",
    "`zip(*lists)` takes the first of each list, then the second of each, and so on.",
], page=True)
def gathering(gather):
    cases = [
        ([1.0, 2.0], [1.0, 2.0]),
        ([{"a": 1.0}, {"a": 2.0}, {"a": 3.0}], {"a": [1.0, 2.0, 3.0]}),
        ([(1.0, {"b": [2.0]})], ([1.0], {"b": [[2.0]]})),
        ([{"w": (1.0, 2.0), "b": []}, {"w": (3.0, 4.0), "b": []}],
         {"w": ([1.0, 3.0], [2.0, 4.0]), "b": []}),
    ]
    for trees, want in cases:
        compare(gather, lambda trees: want, [(trees,)], "the trees")
    try:
        got = gather([[1.0, 2.0], (1.0, 2.0)])
    except TypeError:
        return
    raise Wrong(f"a list and a tuple differ in structure: raise TypeError\n  you say   {got!r}")
