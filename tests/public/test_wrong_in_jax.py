"""Appendix F tells the truth: each program gives what it says, in JAX and in minijax."""

from __future__ import annotations

import numpy as np
import pytest

import minijax
from tests.oracle import ask, jax
from tools import wrong_in_jax
from tools.differences import OTHERWISE

PROGRAMS = [wrong for programs in wrong_in_jax.WRONG.values() for wrong in programs]


def outcome(library, call: str):
    try:
        return np.asarray(eval(call, {"jax": library, "jnp": library.numpy, "np": np})).tolist()
    except Exception as error:
        return type(error).__name__


def is_as_told(found, told) -> bool:
    if isinstance(told, str) or isinstance(found, str):
        return found == told
    return bool(np.allclose(found, told, rtol=1e-5, atol=3e-9, equal_nan=True))


@pytest.mark.parametrize("wrong", PROGRAMS, ids=[wrong.call for wrong in PROGRAMS])
def test_each_library_gives_what_the_page_says(wrong):
    assert is_as_told(outcome(minijax, wrong.call), wrong.here)
    assert is_as_told(ask(lambda: outcome(jax, wrong.call)), wrong.in_jax)
    assert not is_as_told(wrong.here, wrong.in_jax)


@pytest.mark.parametrize("wrong", PROGRAMS, ids=[wrong.call for wrong in PROGRAMS])
def test_each_difference_is_declared(wrong):
    assert wrong.call in [call for calls in OTHERWISE.values() for call in calls]


def test_the_page_shows_all_programs():
    page = wrong_in_jax.page()
    assert all(wrong.call in page for wrong in PROGRAMS)
    assert all(wrong.trial.strip() in page for wrong in wrong_in_jax.WRONG_PROGRAMS)
