"""Chapter 12: `numpy.fft`, discrete Fourier transforms.

All of them pad or cut the array to the sizes asked for, transform its last dimensions by `lax.fft`,
and scale the result as `norm` says.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence

from ..core import dtypes
from ..core.boundary import public
from ..lax import fourier as lax_fft
from ..lax.dtypes import default_float_dtype
from ..lax.fourier import FftType
from ..lax.sizes import size_along
from ..text.naming import named
from ._arguments import ensure_arraylike, promote_dtypes_inexact, user_dtype
from ._constructors import arange, array, asarray
from ._padding import pad
from ._reductions import prod
from ._shaping import moveaxis, roll
from ._ufuncs import conj, sqrt

__all__ = ["fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn",
           "ifftshift", "ihfft", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn"]

# ----------------------------------------------------------------------------------------------
# The general transform


def _transform(name: str, kind: FftType, a, s: Sequence[int] | None, axes: Sequence[int] | None,
               norm: str | None):
    a = ensure_arraylike(f"jax.numpy.fft.{name}", a)
    s = None if s is None else tuple(map(operator.index, s))
    axes = None if axes is None else tuple(map(operator.index, axes))
    _check(f"jax.numpy.fft.{name}", s, axes)
    if s is not None and 0 < a.ndim < len(s):
        raise ValueError(f"jax.numpy.fft.{name}: FFT input shape {a.shape} must have at least as "
                         f"many input dimensions as fft_lengths {s}.")
    last = range(a.ndim - len(axes if axes is not None else s if s is not None else a.shape),
                 a.ndim)
    if axes is not None and len(axes) <= a.ndim and all(
            axis in (d, d - a.ndim) for axis, d in zip(axes, last)):
        axes = None  # they are the last ones already
    if axes is not None:
        a = moveaxis(a, axes, last)
    if s is None:
        s = _own_sizes(kind, [a.shape[d] for d in last])
    else:
        a = _resized(a, [*s[:-1], s[-1] // 2 + 1] if kind is FftType.IRFFT else s)
    out = _over_many(a, kind, tuple(s))
    if norm is not None:
        out = out * _scale(array(s, dtype=out.dtype), name, norm)
    return out if axes is None else moveaxis(out, last, axes)


def _check(name, s, axes):
    if s is not None and any(n <= 0 for n in s):
        raise ValueError(f"{name}: the sizes of a transform must be positive, got {s}.")
    if s is not None and axes is not None and len(s) != len(axes):
        raise ValueError(f"{name}: shape and axes have different lengths, {s} and {tuple(axes)}.")
    if axes is not None and len(axes) != len(set(axes)):
        raise ValueError(f"{name} does not support repeated axes. Got axes {axes}.")


def _own_sizes(kind, sizes):
    """The sizes of the transform if the caller gave none."""
    if kind is not FftType.IRFFT or not sizes:
        return sizes
    return [*sizes[:-1], max(0, 2 * (sizes[-1] - 1))]


def _resized(a, sizes):
    """The last dimensions cut, or filled up with zeros, to these sizes."""
    sizes = [*a.shape[: a.ndim - len(sizes)], *sizes]
    a = a[tuple(slice(n) for n in sizes)]
    return pad(a, [(0, n - m) for n, m in zip(sizes, a.shape)])


def _over_many(a, kind: FftType, s: tuple[int, ...]):
    """The transform over the last dimensions, however many: XLA takes three at most.

    The last dimensions, where real transforms are halved, come first on the way there and last on
    the way back.
    """
    if len(s) <= 3:
        return lax_fft.fft(a, kind, s)
    n = 2 if len(s) == 4 else 3
    front = range(a.ndim - len(s), a.ndim - n)
    back = range(a.ndim - len(s) + n, a.ndim)
    if kind in (FftType.FFT, FftType.RFFT):
        a = lax_fft.fft(a, kind, s[-n:])
        return moveaxis(_over_many(moveaxis(a, front, back), FftType.FFT, s[:-n]), back, front)
    a = moveaxis(_over_many(moveaxis(a, front, back), FftType.IFFT, s[:-n]), back, front)
    return lax_fft.fft(a, kind, s[-n:])


def _scale(s, name: str, norm: str):
    """The factor from the unscaled transform, a sum forwards and a mean backwards, to `norm`."""
    if norm == "backward":
        return array(1)
    (s,) = promote_dtypes_inexact(s)
    if norm not in ("ortho", "forward"):
        raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".')
    size = sqrt(prod(s)) if norm == "ortho" else prod(s)
    return size if name.startswith("i") else 1 / size


# ----------------------------------------------------------------------------------------------
# Over one dimension, over two, over several


def _check_one_axis(name, axis):
    if isinstance(axis, (list, tuple)):
        raise ValueError(f"jax.numpy.fft.{name} does not support multiple axes. Please use "
                         f"jax.numpy.fft.{name}n. Got axis = {axis!r}.")


def _over_one(name: str, kind: FftType, a, n, axis, norm):
    _check_one_axis(name, axis)
    return _transform(name, kind, a, None if n is None else [n], None if axis is None else [axis],
                      norm)


def _row(name: str, kind: FftType, what: str, size: str, errors: str = "") -> tuple:
    """The transforms of one kind: over one dimension, over two, over several."""
    words = {"what": what, "one": name, "size": size, "errors": errors}

    @named(name, **words)
    @public
    def one(a, n: int | None = None, axis: int = -1, norm: str | None = None):
        """{what}, along one axis.

        Args:
          a: an array.
          n: the size {size}: if it is greater than the array's, zeros fill it up; if less, the rest
            is cut off.
          axis: an int.
          norm: what carries the factor 1/n: the inverse transform ("backward", the default), the
            forward one ("forward"), or half of it both ("ortho").

        Raises:
          ValueError: a size that is not positive, several axes, an unknown `norm`{errors}.
        """
        return _over_one(name, kind, a, n, axis, norm)

    @named(name + "2", **words)
    @public
    def two(a, s: Sequence[int] | None = None, axes: Sequence[int] = (-2, -1),
            norm: str | None = None):
        """{what}, along two axes.

        Args:
          a: an array.
          s, axes, norm: as for `{one}n`, but by default along the last two axes.

        Raises:
          ValueError: as for `{one}n`; or not two axes.
        """
        if len(axes) != 2:
            raise ValueError(f"jax.numpy.fft.{name}2 only supports 2 axes. Got axes = {axes!r}.")
        return _transform(name + "2", kind, a, s, axes, norm)

    @named(name + "n", **words)
    @public
    def several(a, s: Sequence[int] | None = None, axes: Sequence[int] | None = None,
                norm: str | None = None):
        """{what}, along several axes.

        Args:
          a: an array.
          s: the sizes {size}, as `n` for `{one}`.
          axes: which ones; by default the last `len(s)`, or all.
          norm: as for `{one}`.

        Raises:
          ValueError: sizes that are not positive, axes that repeat or do not exist, an unknown
            `norm`{errors}.
        """
        return _transform(name + "n", kind, a, s, axes, norm)

    return one, two, several


_OF_TRANSFORM, _OF_RESULT = "of the transform", "of the result"

fft, fft2, fftn = _row("fft", FftType.FFT, "The discrete Fourier transform", _OF_TRANSFORM)
ifft, ifft2, ifftn = _row(
    "ifft", FftType.IFFT, "The inverse of the discrete Fourier transform", _OF_TRANSFORM)
rfft, rfft2, rfftn = _row(
    "rfft", FftType.RFFT, "The first half of the discrete Fourier transform of real numbers",
    _OF_TRANSFORM, "; complex numbers")
irfft, irfft2, irfftn = _row(
    "irfft", FftType.IRFFT, "The real array of which a half transform is given: `rfft`'s inverse",
    _OF_RESULT + ", by default 2 (m - 1) for m elements")


@public
def hfft(a, n: int | None = None, axis: int = -1, norm: str | None = None):
    """The real transform of an array of which a half is given, the other half mirrors it.

    Args:
      a: an array, the first n // 2 + 1 elements of one with a[n-k] = conj(a[k]).
      n, axis, norm: as for `irfft`.

    >>> hfft(jnp.array([1.0, 2.0, 3.0])).tolist()
    [8.0, -2.0, 0.0, -2.0]
    """
    _check_one_axis("hfft", axis)
    a = conj(ensure_arraylike("hfft", a))
    size = 2 * (a.shape[axis] - 1) if n is None else n
    return _over_one("hfft", FftType.IRFFT, a, n, axis, norm) * size


@public
def ihfft(a, n: int | None = None, axis: int = -1, norm: str | None = None):
    """The first half of the inverse transform of real numbers: `hfft`'s inverse.

    Args:
      a: an array of real numbers.
      n, axis, norm: as for `rfft`.
    """
    _check_one_axis("ihfft", axis)
    a = asarray(a)
    size = a.shape[axis] if n is None else n
    if size == 0:
        raise ValueError(f"ihfft takes at least one number, got an array of shape {a.shape} and "
                         f"{n=} for axis {axis}.")
    return conj(_over_one("ihfft", FftType.RFFT, a, n, axis, norm)) * (1 / size)


# ----------------------------------------------------------------------------------------------
# Frequencies


@public
def fftfreq(n: int, d=1.0, *, dtype=None, device=None):
    """The frequencies of the elements of a transform: 0, 1, …, -2, -1, divided by n d.

    Args:
      n: the size of the transform.
      d: the distance of the samples, a scalar.
      dtype: the result's, by default that of floats.
      device: where the result shall be.

    Raises:
      ValueError: `n` or `d` is a sequence.

    >>> fftfreq(4).tolist()
    [0.0, 0.25, -0.5, -0.25]
    """
    _check_scalars("fftfreq", n, d)
    out_dtype = _frequencies_dtype(dtype, "fftfreq")
    dtype = dtypes.finfo(dtypes.to_inexact_dtype(out_dtype)).dtype
    k = (arange(n, dtype=dtype, device=device) + n // 2) % n - n // 2
    return (k / array(d * n, dtype=dtype)).astype(out_dtype)


@public
def rfftfreq(n: int, d=1.0, *, dtype=None, device=None):
    """The frequencies of the elements of a half transform: 0, 1, …, n // 2, divided by n d.

    Args, raises: as `fftfreq`.

    >>> rfftfreq(4).tolist()
    [0.0, 0.25, 0.5]
    """
    _check_scalars("rfftfreq", n, d)
    dtype = _frequencies_dtype(dtype, "rfftfreq")
    last = n // 2 if n % 2 == 0 else (n - 1) // 2  # they differ if n is not an integer
    return arange(last + 1, dtype=dtype, device=device) / array(d * n, dtype=dtype)


def _check_scalars(name, n, d):
    if isinstance(d, str):
        raise ValueError(f"The d argument of jax.numpy.fft.{name} must be a number. Got {d!r}.")
    for what, value, kind in (("n", n, "an int"), ("d", d, "a single value")):
        if isinstance(value, (list, tuple)):
            raise ValueError(f"The {what} argument of jax.numpy.fft.{name} only takes {kind}. "
                             f"Got {what} = {value}.")


def _frequencies_dtype(dtype, name):
    return user_dtype(dtype, name) or default_float_dtype()


@public
def fftshift(x, axes: int | Sequence[int] | None = None):
    """A transform with the frequency 0 in the middle.

    Args:
      x: an array.
      axes: which ones, an int or several; by default all.

    >>> fftshift(fftfreq(4)).tolist()
    [-0.5, -0.25, 0.0, 0.25]
    """
    return _shifted("fftshift", x, axes, 1)


@public
def ifftshift(x, axes: int | Sequence[int] | None = None):
    """The inverse of `fftshift`."""
    return _shifted("ifftshift", x, axes, -1)


def _shifted(name, x, axes, sign):
    x = ensure_arraylike(name, x)
    if isinstance(axes, int):
        return roll(x, sign * (size_along(name, x.shape, axes) // 2), axes)
    axes = tuple(range(x.ndim)) if axes is None else axes
    return roll(x, [sign * (size_along(name, x.shape, d) // 2) for d in axes], axes)
