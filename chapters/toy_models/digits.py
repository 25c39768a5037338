"""The data: 1,797 handwritten digits of 8 × 8 pixels (UCI), which scikit-learn carries."""

from __future__ import annotations

import numpy as np

TEST_IMAGES = 360  # a fifth of them, never shown in training


def load(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Images f32[1437,64] and labels i32[1437] to train on, f32[360,64] and i32[360] to test."""
    from sklearn.datasets import load_digits  # slow to import, and only the tour needs it

    digits = load_digits()
    order = np.random.default_rng(seed).permutation(len(digits.target))
    images = (digits.data[order] / 16).astype(np.float32)  # ink runs from 0 to 16
    labels = digits.target[order].astype(np.int32)
    return images[TEST_IMAGES:], labels[TEST_IMAGES:], images[:TEST_IMAGES], labels[:TEST_IMAGES]


def batches(rng: np.random.Generator, images: np.ndarray, labels: np.ndarray, size: int):
    """One epoch: the images in a fresh order, in batches of `size`; a smaller rest is left out."""
    order = rng.permutation(len(labels))
    for start in range(0, len(labels) - size + 1, size):
        chosen = order[start : start + size]
        yield images[chosen], labels[chosen]


def smudge(rng: np.random.Generator, images: np.ndarray, amount: float) -> np.ndarray:
    """Add noise to each pixel: no two epochs look alike, so learning by heart does not pay."""
    return images + rng.normal(scale=amount, size=images.shape).astype(np.float32)
