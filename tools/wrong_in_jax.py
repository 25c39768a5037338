"""Appendix F: programs for which JAX 0.10.2 gives a wrong result, and what minijax gives.

Each program is one of `tools/differences.py`, and a test runs it in both libraries: the page shows
what they really give. `python -m tools.wrong_in_jax` prints it.
"""

from __future__ import annotations

from math import inf, nan
from typing import Any, NamedTuple

from minijax.runtime.wrong_programs import WRONG_PROGRAMS


class Wrong(NamedTuple):
    """A program of which JAX's result is wrong.

    call: the program, of `jax`, `jnp` and `np`.
    in_jax, here: the result as a number, a bool, or a list; or the name of the error's class.
    why: what is right and how we know, and why JAX gives something else.
    """

    call: str
    in_jax: Any
    here: Any
    why: str


WRONG: dict[str, list[Wrong]] = {
    "Zero times infinity": [
        Wrong("jax.grad(jax.grad(lambda x: (x ** jnp.arange(4)).sum()))(0.0)", nan, 2.0,
              "The function is \\(1 + x + x^2 + x^3\\), and its second derivative at 0 is 2. The "
              "rule for a power is \\(y x^{y-1}\\). For \\(y = 0\\) and \\(x = 0\\), that is 0 "
              "times infinity. We use the exponent 0 instead of -1 where the factor is 0 anyway."),
        Wrong("jax.grad(jax.nn.gelu)(1e20)", nan, 1.0,
              "Far from 0, `gelu` is the identity. Its formula has an \\(x^2\\), which overflows, "
              "inside of a `tanh`, whose derivative is 0 there. We bound the square."),
        Wrong("jax.grad(jax.scipy.special.boxcox, 1)(2.0, 0.0)", 0.0, 0.240227,
              "The derivative of \\((x^y - 1)/y\\) by \\(y\\) at 0 is \\((\\log x)^2/2\\). JAX "
              "treats \\(y = 0\\) as a case of its own, in which \\(y\\) does not occur. We "
              "differentiate the integral \\(\\log x \\int_0^1 x^{sy} ds\\), without that case."),
    ],
    "Numbers that overflow, or cancel, on the way": [
        Wrong("jax.grad(jnp.exp2)(128.0)", inf, 2.3586577e38,
              "The result \\(2^{128}\\) is too large for float32, but the derivative, "
              "\\(\\log 2\\) times as much, is not. We compute \\(2 \\log 2 \\cdot 2^{x-1}\\)."),
        Wrong("jax.grad(jax.scipy.special.log_ndtr)(-1e10)", 1.0, 1e10,
              "For large negative \\(x\\), the derivative is nearly \\(-x\\). JAX computes the "
              "exponential of a difference of two logarithms of size \\(10^{19}\\), which has no "
              "digits left. There, we divide \\(-x\\) by the series of Mills' ratio."),
        Wrong("jax.grad(jax.scipy.special.erfcx)(1e4)", -1.1920929e-07, -5.6418963e-09,
              "The rule \\(2x f(x) - 2/\\sqrt\\pi\\) subtracts numbers that agree in all digits "
              "but the last. For large \\(x\\), we sum the series of their difference."),
    ],
    "Kinks that the function does not have": [
        Wrong("jax.grad(jax.grad(jnp.hypot))(40.0, 40.0)", 0.0, 0.0088388,
              "The length of a vector is smooth, except at 0. JAX factors out the larger "
              "component, by `max` and `min`. Where both components are equal, these have a kink. "
              "Their rules are right for the first derivative of the length, and not for the "
              "second. We select the larger component by a comparison."),
        Wrong("jax.grad(jax.scipy.special.i0)(0.0)", 1.0, 0.0,
              "The Bessel function \\(I_0\\) is even and smooth, so its slope at 0 is 0. JAX "
              "multiplies two functions that both have a kink at 0, and adds one-sided slopes."),
    ],
    "Formulas that hold only in part": [
        Wrong("jax.grad(jax.lax.digamma)(-16.5)", -0.0588066, 9.8107977,
              "XLA sums the derivative of the digamma function from few terms, which are wrong far "
              "below 0. We use the reflection formula \\(\\psi_1(x) = \\pi^2/\\sin^2 \\pi x - "
              "\\psi_1(1 - x)\\)."),
        Wrong("jax.jvp(jnp.arccosh, (-2 + 1j,), (1 + 0j,))[1]", 0.4022479 + 0.2486029j,
              -0.4022479 - 0.2486029j,
              "The derivative is \\(1/(\\sqrt{z-1} \\sqrt{z+1})\\). JAX writes the roots as one, "
              "\\(\\sqrt{z^2-1}\\), which has the other sign left of the imaginary axis."),
        Wrong("jax.jvp(jnp.sign, (-2 + 1j,), (1 + 0j,))[1]", 0j, 0.0894427 + 0.1788854j,
              "The sign of a real number is constant. That of a complex number, \\(z/|z|\\), turns "
              "when \\(z\\) moves sideways."),
    ],
    "Derivatives that get lost": [
        Wrong("jax.grad(lambda x: x.item() * x)(3.0)", 3.0, "ConcretizationTypeError",
              "The derivative of \\(x^2\\) at 3 is 6. `x.item()` is a Python number, through which "
              "no derivative flows. JAX leaves out its share, and we refuse."),
        Wrong("jax.grad(lambda x: jnp.unique(x * np.ones(2)).sum())(3.0)", 0.0, 1.0,
              "The only element of the set is `x`. JAX computes the set outside of the traced "
              "program. Here its elements are gathered from `x`."),
        Wrong("jax.grad(jnp.linalg.det)(jnp.diag(jnp.arange(4.0)))", [[0.0] * 4] * 4,
              [[6.0, 0, 0, 0], *[[0.0] * 4] * 3],
              "The derivative of a determinant by an entry is the entry's cofactor, which need not "
              "be 0 if the determinant is: here it is 1 · 2 · 3. JAX divides by the pivots of "
              "the LU factors, and expects that only the last one can be 0. Here it is the first."),
    ],
    "Values": [
        Wrong("jnp.arange(300)[jnp.int8(-1)]", 43, 299,
              "The last element has the index 299. JAX adds the size 300 to the index in the "
              "index's own type, `int8`, in which 300 is 44."),
        Wrong("jnp.any(np.array([1j]))", False, True,
              "A number is true if it is not 0. JAX converts complex numbers to booleans by their "
              "real parts."),
        Wrong("jax.lax.population_count(jnp.int4(-1))", -8, 4,
              "All four bits of -1 are set. XLA counts in eight bits on a CPU, and four of the "
              "eight are no part of the number."),
        Wrong("jnp.vectorize(lambda a, b=1: a + b, excluded={'c'})(jnp.arange(3), b=3)", [1, 2, 3],
              [3, 4, 5], "The keyword argument says 3, and JAX uses the default."),
    ],
}

