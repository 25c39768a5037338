"""The machine that looks for faults: it repeats itself, sees each kind of fault, and shrinks."""

from __future__ import annotations

import contextlib
import subprocess
import sys

import pytest

from tests.oracle import MODE, jax

if MODE == "stored":
    pytest.skip("random programs are compared with JAX itself", allow_module_level=True)

import minijax
from tests.fuzz.alone import check_compiled, check_history, other_rules
from tests.fuzz.blocks import (
    a_deep_nest,
    a_linear_solve,
    a_reference,
    a_rule_with_a_static_argument,
    a_shard_map,
)
from tests.fuzz.compare import Doubled, Mismatch, compare, rewritten, run, without_nan
from tests.fuzz.generate import Program, Unusable
from tests.fuzz.known import is_fault, known
from tests.fuzz.large import check_large
from tests.fuzz.laws import LAWS, check_law
from tests.fuzz.session import Session, Writing, difference
from tests.fuzz.shrink import shrink
from tests.fuzz.staged import run_staged

jnp, mnp = jax.numpy, minijax.numpy


def test_programs_follow_from_their_seed(tmp_path):
    def texts():
        session = Session(tmp_path)
        written = []
        session.check = lambda program: written.append(program.text)
        for number in range(4):
            session.programs(f"same:{number}")
        return written

    first = texts()
    assert first == texts()
    assert len(set(first)) > 4


def test_programs_of_large_arrays(tmp_path, monkeypatch):
    """They follow from their seeds, both libraries run them, and a wrong number is found."""
    def texts():
        session, written = Session(tmp_path), []
        session.ask_jax = lambda program, text, ask: written.append((text, ask))
        for number in range(8):
            check_large(session, f"same:{number}")
        return written

    first = texts()
    assert [text for text, _ in first] == [text for text, _ in texts()]
    assert len({text for text, _ in first}) == len(first) > 4
    text = "x0 = jnp.array(10.0 * np.random.RandomState(1).normal(size=(70000,)), 'float32')\nresult = jnp.exp2(x0)\n"
    ask = first[0][1]
    assert ask(text) is None
    monkeypatch.setattr(mnp, "exp2", lambda x: x.at[69_999].add(1))
    assert ask(text).kind == "value"


@pytest.mark.parametrize(("ours", "theirs", "kind"), [
    (mnp.float32(1), jnp.float32(2), "value"),
    (mnp.float32(1), jnp.float16(1), "dtype"),
    (mnp.asarray(1.0), jnp.float32(1), "weak type"),
    (mnp.ones(2), jnp.ones((1, 2)), "shape"),
    ((mnp.ones(2),), [jnp.ones(2)], "structure"),
    (1.0, jnp.asarray(1.0), "class"),
    (ValueError("no"), jnp.ones(2), "error"),
    (mnp.ones(2), TypeError("no"), "error"),
    (ValueError("no"), TypeError("no"), "error"),
])  # fmt: skip
def test_each_kind_of_fault_is_seen(ours, theirs, kind):
    assert compare(ours, theirs).kind == kind


def test_what_agrees_is_no_fault():
    assert compare((mnp.ones(2), {"a": mnp.int8(3)}), (jnp.ones(2), {"a": jnp.int8(3)})) is None
    assert compare(ValueError("a"), ValueError("b")) is None


@pytest.mark.parametrize(("kind", "ours", "theirs", "fault"), [
    ("value", "array(1.)", "array(2.)", True),
    ("weak type", "('array', (), 'float32', True)", "('array', (), 'float32', False)", True),
    ("error", "KeyError: 3", "Array(1.0)", True),
    ("error", "AttributeError: x", "TypeError: y", True),
    ("error", "TypeError: no", "Array(1.0)", True),
    ("error", "KeyError: scan = loop: 3", "no error", True),
    ("error", "TypeError: no", "ValueError: no", False),
    ("error", "Array(1.0)", "TypeError: no", False),
])  # fmt: skip
def test_what_fails_a_session(kind, ours, theirs, fault):
    assert is_fault(Mismatch(kind, ours, theirs)) is fault


def test_a_declared_difference_must_be_just_that():
    text = "result = lax.random_gamma_grad(x0, x0)\n"
    ours = "NotImplementedError: Differentiation rule for 'random_gamma_grad_by_a' not implemented"
    assert known(text, Mismatch("error", ours, "Array(0.)")) is not None
    assert known("result = x0\n", Mismatch("error", ours, "Array(0.)")) is None
    assert known(text, Mismatch("error", "KeyError: 0", "Array(0.)")) is None
    assert known(text, Mismatch("value", "array(1.)", "array(0.)")) is None


