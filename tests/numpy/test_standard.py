"""The Python array API standard, version 2024.12: everything it names is there.

https://data-apis.org/array-api/2024.12/API_specification/index.html
"""

from __future__ import annotations

import numpy as np
import pytest

import minijax.numpy as jnp
from tests.oracle import both

NAMES = """
e inf nan newaxis pi
arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like tril triu zeros
zeros_like
astype broadcast_arrays broadcast_to can_cast finfo iinfo isdtype result_type
bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128
abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_invert bitwise_or
bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh divide equal exp expm1 floor floor_divide greater
greater_equal hypot imag isfinite isinf isnan less less_equal log log1p log2 log10 logaddexp logical_and logical_not
logical_or logical_xor maximum minimum multiply negative nextafter not_equal positive pow real reciprocal remainder round
sign signbit sin sinh square sqrt subtract tan tanh trunc
take take_along_axis matmul matrix_transpose tensordot vecdot
broadcast_arrays broadcast_to concat expand_dims flip moveaxis permute_dims repeat reshape roll squeeze stack tile unstack
argmax argmin count_nonzero nonzero searchsorted where
unique_all unique_counts unique_inverse unique_values
argsort sort cumulative_prod cumulative_sum max mean min prod std sum var all any diff
__array_namespace_info__
""".split()

LINALG = """cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power matrix_rank matrix_transpose
outer pinv qr slogdet solve svd svdvals tensordot trace vecdot vector_norm""".split()

FFT = """fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft fftfreq rfftfreq fftshift ifftshift""".split()

METHODS = """__abs__ __add__ __and__ __array_namespace__ __bool__ __complex__ __dlpack__ __dlpack_device__ __eq__ __float__
__floordiv__ __ge__ __getitem__ __gt__ __index__ __int__ __invert__ __le__ __lshift__ __lt__ __matmul__ __mod__ __mul__
__ne__ __neg__ __or__ __pos__ __pow__ __rshift__ __setitem__ __sub__ __truediv__ __xor__ __radd__ __rsub__ __rmul__
__rtruediv__ __rfloordiv__ __rmod__ __rpow__ __rmatmul__ __rand__ __ror__ __rxor__ __rlshift__ __rrshift__ to_device
dtype device mT ndim shape size T""".split()


@pytest.mark.parametrize("namespace, names", [(jnp, NAMES), (jnp.linalg, LINALG), (jnp.fft, FFT),
                                              (jnp.ones(2), METHODS)])
def test_names(namespace, names):
    assert [name for name in names if not hasattr(type(namespace) if names is METHODS else namespace, name)] == []


def test_results_with_names():
    """Where the standard says so, results are named tuples with these fields."""
    x, m = jnp.array([3, 1, 1]), jnp.array([[2.0, 1.0], [1.0, 3.0]])
    for result, fields in [
        (jnp.unique_all(x), "values indices inverse_indices counts"), (jnp.unique_counts(x), "values counts"),
        (jnp.unique_inverse(x), "values inverse_indices"), (jnp.linalg.eigh(m), "eigenvalues eigenvectors"),
        (jnp.linalg.qr(m), "Q R"), (jnp.linalg.slogdet(m), "sign logabsdet"), (jnp.linalg.svd(m), "U S Vh"),
    ]:
        assert result._fields == tuple(fields.split())


# What the standard's suite asks beyond names, with JAX's answers.
BEHAVIOUR = """
[type(getattr(jnp.finfo('float32'), f)).__name__ for f in ('eps', 'max', 'min', 'smallest_normal', 'bits')]
[type(getattr(jnp.finfo(jnp.ones(1)), f)).__name__ for f in ('eps', 'max', 'min', 'smallest_normal', 'bits')]
jnp.permute_dims(jnp.arange(24).reshape(2, 3, 4), (-1, 0, 1))
jnp.permute_dims(jnp.arange(24).reshape(2, 3, 4), (2, -2, 0))
jnp.searchsorted(jnp.array([1, 2, 3], 'int8'), jnp.array([2.5, 0.0]))
jnp.searchsorted(jnp.array([1, 3, 2]), jnp.array([2]), side='right', sorter=jnp.array([0, 2, 1]))
[jnp.cumulative_prod(jnp.array([1, 2, 0], d), include_initial=True) for d in ('bool', 'int8', 'uint8', 'int16', 'float16')]
[jnp.cumulative_sum(jnp.array([1, 2, 0], d)) for d in ('bool', 'int8', 'uint8', 'int16', 'float16')]
jnp.expm1(jnp.array([complex(np.inf, 0), complex(np.nan, 0), complex(-np.inf, 0), complex(0.0, 0)]))
jax.jit(jnp.expm1)(jnp.array([complex(np.inf, 0), complex(np.nan, 0), complex(-np.inf, 0)]))
jnp.sign(jnp.array([0.0, -0.0, -np.inf, np.nan]))
jnp.floor_divide(jnp.array([0.0, -0.0, 0.0, -1.0]), jnp.array([1.0, 1.0, -1.0, np.inf]))
jnp.unique(jnp.zeros((0, 2), int), axis=0, return_inverse=True, size=2, fill_value=jnp.array([8, 9]))
""".strip().splitlines()


@pytest.mark.parametrize("text", BEHAVIOUR)
def test_behaviour(text):
    both(lambda jx: lambda: eval(text, {"jax": jx, "jnp": jx.numpy, "np": np}))