INTRODUCTION = """The tests of this book take JAX as the reference, with few exceptions. These
are the exceptions that matter most: programs whose result is wrong in JAX 0.10.2. Mathematics says
what is right, by closed forms, or by mpmath with 50 digits. Our rule is to be right, or to refuse,
and to declare the difference in [appendix D](differences.md). A test runs each program of this
page in both libraries. When JAX is mended, the test fails, and the program leaves the page.

Some derivatives only lose digits where they are nearly 0. That of the sigmoid function at 17 is 0
in float32, and not \\(4 \\cdot 10^{-8}\\). There, JAX's rules are also ours, since they are
faster. Pass `accuracy=jax.lax.AccuracyMode.HIGHEST` to `lax.logistic`, `lax.tanh` or `lax.expm1` to
keep the digits. [The rule atlas](atlas.md#derivatives-at-their-edges) has a table of what is lost.
"""

PROGRAMS = """## Programs that XLA compiles wrongly

These programs are right, and so is what JAX hands to XLA. XLA's compiler for CPUs, in jaxlib
0.10.2, makes a wrong program of them. minijax recognises their kind, and passes options that avoid
the fault. `python -m minijax doctor` tries them with the jaxlib that is installed, and
`jax.debug.check_compiled` finds others of their kind.
"""


def page() -> str:
    """The page in Markdown."""
    parts = [INTRODUCTION]
    for title, programs in WRONG.items():
        parts += [f"## {title}", *map(_section, programs)]
    parts.append(PROGRAMS)
    for wrong in WRONG_PROGRAMS:
        options = ", ".join(f"`{name}={value}`" for name, value in wrong.flags.items())
        parts.append(f"### {wrong.what[0].upper()}{wrong.what[1:]}\n\n"
                     f"```text\n{wrong.trial.strip()}\n```\n\nWhat avoids it: {options}.")
    return "\n\n".join(parts) + "\n"


def _section(wrong: Wrong) -> str:
    return (f"```text\n{wrong.call}\n```\n\n| JAX | minijax |\n|---|---|\n"
            f"| `{wrong.in_jax}` | `{wrong.here}` |\n\n{wrong.why}")


if __name__ == "__main__":
    print(page(), end="")
