"""Chapter 16: sizes that are not known when a function is exported, such as `b` or `2*b + 1`.

A `Dim` is a polynomial of variables, each of which stands for an integer of at least 1. It is no
integer: where a program needs one, an `InconclusiveDimensionOperation` says so. Comparisons are
answered if the answer is the same for all values of the variables.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..checks.primitives import symbolic_sizes
from ..core.core import typeof
from ..core.tree import tree_flatten
from ..errors import InconclusiveDimensionOperation
from ..pytree.functions import broadcast_prefix
from ..runtime.structs import ShapeDtypeStruct
from .equalities import Rules, add_rule, rewritten
from .ordering import operand_text, text

INFINITY = float("inf")


class Operation(NamedTuple):
    """A factor of a polynomial that is no variable: `floordiv(a, b)`, `mod`, `max` or `min`."""

    name: str
    left: Any
    right: Any

    def __str__(self):
        return f"{self.name}({operand_text(self.left)}, {operand_text(self.right)})"


OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "floordiv": lambda a, b: a // b, "mod": lambda a, b: a % b,
    "max": lambda a, b: _operation("max", a, b), "min": lambda a, b: _operation("min", a, b)}

Monomial = tuple  # pairs of a factor, a name or an `Operation`, and its power


class SymbolicScope:
    """The variables of one exported function, and what is known of them.

    Args:
      constraints_str: what holds, as "a >= 2", "a >= b", or "floordiv(a, 4) == b". The right side
        of an equality replaces the left side.

    >>> from minijax import export
    >>> a, b = export.symbolic_shape("a, b", scope=export.SymbolicScope(("a >= b",)))
    >>> a >= b
    True
    """

    def __init__(self, constraints_str: Sequence[str] = ()):
        if isinstance(constraints_str, str):
            raise ValueError("The symbolic constraints should be a sequence of strings. Got "
                             f"{constraints_str!r}")
        self.constraints = tuple(constraints_str)
        self.nonnegative: list[Dim] = []  # what is at least 0
        self.differences: list[tuple[str, Dim]] = []  # the same, with the constraint
        self.rules: Rules = {}  # equalities
        for constraint in self.constraints:
            self._add(constraint)

    def _add(self, text):
        parts = re.split("(==|>=|<=)", text)
        if len(parts) != 3:
            raise ValueError(f"Constraint parsing error: {text!r} must contain one of '==' or '>=' "
                             "or '<=', with an expression on either side.")
        left, kind, right = parts
        (left, right) = (parse(part, self, text)[0] for part in (left, right))
        difference = right - left if kind == "<=" else left - right
        if isinstance(difference, int):
            if difference < 0 or (kind == "==" and difference):
                raise ValueError(f"Unsatisfiable explicit constraint: {text}")
            return
        if kind == "==":
            add_rule(self.rules, text, getattr(left, "coefficients", left),
                     {m: k for m, k in _coefficients(right, difference).items() if k})
            self._add_bounds(left, right)
        else:
            self.nonnegative.append(difference)
        self.differences.append((text, difference))

    def _add_bounds(self, left, right):
        """What follows from `max(a, b) == right`, or from `min(a, b) == right`."""
        ((factor, _), *_), = left.coefficients
        if (getattr(factor, "name", "") in ("max", "min")
                and left.coefficients == {((factor, 1),): 1}):
            sign = 1 if factor.name == "max" else -1
            differences = [(right - operand) * sign for operand in (factor.left, factor.right)]
            self.nonnegative.extend(d for d in differences if isinstance(d, Dim))

    def bounds_of_variable(self, name: str) -> tuple[float, float]:
        """The least and the greatest value of a variable, as far as constraints state them."""
        low, high = 1.0, INFINITY
        for e in self.nonnegative:
            factor = e.coefficients.get(((name, 1),))
            if factor and len(e.coefficients) <= 2 and {((name, 1),), ()} >= e.coefficients.keys():
                bound = -e.coefficients.get((), 0) / factor
                low, high = (max(low, bound), high) if factor > 0 else (low, min(high, bound))
        return low, high

    def __str__(self):
        constraints = "".join(f"\n  {c}" for c in self.constraints)
        return f"{id(self)}" + (f" with constraints:{constraints}" if constraints else "")


class Dim:
    """A size that is not known: `coefficients` maps monomials to integers."""

    __slots__ = ("coefficients", "scope", "_hash")
    __array_priority__ = 1000  # so that NumPy's scalars and arrays leave operators to this class

    def __init__(self, coefficients: Mapping[Monomial, int], scope: SymbolicScope):
        self.coefficients, self.scope = dict(coefficients), scope
        self._hash: int | None = None

    # Text

    def __str__(self):
        return text(self.coefficients)

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        """As the types in StableHLO write it. Messages say `{size!s}`."""
        return "?"

    # Arithmetic

    def __add__(self, other):
        if not _is_size(other):
            return _with_arrays(self, other, operator.add)
        return _sum(self, other, 1)

    def __sub__(self, other):
        if not _is_size(other):
            return _with_arrays(self, other, operator.sub)
        return _sum(self, other, -1)

    def __rsub__(self, other):
        if not _is_size(other):
            return _with_arrays(self, other, _reflected(operator.sub))
        return _sum(-self, other, 1)

    def __neg__(self):
        return _made({m: -k for m, k in self.coefficients.items()}, self.scope)

    def __mul__(self, other):
        if not _is_size(other):
            return _with_arrays(self, other, operator.mul)
        out: dict = {}
        for m, k in self.coefficients.items():
            for n, j in _coefficients(other, self).items():
                product = _product(m, n)
                out[product] = out.get(product, 0) + k * j
        return _made(out, self.scope)

    __radd__, __rmul__ = __add__, __mul__

    def __pow__(self, power: int):
        if power != int(power):
            raise ValueError("Symbolic dimension cannot be raised to non-integer powers: "
                             f"'{self!s}' ** '{power}'. `jnp.asarray` makes an array of it first.")
        out: Any = 1
        for _ in range(int(power)):
            out = out * self
        return out

    def __rpow__(self, other):
        return _with_arrays(self, other, lambda x, y: y ** x.astype("int32"))

    def __truediv__(self, other):
        return _with_arrays(self, other, operator.truediv)

    def __rtruediv__(self, other):
        return _with_arrays(self, other, _reflected(operator.truediv))

    def __divmod__(self, other):
        if not _is_size(other):
            return _with_arrays(self, other, divmod)
        if not isinstance(other, Dim):
            other = operator.index(other)
            if other == 0:
                raise ZeroDivisionError(f"Division of the symbolic dimension '{self!s}' by zero")
        exact = _divided(self, other)
        if exact is not None:
            return exact
        quotient, rest = (_operation(name, self, other) for name in ("floordiv", "mod"))
        return quotient, rest

    def __floordiv__(self, other):
        if not _is_size(other):
            return _with_arrays(self, other, operator.floordiv)
        return divmod(self, other)[0]

    def __mod__(self, other):
        if not _is_size(other):
            return _with_arrays(self, other, operator.mod)
        return divmod(self, other)[1]

    def __rdivmod__(self, other):
        if not _is_size(other):
            return _with_arrays(self, other, _reflected(divmod))
        return other // self, other % self

    def __rfloordiv__(self, other):
        if not _is_size(other):
            return _with_arrays(self, other, _reflected(operator.floordiv))
        return _operation("floordiv", int(other), self)

    def __rmod__(self, other):
        if not _is_size(other):
            return _with_arrays(self, other, _reflected(operator.mod))
        return _operation("mod", int(other), self)

    def __abs__(self):
        return self if self >= 0 else -self

    # Comparisons

    def __eq__(self, other):
        if not _is_size(other) or (isinstance(other, Dim) and other.scope is not self.scope):
            return False
        difference = self - other
        return isinstance(difference, int) and difference == 0

    def __hash__(self):
        if self._hash is None:
            self._hash = hash((frozenset(self.coefficients.items()), id(self.scope)))
        return self._hash

    def __ge__(self, other):
        return self._at_least(self - other, f"'{self!s}' >= '{other!s}'")

    def __le__(self, other):
        return self._at_least(other - self, f"'{self!s}' <= '{other!s}'")

    def __gt__(self, other):
        return not self._at_least(other - self, f"'{self!s}' > '{other!s}'")

    def __lt__(self, other):
        return not self._at_least(self - other, f"'{self!s}' < '{other!s}'")

    def _at_least(self, difference, text) -> bool:
        if _is_nonnegative(difference, self.scope):
            return True
        if _is_nonnegative(-difference - 1, self.scope):
            return False
        where = f"\nUsing symbolic scope {self.scope}" if self.scope.constraints else ""
        raise InconclusiveDimensionOperation(
            f"Symbolic dimension comparison {text} is inconclusive.{where}\nIt has no one answer "
            "for all values of the variables. Add a constraint to the shapes, as in "
            'symbolic_shape("b", constraints=["b >= 8"]).')

    def __bool__(self):
        return not self._at_least(-self, f"'{self!s}' != '0'")

    def check_same_scope(self, other: Dim, when: str = "", own: str = "", others: str = "") -> None:
        """Raise `ValueError` unless it is of the same scope. `own` and `others` say where they are
        from."""
        if other.scope is not self.scope:
            raise ValueError(
                f"Invalid mixing of symbolic scopes{when}.\nExpected current{own} scope "
                f"{self.scope}\nand found for '{other!s}'{others} scope {other.scope}\nMake all "
                "shapes of a function by one `symbolic_args_specs`, or with one `scope`.")

    # What bounds of slices need

    @staticmethod
    def lesser(x, y):
        """The lesser of the two: one of them, if it is known which, or a minimum."""
        return _operation("min", x, y)

    @staticmethod
    def greater(x, y):
        """The greater of the two: one of them, if it is known which, or a maximum."""
        return _operation("max", x, y)

    # Where an integer is needed

    def __index__(self):
        """Itself, for who keeps sizes in a shape. Python accepts only an integer."""
        return self

    def __int__(self):
        raise InconclusiveDimensionOperation(
            f"Symbolic dimension '{self!s}' used in a context that requires a constant")

    def __jax_array__(self):
        from .values import dimension_as_value

        return dimension_as_value(self)


symbolic_sizes.add(Dim)


def _with_arrays(dim: Dim, other: Any, operation: Callable) -> Any:
    """The result of an operation whose operands are not both sizes: arrays and numbers."""
    if isinstance(other, Dim):
        other = other.__jax_array__()
    if (hasattr(other, "__jax_array__") or hasattr(other, "dtype")
            or isinstance(other, int | float | complex)):
        return operation(dim.__jax_array__(), other)
    return NotImplemented


def _reflected(operation: Callable) -> Callable:
    return lambda x, y: operation(y, x)


def _is_size(x: Any) -> bool:
    """Whether it is an integer that can be part of a size. An array of NumPy may be one."""
    if isinstance(x, int | Dim):
        return True
    try:
        return not hasattr(x, "aval") and operator.index(x) is not None
    except TypeError:
        return False


def is_symbolic_dim(p: Any) -> bool:
    """Whether a size is not known.

    >>> from minijax import export
    >>> [export.is_symbolic_dim(size) for size in export.symbolic_shape("b, 4")]
    [True, False]
    """
    return isinstance(p, Dim)


def is_symbolic(aval: Any) -> bool:
    """Whether a type has a size that is not known."""
    return any(isinstance(size, Dim) for size in aval.shape)


def _order(monomial):
    degree = sum(power * (1 if isinstance(f, str) else 2) for f, power in monomial)
    return degree, [(str(f), power) for f, power in reversed(monomial)]


def _coefficients(x, like: Dim) -> Mapping[Monomial, int]:
    if not isinstance(x, Dim):
        return {(): int(x)}
    like.check_same_scope(x)
    return x.coefficients


def _made(coefficients, scope) -> Any:
    """A polynomial, or an integer if it is constant."""
    if scope.rules:
        coefficients = rewritten(coefficients, scope.rules, _product)
    kept = {m: k for m, k in coefficients.items() if k}
    return kept.get((), 0) if kept.keys() <= {()} else Dim(kept, scope)


def _sum(x: Any, y: Any, sign: int) -> Any:
    if not isinstance(x, Dim):
        return x + sign * y
    out = dict(x.coefficients)
    for m, k in _coefficients(y, x).items():
        out[m] = out.get(m, 0) + sign * k
    return _made(out, x.scope)


def _product(m: Monomial, n: Monomial) -> Monomial:
    powers = dict(m)
    for factor, power in n:
        powers[factor] = powers.get(factor, 0) + power
    by_name = lambda item: (not isinstance(item[0], str), str(item[0]))
    return tuple(sorted(powers.items(), key=by_name))


def _divided(x: Dim, y: Any) -> tuple[Any, Any] | None:
    """Quotient and remainder, if the quotient is a polynomial and the remainder an integer."""
    divisor = y if isinstance(y, Dim) else Dim({(): y}, x.scope)
    lead = max(_coefficients(y, x), key=_order)
    quotient: Any = 0
    rest: Any = x
    last: Any = None
    while isinstance(rest, Dim):
        top = max(rest.coefficients, key=_order)
        if last is not None and _order(top) >= _order(last):  # the terms would never end
            return None
        last = top
        factor = _divided_term(top, rest.coefficients[top], lead, divisor.coefficients[lead])
        if factor is None:
            return None
        term = _made(factor, x.scope)
        quotient, rest = quotient + term, rest - term * y
    if isinstance(y, Dim):
        return (quotient, 0) if rest == 0 else None
    more, rest = divmod(rest, y)
    return quotient + more, rest


def _divided_term(m: Monomial, coefficient: int, n: Monomial, divisor: int) -> dict | None:
    """The quotient of two terms, if it is a term."""
    powers, taken = dict(m), dict(n)
    if coefficient % divisor or any(powers.get(f, 0) < power for f, power in n):
        return None
    left = {f: power - taken.get(f, 0) for f, power in m}
    return {tuple((f, power) for f, power in left.items() if power): coefficient // divisor}


def _operation(name: str, x: Any, y: Any) -> Any:
    """An operation that is not carried out before the values are known."""
    if not (isinstance(x, Dim) or isinstance(y, Dim)):
        return {"max": max, "min": min}[name](x, y) if name in ("max", "min") else (
            OPERATIONS[name](x, y))
    scope = x.scope if isinstance(x, Dim) else y.scope
    if name in ("max", "min"):
        if _is_nonnegative(x - y, scope):
            return x if name == "max" else y
        if _is_nonnegative(y - x, scope):
            return y if name == "max" else x
    return _made({((Operation(name, x, y), 1),): 1}, scope)


# ----------------------------------------------------------------------------------------------
# Bounds, values, variables


def _is_nonnegative(x: Any, scope: SymbolicScope) -> bool:
    """Whether a size is at least 0, for all that is known.

    An operation in it is replaced by its operands. The size is at least 0 if it is with either
    operand of a maximum that is added, or with both of one that is subtracted; for a minimum, it is
    the other way round. A quotient that is added is at least 0 if its dividend is. One that is
    subtracted is at most its dividend, and a remainder less than its divisor.
    """
    if bounds(x)[0] >= 0 or any(bounds(x - e)[0] >= 0 for e in scope.nonnegative):
        return True
    for monomial, k in x.coefficients.items() if isinstance(x, Dim) else ():
        if len(monomial) != 1 or not isinstance(monomial[0][0], Operation) or monomial[0][1] != 1:
            continue
        name, left, right = monomial[0][0]
        rest = x - Dim({monomial: k}, scope)
        if name == "floordiv" and isinstance(right, int) and right > 0 and k % right == 0:
            quotient = left if k < 0 else left - (right - 1)  # beyond which it is not
            if _is_nonnegative(rest + quotient * (k // right), scope):
                return True
        if name in ("max", "min"):
            enough = any if (name == "max") == (k > 0) else all
            if enough(_is_nonnegative(rest + side * k, scope) for side in (left, right)):
                return True
        elif k > 0 and name == "floordiv" and bounds(right)[0] >= 1:
            if _is_nonnegative(left, scope) and _is_nonnegative(rest, scope):
                return True
        elif k < 0 and bounds(right)[0] >= 1 and (
                name == "mod" and _is_nonnegative(rest + (right - 1) * k, scope)
                or name == "floordiv" and bounds(left)[0] >= 0
                and _is_nonnegative(rest + left * k, scope)):
            return True
    return False


def bounds(x: Any) -> tuple[float, float]:
    """The least and the greatest value that a size may have, or numbers beyond them."""
    if not isinstance(x, Dim):
        return x, x
    low = high = 0.0
    for monomial, coefficient in x.coefficients.items():
        a, b = 1.0, 1.0
        for factor, power in monomial:
            lo, hi = _bounds_of_factor(factor, x.scope)
            ends = [(u * v if u and v else 0.0) for u in (a, b) for v in (lo ** power, hi ** power)]
            a, b = min(ends), max(ends)
        ends = sorted((a * coefficient, b * coefficient))
        low, high = low + ends[0], high + ends[1]
    return low, high


def _bounds_of_factor(factor, scope) -> tuple[float, float]:
    if isinstance(factor, str):
        return scope.bounds_of_variable(factor)
    (a, b), (c, d) = bounds(factor.left), bounds(factor.right)
    if factor.name in ("max", "min"):
        pick = max if factor.name == "max" else min
        return pick(a, c), pick(b, d)
    if factor.name == "mod" and c > 0:
        return 0.0, min(d - 1, b) if a >= 0 else d - 1
    if factor.name == "floordiv" and (c > 0 or d < 0):
        ends = [_floor_divided(u, v) for u in (a, b) for v in (c, d)]
        return min(ends), max(ends)
    return -INFINITY, INFINITY


def _floor_divided(x: float, y: float) -> float:
    if abs(x) == INFINITY:
        return x if y > 0 else -x
    return float(not x or x * y > 0) - 1 if abs(y) == INFINITY else x // y


def evaluate(x: Any, values: Mapping[str, Any]) -> Any:
    """A size, for these values of its variables."""
    if not isinstance(x, Dim):
        return x
    total: Any = 0
    for monomial, coefficient in x.coefficients.items():
        term: Any = coefficient
        for factor, power in monomial:
            value = values[factor] if isinstance(factor, str) else OPERATIONS[factor.name](
                evaluate(factor.left, values), evaluate(factor.right, values))
            term = term * value ** power
        total = total + term
    return total


def variables(x: Any) -> set[str]:
    """The variables that a size depends on."""
    if not isinstance(x, Dim):
        return set()
    found: set[str] = set()
    for factor, _ in (item for monomial in x.coefficients for item in monomial):
        found |= {factor} if isinstance(factor, str) else (
            variables(factor.left) | variables(factor.right))
    return found


# ----------------------------------------------------------------------------------------------
# From texts


def symbolic_shape(shape_spec: str | None, *, constraints: Sequence[str] = (),
                   scope: SymbolicScope | None = None,
                   like: Sequence[int | None] | None = None) -> tuple:
    """A shape in which sizes are variables, or made of variables.

    Args:
      shape_spec: sizes with commas between them: numbers, variables, `+`, `-`, `*`, `^`, and
        `floordiv`, `mod`, `max`, `min` of two. "_" stands for a size of `like`, "..." for all
        others.
      constraints: what holds of the variables, as "a >= 2" or "a <= b".
      scope: whose variables these are; by default, of a new scope.
      like: a shape that fills placeholders.

    Raises:
      ValueError: a text that is no shape; or `like` has another one.

    >>> from minijax import export
    >>> b, n = export.symbolic_shape("b, 4")
    >>> b * n + 1
    4*b + 1
    """
    if shape_spec is not None and not isinstance(shape_spec, str):
        raise ValueError("polymorphic shape spec should be None or a string. Found "
                         f"{shape_spec!r}.")
    if scope is not None and constraints:
        raise ValueError("Cannot specify both a `scope` and `constraints`.")
    scope = SymbolicScope(constraints) if scope is None else scope
    return parse("..." if shape_spec is None else shape_spec, scope, shape_spec, like)


def symbolic_args_specs(args: Any, shapes_specs: Any, constraints: Sequence[str] = (),
                        scope: SymbolicScope | None = None) -> Any:
    """The types of arguments, with symbolic shapes.

    Args:
      args: a pytree of arrays, or of what has a shape and a dtype.
      shapes_specs: a prefix of `args` of texts, as `symbolic_shape` takes them. `None` stands for
        the shape as it is.
      constraints, scope: as for `symbolic_shape`; all shapes are of one scope.

    Returns:
      a pytree of `ShapeDtypeStruct`s.

    >>> from minijax import export
    >>> specs = export.symbolic_args_specs((np.ones((8, 4), "float32"),), "b, ...")
    >>> export.export(jax.jit(lambda x: x.sum(1)))(*specs).out_avals
    (ShapedArray(float32[b]),)
    """
    if scope is not None and constraints:
        raise ValueError("Cannot use both `scope` and `constraints`")
    scope = SymbolicScope(constraints) if scope is None else scope
    leaves, tree = tree_flatten(args)
    specs = shapes_specs if isinstance(shapes_specs, str | None) else (
        tuple(shapes_specs) if isinstance(shapes_specs, list) else shapes_specs)
    texts = broadcast_prefix(specs, args, is_leaf=lambda x: x is None)
    avals = [x if hasattr(x, "shape") and hasattr(x, "dtype") else typeof(x) for x in leaves]
    return tree.unflatten([
        ShapeDtypeStruct(symbolic_shape(text, like=aval.shape, scope=scope), aval.dtype)
        for text, aval in zip(texts, avals)])


_TOKENS = re.compile(r"\s*(\.\.\.|[A-Za-z]\w*|_|\d+|\S)")


def parse(text: str, scope: SymbolicScope, shown: Any, like: Sequence | None = None) -> tuple:
    """The sizes in a text; `shown` is what errors show."""
    text = text.strip()
    if text.startswith("(") and text.endswith(")"):
        text = text[1:-1]
    return _Parser(_TOKENS.findall(text), scope, shown, like).shape()


class _Parser:
    """The rest of a text, as tokens."""

    def __init__(self, tokens: list[str], scope: SymbolicScope, shown: Any, like: Any):
        self.tokens, self.scope, self.shown, self.like = tokens, scope, shown, like
        self.sizes: list[Any] = []

    def error(self, what: str) -> ValueError:
        return ValueError(f"syntax error in symbolic shape {self.shown!r} in dimension "
                          f"{len(self.sizes)}: {what}. Remaining: {' '.join(self.tokens)!r}.")

    def next(self) -> str:
        return self.tokens[0] if self.tokens else ""

    def take(self, *expected: str) -> str:
        if self.next() not in expected:
            raise self.error(f"expecting one of {expected} but found {self.next()!r}")
        return self.tokens.pop(0)

    def shape(self) -> tuple:
        while self.tokens:
            if self.next() == "...":
                self.tokens.pop(0)
                self._fill(len(self._like()) - len(self.sizes))
                if self.tokens:
                    raise self.error("`...` can only be at the end")
            elif self.next() == "_":
                self.tokens.pop(0)
                self._fill(1)
            else:
                self.sizes.append(self.sum())
            if self.tokens:
                self.take(",")
        self._check_like()
        return tuple(self.sizes)

    def _like(self):
        if self.like is None:
            raise self.error("spec contains ... or _ but no 'like' shape was given")
        return self.like

    def _fill(self, count):
        start = len(self.sizes)
        for size in self._like()[start: start + count]:
            if size is None:
                raise self.error("a placeholder stands for a size that 'like' does not say")
            self.sizes.append(size)

    def _check_like(self):
        if self.like is None:
            return
        if len(self.like) != len(self.sizes):
            raise ValueError(f"symbolic shape {self.shown!r} has {len(self.sizes)} dimensions, and "
                             f"the argument has the shape {tuple(self.like)}.")
        for i, (size, other) in enumerate(zip(self.sizes, self.like)):
            if isinstance(size, int) and isinstance(other, int) and size != other:
                raise ValueError(f"symbolic shape {self.shown!r} has the size {size} in dimension "
                                 f"{i}, and the argument {other}.")

    def sum(self) -> Any:
        sign = -1 if self.next() == "-" and self.tokens.pop(0) else 1
        total = sign * self.product()
        while self.next() in ("+", "-"):
            sign = 1 if self.tokens.pop(0) == "+" else -1
            total = total + sign * self.product()
        return total

    def product(self) -> Any:
        out = self.factor()
        while self.next() == "*":
            self.tokens.pop(0)
            out = out * self.factor()
        return out

    def factor(self) -> Any:
        token = self.next()
        if token.isdigit():
            self.tokens.pop(0)
            out: Any = int(token)
        elif token in OPERATIONS:
            self.tokens.pop(0)
            self.take("(")
            left = self.sum()
            self.take(",")
            right = self.sum()
            self.take(")")
            out = _operation(token, left, right) if token in ("max", "min") else (
                left // right if token == "floordiv" else left % right)
        elif token[:1].isalpha():
            self.tokens.pop(0)
            out = _made({((token, 1),): 1}, self.scope)
        else:
            raise self.error(f"expecting a name or a number but found {token!r}")
        if self.next() == "^":
            self.tokens.pop(0)
            out = out ** int(self.tokens.pop(0))
        return out
