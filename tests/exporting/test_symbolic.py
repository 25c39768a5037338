"""`jax.export` of functions for sizes that are not known: symbolic shapes."""

from __future__ import annotations

import base64
import zlib
from importlib import import_module

import numpy as np
import pytest

import minijax
import minijax.numpy as jnp
from minijax import export
from minijax.exporting import dimensions
from tests.oracle import both

S = minijax.ShapeDtypeStruct
W, TABLE = np.linspace(-1, 1, 12, dtype="float32").reshape(4, 3), np.ones((5, 2), "float32")


def exporting(jx):
    return import_module(f"{jx.__name__}.export")


# ----------------------------------------------------------------------------------------------
# Sizes

SPECS = ["b, 4", "2*b, b+1, 1 + b", "b*b + b*2, a + b*2 - 1", "floordiv(b, 2), mod(b,3), max(a,b), min(a, 3)",
         "b^2*a - 3*c + 1", "a - b", "2*a*b + 3*b*a", "-b + 10", "(b, 3)", "b-b", "3, b-b+2", "()", "", "0*b",
         "a*b*c+a*b+b*c+a*c+a+b+c+1", "floordiv(a,2)+a+b*3+mod(b,2)*c"]


@pytest.mark.parametrize("spec", SPECS)
def test_shapes_as_text(spec):
    both(lambda jx: lambda: str(exporting(jx).symbolic_shape(spec)))


def test_placeholders():
    both(lambda jx: lambda: [str(exporting(jx).symbolic_shape(spec, like=(3, 4, 5)))
                             for spec in ("b, ...", "b, _, c", "...", None)])
    both(lambda jx: lambda: [str(x) for x in jx.tree.leaves(exporting(jx).symbolic_args_specs(
        (np.ones((3, 4), "float32"), {"a": np.ones(3, "float32")}, [np.ones(2, "int32")]),
        ("b, ...", {"a": "c"}, None)))])


@pytest.mark.parametrize("spec", ["b, ...", "_, 4", "b; 3", "b, 4)", "a*(b+1)", "4*(a+b)", "b,, c", "+", 3])
def test_texts_that_are_no_shapes(spec):
    both(lambda jx: lambda: exporting(jx).symbolic_shape(spec), raises=ValueError)


OPERATIONS = [
    "a+b-1", "a*b", "(2*a)//2", "(a*b)//b", "(2*a+4)%2", "(a+1)//2", "a**2", "(2*a+1)%2", "(2*a+1)//2", "(a*b+b)//b",
    "6*a//4", "3-a", "-a", "max(a, 1)", "a//b", "7//a", "7%a"]
ANSWERED = ["a*b==b*a", "a==b", "a==3", "a>=1", "a>0", "a!=0", "2*a>a", "a+b>1", "bool(a)", "a%4<4",
            "c>=d", "c==d", "c>d", "c-d>=1", "e>=3", "e>3", "e<10", "2*e>=8", "d<=c", "d>=c", "hash(a)==hash(b)"]
OPEN = ["a>=b", "a*b>=a", "a>=2", "a<b", "e>=5", "a*b>4"]


def sizes(jx):
    shape = exporting(jx).symbolic_shape
    (a, b), (c, d) = shape("a, b"), shape("c, d", constraints=["c>=d+2"])
    (e,) = shape("e", constraints=["e>=4", "e<=9"])
    return {"a": a, "b": b, "c": c, "d": d, "e": e}


@pytest.mark.parametrize("expression", OPERATIONS)
def test_arithmetic(expression):
    both(lambda jx: lambda: str(eval(expression, sizes(jx))))


def test_comparisons():
    both(lambda jx: lambda: [eval(expression, sizes(jx)) for expression in ANSWERED])


@pytest.mark.parametrize("expression", [*OPEN, "int(a)"])
def test_comparisons_without_an_answer(expression):
    both(lambda jx: lambda: eval(expression, sizes(jx)), raises="InconclusiveDimensionOperation")


