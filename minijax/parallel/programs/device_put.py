"""Chapter 14: putting arrays where they are wanted.

`device_put` is one primitive for all leaves of a pytree. Evaluated, it moves them, and commits them
to where they are then. In a program that XLA runs it moves nothing, since the whole program runs
in one place; but that place must be the one named (`program_places.py`).
"""

import enum
import functools
import gc
from typing import Any

import numpy as np

from ...checks.array import alive
from ...checks.core import escaped
from ...core.api_util import flatten_axes
from ...core.array import Array, as_array
from ...core.batching import WithTrace, primitive_batchers
from ...core.boundary import api_boundary, public
from ...core.core import Primitive, Tracer, install_methods, state, typeof
from ...core.forward import Zero, deflinear_jvp
from ...core.jit import buffer_of
from ...core.lowering import register_lowering
from ...core.transposition import is_undefined_primal, primitive_transposes
from ...core.tree import tree_flatten
from ...errors import ConcretizationTypeError, JaxRuntimeError
from ...pytree.arguments import argument_avals
from ...pytree.names import leaf_names
from ...runtime import xla
from ...runtime.jit import jit
from ..meshes.layouts import AUTO, Format, check_layout
from ..meshes.memory_spaces import MemorySpace, space_of_kind
from ..meshes.mesh import concrete_mesh, no_mesh
from ..meshes.mesh_in_force import get_abstract_mesh
from ..meshes.partition_spec import P, PartitionSpec
from ..meshes.sharding import NamedSharding, Sharding, is_unreduced
from ..types.placement import in_space, space_of, with_sharding
from ..types.sharding_rules import stated
from .eager_operations import default_device, mesh_in_force, sees_to_places
from .explicit_axes import reshard
from .placed_array import Place, PlacedArray, on_one_device, shards_of
from .program_places import is_abstract
from .reshard import lower_stated, with_batch_entry
from .sharding_constraint import constrain, mover

# ----------------------------------------------------------------------------------------------
# The primitive


class ArrayCopySemantics(enum.Enum):
    """Whether `device_put` may, must not or need not keep the argument's own memory."""

    REUSE_INPUT = 0
    DONATE_INPUT = 1
    ALWAYS_COPY = 2

    def __repr__(self):
        return str(self)


_REUSE, _DONATE, _COPY = ArrayCopySemantics

device_put_p = Primitive("device_put", multiple_results=True)
sees_to_places.add(device_put_p)


@device_put_p.def_abstract_eval
def _result_types(*avals, devices, srcs, copy_semantics):
    return [*map(_type_there, avals, devices)]


def _type_there(aval, where):
    """The type of a value that was moved."""
    if isinstance(where, MemorySpace):
        return in_space(aval, where)
    if isinstance(where, Sharding):
        aval = in_space(aval, space_of_kind(where.memory_kind))
    return with_sharding(aval, where) if isinstance(where, NamedSharding) else aval


def _says_type(where):
    """Whether it is a sharding that types state."""
    return isinstance(where, NamedSharding) and bool(where.mesh.explicit_axes)


@device_put_p.def_impl
def _evaluate(*args, devices, srcs, copy_semantics):
    return [*map(_put, args, devices, copy_semantics)]


deflinear_jvp(device_put_p)


def _transpose(cts, *operands, devices, srcs, copy_semantics):
    """Cotangents go back to where the operands came from."""
    linear = [i for i, x in enumerate(operands) if is_undefined_primal(x)]
    out: list = [Zero(operands[i].aval) if i in linear else None for i in range(len(operands))]
    moved = [i for i in linear if type(cts[i]) is not Zero]
    if any(copy_semantics[i] is _DONATE for i in moved):
        raise ValueError("device_put(…, donate=True) cannot be transposed: the cotangent would "
                         "have to go where the donated memory was.")
    backs = moved and device_put_p.bind(
        *[cts[i] for i in moved],
        devices=tuple([_origin(operands[i], srcs[i], devices[i]) for i in moved]),
        srcs=tuple([devices[i] for i in moved]),
        copy_semantics=(_COPY,) * len(moved),
    )
    for i, back in zip(moved, backs):
        out[i] = back
    return out


