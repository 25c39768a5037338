"""`pmap`, as in JAX: axes, static and donated arguments, transformations, jaxprs, errors."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import both, in_both, subject

X = np.random.default_rng(0).normal(size=(4, 3)).astype("f")
Y = np.random.default_rng(1).normal(size=(2, 4, 3)).astype("f")

CALLS = """
pmap(lambda x: x ** 2)(X)
pmap(lambda x, y: x + y)(X, np.arange(4))
pmap(lambda x: x, in_axes=1)(X)
pmap(lambda x: x.sum(), in_axes=1, out_axes=0)(X)
pmap(lambda x: x[:, None], out_axes=1)(X)
pmap(lambda x: (x, x + 1), out_axes=(0, 1))(X)
pmap(lambda x: (x, {'a': x.sum()}), out_axes=(1, {'a': 0}))(X)
pmap(lambda x, y: x * y, in_axes=(0, None))(X, 2.0)
pmap(lambda x, y: (x * y, y), in_axes=(0, None), out_axes=(0, None))(X, 2.0)
pmap(lambda d: d['a'] + d['b'], in_axes=({'a': 0, 'b': None},))({'a': X, 'b': 2.0})
pmap(lambda x, y: x * y, in_axes=(None, 0))(2.0, X)
pmap(lambda x, scale=1: x * scale)(X, scale=np.arange(4.0))
pmap(lambda x: x * random.bernoulli(random.key(0), 0.5, x.shape, out_sharding=typeof(x).sharding))(X)
pmap(lambda x: 3.0)(X)
pmap(lambda x: 3.0, out_axes=None)(X)
pmap(lambda x: lax.axis_index('i'), axis_name='i')(X)
pmap(lambda x: x / lax.psum(x, 'i'), axis_name='i')(np.arange(8.0))
pmap(lambda x: lax.psum(x, ('i',)), 'i')(X)
pmap(lambda x, n: x * n, static_broadcasted_argnums=1)(X, 2)
pmap(lambda n, x: x * n, static_broadcasted_argnums=0, in_axes=(None, 1))(2, X)
pmap(lambda x: x + 1, donate_argnums=0)(X)
pmap(lambda x: x + 1, axis_size=4)(X)
pmap(lambda x: x + 1, backend='cpu')(X)
pmap(lambda x: x + 1, devices=jax.devices()[2:6])(X)
pmap(lambda key: jax.random.normal(key, (2,)))(jax.random.split(jax.random.key(0), 4))
pmap(jax.vmap(lambda x: x * lax.psum(x, 'i'), axis_name='j'), axis_name='i')(X)
jax.vmap(pmap(lambda x: x * lax.psum(x, 'i'), axis_name='i'))(Y)
jax.vmap(pmap(lambda x, y: lax.psum(x + y, 'i'), axis_name='i'), (0, None))(Y, X)
jax.jit(pmap(lambda x: x + lax.psum(x, 'i'), axis_name='i'))(X)
jax.grad(lambda x: pmap(lambda x: lax.psum(x ** 3, 'i'), axis_name='i')(x).sum())(X)
jax.vjp(pmap(lambda x: jnp.sin(x) * lax.pmean(x, 'i'), axis_name='i'), X)[1](X)[0]
jax.jvp(pmap(lambda x: jnp.sin(x) * lax.pmean(x, 'i'), axis_name='i'), (X,), (X,))
jax.linearize(pmap(jnp.sin), jnp.asarray(X))[1](X)
jax.hessian(lambda x: pmap(lambda x: lax.psum(x ** 3, 'i'), axis_name='i')(x).sum())(X[:2, 0])
jax.grad(lambda y: pmap(lambda x: x * jnp.sin(y))(X).sum())(2.0)
jax.grad(lambda x: (pmap(jax.grad(lambda r: lax.psum(r, 'i').prod()), axis_name='i')(x) ** 2).sum())(X)
jax.lax.scan(lambda c, _: (pmap(lambda x: lax.ppermute(x, 'i', [(0, 1), (1, 0)]) + 1, 'i')(c), None), X, None, 2)[0]
pmap(lambda x: jax.jit(lambda y: lax.psum(y, 'i'))(x) + x, axis_name='i')(X)
jax.eval_shape(pmap(lambda x: x.sum()), X).shape
str(pmap(lambda x: x)(X).sharding)
str(pmap(lambda x: x, axis_name='i', devices=jax.devices()[3:7])(X).sharding)
[d.id for d in pmap(lambda x: x, devices=jax.devices()[:3:-1])(X).sharding.mesh.devices]
sorted(pmap(lambda x: x).lower(X).args_info[0][0].shape)
"""

ERRORS = """
pmap(lambda x: x)(np.ones(9))
pmap(lambda x: x)(3.0)
pmap(lambda x: x)()
pmap(lambda x: x, in_axes=None)(X)
pmap(lambda x: x, axis_size=3)(X)
pmap(lambda x, y: x)(X, np.ones(3))
pmap(lambda x: x, devices=jax.devices()[:3])(X)
pmap(lambda x: x, devices=[])
pmap(3)
pmap(lambda x: x, in_axes='i')
pmap(lambda x: x, out_axes='i')
pmap(lambda x: x, in_axes=(0, 0))(X)
pmap(lambda x: x, in_axes=2)(X)
pmap(lambda x: x, out_axes=(0, 0))(X)
pmap(lambda x, n: x * n, static_broadcasted_argnums=1)(X)
pmap(lambda x, n: x * n, static_broadcasted_argnums=1)(X, [2])
pmap(lambda x: (x, 'text'))(X)
pmap(lambda x: lax.axis_index('nowhere'))(X)
pmap(lambda x: pmap(lambda y: y)(x))(Y)
"""


def evaluated(row):
    def program(jx):
        names = {"jax": jx, "pmap": jx.pmap, "lax": jx.lax, "jnp": jx.numpy, "np": np,
                 "X": X, "Y": Y, "random": jx.random, "typeof": jx.typeof}
        return lambda: eval(row, names)

    return program


@pytest.mark.parametrize("row", CALLS.strip().split("\n"))
def test_calls(row):
    both(evaluated(row))


@pytest.mark.parametrize("row", ERRORS.strip().split("\n"))
def test_errors(row):
    both(evaluated(row))


def test_jaxprs():
    def program(jx):
        pmap, lax, jnp = jx.pmap, jx.lax, jx.numpy

        def run():
            f = pmap(lambda x, y: (x + y, y), axis_name="i", in_axes=(1, None), out_axes=(1, None))
            yield jx.make_jaxpr(f)(jnp.ones((2, 4)), 2.0)
            g = pmap(lambda x: (x + jnp.ones(1)) / lax.psum(x, axis_name="rows"), "rows")
            yield jx.make_jaxpr(g)(jnp.ones((1, 3)))
            yield jx.make_jaxpr(lambda c, x: pmap(lambda x: x + c)(x))(5.0, X)
            yield jx.make_jaxpr(jx.vmap(g))(jnp.ones((2, 1, 3)))
            yield jx.make_jaxpr(lambda x: jx.jvp(g, (x,), (x,)))(jnp.ones((1, 3)))

        return lambda: [*run()]

    both(program)


@in_both
def test_donated_arguments_are_gone(jx):
    x = jx.pmap(lambda x: x)(X)
    y = jx.pmap(lambda x: x + 1, donate_argnums=0)(x)
    return x.is_deleted(), y.is_deleted()


def test_errors_name_the_argument_and_tell_what_to_do():
    with pytest.raises(ValueError, match=r"batch\['x'\].*\(9,\).*8 devices.*num_cpu_devices"):
        subject.pmap(lambda batch: batch)({"x": np.ones(9)})


def test_it_is_traced_and_compiled_once():
    traced = []
    f = subject.pmap(lambda x: traced.append(0) or x)
    f(X), f(X + 1)
    assert len(traced) == 1
    f(f(X))  # the type of a result names the mesh, as in JAX
    assert len(traced) == 2
    f(X[:2])
    assert len(traced) == 3


def test_a_cellular_automaton_whose_cells_are_on_many_devices():
    def program(jx):
        lax = jx.lax

        def step(cells):
            right = [(i, (i + 1) % 8) for i in range(8)]
            left = lax.ppermute(cells[-1:], "i", right)
            after = lax.ppermute(cells[:1], "i", [(b, a) for a, b in right])
            row = jx.numpy.concatenate([left, cells, after])
            return row[:-2] ^ (row[1:-1] | row[2:])

        def run():
            cells = np.zeros((8, 5), bool)
            cells[4, 0] = True
            history, automaton = [], jx.pmap(step, axis_name="i")
            for _ in range(10):
                cells = automaton(cells)
                history.append(np.asarray(cells).ravel())
            return np.stack(history)

        return run

    both(program)
