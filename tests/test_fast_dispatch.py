"""A jitted function that is called again gives what it gave at first, whatever the arguments are."""

from __future__ import annotations

import collections
import dataclasses
import traceback

import numpy as np
import pytest

import minijax as jax
import minijax.numpy as jnp
from tests.test_fast_rules import outcome

X = np.arange(4, dtype=np.float32)


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
    @jax.tree_util.register_dataclass
    @dataclasses.dataclass
    class Layer:
        w: object
        b: object
        name: str = dataclasses.field(metadata={"static": True})

    Pair = collections.namedtuple("Pair", "x y")
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


def test_errors_show_no_frame_of_the_fast_path():
    def fails(x):
        raise ValueError("mine")

    outer = jax.jit(lambda x: jax.jit(fails)(x))
    with pytest.raises(ValueError, match="mine") as info:
        outer(1.0)
    files = [entry.filename for entry in traceback.extract_tb(info.value.__traceback__)]
    assert set(files) == {__file__}
