"""Chapters 3 to 8: what the public transformations refuse."""

from __future__ import annotations

import collections
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..core import dtypes
from ..core.api_util import ensure_index_tuple
from ..core.core import ShapedArray, typeof
from ..core.tree import LEAF, PyTreeDef, tree_flatten, tree_leaves, tree_structure
from ..pytree.arguments import valid_jaxtype
from ..pytree.names import arg_names, leaf_names
from ..pytree.paths import keystr, leaf_paths
from ..runtime.placements import placements
from ..source import fun_name
from ..text.differences import treedef_differences
from .arguments import are_arrays, distinct_references
from .tree import aux_pair as aux_pair

# ----------------------------------------------------------------------------------------------
# jvp and linearize


def linearized_arguments(where: str, fun: Callable, primals: Sequence, leaves: Sequence) -> None:
    """Raise TypeError unless the leaves of the primals are arrays or numbers."""
    are_arrays(where, leaves, typeof, lambda: arg_names(fun, primals, {}))


def jvp_arguments(primals: Sequence, tangents: Sequence) -> None:
    """Raise TypeError or ValueError unless the tangents have the structure and the types that
    belong to the primals."""
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError(
            "primal and tangent arguments to jax.jvp must be tuples or lists; found "
            f"{type(primals).__name__} and {type(tangents).__name__}."
        )
    flat_primals, in_tree = tree_flatten(tuple(primals))
    flat_tangents, tangent_tree = tree_flatten(tuple(tangents))
    if in_tree != tangent_tree or isinstance(primals, tuple) != isinstance(tangents, tuple):
        raise TypeError(
            "primal and tangent arguments to jax.jvp must have the same tree structure; primals "
            f"are a {type(primals).__name__} of tree structure {in_tree} whereas tangents are a "
            f"{type(tangents).__name__} of tree structure {tangent_tree}."
        )
    are_arrays("jvp", flat_primals, typeof, lambda: leaf_names("primals", primals))
    are_arrays("jvp", flat_tangents, typeof, lambda: leaf_names("tangents", tangents))
    for i, (primal, tangent) in enumerate(zip(flat_primals, flat_tangents)):
        wanted = typeof(primal).to_tangent_aval()
        if wanted != typeof(tangent):
            _check_tangent(typeof(primal), wanted, typeof(tangent),
                           lambda: leaf_names("primals", primals)[i])


def _check_tangent(primal, wanted, tangent, name):
    if wanted.dtype != tangent.dtype:
        raise TypeError(
            "primal and tangent arguments to jax.jvp do not match; dtypes must be equal, or in "
            "case of int/bool primal dtype the tangent dtype must be float0. Got primal dtype "
            f"{primal.dtype.name} and so expected tangent dtype {wanted.dtype}, but got "
            f"tangent dtype {tangent.dtype} instead, at {name()}."
        )
    if wanted.shape != tangent.shape:
        raise ValueError(
            f"jvp called with different primal and tangent shapes; Got primal shape {wanted.shape} "
            f"and tangent shape as {tangent.shape}, at {name()}."
        )


# ----------------------------------------------------------------------------------------------
# vmap


def vmap_axes(in_axes: Any, out_axes: Any, spec_types: set[type]) -> None:
    """Raise TypeError unless the axes are of these types, or `None`s, in containers."""
    if not (in_axes is None or type(in_axes) in (tuple, *spec_types)):
        raise TypeError(
            "vmap in_axes must be an int, None, or a tuple of entries corresponding to the "
            f"positional arguments passed to the function, but got {in_axes!r}."
        )
    for name, axes in (("in_axes", in_axes), ("out_axes", out_axes)):
        if any(type(axis) not in spec_types for axis in tree_leaves(axes)):
            raise TypeError(
                f"vmap {name} must be an int, None, or a (nested) container with those types as "
                f"leaves, but got {axes!r}."
            )


def vmap_arguments(in_axes: Any, args: tuple) -> None:
    """Raise ValueError unless a tuple `in_axes` has one entry per argument."""
    if isinstance(in_axes, tuple) and len(in_axes) != len(args):
        raise ValueError(
            "vmap in_axes must be an int, None, or a tuple of entries corresponding to the "
            f"positional arguments passed to the function, but got {len(in_axes)=}, {len(args)=}"
        )


