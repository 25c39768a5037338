"""Flattened functions, argument numbers and names: as in JAX."""

from __future__ import annotations

import functools
import inspect

import numpy as np
import pytest

from minijax import api_util, pytree
from minijax.core import api_util as core_api_util
from minijax.extend import linear_util
from tests.oracle import jax
from tests.pytree.trees import Attributes, Pair, Point

jax_api_util = jax._src.api_util


def outcome(f, *args, **kwargs):
    try:
        return f(*args, **kwargs)
    except Exception as e:
        return type(e)


def same(name, *args, their_name=None, **kwargs):
    """Assert that a function of both libraries gives the same, or the same class of error."""
    ours = outcome(getattr(api_util, name), *args, **kwargs)
    assert ours == outcome(getattr(jax_api_util, their_name or name), *args, **kwargs)
    return ours


# -- flattened functions -------------------------------------------------------------------------


def f(x, y, *args, k=1, **kw):
    return {"sum": x + y["a"], "rest": [args, k, kw]}


def test_flatten_fun():
    args, kwargs = (1, {"a": 2, "b": None}, 3), {"z": (4, 5)}
    leaves, in_tree = pytree.tree_flatten((args, kwargs))
    flat_f, out_tree = api_util.flatten_fun(f, in_tree)
    with pytest.raises(RuntimeError, match="after the flattened function was called"):
        out_tree()
    out = flat_f(*leaves)
    assert type(out) is list and out_tree() == pytree.tree_structure(f(*args, **kwargs))
    assert out_tree().unflatten(out) == f(*args, **kwargs)
    assert flat_f(*[10 * x for x in leaves])[-1] == 30


def test_flatten_fun_nokwargs():
    leaves, in_tree = pytree.tree_flatten((1, {"a": 2}))
    flat_f, out_tree = api_util.flatten_fun_nokwargs(f, in_tree)
    assert out_tree.__class__ is api_util.TreeCell
    assert flat_f(*leaves) == [1, 3]
    assert repr(out_tree()) == "PyTreeDef({'rest': [(), *, {}], 'sum': *})"


def test_flatten_fun_has_aux():
    with_aux = lambda x, y=0: ((x, x), {"y": y})
    flat_f, out_tree, aux_tree = api_util.flatten_fun_has_aux(
        with_aux, pytree.tree_structure(((1,), {"y": 2}))
    )
    assert flat_f(1, 2) == ([1, 1], [2])
    assert repr((out_tree(), aux_tree())) == "(PyTreeDef((*, *)), PyTreeDef({'y': *}))"
    flat_f, out_tree, aux_tree = api_util.flatten_fun_nokwargs_has_aux(
        with_aux, pytree.tree_structure((1,))
    )
    assert flat_f(1) == ([1, 1], [0]) and aux_tree().num_leaves == 1


@pytest.mark.parametrize("result", [1, (1, 2, 3), {1: 2, 3: 4}, None])
def test_has_aux_needs_a_pair(result):
    flat_f, *_ = api_util.flatten_fun_has_aux(lambda: result, pytree.tree_structure(((), {})))
    with pytest.raises(TypeError, match="two-element tuple"):
        flat_f()
    with pytest.raises(TypeError):
        jax.vjp(lambda x: result, 1.0, has_aux=True)
    assert api_util.check_aux_pair([1, 2]) == (1, 2)  # a list will do, as in JAX


# -- what can be called ----------------------------------------------------------------------------


def generator():
    yield 1


async def coroutine():
    return 1


async def async_generator():
    yield 1


class Callable:
    def __call__(self, x):
        return x

    def method(self, x, y=1):
        return x

    @staticmethod
    def static(x):
        return x


@pytest.mark.parametrize(
    "fun", [f, Callable(), Callable().method, max, np.sin, functools.partial(f)]
)
def test_callables(fun):
    api_util.check_callable(fun)
    jax_api_util.check_callable(fun)


@pytest.mark.parametrize(
    "fun", [3, None, "f", generator, functools.partial(generator), Callable.__dict__["static"]]
)
def test_not_callable(fun):
    assert same("check_callable", fun) is TypeError


@pytest.mark.parametrize("fun", [coroutine, async_generator])
def test_async_functions_are_refused_at_once(fun):
    """JAX refuses what they return, when they are traced."""
    with pytest.raises(TypeError):
        api_util.check_callable(fun)


# -- argument numbers ------------------------------------------------------------------------------