def _origin(x, src, where):
    """Where an operand came from. If the user did not say it, it is the memory that its type names.
    """
    if src is None and isinstance(where, MemorySpace):
        return space_of(x.aval) or MemorySpace.Device
    return src


primitive_transposes[device_put_p] = _transpose


def _batch(trace, args, dims, *, devices, **params):
    """The batch dimension stays as it is."""
    devices = tuple([where if d is None or not _says_type(where) else
                     with_batch_entry(where, trace, x, d, d)
                     for x, d, where in zip(args, dims, devices)])
    return device_put_p.bind(*args, devices=devices, **params), dims


def _lower(ctx, *operands, devices, **params):
    return [lower_stated(ctx, x, where) if _says_type(where) else x
            for x, where in zip(operands, devices)]


primitive_batchers[device_put_p] = WithTrace(_batch)
register_lowering(device_put_p, _lower)
stated.add(device_put_p)

# ----------------------------------------------------------------------------------------------
# Moving


def _put(x, where, copy):
    """Move one array."""
    if where is None:
        return _stay(x, copy)
    if isinstance(where, MemorySpace):
        where = _in_memory(x, where)
    if isinstance(where, Format):
        return moved(x, where.sharding or x.sharding)
    in_parts = type(x) is PlacedArray and not (x.is_fully_addressable or x.is_fully_replicated)
    if in_parts and not isinstance(where, Sharding):
        raise ValueError(f"device_put to {where}: other processes hold parts of the array. "
                         "Give all devices copies of it first, by the sharding P().")
    if type(x) is PlacedArray and copy is _REUSE and x.committed and x.sharding == where:
        return x
    sharding = where if isinstance(where, Sharding) else on_one_device(where)
    # All processes that hold parts run the program that moves them.
    out = mover(sharding)(x) if in_parts else moved(x, sharding)
    return _other_memory(out, x) if copy is _COPY else out


@functools.lru_cache
def _resharder(where):
    """A program that makes summands of an array, most of which are zeros."""
    return jit(lambda x: reshard(x, where), out_shardings=where)


def _stay(x, copy):
    """The array where it is. Other values become arrays on the default device."""
    if not isinstance(x, Array):
        return at_default(as_array(x))
    if copy is _REUSE:
        return x
    if type(x) is PlacedArray:
        return _other_memory(moved(x, x.sharding, x.committed), x)
    return Array(np.array(x._numpy()), x.aval)


def _other_memory(out, x):
    """A copy of `out` if it shares the memory of `x`."""
    own = x.shards if type(x) is PlacedArray else getattr(x, "_buffer", None)
    return out.copy() if out.shards is own else out


def at_default(x: Array) -> Array:
    """A new array, moved to the device that is the default one now."""
    device = default_device()
    return x if device is None or type(x) is not Array else moved(
        x, on_one_device(device), committed=False)


def moved(x: Any, sharding: Sharding, committed: bool = True) -> PlacedArray:
    """The contents of an array, with this sharding."""
    aval = typeof(x)
    if is_unreduced(sharding):
        return _resharder(sharding)(x)
    if type(x) is Array and x._host is not None:
        x = Array(x._host, aval)  # without the buffer, which may be donated one day
    return PlacedArray(None, Place(aval, sharding, committed), shards_of(x, aval, sharding))


def place_new(x: Any, device: Any, like: Any, constrained: bool) -> Any:
    """`Placements.new`: the user's sharding, or that of the committed array `like`."""
    if constrained and device is not None and _is_constraint(where := concrete_sharding(device)):
        _check_place(typeof(x), where)
        return constrain(x, where)
    if isinstance(x, Tracer):
        like = None  # the compiler chooses the sharding of a traced array
    if (device is None and type(like) is PlacedArray and like.committed and not like.weak_type
            and (x.shape == like.shape or like.is_fully_replicated)):
        device = like.sharding
        if isinstance(device, NamedSharding) and len(device.spec) > x.ndim:
            device = device.update(spec=P())
    if device is None and like is not None and not isinstance(like, Array):
        device = _sharding_of_model(like, x.shape)
    is_new = device is None and type(x) is Array and not state.trace.staging
    if is_new and (mesh := mesh_in_force()) is not None:
        device = NamedSharding(mesh, P())
    return at_default(x) if device is None else device_put(x, device)


