"""`python -m tests.benchmarks.beside [--book] [row …]`: work without compilation, in four libraries.

Autograd differentiates NumPy by a tape, PyTorch calls C++; JAX compiles and starts a program for each
operation. Those of them that are installed run in one process, in turns of a few milliseconds. The
figures are the least wall-clock times of all turns. With `--book` the table goes into the page of
chapter 6.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import time
from collections.abc import Callable, Iterator
from importlib import util
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any

import numpy as np

from tests.benchmarks.__main__ import PAGE, seconds
from tests.benchmarks.measure import least, replaced, table, times_in, write_table
from tests.benchmarks.workloads import X8, chain, fifteen, mlp_data, mlp_loss

COLUMNS = ("JAX", "autograd", "PyTorch", "minijax")
BEGIN, END = "<!-- Beside others: by `tests.benchmarks.beside` -->\n", "<!-- Beside others ends -->\n"
TURN, ROUNDS = 0.004, 40  # seconds

WORK: dict[str, Callable[[Any], Callable[[], Any]]] = {}


def work(name: str) -> Callable:
    """Register the decorated function: of a library it makes a call to be measured."""
    def register(build: Callable[[Any], Callable[[], Any]]) -> Callable:
        WORK[name] = build
        return build

    return register


@work("x + y, 8 floats")
def operator(jx):
    x = jx.numpy.asarray(X8)
    return lambda: x + x


@work("add(x, y)")
def function(jx):
    x, add = jx.numpy.asarray(X8), jx.numpy.add
    return lambda: add(x, x)


@work("sin(x)")
def sine(jx):
    x, sin = jx.numpy.asarray(X8), jx.numpy.sin
    return lambda: sin(x)


@work("x[1:5]")
def view(jx):
    x = jx.numpy.asarray(X8)
    return lambda: x[1:5]


def sines_and_products(jx: Any, x: Any, operations: int) -> Any:
    """`chain` by NumPy's name for the sine, which all the libraries have."""
    return chain(SimpleNamespace(lax=jx.numpy), x, operations)


@work("100 sines and products")
def sines(jx):
    x = jx.numpy.asarray(X8)
    return lambda: sines_and_products(jx, x, 100)


@work("the sum of a million floats")
def total(jx):
    x = jx.numpy.asarray(np.linspace(0, 1, 1_000_000, dtype=np.float32))
    return lambda: jx.numpy.sum(x)


@work("gradient of 15 operations")
def grad(jx):
    x = jx.numpy.asarray(X8)
    return lambda: jx.grad(functools.partial(fifteen, jx))(x)


@work("gradient of 1,000 sines and products")
def grad_of_loop(jx):
    x = jx.numpy.asarray(X8)
    return lambda: jx.grad(lambda x: jx.numpy.sum(sines_and_products(jx, x, 1000)))(x)


@work("value and gradient of an MLP, 64-32-32-10")
def mlp(jx):
    params, x, y = mlp_data(jx, (64, 32, 32, 10), batch=32)
    return lambda: jx.value_and_grad(functools.partial(mlp_loss, jx))(params, x, y)


@work("value and gradient of an MLP, 784-256-256-10")
def large_mlp(jx):
    params, x, y = mlp_data(jx, (784, 256, 256, 10), batch=128)
    return lambda: jx.value_and_grad(functools.partial(mlp_loss, jx))(params, x, y)


@work("third derivative of tanh")
def third(jx):
    x, grad = jx.numpy.asarray(np.float32(0.5)), jx.grad
    return lambda: grad(grad(grad(jx.numpy.tanh)))(x)


# ----------------------------------------------------------------------------------------------
# The libraries, with JAX's names for what the rows use


def autograd() -> Any:
    module, numpy = (importlib.import_module(f"autograd{name}") for name in ("", ".numpy"))
    return SimpleNamespace(numpy=numpy, grad=module.grad, value_and_grad=module.value_and_grad)


def torch() -> Any:
    module = importlib.import_module("torch")
    module.set_num_threads(1)  # its threads wait for work by spinning, which disturbs the others
    func = importlib.import_module("torch.func")
    names = ("add", "sin", "exp", "tanh", "cos", "sqrt", "sum", "mean", "log")
    numpy = SimpleNamespace(asarray=module.as_tensor, max=module.amax,
                            **{name: getattr(module, name) for name in names})

    def value_and_grad(f: Callable) -> Callable:
        swapped = func.grad_and_value(f)
        return lambda *args: swapped(*args)[::-1]

    return SimpleNamespace(numpy=numpy, grad=func.grad, value_and_grad=value_and_grad)


def libraries() -> dict[str, Any]:
    """Those that are installed, by the names of the columns."""
    imports = {"autograd": autograd, "PyTorch": torch}
    found = {}
    for column in COLUMNS:
        try:
            found[column] = imports[column]() if column in imports else _ours_or_jax(column.lower())
        except ImportError:
            print(f"{column} is not installed.")
    return found


def _ours_or_jax(name: str) -> Any:
    for module in (f"{name}.numpy", f"{name}.lax"):
        importlib.import_module(module)
    return importlib.import_module(name)


# ----------------------------------------------------------------------------------------------
# The table


def times_of(calls: list[Callable[[], Any]]) -> list[float]:
    """Seconds of a call in each of the libraries."""
    least(calls, [10] * len(calls), 1, time.perf_counter)  # what is learned, or compiled
    times = [times_in(TURN, call, time.perf_counter) for call in calls]
    return least(calls, times, ROUNDS, time.perf_counter)


def rows(found: dict[str, Any], wanted: list[str]) -> Iterator[list[str]]:
    for name, build in WORK.items():
        if wanted and not any(part in name for part in wanted):
            continue
        times = dict(zip(found, times_of([build(jx) for jx in found.values()])))
        cells = [seconds(times[column]) if column in times else "" for column in COLUMNS]
        ratios = [f"{times['minijax'] / times[other]:.2f}" if other in times else ""
                  for other in ("JAX", "autograd")]
        yield [name, *cells, *ratios]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.beside", description=__doc__)
    parser.add_argument("rows", nargs="*", help="only rows whose name contains one of these")
    parser.add_argument("--book", action="store_true", help="write the table into the book")
    options = parser.parse_args()
    header = ["work", *COLUMNS, "minijax / JAX", "minijax / autograd"]
    measured = [*rows(libraries(), options.rows)]
    write_table("beside", "", header, measured)
    if options.book:
        versions = ", ".join(f"{name} {version(name)}" for name in ("jax", "autograd", "torch")
                             if util.find_spec(name))
        about = f"With {versions}, wall time."
        PAGE.write_text(replaced(PAGE.read_text(), BEGIN, END, table(about, header, measured)))


if __name__ == "__main__":
    main()
