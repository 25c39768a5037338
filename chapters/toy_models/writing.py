"""Learning to write: the transformer reads the chapters of this book, then goes on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

import minijax as jax
import minijax.numpy as jnp
from toy_models import adam, transformer

CHAPTERS = Path(__file__).resolve().parents[1]
STEPS = 500
BATCH = 16
LENGTH = 64  # letters that the network sees at once
RATE = 4e-3


def load() -> str:
    """The chapters, one after another."""
    return "\n".join(path.read_text() for path in sorted(CHAPTERS.rglob("*.md")))


def as_numbers(text: str) -> tuple[np.ndarray, str]:
    """The text as i32[n], the numbers of its letters in the alphabet; and the alphabet."""
    alphabet = "".join(sorted(set(text)))
    number = {letter: i for i, letter in enumerate(alphabet)}
    return np.array([number[letter] for letter in text], np.int32), alphabet


def surprise_after_one_letter(text: np.ndarray) -> float:
    """The loss, in nats a letter, if you predict by how often each letter follows each other."""
    counts = np.zeros((text.max() + 1,) * 2)
    np.add.at(counts, (text[:-1], text[1:]), 1)
    share = counts[counts > 0] / counts.sum(1, keepdims=True).repeat(len(counts), 1)[counts > 0]
    return float(-np.sum(counts[counts > 0] * np.log(share)) / counts.sum())


def pieces(rng: np.random.Generator, text: np.ndarray) -> np.ndarray:
    """A batch: pieces of the text, [BATCH,LENGTH+1], from anywhere in it."""
    starts = rng.integers(len(text) - LENGTH, size=BATCH)
    return np.stack([text[start : start + LENGTH + 1] for start in starts])


@jax.jit
def step(state: adam.State, rate, text):
    """The loss on one batch, and the state after a move against its gradient."""
    loss, grads = jax.value_and_grad(transformer.loss)(state.params, text)
    return loss, adam.update(state, grads, rate)


def train(text: np.ndarray, steps: int = STEPS, seed: int = 0) -> Iterator[tuple[dict, float]]:
    """After each step, yield the parameters and the loss. Same seed, same numbers."""
    rng = np.random.default_rng(seed)
    state = adam.init(transformer.init(jax.random.key(seed), int(text.max()) + 1))
    for i in range(steps):
        # The rate rises for a while, as Adam's means are rough at first, and then falls.
        rate = np.float32(RATE * min(1, (i + 1) / 50) * (1 - i / STEPS))
        loss, state = step(state, rate, pieces(rng, text))
        yield state.params, float(loss)


def first_losses(text: np.ndarray, steps: int) -> list[float]:
    """The losses of the first few steps."""
    return [loss for _, loss in train(text, steps)]


@jax.jit
def write_on(params, start, key):
    """After `start`, i32[LENGTH], four times as many letters, drawn by the network's scores."""

    def next_letter(window, key):
        scores = transformer.scores(params, window[None])[0, -1]
        letter = jax.random.categorical(key, scores / 0.5)  # below 1: rather the likely ones
        return jnp.append(window[1:], letter), letter

    return jax.lax.scan(next_letter, start, jax.random.split(key, 4 * LENGTH))[1]


def write(params, start: np.ndarray, alphabet: str, seed: int = 0) -> str:
    """What the network writes after `start`."""
    letters = write_on(params, start, jax.random.key(seed))
    return "".join(alphabet[i] for i in np.asarray(letters))
