"""Chapter 12: the methods and operators of arrays that are functions of `minijax.numpy`."""

import functools
from typing import Any

import numpy as np

from ..core.array import Array
from ..core.boundary import public
from ..core.core import install_methods
from ..core.operators import general, install_binary_operators, with_own_arrays
from . import (
    _arithmetic,
    _diagonals,
    _editing,
    _indexing,
    _joining,
    _namespace,
    _products,
    _reductions,
    _running,
    _searching,
    _shaping,
    _sorting,
    _special,
    _ufuncs,
    _views,
)
from ._constructors import copy, on_device


@public
def _round_method(self, ndigits: int | None = None):
    rounded = _ufuncs.round(self, decimals=ndigits or 0)
    return rounded.astype(int) if ndigits is None else rounded


@public
def _var(self, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=None,
         correction=None):
    return _reductions.var(self, axis, dtype, out, ddof, keepdims, where=where,
                           correction=correction)


@public
def _std(self, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=None,
         correction=None):
    return _reductions.std(self, axis, dtype, out, ddof, keepdims, where=where,
                           correction=correction)


@public
def _clip(self, min=None, max=None):
    return _special.clip(self, min=min, max=max)


@public
def _trace(self, offset=0, axis1: int = 0, axis2: int = 1, dtype=None, out=None):
    return _diagonals.trace(self, offset=offset, axis1=axis1, axis2=axis2, dtype=dtype, out=out)


@public
def _contains(self, element):
    if element is None or isinstance(element, str):
        raise TypeError(f"Array.__contains__: unsupported operand type {type(element)}.")
    if self.ndim != 1:
        raise ValueError("Array.__contains__: search array must be one-dimensional, got "
                         f"arr.shape={self.shape}.")
    if np.ndim(element):
        raise ValueError("Array.__contains__: only a scalar can be an element of an array, got an "
                         f"array of shape {np.shape(element)}.")
    return bool(_reductions.any(self == element))


@public
def _compress(self, condition, axis: int | None = None, *, out=None, size=None, fill_value=0):
    return _indexing.compress(condition, self, axis, size=size, fill_value=fill_value, out=out)


@public
def _to_device(self, device, *, stream=None):
    """The array on a device, as by `device_put`."""
    if stream is not None:
        raise NotImplementedError("stream argument of array.to_device()")
    return on_device(self, device)


def _flat(self) -> Any:
    raise NotImplementedError("JAX Arrays do not implement the arr.flat property: consider "
                              "arr.flatten() instead.")


@public
def _argsort(self, axis: int | None = -1, *, kind=None, order=None, stable: bool = True,
             descending: bool = False):
    return _sorting.argsort(self, axis, kind=kind, order=order, stable=stable,
                            descending=descending)


install_methods({
    name: getattr(_reductions, name) for name in (
        "all", "any", "max", "mean", "min", "prod", "ptp", "sum")
})
install_methods({
    "var": _var, "std": _std, "argmax": _searching.argmax, "argmin": _searching.argmin,
    "clip": _clip, "round": _ufuncs.round, "__round__": _round_method,
    "conj": _ufuncs.conj, "conjugate": _ufuncs.conjugate,
    "real": property(_ufuncs.real), "imag": property(_ufuncs.imag),
    "cumsum": _running.cumsum, "cumprod": _running.cumprod, "dot": _products.dot,
    "copy": lambda x: copy(x), "nonzero": _special.nonzero,
    "diagonal": _diagonals.diagonal, "trace": _trace, "repeat": _shaping.repeat,
    "flatten": _shaping.ravel, "ravel": _shaping.ravel, "squeeze": _shaping.squeeze,
    "swapaxes": _shaping.swapaxes, "flat": property(_flat),
    "_split": _joining.split, "__contains__": _contains,
    "sort": _sorting.sort, "argsort": _argsort, "argpartition": _sorting.argpartition,
    "searchsorted": _searching.searchsorted, "choose": _editing.choose, "take": _indexing.take,
    "compress": _compress, "view": _views.view, "byteswap": _views.byteswap,
    "to_device": _to_device,
    "__array_namespace__": _namespace.array_namespace,
})


def _of_own_arrays(function):
    """A staged function as an operator, whose other operand may be an object with an array."""
    @functools.wraps(function)
    def operator(x, y):
        if type(x) is type(y) is Array:
            return function(x, y)
        return function(*with_own_arrays([x, y]))

    return operator


general["pow"] = _arithmetic.power
install_binary_operators({
    "floordiv": _of_own_arrays(_arithmetic.floor_divide),
    "mod": _of_own_arrays(_arithmetic.remainder), "divmod": _of_own_arrays(_arithmetic.divmod),
    "lshift": _arithmetic.left_shift, "rshift": _arithmetic.right_shift,
})
