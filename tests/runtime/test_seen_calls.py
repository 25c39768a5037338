"""A jitted function that is called again gives what it gave at first, whatever the arguments are."""

from __future__ import annotations

import collections
import dataclasses
import threading
import traceback

import numpy as np
import pytest

import minijax as jax
import minijax.numpy as jnp

X = np.arange(4, dtype=np.float32)
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


def outcome(program):
    """The results with their types and bits, or the error."""
    try:
        leaves = jax.tree.leaves(program())
    except (TypeError, ValueError, NotImplementedError) as error:
        return type(error), str(error)
    return [(str(getattr(x, "aval", type(x))), np.asarray(x).tobytes()) for x in leaves]


def made():
    """An array as programs return them."""
    return jax.jit(lambda x: x + 0)(X)


@pytest.mark.parametrize("args", [
    (X,), (X.astype(">f4"),), (X.astype(np.float64),), (X[::2],), (X.reshape(2, 2).T,), (2.5,),
    (-0.0,), (0.0,), (3,), (True,), (1j,), (np.float32(2),), (np.int64(7),), (X, 2.0), (2, X),
    (X.astype(bool),), (X.astype(np.float16),), (np.arange(4),), (np.array(2.0),), (X[:0],),
], ids=repr)  # fmt: skip
def test_calls_again(args):
    f = jax.jit(lambda *xs: [x + 1 for x in xs])
    first = outcome(lambda: f(*args))
    for _ in range(4):
        assert outcome(lambda: f(*args)) == first
        assert outcome(lambda: f(*map(jnp.asarray, args))) is not None
    assert outcome(lambda: jax.jit(lambda *xs: [x + 1 for x in xs])(*args)) == first


def test_kinds_of_arguments_are_told_apart():
    """Equal numbers of other types, arrays in other byte orders, zeros of other signs."""
    kinds = [1, 1.0, True, np.float32(1), X, X.astype(">f4"), X.astype(int), -0.0, 0.0, 0, False,
             jnp.float32(1), jnp.asarray(1.0), jnp.asarray(X), X[:1], X.reshape(1, 4)]
    f = jax.jit(lambda x: jnp.array([x]) / 1)
    expected = [outcome(lambda x=x: jax.jit(lambda x: jnp.array([x]) / 1)(x)) for x in kinds]
    for _ in range(3):
        assert [outcome(lambda x=x: f(x)) for x in kinds] == expected


def test_static_arguments():
    f = jax.jit(lambda x, n, m=2: x * n + m, static_argnums=1, static_argnames="m")
    x = jnp.ones(3, jnp.int32)
    for _ in range(4):
        assert f(x, 2).tolist() == f(x, 2, 2).tolist() == f(x, n=2).tolist() == [4, 4, 4]
        assert f(x, True).dtype == np.int32 and f(x, 1.0).dtype == np.float32
        assert f(x, 3, 1).tolist() == f(x, 3, m=1).tolist() == [4, 4, 4]
        assert f(X, 1).tolist() == [2, 3, 4, 5] and f(5, 1) == 7
        with pytest.raises(ValueError, match="hash"):
            f(x, [2])


def test_numbers_of_arguments():
    f = jax.jit(lambda *xs: sum(xs))
    for _ in range(4):
        assert [f(*[jnp.float32(1)] * n) for n in (1, 2, 3, 1)] == [1, 2, 3, 1]
        assert f(1, jnp.ones(2)).tolist() == [2, 2] and f(X, X, 1).tolist() == [1, 3, 5, 7]


def test_arguments_by_name():
    f = jax.jit(lambda a, b=2.0, c=3: (a - b) * c)
    x = jnp.float32(5)
    for _ in range(4):
        assert f(x) == 9 and f(x, b=1) == 12 and f(x, c=2) == 6 and f(x, 1) == 12
        assert f(x, b=1, c=2) == f(x, c=2, b=1) == f(c=2, b=1, a=x) == f(a=x, b=1, c=2) == 8
        assert f(a=x, b=np.float32(1)) == 12 and f(x, b=jnp.ones(2)).tolist() == [12, 12]
        assert f(x, b=np.ones(2, np.float32), c=True).dtype == np.float32
        with pytest.raises(OverflowError):
            f(x, c=2**40)
        with pytest.raises(TypeError):
            f(x, d=1)


