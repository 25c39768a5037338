"""Exercises of chapter 0: fill in the stubs, then `python -m minijax learn check 0.1`."""

from __future__ import annotations


def slopes(f, xs):
    """0.1: the derivatives of `f`, a function of one number, at all numbers of the array `xs`.

    Return an array.
    """
    raise NotImplementedError


def gradient_norms(loss, w, xs, ys):
    """0.2: for each example, the length of the gradient of loss(w, x, y) with respect to w.

    `w` is a vector.

    `xs` and `ys` have the examples along their first axis. Return an array.
    """
    raise NotImplementedError


def descend(loss, w, steps, rate):
    """0.3: `w` after `steps` steps of gradient descent, w - rate * gradient, by `lax.scan`."""
    raise NotImplementedError
