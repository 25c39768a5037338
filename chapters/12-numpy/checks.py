"""The checks of chapter 12's exercises."""

from __future__ import annotations

from unittest import mock

import numpy as np
from learning.checking import Wrong, compare, exercise, expect

from minijax import grad, jit, make_jaxpr, numpy as jnp, vjp, vmap

F = np.float32
X = np.array([5.0, 6.0, 7.0, 8.0], F)

SMALL = {"a": ["c", "d"], "b": ["c", "d"], "c": [], "d": []}
GRAPHS = [
    ({"a": ["b"], "b": []}, None),
    ({"a": [], "b": []}, None),
    (SMALL, ("a", "b")),
    ({**SMALL, "a": ["e"], "b": ["e"], "e": ["c", "d"]}, None),
    # Both are below two half floats, neither of which is below the other.
    ({"u8": ["u16", "f16", "bf16"], "i8": ["f16", "bf16"], "u16": ["f32"], "f16": ["f32"],
      "bf16": ["f32"], "f32": []}, ("i8", "u8")),
    ({"u8": ["u16", "float"], "i8": ["float"], "u16": ["float"], "float": ["f16", "bf16"],
      "f16": ["f32"], "bf16": ["f32"], "f32": []}, None),
]


@exercise("12.1", "Is it a lattice?", ["pair_without_join"], hints=[
    "reachable(t) of the chapter is the set of the upper bounds of t.",
    "The common bounds of a and b are reachable(a) & reachable(b).",
    "t is the least of them if they are all reachable from t: common <= reachable(t).",
])
def lattice(pair_without_join):
    compare(pair_without_join, lambda above: dict_answer(above), [(g,) for g, _ in GRAPHS],
            "the graph")


def dict_answer(above):
    return next(answer for graph, answer in GRAPHS if graph == above)


@exercise("12.2", "The derivative of an einsum", ["gradient_subscripts"], hints=[
    "The result is a sum of products of one element of x and one of y.",
    "The cotangent of an element of x is the sum, over all products that it is in, of ct times y.",
    "So which letters does the new result have? And which are summed over?",
])
def einsum(gradient_subscripts):
    size = dict(zip("bijkl", (2, 3, 4, 5, 6)))
    cases = ["i,i->", "ij,jk->ik", "ij,jk->ki", "bij,bjk->bik", "i,j->ij", "bij,bkj->ikb",
             "ijk,kl->ijl"]
    for subscripts in cases:
        inputs, result = subscripts.split("->")
        shape = lambda name: tuple(size[letter] for letter in name)
        rng = np.random.RandomState(0)
        x, y, ct = (np.asarray(rng.randn(*shape(n)), F) for n in (*inputs.split(","), result))
        _, back = vjp(lambda x, y, s=subscripts: jnp.einsum(s, x, y), x, y)
        want = back(jnp.asarray(ct))
        for which, other in ((0, y), (1, x)):
            def yours(s, w, ct=ct, other=other):
                return np.einsum(gradient_subscripts(s, w), ct, other)

            compare(yours, lambda s, w, want=want: np.asarray(want[w]), [(subscripts, which)],
                    "(the cotangents) subscripts, which =")


@exercise("12.3", "Rows of a table", ["lookup"], hints=[
    "gather takes a window for each index vector, and index vectors are along the last dimension: "
    "give ids one more, of size 1.",
    "A window is a row: slice_sizes=(1, d). Its first dimension is dropped, and its second one is "
    "the last dimension of the result.",
    "offset_dims=(ids.ndim,), and the other two are (0,).",
])
def rows(lookup):
    table = np.arange(12.0, dtype=F).reshape(4, 3)

    def want(table, ids):
        inside = (ids >= 0) & (ids < len(table))
        return np.where(inside[..., None], table[np.where(inside, ids, 0)], F(0))

    ids = [np.array(2, np.int32), np.array([1, 1, 3], np.int32),
           np.array([[0, 4], [-1, 2]], np.int32)]
    compare(lambda t, i: np.asarray(lookup(jnp.asarray(t), jnp.asarray(i))), want,
            [(table, i) for i in ids], "table, ids =")
    compare(lambda t, i: np.asarray(jit(lookup)(t, i)), want, [(table, ids[2])], "under jit:")
    counts = lambda t, i: np.asarray(grad(lambda t: lookup(t, i).sum())(t))
    compare(lambda t, i: counts(t, jnp.asarray(i)),
            lambda t, i: np.bincount(i, minlength=4).astype(F)[:, None] + 0 * t,
            [(table, ids[1])], "the gradient of the sum by the table; table, ids =")
    found = [str(eqn.primitive) for eqn in make_jaxpr(lookup)(table, ids[1]).eqns]
    expect(found.count("gather") == 1, f"the jaxpr should have one gather; it has {found}")


