"""Chapter 12: arrays get their methods when one of them is first used.

The methods are functions of a dozen modules, which `_methods.py` imports. Until then a stand-in has
the place of each, in the class of arrays and tracers.
"""

from __future__ import annotations

from ..core.core import install_methods
from ..first_use import AttributeOnFirstUse

METHODS = """
    all any argmax argmin max mean min prod ptp sum var std clip round __round__ conj conjugate real
    imag cumsum cumprod dot copy nonzero diagonal trace repeat flatten ravel squeeze swapaxes flat
    _split __contains__ sort argsort argpartition searchsorted choose take compress view byteswap
    astype to_device __array_namespace__
""".split()
OPERATORS = "floordiv mod divmod pow lshift rshift".split()


_operator_methods = [f"__{prefix}{name}__" for name in OPERATORS for prefix in ("", "r")]
install_methods({name: AttributeOnFirstUse("minijax.numpy._methods", name)
                 for name in (*METHODS, *_operator_methods)})
