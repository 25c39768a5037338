"""Chapter 9: `while_loop` and `fori_loop`, alone and nested with `cond`, against real JAX."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import minijax
from minijax.checks.typecheck import check_jaxpr
from minijax.core.partial_eval import dce_jaxpr, partial_eval_jaxpr
from minijax.extend.core import jaxpr_as_fun
from minijax.lax.control_flow.while_loop import while_p
from tests.oracle import both

X = np.float32(2.5)
V = np.array([0.3, 1.2, 0.8], np.float32)
M = np.arange(1, 7, dtype=np.float32).reshape(2, 3) / 3


# --- programs: functions of the namespace, smooth at their arguments ---


def func10(jx):
    """The example of JAX's page on jaxprs: a closure, and a bound that is traced."""

    def func(arg, n):
        ones = jx.numpy.ones(arg.shape)
        return jx.lax.fori_loop(
            0, n, lambda i, carry: carry + ones * 3.0 + arg, arg + ones
        )

    return func


def static_bounds(jx):
    return lambda x: func10(jx)(x, 3)


def square_root(jx):
    def f(a):
        return jx.lax.while_loop(
            lambda x: jx.numpy.abs(x * x - a) > 1e-3, lambda x: 0.5 * (x + a / x), a
        )

    return f


def powers(jx):
    return lambda x: jx.lax.while_loop(lambda c: c[0] < 5, lambda c: (c[0] + 1, c[1] * x), (0, x))


def weak_carry(jx):
    """The initial values are Python's; the body returns others."""
    return lambda x: jx.lax.while_loop(
        lambda c: c[0] < 4, lambda c: (c[0] + np.int32(1), c[1] + x, c[2] * 2), (0, 0, 1)
    )


def fixed_carry(jx):
    """A carry that the body hands on, and the condition ignores, is a constant."""
    return lambda x, v: jx.lax.while_loop(
        lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1], c[2] * c[1]), (0, x, v)
    )


def fixed_carry_in_condition(jx):
    return lambda n, v: jx.lax.while_loop(
        lambda c: c[0] < c[1], lambda c: (c[0] + 1, c[1], jx.numpy.sin(c[2])), (0, n, v)
    )


def swapped_carry(jx):
    """Tangents, batch dimensions and unknowns travel from carry to carry."""
    return lambda n, x, v: jx.lax.while_loop(
        lambda c: c[0] < n, lambda c: (c[0] + 1, c[2], c[3], c[1] * x), (0, v, v * 0 + 1, v * 0)
    )


def pytree_carry(jx):
    def f(x, v):
        def body(c):
            return {"i": c["i"] + 1, "w": (c["w"][0] * x, c["w"][1] + c["w"][0])}

        return jx.lax.while_loop(lambda c: c["i"] < 3, body, {"i": 0, "w": (v, v * v)})

    return f


def array_constants(jx):
    c = np.float32([1, 2, 3])
    return lambda v: jx.lax.while_loop(
        lambda u: (u * c).sum() < 40, lambda u: u * c + 0.5, jx.numpy.abs(v)
    )


def no_round(jx):
    return lambda x: jx.lax.while_loop(lambda c: c < x, lambda c: c * 2, x)


def counts_down(jx):
    return lambda n, x: jx.lax.while_loop(
        lambda c: c[0] > 0, lambda c: (c[0] - 1, c[1] + jx.numpy.cos(c[1])), (n, x)
    )


def dynamic_bounds(jx):
    return lambda low, high, x: jx.lax.fori_loop(low, high, lambda i, c: c * x + i, x)


def cond_in_while(jx):
    def f(x):
        def body(c):
            i, y = c
            return i + 1, jx.lax.cond(y > 4, lambda y: y / 3, lambda y: y * x, y)

        return jx.lax.while_loop(lambda c: c[0] < 6, body, (0, x))[1]

    return f


def while_in_cond(jx):
    return lambda n, x: jx.lax.cond(
        x > 1, lambda: counts_down(jx)(n, x)[1], lambda: jx.numpy.sin(x)
    )


