"""Python called by programs on several devices."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from tests.oracle import both, in_both

X = np.arange(64, dtype=np.float32).reshape(8, 8)


def placed(library, spec=("x",)):
    auto = (library.sharding.AxisType.Auto,) * 2
    mesh = library.make_mesh((4, 2), ("x", "y"), auto)
    return mesh, library.device_put(X, library.NamedSharding(mesh, library.P(*spec)))


def calls(library, program, transform):
    """The values that the program's callback was called with, in any order, and the result."""
    seen = []
    mesh, x = placed(library)

    def look(*values):
        seen.append([np.asarray(value).tolist() for value in values])

    out = transform(library, mesh, functools.partial(program, library, look))(x)
    library.effects_barrier()
    return sorted(seen), np.asarray(out)


def watched(library, look, x):
    y = x * 2
    library.debug.callback(look, y, y[0])
    return y + 1


def watched_rows(library, look, x):
    return library.vmap(functools.partial(watched, library, look))(x)


def scanned(library, look, x):
    def step(carry, row):
        library.debug.callback(look, row)
        return carry, row + 1
    return library.lax.scan(step, 0.0, x)[1]


def pure(library, look, x):
    y = x * 2
    return library.pure_callback(np.cos, library.ShapeDtypeStruct(y.shape, y.dtype), y)


def two_results(library, look, x):
    kinds = (library.ShapeDtypeStruct(x.shape, x.dtype), library.ShapeDtypeStruct((), x.dtype))
    y, z = library.pure_callback(lambda x: (np.sin(x), np.float32(3)), kinds, x)
    return y + z


def constant(library, look, x):
    library.debug.callback(look, 3)
    return x


PROGRAMS = [watched, watched_rows, scanned, pure, two_results, constant]


@pytest.mark.parametrize("program", PROGRAMS)
def test_in_a_partitioned_program_the_first_device_calls(program):
    both(lambda library: lambda: calls(library, program, lambda lib, mesh, f: lib.jit(f)))


@pytest.mark.parametrize("program", PROGRAMS)
def test_in_a_shard_map_each_device_calls(program):
    def per_shard(library, mesh, f):
        P = library.P
        return library.jit(library.shard_map(
            f, mesh=mesh, in_specs=P("x"), out_specs=P("x"), check_vma=False))

    both(lambda library: lambda: calls(library, program, per_shard))


def watched_in_parts(library, look, x):
    y = x * 2
    library.debug.callback(look, y, y[0], y.sum(), partitioned=True)
    return y + 1


def watched_rows_in_parts(library, look, x):
    return library.vmap(lambda x: (library.debug.callback(look, x * 3, partitioned=True), x)[1])(x)


def scanned_in_parts(library, look, x):
    def step(carry, row):
        library.debug.callback(look, row, carry, partitioned=True)
        return carry + 1, row + 1
    return library.lax.scan(step, 0.0, x)[1]


@pytest.mark.parametrize("way", ["jit", "eager", "shard_map"])
@pytest.mark.parametrize("program", [watched_in_parts, watched_rows_in_parts, scanned_in_parts])
def test_each_device_sees_its_part(program, way):
    """`partitioned` was accepted, and one device called with whole arrays."""
    ways = {"jit": lambda lib, mesh, f: lib.jit(f), "eager": lambda lib, mesh, f: f,
            "shard_map": lambda lib, mesh, f: lib.jit(lib.shard_map(
                f, mesh=mesh, in_specs=lib.P("x"), out_specs=lib.P("x"), check_vma=False))}
    both(lambda library: lambda: calls(library, program, ways[way]))


@pytest.mark.parametrize("program", [watched, watched_rows, scanned, constant])
def test_eager_callbacks_see_the_whole_array(program):
    both(lambda library: lambda: calls(library, program, lambda lib, mesh, f: f))


@in_both
def test_ordered_effects_are_for_one_device(library):
    def f(x):
        library.debug.print("{}", x.sum(), ordered=True)
        return x
    return library.jit(f)(placed(library)[1])


def test_in_a_shard_map_over_some_axes_python_returns_nothing():
    """As in JAX: it may only watch."""
    def program(library):
        mesh, x = placed(library)
        f = library.shard_map(
            lambda x: library.pure_callback(np.sin, library.ShapeDtypeStruct(x.shape, x.dtype), x),
            mesh=mesh, in_specs=library.P("x"), out_specs=library.P("x"), axis_names={"x"})
        return lambda: library.jit(f)(x)

    both(program, raises=NotImplementedError)
