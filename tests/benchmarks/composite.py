"""Calls of functions that consist of many operations, with small arguments, outside of `jit`.

JAX compiles most of them as a whole. The table has the geometric mean of all, and the slowest.
`python -m tests.benchmarks.eager` measures every public function, which takes much longer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.benchmarks.workloads import Workload
from tests.numpy.calls import ARRAYS

# One call between two bars. The names are those of `tests/numpy/calls.py`, and `key`.
CALLS = """
jnp.average(x, weights=abs(x)) ¦ jnp.var(x) ¦ jnp.std(m, axis=0) ¦ jnp.ptp(x) ¦ jnp.median(x)
jnp.quantile(x, 0.3) ¦ jnp.percentile(m, 40, axis=0) ¦ jnp.nanmean(x) ¦ jnp.nanstd(x) ¦ jnp.nansum(w)
jnp.nanmax(x) ¦ jnp.mean(m, axis=1) ¦ jnp.prod(m, axis=0) ¦ jnp.sum(x) ¦ jnp.max(m, axis=0)
jnp.cumsum(x) ¦ jnp.cumprod(m, axis=1) ¦ jnp.digitize(x, jnp.sort(x)) ¦ jnp.interp(x, jnp.sort(x), x)
jnp.searchsorted(jnp.sort(x), x) ¦ jnp.bincount(u, length=8) ¦ jnp.linspace(0.0, 1.0, 8)
jnp.logspace(0.0, 1.0, 8) ¦ jnp.geomspace(1.0, 9.0, 8) ¦ jnp.meshgrid(x, x) ¦ jnp.arange(8.0)
jnp.tile(x, (2, 2)) ¦ jnp.repeat(x, 3) ¦ jnp.roll(m, 1, axis=0) ¦ jnp.rot90(m) ¦ jnp.flip(m)
jnp.pad(m, 1) ¦ jnp.pad(x, 2, mode='reflect') ¦ jnp.stack([x, x]) ¦ jnp.hstack([x, x])
jnp.vstack([x, x]) ¦ jnp.column_stack([x, x]) ¦ jnp.split(t, 2, axis=2) ¦ jnp.array_split(x, 3)
jnp.concatenate([m, m], axis=1) ¦ jnp.kron(x, x) ¦ jnp.outer(x, x) ¦ jnp.inner(m, m) ¦ jnp.cross(m, m)
jnp.trace(sq) ¦ jnp.diag(x) ¦ jnp.diagonal(sq) ¦ jnp.tril(sq) ¦ jnp.triu(sq, 1) ¦ jnp.vander(x)
jnp.eye(4) ¦ jnp.polyval(x, 2.0) ¦ jnp.polymul(x, x) ¦ jnp.convolve(x, x) ¦ jnp.correlate(x, x)
jnp.gradient(x) ¦ jnp.diff(x) ¦ jnp.ediff1d(x) ¦ jnp.sort(x) ¦ jnp.argsort(m, axis=1)
jnp.lexsort((i, i)) ¦ jnp.partition(x, 2) ¦ jnp.argmax(m, axis=0) ¦ jnp.take(x, i)
jnp.take_along_axis(m, jnp.argsort(m, axis=1), axis=1) ¦ jnp.select([b, ~b], [x, 2 * x])
jnp.where(b, x, 0) ¦ jnp.clip(x, -1, 1) ¦ jnp.round(x, 1) ¦ jnp.sinc(x) ¦ jnp.hypot(x, x)
jnp.logaddexp(x, x) ¦ jnp.nan_to_num(w) ¦ jnp.isclose(x, x) ¦ jnp.allclose(x, x) ¦ jnp.array_equal(x, x)
jnp.heaviside(x, 0.5) ¦ jnp.copysign(x, x) ¦ jnp.ldexp(x, i) ¦ jnp.frexp(x) ¦ jnp.modf(x)
jnp.divmod(x, 2.0) ¦ jnp.floor_divide(x, 2.0) ¦ jnp.remainder(i, 3) ¦ jnp.fmod(x, 2.0)
jnp.power(abs(x), 2.5) ¦ jnp.float_power(x, 2) ¦ jnp.gcd(i, 6) ¦ jnp.unwrap(x) ¦ jnp.trapezoid(x)
jnp.cov(m) ¦ jnp.corrcoef(m) ¦ jnp.einsum('ij,kj->ik', m, m) ¦ jnp.tensordot(m, m, ((1,), (1,)))
jnp.vdot(x, x) ¦ jnp.matmul(sq, sq) ¦ jnp.fft.fft(x) ¦ jnp.linalg.norm(m) ¦ jnp.linalg.solve(sq, x[:3])
jnp.linalg.inv(sq) ¦ jnp.linalg.det(sq) ¦ jnp.linalg.cholesky(sq) ¦ jnp.linalg.matrix_power(sq, 3)
jnp.apply_along_axis(jnp.sum, 0, m) ¦ jnp.vectorize(jnp.add)(x, x) ¦ jnp.i0(x) ¦ jnp.nextafter(x, x)
x.at[1].add(1.0) ¦ x.at[i].set(0.0) ¦ m.at[:, 1].multiply(2.0) ¦ x[i] ¦ m[:, i[:2]] ¦ x[b]
jax.nn.relu(x) ¦ jax.nn.relu6(x) ¦ jax.nn.gelu(x) ¦ jax.nn.elu(x) ¦ jax.nn.selu(x) ¦ jax.nn.celu(x)
jax.nn.silu(x) ¦ jax.nn.softplus(x) ¦ jax.nn.sigmoid(x) ¦ jax.nn.log_sigmoid(x) ¦ jax.nn.mish(x)
jax.nn.leaky_relu(x) ¦ jax.nn.hard_tanh(x) ¦ jax.nn.glu(x) ¦ jax.nn.softmax(m) ¦ jax.nn.log_softmax(x)
jax.nn.logsumexp(m, axis=1) ¦ jax.nn.one_hot(i, 4) ¦ jax.nn.standardize(m)
jax.random.normal(key, (8,)) ¦ jax.random.uniform(key, (8,)) ¦ jax.random.split(key)
jax.random.fold_in(key, 3) ¦ jax.random.bernoulli(key, 0.3, (8,)) ¦ jax.random.randint(key, (8,), 0, 9)
jax.random.categorical(key, x) ¦ jax.random.permutation(key, x) ¦ jax.random.gumbel(key, (8,))
jax.random.truncated_normal(key, -1.0, 1.0, (8,)) ¦ jax.random.exponential(key, (8,))
jax.scipy.special.logit(abs(s)) ¦ jax.scipy.special.expit(x) ¦ jax.scipy.special.xlogy(abs(x), abs(x))
jax.scipy.special.gammaln(abs(x)) ¦ jax.scipy.special.digamma(abs(x)) ¦ jax.scipy.special.ndtr(x)
jax.scipy.special.entr(abs(x)) ¦ jax.scipy.stats.norm.logpdf(x, 0.5, 2.0) ¦ jax.scipy.stats.norm.cdf(x)
jax.lax.dynamic_slice(m, (0, 1), (2, 2)) ¦ jax.lax.top_k(x, 2) ¦ jax.lax.cumlogsumexp(x)
jax.lax.reduce_window(x, 0.0, jax.lax.add, (2,), (1,), 'VALID') ¦ jax.lax.pad(x, 0.0, ((1, 2, 0),))
"""


def _call(text: str) -> Callable[[Any], Callable[[], Any]]:
    def build(jx: Any) -> Callable[[], Any]:
        for module in ("scipy.special", "scipy.stats", "scipy.linalg"):
            __import__(f"{jx.__name__}.{module}")
        names = {name: jx.numpy.asarray(a) for name, a in ARRAYS.items()}
        return eval(f"lambda: {text}", {"jax": jx, "jnp": jx.numpy, "key": jx.random.key(0), **names})

    return build


COMPOSITE = {text.strip(): Workload(text.strip(), _call(text.strip()))
             for line in CALLS.strip().splitlines() for text in line.split(" ¦ ")}
