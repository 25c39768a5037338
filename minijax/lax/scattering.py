"""Chapter 11: scatter combines windows of updates into an array, at places that are values."""

from __future__ import annotations

import functools
import math
import weakref
from collections.abc import Callable, Sequence

import numpy as np

from ..checks.primitives import same_dtypes
from ..core.batching import bdim_at_front, primitive_batchers
from ..core.boundary import public
from ..core.core import Primitive, ShapedArray, Tracer, state, typeof
from ..core.forward import defjvp, instantiate_zeros, primitive_jvps
from ..core.jaxpr import ClosedJaxpr
from ..core.lowering import register_lowering, tensor_type, with_shape
from ..core.primitives import make_primitive
from ..core.staging import jaxpr_of, weakref_cache
from ..core.transposition import deftranspose, is_undefined_primal
from ..pytree.arguments import valid_jaxtype
from ..runtime.dispatch import def_numpy_or_xla
from ..text.naming import named
from . import elementwise as prim, windows
from .complex_numbers import has_nan
from .families import emit_region, lower_fun
from .gathering import gather, gather_p
from .scatter_evaluation import scatter_rule
from .selection import select
from .shaping import broadcast_in_dim, full, full_like, iota, reshape


def _scatter_shape(operand, indices, updates, *, dimension_numbers, **params):
    numbers = dimension_numbers
    ndim = indices.ndim - 1 + len(numbers.update_window_dims)
    if indices.ndim and updates.ndim != ndim:
        raise TypeError(f"Updates tensor must be of rank {ndim}; got {updates.ndim}. It has the "
                        f"dimensions update_window_dims={numbers.update_window_dims}, and those of "
                        "the indices but for the last one.")
    windows.check_indices("scatter", indices)
    windows.check_dims("scatter", "update_window_dims", numbers.update_window_dims, updates.ndim)
    windows.check_other_dims("scatter", operand, indices, numbers)
    same_dtypes("scatter", (operand, updates))
    kept = windows.window_dims(windows.of_gather(numbers), operand.ndim)
    if len(kept) != len(numbers.update_window_dims):
        size = operand.ndim - len(kept) + len(numbers.update_window_dims)
        raise TypeError(f"Scatter op has window of size {size}; doesn't match operand of rank "
                        f"{operand.ndim}. Each dimension of the operand must have an element of "
                        "update_window_dims, or be inserted or batching.")
    windows.check_index_map("scatter", operand, indices, numbers)
    for d, size in enumerate(windows.sizes_of_updates(operand, updates, numbers)):
        if d in kept and size > operand.shape[d]:
            raise TypeError("Bounds of the window dimensions of updates must not exceed the bounds "
                            f"of the corresponding dimensions of operand: {size} > "
                            f"{operand.shape[d]} in dimension {d}.")
    rest = [n for d, n in enumerate(updates.shape) if d not in numbers.update_window_dims]
    if rest != list(indices.shape[:-1]):
        raise TypeError("Bounds of the scatter dimensions of updates must be the same as the "
                        f"bounds of the corresponding dimensions of scatter indices: {rest} and "
                        f"{list(indices.shape[:-1])}.")
    return ShapedArray(operand.shape, operand.dtype, operand.weak_type)


# ----------------------------------------------------------------------------------------------
# The primitives


def _scatter_primitive(name: str, combine: np.ufunc | None, by_xla: Callable) -> Primitive:
    primitive = make_primitive(name, _scatter_shape)
    def_numpy_or_xla(primitive, scatter_rule(combine), by_xla)
    return primitive


def _beside_nan(operand, indices, updates, **params):
    return has_nan(operand, updates)


def _applies_function(*operands, update_jaxpr, **params):
    """Whether it is `scatter_apply`, whose function is a jaxpr."""
    return update_jaxpr is not None


scatter_p = _scatter_primitive("scatter", None, _applies_function)
scatter_add_p, scatter_sub_p, scatter_mul_p = [
    _scatter_primitive(name, combine, lambda *operands, **params: False) for name, combine in (
        ("scatter-add", np.add), ("scatter-sub", np.subtract), ("scatter-mul", np.multiply))]
