"""The operations of which random programs consist, as text with typed holes.

A row is one expression. `{a|b}` stands for one of the alternatives. `$` begins an operand and `@`
a parameter, which is written as text:

    $F float   $C complex   $Z float or complex   $I integer   $B boolean   $R real number
    $N number  $L integer or boolean   $A any of these

After the letter may follow conditions: `0` a scalar, `1` at least one axis, `v` a vector, `m` at
least two axes, `s` square matrices, `n` not empty, `~` broadcasts with the first operand, `=` has
the first operand's shape and dtype, `'` has the first operand's dtype, `!` is that operand again.
So is an operand of a letter already used that is followed by `.` or `[`. What each `@` parameter
becomes is written in `generate.py`.
"""

from __future__ import annotations

# One row a line. A row's weight is the number of functions it mentions, to the power 0.6.
ELEMENTWISE = """
jnp.{sin|cos|tan|tanh|sinh|cosh|arctan|arcsinh|exp|exp2|expm1|sqrt|log|log1p|log2|log10|square}($Z)
jnp.{arcsin|arccos|arccosh|arctanh|acos|asin|atan|acosh|asinh|atanh|sinc|reciprocal|positive|negative}($Z)
jnp.{abs|absolute|sign|conj|conjugate|real|imag|angle|isreal|iscomplex|isnan|isfinite|isinf|negative|square}($N)
jnp.{cbrt|floor|ceil|trunc|rint|fabs|deg2rad|rad2deg|degrees|radians|signbit|spacing|i0|nan_to_num}($F)
jnp.{isneginf|isposinf|modf|frexp|fix|heaviside}($F)
jnp.{sin|cos|exp|log|sqrt|tanh|floor|ceil|trunc|round|square|sign|abs|sinc|arctan}($A)
jnp.{round|around}($N, @int)
jnp.{invert|bitwise_not|bitwise_invert|logical_not|bitwise_count}($L)
jnp.logical_not($A)
jnp.{add|subtract|multiply|maximum|minimum|fmax|fmin}($A, $A~)
jnp.{add|subtract|multiply|divide|true_divide}($N, $N~)
jnp.{arctan2|copysign|hypot|logaddexp|logaddexp2|nextafter|heaviside|fmod|atan2}($F, $F~)
jnp.{floor_divide|remainder|mod|fmod|divmod|greater|less|greater_equal|less_equal|float_power}($R, $R~)
jnp.{power|pow}($N, $N~)
jnp.{power|pow}($N, {2|3|-1|0.5|0|1})
jnp.{bitwise_and|bitwise_or|bitwise_xor}($L, $L~)
jnp.{left_shift|right_shift|bitwise_left_shift|bitwise_right_shift}($I, {1|2|0})
jnp.{gcd|lcm}($I, $I~)
jnp.{logical_and|logical_or|logical_xor}($A, $A~)
jnp.{equal|not_equal}($L, $L~)
jnp.{isclose|allclose|array_equal|array_equiv}($N, $N~)
jnp.ldexp($F, $I~)
$N {+|-|*} $N~
$N / $N~
$R {//|%|<|>|<=|>=} $R~
$L {==|!=} $L~
$F {==|!=} {0|1.0}
$L & $L~
$L | $L~
$L ^ $L~
$N ** {2|3|-1|0.5|2.0|0}
$Fn ** $F~
2.0 ** $R
{2|0.5|-1.5|True|1j} {+|-|*} $A
{1|2.0} / $N
~$L
-$N
+$N
abs($N)
$I {<<|>>} {0|1|2}
jnp.clip($R, {-1|0|None}, {1|0.5|2|None})
jnp.clip($F, $F~, $F~)
jnp.where($B, $A~, $A~)
jnp.where($N > {0|0.5}, $A~, @literal)
jnp.where($A, @literal, @literal)
jnp.select([$B, ~$B], [$A~, $A~], @literal)
jnp.astype($A, @dtype)
$A.astype(@dtype)
lax.convert_element_type($A, @dtype)
jnp.{float32|int32|int8|uint8|float16|bfloat16|complex64|bool_}($N)
lax.{sin|cos|tan|tanh|sinh|cosh|asinh|atan|exp|exp2|expm1|sqrt|rsqrt|cbrt|log|log1p|logistic|square|reciprocal}($Z)
lax.{erf|erfc|erf_inv|lgamma|digamma|bessel_i0e|bessel_i1e|floor|ceil|is_finite|asin|acos|atanh|acosh}($F)
lax.round($F, lax.RoundingMethod.{TO_NEAREST_EVEN|AWAY_FROM_ZERO})
lax.{neg|sign|abs}($N)
lax.{bitwise_not|population_count|clz}($I)
lax.{add|sub|mul|div|max|min|eq|ne}($N, $N=)
lax.{gt|lt|ge|le|rem}($R, $R=)
lax.{pow|atan2|nextafter|igamma|igammac|random_gamma_grad|zeta}($F, $F=)
lax.{bitwise_and|bitwise_or|bitwise_xor}($L, $L=)
lax.{shift_left|shift_right_logical|shift_right_arithmetic|mulhi}($I, $I=)
lax.integer_pow($N, {2|3|-1|0|-2})
lax.clamp($R0n, $R, $R0n)
lax.clamp($F=, $F, $F=)
lax.select($B, $A, $A=)
lax.select_n($B, $A~, $A=)
lax.complex($F, $F=)
lax.{real|imag|conj}($C)
lax.reduce_precision($F, @pos + 2, @pos + 3)
lax.stop_gradient($A)
lax.optimization_barrier($A)
lax.bitcast_convert_type($F, {jnp.int32|jnp.uint32|jnp.int16|jnp.uint8})
jnp.{zeros_like|ones_like|empty_like}($A)
jnp.full_like($A, @literal)
lax.full_like($A, @literal)
jnp.full(@bshape, $A0)
jnp.vectorize(lambda a, b: a * b + 1)($N, $N~)
jnp.vectorize(lambda a: a - jnp.mean(a), signature='(n)->(n)')($F1n)
jnp.piecewise($Fv, [$F! < 0, $F! >= 1], [lambda a: -a, 1.5, lambda a: a * a])
"""

