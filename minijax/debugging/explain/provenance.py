"""Where each equation of a program came from: the user's expression, and the rules on the way.

While a function is traced within `recording()`, `sys.settrace` reports each new equation. The
frames around it say everything: the user's expression that is being executed, the rules that are
running, and the older equation that is interpreted or transposed. So the engine keeps no notes, and
an ordinary call costs nothing.
"""

import contextlib
import itertools
import sys
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any, NamedTuple

from ... import settings
from ...core import jaxpr as jaxprs, staging, transposition
from ...core.core import Primitive
from ...source import is_user_file
from ..theatre.watched import watched_codes

# A part of the key of every cache of traces. Each recording has a value of its own, so that it sees
# everything being traced.
_number = settings.State("", None, int, "")
settings.add_traced(_number)
_numbers = itertools.count(1)


class Place(NamedTuple):
    """An instruction of a function: `code` and the offset in it, as `SourceInfo` has them."""

    code: CodeType
    lasti: int

    @property
    def positions(self) -> tuple[int, int, int, int]:
        """First line, last line, first column, last column of the expression."""
        found = next(itertools.islice(self.code.co_positions(), self.lasti // 2, None))
        line, end_line, column, end_column = (0 if n is None else n for n in found)
        return line, end_line or line, column, end_column


class Rule(NamedTuple):
    """A rule that made an equation from another one: its kind, of which primitive, and where."""

    kind: str  # "jvp", "batching", "transpose" or "partial evaluation"
    primitive: str
    place: Place


class Origin(NamedTuple):
    """Where an equation came from.

    `place` is the user's expression; `family` a number that all equations share which one execution
    of it made; `rules` made the equation of what the user wrote, the first one first. `library` is
    an expression of an installed library that the user's expression has called, if any.
    """

    place: Place | None
    family: int
    rules: tuple[Rule, ...] = ()
    library: Place | None = None


class Provenance:
    """The origins of equations that were made within `recording()`."""

    def __init__(self) -> None:
        self._origins: dict[int, tuple[Any, Origin]] = {}  # by id of the `SourceInfo`, kept alive

    def __setitem__(self, eqn: Any, origin: Origin) -> None:
        self._origins[id(eqn.source_info)] = eqn.source_info, origin

    def __contains__(self, eqn: Any) -> bool:
        return id(eqn.source_info) in self._origins

    def __getitem__(self, eqn: Any) -> Origin:
        """The origin of an equation, or of one that was replaced by this."""
        info = eqn.source_info
        if eqn in self:
            return self._origins[id(info)][1]
        location = info and info.location
        return Origin(location and Place(*location), -id(info))


@contextlib.contextmanager
def recording() -> Iterator[Provenance]:
    """Note the origin of each equation that this thread makes within the `with` block.

    >>> with recording() as origins:
    ...     closed = jax.make_jaxpr(jax.grad(lambda x: jax.numpy.sin(x)))(1.0)
    >>> [[rule.kind for rule in origins[eqn].rules] for eqn in closed.eqns]
    [[], ['jvp'], ['jvp', 'transpose']]
    """
    watcher = _Watcher()
    before = sys.gettrace()
    with _number(next(_numbers)):
        sys.settrace(watcher.on_call)
        try:
            yield watcher.provenance
        finally:
            sys.settrace(before)


_ADDED = staging.JaxprBuilder.add_eqn.__code__


class _Watcher:
    """The hook."""

    def __init__(self) -> None:
        self.provenance = Provenance()
        self.outside = sys._getframe(3)  # whoever entered `recording()`
        self.watched = watched_codes()
        self.executions: dict[int, int] = {}  # by id of the frame that a user's expression called
        self.count = itertools.count(1)

    def on_call(self, frame: FrameType, event: str, arg: Any) -> Any:
        """Python calls a function."""
        outside = frame.f_back
        if outside is not None and is_user_file(outside.f_code.co_filename):
            self.executions[id(frame)] = next(self.count)  # an older frame with this id is gone
        if frame.f_code is not _ADDED:
            return None
        frame.f_trace_lines = False
        return self.on_return

    def on_return(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "return" and arg is not None:
            self.provenance[frame.f_locals["self"].eqns[-1]] = self.origin(frame)
        return self.on_return

    def origin(self, frame: FrameType) -> Origin:
        """What the frames around say, from the innermost to the outermost."""
        rules: list[tuple[str, Place]] = []  # the innermost first; their primitive is still unknown
        found: list[Rule] = []  # the outermost first
        user = library = None  # (place, family)
        inner, at = frame, frame.f_back
        while at is not None and at is not self.outside:
            code = at.f_code
            eqn = at.f_locals.get("eqn") if code in _MADE_OF_EQUATION else None
            if eqn is not None and eqn in self.provenance:
                if code is _BACKWARDS:
                    rules.append(("transpose", Place(inner.f_code, inner.f_lasti)))
                older = self.provenance[eqn]
                found = [*older.rules, *_outermost(rules, eqn.primitive), *found]
                user = user or (older.place, older.family)
                library = library or (older.library and (older.library, 0))
                break
            name, kind = self.watched.get(code, ("", ""))
            if name == "rule":
                rules.append((kind, Place(code, at.f_lasti)))
            elif name == "process" and rules:
                found = [*_outermost(rules, at.f_locals[code.co_varnames[1]]), *found]
                rules = []
            if user is None and is_user_file(code.co_filename):
                here = Place(code, at.f_lasti), self.executions.get(id(inner), 0)
                if "-packages" not in code.co_filename:
                    user = here
                elif library is None:
                    library = here
            inner, at = at, at.f_back
        place, family = user or library or (None, 0)
        return Origin(place, family, tuple(found), library[0] if user and library else None)


# The functions in whose frames `eqn` is the equation that is interpreted, or transposed.
_BACKWARDS = transposition.backward_pass.__code__
_MADE_OF_EQUATION = {_BACKWARDS, transposition._transpose_eqn.__code__,
                     transposition._linear_eqns.__code__, jaxprs._eval_eqn.__code__}


def _outermost(rules: list[tuple[str, Place]], primitive: Primitive) -> list[Rule]:
    """The rule that an interpreter called; the others helped it."""
    return [Rule(kind, str(primitive), place) for kind, place in rules[-1:]]
