"""Exercises of chapter 7: fill in the stubs, then `python -m minijax learn check 7.1`."""

from __future__ import annotations


def known_outputs(jaxpr, known):
    """7.1: for each result of `jaxpr`, whether it is known, given which arguments are.

    `jaxpr` is a `Jaxpr` (with `invars`, `constvars`, `eqns` and `outvars`), `known` a list of bools
    for `invars`. Constants and literals (`Literal` of `minijax.core.jaxpr`) are known. Evaluate
    nothing.
    """
    raise NotImplementedError


def residual_count(f, x):
    """7.2: how many numbers (not arrays!) the derivative of `f` at `x` keeps.

    `f` takes one array and returns a list of arrays. `minijax.core.partial_eval` has
    `linearize_flat(f, [x])`, which returns three things: the results of f, its derivative at x as a
    closed jaxpr, and for each result whether it has a tangent. `minijax.typeof(c).size` is the
    number of elements of an array. What the derivative keeps are the `consts` of its jaxpr.
    """
    raise NotImplementedError


def specialize(f, x, y_aval):
    """7.3: the closed jaxpr of y -> f(x, y) for a known `x`, with all that is known computed.

    `f` takes two arrays and returns one, which depends on y; `y_aval` is the type of y. From
    `minijax.core.core`: `current_trace()`, and `new_trace(trace)`, whose `with` block makes the
    trace current. From `minijax.core.partial_eval`: `JaxprTrace(parent)`. It has `new_arg(aval)`,
    an unknown argument; `atom(z)`, what stands for a value z in the jaxpr; and `builder`, whose
    `build([atom])` is the closed jaxpr with this result.
    """
    raise NotImplementedError


def dce_jaxpr(jaxpr, used_outputs, keep_inputs=False):
    """7.4: the jaxpr without the equations that its used outputs do not need, and without x * 1.

    `used_outputs` says for each result whether it is used. Return the new `Jaxpr` and, for each
    argument, whether it is still one: whether it is needed, or all are to be kept (`keep_inputs`, a
    bool). Equations with `effects` stay. A `mul` of which one operand is a `Literal` with the `val`
    1, and the other operand has the `aval` of the result, goes as well: the other operand takes the
    place of its result. There are no primitives that hold jaxprs.

    From `minijax.core.jaxpr`: `Jaxpr(constvars, invars, outvars, eqns)`, whose arguments are also
    its attributes; `JaxprEqn(primitive, invars, outvars, params, source_info, effects)`, likewise;
    and `Literal`. From `minijax.core.primitives`: `mul_p`.
    """
    raise NotImplementedError


def process_primitive(self, primitive, args, params):
    """7.5: how `JaxprTrace` (which is `self`) processes a primitive, within a budget.

    The constants of the jaxpr so far are what a derivative keeps. If they have more than
    1,000 elements in all after a primitive was written down, raise `MemoryError` with a message
    that names the primitive: it is the one that keeps too much. `self.builder.build([]).consts` are
    the constants so far, and `minijax.typeof(c).size` is the number of elements of one.

    For the rest, `self.is_unknown(x)` says whether a value is an unknown of this trace.
    If nothing is unknown, `self.parent`, the trace below, processes the primitive. Else a rule
    does: `rule(self, primitive, args, params)`. `minijax.core.partial_eval` has
    `partial_eval_rules`, and `default_partial_eval` for primitives without one. In both cases, the
    parent must be current: `self.in_parent(f, *args, **params)` calls f with the parent as the
    current trace.
    """
    raise NotImplementedError


def split_size(jaxpr, known):
    """7.6: how a jaxpr of tiny is split: a pair of ints.

    `known` says of each argument whether it is known. An equation is known if all its operands are.
    The first number is how many equations are known. The second is how many known variables the
    unknown equations use: these are the residuals. A variable that is used twice counts once.
    Known arguments also count. A jaxpr has `invars` and `eqns`, and an equation has `invars` and
    `outvars`. Variables have an `aval`; an operand that has none is a number, which is known, and
    not a residual.
    """
    raise NotImplementedError