def vmap_sizes(fun: Callable, args: tuple, kwargs: dict, leaves: Sequence, axes: Sequence,
               axis_size: Any) -> None:
    """Raise ValueError unless all mapped arguments, and `axis_size`, agree on the batch size."""
    mapped = [x for x, d in zip(leaves, axes) if d is not None and hasattr(x, "aval")]
    distinct_references([x.aval for x in mapped], fun_name(fun), mapped)
    try:
        found = {typeof(x).shape[d] for x, d in zip(leaves, axes) if d is not None}
        agreed = len(found if axis_size is None else found | {operator.index(axis_size)}) == 1
    except (TypeError, IndexError):
        agreed = False
    if not agreed:
        _refuse_sizes(fun, args, kwargs, leaves, axes, axis_size)


def vmappable_size(x: Any, size: Any, axis_size: Any) -> None:
    """Raise ValueError if a container of `register_vmappable` has another number of examples."""
    if size is not None and size != axis_size:
        raise ValueError(f"vmap got inconsistent sizes for array axes to be mapped: a "
                         f"{type(x).__name__} has {size} examples, another argument {axis_size}.")


def vmapped_axis(x: Any, spec: Any) -> None:
    """Raise AssertionError if the axis of an array is neither an int nor None."""
    if spec is not None and not isinstance(spec, int):
        raise AssertionError(f"vmap cannot map over {x!r} by {spec!r}: for an array, `in_axes` is "
                             "an int or None.")


def _refuse_sizes(fun, args, kwargs, leaves, axes, axis_size):
    """Raise the error for arguments that do not agree on a batch size."""
    if axis_size is not None and not isinstance(axis_size, (int, np.integer)):
        kind = ValueError if leaves else TypeError  # JAX looks at the arguments' sizes first
        raise kind(f"vmap: axis_size must be an integer, got {axis_size!r} of type "
                   f"{type(axis_size).__name__}.")
    by_keyword = arg_names(lambda **kwargs: None, (), kwargs)
    name_of = lambda i: (*arg_names(fun, args, kwargs)[:len(leaves) - len(by_keyword)],
                         *by_keyword)[i]
    sizes = [None if d is None else _size_along(x, d, i, name_of)
             for i, (x, d) in enumerate(zip(leaves, axes))]
    if any(size is not None for size in sizes):
        raise _inconsistent_sizes(sizes, axes, leaves, axis_size, name_of)
    if leaves:
        raise ValueError("vmap must have at least one non-None value in in_axes or axis_size "
                         "must be specified.")
    raise ValueError("vmap wrapped function must be passed at least one argument containing an "
                     "array or axis_size must be specified, got empty "
                     f"*args={args} and **kwargs={kwargs}.")


def _size_along(x, axis, i, name_of):
    """The size of the leaf `x`, the `i`th, along its mapped axis."""
    try:
        shape = typeof(x).shape
    except TypeError as error:
        raise TypeError(f"{error} vmap cannot map over its argument {name_of(i)}.") from None
    if -len(shape) <= axis < len(shape):
        return shape[axis]
    raise ValueError(
        f"vmap was requested to map its argument along axis {axis}, which implies "
        f"that its rank should be at least {axis + 1 if axis >= 0 else -axis}, but is only "
        f"{len(shape)} (its shape is {shape}). The argument is {name_of(i)}."
    )


def _inconsistent_sizes(sizes, axes, leaves, axis_size, name_of):
    """An error with an example of each size, the most frequent first."""
    lines = ["vmap got inconsistent sizes for array axes to be mapped:"]
    if axis_size is not None:
        lines.append(f"  * the `axis_size` argument was {axis_size};")
    counts = collections.Counter(size for size in sizes if size is not None).most_common()
    for rank, (size, count) in enumerate(counts):
        i = sizes.index(size)
        which = f"{'some' if rank else 'most'} axes ({count} of them)" if count > 1 else "one axis"
        name = name_of(i)
        name = name if name.startswith("kwargs[") else f"argument {name}"
        example = f"axis {axes[i]} of {name} of type " \
                  f"{typeof(leaves[i]).str_short(short_dtypes=False)}"
        lines.append(f"  * {which} had size {size}{', e.g.' if count > 1 else ':'} {example};")
    return ValueError("\n".join(lines)[:-1])


def vmap_results(outs: Sequence, dims: Sequence, destinations: Sequence, out_tree: PyTreeDef
                 ) -> None:
    """Raise TypeError for a result that is not an array, and ValueError for a result that is
    batched though its `out_axes` is `None`."""
    for i, (x, dim, destination) in enumerate(zip(outs, dims, destinations)):
        if not valid_jaxtype(x):
            raise TypeError(f"Output from batched function {x!r} with type {type(x)} is not a "
                            f"valid JAX type (at result{_path(out_tree, i)}).")
        ndim = typeof(x).ndim + (dim is None)
        if type(destination) is int and not -ndim <= destination < ndim:
            raise ValueError(
                f"axis {destination} is out of bounds for array of dimension {ndim}: vmap's "
                f"out_axes{_path(out_tree, i)} says where the batch dimension is to be among those "
                f"of a result with {ndim - 1} of its own.")
        if destination is None and dim is not None:
            raise ValueError(
                f"at vmap out_axes{_path(out_tree, i)}, got axis spec None but output was batched "
                f"on axis {dim}: it differs by example, so give it an int."
            )


