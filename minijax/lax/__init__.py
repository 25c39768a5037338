"""`jax.lax`: the primitives, as functions and as `Primitive`s, in the order of the book."""

import typing as _typing

from ..compat.first_use import (
    loaded_on_first_use as _loaded_on_first_use, public_names as _public_names)

# chapter 9
from .rounding import (
    RoundingMethod, ceil, ceil_p, floor, floor_p, is_finite, is_finite_p, round, round_p, sign,
    sign_p)
from .fewer_bits import reduce_precision, reduce_precision_p
from .elementwise import (
    abs_ as abs, abs_p, add, atanh, atanh_p, cbrt, cbrt_p, clamp, clamp_p, convert_element_type,
    cos, div, eq, exp, exp2, exp2_p, expm1, expm1_p, ge, gt, integer_pow, le, log, log1p, log1p_p,
    logistic, logistic_p, lt, max, max_p, min, min_p, mul, ne, neg, pow, pow_p, reciprocal, rem,
    rem_p, rsqrt, rsqrt_p, sin, sqrt, sqrt_p, square, square_p, sub, tan, tan_p, tanh)
from ..core.primitives import (
    add_p, broadcast_in_dim_p, convert_element_type_p, cos_p, div_p, dot_general_p, eq_p, exp_p,
    ge_p, gt_p, integer_pow_p, le_p, log_p, lt_p, mul_p, ne_p, neg_p, reduce_sum_p, reshape_p,
    sin_p, squeeze_p, stop_gradient_p, sub_p, tanh_p, transpose_p)
from .selection import select, select_n, select_n_p
from .bitwise import (
    and_p, bitwise_and, bitwise_not, bitwise_or, bitwise_xor, not_p, or_p, shift_left, shift_left_p,
    shift_right_arithmetic, shift_right_arithmetic_p, shift_right_logical, shift_right_logical_p,
    xor_p)
from .complex_numbers import complex, complex_p, conj, conj_p, imag, imag_p, real, real_p
from .shaping import (
    broadcast, broadcast_in_dim, broadcast_to_rank, broadcasted_iota, collapse, copy_p, expand_dims,
    full, full_like, iota, iota_p, reshape, rev, rev_p, squeeze, transpose, broadcast_shapes)
from .cutting import (
    concatenate, concatenate_p, index_in_dim, pad, pad_p, slice, slice_in_dim, slice_p, split,
    split_p)
from .stacking import (stack, stack_p, unstack, unstack_p)
from .slicing import (
    dynamic_slice, dynamic_slice_in_dim, dynamic_slice_p, dynamic_update_slice,
    dynamic_update_slice_in_dim, dynamic_update_slice_p)
from .reductions import (
    argmax, argmax_p, argmin, argmin_p, reduce_and, reduce_and_p, reduce_max, reduce_max_p,
    reduce_min, reduce_min_p, reduce_or, reduce_or_p, reduce_prod, reduce_prod_p, reduce_sum,
    reduce_xor, reduce_xor_p)
from .cumulative import (
    cumlogsumexp, cumlogsumexp_p, cummax, cummax_p, cummin, cummin_p, cumprod, cumprod_p, cumsum,
    cumsum_p)
from .precision import AccuracyMode, Precision, Tolerance
from .products import batch_matmul, dot, dot_general
from ..core.dtypes import dtype

from ..core.api import stop_gradient
from .control_flow.axes import axis_size
from .control_flow.cond import cond, cond_p, switch
from .control_flow.while_loop import while_loop, while_p
from .control_flow.fori_loop import fori_loop
from .control_flow.map import map
from .control_flow.scan import scan, scan_p
from .control_flow.associative_scan import associative_scan

# chapter 10
from ..custom_rules import custom_linear_solve, custom_root, linear_solve_p
from ..remat import optimization_barrier, optimization_barrier_p

