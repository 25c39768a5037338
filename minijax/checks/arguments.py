"""Chapters 3 to 8: which functions and arguments are refused, and how arguments are called."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import Parameter, Signature
from types import CellType, FunctionType
from typing import Any, NamedTuple

from ..core.api_util import ensure_index_tuple, ensure_str_tuple, positive_argnums, with_statics
from ..core.core import typeof, valid_jaxtype
from ..core.tree import PyTreeDef
from ..source import DebugInfo, fun_sourceinfo
from .tree import leaf_paths, leaves_with_path, path_text

# ----------------------------------------------------------------------------------------------
# Functions



def check_callable(fun: Any) -> None:
    """Raise TypeError unless `fun` can be traced: it must be a function that runs when called.

    A generator function, or an async one, only makes an object that would run later.
    """
    if isinstance(fun, staticmethod):
        raise TypeError(
            f"staticmethod arguments are not supported, got {fun}. Pass its function."
        )
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun!r} of type {type(fun).__name__}.")
    if inspect.isgeneratorfunction(fun) or inspect.isasyncgenfunction(fun):
        raise TypeError(
            f"Expected a function, got a generator function: {fun}. "
            "Return the values as a tuple or list instead of yielding them."
        )
    if inspect.iscoroutinefunction(fun):
        raise TypeError(f"Expected a function, got the async function {fun}: it cannot be traced.")


# ----------------------------------------------------------------------------------------------
# Names of arguments and results


_STATIC = object()  # stands for a static argument, whose leaves have no names


def arg_names(fun: Callable, args: Sequence[Any], kwargs: dict[str, Any],
              static_argnums: Sequence[int] = (),
              static_argnames: Sequence[str] = ()) -> tuple[str, ...]:
    """A name like `x['w'][0]` for each leaf of (args, kwargs), static arguments left out.

    If the signature does not fit the call, the names are `args[0]`, `kwargs['k']`. This takes time:
    call it when a message or a listing is written, not before.
    """
    static = positive_argnums(static_argnums, len(args), drop_too_large=True)
    args = [_STATIC if i in static else arg for i, arg in enumerate(args)]
    kwargs = {k: _STATIC if k in static_argnames else kwargs[k] for k in sorted(kwargs)}
    named = _named_by_signature(fun_signature(fun), args, kwargs)
    if named is None:
        named = [("args", args), *((f"kwargs['{k}']", v) for k, v in kwargs.items())]
    return tuple(
        name + path_text(path)
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


def weak_arg_names(fun: Callable, in_tree: PyTreeDef, statics: Mapping[Any, Any]
                   ) -> Callable[[], tuple[str, ...]]:
    """A function that returns `arg_names`. It keeps neither `fun` nor the traced arguments alive.

    `in_tree` is the structure of the traced (args, kwargs).
    """
    weak_fun = _weakly(fun)

    def names():
        try:
            args, kwargs = in_tree.unflatten([0] * in_tree.num_leaves)
            args, kwargs = with_statics(lambda *a, **k: (a, k), statics)(*args, **kwargs)
            argnames = [place for place in statics if isinstance(place, str)]
            argnums = [place for place in statics if not isinstance(place, str)]
            return arg_names(weak_fun(), args, kwargs, argnums, argnames)
        except Exception:  # a container that does not accept these leaves; or `fun` is gone
            return tuple(f"argument {i}" for i in range(in_tree.num_leaves))

    return names


def _weakly(fun):
    """A function that returns `fun` while other references keep it alive, and afterwards a function
    with its parameters."""
    code = getattr(inspect.unwrap(fun), "__code__", None)
    try:
        weak = weakref.ref(fun)
    except TypeError:
        return lambda: _with_parameters_of(code)
    return lambda: weak() or _with_parameters_of(code)


def _with_parameters_of(code):
    """A function with the parameters of `code`, each with a default; `None` if there is no code."""
    if code is None:
        return None
    closure = tuple(CellType() for _ in code.co_freevars)
    names = code.co_varnames[code.co_argcount:code.co_argcount + code.co_kwonlyargcount]
    fun = FunctionType(code, {}, None, (None,) * code.co_argcount, closure)
    fun.__kwdefaults__ = dict.fromkeys(names)
    return fun


def traced_info(traced_for: str, fun: Callable, in_tree: PyTreeDef, statics: Mapping[Any, Any],
                out_tree: Callable[[], PyTreeDef | None]) -> DebugInfo:
    """The names of a traced function. `out_tree()` is the structure of its result, or
    `None` before it has returned."""

    def results():
        tree = out_tree()
        return None if tree is None else tuple(
            "result" + path_text(path) for path in leaf_paths(tree))

    return DebugInfo(traced_for, fun_sourceinfo(fun), weak_arg_names(fun, in_tree, statics),
                     results)


def result_paths(tree: Any) -> tuple[str, ...]:
    """A name like `result['w'][0]` for each leaf of a function's result."""
    return leaf_names("result", tree)


def leaf_names(name: str, tree: Any) -> tuple[str, ...]:
    """A name like `init['w'][0]` for each leaf of the argument `name`."""
    return tuple(name + path_text(path) for path, _ in leaves_with_path(tree))


# ----------------------------------------------------------------------------------------------
# Arguments


def are_arrays(where: str, leaves: Sequence[Any], names: Callable[[], Sequence[str]]) -> None:
    """Raise TypeError for an argument of `where` that is not an array or a number, with its name.
    """
    try:
        for x in leaves:
            typeof(x)
    except TypeError:
        for x, name in zip(leaves, names()):
            if not valid_jaxtype(x):
                raise TypeError(f"Argument {x!r} of type {type(x)} is not a valid JAX type: it is "
                                f"the argument {name} of {where}, which must be an array or a "
                                "number.") from None
        raise


