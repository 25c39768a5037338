"""What `import minijax` imports, and what waits for its first use: nothing depends on when that is."""

from __future__ import annotations

import importlib
import inspect
import pickle
import subprocess
import sys

import pytest

import minijax

PACKAGES = ["lax", "lax.linalg", "numpy", "numpy.linalg", "nn", "random"]


def fresh(program: str) -> str:
    """What a program prints in a process of its own."""
    return subprocess.run([sys.executable, "-W", "ignore", "-c", program], text=True, check=True,
                          stdout=subprocess.PIPE).stdout.strip()


@pytest.mark.parametrize("name", PACKAGES)
def test_every_name_can_be_listed_and_loaded(name):
    package = importlib.import_module(f"minijax.{name}")
    assert {*package.__all__} <= {*dir(package)}
    for attribute in dir(package):
        getattr(package, attribute)
    with pytest.raises(AttributeError, match="has no attribute 'no_such_name'"):
        getattr(package, "no_such_name")  # noqa: B009
    assert not [name for name in package.__all__ if inspect.ismodule(getattr(package, name))
                and name not in ("counters", "fft", "generators", "initializers", "linalg")]


@pytest.mark.parametrize("statement", [
    "from minijax.numpy import *; assert fft.fft and sort and float32 and pi and bool_",
    "from minijax.lax import linalg, fft_p; assert linalg.cholesky_p",
    "import minijax.nn, minijax.numpy.linalg as la; assert minijax.nn.relu and la.norm",
    "from minijax import nn, image, ops, experimental, extend; assert ops.segment_sum",
    "import minijax; assert minijax.interpreters.ad and minijax.numpy.linalg.inv",
    "import sys, minijax; assert sys.modules['minijax.random'].key",
    "from minijax import *; assert shard_map and pmap and debug.print and numpy.sin and profiler",
    "import minijax.debug as d, minijax; assert d is minijax.debug and d.callback",
])  # fmt: skip
def test_ways_to_import(statement):
    fresh(statement)


def test_what_few_programs_use_is_not_imported_before():
    program = ("import sys, minijax as jax\nfloat(jax.jit(lambda x: x * 2 + 1)(3.0))\n"
               "print(*(m for m in sys.modules if m.startswith('minijax.')))")
    modules = {m.removeprefix("minijax.") for m in fresh(program).split()}
    assert modules.isdisjoint(minijax._PLACES.keys() - {"experimental"})
    assert fresh("import sys, minijax\nprint('jaxlib' in sys.modules)") == "False"


@pytest.mark.parametrize("name", sorted(minijax._PLACES.keys() - {"_src"}))
def test_names_that_wait_are_there(name):
    assert name in dir(minijax) and name in minijax.__all__
    assert fresh(f"import minijax\nprint(minijax.{name} is not None)") == "True"
    with pytest.raises(AttributeError, match="has no attribute 'no_such_name'"):
        minijax.no_such_name  # noqa: B018


def test_nothing_else_waits():
    """A package or a class that loads something later, or knows names that are absent, has a `__getattr__`."""
    waiting = [name for name, module in sorted(sys.modules.items())
               if name.startswith("minijax.") and "__getattr__" in vars(module)]
    known = {"core", "custom_derivatives", "debug", "scipy", "experimental", "settings", "runtime.mlir", "lax",
             "lax.linalg", "numpy", "scipy.linalg", "scipy.special"}
    facades = ("_src", "experimental.", "interpreters", "extend", "example_libraries")
    assert [name for name in waiting if name.removeprefix("minijax.") not in known
            and not name.removeprefix("minijax.").startswith(facades)] == []


def test_a_module_imported_early_does_not_hide_the_function_of_its_name():
    fresh("from minijax.random.gamma import loggamma\nimport minijax\n"
          "assert callable(minijax.random.gamma) and minijax.random.loggamma is loggamma")


