"""The checks of chapter 15's exercises."""

from __future__ import annotations

import math
from collections import namedtuple
from unittest import mock

import numpy as np
from learning.checking import compare, exercise, expect

import minijax as jax
from minijax import numpy as jnp
from minijax.experimental import io_callback

F = np.float32
Eqn = namedtuple("Eqn", ("out", "op", "inputs", "effect"))


def pure(out, op, *inputs, effect=False):
    return Eqn(out, op, inputs, effect)


def _get(out, ref):
    return Eqn(out, "get", (ref,), True)


def _set(ref, value):
    return Eqn("_", "set", (ref, value), True)


# ----------------------------------------------------------------------------------------------
# 15.1

A, B = pure("a", "sin", "x", effect=None), pure("b", "mul", "a", "x", effect=None)


def _show(channel, *inputs, out="_"):
    return Eqn(out, "show", inputs, channel)


@exercise("15.1", "Tokens that order less", ["with_channels"], hints=[
    "The chapter's with_tokens has one counter. How many do you need now?",
    "A dict from the channel's name to the number of tokens that it has had.",
    "A channel that no equation uses has no last token.",
])
def channels(with_channels):
    two = [A, _show("screen", "a"), _show("file", "a"), B, _show("screen", "b")]
    want = {
        "[]": ([], {}),
        "[A, B]": ([A, B], {}),
        "[A, screen]": ([A, _show("screen", "a", "screen0", out="screen1")],
                        {"screen": "screen1"}),
        "[A, screen, file, B, screen]": (
            [A, _show("screen", "a", "screen0", out="screen1"),
             _show("file", "a", "file0", out="file1"), B,
             _show("screen", "b", "screen1", out="screen2")],
            {"screen": "screen2", "file": "file1"}),
    }
    programs = {"[]": [], "[A, B]": [A, B], "[A, screen]": two[:2],
                "[A, screen, file, B, screen]": two}

    def plain(eqns, last):
        return [tuple(map(str, eqn)) for eqn in eqns], dict(last)

    for name, program in programs.items():
        compare(lambda _, program=program: plain(*with_channels(list(program))),
                lambda name: plain(*want[name]), [(name,)], "the program")


# ----------------------------------------------------------------------------------------------
# 15.2

OPS = {"sin": math.sin, "cos": math.cos, "mul": lambda x, y: x * y, "add": lambda x, y: x + y,
       "select": lambda which, x, y: x if which else y}


def _interpret(eqns, env):
    """With references as entries of `env`, which `set` changes."""
    for eqn in eqns:
        if eqn.op == "if":
            p, yes, no = eqn.inputs
            _interpret(yes if env[p] else no, env)
        elif eqn.op == "set":
            env[eqn.inputs[0]] = env[eqn.inputs[1]]
        elif eqn.op == "get":
            env[eqn.out] = env[eqn.inputs[0]]
        else:
            env[eqn.out] = OPS[eqn.op](*[env[x] for x in eqn.inputs])


def _if(p, yes, no):
    return Eqn("_", "if", (p, yes, no), True)


STATEFUL = {
    "set r x": [_set("r", "x")],
    "if p: set r x": [_if("p", [_set("r", "x")], [])],
    "if p: nothing, else: set r x": [_if("p", [], [_set("r", "x")])],
    "both branches write, then a read": [
        _if("p", [pure("a", "sin", "x"), _set("r", "a")], [pure("b", "cos", "x"), _set("r", "b")]),
        _get("c", "r"), pure("d", "mul", "c", "x"), _set("s", "d")],
    "both branches write the same": [_if("p", [_set("r", "x")], [_set("r", "x")])],
    "two references change places in one branch": [
        _if("p", [_get("a", "r"), _get("b", "s"), _set("r", "b"), _set("s", "a")], [])],
    "an if in a branch": [
        _if("p", [_if("q", [_set("r", "x")], [_get("a", "s"), _set("r", "a")])],
            [pure("b", "add", "x", "x"), _set("s", "b")]),
        _get("c", "r"), _get("d", "s"), pure("e", "mul", "c", "d"), _set("r", "e")],
    "a condition that was read from a reference": [
        _get("a", "r"), _set("r", "x"), _if("a", [_set("s", "x")], [_set("r", "s_start")])],
    "two ifs": [_if("p", [_set("r", "x")], []), _if("q", [_get("a", "r"), _set("s", "a")], []),
                _get("b", "s"), pure("c", "add", "b", "x"), _set("r", "c")],
}


