"""What is asked of the answers to chapter 6's exercises."""

from __future__ import annotations

from unittest import mock

import numpy as np
from learning.checking import compare, exercise, expect

from minijax import jit, jvp, make_jaxpr, vmap
from minijax.checks.jaxpr import Effect
from minijax.core import lowering
from minijax.core import primitives as lax
from minijax.core.array import as_array
from minijax.core.core import Primitive
from minijax.core.forward import Zero, jvpfun, primitive_jvps
from minijax.core.jit import jit_p
from minijax.errors import JaxRuntimeError
from minijax.runtime import client

F = np.float32
X = np.array([0.5, -1.0, 2.0], F)


@exercise("6.1", "What a trace is kept by", ["signature"], hints=[
    "What can a function look at while it is traced? The structure of its arguments, their types, "
    "and the value of what is static.",
    "tree_flatten (chapter 3) gives leaves and structure; typeof (chapter 1) the type of a leaf.",
    "In Python 1 == 1.0 == True, and all three have the same hash.",
])
def keys(signature):
    def traces(*calls):
        seen = []
        f = jit(lambda *args: seen.append(args), static_argnums=1)
        for args, static in calls:
            f(args, static)
        return len(seen)

    one, vector = (2.0,), (X,)
    cases = [
        ((one, 0), (one, 0)), ((one, 0), ((3.0,), 0)), ((one, 0), (one, 1)),
        ((one, 0), (vector, 0)), ((one, 0), ((F(2),), 0)), ((one, 0), ((2,), 0)),
        ((vector, 0), ((as_array(-X),), 0)),
        (((one,), 0), (([2.0],), 0)), ((({"a": 1.0},), 0), (({"b": 1.0},), 0)),
        (((None, 1.0), 0), ((1.0, None), 0)), ((one, 1), (one, 1.0), (one, True)),
        ((one, "a"), (one, "b"), ((4.0,), "a")),
    ]
    compare(lambda *calls: len({signature(args, static) for args, static in calls}), traces, cases,
            "how many traces: calls (args, static)")


@exercise("6.2", "A program in another language", ["translate"], hints=[
    "A type is tensor<2x3xf32>, for a scalar tensor<f32>: ''.join(f'{n}x' for n in shape).",
    "A literal becomes a line of its own, %c = stablehlo.constant dense<2.0> : and the type of the "
    "equation's *result*: isinstance(atom, Literal), and atom.val is the number.",
    "A result can be an argument or a literal.",
])
def translation(translate):
    programs = [
        ("sin(x)", lambda x: [lax.sin(x)], [(F(0.5),), (X,), (np.ones((2, 3), F),)]),
        ("x", lambda x: [x], [(X,)]),
        ("x * y + x", lambda x, y: [lax.add(lax.mul(x, y), x)], [(F(2), F(3)), (X, -X)]),
        ("x + 2", lambda x: [lax.add(x, F(2))], [(F(1),), (X,)]),
        ("sin(x) * 3, 2 + x", lambda x: [lax.mul(lax.sin(x), F(3)), lax.add(F(2), x)], [(X,)]),
        ("x, 7", lambda x: [x, F(7)], [(X,)]),
    ]
    for name, program, cases in programs:
        compare(lambda *args, p=program: _compiled(translate, p, args),
                lambda *args, p=program: [np.asarray(out) for out in p(*args)],
                cases, f"the program {name}, and arguments")


def _compiled(translate, program, args):
    closed = make_jaxpr(program)(*args)
    text = translate(closed.jaxpr)
    expect(isinstance(text, str), f"translate must return a text, not {text!r}")
    try:
        executable = client.compile(text, closed.out_avals)
    except JaxRuntimeError as error:
        raise RuntimeError(f"XLA cannot read your text: {error}\n{text}\n") from None
    buffers = [client.put(np.asarray(x), aval) for x, aval in zip(args, closed.in_avals)]
    return [*map(client.to_numpy, executable(buffers))]


