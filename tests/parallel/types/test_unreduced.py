"""Unreduced and reduced arrays: sums over devices that are still to be made."""

from __future__ import annotations

import numpy as np
import pytest

import minijax
from tests.oracle import both, in_both
from tests.oracle.text import jaxpr_text

A = np.random.default_rng(0).integers(-3, 4, (8, 8)).astype(np.float32)
B = np.random.default_rng(1).integers(-3, 4, (8, 8)).astype(np.float32)


def words(library, u2=True):
    """The names that rows of the tables use: `u…` are unreduced, `r…` are reduced."""
    jnp, spec = library.numpy, library.P

    def put(x, *entries, **sums):
        return library.reshard(jnp.asarray(x), spec(*entries, **sums))

    def known(x):
        """The types of arrays, and their values."""
        leaves = library.tree.leaves(x)
        return [str(library.typeof(leaf)) for leaf in leaves], [
            np.asarray(library.reshard(leaf, spec(*[None] * leaf.ndim)), np.float32)
            for leaf in leaves]

    def summands(x):
        return sorted((shard.device.id, np.asarray(shard.data).tolist())
                      for shard in x.addressable_shards)

    over_x = {"unreduced": {"x"}}
    split, columns = put(B, "x"), put(A, None, "x")
    two = {} if not u2 else {
        "us": jnp.einsum("ij,jk->ik", columns, split, out_sharding=spec("y", **over_x)),
        "u2": put(A, unreduced={"x", "y"}), "rs": put(B, "y", reduced={"x"})}
    return two | {
        "jax": library, "jnp": jnp, "lax": library.lax, "P": spec, "np": np, "A": A,
        "known": known, "summands": summands, "put": put, "mesh": library.sharding.get_mesh(),
        "text": lambda f, *args: plain(jaxpr_text(library.make_jaxpr(f)(*args))),
        "n": put(A), "s": split, "c": columns,
        "u": jnp.einsum("ij,jk->ik", columns, split, out_sharding=spec(**over_x)),
        "r": put(A, reduced={"x"}),
        "r3": put(np.stack([A, B, A + B]) / 8, reduced={"x"}),
    }


def plain(text):
    """The text of a jaxpr in one line, without what JAX and we print differently beside types."""
    lines = [line for line in text.splitlines() if "sharding=Named" not in line]
    return " ".join(" ".join(lines).replace(" out_sharding=None", "").split())


def within(library, row, mesh=((4, 2), ("x", "y"))):
    with library.set_mesh(library.make_mesh(*mesh)):
        return eval(row, words(library))


