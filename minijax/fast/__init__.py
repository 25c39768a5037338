"""Short cuts: each module has a second, faster way to a result of `core/`.

Importing this package puts them in force. The environment variable MINIJAX_FAST=0 switches them
off.
"""

# chapter 6
import os

if os.environ.get("MINIJAX_FAST", "1") != "0":
    from . import batching, evaluation, indexing, jit, operators, staging
    # chapter 8
    from . import derivatives
