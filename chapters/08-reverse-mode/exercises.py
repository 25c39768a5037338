"""Exercises of chapter 8: fill in the stubs, then `python -m minijax learn check 8.1`."""

from __future__ import annotations


def law_holds(f, f_transposed, v, w):
    """8.1: whether <f(v), w> = <v, f_transposed(w)>, up to rounding (1e-3), for NumPy arrays.

    The product of two arrays is the sum of the products of their elements.
    """
    raise NotImplementedError


def roll_transpose(ct, x, *, shift):
    """8.2: the transpose rule of `roll`: y[i] = x[i - shift], counted round the end.

    `ct` is a vector, `x` an `UndefinedPrimal`. Return a list of one cotangent. Use `lax`.
    """
    raise NotImplementedError


def my_jacobian(f, x):
    """8.3: the Jacobian of `f`, from vectors to vectors, at `x`: a row for each result.

    Use `minijax.vjp` and `minijax.vmap`; np.eye(n, dtype=np.float32) has the unit vectors.
    """
    raise NotImplementedError


def unbroadcast(aval, ct):
    """8.4: sum `ct` over the dimensions in which an operand of type `aval` was repeated.

    The operand either had the shape of `ct`, or was a scalar, or had dimensions of size 1.
    """
    raise NotImplementedError


def backward_pass(jaxpr, consts, args, cts, sums=()):
    """8.5: the cotangents of the linear arguments of `jaxpr`.

    `consts` are values for `jaxpr.constvars`; `args` has an `UndefinedPrimal` for each linear
    argument, else its value; `cts` a cotangent or a `Zero` for each result; `sums` (which may be
    empty) for each argument a cotangent to start with, or `None`. Return for each argument its
    cotangent, or a `Zero`, or `None` if it is not linear.
    """
    raise NotImplementedError