REDUCTIONS = """
jnp.{sum|prod|mean|max|min|amax|amin}($N, axis=@axes, keepdims=@bool)
jnp.{var|std}($N, axis=@axes, keepdims=@bool, ddof=@pos)
jnp.{any|all|count_nonzero}($A, axis=@axes, keepdims=@bool)
jnp.{nansum|nanmean|nanvar|nanstd|nanmax|nanmin|nanprod|nanmedian}($F, axis=@axis)
jnp.{argmax|argmin|nanargmax|nanargmin}($Rn, axis=@axisornone, keepdims=@bool)
jnp.{sum|prod|max|min}($R, axis=@axis, initial=@int, where=$B~)
jnp.mean($F, where=$B~)
jnp.sum($N, dtype=@dtype)
jnp.{ptp|median}($R, axis=@axisornone)
jnp.{quantile|nanquantile}($F1n, {0.3|jnp.array([0.1, 0.75])}, axis=@axis, method={'linear'|'lower'|'higher'|'midpoint'|'nearest'})
jnp.{percentile|nanpercentile}($F1n, {30|50.0}, axis=@axis)
jnp.average($N1n, axis=@axis)
jnp.average($Fn, weights=jnp.abs($F=) + 1)
$A.{sum|max|min|any|all|prod|mean}({|@axis})
jnp.linalg.{norm|vector_norm}($N{|, 1|, jnp.inf|, 2}, axis=@axis)
jnp.linalg.norm($N)
jnp.linalg.matrix_norm($Zm, ord={'fro'|1|jnp.inf|'nuc'|2})
jnp.{cumsum|cumprod|cumulative_sum|nancumsum|nancumprod}($N1, axis=@axis)
jnp.cumsum($A{|, axis=0})
lax.{cumsum|cumprod|cummax|cummin|cumlogsumexp}($F1, axis=@paxis, reverse=@bool)
lax.{cummax|cummin|cumsum|cumprod}($I1, axis=@paxis, reverse=@bool)
jax.nn.{logsumexp|softmax|log_softmax|standardize|logmeanexp}($F1, axis=@axis)
jax.nn.logsumexp($F, b=$F~)
lax.{reduce_sum|reduce_prod|reduce_max|reduce_min}($R1, (@paxis,))
lax.{reduce_and|reduce_or|reduce_xor}($L1, (@paxis,))
lax.reduce($F1, jnp.array(0, $F.dtype), lax.add, (@paxis,))
lax.reduce($F1, jnp.array(1, $F.dtype), lax.mul, (@paxis,))
lax.reduce($F1, jnp.array(-jnp.inf, $F.dtype), lax.max, (@paxis,))
lax.{argmax|argmin}($R1n, @paxis, jnp.int32)
jnp.{trapezoid|diff|ediff1d|gradient|unwrap}($F1n)
jnp.diff($N1, n={1|2}, axis=@axis)
jnp.{corrcoef|cov}($Fmn)
jnp.interp($F, jnp.array([-1.0, 0.0, 0.5, 2.0]), jnp.array([1.0, 3.0, -1.0, 0.5]))
lax.reduce_window($F1, 0.0, lax.add, (2,) * $F.ndim, (1,) * $F.ndim, {'SAME'|'VALID'})
lax.reduce_window($F1[None], -jnp.inf, lax.max, (2,) * ($F.ndim + 1), ({1|2},) * ($F.ndim + 1), {'SAME'|'VALID'})
lax.reduce_window($F1, 1.0, lax.mul, (2,) * $F.ndim, (1,) * $F.ndim, 'SAME')
jax.ops.segment_{sum|prod|max|min}($R1n, jnp.arange($R.shape[0]) % 2, num_segments={2|3})
jnp.apply_along_axis(lambda a: a * a.sum(), @paxis, $F1n)
jnp.histogram($Fn, bins={3|4})[0]
jnp.bincount(jnp.abs($Iv) % 4, length=4)
"""

