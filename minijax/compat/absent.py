"""What minijax does not have of JAX: modules and names that can be imported, and not be used.

A program may import more than it uses, so these names exist. To call one of them is an error, which
says why minijax does not have it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any, NoReturn

from ..core.boundary import public
from .first_use import show_module

_NO_EXPORT = "programs are not sent elsewhere. `jax.jit(f).lower(…).as_text()` shows the StableHLO."
_NO_FOREIGN = "XLA calls no foreign functions. `jax.pure_callback` calls Python, and so ctypes."
_NO_EFFECT = "it would have no effect on a CPU. Leave it out."
_ONE_PROCESS = "programs run in the process that compiles them, on the devices of its machine."

_BY_ORBAX = "`orbax.checkpoint` writes checkpoints, and so does `numpy.savez`."

# module -> why, and its public names
ABSENT: dict[str, tuple[str, str]] = {
    "export": (_NO_EXPORT, """DisabledSafetyCheck Exported SymbolicScope default_export_platform
        deserialize export is_symbolic_dim maximum_supported_calling_convention_version
        minimum_supported_calling_convention_version register_namedtuple_serialization
        register_pytree_node_serialization symbolic_args_specs symbolic_shape"""),
    "ffi": (_NO_FOREIGN, """build_ffi_lowering_function ffi_call ffi_lowering include_dir pycapsule
        register_ffi_target register_ffi_target_as_batch_partitionable register_ffi_type
        register_ffi_type_id"""),
    "experimental.array_serialization": (_BY_ORBAX, ""),
    "experimental.array_serialization.serialization": (
        _BY_ORBAX, """GlobalAsyncCheckpointManager GlobalAsyncCheckpointManagerBase
        get_tensorstore_spec"""),
    "experimental.buffer_callback": (
        _NO_FOREIGN, "Buffer ExecutionContext ExecutionStage buffer_callback"),
    "experimental.colocated_python": (
        _ONE_PROCESS, "colocated_cpu_devices colocated_python colocated_python_class"),
    "experimental.colocated_python.func": (_ONE_PROCESS, "_make_prng_wrapped_fun"),  # for orbax
    "experimental.colocated_python.serialization": (_ONE_PROCESS, "DeviceList"),  # for orbax
    "experimental.compute_on": (_NO_EFFECT, "compute_on compute_on2"),
    "experimental.control_deps": (_NO_EFFECT, "control_dep schedule"),
    "experimental.random": (
        "`jax.random` has keys. A count in a `jax.new_ref`, by `fold_in`, makes a state of one.",
        "StatefulPRNG stateful_rng"),
    "experimental.scheduling_groups": (_NO_EFFECT, "scheduling_group xla_metadata_call"),
    "experimental.serialize_executable": (_ONE_PROCESS, "deserialize_and_load serialize"),
    "experimental.shard_alike": (
        "XLA decides. `jax.lax.with_sharding_constraint` says how an array is sharded.",
        "shard_alike"),
    "experimental.topologies": (
        _ONE_PROCESS, "TopologyDescription get_attached_topology get_topology_desc make_mesh"),
    "experimental.xla_metadata": (_NO_EFFECT, "set_xla_metadata"),
}

# module that minijax has -> why -> public names that it has not
ABSENT_NAMES: dict[str, dict[str, str]] = {
    "lax": {
        "programs are not sent to other compilers. Call the decomposition.": "composite",
        "nothing uses the value, so nothing need be computed. Return it.": "dce_sink",
        "effects are ordered without tokens. Leave them out.": "after_all create_token",
        "products with scales for blocks of elements are for accelerators. Multiply the operands "
        "by their scales.": "scaled_dot",
        "its numbers cannot be reproduced. `jax.random.uniform` has a key.": "rng_uniform",
    },
    "lax.linalg": {
        "it is no faster than the product on a CPU. `alpha * a @ a.mT + beta * c` is the same.":
            "symmetric_product",
        "it is a loop of rotations. `jax.numpy.linalg.cholesky` decomposes the updated matrix.":
            "cholesky_update",
        "`jax.scipy.linalg.polar` has the polar form.": "qdwh",
        "nothing here needs the reduced form. `eigh` has the eigenvalues.": "tridiagonal",
    },
    "core": {"`jaxpr.pretty_print()` makes the text.": "JaxprPpContext JaxprPpSettings"},
    "custom_derivatives": {
        "`jax.custom_vjp` of a linear function has a transpose of its own, too.": "linear_call"},
    "experimental.sparse": {
        "`sparsify` traces functions to jaxprs.": "SparseTracer",
        "the result would hardly be sparse. Use todense() and `jax.lax.conv_general_dilated`.":
            "bcoo_conv_general_dilated",
        "JAX's own advice is `BCOO`. For compressed rows, `BCSR` has more, and derivatives.":
            """COO CSC CSR coo_fromdense coo_matmat coo_matvec coo_todense csr_fromdense csr_matmat
            csr_matvec csr_todense""",
    },
    "experimental.hijax": {
        "`jax.custom_vjp` gives a function rules of its own, and so does a primitive.":
            "VJPHiPrimitive",
        "`shard_map` takes arrays only. Pass it those of the value.": "HiPspec",
    },
    "scipy.linalg": {
        "`scipy.linalg` has it: the matrix depends on few numbers, which are known.":
            """companion convolution_matrix fiedler fiedler_companion helmert invhilbert invpascal
            leslie pascal""",
        "`schur(a, output='complex')` has the complex form.": "rsf2csf",
    },
    "scipy.special": {
        "JAX will drop it. `sph_harm_y` has spherical harmonics.": "lpmn lpmn_values",
        "an integral of `erf` by quadrature is the same.": "owens_t",
    },
    "extend.linear_util": {
        "`functools.cache` remembers results, and a flag tells which transformation ran.":
            "cache merge_linear_aux"},
    "extend.core": {"effects are ordered without tokens.": "AbstractToken Token"},
}

# module -> names that JAX had before 0.10 -> what to use in their place
REMOVED: dict[str, dict[str, str]] = {
    "": dict.fromkeys(["device_put_replicated", "device_put_sharded"], "jax.device_put"),
    "core": {"get_aval": "jax.typeof"} | {name: f"jax.extend.core.{name}" for name in """
        AbstractToken TraceTag call_impl mapped_aval subjaxprs take_current_trace
        unmapped_aval""".split()},
    "lax": {"pvary": "jax.lax.pcast(..., to='varying')"},
    "numpy": {"fix": "jax.numpy.trunc"},
    "scipy.special": {"sph_harm": "jax.scipy.special.sph_harm_y"},
}

# module -> names that JAX never had there -> what to use in their place
ELSEWHERE = {
    "numpy": {"random": "jax.random, whose functions take a key: jax.random.normal(key, shape)",
              "ma": "masks: jax.numpy.where(mask, x, y), or the argument `where` of a reduction",
              "testing": "numpy.testing, which takes these arrays"},
}


class Absent(type):
    """The class of what stands for a function or a class that minijax does not have. It is a class,
    so annotations and `isinstance` work."""

    why: str

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(cls.why)


class AbsentModule(ModuleType):
    """A module of such names. It makes the class for a name when it is asked for it."""

    def __init__(self, name: str, place: str):
        super().__init__(name, f"minijax does not have `jax.{place}`.")
        self._reason, names = ABSENT[place]
        self._place, self.__all__ = place, names.split()

    def __dir__(self) -> list[str]:
        return self.__all__

    def __getattr__(self, name: str) -> Absent:
        if name not in self.__all__:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return _absent(self._place, name, self._reason)


@functools.cache
def _absent(place: str, name: str, reason: str) -> Absent:
    """The class that stands for `jax.<place>.<name>`."""
    why = f"{name}: minijax does not have `jax.{place}.{name}`: {reason}"
    return Absent(name, (), {"why": why, "__module__": f"minijax.{place}"})


def with_absent_names(module: str, others: Callable[[str], Any] | None = None) -> Callable:
    """A module's `__getattr__` (PEP 562) that knows the names which the module does not have.

    Args:
      others: the module's own `__getattr__`, if it needs one.
    """
    place = module.partition(".")[2]
    reasons = {name: reason for reason, names in ABSENT_NAMES.get(place, {}).items()
               for name in names.split()}
    advice = {name: f"JAX removed it. Use {new}." for name, new in REMOVED.get(place, {}).items()}
    advice |= {name: f"Use {new}." for name, new in ELSEWHERE.get(place, {}).items()}

    @public
    def __getattr__(name: str) -> Any:
        if name in reasons:
            return _absent(place, name, reasons[name])
        if name in advice:
            raise AttributeError(f"module {module!r} has no attribute {name!r}: {advice[name]}")
        if others is None:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return others(name)

    return __getattr__


def show_absent(package: str) -> None:
    """Make the absent modules of a package importable, and attributes of it."""
    root, _, inside = package.partition(".")
    for place in ABSENT:
        if ("." in place) == bool(inside):  # all packages but the root are `experimental`
            show_module(AbsentModule(f"{root}.{place}", place))
