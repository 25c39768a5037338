"""Private names that JAX's tests use, and no library."""

# ruff: noqa: F401  (some names are shown as they are)

from __future__ import annotations

import abc
import functools
import pathlib
from typing import Any, Protocol, runtime_checkable

import jaxlib.utils as utils
import jaxlib.weakref_lru_cache as weakref_lru_cache
from jaxlib._jax import pytree

from minijax._src._names import wait_for_tokens
from minijax.core.api_util import (
    ensure_index as _ensure_index,
    ensure_index_tuple as _ensure_index_tuple,
    flatten_axes as _flatten_axes,
)
from minijax.core.jaxpr import ClosedJaxpr as _ClosedJaxpr, Jaxpr as _Jaxpr
from minijax.core.tree import PyTreeDef as _PyTreeDef, tree_leaves as _tree_leaves
from minijax.debugging.monitoring import _durations, _events, _scalars, _time_spans
from minijax.pytree.arguments import ensure_str_tuple as _ensure_str_tuple
from minijax.remat import checkpoint_policies as _policies
from minijax.runtime import compilation_cache as _cache

running_in_cloud_tpu_vm = False
cuda_versions = test_event_listener = None


@functools.cache
def xla_primitive_callable(primitive: Any, **params: Any) -> Any:
    """JAX's cache of compiled operations. Here it stays empty, since NumPy evaluates them."""


class CacheInterface(abc.ABC):
    """A place where compiled programs are kept, by their keys."""

    _path: Any

    @abc.abstractmethod
    def get(self, key: str) -> bytes | None:
        """What is kept under the key, or `None`."""

    @abc.abstractmethod
    def put(self, key: str, value: bytes) -> None:
        """Keep a program."""


@runtime_checkable
class DuckTypedArray(Protocol):
    """What has a dtype and a shape."""

    @property
    def dtype(self) -> Any:
        """The type of the elements."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the dimensions."""


Path, epath_installed = pathlib.Path, False


def make_jax_dump_dir(out_dir_path: str) -> pathlib.Path | None:
    """The directory of this name, made if it does not exist; `None` for an empty name."""
    if not out_dir_path:
        return None
    path = Path(out_dir_path)
    path.mkdir(parents=True, exist_ok=True)
    return path


def broadcast_flattened_prefix_with_treedef(prefix_leaves: list, prefix_treedef: _PyTreeDef,
                                            full_treedef: _PyTreeDef) -> list:
    """The leaves of a prefix, each as often as the full tree has leaves at its place."""
    full = full_treedef.unflatten(range(full_treedef.num_leaves))
    subtrees = prefix_treedef.flatten_up_to(full)
    return [leaf for leaf, subtree in zip(prefix_leaves, subtrees) for _ in _tree_leaves(subtree)]


def flatten_axis_resources(what: str, tree: _PyTreeDef, shardings: Any,
                           tupled_args: bool) -> tuple:
    """The shardings of a prefix, one for each leaf of the full tree."""
    return tuple(_flatten_axes(what, tree, shardings, tupled_args=tupled_args))


def close_jaxpr(jaxpr: _Jaxpr) -> _ClosedJaxpr:
    """A jaxpr without constants, as a `ClosedJaxpr`."""
    return _ClosedJaxpr(jaxpr, ())


dots_saveable, everything_saveable = _policies.dots_saveable, _policies.everything_saveable
nothing_saveable = _policies.nothing_saveable
save_any_names_but_these = _policies.save_any_names_but_these
save_only_these_names = _policies.save_only_these_names


class _RuntimeTokens:
    """The tokens of programs with effects. To clear them is to wait for the programs."""

    clear = block_until_ready = staticmethod(wait_for_tokens)


runtime_tokens = _RuntimeTokens()


def get_event_listeners() -> list:
    """The listeners of events."""
    return [*_events]


def get_event_duration_listeners() -> list:
    """The listeners of durations."""
    return [*_durations]


def get_event_time_span_listeners() -> list:
    """The listeners of time spans."""
    return [*_time_spans]


def get_scalar_listeners() -> list:
    """The listeners of numbers."""
    return [*_scalars]


def is_persistent_cache_enabled() -> bool:
    """Whether compiled programs are kept on disk."""
    return bool(_cache.directory.value and _cache.enable.value)
