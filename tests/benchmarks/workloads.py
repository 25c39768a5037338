"""What is measured: pieces of work written for either library.

`build(jx)` makes everything ready and returns a function of no arguments; one call of it is one
piece of work, its result something to wait for. `units` says how many operations a piece counts
for, so that rows of different lengths can be compared.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Workload:
    """One row of the table. `mark` is what must hold, `goal` what we are after: ratios to JAX."""

    name: str
    build: Callable[[Any], Callable[[], Any]]
    goal: float | None = None
    mark: float | None = None
    units: int = 1
    devices: int = 1  # that the process has, on its CPU


WORKLOADS: dict[str, Workload] = {}


def workload(
    name: str, goal: float | None = None, mark: float | None = None, units: int = 1,
    devices: int = 1,
) -> Callable:  # fmt: skip
    """Register the decorated function as the `build` of a row."""

    def register(build: Callable[[Any], Callable[[], Any]]) -> Callable:
        WORKLOADS[name] = Workload(name, build, goal, mark, units, devices)
        return build

    return register


X8 = np.linspace(0.1, 0.8, 8).astype(np.float32)


# --- eager operations ---


@workload("eager x + y, 8 floats", goal=0.15, mark=0.25)
def add(jx):
    x, y = jx.numpy.asarray(X8), jx.numpy.asarray(2 * X8)
    return lambda: x + y


@workload("eager jnp.add(x, y)", goal=0.20, mark=0.25)
def add_function(jx):
    x, y, add = jx.numpy.asarray(X8), jx.numpy.asarray(2 * X8), jx.numpy.add
    return lambda: add(x, y)


@workload("eager x * 2.0", goal=0.15, mark=0.25)
def scale(jx):
    x = jx.numpy.asarray(X8)
    return lambda: x * 2.0


@workload("eager x * 2.0 + 1.0", goal=0.15, mark=0.25)
def affine(jx):
    x = jx.numpy.asarray(X8)
    return lambda: x * 2.0 + 1.0


@workload("eager x[1:5]", goal=0.05, mark=0.25)
def index(jx):
    x = jx.numpy.asarray(X8)
    return lambda: x[1:5]


@workload("eager x[2]", goal=0.05, mark=0.25)
def element(jx):
    x = jx.numpy.asarray(X8)
    return lambda: x[2]


@workload("eager x.at[1].add(1.0)", goal=0.20)
def at_add(jx):
    x = jx.numpy.asarray(X8)
    return lambda: x.at[1].add(1.0)


@workload("tree.map of six leaves", goal=1.0)
def tree_map(jx):
    tree, tree_map = {"a": 1, "b": [2, (3, 4)], "c": {"d": 5, "e": 6}}, jx.tree.map
    return lambda: tree_map(abs, tree)


ROWS = np.linspace(-1, 1, 32).astype(np.float32).reshape(8, 4)

# Of a small array x, another one y of its shape, and indices i of rows.
COMMON = {
    "zeros": lambda jx, x, y, i: jx.numpy.zeros((8, 4)),
    "reshape": lambda jx, x, y, i: jx.numpy.reshape(x, (4, 8)),
    "broadcast_to": lambda jx, x, y, i: jx.numpy.broadcast_to(x[0], (8, 4)),
    "concatenate": lambda jx, x, y, i: jx.numpy.concatenate([x, y], axis=1),
    "stack": lambda jx, x, y, i: jx.numpy.stack([x, y]),
    "x ** 2": lambda jx, x, y, i: x**2,
    "maximum": lambda jx, x, y, i: jx.numpy.maximum(x, y),
    "dot": lambda jx, x, y, i: jx.numpy.dot(x, y[0]),
    "matmul": lambda jx, x, y, i: jx.numpy.matmul(x, y.T),
    "relu": lambda jx, x, y, i: jx.nn.relu(x),
}
# These JAX compiles as a whole, and calls from C++ in a few microseconds.
COMPILED_IN_JAX = {
    "exp": lambda jx, x, y, i: jx.numpy.exp(x),
    "take": lambda jx, x, y, i: jx.numpy.take(x, i, axis=0),
    "where": lambda jx, x, y, i: jx.numpy.where(x > y, x, y),
    "sum": lambda jx, x, y, i: jx.numpy.sum(x, axis=0),
    "mean": lambda jx, x, y, i: jx.numpy.mean(x),
    "clip": lambda jx, x, y, i: jx.numpy.clip(x, -0.5, 0.5),
    "sort": lambda jx, x, y, i: jx.numpy.sort(x, axis=0),
    "softmax": lambda jx, x, y, i: jx.nn.softmax(x),
    "at[].add": lambda jx, x, y, i: x.at[i].add(1.0),
    "linspace": lambda jx, x, y, i: jx.numpy.linspace(0.0, 1.0, 8),
    "one_hot": lambda jx, x, y, i: jx.nn.one_hot(i, 8),
    "var": lambda jx, x, y, i: jx.numpy.var(x),
    "median": lambda jx, x, y, i: jx.numpy.median(x),
    "searchsorted": lambda jx, x, y, i: jx.numpy.searchsorted(x[0], y),
    "nan_to_num": lambda jx, x, y, i: jx.numpy.nan_to_num(x),
}


LIMITS = {"sum": 0.5, "mean": 0.6, "softmax": 0.5, "where": 0.5, "var": 2.0}


def _eager(name: str, function: Callable, mark: float | None) -> None:
    @workload(f"eager {name}", goal=LIMITS.get(name, 0.25), mark=mark)
    def eager(jx):
        x, y = jx.numpy.asarray(ROWS), jx.numpy.asarray(-ROWS)
        i = jx.numpy.asarray(np.array([3, 0, 3], np.int32))
        return lambda: function(jx, x, y, i)


for _name, _function in COMMON.items():
    _eager(_name, _function, mark=0.25)
for _name, _function in COMPILED_IN_JAX.items():
    _eager(_name, _function, mark=None)

# --- eager transformations ---


def fifteen(jx: Any, x: Any) -> Any:
    """Fifteen elementwise operations and a sum."""
    a = jx.numpy.sin(x) * x
    b = jx.numpy.exp(-a) + x
    c = jx.numpy.tanh(b) * a - b
    d = jx.numpy.cos(c) / (c * c + 2.0)
    return jx.numpy.sum(d * jx.numpy.sqrt(b) + a)


@workload("jvp of 15 operations, eager", goal=0.09, mark=0.30)
def jvp(jx):
    x = jx.numpy.asarray(X8)
    return lambda: jx.jvp(functools.partial(fifteen, jx), (x,), (x,))


@workload("grad of 15 operations, eager", goal=0.12, mark=0.30)
def grad(jx):
    x = jx.numpy.asarray(X8)
    return lambda: jx.grad(functools.partial(fifteen, jx))(x)


@workload("vmap of 15 operations, eager", goal=0.085, mark=0.30)
def vmap(jx):
    x = jx.numpy.asarray(np.stack([X8] * 4))
    return lambda: jx.vmap(functools.partial(fifteen, jx))(x)


@workload("value_and_grad of an MLP, eager", goal=0.15, mark=0.30)
def eager_mlp(jx):
    params, x, y = mlp_data(jx, (64, 32, 32, 10), batch=32)
    return lambda: jx.value_and_grad(functools.partial(mlp_loss, jx))(params, x, y)


@workload("Hessian of Rosenbrock-10, eager", goal=0.16, mark=0.30)
def rosenbrock(jx):
    x = jx.numpy.asarray(np.linspace(-1, 1, 10).astype(np.float32))

    def f(x):
        return jx.numpy.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)

    return lambda: jx.hessian(f)(x)


@workload("grad of a 1,000-operation Python loop, per operation", goal=0.14, mark=0.30, units=1000)
def loop(jx):
    x = jx.numpy.asarray(X8)

    def f(x):
        return jx.numpy.sum(chain(jx, x, 999))

    return lambda: jx.grad(f)(x)


@workload("third derivative of tanh", goal=0.12, mark=0.30)
def third(jx):
    x = jx.numpy.float32(0.5)
    return lambda: jx.grad(jx.grad(jx.grad(jx.numpy.tanh)))(x)


# --- tracing and lowering ---


def chain(jx: Any, x: Any, operations: int) -> Any:
    """`operations` primitives one after another: a sine, a product, and again."""
    sin = jx.lax.sin
    for _ in range(operations // 2):
        x = sin(x) * 1.01
    return x if operations % 2 == 0 else sin(x)


def _tracing(operations: int) -> None:
    name = f"{operations:,} operations, per operation"

    # A new lambda each time: both libraries remember what they traced for a function.
    @workload(f"make_jaxpr, {name}", goal=0.18, mark=0.30, units=operations)
    def make_jaxpr(jx):
        return lambda: jx.make_jaxpr(lambda x: chain(jx, x, operations))(X8)

    @workload(f"make_jaxpr of grad, {name}", goal=0.18, mark=0.30, units=operations)
    def make_jaxpr_of_grad(jx):
        return lambda: jx.make_jaxpr(
            jx.grad(lambda x: jx.numpy.sum(chain(jx, x, operations - 1)))
        )(X8)


for _operations in (100, 1_000, 10_000):
    _tracing(_operations)


@workload("lower, 1,000 operations, per operation", goal=0.20, mark=0.30, units=1000)
def lower(jx):
    return lambda: jx.jit(lambda x: chain(jx, x, 1000)).lower(X8)


@workload("first result of a new jit, 100 operations")
def first_result(jx):
    x = jx.numpy.asarray(X8)
    return lambda: jx.jit(lambda x: chain(jx, x, 100))(x)


# --- compiled programs ---


@workload("jit dispatch, one array", goal=1.05, mark=1.15)
def dispatch(jx):
    f = jx.jit(lambda x: x + 1.0)
    x = f(jx.numpy.asarray(X8))
    return lambda: f(x)


@workload("jit dispatch, 20-leaf pytree", goal=1.05, mark=1.15)
def dispatch_tree(jx):
    f = jx.jit(lambda tree: jx.tree_util.tree_map(lambda x: x + 1.0, tree))
    tree = f({f"layer{i}": (jx.numpy.asarray(X8), jx.numpy.asarray(X8)) for i in range(10)})
    return lambda: f(tree)


@workload("jit dispatch, NumPy argument", goal=1.2)
def dispatch_numpy(jx):
    f = jx.jit(lambda x: x + 1.0)
    return lambda: f(X8)


@workload("jit dispatch, Python number", goal=1.2)
def dispatch_number(jx):
    f = jx.jit(lambda x: x + 1.0)
    return lambda: f(2.5)


@workload("jit dispatch, static argument", goal=1.2)
def dispatch_static(jx):
    f = jx.jit(lambda x, n: x + n, static_argnums=1)
    x = jx.numpy.asarray(X8)
    return lambda: f(x, 3)


@workload("jit dispatch, donated argument", goal=1.2)
def dispatch_donated(jx):
    f = jx.jit(lambda x: x + 1.0, donate_argnums=0)
    last = [f(jx.numpy.asarray(X8))]

    def step():
        last[0] = f(last[0])
        return last[0]

    return step


@workload("jit dispatch, keyword argument", goal=1.2)
def dispatch_keyword(jx):
    f = jx.jit(lambda x, y: x + y)
    x = jx.numpy.asarray(X8)
    return lambda: f(x, y=x)


def mlp_loss(jx: Any, params: Any, x: Any, y: Any) -> Any:
    """Cross-entropy of a network with tanh layers."""
    for w, b in params[:-1]:
        x = jx.numpy.tanh(x @ w + b)
    w, b = params[-1]
    logits = x @ w + b
    top = jx.numpy.max(logits, axis=1, keepdims=True)
    normaliser = jx.numpy.log(jx.numpy.exp(logits - top).sum(axis=1, keepdims=True)) + top
    return -jx.numpy.mean(jx.numpy.sum(y * (logits - normaliser), axis=1))


def mlp_data(jx: Any, sizes: tuple[int, ...], batch: int) -> tuple[Any, Any, Any]:
    random = np.random.RandomState(0)

    def array(*shape: int) -> Any:
        return jx.numpy.asarray((random.randn(*shape) / np.sqrt(shape[0])).astype(np.float32))

    params = [(array(m, n), array(n)) for m, n in zip(sizes, sizes[1:])]
    labels = np.eye(sizes[-1], dtype=np.float32)[random.randint(0, sizes[-1], batch)]
    return params, array(batch, sizes[0]), jx.numpy.asarray(labels)


def mlp_step(jx: Any) -> tuple[Callable[..., Any], tuple]:
    """One step of gradient descent, not yet jitted, and its arguments."""
    args = mlp_data(jx, (784, 256, 256, 10), batch=128)

    def step(params, x, y):
        loss, grads = jx.value_and_grad(functools.partial(mlp_loss, jx))(params, x, y)
        return loss, jx.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, grads)

    return step, args


@workload("jitted MLP step", goal=1.0, mark=1.03)
def jitted_mlp(jx):
    step, args = mlp_step(jx)
    step = jx.jit(step)
    return lambda: step(*args)


# --- several devices ---
# A piece is some steps and waits for them: too many that are not awaited can get stuck, in JAX.

AT_ONCE = 4


def _mesh(jx: Any) -> Any:
    """All devices there are, in one axis."""
    return jx.sharding.Mesh(np.array(jx.devices()), ("data",))


def data_parallel_step(jx: Any) -> tuple[Callable[..., Any], tuple]:
    """The step of the MLP, and arguments of which each device has a part of the batch."""
    step, (params, *batch) = mlp_step(jx)
    split = jx.sharding.NamedSharding(_mesh(jx), jx.sharding.PartitionSpec("data"))
    copied = jx.sharding.NamedSharding(_mesh(jx), jx.sharding.PartitionSpec())
    return step, (jx.device_put(params, copied), *jx.device_put(batch, split))


@workload("8-device data-parallel step (jit)", goal=1.0, mark=1.1, units=AT_ONCE, devices=8)
def jitted_data_parallel(jx):
    step, (params, *batch) = data_parallel_step(jx)
    step = jx.jit(step)

    def train():
        new = params
        for _ in range(AT_ONCE):
            loss, new = step(new, *batch)
        return loss.block_until_ready()

    return train


def _steps(step: Callable[..., Any], x: Any) -> Callable[[], Any]:
    """What runs a step many times, each on the result of the one before."""
    def steps():
        y = x
        for _ in range(AT_ONCE):
            y = step(y)
        return y.block_until_ready()

    return steps


def _typed(jx: Any) -> tuple:
    """A mesh with axes of type Explicit, and an array that is split over both."""
    mesh = jx.make_mesh((4, 2), ("x", "y"))
    sharding = jx.sharding.NamedSharding(mesh, jx.sharding.PartitionSpec("x", "y"))
    return mesh, jx.device_put(np.ones((8, 8), np.float32), sharding)


@workload("make_jaxpr of 100 operations on a typed sharding, per operation", goal=0.50, mark=0.60,
          units=100, devices=8)  # fmt: skip
def trace_typed(jx):
    mesh, x = _typed(jx)

    def trace():
        with jx.set_mesh(mesh):
            return jx.make_jaxpr(lambda x: chain(jx, x, 100))(x)

    return trace


@workload("make_jaxpr of the grad of a layer with typed shardings", goal=0.50, mark=0.60, devices=8)
def trace_typed_layer(jx):
    mesh, x = _typed(jx)
    w = jx.device_put(np.ones((8, 8), np.float32), jx.sharding.NamedSharding(
        mesh, jx.sharding.PartitionSpec(None, "y")))
    spec = jx.sharding.PartitionSpec("x", "y")

    def loss(w, x):
        for _ in range(5):
            x = jx.numpy.tanh(jx.numpy.dot(x, w, out_sharding=spec)).reshape(8, 8)
        return (x * x).mean()

    def trace():
        with jx.set_mesh(mesh):
            return jx.make_jaxpr(lambda w, x: jx.grad(loss)(w, x))(w, x)

    return trace


@workload("jit dispatch, array with a typed sharding", goal=1.0, mark=1.2, units=AT_ONCE,
          devices=8)  # fmt: skip
def dispatch_typed(jx):
    _, x = _typed(jx)
    step = jx.jit(lambda x: x + 1.0)

    return _steps(step, x)


@workload("shard_map dispatch", goal=1.0, mark=1.3, units=AT_ONCE, devices=8)
def dispatch_shard_map(jx):
    spec = jx.sharding.PartitionSpec("data")
    x = jx.device_put(np.ones(64, np.float32), jx.sharding.NamedSharding(_mesh(jx), spec))
    step = jx.jit(jx.shard_map(lambda x: x + 1.0, mesh=_mesh(jx), in_specs=spec, out_specs=spec))

    return _steps(step, x)


def transformer_step(jx: Any) -> tuple[Callable[..., Any], tuple]:
    """A step of a two-layer transformer's training, and its arguments."""
    random = np.random.RandomState(0)
    batch, length, width, heads, vocabulary = 8, 64, 128, 4, 64

    def array(*shape: int) -> Any:
        return jx.numpy.asarray((random.randn(*shape) / np.sqrt(shape[-2])).astype(np.float32))

    names = {"qkv": 3 * width, "out": width, "up": 4 * width}
    layers = [
        {**{k: array(width, n) for k, n in names.items()}, "down": array(4 * width, width)}
        for _ in range(2)
    ]
    params = {"embed": array(vocabulary, width), "layers": layers}
    tokens = np.eye(vocabulary, dtype=np.float32)[random.randint(0, vocabulary, (batch, length))]
    mask = np.tril(np.ones((length, length), bool))

    def normalised(x):
        centred = x - x.mean(axis=-1, keepdims=True)
        return centred * jx.lax.rsqrt((centred * centred).mean(axis=-1, keepdims=True) + 1e-5)

    def attention(layer, x):
        q, k, v = jx.numpy.split(x @ layer["qkv"], 3, axis=-1)
        q, k, v = (z.reshape(batch, length, heads, -1) for z in (q, k, v))
        scores = jx.numpy.einsum("bqhd,bkhd->bhqk", q, k) / np.float32(np.sqrt(width / heads))
        scores = jx.numpy.where(mask, scores, -1e9)
        weights = jx.numpy.exp(scores - scores.max(axis=-1, keepdims=True))
        weights = weights / weights.sum(axis=-1, keepdims=True)
        return jx.numpy.einsum("bhqk,bkhd->bqhd", weights, v).reshape(x.shape) @ layer["out"]

    def loss(params, tokens):
        x = tokens @ params["embed"]
        for layer in params["layers"]:
            x = x + attention(layer, normalised(x))
            x = x + jx.numpy.maximum(normalised(x) @ layer["up"], 0.0) @ layer["down"]
        logits = normalised(x[:, :-1]) @ params["embed"].T
        top = logits.max(axis=-1, keepdims=True)
        normaliser = jx.numpy.log(jx.numpy.exp(logits - top).sum(axis=-1, keepdims=True)) + top
        return -jx.numpy.mean(jx.numpy.sum(tokens[:, 1:] * (logits - normaliser), axis=-1))

    def step(params, tokens):
        value, grads = jx.value_and_grad(loss)(params, tokens)
        return value, jx.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, grads)

    return step, (params, jx.numpy.asarray(tokens))


