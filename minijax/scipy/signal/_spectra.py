"""Chapter 13: spectra of signals, from Fourier transforms of short pieces of them.

The signal is cut into overlapping segments; of each, the mean (or a trend) is taken off, it is
multiplied with a window that fades at both ends, and transformed. `stft` returns these transforms,
and `istft` goes the way back; `welch` and `csd` return the mean of their squares or products.
(P. Welch, The use of fast Fourier transform for the estimation of power spectra, 1967.)
"""

import operator
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import numpy as jnp
from ...core.api import vmap
from ...core.boundary import public
from ...lax.compile_time import concrete_or_error
from ...lax.cutting import slice_in_dim
from ...lax.dtypes import to_complex_dtype, to_floating_dtype
from ...lax.precision import Precision
from ...lax.sizes import size_along
from ...lax.slicing import dynamic_slice_in_dim
from ...numpy import fft
from ...numpy._arguments import (
    canonical_axis,
    check_arraylike,
    complex_input,
    convert,
    ensure_arraylike,
    promote_dtypes_inexact,
)

# ----------------------------------------------------------------------------------------------
# Trends


@public
def detrend(data, axis: int = -1, type: str = "linear", bp: int | Sequence[int] = 0,
            overwrite_data: None = None):
    """`data` without its linear trend, or without its mean.

    Args:
      data: an array.
      axis: the dimension of time.
      type: "linear": the line with the least squares is taken off; "constant": the mean.
      bp: known places at which one line ends and another one begins.
      overwrite_data: must be `None`.

    Raises:
      ValueError: an unknown type; places outside of the array.
      NotImplementedError: `overwrite_data`.

    >>> jax.scipy.signal.detrend(jnp.array([1.0, 2.0, 6.0]), type="constant").tolist()
    [-2.0, -1.0, 3.0]
    """
    if overwrite_data is not None:
        raise NotImplementedError("overwrite_data argument not implemented.")
    if type not in ("constant", "linear"):
        raise ValueError(f"Trend type must be 'linear' or 'constant', got {type!r}.")
    (data,) = promote_dtypes_inexact(jnp.asarray(data))
    if type == "constant":
        return data - data.mean(axis, keepdims=True)
    n = size_along("detrend", data.shape, axis)
    ends = np.unique(np.r_[0, bp, n])
    if ends[0] < 0 or ends[-1] > n:
        raise ValueError("Breakpoints must be non-negative and not greater than the length of the "
                         f"data along the axis, {n}; got {bp}.")
    moved = jnp.moveaxis(data, axis, 0)
    flat = moved.reshape(n, -1)
    pieces = [_without_line(flat[a:b]) for a, b in zip(ends[:-1], ends[1:])]
    return jnp.moveaxis(jnp.concatenate(pieces).reshape(moved.shape), 0, axis)


def _without_line(y):
    """The columns of `y` without their regression lines."""
    n = y.shape[0]
    times = jnp.arange(1, n + 1, dtype=y.dtype) / y.dtype.type(n)
    basis = jnp.stack([jnp.ones(n, y.dtype), times], 1)
    coefficients = jnp.linalg.lstsq(basis, y)[0]
    return y - jnp.matmul(basis, coefficients, precision=Precision.HIGHEST)


# ----------------------------------------------------------------------------------------------
# Windows and segments


def _hann(n: int):
    """The window sin², periodic."""
    if n == 1:
        return jnp.array([1.0])
    return jnp.sin(jnp.linspace(0, np.pi, n, endpoint=False)) ** 2


def _named_window(window: str | tuple, n: int):
    if window == "hann":
        return _hann(n)
    from scipy.signal import get_window  # SciPy takes long to load, and few ask for others

    return get_window(window, n)


def _window_of(window, nperseg: int | None, length: int, dtype):
    """The window as an array of this dtype, and its length, that of a segment."""
    if isinstance(window, (str, tuple)):
        n = length if nperseg is None else int(nperseg)
        if n > length:
            warnings.warn(f"nperseg={n} is greater than the signal's length, {length}: using "
                          f"nperseg={length}", stacklevel=4)
            n = length
        return jnp.array(_named_window(window, n), dtype=dtype), n
    win = jnp.asarray(window, dtype=dtype)
    n = win.size if nperseg is None else int(nperseg)
    if win.ndim != 1:
        raise ValueError("window must be 1-D")
    if length < win.size:
        raise ValueError("window is longer than input signal")
    if n != win.size:
        raise ValueError(f"value specified for nperseg, {n}, is different from the length of the "
                         f"window, {win.size}.")
    return win, n