SHAPES = """
jnp.reshape($A, @shape)
$A.reshape(@shape)
lax.reshape($A, @shape)
jnp.{ravel|transpose|atleast_1d|atleast_2d|atleast_3d}($A)
jnp.transpose($A, @perm)
lax.transpose($A, @perm)
$A.T
$Am.mT
jnp.swapaxes($A1, @axis, @axis)
jnp.moveaxis($A1, @axis, @axis)
jnp.rollaxis($A1, @paxis)
jnp.expand_dims($A, {0|-1})
lax.expand_dims($A, (0,))
jnp.squeeze($A)
jnp.broadcast_to($A, @bshape)
lax.broadcast($A, (2,))
lax.broadcast_in_dim($A, (2, *$A.shape), tuple(range(1, $A.ndim + 1)))
jnp.{flip|fliplr|flipud}($Am)
jnp.flip($A, axis=@axisornone)
lax.rev($A1, (@paxis,))
jnp.roll($A, @int, axis=@axisornone)
jnp.rot90($Am, @int)
jnp.{tril|triu}($Am, @int)
jnp.{diag|diagonal|trace}($Am{|, 1|, -1})
jnp.diag($Av{|, 1|, -1})
jnp.diagflat($A)
jnp.tile($A, {2|(2, 1)|(1, 2)})
jnp.repeat($A, {2|3}, axis=@axisornone)
jnp.repeat($A1n, jnp.arange($A.shape[0]), axis=0, total_repeat_length=3)
jnp.pad($A, @pos{|, constant_values=2})
jnp.pad($N1n, 1, mode={'edge'|'wrap'|'reflect'|'symmetric'|'maximum'|'minimum'|'mean'|'linear_ramp'})
lax.pad($A, $A0', [(@pad, @pad, @pos)] * $A.ndim)
jnp.concatenate([$A1, $A=], axis=@axis)
lax.concatenate([$A1, $A=], dimension=@paxis)
jnp.{stack|hstack|vstack|dstack|column_stack}([$A, $A=])
jnp.stack([$A, $A=], axis={0|-1})
jnp.append($A, $A)
jnp.concatenate([jnp.ravel($A), jnp.ravel($A)])
jnp.{split|array_split}($A1, {1|@n}, axis=@axis)[0]
jnp.unstack($A1n, axis=@axis)
lax.split($A1, ($A.shape[0],), 0)[0]
jnp.meshgrid($A, $A)[@bool]
jnp.broadcast_arrays($A, $A~)
jnp.insert($N1n, {0|1}, @int, axis=@axis)
jnp.delete($A1n, 0, axis=@axis)
jnp.resize($An, (2, 2))
jnp.vander($Nv, {2|3})
jnp.{tri|eye|identity}(@n)
jnp.{ones|zeros}(@bshape, @dtype)
jnp.arange(@n{|, dtype=@dtype})
jnp.linspace($F0, 1.0, 3)
jnp.{linspace|geomspace|logspace}(1.0, 2.0, {3|4})
lax.{iota}(@rdtype, @n)
lax.broadcasted_iota(@rdtype, (2, 3), @bool)
lax.collapse($Am, 0, 2)
lax.squeeze($A[None], (0,))
lax.tile($A1, (2,) * $A.ndim)
$A.{copy|flatten|ravel|squeeze}()
jnp.block([[$Am, $A=]])
jax.image.resize($Fmn, (2,) * $F.ndim, {'linear'|'nearest'|'cubic'|'lanczos3'})
"""

