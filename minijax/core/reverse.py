"""Chapter 8: `vjp`, `grad`, Jacobians and Hessians: linearize, then transpose."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..checks.tree import equality_errors_pytreedef, keystr
from ..errors import api_boundary
from . import dtypes
from . import primitives as lax
from .api_util import (
    arg_names,
    argument_avals,
    check_argnums_passed,
    check_callable,
    fun_sourceinfo,
)
from .core import typeof
from .forward import Zero, instantiate_zeros
from .jaxpr import Jaxpr
from .jit import jit
from .partial_eval import flatten_owned, linearize_flat
from .staging import abstractify, trace_to_jaxpr
from .transposition import UndefinedPrimal, backward_pass
from .tree import (
    Partial,
    PyTreeDef,
    argnums_partial,
    ensure_index,
    ensure_index_tuple,
    flatten_fun_nokwargs,
    tree_flatten,
    tree_leaves,
    tree_map,
    tree_structure,
    tree_transpose,
)
from .tree_jvp import jvp, without_aux
from .vmap import vmap

# ----------------------------------------------------------------------------------------------
# vjp


class PullbackFunction:
    """A transposed derivative at a point: takes residuals and cotangents of the results."""

    def __init__(self, jaxpr: Jaxpr, nonzeros: tuple, in_avals: tuple, out_avals: tuple,
                 in_tree: PyTreeDef, out_tree: PyTreeDef, name: str):
        self.jaxpr, self.nonzeros, self.name = jaxpr, nonzeros, name
        self.in_avals, self.out_avals = in_avals, out_avals
        self.in_tree, self.out_tree = in_tree, out_tree

    def __call__(self, residuals, ct):
        leaves, tree = tree_flatten(ct)
        if tree != self.out_tree:
            raise ValueError(self._tree_mismatch(tree))
        for aval, leaf in zip(self.out_avals, leaves):
            _check_cotangent(aval, leaf)
        cts = [leaf for leaf, nonzero in zip(leaves, self.nonzeros) if nonzero]
        return self.in_tree.unflatten(pull_back(self.jaxpr, residuals, self.in_avals, cts))

    def _tree_mismatch(self, tree):
        differences = "\n".join(
            f"  at {keystr(d.path) or 'the root'}: expected {d.expected}, got {d.found}"
            for d in equality_errors_pytreedef(self.out_tree, tree))
        return (
            "unexpected tree structure.\n\nThe argument to a VJP function returned by `jax.vjp` "
            "must match the pytree structure of the result of the differentiated function "
            f"{self.name}.\n\nExpected {self.out_tree}, got {tree}:\n{differences}"
        )


def _check_cotangent(aval, ct):
    wanted, got = aval.to_cotangent_aval(), typeof(ct)
    if wanted.dtype == dtypes.float0 or got.shape == wanted.shape and got.dtype == wanted.dtype:
        return
    raise ValueError(
        "unexpected JAX type (e.g. shape/dtype) for argument to VJP function: got "
        f"{got.str_short(False)}, but expected {wanted.str_short(False)} because the corresponding "
        f"output of the differentiated function had JAX type {aval.str_short(False)}"
    )


def pull_back(jaxpr: Jaxpr, residuals, in_avals, cts) -> list:
    """Cotangents for arguments of these types: arrays of zeros where there is nothing else."""
    args = [UndefinedPrimal(v.aval) for v in jaxpr.invars]
    computed = iter(backward_pass(jaxpr, residuals, args, cts))
    tangent_avals = [aval.to_cotangent_aval() for aval in in_avals]
    return [instantiate_zeros(Zero(aval) if aval.dtype == dtypes.float0 else next(computed))
            for aval in tangent_avals]


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
      ValueError: a cotangent that does not fit the result.

    >>> y, f_vjp = vjp(lambda x, y: x * y, 2.0, 3.0)
    >>> f_vjp(1.0)
    (Array(3., dtype=float32, weak_type=True), Array(2., dtype=float32, weak_type=True))
    """
    check_callable(fun)
    leaves, in_tree = flatten_owned(primals)
    avals = argument_avals(leaves, "vjp", lambda: arg_names(fun, primals, {}))
    only_out, aux = without_aux(fun, has_aux)
    flat_fun, out_tree = flatten_fun_nokwargs(only_out, in_tree)
    outs, closed, nonzeros = linearize_flat(flat_fun, leaves)
    pullback = PullbackFunction(closed.jaxpr, tuple(nonzeros), tuple(avals),
                                tuple(map(typeof, outs)), in_tree, out_tree(), fun_sourceinfo(fun))
    result = out_tree().unflatten(outs), Partial(pullback, closed.consts)
    return (*result, *aux)


