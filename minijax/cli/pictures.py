"""The tour's two pictures."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure  # without pyplot: no window, no global state


def draw_loss_curve(path: Path, losses: list[float], accuracies: list[float]) -> None:
    """The loss of every batch, and after every epoch the accuracy on the test images."""
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    axes.plot(losses, color="tab:blue", linewidth=0.8)
    axes.set(xlabel="step", ylabel="training loss (log scale)", yscale="log",
             title="Learning to read digits")
    right = axes.twinx()
    steps = np.arange(1, len(accuracies) + 1) * len(losses) / len(accuracies)
    right.plot(steps, np.array(accuracies) * 100, color="tab:orange")
    right.set(ylabel="test accuracy in %", ylim=(80, 100))
    axes.yaxis.label.set_color("tab:blue")
    right.yaxis.label.set_color("tab:orange")
    figure.savefig(path, dpi=120)


def draw_confusion_matrix(path: Path, labels: np.ndarray, guesses: np.ndarray) -> None:
    """How often each digit (row) was read as each digit (column)."""
    counts = np.zeros((10, 10), int)
    np.add.at(counts, (labels, guesses), 1)
    figure = Figure(figsize=(5, 5), layout="constrained")
    axes = figure.subplots()
    axes.imshow(np.sqrt(counts), cmap="Blues")  # the root, so that a single mistake is seen
    axes.set(xlabel="read as", ylabel="written", xticks=range(10), yticks=range(10),
             title=f"{(labels != guesses).sum()} mistakes in {len(labels)} images")
    for (row, column), count in np.ndenumerate(counts):
        if count:
            color = "white" if row == column else "black"
            axes.text(column, row, str(count), ha="center", va="center", color=color)
    figure.savefig(path, dpi=120)
