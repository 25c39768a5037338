"""Values of a `HiType`, which arrays represent, under transformations: by the rules of operations."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

import numpy as np
import pytest

import minijax
from tests.oracle import both

X = np.array([[1.0, 2.0], [3.0, 4.0]], "float32")
CASES = {}


def case(run):
    """`run(jx, t)` gives the same in both libraries; `t` has the types below."""
    CASES[run.__name__] = run
    return run


class Types:
    """Numbers kept as bytes and a scale, with operations to and from arrays whose derivatives are
    three times and five times those of the identity."""

    def __init__(self, jx):
        hj = import_module(f"{jx.__name__}.experimental.hijax")
        jnp = jx.numpy

        @dataclass(frozen=True)
        class Small:
            words: object
            scale: object

        @dataclass(frozen=True)
        class SmallType(hj.HiType):
            shape: tuple

            def lo_ty(self):
                return [hj.ShapedArray(self.shape, np.dtype("int8")),
                        hj.ShapedArray((), np.dtype("float32"))]

            def lower_val(self, small):
                return [small.words, small.scale]

            def raise_val(self, words, scale):
                return Small(words, scale)

            def to_tangent_aval(self):
                return hj.ShapedArray(self.shape, np.dtype("float32"))

        hj.register_hitype(Small, lambda small: SmallType(small.words.shape))

        class Pack(hj.VJPHiPrimitive):
            def __init__(self, aval):
                self.in_avals, self.out_aval, self.params = (aval,), SmallType(aval.shape), {}
                super().__init__()

            def expand(self, x):
                scale = jnp.max(jnp.abs(x)) / 127
                return Small(jnp.round(x / scale).astype("int8"), scale)

            def vjp_fwd(self, nonzeros, x):
                return self(x), None

            def vjp_bwd_retval(self, _, ct):
                return (3 * ct,)

        class Unpack(hj.VJPHiPrimitive):
            def __init__(self, aval):
                self.in_avals, self.params = (aval,), {}
                self.out_aval = hj.ShapedArray(aval.shape, np.dtype("float32"))
                super().__init__()

            def expand(self, small):
                return small.words * small.scale

            def vjp_fwd(self, nonzeros, small):
                return self(small), None

            def vjp_bwd_retval(self, _, ct):
                return (5 * ct,)

        self.pack = lambda x: Pack(jx.typeof(x))(x)
        self.unpack = lambda small: Unpack(jx.typeof(small))(small)
        self.Small = Small


@case
def eager(jx, t):
    return t.unpack(t.pack(X))


@case
def jitted(jx, t):
    small = jx.jit(lambda small: small)(t.pack(X))
    assert type(small).__name__ == "Small"
    return (t.unpack(small), jx.jit(lambda x: t.unpack(t.pack(x)) + 1)(X),
            jx.jit(lambda a, x: (t.unpack(a) + x, a))(small, X)[0], jx.jit(t.pack)(X).words)


@case
def closed_over(jx, t):
    small = t.pack(X)
    return jx.jit(lambda x: x * t.unpack(small))(X), jx.jit(lambda: small)().words


@case
def in_a_scan(jx, t):
    small = t.pack(X)
    carry, ys = jx.lax.scan(
        lambda small, x: (t.pack(t.unpack(small) + x), x * t.unpack(small).sum()), small,
        np.ones(3, "float32"))
    total, _ = jx.jit(lambda xs: jx.lax.scan(
        lambda c, x: (c + x * t.unpack(small).sum(), None), 1.0, xs))(np.ones(2, "float32"))
    return t.unpack(carry), ys, total


@case
def in_a_while_loop(jx, t):
    n, small = jx.lax.while_loop(lambda c: c[0] < 3,
                                 lambda c: (c[0] + 1, t.pack(2 * t.unpack(c[1]))), (0, t.pack(X)))
    return n, t.unpack(small)


@case
def gradients(jx, t):
    f = lambda x: jx.numpy.sum(t.unpack(t.pack(x)) * x)
    return jx.grad(f)(X), jx.grad(jx.jit(f))(X), jx.jit(jx.grad(f))(X)


@case
def gradients_beside_constants(jx, t):
    small = t.pack(X)
    f = lambda x, small: jx.numpy.sum(x * t.unpack(small))
    return (jx.grad(f)(X, small), jx.grad(lambda x: f(x, small))(X),
            jx.grad(jx.jit(lambda x: f(x, small)))(X), jx.jit(jx.grad(f))(X, small))


@case
def gradients_of_what_is_represented(jx, t):
    return jx.grad(lambda small: jx.numpy.sum(t.unpack(small)))(t.pack(X))


@case
def types(jx, t):
    small = t.pack(X)
    return (repr(jx.typeof(small)), jx.eval_shape(lambda: small) == jx.typeof(small),
            len(jx.tree.leaves([small, 1])))


@case
def stages(jx, t):
    lowered = jx.jit(lambda small: t.unpack(small)).lower(t.pack(X))
    return lowered.compile()(t.pack(X)), "tensor<2x2xi8>" in lowered.as_text()


@pytest.mark.parametrize("name", CASES)
def test_case(name):
    both(lambda jx: lambda: CASES[name](jx, Types(jx)))


def test_arguments_without_tangents():
    """The rules are told which arguments have a tangent, and the others get a `NullAccum`."""
    def program(jx):
        hj = import_module(f"{jx.__name__}.experimental.hijax")
        ad = import_module(f"{jx.__name__}._src.interpreters.ad")
        seen = []

        class Product(hj.VJPHiPrimitive):
            def __init__(self, aval):
                self.in_avals, self.out_aval, self.params = (aval, aval), aval, {}
                super().__init__()

            def expand(self, x, y):
                return x * y

            def vjp_fwd(self, nonzeros, x, y):
                seen.append([bool(nonzero) for nonzero in nonzeros])
                return self(x, y), (x, y)

            def vjp_bwd(self, res, ct, x, y):
                seen.append([isinstance(acc, ad.NullAccum) for acc in (x, y)])
                x.accum(ct * res[1])
                y.accum(ct * res[0])

        f = lambda x, y: Product(jx.typeof(x))(x, y)
        return lambda: (jx.grad(f)(2.0, 3.0), jx.grad(f, 1)(2.0, 3.0), jx.grad(f, (0, 1))(2.0, 3.0),
                        seen)

    both(program)


def test_in_a_branch():
    t = Types(minijax)
    f = minijax.jit(lambda p, small: minijax.lax.cond(
        p, lambda small: small, lambda small: t.pack(2 * t.unpack(small)), small))
    for p, factor in ((True, 1), (False, 2)):
        assert np.allclose(t.unpack(f(p, t.pack(X))), factor * X, rtol=0.02)


def test_rules_of_loops_are_not_lost():
    """JAX differentiates a loop by the rules. Here only arrays remain of it, and that is said."""
    t = Types(minijax)
    f = lambda x: minijax.lax.scan(lambda c, _: (t.unpack(t.pack(c)), None), x, None, 2)[0].sum()
    assert np.allclose(f(X), 10, rtol=0.05)
    with pytest.raises(NotImplementedError, match="has a rule for its derivative"):
        minijax.grad(f)(X)
