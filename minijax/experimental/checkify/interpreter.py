"""Chapter 16: the transformation `checkify`, and the checks that it makes by itself."""

import functools
from collections.abc import Callable, Sequence

import numpy as np

from ... import numpy as jnp
from ...core import dtypes
from ...core.boundary import api_boundary, public
from ...core.core import typeof
from ...core.jaxpr import ClosedJaxpr, JaxprEqn, Literal, clean_up_dead_vars, last_used
from ...core.primitives import ensure_array
from ...core.staging import jaxpr_of
from ...core.tree import tree_flatten
from ...source import at_sources, wraps
from .errors import (
    DivisionByZeroError,
    Error,
    ErrorCategory,
    FailedCheckError,
    NaNError,
    OOBError,
    init_error,
    with_check,
)

# ----------------------------------------------------------------------------------------------
# The transformation

user_checks = frozenset({FailedCheckError})
nan_checks = frozenset({NaNError})
index_checks = frozenset({OOBError})
div_checks = frozenset({DivisionByZeroError})
float_checks = nan_checks | div_checks
automatic_checks = float_checks | index_checks
all_checks = automatic_checks | user_checks


@public
def checkify(f: Callable, errors: frozenset[ErrorCategory] = user_checks) -> Callable:
    """`f` as a function that returns what went wrong, besides its result.

    The result can be jitted, differentiated and vmapped, and `f` may contain jitted functions and
    control flow.

    Args:
      f: a function of pytrees of arrays that returns one.
      errors: which checks to make: `user_checks`, those written by `check`; `nan_checks`, that no
        operation makes a NaN; `div_checks`, that nothing is divided by zero; `index_checks`, that
        indices are within bounds; `float_checks`, `automatic_checks` and `all_checks` are unions.

    Returns:
      a function like `f` that returns a pair `(Error, result)`.

    >>> from minijax.experimental import checkify
    >>> f = checkify.checkify(lambda x, i: x[i], errors=checkify.index_checks)
    >>> error, _ = f(jnp.arange(3), 5)
    >>> error.throw()
    Traceback (most recent call last):
      ...
    minijax.experimental.checkify.JaxRuntimeError: out-of-bounds indexing for array of shape (3,):
    index 5 is out of bounds for axis 0 with size 3.
    """
    @wraps(f)
    def checked(*args, **kwargs):
        if isinstance(errors, str):
            raise TypeError("checkify: errors must be a set of checks, such as "
                            f"checkify.user_checks, got {errors!r}.")
        out_trees = []

        def of_nothing():
            leaves, tree = tree_flatten(f(*args, **kwargs))
            out_trees.append(tree)
            return leaves

        closed = jaxpr_of(of_nothing, [])
        error, outs = interpret(closed, errors, init_error, [])
        return error, out_trees[0].unflatten(map(ensure_array, outs))

    return api_boundary(checked)


# primitive's name -> (error, enabled errors, equation, operands) -> (error, list of results)
rules: dict[str, Callable] = {}


def interpret(closed: ClosedJaxpr, enabled: frozenset, error: Error, args: Sequence):
    """Evaluate a jaxpr, and pass `error` from equation to equation."""
    jaxpr = closed.jaxpr
    last = last_used(jaxpr)
    env = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*closed.consts, *args], strict=True))
    for eqn in at_sources(jaxpr.eqns):
        operands = [v.val if type(v) is Literal else env[v] for v in eqn.invars]
        rule = rules.get(eqn.primitive.name, _unchecked)
        error, outs = rule(error, enabled, eqn, operands)
        env.update(zip(eqn.outvars, outs, strict=True))
        clean_up_dead_vars(eqn, env, last)
    return error, [v.val if type(v) is Literal else env[v] for v in jaxpr.outvars]


def _bind(eqn: JaxprEqn, operands) -> list:
    out = eqn.primitive.bind(*operands, **eqn.own_params)
    return out if eqn.primitive.multiple_results else [out]


def _unchecked(error, enabled, eqn, operands):
    return error, _bind(eqn, operands)


def _check_discharge(error, enabled, eqn, operands):
    """A `check`: its errors are no effects any more, but part of the value."""
    new = eqn.own_params["err_tree"].unflatten(operands)
    for kind, slot in new.slots.items():
        if kind.error_type in enabled:
            error = error.updated(kind, slot.failed, slot.code, slot.payload, new.places)
    return error, []


rules["check"] = _check_discharge

# ----------------------------------------------------------------------------------------------
# Automatic checks