INDEXING = """
$A1n[@index]
$A1n[@index]
$A1[@slice]
$A[...]
$A[None]
$A1n[$I0]
$A1n[$I % $A.shape[0]]
$A1n[jnp.array([0, 1, -1])]
$A1n[jnp.array([[0, 5]])]
$A1n[..., jnp.array([0, -1])]
$Am[:, None, -1:]
$Am[jnp.array([0, 1]), jnp.array([1, 0])]
$A1n.at[@index].{set|add|multiply|max|min}(@literal)
$R1n.at[@index].{set|add|mul|max|min|subtract|power|divide}($R0n)
$A1n.at[$I0].{set|add}(@literal)
$N1n.at[jnp.array([0, 1, 0])].{add|set|multiply|max|min}(@literal{|, mode='drop'|, mode='clip'|, unique_indices=False})
$A1n.at[jnp.array([0, 7])].get(mode={'fill'|'clip'|'wrap'|'promise_in_bounds'}, fill_value=0)
$F1n.at[@index].apply(jnp.sin)
$F1n.at[$B~].set(0.5)
jnp.take($A1n, $I, axis=@axis, mode={'clip'|'wrap'|'fill'})
jnp.take($A1n, jnp.array([0, 1]), axis=@axisornone)
jnp.take_along_axis($A1n, jnp.argsort($A!, axis=-1), axis=-1)
jnp.put_along_axis($N1n, jnp.zeros((1,) * $N.ndim, int), @int, axis=@axis, inplace=False)
jnp.choose($I % 2, [$N~, $N~])
jnp.extract($B, $A~)
jnp.compress(np.array([True, False]), $Amn, axis=0)
lax.dynamic_slice($A1n, ($I0,) * $A.ndim, (1,) * $A.ndim)
lax.dynamic_slice_in_dim($A1n, $I0, 1, axis=@paxis)
lax.dynamic_index_in_dim($A1n, $I0, axis=@paxis, keepdims=@bool)
lax.index_in_dim($A1n, 0, axis=@axis)
lax.dynamic_update_slice($A1n, $A=, ($I0,) * $A.ndim)
lax.dynamic_update_slice_in_dim($A1n, $A=[:1], $I0, axis=0)
lax.dynamic_update_index_in_dim($A1n, $A=[0], $I0, axis=0)
lax.slice($A1n, (0,) * $A.ndim, (1,) * $A.ndim)
lax.slice_in_dim($A1n, 0, None, stride={1|2}, axis=@axis)
lax.index_take($A1n, (jnp.array([0, 1]),), (0,))
lax.gather($Amn, jnp.array([[0], [1]]), lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, $A.shape[1]))
lax.scatter_{add|mul|max|min}($Fvn, jnp.array([[0], [1], [0]]), jnp.ones(3, $F.dtype) * 2, lax.ScatterDimensionNumbers((), (0,), (0,)))
jnp.nonzero($A, size=3{|, fill_value=1})
jnp.{argwhere|flatnonzero}($A, size=2)
jnp.unravel_index($I, (2, 3))
jnp.ravel_multi_index(($I, $I~), (4, 4), mode='wrap')
jnp.{tril_indices|triu_indices|diag_indices}(@n)
jnp.fill_diagonal($Nm, @int, inplace=False)
"""

SORTING = """
jnp.{sort|argsort}($A1, axis=@axis{|, descending=True|, stable=True})
jnp.sort($A)
lax.sort($A1, dimension=@paxis)
lax.sort(($A1, $A=), dimension=@paxis, num_keys={1|2})
lax.sort_key_val($R1, $A=)
lax.top_k($R1n, 1)
jnp.{partition|argpartition}($R1n, 0, axis=@axis)
jnp.lexsort(($Rv, $R=))
jnp.sort_complex($N1)
jnp.searchsorted(jnp.sort($Rv), $R~{|, side='right'|, method='sort'|, method='compare_all'})
jnp.digitize($F, jnp.array([-0.5, 0.5, 1.0]))
jnp.unique($A, size=3)
jnp.unique($Av, size=4, return_index=True, return_inverse=True, return_counts=True)
jnp.{union1d|intersect1d|setdiff1d}($Rv, $R', size=3)
jnp.isin($L, $L)
jnp.median($R1n, axis=@axis)
"""

