"""`jax.debug`: printing, callbacks and breakpoints inside of traced functions."""

# chapter 15
from .debugging.callbacks import DebugEffect, OrderedDebugEffect
from .debugging.debug import callback as _callback, debug_print_p, log, print as _print
from .debugging.compiled_values import CompiledValueError, check_compiled
from .debugging.debugger import breakpoint
from .parallel.programs.inspect_sharding import inspect_array_sharding, visualize_array_sharding
from .parallel.meshes.visualize import visualize_sharding
from .compat.first_use import loaded_on_first_use as _loaded_on_first_use
from .text.naming import renamed as _renamed

callback, print = _renamed(_callback, "debug_callback"), _renamed(_print, "debug_print")

__all__ = [
    "CompiledValueError", "DebugEffect", "OrderedDebugEffect", "breakpoint", "callback",
    "check_compiled", "inspect_array_sharding", "log", "print", "visualize_array_sharding",
    "visualize_sharding"]


# These look into programs, which a program that runs has no need of.
__getattr__ = _loaded_on_first_use(__name__, {
    "theatre": "debugging.theatre", "explain": "debugging.explain"})