def _segments(x, n: int, step: int):
    """Pieces of `x` along its last dimension, in a new dimension before it."""
    if n == step == 1:
        return x[..., None]
    starts = jnp.arange(0, x.shape[-1] - n + 1, step)
    return vmap(lambda start: dynamic_slice_in_dim(x, start, n, -1), out_axes=-2)(starts)


def _transforms(x, win, without_trend: Callable, n: int, step: int, nfft: int, onesided: bool):
    """The Fourier transforms of the segments of `x`."""
    if x.dtype.kind == "i":
        x = x.astype(win.dtype)
    segments = without_trend(_segments(x, n, step))
    windowed = win.reshape(*[1] * (segments.ndim - 1), -1) * segments
    return fft.rfft(windowed.real, nfft) if onesided else fft.fft(windowed, nfft)


def _odd_extension(x, n: int):
    """`x`, point-mirrored at both ends."""
    if n < 1:
        return x
    if n > x.shape[-1] - 1:
        raise ValueError(f"The extension length n ({n}) is too big. It must not exceed "
                         f"x.shape[axis]-1, which is {x.shape[-1] - 1}.")
    left, right = slice_in_dim(x, 0, 1, axis=-1), slice_in_dim(x, -1, None, axis=-1)
    before = jnp.flip(slice_in_dim(x, 1, n + 1, axis=-1), -1)
    after = jnp.flip(slice_in_dim(x, -(n + 1), -1, axis=-1), -1)
    return jnp.concatenate((2 * left - before, x, 2 * right - after), -1)


def _padded(x, n: int, mode: str):
    return jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(n, n)], mode)


_EXTENSIONS: dict[str | None, Callable] = {
    "even": lambda x, n: _padded(x, n, "reflect"),
    "odd": _odd_extension,
    "constant": lambda x, n: _padded(x, n, "edge"),
    "zeros": lambda x, n: _padded(x, n, "constant"),
    None: lambda x, n: x,
}


def _with_zeros(x, count: int):
    """`x` with so many zeros behind it."""
    return jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, count)]) if count else x


def _trend_function(trend, axis: int) -> Callable:
    """What takes the trend off segments, which are along the last dimension."""
    if isinstance(trend, str):
        return lambda x: detrend(x, type=trend)
    if callable(trend):
        return lambda x: jnp.moveaxis(trend(jnp.moveaxis(x, axis, -1)), -1, axis)
    if not trend:
        return lambda x: x
    raise ValueError(f"Unsupported detrend type: {trend}")


# ----------------------------------------------------------------------------------------------
# Spectra


