"""`scipy.stats` of samples: `mode`, `rankdata`, `sem`, `gaussian_kde`; against JAX's."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import both

X = np.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 1], np.float32)
M = X.reshape(3, 4)
WITH_NAN = np.where(M == 4, np.nan, M)
DATA = np.sin(np.arange(14, dtype=np.float32) ** 2).reshape(2, 7)
POINTS = np.cos(np.arange(6, dtype=np.float32)).reshape(2, 3)


def kde(jx, *args, **kwargs):
    return jx.scipy.stats.gaussian_kde(*args, **kwargs)


CALLS = {
    **{f"rankdata {method}": lambda jx, method=method: jx.scipy.stats.rankdata(X, method)
       for method in ("average", "min", "max", "dense", "ordinal", "least")},
    "rankdata of integers": lambda jx: jx.scipy.stats.rankdata(M.astype(int), axis=1),
    "rankdata of nan": lambda jx: jx.scipy.stats.rankdata(WITH_NAN),
    "rankdata omit": lambda jx: jx.scipy.stats.rankdata(X, nan_policy="omit"),
    "rankdata jit": lambda jx: jx.jit(jx.scipy.stats.rankdata)(M),
    **{f"mode {options}": lambda jx, options=options: tuple(jx.scipy.stats.mode(M, **options))
       for options in ({}, {"axis": 1}, {"axis": None}, {"axis": None, "keepdims": True},
                       {"axis": -1, "keepdims": True}, {"axis": 2}, {"nan_policy": "raise"},
                       {"nan_policy": "none"})},
    "mode of nothing": lambda jx: tuple(jx.scipy.stats.mode(np.zeros((0, 2), np.float32))),
    "mode of a scalar": lambda jx: tuple(jx.scipy.stats.mode(3)),
    **{f"sem {options}": lambda jx, options=options: jx.scipy.stats.sem(WITH_NAN, **options)
       for options in ({}, {"axis": None}, {"axis": 1, "ddof": 0, "keepdims": True},
                       {"nan_policy": "omit"}, {"nan_policy": "raise"})},
    "kde": lambda jx: (kde(jx, DATA)(POINTS), kde(jx, DATA).logpdf(POINTS)),
    "kde of a vector": lambda jx: kde(jx, X, "silverman").pdf(M[0]),
    "kde weights": lambda jx: kde(jx, DATA, 0.7, X[:7]).evaluate(POINTS),
    "kde function": lambda jx: kde(jx, DATA, lambda kde: kde.n / kde.d).covariance,
    "kde unknown": lambda jx: kde(jx, DATA, "none"),
    "kde complex": lambda jx: kde(jx, DATA * 1j),
    "kde one": lambda jx: kde(jx, [1.0]),
    "kde weights' length": lambda jx: kde(jx, DATA, weights=X),
    "kde weights' rank": lambda jx: kde(jx, DATA, weights=DATA),
    "kde points": lambda jx: kde(jx, DATA)(M),
    "kde one point": lambda jx: kde(jx, DATA)(X[:2]),
    "kde integrals": lambda jx: (
        kde(jx, X).integrate_box_1d(-1.0, 2.5), kde(jx, DATA).integrate_kde(kde(jx, POINTS)),
        kde(jx, DATA).integrate_gaussian(X[:2], np.eye(2, dtype=np.float32))),
    "kde box": lambda jx: kde(jx, DATA).integrate_box_1d(0, 1),
    "kde mean": lambda jx: kde(jx, DATA).integrate_gaussian(X, np.eye(2)),
    "kde covariance": lambda jx: kde(jx, DATA).integrate_gaussian(X[:2], M),
    "kde other": lambda jx: kde(jx, DATA).integrate_kde(kde(jx, X)),
    "kde resample": lambda jx: kde(jx, DATA).resample(jx.random.key(3), (4,)),
    "kde set": lambda jx: kde(jx, DATA).set_bandwidth(1.0),
    "kde integrate_box": lambda jx: kde(jx, DATA).integrate_box([0], [1]),
    "kde pytree": lambda jx: (jx.tree_util.tree_leaves(kde(jx, DATA)),
                              jx.jit(lambda k, x: k(x))(kde(jx, DATA), POINTS)),
    "kde gradient": lambda jx: jx.grad(lambda x: jx.numpy.sum(kde(jx, x).logpdf(POINTS)))(DATA),
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_calls(call):
    both(lambda jx: lambda: CALLS[call](jx), tol=1e-4)
