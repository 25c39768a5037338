"""JAX stages a program, and minijax's primitives compute what JAX has staged.

JAX compiles each operation for each shape, which takes longer than everything else that a random
program does. Staging compiles nothing. The jaxpr says which primitives JAX would run on which
values, with which parameters, and what types the results have. What the primitives themselves
compute is compared elsewhere: in the tables of primitives and of edge values, and in the share of
the random programs that JAX runs itself.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.fuzz.compare import attempt, library, namespace


class Untranslated(Exception):
    """A jaxpr has a primitive or a parameter that minijax cannot take over from JAX."""


@dataclass(frozen=True)
class Result:
    """A leaf of a staged program's result: its value, of minijax, and its abstract value."""

    value: Any
    aval: Any

    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        return self.aval.dtype

    @property
    def _base_array(self) -> Any:
        return library("minijax").random.key_data(self.value)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self.value)


def as_function(text: str) -> tuple[str, str]:
    """A program's text with all that follows its inputs in a function `program`; its parameters."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if not re.match(r"x\d+ = ", line))
    names = ", ".join(line.split(" = ")[0] for line in lines[:start])
    body = [f"    {line}" for line in [*lines[start:], "return result"]]
    return "\n".join([*lines[:start], f"def program({names}):", *body, ""]), names


def jitted(text: str) -> str:
    """The program that applies `jit` to a whole program."""
    function, names = as_function(text)
    return f"{function}result = jax.jit(program)({names})\n"


def stage(name: str, text: str, x64: bool) -> Any:
    """The jaxpr of a program, the tree of its result, and its arguments; or the exception."""
    function, names = as_function(text)
    outcome = f"result = (*jax.make_jaxpr(program, return_shape=True)({names}), ({names},))"
    return attempt(name, f"{function}{outcome}\n", namespace(name), "result", x64)


def run_staged(name: str, text: str, x64: bool) -> Any:
    """A program's result as one library's jaxpr has it, computed by minijax; or the exception.

    `Untranslated` says that JAX's jaxpr cannot be computed here.
    """
    staged = stage(name, text, x64)
    if isinstance(staged, Exception):
        return staged
    closed, shapes, inputs = staged
    tree, mini = library(name).tree_util, library("minijax")
    try:
        with np.errstate(all="ignore"), mini.enable_x64(x64), mini.disable_jit():
            args = [mini.numpy.asarray(np.asarray(x)) for x in tree.tree_leaves(inputs)]
            values = evaluate(closed, args)
    except Exception as error:
        return error if name == "minijax" else Untranslated(repr(error))
    results = [Result(value, v) for value, v in zip(values, closed.out_avals, strict=True)]
    return tree.tree_unflatten(tree.tree_structure(shapes), results)


# --- evaluation ---


def evaluate(closed: Any, args: list[Any]) -> list[Any]:
    """The results of a closed jaxpr of either library, as values of minijax."""
    return _evaluate(closed.jaxpr, [constant(c) for c in closed.consts], args)


def _evaluate(jaxpr: Any, consts: list[Any], args: list[Any]) -> list[Any]:
    values = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *args], strict=True))

    def read(v: Any) -> Any:
        return constant(v.val, v.aval) if hasattr(v, "val") else values[v]

    for eqn in needed(jaxpr):
        values.update(zip(eqn.outvars, apply(eqn, [read(v) for v in eqn.invars]), strict=True))
    return [read(v) for v in jaxpr.outvars]


def needed(jaxpr: Any) -> list[Any]:
    """The equations on which the results depend, in order."""
    wanted, kept = {v for v in jaxpr.outvars if not hasattr(v, "val")}, []
    for eqn in reversed(jaxpr.eqns):
        if any(v in wanted for v in eqn.outvars):
            kept.append(eqn)
            wanted.update(v for v in eqn.invars if not hasattr(v, "val"))
    return kept[::-1]


def constant(x: Any, aval: Any = None) -> Any:
    """A constant of either library, as an array of minijax."""
    dtype = getattr(x, "dtype", None) if aval is None else aval.dtype
    if "minijax" in type(x).__module__:
        return x
    if is_float0(dtype):
        return np.zeros(np.shape(x), dtype)
    if str(dtype).startswith("key<"):
        return library("minijax").random.wrap_key_data(np.asarray(x._base_array))
    return library("minijax").numpy.asarray(np.asarray(x), dtype=dtype)


def is_float0(dtype: Any) -> bool:
    """Whether a dtype is that of tangents of integers, which have no elements to speak of."""
    return getattr(dtype, "fields", None) is not None


def zeros(aval: Any) -> Any:
    """Zeros of an abstract value's type."""
    make = np.zeros if is_float0(aval.dtype) else library("minijax").numpy.zeros
    return make(aval.shape, aval.dtype)


def apply(eqn: Any, args: list[Any]) -> list[Any]:
    """The results of one equation."""
    name, params = eqn.primitive.name, eqn.params
    if name in CALLS:
        return CALLS[name](args, eqn)
    primitive = primitives().get(name)
    if primitive is None:
        raise Untranslated(name)
    if any(is_float0(v.aval.dtype) for v in [*eqn.invars, *eqn.outvars]):
        return [zeros(v.aval) for v in eqn.outvars]
    if type(eqn.primitive).__module__.startswith("jax."):
        params = {key: translated(value) for key, value in params.items()
                  if key not in DEVICES and (value is not None or key not in OPTIONS)}
    result = primitive.bind(*args, **params)
    return list(result) if primitive.multiple_results else [result]