def test_a_session_counts_its_faults(tmp_path):
    session = Session(tmp_path)
    text = "y = jnp.asarray(len(jax.__name__))\nresult = y\n"
    session.found(text, difference(text, False), "here:1", False)
    assert session.counts["faults"] == 1
    refused = "y = jnp.zeros(()) if len(jax.__name__) > 3 else jnp.zeros((), [])\nresult = y\n"
    session.found(refused, difference(refused, False), "here:2", False)
    assert (session.counts["distinct"], session.counts["faults"]) == (2, 1)


def test_nan_of_jax_hides_nothing_else():
    theirs = jnp.array([jnp.nan, 2.0, jnp.nan])
    one, wrong = mnp.array([1.0, 2.0, mnp.inf]), mnp.array([1.0, 3.0, mnp.nan])
    assert compare(without_nan(mnp.array([1.0, 2.0, mnp.nan]), theirs), theirs) is None
    assert compare(without_nan(one, theirs), theirs).kind == "value"
    assert compare(without_nan(wrong, theirs), theirs).kind == "value"


def test_a_fault_is_found_and_shrunk():
    """`minijax.__name__` stands for a fault: it differs from JAX's."""
    text = (
        "x0 = jnp.array([1.0, 2.0], 'float32')\n"
        "def f(x0):\n"
        "    y1 = jnp.sin(x0)\n"
        "    y2 = y1 * len(jax.__name__)\n"
        "    y3 = jnp.cos(y1)\n"
        "    return (y2, y3)\n"
        "f1 = jax.checkpoint(f)\n"
        "result = f1(x0)\n"
    )
    wanted = difference(text, False)
    assert wanted is not None
    assert wanted.kind == "value"
    small = shrink(text, lambda t: (d := difference(t, False)) is not None and d.kind == "value")
    assert "len(jax.__name__)" in small
    assert "cos" not in small
    assert "checkpoint" not in small


def test_the_count_of_a_loop_is_not_shrunk():
    """Without its `+ 1`, the loop would never end."""
    text = "x0 = jnp.sin(jnp.ones(3))\nresult = lax.while_loop(lambda c: c < 2, lambda c: c * 0 + c + 1, 0)\n"
    small = shrink(text, lambda t: "while_loop(" in t)
    assert small == text.splitlines()[1]


@pytest.mark.long
def test_a_program_that_does_not_end_is_left_out(tmp_path):
    """A signal cannot interrupt XLA: a new process goes on behind the program."""
    program = f"""
import sys, tests.fuzz.__main__ as fuzz
from tests.fuzz.session import Session
from minijax import lax
fuzz.STUCK = 2
sys.argv = ["fuzz", "--laws", "--minutes", "0.1", "--seed", "7", "--allow", "1", "--out", {str(tmp_path)!r}]
Session.check_law = lambda *_: lax.while_loop(lambda c: c < 2, lambda c: c * 0, 0)
fuzz.main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "--- stuck for 2 s, seed 7:0" in done.stdout
    assert "'stuck': 1, 'faults': 1" in done.stdout.splitlines()[-1]


def test_rounding_is_no_fault():
    """Near a pole, a change in the last place of the input changes the result by more."""
    text = (
        "x0 = jnp.array(1.0, 'float32')\n"
        "last_place = jnp.finfo(x0.dtype).eps / 100\n"
        "result = 1 / (x0 - 0.9999 + len(jax.__name__) * last_place)\n"
    )
    assert compare(run("minijax", text), run("jax", text)).kind == "value"
    assert difference(text, False) is None


@pytest.mark.parametrize("law", LAWS)
def test_laws_hold_for_a_smooth_function(law):
    text = (
        "x0 = jnp.array([0.3, -0.7], 'float32')\n"
        "def f(x0):\n"
        "    return jnp.sin(x0) * x0[0]\n"
        f"args = (x0,)\n{LAWS[law]}\n"
    )
    assert check_law(law, rewritten(text, Doubled())) is None


@pytest.mark.parametrize(("law", "wrong"), [
    ("checkpoint = identity", "jnp.sin(x0) * (calls.append(1) or len(calls))"),
    ("jvp = differences", "wrong(x0)"),
])  # fmt: skip
def test_laws_see_what_is_wrong(law, wrong):
    """`f` differs from call to call, or declares a wrong derivative."""
    text = (
        "x0 = jnp.array([0.3, -0.7], 'float32')\n"
        "calls = []\n"
        "wrong = jax.custom_jvp(jnp.sin)\n"
        "wrong.defjvps(lambda t, out, x: t)\n"
        "def f(x0):\n"
        f"    return {wrong}\n"
        f"args = (x0,)\n{LAWS[law]}\n"
    )
    assert check_law(law, rewritten(text, Doubled())) is not None


STAGED = """
x0 = jnp.arange(6.0).reshape(2, 3) + 1
def f(x):
    def row(a):
        return lax.while_loop(lambda c: c[0] < a[0], lambda c: (c[0] + 1, c[1] * 2), (0, a))[1]
    total, sums = lax.scan(lambda c, a: (c + a, a * c), x[0], x, reverse=True)
    nothing = lax.scan(lambda c, a: (c, a), x[0], x[:0])
    noise = jax.random.normal(jax.random.key(0), x.shape)
    return (x[jnp.array([0, 5, 1])], x.at[jnp.array([0, 0])].add(2.0), jnp.sort(0.5 - x), total, sums,
            jax.vmap(row)(x), lax.cond(x[0, 0] > 1, jnp.sin, jnp.cos, x), jax.nn.relu(x), nothing, noise,
            jax.checkpoint(jnp.tanh)(x), jnp.linalg.solve(x @ x.T + jnp.eye(2), x), x ** 2.5, jnp.argmax(x))
