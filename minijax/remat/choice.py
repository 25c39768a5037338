"""Chapter 10: what does `checkpoint` save, and which equations does it do again?

`choose_saved` walks through a jaxpr from the last equation to the first, and calls the policy. A
primitive that contains a jaxpr has an entry in `choose_inside`, so that the policy is called for
the equations inside of it, and results from there can be saved.
"""

from collections import Counter
from collections.abc import Callable, Sequence

from ..core.calls import calls
from ..core.core import Primitive, RuleTable
from ..core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from ..core.jit import jit_p
from ..core.partial_eval import dce_rules
from ..core.util import partition_list
from ..lax.control_flow.common import spread_inputs, spread_outputs
from ..lax.control_flow.cond import cond_p
from ..lax.control_flow.scan import scan_p

# primitive -> (eqn, used, policy) -> (eqn, saved, again): the equation that also returns what is
# saved of its jaxpr, the variables of these results outside, and the equation of what has to be
# done again, or `None`.
choose_inside: dict[Primitive, Callable] = RuleTable()


def choose_saved(jaxpr: Jaxpr, wanted: Sequence, policy: Callable):
    """Choose what to save so that the variables `wanted` can be computed again.

    If the results of an equation are needed, the policy decides. Either they are saved, or the
    equation is done again and its operands are needed in turn.

    An equation with effects is also done again. The exception is an equation that the policy saves,
    if nothing else in the backward pass needs its operands.

    Returns:
      `(eqns, saved, eqns_again)`: the equations of the jaxpr (where a `jit` or a `scan` has
      something to save inside, it returns that too), the variables saved, and the equations to be
      done again.
    """
    needed = {v for v in wanted if type(v) is not Literal}
    inputs = {*jaxpr.constvars, *jaxpr.invars}
    eqns: list[JaxprEqn] = []
    saved: list[Var] = []
    eqns_again: list[JaxprEqn] = []
    for eqn in reversed(jaxpr.eqns):
        used = [v in needed for v in eqn.outvars]
        if not any(used) and not eqn.effects:
            pass
        elif policy(eqn.primitive, *[v.aval for v in eqn.invars], **eqn.params):
            saved = partition_list(used, eqn.outvars)[1] + saved
            if eqn.effects and not eqn.outvars and all(
                    type(v) is Literal or v in inputs for v in eqn.invars):
                eqns_again.append(eqn)
        else:
            inside: list[Var] = []
            again: JaxprEqn | None = eqn
            if eqn.primitive in choose_inside:
                eqn, inside, again = choose_inside[eqn.primitive](eqn, used, policy)
            saved = inside + saved
            if again is not None:
                eqns_again.append(again)
                needed.update(v for v in again.invars if type(v) is not Literal)
        eqns.append(eqn)
    return eqns[::-1], saved, eqns_again[::-1]


def _choose_in_jit(eqn: JaxprEqn, used: Sequence[bool], policy: Callable):
    """`choose_saved` inside a `jit`."""
    closed = eqn.own_params["jaxpr"]
    inner_of = dict(zip(eqn.outvars, closed.outvars))
    wanted = [inner_of[v] for v in partition_list(used, eqn.outvars)[1]]
    eqns, saved_inside, eqns_again = choose_saved(closed.jaxpr, wanted, policy)
    outer_of = {inner: outer for outer, inner in reversed(inner_of.items())
                if inner in saved_inside}
    more = [v for v in saved_inside if v not in outer_of]
    outer_of.update((v, Var(v.aval)) for v in more)
    saved = [outer_of[v] for v in saved_inside]
    # A variable may be returned twice. It is saved once, and `again` returns it to the other place.
    outvars = [v for v, u in zip(eqn.outvars, used) if u and outer_of.get(inner_of[v]) is not v]
    whole = _jit_eqn(eqn, closed, eqn.invars, [*eqn.outvars, *(outer_of[v] for v in more)],
                     closed.jaxpr.replace(eqns=eqns, outvars=[*closed.outvars, *more]))
    again = _jit_eqn(eqn, closed, [*eqn.invars, *saved], outvars, closed.jaxpr.replace(
        invars=[*closed.invars, *saved_inside], eqns=eqns_again,
        outvars=[inner_of[v] for v in outvars]))
    if not (outvars or again.effects):
        return whole, saved, None
    return whole, saved, dce_rules[jit_p]([True] * len(outvars), again)[1]


