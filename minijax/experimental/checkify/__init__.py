"""Chapter 16: `checkify`, a transformation that makes run-time errors values.

A compiled program cannot raise an exception. `checkify(f)` is a function that returns a pair: what
went wrong, and what `f` returns. It stages `f` to a jaxpr, and interprets it again, passing an
`Error` from equation to equation: where a check fails, the error is set. Loops carry it.

An `Error` has a slot for each *kind* of error that may occur: whether it did, the code of the place
where it did first, and numbers for its message. Codes are given while tracing, in the order of the
program; what a code means, Python knows (`Error.places`).
"""


from . import calls as _calls  # fills the table of rules
from .errors import (
    BatchedError, DivisionByZeroError, Error, ErrorCategory, FailedCheckError, JaxException,
    JaxRuntimeError, NaNError, OOBError, check, check_error, debug_check, init_error)
from . import shards
from .interpreter import (
    all_checks, automatic_checks, checkify, div_checks, float_checks, index_checks, nan_checks,
    user_checks)
