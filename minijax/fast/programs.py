"""A jaxpr as a Python function without branches, one call a line.

For `f(x, n) = where(x > n, x, 0) / n` of an array and a number it reads, with the names of types
and values filled in:

    def run(x0, n):
        x1, = of_numbers[n]
        x2 = greater(x0, x1)
        x0 = where(x2, x0, zeros)
        x0 = divide(x0, x1)
        out = new(Array)
        out.aval, out._host, out._buffer = aval, x0, None
        return out

What depends on numbers alone is remembered for the next call with these numbers. A name is given to
a new value when the old one is not needed any more, so that its memory is free for the next ones.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from ..core.array import Array, contents, numpy_rules, quiet
from ..core.jaxpr import Atom, ClosedJaxpr, JaxprEqn, Literal
from ..core.primitives import stop_gradient_p
from .evaluation import NARROW, is_on_numpy
from .specialised import composed, index_of, numpy_rule

_MOST_NUMBERS = 64  # so many values of its numbers a program remembers


class _Step(NamedTuple):
    """A line of the function, as names and text. `small` says whether its results are."""

    targets: list[str]
    compute: str
    operands: list[str]
    params: str = ""
    multiple: bool = False
    small: bool = False
    brackets: str = "()"

    def text(self) -> str:
        results = f"[{', '.join(self.targets)}]" if self.multiple else self.targets[0]
        call = f"{self.brackets[0]}{', '.join(self.operands)}{self.params}{self.brackets[1]}"
        return f"{results} = {self.compute}{call}"


class _Writer:
    """Writes down the equations of a jaxpr; `python_function` describes the options."""

    def __init__(self, operation: Callable, constant: Callable, fold: bool):
        self.operation, self.constant, self.fold = operation, constant, fold
        self.scope: dict[str, Any] = {"Array": Array, "new": object.__new__}
        self.steps: list[_Step] = []
        self._numbers = itertools.count()
        self._names: dict[Any, str] = {}  # of variables and, by type and bits, of literals
        # an operation and its operands -> the names of its results
        self._computed: dict[Any, list[str]] = {}
        self._views: dict[str, tuple[str, tuple]] = {}  # a view -> of what, at which index

    def known(self, x: Any) -> str:
        """A name for a value that the function is to know."""
        self.scope[new := f"c{len(self.scope)}"] = x
        return new

    def name(self, atom: Atom) -> str:
        if type(atom) is Literal:
            same = atom.aval, np.asarray(atom.val).tobytes()
            if same not in self._names:
                self._names[same] = self.known(self.constant(atom.val))
            return self._names[same]
        if atom not in self._names:
            self._names[atom] = f"x{next(self._numbers)}"
        return self._names[atom]

    def names(self, atoms: Iterable[Atom]) -> list[str]:
        return [self.name(atom) for atom in atoms]

    def equations(self, closed: ClosedJaxpr) -> None:
        self.scope |= zip(self.names(closed.constvars), map(self.constant, closed.consts))
        for eqn in closed.eqns:
            called = eqn.own_params.get("call_jaxpr") if self.fold else None
            if type(called) is ClosedJaxpr:
                self._call(eqn, called)
            elif self.fold and eqn.primitive is stop_gradient_p:
                self._names[eqn.outvars[0]] = self.name(eqn.invars[0])
            else:
                self._equation(eqn, self.names(eqn.invars))

    def _call(self, eqn: JaxprEqn, called: ClosedJaxpr) -> None:
        """The equations of a function with a derivative of its own."""
        outside, operands = self._names, self.names(eqn.invars)
        self._names = dict(zip(called.invars, operands))  # another call has the same variables
        self.equations(called)
        results = self.names(called.outvars)
        self._names = outside
        self._names.update(zip(eqn.outvars, results))

    def _equation(self, eqn: JaxprEqn, operands: list[str]) -> None:
        compute, params = self.operation(eqn)
        outvars, multiple = eqn.outvars, eqn.primitive.multiple_results
        small = all(v.aval.size <= 1024 for v in outvars)
        if self.fold and (same := _operation_key(eqn, operands)) is not None:
            if same in self._computed:
                self._names.update(zip(outvars, self._computed[same]))
                return
            self._computed[same] = self.names(outvars)
        results = self.names(outvars)
        if self.fold and small and all(x in self.scope for x in operands):
            outs = compute(*[self.scope[x] for x in operands], **params)
            self.scope |= zip(results, map(as_operand, outs if multiple else [outs]))
            return
        if type(compute) is itemgetter:
            compute, operands = self._view(compute, operands[0], results[0])
        elif type(compute) is np.ufunc and self.fold:
            operands = self._aligned(eqn, operands)
        text = "".join(f", {key}={self.known(x)}" for key, x in params.items())
        self.steps.append(
            _Step(results, self.known(compute), operands, text, multiple, small))

    def _aligned(self, eqn: JaxprEqn, operands: list[str]) -> list[str]:
        """The operands, those of one element without dimensions: NumPy takes half the time."""
        ndim = eqn.outvars[0].aval.ndim
        if eqn.outvars[0].aval.size == 1:
            return operands
        return [self._element(x, ndim) if v.aval.size == 1 and v.aval.ndim == ndim else x
                for x, v in zip(operands, eqn.invars)]

    def _element(self, operand: str, ndim: int) -> str:
        """A name for the one element of an array."""
        if ("element", operand) not in self._computed:
            result, compute = f"x{next(self._numbers)}", itemgetter((0,) * ndim + (...,))
            self._computed["element", operand] = [result]
            if operand in self.scope:
                self.scope[result] = compute(self.scope[operand])
            else:
                self.steps.append(_Step([result], self.known(compute), [operand], small=True))
        return self._computed["element", operand][0]

    def _view(self, compute: itemgetter, operand: str, result: str) -> tuple[itemgetter, list[str]]:
        """A view of a view, as one of what is behind both."""
        index = index_of(compute)
        if operand in self._views:
            behind, first = self._views[operand]
            if (both := composed(first, index)) is not None:
                operand, index, compute = behind, both, itemgetter(both)
        self._views[result] = operand, index
        return compute, [operand]

    def keep_dimensions(self, results: list[str]) -> None:
        """Let a reduction keep the dimensions, with size 1, where only a view with them is used."""
        uses = Counter([*results, *itertools.chain(*[step.operands for step in self.steps])])
        views = {step.operands[0]: step for step in self.steps
                 if type(self.scope[step.compute]) is itemgetter and uses[step.operands[0]] == 1}
        gone = []
        for i, step in enumerate(self.steps):
            rule, view = self.scope[step.compute], views.get(step.targets[0])
            if view and getattr(rule, "keeps", None) == index_of(self.scope[view.compute]):
                self.steps[i] = step._replace(targets=view.targets, compute=self.known(rule.kept))
                gone.append(view)
        self.steps = [step for step in self.steps if step not in gone]

    def numbers_first(self, numbers: list[str], results: list[str]) -> None:
        """Put what follows from these arguments alone into one step, which remembers it."""
        follow = {*numbers}
        first: list[_Step] = []
        rest: list[_Step] = []
        for step in self.steps:
            of_numbers = step.small and not follow.isdisjoint(step.operands) and all(
                x in follow or x in self.scope for x in step.operands)
            (first if of_numbers else rest).append(step)
            follow.update(step.targets if of_numbers else ())
        needed = {*results}.union(*[step.operands for step in rest])
        targets = [x for step in first for x in step.targets if x in needed]
        lines = [*map(_Step.text, first), f"return ({''.join(x + ', ' for x in targets)})"]
        table = self.known(_Remembered(self.function(numbers, lines)))
        self.steps = [_Step(targets, table, numbers, multiple=True, brackets="[]"), *rest]

    def function(self, arguments: Sequence[str], lines: Sequence[str]) -> Callable:
        """The function of these lines, with a scope of its own."""
        scope = self.scope.copy()
        text = "\n    ".join([f"def run({', '.join(arguments)}):", *lines])
        # With a file of this package, equations get the line of the user's that calls the function.
        exec(compile(text, __file__, "exec"), scope)
        return scope["run"]


class _Remembered(dict):
    """The results of a function of numbers, by the numbers."""

    def __init__(self, function: Callable):
        super().__init__()
        self.function = function

    def __missing__(self, numbers: Any) -> tuple:
        args = numbers if type(numbers) is tuple else (numbers,)
        results = tuple(map(as_operand, self.function(*args)))
        # 0.0 and -0.0 are equal, and so are complex numbers with such parts
        if all(type(n) is int or type(n) is bool or type(n) is float and n and n == n
               for n in args):
            if len(self) >= _MOST_NUMBERS:
                self.clear()
            self[numbers] = results
        return results


def _operation_key(eqn: JaxprEqn, operands: Sequence[str]) -> Any:
    """What two equations with equal results have in common; `None` if that cannot be told."""
    key = eqn.primitive, *operands, *eqn.own_params.items()
    if any(type(x) is float and x == 0 for x in eqn.own_params.values()):  # 0.0 and -0.0 are equal
        return None
    try:
        hash(key)
    except TypeError:
        return None
    return key


def _needed(steps: Sequence[_Step], results: list[str]) -> list[_Step]:
    """The steps whose results are used."""
    used, needed = {*results}, []
    for step in reversed(steps):
        if not used.isdisjoint(step.targets):
            used.update(step.operands)
            needed.append(step)
    return needed[::-1]


def _names_reused(steps: Sequence[_Step], constants: Collection[str],
                  results: list[str]) -> tuple[list[_Step], list[str]]:
    """The steps and the names of the results, where new values take the names of old ones."""
    last = {x: i for i, step in enumerate(steps) for x in step.operands}
    last |= dict.fromkeys(results, len(steps))
    taken: dict[str, str] = {}  # the name that a value has got
    free: list[str] = []
    renamed = []
    for i, step in enumerate(steps):
        operands = [taken.get(x, x) for x in step.operands]
        free += dict.fromkeys(taken.get(x, x) for x in step.operands
                              if last[x] == i and x not in constants)
        for x in step.targets:
            taken[x] = free.pop() if free else x
        free += [taken[x] for x in step.targets if x not in last]
        targets = [taken[x] for x in step.targets]
        renamed.append(step._replace(targets=targets, operands=operands))
    return renamed, [taken.get(x, x) for x in results]


def only(results: Sequence) -> Any:
    """The one result."""
    return results[0]


def python_function(closed: ClosedJaxpr, operation: Callable, constant: Callable = lambda x: x,
                    fold: bool = False, casts: Sequence = (),
                    result: Callable | None = None) -> Callable:
    """The jaxpr as a Python function of its arguments that returns a tuple.

    Args:
      operation: `operation(eqn)` computes the results from operands and parameters.
      constant: `constant(x)` is what the operations take for a constant of the jaxpr.
      fold: whether to compute at once what is small and does not depend on the arguments, only
        once what is computed twice, and never what is not used.
      casts: for each argument that is a number the function that converts it, `None` for others.
      result: makes something else of the results, of which it gets one `Array` each.
    """
    writer = _Writer(operation, constant, fold)
    arguments = writer.names(closed.invars)
    numbers = []
    for i, cast in enumerate(casts):
        if cast:
            numbers.append(f"n{i}")
            writer.steps.append(
                _Step([arguments[i]], writer.known(cast), [f"n{i}"], small=True))
            arguments[i] = f"n{i}"
    writer.equations(closed)
    results = writer.names(closed.outvars)
    if fold:
        writer.steps = _needed(writer.steps, results)
        writer.keep_dimensions(results)
    if numbers:
        writer.numbers_first(numbers, results)
    steps, results = _names_reused(writer.steps, writer.scope, results)
    lines = [*map(_Step.text, steps)]
    avals = [writer.known(v.aval) for v in closed.outvars]
    if result is None:
        lines.append(f"return ({''.join(x + ', ' for x in results)})")
    else:
        arrays = [f"a{i}" for i in range(len(results))]
        for array, x, aval in zip(arrays, results, avals):
            lines += [f"{array} = new(Array)",
                      f"{array}.aval, {array}._host, {array}._buffer = {aval}, {x}, None"]
        listed = f"[{', '.join(arrays)}]"
        lines.append(f"return {arrays[0]}" if result is only else f"return {listed}"
                     if result is list else f"return {writer.known(result)}({listed})")
    return writer.function(arguments, lines)


# ----------------------------------------------------------------------------------------------
# Functions of NumPy values


def numpy_operation(eqn: JaxprEqn) -> tuple[Callable, dict]:
    """The NumPy rule of an equation's primitive and its parameters.

    Raises:
      NotImplementedError: the primitive is not evaluated on NumPy.
    """
    narrow = any(v.aval.dtype in NARROW for v in eqn.outvars)
    if narrow or not is_on_numpy(eqn.primitive, [v.aval for v in eqn.invars]):
        raise NotImplementedError(eqn.primitive)
    rule = numpy_rule(eqn)
    return (numpy_rules[eqn.primitive], eqn.own_params) if rule is None else (rule, {})


def numpy_constant(x: Any) -> Any:
    """What NumPy takes for a constant of a jaxpr."""
    return as_operand(contents(x)[1])


def as_operand(value: Any) -> Any:
    """A NumPy scalar as an array, which NumPy reads in half the time beside other arrays."""
    return np.asarray(value) if isinstance(value, np.generic) else value


def numpy_function(closed: ClosedJaxpr, casts: Sequence = (),
                   result: Callable | None = None) -> Callable:
    """`python_function` of NumPy values."""
    return quiet.run(
        python_function, closed, numpy_operation, numpy_constant, True, casts, result)


def by_binding(closed: ClosedJaxpr) -> Callable:
    """The jaxpr as a Python function that binds the primitives."""
    return python_function(closed, lambda eqn: (eqn.primitive.bind, eqn.own_params))
