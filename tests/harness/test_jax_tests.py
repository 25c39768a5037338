"""What JAX's own tests look at: small programs, each a row of a table.

The programs return texts, numbers and types, which must be JAX's.
"""

from __future__ import annotations

import re
from importlib import import_module

import numpy as np
import pytest

import minijax
from minijax import settings
from tests import harness
from tests.oracle import both

harness.show()

X = np.arange(6.0, dtype="float32").reshape(2, 3)
ROWS = {}


def row(program):
    """`program(jx)` is run in both libraries."""
    ROWS[program.__name__] = program
    return program


def message(run, *args):
    """The class and the words of the error that a call raises."""
    try:
        run(*args)
    except Exception as error:
        return type(error).__name__, str(error)
    return None


def page_of(run, *args):
    name, words = message(run, *args)
    return name, re.findall(r"See https://\S*#jax.errors.\w+", words)


def private(jx, name):
    """A private module of JAX's, or what minijax has for it."""
    return import_module(f"{jx.__name__}._src.{name}")


@row
def errors_name_a_page(jx):
    leaked = []
    jx.jit(lambda x: leaked.append(x))(1.0)
    return [page_of(jx.jit(f), 1.0) for f in (bool, int, np.asarray, lambda x: [0][x])] + [
        page_of(lambda: leaked[0] + 1), page_of(jx.jit(lambda x: X[x < X]), 1.0)]


@row
def names_of_errors(jx):
    return [name for name in dir(jx.errors) if name != "InconclusiveDimensionOperation"]


@row
def short_texts_of_types(jx):
    return [jx.typeof(x).str_short() for x in (X, 1, True)] + [jx.typeof(X).str_short(True)]


@row
def eval_shape_traces_once(jx):
    calls = []

    def f(x):
        calls.append(1)
        return x * 2

    outs = [jx.eval_shape(f, x).shape for x in (X, X + 1, jx.ShapeDtypeStruct((2, 3), "float32"))]
    jitted = jx.jit(f)
    return outs, jitted.eval_shape(X).shape, jx.eval_shape(jitted, X[0]).shape, len(calls)


@row
def eval_shape_of_what_has_no_hash(jx):
    class Twice:
        __hash__ = None

        def __call__(self, x):
            return x * 2

    return jx.eval_shape(Twice(), X).shape


@row
def constraint_to_a_format_of_rows(jx):
    layout = import_module(f"{jx.__name__}.experimental.layout")
    rows = layout.Format(layout.Layout((0, 1)), jx.numpy.ones(1).sharding)

    def f(x):
        return jx.lax.with_sharding_constraint({"a": x * 2, "b": x}, {"a": rows, "b": rows})

    return jx.jit(f)(X), f(X)


@row
def rank_promotion_of_vectorize(jx):
    def found(signature, *shapes):
        f = jx.numpy.vectorize(lambda a, b: b, signature=signature)
        with jx.numpy_rank_promotion("raise"):
            name, words = message(f, *map(np.ones, shapes)) or ("", "")
            return name, words.split(". ")[0]

    return [found("(m,m),(m)->(m)", (2, 3, 3), (3,)), found("(),()->()", (2,), ()),
            found("(),()->()", (2,), (1, 2)), found("(n),()->()", (4, 2), (5, 4)),
            found("(m,m),(m)->(m)", (2, 3, 3), (2, 3)), found(None, (2,), (1, 2))]


@row
def rank_promotion_of_solve(jx):
    a = np.stack([np.eye(3, dtype="float32")] * 2)
    with jx.numpy_rank_promotion("raise"):
        return message(jx.numpy.linalg.solve, a, a[0, 0])[0], jx.numpy.linalg.solve(a[0], a[0])


