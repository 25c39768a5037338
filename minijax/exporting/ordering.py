"""Chapter 16: sizes as text, with their terms in JAX's order.

The longest terms come first: a term is longer if it has more factors, or longer ones, and an
operation is longer than a variable. Among terms of one length, names decide.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def text(coefficients: Mapping) -> str:
    """A sum of terms: `2*a*b + a - 1`."""
    terms = sorted(coefficients, key=_rank_of_term, reverse=True)
    return " ".join(_term_text(term, coefficients[term]) for term in terms).removeprefix("+ ")


def operand_text(x: Any) -> str:
    """An operand of an operation."""
    return text({(): x}) if isinstance(x, int) else str(x)


def _term_text(monomial, coefficient):
    factors = [str(f) if power == 1 else f"{f}^{power}" for f, power in monomial]
    size = abs(coefficient)
    parts = [str(size)] * (size != 1 or not factors) + factors
    return f"{'+' if coefficient >= 0 else '-'} {'*'.join(parts)}"


# Ranks are tuples, the first entry of which is a length.


def _rank_of_term(monomial) -> tuple:
    factors = sorted(((_rank_of_factor(f), power) for f, power in monomial), reverse=True)
    return sum(1 + power * rank[0] for rank, power in factors), factors


def _rank_of_factor(factor) -> tuple:
    if isinstance(factor, str):
        return 1, factor
    operands = [_rank_of_size(x) for x in (factor.left, factor.right)]
    return 1 + sum(rank[0] for rank in operands), factor.name, operands


def _rank_of_size(x) -> tuple:
    coefficients = getattr(x, "coefficients", {(): x})
    terms = sorted(((_rank_of_term(m), k) for m, k in coefficients.items()), reverse=True)
    return sum(1 + abs(k) * rank[0] for rank, k in terms), terms
