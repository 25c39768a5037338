"""Base functions: small programs of every shape that a user's own might have.

`PROGRAMS[name]` is a `Base`: a program (a function of the namespace) and its arguments. They
are smooth at their arguments, so that each may be differentiated three times.
"""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

Point = namedtuple("Point", ["x", "y"])


@dataclass(frozen=True)
class Base:
    """One base function: `program(jx)(*args)`."""

    program: Callable[[ModuleType], Callable[..., Any]]
    args: tuple


PROGRAMS: dict[str, Base] = {}


def program(*args: Any) -> Callable:
    """Register the decorated function of `jx` under its own name, with these arguments."""

    def register(build: Callable[[ModuleType], Callable[..., Any]]) -> Callable:
        assert build.__name__ not in PROGRAMS
        PROGRAMS[build.__name__] = Base(build, args)
        return build

    return register


def _f32(*shape: int, start: float = 0.3, step: float = 0.17) -> np.ndarray:
    """Distinct positive numbers, away from the kinks of abs, floor and the like."""
    size = int(np.prod(shape))
    return (start + step * ((np.arange(size) * 7) % max(size, 1))).reshape(shape).astype(np.float32)


VECTOR = _f32(3)
SIGNED = np.array([-0.7, 0.4, 1.3], np.float32)
MATRIX = _f32(2, 3)
COMPLEX = np.array([0.5 + 0.25j, -0.3 + 1.1j], np.complex64)
INTEGERS = np.array([3, -1, 4], np.int32)
BOOLEANS = np.array([True, False, True])


# --- elementwise arithmetic ---


@program(np.float32(0.7))
def scalar_sin(jx):
    return jx.numpy.sin


@program(0.7)
def python_scalar(jx):
    return lambda x: x * 2 + jx.numpy.cos(x)


@program(VECTOR)
def polynomial(jx):
    return lambda x: 3.0 * x**3 - x**2 + x / 2 - 1


@program(VECTOR, SIGNED)
def two_arguments(jx):
    return lambda x, y: (x * y, x - jx.numpy.sin(y))


@program(VECTOR)
def smooth_chain(jx):
    return lambda x: jx.numpy.tanh(jx.numpy.exp(jx.numpy.sin(x)) * 0.5)


@program(VECTOR)
def logarithms(jx):
    return lambda x: jx.numpy.log(x) + jx.numpy.log1p(x) * jx.numpy.sqrt(x) + jx.lax.rsqrt(x)


@program(VECTOR, np.float32(1.5))
def powers(jx):
    return lambda x, y: x**y + jx.lax.integer_pow(x, -2) + 2.0**x


@program(SIGNED)
def sigmoid(jx):
    return lambda x: jx.lax.logistic(x) * x + jx.numpy.expm1(x)


@program(SIGNED)
def kinks(jx):
    return lambda x: jx.numpy.abs(x) + jx.numpy.sign(x) * x + jx.numpy.floor(x) + jx.numpy.round(x)


@program(SIGNED)
def relu(jx):
    return lambda x: jx.numpy.maximum(x, 0.0) + jx.numpy.minimum(x * 2, 1.0)


@program(SIGNED, VECTOR)
def remainder(jx):
    return lambda x, y: jx.lax.rem(x, y)


@program(SIGNED)
def clamped(jx):
    return lambda x: jx.lax.clamp(jx.numpy.float32(-0.5), x * x, jx.numpy.float32(1.0))


# --- selection and comparison ---


@program(SIGNED, VECTOR)
def where(jx):
    return lambda x, y: jx.numpy.where(x > 0, x * y, y**2)


@program(SIGNED)
def comparisons(jx):
    return lambda x: (x > 0.1, (x <= 0.4) & (x != 1.3), jx.numpy.isfinite(x))


@program(VECTOR)
def stopped(jx):
    return lambda x: jx.lax.stop_gradient(x) * x


@program(SIGNED)
def safe_sqrt(jx):
    def f(x):
        positive = x > 0
        return jx.numpy.where(positive, jx.numpy.sqrt(jx.numpy.where(positive, x, 1.0)), 0.0)

    return f


# --- reductions ---


@program(MATRIX)
def sums(jx):
    return lambda x: (jx.numpy.sum(x), x.sum(axis=0), jx.numpy.mean(x, axis=1, keepdims=True))


