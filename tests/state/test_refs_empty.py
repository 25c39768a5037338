"""`empty_ref` under transformations. What is written to it later may have a tangent, or differ for
each example. JAX has one reference for all examples, and refuses to write to it."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import both, subject as jax

X = np.array([1.0, -2.0, 3.0], np.float32)


def written(jx):
    def f(x):
        r = jx.empty_ref(jx.ShapeDtypeStruct((3,), "float32"))
        r[...] = jx.numpy.sin(x)
        r[0] = r[0] * 2
        return jx.freeze(r)

    return f


def in_a_loop(jx):
    def step(c, _):
        r = jx.empty_ref(jx.ShapeDtypeStruct((3,), "float32"))
        r[...] = c * c
        r[0] = r[0] * c[1]
        return r[...], None

    return lambda x: jx.lax.scan(step, x, None, length=2)[0]


def twin(f, x):
    """The same function without a reference."""
    if f is written:
        return jax.numpy.sin(x).at[0].multiply(2)
    for _ in range(2):
        x = (x * x).at[0].multiply(x[1])
    return x


TRANSFORMS = {
    "value": lambda jx, f: f,
    "jit": lambda jx, f: jx.jit(f),
    "jvp": lambda jx, f: lambda x: jx.jvp(f, (x,), (x,)),
    "grad": lambda jx, f: jx.grad(lambda x: f(x).sum()),
    "grad of jit": lambda jx, f: jx.grad(lambda x: jx.jit(f)(x).sum()),
}
OURS = {
    "linearize": lambda jx, f: lambda x: jx.linearize(f, x)[1](x),
    "checkpoint": lambda jx, f: jx.grad(lambda x: jx.checkpoint(f)(x).sum()),
    "vmap": lambda jx, f: lambda x: jx.vmap(f)(jx.numpy.stack([x, x * 2])),
    "vmap of grad": lambda jx, f: lambda x: jx.vmap(jx.grad(lambda x: f(x).sum()))(
        jx.numpy.stack([x, x * 2])),
    "jvp of vmap": lambda jx, f: lambda x: jx.jvp(jx.vmap(f, 1, 1), (jx.numpy.stack([x, x], 1),),
                                                  (jx.numpy.stack([x, -x], 1),)),
    "second derivative": lambda jx, f: jx.jacrev(jx.grad(lambda x: f(x).sum())),
}


@pytest.mark.parametrize("transform", TRANSFORMS | OURS)
@pytest.mark.parametrize("f", [written, in_a_loop], ids=lambda f: f.__name__)
def test_values(f, transform):
    transform = (TRANSFORMS | OURS)[transform]
    want = transform(jax, lambda x: twin(f, x))(jax.numpy.asarray(X))
    ours = transform(jax, f(jax))(jax.numpy.asarray(X))
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(want), strict=True):
        np.testing.assert_allclose(a, b, 1e-5)


# ----------------------------------------------------------------------------------------------
# Structs that stand for references


def doubled(ref):
    ref[0] = ref[0] * 2
    return ref[...] + 1


STRUCTS = {
    "make_jaxpr": lambda jx, s: jx.make_jaxpr(doubled)(s),
    "eval_shape": lambda jx, s: jx.eval_shape(doubled, s),
    "trace": lambda jx, s: jx.jit(doubled).trace(s).jaxpr,
    "typeof": lambda jx, s: str(jx.typeof(s)),
    "keys": lambda jx, s: str(jx.typeof(s.update(dtype=jx.random.key(0).dtype))),
    "float64": lambda jx, s: str(jx.typeof(s.update(dtype="float64"))),
    "placed": lambda jx, s: jx.jit(doubled).trace(s.update(
        sharding=jx.sharding.SingleDeviceSharding(jx.devices()[0]))).jaxpr,
    "zeros": lambda jx, s: jx.numpy.zeros_like(s),
    "repr": lambda jx, s: (repr(s), repr(s.update(shape=(2,))), repr(s.update(is_ref=False))),
    "equal": lambda jx, s: (s == s.update(), s == s.update(is_ref=False), s.is_ref),
    "vmap": lambda jx, s: jx.eval_shape(jx.vmap(lambda ref: ref[...]), s),
    "grad": lambda jx, s: jx.eval_shape(jx.grad(lambda x, ref: (x * ref[...]).sum()), X, s),
}
REFUSED = {
    "like": (lambda jx, s: jx.ShapeDtypeStruct.like(s), NotImplementedError),
    "like a reference": (lambda jx, s: jx.ShapeDtypeStruct.like(jx.new_ref(X)),
                         NotImplementedError),
    "returned": (lambda jx, s: jx.eval_shape(lambda ref: ref, s), ValueError),
    "called": (lambda jx, s: jx.jit(doubled)(s), TypeError),
}


@pytest.mark.parametrize("name", STRUCTS)
def test_structs_of_references(name):
    both(lambda jx: lambda: STRUCTS[name](
        jx, jx.ShapeDtypeStruct((3,), "float32", is_ref=True)))


@pytest.mark.parametrize("name", REFUSED)
def test_refused_structs_of_references(name):
    program, error = REFUSED[name]
    both(lambda jx: lambda: program(jx, jx.ShapeDtypeStruct((3,), "float32", is_ref=True)),
         raises=error)


def test_a_struct_has_no_contents_to_write():
    """JAX calls a program that does not use the reference."""
    struct = jax.ShapeDtypeStruct((3,), "float32", is_ref=True)
    with pytest.raises(TypeError, match="It has no value"):
        jax.jit(lambda x, ref: x)(1.0, struct)
