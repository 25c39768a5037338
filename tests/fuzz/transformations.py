"""The last lines of a program: up to three transformations of `f`, and the call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.fuzz.generate import kind_of

if TYPE_CHECKING:
    from tests.fuzz.generate import Writer

DERIVATIVES = {
    "jvp": 4, "pullback": 4, "linearized": 3, "grad": 6, "value_and_grad": 2, "has_aux": 1,
    "jacfwd": 2, "jacrev": 2, "hessian": 1,
}  # fmt: skip
OTHERS = {"vmap": 8, "checkpoint": 2, "jit": 1.2, "eval_shape": 0.2}


def transform(w: Writer) -> list[str]:
    """Lines that define `result`."""
    params = [line.split(" = ")[0] for line in w.inputs]
    ranks = {p: w.values[p].ndim for p in params}
    floats = [i for i, p in enumerate(params) if kind_of(w.values[p]) == "f"]
    calls = {p: p for p in params}  # the text of each argument
    lines: list[str] = []
    function = "f"
    count = w.random.choices([0, 1, 2, 3], [1, 6, 7, 3])[0]
    derivatives = 0
    for number in range(count):
        table = {**(DERIVATIVES if derivatives < 2 else {}), **OTHERS}
        if number < count - 1:
            del table["eval_shape"]  # its results are no arrays
        kind = w.random.choices(list(table), list(table.values()))[0]
        derivatives += kind in DERIVATIVES
        if kind == "vmap":
            text = mapped(w, function, params, ranks, calls)
        else:
            text = differentiated(w, kind, function, floats)
        function = f"f{number + 1}"
        lines.append(f"{function} = {text}")
    arguments = ", ".join(calls[p] for p in params)
    return [*lines, f"result = {function}({arguments})"]


def mapped(w: Writer, function: str, params: list[str], ranks: dict[str, int],
           calls: dict[str, str]) -> str:
    """`vmap` over some of the arguments, which become stacks of two."""
    axes: list[int | None] = []
    for p in params:
        if w.random.random() < 0.3 and len(params) > 1 and (any(a is not None for a in axes) or p != params[-1]):
            axes.append(None)
            continue
        axis = w.random.randint(-1, ranks[p]) if ranks[p] else 0
        axes.append(axis)
        other = {"f": "{0} * 0.75", "c": "{0} * 0.75", "b": "~{0}"}.get(kind_of(w.values[p]), "{0} + 1")
        x = calls[p]
        calls[p] = f"jnp.stack([{x}, {other.format(f'({x})')}], axis={axis})"
        ranks[p] += 1
    if all(a is None for a in axes):
        return f"jax.checkpoint({function})"
    in_axes = repr(axes[0]) if len(set(axes)) == 1 else repr(tuple(axes))
    if w.random.random() < 0.3 and in_axes == "0":
        return f"jax.vmap({function})"
    return f"jax.vmap({function}, in_axes={in_axes}, out_axes={w.random.choice([0, 0, 0, -1, 1])})"


def differentiated(w: Writer, kind: str, function: str, floats: list[int]) -> str:
    """Any other transformation."""
    argnums = w.random.choice([repr(w.random.choice(floats)), repr(tuple(floats))])
    scalar = f"lambda *a: total({function}(*a))"
    return {
        "jvp": f"lambda *a: jax.jvp({function}, a, tangents(a))",
        "pullback": f"lambda *a: pullback({function}, *a)",
        "linearized": f"lambda *a: linearized({function}, *a)",
        "grad": f"jax.grad({scalar}, argnums={argnums})",
        "value_and_grad": f"jax.value_and_grad({scalar}, argnums={argnums})",
        "has_aux": f"jax.grad(lambda *a: (total({function}(*a)), {function}(*a)), has_aux=True)",
        "jacfwd": f"jax.jacfwd({function}, argnums={argnums})",
        "jacrev": f"jax.jacrev({function}, argnums={argnums})",
        "hessian": f"jax.hessian({scalar}, argnums={argnums})",
        "checkpoint": f"jax.checkpoint({function})",
        "jit": f"jax.jit({function})",
        "eval_shape": f"lambda *a: jax.eval_shape({function}, *a)",
    }[kind]
