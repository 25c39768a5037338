"""Chapter 3: what are the arguments and the results of a function called?

A message or a listing names an argument by the function's signature and a path, as in `x['w'][0]`.

In JAX: `jax/_src/api_util.py`.
"""

import inspect
import weakref
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, Signature
from types import CellType, FunctionType
from typing import Any

from ..core.api_util import positive_argnums, with_statics
from ..core.extension import Extension, register
from ..core.tree import PyTreeDef
from ..core.util import partition_list
from ..source import fun_sourceinfo, innermost_function
from ..text.debug_info import DebugInfo
from ..text.key_paths import KeyPath
from .paths import keystr, leaf_paths, tree_leaves_with_path

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
        for path, leaf in tree_leaves_with_path(tree)
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
            argnums, argnames = partition_list([isinstance(p, str) for p in statics], statics)
            return arg_names(weak_fun(), args, kwargs, argnums, argnames)
        except Exception:  # a container that does not accept these leaves; or `fun` is gone
            return tuple(f"argument {i}" for i in range(in_tree.num_leaves))

    return names


def _weakly(fun):
    """A function that returns `fun` while other references keep it alive, and afterwards a function
    with its parameters."""
    code = getattr(innermost_function(fun), "__code__", None)
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


def path_text(path: KeyPath) -> str:
    """A key path as text, as in `['w'][0]`; also for nodes whose registration names no keys."""
    return keystr(path).replace("[<flat index ", "[").replace(">]", "]")


def leaf_names(name: str, tree: Any) -> tuple[str, ...]:
    """A name like `init['w'][0]` for each leaf of the argument `name`."""
    return tuple(name + path_text(path) for path, _ in tree_leaves_with_path(tree))


def fun_signature(fun: Callable) -> Signature | None:
    """The signature, or None if `fun` has none, like some built-in functions."""
    try:
        return inspect.signature(fun)
    except (ValueError, TypeError):
        return None


class Names(Extension):
    """Traced functions have names for their arguments and results."""

    def debug_info(self, traced_for, fun, in_tree, statics, out_tree):
        return traced_info(traced_for, fun, in_tree, statics, out_tree)


register(Names())