PRODUCTS = """
jnp.{dot|matmul|inner|outer|vdot|kron}($Nv, $N=)
$Nv @ $N=
$Nm @ jnp.swapaxes($N=, -1, -2)
jnp.{matmul|dot|inner|tensordot}($Ns, $N=)
jnp.matmul($Nm, $N.mT, preferred_element_type={None|jnp.complex64})
jnp.matmul($Rm, $R.mT, preferred_element_type=jnp.float32)
jnp.{outer|kron}($N, $N)
jnp.{inner|vecdot|cross}($N1, $N=)
jnp.tensordot($N, $N=, axes={0|1})
jnp.einsum('i,i->', $Nv, $N=)
jnp.einsum('i,j', $Nv, $Nv)
jnp.einsum('...i,...i', $N1, $N=)
jnp.einsum('ij,kj->ik', $Nm, $N=)
jnp.einsum('{ij->ji|ij->i|ij->|ij->j}', $Nm)
jnp.einsum('{ii|ii->i}', $Ns)
jnp.einsum('ij,j->i', $Nm, $N[0])
jnp.linalg.{matmul|outer}($Nv, $N=)
lax.dot($Nv, $N=)
lax.dot_general($Nm, $N=, (((1,), (1,)), ((), ())))
lax.dot_general($Nm, $N=, (((1,), (1,)), ((0,), (0,))))
lax.batch_matmul($Zm[None], $Z.mT[None])
jnp.{convolve|correlate}($Nvn, $Nvn, mode={'full'|'same'|'valid'})
jax.scipy.signal.{convolve|correlate}($Fmn, $F=, mode={'full'|'same'})
jax.scipy.signal.convolve2d($Fmn, $F=, mode='same')
lax.conv($Fmn[None, None], $F=[None, None], (1, 1), {'SAME'|'VALID'})
lax.conv_general_dilated($Fmn[None, None], $F=[None, None], ({1|2}, 1), [(1, @pos), (@pos, 0)], lhs_dilation=(1, {1|2}), rhs_dilation=({1|2}, 1))
lax.conv_general_dilated($Fvn[None, None], $F[None, None], (1,), 'SAME', dimension_numbers=('NCH', 'OIH', 'NCH'))
lax.conv_transpose($Fvn[None, :, None], $F[:, None, None], (2,), 'SAME')
jnp.polyval($Nvn, $N)
jnp.{polyadd|polysub|polymul}($Nvn, $Nvn)
jnp.polyder($Nvn)
jnp.polyint($Fvn)
"""

LINEAR_ALGEBRA = """
jnp.linalg.{det|inv|slogdet|pinv|matrix_rank|cond|svdvals}($Zs)
jnp.linalg.cholesky(posdef($Zs))
jnp.linalg.{eigvalsh|eigh}(posdef($Zs))
jnp.linalg.{svd|qr}($Zmn{|, compute_uv=False})
jnp.linalg.svd($Zmn, full_matrices=False)
jnp.linalg.qr($Zmn, mode={'reduced'|'r'|'complete'})
jnp.linalg.solve(posdef($Zs), $Z=)
jnp.linalg.solve(posdef($Zs), $Z[0])
jnp.linalg.lstsq($Zm, $Z[:, 0])[0]
jnp.linalg.matrix_power($Ns, {2|3|0|-1})
jnp.linalg.{trace|diagonal|matrix_transpose}($Nm)
jnp.linalg.multi_dot([$Zs, $Z=, $Z=])
jax.scipy.linalg.{expm|det|inv|sqrtm}($Zs)
jax.scipy.linalg.{lu|lu_factor|polar|schur}($Fs)
jax.scipy.linalg.solve_triangular(posdef($Zs), $Z=, lower=@bool, trans={0|1|'C'})
jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(posdef($Zs)), True), $Z=)
jax.scipy.linalg.{toeplitz|block_diag|circulant}($Nv)
lax.linalg.{cholesky|lu|qr|svd|eigh}(posdef($Zs))
lax.linalg.triangular_solve(posdef($Zs), $Z=, left_side=@bool, lower=@bool, transpose_a=@bool)
"""

