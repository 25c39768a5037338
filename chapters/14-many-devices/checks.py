"""The checks of chapter 14's exercises."""

from __future__ import annotations

import itertools

import numpy as np
from learning.checking import compare, exercise, expect

from minijax import grad, jit, lax, make_jaxpr, numpy as jnp, vmap
from minijax.parallel.meshes.mesh import AbstractMesh
from minijax.parallel.meshes.partition_spec import P
from minijax.parallel.meshes.sharding import NamedSharding

F = np.float32


@exercise("14.1", "A sum around the ring", ["ring_sum"], hints=[
    "In the first n - 1 messages, each sum is collected: a receiver adds its own number to it.",
    "In step s, device i sends its number (i - s) % n, to which it has just added.",
    "Then each device has one complete sum. Which one? In the other n - 1 messages, it is passed "
    "on, and replaces what the receiver has.",
])
def around(ring_sum):
    for n in (1, 2, 3, 5, 8):
        parts = [[(i + 1) * 10 ** (k % 4) + k for k in range(n)] for i in range(n)]
        calls = []

        def send(messages, n=n, calls=calls):
            expect(len(messages) == n, f"with {n} devices, `send` got {len(messages)} messages")
            wrong = [m for m in messages if not isinstance(m, (int, float))]
            expect(not wrong, f"with {n} devices, a message is no number: {wrong[:1]}")
            calls.append(messages)
            return [messages[i - 1] for i in range(n)]

        compare(lambda p, send=send: [list(own) for own in ring_sum([list(q) for q in p], send)],
                lambda p: [[sum(column) for column in zip(*p)] for _ in p], [(parts,)], "parts =")
        expect(len(calls) <= 2 * (n - 1), f"with {n} devices, `send` was called {len(calls)} "
                                          f"times; {2 * (n - 1)} are enough")
        expect(n == 1 or calls, f"with {n} devices, `send` was never called")


@exercise("14.2", "All that come before", ["before_me"], hints=[
    "lax.all_gather(x, axis_name) has the values of all instances, along a new first dimension.",
    "jnp.arange(n) < lax.axis_index(axis_name) says which of them come before.",
    "Give the mask as many dimensions as the values have: one of size n, and then ones.",
])
def prefix(before_me):
    on_all = vmap(lambda x: before_me(x, "i"), axis_name="i")
    want = lambda xs: np.concatenate([np.zeros_like(xs[:1]), np.cumsum(xs, 0)[:-1]])
    cases = [(np.arange(1, n * m + 1, dtype=F).reshape((n, m) if m > 1 else (n,)),)
             for n, m in ((1, 1), (3, 1), (5, 2), (4, 6))]
    compare(lambda xs: np.asarray(on_all(xs)), want, cases, "all values")
    compare(lambda xs: np.asarray(jit(on_all)(xs)), want, cases[-1:], "under jit, all values")
    weights = np.array([1, 10, 100, 1000], F)
    slope = grad(lambda xs: (on_all(xs) * weights).sum())
    compare(lambda xs: np.asarray(slope(xs)),
            lambda xs: np.array([1110, 1100, 1000, 0], F), [(np.ones(4, F),)],
            "the gradient of the sum of the results, weighted with 1, 10, 100, 1000, at")