@exercise("6.3", "A lowering rule", ["lower_axpy"], hints=[
    "StableHLO multiplies like with like: first spread a over x's shape.",
    "Return the Value of the sum; its type is x's.",
])
def axpy(lower_axpy):
    axpy_p = Primitive("axpy")
    axpy_p.def_abstract_eval(lambda a, x, y: x)
    cases = [(F(2), F(3), F(1)), (F(2), X, X), (F(0.5), np.ones((2, 3), F), np.ones((2, 3), F)),
             (np.int32(2), np.arange(3, dtype=np.int32), np.arange(3, dtype=np.int32))]
    with mock.patch.dict(lowering.lowering_rules, {axpy_p: lower_axpy}):
        f = jit(lambda a, x, y: axpy_p.bind(a, x, y))
        compare(lambda *args: np.asarray(f(*args)), lambda a, x, y: np.asarray(a * x + y), cases,
                "a, x, y =")
        two = jit(lambda a, x, y: axpy_p.bind(a, axpy_p.bind(a, x, y), y))
        compare(lambda *args: np.asarray(two(*args)), lambda a, x, y: a * (a * x + y) + y,
                [(F(2), X, X)], "axpy(a, axpy(a, x, y), y), and a, x, y =")
        text = f.lower(F(2), X, X).as_text()
    words = [line.split("stablehlo.")[1].split()[0] for line in text.splitlines()
             if "stablehlo." in line]
    expect(sorted(words) == ["add", "broadcast_in_dim", "multiply"],
           f"three operations would do: broadcast_in_dim, multiply, add. You wrote {words}")


class _Beep(Effect):
    pass


_beep_p = Primitive("beep", multiple_results=True)
_beep_p.def_effectful_abstract_eval(lambda x: ([], {_Beep()}))


@exercise("6.4", "What nobody needs", ["live_equations"], hole="core.lowering.live_equations",
          hints=[
    "Go backwards. At first the results are needed.",
    "If one of an equation's results is needed, or it has effects, it lives; then all that it "
    "reads is needed.",
    "Return them in the order of the program.",
])
def living(live_equations):
    def beeping(x):
        _beep_p.bind(lax.cos(x))
        return lax.sin(x)

    programs = {
        "x": (lambda x: x, []),
        "sin(x)": (lax.sin, ["sin"]),
        "cos(x); sin(x)": (lambda x: (lax.cos(x), lax.sin(x))[1], ["sin"]),
        "exp(cos(x)); sin(x)": (lambda x: (lax.exp(lax.cos(x)), lax.sin(x))[1], ["sin"]),
        "exp(cos(x)) - x": (lambda x: lax.sub(lax.exp(lax.cos(x)), x), ["cos", "exp", "sub"]),
        "y = cos(x); exp(y); y, y": (lambda x: _both(lax.cos(x)), ["cos"]),
        "beep(cos(x)); sin(x)": (beeping, ["cos", "beep", "sin"]),
    }
    for name, (program, want) in programs.items():
        jaxpr = make_jaxpr(program)(1.0).jaxpr
        compare(lambda program, j=jaxpr: [eqn.primitive.name for eqn in live_equations(j)],
                lambda program, w=want: w, [(name,)], "the program")
    text = jit(lambda x: (lax.exp(lax.cos(x)), lax.sin(x))[1]).lower(1.0).as_text()
    expect("cosine" not in text, f"nobody needs the cosine in this program:\n{text}")
    compare(lambda x: np.asarray(jit(lambda x: lax.sub(lax.exp(lax.cos(x)), x))(x)),
            lambda x: np.exp(np.cos(x)) - x, [(X,)], "jit(exp(cos(x)) - x), at")


def _both(y):
    lax.exp(y)
    return y, y


