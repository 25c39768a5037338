"""Chapter 13: convolutions of arrays, directly or by Fourier transforms."""

from collections.abc import Callable, Sequence

import numpy as np

from ...core.api import vmap
from ...core.boundary import public
from ...lax.convolution import conv_general_dilated
from ...lax.slicing import dynamic_slice
from ...numpy import fft
from ...numpy._arguments import (
    canonical_axis,
    check_arraylike,
    complex_input,
    ensure_arraylike,
    index_tuple,
    promote_dtypes_inexact,
)
from ...numpy._shaping import flip
from ...numpy._ufuncs import conj

_MODES = ("full", "same", "valid")


def _check_mode(mode: str) -> None:
    if mode not in _MODES:
        raise ValueError(f"mode must be one of {list(_MODES)}, got {mode!r}.")


def _covers(x, y) -> bool:
    """Whether `x` is at least as large as `y` in every dimension."""
    return all(n >= m for n, m in zip(x.shape, y.shape))


@public
def convolve(in1, in2, mode: str = "full", method: str = "auto", precision=None):
    """The convolution of two arrays: the sum over j of in1[k - j] * in2[j], with index vectors.

    Args:
      in1, in2: arrays with equally many dimensions.
      mode: "full": all k where they overlap; "same": as many as `in1` has elements, in the middle;
        "valid": those where they overlap completely.
      method: "auto" and "direct": as a convolution; "fft": as `fftconvolve`.
      precision: as for `lax.conv_general_dilated`; not for "fft".

    Returns:
      an array of an inexact dtype.

    Raises:
      ValueError: unknown mode or method; dimensions that do not fit; empty arrays; neither array
        is at least as large as the other in all dimensions.

    >>> jax.scipy.signal.convolve(jnp.array([1, 2, 3]), jnp.array([1, 1])).tolist()
    [1.0, 3.0, 5.0, 3.0]
    """
    if method == "fft":
        return fftconvolve(in1, in2, mode=mode)
    if method not in ("direct", "auto"):
        raise ValueError(f"Got {method=}; expected 'auto', 'fft', or 'direct'.")
    in1, in2 = ensure_arraylike("convolve", in1), ensure_arraylike("convolve", in2)
    return _convolve(in1, in2, mode, precision)


@public
def convolve2d(in1, in2, mode: str = "full", boundary: str = "fill", fillvalue: float = 0,
               precision=None):
    """The convolution of two matrices; arguments and errors are those of `convolve`.

    Args:
      boundary, fillvalue: "fill" and 0; there are no others.

    Raises:
      NotImplementedError: another boundary.

    >>> jax.scipy.signal.convolve2d(jnp.eye(2), jnp.ones((2, 2)), "valid").tolist()
    [[2.0]]
    """
    in1, in2 = _matrices("convolve2d", in1, in2, boundary, fillvalue)
    return _convolve(in1, in2, mode, precision)


def _matrices(name, in1, in2, boundary, fillvalue):
    if boundary != "fill" or fillvalue != 0:
        raise NotImplementedError(f"{name}() only supports boundary='fill', fillvalue=0")
    if np.ndim(in1) != 2 or np.ndim(in2) != 2:
        raise ValueError(f"{name}() only supports 2-dimensional inputs.")
    return ensure_arraylike(name, in1), ensure_arraylike(name, in2)


