"""Axes of type `Explicit`: what is said of them is done, though it is in no array's type."""

from __future__ import annotations

import numpy as np
import pytest

import minijax
from tests.oracle import both, in_both

X = np.arange(64, dtype=np.float32).reshape(8, 8)


def words(library):
    """The names that rows of the tables use."""
    types, sharding = library.sharding.AxisType, library.sharding
    explicit = library.make_mesh((4, 2), ("x", "y"))

    def within(mesh, f, *args):
        with library.set_mesh(mesh):
            return f(*args)

    def mesh_inside(mode, **options):
        """What mesh a function sees in a mode."""
        seen = []
        mode(lambda x: (seen.append(repr(sharding.get_abstract_mesh())), x)[1], **options)(
            library.numpy.asarray(X))
        return seen

    def lies(x):
        """The sharding of an array of two dimensions, whichever way it is spelt."""
        return x.sharding.spec.partitions + (None,) * (2 - len(x.sharding.spec)), x.sharding.mesh

    return {
        "jax": library, "jnp": library.numpy, "P": library.P, "N": library.NamedSharding,
        "reshard": library.reshard, "auto_axes": sharding.auto_axes,
        "explicit_axes": sharding.explicit_axes, "explicit": explicit, "X": X,
        "auto": library.make_mesh((4, 2), ("x", "y"), (types.Auto,) * 2),
        "mixed": library.make_mesh((4, 2), ("x", "y"), (types.Auto, types.Explicit)),
        "xs": library.device_put(X, library.NamedSharding(explicit, library.P("x"))),
        "within": within, "mesh_inside": mesh_inside, "lies": lies,
    }


ROWS = """
reshard(X, P("x"))
reshard(xs, None)
reshard(xs, 3)
reshard(xs, N(auto, P(None, "y")))
[lies(ct) for ct in jax.vjp(jnp.sin, xs)[1](X)]
[lies(ct) for ct in jax.vjp(jnp.sin, xs)[1](jnp.asarray(X))]
[lies(ct) for ct in jax.vjp(jnp.sin, xs)[1](xs)]
jax.vjp(jnp.sin, xs)[1](reshard(X, N(explicit, P())))
jax.vjp(jnp.sin, xs)[1](reshard(X, N(explicit, P("y"))))
jax.linearize(jnp.sin, xs)[1](reshard(X, N(explicit, P())))
jax.linear_transpose(lambda x: 2 * x, xs)(reshard(X, N(explicit, P())))
within(explicit, lambda: jax.vjp(jnp.sin, xs)[1](jnp.ones((8, 8))))
[lies(x) for x in jax.jvp(jnp.sin, (xs,), (X,))]
lies(jax.vmap(lambda x: jax.vjp(jnp.sin, x)[1](jnp.ones(8))[0])(xs))
jax.jacrev(jnp.sin)(xs)
jax.jacfwd(jnp.sin)(xs)
lies(reshard(X, N(explicit, P("x"))))
lies(reshard(xs, N(explicit, P(None, "y"))))
within(auto, reshard, X, P("x"))
within(mixed, reshard, X, P("x"))
within(explicit, reshard, xs, P("z"))
lies(within(explicit, reshard, X, P("x", "y")))
lies(within(explicit, reshard, X, P()))
[lies(x) for x in jax.tree.leaves(within(explicit, reshard, (X, {"a": X}), (P("x"), P("y"))))]
[lies(x) for x in jax.tree.leaves(within(explicit, reshard, (X, {"a": X}), P("x")))]
within(explicit, reshard, (X, X), (P("x"),))
lies(within(explicit, jax.jit(lambda x: reshard(x * 2, P("y", "x"))), xs))
within(explicit, jax.grad(lambda x: (reshard(x, P("x", "y")) ** 2).sum()), xs)
auto_axes(lambda x: x * 2)(xs)
auto_axes(lambda x: x * 2, out_sharding=P("x"))(X)
lies(within(explicit, auto_axes(lambda x: x * 2, out_sharding=P("x")), xs))
lies(within(explicit, lambda x: auto_axes(lambda x: x * 2)(x, out_sharding=P("x")), xs))
lies(within(explicit, auto_axes(out_sharding=P("y"))(lambda x: x * 2), xs))
lies(within(explicit, jax.jit(auto_axes(lambda x: x @ x, out_sharding=P("y"))), xs))
lies(auto_axes(lambda x: x * 2, out_sharding=N(explicit, P("x")))(xs))
within(explicit, auto_axes(lambda x: x, axes="z", out_sharding=P("x")), xs)
within(explicit, lambda: mesh_inside(auto_axes, out_sharding=P("x")))
within(explicit, lambda: mesh_inside(auto_axes, axes="x", out_sharding=P("x")))
within(auto, lambda: mesh_inside(explicit_axes, in_sharding=P("x")))
within(auto, lambda: mesh_inside(explicit_axes, axes=("x",), in_sharding=P("x")))
within(auto, lambda: mesh_inside(explicit_axes, axes=("x",), in_sharding=P("y")))
within(auto, auto_axes(lambda x: x * 2, out_sharding=N(explicit, P("x"))), xs)
explicit_axes(lambda x: x * 2, in_sharding=P("x"))(X)
within(auto, explicit_axes(lambda x: x * 2), X)
lies(within(auto, explicit_axes(in_sharding=P("x"))(lambda x: x * 2), X))
lies(within(auto, lambda x: explicit_axes(lambda x: x * 2)(x, in_sharding=P("x")), X))
lies(within(auto, jax.jit(explicit_axes(lambda x: x * 2, in_sharding=P("x"))), X))
""".strip().splitlines()


