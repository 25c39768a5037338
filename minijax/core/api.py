"""Chapters 3 to 8: the transformations as users call them, on functions of pytrees.

    jvp        : (a → b) → (a, T a) → (b, T b)         the value, and one directional derivative
    vmap       : (a → b) → (n × a → n × b)             many examples at once
    make_jaxpr : (a → b) → a → jaxpr                   the program
    linearize  : (a → b) → a → (b, T a ⊸ T b)          the value, and all directional derivatives
    vjp        : (a → b) → a → (b, T* b ⊸ T* a)        the value, and the transpose of those
    grad       : (a → ℝ) → (a → T* a)                  the gradient

Each one flattens its arguments, hands the flat function to the machinery of its chapter, and
unflattens the results. The file is cut by chapter, so each section begins with its own imports.
The counterpart in JAX is `jax/_src/api.py`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from operator import index
from typing import Any, NamedTuple

import numpy as np

# chapter 3

from ..checks import api as checks
from ..checks.arguments import check_callable
from ..source import transformed
from . import dtypes
from .api_util import flatten_fun_nokwargs, without_aux
from .array import as_array
from .boundary import api_boundary
from .core import typeof
from .forward import Zero, instantiate_zeros, jvpfun
from .primitives import constant, ensure_array, stop_gradient_p
from .tree import PyTreeDef, tree_flatten, tree_leaves, tree_map

# ----------------------------------------------------------------------------------------------
# jvp


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
      TypeError: the tangents do not fit the primals.

    >>> jvp(lambda x: x * x, (3.0,), (1.0,))
    (Array(9., dtype=float32, weak_type=True), Array(6., dtype=float32, weak_type=True))
    """
    check_callable(fun)
    checks.jvp_arguments(primals, tangents)
    leaves, in_tree = _flatten_owned(tuple(primals))
    direction = map(_as_tangent, leaves, tree_leaves(tuple(tangents)))
    fun, aux = without_aux(transformed("jvp", fun), has_aux)
    flat_fun, out_tree = flatten_fun_nokwargs(fun, in_tree)
    outs, out_tangents = jvpfun(flat_fun, leaves, [*direction])
    tangents_out = out_tree().unflatten(map(instantiate_zeros, out_tangents))
    return (out_tree().unflatten(outs), tangents_out, *aux)


def _flatten_owned(tree) -> tuple[list, PyTreeDef]:
    """`tree_flatten`, with NumPy arrays copied: derivatives keep them longer than the call."""
    leaves, treedef = tree_flatten(tree)
    return [ensure_array(x) if isinstance(x, np.ndarray) else x for x in leaves], treedef


def _as_tangent(primal, tangent):
    """The tangent in the form that the trace expects: a `Zero` if it must be zero.

    A number or a NumPy array becomes as weakly typed as the primal, as in JAX.
    """
    aval = typeof(primal).to_tangent_aval()
    if aval.dtype == dtypes.float0:
        return Zero(aval)
    if hasattr(tangent, "aval") or getattr(aval, "is_high", False):
        return tangent
    return constant(as_array(tangent), aval.dtype, aval.weak_type)


def stop_gradient(x: Any) -> Any:
    """`x`, a constant for every derivative.

    Args:
      x: a pytree of arrays.

    >>> jvp(stop_gradient, (3.0,), (1.0,))
    (Array(3., dtype=float32, weak_type=True), Array(0., dtype=float32, weak_type=True))
    """
    return tree_map(stop_gradient_p.bind, x)


# chapter 4

from ..source import wraps
from .batching import AxisData, batch_subtrace, containers, matchaxis, spec_types
from .boundary import public
from .extension import hooks
from .placements import placements
from .api_util import flatten_axes, flatten_fun

# ----------------------------------------------------------------------------------------------
# vmap