@exercise("15.2", "An if that writes", ["discharge_branches"], hints=[
    "When all reads and writes are gone, a branch is pure. Then nothing goes wrong if both run.",
    "Each branch begins with a copy of the dictionary, as it is before the if.",
    "After the branches, you have two dictionaries. Where they differ in a reference, the contents "
    "are a select of the two.",
    "The condition p may itself be a variable that a get has made. Look it up as well.",
    "A new variable for each select needs a new name: count them, over all branches.",
])
def branches(discharge_branches):
    for name, program in STATEFUL.items():
        eqns, last = discharge_branches(list(program), ["r", "s"])
        left = sorted({eqn.op for eqn in eqns} & {"get", "set", "if"})
        expect(not left, f"{name}: the new program still has {', '.join(left)}")
        outs = [eqn.out for eqn in eqns]
        expect(len(set(outs)) == len(outs), f"{name}: two equations have the same result: {outs}")

        def final(p, q, x, eqns=eqns, last=last):
            env = {"p": p, "q": q, "x": x, "r": 0.0, "s": 5.0, "s_start": 5.0}
            _interpret(eqns, env)
            return [env[last["r"]], env[last["s"]]]

        def want(p, q, x, program=program):
            env = {"p": p, "q": q, "x": x, "r": 0.0, "s": 5.0, "s_start": 5.0}
            _interpret(program, env)
            return [env["r"], env["s"]]

        compare(final, want, [(p, q, 2.0) for p in (True, False) for q in (True, False)],
                f"{name}: the last contents of r and s (at first 0 and 5), with p, q, x =")


# ----------------------------------------------------------------------------------------------
# 15.3


