"""Callbacks and `debug.print` under every transformation: what they print, and what is computed."""

from __future__ import annotations

import gc
import io
import threading
import weakref

import numpy as np
import pytest

import minijax
from minijax.debugging.callbacks import io_callback
from tests.oracle import both, jax, oracle, subject

jax_io_callback = jax.experimental.io_callback

F32 = np.float32
ONE, TWO = F32(1), F32(2)


def see(jx, text, *xs, **options):
    """What the tests put into functions: prints, and returns the first argument."""
    jx.debug.print(text, *xs, **options)
    return xs[0] if xs else None


def wave(jx):
    def f(x):
        y = jx.numpy.sin(see(jx, "x={}", x))
        jx.debug.callback(lambda y: print(f"y={y:.3f}"), y)
        return jx.numpy.cos(y)

    return f


def step(jx, **options):
    def f(c, x):
        jx.debug.print("c={} x={}", c, x, **options)
        jx.debug.print("the same in each step", **options)
        return c * x + 1, c

    return f


def loop(jx):
    return lambda x: jx.lax.while_loop(lambda x: x < 9, lambda x: 2 * see(jx, "b={}", x), x)


def ordered_loop(jx):
    def condition(x):
        jx.debug.print("condition {}", x, ordered=True)
        return x < 5

    return lambda x: jx.lax.while_loop(
        condition, lambda x: 2 * see(jx, "body {}", x, ordered=True), x)


def branches(jx):
    return lambda p, x: jx.lax.cond(p, lambda x: see(jx, "yes {}", x) * 2, lambda x: x, x)


def ordered_branches(jx):
    def yes(x):
        jx.debug.print("yes {}", x, ordered=True)
        return x * 2

    return lambda p, x: see(jx, "after {}", jx.lax.cond(p, yes, lambda x: x, x), ordered=True)


def with_vjp(jx):
    f = jx.custom_vjp(lambda x: see(jx, "f {}", x) * 2)
    f.defvjp(lambda x: (see(jx, "fwd {}", x) * 2, x),
             lambda x, ct: (see(jx, "bwd {} {}", ct, x) * 3,))
    return f


def with_jvp(jx):
    f = jx.custom_jvp(lambda x: x * 2)

    @f.defjvp
    def rule(primals, tangents):
        jx.debug.print("tangent {}", tangents[0])
        return f(see(jx, "primal {}", primals[0])), 2 * tangents[0]

    return f


def calls(jx):
    inner = jx.jit(lambda x: see(jx, "inner {}", x, ordered=True) + 1)

    def f(x):
        y = inner(see(jx, "begin {}", x, ordered=True))
        return see(jx, "end {}", inner(y), ordered=True)

    return f


def remat(policy=None):
    def program(jx):
        chosen = policy and getattr(jx.checkpoint_policies, policy)
        return jx.grad(jx.checkpoint(wave(jx), policy=chosen))

    return program