@public
def vmap(fun: Callable, in_axes: Any = 0, out_axes: Any = 0, axis_name: Hashable | None = None,
         axis_size: int | None = None, spmd_axis_name: Hashable | None = None) -> Callable:
    """Turn a function of one example into a function of many, without a loop.

    Args:
      fun: takes and returns pytrees of arrays.
      in_axes: which dimension of each argument counts the examples; `None`: the argument is the
        same for all. An int for all positional arguments, or a tuple with an entry for each, which
        may be a pytree (a prefix of the argument). Negative axes count from the end. Arguments
        passed by keyword are always mapped over their first dimension.
      out_axes: where that dimension is to be in the results, in the same manner. `None` is only
        for results that are the same for all examples; with an int, those are repeated.
      axis_name: a name for the axis, for operations across examples (and `lax.axis_size`).
      axis_size: the number of examples; needed only if no argument determines it.
      spmd_axis_name: the axis of a mesh over which sharding constraints split the batch dimension
        (chapter 14).

    Returns:
      a function of the same arguments, each with one more dimension.

    Raises:
      TypeError: an axis is not an int or `None`; an argument or a result is not an array.
      ValueError: the axes do not fit the arguments; sizes disagree (the message names the
        arguments); there is nothing to map over; `None` in `out_axes` for a result that differs by
        example.

    >>> import minijax as jax
    >>> dot = lambda x, y: jax.numpy.dot(x, y)
    >>> matvec = jax.vmap(dot, in_axes=(0, None))
    >>> matvec(jax.numpy.eye(2), jax.numpy.array([3.0, 4.0])).tolist()
    [3.0, 4.0]
    """
    check_callable(fun)
    in_axes = tuple(in_axes) if isinstance(in_axes, list) else in_axes
    checks.vmap_axes(in_axes, out_axes, spec_types)

    @wraps(fun, "Vectorized version of {fun}: arrays have one more dimension.")
    @api_boundary
    def vmap_f(*args, **kwargs):
        checks.vmap_arguments(in_axes, args)
        for container in containers.values():  # the first one takes over, if there is any
            return container.vmap(fun, args, kwargs, in_axes, out_axes,
                                  AxisData(axis_name, axis_size, spmd_axis_name))
        leaves, in_tree = tree_flatten((args, kwargs))
        axes = flatten_axes("vmap in_axes", in_tree, (in_axes, 0), kws=True)
        checks.vmap_sizes(fun, args, kwargs, leaves, axes, axis_size)
        axis_data = AxisData(axis_name, _mapped_axis_size(leaves, axes, axis_size), spmd_axis_name)
        in_dims = [None if d is None else d % typeof(x).ndim for x, d in zip(leaves, axes)]
        axis_data = placements().of_batch(axis_data, in_dims, leaves)
        flat_fun, out_tree = flatten_fun(transformed("vmap", fun), in_tree)
        outs, out_dims = batch_subtrace(flat_fun, axis_data, in_dims, leaves)
        result = out_tree()
        destinations = flatten_axes("vmap out_axes", result, out_axes)
        checks.vmap_results(outs, out_dims, destinations, result)
        place = functools.partial(transformed("vmap", matchaxis), axis_data)
        return result.unflatten([*map(place, out_dims, destinations, outs)])

    return vmap_f


def _mapped_axis_size(leaves, axes, axis_size):
    """The number of examples."""
    if axis_size is not None:
        return index(axis_size)
    return next(typeof(x).shape[d] for x, d in zip(leaves, axes) if d is not None)


# chapter 5

from ..source import fun_sourceinfo
from .batching import extend_axis_env_nd
from .jaxpr import ClosedJaxpr
from .staging import owned, shapes_only
from .traced import Options, TracedFunction

# ----------------------------------------------------------------------------------------------
# make_jaxpr and eval_shape


