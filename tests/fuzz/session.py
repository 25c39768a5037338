"""A session: programs one after the other, findings written down once each."""

from __future__ import annotations

import ast
import hashlib
import json
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from tests.fuzz.alone import check_compiled, check_history
from tests.fuzz.compare import (
    NAN_IN_JAX,
    Doubled,
    Mismatch,
    Timeout,
    attempt,
    compare,
    is_rounding,
    limited,
    namespace,
    rewritten,
    run,
    without_nan,
)
from tests.fuzz.generate import Program, Unusable, Writer
from tests.fuzz.known import is_fault, known
from tests.fuzz.laws import check_law, law_of
from tests.fuzz.shrink import shrink
from tests.fuzz.staged import jitted, run_staged, stage

JOINING = re.compile(r"lax\.(scan|fori_loop|while_loop|map|cond|switch)\(")  # they join types
RUN_BY_JAX = 0.01  # the share of programs that JAX runs in any case
ALONE = {"compiled": (check_compiled, 0.02), "history": (check_history, 0.02)}  # and their shares


class Session:
    """Runs programs and keeps count."""

    def __init__(self, folder: Path, laws: bool = False) -> None:
        self.folder = folder
        self.laws = laws
        self.running = ""  # the program at work, for the watchdog
        self.counts: Counter[str] = Counter()
        self.seen: set[str] = set()
        folder.mkdir(parents=True, exist_ok=True)
        for path in folder.glob("*.json"):
            self.seen.update(json.loads(path.read_text())["keys"])

    def programs(self, seed: str) -> None:
        """Write and run the programs of a seed."""
        x64 = random.Random(f"x64 {seed}").random() < 0.1
        writing = Writing(self, seed, x64)
        programs: list[Program] = []
        with self.limited():
            programs = writing.writer.programs()
        for text, kind in writing.candidates:
            self.found(text, kind, seed, x64)
        for program in programs:
            self.counts["programs"] += 1
            self.counts["statements"] += len(program.body)
            self.running = program.text
            with self.limited():
                if self.laws:
                    self.check_law(program)
                else:
                    self.check(program)
                    self.check_alone(program)

    @contextmanager
    def limited(self) -> Iterator[None]:
        """Give up after some time, or where a program cannot be written; count that."""
        try:
            with limited():
                yield
        except Unusable:
            self.counts["empty"] += 1
        except Timeout:
            self.counts["timeouts"] += 1

    def check(self, program: Program) -> None:
        """Compare a whole program: its result by JAX's jaxpr, or if that differs, by JAX itself.

        Half of the programs are staged here as well, as one jaxpr; the others run as they are,
        without compilation.
        """
        text, x64 = program.text, program.x64
        pick = random.Random(f"kind {program.seed}").random()
        if pick < RUN_BY_JAX or "eval_shape" in text:
            self.counts["values of JAX"] += 1
            self.ask_jax(program, text, partial(difference, x64=x64))
            return
        staged = pick < 0.5
        theirs = run_staged("jax", text, x64)
        refused = isinstance(theirs, Exception)  # perhaps only because it is staged
        ours = (run_staged("minijax", text, x64) if staged or refused
                else run("minijax", text, x64, disable_jit=True))
        if compare(ours, theirs) is None:
            self.counts["both refuse" if refused else "jaxprs of JAX"] += 1
            return
        self.counts["values of JAX, after the jaxpr"] += 1
        if staged or refused:
            self.ask_jax(program, jitted(text), partial(difference, x64=x64))
        elif not self.ask_jax(program, text, partial(difference, x64=x64)):
            self.ask_jax(program, text, partial(difference, x64=x64, disable_jit=True))

    def check_alone(self, program: Program) -> None:
        """Ask minijax alone about some of the programs."""
        for name, (check, share) in ALONE.items():
            if random.Random(f"{name} {program.seed}").random() < share:
                self.counts[name] += 1
                self.ask_jax(program, program.text, partial(check, x64=program.x64))

    def ask_jax(self, program: Program, text: str, ask: Callable[[str], Mismatch | None]) -> bool:
        """Run a program in JAX itself, or alone; whether our result differs."""
        mismatch = ask(text)
        if mismatch is not None:
            self.found(text, mismatch, program.seed, program.x64, ask)
        return mismatch is not None

    def check_law(self, program: Program) -> None:
        """Run a law on a program, in double precision."""
        chosen = law_of(program)
        if chosen is None:
            self.counts["no law"] += 1
            return
        name, text = chosen
        text = rewritten(text, Doubled())
        mismatch = check_law(name, text)
        self.counts["laws"] += 1
        if mismatch is not None:
            self.found(text, mismatch, program.seed, True, partial(check_law, name))

    def found(self, text: str, mismatch: Mismatch, seed: str, x64: bool,
              ask: Callable[[str], Mismatch | None] | None = None) -> None:
        """Shrink a failing program and write it down, unless it is declared or its like is known."""
        self.counts["mismatches"] += 1
        if known(text, mismatch) is not None:
            self.counts["declared"] += 1
            return
        ask = ask or partial(difference, x64=x64)
        rough = f"{seed} " if "def f(" in text else key_of(text, mismatch)
        if rough in self.seen:
            return

        def fails(candidate: str) -> bool:
            try:
                with limited(10):
                    again = ask(candidate)
            except Timeout:
                return False
            return again is not None and again.signature == mismatch.signature

        if not fails(text):
            self.counts["not repeated"] += 1
            self.counts["faults"] += is_fault(mismatch)
            self.write(text, text, mismatch, seed, x64, [f"unrepeated {mismatch.signature}"])
            return
        head, mark, tail = text.partition("args = ")  # of a law, only the program may shrink
        seconds = 15 if is_fault(mismatch) else 3
        small = shrink(head, lambda text: fails(f"{text}\n{mark}{tail}"), seconds) + f"\n{mark}{tail}"
        final = ask(small) or mismatch
        key = key_of(small, final)
        again = key in self.seen or known(small, final) is not None
        self.seen |= {rough, key}
        if not again:
            self.counts["distinct"] += 1
            self.counts["faults"] += is_fault(mismatch)
            self.write(text, small, final, seed, x64, [rough, key])

    def write(self, text: str, small: str, mismatch: Mismatch, seed: str, x64: bool,
              keys: list[str]) -> None:
        """One file for each finding."""
        name = hashlib.sha1(keys[-1].encode()).hexdigest()[:10]
        record = {"keys": keys, "seed": seed, "x64": x64, "mismatch": str(mismatch), "program": small,
                  "original": text, "time": time.time()}
        self.seen.update(keys)
        (self.folder / f"{name}.json").write_text(json.dumps(record, indent=1))
        word = "fault" if is_fault(mismatch) else "to look at"
        print(f"--- {name}  {word}  seed {seed}  x64={x64}\n{small}\n{mismatch}\n", flush=True)


