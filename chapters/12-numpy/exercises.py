"""Exercises of chapter 12: fill in the stubs, then `python -m minijax learn check 12.1`."""

from __future__ import annotations


def pair_without_join(above):
    """12.1: two types whose promotion is not defined, or None.

    `above` is a dictionary as in the chapter: for each type, those directly above it. There are no
    cycles. Two types that have common upper bounds (a type is an upper bound of itself) should
    have a least one: one of the common bounds from which all others can be reached. Return the
    first pair (a, b), in alphabetical order and with a < b, that has common bounds, but no least
    one. Skip two types without any common bound.
    """
    raise NotImplementedError


def gradient_subscripts(subscripts, which):
    """12.2: the letters of einsum's derivative.

    `subscripts` has two operands x and y, such as "ij,jk->ik". No letter occurs twice in an
    operand, and each occurs in at least two of x, y and the result. Return the subscripts with
    which `einsum(…, ct, y)` is the cotangent of x (if `which` is 0), or `einsum(…, ct, x)` the
    cotangent of y (if it is 1), where `ct` is the cotangent of the result.
    """
    raise NotImplementedError


def lookup(table, ids):
    """12.3: the rows `table[ids]`, by one `lax.gather` (`lax` is `minijax.lax`).

    `table` has the shape (n, d). `ids` is an array of integers of any shape s; the result has the
    shape s + (d,). Rows that do not exist (ids below 0, or from n on) are zeros: `lax.gather(table,
    indices, numbers, slice_sizes, mode="fill", fill_value=0)` does that, with
    `numbers = lax.GatherDimensionNumbers(offset_dims, collapsed_slice_dims, start_index_map)`.
    The last dimension of `indices` is an index vector, here of one number:
    `lax.expand_dims(x, [axis])` adds a dimension. For each vector, `gather` takes a window of shape
    `slice_sizes`. The three arguments are tuples: the dimensions of the result that come from the
    windows; the dimensions of a window that are dropped; and the dimensions of the table that the
    index vector's numbers are positions in.
    """
    raise NotImplementedError


def expand_ellipsis(entries, ndim):
    """12.4: the entries of an index, a list, with each `...` written out as full slices.

    `entries` is a tuple of integers, slices, `None` and any number of `...` (`Ellipsis`). `ndim` is
    the array's number of dimensions. An integer or a slice uses one of them, `None` uses none. The
    first `...` becomes `slice(None)`, as often as dimensions remain; an index without `...` has one
    at its end. JAX allows no further `...`. Here each further one becomes a single `slice(None)`,
    as in old releases of NumPy, and uses one dimension. The result has no `...`.

    Raises:
      IndexError: more than `ndim` dimensions are used ("Too many indices: array is 1-dimensional,
        but 2 were indexed").
    """
    raise NotImplementedError


def compress(x, mask, size, fill_value):
    """12.5: the elements of a vector where `mask` is true, in their order, `size` of them.

    If there are fewer, `fill_value` follows them; if there are more, the rest is left out. The
    result has the dtype of x.
    It must work under jit (`size` and `fill_value` are known), vmap and grad, so the positions
    have to be computed: the element number i goes to the place that is the number of true entries
    before it. `jnp`, which is `minijax.numpy`, has cumsum, where and full.
    `y.at[places].set(x, mode="drop")` drops each element whose place is at or behind the end of y.
    A place of -1 counts from the end. Do not use compress, nonzero or a boolean index.
    """
    raise NotImplementedError