def while_in_while(jx):
    def f(n, x):
        def body(c):
            i, y = c
            return i + 1, jx.lax.fori_loop(0, i, lambda j, z: z * 0.9 + x / (j + 1), y)

        return jx.lax.while_loop(lambda c: c[0] < n, body, (0, x))[1]

    return f


def while_in_jit(jx):
    inner = jx.jit(square_root(jx))
    return lambda x: inner(x) * inner(x + 1)


PROGRAMS = {
    "func10": (func10, V, 3),
    "static": (static_bounds, V),
    "root": (square_root, X),
    "root_weak": (square_root, 2.0),
    "powers": (powers, X),
    "weak": (weak_carry, X),
    "fixed": (fixed_carry, X, V),
    "fixed_in_condition": (fixed_carry_in_condition, 3, V),
    "swapped": (swapped_carry, 4, X, V),
    "pytree": (pytree_carry, X, V),
    "constants": (array_constants, V),
    "no_round": (no_round, X),
    "down": (counts_down, 3, X),
    "down_zero": (counts_down, np.int8(0), X),
    "bounds": (dynamic_bounds, 1, np.int32(4), X),
    "bounds_empty": (dynamic_bounds, 4, 1, X),
    "bounds_int8": (dynamic_bounds, np.int8(1), 4, X),
    "cond_in_while": (cond_in_while, X),
    "while_in_cond": (while_in_cond, 3, X),
    "while_in_while": (while_in_while, 3, X),
    "while_in_jit": (while_in_jit, X),
}
NAMES = list(PROGRAMS)
REVERSIBLE = ("static",)  # reverse mode goes through a `scan`


def parts(name):
    program, *args = PROGRAMS[name]
    return program, args


def floats(args):
    """The numbers of the arguments of a floating type."""
    return tuple(i for i, x in enumerate(args) if np.asarray(x).dtype.kind == "f")


def along(f, args, nums):
    """`f` as a function of the numbered arguments, with a list of its real results."""

    def g(*chosen):
        full = list(args)
        for i, x in zip(nums, chosen, strict=True):
            full[i] = x
        return [y for y in _leaves(f(*full)) if y.dtype.kind == "f"]

    return g


def _leaves(tree):
    if isinstance(tree, (tuple, list)):
        return [x for part in tree for x in _leaves(part)]
    if isinstance(tree, dict):
        return _leaves([tree[k] for k in sorted(tree)])
    return [tree] if hasattr(tree, "dtype") else []  # a fixed Python number is a result, too


@pytest.mark.parametrize("name", NAMES)
def test_value(name):
    program, args = parts(name)
    both(program, *args)
    both(lambda jx: jx.jit(program(jx)), *args)


@pytest.mark.parametrize("name", NAMES)
def test_jaxpr(name):
    program, args = parts(name)
    both(lambda jx: jx.make_jaxpr(program(jx)), *args)
    check_jaxpr(minijax.make_jaxpr(program(minijax))(*args))


@pytest.mark.parametrize("name", NAMES)
def test_jvp_and_its_jaxpr(name):
    program, args = parts(name)
    nums = floats(args)
    primals = tuple(args[i] for i in nums)

    def derivative(jx):
        f = along(program(jx), args, nums)
        return lambda *xs: jx.jvp(f, xs, tuple(x * 0 + 1 for x in primals))

    both(derivative, *primals)
    both(lambda jx: jx.make_jaxpr(derivative(jx)), *primals)
    check_jaxpr(minijax.make_jaxpr(derivative(minijax))(*primals))


@pytest.mark.parametrize("name", NAMES)
def test_second_derivatives_in_forward_mode(name):
    program, args = parts(name)
    nums = floats(args)
    primals = tuple(args[i] for i in nums)
    every = tuple(range(len(nums)))

    def derivative(jx):
        f = along(jx.jit(program(jx)), args, nums)
        return jx.jacfwd(jx.jacfwd(f, every), every)

    both(derivative, *primals)


