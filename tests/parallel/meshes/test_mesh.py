"""Meshes: every question about one has JAX's answer, and equal meshes are one object."""

from __future__ import annotations

import copy
import gc
import pickle
import re
import threading
import warnings

import numpy as np
import pytest

import minijax as mj
from tests.oracle import both, jax

P = mj.P


def words(library):
    """The names that rows of the tables use."""
    devices = np.array(library.devices())
    sharding = library.sharding
    return {
        "jax": library, "np": np, "sharding": sharding, "devices": devices,
        "Mesh": sharding.Mesh, "AbstractMesh": sharding.AbstractMesh, "T": sharding.AxisType,
        "make_mesh": library.make_mesh, "set_mesh": library.set_mesh,
        "mesh": sharding.Mesh(devices.reshape(4, 2), ("x", "y")),
        "explicit": library.make_mesh((2, 2, 2), ("x", "y", "z")),
        "abstract": sharding.AbstractMesh((4, 2), ("x", "y"),
                                       (sharding.AxisType.Manual, sharding.AxisType.Auto)),
        "none": sharding.Mesh(np.empty((), dtype=object), ()),
        "utils": __import__(f"{library.__name__}.experimental.mesh_utils", fromlist=["x"]),
    }


def answer(row):
    """A program that gives the row's value as text."""
    return lambda library: lambda: repr(eval(row, words(library)))


QUESTIONS = [
    f"{mesh}.{attribute}"
    for mesh in ("mesh", "explicit", "abstract", "none", "mesh.abstract_mesh")
    for attribute in (
        "shape.items()", "shape_tuple", "axis_names", "axis_sizes", "axis_types", "size", "empty",
        "auto_axes", "explicit_axes", "manual_axes", "are_all_axes_auto",
        "are_all_axes_explicit", "are_all_axes_manual", "abstract_mesh", "__str__()",
        "__repr__()", "update(axis_types=(T.Auto,) * 2)", "update(axis_names=('a', 'b'))",
        "device_ids", "devices", "local_devices", "is_multi_process", "no_such_attribute",
    )
    if (mesh, attribute) != ("none", "device_ids")  # an AssertionError in JAX
]


@pytest.mark.parametrize("row", QUESTIONS)
def test_questions(row):
    both(answer(row))


MAKING = """
Mesh(devices, "x") | Mesh(list(devices), ["x"]) | Mesh(devices[:1], [1]) | Mesh([], "x")
Mesh(devices, ("x",), (T.Manual,)) | Mesh(devices, "x", T.Explicit) | Mesh(devices, "x", "Auto")
Mesh(devices, ("x", "y")) | Mesh(devices, (None,)) | Mesh(devices, "x", (T.Auto,) * 2)
Mesh(devices[0], ()) | Mesh(devices[0], ()).is_scalar | mesh.is_scalar | Mesh(devices.reshape(2, 4), "xy")
AbstractMesh((2,), ("x",)) | AbstractMesh((), ()) | AbstractMesh((2, 3), ("x", "y"), T.Auto)
AbstractMesh((2,), ("x",), ("Auto",)) | AbstractMesh((2,), "x").size | AbstractMesh((2,))
AbstractMesh((2,), ("x",), abstract_device=sharding.AbstractDevice("cpu", None, "cpu"))
abstract.update_axis_types({"x": T.Explicit}) | abstract.update(axis_sizes=(2, 2), abstract_device=1 and None)
mesh.abstract_mesh.abstract_device | mesh.update(devices=devices.reshape(2, 4)) | mesh.update().devices
make_mesh((4,), ("x",)) | make_mesh((16,), ("x",)) | make_mesh((4, 2), ("x",)) | make_mesh((2, -1), ("x", "y"))
make_mesh((2, 'a'), ("x", "y")) | make_mesh(2, ("x",)) | make_mesh((8,), "x", T.Auto) | make_mesh((), ())
make_mesh((2, 2), ("x", "y"), devices=devices[3:7]).device_ids | make_mesh((8,), ("x",), ("a",))
make_mesh((2, 4, 1), ("x", "y", "z")).devices | make_mesh((8,), ("x",), devices=[]) | make_mesh((2.0, 4), "xy")
mesh.local_mesh | mesh.local_mesh.device_ids | none.local_mesh | mesh.devices.flags.writeable
sharding.get_mesh() | sharding.get_abstract_mesh() | sharding.set_mesh(3) | sharding.use_abstract_mesh(mesh)
set_mesh(mesh.update(axis_types=(T.Manual, T.Auto))) | set_mesh(mesh.abstract_mesh) | T.Auto | str(T.Manual)
list(T) | T["Explicit"] | setattr(mesh, "size", 3) | delattr(mesh, "size") | make_mesh((3,), "x")
utils.create_device_mesh((4,)) | utils.create_device_mesh((2, 4)) | utils.create_device_mesh((3,), devices[5:])
utils.create_device_mesh(8) | utils.create_device_mesh(("a",)) | utils.create_device_mesh((2, 2, 2), list(devices))
utils.create_hybrid_device_mesh((2, 4), (1, 1), process_is_granule=True)
utils.create_hybrid_device_mesh((2, 4), (1, 1)) | utils.create_hybrid_device_mesh((8,), (2,), process_is_granule=True)
utils.create_hybrid_device_mesh((8,), (1,), should_sort_granules_by_key=False, process_is_granule=True)
""".strip().replace("\n", " | ").split(" | ")


