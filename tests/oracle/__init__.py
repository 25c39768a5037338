"""Comparison with real JAX: one program, two libraries, nothing may differ.

A *program* is a function of a namespace: `program(jx)` returns the Python function to run,
written only with `jx`, `jx.numpy`, `jx.lax`, … . `both(program, *args)` gives it to minijax and
to JAX, and compares what comes out: values, dtypes, weak types, shapes, pytree structure,
the text of jaxprs. Where JAX raises an error the test must say so: `both(…, raises="TypeError")`.

JAX's answers are stored (`tests.oracle.stored`), so that JAX need not run, nor be imported.
Tests that need JAX itself take `jax` and `jnp` from here, and are left out where it is absent.

Setting `MINIJAX_TEST_SUBJECT=jax` compares JAX with itself: a test that fails then is wrong.
"""

from tests.oracle.namespaces import MODE, jax, jnp, oracle, subject  # isort: skip  (JAX first)
from tests.oracle.stored import Answer
from tests.oracle.compare import ask, assert_same, both, in_both, run
from tests.oracle.text import jaxpr_text

__all__ = [
    "MODE",
    "Answer",
    "ask",
    "assert_same",
    "both",
    "in_both",
    "jax",
    "jaxpr_text",
    "jnp",
    "oracle",
    "run",
    "subject",
]
