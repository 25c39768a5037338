"""`shard_map`, as in JAX: specs, types, transformations of it and in it, errors, programs."""

from __future__ import annotations

import contextlib
import io
from importlib import import_module

import numpy as np
import pytest

from tests.oracle import both, in_both, subject
from tests.parallel.collectives.test_collectives_on_devices import loss, mesh

X = (np.random.default_rng(0).normal(size=(8, 4)) / 2).astype("f")
W = np.random.default_rng(1).normal(size=(4, 4)).astype("f")
B = np.array([[1, 2], [3, 4]], "f")
CHECKS = pytest.mark.parametrize("check_vma", [True, False])


def shard_map(jx, f, in_specs, out_specs, **options):
    """On a mesh of 4 x 2 devices, with axes i and j; specs as text."""
    def spec(text):
        return eval(text, {"P": jx.P}) if isinstance(text, str) else text

    return jx.shard_map(f, in_specs=spec(in_specs), out_specs=spec(out_specs),
                        **{"mesh": mesh(jx, 4, 2)} | options)


def product_sum(jx, **options):
    return shard_map(jx, lambda a, b: jx.lax.psum(a * b, "i"), "(P('i', 'j'), P())",
                     "P(None, 'j')", **options)


# ----------------------------------------------------------------------------------------------
# Transformations

TRANSFORMS = {
    "value": lambda jx, f: f(X, B),
    "jit": lambda jx, f: jx.jit(f)(X, B),
    "jvp": lambda jx, f: jx.jvp(f, (X, B), (X, B)),
    "grad": lambda jx, f: jx.grad(loss2(jx, f), (0, 1))(X, B),
    "jit of grad": lambda jx, f: jx.jit(jx.grad(loss2(jx, f), (0, 1)))(X, B),
    "vjp": lambda jx, f: jx.vjp(f, X, B)[1](f(X, B)),
    "linearize": lambda jx, f: jx.linearize(f, *map(jx.numpy.asarray, (X, B)))[1](X, B),
    "vmap": lambda jx, f: jx.vmap(f, (None, 0))(X, np.stack([B, -B])),
    "vmap of the split one": lambda jx, f: jx.vmap(f, (1, None), 1)(np.stack([X, -X], 1), B),
    "vmap of grad": lambda jx, f: jx.vmap(jx.grad(loss2(jx, f), 1), (None, 0))(
        X, np.stack([B, -B])),
    "grad of vmap": lambda jx, f: jx.grad(
        lambda b: jx.vmap(f, (None, 0))(X, jx.numpy.stack([b, -b])).sum())(B),
    "hessian": lambda jx, f: jx.hessian(lambda b: (f(X, b) ** 2).sum())(B),
    "checkpoint": lambda jx, f: jx.grad(
        jx.checkpoint(lambda x: (f(jx.numpy.sin(x), B) ** 2).sum()))(X),
    "scan over it": lambda jx, f: jx.lax.scan(
        lambda b, _: (b + f(X, b).sum(0).reshape(2, 2) / 9, None), B, None, 3)[0],
    "linear_transpose": lambda jx, f: jx.linear_transpose(lambda x: f(x, B), X)(f(X, B)),
}


def loss2(jx, f):
    return lambda *args: jx.numpy.sin(f(*args)).sum()


@CHECKS
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transformations(name, check_vma):
    both(lambda jx: lambda: TRANSFORMS[name](jx, product_sum(jx, check_vma=check_vma)))


@CHECKS
@in_both
def test_jaxprs(jx, check_vma):
    f = product_sum(jx, check_vma=check_vma)
    weights, b = jx.numpy.arange(4.0), jx.numpy.asarray(B)

    def closed_over(x, v):
        return shard_map(jx, lambda a: jx.lax.psum(a * weights * v, "i").sum(1), "P('i')",
                         "P(None)", check_vma=check_vma)(x)

    return (jx.make_jaxpr(f)(X, B), jx.make_jaxpr(jx.vmap(f, (0, None)))(
        X[None], B), jx.make_jaxpr(lambda x: jx.jvp(f, (x, b), (x, b)))(X),
        jx.make_jaxpr(closed_over)(X, weights))


