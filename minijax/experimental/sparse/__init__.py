"""Sparse arrays: only some elements are stored, with their indices.

    util.py       small functions of indices, and of batch dimensions
    transform.py  `sparsify`, which runs a function of dense arrays on sparse ones
    bcoo.py       `BCOO`, batched coordinates, and all operations
    shaping.py    slices, concatenation, reshape for `BCOO`
    windows.py    slices at many places
    bcsr.py       `BCSR`, batched compressed rows, and new arrays of both classes
    ad.py         derivatives with respect to sparse arrays
    linalg.py     linear systems
    eigenvalues.py  the largest eigenvalues
"""

from .._sparse_checks import (
    CuSparseEfficiencyWarning, SparseEfficiencyError, SparseEfficiencyWarning)
from .transform import sparsify, todense, todense_p
from ._base import JAXSparse as JAXSparse
from .bcoo import (
    BCOO, bcoo_broadcast_in_dim, bcoo_dot_general, bcoo_extract, bcoo_fromdense,
    bcoo_multiply_dense, bcoo_reduce_sum, bcoo_sort_indices, bcoo_sum_duplicates, bcoo_todense,
    bcoo_transpose, bcoo_update_layout)
from .shaping import (
    bcoo_concatenate, bcoo_dot_general_sampled, bcoo_dynamic_slice, bcoo_multiply_sparse,
    bcoo_reshape, bcoo_rev, bcoo_slice, bcoo_squeeze)
from .bcsr import (
    BCSR, bcsr_broadcast_in_dim, bcsr_concatenate, bcsr_dot_general, bcsr_extract, bcsr_fromdense,
    bcsr_sum_duplicates, bcsr_todense, empty, eye, random_bcoo)
from .windows import bcoo_gather
from .ad import grad, jacfwd, jacrev, jacrev as jacobian, value_and_grad
from . import api, linalg, random, util
from ...compat.absent import with_absent_names as _with_absent_names

__getattr__ = _with_absent_names(__name__)
