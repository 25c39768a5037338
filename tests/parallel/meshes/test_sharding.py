"""Partition specs and shardings: JAX's answers, for every way to split arrays over meshes."""

from __future__ import annotations

import copy
import itertools
import pickle
import re

import numpy as np
import pytest

import minijax as mj
from minijax.parallel.meshes.sharding import sdy_mesh, sdy_sharding, spec_of, tile_assignment
from tests.oracle import both, jax

parse_flatten_op_sharding = jax._src.sharding_impls.parse_flatten_op_sharding

P = mj.P


def words(library):
    """The names that rows of the tables use."""
    sharding, devices = library.sharding, np.array(library.devices())
    auto = sharding.Mesh(devices.reshape(4, 2), ("x", "y"))
    explicit = library.make_mesh((4, 2), ("x", "y"))
    abstract = sharding.AbstractMesh((4, 2), ("x", "y"))

    def named(*entries, mesh=auto, **kwargs):
        return library.NamedSharding(mesh, library.P(*entries, **kwargs))

    return {
        "jax": library, "np": np, "P": library.P, "U": library.P.UNCONSTRAINED,
        "auto": auto, "explicit": explicit, "abstract": abstract, "devices": devices,
        "back": sharding.Mesh(devices[::-1].reshape(4, 2), ("x", "y")),
        "same": sharding.Mesh(devices.reshape(4, 2), ("a", "b")),
        "one": sharding.Mesh(devices[:1], "x"),
        "empty": sharding.Mesh(np.empty((), dtype=object), ()),
        "N": named, "NamedSharding": library.NamedSharding,
        "Single": sharding.SingleDeviceSharding, "sharding": sharding,
    }


def answer(row):
    """A program that gives the row's value as text."""
    return lambda library: lambda: repr(eval(row, words(library)))


def rows(table):
    return [row for row in table.strip().replace("\n", " | ").split(" | ") if row]


SPECS = """
P() | P("x") | P("x", None) | P(("x", "y")) | P(("x",), ()) | P(["x", "y"], ["x"]) | P(1) | P(None)
P(("x", ("y",))) | P([["x"]]) | P((None,)) | P(("x", None)) | P(U) | P("x", U) | P(("x", U))
P("x", unreduced={"y"}) | P(unreduced={"y"}) | P("x", reduced={"y"}) | P(unreduced={"x"}, reduced={"y"})
P("x", unreduced=["y"]) | P(reduced="x") | P(unreduced={None}) | P("x", unreduced={"x"}) | P(("x", "y"), reduced={"y"})
P(unreduced={"x"}, reduced={"x"}) | P("x") == P(("x",)) | P("x") == P("x", None) | P("x") == ("x",) | P("x") == "x"
P("x") is P("x") | (lambda *specs: len(set(map(hash, specs))))(P("x"), P("x")) | {P("x"): 1}[P(("x",))] | P("x", "y")[0] | P("x", "y")[0:1]
P("x", "y")[2] | len(P("x", None)) | list(P("x", ("y", "z"))) | [*P()] | P("x", unreduced={"y"})[0] | [*P(reduced={"y"})]
len(P("x", unreduced={"y"})) | P("x") + ("y",) | ("y",) + P("x") | P("x") + P(None) | P("x") + ["y"] | P("x") + 3
3 + P("x") | ["y"] + P("x") | P("x", unreduced={"y"}) + ("z",) | ("z",) + P("x", reduced={"y"})
P("x", unreduced={"y"}) + P("z", reduced={"w"}) | P("x", unreduced={"y"}) + P("y") | P("x").index("x") | P("x").index("z")
P("x", ("y", "z")).index(["y", "z"]) | P("x", "x").count("x") | P("x").partitions | P("x").unreduced | P("x").reduced
P("x").update() | P("x").update(partitions=("y", None)) | P("x").update(unreduced={"y"}) | P("x").update(reduced={"x"})
U | repr([P("x")]) | str(P("x", ("y", "z"), U)) | "x" in P("x") | U in P(U).partitions | isinstance(P(), tuple)
setattr(P("x"), "partitions", ()) | type("Q", (P,), {}) | jax.tree.leaves([P("x"), {"a": P()}])
jax.tree.map(len, {"a": P("x", None), "b": P()}) | jax.tree.structure((P("x"), P())).num_leaves
"""