scatter_min_p = _scatter_primitive("scatter-min", np.minimum, _beside_nan)
scatter_max_p = _scatter_primitive("scatter-max", np.maximum, _beside_nan)
SCATTERS = (scatter_p, scatter_add_p, scatter_sub_p, scatter_mul_p, scatter_min_p, scatter_max_p)


_combining_jaxprs: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def _combining_jaxpr(combine: Callable, aval: ShapedArray) -> ClosedJaxpr:
    """The function by which a scatter combines an element with its update, as a jaxpr.

    A trace makes each only once, and so it is printed once: ahead, if it is used twice.
    """
    known = _combining_jaxprs.setdefault(state.trace, {})
    if (combine, aval) not in known:
        known[combine, aval] = jaxpr_of(lambda x, y: [combine(x, y)], (aval, aval))
    return known[combine, aval]


def _check_promises(*promises) -> None:
    """The promises are known booleans: they become attributes of the compiled operation."""
    for promise in promises:
        if not isinstance(promise, (bool, np.bool_)):
            raise TypeError("indices_are_sorted and unique_indices must be True or False, got "
                            f"{promise!r}.")


def _scatter_function(primitive: Primitive, combine: Callable | None, what: str) -> Callable:
    @named(primitive.name.replace("-", "_"), what=what)
    @public
    def function(operand, scatter_indices, updates,
                 dimension_numbers: windows.ScatterDimensionNumbers, *,
                 indices_are_sorted: bool = False, unique_indices: bool = False,
                 mode: str | windows.GatherScatterMode | None = None):
        """`operand` with windows of it {what} those of `updates`.

        Args:
          operand: an array.
          scatter_indices: integers; along the last dimension, the place of one window.
          updates: an array of the windows, of the operand's dtype.
          dimension_numbers: which dimensions correspond.
          indices_are_sorted, unique_indices: promises, which may make it faster.
          mode: for windows outside of the operand; by default those are left out.

        Raises:
          TypeError: shapes, dtypes and dimension numbers that do not fit.
          ValueError: indices that are no integers.
        """
        _check_promises(indices_are_sorted, unique_indices)
        jaxpr, consts = None, ()
        if combine is not None:
            aval = typeof(operand)
            closed = _combining_jaxpr(combine, ShapedArray((), aval.dtype, aval.weak_type))
            jaxpr, consts = closed.jaxpr, tuple(closed.consts)
        return primitive.bind(
            operand, scatter_indices, updates, update_jaxpr=jaxpr, update_consts=consts,
            dimension_numbers=windows.canonical(dimension_numbers),
            indices_are_sorted=indices_are_sorted, unique_indices=unique_indices,
            mode=windows.GatherScatterMode.from_any(mode))

    return function


scatter = _scatter_function(scatter_p, None, "replaced by")
scatter_add = _scatter_function(scatter_add_p, prim.add, "increased by")
scatter_sub = _scatter_function(scatter_sub_p, prim.sub, "decreased by")
scatter_mul = _scatter_function(scatter_mul_p, prim.mul, "multiplied by")
scatter_min = _scatter_function(scatter_min_p, prim.min, "replaced by the minimum of them and")
scatter_max = _scatter_function(scatter_max_p, prim.max, "replaced by the maximum of them and")


@public
def scatter_apply(operand, scatter_indices, func: Callable, dimension_numbers, *,
                  update_shape: Sequence[int] = (), indices_are_sorted: bool = False,
                  unique_indices: bool = False,
                  mode: str | windows.GatherScatterMode | None = None):
    """`operand` with `func` applied to each element of some windows, once for each occurrence.

    Args:
      operand, scatter_indices, dimension_numbers: as for `scatter`.
      func: a function of one scalar.
      update_shape: the shape that the updates of a `scatter` would have.

    Raises:
      TypeError, ValueError: as `scatter`; and a `func` that does not return a scalar of its
        argument's dtype.
      NotImplementedError: `func` closes over traced values.
    """
    _check_promises(indices_are_sorted, unique_indices)
    aval = typeof(operand)
    scalar = ShapedArray((), aval.dtype, aval.weak_type)
    closed = _applied_jaxpr(func, scalar)
    return scatter_p.bind(
        operand, scatter_indices, full(update_shape, 0, aval.dtype), update_jaxpr=closed.jaxpr,
        update_consts=tuple(closed.consts), dimension_numbers=windows.canonical(dimension_numbers),
        indices_are_sorted=indices_are_sorted, unique_indices=unique_indices,
        mode=windows.GatherScatterMode.from_any(mode))


