"""Short cuts: each module has a second, faster way to a result of `core/`.

Importing this package puts them in force. The environment variable MINIJAX_FAST=0 switches them
off.
"""

# chapter 6
import os

from .. import first_use

ENABLED = os.environ.get("MINIJAX_FAST", "1") != "0"
if ENABLED:
    from . import batching, evaluation, indexing, jit, large, operators, rules, staged, staging
    from . import trees
    # chapter 8
    from . import derivatives


# chapter 6
def trust_the_library() -> None:
    """All rules that are defined so far are the library's, and so are those of modules that are
    imported on first use. Others that come later are users', and are called each time."""
    if ENABLED:
        for traced_rules in rules.all_traced_rules:
            traced_rules.trust(traced_rules.table)
        first_use.watchers.append(rules.new_rules)
        evaluation.forget_when_replaced()