@CHECKS
@in_both
def test_the_jaxpr_of_a_gradient_has_two(jx, check_vma):
    """Residuals leave the devices: what differs is put side by side, scalars with a dimension."""
    def f(a):
        return jx.lax.psum(jx.numpy.exp(a).sum() * jx.numpy.sin(a.sum()), "i")

    mapped = shard_map(jx, f, "P('i')", "P()", check_vma=check_vma)
    lines = str(jx.make_jaxpr(lambda x: jx.vjp(mapped, x)[1](2.0))(X)).split("\n")
    return [line.strip() for line in lines if "specs" in line or " psum" in line]


# ----------------------------------------------------------------------------------------------
# What a body may do

BODIES = {
    "axis_index": "x * lax.axis_index('i') + lax.axis_index('j')",
    "a constant": "x + 1 + jnp.arange(4.0)",
    "jit": "jax.jit(lambda x, y: jnp.sin(x) * y)(x, 2.0)",
    "custom_jvp": "jax.nn.relu(x) * lax.psum(jax.nn.silu(x), 'i')",
    "checkpoint": "jax.checkpoint(lambda x: lax.psum(jnp.sin(jnp.sin(x)), 'i') * x)(x)",
    "vmap": "jax.vmap(lambda r: r * lax.psum(r, 'i'))(x)",
    "grad": "jax.grad(lambda w: jnp.sin(w * x).sum())(2.0)[None, None] * x",
    "grad by a shared value": "jax.grad(lambda w: (w + lax.axis_index('i')) * 3.0)(2.0) * x",
    "jvp": "jax.jvp(lambda w: lax.psum(w * x, 'i'), (2.0,), (1.0,))[1] + x",
    "scan": "lax.scan(lambda c, r: (c + r.sum(), c * r), vary(0.0), x)[1]",
    "scan with a collective": "lax.scan(lambda c, r: (lax.psum(c, 'i') * r, c), x[0], x)[1]",
    "while": "lax.while_loop(lambda c: c[1] < 3, lambda c: (c[0] * c[0], c[1] + 1), (x, 0))[0]",
    "fori with messages": "lax.fori_loop(0, 3, lambda i, c: x + lax.ppermute(c, 'i', RING) / 2, x)",
    "cond": "lax.cond(lax.axis_index('i') > 1, jnp.sin, jnp.cos, x)",
    "cumsum": "jnp.cumsum(x, 0)",
    "solve": "jnp.linalg.solve(jnp.eye(2) * 5 + x[:, :2], x)",
    "indexing": "x[lax.axis_index('j')] * x.at[0].add(lax.axis_index('i'))",
    "large constant": "x + BIG[:2, :4]",
    "sort": "jnp.sort(x, 1)",
}
NOT_REVERSE = ("while",)


def body_program(jx, text, check_vma):
    def vary(x):
        return jx.lax.pcast(x, ("i", "j"), to="varying") if check_vma else x

    names = {"lax": jx.lax, "jnp": jx.numpy, "jax": jx, "vary": vary,
             "RING": [(i, (i + 1) % 4) for i in range(4)], "BIG": np.ones((50, 50), "f")}
    return shard_map(jx, eval(f"lambda x: {text}", names), "P('i')", "P(('i', 'j'))",
                     check_vma=check_vma)


@CHECKS
@pytest.mark.parametrize("name", BODIES)
@in_both
def test_bodies(jx, name, check_vma):
    f = body_program(jx, BODIES[name], check_vma)
    reverse = [] if name in NOT_REVERSE else [jx.grad(loss(jx, f))]
    return jx.jit(lambda x: (f(x), jx.jvp(f, (x,), (x,)), [g(x) for g in reverse]))(X)


@CHECKS
@pytest.mark.parametrize("policy", [
    "save_only_these_names('s')", "everything_saveable", "nothing_saveable", "dots_saveable"])
