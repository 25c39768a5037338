"""Calls that look alike run a function written for them; any other call gives what it gave before."""

from __future__ import annotations

import collections
import dataclasses
import os
import threading
import warnings

import numpy as np
import pytest

import minijax as jax
import minijax.numpy as jnp
from tests.counting import calls_in
from tests.test_fast_rules import outcome

if os.environ.get("MINIJAX_FAST") == "0":
    pytest.skip("there are no fast paths", allow_module_level=True)

X = np.arange(4, dtype=np.float32)
OFTEN = 8
Pair = collections.namedtuple("Pair", "a b")


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Layer:
    w: object
    b: object
    name: str = dataclasses.field(default="", metadata={"static": True})


class Box:
    def __init__(self, x, data):
        self.x, self.data = x, data


jax.tree_util.register_pytree_node(Box, lambda b: ((b.x,), b.data), lambda data, x: Box(*x, data))


def is_written(f) -> bool:
    """Whether there is a function for the calls of `f`."""
    return "run" in f._repeated


def often(f, *args, **kwargs):
    for _ in range(OFTEN):
        out = f(*args, **kwargs)
    return out


def made():
    """Arrays as programs return them."""
    return jax.jit(lambda x: x + 0)(X)


def leaves():
    """Arguments of all kinds. A placed array must not outlive its test: others count steps."""
    return [made(), jnp.asarray(X), X, X[:2], X.astype(np.float64), X.astype(int), 2.5, -0.0, 3,
            True, np.float32(3), np.int32(3), jnp.float32(2), made()[:2], jnp.asarray(1.0),
            jax.device_put(X, jax.devices()[0]), jax.device_put(X, jax.NamedSharding(
                jax.make_mesh((1,), ("i",)), jax.P("i")))]


TREES = [lambda x: (x,), lambda x: ((x, x),), lambda x: ([x, x],), lambda x: ({"a": x, "b": x},),
         lambda x: ({"b": x, "a": {}},), lambda x: (Pair(x, None),), lambda x: (Pair(None, x),),
         lambda x: (x, x), lambda x: (None, x), lambda x: (Layer(x, (x,), "n"),),
         lambda x: (Layer(x, (x,), "m"),), lambda x: (Box(x, 1),), lambda x: (Box(x, (1, "a")),),
         lambda x: (Box(x, frozenset({1})),), lambda x: ((), x, ()), lambda x: ({1: x, 2: x},),
         lambda x: (collections.OrderedDict(b=x, a=2 * x),), lambda x: ([[[x]]],)]


def test_every_kind_of_call_after_every_other():
    """The function is written for one call, and the others are told apart from it."""
    successor = lambda *trees: jax.tree.map(lambda x: x + 1, trees)
    xs = leaves()
    calls = [tree(leaf) for tree in TREES for leaf in xs[:2]]
    calls += [tree(leaf) for tree in TREES[:4] for leaf in xs[3:]]
    expected = [outcome(lambda c=c: jax.jit(lambda *trees: successor(*trees))(*c)) for c in calls]
    f = jax.jit(successor)
    for call in calls:
        f(*call)
    written = 0
    for i, call in enumerate(calls):
        f._repeated.clear()
        f._changes = 0
        often(f, *call)
        written += is_written(f)
        for j in (i, *range(i % 5, len(calls), 5)):
            assert outcome(lambda: f(*calls[j])) == expected[j], (call, calls[j])
    assert written > 0.9 * len(calls) - 6


def test_a_repeated_call_takes_few_steps():
    x = made()
    for args, kwargs, most in [((x,), {}, 8), (((x, x),), {}, 9), ((), {}, 7), ((x,), {"y": x}, 9),
                               (({"a": x, "b": (x, x)},), {}, 12), ((Layer(x, x),), {}, 9)]:
        g = jax.jit(lambda *args, **kwargs: jax.tree.leaves((args, kwargs)) and x + 1)
        often(g, *args, **kwargs)
        assert calls_in(lambda: g(*args, **kwargs)) <= most


def test_static_arguments():
    f = jax.jit(lambda x, n, m=0: (x, jnp.float32(hash((n, m)) % 1000)), static_argnums=1,
                static_argnames="m")
    values = [3, 3.0, True, None, "3", (3, "a"), (3.0, "a"), 0.0, -0.0, outcome, X.dtype, frozenset({3})]
    expected = {(i, j): f(X, n, m=m)[1] for i, n in enumerate(values) for j, m in enumerate(values)}
    for i, n in enumerate(values):
        f._repeated.clear()
        f._changes = 0
        often(f, X, n, m=values[-i])
        assert is_written(f) != any(isinstance(v, frozenset) for v in (n, values[-i]))
        for j, other in enumerate(values):
            assert f(X, other, m=n)[1] == expected[j, i] and f(X, n, m=other)[1] == expected[i, j]
    with pytest.raises(ValueError, match="hash"):
        f(X, [3], m=0)


