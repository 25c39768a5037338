"""JAX's commonest primitives, evaluated by NumPy: a first answer, which no compilation delays.

JAX compiles each operation for each shape, which takes longer than everything else that a random
program does. Most programs are therefore first run with `jit` disabled and with these evaluation
rules. JAX still traces, differentiates and batches. A program whose results differ from minijax's
is run again in JAX as it is, and only that answer counts. A fixed share of all programs is run in
JAX as it is in the first place.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from jax import lax
from jax.extend.core import Primitive
from scipy import special

FLOAT, COMPLEX, INTEGER, BOOLEAN = "f", "c", "iu", "b"


class Declined(Exception):
    """These operands are left to XLA."""


def kind(x: np.ndarray) -> str:
    """The class of the array's elements; bfloat16 counts as a float."""
    return "f" if x.dtype.name == "bfloat16" else x.dtype.kind


def elementwise(kinds: str, f: Callable) -> Callable:
    """A rule for operands of some kinds."""

    def rule(*args: np.ndarray, **_: Any) -> np.ndarray:
        if kind(args[0]) not in kinds:
            raise Declined
        return f(*args)

    return rule


def _division(x: np.ndarray, y: np.ndarray, **_: Any) -> np.ndarray:
    if kind(x) in "fc":
        return np.divide(x, y)
    if not np.all(y) or kind(x) == "i" and np.any(y == -1):
        raise Declined
    return np.trunc(x.astype(float) / y).astype(x.dtype)


def _remainder(x: np.ndarray, y: np.ndarray, **_: Any) -> np.ndarray:
    if kind(x) not in "f" and (not np.all(y) or np.any(y == -1)):
        raise Declined
    return np.fmod(x, y)


def _integer_pow(x: np.ndarray, *, y: int) -> np.ndarray:
    if kind(x) not in "fc" or abs(y) > 4:
        raise Declined
    power = np.ones_like(x)
    for _ in range(abs(y)):
        power = power * x
    return 1 / power if y < 0 else power


def _convert(x: np.ndarray, *, new_dtype: Any, **_: Any) -> np.ndarray:
    if not isinstance(new_dtype, np.dtype):
        raise Declined
    target = np.empty((), new_dtype)
    if kind(x) in "c" and kind(target) != "c":
        raise Declined
    if kind(target) in "iu" and kind(x) == "f" and not np.all((x > -100) & (x < 100)):
        raise Declined
    if kind(target) == "u" and kind(x) == "f" and np.any(x < 0):
        raise Declined
    return x.astype(new_dtype)


def _broadcast_in_dim(x: np.ndarray, *, shape: tuple, broadcast_dimensions: tuple, **_: Any) -> Any:
    wide = [1] * len(shape)
    for i, d in enumerate(broadcast_dimensions):
        wide[d] = x.shape[i]
    return np.broadcast_to(x.reshape(wide), shape)


def _reduction(f: Callable, kinds: str) -> Callable:
    def rule(x: np.ndarray, *, axes: tuple, **_: Any) -> np.ndarray:
        if kind(x) not in kinds:
            raise Declined
        return f(x, tuple(axes))

    return rule


def _sum(x: np.ndarray, axes: tuple) -> np.ndarray:
    wide = x.astype(np.float32) if x.dtype.itemsize == 2 and kind(x) == "f" else x
    return np.sum(wide, axis=axes, dtype=wide.dtype).astype(x.dtype)


def _extreme(f: Callable) -> Callable:
    def reduce(x: np.ndarray, axes: tuple) -> np.ndarray:
        if x.size == 0:
            raise Declined
        return f(x, axis=axes)

    return reduce


def _cumulative(f: Callable) -> Callable:
    def rule(x: np.ndarray, *, axis: int, reverse: bool) -> np.ndarray:
        if kind(x) not in "fiuc" or x.dtype.itemsize < 4:
            raise Declined
        flipped = np.flip(x, axis) if reverse else x
        result = f.accumulate(flipped, axis=axis, dtype=x.dtype)  # type: ignore[attr-defined]
        return np.flip(result, axis) if reverse else result

    return rule


