"""Recording: what is written down when a watched function is called.

The hook is `sys.settrace`. Python reports each call to it, and the returns of the calls that it
selects. It selects a few functions by their code (`watched.py`): `process_primitive` of each trace,
the rules in the tables, the function that adds an equation, and the step of the backward pass.
"""

import contextlib
import linecache
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from ...core import forward
from ...core.core import EvalTrace, Trace, state
from ...core.extension import Extension
from ...core.staging import DynamicJaxprTrace
from ..registering import registered
from .boxes import Names, describe, sentence
from .graph import Graph
from .steps import MOST_STEPS, marks, opened_at_first
from .watched import watched_codes

FORMAT = 2  # the version of the format of recordings
PACKAGE = str(Path(__file__).resolve().parents[2])
STANDARD_LIBRARY = str(Path(contextlib.__file__).parent)
MOST_EVENTS = 1500
MOST_ALIKE = 30  # events from the same place, as in a loop, before the rest is folded
MOST_LINES = 30  # of a function that are shown


class Recording:
    """What happened, in order.

    `events` are dicts of plain data: "kind" ("begin", "end", "process", "result", "rule",
    "equation", "transpose", "cotangents", "compile"), "depth", "say" (a sentence), "traces" (the
    current stack, outermost first), "alive" (all traces that have begun and are not over) and what
    else belongs to the kind. "at" is the place in the library, and "user" the number of that in the
    user's code, in `users`. A place is a file, the line that is being executed, and the first and
    last line of its function. "of" is the number of the event that a result belongs to. "sub" marks
    the beginning of a sub-program.
    """

    def __init__(self, title: str):
        self.title = title
        self.events: list[dict[str, Any]] = []
        self.sources: dict[str, dict[int, str]] = {}
        self.left_out: Counter[str] = Counter()
        self.users: list[list] = []  # places in the user's code; numbered by "user"
        self.failures: list[str] = []  # errors of ours, which must not disturb the run
        self.names = Names()
        self.graph = Graph(self.names)

    def as_dict(self) -> dict[str, Any]:
        """The recording as data for JSON."""
        return {"format": FORMAT, "title": self.title, "events": self.events,
                "sources": self.sources, "users": self.users, "notes": self.notes(),
                "open": opened_at_first(self.events), "marks": marks(self.events),
                "most": MOST_STEPS}

    def notes(self) -> list[str]:
        """Sentences about the steps that were left out."""
        notes = [f"{count} more steps like these were left out: {what}"
                 for what, count in self.left_out.items()]
        if self.graph.left_out:
            notes.append(f"{self.graph.left_out} more values are not in the graph.")
        if self.failures:
            notes.append(f"{len(self.failures)} steps could not be recorded: {self.failures[0]}")
        return notes

    def sentences(self) -> list[str]:
        """The recording as a list to read."""
        return [event["say"] for event in self.events] + self.notes()


@contextlib.contextmanager
def record(title: str = "A recorded run") -> Iterator[Recording]:
    """Record what the library does within a `with` block, in this thread.

    >>> with record("a sine") as recording:
    ...     y = jax.numpy.sin(1.0)
    >>> recording.sentences()[-1]
    'EvalTrace gives 0.84147.'
    """
    recording = Recording(title)
    before = sys.gettrace()
    with registered(_AllSteps()):
        sys.settrace(_Recorder(recording).on_call)
        try:
            yield recording
        finally:
            sys.settrace(before)


class _AllSteps(Extension):
    """Operators take no short cut past the functions that are watched."""

    def after_evaluation(self, primitive, args, params, out):
        pass