@pytest.mark.parametrize("name", NAMES)
def test_linearize(name):
    program, args = parts(name)
    nums = floats(args)
    primals = tuple(args[i] for i in nums)

    def derivative(jx):
        f = along(program(jx), args, nums)
        return lambda *xs: jx.linearize(f, *xs)[1](*xs)

    both(derivative, *primals)


@pytest.mark.parametrize("name", NAMES)
def test_reverse_mode(name):
    """An error, of JAX's class, except for the loops that are a `scan`."""
    program, args = parts(name)
    nums = floats(args)
    primals = tuple(args[i] for i in nums)

    def derivative(jx):
        f = along(jx.jit(program(jx)), args, nums)
        return jx.grad(lambda *xs: sum(y.sum() for y in f(*xs)), tuple(range(len(nums))))

    both(derivative, *primals, raises=None if name in REVERSIBLE else ValueError)


def test_the_reverse_mode_error_says_why_and_what_to_do():
    with pytest.raises(ValueError, match="backwards") as caught:
        minijax.grad(square_root(minijax))(X)
    for part in ("Reverse-mode", "lax.scan", "static start/stop", "jacfwd", "chapter 9"):
        assert part in str(caught.value)


# --- batching: each argument batched alone, and all of them ---


def batched_somewhere(args):
    for i in range(len(args)):
        yield tuple(0 if i == j else None for j in range(len(args)))
    if len(args) > 1:
        yield (0,) * len(args)


BATCHED = [
    (name, axes)
    for name in NAMES
    if name != "bounds_int8"  # of bounds that do not fit each other, once they are arrays
    for axes in batched_somewhere(PROGRAMS[name][1:])
]


def stacked(x):
    """Three examples, for which loops run for different lengths."""
    x = np.asarray(x)
    x = x.astype({"f": np.float32, "i": x.dtype if x.itemsize < 8 else np.int32}[x.dtype.kind])
    return np.stack([x, x + x.dtype.type(2), x + x])


@pytest.mark.parametrize("name, axes", BATCHED)
def test_vmap(name, axes):
    program, args = parts(name)
    args = [x if axis is None else stacked(x) for x, axis in zip(args, axes, strict=True)]
    both(lambda jx: jx.vmap(program(jx), axes), *args)
    both(lambda jx: jx.make_jaxpr(jx.vmap(program(jx), axes)), *args)
    check_jaxpr(minijax.make_jaxpr(minijax.vmap(program(minijax), axes))(*args))


@pytest.mark.parametrize("name, axes", [(n, a) for n, a in BATCHED if n in (
    "root", "down", "swapped", "cond_in_while", "fixed_in_condition")])
def test_vmap_and_jvp(name, axes):
    """In both orders; where the predicate is batched, finished examples keep their tangents."""
    program, args = parts(name)
    nums = floats(args)
    args = [x if axis is None else stacked(x) for x, axis in zip(args, axes, strict=True)]

    def derivative(jx, f, *args):
        def g(*xs):
            full = dict(enumerate(args)) | dict(zip(nums, xs, strict=True))
            return f(*(full[i] for i in range(len(args))))

        primals = tuple(args[i] for i in nums)
        out, out_dot = jx.jvp(g, primals, tuple(x * 0 + 1 for x in primals))
        return out, [t for t in _leaves(out_dot) if t.dtype.kind == "f"]

    both(lambda jx: jx.vmap(lambda *a: derivative(jx, program(jx), *a), axes), *args)
    both(lambda jx: lambda *a: derivative(jx, jx.vmap(program(jx), axes), *a), *args)


def test_vmap_of_vmap():
    """A predicate with two batch dimensions, and one with the outer of two."""
    both(lambda jx: jx.vmap(jx.vmap(square_root(jx))), M)
    both(lambda jx: jx.make_jaxpr(jx.vmap(jx.vmap(square_root(jx)))), M)
    both(lambda jx: jx.vmap(jx.vmap(counts_down(jx), (None, 0)), (0, None)), np.arange(3), V)
    both(lambda jx: jx.make_jaxpr(jx.vmap(jx.vmap(counts_down(jx), (None, 0)), (0, None))),
         np.arange(3), V)
    both(lambda jx: jx.vmap(jx.vmap(counts_down(jx), (0, None)), (None, 0)), np.arange(3), V)