def _convolve(in1, in2, mode, precision):
    _check_mode(mode)
    if in1.ndim != in2.ndim:
        raise ValueError("in1 and in2 must have the same number of dimensions, got "
                         f"{in1.ndim} and {in2.ndim}.")
    if not in1.size or not in2.size:
        raise ValueError("zero-size arrays are not supported in convolutions, got shapes "
                         f"{in1.shape} and {in2.shape}.")
    in1, in2 = promote_dtypes_inexact(in1, in2)
    if not (_covers(in1, in2) or _covers(in2, in1)):
        raise ValueError("One input must be smaller than the other in every dimension, got shapes "
                         f"{in1.shape} and {in2.shape}.")
    second_shape = in2.shape
    if _covers(in2, in1):
        in1, in2 = in2, in1
    if mode == "valid":
        padding = [(0, 0)] * in2.ndim
    elif mode == "full":
        padding = [(n - 1, n - 1) for n in in2.shape]
    else:  # centred with respect to the first argument, whichever is the larger
        padding = [(n - 1 - (m - 1) // 2, n - m + (m - 1) // 2)
                   for n, m in zip(in2.shape, second_shape)]
    out = conv_general_dilated(in1[None, None], flip(in2)[None, None], (1,) * in1.ndim, padding,
                               precision=precision)
    return out[0, 0]


@public
def correlate(in1, in2, mode: str = "full", method: str = "auto", precision=None):
    """The correlation of two arrays: the sum over j of in1[k + j] * conj(in2[j]).

    Arguments and errors are those of `convolve`.

    >>> jax.scipy.signal.correlate(jnp.array([1, 2, 3]), jnp.array([0, 1]), "valid").tolist()
    [2.0, 3.0]
    """
    return convolve(in1, flip(conj(in2)), mode, method, precision)


@public
def correlate2d(in1, in2, mode: str = "full", boundary: str = "fill", fillvalue: float = 0,
                precision=None):
    """The correlation of two matrices; arguments and errors are those of `convolve2d`.

    >>> jax.scipy.signal.correlate2d(jnp.eye(2), jnp.eye(2), "valid").tolist()
    [[2.0]]
    """
    in1, in2 = _matrices("correlate2d", in1, in2, boundary, fillvalue)
    # As in SciPy, the larger one is the one that stands still.
    swap = _covers(in2, in1) and mode != "same" and not (mode == "valid" and in1.shape == in2.shape)
    if not swap:
        return flip(_convolve(flip(in1), conj(in2), mode, precision))
    out = _convolve(flip(in2), conj(in1), mode, precision)
    return out if mode == "valid" else conj(out)


# ----------------------------------------------------------------------------------------------
# By Fourier transforms


@public
def fftconvolve(in1, in2, mode: str = "full", axes: int | Sequence[int] | None = None):
    """The convolution of two arrays, as a product of their Fourier transforms: faster if both are
    large, and not exact.

    Args:
      in1, in2, mode: as for `convolve`.
      axes: the dimensions along which to convolve; in the others the sizes must be equal.

    Raises:
      TypeError: no arrays.
      ValueError: an unknown mode, or shapes that do not fit.

    >>> x, y = jnp.array([1.0, 2.0, 3.0]), jnp.array([1.0, 1.0])
    >>> jnp.round(jax.scipy.signal.fftconvolve(x, y), 3).tolist()
    [1.0, 3.0, 5.0, 3.0]
    """
    check_arraylike("fftconvolve", in1, in2)
    in1, in2 = promote_dtypes_inexact(in1, in2)
    if in1.ndim != in2.ndim:
        raise ValueError("in1 and in2 should have the same dimensionality, got "
                         f"{in1.ndim} and {in2.ndim}.")
    _check_mode(mode)
    function: Callable = lambda x, y: _fftconvolve(x, y, mode)
    if axes is not None:
        along = [canonical_axis(axis, in1.ndim) for axis in index_tuple(axes)]
        others = [d for d in range(in1.ndim) if d not in along]
        if any(in1.shape[d] != in2.shape[d] for d in others):
            raise ValueError("in1 and in2 must have the same sizes along axes that are not "
                             f"convolved, got {in1.shape} and {in2.shape}, {axes=}.")
        for d in others:
            function = vmap(function, in_axes=d, out_axes=d)
    return function(in1, in2)


def _fftconvolve(x, y, mode):
    if mode == "valid":
        if not (_covers(x, y) or _covers(y, x)):
            raise ValueError("For 'valid' mode, one input must be at least as large as the other "
                             f"in every dimension, got {x.shape} and {y.shape}.")
        if _covers(y, x):
            x, y = y, x
    full = tuple(n + m - 1 for n, m in zip(x.shape, y.shape))
    if all(n == 1 or m == 1 for n, m in zip(x.shape, y.shape)):
        out = x * y
    else:
        forward, backward = (fft.fftn, fft.ifftn) if complex_input(x) else (fft.rfftn, fft.irfftn)
        out = backward(forward(x, full) * forward(y, full), full)
    shape = {"full": full, "same": x.shape,
             "valid": tuple(n - m + 1 for n, m in zip(x.shape, y.shape))}[mode]
    return dynamic_slice(out, [(n - m) // 2 for n, m in zip(full, shape)], shape)
