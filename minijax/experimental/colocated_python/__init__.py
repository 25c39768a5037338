"""`jax.experimental.colocated_python`: functions that run beside the devices of their arrays.

In JAX such a function may run on another host, under a runtime with one controller for all of
them. Here each process controls its own CPU devices, so the function runs in this process. What JAX
checks of arguments and results is checked, so that a program which runs here also runs there.
"""

from . import func, serialization
from .func import colocated_cpu_devices, colocated_python, colocated_python_class
