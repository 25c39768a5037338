"""Tracebacks of common mistakes end at the user's own line, however often the mistake is made."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import traceback
from types import FunctionType

import numpy as np
import pytest

import minijax
from minijax import settings

MOST_INTERNAL_FRAMES = 3
PACKAGE = os.path.dirname(minijax.__file__) + os.sep
LIBRARIES = (PACKAGE, os.path.dirname(np.__file__) + os.sep, f"{os.sep}jaxlib{os.sep}",
             os.path.dirname(os.__file__) + os.sep)
HIDDEN = "minijax has removed its own frames"
USER_FILE = "train.py"

# name -> a program. The line of the mistake is marked; `x` is a vector, `m` a matrix.
MISTAKES = {
    "shapes of a sum": "jnp.arange(3) + jnp.arange(4)  # !",
    "shapes of a product": "jnp.ones((2, 3)) @ jnp.ones((2, 3))  # !",
    "shapes of dot": "jnp.dot(x, x[:2])  # !",
    "shapes of concatenate": "jnp.concatenate([x, m])  # !",
    "a word as an array": "jnp.sin('a')  # !",
    "a word as an operand": "x + 'a'  # !",
    "a list as an operand": "x + [1.0, 2.0, 3.0]  # !",
    "a ragged list": "jnp.array([[1.0], [1.0, 2.0]])  # !",
    "an index that is no integer": "x['a']  # !",
    "an index by floats": "x[x]  # !",
    "too many indices": "x[0, 0]  # !",
    "a mask of another size": "x[jnp.array([True, False])]  # !",
    "an update of another shape": "x.at[0].set(x)  # !",
    "assignment in place": "x[0] = 1.0  # !",
    "an assignment that adds": "x[0] += 1.0  # !",
    "reshape": "jnp.reshape(x, (2, 2))  # !",
    "the method reshape": "x.reshape(2, 2)  # !",
    "an axis out of bounds": "jnp.sum(x, axis=3)  # !",
    "an axis of the method": "x.sum(axis=3)  # !",
    "an axis of softmax": "jax.nn.softmax(x, axis=3)  # !",
    "a dtype that is none": "jnp.zeros(3, 'flot32')  # !",
    "dtypes of lax.add": "jax.lax.add(x, jnp.arange(3))  # !",
    "a negative power of integers": "jnp.arange(3) ** -1  # !",
    "einsum": "jnp.einsum('ij,kl->iz', m, m)  # !",
    "the inverse of an oblong matrix": "jnp.linalg.inv(m)  # !",
    "a name that does not exist": "jnp.arrange(3)  # !",
    "the truth value of an array": "if x > 0: pass  # !",
    "the number of an array": "float(x)  # !",
    "a number as a key": "jax.random.normal(0, (3,))  # !",
    "keys that are none": "jax.random.split('a')  # !",
    "trees that differ": "jax.tree.map(lambda a, b: a, {'a': 1}, {'b': 1})  # !",
    "keys that cannot be sorted": "jax.tree.leaves({1: x, 'a': x})  # !",
    "an array that was deleted": "y = x + 1\ny.delete()\ny + 1  # !",
    "a condition under jit": """
        @jax.jit
        def f(x):
            if x.sum() > 0:  # !
                return x
        f(x)
        """,
    "a number under jit": """
        @jax.jit
        def f(x):
            return float(x[0])  # !
        f(x)
        """,
    "NumPy under jit": """
        @jax.jit
        def f(x):
            return np.sin(x)  # !
        f(x)
        """,
    "a range under jit": """
        @jax.jit
        def f(n):
            return sum(range(n))  # !
        f(3)
        """,
    "a mask under jit": """
        @jax.jit
        def f(x):
            return x[x > 0]  # !
        f(x)
        """,
    "a shape under jit": """
        @jax.jit
        def f(n):
            return jnp.zeros(n)  # !
        f(3)
        """,
    "a word given to jit": "jax.jit(lambda x: x)('a')  # !",
    "a word returned from jit": "jax.jit(lambda x: 'a')(x)  # !",
    "a list as a static argument": "jax.jit(lambda x, n: x, static_argnums=1)(x, [1])  # !",
    "jit of no function": "jax.jit(3)  # !",
    "a leaked tracer": """
        kept = []
        jax.jit(lambda x: kept.append(x))(x)
        kept[0] + 1  # !
        """,
    "a leaked tracer given to a function": """
        kept = []
        jax.vmap(lambda x: kept.append(x))(x)
        jnp.sin(kept[0])  # !
        """,
    "a leaked tracer as a condition": """
        kept = []
        jax.jit(lambda x: kept.append(x))(1.0)
        if kept[0]:  # !
            pass
        """,
    "the gradient of a vector": "jax.grad(lambda x: x * 2)(x)  # !",
    "the gradient for integers": "jax.grad(lambda n: n * 2.0)(3)  # !",
    "a tangent of another shape": "jax.jvp(jnp.sin, (x,), (x[:2],))  # !",
    "a cotangent of another shape": "jax.vjp(jnp.sin, x)[1](x[:2])  # !",
    "sizes under vmap": "jax.vmap(lambda a, b: a + b)(x, x[:2])  # !",
    "vmap of a scalar": "jax.vmap(jnp.sin)(1.0)  # !",
    "in_axes that do not fit": "jax.vmap(jnp.sin, in_axes=(0, 0))(x)  # !",
    "shapes under vmap and jit": """
        @jax.jit
        @jax.vmap
        def f(row):
            return row + jnp.ones(2)  # !
        f(m)
        """,
    "a carry that changes": "jax.lax.scan(lambda c, _: (c + x, c), 0.0, None, 3)  # !",
    "a body that returns no pair": "jax.lax.scan(lambda c, _: c, 0.0, x)  # !",
    "lengths of a scan": "jax.lax.scan(lambda c, ab: (c, c), 0.0, (x, x[:2]))  # !",
    "branches that differ": "jax.lax.cond(True, lambda: 1.0, lambda: x)  # !",
    "a condition that is no scalar": "jax.lax.cond(x > 0, lambda: 1.0, lambda: 2.0)  # !",
    "a loop that changes its carry":
        "jax.lax.while_loop(lambda i: i < 3, lambda i: (i, i), 0)  # !",
    "a carry of another dtype":
        "jax.lax.fori_loop(0, 3, lambda i, c: c + 0.5, jnp.arange(3))  # !",
    "an axis that has no name": "jax.lax.psum(x, 'i')  # !",
    "a mesh without the axis": """
        mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ('data',))
        jax.device_put(x, jax.sharding.NamedSharding(mesh, jax.P('model')))  # !
        """,
    "a platform that does not exist": "jax.devices('gpux')  # !",
    "a gradient rule that returns too little": """
        f = jax.custom_vjp(lambda x, y: x * y)
        f.defvjp(lambda x, y: (x * y, None), lambda _, g: (g,))
        jax.grad(f)(1.0, 2.0)  # !
        """,
    "an error of one's own": """
        def loss(w):
            return w * {}['rate']  # !
        jax.jit(jax.grad(loss))(1.0)
        """,
    "an error of one's own in a scan": """
        def step(c, x):
            raise LookupError('mine')  # !
        jax.grad(lambda c: jax.lax.scan(step, c, x)[0])(0.0)
        """,
    "an error of one's own in a tree": """
        def leaf(x):
            return x.no_such_name  # !
        jax.tree.map(leaf, {'a': [x]})
        """,
}  # fmt: skip

# These show no internal frame at all.
WRONG_OBJECTS = {
    "a name of a package that does not exist": "jax.nn.no_such_name  # !",
    "a mesh of a number": "jax.sharding.Mesh(3, ('data',))  # !",
    "a sharding with another axis": """
        mesh = jax.make_mesh((1,), ('data',))
        jax.NamedSharding(mesh, jax.P('model'))  # !
        """,
    "a struct with a number as shape": "jax.ShapeDtypeStruct(3, 'float32')  # !",
    "a setting that does not exist": "jax.config.update('no_such_setting', 1)  # !",
    "a kind of dtype that does not exist": "jnp.isdtype('float32', 'no kind')  # !",
    "a view as no dtype": "x.view('no dtype')  # !",
    "a scope without a name": "jax.named_scope(3)  # !",
    "a resize method that does not exist": "jax.image.ResizeMethod.from_string('no')  # !",
    "a tangent of another shape for a linearized function": "jax.linearize(jnp.sin, x)[1](x[:2])  # !",
}  # fmt: skip


def errors_of(code: str, times: int = 1) -> list[BaseException]:
    """What a program of the user's raises, each time."""
    lines = ["def program(x, m):", *textwrap.indent(textwrap.dedent(code).strip(), "    ").split("\n")]
    names = {"jax": minijax, "jnp": minijax.numpy, "np": np}
    exec(compile("\n".join(lines), USER_FILE, "exec"), names)
    errors = []
    for _ in range(times):
        with pytest.raises(Exception) as info:
            names["program"](minijax.numpy.ones(3), minijax.numpy.ones((2, 3)))
        errors.append(info.value)
    return errors