@pytest.mark.parametrize("row", rows(SPECS))
def test_specs(row):
    both(answer(row))


SHARDINGS = """
N("x") | N("x", None) | N() | N("z") | N("x", "x") | N(("x", "x")) | N(("x", None)) | N(U) | N("x", U) | N(mesh=explicit)
N(U, mesh=explicit) | N("x", unreduced={"y"}) | N("x", unreduced={"y"}, mesh=explicit) | N(unreduced={"q"}, mesh=explicit)
N(reduced={"x"}, mesh=explicit) | N(reduced={"x"}) | NamedSharding(empty, P()) | N("x", mesh=abstract) | N("x", mesh=one)
NamedSharding(auto, P("x"), memory_kind="pinned_host") | NamedSharding(auto, P("x"), memory_kind="no such memory")
NamedSharding(auto, P("x"), memory_kind="device") == N("x") | NamedSharding(auto, P("x"), "device") | N("x").memory_kind
N("x").with_memory_kind("pinned_host") == N("x") | N("x").with_memory_kind("device") == N("x") | N("x").with_memory_kind("q")
N("x") == N("x") | N("x") == N("x", None) | N("x") == N("x", mesh=explicit) | N("x") == N("y") | N("x") == 3 | N("x") != N("x")
hash(N("x")) == hash(N("x")) | len({N("x"), N("x"), N("y")}) | isinstance(N("x"), sharding.Sharding)
N("x").mesh | N("x").spec | N("x").num_devices | len(N("x").device_set) | N("x")._device_assignment | N().replicated_axes == {"x", "y"}
N("x").replicated_axes | N(("x", "y")).replicated_axes | N("x", unreduced={"y"}, mesh=explicit).replicated_axes
N().is_fully_replicated | N("x").is_fully_replicated | N("x", mesh=one).is_fully_replicated | N(None, U).is_fully_replicated
N(unreduced={"y"}, mesh=explicit).is_fully_replicated | N("x").is_fully_addressable | N("x").has_addressable_devices
sorted(d.id for d in N("x").addressable_devices) | N("x")._addressable_device_assignment | N("x", mesh=abstract).num_devices
N("x", mesh=abstract).device_set | N("x", mesh=abstract).shard_shape((8, 2)) | N("x", mesh=abstract).devices_indices_map((8,))
N("x", mesh=abstract).is_fully_addressable | N("x", mesh=abstract).addressable_devices | N("x", mesh=abstract).is_fully_replicated
N("x", mesh=abstract).is_equivalent_to(N("x", None, mesh=abstract), 2) | N("x").update(spec=("y",)) | N("x").update(mesh=back)
N("x").update(memory_kind="pinned_host") | N("x").update(spec=P(None, "y"), mesh=explicit) | N("x").update()
N("x").shard_shape((8, 3)) | N("x").shard_shape((3,)) | N(None, "y").shard_shape((3, 3)) | N(("x", "y")).shard_shape((12,))
N("x").shard_shape((0, 2)) | N().shard_shape(()) | N().shard_shape((3, 5)) | N("x", None, None).shard_shape((4,)) | N(U).shard_shape((5,))
N("x").check_compatible_aval((8,)) | N("x").check_compatible_aval(()) | N("x", None).check_compatible_aval((8,))
N("x").devices_indices_map((3,)) | N("x").devices_indices_map((4, 2)) | N(("y", "x")).devices_indices_map((8,)) | N().devices_indices_map(())
N("y", mesh=back).devices_indices_map((2,)) | N("x", mesh=one).devices_indices_map((3,)) | N("x", "y").addressable_devices_indices_map((4, 2))
N("x", unreduced={"y"}, mesh=explicit).devices_indices_map((4,)) | N("x", unreduced={"y"}, mesh=explicit).shard_shape((4,))
N("x").devices_indices_map((0,)) | N(None, "x").devices_indices_map((2, 4))
Single(devices[1]) | Single(devices[1], memory_kind="pinned_host") | Single(devices[0], "device") | Single(devices[0]).memory_kind
Single(devices[1]) == Single(devices[1]) | Single(devices[1]) == Single(devices[2]) | len({Single(devices[1]), Single(devices[1])})
Single(devices[1]) == Single(devices[1], memory_kind="pinned_host") | Single(devices[1]).devices_indices_map((2, 3))
Single(devices[1]).device_set | Single(devices[1]).num_devices | Single(devices[1]).shard_shape((2, 3)) | Single(devices[1])._device_assignment
Single(devices[1]).is_fully_replicated | Single(devices[1]).is_fully_addressable | Single(devices[1]).addressable_devices
Single(devices[1]).check_compatible_aval((2,)) | Single(devices[1]).with_memory_kind("unpinned_host") | Single(devices[1]).with_memory_kind("q")
Single(devices[1]).addressable_devices_indices_map((2,)) | sharding.make_single_device_sharding(devices[3], memory_kind="device")
N("x") == Single(devices[0]) | jax.tree.leaves({"a": N("x"), "b": Single(devices[2])})
sharding.Sharding().device_set | sharding.Sharding().num_devices | sharding.Sharding().shard_shape((2,)) | sharding.Sharding().is_fully_replicated
"""


