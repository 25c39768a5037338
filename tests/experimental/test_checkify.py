"""`checkify`: which error is found, and what is computed, through every transformation."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import minijax
from minijax.experimental import checkify as our_checkify
from tests.oracle import both, in_both, jax, oracle, subject

jax_checkify = jax.experimental.checkify

F32 = np.float32
SETS = "user_checks nan_checks index_checks div_checks float_checks automatic_checks all_checks"


def library(jx):
    """Short names of one library: `C` is its checkify."""
    module = jax_checkify if jx is oracle else our_checkify
    return SimpleNamespace(jx=jx, np=jx.numpy, lax=jx.lax, C=module, all=module.all_checks)


def positive(L):
    def f(x):
        L.C.check(x > 0, "x={} {y}", x, y={"twice": x * 2})
        return L.np.sin(x)

    return f


def step(L):
    def f(c, x):
        L.C.check(c < 3, "c={}", c)
        return c + x, L.np.log(c - 1)

    return f


def condition(L):
    def f(x):
        L.C.check(x != 4, "no {}", x)
        return x < 10

    return f


def with_jvp(L):
    f = L.jx.custom_jvp(positive(L))
    f.defjvps(lambda t, ans, x: 3 * t)
    return f


def with_vjp(L):
    f = L.jx.custom_vjp(positive(L))
    f.defvjp(lambda x: (L.np.cos(x), x), lambda x, ct: (ct * x,))
    return f


def value_error_and_gradient(L, f):
    return L.jx.value_and_grad(lambda x: L.C.checkify(f)(x)[::-1], has_aux=True)


# name -> (what is checkified, which errors, arguments)
CHECKED = {
    "nothing wrong": (positive, "all", [1.0]),
    "check": (positive, "user", [-1.0]),
    "not enabled": (positive, "nan", [-1.0]),
    "jit": (lambda L: L.jx.jit(positive(L)), "user", [-1.0]),
    "jit in jit": (lambda L: L.jx.jit(lambda x: L.jx.jit(positive(L))(x) + x), "all", [-1.0]),
    "remat": (lambda L: L.jx.checkpoint(positive(L)), "user", [-1.0]),
    "two checks, first": (lambda L: lambda x: (L.C.check(x > 0, "1"), L.C.check(x > 1, "2")),
                          "user", [-1.0]),
    "two checks, second": (lambda L: lambda x: (L.C.check(x > 0, "1"), L.C.check(x > 1, "2")),
                           "user", [0.5]),
    "debug_check": (lambda L: lambda x: L.C.debug_check(x > 0, "not {}", x), "user", [-1.0]),
    "nan": (lambda L: lambda x: L.np.log(x) + L.np.sqrt(x), "all", [-1.0]),
    "nan of several": (lambda L: lambda x: L.np.linalg.norm(x), "all", [np.array([np.nan, 1], F32)]),
    "div": (lambda L: lambda x: 1 / L.np.asarray(x), "all", [0.0]),
    "div but nan": (lambda L: lambda x: L.np.asarray(x) / x, "nan", [0.0]),
    "index": (lambda L: lambda x, i: x[i], "all", [np.arange(3, dtype=F32), 5]),
    "negative index": (lambda L: lambda x, i: L.np.asarray(x)[i], "all",
                       [np.arange(3, dtype=F32), np.int32(-5)]),
    "indices": (lambda L: lambda x, i: L.np.asarray(x)[0, i], "index",
                [np.ones((2, 3), F32), np.array([0, 7, 8])]),
    "good indices": (lambda L: lambda x, i: L.np.asarray(x)[i], "index",
                     [np.ones(3, F32), np.array([0, 2, -1])]),
    "set": (lambda L: lambda x, i: L.np.asarray(x).at[i].set(1.0), "index",
            [np.ones(3, F32), np.int32(5)]),
    "add": (lambda L: lambda x, i: L.np.asarray(x).at[i].add(1.0), "all",
            [np.ones((2, 3), F32), np.array([1, 4])]),
    "dynamic_slice": (lambda L: lambda x, i: L.lax.dynamic_slice(x, (i,), (2,)), "index",
                      [np.ones(3, F32), np.int32(2)]),
    "dynamic_update_slice": (lambda L: lambda x, i: L.lax.dynamic_update_slice(x, x[:2], (i,)),
                             "index", [np.ones(3, F32), np.int32(2)]),
    "cond, first": (lambda L: lambda p, x: L.lax.cond(p, positive(L), lambda x: 1 / (x + 1), x),
                    "all", [True, -1.0]),
    "cond, second": (lambda L: lambda p, x: L.lax.cond(p, positive(L), lambda x: 1 / (x + 1), x),
                     "all", [False, -1.0]),
    "scan": (lambda L: lambda c: L.lax.scan(step(L), c, np.arange(5, dtype=F32)), "user", [2.0]),
    "scan, nan": (lambda L: lambda c: L.lax.scan(step(L), c, np.arange(5, dtype=F32)), "all", [0.0]),
    "while": (lambda L: lambda c: L.lax.while_loop(
        lambda c: c < 9, lambda c: step(L)(c, 1.0)[0], c), "user", [2.0]),
    "while, condition": (lambda L: lambda c: L.lax.while_loop(condition(L), lambda c: 2 * c, c),
                         "user", [1.0]),
    "while, at once": (lambda L: lambda c: L.lax.while_loop(condition(L), lambda c: 2 * c, c),
                       "user", [4.0]),
    "fori": (lambda L: lambda c: L.lax.fori_loop(0, 3, lambda i, c: step(L)(c, 1.0)[0], c),
             "user", [2.0]),
    "vmap inside": (lambda L: L.jx.vmap(positive(L)), "user", [np.array([1, -1, -2], F32)]),
    "vmap of scan inside": (lambda L: L.jx.vmap(lambda c: L.lax.scan(
        step(L), c, np.arange(3, dtype=F32))), "user", [np.array([1, 4], F32)]),
    "vmap of while inside": (lambda L: L.jx.vmap(lambda c: L.lax.while_loop(
        lambda c: c < 3, lambda c: 2 * c, c)), "user", [np.array([1, 2], F32)]),
    "grad inside": (lambda L: L.jx.grad(positive(L)), "user", [-1.0]),
    "nan in grad": (lambda L: L.jx.grad(lambda x: L.np.sqrt(x) * 0), "nan", [0.0]),
    "custom_jvp": (with_jvp, "user", [-1.0]),
    "grad of custom_jvp": (lambda L: L.jx.grad(with_jvp(L)), "user", [-1.0]),
    "custom_vjp": (with_vjp, "user", [-1.0]),
    "grad of custom_vjp": (lambda L: L.jx.grad(with_vjp(L)), "user", [-1.0]),
    "check_error": (lambda L: lambda x: L.C.check_error(L.C.checkify(positive(L))(x)[0]),
                    "user", [-1.0]),
}


@pytest.mark.daily(3)
@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("name", CHECKED)
def test_what_is_found(name, jitted):
    program, errors, args = CHECKED[name]
    args = [F32(x) if type(x) is float else x for x in args]

    def run(jx):
        L = library(jx)
        f = L.C.checkify(program(L), getattr(L.C, f"{errors}_checks"))
        f = jx.jit(f) if jitted else f

        def of_arrays(*args):
            error, out = f(*map(jx.numpy.asarray, args))
            return error.get(), out

        return of_arrays

    assert both(run, *args, text=False) is not None
    messages = []
    for jx in (oracle, subject):
        try:
            messages.append(run(jx)(*args)[0])
        except ValueError:
            messages.append("no batched while")
    assert messages[0] == messages[1]


AROUND = {
    "vmap": lambda L: L.jx.vmap(lambda x: L.C.checkify(positive(L))(x)),
    "vmap, automatic": lambda L: L.jx.vmap(L.C.checkify(lambda x: 1 / L.np.log(x), L.all)),
    "vmap of custom_jvp": lambda L: L.jx.vmap(L.C.checkify(with_jvp(L))),
    "vmap of vmap": lambda L: lambda x: L.jx.vmap(L.jx.vmap(L.C.checkify(positive(L))))(
        x.reshape(3, 1)),
    "vmap of scan": lambda L: L.jx.vmap(L.C.checkify(
        lambda c: L.lax.scan(step(L), c, np.arange(3, dtype=F32)))),
}


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("name", AROUND)
def test_errors_of_examples(name, jitted):
    found = []
    for jx in (oracle, subject):
        f = AROUND[name](library(jx))
        error, out = (jx.jit(f) if jitted else f)(jx.numpy.array([-1.0, 2.5, -2.0]))
        found.append((error.get(), out))
    assert found[0][0] == found[1][0]
    both(lambda jx: lambda: found[jx is subject][1])


def test_errors_of_the_examples_of_a_while():
    """JAX cannot batch it; so compare with the examples by themselves."""
    L = library(subject)
    f = L.C.checkify(lambda c: L.lax.while_loop(condition(L), lambda c: c + 1.5, c))
    examples = [F32(x) for x in (-1, 2.5, -2)]
    error, out = L.jx.vmap(f)(np.array(examples))
    alone = [f(x) for x in examples]
    assert out.tolist() == [x.item() for _, x in alone]
    lines = [f"at mapped index {i}: {e.get()}" for i, (e, _) in enumerate(alone) if e.get()]
    assert error.get().splitlines() == lines != []


@pytest.mark.parametrize("make", [positive, with_jvp, lambda L: L.jx.jit(positive(L))])
def test_derivatives_of_checked_functions(make):
    both(lambda jx: lambda x: _messages(value_error_and_gradient(library(jx), make(library(jx)))(x))
         if make is positive else jx.jvp(lambda x: _out(library(jx), make(library(jx)), x),
                                         *[(jx.numpy.asarray(x),)] * 2), F32(2))


def test_derivatives_of_checked_functions_with_rules():
    """Their rules are not checked, so that the check in `f` is the one in the error."""
    for make in (with_jvp, with_vjp):
        (_, error), gradient = value_error_and_gradient(library(subject), make(library(subject)))(
            minijax.numpy.float32(2))
        assert error.get() is None
        both(lambda jx: lambda x: jx.grad(make(library(jx)))(jx.numpy.asarray(x)), F32(2))
        assert gradient == minijax.grad(make(library(subject)))(minijax.numpy.float32(2))


def _messages(pair):
    (value, error), gradient = pair
    return value, error.get(), gradient


def _out(L, f, x):
    return L.C.checkify(f)(x)[1]


ERRORS = {
    "eager": lambda L: positive(L)(L.np.float32(-1)),
    "eager, fine": lambda L: positive(L)(L.np.float32(1)),
    "jit": lambda L: L.jx.jit(positive(L))(-1.0),
    "vmap": lambda L: L.jx.vmap(positive(L))(np.array([1, -1], F32)),
    "grad": lambda L: L.jx.grad(positive(L))(-1.0),
    "jit of debug_check": lambda L: L.jx.jit(lambda x: L.C.debug_check(x > 0, ""))(-1.0),
    "array": lambda L: L.C.check(L.np.ones(2) > 0, ""),
    "integer": lambda L: L.C.check(1, ""),
    "format": lambda L: L.C.check(True, "{}", "no array"),
    "no error": lambda L: L.C.check_error(3),
    "check_error in jit": lambda L: L.jx.jit(
        lambda x: L.C.check_error(L.C.checkify(positive(L))(x)[0]))(-1.0),
    "throw": lambda L: L.C.checkify(positive(L))(L.np.float32(-1))[0].throw(),
    "throw nothing": lambda L: L.C.checkify(positive(L))(L.np.float32(1))[0].throw(),
    "throw batched": lambda L: L.jx.vmap(L.C.checkify(positive(L)))(
        np.array([1, -1], F32))[0].throw(),
    "str": lambda L: len(str(L.C.checkify(positive(L))(L.np.float32(-1))[0])),
}


REFUSED = {"jit": ValueError, "check_error in jit": ValueError, "array": TypeError,
           "integer": TypeError, "format": TypeError, "no error": TypeError}


@pytest.mark.parametrize("name", ERRORS)
def test_what_raises(name):
    def program(jx):
        """What it raises at run time, also in words; other errors are raised."""

        def run():
            try:
                return ERRORS[name](library(jx))
            except ValueError as error:
                if type(error).__name__ != "JaxRuntimeError":
                    raise
                return str(error)

        return run

    both(program, raises=REFUSED.get(name))


def test_an_exception_says_where_the_check_is():
    error, _ = our_checkify.checkify(positive(library(subject)))(minijax.numpy.float32(-1))
    (note,) = error.get_exception().__notes__
    assert "test_checkify.py" in note
    assert "FailedCheckError" in repr(error)


def test_sets_of_checks():
    for name in SETS.split():
        ours, theirs = (getattr(module, name) for module in (our_checkify, jax_checkify))
        assert {c.__name__ for c in ours} == {c.__name__ for c in theirs}
    assert our_checkify.init_error.get() is jax.experimental.checkify.init_error.get() is None


# ----------------------------------------------------------------------------------------------
# On several devices


X8 = np.array([1, -2, 3, 4, 0, 1, -1, 1], F32)


@pytest.mark.parametrize("x", [X8, np.ones(8, F32)], ids=["bad", "good"])
@pytest.mark.parametrize("checks", ["user_checks", "float_checks", "all_checks"])
@in_both
def test_pmap(jx, x, checks):
    L = library(jx)

    def f(x):
        L.C.check(x >= 0, "x is {x}", x=x)
        return L.np.sin(x / x)

    error, out = L.C.checkify(jx.pmap(f), errors=getattr(L.C, checks))(x)
    return error.get(), out


@pytest.mark.parametrize("how", ["checkify(f)", "jit(checkify(f))", "checkify(jit(f))",
                                 "checkify(after_check(f))"])
@pytest.mark.parametrize("x", [X8, np.ones(8, F32)], ids=["bad", "good"])
@in_both
def test_shard_map(jx, how, x):
    L = library(jx)
    mesh = jx.sharding.Mesh(np.array(jx.devices()[:8]), "i")

    def on_shard(x):
        L.C.check(x.sum() >= 0, "the sum is {}", x.sum())
        return L.np.sin(x)

    def after_check(f):
        return lambda x: (L.C.check(L.np.asarray(x)[0] > 0, "first"), f(x))[1]

    f = jx.shard_map(on_shard, mesh=mesh, in_specs=jx.P("i"), out_specs=jx.P("i"))
    names = {"checkify": L.C.checkify, "jit": jx.jit, "f": f, "after_check": after_check}
    error, out = eval(how, names)(x)
    return error.get(), out


@pytest.mark.parametrize("index", [5, -5, (0, 5, 100), ((1, 20), (3, 4)), (((1, 1), (1, 20)), 3)])
@in_both
def test_indices_are_checked_without_rank_promotion(jx, index):
    C = library(jx).C
    x = np.ones((2, 3, 7))
    with jx.numpy_rank_promotion("raise"):
        return C.checkify(lambda x, i: x[i], errors=C.index_checks)(
            jx.numpy.asarray(x), index)[0].get()


def test_the_effect_of_a_check_is_its_kind():
    def f(x):
        our_checkify.check(x > 0, "{} {}", x, np.arange(3, dtype=np.int32))

    kind, = minijax.make_jaxpr(f)(np.float32(1)).effects
    structs = tuple(minijax.ShapeDtypeStruct(*aval) for aval in (((), F32), ((3,), np.int32)))
    assert type(kind)(our_checkify.FailedCheckError, structs[:1]) < kind
    assert (kind.error_type, kind.shape_dtypes) == (our_checkify.FailedCheckError, structs)
    error, _ = our_checkify.checkify(f)(np.float32(-1))
    assert error._pred.keys() == error._code.keys() == error._payload.keys() == {kind}
    assert [*error._metadata] == [error._code[kind]]


def test_kinds_are_ordered():
    f = lambda x: our_checkify.check(x > 0, "{}", x)
    kind, = minijax.make_jaxpr(f)(np.float32(1)).effects
    assert kind <= kind and kind >= kind and not kind > kind


def test_a_jitted_function_is_checked_once():
    """Before, each call of the checked function compiled the checked program anew."""
    from tests.harness.counts import count_jit_and_pmap_lowerings

    checked = our_checkify.checkify(minijax.jit(lambda x: minijax.numpy.sin(x) ** 2), our_checkify.all_checks)
    checked(3.0)
    with count_jit_and_pmap_lowerings() as count:
        assert checked(np.inf)[0].get() and checked(3.0)[0].get() is None
    assert count() == 0


def test_a_check_comes_before_what_is_added():
    """The first call decides in JAX; its later calls of the second function say "nan"."""
    inner = minijax.jit(lambda x: minijax.numpy.log(x))

    def f(x):
        our_checkify.check(x > 0, "first")
        return inner(x)

    checked = our_checkify.checkify(f, our_checkify.all_checks)
    for _ in range(3):
        assert checked(-1.0)[0].get().startswith("first")
    checked = our_checkify.checkify(lambda x: our_checkify.check(inner(x) > 0, "second"), our_checkify.all_checks)
    for _ in range(3):
        assert checked(-1.0)[0].get().startswith("second")


@pytest.mark.parametrize("where", ["in", "out", "both"])
@in_both
def test_a_jitted_function_with_shardings(jx, where):
    """The error is among the results, and has no sharding."""
    x = np.arange(4, dtype=F32)
    mesh = jx.make_mesh((2,), ("i",), axis_types=(jx.sharding.AxisType.Auto,))
    sharding = jx.NamedSharding(mesh, jx.P("i"))
    options = {f"{side}_shardings": sharding for side in ("in", "out")
               if where in (side, "both")}
    C = library(jx).C
    checked = C.checkify(jx.jit(lambda x: (x / x, x + 1), **options), C.all_checks)
    error, outs = checked(x)
    good, _ = checked(x + 1)
    return error.get()[:16], good.get(), outs
