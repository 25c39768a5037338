"""Statements that call functions: control flow, custom rules, nested transformations."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tests.fuzz.generate import Unusable, kind_of

if TYPE_CHECKING:
    from tests.fuzz.generate import Writer

Block = Callable[["Writer", list[str]], str]


def chosen(writer: Writer, kinds: str, condition: Callable[[Any], bool] = lambda x: True) -> str:
    """A name in reach of such a value."""
    names = writer.matching(kinds, condition)
    if not names:
        raise Unusable
    return writer.random.choice(names)


def leading(x: Any) -> bool:
    """Whether there is a first element."""
    return x.ndim >= 1 and x.shape[0] > 0


def inexact(x: Any) -> bool:
    """Whether the value has float or complex elements."""
    return kind_of(x) in "fc"


def inexact_result(last: str) -> str:
    """Rules of integer results are run at different times: nothing depends on them."""
    return f"{last} * 1.0"


def same_type(param: str) -> Callable[[str], str]:
    """Make a value of the parameter's type of any value."""
    return lambda last: f"like({last}, {param})"


def a_cond(w: Writer, into: list[str]) -> str:
    """`lax.cond`, with the predicate computed from a value or given."""
    x = chosen(w, "fc")
    value = w.values[x]
    branches = [w.function({"a": value}, into, same_type("a"), 2) for _ in range(2)]
    predicate = w.random.choice([f"jnp.sum(jnp.real({x})) > 0", "True", f"{chosen(w, 'fiu')}.sum() > 1"])
    return f"lax.cond({predicate}, {branches[0]}, {branches[1]}, {x})"


def a_switch(w: Writer, into: list[str]) -> str:
    """`lax.switch` over two or three branches."""
    x = chosen(w, "fc")
    branches = [w.function({"a": w.values[x]}, into, same_type("a"), 2)
                for _ in range(w.random.randint(1, 3))]
    index = w.random.choice(["1", "jnp.int32(0)", f"jnp.sum(jnp.abs({x})).astype(int)"])
    return f"lax.switch({index}, [{', '.join(branches)}], {x})"


def a_scan(w: Writer, into: list[str]) -> str:
    """`lax.scan` with a carry of a stable type."""
    x, xs = chosen(w, "fc"), chosen(w, "fciub", leading)
    params = {"c": w.values[x], "a": w.values[xs][0]}
    step = w.function(params, into, lambda last: f"({same_type('c')(last)}, {w.random.choice([last, 'a', 'c'])})")
    options = w.random.choice(["", ", reverse=True", ", unroll=2"])
    step = w.random.choice(["{}", "{}", *CHECKPOINTS]).format(step)
    return f"lax.scan({step}, {x}, {xs}{options})[{w.random.randint(0, 1)}]"


def a_scan_without_xs(w: Writer, into: list[str]) -> str:
    """`lax.scan` over a length."""
    x = chosen(w, "f")
    step = w.function({"c": w.values[x], "a": w.values[x]}, into,
                      lambda last: f"({same_type('c')(last)}, None)", 2)
    return f"lax.scan(lambda c, _: {step}(c, c), {x}, None, length={w.random.randint(0, 3)})[0]"


def a_fori(w: Writer, into: list[str]) -> str:
    """`lax.fori_loop` with a constant number of steps."""
    x = chosen(w, "fciu")
    body = w.function({"c": w.values[x]}, into, same_type("c"), 2)
    return f"lax.fori_loop(0, {w.random.randint(0, 3)}, lambda i, c: {body}(c), {x})"


def a_while(w: Writer, into: list[str]) -> str:
    """`lax.while_loop` that counts."""
    x = chosen(w, "fc")
    body = w.function({"c": w.values[x]}, into, same_type("c"), 2)
    return (f"lax.while_loop(lambda s: s[0] < {w.random.randint(0, 3)}, "
            f"lambda s: (s[0] + 1, {body}(s[1])), (0, {x}))[1]")


