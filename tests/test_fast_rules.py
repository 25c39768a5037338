"""The fast paths of derivatives and `vmap` give what the core gives, to the last bit.

The first applications of a rule take the core's way, and the later ones that of the traced rule.
"""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest

import minijax
import minijax.numpy as jnp
from minijax.core.extension import hooks
from tests.counting import calls_in
from tests.oracle import both
from tests.oracle.primitives_table import ROWS, Row, operands

CASES = [pytest.param(row, line, id=f"{row.label}-{i}")
         for row in ROWS if row.takes("float32") for i, line in enumerate(row.operands)]


@pytest.fixture(autouse=True)
def found() -> list[dict]:
    """The tables of traced rules, which are empty when a test begins."""
    if os.environ.get("MINIJAX_FAST") == "0":
        pytest.skip("there are no fast paths")
    from minijax.fast import batching, derivatives
    minijax.clear_caches()
    rules = batching.batching_rules, derivatives.jvp_rules, derivatives.linearized_rules
    return [table.found for table in rules]


def traced(tables: list[dict]) -> set[str]:
    """The primitives with traced rules."""
    return {key[0].name for table in tables for key, rule in table.items()
            if rule is not None and type(rule) is not int}


def outcome(program):
    """The results with their types and bits, or the error."""
    try:
        leaves = minijax.tree.leaves(program())
    except (TypeError, ValueError, NotImplementedError) as error:
        return type(error), str(error)
    return [(str(getattr(x, "aval", type(x))), np.asarray(x).tobytes()) for x in leaves]


def same_when_repeated(program):
    from minijax.fast.rules import USES
    first = outcome(program)
    for _ in range(USES + 3):
        assert outcome(program) == first
    return first


def as_function(row: Row, line: str):
    """The row as a function of its inexact operands, and these."""
    arrays = [jnp.asarray(x) for x in operands(line, "float32")]
    inexact = [i for i, x in enumerate(arrays) if jnp.issubdtype(x.dtype, jnp.inexact)]
    call = row.call(minijax)

    def f(*xs):
        args = list(arrays)
        for i, x in zip(inexact, xs):
            args[i] = x
        return call(*args)

    return f, [arrays[i] for i in inexact]


def total(f):
    """The sum of all elements of all inexact results, each with another weight."""
    def scalar(*xs):
        outs = [y for y in minijax.tree.leaves(f(*xs)) if jnp.issubdtype(y.dtype, jnp.inexact)]
        weighted = [jnp.sum(y * jnp.cos(jnp.arange(y.size).reshape(y.shape))) for y in outs]
        return sum(weighted, jnp.float32(0)).real
    return scalar


@pytest.mark.parametrize(("row", "line"), CASES)
def test_derivatives(row, line):
    f, xs = as_function(row, line)
    if not xs:
        pytest.skip("no operand with a derivative")
    every = tuple(range(len(xs)))
    same_when_repeated(lambda: minijax.jvp(f, tuple(xs), tuple(x + 0.5 for x in xs)))
    same_when_repeated(lambda: minijax.value_and_grad(total(f), every)(*xs))
    same_when_repeated(lambda: minijax.linearize(f, *xs)[1](*xs))


def lines_of(closed):
    """The text of a jaxpr, and the user's lines that its equations come from."""
    return str(closed), [str(eqn.source_info) for eqn in closed.eqns]


@pytest.mark.parametrize(("row", "line"), CASES)
def test_jaxprs_of_derivatives(row, line):
    """Traced rules add the equations that the rules themselves would add."""
    from minijax.fast.rules import USES
    f, xs = as_function(row, line)
    if not xs:
        pytest.skip("no operand with a derivative")

    def programs():
        every = tuple(range(len(xs)))
        try:
            yield minijax.make_jaxpr(minijax.grad(total(f), every))(*xs)
            yield minijax.make_jaxpr(lambda *xs: minijax.vjp(f, *xs))(*xs)
            yield minijax.make_jaxpr(lambda *xs: minijax.linearize(f, *xs)[1](*xs))(*xs)
            yield minijax.make_jaxpr(minijax.hessian(total(f)))(*xs)
        except (TypeError, ValueError, NotImplementedError) as error:
            assert error  # the text of the others counts

    first = [*map(lines_of, programs())]
    for _ in range(USES + 2):
        assert [*map(lines_of, programs())] == first


