"""Short cuts: each module has a second, faster way to a result of `core/`.

Importing this package puts them in force. The environment variable MINIJAX_FAST=0 switches them
off.
"""

import os

if os.environ.get("MINIJAX_FAST", "1") != "0":
    from . import evaluation, jit, operators
