"""Chapter 12: grids, and arrays written with brackets: `mgrid[0:3, 0:2]`, `r_[1:4, 0, 5]`."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import settings
from ..core.boundary import public
from ..lax.compile_time import ensure_known
from ..lax.dtypes import check_and_canonicalize_user_dtype
from ..lax.shaping import broadcast_in_dim, iota
from ..lax.sizes import integers
from ..lax.stacking import stack_p
from ._arguments import ensure_arraylikes, promote_dtypes
from ._constructors import arange, array
from ._joining import concatenate, stack
from ._ranges import linspace
from ._shaping import expand_dims, transpose


def _line(entry: slice, name: str):
    """The numbers that a slice stands for; an imaginary step says how many there are."""
    start, stop, step = (
        ensure_known(value, f"slice {part} of jnp.{name}")
        for part, value in (("start", entry.start), ("stop", entry.stop), ("step", entry.step)))
    start, step = 0 if start is None else start, 1 if step is None else step
    if np.iscomplex(step):
        return linspace(start, stop, int(abs(step)))
    return arange(start, stop, step)


class _Grid:
    """What `mgrid` and `ogrid` are instances of."""

    def __init__(self, name: str, sparse: bool, doc: str):
        self.name, self.sparse, self.__doc__ = name, sparse, doc

    def __getitem__(self, key) -> Any:
        if isinstance(key, slice):
            return _line(key, self.name)
        lines = [_line(entry, self.name) for entry in key]
        with settings.numpy_dtype_promotion("standard"):
            lines = promote_dtypes(*lines) if lines else []
        grids = meshgrid(*lines, indexing="ij", sparse=self.sparse)
        if self.sparse:
            return grids
        return stack(grids) if grids else arange(0)

    def __repr__(self):
        return f"<jnp.{self.name}>"


mgrid = _Grid("mgrid", False, """The coordinates of the points of a grid, one array a dimension.

    `mgrid[a:b:c, d:e]` has a slice for each dimension, as for `arange`; with an imaginary step
    `nj` the dimension has n points from the start to the stop, both included.

    >>> mgrid[0:2, 0:3].shape, mgrid[0:1:3j].tolist()
    ((2, 2, 3), [0.0, 0.5, 1.0])
    """)
ogrid = _Grid("ogrid", True, """`mgrid` as a list of arrays that broadcast: each varies along its \
dimension only.

    >>> [x.shape for x in ogrid[0:2, 0:3]]
    [(2, 1), (1, 3)]
    """)


class _Joined:
    """What `r_` and `c_` are instances of.

    A string in front, "axis,ndmin,first", says along which axis the parts are joined, how many
    dimensions they get at least, and where the dimensions that a part has stand among those.
    """

    def __init__(self, name: str, axis: int, ndmin: int, first: int, doc: str):
        self.name, self.defaults, self.__doc__ = name, (axis, ndmin, first), doc

    def __getitem__(self, key) -> Any:
        entries = list(key) if isinstance(key, tuple) else [key]
        (axis, ndmin, first), matrix = self.defaults, None
        if isinstance(entries[0], str):
            directive, *entries = entries
            if directive in ("r", "c"):
                matrix = 0 if directive == "r" else 1
            else:
                axis, ndmin, first = self._read(directive)
        out = concatenate([self._part(entry, ndmin, first) for entry in entries], axis)
        return expand_dims(out, matrix) if matrix is not None and out.ndim == 1 else out

    def _read(self, directive: str) -> list[int]:
        words = directive.split(",")[:3]
        try:
            return [*map(int, words), *self.defaults[len(words):]]
        except ValueError:
            raise ValueError(f"could not understand directive {directive!r}") from None

    def _part(self, entry, ndmin: int, first: int):
        """One of the arrays to join: a slice stands for a line, all others for themselves."""
        if isinstance(entry, str):
            raise ValueError("string directive must be placed at the beginning")
        x = _line(entry, self.name) if isinstance(entry, slice) else array(entry, copy=False)
        missing = ndmin - (0 if isinstance(entry, slice) else x.ndim)
        x = array(x, copy=False, ndmin=ndmin)
        if first == -1 or missing <= 0:
            return x
        # The new dimensions are in front: turn the order until those of the part are in place.
        turn = ndmin - abs(ndmin + first + 1) % ndmin
        order = tuple(range(ndmin))
        return transpose(x, order[turn:] + order[:turn])

    def __len__(self):
        return 0

    def __repr__(self):
        return f"<jnp.{self.name}>"


r_ = _Joined("r_", 0, 1, -1, """The parts between the brackets, joined along the first axis.

    >>> r_[1:4, 0, jnp.array([7, 8])].tolist()
    [1, 2, 3, 0, 7, 8]
    """)
c_ = _Joined("c_", -1, 2, 0, """The parts between the brackets, as columns of a matrix.

    >>> c_[jnp.array([1, 2]), jnp.array([3, 4])].tolist()
    [[1, 3], [2, 4]]
    """)


@public
def meshgrid(*xi, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> list:
    """Coordinate arrays of a grid, one for each vector.

    Args:
      *xi: vectors.
      sparse: whether to leave out the broadcasting.
      indexing: `"ij"` for one dimension a vector in order; `"xy"` swaps the first two.

    Raises:
      ValueError: arguments that are no vectors, an unknown `indexing`, or `copy=False`.

    >>> [x.shape for x in meshgrid(jnp.arange(2), jnp.arange(3))]
    [(3, 2), (3, 2)]
    """
    args = list(ensure_arraylikes("meshgrid", *xi))
    if not copy:
        raise ValueError("jax.numpy.meshgrid only supports copy=True")
    if indexing not in ("xy", "ij"):
        raise ValueError(f"Valid values for indexing are 'xy' and 'ij', got {indexing}")
    if any(a.ndim != 1 for a in args):
        raise ValueError("Arguments to jax.numpy.meshgrid must be 1D, got shapes "
                         f"{[a.shape for a in args]}")
    swap = indexing == "xy" and len(args) >= 2
    if swap:
        args[:2] = args[1::-1]
    full_shape = [a.shape[0] for a in args]
    grids = [broadcast_in_dim(a, [n if d == i or not sparse else 1
                                  for d, n in enumerate(full_shape)], (i,))
             for i, a in enumerate(args)]
    if swap:
        grids[:2] = grids[1::-1]
    return grids


@public
def indices(dimensions: Sequence[int], dtype=None, sparse: bool = False):
    """The indices of the elements of an array of shape `dimensions`, one array a dimension.

    Args:
      dimensions: a shape.
      dtype: an integer type; by default the usual one.
      sparse: whether to return them unbroadcast, as a tuple.

    >>> indices((2, 2)).tolist()
    [[[0, 0], [1, 1]], [[0, 1], [0, 1]]]
    """
    dtype = check_and_canonicalize_user_dtype(int if dtype is None else dtype, "indices")
    shape = integers("indices: dimensions", dimensions)
    output = []
    for i, n in enumerate(shape):
        target = [n if d == i else 1 for d in range(len(shape))] if sparse else shape
        output.append(broadcast_in_dim(iota(dtype, n), target, (i,)))
    if sparse:
        return tuple(output)
    return stack_p.bind(*output, axis=0) if output else array([], dtype=dtype)


@public
def ix_(*args) -> tuple:
    """Vectors as arrays that index the grid of all their combinations.

    Raises:
      ValueError: an argument that is no vector.
    """
    arrays = ensure_arraylikes("ix", *args)
    for a in arrays:
        if a.ndim != 1:
            raise ValueError("Arguments to jax.numpy.ix_ must be 1-dimensional, got shape "
                             f"{a.shape}")
        if a.dtype == bool:
            raise NotImplementedError("Boolean arguments to jax.numpy.ix_ are not implemented")
    return tuple(
        broadcast_in_dim(a, [a.shape[0] if d == i else 1 for d in range(len(arrays))], (i,))
        for i, a in enumerate(arrays))
