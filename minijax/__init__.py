"""minijax: JAX's core, small enough to be read and complete enough to be used.

The public names, in the order of the book's chapters: `import minijax as jax`.
"""

import gc as _gc
from importlib import import_module as _import
from typing import TYPE_CHECKING

from .first_use import (
    Postponed as _Postponed,
    keep_functions as _keep_functions,
    load as _load,
    postpone_imports,
    spare_the_collector as _spare_the_collector,
)

_collects = _gc.isenabled()
_gc.disable()  # an import leaves no garbage behind, and makes many objects

# chapter 9
postpone_imports("minijax.lax")

# chapter 10
postpone_imports("minijax.ad_checkpoint")
postpone_imports("minijax.custom_batching")
postpone_imports("minijax.custom_derivatives")

# chapter 11
postpone_imports("minijax.lax.linalg")

# chapter 12
postpone_imports("minijax.numpy")
postpone_imports("minijax.numpy.linalg")

# chapter 13
postpone_imports("minijax.nn")
postpone_imports("minijax.random")

# chapter 14
postpone_imports("minijax.distributed")
postpone_imports("minijax.sharding")

# chapter 15
postpone_imports("minijax.ref")

# chapter 1
from .settings import (
    auto_pcast,
    checking_leaks,
    config,
    explain_cache_misses,
    jax2tf_associative_scan_reductions,
    make_user_context,
    remove_size_one_mesh_axis_from_type,
    softmax_custom_jvp,
    thread_guard,
    transfer_guard,
    transfer_guard_device_to_device,
    transfer_guard_device_to_host,
    transfer_guard_host_to_device,
    debug_infs,
    debug_nans,
    enable_checks,
    allow_f16_reductions,
    no_execution,
    no_tracing,
    default_matmul_precision,
    enable_x64,
    log_compiles,
    numpy_dtype_promotion,
    numpy_rank_promotion,
    check_tracer_leaks,
)
from . import core, errors
from .core.dtypes import float0
from .core.core import typeof
from .core.array import Array
from .core import operators as _operators  # gives arrays their operators
from . import typing, version
from .version import __version__, __version_info__

# chapter 3
from . import tree, tree_util
from .core.api import jvp

# chapter 4
from .core.api import vmap

# chapter 5
from . import api_util
from .runtime.structs import ShapeDtypeStruct
from .core.api import eval_shape, make_jaxpr
from .core.traced import clear_caches

# chapter 6
from .runtime.devices import (
    block_until_ready,
    copy_to_host_async,
    default_backend,
    device_count,
    device_get,
    devices,
)
from .runtime.jit import disable_jit, jit
from .runtime import exits as _exits, forks as _forks  # the end and the copies of a process

if TYPE_CHECKING:
    from . import stages

# chapter 7
from .core.api import linearize

# chapter 8
from .core.api import grad, value_and_grad, vjp

# chapter 9
from . import lax
_import("minijax.lax.operators")  # gives arrays operators in full

if TYPE_CHECKING:
    from .jacobians import hessian, jacfwd, jacobian, jacrev
    from .lax.dynamic_slices import ds

# chapter 10
from . import linearization as _linearization
from .debugging.scopes import named_call, named_scope
from . import ad_checkpoint, custom_batching, custom_derivatives

if TYPE_CHECKING:
    from .custom_rules.linear_functions import fwd_and_bwd, linear_transpose
    from .custom_rules import closure_convert, custom_gradient, custom_jvp, custom_vjp
    from .remat import checkpoint, checkpoint_policies, remat

# chapter 11
from . import dtypes
from .lax.compile_time import ensure_compile_time_eval
_import("minijax.lax.dot_algorithms")  # values of the setting default_matmul_precision
_import("minijax.lax.products")  # the rules of `dot_general` in full

# chapter 12
from . import numpy
_import("minijax.numpy._array_protocols")
_import("minijax.numpy._method_names")

if TYPE_CHECKING:
    from . import dlpack, ops

# chapter 13
from . import nn, random, scipy

if TYPE_CHECKING:
    from . import image
from .random.settings import (
    debug_key_reuse, default_prng_impl, enable_custom_prng, legacy_prng_key, threefry_partitionable,
)

# chapter 14
from . import distributed, sharding
from .runtime import compilation_cache as _compilation_cache, cuda as _cuda
from .runtime.processes import (
    local_device_count,
    local_devices,
    process_count,
    process_index,
    process_indices,
)
from .settings import default_device

