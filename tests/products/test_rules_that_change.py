"""A rule that the user changes is obeyed at once, and the old one again when it is put back: every table of rules ×
every transformation, after one call and after twenty."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import minijax as jax
import minijax.numpy as jnp
from minijax import lax
from minijax.core import forward
from minijax.core.core import Primitive
from minijax.core.lowering import lowering_rules
from minijax.core.partial_eval import default_partial_eval
from minijax.core.staging import staging_rules
from minijax.interpreters import ad, batching, mlir, partial_eval as pe
from tests import processes

sin_p, cos_p, mul_p = lax.sin_p, lax.cos_p, lax.mul_p
POINT, POINTS = np.float32(0.75), np.linspace(0.25, 1.25, 3, dtype=np.float32)

# ----------------------------------------------------------------------------------------------
# Functions. Each of them goes through `sin` and `mul`.


def plain() -> Callable:
    return lambda x: jnp.sin(x) * x


def composite() -> Callable:
    """Its function of NumPy is one compiled program when nothing is traced."""
    return lambda x: jnp.sinc(x) * x


def through_jit() -> Callable:
    return jax.jit(lambda x: jnp.sin(x) * x)


def through_checkpoint() -> Callable:
    return jax.checkpoint(lambda x: jnp.sin(x) * x)


def through_scan() -> Callable:
    return lambda x: lax.scan(lambda c, y: (jnp.sin(c) * y, None), x, np.ones(2, np.float32))[0]


def through_cond() -> Callable:
    return lambda x: lax.cond(x > 0, lambda x: jnp.sin(x) * x, lambda x: x, x)


def through_while() -> Callable:
    """Under reverse mode, only what the condition reads runs through the loop."""
    return lambda x: lax.while_loop(lambda c: c < 1, lambda c: c + jnp.abs(jnp.sin(c) * c) + 1, lax.stop_gradient(x)) + (
        jnp.sin(x) * x)


def through_custom_jvp() -> Callable:
    f = jax.custom_jvp(lambda x: jnp.sin(x) * x)
    f.defjvp(lambda primals, tangents: (f(*primals), jnp.sin(tangents[0]) * primals[0]))
    return f


def through_custom_vjp() -> Callable:
    f = jax.custom_vjp(lambda x: jnp.sin(x) * x)
    f.defvjp(lambda x: (f(x), x), lambda x, ct: (jnp.sin(x) * ct,))
    return f


FUNCTIONS = [composite, through_jit, through_checkpoint, through_scan, through_cond, through_while,
             through_custom_jvp, through_custom_vjp]

# ----------------------------------------------------------------------------------------------
# Transformations: from a function to a call of what is made of it, once


def at_point(transformed: Callable) -> Callable:
    return lambda: transformed(POINT)


def at_points(transformed: Callable) -> Callable:
    return lambda: transformed(POINTS)


def linearized(f: Callable) -> Callable:
    return lambda x: jax.linearize(f, x)[1](jnp.ones_like(x))


def pulled_back(f: Callable) -> Callable:
    return lambda x: jax.vjp(f, x)[1](jnp.ones_like(x))[0]


def pushed(f: Callable) -> Callable:
    return lambda x: jax.jvp(f, (x,), (jnp.ones_like(x),))[1]


TRANSFORMATIONS: dict[str, Callable] = {
    "eager": at_point,
    "jvp": lambda f: at_point(pushed(f)),
    "grad": lambda f: at_point(jax.grad(f)),
    "vjp": lambda f: at_point(pulled_back(f)),
    "linearize": lambda f: at_point(linearized(f)),
    "vmap": lambda f: at_points(jax.vmap(f)),
    "make_jaxpr": lambda f: lambda: str(jax.make_jaxpr(f)(POINT)),
    "make_jaxpr(grad)": lambda f: lambda: str(jax.make_jaxpr(jax.grad(f))(POINT)),
    "eval_shape": lambda f: lambda: str(jax.eval_shape(f, POINT)),
    "jit": lambda f: at_point(jax.jit(f)),
    "jit(grad)": lambda f: at_point(jax.jit(jax.grad(f))),
    "grad(jit)": lambda f: at_point(jax.grad(jax.jit(f))),
    "jit(vmap)": lambda f: at_points(jax.jit(jax.vmap(f))),
    "vmap(grad(jit))": lambda f: at_points(jax.vmap(jax.grad(jax.jit(f)))),
    "jacfwd": lambda f: at_point(jax.jacfwd(f)),
    "hessian": lambda f: at_point(jax.hessian(f)),
    "scan": lambda f: lambda body=(lambda c, _: (f(c), None)): lax.scan(body, POINT, None, length=2)[0],
    "grad(checkpoint)": lambda f: at_point(jax.grad(jax.checkpoint(f))),
}

# ----------------------------------------------------------------------------------------------
# Changes of rules


@contextlib.contextmanager
def entry(table: Any, primitive: Any, rule: Callable) -> Iterator[None]:
    """Set the entry of a primitive in a table, and put back what was there."""
    old = table.get(primitive)
    table[primitive] = rule
    try:
        yield
    finally:
        if old is None:
            del table[primitive]
        else:
            table[primitive] = old


@contextlib.contextmanager
def evaluation() -> Iterator[None]:
    old = sin_p.impl
    sin_p.def_impl(lambda x: old(x) + np.float32(1))
    yield
    sin_p.def_impl(old)


@contextlib.contextmanager
def abstract_evaluation() -> Iterator[None]:
    old = sin_p.abstract_eval
    sin_p.def_abstract_eval(lambda x, **params: old(x, **params).update(weak_type=True))
    yield
    sin_p.def_abstract_eval(old)


def jvp() -> Any:
    old = ad.primitive_jvps[sin_p]

    def doubled(primals, tangents, **params):
        out, tangent = old(primals, tangents, **params)
        return out, tangent * 2

    return entry(ad.primitive_jvps, sin_p, doubled)


@contextlib.contextmanager
def jvp_by_defjvp() -> Iterator[None]:
    old = ad.primitive_jvps[sin_p]
    ad.defjvp(sin_p, lambda t, x, **params: t * x)
    yield
    ad.primitive_jvps[sin_p] = old


def transpose() -> Any:
    old = ad.primitive_transposes[mul_p]

    def doubled(ct, x, y, **params):
        return [q if q is None or type(q) is ad.Zero else q * 2 for q in old(ct, x, y, **params)]

    return entry(ad.primitive_transposes, mul_p, doubled)


def batch() -> Any:
    return entry(batching.primitive_batchers, sin_p,
                 lambda args, dims, **params: (cos_p.bind(*args, accuracy=None), dims[0]))


@contextlib.contextmanager
def lowering() -> Iterator[None]:
    old = lowering_rules[sin_p]
    mlir.register_lowering(sin_p, mlir.lower_fun(lambda x, **params: x - 1, multiple_results=False))
    yield
    lowering_rules[sin_p] = old


def partial_evaluation() -> Any:
    """The table has no rule for `mul`: it takes the general one."""
    def negated(trace, primitive, args, params):
        args = [x if trace.is_unknown(x) else -x for x in args]
        return default_partial_eval(trace, primitive, args, params)

    return entry(pe.partial_eval_rules, mul_p, negated)


def dead_code() -> Any:
    """The table has no rule for `sin`."""
    return entry(pe.dce_rules, sin_p, lambda used, eqn: ([True], eqn.replace(primitive=cos_p)))


def staging() -> Any:
    """The table has no rule for `sin`."""
    return entry(staging_rules, sin_p,
                 lambda trace, args, params: trace.default_process_primitive(cos_p, args, params))


_EAGER_GRADIENTS = {"grad", "vjp", "grad(checkpoint)", "hessian"}
_GRADIENTS = _EAGER_GRADIENTS | {"grad(jit)", "jit(grad)", "vmap(grad(jit))"}
_TANGENTS = {"jvp", "linearize", "jacfwd"}
_COMPILED = {"jit", "jit(grad)", "grad(jit)", "jit(vmap)", "vmap(grad(jit))", "scan"}

# Each change, and the transformations of `plain` that must show it.
CHANGES = {
    evaluation: {"eager", "vmap"} | _EAGER_GRADIENTS | _TANGENTS,
    abstract_evaluation: {"make_jaxpr", "make_jaxpr(grad)"},
    jvp: _GRADIENTS | _TANGENTS | {"make_jaxpr(grad)"},
    jvp_by_defjvp: _GRADIENTS | _TANGENTS | {"make_jaxpr(grad)"},
    transpose: _GRADIENTS | {"make_jaxpr(grad)"},
    batch: {"vmap", "jit(vmap)", "vmap(grad(jit))"},
    lowering: _COMPILED,
    partial_evaluation: _GRADIENTS | {"linearize", "make_jaxpr(grad)"},
    dead_code: _COMPILED | {"grad(checkpoint)"},
    staging: _COMPILED | {"make_jaxpr", "make_jaxpr(grad)", "grad(checkpoint)"},
}


def same(a: Any, b: Any) -> bool:
    if isinstance(a, str) or isinstance(b, str):
        return a == b
    return np.asarray(a).tobytes() == np.asarray(b).tobytes() and str(a.aval) == str(b.aval)


def outcome(call: Callable) -> Any:
    """The result, or what is said instead."""
    try:
        return call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def check(change: Callable, transformation: str, function: Callable, calls: int) -> Any:
    """Call what a transformation made, before and after the change; returns the old result and the new."""
    call = TRANSFORMATIONS[transformation](function())
    before = [outcome(call) for _ in range(calls)]
    with change():
        changed = [outcome(call) for _ in range(2)]
        of_new_function = outcome(TRANSFORMATIONS[transformation](function()))
    after = [outcome(call) for _ in range(2)]
    assert all(same(x, before[0]) for x in before + after)
    assert all(same(x, of_new_function) for x in changed)
    return before[0], changed[0]


@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
@pytest.mark.parametrize("change", CHANGES)
def test_a_rule_is_obeyed_at_once_and_forgotten_when_it_is_put_back(change, transformation):
    old, new = check(change, transformation, plain, 20)
    assert same(old, new) == (transformation not in CHANGES[change])


@pytest.mark.daily(20)
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_rule_is_obeyed_inside_of_other_primitives(change, transformation, function):
    check(change, transformation, function, 1)


# ----------------------------------------------------------------------------------------------
# Ways to change a table

WAYS: dict[str, Callable] = {
    "set": lambda table, rule: table.__setitem__(sin_p, rule),
    "update": lambda table, rule: table.update({sin_p: rule}),
    "|=": lambda table, rule: table.__ior__({sin_p: rule}),
    "delete and setdefault": lambda table, rule: (table.__delitem__(sin_p), table.setdefault(sin_p, rule)),
    "pop": lambda table, rule: (table.pop(sin_p), table.setdefault(sin_p, rule)),
}


@pytest.mark.parametrize("way", WAYS)
def test_each_way_to_change_a_table_is_seen(way):
    table = forward.primitive_jvps if way == "|=" else ad.primitive_jvps
    jitted, old = jax.jit(jax.grad(jnp.sin)), table[sin_p]
    before = jitted(POINT)
    WAYS[way](table, lambda primals, tangents, **params: (sin_p.bind(*primals, **params), tangents[0]))
    assert jitted(POINT) == 1
    WAYS[way](table, old)
    assert jitted(POINT) == before


def test_a_table_that_is_emptied_and_filled_again():
    jitted, old = jax.jit(jax.grad(jnp.sin)), dict(forward.primitive_jvps)
    before = jitted(POINT)
    forward.primitive_jvps.clear()
    with pytest.raises(NotImplementedError, match="'sin'"):
        jitted(POINT)
    forward.primitive_jvps.update(old)
    assert jitted(POINT) == before


def test_every_table_of_rules_is_one_that_tells():
    """A dictionary by primitive that is no table of rules says why."""
    others = {
        "numpy_rules": "what `def_numpy` has set, together with `impl`",
        "calls": "how primitives call a jaxpr", "params_rules": "parameters",
        "with_parameter": "primitives", "_PARAMETERS": "parameters", "_BACK": "parameters",
        "_TRANSPOSES": "a part of rules", "SUMS": "a part of rules", "_EXACT_SLOPES": "a part of rules",
        "asked_jvps": "a part of rules", "calls_of_platform": "names", "_calls": "names",
        "_ENTER": "how `check_compiled` looks into calls",
    }
    modules = [module for name, module in sys.modules.items() if name.startswith("minijax.")]
    plain_ones = {name for module in modules for name, x in vars(module).items()
                  if type(x) is dict and any(isinstance(key, Primitive) for key in x)}
    assert plain_ones <= others.keys()


@pytest.mark.parametrize("decorator", ["custom_jvp", "custom_vjp", "custom_vmap"])
def test_the_rule_of_a_decorated_function(decorator):
    def with_rule(f, factor):
        if decorator == "custom_jvp":
            f.defjvp(lambda primals, tangents: (primals[0], factor * tangents[0]))
        elif decorator == "custom_vjp":
            f.defvjp(lambda x: (x, None), lambda _, ct: (factor * ct,))
        else:
            f.def_vmap(lambda size, in_batched, x: (factor * jnp.ones_like(x), True))
        return f

    make = {"custom_jvp": jax.custom_jvp, "custom_vjp": jax.custom_vjp, "custom_vmap": jax.custom_batching.custom_vmap}
    f = with_rule(make[decorator](lambda x: x), 2)
    transformed = jax.jit(jax.vmap(f) if decorator == "custom_vmap" else jax.vmap(jax.grad(f)))
    for factor in (2, 3, 2):
        with_rule(f, factor)
        assert transformed(POINTS).tolist() == [factor] * 3


# ----------------------------------------------------------------------------------------------
# Traces are forgotten


def test_a_rule_that_reads_what_changes_needs_clear_caches():
    """No table changes here. `clear_caches` makes everything be traced again, functions and jaxprs."""
    factor = 2.0
    with entry(ad.primitive_jvps, sin_p, lambda primals, tangents, **params: (
            sin_p.bind(*primals, **params), factor * tangents[0])):
        body = lambda x: jnp.sin(x) * x
        inner = jax.jit(body)
        closed = jax.make_jaxpr(lambda x: inner(x))(POINT)
        made = [jax.jit(jax.grad(body)), jax.grad(inner), jax.grad(jax.checkpoint(body)),
                jax.grad(lambda x: lax.scan(lambda c, _: (body(c), None), x, None, length=2)[0]),
                jax.grad(lambda x: jax.core.eval_jaxpr(closed.jaxpr, closed.consts, x)[0])]
        before = [f(POINT) for f in made]
        factor = 3.0
        jax.clear_caches()
        fresh = jax.grad(lambda x: jnp.sin(x) * x)(POINT)
        after = [f(POINT) for f in made]
    assert all(a != b for a, b in zip(before, after, strict=True))
    assert all(np.allclose(after[i], fresh) for i in (0, 1, 2, 4))


def test_another_thread_that_traces_meanwhile_keeps_no_old_rule():
    """It has begun with the old rule, and ends when the new one is in force."""
    begun, changed = threading.Event(), threading.Event()

    def f(x):
        y = jax.grad(jnp.sin)(x)
        begun.set()
        changed.wait(60)
        return y

    jitted = jax.jit(f)
    thread = threading.Thread(target=jitted, args=(POINT,))
    thread.start()
    begun.wait(60)
    with jvp():
        changed.set()
        thread.join()
        assert jitted(POINT) == 2 * jnp.cos(POINT)
    assert jitted(POINT) == jnp.cos(POINT)


def test_nothing_is_forgotten_when_rooms_are_imported_or_primitives_defined():
    """Each primitive counts as traced. What is imported on first use changes no rule of these."""
    program = """
import gc, importlib, pkgutil
from minijax import settings
from minijax.core.core import Primitive
before = settings.trace_context()
for p in [x for x in gc.get_objects() if isinstance(x, Primitive)]:
    p.out_avals.setdefault(())
for module in pkgutil.walk_packages(jax.__path__, "minijax.", onerror=lambda name: None):
    if module.name not in ("minijax.__main__", "minijax.alias", "minijax.cli.__main__"):
        importlib.import_module(module.name)
p = jax.extend.core.Primitive("p")
p.def_impl(lambda x: x)
p.def_abstract_eval(lambda x: x)
jax.interpreters.mlir.register_lowering(p, lambda ctx, x: x)
jax.interpreters.ad.deflinear(p, lambda ct: [ct])
jax.jit(lambda x: x + 1)(1)
print(before in settings.contexts.values())
"""
    out, _ = processes.run(program, seconds=120)
    assert out == "True\n"
