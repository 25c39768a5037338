"""Chapter 11: reduction by any function: `reduce`, of one array or of several together.

The function combines two elements (of each array) into one, and is staged out to a jaxpr of
scalars. It must be associative, and the initial value its identity: nothing says in which order,
or how often, XLA applies them.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core import dtypes
from ..core.api import vmap
from ..core.batching import primitive_batchers
from ..core.boundary import public
from ..core.core import Primitive, ShapedArray, Tracer, typeof
from ..core.forward import Zero, instantiate_zeros, jvpfun, primitive_jvps
from ..core.jaxpr import ClosedJaxpr, jaxpr_as_fun
from ..core.lowering import Body, register_lowering
from ..core.primitives import convert
from ..core.staging import trace_to_jaxpr, weakref_cache
from ..core.tree import PyTreeDef, tree_flatten
from ..core.util import split_list
from . import bitwise, elementwise as prim, reductions
from .control_flow.common import Region, evaluate_compiled, op_with_regions, region_arguments
from .cutting import concatenate, slice_in_dim
from .families import all_at_front
from .out_shardings import call_sharded
from .reductions import lowest
from .shaping import full, squeeze
from .sizes import integers

# ----------------------------------------------------------------------------------------------
# The function, as a jaxpr

def reducer_jaxpr(name: str, computation: Callable, tree: PyTreeDef,
                  avals: tuple[ShapedArray, ...]) -> tuple[ClosedJaxpr, PyTreeDef]:
    """The jaxpr of a function of two trees of scalars, and the tree of its results.

    It is made once for a function and types, so that what was compiled for it is found again.

    Raises:
      NotImplementedError: the function closes over traced values.
      TypeError: it is not a function.
    """
    if not callable(computation):
        raise TypeError("A reduction's `computation` must be a function of two scalars, such as "
                        f"`lax.add`; got {computation!r}.")
    return _reducer_jaxpr(computation, name, tree, avals)


@weakref_cache
def _reducer_jaxpr(computation, name, tree, avals):
    def flat(*elements):
        x, y = split_list(elements, [len(avals)])
        return tree_flatten(computation(tree.unflatten(x), tree.unflatten(y)))

    closed, out_tree = trace_to_jaxpr(flat, (*avals, *avals))
    if any(isinstance(c, Tracer) for c in closed.consts):
        raise NotImplementedError("The function of a reduction cannot close over traced values.")
    if out_tree != tree:
        raise ValueError(f"{name} output must have the same tree structure as the operands: {tree} "
                         f"vs. {out_tree}")
    returned = [(out.shape, out.dtype) for out in closed.out_avals]
    if returned != [(aval.shape, aval.dtype) for aval in avals]:
        raise ValueError(
            "The function of a reduction must return scalars of the types of its first argument, "
            f"{_types_text(tree, avals)}, but it returned "
            f"{_types_text(out_tree, closed.out_avals)}.")
    return closed, out_tree


def _types_text(tree, avals):
    return str(tree.unflatten([aval.str_short(True) for aval in avals])).replace("'", "")


def check_trees(operand_tree: PyTreeDef, init_tree: PyTreeDef) -> None:
    """Raise `ValueError` unless there is an initial value for each operand."""
    if operand_tree != init_tree:
        raise ValueError("Operands must have the same tree structure as init_values: "
                         f"{operand_tree} vs. {init_tree}")


def known_scalar(x) -> Any:
    """The NumPy value of a scalar whose value is known, else `None`. A tracer is not looked into:
    if it is differentiated, the result depends on it even where it is neutral."""
    return None if isinstance(x, Tracer) or typeof(x).shape else np.asarray(x)[()]


def combining_region(ctx: Body, jaxpr: ClosedJaxpr) -> Region:
    """The region of an operation that combines elements by a jaxpr."""
    arguments = region_arguments(ctx, jaxpr.in_avals)
    return arguments, lambda: ctx.inline(jaxpr, arguments)


def pads_text(padding) -> str:
    """`dense<[[0, 1], [0, 0]]>`."""
    return f"dense<{[[*map(int, pair)] for pair in padding] if padding else ''}>"


def int_array(values: Sequence[int]) -> str:
    """`array<i64: 1, 2>`, an attribute."""
    return f"array<i64: {', '.join(map(str, values))}>" if values else "array<i64>"


# ----------------------------------------------------------------------------------------------
# The primitive


def _reduce_types(*avals, computation, jaxpr, dimensions):
    operands, inits = split_list(avals, [len(avals) // 2])
    if any(init.shape for init in inits):
        raise ValueError("reduce found non-scalar initial value: "
                         f"{[init.shape for init in inits]}")
    if [x.dtype for x in operands] != [init.dtype for init in inits]:
        raise TypeError("reduce operand dtypes should match corresponding initial value dtypes, "
                        f"got operands={operands} and initial_values={inits}")
    if len({x.shape for x in operands}) > 1:
        raise ValueError("reduce operands must have one shape, got "
                         f"{', '.join(x.str_short(True) for x in operands)}.")
    if any(d >= x.ndim for x in operands for d in dimensions):
        raise IndexError(f"reduce dimensions {dimensions} are out of bounds for operands of shapes "
                         f"{[x.shape for x in operands]}.")
    if any(d < 0 for d in dimensions) or len(set(dimensions)) < len(dimensions):
        raise ValueError(f"reduce dimensions must be nonnegative and different, got {dimensions}.")
    shapes = [tuple(n for d, n in enumerate(x.shape) if d not in dimensions) for x in operands]
    return [ShapedArray(shape, x.dtype, x.weak_type and init.weak_type)
            for shape, x, init in zip(shapes, operands, inits)]


def _evaluate(*args, **params):
    return evaluate_compiled(reduce_p, args, "jaxpr", params)


def _lower_reduce(ctx, *args, computation, jaxpr, dimensions):
    return op_with_regions(ctx, "stablehlo.reduce", args, ctx.avals_out,
                           combining_region(ctx, jaxpr),
                           attributes=f"dimensions = {int_array(dimensions)}")


reduce_p = Primitive("reduce", multiple_results=True)
reduce_p.def_abstract_eval(_reduce_types)
reduce_p.def_impl(_evaluate)
register_lowering(reduce_p, _lower_reduce)


@public
def reduce(operands, init_values, computation: Callable, dimensions: Sequence[int],
           out_sharding=None):
    """Arrays reduced over some dimensions by an associative function.

    Args:
      operands: an array, or a tree of arrays of one shape, which are reduced together.
      init_values: the identity of `computation`: a scalar for each array, of its dtype.
      computation: a function of two trees of scalars like `init_values`, which returns one.
      dimensions: which ones to reduce over.
      out_sharding: the sharding of the result, on a mesh with axes of type Explicit (chapter 14).

    Returns:
      a tree of arrays without these dimensions.

    Raises:
      ValueError: trees that differ; initial values that are no scalars; negative or repeated
        dimensions.
      IndexError: no such dimension.
      TypeError: initial values of other dtypes than the operands'.
      NotImplementedError: `computation` closes over traced values.

    >>> lax.reduce(jnp.arange(1, 5), 1, lambda x, y: x * y, (0,))
    Array(24, dtype=int32)
    >>> def largest(x, y):
    ...     return jax.tree.map(lambda a, b: jnp.where(x[0] >= y[0], a, b), x, y)
    >>> values, places = jnp.array([3.0, 7.0, 5.0]), jnp.arange(3)
    >>> [x.item() for x in lax.reduce((values, places), (-jnp.inf, -1), largest, (0,))]
    [7.0, 1]
    """
    if out_sharding is not None:
        return call_sharded(reduce, operands, init_values, computation, dimensions,
                            out_sharding=out_sharding)
    flat, tree = tree_flatten(operands)
    inits, init_tree = tree_flatten(init_values)
    check_trees(tree, init_tree)
    dimensions = integers("reduce: dimensions", dimensions)
    known = _known_reduction(computation, inits)
    if known is not None:
        weak = all(typeof(x).weak_type for x in (*flat, *inits))
        out = known(*flat, dimensions)
        return convert(out, typeof(out).dtype, weak)
    jaxpr, out_tree = reducer_jaxpr("reduce", computation, tree, tuple(map(typeof, inits)))
    outs = reduce_p.bind(*flat, *inits, computation=computation, jaxpr=jaxpr, dimensions=dimensions)
    return out_tree.unflatten(outs)


# function -> the reduction by it, its identity, and whether it is one of integers only
_KNOWN = {
    prim.add: (reductions.reduce_sum, lambda dtype: 0, False),
    prim.mul: (reductions.reduce_prod, lambda dtype: 1, False),
    prim.max: (reductions.reduce_max, lowest, False),
    prim.min: (reductions.reduce_min, reductions.highest, False),
    bitwise.bitwise_or: (reductions.reduce_or, lambda dtype: 0, True),
    bitwise.bitwise_xor: (reductions.reduce_xor, lambda dtype: 0, True),
    bitwise.bitwise_and: (reductions.reduce_and, lambda dtype: np.array(-1).astype(dtype), True),
}


def _known_reduction(computation, inits):
    """The `reduce_sum` … that this is, or `None`."""
    if len(inits) != 1 or computation not in _KNOWN or (value := known_scalar(inits[0])) is None:
        return None
    reduction, identity, integers = _KNOWN[computation]
    dtype = typeof(inits[0]).dtype
    if integers and dtypes.issubdtype(dtype, np.inexact):
        return None
    return reduction if value == identity(dtype) else None


# ----------------------------------------------------------------------------------------------
# Derivatives and batching


def _reduce_jvp(primals, tangents, *, computation, jaxpr, dimensions):
    """Differentiate a program that does the same in pairs."""
    operands, inits = split_list(primals, [len(primals) // 2])
    operand_tangents, init_tangents = split_list(tangents, [len(operands)])
    if any(type(t) is not Zero for t in init_tangents):
        raise NotImplementedError("reduce has no derivative in its initial values.")
    flat = [reductions.as_one_dimension(x, dimensions) for x in operands]
    tangents = [reductions.as_one_dimension(instantiate_zeros(t), dimensions)
                for t in operand_tangents]
    return jvpfun(functools.partial(_by_halves, jaxpr_as_fun(jaxpr), inits), flat, tangents)


def _by_halves(combine, inits, *xs):
    """Reduce the first dimension: combine the first half with the second until one is left, and
    this with the initial value, which may be another than the identity.

    XLA leaves the initial value out for a single element, and so do we. JAX leaves it out for any
    number, both of the tangent and of the value beside it.
    """
    size, *rest = typeof(xs[0]).shape
    starts = [full(rest, init) for init in inits]
    if size < 2:
        return [squeeze(x, (0,)) for x in xs] if size else starts
    rows = functools.reduce(lambda f, _: vmap(f), rest, combine)
    pairs = vmap(rows)
    while (n := typeof(xs[0]).shape[0]) > 1:
        half = n // 2
        left_over = [slice_in_dim(x, half, n - half) for x in xs]
        xs = pairs(*[slice_in_dim(x, 0, half) for x in xs],
                   *[slice_in_dim(x, n - half, n) for x in xs])
        if n % 2:
            xs = [concatenate(both, 0) for both in zip(xs, left_over)]
    return rows(*starts, *[squeeze(x, (0,)) for x in xs])


def _reduce_batching(args, dims, *, dimensions, **params):
    count = len(args) // 2
    if any(d is not None for d in dims[count:]):
        raise NotImplementedError("reduce cannot be batched in its initial values.")
    operands = all_at_front(args[:count], dims)
    outs = reduce_p.bind(*operands, *args[count:], **params,
                         dimensions=tuple([d + 1 for d in dimensions]))
    return outs, [0] * count


primitive_jvps[reduce_p] = _reduce_jvp
primitive_batchers[reduce_p] = _reduce_batching
