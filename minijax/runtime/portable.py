"""Chapter 14: StableHLO modules that outlive a process, and other versions of XLA.

A *portable artifact* is a module in a stable form of the dialect, VHLO, as bytes. XLA promises to
read the artifacts of the last six months.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from jaxlib import _jax

from . import xla
from .client import load_module


def serialize(text: str) -> bytes:
    """The portable artifact of a StableHLO module, as XLA of four weeks ago can read it."""
    hlo = load_module("jaxlib.mlir.dialects.stablehlo")
    version = hlo.get_version_from_compatibility_requirement(
        hlo.StablehloCompatibilityRequirement.WEEK_4)
    return _jax.mlir.serialize_portable_artifact(xla().compiler_ir(text, None), version, True)


def deserialize(artifact: bytes) -> Any:
    """The module of a portable artifact, as an object of MLIR's."""
    context = xla().compiler_ir("module {}", None).context
    return _jax.mlir.deserialize_portable_artifact(artifact, context)


def module_text(artifact: bytes) -> str:
    """The module of a portable artifact as text, with locations."""
    return deserialize(artifact).operation.get_asm(enable_debug_info=True)


def custom_calls(text: str) -> list[tuple[str, str]]:
    """The functions outside of the module that it calls: the target of each, and the operation."""
    return [(str(op.attributes["call_target_name"]).strip('"'), str(op))
            for op in _operations(xla().compiler_ir(text, None).operation)
            if op.name == "stablehlo.custom_call"]


def _operations(op) -> Iterator[Any]:
    yield op
    for region in op.regions:
        for block in region:
            for inner in block:
                yield from _operations(inner.operation)


def as_private(module: Any, fresh: Callable[[str], str], main: str) -> tuple[str, list[str]]:
    """The functions of a module, to be written into another one.

    Args:
      module: MLIR's object, which is changed.
      fresh: from the name of a symbol to a name that is free in the other module.
      main: what `@main` is to be called.

    Returns:
      the new name of `@main`, and the texts of all functions.
    """
    ir = load_module("jaxlib.mlir.ir")
    with module.context:
        table, ops = ir.SymbolTable(module.operation), [*module.body.operations]
        names = {op: op.attributes["sym_name"].value for op in ops}
        meshes = {}
        for op, old in names.items():
            new = _new_name(main if old == "main" else old, old, fresh, names.values())
            main = new if old == "main" else main
            if op.operation.name == "sdy.mesh":  # its uses are no symbols that MLIR replaces
                meshes[old] = new
                continue
            op.attributes["sym_visibility"] = ir.StringAttr.get("private")
            if new != old:
                table.set_symbol_name(op, new)
                for other in ops:
                    table.replace_all_symbol_uses(old, new, other.operation)
        texts = ["  " + op.operation.get_asm(use_local_scope=True, enable_debug_info=False)
                 for op in ops]
    for old, new in meshes.items():
        texts = [re.sub(rf"@{re.escape(old)}\b", f"@{new}", text) for text in texts]
    return main, texts


def _new_name(wanted, old, fresh, taken) -> str:
    """A name that is free in both modules, or the old one."""
    while (new := fresh(wanted)) in taken and new != old:
        pass
    return new


def types_of_main(module: Any) -> tuple[list[str], list[str]]:
    """The types of the arguments and of the results of `@main`."""
    ir = load_module("jaxlib.mlir.ir")
    with module.context:
        main = ir.SymbolTable(module.operation)["main"].type
        return [*map(str, main.inputs)], [*map(str, main.results)]


def refined(module: Any, types: Sequence[str], platform: int | None = None) -> Any:
    """A module in whose functions sizes are not known, with those that follow from the types of the
    arguments of `@main`, and for the platform of this number if it is for several.

    Raises:
      ValueError: a size does not follow from them.
    """
    ir = load_module("jaxlib.mlir.ir")
    with module.context:
        main = ir.SymbolTable(module.operation)["main"].type
        name, functions = as_private(module, lambda name: f"{name}_", "callee")
        text = "\n".join(["module {", _caller(name, types, main, platform), *functions, "}"])
        try:
            refined = _jax.mlir.refine_polymorphic_shapes(
                _bytecode(ir.Module.parse(text)), enable_shape_assertions=True,
                validate_static_shapes=True, enable_shardy=True)
        except Exception as error:
            raise ValueError(f"The sizes of an exported function could not be found for arguments "
                             f"of the types {[*types]}: {error}") from None
        return ir.Module.parse(refined)


def _caller(name, types, main, platform) -> str:
    """A function that converts arguments of these types to those of another one, and calls it."""
    inputs, results = [*map(str, main.inputs)], ", ".join(map(str, main.results))
    lines, names, first = [], [], 0 if platform is None else 1
    if platform is not None:
        lines.append(f"    %platform = stablehlo.constant dense<{platform}> : {inputs[0]}")
        names.append("%platform")
    for i, (given, wanted) in enumerate(zip(types, inputs[first:])):
        names.append(f"%arg{i}" if given == wanted else f"%c{i}")
        if given != wanted:
            lines.append(f"    %c{i} = stablehlo.convert %arg{i} : ({given}) -> {wanted}")
    arguments = ", ".join(f"%arg{i}: {given}" for i, given in enumerate(types))
    call = f"func.call @{name}({', '.join(names)}) : ({', '.join(inputs)}) -> ({results})"
    count = len(main.results)
    outs = ", ".join(f"%r#{i}" for i in range(count))
    lines.append(f"    %r:{count} = {call}" if count else f"    {call}")
    lines.append(f"    return {outs} : {results}" if count else "    return")
    return "\n".join([f"  func.func public @main({arguments}) -> ({results}) {{", *lines, "  }"])


def _bytecode(module) -> bytes:
    file = io.BytesIO()
    module.operation.write_bytecode(file)
    return file.getvalue()