@pytest.mark.parametrize("x", [0, -1, np.int32(3), (1, 2), [0, np.int64(1)], (), "a", 1.5, [1.5]])
def test_ensure_index(x):
    same("ensure_index", x, their_name="_ensure_index")
    same("ensure_index_tuple", x, their_name="_ensure_index_tuple")


@pytest.mark.parametrize("x", ["a", "abc", ("a", "b"), [], 3, ("a", 3)])
def test_ensure_str_tuple(x):
    same("ensure_str_tuple", x, their_name="_ensure_str_tuple")


@pytest.mark.parametrize("argnums", [0, -1, (0, 2), (2, 0), [-3], (), 3, -4, (0, 7), "a", 0.5])
def test_argnums_partial(argnums):
    def select(library_function):
        partial, chosen = library_function(f, argnums, (1, {"a": 2}, 3), {"k": 4})
        return chosen, partial(*chosen)

    ours = outcome(select, core_api_util.argnums_partial)
    assert ours == outcome(select, jax_api_util.argnums_partial2)


def test_argnums_partial_replaces_the_chosen():
    collect = lambda *args, **kwargs: (args, kwargs)
    partial, chosen = core_api_util.argnums_partial(collect, (-1, 0), (1, 2, 3), {"k": 4})
    assert chosen == (3, 1)
    assert partial("last", "first") == (("first", 2, "last"), {"k": 4})
    partial, _ = core_api_util.argnums_partial(collect, (0, 1), (1, 2), {})
    assert partial is collect


@pytest.mark.parametrize("options", [{}, {"require_static_args_hashable": False}], ids=str)
@pytest.mark.parametrize("argnums", [0, -1, (0, 2), (2, 0), [-3], (), 3, -4, (0, 7)], ids=str)
@pytest.mark.parametrize("last", [3, [3]], ids=str)
def test_argnums_partial_of_wrapped_functions(last, argnums, options):
    def select(library_function, linear_util):
        wrapped = linear_util.wrap_init(f, {"k": 4}, debug_info=jax_api_util.debug_info("test", f, (), {}))
        partial, chosen = library_function(wrapped, argnums, (1, {"a": 2}, last), **options)
        return chosen, partial.call_wrapped(*chosen), hasattr(partial, "transforms")

    ours = outcome(select, api_util.argnums_partial, linear_util)
    assert ours == outcome(select, jax_api_util.argnums_partial, jax.extend.linear_util)


def test_check_argnums_passed():
    api_util.check_argnums_passed((0, -1), (1.0,), "differentiating with respect to")
    for argnums in (1, (0, 2)):
        with pytest.raises(TypeError, match=r"requires at least . positional arguments"):
            api_util.check_argnums_passed(argnums, (1.0,), "differentiating with respect to")
        with pytest.raises(TypeError, match=r"requires at least . positional arguments"):
            jax.grad(lambda x: x, argnums)(1.0)


def g(x, y, /, z, *, w):
    return x


NUMS_AND_NAMES = [
    (None, None),
    (0, None),
    (-1, None),
    ((0, 1, 2), None),
    ((2, 3), None),
    (5, None),
    (-4, None),
    (None, "x"),
    (None, "y"),
    (None, "z"),
    (None, "w"),
    (None, ("z", "k")),
    (None, "args"),
    (None, "unknown"),
    (1, "k"),
    (0, "z"),
    ((), ()),
    ("a", None),
    (1.5, None),
    (None, 3),
    (None, (3,)),
]


@pytest.mark.parametrize(
    "fun", [f, g, lambda x: x, max, Callable().method, functools.partial(f, 1)]
)
@pytest.mark.parametrize("nums, names", NUMS_AND_NAMES)
def test_resolve_argnums(fun, nums, names):
    try:
        signature = inspect.signature(fun)
    except ValueError:
        signature = None
    same("resolve_argnums", fun, signature, None, None, nums, names)
    same("resolve_argnums", fun, signature, nums, names, None, None)
    same("resolve_argnums", fun, signature, nums, names, (0,), None)
    same("resolve_argnums", fun, signature, 1, None, nums, names)
    if signature is not None:
        same("infer_argnums_and_argnames", signature, nums, names)


