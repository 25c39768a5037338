"""The checks of chapter 6's exercises."""

from __future__ import annotations

import math
from unittest import mock

import numpy as np
from learning.checking import Wrong, compare, exercise, expect

from minijax import jit, jvp, make_jaxpr
from minijax.core import lowering, primitives as lax
from minijax.core.array import as_array
from minijax.core.core import Primitive
from minijax.core.jaxpr import eval_jaxpr
from minijax.errors import JaxRuntimeError
from minijax.lax import cutting
from minijax.runtime import client

F = np.float32
X = np.array([0.5, -1.0, 2.0], F)


@exercise("6.1", "The key of a trace", ["signature"], hints=[
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
            "these calls (args, static), counting the traces:")


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


@exercise("6.4", "When memory is free", ["last_uses"], hints=[
    "Go backwards, with the set of variables that have been met. At first these are the results.",
    "Going backwards, the first equation in which you meet a variable is its last use.",
    "In each equation you meet the variables that it reads, and those that it makes.",
])
def freeing(last_uses):
    programs = {
        "x": (lambda x, y: [x], []),
        "sin(x)": (lambda x, y: [lax.sin(x)], [{"x"}]),
        "x + x": (lambda x, y: [lax.add(x, x)], [{"x"}]),
        "sin(x), x": (lambda x, y: [lax.sin(x), x], [set()]),
        "exp(sin(x))": (lambda x, y: [lax.exp(lax.sin(x))], [{"x"}, {"sin"}]),
        "cos(x); sin(x)": (lambda x, y: [lax.cos(x), lax.sin(x)][1:], [{"cos"}, {"x"}]),
        "x * 2 + y": (lambda x, y: [lax.add(lax.mul(x, 2.0), y)], [{"x"}, {"y", "mul"}]),
        "sin(x) * (cos(x) - sin(x))": (_product, [set(), {"x"}, {"cos"}, {"sin", "sub"}]),
        "x + a table": (lambda x, y: [lax.add(lax.broadcast_in_dim(x, (3,), ()), X)],
                        [{"x"}, {"table", "broadcast_in_dim"}]),
    }
    for name, (program, want) in programs.items():
        jaxpr = make_jaxpr(program)(1.0, 2.0).jaxpr
        names = dict(zip(jaxpr.invars, "xy")) | dict.fromkeys(jaxpr.constvars, "table")
        names |= {eqn.outvars[0]: eqn.primitive.name for eqn in jaxpr.eqns}
        compare(lambda program, j=jaxpr, n=names: [
                    sorted(n[v] for v in freed) for freed in last_uses(j)],
                lambda program, w=want: [*map(sorted, w)], [(name,)],
                "what is free after each equation of")


def _product(x, y):
    sine = lax.sin(x)
    return [lax.mul(sine, lax.sub(lax.cos(x), sine))]


@exercise("6.5", "From arrays to arrays", ["call_program"], hole="core.jit.Program.__call__",
          hints=[
    "Four steps: the buffers of the kept arguments, after them the constants; the run; the donated "
    "arrays are deleted; the buffers become arrays.",
    "buffer_of(args[i], self.in_avals[i]) for each i in self.kept.",
    "Only an Array can be deleted, and only an Array that is passed twice (`is`) does harm.",
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
    _passed_twice(as_array(one))
    x, y = as_array(one + 1), as_array(one)
    f = jit(lambda x, y: lax.add(x, y), donate_argnums=0)
    compare(lambda *_: np.asarray(f(x, y)), lambda *_: one + 2, [("x + y",)],
            "x donated, in the program")
    expect(x.is_deleted(), "a donated argument must be deleted after the run")
    expect(not y.is_deleted(), "an argument that is not donated must not be deleted")
    compare(lambda x: np.asarray(f(x, y)), lambda x: x + one, [(one,)],
            "a NumPy array donated (that cannot be deleted): x =")


def _passed_twice(x):
    """A donated array that is also another argument is refused before the program runs."""
    for donated in ((0,), (1,), (0, 1)):
        f = jit(lambda x, y: (lax.add(x, F(1)), lax.mul(y, F(2))), donate_argnums=donated)
        what = f"f = jit(…, donate_argnums={donated}), and f(x, x)"
        try:
            got = f(x, x)
        except ValueError as error:
            expect("0" in str(error) and "1" in str(error), f"{what}: the message should have both "
                   f"numbers, 0 and 1; it is\n  {error}")
        except Exception as error:
            raise Wrong(f"{what}: raise ValueError\n  you say   {error}") from error
        else:
            raise Wrong(f"{what}: raise ValueError\n  you say   {got}")
        expect(not x.is_deleted(), f"{what}: x should live on, since nothing has run")
    f = jit(lambda x, y: x, donate_argnums=0)
    expect(_call(f, as_array(np.ones(2, F)), x) is None, "two arrays that are equal are not one")
    both = as_array(np.ones(2, F))
    expect(_call(f, both, both) is None, "an argument that is not kept does no harm")


def _call(f, *args):
    """The error that the call raises, or nothing."""
    try:
        f(*args)
    except ValueError as error:
        return error
    return None


@exercise("6.6", "A program without calls", ["without_jit"], hints=[
    "Write an interpreter of closed jaxprs (chapter 5), which calls itself for a jit equation.",
    "What it binds while it is traced becomes the new jaxpr: jaxpr_of(interpreter, avals).",
    "A jit equation has a list of results, and so has the jaxpr that it holds.",
])
def inlining(without_jit):
    inner = jit(lambda x: lax.mul(lax.sin(x), 2.0))
    deep = jit(lambda x, y: (inner(lax.add(x, y)), inner(y)))
    programs = {
        "sin(x)": (lambda x, y: lax.sin(x), ["sin"]),
        "jit(2 sin)(x)": (lambda x, y: inner(x), ["sin", "mul"]),
        "jit(2 sin)(jit(2 sin)(x)) - y": (lambda x, y: lax.sub(inner(inner(x)), y),
                                          ["sin", "mul", "sin", "mul", "sub"]),
        "a jit in a jit": (lambda x, y: deep(x, y), ["add", "sin", "mul", "sin", "mul"]),
        "a constant in a jit": (lambda x, y: jit(lambda x: lax.mul(x, X))(y), ["mul"]),
        "a sum in a jit": (lambda x, y: jit(lambda x: lax.reduce_sum(x, (0,)))(y), ["reduce_sum"]),
        "a part in a jit": (lambda x, y: jit(lambda x: cutting.split(x, (1, 2), 0)[1])(y),
                            ["split"]),
        "jvp of a jit": (lambda x, y: jvp(inner, (x,), (y,))[1],
                         ["sin", "cos", "mul", "mul", "mul"]),
        "the arguments, swapped in a jit": (lambda x, y: jit(lambda x, y: (y, x))(x, y), []),
    }
    for name, (f, want) in programs.items():
        closed = make_jaxpr(f)(X, X)
        compare(lambda name, c=closed: [eqn.primitive.name for eqn in without_jit(c).eqns],
                lambda name, w=want: w, [(name,)], "the equations of")
        compare(lambda x, y, c=closed: _evaluated(without_jit(c), x, y),
                lambda x, y, c=closed: _evaluated(c, x, y), [(X, 2 * X)], f"{name}: x, y =")


def _evaluated(closed, *args):
    return [np.asarray(out) for out in eval_jaxpr(closed.jaxpr, closed.consts, *args)]


@exercise("6.7", "A lowering rule, in tiny", ["lower_softplus"], hints=[
    'op("exponential") is a rule: call it with emit, out and x.',
    "The Value that a rule returns is an operand of the next.",
    "constant(emit, 1.0) has the type of a scalar, as x has.",
], page=True)
def softplus(lower_softplus):
    import tiny

    def run(x):
        """The value of the result, by an interpreter of the lines that are written."""
        values, functions = {"%arg0": x}, {"exponential": math.exp, "log": math.log,
                                           "sine": math.sin, "cosine": math.cos}

        def emit(text, out):
            name, rest = text.split(" ", 1)
            operands = rest.split(" : ")[0]
            expect(out == "tensor<f64>", "each result should be a tensor<f64>, not " + out)
            if name == "constant":
                value = float(operands[6:-1])
            else:
                numbers = [values[word] for word in operands.split(", ")]
                if name in functions:
                    value = functions[name](*numbers)
                elif name == "negate":
                    value = -numbers[0]
                else:
                    expect(name in ("add", "multiply"), "this check does not know " + name)
                    value = sum(numbers) if name == "add" else numbers[0] * numbers[1]
            values["%" + str(len(values))] = value
            return tiny.Value("%" + str(len(values) - 1), out)

        result = lower_softplus(emit, "tensor<f64>", tiny.Value("%arg0", "tensor<f64>"))
        return values[result.name]

    compare(run, lambda x: math.log(1.0 + math.exp(x)), [(0.0,), (1.0,), (-2.5,)],
            "the result of the lines, for x =")