def _jit_eqn(eqn, closed, invars, outvars, jaxpr) -> JaxprEqn:
    """The equation `eqn`, for another jaxpr with the same constants."""
    places, n = {v: i for i, v in enumerate(eqn.outvars)}, len(eqn.invars)
    params = calls[jit_p].params(
        eqn.own_params, ClosedJaxpr(jaxpr, closed.consts),
        [*range(n), *[None] * (len(invars) - n)], [*map(places.get, outvars)], shared=True)
    return eqn.replace(invars=invars, outvars=outvars, params=params)


def _choose_in_scan(eqn: JaxprEqn, used: Sequence[bool], policy: Callable):
    """`choose_saved` inside a `scan`. The values saved in each step are stacked: they are one more
    result of the loop, and one more array to loop over when the rest is done again."""
    closed, num_carry = eqn.own_params["jaxpr"], eqn.own_params["num_carry"]
    ys_used = partition_list(used[num_carry:], closed.outvars[num_carry:])[1]
    wanted = [*closed.outvars[:num_carry], *ys_used]
    eqns, saved, eqns_again = choose_saved(closed.jaxpr, wanted, policy)
    if not saved:
        return eqn, [], eqn
    length = eqn.own_params["length"]
    stacked = [Var(v.aval.update(shape=(length, *v.aval.shape))) for v in saved]
    whole = _scan_eqn(eqn, eqn.invars, [*eqn.outvars, *stacked], closed.jaxpr.replace(
        eqns=eqns, outvars=[*closed.outvars, *saved]))
    again = _scan_eqn(eqn, [*eqn.invars, *stacked], eqn.outvars, closed.jaxpr.replace(
        invars=[*closed.invars, *saved], eqns=eqns_again))
    return whole, stacked, dce_rules[scan_p](used, again)[1]


def _scan_eqn(eqn, invars, outvars, jaxpr) -> JaxprEqn:
    """The equation `eqn`, for another body with the same constants."""
    closed = ClosedJaxpr(jaxpr, eqn.own_params["jaxpr"].consts)
    return eqn.replace(invars=invars, outvars=outvars, params=eqn.own_params | {"jaxpr": closed})


def _choose_in_cond(eqn: JaxprEqn, used: Sequence[bool], policy: Callable):
    """`choose_saved` inside each branch. What the branches save shares a place if it has the same
    type; the branch that has nothing for a place returns zeros."""
    branches = eqn.own_params["branches"]
    chosen = [choose_saved(branch.jaxpr, partition_list(used, branch.outvars)[1], policy)
              for branch in branches]
    saved_avals = [[v.aval for v in saved] for _, saved, _ in chosen]
    avals: list = []  # of all places
    for own in saved_avals:
        avals += (Counter(own) - Counter(avals)).elements()
    if not avals:
        return eqn, [], eqn
    places = [_places(own, avals) for own in saved_avals]
    whole = [spread_outputs(_with(branch, eqns=eqns, outvars=[*branch.outvars, *saved]), at,
                            tuple(avals))
             for branch, (eqns, saved, _), at in zip(branches, chosen, places)]
    again = [spread_inputs(_with(branch, eqns=eqns, invars=[*saved, *branch.invars]), at,
                           tuple(avals))
             for branch, (_, saved, eqns), at in zip(branches, chosen, places)]
    outside = [*map(Var, avals)]
    return (eqn.replace(outvars=[*eqn.outvars, *outside],
                        params=eqn.own_params | {"branches": tuple(whole)}),
            outside,
            dce_rules[cond_p](used, eqn.replace(
                invars=[eqn.invars[0], *outside, *eqn.invars[1:]],
                params=eqn.own_params | {"branches": tuple(again)}))[1])


def _places(own: Sequence, avals: Sequence) -> tuple[int, ...]:
    """For each type of `own` a place of that type among `avals`, each place once."""
    free = {aval: iter([i for i, a in enumerate(avals) if a == aval]) for aval in own}
    return tuple(next(free[aval]) for aval in own)


def _with(closed: ClosedJaxpr, **parts) -> ClosedJaxpr:
    return ClosedJaxpr(closed.jaxpr.replace(**parts), closed.consts)


choose_inside[cond_p] = _choose_in_cond
choose_inside[jit_p] = _choose_in_jit
choose_inside[scan_p] = _choose_in_scan
