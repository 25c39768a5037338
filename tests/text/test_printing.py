"""Chapter 5: the text of jaxprs is JAX's, character by character."""

from __future__ import annotations

import random
import re
import sys

import numpy as np
import pytest
from hypothesis import given, strategies as st

from minijax import core
from minijax.core.jaxpr import (
    ClosedJaxpr,
    DropVar,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
)
from minijax.source import SourceInfo
from minijax.text import printing
from minijax.text.locations import new_source_info
from tests.core.real_jaxprs import both_texts, converted, jax_text
from tests.counting import calls_in
from tests.oracle import jax, jnp

lax = jax.lax
jax_pp = jax._src.pretty_printer

F32 = core.ShapedArray((), "float32")
SIN = core.Primitive("sin")
ADD = core.Primitive("add")
JIT = core.Primitive("jit", multiple_results=True)

# ----------------------------------------------------------------------------------------------
# Real jaxprs through our printer.

x = np.float32(1.5)
v = np.arange(3, dtype="float32")
m = np.ones((3, 3), "float32")
t = np.ones((2, 3, 4), "float32")
n = np.arange(6, dtype="int32")
big = np.ones((64, 64), "float32")
params = {"w": m, "b": v}


@jax.jit
def double(y):
    return y * 2.0


@jax.jit
def softmax(y):
    e = jnp.exp(y - y.max())
    return e / e.sum()


@jax.jit
def f(y):  # takes the name of a variable
    return jnp.sin(y)


@jax.jit
def long_function(y):
    for _ in range(6):
        y = jnp.sin(y) * 2.0
    return y


@jax.jit
def two_results(y):
    return jnp.sin(y), jnp.cos(y)


def renamed(g, name):
    g.__name__ = name
    return jax.jit(g)


def many(k):
    def program(y):
        for i in range(k):
            y = jnp.sin(y) if i % 2 else y + 1.0
        return y

    return program


def nested(depth):
    def program(y):
        for _ in range(depth):
            inner = program_at[-1]
            program_at.append(jax.jit(lambda z, inner=inner: inner(jnp.sin(z)) * z))
        return program_at[-1](y)

    program_at = [jnp.cos]
    return program


def mlp(p, y):
    return jnp.tanh(p["w"] @ y + p["b"])


def loss(p, y):
    return ((mlp(p, y) - 1.0) ** 2).sum()


def shared_by_shared(y):
    inner = renamed(lambda z: jnp.sin(z), "inner")
    outer = renamed(lambda z: inner(z) + 1.0, "outer")
    return outer(y) + outer(y * 2.0)


def same_names(y):
    g, h = renamed(lambda z: jnp.sin(z), "g"), renamed(lambda z: jnp.cos(z), "g")
    return g(y) + h(y) + g(y) * h(y)


def same_names_thrice(y):
    gs = [renamed(lambda z, i=i: z + i, "g") for i in range(3)] + [renamed(lambda z: jnp.sin(z), "g1")]
    return sum(g(y) + g(y + 1.0) for g in gs)