# chapter 11
from .staged import dynamic_index_in_dim, dynamic_update_index_in_dim
from .windows import GatherDimensionNumbers, GatherScatterMode, ScatterDimensionNumbers
from .gathering import gather, gather_p, index_take
from .scattering import (
    scatter, scatter_add, scatter_add_p, scatter_apply, scatter_max, scatter_max_p, scatter_min,
    scatter_min_p, scatter_mul, scatter_mul_p, scatter_p, scatter_sub, scatter_sub_p)
from .fourier import FftType, fft, fft_p
from .trigonometric import (
    acos, acos_p, acosh, acosh_p, asin, asin_p, asinh, asinh_p, atan, atan2, atan2_p, atan_p, cosh,
    cosh_p, sinh, sinh_p)
from .special import (
    digamma, digamma_p, erf, erf_inv, erf_inv_p, erf_p, erfc, erfc_p, lgamma, lgamma_p, polygamma,
    polygamma_p, zeta, zeta_p)
from .bits import (
    bitcast_convert_type, bitcast_convert_type_p, clz, clz_p, eq_to_p, le_to_p, lt_to_p, mulhi,
    mulhi_p, nextafter, nextafter_p, population_count, population_count_p)
from .sorting import sort, sort_key_val, sort_p, top_k, top_k_p
from .incomplete_gamma import (
    igamma, igamma_grad_a, igamma_grad_a_p, igamma_p, igammac, igammac_p, random_gamma_grad)
from .incomplete_beta import betainc, regularized_incomplete_beta_p
from .bessel import bessel_i0e, bessel_i0e_p, bessel_i1e, bessel_i1e_p
from .sliding import padtype_to_pads
from .convolution import (conv_general_dilated, conv_general_dilated_p)
from .convolution_shapes import (
    ConvDimensionNumbers, ConvGeneralDilatedDimensionNumbers, conv_dimension_numbers,
    conv_general_permutations, conv_shape_tuple)
from .convolution_functions import (
    conv, conv_general_dilated_local, conv_general_dilated_patches, conv_general_shape_tuple,
    conv_transpose, conv_transpose_shape_tuple, conv_with_general_padding)
from .reducing import reduce, reduce_p
from .windowed_reductions import (
    reduce_window, reduce_window_max_p, reduce_window_min_p, reduce_window_p,
    reduce_window_shape_tuple, reduce_window_sum_p)
from .pooling_derivatives import (
    select_and_gather_add_p, select_and_scatter_add_p, select_and_scatter_p)
from .tiling import tile, tile_p
from .approximate import approx_max_k, approx_min_k
from .generators import RandomAlgorithm, rng_bit_generator, rng_bit_generator_p
from .control_flow.platforms import platform_dependent
from .shapes import broadcast_like, empty, shape_as_value, stage
from .ragged import RaggedDotDimensionNumbers, ragged_dot, ragged_dot_general
from .dot_algorithms import DotAlgorithm, DotAlgorithmPreset, DotDimensionNumbers, PrecisionLike

# chapter 14
from ..parallel.programs.sharding_constraint import sharding_constraint_p, with_sharding_constraint
from ..parallel.programs.device_put import device_put_p
from ..parallel.types.varying_axes import pcast
from ..parallel.collectives.primitives import (
    all_gather_p, all_to_all_p, axis_index_p, pmax_p, pmin_p, ppermute_p, psum_p)
from ..parallel.collectives.reductions import pmax, pmean, pmin, psum
from ..parallel.collectives.exchanges import (
    all_gather, all_to_all, axis_index, pbroadcast, ppermute, pshuffle, psum_scatter, pswapaxes)

# chapter 9
if _typing.TYPE_CHECKING:
    from . import linalg

__getattr__ = _loaded_on_first_use(__name__, {"linalg": ""})

# chapter 10
from ..compat.absent import with_absent_names as _with_absent_names

__getattr__ = _with_absent_names(__name__, __getattr__)

# chapter 9
__all__ = sorted([*_public_names(__name__), "linalg"])


def __dir__() -> list[str]:
    return __all__
