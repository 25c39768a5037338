"""Constants, identities, and Python's scalars beside arrays.

The values of primitives are compared with JAX's in `products/test_primitives.py` and `edges/`, and
what they refuse is in `errors/bad_input/rows/lax.txt`.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from minijax import lax as ours_lax
from minijax.core.array import as_array
from minijax.core.primitives import add_any_p, constant, convert, stop_gradient_p
from minijax.lax.shaping import copy_p
from tests.core.same import BFLOAT16
from tests.oracle import both, jax

DTYPES = {"bool": np.bool_, "int8": np.int8, "uint8": np.uint8, "int32": np.int32, "uint32": np.uint32,
          "float16": np.float16, "bfloat16": BFLOAT16.type, "float32": np.float32, "complex64": np.complex64}


def array(shape, dtype=np.float32):
    values = (np.arange(np.prod(shape)) * 5 % 11).reshape(shape)
    return (values % 2 == 0 if dtype == np.bool_ else values.astype(dtype))


@pytest.mark.parametrize("function", [
    lambda lax: lax.reshape(array((2, 3)), (4,)),
    lambda lax: lax.slice(array((2, 3)), (0, 0), (2, 3), (0, 1)),
    lambda lax: lax.dynamic_slice(array((2, 3)), (0, 0), (1,))])
def test_refused_at_once_what_jax_refuses_later_or_by_accident(function):
    with pytest.raises((TypeError, ValueError, ZeroDivisionError)):
        jax.jit(lambda: function(jax.lax))()
    with pytest.raises(TypeError):
        function(ours_lax)


@pytest.mark.parametrize("primitive", [copy_p, stop_gradient_p])
def test_identities(primitive):
    x = as_array(np.float32([1, 2]))
    assert primitive.bind(x).tolist() == [1, 2] and primitive.bind(2.0).weak_type


def test_sums_of_tangents():
    strong, weak = as_array(np.float32(1)), constant(2, np.dtype(np.float32), True)
    for x, y in itertools.product((strong, weak), repeat=2):
        out = add_any_p.bind(x, y)
        assert out.weak_type == x.weak_type and out.item() == x.item() + y.item()


# -- Scalars and constants ----------------------------------------------------------------------


@pytest.mark.parametrize("scalar", [True, 2, 2.0, 2j])
@pytest.mark.parametrize("dtype", DTYPES)
def test_python_scalars_take_the_dtype_of_their_neighbour(dtype, scalar):
    x = array((3,), DTYPES[dtype])
    both(lambda jx: lambda x: jx.lax.mul(x, scalar), x)
    both(lambda jx: lambda x: jx.lax.max(scalar, x), x)


def test_padding_with_a_double_that_is_also_a_python_float():
    """With 64-bit types disabled it is a single, and no scalar of Python's."""
    both(lambda jx: lambda x: jx.lax.pad(x, np.float64(3), [(1, 0, 0)]), np.ones(2, np.float32))


def test_constants():
    x = constant(2.5, np.dtype(np.float32), True)
    assert (x.item(), x.weak_type, x.dtype) == (2.5, True, np.float32)
    assert constant(200, np.dtype(np.int8)).item() == -56
    with pytest.raises(OverflowError):
        constant(2**31, np.dtype(np.int8))
    with pytest.raises(TypeError, match="complex number cannot become"):
        constant(1j, np.dtype(np.float32))
    assert convert(x, x.dtype, True) is x
