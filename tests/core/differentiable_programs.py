"""Differentiable programs, `lax -> function`, one or more for every rule of forward mode."""

from __future__ import annotations

import zlib
from types import SimpleNamespace

import numpy as np

from minijax import lax as minijax_lax
from minijax.core.primitives import add_any_p, stop_gradient_p
from minijax.lax.shaping import copy_p
from tests.oracle import jax

ad_util = jax._src.ad_util
jax_lax = jax._src.lax.lax

ours = SimpleNamespace(**{name: getattr(minijax_lax, name) for name in dir(minijax_lax)} | {
    "add_any": add_any_p.bind, "copy": copy_p.bind,
    "stop": stop_gradient_p.bind,
})
jaxs = SimpleNamespace(**vars(jax.lax) | {
    "add_any": ad_util.add_jaxvals_p.bind, "copy": jax_lax.copy_p.bind,
    "stop": jax.lax.stop_gradient,
})

SQUARE = [(2, 3)]
TWO = [(2, 3), (2, 3)]

# name: (program, shapes of its arguments). Its arguments are between 0.3 and 0.9.
PROGRAMS = {
    **{name: (lambda lax, name=name: getattr(lax, name), SQUARE) for name in (
        "neg sin cos tan tanh exp exp2 log log1p expm1 sqrt rsqrt cbrt logistic abs square copy "
        "atanh reciprocal").split()},
    **{name: (lambda lax, name=name: getattr(lax, name), TWO) for name in (
        "add sub mul div max min pow add_any").split()},
    "rem": (lambda lax: lambda x, y: lax.rem(lax.mul(x, 5.0), y), TWO),
    **{f"integer_pow {y}": (lambda lax, y=y: lambda x: lax.integer_pow(x, y), SQUARE)
       for y in (-2, -1, 0, 1, 2, 3, 5)},
    "pow of an integer": (lambda lax: lambda x: lax.pow(x, np.full((2, 3), 3, np.int32)), SQUARE),
    "scalar and array": (lambda lax: lambda x, y: lax.mul(lax.add(x, y), x), [(), (2, 3)]),
    "sizes of one": (lambda lax: lambda x, y: lax.sub(lax.div(x, y), y), [(2, 1), (1, 3)]),
    "complex": (lambda lax: lambda x, y: lax.real(lax.mul(lax.complex(x, y), lax.conj(
        lax.complex(y, y)))), TWO),
    "imag": (lambda lax: lambda x, y: lax.imag(lax.exp(lax.complex(x, y))), TWO),
    "abs of complex": (lambda lax: lambda x, y: lax.abs(lax.complex(x, y)), TWO),
    "conj of real": (lambda lax: lambda x: lax.imag(lax.mul(lax.conj(x), lax.complex(x, x))), SQUARE),
    "convert": (lambda lax: lambda x: lax.convert_element_type(lax.real(
        lax.convert_element_type(x, np.result_type(x.dtype, np.complex64))), x.dtype), SQUARE),
    "select": (lambda lax: lambda x, y: lax.select(lax.gt(x, y), x, lax.mul(y, y)), TWO),
    "select of three": (lambda lax: lambda x, y: lax.select_n(np.int32([[0, 1, 2], [2, 1, 0]]), x, y, x), TWO),
    "clamp": (lambda lax: lambda a, x, b: lax.clamp(
        lax.mul(a, 0.6), x, lax.mul(lax.add(b, 1.0), 0.5)), [(2, 3)] * 3),
    "clamp by scalars": (lambda lax: lambda x: lax.clamp(0.5, x, 0.7), SQUARE),
    "stop_gradient": (lambda lax: lambda x: lax.mul(lax.stop(x), x), SQUARE),
    "steps": (lambda lax: lambda x: lax.add(lax.floor(x), lax.mul(lax.sign(x), lax.add(
        lax.round(x), lax.ceil(x)))), SQUARE),
    "broadcast_in_dim": (lambda lax: lambda x: lax.broadcast_in_dim(x, (2, 4, 3), (0, 2)), [(2, 1)]),
    "reshape": (lambda lax: lambda x: lax.reshape(x, (3, 2)), SQUARE),
    "reshape in order": (lambda lax: lambda x: lax.reshape(x, (6,), (1, 0)), SQUARE),
    "squeeze": (lambda lax: lambda x: lax.squeeze(x, (1,)), [(2, 1, 3)]),
    "expand_dims": (lambda lax: lambda x: lax.expand_dims(x, (1,)), SQUARE),
    "transpose": (lambda lax: lambda x: lax.transpose(x, (2, 0, 1)), [(2, 3, 4)]),
    "rev": (lambda lax: lambda x: lax.rev(x, (1,)), SQUARE),
    "concatenate": (lambda lax: lambda x, y: lax.concatenate([x, y, x], 1), [(2, 3), (2, 1)]),
    "stack": (lambda lax: lambda x, y: lax.stack([x, y], 1), TWO),
    "unstack": (lambda lax: lambda x: lax.mul(*lax.unstack(x, 0)), SQUARE),
    "split": (lambda lax: lambda x: lax.mul(*lax.split(x, (2, 2), 1)), [(2, 4)]),
    "pad": (lambda lax: lambda x, v: lax.pad(x, v, ((1, 0, 2), (-1, 2, 0))), [(2, 3), ()]),
    "slice": (lambda lax: lambda x: lax.slice(x, (0, 1), (2, 6), (1, 2)), [(2, 7)]),
    "dynamic_slice": (lambda lax: lambda x: lax.dynamic_slice(x, (np.int32(9), np.int32(1)), (1, 2)), SQUARE),
    "dynamic_update": (lambda lax: lambda x, u: lax.dynamic_update_slice(
        x, u, (np.int32(0), np.int32(1))), [(2, 3), (1, 2)]),
    **{f"reduce_{name}": (lambda lax, name=name: lambda x: getattr(lax, f"reduce_{name}")(x, (0, 2)),
                          [(2, 3, 2)]) for name in ("sum", "max", "min", "prod")},
    **{name: (lambda lax, name=name: lambda x: getattr(lax, name)(x, 1), [(2, 4)]) for name in (
        "cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp")},
    **{f"{name} reversed": (lambda lax, name=name: lambda x: getattr(lax, name)(x, 0, reverse=True), [(5,)])
       for name in ("cumsum", "cumprod", "cummax", "cumlogsumexp")},
    "dot": (lambda lax: lambda a, b: lax.dot(a, b), [(2, 3), (3, 2)]),
    "dot of itself": (lambda lax: lambda a: lax.dot(a, a), [(3,)]),
    "dot_general": (lambda lax: lambda a, b: lax.dot_general(
        a, b, (((1, 3), (3, 1)), ((2, 0), (0, 2)))), [(2, 3, 2, 1), (2, 1, 2, 3, 2)]),
    "outer": (lambda lax: lambda a, b: lax.dot_general(a, b, (((), ()), ((), ()))), [(2,), (3,)]),
    "nothing": (lambda lax: lambda x: lax.mul(x, lax.sin(x)), [(2, 0)]),
    "composition": (lambda lax: lambda x, y: lax.div(lax.sin(lax.mul(x, y)), lax.add(
        lax.exp(lax.neg(x)), lax.square(y))), TWO),
}


def arguments(name: str, dtype=np.float32, salt: str = "") -> list[np.ndarray]:
    """The program's arguments; with another `salt`, others (tangents, say)."""
    rng = np.random.default_rng(zlib.crc32(f"{name}{salt}".encode()))
    return [rng.uniform(0.3, 0.9, shape).astype(dtype) for shape in PROGRAMS[name][1]]