@workload("jitted transformer step", goal=1.0, mark=1.03)
def jitted_transformer(jx):
    step, args = transformer_step(jx)
    step = jx.jit(step)
    return lambda: step(*args)


def cnn_step(jx: Any) -> tuple[Callable[..., Any], tuple]:
    """A step of training two convolutions with max pooling, and its arguments."""
    random = np.random.RandomState(0)
    batch, size, labels = 32, 28, 10

    def array(*shape: int) -> Any:
        fan_in = np.prod(shape[:-1])
        return jx.numpy.asarray((random.randn(*shape) / np.sqrt(fan_in)).astype(np.float32))

    def convolved(x, kernel):
        numbers = ("NHWC", "HWIO", "NHWC")
        x = jx.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=numbers)
        x = jx.numpy.maximum(x, 0.0)
        windows = (1, 2, 2, 1)
        return jx.lax.reduce_window(x, -np.inf, jx.lax.max, windows, windows, "VALID")

    def loss(params, images, y):
        first, second, last = params
        x = convolved(convolved(images, first), second)
        log_probs = jx.nn.log_softmax(x.reshape(batch, -1) @ last)
        return -jx.numpy.mean(jx.numpy.sum(y * log_probs, axis=1))

    def step(params, images, y):
        value, grads = jx.value_and_grad(loss)(params, images, y)
        return value, jx.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, grads)

    params = (array(3, 3, 1, 16), array(3, 3, 16, 32), array(7 * 7 * 32, labels))
    y = np.eye(labels, dtype=np.float32)[random.randint(0, labels, batch)]
    return step, (params, array(batch, size, size, 1), jx.numpy.asarray(y))


