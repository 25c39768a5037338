"""Which parameters do JAX's equations list that our rules do not take?

JAX's `sin` has a parameter `accuracy`, and its `reshape` a `sharding`. In most programs they are
`None`, which says nothing. Here an operation has such a parameter only if the user asked for
something. Libraries read JAX's parameters in `eqn.params`, have rules that require them, and hand
them to `Primitive.bind`. So there are two forms of an operation's parameters:

* our rules take the *own* parameters: `eqn.own_params`;
* libraries see the *listed* ones, `eqn.params`, and may hand over either form.

The table `params_rules` of the core has the difference, by primitive. The module that defines a
primitive adds its row; `compat/params.py` has those of the core.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from ..core.core import params_rules


class Rule(NamedTuple):
    """What a primitive's parameters have in JAX besides ours.

    mark: a parameter that is in the listed form only, or asks for something.
    own: from parameters with the mark to own ones.
    listed: from own parameters to those that JAX lists.
    """

    mark: str
    own: Callable[[dict], dict]
    listed: Callable[[dict], dict]


def listed(primitive: Any, params: dict[str, Any]) -> dict[str, Any]:
    """The parameters that JAX lists, for readers and interpreters outside of this package."""
    rule = params_rules.get(primitive)
    return params if rule is None else rule.listed(params)


def may_be_asked(primitive: Any, name: str,
                 says_nothing: Callable[[Any], bool] = lambda value: value is None) -> None:
    """Add a row: JAX lists a parameter `name`, which is `None` unless the user asked for something.

    Args:
      says_nothing: whether a value asks for nothing that our rules have to do. Any other value is
        handed on to the rules.
    """
    def without(params):
        if says_nothing(params[name]):
            return {key: value for key, value in params.items() if key != name}
        return params

    params_rules[primitive] = Rule(name, without, lambda params: {name: None} | params)
