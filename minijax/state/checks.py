"""Chapter 15: what references refuse."""

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.array import Array


def not_an_array(ref: Any, *args, **kwargs) -> Any:
    """Raise `TypeError`: NumPy was given a reference."""
    raise TypeError(f"{ref.aval.str_short(True)} is a reference, not an array. Read its contents: "
                    "`ref[...]`.")


def ref(x: Any, is_ref: bool, where: str) -> None:
    """Raise `ValueError` unless `x` is a reference."""
    if not is_ref:
        raise ValueError(f"Can only call `{where}` on a `Ref`, got {x!r}. "
                         "`jax.new_ref(x)` makes a reference to a copy of the array `x`.")


def contents(x: Any, is_ref: bool) -> None:
    """Raise `ValueError` for a reference to a reference."""
    if is_ref:
        raise ValueError("Cannot store a Ref into another Ref: a reference holds an array. "
                         "Did you forget to read it with `[...]`?")


def view_mapped(aval: Any) -> Exception:
    """The error for a view among the arguments of a mapped function."""
    return TypeError("TransformedRefs are not allowed among the arguments of `vmap`: one is a "
                     f"view, as `ref.at[i]`, of {aval}. Pass the reference, and make the view "
                     "inside of the mapped function.")


def number_of_indices(entries: Sequence, shape: tuple[int, ...]) -> None:
    """Raise `ValueError` if there are more indices than dimensions."""
    given = sum(entry is not None and entry is not Ellipsis for entry in entries)
    if given > len(shape):
        raise ValueError(f"Too many indices: the reference has shape {shape}, but {given} "
                         "dimensions were indexed.")


def slice_step(entry: slice) -> None:
    """Raise `ValueError` unless the step of a slice is positive."""
    if entry.step is not None and entry.step < 1:
        raise ValueError(f"A slice of a reference must have a step >= 1, got {entry.step}. Read "
                         "the whole reference and reverse the array.")


def index_entry(entry: Any, size: int, staged: bool) -> None:
    """Raise an error unless `entry` is an integer within bounds, or integers.

    If the operation is `staged`, every index is an operand, and operands are clamped.
    """
    dtype = getattr(entry, "dtype", None)
    if dtype is not None and (np.shape(entry) or hasattr(entry, "aval")):
        if dtype.kind not in "iu":
            raise TypeError("A reference is indexed by integers, slices and arrays of integers, "
                            f"got an array of dtype {dtype.name}.")
        known = type(entry) is Array and not entry.shape and not staged
        if known and operator.index(entry) >= size:
            raise ValueError(f"Out of bound indexer: idx={entry}, dim={size}.")
        return
    try:
        index = operator.index(entry)
    except TypeError:
        raise TypeError("A reference is indexed by integers, slices, `...` and arrays of "
                        f"integers, got {entry!r}.") from None
    if not (staged and size) and not -size <= index < size:
        raise ValueError(f"Out of bound indexer: idx={index}, dim={size}.")


def slice_in_bounds(entry: Any, stop: int, size: int) -> None:
    """Raise `ValueError` if a slice with a known start leaves the dimension that it is of."""
    if entry.start < 0 or stop > size:
        raise ValueError(f"Out of bound slice: start={entry.start}, size={entry.size}, "
                         f"stride={entry.stride}, dim={size}.")


def stored(what: str, ref_aval: Any, expected: tuple, value: Any) -> None:
    """Raise `ValueError` unless a value fits into the selected part of a reference."""
    if expected != value.shape:
        raise ValueError(f"Invalid shape for `{what}`: the selected part of "
                         f"{ref_aval.str_short(True)} has shape {expected}, the value has shape "
                         f"{value.shape}. Values are not broadcast.")
    if ref_aval.dtype != value.dtype:
        raise ValueError(f"Invalid dtype for `{what}`. Ref dtype: {ref_aval.dtype.name}. Value "
                         f"dtype: {value.dtype.name}. Convert the value with `.astype`.")


def differentiated_write(aval: Any) -> Exception:
    """The error for a tangent that has no place to go."""
    return Exception(
        "performing a set/swap operation with a differentiated value on a non-differentiated array "
        f"reference of type {aval}. Move the array reference to be an argument of the "
        "differentiated function, or make it inside of that function.")


def batched_write(operation: str, aval: Any) -> Exception:
    """The error for writes of all examples to one place."""
    return Exception(
        f"performing {operation} operation with vmapped value on an unbatched array reference of "
        f"type {aval}. Move the array reference to be an argument to the vmapped function, or "
        "write to it once, outside of that function.")


def one_cotangent(name: str, more: Sequence) -> None:
    """Raise `TypeError` unless the function from `vjp` is called with one argument."""
    if more:
        raise TypeError(f"The function returned by `jax.vjp` applied to {name} was called with "
                        f"{len(more) + 1} arguments, but it takes one: a cotangent with the same "
                        "structure as the result. If the result is a tuple, pass one tuple.")


def has_place(ref: Any, accumulator: type) -> None:
    """Raise `ValueError` if the cotangent of a reference has no place to go."""
    if not isinstance(ref, accumulator):
        raise ValueError(
            f"An argument of the differentiated function is a reference of type {ref.aval}. Use "
            "`jax.vjp`, and say where the cotangent of its contents is: "
            "`f_vjp.with_refs(ref, ...)(ct)`.")


def targets(leaves: Sequence, in_avals: Sequence, is_ref: Any, is_ref_type: Any,
            markers: tuple) -> None:
    """Raise an error unless each cotangent has a target that fits."""
    for leaf, aval in zip(leaves, in_avals):
        if not is_ref(leaf) and not isinstance(leaf, markers):
            raise TypeError(f"`with_refs` takes references, `jax.ad.GradValue()` and "
                            f"`jax.ad.DontWant()`, one for each argument; got {leaf!r}.")
        if is_ref_type(aval) and not is_ref(leaf):
            raise TypeError(f"The cotangent of a reference of type {aval} needs a reference in "
                            f"`with_refs`, got {leaf!r}.")
        if is_ref(leaf) and leaf.aval.shape != aval.shape:
            raise ValueError(f"A reference of type {leaf.aval} cannot hold the cotangent of an "
                             f"argument of type {aval}: the shapes differ.")


def contents_agree(spec: Any, aval: Any, axes: frozenset, check: bool) -> None:
    """Raise `ValueError` if what a reference brings out of `shard_map` may differ between devices
    where its spec says that they agree."""
    different = axes.difference(spec.all_axes())
    if check and different:
        raise ValueError(
            f"shard_map: the contents of a reference come out with the spec {spec}. They are of "
            f"type {aval.str_short(True)}, and may differ along {sorted(map(str, different))}. "
            "Name these axes in the spec, or write what is the same on all devices.")


def no_residual_references(avals: Sequence, is_ref_type: Any) -> None:
    """Raise `NotImplementedError` if `fwd` of a `custom_vjp` function saves a reference."""
    if any(map(is_ref_type, avals)):
        raise NotImplementedError("The fwd rule of a custom_vjp function saves a reference for "
                                  "bwd, inside of a jitted function or a loop. Save its contents "
                                  "instead: `ref[...]`.")