def _path(tree, i):
    """Where in the tree its `i`th leaf is."""
    return keystr(leaf_paths(tree)[i])


# ----------------------------------------------------------------------------------------------
# linearize and vjp


def no_reduce_axes(where: str, axes: Any) -> None:
    """Raise NotImplementedError for named axes to sum gradients over."""
    if axes:
        raise NotImplementedError(
            f"{where} cannot sum over the axes {axes!r}: the argument reduce_axes has been "
            "removed, in JAX too. Leave it out, and use `jax.lax.psum(gradient, axes)`.")


def linearize_tangents(in_tree: PyTreeDef, in_avals: Sequence, leaves: Sequence,
                       tree: PyTreeDef) -> None:
    """Raise TypeError or ValueError unless the tangents belong to the primals."""
    if tree != in_tree:
        raise TypeError("The linearized function takes tangents of the structure of the arguments, "
                        f"{in_tree}, got {tree}.")
    for primal_aval, tangent in zip(in_avals, leaves):
        wanted, aval = primal_aval.to_tangent_aval(), typeof(tangent)
        is_zero = wanted.dtype == dtypes.float0
        hint = "" if is_zero else placements().tangent_hint(wanted, aval)
        if aval.shape != wanted.shape or aval.dtype != wanted.dtype or hint:
            raise ValueError(
                "linearized function called on tangent values inconsistent with the original primal"
                f" values:\nGot tangent aval {aval.str_short(False)} for primal aval "
                f"{primal_aval.str_short(False)} but expected {wanted.str_short(False)}. "
                + hint
            )


def vjp_cotangents(name: str, out_tree: PyTreeDef, out_avals: Sequence, leaves: Sequence,
                   tree: PyTreeDef) -> None:
    """Raise ValueError unless the cotangents belong to the results of the function `name`."""
    if tree != out_tree:
        differences = "\n".join(
            f"  at {keystr(d.path) or 'the root'}: expected {d.expected}, got {d.found}"
            for d in treedef_differences(out_tree, tree, tree_structure, strict=True))
        raise ValueError(
            "unexpected tree structure.\n\nThe argument to a VJP function returned by `jax.vjp` "
            "must match the pytree structure of the result of the differentiated function "
            f"{name}.\n\nExpected {out_tree}, got {tree}:\n{differences}"
        )
    for aval, ct in zip(out_avals, leaves):
        _check_cotangent(aval, ct)


def _check_cotangent(aval, ct):
    wanted, got = aval.to_cotangent_aval(), typeof(ct)
    fits = (got.shape == wanted.shape and got.dtype == wanted.dtype
            and placements().cotangent_fits(aval, got))
    if wanted.dtype == dtypes.float0 or fits:
        return
    raise ValueError(
        "unexpected JAX type (e.g. shape/dtype) for argument to VJP function: got "
        f"{got.str_short(False)}, but expected {wanted.str_short(False)} because the corresponding "
        f"output of the differentiated function had JAX type {aval.str_short(False)}"
    )


# ----------------------------------------------------------------------------------------------
# grad, jacfwd, jacrev


_HOLOMORPHIC_HINT = (
    "For holomorphic differentiation, pass holomorphic=True. For differentiation of "
    "non-holomorphic functions involving complex {what}, use jax.{alternative} directly."
)


def grad_arguments(fun: Callable, args: Sequence, argnums: int | Sequence[int],
                   dyn_args: Sequence, holomorphic: bool, allow_int: bool) -> None:
    """Raise TypeError for an argument that `grad` cannot differentiate."""
    leaves = tree_leaves(dyn_args)
    try:
        reverse_inputs("grad", fun, args, argnums, leaves, holomorphic, allow_int)
    except TypeError:
        are_arrays("grad", leaves, typeof, lambda: _names_of(fun, args, argnums))
        raise


def _names_of(fun, args, argnums):
    """The names of the leaves of the arguments that are differentiated."""
    chosen = {i % len(args) for i in ensure_index_tuple(argnums)}
    return arg_names(fun, args, {}, static_argnums=[i for i in range(len(args)) if i not in chosen])


