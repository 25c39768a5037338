"""Chapter 14: `shard_map` without `in_specs`: arguments are cut as their types say."""

from __future__ import annotations

from typing import Any

from ...core.core import typeof
from ...core.tree import tree_map
from ..meshes.mesh import AxisType
from .shard_map_specs import checked_mesh, spec_of_type


def infer_specs(args: tuple, mesh: Any, axis_names: Any) -> Any:
    """The specs of the arguments' shardings on the mesh.

    Raises:
      TypeError: the axes are not of type Explicit.
    """
    mesh = checked_mesh(mesh)
    axes = frozenset(axis_names) or frozenset(mesh.axis_names)
    types = dict(zip(mesh.axis_names, mesh.axis_types))
    if any(types.get(name) is not AxisType.Explicit for name in axes):
        raise TypeError("shard_map: in_specs is needed. Without it, arguments are cut as they lie, "
                        f"but only if the axes of the mesh are of type Explicit, got {mesh}.")
    return tree_map(lambda x: spec_of_type(typeof(x), axes), args)