def test_an_array_may_change_after_the_call():
    f = jax.jit(lambda x, y: sum([x @ x for _ in range(10)]) * 0 + y)
    x, y = np.ones((300, 300), np.float32), np.zeros((300, 300), np.float32)
    for n in range(1, 6):
        y[:] = n
        out = f(x, y)
        y[:] = -1
        assert (np.asarray(out) == n).all()


def test_an_integer_that_is_too_large():
    f = jax.jit(lambda x: x)
    messages = set()
    for _ in range(3):
        f(1)
        with pytest.raises(OverflowError) as error:
            f(2**40)
        messages.add(str(error.value))
    assert len(messages) == 1
    with jax.enable_x64(True):
        assert f(2**40) == f(2**40) == 2**40 and f(1).dtype == np.int64
    assert f(1).dtype == np.int32


def test_deleted_arrays_are_refused_again():
    f = jax.jit(lambda x: x + 1)
    for make in (lambda: jnp.asarray(X), lambda: f(X)):
        x = make()
        f(x), f(x)
        x.delete()
        for _ in range(3):
            with pytest.raises(RuntimeError, match="deleted"):
                f(x)


def test_caches_can_be_cleared():
    traced = []
    f = jax.jit(lambda x: traced.append(1) or x + 1)
    for clear in (f.clear_cache, jax.clear_caches):
        for _ in range(3):
            f(X), f(1.0)
        count = len(traced)
        clear()
        f(X)
        assert len(traced) == count + 1


def test_within_transformations():
    f = jax.jit(lambda x: x * x)
    for _ in range(3):
        f(2.0), f(X)
        assert jax.grad(f)(2.0) == 4 and jax.vmap(f)(X).tolist() == [0, 1, 4, 9]
        assert str(jax.make_jaxpr(f)(X)).count("jit[") == 1


def test_donated_dropped_and_constant_arguments():
    big = np.arange(3000, dtype=np.float32)
    f = jax.jit(lambda x, unused, y: (x + 1, y * big[:1]), donate_argnums=0)
    for n in range(4):
        x, y = jnp.full(4, float(n)) + 0, jnp.ones(4) * n
        for args in ((x, X, y), (X, None, y)):
            a, b = f(*args)
            assert a.tolist() == [v + 1 for v in (X.tolist() if args[1] is None else [n] * 4)]
            assert b.tolist() == [0.0] * 4
        assert x.is_deleted() and not y.is_deleted()


def test_containers_of_every_kind():
    f = jax.jit(lambda *trees: jax.tree.map(lambda x: x + 1, trees))
    x = jnp.float32(1)
    trees = [Layer(x, 2.0, "a"), Layer(x, X, "b"), Pair(x, None), {"b": x, "a": [X, (1,)]}, None,
             (), {}, Layer(x, Layer(1, x, "c"), "a")]
    for _ in range(4):
        for tree in trees:
            (out,) = f(tree)
            assert jax.tree.structure(out) == jax.tree.structure(tree)
            for before, after in zip(jax.tree.leaves(tree), jax.tree.leaves(out), strict=True):
                assert np.all(np.asarray(after) == np.asarray(before) + 1)


def test_settings_that_change_give_other_programs():
    f = jax.jit(lambda x: x * 2)
    for _ in range(3):
        assert f(1.5).dtype == np.float32
        with jax.enable_x64(True):
            assert f(1.5).dtype == np.float64
        with jax.disable_jit():
            assert f(2) == 4


def test_a_donated_number_or_small_array_can_be_passed_again():
    f = jax.jit(lambda x, y: (x + 1, y + 1), donate_argnums=(0, 1))
    for x in (2.5, 3, True, np.float32(2), np.ones(2, np.float32), 0.0):
        for _ in range(4):
            a, b = f(x, jnp.float32(1))
            assert np.array_equal(np.asarray(a), np.asarray(x) + 1) and b == 2


def test_a_small_array_that_changes_between_calls():
    """The buffer of a small array is kept, under its contents and its type."""
    f = jax.jit(lambda x: x + 0)
    x = np.zeros(3, np.float32)
    for n in range(4):
        x[:] = n
        assert f(x).tolist() == [n] * 3 and f(x[1:]).tolist() == [n] * 2
        assert f(x.view(np.int32)).tolist() == x.view(np.int32).tolist()
        assert f(x.reshape(3, 1)).shape == (3, 1)
    for zero in (np.array([-0.0]), np.array([0.0]), np.float32(-0.0), np.float32(0.0), -0.0, 0.0):
        for _ in range(2):
            assert np.signbit(np.asarray(f(zero))).all() == np.signbit(zero).all()
    columns = np.arange(4, dtype=np.float32).reshape(2, 2)
    assert f(columns).tolist() == columns.tolist() and f(columns.T).tolist() == columns.T.tolist()


