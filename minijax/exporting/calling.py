"""Chapter 16: calling an exported function.

`call_exported` is a primitive. It is lowered by writing the functions of the exported module into
the module of the caller. Its derivative is the exported derivative, by a custom rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ..checks.tree import equality_errors, keystr
from ..core.core import Primitive, ShapedArray
from ..core.dtypes import float0
from ..core.lowering import Module, register_lowering, tensor_type
from ..core.tree import tree_flatten
from ..custom_rules import custom_vjp
from ..runtime import load, xla
from ..runtime.dispatch import apply_primitive
from .exported import DisabledSafetyCheck, Exported, default_export_platform
from .words import lower_as_keys, lower_as_words, words_type

call_exported_p = Primitive("call_exported", multiple_results=True)
call_exported_p.def_impl(partial(apply_primitive, call_exported_p))


def call_exported(exported: Exported) -> Callable:
    """The function of an `Exported`, of pytrees of arrays."""
    @custom_vjp
    def f_flat(*args_flat):
        return call_exported_p.bind(*args_flat, exported=exported)

    def f_flat_vjp_fwd(*args_flat):
        return f_flat(*args_flat), args_flat

    def f_flat_vjp_bwd(args_flat, out_cts):
        derivative = exported.vjp()
        avals = derivative.in_avals[len(args_flat):]
        out_cts = [np.zeros(aval.shape, float0) if aval.dtype == float0 else ct
                   for ct, aval in zip(out_cts, avals)]
        return call_exported(derivative)(*args_flat, *out_cts)

    f_flat.defvjp(f_flat_vjp_fwd, f_flat_vjp_bwd)

    def f_imported(*args, **kwargs):
        args_flat, in_tree = tree_flatten((args, kwargs))
        if in_tree != exported.in_tree:
            raise ValueError(_structure_error(exported, in_tree))
        return exported.out_tree.unflatten(f_flat(*args_flat))

    return f_imported


def _structure_error(exported, in_tree):
    given, wanted = (tree.unflatten([0] * tree.num_leaves) for tree in (in_tree, exported.in_tree))
    lines = [f"   - {_argument_name(path)} is {one} in the invocation and {two} when exported, so "
             f"{why}.\n" for path, one, two, why in equality_errors(given, wanted)]
    return ("The invocation args and kwargs must have the same pytree structure as when the "
            f"function '{exported.fun_name}' was exported, but they have the following structural "
            "differences:\n" + "\n".join(lines))


def _argument_name(path: Sequence) -> str:
    """A place in the pair (args, kwargs): `args[0]['w']`."""
    which = ("args", "kwargs")[path[0].idx] if path else "the pair (args, kwargs)"
    return which + keystr(tuple(path[1:]))


# ----------------------------------------------------------------------------------------------
# The rules of the primitive


@call_exported_p.def_effectful_abstract_eval
def _abstract_eval(*avals, exported):
    for i, (expected, found) in enumerate(zip(exported.in_avals, avals)):
        _check_argument(exported, i, expected, found)
    outs = [ShapedArray(aval.shape, aval.dtype, aval.weak_type) for aval in exported.out_avals]
    return outs, {*exported.ordered_effects, *exported.unordered_effects}


def _check_argument(exported, number, expected, found):
    if expected.dtype == found.dtype and expected.shape == found.shape:
        return
    name = _leaf_name(exported, number)
    if len(expected.shape) != len(found.shape):
        raise ValueError(f"Rank mismatch for {name}: expected {expected.shape} and called with "
                         f"{found.shape}")
    if expected.dtype != found.dtype:
        raise ValueError(f"Dtype mismatch for {name}: expected {expected.dtype} and called with "
                         f"{found.dtype}")
    for d, (size, other) in enumerate(zip(expected.shape, found.shape)):
        if size != other:
            raise ValueError(
                f"Shape mismatch for {name}.shape[{d}] (expected same constant): expected "
                f"{expected.shape} and called with {found.shape}")


def _leaf_name(exported, number):
    from ..pytree import tree_leaves_with_path

    tree = exported.in_tree.unflatten(range(exported.in_tree.num_leaves))
    path, _ = tree_leaves_with_path(tree)[number]
    return _argument_name(path)


# The functions of exported modules that a module holds already: module -> Exported -> name.
_written: WeakKeyDictionary[Module, dict[Any, str]] = WeakKeyDictionary()


def _lower(ctx, *operands, exported):
    platform = default_export_platform()
    unchecked = DisabledSafetyCheck.platform() in exported.disabled_safety_checks
    if platform not in exported.platforms and not unchecked:
        raise ValueError(f"Function '{exported.fun_name}' was exported for platforms "
                         f"'{exported.platforms}' but it is used on '({platform!r},)'.")
    kept = lower_as_words(ctx, [operands[i] for i in exported.module_kept_var_idx])
    if len(exported.platforms) > 1:
        number = exported.platforms.index(platform) if platform in exported.platforms else 0
        kept.insert(0, ctx.constant(number, ShapedArray((), np.dtype("int32"))))
    names, types = ", ".join(x.name for x in kept), ", ".join(x.type for x in kept)
    avals = [*map(words_type, ctx.avals_out)]
    outs = ctx.ops(f"func.call @{_function(ctx.module, exported)}({names}) : ({types}) -> "
                   f"({', '.join(map(tensor_type, avals))})", avals)
    return lower_as_keys(ctx, outs, ctx.avals_out)


def _function(module: Module, exported: Exported) -> str:
    """The name of the exported function in a module, into which it is written once."""
    functions = _written.setdefault(module, {})
    if exported not in functions:
        if "cpu" in exported.platforms:
            xla().load_lapack()
        portable = load("minijax.runtime.portable")
        main, texts = portable.as_private(
            exported.mlir_module(serialized=False), module.unique,
            f"call_exported_{exported.fun_name}")
        module.functions.extend(texts)
        functions[exported] = main
    return functions[exported]


register_lowering(call_exported_p, _lower)
