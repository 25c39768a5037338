"""`jax.experimental.mesh_utils`: in which order the devices fill a mesh."""

from ..parallel.meshes.mesh_utils import create_device_mesh, create_hybrid_device_mesh
