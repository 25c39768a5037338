"""JAX's private modules, as its libraries import them.

Where JAX has no public name for something, libraries import it from `jax._src`. The table below
says for each private module which of our modules have its names. No module is imported before
the first use of one of its names. A private module that is not in the table does not exist, so
importing it raises an `ImportError`.
"""

from importlib import import_module
from types import ModuleType
from typing import Any

from ..compat.first_use import show_module

PACKAGE = __package__.rpartition(".")[0]

# Private modules whose names are all in the public module of the same name.
SAME = """
    dlpack errors flatten_util image interpreters interpreters.ad interpreters.batching
    interpreters.mlir interpreters.partial_eval interpreters.pxla lax monitoring nn
    nn.initializers numpy numpy.fft numpy.linalg ops profiler random scipy scipy.linalg
    scipy.ndimage scipy.optimize scipy.signal scipy.sparse scipy.sparse.linalg scipy.special
    scipy.stats stages state.primitives tree
""".split()
# Those whose names are all in the public package: the package, and its private modules.
INSIDE = {
    "image": "scale",
    "lax": """
        control_flow control_flow.conditionals control_flow.loops control_flow.solves
        convolution fft parallel slicing special windowed_reductions""",
    "nn": "functions",
    "numpy": """
        array_constructors array_creation indexing polynomial reductions scalar_types setops
        sorting tensor_contractions ufunc_api ufuncs window_functions""",
    "ops": "scatter",
    "random": "core",
    "scipy.optimize": "minimize",
}
# The others: private module -> the modules that have its names, in the order in which we ask them.
SOURCES = dict(zip(SAME, SAME)) | {
    f"{package}.{name}": package for package, names in INSIDE.items() for name in names.split()} | {
    "abstract_arrays": "extend.core core core.core core.util",
    "ad_checkpoint": "ad_checkpoint extend.core.primitives remat.policies",
    "ad_util": "core.primitives core.forward interpreters.ad custom_derivatives",
    "api": ". api_util core.api extend.backend",
    "api_util": "api_util pytree.names pytree.arguments core.staging _src._names",
    "array": "parallel.programs.global_arrays . _src._pickles",
    "basearray": "typing .",
    "callback": "experimental debug",
    "checkify": "experimental.checkify _src._names experimental.checkify.errors",
    "compilation_cache": "runtime.compilation_cache",
    "compiler": "runtime.compiler",
    "config": "_src._config . settings",
    "core": "_src._names compat.traces core core.core extend.core core.jaxpr "
            "compat.core core.util random.keys custom_rules.calls lax.compile_time "
            "util errors checks.typecheck state.functions state.refs "
            "experimental.hijax core.batching "
            "parallel.types.varying_axes "
            "compat.jaxpr",
    "custom_batching": "custom_batching custom_rules.vmap",
    "custom_derivatives": "custom_derivatives custom_rules custom_rules.closures",
    "debugging": "debug _src._names debugging.callbacks debugging.debug",
    "dispatch": "_src._names runtime.dispatch runtime.effects . parallel.programs.device_put",
    "distributed": "_src._names distributed",
    "dtypes": "dtypes _src._names core.dtypes lax.dtypes errors",
    "effects": "core.jaxpr runtime.effect_sets state.effects",
    "hijax": "experimental.hijax",
    "indexing": "lax.dynamic_slices",
    "lax.lax": "lax lax.dtypes lax.operators",
    "lax.linalg": "lax.linalg lax",
    "layout": "experimental.layout",
    "lib": "_src._names runtime.lib runtime.client",
    "lib.mlir": "runtime.mlir",
    "lib.mlir.dialects": "runtime.mlir",
    "linear_util": "extend.linear_util",
    "literals": "core.jaxpr",
    "mesh": "sharding parallel.meshes.mesh interpreters.pxla experimental.mesh_utils _src._names",
    "mesh_utils": "experimental.mesh_utils",
    "named_sharding": "sharding parallel.meshes.sharding",
    "numpy.array_methods": "numpy _src._names",
    "numpy.einsum": "numpy._einsum numpy",
    "numpy.index_tricks": "numpy _src._names",
    "numpy.lax_numpy": "numpy numpy._arguments",
    "numpy.util": "numpy._arguments lax.dtypes _src._names",
    "numpy.vectorize": "numpy _src._names",
    "partition_spec": "sharding parallel.meshes.partition_spec",
    "pjit": "core.jit core.api experimental.pjit lax sharding . parallel.programs.reshard",
    "pmap": ".",
    "public_test_util": "test_util debugging.derivative_checks",
    "random.prng": "random.keys random.threefry_keys extend.random random",
    "random.threefry2x32": "_src._threefry random.threefry extend.random",
    "ref": "ref .",
    "shard_map": ". parallel.programs.shard_map_primitive lax",
    "sharding": "sharding parallel.meshes.sharding",
    "sharding_impls": "sharding parallel.meshes.sharding runtime.jit _src._names .",
    "source_info_util": "extend.source_info_util errors",
    "state": "state state.refs",
    "state.discharge": "state.discharge interpreters.partial_eval",
    "state.indexing": "lax.dynamic_slices",
    "state.types": "state.refs state.primitives",
    "traceback_util": "_src._names errors core.boundary",
    "tree_util": "_src._names tree_util pytree pytree.functions checks.tree pytree.paths",
    "typing": "typing core.core _src._names",
    "util": "util _src._names core.util core.batching source",
    "xla_bridge": "_src._names extend.backend .",
}


class Facade(ModuleType):
    """A private module of JAX. It finds each name in one of our modules."""

    def __getattr__(self, name: str) -> Any:
        private = self.__name__.removeprefix(f"{__name__}.")
        sources = () if name.startswith("__") else SOURCES[private].split()
        for source in sources:
            try:
                return getattr(import_module(f"{PACKAGE}.{source}".rstrip(".")), name)
            except AttributeError:
                pass
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}: the table in "
                             f"{__name__} says where its names come from.")


for _private in sorted(SOURCES):  # a package comes before its modules
    show_module(Facade(f"{__name__}.{_private}"))
