"""`jax.sharding`: meshes of devices, and how arrays are split over them (chapter 14)."""

# chapter 14
from .parallel.explicit import ManualAxisType, auto_axes, explicit_axes, reshard
from .parallel.mesh import (
    AbstractDevice,
    AbstractMesh,
    AxisType,
    Mesh,
    get_abstract_mesh,
    get_mesh,
    set_mesh,
    use_abstract_mesh,
)
from .parallel.partition_spec import PartitionSpec
from .parallel.sharding import (
    NamedSharding,
    Sharding,
    SingleDeviceSharding,
    make_single_device_sharding,
)