PROGRAMS = {
    "eager": (wave, (ONE,)),
    "jit": (lambda jx: jx.jit(wave(jx)), (ONE,)),
    "grad": (lambda jx: jx.grad(wave(jx)), (ONE,)),
    "grad of jit": (lambda jx: jx.grad(jx.jit(wave(jx))), (ONE,)),
    "jit of grad": (lambda jx: jx.jit(jx.grad(wave(jx))), (ONE,)),
    "second derivative": (lambda jx: jx.grad(jx.grad(wave(jx))), (ONE,)),
    "vmap": (lambda jx: jx.vmap(wave(jx)), (np.arange(3, dtype=F32),)),
    "jit of vmap": (lambda jx: jx.jit(jx.vmap(wave(jx))), (np.arange(3, dtype=F32),)),
    "linear_transpose": (lambda jx: jx.linear_transpose(lambda x: 2 * see(jx, "{}", x), ONE),
                         (ONE,)),
    "remat": (remat(), (ONE,)),
    "remat everything": (remat("everything_saveable"), (ONE,)),
    "jit of remat": (lambda jx: jx.jit(remat()(jx)), (ONE,)),
    "remat of jit": (lambda jx: jx.grad(jx.remat(jx.jit(wave(jx)))), (ONE,)),
    "scan": (lambda jx: lambda c: jx.lax.scan(step(jx), c, np.arange(3, dtype=F32)), (ONE,)),
    "ordered scan": (lambda jx: lambda c: jx.lax.scan(
        step(jx, ordered=True), c, np.arange(5, dtype=F32), unroll=2), (ONE,)),
    "grad of scan": (lambda jx: jx.grad(
        lambda c: jx.lax.scan(step(jx), c, np.arange(3, dtype=F32))[0]), (ONE,)),
    "vmap of scan": (lambda jx: jx.vmap(
        lambda c: jx.lax.scan(step(jx), c, np.arange(2, dtype=F32))[0]), (np.ones(2, F32),)),
    "scan that nobody reads": (lambda jx: jx.jit(
        lambda c: (jx.lax.scan(step(jx), c, np.arange(2, dtype=F32)), c)[1]), (ONE,)),
    "while": (loop, (ONE,)),
    "linearize of while": (lambda jx: lambda x: jx.linearize(loop(jx), x)[1](x), (ONE,)),
    "vmap of while": (lambda jx: jx.vmap(loop(jx)), (np.array([1, 4], F32),)),
    "ordered while": (ordered_loop, (ONE,)),
    "jit of ordered while": (lambda jx: jx.jit(ordered_loop(jx)), (ONE,)),
    "cond": (branches, (True, ONE)),
    "jit of cond": (lambda jx: jx.jit(branches(jx)), (False, ONE)),
    "vmap of cond": (lambda jx: jx.vmap(branches(jx)), (np.array([True, False]), np.ones(2, F32))),
    "grad of cond": (lambda jx: jx.grad(branches(jx), 1), (True, ONE)),
    "ordered cond": (lambda jx: jx.jit(ordered_branches(jx)), (True, ONE)),
    "custom_vjp": (with_vjp, (ONE,)),
    "jit of custom_vjp": (lambda jx: jx.jit(jx.grad(with_vjp(jx))), (ONE,)),
    "vmap of custom_vjp": (lambda jx: jx.vmap(jx.grad(with_vjp(jx))), (np.ones(2, F32),)),
    "custom_jvp": (lambda jx: lambda x: jx.jvp(with_jvp(jx), (x,), (TWO,)), (ONE,)),
    "grad of custom_jvp": (lambda jx: jx.grad(with_jvp(jx)), (ONE,)),
    "ordered calls": (lambda jx: jx.jit(calls(jx)), (ONE,)),
}


def with_output(program, capsys):
    """The program, which also returns what it printed; an error is returned by name."""

    def of(jx):
        def run(*args):
            try:
                value = jx.block_until_ready(program(jx)(*args))
            except Exception as error:
                value = type(error).__name__
            jx.effects_barrier()
            return value, _rounded(capsys.readouterr().out)

        return run

    return of


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_printed_and_computed(name, capsys):
    program, args = PROGRAMS[name]
    both(with_output(program, capsys), *args)


def _rounded(text):
    return [word if not word.replace(".", "").isdigit() else f"{float(word):.5f}"
            for word in text.replace("=", " ").replace("\n", " | ").split()]


def test_jaxprs_print_as_in_jax():
    program = lambda jx: lambda: jx.make_jaxpr(jx.grad(jx.checkpoint(
        lambda x: jx.numpy.sin(see(jx, "x={}", x)))))(ONE)
    both(program)
    for jx in (oracle, subject):
        jaxpr = jx.make_jaxpr(jx.jit(lambda x: see(jx, "{}", x)))(1.0).jaxpr
        assert [*map(str, jaxpr.effects)] == [*map(str, jaxpr.eqns[0].effects)] == ["Debug"]
        assert jaxpr.pretty_print(print_effects=True).count(": { Debug }") == 2


# ----------------------------------------------------------------------------------------------
# pure_callback

STRUCT = {oracle: jax.ShapeDtypeStruct, subject: minijax.ShapeDtypeStruct}


def add(x, y):
    print(np.shape(x), np.shape(y))
    return np.asarray(x + y, F32)


def pure(jx, shape=(2,), callback=add, dtype=F32, **options):
    out = STRUCT[jx](shape, dtype)
    return lambda *args: jx.pure_callback(callback, out, *args, **options)


@pytest.mark.parametrize("method", ["sequential", "sequential_unrolled", "expand_dims",
                                    "broadcast_all", "legacy_vectorized", None, "unknown"])
