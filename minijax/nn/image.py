"""Chapter 13: images (arrays) of another size.

Resampling is linear and separable: along each dimension, every output is a weighted sum of inputs,
so that it is a product with a matrix of weights. Its columns are a kernel, centred at where the
output lies among the inputs; stretched, if the image shrinks, so that no input goes unseen
("antialias").
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Sequence

import numpy as np

from .. import numpy as jnp
from ..core.boundary import public
from ..core.primitives import canonical_axis
from ..lax.dtypes import result_type
from ..lax.precision import Precision
from ..lax.sizes import canonical_shape
from ..numpy._arguments import ensure_arraylike, promote_dtypes_inexact
from ..runtime.jit import jit

SMALLEST_SUM = 1000 * float(np.finfo(np.float32).eps)  # of weights that are still scaled to sum 1


class ResizeMethod(enum.Enum):
    """How to interpolate between the elements of an image.

    >>> ResizeMethod.from_string("bilinear").name
    'LINEAR'
    """

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5
    AREA = 6

    @staticmethod
    @public
    def from_string(s: str) -> ResizeMethod:
        """The method of this name.

        Raises:
          ValueError: no method has it.
        """
        for method, names in NAMES.items():
            if s in names:
                return method
        known = " ".join(name for names in NAMES.values() for name in names)
        raise ValueError(f'Unknown resize method "{s}"; there are {known}')


NAMES = {
    ResizeMethod.NEAREST: ("nearest",),
    ResizeMethod.LINEAR: ("linear", "bilinear", "trilinear", "triangle"),
    ResizeMethod.LANCZOS3: ("lanczos3",),
    ResizeMethod.LANCZOS5: ("lanczos5",),
    ResizeMethod.CUBIC: ("cubic", "bicubic", "tricubic"),
    ResizeMethod.CUBIC_PYTORCH: ("cubic-pytorch", "bicubic-pytorch"),
    ResizeMethod.AREA: ("area",),
}

# ----------------------------------------------------------------------------------------------
# Kernels: the weight of an input at a distance x ≥ 0 from the output


def _triangle(x):
    return jnp.maximum(0, 1 - jnp.abs(x))


def _lanczos(radius, x):
    """A sinc under a window, the middle of a wider sinc."""
    sines = radius * jnp.sin(np.pi * x) * jnp.sin(np.pi * x / radius)
    out = jnp.where(x > 1e-3, sines / jnp.where(x != 0, np.pi**2 * x**2, 1), 1)
    return jnp.where(x > radius, 0.0, out)


def _cubic(a, x):
    """Two cubic polynomials, which meet smoothly. Keys, "Cubic convolution interpolation for
    digital image processing", 1981."""
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return jnp.where(x >= 2, 0.0, jnp.where(x >= 1, far, near))


# method -> the radius of its kernel, and the kernel
KERNELS: dict[ResizeMethod, tuple[int, Callable]] = {
    ResizeMethod.LINEAR: (1, _triangle),
    ResizeMethod.LANCZOS3: (3, functools.partial(_lanczos, 3.0)),
    ResizeMethod.LANCZOS5: (5, functools.partial(_lanczos, 5.0)),
    ResizeMethod.CUBIC: (2, functools.partial(_cubic, -0.5)),
    ResizeMethod.CUBIC_PYTORCH: (2, functools.partial(_cubic, -0.75)),
}

# ----------------------------------------------------------------------------------------------
# Weights


def _weights(method: ResizeMethod, n: int, n_out: int, scale, translation, antialias: bool):
    """The matrix, of shape (n, n_out), from one dimension of the image to that of the result."""
    dtype = result_type(scale, translation)
    inverse = 1.0 / scale
    outputs = jnp.arange(n_out, dtype=dtype)
    if method is ResizeMethod.AREA:
        weights = _overlaps(n, outputs * inverse - translation * inverse, inverse)
        return _inside(_normalized(weights), n, _centres(outputs, inverse, translation))
    radius, kernel = KERNELS[method]
    stretch = jnp.maximum(inverse, 1.0) if antialias else 1.0
    centres = _centres(outputs, inverse, translation)
    if method is ResizeMethod.CUBIC_PYTORCH and not antialias:
        return _normalized(_with_edges(kernel, radius, n, centres))
    distances = jnp.abs(centres[None, :] - jnp.arange(n, dtype=dtype)[:, None])
    return _inside(_normalized(kernel(distances / stretch)), n, centres)


def _centres(outputs, inverse, translation):
    """Where the outputs lie among the inputs, whose middles are at whole numbers."""
    return (outputs + 0.5) * inverse - translation * inverse - 0.5


def _overlaps(n, left, width):
    """How much of each input an output covers, from `left` on."""
    inputs = jnp.arange(n, dtype=left.dtype)[:, None]
    return jnp.maximum(0.0, jnp.minimum(left + width, inputs + 1) - jnp.maximum(left, inputs))


def _with_edges(kernel, radius, n, centres):
    """The image goes on beyond its edges as there: the weights from beyond go to the edges."""
    places = jnp.arange(-radius, n + radius)
    weights = kernel(jnp.abs(centres[None, :] - places[:, None].astype(centres.dtype)))
    return jnp.zeros((n, len(centres)), weights.dtype).at[jnp.clip(places, 0, n - 1)].add(weights)


