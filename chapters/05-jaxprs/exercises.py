"""Exercises of chapter 5: fill in the stubs, then `python -m minijax learn check 5.1`."""

from __future__ import annotations


def count_operations(jaxpr):
    """5.1: a dict from names of primitives to how often they occur, also in inner jaxprs.

    An equation that holds a jaxpr counts itself, and what is inside. `jaxprs_in_params(eqn.params)`
    of minijax.core.jaxpr gives the jaxprs of an equation.
    """
    raise NotImplementedError


def evaluate(jaxpr, consts, args, wanted):
    """5.2: some results of a jaxpr, as a list: those whose numbers are in the list `wanted`.

    Evaluate only the equations that these results depend on, and each at most once. Do not use
    `eval_jaxpr`. An equation is evaluated by `eqn.primitive.bind(*operands, **eqn.params)`, which
    gives a list if `eqn.primitive.multiple_results`. An operand is a variable, or a `Literal` of
    `minijax.core.jaxpr`, whose value is its `val`.
    """
    raise NotImplementedError


def interval(jaxpr, *intervals):
    """5.3: between which bounds the one result of `jaxpr` lies, as a pair (low, high).

    `intervals` are the pairs of bounds of the arguments, of Python floats. It is enough to know the
    primitives `add`, `sub`, `neg`, `mul` and `exp`, by `eqn.primitive.name`. An operand may be a
    `Literal` of `minijax.core.jaxpr`, whose value is its `val`.
    """
    raise NotImplementedError


def inverse_of_two(f):
    """5.4: the inverse of `f`, a function of two floats with two results, of add, sub, mul and exp.

    `inverse_of_two(f)(*results)` is the tuple of the two arguments. At first only the results are
    known. If all operands of an equation are known, it gives its result. If its result is known and
    all operands but one, it gives that operand. Repeat until you learn nothing new. For instance,
    let the results be x and y + exp(x). Then x is known, so is exp(x), and then y. If you do not
    find an argument in this way, raise `ValueError`.

    Of use: `minijax.make_jaxpr(f)(*results).jaxpr`, as the results have the types of the arguments;
    `Literal` of `minijax.core.jaxpr`, whose value is its `val`; `eqn.primitive.bind(*operands)`;
    and `add`, `sub`, `div` and `log` of `minijax.lax`.
    """
    raise NotImplementedError


def add_eqn(self, primitive, invars, params, location=None):
    """5.5: append an equation to `self.eqns` of a `JaxprBuilder`, unless there is one like it.

    Return its new variable, or the list of them for a primitive with multiple results. The types
    are `primitive.out_aval(tuple of the operands' avals, params)`, an aval or a list of avals.
    If an earlier equation computes the same, return its variables, and append nothing: the
    primitives, the parameters (compared by `==`) and the operands are the same. Two literals are
    the same if their `aval`s are equal and their `val`s have the same `repr`. (0.0 and -0.0 are
    equal, but x / 0.0 and x / -0.0 are not.) An equation with `effects` is never shared. Compare
    the new equation's `params`: it adds those that only JAX has to the `params` that you get.

    From `minijax.core.jaxpr`: `Var(aval)`, `Literal`, `SourceInfo(location)`, and
    `JaxprEqn(primitive, invars, outvars, params, source_info)`.
    """
    raise NotImplementedError


def cost(jaxpr):
    """5.6: how many operations on numbers a jaxpr of tiny takes, as an int.

    By the name of the primitive, `eqn.primitive.name`: "broadcast" and "transpose" cost nothing.
    "reduce_sum" costs one operation for each element of its operand. "dot" multiplies matrices of
    shapes (..., m, n) and (..., n, k), and costs n operations for each element of its result. Any
    other costs one for each element of its result. A jaxpr has `eqns`, and an equation has
    `primitive`, `invars` and `outvars`. A variable has its shape in `aval`, a tuple. An operand
    that has no `aval` is a number: it has one element.
    """
    raise NotImplementedError