def _is_constraint(where):
    """Whether a traced array can be constrained to what the user named."""
    return isinstance(where, NamedSharding) and not _says_type(where)


def _sharding_of_model(like, shape):
    """The sharding of a `ShapeDtypeStruct`, or of a library's object that shows the attributes of
    its array, for a new array of this shape."""
    sharding = None if isinstance(like, Tracer) else getattr(like, "sharding", None)
    if not isinstance(sharding, Sharding) or not getattr(like, "_committed", True):
        return None
    alike = shape == like.shape or sharding.is_fully_replicated
    return _over_devices(sharding) if alike else None


def _over_devices(sharding):
    """A sharding with devices; an abstract one has those of the mesh in force, or is `None`."""
    if sharding is None or not is_abstract(sharding):
        return sharding
    mesh = mesh_in_force()
    same = mesh is not None and mesh.abstract_mesh is sharding.mesh
    return sharding.update(mesh=mesh) if same else None


# ----------------------------------------------------------------------------------------------
# The function


@api_boundary
def device_put(x: Any, device: Any = None, *, src: Any = None, donate: Any = False,
               may_alias: Any = None) -> Any:
    """Put the arrays of a pytree on a device, or spread them over many.

    An array that was put on a device is *committed*: computations with it run there.

    Args:
      x: a pytree of arrays, NumPy arrays and numbers.
      device: a device, a sharding, a `PartitionSpec` for the mesh of `set_mesh`, or a pytree of
        these with the first levels of `x`. With `None`, arrays stay where they are, and other
        values go to the default device, uncommitted.
      src: where `x` is, if it is traced; its cotangents return there. Arrays need no `src`.
      donate: whether the memory of `x` may be used for the result (or a pytree of booleans).
      may_alias: `False` means that the result is always a copy.

    Returns:
      the pytree with the moved arrays.

    Raises:
      ValueError: a sharding cannot cut an array into equal parts, or `device` is not a device, or
        it is a pytree of another structure.
      TypeError: a leaf is neither an array nor a number.

    >>> x = jax.device_put(jnp.arange(3), jax.devices()[0])
    >>> x.committed, x.devices()
    (True, {CpuDevice(id=0)})
    """
    leaves, tree = tree_flatten(x)
    avals = argument_avals(leaves, "device_put", lambda: leaf_names("x", x))
    wheres = [*map(concrete_sharding, _for_leaves("device_put device", device, tree))]
    wheres = [_in_memory(x, where) if isinstance(where, MemorySpace) and not isinstance(x, Tracer)
              else where for x, where in zip(leaves, wheres)]
    for aval, where in zip(avals, wheres):
        _check_place(aval, where)
    srcs = map(concrete_sharding, _for_leaves("device_put source", src, tree))
    donations = _for_leaves("device_put donate", donate, tree)
    aliases = _for_leaves("device_put may_alias", may_alias, tree)
    return tree.unflatten(device_put_p.bind(
        *leaves,
        devices=tuple(wheres),
        srcs=tuple(map(_source, srcs, leaves)),
        copy_semantics=tuple(map(_copy_semantics, donations, aliases)),
    ))  # fmt: skip


def _for_leaves(name, prefix, tree):
    """One value for each leaf."""
    one_for_all = prefix is None or isinstance(prefix, (Sharding, Format, bool))
    if one_for_all or hasattr(prefix, "device_kind") or isinstance(prefix, MemorySpace):
        return [prefix] * tree.num_leaves
    return flatten_axes(name, tree, prefix)


def _in_memory(x, space):
    """The sharding of an array, in another memory of its devices."""
    sharding = x.sharding if isinstance(x, Array) else on_one_device(xla().default_device())
    if space is MemorySpace.Any:
        return sharding
    return sharding.with_memory_kind("pinned_host" if space is MemorySpace.Host else None)


def concrete_sharding(where: Any) -> Any:
    """A spec as a sharding over the mesh in force."""
    if not isinstance(where, PartitionSpec):
        return where
    mesh = get_abstract_mesh() if state.trace.staging else concrete_mesh.value or no_mesh
    if mesh.empty:
        raise ValueError("Please set a mesh via `jax.set_mesh` if a PartitionSpec is passed to "
                         f"device_put, or give a NamedSharding. Got {where}.")
    return NamedSharding(mesh, where)


