"""Calls of `lax` beyond the starters × every rule × every batch dimension, against real JAX."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tests.oracle import both
from tests.oracle.composition import compose, weights
from tests.oracle.lax_table import CALLS, function
from tests.oracle.primitives_table import operands


def _transformed(*names: str) -> Any:
    def rule(jx: Any, f: Any, args: tuple) -> Any:
        transformed, args = compose(jx, names, f, args)
        return transformed(*args)

    return rule


def _text(rule: Any) -> Any:
    """The equations of what the rule computes."""
    return lambda jx, f, args: jx.make_jaxpr(lambda *args: rule(jx, f, args))(*args)


def _in_jit(rule: Any) -> Any:
    """One program of all that the rule computes: quicker, where there is much of it."""
    return lambda jx, f, args: jx.jit(lambda *args: rule(jx, f, args))(*args)


def _each_dimension(jx: Any, f: Any, args: tuple) -> Any:
    """Each operand alone batched along each dimension, and all of them, each along another."""
    choices = [[None] * i + [axis] + [None] * (len(args) - i - 1)
               for i, x in enumerate(args) for axis in range(x.ndim + 1)]
    if len(args) > 1:
        choices += [[(turn + i) % (x.ndim + 1) for i, x in enumerate(args)] for turn in (0, 1)]
    return [jx.vmap(f, axes)(*_batched(jx, args, axes)) for axes in choices]


def _batched(jx: Any, args: tuple, axes: list) -> list:
    return [x if axis is None else jx.numpy.stack([x, jx.numpy.flip(x), x], axis)
            for x, axis in zip(args, axes, strict=True)]


def _tangent_of_each(jx: Any, f: Any, args: tuple) -> Any:
    """The derivative in each operand alone: the others have symbolic zeros for tangents."""
    outs = []
    for i, x in enumerate(args):
        if x.dtype.kind in "fc":
            alone = lambda x, i=i: f(*args[:i], x, *args[i + 1:])
            outs.append(_floats(jx, jx.jvp(alone, (x,), (x * weights(x.shape, x.dtype),))))
    return outs


def _tangent_of_each_dimension(jx: Any, f: Any, args: tuple) -> Any:
    return _transformed("jvp")(jx, lambda *args: _each_dimension(jx, f, args), args)


@_in_jit
def _cotangent_of_each(jx: Any, f: Any, args: tuple) -> Any:
    """The gradient in each operand alone, batched along the last dimension."""
    outs = []
    for i, x in enumerate(args):
        if x.dtype.kind in "fc":
            def alone(x, i=i):
                return _transformed("vjp")(jx, lambda x: f(*args[:i], x, *args[i + 1:]), (x,))
            outs.append(alone(x))
            outs.append(jx.vmap(alone, x.ndim)(jx.numpy.stack([x, jx.numpy.flip(x)], x.ndim)))
    return outs


def _floats(jx: Any, tree: Any) -> Any:
    leaves = jx.tree_util.tree_leaves(tree)
    return [x for x in leaves if x.dtype != jx.dtypes.float0]


RULES = {
    "evaluation": _transformed(),
    "text": _text(_transformed()),
    "text of jvp": _text(_transformed("jvp")),
    "text of vjp": _text(_transformed("vjp")),
    "text of each dimension": _text(_each_dimension),
    "text of each tangent": _text(_tangent_of_each),
    "lowering": _transformed("jit"),
    "each dimension": _in_jit(_each_dimension),
    "each tangent": _in_jit(_tangent_of_each),
    "each cotangent": _cotangent_of_each,
    "jvp": _transformed("jvp"),
    "tangent of each dimension": _in_jit(_tangent_of_each_dimension),
    "gradient of vmap": _transformed("jit", "vjp", "vmap"),
    "forward over reverse": _transformed("jit", "jvp", "vjp"),
    "reverse over reverse": _transformed("jit", "vjp", "vjp"),
}

# The calls, by how they begin, whose equations come in another order than JAX's, or compute the same
# in another way.
_INDEXING = ("(x[[]", "lax.associative_scan(lambda", "lax.dynamic_index_in_dim",
             "lax.dynamic_update_index_in_dim", "lax.index_take", "lax.random_gamma_grad", "lax.ragged_dot", "jnp.linalg.solve", "lax.fori_loop(1",
             "lax.custom_linear_solve(lambda v: (x")
_DERIVATIVES = (
    *_INDEXING, "lax.top_k", "lax.sort((", "lax.sort_key_val", "lax.cumlogsumexp",
    "lax.cummax", "lax.broadcasted_iota", "lax.clamp", "lax.pow(x, 3)", "lax.pow(x, y)", "x ** y", "lax.rem",
    "lax.asinh(x) *", "lax.asinh(x) + lax.acosh", "lax.exp2(x) +", "lax.square(x) + lax.exp2", "lax.lgamma(x) + lax.digamma",
    "lax.bessel_", "lax.population_count", "lax.clz", "lax.shift_right", "lax.reduce_and",
    "lax.reduce_xor", "lax.reduce((", "jnp.linalg.eigvals")
_JVP = (*_DERIVATIVES, "lax.argmin", "lax.is_finite", "lax.bitcast", "linalg.lu(x",
        "lax.convert_element_type(lax.complex", "jx.random", "with_vmap")
OTHER_TEXT = {
    "text": _INDEXING,
    "text of jvp": _JVP,
    "text of each tangent": (*_JVP, "x.at[y"),
    "text of vjp": (*_DERIVATIVES, "lax.select", "x[", "x.at[y", "jnp.take", "linalg.qr(x + jnp.eye(3)",
                    "jnp.linalg.svd", "lax.cond", "lax.switch", "jx.checkpoint(lambda a", "jx.jit",
                    "(lambda", "lax.scan(jx.jit", "jx.vmap(lambda a: lax.cond"),
    "text of each dimension": (*_INDEXING, "lax.clamp", "lax.bitcast", "x.at[",
                               "jx.checkpoint(lambda a"),
}

# JAX refuses these, and minijax computes them, or refuses them with another class of error. And the
# derivatives of complex signs, which are 0 in JAX (tests/laws/test_right_derivatives.py).
_HIGHER = ("each cotangent", "gradient of vmap", "forward over reverse", "reverse over reverse")
BEYOND_JAX = {
    "lax.pad": ("each cotangent",),
    "lax.sign(x)": (*_HIGHER, "text of jvp", "text of each tangent", "text of vjp", "jvp", "each tangent",
                    "tangent of each dimension"),
    "lax.ragged_dot": (*_HIGHER, "each dimension", "tangent of each dimension"),
    "lax.random_gamma_grad": _HIGHER,
    "lax.reduce((": (*_HIGHER, "jvp", "each tangent", "tangent of each dimension"),
}


def _is_compared(call: str, rule: str) -> bool:
    beyond = any(call.startswith(prefix) and rule in rules for prefix, rules in BEYOND_JAX.items())
    return not beyond and not call.startswith(OTHER_TEXT.get(rule, ()))


CASES = [pytest.param(line, call, rule, id=f"{call} {line}-{rule}")
         for (line, call), rule in itertools.product(CALLS, RULES)
         if _is_compared(call, rule)]


@pytest.mark.daily(3)
@pytest.mark.parametrize("line, call, rule", CASES)
def test_rule(line: str, call: str, rule: str) -> None:
    args = operands(line, "float32")

    def program(jx: Any) -> Any:
        def run(*args: Any) -> Any:
            return RULES[rule](jx, function(call)(jx), tuple(map(jx.numpy.asarray, args)))

        return run

    both(program, *args, tol=1e-3)
