"""A process ends with Python's exit code, whatever XLA is doing and whoever has interrupted it."""

from __future__ import annotations

import pytest

from tests.processes import run

# A program that is traced in no time and compiled for seconds.
SLOW = """
g = jax.jit(lambda x: jnp.sin(x) * 1.5 + jnp.cos(x) @ x)
def repeated(x):
    for _ in range(1000):
        x = g(x)
    return x
slow = jax.jit(repeated).lower(np.ones((4, 4), 'f'))
jax.jit(lambda x: x + 1)(1.0)
"""
ENDLESS = """
@jax.jit
def endless(x):
    return jax.lax.while_loop(lambda x: jnp.sum(x) > -1e30, lambda x: jnp.cos(x @ x), x)
x = jax.jit(lambda x: x + 1)(np.ones((300, 300), 'f'))
"""
DAEMON = """
def in_a_daemon(work):
    inside = threading.Event()
    threading.Thread(target=work, args=(inside,), daemon=True).start()
    inside.wait()
"""
COMPILING = """
def compile_for_ever(inside):
    jax.jit(lambda x: x + 1)(1.0)
    inside.set()
    for i in range(10 ** 9):
        jax.jit(lambda x: jnp.sin(x) * i)(1.0)
in_a_daemon(compile_for_ever)
"""
CALLING = """
def call(seconds):
    def callback(x):
        inside.set()
        time.sleep(seconds)
        return x
    def loop(i, x):
        return jax.pure_callback(callback, jax.ShapeDtypeStruct((), 'float32'), x)
    def work(event):
        global inside
        inside = event
        jax.jit(lambda x: jax.lax.fori_loop(0, 10 ** 6, loop, x))(1.0)
    in_a_daemon(work)
"""
ENDS = {"sys.exit(3)": 3, "raise SystemExit(4)": 4, "raise ValueError": 1, "": 0,
        "os.kill(os.getpid(), signal.SIGINT); time.sleep(10)": -2}


def test_ctrl_c_during_a_compilation():
    out, complaint = run(SLOW, """
        interrupt_after(0.5)
        try:
            slow.compile()
        except KeyboardInterrupt:
            print("interrupted", float(jax.jit(lambda x: x * 2)(21.0)))
            sys.exit(3)
        """, code=3)
    assert (out, complaint) == ("interrupted 42.0\n", "")


def test_ctrl_c_while_xla_reads_the_module():
    out, complaint = run("""
        def long(x):
            for i in range(4000):
                x = jnp.sin(x @ x) * i
            return x
        lowered = jax.jit(long).lower(np.ones((4, 4), 'f'))
        for moment in 0.01, 0.1, 0.2:
            interrupt_after(moment)
            try:
                lowered.compile()
            except KeyboardInterrupt:
                print("interrupted", float(jax.jit(lambda x: x * 2)(21.0)))
        """)
    assert (out, complaint) == ("interrupted 42.0\n" * 3, "")


def test_ctrl_c_while_xla_is_loaded():
    out, complaint = run("""
        for _ in range(20):
            try:
                interrupt_after(0.01)
                jax.jit(lambda x: x + 1)(1.0)
                time.sleep(10)
            except KeyboardInterrupt:
                pass
        print(float(jax.jit(lambda x: x * 2)(21.0)))
        """)
    assert (out, complaint) == ("42.0\n", "")


@pytest.mark.daily(3)
@pytest.mark.parametrize("waiting", ["x.block_until_ready()", "np.asarray(x)", "float(x[0, 0])"])
def test_ctrl_c_while_waiting_for_a_program_without_end(waiting):
    out, complaint = run(ENDLESS, f"""
        x = endless(x)
        interrupt_after(0.3)
        try:
            {waiting}
        except KeyboardInterrupt:
            print("interrupted")
        """)
    assert (out, complaint) == ("interrupted\n", "")


def test_nobody_waits_for_a_program_without_effects():
    run(ENDLESS, "endless(x); sys.exit(3)", code=3)


@pytest.mark.daily(5)
@pytest.mark.parametrize("end", ENDS)
def test_a_daemon_thread_that_compiles(end):
    _, complaint = run(DAEMON, COMPILING, end, code=ENDS[end])
    assert "Fatal" not in complaint and "terminate" not in complaint


def test_a_daemon_thread_in_a_callback():
    out, complaint = run(DAEMON, CALLING, "call(0.01); sys.exit(3)", code=3)
    assert (out, complaint) == ("", "")


def test_a_daemon_thread_that_does_not_return_from_a_callback():
    _, complaint = run(DAEMON, CALLING, "call(1000); sys.exit(3)", code=3)
    assert "RuntimeWarning: A daemon thread is still inside minijax" in complaint


def test_ctrl_c_in_a_callback_is_no_error_of_the_program():
    out, _ = run("""
        def callback(x):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(10)
        shown = jax.jit(lambda x: jax.debug.callback(callback, x))
        for f in shown, jax.jit(jax.grad(lambda x: (shown(x), x * x)[1])):
            try:
                f(1.0)
                jax.effects_barrier()
            except KeyboardInterrupt:
                print("interrupted", float(jax.jit(lambda x: x * 2)(21.0)))
        """)
    assert out == "interrupted 42.0\n" * 2


def test_sys_exit_in_a_callback():
    run("""
        def callback(x):
            sys.exit(5)
        jax.jit(lambda x: jax.debug.callback(callback, x))(1.0)
        jax.effects_barrier()
        """, code=5)


def test_effects_are_awaited_at_exit():
    out, _ = run("""
        def slowly(x):
            time.sleep(0.2)
            print("seen", int(x))
        for i in range(3):
            jax.jit(lambda x: jax.debug.callback(slowly, x))(i)
        """)
    assert sorted(out.split()[1::2]) == ["0", "1", "2"]


def test_a_program_that_uses_no_xla_ends_without_it():
    out, _ = run("""
        import atexit
        atexit.register(lambda: print("jaxlib" in sys.modules))
        print(jnp.sin(0.0))
        """)
    assert out == "0.0\nFalse\n"