@program(MATRIX)
def extrema(jx):
    return lambda x: (x.max(axis=0), jx.numpy.min(x), jx.numpy.argmax(x, axis=1), x.argmin())


@program(MATRIX)
def softmax(jx):
    def f(x):
        e = jx.numpy.exp(x - jx.lax.stop_gradient(x.max(axis=-1, keepdims=True)))
        return e / e.sum(axis=-1, keepdims=True)

    return f


@program(VECTOR)
def products(jx):
    return lambda x: jx.numpy.prod(x) + jx.numpy.cumsum(x)


@program(MATRIX)
def norm(jx):
    return lambda x: jx.numpy.sqrt(jx.numpy.sum(jx.numpy.square(x - x.mean(axis=0))) + 1.0)


# --- shapes and indices ---


@program(MATRIX)
def reshaped(jx):
    return lambda x: x.reshape(3, 2).T + jx.numpy.ravel(x)[:3]


@program(MATRIX)
def transposed(jx):
    return lambda x: jx.numpy.transpose(x) * jx.numpy.expand_dims(VECTOR, 1)


@program(VECTOR)
def indexed(jx):
    return lambda x: x[0] * x[1:] + x[::2] - x[-1]


@program(MATRIX)
def indexed_axes(jx):
    return lambda x: x[1] * x[0, 1] + x[:, None, 2].sum() + x[..., 0][0]


@program(MATRIX)
def reversed_padded(jx):
    return lambda x: jx.lax.pad(jx.numpy.flip(x, 1), jx.numpy.float32(0), ((1, 0, 0), (0, 1, 1)))


@program(VECTOR, SIGNED)
def concatenated(jx):
    return lambda x, y: jx.numpy.concatenate([x, y * 2, x]) * jx.numpy.arange(9)


@program(VECTOR, SIGNED)
def stacked(jx):
    return lambda x, y: jx.numpy.stack([x, y], axis=1).sum(axis=0)


@program(_f32(6))
def windows(jx):
    def f(x):
        piece = jx.lax.dynamic_slice(x, (2,), (3,))
        return jx.lax.dynamic_update_slice(x, piece * piece, (1,))

    return f


@program(_f32(6), np.int32(2))
def traced_index(jx):
    return lambda x, i: jx.lax.dynamic_slice(x, (i,), (3,)) * x[0]


@program(VECTOR)
def broadcast(jx):
    return lambda x: jx.numpy.broadcast_to(x, (2, 3)) * jx.numpy.ones((2, 1)) + x[:, None].sum()


# --- linear algebra ---


@program(MATRIX, _f32(3, 2))
def matmul(jx):
    return lambda a, b: a @ b


@program(VECTOR, MATRIX)
def matvec(jx):
    return lambda x, a: jx.numpy.dot(a, x) @ a + x


@program(_f32(2, 2, 3), _f32(2, 3, 2))
def einsum(jx):
    return lambda a, b: jx.numpy.einsum("bij,bjk->bik", a, b)


@program(VECTOR, SIGNED)
def outer(jx):
    return lambda x, y: jx.numpy.outer(x, y) + jx.numpy.tensordot(x, y, 1)


# --- closures, constants, control flow on static values ---


@program(VECTOR)
def closure(jx):
    scale = np.array([1.0, 2.0, 3.0], np.float32)

    def f(x):
        inner = lambda y: y * x + scale
        return inner(inner(x))

    return f


@program(VECTOR)
def captured_arrays(jx):
    bias = jx.numpy.array([0.1, 0.2, 0.3])
    return lambda x: x * bias + bias


@program(SIGNED)
def loop(jx):
    def f(x):
        for k in range(5):
            x = jx.numpy.sin(x) * (k + 1) if k % 2 else x + 0.1
        return x

    return f


@program(MATRIX)
def shape_dependent(jx):
    return lambda x: x.sum() if x.ndim > 2 else x * x.shape[0] / x.size


@program(VECTOR)
def constant_output(jx):
    return lambda x: (1.5, jx.numpy.zeros(2), x)


@program(VECTOR)
def identity(jx):
    return lambda x: x


@program(VECTOR, SIGNED)
def unused_argument(jx):
    return lambda x, y: x * 2


@program(VECTOR)
def keyword_arguments(jx):
    def scaled(x, *, scale=1.0, shift=0.0):
        return x * scale + shift

    return partial(scaled, shift=2.0, scale=0.5)


