"""What a transformed function returns is an array of JAX's type, whatever the function returned.

Where JAX has an array of its own, or a number that carries a dtype (it has such numbers: a 2.5 of
float32), there must be an array of that type here. Where it hands back an argument or a constant
as it was, a Python number or a NumPy value, an array of the same value is as good.
"""

from __future__ import annotations

import numpy as np
import pytest

import minijax
from tests.oracle import ask, oracle

FUNCTIONS = {
    "itself": lambda jx: lambda x: x, "number": lambda jx: lambda x: 3,
    "float": lambda jx: lambda x: 2.5, "bool": lambda jx: lambda x: True,
    "NumPy scalar": lambda jx: lambda x: np.float32(2.5),
    "NumPy float64": lambda jx: lambda x: np.float64(2.5),
    "NumPy array": lambda jx: lambda x: np.ones(3), "array": lambda jx: lambda x: jx.numpy.array(3),
    "pair": lambda jx: lambda x: (x, 1), "double": lambda jx: lambda x: x * 2,
    "squeeze": lambda jx: jx.numpy.squeeze, "real": lambda jx: jx.numpy.real,
    "positive": lambda jx: jx.numpy.positive, "conj": lambda jx: jx.numpy.conj,
    "clip": lambda jx: lambda x: jx.numpy.clip(x, 0, 1), "no clip": lambda jx: jx.numpy.clip,
    "ravel": lambda jx: jx.numpy.ravel, "abs": lambda jx: jx.numpy.abs,
    "convert": lambda jx: lambda x: jx.lax.convert_element_type(x, "float32"),
    "stop_gradient": lambda jx: jx.lax.stop_gradient,
}  # fmt: skip

ARGUMENTS = {
    "Python float": lambda jx: 0.5, "Python int": lambda jx: 2, "float64": lambda jx: np.float64(0.5),
    "NumPy array": lambda jx: np.array(0.5, "float32"),
    "array": lambda jx: jx.numpy.float32(0.5), "weak array": lambda jx: jx.numpy.asarray(0.5),
}  # fmt: skip


def tangent(jx, x):
    """A tangent of the number `x`: itself, where it has one."""
    return x if np.asarray(x).dtype.kind == "f" else np.zeros((), jx.dtypes.float0)


def cotangent(jx, x):
    inexact = np.issubdtype(jx.numpy.result_type(x), np.inexact)
    return jx.numpy.ones_like(x) if inexact else np.zeros(np.shape(x), jx.dtypes.float0)


def vjp(jx, f, x, has_aux=False):
    out, f_vjp, *aux = jx.vjp(f, x, has_aux=has_aux)
    return out, f_vjp(jx.tree_util.tree_map(lambda y: cotangent(jx, y), out)), aux


def linearize(jx, f, x):
    out, f_jvp = jx.linearize(f, x)
    return out, f_jvp(tangent(jx, x))


def without_jit(jx, f, x):
    with jx.disable_jit():
        return jx.jit(f)(x)


def custom_jvp(jx, f):
    g = jx.custom_jvp(f)
    g.defjvp(lambda primals, tangents: (f(*primals), jx.jvp(f, primals, tangents)[1]))
    return g


def custom_vjp(jx, f):
    g = jx.custom_vjp(f)
    g.defvjp(lambda x: jx.vjp(f, x), lambda f_vjp, ct: f_vjp(ct))
    return g


def eval_jaxpr(jx, f, x):
    closed = jx.make_jaxpr(f)(x)
    return jx.core.eval_jaxpr(closed.jaxpr, closed.consts, x)


def closure_convert(jx, f, x):
    g, consts = jx.closure_convert(f, x)
    return g(x, *consts)


def shard_map(jx, f, x):
    mesh = jx.sharding.Mesh(np.array(jx.devices()[:1]), ("i",))
    spec = jx.sharding.PartitionSpec()
    return jx.shard_map(f, mesh=mesh, in_specs=spec, out_specs=spec)(x)


def with_aux(f):
    return lambda x: (x * 1.0, f(x))


