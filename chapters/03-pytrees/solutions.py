"""Solutions of chapter 3."""

from __future__ import annotations

from minijax.core.api_util import TreeCell
from minijax.core.core import typeof
from minijax.core.tree import tree_flatten, tree_leaves, tree_map


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
    """A stack of what is to do, and one of the trees that are ready."""
    to_do, ready = [(treedef, False)], []
    while to_do:
        structure, children_are_ready = to_do.pop()
        n = len(structure.subtrees)
        if structure.node_type is None:
            ready.append(next(leaves))
        elif children_are_ready or not n:
            children = tuple(ready[len(ready) - n:])
            del ready[len(ready) - n:]
            ready.append(structure.node_type.unflatten(structure.aux, children))
        else:
            to_do.append((structure, True))
            to_do.extend((subtree, False) for subtree in reversed(structure.subtrees))
    return ready[0]


def flatten_fun_nokwargs(f, in_tree):
    """The structure of the first result is left in the cell; later ones are compared with it."""
    out_tree = TreeCell()
    seen = []

    def flat_fun(*leaves):
        out_leaves, treedef = tree_flatten(f(*in_tree.unflatten(leaves)))
        if seen and seen[0] != treedef:
            raise TypeError(f"the result was {seen[0]}, and is {treedef} now")
        seen.append(treedef)
        out_tree.treedef = treedef
        return out_leaves

    return flat_fun, out_tree


def broadcast_prefix(prefix_tree, full_tree, is_leaf=None):
    """Write the dots out. Then cut the full tree at the leaves of the prefix, and count."""
    values, treedef = tree_flatten(written_out(prefix_tree, full_tree), is_leaf)
    subtrees = treedef.flatten_up_to(full_tree)
    return [v for v, subtree in zip(values, subtrees) for _ in tree_leaves(subtree)]


def written_out(prefix, full):
    """The prefix with each `...` replaced by the keys that it stands for."""
    if not isinstance(prefix, dict) or not isinstance(full, dict):
        return prefix
    named = {key: value for key, value in prefix.items() if key is not ...}
    if ... in prefix:
        named = dict.fromkeys(full, prefix[...]) | named
    return {key: written_out(value, full.get(key)) for key, value in named.items()}


def gather(trees):
    """The leaves of all trees side by side."""
    from tiny import leaves_like, tree_flatten, tree_unflatten

    _, structure = tree_flatten(trees[0])
    leaves = [leaves_like(structure, tree) for tree in trees]
    return tree_unflatten(structure, map(list, zip(*leaves)))