# ----------------------------------------------------------------------------------------------
# grad


def fwd_and_bwd(fun: Callable, argnums: int | Sequence[int], has_aux: bool = False,
                jitted: bool = True) -> tuple[Callable, Callable]:
    """The forward and the backward pass of `fun` as two functions, each of them compiled once.

    Args:
      fun: a function of pytrees of arrays that returns one; or a pair (result, aux) if `has_aux`.
      argnums: the position of the argument to differentiate, or a sequence of positions.
      has_aux: whether `fun` also returns auxiliary data, which is not differentiated.
      jitted: whether the two are jitted.

    Returns:
      `fwd`, of the arguments of `fun`, which returns `(out, residuals)` or `(out, residuals, aux)`;
      and `bwd`, of `(residuals, cotangent)`, which returns the cotangents of the arguments.

    >>> fwd, bwd = fwd_and_bwd(lambda x, y: x * y, (0, 1))
    >>> out, residuals = fwd(2.0, 3.0)
    >>> bwd(residuals, 1.0)
    (Array(3., dtype=float32, weak_type=True), Array(2., dtype=float32, weak_type=True))
    """
    check_callable(fun)
    argnums = ensure_index(argnums)

    def fwd(*args, **kwargs):
        return vjp(*_flattened(argnums_partial(fun, argnums, args, kwargs)), has_aux=has_aux)

    def bwd(residuals, cotangent):
        cts = residuals(cotangent)
        return cts[0] if isinstance(argnums, int) else cts

    return (jit(fwd), jit(bwd)) if jitted else (fwd, bwd)


