"""Partial evaluation splits a jaxpr: both halves together compute the whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from minijax.checks.typecheck import check_jaxpr
from minijax.core.jaxpr import ClosedJaxpr, eval_jaxpr
from minijax.core.partial_eval import partial_eval_jaxpr


def check_halves(jaxpr: ClosedJaxpr, unknown: Sequence[bool], args: Sequence[Any]) -> None:
    """Whichever arguments are known, the known half and then the other give the jaxpr's results."""
    split = partial_eval_jaxpr(jaxpr, tuple(unknown), (False,) * len(jaxpr.out_avals))
    known, rest, out_unknown, _ = split
    check_jaxpr(known)
    check_jaxpr(rest)
    early = [x for x, u in zip(args, unknown, strict=True) if not u]
    outs = eval_jaxpr(known.jaxpr, known.consts, *early)
    late = [x for x, u in zip(args, unknown, strict=True) if u]
    late_outs = iter(eval_jaxpr(rest.jaxpr, rest.consts, *split.residuals(outs, early), *late))
    early_outs = iter(outs)
    got = [next(late_outs) if u else next(early_outs) for u in out_unknown]
    for value, want in zip(got, eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args), strict=True):
        np.testing.assert_allclose(value, want, rtol=1e-6)