SPECIAL = """
jax.nn.{relu|relu6|sigmoid|silu|gelu|elu|selu|celu|softplus|soft_sign|log_sigmoid|leaky_relu|hard_sigmoid|hard_silu|hard_tanh|squareplus|mish|swish|tanh|sparse_plus|sparse_sigmoid}($F)
jax.nn.{relu|elu|softmax|gelu|hard_tanh|leaky_relu}($A)
jax.nn.gelu($F, approximate=@bool)
jax.nn.glu(jnp.concatenate([$F1, $F=], axis=-1))
jax.nn.one_hot($I, 3)
jax.nn.dot_product_attention($Fmn[None, None], $F=[None, None], $F=[None, None])
jax.scipy.special.{erf|erfc|erfinv|gammaln|digamma|gamma|expit|logit|ndtr|ndtri|log_ndtr|i0|i0e|i1|i1e|entr|exp1|expi|spence|bernoulli|factorial|loggamma|dawsn|erfcx|sici|fresnel}($F)
jax.scipy.special.{xlogy|xlog1py|betaln|beta|kl_div|rel_entr|gammainc|gammaincc|zeta|boxcox|boxcox1p|poch|comb}($F, $F~)
jax.scipy.special.polygamma({0|1|2}, $F)
jax.scipy.special.betainc(jnp.abs($F) + 0.5, 1.5, jax.nn.sigmoid($F~))
jax.scipy.special.{logsumexp|softmax|log_softmax}($Fn)
jax.scipy.special.multigammaln(jnp.abs($F) + 3, 2)
jax.scipy.special.{expn}(2, jnp.abs($F) + 0.1)
jax.scipy.special.hyp1f1(1.5, 2.5, $F)
jax.scipy.stats.norm.{pdf|logpdf|cdf|logcdf|sf|ppf}($F)
jax.scipy.stats.{gamma|beta|t|chi2|expon|laplace|logistic|cauchy}.logpdf(jax.nn.sigmoid($F), {2.0|1.5}{|, 2.0})
jnp.fft.{fft|ifft|rfft|hfft|ihfft}($F1n{|, n=3|, n=4})
jnp.fft.{fft|ifft|irfft|hfft}($C1n{|, axis=@axis|, norm='ortho'})
jnp.fft.{fftn|ifftn|fft2|ifft2}($Zmn)
jnp.fft.{rfftn|rfft2}($Fmn)
jnp.fft.{fftshift|ifftshift}($A1)
jax.scipy.fft.{dct|idct}($F1n{|, norm='ortho'})
jax.random.{normal|uniform|exponential|gumbel|laplace|logistic|cauchy|rademacher|bits}(@key, @bshape)
jax.random.{normal|uniform}(@key, @bshape, @fdtype)
jax.random.randint(@key, @bshape, -2, 5{|, jnp.int8})
jax.random.{bernoulli|categorical}(@key, {jax.nn.sigmoid($F)|jax.nn.sigmoid($F1n)})
jax.random.{gamma|loggamma|poisson|chisquare}(@key, jnp.abs($F) + 0.5)
jax.random.{beta|pareto|t|rayleigh|weibull_min}(@key, jnp.abs($F) + 0.5{|, jnp.abs($F~) + 0.5})
jax.random.truncated_normal(@key, -1.0, $F)
jax.random.uniform(@key, minval=$F0, maxval=2.0)
jax.random.{permutation|choice}(@key, $A1n)
jax.random.split(@key, 2)
jax.random.fold_in(@key, $I0)
jax.random.key_data(jax.random.split(@key))
jax.random.dirichlet(@key, jnp.abs($Fvn) + 0.5)
jax.random.multivariate_normal(@key, $Fvn, jnp.eye($F.shape[0]))
"""

