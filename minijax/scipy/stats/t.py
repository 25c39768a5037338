"""Student's t distribution with df degrees of freedom: density proportional to
(1 + z²/df)^(-(df + 1)/2) / scale, where z = (x - loc) / scale.

>>> pdf(0.0, 1.0).round(4).item()  # 1 / π
0.3183000087738037
"""

import numpy as np

from ...lax import elementwise as lax
from ...lax.special import lgamma
from ...numpy._arguments import constant_like
from ._quantities import exponential, quantity


@quantity
def logpdf(x, df, loc=0, scale=1):
    z = (x - loc) / scale
    half = df / constant_like(x, 2)
    more = half + 0.5
    root = lax.log(scale * scale * np.pi * df) / 2
    normalizer = lgamma(half) + root - lgamma(more)
    return -(normalizer + more * lax.log1p(z * z / df))


pdf = exponential(logpdf)