@row
def transfers_that_a_guard_forbids(jx):
    jnp, x = jx.numpy, jx.numpy.arange(3)
    makes = [lambda: jx.device_put(X), lambda: jx.jit(lambda x: x)(X), lambda: jnp.ones(1),
             lambda: jnp.array([1, 2]), lambda: jnp.asarray(X), lambda: jnp.sin(x),
             lambda: x + x, lambda: x + 1, lambda: jx.random.key(0), lambda: jnp.arange(3)]

    def found():
        return [(message(make) or ("", ""))[0] for make in makes]

    results = []
    for guard in (jx.transfer_guard, jx.transfer_guard_host_to_device,
                  jx.transfer_guard_device_to_host):
        for mode in ("allow", "log", "disallow", "disallow_explicit"):
            with guard(mode):
                results.append(found())
    with jx.transfer_guard_host_to_device("disallow"), jx.transfer_guard("allow"):
        results.append(found())
    with jx.transfer_guard("disallow"), jx.transfer_guard_host_to_device("allow"):
        results.append(found())
    with jx.transfer_guard("disallow"):
        with jx.transfer_guard("allow"):
            pass
        results.append(found())
    return results


@row
def keys_of_all_implementations_are_pickled(jx):
    import pickle
    results = []
    for name in ("threefry2x32", "rbg", "unsafe_rbg"):
        key = jx.random.key(3, impl=name)
        again = pickle.loads(pickle.dumps(key))
        results.append((again.dtype == key.dtype, jx.random.key_data(again)))
    return results


@row
def specifications_of_generators(jx):
    impl = import_module(f"{jx.__name__}.extend.random").define_prng_impl(
        key_shape=(2,), seed=lambda n: jx.numpy.full(2, n, "uint32"), split=None,
        random_bits=None, fold_in=None, name="own")
    key = jx.random.key(1, impl=impl)
    return repr(jx.random.key_impl(key)), impl == jx.random.key_impl(key), impl._impl.name


@row
def lowering_rules_of_unknown_platforms(jx):
    mlir = import_module(f"{jx.__name__}.interpreters.mlir")
    name, words = message(lambda: mlir.register_lowering(prim=None, rule=None, platform="foo"))
    return name, words


@row
def programs_as_hlo_say_where_operations_come_from(jx):
    lowered = jx.jit(jx.named_scope("layer")(lambda x: jx.numpy.sin(x))).lower(1.0)
    return [re.findall(r'op_name="([^"]*sin)"', lowered.as_text("hlo", debug_info=debug_info))
            for debug_info in (False, True)]


@row
def inlined_operations_come_from_the_call(jx):
    util = private(jx, "source_info_util")

    @jx.jit(inline=True)
    def inner(x):
        return jx.lax.sin(x)

    def outer(x):
        return jx.lax.cos(inner(x))

    frames = [util.user_frame(eqn.source_info.traceback)
              for eqn in jx.make_jaxpr(outer)(1.0).jaxpr.eqns]
    return [(frame.function_name, frame.start_line == frames[0].start_line) for frame in frames]


@row
def types_of_references_as_arguments(jx):
    primitives, types = (private(jx, f"state.{name}") for name in ("primitives", "types"))
    refs = [types.shaped_array_ref((2,), np.dtype("float32")) for _ in range(2)]

    def f(a, b, x):
        primitives.ref_addupdate(a, (), x)
        b[0] = a[1]
        return b[...]

    jaxpr = jx.make_jaxpr(f)(*refs, jx.ShapeDtypeStruct((2,), "float32"))
    pure = private(jx, "state.discharge").discharge_state(jaxpr)
    return str(jaxpr), jx.core.eval_jaxpr(pure.jaxpr, pure.consts, X[0], X[1], X[0])


@row
def some_references_are_discharged(jx):
    primitives, types = (private(jx, f"state.{name}") for name in ("primitives", "types"))
    refs = [types.shaped_array_ref((2,), np.dtype("float32")) for _ in range(2)]

    def f(a, b, x):
        primitives.ref_addupdate(a, (), x)
        b[0] = a[1]
        own = jx.new_ref(x)
        own[...] += b[...]
        jx.jit(lambda a: a.__setitem__(0, 2.0))(a)
        return b[...] * own[...]

    jaxpr = jx.make_jaxpr(f)(*refs, jx.ShapeDtypeStruct((2,), "float32"))
    found = []
    for wanted in (False, (True, False, True), [False, True, False], (False, True, True)):
        some = private(jx, "state.discharge").discharge_state(jaxpr, should_discharge=wanted)
        values = [jx.new_ref(x) if isinstance(aval, types.AbstractRef) else x
                  for x, aval in zip((X[0, :2], X[1, :2], X[1, 1:]), some.in_avals)]
        outs = jx.core.eval_jaxpr(some.jaxpr, some.consts, *values)
        found.append(([str(aval) for aval in some.in_avals], outs, [x[...] for x in values]))
    return found


