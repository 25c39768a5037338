"""`python -m minijax explain FILE.py:FUNCTION --args ...`: what became of a function."""

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

import minijax as jax

from ..core import dtypes
from ..debugging.explain import explain
from .errors import Failure
from .jaxpr import describe, evaluate, find_function, is_shape, place_in_user_code


def explain_function(options: argparse.Namespace) -> int:
    """Explain the function, transformed as asked; print that, or write the page.

    Raises:
      Failure: the function cannot be found or traced, or the page cannot be written.
    """
    function = transformed(find_function(options.target), options.transformations or [])
    random = np.random.default_rng(0)
    given = [evaluate(expression) for expression in options.arguments]
    arguments = [jax.tree.map(lambda x: _value(x, random), x, is_leaf=is_shape) for x in given]
    try:
        explanation = explain(function, *arguments)
    except Exception as error:
        where = place_in_user_code(error)
        raise Failure(f"tracing {options.target} failed{where}: {describe(error)}",
                      exit_code=1) from None
    if any(map(is_shape, jax.tree.leaves(given, is_leaf=is_shape))):
        print("Shapes stand for standard normal random numbers (for zeros, if they are integers).")
    if options.output is None:
        print(explanation)
        bad = explanation.first("nan")
        if bad is not None:
            print(f"\n{bad}")
        return 0
    try:
        print(f"wrote {explanation.save(options.output)}")
    except OSError as error:
        raise Failure(f"cannot write {options.output}: {error.strerror}", exit_code=1) from None
    return 0


def transformed(function: Callable, names: list[str]) -> Callable:
    """The function with transformations around it, the first one innermost."""
    for name in names:
        function = getattr(jax, name)(function)
    return function


def _value(x: Any, random: np.random.Generator) -> Any:
    if not is_shape(x):
        return x
    if not dtypes.issubdtype(x.dtype, np.inexact):
        return np.zeros(x.shape, x.dtype)
    return random.standard_normal(x.shape).astype(x.dtype)