@exercise("12.4", "Three dots", ["expand_ellipsis"], hints=[
    "Split the entries at the first Ellipsis. Without one, the second part is empty.",
    "In the second part, each Ellipsis is a slice(None).",
    "The number of dimensions used is the number of entries, of both parts, that are not None.",
    "Compare with `is`, as entries may be arrays, whose == is an array.",
], hole="lax.indexing.expand_ellipsis")
def dots(expand_ellipsis):
    full = slice(None)
    cases = {((0,), 1): [0], ((0,), 3): [0, full, full], ((..., 0), 3): [full, full, 0],
             ((1, ..., 2), 4): [1, full, full, 2], ((None, ..., 2), 2): [None, full, 2],
             ((..., None), 1): [full, None], ((1, ..., 2), 2): [1, 2], ((), 2): [full, full],
             ((..., 0, ...), 4): [full, full, 0, full], ((..., 0, ...), 2): [0, full],
             ((..., ...), 1): [full], ((..., None, ..., ...), 3): [full, None, full, full]}
    for (entries, ndim), want in cases.items():
        compare(lambda e, n: repr(expand_ellipsis(e, n)), lambda e, n, want=want: repr(want),
                [(entries, ndim)], "entries, ndim =")
    for entries, ndim, words in (((0, 1), 1, "2 were indexed"), ((..., 0, ...), 1, "1-dim"),
                                 ((..., ..., ...), 1, "Too many indices")):
        try:
            got = expand_ellipsis(entries, ndim)
        except IndexError as error:
            expect(words in str(error), f"with {entries}, {ndim} the error should say {words!r}, "
                                        f"and says: {error}")
        else:
            raise Wrong(f"with {entries}, {ndim} it should raise IndexError, and returns {got}")
    x = np.arange(24).reshape(2, 3, 4)
    means = {"x[..., 1]": "x[:, :, 1]", "x[0, ..., None, 1:3]": "x[0, :, None, 1:3]",
             "x[None, 1, ..., ::-1]": "x[None, 1, :, ::-1]", "x[:, 2]": "x[:, 2, :]",
             "x[..., 2, ...]": "x[:, 2, :]", "x[0, ..., None, ...]": "x[0, :, None, :]"}
    for text in means:
        compare(lambda t: np.asarray(eval(t, {"x": jnp.asarray(x)})),
                lambda t: eval(means[t], {"x": x.astype(np.int32)}), [(text,)],
                "x of shape (2, 3, 4),")


@exercise("12.5", "Under a mask", ["compress"], hints=[
    "jnp.cumsum(mask) counts the true entries up to each element, itself included.",
    "The place of a true element is cumsum - 1. Where should the others go, so that they are "
    "dropped?",
    "Any place from `size` on is outside. A place of -1 is not: it counts from the end.",
])
def masked(compress):
    def taken(*args, **kwargs):
        raise Wrong("compress and nonzero do what is asked for here. Compute the places.")

    with mock.patch.multiple(jnp, **dict.fromkeys(WRITTEN_BY_HAND, taken)):
        under_a_mask(compress)


WRITTEN_BY_HAND = ("compress", "extract", "nonzero", "flatnonzero", "argwhere")


def under_a_mask(compress):
    def want(x, mask, size, fill):
        chosen = x[mask][:size]
        return np.concatenate([chosen, np.full(size - len(chosen), fill, x.dtype)])

    mask = np.array([False, True, False, True])
    cases = [(X, mask, 2, 0.0), (X, mask, 4, -1.0), (X, ~mask, 1, 0.0), (X, mask | True, 3, 0.0),
             (X, mask & False, 2, 9.0), (X + F(0.5), mask, 3, 0)]
    ours = lambda f: lambda x, m, size, fill: np.asarray(
        f(lambda x, m: compress(x, m, size, fill))(jnp.asarray(x), jnp.asarray(m)))
    compare(ours(lambda f: f), want, cases, "x, mask, size, fill_value =")
    compare(ours(jit), want, cases[:2], "under jit; x, mask, size, fill_value =")
    compare(lambda m: np.asarray(vmap(lambda m: compress(jnp.asarray(X), m, 2, 0.0))(m)),
            lambda m: np.stack([want(X, row, 2, 0.0) for row in m]), [(np.stack([mask, ~mask]),)],
            "x = [5, 6, 7, 8], size = 2, a batch of masks")
    compare(lambda m: np.asarray(grad(lambda x: compress(x, jnp.asarray(m), 2, 0.0).sum())(X)),
            lambda m: m.astype(F), [(mask,)], "the gradient of the sum, for the mask")