PROGRAMS = {
    # nothing, little
    "identity": (lambda y: y, x),
    "no results": (lambda y: (), m),
    "no arguments": (lambda: jnp.ones(3),),
    "constant result": (lambda y: 3.0, x),
    "several literals": (lambda y: (1, 2.5, True, y), x),
    "argument twice": (lambda y: (y, y), x),
    "unused arguments": (lambda y, z, w: z, x, v, m),
    "unused result": (lambda y: (jnp.sin(y), jnp.cos(y))[1], x),
    "one equation": (lambda y: jnp.sin(y), x),
    "two equations": (lambda y: jnp.cos(jnp.sin(y)), x),
    "five equations": (many(5), x),
    "twelve equations": (many(12), x),
    "beyond z": (many(30), x),
    "beyond zz": (many(720), x),
    # binders, types, literals
    "twenty arguments": (lambda *ys: sum(ys), *[x] * 20),
    "twenty results": (lambda y: [y] * 40, x),
    "forty wide arguments": (lambda *ys: ys, *[t] * 40),
    "weak argument": (lambda y: y + 1, 2.0),
    "weak integer": (lambda y: y * 2, 3),
    "bool": (lambda y: ~y, True),
    "complex": (lambda y: y * (1 + 2j), np.complex64(1)),
    "bfloat16": (lambda y: y + 1.25, jnp.bfloat16(1)),
    "float16": (lambda y: y * 0.1, np.float16(1)),
    "uint8": (lambda y: y + 200, np.uint8(1)),
    "int8": (lambda y: -y, np.int8(1)),
    "inexact literal": (lambda y: y * 0.1, x),
    "large literal": (lambda y: y * 1e30, x),
    "tiny literal": (lambda y: y * 1e-30, x),
    "infinity": (lambda y: jnp.maximum(y, -jnp.inf), x),
    "nan": (lambda y: y + jnp.nan, x),
    "negative literal": (lambda y: y - -3, n),
    "closed-over array": (lambda y: y @ big, big),
    "two closed-over arrays": (lambda y: y @ big + m.sum() + jnp.asarray(t)[0, 0, 0], big),
    "empty array": (lambda y: y + 1, np.zeros((0, 3), "float32")),
    # calls
    "jit": (lambda y: double(y), x),
    "jit of pytree": (jax.jit(loss), params, v),
    "jit of literal": (lambda y: double(3.0) + y, x),
    "jit with unused result": (lambda y: two_results(y)[0], x),
    "jit, both results": (lambda y: two_results(y), x),
    "jit of argument twice": (lambda y: jax.jit(lambda a, b: a + b)(y, y), x),
    "jit returns argument": (lambda y: jax.jit(lambda a: (a, a + 1))(y), x),
    "jit returns constant": (lambda y: jax.jit(lambda a: (a * 2, 1.0))(y), x),
    "jit closes over": (lambda y: jax.jit(lambda a: a + y)(y * 2), x),
    "jit twice": (lambda y: double(double(y)), x),
    "jit thrice": (lambda y: softmax(softmax(softmax(y))), v),
    "jit named f": (lambda y: many(8)(f(f(y))), x),
    "jit of other shapes": (lambda y, z: (softmax(y), softmax(z)), v, m),
    "long jit": (lambda y: long_function(y), x),
    "long jit twice": (lambda y: long_function(long_function(y)), x),
    "shared by shared": (shared_by_shared, x),
    "same names": (same_names, x),
    "same names thrice": (same_names_thrice, x),
    "keep_unused": (lambda y: jax.jit(lambda a, b: a, keep_unused=True)(y, y), x),
    "donated": (lambda y: jax.jit(lambda a: a + 1, donate_argnums=0)(y), v),
    "inline": (lambda y: jax.jit(lambda a: a + 1, inline=True)(y), v),
    "nested 5": (nested(5), x),
    "nested 12": (nested(12), x),
    # control flow, transformations
    "switch": (lambda i, y: lax.switch(i, [jnp.sin, jnp.cos, double], y), 1, x),
    "while over consts": (lambda y, z: lax.while_loop(lambda a: a < z, lambda a: a * z, y), x, x),
    "scan of jit": (lambda y: lax.scan(lambda c, a: (double(c), a), y[0], y), v),
    "scan in scan": (
        lambda y: lax.scan(lambda c, a: lax.scan(lambda d, b: (d + b, d), c, a), 0.0, y), m),
    "grad of mlp": (jax.grad(loss), params, v),
    "vmap of grad of jit": (jax.vmap(jax.grad(lambda y: softmax(y)[1])), m),
    "checkpoint": (jax.grad(jax.checkpoint(lambda y: jnp.sin(jnp.sin(y)))), x),
    "digits beside an integer": (lambda i: (i * 0.1 + 1e300, i < 0.3, jnp.power(i, 0.7)), 2),
    "digits beside booleans": (lambda b: (b + 0.1, b * 0.1j, b + 7), np.array([True, False])),
    "digits beside short types": (lambda y: (y * 0.1, y + 0.1j), np.float16(2)),
    "digits of weak complex numbers": (lambda c: (c * 0.1, c * 0.1j, c + 3), 2j),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_jax(name):
    program, *args = PROGRAMS[name]
    ours, jaxs = both_texts(program, *args)
    assert ours == jaxs


OPTIONS = [{"print_shapes": False}, {"width": 40}, {"width": 200}]
SEVERAL = ["jit of pytree", "grad of mlp", "same names", "long jit twice", "scan in scan"]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", SEVERAL)
def test_options_as_jax(name, options):
    program, *args = PROGRAMS[name]
    ours, jaxs = both_texts(program, *args, **options)
    assert ours == jaxs


def test_without_custom_rules_as_jax():
    def program(y):
        return jnp.full((2, 3), y) + 1.0

    ours, jaxs = both_texts(program, x, custom_pp_eqn_rules=False)
    assert ours == jaxs and "shape=(2, 3)" in ours


@pytest.mark.parametrize("name", ["one equation", *SEVERAL])
def test_color_as_jax(name):
    program, *args = PROGRAMS[name]
    real = jax.make_jaxpr(program)(*args)
    ours = converted(real).pretty_print(use_color=True)
    assert _uncolored(ours) == jax_text(real)
    assert ours == jax_text(real, use_color=True)


def _uncolored(text):
    return re.sub("\x1b\\[[0-9;]*m", "", text)


def test_custom_rule_for_a_new_primitive(monkeypatch):
    """A primitive's row adds its rule to the table: here what JAX has for `custom_jvp_call`."""

    def rule(params):
        shown = {"call_jaxpr": params["call_jaxpr"], "jvp": "jvp_of_it"}
        return {"name": "g", **shown, "symbolic_zeros": params["symbolic_zeros"]}

    @jax.custom_jvp
    def g(y):
        return jnp.sin(y)

    def jvp_of_it(primals, tangents):
        return g(*primals), tangents[0]

    g.defjvp(jvp_of_it)
    monkeypatch.setitem(printing.pp_rules, "custom_jvp_call", rule)
    ours, jaxs = both_texts(g, x)
    assert ours == jaxs


@given(st.integers(0, 10**9))
def test_random_programs_as_jax(seed):
    ours, jaxs = both_texts(random_program(random.Random(seed)), x)
    assert ours == jaxs


def random_program(choose):
    """Calls of calls of calls, some of them of the same function."""
    library = [jnp.sin, jnp.cos]

    def composed(parts, name):
        def g(y):
            for part, scale in parts:
                y = part(y) * scale if scale else part(y)
            return y

        return renamed(g, name)

    for _ in range(choose.randrange(1, 7)):
        parts = [
            (choose.choice(library), choose.choice([0, 0.5, 2.0]))
            for _ in range(choose.randrange(1, 6))
        ]
        library.append(composed(parts, choose.choice(["f", "g", "a", "long_name_of_function"])))
    return library[-1]


# ----------------------------------------------------------------------------------------------
# Source lines and notes.


def test_source_info_is_aligned_on_the_right():
    a, b, c = Var(F32), Var(F32), Var(F32)
    source = SourceInfo()
    eqns = [JaxprEqn(SIN, [a], [b], {}, source), JaxprEqn(ADD, [b, b], [c], {}, source)]
    text = Jaxpr([], [a], [c], eqns).pretty_print(source_info=True, width=40)
    assert text.split("\n") == [
        "{ lambda ; a:f32[]. let",
        "    b:f32[] = sin a     # unknown",
        "    c:f32[] = add b b   # unknown",
        "  in (c,) }",
    ]


def test_source_info_names_this_file():
    code = sys._getframe().f_code
    a, b = Var(F32), Var(F32)
    eqn = JaxprEqn(SIN, [a], [b], {}, new_source_info())
    line = sys._getframe().f_lineno - 1
    text = Jaxpr([], [a], [b], [eqn]).pretty_print(source_info=True)
    assert f"# {code.co_filename}:{line}:" in text
    assert "(test_source_info_names_this_file)" in text


def test_source_info_and_name_stack_as_jax():
    """Two notes to an equation: the second has a line to itself."""

    def program(y):
        with jax.named_scope("scope"):
            y = jnp.sin(y)
        return jax.jit(lambda z: z * 2.0)(y)

    real = jax.make_jaxpr(program)(x)
    ours = _with_jaxs_sources(converted(real).jaxpr, real.jaxpr)
    for use_color in (False, True):
        options = {"source_info": True, "name_stack": True, "use_color": use_color}
        assert ours.pretty_print(**options) == real.pretty_print(**options)


def _with_jaxs_sources(ours, real):
    summarize = jax._src.source_info_util.summarize

    class Source:
        def __init__(self, info):
            self.text, self.name_stack = summarize(info), info.name_stack

        def __str__(self):
            return self.text

    for eqn, original in zip(ours.eqns, real.eqns, strict=True):
        eqn.source_info = Source(original.source_info)
        if "jaxpr" in eqn.params:
            _with_jaxs_sources(eqn.params["jaxpr"].jaxpr, original.params["jaxpr"].jaxpr)
    return ours


def test_name_stack_without_source_info():
    a, b = Var(F32), Var(F32)
    text = Jaxpr([], [a], [b], [JaxprEqn(SIN, [a], [b], {})]).pretty_print(name_stack=True)
    assert text == "{ lambda ; a:f32[]. let b:f32[] = sin a in (b,) } # []"


# ----------------------------------------------------------------------------------------------
# Single pieces.


def param_text(value):
    a, b = Var(F32), Var(F32)
    return str(JaxprEqn(core.Primitive("p"), [a], [b], {"k": value}))


PARAMS = {
    "int": (3, "3"),
    "none": (None, "None"),
    "string": ("sum", "sum"),
    "empty tuple": ((), "()"),
    "tuple": ((1, 2), "(1, 2)"),
    "dtype": (np.dtype("float32"), "float32"),
    "scalar type": (np.float32, "<class 'numpy.float32'>"),
    "frozenset": (frozenset({"b", "a"}), "frozenset({'a', 'b'})"),
    "dict": ({"a": 1}, "{'a': 1}"),
    "enum": (lax.RoundingMethod.AWAY_FROM_ZERO, "RoundingMethod.AWAY_FROM_ZERO"),
    "bool": (True, "True"),
}


@pytest.mark.parametrize("name", PARAMS)
def test_param(name):
    value, text = PARAMS[name]
    if name == "enum":
        text = str(value)
    assert param_text(value) == f"a:f32[] = p[k={text}] b"


def test_param_addresses_are_masked():
    text = param_text(test_param)
    assert "<function test_param at 0x" in text
    assert set(text.split("0x")[1].split(">")[0]) == {"X"}


def test_eqn_names_its_results_first():
    a, b, c = Var(F32), Var(F32), Var(F32)
    assert repr(JaxprEqn(ADD, [b, c], [a], {})) == "a:f32[] = add b c"


def test_eqn_repr_as_jax():
    real = jax.make_jaxpr(lambda y: softmax(y))(v)
    assert repr(converted(real).eqns[0]) == repr(
        jax.make_jaxpr(lambda y: softmax(y))(v).eqns[0]
    )


def test_eqn_without_results():
    a = Var(F32)
    eqn = JaxprEqn(core.Primitive("check", True), [a], [], {})
    assert repr(eqn) == "check a"


def test_dropped_result():
    a, b = Var(F32), Var(F32)
    eqn = JaxprEqn(core.Primitive("two", True), [a], [DropVar(F32), b], {})
    assert (
        str(Jaxpr([], [a], [b], [eqn]))
        == "{ lambda ; a:f32[]. let _:f32[] b:f32[] = two a in (b,) }"
    )


def test_params_in_order_of_names():
    a, b = Var(F32), Var(F32)
    assert repr(JaxprEqn(SIN, [a], [b], {"z": 1, "b": 2})) == "a:f32[] = sin[b=2 z=1] b"


@pytest.mark.parametrize(
    ("number", "name"),
    [(0, "a"), (25, "z"), (26, "ba"), (27, "bb"), (675, "zz"), (676, "baa")],
)
def test_letters(number, name):
    assert printing.letters(number) == name


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (1.0, "float32", "1.0:f32[]"),
        (np.float32(0.1), "float32", "0.10000000149011612:f32[]"),
        (np.float32("nan"), "float32", "nan:f32[]"),
        (-np.inf, "float32", "-inf:f32[]"),
        (np.bool_(True), "bool", "True:bool[]"),
        (3, "int32", "3:i32[]"),
        (np.complex64(1 + 2j), "complex64", "(1+2j):c64[]"),
        (np.array(7), "uint8", "7:u8[]"),
        (np.ones(2), "float32", "[...]:f32[2]"),
    ],
)
def test_literal(value, dtype, text):
    aval = core.ShapedArray(np.shape(value), dtype)
    assert Literal(value, aval).pretty_print(None) == text
    assert Literal(value, aval).pretty_print(None, print_dtype=False) == text.split(":")[0]