def _spectra(x, y, fs, window, nperseg, noverlap, nfft, trend, return_onesided, scaling, axis,
             mode, boundary=None, padded=False):
    """Frequencies, times, and the segments' transforms ("stft") or products of them ("psd")."""
    if boundary not in _EXTENSIONS:
        raise ValueError(f"Unknown boundary option '{boundary}', must be one of: "
                         f"{list(_EXTENSIONS)}")
    axis = canonical_axis(concrete_or_error(operator.index, axis, "axis of windowed-FFT"), x.ndim)
    check_arraylike("spectral_helper", *([x] if y is None else [x, y]))
    signals = promote_dtypes_inexact(*([x] if y is None else [x, y]))
    outer = _outer_shape(signals, axis)
    x = signals[0]
    dtype = to_complex_dtype(x.dtype)
    real_dtype = to_floating_dtype(dtype)
    if nperseg is not None:
        nperseg = concrete_or_error(int, nperseg, "nperseg of windowed-FFT")
        if nperseg < 1:
            raise ValueError(f"nperseg must be a positive integer, got {nperseg}.")
    win, n = _window_of(window, nperseg, x.shape[axis], x.dtype)
    noverlap = n // 2 if noverlap is None else concrete_or_error(int, noverlap, "noverlap")
    nfft = n if nfft is None else concrete_or_error(int, nfft, "nfft")
    if not all(s.size for s in signals):
        shape = x.shape if y is None else (*outer[:axis], min(s.shape[axis] for s in signals),
                                           *outer[axis:])
        return *(jnp.zeros(shape, real_dtype) for _ in "ft"), jnp.zeros(shape, dtype)
    if nfft < n:
        raise ValueError(f"nfft must not be less than nperseg, {n}; got {nfft}.")
    if noverlap >= n:
        raise ValueError(f"noverlap must be less than nperseg, {n}; got {noverlap}.")
    step = n - noverlap
    signals = [jnp.moveaxis(s, axis, -1) if s.ndim > 1 else s for s in signals]
    length = max(s.shape[-1] for s in signals)
    signals = [_EXTENSIONS[boundary](_with_zeros(s, length - s.shape[-1]), n // 2) for s in signals]
    if padded:
        missing = (-(signals[0].shape[-1] - n) % step) % n
        signals = [_with_zeros(s, missing) for s in signals]
    without_trend = _trend_function(trend, axis)
    scale = _scale(win, fs, scaling)
    onesided = return_onesided and not any(map(complex_input, signals))
    if return_onesided and not onesided:
        warnings.warn("Input data is complex, switching to return_onesided=False", stacklevel=3)
    frequencies = (fft.rfftfreq if onesided else fft.fftfreq)(nfft, 1 / fs, dtype=real_dtype)
    parts = [_transforms(s, win, without_trend, n, step, nfft, onesided) for s in signals]
    if mode == "psd":
        out = jnp.conjugate(parts[0]) * parts[-1] * convert(scale, dtype)
        if onesided:  # the negative frequencies have as much
            out = out.at[..., 1 : None if nfft % 2 else -1].mul(2)
    else:
        out = parts[0] * convert(jnp.sqrt(scale), dtype)
    times = jnp.arange(n / 2, signals[0].shape[-1] - n / 2 + 1, step, dtype=real_dtype) / fs
    if boundary is not None:
        times -= (n / 2) / fs
    out = out.astype(dtype)
    if y is None and mode == "psd":
        out = out.real
    return frequencies, times, jnp.moveaxis(out, -1, axis)


def _outer_shape(signals, axis):
    """The common shape of the dimensions that are not time."""
    if len({s.ndim for s in signals}) > 1:
        raise ValueError("two-arguments must have the same rank "
                         f"({' vs '.join(str(s.ndim) for s in signals)}).")
    shapes = [s.shape[:axis] + s.shape[axis + 1:] for s in signals]
    try:
        return jnp.broadcast_shapes(*shapes)
    except ValueError:
        raise ValueError(f"x and y cannot be broadcast together: {shapes}.") from None


def _scale(win, fs, scaling):
    if scaling == "density":
        return 1.0 / (fs * (win * win).sum())
    if scaling == "spectrum":
        return 1.0 / win.sum() ** 2
    raise ValueError(f"Unknown scaling: {scaling!r}. Use 'density' or 'spectrum'.")


@public
def stft(x, fs=1.0, window="hann", nperseg: int = 256, noverlap: int | None = None,
         nfft: int | None = None, detrend: Any = False, return_onesided: bool = True,
         boundary: str | None = "zeros", padded: bool = True, axis: int = -1):
    """The Fourier transforms of short segments of a signal.

    Args:
      x: an array.
      fs: the sampling frequency.
      window: the name of a window (or a name and its parameters, as SciPy's `get_window` takes
        them), or an array.
      nperseg: the length of a segment; that of the window if it is an array.
      noverlap: by how much segments overlap; by default half of their length.
      nfft: the length of the transform, if the segments are to be filled up with zeros.
      detrend: what to take off each segment: "constant", "linear", `False`, or a function of it.
      return_onesided: of real signals, return the nonnegative frequencies only.
      boundary: how the signal is extended at both ends: "even", "odd", "constant", "zeros", `None`.
      padded: whether zeros fill up the last segment.
      axis: the dimension of time.

    Returns:
      the frequencies, the times, and the transforms, with the frequencies in dimension `axis` and
      the times in the last one.

    Raises:
      ValueError: sizes or names that do not fit.
      TypeError: no array.

    >>> frequencies, times, transforms = jax.scipy.signal.stft(jnp.ones(32), nperseg=8)
    >>> transforms.shape
    (5, 9)
    """
    return _spectra(x, None, fs, window, nperseg, noverlap, nfft, detrend, return_onesided,
                    "spectrum", axis, "stft", boundary, padded)


@public
def csd(x, y, fs=1.0, window="hann", nperseg: int | None = None, noverlap: int | None = None,
        nfft: int | None = None, detrend: Any = "constant", return_onesided: bool = True,
        scaling: str = "density", axis: int = -1, average: str = "mean"):
    """The density of two signals' common power over frequencies, by Welch's method.

    Args:
      x, y: arrays; if `y` is `None`, it is `x`, and the result is real.
      fs, window, nperseg, noverlap, nfft, detrend, return_onesided, axis: as for `stft`; segments
        are as long as the signal by default.
      scaling: "density", or "spectrum", the power itself.
      average: "mean" or "median" over the segments.

    Returns:
      the frequencies, and the density for each.

    Raises:
      ValueError: sizes or names that do not fit.
      TypeError: no arrays.

    >>> frequencies, density = jax.scipy.signal.csd(jnp.arange(32.0), jnp.ones(32), nperseg=8)
    >>> density.shape
    (5,)
    """
    frequencies, _, power = _spectra(x, y, fs, window, nperseg, noverlap, nfft, detrend,
                                     return_onesided, scaling, axis, "psd")
    if y is not None:
        power = power + 0j
    if power.ndim >= 2 and power.size:
        power = _average(power, average)
    return frequencies, power


def _average(power, average):
    """Over the last dimension."""
    if power.shape[-1] == 1:
        return power[..., 0]
    if average == "mean":
        return power.mean(-1)
    if average != "median":
        raise ValueError(f'average must be "median" or "mean", got {average}')
    bias = _median_bias(power.shape[-1]).astype(power.dtype)
    if complex_input(power):
        return (jnp.median(power.real, -1) + 1j * jnp.median(power.imag, -1)) / bias
    return jnp.median(power, -1) / bias


def _median_bias(n: int):
    """The median of `n` exponentially distributed numbers over their mean, on average.

    (B. Allen et al., FINDCHIRP, Physical Review D 85, 2012, appendix B.)
    """
    even = jnp.arange(2.0, n, 2)
    return 1 + jnp.sum(1.0 / (even + 1) - 1.0 / even)


@public
def welch(x, fs=1.0, window="hann", nperseg: int | None = None, noverlap: int | None = None,
          nfft: int | None = None, detrend: Any = "constant", return_onesided: bool = True,
          scaling: str = "density", axis: int = -1, average: str = "mean"):
    """The density of a signal's power over frequencies, by Welch's method.

    Arguments, results and errors are those of `csd`.

    >>> frequencies, density = jax.scipy.signal.welch(jnp.arange(32.0), nperseg=8)
    >>> density.shape
    (5,)
    """
    frequencies, power = csd(x, None, fs, window, nperseg, noverlap, nfft, detrend,
                             return_onesided, scaling, axis, average)
    return frequencies, power.real


# ----------------------------------------------------------------------------------------------
# The way back


@public
def istft(Zxx, fs=1.0, window="hann", nperseg: int | None = None, noverlap: int | None = None,
          nfft: int | None = None, input_onesided: bool = True, boundary: bool = True,
          time_axis: int = -1, freq_axis: int = -2):
    """The signal of which `stft` made these transforms.

    Args:
      Zxx: an array of two or more dimensions.
      fs, window, nperseg, noverlap, nfft: as they were for `stft`.
      input_onesided: whether the transforms have the nonnegative frequencies only.
      boundary: whether the signal was extended at its ends.
      time_axis, freq_axis: the dimensions of times and frequencies.

    Returns:
      times, and the signal.

    Raises:
      ValueError: sizes that do not fit.
      TypeError: no array.

    >>> x = jnp.arange(8.0)
    >>> _, again = jax.scipy.signal.istft(jax.scipy.signal.stft(x, nperseg=4)[2])
    >>> jnp.allclose(x, again, atol=1e-4).item()
    True
    """
    Zxx = ensure_arraylike("istft", Zxx)
    if Zxx.ndim < 2:
        raise ValueError(f"istft: Zxx must have at least two dimensions, got shape {Zxx.shape}.")
    freq_axis, time_axis = (canonical_axis(axis, Zxx.ndim) for axis in (freq_axis, time_axis))
    if freq_axis == time_axis:
        raise ValueError("Must specify differing time and frequency axes!")
    Zxx = Zxx.astype(to_complex_dtype(Zxx.dtype))
    n, noverlap, nfft = _sizes_of_inverse(Zxx.shape[freq_axis], nperseg, noverlap, nfft,
                                          input_onesided)
    others = [d for d in range(Zxx.ndim) if d not in (time_axis, freq_axis)]
    Zxx = jnp.transpose(Zxx, [*others, freq_axis, time_axis])
    inverse = fft.irfft if input_onesided else fft.ifft
    segments = inverse(Zxx, nfft, -2)[..., :n, :]
    win = _inverse_window(window, n, segments.dtype)
    segments = segments * win.sum()  # `stft` divided by it
    column = win[:, None]
    x = _overlap_and_add((segments * column).swapaxes(-2, -1), n - noverlap)
    squares = jnp.repeat(column * column, segments.shape[-1], -1)
    norm = _overlap_and_add(squares.swapaxes(-2, -1), n - noverlap)
    if boundary:
        x, norm = (a[..., n // 2 : -(n // 2)] for a in (x, norm))
    x = x / jnp.where(norm > 1e-10, norm, 1.0)
    if x.ndim > 1 and time_axis != Zxx.ndim - 1:
        x = jnp.moveaxis(x, -1, time_axis - (freq_axis < time_axis))
    times = jnp.arange(x.shape[0], dtype=to_floating_dtype(x.dtype)) / fs
    return times, x


def _sizes_of_inverse(frequencies: int, nperseg, noverlap, nfft, onesided) -> tuple[int, int, int]:
    """The length of a segment, by how much they overlap, and the length of the transforms."""
    default = 2 * (frequencies - 1) if onesided else frequencies
    n = concrete_or_error(int, nperseg or default, "nperseg: segment length of STFT")
    if n < 1:
        raise ValueError(f"nperseg must be a positive integer, got {n}.")
    if nfft is None:
        nfft = default + (onesided and n == default + 1)  # an odd length
    nfft = concrete_or_error(int, nfft, "nfft of STFT")
    if nfft < n:
        raise ValueError(f"FFT length ({nfft}) must be longer than nperseg ({n}).")
    noverlap = concrete_or_error(int, noverlap or n // 2, "noverlap of STFT")
    if noverlap >= n:
        raise ValueError(f"noverlap must be less than nperseg, {n}; got {noverlap}.")
    return n, noverlap, nfft


def _inverse_window(window, n: int, dtype):
    if isinstance(window, (str, tuple)):
        return jnp.array(_named_window(window, n), dtype=dtype)
    win = jnp.asarray(window)
    if win.ndim != 1:
        raise ValueError("window must be 1-D")
    if win.shape[0] != n:
        raise ValueError(f"window must have length of {n}")
    return win


def _overlap_and_add(x, step: int):
    """The sum of the rows of `x`, each `step` places behind the one before.

    Each row is cut into parts of `step` elements. The first parts of all rows stand end to end; so
    do the second parts, one part further on; and so forth.
    """
    *outer, rows, n = x.shape
    parts = -(-n // step)
    x = jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, parts * step - n)])
    x = x.reshape(*outer, rows, parts, step)
    shifted = [jnp.pad(x[..., part, :], [(0, 0)] * len(outer) + [(part, parts - 1 - part), (0, 0)])
               for part in range(parts)]
    total = jnp.stack(shifted).sum(0).reshape(*outer, -1)
    return total[..., : step * (rows - 1) + n]
