"""Wrong calls raise the class of error that JAX raises, and say something."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.oracle import both, run, subject

V2 = np.array([1.0, 2.0], np.float32)
V3 = np.array([0.5, 1.5, 2.5], np.float32)
M23 = np.ones((2, 3), np.float32)
I3 = np.array([1, 2, 3], np.int32)
B3 = np.array([True, False, True])
C3 = np.array([1j, 2, 3], np.complex64)
F0 = np.float32(0)

WRONG_CALLS: dict[str, Callable[[Any], Any]] = {
    # element types that an operation does not have
    "sin of integers": lambda jx: jx.lax.sin(I3),
    "cos of booleans": lambda jx: jx.lax.cos(B3),
    "exp of integers": lambda jx: jx.lax.exp(I3),
    "log of integers": lambda jx: jx.lax.log(I3),
    "tanh of booleans": lambda jx: jx.lax.tanh(B3),
    "sqrt of integers": lambda jx: jx.lax.sqrt(I3),
    "logistic of integers": lambda jx: jx.lax.logistic(I3),
    "neg of booleans": lambda jx: jx.lax.neg(B3),
    "abs of booleans": lambda jx: jx.lax.abs(B3),
    "sign of booleans": lambda jx: jx.lax.sign(B3),
    "floor of integers": lambda jx: jx.lax.floor(I3),
    "floor of complex": lambda jx: jx.lax.floor(C3),
    "round of integers": lambda jx: jx.lax.round(I3),
    "cbrt of complex": lambda jx: jx.lax.cbrt(C3),
    "is_finite of integers": lambda jx: jx.lax.is_finite(I3),
    "real of reals": lambda jx: jx.lax.real(V3),
    "imag of reals": lambda jx: jx.lax.imag(V3),
    "conj of integers": lambda jx: jx.lax.conj(I3),
    "complex of integers": lambda jx: jx.lax.complex(I3, I3),
    "not of floats": lambda jx: jx.lax.bitwise_not(V3),
    "and of floats": lambda jx: jx.lax.bitwise_and(V3, V3),
    "or of floats": lambda jx: jx.lax.bitwise_or(V3, V3),
    "xor of complex": lambda jx: jx.lax.bitwise_xor(C3, C3),
    "add of booleans": lambda jx: jx.lax.add(B3, B3),
    "mul of booleans": lambda jx: jx.lax.mul(B3, B3),
    "sub of booleans": lambda jx: jx.lax.sub(B3, B3),
    "div of booleans": lambda jx: jx.lax.div(B3, B3),
    "rem of complex": lambda jx: jx.lax.rem(C3, C3),
    "lt of complex": lambda jx: jx.lax.lt(C3, C3),
    "integer_pow of booleans": lambda jx: jx.lax.integer_pow(B3, 2),
    "integer to a negative power": lambda jx: jx.lax.integer_pow(I3, -1),
    "pow of integers": lambda jx: jx.lax.pow(I3, V3),
    "cumsum of booleans": lambda jx: jx.lax.cumsum(B3),
    "reduce_and of floats": lambda jx: jx.lax.reduce_and(V3, (0,)),
    "argmax of complex": lambda jx: jx.lax.argmax(C3, 0, np.int32),
    # operands that do not go together
    "add of different shapes": lambda jx: jx.lax.add(V2, V3),
    "add of different ranks": lambda jx: jx.lax.add(M23, V3),
    "mul of different dtypes": lambda jx: jx.lax.mul(V3, I3),
    "sub of float widths": lambda jx: jx.lax.sub(V3, V3.astype(np.float16)),
    "max of different dtypes": lambda jx: jx.lax.max(V3, I3),
    "eq of different shapes": lambda jx: jx.lax.eq(V2, V3),
    "jnp.add of different shapes": lambda jx: jx.numpy.add(V2, V3),
    "operator of different shapes": lambda jx: jx.numpy.asarray(V2) + jx.numpy.asarray(V3),
    "add of a string": lambda jx: jx.lax.add("one", 1.0),
    "add of None": lambda jx: jx.lax.add(None, 1.0),
    "add of a list": lambda jx: jx.lax.add([1.0], [2.0]),
    "jnp.sin of a list": lambda jx: jx.numpy.sin([1.0]),
    "jnp.sum of a list": lambda jx: jx.numpy.sum([1.0]),
    "array of objects": lambda jx: jx.numpy.array([object()]),
    "array of strings": lambda jx: jx.numpy.asarray("text"),
    "ragged array": lambda jx: jx.numpy.array([[1.0], [1.0, 2.0]]),
    "select by floats": lambda jx: jx.lax.select_n(V3, V3, V3),
    "select of nothing": lambda jx: jx.lax.select_n(B3),
    "select of three by booleans": lambda jx: jx.lax.select_n(B3, V3, V3, V3),
    "select of different shapes": lambda jx: jx.lax.select_n(B3, V3, V2),
    "select of different dtypes": lambda jx: jx.lax.select_n(B3, V3, I3),
    "select by another shape": lambda jx: jx.lax.select_n(B3, M23, M23),
    "clamp of different dtypes": lambda jx: jx.lax.clamp(0, V3, I3),
    "clamp by another shape": lambda jx: jx.lax.clamp(V2, V3, V2),
    # shapes
    "reshape with a negative size": lambda jx: jx.lax.reshape(V3, (-1,)),
    "reshape by no permutation": lambda jx: jx.lax.reshape(M23, (6,), (0, 0)),
    "jnp.reshape, two unknowns": lambda jx: jx.numpy.asarray(M23).reshape(-1, -1),
    "broadcast_in_dim, too few axes": lambda jx: jx.lax.broadcast_in_dim(M23, (2, 3), (0,)),
    "broadcast_in_dim, another size": lambda jx: jx.lax.broadcast_in_dim(V3, (2,), (0,)),
    "broadcast_in_dim, axis out of range": lambda jx: jx.lax.broadcast_in_dim(V3, (3,), (1,)),
    "broadcast_in_dim to fewer": lambda jx: jx.lax.broadcast_in_dim(M23, (2,), (0, 1)),
    "broadcast_to, incompatible": lambda jx: jx.numpy.broadcast_to(V3, (2, 2)),
    "squeeze of a long axis": lambda jx: jx.lax.squeeze(M23, (0,)),
    "squeeze out of range": lambda jx: jx.lax.squeeze(V3, (1,)),
    "squeeze twice": lambda jx: jx.lax.squeeze(np.ones((1, 1), np.float32), (0, 0)),
    "transpose, too few axes": lambda jx: jx.lax.transpose(M23, (0,)),
    "transpose, not a permutation": lambda jx: jx.lax.transpose(M23, (0, 0)),
    "concatenate nothing": lambda jx: jx.lax.concatenate([], 0),
    "concatenate different ranks": lambda jx: jx.lax.concatenate([V3, M23], 0),
    "concatenate different sizes": lambda jx: jx.lax.concatenate([M23, V3[None, :2]], 0),
    "concatenate different dtypes": lambda jx: jx.lax.concatenate([V3, I3], 0),
    "concatenate, axis out of range": lambda jx: jx.lax.concatenate([V3, V3], 1),
    "concatenate scalars": lambda jx: jx.lax.concatenate([F0, F0], 0),
    "pad, too few axes": lambda jx: jx.lax.pad(M23, F0, ((0, 0, 0),)),
    "pad, negative interior": lambda jx: jx.lax.pad(V3, F0, ((0, 0, -1),)),
    "pad below nothing": lambda jx: jx.lax.pad(V3, F0, ((-2, -2, 0),)),
    "pad with an array": lambda jx: jx.lax.pad(V3, V3, ((0, 0, 0),)),
    "pad with another dtype": lambda jx: jx.lax.pad(V3, np.int32(0), ((0, 0, 0),)),
    "rev twice": lambda jx: jx.lax.rev(V3, (0, 0)),
    "rev out of range": lambda jx: jx.lax.rev(V3, (1,)),
    "iota, axis out of range": lambda jx: jx.lax.broadcasted_iota(np.float32, (2, 3), 2),
    "iota of booleans": lambda jx: jx.lax.iota(np.bool_, 3),
    "iota, negative size": lambda jx: jx.lax.iota(np.int32, -1),
    "split into another size": lambda jx: jx.lax.split(V3, (1, 1)),
    "split, axis out of range": lambda jx: jx.lax.split(V3, (1, 2), 1),
    "expand_dims out of range": lambda jx: jx.lax.expand_dims(V3, (5,)),
    # slices and indices
    "slice beyond the end": lambda jx: jx.lax.slice(V3, (0,), (4,)),
    "slice backwards": lambda jx: jx.lax.slice(V3, (2,), (1,)),
    "slice, too few strides": lambda jx: jx.lax.slice(M23, (0, 0), (1, 1), (1,)),
    "dynamic_slice, too few indices": lambda jx: jx.lax.dynamic_slice(M23, (0,), (1, 1)),
    "dynamic_slice, too large": lambda jx: jx.lax.dynamic_slice(V3, (0,), (4,)),
    "dynamic_slice, negative size": lambda jx: jx.lax.dynamic_slice(V3, (0,), (-1,)),
    "dynamic_slice by floats": lambda jx: jx.lax.dynamic_slice(V3, (0.5,), (1,)),
    "dynamic_slice by vectors": lambda jx: jx.lax.dynamic_slice(V3, (I3,), (1,)),
    "dynamic_update_slice, too large": lambda jx: jx.lax.dynamic_update_slice(V2, V3, (0,)),
    "dynamic_update_slice, other rank": lambda jx: jx.lax.dynamic_update_slice(M23, V3, (0, 0)),
    "dynamic_update_slice, other dtype": lambda jx: jx.lax.dynamic_update_slice(V3, I3, (0,)),
    "dynamic_update_slice, no index": lambda jx: jx.lax.dynamic_update_slice(V3, V2, ()),
    "too many indices": lambda jx: jx.numpy.asarray(V3)[0, 0],
    "index by a float": lambda jx: jx.numpy.asarray(V3)[0.5],
    "index by a string": lambda jx: jx.numpy.asarray(V3)["a"],
    "two ellipses": lambda jx: jx.numpy.asarray(M23)[..., ...],
    "item assignment": lambda jx: jx.numpy.asarray(V3).__setitem__(0, 1.0),
    # reductions
    "reduce_sum, axis out of range": lambda jx: jx.lax.reduce_sum(V3, (1,)),
    "reduce_sum, axis twice": lambda jx: jx.lax.reduce_sum(V3, (0, 0)),
    "reduce_max of booleans by a float axis": lambda jx: jx.lax.reduce_max(B3, (0.5,)),
    "argmax, axis out of range": lambda jx: jx.lax.argmax(V3, 1, np.int32),
    "argmax, float indices": lambda jx: jx.lax.argmax(V3, 0, np.float32),
    "argmax of nothing": lambda jx: jx.lax.argmax(V3[:0], 0, np.int32),
    "jnp.max of nothing": lambda jx: jx.numpy.max(V3[:0]),
    "jnp.sum, axis out of range": lambda jx: jx.numpy.sum(V3, axis=1),
    "jnp.sum, axis twice": lambda jx: jx.numpy.sum(M23, axis=(0, 0)),
    "cumsum, axis out of range": lambda jx: jx.lax.cumsum(V3, 1),
    "cumsum, negative axis": lambda jx: jx.lax.cumsum(V3, -1),
    # contractions
    "dot_general, sizes differ": lambda jx: jx.lax.dot_general(V2, V3, (((0,), (0,)), ((), ()))),
    "dot_general, axes of unequal number": lambda jx: jx.lax.dot_general(
        M23, M23, (((0, 1), (0,)), ((), ()))
    ),
    "dot_general, axis twice": lambda jx: jx.lax.dot_general(
        M23, M23, (((0,), (0,)), ((0,), (0,)))
    ),
    "dot_general, axis out of range": lambda jx: jx.lax.dot_general(
        V3, V3, (((1,), (0,)), ((), ()))
    ),
    "dot_general, batch sizes differ": lambda jx: jx.lax.dot_general(
        M23, M23.T, (((), ()), ((0,), (0,)))
    ),
    "dot of matrices that do not fit": lambda jx: jx.lax.dot(M23, M23),
    "matmul of scalars": lambda jx: jx.numpy.matmul(F0, F0),
    "matmul, sizes differ": lambda jx: jx.numpy.asarray(M23) @ jx.numpy.asarray(M23),
    "einsum, sizes differ": lambda jx: jx.numpy.einsum("ij,jk", M23, M23),
    "einsum, too few operands": lambda jx: jx.numpy.einsum("ij,jk", M23),
    # values that are not there yet
    "if on a traced value": lambda jx: jx.jit(lambda x: 1 if x > 0 else 2)(1.0),
    "float of a traced value": lambda jx: jx.jit(float)(1.0),
    "int of a traced value": lambda jx: jx.jit(int)(1),
    "range of a traced value": lambda jx: jx.jit(lambda n: len(range(n)))(3),
    "traced value as an index of a list": lambda jx: jx.jit(lambda n: [1, 2][n])(0),
    "numpy of a traced value": lambda jx: jx.jit(lambda x: np.sin(x))(V3),
    "item of a traced value": lambda jx: jx.jit(lambda x: x.item())(1.0),
    "tolist of a traced value": lambda jx: jx.jit(lambda x: x.tolist())(V3),
    "traced value as a shape": lambda jx: jx.jit(lambda n: jx.numpy.zeros(n))(3),
    "traced value in reshape": lambda jx: jx.jit(lambda x, n: x.reshape(n))(V3, 3),
    "traced number of elements": lambda jx: jx.jit(lambda n: jx.numpy.arange(n))(3),
    "if under grad is fine, under vmap is not": lambda jx: jx.vmap(lambda x: 1 if x > 0 else 2)(V3),
    "if on an array": lambda jx: bool(jx.numpy.asarray(V3)),
    "float of an array": lambda jx: float(jx.numpy.asarray(V3)),
    "int index of a float array": lambda jx: [1, 2][jx.numpy.float32(1)],
    "length of a scalar": lambda jx: len(jx.numpy.float32(1)),
    "iteration over a scalar": lambda jx: list(jx.numpy.float32(1)),
    "hash of an array": lambda jx: hash(jx.numpy.asarray(V3)),
    "hash of a traced value": lambda jx: jx.jit(lambda x: hash(x))(1.0),
    "unknown attribute": lambda jx: jx.numpy.asarray(V3).no_such_attribute,
    "unknown attribute of a traced value": lambda jx: jx.jit(lambda x: x.no_such_thing)(V3),
    "unknown function": lambda jx: jx.numpy.no_such_function,
    "leaked tracer": lambda jx: _leaked(jx) + 1,
    "leaked tracer in another jit": lambda jx: jx.jit(lambda x: x + _leaked(jx))(1.0),
    # transformations
    "grad of a vector": lambda jx: jx.grad(lambda x: x * 2)(V3),
    "grad of an integer result": lambda jx: jx.grad(lambda x: 3)(1.0),
    "grad at an integer": lambda jx: jx.grad(lambda x: x * 2.0)(3),
    "grad of a pytree": lambda jx: jx.grad(lambda x: (x, x))(1.0),
    "grad of a complex result": lambda jx: jx.grad(lambda z: z * z)(1j),
    "grad of None": lambda jx: jx.grad(lambda x: None)(1.0),
    "grad of a string": lambda jx: jx.grad(lambda x: x)("text"),
    "grad, argument out of range": lambda jx: jx.grad(lambda x: x, argnums=1)(1.0),
    "grad of no function": lambda jx: jx.grad(3.0),
    "holomorphic grad of a real": lambda jx: jx.grad(lambda x: x, holomorphic=True)(1.0),
    "has_aux without it": lambda jx: jx.grad(lambda x: x, has_aux=True)(1.0),
    "jvp, tangents of another dtype": lambda jx: jx.jvp(jx.numpy.sin, (V3,), (I3,)),
    "jvp, tangents of another shape": lambda jx: jx.jvp(jx.numpy.sin, (V3,), (V2,)),
    "jvp, too few tangents": lambda jx: jx.jvp(jx.lax.add, (V3, V3), (V3,)),
    "jvp, primals no tuple": lambda jx: jx.jvp(jx.numpy.sin, V3, V3),
    "jvp, another structure": lambda jx: jx.jvp(lambda d: d, ({"a": V3},), ({"b": V3},)),
    "vjp, cotangent of another shape": lambda jx: jx.vjp(jx.numpy.sin, V3)[1](V2),
    "vjp, cotangent of another dtype": lambda jx: jx.vjp(jx.numpy.sin, V3)[1](I3),
    "vjp, another structure": lambda jx: jx.vjp(lambda x: (x, x), V3)[1](V3),
    "vjp, too many cotangents": lambda jx: jx.vjp(jx.numpy.sin, V3)[1](V3, V3),
    "linearize, tangent of another shape": lambda jx: jx.linearize(jx.numpy.sin, V3)[1](V2),
    "linearize, another structure": lambda jx: jx.linearize(jx.numpy.sin, V3)[1]((V3,)),
    "linear_transpose of no linear function": lambda jx: jx.linear_transpose(jx.numpy.sin, V3)(V3),
    "vmap, sizes differ": lambda jx: jx.vmap(jx.lax.add)(V2, V3),
    "vmap of a scalar": lambda jx: jx.vmap(jx.numpy.sin)(1.0),
    "vmap over nothing": lambda jx: jx.vmap(jx.numpy.sin, in_axes=None)(V3),
    "vmap, axis out of range": lambda jx: jx.vmap(jx.numpy.sin, in_axes=1)(V3),
    "vmap, too few in_axes": lambda jx: jx.vmap(jx.lax.add, in_axes=(0,))(V3, V3),
    "vmap, in_axes a float": lambda jx: jx.vmap(jx.numpy.sin, in_axes=0.5)(V3),
    "vmap, in_axes a list": lambda jx: jx.vmap(jx.numpy.sin, in_axes=[0])(V3),
    "vmap, out_axes None": lambda jx: jx.vmap(jx.numpy.sin, out_axes=None)(V3),
    "vmap, out_axes out of range": lambda jx: jx.vmap(jx.numpy.sin, out_axes=2)(V3),
    "vmap, other out_axes structure": lambda jx: jx.vmap(jx.numpy.sin, out_axes=(0, 0))(V3),
    "vmap, wrong axis_size": lambda jx: jx.vmap(jx.numpy.sin, axis_size=2)(V3),
    "vmap of no arguments": lambda jx: jx.vmap(lambda: 1.0)(),
    "vmap to a string": lambda jx: jx.vmap(lambda x: "text")(V3),
    "jit of no function": lambda jx: jx.jit(3.0),
    "jit to a string": lambda jx: jx.jit(lambda x: "text")(V3),
    "jit of a string": lambda jx: jx.jit(lambda x: x)("text"),
    "jit, too few arguments": lambda jx: jx.jit(lambda x, y: x)(V3),
    "jit, unhashable static argument": lambda jx: jx.jit(lambda x, n: x, static_argnums=1)(V3, [1]),
    "jit, static argument out of range": lambda jx: jx.jit(lambda x: x, static_argnums=3)(V3),
    "jit, unknown static name": lambda jx: jx.jit(lambda x: x, static_argnames="y")(V3),
    "make_jaxpr of no function": lambda jx: jx.make_jaxpr(3.0),
    "make_jaxpr of a string": lambda jx: jx.make_jaxpr(lambda x: x)("text"),
    "eval_shape of a string": lambda jx: jx.eval_shape(lambda x: x, "text"),
    "jacfwd of integers": lambda jx: jx.jacfwd(lambda x: x * 2.0)(I3),
    "jacrev of integers": lambda jx: jx.jacrev(lambda x: x * 2.0)(I3),
    "hessian of integers": lambda jx: jx.hessian(lambda x: (x * 2.0).sum())(I3),
    # pytrees
    "tree_map, other structure": lambda jx: jx.tree_util.tree_map(lambda a, b: a, [1, 2], [1]),
    "tree_map, other keys": lambda jx: jx.tree_util.tree_map(lambda a, b: a, {"a": 1}, {"b": 1}),
    "tree_unflatten, too few": lambda jx: jx.tree_util.tree_unflatten(
        jx.tree_util.tree_structure([1, 2]), [1]
    ),
    "keys that cannot be sorted": lambda jx: jx.tree_util.tree_leaves({1: 1, "a": 2}),
    # settings
    "unknown setting": lambda jx: jx.config.update("jax_no_such_setting", 1),
    "unknown dtype": lambda jx: jx.numpy.zeros(3, "float33"),
    "negative shape": lambda jx: jx.numpy.zeros((-1,)),
    "shape of floats": lambda jx: jx.numpy.zeros((1.5,)),
}


def _leaked(jx: Any) -> Any:
    kept = []
    jx.jit(lambda x: kept.append(x))(1.0)
    return kept[0]


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_wrong_call(name):
    call = WRONG_CALLS[name]

    def program(jx):
        return lambda: call(jx)

    both(program)


def test_errors_say_something():
    for name, call in WRONG_CALLS.items():
        outcome = run(subject, lambda jx, call=call: lambda: call(jx))
        assert not isinstance(outcome, Exception) or len(str(outcome)) > 10, name
