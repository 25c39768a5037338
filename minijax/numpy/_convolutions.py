"""Chapter 12: `convolve` and `correlate`, by the primitive of convolution (chapter 11).

As NumPy has no such primitive, XLA is called in any case: so these functions are jitted, and it is
called once.
"""

import functools
from typing import Any

from ..lax.convolution import conv_general_dilated
from ..runtime.jit import jit
from ._arguments import ensure_arraylikes, promote_dtypes, promote_dtypes_inexact
from ._shaping import flip
from ._staged import staged
from ._ufuncs import conj

_STATIC = ("mode", "precision", "preferred_element_type")


@functools.partial(jit, static_argnames=_STATIC)
def convolve(a, v, mode: str = "full", *, precision=None, preferred_element_type=None):
    """The convolution of two vectors: element k is the sum of a[k - j] * v[j].

    Args:
      a, v: vectors, not empty.
      mode: "full": all k where they overlap; "same": as many as the longer one has elements,
        in the middle; "valid": those where they overlap completely.
      precision, preferred_element_type: as for `lax.conv_general_dilated`.

    Raises:
      TypeError: no arrays.
      ValueError: an argument is not a vector or is empty, or the mode is unknown.

    >>> convolve(jnp.array([1.0, 2.0, 3.0]), jnp.array([1.0, 1.0])).tolist()
    [1.0, 3.0, 5.0, 3.0]
    """
    a, v = ensure_arraylikes("convolve", a, v)
    return _conv(a, v, mode=mode, op="convolve", precision=precision,
                 preferred_element_type=preferred_element_type)


@functools.partial(jit, static_argnames=_STATIC)
def correlate(a, v, mode: str = "valid", *, precision=None, preferred_element_type=None):
    """The correlation of two vectors: element k is the sum of a[k + j] * conj(v[j]).

    Arguments and errors are those of `convolve`.

    >>> correlate(jnp.array([1.0, 2.0, 3.0]), jnp.array([0.0, 1.0])).tolist()
    [2.0, 3.0]
    """
    a, v = ensure_arraylikes("correlate", a, v)
    return _conv(a, v, mode=mode, op="correlate", precision=precision,
                 preferred_element_type=preferred_element_type)


@staged(static_argnames=(*_STATIC, "op"))
def _conv(x, y, mode: str, op: str, precision, preferred_element_type=None) -> Any:
    if x.ndim != 1 or y.ndim != 1:
        raise ValueError(f"{op}() only supports 1-dimensional inputs, got shapes {x.shape} and "
                         f"{y.shape}.")
    promote = promote_dtypes_inexact if preferred_element_type is None else promote_dtypes
    x, y = promote(x, y)
    if not x.size or not y.size:
        raise ValueError(f"{op}: inputs cannot be empty, got shapes {x.shape} and {y.shape}.")
    swapped = x.size < y.size
    if op == "correlate":
        y = conj(y)
    if swapped:
        x, y = y, x
    if op == "convolve":
        y = flip(y)
    n = y.size
    paddings = {"valid": (0, 0), "same": (n // 2, n - n // 2 - 1), "full": (n - 1, n - 1)}
    if mode not in paddings:
        raise ValueError(f"mode must be one of {sorted(paddings)}, got {mode!r}.")
    out = conv_general_dilated(x[None, None], y[None, None], (1,), [paddings[mode]],
                               precision=precision, preferred_element_type=preferred_element_type)
    return out[0, 0, ::-1] if op == "correlate" and swapped else out[0, 0]