def test_vmap_of_pure_callbacks(method, capsys):
    args = np.ones((3, 2), F32), np.ones(2, F32)
    program = lambda jx: jx.vmap(pure(jx, vmap_method=method), (0, None))
    printed = []
    for _ in (both(program, *args), both(lambda jx: jx.jit(program(jx)), *args)):
        out = capsys.readouterr().out.splitlines()
        printed.append(out)
        assert out[:len(out) // 2] == out[len(out) // 2:]
    both(lambda jx: jx.make_jaxpr(program(jx)), *args)


WRONG = {
    "raises": {"callback": lambda x: 1 / 0},
    "shape": {"callback": lambda x: np.ones(3, F32)},
    "dtype": {"callback": lambda x: np.ones(2, np.int32)},
    "too many": {"callback": lambda x: (x, x)},
    "converted": {"callback": lambda x: np.ones(2)},  # float64 becomes float32
    "64 bits": {"dtype": np.float64},
    "nothing": {"callback": lambda x: None},
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("compiled", [False, True])
def test_what_a_callback_may_do_wrong(name, compiled):
    def program(jx):
        f = pure(jx, **WRONG[name])
        return jx.jit(f) if compiled else f

    both(program, np.ones(2, F32))


@pytest.mark.parametrize("compiled", [False, True])
def test_an_exception_reaches_the_user_with_its_text(compiled):
    def refuse(x):
        raise KeyError("not this one")

    f = pure(subject, callback=refuse)
    with pytest.raises(minijax.errors.JaxRuntimeError, match="KeyError: 'not this one'"):
        (minijax.jit(f) if compiled else f)(np.ones(2, F32)).block_until_ready()


@pytest.mark.live_jax
def test_pure_callbacks_have_no_derivative_and_no_effect(capsys):
    both(lambda jx: jx.grad(pure(jx, (), np.sin)), ONE)
    both(lambda jx: jx.jit(lambda x: (pure(jx, (), print)(x), x)[1]), ONE)
    assert capsys.readouterr().out == ""
    with_rule = lambda jx: jx.custom_jvp(pure(jx, (), np.sin))

    def derivative(jx):
        f = with_rule(jx)
        f.defjvps(lambda t, ans, x: pure(jx, (), np.cos)(x) * t)
        return jx.jit(jx.value_and_grad(f))

    both(derivative, ONE)


def test_structures_of_arguments_and_results():
    def program(jx):
        out = {"a": STRUCT[jx]((), F32), "b": (STRUCT[jx]((2,), np.int32),)}
        return jx.jit(lambda x, y: jx.pure_callback(
            lambda x, *, y: {"a": np.sum(y["z"]), "b": (np.full(2, x, np.int32),)}, out, x, y=y))

    both(program, np.int32(3), {"z": np.arange(3, dtype=F32)})


def test_arguments_are_arrays_without_weak_types(capsys):
    for compiled in (False, True):
        def show(*xs):
            assert all(isinstance(x, minijax.Array) and not x.weak_type for x in xs)
            print([np.asarray(x).dtype.name for x in xs])

        f = lambda x: io_callback(show, None, x, 2, 3.0, np.arange(3), True)
        (minijax.jit(f) if compiled else f)(1.0)
        minijax.effects_barrier()
    first, second = capsys.readouterr().out.splitlines()
    assert first == second == "['float32', 'int32', 'float32', 'int32', 'bool']"


def test_callbacks_keep_the_setting_x64_of_their_program():
    with minijax.enable_x64(True):
        f = minijax.jit(pure(subject, (), lambda x: x * 2.0, np.float64))
        assert f(np.float64(0.1)).item() == 0.2


# ----------------------------------------------------------------------------------------------
# io_callback

IO = {oracle: jax_io_callback, subject: io_callback}


def say(jx, ordered):
    return lambda x: IO[jx](lambda x: print("io", x), None, x, ordered=ordered)


IO_PROGRAMS = {
    "eager": lambda jx, o: say(jx, o),
    "jit": lambda jx, o: jx.jit(say(jx, o)),
    "vmap": lambda jx, o: lambda x: jx.vmap(say(jx, o))(np.stack([x, x])),
    "vmap of nothing mapped": lambda jx, o: lambda x: jx.vmap(lambda y: say(jx, o)(x))(np.ones(2)),
    "jvp": lambda jx, o: lambda x: jx.jvp(say(jx, o), (x,), (x,)),
    "grad past it": lambda jx, o: jx.grad(lambda x: (say(jx, o)(2.0), x)[1]),
    "remat": lambda jx, o: jx.grad(jx.remat(lambda x: (say(jx, o)(2.0), jx.numpy.sin(x))[1])),
    "scan": lambda jx, o: lambda c: jx.lax.scan(
        lambda c, x: (say(jx, o)(x), (c, x))[1], c, np.arange(2, dtype=F32)),
    "while": lambda jx, o: lambda c: jx.lax.while_loop(
        lambda x: (say(jx, o)(x), x < 2)[1], lambda x: x + 1, c),
    "cond": lambda jx, o: lambda x: jx.lax.cond(
        x > 0, lambda x: (say(jx, o)(x), x < 2)[1], lambda x: x > 3, x),
}


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("name", IO_PROGRAMS)
def test_io_callbacks(name, ordered, capsys):
    both(with_output(lambda jx: IO_PROGRAMS[name](jx, ordered), capsys), ONE)


def test_ordered_effects_of_many_programs_keep_their_order():
    seen = []
    f = minijax.jit(lambda x: io_callback(lambda x: seen.append(int(x)), None, x, ordered=True))
    for i in range(50):
        f(i)
    assert seen == list(range(50))


def test_the_barrier_raises_what_a_callback_raised():
    def refuse(x):
        raise ValueError("too late")

    with pytest.raises(minijax.errors.JaxRuntimeError, match="too late"):
        minijax.jit(lambda x: minijax.debug.callback(refuse, x))(1.0)
        minijax.effects_barrier()
    minijax.effects_barrier()


def test_callbacks_that_run_programs_themselves():
    double = minijax.jit(lambda x: x + x)
    f = minijax.jit(lambda x: minijax.pure_callback(double, x, x) + 1)
    assert f(minijax.numpy.arange(3.0)).tolist() == [1, 3, 5]


CALLS = {
    "debug": minijax.debug.callback,
    "io": lambda f, x: io_callback(f, None, x),
    "pure": lambda f, x: minijax.pure_callback(f, None, x),
}


@pytest.mark.parametrize("kind", CALLS)
def test_functions_live_as_long_as_their_program(kind):
    """Nobody else keeps them: they may hold large arrays."""
    def program():
        class Function:
            def __call__(self, x):
                return None

        function = Function()
        f = minijax.jit(lambda x: (CALLS[kind](function, x), x + 1)[1])
        return f, weakref.ref(function)

    f, function = program()
    gc.collect()
    assert f(1.0).item() == 2
    minijax.effects_barrier()
    gc.collect()
    assert function() is not None
    del f
    gc.collect()
    assert function() is None


def test_arguments_that_cannot_be_hashed(capsys):
    minijax.jit(lambda x: minijax.debug.print("{} {}", x, {"a": [set()]}))(1.0)
    minijax.jit(lambda x: minijax.debug.callback(lambda x, y: print(y), x, [bytearray()]))(1.0)
    minijax.effects_barrier()
    assert capsys.readouterr().out == "1.0 {'a': [set()]}\n[bytearray(b'')]\n"


def test_threads():
    seen, errors = {}, []

    def work(n):
        def note(x):
            seen.setdefault(n, []).append(int(x))

        try:
            f = minijax.jit(lambda x: (io_callback(note, None, x, ordered=True), x + n)[1])
            for i in range(10):
                assert f(i).item() == i + n
            minijax.make_jaxpr(lambda x: minijax.debug.print("{}", x))(1.0)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert seen == {n: list(range(10)) for n in range(4)}


# ----------------------------------------------------------------------------------------------
# debug.print, debug.callback, debug.breakpoint

FORMATS = {
    "all kinds": lambda jx: jx.debug.print("{} {x:.2f} {y} {z}", 3, x=2.0, y="s",
                                           z={"a": np.arange(3)}),
    "f-string": lambda jx: jx.debug.print(f"{3}", x=1),
    "too many": lambda jx: jx.debug.print("{}", 1, 2),
    "too few": lambda jx: jx.debug.print("{} {}", 1),
    "unknown": lambda jx: jx.debug.print("{x}"),
    "braces": lambda jx: jx.debug.print("{{}} {}", 1) if jx is subject else print("{} 1"),
    "nothing": lambda jx: jx.debug.print("nothing"),
    "unchecked": lambda jx: jx.debug.print("values:", 1, 2, skip_format_check=True),
    "two calls": lambda jx: jx.debug.print(ordered=True)("{x}", x=1),
    "two calls, wrong": lambda jx: jx.debug.print(x=1),
    "callback": lambda jx: jx.debug.callback(print, "text", 1, [2.0]),
    "callback in two calls": lambda jx: jx.debug.callback(ordered=True)(print, 1),
    "no callback": lambda jx: jx.debug.callback(3, 1.0),
    "callback raises": lambda jx: jx.debug.callback(lambda: {}["key"]),
}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.live_jax
def test_formats(name, capsys):
    both(lambda jx: lambda: FORMATS[name](jx))
    out = capsys.readouterr().out.splitlines()
    assert out[: len(out) // 2] == out[len(out) // 2 :]


def test_printing_obeys_the_print_options_of_when_it_was_traced(capsys):
    for jx in (oracle, subject):
        with np.printoptions(precision=2):
            f = jx.jit(lambda x: jx.debug.print("{}", x))
            f(np.array([1 / 3], F32))
        f(np.array([1 / 3], F32))
        jx.effects_barrier()
    assert capsys.readouterr().out == "[0.33]\n" * 4


COMMANDS = "y + 1\np y\npp [y]\nundefined\nup\np outer\ndown\ndown\nlist\nwhere\nhelp p\nc\n"


def test_breakpoint():
    output = io.StringIO()

    def inner(x):
        y = x * 2
        minijax.debug.breakpoint(stdin=io.StringIO(COMMANDS), stdout=output)
        return y

    def f(outer):
        return inner(outer)

    assert minijax.jit(f)(3.0).item() == 6
    minijax.effects_barrier()
    text = output.getvalue()
    for expected in ("Entering jdb:", "Array(7., dtype=float32)", "Array(6., dtype=float32)",
                     "[Array(6., dtype=float32)]", "*** NameError", "Array(3., dtype=float32)",
                     "At bottommost frame.", "->          minijax.debug.breakpoint", "Traceback:",
                     "return inner(outer)"):
        assert expected in text, (expected, text)


def test_breakpoint_with_a_token():
    output = io.StringIO()

    def f(x):
        y = minijax.debug.breakpoint(token=x + 1, stdin=io.StringIO("p x\nc\n"), stdout=output)
        return 2 * y

    assert minijax.jit(f)(3.0).item() == 8
    assert "Array(3., dtype=float32)" in output.getvalue()
    with pytest.raises(ValueError, match="exclusive"):
        minijax.debug.breakpoint(token=1.0, ordered=True)


def test_log(caplog):
    with caplog.at_level("INFO", "minijax.debug"):
        minijax.debug.log("x={}", 1)
    assert caplog.messages == ["x=1"]


# ----------------------------------------------------------------------------------------------
# Two transformations, one around the other


def around(jx):
    """Transformations, each from a function of a scalar to one of a scalar."""
    def scan(f):
        return lambda x: jx.lax.scan(lambda c, _: (f(c), c), x, None, length=2)[0]

    def cond(f):
        return lambda x: jx.lax.cond(x > 0, f, lambda x: x * 1.0, x)

    def loop(f):
        return lambda x: jx.lax.while_loop(
            lambda c: c[0] < 2, lambda c: (c[0] + 1, f(c[1])), (0, x))[1]

    def custom_jvp(f):
        g = jx.custom_jvp(f)
        g.defjvp(lambda primals, tangents: (f(primals[0]), tangents[0] * 2))
        return g

    def custom_vjp(f):
        g = jx.custom_vjp(f)
        g.defvjp(lambda x: (f(x), x), lambda x, ct: (ct * x,))
        return g

    def vmap(f):
        return lambda x: jx.vmap(f)(jx.numpy.stack([x, x + 1])).sum(0)

    def jvp(f):
        return lambda x: jx.jvp(f, (x,), (x,))[1]

    def linearize(f):
        return lambda x: jx.linearize(f, x)[1](x)

    names = [scan, cond, loop, custom_jvp, custom_vjp, vmap, jvp, linearize, jx.jit, jx.checkpoint,
             jx.grad]
    return dict(zip("scan cond while custom_jvp custom_vjp vmap jvp linearize jit remat grad"
                    .split(), names, strict=True))


PAIRS = [(a, b) for a in around(subject) for b in around(subject)]


@pytest.mark.parametrize("names", PAIRS[::4], ids="-".join)
def test_two_transformations(names, capsys):
    def program(jx):
        f = lambda x: see(jx, "b {}", jx.numpy.sin(see(jx, "a {}", x))) * x
        for name in reversed(names):
            f = around(jx)[name](f)
        return lambda x: f(jx.numpy.float32(x))

    both(with_output(program, capsys), 0.7)