def test_vmap_over_another_dimension():
    both(lambda jx: jx.vmap(lambda v: fixed_carry(jx)(X, v)[2], 1, 1), M)


# --- nesting to depth three and more ---


@pytest.mark.parametrize("name", ["cond_in_while", "while_in_cond", "while_in_while"])
def test_nested_under_transformations(name):
    program, args = parts(name)
    args = [stacked(x) for x in args]
    last = len(args) - 1

    def derivative(jx):
        df = jx.vmap(jx.jacfwd(jx.jit(program(jx)), last))
        return lambda *a: jx.jvp(lambda x: df(*a[:last], x), (a[last],), (a[last],))

    both(derivative, *args)
    both(lambda jx: jx.jit(derivative(jx)), *args)


def test_cond_in_while_in_vmap_in_grad():
    """Reverse mode through a `fori_loop` of static length with a `cond` in it."""

    def loss(jx):
        def f(x):
            def body(i, y):
                return jx.lax.cond(y > 2, lambda y: y / 2, lambda y: y * x + i, y)

            return jx.lax.fori_loop(0, 4, body, x)

        return lambda xs: (jx.vmap(f)(xs) ** 2).sum()

    both(lambda jx: jx.grad(loss(jx)), V)
    both(lambda jx: jx.jit(jx.hessian(loss(jx))), V)


# --- errors ---


def loop(cond, body, init):
    return lambda jx: lambda: jx.lax.while_loop(cond, body, init)


WRONG = {
    "no_callable": loop(True, lambda c: c, 0),
    "condition_number": loop(lambda c: c, lambda c: c, 1.0),
    "condition_vector": loop(lambda c: c > 0, lambda c: c, V),
    "condition_tuple": loop(lambda c: (c > 0, c > 0), lambda c: c, X),
    "condition_tuple_of_one": loop(lambda c: (c > 0,), lambda c: c, X),
    "condition_none": loop(lambda c: None, lambda c: c, X),
    "condition_text": loop(lambda c: "yes", lambda c: c, X),
    "python_condition": loop(lambda c: c > 0 and c < 3, lambda c: c, X),
    "body_dtype": loop(lambda c: c > 0, lambda c: c > 0, X),
    "body_shape": loop(lambda c: c.sum() > 0, lambda c: c[:2], V),
    "body_weak_shape": loop(lambda c: True, lambda c: c + V, 0.0),
    "body_tree": loop(lambda c: c[0] > 0, lambda c: [c[0], c[1]], (X, X)),
    "body_keys": loop(lambda c: c["a"] > 0, lambda c: {"b": c["a"]}, {"a": X}),
    "body_leaf": loop(lambda c: c[0] > 0, lambda c: c[0], (X, X)),
    "body_none": loop(lambda c: c > 0, lambda c: None, X),
    "body_no_array": loop(lambda c: c > 0, lambda c: "c", X),
    "init_no_array": loop(lambda c: True, lambda c: c, "text"),
    "python_bool": loop(lambda c: c > 0, lambda c: -c if c > 1 else c, X),
    "fori_no_callable": lambda jx: lambda: jx.lax.fori_loop(0, 3, 1.0, X),
    "fori_carry": lambda jx: lambda: jx.lax.fori_loop(0, 3, lambda i, c: i, X),
    "fori_tree": lambda jx: lambda: jx.lax.fori_loop(0, 3, lambda i, c: (c, c), X),
    "fori_dtypes": lambda jx: lambda: jx.lax.fori_loop(
        np.int8(0), np.int16(3), lambda i, c: c, X),
    "fori_unsigned": lambda jx: lambda: jx.lax.fori_loop(0, np.uint8(3), lambda i, c: c, X),
    "fori_float_and_int": lambda jx: lambda: jx.lax.fori_loop(0.0, 3, lambda i, c: c, X),
    "fori_unroll": lambda jx: lambda: jx.jit(
        lambda n: jx.lax.fori_loop(0, n, lambda i, c: c, X, unroll=2))(3),
}