# Operations on unreduced (`x` is `u`, `us`) and reduced arrays (`x` is `r`, `rs`).
OPERATIONS = """
jnp.sin(x)
-x
x + x
x + 1
1 + x
x + n
n + x
x + s
x * n
x * 2
x * r
rs * x
x * x
x * s
x - x
x / 2
x ** 2
x ** 2.5
jnp.maximum(x, x)
x > 0
lax.bitcast_convert_type(x, "int32")
x.astype("bfloat16")
x.T
x.sum()
x.sum(0)
x[:, None]
lax.reshape(x, (64,), out_sharding=P(None, unreduced={"x"}))
lax.reshape(x, (64,), out_sharding=P(None, reduced={"x"}))
lax.reshape(n, (64,), out_sharding=P(None, reduced={"x"}))
lax.reshape(n, (64,), out_sharding=P(None, unreduced={"x"}))
lax.dynamic_slice(x, (0, 0), (8, 4))
lax.dynamic_update_slice(x, x, (0, 0))
jnp.concatenate([x, x])
jnp.concatenate([x, n])
lax.pad(x, 0.0, ((0, 8, 0), (0, 0, 0)))
lax.rev(x, (0,))
lax.split(x, (4, 4), 1)
lax.expand_dims(x, (0,))
lax.broadcast(x, (2,))
lax.broadcast_in_dim(x, (2, 8, 8), (1, 2), out_sharding=P())
lax.reduce_precision(x, 8, 3)
lax.clamp(0.0, x, 1.0)
x @ n
n @ x
s @ x
jnp.einsum("ij,jk->ik", s, x)
lax.reduce_window(x, 0.0, lax.add, (1, 2), (1, 2), "VALID")
lax.square(x)
lax.optimization_barrier(x)
jnp.copy(x)
jax.reshard(x, P())
jax.reshard(x, P("x"))
jax.reshard(x, P(None, "x"))
jax.reshard(x, P("y"))
jax.reshard(x, P(("y", "x")))
jax.reshard(x, P(unreduced={"x"}))
jax.reshard(x, P(reduced={"x"}))
jax.reshard(x, P(reduced={"y"}))
jax.device_put(x, P(unreduced={"x"}))
lax.fori_loop(0, 3, lambda i, c: c + c, x)
lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] + c[1]), (0, x))[1]
lax.scan(lambda c, _: (c + c, None), x, None, length=3)[0]
lax.cond(True, lambda a: a + a, lambda a: a, x)
jax.jit(lambda a: a + a)(x)
jax.jit(lambda a: a + a, out_shardings=P())(x)
jax.jit(lambda a: a, in_shardings=P(unreduced={"x"}))(u)
jax.checkpoint(lambda a: a + a)(x)
jax.grad(lambda a: (jax.reshard(a, P()) ** 2).sum())(x)
jax.grad(lambda a: a.sum())(x)
jax.grad(lambda a: jax.reshard(a.sum(), P()))(x)
jax.grad(lambda a: jax.reshard((a * 2).sum(), P()))(x)
jax.grad(lambda a: jax.reshard((a * a).sum(), P()))(x)
jax.grad(lambda a: jax.reshard((jnp.sin(a) * a).sum(), P()))(x)
jax.grad(lambda a: (s @ a).sum())(x)
jax.grad(lambda a: (s * jax.reshard(a, P("x"))).sum())(x)
jax.grad(lambda a: (n * jax.reshard(a, P())).sum())(x)
jax.grad(lambda a: jnp.sum(lax.scan(lambda c, _: (jnp.tanh(c @ a), None), s, None, 3)[0]))(x)
jax.jvp(lambda a: a + a, (x,), (x,))
jax.jvp(jnp.sin, (x,), (x,))
jax.jvp(lambda a: jax.reshard(a, P()), (x,), (x,))
jax.vjp(lambda a: a + a, x)[1](u)
jax.vjp(lambda a: a + a, x)[1](r)
jax.vjp(lambda a: a + a, x)[1](n)
""".strip().splitlines()

# Further programs.
PROGRAMS = """
known(u)
summands(u)
known(us)
summands(us)
known(u2)
u
str(us)
f"{u}"
np.asarray(u)
float(u.sum())
u.tolist()
u.sharding
u.is_fully_replicated
jax.typeof(us).sharding
jax.typeof(r).sharding.spec
jax.eval_shape(lambda a: a + a, u)
summands(jax.device_put(n, P(unreduced={"x"})))
known(jax.device_put(n, P(reduced={"x"})))
known(jnp.einsum("ij,jk->ki", c, s, out_sharding=P("y", unreduced={"x"})))
known(jnp.einsum("ij,jk->ik", s, n, out_sharding=P(unreduced={"x"})))
known(jnp.einsum("ij,jk->ik", c, s, out_sharding=P(unreduced={"y"})))
known(jnp.einsum("ij,jk->ik", c, s, out_sharding=P(reduced={"x"})))
known(jnp.einsum("ij->j", s, out_sharding=P(unreduced={"x"})))
known(lax.dot_general(c, s, (((1,), (0,)), ((), ())), out_sharding=P(unreduced={"x"})))
summands(lax.reduce_sum(s, (0,), out_sharding=P(unreduced={"x"})))
known(lax.reduce_sum(n, (0,), out_sharding=P(unreduced={"x"})))
known(lax.reduce_sum(u, (0,), out_sharding=P(unreduced={"x"})))
known(lax.reduce_sum(r, (0,), out_sharding=P(reduced={"x"})))
known(jax.jit(lambda a: a, out_shardings=P(unreduced={"x"}))(n))
known(jnp.zeros((8, 8), out_sharding=P(unreduced={"x"})))
known(jnp.zeros((8, 8), out_sharding=P(reduced={"x"})))
known(jnp.ones(8, out_sharding=P(reduced={"x"})))
known(jnp.arange(8, out_sharding=P(reduced={"x"})))
known(jax.reshard(u2, P("x", unreduced={"y"})))
known(jax.reshard(u2, P(unreduced={"y"})))
known(jax.reshard(u2, P(("x", "y"))))
known(jax.reshard(s, P(unreduced={"x"})))
known(jax.reshard(s, P("x", unreduced={"y"})))
known(jax.grad(lambda w: (jnp.tanh(s @ w) ** 2).sum())(r))
known(jax.jit(jax.grad(lambda w: (jnp.tanh(s @ w) ** 2).sum()))(r))
known(jax.grad(lambda w: (s @ jax.reshard(w, P(reduced={"x"}))).sum())(n))
known(jax.grad(lambda w: jnp.sum(lax.scan(lambda a, v: (a @ v, None), s, w)[0]))(r3))
known(jax.grad(lambda w: jax.vmap(lambda row: (row @ w).sum())(s).sum())(r))
known(jax.grad(lambda w: jax.checkpoint(lambda w: jnp.sin(s @ w).sum())(w))(r))
known(jax.jvp(jax.grad(lambda w: (s @ w ** 2.0).sum()), (r,), (r,)))
known(jax.value_and_grad(lambda w: (s @ (2.0 * w + 1.0)).sum())(r))
known(jax.grad(lambda a: jax.reshard(jnp.einsum("ij,jk->ik", a, s, out_sharding=P(unreduced={"x"})), P()).sum())(c))
text(lambda a: a + a, u)
text(lambda a: a * 2 + 1, r)
text(lambda a: jnp.sin(a) * 2, r)
text(lambda a: lax.pad(a, 0.0, ((0, 8, 0), (0, 0, 0))), r)
text(lambda a: jax.reshard(a, P()), us)
text(lambda a: lax.scan(lambda c, b: (c + b, None), a.sum(0), a)[0], r)
text(lambda a, b: jnp.einsum("ij,jk->ik", a, b, out_sharding=P(unreduced={"x"})), c, s)
text(lambda w: jnp.einsum("ij,jk->ik", s, w), r)
jax.reshard(n, P("x", unreduced={"z"}))
""".strip().splitlines()


