"""A custom rule inside `scan`, differentiated twice: the rule must not be forgotten.

(JAX 0.10.2 does forget a `custom_jvp` rule there: its `scan` partially evaluates the body to find
what is the same in all rounds, and that replaces the call by the function's own code.)
"""

from __future__ import annotations

import numpy as np
import pytest

import minijax as jax
from tests.custom_rules.functions import product, product_reverse
from tests.oracle import assert_same

X, Y = np.float32(0.7), np.float32(1.3)


def scanned(f):
    return lambda x, y: jax.lax.scan(lambda c, _: (f(c, y), None), x, None, length=3)[0]


def unrolled(f):
    return lambda x, y: f(f(f(x, y), y), y)


@pytest.mark.parametrize("rule", [product, product_reverse])
def test_second_derivative_of_a_scan_is_that_of_the_loop(rule):
    f = rule(jax)
    values = [jax.jacrev(jax.grad(loop(f), (0, 1)), (0, 1))(X, Y) for loop in (scanned, unrolled)]
    assert_same(*values)