def _check_place(aval, where):
    if isinstance(where, Format):
        if where.layout is AUTO:
            raise ValueError(f"device_put to {where}: the layout must be a `Layout` or None, "
                             f"because nothing is compiled; for the argument {aval}.")
        check_layout(where.layout, "device_put: its argument", aval.ndim)
        where = where.sharding
    if isinstance(where, Sharding):
        where.check_compatible_aval(aval.shape)
        where.shard_shape(aval.shape)
    elif not (where is None or isinstance(where, MemorySpace) or hasattr(where, "device_kind")):
        raise ValueError("`jax.device_put` only accepts `None`, `jax.sharding.Sharding`, "
                         "`jax.Device`, `Format`, `jax.memory.Space` or a pytree of these values. "
                         f"Received invalid value: {where}")


def _source(src, x):
    """Where an argument is: as the caller says, or as it says itself."""
    if src is None and isinstance(x, Tracer):
        x = x.concrete_value()
    return x.sharding if src is None and isinstance(x, Array) else src


def _copy_semantics(donate, may_alias):
    if donate and may_alias:
        raise ValueError("may_alias and donate cannot be True at the same time.")
    if donate:
        return _DONATE
    return _COPY if may_alias is False else _REUSE


# ----------------------------------------------------------------------------------------------
# What every array answers about its place


def _as_placed(x: Array) -> PlacedArray:
    """An array of the first chapter as one with a sharding."""
    alive(x)
    sharding = on_one_device(xla().default_device())
    return PlacedArray(None, Place(x.aval, sharding, committed=False), buffer_of(x, x.aval))


def _buffer_pointer(x: Array) -> int:
    """The address of the contents, which is valid as long as the array lives."""
    alive(x)
    if isinstance(x, PlacedArray) and len(x.sharding.device_set) > 1:
        raise JaxRuntimeError("INVALID_ARGUMENT: UnsafeBufferPointer() is supported only for "
                              "unsharded arrays. Ask the data of its `addressable_shards`.")
    if x._host is None:
        return x._buffer.unsafe_buffer_pointer()
    return np.asarray(x._host).ctypes.data


_ANSWERS: dict[str, Any] = {
    "sharding": property(
        lambda x: on_one_device(xla().default_device()), doc="How the array lies on devices."),
    "committed": property(lambda x: False, doc="Whether the array was put there on purpose."),
    "addressable_shards": property(
        lambda x: _as_placed(x).addressable_shards,
        doc="The parts that devices of this process hold."),
    "global_shards": property(lambda x: _as_placed(x).global_shards, doc="All parts."),
    "addressable_data": lambda x, index: _as_placed(x).addressable_data(index),
    "unsafe_buffer_pointer": lambda x: _buffer_pointer(x),
    "platform": lambda x: next(iter(x.devices())).platform,
    "_committed": property(lambda x: x.committed),
}  # fmt: skip
install_methods(_ANSWERS, Array)


def _no_answer(name):
    """What a traced value answers when it is asked for its place."""
    def ask(x):
        escaped(x)
        raise ConcretizationTypeError(x, f"Where a traced value lies, or `{name}` of it, is known "
                                         "to arrays only, when the program runs.")

    return lambda x, *args: ask(x)  # of a property or of a method


_PROPERTIES = ("committed", "addressable_shards", "global_shards", "is_fully_addressable",
               "is_fully_replicated")
_METHODS = ("devices", "addressable_data", "delete", "is_deleted", "on_device_size_in_bytes",
            "unsafe_buffer_pointer")
install_methods({name: property(_no_answer(name)) for name in _PROPERTIES}, Tracer)
install_methods({name: _no_answer(name) for name in _METHODS}, Tracer)


@public
def live_arrays(platform: str | None = None) -> list[Array]:
    """All arrays whose contents are in memory, on a platform (by default the first).

    >>> x = jnp.ones(3)
    >>> any(y is x for y in jax.live_arrays())
    True
    """
    wanted = xla().backend(platform).platform
    found = [x for x in gc.get_objects() if type(x) in (Array, PlacedArray)]
    return [x for x in found if not x.is_deleted() and x.platform() == wanted]