@pytest.mark.parametrize("name", list(WRONG))
@pytest.mark.parametrize("jit", [False, True])
def test_error_class(name, jit):
    both(lambda jx: jx.jit(WRONG[name](jx)) if jit else WRONG[name](jx))


def message(f):
    with pytest.raises(TypeError) as caught:
        f()
    return str(caught.value)


def test_a_wrong_carry_is_shown_with_its_path_and_both_types():
    def body(state):
        return {"n": state["n"] + 1, "x": (state["x"][0], state["x"][1] > 0)}

    text = message(lambda: minijax.lax.while_loop(
        lambda state: state["n"] < 3, body, {"n": 0, "x": (X, V)}))
    for part in ("while_loop body", "state['x'][1]", "float32[3]", "bool[3]", "dtypes"):
        assert part in text
    assert "state['n']" not in text and "['x'][0]" not in text


def test_a_wrong_tree_is_shown_with_its_path():
    text = message(lambda: minijax.lax.while_loop(
        lambda c: True, lambda c: (c[0], [c[1][0]]), (X, (X,))))
    for part in ("c[1]", "tuple", "list"):
        assert part in text


@pytest.mark.parametrize("where", ["cond", "body"])
def test_a_tracer_that_leaks(where):
    def f(jx):
        def g():
            leaked = []

            def keep(c):
                leaked.append(c)
                return c

            def cond(c):
                return (keep(c) if where == "cond" else c) < 3

            def body(c):
                return (keep(c) if where == "body" else c) + 1

            jx.lax.while_loop(cond, body, 0)
            return leaked[0] + 1

        return g

    both(f, raises="UnexpectedTracerError")


# --- the rules by themselves ---

COMBINATIONS = [(False, True, False), (False, False, True), (False, True, True),
                (True, False, False), (True, True, True)]


@pytest.mark.parametrize("program, args", [
    (swapped_carry, (4, X, V)), (lambda jx: lambda n, x, v: fixed_carry(jx)(x, v * n), (2, X, V)),
    (lambda jx: lambda n, x, v: (counts_down(jx)(n, v), counts_down(jx)(n, x)), (2, X, V)),
])
@pytest.mark.parametrize("unknown", COMBINATIONS)
def test_partial_evaluation(program, args, unknown):
    """Both halves together compute the whole, whichever arguments are known."""
    args = [np.int32(args[0]), *args[1:]]
    jaxpr = minijax.make_jaxpr(program(minijax))(*args)
    n_out = len(jaxpr.jaxpr.outvars)
    split = partial_eval_jaxpr(jaxpr, unknown, (False,) * n_out)
    known_jaxpr, unknown_jaxpr, out_unknown, _ = split
    check_jaxpr(known_jaxpr)
    check_jaxpr(unknown_jaxpr)
    known = [x for x, u in zip(args, unknown, strict=True) if not u]
    outs = jaxpr_as_fun(known_jaxpr)(*known)
    residuals = split.residuals(outs, known)
    late = [x for x, u in zip(args, unknown, strict=True) if u]
    late_outs = iter(jaxpr_as_fun(unknown_jaxpr)(*residuals, *late))
    early_outs = iter(outs)
    merged = [next(late_outs) if u else next(early_outs) for u in out_unknown]
    for got, want in zip(merged, jaxpr_as_fun(jaxpr)(*args), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)


def halves(program, args, unknown):
    jaxpr = minijax.make_jaxpr(program)(*args)
    return partial_eval_jaxpr(jaxpr, unknown, (False,) * len(jaxpr.jaxpr.outvars))