@functools.cache
def primitives() -> dict[str, Any]:
    """minijax's primitives, by their names."""
    from minijax.extend.core import Primitive, primitives

    return {p.name: p for p in vars(primitives).values() if isinstance(p, Primitive)}


# Parameters that say where arrays lie, which minijax's primitives do not have.
DEVICES = frozenset({"sharding", "out_sharding"})
OPTIONS = frozenset({"accuracy", "out_dtype"})  # which minijax has not, and JAX only if they are given


def translated(x: Any) -> Any:
    """A parameter of JAX's primitive, for minijax's."""
    if type(x).__name__ in ("ClosedJaxpr", "Jaxpr"):
        return _translated_jaxpr(x)
    if type(x) in (tuple, list):
        return type(x)(map(translated, x))
    if not type(x).__module__.startswith("jax") or callable(x):
        return x
    if type(x).__name__ == "PRNGImpl":
        return library("minijax").random.key(0, impl=x.name).dtype._impl
    mine = getattr(library("minijax").lax, type(x).__name__, None)
    if mine is None:
        raise Untranslated(str(type(x)))
    return getattr(mine, x.name) if hasattr(x, "name") else mine(*map(translated, x))


def _translated_jaxpr(jaxpr: Any) -> Any:
    mini = library("minijax")
    inner = getattr(jaxpr, "jaxpr", jaxpr)
    consts = [constant(c) for c in getattr(jaxpr, "consts", ())]
    structs = [mini.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in inner.invars]
    closed = mini.make_jaxpr(lambda *args: _evaluate(inner, consts, list(args)))(*structs)
    return closed if hasattr(jaxpr, "consts") else closed.jaxpr


# --- primitives that call jaxprs ---


def _call(args: list[Any], eqn: Any) -> list[Any]:
    called = next(eqn.params[name] for name in ("call_jaxpr", "jaxpr", "call") if name in eqn.params)
    return evaluate(called, args) if hasattr(called, "consts") else _evaluate(called, [], args)


def _cond(args: list[Any], eqn: Any) -> list[Any]:
    branches = eqn.params["branches"]
    return evaluate(branches[min(max(int(args[0]), 0), len(branches) - 1)], args[1:])


def _while(args: list[Any], eqn: Any) -> list[Any]:
    params = eqn.params
    split = params["cond_nconsts"] + params["body_nconsts"]
    cond_consts, body_consts = args[: params["cond_nconsts"]], args[params["cond_nconsts"]: split]
    carry = args[split:]
    while (goes_on := evaluate(params["cond_jaxpr"], [*cond_consts, *carry])[0]).any():
        after = evaluate(params["body_jaxpr"], [*body_consts, *carry])
        carry = [_where(goes_on, new, old) for new, old in zip(after, carry, strict=True)]
    return carry


def _where(condition: Any, new: Any, old: Any) -> Any:
    """Elements of `new` where a loop goes on: under `vmap`, examples stop at different times."""
    if not condition.ndim:
        return new
    column = condition.reshape(condition.shape + (1,) * (new.ndim - condition.ndim))
    return library("minijax").numpy.where(column, new, old)


def _scan(args: list[Any], eqn: Any) -> list[Any]:
    params = eqn.params
    jnp, inner = library("minijax").numpy, params["jaxpr"]
    first, split = params["num_consts"], params["num_consts"] + params["num_carry"]
    consts, carry, xs = args[:first], args[first:split], args[split:]
    steps = range(params["length"])
    columns: list[list[Any]] = [[] for _ in eqn.outvars[params["num_carry"]:]]
    for i in reversed(steps) if params["reverse"] else steps:
        out = evaluate(inner, [*consts, *carry, *(x[i] for x in xs)])
        carry = out[: params["num_carry"]]
        for column, y in zip(columns, out[params["num_carry"]:], strict=True):
            column.insert(0 if params["reverse"] else len(column), y)
    outs = zip(columns, eqn.outvars[params["num_carry"]:], strict=True)
    return [*carry, *(jnp.stack(column) if column else zeros(v.aval) for column, v in outs)]


def _linear_solve(args: list[Any], eqn: Any) -> list[Any]:
    lengths, first = eqn.params["const_lengths"], eqn.params["const_lengths"].matvec
    consts = args[first + lengths.vecmat:][: lengths.solve]
    return evaluate(eqn.params["jaxprs"].solve, [*consts, *args[sum(lengths):]])


def _empty(args: list[Any], eqn: Any) -> list[Any]:
    return [zeros(v.aval) for v in eqn.outvars]


CALLS: dict[str, Callable] = {
    **dict.fromkeys(("jit", "closed_call", "remat2", "custom_jvp_call", "custom_vjp_call",
                     "custom_vmap_call"), _call),
    "cond": _cond, "while": _while, "scan": _scan, "custom_linear_solve": _linear_solve, "empty2": _empty,
}  # fmt: skip