@in_both
def test_checkpoint_around_it_asks_the_policy_for_what_is_inside(jx, policy, check_vma):
    """What is done again, and what is not: counted in the jaxpr of the gradient."""
    name = import_module(f"{jx.__name__}.ad_checkpoint").checkpoint_name

    def body(x):
        y = jx.numpy.cos(jx.numpy.sin(x) @ x.T)
        return jx.lax.psum(jx.numpy.exp(y) * name(jx.numpy.tanh(y.sum()), "s"), "i")

    f = shard_map(jx, body, "P('i')", "P()", check_vma=check_vma)
    g = jx.checkpoint(lambda x: f(jx.numpy.sin(x)).sum(),
                      policy=eval(f"jx.checkpoint_policies.{policy}", {"jx": jx}))
    text = str(jx.make_jaxpr(jx.grad(g))(X))
    names = "sin", "cos", "exp", "tanh", "dot_general"
    return [text.count(f" = {name}") for name in names], jx.jit(jx.grad(g))(X)


@in_both
def test_custom_vjp(jx):
    @jx.custom_vjp
    def f(x):
        return x**2

    f.defvjp(lambda x: (x**2, x), lambda x, ct: (ct * x * 5,))
    mapped = shard_map(jx, lambda x: jx.lax.psum(f(x).sum(), "i"), "P('i')", "P()")
    return jx.grad(mapped)(X)


@in_both
def test_keys(jx):
    def f(key):
        own = jx.random.fold_in(key, jx.lax.axis_index("i"))
        return jx.random.normal(own, (2,))

    return shard_map(jx, f, "P()", "P('i')")(jx.random.key(0))


def test_callbacks_are_called_on_each_device():
    def program(jx):
        def f(x):
            jx.debug.callback(lambda i: seen.append(int(i)), jx.lax.axis_index("i"))
            return x

        def run():
            shard_map(jx, f, "P('i')", "P('i')", mesh=mesh(jx, 4))(X)
            jx.effects_barrier()
            return sorted(seen)

        seen: list = []
        return run

    both(program)


def test_nested():
    def program(jx):
        def inner(x):
            return jx.lax.psum(x, ("i", "j"))

        def outer(x):
            return shard_map(jx, inner, "P('j')", "P()", axis_names={"j"}, mesh=None)(x)

        f = shard_map(jx, outer, "P('i')", "P()", axis_names={"i"})
        return lambda x: (jx.make_jaxpr(f)(x), jx.jit(f)(x), jx.jit(jx.grad(loss(jx, f)))(x))

    both(program, X)


@in_both
def test_a_print_shows_the_values_on_all_devices(jx):
    def f(x):
        total = jx.lax.psum(x, "i")
        print(x, total, jx.typeof(x))
        return total

    with contextlib.redirect_stdout(io.StringIO()) as printed:
        out = shard_map(jx, f, "P('i', 'j')", "P(None, 'j')", mesh=mesh(jx, 2, 2))(X)
        jx.jit(shard_map(jx, f, "P('i', 'j')", "P(None, 'j')", mesh=mesh(jx, 2, 2)))(X)
    return out, printed.getvalue()


# ----------------------------------------------------------------------------------------------
# Arguments, specs, meshes


def call_program(row):
    """The text of a call as a program of either library."""
    def program(jx):
        names = {"shard_map": lambda *args, **kw: shard_map(jx, *args, **kw), "P": jx.P, "X": X,
                 "lax": jx.lax, "jax": jx, "np": np, "MESH": mesh(jx, 4, 2)}
        return lambda: eval(row, names)

    return program


@pytest.mark.parametrize("row", [
    "shard_map(lambda a: {'u': a['p'] + 1, 'v': (a['q'], a['q'] * 2)}, "
    "({'p': P('i'), 'q': P(None, 'j')},), {'u': P('i'), 'v': P(None, 'j')})({'p': X, 'q': X})",
    "shard_map(lambda a, s: a * s['k'], (P('i'), None), P('i'))(X, {'k': 3})",
    "shard_map(lambda: lax.axis_index('i')[None], (), P('i'))()",
    "shard_map(lambda x: X[:2] * x, P(), P(('i', 'j')))(3.0)",
    "shard_map(lambda x: None, P(), None)(3.0)",
    "jax.shard_map(mesh=MESH, in_specs=P('i'), out_specs=P('i'))(lambda x: x + 1)(X)",
    "shard_map(lambda x: lax.psum(x, ('i', 'j')), P(('i', 'j')), P(None))(np.arange(8))",
    "jax.vmap(shard_map(lambda x: lax.psum(x, 'i'), P('i'), P(), mesh=MESH), "
    "spmd_axis_name='j')(np.ones((4, 8, 2), 'f'))",
    "jax.eval_shape(shard_map(lambda x: x.sum(keepdims=True), P('i', 'j'), P('i', 'j')), X).shape",
    "str(jax.jit(shard_map(lambda x: x, P('i'), P('i')))(X).sharding)",
    "str(jax.typeof(jax.numpy.ones(3)))",
])
def test_calls(row):
    both(call_program(row))


