"""A batch axis that moves through operations: what `BatchTrace` really did, drawn."""

from __future__ import annotations

from typing import Any

import numpy as np

import minijax as jax
from minijax import lax
from minijax.core.batching import BatchTrace, BatchTracer
from minijax.debugging.theatre import record

from .steps import Explanation, Picture, Step, number

WEIGHTS = np.array([1, 2, 3], np.float32)
EXAMPLES = np.array([[1, 2, 0, 1], [0, 1, 1, 2], [1, 0, 2, 1]], np.float32)
FOLLOWED = 1  # the example whose cells are marked
CELL, ALONE = 34, 78  # the width of a cell, and of one in a vector
WORDS = {"integer_pow": "the square", "mul": "the product with the weights",
         "reduce_sum": "the sum"}


def predict(weights, x):
    """One example: x is a vector."""
    return lax.reduce_sum(lax.mul(weights, lax.integer_pow(x, 2)), (0,))


def batched() -> list[tuple[str, np.ndarray, int]]:
    """For each operation its name, the array that came out, and where its batch axis is."""
    found: list[tuple[str, np.ndarray, int]] = [("x", EXAMPLES, 1)]

    def step(name: str, x: Any) -> Any:
        if isinstance(x, BatchTracer):
            found.append((name, np.asarray(x.val), x.batch_dim))
        return x

    def spied(weights, x):
        square = step("integer_pow", lax.integer_pow(x, 2))
        product = step("mul", lax.mul(weights, square))
        return step("reduce_sum", lax.reduce_sum(product, (0,)))

    jax.vmap(spied, in_axes=(None, 1))(WEIGHTS, EXAMPLES)
    return found


def done_by_rules() -> dict[str, list[str]]:
    """For each operation the primitives that its batching rule applied, from a recording."""
    with record() as recording:
        jax.vmap(predict, in_axes=(None, 1))(WEIGHTS, EXAMPLES)
    found: dict[str, list[str]] = {}
    current = ""
    for event in recording.events:
        if event["kind"] == "process" and event["traces"][-1].startswith(BatchTrace.__name__):
            current = event["primitive"]
        elif event["kind"] == "process" and current:
            found.setdefault(current, []).append(event["primitive"])
    return found


def explanation() -> Explanation:
    """One step for each operation."""
    arrays, rules = batched(), done_by_rules()
    steps = [Step("vmap(predict, in_axes=(None, 1)): x is an array of shape (3, 4), and its batch "
                  "axis is axis 1. Each of the four columns is an example. predict sees a vector "
                  "of 3.")]
    for (_, before, was), (name, after, now) in zip(arrays, arrays[1:]):
        how = "stays" if was == now else f"moves from {was} to {now}"
        steps.append(Step(
            f"{WORDS[name].capitalize()}. For predict the result has the shape "
            f"{_without(after.shape, now)}. In truth it is {_shape(after.shape)}, made from "
            f"{_shape(before.shape)}: the batch axis {how}. The batching rule of {name} applied "
            f"{', '.join(rules[name])}."))
    steps.append(Step(f"The result has one number for each example. The marked cells are all that "
                      f"example {FOLLOWED} has met, and nothing of another example has entered "
                      "them."))
    return Explanation("A batch axis on its way through three operations", _picture(arrays), steps)


def _picture(arrays):
    label = "; then ".join(f"an array of shape {_shape(x.shape)} with the batch axis {d}"
                           for _, x, d in arrays)
    picture = Picture(640, 236, f"{label[0].upper()}{label[1:]}.")
    x = 6.0
    for k, (name, array, dim) in enumerate(arrays):
        _array(picture, x, k, name, array, dim)
        x += (CELL * array.shape[1] if array.ndim == 2 else ALONE) + 44
        if k + 1 < len(arrays):
            picture.path(f"M{x - 40:g} 120h22m-7 -5l7 5l-7 5", "pl-flow", show=f"{k + 1}-")
    return picture.svg()


def _array(picture, left, k, name, array, dim):
    """A grid; the batch axis is marked by a bracket, and one example by its colour."""
    grid = array if array.ndim == 2 else array[:, None]
    show, lit = f"{k}-", f"{k}"
    width = CELL if array.ndim == 2 else ALONE
    picture.text(left, 20, name, "pl-name", show=show, lit=lit)
    picture.text(left, 214, _shape(array.shape), "pl-small", show=show)
    picture.text(left, 230, f"batch axis {dim}", "pl-small", show=show)
    for i, row in enumerate(grid):
        for j, x in enumerate(row):
            mine = (i, j)[dim] == FOLLOWED
            picture.rect(left + width * j, 56 + CELL * i, width - 3, CELL - 3,
                         "pl-cell pl-mine" if mine else "pl-cell", show=show)
            picture.text(left + width * (j + 0.5) - 1, 56 + CELL * i + 21, number(x), "pl-number",
                         text_anchor="middle", show=show)
    above = f"M{left + 1:g} 50v-6h{width * grid.shape[1] - 5:g}v6"
    beside = f"M{left - 3:g} 57h-5v{CELL * grid.shape[0] - 5}h5"
    picture.path(above if dim else beside, "pl-axis-mark", show=show)


def _shape(shape):
    return "(" + ", ".join(map(str, shape)) + ")" if len(shape) != 1 else f"({shape[0]},)"


def _without(shape, dim):
    return _shape(shape[:dim] + shape[dim + 1:])
