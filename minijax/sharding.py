"""`jax.sharding`: meshes of devices, and how arrays are split over them (chapter 14)."""

# chapter 14
from .parallel.programs.explicit_axes import ManualAxisType, auto_axes, explicit_axes, reshard
from .parallel.meshes.mesh import AbstractDevice, AbstractMesh, AxisType, Mesh
from .parallel.meshes.mesh_in_force import get_abstract_mesh, get_mesh, set_mesh, use_abstract_mesh
from .parallel.meshes.partition_spec import PartitionSpec
from .parallel.meshes.sharding import (
    NamedSharding, Sharding, SingleDeviceSharding, make_single_device_sharding)