@exercise("6.5", "From arrays to arrays", ["call_program"], hole="core.jit.Program.__call__",
          hints=[
    "Four steps: the buffers of the kept arguments, after them the constants; the run; the donated "
    "arrays are deleted; the buffers become arrays.",
    "buffer_of(args[i], self.in_avals[i]) for each i in self.kept.",
    "Only an Array can be deleted: type(args[i]) is minijax.core.array.Array.",
])
def running(call_program):
    large = np.arange(2000, dtype=F)
    programs = [
        ("sin(x)", lambda x, y: lax.sin(x), lambda x, y: np.sin(x)),
        ("x + y", lax.add, lambda x, y: x + y),
        ("y: the first argument is not kept", lambda x, y: lax.mul(y, F(2)), lambda x, y: y * F(2)),
        ("x + a large constant", lambda x, y: lax.add(lax.reshape(x, ()), large),
         lambda x, y: x.reshape(()) + large),
        ("int(x)", lambda x, y: lax.convert(x, np.dtype(np.int32)),
         lambda x, y: x.astype(np.int32)),
    ]
    one = np.ones(1, F)
    for name, f, want in programs:
        compare(lambda x, y, f=f: np.asarray(jit(lambda x, y: f(x, y))(x, y)), want,
                [(one, 2 * one)], f"jit of {name}, at x, y =")
    x, y = as_array(one + 1), as_array(one)
    f = jit(lambda x, y: lax.add(x, y), donate_argnums=0)
    compare(lambda *_: np.asarray(f(x, y)), lambda *_: one + 2, [("x + y",)],
            "x donated, in the program")
    expect(x.is_deleted(), "a donated argument must be deleted after the run")
    expect(not y.is_deleted(), "an argument that is not donated must not be deleted")
    compare(lambda x: np.asarray(f(x, y)), lambda x: x + one, [(one,)],
            "a NumPy array donated (that cannot be deleted): x =")


@exercise("6.6", "The derivative of a call", ["jit_jvp"], hints=[
    "nonzeros: a tuple that says for each tangent whether type(t) is not Zero. Only these tangents "
    "become arguments of the new call, after the primals.",
    "jvp_jaxpr(jaxpr, nonzeros, (False,) * number of results) gives the new jaxpr, and for each "
    "result whether it has a tangent.",
    "donated_invars must be as long as the arguments: add the entry of each argument whose tangent "
    "goes in.",
    "The new call gives first the results, then the tangents that are not zero, in order.",
])
def derivative(jit_jvp):
    f = lambda x, y: [lax.mul(lax.sin(x), y), lax.cos(y), lax.stop_gradient_p.bind(x)]
    wants = [str(make_jaxpr(lambda *a, g=g: g(*a))(1.0, 2.0)) for g in _derivatives(f)]
    with mock.patch.dict(primitive_jvps, {jit_p: jit_jvp}):
        compare(lambda x, t: float(jvp(jit(lambda x: lax.sin(x)), (x,), (t,))[1]),
                lambda x, t: float(np.cos(x)) * t, [(0.5, 1.0), (0.5, 2.0)],
                "jit(sin), and x, ẋ =")
        names = ("both arguments", "x only", "y only", "x, under vmap")
        for name, g, want in zip(names, _derivatives(f), wants):
            compare(lambda moving, g=g: str(make_jaxpr(lambda *a: g(*a))(1.0, 2.0)),
                    lambda moving, w=want: w, [(name,)], "the jaxpr of the JVP, moving:")
        first = lambda x: jvp(jit(lambda x: lax.sin(x)), (x,), (1.0,))[1]
        compare(lambda x: float(jvp(first, (x,), (1.0,))[1]), lambda x: -float(np.sin(x)), [(0.5,)],
                "the second derivative of jit(sin) at")
        _, [tangent] = jvpfun(jit(lambda x: [lax.stop_gradient_p.bind(x)]), [0.5], [1.0])
        expect(type(tangent) is Zero, "the tangent of stop_gradient(x), compiled, must be a Zero: "
               f"the new call does not return it. You return {tangent!r}")


def _derivatives(f):
    """Ways to differentiate `jit(f)`, each of which makes the rule meet other zeros."""
    jitted = jit(lambda x, y: f(x, y))
    return [
        lambda x, y: jvp(jitted, (x, y), (1.0, 1.0)),
        lambda x, y: jvp(lambda x: jitted(x, y), (x,), (1.0,)),
        lambda x, y: jvp(lambda y: jitted(x, y), (y,), (1.0,)),
        lambda x, y: vmap(lambda y: jvp(lambda x: jitted(x, y), (x,), (1.0,)))(
            lax.broadcast_in_dim(y, (2,), ())),
    ]
