"""Recording: which functions are watched, and what is written down when they are called.

The hook is `sys.settrace`. Python reports each call to it, and the returns of the calls that it
selects. It selects a few functions by their code: `process_primitive` of each trace, the rules in
the tables, the function that adds an equation, and the step of the backward pass.
"""

from __future__ import annotations

import contextlib
import functools
import linecache
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

from ...core import batching as batching
from ...core import forward, lowering, staging, transposition
from ...core.core import EvalTrace, Trace
from ...core.partial_eval import partial_eval_rules
from .boxes import Names, describe, sentence

FORMAT = 1  # the version of the format of recordings
PACKAGE = str(Path(__file__).resolve().parents[2])
STANDARD_LIBRARY = str(Path(contextlib.__file__).parent)
MOST_EVENTS = 1500
MOST_ALIKE = 30  # events from the same place, as in a loop, before the rest is folded


class Recording:
    """What happened, in order.

    `events` are dicts of plain data: "kind" ("begin", "end", "process", "result", "rule",
    "equation", "transpose", "compile"), "depth", "traces" (the stack, outermost first), "say" (a
    sentence) and what else belongs to the kind; "at" is the place in the library, "user" the
    number of that in the user's code, in `users`.
    """

    def __init__(self, title: str):
        self.title = title
        self.events: list[dict[str, Any]] = []
        self.sources: dict[str, dict[int, str]] = {}
        self.left_out: Counter[str] = Counter()
        self.users: list[list] = []  # places in the user's code, with the lines; numbered by "user"

    def as_dict(self) -> dict[str, Any]:
        """The recording as data for JSON."""
        return {"format": FORMAT, "title": self.title, "events": self.events,
                "sources": self.sources, "users": self.users, "notes": self.notes()}

    def notes(self) -> list[str]:
        """Sentences about the steps that were left out."""
        return [f"{count} more steps like these were left out: {what}"
                for what, count in self.left_out.items()]

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
    sys.settrace(_Recorder(recording).on_call)
    try:
        yield recording
    finally:
        sys.settrace(before)


class _Recorder:
    """The hook, and what it keeps in mind between calls."""

    def __init__(self, recording: Recording):
        self.recording = recording
        self.names = Names()
        self.depth = 0
        self.watched = _watched_codes()
        self.numbers: dict[int, int] = {}  # of traces and builders of jaxprs, by id,
        self.numbered: list[Any] = []  # which are kept alive, so that no id comes twice
        self.seen: Counter[tuple] = Counter()

    def on_call(self, frame: FrameType, event: str, arg: Any) -> Any:
        """Python calls a function: pass it to its watcher, if it has one."""
        watcher = self.watched.get(frame.f_code)
        return watcher(self, frame) if watcher else None

    # ------------------------------------------------------------------------------------------
    # Watchers: (recorder, frame) -> what is to be told of the frame's return, or None

    def process(self, frame):
        trace, primitive, args = (frame.f_locals[name] for name in _names(frame)[:3])
        boxes = [describe(x, self.names) for x in args]
        said = ", ".join(map(sentence, boxes))
        who = self.name_of(trace)
        verb = "computes" if isinstance(trace, EvalTrace) else "is asked for"
        kept = self.add(frame, "process", f"{who} {verb} {primitive}({said}).", trace=trace,
                        primitive=str(primitive), args=boxes)
        return self.returning(frame, kept, lambda out: self.result(frame, trace, primitive, out))

    def result(self, frame, trace, primitive, out):
        boxes = [describe(x, self.names) for x in (out if primitive.multiple_results else [out])]
        said = ", ".join(map(sentence, boxes))
        self.add(frame, "result", f"{self.name_of(trace)} gives {said}.", trace=trace,
                 primitive=str(primitive), out=boxes)

    def rule(self, frame):
        path, line = _place(frame)
        kept = self.add(frame, "rule", f"The rule in {path}, line {line}, fires.")
        return self.returning(frame, kept, lambda out: None)

    def begin(self, frame):
        trace = frame.f_locals[_names(frame)[0]]

        def born(_):
            self.add(frame, "begin", f"{self.name_of(trace)} begins.", trace=trace)

        return self.returning(frame, True, born, even_none=True)

    def end(self, frame):
        trace = frame.f_locals[_names(frame)[0]]
        self.add(frame, "end", f"{self.name_of(trace)} is over.", trace=trace)

    def equation(self, frame):
        builder = frame.f_locals["self"]

        def written(_):
            text = self.equation_text(builder.eqns[-1])
            self.add(frame, "equation", f"An equation is written down: {text}", equation=text,
                     jaxpr=self.number(builder))

        return self.returning(frame, True, written)

    def transpose(self, frame):
        eqn, cts = frame.f_locals["eqn"], frame.f_locals["cts"]
        text = self.equation_text(eqn)
        cts = [describe(ct, self.names) for ct in cts if type(ct) is not forward.Zero]
        said = ", ".join(map(sentence, cts))
        kept = self.add(frame, "transpose", f"Backwards through {text}, with cotangent {said}.",
                        equation=text, args=cts)
        return self.returning(frame, kept, lambda out: None)

    def compile(self, frame):
        kept = self.add(frame, "compile", "XLA's program is written, and compiled.")
        return self.returning(frame, kept, lambda out: None)

    # ------------------------------------------------------------------------------------------

    def returning(self, frame, kept: bool, then: Callable, even_none: bool = False):
        """A local hook that calls `then` with the frame's result; until then all is one deeper.

        `None` is what Python reports of a frame that ends by an exception, and is passed over
        unless `even_none`.
        """
        self.depth += 1
        frame.f_trace_lines = False

        def on_return(frame, event, arg):
            if event == "return":
                self.depth -= 1
                if kept and (arg is not None or even_none):
                    then(arg)
            return on_return

        return on_return

    def add(self, frame, kind: str, say: str, trace: Trace | None = None, **more) -> bool:
        """Write an event down, unless there were many like it; tells whether it was kept."""
        at, user = _place(frame), _user_place(frame)
        what = f"{kind} {more.get('primitive', '')} from line {user[1] if user else '?'}"
        key = kind, at, user, more.get("primitive")
        self.seen[key] += 1
        if self.seen[key] > MOST_ALIKE or len(self.recording.events) >= MOST_EVENTS:
            self.recording.left_out[" ".join(what.split())] += 1
            return False
        event = {"kind": kind, "depth": self.depth, "say": say, "at": at, **more}
        if user:
            event["user"] = self.user_number([*user, linecache.getline(*user).strip()])
        if trace is not None:
            event["traces"] = self.stack(trace)
        self.recording.events.append(event)
        self.keep_source(frame)
        return True

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

    def keep_source(self, frame) -> None:
        """Remember the lines of the function that the event happened in."""
        path, line = _place(frame)
        lines = self.recording.sources.setdefault(path, {})
        code = frame.f_code
        last = max((n for *_, n in code.co_lines() if n), default=line)
        for number in range(code.co_firstlineno, min(last, code.co_firstlineno + 30) + 1):
            lines[number] = linecache.getline(code.co_filename, number).rstrip("\n")


