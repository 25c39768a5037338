"""Primitives that users define, with rules in every table, do the same in minijax as in JAX.

First the steps of JAX's tutorial "JAX Internals: primitives", then the helpers that fill the tables.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from tests.oracle import both, in_both, subject

F = np.float32


def same(program: Any, *args: Any) -> None:
    """The program succeeds, and gives the same in both libraries."""
    both(program, *args)


STAGES = ("impl", "abstract_eval", "lowering", "jvp", "transpose", "batching")


def multiply_add(jx: Any, known: tuple[str, ...] = STAGES) -> Any:
    """The tutorial's function `square_add`, on a new primitive with the rules in `known`."""
    ad, batching, mlir, lax = (
        jx.interpreters.ad, jx.interpreters.batching, jx.interpreters.mlir, jx.lax)
    primitive = jx.extend.core.Primitive("multiply_add")

    def call(x, y, z):
        return primitive.bind(x, y, z)

    def abstract_eval(x, y, z):
        assert x.shape == y.shape == z.shape
        return jx.core.ShapedArray(x.shape, x.dtype)

    def jvp(primals, tangents):
        x, y, z = primals
        xt, yt, zt = (lax.full_like(x, 0) if type(t) is ad.Zero else t for t in tangents)
        return call(x, y, z), call(xt, y, call(x, yt, zt))

    def transpose(ct, x, y, z):
        if not ad.is_undefined_primal(x) and not ad.is_undefined_primal(y):
            return None, None, ct  # as happens in second derivatives
        if not ad.is_undefined_primal(x):
            zero = ad.Zero(y.aval)
            y_ct = zero if type(ct) is ad.Zero else call(x, ct, lax.full_like(x, 0))
            return None, y_ct, ct
        zero = ad.Zero(x.aval)
        x_ct = zero if type(ct) is ad.Zero else call(ct, y, lax.full_like(y, 0))
        return x_ct, None, ct

    def batch(args, dims):
        size = next(x.shape[d] for x, d in zip(args, dims, strict=True) if d is not None)
        fronts = [batching.bdim_at_front(x, d, size) for x, d in zip(args, dims, strict=True)]
        return call(*fronts), 0

    def lowered(x, y, z):
        return lax.add(lax.mul(x, y), z)

    if "impl" in known:
        primitive.def_impl(lambda x, y, z: np.add(np.multiply(x, y), z))
    if "abstract_eval" in known:
        primitive.def_abstract_eval(abstract_eval)
    if "lowering" in known:
        rule = mlir.lower_fun(lowered, multiple_results=False)
        mlir.register_lowering(primitive, rule, platform="cpu")
    if "jvp" in known:
        ad.primitive_jvps[primitive] = jvp
    if "transpose" in known:
        ad.primitive_transposes[primitive] = transpose
    if "batching" in known:
        batching.primitive_batchers[primitive] = batch
    return lambda a, b: call(a, a, b)


