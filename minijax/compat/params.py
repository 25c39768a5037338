"""What JAX's starter primitives can be asked for: rows of `optional.py`."""

from __future__ import annotations

from ..core.primitives import (
    broadcast_in_dim_p,
    convert_element_type_p,
    dot_general_p,
    mul_p,
    reduce_sum_p,
    reshape_p,
)
from ..optional import may_be_asked

for primitive in (broadcast_in_dim_p, convert_element_type_p, reshape_p):
    may_be_asked(primitive, "sharding")
for primitive in (dot_general_p, reduce_sum_p):
    may_be_asked(primitive, "out_sharding")
may_be_asked(mul_p, "out_dtype")