def test_closed_jaxpr_prints_as_its_jaxpr():
    a = Var(F32)
    jaxpr = Jaxpr([], [a], [a], [])
    assert (
        str(ClosedJaxpr(jaxpr)) == str(jaxpr) == repr(jaxpr) == "{ lambda ; a:f32[]. let  in (a,) }"
    )


def test_ipython_gets_color():
    class Page:
        def text(self, text):
            self.shown = text

    a, page = Var(F32), Page()
    Jaxpr([], [a], [a], [])._repr_pretty_(page, False)
    assert "\x1b[" in page.shown and _uncolored(page.shown) == "{ lambda ; a:f32[]. let  in (a,) }"


def test_an_ill_typed_call_is_printed():
    a, b, c = Var(F32), Var(F32), Var(F32)
    inner = ClosedJaxpr(Jaxpr([], [c], [c], []))
    eqn = JaxprEqn(JIT, [a, a], [b], {"name": "g", "jaxpr": inner})
    assert "jaxpr={ lambda ; b:f32[]. let  in (b,) }] a a" in str(Jaxpr([], [a], [b], [eqn]))


# ----------------------------------------------------------------------------------------------
# Length and depth.


def chain(length):
    names = [Var(F32) for _ in range(length + 1)]
    eqns = [JaxprEqn(SIN, [a], [b], {}) for a, b in zip(names, names[1:], strict=False)]
    return Jaxpr([], names[:1], names[-1:], eqns)