_MAY_MAKE_NANS = """acos acosh add asin asinh atan atan2 atanh bessel_i0e bessel_i1e cbrt
    conv_general_dilated cos cosh cumlogsumexp cummax cummin cumprod cumsum digamma dot_general
    erf erf_inv erfc exp expm1 fft igamma igamma_grad_a igammac integer_pow lgamma linear_solve log
    log1p logistic mul pad pow psum reduce reduce_prod reduce_sum reduce_window reduce_window_sum
    regularized_incomplete_beta rem rsqrt sin sinh sqrt sub tan tanh""".split()


def assert_no_nans(error, enabled, name, outs):
    floats = [x for x in outs if dtypes.issubdtype(typeof(x).dtype, np.inexact)]
    if NaNError not in enabled or not floats:
        return error
    failed = functools.reduce(jnp.logical_or, [jnp.any(jnp.isnan(x)) for x in floats])
    return with_check(error, failed, NaNError, lambda payload: NaNError(name), [])


def _check_nans(error, enabled, eqn, operands):
    outs = _bind(eqn, operands)
    return assert_no_nans(error, enabled, eqn.primitive.name, outs), outs


def _check_division(error, enabled, eqn, operands):
    if DivisionByZeroError in enabled:
        failed = jnp.any(jnp.equal(operands[1], 0))
        error = with_check(error, failed, DivisionByZeroError,
                           lambda payload: DivisionByZeroError(), [])
    return _check_nans(error, enabled, eqn, operands)


def assert_in_bounds(error, indices, sizes, axes, operand):
    """The index vectors lie along the last dimension of `indices`, component `i` being along
    `axes[i]` of the operand, where the window has size `sizes[i]`."""
    shape = typeof(operand).shape
    last = np.array([shape[axis] - size for axis, size in zip(axes, sizes)])
    dtype = typeof(indices).dtype
    last = np.minimum(last, np.iinfo(dtype).max).astype(dtype)
    last = last.reshape((1,) * (indices.ndim - 1) + (-1,))
    outside = jnp.logical_or(indices < 0, indices > last)
    first = jnp.argmax(outside)  # in the flattened array
    axis = jnp.array(axes, np.int32)[first % len(axes)]
    payload = jnp.stack([jnp.ravel(indices)[first].astype(np.int32), axis,
                         jnp.array(shape, np.int32)[axis]])
    return with_check(error, jnp.any(outside), OOBError,
                      lambda payload: OOBError(shape, np.asarray(payload[0])), [payload])


def _check_dynamic_slice(number_of_arrays):
    """For `dynamic_slice` and, with one more array in front of the indices, its update."""
    def rule(error, enabled, eqn, operands):
        outs = _bind(eqn, operands)
        operand, starts = operands[0], operands[number_of_arrays:]
        if OOBError in enabled and starts:
            sizes = eqn.own_params.get("slice_sizes") or typeof(operands[1]).shape
            indices = jnp.stack([jnp.asarray(i) for i in starts])
            error = assert_in_bounds(error, indices, sizes, range(len(starts)), operand)
        return error, outs

    return rule


def _check_gather(error, enabled, eqn, operands):
    outs = _bind(eqn, operands)
    operand, indices = operands
    axes = eqn.own_params["dimension_numbers"].start_index_map
    if OOBError in enabled and typeof(indices).size:
        sizes = [eqn.own_params["slice_sizes"][axis] for axis in axes]
        error = assert_in_bounds(error, indices, sizes, axes, operand)
    return error, outs


def _check_scatter(error, enabled, eqn, operands):
    outs = _bind(eqn, operands)
    operand, indices, updates = operands
    numbers = eqn.own_params["dimension_numbers"]
    if OOBError not in enabled:
        return error, outs
    if typeof(indices).size:
        thin = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
        window = iter([typeof(updates).shape[d] for d in numbers.update_window_dims])
        sizes = [1 if d in thin else next(window) for d in range(typeof(operand).ndim)]
        axes = numbers.scatter_dims_to_operand_dims
        error = assert_in_bounds(error, indices, [sizes[d] for d in axes], axes, operand)
    return assert_no_nans(error, enabled, eqn.primitive.name, outs), outs


rules.update(dict.fromkeys(_MAY_MAKE_NANS, _check_nans))
rules["div"] = _check_division
rules["dynamic_slice"] = _check_dynamic_slice(1)
rules["dynamic_update_slice"] = _check_dynamic_slice(2)
rules["gather"] = _check_gather
rules.update(dict.fromkeys("scatter scatter-add scatter-mul scatter-min scatter-max".split(),
                            _check_scatter))
