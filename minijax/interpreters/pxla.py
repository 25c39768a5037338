"""What libraries still read from `jax.interpreters.pxla`: the mesh of `with mesh:`."""

import warnings
from types import SimpleNamespace
from typing import Any

# chapter 14
from ..text.locations import user_stacklevel
from ..parallel.meshes import mesh as _meshes


class _ThreadResources:
    @property
    def env(self) -> Any:
        mesh = _meshes.entered_mesh.value or _meshes.no_mesh
        return SimpleNamespace(physical_mesh=mesh, shape=mesh.shape)


def __getattr__(name):
    if name == "thread_resources":
        warnings.warn("jax.interpreters.pxla.thread_resources is deprecated, as it is in JAX: use "
                      "`with jax.set_mesh(mesh):`, and jax.sharding.get_abstract_mesh().",
                      DeprecationWarning, user_stacklevel())
        return _ThreadResources()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}: minijax hands its "
                         "programs to jaxlib in another way than JAX does.")