def test_long_jaxpr_takes_linear_time():
    short, long = chain(500), chain(5_000)
    assert len(str(long).split("\n")) == 5_002
    assert calls_in(lambda: str(long)) < 12 * calls_in(lambda: str(short))


def tower(depth):
    a, b = Var(F32), Var(F32)
    jaxpr = Jaxpr([], [a], [b], [JaxprEqn(SIN, [a], [b], {})])
    for _ in range(depth):
        a, b = Var(F32), Var(F32)
        eqn = JaxprEqn(JIT, [a], [b], {"name": "g", "jaxpr": ClosedJaxpr(jaxpr)})
        jaxpr = Jaxpr([], [a], [b], [eqn])
    return jaxpr


def test_deep_jaxpr_needs_no_stack():
    depth = 2 * sys.getrecursionlimit()
    lines = str(tower(depth)).split("\n")
    assert sum("jit[" in line for line in lines) == depth


def test_nested_sharing_takes_linear_time():
    """Each level calls the next one twice: 2**200 calls, 200 jaxprs."""
    a, b = Var(F32), Var(F32)
    jaxpr = Jaxpr([], [a], [b], [JaxprEqn(SIN, [a], [b], {})])
    for _ in range(200):
        inner, (a, b, c) = ClosedJaxpr(jaxpr), (Var(F32) for _ in range(3))
        call = {"name": "g", "jaxpr": inner}
        jaxpr = Jaxpr([], [a], [c], [JaxprEqn(JIT, [a], [b], call), JaxprEqn(JIT, [b], [c], call)])
    assert str(jaxpr).count("let g") == 200
