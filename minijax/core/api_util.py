"""Chapter 3: between the user's function, of pytrees, and the transformations, of flat lists.

Functions are flattened (`flatten_fun`), arguments chosen by position or name (`argnums_partial`,
`resolve_argnums`), and the leaves of arguments and results get the names that errors call them by.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from inspect import Parameter, Signature
from typing import Any, NamedTuple

from ..checks.tree import keystr, leaves_with_path
from .core import ShapedArray, typeof, valid_jaxtype
from .tree import PyTreeDef, ensure_index_tuple, positive_argnums
from .tree import flatten_axes as flatten_axes  # and for this one
from .util import safe_map as safe_map  # programs look for it here, as in `jax.api_util`


def check_callable(fun: Any) -> None:
    """Raise TypeError for what cannot be traced: no callable, or one that does not run when called.

    A generator function, or an async one, only makes an object that would run later.
    """
    if isinstance(fun, staticmethod):
        raise TypeError(
            f"Expected a function, got the staticmethod object {fun}; pass its function."
        )
    if not callable(fun):
        raise TypeError(f"Expected a callable, got {fun!r} of type {type(fun).__name__}.")
    if inspect.isgeneratorfunction(fun) or inspect.isasyncgenfunction(fun):
        raise TypeError(
            f"Expected a function, got the generator function {fun}: "
            "return the values as a tuple or list instead of yielding them."
        )
    if inspect.iscoroutinefunction(fun):
        raise TypeError(f"Expected a function, got the async function {fun}: it cannot be traced.")


# ----------------------------------------------------------------------------------------------
# Arguments chosen by position or name


def ensure_str_tuple(x: str | Iterable[str]) -> tuple[str, ...]:
    """A string or several as a tuple of strings. TypeError for anything else."""
    names = (x,) if isinstance(x, str) else tuple(x)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"Expected argument names as strings, got {name!r}.")
    return names


def check_argnums_passed(argnums: int | Sequence[int], args: Sequence[Any], purpose: str) -> None:
    """TypeError if a call has too few positional arguments for `argnums`.

    `purpose` starts the message: "differentiating with respect to".
    """
    highest = max(ensure_index_tuple(argnums), default=-1)
    if highest >= len(args):
        raise TypeError(
            f"{purpose} argnums={argnums} requires at least {highest + 1} positional arguments, "
            f"but the call has {len(args)}. (Arguments passed by keyword do not count.)"
        )


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
    if signature is None:  # some built-in functions have none: then nothing is inferred or checked
        if donate_argnames is not None:
            raise ValueError(f"{fun} has no signature: pass donate_argnums, not donate_argnames.")
        donated = ensure_index_tuple(() if donate_argnums is None else donate_argnums)
        static = ensure_index_tuple(() if static_argnums is None else static_argnums)
        return ResolvedArgs(donated, (), static, ensure_str_tuple(static_argnames or ()))
    static, static_names = infer_argnums_and_argnames(signature, static_argnums, static_argnames)
    donated, donated_names = infer_argnums_and_argnames(signature, donate_argnums, donate_argnames)
    _check_argnums(signature, static, "static_argnums")
    _check_argnames(signature, static_names, "static_argnames")
    _check_argnums(signature, donated, "donate_argnums")
    _check_argnames(signature, donated_names, "donate_argnames")
    if both := set(static_names) & set(donated_names):
        raise ValueError(
            f"Arguments {sorted(both)} are both static and donated, but a static argument is part "
            "of the program: it has no buffer to give away."
        )
    return ResolvedArgs(donated, donated_names, static, static_names)


def infer_argnums_and_argnames(
    signature: Signature,
    argnums: int | Iterable[int] | None,
    argnames: str | Iterable[str] | None,
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """If only one of the two is given, the other from the signature; if both are, as they are."""
    both_ways = {
        i: name
        for i, (name, param) in enumerate(signature.parameters.items())
        if param.kind is Parameter.POSITIONAL_OR_KEYWORD
    }
    if argnums is None:
        names = ensure_str_tuple(argnames or ())
        return tuple(i for i, name in both_ways.items() if name in names), names
    nums = ensure_index_tuple(argnums)
    if argnames is None:
        return nums, tuple(name for i, name in both_ways.items() if i in nums)
    return nums, ensure_str_tuple(argnames)


def _check_argnums(signature, argnums, what):
    kinds = [param.kind for param in signature.parameters.values()]
    if not argnums or Parameter.VAR_POSITIONAL in kinds:
        return
    count = sum(
        kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD) for kind in kinds
    )
    if -min(argnums) > count or max(argnums) >= count:
        raise ValueError(
            f"{what}={argnums} is out of bounds: the function {signature} takes "
            f"{count} positional arguments."
        )


def _check_argnames(signature, argnames, what):
    kinds = {name: param.kind for name, param in signature.parameters.items()}
    by_keyword = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    takes_any = Parameter.VAR_KEYWORD in kinds.values()
    for name in argnames:
        kind = kinds.get(name, Parameter.VAR_KEYWORD)
        if kind in (Parameter.POSITIONAL_ONLY, Parameter.VAR_POSITIONAL):
            raise ValueError(f"{what}: {name!r} cannot be passed by keyword to {signature}.")
        if kind not in by_keyword and not takes_any:
            raise ValueError(f"{what}: {name!r} is not an argument of the function {signature}.")


def rebase_donate_argnums(
    donate_argnums: Iterable[int], static_argnums: Iterable[int]
) -> tuple[int, ...]:
    """Donated numbers as they are once the static arguments are taken out. All non-negative."""
    static, donated = sorted(set(static_argnums)), sorted(set(donate_argnums))
    if not set(static).isdisjoint(donated):
        raise ValueError(f"Arguments are both static ({static}) and donated ({donated}).")
    return tuple(i - sum(s < i for s in static) for i in donated)


def donation_vector(
    donate_argnums: Sequence[int], donate_argnames: Sequence[str], in_tree: PyTreeDef
) -> tuple[bool, ...]:
    """For each leaf of (args, kwargs), whether it is donated."""
    args_tree, kwargs_tree = in_tree.children()
    flags = [(i in donate_argnums, arg) for i, arg in enumerate(args_tree.children())]
    flags += [(k in donate_argnames, v) for k, v in zip(kwargs_tree.aux, kwargs_tree.children())]
    return tuple([flag for flag, subtree in flags for _ in range(subtree.num_leaves)])


def check_static_hashable(value: Any, name: str) -> None:
    """Raise ValueError if a static argument, which is part of the cache's key, has no hash."""
    try:
        hash(value)
    except TypeError as e:
        raise ValueError(
            f"Static argument {name} must be hashable, because compiled programs are looked up "
            f"by it, but {value!r} is not: {e}. Pass, for example, a tuple instead of a list."
        ) from None


