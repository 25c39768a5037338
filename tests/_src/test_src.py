"""Private modules of JAX that its tests and libraries import: the same names do the same."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest

import minijax
from tests import harness
from tests.oracle import both, in_both

harness.show()


def private(jx, name):
    return import_module(f"{jx.__name__}._src.{name}")


def documents(jx):
    pp = private(jx, "pretty_printer")
    word = pp.nest(2, pp.concat([pp.text("hello"), pp.brk(), pp.text("world", "note"), pp.brk(""), pp.text("x")]))
    words = pp.group(pp.join(pp.text(",") + pp.brk(), [pp.group(word), pp.nil(), word]))
    return [pp.group(word).format(width) for width in (80, 12, 8, 3)] + [words.format(20), str(words)]


def test_documents():
    both(lambda jx: lambda: documents(jx))


def test_slices():
    both(lambda jx: lambda: (private(jx, "indexing").ds(1, 3).start, private(jx, "indexing").Slice(2, 3).size))


def test_kept_programs():
    interface = private(minijax, "compilation_cache_interface").CacheInterface
    with pytest.raises(TypeError, match="abstract"):
        interface()


def test_shardings_of_xla():
    from minijax.runtime import xla

    questions = private(minijax, "op_shardings")
    assert questions.are_hlo_shardings_equal(xla().replicated, xla().replicated)
    assert questions.is_hlo_sharding_replicated(xla().replicated)


def test_private_names_of_arrays():
    """Libraries read these. Before, `_value` was `None` for the result of a jitted function."""
    def program(jx):
        def read(x):
            y = jx.jit(lambda x: x * 2)(jx.numpy.asarray(x))
            y._check_if_deleted()
            return y._value, y._arrays, type(y._value).__name__, y._value.flags.writeable

        return read

    both(program, np.arange(3, dtype=np.float32))
    both(program, np.float32(2))
    y = minijax.jit(lambda x: x + 1)(np.arange(3, dtype=np.float32))
    assert y._npy_value is None and y._value.tolist() == [1, 2, 3] and y._npy_value is not None
    y.delete()
    for read in (lambda: y._value, y._check_if_deleted):
        with pytest.raises(RuntimeError, match="Array has been deleted"):
            read()


def test_questions_of_the_core():
    def program(jx):
        core, util = private(jx, "core"), private(jx, "util")
        aval = lambda *args, **kwargs: jx.typeof(jx.numpy.zeros(*args, **kwargs))

        def questions(x):
            def traced(y):
                inside = core.unsafe_am_i_under_a_jit(), core.unsafe_am_i_under_a_vmap()
                return inside, core.to_concrete_value(y) is None, core.get_referent(y) is y, \
                    core.is_constant_dim(y), core.unsafe_get_axis_names()

            answers = []
            jx.jit(lambda y: answers.append(traced(y)))(x)
            jx.vmap(lambda y: answers.append(traced(y)[:2]), axis_name="i")(x[None])
            return (str(answers), core.canonicalize_shape((np.int32(2), 3)), core.canonicalize_shape(4),
                    core.is_constant_shape((1, np.int64(2))), core.is_constant_dim(2.5), core.is_symbolic_dim(3),
                    core.definitely_equal(2, np.int32(2)), core.definitely_equal(2, 3),
                    core.typematch(jx.typeof(1.0), aval(())), core.typecompat(aval(2), aval(3)),
                    core.to_concrete_value(3), core.same_referent(x, x), core.nonempty_axis_env(),
                    util.subs_list([None, 0], ["new"], ["a"]), util.fun_qual_name(partial(program)))

        return questions

    both(program, np.float32([1, 2]))
    both(lambda jx: lambda: private(jx, "core").canonicalize_shape((1.5,)), raises=TypeError)


@in_both
def test_shardings_in_the_words_of_xla(jx):
    sharding = private(jx, "sharding_impls").GSPMDSharding
    hlo = private(jx, "lib").xla_client.HloSharding
    device, = jx.devices()[:1]
    one, same = sharding.get_replicated([device]), sharding([device], hlo.replicate())
    dims = [private(jx, "sharding_impls").SdyDim(axes=axes, is_open=bool(axes)) for axes in ((), ("x", "y"))]
    return (one == same, hash(one) == hash(same), repr(one), one.is_fully_replicated, one.num_devices,
            [*one.devices_indices_map((4, 2)).values()], one.shard_shape((4, 2)),
            [*private(jx, "sharding").common_devices_indices_map(one, (3,)).values()], repr(dims))


def test_tiles_of_xla():
    from jaxlib.xla_client import HloSharding

    tiles = HloSharding.subgroup_with_device_ordering(np.array([[0, 2], [3, 1]]), subgroup_types=[])
    devices = [SimpleNamespace(default_memory=lambda: SimpleNamespace(kind="device"))] * 4
    sharding = private(minijax, "sharding_impls").GSPMDSharding(devices, tiles)
    assert sharding.tiles(2) == ((2, 2), ((0, 0), (1, 1), (0, 1), (1, 0)))


@in_both
def test_small_names(jx):
    tree, broadcast = jx.tree, private(jx, "tree_util").broadcast_flattened_prefix_with_treedef
    arrays, path = private(jx, "abstract_arrays"), private(jx, "path")
    return (broadcast([1, 2], tree.structure((0, 0)), tree.structure((0, {"a": 0, "b": 0}))),
            np.ndarray in arrays.array_types, np.float32 in arrays.array_types, path.make_jax_dump_dir(""),
            private(jx, "lib").jaxlib_extension_version, private(jx, "lib").version,
            private(jx, "api").clear_backends.__name__,
            isinstance(np.ones(2), private(jx, "typing").DuckTypedArray) if jx is minijax else True)


@in_both
def test_named_shardings_in_the_words_of_xla(jx):
    P, S = jx.sharding.PartitionSpec, jx.sharding.NamedSharding
    mesh = jx.make_mesh((1, 1), ("x", "y"))
    return [repr(S(mesh, spec)._to_xla_hlo_sharding(2)) for spec in (P(), P("x"), P("y", "x"))] + [
        repr(jx.sharding.SingleDeviceSharding(jx.devices()[0])._to_xla_hlo_sharding(1))]


def test_a_split_in_the_words_of_xla():
    from minijax.parallel.meshes.sharding import Sharding

    class Halves(Sharding):
        memory_kind = None
        _device_assignment = ("a", "b")  # type: ignore[assignment]

        def tiles(self, ndim):
            return (2,) + (1,) * (ndim - 1), ((0,) * ndim, (1,) + (0,) * (ndim - 1))

    assert repr(Halves()._to_xla_hlo_sharding(2)) == "{devices=[2,1]0,1}"


def test_shardings_of_a_prefix():
    def program(jx):
        flatten = private(jx, "api_util").flatten_axis_resources
        full = jx.tree.structure({"a": [1, 2], "b": 3})
        return lambda: flatten("test", full, {"a": None, "b": None}, False)

    both(program)

    def wrong(jx):
        flatten = private(jx, "api_util").flatten_axis_resources
        return lambda: flatten("test", jx.tree.structure({"a": 1, "b": 2}), {"a": None, "b": (None, None)}, False)

    both(wrong, raises=ValueError)


def shardings_over(jx, spec, kind):
    mesh = jx.make_mesh((1, 1), ("x", "y"), (getattr(jx.sharding.AxisType, kind), jx.sharding.AxisType.Explicit))
    return mesh, jx.NamedSharding(mesh, jx.P(*spec))


@pytest.mark.parametrize("spec", [(), ("y",), ("x",), (None, ("x", "y"))], ids=str)
@pytest.mark.parametrize("kind", ["Explicit", "Auto"])
@pytest.mark.parametrize("given", ["sharding", "spec", "spec outside", "sharding outside", "None", "string"])
def test_a_sharding_over_explicit_axes(given, kind, spec):
    def program(jx):
        canonical = private(jx, "sharding_impls").canonicalize_sharding
        mesh, sharding = shardings_over(jx, spec, kind)
        x = {"None": None, "string": "x"}.get(given, sharding.spec if "spec" in given else sharding)

        def f():
            with jx.set_mesh(mesh) if "outside" not in given else nullcontext():
                out = canonical(x, "here")
            if out is None:
                return None
            names = "_any_axis_auto", "_any_axis_explicit", "_any_axis_manual"
            return (str(out.spec), type(out.mesh).__name__, [getattr(out.mesh, name) for name in names],
                    [str(kind) for kind in out.mesh._name_to_type.values()])

        return f

    auto = kind == "Auto" and "x" in str(spec)
    wrong = {"string": TypeError, "spec outside": ValueError}.get(given, ValueError if auto and given != "None" else None)
    both(program, **{} if wrong is None else {"raises": wrong})


def test_no_sharding_of_an_array_on_one_device():
    both(lambda jx: lambda: private(jx, "sharding_impls").canonicalize_sharding(
        jx.typeof(jx.numpy.ones(3)).sharding, "here"))


@in_both
def test_where_a_traced_function_is(jx):
    here = lambda x: x
    infos = [private(jx, "api_util").debug_info("jit", f, (1,), {}) for f in (here, max, False)]
    return [(i.func_name, i.func_filename == __file__, i.func_lineno == here.__code__.co_firstlineno)
            for i in infos]
