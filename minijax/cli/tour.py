"""`python -m minijax tour`: what minijax does, on a sine, and on networks that read and write.

The programs stand in `chapters/toy_models`; this file tells about them and checks what they return.
"""

import math
import time
from pathlib import Path
from typing import Any

import numpy as np

import minijax as jax

from .book import chapters
from .compare import Result, agreement, as_numpy, ask_real_jax, call, close
from .errors import Failure

LEAST_ACCURACY = 0.97
LEAST_CNN_ACCURACY = 0.95
COMPARED_EPOCHS = 2  # later losses drift apart: each step magnifies what the last bit brought
COMPARED_STEPS = 20
SAMPLE = 256  # images for the per-example gradients and the Hessian's product


class Tour:
    """The stops, in order. Each keeps its results, for the comparison with JAX at the end."""

    def __init__(self, output: Path):
        guide, self.pictures = import_companions()
        self.guide = guide.Guide()
        self.output = output
        self.results: list[Result] = []

    def compute(self, what: str, function: str, *arguments: Any) -> Any:
        """Call a function of the toy models, and keep the result."""
        value = call(function, arguments)
        self.results.append(Result(what, function, arguments, value, tolerance=1e-5))
        return value

    def derivatives(self) -> None:
        """Nested `grad` on a sine."""
        self.guide.stop("Derivatives")
        self.guide.say("""
            grad turns a function into the one that computes its slope. That is a plain function
            again, to which grad can be applied again. Here are sin(1) and its first five
            derivatives, each the grad of the one before:""")
        values = self.compute("the derivatives", "experiments.sine_and_derivatives", 1.0)
        sin, cos = math.sin(1), math.cos(1)
        exact = [sin, cos, -sin, -cos, sin, cos]
        names = ["sin", "grad(sin)", "grad(grad(sin))", "... 3 times", "... 4 times", "... 5 times"]
        for name, value, truth in zip(names, values, exact):
            self.guide.show(f"{name:<16}{value:+.7f}   exact: {truth:+.7f}")
        self.guide.check("they are cos, -sin, -cos, sin, cos", close(values, exact, 1e-6))

    def composition(self) -> None:
        """`jit(vmap(grad(f)))` on a damped wave."""
        self.guide.stop("Transformations compose")
        self.guide.say("""
            exp(-x) sin(x) is a damped wave, written for a single number. grad makes its slope, vmap
            maps that over an array, jit compiles all of it with XLA: jit(vmap(grad(wave))).""")
        points = np.linspace(0, 3, 7, dtype=np.float32)
        slopes = self.compute("the slopes of the wave", "experiments.slopes_of_wave", points)
        for point, slope in zip(points, slopes):
            self.guide.show(f"x = {point:.1f}   slope {slope:+.6f}")
        exact = np.exp(-points) * (np.cos(points) - np.sin(points))
        self.guide.check("they are exp(-x) (cos(x) - sin(x))", close(slopes, exact, 1e-6))

    def jaxpr(self) -> None:
        """The traced form of a gradient."""
        self.guide.stop("What grad wrote")
        self.guide.say("""
            minijax runs a function once with tracers in place of numbers, and notes each operation
            that they meet. The notes are a jaxpr: a list of equations, in JAX's own notation. Here
            is the slope of the wave. Its first half computes the wave, with what will be needed
            later; its second half goes back from the result's cotangent, 1.0, to that of x.""")
        self.guide.show(self.compute("the jaxpr's text", "experiments.jaxpr_of_slope"))

    def training(self) -> None:
        """Train the network on the digits."""
        from toy_models import digits, training

        self.guide.stop("A network learns to read")
        images, labels, test_images, test_labels = digits.load()
        steps = training.EPOCHS * (len(labels) // training.BATCH)
        self.guide.say(f"""
            There are {len(labels)} handwritten digits to learn from, and {len(test_labels)} others
            for the exam. The network is a plain function of its parameters. One step takes
            value_and_grad of its loss and moves the parameters by Adam, a few tree_maps; jit
            compiles the step once, and it runs {steps} times.""")
        losses: list[float] = []
        accuracies: list[float] = []
        began = time.perf_counter()
        epochs = training.train(images, labels)
        for (params, new_losses), note in self.guide.progress(epochs, training.EPOCHS, "epoch"):
            losses += new_losses
            accuracies.append(training.accuracy(params, test_images, test_labels))
            note(f"loss {np.mean(new_losses):.3f}, test accuracy {accuracies[-1]:.1%}")
        seconds = time.perf_counter() - began
        self.guide.show(f"{accuracies[-1]:.1%} of the exam read rightly, after {seconds:.1f} s")
        enough = accuracies[-1] >= LEAST_ACCURACY
        self.guide.check(f"test accuracy is at least {LEAST_ACCURACY:.0%}", enough)

        self.params, self.sample = as_numpy(params), (images[:SAMPLE], labels[:SAMPLE])
        first = losses[: COMPARED_EPOCHS * len(losses) // training.EPOCHS]
        arguments = (images, labels, COMPARED_EPOCHS)
        self.results.append(Result(f"the losses of the first {len(first)} steps",
                                   "training.first_losses", arguments, as_numpy(first), 1e-3))
        scores = self.compute("the scores in the exam", "mlp.predict", self.params, test_images)
        self.draw(losses, accuracies, test_labels, scores.argmax(-1))

    def draw(self, losses, accuracies, labels, guesses) -> None:
        """Save the pictures and say where they are."""
        self.output.mkdir(parents=True, exist_ok=True)
        curve, confusion = self.output / "loss.png", self.output / "confusion.png"
        self.pictures.draw_loss_curve(curve, losses, accuracies)
        self.pictures.draw_confusion_matrix(confusion, labels, guesses)
        self.guide.say(f"The loss curve is in {curve}, the mistakes are in {confusion}.")

    def per_example_gradients(self) -> None:
        """`vmap(grad(loss))`: which image pulls hardest?"""
        self.guide.stop("A gradient for every image")
        self.guide.say("""
            grad of the loss gives one gradient for a whole batch. vmap(grad(loss)) gives each image
            its own, in one go, and the loss need not know.""")
        arguments = (self.params, *self.sample)
        batch = self.compute("the gradient of a batch", "experiments.batch_gradient", *arguments)
        each = self.compute("the per-example gradients",
                            "experiments.per_example_gradients", *arguments)
        per_image = [leaf.reshape(SAMPLE, -1) for leaf in jax.tree.leaves(each)]
        lengths = np.linalg.norm(np.concatenate(per_image, axis=1), axis=1)
        hardest = lengths.argmax()
        images, labels = self.sample
        self.guide.show(draw_digit(images[hardest]))
        self.guide.say(f"""
            This {labels[hardest]} pulls hardest at the parameters: its gradient has length
            {lengths[hardest]:.1f}; half of the images stay below {np.median(lengths):.3f}.""")
        mean = jax.tree.map(lambda leaf: leaf.mean(0), each)
        self.guide.check("their mean is the gradient of the batch", close(mean, batch, 1e-4))

    def autotuning(self) -> None:
        """XLA's options for a program, chosen by measuring."""
        from toy_models import mlp

        from ..experimental import autotune

        self.guide.stop("The fastest of a few programs")
        self.guide.say("""
            XLA compiles for the CPU with the same options by default, which do not suit every
            program. With compiler_options="autotune", jit tries a few variants in the background,
            checks that their results agree, and keeps the fastest. Here are the gradients of
            all images again:""")
        each = jax.vmap(jax.grad(mlp.loss), in_axes=(None, 0, 0))
        tuned = jax.jit(each, compiler_options="autotune")
        for _ in range(3):
            before = as_numpy(tuned(self.params, *self.sample))
        autotune.wait()
        for choice in autotune.choices()[-1:]:
            for name, seconds in choice.seconds.items():
                chosen = "   chosen" if name == choice.variant else ""
                self.guide.show(f"{name:<32}{1e3 * seconds:8.2f} ms{chosen}")
        self.guide.check("the program that was chosen returns the same gradients",
                         close(as_numpy(tuned(self.params, *self.sample)), before, 1e-4))

    def curvature(self) -> None:
        """A Hessian-vector product, forward over reverse."""
        self.guide.stop("Curvature without a Hessian")
        leaves = jax.tree.leaves(self.params)
        size = sum(leaf.size for leaf in leaves)
        self.guide.say(f"""
            The loss depends on {size:,} parameters; its Hessian has {size**2:,} entries, too many
            to write down. jvp(grad(loss)), forward mode over reverse mode, gives the product of the
            Hessian and a direction, for about the price of two gradients.""")
        rng = np.random.default_rng(0)
        direction = jax.tree.map(lambda p: rng.normal(size=p.shape).astype(p.dtype), self.params)
        arguments = (self.params, direction, *self.sample)
        product = self.compute("the Hessian-vector product", "experiments.hessian_vector_product",
                               *arguments)
        nearby = self.compute("two gradients' difference in 64 bits",
                              "experiments.hessian_vector_product_by_differences", *arguments)
        pairs = zip(jax.tree.leaves(direction), jax.tree.leaves(product))
        curvature = sum(np.vdot(v, hv) for v, hv in pairs)
        self.guide.show(f"curvature along a random direction: {curvature:.4f}")
        self.guide.check("it is the difference of the gradients at two near points, in 64 bits",
                         close(product, nearby, 1e-4))

    def convolutions(self) -> None:
        """Train the convolutional network on the digits."""
        from toy_models import cnn, digits

        self.guide.stop("A network that looks for shapes")
        images, labels, test_images, test_labels = digits.load()
        self.guide.say("""
            A convolution slides small patterns over an image: it finds a stroke wherever it is, and
            has few parameters. It is one primitive, with its rules for every transformation.""")
        epochs = cnn.train(images, labels)
        losses: list[float] = []
        for (params, new_losses), note in self.guide.progress(epochs, cnn.EPOCHS, "epoch"):
            losses += new_losses
            accuracy = cnn.accuracy(params, test_images, test_labels)
            note(f"loss {np.mean(new_losses):.3f}, test accuracy {accuracy:.1%}")
        size = sum(leaf.size for leaf in jax.tree.leaves(params))
        self.guide.show(f"{accuracy:.1%} of the exam read rightly, with {size:,} parameters")
        enough = accuracy >= LEAST_CNN_ACCURACY
        self.guide.check(f"test accuracy is at least {LEAST_CNN_ACCURACY:.0%}", enough)

        first = losses[: COMPARED_EPOCHS * len(losses) // cnn.EPOCHS]
        arguments = (images, labels, COMPARED_EPOCHS)
        self.results.append(Result(f"the losses of the second network's first {len(first)} steps",
                                   "cnn.first_losses", arguments, as_numpy(first), 1e-3))
        self.compute("the second network's scores", "cnn.predict", as_numpy(params), test_images)

    def writing(self) -> None:
        """Train the transformer on the book's own text, and let it write."""
        from toy_models import writing

        self.guide.stop("A network learns to write")
        text, alphabet = writing.as_numbers(writing.load())
        self.guide.say(f"""
            A transformer reads the chapters of this book, {len(text):,}
            letters, and learns at each what may come next: {writing.STEPS} steps, each with
            {writing.BATCH} pieces of {writing.LENGTH} letters. The parts of a network, random
            numbers and initial weights are in jax.nn and jax.random, as in JAX.""")
        losses: list[float] = []
        steps = writing.train(text)
        for learned, note in self.guide.progress(steps, writing.STEPS, "step"):
            losses.append(learned[1])
            note(f"loss {np.mean(losses[-20:]):.2f} nats a letter")
        known = writing.surprise_after_one_letter(text)
        claim = f"it knows more than how often a letter follows another, a loss of {known:.2f}"
        self.guide.check(claim, float(np.mean(losses[-20:])) < known)

        self.results.append(Result("the losses of the writer's first steps", "writing.first_losses",
                                   (text, COMPARED_STEPS), as_numpy(losses[:COMPARED_STEPS]), 1e-3))
        start = text[: writing.LENGTH]
        self.guide.say("Then it writes. Every letter is drawn from those that it expects:")
        arguments = (as_numpy(learned[0]), start, alphabet)
        self.guide.show(self.compute("what it writes", "writing.write", *arguments))

    def real_jax(self) -> None:
        """Run the same files with real JAX, in a process of its own, and compare every result."""
        self.guide.stop("The same with real JAX")
        answer = ask_real_jax(self.results)
        if answer is None:
            self.guide.say("JAX is not installed here, so nothing was compared with it.")
            return
        version, theirs = answer
        self.guide.say(f"""
            In a process of its own, real JAX {version} has run the same files, with `import minijax
            as jax` standing for JAX itself. Against its results, ours are:""")
        for ours, value in zip(self.results, theirs):
            holds = close(ours.value, value, ours.tolerance)
            self.guide.check(f"{ours.what}: {agreement(ours.value, value)}", holds)

    def summary(self, seconds: float) -> int:
        """The last words; the exit code."""
        passed, failed = self.guide.passed, self.guide.failed
        if failed:
            self.guide.say(f"{len(failed)} of {len(passed) + len(failed)} checks failed.")
            return 1
        self.guide.say(f"""
            All {len(passed)} checks passed, in {seconds:.0f} s. The book tells how all this
            works, one idea at a time.""")
        return 0


def import_companions():
    """The modules that need what only the tour needs; a clear word if something is missing."""
    chapters()
    try:
        import sklearn  # noqa: F401

        from . import guide, pictures
    except ImportError as error:
        raise Failure(f"the tour needs {error.name}: pip install 'minijax[tour]'", 1) from None
    return guide, pictures


def draw_digit(image: np.ndarray) -> str:
    """An 8 × 8 image in letters, two for each pixel since letters are tall."""
    shades = " ·+#█"
    levels = np.clip(image.reshape(8, 8) * len(shades), 0, len(shades) - 1).astype(int)
    return "\n".join("".join(2 * shades[level] for level in row).rstrip() for row in levels)


def tour(output: Path) -> int:
    """All stops; return 0 if every check passed, else 1."""
    tour, began = Tour(output), time.perf_counter()
    tour.guide.say("Welcome to minijax: JAX's core, small enough to be read.")
    for stop in (tour.derivatives, tour.composition, tour.jaxpr, tour.training,
                 tour.per_example_gradients, tour.autotuning, tour.curvature, tour.convolutions,
                 tour.writing, tour.real_jax):
        stop()
    return tour.summary(time.perf_counter() - began)
