"""Chapter 16: derivatives checked against differences.

Along one random direction: the difference quotient costs two calls of the function, however many
arguments it has, and a wrong derivative is wrong in almost every direction.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core import dtypes
from ..core.api import jvp, linearize, vjp
from ..core.boundary import public
from ..core.tree import tree_leaves, tree_map

Tolerance = float | dict | None  # a number, or one for each dtype; `None`: those below

EPS = 1e-4
# How far two results of the same program may be from each other.
_RESULT_TOLERANCE = {
    "float4_e2m1fn": 1.0, "float8_e8m0fnu": 1.0, "bfloat16": 1e-2, "float16": 1e-3, "float32": 1e-6,
    "float64": 1e-15, "complex64": 1e-6, "complex128": 1e-15,
}
# How far a difference quotient, with steps of EPS, is from the derivative. Other floats have so few
# digits that there is little to compare.
_GRADIENT_TOLERANCE = {
    "bfloat16": 1e-1, "float16": 1e-2, "float32": 2e-3, "float64": 1e-5, "complex64": 1e-3,
    "complex128": 1e-5,
}


@public
def check_grads(f: Callable, args: Sequence, order: int, modes: Sequence[str] = ("fwd", "rev"),
                atol: Tolerance = None, rtol: Tolerance = None, eps: float | None = None) -> None:
    """Check the derivatives of `f`, up to an order, against differences.

    Args:
      f: a function of pytrees of arrays.
      args: where to differentiate it.
      order: 1, or more: then `check_grads` goes on with the first derivatives.
      modes: "fwd" for `jvp`, "rev" for `vjp`, "lin" for `linearize`.
      atol, rtol: how much may differ: numbers, or dicts of a number for each dtype.
      eps: the step of the difference quotient.

    Raises:
      AssertionError: they differ.

    >>> from minijax.test_util import check_grads
    >>> check_grads(jnp.sin, (1.0,), order=2)
    """
    _check_grads(f, tuple(args), order, modes, "", atol=atol, rtol=rtol, eps=eps or EPS)


def _check_grads(f, args, order, modes, outer: str, **options) -> None:
    """`outer` says of what `f` is the derivative."""
    for mode, (name, check) in _MODES.items():
        if mode in modes:
            message = f"{name} of {outer}" if outer else name
            derivative, derivative_args = check(f, args, err_msg=message, **options)
            if order > 1:
                _check_grads(derivative, derivative_args, order - 1, modes, message, **options)


# Each checks one derivative of `f`, and returns it as a function, with arguments for it.


def _forward(f, args, **options):
    derivative = functools.partial(jvp, f)
    check_jvp(f, derivative, args, **options)
    return derivative, (args, args)


def _linearized(f, args, **options):
    def derivative(primals, tangents):
        out, f_jvp = linearize(f, *primals)
        return out, f_jvp(*tangents)

    check_jvp(f, derivative, args, **options)
    return derivative, (args, args)


def _reverse(f, args, **options):
    def derivative(*args):
        out, f_vjp = vjp(f, *args)
        return f_vjp(out)

    check_vjp(f, functools.partial(vjp, f), args, **options)
    return derivative, args


_MODES = {"fwd": ("JVP", _forward), "rev": ("VJP", _reverse), "lin": ("LIN", _linearized)}

# ----------------------------------------------------------------------------------------------
# One derivative


@public
def check_jvp(f: Callable, f_jvp: Callable, args: tuple, atol: Tolerance = None,
              rtol: Tolerance = None, eps: float = EPS, err_msg: str = "") -> None:
    """Check a forward derivative against a difference quotient.

    Args:
      f: a function of pytrees of arrays.
      f_jvp: `(primals, tangents) -> (value, derivative)`, like `partial(jax.jvp, f)`.
      args: where to differentiate it.
      atol, rtol, eps: see `check_grads`.
      err_msg: begins the error's text.

    Raises:
      AssertionError: they differ.

    >>> from minijax.test_util import check_jvp
    >>> check_jvp(jnp.sin, lambda x, t: (jnp.sin(*x), jnp.cos(*x) * t[0]), (1.0,))
    """
    tangents = _random_like(args, np.random.RandomState(0))
    value, derivative = f_jvp(args, tangents)
    tree_map(_check_same_dtype, value, derivative)
    expected = f(*args)
    tree_map(_check_same_dtype, value, expected)
    _check_close(value, expected, atol, rtol, f"{err_msg} primal".strip())
    quotient = _difference_quotient(f, args, tangents, eps)
    _check_close(derivative, quotient, atol, rtol, f"{err_msg} tangent".strip())


@public
def check_vjp(f: Callable, f_vjp: Callable, args: tuple, atol: Tolerance = None,
              rtol: Tolerance = None, eps: float = EPS, err_msg: str = "") -> None:
    """Check a reverse derivative against a difference quotient.

    For a direction v and a cotangent w, the two ways to ⟨w, Jv⟩ meet: Jv is the difference
    quotient, and wᵀJ the reverse derivative.

    Args:
      f: a function of pytrees of arrays.
      f_vjp: `(*args) -> (value, function of a cotangent)`, like `partial(jax.vjp, f)`.
      args, atol, rtol, eps, err_msg: see `check_jvp`.

    Raises:
      AssertionError: they differ.

    >>> from minijax.test_util import check_vjp
    >>> check_vjp(jnp.sin, lambda x: (jnp.sin(x), lambda ct: (ct * jnp.cos(x),)), (1.0,))
    """
    value, to_cotangents = f_vjp(*args)
    _check_close(value, f(*args), atol, rtol, f"{err_msg} primal".strip())
    rng = np.random.RandomState(0)
    tangents, cotangent = _random_like(args, rng), _random_like(value, rng)
    # JAX's cotangents are those of the transpose; the inner product is that of the adjoint.
    pulled_back = _conjugate(to_cotangents(_conjugate(cotangent)))
    pushed_forward = _difference_quotient(f, args, tangents, eps)
    _check_close(_inner(tangents, pulled_back), _inner(pushed_forward, cotangent), atol, rtol,
                 f"{err_msg} cotangent projection".strip())


# ----------------------------------------------------------------------------------------------
# Numbers, in NumPy


def _on_arrays(function: Callable) -> Callable:
    """`function` of the leaves, the result in the dtype of the first: a Python number if it is."""
    def on_leaves(x, *others):
        first = np.asarray(x)
        out = np.asarray(function(first, *map(np.asarray, others)), dtype=first.dtype)
        return out.item() if type(x) in (bool, int, float, complex) else out

    return functools.partial(tree_map, on_leaves)


_conjugate = _on_arrays(np.conj)


def _random_like(tree: Any, rng: np.random.RandomState) -> Any:
    """A pytree of the same types, of random numbers."""
    def draw(x):
        out = rng.randn(*x.shape)
        return out + 1j * rng.randn(*x.shape) if x.dtype.kind == "c" else out

    return _on_arrays(draw)(tree)


def _difference_quotient(f: Callable, args: tuple, tangents: tuple, eps: float) -> Any:
    """(f(args + eps · tangents) - f(args - eps · tangents)) / (2 eps)."""
    step = _on_arrays(lambda x: x * np.asarray(eps, x.dtype))(tangents)
    above = f(*_on_arrays(np.add)(args, step))
    below = f(*_on_arrays(np.subtract)(args, step))
    return _on_arrays(lambda a, b: _minus(a, b) * np.asarray(0.5 / eps, a.dtype))(above, below)


def _minus(a, b):
    """a - b, and 0 for two infinities of one sign."""
    with np.errstate(invalid="ignore"):
        return np.where(a == b, np.zeros((), a.dtype), a - b)


def _inner(xs: Any, ys: Any) -> np.generic:
    """The real part of ⟨xs, ys⟩."""
    def products(x, y):
        return np.real(np.vdot(np.asarray(x), np.asarray(y)))

    return functools.reduce(np.add, tree_leaves(tree_map(products, xs, ys)))


def _check_same_dtype(x, y) -> None:
    x, y = (dtypes.canonicalize_dtype(dtypes.dtype(a)) for a in (x, y))
    assert x == y, f"dtypes {x} and {y}"


def _check_close(found: Any, expected: Any, atol: Tolerance, rtol: Tolerance, message: str) -> None:
    """Check that a derivative is close to another, or to a difference quotient."""
    check_close(found, expected, atol, rtol, message, _GRADIENT_TOLERANCE)


def check_close(xs: Any, ys: Any, atol: Tolerance = None, rtol: Tolerance = None,
                err_msg: str = "", defaults: dict[str, float] = _RESULT_TOLERANCE) -> None:
    """Check that the leaves of two pytrees are close. Of a larger array, more may differ."""
    def check(a, b):
        a, b = np.asarray(a), np.asarray(b)
        assert a.shape == b.shape, f"{err_msg}: shapes {a.shape} and {b.shape}"
        absolute, relative = (max(_tolerance(x.dtype, tol, defaults) for x in (a, b)) * a.size
                              for tol in (atol, rtol))
        a, b = (x.astype(np.float32) if x.dtype.kind == "V" else x for x in (a, b))  # bfloat16 …
        np.testing.assert_allclose(a, b, rtol=relative, atol=absolute, err_msg=err_msg)

    tree_map(check, xs, ys)


def _tolerance(dtype: np.dtype, tol: Tolerance, defaults: dict[str, float]) -> float:
    if tol is not None and not isinstance(tol, dict):
        return tol
    if dtype != dtypes.float0:  # NumPy computes with 64 bits what JAX keeps in 32
        dtype = dtypes.canonicalize_dtype(dtype)
    given = {np.dtype(key).name: value for key, value in (tol or {}).items()}
    if dtype.kind in "biu" or dtype == dtypes.float0:
        return given.get(dtype.name, 0)
    return given.get(dtype.name, defaults.get(dtype.name, 1e-1))
