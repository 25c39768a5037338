"""`python -m tests.benchmarks.dispatch [kind …]`: a call of a jitted function, by kind of argument.

Both libraries run in this process, in turns of a few milliseconds; the figures are the least CPU
times of all turns. That resists other programs on the machine better than medians of ratios.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.benchmarks.measure import least

X = np.linspace(0.1, 0.8, 8).astype(np.float32)
TURN, ROUNDS = 300, 60

KINDS: dict[str, Callable[[Any], Callable[[], Any]]] = {}


def kind(build: Callable[[Any], Callable[[], Any]]) -> Callable:
    """Register the decorated function: it returns a call to be measured."""
    KINDS[build.__name__.replace("_", " ")] = build
    return build


def successor(jx: Any) -> Any:
    """A jitted function of any pytree."""
    return jx.jit(lambda tree: jx.tree_util.tree_map(lambda x: x + 1, tree))


def array(jx: Any) -> Any:
    """A result of a program: its contents are in a buffer."""
    return jx.jit(lambda x: x * 1)(jx.numpy.asarray(X))


def of(make: Callable[[Any], Any]) -> Callable[[Any], Callable[[], Any]]:
    """The call of `successor` on one argument."""
    def build(jx):
        f, x = successor(jx), make(jx)
        return lambda: f(x)

    return build


def mesh_of_one(jx: Any) -> Any:
    mesh = jx.make_mesh((1,), ("x",))
    return jx.sharding.NamedSharding(mesh, jx.sharding.PartitionSpec("x"))


KINDS["one array"] = of(array)
KINDS["two arrays in a tuple"] = of(lambda jx: (array(jx), array(jx)))
KINDS["20 leaves"] = of(lambda jx: {f"layer{i}": (array(jx), array(jx)) for i in range(10)})
KINDS["NumPy array"] = of(lambda jx: X)
KINDS["three NumPy arrays"] = of(lambda jx: (X, X + 1, X + 2))
KINDS["Python number"] = of(lambda jx: 2.5)
KINDS["NumPy scalar"] = of(lambda jx: np.float32(2.5))
KINDS["key"] = of(lambda jx: jx.random.PRNGKey(0))
KINDS["mixed tree"] = of(lambda jx: {"a": array(jx), "b": X, "c": 2.5, "d": (array(jx), 3)})
KINDS["committed array"] = of(lambda jx: jx.device_put(array(jx), jx.devices()[0]))
KINDS["array on a mesh of one device"] = of(lambda jx: jx.device_put(array(jx), mesh_of_one(jx)))
KINDS["committed and not"] = of(
    lambda jx: (jx.device_put(array(jx), jx.devices()[0]), array(jx), 2.5))
KINDS["20 committed leaves"] = of(lambda jx: jx.device_put(
    {f"layer{i}": (array(jx), array(jx)) for i in range(10)}, jx.devices()[0]))


@kind
def typed_key(jx):
    f, key = jx.jit(lambda key: key), jx.random.key(0)
    return lambda: f(key)


@kind
def no_argument(jx):
    f = jx.jit(lambda: jx.numpy.zeros(3))
    return lambda: f()


@kind
def static(jx):
    f, x = jx.jit(lambda x, n: x + n, static_argnums=1), array(jx)
    return lambda: f(x, 3)


@kind
def static_name(jx):
    f, x = jx.jit(lambda x, n: x + n, static_argnames="n"), array(jx)
    return lambda: f(x, n=3)


@kind
def keyword(jx):
    f, x = jx.jit(lambda x, y: x + y), array(jx)
    return lambda: f(x, y=x)


@kind
def donated(jx):
    f, held = jx.jit(lambda x: x + 1, donate_argnums=0), [array(jx)]

    def call():
        held[0] = f(held[0])
        return held[0]

    return call


@kind
def method(jx):
    class Model:
        @jx.jit
        def double(self):
            return self.w * 2

    def revived(_, children):
        model = Model()
        (model.w,) = children  # type: ignore[attr-defined]
        return model

    jx.tree_util.register_pytree_node(Model, lambda m: ((m.w,), None), revived)
    model = Model()
    model.w = array(jx)  # type: ignore[attr-defined]
    return lambda: model.double()


@kind
def bound_method_with_static_self(jx):
    class Model:
        def __init__(self):
            self.double = jx.jit(self._double)

        def _double(self, x):
            return x * 2

    model, x = Model(), array(jx)
    return lambda: model.double(x)


@kind
def data_class(jx):
    @jx.tree_util.register_dataclass
    @dataclasses.dataclass
    class Layer:
        w: Any
        b: Any

    f, layer = successor(jx), Layer(array(jx), array(jx))
    return lambda: f(layer)


@kind
def registered_class(jx):
    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

    jx.tree_util.register_pytree_node(Pair, lambda p: ((p.a, p.b), None), lambda _, xs: Pair(*xs))
    f, pair = successor(jx), Pair(array(jx), array(jx))
    return lambda: f(pair)


@kind
def unused_argument(jx):
    f, x = jx.jit(lambda x, y: x + 1), array(jx)
    return lambda: f(x, x)


@kind
def constant_inside(jx):
    big = jx.numpy.asarray(np.arange(3000, dtype=np.float32))
    f, x = jx.jit(lambda x: x + big[:8]), array(jx)
    return lambda: f(x)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.dispatch",
                                     description=__doc__)
    parser.add_argument("kinds", nargs="*", help="only kinds whose name contains one of these")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    libraries = [importlib.import_module(name) for name in ("jax", "minijax")]
    for name in ("jax.numpy", "minijax.numpy"):
        importlib.import_module(name)
    print("| argument | JAX, µs | minijax, µs | ratio |\n|---|---|---|---|")
    for name, build in KINDS.items():
        if options.kinds and not any(part in name for part in options.kinds):
            continue
        calls = [build(jx) for jx in libraries]
        least(calls, [30, 30], 1, time.thread_time)  # what is learned, or compiled
        theirs, ours = least(calls, [TURN, TURN], options.rounds, time.thread_time)
        print(f"| {name} | {theirs * 1e6:.2f} | {ours * 1e6:.2f} | {ours / theirs:.2f} |",
              flush=True)


if __name__ == "__main__":
    main()