# Programs that need a room of the library and use none of its names, with what they print.
WITHOUT_A_NAME = """
x.sharding.device_set == {jax.devices()[0]}, x.committed -> (True, False)
x.addressable_shards[0].data.tolist() -> [1.0, 2.0, 3.0]
x.addressable_data(0).tolist(), x.format.layout.major_to_minor -> ([1.0, 2.0, 3.0], (0,))
len(jax.typeof(x).sharding.spec), jax.typeof(x).manual_axis_type.varying -> (1, frozenset())
jnp.zeros(2, device=jax.devices()[0]).committed -> True
jnp.asarray([1.0], device=jax.devices()[0]).committed -> True
jax.jit(lambda x: x + 1, device=jax.devices()[0])(x).committed -> True
jax.jit(lambda x: x + 1, backend="cpu")(x).tolist() -> [2.0, 3.0, 4.0]
len(jax.jit(lambda x: x + 1).lower(x).compile().input_shardings[0]) -> 1
jax.jit(lambda x: x + 1).lower(x).compile().input_formats[0][0].sharding.memory_kind -> 'device'
raises(lambda: jax.jit(lambda x: x.committed)(x)) -> 'ConcretizationTypeError'
raises(lambda: jax.jit(lambda x: x.devices())(x)) -> 'ConcretizationTypeError'
x[jnp.array([2, 0])].tolist(), x[x > 1].tolist() -> ([3.0, 1.0], [2.0, 3.0])
x.at[0].set(5.0).tolist() -> [5.0, 2.0, 3.0]
jax.grad(lambda x: x[jnp.array([0, 0])].sum())(x).tolist() -> [2.0, 0.0, 0.0]
jax.grad(lambda x: jax.lax.scan(lambda c, x: (c * x, c), 1.0, x)[0])(x).tolist() -> [6.0, 3.0, 2.0]
float(jax.jit(jax.grad(lambda x: jax.lax.cond(x > 0, jnp.sin, jnp.cos, x)))(-0.0)) -> 0.0
jax.vmap(lambda x: jax.lax.psum(x, "i"), axis_name="i")(x).tolist() -> [6.0, 6.0, 6.0]
jax.jit(jax.vmap(lambda x: x - jax.lax.pmax(x, "i"), axis_name="i"))(x).tolist() -> [-2.0, -1.0, 0.0]
under("jax_debug_nans", True, lambda: jnp.log(-x)) -> 'FloatingPointError'
under("jax_debug_infs", True, lambda: 1 / (x - 1)) -> 'FloatingPointError'
under("jax_no_execution", True, lambda: jnp.sin(x)) -> 'RuntimeError'
under("jax_allow_f16_reductions", False, lambda: jax.lax.reduce_sum(x.astype("float16"), (0,))) -> 'ValueError'
under("jax_transfer_guard", "disallow", lambda: jax.lax.sin(np.ones(3, "float32"))) -> 'JaxRuntimeError'
under("jax_default_device", "cpu", lambda: jnp.sin(x) + jnp.ones(3)) -> 'nothing'
under("jax_default_device", "tpu", lambda: jnp.ones(3)) -> 'RuntimeError'
raises(lambda: jax.jit(lambda x: x.__setitem__(0, 1.0))(x)) -> 'TypeError'
jax.eval_shape(lambda x: x, x).format.layout -> None
jax.jit(lambda x: x, out_shardings=None)(x).tolist() -> [1.0, 2.0, 3.0]
""".strip().splitlines()


@pytest.fixture(scope="module")
def outcomes():
    """What each program gives, in a process that has done nothing before."""
    program = """
import os, sys
import numpy as np
import minijax as jax
from minijax import numpy as jnp

def raises(f):
    try:
        f()
    except Exception as error:
        return type(error).__name__
    return "nothing"

def under(name, value, f):
    jax.config.update(name, value)
    return raises(f)

for line in sys.stdin:
    sys.stdout.flush()
    if os.fork() == 0:
        x = jnp.asarray(np.float32([1, 2, 3]))
        print(repr(eval(line)), flush=True)
        os._exit(0)
    if os.wait()[1]:
        print("failed")
"""
    lines = "\n".join(line.split(" -> ")[0] for line in WITHOUT_A_NAME)
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", program], input=lines, text=True,
                         check=True, stdout=subprocess.PIPE)
    return run.stdout.strip().splitlines()


