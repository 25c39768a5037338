"""Chapter 9: `select_n`, an elementwise choice, with all its rules."""

import numpy as np

from ..checks import primitives as checks
from ..checks.tracebacks import hide_frames
from ..checks.transposition import linear
from ..core.batching import batch_size, bdim_at_front, primitive_batchers
from ..core.core import ShapedArray, typeof
from ..core.forward import Zero, primitive_jvps, zeros
from ..core.lowering import Body, Value, compare, register_lowering
from ..core.primitives import all_weak, broadcast_in_dim, make_primitive
from ..core.transposition import is_undefined_primal, primitive_transposes


def _type(which, *cases):
    checks.select_n(which, cases)
    return ShapedArray(cases[0].shape, cases[0].dtype, all_weak(cases))


def evaluate(which, *cases):
    """Booleans choose between two cases, integers among any number of them."""
    if which.dtype == bool:
        return cases[0] if len(cases) == 1 else np.where(which, cases[1], cases[0])
    result = cases[-1]
    for i in reversed(range(len(cases) - 1)):
        result = np.where(which <= i, cases[i], result)
    return result


select_n_p = make_primitive("select_n", _type, evaluate)


def select(pred, on_true, on_false):
    """Elementwise `on_true` where `pred`, else `on_false`."""
    return select_n_p.bind(pred, on_false, on_true)


def select_n(which, *cases):
    """Elementwise choice: `cases[which]`.

    Args:
      which: booleans (two cases) or integers in `[0, len(cases))`; a scalar, or the cases' shape.
      *cases: arrays of one shape and dtype.

    Raises:
      TypeError: shapes or dtypes that do not fit.
    """
    try:
        if not cases:
            raise ValueError("select_n() must have at least one case")
        return select_n_p.bind(which, *cases)
    except Exception as error:
        hide_frames(error)
        raise


def _jvp(primals, tangents):
    """Select among the tangents as among the cases. At least one of them is not zero."""
    which, *cases = primals
    out = select_n_p.bind(which, *cases)
    zero = zeros(typeof(next(t for t in tangents[1:] if type(t) is not Zero)))
    return out, select_n_p.bind(which, *(zero if type(t) is Zero else t for t in tangents[1:]))


def _ndim(x):
    return typeof(x).ndim


def _batch(args, dims):
    """Repeat as few operands as possible: those of one choice for all examples stay as they are."""
    (which, *cases), (which_dim, *case_dims) = args, dims
    alike = typeof(which).shape == typeof(cases[0]).shape and which_dim == case_dims[0]
    if len(set(case_dims)) == 1 and (alike or not _ndim(which)):
        return select_n_p.bind(*args), case_dims[0]
    size = batch_size(args, dims)
    if _ndim(which):
        which = bdim_at_front(which, which_dim, size)
    if any(map(_ndim, cases)):
        cases = [bdim_at_front(case, d, size) for case, d in zip(cases, case_dims)]
    rank = max(_ndim(which), _ndim(cases[0]))
    if _ndim(which):  # one choice for each example
        which = fill_trailing(which, typeof(cases[0]).shape, rank)
    cases = [fill_trailing(case, typeof(which).shape, rank) for case in cases]
    return select_n_p.bind(which, *cases), 0


def fill_trailing(x, shape: tuple[int, ...], rank: int):
    """`x`, repeated along trailing dimensions to `shape` if it has less than `rank`."""
    return x if _ndim(x) == rank else broadcast_in_dim(x, shape, range(_ndim(x)))


def emit_select(ctx: Body, which: Value, on_true: Value, on_false: Value) -> Value:
    """Append a choice between two operands of one type; `which` has their shape, or rank 0."""
    names = f"{which.name}, {on_true.name}, {on_false.name}"
    return ctx.op(f"stablehlo.select {names} : {which.type}, {on_true.type}", on_true.aval)


def _lower(ctx, which, *cases):
    if which.aval.dtype == np.bool_ and len(cases) == 2:
        return emit_select(ctx, which, cases[1], cases[0])
    *others, chosen = cases
    for i in reversed(range(len(others))):
        below = compare(ctx, "LT", which, ctx.constant(i + 1, which.aval))
        chosen = emit_select(ctx, below, others[i], chosen)
    return chosen


def _transpose(ct, which, *cases):
    """The cotangent of a case is zero where another case was selected."""
    linear(select_n_p, not is_undefined_primal(which))
    zero = zeros(typeof(ct))

    def chosen(i):
        return select_n_p.bind(which, *(ct if j == i else zero for j in range(len(cases))))

    return [None, *(chosen(i) if is_undefined_primal(x) else None for i, x in enumerate(cases))]


primitive_jvps[select_n_p] = _jvp
primitive_batchers[select_n_p] = _batch
register_lowering(select_n_p, _lower)
primitive_transposes[select_n_p] = _transpose