@weakref_cache
def _applied_jaxpr(func, scalar):
    """The jaxpr of a function of one element. Its second argument is the unused update."""
    closed = jaxpr_of(lambda x, _: [_one_array(func(x))], (scalar, scalar))
    (out,) = closed.out_avals
    if (out.shape, out.dtype) != ((), scalar.dtype):
        raise ValueError(f"apply: the function of an element of type {scalar.dtype.name} must "
                         f"return a scalar of that type, but it returned {out.str_short(True)}.")
    if any(isinstance(c, Tracer) for c in closed.consts):
        raise NotImplementedError("The function of `x.at[...].apply` cannot close over traced "
                                  "values: use `x.at[index].set(func(x[index]))`.")
    return closed


def _one_array(out):
    if not valid_jaxtype(out):
        raise ValueError(f"apply: the function must return one array, but it returned {out!r} of "
                         f"type {type(out).__name__}.")
    return out


# ----------------------------------------------------------------------------------------------
# Derivatives


def _zeros(x, dtype=None):
    return full_like(x, 0, dtype)


def _ones(x, dtype=None):
    return full_like(x, 1, dtype)


def _inverse_gather(x, indices, updates, numbers: windows.ScatterDimensionNumbers, **params):
    """Read what a scatter of windows like `updates` would write: its transpose, if it adds."""
    sizes = windows.sizes_of_updates(typeof(x), updates, numbers)
    return gather(x, indices, windows.of_gather(numbers), sizes, **params)


def _linear_scatter_jvp(primitive, primals, tangents, **params):
    """Of scatters that are linear in operand and updates together."""
    operand, indices, updates = primals
    out = primitive.bind(operand, indices, updates, **params)
    t_operand, t_updates = map(instantiate_zeros, tangents[::2])
    return out, primitive.bind(t_operand, indices, t_updates, **params)


primitive_jvps[scatter_add_p] = functools.partial(_linear_scatter_jvp, scatter_add_p)
primitive_jvps[scatter_sub_p] = functools.partial(_linear_scatter_jvp, scatter_sub_p)


def _scatter_jvp(primals, tangents, *, update_jaxpr, unique_indices, **params):
    """The windows may overlap, and then it is for the machine to say which of them wins.

    The tangent must be that of the winner. So each update gets a number, the numbers are scattered,
    and read again by a gather: who reads its own has won. With the losers and what was overwritten
    set to zero, scatter is a scatter-add.
    """
    if update_jaxpr is not None:
        raise NotImplementedError("scatter_apply (`x.at[...].apply`) has no derivative: use "
                                  "`x.at[index].set(func(x[index]))`.")
    operand, indices, updates = primals
    bind = functools.partial(scatter_p.bind, update_jaxpr=None, **params)
    t_operand, t_updates = map(instantiate_zeros, tangents[::2])
    if unique_indices:
        return (bind(operand, indices, updates, unique_indices=True),
                bind(t_operand, indices, t_updates, unique_indices=True))
    numbers = params["dimension_numbers"]
    ids = _numbered(updates, numbers)
    dtype = typeof(ids).dtype
    winners = bind(_zeros(operand, dtype), indices, ids, unique_indices=False)
    read = _inverse_gather(winners, indices, typeof(updates), numbers)
    add = functools.partial(_scatter_add, indices=indices, unique_indices=False, **params)
    kept = functools.partial(_where_equal, winners, lambda: _zeros(winners))
    won = functools.partial(_where_equal, ids, lambda: read)
    operand, updates = kept(operand), won(updates)
    t_operand, t_updates = kept(t_operand), won(t_updates)
    return add(operand, updates), add(t_operand, t_updates)


def _numbered(updates, numbers):
    """1, 2, … for each window of the updates, the same number in all of it."""
    shape = list(typeof(updates).shape)
    for d in numbers.update_window_dims:
        shape[d] = 1
    count = math.prod(shape)
    dtype = np.dtype("uint32" if count <= np.iinfo("uint32").max else "uint64")
    return prim.add(reshape(iota(dtype, count), shape), _ones(updates, dtype))