def _flattened(pair):
    fun, args = pair
    return fun, *args


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
      TypeError: the result is no scalar, or an argument or the result has an unsuitable dtype.

    >>> value_and_grad(lambda x: x ** 2)(3.0)
    (Array(9., dtype=float32, weak_type=True), Array(6., dtype=float32, weak_type=True))
    """
    check_callable(fun)
    argnums = ensure_index(argnums)

    @functools.wraps(fun)
    def value_and_grad_f(*args, **kwargs):
        check_argnums_passed(argnums, args, "differentiating with respect to")
        partial_fun, dyn_args = argnums_partial(fun, argnums, args, kwargs)
        given = tree_leaves(dyn_args)
        argument_avals(given, "grad", lambda: _names_of(fun, args, argnums))
        for leaf in given:
            _check_input("grad", holomorphic, allow_int, leaf)
        leaves, in_tree = flatten_owned(tuple(dyn_args))
        partial_fun, aux = without_aux(partial_fun, has_aux)
        flat_fun, out_tree = flatten_fun_nokwargs(partial_fun, in_tree)
        outs, closed, nonzeros = linearize_flat(flat_fun, leaves)
        out = _check_scalar(outs, out_tree())
        _check_output("grad", holomorphic, out)
        aval = typeof(out)
        one = lax.constant(1, aval.dtype, aval.weak_type)
        grads = pull_back(closed.jaxpr, closed.consts, tuple(map(typeof, leaves)),
                          [one] if nonzeros[0] else [])
        gradient = in_tree.unflatten(grads)
        gradient = gradient[0] if isinstance(argnums, int) else gradient
        return ((out, *aux) if has_aux else out), gradient

    return api_boundary(value_and_grad_f)


def grad(fun: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False,
         holomorphic: bool = False, allow_int: bool = False, reduce_axes=()) -> Callable:
    """A function that returns the gradient of `fun`.

    Args and errors are as for `value_and_grad`. If `has_aux`, it returns `(gradient, aux)`.

    >>> grad(lambda x: x ** 2)(3.0)
    Array(6., dtype=float32, weak_type=True)
    """
    value_and_grad_f = value_and_grad(fun, argnums, has_aux, holomorphic, allow_int)

    @functools.wraps(fun)
    def grad_f(*args, **kwargs):
        value, gradient = value_and_grad_f(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return api_boundary(grad_f)


def _names_of(fun, args, argnums):
    """The names of the leaves of the arguments that are differentiated."""
    chosen = {i % len(args) for i in ensure_index_tuple(argnums)}
    return arg_names(fun, args, {}, static_argnums=[i for i in range(len(args)) if i not in chosen])


def _check_scalar(outs, out_tree):
    if not _is_leaf(out_tree):
        raise TypeError("Gradient only defined for scalar-output functions. "
                        f"Output was {out_tree.unflatten(outs)}.")
    if typeof(outs[0]).shape:
        raise TypeError("Gradient only defined for scalar-output functions. "
                        f"Output had shape: {typeof(outs[0]).shape}.")
    return outs[0]


def _is_leaf(tree):
    return tree.num_leaves == 1 and tree.num_nodes == 1


_HOLOMORPHIC_HINT = (
    "For holomorphic differentiation, pass holomorphic=True. For differentiation of "
    "non-holomorphic functions involving complex {what}, use jax.{alternative} directly."
)


def _check_input(name, holomorphic, allow_int, x):
    dtype = typeof(x).dtype
    if holomorphic:
        if dtype.kind != "c":
            raise TypeError(f"{name} with holomorphic=True requires inputs with complex dtype, "
                            f"but got {dtype.name}.")
    elif not dtypes.issubdtype(dtype, np.inexact) and not allow_int:
        raise TypeError(
            f"{name} requires real- or complex-valued inputs (input dtype that is a sub-dtype of "
            f"np.inexact), but got {dtype.name}. If you want to use Boolean- or integer-valued "
            "inputs, use vjp or set allow_int to True."
        )


def _check_output(name, holomorphic, x):
    dtype = typeof(x).dtype
    if holomorphic:
        if dtype.kind != "c":
            raise TypeError(f"{name} with holomorphic=True requires outputs with complex dtype, "
                            f"but got {dtype.name}.")
        return
    if not dtypes.issubdtype(dtype, np.floating):
        hint = _HOLOMORPHIC_HINT.format(what="outputs", alternative="vjp") if dtype.kind == "c" \
            else "For differentiation of functions with integer outputs, use jax.vjp directly."
        raise TypeError(f"{name} requires real-valued outputs (output dtype that is a sub-dtype "
                        f"of np.floating), but got {dtype.name}. {hint}")


# ----------------------------------------------------------------------------------------------
# Jacobians: a derivative applied to every vector of a basis, by vmap


def jacfwd(fun: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False,
           holomorphic: bool = False) -> Callable:
    """A function that returns the Jacobian of `fun`, column by column (forward mode).

    It suits functions with fewer inputs than outputs.

    Args:
      fun: a function of pytrees of real arrays that returns one; or a pair if `has_aux`.
      argnums: the position of the argument to differentiate, or a sequence of positions.
      has_aux, holomorphic: as for `value_and_grad`.

    Returns:
      a function of the same arguments that returns the Jacobian, or `(jacobian, aux)`: in the
      structure of the result, in each leaf that of the argument; a leaf has the shape of the
      result's leaf followed by that of the argument's.

    >>> jacfwd(lambda x: x * x)(jnp.array([1.0, 2.0])).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    check_callable(fun)
    argnums = ensure_index(argnums)

    @functools.wraps(fun)
    def jacfwd_f(*args, **kwargs):
        partial_fun, dyn_args = argnums_partial(fun, argnums, args, kwargs)
        for leaf in tree_leaves(dyn_args):
            _check_forward_input(holomorphic, leaf)
        outs = vmap(lambda *tangents: jvp(partial_fun, tuple(dyn_args), tangents, has_aux),
                    out_axes=(None, -1, None) if has_aux else (None, -1))(
                        *standard_basis(tuple(dyn_args)))
        y, jac, *aux = outs
        for leaf in tree_leaves(y):
            _check_jacobian_output("jacfwd", holomorphic, leaf)
        example = dyn_args[0] if isinstance(argnums, int) else tuple(dyn_args)
        jac_tree = tree_map(
            lambda y, j: _split_axis(example, typeof(y).ndim, _as_numbers(j, y)), y, jac)
        return (jac_tree, aux[0]) if has_aux else jac_tree

    return api_boundary(jacfwd_f)


