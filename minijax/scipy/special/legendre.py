"""Associated Legendre functions and spherical harmonics."""

import math

import numpy as np

from ... import numpy as jnp
from ...core.boundary import public
from ...lax import complex_numbers
from ...lax.compile_time import concrete_or_error
from ...runtime.jit import jit


def _coefficients(n: int) -> tuple[float, np.ndarray, list]:
    """P₀⁰; the factors from each Pₘᵐ to the next, without √(1 - x²); and for each degree l the
    factors a, b of all orders m < l in Pₗᵐ = a x Pₗ₋₁ᵐ - b Pₗ₋₂ᵐ. They are normalized, as those of
    spherical harmonics."""
    m = np.arange(1, n + 1)
    rows = []
    for degree in range(1, n + 1):
        order = np.arange(degree)
        width = degree**2 - order**2
        a = np.sqrt((4 * degree**2 - 1) / width)
        b = np.sqrt((2 * degree + 1) * ((degree - 1) ** 2 - order**2)
                    / np.maximum(2 * degree - 3, 1) / width)
        rows.append((a, b))
    return 0.5 / math.sqrt(math.pi), -np.sqrt(1 + 0.5 / m), rows


@jit(static_argnames=("n",))
def _legendre(x, n: int):
    """All Pₗᵐ(x) of degree and order up to `n`: an array [order, degree, place]."""
    first, diagonal, rows = _coefficients(n)
    zero, root = jnp.zeros_like(x), jnp.sqrt(1.0 - x * x)
    columns = [jnp.stack([jnp.full_like(x, first)] + [zero] * n)]
    before = jnp.zeros_like(columns[0])
    for degree, (a, b) in enumerate(rows, 1):
        last = columns[-1]
        a, b = (np.asarray(y, x.dtype)[:, None] for y in (a, b))
        lower = a * x[None] * last[:degree] - b * before[:degree]
        highest = float(diagonal[degree - 1]) * root * last[degree - 1]
        columns.append(jnp.stack([*lower, highest] + [zero] * (n - degree)))
        before = last
    return jnp.stack(columns, axis=1)


@public
def sph_harm_y(n, m, theta, phi, diff_n: int | None = None, n_max: int | None = None):
    """Spherical harmonics.

    Args:
      n, m: integer vectors, degrees and orders: |m| ≤ n.
      theta, phi: vectors, the polar angle (from the pole) and the azimuth; or scalars.
      diff_n: must be `None`.
      n_max: the highest degree, an int; needed if `n` is traced.

    Returns:
      a complex vector.

    Raises:
      NotImplementedError: `diff_n`.

    >>> sph_harm_y(jnp.array([0]), jnp.array([0]), 0.0, 0.0).real.round(4).tolist()
    [0.28209999203681946]
    """
    if diff_n is not None:
        raise NotImplementedError("The 'diff_n' argument of sph_harm_y is not supported.")
    theta, phi = jnp.atleast_1d(theta), jnp.asarray(phi)
    n_max = np.max(n) if n_max is None else n_max
    n_max = concrete_or_error(int, n_max, "The argument n_max of sph_harm_y must be known.")
    return _sph_harm(jnp.asarray(n), jnp.asarray(m), theta, phi, n_max=n_max)


@jit(static_argnames=("n_max",))
def _sph_harm(n, m, theta, phi, n_max: int):
    legendre = _legendre(jnp.cos(theta), n=n_max)
    values = legendre.at[abs(m), n, jnp.arange(len(n))].get(mode="clip")
    angle = abs(m) * phi
    harmonics = complex_numbers.complex(values * jnp.cos(angle), values * jnp.sin(angle))
    return jnp.where(m < 0, (-1.0) ** abs(m) * jnp.conj(harmonics), harmonics)