@public
def make_jaxpr(fun: Callable, static_argnums=(), axis_env=None, return_shape: bool = False,
               static_argnames=()) -> Callable:
    """A function that returns the jaxpr of `fun` instead of computing it.

    Like a jitted function, `fun` is traced once for arguments of the same structure and types.

    Args:
      fun: a function of pytrees of arrays that returns one.
      static_argnums, static_argnames: positions and names of the arguments that are not traced.
      axis_env: pairs (name, size) of named axes in scope.
      return_shape: whether to return the pair of the jaxpr and `eval_shape`'s result.

    Returns:
      a function that, called with arguments for `fun` (arrays, numbers or `ShapeDtypeStruct`s),
      returns a `ClosedJaxpr`.

    Raises:
      TypeError: an argument is not an array or a number.

    >>> make_jaxpr(lambda x: x * 2)(1.0)
    { lambda ; a:f32[]. let b:f32[] = mul a 2.0:f32[] in (b,) }
    """
    check_callable(fun)
    static = static_argnums, static_argnames
    for static_arguments in hooks.static_arguments:
        static = static_arguments(fun, *static)
    traced = TracedFunction(fun, Options(*static))

    @api_boundary
    @wraps(fun)
    def make_jaxpr_f(*args, **kwargs):
        with extend_axis_env_nd(axis_env or ()):
            closed, out_tree = traced.jaxpr(args, kwargs)
        return (closed, _out_struct(closed, out_tree)) if return_shape else closed

    name = getattr(fun, "__name__", type(fun).__name__)
    make_jaxpr_f.__name__ = f"make_jaxpr({name})"
    make_jaxpr_f.__qualname__ = f"make_jaxpr({getattr(fun, '__qualname__', name)})"
    make_jaxpr_f.__module__ = "jax"  # tools that know JAX's functions compare with the name
    return make_jaxpr_f


def _out_struct(closed: ClosedJaxpr, out_tree: PyTreeDef):
    structs: Sequence = closed.out_avals
    for shape_struct in hooks.shape_struct:
        structs = [*map(shape_struct, structs)]
    return out_tree.unflatten(structs)


@api_boundary
def eval_shape(fun: Callable, *args, **kwargs) -> Any:
    """The shapes and dtypes of `fun(*args, **kwargs)`, determined without computing it.

    Like a jitted function, `fun` is traced once for arguments of the same structure and types.

    Args:
      fun: a function of pytrees of arrays that returns one.
      *args, **kwargs: arrays, numbers, or `ShapeDtypeStruct`s.

    Returns:
      a pytree of `ShapeDtypeStruct`s.

    >>> eval_shape(lambda x: x + 1, jax.ShapeDtypeStruct((3,), "float32"))
    ShapeDtypeStruct(shape=(3,), dtype=float32)
    """
    check_callable(fun)
    traced = fun if isinstance(fun, TracedFunction) else TracedFunction(fun, Options())
    with shapes_only(True):
        return _out_struct(*traced.jaxpr(args, kwargs))


# chapter 7

from .core import ShapedArray
from .forward import zeros
from .jaxpr import Jaxpr, eval_jaxpr
from .partial_eval import linearize_flat

# ----------------------------------------------------------------------------------------------
# linearize


class Linearization(NamedTuple):
    """The derivative of a function at a point, as a jaxpr from tangents to tangents.

    The jaxpr's arguments are the tangents of inexact type. Its results are the tangents that are
    not known to be zero, as `nonzeros` says.
    """

    jaxpr: Jaxpr
    nonzeros: tuple[bool, ...]
    in_avals: tuple[ShapedArray, ...]
    out_avals: tuple[ShapedArray, ...]
    in_tree: PyTreeDef
    out_tree: PyTreeDef
    name: str


@api_boundary
def _pushed(jaxpr: Jaxpr, derivative: Linearization, residuals: Sequence, *tangents: Any):
    """The tangents of the results, from those of the arguments."""
    leaves, tree = tree_flatten(tangents)
    checks.linearize_tangents(derivative.in_tree, derivative.in_avals, leaves, tree)
    args = [ensure_array(t) for aval, t in zip(derivative.in_avals, leaves) if _has_tangents(aval)]
    outs = iter(eval_jaxpr(jaxpr, residuals, *args))
    return derivative.out_tree.unflatten(
        next(outs) if nonzero else zeros(aval.to_tangent_aval())
        for aval, nonzero in zip(derivative.out_avals, derivative.nonzeros))