def jacrev(fun: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False,
           holomorphic: bool = False, allow_int: bool = False) -> Callable:
    """A function that returns the Jacobian of `fun`, row by row (reverse mode).

    It suits functions with fewer outputs than inputs. Args and result are as for `jacfwd`.

    >>> jacrev(lambda x: x * x)(jnp.array([1.0, 2.0])).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    check_callable(fun)
    argnums = ensure_index(argnums)

    @functools.wraps(fun)
    def jacrev_f(*args, **kwargs):
        partial_fun, dyn_args = argnums_partial(fun, argnums, args, kwargs)
        for leaf in tree_leaves(dyn_args):
            _check_input("jacrev", holomorphic, allow_int, leaf)
        y, pullback, *aux = vjp(partial_fun, *dyn_args, has_aux=has_aux)
        for leaf in tree_leaves(y):
            _check_jacobian_output("jacrev", holomorphic, leaf)
        jac = vmap(pullback)(standard_basis(y))
        jac = jac[0] if isinstance(argnums, int) else jac
        example = dyn_args[0] if isinstance(argnums, int) else tuple(dyn_args)
        jac_tree = tree_map(lambda x, j: _split_axis(y, 0, _as_numbers(j, x)), example, jac)
        jac_tree = tree_transpose(tree_structure(example), tree_structure(y), jac_tree)
        return (jac_tree, aux[0]) if has_aux else jac_tree

    return api_boundary(jacrev_f)


def jacobian(fun: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False,
             holomorphic: bool = False, allow_int: bool = False) -> Callable:
    """Another name of `jacrev`."""
    return jacrev(fun, argnums, has_aux, holomorphic, allow_int)


def hessian(fun: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False,
            holomorphic: bool = False) -> Callable:
    """A function that returns the Hessian of `fun`: forward mode over reverse mode.

    Args and result are as for `jacfwd` of `jacrev`.

    >>> hessian(lambda x: x ** 3)(2.0)
    Array(12., dtype=float32, weak_type=True)
    """
    return jacfwd(jacrev(fun, argnums, has_aux, holomorphic), argnums, has_aux, holomorphic)


def _check_forward_input(holomorphic, x):
    dtype = typeof(x).dtype
    if holomorphic:
        _check_input("jacfwd", True, False, x)
    elif not dtypes.issubdtype(dtype, np.floating):
        raise TypeError(
            "jacfwd requires real-valued inputs (input dtype that is a sub-dtype of np.floating), "
            f"but got {dtype.name}. " + _HOLOMORPHIC_HINT.format(
                what="inputs or integer inputs", alternative="jvp"))


def _check_jacobian_output(name, holomorphic, x):
    if holomorphic or name == "jacrev":
        _check_output(name, holomorphic, x)


def standard_basis(tree) -> Any:
    """A tree like `tree`, of stacks: entry `i` of all is basis vector `i` of the whole tree."""
    leaves = tree_leaves(tree)
    dtype = dtypes.lattice_result_type(*leaves)[0]
    size = sum(typeof(leaf).size for leaf in leaves)
    rows, columns = (lax.broadcasted_iota(np.int32, (size, size), d) for d in (0, 1))
    rows = lax.add(rows, lax.constant(0, np.dtype(np.int32)))
    eye = lax.convert(lax.eq(rows, columns), dtype)
    return tree_map(_as_leaf, tree, _split_axis(tree, 1, eye))


def _as_leaf(leaf, stack):
    aval = typeof(leaf)
    return lax.convert_element_type_p.bind(stack, new_dtype=aval.dtype, weak_type=aval.weak_type)


def _as_numbers(jac, integers):
    """The derivatives of integers, or by them, as zeros of their type instead of `float0`."""
    if typeof(jac).dtype != dtypes.float0:
        return jac
    return lax.full(typeof(jac).shape, lax.constant(0, typeof(integers).dtype))


def _split_axis(tree, axis, x):
    """Cut `axis` of `x` into the leaves of `tree`, each in the leaf's shape."""
    leaves, treedef = tree_flatten(tree)
    avals = [typeof(leaf) for leaf in leaves]
    shape = typeof(x).shape
    pieces = lax.split(x, [aval.size for aval in avals], axis)
    return treedef.unflatten(
        lax.reshape(piece, (*shape[:axis], *aval.shape, *shape[axis + 1:]))
        for piece, aval in zip(pieces, avals))


