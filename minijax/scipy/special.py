"""Special functions."""

from __future__ import annotations

from ..numpy._softmax import logsumexp, softmax

__all__ = ["logsumexp", "softmax"]
