"""Parameters of primitives as libraries see them.

Here are the starters' rows of the table `params_rules`: what JAX's primitives can be asked for.
Rule tables, as libraries see them, have rules that take the parameters that JAX lists.
"""

from collections.abc import Callable, Iterator, MutableMapping
from typing import Any, NamedTuple

from ..core import batching, forward, transposition
from ..core.core import Primitive, own_params, params_rules
from ..core.primitives import (
    broadcast_in_dim_p,
    convert_element_type_p,
    dot_general_p,
    mul_p,
    reduce_sum_p,
    reshape_p,
)
from .optional import listed, may_be_asked

for primitive in (broadcast_in_dim_p, convert_element_type_p, reshape_p):
    may_be_asked(primitive, "sharding")
for primitive in (dot_general_p, reduce_sum_p):
    may_be_asked(primitive, "out_sharding")
may_be_asked(mul_p, "out_dtype")


class RuleInJaxsForm(NamedTuple):
    """A rule of ours that takes the parameters that JAX lists."""

    primitive: Primitive
    own: Callable

    def __call__(self, *args, **params):
        return self.own(*args, **own_params(self.primitive, params))


class RulesInJaxsForm(MutableMapping):
    """A view of a rule table, in which rules take the parameters that JAX lists."""

    def __init__(self, rules: MutableMapping[Primitive, Any]):
        self._rules = rules

    def __getitem__(self, primitive: Primitive) -> Any:
        rule = self._rules[primitive]
        if primitive not in params_rules or not callable(rule):
            return rule
        return RuleInJaxsForm(primitive, rule)

    def __setitem__(self, primitive: Primitive, rule: Callable) -> None:
        if type(rule) is RuleInJaxsForm and rule.primitive is primitive:
            self._rules[primitive] = rule.own  # the rule that was there is put back
        elif primitive not in params_rules:
            self._rules[primitive] = rule
        else:
            self._rules[primitive] = lambda *args, **params: rule(
                *args, **listed(primitive, params))

    def __delitem__(self, primitive: Primitive) -> None:
        del self._rules[primitive]

    def __iter__(self) -> Iterator[Primitive]:
        return iter(self._rules)

    def __len__(self) -> int:
        return len(self._rules)


primitive_jvps = RulesInJaxsForm(forward.primitive_jvps)
primitive_batchers = RulesInJaxsForm(batching.primitive_batchers)
primitive_transposes = RulesInJaxsForm(transposition.primitive_transposes)
