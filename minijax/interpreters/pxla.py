"""What libraries still read from `jax.interpreters.pxla`: the mesh of `with mesh:`, and names of
types."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from types import SimpleNamespace
from typing import Any

# chapter 14
from ..text.locations import user_stacklevel
from ..parallel.meshes import mesh as _meshes
from ..parallel.meshes.partition_spec import P as _P
from ..runtime.jit_equations import UNSPECIFIED as _UNSPECIFIED

Index = int | slice | tuple[int | slice, ...]
MeshAxisName = Any
ArrayMapping = OrderedDict[MeshAxisName, int]  # names of axes, and the dimensions that they split


def array_mapping_to_axis_resources(array_mapping: OrderedDict[MeshAxisName, int]) -> _P:
    """The partition spec that splits the dimensions as an `ArrayMapping` says.

    >>> array_mapping_to_axis_resources(OrderedDict(x=0, y=2))
    P('x', None, 'y')
    """
    split: list[list] = [[] for _ in range(max(array_mapping.values(), default=-1) + 1)]
    for name, dimension in array_mapping.items():
        split[dimension].append(name)
    return _P(*[names[0] if len(names) == 1 else tuple(names) or None for names in split])


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
