"""A table of calls: which functions of `jax.numpy` to call with which arguments, in both libraries.

A row is source text, evaluated with `jnp`, `np` and the arrays below. Text keeps a row as short as
the call itself, and it is the test's name.
"""

from __future__ import annotations

import numpy as np

# x: floats, i: ints, b: booleans, c: complex, m and n: matrices, t: three dimensions, s: a scalar,
# h: half precision, u: unsigned, w: with NaN and infinities.
ARRAYS = {
    "x": np.array([0.5, 1.5, -2.0, 3.25], np.float32),
    "i": np.array([3, -1, 4, 0], np.int32),
    "b": np.array([True, False, True, True]),
    "c": np.array([1 + 2j, -0.5j, 3.0, -1 + 1j], np.complex64),
    "m": np.arange(6, dtype=np.float32).reshape(2, 3) / 4,
    "n": np.array([[2, 0, 1], [1, -1, 3]], np.int32),
    "t": np.arange(24, dtype=np.float32).reshape(2, 3, 4) - 11,
    "s": np.float32(0.75),
    "h": np.array([1.5, -2.25, 0.125, 4.0], np.float16),
    "u": np.array([1, 200, 0, 7], np.uint8),
    "w": np.array([1.0, np.nan, -np.inf, np.inf, -0.0], np.float32),
    "sq": np.array([[4.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.5, -1.0, 2.0]], np.float32),
    "e0": np.zeros((0, 3), np.float32),
}

UNARY = """abs absolute bitwise_invert bitwise_not cbrt ceil conj conjugate deg2rad degrees exp exp2
expm1 fabs floor imag invert iscomplex isfinite isinf isnan isneginf isposinf isreal log log10 log1p
log2 logical_not modf nan_to_num negative positive rad2deg radians real reciprocal rint round sign
signbit sin sinc sqrt square tan tanh trunc around""".split()

BINARY = """add subtract multiply divide true_divide floor_divide remainder mod fmod divmod power pow
float_power maximum minimum fmax fmin logaddexp logaddexp2 hypot heaviside copysign logical_and
logical_or logical_xor bitwise_and bitwise_or bitwise_xor left_shift right_shift equal not_equal
less less_equal greater greater_equal isclose array_equal array_equiv allclose""".split()

REDUCTIONS = """sum prod mean max min amax amin any all var std average ptp nansum nanprod nanmean
nanmax nanmin nanvar nanstd count_nonzero argmax argmin nanargmax nanargmin cumsum cumprod nancumsum
nancumprod""".split()