def key_of(text: str, mismatch: Mismatch) -> str:
    """What makes a fault the same as another: what differs, and the functions involved."""
    if "\n" in text and "def f(" not in text:
        text = text.strip().splitlines()[-2] if "result = " in text.splitlines()[-1] else text
    names = sorted({n for n in re.findall(r"[a-z_A-Z][\w.]*(?=\()", text)
                    if not re.match(r"(jnp\.(array|asarray|zeros|float32)|f\d?|g\d+|h\d+|total)$", n)})
    return f"{mismatch.signature} {' '.join(names)}"


def judge(text: str, ours: Any, theirs: Any, x64: bool) -> Mismatch | None:
    """The difference between two results, unless it is rounding."""
    mismatch = compare(ours, theirs)
    if mismatch is not None and any(name in text for name in NAN_IN_JAX):
        mismatch = compare(without_nan(ours, theirs), theirs)
    if mismatch is not None and mismatch.kind == "value" and is_rounding(text, ours, theirs, x64):
        return None
    return mismatch


def difference(text: str, x64: bool, disable_jit: bool = False) -> Mismatch | None:
    """Run a program in both libraries. Without `jit`, minijax may accept what JAX refuses, return
    numbers as they are, keep the weak type of what a branch or a loop's step gives, and refuse what
    JAX refuses without `jit`."""
    try:
        ast.parse(text)
    except SyntaxError:
        return None
    theirs = run("jax", text, x64)
    if isinstance(theirs, Exception if disable_jit else (NameError, SyntaxError, UnboundLocalError)):
        return None
    mismatch = judge(text, run("minijax", text, x64, disable_jit), theirs, x64)
    if disable_jit and mismatch is not None and (
            mismatch.kind == "class" or (mismatch.kind == "weak type" and JOINING.search(text))
            or (mismatch.kind == "error" and isinstance(run("jax", text, x64, True), Exception))):
        return None
    return mismatch


class Writing:
    """Runs a writer's statements, and asks JAX about those that minijax refuses."""

    def __init__(self, session: Session, seed: str, x64: bool) -> None:
        self.session, self.x64 = session, x64
        self.values = namespace("minijax")
        self.lines: list[str] = []
        self.candidates: list[tuple[str, Mismatch]] = []
        self.writer = Writer(seed, self.values, self.execute, x64)

    def execute(self, name: str, line: str, top: bool) -> bool:
        """Run a statement, which may be one of the program's own (`top`); whether it ran."""
        value = attempt("minijax", line, self.values, name, self.x64, disable_jit=True)
        if not isinstance(value, Exception):
            if top:
                self.lines.append(line)
            return True
        self.session.counts["refused statements"] += 1
        if top and not self.session.laws and not line.startswith("def "):
            self.ask_jax("\n".join([*self.lines, line, f"result = {name}"]) + "\n", value)
        return False

    def ask_jax(self, text: str, error: Exception) -> None:
        """JAX must refuse what minijax has refused."""
        if compare(error, stage("jax", text, self.x64)) is not None:
            mismatch = difference(text, self.x64)
            if mismatch is not None:
                self.candidates.append((text, mismatch))
