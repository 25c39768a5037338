"""Solutions of chapter 16."""

from __future__ import annotations

from minijax import grad, lax, nn, numpy as jnp, tree, vmap


def gradient_lengths(loss, p, xs, ys):
    """`vmap` of `grad`."""
    slopes = vmap(grad(loss), (None, 0, 0))(p, xs, ys)
    return jnp.sqrt(sum(jnp.sum(x.reshape(len(xs), -1) ** 2, 1) for x in tree.leaves(slopes)))


def momentum(f, p, steps, rate, decay):
    """The carry is the pair of place and speed."""
    def step(state, _):
        p, v = state
        v = tree.map(lambda v, slope: decay * v + slope, v, grad(f)(p))
        return (tree.map(lambda p, v: p - rate * v, p, v), v), None

    return lax.scan(step, (p, tree.map(jnp.zeros_like, p)), None, length=steps)[0][0]


def causal_attention(q, k, v):
    """A row at a time."""
    length, width = q.shape

    def row(query_and_place):
        query, place = query_and_place
        fit = jnp.where(jnp.arange(length) <= place, k @ query / width ** 0.5, -jnp.inf)
        return nn.softmax(fit) @ v

    return lax.map(row, (q, jnp.arange(length)))


def clip_grads(grad_tree, max_norm):
    """Neither a zero nor an infinite length reaches a division or a root."""
    square = sum(jnp.sum(x * x) for x in tree.leaves(grad_tree))
    is_long = jnp.isfinite(square) & (square > max_norm * max_norm)
    scale = jnp.where(is_long, max_norm / jnp.sqrt(jnp.where(is_long, square, 1.0)), 1.0)
    return tree.map(lambda x: jnp.where(jnp.isfinite(square), x * scale, 0.0), grad_tree)


def leapfrog(height, q, p, size, steps):
    """Half a step, whole steps, and half a step."""
    def push(p, q, size):
        return tree.map(lambda p, slope: p - size * slope, p, grad(height)(q))

    def roll(q, p):
        return tree.map(lambda q, p: q + size * p, q, p)

    def step(_, state):
        q, p = state
        p = push(p, q, size)
        return roll(q, p), p

    p = push(p, q, size / 2)
    q, p = lax.fori_loop(1, steps, step, (roll(q, p), p))
    return q, push(p, q, size / 2)
