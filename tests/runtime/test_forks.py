"""Forked processes compute, or say why they cannot. None waits for threads that it does not have."""

from __future__ import annotations

import pytest

from tests.processes import run

FORK = """
# From Python 3.12 on, each fork beside XLA's threads warns.
warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)

def in_child(*works):
    child = os.fork()
    if child:
        assert os.waitpid(child, 0)[1] == 0
        return
    signal.alarm(60)  # in a child that hangs
    for work in works:
        try:
            print(work(), flush=True)
        except Exception as error:
            print(type(error).__name__, str(error), flush=True)
    os._exit(0)
"""
USED = "y = jax.jit(lambda x: x + 1)(np.arange(3.0)); np.asarray(y)\n"
REFUSED = "RuntimeError This process was forked from one that had already used XLA."


def test_a_fork_before_xla_is_used():
    out, complaint = run(FORK, """
        f = jax.jit(lambda x: x * 2)
        x = jnp.ones(3) + 1
        in_child(lambda: f(x), lambda: jax.device_count() > 0)
        print(f(x))
        """)
    assert (out, complaint) == ("[4. 4. 4.]\nTrue\n[4. 4. 4.]\n", "")


def test_what_works_in_a_forked_process():
    calls = """jnp.sin(0.0) + 1|y + 1|y.tolist()|jax.grad(lambda x: x * x)(3.0)|jax.device_count() > 0
        |y.devices() == {jax.devices()[0]}|jax.vmap(jnp.sum)(np.ones((2, 3)))|jax.block_until_ready(y)
        |jax.make_jaxpr(jax.jit(jnp.sin))(1.0)|jax.effects_barrier()""".replace("\n", "").split("|")
    works = ", ".join(f"lambda: {call.strip()}" for call in calls)
    out, _ = run(FORK, USED, f"""
        works = [{works}]
        in_child(*works)
        print(*[work() for work in works], sep="\\n")
        """)
    assert out[:len(out) // 2] == out[len(out) // 2:] and "Error" not in out and "6.0" in out


def test_what_is_refused_in_a_forked_process():
    calls = """f(y)|f(2.0)|jax.jit(lambda x: x - 1)(y)|compiled(y)|jax.device_put(2.0, jax.devices()[0])
        |jax.lax.sort(jax.jit(jnp.sin)(1.0))|unhashable(y)|program(y)
        |jax.lax.map(jnp.sin, y)""".replace("\n", "").split("|")
    works = ", ".join(f"lambda: {call.strip()}" for call in calls)
    out, complaint = run(FORK, USED, f"""
        class Unhashable:
            __hash__ = None
            def __call__(self, x):
                return x + 1
        f = jax.jit(lambda x: x * 2)
        compiled = f.lower(y).compile()
        program = jax.jit(lambda x: jax.debug.callback(lambda x: None, x)).lower(y).compile()
        unhashable = jax.jit(Unhashable())
        f(y), f(2.0), compiled(y), unhashable(y), program(y)
        in_child({works})
        print(f(y), compiled(y), unhashable(y))
        """)
    *refusals, last = out.splitlines()
    assert len(refusals) == len(calls)
    for call, refusal in zip(calls, refusals, strict=True):
        assert refusal.startswith(REFUSED) and "get_context('spawn')" in refusal, call
    assert last == "[2. 4. 6.] [2. 4. 6.] [2. 3. 4.]"
    assert complaint.count("RuntimeWarning: This process is forked, and has already used XLA") == 1


def test_an_array_that_was_not_ready_before_the_fork():
    out, _ = run(FORK, USED, """
        x = jax.jit(lambda x: jax.lax.while_loop(
            lambda x: jnp.sum(x) > -1e30, lambda x: jnp.cos(x @ x), x))(np.ones((300, 300), 'f'))
        in_child(lambda: x.tolist(), lambda: x + 1, lambda: x.block_until_ready(), lambda: y)
        os._exit(0)
        """)
    *refusals, last = out.splitlines()
    assert len(refusals) == 3 and all(refusal.startswith(REFUSED) for refusal in refusals)
    assert last == "[1. 2. 3.]"


def test_disable_jit_in_a_forked_process():
    out, _ = run(FORK, USED, """
        def work():
            with jax.disable_jit():
                return jax.jit(lambda x: x * 2)(3.0)
        in_child(work)
        """)
    assert out == "6.0\n"


def test_a_forked_process_that_ends_as_python_does():
    out, complaint = run(USED, """
        jax.jit(lambda x: jax.debug.callback(lambda x: time.sleep(0.1), x))(1.0)
        warnings.simplefilter("ignore")
        child = os.fork()
        if not child:
            sys.exit(7)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """)
    assert (out, complaint) == ("7\n", "")


@pytest.mark.daily(3)
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(method, tmp_path):
    program = tmp_path / "program.py"
    program.write_text("""
import multiprocessing, sys
import minijax as jax

def work(x):
    try:
        return float(jax.jit(lambda x: x * 2)(x))
    except RuntimeError as error:
        return str(error)[:23]

if __name__ == "__main__":
    work(0.0)
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        print(pool.map(work, [1.0, 2.0]))
""")
    out, complaint = run("import runpy; sys.argv[0] = sys.argv.pop(1)\n"
                         "runpy.run_path(sys.argv[0], run_name='__main__')", args=(program, method))
    assert out == {"fork": "['This process was forked', 'This process was forked']\n"}.get(
        method, "[2.0, 4.0]\n")
    assert ("RuntimeWarning" in complaint) == (method == "fork")


def test_subprocess_does_not_warn():
    out, complaint = run(USED, """
        import subprocess
        print(subprocess.run(["echo", "fine"], capture_output=True, text=True).stdout, end="")
        """)
    assert (out, complaint) == ("fine\n", "")


@pytest.mark.long
def test_locks_of_other_threads_are_not_copied():
    out, complaint = run(FORK, """
        def count(k):
            while not done:
                with jax.disable_jit(k % 2 == 0):
                    jax.jit(lambda x: x + k)
        done = []
        threads = [threading.Thread(target=count, args=(k,)) for k in range(4)]
        sys.setswitchinterval(1e-5)
        for thread in threads:
            thread.start()
        for i in range(20):
            in_child(lambda: jax.make_jaxpr(jax.jit(jnp.sin))(1.0).jaxpr.eqns[0].params["name"])
        done.append(True)
        """)
    assert (out, complaint) == ("sin\n" * 20, "")
