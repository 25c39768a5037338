"""Exercises of chapter 16: fill in the stubs, then `python -m minijax learn check 16.1`."""

from __future__ import annotations


def gradient_lengths(loss, p, xs, ys):
    """16.1: for each example, the length of the gradient of its loss, as an array.

    `loss(p, x, y)` is the loss of one example. `p` is a pytree of arrays, `xs` and `ys` are arrays
    with the examples along their first dimension. The length is that of all leaves together, as one
    vector. Of use: `minijax.vmap`, `minijax.grad`, `minijax.tree.leaves`, and functions of
    `minijax.numpy`.
    """
    raise NotImplementedError


def momentum(f, p, steps, rate, decay):
    """16.2: gradient descent with momentum: `p`, a pytree, after `steps` steps.

    With a speed v, which starts at zero: v = decay v + (the gradient of f at p), then
    p = p - rate v. Write it as one `minijax.lax.scan`, whose jaxpr does not grow with `steps`. Of
    use: `minijax.grad`, `jnp.zeros_like` of `minijax.numpy`, and `minijax.tree.map`, which takes
    several trees.
    """
    raise NotImplementedError


def causal_attention(q, k, v):
    """16.3: attention to the past, without all pairs in memory.

    `q`, `k` and `v` have the shape (length, width). Row t of the result is the sum of the rows of
    v up to t, with the weights softmax(q[t] · k[s] / sqrt(width)), for s up to t. No array in the
    program may have more than length · width elements, so compute one row at a time. The
    length is greater than the width. Of use: `minijax.lax.map(f, (a, b))`, `minijax.nn.softmax`,
    and `jnp.where` of `minijax.numpy`.
    """
    raise NotImplementedError


def clip_grads(grad_tree, max_norm):
    """16.4: the pytree of gradients, shortened to the length `max_norm` if it is longer.

    The length is that of all leaves together. If it is not finite, because a gradient has an
    infinity or a NaN, return zeros, so that the training survives one bad batch. It must work under
    `jit`, `vmap` and `grad`, and the derivative must be finite for a gradient that is zero. Of use:
    `minijax.tree.map`, `minijax.tree.leaves`, and `isfinite`, `sqrt`, `sum` and `where` of
    `minijax.numpy`.
    """
    raise NotImplementedError


def leapfrog(height, q, p, size, steps):
    """16.5: where a ball at `q` with the momentum `p` is after `steps` steps; both are pytrees.

    A step of the chapter changes the momentum by half a step at its beginning and at its end. The
    half steps of two neighbours can be joined. So compute one gradient for each step and one more:
    p changes by -size/2 times the gradient at the beginning and at the end, and by -size times
    the gradient in between. q changes by size times p in each step. `height` maps a pytree
    like q to a number. The loop must be a `minijax.lax.fori_loop` or `minijax.lax.scan`, for
    `steps` of at least 1. Of use: `minijax.grad` and `minijax.tree.map`. Return q and p.
    """
    raise NotImplementedError