def _where_equal(x, y: Callable, values):
    return select(prim.eq(x, y()), values, _zeros(values))


def _scatter_add(operand, updates, *, indices, update_consts, dimension_numbers, **params):
    return scatter_add(operand, indices, updates, dimension_numbers, **params)


primitive_jvps[scatter_p] = _scatter_jvp


def _check_unique_factors(unique_indices):
    if not unique_indices:
        raise NotImplementedError("scatter_mul gradients are only implemented if "
                                  "`unique_indices=True`")


def _scatter_mul_jvp(t, x, indices, updates, *, update_jaxpr, update_consts, unique_indices,
                     **params):
    _check_unique_factors(unique_indices)
    return prim.mul(x, scatter_add(_zeros(x), indices, t, unique_indices=True, **params))


defjvp(scatter_mul_p, lambda t, x, indices, updates, **params:
       scatter_mul_p.bind(t, indices, updates, **params), None, _scatter_mul_jvp)


def _extreme_jvp(primitive, primals, tangents, **params):
    """The tangent at the extreme; the mean of the tangents of all that share it."""
    operand, indices, updates = primals
    out = primitive.bind(operand, indices, updates, **params)
    t_operand, t_updates = map(instantiate_zeros, tangents[::2])
    numbers = params["dimension_numbers"]
    read = lambda x: _inverse_gather(x, indices, typeof(updates), numbers)
    before, after = read(operand), read(out)
    won, stayed = prim.eq(updates, after), prim.eq(before, after)
    count = lambda chosen: read(scatter_add(_zeros(operand), indices, chosen(), numbers))
    winners = count(lambda: select(won, _ones(updates), _zeros(updates)))
    everyone = count(lambda: _ones(updates))
    share = select(stayed, 1.0 / (winners + 1), 1.0 / winners)
    share = select(won, share, _zeros(updates))
    share_of_operand = select(stayed, 1.0 / (winners + 1), _zeros(winners))
    # scatter-add leaves the operand's own tangent in place: add what changes it to its share.
    change = (-1.0 + share_of_operand) / everyone
    t_updates = read(t_operand) * change + t_updates * share
    del params["update_jaxpr"], params["update_consts"], params["dimension_numbers"]
    return out, scatter_add(t_operand, indices, t_updates, numbers, **params)


primitive_jvps[scatter_min_p] = functools.partial(_extreme_jvp, scatter_min_p)
primitive_jvps[scatter_max_p] = functools.partial(_extreme_jvp, scatter_max_p)


# ----------------------------------------------------------------------------------------------
# Transposes


def _gather_transpose(ct, operand, indices, *, dimension_numbers, slice_sizes, fill_value,
                      **params):
    zeros = full(operand.aval.shape, 0, typeof(ct).dtype)
    return scatter_add(zeros, indices, ct, windows.of_scatter(dimension_numbers), **params)


deftranspose(gather_p, _gather_transpose, None)


def _read_updates(ct, indices, updates, *, dimension_numbers, mode, **params):
    """The cotangent of updates that were added or set: what stands in their places."""
    aval = updates.aval if is_undefined_primal(updates) else typeof(updates)
    return _inverse_gather(ct, indices, aval, dimension_numbers, mode=mode, fill_value=0)


deftranspose(scatter_add_p, lambda ct, *operands, **params: ct, None,
             lambda ct, x, i, u, **params: _read_updates(ct, i, u, **params))
deftranspose(scatter_sub_p, lambda ct, *operands, **params: ct, None,
             lambda ct, x, i, u, **params: prim.neg(_read_updates(ct, i, u, **params)))


def _scatter_mul_transpose_updates(ct, x, indices, updates, *, unique_indices, **params):
    _check_unique_factors(unique_indices)
    return _read_updates(prim.mul(ct, x), indices, updates, **params)


def _scatter_mul_transpose_operand(ct, x, indices, updates, *, update_jaxpr, update_consts,
                                   **params):
    return scatter_mul(ct, indices, updates, **params)


deftranspose(scatter_mul_p, _scatter_mul_transpose_operand, None, _scatter_mul_transpose_updates)


def _check_unique(unique_indices):
    if not unique_indices:
        raise NotImplementedError("scatter transpose is only implemented where "
                                  "unique_indices=True")