def _normalized(weights):
    """Of sum 1, if they have a sum."""
    total = jnp.sum(weights, axis=0, keepdims=True)
    scaled = weights / jnp.where(total != 0, total, 1)
    return jnp.where(jnp.abs(total) > SMALLEST_SUM, scaled, 0)


def _inside(weights, n, centres):
    """Outputs from outside of the image are zero."""
    return jnp.where(jnp.logical_and(centres >= -0.5, centres <= n - 0.5)[None, :], weights, 0)


# ----------------------------------------------------------------------------------------------
# The functions


def _as_method(method: str | ResizeMethod, antialias: bool) -> ResizeMethod:
    if isinstance(method, str):
        method = ResizeMethod.from_string(method)
    if not isinstance(method, ResizeMethod):
        raise ValueError(f"method must be a ResizeMethod or its name, got {method!r}.")
    if method is ResizeMethod.CUBIC_PYTORCH and antialias:
        return ResizeMethod.CUBIC
    return method


def _check_rank(image, shape) -> None:
    if len(shape) != image.ndim:
        raise ValueError("shape must have as many dimensions as the image; got "
                         f"{shape} for an image of shape {image.shape}")


def _resample(image, shape, dims, scale, translation, method, antialias, precision):
    """Products with the matrices of weights, all in one `einsum`."""
    if len(dims) == 0:
        return image
    operands, out = [image, list(range(image.ndim))], list(range(image.ndim))
    for i, dim in enumerate(dims):
        dim = canonical_axis(dim, image.ndim)
        weights = _weights(method, image.shape[dim], shape[dim], scale[i], translation[i],
                           antialias)
        out[dim] = image.ndim + i
        operands += [weights.astype(image.dtype), [dim, out[dim]]]
    return jnp.einsum(*operands, out, precision=precision)


@public
def scale_and_translate(image, shape: Sequence[int], spatial_dims: Sequence[int], scale,
                        translation, method: str | ResizeMethod, antialias: bool = True,
                        precision=Precision.HIGHEST):
    """An image, scaled and moved along some dimensions.

    An element at x goes to x · scale + translation, where elements are intervals of length 1 and
    the first begins at 0. What comes from outside of the image is zero. It is differentiable also
    by `scale` and `translation`.

    Args:
      image: an array.
      shape: of the result; as many dimensions as the image.
      spatial_dims: the dimensions to resample.
      scale, translation: a number for each of these, as vectors.
      method: a `ResizeMethod` or its name, not "nearest".
      antialias: whether to stretch the kernel if the scale is below 1.
      precision: of the products.

    Raises:
      ValueError: a shape of another length, an unknown method.

    >>> scale_and_translate(jnp.arange(3.0), (3,), (0,), jnp.ones(1), jnp.ones(1),
    ...                     "linear").tolist()
    [0.0, 0.0, 1.0]
    """
    shape = canonical_shape(shape)
    _check_rank(image, shape)
    method = _as_method(method, antialias)
    if not np.shape(scale) == np.shape(translation) == (len(spatial_dims),):
        raise ValueError("scale_and_translate: scale and translation must have a number for each "
                         f"of the spatial_dims {tuple(spatial_dims)}, got the shapes "
                         f"{np.shape(scale)} and {np.shape(translation)}.")
    if method is ResizeMethod.NEAREST:
        raise ValueError("scale_and_translate has no method 'nearest'; resize has")
    (image,) = promote_dtypes_inexact(image)
    scale, translation = promote_dtypes_inexact(scale, translation)
    return _resample(image, shape, spatial_dims, scale, translation, method, antialias, precision)


@public
def resize(image, shape: Sequence[int], method: str | ResizeMethod, antialias: bool = True,
           precision=Precision.HIGHEST):
    """An image, resized to another shape.

    Args:
      image: an array.
      shape: of the result; as many dimensions as the image.
      method: a `ResizeMethod`, or its name: "nearest", "linear" (or "bilinear" …), "cubic",
        "lanczos3", "lanczos5", "cubic-pytorch", "area".
      antialias: whether to average over what vanishes where the image shrinks.
      precision: of the products.

    Returns:
      an array of that shape; for integers, and but for "nearest", of the default floating dtype.

    Raises:
      ValueError: a shape of another length, an unknown method.

    >>> resize(jnp.arange(4.0), (2,), "linear").round(3).tolist()
    [0.7139999866485596, 2.2860000133514404]
    """
    return _resize(image, canonical_shape(shape), method, antialias, precision)


@jit(static_argnames=("shape", "method", "antialias", "precision"))
def _resize(image, shape, method, antialias, precision):
    image = ensure_arraylike("resize", image)
    _check_rank(image, shape)
    method = _as_method(method, antialias)
    if method is ResizeMethod.NEAREST:
        return _resize_nearest(image, shape)
    (image,) = promote_dtypes_inexact(image)
    dims = [d for d in range(image.ndim) if image.shape[d] != shape[d]]
    scale = [shape[d] / image.shape[d] if shape[d] else 1.0 for d in dims]
    return _resample(image, shape, dims, scale, [0.0] * len(dims), method, antialias, precision)


def _resize_nearest(image, shape):
    for d, (n, n_out) in enumerate(zip(image.shape, shape)):
        if n != n_out:
            places = jnp.floor((jnp.arange(n_out, dtype=np.float32) + 0.5) * n / n_out)
            image = image[(slice(None),) * d + (places.astype(np.int32),)]
    return image
