"""What an equation costs: floating-point operations, and bytes read and written.

The numbers are those of XLA's `cost_analysis` before it optimises: an elementwise operation counts
one per element, a product of matrices two per multiplication, a reduction one per element that it
removes; moving data counts nothing. Functions like `exp` are counted apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple


class Cost(NamedTuple):
    """Arithmetic operations, calls of transcendental functions, and bytes of operands and results.
    """

    flops: int = 0
    transcendentals: int = 0
    bytes: int = 0

    def __add__(self, other: Cost) -> Cost:  # type: ignore[override]
        return Cost(*(a + b for a, b in zip(self, other, strict=True)))

    def __mul__(self, times: int) -> Cost:  # type: ignore[override]
        return Cost(*(times * a for a in self))


def size_in_bytes(aval: Any) -> int:
    """The memory that a value of a type takes; 0 for one that is not an array."""
    return math.prod(getattr(aval, "shape", ())) * getattr(
        getattr(aval, "dtype", None), "itemsize", 0)


def amount(n: int) -> str:
    """A number with a prefix: `1.5 M`."""
    scaled = float(n)
    for prefix in ("", "k", "M", "G", "T"):
        if scaled < 1000 or prefix == "T":
            return f"{scaled:.3g} {prefix}"
        scaled /= 1000
    raise AssertionError


_MOVES = frozenset(
    "broadcast_in_dim reshape transpose squeeze expand_dims slice dynamic_slice"
    " dynamic_update_slice concatenate pad iota copy copy_p rev gather select_n stop_gradient"
    " bitcast_convert_type device_put optimization_barrier split".split())

_TRANSCENDENTAL = frozenset(
    "sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh atan2 exp exp2 expm1 log log1p pow"
    " sqrt rsqrt cbrt erf erfc erf_inv lgamma digamma igamma igammac bessel_i0e bessel_i1e"
    " regularized_incomplete_beta zeta polygamma".split())

_REDUCTIONS = frozenset(
    "reduce_sum reduce_prod reduce_max reduce_min reduce_and reduce_or reduce_xor".split())


def _elements(atoms: Any) -> int:
    return sum(math.prod(getattr(v.aval, "shape", ())) for v in atoms)


def _dot_general(eqn) -> int:
    (contracted, _), _ = eqn.params["dimension_numbers"]
    lhs = eqn.invars[0].aval.shape
    return 2 * _elements(eqn.outvars) * math.prod(lhs[d] for d in contracted)


def _integer_pow(eqn) -> int:
    """By repeated squaring."""
    y = abs(eqn.params["y"])
    multiplications = max(y.bit_length() - 1 + y.bit_count() - 1, 0) + (eqn.params["y"] < 0)
    return multiplications * _elements(eqn.outvars)


def _convolution(eqn) -> int:
    """Two for each pair of an element of the kernel and an element of the input, not of padding."""
    params, (lhs, rhs) = eqn.params, (v.aval.shape for v in eqn.invars)
    lhs_spec, rhs_spec, out_spec = params["dimension_numbers"]
    out = eqn.outvars[0].aval.shape
    pairs = 1
    for d, (low, _) in enumerate(params["padding"]):
        pairs *= _pairs(lhs[lhs_spec[2 + d]], rhs[rhs_spec[2 + d]], out[out_spec[2 + d]], low,
                        params["window_strides"][d], params["lhs_dilation"][d],
                        params["rhs_dilation"][d])
    return 2 * pairs * out[out_spec[0]] * out[out_spec[1]] * rhs[rhs_spec[1]]


def _pairs(n: int, kernel: int, out: int, low: int, stride: int, dilation: int,
           kernel_dilation: int) -> int:
    """How often a kernel of one dimension meets an element of the input."""
    meetings = 0
    for k in range(kernel):
        for i in range(out):
            at = i * stride + k * kernel_dilation - low
            meetings += 0 <= at <= (n - 1) * dilation and at % dilation == 0
    return meetings


_SPECIAL: dict[str, Callable[[Any], int]] = {
    "dot_general": _dot_general,
    "conv_general_dilated": _convolution,
    "integer_pow": _integer_pow,
    "sort": lambda eqn: _elements(eqn.invars[:1]) * max(
        _elements(eqn.invars[:1]) - 1, 0).bit_length(),
    "logistic": lambda eqn: 3 * _elements(eqn.outvars),
    **dict.fromkeys(_REDUCTIONS, lambda eqn: _elements(eqn.invars) - _elements(eqn.outvars)),
    **dict.fromkeys(_MOVES | _TRANSCENDENTAL, lambda eqn: 0),
}


def can_be_in_place(eqn: Any) -> bool:
    """Whether XLA lets the one result take the memory of an operand that is not read any more: each
    element depends on the operands' elements there, or the elements only change their places."""
    name = eqn.primitive.name
    if len(eqn.outvars) != 1 or any(eqn._jaxprs()):
        return False
    if name in ("reshape", "squeeze", "expand_dims", "transpose"):
        return True
    elementwise = name not in _SPECIAL or name in _TRANSCENDENTAL | {"integer_pow", "logistic"}
    shape = getattr(eqn.outvars[0].aval, "shape", None)
    return elementwise and all(getattr(v.aval, "shape", None) in ((), shape) for v in eqn.invars)


def cost_of(eqn: Any) -> Cost:
    """The cost of an equation that calls no jaxpr."""
    name = eqn.primitive.name
    count = _SPECIAL.get(name, lambda eqn: _elements(eqn.outvars))
    transcendentals = _elements(eqn.outvars) if name in _TRANSCENDENTAL | {"logistic"} else 0
    return Cost(count(eqn), transcendentals, _bytes_moved(eqn, name))


def _bytes_moved(eqn: Any, name: str) -> int:
    """Of an array of which a part is taken, or replaced, only that part is touched."""
    made = sum(size_in_bytes(v.aval) for v in eqn.outvars)
    read = [size_in_bytes(v.aval) for v in eqn.invars]
    if name in ("slice", "dynamic_slice", "gather"):
        return 2 * made + sum(read[1:])
    if name == "dynamic_update_slice":
        return 2 * read[1] + sum(read[2:])
    return made + sum(read)