@pytest.mark.parametrize("number", range(len(WITHOUT_A_NAME)))
def test_rooms_are_entered_without_a_name(number, outcomes):
    assert outcomes[number] == WITHOUT_A_NAME[number].split(" -> ")[1]


@pytest.mark.parametrize("expression, expected", [
    ("x.sum()", 6.0), ("7 % x[2]", 1.0), ("x[1] ** 2", 4.0), ("2.0 in x", True), ("x.real[0]", 1.0),
    ("round(x[1])", 2), ("divmod(x, 2)[1].max()", 1.0), ("type(x).min(x)", 1.0),
])  # fmt: skip
def test_methods_of_first_arrays(expression, expected):
    program = ("import minijax as jax, numpy as np\nx = jax.device_put(np.float32([1, 2, 3]))\n"
               f"print({expression})")
    assert float(eval(fresh(program))) == expected


def test_modules_do_not_hide_functions_of_their_name():
    """`random.gamma`, `lax.linalg.svd`, also if others import the module first."""
    program = """
from importlib import import_module
from types import ModuleType
for package in ("lax", "lax.linalg", "numpy", "numpy.linalg", "nn", "random"):
    functions = import_module(f"minijax.{package}")
    modules = {f.__module__ for n in dir(functions) if callable(f := getattr(functions, n))}
    again = [n for n in dir(functions) if isinstance(getattr(functions, n), ModuleType)]
    print(*[n for n in again if n[0] != "_"], end=";")
print()
import minijax.random.gamma, minijax.lax.linalg.svd, minijax.nn.initializers as same
print(callable(minijax.random.gamma), callable(minijax.lax.linalg.svd), same is minijax.nn.initializers)"""
    assert fresh(program) == "linalg;;fft linalg;;initializers;generators;\nTrue True True"
    assert fresh("import minijax.random.gamma, minijax.lax.linalg.svd\n"
                 "print(minijax.random.gamma, minijax.lax.linalg.svd)").count("<function") == 2


def test_functions_are_pickled_by_name():
    for f in (minijax.numpy.sort, minijax.nn.leaky_relu, minijax.random.normal, minijax.lax.cumsum):
        assert pickle.loads(pickle.dumps(f)) is f


def test_threads_can_use_a_name_first_together():
    program = """
import threading, minijax
found, barrier = [], threading.Barrier(8)
def use():
    barrier.wait()
    found.append((minijax.numpy.unique, minijax.random.gamma, minijax.lax.linalg.svd))
threads = [threading.Thread(target=use) for _ in range(8)]
[t.start() for t in threads], [t.join() for t in threads]
print(len(found), len(set(found)))"""
    assert fresh(program) == "8 1"


def test_names_can_be_used_first_within_a_trace():
    program = """
import minijax as jax
f = lambda x: jax.nn.softmax(jax.numpy.sort(x) + jax.random.normal(jax.random.key(0), (3,)))
print(jax.jit(jax.grad(lambda x: f(x)[0]))(jax.numpy.ones(3)).shape, jax.numpy.sort(jax.numpy.array([2., 1.]))[0])"""
    assert fresh(program) == "(3,) 1.0"


def test_settings_that_belong_to_modules_not_yet_loaded():
    program = """
import minijax as jax
from minijax import numpy as jnp
with jax.debug_key_reuse(True):
    key = jax.random.key(0)
    jax.random.normal(key)
    try:
        jax.random.normal(key)
    except jax.errors.KeyReuseError:
        print("reused")
jax.config.update("jax_default_matmul_precision", "BF16_BF16_F32")
jax.config.update("jax_default_prng_impl", "rbg")
jax.random.normal(key), print(jax.random.key_impl(jax.random.key(1)))"""
    assert fresh(program).split() == ["reused", "rbg"]


