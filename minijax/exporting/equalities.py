"""Chapter 16: equalities between sizes, as rules that rewrite one side to the other.

`floordiv(a, 4) == b` says that `b` may stand wherever `floordiv(a, 4)` does. So polynomials are
written with `b` alone, and two that are equal get one form.

The polynomials here are plain: from monomials, tuples of factors with their powers, to integers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Polynomial = Mapping[tuple, int]
Rules = dict[tuple, tuple[int, Polynomial]]  # a monomial, times an integer, is a polynomial


def rewritten(polynomial: Polynomial, rules: Rules, product: Callable) -> Polynomial:
    """The polynomial after all rules. `product` multiplies two monomials."""
    for monomial, k in polynomial.items():
        for part, (times, after) in rules.items():
            if k and k % times == 0 and set(part) <= set(monomial):
                rest = tuple(factor for factor in monomial if factor not in part)
                out = {m: j for m, j in polynomial.items() if m != monomial}
                for m, j in after.items():
                    m = product(m, rest)
                    out[m] = out.get(m, 0) + j * (k // times)
                return rewritten(out, rules, product)
    return polynomial


def add_rule(rules: Rules, text: str, left: Any, right: Polynomial) -> None:
    """Take an equality as a rule. `left` is a polynomial, or an integer; `text` is for errors.

    Raises:
      ValueError: the left-hand side has several terms, or comes back on the other side.
    """
    if isinstance(left, int) or len(left) != 1:
        raise ValueError(f"Invalid equality constraint: {text}. The left-hand-side must be of the "
                         "form `term * coefficient`.")
    (monomial, times), = left.items()
    if any(set(monomial) <= set(m) for m in right):
        raise ValueError(f"Invalid equality constraint: {text}. The right-hand side must not "
                         "depend on the left-hand side.")
    _add(rules, monomial, times, right)
    (factor, power), *others = monomial
    if not others and times == power == 1 and not right and getattr(factor, "name", "") == "mod":
        _add_divisibility(rules, factor)


def _add_divisibility(rules: Rules, remainder: Any) -> None:
    """What follows if a remainder is 0: the quotient, times the divisor, is the dividend."""
    if not isinstance(remainder.right, int):
        return
    for divisor in (remainder.right, -remainder.right):
        remainder = remainder._replace(right=divisor)
        rules[(remainder, 1),] = 1, {}
        quotient = ((remainder._replace(name="floordiv"), 1),)
        rules.setdefault(quotient, (divisor, remainder.left.coefficients))


def _add(rules: Rules, monomial: tuple, times: int, right: Polynomial) -> None:
    if monomial in rules:
        shown = "*".join(str(factor) for factor, _ in monomial)
        raise NotImplementedError("Found multiple equality constraints with the same "
                                  f"left-hand-side: {shown}")
    rules[monomial] = times, right
