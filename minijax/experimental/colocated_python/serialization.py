"""Names that libraries read from JAX's module. In one process, nothing has to be serialized."""

from ...runtime.client import DeviceList