@workload("jitted CNN step", goal=1.0, mark=1.03)
def jitted_cnn(jx):
    step, args = cnn_step(jx)
    step = jx.jit(step)
    return lambda: step(*args)


def lstm_step(jx: Any) -> tuple[Callable[..., Any], tuple]:
    """A step of training an LSTM, a scan over 100 positions, and its arguments."""
    random = np.random.RandomState(0)
    length, batch, inputs, width = 100, 32, 64, 128

    def array(*shape: int) -> Any:
        return jx.numpy.asarray((random.randn(*shape) / np.sqrt(shape[-2])).astype(np.float32))

    params = (array(inputs, 4 * width), array(width, 4 * width), array(width, 1))

    def loss(params, xs, y):
        to_gates, recurrent, read_out = params

        def cell(carry, x):
            h, c = carry
            i, f, g, o = jx.numpy.split(x @ to_gates + h @ recurrent, 4, axis=1)
            c = jx.lax.logistic(f) * c + jx.lax.logistic(i) * jx.numpy.tanh(g)
            h = jx.lax.logistic(o) * jx.numpy.tanh(c)
            return (h, c), None

        zeros = jx.numpy.zeros((batch, width))
        (h, _), _ = jx.lax.scan(cell, (zeros, zeros), xs)
        return jx.numpy.mean((h @ read_out - y) ** 2)

    def step(params, xs, y):
        value, grads = jx.value_and_grad(loss)(params, xs, y)
        return value, jx.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, grads)

    return step, (params, array(length, batch, inputs), array(batch, 1))