def reverse_inputs(name: str, fun: Callable, args: Sequence, argnums: int | Sequence[int],
                   leaves: Iterable, holomorphic: bool, allow_int: bool = False) -> None:
    """Raise TypeError for a leaf that has no tangents, or no complex ones if `holomorphic`."""
    for i, x in enumerate(leaves):
        aval = typeof(x)
        dtype = aval.dtype
        if getattr(aval, "is_high", False):  # a value that is no array has tangents of its own
            continue
        if holomorphic:
            _check_complex(name, "inputs", dtype)
        elif not dtypes.issubdtype(dtype, np.inexact) and not allow_int:
            raise TypeError(
                f"{name} requires real- or complex-valued inputs (input dtype that is a sub-dtype "
                f"of np.inexact), but got {dtype.name}. If you want to use Boolean- or "
                "integer-valued inputs, use vjp or set allow_int to True."
                f"{_which(_names_of(fun, args, argnums), i)}")


def _which(names: Sequence[str] | None, i: int) -> str:
    return f" The argument is {names[i]}." if names else ""


def forward_inputs(fun: Callable, args: Sequence, argnums: int | Sequence[int],
                   leaves: Iterable, holomorphic: bool) -> None:
    """Raise TypeError for a leaf that `jacfwd` cannot differentiate by."""
    for i, x in enumerate(leaves):
        dtype = typeof(x).dtype
        if holomorphic:
            _check_complex("jacfwd", "inputs", dtype)
        elif not dtypes.issubdtype(dtype, np.floating):
            raise TypeError(
                "jacfwd requires real-valued inputs (input dtype that is a sub-dtype of "
                f"np.floating), but got {dtype.name}. " + _HOLOMORPHIC_HINT.format(
                    what="inputs or integer inputs", alternative="jvp")
                + _which(_names_of(fun, args, argnums), i))


def _check_complex(name, what, dtype):
    if dtype.kind != "c":
        raise TypeError(f"{name} with holomorphic=True requires {what} with complex dtype, "
                        f"but got {dtype.name}.")


def grad_output(out: Any, out_tree: PyTreeDef, holomorphic: bool) -> None:
    """Raise TypeError unless the result of a function under `grad` is a real scalar, or a complex
    one if `holomorphic`."""
    if out_tree is not LEAF:
        raise TypeError(f"Gradient only defined for scalar-output functions. Output was {out}.")
    if typeof(out).shape:
        raise TypeError("Gradient only defined for scalar-output functions. "
                        f"Output had shape: {typeof(out).shape}.")
    real_outputs("grad", [out], holomorphic)


def real_outputs(name: str, leaves: Iterable, holomorphic: bool) -> None:
    """Raise TypeError for a result that is not real, or not complex if `holomorphic`."""
    for x in leaves:
        dtype = typeof(x).dtype
        if holomorphic:
            _check_complex(name, "outputs", dtype)
        elif not dtypes.issubdtype(dtype, np.floating):
            hint = _HOLOMORPHIC_HINT.format(what="outputs", alternative="vjp") \
                if dtype.kind == "c" else \
                "For differentiation of functions with integer outputs, use jax.vjp directly."
            raise TypeError(f"{name} requires real-valued outputs (output dtype that is a "
                            f"sub-dtype of np.floating), but got {dtype.name}. {hint}")


def complex_outputs(name: str, leaves: Iterable, holomorphic: bool) -> None:
    """Raise TypeError for a result that is not complex, if `holomorphic`."""
    if holomorphic:
        real_outputs(name, leaves, holomorphic)


# ----------------------------------------------------------------------------------------------
# linear_transpose


def linear_types(in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray]) -> None:
    """Raise TypeError unless all types are inexact, or all are integer."""
    for kind in (np.inexact, np.integer):
        if all(dtypes.issubdtype(a.dtype, kind) for a in (*in_avals, *out_avals)):
            return
    raise TypeError(
        "linear_transpose only supports [float or complex] -> [float or complex], and integer -> "
        f"integer functions, but got {[a.dtype for a in in_avals]} -> "
        f"{[a.dtype for a in out_avals]}."
    )


def linear_cotangents(cts: Sequence, tree: PyTreeDef, out_avals: Sequence[ShapedArray],
                      out_tree: PyTreeDef) -> None:
    """Raise TypeError unless the cotangents have the structure and the types of the results."""
    if tree != out_tree:
        raise TypeError("cotangent tree does not match function output, expected "
                        f"{out_tree} but got {tree}")
    for aval, x in zip(out_avals, cts):
        fits = placements().cotangent_fits(aval, typeof(x))
        if (typeof(x).shape, typeof(x).dtype) != (aval.shape, aval.dtype) or not fits:
            raise TypeError("cotangent type does not match function output, expected "
                            f"{aval} but got {x}")