def a_map(w: Writer, into: list[str]) -> str:
    """`lax.map` over the first axis."""
    x = chosen(w, "fciub", leading)
    body = w.function({"a": w.values[x][0]}, into, None, 2)
    return f"lax.map({body}, {x}{w.random.choice(['', '', ', batch_size=2'])})"


def an_associative_scan(w: Writer, into: list[str]) -> str:
    """`lax.associative_scan` of an associative operation."""
    x = chosen(w, "fciu", leading)
    operation = w.random.choice(["jnp.add", "jnp.multiply"] + ["jnp.maximum"] * (kind_of(w.values[x]) != "c"))
    return f"lax.associative_scan({operation}, {x}, reverse={w.random.random() < 0.3})"


def custom_function(w: Writer, into: list[str], decorator: str, *rules: str) -> str:
    """A function with one of several rules, which may close over a value in reach."""
    x = chosen(w, "fc")
    body = w.function({"a": w.values[x]}, into, inexact_result, 2, closed=0.05)
    closed = chosen(w, "f", lambda v: v.ndim == 0) if w.random.random() < 0.2 and w.matching(
        "f", lambda v: v.ndim == 0) else "2.0"
    name = w.fresh("h")
    rule = w.random.choice(rules).format(body=body, closed=closed)
    into += [f"{name} = {decorator}({body})", f"{name}.{rule}"]
    for line in into[-2:]:
        if not w.execute(name, line, w.depth == 0):
            raise Unusable
    return f"{name}({x})"


def a_custom_jvp(w: Writer, into: list[str]) -> str:
    """`jax.custom_jvp`, with one rule for each argument, or one for all."""
    return custom_function(
        w, into, "jax.custom_jvp",
        "defjvps(lambda t, out, a: jax.jvp({body}, (a,), (t,))[1] * 3)",
        "defjvp(lambda p, t: tuple(jax.jvp({body}, p, (t[0] * 0.5,))))",
        "defjvp(lambda p, t: ({body}(*p), jax.jvp({body}, p, (({closed} * t[0]).astype(t[0].dtype),))[1]))")


def a_custom_vjp(w: Writer, into: list[str]) -> str:
    """`jax.custom_vjp`, with residuals of several kinds."""
    return custom_function(
        w, into, "jax.custom_vjp",
        "defvjp(lambda a: jax.vjp({body}, a), lambda back, ct: back(ct))",
        "defvjp(lambda a: ({body}(a), a), lambda a, ct: (({closed} * a).astype(a.dtype),))",
        "defvjp(lambda a: ({body}(a), (a, jnp.sin(a))), lambda res, ct: (res[1] * 0.5,))",
        "defvjp(lambda a: ({body}(a), a), lambda a, ct: (None,))")


def a_rule_with_a_static_argument(w: Writer, into: list[str]) -> str:
    """A custom rule with a static argument, whose function and rules close over a value in reach."""
    x, closed = chosen(w, "f"), chosen(w, "f", lambda v: v.ndim == 0)
    body, name = w.function({"a": w.values[x]}, into, inexact_result, 2, closed=0.05), w.fresh("h")
    kind, rule = w.random.choice([
        ("jvp", "defjvp(lambda n, p, t: ({h}(n, *p), jax.jvp({g}, p, t)[1] * n * {y}))"),
        ("vjp", "defvjp(lambda n, a: ({h}(n, a), a * {y}), lambda n, res, ct: ((res * n).astype(res.dtype),))"),
        ("vjp", "defvjp(lambda n, a: jax.vjp(lambda a: {g}(a) * {y} * n, a), lambda n, back, ct: back(ct))"),
    ])  # fmt: skip
    into += [f"{name} = jax.custom_{kind}(lambda n, a: {body}(a) * {closed} * n, nondiff_argnums=(0,))",
             f"{name}.{rule.format(h=name, g=body, y=closed)}"]
    for line in into[-2:]:
        if not w.execute(name, line, w.depth == 0):
            raise Unusable
    return f"{name}({w.random.randint(1, 3)}, {x})"


