"""Chapter 9: how is a whole matrix of derivatives computed?

    jacfwd  : (a → b) → (a → T a ⊸ T b, as a matrix)    column by column
    jacrev  : (a → b) → (a → T a ⊸ T b, as a matrix)    row by row
    hessian : (a → ℝ) → (a → T a ⊸ T* a, as a matrix)   the derivative of the gradient

A derivative at a point is a linear function. Applied to every vector of a basis, it gives the
columns of its matrix. Its transpose gives the rows. `vmap` applies it to all vectors at once.

The counterpart in JAX is in `jax/_src/api.py`.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..checks import api as checks
from ..checks.arguments import check_callable
from ..core import dtypes
from ..core.api import jvp, vjp, vmap
from ..core.api_util import argnums_partial, ensure_index
from ..core.boundary import api_boundary, public
from ..core.core import ShapedArray, typeof
from ..core.forward import zeros
from ..core.primitives import add, constant, convert, convert_element_type_p, eq, reshape
from ..core.tree import tree_flatten, tree_leaves, tree_map, tree_structure
from ..pytree.functions import tree_transpose
from ..source import wraps
from ..text.naming import renamed
from .cutting import split
from .shaping import broadcasted_iota


@public
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

    @wraps(fun, f"Jacobian of {{fun}} with respect to positional argument(s) {argnums}.")
    def jacfwd_f(*args, **kwargs):
        partial_fun, dyn_args = argnums_partial(fun, argnums, args, kwargs)
        checks.forward_inputs(fun, args, argnums, tree_leaves(dyn_args), holomorphic)
        pushforward = lambda *tangents: jvp(partial_fun, dyn_args, tangents, has_aux)
        out_axes = (None, -1, None) if has_aux else (None, -1)
        y, jac, *aux = vmap(pushforward, out_axes=out_axes)(*_standard_basis(dyn_args))
        checks.complex_outputs("jacfwd", tree_leaves(y), holomorphic)
        x = _as_chosen(argnums, dyn_args)
        jac = tree_map(lambda y, j: _cut(x, typeof(y).ndim, y, _as_numbers(j, y)), y, jac)
        return (jac, *aux) if has_aux else jac

    return api_boundary(jacfwd_f)


@public
def jacrev(fun: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False,
           holomorphic: bool = False, allow_int: bool = False) -> Callable:
    """A function that returns the Jacobian of `fun`, row by row (reverse mode).

    It suits functions with fewer outputs than inputs. Args and result are as for `jacfwd`.

    >>> jacrev(lambda x: x * x)(jnp.array([1.0, 2.0])).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    check_callable(fun)
    argnums = ensure_index(argnums)

    @wraps(fun, f"Jacobian of {{fun}} with respect to positional argument(s) {argnums}.")
    def jacrev_f(*args, **kwargs):
        partial_fun, dyn_args = argnums_partial(fun, argnums, args, kwargs)
        leaves = tree_leaves(dyn_args)
        checks.reverse_inputs("jacrev", fun, args, argnums, leaves, holomorphic, allow_int)
        y, pullback, *aux = vjp(partial_fun, *dyn_args, has_aux=has_aux)
        checks.real_outputs("jacrev", tree_leaves(y), holomorphic)
        x, jac = (_as_chosen(argnums, v) for v in (dyn_args, vmap(pullback)(_standard_basis(y))))
        jac = tree_map(lambda x, j: _cut(y, 0, x, _as_numbers(j, x)), x, jac)
        jac = tree_transpose(tree_structure(x), tree_structure(y), jac)
        return (jac, *aux) if has_aux else jac

    return api_boundary(jacrev_f)


@public
def hessian(fun: Callable, argnums: int | Sequence[int] = 0, has_aux: bool = False,
            holomorphic: bool = False) -> Callable:
    """A function that returns the Hessian of `fun`: forward mode over reverse mode.

    Args and result are as for `jacfwd` of `jacrev`.

    >>> hessian(lambda x: x ** 3)(2.0)
    Array(12., dtype=float32, weak_type=True)
    """
    return jacfwd(jacrev(fun, argnums, has_aux, holomorphic), argnums, has_aux, holomorphic)


def _as_chosen(argnums, values):
    """The one value if `argnums` is an int, else the tuple of values."""
    return values[0] if isinstance(argnums, int) else values


def _standard_basis(tree) -> Any:
    """A tree like `tree`, of stacks: entry `i` of all is basis vector `i` of the whole tree."""
    leaves = tree_leaves(tree)
    dtype, _ = dtypes.lattice_result_type(*leaves)
    size = sum(typeof(leaf).size for leaf in leaves)
    rows, columns = (broadcasted_iota(np.int32, (size, size), d) for d in (0, 1))
    rows = add(rows, constant(0, np.dtype(np.int32)))
    eye = convert(eq(rows, columns), dtype)
    return tree_map(_with_dtype_of, tree, _split_axis(tree, 1, eye))


def _with_dtype_of(leaf, stack):
    aval = typeof(leaf)
    return convert_element_type_p.bind(stack, new_dtype=aval.dtype, weak_type=aval.weak_type)


def _cut(tree, axis, like, jac):
    """`axis` of the derivatives, cut into the leaves of `tree`; their type is that of `like`, and
    weak if that is."""
    return tree_map(lambda piece: _with_dtype_of(like, piece), _split_axis(tree, axis, jac))


def _as_numbers(jac, integers):
    """The derivatives of integers, or by them, as zeros of their type instead of `float0`."""
    if typeof(jac).dtype != dtypes.float0:
        return jac
    return zeros(ShapedArray(typeof(jac).shape, typeof(integers).dtype, typeof(integers).weak_type))


def _split_axis(tree, axis, x):
    """Cut `axis` of `x` into the leaves of `tree`, each in the leaf's shape."""
    leaves, treedef = tree_flatten(tree)
    avals = [typeof(leaf) for leaf in leaves]
    shape = typeof(x).shape
    pieces = split(x, [aval.size for aval in avals], axis)
    return treedef.unflatten(
        reshape(piece, (*shape[:axis], *aval.shape, *shape[axis + 1:]))
        for piece, aval in zip(pieces, avals))


jacobian = renamed(jacrev, "jacobian")
