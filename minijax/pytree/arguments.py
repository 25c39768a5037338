"""The rest of `jax.api_util`: the types, the positions and the names of arguments."""

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from inspect import Parameter, Signature
from typing import Any, NamedTuple

from ..checks import arguments as checks
from ..checks.sequences import iterable
from ..checks.tree import are_strings, rebased
from ..core.api_util import ensure_index_tuple, positive_argnums, split_statics
from ..core.core import ShapedArray, typeof
from ..core.extension import Extension, register
from ..core.tree import PyTreeDef, tree_structure
from ..source import fun_sourceinfo
from ..text.debug_info import DebugInfo
from .names import fun_signature, leaf_names, weak_arg_names


def valid_jaxtype(x: Any) -> bool:
    """Whether `x` may be the argument of a primitive."""
    try:
        typeof(x)
    except (TypeError, OverflowError):
        return False
    return True


def argument_avals(leaves: Sequence[Any], where: str, names: Callable[[], Sequence[str]]
                   ) -> list[ShapedArray]:
    """The types of the arguments of a transformation, flat.

    Raises:
      TypeError: a leaf is not an array or a number; the message has its name.
    """
    checks.are_arrays(where, leaves, typeof, names)
    return [*map(typeof, leaves)]


def rebase_donate_argnums(
    donate_argnums: Iterable[int], static_argnums: Iterable[int]
) -> tuple[int, ...]:
    """Donated numbers as they are once the static arguments are taken out. All non-negative."""
    static, donated = sorted(set(static_argnums)), sorted(set(donate_argnums))
    rebased(static, donated)
    return tuple(i - sum(s < i for s in static) for i in donated)


def donation_vector(
    donate_argnums: Sequence[int], donate_argnames: Sequence[str], in_tree: PyTreeDef
) -> tuple[bool, ...]:
    """For each leaf of (args, kwargs), whether it is donated."""
    args_tree, kwargs_tree = in_tree.children()
    flags = [(i in donate_argnums, arg) for i, arg in enumerate(args_tree.children())]
    flags += [(k in donate_argnames, v) for k, v in zip(kwargs_tree.aux, kwargs_tree.children())]
    return tuple([flag for flag, subtree in flags for _ in range(subtree.num_leaves)])


def resolve_kwargs(fun: Callable, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """All arguments of a call by position, defaults filled in.

    Raises TypeError if they do not fit the signature, or include a keyword-only argument.
    """
    if isinstance(fun, functools.partial):  # its signature does not tell what `fun` itself takes
        fun = lambda *args, **kwargs: None
    bound = inspect.signature(fun).bind(*args, **kwargs)
    bound.apply_defaults()
    if unresolved := [name for name in bound.kwargs if name in kwargs]:
        raise TypeError("The following keyword arguments could not be resolved to positions: "
                        f"{', '.join(unresolved)}")
    return bound.args


def debug_info(traced_for: str, fun: Callable, args: Sequence, kwargs: dict, *,
               static_argnums=(), static_argnames=(), **_ignored) -> DebugInfo:
    """The names for a function that is traced at these arguments.

    >>> debug_info("jit", jnp.sin, (1.0,), {}).arg_names
    ('x',)
    """
    static_argnums = positive_argnums(static_argnums, len(args), drop_too_large=True)
    *dynamic, statics = split_statics(args, kwargs, static_argnums, static_argnames)
    names = weak_arg_names(fun, tree_structure(tuple(dynamic)), statics)
    return DebugInfo(traced_for, fun_sourceinfo(fun), names)


def ensure_str_tuple(x: str | Iterable[str]) -> tuple[str, ...]:
    """A string or several as a tuple of strings. TypeError for anything else."""
    iterable("argument names", x)
    names = (x,) if isinstance(x, str) else tuple(x)
    are_strings(names)
    return names


def infer_argnums_and_argnames(
    signature: Signature | None,
    argnums: int | Iterable[int] | None,
    argnames: str | Iterable[str] | None,
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """If only one of the two is given, the other from the signature; if both are, as they are."""
    parameters = signature.parameters.values() if signature else ()
    both_ways = {
        i: param.name
        for i, param in enumerate(parameters)
        if param.kind is Parameter.POSITIONAL_OR_KEYWORD
    }
    if argnums is None:
        names = ensure_str_tuple(() if argnames is None else argnames)
        return tuple(i for i, name in both_ways.items() if name in names), names
    numbers = ensure_index_tuple(argnums)
    if argnames is None:
        return numbers, tuple(name for i, name in both_ways.items() if i in numbers)
    return numbers, ensure_str_tuple(argnames)


class ResolvedArgs(NamedTuple):
    """Which arguments `jit` treats specially, by number and by name."""

    donate_argnums: tuple[int, ...]
    donate_argnames: tuple[str, ...]
    static_argnums: tuple[int, ...]
    static_argnames: tuple[str, ...]


def resolve_argnums(fun: Callable, signature: Signature | None,
                    donate_argnums: int | Sequence[int] | None,
                    donate_argnames: str | Iterable[str] | None,
                    static_argnums: int | Sequence[int] | None,
                    static_argnames: str | Iterable[str] | None) -> ResolvedArgs:
    """Complete numbers from names and names from numbers, and check both against the signature.

    Raises ValueError for a number or name that the function does not take, and for a name that
    is both static and donated.
    """
    if signature is None:
        checks.donated_by_number(fun, donate_argnames)
    donated = infer_argnums_and_argnames(signature, donate_argnums, donate_argnames)
    static = infer_argnums_and_argnames(signature, static_argnums, static_argnames)
    checks.static_and_donated(signature, static, donated)
    return ResolvedArgs(*donated, *static)


def result_paths(tree: Any) -> tuple[str, ...]:
    """A name like `result['w'][0]` for each leaf of a function's result."""
    return leaf_names("result", tree)


class StaticArguments(Extension):
    """Static arguments can be given by number or by name."""

    def static_arguments(self, fun, argnums, argnames):
        numbers = ensure_index_tuple(() if argnums is None else argnums)
        if not (numbers or argnames):
            return (), ()
        signature = fun_signature(fun)
        static = infer_argnums_and_argnames(signature, numbers or None, argnames or None)
        checks.static_and_donated(signature, static, ((), ()))
        return static


register(StaticArguments())