def placements():
    """An array as it comes, and committed to a device and to a mesh of one."""
    mesh = jax.sharding.NamedSharding(jax.make_mesh((1,), ("i",)), jax.P("i"))
    return [lambda x: x, lambda x: jax.device_put(x, jax.devices()[0]),
            lambda x: jax.device_put(x, mesh)]


def test_committed_arrays_and_others():
    f = jax.jit(lambda x, y, unused: (x + y, x * 2))
    for _ in range(3):
        for i, put in enumerate(placements()):
            for other in (jnp.asarray(X), X, 2.0, np.float32(3)):
                x = put(jnp.asarray(X))
                total, double = f(x, other, x)
                assert total.tolist() == (X + np.asarray(other)).tolist()
                assert double.tolist() == (2 * X).tolist()
                assert total.committed == double.committed == x.committed == (i > 0)
                assert total.sharding == x.sharding


def test_deleted_committed_arrays_are_refused_again():
    f = jax.jit(lambda x: x + 1)
    for put in placements():
        x = put(jnp.asarray(X))
        f(x), f(x)
        x.delete()
        for _ in range(3):
            with pytest.raises(RuntimeError, match="deleted"):
                f(x)


def test_programs_with_references_are_called_again():
    def doubled(x):
        ref = jax.new_ref(x)
        ref[...] = x * 2
        return ref[...]

    jitted = jax.jit(doubled)
    for n in (1.0, 2.0, 3.0):
        assert jitted(jnp.full(3, n)).tolist() == [2 * n] * 3


def leaves():
    """Arguments of all kinds."""
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
    successor = lambda *trees: jax.tree.map(lambda x: x + 1, trees)
    xs = leaves()
    calls = [tree(leaf) for tree in TREES for leaf in xs[:2]]
    calls += [tree(leaf) for tree in TREES[:4] for leaf in xs[3:]]
    expected = [outcome(lambda c=c: jax.jit(lambda *trees: successor(*trees))(*c)) for c in calls]
    f = jax.jit(successor)
    for step in (1, 7, 1):
        for i in range(len(calls)):
            i = i * step % len(calls)
            assert outcome(lambda: f(*calls[i])) == expected[i], calls[i]


def test_static_values_are_told_apart_by_type():
    f = jax.jit(lambda x, n, m=0: (x, jnp.float32(hash((n, m)) % 1000)), static_argnums=1,
                static_argnames="m")
    values = [3, 3.0, True, None, "3", (3, "a"), (3.0, "a"), 0.0, -0.0, outcome, X.dtype, frozenset({3})]
    expected = {(i, j): f(X, n, m=m)[1] for i, n in enumerate(values) for j, m in enumerate(values)}
    for i, n in enumerate(values):
        for j, m in enumerate(values):
            assert f(X, n, m=m)[1] == expected[i, j] and f(X, m, m=n)[1] == expected[j, i]


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
        assert f(X, config).tolist() == (config.n * X).tolist()


def test_names_in_any_order():
    f = jax.jit(lambda a, b: a - b)
    assert f(b=X, a=2 * X).tolist() == X.tolist()
    assert f(a=2 * X, b=X).tolist() == f(2 * X, b=X).tolist() == f(2 * X, X).tolist() == X.tolist()
    with pytest.raises(TypeError):
        f(a=X, c=X)


def test_another_threads_settings():
    f, seen = jax.jit(lambda x: x * 2), []

    def other():
        with jax.enable_x64(True):
            seen.append(f(1.5).dtype)

    f(1.5)
    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert seen == [np.float64] and f(1.5).dtype == np.float32


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
    assert model.double().tolist() == (2 * X).tolist()
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
        assert outcome(lambda: f(X)) == first and jax.tree.structure(f(X)) == tree


def test_errors_show_no_frame_of_the_library():
    def fails(x):
        raise ValueError("mine")

    outer = jax.jit(lambda x: jax.jit(fails)(x))
    with pytest.raises(ValueError, match="mine") as info:
        outer(1.0)
    files = [entry.filename for entry in traceback.extract_tb(info.value.__traceback__)]
    assert set(files) == {__file__}
