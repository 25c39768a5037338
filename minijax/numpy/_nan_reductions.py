"""Chapter 12: reductions that leave out the NaNs."""

from __future__ import annotations

import numpy as np

from ..core.boundary import public
from ..lax import bitwise, complex_numbers, elementwise as lax
from ..text.naming import named
from ._arguments import (
    check_mask,
    check_no_out,
    constant_like,
    convert,
    ensure_arraylike,
    is_integer,
    promote_shapes,
)
from ._reductions import (
    MAX,
    MIN,
    PROD,
    SUM,
    all,
    max,
    mean,
    min,
    prod,
    start_value,
    sum,
    var_dtypes,
)
from ._searching import argmax, argmin
from ._select import _where
from ._staged import staged, with_dtype


def _without_nans(name, kind, a, nan_if_all_nan, where, **kwargs):
    """A reduction with the neutral element in the place of NaNs."""
    function = {"sum": sum, "prod": prod, "max": max, "min": min}[kind.name]
    a, where = ensure_arraylike(name, a), check_mask(name, where)
    if is_integer(a):
        return function(a, where=where, **kwargs)
    filled = _where(lax.ne(a, a), start_value(kind.start, a.dtype), a)
    out = function(filled, where=where, **kwargs)
    if not nan_if_all_nan:
        return out
    all_nan = all(lax.ne(a, a), kwargs["axis"], keepdims=kwargs["keepdims"])
    return _where(all_nan, constant_like(a, np.nan), out)


@staged(static_argnames=("axis", "keepdims"), eager=False)
def nanmin(a, axis=None, out=None, keepdims: bool = False, initial=None, where=None):
    """The least element, NaNs left out; arguments as for `min`."""
    return _without_nans("nanmin", MIN, a, initial is None, where, axis=axis, out=out,
                         keepdims=keepdims, initial=initial)


@staged(static_argnames=("axis", "keepdims"), eager=False)
def nanmax(a, axis=None, out=None, keepdims: bool = False, initial=None, where=None):
    """The greatest element, NaNs left out; arguments as for `max`."""
    return _without_nans("nanmax", MAX, a, initial is None, where, axis=axis, out=out,
                         keepdims=keepdims, initial=initial)


@with_dtype(2)
@staged(static_argnames=("axis", "dtype", "keepdims"), eager=False)
def nansum(a, axis=None, dtype=None, out=None, keepdims: bool = False, initial=None, where=None):
    """The sum, NaNs left out; arguments as for `sum`."""
    return _without_nans("nansum", SUM, a, False, where, axis=axis, out=out, keepdims=keepdims,
                         initial=initial, dtype=dtype)


@with_dtype(2)
@staged(static_argnames=("axis", "dtype", "keepdims"), eager=False)
def nanprod(a, axis=None, dtype=None, out=None, keepdims: bool = False, initial=None, where=None):
    """The product, NaNs left out; arguments as for `prod`."""
    return _without_nans("nanprod", PROD, a, False, where, axis=axis, out=out, keepdims=keepdims,
                         initial=initial, dtype=dtype)


@with_dtype(2, "mean")
@staged(static_argnames=("axis", "dtype", "keepdims"), eager=False)
def nanmean(a, axis=None, dtype=None, out=None, keepdims: bool = False, where=None):
    """The mean, NaNs left out; arguments as for `mean`."""
    a, where = ensure_arraylike("nanmean", a), check_mask("nanmean", where)
    check_no_out("nanmean", out)
    if is_integer(a):
        return mean(a, axis, dtype, keepdims=keepdims, where=where)
    dtype = a.dtype if dtype is None else dtype
    count = sum(bitwise.bitwise_not(lax.ne(a, a)), axis, dtype, keepdims=keepdims, where=where)
    return lax.div(nansum(a, axis, dtype=dtype, keepdims=keepdims, where=where), count)


@with_dtype(2)
@staged(static_argnames=("axis", "dtype", "keepdims"), eager=False)
def nanvar(a, axis=None, dtype=None, out=None, ddof=0, keepdims: bool = False, where=None,
           mean=None):
    """The variance, NaNs left out; arguments as for `var`."""
    a, where = ensure_arraylike("nanvar", a), check_mask("nanvar", where)
    check_no_out("nanvar", out)
    working, dtype = var_dtypes(a.dtype, dtype)
    a = convert(a, working)
    a_mean = nanmean(a, axis, dtype=working, keepdims=True, where=where) if mean is None \
        else convert(ensure_arraylike("nanvar", mean), working)
    centered = _where(lax.ne(a, a), 0, lax.sub(*promote_shapes("subtract", a, a_mean)))
    centered = (complex_numbers.real(lax.mul(centered, complex_numbers.conj(centered)))
                if working.kind == "c" else lax.square(centered))
    count = sum(bitwise.bitwise_not(lax.ne(a, a)), axis, keepdims=keepdims, where=where)
    count = count - ddof
    too_few = lax.le(count, constant_like(count, 0))
    total = _where(too_few, np.nan, sum(centered, axis, keepdims=keepdims, where=where))
    divisor = _where(too_few, 1, count)
    return convert(lax.div(total, convert(divisor, total.dtype)), dtype)


@with_dtype(2)
@staged(static_argnames=("axis", "dtype", "keepdims"), eager=False)
def nanstd(a, axis=None, dtype=None, out=None, ddof=0, keepdims: bool = False, where=None,
           mean=None):
    """The standard deviation, NaNs left out; arguments as for `std`."""
    a, where = ensure_arraylike("nanstd", a), check_mask("nanstd", where)
    check_no_out("nanstd", out)
    return lax.sqrt(nanvar(a, axis, dtype, ddof=ddof, keepdims=keepdims, where=where, mean=mean))


def _nan_arg_extreme(name, search, worst):
    @staged(static_argnames=("axis", "keepdims"))
    def staged_function(a, axis=None, keepdims=False):
        if is_integer(a):
            return search(a, axis, keepdims=keepdims)
        is_nan = lax.ne(a, a)
        found = search(_where(is_nan, worst, a), axis, keepdims=keepdims)
        return _where(all(is_nan, axis, keepdims=keepdims), -1, found)

    @named(name, search=search.__name__)
    @public
    def function(a, axis: int | None = None, out=None, keepdims: bool | None = None):
        """`{search}` with NaNs left out; -1 if all are NaN."""
        check_no_out(name, out)
        return staged_function(ensure_arraylike(name, a), axis, keepdims=bool(keepdims))

    staged_function.__wrapped__.__name__ = f"_{name}"
    return function


nanargmax = _nan_arg_extreme("nanargmax", argmax, -np.inf)
nanargmin = _nan_arg_extreme("nanargmin", argmin, np.inf)
