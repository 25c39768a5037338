"""Wrong calls over the whole public API, and what becomes of them in JAX.

`rows/` holds the tables, a file for each part of the API. A row is a call as text, with JAX's outcome
in front: the class of an error, or `returns`. If the outcome is another one while the arrays are
traced, it follows after a slash. `python -m tests.errors.bad_input [part …]` prints minijax's messages,
to be read; `--jax` adds JAX's; `--differing` leaves out what agrees; `--write` asks JAX for the outcomes
and writes them into the tables, whose changes are to be reviewed like code.

Each of the 1,303 kinds of messages (that differ by more than names, numbers and shapes) was read
once, in November 2026. What a message must not show since then is in `verdict.py`.
"""