def test_a_static_object_that_changes():
    """Equality of its class, and not identity, says whether it is the same."""
    class Config:
        n = 1

        def __eq__(self, other):
            return self.n == other.n

        def __hash__(self):
            return self.n

    f, config = jax.jit(lambda x, c: x * c.n, static_argnums=1), Config()
    for config.n in (2, 3):
        assert often(f, X, config).tolist() == (config.n * X).tolist()


def test_names_in_any_order():
    f = jax.jit(lambda a, b: a - b)
    assert often(f, b=X, a=2 * X).tolist() == X.tolist()
    assert is_written(f)
    assert f(a=2 * X, b=X).tolist() == f(2 * X, b=X).tolist() == f(2 * X, X).tolist() == X.tolist()
    with pytest.raises(TypeError):
        f(a=X, c=X)


def test_settings():
    f = jax.jit(lambda x: x * 2)
    often(f, 1.5)
    assert is_written(f)
    with jax.enable_x64(True):
        assert f(1.5).dtype == np.float64
    with jax.disable_jit():
        assert f(2) == 4
    with jax.debug_nans(True), pytest.raises(FloatingPointError):
        f(float("nan"))
    assert f(1.5).dtype == np.float32


def test_another_threads_settings():
    f, seen = jax.jit(lambda x: x * 2), []

    def other():
        with jax.enable_x64(True):
            seen.append(often(f, 1.5).dtype)

    often(f, 1.5)
    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert seen == [np.float64] and f(1.5).dtype == np.float32


def test_under_transformations():
    f = jax.jit(lambda x: x * x)
    often(f, 2.0), often(f, jnp.asarray(X))
    assert jax.grad(f)(2.0) == 4 and jax.vmap(f)(X).tolist() == [0, 1, 4, 9]
    assert str(jax.make_jaxpr(f)(X)).count("jit[") == 1


def test_donated_arguments():
    f = jax.jit(lambda x, y: (x + y, y), donate_argnums=0)
    warnings.filterwarnings("ignore", "Some donated buffers")
    for x in (made, lambda: jnp.asarray(X), lambda: X, lambda: 2.0):
        y = made()
        for _ in range(OFTEN):
            given = x()
            total, _ = f(given, y)
            assert total.tolist() == (X + (X if hasattr(given, "shape") else 2.0)).tolist()
            assert not isinstance(given, jax.Array) or given.is_deleted()
        assert is_written(f)
    gone = made()
    f(gone, y)
    with pytest.raises(RuntimeError, match="deleted"):
        f(gone, y)
    with pytest.raises(RuntimeError, match="deleted"):
        f(y, gone)


def test_deleted_arguments():
    f = jax.jit(lambda t: t["a"] + 1)
    often(f, {"a": made()})
    for x in (made(), jnp.asarray(X)):
        f({"a": x})
        x.delete()
        with pytest.raises(RuntimeError, match="deleted"):
            f({"a": x})


def test_unused_arguments_and_constants():
    big = jnp.asarray(np.arange(3000, dtype=np.float32))
    f = jax.jit(lambda unused, x, other: x + big[:4])
    for args in ((X, made(), 1), (None, 1.0, {"a": X}), (1, X, made())):
        expected = (np.asarray(args[1]) + np.arange(4)).tolist()
        assert often(f, *args).tolist() == expected and is_written(f)


def test_caches_can_be_cleared():
    scale = 2
    f = jax.jit(lambda x: x * scale)
    for clear in (f.clear_cache, jax.clear_caches):
        assert often(f, 3.0) == 3 * scale and is_written(f)
        scale += 1
        clear()
        assert not is_written(f) and often(f, 3.0) == 3 * scale


def test_calls_that_keep_changing_are_looked_up():
    f = jax.jit(lambda x: x + 1)
    for n in range(12):
        x = np.zeros(n % 3, np.float32)
        assert often(f, x).shape == x.shape
    assert not is_written(f)


def test_methods_and_flattening_that_fails():
    class Model:
        broken = False

        def __init__(self, w):
            self.w = w

        @jax.jit
        def double(self):
            return self.w * 2

        def flatten(self):
            if self.broken:
                raise ValueError("broken")
            return (self.w,), None

    jax.tree_util.register_pytree_node(Model, Model.flatten, lambda _, w: Model(*w))
    model = Model(made())
    assert often(lambda: model.double()).tolist() == (2 * X).tolist()
    assert is_written(Model.double)
    model.w = 1.5
    assert model.double() == 3
    model.broken = True
    with pytest.raises(ValueError, match="broken"):
        model.double()


def test_results_of_every_structure():
    out = {"a": (X, [2.0]), "b": None}
    for result in (lambda x: None, lambda x: (), lambda x: (x,), lambda x: [x], lambda x: out,
                   lambda x: Layer(x, x, "n"), lambda x: Pair(x, 1)):
        f = jax.jit(result)
        first = outcome(lambda: f(X))
        tree = jax.tree.structure(f(X))
        often(f, X)
        assert is_written(f)
        assert outcome(lambda: f(X)) == first and jax.tree.structure(f(X)) == tree