# Inside `shard_map`, over the mesh {"x": 4}. Specs: `U`, `R` and `X`.
SHARD_MAP = """
known(sm(lambda a: a, U, U)(u))
known(sm(lambda a: a, R, R)(r))
known(sm(lambda a: a, P(), R)(n))
known(sm(lambda a: a, P(), U)(n))
known(sm(lambda a: a, X, U)(s))
known(sm(lambda a: a, X, R)(s))
known(sm(lambda a: a, U, P())(u))
known(sm(lambda a: a, U, X)(u))
known(sm(lambda a: a, R, P())(r))
known(sm(lambda a: a, R, X)(r))
known(sm(lambda a: a, U, U)(n))
known(sm(lambda a: a, R, R)(n))
known(sm(lambda a: a, P(), P())(u))
known(sm(lambda a: a, P(), P())(r))
known(sm(lambda a: a, U, U, check_vma=False)(u))
known(sm(lambda a: a, R, R, check_vma=False)(r))
known(sm(lambda a: a + a, U, U)(u))
known(sm(lambda a: a * 2, U, U)(u))
known(sm(lambda a: a * 2, R, R)(r))
known(sm(lambda a: a + 1, R, R)(r))
known(sm(lambda a: jnp.sin(a), R, R)(r))
known(sm(lambda a: jnp.sin(a), U, U)(u))
known(sm(lambda a, b: a * b, (U, R), U)(u, r))
known(sm(lambda a, b: a * b, (X, R), X)(s, r))
known(sm(lambda a, b: a + b, (X, R), X)(s, r))
known(sm(lambda a, b: a @ b, (X, R), X)(s, r))
known(sm(lambda a, b: a @ b, (X, U), X)(s, u))
known(sm(lambda a, b: a @ b, (P(None, "x"), X), U)(c, s))
known(sm(lambda a: lax.pcast(a, "x", to="unreduced"), X, U)(s))
known(sm(lambda a: lax.pcast(a, "x", to="unreduced"), P(), U)(n))
known(sm(lambda a: lax.pcast(a, "x", to="unreduced"), R, U)(r))
known(sm(lambda a: lax.pcast(a, "x", to="unreduced"), U, U)(u))
known(sm(lambda a: lax.pcast(a, "x", to="reduced"), P(), R)(n))
known(sm(lambda a: lax.pcast(a, "x", to="reduced"), X, R)(s))
known(sm(lambda a: lax.pcast(a, "x", to="reduced"), R, R)(r))
known(sm(lambda a: lax.pcast(a, "x", to="reduced"), U, R)(u))
known(sm(lambda a: lax.pcast(a, "x", to="varying"), R, X)(r))
known(sm(lambda a: lax.pcast(a, "x", to="varying"), U, X)(u))
known(sm(lambda a: lax.psum(a, "x"), U, P())(u))
known(sm(lambda a: lax.psum(a, "x"), R, P())(r))
known(sm(lambda a: lax.psum_scatter(a, "x", tiled=True), U, X)(u))
known(sm(lambda a: lax.psum_scatter(a, "x"), U, X)(u))
known(sm(lambda a: lax.all_gather(a, "x", tiled=True, to="reduced"), X, R)(s))
known(sm(lambda a: lax.all_gather(a, "x", to="reduced"), X, R)(s))
known(sm(lambda a: lax.pmax(a, "x"), U, P())(u))
known(sm(lambda a: lax.pmean(a, "x"), U, P())(u))
known(sm(lambda a: lax.all_to_all(a, "x", 0, 0), U, U)(u))
known(sm(lambda a: lax.ppermute(a, "x", [(0, 1)]), R, R)(r))
known(sm(lambda a: lax.all_gather(a, "x"), R, R)(r))
known(sm(lambda a: a.sum(0), U, U)(u))
known(sm(lambda a: a.T, R, R)(r))
known(jax.jit(sm(lambda a: a + a, U, U))(u))
known(jax.grad(lambda a: jax.reshard(sm(lambda a: a + a, U, U)(a), P()).sum())(u))
known(jax.grad(lambda a: jax.reshard(sm(lambda a: jnp.sin(a), R, R)(a), P()).sum())(r))
known(jax.grad(lambda w: sm(lambda a, b: a @ b, (X, R), X)(s, w).sum())(r))
known(jax.grad(lambda a: jax.reshard(sm(lambda a, b: a @ b, (P(None, "x"), X), U)(a, s), P()).sum())(c))
known(jax.grad(lambda a: sm(lambda a: lax.psum(lax.pcast(a, "x", to="unreduced"), "x"), X, P())(a).sum())(s))
known(jax.grad(lambda a: jax.reshard(sm(lambda a: lax.pcast(a, "x", to="reduced") * 2.0, P(), R)(a), P()).sum())(n))
known(jax.grad(lambda a: sm(lambda a: lax.psum_scatter(a, "x", tiled=True), U, X)(a).sum())(u))
known(jax.grad(lambda a: jax.reshard(sm(lambda a: lax.all_gather(a, "x", tiled=True, to="reduced"), X, R)(a), P()).sum())(s))
text(sm(lambda a, b: a @ b, (P(None, "x"), X), U), c, s)
text(sm(lambda a: lax.psum(a, "x"), U, P()), u)
text(sm(lambda a: lax.pcast(a, "x", to="reduced"), P(), R), n)
text(sm(lambda a: lax.psum_scatter(a, "x", tiled=True), U, X), u)
text(sm(lambda a: lax.all_gather(a, "x", tiled=True, to="reduced"), X, R), s)
text(sm(lambda a, b: a * b, (X, R), X), s, r)
text(sm(lambda a: a * 2, R, R), r)
""".strip().splitlines()