def two_carries(x, y):
    def body(c):
        i, u, w = c
        return i + 1, minijax.numpy.sin(u), minijax.numpy.cos(w) + u

    return minijax.lax.while_loop(lambda c: c[0] < 3, body, (0, x, y))


def test_known_carries_are_computed_now():
    """The counter and the sine are known; the loop of the cosine, which needs them, is not."""
    known_jaxpr, unknown_jaxpr, out_unknown, *_ = halves(two_carries, (X, X), (False, True))
    assert out_unknown == (False, False, True)
    assert "sin" in str(known_jaxpr) and "cos" not in str(known_jaxpr)
    assert "cos" in str(unknown_jaxpr)


def test_what_comes_to_depend_on_an_unknown_is_unknown():
    known_jaxpr, unknown_jaxpr, out_unknown, *_ = halves(two_carries, (X, X), (True, False))
    assert out_unknown == (False, True, True)
    assert "sin" not in str(known_jaxpr) and "sin" in str(unknown_jaxpr)


def test_an_unknown_length_makes_everything_unknown():
    def f(n, x):
        return minijax.lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * 2), (0, x))

    known_jaxpr, _, out_unknown, *_ = halves(f, (3, X), (True, False))
    assert out_unknown == (True, True) and not known_jaxpr.eqns


@pytest.mark.parametrize("used, kept", [
    ([True, False, False], ["add"]), ([False, True, False], ["add", "sin"]),
    ([False, False, True], ["add", "sin", "cos"]),
])
def test_dead_carries(used, kept):
    """A carry lives if a used result or the condition needs it, in any round."""
    jaxpr = minijax.make_jaxpr(two_carries)(X, X)
    pruned, _ = dce_jaxpr(jaxpr.jaxpr, used)
    check_jaxpr(pruned)
    assert [name for name in ("add", "sin", "cos") if f"= {name} " in str(pruned)] == kept


def test_ill_typed_equations_are_found():
    jaxpr = minijax.make_jaxpr(two_carries)(X, X).jaxpr
    eqns = [e.replace(invars=e.invars[:-1]) if e.primitive is while_p else e for e in jaxpr.eqns]
    with pytest.raises(TypeError, match="condition takes"):
        check_jaxpr(jaxpr.replace(eqns=eqns))


# --- disable_jit, caching ---


@pytest.mark.parametrize("name", ["root", "weak", "pytree", "func10", "static", "bounds_empty"])
def test_disable_jit(name):
    """Python's loop runs, on concrete values; results have their types as without a tracer."""
    program, args = parts(name)

    def f(jx):
        def g(*args):
            with jx.disable_jit():
                return program(jx)(*args)

        return g

    both(f, *args)


def test_disable_jit_under_vmap_falls_back_to_the_primitive():
    def f(jx):
        def g(x):
            with jx.disable_jit():
                return jx.vmap(square_root(jx))(x)

        return g

    both(f, V)


def test_python_values_are_seen_under_disable_jit():
    seen = []
    with minijax.disable_jit():
        minijax.lax.fori_loop(0, 3, lambda i, c: (seen.append(int(c)), c + i)[1], 0)
    assert seen == [0, 0, 1]


def test_a_loop_is_traced_and_compiled_once():
    calls = []

    def body(x):
        calls.append(x)
        return x * 2

    def cond(x):
        return x < 100

    for start in (1.0, 2.0, 3.0):
        minijax.lax.while_loop(cond, body, start)
    assert len(calls) == 1
    for upper in (1, 2, 3):
        minijax.jit(lambda n: minijax.lax.fori_loop(0, n, step, 0.0))(upper)
    assert len(steps) == 1


steps = []


def step(i, x):
    steps.append(i)
    return x + i


def test_a_loop_does_not_keep_its_functions_alive():
    def body(x):
        return x * 2

    minijax.lax.while_loop(lambda x: x < 100, body, 1.0)
    minijax.jit(lambda n: minijax.lax.fori_loop(0, n, minijax.numpy.add, 0.0))(3)
    ref = weakref.ref(body)
    del body
    gc.collect()
    assert ref() is None