# ----------------------------------------------------------------------------------------------
# linear_transpose


@api_boundary
def linear_transpose(fun: Callable, *primals, reduce_axes=()) -> Callable:
    """The transpose of a linear function.

    Args:
      fun: a function of pytrees of arrays that returns one, linear in all of them together.
      *primals: arrays, or `ShapeDtypeStruct`s, of the types of its arguments.

    Returns:
      a function from a pytree like the result of `fun` to a tuple of cotangents of its arguments.

    Raises:
      TypeError: neither all types are inexact, nor all are integer; or (when the function is
        called) a cotangent of another type.
      NotImplementedError or AssertionError (when it is called): `fun` is not linear.

    >>> transposed = linear_transpose(lambda x: 3 * x, 1.0)
    >>> transposed(2.0)
    (Array(6., dtype=float32, weak_type=True),)
    """
    check_callable(fun)
    leaves, in_tree = tree_flatten(primals)
    in_avals = [*map(abstractify, leaves)]
    flat_fun, out_tree = flatten_fun_nokwargs(fun, in_tree)
    closed = trace_to_jaxpr(flat_fun, in_avals)
    _check_linear_types(in_avals, closed.out_avals)

    def transposed_fun(ct):
        cts, tree = tree_flatten(ct)
        if tree != out_tree():
            raise TypeError(f"cotangent tree does not match function output, expected "
                            f"{out_tree()} but got {tree}")
        for aval, x in zip(closed.out_avals, cts):
            if (typeof(x).shape, typeof(x).dtype) != (aval.shape, aval.dtype):
                raise TypeError("cotangent type does not match function output, expected "
                                f"{aval} but got {x}")
        args = [UndefinedPrimal(aval) for aval in in_avals]
        out = backward_pass(closed.jaxpr, closed.consts, args, cts)
        return in_tree.unflatten(map(instantiate_zeros, out))

    return api_boundary(transposed_fun)


def _check_linear_types(in_avals, out_avals):
    for kinds in ((np.inexact,), (np.integer,)):
        if all(dtypes.issubdtype(a.dtype, kinds[0]) for a in (*in_avals, *out_avals)):
            return
    raise TypeError(
        "linear_transpose only supports [float or complex] -> [float or complex], and integer -> "
        f"integer functions, but got {[a.dtype for a in in_avals]} -> "
        f"{[a.dtype for a in out_avals]}."
    )