ONE, TWO = F(2.0), F(10.0)
FIRST, SECOND = np.array([2.0, 3.0], F), np.array([10.0, 20.0], F)
USES = {
    "call": (lambda jx, f: lambda a, b: np.asarray(f(a, b)), (2.0, 10.0)),
    "make_jaxpr": (lambda jx, f: jx.make_jaxpr(f), (ONE, TWO)),
    "eval_shape": (lambda jx, f: lambda a, b: str(jx.eval_shape(f, a, b).dtype), (ONE, TWO)),
    "jit": (lambda jx, f: jx.jit(f), (2.0, 10.0)),
    "jit_static": (lambda jx, f: jx.jit(f, static_argnums=1), (2.0, 10.0)),
    "jvp": (lambda jx, f: jx.jit(lambda x, t: jx.jvp(f, x, t)), ((ONE, TWO), (ONE, ONE))),
    "jaxpr_of_jvp": (lambda jx, f: jx.make_jaxpr(lambda x, t: jx.jvp(f, x, t)),
                     ((ONE, TWO), (ONE, ONE))),
    "grad": (lambda jx, f: lambda a, b: np.asarray(jx.grad(f)(a, b)), (2.0, 10.0)),
    "jit_of_grad": (lambda jx, f: jx.jit(jx.grad(f)), (2.0, 10.0)),
    "jaxpr_of_grad": (lambda jx, f: jx.make_jaxpr(jx.grad(f, argnums=(0, 1))), (ONE, TWO)),
    "grad_of_jit": (lambda jx, f: jx.grad(jx.jit(f)), (ONE, TWO)),
    "hessian": (lambda jx, f: jx.jit(jx.grad(jx.grad(f))), (ONE, TWO)),
    "jvp_of_grad": (lambda jx, f: jx.jit(lambda x, t: jx.jvp(jx.grad(f), x, t)),
                    ((ONE, TWO), (ONE, ONE))),
    "linearize": (lambda jx, f: jx.jit(lambda a, b: jx.linearize(f, a, b)[1](a, b)), (ONE, TWO)),
    "vmap": (lambda jx, f: lambda a, b: np.asarray(jx.vmap(f)(a, b)), (FIRST, SECOND)),
    "jit_of_vmap": (lambda jx, f: jx.jit(jx.vmap(f)), (FIRST, SECOND)),
    "jaxpr_of_vmap": (lambda jx, f: jx.make_jaxpr(jx.vmap(f)), (FIRST, SECOND)),
    "vmap_of_grad": (lambda jx, f: jx.jit(jx.vmap(jx.grad(f))), (FIRST, SECOND)),
}


@pytest.mark.parametrize("name", USES)
def test_the_tutorial(name):
    use, args = USES[name]
    same(lambda jx: use(jx, multiply_add(jx)), *args)


NEEDED = {"call": "impl", "make_jaxpr": "abstract_eval", "jit": "lowering", "jvp": "jvp",
          "jit_of_grad": "transpose", "jit_of_vmap": "batching"}  # fmt: skip


@pytest.mark.parametrize("name", NEEDED)
def test_a_missing_rule(name):
    """Each step of the tutorial first fails; the message names the primitive."""
    use, args = USES[name]
    known = tuple(stage for stage in STAGES if stage != NEEDED[name])
    both(lambda jx: use(jx, multiply_add(jx, known)), *args, raises=NotImplementedError)
    with pytest.raises(NotImplementedError, match=r"multiply_add.*not (implemented|found)"):
        use(subject, multiply_add(subject, known))(*args)


# ----------------------------------------------------------------------------------------------
# The helpers


def lower(jx: Any, primitive: Any, fun: Any, multiple_results: bool = False) -> None:
    """Evaluate, type and lower the primitive as `fun` does."""
    mlir = jx.interpreters.mlir
    primitive.def_impl(lambda *args, **params: jx.jit(functools.partial(fun, **params))(*args))

    def abstract_eval(*avals, **params):
        out = jx.eval_shape(functools.partial(fun, **params), *avals)
        types = [jx.core.ShapedArray(o.shape, o.dtype) for o in jx.tree_util.tree_leaves(out)]
        return types if multiple_results else types[0]

    primitive.def_abstract_eval(abstract_eval)
    mlir.register_lowering(primitive, mlir.lower_fun(fun, multiple_results=multiple_results))


def cube(jx: Any) -> Any:
    """One operand: `defjvp`, `defvectorized`."""
    p = jx.extend.core.Primitive("cube")
    lower(jx, p, lambda x: x * x * x)
    jx.interpreters.ad.defjvp(p, lambda t, x: t * (3.0 * x * x))
    jx.interpreters.batching.defvectorized(p)
    return p.bind


def scaled_exp(jx: Any) -> Any:
    """A parameter, and a rule that uses the result: `defjvp2`."""
    p = jx.extend.core.Primitive("scaled_exp")
    lower(jx, p, lambda x, *, by: jx.numpy.exp(by * x))
    jx.interpreters.ad.defjvp2(p, lambda t, ans, x, *, by: t * (by * ans))
    jx.interpreters.batching.defvectorized(p)
    return functools.partial(p.bind, by=2.0)