NESTS = [
    "lax.cond(jnp.sum(jnp.real(c)) > 0, lambda c: {}, lambda c: c * 0.5, c)", "lax.switch(1, [jnp.sin, lambda c: {}], c)",
    "lax.scan(lambda c, a: ({}, a), c, jnp.arange(2))[0]", "lax.fori_loop(0, 2, lambda i, c: {}, c)",
    "lax.while_loop(lambda s: s[0] < 2, lambda s: (s[0] + 1, (lambda c: {})(s[1])), (0, c))[1]",
    "lax.map(lambda c: {}, jnp.stack([c, c * 0.5]))[0]", "jax.jit(lambda c: {})(c)", "jax.checkpoint(lambda c: {})(c)",
]  # fmt: skip


def a_deep_nest(w: Writer, into: list[str]) -> str:
    """Branches and loops, four deep."""
    x = chosen(w, "fc")
    text = w.function({"c": w.values[x]}, into, same_type("c"), 2) + "(c)"
    for nest in w.random.choices(NESTS, k=4):
        text = nest.format(text)
    return f"(lambda c: {text})({x})"


SOLVES = [
    "jnp.linalg.solve(posdef({x}), {x})", "jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(posdef({x})), True), {x})",
    "jax.scipy.linalg.solve_triangular(posdef({x}), {x}, lower=True, trans={t})", "jnp.linalg.inv(posdef({x}))[0]",
    "lax.custom_linear_solve(lambda v: posdef({x}) @ v, {x}[:, 0], lambda f, b: jnp.linalg.solve(posdef({x}), b), "
    "lambda f, b: jnp.linalg.solve(posdef({x}), b))",
    "jax.scipy.linalg.lu_solve(jax.scipy.linalg.lu_factor(posdef({x})), {x}, trans={t})",
    "jax.scipy.sparse.linalg.cg(lambda v: posdef({x}) @ v, {x}[:, 0], maxiter=3)[0]",
]  # fmt: skip


def a_linear_solve(w: Writer, into: list[str]) -> str:
    """The solution of a linear system."""
    x = chosen(w, "fc", lambda v: v.ndim == 2 and 0 < v.shape[0] <= v.shape[1])
    return w.random.choice(SOLVES).format(x=f"{x}[:, :{w.values[x].shape[0]}]", t=w.random.randint(0, 1))


CHECKPOINTS = [
    "jax.checkpoint({})", "jax.checkpoint({}, policy=jax.checkpoint_policies.dots_saveable)",
    "jax.checkpoint({}, policy=jax.checkpoint_policies.everything_saveable)", "jax.checkpoint({}, prevent_cse=False)",
    "jax.checkpoint({}, policy=lambda p, *_, **__: str(p) in ('exp', 'sin', 'mul', 'tanh'))",
]  # fmt: skip


def a_call(w: Writer, into: list[str]) -> str:
    """A function under `jit`, `checkpoint` and the like, which change nothing."""
    x, y = chosen(w, "fciub"), chosen(w, "fciub")
    body = w.function({"a": w.values[x], "b": w.values[y]}, into, None)
    wrapper = w.random.choice(["jax.jit({})", "jax.named_call({})", *CHECKPOINTS])
    return f"{wrapper.format(body)}({x}, {y})"


def a_vmap(w: Writer, into: list[str]) -> str:
    """A function mapped over an axis, which may have a name."""
    x, y = chosen(w, "fciub", leading), chosen(w, "fciub")
    size = w.values[x].shape[0]
    axis = ("i", size) if w.random.random() < 0.5 else None
    body = w.function({"a": w.values[x][0], "b": w.values[y]}, into, None, axis=axis)
    named = ", axis_name='i'" if axis else ""
    out = w.random.choice(["", "", ", out_axes=-1"])
    return f"jax.vmap({body}, in_axes=(0, None){out}{named})({x}, {y})"


