"""Error classes and messages, source locations, and filtered tracebacks."""

from __future__ import annotations

import inspect
import os
import threading
import traceback
from types import SimpleNamespace

import numpy as np
import pytest

from minijax import errors, settings, source
from minijax.core.boundary import api_boundary
from minijax.text import locations
from tests.oracle import jax

JAX_NAMES = [name for name, value in vars(jax.errors).items()
             if inspect.isclass(value) and name != "InconclusiveDimensionOperation"]
TRACER = SimpleNamespace(
    aval=SimpleNamespace(shape=(3, 4), dtype=np.dtype("float32"), weak_type=False),
    _origin_msg=lambda: "\nIt was made at train.py:12 (loss).",
    _error_repr=lambda: "traced array with shape float32[3,4]")
TRACER_ERRORS = ["ConcretizationTypeError", "TracerBoolConversionError",
                 "TracerArrayConversionError", "TracerIntegerConversionError",
                 "NonConcreteBooleanIndexError"]


@pytest.mark.parametrize("name", JAX_NAMES)
def test_names_and_base_classes_as_jax(name):
    def bases(module):
        known = {"TypeError", "IndexError", "RuntimeError", *JAX_NAMES}
        return [cls.__name__ for cls in getattr(module, name).__mro__ if cls.__name__ in known]
    assert bases(errors) == bases(jax.errors)


@pytest.mark.parametrize("name", TRACER_ERRORS)
def test_messages_start_like_jax_and_teach(name):
    ours = str(getattr(errors, name)(TRACER))
    theirs = str(getattr(jax.errors, name)(TRACER))
    opening = theirs.split("; got" if "Index" in name else "[3,4]")[0]
    assert ours.startswith(opening)
    for part in ("float32[3,4]", "train.py:12 (loss)", "read chapter 5"):
        assert part in ours
    assert any(remedy in ours for remedy in ("static", "jnp.where", "jax.numpy"))


def test_messages_of_tracers_that_know_no_origin():
    aval = SimpleNamespace(shape=(), dtype=np.dtype("bool"))
    message = str(errors.TracerBoolConversionError(SimpleNamespace(aval=aval)))
    first, second = message.splitlines()[:2]
    assert first == "Attempted boolean conversion of traced array with shape bool[]."
    assert "lax.cond" in second


def test_messages_of_values_without_a_shape():
    assert errors.describe(SimpleNamespace(aval="token")) == "traced array with aval token"


def test_context_is_a_part_of_the_message():
    message = str(errors.ConcretizationTypeError(TRACER, "It is needed as the axis of sum."))
    assert "It is needed as the axis of sum.\nIt was made at" in message


@pytest.mark.parametrize("name, advice", [("UnexpectedTracerError", "checking_leaks"),
                                          ("KeyReuseError", "jax.random.split")])
def test_errors_with_a_message_of_their_own(name, advice):
    text = str(getattr(errors, name)("What happened."))
    assert text.startswith("What happened.\n") and advice in text


# -- Source locations --------------------------------------------------------------------------


def inside_minijax(text, **names):
    """Runs ``text`` as though it were a file of the package; gives its names."""
    exec(compile(text, source._PACKAGE + "pretend.py", "exec"), names)
    return SimpleNamespace(**names)


def test_the_summary_names_the_innermost_line_of_the_user():
    internal = inside_minijax("def call(f): return f()", f=None)
    line = inspect.currentframe().f_lineno + 1
    summary = internal.call(locations.user_frame_summary)
    name = "test_the_summary_names_the_innermost_line_of_the_user"
    assert summary == f"{os.path.relpath(__file__)}:{line} ({name})"


def test_the_standard_library_is_not_the_user():
    result = []

    def work():
        def key(x):
            result.append(call_from_library())
            return x
        call_from_library = inside_minijax("def call(): return summary()",
                                           summary=locations.user_frame_summary).call
        threading.Thread(target=key, args=(1,)).run()

    work()
    assert result[0].endswith("(key)")
    assert not source.is_user_file(threading.__file__)
    assert not source.is_user_file("<frozen importlib._bootstrap>")
    assert source.is_user_file(np.__file__)


def test_a_thread_without_user_code_has_an_empty_summary():
    call = inside_minijax("def call(): out.append(summary())", out=(out := []),
                          summary=locations.user_frame_summary).call
    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    assert out == [""] and locations.format_location(None) == ""


# -- Tracebacks --------------------------------------------------------------------------------

LIBRARY = """
@api_boundary
def outer(f):
    "Calls f."
    return inner(f)

@api_boundary
def inner(f):
    return helper(f)

def helper(f):
    return f()

@api_boundary
def fails():
    helper(lambda: 1 / 0)
"""


@pytest.fixture
def library():
    return inside_minijax(LIBRARY, api_boundary=api_boundary)


def user_fails():
    raise KeyError("mine")


def frames_of(fun, *args):
    with pytest.raises(Exception) as info:
        fun(*args)
    return [entry.name for entry in traceback.extract_tb(info.value.__traceback__)], info.value


def test_a_boundary_is_transparent(library):
    assert library.outer(lambda: 3) == 3
    assert library.outer.__name__ == "outer" and library.outer.__doc__ == "Calls f."


def test_internal_frames_are_removed_and_a_note_says_so_once(library):
    names, error = frames_of(library.outer, user_fails)
    assert names == ["frames_of", "user_fails"]
    assert type(error) is KeyError and error.args == ("mine",)
    assert len(error.__notes__) == 1 and "JAX_TRACEBACK_FILTERING=off" in error.__notes__[0]


def test_an_error_inside_the_library_ends_at_the_users_line(library):
    names, error = frames_of(library.fails)
    assert names == ["frames_of"] and type(error) is ZeroDivisionError


def test_user_frames_between_boundaries_stay(library):
    def user_function():
        return library.inner(user_fails)

    names, _ = frames_of(library.outer, user_function)
    assert names == ["frames_of", "user_function", "user_fails"]


def test_off_shows_everything(library):
    with settings.traceback_filtering("off"):
        names, error = frames_of(library.outer, user_fails)
    assert names == ["frames_of", "at_boundary", "outer", "at_boundary", "inner", "helper",
                     "user_fails"]
    assert not hasattr(error, "__notes__")


def test_remove_frames_keeps_the_complete_traceback_as_the_cause(library):
    with settings.traceback_filtering("remove_frames"):
        names, error = frames_of(library.outer, user_fails)
    assert names == ["frames_of", "user_fails"]
    full = [entry.name for entry in traceback.extract_tb(error.__cause__.__traceback__)]
    assert isinstance(error.__cause__, errors.UnfilteredStackTrace)
    assert full[:2] == ["at_boundary", "outer"] and full[-1] == "user_fails"


def test_tracebackhide_marks_internal_frames(library):
    with settings.traceback_filtering("tracebackhide"), pytest.raises(KeyError) as info:
        library.outer(user_fails)
    hidden = {entry.frame.code.name: entry.frame.f_locals.get("__tracebackhide__", False)
              for entry in info.traceback}
    assert hidden["helper"] and hidden["inner"] and not hidden["user_fails"]


def test_warnings_point_at_the_users_line():
    library = inside_minijax(
        "import warnings\n"
        "def public(): helper()\n"
        "def helper(): warnings.warn('look', stacklevel=stacklevel())",
        stacklevel=locations.user_stacklevel)
    line = inspect.currentframe().f_lineno + 2
    with pytest.warns(UserWarning) as caught:
        library.public()
    assert (caught[0].filename, caught[0].lineno) == (__file__, line)