def _has_tangents(aval):
    return aval.to_tangent_aval().dtype != dtypes.float0


def _linearize(where: str, fun: Callable, primals: Sequence, has_aux: bool):
    """The value of `fun`, its linearization, the residuals, and an iterable of the aux, if any."""
    leaves, in_tree = _flatten_owned(tuple(primals))
    checks.linearized_arguments(where, fun, primals, leaves)
    fun_of_primals, aux = without_aux(transformed("jvp", fun), has_aux)
    flat_fun, out_tree = flatten_fun_nokwargs(fun_of_primals, in_tree)
    outs, closed, nonzeros = linearize_flat(flat_fun, leaves)
    derivative = Linearization(closed.jaxpr, tuple(nonzeros), tuple(map(typeof, leaves)),
                               tuple(map(typeof, outs)), in_tree, out_tree(), fun_sourceinfo(fun))
    given = {*map(id, leaves)}  # an integer that `fun` hands back becomes an array
    outs = [ensure_array(out) if id(out) in given else out for out in outs]
    return out_tree().unflatten(outs), derivative, closed.consts, aux


@api_boundary
def linearize(fun: Callable, *primals, has_aux: bool = False) -> Any:
    """The value of `fun` at a point, and its derivative there as a linear function.

    Unlike `jvp`, it does the work that does not depend on the direction only once.

    Args:
      fun: a function of pytrees of arrays that returns one; or a pair (result, aux) if `has_aux`.
      *primals: the point.
      has_aux: whether `fun` also returns auxiliary data, which is not differentiated.

    Returns:
      `(out, f_jvp)` or `(out, f_jvp, aux)`; `f_jvp` takes tangents like `primals`.

    >>> y, f_jvp = linearize(lambda x: x * x, 3.0)
    >>> y, f_jvp(1.0)
    (Array(9., dtype=float32, weak_type=True), Array(6., dtype=float32, weak_type=True))
    """
    check_callable(fun)
    out, derivative, residuals, aux = _linearize("linearize", fun, primals, has_aux)
    pushed = functools.partial(_pushed, derivative.jaxpr, derivative)
    return (out, _without_residuals(pushed, derivative, residuals), *aux)


def _without_residuals(f: Callable, derivative: Linearization, residuals: list,
                       primals: Sequence | None = None) -> Any:
    """`f` as a function of the arguments after the residuals."""
    for linear_function in hooks.linear_function:
        found = linear_function(f, derivative, residuals, primals)
        if found is not NotImplemented:
            return found
    return functools.partial(f, residuals)


# chapter 8

from ..checks.arguments import check_argnums_passed
from .transposition import UndefinedPrimal, backward_pass
from .api_util import argnums_partial, ensure_index

# ----------------------------------------------------------------------------------------------
# vjp and grad


@api_boundary
def vjp(fun: Callable, *primals, has_aux: bool = False, reduce_axes=()) -> Any:
    """The value of `fun` at a point, and a function from cotangents of it to those of the point.

    Args:
      fun: a function of pytrees of arrays that returns one; or a pair (result, aux) if `has_aux`.
      *primals: the point.
      has_aux: whether `fun` also returns auxiliary data, which is not differentiated.

    Returns:
      `(out, f_vjp)` or `(out, f_vjp, aux)`; `f_vjp` takes a cotangent of the structure of `out`
      and returns a tuple of cotangents, one for each of `primals`.

    Raises (when `f_vjp` is called):
      ValueError: the cotangent does not fit the result.

    >>> y, f_vjp = vjp(lambda x, y: x * y, 2.0, 3.0)
    >>> f_vjp(1.0)
    (Array(3., dtype=float32, weak_type=True), Array(2., dtype=float32, weak_type=True))
    """
    check_callable(fun)
    checks.no_reduce_axes("vjp", reduce_axes)
    out, derivative, residuals, aux = _linearize("vjp", fun, primals, has_aux)
    pulled_back = functools.partial(_pull_back, derivative)
    return (out, _without_residuals(pulled_back, derivative, residuals, primals), *aux)


