"""Chapter 13: `scipy.fft`, cosine transforms, by way of Fourier transforms of the same length.

Of a vector x of length n, the transform is y[k] = 2 Σ x[j] cos(π k (2j + 1) / 2n). Let v be the
even elements of x, followed by the odd ones in reverse: with w = exp(-πi/2n) and v's Fourier
transform V, it is y[k] = 2 Re(wᵏ V[k]). (J. Makhoul, A fast cosine transform in one and two
dimensions, 1980.)
"""

import operator
from collections.abc import Callable, Sequence

import numpy as np

from ..core.boundary import public
from ..lax import complex_numbers, elementwise as lax
from ..lax.cutting import concatenate, pad, slice_in_dim
from ..lax.shaping import expand_dims, full, rev
from ..numpy import fft
from ..numpy._arguments import (
    canonical_axis,
    complex_input,
    ensure_arraylike,
    promote_dtypes_inexact,
)
from ..numpy._constructors import arange, zeros_like

__all__ = ["dct", "dctn", "idct", "idctn"]


@public
def dct(x, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None):
    """The discrete cosine transform along an axis, of type 2.

    Args:
      x: an array of any shape.
      type: 2; there are no others.
      n: the size of the transform: if it is greater than that of `x`, zeros fill it up; if less,
        the rest is cut off.
      axis: an int.
      norm: "ortho": scaled such that it is an orthogonal map; `None` or "backward": not scaled.

    Raises:
      NotImplementedError: another type.
      ValueError: an unknown `norm`, or no such axis.

    >>> dct(jnp.ones(2)).tolist()
    [4.0, 0.0]
    """
    x = _checked("dct", x, type, norm)
    return _by_parts(lambda x: _dct(_resized(x, _at(n, axis, x.ndim)), axis, norm), x)


@public
def idct(x, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None):
    """The inverse of `dct`; arguments as there."""
    x = _checked("idct", x, type, norm)
    return _by_parts(lambda x: _idct(_resized(x, _at(n, axis, x.ndim)), axis, norm), x)


@public
def dctn(x, type: int = 2, s: Sequence[int] | None = None, axes: Sequence[int] | None = None,
         norm: str | None = None):
    """The discrete cosine transform along several axes, of type 2.

    Args:
      x: an array of any shape.
      s: the sizes of the transform along these axes.
      axes: which ones; by default the last `len(s)`, or all.
      type, norm: as for `dct`.

    Raises:
      NotImplementedError: another type.
      ValueError: an unknown `norm`, more sizes than dimensions, or an axis that does not exist.
    """
    return _along_several("dctn", _dct, x, type, s, axes, norm)


@public
def idctn(x, type: int = 2, s: Sequence[int] | None = None, axes: Sequence[int] | None = None,
          norm: str | None = None):
    """The inverse of `dctn`; arguments as there."""
    return _along_several("idctn", _idct, x, type, s, axes, norm)


# ----------------------------------------------------------------------------------------------
# Arguments


def _checked(name, x, type, norm):
    x = ensure_arraylike(name, x)
    if type != 2:
        raise NotImplementedError(f"jax.scipy.fft.{name}: only type 2 is implemented, got {type}.")
    if norm not in (None, "backward", "ortho"):
        raise ValueError(f"jax.scipy.fft.{name}: norm={norm!r} is none of None, 'backward', "
                         "'ortho'.")
    return x


def _by_parts(real_transform: Callable, x):
    """A transform of real arrays, of the real and the imaginary part."""
    if not complex_input(x):
        return real_transform(x)
    parts = complex_numbers.real(x), complex_numbers.imag(x)
    return complex_numbers.complex(*map(real_transform, parts))


def _at(n, axis, ndim) -> dict[int, int]:
    return {} if n is None else {canonical_axis(axis, ndim): n}


def _resized(x, sizes: dict[int, int]):
    """The axes cut, or filled up with zeros, to these sizes."""
    if not sizes:
        return x
    return pad(x, x.dtype.type(0), [(0, sizes.get(d, n) - n, 0) for d, n in enumerate(x.shape)])


def _along_several(name, transform, x, type, s, axes, norm):
    x = _checked(name, x, type, norm)
    s = None if s is None else list(s) if isinstance(s, Sequence) else [operator.index(s)]
    if s is not None and len(s) > x.ndim:
        raise ValueError(f"s must have at most x.ndim ({x.ndim}) elements, got {len(s)}")
    if axes is None:
        axes = range(x.ndim - (x.ndim if s is None else len(s)), x.ndim)
    axes = [canonical_axis(d, x.ndim) for d in np.atleast_1d(axes)]
    if len(set(axes)) != len(axes):
        raise ValueError(f"{name}: an axis is repeated in axes={tuple(axes)}.")
    sizes = {} if s is None else dict(zip(axes, s))

    def along_each(x):
        x = _resized(x, sizes)
        for axis in axes:
            x = transform(x, axis, norm)
        return x

    return _by_parts(along_each, x)


# ----------------------------------------------------------------------------------------------
# The transforms


def _dct(x, axis, norm):
    axis = canonical_axis(axis, x.ndim)
    evens = slice_in_dim(x, 0, None, 2, axis)
    odds = rev(slice_in_dim(x, 1, None, 2, axis), (axis,))
    out = fft.fft(concatenate([evens, odds], axis), axis=axis)
    out = 2 * complex_numbers.real(out * _rotations(out, axis))
    return out / _orthogonal_scale(out, axis) if norm == "ortho" else out


def _idct(x, axis, norm):
    (x,), axis = promote_dtypes_inexact(x), canonical_axis(axis, x.ndim)
    scale = _orthogonal_scale(x, axis)
    x = x / scale if norm == "ortho" else x / scale / scale
    rotations = _rotations(x, axis)
    x = x.astype(rotations.dtype) / rotations * 2 * x.shape[axis]
    x = complex_numbers.real(fft.ifft(x, axis=axis))
    half = (x.shape[axis] + 1) // 2
    before, out = (slice(None),) * axis, zeros_like(x)
    out = out.at[(*before, slice(None, None, 2))].set(x[(*before, slice(half))])
    return out.at[(*before, slice(1, None, 2))].set(rev(x[(*before, slice(half, None))], (axis,)))


def _rotations(x, axis):
    """exp(-πi k / 2n) for each k along the axis."""
    n, dtype = x.shape[axis], x.real.dtype
    k = arange(n, dtype=dtype).astype(np.result_type(dtype, np.complex64))
    return expand_dims(lax.exp(-0.5j * np.pi * k / n), [d for d in range(x.ndim) if d != axis])


def _orthogonal_scale(x, axis):
    """The length of each of the cosines 2 cos(π k (2j + 1) / 2n)."""
    n = x.shape[axis]
    squares = concatenate([full((1,), 4 * n, x.dtype), full((n - 1,), 2 * n, x.dtype)], 0)
    return expand_dims(lax.sqrt(squares), [d for d in range(x.ndim) if d != axis])
