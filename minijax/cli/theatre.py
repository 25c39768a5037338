"""`python -m minijax theatre MODULE:FUNCTION --args ...`: a run as a page to step through."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import minijax as jax
import minijax.numpy as jnp

from ..debugging.theatre import theatre
from .errors import Failure
from .jaxpr import describe, evaluate, find_function, is_shape, place_in_user_code


def write_theatre(target: str, expressions: Sequence[str], grad: bool, output: Path) -> int:
    """Run the function, or its gradient, and write the page.

    Raises:
      Failure: the run raised an error; the page is written up to it.
    """
    function = find_function(target)
    arguments = [jax.tree.map(_value, evaluate(expression), is_leaf=is_shape)
                 for expression in expressions]
    try:
        theatre(jax.grad(function) if grad else function, *arguments, path=output)
    except OSError as error:
        raise Failure(f"cannot write {output}: {error.strerror}", exit_code=1) from None
    except Exception as error:
        where = place_in_user_code(error)
        raise Failure(f"running {target} failed{where}: {describe(error)} "
                      f"(the steps before it are in {output})", exit_code=1) from None
    print(f"wrote {output}")
    return 0


def _value(x: Any) -> Any:
    return jnp.ones(x.shape, x.dtype) if is_shape(x) else x
