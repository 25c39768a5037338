"""Chapter 15: `jax.debug.explain`, which shows what became of a user's function.

`provenance.py` notes where each equation came from while a function is traced, through Python's own
hook for debuggers: the engine keeps no notes, and ordinary calls cost nothing. `program.py` joins
this with the equations, `costs.py` counts, `values.py` executes them one by one, `answers.py` and
`changes.py` answer questions, `page.py` and `compiled.py` make a page, and `explanation.py` is what
users get.
"""

from .explanation import Explanation, explain

__all__ = ["Explanation", "explain"]
