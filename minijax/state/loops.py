"""Chapter 15: from a loop over references to one that carries their contents.

    discharge (loop(ref, carry))   =   pure_loop(ref's contents, carry)

A loop carries the contents of the references that it writes to. Those of the others are constants.

The counterparts in JAX are the discharge rules in `jax/_src/lax/control_flow/loops.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..core.core import typeof
from ..core.jaxpr import ClosedJaxpr, jaxpr_as_fun
from ..core.staging import jaxpr_of, weakref_cache
from ..core.util import split_list
from ..lax.control_flow.scan import scan_p
from ..lax.control_flow.while_loop import while_p
from .discharge import discharge, discharge_rules, is_ref_type, written_operands
from .primitives import inner_type
from .refs import is_write

Places = tuple  # for each operand: its number among the carried contents, or `None`


class Held(NamedTuple):
    """The contents that a loop carries, and where they are among the operands `values`."""

    contents: list
    places: Places
    values: Sequence

    @property
    def constants(self) -> list:
        """The operands that are not carried."""
        return [x for x, place in zip(self.values, self.places) if place is None]

    def part(self, start: int, stop: int) -> Held:
        """The same for some of the operands."""
        return Held(self.contents, self.places[start:stop], self.values[start:stop])

    def new_contents(self, is_ref: Sequence[bool], contents: Sequence) -> list:
        """The contents of all references at the end, from those that were carried."""
        return [x if place is None else contents[place]
                for x, place, ref in zip(self.values, self.places, is_ref) if ref]


def _held(is_ref, values, written) -> Held:
    """Contents that are one object are those of one reference."""
    numbers: dict[int, int] = {}
    contents: list = []
    for x, ref, is_written in zip(values, is_ref, written):
        if ref and is_written and id(x) not in numbers:
            numbers[id(x)] = len(contents)
            contents.append(x)
    places = tuple(numbers.get(id(x)) if ref else None for x, ref in zip(values, is_ref))
    return Held(contents, places, values)


def _run(jaxpr: ClosedJaxpr, places: Places, constants, contents, rest) -> tuple[list, list, list]:
    """The results of a jaxpr, the new contents, and those of the references among `rest`."""
    left = iter(constants)
    values = [next(left) if place is None else contents[place] for place in places]
    outs = jaxpr_as_fun(discharge(jaxpr))(*values, *rest)
    outs, of_refs = split_list(outs, [len(jaxpr.out_avals)])
    new, contents = iter(of_refs), [*contents]
    for aval, place in zip(jaxpr.in_avals, places):
        if is_ref_type(aval):
            x = next(new)
            if place is not None:
                contents[place] = x
    return outs, contents, [*new]


def _constant_avals(jaxpr, places) -> list:
    return [inner_type(aval) for aval, place in zip(jaxpr.in_avals, places) if place is None]


# ----------------------------------------------------------------------------------------------
# scan


def _discharge_scan(is_ref, values, params):
    """What a scan runs over may be references: the new contents of each row are a result."""
    jaxpr, n_consts = params["jaxpr"], params["num_consts"]
    held = _held(is_ref, values, written_operands(params, len(values))).part(0, n_consts)
    body = _scan_body(jaxpr, held.places, tuple(map(typeof, held.contents)))
    changes = {"jaxpr": body, "num_consts": len(held.constants),
               "num_carry": params["num_carry"] + len(held.contents)}
    outs = scan_p.bind(*held.constants, *held.contents, *values[n_consts:], **params | changes)
    contents, outs, rows = split_list(outs, [len(held.contents), len(jaxpr.out_avals)])
    return outs, held.new_contents(is_ref, contents) + rows


@weakref_cache
def _scan_body(jaxpr: ClosedJaxpr, places: Places, contents_avals: tuple) -> ClosedJaxpr:
    n_consts, n_contents = places.count(None), len(contents_avals)

    def body(*args):
        consts, contents, rest = split_list(args, [n_consts, n_contents])
        outs, contents, rows = _run(jaxpr, places, consts, contents, rest)
        return contents + outs + rows

    avals = [*_constant_avals(jaxpr, places), *contents_avals,
             *map(inner_type, jaxpr.in_avals[len(places):])]
    return jaxpr_of(body, avals, jaxpr.jaxpr.debug_info)


# ----------------------------------------------------------------------------------------------
# while


def condition_writes(params: dict) -> bool:
    """Whether the condition of a loop changes a reference."""
    return any(map(is_write, params["cond_jaxpr"].effects))


def _discharge_while(is_ref, values, params):
    """The condition and the body see what the other writes.

    A condition cannot return contents. So if it writes, the body ends with the condition for the
    next round, and the loop carries whether there is one.
    """
    cond, body = params["cond_jaxpr"], params["body_jaxpr"]
    n_cond, n_consts = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
    carry = values[n_consts:]
    held = _held(is_ref, values, written_operands(params, len(values))).part(0, n_consts)
    of_cond, of_body = held.part(0, n_cond), held.part(n_cond, n_consts)
    avals = tuple(map(typeof, held.contents))
    if condition_writes(params):
        (again,), contents, _ = _run(cond, of_cond.places, of_cond.constants, held.contents, carry)
        both = _body_and_condition(body, cond, of_body.places, of_cond.places, avals)
        pure = {"cond_jaxpr": _carried_condition(cond, (*avals, *map(typeof, carry))),
                "cond_nconsts": 0, "body_jaxpr": both, "body_nconsts": len(held.constants)}
        _, *outs = while_p.bind(*held.constants, again, *contents, *carry, **pure)
    else:
        pure = {"cond_jaxpr": _while_condition(cond, of_cond.places, avals),
                "cond_nconsts": len(of_cond.constants),
                "body_jaxpr": _scan_body(body, of_body.places, avals),
                "body_nconsts": len(of_body.constants)}
        outs = while_p.bind(*held.constants, *held.contents, *carry, **pure)
    contents, outs = split_list(outs, [len(held.contents)])
    return outs, held.new_contents(is_ref, contents)


@weakref_cache
def _while_condition(cond: ClosedJaxpr, places: Places, contents_avals: tuple) -> ClosedJaxpr:
    """The condition of a loop that carries contents."""
    n_consts, n_contents = places.count(None), len(contents_avals)

    def new_cond(*args):
        consts, contents, carry = split_list(args, [n_consts, n_contents])
        return _run(cond, places, consts, contents, carry)[0]

    avals = [*_constant_avals(cond, places), *contents_avals, *cond.in_avals[len(places):]]
    return jaxpr_of(new_cond, avals, cond.jaxpr.debug_info)


@weakref_cache
def _carried_condition(cond: ClosedJaxpr, carry_avals: tuple) -> ClosedJaxpr:
    """The condition of a loop that carries whether there is another round."""
    return jaxpr_of(lambda again, *_: [again], [*cond.out_avals, *carry_avals],
                    cond.jaxpr.debug_info)


@weakref_cache
def _body_and_condition(body: ClosedJaxpr, cond: ClosedJaxpr, body_places: Places,
                        cond_places: Places, contents_avals: tuple) -> ClosedJaxpr:
    """The body of such a loop."""
    n_cond, n_body = cond_places.count(None), body_places.count(None)

    def body_and_condition(*args):
        cond_consts, body_consts, _, contents, carry = split_list(
            args, [n_cond, n_body, 1, len(contents_avals)])
        carry, contents, _ = _run(body, body_places, body_consts, contents, carry)
        again, contents, _ = _run(cond, cond_places, cond_consts, contents, carry)
        return again + contents + carry

    avals = [*_constant_avals(cond, cond_places), *_constant_avals(body, body_places),
             *cond.out_avals, *contents_avals, *body.in_avals[len(body_places):]]
    return jaxpr_of(body_and_condition, avals, body.jaxpr.debug_info)


discharge_rules.update({scan_p: _discharge_scan, while_p: _discharge_while})
