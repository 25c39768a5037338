"""Optimisers as triples of functions.

    init, update, get_params = adam(1e-3)
    state = init(params)                   # any pytree of arrays
    state = update(i, gradients, state)    # i: how many steps were taken before
    params = get_params(state)

An optimiser is written for a single array (its state is a small pytree: the array, a momentum …);
the decorator `optimizer` makes it one for pytrees of arrays.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

from .. import numpy as jnp
from ..core.boundary import public
from ..core.tree import tree_flatten, tree_leaves, tree_map, tree_unflatten
from ..pytree.registration import register_pytree_node

Params = Any  # a pytree of arrays
State = Any  # what an optimiser knows of one array: a pytree too
Updates = Params
Step = int
Schedule = Callable[[Step], Any]  # from the number of a step to its length


class OptimizerState(NamedTuple):
    """A state of each parameter, flattened: a pytree whose structure does not name parameters."""

    packed_state: Any
    tree_def: Any
    subtree_defs: Any


register_pytree_node(
    OptimizerState,
    lambda state: ((state.packed_state,), (state.tree_def, state.subtree_defs)),
    lambda structure, children: OptimizerState(*children, *structure),
)

InitFn = Callable[[Params], OptimizerState]
UpdateFn = Callable[[Step, Updates, OptimizerState], OptimizerState]
ParamsFn = Callable[[OptimizerState], Params]


class Optimizer(NamedTuple):
    """The three functions; see the module."""

    init_fn: InitFn
    update_fn: UpdateFn
    params_fn: ParamsFn


# ----------------------------------------------------------------------------------------------
# From one array to pytrees of arrays


def optimizer(opt_maker: Callable) -> Callable[..., Optimizer]:
    """Decorator: what makes an optimiser of one array makes one of pytrees of arrays.

    Args:
      opt_maker: returns `(init, update, get_params)`: `init(x)` is the state, a pytree;
        `update(i, gradient, state)` the next one; `get_params(state)` the array in it.

    Raises (when updating):
      TypeError: the gradients are not a pytree like the parameters, or `update` returned a state
        of another structure.

    >>> @optimizer
    ... def signs(rate):
    ...     return lambda x: x, lambda i, g, x: x - rate * jnp.sign(g), lambda x: x
    >>> init, update, get_params = signs(1.0)
    >>> get_params(update(0, {"w": jnp.array([3.0, -2.0])}, init({"w": jnp.zeros(2)})))
    {'w': Array([-1.,  1.], dtype=float32)}
    """
    @functools.wraps(opt_maker)
    def tree_opt_maker(*args, **kwargs):
        init, update, get_params = opt_maker(*args, **kwargs)

        def tree_init(params):
            leaves, treedef = tree_flatten(params)
            return _pack(treedef, map(init, leaves))

        def tree_update(i, gradients, state):
            if not isinstance(state, OptimizerState):
                raise TypeError("update(i, gradients, state): state must be what init or update "
                                f"returned, got {type(state).__name__}.")
            leaves, treedef = tree_flatten(gradients)
            _check_same("the gradients'", treedef, "the parameters'", state.tree_def)
            new = _pack(treedef, [update(i, g, s) for g, s in zip(leaves, _unpack(state))])
            for after, before in zip(new.subtree_defs, state.subtree_defs):
                _check_same("an updated state's", after, "the state's", before)
            return new

        def tree_get_params(state):
            return tree_unflatten(state.tree_def, map(get_params, _unpack(state)))

        return Optimizer(tree_init, tree_update, tree_get_params)

    return tree_opt_maker


def _pack(treedef, states) -> OptimizerState:
    flat = [tree_flatten(state) for state in states]
    return OptimizerState(
        tuple(leaves for leaves, _ in flat), treedef, tuple(subtree for _, subtree in flat))


def _unpack(state: OptimizerState) -> list:
    """The state of each parameter."""
    return [*map(tree_unflatten, state.subtree_defs, state.packed_state)]


def _check_same(what: str, found, whose: str, expected) -> None:
    if found != expected:
        raise TypeError(f"optimizer: {what} tree structure is not {whose}: {found} is not "
                        f"{expected}")


def _with_slots(slots: int, update: Callable) -> tuple[Callable, Callable, Callable]:
    """The triple of an optimiser whose state is the array and `slots` others, zero at first."""
    def init(x):
        return x, *(jnp.zeros_like(x) for _ in range(slots))

    return init, update, lambda state: state[0]


# ----------------------------------------------------------------------------------------------
# Optimisers. In each, `step_size` is a number or a `Schedule`, x the array, g its gradient.


@optimizer
def sgd(step_size):
    """Gradient descent.

    >>> init, update, get_params = sgd(0.5)
    >>> get_params(update(0, 1.0, init(3.0)))
    2.5
    """
    step_size = make_schedule(step_size)
    return lambda x: x, lambda i, g, x: x - step_size(i) * g, lambda x: x


@optimizer
def momentum(step_size, mass: float):
    """Gradient descent of a body with a mass: it keeps the fraction `mass` of its velocity."""
    step_size = make_schedule(step_size)

    def update(i, g, state):
        x, velocity = state
        velocity = mass * velocity + g
        return x - step_size(i) * velocity, velocity

    return _with_slots(1, update)


@optimizer
def nesterov(step_size, mass: float):
    """`momentum` that looks one step ahead (Nesterov, 1983)."""
    step_size = make_schedule(step_size)

    def update(i, g, state):
        x, velocity = state
        velocity = mass * velocity + g
        return x - step_size(i) * (mass * velocity + g), velocity

    return _with_slots(1, update)


@optimizer
def adagrad(step_size, momentum=0.9):
    """Steps that shrink with the sum of squared gradients so far (Duchi et al., 2011)."""
    step_size = make_schedule(step_size)

    def update(i, g, state):
        x, squares, m = state
        squares = squares + jnp.square(g)
        m = (1.0 - momentum) * (g * _inverse_root(squares)) + momentum * m
        return x - step_size(i) * m, squares, m

    return _with_slots(2, update)


def _inverse_root(x):
    """1 / √x, and 0 at 0."""
    return jnp.where(x > 0, 1.0 / jnp.sqrt(x), 0.0)


@optimizer
def rmsprop(step_size, gamma=0.9, eps=1e-8):
    """Gradients divided by the root of a running mean of their squares (Hinton, 2012)."""
    step_size = make_schedule(step_size)

    def update(i, g, state):
        x, square = state
        square = square * gamma + jnp.square(g) * (1.0 - gamma)
        return x - step_size(i) * g / jnp.sqrt(square + eps), square

    return _with_slots(1, update)


@optimizer
def rmsprop_momentum(step_size, gamma=0.9, eps=1e-8, momentum=0.9):
    """`rmsprop` with a momentum."""
    step_size = make_schedule(step_size)

    def update(i, g, state):
        x, square, velocity = state
        square = square * gamma + jnp.square(g) * (1.0 - gamma)
        velocity = momentum * velocity + step_size(i) * g / jnp.sqrt(square + eps)
        return x - velocity, square, velocity

    return _with_slots(2, update)


@optimizer
def adam(step_size, b1=0.9, b2=0.999, eps=1e-8):
    """A momentum, and a scale for each number (Kingma and Ba, 2014).

    Args:
      step_size: a number or a `Schedule`.
      b1, b2: what the running means of gradients and of their squares keep at each step.
      eps: added to the scale.

    >>> init, update, get_params = adam(0.1)
    >>> round(float(get_params(update(0, 5.0, init(3.0)))), 3)  # the gradient's size does not count
    2.9
    """
    step_size = make_schedule(step_size)

    def update(i, g, state):
        x, m, v = state
        m = (1 - b1) * g + b1 * m
        v = (1 - b2) * jnp.square(g) + b2 * v
        unbiased_m, unbiased_v = m / _bias(b1, i, m), v / _bias(b2, i, m)
        return x - step_size(i) * unbiased_m / (jnp.sqrt(unbiased_v) + eps), m, v

    return _with_slots(2, update)


def _bias(b, i, like):
    """What a running mean that began with 0 has seen, of 1, after step `i`."""
    return 1 - jnp.asarray(b, like.dtype) ** (i + 1)


@optimizer
def adamax(step_size, b1=0.9, b2=0.999, eps=1e-8):
    """`adam` with a running maximum instead of the mean of squares (Kingma and Ba, 2014)."""
    step_size = make_schedule(step_size)

    def update(i, g, state):
        x, m, largest = state
        m = (1 - b1) * g + b1 * m
        largest = jnp.maximum(b2 * largest, jnp.abs(g))
        return x - (step_size(i) / _bias(b1, i, m)) * m / (largest + eps), m, largest

    return _with_slots(2, update)


@optimizer
def sm3(step_size, momentum=0.9):
    """`adagrad` that keeps sums for each row and each column only (Anil et al., 2019)."""
    step_size = make_schedule(step_size)

    def init(x):
        return x, jnp.zeros_like(x), [jnp.zeros(n, x.dtype) for n in jnp.atleast_1d(x).shape]

    def update(i, g, state):
        x, m, sums = state
        ndim = len(sums)  # 1 for a scalar
        bounds = [jnp.expand_dims(s, [d for d in range(ndim) if d != axis])
                  for axis, s in enumerate(sums)]
        squares = functools.reduce(jnp.minimum, bounds) + jnp.square(g)
        m = (1.0 - momentum) * (g * _inverse_root(squares).reshape(x.shape)) + momentum * m
        sums = [squares.max([d for d in range(ndim) if d != axis]) for axis in range(ndim)]
        return x - step_size(i) * m, m, sums

    return init, update, lambda state: state[0]


# ----------------------------------------------------------------------------------------------
# Schedules


def constant(step_size) -> Schedule:
    """All steps are equally long."""
    return lambda i: step_size


def exponential_decay(step_size, decay_steps, decay_rate) -> Schedule:
    """After each `decay_steps` steps, they are shorter by the factor `decay_rate`.

    >>> exponential_decay(1.0, 10, 0.5)(20)
    0.25
    """
    return lambda i: step_size * decay_rate ** (i / decay_steps)


def inverse_time_decay(step_size, decay_steps, decay_rate, staircase: bool = False) -> Schedule:
    """step_size / (1 + decay_rate · i / decay_steps); with `staircase`, in whole stairs.

    >>> inverse_time_decay(1.0, 10, 3.0)(10)
    0.25
    """
    if staircase:
        return lambda i: step_size / (1 + decay_rate * jnp.floor(i / decay_steps))
    return lambda i: step_size / (1 + decay_rate * i / decay_steps)


def polynomial_decay(step_size, decay_steps, final_step_size, power=1.0) -> Schedule:
    """From `step_size` down to `final_step_size`, which it keeps after `decay_steps` steps.

    >>> polynomial_decay(1.0, 10, 0.0)(5).item()
    0.5
    """
    def schedule(i):
        left = (1 - jnp.minimum(i, decay_steps) / decay_steps) ** power
        return left * (step_size - final_step_size) + final_step_size

    return schedule


@public
def piecewise_constant(boundaries, values) -> Schedule:
    """The first of `values` up to the first of `boundaries`, then the second, and so on.

    Raises:
      ValueError: there is not one value more than there are boundaries.

    >>> piecewise_constant([10, 20], [1.0, 0.5, 0.1])(15).item()
    0.5
    """
    boundaries, values = jnp.array(boundaries), jnp.array(values)
    if not boundaries.ndim == values.ndim == 1:
        raise ValueError("boundaries and values must be sequences")
    if len(boundaries) != len(values) - 1:
        raise ValueError(f"{len(boundaries)} boundaries need one value more, got {len(values)}")
    return lambda i: values[jnp.sum(i > boundaries)]


def make_schedule(scalar_or_schedule) -> Schedule:
    """A `Schedule` as it is; a number as the constant one.

    Raises:
      TypeError: neither.
    """
    if callable(scalar_or_schedule):
        return scalar_or_schedule
    if jnp.ndim(scalar_or_schedule):
        raise TypeError("a step size is a number or a function of the step, not "
                        f"{type(scalar_or_schedule)} of shape {jnp.shape(scalar_or_schedule)}")
    return constant(scalar_or_schedule)


# ----------------------------------------------------------------------------------------------
# Gradients that are too long


def l2_norm(tree):
    """The length of a pytree of arrays, as of one vector.

    >>> l2_norm({"a": jnp.array([3.0]), "b": jnp.array([4.0])}).item()
    5.0
    """
    return jnp.sqrt(sum(jnp.vdot(x, x) for x in tree_leaves(tree)))


@public
def clip_grads(grad_tree, max_norm):
    """The pytree, shortened to the length `max_norm` if it is longer.

    >>> clip_grads(jnp.array([3.0, 4.0]), 1.0).round(2).tolist()
    [0.6..., 0.8...]
    """
    norm = l2_norm(grad_tree)
    return tree_map(lambda g: jnp.where(norm < max_norm, g, g * (max_norm / norm)), grad_tree)


# ----------------------------------------------------------------------------------------------
# States that can be saved


class JoinPoint:
    """Where, in a pytree like the parameters, the state of one of them hangs: a leaf."""

    def __init__(self, subtree):
        self.subtree = subtree

    def __iter__(self):
        """A leaf that holds arrays looks like a sequence of one."""
        yield self.subtree


def unpack_optimizer_state(opt_state: OptimizerState):
    """A pytree like the parameters, with a `JoinPoint` of each one's state: to be saved."""
    return tree_unflatten(opt_state.tree_def, map(JoinPoint, _unpack(opt_state)))


def pack_optimizer_state(marked_pytree) -> OptimizerState:
    """The inverse of `unpack_optimizer_state`.

    >>> init, update, get_params = momentum(0.1, mass=0.9)
    >>> saved = unpack_optimizer_state(init({"w": jnp.ones(2)}))
    >>> get_params(pack_optimizer_state(saved))
    {'w': Array([1., 1.], dtype=float32)}
    """
    points, treedef = tree_flatten(marked_pytree)
    assert all(isinstance(point, JoinPoint) for point in points)
    return _pack(treedef, [point.subtree for point in points])
