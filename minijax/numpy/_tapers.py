"""Chapter 12: the classical windows of signal processing: weights that fall to the sides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.boundary import public
from ..core.primitives import exp_p
from ..custom_rules import custom_jvp
from ..lax.bessel import bessel_i0e, bessel_i1e, unscaled
from ..lax.compile_time import concrete_or_error
from ..lax.dtypes import default_float_dtype
from ..lax.elementwise import abs_, mul
from ..lax.shaping import full, iota
from ..text.naming import named
from ._arguments import promote_args_inexact
from ._staged import staged
from ._ufuncs import abs, cos, sqrt


def _places(name: str, M) -> tuple[int, Any]:
    """The length of a window, and the numbers 0, 1, … of its weights (`None` if it is trivial)."""
    M = concrete_or_error(int, M, f"M argument of jnp.{name}")
    return M, iota(default_float_dtype(), M) if M > 1 else None


def _window(name: str, weights: Callable, doc: str) -> Callable:
    """A row of the table: the weights as a function of the places and the length."""

    @named(name, doc=doc)
    @public
    def window(M: int) -> Any:
        """{doc}

        Args:
          M: the number of weights, a known int.

        Returns:
          a vector of `M` floats, symmetric.

        Raises:
          ConcretizationTypeError: `M` is traced.

        >>> {name}(5)[2].round(3).item()
        1.0
        """
        M, n = _places(name, M)
        return full((M,), 1, default_float_dtype()) if n is None else weights(n, M)

    return window


bartlett = _window("bartlett", lambda n, M: 1 - abs(2 * n + 1 - M) / (M - 1),
                   "A triangle that is 0 at both ends.")
blackman = _window(
    "blackman", lambda n, M: (0.42 - 0.5 * cos(2 * np.pi * n / (M - 1))
                              + 0.08 * cos(4 * np.pi * n / (M - 1))),
    "Blackman's window: a sum of three cosines.")
hamming = _window("hamming", lambda n, M: 0.54 - 0.46 * cos(2 * np.pi * n / (M - 1)),
                  "Hamming's window: a raised cosine on a small pedestal.")
hanning = _window("hanning", lambda n, M: 0.5 * (1 - cos(2 * np.pi * n / (M - 1))),
                  "Hann's window: one period of a raised cosine.")


@staged(eager=False)
def i0(x) -> Any:
    """The modified Bessel function of order 0, elementwise.

    Args:
      x: an array of real numbers.

    Raises:
      ValueError: complex numbers.

    >>> i0(0.0).round(4).item()
    1.0
    """
    (x,) = promote_args_inexact("i0", x)
    if x.dtype.kind == "c":
        raise ValueError(f"Unsupported input type to jax.numpy.i0: {x.dtype}")
    return _i0(x)


@custom_jvp
def _i0(x):
    return mul(exp_p.bind(abs_(x)), bessel_i0e(abs_(x)))


@_i0.defjvp
def _i0_jvp(primals, tangents):
    """I₀' = I₁."""
    (x,), (t,) = primals, tangents
    return _i0(x), mul(t, unscaled(x, bessel_i1e(x)))


@public
def kaiser(M: int, beta) -> Any:
    """Kaiser's window: a Bessel function of a half circle.

    Args:
      M: the number of weights, a known int.
      beta: a number: how fast the weights fall to the sides.

    Returns:
      a vector of `M` floats, symmetric.

    Raises:
      ConcretizationTypeError: `M` is traced.

    >>> kaiser(3, 0.0).round(3).tolist()
    [1.0, 1.0, 1.0]
    """
    M, n = _places("kaiser", M)
    if n is None:
        return full((M,), 1, default_float_dtype())
    half = 0.5 * (M - 1)
    return i0(beta * sqrt(1 - ((n - half) / half) ** 2)) / i0(beta)