def a_derivative(w: Writer, into: list[str]) -> str:
    """A derivative taken within the program."""
    x, y = chosen(w, "f"), chosen(w, "fciub")
    body = w.function({"a": w.values[x], "b": w.values[y]}, into, None)
    f = f"lambda a: {body}(a, {y})"
    return w.random.choice([
        f"jax.grad(lambda a: total({body}(a, {y})))({x})",
        f"jax.jvp({f}, ({x},), ({x},))[1]",
        f"pullback({f}, {x})[1][0]",
        f"linearized({f}, {x})[1]",
        f"jax.jacrev({f})({x})", f"jax.jacfwd({f})({x})",
    ])  # fmt: skip


UPDATES = ["{r}[...] = like({y}, {r}[...])", "{r}[...] += {x}", "{r}[...] = {r}[...] * {x}",
           "jax.ref.swap({r}, ..., {x})", "jax.ref.addupdate({r}, ..., {x})"]  # fmt: skip
UPDATES_OF_ROWS = ["{r}[0] = {x}[-1]", "{r}[-1] += {x}[0]", "{r}[:1] = {x}[-1:]", "{r}[::2] *= 2",
                   "{r}[jnp.int32({i})] = {x}[0]", "{r}[jnp.array([0, {i}])] = {x}[:1] * 2",
                   "{r}[...] = {r}[::-1]", "{r}[{i}:] = {r}[{i}:] * 0.5",
                   "{r}.at[0][...] = {x}[0]"]  # fmt: skip
# Of the number `e` of an example.
UPDATES_OF_EXAMPLES = ["r[e] = like(a, r[0]) * 2", "r[e] += a", "jax.ref.addupdate(r, e, r[-1] * a)",
                       "jax.ref.swap(r, e, r[0] * a)", "r[jnp.stack([e, 0 * e])] *= a",
                       "r[...] = r[...] * a + r[e]", "r[:, e] = r[:, 0] * a",
                       "lax.fori_loop(0, 2, lambda i, c: (r.addupdate(r[e] * a, i), c)[1], 0)",
                       "lax.while_loop(lambda c: c < e, lambda c: (r.addupdate(r[0] * a, c), c + 1)[1], 0)"]


def a_batch_of_references(w: Writer, into: list[str]) -> str:
    """A function of an example's number that reads and writes rows of a reference, mapped."""
    x = chosen(w, "f", lambda v: leading(v) and v.shape[0] > 1)
    value = w.values[x]
    table = [u for u in UPDATES_OF_EXAMPLES if value.ndim == 2 or ":, e" not in u]
    lines = w.random.sample(table, w.random.randint(1, 3))
    name, n = w.fresh("g"), value.shape[0]
    text = "\n".join([f"def {name}(rows, a, e):", "    r = jax.new_ref(rows)",
                      *(f"    {line}" for line in lines), "    return r[...]"])
    into += text.splitlines()
    if not w.execute(name, text, w.depth == 0):
        raise Unusable
    wrapper = w.random.choice(["{}", "jax.jit({})", "jax.checkpoint({})"]).format(name)
    numbers = f"jnp.linspace(-1, 1, {n}).astype({x}.dtype), jnp.arange({n})"
    return f"jax.vmap({wrapper}, in_axes=(None, 0, 0))({x}, {numbers})[0]"


def a_reference(w: Writer, into: list[str]) -> str:
    """A function that reads and writes references, also in loops and branches."""
    x = chosen(w, "fc")
    value = w.values[x]
    update = w.function({"a": value}, into, same_type("a"), 2)
    names = ["r", "s"][: w.random.choice([1, 1, 2])]
    name = w.fresh("g")
    lines = [f"{r} = jax.new_ref({w.random.choice(['a', 'a * 0.5', f'{update}(a)'])})" for r in names]
    for _ in range(w.random.randint(1, 4)):
        lines += reference_statement(w, names, update, leading(value))
    out = ", ".join(w.random.choice([f"{r}[...]", f"{r}[...] * 2", f"jax.ref.get({r})"])
                    for r in names[:-1]) + ("," if names[1:] else "")
    last = w.random.choice(["{}[...]", "jax.freeze({})", "{}[...] + a"]).format(names[-1])
    text = "\n".join([f"def {name}(a):", *(f"    {line}" for line in lines), f"    return {out} {last}"])
    into += text.splitlines()
    if not w.execute(name, text, w.depth == 0):
        raise Unusable
    wrapper = w.random.choice(["{}", "{}", "jax.jit({})", "jax.checkpoint({})"])
    return f"{wrapper.format(name)}({x})" + ("[0]" if names[1:] else "")


