"""What a finding is worth: whether it fails a session, and which differences are known.

Known differences are ways of JAX that say nothing about us, or limits of ours that refuse with an
exact message. Each is declared by what the program must contain and what each library must give.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.fuzz.compare import Mismatch

# Errors that only a fault inside of minijax raises.
FAULTS = ("AssertionError", "AttributeError", "KeyError", "NameError", "RecursionError",
          "UnboundLocalError", "ZeroDivisionError")  # fmt: skip


@dataclass(frozen=True)
class Known:
    """A declared difference: patterns of the program, of our outcome, and of JAX's."""

    reason: str
    program: str
    ours: str = ""
    theirs: str = ""
    kind: str = "error"

    def covers(self, text: str, mismatch: Mismatch) -> bool:
        """Whether a program's difference is this one."""
        return (self.kind == mismatch.kind
                and re.search(self.program, text) is not None
                and re.match(self.ours, mismatch.ours) is not None
                and re.match(self.theirs, mismatch.theirs) is not None)


GAMMA = r"(random_gamma_grad|random\.(gamma|beta|dirichlet|t|chisquare|f|loggamma))\("
TWICE = r"(?s)(?=.*" + GAMMA + r")(?=.*(jax\.(hessian|grad|jacrev|value_and_grad)|pullback)\b)"
KNOWN = [
    Known("random_gamma_grad has no second derivative by its first argument here: JAX has one by "
          "forward mode, and none is needed where its result is not used",
          GAMMA, ours=r"NotImplementedError: Differentiation rule for 'random_gamma_grad_by_a'"),
    Known("samples of the gamma distribution have a reverse-mode derivative of their derivative here, "
          "and in JAX, whose rule is a loop, not",
          TWICE, ours=r"[\[({'a: ]*(Array|ShapeDtypeStruct)\(",
          theirs=r"ValueError: Reverse-mode differentiation does not work for lax.while"),
    Known("JAX's random_gamma_grad of two weakly typed scalars is weakly typed, and of arrays not",
          r"lax\.random_gamma_grad\(", kind="weak type", ours=r"\('array', \(\), .*False\)"),
    Known("JAX finds the only element of one array in an empty other array, if there is a size",
          r"(?s)= jnp\.zeros\(\(?0\W.*jnp\.intersect1d\((?=[^\n]*size=)", kind="value",
          ours=r"array\(", theirs=r"array\("),
    Known("in a loop's body, JAX finds out that a custom_jvp function's derivative is zero, and does "
          "not apply the custom_vjp rule behind it",
          r"(?s)(?=.*lax\.(scan|fori_loop|while_loop|map)\()(?=.*custom_jvp.*custom_vjp)",
          ours=r"TypeError: (can't apply forward-mode autodiff|Custom VJP fwd rule)"),
    Known("in a loop's body, a custom_jvp function's rule may read what a custom_vjp function returns: only "
          "JAX asks for a tangent of it",
          r"(?s)(?=.*lax\.(scan|fori_loop|while_loop|map)\()(?=.*custom_vjp.*custom_jvp)",
          ours=r"[\[({'a: ]*Array\(",
          theirs=r"TypeError: can't apply forward-mode autodiff"),
    Known("the derivative of a checkpointed function asks for none of what it does not use; in JAX, that "
          "of a jitted function", r"(?s)(?=.*jax\.checkpoint\()(?=.*custom_vjp\()",
          ours=r"[\[({'a: ]*Array\(", theirs=r"TypeError: can't apply forward-mode autodiff"),
    Known("JAX's derivative of reduce leaves the initial value out, and what its type says",
          r"(?s)(?=.*lax\.reduce\()(?=.*(jax\.(jvp|grad|value_and_grad|jac\w+|hessian)|pullback|linearized)\b)",
          kind="weak type", ours=r"\('array', .*False\)", theirs=r"\('array', .*True\)"),
    Known("JAX's second derivative of the normal distribution's logcdf is nan in a loop, far from 0, and not "
          "outside of the loop", r"(?s)(?=.*lax\.(scan|map|fori_loop)\()(?=.*(norm\.log(cdf|sf)|log_ndtr)\()",
          kind="value", ours=r"array\(", theirs=r"(?s)array\(.*\bnan\b"),
    Known("JAX computes powers of complex numbers by logarithms, and so does not find x in vander(x)",
          r"(?s)jnp\.vander.*jnp\.isin", kind="value", ours=r"array\(", theirs=r"array\("),
    Known("JAX's gradient of singular values is weakly typed if checkpoint and jit meet, and not without "
          "either of them; here it never is",
          r"(?s)(?=.*jnp\.linalg\.svdvals\()(?=.*jax\.checkpoint\()(?=.*jax\.jit\()", kind="weak type",
          ours=r"\('array', .*False\)", theirs=r"\('array', .*True\)"),
    Known("sparse arrays are a small room here", r"sparse\.",
          ours=r"NotImplementedError: (sparse rule for|The elementwise product of two sparse)"),
    Known("JAX's derivatives by the elements of a sparse array have the dtype of the product",
          r"sparse\.(grad|value_and_grad|jac\w+)\(", kind="dtype", ours=r"\('array'", theirs=r"\('array'"),
    Known("JAX's sparse arrays forget along which axes of a mesh they vary",
          r"(?s)(?=.*jax\.shard_map\()(?=.*sparse\.)", ours=r"(?s)TypeError: .*along which they vary"),
    Known("cotangents of densities at weakly typed arrays: JAX adds its constants without conversion",
          r"jax\.scipy\.stats\.", kind="weak type", ours=r"\('array', \(\d", theirs=r"\('array', \(\d"),
    Known("JAX's weak types of eager derivatives depend on which of its functions are jitted",
          r"(?s)(?!.*jax\.jit\(program\))(?=.*jax\.scipy\.)", kind="weak type"),
    Known("JAX's derivative of spence is zero at 1, where it is -1",
          r"(?s)(?=.*special\.spence\()(?=.*(jax\.(jvp|grad|value_and_grad|jac\w+|hessian)|pullback|linearized)\b)",
          kind="value", ours=r"array\(", theirs=r"array\("),
    Known("JAX's derivatives of complex arccosh (left of the imaginary axis), of complex signs, of Bessel "
          "functions at 0 and of digamma far below 0 are wrong, and so where a formula overflows, cancels, or has a "
          "kink: tests/laws/test_right_derivatives.py",
          r"(?s)(?=.*(a(rc)?cosh|\bsign|\bi[01]e?|digamma|l(og)?gamma|gammaln|polygamma|hypot|beta(ln)?|boxcox1?p?"
          r"|exp2|erfcx|dawsn|log_ndtr|logcdf|logsf|gelu|log1mexp)\()"
          r"(?=.*(jax\.(jvp|grad|value_and_grad|jac\w+|hessian)|pullback|linearized)\b)",
          kind="value", ours=r"array\(", theirs=r"array\("),
    Known("JAX drops imaginary parts where complex numbers become truth",
          r"(?s)(?=.*complex)(?=.*\b(any|all|piecewise)\()", kind="value", ours=r"array\(", theirs=r"array\("),
    Known("JAX's second derivatives of ldexp and frexp differ between a loop and the same program written "
          "without it; here they are those of the program without it",
          r"(?s)(?=.*jnp\.(ldexp|frexp)\()(?=.*lax\.(scan|fori_loop|map)\()"
          r"(?=.*(jax\.(grad|value_and_grad|jac\w+|hessian)|pullback|linearized)\b)", kind="value",
          ours=r"array\(", theirs=r"array\("),
    Known("JAX loses the derivative of what a checkpointed function writes into a reference, unless a "
          "result of the function has one",
          r"(?s)(?=.*jax\.new_ref\()(?=.*jax\.checkpoint\b)"
          r"(?=.*(jax\.(grad|value_and_grad|jacrev|hessian)|pullback)\b)", kind="value",
          ours=r"array\(", theirs=r"array\("),
    Known("JAX mixes up the axes of a reference that vmap batches in another axis than the first",
          r"(?s)(?=.*jax\.new_ref\()(?=.*jax\.vmap\([^\n]*in_axes=[^\n]*[1-9])", kind="value",
          ours=r"array\(", theirs=r"array\("),
    Known("JAX differentiates a loop that changes a reference although nothing asks for that derivative; "
          "where something does, both refuse",
          r"(?s)(?=.*jax\.new_ref\()(?=.*lax\.while_loop\()"
          r"(?=.*(jax\.(grad|value_and_grad|jacrev|hessian)|pullback)\b)",
          ours=r"[\[({'a: ]*Array\(",
          theirs=r"ValueError: Reverse-mode differentiation does not work for lax.while"),
    Known("jacfwd and hessian refuse a function that makes references, also where nothing uses what "
          "they hold; JAX drops some calls of this kind before",
          r"(?s)(?=.*jax\.new_ref\()(?=.*jax\.(jacfwd|hessian)\()",
          ours=r"ValueError: at vmap out_axes\S*, got axis spec None but output was batched"),
    Known("JAX's vmap inside of jacfwd and hessian takes the derivative of a reference's contents for "
          "unbatched", r"(?s)(?=.*jax\.new_ref\()(?=.*jax\.(jacfwd|hessian)\()",
          ours=r"[\[({'a: ]*Array\(",
          theirs=r"ValueError: at vmap out_axes\S*, got axis spec None but output was batched"),
    Known("JAX linearizes a jitted function that makes references to one that returns them",
          r"(?s)(?=.*jax\.new_ref\()(?=.*(jax\.(jvp|jacfwd|hessian|grad|value_and_grad|jacrev)|pullback|"
          r"linearized)\b)",
          theirs=r"(?s)ValueError: .*traced for jit returned a mutable array reference .*"
                 r"The returned mutable array was created on line <program>"),
    Known("JAX's sparse arrays lose their batch dimensions in derivatives of derivatives",
          r"(?s)(?=.*sparse\.)(?=.*(jax\.(jacrev|jacfwd|hessian)|pullback)\b)",
          theirs=r"ValueError: data batch dimensions not compatible"),
    Known("JAX's sparse arrays have no batch of derivatives by forward mode",
          r"(?s)(?=.*sparse\.)(?=.*jax\.vmap\()(?=.*(jax\.(jvp|jacfwd|hessian)|linearized)\b)",
          ours=r"[\[({'a: ]*Array\(",
          theirs=r"ValueError: batch_dims=.* out of range for indices with n_batch="),
    Known("loops within JAX's own functions refuse operands that vary over the axes of a mesh",
          r"(?s)(?=.*jax\.shard_map\()(?=.*jax\.(random|scipy)\.)",
          theirs=r"TypeError: while_loop body function carry input and carry output must have equal types"),
    Known("JAX refuses keys beside values that vary over the axes of a mesh",
          r"(?s)(?=.*jax\.shard_map\()(?=.*jax\.random\.)",
          theirs=r"TypeError: \w+ requires all arguments to have matching type. Got key type"),
    Known("XLA multiplies no float16 matrices with a float32 result on a CPU, if it is asked to; here "
          "it is not asked", r"dot_product_attention\(",
          theirs=r"ValueError: The precision 'F16_F16_F32' is not supported by dot_general on CPU"),
]


def known(text: str, mismatch: Mismatch) -> Known | None:
    """The declared difference that a finding is, if any."""
    return next((row for row in KNOWN if row.covers(text, mismatch)), None)


def is_fault(mismatch: Mismatch) -> bool:
    """Whether a finding fails a session: a result that JAX has and we have not, or an error from
    inside of minijax; not a program that JAX refuses."""
    if mismatch.kind != "error":
        return True
    ours, theirs = (raised(outcome) for outcome in (mismatch.ours, mismatch.theirs))
    return ours in FAULTS or (ours is not None and theirs is None)


def raised(outcome: str) -> str | None:
    """The class of the error that an outcome's text begins with; None for a value's text."""
    match = re.match(r"(\w*(?:Error|Exception|StopIteration))\b", outcome)
    return match[1] if match else None
