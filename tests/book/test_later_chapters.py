"""What chapters 11 to 15 say about the whole library, and no example prints."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

import minijax
from minijax.experimental import checkify, io_callback
from tests.oracle import jax
from tools import atlas
from tools.cut import PACKAGE

LAX = PACKAGE / "lax"


def _calls(folder: Path, *names: str) -> list[ast.Call]:
    trees = (ast.parse(path.read_text()) for path in folder.rglob("*.py"))
    return [node for tree in trees for node in ast.walk(tree)
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in names]


def test_chapter_11_the_size_of_the_table():
    """More than two hundred primitives; fewer than half of them have a transpose rule."""
    primitives, columns = atlas.primitives(), atlas.columns()
    assert len(primitives) > 200
    assert 2 * sum(map(columns["transpose"], primitives)) < len(primitives)


def test_chapter_11_a_row_is_four_lines():
    """About forty primitives cost four lines each."""
    rows = _calls(LAX, "unary_row", "binary_row")
    lengths = [row.end_lineno - row.lineno + 1 for row in rows]
    assert 30 <= len(rows) <= 50
    assert sum(lengths) / len(lengths) <= 4.5


def test_chapter_12_numpy_defines_no_primitive():
    makers = ("Primitive", "make_primitive", "unary_row", "binary_row", "linear_algebra_primitive")
    assert not _calls(PACKAGE / "numpy", *makers)
    assert _calls(LAX, *makers)


# ----------------------------------------------------------------------------------------------
# Chapter 14: the table of transposes, here and in JAX

TRANSPOSES = {
    "all_gather": ("reduce_scatter", lambda lax, x: lax.all_gather(x, "i")),
    "reduce_scatter": ("all_gather", lambda lax, x: lax.psum_scatter(x, "i")),
    "ppermute": ("ppermute", lambda lax, x: lax.ppermute(x, "i", [(0, 1), (1, 2), (2, 0)])),
    "all_to_all": ("all_to_all", lambda lax, x: lax.all_to_all(x, "i", 0, 0)),
    "psum": ("psum", lambda lax, x: lax.psum(x, "i")),
}


@pytest.mark.parametrize("library", [minijax, jax], ids=["minijax", "jax"])
@pytest.mark.parametrize("name", TRANSPOSES)
def test_chapter_14_a_collective_and_its_transpose(name, library):
    backward, collective = TRANSPOSES[name]

    def there_and_back(x):
        out, f_vjp = library.vjp(lambda x: collective(library.lax, x), x)
        return f_vjp(out)

    jaxpr = library.make_jaxpr(there_and_back, axis_env=[("i", 3)])(np.ones(3, np.float32))
    used = [eqn.primitive.name for eqn in jaxpr.eqns]
    assert [one for one in used if one in TRANSPOSES] == [name, backward]


# ----------------------------------------------------------------------------------------------
# Chapter 15: the table of callbacks, here and in JAX


def _callbacks(library):
    """For each row of the table, a function of a number that calls `see` with it, and gives it back."""
    if library is jax:
        from jax.experimental import io_callback as io
    else:
        io = io_callback

    def of_callback(call):
        def rows(see):
            def f(x):
                call(see, x)
                return x

            return f

        return rows

    def pure(see, x):
        library.pure_callback(lambda x: (see(x), x)[1], library.ShapeDtypeStruct((), "float32"), x, vmap_method="sequential")

    return {"pure": of_callback(pure),
            "io": of_callback(lambda see, x: io(see, None, x)),
            "ordered io": of_callback(lambda see, x: io(see, None, x, ordered=True)),
            "debug": of_callback(lambda see, x: library.debug.callback(see, x))}


def _seen(library, name, transform, x):
    """What the callback saw, or the class of the error."""
    seen = []
    f = _callbacks(library)[name](lambda x: seen.append(float(x)))
    try:
        library.block_until_ready(library.jit(transform(library, f))(x))
    except ValueError as error:
        return type(error)
    library.effects_barrier()
    return sorted(seen)


@pytest.mark.parametrize("library", [minijax, jax], ids=["minijax", "jax"])
@pytest.mark.parametrize(("name", "unused", "mapped", "pushed"), [
    ("pure", [], [], ValueError),
    ("io", [2.0], [1.0, 2.0], ValueError),
    ("ordered io", [2.0], ValueError, ValueError),
    ("debug", [2.0], [1.0, 2.0], [2.0]),
])
def test_chapter_15_callbacks_under_transformations(library, name, unused, mapped, pushed):
    x, xs = np.float32(2.0), np.array([1.0, 2.0], np.float32)
    assert _seen(library, name, lambda lib, f: f, x) == unused
    assert _seen(library, name, lambda lib, f: lib.vmap(f), xs) == mapped
    assert _seen(library, name, lambda lib, f: lib.grad(f), x) == pushed


@pytest.mark.parametrize("library", [minijax, jax], ids=["minijax", "jax"])
def test_chapter_15_one_box_has_one_name(library):
    ref = library.new_ref(library.numpy.ones(2))
    with pytest.raises(ValueError, match="only one reference"):
        library.jit(lambda a, b: a[0] + b[0])(ref, ref)
    with pytest.raises(ValueError, match="cannot be returned"):
        library.jit(lambda a: a)(ref)


def test_chapter_15_a_check_is_not_lowered():
    def f(x):
        checkify.check(x > 0, "not positive")
        return x

    with pytest.raises(ValueError, match="not functionalized"):
        minijax.jit(f)(1.0)