def test_argnum_errors_say_what_the_function_takes():
    for nums, names, message in [
        (5, None, r"static_argnums=\(5,\), but only accepts 3 positional"),
        (None, "q", r"argnames {'q'} in static_argnames: it is not an argument of .* \(x, y, /, z"),
        (None, "x", "argnames {'x'} in static_argnames: it cannot be passed by keyword"),
    ]:
        with pytest.raises(ValueError, match=message):
            api_util.resolve_argnums(g, inspect.signature(g), None, None, nums, names)


@pytest.mark.parametrize(
    "donated, static", [((3, 4), (0, 1)), ((), ()), ((0,), ()), ((0, 5), (2, 3)), ((1,), (0, 1))]
)
def test_rebase_donate_argnums(donated, static):
    same("rebase_donate_argnums", donated, static)


def test_donation_vector():
    call = (((1, 2), {"a": 3}, None), {"k": (4, 5), "z": 6})
    for nums, names in [((), ()), ((0,), ("k",)), ((1, 2), ("z",)), ((0, 1), ("absent",))]:
        ours = api_util.donation_vector(nums, names, pytree.tree_structure(call))
        assert ours == jax_api_util.donation_vector(nums, names, jax.tree.structure(call))


def test_static_arguments_must_be_hashable():
    api_util.check_static_hashable((1, "a"), "x")
    with pytest.raises(ValueError, match=r"Non-hashable static arguments .* argument x is \[1\]"):
        api_util.check_static_hashable([1], "x")
    with pytest.raises(ValueError):
        jax.jit(lambda x: 1, static_argnums=0)([1])


@pytest.mark.parametrize(
    "fun, args, kwargs",
    [
        (f, (1,), {"y": 2}),
        (f, (1, 2, 3), {}),
        (f, (1,), {"y": 2, "k": 3}),
        (f, (1,), {}),
        (g, (1, 2), {"z": 3, "w": 4}),
        (lambda x, y=5: x, (), {"x": 1}),
        (functools.partial(f, 1), (2,), {}),
        (functools.partial(f, 1), (2,), {"k": 1}),
    ],
)
def test_resolve_kwargs(fun, args, kwargs):
    same("resolve_kwargs", fun, args, kwargs)


# -- names -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fun",
    [f, g, lambda x: x, Callable(), Callable().method, max, np.sin, functools.partial(f, 1)],
)
def test_function_names(fun):
    assert api_util.fun_name(fun) == jax._src.util.fun_name(fun)
    if fun is not np.sin:  # it has a name, but JAX calls it "<unknown>"
        same("fun_sourceinfo", fun)


CALLS = [
    (f, (1, {"a": 2}, 3, 4), {"k": 5, "z": 6, "b": (1, 2)}),
    (f, (1,), {"y": 5, "a": 3}),
    (f, (1,), {"b": 5, "a": 3}),
    (f, (), {"y": 1, "x": 2}),
    (f, (1, Pair(1, [2])), {}),
    (f, (Point(1, 2), Attributes(1, {"u": 2})), {"k": None}),
    (f, (1, 2), {"args": 3, "kw": 4}),
    (g, (1, 2), {"z": 3, "w": 4}),
    (lambda x: x, (1, 2), {"z": {"b": 2}}),
    (functools.partial(f, 1), (1, 2), {}),
    (functools.partial(f, y=1), (1,), {"y": 2}),
    (max, (1, [2]), {"key": 3}),
    (Callable(), (1,), {}),
    (Callable().method, (1,), {"y": [2]}),
]


@pytest.mark.parametrize("fun, args, kwargs", CALLS)
@pytest.mark.parametrize(
    "static", [{}, {"static_argnums": (0,)}, {"static_argnums": (-1, 7), "static_argnames": ("k",)}]
)
def test_arg_names(fun, args, kwargs, static):
    ours = outcome(api_util.arg_names, fun, args, kwargs, **static)
    theirs = outcome(jax_api_util.debug_info, "jit", fun, args, kwargs, **static)
    assert ours == getattr(theirs, "arg_names", theirs)


def test_arg_names_by_example():
    names = api_util.arg_names(f, ({"w": [1, 2]}, 3), {"z": 4})
    assert names == ("x['w'][0]", "x['w'][1]", "y", "kw['z']")


@pytest.mark.parametrize("result", [1, (1, [2, {"a": 3}]), Pair(1, 2), Attributes(1, None), ()])
def test_result_paths(result):
    result_info = jax.jit(lambda: result).trace().jaxpr.debug_info
    assert api_util.result_paths(result) == tuple(result_info.result_paths)
