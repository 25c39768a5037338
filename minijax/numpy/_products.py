"""Chapter 12: products of vectors, matrices and tensors: all are one `dot_general`."""

import math

from ..core.boundary import public
from ..lax.elementwise import mul
from ..lax.operators import is_plain_product, matmul, multiply, plain_product, type_of_product
from ..lax.products import dot_general
from ..lax.shaping import expand_dims, reshape
from ..lax.sizes import size_along
from ._arguments import (
    canonical_axis,
    check_arraylike,
    check_no_out,
    complex_input,
    convert,
    ensure_arraylikes,
    promote_dtypes,
)
from ._constructors import array, zeros_like
from ._shaping import moveaxis, ravel
from ._staged import staged
from ._ufuncs import conj
from ._vectorize import vectorize


def contract(a, b, numbers, precision, preferred_element_type, name="dot", out_sharding=None):
    """`dot_general` of arrays of different types; the result's type is that of a promotion."""
    dtype, weak_type = type_of_product(name, a, b, preferred_element_type)
    out = dot_general(a, b, numbers, precision, dtype, out_sharding=out_sharding)
    return convert(out, dtype, weak_type)


@public
def dot(a, b, *, precision=None, preferred_element_type=None, out_sharding=None):
    """The product over the last dimension of `a` and the last but one of `b` (the only, if it is
    a vector); with scalars, the plain product.

    Args:
      a, b: arrays.
      precision, preferred_element_type, out_sharding: as for `lax.dot_general`.

    Raises:
      TypeError: shapes that do not fit.

    >>> dot(jnp.ones((2, 3)), jnp.ones((4, 3, 5))).shape
    (2, 4, 5)
    """
    if precision is preferred_element_type is out_sharding is None:
        return plain_product(a, b) if is_plain_product(a, b) else _dot(a, b)
    return _dot(a, b, precision, preferred_element_type, out_sharding)


def _dot(a, b, precision=None, preferred_element_type=None, out_sharding=None):
    a, b = ensure_arraylikes("dot", a, b)
    if a.ndim == 0 or b.ndim == 0:
        dims = ((), ())
    else:
        dims = ((a.ndim - 1,), (max(b.ndim - 2, 0),))
    return contract(a, b, (dims, ((), ())), precision, preferred_element_type,
                    out_sharding=out_sharding)


@staged
def matvec(x1, x2, /):
    """The products of matrices `(…, n, m)` and vectors `(…, m)`.

    Raises:
      ValueError: shapes that do not fit.
    """
    x1, x2 = ensure_arraylikes("matvec", x1, x2)
    return vectorize(matmul, signature="(n,m),(m)->(n)")(x1, x2)


@staged
def vecmat(x1, x2, /):
    """The products of the conjugates of vectors `(…, n)` and matrices `(…, n, m)`."""
    x1, x2 = ensure_arraylikes("matvec", x1, x2)
    return vectorize(matmul, signature="(n),(n,m)->(m)")(conj(x1), x2)


@public
def vdot(a, b, *, precision=None, preferred_element_type=None):
    """The inner product of all elements, those of `a` conjugated.

    Raises:
      TypeError: different numbers of elements.
    """
    a, b = ensure_arraylikes("vdot", a, b)
    a = conj(a) if complex_input(a) else a
    return dot(ravel(a), ravel(b), precision=precision,
               preferred_element_type=preferred_element_type)


@public
def vecdot(x1, x2, /, *, axis: int = -1, precision=None, preferred_element_type=None):
    """The inner products of the vectors along an axis, those of `x1` conjugated.

    Raises:
      ValueError: different sizes of that axis.
    """
    x1, x2 = ensure_arraylikes("jnp.vecdot", x1, x2)
    if size_along("vecdot", x1.shape, axis) != size_along("vecdot", x2.shape, axis):
        raise ValueError(f"axes must match; got shapes {x1.shape} and {x2.shape} with {axis=}")

    def inner_product(x, y):
        return vdot(x, y, precision=precision, preferred_element_type=preferred_element_type)

    return vectorize(inner_product, signature="(n),(n)->()")(
        moveaxis(x1, axis, -1), moveaxis(x2, axis, -1))


