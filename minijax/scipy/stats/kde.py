"""Density estimation: the mean of normal densities around the points of a sample."""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import numpy as jnp, random
from ...core import dtypes
from ...core.api import vmap
from ...core.boundary import public
from ...core.core import typeof
from ...lax.linalg import cholesky, triangular_solve
from ...numpy._arguments import check_arraylike, promote_dtypes_inexact
from ...pytree.registration import register_pytree_node_class
from ...runtime.jit import jit
from ..special import logsumexp, ndtr

LEAVES = ("neff", "dataset", "weights", "covariance", "inv_cov")


@register_pytree_node_class
@dataclass(frozen=True, init=False)
class gaussian_kde:
    """The density of a sample, estimated with Gaussian kernels.

    Args:
      dataset: an array of shape (n,) or (d, n): n points of d dimensions.
      bw_method: how wide the kernels are, as a factor of the sample's own covariance: "scott" (the
        default), "silverman", a number, or a function of this object.
      weights: an array of shape (n,), or `None` for equal weights.

    Attributes:
      neff: the effective number of points. d, n: the shape of the dataset.
      dataset, weights: arrays of shapes (d, n) and (n,).
      covariance, inv_cov: the kernels' covariance and its inverse, of shape (d, d).

    Raises:
      NotImplementedError: complex points.
      ValueError: a single point; weights that do not fit; an unknown method.

    >>> kde = gaussian_kde(jnp.array([-1.0, 1.0]))
    >>> bool(kde(0.5)[0] > kde(3.0)[0])
    True
    """

    neff: Any
    dataset: Any
    weights: Any
    covariance: Any
    inv_cov: Any

    @public
    def __init__(self, dataset, bw_method: str | float | Callable | None = None, weights=None):
        check_arraylike("gaussian_kde", dataset)
        dataset = jnp.atleast_2d(dataset)
        _check_real(dataset)
        if dataset.size <= 1:
            raise ValueError("gaussian_kde: the dataset should have several elements")
        dataset, weights = _normalized(dataset, weights)
        self._set(neff=1 / jnp.sum(weights**2), dataset=dataset, weights=weights)
        covariance = jnp.atleast_2d(jnp.cov(dataset, rowvar=True, bias=False, aweights=weights))
        factor = self._bandwidth(bw_method)
        self._set(covariance=covariance * factor**2, inv_cov=jnp.linalg.inv(covariance) / factor**2)

    def _set(self, **attributes) -> None:
        for name, value in attributes.items():
            object.__setattr__(self, name, value)

    def _bandwidth(self, method):
        exponent = -1.0 / (self.d + 4)
        if method is None or (isinstance(method, str) and method == "scott"):
            return jnp.power(self.neff, exponent)
        if isinstance(method, str) and method == "silverman":
            return jnp.power(self.neff * (self.d + 2) / 4.0, exponent)
        if not isinstance(method, str) and jnp.isscalar(method):
            return method
        if callable(method):
            return method(self)
        raise ValueError("`bw_method` should be 'scott', 'silverman', a scalar, or a callable; "
                         f"got {method!r}")

    def tree_flatten(self):
        return tuple(getattr(self, name) for name in LEAVES), None

    @classmethod
    def tree_unflatten(cls, aux_data, children):
        kde = object.__new__(cls)
        kde._set(**dict(zip(LEAVES, children)))
        return kde

    @property
    def d(self) -> int:
        return self.dataset.shape[0]

    @property
    def n(self) -> int:
        return self.dataset.shape[1]

    @public
    def evaluate(self, points):
        """The density at some points.

        Args:
          points: an array of shape (m,) or (d, m).

        Returns:
          an array of shape (m,).

        Raises:
          ValueError: points of another dimension.
        """
        check_arraylike("evaluate", points)
        return _evaluate(False, self, self._as_points(points))

    __call__ = pdf = evaluate

    def logpdf(self, x):
        """The logarithm of the density at some points; see `evaluate`."""
        check_arraylike("logpdf", x)
        return _evaluate(True, self, self._as_points(x))

    def integrate_gaussian(self, mean, cov):
        """The integral of the product with a normal density.

        Args:
          mean: an array of shape (d,).
          cov: an array of shape (d, d).

        Raises:
          ValueError: other shapes.
        """
        mean, cov = jnp.atleast_1d(jnp.squeeze(mean)), jnp.atleast_2d(cov)
        if mean.shape != (self.d,):
            raise ValueError(f"mean does not have dimension {self.d}")
        if cov.shape != (self.d, self.d):
            raise ValueError(f"covariance does not have dimension {self.d}")
        return _convolve(cholesky(self.covariance + cov), self, mean)

    def integrate_box_1d(self, low, high):
        """The probability of an interval, of a density of one dimension.

        Args:
          low, high: scalars.

        Raises:
          ValueError: several dimensions; bounds that are no scalars.
        """
        if self.d != 1:
            raise ValueError("integrate_box_1d() only handles 1D pdfs")
        if jnp.ndim(low) != 0 or jnp.ndim(high) != 0:
            raise ValueError("the limits of integration in integrate_box_1d must be scalars")
        sigma = jnp.squeeze(jnp.sqrt(self.covariance))
        below, above = (jnp.squeeze((x - self.dataset) / sigma) for x in (low, high))
        return jnp.sum(self.weights * (ndtr(above) - ndtr(below)))

    def integrate_kde(self, other):
        """The integral of the product with another estimated density.

        Args:
          other: a `gaussian_kde` of the same dimension.

        Raises:
          ValueError: another dimension.
        """
        if other.d != self.d:
            raise ValueError("KDEs are not the same dimensionality")
        factor = cholesky(self.covariance + other.covariance)
        few, many = (self, other) if self.n < other.n else (other, self)
        products = vmap(lambda mean: _convolve(factor, many, mean), in_axes=1)(few.dataset)
        return jnp.sum(products * few.weights)

    def resample(self, key, shape=()):
        """Samples of the estimated density.

        Args:
          key: a random key.
          shape: a tuple of ints.

        Returns:
          an array of shape (d, *shape).
        """
        which_key, noise_key = random.split(key)
        which = random.choice(which_key, self.n, shape=shape, p=self.weights)
        mean = jnp.zeros(self.d, self.covariance.dtype)
        noise = random.multivariate_normal(noise_key, mean, self.covariance, shape=shape,
                                           dtype=self.dataset.dtype)
        return self.dataset[:, which] + noise.T

    def integrate_box(self, low_bounds, high_bounds, maxpts=None):
        """Not there, as in JAX."""
        raise NotImplementedError("only 1D box integrations are supported; use `integrate_box_1d`")

    def set_bandwidth(self, bw_method=None):
        """Not there, as in JAX: the object is immutable."""
        raise NotImplementedError("the bandwidth cannot be changed; make a new gaussian_kde")

    def _as_points(self, points):
        points = jnp.atleast_2d(points)
        _check_real(points)
        d, m = points.shape
        if d == self.d:
            return points
        if d == 1 and m == self.d:
            return jnp.reshape(points, (self.d, 1))
        raise ValueError(f"points have dimension {d}, dataset has dimension {self.d}")


