"""The program as XLA gets it, and as XLA makes of it: each line with the number of its equation."""

import itertools
import re
from collections.abc import Iterator
from typing import Any

from ...core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, jaxpr_as_fun
from ...runtime.jit import jit
from ...runtime.structs import ShapeDtypeStruct
from ...source import SourceInfo

_MARK = re.compile(r"equation(\d+)\b")
_LOCATION = re.compile(r' loc\("[^"]*"\)')
_METADATA = re.compile(r", metadata=\{[^}]*\}")
MOST_LINES = 4000  # of a text


def compiled_texts(closed: ClosedJaxpr) -> dict[str, list[tuple[str, int | None]]]:
    """The lines of the StableHLO module, and of the program that XLA optimised, each with the
    number of the equation that it came from (`Line.number`), if it is known."""
    structs = [ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak_type) for a in closed.in_avals]
    lowered = jit(jaxpr_as_fun(_marked(closed, itertools.count()))).lower(*structs)
    stablehlo = _lines(lowered.as_text(debug_info=True), _LOCATION)
    return {"stablehlo": stablehlo, "xla": _lines(lowered.compile().as_text() or "", _METADATA)}


def _marked(x: Any, numbers: Iterator[int]) -> Any:
    """A jaxpr, or a tuple with some, in which the name stack of each equation has its number."""
    if isinstance(x, ClosedJaxpr):
        return x.replace(jaxpr=_marked(x.jaxpr, numbers))
    if isinstance(x, Jaxpr):
        return x.replace(eqns=[_marked_eqn(eqn, numbers) for eqn in x.eqns])
    if type(x) is tuple:
        return tuple(_marked(item, numbers) for item in x)
    return x


def _marked_eqn(eqn: JaxprEqn, numbers: Iterator[int]) -> JaxprEqn:
    info = eqn.source_info or SourceInfo()
    marked = SourceInfo(info.location, (*info.names, f"equation{next(numbers)}"))
    params = {name: _marked(value, numbers) for name, value in eqn.own_params.items()}
    return eqn.replace(source_info=marked, params=params)


def _lines(text: str, note: re.Pattern) -> list[tuple[str, int | None]]:
    lines = []
    for line in itertools.islice(text.splitlines(), MOST_LINES):
        marks = _MARK.findall(line)
        lines.append((note.sub("", line), int(marks[-1]) if marks else None))
    return lines
