"""Programs for `test_distributed.py`: run in one process and in several, they say the same.

    python -m minijax launch -n 2 --devices-per-process 4 tests/runtime/several_processes.py FOLDER …

writes what the named programs give to FOLDER/rank.pickle, in each process.
"""

from __future__ import annotations

import itertools
import pickle
import runpy
import sys
import types
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]


def over_two_axes(jax) -> types.SimpleNamespace:
    """A mesh over all devices, and what places arrays on it and fetches them from it."""
    shape = (jax.device_count() // 2, 2)
    types_ = (jax.sharding.AxisType.Auto,) * 2
    mesh = jax.make_mesh(shape, ("x", "y"), axis_types=types_)

    def sharding(*spec):
        return jax.sharding.NamedSharding(mesh, jax.P(*spec))

    fetch = jax.jit(lambda tree: tree, out_shardings=sharding())
    return types.SimpleNamespace(
        mesh=mesh, sharding=sharding, put=lambda x, *spec: jax.device_put(x, sharding(*spec)),
        fetch=lambda tree: jax.tree.map(np.asarray, fetch(tree)))


def matrix() -> np.ndarray:
    return np.sin(np.arange(64, dtype=np.float32)).reshape(8, 8)


def arrays(jax) -> list:
    """Arrays that are spread: how they come to be, and what is computed with them."""
    jnp, here, a = jax.numpy, over_two_axes(jax), matrix()
    split = here.sharding("x", "y")
    x = here.put(a, "x", "y")
    n, me = jax.process_count(), jax.process_index()
    mine = a[len(a) // n * me : len(a) // n * (me + 1)]
    parts = [jax.device_put(a[index], d)
             for d, index in split.addressable_devices_indices_map(a.shape).items()]
    made = [
        jax.make_array_from_callback(a.shape, split, lambda index: a[index]),
        jax.make_array_from_process_local_data(here.sharding("x"), mine),
        jax.make_array_from_process_local_data(split, mine, a.shape),
        jax.make_array_from_single_device_arrays(a.shape, split, parts),
    ]
    step = jax.jit(lambda x, w: (x @ w, jnp.mean(x), x[2:5].sort()))
    grad = jax.jit(jax.grad(lambda w, x: jnp.sum(jnp.tanh(x @ w))))
    return here.fetch([
        x, jax.device_put(x, here.sharding("y")), x + 1, jnp.sin(x) @ x.T, x.sum(axis=0), x[1], jnp.where(x > 0, x, -x), *made,
        step(x, a), step(x, here.put(a, None, "y")), grad(here.put(a), x), grad(x, x),
        jax.vmap(lambda row: row * row.sum())(x), jax.lax.scan(lambda c, row: (c + row, c), x[0], x),
        jax.lax.with_sharding_constraint(x * 2, here.sharding("y")),
    ])


def collectives(jax) -> list:
    """Collective operations in `shard_map`, and their derivatives."""
    jnp, lax, P, here = jax.numpy, jax.lax, jax.P, over_two_axes(jax)
    both = P("x", "y")
    x, size = here.put(matrix(), "x", "y"), here.mesh.shape["x"]

    def run(fun, out_spec=both, **kwargs):
        return jax.jit(jax.shard_map(
            fun, mesh=here.mesh, in_specs=both, out_specs=out_spec, **kwargs))

    ring = [(i, (i + 1) % size) for i in range(size)]
    funs = [
        run(lambda a: lax.psum(a, "x"), P(None, "y")),
        run(lambda a: lax.psum(a, ("x", "y")), P()),
        run(lambda a: lax.pmax(a, "y"), P("x")),
        run(lambda a: lax.ppermute(a, "x", ring)),
        run(lambda a: lax.all_gather(a, "x", tiled=True), P(None, "y"), check_vma=False),
        run(lambda a: lax.psum_scatter(a, "y", scatter_dimension=1, tiled=True)),
        run(lambda a: lax.all_to_all(a, "y", 0, 1, tiled=True)),
        run(lambda a: a + lax.axis_index("x") * 10 + lax.axis_index("y")),
        run(lambda a: a / jnp.sqrt(lax.psum(jnp.sum(a * a), ("x", "y")))),
    ]
    derivatives = [jax.jit(jax.grad(lambda x: jnp.sum(jnp.sin(fun(x))))) for fun in funs]
    return here.fetch([fun(x) for fun in [*funs, *derivatives]])


def losses(jax) -> list:
    """The first losses of the two networks."""
    programs = [ROOT / f"chapters/toy_models/{name}_parallel.py" for name in ("data", "tensor")]
    return [[*itertools.islice(runpy.run_path(str(path))["train"](), 6)] for path in programs]


def spread(jax) -> list:
    """What only several processes see: arrays of which this one has not all."""
    x = over_two_axes(jax).put(matrix(), "x", "y")
    mine, everyone = jax.local_devices(), jax.devices()
    assert len(everyone) == jax.process_count() * len(mine) == jax.device_count()
    assert jax.process_indices() == [*range(jax.process_count())]
    assert {d.process_index for d in mine} == {jax.process_index()}
    assert jax.local_devices(0) == everyone[: len(mine)]
    assert jax.numpy.ones(3).devices() == {mine[0]}
    assert jax.jit(lambda x: x + 1)(1).devices() == {mine[0]}

    assert not x.is_fully_addressable
    assert not x.is_fully_replicated
    assert repr(x) == str(x) == f"{x}" == "Array(shape=(8, 8), dtype=float32)"
    assert [shard.device for shard in x.addressable_shards] == mine
    assert [shard.device for shard in x.global_shards] == everyone
    assert [shard.data is None for shard in x.global_shards] == [d not in mine for d in everyone]
    for shard in x.addressable_shards:
        np.testing.assert_array_equal(shard.data, matrix()[shard.index])
    for read in (np.asarray, lambda x: x.tolist(), lambda x: pickle.dumps(x)):
        try:
            read(x)
        except RuntimeError as error:
            assert "non-addressable" in str(error)
        else:
            raise AssertionError("an array that is not all here was read")
    total = jax.jit(lambda x: x.sum())(x)
    assert total.is_fully_replicated
    assert not total.is_fully_addressable
    return [float(total), f"{total:.3f}", str(total), repr(total)]


def utilities(jax) -> list:
    """`multihost_utils`: what processes say to each other."""
    from minijax.experimental import multihost_utils as utils

    n, me, here = jax.process_count(), jax.process_index(), over_two_axes(jax)
    mine = {"a": np.full((2, 3), me, np.float32), "b": me}
    gathered = utils.process_allgather(mine)
    np.testing.assert_array_equal(gathered["a"], np.stack([np.full((2, 3), i) for i in range(n)]))
    np.testing.assert_array_equal(gathered["b"], range(n))
    gathered = utils.process_allgather(mine, tiled=True)
    np.testing.assert_array_equal(gathered["a"], np.repeat(np.arange(n), 2)[:, None] + np.zeros(3))
    np.testing.assert_array_equal(gathered["b"], range(n))

    x = here.put(matrix(), "y", "x")
    np.testing.assert_array_equal(utils.process_allgather(x, tiled=True), matrix())
    np.testing.assert_array_equal(utils.broadcast_one_to_all(mine)["a"], np.zeros((2, 3)))
    assert utils.broadcast_one_to_all(me, is_source=me == n - 1) == n - 1
    assert utils.broadcast_one_to_all(np.array([me == 0])).dtype == bool
    utils.assert_equal({"same": np.arange(3)})
    utils.sync_global_devices("all the same")
    for differ in (lambda: utils.assert_equal(me, "ranks"), lambda: utils.sync_global_devices(str(me))):
        try:
            differ()
        except AssertionError as error:
            assert ("ranks" if differ.__code__.co_consts[1:] else "") in str(error)
        else:
            raise AssertionError("a difference was not found")

    part = np.arange(8.0, dtype=np.float32).reshape(4, 2) + 100 * me
    whole = utils.host_local_array_to_global_array({"k": part}, here.mesh, jax.P("x"))["k"]
    assert whole.shape == (4 * n, 2)
    back = utils.global_array_to_host_local_array(whole, here.mesh, jax.P("x"))
    assert back.is_fully_addressable
    np.testing.assert_array_equal(back, part)
    expected = np.concatenate([part - 100 * me + 100 * i for i in range(n)])
    np.testing.assert_array_equal(utils.process_allgather(whole, tiled=True), expected)
    return []


def pmaps(jax) -> list:
    """`pmap`: each process has examples for its own devices, and gets theirs back."""
    lax, me, n = jax.lax, jax.process_index(), jax.local_device_count()
    x = np.arange(n, dtype=np.float32) + n * me
    every = np.arange(jax.device_count(), dtype=np.float32)
    mine = jax.pmap(lambda x: x * 2)(x)
    assert mine.is_fully_addressable
    np.testing.assert_array_equal(mine, 2 * x)
    np.testing.assert_array_equal(jax.pmap(lambda x, y: x + y, in_axes=(0, None))(mine, 1), 2 * x + 1)
    np.testing.assert_array_equal(
        jax.pmap(lambda x: x / lax.psum(x, "i") + lax.axis_index("i"), "i")(x), x / every.sum() + x)
    np.testing.assert_array_equal(
        jax.pmap(lambda x: lax.all_gather(x, "i"), "i", out_axes=1)(x), np.stack([every] * n, 1))
    np.testing.assert_array_equal(
        jax.pmap(lambda x: lax.psum(x, "i"), "i", devices=jax.local_devices())(x), [x.sum()] * n)
    product = lambda x: jax.pmap(lambda x: x * lax.psum(x, "i"), "i")(x).sum()
    np.testing.assert_array_equal(jax.grad(product)(x), [2 * x.sum()] * n)  # devices of this process
    return []


def thousand(jax) -> list:
    """A thousand steps that nobody waits for, each with a message from every device to every."""
    here, both = over_two_axes(jax), jax.P(("x", "y"))
    step = jax.jit(jax.shard_map(
        lambda x: 0.5 * x + jax.lax.pmean(x, ("x", "y")), mesh=here.mesh, in_specs=both,
        out_specs=both))
    first = x = here.put(np.arange(8, dtype=np.float32), ("x", "y"))
    others = [step(first) for _ in range(500)]
    for _ in range(500):
        x = step(x)
    return here.fetch([x, others[-1]])


def main(folder: str, *names: str) -> None:
    """Join the others, run the programs, and write down what they give."""
    import minijax as jax

    jax.distributed.initialize(heartbeat_timeout_seconds=30)
    results = {name: leaves(globals()[name](jax)) for name in names}
    Path(folder, f"{jax.process_index()}.pickle").write_bytes(pickle.dumps(results))


def leaves(tree) -> list[np.ndarray]:
    """The results of a program, one after another."""
    import minijax

    return [*map(np.asarray, minijax.tree.leaves(tree))]


if __name__ == "__main__":
    main(*sys.argv[1:])