def test_staged_rules_are_used():
    """The jaxpr of a gradient needs fewer calls when its rules are traced."""
    x = jnp.linspace(0.1, 1.3, 7)

    def program():
        return minijax.make_jaxpr(minijax.grad(lambda x: shared_values(x)))(x)

    core = calls_in(program)
    texts = {str(program()) for _ in range(8)}
    assert len(texts) == 1 and calls_in(program) < 0.95 * core


def test_staged_rules_are_used_beside_reduced_arrays():
    """Those keep an extension registered that looks at the operands of all equations."""
    mesh = minijax.make_mesh((2,), ("i",))
    reduced = minijax.device_put(jnp.ones(4), minijax.NamedSharding(mesh, minijax.P(reduced={"i"})))
    assert hooks.stage_operands
    test_staged_rules_are_used()
    assert str(minijax.typeof(reduced)) == "float32[4]{R:i}"


def test_python_numbers_are_arrays_for_traced_rules():
    def program(x):
        return minijax.grad(lambda x: jnp.tanh(x) * jnp.sin(x) / x)(x)

    for x in 0.5, jnp.float32(0.5):
        same_when_repeated(lambda: program(x))
    assert calls_in(lambda: program(0.5)) < 1.1 * calls_in(lambda: program(jnp.float32(0.5)))


@pytest.mark.parametrize(("row", "line"), CASES)
def test_vmap_and_nested_transformations(row, line):
    f, xs = as_function(row, line)
    if not xs:
        pytest.skip("no operand to map over")
    stacks = [jnp.stack([x, 2 * x, -x], axis=x.ndim) for x in xs]
    last = tuple(-1 for _ in xs)
    first = minijax.vmap(f, in_axes=(-1, *[None] * (len(xs) - 1)))
    same_when_repeated(lambda: minijax.vmap(f, in_axes=last)(*stacks))
    same_when_repeated(lambda: first(stacks[0], *xs[1:]))
    gradient = minijax.grad(total(f))
    same_when_repeated(lambda: minijax.vmap(gradient, in_axes=last)(*stacks))
    same_when_repeated(lambda: minijax.jvp(gradient, tuple(xs), tuple(xs)))
    same_when_repeated(lambda: minijax.grad(total(gradient))(*xs))


def shared_values(x):
    """Values that are used several times, whose cotangents are summed in some order."""
    y = jnp.sin(x) * x
    z = jnp.tanh(y) * y + y / (x * x + 2.0)
    return jnp.sum(jnp.exp(-z) * y + z * z * x, axis=0)


@pytest.mark.parametrize("transformed", [
    lambda x: minijax.grad(lambda x: shared_values(x).sum())(x),
    lambda x: minijax.vmap(minijax.grad(shared_values))(jnp.stack([x, x + 1])),
    lambda x: minijax.hessian(shared_values)(x),
    lambda x: minijax.grad(minijax.grad(minijax.grad(lambda x: shared_values(x[None]))))(x[0]),
    lambda x: minijax.jacrev(minijax.jit(shared_values))(x),
    lambda x: minijax.grad(minijax.checkpoint(shared_values))(x),
    lambda x: minijax.vjp(shared_values, x)[1](jnp.float32(2.0)),
    lambda x: minijax.jit(lambda f: f(jnp.float32(2.0)))(minijax.vjp(shared_values, x)[1]),
    lambda x: minijax.vmap(minijax.linearize(shared_values, x)[1])(jnp.stack([x, -x])),
    lambda x: minijax.linear_transpose(minijax.linearize(shared_values, x)[1], x)(jnp.float32(1.5)),
])
def test_sums_of_cotangents_are_the_same(transformed):
    x = jnp.linspace(0.1, 1.3, 7)
    assert isinstance(same_when_repeated(lambda: transformed(x)), list)


def test_traced_rules_are_used(found):
    """A gradient needs fewer calls when its rules are traced."""
    x = jnp.linspace(0.1, 1.3, 7)
    gradient = minijax.grad(shared_values)
    gradient(x)
    core = calls_in(lambda: gradient(x))
    same_when_repeated(lambda: gradient(x))
    assert calls_in(lambda: gradient(x)) < 0.8 * core
    assert {"sin", "mul", "tanh", "div", "exp", "neg", "reduce_sum"} <= traced(found)


