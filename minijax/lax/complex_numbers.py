"""Chapter 9: complex numbers and their parts."""

from collections.abc import Callable

import numpy as np

from ..checks import primitives as checks
from ..core import primitives as lax
from ..core.array import def_numpy
from ..core.batching import defvectorized
from ..core.boundary import public
from ..core.core import ShapedArray, typeof
from ..core.forward import deflinear_jvp
from ..core.lowering import cast_rule, emit, register_lowering
from ..core.primitives import make_primitive
from ..core.transposition import deftranspose, unbroadcast
from .complex_rules import emit_parts
from .families import COMPLEX, SINGLE_OR_DOUBLE, binary_row, unary_row


def _complex_dtype(dtype):
    return np.dtype("complex128" if dtype.itemsize == 8 and dtype.kind == "f" else
                    dtype if dtype.kind == "c" else "complex64")


def _complex(x, y):
    x, y = np.broadcast_arrays(x, y)  # 1j * inf would be nan + inf j
    out = np.empty(x.shape, _complex_dtype(x.dtype))
    out.real, out.imag = x, y
    return out


# ----------------------------------------------------------------------------------------------
# NumPy's functions where XLA's results are others, at infinities and on branch cuts


def unsigned_zero(function: Callable, signed: str = "") -> Callable:
    """A function of NumPy that takes -0 in complex numbers as 0, as XLA's do: on a branch cut, the
    sign of a zero would choose the branch. `signed` is the part, "real" or "imag", in which the
    function is odd: the result's keeps the sign of the argument's, of a zero too."""

    def rule(x):
        if x.dtype.kind != "c":
            return function(x)
        out = np.asarray(function(x + 0))
        if signed:
            part = getattr(out, signed)
            part[...] = np.copysign(part, getattr(x, signed))
        return out

    return rule


def numpy_square(x):
    """z² with the real part (re + im) (re - im), which does not overflow where re = im."""
    out = np.empty(x.shape, x.dtype)
    re, im = x.real, x.imag
    np.multiply(re + im, re - im, out=out.real)
    np.copyto(out.real, 0, where=(np.abs(re) == np.abs(im)) & np.isfinite(re))
    np.multiply(re, im, out=out.imag)
    out.imag += out.imag
    return out


def numpy_log1p(x):
    """log(1 + z). The real part, log|1 + z|, is half of log1p(2a + a² + b²), which keeps its digits
    where 1 + z is close to the unit circle."""
    if x.dtype.kind != "c":
        return np.log1p(x)
    re, im = x.real, x.imag
    if x.dtype == np.complex64:  # whose squares are exact in double precision
        a, b = re.astype(np.float64), im.astype(np.float64)
        excess = 2 * a + a * a + b * b
    else:
        excess = _exact_sum(2 * re, *_exact_square(re), *_exact_square(im))
        a, b = re, im
    near = abs(excess) < 0.5  # false at infinities and NaN
    size = np.where(near, np.log1p(np.where(near, excess, 0)) / 2, np.log(np.hypot(1 + a, b)))
    return _complex(size.astype(re.dtype), np.arctan2(im, 1 + re))


def _exact_square(x):
    """x² and its rounding error (Dekker), of numbers that are not large."""
    high = x * 134217729.0  # 2²⁷ + 1
    high = high - (high - x)
    low = x - high
    square = x * x
    return square, low * low - ((square - high * high) - 2 * high * low)


def _exact_sum(first, *others):
    """A sum with the rounding errors of its additions, which are added last (Kahan, Knuth)."""
    total, error = first, 0.0
    for x in others:
        new = total + x
        of_x = new - total
        error = error + ((total - (new - of_x)) + (x - of_x))
        total = new
    return total + error


def has_nan(*operands: np.ndarray) -> bool:
    """Whether there are complex numbers, and NaN among them. Their order is not NumPy's then, and
    the extreme of several depends on the order in which XLA compares them."""
    return any(x.dtype.kind == "c" and np.isnan(x).any() for x in operands)


# ----------------------------------------------------------------------------------------------
# Parts: from complex to real, and back


def real_part_dtype(dtype) -> np.dtype:
    """The element type of the parts of a complex number; a real type itself."""
    return np.dtype({"complex64": "float32", "complex128": "float64"}.get(dtype.name, dtype))


real_p, real = unary_row("real", COMPLEX, np.real, "Elementwise real part.", real_part_dtype,
                         lowering=cast_rule("real"))
imag_p, imag = unary_row("imag", COMPLEX, np.imag, "Elementwise imaginary part.", real_part_dtype,
                         lowering=cast_rule("imag"))
complex_p, complex = binary_row(
    "complex", [SINGLE_OR_DOUBLE] * 2, _complex, "Elementwise x + iy.", _complex_dtype,
    lowering="complex")


def _conj_type(x, *, input_dtype=None):
    checks.dtype_kind("conj", x, SINGLE_OR_DOUBLE + COMPLEX)
    return ShapedArray(x.shape, _complex_dtype(x.dtype), x.weak_type)


def _lower_conj(ctx, x, *, input_dtype=None):
    (out,) = ctx.avals_out
    if x.aval.dtype.kind != "c":
        return emit(ctx, "complex", x, ctx.constant(0, x.aval), out=out)
    real, imag = emit_parts(ctx, x)
    return emit(ctx, "complex", real, emit(ctx, "negate", imag), out=out)


conj_p = make_primitive("conj", _conj_type)
def_numpy(conj_p, lambda x, *, input_dtype=None: np.conj(x).astype(_complex_dtype(x.dtype)))
register_lowering(conj_p, _lower_conj)
defvectorized(conj_p)


@public
def conj(x):
    """Elementwise complex conjugate; a real `x` becomes complex."""
    return conj_p.bind(x, input_dtype=typeof(x).dtype)


for p in (real_p, imag_p, complex_p, conj_p):
    deflinear_jvp(p)


def _zero(ct):
    return lax.constant(0, typeof(ct).dtype)


deftranspose(real_p, lambda ct, x: complex(ct, _zero(ct)))
deftranspose(imag_p, lambda ct, x: complex(_zero(ct), lax.neg(ct)))
deftranspose(complex_p, lambda ct, x, y: unbroadcast(x.aval, real(ct)),
             lambda ct, x, y: unbroadcast(y.aval, imag(lax.neg(ct))))
deftranspose(conj_p, lambda ct, x, *, input_dtype=None:
             conj(ct) if x.aval.dtype.kind == "c" else real(ct))
