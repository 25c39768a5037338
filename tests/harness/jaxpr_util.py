"""What `jax._src.jaxpr_util` says of a jaxpr: which equations it has, and how many of a kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from minijax.core.jaxpr import DropVar, Jaxpr, JaxprEqn, Literal, Var, jaxprs_in_params


def all_eqns(jaxpr: Jaxpr, revisit_inner_jaxprs: bool = True) -> Iterator[tuple[Jaxpr, JaxprEqn]]:
    """The equations of a jaxpr, then those of the jaxprs in them, each with its jaxpr.

    If `revisit_inner_jaxprs` is false, a jaxpr that occurs more than once counts once.
    """
    seen: set[int] | None = None if revisit_inner_jaxprs else set()
    return _all_eqns(jaxpr, seen)


def _all_eqns(jaxpr, seen):
    for eqn in jaxpr.eqns:
        yield jaxpr, eqn
    for eqn in jaxpr.eqns:
        for inner in jaxprs_in_params(eqn.own_params):
            if seen is None or id(inner) not in seen:
                if seen is not None:
                    seen.add(id(inner))
                yield from _all_eqns(inner, seen)


def count_eqns(jaxpr: Jaxpr, revisit_inner_jaxprs: bool = True) -> int:
    """How many equations there are."""
    return sum(1 for _ in all_eqns(jaxpr, revisit_inner_jaxprs))


def collect_eqns(jaxpr: Jaxpr, key: Callable) -> dict:
    """The equations by what `key(eqn)` says of them."""
    found: dict = {}
    for _, eqn in all_eqns(jaxpr):
        found.setdefault(key(eqn), []).append(eqn)
    return found


def histogram(jaxpr: Jaxpr, key: Callable, key_fmt: Callable = lambda x: x) -> dict:
    """How many equations there are for each `key_fmt(key(eqn))`."""
    counts = Counter(key(eqn) for _, eqn in all_eqns(jaxpr))
    return {key_fmt(k): number for k, number in counts.items()}


def primitives(jaxpr: Jaxpr) -> dict[str, int]:
    """How often each primitive is applied."""
    return histogram(jaxpr, lambda eqn: eqn.primitive.name)


def primitives_by_source(jaxpr: Jaxpr) -> dict[str, int]:
    """How often each line of a program applies each primitive: `add @ file.py:3:4 (f)`."""
    def key(eqn):
        return eqn.primitive.name, str(eqn.source_info)

    return histogram(jaxpr, key, " @ ".join)


def primitives_by_shape(jaxpr: Jaxpr) -> dict[str, int]:
    """How often each primitive has results of each type: `add :: float32[3]`."""
    def key(eqn):
        types = ("*" if isinstance(v, DropVar) else v.aval.str_short() for v in eqn.outvars)
        return eqn.primitive.name, " ".join(types)

    return histogram(jaxpr, key, " :: ".join)


def source_locations(jaxpr: Jaxpr) -> dict[str, int]:
    """How many equations come from each line of a program."""
    return histogram(jaxpr, lambda eqn: str(eqn.source_info))


def var_defs_and_refs(jaxpr: Jaxpr) -> Any:
    """A jaxpr with a list of its variables: each with the equation that computes it (`None` for an
    argument), and those that read it (`None` if the jaxpr returns it).

    If there are jaxprs in the jaxpr, the answer is a list of such pairs, the outermost first.
    """
    definitions: dict[Var, JaxprEqn | None] = dict.fromkeys([*jaxpr.constvars, *jaxpr.invars])
    readers: dict[Var, list[JaxprEqn | None]] = {v: [] for v in definitions}
    for eqn in jaxpr.eqns:
        _read(readers, eqn.invars, eqn)
        for v in eqn.outvars:
            if not isinstance(v, DropVar):
                definitions[v], readers[v] = eqn, []
    _read(readers, jaxpr.outvars, None)
    own = jaxpr, [(v, eqn, readers[v]) for v, eqn in definitions.items()]
    inner = [var_defs_and_refs(j) for eqn in jaxpr.eqns for j in jaxprs_in_params(eqn.own_params)]
    return [own, *inner] if inner else own


def _read(readers, atoms, eqn):
    for atom in atoms:
        if not isinstance(atom, Literal):
            readers[atom].append(eqn)
