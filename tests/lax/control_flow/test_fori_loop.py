"""Messages of `fori_loop` and `map` speak of the function that the user wrote, not of a `scan`."""

from __future__ import annotations

import numpy as np
import pytest

import minijax
from tests.oracle import both

X = np.ones(3, np.float32)


# For each wrong call, words of the message.
MESSAGES = {
    "lax.fori_loop(0, N, lambda i, c: c * 1.5, 1)": None,
    "lax.fori_loop(0, N, lambda i, c: c * 1.5, jnp.int32(1))":
        r"fori_loop body function .*\n\nThe input carry c has type int32\[\]",
    "lax.fori_loop(0, N, lambda i, c: {'w': c['w'][0]}, {'w': X})":
        r"fori_loop body function .*\n\nThe input carry c\['w'\] has type float32\[3\]",
    "lax.fori_loop(0, N, lambda i, c: (c, c), X)":
        r"fori_loop body function .*\n\nThe input carry c is a pytree leaf",
    "lax.fori_loop(0, N, lambda *a: (a[1], a[1]), X)":
        r"fori_loop body function .*\n\nThe input carry argument 1 is a pytree leaf",
    "lax.fori_loop(0, N, lambda i, c: c, {'w': 'a'})":
        r"'a' of type .* is not a valid JAX type: it is the argument init_val\['w'\] of fori_loop",
    "lax.fori_loop(0, N, lambda i, c: c * i.item(), X)":
        r"while tracing the function <lambda> at \S+ for fori_loop\. .* of the argument i\.",
    "lax.fori_loop(0, N, lambda i, c: {'w': c['w'].tolist()}, {'w': X})":
        r"while tracing the function <lambda> at \S+ for fori_loop\. .* of the argument c\['w'\]\.",
    "lax.map(lambda x: x.item(), X)":
        r"while tracing the function <lambda> at \S+ for map\. .* of the argument x\.",
    "lax.map(lambda x: x['w'].item(), {'w': X})":
        r"while tracing the function <lambda> at \S+ for map\. .* of the argument x\['w'\]\.",
    "lax.map(lambda x: x, 'a')":
        r"'a' of type .* is not a valid JAX type: it is the argument xs of map",
    "lax.map(lambda x: x, {'w': 1.0})": r"map got value with no leading axis .* xs\['w'\]",
    "lax.map(lambda x: x, (X, X[:2]))": r"map got values with different leading axis sizes",
    "lax.map(lambda x: x, ())": r"map got no values to scan over: xs has no leaves",
}  # fmt: skip


@pytest.mark.parametrize("bound", ["3", "jnp.int32(3)", "jit"])
@pytest.mark.parametrize("call", MESSAGES)
def test_the_function_that_the_user_wrote(call, bound):
    message = MESSAGES[call]

    def program(jx):
        names = {"lax": jx.lax, "jnp": jx.numpy, "X": X}
        if bound == "jit":
            return lambda: jx.jit(lambda n: eval(call, {**names, "N": n}))(3)
        return lambda: eval(call.replace("N", bound), names)

    both(program, raises=message and ("TypeError", "ValueError", "ConcretizationTypeError"))
    if message:
        with pytest.raises(Exception, match=message):
            program(minijax)()
