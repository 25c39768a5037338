"""The wrapped distribution of Cauchy, of angles from 0 to 2π: density
(1 - c²) / (2π (1 + c² - 2c cos x)).

>>> pdf(1.0, 1e-6).round(4).item()  # 1 / 2π
0.15919999778270721
"""

import numpy as np

from ... import numpy as jnp
from ._quantities import exponential, quantity


@quantity
def logpdf(x, c):
    is_proper = (c > 0) & (c < 1)
    inside = (x >= 0) & (x <= 2 * np.pi)
    log_density = (jnp.log(1 - c * c) - jnp.log(2 * np.pi)
                   - jnp.log(1 + c * c - 2 * c * jnp.cos(x)))
    return jnp.where(is_proper, jnp.where(inside, log_density, -np.inf), np.nan)


pdf = exponential(logpdf)