if TYPE_CHECKING:
    from .parallel.explicit import reshard
    from .parallel.mesh import make_mesh, set_mesh
    from .parallel.partition_spec import P
    from .parallel.placed import Shard
    from .parallel.placement import device_put, live_arrays
    from .parallel.sharding import NamedSharding
    from .parallel.global_arrays import (
        make_array_from_callback,
        make_array_from_process_local_data,
        make_array_from_single_device_arrays,
    )
    from .parallel.memories import memory
    from .parallel.pmap import pmap
    from .parallel.shard_map import shard_map, smap

# chapter 15
from . import doors as _doors  # what stands for rooms that are loaded later
from .runtime.effects import effects_barrier
from . import monitoring
from . import ref
from .state import gradients as _gradients  # what `vjp` returns has `with_refs`

if TYPE_CHECKING:
    from .ref import Ref, empty_ref, free_ref, freeze, new_ref
    from .state.gradients import ad
    from . import debug
    from .debugging.callbacks import pure_callback
    from .debugging.environment import print_environment_info

# chapter 16
if TYPE_CHECKING:
    from . import experimental


def _watch_keys(value, begins):
    """The setting debug_key_reuse begins or ends to be on somewhere."""
    if value:
        from .experimental.key_reuse import watch

        watch(begins)


debug_key_reuse.watchers.append(_watch_keys)
_watch_keys(debug_key_reuse.value, True)  # it may come from the environment

# for extensions, every chapter's part

from .compat.absent import show_absent as _show_absent

_show_absent(__name__)
from .compat import core as _core, jaxpr as _jaxpr, objects as _objects, params as _params

if TYPE_CHECKING:
    from . import extend, interpreters

if _collects:
    _spare_the_collector()
    _gc.enable()


# Names, and the modules that have them. Both are loaded when the name is first used.
_ON_FIRST_USE = {
    "hessian": "jacobians",
    "jacfwd": "jacobians",
    "jacobian": "jacobians",
    "jacrev": "jacobians",
    "make_array_from_callback": "parallel.global_arrays",
    "make_array_from_process_local_data": "parallel.global_arrays",
    "make_array_from_single_device_arrays": "parallel.global_arrays",
    "ds": "lax.dynamic_slices",
    "fwd_and_bwd": "custom_rules.linear_functions",
    "linear_transpose": "custom_rules.linear_functions",
    "closure_convert": "custom_rules.closures",
    "custom_gradient": "custom_rules.vjp",
    "custom_jvp": "custom_rules.jvp",
    "custom_vjp": "custom_rules.vjp",
    "checkpoint": "remat.function",
    "checkpoint_policies": "remat.policies",
    "remat": "remat.function",
    "Ref": "state.refs",
    "empty_ref": "state.functions",
    "free_ref": "state.functions",
    "freeze": "state.functions",
    "new_ref": "state.functions",
    "ad": "state.gradients",
    "device_put": "parallel.placement",
    "live_arrays": "parallel.placement",
    "make_mesh": "parallel.mesh",
    "set_mesh": "parallel.mesh",
    "NamedSharding": "parallel.sharding",
    "P": "parallel.partition_spec",
    "Shard": "parallel.placed",
    "reshard": "parallel.explicit",
    "pmap": "parallel.pmap",
    "shard_map": "parallel.shard_map",
    "smap": "parallel.shard_map",
    "pure_callback": "debugging.callbacks",
    "print_environment_info": "debugging.environment",
}
_MODULES_ON_FIRST_USE = {
    "_src", "custom_rules", "debug", "dlpack", "experimental", "extend", "image",
    "interpreters", "ops", "parallel", "profiler", "stages", "state",
}

_keep_functions(__name__, ["remat"])


def __getattr__(name):
    if name == "Device":  # the class of devices, which is jaxlib's: loaded when it is asked for
        from .runtime import xla

        return xla().Device
    if name == "memory":  # a namespace, not a function
        from .parallel.memories import memory

        return memory
    if name in _MODULES_ON_FIRST_USE:
        return _load(_Postponed(f"{__name__}.{name}"))
    if name in _ON_FIRST_USE:
        value = globals()[name] = _load(_Postponed(f"{__name__}.{_ON_FIRST_USE[name]}", name))
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    waiting = {*_ON_FIRST_USE, *_MODULES_ON_FIRST_USE, "Device", "memory"}
    return sorted({*globals(), *waiting} - {"_src"})


__all__ = [name for name in __dir__() if not name.startswith("_")]  # for `from minijax import *`
