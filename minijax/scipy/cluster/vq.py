"""Vector quantization."""

from ... import numpy as jnp
from ...core.boundary import public
from ...numpy._arguments import check_arraylike, promote_dtypes_inexact


@public
def vq(obs, code_book, check_finite: bool = True):
    """Which code is nearest to each observation.

    Args:
      obs: an array of shape (m, n), the observations; or (m,), for n = 1.
      code_book: an array of shape (k, n), the codes; or (k,).
      check_finite: is ignored.

    Returns:
      the indices of the nearest codes, of shape (m,), and the distances from them.

    Raises:
      ValueError: other ranks.

    >>> [x.tolist() for x in vq(jnp.array([0.0, 2.5]), jnp.array([2.0, 1.0]))]
    [[1, 0], [1.0, 0.5]]
    """
    check_arraylike("scipy.cluster.vq.vq", obs, code_book)
    obs, codes = promote_dtypes_inexact(jnp.asarray(obs), jnp.asarray(code_book))
    if obs.ndim != codes.ndim:
        raise ValueError("obs and code_book should have the same rank; got shapes "
                         f"{obs.shape} and {codes.shape}")
    if obs.ndim == 1:
        obs, codes = obs[:, None], codes[:, None]
    if obs.ndim != 2:
        raise ValueError(f"obs and code_book must be of rank 1 or 2; got rank {obs.ndim}")
    if obs.shape[1] != codes.shape[1] and 1 not in (obs.shape[1], codes.shape[1]):
        raise ValueError("obs and code_book must have equally many columns; got shapes "
                         f"{obs.shape} and {codes.shape}")
    distances = jnp.linalg.norm(obs[:, None] - codes[None], axis=-1)
    code = jnp.argmin(distances, axis=-1)
    return code, jnp.take_along_axis(distances, code[:, None], axis=1)[:, 0]
