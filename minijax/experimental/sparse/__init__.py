"""Sparse arrays: only some elements are stored, with their indices.

    bcoo.py       `BCOO`, batched coordinates; all operations
    bcsr.py       `BCSR`, batched compressed rows
    transform.py  `sparsify`, which runs a function of dense arrays on sparse ones
    ad.py         derivatives with respect to sparse arrays
    api.py        new arrays; linalg.py: linear systems
"""

from ...checks.sparse import (
    CuSparseEfficiencyWarning, SparseEfficiencyError, SparseEfficiencyWarning)
from .bcoo import (
    BCOO, JAXSparse, bcoo_broadcast_in_dim, bcoo_dot_general, bcoo_fromdense, bcoo_multiply_dense,
    bcoo_multiply_sparse, bcoo_reduce_sum, bcoo_sort_indices, bcoo_squeeze, bcoo_sum_duplicates,
    bcoo_todense, bcoo_transpose)
from .bcsr import BCSR, bcsr_dot_general, bcsr_fromdense, bcsr_sum_duplicates, bcsr_todense
from .transform import sparsify, todense_p
from .api import empty, eye, random_bcoo, todense
from .ad import grad, jacfwd, jacobian, jacrev, value_and_grad
from . import linalg
