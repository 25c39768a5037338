"""Calls of `lax` beyond the starters, as text, with the operands to try them on.

A row of `CALLS` has the operands `x`, `y`, `z` as a line like those in `primitives_table` (each
one's dtype and shape, `+` for positive numbers) and a call of them. The call is evaluated with the
names `jx`, `lax`, `jnp`, `linalg`, `np`, and the functions at the end of this file.
"""

from __future__ import annotations

from typing import Any

import numpy as np

CALLS: list[tuple[str, str]] = [  # operands, call
    # --- sorting ---
    ("float32[3,4]", "lax.top_k(x, 2)"),
    ("float32[3,4]", "lax.top_k(x, 2, axis=0)"),
    ("int32[2,3,2]", "lax.top_k(x, 2, axis=1)"),
    ("float32[3,2]", "lax.sort(x, dimension=0)"),
    ("complex64[2,3]", "lax.sort(x)"),
    ("int32[2,4] float32[2,4]", "lax.sort((x, y), dimension=1, num_keys=2)"),
    ("float32[4,2] float32[4,2]", "lax.sort((x, y), dimension=0, num_keys=1)"),
    ("float32[4,2] float32[4,2]", "lax.sort_key_val(x, y, dimension=0)"),
    ("float32[2,3,2]", "lax.argmin(x, 1, np.int32)"),
    # --- cumulative operations ---
    ("complex64[2,3]", "lax.cumsum(x, 1, reverse=True)"),
    ("complex64[3,2]", "lax.cumprod(x, 0)"),
    ("int32[2,3]", "lax.cummax(x, 1)"),
    ("float32[2,5]", "lax.associative_scan(jnp.multiply, x, axis=1)"),
    ("float32[4] float32[4,2]", "lax.associative_scan(lambda a, b: (a[0] + b[0], a[1] * b[1]), (x, y), reverse=True)"),
    *((f"float32[{n}]", "lax.associative_scan(jnp.multiply, x)") for n in (0, 1, 2, 3)),
    # --- slices ---
    ("float32[3,4] int32+[] int32[]", "lax.dynamic_slice(x, (y, z), (2, 1))"),
    ("float32[2,3,4] int32[] int32[]", "lax.dynamic_slice(x, (y, 1, z), (1, 2, 2))"),
    ("float32[3,4] float32[2,2] int32[]", "lax.dynamic_update_slice(x, y, (z, 1))"),
    ("float32[3,4] float32[1,3] int32+[]", "lax.dynamic_update_slice(x, y, (1, z))"),
    ("float32[3,4] int32[]", "lax.dynamic_slice_in_dim(x, y, 2, axis=1)"),
    ("float32[3,4] float32[3,2] int32[]", "lax.dynamic_update_slice_in_dim(x, y, z, axis=1)"),
    ("float32[3,4] int32[]", "lax.dynamic_index_in_dim(x, y, axis=1, keepdims=False)"),
    ("float32[3,4] int32[]", "lax.dynamic_index_in_dim(x, y, axis=-1)"),
    ("float32[3,4] float32[3] int32[]", "lax.dynamic_update_index_in_dim(x, y, z, 1)"),
    ("float32[3,4]", "lax.slice_in_dim(x, -3, None, 2, axis=1)"),
    ("float32[3,4]", "lax.slice_in_dim(x, 1, -1, axis=-1)"),
    ("float32[3,4]", "lax.index_in_dim(x, -1, axis=1)"),
    ("float32[3,4]", "lax.index_in_dim(x, 1, axis=-1, keepdims=False)"),
    ("float32[3,2,4] int32[3]", "lax.index_take(x, (y, y[::-1]), (0, 2))"),
    # --- pieces and shapes ---
    ("float32[2,3]", "jnp.unstack(x, axis=0)"),
    ("float32[2,3,2]", "jnp.unstack(x, axis=-1)"),
    ("float32[2,3] float32[2,3]", "jnp.stack([x, y], axis=2)"),
    ("float32[2,3] float32[2,3]", "jnp.stack([x, y, x], axis=0)"),
    ("float32[2,4]", "lax.split(x, (1, 3), axis=1)"),
    ("float32[2,1] float32[2,3]", "lax.concatenate([x, y, x], 1)"),
    ("float32[3,4] float32[]", "lax.pad(x, y, ((-1, 2, 1), (1, -1, 0)))"),
    ("float32[3] float32[]", "lax.pad(x, y, ((1, -2, 2),))"),
    ("complex64[2,2] complex64[]", "lax.pad(x, y, ((2, 1, 0), (0, 0, 2)))"),
    ("float32[2,3,2]", "lax.rev(x, (0, 2))"),
    ("float32[2,2,3]", "lax.reshape(x, (4, 3), dimensions=(2, 0, 1))"),
    ("float32[3]", "lax.broadcast(x, (2, 1))"),
    ("float32[2,1]", "lax.broadcast_in_dim(x, (2, 3, 4), (0, 2))"),
    ("float32[1]", "lax.broadcast_in_dim(x, (4, 3), (1,))"),
    ("float32[2,3,2]", "lax.collapse(x, 1, 3)"),
    ("float32[2,3]", "lax.expand_dims(x, (0, -1))"),
    ("float32[2,3]", "lax.tile(x, (2, 3))"),
    ("float32[2,3,4]", "lax.transpose(x, (1, 2, 0))"),
    ("float32[1,3,1]", "lax.squeeze(x, (0, -1))"),
    ("float32[2,3]", "lax.full_like(x, 2.5)"),
    ("float32[2,3]", "(lax.broadcast_to_rank(x, 2), lax.broadcast_to_rank(x, 4))"),
    ("int32[2,3]", "lax.broadcasted_iota(np.int32, (2, 3), 1) + x"),
    # --- choices ---
    ("bool[3] float32[3] float32[3]", "lax.select_n(x, y, z)"),
    ("bool[] float32[2,3] float32[2,3]", "lax.select_n(x, y, z)"),
    ("int32+[4] float32[4] float32[4]", "lax.select_n(x % 3, y, z, -y)"),
    ("bool[2,3] complex64[2,3] complex64[2,3]", "lax.select(x, y, z)"),
    ("float32[2,3] float32[2,3] float32[2,3]", "lax.clamp(x - 1, y, z)"),
    ("float32[2,3] float32[2,3]", "lax.max(x, y)"),
    ("complex64[3]", "lax.max(x, jnp.roll(x, 1)) + lax.min(x, x)"),
    # --- elementwise ---
    ("float32[2,3]", "lax.pow(x, 3)"),
    ("int32[3] int32+[3]", "lax.pow(x, y)"),
    ("complex64[3] complex64[3]", "lax.pow(x, y)"),
    ("int32[4] int32+[4]", "x ** y"),
    ("float32+[3] float32[3]", "x ** y"),
    ("float32[3]", "lax.integer_pow(x, -3)"),
    ("float32[2,3] float32[2,3]", "lax.rem(x, y)"),
    ("int32[2,3] int32[2,3]", "lax.rem(x, y)"),
    ("float32[2,3] float32[2,3]", "lax.atan2(x, y)"),
    ("complex64[3] complex64[3]", "lax.atan2(x, y)"),
    ("float32[2,3] float32[2,3]", "lax.nextafter(x, y)"),
    ("float32[2,3] float32[2,3]", "lax.complex(x, y)"),
    ("complex64[2,3]", "lax.conj(x)"),
    ("complex64[2,3]", "lax.abs(x)"),
    ("complex64[3]", "lax.sign(x)"),
    ("complex64[3]", "lax.tan(x) + lax.sinh(x) * lax.cosh(x)"),
    ("float32[4]", "lax.asin(x / 3) + lax.acos(x / 3) + lax.atan(x)"),
    ("complex64[4]", "lax.asin(x / 3) * lax.acos(x / 3)"),
    ("complex64[4]", "lax.atan(x)"),
    ("float32[4]", "lax.asinh(x) + lax.acosh(x + 3) + lax.atanh(x / 3)"),
    ("complex64[4]", "lax.asinh(x) * lax.acosh(x * x + 9) * lax.atanh(x / 3)"),
    ("float32[4]", "lax.exp2(x) + lax.log1p(x * x) + lax.expm1(x)"),
    ("float32[4]", "lax.cbrt(x) + lax.rsqrt(x + 3) + lax.logistic(x)"),
    ("complex64[4]", "lax.sqrt(x) * lax.rsqrt(x) + lax.log1p(x) + lax.expm1(x)"),
    ("complex64[4]", "lax.square(x) + lax.exp2(x) * lax.logistic(x)"),
    ("float32[4]", "lax.erf(x) + lax.erfc(x) * lax.erf_inv(x / 4)"),
    ("float32+[4]", "lax.lgamma(x) + lax.digamma(x)"),
    ("float32+[3] float32+[3]", "lax.polygamma(x, y)"),
    ("float32+[3] float32+[3]", "lax.zeta(x + 1.5, y)"),
    ("float32+[4] float32+[4]", "lax.igamma(x, y)"),
    ("float32+[4] float32+[4]", "lax.igammac(x, y)"),
    ("float32+[4] float32+[4]", "lax.igamma(x + 20, y * 12)"),
    ("float32+[4] float32+[4]", "lax.igamma_grad_a(x, y)"),
    ("float32+[4] float32+[4]", "lax.random_gamma_grad(x, y)"),
    ("float32+[4] float32+[4] float32+[4]", "lax.betainc(x, y, z / 5)"),
    ("float32[6]", "lax.bessel_i0e(x) + lax.bessel_i1e(x * 6)"),
    ("float32[2,3]", "lax.reduce_precision(x, 5, 3)"),
    ("float32[6]", "lax.round(x * 2)"),
    ("float32[3]", "lax.is_finite(x)"),
    ("uint32[4]", "lax.population_count(x) + lax.clz(x)"),
    ("int8[6]", "lax.clz(x) ^ lax.population_count(x)"),
    ("int32[4] int32+[4]", "lax.shift_right_arithmetic(x, y) - lax.shift_right_logical(x, y)"),
    ("float32[2,3]", "lax.bitcast_convert_type(x, np.int32)"),
    ("float32[2]", "lax.bitcast_convert_type(x, np.uint8)"),
    ("float32[2,3]", "lax.convert_element_type(x, np.float16)"),
    ("complex64[2,3]", "lax.convert_element_type(x, np.float32)"),
    # --- reductions ---
    ("float32[2,3,2]", "lax.reduce_prod(x, (0, 2))"),
    ("float32[2,3]", "lax.reduce_max(x, (1,))"),
    ("complex64[3,2]", "lax.reduce_min(x, (0,))"),
    ("int32[2,3]", "lax.reduce_and(x, (1,))"),
    ("int32[2,3]", "lax.reduce_xor(x, (0,))"),
    ("float32[2,3]", "lax.reduce(x, np.float32(1), lax.mul, (1,))"),
    ("float32[2,3] int32[2,3]",
     "lax.reduce((x, y), (np.float32(0), np.int32(0)), lambda a, b: (a[0] + b[0], a[1] ^"
     " b[1]), (0,))"),
    ("float32[2,3] float32[]", "lax.reduce(x, y, lambda a, b: a + 2 * b - b, (0,))"),
    ("float32[3,4]", "lax.reduce_window(x, -np.inf, lax.max, (2, 2), (1, 2), 'SAME')"),
    ("float32[3,4]", "lax.reduce_window(x, np.inf, lax.min, (1, 3), (1, 1), 'VALID')"),
    ("float32[3,5]",
     "lax.reduce_window(x, np.float32(0), lax.add, (2, 3), (2, 1), ((1, 0), (0, 2)),"
     " base_dilation=(2, 1), window_dilation=(1, 2))"),
    ("float32[4]",
     "lax.reduce_window(x, np.float32(0), lambda a, b: a + b * 1, (2,), (1,), 'VALID')"),
    # --- products ---
    ("float32[3,3] float32[3,3]", "lax.dot_general(x, y, (((0,), (0,)), ((), ())))"),
    ("float32[2,3,4] float32[3,4,2]", "lax.dot_general(x, y, (((2,), (1,)), ((0,), (2,))))"),
    ("float32[2,3,4] float32[3,4,2]", "lax.dot_general(x, y, (((0, 2), (2, 1)), ((), ())))"),
    ("float32[2,3,4] float32[4,2,1,3]", "lax.dot_general(x, y, (((1,), (3,)), ((2, 0), (0, 1))))"),
    ("complex64[2,3] complex64[3]", "lax.dot_general(x, y, (((1,), (0,)), ((), ())))"),
    ("bfloat16[2,3] bfloat16[3,2]", "lax.dot(x, y, preferred_element_type=np.float32)"),
    ("float32[2,3,4] float32[2,4,1]", "lax.batch_matmul(x, y)"),
    ("float32[2,1,3,4] float32[3,4,2]", "x @ y"),
    ("float32[3] float32[2,3,4]", "x @ y"),
    ("float32[5,2] float32[3,2,4]", "lax.ragged_dot(x, y, np.array([2, 0, 3]))"),
    # --- convolutions ---
    ("float32[2,3,4,5] float32[2,3,3,2]", "lax.conv(x, y, (1, 2), 'SAME')"),
    ("float32[2,5,3] float32[2,3,4]",
     "lax.conv_general_dilated(x, y, (2,), ((1, 2),), (2,), (2,), ('NWC', 'WIO', 'NWC'))"),
    ("float32[2,4,5] float32[6,2,3]",
     "lax.conv_general_dilated(x, y, (1,), 'VALID', feature_group_count=2)"),
    ("float32[4,3,5] float32[2,3,2]",
     "lax.conv_general_dilated(x, y, (1,), 'VALID', batch_group_count=2)"),
    ("float32[5,2,3,2] float32[2,3,2,2]",
     "lax.conv_general_dilated(x, y, (1, 1), ((-1, 1), (2, 0)), (1, 2), (2, 1), ('HNWC',"
     " 'WOHI', 'CWNH'))"),
    ("complex64[1,2,4] complex64[2,2,3]", "lax.conv_general_dilated(x, y, (1,), 'SAME')"),
    ("float32[2,4,3] float32[3,3,2]", "lax.conv_transpose(x, y, (2,), 'SAME')"),
    ("float32[2,3,4] float32[3,2,3]",
     "lax.conv_transpose(x, y, (2,), 'VALID', transpose_kernel=True,"
     " dimension_numbers=('NCH', 'OIH', 'NCH'))"),
    ("float32[2,3,5] float32[4,6,4]", "lax.conv_general_dilated_local(x, y, (1,), 'VALID', (2,))"),
    ("float32[1,4,3,2] float32[2,3,4,3]",
     "lax.conv_general_dilated_local(x, y, (2, 1), 'VALID', (2, 1),"
     " dimension_numbers=('NHWC', 'HWIO', 'NHWC'))"),
    ("float32[2,3,3,4]", "lax.conv_general_dilated_patches(x, (2, 2), (1, 2), 'SAME')"),
    ("float32[2,5,3]",
     "lax.conv_general_dilated_patches(x, (3,), (1,), 'VALID', dimension_numbers=('NWC',"
     " 'OIW', 'NWC'))"),
    ("float32[1,2,3,2,1] float32[2,1,2,1,2]", "lax.conv_transpose(x, y, (1, 2, 1), 'SAME')"),
    ("float32[2,3] float32[3,2]", "lax.conv_transpose(x, y, (), 'SAME')"),
    # --- Fourier transforms ---
    ("complex64[3,4]", "lax.fft(x, 'FFT', (4,))"),
    ("complex64[3,4]", "lax.fft(x, 'IFFT', (3, 4))"),
    ("float32[2,5]", "lax.fft(x, 'RFFT', (5,))"),
    ("float32[2,4]", "lax.fft(x, 'RFFT', (2, 4))"),
    ("complex64[2,4]", "lax.fft(x, 'IRFFT', (6,))"),
    ("complex64[3,3]", "lax.fft(x, 'IRFFT', (3, 5))"),
    # --- gather and scatter ---
    ("float32[3,4] int32[3]", "x[y, 1:]"),
    ("float32[2,3,4] int32[2,2]", "x[:, y % 2, y]"),
    ("float32[4,2] int32[3] float32[3,2]", "x.at[y].add(z)"),
    ("float32[9] int32+[3] float32[3]", "x.at[y].set(z, unique_indices=True)"),
    ("float32[2,4] int32[2] float32[2,2]", "x.at[:, y].mul(z)"),
    ("float32[4,2] int32[3] float32[3,2]", "x.at[y % 4].max(z)"),
    ("float32[4,2] int32[3] float32[3]", "x.at[y, 1].min(z, mode='drop')"),
    ("float32[2,3] int32[2,4]", "jnp.take_along_axis(x, y % 3, axis=1)"),
    ("float32[2,3] int32[2]", "jnp.take(x, y, axis=1, mode='clip')"),
    ("float32[3,2] int32[4]", "jnp.take(x, y, axis=0, mode='fill')"),
    ("float32[4,3]", "(x.at[1:3].get(), x.at[2, 1:].get(mode='clip'), x.at[-1, ::2].get())"),
    ("float32[3,4]", "(x[[], 1:], x[[2, 0], 1], x[:, [True, False, True, False]])"),
    ("float32[3]", "x.at[x].set(1)"),
    ("float32[3]", "x[x[0]]"),
    ("float32[3] bool[]", "(x[y], x[y == False], x[None])"),
    # --- linear algebra ---
    ("float32[3,3] float32[3,3]", "linalg.triangular_solve(x + 3 * jnp.eye(3), y, left_side=True)"),
    ("float32[3,3] float32[3,3]", "linalg.triangular_solve(x + 3 * jnp.eye(3), y, lower=True)"),
    ("float32[2,3,3]", "linalg.cholesky(x @ x.mT + 3 * jnp.eye(3, dtype=x.dtype))"),
    ("complex64[3,3]", "linalg.cholesky(x @ x.mT.conj() + 3 * jnp.eye(3, dtype=x.dtype))"),
    ("float32[3,3] float32[3,2]",
     "linalg.triangular_solve(x + 3 * jnp.eye(3), y, left_side=True, lower=True)"),
    ("float32[2,3,3] float32[2,2,3]",
     "linalg.triangular_solve(x + 3 * jnp.eye(3), y, transpose_a=True, unit_diagonal=True)"),
    ("complex64[3,3] complex64[3,2]",
     "linalg.triangular_solve(x + 3j * jnp.eye(3), y, conjugate_a=True, transpose_a=True,"
     " left_side=True)"),
    ("float32[2,3,3]", "linalg.lu(x + 3 * jnp.eye(3))"),
    ("float32[4,3]", "linalg.lu(x)"),
    ("float32[2,4]", "linalg.lu(x)[0]"),
    ("float32[4,3]", "linalg.qr(x + jnp.eye(4, 3), full_matrices=False)"),
    ("complex64[3,3]", "linalg.qr(x + jnp.eye(3), full_matrices=False)"),
    ("float32[2,3,3]", "jnp.abs(linalg.eigh(x + x.mT + jnp.diag(jnp.arange(3.) * 5))[0])"),
    ("complex64[3,3]", "linalg.eigh(x + x.mT.conj() + jnp.diag(jnp.arange(3.) * 5))[1]"),
    ("float32[4,3]",
     "linalg.svd(x + 4 * jnp.eye(4, 3) * jnp.arange(1, 4), full_matrices=False)[1]"),
    ("complex64[3,4]", "linalg.svd(x + 4 * jnp.eye(3, 4), compute_uv=False)"),
    ("float32[3,3]",
     "jnp.linalg.svd(x + jnp.diag(jnp.arange(3.) * 5), full_matrices=False)[0] ** 2"),
    ("float32[3,3]", "jnp.linalg.eigvals(x + jnp.diag(jnp.arange(3.) * 5)).real.sum()"),
    ("float32[4] float32[4,2]", "linalg.tridiagonal_solve(x / 4, x + 3, x / 4, y)"),
    ("float32[3,3] float32[3,2]", "jnp.linalg.solve(x + 3 * jnp.eye(3), y)"),
    ("float32[2,3,3]", "jnp.linalg.det(x + jnp.eye(3))"),
    # --- control flow ---
    ("float32[3]", "lax.scan(lambda c, a: (c + a, c), 0.0, x)"),
    ("float32[2,2] float32[2] float32[3,2]",
     "lax.scan(lambda h, a: (lambda h: (h, h.sum()))(jnp.tanh(h @ x + a)), y, z)"),
    ("float32[2,2] float32[3,2]",
     "lax.scan(lambda h, a: (lambda h: (h, h.sum()))(jnp.tanh(h @ x + a)), jnp.zeros(2), y)"),
    ("float32[]",
     "lax.scan(lambda s, _: (lambda v: ((s[0] + 0.1 * v, v), s[0]))(s[1] - 0.1 * x *"
     " jnp.sin(s[0])), (1.0, 0.0), None, length=5)"),
    ("float32[2] float32[3,2]",
     "lax.scan(lambda h, a: (h * jnp.sin(x) + a * 2.0, h**2), jnp.zeros(2), y)"),
    ("float32[]",
     "lax.scan(lambda c, _: ((c[0] + 1, c[1] * jnp.sin(c[0] * x)), c[1]), (0, 1.0), None, 3)"),
    ("float32[]", "lax.scan(lambda c, _: (jnp.cos(c), None), x, length=4)"),
    ("float32[3]", "lax.scan(lambda _, a: (None, jnp.sin(a) * x[0]), None, x)"),
    ("float32[] float32[3]",
     "lax.scan(lambda c, a: ((c[0], c[1] * c[0]), (a, a * c[0], c[1])), (x, x), y)"),
    ("float32[3]", "lax.scan(lambda c, a: (c * a, jnp.exp(c)), 1.0, x, reverse=True, unroll=2)"),
    ("float32[3,2]",
     "lax.scan(lambda c, r: lax.scan(lambda d, a: (d * jnp.sin(a) + r.sum(), d), c, r), 1.0, x)"),
    ("float32[] float32[] float32[3]",
     "lax.scan(lambda c, a: ((c[1], c[0] * a), c[0]), (x, y), z)"),
    ("float32[3] float32[3]",
     "lax.scan(lambda c, a: ({'a': c['a'] + a['p'], 'b': (c['b'][0] + a['q'][0],)}, {'y':"
     " c['a']}), {'a': x[0], 'b': (1.0,)}, {'p': x, 'q': (y,)})"),
    ("float32+[3]", "lax.scan(lambda c, a: (c * 2.5 / 3.0 + a**2.5, c**3 * 1.5), 1.0, x)"),
    ("float32[4] float32[]",
     "lax.scan(lambda c, a: (c + a[0] * a[1] + y, c), 0.0, (x, jnp.ones(x.shape)))"),
    ("float32[3]", "lax.scan(jx.jit(lambda c, a: (jnp.sin(c) * a, c * 2.0)), 1.0, x)"),
    ("complex64[] complex64[3]", "lax.scan(lambda c, a: (c * x + a, c * c), x, y)"),
    ("float32[3] int32+[]", "lax.fori_loop(0, y, lambda i, c: c + jnp.ones(3) * 3.0 + x, x + 1)"),
    ("int32+[] int32+[] float32[]", "lax.fori_loop(x, y + 2, lambda i, c: c * z + i, z)"),
    ("float32+[]",
     "lax.while_loop(lambda v: jnp.abs(v * v - x) > 1e-3, lambda v: 0.5 * (v + x / v), x)"),
    ("float32[]",
     "lax.while_loop(lambda c: c[0] < 4, lambda c: (c[0] + np.int32(1), c[1] + x, c[2] * 2),"
     " (0, 0, 1))"),
    ("float32[] float32[3]",
     "lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1], c[2] * c[1]), (0, x, y))"),
    ("int32+[] float32[3]",
     "lax.while_loop(lambda c: c[0] < c[1], lambda c: (c[0] + 1, c[1], jnp.sin(c[2])), (0, x, y))"),
    ("int32+[] float32[] float32[3]",
     "lax.while_loop(lambda c: c[0] < x, lambda c: (c[0] + 1, c[2], c[3], c[1] * y),"
     " (0, z, z * 0 + 1, z * 0))"),
    ("float32[] float32[3]",
     "lax.while_loop(lambda c: c['i'] < 3, lambda c: {'i': c['i'] + 1, 'w': (c['w'][0] * x,"
     " c['w'][1] + c['w'][0])}, {'i': 0, 'w': (y, y * y)})"),
    ("float32+[3]",
     "lax.while_loop(lambda u: (u * np.float32([1, 2, 3])).sum() < 40, lambda u: u *"
     " np.float32([1, 2, 3]) + 0.5, x)"),
    ("float32+[]", "lax.while_loop(lambda c: c < x, lambda c: c * 2, x)"),
    ("int32+[] float32[]",
     "lax.while_loop(lambda c: c[0] > 0, lambda c: (c[0] - 1, c[1] + jnp.cos(c[1])), (x, y))"),
    ("float32[]",
     "lax.while_loop(lambda c: c[0] < 6, lambda c: (c[0] + 1, lax.cond(c[1] > 4, lambda a: a / 3,"
     " lambda a: a * x, c[1])), (0, x))[1]"),
    ("int32+[] float32+[]",
     "lax.cond(y > 0.1, lambda: lax.while_loop(lambda c: c[0] > 0, lambda c: (c[0] - 1, c[1] +"
     " jnp.cos(c[1])), (x, y))[1], lambda: jnp.sin(y))"),
    ("int32+[] float32[]",
     "lax.while_loop(lambda c: c[0] < x, lambda c: (c[0] + 1, lax.fori_loop(0, c[0], lambda j, a:"
     " a * 0.9 + y / (j + 1), c[1])), (0, y))[1]"),
    *((f"float32{sign}[]", "lax.cond(x >= 0.0, lambda a: a + 3.0, lambda a: a - 3.0, x)")
      for sign in ("", "+")),
    ("float32[] float32[1]",
     "lax.cond(x >= 0.0, lambda t: t[0], lambda t: jnp.array([1]) + t[1], (y, 2.0))"),
    ("int32[] float32[3]", "lax.switch(x, [jnp.sin, jnp.cos, lambda a: a * a], y)"),
    *((f"float32{sign}[] float32[3]",
       "lax.cond(x > 0, lambda: (y * np.float32([1, 2, 3])).sum() + x, lambda: (jnp.sin(y) *"
       " np.float32([3, 2, 1])).sum() * x)") for sign in ("", "+")),
    *((f"float32{sign}[] float32[3]",
       "(lambda e: lax.cond(x > 0, lambda u: u * e + x, lambda u: u - jnp.cos(e), y))(jnp.exp(x))")
      for sign in ("", "+")),
    ("float32[] float32[3]",
     "lax.cond(x > 0, lambda a, b: (a, b * 2, b), lambda a, b: (a, b.sum() + b, b), x, y)"),
    *((f"float32{sign}[] float32[3]",
       "lax.cond(x > 0, lambda t: {'u': t['a'][1] * t['b'][0], 'w': (t['a'][0],)}, lambda t: {'u':"
       " jnp.sin(t['a'][1]), 'w': (t['b'][0] ** 2,)}, {'a': (x, y), 'b': [x * 2]})")
      for sign in ("", "+")),
    *((f"int32[] float32[] float32[{n}]",
       "lax.switch((x + z.size) % 3, [lambda: jnp.sin(z) * z, lambda: jnp.sin(jnp.exp(y)) *"
       " jnp.cos(z) + jnp.tanh(y), lambda: z])") for n in (2, 3, 4)),
    *((f"float32{sign}[] float32[3]",
       "lax.cond(x > 0, lambda v: (v * 0 + 1.0, v), lambda v: (v, v * v), lax.stop_gradient(y))[0]"
       " * x") for sign in ("", "+")),
    ("float32[]", "lax.cond(x > 0.5, lambda: 1.0, lambda: 2.0) * x"),
    *((f"float32{sign}[]", "lax.cond(x > 0, lambda: 1.0, lambda: x)") for sign in ("", "+")),
    ("float32[]", "lax.cond(x > 0, lambda t: t[0] * t[1], lambda t: t[0], operand=(x, x + 1))"),
    ("int32[] float32[]", "lax.cond(x, lambda a: a + 1, lambda a: a - 1, y)"),
    *((f"float32{sign}[] float32[3]",
       "(lambda f: lax.cond(x > 0, lambda: f(x) * y, lambda: f(x * x) + y))(lambda a: lax.cond("
       "a > 1, lambda a: a**3, jnp.sin, a))") for sign in ("", "+")),
    ("float32[]",
     "(lambda f: f(x) * f(-x))(jx.jit(lambda a: lax.cond(a > 0, jnp.sin, jnp.cos, a)))"),
    ("float32[]",
     "(lambda f, g: lax.cond(x > 0, f, g, lax.cond(x > 1, f, g, x)))(lambda a: a * 2, lambda a:"
     " a + 1)"),
    ("int32[] float32[]", "lax.cond(x > 1, lambda: (x, y), lambda: (x * 2, y * y))"),
    ("float32+[4]", "jx.vmap(lambda a: lax.cond(a > 1, jnp.sqrt, lambda a: a, a - 1))(x)"),
    ("bool[] float32[3] float32[3]",
     "lax.cond(x, lambda a, b: (a * b, b), lambda a, b: (a + 1, a), y, z)"),
    ("int32[] float32[3] float32[3]",
     "lax.switch(x % 3, [lambda a: (a, 1), lambda a: (a * a, 2), lambda a: (y, 3)], z)"),
    ("float32[2] float32[4,2]",
     "lax.scan(lambda c, a: ((c[0] * a, c[1] + 1, c[2]), (c[0] + c[2], a)), (x, 0, x), y)"),
    ("float32[3,2] float32[3]",
     "lax.scan(lambda c, a: (c + a[0], (a[1], y * 2)), jnp.zeros(2), (x, y), reverse=True)"),
    ("float32[] float32[5]", "lax.scan(lambda c, a: (c * a, c), x, y, unroll=2)[1]"),
    ("float32[2] float32[2]", "lax.scan(lambda c, a: (x * 2 + c, None), 0 * y, None, length=3)"),
    ("float32[3,2] float32[2]", "lax.map(lambda a: a * y + jnp.sum(x), x)"),
    ("float32[5] float32[2]", "lax.map(lambda a: a * y, x, batch_size=2)"),
    ("float32[2] float32[2]", "lax.fori_loop(0, 3, lambda i, c: (c[0] * y + i, c[1]), (x, y))"),
    ("int32[] float32[2]", "lax.fori_loop(x % 3, 5, lambda i, c: c + i, y)"),
    ("float32[5] float32[5]", "lax.fori_loop(1, 4, lambda i, c: c.at[i].add(y[i] * c[i - 1]), x)"),
    ("int32[] float32[2]",
     "lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * y, c[1]), (x % 3, y,"
     " y))"),
    ("float32+[2]", "lax.while_loop(lambda c: jnp.sum(c) < 20, lambda c: c * 2, x)"),
    ("float32[]", "lax.scan(lambda c, _: (c * 2, c), x, length=2.5)"),
    ("float32[] int32[]", "jx.jit(lambda n: lax.scan(lambda c, _: (c * 2, c), x, length=n))(y)"),
    # --- custom rules and checkpoints ---
    ("float32[2,3]", "jx.ad_checkpoint.checkpoint_name(x * x, 'square')"),
    *(("float32[3] float32[3]", "jx.checkpoint(lambda a, b: a * jnp.sin(jnp.sin(b)),"
       f" policy=jx.checkpoint_policies.{policy})(x, y)")
      for policy in ("everything_saveable", "nothing_saveable")),
    ("float32[3] float32[3]", "jx.checkpoint(lambda a, b: jnp.sin(a))(x, y)"),
    ("float32+[3] float32[3]",
     "lax.custom_linear_solve(lambda v: x * v, y, lambda f, b: b / x, symmetric=True)"),
    ("float32[3,3] float32[3]",
     "lax.custom_linear_solve(lambda v: (x + 3 * jnp.eye(3)) @ v, y, lambda f, b:"
     " jnp.linalg.solve(x + 3 * jnp.eye(3), b), lambda f, b: jnp.linalg.solve((x + 3 *"
     " jnp.eye(3)).T, b))"),
    ("float32+[] float32+[]",
     "lax.custom_root(lambda v: v ** 3 - x, y, lambda f, b: jnp.cbrt(x), lambda g, b: b /"
     " g(1.0))"),
    ("float32[3] float32[3]", "jx.checkpoint(lambda a, b: jnp.sin(a) * jnp.exp(b) * y)(x, y)"),
    ("float32[2,3] float32[3]",
     "jx.checkpoint(lambda a: jnp.sin(jnp.dot(a, y)),"
     " policy=jx.checkpoint_policies.dots_saveable)(x)"),
    ("float32[3] float32[3]", "jx.jit(lambda a, b: (a * b, b))(x, y)"),
    *(("float32[3] float32[3]", f"jx.checkpoint(lambda a, b: (jnp.sin(a) * b, jnp.cos(b), a),"
       f" policy=jx.checkpoint_policies.{policy})(x, y)[{i}]")
      for policy in ("everything_saveable", "nothing_saveable") for i in (0, 1)),
    ("float32[3] float32[3]", "with_jvp(lambda a, b: (jnp.sin(a), b), lambda p, t:"
     " ((jnp.sin(p[0]), p[1]), (2 * t[0] * p[1], t[1])))(x, y)"),
    ("float32[2,3] float32[2]", "with_jvp(lambda a, b: a.T * b, lambda p, t:"
     " (p[0].T * p[1], 3 * t[0].T * p[1] + p[0].T * t[1]))(x, y)"),
    ("float32[3] float32[3]", "with_vjp(lambda a, b: (a * b, b), lambda a, b: ((a * b, b), (a, b)),"
     " lambda r, ct: (2 * ct[0] * r[1], ct[0] * r[0] + ct[1]))(x, b=y)"),
    ("float32[2,3] float32[3]", "with_vjp(lambda a, b: a @ b, lambda a, b: (a @ b, (b, a[0])),"
     " lambda r, ct: (jnp.outer(ct, r[0]), r[1]))(x, y)"),
    ("float32[3] float32[3]", "with_vmap(lambda a, b: (jnp.sin(a) * b, b), lambda n, batched, a, b:"
     " ((2 * jnp.sin(a) * b, b), (True, batched[1])))(x, y)"),
    # --- other ---
    ("float32[2,3] float32[3]",
     "within(jx.default_matmul_precision('float32'), lambda: (x @ y, x @ x.T, y @ y))"),
    ("bfloat16+[2,900] bfloat16+[900]", "lax.dot(x, y)"),
    ("float32[5]", "lax.convert_element_type(lax.complex(x * 9, x * np.float32(np.nan)), np.int32)"),
    ("float32[5]", "lax.convert_element_type(lax.complex(x, 9 * x[::-1]), np.bool_)"),
    ("uint32[]", "jx.random.key_data(jx.random.split(jx.random.key(0), 3).at[1]"
     ".set(jx.random.key(x)))"),
    ("float32[4,4]", "linalg.eigh(x, subset_by_index=(1, 3))"),
    ("float32[4,3]", "linalg.svd(x, subset_by_index=(0, 2), full_matrices=False)"),
    ("float32[4,3]", "linalg.svd(x, subset_by_index=(0, 2), compute_uv=False)"),
]  # fmt: skip


def _with_jvp(jx: Any) -> Any:
    def make(fun: Any, rule: Any) -> Any:
        custom = jx.custom_jvp(fun)
        custom.defjvp(rule)
        return custom

    return make


def _with_vjp(jx: Any) -> Any:
    def make(fun: Any, fwd: Any, bwd: Any) -> Any:
        custom = jx.custom_vjp(fun)
        custom.defvjp(fwd, bwd)
        return custom

    return make


def _with_vmap(jx: Any) -> Any:
    def make(fun: Any, rule: Any) -> Any:
        custom = jx.custom_batching.custom_vmap(fun)
        custom.def_vmap(rule)
        return custom

    return make


def _within(context: Any, compute: Any) -> Any:
    with context:
        return compute()


def function(call: str) -> Any:
    """The program that is this call: a function of the operands, for each library."""

    def program(jx: Any) -> Any:
        names = {"jx": jx, "lax": jx.lax, "jnp": jx.numpy, "linalg": jx.lax.linalg, "np": np,
                 "with_jvp": _with_jvp(jx), "with_vjp": _with_vjp(jx),
                 "with_vmap": _with_vmap(jx), "within": _within}
        return lambda *args: eval(call, {**names, **dict(zip("xyz", args))})

    return program
