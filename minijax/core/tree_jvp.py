"""Chapter 3: `jvp` for functions of pytrees."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..checks.tree import aux_pair, keystr, leaves_with_path
from ..errors import api_boundary
from . import dtypes
from . import primitives as lax
from .api_util import argument_avals, check_callable, leaf_names
from .array import owned
from .core import ArrayMethods, state, typeof
from .forward import JVPTracer, Zero, instantiate_zeros, jvp_flat
from .primitives import stop_gradient_p
from .tree import flatten_fun_nokwargs, tree_flatten, tree_map, tree_structure


@api_boundary
def jvp(fun: Callable, primals: Sequence, tangents: Sequence, has_aux: bool = False) -> Any:
    """The value of `fun` and its derivative in a direction, computed together (forward mode).

    Args:
      fun: a function of pytrees of arrays that returns one; or a pair (result, aux) if `has_aux`.
      primals: the arguments, a tuple or a list.
      tangents: the direction, in the structure, shapes and dtypes of `primals`; for integer and
        boolean arguments arrays of dtype `float0`.
      has_aux: whether `fun` also returns auxiliary data, which is not differentiated.

    Returns:
      `(primals_out, tangents_out)`, or `(primals_out, tangents_out, aux)`.

    Raises:
      TypeError: tangents that do not fit the primals.

    >>> jvp(lambda x: x * x, (3.0,), (1.0,))
    (Array(9., dtype=float32, weak_type=True), Array(6., dtype=float32, weak_type=True))
    """
    check_callable(fun)
    flat_primals, flat_tangents, in_tree = _flatten_pair(primals, tangents)
    fun, aux = without_aux(fun, has_aux)
    flat_fun, out_tree = flatten_fun_nokwargs(fun, in_tree)
    outs, out_tangents = jvp_flat(flat_fun, flat_primals, flat_tangents)
    return (*_unflatten_pair(out_tree(), outs, out_tangents), *aux)


def without_aux(fun: Callable, has_aux: bool) -> tuple[Callable, list]:
    """`fun` without its auxiliary data, and a list that receives them when it is called."""
    if not has_aux:
        return fun, []
    received: list = []

    def fun_without_aux(*args):
        result = fun(*args)
        aux_pair(result)
        out, aux = result
        received[:] = [tree_map(functools.partial(_primal_in, state.trace), aux)]
        return out

    return fun_without_aux, received


def _primal_in(trace, x):
    """`x` as it is outside of the differentiation `trace`: without its tangent."""
    return x.primal if isinstance(x, JVPTracer) and x._trace is trace else x


def _flatten_pair(primals, tangents):
    """The leaves of both, checked to be alike."""
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError(
            "primal and tangent arguments to jax.jvp must be tuples or lists; found "
            f"{type(primals).__name__} and {type(tangents).__name__}."
        )
    paths_and_primals = [*leaves_with_path(tuple(primals))]
    in_tree = tree_structure(tuple(primals))
    flat_tangents, tangent_tree = tree_flatten(tuple(tangents))
    if in_tree != tangent_tree or isinstance(primals, tuple) != isinstance(tangents, tuple):
        raise TypeError(
            "primal and tangent arguments to jax.jvp must have the same tree structure; primals "
            f"are a {type(primals).__name__} of tree structure {in_tree} whereas tangents are a "
            f"{type(tangents).__name__} of tree structure {tangent_tree}."
        )
    argument_avals([x for _, x in paths_and_primals], "jvp", lambda: leaf_names("primals", primals))
    argument_avals(flat_tangents, "jvp", lambda: leaf_names("tangents", tangents))
    for (path, primal), tangent in zip(paths_and_primals, flat_tangents):
        _check_tangent(path, primal, tangent)
    flat_primals = [owned(primal) for _, primal in paths_and_primals]
    return flat_primals, [*map(_as_tangent, flat_primals, flat_tangents)], in_tree


def _as_tangent(primal, tangent):
    """The tangent as the trace wants it: no array if it must be zero.

    A NumPy tangent of a weakly typed primal becomes weak too, as in JAX.
    """
    aval = typeof(primal).to_tangent_aval()
    if aval.dtype == dtypes.float0:
        return Zero(aval)
    if aval.weak_type and not isinstance(tangent, ArrayMethods):
        return lax.constant(tangent, aval.dtype, True)
    return owned(tangent)


def _check_tangent(path, primal, tangent):
    wanted, got = typeof(primal).to_tangent_aval(), typeof(tangent)
    if wanted.dtype != got.dtype:
        raise TypeError(
            "primal and tangent arguments to jax.jvp do not match; dtypes must be equal, or in "
            "case of int/bool primal dtype the tangent dtype must be float0. Got primal dtype "
            f"{typeof(primal).dtype.name} and so expected tangent dtype {wanted.dtype}, but got "
            f"tangent dtype {got.dtype} instead, at primals{keystr(path)}."
        )
    if wanted.shape != got.shape:
        raise ValueError(
            f"jvp called with different primal and tangent shapes; Got primal shape {wanted.shape} "
            f"and tangent shape as {got.shape}, at primals{keystr(path)}."
        )


def _unflatten_pair(out_tree, outs, out_tangents):
    return out_tree.unflatten(outs), out_tree.unflatten(map(instantiate_zeros, out_tangents))


def stop_gradient(x: Any) -> Any:
    """`x`, seen as a constant by every derivative.

    Args:
      x: a pytree of arrays.

    >>> jvp(stop_gradient, (3.0,), (1.0,))
    (Array(3., dtype=float32, weak_type=True), Array(0., dtype=float32, weak_type=True))
    """
    return tree_map(stop_gradient_p.bind, x)
