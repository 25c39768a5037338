"""Chapter 12: questions about types, and the way arrays are printed."""

import numpy as np

from ..core import dtypes
from ..core.boundary import public
from ..core.core import ArrayMethods, typeof
from ..lax import dtypes as lax_dtypes
from ._constructors import asarray


def iscomplexobj(x) -> bool:
    """Whether `x` has a complex dtype, whatever its values."""
    if isinstance(x, (complex, np.complexfloating)):
        return True
    if x is None or isinstance(x, (bool, int, float, str, np.generic)):
        return False
    return dtypes.issubdtype(x.dtype if hasattr(x, "dtype") else asarray(x).dtype,
                             np.complexfloating)


def isrealobj(x) -> bool:
    """Whether `x` does not have a complex dtype."""
    return not iscomplexobj(x)


def isscalar(element) -> bool:
    """Whether `element` is a number or an array without dimensions."""
    if np.isscalar(element):
        return True
    is_array = isinstance(element, (ArrayMethods, np.ndarray))
    return (is_array or hasattr(element, "__jax_array__")) and typeof(element).ndim == 0


def iterable(y) -> bool:
    """Whether `iter(y)` works."""
    return bool(np.iterable(y))


def issubdtype(arg1, arg2) -> bool:
    """Whether a dtype belongs to a family: `numpy.issubdtype`, extended to `bfloat16` and others.

    >>> issubdtype(jnp.bfloat16, jnp.floating)
    True
    """
    return dtypes.issubdtype(arg1, arg2)


@public
def result_type(*args) -> np.dtype:
    """The dtype that an operation on `args` (arrays, scalars, dtypes) gives.

    >>> result_type(jnp.int8, 2.0)
    dtype('float32')
    """
    return lax_dtypes.result_type(*args)


def get_printoptions() -> dict:
    """How arrays are printed: NumPy's options, which hold for our arrays as well as NumPy's."""
    return dict(np.get_printoptions())


@public
def set_printoptions(*args, **kwargs) -> None:
    """Change how arrays are printed; see `numpy.set_printoptions`."""
    np.set_printoptions(*args, **kwargs)


def printoptions(*args, **kwargs):
    """A context in which arrays are printed otherwise; see `numpy.printoptions`."""
    return np.printoptions(*args, **kwargs)
