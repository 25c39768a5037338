"""What the modules of this folder share: how a formula becomes a function of the public interface.

A distribution is a module. Its functions are formulas under SciPy's names, with a decorator that
promotes the arguments and writes the docstring.
"""

import functools
import inspect
import sys
from collections.abc import Callable

from ...core.boundary import public
from ...lax import elementwise as lax
from ...numpy._arguments import complex_input, promote_args_inexact

MEANING = {
    "pdf": "The probability density at `x`.",
    "logpdf": "The logarithm of the probability density at `x`.",
    "pmf": "The probability of the value `k`.",
    "logpmf": "The logarithm of the probability of the value `k`.",
    "cdf": "The probability of a value up to the first argument.",
    "logcdf": "The logarithm of the probability of a value up to `x`.",
    "sf": "The probability of a value above `x`.",
    "logsf": "The logarithm of the probability of a value above `x`.",
    "ppf": "The value that is exceeded with probability 1 minus the first argument.",
    "isf": "The value that is exceeded with the probability that is the first argument.",
}


def _describe(function: Callable, name: str, formula: Callable) -> Callable:
    """Give `function` a name, and a docstring that says of which distribution it is."""
    summary = (sys.modules[formula.__module__].__doc__ or "").split("\n\n")[0]
    parameters = ", ".join(inspect.signature(formula).parameters)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = (f"{MEANING[name]}\n\n{summary}\n\nArgs:\n  {parameters}: real numbers or "
                        "arrays, which are promoted to one floating dtype and broadcast.\n\n"
                        "Raises:\n  TypeError: an argument is no array, or complex.\n")
    return function


def quantity(formula: Callable, complex_too: bool = False) -> Callable:
    """Decorator: the arguments of the formula are promoted to one floating dtype and rank.

    Complex numbers are refused if not `complex_too`: what the formula compares must be ordered.
    """
    name = formula.__name__
    distribution = formula.__module__.rpartition(".")[2]
    signature = inspect.signature(formula)

    @public
    @functools.wraps(formula)
    def function(*args, **kwargs):
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        promoted = promote_args_inexact(f"{distribution}.{name}", *bound.args)
        if not complex_too and any(complex_input(x) for x in promoted):
            raise TypeError(f"{distribution}.{name} does not accept complex numbers")
        return formula(*promoted)

    return _describe(function, name, formula)


analytic = functools.partial(quantity, complex_too=True)


def exponential(log_quantity: Callable) -> Callable:
    """`pdf` from `logpdf`, and the like."""

    @public
    @functools.wraps(log_quantity)
    def function(*args, **kwargs):
        return lax.exp(log_quantity(*args, **kwargs))

    return _describe(function, log_quantity.__name__.removeprefix("log"), log_quantity)


def logarithm(of_quantity: Callable) -> Callable:
    """`logcdf` from `cdf`, and the like."""

    @public
    @functools.wraps(of_quantity)
    def function(*args, **kwargs):
        return lax.log(of_quantity(*args, **kwargs))

    return _describe(function, f"log{of_quantity.__name__}", of_quantity)
