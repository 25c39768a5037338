"""The distribution of von Mises, of angles: density exp(κ cos x) / (2π I₀(κ)).

>>> pdf(0.0, 1e-6).round(4).item()  # 1 / 2π
0.15919999778270721
"""

import numpy as np

from ... import numpy as jnp
from ...lax.bessel import bessel_i0e
from ._quantities import exponential, quantity


@quantity
def logpdf(x, kappa):
    is_positive = kappa > 0
    log_density = kappa * (jnp.cos(x) - 1) - jnp.log(2 * np.pi * bessel_i0e(kappa))
    return jnp.where(is_positive, log_density, np.nan)


pdf = exponential(logpdf)