SPARSE = """
sparse.BCOO.fromdense($Nmn, nse=$N.size).todense()
sparse.BCOO.fromdense($Nmn, nse=$N.size, n_batch={0|1}).todense()
sparse.BCOO.fromdense($Nmn, nse=$N.size, n_dense={0|1}).todense()
sparse.BCSR.fromdense($Ns, nse=$N.size).todense()
sparse.BCOO.fromdense($Nmn, nse=$N.size) @ jnp.swapaxes($N=, -1, -2)
sparse.BCOO.fromdense($Ns, nse=$N.size) @ $N[0]
$Ns @ sparse.BCOO.fromdense($N=, nse=$N.size)
sparse.BCSR.fromdense($Ns, nse=$N.size) @ $N[0]
(sparse.BCOO.fromdense($Ns, nse=$N.size) @ sparse.BCOO.fromdense($N=, nse=$N.size)).todense()
(sparse.BCOO.fromdense($Nmn, nse=$N.size) {+|-} sparse.BCOO.fromdense($N=, nse=$N.size)).todense()
(sparse.BCOO.fromdense($Nmn, nse=$N.size) * {2|0.5|-1.0|$N0|$N=}).todense()
(-sparse.BCOO.fromdense($Nmn, nse=$N.size)).todense()
sparse.BCOO.fromdense($Nmn, nse=$N.size).T.todense()
sparse.BCOO.fromdense($Nmn, nse=$N.size).transpose(@perm).todense()
sparse.BCOO.fromdense($Nmn, nse=$N.size).sum(axis=@axisornone).todense()
sparse.BCOO.fromdense($Nmn, nse=$N.size).astype(@dtype).todense()
sparse.BCOO.fromdense($Nmn, nse=$N.size)[{None|...|..., None, :}].todense()
sparse.BCOO.fromdense($Nmn, nse=$N.size).sum_duplicates(nse=$N.size).todense()
sparse.BCOO.fromdense($Nmn, nse=$N.size).sort_indices().data
sparse.BCOO(($Nvn, jnp.array([[0], [1], [0]])[:$N.shape[0]]), shape=(3,)).todense()
sparse.BCOO(($Nvn, jnp.array([[0, 1], [1, 5], [0, 1]])[:$N.shape[0]]), shape=(2, 2)).todense()
sparse.BCOO(($Nvn, jnp.array([[0, 1], [1, 0], [0, 1]])[:$N.shape[0]]), shape=(2, 2)) @ $N[:2]
sparse.BCOO(($Nvn, jnp.array([[0], [1], [0]])[:$N.shape[0]]), shape=(3,)).sum_duplicates(nse=2).data
sparse.sparsify(lambda a, b: jnp.{sum|max}(a * b{|, axis=0}))(sparse.BCOO.fromdense($Nmn, nse=$N.size), $N=)
sparse.sparsify(lambda a, b: a @ b.mT)(sparse.BCOO.fromdense($Nmn, nse=$N.size), $N=)
sparse.todense(sparse.sparsify(lambda a: {jnp.sin(a)|abs(a)|-a * 2|a.T|jnp.expm1(a)|a * a|a.sum(0)})(sparse.BCOO.fromdense($Fmn, nse=$F.size)))
sparse.bcoo_multiply_dense(sparse.BCOO.fromdense($Nmn, nse=$N.size), $N=).todense()
sparse.bcoo_reduce_sum(sparse.BCOO.fromdense($Nmn, nse=$N.size), axes=(@paxis,)).todense()
sparse.bcoo_dot_general(sparse.BCOO.fromdense($Nmn, nse=$N.size), $N=, dimension_numbers=(((@paxis,), (0,)), ((), ())))
sparse.grad(lambda a: total((a @ jnp.swapaxes($F, -1, -2))))(sparse.BCOO.fromdense($Fmn, nse=$F.size)).data
"""

TABLES = {
    "elementwise": ELEMENTWISE,
    "reductions": REDUCTIONS,
    "shapes": SHAPES,
    "indexing": INDEXING,
    "sorting": SORTING,
    "products": PRODUCTS,
    "linalg": LINEAR_ALGEBRA,
    "special": SPECIAL,
    "sparse": SPARSE,
}
SHARES = {"elementwise": 34, "reductions": 13, "shapes": 13, "indexing": 13, "sorting": 5,
          "products": 8, "linalg": 4, "special": 10, "sparse": 2}  # fmt: skip

FOCUSED = 60  # how many times likelier a table or a block is that a session looks at


def rows(focus: str = "") -> list[tuple[str, float]]:
    """Every row, with its weight; most of all those of the table `focus`."""
    found = []
    for name, table in TABLES.items():
        lines = [line for line in table.strip().splitlines() if line]
        sizes = [(1 + line.count("|")) ** 0.6 for line in lines]
        scale = SHARES[name] * (FOCUSED if name == focus else 1) / sum(sizes)
        found += [(line, size * scale) for line, size in zip(lines, sizes, strict=True)]
    return found
