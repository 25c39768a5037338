"""Chapter 12: NumPy's functions, written with primitives and transformations only.

Import it as in JAX: `import minijax.numpy as jnp`. Functions that JAX compiles are `jit` equations
in our jaxprs, too, and plain Python when nothing is traced (`_staged.py`).
"""

import typing as _typing

from ..compat.absent import with_absent_names as _with_absent_names
from ..compat.first_use import (
    loaded_on_first_use as _loaded_on_first_use, public_names as _public_names)

import numpy as _np

from ..core.array import Array as ndarray
from ..core.dtypes import finfo, iinfo
from ..lax.dtypes import promote_types, can_cast, isdtype
from ..lax.operators import (
    absolute, bitwise_not, equal, greater, greater_equal, less, less_equal, matmul, not_equal,
    positive)
from ._arithmetic import (
    bitwise_left_shift, bitwise_right_shift, divide, divmod, float_power, floor_divide, fmod,
    left_shift, mod, pow, power, reciprocal, remainder, right_shift, square, true_divide)
from ._constructors import (
    arange, array, asarray, astype, copy, empty, empty_like, full, full_like, ones, ones_like,
    zeros, zeros_like)
from ._grids import indices, ix_, meshgrid, c_, mgrid, ogrid, r_
from ._diagonals import (
    eye, identity, tri, diag, diag_indices, diag_indices_from, diagflat, diagonal, trace, tril,
    tril_indices, tril_indices_from, triu, triu_indices, triu_indices_from)
from ._editing import (
    choose, fill_diagonal, insert, mask_indices, place, put, put_along_axis, ravel_multi_index,
    trim_zeros, unravel_index)
from ._bits import bitwise_count, frexp, gcd, lcm, ldexp, nextafter, packbits, spacing, unpackbits
from ._convolutions import convolve, correlate
from ._covariance import corrcoef, cov
from ._einsum import einsum, einsum_path
from ._files import from_dlpack, frombuffer, fromfile, fromiter, fromstring, load, save, savez
from ._histograms import bincount, histogram, histogram2d, histogram_bin_edges, histogramdd
from ._inquiry import (
    get_printoptions, iscomplexobj, isrealobj, isscalar, issubdtype, iterable, printoptions,
    result_type, set_printoptions)
from ._indexing import compress, extract, take, take_along_axis
from ._joining import (
    append, array_split, block, column_stack, concat, concatenate, delete, dsplit, dstack, hsplit,
    hstack, split, stack, unstack, vsplit, vstack)
from ._products import cross, dot, inner, kron, matvec, outer, tensordot, vdot, vecdot, vecmat
from ._quantiles import median, nanmedian, nanpercentile, nanquantile, percentile, quantile
from ._ranges import geomspace, linspace, logspace
from ._nan_reductions import (
    nanargmax, nanargmin, nanmax, nanmean, nanmin, nanprod, nanstd, nansum, nanvar)
from ._namespace import __array_api_version__, __array_namespace_info__
from ._padding import pad
from ._polynomials import (
    poly, polyadd, polyder, polydiv, polyfit, polyint, polymul, polysub, polyval, roots)
from ._reductions import (
    all, amax, amin, any, average, count_nonzero, max, mean, min, prod, ptp, std, sum, var)
from ._running import cumprod, cumsum, cumulative_prod, cumulative_sum, nancumprod, nancumsum
from ._scalar_types import (
    bfloat16, bool_, cdouble, complex64, complex128, complex_, csingle, double, float4_e2m1fn,
    float8_e3m4, float8_e4m3, float8_e4m3b11fnuz, float8_e4m3fn, float8_e4m3fnuz, float8_e5m2,
    float8_e5m2fnuz, float8_e8m0fnu, float16, float32, float64, float_, int2, int4, int8, int16,
    int32, int64, int_, single, uint, uint2, uint4, uint8, uint16, uint32, uint64)
from ._searching import argmax, argmin, digitize, interp, searchsorted
from ._select import broadcast_arrays
from ._sequences import diff, ediff1d, gradient, trapezoid, unwrap, vander
from ._sets import (
    intersect1d, isin, setdiff1d, setxor1d, union1d, unique, unique_all, unique_counts,
    unique_inverse, unique_values)
from ._shaping import (
    atleast_1d, atleast_2d, atleast_3d, broadcast_shapes, broadcast_to, expand_dims, flip, fliplr,
    flipud, matrix_transpose, moveaxis, ndim, permute_dims, ravel, repeat, reshape, resize, roll,
    rollaxis, rot90, shape, size, squeeze, swapaxes, tile, transpose)
from ._sorting import argpartition, argsort, lexsort, partition, sort, sort_complex
from ._special import (
    allclose, argwhere, array_equal, array_equiv, clip, flatnonzero, fmax, fmin, heaviside, hypot,
    isclose, nan_to_num, nonzero, piecewise, select, sinc, where)
from ._ufuncs import (
    abs, angle, arctanh, around, atanh, sinh, cosh, arcsin, asin, arccos, acos, arctan, atan,
    arcsinh, asinh, arccosh, acosh, arctan2, atan2, bitwise_invert, cbrt, ceil, conj, conjugate,
    copysign, cos, deg2rad, degrees, exp, exp2, expm1, fabs, floor, imag, invert, iscomplex,
    isfinite, isinf, isnan, isneginf, isposinf, isreal, log, log1p, log2, log10, logical_not, modf,
    rad2deg, radians, real, rint, round, sign, signbit, sin, sqrt, tan, tanh, trunc)
from ._tapers import bartlett, blackman, hamming, hanning, i0, kaiser
from ._ufunc_objects import (
    add, bitwise_and, bitwise_or, bitwise_xor, frompyfunc, logaddexp, logaddexp2, logical_and,
    logical_or, logical_xor, maximum, minimum, multiply, negative, subtract, ufunc)
from ._vectorize import apply_along_axis, apply_over_axes, fromfunction, vectorize
from . import fft

bool = bool_

# NumPy's own: numbers, families of dtypes, and functions that only print.
pi, e, euler_gamma = _np.pi, _np.e, _np.euler_gamma
inf, nan, newaxis = _np.inf, _np.nan, None
dtype = _np.dtype
generic, number, integer, signedinteger = _np.generic, _np.number, _np.integer, _np.signedinteger
unsignedinteger, inexact, floating = _np.unsignedinteger, _np.inexact, _np.floating
complexfloating, character, flexible, object_ = (
    _np.complexfloating, _np.character, _np.flexible, _np.object_)
array_repr, array_str = _np.array_repr, _np.array_str
ComplexWarning = _np.exceptions.ComplexWarning
s_, index_exp = _np.s_, _np.index_exp

if _typing.TYPE_CHECKING:
    from . import linalg

__getattr__ = _with_absent_names(__name__, _loaded_on_first_use(__name__, {"linalg": ""}))
__all__ = sorted([*_public_names(__name__, ["fft"]), "linalg"])


def __dir__() -> list[str]:
    return __all__