@pytest.mark.parametrize("row", rows(SHARDINGS))
def test_shardings(row):
    both(answer(row))


EQUIVALENT = ["N()", "N('x')", "N('x', None)", "N(None, 'x')", "N(('x', 'y'))", "N(('y', 'x'))",
              "N('x', mesh=explicit)", "N('a', mesh=same)", "N('x', mesh=back)", "N(mesh=back)",
              "N('x', mesh=one)", "N(mesh=one)", "Single(devices[0])", "Single(devices[1])",
              "NamedSharding(auto, P('x'), memory_kind='pinned_host')", "N(U, U)"]


@pytest.mark.parametrize("ndim", [2, 3])
def test_equivalence(ndim):
    table = [f"{a}.is_equivalent_to({b}, {ndim})"
             for a, b in itertools.product(EQUIVALENT, repeat=2)]

    def program(library):
        names = words(library)
        return lambda: [(row, eval(row, names)) for row in table]

    both(program)


def test_a_spec_that_splits_more_dimensions_than_there_are():
    """JAX's error is that of a list that is too short; ours says what is wrong."""
    sharding = words(mj)["N"](None, "x")
    with pytest.raises(ValueError, match=r"P\(None, 'x'\) splits more dimensions than the 1"):
        sharding.shard_shape((8,))


@pytest.mark.parametrize("value", [P("x", ("y", "z"), P.UNCONSTRAINED), P(unreduced={"x"}),
                                   mj.NamedSharding(mj.sharding.AbstractMesh((2,), ("x",)), P("x"))],
                         ids=str)
def test_copies_and_pickles(value):
    assert copy.deepcopy(value) == value == pickle.loads(pickle.dumps(value))
    assert copy.deepcopy(P.UNCONSTRAINED) is P.UNCONSTRAINED


# ------------------------------------------------------------------------------------------------
# In XLA's words

MESHES = [((8,), "x"), ((4, 2), "xy"), ((2, 4), "xy"), ((2, 2, 2), "xyz"), ((2, 1, 4), "xyz"),
          ((1,), "x"), ((2, 3), "xy")]