def _pad(x: np.ndarray, value: np.ndarray, *, padding_config: tuple) -> np.ndarray:
    if any(low < 0 or high < 0 or inner for low, high, inner in padding_config):
        raise Declined
    result = np.full([n + low + high for n, (low, high, _) in zip(x.shape, padding_config, strict=True)], value)
    result[tuple(slice(low, low + n) for n, (low, _, _) in zip(x.shape, padding_config, strict=True))] = x
    return result


def _select_n(which: np.ndarray, *cases: np.ndarray) -> np.ndarray:
    if kind(which) != "b" or len(cases) != 2:
        raise Declined
    return np.where(which, cases[1], cases[0])


def _slice(x: np.ndarray, *, start_indices: tuple, limit_indices: tuple, strides: Any) -> np.ndarray:
    strides = strides or (1,) * x.ndim
    return x[tuple(slice(*s) for s in zip(start_indices, limit_indices, strides, strict=True))]


def _starts(x: np.ndarray, sizes: tuple, starts: tuple) -> tuple:
    return tuple(slice(s := min(max(int(i), 0), n - size), s + size)
                 for i, n, size in zip(starts, x.shape, sizes, strict=True))


def _dynamic_slice(x: np.ndarray, *starts: np.ndarray, slice_sizes: tuple) -> np.ndarray:
    return x[_starts(x, slice_sizes, starts)]


def _dynamic_update_slice(x: np.ndarray, update: np.ndarray, *starts: np.ndarray) -> np.ndarray:
    result = x.copy()
    result[_starts(x, update.shape, starts)] = update
    return result


def _dot_general(x: np.ndarray, y: np.ndarray, *, dimension_numbers: tuple, precision: Any,
                 preferred_element_type: Any, out_sharding: Any) -> np.ndarray:
    if kind(x) not in "fci" or x.dtype != y.dtype or preferred_element_type not in (None, x.dtype):
        raise Declined
    (xc, yc), (xb, yb) = dimension_numbers
    xi, yi = list(range(x.ndim)), list(range(x.ndim, x.ndim + y.ndim))
    for i, j in zip((*xc, *xb), (*yc, *yb), strict=True):
        yi[j] = xi[i]
    rest_x = [xi[i] for i in range(x.ndim) if i not in (*xc, *xb)]
    rest_y = [yi[j] for j in range(y.ndim) if j not in (*yc, *yb)]
    wide = np.float32 if x.dtype.itemsize == 2 else x.dtype
    out = np.einsum(x.astype(wide), xi, y.astype(wide), yi, [xi[i] for i in xb] + rest_x + rest_y)
    return np.asarray(out).astype(x.dtype)


def _argument(f: Callable) -> Callable:
    def rule(x: np.ndarray, *, axes: tuple, index_dtype: Any) -> np.ndarray:
        return f(x, axis=axes[0]).astype(index_dtype)

    return rule


def _logistic(x: np.ndarray) -> np.ndarray:
    return (1 / (1 + np.exp(-x.astype(np.float64)))).astype(x.dtype)


def _sign(x: np.ndarray) -> np.ndarray:
    return np.sign(x)


def _special(f: Callable) -> Callable:
    return lambda x: f(x.astype(np.float64)).astype(x.dtype)


def _gather(x: np.ndarray, indices: np.ndarray, *, dimension_numbers: Any, slice_sizes: tuple,
            mode: Any, fill_value: Any, **_: Any) -> np.ndarray:
    dims = dimension_numbers
    gone = (*dims.collapsed_slice_dims, *dims.operand_batching_dims)
    kept = [n for d, n in enumerate(slice_sizes) if d not in gone]
    batch = indices.shape[:-1]
    if fill_value is not None or kind(x) not in "fciu":
        raise Declined
    filling = "FILL" in str(mode)
    empty = np.nan if kind(x) in "fc" else np.iinfo(x.dtype).min if kind(x) == "i" else np.iinfo(x.dtype).max
    out = np.empty((*batch, *kept), x.dtype)
    for place in np.ndindex(*batch):
        start = [0] * x.ndim
        for d, i in zip(dims.start_index_map, indices[place], strict=True):
            start[d] = int(i)
        for d, i in zip(dims.operand_batching_dims, dims.start_indices_batching_dims, strict=True):
            start[d] = place[i]
        inside = all(0 <= s <= n - size for s, n, size in zip(start, x.shape, slice_sizes, strict=True))
        if filling and not inside:
            out[place] = empty
            continue
        out[place] = x[_starts(x, slice_sizes, tuple(start))].reshape(kept)
    ends = range(len(batch), len(batch) + len(kept))
    return np.moveaxis(out, ends, dims.offset_dims)