def test_traced_rules_are_used_beside_arrays_whose_types_state_a_sharding(found):
    """Those keep the extensions of shardings in types registered, for all arrays."""
    mesh = minijax.make_mesh((2,), ("i",))
    split = minijax.device_put(jnp.ones(4), minijax.NamedSharding(mesh, minijax.P("i")))
    assert hooks.vary_like
    test_traced_rules_are_used(found)
    assert same_when_repeated(lambda: minijax.grad(lambda x: shared_values(x).sum())(split))


def test_functions_and_jaxprs_are_not_kept(found):
    """A call of a jaxpr has no key, which would keep the jaxpr alive."""
    x = jnp.ones(3)
    same_when_repeated(lambda: minijax.jacrev(minijax.jit(shared_values))(x))
    same_when_repeated(lambda: minijax.grad(minijax.checkpoint(shared_values))(x))
    assert not {"jit", "pjit", "checkpoint", "remat2"} & {key[0].name for t in found for key in t}


def test_rules_run_as_they_are_written_under_a_debugger(found):
    x, previous = jnp.linspace(0.1, 1.3, 7), sys.gettrace()
    sys.settrace(lambda *args: None)
    try:
        same_when_repeated(lambda: minijax.grad(shared_values)(x))
    finally:
        sys.settrace(previous)
    assert not any(found)


def test_settings_and_extensions_are_respected(found):
    x = jnp.linspace(0.1, 1.3, 7)
    gradient = minijax.grad(shared_values)
    same_when_repeated(lambda: gradient(x))
    with minijax.enable_x64(True):
        y = jnp.asarray(np.linspace(0.1, 1.3, 7))
        assert gradient(y).dtype == np.float64
    with minijax.debug_nans(True), pytest.raises(FloatingPointError):
        gradient(x * jnp.float32(np.inf))


def test_results_of_compiled_programs_are_operands():
    """Their contents are in XLA's buffers, until NumPy needs them."""
    double = minijax.jit(lambda x: 2 * x)
    gradient, mapped = minijax.grad(shared_values), minijax.vmap(shared_values)
    same_when_repeated(lambda: gradient(double(jnp.linspace(0.1, 1.3, 7))))
    same_when_repeated(lambda: mapped(double(jnp.ones((2, 3)))))


def test_escaped_tracers_are_refused():
    leaked = []

    def f(x, y):
        leaked.append(x)
        return jnp.sum(x * y)

    gradient = minijax.grad(f)
    x = jnp.ones(3)
    same_when_repeated(lambda: gradient(x, x))
    with pytest.raises(minijax.errors.UnexpectedTracerError):
        gradient(x, leaked[0])
    with pytest.raises(minijax.errors.UnexpectedTracerError):
        minijax.vmap(f, (0, None))(jnp.ones((2, 3)), leaked[0])


def test_number_of_residuals():
    """A value that several rules need is one residual."""
    x = jnp.ones(3)
    counts = {len(minijax.tree.leaves(minijax.vjp(shared_values, x)[1])) for _ in range(8)}
    assert len(counts) == 1


def test_tangents_that_are_foreign_values_take_the_cores_way():
    """A custom rule may return numbers and NumPy arrays as tangents."""
    def program(jx):
        @jx.custom_jvp
        def f(x):
            return x * 2

        f.defjvp(lambda primals, tangents: (f(*primals), np.full(3, 2, np.float32)))

        def g(x):
            y, out = f(x), x
            for _ in range(8):
                out = jx.numpy.sin(out) * y + jx.numpy.maximum(y, out)
            return out

        return lambda x: jx.jvp(lambda x: jx.jvp(g, (x,), (x,))[1], (x,), (x,))

    both(program, np.array([0.5, 1.0, -0.25], np.float32))


# ----------------------------------------------------------------------------------------------
# Rules that users write, and replace


def repeated(call, n: int = 8) -> list:
    return [call() for _ in range(n)]


def own_primitive(jx, name: str):
    p = jx.extend.core.Primitive(name)
    p.def_impl(lambda x: jx.numpy.sin(x))
    p.def_abstract_eval(lambda x: x)
    return p


