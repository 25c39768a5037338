"""Chapter 15: the backward pass over references.

    get  : Ref a → a       transposed:  (ct of the reference)  +=  ct
    swap : Ref a, a → a    transposed:  ct of the new contents  =  swap(ct of the reference, ct)

The cotangent of a reference is held by a reference, which is changed in place. To read one element
of a large array in a loop then costs one addition a step in the backward pass, and no array of
zeros. `VJP.with_refs` gives such accumulators to arguments that are arrays.

The counterpart in JAX is `RefAccum` in `jax/_src/interpreters/ad.py`.
"""

from typing import Any

import numpy as np

from ..core.core import ShapedArray, typeof
from ..core.forward import Zero, instantiate_zeros, zeros
from ..core.primitives import filled
from ..core.transposition import UndefinedPrimal, accumulators, primitive_transposes
from ..lax.selection import select
from ..lax.shaping import iota
from . import checks
from .functions import addupdate, new_ref
from .indexing import may_repeat, read, write
from .primitives import addupdate_p, freeze_p, get_p, inner_type, new_ref_p, swap_p
from .refs import AbstractRef


class RefAccum(UndefinedPrimal):
    """A linear operand whose cotangent is added up in a reference.

    Args:
      aval: the operand's type: of a reference, or of an array.
      ref: a reference of the cotangent; without it, one is made when it is needed.
    """

    __slots__ = ("_ref",)

    def __init__(self, aval: Any, ref: Any = None):
        super().__init__(aval)
        self._ref = ref

    @property
    def ref(self) -> Any:
        """The reference."""
        if self._ref is None:
            self._ref = new_ref(zeros(inner_type(self.aval).to_cotangent_aval()))
        return self._ref

    @property
    def is_zero(self) -> bool:
        """Whether nothing has been added yet."""
        return self._ref is None

    def accum_at(self, index: Any, ct: Any) -> bool:
        """Add the cotangent of a part of the array."""
        addupdate(self.ref, index, ct)
        return True

    def accum(self, ct: Any) -> None:
        """Add a cotangent of the whole contents."""
        if ct is None or type(ct) is Zero:
            return
        if self.is_zero:
            self._ref = new_ref(ct)
        else:
            addupdate_p.bind(self._ref, ct, tree=())

    def freeze(self) -> Any:
        """The sum."""
        return Zero(inner_type(self.aval)) if self.is_zero else freeze_p.bind(self._ref)


accumulators[AbstractRef] = RefAccum

# ----------------------------------------------------------------------------------------------
# References


def _get_transpose(ct, ref, *operands, tree):
    checks.has_place(ref, RefAccum)
    if tree and type(ct) is not Zero:
        addupdate_p.bind(ref.ref, ct, *operands, tree=tree)
    else:
        ref.accum(ct)
    return [None, *(None for _ in operands)]


def _swap_transpose(ct, ref, value, *operands, tree):
    """Before the write, the contents did not matter for what came later. But they were returned."""
    checks.has_place(ref, RefAccum)
    no_more = [None] * len(operands)
    if ref.is_zero and type(ct) is Zero:
        return [None, None, *no_more]
    was_zero, ct = ref.is_zero, instantiate_zeros(ct)
    if not may_repeat(tree, operands):
        ct_value = swap_p.bind(ref.ref, ct, *operands, tree=tree)
    else:
        ct_value = _of_last(swap_p.bind(ref.ref, zeros(typeof(ct)), *operands, tree=tree),
                            ref.aval.shape, operands, tree)
        addupdate_p.bind(ref.ref, ct, *operands, tree=tree)
    return [None, None if was_zero else ct_value, *no_more]


def _of_last(ct, shape, operands, tree):
    """Zeros for what was written to an element that the same index selects again later."""
    number = iota(np.int32, ct.size).reshape(ct.shape)
    kept = read(write(filled(ShapedArray(shape, np.dtype("int32")), 0), tree, operands, number),
                tree, operands)
    return select(kept == number, ct, zeros(typeof(ct)))


def _addupdate_transpose(cts, ref, value, *operands, tree):
    checks.has_place(ref, RefAccum)
    ct_value = None if ref.is_zero else get_p.bind(ref.ref, *operands, tree=tree)
    return [None, ct_value, *(None for _ in operands)]


primitive_transposes.update({
    new_ref_p: lambda ct, x, **params: [ct],
    freeze_p: lambda ct, ref: [ct],
    get_p: _get_transpose,
    swap_p: _swap_transpose,
    addupdate_p: _addupdate_transpose,
})