TRANSFORMATIONS = {
    "jvp": lambda jx, f, x: jx.jvp(f, (x,), (tangent(jx, x),)), "vjp": vjp, "linearize": linearize,
    "grad": lambda jx, f, x: jx.grad(f)(x),
    "value_and_grad": lambda jx, f, x: jx.value_and_grad(f)(x),
    "aux of grad": lambda jx, f, x: jx.value_and_grad(with_aux(f), has_aux=True)(x),
    "aux of jvp": lambda jx, f, x: jx.jvp(with_aux(f), (x,), (tangent(jx, x),), has_aux=True),
    "aux of vjp": lambda jx, f, x: vjp(jx, with_aux(f), x, has_aux=True),
    "hessian": lambda jx, f, x: jx.hessian(f)(x), "jacfwd": lambda jx, f, x: jx.jacfwd(f)(x),
    "jacrev": lambda jx, f, x: jx.jacrev(f)(x),
    "vmap": lambda jx, f, x: jx.vmap(f)(jx.numpy.stack([x, x])),
    "vmap of one": lambda jx, f, x: jx.vmap(lambda x, _: f(x), (None, 0), None)(x, np.ones(2)),
    "jit": lambda jx, f, x: jx.jit(f)(x), "without jit": without_jit,
    "checkpoint": lambda jx, f, x: jx.checkpoint(f)(x),
    "custom_jvp": lambda jx, f, x: custom_jvp(jx, f)(x),
    "custom_vjp": lambda jx, f, x: custom_vjp(jx, f)(x),
    "jvp of custom_jvp": lambda jx, f, x: jx.jvp(custom_jvp(jx, f), (x,), (tangent(jx, x),)),
    "vjp of custom_jvp": lambda jx, f, x: vjp(jx, custom_jvp(jx, f), x),
    "vjp of custom_vjp": lambda jx, f, x: vjp(jx, custom_vjp(jx, f), x),
    "jvp of jvp": lambda jx, f, x: jx.jvp(
        lambda y: jx.jvp(f, (y,), (tangent(jx, x),)), (x,), (tangent(jx, x),)),
    "jvp of checkpoint": lambda jx, f, x: jx.jvp(jx.checkpoint(f), (x,), (tangent(jx, x),)),
    "cond": lambda jx, f, x: jx.lax.cond(True, f, f, x),
    "switch": lambda jx, f, x: jx.lax.switch(0, [f], x),
    "while_loop": lambda jx, f, x: jx.lax.while_loop(lambda c: False, f, x),
    "fori_loop": lambda jx, f, x: jx.lax.fori_loop(0, 2, lambda i, c: f(c), x),
    "scan": lambda jx, f, x: jx.lax.scan(lambda c, _: (f(c), f(c)), x, None, length=2),
    "map": lambda jx, f, x: jx.lax.map(f, jx.numpy.stack([x, x])),
    "eval_jaxpr": eval_jaxpr, "closure_convert": closure_convert,
    "named_call": lambda jx, f, x: jx.named_call(f)(x),
    "pure_callback": lambda jx, f, x: jx.pure_callback(f, jx.eval_shape(f, x), x),
    "pmap": lambda jx, f, x: jx.pmap(f)(jx.numpy.stack([x])), "shard_map": shard_map,
    "linear_transpose": lambda jx, f, x: jx.linear_transpose(f, x)(x),
    "custom_root": lambda jx, f, x: jx.lax.custom_root(
        lambda y: y - x, x, lambda g, y: f(y), lambda g, y: y),
    "ahead of time": lambda jx, f, x: jx.jit(f).lower(x).compile()(x),
}  # fmt: skip


def facts(jx, leaf) -> str:
    """What a result is: its kind, then its dtype, its shape, and a star if the type is weak."""
    if isinstance(leaf, jx.Array):
        kind, weak = "array", leaf.weak_type
    else:
        typed = type(leaf).__module__.startswith("jax")
        kind, weak = "array" if typed else "raw", isinstance(leaf, (int, float))
        weak = weak and type(leaf) is not bool and not isinstance(leaf, np.generic)
    dtype = getattr(leaf, "dtype", None)
    if dtype == jx.dtypes.float0:
        return f"float0{np.shape(leaf)}"
    dtype = jx.dtypes.canonicalize_dtype(np.asarray(leaf).dtype if dtype is None else dtype)
    return f"{kind} {dtype}{np.shape(leaf)}{'*' if weak else ''}"


def answers(jx, name) -> dict[str, list[str]]:
    """The facts about the results of one transformation; none where JAX refuses the function."""
    table = {}
    for function, make in FUNCTIONS.items():
        for argument, value in ARGUMENTS.items():
            try:
                out = TRANSFORMATIONS[name](jx, make(jx), value(jx))
            except (TypeError, ValueError, AssertionError, NotImplementedError):
                table[f"{function} of {argument}"] = ["refused"]
                continue
            leaves = jx.tree_util.tree_leaves(out)
            table[f"{function} of {argument}"] = [facts(jx, leaf) for leaf in leaves]
    return table


# transformation -> the functions or arguments whose results are otherwise, and known to be.
EXCEPT = {
    "aux of vjp": "Python int",  # an integer handed back stays a Python integer in aux
    "linear_transpose": "Python int",  # zeros of the argument's own type, in JAX float0
    "jacfwd": "bool",  # JAX refuses a derivative of a bool
}


@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_results_are_arrays(name):
    wanted = ask(lambda: answers(oracle, name))
    mine = answers(minijax, name)
    assert not isinstance(wanted, Exception)
    wrong = {}
    for case, want in wanted.items():
        as_arrays = [fact.replace("raw ", "array ") for fact in want]
        fits = len(want) == len(mine[case]) and all(
            got in (fact, as_array) for got, fact, as_array in zip(mine[case], want, as_arrays,
                                                                   strict=True))
        if not fits and EXCEPT.get(name, "none") not in case.split(" of "):
            wrong[case] = (mine[case], want)
    assert not wrong, wrong