def twice(jx: Any) -> Any:
    """Linear: `deflinear`."""
    p = jx.extend.core.Primitive("twice")
    lower(jx, p, lambda x: x + x)
    jx.interpreters.ad.deflinear(p, lambda ct: [p.bind(ct)])
    jx.interpreters.batching.defvectorized(p)
    return lambda x: p.bind(x) * x


def swap(jx: Any) -> Any:
    """Linear with a rule that looks at its operand: `deflinear2`; batched by hand."""
    p = jx.extend.core.Primitive("flip_last")

    def transpose(ct, x):
        assert jx.interpreters.ad.is_undefined_primal(x) and x.aval.shape == ct.shape
        return [p.bind(ct)]

    def batch(args, dims):
        (x,), (d,) = args, dims
        return p.bind(jx.numpy.moveaxis(x, d, 0)), 0

    lower(jx, p, lambda x: x[..., ::-1])
    jx.interpreters.ad.deflinear2(p, transpose)
    jx.interpreters.batching.primitive_batchers[p] = batch
    return lambda x: p.bind(jx.numpy.sin(x)) * x


def outer(jx: Any) -> Any:
    """Linear in each of two: `defbilinear`."""
    p = jx.extend.core.Primitive("times")
    lower(jx, p, lambda x, y: x * y)
    jx.interpreters.ad.defbilinear(
        p, lambda ct, x, y: p.bind(ct, y), lambda ct, x, y: p.bind(x, ct))
    jx.interpreters.batching.defbroadcasting(p)
    return lambda x: p.bind(jx.numpy.sin(x), x)


def sincos(jx: Any) -> Any:
    """Several results, with rules by hand."""
    ad = jx.interpreters.ad
    p = jx.extend.core.Primitive("sincos")
    p.multiple_results = True
    lower(jx, p, lambda x: (jx.numpy.sin(x), jx.numpy.cos(x)), multiple_results=True)

    def jvp(primals, tangents):
        (x,), (t,) = primals, tangents
        sin, cos = p.bind(x)
        return [sin, cos], [t * cos, -(t * sin)]

    ad.primitive_jvps[p] = jvp
    jx.interpreters.batching.primitive_batchers[p] = lambda args, dims: (p.bind(*args), dims * 2)
    return lambda x: p.bind(x)[0] * p.bind(p.bind(x)[1])[0]


def split_linear(jx: Any) -> Any:
    """Several results, linear: the transpose rule is given a list of cotangents, some of them zero."""
    ad = jx.interpreters.ad
    p = jx.extend.core.Primitive("both_parts")
    p.multiple_results = True
    lower(jx, p, lambda x: (2.0 * x, 3.0 * x), multiple_results=True)

    def transpose(cts, x):
        a, b = map(ad.instantiate_zeros, cts)
        return [2.0 * a + 3.0 * b]

    ad.deflinear2(p, transpose)
    jx.interpreters.batching.primitive_batchers[p] = lambda args, dims: (p.bind(*args), dims * 2)
    return lambda x: p.bind(x * x)[1]


def total(jx: Any) -> Any:
    """Removes dimensions: `defreducer`."""
    p = jx.extend.core.Primitive("total")
    lower(jx, p, lambda x, *, axes: jx.numpy.sum(x, axes))
    jx.interpreters.ad.deflinear2(p, lambda ct, x, *, axes: [jx.numpy.broadcast_to(ct, x.aval.shape)])
    jx.interpreters.batching.defreducer(p)
    return lambda x: p.bind(x * x, axes=(0,)) * x


def step(jx: Any) -> Any:
    """A derivative that is zero, as a symbol."""
    ad = jx.interpreters.ad
    p = jx.extend.core.Primitive("step")
    lower(jx, p, lambda x: jx.numpy.floor(x))

    def jvp(primals, tangents):
        out = p.bind(*primals)
        return out, ad.Zero(jx.typeof(out).to_tangent_aval())

    ad.primitive_jvps[p] = jvp
    jx.interpreters.batching.defvectorized(p)
    return lambda x: p.bind(x) * x