@exercise("15.3", "One by one", ["_one_by_one"], hints=[
    "Only the operands with a batch axis go into the scan's xs. It takes rows, along axis 0.",
    "The body is a nested function, so it sees the other operands from outside.",
    "In the body, put the rows and the whole operands in their places: for each operand the next "
    "row, or itself.",
    "The carry can be (). The result of scan is (carry, ys), and ys is the list you need.",
], hole="debugging.callbacks.one_by_one")
def one_by_one(_one_by_one):
    seen = []

    def host(x, y):
        seen.append((np.shape(x), np.shape(y), float(np.ravel(x)[0])))
        return np.float32(np.sum(x) * np.sum(y)), np.float32(np.sum(x) - np.sum(y))

    outs = (jax.ShapeDtypeStruct((), "float32"),) * 2

    def pair(x, y, method="sequential"):
        return jax.pure_callback(host, outs, x, y, vmap_method=method)

    xs, y = np.arange(6, dtype=F).reshape(3, 2), np.arange(4, dtype=F)
    ys = np.arange(12, dtype=F).reshape(3, 4)
    for method in ("sequential", "sequential_unrolled"):
        f = lambda x, y, method=method: pair(x, y, method)
        for jitted in (False, True):
            by_x, by_both = jax.vmap(f, (0, None)), jax.vmap(f)
            if jitted:
                by_x, by_both = jax.jit(by_x), jax.jit(by_both)
            where = f"under {'jit of ' * jitted}vmap, with {method!r}, the callback of"
            compare(lambda n, g=by_x: [np.asarray(a[:n]) for a in g(xs, y)],
                    lambda n: [(xs.sum(1) * y.sum())[:n], (xs.sum(1) - y.sum())[:n]], [(3,)],
                    where + " (x's rows, the whole y), number of rows")
            compare(lambda n, g=by_both: [np.asarray(a[:n]) for a in g(xs, ys)],
                    lambda n: [(xs.sum(1) * ys.sum(1))[:n], (xs.sum(1) - ys.sum(1))[:n]], [(3,)],
                    where + " (x's rows, y's rows), number of rows")
    direct = lambda x, y: list(jax.pure_callback(host, outs, x, y))
    compare(lambda a, b: [np.asarray(o) for o in _one_by_one(direct, [xs.T, ys], [a, b])],
            lambda a, b: [xs.sum(1) * ys.sum(1), xs.sum(1) - ys.sum(1)], [(1, 0)],
            "called with arrays of shapes (2, 3) and (3, 4), and the dims")
    seen.clear()
    jax.block_until_ready(jax.vmap(pair, (0, None))(xs, y))
    shapes = {(a, b) for a, b, _ in seen}
    expect(shapes == {((2,), (4,))}, f"the callback should see operands of shapes (2,) and (4,) "
                                     f"each time; it saw {sorted(shapes)}")
    expect([first for *_, first in seen] == [0.0, 2.0, 4.0],
           f"the first numbers of the rows, in the order of the calls, should be [0, 2, 4]; they "
           f"are {[first for *_, first in seen]}")
    text = str(jax.make_jaxpr(jax.vmap(pair, (0, None)))(np.zeros((50, 2), F), y))
    expect(text.count("pure_callback[") == 1, f"for 50 examples, the callback is staged "
                                              f"{text.count('pure_callback[')} times, not once")
    unrolled = jax.vmap(lambda x: pair(x, y, "sequential_unrolled"))
    expect("unroll=3" in str(jax.make_jaxpr(unrolled)(xs)), "pass the options to lax.scan")
    noted = []
    note = lambda x: io_callback(lambda x: noted.append(float(x)), None, x)
    jax.vmap(note)(np.arange(3, dtype=F))
    jax.effects_barrier()
    expect(sorted(noted) == [0.0, 1.0, 2.0], f"vmap of an io_callback without results over "
                                             f"[0, 1, 2] has called it with {noted}")


# ----------------------------------------------------------------------------------------------
# 15.4


@exercise("15.4", "A function on the host, with a derivative", ["cube_root"], hints=[
    "Decorate the function that calls back with @jax.custom_jvp, and its rule with "
    "@cube_root.defjvp.",
    "jnp.shape(x) and jnp.result_type(x) are what ShapeDtypeStruct needs.",
    "If the rule calls cube_root itself, and not the callback, then its result can be "
    "differentiated again.",
])
def on_host(cube_root):
    def rounded(f):
        return lambda *args: np.round(np.asarray(f(*args), np.float64), 4)

    points = [(F(8.0),), (F(1.0),), (F(-27.0),), (np.array([1.0, -8.0], F),)]
    compare(rounded(cube_root), lambda x: np.round(np.cbrt(x).astype(np.float64), 4), points, "x =")
    compare(rounded(jax.jit(cube_root)), lambda x: np.round(np.cbrt(x).astype(np.float64), 4),
            points, "under jit, x =")
    first = lambda x: np.round(1 / (3 * np.cbrt(np.float64(x)) ** 2), 4)
    second = lambda x: np.round(-2 / (9 * np.cbrt(np.float64(x)) ** 5), 4)
    compare(rounded(jax.grad(cube_root)), first, points[:3], "its derivative, at x =")
    compare(rounded(jax.jit(jax.grad(jax.grad(cube_root)))), second, points[:3],
            "under jit, its second derivative, at x =")
    calls, real = [], np.cbrt

    def counted(x, *args, **kwargs):
        calls.append(np.shape(x))
        return real(x, *args, **kwargs)

    with mock.patch.object(np, "cbrt", counted):
        batch = np.array([1.0, 8.0, 27.0], F)
        out = np.asarray(jax.jit(jax.vmap(lambda x: cube_root(x)))(batch))
    expect(np.allclose(out, real(batch)), f"under vmap, of [1, 8, 27]: {out}")
    expect(len(calls) == 1, f"under vmap over three numbers, np.cbrt was called {len(calls)} "
                            "times, not once")
    compare(rounded(jax.vmap(jax.grad(cube_root))), first, [(batch,)],
            "under vmap, its derivative, at x =")


