"""Chapter 15: a breakpoint in a compiled program, where the user looks at its variables."""

import cmd
import inspect
import pprint
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import IO, Any

from ..core.boundary import api_boundary
from ..core.core import Tracer
from ..core.primitives import stop_gradient_p
from ..core.tree import tree_flatten, tree_map
from ..text.locations import is_user_frame
from .callbacks import debug_callback_p, debug_effect, ordered_debug_effect, pure_callback


@dataclass(frozen=True)
class Frame:
    """A function that was running when the breakpoint was traced, and its variables."""

    filename: str
    lineno: int
    lines: tuple[str, ...]  # its source
    offset: int | None  # which of them it was at
    variables: dict[str, Any]


def _frame(frame, lineno: int) -> Frame:
    try:
        lines, first = inspect.getsourcelines(frame)
    except OSError:  # typed in at a prompt
        lines, first = [], 1
    offset = lineno - max(first, 1)
    variables = dict(frame.f_locals)
    known = 0 <= offset < len(lines)
    source = tuple(line.rstrip("\n") for line in lines) if known else ()
    return Frame(frame.f_code.co_filename, lineno, source, offset if known else None, variables)


def _user_frames(filter_frames: bool, num_frames: int | None) -> list[Frame]:
    """The frames around the breakpoint, the innermost first."""
    stack = [info for info in inspect.stack() if info.frame.f_globals.get("__name__") != __name__]
    return [_frame(info.frame, info.lineno) for info in stack
            if not filter_frames or is_user_frame(info.frame)][:num_frames]


def _traced_variables(frames: Sequence[Frame]) -> tuple[list, Callable]:
    """The tracers among all variables, and a function that puts values into their places."""
    flat = []
    for frame in frames:
        for name, value in frame.variables.items():
            try:
                leaves, tree = tree_flatten(value)
            except Exception:  # such as a dict with keys that cannot be sorted
                leaves, tree = [], None
            if any(isinstance(x, Tracer) for x in leaves):
                flat.append((frame, name, leaves, tree))

    def fill(values):
        rest = iter(values)
        filled = {id(frame): dict(frame.variables) for frame in frames}
        for frame, name, leaves, tree in flat:
            known = [next(rest) if isinstance(x, Tracer) else x for x in leaves]
            filled[id(frame)][name] = tree.unflatten(known)
        return [Frame(f.filename, f.lineno, f.lines, f.offset, filled[id(f)]) for f in frames]

    return [x for _, _, leaves, _ in flat for x in leaves if isinstance(x, Tracer)], fill


_one_at_a_time = threading.RLock()


@api_boundary
def breakpoint(*, backend: str | None = None, filter_frames: bool = True,
               num_frames: int | None = None, ordered: bool = False, token: Any = None,
               stdin: IO[str] | None = None, stdout: IO[str] | None = None) -> Any:
    """Stop when a program gets here, and let the user look around (`help` lists the commands).

    Args:
      backend: accepted for JAX's sake; there is one debugger, "cli".
      filter_frames: leave out minijax's own frames.
      num_frames: how many frames to show at most.
      ordered: whether it stops in the order of the program.
      token: a pytree of arrays; it stops as soon as they are computed. Mutually exclusive with
        `ordered`.
      stdin, stdout: files to talk to, by default those of the process.

    Returns:
      `token`, which the program has to use, or it will not stop; `None` without one.

    Raises:
      ValueError: `ordered` and `token` are both given.

    >>> import io
    >>> f = jax.jit(lambda x: jax.debug.breakpoint(stdin=io.StringIO("p 2 * x\\nc\\n")))
    >>> f(1.0)
    Entering jdb:
    (jdb) Array(2., dtype=float32)
    (jdb)
    """
    if token is not None and ordered:
        raise ValueError("`ordered` and `token` are mutually exclusive arguments.")
    frames = _user_frames(filter_frames, num_frames)
    tracers, fill = _traced_variables(frames)

    def stop(*values):
        with _one_at_a_time:
            Debugger(fill(values), stdin, stdout).run()
        return ()

    if token is None:
        effect = ordered_debug_effect if ordered else debug_effect
        debug_callback_p.bind(*tracers, callback=stop, effect=effect, partitioned=False)
        return None

    def stop_with_token(token, *values):
        stop(*values)
        return token

    token, tracers = tree_map(stop_gradient_p.bind, (token, tracers))
    return pure_callback(stop_with_token, token, token, *tracers)


class Debugger(cmd.Cmd):
    """The command line at a breakpoint. An input that is not a command is evaluated as Python."""

    prompt = "(jdb) "
    intro = "Entering jdb:"

    def __init__(self, frames: list[Frame], stdin: IO[str] | None, stdout: IO[str] | None):
        super().__init__(stdin=stdin, stdout=stdout or sys.stdout)
        self.use_rawinput = stdin is None
        self.frames, self.index = frames, 0

    def run(self) -> None:
        """Talk until the user has enough."""
        while True:
            try:
                return self.cmdloop()
            except KeyboardInterrupt:
                self.say("--KeyboardInterrupt--")

    def say(self, text: str) -> None:
        self.stdout.write(text + "\n")

    def emptyline(self):
        return False

    def show(self, expression: str, as_text: Callable) -> None:
        try:
            self.say(as_text(eval(expression, {}, self.frames[self.index].variables)))
        except Exception as error:
            self.say(f"*** {type(error).__name__}: {error}")

    def default(self, line):
        """Evaluate an expression."""
        self.show(line, repr)

    def do_p(self, argument):
        """p EXPRESSION: evaluate it, and print its value."""
        self.show(argument, repr)

    def do_pp(self, argument):
        """pp EXPRESSION: the same on as many lines as it takes."""
        self.show(argument, pprint.pformat)

    def _go_to(self, index, refusal):
        if 0 <= index < len(self.frames):
            self.index = index
        else:
            self.say(refusal)
        self.show_lines(2)

    def do_up(self, argument):
        """u(p): go to the function that called this one."""
        self._go_to(self.index + 1, "At topmost frame.")

    def do_down(self, argument):
        """d(own): go to the function that this one called."""
        self._go_to(self.index - 1, "At bottommost frame.")

    def show_lines(self, radius: int) -> None:
        frame = self.frames[self.index]
        self.say(f"> {frame.filename}({frame.lineno})")
        for i, line in enumerate(frame.lines):
            if frame.offset is not None and abs(i - frame.offset) <= radius:
                self.say(f"{'->' if i == frame.offset else '  '}  {line}")

    def do_list(self, argument):
        """l(ist): the lines around this one."""
        self.show_lines(5)

    def do_where(self, argument):
        """w(here), bt: the functions that are running, the innermost last."""
        self.say("Traceback:")
        for frame in reversed(self.frames):
            self.say(f'  File "{frame.filename}", line {frame.lineno}')
            line = "<no source>" if frame.offset is None else frame.lines[frame.offset].strip()
            self.say(f"    {line}")

    def do_continue(self, argument):
        """c(ont(inue)): go on with the program."""
        return True

    def do_quit(self, argument):
        """q(uit), exit: end the process."""
        sys.exit(0)

    do_u, do_d, do_l, do_w, do_bt = do_up, do_down, do_list, do_where, do_where
    do_c = do_cont = do_continue
    do_q = do_exit = do_EOF = do_quit
