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


TEXTS = ["jit", "vmap", "jvp", "grad", "linearize", "vjp", "vmap.grad", "jit.grad"]
WHOLE = ("integers", "small_integers")  # which have no gradient
# The derivatives of what is not real, whose equations come in another order than JAX's.
DISCRETE = (*WHOLE, "integers_and_floats", "masks")
OTHER_TEXT = {
    "jvp": (*DISCRETE, "comparisons", "extrema", "remainder"),
    "linearize": (*DISCRETE, "comparisons", "extrema"),
    "vjp": DISCRETE,
    "grad": WHOLE,
    "jit.grad": WHOLE,
    "vmap.grad": (*WHOLE, "python_scalar"),
    "vmap": ("python_scalar",),  # which has no dimension
}
DERIVATIVES = {"jvp", "linearize", "vjp", "grad", "jit.grad", "vmap.grad"}


@pytest.mark.parametrize("name, transforms", [
    (name, names) for names in TEXTS for name in PROGRAMS if name not in OTHER_TEXT.get(names, ())
    and not (name == "powers" and names in DERIVATIVES)])  # whose rule is right at 0, too
def test_text(name, transforms):
    """The jaxprs read the same."""
    base = PROGRAMS[name]

    def program(jx):
        def run(*args):
            f, args = compose(jx, transforms.split("."), base.program(jx), args)
            return jx.make_jaxpr(f)(*args)

        return run

    both(program, *base.args)


def test_there_are_enough_base_functions():
    assert len(PROGRAMS) >= 40