PRIMITIVES = [cube, scaled_exp, twice, swap, outer, sincos, split_linear, total, step]
TRANSFORMS = {
    "call": lambda jx, f: lambda x: jx.numpy.asarray(f(x)),
    "jaxpr": lambda jx, f: jx.make_jaxpr(f),
    "jit": lambda jx, f: jx.jit(f),
    "jvp": lambda jx, f: lambda x: jx.jvp(f, (x,), (x,)),
    "vjp": lambda jx, f: lambda x: jx.vjp(f, x)[1](x),
    "jaxpr_of_vjp": lambda jx, f: jx.make_jaxpr(lambda x: jx.vjp(f, x)[1](x)),
    "linearize": lambda jx, f: lambda x: jx.linearize(f, x)[1](x),
    "jit_of_grad": lambda jx, f: jx.jit(jx.grad(lambda x: f(x).sum())),
    "grad_of_jit": lambda jx, f: jx.grad(lambda x: jx.jit(f)(x).sum()),
    "jacobians": lambda jx, f: lambda x: (jx.jacfwd(f)(x), jx.jacrev(f)(x)),
    "hessian": lambda jx, f: jx.hessian(lambda x: f(x).sum()),
    "vmap": lambda jx, f: lambda x: jx.vmap(f)(jx.numpy.stack([x, 2 * x])),
    "vmap_in_the_middle": lambda jx, f: lambda x: jx.vmap(f, in_axes=1)(
        jx.numpy.stack([x, 2 * x], 1)),
    "vmap_of_grad": lambda jx, f: lambda x: jx.vmap(jx.grad(lambda x: f(x).sum()))(
        jx.numpy.stack([x, 2 * x])),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("define", PRIMITIVES)
def test_every_rule(define, transform):
    x = np.array([0.25, 0.75, 1.25], F)
    same(lambda jx: TRANSFORMS[transform](jx, define(jx)), x)


def test_checked_and_printed():
    """The type checker asks the primitive's `abstract_eval`; parameters are printed."""

    def program(jx):
        core = jx.extend.core

        def run(x):
            closed = jx.make_jaxpr(scaled_exp(jx))(x)
            core.check_jaxpr(closed.jaxpr)
            (eqn,) = closed.eqns
            wrong = core.Var(eqn.outvars[0].aval.update(shape=(7,)))
            bad = closed.jaxpr.replace(eqns=[eqn.replace(outvars=[wrong])], outvars=[wrong])
            return closed, eqn.params, bad, core.check_jaxpr

        return run

    def printed(jx):
        return lambda x: program(jx)(x)[:3]

    def checked(jx):
        def run(x):
            *_, bad, check = program(jx)(x)
            check(bad)

        return run

    same(printed, np.ones(3, F))
    both(checked, np.ones(3, F), raises="JaxprTypeError")


def primitive_as_a_class(jx, multiple_results: bool, effects: frozenset) -> Any:
    """The rules are methods; the rule for types returns the effects as well."""
    mlir, ad, batching = jx.interpreters.mlir, jx.interpreters.ad, jx.interpreters.batching

    class Tag(jx.extend.core.Primitive):
        def __init__(self):
            super().__init__("tag_of_a_class")
            self.multiple_results = multiple_results
            mlir.register_lowering(self, lambda context, *args: args)
            ad.primitive_jvps[self] = lambda xs, ts: (self.bind(*xs), ts if multiple_results else ts[0])
            batching.primitive_batchers[self] = lambda xs, dims: (
                self.bind(*xs), dims if multiple_results else dims[0])

        def impl(self, *args):
            return args if multiple_results else args[0]

        def abstract_eval(self, *avals):
            return (avals if multiple_results else avals[0]), effects

    tag = Tag()
    return lambda *args: tag.bind(*args)


@pytest.mark.parametrize("count", [1, 2])
def test_rules_that_are_methods(count):
    def program(jx):
        tag = primitive_as_a_class(jx, count > 1, frozenset())

        def f(x):
            out = tag(*[x * 2.0] * count)
            return jx.numpy.sin(out[-1] if count > 1 else out)

        return lambda x: (f(x[0]), jx.jit(f)(x[0]), jx.jit(jx.vmap(jx.grad(f)))(x),
                          jx.make_jaxpr(f)(x[0]))

    same(program, np.arange(3, dtype=F))


def test_effects_of_a_method_are_refused():
    """They would be lost: only `def_effectful_abstract_eval` records effects."""
    tag = primitive_as_a_class(subject, True, frozenset([object()]))
    with pytest.raises(NotImplementedError, match="def_effectful_abstract_eval"):
        subject.make_jaxpr(tag)(1.0)


def test_a_rule_may_be_replaced():
    def program(jx):
        p = jx.extend.core.Primitive("changing")
        lower(jx, p, lambda x: x + 1.0)
        results = [p.bind(F(1)), jx.jit(lambda x: p.bind(x))(F(1))]
        lower(jx, p, lambda x: x + 2.0)
        return lambda: [*results, p.bind(F(1)), jx.jit(lambda x: p.bind(x))(F(1))]

    same(program)


def test_the_helpers_of_ad():
    def program(jx):
        ad = jx.interpreters.ad
        aval = jx.core.ShapedArray((2,), F)
        zero = ad.Zero(aval)

        def run(x):
            return [ad.instantiate_zeros(zero), ad.instantiate_zeros(x), ad.zeros_like_aval(aval),
                    ad.add_jaxvals(x, x), ad.add_tangents(zero, x), ad.add_tangents(x, zero)]

        return run

    def transposes(jx):
        ad = jx.interpreters.ad
        found = ad.get_primitive_transpose(jx.lax.add_p)
        assert found is ad.primitive_transposes[jx.lax.add_p]
        return lambda: ad.get_primitive_transpose(jx.extend.core.Primitive("unknown"))

    same(program, np.ones(2, F))
    both(transposes)


def test_a_rule_in_stablehlo():
    """Where JAX's rules build MLIR operations, ours append them as text."""
    p = subject.extend.core.Primitive("twice_in_text")
    p.def_abstract_eval(lambda x: x)
    text = "stablehlo.add {0}, {0} : {1}"
    subject.interpreters.mlir.register_lowering(
        p, lambda ctx, x: [ctx.op(text.format(x.name, x.type), x.aval)])
    assert subject.jit(p.bind)(np.arange(3, dtype=F)).tolist() == [0.0, 2.0, 4.0]


def test_a_rule_reads_the_types_of_its_equation():
    def program(jx):
        mlir = jx.interpreters.mlir
        p = jx.extend.core.Primitive("doubled")
        p.def_abstract_eval(lambda x, y: x)
        seen = []

        def rule(ctx, x, y):
            seen.append([str(aval) for aval in [*ctx.avals_in, *ctx.avals_out]])
            ctx.module_context.add_keepalive(program)
            inner = mlir.lower_fun(lambda x, y: p.bind(x + x, y) if x.ndim else x + x,
                                   multiple_results=False)
            out = inner(ctx, x, y) if len(seen) == 1 else mlir.lower_fun(
                lambda x, y: x * 3, multiple_results=False)(ctx, x, y)
            seen.append([str(aval) for aval in ctx.avals_in])
            return out

        mlir.register_lowering(p, rule)
        return lambda x, y: (jx.jit(p.bind)(x, y), seen)

    same(program, np.arange(3, dtype=F), np.int32(2))


def test_rules_for_other_platforms_are_not_used():
    def program(jx):
        mlir = jx.interpreters.mlir
        p = jx.extend.core.Primitive("on_a_platform")
        p.def_abstract_eval(lambda x: x)
        mlir.register_lowering(p, mlir.lower_fun(lambda x: x + 1.0, multiple_results=False))
        mlir.register_lowering(
            p, mlir.lower_fun(lambda x: x + 2.0, multiple_results=False), platform="tpu")
        return lambda x: jx.jit(p.bind)(x)

    same(program, F(1.0))


@in_both
def test_a_class_says_that_its_primitives_have_several_results(jx):
    """As those of libraries do, which mark losses and layers."""
    class Mark(jx.extend.core.Primitive):
        multiple_results = True

    mark = Mark("mark")
    mark.def_impl(lambda *args: args)
    mark.def_effectful_abstract_eval(lambda *avals: (avals, set()))
    x = jx.numpy.ones(2)
    return (mark.multiple_results, mark.bind(x, x)[1],
            str(jx.make_jaxpr(lambda x: mark.bind(x, x))(1.0)))


# --- rules that change ---


def own_primitive(jx, name: str):
    p = jx.extend.core.Primitive(name)
    p.def_impl(lambda x: jx.numpy.sin(x))
    p.def_abstract_eval(lambda x: x)
    return p


@in_both
def test_users_rules_are_called_each_time(jx):
    """They may depend on variables, and may look at values."""
    p, factor = own_primitive(jx, "scaled"), [1.0]
    jx.interpreters.ad.defjvp(p, lambda t, x: t * factor[0] * (1 if float(x) > 0 else -1))
    jx.interpreters.batching.primitive_batchers[p] = lambda args, dims: (
        p.bind(args[0]) * factor[0], dims[0])

    def results(i):
        factor[0] = float(i)
        x = jx.numpy.float32(1.5 - i % 3)
        return (jx.grad(p.bind)(x), jx.jvp(p.bind, (x,), (x,)),
                jx.vmap(p.bind)(jx.numpy.ones(3)))

    return [results(i) for i in range(9)]


@in_both
def test_users_transpose_rules_are_called_each_time(jx):
    p, factor = own_primitive(jx, "linear"), [1.0]
    jx.interpreters.ad.deflinear(p, lambda ct: [ct * factor[0]])

    def gradient(i):
        factor[0] = float(i)
        return jx.grad(lambda x: jx.numpy.sin(p.bind(x) * x))(jx.numpy.float32(0.5))

    return [gradient(i) for i in range(9)]


@in_both
def test_rules_can_be_replaced(jx):
    p, x = own_primitive(jx, "replaced"), jx.numpy.float32(1.0)
    outs = []
    for factor in 1.0, 10.0:
        jx.interpreters.ad.defjvp(p, lambda t, x, factor=factor: t * factor)
        jx.interpreters.batching.primitive_batchers[p] = lambda args, dims, factor=factor: (
            p.bind(args[0]) * factor, dims[0])
        outs += [jx.grad(p.bind)(x) for _ in range(3)]
        outs += [jx.vmap(p.bind)(jx.numpy.ones(3)) for _ in range(3)]
    return outs


@pytest.mark.parametrize("table", ["primitive_jvps", "primitive_transposes"])
@pytest.mark.parametrize("warm", [1, 10])
def test_a_rule_of_the_librarys_own_is_replaced_and_taken_back(table, warm):
    """However many derivatives went before."""
    lax, rules = subject.lax, getattr(subject.interpreters.ad, table)
    zero = subject.interpreters.ad.Zero
    old = rules[lax.mul_p]

    def doubled(*args, **params):
        out = old(*args, **params)
        if table == "primitive_jvps":
            return out[0], out[1] * 2
        return [x if x is None or type(x) is zero else x * 2 for x in out]

    def gradients(n):
        f = lambda x: subject.numpy.sin(x) * x * 3.0
        return {float(subject.grad(f)(F(1))) for _ in range(n)}

    (before,) = gradients(warm)
    rules[lax.mul_p] = doubled
    try:
        (replaced,) = gradients(10)
    finally:
        rules[lax.mul_p] = old
    assert gradients(10) == {before} and replaced > 1.5 * before