@pytest.mark.daily(3)
@pytest.mark.parametrize("row", SHARD_MAP)
@in_both
def test_shard_map(library, row):
    def sm(f, in_specs, out_specs, **options):
        return library.shard_map(f, in_specs=in_specs, out_specs=out_specs, **options)

    spec = library.P
    with library.set_mesh(library.make_mesh((4,), ("x",))):
        names = {**words(library, u2=False), "sm": sm, "X": spec("x"),
                 "U": spec(unreduced={"x"}), "R": spec(reduced={"x"})}
        return eval(row, names)


def test_shard_map_over_some_axes_is_not_for_summands():
    both(lambda library: lambda: within(library, """known(jax.shard_map(
        lambda a: a, in_specs=P(unreduced={"x"}), out_specs=P(unreduced={"x"}),
        axis_names={"x"})(u))"""))


def test_transposes_without_check_vma_are_refused():
    row = """jax.grad(lambda a: jax.reshard(jax.shard_map(
        lambda a: a + a, in_specs=P(unreduced={"x"}), out_specs=P(unreduced={"x"}),
        check_vma=False)(a), P()).sum())(u)"""
    with pytest.raises(NotImplementedError, match="check_vma"):
        within(minijax, row.replace("\n", " "))


@pytest.mark.daily(3)
@pytest.mark.parametrize("name", ["u", "us", "r", "rs"])
@pytest.mark.parametrize("row", OPERATIONS)
def test_operations(row, name):
    both(lambda library: lambda: within(library, f"known((lambda x: {row})({name}))"))


@pytest.mark.parametrize("row", PROGRAMS)
@in_both
def test_programs(library, row):
    out = within(library, row)
    return out if isinstance(out, (tuple, list)) else str(out).replace(
        ", memory_kind=device", "")