def _pull_back(derivative: Linearization, residuals: Sequence, ct: Any) -> Any:
    """The cotangents of the arguments, from a cotangent of the result."""
    leaves, tree = tree_flatten(ct)
    checks.vjp_cotangents(derivative.name, derivative.out_tree, derivative.out_avals, leaves, tree)
    cts = _leaf_cotangents(derivative, residuals, leaves)
    return derivative.in_tree.unflatten(map(owned, map(instantiate_zeros, cts)))


def _leaf_cotangents(derivative: Linearization, residuals: Sequence, cts: Sequence, args=()):
    """The cotangents of the arguments' leaves, from those of the results' leaves.

    `args` are the accumulators, if they are not new ones.
    """
    cts = [ct for ct, nonzero in zip(cts, derivative.nonzeros) if nonzero]
    args = args or [UndefinedPrimal(v.aval) for v in derivative.jaxpr.invars]
    outs = iter(transformed("transpose", backward_pass)(derivative.jaxpr, residuals, args, cts))
    return [next(outs) if _has_tangents(aval) else Zero(aval.to_cotangent_aval())
            for aval in derivative.in_avals]


@public
def value_and_grad(fun: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False,
                   holomorphic: bool = False, allow_int: bool = False, reduce_axes=()) -> Callable:
    """A function that returns the value of `fun` and its gradient.

    Args:
      fun: a function of pytrees of arrays that returns a real scalar; or a pair (scalar, aux) if
        `has_aux`.
      argnums: the position of the argument to differentiate, or a sequence of positions.
      has_aux: whether `fun` also returns auxiliary data, which is not differentiated.
      holomorphic: whether `fun` is a holomorphic function of complex arguments.
      allow_int: whether integer arguments are allowed; their gradient has dtype `float0`.

    Returns:
      a function of the same arguments that returns `(value, gradient)` or `((value, aux),
      gradient)`; the gradient has the structure of the argument, or is a tuple if `argnums` is a
      sequence.

    Raises (when it is called):
      TypeError: the result is not a scalar, or an argument or the result has an unsuitable dtype.

    >>> value_and_grad(lambda x: x ** 2)(3.0)
    (Array(9., dtype=float32, weak_type=True), Array(6., dtype=float32, weak_type=True))
    """
    check_callable(fun)
    checks.no_reduce_axes("grad", reduce_axes)
    argnums = ensure_index(argnums)

    @wraps(fun, f"Value and gradient of {{fun}} with respect to positional argument(s) {argnums}.")
    def value_and_grad_f(*args, **kwargs):
        check_argnums_passed(argnums, args, "differentiating with respect to")
        partial_fun, dyn_args = argnums_partial(fun, argnums, args, kwargs)
        checks.grad_arguments(fun, args, argnums, dyn_args, holomorphic, allow_int)
        out, derivative, residuals, aux = _linearize("grad", partial_fun, dyn_args, has_aux)
        checks.grad_output(out, derivative.out_tree, holomorphic)
        aval = typeof(out)
        gradient = _pull_back(derivative, residuals, constant(1, aval.dtype, aval.weak_type))
        gradient = gradient[0] if isinstance(argnums, int) else gradient
        return ((out, *aux) if has_aux else out), gradient

    return api_boundary(value_and_grad_f)


@public
def grad(fun: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False,
         holomorphic: bool = False, allow_int: bool = False, reduce_axes=()) -> Callable:
    """A function that returns the gradient of `fun`.

    Args and errors are as for `value_and_grad`. If `has_aux`, it returns `(gradient, aux)`.

    >>> grad(lambda x: x ** 2)(3.0)
    Array(6., dtype=float32, weak_type=True)
    """
    value_and_grad_f = value_and_grad(fun, argnums, has_aux, holomorphic, allow_int, reduce_axes)

    @wraps(fun, f"Gradient of {{fun}} with respect to positional argument(s) {argnums}.")
    def grad_f(*args, **kwargs):
        value, gradient = value_and_grad_f(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return api_boundary(grad_f)