@pytest.mark.parametrize("row", ROWS)
@in_both
def test_explicit_axes(library, row):
    value = eval(row, words(library))
    return value if hasattr(value, "dtype") else repr(value)


def test_manual_axes_stay_manual():
    mesh = minijax.make_mesh((4, 2), ("x", "y"))
    f = minijax.sharding.auto_axes(lambda x: x, out_sharding=minijax.P("y"))
    mapped = minijax.shard_map(f, mesh=mesh, in_specs=minijax.P(), out_specs=minijax.P("x"))
    with pytest.raises(NotImplementedError, match="Going from `Manual`"):
        mapped(X)


def test_a_wrong_rank_is_a_value_error():
    """In JAX an assertion fails."""
    with minijax.set_mesh(minijax.make_mesh((4, 2), ("x", "y"))), \
            pytest.raises(ValueError, match="rank at least 2.*a value of rank 1"):
        minijax.reshard(X[0], minijax.P("x", "y"))


def test_the_manual_axes_of_types():
    def program(library):
        seen = []

        def f(x, y):
            seen.extend(repr(library.typeof(v).manual_axis_type)
                        for v in (x, y, x + y, library.lax.psum(x, "x")))
            return x + y

        mesh = library.make_mesh((8,), ("x",), (library.sharding.AxisType.Auto,))
        library.shard_map(f, mesh=mesh, in_specs=(library.P("x"), library.P()), out_specs=library.P("x"))(
            library.numpy.arange(8.0), library.numpy.ones(1))
        kind = library.typeof(library.numpy.ones(3)).manual_axis_type
        return [*seen, repr(kind), isinstance(kind, library.sharding.ManualAxisType)]

    both(lambda library: program(library))


def test_questions_to_the_manual_axes_of_types():
    def program(library):
        seen = []

        def f(x, y):
            mesh = library.sharding.get_abstract_mesh()
            for v in (x, y, library.lax.psum(x, "x")):
                mat = library.typeof(v).mat
                seen.extend([mat.invarying(mesh), mat.vur, mat.empty, repr(mat.to_ct_mat()),
                             repr(mat.update(reduced=frozenset({"z"})))])
            return x + y

        mesh = library.make_mesh((4, 2), ("x", "y"), (library.sharding.AxisType.Auto,) * 2)
        library.shard_map(f, mesh=mesh, in_specs=(library.P("x"), library.P()), out_specs=library.P("x"))(
            library.numpy.arange(8.0), library.numpy.ones(2))
        return seen

    both(lambda library: program(library))
