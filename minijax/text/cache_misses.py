"""Chapter 6: why was a function traced again? `jit(f).explain_misses()` says it, and a log does if
`explain_cache_misses` is on.

A jitted function is traced once for each signature. Where that happens more often than expected,
both tell what has not been seen before: the function, the structure of its arguments, a type,
a static argument or a setting.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..settings import contexts, traced_settings
from ..source import fun_sourceinfo
from .differences import Structure, treedef_differences

if TYPE_CHECKING:
    from ..core.core import ShapedArray
    from ..core.tree import PyTreeDef

_WEAK_TYPES = "https://docs.jax.dev/en/latest/type_promotion.html#weak-types"


class _Signature(NamedTuple):
    """The parts of a key under which `jit` keeps a trace."""

    in_tree: PyTreeDef
    context: int
    statics: tuple
    axes: tuple
    in_avals: tuple[ShapedArray, ...]


class Misses(list):
    """For each time that a function was traced, why: a list of texts, which prints itself."""

    def __str__(self) -> str:
        if not self:
            return "It has not been traced."
        return "\n".join(f"{number}. {text}" for number, text in enumerate(self, 1))

    __repr__ = __str__


def misses(fun: Callable, keys: Sequence[tuple], names: Callable, structure: Structure) -> Misses:
    """Why `fun` was traced for each of these keys, in order; `names(in_tree, statics)` are the
    names of the arguments."""
    told = Misses()
    for i, key in enumerate(keys):
        in_tree, _, statics, *_ = key
        differences = _closest(key, keys[:i], lambda: names(in_tree, statics), structure)
        types = ", ".join(aval.str_short(True) for aval in _signature(key).in_avals)
        told.append("\n".join([f"({types}): it differs from the closest earlier call by",
                               *differences] if i else [f"({types}): the first call"]))
    return told


def reasons(fun: Callable, key: tuple, seen: Mapping[tuple, Any], names: Callable,
            structure: Structure) -> list[str]:
    """The lines of a log that say why `fun` has to be traced for a key, although `seen` has traces
    for others."""
    place = fun_sourceinfo(fun).replace(" at ", " defined at ", 1)
    if not seen:
        return _never_seen(fun, place)
    return [f"  for {place}",
            "  all previously seen cache keys differ. For the closest previous key:",
            *_closest(key, [*seen], names, structure)]


def _closest(key: tuple, seen: Sequence[tuple], names: Callable, structure: Structure) -> list[str]:
    """What tells a key apart from the one of the others that is most like it."""
    new = _signature(key)
    differences = [[*_differences(names, structure, new, _signature(old))]
                   for old in reversed(seen)]
    return min(differences, key=len, default=[])


def _signature(key: tuple) -> _Signature:
    in_tree, context, statics, axes, *in_avals = key
    return _Signature(in_tree, context, statics, axes, tuple(in_avals))


_seen_places: set[str] = set()


def _never_seen(fun: Callable, place: str) -> list[str]:
    name, defined, where = place.partition(" defined at ")
    lines = ["  never seen function:", f"    {name} id={id(fun)}{defined}{where}"]
    if place in _seen_places:
        lines += ["  but seen another function defined on the same line; maybe the function is",
                  "  being re-defined repeatedly, preventing caching?"]
    _seen_places.add(place)
    return lines


def _differences(names: Callable, structure: Structure, new: _Signature, old: _Signature
                 ) -> Iterator[str]:
    """The lines that tell two signatures apart."""
    for title, lines in (
            ("different input pytree:", _of_trees(new.in_tree, old.in_tree, structure)),
            ("different static arguments:", _of_statics(new.statics, old.statics)),
            ("different input types:", _of_types(names, new, old)),
            ("different named axes:", _of_axes(new.axes, old.axes)),
            ("Tracing context doesn't match, e.g. due to config or context manager.",
             _context_differences(new.context, old.context))):
        found = [f"  * {line}" for line in lines]
        if found:
            yield from (f"  {title}", *found)


def _context_differences(new: int, old: int) -> Iterator[str]:
    """What tells apart the settings of two answers of `trace_context`."""
    values_of = {number: values for values, number in contexts.items()}
    if not {new, old} <= values_of.keys():
        yield "a rule has changed since, or the caches were cleared"
        return
    values = itertools.zip_longest(traced_settings, values_of[new], values_of[old])
    for state, now, before in values:
        if now != before:
            yield f"{state.name or 'a context'} differs: now {now} and before {before}"


def _of_trees(new: PyTreeDef, old: PyTreeDef, structure: Structure) -> Iterator[str]:
    for path, now, before, why in treedef_differences(new, old, structure, strict=True):
        place = "".join(map(str, path))
        yield f"at input path {place}, now {now} and before {before}, so {why}"


def _of_statics(new: tuple, old: tuple) -> Iterator[str]:
    now, before = _by_place(new), _by_place(old)
    for place in {**now, **before}:
        words = [repr(values[place]) if place in values else "absent" for values in (now, before)]
        if words[0] != words[1]:
            yield "at {!r}, now {} and before {}".format(place, *words)


def _by_place(statics: tuple) -> dict:
    return {place: value for place, value, _ in statics}


def _of_types(names: Callable, new: _Signature, old: _Signature) -> Iterator[str]:
    if new.in_tree != old.in_tree:
        return
    for name, now, before in zip(names(), new.in_avals, old.in_avals):
        if now != before:
            yield f"at {name}, " + _two_types(now, before)


def _two_types(now: ShapedArray, before: ShapedArray) -> str:
    if now.weak_type == before.weak_type:
        return f"now {now.str_short(True)} and before {before.str_short(True)}"
    new, old = (f"{aval.str_short(True)}{{weak_type={aval.weak_type}}}" for aval in (now, before))
    return f"now {new} and before {old}; see {_WEAK_TYPES}"


def _of_axes(new: tuple, old: tuple) -> Iterator[str]:
    if new != old:
        yield f"now {dict(new)} and before {dict(old)}"