def ways_to_split(names, ndim=3):
    """Every spec of `ndim` dimensions over these axes."""
    for count in range(len(names) + 1):
        for axes in itertools.permutations(names, count):
            for cuts in itertools.combinations_with_replacement(range(count + 1), ndim - 1):
                bounds = (0, *cuts, count)
                yield [axes[start:stop] for start, stop in itertools.pairwise(bounds)]


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("sizes,names", MESHES)
def test_tile_assignments_are_those_of_jax(sizes, names, backwards):
    step = -1 if backwards else 1
    devices = [np.array(library.devices()[:np.prod(sizes)])[::step] for library in (jax, mj)]
    theirs, ours = (library.sharding.Mesh(own.reshape(sizes), tuple(names))
                    for library, own in zip((jax, mj), devices, strict=True))
    for entries in ways_to_split(names):
        want = jax.NamedSharding(theirs, jax.P(*entries))
        got = mj.NamedSharding(ours, P(*entries))
        hlo, tiling = want._to_xla_hlo_sharding(3), tile_assignment(got, 3)
        if hlo.is_replicated() or hlo.num_devices() == 1:
            assert tiling is None
        else:
            assert tiling == (tuple(hlo.tile_assignment_dimensions()),
                              tuple(hlo.tile_assignment_devices()),
                              hlo.replicate_on_last_tile_dim())
        spec = spec_of(tiling, ours)
        if ours.size > 1:
            assert spec.partitions == parse_flatten_op_sharding(hlo, theirs)[0].partitions
        assert mj.NamedSharding(ours, spec).is_equivalent_to(got, 3)
        assert got.shard_shape((24, 48, 72)) == want.shard_shape((24, 48, 72))
        assert ({d.id: i for d, i in got.devices_indices_map((24, 48, 72)).items()}
                == {d.id: i for d, i in want.devices_indices_map((24, 48, 72)).items()})


