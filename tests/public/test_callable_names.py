"""Every public function and class has JAX's `__name__`: libraries print it, and choose by it."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

import pytest

from tests.oracle import jax, subject

MODULES = [
    "", "ad_checkpoint", "api_util", "core", "custom_batching", "custom_derivatives", "debug",
    "dlpack", "dtypes", "errors", "example_libraries.optimizers", "example_libraries.stax",
    "experimental.checkify", "experimental.jet", "experimental.ode", "extend.core",
    "extend.linear_util", "flatten_util", "image", "interpreters.ad", "interpreters.batching",
    "interpreters.mlir", "interpreters.partial_eval", "lax", "lax.linalg", "nn",
    "nn.initializers", "numpy", "numpy.fft", "numpy.linalg", "ops", "profiler", "random",
    "scipy.fft", "scipy.integrate", "scipy.interpolate", "scipy.linalg", "scipy.ndimage",
    "scipy.optimize", "scipy.signal", "scipy.sparse.linalg", "scipy.special", "scipy.stats",
    "sharding", "stages", "test_util", "tree", "tree_util", "typing",
]  # fmt: skip

# Names that tell how JAX is built, not what a function does.
DECLARED = {
    "Array", "numpy.ndarray",  # jaxlib._jax.Array
    "lax.random_gamma_grad",  # up_and_broadcast
    "core.AbstractValue", "core.max_dim", "core.min_dim",  # one type of values, Python's functions
    "extend.core.Effects", "extend.core.gensym",  # typing's Set, a lambda
    "extend.core.set_current_trace", "extend.core.take_current_trace",  # classes there
    "extend.core.nonempty_axis_env_DO_NOT_USE", "extend.core.unsafe_am_i_under_a_jit_DO_NOT_USE",
    "extend.core.unsafe_am_i_under_a_vmap_DO_NOT_USE",
    "extend.core.unsafe_get_axis_names_DO_NOT_USE",
    "example_libraries.stax.AvgPool", "example_libraries.stax.MaxPool",
    "example_libraries.stax.SumPool",  # all PoolingLayer
    "api_util.flatten_fun", "api_util.flatten_fun_nokwargs",  # objects without a name
    "interpreters.ad.zeros_like_aval", "interpreters.mlir.LoweringRuleContext",
    "interpreters.mlir.ModuleContext",
    "stages.Wrapped",  # a protocol there, and PjitFunction the class of what `jit` returns; here they are one
}  # fmt: skip


def public(library: Any, module: str) -> dict[str, Any]:
    found = import_module(f"{library.__name__}.{module}".rstrip("."))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: getattr(found, name) for name in dir(found) if not name.startswith("_")}


def names_of(objects: dict[str, Any]) -> dict[str, str]:
    """The names of those that are callable, except for types that are made of others."""
    return {name: x.__name__ for name, x in objects.items()
            if callable(x) and isinstance(getattr(x, "__name__", None), str)
            and getattr(x, "__module__", "") != "typing"}


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.live_jax
def test_callables_have_jaxs_names(module):
    ours, wanted = public(subject, module), names_of(public(jax, module))
    assert wanted.keys() & ours.keys() or module == "typing"
    declared = {name.rpartition(".")[2] for name in DECLARED if name.rpartition(".")[0] == module}
    wrong = {name: (getattr(ours[name], "__name__", None), name_there)
             for name, name_there in wanted.items()
             if name in ours and getattr(ours[name], "__name__", None) != name_there}
    assert wrong.keys() <= declared, wrong


def documented(x):
    """Doubles."""
    return 2.0 * x


@pytest.mark.parametrize("transformation", ["grad", "value_and_grad", "jacfwd", "jacrev"])
@pytest.mark.parametrize("argnums", [0, (0,)])
def test_a_derivative_says_whose_it_is_and_of_which_arguments(transformation, argnums):
    """The first words are JAX's: what is computed, and of which function."""
    ours = getattr(subject, transformation)(documented, argnums)
    theirs = getattr(jax, transformation)(documented, argnums)
    assert ours.__name__ == theirs.__name__
    beginning = theirs.__doc__.partition("documented")[0] + "documented"
    assert ours.__doc__.startswith(beginning) and "0" in ours.__doc__


def test_make_jaxpr_is_named_as_jaxs():
    ours, theirs = subject.make_jaxpr(documented), jax.make_jaxpr(documented)
    for name in ("__name__", "__qualname__", "__module__", "__doc__"):
        assert getattr(ours, name) == getattr(theirs, name), name