# ----------------------------------------------------------------------------------------------
# 15.5


@exercise("15.5", "The first infinity", ["first_infinity"], hints=[
    "Make the jaxpr within the function that you return: there, x has a shape.",
    "Evaluate equation by equation, with a dict from variables to values.",
    "No Python `if` on values: under jit they are not known. jnp.where chooses.",
    "The number changes if it is still -1 and the result has an infinity.",
    "Give jnp.where two int32s: jnp.int32(i) for equation i.",
])
def infinity(first_infinity):
    functions = {
        "x + 1": lambda x: x + 1.0,
        "1 / x": lambda x: 1.0 / x,
        "exp(x) * 0 + 1": lambda x: jnp.exp(x) * 0.0 + 1.0,
        "sin(x) + 1 / cos(x * 0 + x)": lambda x: jnp.sin(x) + 1.0 / jnp.cos(x * 0.0 + x),
        "log(x) + exp(100 * x)": lambda x: jnp.log(x) + jnp.exp(100.0 * x),
        "log(x - 2) + 1 / x, which begins with a NaN": lambda x: jnp.log(x - 2.0) + 1.0 / x,
        "a jit with two results": lambda x: jnp.multiply(*jax.jit(lambda x: (x, 1.0 / x))(x)),
        "the number of positive ones": lambda x: jnp.sum(x > 0),
        "x + a constant array": lambda x: x + jnp.array([1.0, 2.0])[0],
    }
    points = [jnp.float32(x) for x in (0.0, 1.0, 1000.0)]

    def want(f, x):
        closed = jax.make_jaxpr(f)(x)
        steps = []
        env = dict(zip([*closed.jaxpr.constvars, *closed.jaxpr.invars], [*closed.consts, x]))
        read = lambda v: v.val if hasattr(v, "val") else env[v]
        for eqn in closed.jaxpr.eqns:
            out = eqn.primitive.bind(*map(read, eqn.invars), **eqn.params)
            outs = out if eqn.primitive.multiple_results else [out]
            env.update(zip(eqn.outvars, outs))
            steps.append(any(np.isinf(np.asarray(o, np.float64)).any() for o in outs))
        return np.asarray(f(x)), int(steps.index(True)) if any(steps) else -1

    def both(out):
        return np.asarray(out[0]), int(out[1])

    for name, f in functions.items():
        compare(lambda x, f=f: both(first_infinity(f)(x)), lambda x, f=f: want(f, x),
                [(x,) for x in points], f"f = {name}, x =")
        compare(lambda x, f=f: both(jax.jit(first_infinity(f))(x)), lambda x, f=f: want(f, x),
                [(x,) for x in points], f"f = {name}, under jit, x =")
        batch = jnp.stack(points)
        compare(lambda n, f=f: np.asarray(jax.vmap(first_infinity(f))(batch)[1])[:n],
                lambda n, f=f: np.array([want(f, x)[1] for x in points[:n]], np.int32), [(3,)],
                f"f = {name}, under vmap over [0, 1, 1000]; the numbers of the first")
    vector = jnp.array([1.0, 0.0])
    f = functions["1 / x"]
    compare(lambda x: both(first_infinity(f)(x)), lambda x: want(f, x), [(vector,)],
            "f = 1 / x, x =")
    number = first_infinity(f)(jnp.float32(1.0))[1]
    expect(number.dtype == np.int32, f"n should be an int32; it is a {number.dtype}")
