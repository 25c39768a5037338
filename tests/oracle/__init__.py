"""Comparison with real JAX: one program, two libraries, nothing may differ.

A *program* is a function of a namespace: `program(jx)` returns the Python function to run,
written only with `jx`, `jx.numpy`, `jx.lax`, … . `both(program, *args)` gives it to minijax and
to JAX, and compares what comes out: values, dtypes, weak types, shapes, pytree structure,
the text of jaxprs, or the class of the error that was raised.

Setting `MINIJAX_TEST_SUBJECT=jax` compares JAX with itself: a test that fails then is wrong.
"""

from tests.oracle.compare import (
    Outcome,
    assert_same,
    assert_same_outcome,
    both,
    run,
)
from tests.oracle.namespaces import oracle, subject
from tests.oracle.text import jaxpr_text

__all__ = [
    "Outcome",
    "assert_same",
    "assert_same_outcome",
    "both",
    "jaxpr_text",
    "oracle",
    "run",
    "subject",
]
