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
from .dimensions import Dim, evaluate, variables
from .exported import DisabledSafetyCheck, Exported, default_export_platform
from .modules import find_sources, is_symbolic
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
    values = solve(exported, avals)
    outs = [ShapedArray(tuple(evaluate(size, values) for size in aval.shape), aval.dtype,
                        aval.weak_type) for aval in exported.out_avals]
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
        if size != other and not isinstance(size, Dim):
            raise ValueError(
                f"Shape mismatch for {name}.shape[{d}] (expected same constant): expected "
                f"{expected.shape} and called with {found.shape}")


def solve(exported: Exported, avals: Sequence[ShapedArray]) -> dict[str, Any]:
    """The values of the variables in the shapes of an exported function's arguments.

    Raises:
      ValueError: the shapes of the arguments contradict each other.
    """
    values: dict[str, Any] = {}
    pairs = [(size, aval.shape[d], i, d) for i, (expected, aval) in
             enumerate(zip(exported.in_avals, avals)) for d, size in enumerate(expected.shape)
             if isinstance(size, Dim)]
    for name, (i, d, factor, offset) in find_sources(exported.in_avals).items():
        value, rest = divmod(avals[i].shape[d] - offset, factor)
        if rest != 0:
            raise _wrong_sizes(f"Division had remainder {rest} when computing the value of "
                               f"'{name}'", exported)
        if not value >= 1:
            raise _wrong_sizes(f"Expected value >= 1 for dimension variable '{name}', got "
                               f"{value!s}", exported)
        values[name] = value
    for size, found, i, d in pairs:
        if (wanted := evaluate(size, values)) != found:
            raise _wrong_sizes(
                f"Found inconsistency between dimension size {_leaf_name(exported, i)}.shape[{d}] "
                f"(= {found!s}) and the specification '{size!s}' (= {wanted!s})", exported)
    scopes = {id(size.scope): size.scope for size, *_ in pairs}
    for e in (e for scope in scopes.values() for e in scope.nonnegative):
        if variables(e) <= values.keys() and not evaluate(e, values) >= 0:
            raise _wrong_sizes(f"Expected '{e!s}' >= 0, got {evaluate(e, values)!s}", exported)
    return values


def _wrong_sizes(what: str, exported: Exported) -> ValueError:
    shapes = [f"{_leaf_name(exported, i)}.shape = {aval.shape}"
              for i, aval in enumerate(exported.in_avals) if is_symbolic(aval)]
    return ValueError("Input shapes do not match the polymorphic shapes specification. "
                      f"{what}. Using the following polymorphic shapes specifications: "
                      f"{', '.join(shapes)}.")


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
    avals = [*map(words_type, ctx.avals_out)]
    if any(map(is_symbolic, [*(x.aval for x in kept), *avals])):
        raise NotImplementedError(
            f"'{exported.fun_name}' is called with sizes that are not known. Export the caller for "
            "sizes that are known.")
    if len(exported.platforms) > 1:
        number = exported.platforms.index(platform) if platform in exported.platforms else 0
        kept.insert(0, ctx.constant(number, ShapedArray((), np.dtype("int32"))))
    name = _function(ctx.module, exported, [x.type for x in kept])
    outs = ctx.ops(_call(name, [x.name for x in kept], [x.type for x in kept],
                         [*map(tensor_type, avals)]), avals)
    return lower_as_keys(ctx, outs, ctx.avals_out)


def _call(name, names, types, results) -> str:
    return (f"func.call @{name}({', '.join(names)}) : ({', '.join(types)}) -> "
            f"({', '.join(results)})")


def _function(module: Module, exported: Exported, types: Sequence[str]) -> str:
    """The name of the exported function in a module, into which it is written once for arguments
    of these types."""
    functions = _written.setdefault(module, {})
    key = exported, tuple(types)
    if key not in functions:
        if "cpu" in exported.platforms:
            xla().load_lapack()
        portable, name = load("minijax.runtime.portable"), f"call_exported_{exported.fun_name}"
        callee = exported.mlir_module(serialized=False)
        if exported.uses_global_constants:
            callee = portable.refined(callee, types)
        main, texts = portable.as_private(callee, module.unique, name)
        module.functions.extend(texts)
        functions[key] = main
    return functions[key]


register_lowering(call_exported_p, _lower)
