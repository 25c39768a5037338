"""Base functions × every composition of transformations, against real JAX.

Depth 0 to 2 is complete. At depth 3 each run takes the same sample of the product, chosen by
a hash of the case's name; `MINIJAX_FULL_PRODUCT=1` runs all of it.
"""

from __future__ import annotations

import hashlib
import itertools
import os

import pytest

from tests.oracle import both
from tests.oracle.composition import TRANSFORMS, compose
from tests.oracle.programs import PROGRAMS

ONE_IN = 1 if os.environ.get("MINIJAX_FULL_PRODUCT") else 20


def cases(depth: int, one_in: int = 1) -> list:
    """Every (base function, sequence of transformations), thinned to one in `one_in`."""
    product = itertools.product(PROGRAMS, itertools.product(TRANSFORMS, repeat=depth))
    labelled = [(".".join((*transforms, name)), name, transforms) for name, transforms in product]
    return [
        pytest.param(name, transforms, id=label)
        for label, name, transforms in labelled
        if int.from_bytes(hashlib.sha256(label.encode()).digest()[:4], "big") % one_in == 0
    ]


def check(name: str, transforms: tuple[str, ...]) -> None:
    """The composition, applied to the base function and its arguments, in both libraries."""
    base = PROGRAMS[name]

    def program(jx):
        def composed(*args):
            f, args = compose(jx, transforms, base.program(jx), args)
            return f(*args)

        return composed

    both(program, *base.args)


@pytest.mark.parametrize("name, transforms", cases(0))
def test_base_function(name, transforms):
    check(name, transforms)


@pytest.mark.parametrize("name, transforms", cases(1))
def test_one_transformation(name, transforms):
    check(name, transforms)


@pytest.mark.parametrize("name, transforms", cases(2))
def test_two_transformations(name, transforms):
    check(name, transforms)


@pytest.mark.parametrize("name, transforms", cases(3, ONE_IN))
def test_three_transformations(name, transforms):
    check(name, transforms)


def test_there_are_enough_base_functions():
    assert len(PROGRAMS) >= 40
