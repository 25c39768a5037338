"""Where the structures of two trees differ: `equality_errors`, `prefix_errors`."""

import functools
from collections.abc import Callable, Iterator
from typing import Any

from ..core import tree as trees
from ..text.differences import Difference, difference_text, differences, treedef_differences


def equality_errors(tree1: Any, tree2: Any, is_leaf: trees.IsLeaf = None) -> Iterator[Difference]:
    """Where the structures of two trees differ: (path, first, second, why), the texts in words."""
    return differences(trees.tree_structure(tree1, is_leaf), tree2,
                       functools.partial(trees.tree_structure, is_leaf=is_leaf), strict=True)


def equality_errors_pytreedef(
    tree1: trees.PyTreeDef, tree2: trees.PyTreeDef
) -> Iterator[Difference]:
    """`equality_errors` for two structures."""
    return treedef_differences(tree1, tree2, trees.tree_structure, strict=True)


def prefix_errors(
    prefix_tree: Any, full_tree: Any, is_leaf: trees.IsLeaf = None
) -> list[Callable[[str], ValueError]]:
    """Why `prefix_tree` is not a prefix of `full_tree`: for each place, name -> error."""
    found = differences(trees.tree_structure(prefix_tree, is_leaf), full_tree, trees.tree_structure)
    return [functools.partial(_difference_error, difference) for difference in found]


def _difference_error(difference, name):
    return ValueError(difference_text(difference, name))