@exercise("14.3", "Which part is mine?", ["block_of"], hints=[
    "An entry of several names counts as one axis: its size is the product of theirs.",
    "The number of the block: begin with 0; for each name, multiply by the axis's size, and add "
    "the coordinate.",
    "Block number b of c blocks goes from b * size // c to (b + 1) * size // c.",
])
def which(block_of):
    mesh = {"x": 4, "y": 2, "z": 3}
    specs = [(None,), ("x",), (None, "y"), ("x", "y"), ("y", None), (("x", "y"),), (("y", "x"),),
             (("z", "y"), "x"), ("z",), (("y", "z", "x"), None)]
    shape = (24, 48)
    abstract = AbstractMesh(tuple(mesh.values()), tuple(mesh))
    places = [dict(zip(mesh, at)) for at in itertools.product(*map(range, mesh.values()))]

    def want(shape, mesh, spec, place):
        parts, tiles = NamedSharding(abstract, P(*spec)).tiles(len(shape))
        tile = tiles[places.index(place)]
        return tuple((t * n // p, (t + 1) * n // p) for t, n, p in zip(tile, shape, parts))

    cases = [(shape, mesh, spec, place) for spec in specs for place in (*places[::5], places[-1])]
    compare(block_of, want, cases, "shape, mesh, spec, place =")


@exercise("14.4", "What arrives", ["_received"], hints=[
    "Make two arrays of integers: the senders and the receivers. Either may be empty.",
    "With the examples along dimension 0, sent = x[senders] are the values that are sent.",
    "zeros.at[receivers].add(sent) puts each where it arrives, and adds those that meet.",
], hole="parallel.collectives.rules._received")
def arrivals(_received):
    rings = [[(0, 1), (1, 2), (2, 3), (3, 0)], [(0, 1), (1, 2)], [(3, 0)], [(0, 0), (2, 1)], []]
    x = np.arange(1, 13, dtype=F).reshape(4, 3)

    def want(perm, values):
        out = np.zeros_like(values)
        for sender, receiver in perm:
            out[receiver] += values[sender]
        return out

    def got(perm, values):
        f = vmap(lambda v: lax.ppermute(v, "i", perm), axis_name="i")
        return np.asarray(f(values))

    compare(got, want, [(perm, x[:, 0]) for perm in rings], "perm and the values =")
    compare(got, want, [(perm, x) for perm in rings], "perm and the values =")
    several = [[(0, 1), (2, 1)], [(3, 0), (3, 1), (2, 1), (1, 1)]]
    for d in (0, 1):
        compare(lambda perm, v, d=d: np.asarray(_received(jnp.moveaxis(jnp.asarray(v), 0, d), d, 4,
                                                          perm)),
                lambda perm, v, d=d: np.moveaxis(want(perm, v), 0, d), [(p, x) for p in several],
                f"d = {d}; perm and the values (along dimension 0) =")
    compare(lambda perm, values: np.asarray(vmap(
                lambda v: lax.ppermute(v, "i", perm), in_axes=1, out_axes=1, axis_name="i")(
                    values.T)).T, want, [(rings[1], x)],
            "with the examples along dimension 1, perm and the values (transposed) =")
    compare(lambda perm, values: np.asarray(jit(lambda v: got_traced(perm, v))(values)), want,
            [(rings[1], x)], "under jit, perm and the values =")
    slope = lambda perm, values: np.asarray(grad(
        lambda v: (got_traced(perm, v) * np.arange(12, dtype=F).reshape(4, 3)).sum())(values))
    back = lambda perm, values: want([(r, s) for s, r in perm],
                                     np.arange(12, dtype=F).reshape(4, 3))
    compare(slope, back, [(rings[0], x), (rings[1], x)], "the gradient of a weighted sum, for perm "
            "and the values =")


def got_traced(perm, values):
    """`ppermute` along the first dimension."""
    return vmap(lambda v: lax.ppermute(v, "i", perm), axis_name="i")(values)


@exercise("14.5", "One message for two layers", ["split_weights", "two_layers"], hints=[
    "The maximum with 0 needs a complete sum for each hidden unit. Which cut of W1 gives a device "
    "complete units?",
    "Columns of W1 make units. A device that has some units needs their rows of W2.",
    "What each device then has is a part of a sum: lax.psum(…, 'part').",
])
def layers(split_weights, two_layers):
    rng = np.random.RandomState(0)
    w1, w2, x = (rng.normal(size=s).astype(F) for s in ((3, 8), (8, 5), (4, 3)))
    for n in (1, 2, 4, 8):
        parts = split_weights(jnp.asarray(w1), jnp.asarray(w2), n)
        expect(len(parts) == 2 and all(len(p) == n for p in parts),
               f"for {n} devices, split_weights must return two arrays of {n} parts")
        sizes = [int(np.prod(p.shape[1:])) for p in parts]
        expect(sizes == [w1.size // n, w2.size // n],
               f"for {n} devices, a device has {sizes} numbers of the weights, not "
               f"{[w1.size // n, w2.size // n]}")
        compare(lambda n, parts=parts: np.asarray(
                    vmap(two_layers, in_axes=(None, 0, 0), axis_name="part")(x, *parts)),
                lambda n: np.stack([np.maximum(x @ w1, 0) @ w2] * n), [(n,)],
                "the results on all devices; how many are there?")
        jaxpr = make_jaxpr(two_layers, axis_env=[("part", n)])(x, parts[0][0], parts[1][0])
        used = [e.primitive.name for e in jaxpr.eqns if "axes" in e.params and "part" in str(e)
                or "axis_name" in e.params]
        expect(len(used) <= 1, f"one collective is enough; you use {', '.join(used)}")