def _scatter(combine: Callable) -> Callable:
    def rule(x: np.ndarray, indices: np.ndarray, updates: np.ndarray, *, dimension_numbers: Any,
             mode: Any, **_: Any) -> np.ndarray:
        dims = dimension_numbers
        if kind(x) not in "fciu" or x.dtype.itemsize < 4:
            raise Declined
        gone = (*dims.inserted_window_dims, *dims.operand_batching_dims)
        window = [updates.shape[d] for d in dims.update_window_dims]
        batch = indices.shape[:-1]
        ends = range(len(batch), len(batch) + len(window))
        updates = np.moveaxis(updates, dims.update_window_dims, ends)
        rest = iter(window)
        sizes = tuple(1 if d in gone else next(rest) for d in range(x.ndim))
        result = x.copy()
        for place in np.ndindex(*batch):
            start = [0] * x.ndim
            for d, i in zip(dims.scatter_dims_to_operand_dims, indices[place], strict=True):
                start[d] = int(i)
            for d, i in zip(dims.operand_batching_dims, dims.scatter_indices_batching_dims, strict=True):
                start[d] = place[i]
            inside = all(0 <= s <= n - size for s, n, size in zip(start, x.shape, sizes, strict=True))
            if not inside and "CLIP" not in str(mode):
                continue
            where = _starts(x, sizes, tuple(start))
            result[where] = combine(result[where], updates[place].reshape(sizes))
        return result

    return rule


def _sort(*xs: np.ndarray, dimension: int, is_stable: bool, num_keys: int) -> list[np.ndarray]:
    keys = xs[:num_keys]
    if any(kind(x) not in "iuf" or np.any(x != x) or (kind(x) == "f" and np.any(x == 0)) for x in keys):
        raise Declined
    order = np.lexsort(keys[::-1], axis=dimension)
    return [np.take_along_axis(x, order, dimension) for x in xs]


def _split(x: np.ndarray, *, sizes: tuple, axis: int) -> list[np.ndarray]:
    return np.split(x, np.cumsum(sizes)[:-1], axis)


def _unstack(x: np.ndarray, *, axis: int) -> list[np.ndarray]:
    return [np.take(x, i, axis) for i in range(x.shape[axis])]


def _clamp(low: np.ndarray, x: np.ndarray, high: np.ndarray) -> np.ndarray:
    if kind(x) not in "fiu":
        raise Declined
    return np.minimum(np.maximum(x, low), high)