@public
def tensordot(a, b, axes=2, *, precision=None, preferred_element_type=None, out_sharding=None):
    """The sum of products over several dimensions.

    Args:
      a, b: arrays.
      axes: how many of the last dimensions of `a` to contract with the first of `b`; or a pair of
        ints, or of sequences of ints: which of `a` with which of `b`.
      precision, preferred_element_type, out_sharding: as for `lax.dot_general`.

    Raises:
      TypeError: axes and shapes that do not fit.
    """
    a, b = ensure_arraylikes("tensordot", a, b)
    return contract(a, b, (_tensordot_dims(a, b, axes), ((), ())), precision,
                    preferred_element_type, "tensordot", out_sharding)


def _tensordot_dims(a, b, axes):
    """The contracting dimensions of both operands."""
    if type(axes) is int:
        if axes > min(a.ndim, b.ndim):
            raise TypeError(f"Number of tensordot axes (axes {axes}) exceeds input ranks "
                            f"({a.shape} and {b.shape})")
        return tuple(range(a.ndim - axes, a.ndim)), tuple(range(axes))
    if not isinstance(axes, (tuple, list)) or len(axes) != 2:
        raise TypeError("tensordot axes argument must be an int, a pair of ints, or a pair of "
                        f"lists/tuples of ints, got {axes!r}.")
    left, right = ((x,) if isinstance(x, int) else x for x in axes)
    if not all(isinstance(x, (tuple, list)) for x in (left, right)) \
            or isinstance(axes[0], int) != isinstance(axes[1], int):
        raise TypeError("tensordot requires both axes lists to be either ints, tuples or lists, "
                        f"got {axes[0]} and {axes[1]}.")
    if len(left) != len(right):
        raise TypeError("tensordot requires axes lists to have equal length, got "
                        f"{axes[0]} and {axes[1]}.")
    return (tuple(canonical_axis(d, a.ndim) for d in left),
            tuple(canonical_axis(d, b.ndim) for d in right))


@public
def inner(a, b, *, precision=None, preferred_element_type=None):
    """The sum of products over the last dimensions; with scalars, the plain product."""
    a, b = ensure_arraylikes("inner", a, b)
    if a.ndim == 0 or b.ndim == 0:
        if preferred_element_type is not None:
            a, b = a.astype(preferred_element_type), b.astype(preferred_element_type)
        return multiply(a, b)
    return tensordot(a, b, (-1, -1), precision=precision,
                     preferred_element_type=preferred_element_type)


@public
def outer(a, b, out=None):
    """All products of an element of `a` and one of `b`, as a matrix."""
    check_no_out("outer", out)
    a, b = promote_dtypes(*ensure_arraylikes("outer", a, b))
    return multiply(expand_dims(ravel(a), (1,)), expand_dims(ravel(b), (0,)))


@staged(eager=False)
def kron(a, b):
    """The Kronecker product: each element of `a` times the whole of `b`."""
    a, b = promote_dtypes(*ensure_arraylikes("kron", a, b))
    ndim = max(a.ndim, b.ndim)
    a, b = (expand_dims(x, range(ndim - x.ndim)) if x.ndim < ndim else x for x in (a, b))
    blocks = mul(expand_dims(a, range(1, 2 * ndim, 2)), expand_dims(b, range(0, 2 * ndim, 2)))
    return reshape(blocks, [math.prod(sizes) for sizes in zip(a.shape, b.shape)])


@staged(static_argnames=("axisa", "axisb", "axisc", "axis"), eager=False)
def cross(a, b, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None):
    """The cross product of vectors of two or three components.

    Args:
      a, b: arrays of vectors.
      axisa, axisb, axisc: the dimensions of the components in `a`, `b` and the result.
      axis: all three at once.

    Raises:
      ValueError: vectors of another size.
    """
    check_arraylike("cross", a, b)
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = moveaxis(a, axisa, -1), moveaxis(b, axisb, -1)
    if a.shape[-1] not in (2, 3) or b.shape[-1] not in (2, 3):
        raise ValueError("cross: vectors must have 2 or 3 elements, got "
                         f"{a.shape[-1]} and {b.shape[-1]}.")
    if a.shape[-1] == b.shape[-1] == 2:
        return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    a0, a1, a2 = _components(a)
    b0, b1, b2 = _components(b)
    c = array([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0])
    return moveaxis(c, 0, axisc)


def _components(v):
    """The three components of a vector; the third of a plane one is zero."""
    first, second = v[..., 0], v[..., 1]
    return first, second, v[..., 2] if v.shape[-1] == 3 else zeros_like(first)