# JAX 0.10.2 has other values for these: XLA takes operations whose result is unreduced for ones of
# summands, even if their operands are whole; and what loops close over for whole.
RIGHT = """
jnp.stack([x, x.T])
lax.broadcast_in_dim(whole(x), (2, 8, 8), (1, 2), out_sharding=P(unreduced={"x"}))
jnp.arange(8, out_sharding=P(unreduced={"x"}))
jnp.ones(8, out_sharding=P(unreduced={"x"}))
lax.pad(x, 3.0, ((1, 2, 0), (0, 0, 1)))
lax.reshape(x, (64,), dimensions=(1, 0))
lax.unstack(x, 1)
x[2]
x[1:7:2]
x.astype("float16").sum(0)
lax.scan(lambda c, _: (c + c, c.T), x, None, length=5)
lax.scan(lambda c, _: (c + c, c.T), x, None, length=5, unroll=2)
lax.scan(lambda c, _: (c + c, c.T), x, None, length=5, reverse=True)
jax.vmap(lambda row: row + row)(x)
jax.vmap(lambda row: row.sum())(x)
jax.jit(lambda: jax.reshard(jnp.ones(8), P(unreduced={"x"})))()
x + jax.jit(lambda: jax.reshard(jnp.ones((8, 8)), P(unreduced={"x"})))()
jax.jvp(lambda a: a + a, (x,), (whole(x),))[1]
lax.select(whole(x) > 0, x, x + x)
""".strip().splitlines()


@pytest.mark.parametrize("row", RIGHT)
def test_values_are_those_of_whole_arrays(row):
    """An operation on summands computes summands of what it computes of their sum."""
    def whole(x):
        return minijax.reshard(x, minijax.P(*[None] * x.ndim))

    with minijax.set_mesh(minijax.make_mesh((4, 2), ("x", "y"))):
        names = {**words(minijax), "whole": whole}
        got = minijax.tree.leaves(eval(row, {**names, "x": names["u"]}))
        assert all("{U:x}" in str(minijax.typeof(leaf)) for leaf in got)
        plain_row = row.replace('P(unreduced={"x"})', "P()")
        want = minijax.tree.leaves(eval(plain_row, {**names, "x": whole(names["u"])}))
        for x, y in zip(got, want, strict=True):
            np.testing.assert_allclose(np.asarray(whole(x)), np.asarray(y), rtol=1e-3)


@pytest.mark.parametrize("row", [
    "lax.scan(lambda c, _: (c + u, None), u, None, length=3)",
    "lax.while_loop(lambda c: c.size > 9, lambda c: c + u, u)",
    "lax.scan(lambda c, a: (c + a, None), u[0], u)"])
def test_loops_refuse_what_would_be_taken_for_whole(row):
    with pytest.raises(NotImplementedError, match="unreduced"):
        within(minijax, row)


def test_other_summands_are_refused():
    """Shardy ends the process if it is asked for this."""
    with pytest.raises(NotImplementedError, match="unreduced"):
        within(minijax, "jax.reshard(u, P(unreduced={'y'}))")


def test_one_sum_in_a_step_of_gradients():
    """Gradients of reduced weights are added up as summands: devices exchange them once."""
    jnp, lax, P = minijax.numpy, minijax.lax, minijax.P

    def loss(weights, batch):
        return jnp.sum(lax.scan(lambda x, w: (jnp.tanh(x @ w), None), batch, weights)[0] ** 2)

    def step(weights, batches):
        def add(total, batch):
            return total + minijax.grad(loss)(weights, batch), None

        total = minijax.reshard(jnp.zeros_like(weights), P(unreduced={"x"}))
        return minijax.reshard(lax.scan(add, total, batches)[0], P())

    with minijax.set_mesh(minijax.make_mesh((2,), ("x",))):
        weights = minijax.device_put(jnp.stack([A[:4, :4] / 4] * 3), P(reduced={"x"}))
        batches = minijax.device_put(jnp.stack([B[:4, :4]] * 5), P(None, "x"))
        compiled = minijax.jit(step).lower(weights, batches).compile()
        assert compiled.as_text().count(" all-reduce(") == 1
        whole = minijax.reshard(weights, P())
        want = 5 * minijax.grad(loss)(whole, batches[0])
        np.testing.assert_allclose(np.asarray(minijax.jit(step)(weights, batches)),
                                   np.asarray(want), rtol=1e-4)
