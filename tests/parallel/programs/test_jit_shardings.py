"""`jit` with in_shardings and out_shardings, its stages, and networks trained on many devices."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import minijax
from tests.oracle import both, in_both, oracle
from tests.parallel.placement_programs import same

PROGRAMS = {
    "elementwise": "lambda a: jnp.sin(a) * 2",
    "product": "lambda a: a @ a.T",
    "gradient": "jax.grad(lambda a: jnp.tanh(a @ a.T).sum())",
    "two results": "lambda a: (a.T, a + 1)",
}
ARGUMENTS = ["x2", "np.ones((8, 4))", "put(x2, s)", "put(x2, named('x', None))", "put(x2, d[3])"]
INS = ["", "in_shardings=s", "in_shardings=named('x', 'y')", "in_shardings=r"]
OUTS = ["", "out_shardings=s", "out_shardings=named(None, ('y', 'x'))", "out_shardings=r"]


@pytest.mark.parametrize("ins", INS)
@pytest.mark.parametrize("outs", OUTS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_programs(program, ins, outs):
    same(f"jax.jit({', '.join(filter(None, [PROGRAMS[program], ins, outs]))})(x2)")


@pytest.mark.parametrize("ins, outs", [*zip(INS, OUTS), *zip(INS, OUTS[::-1])])
@pytest.mark.parametrize("argument", ARGUMENTS)
def test_arguments(argument, ins, outs):
    """Whether an argument may lie as it does; twice, since the second call goes the quick way."""
    f = f"jax.jit({', '.join(filter(None, ['lambda a: a * 2', ins, outs]))})"
    same(f"(lambda f: [f({argument}) for _ in range(2)])({f})")


@pytest.mark.parametrize("transformed", [
    "jax.jit(lambda a: f(a) + 1)",
    "jax.jit(lambda a: f(f(a)))",
    "jax.grad(lambda a: f(a).sum())",
    "jax.jit(jax.grad(lambda a: (f(a) ** 2).sum()))",
    "jax.jit(jax.vmap(f))",
    "lambda a: jax.jvp(f, (a,), (a,))",
    "lambda a: jax.vjp(f, a)[1](jnp.ones_like(a))",
    "lambda a: jax.linearize(f, a)[1](a)",
    "jax.jit(jax.checkpoint(f))",
    "lambda a: lax.scan(lambda c, _: (f(c), None), a, None, 2)",
])  # fmt: skip
@pytest.mark.parametrize("shardings", [
    "in_shardings=named('x')", "out_shardings=named('y')",
    "in_shardings=named('y'), out_shardings=named('x')",
])  # fmt: skip
def test_under_other_transformations(transformed, shardings):
    argument = "jnp.ones((4, 8))" if "vmap" in transformed else "x"
    same(f"(lambda f: {transformed})(jax.jit(jnp.sin, {shardings}))({argument})")


TREES = """
jax.jit(jnp.sin, in_shardings=named("x", None))(x2)
jax.jit(jnp.sin, in_shardings=named("x", None))(put(x2, named("x", None)))
jax.jit(lambda a, b: a @ b.T, in_shardings=(named("x", None), None))(x2, put(x2, named("y", None)))
jax.jit(lambda t: t, in_shardings=({"a": s, "b": r},))({"a": x, "b": [x, x2]})
jax.jit(lambda t: t, out_shardings={"a": s, "b": [None, named("y", "x")]})({"a": x, "b": [x, x2]})
jax.jit(lambda t: t, out_shardings={"a": s, "b": r})({"a": x, "b": [x, x2]})
jax.jit(lambda t: t, out_shardings={"a": s, "b": None})({"a": x, "b": [x, x2]})
jax.jit(lambda a, b: a * b, in_shardings=(s, None))(x, x)
jax.jit(lambda a, b: a * b, in_shardings=[s, r])(x, x)
jax.jit(lambda a, b: (a, b), in_shardings=(s, None))(x, 2.0)
jax.jit(lambda a, b: (a, b), out_shardings=s)(x, x)
jax.jit(lambda a: a, in_shardings=None, out_shardings=None)(x)
jax.jit(lambda a: a, in_shardings=(None,))(put(x, s))
jax.jit(lambda: jnp.arange(8.0), out_shardings=s)()
jax.jit(lambda: {"w": jnp.ones((8, 4)), "b": jnp.zeros(4)}, out_shardings={"w": named("x", "y"), "b": named("y")})()
jax.jit(lambda k: jax.random.normal(k, (8, 4)), out_shardings=named("x", "y"))(key)
jax.jit(lambda k: jax.random.split(k, 8), out_shardings=s)(key)
jax.jit(lambda a: a.astype(jnp.bfloat16), out_shardings=s)(x)
jax.jit(lambda a: a > 2, in_shardings=s)(x)
jax.jit(lambda a: a * 2, in_shardings=SDS(d[2]))(x)
jax.jit(lambda a: a * 2, out_shardings=SDS(d[2]))(x)
jax.jit(lambda a: a * 2, in_shardings=SDS(d[2]))(put(x, d[2]))
jax.jit(lambda a: a * 2, out_shardings=NS(m1, P("x")))(x)
jax.jit(lambda n, a: a * n, static_argnums=0, in_shardings=s)(3, x)
jax.jit(lambda n, a: a * n, static_argnums=0, in_shardings=(s,))(3, x)
jax.jit(lambda a, n: a * n, static_argnames="n", out_shardings=s)(x, n=3)
jax.jit(lambda a, b: a * b, out_shardings=s)(x, b=x)
jax.jit(lambda a, b: a, in_shardings=(s, named("y")))(x, x)
jax.jit(lambda a: (a, a, 1.0), out_shardings=(s, named("y"), r))(put(x, s))
jax.jit(in_shardings=s)(lambda a: a + 1)(x)
jax.jit(lambda a: a * 2, device=d[2])(put(x, s))
""".strip().splitlines()

ERRORS = """
jax.jit(lambda a: a, in_shardings=s)(put(x, d[3]))
jax.jit(lambda a: a, in_shardings=s)(put(x, named("y")))
jax.jit(lambda a: a, in_shardings=SDS(d[2]))(put(x, d[3]))
jax.jit(lambda a: a, out_shardings=s)(put(x, d[3]))
jax.jit(lambda a: a, out_shardings=SDS(d[3]))(put(x, s))
jax.jit(lambda a: a, in_shardings=s)(a=x)
jax.jit(lambda a, n: a, static_argnames="n", in_shardings=s)(x, n=1)
jax.jit(lambda a: a, in_shardings=named("x", "y"))(x)
jax.jit(lambda a: a, out_shardings=named("x", "y"))(x)
jax.jit(lambda a: a, in_shardings=s)(jnp.ones(6))
jax.jit(lambda a: a, out_shardings=s)(jnp.ones(6))
jax.jit(lambda a: a.sum(), out_shardings=s)(x)
jax.jit(lambda a: a, in_shardings=P("x"))(x)
jax.jit(lambda a: a, out_shardings=P("x"))(x)
jax.jit(lambda a: a, in_shardings=3)
jax.jit(lambda a: a, out_shardings="x")
jax.jit(lambda a: a, in_shardings=named(P.UNCONSTRAINED))
jax.jit(lambda a: a, out_shardings=named(P.UNCONSTRAINED))
jax.jit(lambda a: a, in_shardings=(s, s))(x)
jax.jit(lambda a, b: a, in_shardings=(s,))(x, x)
jax.jit(lambda a: a, in_shardings={"a": s})(x)
jax.jit(lambda a: a, out_shardings=(s, s))(x)
jax.jit(lambda a: {"a": a}, out_shardings={"b": s})(x)
jax.jit(lambda a: a, in_shardings=s, device=d[1])
jax.jit(lambda a, b: a + b, in_shardings=(s, SDS(d[1])))(x, x)
jax.jit(lambda a: a, in_shardings=P("x", "x"))
jax.jit(lambda a: a, out_shardings=P("x", ("y", "x")))
lax.with_sharding_constraint(x2, P("x", "x"))
within(jax.set_mesh(m), lambda: jax.jit(lambda a: a, device=d[1])(x))
within(jax.set_mesh(m), lambda: jax.jit(lambda a: jax.jit(lambda a: a, device=d[1])(a))(x))
within(jax.set_mesh(m), lambda: jax.vmap(jax.jit(lambda a: a, device=d[1]))(x))
within(m, lambda: jax.jit(lambda a: a, device=d[1])(x))
jax.shard_map(jax.jit(jnp.sin, out_shardings=s), mesh=m, in_specs=P("x"), out_specs=P("x"))(jnp.ones(64))
jax.jit(jax.shard_map(jax.jit(jnp.sin, in_shardings=s), mesh=m, in_specs=P("x"), out_specs=P("x")))(jnp.ones(64))
jax.shard_map(jax.jit(jnp.sin, out_shardings=r), mesh=m, in_specs=P("x"), out_specs=P("x"))(x)
jax.shard_map(jnp.sin, mesh=m, in_specs=P(P.UNCONSTRAINED), out_specs=P())(x)
jax.shard_map(jnp.sin, mesh=m, in_specs=P(), out_specs=P(P.UNCONSTRAINED))(x)
""".strip().splitlines()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("program", TREES + ERRORS)
def test_trees_and_errors(program):
    same(program)


@pytest.mark.parametrize("program", [
    "jax.jit(lambda a: a, in_shardings=P('x'))(x)",
    "jax.jit(lambda a: a, out_shardings=P('y'))(x)",
    "jax.jit(lambda a: (a, a), out_shardings=(P('y'), None))(x)",
    "jax.jit(lambda a: a, in_shardings=P('z'))(x)",
    "jax.jit(lambda a: a, in_shardings=P('x', 'y'))(x)",
])  # fmt: skip
def test_specs_with_a_mesh_around(program):
    same(f"within(jax.set_mesh(m), lambda: {program})")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("program", [
    "pjit(lambda a: a * 2)(x)",
    "pjit(lambda a: a * 2, in_shardings=s, out_shardings=r)(x)",
    "pjit(lambda a: a * 2, in_shardings=P('x'))(x)",
    "within(m, lambda: pjit(lambda a: a * 2, in_shardings=P('x'), out_shardings=P('y'))(x))",
    "within(m, lambda: pjit(lambda a: a * 2, in_shardings=None, out_shardings=P('y'))(x))",
    "within(m, lambda: pjit(lambda a: a * 2, None, None)(x))",
    "within(m, lambda: pjit(lambda a, b: a * b, (P('x'), None), None)(x, 2.0))",
    "within(m, lambda: pjit(lambda a: a * 2)(x))",
    "within(m, lambda: pjit(lambda a, b: (a, b))(x, put(x, s)))",
    "within(m, lambda: pjit(lambda a: a * 2)(put(x, d[3])))",
    "[within(m, lambda: f(x)) for f in [pjit(lambda a: a * 2)] for _ in range(2)] + [pjit(jnp.sin)(x)]",
    "within(m, lambda: jax.jit(lambda a: a * 2)(x))",
])  # fmt: skip
def test_pjit(program):
    same(f"(lambda pjit: {program})(__import__('importlib').import_module("
         "jax.__name__ + '.experimental.pjit').pjit)")


DONATIONS = """
(lambda f, a: (f(a), a.is_deleted()))(jax.jit(lambda a: a + 1, donate_argnums=0), put(x2, s))
(lambda f, a: (f(a), a.is_deleted(), a + 1))(jax.jit(lambda a: a + 1, donate_argnums=0), put(x2, s))
(lambda f, a: (f(a, x2), a.is_deleted()))(jax.jit(lambda a, b: a + b, donate_argnames="a"), put(np.ones((8, 4)), r))
(lambda f, a: (f(a), a.is_deleted()))(jax.jit(lambda a: a + 1, donate_argnums=0, in_shardings=s), x2 + 0)
(lambda f, a: (f(a), a.is_deleted()))(jax.jit(lambda a: a + 1, donate_argnums=0, in_shardings=s), put(x2, s))
(lambda f, a: (f(a), a.is_deleted()))(jax.jit(lambda a: a + 1, donate_argnums=0, out_shardings=s), put(x2, s))
(lambda f, a: (f(a), a.is_deleted(), a))(jax.jit(lambda a: a.sum(), donate_argnums=0), put(x2, s))
(lambda f, a: (f(a), a.is_deleted(), a))(jax.jit(lambda a: a * 2, donate_argnums=0, out_shardings=r), put(x2, s))
(lambda f, a: (str(a)[:1], f(a), a.is_deleted(), str(a)))(jax.jit(lambda a: a + 1, donate_argnums=0), put(x2, s))
(lambda f, a: (f(a, a + 1), a.is_deleted()))(jax.jit(lambda a, b: b, donate_argnums=0), put(x2, s))
""".strip().splitlines()


@pytest.mark.filterwarnings("ignore:Some donated")
@pytest.mark.parametrize("program", DONATIONS)
def test_donation(program):
    same(program)


@pytest.mark.parametrize("program", [
    "str(jax.jit(lambda a: (a, a), out_shardings=(s, None)).eval_shape(x))",
    "str(jax.jit(lambda a: (a, a), out_shardings=(s, None)).lower(x).out_info)",
    "str(jax.jit(lambda a: (a, a), in_shardings=s).lower(x).out_info)",
    "str(jax.ShapeDtypeStruct((8,), np.float32, sharding=s))",
    "jax.ShapeDtypeStruct((8,), np.float32, sharding=P('x'))",
    "jax.ShapeDtypeStruct((8,), np.float32, sharding=3)",
    "jax.ShapeDtypeStruct((8,), np.float32, sharding=named('x', 'y'))",
    "jax.jit(lambda a: a).lower(jax.ShapeDtypeStruct((6,), np.float32, sharding=s))",
    "within(jax.set_mesh(m), lambda: str(jax.jit(lambda a: a).lower("
    "jax.ShapeDtypeStruct((8,), np.float32, sharding=P('x'))).compile().output_shardings))",
])  # fmt: skip
def test_types_of_results_say_what_was_said_of_them(program):
    same(program)


def test_donated_memory_is_used_again():
    mesh = minijax.sharding.Mesh(np.array(minijax.devices()), ("x",))
    split = minijax.NamedSharding(mesh, minijax.P("x"))
    # What XLA has computed is in memory of its own. (NumPy's it may only read.)
    a = minijax.jit(lambda: minijax.numpy.ones((64, 1024)), out_shardings=split)()

    def places(array):
        return [shard.data.shards.unsafe_buffer_pointer() for shard in array.addressable_shards]

    before = places(a)
    after = minijax.jit(lambda a: a * 2, donate_argnums=0)(a)
    assert places(after) == before
    assert a.is_deleted()


# Stages

LOWERED = {
    "in": "lambda jx, s, r: jx.jit(lambda a, b: a @ b, in_shardings=(s, None)).lower(A, B)",
    "out": "lambda jx, s, r: jx.jit(lambda a, b: a @ b, out_shardings=s).lower(A, B)",
    "structs": "lambda jx, s, r: jx.jit(lambda a, b: a @ b).lower("
               "jx.ShapeDtypeStruct((8, 4), A.dtype, sharding=s), "
               "jx.ShapeDtypeStruct((4, 8), A.dtype, sharding=r))",
    "nothing": "lambda jx, s, r: jx.jit(lambda a, b: a @ b).lower(A, B)",
    "unread": "lambda jx, s, r: jx.jit(lambda a, b: b * 2, in_shardings=(s, r)).lower(A, B)",
    "tree": "lambda jx, s, r: jx.jit(lambda t: {'c': t['a'] @ t['b'], 'd': 1.0}, "
            "in_shardings=({'a': s, 'b': r},), out_shardings={'c': s, 'd': r})"
            ".lower({'a': A, 'b': B})",
    "constraint": "lambda jx, s, r: jx.jit(lambda a, b: "
                  "jx.lax.with_sharding_constraint(a, s) @ b).lower(A, B)",
}  # fmt: skip
A, B = np.ones((8, 4), np.float32), np.ones((4, 8), np.float32)


def lowered(jx, name):
    mesh = jx.sharding.Mesh(np.array(jx.devices()).reshape(4, 2), ("x", "y"))
    shardings = (jx.NamedSharding(mesh, jx.P(*spec)) for spec in (("x", "y"), ()))
    return eval(LOWERED[name])(jx, *shardings)


@pytest.mark.parametrize("name", LOWERED)
@in_both
def test_stages_tell_shardings(jx, name):
    compiled = lowered(jx, name).compile()
    args, results = compiled.in_avals, compiled.out_info
    if name == "unread":
        args = ((None, args[0][1]), {})
    return (jx.tree.map(_told, args, compiled.input_shardings),
            jx.tree.map(_told, results, compiled.output_shardings))


def _told(aval, sharding):
    """What is where, without the words that are used for it."""
    where = sharding.devices_indices_map(aval.shape)
    return str({device.id: index for device, index in where.items()})


@pytest.mark.parametrize("name", LOWERED)
def test_text_has_the_mesh_and_the_arguments(name):
    ours, theirs = (lowered(jx, name).as_text() for jx in (minijax, oracle))
    assert ("sdy.mesh @mesh" in ours) == ("sdy.mesh @mesh" in theirs)
    for line in ("mhlo.num_partitions = 8", '%arg0: tensor<8x4xf32> {sdy.sharding = '
                 '#sdy.sharding<@mesh, [{"x"}, {"y"}]>}'):
        assert (line in ours) == (line in theirs)


def test_compiled_programs_mind_places():
    def program(jx, place):
        compiled = lowered(jx, "in").compile()
        mesh = jx.sharding.Mesh(np.array(jx.devices()).reshape(4, 2), ("x", "y"))
        spec = {"right": ("x", "y"), "wrong": ("y", "x")}.get(place)
        a = jx.numpy.asarray(A) if spec is None else jx.device_put(
            A, jx.NamedSharding(mesh, jx.P(*spec)))
        return lambda: compiled(a, B)

    for place in ("anywhere", "right", "wrong"):
        both(lambda jx, place=place: program(jx, place))


# Learning on many devices is learning.


def mlp(jx):
    """A step of gradient descent, its arguments, and how to split them."""
    random = np.random.RandomState(0)
    w1, w2 = (random.randn(*shape).astype(np.float32) / 4 for shape in ((16, 32), (32, 8)))
    batch = random.randn(16, 16).astype(np.float32), random.randn(16, 8).astype(np.float32)

    def loss(params, x, y):
        w1, w2 = params
        return ((jx.numpy.tanh(x @ w1) @ w2 - y) ** 2).mean()

    def step(params, x, y):
        value, grads = jx.value_and_grad(loss)(params, x, y)
        return jx.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, grads), value

    return step, (w1, w2), batch


def _shardings(jx, *specs):
    mesh = jx.sharding.Mesh(np.array(jx.devices()).reshape(4, 2), ("data", "model"))
    return [jx.NamedSharding(mesh, jx.P(*spec)) for spec in specs]


WAYS = {
    "data parallel": ((), (), ("data",), ("data",)),
    "tensor parallel": ((None, "model"), ("model",), (), ()),
    "both": ((None, "model"), ("model",), ("data",), ("data",)),
    "fully sharded": ((("data", "model"),), (("data", "model"),), ("data",), ("data",)),
}


def _trained(jx, way, steps=5):
    step, params, batch = mlp(jx)
    w1, w2, x, y = _shardings(jx, *WAYS[way])
    (whole,) = _shardings(jx, ())
    params = jx.device_put(params, (w1, w2))
    step = jx.jit(step, in_shardings=((w1, w2), x, y), out_shardings=((w1, w2), whole),
                  donate_argnums=0)
    losses = []
    for _ in range(steps):
        params, loss = step(params, *batch)
        losses.append(float(loss))
    return params, np.array(losses)


@pytest.mark.parametrize("way", WAYS)
def test_a_network_learns_on_eight_devices(way):
    step, params, batch = mlp(minijax)
    step, alone = minijax.jit(step), []
    for _ in range(5):
        params, loss = step(params, *batch)
        alone.append(float(loss))
    ours, losses = _trained(minijax, way)
    np.testing.assert_allclose(losses, alone, rtol=1e-5)
    theirs, their_losses = _trained(oracle, way)
    np.testing.assert_allclose(losses, their_losses, rtol=1e-5)
    for got, want, one in zip(ours, theirs, params):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(got, one, rtol=1e-4, atol=1e-6)
        assert str(got.sharding) == str(want.sharding)


def block(jx):
    """A transformer block whose heads and hidden units may be split, its parameters, an input."""
    random = np.random.RandomState(1)
    shapes = {"qkv": (16, 3, 4, 4), "out": (4, 4, 16), "up": (16, 32), "down": (32, 16)}
    params = {name: random.randn(*shape).astype(np.float32) / 4 for name, shape in shapes.items()}
    specs = {"qkv": (None, None, "model"), "out": ("model",), "up": (None, "model"),
             "down": ("model",)}  # fmt: skip

    def normalised(x):
        return (x - x.mean(-1, keepdims=True)) / jx.numpy.sqrt(x.var(-1, keepdims=True) + 1e-5)

    def loss(params, x):
        q, k, v = jx.numpy.einsum("bsd,dthe->tbhse", normalised(x), params["qkv"])
        weights = jx.nn.softmax(jx.numpy.einsum("bhqe,bhke->bhqk", q, k) / 2)
        heads = jx.numpy.einsum("bhqk,bhke->bhqe", weights, v)
        x = x + jx.numpy.einsum("bhqe,hed->bqd", heads, params["out"])
        x = x + jx.nn.gelu(normalised(x) @ params["up"]) @ params["down"]
        return (x ** 2).mean()

    return jx.value_and_grad(loss), params, specs, random.randn(4, 8, 16).astype(np.float32)


def test_a_transformer_block_in_parallel():
    def program(jx):
        f, params, specs, x = block(jx)
        shardings = dict(zip(specs, _shardings(jx, *specs.values())))
        batch, whole = _shardings(jx, ("data",), ())
        split = jx.jit(f, in_shardings=(shardings, batch), out_shardings=(whole, shardings))
        return lambda: split(params, x)

    both(program, tol=1e-4)
    f, params, _, x = block(minijax)
    alone, ours = minijax.jit(f)(params, x), program(minijax)()
    for got, want in zip(*map(minijax.tree.leaves, (ours, alone)), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)


def test_parameters_are_made_where_they_lie():
    """Nothing is computed whole: each device makes its part."""
    def init(jx):
        keys = jx.random.split(jx.random.key(0))
        return [jx.random.normal(key, (8, 64)) for key in keys]

    for jx, spec in itertools.product((minijax, oracle), [("data",), (None, ("data", "model"))]):
        (sharding,) = _shardings(jx, spec)
        made = jx.jit(lambda jx=jx: init(jx), out_shardings=sharding)()
        for got, want in zip(made, init(minijax)):
            assert got.sharding == sharding
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
