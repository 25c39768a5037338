"""Solutions of chapter 3."""

from __future__ import annotations

from minijax.core.core import typeof
from minijax.core.tree import TreeCell, tree_flatten, tree_leaves, tree_map


def count_parameters(tree):
    """Structures do not matter here, leaves do."""
    return sum(typeof(leaf).size for leaf in tree_leaves(tree))


def flatten_interval(interval):
    """The unit is known beforehand: it is part of the structure."""
    return (interval.low, interval.high), interval.unit


def unflatten_interval(Interval, aux, children):
    """Whatever the children are."""
    low, high = children
    return Interval(low, high, aux)


def sgd(params, gradients, rate):
    """The gradients come first: with None for a leaf they are a prefix of the parameters."""
    step = lambda g, p: p if g is None else p - rate * g
    return tree_map(step, gradients, params, is_leaf=lambda g: g is None)


def unflatten(treedef, leaves):
    """A leaf is next in line; a node is made of its children, from left to right."""
    if treedef.node_type is None:
        return next(leaves)
    children = [unflatten(subtree, leaves) for subtree in treedef.subtrees]
    return treedef.node_type.unflatten(treedef.aux, tuple(children))


def flatten_fun_nokwargs(f, in_tree):
    """The structure of the result is left in the cell when the function is called."""
    out_tree = TreeCell()

    def flat_fun(*leaves):
        out = f(*in_tree.unflatten(leaves))
        out_leaves, out_tree.treedef = tree_flatten(out)
        return out_leaves

    return flat_fun, out_tree


def broadcast_prefix(prefix_tree, full_tree, is_leaf=None):
    """Cut the full tree at the leaves of the prefix, and count the leaves of each piece."""
    values, treedef = tree_flatten(prefix_tree, is_leaf)
    subtrees = treedef.flatten_up_to(full_tree)
    return [v for v, subtree in zip(values, subtrees) for _ in tree_leaves(subtree)]
