"""Chapter 10: reverse mode in other forms than `vjp` and `grad`.

    fwd_and_bwd      : (a → b) → (a → (b, residuals)), ((residuals, T* b) → T* a)
    linear_transpose : (a ⊸ b) → a → (T* b ⊸ T* a)

The counterpart in JAX is `jax/_src/api.py`.
"""

from collections.abc import Callable, Sequence

from ..checks import api as checks
from ..checks.arguments import check_callable
from ..core.api import vjp
from ..core.api_util import argnums_partial, ensure_index, flatten_fun_nokwargs
from ..core.boundary import api_boundary
from ..core.forward import instantiate_zeros
from ..core.jaxpr import jaxpr_as_fun
from ..core.jit import jit
from ..core.partial_eval import partial_eval_jaxpr
from ..core.primitives import ensure_array
from ..core.staging import jaxpr_of, shaped_abstractify
from ..core.transposition import UndefinedPrimal, backward_pass
from ..core.tree import tree_flatten
from ..pytree.partials import Partial
from ..source import transformed

# ----------------------------------------------------------------------------------------------
# fwd_and_bwd


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
        partial_fun, dyn_args = argnums_partial(fun, argnums, args, kwargs)
        return vjp(partial_fun, *dyn_args, has_aux=has_aux)

    def bwd(residuals, cotangent):
        cotangents = residuals(cotangent)
        return cotangents[0] if isinstance(argnums, int) else cotangents

    return (jit(fwd), jit(bwd)) if jitted else (fwd, bwd)


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
        called) a cotangent has another type.
      NotImplementedError or AssertionError (when it is called): `fun` is not linear.

    >>> transposed = linear_transpose(lambda x: 3 * x, 1.0)
    >>> transposed(2.0)
    (Array(6., dtype=float32, weak_type=True),)
    """
    check_callable(fun)
    checks.no_reduce_axes("linear_transpose", reduce_axes)
    leaves, in_tree = tree_flatten(primals)
    in_avals = [*map(shaped_abstractify, leaves)]
    flat_fun, out_tree = flatten_fun_nokwargs(fun, in_tree)
    closed = jaxpr_of(flat_fun, in_avals)
    checks.linear_types(in_avals, closed.out_avals)
    # What does not depend on the arguments is computed now, also inside of calls.
    known, linear, *_ = partial_eval_jaxpr(
        closed, (True,) * len(in_avals), (True,) * len(closed.out_avals))
    residuals = jaxpr_as_fun(known)()

    def transposed_fun(residuals, ct):
        cts, tree = tree_flatten(ct)
        checks.linear_cotangents(cts, tree, closed.out_avals, out_tree())
        args = [*residuals, *map(UndefinedPrimal, in_avals)]
        transpose = transformed("transpose", backward_pass)
        out = transpose(linear.jaxpr, linear.consts, args, cts)[len(residuals):]
        return in_tree.unflatten(ensure_array(instantiate_zeros(ct)) for ct in out)

    return Partial(api_boundary(transposed_fun), residuals)