@program(VECTOR)
def derivative_inside(jx):
    return lambda x: x * jx.grad(lambda y: jx.numpy.sum(y * y * x))(x)


@program(np.float32(0.8))
def perturbation_confusion(jx):
    return lambda x: x * jx.jvp(lambda y: x * y + jx.numpy.sin(y), (x,), (np.float32(1),))[1]


@program(MATRIX)
def mapped_inside(jx):
    return lambda x: jx.vmap(lambda row: row * row.sum())(x)


# --- nested jit ---


@program(VECTOR)
def nested_jit(jx):
    inner = jx.jit(lambda x: jx.numpy.sin(x) * x)
    return lambda x: inner(inner(x)) + inner(x[:2]).sum()


@program(VECTOR, np.float32(2.0))
def jit_closing_over_argument(jx):
    return lambda x, y: jx.jit(lambda z: z * y + x)(x)


@program(VECTOR)
def jit_of_jit(jx):
    def inner(x):
        return x * 2, jx.numpy.cos(x)

    return jx.jit(lambda x: jx.jit(inner)(x)[1] + 1.0)


@program(VECTOR)
def jit_static(jx):
    @partial(jx.jit, static_argnums=1)
    def power(x, n):
        for _ in range(n):
            x = x * x
        return x

    return lambda x: power(x, 2) + power(x, n=1)


# --- pytrees in and out ---


@program({"w": MATRIX, "b": _f32(2)}, VECTOR)
def dict_parameters(jx):
    return lambda params, x: jx.numpy.tanh(params["w"] @ x + params["b"])


@program([(_f32(3, 4), _f32(4)), (_f32(4, 2), _f32(2))], _f32(2, 3, step=0.05))
def mlp(jx):
    def f(layers, x):
        for w, b in layers:
            x = jx.numpy.tanh(x @ (w * 0.3) + b)
        return x.mean(axis=0)

    return f


@program(Point(VECTOR, SIGNED))
def named_tuple(jx):
    return lambda p: Point(y=p.x * p.y, x=p.x + 1)


@program(OrderedDict(b=VECTOR, a=SIGNED))
def ordered_dict(jx):
    return lambda d: OrderedDict((k, v * 2) for k, v in d.items())


@program((VECTOR, None, [np.float32(2.0)]))
def nested_containers(jx):
    return lambda t: {"out": [t[0] * t[2][0], None, ()], "same": t}


@program((), VECTOR)
def empty_container(jx):
    return lambda nothing, x: (nothing, x.sum())


# --- other element types ---


@program(INTEGERS)
def integers(jx):
    return lambda n: n * 2 + n // 3 - (n & 1)


@program(INTEGERS, VECTOR)
def integers_and_floats(jx):
    return lambda n, x: (n + 1, x * n, jx.numpy.true_divide(n, 2))


@program(BOOLEANS, VECTOR)
def masks(jx):
    return lambda m, x: (~m, jx.numpy.where(m, x, -x), jx.numpy.sum(m), m * x)


@program(np.array([200, 100, 7], np.uint8), np.array([1, -2, 3], np.int16))
def small_integers(jx):
    return lambda a, b: (a + a, a + b, jx.lax.convert_element_type(b, np.uint8) ^ a)


@program(COMPLEX)
def complex_numbers(jx):
    return lambda z: (z * z, jx.numpy.abs(z) ** 2, jx.numpy.conj(z) * jx.numpy.exp(z))


@program(VECTOR, SIGNED)
def complex_parts(jx):
    def f(x, y):
        z = jx.lax.complex(x, y) * (1 + 2j)
        return jx.numpy.real(z), jx.numpy.imag(z * z)

    return f


@program(np.array([0.5, 1.25, 2.0], np.float16))
def half_precision(jx):
    return lambda x: jx.numpy.sin(x) * 2 + x


@program(VECTOR)
def mixed_precision(jx):
    return lambda x: (x.astype(jx.numpy.bfloat16) * 2).astype(np.float32) * x


# --- no elements at all ---


@program(np.zeros((0,), np.float32))
def zero_size(jx):
    return lambda x: (x * 2, x.sum(), jx.numpy.concatenate([x, x]))


@program(np.zeros((2, 0), np.float32), np.zeros((0, 3), np.float32))
def zero_contraction(jx):
    return lambda a, b: a @ b + 1.0