def call_of_arrays(where: str, fun: Callable, args: Sequence, leaves: Sequence) -> None:
    """`are_arrays` for the leaves of a call `fun(*args)`."""
    are_arrays(where, leaves, lambda: arg_names(fun, args, {}))


def check_argnums_passed(argnums: int | Sequence[int], args: Sequence[Any], purpose: str) -> None:
    """Raise TypeError if a call has too few positional arguments for `argnums`.

    `purpose` starts the message: "differentiating with respect to".
    """
    highest = max(ensure_index_tuple(argnums), default=-1)
    if highest >= len(args):
        raise TypeError(
            f"{purpose} argnums={argnums} requires at least {highest + 1} positional arguments to "
            f"be passed by the caller, but got only {len(args)} positional arguments. (Arguments "
            "passed by keyword do not count.)"
        )


# ----------------------------------------------------------------------------------------------
# Static and donated arguments


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
        _check_donated_by_number(fun, donate_argnames)
    donated = infer_argnums_and_argnames(signature, donate_argnums, donate_argnames)
    static = infer_argnums_and_argnames(signature, static_argnums, static_argnames)
    _check_static_and_donated(signature, static, donated)
    return ResolvedArgs(*donated, *static)


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


def static_arguments(given: tuple[Any, Any], fun: Callable) -> tuple[tuple, tuple]:
    """The pair of numbers and names of static arguments, completed and checked as `jit` does."""
    numbers = ensure_index_tuple(() if given[0] is None else given[0])
    if not (numbers or given[1]):
        return (), ()
    resolved = resolve_argnums(fun, fun_signature(fun), None, None, numbers or None,
                               given[1] or None)
    return resolved.static_argnums, resolved.static_argnames


def fun_signature(fun: Callable) -> Signature | None:
    """The signature, or None if `fun` has none, like some built-in functions."""
    try:
        return inspect.signature(fun)
    except (ValueError, TypeError):
        return None


def _check_donated_by_number(fun: Any, argnames: Any) -> None:
    """Raise ValueError if arguments of a function without a signature are donated by name."""
    if argnames is not None:
        raise ValueError(f"Getting the signature of function {fun} failed. Pass donate_argnums "
                         "instead of donate_argnames.")


def _check_static_and_donated(signature: Signature | None, static: tuple, donated: tuple) -> None:
    """Raise ValueError for an argument that the function does not take, or that is in both.

    `static` and `donated` are pairs (numbers, names).
    """
    if signature is None:
        return
    for (argnums, argnames), what in ((static, "static"), (donated, "donate")):
        _check_argnums(signature, argnums, f"{what}_argnums")
        _check_argnames(signature, argnames, f"{what}_argnames")
    if both := set(static[1]) & set(donated[1]):
        raise ValueError(
            f"static_argnames and donate_argnames cannot intersect, but {sorted(both)} are in "
            "both. A static argument is part of the program: it has no buffer to give away."
        )


def _check_argnums(signature, argnums, what):
    kinds = [param.kind for param in signature.parameters.values()]
    if not argnums or Parameter.VAR_POSITIONAL in kinds:
        return
    count = sum(
        kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD) for kind in kinds
    )
    if -min(argnums) > count or max(argnums) >= count:
        raise ValueError(
            f"Jitted function has {what}={argnums}, but only accepts {count} positional "
            f"arguments: {signature}."
        )


def _check_argnames(signature, argnames, what):
    kinds = {name: param.kind for name, param in signature.parameters.items()}
    by_keyword = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    takes_any = Parameter.VAR_KEYWORD in kinds.values()
    for name in argnames:
        kind = kinds.get(name, Parameter.VAR_KEYWORD)
        if kind in (Parameter.POSITIONAL_ONLY, Parameter.VAR_POSITIONAL):
            raise ValueError(f"Jitted function has invalid argnames {{{name!r}}} in {what}: it "
                             f"cannot be passed by keyword to {signature}.")
        if kind not in by_keyword and not takes_any:
            raise ValueError(f"Jitted function has invalid argnames {{{name!r}}} in {what}: it "
                             f"is not an argument of the function {signature}.")


Names = Callable[[], Sequence[str]]


def references_apart(name: str, leaves: Sequence, closed_over: Sequence = (),
                     names: Names = tuple) -> None:
    """Raise `ValueError` if a reference is twice among the values that the function `name` is
    passed or closes over. `names()` are the names of the arguments."""
    avals = [getattr(x, "aval", None) for x in leaves]
    distinct_references(avals, name, leaves, names)
    closed = {id(x) for x in closed_over}
    for i, (aval, x) in enumerate(zip(avals, leaves)):
        if hasattr(aval, "inner_aval") and id(x) in closed:
            raise ValueError(f"when tracing {name}, a mutable array reference of type {aval} was "
                             f"both closed over and passed as the argument {_name(names, i)}. "
                             "Only pass it.")


def distinct_references(avals: Sequence, name: str, leaves: Sequence,
                        names: Names = tuple) -> None:
    """Raise `ValueError` if the same reference is passed twice to the function `name`."""
    seen: dict[int, int] = {}
    for i, (aval, x) in enumerate(zip(avals, leaves)):
        if not hasattr(aval, "inner_aval") or x is aval:  # a type stands for any reference
            continue
        first = seen.setdefault(id(x), i)
        if first != i:
            raise ValueError(
                "only one reference to a mutable array may be passed as an argument to a function, "
                f"but when tracing {name} the mutable array reference of type {aval} appeared at "
                f"both {_name(names, first)} and {_name(names, i)}. Pass it once.")


def _name(names: Names, i: int) -> str:
    """The name of an argument, or its number."""
    known = names()
    return known[i] if i < len(known) else f"argument {i}"