@row
def private_names_of_references(jx):
    primitives, types = private(jx, "state.primitives"), private(jx, "state.types")
    discharge = private(jx, "state.discharge")
    ref = jx.new_ref(X)
    primitives.ref_set(ref, (0,), X[1])
    primitives.ref_addupdate(ref, (slice(None), 1), X[:, 0])
    old = primitives.ref_swap(ref, (1,), X[0])

    def body(refs):
        refs["a"][...] = refs["a"][...] + refs["b"][0]

    out = discharge.run_state(body)({"a": X, "b": X[0]})
    jaxpr = jx.make_jaxpr(lambda ref: ref[0])(jx.new_ref(X))
    pure = discharge.discharge_state(jaxpr)
    return (primitives.ref_get(ref, ()), old, out, [aval.shape for aval in pure.out_avals],
            types.shaped_array_ref((2,), np.dtype("int32")).str_short())


@row
def arrays_of_other_classes(jx):
    class Duck:
        shape, dtype, ndim, size = (2, 3), np.dtype("float32"), 2, 6

        def __jax_array__(self):
            raise ValueError("a shape needs no contents")

    class Wrapper:
        def __init__(self, x):
            self.x = x

        def __jax_array__(self):
            return self.x

        def __array__(self, *args, **kwargs):
            raise ValueError("not NumPy's")

    jx.tree_util.register_pytree_node(Wrapper, lambda w: ([w.x], None), lambda _, x: Wrapper(*x))
    jnp = jx.numpy
    return (jnp.shape(Duck()), jnp.size(Duck(), 0), jnp.ndim(Duck()),
            jnp.take_along_axis(Wrapper(jnp.arange(5.0)), Wrapper(jnp.arange(3)), axis=0))


@pytest.mark.parametrize("name", ROWS)
def test_row(name):
    both(lambda jx: lambda: ROWS[name](jx))


@pytest.fixture
def own_settings():
    """Settings that are defined by a test are gone after it."""
    before, traced = {*settings.states}, [*settings.traced_settings]
    yield private(minijax, "config")
    for name in settings.states.keys() - before:
        del settings.states[name]
    settings.traced_settings[:] = traced
    settings.count_change()


def test_settings_of_ones_own(own_settings):
    flag = own_settings.bool_state(name="jax_own_flag", default=True, help="")
    choice = own_settings.enum_state(name="jax_own_choice", enum_values=["a", "b"], default="a",
                                     help="", include_in_jit_key=True)
    word = own_settings.optional_string_state(name="jax_own_word", default=None, help="")
    assert (flag.value, choice.value, word.value) == (True, "a", None)
    with flag(False), choice("b"), word("x"):
        assert (flag.value, choice.value, word.value) == (False, "b", "x")
    minijax.config.update("jax_own_choice", "b")
    with pytest.raises(ValueError, match="new enum value must be in"):
        minijax.config.update("jax_own_choice", "c")
    with pytest.raises(ValueError, match="new enum value must be in"):
        choice("c")
    traces = []
    f = minijax.jit(lambda x: traces.append(choice.value) or x)
    f(1.0)
    with choice("a"):
        f(1.0)
    f(1.0)
    assert traces == ["b", "a"]


def test_a_setting_is_defined_once(own_settings):
    own_settings.bool_state(name="jax_own_flag", default=True, help="")
    with pytest.raises(ValueError, match="jax_own_flag already defined"):
        own_settings.bool_state(name="jax_own_flag", default=False, help="")