@workload("jitted LSTM-scan step", goal=1.0)
def jitted_lstm(jx):
    step, args = lstm_step(jx)
    step = jx.jit(step)
    return lambda: step(*args)


def black_scholes_gradient(jx: Any) -> tuple[Callable[..., Any], tuple]:
    """The value of a million options, and its gradient by all that the prices depend on."""
    random = np.random.RandomState(0)
    ranges = ((50, 150), (50, 150), (0.1, 2), (0, 0.1), (0.1, 0.5))
    args = (random.uniform(*ends, 1_000_000).astype(np.float32) for ends in ranges)

    def value(spot, strike, time, rate, volatility):
        spread = volatility * jx.numpy.sqrt(time)
        d = (jx.numpy.log(spot / strike) + (rate + volatility**2 / 2) * time) / spread
        discounted = strike * jx.numpy.exp(-rate * time)
        cdf = lambda x: jx.lax.erfc(x * np.float32(-(0.5**0.5))) / 2
        return jx.numpy.sum(spot * cdf(d) - discounted * cdf(d - spread))

    return jx.value_and_grad(value, argnums=(0, 1, 2, 3, 4)), tuple(map(jx.numpy.asarray, args))


def clipped_gradients(jx: Any) -> tuple[Callable[..., Any], tuple]:
    """The mean of the gradients of single examples, each scaled to a length of 1 at most."""
    args = mlp_data(jx, (784, 256, 10), batch=64)

    def clipped(params, x, y):
        grads = jx.grad(functools.partial(mlp_loss, jx))(params, x[None], y[None])
        length = jx.numpy.sqrt(sum(jx.numpy.sum(g * g) for g in jx.tree_util.tree_leaves(grads)))
        scale = jx.numpy.minimum(1.0, 1.0 / length)
        return jx.tree_util.tree_map(lambda g: g * scale, grads)

    def mean(params, x, y):
        grads = jx.vmap(clipped, in_axes=(None, 0, 0))(params, x, y)
        return jx.tree_util.tree_map(lambda g: g.mean(0), grads)

    return mean, args


