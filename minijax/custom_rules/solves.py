"""Chapter 10: implicit differentiation. The derivative of a solution comes from the equation that
it solves, and not from the steps of the solver: `custom_root` and `custom_linear_solve`."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

from ..core.api import linearize
from ..core.api_util import flatten_fun_nokwargs
from ..core.batching import WithTrace, bdim_at_front, primitive_batchers
from ..core.boundary import api_boundary
from ..core.core import Primitive, typeof
from ..core.forward import Zero, add_tangents, instantiate_zeros, jvpfun, primitive_jvps
from ..core.jaxpr import ClosedJaxpr, convert_constvars_jaxpr, jaxpr_as_fun
from ..core.lowering import register_lowering
from ..core.primitives import ensure_array
from ..core.staging import batch_jaxpr, jaxpr_of
from ..core.transposition import is_undefined_primal, primitive_transposes
from ..core.tree import PyTreeDef, tree_flatten, tree_leaves
from ..core.util import split_list
from ..lax.elementwise import neg
from ..source import fun_sourceinfo
from ..text.debug_info import DebugInfo
from .jvp import custom_jvp
from .linear_functions import linear_transpose

# ----------------------------------------------------------------------------------------------
# Functions as jaxprs


def _stage(fun: Callable, user_fun: Callable, in_tree: PyTreeDef, avals) -> tuple:
    """A function of trees as a jaxpr without constants, what it closed over, its result's tree."""
    flat_fun, out_tree = flatten_fun_nokwargs(fun, in_tree)
    jaxpr = jaxpr_of(flat_fun, avals, DebugInfo("custom_solve", fun_sourceinfo(user_fun)))
    return ClosedJaxpr(convert_constvars_jaxpr(jaxpr.jaxpr)), jaxpr.consts, out_tree()


def _check_callable(name: str, **funs: Any) -> None:
    for argument, fun in funs.items():
        if not callable(fun):
            raise TypeError(f"{name}: {argument} must be callable, got {fun!r}.")


def _check_tree(name: str, expected_name: str, tree: PyTreeDef, expected: PyTreeDef,
                has_aux: bool = False) -> None:
    """Raise `TypeError` for a function whose result has not the structure of its argument."""
    if has_aux:
        if len(tree.children()) != 2:
            raise ValueError(f"{name}() produced a pytree with structure {tree}, but a pytree "
                             "tuple with auxiliary output was expected because has_aux was set "
                             "to True.")
        tree = tree.children()[0]
    if tree != expected:
        raise TypeError(f"{name}() output pytree structure must match {expected_name}, got "
                        f"{tree} and {expected}.")


# ----------------------------------------------------------------------------------------------
# custom_root


@api_boundary
def custom_root(f: Callable, initial_guess: Any, solve: Callable, tangent_solve: Callable,
                has_aux: bool = False) -> Any:
    """A root of `f`, differentiable in what `f` closes over.

    If f(m, x) = 0 defines x in dependence on m, then ∂f/∂m + ∂f/∂x · dx/dm = 0: the derivative
    of the root is the solution of a linear equation.

    Args:
      f: takes and returns a pytree like `initial_guess`.
      initial_guess: where the search starts.
      solve: `(f, initial_guess) -> root`, by any means.
      tangent_solve: `(g, y) -> x` with g(x) = y, for a linear function g.
      has_aux: whether `solve` returns a pair (root, auxiliary data).

    Returns:
      what `solve` returns.

    Raises:
      TypeError: a function returns another structure than it should.

    >>> def sqrt(a):
    ...     newton = lambda f, x: x - f(x) / (2 * x)
    ...     return custom_root(lambda x: x * x - a, 2.0, newton, lambda g, y: y / g(1.0))
    >>> sqrt(4.0), jax.grad(sqrt)(4.0)
    (Array(2., dtype=float32, weak_type=True), Array(0.25, dtype=float32, weak_type=True))
    """
    _check_callable("custom_root", f=f, solve=solve, tangent_solve=tangent_solve)
    guess, tree = tree_flatten((initial_guess,))
    (guess_tree,) = tree.children()
    avals = [typeof(x) for x in guess]
    f_jaxpr, f_consts, out_tree = _stage(f, f, tree, avals)
    _check_tree("f", "initial_guess", out_tree, guess_tree)
    solve_jaxpr, solve_consts, solution_tree = _stage(
        functools.partial(solve, f), solve, tree, avals)
    _check_tree("solve", "initial_guess", solution_tree, guess_tree, has_aux)

    def linearize_and_solve(x, b):
        return tangent_solve(linearize(f, x)[1], b)

    _, pair_tree = tree_flatten((initial_guess, initial_guess))
    tangent_jaxpr, tangent_consts, out_tree = _stage(
        linearize_and_solve, tangent_solve, pair_tree, avals * 2)
    _check_tree("tangent_solve", "x", out_tree, guess_tree)
    consts = (f_consts, solve_consts, tangent_consts)
    outs = _custom_root(tuple(map(len, consts)), (f_jaxpr, solve_jaxpr, tangent_jaxpr),
                        *[x for group in consts for x in group], *guess)
    return solution_tree.unflatten(outs)


