"""Chapter 10: the policies of `checkpoint`, which say what results may be saved.

    policy : (primitive, *in_avals, **params) -> bool

A policy is asked for each equation whose results the backward pass needs.
"""

import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..checks import remat as checks
from ..core.primitives import dot_general_p
from .names import name_p


class Recompute:
    """An answer of a policy, like `False`: the results are not kept."""

    def __bool__(self):
        return False


class Saveable:
    """An answer of a policy, like `True`: the results may be kept."""


class Offloadable(NamedTuple):
    """An answer of a policy: the results may be kept, in another memory.

    On a CPU, memories are one, and this is like `True`.
    """

    src: Any
    dst: Any


recompute, saveable = Recompute(), Saveable()


def everything_saveable(*_, **__) -> bool:
    """The policy that keeps everything, as if there were no `checkpoint`."""
    return True


def nothing_saveable(*_, **__) -> bool:
    """The policy that keeps the arguments only, as `checkpoint` does without a policy."""
    return False


products = {dot_general_p}  # chapter 11 adds convolution


@dataclass(frozen=True)
class DotsSaveable:
    """Keep the results of matrix products and convolutions.

    Args:
      only_if_no_batch_dims: keep only those of matrix products without batch dimensions.
    """

    only_if_no_batch_dims: bool

    def __call__(self, primitive, *_, **params):
        if self.only_if_no_batch_dims:
            return primitive.name == "dot_general" and not params["dimension_numbers"][1][0]
        return primitive in products


@dataclass(frozen=True)
class SaveOnlyTheseNames:
    """Keep the values to which `checkpoint_name` gave one of these names."""

    saveable_names: frozenset[str]

    def __call__(self, primitive, *_, **params):
        return primitive is name_p and params["name"] in self.saveable_names


@dataclass(frozen=True)
class SaveAnyNamesButThese:
    """Keep the values to which `checkpoint_name` gave another name than these."""

    names: frozenset[str]

    def __call__(self, primitive, *_, **params):
        return primitive is name_p and params["name"] not in self.names


dots_saveable = DotsSaveable(False)
dots_with_no_batch_dims_saveable = DotsSaveable(True)


def save_only_these_names(*names_which_can_be_saved: str) -> Callable[..., bool]:
    """The policy that keeps the values to which `checkpoint_name` gave one of these names."""
    return SaveOnlyTheseNames(frozenset(names_which_can_be_saved))


def save_any_names_but_these(*names_not_to_save: str) -> Callable[..., bool]:
    """The policy that keeps the values to which `checkpoint_name` gave another name."""
    return SaveAnyNamesButThese(frozenset(names_not_to_save))


def save_anything_except_these_names(*names_not_to_save: str) -> Callable[..., bool]:
    """The policy that keeps everything. As in JAX the names make no difference, because there is
    also an unnamed copy of each value."""
    return everything_saveable


def save_and_offload_only_these_names(
        *, names_which_can_be_saved: Iterable[str], names_which_can_be_offloaded: Iterable[str],
        offload_src: str, offload_dst: str) -> Callable[..., Any]:
    """The policy that keeps the values to which `checkpoint_name` gave one of these names.

    Args:
      names_which_can_be_saved: of the values that stay where they are.
      names_which_can_be_offloaded: of those that wait in another memory. On a CPU there is one
        memory: they stay.
      offload_src, offload_dst: the two memories, as "device" and "pinned_host".

    Raises:
      ValueError: a name is in both.
    """
    saved, offloaded = frozenset(names_which_can_be_saved), frozenset(names_which_can_be_offloaded)
    if both := saved & offloaded:
        raise ValueError(
            "The names should be exclusive and should not intersect in `names_which_can_be_saved` "
            f"and `names_which_can_be_offloaded`. Got names_which_can_be_saved={set(saved)}, "
            f"names_which_can_be_offloaded={set(offloaded)} and the intersection={set(both)}")
    save, place = SaveOnlyTheseNames(saved), Offloadable(offload_src, offload_dst)
    offload = SaveOnlyTheseNames(offloaded)

    def policy(primitive, *avals, **params):
        return offload(primitive, **params) and place or save(primitive, **params)

    return policy


def offload_dot_with_no_batch_dims(offload_src: str, offload_dst: str) -> Callable[..., Any]:
    """The policy that keeps matrix products without batch dimensions, in another memory.

    Args:
      offload_src, offload_dst: the two memories, as "device" and "pinned_host". On a CPU they are
        one.
    """
    place = Offloadable(offload_src, offload_dst)

    def policy(primitive, *avals, **params):
        return dots_with_no_batch_dims_saveable(primitive, **params) and place

    return policy


def save_from_both_policies(policy_1: Callable, policy_2: Callable) -> Callable[..., bool]:
    """The policy that keeps a result if one of two policies does.

    Raises (when it is called):
      ValueError: one of them returns no bool.
    """
    def policy(primitive, *avals, **params):
        answers = [p(primitive, *avals, **params) for p in (policy_1, policy_2)]
        checks.answers(answers)
        return any(answers)

    return policy


checkpoint_policies = types.SimpleNamespace(
    everything_saveable=everything_saveable,
    nothing_saveable=nothing_saveable,
    dots_saveable=dots_saveable,
    checkpoint_dots=dots_saveable,
    dots_with_no_batch_dims_saveable=dots_with_no_batch_dims_saveable,
    checkpoint_dots_with_no_batch_dims=dots_with_no_batch_dims_saveable,
    save_anything_except_these_names=save_anything_except_these_names,
    save_any_names_but_these=save_any_names_but_these,
    save_only_these_names=save_only_these_names,
    save_from_both_policies=save_from_both_policies,
    save_and_offload_only_these_names=save_and_offload_only_these_names,
    offload_dot_with_no_batch_dims=offload_dot_with_no_batch_dims,
)