def marked_line(code: str) -> int:
    lines = textwrap.dedent(code).strip().split("\n")
    return 2 + next(i for i, line in enumerate(lines) if line.endswith("# !"))


def shape(error: BaseException) -> list[tuple[str, list[tuple[str, int]]]]:
    """The exception and those that are printed before it, each with its frames from the user's on.
    """
    links = []
    while error is not None:
        frames = [(f.filename, f.lineno) for f in traceback.extract_tb(error.__traceback__)]
        links.append((type(error).__name__, [f for f in frames if f[0] != __file__]))
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return links


@pytest.mark.parametrize("name", WRONG_OBJECTS)
def test_constructors_and_queries_show_no_internal_frame(name):
    ((_, frames),) = shape(errors_of(WRONG_OBJECTS[name])[0])
    assert frames == [(USER_FILE, marked_line(WRONG_OBJECTS[name]))]


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_shown_at_the_users_line(name):
    code = MISTAKES[name]
    errors = errors_of(code, 10)
    links = shape(errors[0])
    internal = [f for _, frames in links for f in frames if f[0].startswith(LIBRARIES)]
    assert len(internal) <= MOST_INTERNAL_FRAMES, internal
    own = [f for f in links[0][1] if not f[0].startswith(LIBRARIES)]
    assert (USER_FILE, marked_line(code)) in own[-2:], links
    if HIDDEN in "".join(traceback.format_exception(errors[0])):
        assert not [f for f in internal if f[0].startswith(PACKAGE)], internal
    assert links == shape(errors[1]) == shape(errors[9])


