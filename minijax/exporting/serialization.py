"""Chapter 16: exported functions as bytes, in JAX's format.

The tables and the numbers of their fields are those of JAX's schema, so that JAX reads what we
store, and we read what JAX stored. Weak types are not stored, as in JAX.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import NoneType
from typing import Any

import ml_dtypes
import numpy as np

from ..core.boundary import api_boundary
from ..core.core import ShapedArray
from ..core.dtypes import float0
from ..core.tree import PyTreeDef, tree_structure
from ..random.key_functions import resolve_implementation
from ..random.keys import KeyTy
from .dimensions import SymbolicScope, parse
from .exported import DisabledSafetyCheck, Exported
from .flatbuffer import Table, Writer
from .stored_shardings import StoredShardings, read_shardings, write_mesh
from .trees import by_name, by_type

_VERSION = 3  # the oldest version of JAX's format whose readers understand this

# Field numbers of the table `Exported`.
(FORMAT, NAME, IN_TREE, IN_AVALS, OUT_TREE, OUT_AVALS, _, IN_SHARDINGS, OUT_SHARDINGS, PLATFORMS,
 ORDERED_EFFECTS, UNORDERED_EFFECTS, CHECKS, MODULE, CONVENTION, KEPT, GLOBAL, VJP, NR_DEVICES,
 UNIQUE_AVALS, UNIQUE_MESHES, UNIQUE_SHARDINGS, IN_AVAL_NUMBERS, OUT_AVAL_NUMBERS,
 IN_SHARDING_NUMBERS, OUT_SHARDING_NUMBERS) = range(26)


def serialize(exported: Exported, vjp_order: int) -> bytearray:
    """`Exported.serialize`."""
    writer = Writer()
    return writer.finish(_write_exported(exported, vjp_order)(writer))


@api_boundary
def deserialize(blob: bytearray) -> Exported:
    """The exported function that `Exported.serialize` made these bytes of.

    Args:
      blob: what `serialize` returned, here or in JAX. Only read what you trust: the function can
        call any function that XLA knows.

    Raises:
      ValueError: it has a pytree of a class that is not registered here.
      NotImplementedError: it has effects, or shardings as JAX stored them before January 2026.
    """
    return _read_exported(Table.root(bytes(blob)))


def _write_exported(exported, vjp_order) -> Callable[[Writer], int]:
    avals = [*dict.fromkeys([*exported.in_avals, *exported.out_avals])]
    numbers = {aval: i for i, aval in enumerate(avals)}
    ins, outs = exported._in_named_shardings, exported._out_named_shardings
    shardings = StoredShardings((*ins, *outs))
    effects = [*exported.ordered_effects, *exported.unordered_effects]
    if effects:
        raise NotImplementedError(f"serialize: the function has the effects {effects}.")

    def numbered(letter, values):
        return "", lambda writer: writer.scalars(letter, values)

    def listed(items, write):
        return "", lambda writer: writer.vector(items, write)

    fields: dict[int, tuple[str, Any]] = {
        FORMAT: ("H", _VERSION),
        NAME: ("", lambda writer: writer.string(exported.fun_name)),
        IN_TREE: ("", lambda writer: _write_tree(writer, exported.in_tree)),
        OUT_TREE: ("", lambda writer: _write_tree(writer, exported.out_tree)),
        IN_AVALS: listed(exported.in_avals, _write_aval),
        OUT_AVALS: listed(exported.out_avals, _write_aval),
        IN_SHARDINGS: listed(ins, shardings.write_entry),
        OUT_SHARDINGS: listed(outs, shardings.write_entry),
        PLATFORMS: listed(exported.platforms, Writer.string),
        ORDERED_EFFECTS: listed((), Writer.string),
        UNORDERED_EFFECTS: listed((), Writer.string),
        CHECKS: listed(exported.disabled_safety_checks, _write_check),
        MODULE: ("", lambda writer: writer.blob(exported.mlir_module_serialized)),
        CONVENTION: ("H", exported.calling_convention_version),
        KEPT: numbered("H", exported.module_kept_var_idx),
        GLOBAL: ("?", exported.uses_global_constants),
        NR_DEVICES: ("I", exported.nr_devices),
        UNIQUE_AVALS: listed(avals, _write_aval),
        UNIQUE_MESHES: listed(shardings.meshes, write_mesh),
        UNIQUE_SHARDINGS: listed(shardings.each, shardings.write),
        IN_AVAL_NUMBERS: numbered("I", [numbers[aval] for aval in exported.in_avals]),
        OUT_AVAL_NUMBERS: numbered("I", [numbers[aval] for aval in exported.out_avals]),
        IN_SHARDING_NUMBERS: numbered("I", [*map(shardings.number, ins)]),
        OUT_SHARDING_NUMBERS: numbered("I", [*map(shardings.number, outs)]),
    }
    if vjp_order > 0:
        if not exported.has_vjp():
            raise ValueError("serialization of an Exported that does not have vjps of high-enough "
                             "order: it was stored without them itself.")
        fields[VJP] = "", _write_exported(exported.vjp(), vjp_order - 1)
    return lambda writer: writer.table(fields)


def _read_exported(table: Table) -> Exported:
    count = table.scalar(NR_DEVICES, "I") or table.scalar(6, "h")
    if table.tables(ORDERED_EFFECTS) or table.tables(UNORDERED_EFFECTS):
        raise NotImplementedError("deserialize: the function has effects.")
    scope = SymbolicScope()  # the constraints are not stored, as in JAX
    in_avals = _read_avals(table, IN_AVALS, IN_AVAL_NUMBERS, scope)
    out_avals = _read_avals(table, OUT_AVALS, OUT_AVAL_NUMBERS, scope)
    ins, outs = (read_shardings(
        table.scalars(numbers, "I"), table.tables(entries), table.tables(UNIQUE_SHARDINGS),
        table.tables(UNIQUE_MESHES)) for numbers, entries in
        ((IN_SHARDING_NUMBERS, IN_SHARDINGS), (OUT_SHARDING_NUMBERS, OUT_SHARDINGS)))
    hlo_ins, hlo_outs = ins, outs
    if any((*ins, *outs)):
        from .partitioned import hlo_shardings, placed_avals

        in_avals, out_avals = placed_avals(in_avals, ins), placed_avals(out_avals, outs)
        hlo_ins, hlo_outs = hlo_shardings(ins, in_avals), hlo_shardings(outs, out_avals)
    derivative = table.table(VJP)
    in_tree, out_tree = (_read_tree(table.table(number), avals) for number, avals in
                         ((IN_TREE, in_avals), (OUT_TREE, out_avals)))
    return Exported(
        table.string(NAME) or "", in_tree, in_avals, out_tree, out_avals, True, ins,
        outs, hlo_ins, hlo_outs, count, tuple(table.strings(PLATFORMS)), (), (),
        tuple(map(_read_check, table.tables(CHECKS))), table.blob(MODULE),
        table.scalar(CONVENTION, "H"), tuple(table.scalars(KEPT, "H")),
        bool(table.scalar(GLOBAL, "?")),
        (lambda _: _read_exported(derivative)) if derivative else None)


# ----------------------------------------------------------------------------------------------
# Types

_DTYPES = [np.dtype(x) for x in (
    np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64,
    np.float16, np.float32, np.float64, np.complex64, np.complex128, ml_dtypes.bfloat16,
    ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.float8_e4m3b11fnuz, ml_dtypes.float8_e4m3fn,
    ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2, ml_dtypes.float8_e5m2fnuz, float0,
    ml_dtypes.float8_e4m3, ml_dtypes.float8_e3m4, ml_dtypes.float8_e8m0fnu,
    ml_dtypes.float4_e2m1fn)]
_KEYS = ["threefry2x32", "rbg", "unsafe_rbg"]  # the dtypes that follow: keys
_ON_DEVICE = 1  # the memory space


def _write_aval(writer: Writer, aval: ShapedArray) -> int:
    return writer.table({
        0: ("b", 0), 1: ("", lambda writer: writer.vector([*map(str, aval.shape)], Writer.string)),
        2: ("b", _dtype_number(aval.dtype)), 3: ("b", _ON_DEVICE)})


def _dtype_number(dtype) -> int:
    if isinstance(dtype, KeyTy):
        return len(_DTYPES) + _KEYS.index(dtype._impl.name)
    return _DTYPES.index(dtype)


def _read_avals(table, number, numbers, scope) -> tuple[ShapedArray, ...]:
    if not table.scalars(numbers, "I"):  # as JAX stored it before April 2026
        return tuple(_read_aval(one, scope) for one in table.tables(number))
    avals = [_read_aval(one, scope) for one in table.tables(UNIQUE_AVALS)]
    return tuple(avals[i] for i in table.scalars(numbers, "I"))


def _read_aval(table: Table, scope: SymbolicScope) -> ShapedArray:
    number = table.scalar(2, "b")
    dtype: Any = _DTYPES[number] if number < len(_DTYPES) else KeyTy(
        resolve_implementation(_KEYS[number - len(_DTYPES)]))
    return ShapedArray(parse(",".join(table.strings(1)), scope, "the stored shape"), dtype)


# ----------------------------------------------------------------------------------------------
# Pytrees

_LEAF, _NONE, _TUPLE, _LIST, _DICT, _CUSTOM = range(6)
_KINDS = {NoneType: _NONE, tuple: _TUPLE, list: _LIST, dict: _DICT}


def _write_tree(writer: Writer, tree: PyTreeDef) -> int:
    data: Any = tree.node_data()
    fields: dict[int, tuple[str, Any]] = {0: ("b", _LEAF)}
    if children := tree.children():
        fields[1] = "", lambda writer: writer.vector(children, _write_tree)
    if data is not None and data[0] in _KINDS:
        fields[0] = "b", _KINDS[data[0]]
    elif data is not None and data[0] in by_type:
        entry = by_type[data[0]]
        stored = entry.serialize(data[1])
        if not isinstance(stored, (bytes, bytearray)):
            raise ValueError("The custom serialization function for `node_type` must return a "
                             f"`bytes` object. It returned a {type(stored)}.")
        fields |= {0: ("b", _CUSTOM), 3: ("", lambda writer: writer.string(entry.name)),
                   4: ("", lambda writer: writer.blob(bytes(stored)))}
    elif data is not None:
        raise ValueError(
            f"Cannot serialize PyTreeDef containing an unregistered type `{data[0]}`. Use "
            "`export.register_pytree_node_serialization` or "
            "`export.register_namedtuple_serialization`.")
    if fields[0] == ("b", _DICT):
        fields[2] = "", lambda writer: writer.vector([*map(_key, data[1])], Writer.string)
    return writer.table(fields)


def _key(key) -> str:
    if not isinstance(key, str):
        raise TypeError("Serialization is supported only for dictionaries with string keys. Found "
                        f"key {key} of type {type(key)}.")
    return key


def _read_tree(table: Table | None, avals) -> PyTreeDef:
    assert table is not None
    return tree_structure(_read_node(table, iter(avals)))


def _read_node(table: Table, leaves: Iterator) -> Any:
    kind = table.scalar(0, "b")
    if kind == _LEAF:
        return next(leaves)
    children = [_read_node(child, leaves) for child in table.tables(1)]
    if kind == _DICT:
        return dict(zip(table.strings(2), children))
    if kind != _CUSTOM:
        return None if kind == _NONE else children if kind == _LIST else tuple(children)
    if (name := table.string(3)) not in by_name:
        raise ValueError(
            f"Cannot deserialize a PyTreeDef containing an unregistered type `{name}`. Use "
            "`export.register_pytree_node_serialization` or "
            "`export.register_namedtuple_serialization`.")
    entry = by_name[name]
    return entry.from_children(entry.deserialize(table.blob(4)), children)


# ----------------------------------------------------------------------------------------------
# Checks


def _write_check(writer: Writer, check: DisabledSafetyCheck) -> int:
    target = check.is_custom_call()
    if target is None:
        return writer.table({0: ("b", 0)})
    return writer.table({0: ("b", 1), 1: ("", lambda writer: writer.string(target))})


def _read_check(table: Table) -> DisabledSafetyCheck:
    if table.scalar(0, "b") == 1:
        return DisabledSafetyCheck.custom_call(table.string(1) or "")
    return DisabledSafetyCheck.platform()
