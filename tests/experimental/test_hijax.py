"""`jax.experimental.hijax`: operations whose rules are methods."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import minijax
from tests.oracle import both


def hijax(jx):
    return import_module(f"{jx.__name__}.experimental.hijax")


X, Y = np.float32(3.0), np.arange(3.0, dtype="float32")


def product(jx, methods):
    """An operation on a pair and a number, with some rules. Its derivative has one factor more."""
    base, jnp = hijax(jx).VJPHiPrimitive, jx.numpy

    class Product(base):
        def __init__(self, pair, z, factor):
            self.in_avals, self.out_aval = (pair, z), {"out": z}
            self.params = {"factor": factor}
            super().__init__()

        def expand(self, pair, z):
            return {"out": self.factor * pair["x"] * pair["y"] * jnp.sin(z)}

    def vjp_fwd(self, nonzeros, pair, z):
        return self(pair, z), (pair, z)

    def cotangents(self, res, ct):
        (pair, z), ct, k = res, ct["out"], 10.0 * self.factor
        return ({"x": k * pair["y"] * jnp.sin(z) * ct, "y": k * pair["x"] * jnp.sin(z) * ct},
                k * pair["x"] * pair["y"] * jnp.cos(z) * ct)

    def vjp_bwd(self, res, ct, pair, z):
        (pair_ct, z_ct) = cotangents(self, res, ct)
        pair["x"].accum(pair_ct["x"])
        pair["y"].accum(pair_ct["y"])
        z.accum(z_ct)

    def jvp(self, primals, tangents):
        (pair, z), (pair_dot, z_dot), k = primals, tangents, 10.0 * self.factor
        slope = (pair_dot["x"] * pair["y"] + pair["x"] * pair_dot["y"]) * jnp.sin(z)
        return self(pair, z), {"out": k * (slope + pair["x"] * pair["y"] * jnp.cos(z) * z_dot)}

    rules = {"vjp_fwd": vjp_fwd, "vjp_bwd_retval": cotangents, "vjp_bwd": vjp_bwd, "jvp": jvp,
             "lin": lambda self, nonzeros, pair, z: (self(pair, z), (pair, z)),
             "linearized": lambda self, res, *tangents: jvp(self, res, tangents)[1],
             "batch_dim_rule": lambda self, axis_data, dims: {"out": 0}}
    for name in methods.split():
        setattr(Product, name, rules[name])

    def apply(pair, z, factor=2.0):
        avals = jx.tree.map(jx.typeof, (pair, z))
        return Product(*avals, factor)(pair, z)["out"]

    return apply


RETVAL, BWD = "vjp_fwd vjp_bwd_retval batch_dim_rule", "vjp_fwd vjp_bwd batch_dim_rule"
VJP = [RETVAL, BWD, RETVAL + " jvp"]
PAIR = {"x": X, "y": X + 1}
PAIRS = {"x": Y, "y": Y + 1}

USES = {
    "value": (lambda jx, f: f(PAIR, X), ["", *VJP]),
    "jit": (lambda jx, f: jx.jit(f)(PAIR, X), ["", *VJP]),
    "in a program": (lambda jx, f: jx.jit(lambda x: f({"x": x, "y": x}, x) + 1)(X), ["", *VJP]),
    "eval_shape": (lambda jx, f: jx.eval_shape(f, PAIR, X).shape, [""]),
    "grad": (lambda jx, f: jx.grad(f, (0, 1))(PAIR, X), VJP),
    "grad of jit": (lambda jx, f: jx.grad(jx.jit(f), (0, 1))(PAIR, X), VJP),
    "jit of grad": (lambda jx, f: jx.jit(jx.grad(f, (0, 1)))(PAIR, X), VJP),
    "grad of a program": (lambda jx, f: jx.grad(lambda x: 2 * f({"x": x, "y": x}, x))(X), VJP),
    "vjp": (lambda jx, f: jx.vjp(f, PAIR, X)[1](X), VJP),
    "jvp": (lambda jx, f: jx.jvp(f, (PAIR, X), (PAIR, X)), ["jvp", RETVAL + " jvp"]),
    "jvp of jit": (lambda jx, f: jx.jvp(jx.jit(f), (PAIR, X), (PAIR, X)), ["jvp"]),
    "linearize": (lambda jx, f: jx.linearize(f, PAIR, X)[1](PAIR, X), ["lin linearized"]),
    "vmap": (lambda jx, f: jx.vmap(f)(PAIRS, Y), VJP),
    "vmap, one the same": (lambda jx, f: jx.vmap(f, (0, None))(PAIRS, X), VJP),
    "jit of vmap": (lambda jx, f: jx.jit(jx.vmap(f))(PAIRS, Y), VJP),
    "vmap of grad": (lambda jx, f: jx.vmap(jx.grad(f, 1))(PAIRS, Y), VJP),
    "grad of vmap": (lambda jx, f: jx.grad(
        lambda p, z: jx.vmap(f, (0, None))(p, z).sum(), (0, 1))(PAIRS, X), [RETVAL]),
    "jvp of vmap": (lambda jx, f: jx.jvp(jx.vmap(f), (PAIRS, Y), (PAIRS, Y)),
                    [RETVAL + " jvp"]),
}


@pytest.mark.parametrize(("name", "methods"), [
    (name, methods) for name, (_, all_methods) in USES.items() for methods in all_methods])
def test_vjp_hi_primitive(name, methods):
    both(lambda jx: lambda: USES[name][0](jx, product(jx, methods)))


REFUSED = {
    "no grad": (lambda jx, f: jx.grad(f, 1)(PAIR, X), ""),
    "no jvp": (lambda jx, f: jx.jvp(lambda z: f(PAIR, z), (X,), (X,)), RETVAL),
    "no vmap": (lambda jx, f: jx.vmap(f)(PAIRS, Y), "jvp"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_vjp_hi_primitive_lacks_a_rule(name):
    run, methods = REFUSED[name]
    both(lambda jx: lambda: run(jx, product(jx, methods)), raises=NotImplementedError)


@pytest.mark.parametrize("given", [{}, {"in_avals": ()}, {"in_avals": (), "out_aval": ()}])
def test_vjp_hi_primitive_needs_types(given):
    def program(jx):
        class Nothing(hijax(jx).VJPHiPrimitive):
            def __init__(self):
                vars(self).update(given)
                super().__init__()

        return Nothing

    both(program, raises=AttributeError)


def test_rules_of_vmap_are_those_of_one_example():
    """The rule of the operation has a factor that the true derivative does not have."""
    f = product(minijax, RETVAL)
    slopes = minijax.grad(lambda z: minijax.vmap(f)(PAIRS, z).sum())(Y)
    assert np.allclose(slopes, 20 * PAIRS["x"] * PAIRS["y"] * np.cos(Y))


def cube(jx):
    class Cube(hijax(jx).HiPrimitive):
        def abstract_eval(self, x, *, scale):
            return x, set()

        def to_lojax(self, x, *, scale):
            return scale * x * x * x

        def jvp(self, primals, tangents, *, scale):
            (x,), (t,) = primals, tangents
            return self.bind(x, scale=scale), 30 * scale * x * x * t

    p = Cube("cube")
    return lambda x: p.bind(x, scale=2.0)


@pytest.mark.parametrize("run", [
    lambda jx, f: f(jx.numpy.float32(3.0)), lambda jx, f: jx.jit(lambda x: f(x) + 1)(X),
    lambda jx, f: jx.jvp(f, (X,), (X,)), lambda jx, f: jx.eval_shape(f, X).shape,
], ids=["value", "jit", "jvp", "eval_shape"])
def test_hi_primitive(run):
    both(lambda jx: lambda: run(jx, cube(jx)))


def boxed(jx):
    """A type of values that are no arrays, as libraries declare it when they are imported."""
    hj = hijax(jx)

    class Point:
        def __init__(self, x, y):
            self.x, self.y = x, y

    class PointType(hj.HiType):
        def __hash__(self):
            return 1

        def __eq__(self, other):
            return isinstance(other, PointType)

        def str_short(self, *args, **kwargs):
            return "Point"

        def lower_val(self, p):
            return [p.x, p.y]

        def raise_val(self, x, y):
            return Point(x, y)

    class Norm(hj.HiPrimitive):
        def abstract_eval(self, p):
            return jx.typeof(np.float32(0)), set()

        def to_lojax(self, p):
            return jx.numpy.hypot(p.x, p.y)

    hj.register_hitype(Point, lambda p: PointType())
    return Point, PointType, Norm("norm")


def test_types_of_other_values():
    def program(jx):
        def run():
            Point, PointType, norm_p = boxed(jx)
            p = Point(np.float32(3), np.float32(4))
            return norm_p.bind(p), jx.typeof(p) == PointType(), jx.typeof(p).is_high
        return run

    both(program)


def test_values_of_other_types_are_traced():
    def program(jx):
        def run():
            Point, _, norm_p = boxed(jx)
            p = Point(np.float32(3), np.float32(4))
            return jx.jit(lambda x: norm_p.bind(p) + x)(1.0)
        return run

    both(program)


def test_names_of_hijax():
    both(lambda jx: lambda: [hasattr(hijax(jx), name) for name in (
        "Zero AbstractValue AvalQDD ShapedArray aval_method aval_property AvalMutableQDD "
        "instantiate_zeros is_undefined_primal control_flow_allowed_effects HiPrimitive HiPspec "
        "HiType MutableHiType VJPHiPrimitive register_hitype AbstractRef TransformedRef").split()])


# ----------------------------------------------------------------------------------------------
# Values that are no arrays, under vmap and derivatives


class Pairs:
    """A type of pairs, with operations that have all rules."""

    def __init__(self, jx):
        api = import_module(f"{jx.__name__}._src.hijax")
        typeof = jx.typeof

        @dataclass
        class Pair:
            parts: Any

        @dataclass(frozen=True)
        class PairTy(api.HiType):
            types: tuple

            def __repr__(self):
                return "Pair{" + ",".join(t.str_short() for t in self.types) + "}"

            def lo_ty(self):
                return list(self.types)

            def lower_val(self, pair):
                return list(pair.parts)

            def raise_val(self, *parts):
                return Pair(parts)

            def to_tangent_aval(self):
                return PairTy(tuple(t.to_tangent_aval() for t in self.types))

            def dec_rank(self, size, spec):
                return PairTy(tuple(t.dec_rank(size, d) for t, d in zip(self.types, spec.dims)))

            def inc_rank(self, size, spec):
                return PairTy(tuple(t.inc_rank(size, d) for t, d in zip(self.types, spec.dims)))

            def vspace_zero(self):
                return pair(*(jx.numpy.zeros(t.shape, t.dtype) for t in self.types))

            def vspace_add(self, x, y):
                return pair(*(part(x, i) + part(y, i) for i in range(2)))

        @dataclass(frozen=True)
        class Spec(api.MappingSpec):
            dims: tuple

        class Make(api.VJPHiPrimitive):
            def __init__(self, types):
                self.in_avals, self.out_aval, self.params = types, PairTy(types), {}
                super().__init__()

            def expand(self, *parts):
                return Pair(parts)

            def vjp_fwd(self, nonzeros, *parts):
                return pair(*parts), None

            def vjp_bwd_retval(self, res, ct):
                return part(ct, 0), part(ct, 1)

            def jvp(self, primals, tangents):
                return pair(*primals), pair(*map(
                    hijax(jx).instantiate_zeros, tangents))

            def batch(self, axis_data, args, dims):
                return pair(*args), Spec(tuple(dims))

        class Part(api.VJPHiPrimitive):
            def __init__(self, of, i):
                self.in_avals, self.out_aval, self.params = (of,), of.types[i], {"i": i}
                super().__init__()

            def expand(self, pair):
                return pair.parts[self.i]

            def vjp_fwd(self, nonzeros, pair):
                return part(pair, self.i), None

            def vjp_bwd_retval(self, res, ct):
                parts = [jx.numpy.zeros(t.shape, t.dtype) for t in self.in_avals[0].types]
                parts[self.i] = ct
                return pair(*parts),

            def jvp(self, primals, tangents):
                return part(primals[0], self.i), part(tangents[0], self.i)

            def batch(self, axis_data, args, dims):
                return part(args[0], self.i), dims[0].dims[self.i]

        def pair(*parts):
            return Make(tuple(map(typeof, parts)))(*parts)

        def part(x, i):
            return Part(typeof(x), i)(x)

        api.register_hitype(Pair, lambda x: PairTy(tuple(map(typeof, x.parts))))
        self.pair, self.part, self.spec = pair, part, lambda *dims: Spec(dims)

    def arrays(self, tree):
        """The pairs in a result as tuples."""
        if type(tree) in (tuple, list):
            return tuple(map(self.arrays, tree))
        return tree.parts if hasattr(tree, "parts") else tree

    def swapped(self, x):
        return self.pair(self.part(x, 1) * 2, self.part(x, 0))

    def product(self, x):
        return (self.part(x, 0) * self.part(x, 1)).sum()


MAPPED = {
    "the value itself": lambda jx, p, x: jx.vmap(
        lambda x: x, p.spec(0, 0), p.spec(0, 0), axis_size=3)(x),
    "parts": lambda jx, p, x: jx.vmap(p.swapped, p.spec(0, 0), p.spec(0, 0), axis_size=3)(x),
    "beside an array": lambda jx, p, x: jx.vmap(
        lambda a, x: p.part(x, 0) + a, (0, p.spec(0, 0)))(np.arange(3.0, dtype="f"), x),
    "one part": lambda jx, p, x: jx.vmap(
        p.swapped, p.spec(0, None), p.spec(None, 0), axis_size=3)(x),
    "twice": lambda jx, p, x: jx.vmap(jx.vmap(
        lambda x: x, p.spec(0, 0), p.spec(0, 0), axis_size=3), p.spec(1, 1), p.spec(1, 1),
        axis_size=4)(p.pair(jx.numpy.ones((3, 4)), jx.numpy.zeros((3, 4)))),
    "compiled": lambda jx, p, x: jx.jit(jx.vmap(
        p.swapped, p.spec(0, 0), p.spec(0, 0), axis_size=3))(x),
    "inside": lambda jx, p, x: jx.vmap(
        lambda a: p.part(p.pair(a, 2 * a), 1))(np.arange(3.0, dtype="f")),
    "gradients of each": lambda jx, p, x: jx.vmap(
        jx.grad(p.product), p.spec(0, 0), p.spec(0, 0), axis_size=3)(x),
    "types": lambda jx, p, x: str(jx.eval_shape(jx.vmap(
        lambda x: (p.part(x, 0), p.part(x, 1)), p.spec(0, 1), axis_size=3),
        p.pair(jx.numpy.ones(3), jx.numpy.ones((2, 3))))),
}
NOT_MAPPED = {
    "by an int": lambda jx, p, x: jx.vmap(lambda x: x, axis_size=3)(x),
    "no size": lambda jx, p, x: jx.vmap(lambda x: p.part(x, 0), p.spec(0, 0))(x),
    "out_axes of an array": lambda jx, p, x: jx.vmap(lambda a: p.pair(a, a))(np.ones(3, "f")),
    "another spec": lambda jx, p, x: jx.vmap(
        lambda x: x, p.spec(0, None), p.spec(0, 0), axis_size=3)(x),
}
DERIVATIVES = {
    "grad": lambda jx, p, x: jx.grad(p.product)(x),
    "grad of jit": lambda jx, p, x: jx.grad(jx.jit(p.product))(x),
    "jit of grad": lambda jx, p, x: jx.jit(jx.grad(p.product))(x),
    "value_and_grad": lambda jx, p, x: jx.value_and_grad(p.product)(x),
    "two arguments": lambda jx, p, x: jx.grad(
        lambda a, x: (p.part(x, 0) * a).sum(), (0, 1))(np.ones(3, "f"), x),
    "aux": lambda jx, p, x: jx.grad(lambda x: (p.product(x), x), has_aux=True)(x),
    "vjp of a result": lambda jx, p, x: (lambda y, pull: (y, pull(y)))(
        *jx.vjp(lambda a: p.pair(2 * a, a * a), 3.0)),
    "vjp of both": lambda jx, p, x: (lambda y, pull: (y, pull(y)))(*jx.vjp(p.swapped, x)),
    "jvp": lambda jx, p, x: jx.jvp(p.swapped, (x,), (x,)),
    "second": lambda jx, p, x: jx.grad(jx.grad(lambda a: p.part(p.pair(a ** 3, a), 0)))(np.float32(2)),
    "hessian": lambda jx, p, x: jx.hessian(lambda a: p.part(p.pair(a ** 3, a), 0))(np.float32(2)),
    "examples": lambda jx, p, x: jx.vmap(jx.grad(
        lambda a: p.part(p.pair(a ** 3, a), 0)))(np.arange(3.0, dtype="f")),
}


def of_pairs(compute):
    def program(jx):
        pairs = Pairs(jx)

        def run():
            x = pairs.pair(jx.numpy.arange(3.0), jx.numpy.arange(3.0) + 1)
            return pairs.arrays(compute(jx, pairs, x))

        return run

    return program


@pytest.mark.parametrize("name", MAPPED)
def test_vmap_of_values(name):
    both(of_pairs(MAPPED[name]))


@pytest.mark.parametrize("name", NOT_MAPPED)
def test_vmap_of_values_is_refused(name):
    both(of_pairs(NOT_MAPPED[name]), raises=ValueError)


@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives_of_values(name):
    both(of_pairs(DERIVATIVES[name]))


def test_tangents_that_are_no_examples_are_added_inside_a_named_vmap():
    Pairs(minijax)  # from the first class on, sums have another rule
    both(lambda jx: lambda x: jx.vmap(
        lambda x: x + jx.grad(lambda y: y * y + jx.lax.stop_gradient(0 * x))(2.0), axis_name="i")(x), Y)
    both(lambda jx: lambda x: jx.vmap(lambda x: x * jx.grad(lambda y: y * y)(2.0), axis_name="i")(x), Y)


def test_an_operand_of_a_loop_under_vmap_is_refused():
    pairs = Pairs(minijax)
    x = pairs.pair(np.ones(3, "f"), np.ones(3, "f"))
    loop = lambda x: minijax.lax.scan(lambda c, _: (c, None), x, None, length=2)[0]
    with pytest.raises(NotImplementedError, match="cannot be an operand of a loop"):
        minijax.vmap(loop, pairs.spec(0, 0), pairs.spec(0, 0), axis_size=3)(x)


def test_jit_has_no_placement_for_values():
    device = minijax.devices()[0]
    x = Pairs(minijax).pair(np.ones(3, "f"), np.ones(3, "f"))
    for options in ({"in_shardings": minijax.sharding.SingleDeviceSharding(device)}, {"device": device},
                    {"out_shardings": minijax.sharding.SingleDeviceSharding(device)}):
        with pytest.raises(NotImplementedError, match="a value that is none"):
            minijax.jit(lambda x: x, **options)(x)


def test_vmap_of_vmap_by_the_rule_of_one_example():
    def program(jx):
        api = hijax(jx)

        class Product(api.VJPHiPrimitive):
            def __init__(self, aval):
                self.in_avals, self.out_aval, self.params = (aval, aval), aval, {}
                super().__init__()

            def expand(self, x, y):
                return x * y

            def batch_dim_rule(self, axis_data, dims):
                return dims[1] if dims[0] is None else dims[0]

        f = lambda x, y: Product(jx.typeof(x))(x, y)
        return lambda x, y: [
            jx.vmap(jx.vmap(f, (0, None)), (2, None), 2)(x, y),
            jx.vmap(jx.vmap(f, (1, None)), (0, None), 1)(x.transpose(2, 1, 0), y)]

    both(program, np.arange(24.0, dtype="f").reshape(2, 3, 4), np.arange(3.0, dtype="f"))


def test_custom_vjp3():
    def program(jx):
        f = import_module(f"{jx.__name__}._src.hijax").custom_vjp3(lambda x: jx.numpy.sin(x))
        f.defvjp(lambda x: (jx.numpy.sin(x), x), lambda x, ct: (10 * ct * x,))
        return lambda x: [f(x), jx.grad(f)(x), jx.jit(jx.grad(f))(x),
                          jx.vmap(jx.grad(f))(jx.numpy.stack([x, 2 * x]))]

    both(program, np.float32(2))