STRUCTS = {
    "zeros_like": lambda jx, s: jx.numpy.zeros_like(s),
    "ones_like": lambda jx, s: jx.numpy.ones_like(s, dtype="int32"),
    "empty_like": lambda jx, s: jx.numpy.empty_like(s, shape=(7,)),
    "full_like": lambda jx, s: jx.numpy.full_like(s, 2.0),
    "lax.full_like": lambda jx, s: jx.lax.full_like(s, 2.0),
    "like": lambda jx, s: jx.numpy.zeros_like(jx.ShapeDtypeStruct.like(jx.numpy.ones_like(s))),
    "new": lambda jx, s: jx.numpy.zeros_like(jx.ShapeDtypeStruct(
        s.shape, s.dtype, sharding=s.sharding, manual_axis_type=s.manual_axis_type)),
    "its update": lambda jx, s: jx.numpy.zeros_like(s.update(shape=(3,))),
    "only its shape": lambda jx, s: jx.numpy.zeros(s.shape, s.dtype),
    "traced again": lambda jx, s: jx.numpy.zeros_like(jx.eval_shape(lambda x: 2 * x, s)),
    "a trace's": lambda jx, s: jx.numpy.zeros_like(jx.jit(lambda x: x).trace(s).out_info),
    "under vmap": lambda jx, s: jx.vmap(lambda x: jx.numpy.zeros_like(jx.eval_shape(
        lambda y: y * x, x)))(jx.numpy.zeros_like(s)),
}


def said(axes):
    """What a struct says of manual axes; the order of sets differs between processes."""
    return axes and [sorted(names) for names in (axes.varying, axes.unreduced, axes.reduced)]


@pytest.mark.parametrize("spec, check_vma", [
    ("P('i')", True), ("P('i', 'j')", True), ("P()", True), ("P('i')", False)])
def test_structs_say_along_which_axes_values_vary(spec, check_vma):
    def program(jx):
        def body(x):
            struct = jx.eval_shape(lambda x: x[0] * 2, x)
            seen.append(said(struct.manual_axis_type))
            seen.append(said(jx.ShapeDtypeStruct.like(x).manual_axis_type))
            seen.extend((name, str(jx.typeof(make(jx, struct)))) for name, make in STRUCTS.items())
            return x

        def run():
            seen.clear()
            return shard_map(jx, body, spec, spec, check_vma=check_vma)(X), list(seen)

        seen = []
        return run

    both(program)


def test_structs_of_foreign_axes():
    """JAX takes them only with the sharding of a type, and then an assertion of its own fails."""
    axes = subject.sharding.ManualAxisType(varying=frozenset({"k"}))
    struct = subject.ShapeDtypeStruct((2,), "float32", manual_axis_type=axes)
    with pytest.raises(ValueError, match="should be of type `Manual`.*{'k'} are not"):
        subject.eval_shape(lambda x: x, struct)
    with pytest.raises(ValueError, match="manual axes of the mesh in force are"):
        shard_map(subject, lambda x: subject.numpy.zeros_like(struct), "P('i')", "P('i')")(X)


@pytest.mark.parametrize("jitted", [False, True])
@in_both
def test_a_loop_starts_with_zeros_of_the_type_of_its_body(jx, jitted):
    def body(x):
        zeros = jx.numpy.zeros_like(jx.eval_shape(lambda x: x * x, x[0]))
        return jx.lax.scan(lambda total, x: (total + x * x, None), zeros, x)[0]

    mapped = shard_map(jx, body, "P('i', 'j')", "P(('i', 'j'))")
    return (jx.jit(mapped) if jitted else mapped)(X)