class _Recorder:
    """The hook, and what it keeps in mind between calls."""

    def __init__(self, recording: Recording):
        self.recording = recording
        self.names, self.graph = recording.names, recording.graph
        self.depth = 0
        self.watched = watched_codes()
        self.numbers: dict[int, int] = {}  # of traces and builders of jaxprs, by id,
        self.numbered: list[Any] = []  # which are kept alive, so that no id comes twice
        self.alive: list[Trace] = []  # the traces that have begun and are not over
        self.subs: dict[int, int] = {}  # sub-programs being traced: their depths, by trace's number
        self.inside: list[str] = []  # the primitives of the calls around this one
        self.backwards = 0  # how many steps of backward passes are around this call
        self.seen: Counter[tuple] = Counter()

    def on_call(self, frame: FrameType, event: str, arg: Any) -> Any:
        """Python calls a function: pass it to its watcher, if it has one."""
        found = self.watched.get(frame.f_code)
        if found is None:
            return None
        name, kind = found
        try:
            return self.rule(frame, kind) if name == "rule" else getattr(self, name)(frame)
        except Exception as error:  # here it would end the program that is watched
            self.recording.failures.append(f"{type(error).__name__}: {error}")
            return None

    @property
    def now(self) -> int:
        """The number of the latest event."""
        return len(self.recording.events) - 1

    # ------------------------------------------------------------------------------------------
    # Watchers: frame -> the local hook, which is told of the frame's return, or None

    def process(self, frame):
        trace, primitive, args = (frame.f_locals[name] for name in _names(frame)[:3])
        boxes = [describe(x, self.names) for x in args]
        said = ", ".join(map(sentence, boxes))
        who = self.name_of(trace)
        verb = "computes" if isinstance(trace, EvalTrace) else "is asked for"
        kept = self.add(frame, "process", f"{who} {verb} {primitive}({said}).", trace=trace,
                        primitive=str(primitive), args=boxes)
        if not (self.subs or self.backwards):
            self.graph.boxes(self.now, args)
        is_sum = self.graph.is_sum(args)
        number = self.now

        def told(out):
            self.result(frame, trace, primitive, out, number)
            self.grow(trace, primitive, args, out, is_sum)

        return self.returning(frame, kept, told, primitive=str(primitive), backwards=is_sum)

    def result(self, frame, trace, primitive, out, number):
        outs = [*out] if primitive.multiple_results else [out]
        boxes = [describe(x, self.names) for x in outs]
        said = ", ".join(map(sentence, boxes))
        self.add(frame, "result", f"{self.name_of(trace)} gives {said}.", trace=trace,
                 primitive=str(primitive), out=boxes, of=number, said=said)

    def grow(self, trace, primitive, args, out, is_sum):
        """Tell the graph of a result."""
        if self.subs:
            return
        if is_sum:
            self.graph.added(self.now, args, out)
        backwards = is_sum or bool(self.backwards)
        if trace.parent is None and (self.alive or not backwards):
            outs = out if primitive.multiple_results else [out]
            self.graph.computed(self.now, primitive, args, outs, backwards)

    def rule(self, frame, kind):
        path, line, *_ = _place(frame)
        name = f"{kind} rule of {self.inside[-1]}" if self.inside else f"{kind} rule"
        kept = self.add(frame, "rule", f"The {name} fires ({path}, line {line}).", rule=name)
        return self.returning(frame, kept, lambda out: None)

    def begin(self, frame):
        trace = frame.f_locals[_names(frame)[0]]

        def born(_):
            is_sub = type(trace) is DynamicJaxprTrace and bool(self.alive or self.depth)
            self.alive.append(trace)
            what = "A sub-program is traced: " if is_sub else ""
            more = {"sub": True} if is_sub else {}
            self.add(frame, "begin", f"{what}{self.name_of(trace)} begins.", trace=trace, **more)
            if is_sub:
                self.subs[self.number(trace)] = self.depth
                self.depth += 1

        return self.returning(frame, True, born, even_none=True)

    def end(self, frame):
        trace = frame.f_locals[_names(frame)[0]]
        self.add(frame, "end", f"{self.name_of(trace)} is over.", trace=trace)
        self.alive = [other for other in self.alive if other is not trace]
        self.depth = self.subs.pop(self.number(trace), self.depth)

    def equation(self, frame):
        builder = frame.f_locals["self"]

        def written(_):
            eqn = builder.eqns[-1]
            text = self.equation_text(eqn)
            self.add(frame, "equation", f"An equation is written down: {text}", equation=text,
                     jaxpr=self.number(builder))
            if not self.subs:
                self.graph.equation(self.now, eqn, builder)

        return self.returning(frame, True, written)

    def transpose(self, frame):
        eqn, cts = frame.f_locals["eqn"], frame.f_locals["cts"]
        text = self.equation_text(eqn)
        boxes = [describe(ct, self.names) for ct in cts if type(ct) is not forward.Zero]
        said = ", ".join(map(sentence, boxes))
        kept = self.add(frame, "transpose", f"Backwards through {text}, with cotangent {said}.",
                        equation=text, args=boxes)
        number = self.now
        if not self.subs:
            self.graph.seed(number, eqn, cts)

        def told(out):
            if self.subs or not isinstance(out, list | tuple):  # an iterator can be read once
                return
            given = self.graph.cotangents(self.now + 1, eqn, out)
            if given:
                said = ", ".join(given)
                self.add(frame, "cotangents", f"The transpose rule gives {said}.", equation=text,
                         of=number, said=said)

        return self.returning(frame, kept, told, primitive=str(eqn.primitive), backwards=True)

    def compile(self, frame):
        kept = self.add(frame, "compile", "XLA's program is written, and compiled.")
        return self.returning(frame, kept, lambda out: None)

    # ------------------------------------------------------------------------------------------

    def returning(self, frame, kept: bool, then: Callable, even_none: bool = False,
                  primitive: str = "", backwards: bool = False):
        """A local hook that calls `then` with the frame's result; until then all is one deeper.

        `None` is what Python reports of a frame that ends by an exception, and is passed over
        unless `even_none`.
        """
        depth = self.depth
        self.depth += 1
        self.backwards += backwards
        if primitive:
            self.inside.append(primitive)
        frame.f_trace_lines = False

        def on_return(frame, event, arg):
            if event == "return":
                self.depth = depth
                self.backwards -= backwards
                if primitive:
                    self.inside.pop()
                if kept and (arg is not None or even_none):
                    try:
                        then(arg)
                    except Exception as error:
                        self.recording.failures.append(f"{type(error).__name__}: {error}")
            return on_return

        return on_return

    def add(self, frame, kind: str, say: str, trace: Trace | None = None, **more) -> bool:
        """Write an event down, unless there were many like it; tells whether it was kept."""
        at, user = self.told_place(frame), _user_place(frame)
        what = f"{kind} {more.get('primitive', '')} from line {user[1] if user else '?'}"
        key = kind, at, user, more.get("primitive")
        self.seen[key] += 1
        if self.seen[key] > MOST_ALIKE or len(self.recording.events) >= MOST_EVENTS:
            self.recording.left_out[" ".join(what.split())] += 1
            return False
        alive = ["EvalTrace", *map(self.name_of, self.alive)]
        event = {"kind": kind, "depth": self.depth, "say": say, "at": at, "alive": alive, **more}
        if user:
            event["user"] = self.user_number([*user])
            self.keep_source(*user)
        event["traces"] = self.stack(trace or state.trace)
        self.recording.events.append(event)
        self.keep_source(*at)
        return True

    def told_place(self, frame: FrameType) -> tuple[str, int, int, int]:
        """The line that is being executed in the innermost rule; else this function's first."""
        caller: FrameType | None = frame
        while caller is not None and caller.f_code.co_filename.startswith(PACKAGE):
            if self.watched.get(caller.f_code, ("", ""))[0] == "rule":
                return _place(caller, caller.f_lineno)
            caller = caller.f_back
        return _place(frame)

    def user_number(self, place: list) -> int:
        """The number of a place in the user's code, among those of the recording."""
        users = self.recording.users
        if place not in users:
            users.append(place)
        return users.index(place)

    def stack(self, trace: Trace | None) -> list[str]:
        """The names of a trace and its parents, the outermost first."""
        if trace is None:
            return []
        return [*self.stack(trace.parent), self.name_of(trace)]

    def name_of(self, trace: Trace) -> str:
        """Its class and a number."""
        if isinstance(trace, EvalTrace):
            return "EvalTrace"
        return f"{type(trace).__name__} {self.number(trace)}"

    def number(self, x: Any) -> int:
        """The number of a trace, or of the builder of a jaxpr, in the order they are met."""
        if id(x) not in self.numbers:
            self.numbered.append(x)
            self.numbers[id(x)] = len(self.numbered)
        return self.numbers[id(x)]

    def equation_text(self, eqn) -> str:
        """An equation as jaxprs print it, without its parameters' details."""
        names = self.names
        outs = " ".join(f"{names[v]}:{v.aval.str_short(short_dtypes=True)}" for v in eqn.outvars)
        return f"{outs} = {eqn.primitive} {' '.join(names[v] for v in eqn.invars)}".strip()

    def keep_source(self, path: str, line: int, first: int, last: int) -> None:
        """Remember the lines of the function that the event happened in."""
        lines = self.recording.sources.setdefault(path, {})
        full = str(Path(PACKAGE, path)) if Path(PACKAGE, path).is_file() else path
        for number in range(first, last + 1):
            lines[number] = linecache.getline(full, number).rstrip("\n")


