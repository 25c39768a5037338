"""Exercises of chapter 3: fill in the stubs, then `python -m minijax learn check 3.1`."""

from __future__ import annotations


def count_parameters(tree):
    """3.1: how many numbers there are in all the leaves (arrays and Python numbers) of a tree.

    Of use: `tree_leaves(tree)` of `minijax.tree_util`, and `minijax.typeof(leaf).size`.
    """
    raise NotImplementedError


def flatten_interval(interval):
    """3.2: an interval has `low`, `high` (numbers to compute with) and `unit` (a string).

    Give its children and its auxiliary data.
    """
    raise NotImplementedError


def unflatten_interval(Interval, aux, children):
    """3.2: the other way; `Interval(low, high, unit)` makes one."""
    raise NotImplementedError


def sgd(params, gradients, rate):
    """3.3: `params` minus `rate` times `gradients`, leaf by leaf; both are trees, `rate` a number.

    `None` may stand in the place of a gradient, or of a whole subtree of gradients: then this part
    of `params` stays as it is.
    Of use: `tree_map(f, first, *others, is_leaf=...)` of `minijax.tree_util`. Where `first` has a
    leaf, another tree may have a subtree.
    """
    raise NotImplementedError


def unflatten(treedef, leaves):
    """3.4: take this structure's leaves from the iterator `leaves`, and build its tree.

    A structure has a `node_type` (`None` for a leaf), with a method `unflatten(aux, children)`;
    `aux`; and `subtrees`, the structures of its children. The function must not call itself: trees
    may be 10,000 levels deep.
    """
    raise NotImplementedError


def flatten_fun_nokwargs(f, in_tree):
    """3.5: `f`, a function of trees, as a function from leaves to a list of leaves.

    Return two things: this function, and an object that holds the structure of the result after
    the function has run: a `TreeCell` of `minijax.core.api_util`, whose `treedef` you set.
    `in_tree` is the structure of the tuple of arguments: `in_tree.unflatten(leaves)` gives that
    tuple. `tree_flatten` is also in `minijax.core.tree`.

    All calls must give results of the same structure: raise `TypeError` at the first that does not,
    with both structures in the message.
    """
    raise NotImplementedError


def broadcast_prefix(prefix_tree, full_tree, is_leaf=None):
    """3.6: for each leaf of `full_tree`, the leaf of `prefix_tree` that stands above it: a list.

    A dict of `prefix_tree` that is reached through dicts only, and meets a dict of `full_tree`, may
    have the key `...`. Its value stands for all keys that the dict does not name.
    `is_leaf` says what counts as a leaf in `prefix_tree`. If that tree is not a prefix, raise
    `ValueError`.
    `minijax.core.tree` has `tree_flatten`, `tree_leaves`, and structures with a method
    `flatten_up_to(tree)`, which gives the subtrees at their leaves, or raises `ValueError`.
    """
    raise NotImplementedError


def gather(trees):
    """3.7: a list of trees of tiny as one tree: each leaf is a list of the trees' leaves.

    So `[{"a": 1}, {"a": 2}]` becomes `{"a": [1, 2]}`. All trees have one structure. If they do not,
    `leaves_like` raises the error. From `tiny`: `tree_flatten(tree)`, which gives the leaves and
    the structure; `leaves_like(structure, tree)`, the leaves of a tree that must have it; and
    `tree_unflatten(structure, leaves)`.
    """
    raise NotImplementedError