def _pow(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if kind(x) != "f" or x.dtype != y.dtype:
        raise Declined
    return np.power(x, y)


def _logical_shift(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if kind(x) != "u" or np.any(y >= 8 * x.dtype.itemsize):
        raise Declined
    return x >> y


def _bitcast(x: np.ndarray, *, new_dtype: Any) -> np.ndarray:
    if not isinstance(new_dtype, np.dtype) or new_dtype.itemsize != x.dtype.itemsize or not x.ndim:
        raise Declined
    return np.ascontiguousarray(x).view(new_dtype)


RULES: dict[str, Callable] = {
    **{f"{name}_p": elementwise(kinds, f) for name, kinds, f in [
        ("sin", "f", np.sin), ("cos", "f", np.cos), ("tan", "f", np.tan), ("tanh", "f", np.tanh),
        ("exp", "fc", np.exp), ("exp2", "f", np.exp2), ("log", "f", np.log), ("sqrt", "f", np.sqrt),
        ("log1p", "f", np.log1p), ("expm1", "f", np.expm1), ("neg", "fci", np.negative),
        ("abs", "f", np.abs), ("sign", "f", _sign), ("floor", "f", np.floor), ("ceil", "f", np.ceil),
        ("square", "fci", np.square), ("rsqrt", "f", lambda x: 1 / np.sqrt(x)),
        ("logistic", "f", _logistic), ("erf", "f", _special(special.erf)),
        ("erfc", "f", _special(special.erfc)), ("lgamma", "f", _special(special.gammaln)),
        ("not", "b", np.logical_not), ("is_finite", "f", np.isfinite),
        ("sinh", "f", np.sinh), ("cosh", "f", np.cosh), ("asinh", "f", np.arcsinh),
        ("atan", "f", np.arctan), ("cbrt", "f", np.cbrt),
        ("real", "c", np.real), ("imag", "c", np.imag), ("conj", "c", np.conj),
        ("copy", "fciub", np.array), ("copy", "fciub", np.array),
        ("add", "fciu", np.add), ("sub", "fciu", np.subtract), ("mul", "fciu", np.multiply),
        ("add_any", "fciu", np.add), ("max", "fiu", np.maximum), ("min", "fiu", np.minimum),
        ("max", "fiub", np.maximum), ("min", "fiub", np.minimum),
        ("eq", "fciub", np.equal), ("ne", "fciub", np.not_equal), ("lt", "fiu", np.less),
        ("le", "fiu", np.less_equal), ("gt", "fiu", np.greater), ("ge", "fiu", np.greater_equal),
        ("and", "iub", np.bitwise_and), ("or", "iub", np.bitwise_or), ("xor", "iub", np.bitwise_xor),
        ("atan2", "f", np.arctan2), ("complex", "f", lambda x, y: x + 1j * y),
    ]},
    "div_p": _division, "rem_p": _remainder, "integer_pow_p": _integer_pow,
    "convert_element_type_p": _convert, "broadcast_in_dim_p": _broadcast_in_dim,
    "reshape_p": lambda x, *, new_sizes, dimensions, **_: x.reshape(new_sizes),
    "transpose_p": lambda x, *, permutation: np.transpose(x, permutation),
    "squeeze_p": lambda x, *, dimensions: np.squeeze(x, tuple(dimensions)),
    "concatenate_p": lambda *xs, dimension: np.concatenate(xs, dimension),
    "rev_p": lambda x, *, dimensions: np.flip(x, tuple(dimensions)),
    "select_n_p": _select_n, "slice_p": _slice, "pad_p": _pad,
    "dynamic_slice_p": _dynamic_slice, "dynamic_update_slice_p": _dynamic_update_slice,
    "iota_p": lambda *, dtype, shape, dimension, **_: np.broadcast_to(
        np.arange(shape[dimension]).astype(dtype).reshape(
            [-1 if i == dimension else 1 for i in range(len(shape))]), shape),
    "reduce_sum_p": _reduction(_sum, "fci"),
    "reduce_prod_p": _reduction(lambda x, axes: np.prod(x, axis=axes, dtype=x.dtype), "f"),
    "reduce_max_p": _reduction(_extreme(np.max), "fiu"),
    "reduce_min_p": _reduction(_extreme(np.min), "fiu"),
    "reduce_and_p": _reduction(lambda x, axes: np.all(x, axis=axes), "b"),
    "reduce_or_p": _reduction(lambda x, axes: np.any(x, axis=axes), "b"),
    "argmax_p": _argument(np.argmax), "argmin_p": _argument(np.argmin),
    "cumsum_p": _cumulative(np.add), "cumprod_p": _cumulative(np.multiply),
    "dot_general_p": _dot_general, "gather_p": _gather,
    "scatter_p": _scatter(lambda old, new: new), "scatter_add_p": _scatter(np.add),
    "scatter_mul_p": _scatter(np.multiply), "scatter_max_p": _scatter(np.maximum),
    "scatter_min_p": _scatter(np.minimum), "sort_p": _sort, "split_p": _split, "unstack_p": _unstack,
    "stack_p": lambda *xs, axis: np.stack(xs, axis), "clamp_p": _clamp, "pow_p": _pow,
    "shift_right_logical_p": _logical_shift, "bitcast_convert_type_p": _bitcast,
}  # fmt: skip


def _cond(index: Any, *args: Any, branches: tuple, **_: Any) -> list:
    from jax.extend.core import jaxpr_as_fun

    return jaxpr_as_fun(branches[min(max(int(index), 0), len(branches) - 1)])(*args)


def _while(*args: Any, cond_jaxpr: Any, body_jaxpr: Any, cond_nconsts: int, body_nconsts: int) -> list:
    from jax.extend.core import jaxpr_as_fun

    condition, body = jaxpr_as_fun(cond_jaxpr), jaxpr_as_fun(body_jaxpr)
    consts, consts2, carry = (args[:cond_nconsts], args[cond_nconsts:][:body_nconsts],
                              args[cond_nconsts + body_nconsts:])
    first = condition(*consts, *carry)[0]
    if first.shape:
        raise Declined
    while condition(*consts, *carry)[0]:
        carry = body(*consts2, *carry)
    return list(carry)


def _scan(*args: Any, jaxpr: Any, length: int, reverse: bool, num_consts: int, num_carry: int,
          **_: Any) -> list:
    from jax import numpy as jnp
    from jax.extend.core import jaxpr_as_fun

    if not length:
        raise Declined
    step = jaxpr_as_fun(jaxpr)
    consts, carry, xs = args[:num_consts], args[num_consts:][:num_carry], args[num_consts + num_carry:]
    collected = []
    for i in range(length)[:: -1 if reverse else 1]:
        out = step(*consts, *carry, *(x[i] for x in xs))
        carry = out[:num_carry]
        collected.append(out[num_carry:])
    columns = zip(*(collected[::-1] if reverse else collected), strict=True)
    return [*carry, *(jnp.stack(column) for column in columns)]


CONTROL_FLOW = {"cond_p": _cond, "while_p": _while, "scan_p": _scan}


def install() -> None:
    """Give JAX's primitives these evaluation rules, which are used while `jit` is disabled."""
    from jax._src import ad_util, config, core, xla_bridge
    from jax._src.lax import lax as internal_lax
    from jax._src.lax import slicing
    from jax._src.sharding_impls import SingleDeviceSharding
    from jaxlib import xla_client

    device = xla_bridge.get_backend("cpu").local_devices()[0]
    sharding = SingleDeviceSharding(device)
    put = xla_client.batched_device_put

    @functools.lru_cache(maxsize=100_000)
    def result_type(primitive: Primitive, avals: tuple, params: tuple, x64: bool) -> Any:
        found = primitive.abstract_eval(*avals, **dict(params))[0]
        return found if primitive.multiple_results else [found]

    def evaluation(primitive: Primitive, rule: Callable, compiled: Callable) -> Callable:
        def impl(*args: Any, **params: Any) -> Any:
            if not config.disable_jit.value:
                return compiled(*args, **params)
            try:
                avals = tuple(core.typeof(x) for x in args)
                types = result_type(primitive, avals, tuple(params.items()), config.enable_x64.value)
                if any(t.dtype.fields is not None for t in types if hasattr(t.dtype, "fields")):
                    raise Declined
                values = rule(*(np.asarray(x) for x in args), **params)
                values = values if primitive.multiple_results else [values]
                values = [np.asarray(v) for v in values]
            except (Declined, TypeError, ValueError, OverflowError):
                return compiled(*args, **params)
            if [v.shape for v in values] != [t.shape for t in types]:
                return compiled(*args, **params)
            results = [put(t, sharding, [np.array(v, t.dtype, order="C")], [device], False, True,
                           enable_x64=True) for v, t in zip(values, types, strict=True)]
            return results if primitive.multiple_results else results[0]

        return impl

    modules = (lax, ad_util, internal_lax, slicing)
    for name, rule in RULES.items():
        primitive = next((p for p in (getattr(module, name, None) for module in modules) if p), None)
        if primitive is not None:
            primitive.def_impl(evaluation(primitive, rule, primitive.impl))

    def interpretation(rule: Callable, compiled: Callable) -> Callable:
        def impl(*args: Any, **params: Any) -> Any:
            if config.disable_jit.value:
                with contextlib.suppress(Declined):
                    return rule(*args, **params)
            return compiled(*args, **params)

        return impl

    for name, rule in CONTROL_FLOW.items():
        primitive = getattr(lax, name)
        primitive.def_impl(interpretation(rule, primitive.impl))