# ----------------------------------------------------------------------------------------------
# Places in the source


def _names(frame: FrameType) -> tuple[str, ...]:
    return frame.f_code.co_varnames


def _place(frame: FrameType, line: int | None = None) -> tuple[str, int, int, int]:
    """File and line, and the function's first and last, as `core/forward.py`, 232, 232, 233."""
    code = frame.f_code
    path = code.co_filename.removeprefix(PACKAGE).lstrip("/\\")
    if not code.co_filename.startswith(PACKAGE):
        path = code.co_filename
    first = code.co_firstlineno
    line = line or first
    if code.co_name == "<module>":
        first = line
    if code.co_name == "<lambda>":
        first = _statement(code.co_filename, first)
    last = max((n for *_, n in code.co_lines() if n), default=line)
    if last - first > MOST_LINES:
        first = max(first, line - MOST_LINES // 2)
    return path, line, first, max(line, min(last, first + MOST_LINES))


def _statement(file: str, line: int) -> int:
    """The first line of the statement or function that a line is in, if it is near."""
    for n in range(line, max(0, line - 8), -1):
        text = linecache.getline(file, n)
        if text.strip() and not text[0].isspace() and text[0] not in ")]}":
            return n
    return line


def _user_place(frame: FrameType | None) -> tuple[str, int, int, int] | None:
    """The line that is being executed in the nearest function outside the library."""
    inside = (PACKAGE, STANDARD_LIBRARY, "<frozen")
    while frame is not None and frame.f_code.co_filename.startswith(inside):
        frame = frame.f_back
    return None if frame is None else _place(frame, frame.f_lineno)
