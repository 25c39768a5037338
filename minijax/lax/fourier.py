"""Chapter 11: the discrete Fourier transform.

Of a vector x of length n, the transform is y[k] = Σ x[j] exp(-2πi jk/n), and the inverse one has
the other sign and the factor 1/n. Over several dimensions it is taken along each in turn. The
transform of a real vector is Hermitian, y[n-k] = conj(y[k]), so that n//2 + 1 of its elements tell
all: those are what RFFT returns, and what IRFFT starts from.
"""

import enum
import math
from collections.abc import Sequence

import numpy as np

from ..core import dtypes
from ..core.batching import moveaxis, primitive_batchers
from ..core.core import ShapedArray, typeof
from ..core.lowering import register_lowering, tensor_type
from ..core.primitives import make_primitive
from ..runtime.dispatch import def_numpy_or_xla
from . import complex_numbers, elementwise as prim
from .dtypes import to_complex_dtype
from .families import deflinear2
from .shaping import expand_dims, full
from .slicing import dynamic_update_slice
from .staged import staged


class FftType(enum.IntEnum):
    """Which transform: forward or inverse, of complex numbers or of real ones."""

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


# ----------------------------------------------------------------------------------------------
# Types, evaluation, lowering


def _fft_type(x, *, fft_type, fft_lengths):
    """Operand and result have the `fft_lengths`, except that the last one is halved on the
    Hermitian side."""
    n, given = len(fft_lengths), x.shape[x.ndim - len(fft_lengths):]
    if n > x.ndim:
        raise ValueError(f"fft of {n} dimensions, fft_lengths={fft_lengths}, got an array of shape "
                         f"{x.shape}.")
    is_real = x.dtype in (np.float32, np.float64)
    if is_real != (fft_type is FftType.RFFT) or not (is_real or x.dtype.kind == "c"):
        expected = "float32 or float64" if fft_type is FftType.RFFT else "complex64 or complex128"
        raise ValueError(f"{fft_type.name} input must be {expected}, got {x.dtype.name}")
    known = n - 1 if fft_type is FftType.IRFFT else n
    if given[:known] != fft_lengths[:known]:
        raise ValueError(f"{fft_type.name} input of shape {x.shape} must end with the dimensions "
                         f"{fft_lengths[:known]}, as fft_lengths={fft_lengths} says.")
    if fft_type is FftType.IRFFT and given[-1] != _halved(fft_lengths, given):
        raise ValueError(f"IRFFT to fft_lengths={fft_lengths} starts from "
                         f"{fft_lengths[-1] // 2 + 1} numbers along the last dimension, got an "
                         f"array of shape {x.shape}.")
    out = fft_lengths
    if fft_type is FftType.RFFT:
        out = (*fft_lengths[:-1], fft_lengths[-1] // 2 + 1)
    return ShapedArray((*x.shape[: x.ndim - n], *out), _OUT_DTYPE[fft_type](x.dtype), x.weak_type)


def _halved(fft_lengths, given):
    """How many numbers IRFFT starts from. An empty vector is the transform of an empty one."""
    return 0 if fft_lengths[-1] == given[-1] == 0 else fft_lengths[-1] // 2 + 1


def _complex_dtype(dtype):
    return np.result_type(dtype, np.complex64)


def _real_dtype(dtype):
    return np.finfo(dtype).dtype


_OUT_DTYPE = {FftType.FFT: lambda dtype: dtype, FftType.IFFT: lambda dtype: dtype,
              FftType.RFFT: _complex_dtype, FftType.IRFFT: _real_dtype}


def _fft(x, *, fft_type, fft_lengths):
    """NumPy, too, computes in the precision of its argument."""
    if 0 in (*x.shape, *fft_lengths):
        out = _fft_type(ShapedArray(x.shape, x.dtype), fft_type=fft_type, fft_lengths=fft_lengths)
        return np.zeros(out.shape, out.dtype)  # as JAX, where NumPy complains
    name = fft_type.name.lower()  # `np.fft` is imported when it is used first
    if len(fft_lengths) == 1:
        return getattr(np.fft, name)(x, fft_lengths[0])
    return getattr(np.fft, name + "n")(x, fft_lengths, range(-len(fft_lengths), 0))


def _lower_fft(ctx, x, *, fft_type, fft_lengths):
    (out,) = ctx.avals_out
    if 0 in (*x.aval.shape, *out.shape):
        return ctx.constant(out.dtype.type(0), out)
    lengths = [*map(int, fft_lengths)]
    return ctx.op(f"stablehlo.fft {x.name}, type = {fft_type.name}, length = {lengths} : "
                  f"({x.type}) -> {tensor_type(out)}", out)


fft_p = make_primitive("fft", _fft_type)
SMALL = 2**14  # elements, for which NumPy is faster than a program of XLA's is compiled
def_numpy_or_xla(fft_p, _fft, lambda x, **params: x.size > SMALL)
register_lowering(fft_p, _lower_fft)


@staged(static_argnames=("fft_type", "fft_lengths"))
def fft(x, fft_type: FftType | str, fft_lengths: Sequence[int]):
    """The discrete Fourier transform over the last one, two or three dimensions.

    Args:
      x: an array; of real numbers for RFFT.
      fft_type: an `FftType`, or its name: "FFT", "IFFT", "RFFT", "IRFFT", or in small letters.
      fft_lengths: the sizes of these dimensions, on the side that is not halved.

    Returns:
      a complex array, real for IRFFT, of the shape of `x`, but that the last dimension n is
      n // 2 + 1 behind RFFT and before IRFFT.

    Raises:
      ValueError: an unknown type, complex numbers for RFFT, or sizes that do not fit.
      TypeError: a type that is neither.

    >>> lax.fft(jnp.array([1.0, 2.0, 1.0, 0.0]), "fft", (4,)).real.tolist()
    [4.0, 0.0, 0.0, 0.0]
    """
    fft_type, dtype = _as_fft_type(fft_type), typeof(x).dtype
    if fft_type is not FftType.RFFT:
        x = prim.convert_element_type(x, to_complex_dtype(dtype))
    elif dtype.kind == "c":
        raise ValueError("only real valued inputs supported for rfft")
    else:
        x = prim.convert_element_type(x, dtypes.to_inexact_dtype(dtype))
    if not len(fft_lengths):
        return x
    return fft_p.bind(x, fft_type=fft_type, fft_lengths=tuple(fft_lengths))


def _as_fft_type(value) -> FftType:
    if isinstance(value, FftType):
        return value
    if not isinstance(value, str):
        raise TypeError(f"Unknown FFT type value {value!r}: it must be an FftType, or its name.")
    if value not in {*FftType.__members__, *map(str.lower, FftType.__members__)}:
        raise ValueError(f"Unknown FFT type {value!r}. Use one of "
                         f"{', '.join(repr(name.lower()) for name in FftType.__members__)}.")
    return FftType[value.upper()]


# ----------------------------------------------------------------------------------------------
# Differentiation and batching


def _fft_transpose(ct, x, *, fft_type, fft_lengths):
    if fft_type is FftType.RFFT:
        return [_rfft_transpose(ct, fft_lengths)]
    if fft_type is FftType.IRFFT:
        return [_irfft_transpose(ct, fft_lengths)]
    return [fft(ct, fft_type, fft_lengths)]  # its matrix is symmetric


@staged(static_argnames=("fft_lengths",))
def _rfft_transpose(ct, fft_lengths):
    """Σ over k of ct[k] exp(-2πi jk/n), its real part: IRFFT of conj(ct), but that IRFFT counts
    the elements that have a mirror image twice, and divides by n."""
    count = _mirrored(fft_lengths[-1], typeof(ct))
    count = expand_dims(count, range(typeof(ct).ndim - 1))
    out = fft(prim.div(complex_numbers.conj(ct), count), FftType.IRFFT, fft_lengths)
    return prim.mul(typeof(out).dtype.type(math.prod(fft_lengths)), out)


def _irfft_transpose(ct, fft_lengths):
    """The same the other way round."""
    out = fft(ct, FftType.RFFT, fft_lengths)
    aval = typeof(out)
    count = expand_dims(_mirrored(fft_lengths[-1], aval), range(aval.ndim - 1))
    scale = prim.mul(aval.dtype.type(1 / math.prod(fft_lengths)), count)
    return complex_numbers.conj(prim.mul(scale, out))


def _mirrored(n: int, aval):
    """How often each of the n // 2 + 1 elements occurs in the whole transform: twice, but for the
    first one, and for the last one if n is even."""
    m, dtype = aval.shape[-1], aval.dtype
    twice, once = full((m,), 2, dtype), full((1,), 1, dtype)
    twice = dynamic_update_slice(twice, once, (0,))
    return twice if n % 2 else dynamic_update_slice(twice, full((1,), 1, dtype), (m - 1,))


def _fft_batch(args, dims, **params):
    (x,), (dim,) = args, dims
    return fft(moveaxis(x, dim, 0), **params), 0


deflinear2(fft_p, _fft_transpose)
primitive_batchers[fft_p] = _fft_batch