def test_a_known_tangent_stays_known():
    """That of `x**0` is zero. A product over windows has no reverse mode, and needs none there."""
    def program(x):
        ones = minijax.lax.integer_pow(x, 0)
        return minijax.lax.reduce_window(ones, 1.0, minijax.lax.mul, (2,), (1,), "SAME").sum()

    x = jnp.arange(3.0)
    ((_, zeros),) = same_when_repeated(lambda: minijax.grad(program)(x))
    assert np.frombuffer(zeros, "float32").tolist() == [0, 0, 0]
    same_when_repeated(lambda: minijax.jvp(minijax.grad(program), (x,), (x,)))


def test_users_rules_are_called_each_time():
    """They may depend on variables, and may look at values."""
    def program(jx):
        p, factor = own_primitive(jx, "scaled"), [1.0]
        jx.interpreters.ad.defjvp(p, lambda t, x: t * factor[0] * (1 if float(x) > 0 else -1))
        jx.interpreters.batching.primitive_batchers[p] = lambda args, dims: (
            p.bind(args[0]) * factor[0], dims[0])

        def results(i):
            factor[0] = float(i)
            x = jx.numpy.float32(1.5 - i % 3)
            return (jx.grad(p.bind)(x), jx.jvp(p.bind, (x,), (x,)),
                    jx.vmap(p.bind)(jx.numpy.ones(3)))

        return lambda: [results(i) for i in range(9)]

    both(program)


def test_users_transpose_rules_are_called_each_time():
    def program(jx):
        p, factor = own_primitive(jx, "linear"), [1.0]
        jx.interpreters.ad.deflinear(p, lambda ct: [ct * factor[0]])

        def gradient(i):
            factor[0] = float(i)
            return jx.grad(lambda x: jx.numpy.sin(p.bind(x) * x))(jx.numpy.float32(0.5))

        return lambda: [gradient(i) for i in range(9)]

    both(program)


def test_rules_can_be_replaced():
    def program(jx):
        def f():
            p, x = own_primitive(jx, "replaced"), jx.numpy.float32(1.0)
            outs = []
            for factor in 1.0, 10.0:
                jx.interpreters.ad.defjvp(p, lambda t, x, factor=factor: t * factor)
                jx.interpreters.batching.primitive_batchers[p] = lambda args, dims, factor=factor: (
                    p.bind(args[0]) * factor, dims[0])
                outs += repeated(lambda: jx.grad(p.bind)(x))
                outs += repeated(lambda: jx.vmap(p.bind)(jx.numpy.ones(3)))
            return outs
        return f

    both(program)


def test_a_replaced_rule_of_the_librarys_own_is_used():
    from minijax.interpreters import ad
    sin_p = minijax.lax.sin_p
    rule = ad.primitive_jvps[sin_p]
    gradient, x = minijax.grad(jnp.sin), jnp.float32(0.5)
    before = repeated(lambda: float(gradient(x)))
    try:
        ad.defjvp(sin_p, lambda t, x: t * 7.0)
        assert repeated(lambda: float(gradient(x))) == [7.0] * 8
    finally:
        ad.primitive_jvps[sin_p] = rule
    assert repeated(lambda: float(gradient(x))) == before


def test_a_negative_zero_is_another_parameter():
    """JAX's caches take it for a zero."""
    x, i = jnp.ones((1, 3)), jnp.array(9)

    def is_negative(zero):
        filled = minijax.vmap(lambda x: x.at[i].get(mode="fill", fill_value=zero))(x)
        return bool(jnp.signbit(filled[0]))

    assert [is_negative(zero) for _ in range(8) for zero in (0.0, -0.0)] == [False, True] * 8


@pytest.mark.parametrize(("call", "raises"), [
    ("jnp.ones(2).at[0].set(2**40)", OverflowError),
    ("jnp.take(jnp.arange(6.).reshape(2, 3), jnp.array([0, 1]), axis=True)", None),
    ("jnp.take(jnp.arange(3.), jnp.array([0, 1]), axis=True)", ValueError),
    ("jnp.ones(2, 'float16') * 1e6", None),
    ("jnp.ones(2, 'float16').at[0].set(1e6)", None),
])
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_fast_paths_of_indexing_and_operators(call, raises):
    both(lambda jx: lambda: eval(call, {"jnp": jx.numpy}), raises=raises)
