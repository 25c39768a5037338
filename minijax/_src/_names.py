"""Names of JAX's private modules that carry no idea of their own. `_src` shows them."""

# chapter 1
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from numpy import dtype as DType

from ..core.core import ShapedArray, eval_trace, state
from ..text.locations import count_as_user_code
from ..text.locations import exclude_from_user_code as register_exclusion
from ..text.locations import is_user_frame as include_frame

Out = TypeVar("Out")


def trace_state_clean() -> bool:
    """Whether no transformation is in progress."""
    return state.trace is eval_trace


def full_lower(x: Any) -> Any:
    """What the tracer class of a library makes of its tracer outside its trace. Others stay."""
    return x.full_lower() if hasattr(x, "full_lower") else x


def physical_aval(aval: ShapedArray) -> ShapedArray:
    """The type of the arrays that hold the values of an extended dtype."""
    impl = getattr(aval.dtype, "_impl", None)
    return ShapedArray((*aval.shape, *impl.key_shape), "uint32") if impl else aval


class HashablePartial:
    """`functools.partial` that equals another one of the same code and the same arguments."""

    def __init__(self, f: Any, *args: Any, **kwargs: Any):
        self.f, self.args, self.kwargs = f, args, kwargs

    def _key(self) -> tuple:
        return self.f.__code__, self.args, tuple(sorted(self.kwargs.items()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HashablePartial) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.f(*self.args, *args, **self.kwargs, **kwargs)


class _ExcludedPaths:
    """The list of the files whose frames tracebacks leave out. Libraries add their own."""

    def __init__(self, paths: Iterable[str] = ()):
        self._paths = list(paths)

    def __contains__(self, path: object) -> bool:
        return path in self._paths

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def append(self, path: str) -> None:
        register_exclusion(path)
        self._paths.append(path)

    def remove(self, path: str) -> None:
        self._paths.remove(path)
        count_as_user_code(path)


_exclude_paths = _ExcludedPaths()

# chapter 3
from ..core.tree import NodeType, registry


class _Entry:
    """A node type under the names of the entries of JAX's registry."""

    __slots__ = ("to_iter", "from_iter")

    def __init__(self, node_type: NodeType):
        self.to_iter, self.from_iter = node_type.flatten, node_type.unflatten


class _Registry(Mapping):
    """The node types by class, as JAX's private registry shows them."""

    def __getitem__(self, cls: type) -> _Entry:
        return _Entry(registry[cls])

    def __contains__(self, cls: object) -> bool:
        return cls in registry

    def __iter__(self) -> Iterator[type]:
        return iter(registry)

    def __len__(self) -> int:
        return len(registry)


_registry = _Registry()

# chapter 6
from ..runtime import lib as xla_client, clients as _backends
from ..runtime.client import JAXLIB_VERSION as version

# chapter 9
from ..core.batching import BatchTracer
from ..core.forward import JVPTracer
from ..core.primitives import canonical_axis as _canonical_axis, convert as _convert
from ..lax.dtypes import result_type as _result_type, to_complex_dtype as _to_complex_dtype
from ..lax.sizes import known_sizes


def canonicalize_axis(axis: Any, num_dims: int) -> int:
    """An axis as a number from 0."""
    return _canonical_axis(axis, num_dims)


def canonicalize_shape(shape: Any, context: str = "") -> tuple:
    """A shape as a tuple of sizes.

    Raises:
      TypeError: an entry is traced, or not an integer.
    """
    return known_sizes(shape)


def get_referent(x: Any) -> Any:
    """What a tracer of a derivative or of a batch stands for; any other value is itself."""
    while isinstance(x, JVPTracer | BatchTracer):
        x = x.primal if isinstance(x, JVPTracer) else x.val
    return x


def promote_dtypes_complex(*args: Any) -> list:
    """The arguments converted to the least complex type that holds them all."""
    dtype, weak_type = _result_type(*args, return_weak_type_flag=True)
    return [_convert(x, _to_complex_dtype(dtype), weak_type) for x in args]


# chapter 11
from ..lax.index_updates import IndexUpdateHelper as _IndexUpdateHelper
from ..lax.index_updates import IndexUpdateRef as _IndexUpdateRef

# chapter 12
from ..numpy._grids import _Joined, c_, r_
from ..numpy._vectorize import (
    _check_outputs as _check_output_dims, _fix_excluded, _loop_shape as _parse_input_dimensions,
    _parse as _parse_gufunc_signature)


def _apply_excluded(func, excluded, args, kwargs):
    """A function of the arguments that `vectorize` does not exclude, these, and no more by name."""
    function, values = _fix_excluded(func, excluded, args, kwargs)
    return function, values, {}


class CClass(_Joined):
    """The class of `c_`."""

    def __init__(self) -> None:
        super().__init__(c_.name, *c_.defaults, c_.__doc__ or "")


class RClass(_Joined):
    """The class of `r_`."""

    def __init__(self) -> None:
        super().__init__(r_.name, *r_.defaults, r_.__doc__ or "")


# chapter 14
from ..runtime import distributed
from ..runtime.jit_equations import UNSPECIFIED
from ..runtime.processes import process_count, process_index

UnspecifiedValue = type(UNSPECIFIED)


class _GlobalState:
    """What libraries read of `jax.distributed`."""

    @property
    def client(self) -> Any:
        """The connection to the coordinator, or None in a program of one process."""
        return distributed._client

    @property
    def process_id(self) -> int:
        return process_index() if self.client else 0

    @property
    def num_processes(self) -> int:
        return process_count() if self.client else 1


global_state = _GlobalState()

from ..parallel.meshes.mesh import no_abstract_mesh as empty_abstract_mesh
from ..parallel.meshes.mesh import no_mesh as empty_concrete_mesh

# chapter 15
from ..debugging.callbacks import debug_callback_p
from ..debugging.debug import callback as debug_callback, print as debug_print
from ..runtime.effects import effects_barrier as wait_for_tokens