@functools.partial(custom_jvp, nondiff_argnums=(0, 1))
def _custom_root(const_lengths, jaxprs, *args):
    _, solve_consts, _, guess = split_list(args, const_lengths)
    return jaxpr_as_fun(jaxprs[1])(*solve_consts, *guess)


@_custom_root.defjvp
def _root_jvp(const_lengths, jaxprs, primals, tangents):
    f_consts, _, tangent_consts, _ = split_list(primals, const_lengths)
    f_tangents = tangents[:const_lengths[0]]
    f_jaxpr, _, tangent_jaxpr = jaxprs
    solution, aux = split_list(_custom_root(const_lengths, jaxprs, *primals),
                               [len(f_jaxpr.out_avals)])
    _, rhs = jvpfun(lambda *consts: jaxpr_as_fun(f_jaxpr)(*consts, *solution), f_consts, f_tangents)
    rhs = [*map(instantiate_zeros, rhs)]
    solution_dot = [*map(neg, jaxpr_as_fun(tangent_jaxpr)(*tangent_consts, *solution, *rhs))]
    aux_dot = [instantiate_zeros(Zero.from_primal_value(x)) for x in aux]
    return solution + aux, solution_dot + aux_dot


# ----------------------------------------------------------------------------------------------
# custom_linear_solve
#
# Its operands are the values that its functions closed over, then the leaves of `b`.
#
#   const_lengths  how many of them belong to each function
#   jaxprs         the functions; without a transposed solver the second and fourth are `None`


class _LinearSolveTuple(NamedTuple):
    matvec: Any
    vecmat: Any
    solve: Any
    transpose_solve: Any

    def transpose(self):
        return _LinearSolveTuple(self.vecmat, self.matvec, self.transpose_solve, self.solve)


linear_solve_p = Primitive("custom_linear_solve", multiple_results=True, memoize_avals=False)


@api_boundary
def custom_linear_solve(matvec: Callable, b: Any, solve: Callable,
                        transpose_solve: Callable | None = None, symmetric: bool = False,
                        has_aux: bool = False) -> Any:
    """The solution `x` of matvec(x) = b by any solver, differentiable in both.

    Args:
      matvec: a linear function, that may close over arrays.
      b: a pytree of arrays.
      solve: `(matvec, b) -> x`. It need not be differentiable.
      transpose_solve: `(vecmat, b) -> x` for the transpose of `matvec`; reverse mode needs it.
      symmetric: whether `matvec` is its own transpose; then `solve` is used for it.
      has_aux: whether the solvers return a pair (x, auxiliary data).

    Returns:
      what `solve` returns.

    Raises:
      TypeError: a function returns another structure than that of `b`; reverse mode without
        `transpose_solve`.
      ValueError: a function returns other shapes than those of `b`.

    >>> def f(a, b):
    ...     return custom_linear_solve(lambda x: a * x, b, lambda mv, b: b / mv(1.0),
    ...                                symmetric=True)
    >>> jax.grad(f, (0, 1))(2.0, 6.0)
    (Array(-1.5, dtype=float32, weak_type=True), Array(0.5, dtype=float32, weak_type=True))
    """
    if transpose_solve is None and symmetric:
        transpose_solve = solve
    _check_callable("custom_linear_solve", matvec=matvec, solve=solve)
    leaves, tree = tree_flatten((b,))
    (b_tree,) = tree.children()
    avals = [typeof(x) for x in leaves]

    def stage(fun, user_fun, name, with_aux=False):
        checked = _with_shapes_of_b(fun, name, avals, with_aux)
        jaxpr, consts, out_tree = _stage(checked, user_fun, tree, avals)
        _check_tree(name, "b", out_tree, b_tree, with_aux)
        return jaxpr, consts, out_tree

    matvec_part = stage(matvec, matvec, "matvec")
    solve_part = stage(functools.partial(solve, matvec), solve, "solve", has_aux)
    nothing: tuple = (None, [], None)
    vecmat_part = transpose_part = nothing
    if transpose_solve is not None:
        vecmat = matvec if symmetric else _transposed(matvec, b)
        vecmat_part = matvec_part if symmetric else stage(vecmat, matvec, "vecmat")
        transpose_part = stage(functools.partial(transpose_solve, vecmat), transpose_solve,
                               "transpose_solve", has_aux)
    parts = (matvec_part, vecmat_part, solve_part, transpose_part)
    outs = linear_solve_p.bind(
        *[x for _, consts, _ in parts for x in consts], *leaves,
        const_lengths=_LinearSolveTuple(*[len(consts) for _, consts, _ in parts]),
        jaxprs=_LinearSolveTuple(*[jaxpr for jaxpr, _, _ in parts]))
    return solve_part[2].unflatten(map(ensure_array, outs))


