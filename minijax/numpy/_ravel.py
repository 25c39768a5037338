"""Chapter 12: all arrays of a pytree as one vector, and back."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import numpy as jnp
from ..core.boundary import public
from ..core.core import typeof
from ..core.primitives import convert
from ..core.tree import PyTreeDef, tree_flatten
from ..lax.cutting import split
from ..lax.dtypes import result_type


@public
def ravel_pytree(pytree: Any) -> tuple[Any, Callable]:
    """A pytree of arrays as one vector, and the way back.

    Args:
      pytree: a pytree of arrays and numbers.

    Returns:
      `(vector, unravel)`: all elements in the order of the leaves, in the least dtype that holds
      them all, and a function from a vector of this length and dtype to such a pytree. If the
      leaves have the same dtype, the vector may have any other: so do the leaves then.

    Raises (when `unravel` is called):
      TypeError: a vector of another dtype.
      ValueError: a vector of another length.

    >>> vector, unravel = ravel_pytree({"a": jnp.ones(2), "b": 3})
    >>> vector.tolist(), unravel(vector * 2)["b"].item()
    ([1.0, 1.0, 3.0], 6)
    """
    leaves, treedef = tree_flatten(pytree)
    avals = tuple(map(typeof, leaves))
    dtype = result_type(*leaves) if leaves else np.dtype(np.float32)
    same = all(aval.dtype == dtype for aval in avals)
    unravel = _Unravel(treedef, avals, None if same else dtype)
    if not leaves:
        return jnp.zeros(0, dtype), unravel
    return jnp.concatenate([jnp.ravel(convert(leaf, dtype)) for leaf in leaves]), unravel


@dataclass(frozen=True)
class _Unravel:
    """From a vector to a tree with leaves of these types. It can be a static argument."""

    treedef: PyTreeDef
    avals: tuple
    dtype: np.dtype | None  # of the vector; `None`: any, which the leaves get

    @public
    def __call__(self, vector):
        if self.dtype is not None and typeof(vector).dtype != self.dtype:
            raise TypeError(f"unravel function given array of dtype {typeof(vector).dtype}, "
                            f"but expected dtype {self.dtype}")
        if not self.avals:
            return self.treedef.unflatten(())
        pieces = split(vector, [aval.size for aval in self.avals])
        leaves = [jnp.reshape(piece, aval.shape) for piece, aval in zip(pieces, self.avals)]
        if self.dtype is not None:
            leaves = [convert(leaf, aval.dtype) for leaf, aval in zip(leaves, self.avals)]
        return self.treedef.unflatten(leaves)