# ----------------------------------------------------------------------------------------------
# Which functions are watched


def _watched_codes() -> dict[CodeType, Callable]:
    watched: dict[CodeType, Callable] = {}
    for table in _rule_tables():
        for rule in table.values():
            watched.update((code, _Recorder.rule) for code in _codes(rule))
    for trace_type in _subclasses(Trace):
        if "process_primitive" in vars(trace_type):
            watched[trace_type.process_primitive.__code__] = _Recorder.process
        if "__init__" in vars(trace_type) and trace_type is not Trace:
            watched[trace_type.__init__.__code__] = _Recorder.begin  # type: ignore[misc]
    watched[Trace.invalidate.__code__] = _Recorder.end
    watched[staging.JaxprBuilder.add_eqn.__code__] = _Recorder.equation
    watched[transposition._transpose_eqn.__code__] = _Recorder.transpose
    watched[lowering.lower_jaxpr.__code__] = _Recorder.compile
    return watched


def _rule_tables() -> list[dict]:
    return [forward.primitive_jvps, batching.primitive_batchers,
            transposition.primitive_transposes, partial_eval_rules]


def _subclasses(cls: Any) -> Iterator[Any]:
    for subclass in cls.__subclasses__():
        yield subclass
        yield from _subclasses(subclass)


def _codes(rule: Any) -> list[CodeType]:
    """The code that an author of rules wrote: not of `defjvp`'s wrapper, but of what it wraps."""
    if isinstance(rule, tuple | list):
        return [code for part in rule for code in _codes(part)]
    if isinstance(rule, functools.partial):
        return _codes(rule.args) or _codes(rule.func)
    if not isinstance(rule, FunctionType) or ".primitives." in rule.__module__:
        return []  # an operation, not a rule
    wrapped = [cell.cell_contents for cell in rule.__closure__ or ()]
    return _codes([*wrapped, *(rule.__kwdefaults__ or {}).values()]) or [rule.__code__]


def _names(frame: FrameType) -> tuple[str, ...]:
    return frame.f_code.co_varnames


def _place(frame: FrameType) -> tuple[str, int]:
    """File and line of a function of the library, as `forward.py`, 108."""
    code = frame.f_code
    return code.co_filename.removeprefix(PACKAGE).lstrip("/\\"), code.co_firstlineno


def _user_place(frame: FrameType | None) -> tuple[str, int] | None:
    """File and line of the nearest frame outside the library."""
    inside = (PACKAGE, STANDARD_LIBRARY, "<frozen")
    while frame is not None and frame.f_code.co_filename.startswith(inside):
        frame = frame.f_back
    return None if frame is None else (frame.f_code.co_filename, frame.f_lineno)
