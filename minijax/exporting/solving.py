"""Chapter 16: the values of the variables in the shapes of arguments.

A variable is known from the first size in which it is the only unknown, and a factor of one term:
from f32[a + 2*b, a] first `a` is known, then `b`. An exported module computes the values in the
same way as the caller who checks the shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..checks.tree import keystr
from ..core.core import ShapedArray
from ..core.tree import PyTreeDef, tree_flatten
from ..errors import InconclusiveDimensionOperation
from .dimensions import Dim, evaluate, variables

# Sizes that are not known, each with the number of its argument, and the dimension.
Places = list[tuple[Any, int, int]]


class Source(NamedTuple):
    """Where a variable is read: `size`, in a dimension of an argument, is factor * variable + rest.

    The rest depends on variables that are known before.
    """

    argument: int
    dimension: int
    size: Dim
    factor: int
    rest: Any


def argument_name(path: Sequence) -> str:
    """A place in the pair (args, kwargs): `args[0]['w']`."""
    which = ("args", "kwargs")[path[0].idx] if path else "the pair (args, kwargs)"
    return which + keystr(tuple(path[1:]))


def leaf_name(tree: PyTreeDef, number: int) -> str:
    """An argument, by its number among the leaves of (args, kwargs)."""
    from ..pytree import tree_leaves_with_path

    paths = tree_leaves_with_path(tree.unflatten(range(tree.num_leaves)))
    return argument_name(paths[number][0])


def check_scopes(places: Places, name: Callable[[int], str],
                 when: str = "") -> None:
    """Raise `ValueError` unless all sizes are of one scope. `name` names an argument."""
    for size, i, _ in places:
        first, j, _ = places[0]
        if size.scope is not first.scope:
            first.check_same_scope(size, when, f" (from {name(j)})", f" ({name(i)})")


def check_scopes_of_arguments(args: tuple, kwargs: dict, when: str) -> None:
    """The same for the shapes of the arguments of a function that is about to be exported."""
    leaves, tree = tree_flatten((args, kwargs))
    places = [(size, i, d) for i, x in enumerate(leaves)
              for d, size in enumerate(getattr(x, "shape", ())) if isinstance(size, Dim)]
    check_scopes(places, lambda i: leaf_name(tree, i), when)


class ArgumentShapes:
    """The types of the arguments of an exported function, whose pytree is that of (args, kwargs).

    Raises:
      ValueError: the value of a variable does not follow from the sizes; or scopes are mixed.
    """

    def __init__(self, avals: Sequence[ShapedArray], tree: PyTreeDef):
        self.avals, self.tree = avals, tree
        self.places: Places = [(size, i, d) for i, aval in enumerate(avals)
                               for d, size in enumerate(aval.shape) if isinstance(size, Dim)]
        check_scopes(self.places, lambda i: leaf_name(tree, i))
        self.sources = self._find_sources()

    def _find_sources(self) -> dict[str, Source]:
        sources: dict[str, Source] = {}
        pending: Places = self.places
        before: Places = []
        while pending != before:
            before, pending = pending, []
            for size, i, d in before:
                unknown = variables(size) - sources.keys()
                source = _source(size, i, d, *unknown) if len(unknown) == 1 else None
                if source is not None:
                    sources[min(unknown)] = source
                elif unknown:
                    pending.append((size, i, d))
        if pending:
            unknown = set().union(*(variables(size) for size, *_ in pending)) - sources.keys()
            rest = ", ".join(f"'{size!s}' for dimension size {self.size_name(i, d)}"
                             for size, i, d in pending)
            raise ValueError(
                f"Cannot solve for values of dimension variables {unknown}. We can only solve "
                f"linear uni-variate constraints. {self.specifications()} Unprocessed "
                f"specifications: {rest}. Name each variable in a size that depends on no other.")
        return sources

    def size_name(self, number: int, dimension: int) -> str:
        """A size, as messages call it."""
        return f"{leaf_name(self.tree, number)}.shape[{dimension}]"

    def specifications(self) -> str:
        """The shapes that are not known."""
        shapes = dict.fromkeys(i for _, i, _ in self.places)
        texts = [f"{leaf_name(self.tree, i)}.shape = {self.avals[i].shape}" for i in shapes]
        return f"Using the following polymorphic shapes specifications: {','.join(texts)}."

    def solve(self, avals: Sequence[ShapedArray]) -> dict[str, Any]:
        """The values of the variables, for arguments of these types.

        Raises:
          ValueError: the shapes of the arguments contradict each other.
        """
        values: dict[str, Any] = {}
        for name, (i, d, _, factor, rest) in self.sources.items():
            found = avals[i].shape[d]
            value, left = divmod(found - evaluate(rest, values), factor)
            if left != 0:
                raise self._error(f"Division had remainder {left!s} when computing the value of "
                                  f"'{name}'", values, avals)
            values[name] = value
            if not _is_at_least(value, 1):
                raise self._error(f"Expected value >= 1 for dimension variable '{name}'", values,
                                  avals)
        for size, i, d in self.places:
            if (wanted := evaluate(size, values)) != (found := avals[i].shape[d]):
                raise self._error(
                    f"Found inconsistency between dimension size {self.size_name(i, d)} "
                    f"(= {found!s}) and the specification '{size!s}' (= {wanted!s})", values, avals)
        self._check_constraints(values, avals)
        return values

    def _check_constraints(self, values, avals):
        """The constraints of the scope hold for these values."""
        scope = self.places[0][0].scope if self.places else None
        for text, e in scope.differences if scope else ():
            if not variables(e) <= values.keys():
                continue
            found = evaluate(e, values)
            if found != 0 if "==" in text else not _is_at_least(found, 0):
                what = "equal" if "==" in text else "greater or equal"
                raise self._error(f"Expected '{e!s}' to be {what} to 0, but found "
                                  f"{evaluate(e, values)!s}", values, avals,
                                  f"symbolic shape constraint {text}")

    def _error(self, what: str, values: Mapping[str, Any], avals: Sequence[ShapedArray],
               contradicted: str = "polymorphic shapes specification") -> ValueError:
        obtained = "".join(self._origin(name, value, avals) for name, value in values.items())
        return ValueError(f"Input shapes do not match the {contradicted}. {what}. "
                          f"{self.specifications()} Obtained dimension variables: {obtained}. Call "
                          "the function with arrays of these shapes.")

    def _origin(self, name, value, avals):
        i, d, size, *_ = self.sources[name]
        return (f"'{name}' = {value!s} from specification '{size!s}' for dimension "
                f"{self.size_name(i, d)} (= {avals[i].shape[d]!s}), ")


def _source(size: Dim, argument: int, dimension: int, name: str) -> Source | None:
    """The source of a variable, if it is a factor of one term of a size and of nothing else."""
    factor = size.coefficients.get(((name, 1),))
    if factor is None:
        return None
    rest = size - factor * Dim({((name, 1),): 1}, size.scope)
    if name in variables(rest):
        return None
    return Source(argument, dimension, size, factor, rest)


def _is_at_least(x: Any, least: int) -> bool:
    """Whether this is known."""
    try:
        return bool(x >= least)
    except InconclusiveDimensionOperation:
        return False