def public_functions() -> dict[str, FunctionType]:
    """The functions of the modules that computations are made of, by name."""
    modules = (minijax.numpy, minijax.numpy.linalg, minijax.lax.linalg, minijax.nn, minijax.random)
    found = {name: getattr(m, name) for m in modules for name in dir(m)}
    return {name: f for name, f in found.items() if isinstance(f, FunctionType)
            and f.__code__.co_filename.startswith(PACKAGE) and not name.startswith("_")}


# They have nothing below them that could fail, or bind a primitive and do nothing else.
NO_BOUNDARY = set("""
    shape ndim size isscalar iterable iscomplexobj isrealobj issubdtype isdtype promote_types
    get_printoptions set_printoptions printoptions frompyfunc
    """.split())


def test_public_functions_are_boundaries():
    functions = public_functions()
    assert len(functions) > 300
    open_ = {name for name, f in functions.items() if "hide_frames" not in f.__code__.co_names}
    assert open_ <= NO_BOUNDARY


def test_causes_are_filtered_too():
    """A user's function fails, and another one of theirs raises its own error about it."""
    (error,) = errors_of("""
        def first(x):
            raise KeyError('first')
        def second(x):
            try:
                return jax.jit(first)(x)
            except KeyError as error:
                raise ValueError('second') from error  # !
        jax.vmap(second)(x)
        """)
    (name, frames), (cause, behind) = shape(error)
    assert (name, cause) == ("ValueError", "KeyError")
    assert {f for f, _ in frames + behind} == {USER_FILE}


def test_exceptions_that_only_the_library_saw_are_left_out():
    for name in ("a name that does not exist", "a word given to jit", "a word returned from jit",
                 "a dtype that is none", "an axis that has no name"):
        (error,) = errors_of(MISTAKES[name])
        assert len(shape(error)) == 1, (name, shape(error))


def test_exceptions_that_the_user_was_handling_are_kept():
    (error,) = errors_of("""
        try:
            {}['rate']
        except KeyError:
            jnp.sin('a')  # !
        """)
    assert [name for name, _ in shape(error)] == ["TypeError", "KeyError"]


def test_remove_frames_shows_the_complete_traceback_in_the_cause():
    with settings.traceback_filtering("remove_frames"):
        (error,) = errors_of(MISTAKES["shapes of a sum"])
    (_, frames), (cause, complete) = shape(error)
    assert cause == "UnfilteredStackTrace" and {f for f, _ in frames} == {USER_FILE}
    assert any(f.startswith(PACKAGE) for f, _ in complete)


def test_off_shows_everything():
    with settings.traceback_filtering("off"):
        (error,) = errors_of(MISTAKES["shapes of a sum"])
    assert any(f.startswith(PACKAGE) for f, _ in shape(error)[0][1])
    assert HIDDEN not in "".join(traceback.format_exception(error))


def test_what_python_prints_at_the_end_of_a_program(tmp_path):
    script = tmp_path / USER_FILE
    script.write_text("import minijax.numpy as jnp\n\njnp.arange(3) + jnp.arange(4)\n")
    result = subprocess.run([sys.executable, str(script)], capture_output=True, text=True,
                            env={**os.environ, "PYTHONPATH": os.path.dirname(PACKAGE[:-1])})
    assert f'File "{script}", line 3' in result.stderr
    assert PACKAGE not in result.stderr and HIDDEN in result.stderr
