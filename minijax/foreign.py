"""Chapter 16: calling functions of other libraries: `jax.ffi`.

    ffi_call : name, types of the results → (arrays → arrays)

XLA calls a C function by its name, and hands it the memory of operands and results, and attributes.
`runtime/foreign.py` makes such functions known to XLA.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from .core.batching import primitive_batchers
from .core.boundary import api_boundary
from .core.core import Primitive, ShapedArray, typeof
from .core.dtypes import ExtendedDType
from .core.effects import Effect, control_flow_allowed_effects, lowerable_effects
from .core.forward import primitive_jvps
from .core.lowering import ints_text, register_lowering, tensor_type
from .core.transposition import primitive_transposes
from .debugging.callbacks import VMAP_METHODS, batching_rule
from .exporting.words import lower_as_keys, lower_as_words, words_type
from .lax.attributes import FrozenDict, HashableArray, attribute_text
from .lax.order_tokens import abstract_token
from .parallel.layouts import Layout
from .runtime.dispatch import apply_primitive

# ----------------------------------------------------------------------------------------------
# Attributes


def _hashable(attributes: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    wrappers = {np.ndarray: HashableArray, dict: FrozenDict}
    wrapped = {name: wrappers.get(type(x), lambda x: x)(x) for name, x in attributes.items()}
    for name, x in wrapped.items():
        try:
            hash(x)
        except TypeError:
            raise TypeError(f"Non-hashable keyword argument to ffi_call {name}: {x}") from None
    return tuple(sorted(wrapped.items()))


# ----------------------------------------------------------------------------------------------
# Lowering


def _minor_to_major(aval: Any, layout: Any = None) -> tuple[int, ...]:
    """A layout as XLA has it, from the fastest dimension to the slowest; row-major by default."""
    if layout is None:
        return tuple(range(words_type(aval).ndim))[::-1]
    if isinstance(layout, Layout):
        if layout.tiling is not None:
            raise ValueError("The FFI does not support layouts with tiling")
        return layout.major_to_minor[::-1]
    return tuple(layout)


def _layouts_text(avals, layouts):
    layouts = [*map(_minor_to_major, avals, layouts or [None] * len(avals))]
    texts = [f"dense<{ints_text(layout) if layout else ''}> : tensor<{len(layout)}xindex>"
             for layout in layouts]
    return f"[{', '.join(texts)}]"


def build_ffi_lowering_function(
        call_target_name: str, *, operand_layouts: Sequence | None = None,
        result_layouts: Sequence | None = None,
        backend_config: Mapping[str, Any] | str | None = None,
        skip_ffi_layout_processing: bool = False, **lowering_args: Any) -> Callable:
    """A function of a lowering rule's arguments, that writes the call of a foreign function.

    Args:
      call_target_name: the function's name.
      operand_layouts, result_layouts: for each operand and result a `Layout`, or the dimensions
        from the fastest to the slowest; row-major by default.
      backend_config: attributes by name; for older functions a string.
      skip_ffi_layout_processing: leave out the layouts.
      **lowering_args: `has_side_effect`, `api_version` (4 by default), `operand_output_aliases`
        and `extra_attributes`.

    Returns:
      `(ctx, *operands, **attributes)` -> the values of the results.

    Raises (when it is called):
      ValueError: attributes for an older function.
    """
    def lower(ctx, *operands, **params):
        options = {"has_side_effect": False, "api_version": 4, "operand_output_aliases": None,
                   "extra_attributes": None} | lowering_args
        if unknown := options.keys() - _LOWERING_ARGS:
            raise NotImplementedError(f"ffi_lowering takes {sorted(_LOWERING_ARGS)}, and not "
                                      f"{sorted(unknown)}.")
        version = options["api_version"]
        fields = {"api_version": f"{version} : i32",
                  "backend_config": _config_text(version, backend_config, params),
                  "has_side_effect": str(bool(options["has_side_effect"])).lower()}
        operands, out_avals = lower_as_words(ctx, operands), [*map(words_type, ctx.avals_out)]
        in_avals = [x.aval for x in operands]
        if not skip_ffi_layout_processing:
            fields["operand_layouts"] = _layouts_text(in_avals, operand_layouts)
            fields["result_layouts"] = _layouts_text(out_avals, result_layouts)
        if (aliases := options["operand_output_aliases"]) is not None:
            fields["output_operand_aliases"] = _aliases_text(aliases, len(out_avals))
        fields |= {name: x if isinstance(x, str) else str(x)
                   for name, x in (options["extra_attributes"] or {}).items()}
        names, types = (", ".join(xs) for xs in ([x.name for x in operands],
                                                 [x.type for x in operands]))
        text = ", ".join(f"{name} = {x}" for name, x in fields.items())
        outs = ctx.ops(f"stablehlo.custom_call @{_symbol(call_target_name)}({names}) {{{text}}} : "
                       f"({types}) -> ({', '.join(map(tensor_type, out_avals))})", out_avals)
        return lower_as_keys(ctx, outs, ctx.avals_out)

    return lower


_LOWERING_ARGS = {"has_side_effect", "api_version", "operand_output_aliases", "extra_attributes"}


def _symbol(name):
    return name if name.replace("_", "a").replace(".", "a").replace("$", "a").isalnum() \
        else attribute_text(name)


def _config_text(version, config, params):
    if version >= 4:
        if config is not None and not isinstance(config, Mapping):
            raise ValueError("When api_version > 4, backend_config must be a dictionary.")
        return attribute_text({**(config or {}), **params})
    if params:
        raise ValueError("The use of ffi_call attributes requires a custom call API version of at "
                         f"least 4; got api_version={version}.")
    return attribute_text(config or "")


def _aliases_text(aliases, n_results):
    texts = [f"#stablehlo.output_operand_alias<output_tuple_indices = "
             f"[{out if n_results > 1 else ''}], operand_index = {i}, operand_tuple_indices = []>"
             for i, out in dict(aliases).items()]
    return f"[{', '.join(texts)}]"


def ffi_lowering(call_target_name: str, *, operand_layouts: Sequence | None = None,
                 result_layouts: Sequence | None = None,
                 backend_config: Mapping[str, Any] | str | None = None,
                 skip_ffi_layout_processing: bool = False, **lowering_args: Any) -> Callable:
    """A lowering rule that calls a foreign function, for `interpreters.mlir.register_lowering`.

    Args:
      call_target_name, operand_layouts, result_layouts, backend_config,
        skip_ffi_layout_processing, **lowering_args: as for `build_ffi_lowering_function`.
    """
    return build_ffi_lowering_function(
        call_target_name, operand_layouts=operand_layouts, result_layouts=result_layouts,
        backend_config=backend_config, skip_ffi_layout_processing=skip_ffi_layout_processing,
        **lowering_args)


# ----------------------------------------------------------------------------------------------
# ffi_call


class FfiEffect(Effect):
    """A foreign function that does more than compute its results."""

    def __str__(self):
        return "FFI"


_ffi_effect = FfiEffect()
lowerable_effects.add_type(FfiEffect)
control_flow_allowed_effects.add_type(FfiEffect)

ffi_call_p = Primitive("ffi_call", multiple_results=True, memoize_avals=False)


@api_boundary
def ffi_call(target_name: str, result_shape_dtypes: Any, *, has_side_effect: bool = False,
             vmap_method: str | None = None, input_layouts: Sequence | None = None,
             output_layouts: Any = None, input_output_aliases: dict[int, int] | None = None,
             custom_call_api_version: int = 4, legacy_backend_config: str | None = None
             ) -> Callable[..., Any]:
    """A function of arrays that calls a foreign function.

    Args:
      target_name: what `register_ffi_target` called it.
      result_shape_dtypes: what has a `shape` and a `dtype`, such as `ShapeDtypeStruct`, or a
        sequence of them: the type(s) of its result(s).
      has_side_effect: whether it is called even if its results are not read.
      vmap_method: what `vmap` does, as for `pure_callback`.
      input_layouts, output_layouts: the order of the elements of operands and results in memory: a
        `Layout`, the dimensions from the slowest to the fastest, or `None` for row-major.
      input_output_aliases: numbers of operands, and of the results that may take their memory.
      custom_call_api_version: 4, or less for an older function.
      legacy_backend_config: what an older function gets instead of attributes.

    Returns:
      `(*arrays, **attributes)` -> an array, or a sequence of arrays.

    Raises:
      ValueError: an argument that is not one of these; an alias of other shape, dtype or layout;
        or the call is differentiated. Give it a derivative by `custom_jvp` or `custom_vjp`.
      TypeError: an attribute has no hash.
      NotImplementedError: `vmap` without a `vmap_method`, or a token.
    """
    if vmap_method not in VMAP_METHODS:
        raise ValueError(f"vmap_method must be on of the allowed methods {VMAP_METHODS}, but "
                         f"got: {vmap_method}")
    is_sequence = isinstance(result_shape_dtypes, Sequence)
    results = result_shape_dtypes if is_sequence else [result_shape_dtypes]
    result_avals = tuple(_result_type(i, x) for i, x in enumerate(results))
    wanted_outputs = output_layouts if is_sequence or output_layouts is None else [output_layouts]
    if custom_call_api_version >= 4 and legacy_backend_config is not None:
        raise ValueError("The use of the legacy_backend_config parameter requires "
                         f"custom_call_api_version < 4; got {custom_call_api_version}.")

    def call(*args, **attributes):
        in_avals = [*map(typeof, args)]
        if abstract_token in in_avals:
            raise NotImplementedError("ffi_call: a token has nothing to order here. Leave it out, "
                                      "and say `has_side_effect=True`.")
        layouts = (_checked_layouts("input arguments", "input", in_avals, input_layouts),
                   _checked_layouts("outputs", "output", result_avals, wanted_outputs))
        aliases = _checked_aliases(input_output_aliases or {}, in_avals, result_avals, *layouts)
        outs = ffi_call_p.bind(
            *args, result_avals=result_avals, vmap_method=vmap_method, target_name=target_name,
            has_side_effect=has_side_effect, input_layouts=layouts[0], output_layouts=layouts[1],
            input_output_aliases=aliases, custom_call_api_version=custom_call_api_version,
            legacy_backend_config=legacy_backend_config, attributes=_hashable(attributes))
        if not is_sequence:
            return outs[0]
        return tuple(outs) if isinstance(result_shape_dtypes, tuple) else [*outs]

    return call


def _result_type(number: int, result: Any) -> ShapedArray:
    if result is abstract_token:
        raise NotImplementedError("ffi_call: a result cannot be a token. Say "
                                  "`has_side_effect=True`.")
    if not hasattr(result, "shape") or not hasattr(result, "dtype"):
        raise ValueError("All elements of result_shape_dtypes must have 'shape' and 'dtype' "
                         f"attributes. Got {result} at position {number}.")
    dtype = result.dtype if isinstance(result.dtype, ExtendedDType) else np.dtype(result.dtype)
    return ShapedArray(tuple(result.shape), dtype, getattr(result, "weak_type", False))


def _checked_layouts(what, name, avals, layouts) -> tuple[tuple[int, ...], ...]:
    if layouts is None:
        return tuple(map(_minor_to_major, avals))
    if len(layouts) != len(avals):
        raise ValueError(f"The number of {what} ({len(avals)}) must equal the number of {name} "
                         f"layouts ({len(layouts)}).")
    reverse = lambda x: x if x is None or isinstance(x, Layout) else tuple(x)[::-1]
    return tuple(_minor_to_major(aval, reverse(layout)) for aval, layout in zip(avals, layouts))


def _checked_aliases(aliases, in_avals, out_avals, in_layouts, out_layouts):
    pairs = checked_aliases(aliases, in_avals, out_avals)
    for i, out in pairs:
        if in_layouts[i] != out_layouts[out]:
            raise ValueError(f"input_output_aliases contains the mapping '{i}:{out}' referring to "
                             f"an input with layout {in_layouts[i]} and an output with a different "
                             f"layout {out_layouts[out]}.")
    return pairs


def checked_aliases(aliases: dict[int, int], in_avals: Sequence, out_avals: Sequence) -> tuple:
    """Pairs of the numbers of an operand, and of the result that takes its memory.

    Raises:
      ValueError: there is no such operand or result, or they have other types.
    """
    for i, out in sorted(aliases.items()):
        pair = f"input_output_aliases contains the mapping '{i}:{out}' "
        if i >= len(in_avals):
            raise ValueError(f"{pair}with input index {i} outside the range [0, {len(in_avals)}).")
        if out >= len(out_avals):
            raise ValueError(
                f"{pair}with output index {out} outside the range [0, {len(out_avals)}).")
        if (in_avals[i].shape, in_avals[i].dtype) != (out_avals[out].shape, out_avals[out].dtype):
            raise ValueError(f"{pair}referring to an input with abstract value {in_avals[i]} and "
                             f"an output with a different abstract value {out_avals[out]}.")
    return tuple((int(i), int(out)) for i, out in sorted(aliases.items()))


# ----------------------------------------------------------------------------------------------
# Rules


@ffi_call_p.def_effectful_abstract_eval
def _types(*avals, result_avals, has_side_effect, **params):
    return [*result_avals], {_ffi_effect} if has_side_effect else set()


ffi_call_p.def_impl(partial(apply_primitive, ffi_call_p))


def _no_derivative(*args, target_name, **params):
    raise ValueError(f"The FFI call to `{target_name}` cannot be differentiated. You can use "
                     "`jax.custom_jvp` or `jax.custom_vjp` to add support.")


primitive_jvps[ffi_call_p] = primitive_transposes[ffi_call_p] = _no_derivative


def _layouts_of_batch(batched, *, input_layouts, output_layouts, **params) -> dict:
    """The parameters of the call for a batch, whose layouts have one dimension more."""
    return params | {
        "input_layouts": tuple(_one_dimension_more(layout) if is_batched else layout
                               for layout, is_batched in zip(input_layouts, batched)),
        "output_layouts": tuple(map(_one_dimension_more, output_layouts))}


def _one_dimension_more(layout):
    """The layout of a batch of arrays with this one: the new first dimension is the slowest."""
    return *(d + 1 for d in layout), 0


primitive_batchers[ffi_call_p] = batching_rule(ffi_call_p, _layouts_of_batch)


def _lower(ctx, *operands, target_name, has_side_effect, input_layouts, output_layouts,
           input_output_aliases, custom_call_api_version, legacy_backend_config, attributes,
           **params):
    rule = ffi_lowering(
        target_name, has_side_effect=has_side_effect, operand_layouts=input_layouts,
        result_layouts=output_layouts, operand_output_aliases=dict(input_output_aliases),
        api_version=custom_call_api_version, backend_config=legacy_backend_config)
    return rule(ctx, *operands, **dict(attributes))


register_lowering(ffi_call_p, _lower)