@in_both
def test_the_mesh_in_force(jx):
    with jx.set_mesh(mesh(jx, 4, 2)):
        f = shard_map(jx, lambda x: jx.lax.psum(x, "i"), "P('i', 'j')", "P(None, 'j')",
                      mesh=None)
        g = jx.smap(lambda x: jx.lax.psum(x, "i"), in_axes=0, out_axes=None,
                    axis_name="i")
        return jx.make_jaxpr(f)(X), f(X), jx.jit(f)(X), jx.grad(loss(jx, f))(X), g(X)


@in_both
def test_arguments_that_lie_elsewhere_are_brought(jx):
    f = product_sum(jx)
    other = jx.sharding.NamedSharding(mesh(jx, 8), jx.P("i"))
    turned = mesh(jx, 2, 4).devices.T
    along = jx.sharding.NamedSharding(jx.sharding.Mesh(turned, ("a", "b")), jx.P("b"))
    return (jx.jit(f)(jx.device_put(X, other), B), f(jx.device_put(X, other), B),
            jx.jit(f)(jx.device_put(X, along), B))


@in_both
def test_one_device(jx):
    one = jx.sharding.Mesh(np.array(jx.devices()[:1]), ("i",))
    f = shard_map(jx, lambda x: jx.lax.psum(x * (1 + jx.lax.axis_index("i")), "i"), "P('i')",
                  "P()", mesh=one)
    return (f(X), jx.grad(loss(jx, f))(X))


@pytest.mark.parametrize("row", [
    "shard_map(lambda x: x, P('i'), P('i'))(np.ones(7))",
    "shard_map(lambda x: x, P('i', 'j'), P('i'))(np.ones(8))",
    "shard_map(lambda x: x, P('i'), P())(X)",
    "shard_map(lambda x: x.sum(), P('i'), P('i'))(X)",
    "shard_map(lambda x: x.sum(), P('i'), P('i'), check_vma=False)(X)",
    "shard_map(lambda x: x, (P('i'), P('j')), P('i'))(X)",
    "shard_map(lambda x: x, P('z'), P('i'))(X)",
    "shard_map(lambda x: x, P('i'), P('z'))(X)",
    "shard_map(lambda x: x, P('i'), P('j'), axis_names={'i'})(X)",
    "shard_map(lambda x: x, ('i',), P('i'))(X)",
    "shard_map(lambda x: x, P('i'), (P('i'), P('i')))(X)",
    "shard_map(lambda x: x, P('i'), P('i'), mesh=None)(X)",
    "shard_map(lambda x: x, P('i'), P('i'), mesh=3)(X)",
    "shard_map(lambda x: x, P('i'), P('i'), axis_names={'q'})(X)",
    "shard_map(lambda x: x, P('i'), P('i'), axis_names='i')(X)",
    "shard_map(lambda x: x, P('i'), P('i'))(x=X)",
    "shard_map(lambda x: x, P('i'), P('i'))('text')",
    "shard_map(lambda x: (x, 'text'), P('i'), P('i'))(X)",
    "shard_map(3, P('i'), P('i'))",
    "jax.shard_map(lambda x: x, mesh=MESH, out_specs=P())(X)",
    "shard_map(lambda x: lax.scan(lambda c, r: (c + r, c), np.zeros(4, 'f'), x), P('i'), P('i'))"
    "(X)",
    "shard_map(lambda x: lax.while_loop(lambda c: c.sum() < 1, lambda c: c + x.sum(), "
    "np.zeros(4, 'f')), P('i'), P('i'))(X)",
    "shard_map(lambda x: lax.cond(x.sum() > 0, lambda x: x, lambda x: jax.numpy.zeros((2, 4)), x)"
    ", P('i'), P('i'))(X)",
    "shard_map(lambda x: x, P('i'), P('i'), mesh=None)(X)",
])
def test_errors(row):
    outcome = both(call_program(row))
    assert outcome.error is not None