@pytest.mark.parametrize("row", MAKING)
def test_making(row):
    both(answer(row))


def test_granules_are_laid_out_side_by_side():
    class Device:
        platform = device_kind = "cpu"

        def __init__(self, id):
            self.id, self.slice_index = id, id // 4

        def __repr__(self):
            return f"d{self.id}"

    devices = [Device(id) for id in (4, 5, 6, 7, 0, 1, 2, 3)]
    program = "utils.create_hybrid_device_mesh({}, {}, devices, should_sort_granules_by_key={})"
    for shapes in [((2, 2), (1, 2)), ((2, 2), (2, 1)), ((4,), (2,))]:
        for order in (True, False):
            row = program.format(*shapes, order)
            both(lambda library, row=row:
                 lambda: repr(eval(row, words(library) | {"devices": devices})))


@pytest.mark.parametrize("make", [
    lambda devices, lib: lib.Mesh(devices, "x"),
    lambda devices, lib: lib.Mesh(devices.reshape(2, 4), ("x", "y")),
    lambda devices, lib: lib.AbstractMesh((2, 3), ("x", "y")),
    lambda devices, lib: lib.PartitionSpec("x", None, ("y", "z")),
])
def test_equal_ones_are_one_object(make):
    devices = np.array(mj.devices())
    first, second = (make(devices.copy(), mj.sharding) for _ in range(2))
    assert first is second and hash(first) == hash(second)
    assert copy.copy(first) is first and copy.deepcopy(first) is first
    if not isinstance(first, mj.sharding.Mesh):  # devices cannot be pickled
        assert pickle.loads(pickle.dumps(first)) is first


def test_a_mesh_nobody_has_is_forgotten():
    from minijax.parallel.meshes.interned import _interned

    mesh = mj.sharding.AbstractMesh((17, 19), ("forgotten", "mesh"))
    assert any(value is mesh for value in _interned.values())
    del mesh
    gc.collect()
    assert not any(getattr(value, "size", 0) == 17 * 19 for value in _interned.values())


def test_meshes_that_differ_in_anything_are_not_equal():
    devices, meshes = np.array(mj.devices()), mj.sharding
    Auto, Manual = meshes.AxisType.Auto, meshes.AxisType.Manual
    made = [meshes.Mesh(devices, "x"), meshes.Mesh(devices, "y"), meshes.Mesh(devices[::-1], "x"),
            meshes.Mesh(devices, "x", Manual), meshes.Mesh(devices[:4], "x"),
            meshes.Mesh(devices.reshape(4, 2), ("x", "y")),
            meshes.Mesh(devices.reshape(2, 4), ("x", "y")),
            meshes.AbstractMesh((8,), ("x",)), meshes.AbstractMesh((8,), ("x",), (Manual,)),
            meshes.AbstractMesh((8,), ("y",), (Auto,))]
    assert len(set(made)) == len(made)