def reference_statement(w: Writer, names: list[str], update: str, rows: bool) -> list[str]:
    """An update of a reference: now, or in a loop, a branch, or a jitted function."""
    r, kind = w.random.choice(names), w.random.random()
    table = UPDATES + UPDATES_OF_ROWS * rows
    x = w.random.choice(["a", f"{update}(a)", f"{names[-1]}[...]", f"{update}({r}[...])"])
    line = w.random.choice(table).format(r=r, x=x, y=x, i=w.random.randint(0, 1))
    if kind < 0.5:
        return [line]
    function = w.fresh("g")
    then = w.random.choice(["c", "c + 1"])
    if kind < 0.65:
        loop = w.random.choice([
            f"lax.fori_loop(0, {w.random.randint(0, 2)}, {function}, 0)",
            f"lax.scan(lambda c, i: ({function}(i, c), None), 0, jnp.arange({w.random.randint(1, 3)}))",
            f"lax.while_loop(lambda c: c < 2, lambda c: {function}(c, c) * 0 + c + 1, 0)"])
        return [f"def {function}(i, c):", f"    {line}", f"    return {then}", loop]
    if kind < 0.85:
        predicate = w.random.choice([f"jnp.sum(jnp.real({r}[...])) > 0", "True", "a.sum().real > 1"])
        other = w.random.choice(["lambda: None", function])
        return [f"def {function}():", f"    {line}", f"lax.cond({predicate}, {function}, {other})"]
    wrapper = w.random.choice(["jax.jit", "jax.checkpoint"])
    return [f"@{wrapper}", f"def {function}({', '.join(names)}, a):", f"    {line}", "    return a * 2",
            f"a = {function}({', '.join(names)}, a) * 0.5"]


def a_shard_map(w: Writer, into: list[str]) -> str:
    """A function of the shards of an array on two to eight devices, with collectives over the axis
    of two; the devices of other axes do the same."""
    x = chosen(w, "fciu", lambda v: v.ndim >= 1 and v.shape[0] == 2)
    y = chosen(w, "fciu")
    value = w.values[x]
    body = w.function({"a": value[:1], "b": w.values[y]}, into, None, axis=("d", 2))
    axes, n = w.random.choice([("('d',)", 1), ("('d', 'e')", 2), ("('e', 'd', 'g')", 3)])
    mesh = f"mesh=jax.make_mesh((2,) * {n}, {axes}, axis_types=(jax.sharding.AxisType.Auto,) * {n})"
    out = w.random.choice(["P('d')", "P('d')", "P()", "P(None, 'd')"])
    check = w.random.choice(["", "", ", check_vma=False"])
    f = f"jax.shard_map({body}, {mesh}, in_specs=(P('d'), P()), out_specs={out}{check})"
    return w.random.choice(["{}", "jax.jit({})"]).format(f) + f"({x}, {y})"


BLOCKS: dict[Block, int] = {
    a_cond: 4, a_switch: 2, a_scan: 4, a_scan_without_xs: 1, a_fori: 2, a_while: 2, a_map: 2,
    an_associative_scan: 1, a_custom_jvp: 3, a_custom_vjp: 3, a_call: 4, a_vmap: 4, a_derivative: 5,
    a_reference: 2, a_batch_of_references: 1, a_shard_map: 1, a_deep_nest: 3, a_linear_solve: 1,
    a_rule_with_a_static_argument: 2,
}  # fmt: skip
