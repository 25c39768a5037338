"""Solutions of chapter 11."""

from __future__ import annotations

import numpy as np

from minijax import jit, jvp, lax, numpy as jnp, tree_util
from minijax.core.core import current_trace, new_trace, typeof
from minijax.core.forward import Zero
from minijax.extend.core import Primitive
from minijax.interpreters import batching, mlir
from minijax.lax.control_flow.parts import PartsTrace
from minijax.lax.families import FLOAT, const_like, deflinear2, lower_fun, unary_row
from minijax.lax.linalg.common import matrix_transpose
from minijax.lax.linalg.triangular_solve import triangular_solve


def make_log_cosh():
    """The formula in |x|, once for NumPy and once for XLA."""

    def evaluate(x):
        a = np.abs(x)
        return a + np.log1p(np.exp(-2 * a)) - x.dtype.type(np.log(2))

    def lowered(x):
        a = lax.abs(x)
        tail = lax.log1p(lax.exp(lax.mul(const_like(x, -2), a)))
        return lax.sub(lax.add(a, tail), const_like(x, np.log(2)))

    _, log_cosh = unary_row("log_cosh", FLOAT, evaluate, "Elementwise log(cosh(x)).",
                            jvp=lambda t, x: lax.mul(t, lax.tanh(x)), lowering=lower_fun(lowered))
    return log_cosh


def difference_of(x):
    """Each element of the last axis minus the one before it: x[0], x[1] - x[0], x[2] - x[1], …"""
    n = typeof(x).ndim
    before = lax.pad(x, typeof(x).dtype.type(0), [(0, 0, 0)] * (n - 1) + [(1, -1, 0)])
    return lax.sub(x, before)


def make_difference():
    """Its transpose is the same difference from the other end."""
    difference_p = Primitive("difference")

    def difference(x):
        return difference_p.bind(x)

    def batch(args, dims):
        return difference(batching.moveaxis(args[0], dims[0], 0)), 0

    def transpose(ct, x):
        last = [typeof(ct).ndim - 1]
        return [lax.rev(difference(lax.rev(ct, last)), last)]

    difference_p.def_abstract_eval(lambda x: x)
    mlir.register_lowering(difference_p, mlir.lower_fun(difference_of, multiple_results=False))
    difference_p.def_impl(jit(difference))
    batching.primitive_batchers[difference_p] = batch
    deflinear2(difference_p, transpose)
    return difference


def _transpose(ct, a, b, *, transpose_a, lower, **params):
    """op(Aᵀ) is op(A)ᵀ, and the transpose of a lower triangle is an upper one."""
    if type(ct) is Zero:
        return [None, Zero(b.aval)]
    out = triangular_solve(matrix_transpose(a), ct, transpose_a=transpose_a, lower=not lower,
                           **params)
    return [None, out]


def range_of_sin(low, high):
    """The ends, unless there is a crest or a trough between them."""

    def passes(place):
        k = jnp.ceil((low - place) / (2 * jnp.pi))
        return place + 2 * jnp.pi * k <= high

    at_low, at_high = jnp.sin(low), jnp.sin(high)
    least = jnp.where(passes(-jnp.pi / 2), -1.0, jnp.minimum(at_low, at_high))
    greatest = jnp.where(passes(jnp.pi / 2), 1.0, jnp.maximum(at_low, at_high))
    return least, greatest


class ErrorTrace(PartsTrace):
    """The errors are pushed forward by the rules of `jvp`, and their sizes added."""

    def widen(self, parts, n):
        return parts if len(parts) == n else [parts[0], lax.full_like(parts[0], 0)]

    def apply(self, primitive, values, params):
        xs = [parts[0] for parts in values]
        shares = []
        for i, parts in enumerate(values):
            if len(parts) == 2:
                f = lambda x, i=i: primitive.bind(*xs[:i], x, *xs[i + 1:], **params)
                shares.append(lax.abs(jvp(f, (parts[0],), (parts[1],))[1]))
        return [primitive.bind(*xs, **params), sum(shares[1:], shares[0])]


def with_error(fun):
    """`fun` as a function of pairs (x, e) that returns pairs."""
    def fun_of_pairs(*pairs):
        trace = ErrorTrace(current_trace())
        with new_trace(trace):
            out = fun(*[trace.box(list(pair)) for pair in pairs])
            return tree_util.tree_map(lambda x: tuple(trace.widen(trace.unbox(x), 2)), out)

    return fun_of_pairs
