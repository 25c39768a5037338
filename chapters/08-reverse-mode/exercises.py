"""Exercises of chapter 8: fill in the stubs, then `python -m minijax learn check 8.1`."""

from __future__ import annotations


def law_holds(f, f_transposed, v, w):
    """8.1: whether <f(v), w> = <v, f_transposed(w)>, up to rounding (1e-3), for NumPy arrays.

    The product of two arrays is the sum of the products of their elements.
    """
    raise NotImplementedError


def roll_transpose(ct, x, *, shift):
    """8.2: the transpose rule of `roll`: y[i] = x[i - shift], where indices wrap around.

    `ct` is a vector, `x` an `UndefinedPrimal`. Return a list of one cotangent. Of use, from
    `minijax.lax`: `slice(x, (start,), (stop,))` and `concatenate(arrays, 0)`;
    `minijax.typeof(ct).shape`. `shift` may be negative.
    """
    raise NotImplementedError


def my_jacobian(f, x):
    """8.3: the Jacobian of `f`, from vectors to vectors, at `x`: a row for each result.

    Use `minijax.vjp` and `minijax.vmap`; np.eye(n, dtype=np.float32) has the unit vectors.
    """
    raise NotImplementedError


def unbroadcast(aval, ct):
    """8.4: sum `ct` over the dimensions in which an operand of type `aval` was repeated.

    The operand was broadcast as in NumPy: its shape stands under the last dimensions of the shape
    of `ct`, which may have more of them, and dimensions of size 1 were repeated. So (3,), (1, 3),
    (2, 1) and () all go with (2, 3). The result has the shape of `aval`. From `minijax.lax`:
    `reduce_sum(x, axes)` and `reshape(x, shape)`; `minijax.typeof(ct).shape`.
    """
    raise NotImplementedError


def backward_pass(jaxpr, consts, args, cts, sums=()):
    """8.5: the cotangents of the linear arguments of `jaxpr`, with a check of the rules.

    `consts` are values for `jaxpr.constvars`; `args` has an `UndefinedPrimal` for each linear
    argument, else its value; `cts` a cotangent or a `Zero` for each result; `sums` (which may be
    empty) for each argument a cotangent to start with, or `None`. Return for each argument its
    cotangent, or a `Zero`, or `None` if it is not linear.

    A cotangent has the shape of its operand. If a transpose rule returns another, raise `TypeError`
    with a message that names the primitive and both shapes.

    From `minijax.core.transposition`: `UndefinedPrimal(aval)`, `is_undefined_primal`, and
    `primitive_transposes`, whose rules are called as `rule(ct, *operands, **eqn.own_params)`; with
    `eqn.primitive.multiple_results`, ct is the list of all. A rule returns an entry for each
    operand: a cotangent, a `Zero`, or `None`. From `minijax.core.forward`: `Zero(aval)` and
    `add_tangents(s, t)`. From `minijax.core.jaxpr`: `Literal`, with a `val`. `minijax.typeof(ct)`
    is the type of a cotangent.
    """
    raise NotImplementedError
