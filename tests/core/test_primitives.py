"""What the starter primitives refuse, constants, and Python's scalars beside arrays.

Their values are compared with JAX's in `tests/test_primitives.py` and `tests/test_edge_values.py`.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from minijax import lax as ours_lax
from minijax.core.array import as_array
from minijax.core.primitives import add_any_p, constant, convert, stop_gradient_p
from minijax.lax.shaping import copy_p
from tests.core.same import BFLOAT16, outcome
from tests.families import families
from tests.oracle import ask, both, jax

MODULES = families()
DTYPES = {"bool": np.bool_, "int8": np.int8, "uint8": np.uint8, "int32": np.int32, "uint32": np.uint32,
          "float16": np.float16, "bfloat16": BFLOAT16.type, "float32": np.float32, "complex64": np.complex64}


def array(shape, dtype=np.float32):
    values = (np.arange(np.prod(shape)) * 5 % 11).reshape(shape)
    return (values % 2 == 0 if dtype == np.bool_ else values.astype(dtype))


@pytest.mark.parametrize("function", [
    lambda lax: lax.reshape(F, (4,)),
    lambda lax: lax.slice(F, (0, 0), (2, 3), (0, 1)), lambda lax: lax.dynamic_slice(F, (0, 0), (1,))])
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


# -- What is refused: in JAX, by the compiler if not before ----------------------------------------------------------------------------

F, I, B = array((2, 3)), array((2, 3), np.int32), array((2, 3), np.bool_)
REFUSED = {
    "two dtypes": lambda lax: lax.add(F, I), "shapes": lambda lax: lax.add(F, F.T),
    "ranks": lambda lax: lax.add(F, F[0]), "sin of int": lambda lax: lax.sin(I),
    "neg of bool": lambda lax: lax.neg(B), "and of float": lambda lax: lax.bitwise_and(F, F),
    "shift of float": lambda lax: lax.shift_left(F, F), "shift of bool": lambda lax: lax.shift_left(B, B),
    "complex of int": lambda lax: lax.complex(I, I), "real of float": lambda lax: lax.real(F),
    "floor of complex": lambda lax: lax.floor(F + 1j), "lt of complex": lambda lax: lax.lt(F + 1j, F + 1j),
    "select of dtypes": lambda lax: lax.select(B, F, I), "select of shapes": lambda lax: lax.select(B, F, F.T),
    "select by float": lambda lax: lax.select(F, F, F), "select by shape": lambda lax: lax.select(B[0], F, F),
    "select of none": lambda lax: lax.select_n(B), "select of three by bool": lambda lax: lax.select_n(B, F, F, F),
    "clamp of dtypes": lambda lax: lax.clamp(0, F, 1), "clamp of shapes": lambda lax: lax.clamp(F[0], F, F),
    "integer_pow": lambda lax: lax.integer_pow(I, -1),
    "pow of ints": lambda lax: lax.pow(I, I), "pow of bools": lambda lax: lax.pow(F, B),
    "reshape negative": lambda lax: lax.reshape(F, (-1,)),
    "reshape order": lambda lax: lax.reshape(F, (6,), (0, 0)), "squeeze": lambda lax: lax.squeeze(F, (0,)),
    "squeeze outside": lambda lax: lax.squeeze(F, (5,)), "squeeze twice": lambda lax: lax.squeeze(F[:1], (0, 0)),
    "expand outside": lambda lax: lax.expand_dims(F, (7,)), "expand twice": lambda lax: lax.expand_dims(F, (0, 0)),
    "transpose": lambda lax: lax.transpose(F, (0,)), "transpose twice": lambda lax: lax.transpose(F, (0, 0)),
    "rev twice": lambda lax: lax.rev(F, (0, 0)), "rev outside": lambda lax: lax.rev(F, (2,)),
    "broadcast": lambda lax: lax.broadcast_in_dim(F, (2, 4), (0, 1)),
    "broadcast dims": lambda lax: lax.broadcast_in_dim(F, (2, 3), (0,)),
    "broadcast outside": lambda lax: lax.broadcast_in_dim(F, (2, 3), (0, 2)),
    "concatenate none": lambda lax: lax.concatenate([], 0), "concatenate dtypes": lambda lax: lax.concatenate([F, I], 0),
    "concatenate shapes": lambda lax: lax.concatenate([F, F.T], 0), "concatenate ranks": lambda lax: lax.concatenate([F, F[0]], 0),
    "concatenate outside": lambda lax: lax.concatenate([F, F], 2), "concatenate scalars": lambda lax: lax.concatenate([F[0, 0]], 0),
    "pad dtypes": lambda lax: lax.pad(F, 1, ((0, 0, 0), (0, 0, 0))), "pad rank": lambda lax: lax.pad(F, 0.0, ((0, 0, 0),)),
    "pad interior": lambda lax: lax.pad(F, 0.0, ((0, 0, -1), (0, 0, 0))), "pad too little": lambda lax: lax.pad(F, 0.0, ((-3, 0, 0), (0, 0, 0))),
    "split sizes": lambda lax: lax.split(F, (1, 3), 0), "split axis": lambda lax: lax.split(F, (1, 1), 2),
    "slice outside": lambda lax: lax.slice(F, (0, 0), (2, 4)), "slice backwards": lambda lax: lax.slice(F, (1, 0), (0, 3)),
    "slice negative": lambda lax: lax.slice(F, (-1, 0), (2, 3)), "slice rank": lambda lax: lax.slice(F, (0,), (2,)),
    "dynamic_slice rank": lambda lax: lax.dynamic_slice(F, (0,), (1, 1)),
    "dynamic_slice large": lambda lax: lax.dynamic_slice(F, (0, 0), (3, 1)), "dynamic_slice float": lambda lax: lax.dynamic_slice(F, (0.0, 0.0), (1, 1)),
    "update large": lambda lax: lax.dynamic_update_slice(F, array((3, 3)), (0, 0)),
    "update dtype": lambda lax: lax.dynamic_update_slice(F, I, (0, 0)), "update rank": lambda lax: lax.dynamic_update_slice(F, F[0], (0, 0)),
    "sum axis": lambda lax: lax.reduce_sum(F, (2,)), "sum twice": lambda lax: lax.reduce_sum(F, (0, 0)),
    "max of empty": lambda lax: lax.argmax(array((0, 2)), 0, np.int32), "argmax axis": lambda lax: lax.argmax(F, 2, np.int32),
    "argmax dtype": lambda lax: lax.argmax(F, 0, np.float32), "cumsum axis": lambda lax: lax.cumsum(F, 2),
    "cumsum negative": lambda lax: lax.cumsum(F, -1), "sum of bool": lambda lax: lax.reduce_sum(B, (0,)),
    "dot sizes": lambda lax: lax.dot(F, F), "dot dims": lambda lax: lax.dot_general(F, F, (((0,), (5,)), ((), ()))),
    "dot numbers": lambda lax: lax.dot_general(F, F, (((0, 1), (0,)), ((), ()))), "dot of scalars": lambda lax: lax.dot(1.0, 2.0),
    "dot twice": lambda lax: lax.dot_general(F, F, (((0, 0), (0, 0)), ((), ()))),
    "iota dimension": lambda lax: lax.broadcasted_iota(np.int32, (2, 3), 2), "iota negative": lambda lax: lax.iota(np.int32, -1),
    "iota of bool": lambda lax: lax.broadcasted_iota(bool, (2,), 0), "full of array": lambda lax: lax.full((2,), F),
    "a string": lambda lax: lax.neg("a"), "a list": lambda lax: lax.neg([1.0]), "None": lambda lax: lax.add(None, 1),
    "convert to text": lambda lax: lax.convert_element_type(F, "U3"), "convert to nonsense": lambda lax: lax.convert_element_type(F, "nonsense"),
    "round how": lambda lax: lax.round(I), "is_finite of int": lambda lax: lax.is_finite(I), "clamp of complex": lambda lax: lax.clamp(F + 1j, F + 1j, F + 1j),
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_the_class_of_error_that_jax_raises(name):
    want = ask(lambda: jax.eval_shape(lambda: REFUSED[name](jax.lax)))
    got = outcome(REFUSED[name], ours_lax)
    if isinstance(want, Exception):
        assert type(got).__name__ == type(want).__name__, f"{got!r}\nin JAX {want!r}"
        assert str(got)
    else:
        assert not isinstance(got, Exception), f"in JAX {want}"
        assert (got.shape, got.dtype) == (want.shape, want.dtype)


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