def resolve_kwargs(fun: Callable, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """All arguments of a call by position, defaults filled in.

    Raises TypeError if they do not fit the signature, or include a keyword-only argument.
    """
    if isinstance(fun, functools.partial):  # its signature does not tell what `fun` itself takes
        fun = lambda *args, **kwargs: None
    bound = inspect.signature(fun).bind(*args, **kwargs)
    bound.apply_defaults()
    if unresolved := [name for name in bound.kwargs if name in kwargs]:
        raise TypeError(f"These arguments have no position: {', '.join(unresolved)}.")
    return bound.args


# ----------------------------------------------------------------------------------------------
# Names of functions, arguments and results


def fun_signature(fun: Callable) -> Signature | None:
    """The signature, or None if there is none to be had (as for some built-in functions)."""
    try:
        return inspect.signature(fun)
    except (ValueError, TypeError):
        return None


def fun_name(fun: Callable) -> str:
    """What to call `fun` in programs and messages."""
    name = getattr(fun, "__name__", None)
    if name is None and isinstance(fun, functools.partial):
        return fun_name(fun.func)
    return name or "<unnamed function>"


def fun_sourceinfo(fun: Callable) -> str:
    """ "name at file:line", as far as known."""
    while isinstance(fun, functools.partial):
        fun = fun.func
    fun = inspect.unwrap(fun)
    code = getattr(fun, "__code__", None)
    if code is None:
        return getattr(fun, "__name__", "<unknown>")
    return f"{fun_name(fun)} at {code.co_filename}:{code.co_firstlineno}"


_STATIC = object()  # stands for a static argument, whose leaves have no names


def arg_names(fun: Callable, args: Sequence[Any], kwargs: dict[str, Any],
              static_argnums: Sequence[int] = (),
              static_argnames: Sequence[str] = ()) -> tuple[str, ...]:
    """A name like `x['w'][0]` for each leaf of (args, kwargs), static arguments left out.

    Never fails for want of a fitting signature: the names are `args[0]`, `kwargs['k']` then.
    Not cheap: call it when a message or a listing is written, not before.
    """
    static = positive_argnums(static_argnums, len(args), drop_too_large=True)
    args = [_STATIC if i in static else arg for i, arg in enumerate(args)]
    kwargs = {k: _STATIC if k in static_argnames else kwargs[k] for k in sorted(kwargs)}
    named = _named_by_signature(fun_signature(fun), args, kwargs)
    if named is None:
        named = [("args", args), *((f"kwargs['{k}']", v) for k, v in kwargs.items())]
    return tuple(
        name + _path_text(path)
        for name, tree in named
        for path, leaf in leaves_with_path(tree)
        if leaf is not _STATIC
    )


def _named_by_signature(signature, args, kwargs):
    """(name, argument) pairs: positional ones first, then those passed by keyword, sorted."""
    if signature is None:
        return None
    try:
        passed = signature.bind(*args, **kwargs).arguments
    except TypeError:
        return None
    kinds = {name: param.kind for name, param in signature.parameters.items()}
    extra = next((name for name, kind in kinds.items() if kind is Parameter.VAR_KEYWORD), None)
    positional = [(k, v) for k, v in passed.items() if k not in kwargs and k != extra]
    by_keyword = [(k if k in passed else f"{extra}['{k}']", v) for k, v in kwargs.items()]
    return positional + by_keyword


def result_paths(tree: Any) -> tuple[str, ...]:
    """A name like `result['w'][0]` for each leaf of a function's result."""
    return tuple("result" + _path_text(path) for path, _ in leaves_with_path(tree))


def _path_text(path):
    """`keystr`, with `[0]` for `[<flat index 0>]`."""
    return keystr(path).replace("[<flat index ", "[").replace(">]", "]")


def leaf_names(name: str, tree: Any) -> tuple[str, ...]:
    """A name like `init['w'][0]` for each leaf of the argument `name`."""
    return tuple(name + _path_text(path) for path, _ in leaves_with_path(tree))


def argument_avals(leaves: Sequence[Any], where: str, names: Callable[[], Sequence[str]]
                   ) -> list[ShapedArray]:
    """The types of the arguments of a transformation, flat.

    Raises:
      TypeError: a leaf that is no array and no number; the message has its name.
    """
    try:
        return [*map(typeof, leaves)]
    except TypeError:
        for x, name in zip(leaves, names()):
            if not valid_jaxtype(x):
                raise TypeError(f"{where}: its argument {name} is {x!r} of type {type(x)}, which "
                                "is not a valid JAX type: expected an array or a number.") from None
        raise