OTHERS = """
jnp.array(1.0) | jnp.array(1) | jnp.array(True) | jnp.array(1j) | jnp.array([1.0, 2]) | jnp.array([])
jnp.array([[1, 2], [3, 4]]) | jnp.array([True, 1]) | jnp.array([1, 2.5, 1j]) | jnp.array((1, 2))
jnp.array(np.float64(2)) | jnp.array(np.arange(3)) | jnp.array([np.float16(1), 2.0]) | jnp.array(x)
jnp.array([x, x]) | jnp.array([x[0], 1.0]) | jnp.array([[x[0], 1], [2, x[1]]]) | jnp.array(range(3))
jnp.array(None) | jnp.array([1, None]) | jnp.array("a") | jnp.array([[1], [2, 3]]) | jnp.array(2**40)
jnp.array(-1, jnp.uint8) | jnp.array(1, dtype=jnp.float16) | jnp.array([1.7], dtype=int)
jnp.array(1, ndmin=3) | jnp.array([x, 1.0]) | jnp.array(jnp.array(1.0)) | jnp.array(object())
jnp.asarray(1.0) | jnp.asarray(True) | jnp.asarray(x) | jnp.asarray([1, 2.0]) | jnp.asarray(x, int)
jnp.asarray(np.arange(3)) | jnp.asarray(x[0], jnp.bfloat16) | jnp.asarray(jnp.asarray(2.0))
jnp.asarray(1, jnp.complex64) | jnp.array(1j, jnp.float32) | jnp.array([[]])
jnp.float32(1) | jnp.int8(3) | jnp.bool_(2) | jnp.complex64(1) | jnp.float32([1, 2]) | jnp.uint8(300)
jnp.bfloat16(1.5) | jnp.float32(x) | jnp.int32(2.7) | jnp.float16(i)
jnp.zeros(3) | jnp.zeros((2, 3), int) | jnp.zeros(()) | jnp.zeros((2, -1)) | jnp.zeros(2, 3)
jnp.zeros(2.0) | jnp.zeros([2, 1]) | jnp.zeros(np.int64(2)) | jnp.zeros(x) | jnp.zeros(3, bool)
jnp.ones(3, jnp.bfloat16) | jnp.ones((2, 2)) | jnp.empty((2, 3)) | jnp.empty(2, jnp.int8)
jnp.full(3, 2.0) | jnp.full((2, 2), 3, jnp.int8) | jnp.full((2, 4), x) | jnp.full(2, x[0])
jnp.full((2, 3), x) | jnp.full(3, True) | jnp.full(2, 1j) | jnp.full((), 7)
jnp.zeros_like(x) | jnp.zeros_like(i, float) | jnp.zeros_like(1.0) | jnp.zeros_like(x, shape=(2,))
jnp.ones_like(c) | jnp.ones_like(b) | jnp.ones_like([1, 2]) | jnp.empty_like(m) | jnp.ones_like(u)
jnp.full_like(x, 2) | jnp.full_like(i, 2.7) | jnp.full_like(m, x[:3]) | jnp.full_like(x, 1j)
jnp.arange(3) | jnp.arange(3.0) | jnp.arange(1, 4) | jnp.arange(0, 1, 0.25) | jnp.arange(5, 0, -2)
jnp.arange(3, dtype=float) | jnp.arange(0) | jnp.arange(-3) | jnp.arange(2.5) | jnp.arange(1.5, 4)
jnp.arange(0, 2, 0.5, jnp.float16) | jnp.arange(3, dtype=jnp.uint8) | jnp.arange(1j) | jnp.arange(i)
jnp.arange(jnp.int32(4)) | jnp.arange(np.float32(2)) | jnp.arange(1, 2, dtype=jnp.bfloat16)
jnp.linspace(0, 1, 3) | jnp.linspace(0, 1, 3, endpoint=False) | jnp.linspace(0, 10, 4, dtype=int)
jnp.linspace(0, 1, 1) | jnp.linspace(0, 1, 0) | jnp.linspace(0, 1, 4, retstep=True)
jnp.linspace(x, 2 * x, 3) | jnp.linspace(x, i, 3, axis=1) | jnp.linspace(0, 1j, 3)
jnp.linspace(0, 1, -1) | jnp.linspace(x, 1, 3, axis=-1) | jnp.linspace(0, 1, 1, retstep=True)
jnp.logspace(0, 2, 3) | jnp.logspace(0, 2, 4, base=2) | jnp.geomspace(1, 8, 4)
jnp.geomspace(x[:2], 8, 3, axis=1) | jnp.geomspace(-1, -8, 4) | jnp.logspace(0, 1, 3, dtype=int)
jnp.eye(3) | jnp.eye(2, 3, 1) | jnp.eye(3, k=-1, dtype=bool) | jnp.eye(2, dtype=int) | jnp.eye(-1)
jnp.identity(2) | jnp.identity(2, int) | jnp.tri(3) | jnp.tri(2, 4, 1) | jnp.tri(3, k=-1, dtype=int)
jnp.eye(2, k=2.0) | jnp.eye(0)
jnp.tril(sq) | jnp.triu(sq, 1) | jnp.tril(t, -1) | jnp.triu(t) | jnp.tril(x) | jnp.triu(n, -1)
jnp.diag(x) | jnp.diag(x, 1) | jnp.diag(sq) | jnp.diag(m, 1) | jnp.diag(m, -1) | jnp.diag(t)
jnp.diag(b) | jnp.diagflat(m) | jnp.diagflat(x, -1) | jnp.diagonal(m) | jnp.diagonal(t, 1, 0, 2)
jnp.diagonal(t, -1, 1, 2) | jnp.diagonal(x) | jnp.trace(sq) | jnp.trace(t, 1) | jnp.trace(n, -1)
jnp.trace(t, 0, 1, 2) | jnp.trace(sq, dtype=int) | jnp.trace(t, 0, 1, 1) | jnp.trace(m, out=1)
jnp.meshgrid(x, i) | jnp.meshgrid(x, i, indexing="ij") | jnp.meshgrid(x, i[:2], sparse=True)
jnp.meshgrid(x) | jnp.meshgrid(x, i, b) | jnp.meshgrid(x, indexing="a") | jnp.meshgrid(m)
jnp.indices((2, 3)) | jnp.indices((2, 3), sparse=True) | jnp.indices(()) | jnp.indices((2,), float)
jnp.ix_(x, i) | jnp.ix_(m) | jnp.diag_indices(3) | jnp.diag_indices_from(sq) | jnp.diag_indices(-1)
jnp.tril_indices(3) | jnp.triu_indices(3, 1) | jnp.tril_indices(2, 0, 4) | jnp.triu_indices_from(m)
jnp.copy(x) | jnp.frombuffer(b"abcd", jnp.uint8)
jnp.clip(x, 0, 2) | jnp.clip(x, 1) | jnp.clip(x, max=1) | jnp.clip(i, 0.5, 2.5) | jnp.clip(c, 0)
jnp.clip(x, i) | jnp.clip(i, 0, 2) | jnp.clip(h, 0, 1) | jnp.clip() | jnp.clip(u, 3, 100) | jnp.clip(2, 3)
jnp.round(x, 1) | jnp.round(i, 1) | jnp.round(i, -1) | jnp.round(h, 2) | jnp.round(c, 1)
jnp.round(x * 100, -2) | jnp.round(x, out=x) | jnp.round(b) | jnp.around(x, 1) | jnp.round(x, 100)
jnp.nan_to_num(w) | jnp.nan_to_num(w, nan=7.0, posinf=1) | jnp.nan_to_num(c) | jnp.nan_to_num(i)
jnp.nan_to_num(w.astype(jnp.float16))
jnp.where(b, x, 0) | jnp.where(b, 1, 0) | jnp.where(x > 0, x, i) | jnp.where(i, x, 1.0) | jnp.where(b)
jnp.where(b, m[:, :1], x) | jnp.where(True, x, 1) | jnp.where(b, x) | jnp.where(b, 1.0, 2)
jnp.where(b, x, 1j) | jnp.where(b, h, 2.0) | jnp.where(x > 0, x, "a") | jnp.where(b, x, m)
jnp.where(m > 0.3) | jnp.where(b, size=2) | jnp.where(b, x, x, size=2) | jnp.where(True, 1, 2)
jnp.nonzero(b) | jnp.nonzero(n) | jnp.nonzero(b, size=5, fill_value=9) | jnp.nonzero(s)
jnp.flatnonzero(n) | jnp.argwhere(n) | jnp.argwhere(s) | jnp.nonzero(x > 100)
jnp.select([b, x > 0], [x, i]) | jnp.select([b], [x], 5) | jnp.select([], []) | jnp.select([b], [])
jnp.select([x > 1, x > 0], [x, m[0, 0]], 1j)
jnp.piecewise(x, [x < 0, x > 1], [1.0, 2.0]) | jnp.piecewise(x, [x < 0], [lambda z: -z, lambda z: z * 2])
jnp.piecewise(x, [x < 0], [1, 2, 3]) | jnp.piecewise(i, x < 0, [5, 6])
jnp.isclose(x, x + 1e-6) | jnp.isclose(w, w, equal_nan=True) | jnp.isclose(i, 3) | jnp.isclose(c, c)
jnp.allclose(w, w, equal_nan=True) | jnp.allclose(x, x, 0.1, 0.1) | jnp.array_equal(w, w, equal_nan=True)
jnp.array_equal(x, m) | jnp.array_equal(x, [0.5]) | jnp.array_equiv(x, m) | jnp.array_equiv(m, m[:1])
jnp.sum(x, dtype=int) | jnp.sum(b) | jnp.sum(u) | jnp.sum(h) | jnp.sum(m, 0) | jnp.sum(m, (0, 1))
jnp.sum(m, -1, keepdims=True) | jnp.sum(x, initial=2) | jnp.sum(x, where=b) | jnp.sum(x, out=x)
jnp.sum(t, axis=(0, 2)) | jnp.sum(m, axis=2) | jnp.sum(m, axis=(0, 0)) | jnp.sum(2.0) | jnp.sum([1, 2])
jnp.sum(m, axis=()) | jnp.sum(e0) | jnp.sum(x, where=i) | jnp.sum(x, initial=x) | jnp.sum(c)
jnp.sum(u, promote_integers=False) | jnp.sum(b, dtype=bool) | jnp.sum(jnp.array(1.0)) | jnp.sum(m, [0])
jnp.sum(h, dtype=jnp.float32) | jnp.sum(x, dtype="float64") | jnp.sum(m, axis=1.0) | jnp.sum("a")
jnp.prod(m + 1, 0) | jnp.prod(b) | jnp.prod(i, initial=2) | jnp.prod(x, where=b) | jnp.prod(h)
jnp.max(m, 1) | jnp.max(x, initial=9) | jnp.max(x, where=b) | jnp.max(x, where=b, initial=0)
jnp.max(e0) | jnp.max(e0, 1) | jnp.max(e0, 0, initial=1) | jnp.max(b) | jnp.max(w) | jnp.max(u)
jnp.max(c) | jnp.min(i, keepdims=True) | jnp.min(i, where=b, initial=7) | jnp.min(h) | jnp.max(m, -3)
jnp.max(i, where=b, initial=-100) | jnp.min(u, where=b, initial=9) | jnp.max(2.0)
jnp.all(m, 1) | jnp.all(x, where=b) | jnp.any(n, 0, keepdims=True) | jnp.any(c) | jnp.all(e0)
jnp.any(jnp.zeros(3)) | jnp.all(w) | jnp.any([0, 1])
jnp.mean(m, 0) | jnp.mean(i) | jnp.mean(h) | jnp.mean(b) | jnp.mean(c) | jnp.mean(x, where=b)
jnp.mean(m, keepdims=True) | jnp.mean(m, 1, dtype=jnp.float16) | jnp.mean(e0) | jnp.mean(i, dtype=int)
jnp.mean(m, 2) | jnp.var(m, -3) | jnp.std(m, (0, 2)) | jnp.mean(m, (0, 0)) | jnp.average(m, 2)
jnp.mean(2) | jnp.mean(m, axis=(0, 1)) | jnp.mean(x, out=x) | jnp.mean(h, dtype=jnp.float32)
jnp.var(m, 1) | jnp.var(i) | jnp.var(c) | jnp.var(h) | jnp.var(x, ddof=1) | jnp.var(x, ddof=4)
jnp.var(x, where=b) | jnp.var(m, keepdims=True) | jnp.var(x, correction=1) | jnp.var(x, ddof=1, correction=1)
jnp.var(x, mean=jnp.mean(x, keepdims=True)) | jnp.var(c, dtype=jnp.float32) | jnp.var(b) | jnp.var(2.0)
jnp.std(m, 0, ddof=1) | jnp.std(i) | jnp.std(x, dtype=int) | jnp.std(h, keepdims=True) | jnp.std(c)
jnp.average(x) | jnp.average(x, weights=u) | jnp.average(m, 1) | jnp.average(m, 0, weights=m)
jnp.average(m, 1, weights=x[:3]) | jnp.average(m, weights=x[:3]) | jnp.average(i, returned=True)
jnp.average(m, 0, weights=[1, 3], returned=True) | jnp.average(m, 1, weights=x) | jnp.average(m, 1, returned=True)
jnp.ptp(m, 0) | jnp.ptp(i) | jnp.ptp(e0) | jnp.ptp(m, keepdims=True)
jnp.count_nonzero(n, 1) | jnp.count_nonzero(m, keepdims=True) | jnp.count_nonzero(c)
jnp.nansum(w) | jnp.nansum(w, dtype=int) | jnp.nanprod(m, 0) | jnp.nanmean(w[:2]) | jnp.nanmean(i)
jnp.nanmax(w, keepdims=True) | jnp.nanmin(w, initial=2) | jnp.nanvar(w[:2]) | jnp.nanvar(m, 1, ddof=1)
jnp.nanstd(x, where=b) | jnp.nanmax(w[1:2]) | jnp.nanmean(h) | jnp.nansum(m, 0, where=m > 0.5)
jnp.argmax(m) | jnp.argmax(m, 1) | jnp.argmin(m, 0, keepdims=True) | jnp.argmax(w) | jnp.argmax(b)
jnp.argmax(e0) | jnp.argmax(c) | jnp.argmax(m, 2) | jnp.argmax(x, out=x) | jnp.argmin(m, keepdims=True)
jnp.nanargmax(w) | jnp.nanargmin(w, keepdims=True) | jnp.nanargmax(w[1:2]) | jnp.nanargmax(n, 1)
jnp.cumsum(m) | jnp.cumsum(m, 1) | jnp.cumsum(b) | jnp.cumsum(x, dtype=int) | jnp.cumsum(2.0)
jnp.cumprod(i) | jnp.cumprod(m, 0) | jnp.cumsum(u) | jnp.nancumsum(w) | jnp.nancumprod(m, axis=1)
jnp.cumsum(m, 2) | jnp.cumsum(x, dtype=bool) | jnp.cumsum(x, out=x) | jnp.cumsum(h)
jnp.cumulative_sum(x) | jnp.cumulative_sum(m) | jnp.cumulative_sum(m, axis=1, include_initial=True)
jnp.cumulative_prod(u) | jnp.cumulative_prod(x, include_initial=True) | jnp.cumulative_sum(2) | jnp.cumulative_sum(u)
jnp.dot(m, x[:3]) | jnp.dot(x, x) | jnp.dot(m, n.T) | jnp.dot(s, m) | jnp.dot(t, t[0].T) | jnp.dot(m, m)
jnp.dot(i, x) | jnp.dot(i, i) | jnp.dot(h, x) | jnp.dot(x, x, preferred_element_type=jnp.float16)
jnp.dot(b, b) | jnp.dot(2.0, 3) | jnp.dot(c, c) | jnp.dot(x, x, precision="highest")
jnp.matmul(m, x[:3]) | jnp.matmul(m, n.T) | jnp.matmul(t, t[0].T) | jnp.matmul(t[:1], jnp.swapaxes(t, 1, 2))
jnp.matmul(s, x) | jnp.matmul(m, m) | jnp.matmul(i, n.T) | jnp.matmul(x, jnp.swapaxes(t, 1, 2))
jnp.matmul(t[:, None], jnp.swapaxes(t, 1, 2)) | jnp.matmul(x, t) | jnp.matmul(t[:1, :1], t[:1, :, :1])
jnp.vdot(c, c) | jnp.vdot(m, n) | jnp.vecdot(m, n) | jnp.vecdot(t, t, axis=1) | jnp.vecdot(c, c)
jnp.vecdot(m, x) | jnp.matvec(m, x[:3]) | jnp.matvec(t, x) | jnp.vecmat(m[:, 0], m) | jnp.inner(m, n)
jnp.inner(x, 2) | jnp.inner(m, x[:3]) | jnp.outer(x, i) | jnp.outer(m, x) | jnp.outer(x, x, out=x)
jnp.tensordot(t, t, 3) | jnp.tensordot(t, m, ((1,), (1,))) | jnp.tensordot(m, x, 0) | jnp.tensordot(m, n, (1, 1))
jnp.tensordot(m, m, 3) | jnp.tensordot(m, m, "a") | jnp.tensordot(t, t, ((0, 1), (0, 1))) | jnp.tensordot(m, m, (0, (1,)))
jnp.kron(m, n) | jnp.kron(x, m) | jnp.kron(m, x) | jnp.cross(m, n) | jnp.cross(m[:, :2], n[:, :2])
jnp.cross(m, n[:, :2]) | jnp.cross(x, x) | jnp.cross(sq, sq.T, axis=0)
jnp.einsum("i,i->", x, x) | jnp.einsum("ij,kj->ik", m, n) | jnp.einsum("ij->ji", m) | jnp.einsum("ii->i", sq)
jnp.einsum("ii", sq) | jnp.einsum("ijk,ik->ij", t, t[:, 0]) | jnp.einsum("ij,jk,kl->il", m, sq, sq)
jnp.einsum("...j,j->...", t, x) | jnp.einsum("i,j", x, i) | jnp.einsum("ij,ij->", m, n) | jnp.einsum("i->", b)
jnp.einsum("ij,jk->ki", m, sq) | jnp.einsum("ii,ij->j", sq, sq) | jnp.einsum("ij,kj->ik", m, m, out=m)
jnp.einsum("ij,jk,kl->il", m, sq, sq, optimize=False) | jnp.einsum("ij,j", m, x) | jnp.einsum("ij,jk->ik", m)
jnp.einsum("ij,kj->ik", m[:, :1], m) | jnp.einsum(m, [0, 1], n, [2, 1], [0, 2]) | jnp.einsum("iij->j", t[:, :2])
jnp.einsum("i,i->i", h, h) | jnp.einsum("ij->", n) | jnp.einsum("i,i->", i, i, preferred_element_type=float)
jnp.reshape(m, 6) | jnp.reshape(m, (3, -1)) | jnp.reshape(m, (4, 2)) | jnp.reshape(m, (3, 2), order="F")
jnp.reshape(m, (-1, -1)) | jnp.reshape(m, (2, 3), order="A") | jnp.reshape(2.0, (1, 1))
jnp.ravel(m) | jnp.ravel(m, "F") | jnp.ravel(m, "K") | jnp.ravel(s) | jnp.transpose(t) | jnp.transpose(t, (1, 0, 2))
jnp.transpose(m, (0, 0)) | jnp.transpose(t, (-1, 0, 1)) | jnp.permute_dims(m, (1, 0)) | jnp.matrix_transpose(t)
jnp.matrix_transpose(x) | jnp.swapaxes(t, 0, -1) | jnp.swapaxes(m, 0, 3) | jnp.moveaxis(t, 0, -1)
jnp.moveaxis(t, (0, 1), (1, 2)) | jnp.moveaxis(t, (0, 1), 2) | jnp.rollaxis(t, 2) | jnp.rollaxis(t, 0, 3)
jnp.expand_dims(m, 0) | jnp.expand_dims(m, (0, -1)) | jnp.expand_dims(m, (0, 0)) | jnp.expand_dims(m, 5)
jnp.squeeze(m[:1]) | jnp.squeeze(m[:1], 0) | jnp.squeeze(m, 0) | jnp.squeeze(t[:1, :1], (0, 1)) | jnp.squeeze(x)
jnp.broadcast_to(x, (2, 4)) | jnp.broadcast_to(2, 3) | jnp.broadcast_to(x, (4, 2)) | jnp.broadcast_to(m, (3,))
jnp.broadcast_arrays(x, m[:, :1]) | jnp.broadcast_arrays(x, 1, i) | jnp.broadcast_arrays(x, m) | jnp.broadcast_arrays()
jnp.broadcast_shapes((2, 1), 3) | jnp.broadcast_shapes((2,), (3,)) | jnp.broadcast_shapes()
jnp.atleast_1d(s) | jnp.atleast_2d(x) | jnp.atleast_3d(m) | jnp.atleast_3d(s) | jnp.atleast_2d(x, s) | jnp.atleast_1d(2, [1])
jnp.atleast_3d(x) | jnp.atleast_3d(t) | jnp.atleast_2d(s)
jnp.flip(m) | jnp.flip(m, 0) | jnp.flip(t, (0, -1)) | jnp.fliplr(m) | jnp.flipud(m) | jnp.flip(m, 2) | jnp.fliplr(x)
jnp.rot90(m) | jnp.rot90(m, 2) | jnp.rot90(m, -1) | jnp.rot90(t, 1, (1, 2)) | jnp.rot90(m, 4) | jnp.rot90(x) | jnp.rot90(m, 1, (0, 0))
jnp.roll(x, 1) | jnp.roll(m, 1) | jnp.roll(m, -1, 1) | jnp.roll(t, (1, 2), (0, 2)) | jnp.roll(x, jnp.int32(2)) | jnp.roll(e0, 1, 0)
jnp.roll(m, 1, (0, 1)) | jnp.roll(x, 0) | jnp.roll(m, 7, 1)
jnp.tile(x, 2) | jnp.tile(m, (2, 1)) | jnp.tile(x, (2, 2)) | jnp.tile(t, 2) | jnp.tile(s, 3) | jnp.tile(x, 0) | jnp.tile(m, ())
jnp.repeat(x, 2) | jnp.repeat(m, 2, 1) | jnp.repeat(x, np.array([1, 0, 2, 1])) | jnp.repeat(m, [1, 2], 0) | jnp.repeat(x, 0)
jnp.repeat(m, np.array([2, 1]), axis=0, total_repeat_length=4) | jnp.repeat(x, [1, 2]) | jnp.repeat(s, 3)
jnp.resize(x, (2, 3)) | jnp.resize(x, 2) | jnp.resize(e0, (2,)) | jnp.resize(x, -1)
jnp.concatenate([x, i]) | jnp.concatenate([m, n], 1) | jnp.concatenate([m, n], None) | jnp.concatenate([])
jnp.concatenate([x, m]) | jnp.concatenate([s, s]) | jnp.concatenate([x, b], dtype=int) | jnp.concatenate(m) | jnp.concatenate(t, 1)
jnp.concatenate([m, m], -1) | jnp.concatenate([m, m], 2) | jnp.concat([x, x]) | jnp.append(x, i) | jnp.append(m, n, 0) | jnp.concatenate([x, 1.0])
jnp.stack([x, i]) | jnp.stack([x, x], -1) | jnp.stack([x, m]) | jnp.stack([]) | jnp.stack(m) | jnp.stack([m, m], 1) | jnp.stack([1.0, 2]) | jnp.stack([x, x], 3)
jnp.stack([x, x], dtype=int) | jnp.stack([x, x], out=x) | jnp.unstack(m) | jnp.unstack(m, axis=1) | jnp.unstack(s)
jnp.vstack([x, i]) | jnp.vstack([m, n]) | jnp.hstack([x, i]) | jnp.hstack([m, n]) | jnp.dstack([x, i]) | jnp.dstack([m, n]) | jnp.vstack(m) | jnp.hstack(m)
jnp.hstack([1, 2.0]) | jnp.column_stack([x, i]) | jnp.column_stack([m, n]) | jnp.column_stack(m) | jnp.vstack([x, m])
jnp.block([[m, m], [n, n]]) | jnp.block([x, i]) | jnp.block([[m], [x[:3]]]) | jnp.block([]) | jnp.block((x,)) | jnp.block(x) | jnp.block([[1, 2], [3]])
jnp.split(x, 2) | jnp.split(x, 3) | jnp.split(m, [1, 2], 1) | jnp.array_split(x, 3) | jnp.vsplit(m, 2) | jnp.hsplit(m, 3) | jnp.hsplit(x, 2)
jnp.dsplit(t, 2) | jnp.dsplit(m, 2) | jnp.split(x, [3, 1]) | jnp.split(x, np.array([1, 3])) | jnp.split(m, 2, axis=5)
jnp.delete(x, 1) | jnp.delete(m, 0, 1) | jnp.delete(x, np.array([0, 2])) | jnp.delete(x, slice(1, 3)) | jnp.delete(x, 9) | jnp.delete(m, 1)
jnp.delete(x, np.array([True, False, True, False])) | jnp.delete(x, np.array([0.5]))
jnp.pad(x, 1) | jnp.pad(m, ((1, 0), (0, 2))) | jnp.pad(x, (1, 2), constant_values=7) | jnp.pad(m, 1, constant_values=((1, 2), (3, 4)))
jnp.pad(x, 2, "edge") | jnp.pad(x, (6, 7), "reflect") | jnp.pad(x, 5, "symmetric") | jnp.pad(m, 2, "reflect", reflect_type="odd")
jnp.pad(x, 6, "wrap") | jnp.pad(m, (1, 2), "wrap") | jnp.pad(x, 2, "linear_ramp", end_values=(1, 2)) | jnp.pad(n, 1, "linear_ramp")
jnp.pad(m, 1, "maximum") | jnp.pad(m, 1, "minimum", stat_length=2) | jnp.pad(n, 1, "mean") | jnp.pad(x, 1, "empty") | jnp.pad(x, 1, "median2")
jnp.pad(x, -1) | jnp.pad(x, 1.5) | jnp.pad(x, 1, "edge", constant_values=1) | jnp.pad(e0, 1, "edge") | jnp.pad(x, ((1, 2), (3, 4), (5, 6))) | jnp.pad(s, 1)
jnp.pad(i, 1, constant_values=2.5) | jnp.pad(x, 3, "symmetric", reflect_type="odd") | jnp.pad(b, 1) | jnp.pad(x, 0, "edge")
jnp.diff(x) | jnp.diff(m, axis=0) | jnp.diff(x, 2) | jnp.diff(b) | jnp.diff(x, prepend=1) | jnp.diff(m, append=n) | jnp.diff(s) | jnp.diff(x, -1) | jnp.diff(x, 0)
jnp.ediff1d(m) | jnp.ediff1d(x, 1, i) | jnp.gradient(x) | jnp.gradient(m) | jnp.gradient(x, 2.0) | jnp.gradient(x, i) | jnp.gradient(x[:1])
jnp.gradient(t, axis=(0, 2)) | jnp.gradient(m, 1.0, 2.0) | jnp.gradient(m, 1.0, 2.0, 3.0)
jnp.trapezoid(x) | jnp.trapezoid(m, dx=0.5) | jnp.trapezoid(x, i) | jnp.trapezoid(m, axis=0) | jnp.unwrap(x * 3) | jnp.unwrap(i, period=4) | jnp.unwrap(c)
jnp.polyval(i, x) | jnp.polyval(x, 2) | jnp.polyval(c, x) | jnp.vander(x) | jnp.vander(x, 3, True) | jnp.vander(m) | jnp.vander(i, 2)
jnp.polyadd(x, i[:2]) | jnp.polysub(i, x[:3]) | jnp.polyder(i) | jnp.polyder(x, 2) | jnp.polyder(x, -1)
jnp.vectorize(lambda a, b: a * b)(m, x[:3]) | jnp.vectorize(jnp.dot, signature="(n),(n)->()")(m, n) | jnp.vectorize(jnp.dot, signature="a")(m, n)
jnp.vectorize(jnp.dot, signature="(n),(n)->()")(m, x) | jnp.vectorize(lambda a, k: a ** k, excluded={1})(x, 2) | jnp.vectorize(lambda a, k=2: a ** k, excluded={"k"})(x, k=3)
jnp.vectorize(lambda a: (a, a + 1), signature="()->(),()")(m) | jnp.vectorize(lambda a, b: a, signature="(n),(m)->(n)")(m, None) | jnp.vectorize(lambda a, b: a)(x, None)
jnp.apply_along_axis(jnp.sum, 0, t) | jnp.apply_along_axis(jnp.cumsum, 1, t) | jnp.apply_along_axis(jnp.diff, -1, t) | jnp.apply_over_axes(jnp.sum, t, [0, 2])
jnp.fromfunction(lambda a, b: a * 2 + b, (2, 3)) | jnp.fromfunction(lambda a, k: a + k, (3,), dtype=int, k=2)
jnp.iscomplexobj(c) | jnp.isrealobj(c) | jnp.iscomplexobj(1j) | jnp.isscalar(2) | jnp.isscalar(s) | jnp.isscalar(x) | jnp.iterable(x) | jnp.iterable(2)
jnp.ndim(m) | jnp.shape(m) | jnp.size(m) | jnp.size(m, 1) | jnp.size(t, (0, 1)) | jnp.ndim([[1]]) | jnp.shape(2.0)
jnp.issubdtype(jnp.bfloat16, jnp.floating) | jnp.result_type(x, i) | jnp.result_type(jnp.int8, 2.0) | jnp.promote_types("int8", "uint8") | jnp.can_cast("int8", "int32")
jnp.isdtype(x.dtype, "real floating") | jnp.finfo(jnp.float32).eps | jnp.iinfo(jnp.int8).max | jnp.dtype("float32") | jnp.pi | jnp.inf | jnp.newaxis is None
jnp.float32 == np.float32 | np.dtype(jnp.int8) | x.dtype == jnp.float32 | jnp.issubdtype(x.dtype, jnp.float32) | isinstance(x, jnp.ndarray) | jnp.int_ == jnp.int64
jnp.astype(x, int) | jnp.astype(c, bool) | jnp.astype(x, None)
x.sum() | m.sum(1) | m.mean(0) | m.max() | m.min(1, keepdims=True) | m.argmax() | m.argmin(1) | m.any() | m.all(0) | m.std() | m.var(1) | x.prod() | m.cumsum() | m.cumprod(1)
m.dot(x[:3]) | x.round(1) | round(x) | round(x, 1) | x.clip(0, 1) | c.conj() | c.conjugate() | c.real | c.imag | x.real | x.imag | m.flatten() | m.ravel("F") | m[:1].squeeze()
t.swapaxes(0, 1) | x.copy() | sq.trace() | sq.diagonal() | x.repeat(2) | n.nonzero() | m.ptp(0) | x.view() | x.flat | 1.5 in x | 7.0 in x | m.T | m.mT | m.transpose(1, 0) | m.reshape(3, 2) | m.reshape(-1)
x // 2 | x % 2 | i // 2 | i % 3 | 2 // x | 7 % i | divmod(i, 2) | divmod(x, 2) | divmod(7, x) | i << 1 | i >> 1 | 1 << u | u >> 1 | x ** 2 | x ** -1 | x ** 0.5 | 2 ** x | i ** 2 | i ** i | 2 ** i | i ** 2.5 | u // 2 | u % 3 | i // 0 | i % 0
x ** i | c ** 2 | b ** 2 | i ** -1 | i ** np.int32(2) | x ** jnp.int32(2) | b + b | b * 2 | b - b | -b | ~b | ~i | abs(i) | abs(c) | +x | x @ x | x << 1 | x[0] ** 2 | h ** 2 | 1.0 * i | 1j * x | x / 2 | i / 2 | b / 2 | x & 1 | b & True | x < 1 | c < c | x == None
x == "a" | x == [1] | x + [1] | x + "a" | "a" + x | [1] * x | x + None | i // 2.5 | h // 2 | c // 2 | c % 2 | w // 1.0 | w % 2.0 | x + np.float64(1) | x + np.int64(1) | h + np.float32(1) | i + 2**40 | u + 300 | u - 1 | h * 1e10
"""


def rows() -> list[str]:
    """All calls: the tables of names times arguments, and the single ones."""
    unary = [f"jnp.{f}({a})" for f in UNARY for a in ("x", "i", "b", "c", "h", "u", "w", "2", "2.5")]
    pairs = [("x", "2"), ("i", "2"), ("x", "i"), ("m", "x[:3]"), ("b", "b"), ("u", "i"), ("c", "x"),
             ("h", "1.5"), ("2.0", "i"), ("3", "2"), ("w", "w"), ("m", "x"), ("x", "'a'"),
             ("i", "i"), ("h", "x")]
    binary = [f"jnp.{f}({p}, {q})" for f in BINARY for p, q in pairs]
    reduced = [f"jnp.{f}({a})" for f in REDUCTIONS
               for a in ("x", "i", "b", "c", "h", "u", "w", "m", "m, axis=1", "t, axis=-2", "e0",
                         "2.5")]
    single = [call.strip() for line in OTHERS.strip().splitlines() for call in line.split(" | ")]
    return list(dict.fromkeys(unary + binary + reduced + single))
