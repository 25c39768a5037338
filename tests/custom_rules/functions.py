"""Functions with derivatives of their own, as programs: each takes a namespace."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType


def product(jx: ModuleType, factor: float = 3) -> Callable:
    """sin(x) * y, differentiated as if it were 3 sin(x) * y in y: wrong, so that one can see it."""

    @jx.custom_jvp
    def f(x, y):
        return jx.numpy.sin(x) * y

    @f.defjvp
    def f_jvp(primals, tangents):
        (x, y), (x_dot, y_dot) = primals, tangents
        t = jx.numpy.cos(x) * y * x_dot + factor * jx.numpy.sin(x) * y_dot
        return f(x, y), t

    return f


def product_by_parts(jx: ModuleType) -> Callable:
    f = jx.custom_jvp(lambda x, y: jx.numpy.sin(x) * y)
    f.defjvps(lambda t, out, x, y: jx.numpy.cos(x) * y * t, lambda t, out, x, y: 3 * out / y * t)
    return f


def product_reverse(jx: ModuleType) -> Callable:
    @jx.custom_vjp
    def f(x, y):
        return jx.numpy.sin(x) * y

    def f_fwd(x, y):
        return f(x, y), (jx.numpy.cos(x), x, y)

    def f_bwd(res, ct):
        cos_x, x, y = res
        return cos_x * y * ct, 3 * jx.numpy.sin(x) * ct

    f.defvjp(f_fwd, f_bwd)
    return f


def product_gradient(jx: ModuleType) -> Callable:
    @jx.custom_gradient
    def f(x, y):
        out = jx.numpy.sin(x) * y
        return out, lambda ct: (jx.numpy.cos(x) * y * ct, 3 * jx.numpy.sin(x) * ct)

    return f


def product_remat(jx: ModuleType) -> Callable:
    f = product(jx)
    return jx.checkpoint(lambda x, y: jx.numpy.exp(f(jx.numpy.sin(x), y) / 4))


def product_remat_reverse(jx: ModuleType) -> Callable:
    f = product_reverse(jx)
    return jx.checkpoint(lambda x, y: jx.numpy.exp(f(jx.numpy.sin(x), y) / 4))


def product_in_jit(jx: ModuleType) -> Callable:
    return jx.jit(product(jx))


def product_reverse_in_jit(jx: ModuleType) -> Callable:
    return jx.jit(product_reverse(jx))


def product_in_scan(jx: ModuleType) -> Callable:
    f = product(jx, factor=1)  # right: JAX forgets the rule at second order (see test_scan.py)

    def scanned(x, y):
        return jx.lax.scan(lambda c, _: (f(c, y), None), x, None, length=3)[0]

    return scanned


def product_reverse_in_scan(jx: ModuleType) -> Callable:
    f = product_reverse(jx)

    def scanned(x, y):
        return jx.lax.scan(lambda c, _: (f(c, y), c), x, None, length=3)[0]

    return scanned


def remat_in_scan(jx: ModuleType) -> Callable:
    layer = jx.checkpoint(lambda x, y: jx.numpy.sin(jx.numpy.sin(x) * y))

    def scanned(x, y):
        return jx.lax.scan(lambda c, _: (layer(c, y), None), x, None, length=3)[0]

    return scanned


def product_in_cond(jx: ModuleType) -> Callable:
    f = product_reverse(jx)
    return lambda x, y: jx.lax.cond(x > 0, lambda: f(x, y), lambda: x * y)


FORWARD = {f.__name__: f for f in (
    product, product_by_parts, product_remat, product_in_jit, product_in_scan, remat_in_scan)}
REVERSE = {f.__name__: f for f in (
    product_reverse, product_gradient, product_remat_reverse, product_reverse_in_jit,
    product_reverse_in_scan, product_in_cond)}