def _transposed(fun, example):
    transpose = linear_transpose(fun, example)
    return lambda x: transpose(x)[0]


def _with_shapes_of_b(fun, name, avals, has_aux):
    """`fun`, its result checked to have the shapes of `b`."""
    def checked(x):
        out = fun(x)
        shapes = [typeof(y).shape for y in tree_leaves(out[0] if has_aux else out)]
        if shapes != [aval.shape for aval in avals]:
            raise ValueError(f"{name}() output shapes must match b, got {shapes} and "
                             f"{[aval.shape for aval in avals]}")
        return out

    return checked


def _split_args(args, const_lengths):
    *params, b = split_list(args, const_lengths)
    return _LinearSolveTuple(*params), b


@linear_solve_p.def_impl
def _evaluate(*args, const_lengths, jaxprs):
    params, b = _split_args(args, const_lengths)
    return jaxpr_as_fun(jaxprs.solve)(*params.solve, *b)


@linear_solve_p.def_abstract_eval
def _result_types(*avals, const_lengths, jaxprs):
    b, aux = avals[sum(const_lengths):], jaxprs.solve.out_avals[len(jaxprs.matvec.out_avals):]
    return [*b, *aux]


def _jvp(primals, tangents, *, const_lengths, jaxprs):
    """From A x = b follows A ẋ = ḃ - Ȧ x."""
    solve = functools.partial(linear_solve_p.bind, const_lengths=const_lengths, jaxprs=jaxprs)
    outs = solve(*primals)
    params, b = _split_args(primals, const_lengths)
    params_dot, rhs = _split_args(tangents, const_lengths)
    x = outs[:len(b)]
    if any(type(t) is not Zero for t in params_dot.matvec):
        _, products = jvpfun(
            jaxpr_as_fun(jaxprs.matvec), [*params.matvec, *x],
            [*params_dot.matvec, *map(Zero.from_primal_value, x)])
        rhs = [t if type(p) is Zero else add_tangents(t, neg(p)) for t, p in zip(rhs, products)]
    flat_params = [p for group in params for p in group]
    outs_dot = solve(*flat_params, *map(instantiate_zeros, rhs))[:len(b)]
    return outs, outs_dot + [Zero.from_primal_value(aux) for aux in outs[len(b):]]


def _transpose(cts, *operands, const_lengths, jaxprs):
    """The transposed equation, solved by the transposed solver."""
    if jaxprs.transpose_solve is None:
        raise TypeError("transpose_solve required for backwards mode automatic differentiation of "
                        "custom_linear_solve")
    params, b = _split_args(operands, const_lengths)
    if any(is_undefined_primal(x) for group in params for x in group):
        raise NotImplementedError("custom_linear_solve is linear in b only")
    outs = linear_solve_p.bind(
        *[x for group in params.transpose() for x in group],
        *map(instantiate_zeros, cts[:len(b)]), const_lengths=const_lengths.transpose(),
        jaxprs=jaxprs.transpose())
    return [None] * sum(const_lengths) + outs[:len(b)]


def _batch(trace, args, dims, *, const_lengths, jaxprs):
    """All batched dimensions in front; `b`, the solution and the auxiliary data batched, all."""
    axis_data = trace.axis_data
    params, b = _split_args(args, const_lengths)
    param_dims, b_dims = _split_args(dims, const_lengths)
    moved = [x if d is None else bdim_at_front(x, d, axis_data.size)
             for group, group_dims in zip(params, param_dims) for x, d in zip(group, group_dims)]
    b = [bdim_at_front(x, d, axis_data.size) for x, d in zip(b, b_dims)]

    def batched(jaxpr, group_dims):
        if jaxpr is None:
            return None
        in_dims = tuple(d if d is None else 0 for d in group_dims) + (0,) * len(b)
        return batch_jaxpr(jaxpr, axis_data, in_dims, (0,) * len(jaxpr.out_avals))[0]

    outs = linear_solve_p.bind(*moved, *b, const_lengths=const_lengths,
                               jaxprs=_LinearSolveTuple(*map(batched, jaxprs, param_dims)))
    return outs, [0] * len(outs)


def _lower(ctx, *operands, const_lengths, jaxprs):
    params, b = _split_args(operands, const_lengths)
    return ctx.inline(jaxprs.solve, [*params.solve, *b])


primitive_jvps[linear_solve_p] = _jvp
primitive_transposes[linear_solve_p] = _transpose
primitive_batchers[linear_solve_p] = WithTrace(_batch)
register_lowering(linear_solve_p, _lower)