def _scatter_transpose_operand(ct, x, indices, updates, *, unique_indices, **params):
    """Zero where the operand was overwritten."""
    _check_unique(unique_indices)
    aval = updates.aval if is_undefined_primal(updates) else typeof(updates)
    return scatter_p.bind(ct, indices, full(aval.shape, 0, typeof(ct).dtype),
                          unique_indices=True, **params)


def _scatter_transpose_updates(ct, x, indices, updates, *, unique_indices, **params):
    _check_unique(unique_indices)
    return _read_updates(ct, indices, updates, **params)


deftranspose(scatter_p, _scatter_transpose_operand, None, _scatter_transpose_updates)


# ----------------------------------------------------------------------------------------------
# Batching


def scatter_batching(primitive, args, dims, *, dimension_numbers, **params):
    """Each example is written into its own copy of the operand."""
    x, indices, updates = args
    size = next(typeof(a).shape[d] for a, d in zip(args, dims) if d is not None)
    x, updates = bdim_at_front(x, dims[0], size), bdim_at_front(updates, dims[2], size)
    window, inserted, index_map, batching, index_batching = dimension_numbers
    window, inserted, index_map, batching = map(
        windows.shifted, (window, inserted, index_map, batching))
    if dims[1] is None:
        window = (0, *window)
    else:
        indices = bdim_at_front(indices, dims[1], size)
        batching, index_batching = (0, *batching), windows.shifted(index_batching, (0,))
    numbers = windows.ScatterDimensionNumbers(window, inserted, index_map, batching, index_batching)
    return primitive.bind(x, indices, updates, dimension_numbers=numbers, **params), 0


for _primitive in SCATTERS:
    primitive_batchers[_primitive] = functools.partial(scatter_batching, _primitive)


# ----------------------------------------------------------------------------------------------
# Lowering


def _clamped(x, indices, updates, *, dimension_numbers):
    """Scatter's indices, moved inside: mode "clip"."""
    aval, dtype = typeof(indices), typeof(indices).dtype
    sizes = windows.sizes_of_updates(typeof(x), typeof(updates), dimension_numbers)
    limits = windows.sizes_vector([typeof(x).shape[d] - sizes[d]
                                   for d in dimension_numbers.scatter_dims_to_operand_dims], dtype)
    limits = broadcast_in_dim(limits, aval.shape, (aval.ndim - 1,))
    return prim.clamp(dtype.type(0), indices, limits)


_lower_clamped = lower_fun(_clamped)


def _lower_scatter(ctx, x, indices, updates, *, update_jaxpr, update_consts, dimension_numbers,
                   indices_are_sorted, unique_indices, mode):
    (out,) = ctx.avals_out
    if mode is windows.CLIP:
        indices = _lower_clamped(ctx, x, indices, updates, dimension_numbers=dimension_numbers)
    window, inserted, index_map, batching, index_batching = dimension_numbers
    numbers = windows.attribute(
        "scatter", update_window_dims=window, inserted_window_dims=inserted,
        input_batching_dims=batching, scatter_indices_batching_dims=index_batching,
        scatter_dims_to_operand_dims=index_map, index_vector_dim=indices.aval.ndim - 1)
    operands = (x, indices, updates)
    return ctx.op("\n".join([
        f'"stablehlo.scatter"({", ".join(v.name for v in operands)}) <{{indices_are_sorted = '
        f"{windows.flag(indices_are_sorted)}, scatter_dimension_numbers = {numbers}, "
        f"unique_indices = {windows.flag(unique_indices)}}}> ({{",
        *_combining_region(ctx, with_shape(x.aval, ()), update_jaxpr, update_consts),
        f"    }}) : ({', '.join(v.type for v in operands)}) -> {tensor_type(out)}",
    ]), out)


def _combining_region(ctx, scalar, jaxpr, consts) -> list[str]:
    """The lines of the function of an element and its update."""
    def combine(ctx, element, update):
        return ctx.inline(ClosedJaxpr(jaxpr, consts), [element, update])[0] if jaxpr else update

    names, lines = emit_region(ctx, combine, [scalar] * 2)
    return [f"    ^bb0({names}):", *lines]


for _primitive in SCATTERS:
    register_lowering(_primitive, _lower_scatter)
