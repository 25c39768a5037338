"""What references refuse."""

import pytest

import minijax
from tests.oracle import both

# ----------------------------------------------------------------------------------------------
# Errors

REF = "ref = jx.new_ref(jx.numpy.arange(6.0).reshape(2, 3)); "
REFUSED = {
    "ref[5]": ValueError, "ref[0, 0, 0]": ValueError, "ref[::-1]": ValueError,
    "ref.__setitem__(0, 5.0)": ValueError, "ref.__setitem__((0, 1), jx.numpy.int32(5))": ValueError,
    "jx.ref.addupdate(ref, 0, 1)": ValueError, "ref.__setitem__(0, ref)": ValueError,
    "ref + 1": TypeError, "jx.numpy.sin(ref)": TypeError, "jx.jit(lambda r: r)(ref)": ValueError,
    "jx.jit(lambda r: jx.lax.sin(r))(ref)": ValueError, "jx.jit(lambda: ref)()": ValueError,
    "jx.jit(lambda r, s: r[0, 0] + s[0, 0])(ref, ref)": ValueError,
    "jx.lax.cond(True, lambda: ref, lambda: ref)": ValueError,
    "jx.vmap(lambda x: ref.__setitem__(0, x))(jx.numpy.ones((2, 3)))": Exception,
    "jx.grad(lambda x: (ref.__setitem__((0, 0), x), x)[1])(1.0)": Exception,
    "jx.make_jaxpr(lambda: jx.new_ref(1.0))()": ValueError,
    "(lambda L: (jx.jit(lambda x: (L.append(jx.new_ref(x)), x)[1])(1.0), L[0][...]))([])": "UnexpectedTracerError",
    "jx.lax.scan(lambda c, x: (c, x), ref, jx.numpy.arange(3.0))": ValueError,
}  # fmt: skip


@pytest.mark.parametrize("call", REFUSED)
def test_refused(call):
    def program(jx):
        def run():
            scope = {"jx": jx}
            exec(REF, scope)
            return eval(call, scope)

        return run

    both(program, raises=REFUSED[call])


@pytest.mark.parametrize(("call", "message"), [
    ("ref[1.0]", "indexed by integers"),
    ("jx.grad(lambda r: r[0, 0])(ref)", "with_refs"),
    ("jx.vjp(lambda r: r[0, 0], ref)[1](1.0)", "with_refs"),
    ("jx.vjp(lambda x: x, 1.0)[1].with_refs(None)", "GradValue"),
    ("jx.new_ref(ref)", "into another Ref"),
])  # fmt: skip
def test_refused_where_jax_is_silent_or_fails_by_accident(call, message):
    scope = {"jx": minijax}
    exec(REF, scope)
    with pytest.raises((TypeError, ValueError, NotImplementedError), match=message):
        eval(call, scope)


@pytest.mark.parametrize("jit", [False, True])
def test_a_custom_rule_keeps_a_reference_for_the_backward_pass(jit):
    def program(jx):
        @jx.custom_vjp
        def stash(ref, x):
            return x

        def backward(ref, ct):
            ref[...] = ct
            return None, ct

        stash.defvjp(lambda ref, x: (x, ref), backward)
        grad = jx.grad(lambda x, ref: jx.numpy.sin(stash(ref, x * x)))
        ref = jx.new_ref(jx.numpy.zeros(()))
        return (jx.jit(grad) if jit else grad)(1.5, ref), jx.freeze(ref)

    both(lambda jx: program(jx))


@pytest.mark.parametrize("jit", [False, True])
def test_gradients_of_small_batches_add_up_in_place(jit):
    def program(jx):
        jnp, scan = jx.numpy, jx.lax.scan

        def total(weights, batches):
            sums = jx.new_ref(jnp.zeros_like(weights))

            def step(_, xs):
                loss, vjp = jx.vjp(lambda ws: jnp.mean(
                    scan(lambda x, w: (jnp.tanh(x @ w), None), xs, ws)[0]), weights)
                vjp.with_refs(sums)(jnp.ones_like(loss))
                return (), loss

            losses = scan(step, (), batches)[1]
            return jx.freeze(sums), losses

        weights = jnp.arange(12.0).reshape(3, 2, 2) / 12
        return (jx.jit(total) if jit else total)(weights, jnp.arange(20.0).reshape(5, 2, 2) / 20)

    both(lambda jx: program(jx))


def test_a_python_value_is_stored_as_an_array():
    def program(jx):
        ref = jx.new_ref(True)
        ref[...] = False
        return repr(ref), ref[...]

    both(lambda jx: program(jx))