def _check_real(points) -> None:
    if dtypes.issubdtype(typeof(points).dtype, np.complexfloating):
        raise NotImplementedError("gaussian_kde does not support complex numbers")


def _normalized(dataset, weights):
    """Both as floats, the weights of sum 1."""
    n = dataset.shape[1]
    if weights is None:
        (dataset,) = promote_dtypes_inexact(dataset)
        return dataset, jnp.full(n, 1.0 / n, dtype=dataset.dtype)
    check_arraylike("gaussian_kde", weights)
    dataset, weights = promote_dtypes_inexact(dataset, weights)
    weights = jnp.atleast_1d(weights)
    if weights.ndim != 1:
        raise ValueError("`weights` input should be one-dimensional.")
    if len(weights) != n:
        raise ValueError(f"`weights` input should be of length {n}; got {len(weights)}")
    return dataset, weights / jnp.sum(weights)


def _log_normalizer(diagonal):
    """log √det(2πC), of C = L Lᵀ, from the diagonal of L."""
    return jnp.sum(jnp.log(diagonal)) + 0.5 * len(diagonal) * math.log(2 * math.pi)


def _convolve(factor, kde, mean):
    """The mean over the dataset of normal densities around `mean`."""
    difference = kde.dataset - mean[:, None]
    whitened = triangular_solve(factor, difference, left_side=True, lower=True)
    exponents = -0.5 * jnp.sum(whitened**2, axis=0) - _log_normalizer(jnp.diag(factor))
    return jnp.sum(jnp.exp(exponents) * kde.weights)


@functools.partial(jit, static_argnums=0)
def _evaluate(in_log, kde, points):
    """The density at the columns of `points`, or its logarithm. The inverse covariance is L Lᵀ:
    after multiplication with Lᵀ, the kernels are round."""
    dataset, weights, points, inv_cov = promote_dtypes_inexact(
        kde.dataset, kde.weights, points, kde.inv_cov)
    whitening = cholesky(inv_cov)
    centers, points = dataset.T @ whitening, points.T @ whitening
    log_height = -_log_normalizer(1 / jnp.diag(whitening))

    def at_point(point):
        exponents = log_height - 0.5 * jnp.sum(jnp.square(centers - point[None]), axis=1)
        if in_log:
            return logsumexp(jnp.log(weights) + exponents)
        return jnp.sum(weights * jnp.exp(exponents))

    return vmap(at_point)(points)