# ------------------------------------------------------------------------------------------------
# The mesh in force

SCOPES = {
    "set_mesh": "with set_mesh(mesh): seen()\nseen()",
    "set_mesh in set_mesh": "with set_mesh(mesh):\n  with set_mesh(explicit): seen()\n  seen()",
    "set_mesh(None)": "with set_mesh(mesh):\n  with set_mesh(None): seen()\n  seen()",
    "set_mesh as a setter": "before = set_mesh(mesh)\nseen()\nset_mesh(None)\nseen()",
    "use_abstract_mesh": "with sharding.use_abstract_mesh(abstract): seen()\nseen()",
    "of another size": "with set_mesh(mesh):\n"
                       "  with sharding.use_abstract_mesh(AbstractMesh((2,), ('x',))): seen()",
    "of the same size": "with set_mesh(mesh):\n"
                        "  with sharding.use_abstract_mesh(abstract): seen()\n  seen()",
    "none": "with set_mesh(mesh):\n"
            "  with sharding.use_abstract_mesh(AbstractMesh((), ())): seen()",
    "with mesh": "with mesh: seen()",
    "an error": "try:\n  with set_mesh(mesh): seen(); 1 / 0\nexcept ZeroDivisionError: seen()",
    "in jit, abstract": "with set_mesh(mesh):\n"
                        "  jax.jit(lambda x: (out.append(repr(sharding.get_abstract_mesh())), x))(1)",
    "in jit, get_mesh": "with set_mesh(mesh): jax.jit(lambda x: sharding.get_mesh())(1)",
    "in jit, set_mesh": "jax.jit(lambda x: set_mesh(mesh))(1)",
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", SCOPES)
def test_the_mesh_in_force(name):
    def program(library):
        def run():
            out, names = [], words(library)

            def seen():
                out.append((repr(names["sharding"].get_mesh()),
                            repr(names["sharding"].get_abstract_mesh())))

            exec(SCOPES[name], names | {"seen": seen, "out": out})
            return out
        return run

    try:
        with mj.set_mesh(None):  # at its end the thread has no setting of its own, as before
            both(program)
    finally:
        jax.set_mesh(None)


def test_the_mesh_in_force_is_the_threads_own():
    mesh = mj.make_mesh((8,), ("x",))
    seen = []
    with mj.set_mesh(mesh):
        thread = threading.Thread(target=lambda: seen.append(mj.sharding.get_mesh()))
        thread.start()
        thread.join()
        assert mj.sharding.get_mesh() is mesh
    assert seen[0].empty


def test_a_function_is_traced_again_for_another_mesh():
    traced = []
    f = mj.jit(lambda x: (traced.append(mj.sharding.get_abstract_mesh().shape_tuple), x)[1])
    for sizes in [(8,), (4,), (8,)]:
        with mj.set_mesh(mj.make_mesh(sizes, ("x",))):
            f(1.0)
    assert traced == [(("x", 8),), (("x", 4),)]


def test_with_mesh_warns_at_the_users_line():
    mesh = mj.make_mesh((8,), ("x",))
    with pytest.warns(DeprecationWarning, match="set_mesh") as record, mesh as entered:
        assert entered is mesh
    assert record[0].filename == __file__

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")

        @mesh
        def decorated():
            from minijax.parallel.meshes.mesh import entered_mesh

            return entered_mesh.value

        assert decorated() is mesh


def test_errors_say_what_to_do():
    with pytest.raises(ValueError, match=re.escape("jax_num_cpu_devices")):
        mj.make_mesh((16,), ("x",))
    with pytest.raises(ValueError, match=r"shape \(4, 2\).*'x',\)"):
        mj.sharding.Mesh(np.array(mj.devices()).reshape(4, 2), ("x",))