# What a module may add to tables that exist without it: entries for its own classes and primitives.
_ALL = """
import importlib, pathlib, sys, minijax
from minijax.core.core import Primitive
from minijax.core.extension import _methods

def tables():
    return {id(v): (f"{m}.{k}", v) for m in [*sys.modules] if m.startswith("minijax")
            for k, v in vars(sys.modules[m]).items() if isinstance(v, dict) and k[:2] != "__"}

def primitives():
    return {id(v): v for m in [*sys.modules] if m.startswith("minijax")
            for v in vars(sys.modules[m]).values() if isinstance(v, Primitive)}

def modules():
    folder = pathlib.Path(minijax.__file__).parent
    for path in sorted(folder.rglob("*.py")):
        name = ".".join(path.relative_to(folder.parent).with_suffix("").parts)
        if not any(part in name for part in (".cli", "__main__", "_src", "theatre", "client",
                                             "several_devices", ".fast.")):
            yield name.removesuffix(".__init__")

def import_all():
    binds = []
    bind, Primitive.bind = Primitive.bind, lambda *args, **params: binds.append(args)
    for name in modules():
        importlib.import_module(name)
    Primitive.bind = bind
    return binds
"""


def test_a_module_leaves_what_is_there_as_it_is():
    program = _ALL + """
known = tables()
contents = {i: {**table} for i, (_, table) in known.items()}
rules = {i: {**vars(p), "out_avals": 0} for i, p in primitives().items()}
points, mine = {k: [*v] for k, v in _methods.items()}, primitives()
print("bound at import:", import_all())
for i, (name, table) in known.items():
    for key, value in contents[i].items():
        if table.get(key) is not value:
            print(name, key)
    for key in table.keys() - contents[i].keys():
        if id(key) in mine:
            print("a rule that was missing:", name, key)
for i, p in mine.items():
    if rules[i] != {**vars(p), "out_avals": 0}:
        print("changed:", p)
print([k for k, v in _methods.items() if k in points and v != points[k]])
"""
    assert fresh(program).split("\n") == ["bound at import: []", "[]"]


@pytest.mark.long
def test_a_primitive_comes_with_its_rules():
    """Each module, imported alone, gives its primitives all the rules that they have in the end."""
    program = _ALL + """
import os
known = {i: name for i, (name, _) in tables().items()}

def rules_of(primitive):
    return sorted(known[i] for i, (_, table) in tables().items() if i in known
                  and any(p is primitive for p in table))

def rules(module):
    return {p.name: rules_of(p) for p in vars(module).values() if isinstance(p, Primitive)}

rooms = tuple(f"minijax.{room}." for room in ("lax", "numpy", "random", "experimental"))
alone = {}
for name in modules():
    if name.startswith(rooms) and name not in sys.modules:
        read, write = os.pipe()
        if os.fork() == 0:
            os.write(write, repr(rules(importlib.import_module(name))).encode())
            os._exit(0)
        os.wait(), os.close(write)
        alone[name] = eval(os.read(read, 65536))
import_all()
print(len(alone) > 5)
for name, found in alone.items():
    if found != rules(sys.modules[name]):
        print(name, found, rules(sys.modules[name]))
"""
    assert fresh(program) == "True"


def test_a_first_use_forgets_no_program():
    """Modules that are loaded late replace evaluation rules, on which no program depends."""
    program = """
import minijax as jax
from minijax import lax, numpy as jnp, sharding
traced = []

@jax.jit
def f(x):
    traced.append(x)
    return jnp.cos(x) * 2

x = jnp.ones(3)
for _ in range(6):
    f(x)
mesh = jax.make_mesh((1,), ("a",))
for first in (
    lambda: jnp.sum(x), lambda: jnp.max(x), lambda: jnp.cumsum(x), lambda: x.at[0].set(1), lambda: jnp.fft.fft(x),
    lambda: jax.random.normal(jax.random.key(0)), lambda: jnp.linalg.solve(jnp.eye(2), jnp.ones(2)),
    lambda: lax.while_loop(lambda i: i < 3, lambda i: i + 1, 0), lambda: jax.new_ref(x)[...],
    lambda: jax.device_put(x, sharding.NamedSharding(mesh, sharding.PartitionSpec("a"))),
):
    first()
    f(x)
print(len(traced))
"""
    assert fresh(program) == "1"