def test_errors_name_the_argument_and_tell_what_to_do():
    jx = subject
    with pytest.raises(ValueError, match=r"(?s)batch\['x'\].*dimension 0, of size 7.*of size 4"):
        shard_map(jx, lambda batch: batch, "P('i')", "P('i')")({"x": np.ones(7)})
    with pytest.raises(ValueError, match=r"(?s)result\[1\].*and not \{i\}.*check_vma"):
        shard_map(jx, lambda x: (1, x), "P('i')", "P()")(X)
    with pytest.raises(TypeError, match="pcast"):
        shard_map(jx, lambda x: jx.lax.scan(lambda c, r: (c + r, c), np.zeros(4, "f"), x),
                  "P('i')", "P('i')")(X)
    with pytest.raises(NameError, match=r"nowhere.*in scope here: \['i', 'j'\]"):
        shard_map(jx, lambda x: jx.lax.psum(x, "nowhere"), "P('i')", "P('i')")(X)


@in_both
def test_without_specs_arrays_are_taken_as_they_lie(jx):
    """JAX finds it in their types, minijax in the arrays, as far as it can."""
    explicit = jx.make_mesh((4, 2), ("i", "j"))
    x = jx.device_put(X, jx.sharding.NamedSharding(explicit, jx.P("i", "j")))
    f = jx.shard_map(lambda x, w: jx.lax.psum(x @ w[:2], ("i", "j")), mesh=explicit,
                     out_specs=jx.P())
    w = jx.device_put(W, jx.sharding.NamedSharding(explicit, jx.P(None, None)))
    return (f(x, w), jx.jit(f)(x, w))


@in_both
def test_old_name(jx):
    old = import_module(f"{jx.__name__}.experimental.shard_map").shard_map
    return old(lambda x: jx.lax.psum(x, "i"), mesh(jx, 4), jx.P("i"), jx.P(),
               check_rep=False)(X)


def test_a_body_is_traced_and_compiled_once():
    traced = []
    f = shard_map(subject, lambda x: traced.append(0) or x, "P('i')", "P('i')")
    subject.grad(loss(subject, f))(X), subject.grad(loss(subject, f))(X)
    assert len(traced) == 1
    f(X), f(X)
    assert len(traced) == 2


# ----------------------------------------------------------------------------------------------
# Programs

SIZES = [(16, 8), (8, 8), (8, 4)]


def data():
    rng = np.random.default_rng(0)
    params = [(rng.normal(size=size).astype("f") / 3, np.zeros(size[1], "f")) for size in SIZES]
    return params, rng.normal(size=(16, 16)).astype("f"), rng.normal(size=(16, 4)).astype("f")


def predict(jx, params, x):
    for weights, bias in params[:-1]:
        x = jx.nn.relu(x @ weights + bias)
    weights, bias = params[-1]
    return x @ weights + bias


def squared_error(jx, params, x, y):
    return ((predict(jx, params, x) - y) ** 2).mean()


def data_parallel(jx):
    """Each device has a part of the examples: gradients are averaged."""
    def step(params, x, y):
        value, grads = jx.value_and_grad(lambda params: jx.lax.pmean(
            squared_error(jx, params, x, y), "i"))(params)
        return value, jx.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, grads)

    return jx.shard_map(step, mesh=mesh(jx, 8), in_specs=(jx.P(), jx.P("i"), jx.P("i")),
                        out_specs=jx.P())


def fully_sharded(jx):
    """Each device has a part of the parameters, too, and gathers them when they are needed."""
    def predict_sharded(params, x):
        whole = [(jx.lax.all_gather(w, "i", tiled=True), jx.lax.all_gather(b, "i", tiled=True))
                 for w, b in params]
        return predict(jx, whole, x)

    def value(params, x, y):
        return jx.lax.pmean(((jx.checkpoint(predict_sharded)(params, x) - y) ** 2).mean(), "i")

    mapped = jx.shard_map(value, mesh=mesh(jx, 4), in_specs=jx.P("i"), out_specs=jx.P())
    return jx.value_and_grad(mapped)


