"""Calls for `eager.py` that are no functions of a room: methods, operators, indices, trees."""

from __future__ import annotations

# One call between two bars. The names are those of `tests/numpy/calls.py`.
CALLS = """
x.T ¦ m.T ¦ m.mT ¦ x.shape ¦ x.dtype ¦ x.ndim ¦ x.size ¦ x.nbytes ¦ x.itemsize ¦ x.weak_type
x.aval ¦ x.sharding ¦ x.device ¦ x.devices() ¦ x.real ¦ c.real ¦ c.imag ¦ x.imag ¦ x.sum()
m.sum(axis=0) ¦ x.mean() ¦ m.mean(0) ¦ x.max() ¦ x.min() ¦ i.max() ¦ b.any() ¦ b.all() ¦ x.std()
x.var() ¦ x.prod() ¦ x.cumsum() ¦ x.cumprod() ¦ x.argmax() ¦ x.argmin() ¦ x.argsort() ¦ x.sort()
x.clip(0, 1) ¦ x.round() ¦ x.conj() ¦ c.conj() ¦ x.astype('int32') ¦ x.astype('float32')
x.astype('bfloat16') ¦ i.astype('float32') ¦ b.astype('float32') ¦ x.astype(jnp.float16)
x.reshape(2, 2) ¦ m.reshape(-1) ¦ m.reshape((3, 2)) ¦ m.ravel() ¦ m.flatten() ¦ m.transpose()
m.transpose(1, 0) ¦ m.swapaxes(0, 1) ¦ t.squeeze() ¦ x[None].squeeze(0) ¦ x.dot(x) ¦ m.dot(sq)
m @ sq ¦ x @ x ¦ x.repeat(2) ¦ x.take(i) ¦ x.take(jnp.array([0, 1])) ¦ sq.diagonal() ¦ sq.trace()
x.nonzero() ¦ x.ptp() ¦ x.searchsorted(0.5) ¦ x.compress(b) ¦ b.choose([x, x]) ¦ x.copy()
x.view('int32') ¦ x.item() ¦ x[0].item() ¦ x.tolist() ¦ m.tolist() ¦ x.tobytes() ¦ len(x) ¦ len(m)
list(x) ¦ [*m] ¦ float(x[0]) ¦ int(i[0]) ¦ bool(b[0]) ¦ complex(x[0]) ¦ float(s) ¦ bool(s)
int(s) ¦ repr(x) ¦ str(x) ¦ repr(m) ¦ repr(i) ¦ repr(b) ¦ repr(c) ¦ repr(s) ¦ f'{s}' ¦ f'{s:.3f}'
hash(x.shape) ¦ np.asarray(x) ¦ np.array(x) ¦ np.asarray(m) ¦ np.asarray(s)
np.asarray(x, np.float64) ¦ x.__array__() ¦ x.block_until_ready() ¦ jax.block_until_ready(x)
jax.block_until_ready([x, m, {'a': x}]) ¦ jax.block_until_ready([x] * 50) ¦ jax.device_get(x)
jax.device_get([x, m]) ¦ jax.device_put(x) ¦ jax.device_put(np.ones(3)) ¦ jax.device_put([x, m])
jax.device_put(1.0) ¦ jnp.asarray(x) ¦ jnp.asarray(np.ones(3, np.float32))
jnp.array(np.ones(3, np.float32)) ¦ jnp.asarray(1.0) ¦ jnp.asarray([1.0, 2.0])
jnp.array([1, 2, 3]) ¦ jnp.array([[1, 2], [3, 4]]) ¦ jnp.array([x, x]) ¦ jnp.array(x)
x.at[0].set(1.0) ¦ x.at[0].add(1.0) ¦ x.at[0].mul(2.0) ¦ x.at[0].divide(2.0) ¦ x.at[0].power(2.0)
x.at[0].min(0.0) ¦ x.at[0].max(0.0) ¦ x.at[0].get() ¦ x.at[1:3].set(0.0) ¦ x.at[1:3].add(x[:2])
x.at[::2].set(0.0) ¦ x.at[jnp.array([0, 1])].set(0.0) ¦ x.at[jnp.array([0, 1])].add(1.0)
x.at[jnp.array([0, 1])].get(mode='fill', fill_value=0) ¦ x.at[np.array([0, 1])].add(1.0)
x.at[b].set(0.0) ¦ m.at[0].set(1.0) ¦ m.at[0, 1].set(1.0) ¦ m.at[:, 1].set(1.0)
m.at[0, 1].add(1.0) ¦ m.at[..., 0].set(x[0]) ¦ m.at[0].set(m[1]) ¦ x.at[0].apply(jnp.sin)
i.at[0].set(5) ¦ b.at[0].set(True) ¦ x[0] ¦ x[-1] ¦ x[1:3] ¦ x[::2] ¦ x[::-1] ¦ x[None]
x[..., None] ¦ m[0] ¦ m[0, 1] ¦ m[:, 1] ¦ m[1:, 1:] ¦ m[..., 0] ¦ m[:, None] ¦ t[0, :, 1]
t[:, 0] ¦ x[i[0]] ¦ x[jnp.array([0, 1])] ¦ x[jnp.array(1)] ¦ x[np.array([0, 1])] ¦ x[[0, 1]]
x[b] ¦ m[jnp.array([0, 1]), jnp.array([0, 1])] ¦ m[:, jnp.array([0, 1])] ¦ m[0, jnp.array([0, 1])]
m[jnp.array([0, 1])] ¦ x[np.int32(1)] ¦ x + x ¦ x + 1 ¦ x + 1.0 ¦ 1 + x ¦ x + i ¦ x - x ¦ x * 2.5
x / x ¦ x / 3 ¦ x // 2 ¦ x % 2 ¦ x ** 2 ¦ x ** 0.5 ¦ x ** 3 ¦ 2 ** x ¦ x ** x ¦ divmod(x, 2)
i + 1 ¦ i * i ¦ i // 2 ¦ i % 3 ¦ i / 2 ¦ i ** 2 ¦ i << 1 ¦ i >> 1 ¦ i & 3 ¦ i | i ¦ i ^ 1 ¦ ~i
-x ¦ +x ¦ abs(x) ¦ round(x) ¦ ~b ¦ b & b ¦ b | b ¦ b ^ b ¦ x < 0 ¦ x <= x ¦ x == x ¦ x != 1
x > i ¦ x == i ¦ i == 3 ¦ c * c ¦ c + 1 ¦ abs(c) ¦ h + h ¦ h * 2.0 ¦ h / h ¦ u + u ¦ u + 1 ¦ u * 2
x + np.ones(4, np.float32) ¦ np.ones(4, np.float32) + x ¦ x + np.float32(2) ¦ x * np.float64(2)
np.float32(2) * x ¦ x + np.ones(4) ¦ x + np.arange(4) ¦ x + True ¦ s + 1.0 ¦ s * s ¦ s + x
m + x[:3] ¦ m * m ¦ x @ np.ones(4, np.float32) ¦ jax.tree_util.tree_map(lambda a: a, [x, m])
jax.tree_util.tree_map(lambda a: a, {'a': x, 'b': [m, (x, None)]})
jax.tree_util.tree_map(lambda a, b: a, {'a': x, 'b': [m, (x, None)]}, {'a': x, 'b': [m, (x, None)]})
jax.tree.map(lambda a: a, {'a': x, 'b': [m, (x, None)]})
jax.tree.map(lambda a: a, {'a': x, 'b': [m, (x, None)]}, is_leaf=lambda a: a is None)
jax.tree.leaves({'a': x, 'b': [m, (x, None)]}) ¦ jax.tree.leaves(x)
jax.tree.leaves({'a': x, 'b': [m, (x, None)]}, is_leaf=lambda a: a is None)
jax.tree.structure({'a': x, 'b': [m, (x, None)]})
jax.tree.flatten({'a': x, 'b': [m, (x, None)]}) ¦ jax.tree.flatten([x] * 50) ¦ jax.tree.flatten(x)
jax.tree.unflatten(jax.tree.structure({'a': x, 'b': [m, (x, None)]}), [1, 2, 3])
jax.tree.reduce(lambda a, b: a, [1, 2, 3]) ¦ jax.tree.reduce(lambda a, b: a, [1, 2, 3], 0)
jax.tree.all([True, True])
jax.tree.transpose(jax.tree.structure([0, 0]), jax.tree.structure((0, 0)), [(1, 2), (3, 4)])
jax.tree.leaves_with_path({'a': x, 'b': [m, (x, None)]})
jax.tree.flatten_with_path({'a': x, 'b': [m, (x, None)]})
jax.tree.map_with_path(lambda p, a: a, {'a': x, 'b': [m, (x, None)]})
jax.tree_util.tree_flatten_with_path({'a': x, 'b': [m, (x, None)]})
jax.tree_util.tree_map_with_path(lambda p, a: a, {'a': x, 'b': [m, (x, None)]})
jax.tree_util.tree_map_with_path(lambda p, a: a, [x] * 50)
jax.tree_util.tree_leaves_with_path({'a': x, 'b': [m, (x, None)]})
jax.tree_util.keystr(jax.tree_util.tree_leaves_with_path({'a': x, 'b': [m, (x, None)]})[2][0])
jax.tree_util.tree_structure([x]) ¦ jax.tree_util.treedef_is_leaf(jax.tree.structure(1))
jax.tree_util.treedef_children(jax.tree.structure([1, 2]))
jax.tree_util.treedef_tuple([jax.tree.structure(1)] * 2) ¦ jax.tree_util.all_leaves([1, 2])
jax.tree_util.build_tree(jax.tree.structure([1, 2]), [3, 4]) ¦ jax.tree_util.Partial(jnp.sin, x)
jax.tree.structure([1, 2]) == jax.tree.structure([1, 2]) ¦ hash(jax.tree.structure([1, (2, 3)]))
repr(jax.tree.structure([1, (2, 3)])) ¦ jax.tree.structure([1, 2]).unflatten([1, 2])
jax.tree.structure([1, 2]).num_leaves ¦ jax.tree.structure([1, (2, 3)]).flatten_up_to([1, (2, 3)])
jax.tree.broadcast(1, [1, 2, (3, 4)]) ¦ jax.tree_util.tree_leaves([x] * 50)
jax.tree_util.tree_map(lambda a: a, [x] * 50) ¦ jax.flatten_util.ravel_pytree({'a': x, 'b': m})
jax.flatten_util.ravel_pytree({'a': x, 'b': m})[1](jnp.ones(10)) ¦ jax.eval_shape(lambda a: a, x)
jax.eval_shape(jnp.sin, x) ¦ jax.ShapeDtypeStruct((3,), jnp.float32) ¦ jax.typeof(x)
isinstance(x, jax.Array) ¦ isinstance(1.0, jax.Array) ¦ key.shape ¦ key.dtype ¦ key[None]
repr(key) ¦ [*jax.random.split(key)] ¦ jax.grad(lambda a: a * a)(2.0)
jax.grad(lambda a: (a * a).sum())(x) ¦ jax.value_and_grad(lambda a: (a * a).sum())(x)
jax.vmap(jnp.sin)(x) ¦ jax.vmap(lambda a: a * 2)(m) ¦ jax.jvp(jnp.sin, (x,), (x,))
jax.vjp(jnp.sin, x) ¦ jax.vjp(jnp.sin, x)[1](x) ¦ jnp.linspace(0, 1, 5) ¦ jnp.arange(5)
jnp.arange(0, 5, 2) ¦ jnp.arange(5.0) ¦ jnp.zeros(3) ¦ jnp.zeros((2, 3))
jnp.ones((2, 3), 'int32') ¦ jnp.zeros_like(x) ¦ jnp.mgrid[0:3, 0:3] ¦ jnp.ogrid[0:3, 0:3]
jnp.r_[0, 1, 2] ¦ jnp.c_[x, x] ¦ jnp.s_[0:3] ¦ jnp.index_exp[0] ¦ jnp.add.reduce(x)
jnp.add.at(x, jnp.array([0]), 1.0, inplace=False) ¦ jnp.add.outer(x, x) ¦ jnp.add.accumulate(x)
jnp.add.reduceat(x, jnp.array([0, 2])) ¦ jnp.multiply.reduce(x)
jnp.vectorize(lambda a: a + 1)(x) ¦ jnp.vectorize(lambda a: a.sum(), signature='(n)->()')(m)
jnp.bincount(jnp.array([0, 1, 1])) ¦ jnp.take_along_axis(x, jnp.array([0, 1]), 0)
jnp.sum(x.astype('bfloat16')) ¦ x.astype('bfloat16') * 2.0 ¦ x.astype('bfloat16') + 1
x.astype('bfloat16') + x.astype('bfloat16') ¦ jax.numpy.vectorize(jnp.add)(x, x)
jax.make_jaxpr(jnp.sin)(x) ¦ jax.linearize(jnp.sin, x) ¦ jax.tree.map(jnp.add, {'a': x}, {'a': x})
jnp.ravel_multi_index((jnp.array([1]), jnp.array([2])), (2, 3))
"""


def more_rows() -> list[str]:
    """The calls, as source text."""
    return [row.strip() for line in CALLS.strip().splitlines() for row in line.split(" ¦ ")]