"""
@pytest.mark.parametrize("result", ["f(x0)", "jax.jvp(f, (x0,), (x0,))", "jax.vmap(f)(x0[None])"])
def test_jaxprs_of_jax_compute_the_same_here(result):
    text = f"{STAGED.lstrip()}result = {result}\n"
    wanted = run("jax", text)
    assert not isinstance(wanted, Exception)
    assert compare(run_staged("jax", text, False), wanted) is None
    assert compare(run_staged("minijax", text, False), wanted) is None


@pytest.mark.parametrize("number", [7, 8])
def test_a_session_sees_a_fault(tmp_path, number):
    """`minijax.__name__` stands for a fault. One of the programs is staged here, the other is not."""
    text = "x0 = jnp.ones(2)\ndef f(x0):\n    return x0 * len(jax.__name__)\n"
    program = Program(f"{number}", ["x0 = jnp.ones(2)"], [], "x0 * len(jax.__name__)", ["result = f(x0)"])
    assert program.text == f"{text}result = f(x0)\n"
    session = Session(tmp_path)
    session.check(program)
    assert session.counts["faults"] == 1
    assert session.counts["values of JAX, after the jaxpr"] == 1


NEW_BLOCKS = {a_reference: "jax.new_ref(", a_shard_map: "jax.shard_map(", a_deep_nest: "lambda c: ",
              a_linear_solve: "posdef(", a_rule_with_a_static_argument: "nondiff_argnums=(0,)"}  # fmt: skip


@pytest.mark.parametrize("block", NEW_BLOCKS, ids=lambda block: block.__name__)
def test_blocks_are_written(block, tmp_path):
    """Each needs operands of some shapes, so a few of twenty seeds write one."""
    written = []
    for number in range(20):
        writer = Writing(Session(tmp_path), f"block:{number}", False).writer
        writer.new_input("f", lambda shape: shape in ((2,), (2, 2), (2, 3)))
        writer.new_input("f", lambda shape: shape == ())
        with contextlib.suppress(Unusable):
            text = block(writer, body := [])
            if writer.execute("y0", f"y0 = {text}", True):
                written.append("\n".join([*body, text]))
    assert len(set(written)) > 3
    assert all(NEW_BLOCKS[block] in text for text in written)


PLAIN = "x0 = jnp.array([0.5, 2.0], 'float32')\ndef f(x0):\n    return {}\nresult = {}\n"


@pytest.mark.parametrize("check", [check_compiled, check_history])
@pytest.mark.parametrize("result", ["f(x0)", "jax.grad(lambda x: total(f(x)))(x0)", "jax.jit(f)(x0)"])
def test_minijax_alone_is_right(check, result):
    assert check(PLAIN.format("lax.cond(x0[0] > 0, jnp.sin, jnp.cos, x0) * x0", result)) is None
    assert check(PLAIN.format("jnp.zeros(2)[x0]", result)) is None  # refused, as before


def test_wrong_lowering_rules_and_histories_are_seen(monkeypatch):
    lowering = minijax.core.lowering.lowering_rules
    sin, cos = (minijax.extend.core.primitives.__dict__[name] for name in ("sin_p", "cos_p"))
    with monkeypatch.context() as patch:
        patch.setitem(lowering, sin, lowering[cos])
        assert check_compiled(PLAIN.format("jnp.sin(x0)", "f(x0)")).kind == "compiled"
    calls = []
    monkeypatch.setattr(mnp, "sign", lambda x: calls.append(x) or x * len(calls))
    assert check_history(PLAIN.format("jnp.sign(x0)", "f(x0)")).kind == "history"


def test_other_rules_are_obeyed_and_put_back():
    slope = minijax.grad(mnp.sin)
    with other_rules():
        assert slope(0.5) == minijax.grad(mnp.sin)(0.5) > 1.9 * mnp.cos(0.5)
    assert slope(0.5) == mnp.cos(0.5)