@pytest.mark.parametrize("tiling", [
    ((2,), (0, 1), False),  # of two devices, not of eight
    ((8,), (7, 6, 5, 4, 3, 2, 1, 0), False),  # backwards
    ((2, 4), (0, 1, 2, 3, 4, 5, 6, 7), True),  # half of the axis x
    ((4, 2), (0, 1, 2, 3, 4, 5, 7, 6), True),  # this is P("x"): copies in another order
    ((4, 2), (0, 1, 2, 3, 4, 5, 7, 6), False),
])
def test_tilings_that_no_spec_gives(tiling):
    mesh = mj.sharding.Mesh(np.array(mj.devices()).reshape(4, 2), ("x", "y"))
    order = np.array(tiling[1])
    same_as_x = tiling[2] and tiling[0] == (4, 2) and (order.reshape(4, 2) // 2 == np.arange(4)[:, None]).all()
    assert spec_of(tiling, mesh) == (P("x") if same_as_x else None)


@pytest.mark.parametrize("row", [
    "N('x')", "N(None, 'x')", "N(('y', 'x'))", "N('x', 'y')", "N()", "N('y', mesh=explicit)",
    "N(('b', 'a'), mesh=same)", "N(mesh=one)",
])
def test_shardys_text_is_that_of_jax(row):
    theirs, ours = (eval(row, words(library)) for library in (jax, mj))
    text = jax.jit(lambda x: x, in_shardings=(theirs,)).lower(np.ones((8, 8))).as_text()
    assert f"sdy.mesh @mesh = {sdy_mesh(ours.mesh)} " in text
    assert f"sdy.sharding = {sdy_sharding(ours, 2, 'mesh')}}}" in text


def test_shardys_text_of_open_dimensions_and_odd_names():
    names = words(mj)
    assert sdy_sharding(names["N"](P.UNCONSTRAINED, "x"), 3, "m") == (
        '#sdy.sharding<@m, [{?}, {"x"}, {}]>')
    assert sdy_sharding(names["Single"](mj.devices()[1]), 2, "m") == "#sdy.sharding<@m, [{}, {}]>"
    odd = mj.sharding.AbstractMesh((4, 2), ('x"y', "\\"))
    assert sdy_mesh(odd) == r'<["x\22y"=4, "\\"=2]>'


def test_shardy_is_told_the_order_of_devices_if_it_is_not_the_programs():
    names = words(mj)
    auto, back = names["auto"], names["back"]
    assert sdy_mesh(auto, auto.device_assignment) == sdy_mesh(auto) == '<["x"=4, "y"=2]>'
    assert sdy_mesh(back, auto.device_assignment) == (
        '<["x"=4, "y"=2], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>')


# ------------------------------------------------------------------------------------------------

MESSAGES = {
    "N('x').shard_shape((6, 2))":
        r"^Sharding .* implies that array axis 0 is partitioned 4 times, but the dimension size is 6 \(full "
        r"shape: \(6, 2\), per-dimension tiling factors: \[4, 1\] should evenly divide the shape\)",
    "N('z')": r"^Resource axis: z of P\('z',\) is not found in mesh: \('x', 'y'\)",
    "N('x', ('y', 'x'))": "has duplicate entries for `x`",
    "N('x').check_compatible_aval(())": r"of rank 0. For scalars the PartitionSpec should be P\(\)",
    "N('x', mesh=abstract).device_set": "because its mesh is an AbstractMesh",
    "P(('x', ('y',)))": "a tuple inside of an entry",
    "P('x', unreduced={'x'})": "every axis can have one role",
    "Single(devices[0], 'q')": "Could not find memory addressable by device .*Got memory kind: q",
}


@pytest.mark.parametrize("row", MESSAGES)
def test_messages(row):
    with pytest.raises(ValueError) as error:
        eval(row, words(mj))
    assert re.search(MESSAGES[row], str(error.value), re.DOTALL)


# What tests of JAX match; each names `x` (sharded in two), `s` (its sharding), `part`, `jx` and `device`.
WORDS_OF_PARTS = {
    "jx.jit(lambda x: jx.make_array_from_callback((2,), s, lambda i: x[i]))(jx.numpy.ones(2))":
        "^jax.make_array_from_callback cannot be called within a traced context",
    "jx.jit(lambda x: made(s, [x]))(part)":
        "^jax.make_array_from_single_device_arrays requires a list of concrete arrays as input, but got types ",
    "made(s, [x, x])": r"^When making an array from single-device arrays the input arrays must have one shard each. "
                       r"An argument array had 2 shard\(s\).",
    "made(s, [part])": r"^Expected 2 per-device arrays \(this is how many devices are addressable by the sharding\), "
                       "but got 1",
    "made(s, [part, jx.device_put(part, device(2))])":
        "^Addressable devices and per-device arrays devices do not match.",
    "made(s, [part[:1], jx.device_put(part[:1], device(1))])":
        r"^Expected shard shape \(2,\) doesn't match the single device array shape \(1,\).",
    "made(s, [part, jx.device_put(part + 1.5, device(1))])":
        "^Input buffers to `Array` must have matching dtypes. Got float32, expected int32 for ",
    "jx.make_array_from_process_local_data(s, part, (8,))":
        "^When calling `make_array_from_process_local_data` on a single process, global_shape should be None or equal",
    "jx.device_put(1.0, 'cpu:0')": "^`jax.device_put` only accepts `None`, `jax.sharding.Sharding`, `jax.Device`, ",
    "x.unsafe_buffer_pointer()": r"^INVALID_ARGUMENT: UnsafeBufferPointer\(\) is supported only for unsharded arrays"}


@pytest.mark.parametrize("call", WORDS_OF_PARTS)
def test_words_for_arrays_of_parts(call):
    def refused(jx):
        sharding = jx.sharding.NamedSharding(jx.make_mesh((2,), ("x",), devices=jx.devices()[:2]), jx.P("x"))
        x = jx.device_put(np.arange(4, dtype="int32"), sharding)
        names = {"jx": jx, "s": sharding, "x": x, "part": jx.device_put(np.arange(2, dtype="int32"), jx.devices()[0]),
                 "made": lambda s, parts: jx.make_array_from_single_device_arrays((4,), s, parts),
                 "device": lambda i: jx.devices()[i]}
        try:
            return eval(call, names) is None
        except Exception as error:
            return type(error).__name__, bool(re.search(WORDS_OF_PARTS[call], str(error)))

    both(lambda jx: lambda: refused(jx))
    assert refused(mj)[1]