def test_scopes_are_not_mixed():
    both(lambda jx: lambda: eval("a + c", sizes(jx)), raises=ValueError)
    both(lambda jx: lambda: [sizes(jx)["a"] == sizes(jx)["a"], exporting(jx).is_symbolic_dim(sizes(jx)["a"])])
    both(lambda jx: lambda: exporting(jx).export(jx.jit(lambda x, y: (x, y)))(
        jx.ShapeDtypeStruct((sizes(jx)["a"],), "float32"), jx.ShapeDtypeStruct((sizes(jx)["a"],), "float32")),
        raises=ValueError)
    for arguments in ({"constraints": ["a > 1"]}, {"constraints": "a >= 1"}, {"constraints": ["a>=1"],
                      "scope": export.SymbolicScope()}, {"constraints": ["1 >= 2"]}):
        with pytest.raises(ValueError):
            export.symbolic_shape("a", **arguments)
    assert "a >= 3" in str(export.SymbolicScope(("a >= 3",)))


@pytest.mark.parametrize("values", [{"a": 1, "b": 1, "c": 2}, {"a": 7, "b": 4, "c": 3}, {"a": 2, "b": 9, "c": 5}])
def test_bounds_and_values(values):
    """Whatever is said of all values holds for these."""
    shape = export.symbolic_shape(
        "a - b, a*b - 3*c, mod(a, 3), floordiv(a + b, 2), max(a, b) - min(b, 4), mod(a - b, 4), floordiv(a - 9, 2), a*a")
    env = dict(values)
    expected = eval("(a - b, a*b - 3*c, a % 3, (a + b)//2, max(a, b) - min(b, 4), (a - b) % 4, (a - 9)//2, a*a)", env)
    for size, value in zip(shape, expected):
        low, high = dimensions.bounds(size)
        assert dimensions.evaluate(size, values) == value and low <= value <= high
        assert dimensions.variables(size) <= {"a", "b", "c"}


# ----------------------------------------------------------------------------------------------
# Functions, of x: f32[b, 4]

