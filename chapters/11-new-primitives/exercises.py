"""Exercises of chapter 11: fill in the stubs, then `python -m minijax learn check 11.1`."""

from __future__ import annotations

from minijax import lax, numpy as jnp, tree_util  # noqa: F401  (jnp is for your answers)
from minijax.core.core import current_trace, new_trace, typeof
from minijax.lax.control_flow.parts import PartsTrace


def make_log_cosh():
    """11.1: log(cosh(x)) as a primitive with a row of rules; return the function that binds it.

    `minijax.lax.families.unary_row(name, accepted, numpy_rule, doc, jvp=..., lowering=...)` returns
    the pair of a primitive and its function. Name it "log_cosh", and accept `families.FLOAT`.
    `numpy_rule` evaluates the primitive with NumPy; if it is None, the lowering is compiled. `jvp`
    is a function (tangent, x) -> tangent. A lowering can be `families.lower_fun(f)`, where `f` is
    written with functions of `lax`. The result must be right at x = ±100, where cosh overflows. For
    x >= 0, log(cosh(x)) = x + log(1 + exp(-2x)) - log(2). Numbers must keep the dtype of x:
    `families.const_like(x, 2)` is a 2 of that dtype.
    """
    raise NotImplementedError


def difference_of(x):
    """Each element of the last axis minus the one before it: x[0], x[1] - x[0], x[2] - x[1], …"""
    n = typeof(x).ndim
    before = lax.pad(x, typeof(x).dtype.type(0), [(0, 0, 0)] * (n - 1) + [(1, -1, 0)])
    return lax.sub(x, before)


def make_difference():
    """11.2: `difference_of` as a primitive; return the function that binds it.

    `minijax.extend.core.Primitive("difference")` makes one. It needs:

    - a type: `primitive.def_abstract_eval(rule)`;
    - a lowering, from `difference_of`, given above: `mlir.register_lowering(primitive, rule)` and
      `mlir.lower_fun(function, multiple_results=False)`;
    - an evaluation: `primitive.def_impl(function)`, with `minijax.jit` of your function;
    - a batching rule: `batching.primitive_batchers[primitive] = rule`, where
      `rule(args, dims)` returns the result and its batch axis. The batch may be the last axis.
      `batching.moveaxis(x, source, destination)` moves an axis;
    - a JVP and a transpose: `minijax.lax.families.deflinear2(primitive, rule)`, where
      `rule(ct, x)` returns a list of one cotangent. `lax.rev(x, [axis])` reverses an axis, and
      `typeof(x).ndim` is the number of axes.

    `batching` and `mlir` are in `minijax.interpreters`. Do not look at elements in Python.
    """
    raise NotImplementedError


def _transpose(ct, a, b, *, transpose_a, **params):
    """11.3: the transpose of `triangular_solve`, which solves op(A) X = B and is linear in B.

    (If `left_side` is false, it solves X op(A) = B.)

    op(A) is A, or Aᵀ if `transpose_a`. The library's rule changes this option. Write the rule in
    another way: leave the option as it is, and transpose the matrix. `lower` says in which triangle
    of `a` the numbers are, so it may have to change.

    `ct` is the cotangent of X, an array or a symbolic `Zero`; `b` is an `UndefinedPrimal`, and
    `b.aval` its type. Return a list with None (for `a`) and the cotangent of B. For a `Zero`, that
    is `Zero(b.aval)`. `params` holds `lower`, `left_side`, `unit_diagonal` and `conjugate_a`. Use
    `triangular_solve(a, b, transpose_a=..., **params)` from `minijax.lax.linalg.triangular_solve`,
    `matrix_transpose(a)` from `minijax.lax.linalg.common` and `Zero` from `minijax.core.forward`.
    """
    raise NotImplementedError


def range_of_sin(low, high):
    """11.4: the least and the greatest value of sin(x) for low <= x <= high, as a pair.

    `low` and `high` are scalars or arrays of floats, and may be traced: no Python `if` on them. The
    sine reaches 1 at π/2 + 2πk, and -1 at -π/2 + 2πk. Is one of those between the ends? Then that
    is the extreme. `jnp`, which is `minijax.numpy`, has ceil, floor, where, minimum, maximum, sin
    and pi.
    """
    raise NotImplementedError


class ErrorTrace(PartsTrace):
    """A value is [x], which is exact, or [x, e], which is x with an error of at most e."""

    def widen(self, parts, n):
        return parts if len(parts) == n else [parts[0], lax.full_like(parts[0], 0)]

    def apply(self, primitive, values, params):
        """11.5: the result of an elementwise primitive, and its error, as a list of two.

        `values` is a list of [x] or [x, e], one for each operand. At least one operand has an
        error e. To first order, it moves the result by |∂f/∂x| e; add these for all operands that
        have one. It must work for any elementwise primitive of one result:
        `primitive.bind(*xs, **params)` evaluates it, `jvp(f, (x,), (e,))` of `minijax` gives
        f(x) and ∂f/∂x e for a function f of one argument, and `lax.abs` is the absolute value.
        """
        raise NotImplementedError


def with_error(fun):
    """`fun` as a function of pairs (x, e) that returns pairs; it uses your `ErrorTrace`."""
    def fun_of_pairs(*pairs):
        trace = ErrorTrace(current_trace())
        with new_trace(trace):
            out = fun(*[trace.box(list(pair)) for pair in pairs])
            return tree_util.tree_map(lambda x: tuple(trace.widen(trace.unbox(x), 2)), out)

    return fun_of_pairs