# --- ours tuned, JAX's as always (last: tuned programs change how a process keeps memory) ---

TUNED = {
    "Black-Scholes gradient": (black_scholes_gradient, 0.4),
    "clipped per-example gradients": (clipped_gradients, 0.3),
    "MLP step": (mlp_step, 1.0), "transformer step": (transformer_step, 1.0),
    "CNN step": (cnn_step, 1.0), "LSTM-scan step": (lstm_step, 1.0),
}  # fmt: skip


def _tuned(name: str, make: Callable, goal: float) -> None:
    @workload(f"autotuned {name}", goal=goal)
    def tuned(jx):
        function, args = make(jx)
        if jx.__name__ == "jax":
            step = jx.jit(function)
            return lambda: step(*args)
        from minijax.experimental import autotune

        step = jx.jit(function, compiler_options="autotune")
        for _ in range(3):
            jx.block_until_ready(step(*args))
        autotune.wait()
        return lambda: step(*args)


for _name, (_make, _goal) in TUNED.items():
    _tuned(_name, _make, _goal)


# Programs whose compiled code is compared as well: it must not do more work than JAX's.
COMPILED = {"MLP step": mlp_step, "CNN step": cnn_step, "transformer step": transformer_step,
            "LSTM step": lstm_step}  # fmt: skip