def tensor_parallel(jx):
    """Features are split: products are summed and scattered."""
    def layer(x, weights, bias):
        return jx.lax.psum_scatter(x @ weights, "i", scatter_dimension=1, tiled=True) + bias

    split = jx.shard_map(layer, mesh=mesh(jx, 4), out_specs=jx.P(None, "i"),
                         in_specs=(jx.P(None, "i"), jx.P("i"), jx.P("i")))

    def value(params, x, y):
        for weights, bias in params:
            x = jx.numpy.tanh(split(x, weights, bias))
        return ((x - y) ** 2).mean()

    return jx.value_and_grad(value)


def pipeline(jx):
    """Each device has a layer; small batches wander from one to the next."""
    size = 4

    def run(weights, batches):
        stage = jx.lax.axis_index("i")
        ring = [(k, (k + 1) % size) for k in range(size)]

        def step(carry, k):
            state, outs = carry
            state = jx.numpy.where(stage == 0, batches[k % size], state)
            state = jx.numpy.tanh(state @ weights[0])
            outs = outs.at[k % size].set(jx.numpy.where(stage == size - 1, state, 0))
            return (jx.lax.ppermute(state, "i", ring), outs), None

        start = jx.lax.pcast((batches[0] * 0, batches * 0), "i", to="varying")
        (_, outs), _ = jx.lax.scan(step, start, np.arange(2 * size - 1))
        return jx.lax.psum(jx.numpy.roll(outs, 1, 0), "i")

    mapped = jx.shard_map(run, mesh=mesh(jx, size), in_specs=(jx.P("i"), jx.P()),
                          out_specs=jx.P())
    weights = np.random.default_rng(0).normal(size=(size, 4, 4)).astype("f")

    def value(x):
        return jx.value_and_grad(lambda w: (mapped(w, x.reshape(size, -1, 4)) ** 2).sum())(weights)

    return lambda params, x, y: value(x)


def ring_product(jx):
    """A product of matrices whose right factor wanders from device to device."""
    size = 4

    def block(x, y):
        place = jx.lax.axis_index("i")
        width = x.shape[1] // size
        out = 0.0
        for k in range(size):
            here = (place - k) % size
            out += jx.lax.dynamic_slice_in_dim(x, here * width, width, 1) @ y
            y = jx.lax.ppermute(y, "i", [(i, (i + 1) % size) for i in range(size)])
        return out

    mapped = jx.shard_map(block, mesh=mesh(jx, size), in_specs=jx.P("i"), out_specs=jx.P("i"))
    return lambda params, x, y: (mapped(x, y), jx.grad(lambda x: jx.numpy.sin(
        mapped(x, y)).sum())(x))


@pytest.mark.parametrize("make", [data_parallel, fully_sharded, tensor_parallel, pipeline,
                                  ring_product])
def test_programs(make):
    both(lambda jx: jx.jit(make(jx)), *data())


def test_data_parallel_training_is_that_on_one_device():
    params, x, y = data()
    step = subject.jit(data_parallel(subject))
    alone = subject.jit(subject.value_and_grad(lambda p: squared_error(subject, p, x, y)))
    together = params
    for _ in range(3):
        value, together = step(together, x, y)
        expected, grads = alone(params)
        params = subject.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, grads)
        np.testing.assert_allclose(value, expected, rtol=1e-5)


@pytest.mark.parametrize("spec", ["P()", "P(None)", "P('i')", "P('i', None)", "P(None, None)",
                                  "(P(None, 'i'), P('i', None))"])
@pytest.mark.parametrize("devices", [1, 2])
def test_results_of_an_eager_call_have_the_sharding_that_the_specs_say(spec, devices):
    def program(jx):
        mesh = jx.make_mesh((devices,), ("i",), axis_types=(jx.sharding.AxisType.Auto,))
        specs = eval(spec, {"P": jx.P})
        f = jx.shard_map(lambda x: (x, x) if type(specs) is tuple else x, mesh=mesh,
                         in_specs=jx.P(), out_specs=specs, check_vma=False)
        return lambda x: [str(y.sharding.spec) for y in jx.tree.leaves(f(x))]

    both(program, np.ones((2, 4), np.float32))
