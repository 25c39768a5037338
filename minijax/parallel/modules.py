"""Chapter 14: StableHLO modules for several devices.

Such a module has a list of devices, declares their mesh at its head, and states the sharding of
each argument. If a function in it is the body of a `shard_map`, its `context` is the mesh and the
manual axes (see `core/lowering.py:Body`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core.lowering import Body, Value
from ..runtime.modules import ProgramBody, ProgramModule
from .mesh import AbstractMesh, Mesh
from .sharding import sdy_mesh


class PartitionedBody(ProgramBody):
    """A function of such a module. The results of `@main` lie as the program's results are to."""

    def text(self, arguments: Sequence[str], results: Sequence[Value], visibility: str) -> str:
        if visibility == "public":
            assert isinstance(self.module, PartitionedModule)
            results = self.module.results_placed(self, results)
        return super().text(arguments, results, visibility)


class PartitionedModule(ProgramModule):
    """A module that XLA splits into one program for each of the `devices`.

    `attributes(module, i)` says how argument `i` lies. `results_placed(body, results)` are the
    results with constraints.
    """

    body_class = PartitionedBody

    def __init__(self, name: str, devices: Sequence, attributes: Callable,
                 results_placed: Callable):
        super().__init__(name)
        self.devices, self.results_placed = devices, results_placed
        self.attributes = (
            f"mhlo.num_partitions = {len(devices)} : i32, mhlo.num_replicas = 1 : i32")
        self._attributes = attributes
        self.symbols: dict[str, str] = {}  # what is declared at the head -> its name

    def argument_attributes(self, i: int) -> list[str]:
        return self._attributes(self, i)

    def declare(self, name: str, text: str) -> str:
        """The symbol of what is declared as `text`, once, at the head of the module."""
        if text not in self.symbols:
            self.symbols[text] = self.unique(name)
        return self.symbols[text]

    def head(self) -> list[str]:
        declared = [f"  {text.replace('@', '@' + name, 1)}" for text, name in self.symbols.items()]
        return [*super().head(), *declared]


def devices_of_module(ctx: Body) -> Sequence:
    """The devices that run the module, if there are several; otherwise nothing."""
    return ctx.module.devices if isinstance(ctx.module, PartitionedModule) else ()


def manual_context(ctx: Body) -> tuple[Any, tuple]:
    """The mesh of the `shard_map` around a function, or `None`, and the manual axes."""
    return ctx.context or (None, ())  # type: ignore[return-value]


def mesh_symbol(module: Any, mesh: Mesh | AbstractMesh, devices: Any = None) -> str:
    """The symbol of a mesh, which is declared at the module's head."""
    return module.declare("mesh", f"sdy.mesh @ = {sdy_mesh(mesh, devices)}")


def add_host_callback(ctx: Body, function: Callable) -> int:
    """Add a Python function that the program calls; returns its number. XLA keeps it alive."""
    assert isinstance(ctx.module, ProgramModule)
    callbacks = ctx.module.for_compiler.setdefault("host_callbacks", [])
    callbacks.append(function)
    return len(callbacks) - 1
