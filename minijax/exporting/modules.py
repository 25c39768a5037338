"""Chapter 16: the StableHLO module of an exported function.

It holds all constants, since no caller passes them later, and says which arguments may be donated.
If it is for several platforms, its first argument is the number of the platform.

If sizes are not known, types have a `?` in their place. The sizes of the arguments are read at the
head of the function, and all others are computed there. Operations that make arrays of such sizes
take them as an operand, as `dynamic_broadcast_in_dim`, `dynamic_reshape` … Everything stands in one
function, in which all sizes are at hand. XLA compiles only known sizes, so a caller refines the
module first (`calling.py`).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.core import ShapedArray
from ..core.jaxpr import ClosedJaxpr, JaxprEqn
from ..core.jit import Spec
from ..core.lowering import Body, Constant, Value, stored, tensor_type, typed_text
from ..core.tree import PyTreeDef
from ..errors import InconclusiveDimensionOperation
from ..lax.control_flow.common import op_with_regions
from ..runtime.modules import DonatingModule, ProgramBody
from ..runtime.platforms import lowered_for
from .dimensions import Dim, Operation, is_symbolic
from .rules import DYNAMIC_RULES
from .solving import ArgumentShapes

# Operations to whose dynamic forms the sizes of the result are given, as the last operand.
_GIVEN_SIZES = re.compile(
    r"stablehlo\.(iota|broadcast_in_dim|reshape)( %[\w#]+)?,? ?(dims? = [^:]*)?: (?:\(([^)]*)\))?")
_TYPE = re.compile(r"tensor<[^<>]*(<[^<>]*>)?>")


class ExportedBody(ProgramBody):
    """A function of an exported module."""

    module: ExportedModule  # type: ignore[assignment]

    def constant_name(self, value: Any, aval: ShapedArray) -> str:
        if is_symbolic(aval):
            scalar = Constant(self, value, stored(aval).update(shape=()))
            text = typed_text("broadcast_in_dim", [scalar], stored(aval), ", dims = []")
            return self.op(text, aval).name
        return Body.constant_name(self, value, aval)

    def text(self, arguments: Sequence[str], results: Sequence[Value], visibility: str) -> str:
        if visibility == "public" and len(self.module.platforms) > 1:
            arguments = [_PLATFORM, *arguments]
        return super().text(arguments, results, visibility)

    def platform_index(self) -> Value:
        """The number of the platform, in a module for several."""
        return Value("%platform", ShapedArray((), np.dtype("int32")))

    # Sizes that are not known. Their lines stand at the head, among the constants.

    def call(self, jaxpr: ClosedJaxpr, operands: Sequence[Value], name: str) -> list[Value]:
        if self.module.is_symbolic or len(self.module.platforms) > 1:
            return self.inline(jaxpr, operands)
        return super().call(jaxpr, operands, name)

    def op(self, text: str, aval: ShapedArray) -> Value:
        open_sizes = "?" in text and self.module.is_symbolic
        return super().op(self._dynamic(text, aval) if open_sizes else text, aval)

    def ops(self, text: str, avals: Sequence[ShapedArray]) -> list[Value]:
        if "?" in text and self.module.is_symbolic:
            _check_sizes(text)
        return super().ops(text, avals)

    def _dynamic(self, text, out):
        """The text of an operation on arrays whose sizes are not known."""
        _check_sizes(text)
        given = _GIVEN_SIZES.match(text)
        if given is None or not is_symbolic(out):
            return text
        name, operand, dims, kind = given.groups()
        operands = ", ".join(filter(None, [(operand or "").strip(), self.sizes(out.shape)]))
        options = f", {dims.strip()}" if dims else ""
        kinds = ", ".join(filter(None, [kind, f"tensor<{out.ndim}xi32>"]))
        return f"stablehlo.dynamic_{name} {operands}{options} : ({kinds}) -> {tensor_type(out)}"

    def rule_of(self, eqn: JaxprEqn) -> Callable:
        rule = super().rule_of(eqn)
        if eqn.primitive.name in _PER_PLATFORM and len(self.module.platforms) > 1:
            return functools.partial(_for_each_platform, rule, eqn.primitive.multiple_results)
        if not any(is_symbolic(v.aval) for v in (*eqn.invars, *eqn.outvars)):
            return rule
        rule = DYNAMIC_RULES.get(eqn.primitive.name, rule)

        def checked(*args, **params):
            try:
                return rule(*args, **params)
            except InconclusiveDimensionOperation as error:
                raise NotImplementedError(
                    f"export: {eqn.primitive} of arrays whose sizes are not known: {eqn}. {error} "
                    "Export the function for sizes that are known.") from None

        return checked

    def constant(self, value: Any, aval: ShapedArray) -> Value:
        if isinstance(value, Dim):
            return Value(self.size(value), aval)
        return super().constant(value, aval)

    def head_line(self, text: str) -> str:
        """The name of what a line at the head of the function computes."""
        return self.constants.setdefault(text, f"%c{len(self.constants)}")

    def size(self, size: Any) -> str:
        """The name of a size, as a scalar."""
        if not isinstance(size, Dim):
            return self.head_line(f"stablehlo.constant dense<{size}> : tensor<i32>")
        terms = []
        for monomial, coefficient in size.coefficients.items():
            term = self.size(coefficient)
            for factor, power in monomial:
                for _ in range(power):
                    term = self._scalar("multiply", term, self._factor(factor))
            terms.append(term)
        total = terms[0]
        for term in terms[1:]:
            total = self._scalar("add", total, term)
        return total

    def _scalar(self, op, *names):
        return self.head_line(f"stablehlo.{op} {', '.join(names)} : tensor<i32>")

    def _factor(self, factor) -> str:
        if not isinstance(factor, Operation):
            return self._variable(factor)
        left, right = self.size(factor.left), self.size(factor.right)
        if factor.name in ("max", "min"):
            return self._scalar(f"{factor.name}imum", left, right)
        # XLA rounds to zero, Python down. Dividends can be negative, divisors are not.
        rest = self._scalar("add", self._scalar("remainder", left, right), right)
        rest = self._scalar("remainder", rest, right)
        if factor.name == "mod":
            return rest
        return self._scalar("divide", self._scalar("subtract", left, rest), right)

    def _variable(self, name: str) -> str:
        """A variable, from the size of an argument that depends on it."""
        where, d, _, factor, rest = self.module.shapes.sources[name]
        aval = self.module.in_avals[where]
        size = self.head_line(f"stablehlo.get_dimension_size %arg{where}, dim = {d} : "
                              f"({tensor_type(aval)}) -> tensor<i32>")
        if isinstance(rest, Dim) or rest:
            size = self._scalar("subtract", size, self.size(rest))
        return size if factor == 1 else self._scalar("divide", size, self.size(factor))

    def sizes(self, shape: Sequence) -> str:
        """The name of a vector of sizes."""
        if not shape:
            return self.head_line("stablehlo.constant dense<> : tensor<0xi32>")
        names = [self.head_line(f"stablehlo.reshape {self.size(size)} : (tensor<i32>) -> "
                                "tensor<1xi32>") for size in shape]
        kinds = ", ".join(["tensor<1xi32>"] * len(names))
        return self.head_line(f"stablehlo.concatenate {', '.join(names)}, dim = 0 : ({kinds}) -> "
                              f"tensor<{len(names)}xi32>")


def _check_sizes(text):
    """Refuse an operation that says a size elsewhere than in a type, and it is not known."""
    if "?" in _TYPE.sub("", text):
        raise InconclusiveDimensionOperation(f"It is lowered as the operation {text}, which needs "
                                             "the sizes at `?`.")


# Primitives whose operations are others on a CPU.
_PER_PLATFORM = {*"""cholesky triangular_solve lu lu_pivots_to_permutation geqrf geqp3 ormqr
    householder_product eigh svd eig schur hessenberg tridiagonal tridiagonal_solve""".split()}


def _for_each_platform(rule, multiple_results, ctx, *operands, **params):
    """A branch for each platform, by the rule for it."""
    platforms, avals = ctx.module.platforms, ctx.avals_out

    def branch(platform):
        ctx.avals_out = avals
        with lowered_for((platform,)):
            out = rule(ctx, *operands, **params)
        return out if multiple_results else [out]

    regions = [([], functools.partial(branch, platform)) for platform in platforms]
    out = op_with_regions(ctx, "stablehlo.case", [ctx.platform_index()], avals, *regions)
    return out if multiple_results else out[0]


_PLATFORM = '%platform: tensor<i32> {jax.global_constant = "_platform_index"}'


class ClosedBody(ExportedBody):
    """A region of an exported module that sees no values from outside of it."""

    def _variable(self, name: str) -> str:
        raise NotImplementedError(
            f"export: the body of a shard_map computes with the size {name}, which is not known. "
            "Export the function for sizes that are known.")


class ExportedModule(DonatingModule):
    """The module of a function that is exported for some platforms.

    The values of the variables in the arguments' sizes come from `shapes`. The module is
    `polymorphic` if callers must refine it: sizes are not known, or platforms are several, here or
    in an exported function that it calls.
    """

    body_class = ExportedBody
    region_class = ClosedBody

    def __init__(self, jaxpr: ClosedJaxpr, spec: Spec, platforms: tuple[str, ...],
                 tree: PyTreeDef):
        super().__init__(jaxpr, spec)
        self._describe(jaxpr, platforms, tree)

    def _describe(self, jaxpr, platforms, tree):
        self.platforms, self.in_avals = platforms, jaxpr.in_avals
        self.shapes = ArgumentShapes(jaxpr.in_avals, tree)
        self.is_symbolic = bool(self.shapes.places)
        self.polymorphic = self.is_symbolic or len(platforms) > 1

    @property
    def attributes(self) -> str:  # type: ignore[override]
        return (f"jax.uses_shape_polymorphism = {str(self.polymorphic).lower()}, "
                f"{DonatingModule.attributes}")
