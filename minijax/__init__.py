"""minijax: JAX's core, small enough to be read and complete enough to be used.

The public names, in the order of the book's chapters: `import minijax as jax`.
"""

from typing import TYPE_CHECKING

from .compat.first_use import loaded_on_first_use as _loaded_on_first_use

# chapter 1
from .compat.config import checking_leaks, config, make_user_context
from .settings import (
    check_tracer_leaks, enable_checks, enable_x64, explain_cache_misses, no_tracing,
    numpy_dtype_promotion, numpy_rank_promotion)
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
from .text import reprs as _reprs  # objects read as those of JAX
from . import api_util
from .runtime.structs import ShapeDtypeStruct
from .core.api import eval_shape, make_jaxpr
from .settings import clear_caches

# chapter 6
from .runtime.devices import (
    block_until_ready, copy_to_host_async, default_backend, device_count, device_get, devices)
from .runtime.jit import disable_jit, jit
from .runtime.settings import no_execution
from .runtime import exits as _exits, forks as _forks  # the end and the copies of a process

# chapter 7
from .core.api import linearize

# chapter 8
from .core.api import grad, value_and_grad, vjp

# chapter 9
from . import lax
from .lax.jacobians import hessian, jacfwd, jacobian, jacrev
from .lax.dynamic_slices import ds
from .lax.precision import default_matmul_precision

# chapter 10
from .custom_rules import linearization as _linearization
from .debugging.scopes import named_call, named_scope
from . import ad_checkpoint, custom_batching, custom_derivatives
from .custom_rules.linear_functions import fwd_and_bwd, linear_transpose
from .custom_rules import closure_convert, custom_gradient, custom_jvp, custom_vjp
from .remat import checkpoint, checkpoint_policies, remat

# chapter 11
from . import dtypes
from .lax.compile_time import ensure_compile_time_eval

# chapter 12
from . import numpy
from .numpy import _array_protocols, _methods  # what arrays can do besides
from .numpy._softmax import softmax_custom_jvp

# chapter 13
from . import random
from .random.settings import (
    debug_key_reuse, default_prng_impl, enable_custom_prng, legacy_prng_key, threefry_partitionable)

# chapter 14
from . import distributed, sharding
from .runtime import compilation_cache as _compilation_cache, cuda as _cuda
from .runtime.processes import (
    local_device_count, local_devices, process_count, process_index, process_indices)
from .runtime.settings import default_device
from .parallel.programs.explicit_axes import reshard
from .parallel.meshes.mesh import make_mesh
from .parallel.meshes.mesh_in_force import set_mesh
from .parallel.meshes.partition_spec import P
from .parallel.programs.placed_array import Shard
from .parallel.programs.device_put import device_put, live_arrays
from .parallel.meshes.sharding import NamedSharding
from .parallel.programs.global_arrays import (
    make_array_from_callback, make_array_from_process_local_data,
    make_array_from_single_device_arrays)
from .parallel.meshes.memory_spaces import memory
from .parallel.programs.pmap import pmap
from .parallel.programs.shard_map import shard_map, smap

# chapter 15
from .runtime.effects import effects_barrier
from . import monitoring, ref
from .ref import Ref, empty_ref, free_ref, freeze, new_ref
from .state.gradients import ad
from .debugging.refusals import (
    allow_f16_reductions, transfer_guard, transfer_guard_device_to_device,
    transfer_guard_device_to_host, transfer_guard_host_to_device)
from .debugging.monitoring import log_compiles
from .debugging.value_checks import debug_infs, debug_nans
from .debugging.callbacks import pure_callback
from .debugging.environment import print_environment_info

# chapter 16
from .experimental import key_reuse as _key_reuse  # watches its setting

# for extensions, every chapter's part
from .compat.options import (
    auto_pcast, jax2tf_associative_scan_reductions, remove_size_one_mesh_axis_from_type,
    thread_guard)
from .compat.absent import show_absent as _show_absent, with_absent_names as _with_absent_names

_show_absent(__name__)
from .compat import core as _core, jaxpr as _jaxpr, objects as _objects, params as _params

# chapter 1
if TYPE_CHECKING:
    from . import (
        debug, dlpack, example_libraries, experimental, extend, image, interpreters, nn, ops,
        profiler, scipy, stages,
    )

# What few programs use is imported when its name is first used.
_PLACES = dict.fromkeys("""
    debug dlpack example_libraries experimental extend image interpreters nn ops profiler scipy
    stages _src""".split(), "")
_PLACES["Device"] = "runtime.client"  # jaxlib's class

__getattr__ = _loaded_on_first_use(__name__, _PLACES)

# chapter 16
__getattr__ = _with_absent_names(__name__, __getattr__)

# chapter 1


def __dir__():
    return sorted({*globals(), *_PLACES} - {"_src"})


__all__ = [name for name in __dir__() if not name.startswith("_")]  # for `from minijax import *`