FUNCTIONS = {
    "elementwise": lambda x: jnp.tanh(x + 1) * jnp.sin(x) ** 3 / 2.0,
    "mlp": lambda x: minijax.nn.log_softmax(minijax.nn.relu(x @ W + W[0]) @ W.T),
    "reductions": lambda x: (x.sum(), x.sum(0), x.mean(1), x.max() - x.min(0), jnp.linalg.norm(x, axis=1)),
    "mean": lambda x: (x.mean(), x.std(0), x.var(1)),
    "norm": lambda x: (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5),
    "shapes": lambda x: (x.T, x.reshape(-1), x.reshape(x.shape[0], 2, 2), x[:, None], x.reshape(2, -1),
                         jnp.squeeze(x[:, None], 1), jnp.broadcast_to(x[:, :, None], (x.shape[0], 4, 2))),
    "made": lambda x: (jnp.zeros(x.shape) + x, jnp.ones_like(x) * x, jnp.where(x > 0, x, 0.0)),
    "joined": lambda x: (jnp.concatenate([x, x], 1), jnp.concatenate([x, x * 2]), jnp.pad(x, ((1, 0), (1, 2)))),
    "stacked": lambda x: jnp.stack([x, 2 * x], 1),
    "split": lambda x: jnp.split(x, 2, axis=1),
    "indices": lambda x: (x[:, 0], x[:, -1], x[0], x[:, 1:3], x[:, ::2], x[:, ::-1], x[:1], x[None, :, 0], x[-1]),
    "rest": lambda x: (x[1:], x[:-1], x[:x.shape[0] - 1]),
    "step": lambda x: minijax.lax.slice(x, (0, 0), (x.shape[0], 4), (2, 1)),
    "outer": lambda x: (x @ x.T, x[:, :, None] * x[:, None, :]),
    "einsum": lambda x: jnp.einsum("bi,ij,kj->bk", x, W, W),
    "classes": lambda x: (jnp.argmax(x, 1), minijax.nn.one_hot(jnp.argmin(x, 1), 4)),
    "lookup": lambda x: jnp.take(jnp.array(TABLE), (x > 0).astype(int), axis=0),
    "order": lambda x: (jnp.sort(x, 1), jnp.cumsum(x, 1)),
    "rows": lambda x: minijax.lax.scan(lambda y, row: (y * row + 1, y), W[:, 0], x),
    "backwards": lambda x: minijax.lax.scan(lambda y, row: (y / 2 + row, y), W[:, 0], x, reverse=True),
    "running": lambda x: (jnp.cumsum(x, 0), minijax.lax.cumsum(x, 0, reverse=True)),
    "records": lambda x: (jnp.cumprod(x, 0), minijax.lax.cummax(x, 0), minijax.lax.cummin((x * 9).astype(int), 0),
                          minijax.lax.cumlogsumexp(x, 0, reverse=True)),
    "strides": lambda x: (x[::2], x[::-1], x[:x.shape[0] // 2], x[1::3], x[:-1:2]),
    "rolled": lambda x: (jnp.roll(x, 1, axis=0), jnp.roll(x, -2, axis=0), jnp.roll(x, x.shape[0] // 2, axis=0)),
    "best": lambda x: (minijax.lax.top_k(x, 2), jnp.digitize(x, jnp.sort(W[0]))),
    "taken": lambda x: (x[jnp.array([0, -1])], jnp.take(x, jnp.array([0, 2, -5]), axis=0),
                        jnp.take_along_axis(x, jnp.argsort(x, 0), 0), x.at[jnp.array([-1, 0])].add(1.0)),
    "boxes": lambda x: (minijax.lax.dynamic_slice(x, (x[0, 0].astype(int) + 1, 1), (1, 2)),
                        minijax.lax.dynamic_update_slice(x, W[None, :, 0], (2, 0))),
    "ranges": lambda x: (jnp.arange(x.shape[0]), jnp.arange(1, x.shape[0] + 1, dtype=float),
                         jnp.arange(0, 2 * x.shape[0], 2), jnp.arange(x.shape[0], 0, -1)),
    "keys": lambda x: minijax.vmap(lambda key, row: minijax.random.normal(key) + row)(
        minijax.random.split(minijax.random.key(1), x.shape[0]), x),
    "gamma": lambda x: (minijax.random.gamma(minijax.random.key(0), 2.0, x.shape),
                        minijax.random.poisson(minijax.random.key(0), 3.0, x.shape)),
    "vmap": lambda x: minijax.vmap(lambda row: jnp.dot(row, W))(x),
    "loops": lambda x: minijax.lax.fori_loop(0, 3, lambda i, y: y * 2 + i, x),
    "scan": lambda x: minijax.lax.scan(lambda y, _: (y * 2, None), x, None, length=2)[0],
    "branches": lambda x: minijax.lax.cond(x.sum() > 0.5, lambda x: x, lambda x: -x, x),
    "grad": lambda x: minijax.grad(lambda x: jnp.sin(x @ W).sum())(x),
    "size": lambda x: x.sum() / x.shape[0] + x.shape[0] ** 2 + x.shape[0] // 2 + x.shape[0] % 3,
    "negative": lambda x: x.sum() * 0 + (x.shape[0] - 4) // 2 + (x.shape[0] - 4) % 3,
    "conv": lambda x: minijax.lax.conv_general_dilated(x[:, None], np.ones((1, 1, 2), "float32"), (1,), "VALID"),
    "half": lambda x: x.astype("bfloat16") * 2,
    "jit": lambda x: minijax.jit(lambda y: minijax.jit(jnp.sin)(y) * 2)(x),
    "checkpoint": lambda x: minijax.checkpoint(lambda y: jnp.sin(y) * 2)(x),
    "tile": lambda x: (jnp.tile(x, (2, 3)), jnp.tile(x[:, :1], (1, x.shape[0]))),
    "dropout": lambda x: jnp.where(minijax.random.bernoulli(minijax.random.key(0), 0.5, x.shape), x, 0),
    "fft": lambda x: jnp.abs(jnp.fft.fft(x)),
    "shifts": lambda x: (x > 0).astype(int) << 2 >> 1,
}
WITHOUT_GRADIENT = {"records", "strides", "rolled", "best", "taken", "boxes", "ranges", "keys", "gamma", "classes", "rest", "stacked", "lookup", "half", "loops", "fft", "shifts"}


def for_all_sizes(f, vjp_order=0):
    one = export.export(minijax.jit(f))(S(export.symbolic_shape("b, 4"), "float32"))
    return export.deserialize(one.serialize(vjp_order))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values(name):
    """As the function has them for sizes that are known; the gradients, too."""
    f = FUNCTIONS[name]
    with_gradient = name not in WITHOUT_GRADIENT
    one = for_all_sizes(f, int(with_gradient))
    assert one.uses_global_constants
    total = lambda g: lambda x: sum((y.sum() for y in minijax.tree.leaves(g(x))), 0.0)
    for size in (1, 3):
        x = np.linspace(-1, 1.5, 4 * size, dtype="float32").reshape(size, 4)
        for y, expected in zip(minijax.tree.leaves(one.call(x)), minijax.tree.leaves(f(jnp.array(x))), strict=True):
            assert (y.shape, y.dtype) == (expected.shape, expected.dtype)
            np.testing.assert_allclose(y.astype("float32"), expected.astype("float32"), rtol=1e-5, atol=1e-5)
    if with_gradient:
        grad, expected = minijax.grad(total(one.call))(x), minijax.grad(total(f))(jnp.array(x))
        np.testing.assert_allclose(grad, expected, rtol=1e-4, atol=1e-5)


SLICES = ["x[:2]", "x[2:]", "x[-2:]", "x[:-2]", "x[1:3]", "x[1:-1]", "x[3:1]", "x[-3:-1]", "x[5:7]", "x[:100]",
          "x[-100:]", "x[:n // 2]", "x[n // 2:]", "x[n - 1:]", "x[n:]", "x[:n + 1]", "x[-n:]", "x[:-n]", "x[::2]",
          "x[1::2]", "x[:4:2]", "x[::3]", "np.arange(10)[:0] + y[:n][:0]", "y[:n]", "y[n:]", "x[None, :2]"]


@pytest.mark.parametrize("text", [*SLICES, "x[-3:2]", "x[2:-2]", "y[n:-n:2]"])
def test_slices_between_any_bounds(text):
    """A bound beyond the end of a short dimension is that end, as for sizes that are known."""
    f = lambda x: eval(text, {"np": np, "x": x, "n": x.shape[0], "y": jnp.arange(10)})
    one = export.export(minijax.jit(f))(S(export.symbolic_shape("b"), "float32"))
    for size in range(1, 12):
        x = jnp.arange(1.0, size + 1)
        np.testing.assert_array_equal(one.call(x), f(x), strict=True)


@pytest.mark.parametrize("text", SLICES)
def test_types_of_slices_as_in_jax(text):
    def types(jx):
        f = lambda x: eval(text, {"np": np, "x": x, "n": x.shape[0], "y": jx.numpy.arange(10)})
        specs = [jx.ShapeDtypeStruct(exporting(jx).symbolic_shape(spec, constraints=constraints), "float32")
                 for spec, constraints in (("b", ()), ("b", ["b >= 8"]), ("2*b", ()), ("b + 1", ()))]
        return [str(exporting(jx).export(jx.jit(f))(spec).out_avals) for spec in specs]

    both(lambda jx: lambda: types(jx))


def test_types_as_in_jax():
    def types(jx):
        f = jx.jit(lambda x, y: (x @ y.T, x.reshape(-1), jx.numpy.concatenate([x, y]), x.mean(), x[:, 0]))
        specs = exporting(jx).symbolic_args_specs((TABLE, TABLE), ("b, 2", "2*c, 2"))
        one = exporting(jx).export(f)(*specs)
        return str(one.in_avals), str(one.out_avals), one.module_kept_var_idx, str(one.vjp().out_avals)

    both(lambda jx: lambda: types(jx))


SAMPLERS = {
    "normal": lambda jx, key, x: jx.random.normal(key, x.shape),
    "uniform": lambda jx, key, x: jx.random.uniform(key, (x.shape[0],)),
    "bits": lambda jx, key, x: jx.random.bits(key, x.shape),
    "bernoulli": lambda jx, key, x: jx.random.bernoulli(key, 0.3, x.shape),
    "randint": lambda jx, key, x: jx.random.randint(key, x.shape, 0, 9),
    "categorical": lambda jx, key, x: jx.random.categorical(key, x),
    "truncated_normal": lambda jx, key, x: jx.random.truncated_normal(key, -1.0, 1.0, x.shape),
    "exponential": lambda jx, key, x: jx.random.exponential(key, x.shape),
}  # fmt: skip


@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_random_numbers_as_in_jax(sampler, raw):
    def program(jx):
        key = (jx.random.PRNGKey if raw else jx.random.key)(3)
        specs = jx.ShapeDtypeStruct(exporting(jx).symbolic_shape("b, 4"), "float32")
        f = exporting(jx).export(jx.jit(lambda x: SAMPLERS[sampler](jx, key, x)))(specs).call
        return lambda: [f(np.zeros((size, 4), "float32")) for size in (1, 5)]

    both(program)


REFUSED = {
    "a comparison": lambda x: jnp.linspace(0, 1, x.shape[0]),
    "all sizes of 1": lambda x: jnp.squeeze(x),
    "a tree of pairs": lambda x: minijax.lax.associative_scan(jnp.add, x),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_written(name):
    with pytest.raises((NotImplementedError, dimensions.InconclusiveDimensionOperation, ValueError)):
        for_all_sizes(REFUSED[name])


def test_programs_that_depend_on_the_size():
    with pytest.raises(dimensions.InconclusiveDimensionOperation, match="'b' > '3' is inconclusive"):
        for_all_sizes(lambda x: x if x.shape[0] > 3 else x + 1)
    with pytest.raises(TypeError, match="incompatible shapes"):
        export.export(minijax.jit(lambda x, y: x + y))(*export.symbolic_args_specs((TABLE, TABLE), ("b, 2", "c, 2")))
    with pytest.raises(ValueError, match="Cannot solve for values of dimension variables"):
        export.export(minijax.jit(lambda x: x))(*export.symbolic_args_specs((TABLE,), "b*c, 2"))
    with pytest.raises(NotImplementedError, match="only within a function that is exported"):
        export.symbolic_shape("b")[0] * 1.5


def test_arguments_that_do_not_fit():
    f = minijax.jit(lambda x, y: x.sum() + y.sum())
    one = export.export(f)(*export.symbolic_args_specs((TABLE, TABLE), ("b, 2", "2*b + 2, 2"), constraints=["b >= 2"]))
    x = lambda n: np.ones((n, 2), "float32")
    assert one.call(x(3), x(8)) == 22
    for sizes, words in {(3, 7): "inconsistency between dimension size args.1..shape.0. .= 7. and the specification",
                         (0, 2): "Expected value >= 1 for dimension variable 'b'", (1, 4): "Expected 'b - 2' to be greater or equal to 0, but found -1"}.items():
        with pytest.raises(ValueError, match=words):
            one.call(*map(x, sizes))
    with pytest.raises(ValueError, match="expected same constant"):
        one.call(x(3)[:, :1], x(8))
    caller = export.export(minijax.jit(one.call))(*export.symbolic_args_specs(
        (TABLE, TABLE), ("b, 2", "2*b + 2, 2"), constraints=["b >= 3"]))
    assert caller.call(x(3), x(8)) == 22
    with pytest.raises(ValueError, match="symbolic shape constraint b >= 2"):
        export.export(minijax.jit(one.call))(*export.symbolic_args_specs((TABLE, TABLE), ("b, 2", "2*b + 2, 2")))


def test_calls_are_transformed_and_compiled_for_each_size():
    one = for_all_sizes(lambda x: jnp.sin(x) * x.shape[0], vjp_order=1)
    x = np.ones((2, 4), "float32")
    twice = minijax.jit(lambda x: one.call(x).sum() + one.call(x[:1]).sum())
    np.testing.assert_allclose(twice(x), np.sin(1) * (8 * 2 + 4), rtol=1e-6)
    np.testing.assert_allclose(minijax.grad(twice)(x)[1], 2 * np.cos(1), rtol=1e-6)
    assert twice.lower(x).as_text().count("func.func private @call_exported__lambda") == 2
    several = export.export(minijax.jit(jnp.sin), platforms=("tpu", "cpu"))(S(export.symbolic_shape("b"), "float32"))
    np.testing.assert_allclose(several.call(x[0]), np.sin(x[0]), rtol=1e-6)


# What JAX 0.10.2 stored, with one derivative, of export(jit(lambda x, y: (x @ y.T, x.sum())))
# for f32[b, 2] and f32[2*c, 2].
STORED_BY_JAX = (
    'c-rk+4{RLOnSXEIz8z0qro%7{!*+SMyItJ%#<4fH$vMv7LXxGqkaN<M%SCB!yWSn!OZH!OX6^U_qLd;I0fH#!v!W;$MNx!MTTs<Q96}X`dI%w|LKScYdcBIPs$SLh5>!>FDy{E(GrQhh'
    '+a#`Xe-y#k-@Ny}?|bk2-tT?8p7|x45kec#BpOFwMqfgIiN1*Tg68vR2l^b^43=BbI@FJPPy$8Ko#<wC6S@IihgPF56aXtid5|KA3vv(0*V^QZ7>Nt73yEeG677aWOKt|a6=Vm9aNP^-'
    '6CmFJxvmG+?Gf_`l2Gef+?PC$mL9j+10Yq99UwO~#`nBEKM!830u7%>+s0yz>l%Jy&A~M}Z@n>)fA|PLVIOSs|F<jnHP_n!$c-%^ey5jZ3-PsR4Y~!zy^~mq`IkW^L5_iZ1>}h~5g~5D'
    'KHfdhUNT$qCde;AJ~aJ2Zn_ch0eKYU77Nz1mf{^iORsjU18x20SzHeP58vs;fAza7!~fQISBC$W-d!2~fkxI6%>2h25ZZI+#V@G)-RxM={`{SznW=&Pf%X0C5Z*#D?ZbqTUd^z=k$9pv'
    'H8i|w+x9zlkM2KkC`0~3`ht|gv$DYq4K8LdrZp}@GmJRX7+l`XZ@u5n9|o>)7dK5K$D5u;qhn|+5*hVJEM>413xiFJ<9=gU3_Sc8IBW?WXe`TO7N$&t)Q2@$KA_3Qu#reb!V%dp3|acD'
    '65$&qOb7U%N|<li#<yd>3-jam(jmSE^y}#`Hy_ps<vTII1M}UO@4<XO<_EE*n+N$rA>I!Y|4hO}9$G&f9tqPC9b>wQZlT-gZTvP&x6_^U4!Vo(rhDip--qcwx}P7w^e%dUAI9_`&tiIr'
    '+n65a1xz!%glU!^#Wct3nA&^>(+OJO=6w(^$E^qWgGqXXmSD7xTOs~<h*r3DlAB3_<9#YtWPUW#i@C$=D*5&~M)@=)GM0(KFrOjx!UaN3@#7Jyh$?_alt3gA!;9*h&>y|W@8$Q!WBh*p'
    'fXpHxy=8ji4GV*!IY*{MIR#fdtdj5km_G>jpYVtH!~7AV{^FvrKq|lDkHP(Y{&<|nBZQthMdS+?F2v)C5-}CY&qXu_q<n&(<g<K^pW>g9J}c4Fuvvwkp=Sx9t0X#2&q3!?65OsAw;LsT'
    '9-2=}SizE%#72^$`NpNFN!-nqHqAl@ENVDOD7Y(aN<x{g$g-wWS=Lobn_cQ%q9Ih5717`%Q5c8;*t6|{HH_kYcmT@*i4h!9_CierrUGQoaYa>m49T}+m;`s(yDNlhX@e0;aHA!SR_ImH'
    '(sZ9j6soD}PI*w$sil!LF}yq&O*0d0VWp)4udR|U^H_(Qw?tg+aJya7m4uem8;clPhczwftk2L=dP^G#rXZc6W>j-{v1t?QSmMtmT^%vEX}7hlLDJX)BvoxE1^`$9(_Om(q>vnVoy1bA'
    'qG(67O2mmz15#R;n0oqtPAnoPf*LUiPNp?Rl2liF(^`bclo>qT8-tEQ_4Fgc(*i|YC^Reh7_??sPoLmKCLtF16N&POvRCPr1A7QFsG^|mU`BvX(zyf?$4b%@Nv|VPlNE68l>;x6@Q`r!'
    '56nNpSnw|J!z3I`hz0zH(6rhI&@j~qMm%#vq0444E>6*i2M>Wkp(M=#GTF2gh(w@JlmR&au1wY;QYhFBMwl*)G8l*Cz<Y!bFV3QI6tF#iIp{Vbvqof9rs>%F_6~!NIxLbh{G?2PY82+E'
    '%nxgYR1r2DB$#6K^o9#cNRGrmqkLM~+I72py-cabOw$Yx#k6EhCz>8g#W%qf>F!mSVkq#*ff)*mbtgy6ojM<hSXRgkMRZfs!r{J%sfR3GWBORVP;?7rG&NbQpi(7YFWM-VEf(RA4$4(Z'
    ')oji7yJg4CmR->wua|S8t=Vq9R`#rQ$E}ny&3O~Ho5>eScG)RZ${DBd*WMCtEn9Y~7034Hma>I%-mZy3ww(8xyw^B((aw2+oWg{+e7@plChW3Z%fj-5s8olHtHl}5RG2E{y%nAM7)0<V'
    'Lbg+O&GiF0li6x>54o&smqEO#Gv#clkjsqKD%pH4>$sUhS)?s&cCA*aWlFZ=WG8I2*>UrQ@>X<r!R>*~XQuA1X70`&OQsgK)N}V#wI`Wu?Gb^!zwX#h#t&bu6lY46T6MDElu!w<?l0F%'
    '89>)9xB!yV($(y0u>k3aXqmQXV!Tn@kbTt4Br`o}*X*Q#5|wRKbOnwA#3q7efsO~F0A~RdFv8Ke8F!{?`&%kjV6#4wNl&wII!TnRO*k2GK$W_i$+=EuyqI-GK8MyFzKn6;a>l{S8HWy|'
    '#V4{9cn|LOy6}o8Tb>bHhAM_fy;@-k4jTFJXB`K&4nTY7GEuCIK`AwB8u>_iCMXxEE{Ho`0d*}~t=f4JGGiaBRscMK3u*_fRmsSoD{yJ_00hs!S|5WWg(tln+EuRB-Kdw86U|qm<%%0E'
    'W!>Cl)Sa}Wtt!bieVnSDD~v-yi0u2LJCDKGwe!)bY_V=fw{D3JM8_+&=)%Vh47GxIaEvC#68+J;oI-iRTYJ1xELNt)=t@zXjZtwtu#tYx9NiM_8Cx42Os@6R18r(}$ZZ)07x}NrCHteJ'
    'V=h1d2`|kM;y{kzeSF=$(eYZP)R~57?A%*NTF{C1c$1TBqy5pnMLX-*QOCBUldfBJHl|YfO3vvQr<%8?Qg%57C1yKr%0J3f>x0=p>6VIdZ``*~DSh5|fa7HVXxY)c4Ld11{a1a4JD_m9'
    '?M!C#(S`EyP=G=#N5$7}-EE$mf6$fjXd-vboaeyRoaex`cAkICXEOIO`b@%RFH;PV%CbuhELv*tS}TWirC!cQ3uW==rQpExMs6lLX1miie6(A86;DOcjw5QrE((7cy=Y6pZ+t>NKHmh5'
    'DjK}HDjNFORMEf{tH{Ib8mpthtEr>GwmKTRx;nb`|GJJAKl-B17b|$z@?8AK-lTXpLS65V&}q!x`Qb}H{TcZVl_c^4`4$aI^z;w(C(k`K`}Nt`S#pM+{w8^u{ruN2y?ma`lNaT)XU~S_'
    '=FZN&J~#J$arXvqd4sp+*t5U+;LLgQDtV1P`^s~#o~NguA<whl{_eTw&kMzCp!gpB{WG|YFU?i!OL*GV4f}uo*Zll1K}7#%kQ>@;fs6C=T_CGLt^*PC)-`P3xVSRj_05Yb<6Zw&#A>A1'
    'p5Nbq{?Utmev3Kdb(cCh<Ii1M8D~6sX=S-TacO0_@4eKSdo#bUw)9?#$J+ds!`lVB@VN)%D<BMX?XR6ugPZ<9{b*i#m|~g`yma?cUYh*9bfeUZPsoCjW-UTm(97DD8EIod44;N3b>G+H'
    'ngtmxT4P}W&qoZyek0iE(Ug%I6@FM|md`>bAo#F+KsJm>LKY<Suxv<w)fM5ZB+Q3L1p6E>(O%j|Q~Yr(Xy+}MZ^QgH+~A)*@|h0s2Or`OWBv#xa$jn|7&7RPV4c^~VLC!L@lDvLpPSq>'
    '-;D+REXe0kx=)bL`}rYE@8TIu5Ad8Ip(g|heMFGZtYWEVjyrXl;cOcE2L&CT<?KG_@8j$NXcU^`aZGJGL5Ma_3j`~2Ji(8sn3q&?{w%M^gdZjJ%o)KpJDqGZqr4#avQwuB{r+3L&ZpxM'
    'KEsd8fKw!iEo|smrg2Lp&%eR%h5HZqeS(B0%8!2{sO0nS35xmrPx(XfP@EI_%$YOsn4&}!pUXCuaM=-afvP6-)mLG-U@>B7(Lb6sXlTJ+^T+7pus`@FBU-S@E{Bsip2TVg$Gkkh%#%dX'
    'lZ5IzWsGWyu28=dUPLC#KAGH3LvK$KtOx$JOEAj4SPnehMR16DjPl<}q;EGh&1LxHP&(o9$&HqfbW#;esiN-GAJeGDXqtGjRhgts155^Osle$|k|vv>4mWRwu+rgny`(7-7E@bFn#LyV'
    'Okv%aC;?29y^yRW2WE+GDT-p*Rsr%=LPUwBkA_J%k>lwZPBcKI`!AFT0caG#fy#^;-9|Suf(q!wTCgo8a6eTwwwK0Q<ZUE)Q0$bZ563;umZr1aUPtlBTX0S+Pu_+-z7rEG7!wQl4Im{a'
    '1yZUO40+~;LYMU*lo-_v?vcKbXWHuZ$y-H`w-BhWLEfqm$rKE%Aa8|H24iY@^0om#{QAo&lr$o<Mr46~c%Z$*pd$~7qzpePQ!|3QJo45LYlT#$Mc$6ZPK4f-|2_D0u${Cex)zfop^!=G'
    'V$L?yogA^a&do^J3YmQ#WgF4WkZyexVcSO3E^xOk!nQ@!HmTc1gzX>2#xBq9UXh6Hpnn%Jx-~mr&v^#%EVH?oEsf=~TaydKYbPDs@OJ8@{~?w&;|KhIVpxx%nKs_IozrY>bmKCQeT$jR'
    '2J_h@K0jeP|2N)aJ|Q%(Nka1z-twB^EkB_ruS^Iu-}bv+TThQ*_U!A=z4JrzP4av4b@CcL`91xav)?-L?Gq<XkU4ttyW|D-qn|zZ!fEn8`E_V^_LbS+%+7xB%It4v$?w>OpFcZyn!HF}'
    'Vi&&i<cp{2$#di>_KROV`P6BlcnK6Q(~IZOO5f}M=@0Ys|NIC4oxQ1h6UJ{hbj^2EcfRu-`fKwmdxzdJzx@092GDPw_hW2s=-!@R+57ftZ<Q`2qoCJY$-DQzEXreT!&m%2x7CPwvsQVl'
    'w%)_LJWIgSwa;zF_;6nE4FRt&?9Hbj;rQPchJfn'
)


def test_what_jax_stored_is_called_for_all_sizes():
    one = export.deserialize(zlib.decompress(base64.b85decode(STORED_BY_JAX)))
    assert str(one.in_avals) == "(ShapedArray(float32[b,2]), ShapedArray(float32[2*c,2]))"
    for n, m in ((1, 2), (3, 4)):
        x, y = np.full((n, 2), 0.5, "float32"), np.full((m, 2), 3.0, "float32")
        np.testing.assert_array_equal(one.call(x, y)[0], x @ y.T)
        grad = minijax.grad(lambda x: one.call(x, y)[0].sum())(x)
        np.testing.assert_array_equal(grad, np.full((n, 2), 3.0 * m))
    with pytest.raises(ValueError, match="Division had remainder 1 when computing the value of 'c'"):
        one.call(x, y[:3])
