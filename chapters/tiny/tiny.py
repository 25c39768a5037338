"""tiny: `jvp`, `vmap`, `jit` and `grad` in one file, which the book builds chapter by chapter.

Each step stands on the steps before it and changes none of their lines. So the file can be cut
before any chapter, and what is left of it runs. It needs NumPy and nothing else; with minijax
installed, chapter 6 compiles by XLA. It also runs in MicroPython, on `numpy_stand_in.py`.

All arrays hold float64 numbers. So the type of an array, its *aval*, is its shape.
"""

# ==== chapter 1: primitives and traces

import numpy as np

# ---- 1.1 a primitive has a name; the current trace gives it a meaning


class Primitive:
    """An operation that every trace can interpret. `impl` computes it."""

    def __init__(self, name, impl):
        self.name, self.impl = name, impl

    def bind(self, *args, **params):
        """Apply the primitive: the current trace decides what that means."""
        return state.trace.process_primitive(self, args, params)

    def __repr__(self):
        return self.name


# ---- 1.2 a trace interprets primitives; the one at the bottom computes


class Trace:
    """An interpreter of primitives, which stands on its parent."""

    def __init__(self, parent):
        self.parent = parent


class EvalTrace(Trace):
    def process_primitive(self, primitive, args, params):
        return primitive.impl(*[np.asarray(x, float) for x in args], **params)


# ---- 1.3 one trace is current


class state:
    trace = EvalTrace(None)


class set_current_trace:
    """Make a trace current within a `with` block."""

    def __init__(self, trace):
        self.trace = trace

    def __enter__(self):
        self.outside, state.trace = state.trace, self.trace

    def __exit__(self, *error):
        state.trace = self.outside


# ---- 1.4 a tracer is a value in the hands of a trace


class Tracer:
    """A box around a value, and what its trace keeps with the value. Others see only its type."""

    __array_ufunc__ = None  # NumPy leaves `array * tracer` to the tracer

    def __init__(self, trace, aval, value, extra):
        self.trace, self.aval, self.value, self.extra = trace, aval, value, extra

    shape = property(lambda self: self.aval)
    __add__ = __radd__ = lambda self, other: add(self, other)
    __mul__ = __rmul__ = lambda self, other: mul(self, other)
    __sub__ = lambda self, other: add(self, neg(other))
    __rsub__ = lambda self, other: add(neg(self), other)
    __neg__ = lambda self: neg(self)
    __matmul__ = lambda self, other: dot(self, other)
    __rmatmul__ = lambda self, other: dot(other, self)
    __gt__ = lambda self, other: greater(self, other)
    __lt__ = lambda self, other: greater(other, self)
    __bool__ = __eq__ = lambda self, *other: expect("known", "traced", "The value in an `if`")


# ---- 1.5 what is known of a value without its contents


def typeof(x):
    """The aval of an array, a number, or something that carries its aval. `None` has no aval."""
    return x.aval if hasattr(x, "aval") else None if x is None else np.shape(x)


def expect(wanted, found, what):
    """Raise an error, rather than compute something that was not meant."""
    if found != wanted:
        raise TypeError(f"{what} should be {wanted}, but got {found}.")


# ---- 1.6 open the boxes, compute one level down, box the results


def unbox(trace, x):
    """Value and extra of `x`. For this trace, a value from outside is a constant: no extra."""
    mine = isinstance(x, Tracer) and x.trace is trace
    return (x.value, x.extra) if mine else (x, None)


class BoxTrace(Trace):
    def process_primitive(self, primitive, args, params):
        values, extras = zip(*[unbox(self, x) for x in args])
        with set_current_trace(self.parent):
            if all(extra is None for extra in extras):
                return primitive.bind(*values, **params)
            return each(self.box, *self.rules[primitive](values, extras, **params))


def each(f, outs, *more):
    """`f` of the result of a primitive, or a list of `f` of each if there are several."""
    return [f(*xs) for xs in zip(outs, *more)] if isinstance(outs, list) else f(outs, *more)


# ---- 1.7 box the arguments of a function, and open its results


def run_boxed(trace, f, values, extras):
    """Values and extras of the results of `f`, a function of arrays that returns a list of them."""
    with set_current_trace(trace):
        outs = f(*map(trace.box, values, extras))
    pairs = [unbox(trace, out) for out in outs]
    return [value for value, _ in pairs], [extra for _, extra in pairs]


# ---- 1.8 the primitives

add_p = Primitive("add", np.add)
mul_p = Primitive("mul", np.multiply)
neg_p = Primitive("neg", np.negative)
sin_p = Primitive("sin", np.sin)
cos_p = Primitive("cos", np.cos)
exp_p = Primitive("exp", np.exp)
log_p = Primitive("log", np.log)
greater_p = Primitive("greater", lambda x, y: np.multiply(np.greater(x, y), 1.0))
elementwise = (add_p, mul_p, neg_p, sin_p, cos_p, exp_p, log_p, greater_p)
reduce_sum_p = Primitive("reduce_sum", lambda x, axes: np.sum(x, axes))
broadcast_p = Primitive("broadcast", lambda x, shape, dims: np.broadcast_to(
    np.reshape(x, [n if d in dims else 1 for d, n in enumerate(shape)]), shape))
transpose_p = Primitive("transpose", lambda x, permutation: np.transpose(x, permutation))
dot_p = Primitive("dot", np.matmul)


# ---- 1.9 functions that bind them

neg, sin, cos, exp, log = [p.bind for p in (neg_p, sin_p, cos_p, exp_p, log_p)]


def of_two(primitive):
    """The function of two arrays that binds the primitive when they have one shape."""
    return lambda x, y: primitive.bind(*alike(x, y))


add, mul, greater = [of_two(p) for p in (add_p, mul_p, greater_p)]


# ---- 1.10 bring two arrays to one shape


def alike(x, y):
    """`x` and `y`, of which the one of fewer dimensions is repeated along new leading ones."""
    shape = max(typeof(x), typeof(y), key=len)
    return broadcast(x, shape), broadcast(y, shape)


def broadcast(x, shape, dims=None):
    """`x` repeated along new dimensions. Its own become `dims` of the result, or the last ones."""
    dims = tuple(range(len(shape) - len(typeof(x)), len(shape)) if dims is None else dims)
    expect(sorted(set(dims) & set(range(len(shape)))), list(dims), "The dimensions of a broadcast")
    expect(tuple([shape[d] for d in dims]), typeof(x), "The shape of an operand")
    return x if typeof(x) == shape else broadcast_p.bind(x, shape=tuple(shape), dims=dims)


# ---- 1.11 remove and reorder dimensions


def reduce_sum(x, axes=None):
    """The sum over `axes`, or over all dimensions."""
    dims = range(len(typeof(x)))
    return reduce_sum_p.bind(x, axes=tuple([dims[d] for d in (dims if axes is None else axes)]))


def transpose(x, permutation=None):
    """Dimension `i` of the result is dimension `permutation[i]` of `x`; all reversed by default."""
    dims = list(range(len(typeof(x))))
    permutation = tuple(dims[::-1] if permutation is None else permutation)
    expect(dims, sorted(permutation), "The dimensions of a transpose, when sorted,")
    return transpose_p.bind(x, permutation=permutation)


# ---- 1.12 the product of matrices


def dot(x, y):
    """The product of matrices; a vector is a matrix of one row (`x`) or one column (`y`)."""
    row, column = len(typeof(x)) == 1, len(typeof(y)) == 1
    x = broadcast(x, (1,) + typeof(x), (1,)) if row else x
    y = broadcast(y, typeof(y) + (1,), (0,)) if column else y
    (_, m), (n, _) = typeof(x), typeof(y)
    expect(m, n, "The number of rows of the right factor")
    out = dot_p.bind(x, y)
    return reduce_sum(out, (0,) * row + (1,) * column) if row or column else out


# ==== chapter 2: forward mode

from functools import reduce

# ---- 2.1 the trace that differentiates: with each value, it keeps the tangent

primitive_jvps = {}  # primitive -> (primals, tangents, **params) -> (primal_out, tangent_out)


class JVPTrace(BoxTrace):
    """`None` is the tangent that is zero."""

    rules = primitive_jvps

    def box(self, primal, tangent):
        if tangent is None:
            return primal
        expect(typeof(primal), typeof(tangent), "The shape of a tangent")
        return Tracer(self, typeof(primal), primal, tangent)


# ---- 2.2 rules from derivatives


def defjvp(primitive, *rules):
    """A rule for each argument: (tangent, result, *primals, **params) -> its part of the tangent.

    `None` instead of a rule: the derivative is zero.
    """
    def jvp_rule(primals, tangents, **params):
        out = primitive.bind(*primals, **params)
        parts = [rule(t, out, *primals, **params) for rule, t in zip(rules, tangents)
                 if rule is not None and t is not None]
        return out, reduce(add, parts) if parts else None

    primitive_jvps[primitive] = jvp_rule


# ---- 2.3 the derivatives

defjvp(add_p, lambda t, out, x, y: t, lambda t, out, x, y: t)
defjvp(mul_p, lambda t, out, x, y: mul(t, y), lambda t, out, x, y: mul(x, t))
defjvp(dot_p, lambda t, out, x, y: dot_p.bind(t, y), lambda t, out, x, y: dot_p.bind(x, t))
defjvp(sin_p, lambda t, out, x: mul(t, cos(x)))
defjvp(cos_p, lambda t, out, x: neg(mul(t, sin(x))))
defjvp(exp_p, lambda t, out, x: mul(t, out))
defjvp(log_p, lambda t, out, x: mul(t, exp(neg(out))))  # 1 / x = exp(-log(x))
defjvp(greater_p, None, None)


def deflinear(primitive):
    """A linear function is its own derivative."""
    defjvp(primitive, lambda t, out, x, **params: primitive.bind(t, **params))


for primitive in (neg_p, reduce_sum_p, broadcast_p, transpose_p):
    deflinear(primitive)


# ---- 2.4 run a function in a JVPTrace


def jvpfun(f, primals, tangents):
    """Results and tangents of `f`, a function of arrays that returns a list of them."""
    return run_boxed(JVPTrace(state.trace), f, primals, tangents)


def instantiate_zeros(x, tangent):
    """The tangent of `x`, as an array even if it is zero."""
    return broadcast(0.0, typeof(x)) if tangent is None else tangent


def jvp(f, primals, tangents):
    """The value of `f` and its tangent. The arguments of `f` and its result are arrays."""
    (out,), (tangent,) = jvpfun(lambda *xs: [f(*xs)], primals, tangents)
    return out, instantiate_zeros(out, tangent)


# ==== chapter 3: pytrees

# ---- 3.1 take a tree apart, and put it together again


def tree_flatten(tree):
    """The leaves of nested lists, tuples and dicts, and the structure that they were in."""
    if not isinstance(tree, (list, tuple, dict)):
        return [tree], "*"
    keys = tuple(sorted(tree) if isinstance(tree, dict) else range(len(tree)))
    parts = [tree_flatten(tree[key]) for key in keys]
    leaves = [leaf for part_leaves, _ in parts for leaf in part_leaves]
    return leaves, (type(tree), keys, tuple([structure for _, structure in parts]))


def tree_unflatten(structure, leaves):
    """The tree of this structure with these leaves."""
    leaves = iter(leaves)
    if structure == "*":
        return next(leaves)
    kind, keys, parts = structure
    built = [tree_unflatten(part, leaves) for part in parts]
    return dict(zip(keys, built)) if kind is dict else kind(built)


# ---- 3.2 trees of the same structure


def leaves_like(structure, tree):
    """The leaves of a tree that must have this structure."""
    leaves, found = tree_flatten(tree)
    expect(structure, found, "The structure of a tree")
    return leaves


def tree_map(f, tree, *rest):
    """The tree with `f` applied to each leaf, and to the leaves of `rest` in the same places."""
    leaves, structure = tree_flatten(tree)
    return tree_unflatten(structure, map(f, leaves, *[leaves_like(structure, x) for x in rest]))


# ---- 3.3 a function of trees as a function of leaves


def flatten_fun(f, args):
    """`f` as a function of leaves, the leaves of `args`, their structure, and a function that says
    after a call what the structure of the result was."""
    leaves, in_tree = tree_flatten(args)
    out_trees = []

    def flat(*leaves):
        outs, out_tree = tree_flatten(f(*tree_unflatten(in_tree, leaves)))
        out_trees.append(out_tree)
        return outs

    return flat, leaves, in_tree, lambda: out_trees[-1]


def jvp(f, primals, tangents):  # noqa: F811
    """The `jvp` of chapter 2, now for functions of trees."""
    flat, leaves, in_tree, out_tree = flatten_fun(f, primals)
    outs, out_tangents = jvpfun(flat, leaves, leaves_like(in_tree, tangents))
    out_tangents = map(instantiate_zeros, outs, out_tangents)
    return tree_unflatten(out_tree(), outs), tree_unflatten(out_tree(), out_tangents)


# ==== chapter 4: vectorisation

# ---- 4.1 the trace that works on all examples at once

primitive_batchers = {}  # primitive -> (values, batched, **params) -> (out, out_batched)


class BatchTrace(BoxTrace):
    """A tracer shows one example. Its value is all of them, along a new first dimension."""

    rules = primitive_batchers

    def box(self, value, batched):
        return Tracer(self, typeof(value)[1:], value, batched) if batched else value


# ---- 4.2 rules that give all arguments the batch dimension


def all_batched(size, values, batched):
    """The values with the batch dimension in front, repeated where they had none."""
    return [x if has else broadcast(x, (size,) + typeof(x)) for x, has in zip(values, batched)]


def defbatch(primitive, renumber=lambda size, **params: params):
    """The primitive itself works on all examples, if `renumber` shifts its parameters."""
    def rule(values, batched, **params):
        size = [typeof(x)[0] for x, has in zip(values, batched) if has][0]
        return primitive.bind(*all_batched(size, values, batched), **renumber(size, **params)), True

    primitive_batchers[primitive] = rule


# ---- 4.3 all primitives on one dimension more


def up(dims):
    """The same dimensions, when the batch dimension stands before them."""
    return tuple([d + 1 for d in dims])


for primitive in elementwise + (dot_p,):
    defbatch(primitive)
defbatch(reduce_sum_p, lambda n, axes: {"axes": up(axes)})
defbatch(transpose_p, lambda n, permutation: {"permutation": (0,) + up(permutation)})
defbatch(broadcast_p, lambda n, shape, dims: {"shape": (n,) + shape, "dims": (0,) + up(dims)})


# ---- 4.4 `vmap`


def vmap(f, in_axes=0):
    """`f` for many examples, along dimension 0 of each argument whose axis is 0 and not `None`."""
    def vmapped(*args):
        axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
        flat, leaves, _, out_tree = flatten_fun(f, args)
        batched = [axis == 0 or None for x, axis in zip(args, axes) for _ in tree_flatten(x)[0]]
        sizes = [typeof(x)[0] for x, has in zip(leaves, batched) if has]
        expect([True] * len(args), [axis in (0, None) for axis in axes], "Whether axes are valid")
        expect(sizes[:1] * len(sizes), sizes, "The numbers of examples")
        outs, batched = run_boxed(BatchTrace(state.trace), flat, leaves, batched)
        return tree_unflatten(out_tree(), all_batched(sizes[0], outs, batched))

    return vmapped


# ==== chapter 5: jaxprs

from collections import OrderedDict, namedtuple

# ---- 5.1 a program as data

# `outvars = primitive[params] invars`. The operands are variables and numbers.
JaxprEqn = namedtuple("JaxprEqn", ("primitive", "invars", "params", "outvars"))


class Var:
    """A variable of a jaxpr. It has a type, and no name."""

    def __init__(self, aval):
        self.aval = aval


class Jaxpr:
    """`{ lambda invars. let eqns in outvars }`"""

    def __init__(self, invars, eqns, outvars):
        self.invars, self.eqns, self.outvars = invars, eqns, outvars


# ---- 5.2 run it: bind each primitive in turn


def listed(outs):
    """The results of a primitive as a list, even if there is only one."""
    return outs if isinstance(outs, list) else [outs]


def eval_jaxpr(jaxpr, *args):
    """The list of results of a jaxpr. The current trace interprets its operations."""
    expect([v.aval for v in jaxpr.invars], list(map(typeof, args)), "The shapes of the arguments")
    env = dict(zip(jaxpr.invars, args))
    for eqn in jaxpr.eqns:
        outs = eqn.primitive.bind(*[env.get(x, x) for x in eqn.invars], **eqn.params)
        env.update(zip(eqn.outvars, listed(outs)))
    return [env.get(x, x) for x in jaxpr.outvars]


# ---- 5.3 the trace that computes nothing: it writes down


class DynamicJaxprTrace(Trace):
    """Its tracers have no values, but variables."""

    def __init__(self, parent=None):
        super().__init__(parent)
        self.eqns, self.consts = [], OrderedDict()

    def box(self, var):
        return Tracer(self, var.aval, None, var)

    def process_primitive(self, primitive, args, params):
        out = each(Var, shape_rules[primitive](*map(typeof, args), **params))
        self.eqns.append(JaxprEqn(primitive, [atom(self, x) for x in args], params, listed(out)))
        return each(self.box, out)


# ---- 5.4 values from outside: a number is written down, an array becomes an argument


def atom(trace, x):
    """The variable of `x`, or a number (unless it is infinite, which cannot be written down)."""
    x, var = unbox(trace, x)
    if var is None and not isinstance(x, Tracer) and typeof(x) == () and x - x == 0:
        return float(x)
    return var or trace.consts.setdefault(id(x), (Var(typeof(x)), x))[0]


def build(trace, args, outs):
    """The jaxpr of `outs` as a function of `args`, after the arrays from outside; and those."""
    outvars, invars = [[atom(trace, x) for x in xs] for xs in (outs, args)]
    constvars, consts = [[pair[i] for pair in trace.consts.values()] for i in (0, 1)]
    return Jaxpr(constvars + invars, trace.eqns, outvars), consts


# ---- 5.5 the types of results, without their values

# primitive -> (*avals, **params) -> aval
shape_rules = dict.fromkeys(elementwise, lambda x, *others: x)
shape_rules[reduce_sum_p] = lambda x, axes: tuple([n for d, n in enumerate(x) if d not in axes])
shape_rules[broadcast_p] = lambda x, shape, dims: shape
shape_rules[transpose_p] = lambda x, permutation: tuple([x[d] for d in permutation])
shape_rules[dot_p] = lambda x, y: x[:-1] + y[-1:]


# ---- 5.6 from a function to a jaxpr


def trace_to_jaxpr(f, avals):
    """The jaxpr of `f`, a function of arrays of these types, and the arrays from outside."""
    trace = DynamicJaxprTrace()
    with set_current_trace(trace):
        args = [trace.box(Var(aval)) for aval in avals]
        return build(trace, args, f(*args))


def make_jaxpr(f):
    """`make_jaxpr(f)(*args)` is the jaxpr of `f` for arguments of these types."""
    def traced(*args):
        flat, leaves, _, _ = flatten_fun(f, args)
        return trace_to_jaxpr(flat, map(typeof, leaves))[0]

    return traced


# ---- 5.7 how it is printed


def show_jaxpr(jaxpr):
    variables = jaxpr.invars + [v for eqn in jaxpr.eqns for v in eqn.outvars]
    names = {v: f"{chr(97 + n % 26)}{n // 26 or ''}" for n, v in enumerate(variables)}

    def show(xs):
        return " ".join([str(names.get(x, x)) for x in xs])

    def typed(xs):
        return " ".join([f"{names[v]}:f64[{','.join(map(str, v.aval))}]" for v in xs])

    lines = [f"{{ lambda {typed(jaxpr.invars)}. let"]
    for eqn in jaxpr.eqns:
        params = ",".join([f"{name}={eqn.params[name]}" for name in sorted(eqn.params)])
        operation = f"{eqn.primitive}[{params}]" if params else eqn.primitive
        lines.append(f"    {typed(eqn.outvars)} = {operation} {show(eqn.invars)}")
    return "\n".join(lines + [f"  in ({show(jaxpr.outvars)}) }}"])


Jaxpr.__repr__ = show_jaxpr


# ==== chapter 6: jit

try:  # minijax has a door to XLA's compiler
    from minijax.runtime import client
except ImportError:
    client = None

# ---- 6.1 a value in StableHLO, and an operation on values

Value = namedtuple("Value", ("name", "type"))


def tensor_type(aval):
    """`tensor<2x3xf64>`"""
    return "tensor<" + "".join([f"{n}x" for n in aval]) + "f64>"


def op(name, attributes=lambda rank: ""):
    """The rule of a primitive that is one operation. `rank` is that of its result."""
    def rule(emit, out, *xs, **params):
        operands = ", ".join([x.name for x in xs]) + attributes(out.count("x"), **params)
        return emit(f"{name} {operands} : ({', '.join([x.type for x in xs])}) -> {out}", out)

    return rule


# ---- 6.2 rules that take more than one operation


def constant(emit, x):
    """A number. In StableHLO it must have a decimal point."""
    text = repr(x) if "." in repr(x) else f"{x:.17e}"
    return emit(f"constant dense<{text}> : tensor<f64>", "tensor<f64>")


def lower_greater(emit, out, x, y):
    """A comparison has truth values, which become 1 and 0."""
    truth = op("compare GT,")(emit, out.replace("f64", "i1"), x, y)
    return op("convert")(emit, out, truth)


def lower_reduce_sum(emit, out, x, axes):
    zero = constant(emit, 0.0)
    return emit(f"reduce({x.name} init: {zero.name}) applies stablehlo.add across dimensions = "
                f"{list(axes)} : ({x.type}, {zero.type}) -> {out}", out)


# ---- 6.3 the table of rules


def dot_dims(rank):
    batch = list(range(rank - 2))
    return f", batching_dims = {batch} x {batch}, contracting_dims = [{rank - 1}] x [{rank - 2}]"


lowering_rules = {  # primitive -> (emit, type of the result, *operands, **params) -> result
    add_p: op("add"), mul_p: op("multiply"), neg_p: op("negate"), sin_p: op("sine"),
    cos_p: op("cosine"), exp_p: op("exponential"), log_p: op("log"), greater_p: lower_greater,
    transpose_p: op("transpose", lambda rank, permutation: f", dims = {list(permutation)}"),
    broadcast_p: op("broadcast_in_dim", lambda rank, shape, dims: f", dims = {list(dims)}"),
    reduce_sum_p: lower_reduce_sum, dot_p: op("dot_general", dot_dims)}


# ---- 6.4 from a jaxpr to the text of a program


def lower_jaxpr(jaxpr):
    """The program of a jaxpr in StableHLO, a line for each operation."""
    ins = [Value(f"%arg{i}", tensor_type(v.aval)) for i, v in enumerate(jaxpr.invars)]
    env, lines = dict(zip(jaxpr.invars, ins)), []

    def emit(text, out):
        lines.append(f"  %{len(lines)} = stablehlo.{text}")
        return Value(f"%{len(lines) - 1}", out)

    def value(x):
        return env[x] if x in env else constant(emit, x)

    for eqn in jaxpr.eqns:
        xs, (v,) = [value(x) for x in eqn.invars], eqn.outvars
        env[v] = lowering_rules[eqn.primitive](emit, tensor_type(v.aval), *xs, **eqn.params)
    names, types = [", ".join(parts) for parts in zip(*[value(x) for x in jaxpr.outvars])]
    head = ", ".join([f"{x.name}: {x.type}" for x in ins])
    head = f"func.func public @main({head}) -> ({types}) "
    return "\n".join([head + "{"] + lines + [f"  return {names} : {types}", "}"])


# ---- 6.5 compile it and run it


def compile_jaxpr(jaxpr, consts):
    """A function with the results of a jaxpr as a list; `consts` are its first arguments."""
    if client is None or any(eqn.primitive not in lowering_rules for eqn in jaxpr.eqns):
        return lambda *args: eval_jaxpr(jaxpr, *consts, *args)
    avals = [client.ShapedArray(typeof(x), float) for x in jaxpr.invars + jaxpr.outvars]
    program = client.compile(lower_jaxpr(jaxpr), avals[len(jaxpr.invars):])

    def run(*args):
        buffers = map(client.put, [np.asarray(x, float) for x in consts + list(args)], avals)
        return list(map(client.to_numpy, program(list(buffers))))

    return run


# ---- 6.6 `jit`


def jit(f):
    """`f`, compiled when it is first called with arguments of these types."""
    programs = {}

    def jitted(*args):
        if not isinstance(state.trace, EvalTrace):
            return f(*args)  # another trace looks on: it sees the operations of `f`
        flat, leaves, in_tree, out_tree = flatten_fun(f, args)
        key = in_tree, tuple(map(typeof, leaves))
        if key not in programs:
            programs[key] = compile_jaxpr(*trace_to_jaxpr(flat, key[1])), out_tree
        program, out_tree = programs[key]
        return tree_unflatten(out_tree(), program(*leaves))

    return jitted


# ==== chapter 7: partial evaluation

# ---- 7.1 operations on known values run now, the others are written down


class JaxprTrace(DynamicJaxprTrace):
    """Its tracers are the unknown values."""

    def process_primitive(self, primitive, args, params):
        rule = partial_eval_rules.get(primitive, DynamicJaxprTrace.process_primitive)
        with set_current_trace(self.parent):
            if any(unbox(self, x)[1] for x in args):
                return rule(self, primitive, args, params)
            return primitive.bind(*args, **params)


partial_eval_rules = {}  # primitive -> (trace, primitive, args, params) -> result (chapter 9)


# ---- 7.2 linearize: the primals are known, the tangents are not


def linearize(f, *primals):
    """The value of `f`, and its derivative there, which is a linear function of tangents."""
    flat, leaves, in_tree, out_tree = flatten_fun(f, primals)
    trace = JaxprTrace(state.trace)
    with set_current_trace(trace):
        tangents = [trace.box(Var(typeof(x))) for x in leaves]
        outs, out_tangents = jvpfun(flat, leaves, tangents)
        jaxpr, consts = build(trace, tangents, map(instantiate_zeros, outs, out_tangents))

    def f_jvp(*ts):
        return tree_unflatten(out_tree(), eval_jaxpr(jaxpr, *consts, *leaves_like(in_tree, ts)))

    return tree_unflatten(out_tree(), outs), f_jvp


# ==== chapter 8: reverse mode

# ---- 8.1 the equations backwards


def backward_pass(jaxpr, consts, cts):
    """The cotangents of a linear jaxpr's arguments after `consts`, from those of its results."""
    env, ct_of = dict(zip(jaxpr.invars, consts)), {}

    def accumulate(xs, cts):
        for x, ct in zip(xs, cts):
            if isinstance(x, Var) and x not in env and ct is not None:
                expect(x.aval, typeof(ct), "The shape of a cotangent")
                ct_of[x] = add(ct_of[x], ct) if x in ct_of else ct

    accumulate(jaxpr.outvars, cts)
    for eqn in reversed(jaxpr.eqns):
        cts = [ct_of.pop(v, None) for v in eqn.outvars]
        if any(ct is not None for ct in cts):
            rule = primitive_transposes[eqn.primitive]
            accumulate(eqn.invars, rule(cts, *[env.get(x, x) for x in eqn.invars], **eqn.params))
    return [ct_of.get(v) for v in jaxpr.invars[len(consts):]]


# ---- 8.2 the table of rules

primitive_transposes = {}  # primitive -> (cts, *operands, **params) -> a cotangent for each operand


def deftranspose(primitive, *rules):
    """A rule for each operand, used where it is linear: (ct, *operands, **params) -> cotangent.

    Linear operands are not known in the backward pass: a rule gets their variables.
    """
    def transpose_rule(cts, *operands, **params):
        return [rule(*cts, *operands, **params) if isinstance(x, Var) else None
                for rule, x in zip(rules, operands)]

    primitive_transposes[primitive] = transpose_rule


# ---- 8.3 the transposes


def mT(x):
    """The transpose of a matrix, or of each matrix in a stack of them."""
    dims = list(range(len(typeof(x))))
    return transpose(x, dims[:-2] + [dims[-1], dims[-2]])


def others(dims, rank):
    return [d for d in range(rank) if d not in dims]


deftranspose(add_p, lambda ct, x, y: ct, lambda ct, x, y: ct)
deftranspose(mul_p, lambda ct, x, y: mul(ct, y), lambda ct, x, y: mul(x, ct))
deftranspose(dot_p, lambda ct, x, y: dot_p.bind(ct, mT(y)), lambda ct, x, y: dot_p.bind(mT(x), ct))
deftranspose(neg_p, lambda ct, x: neg(ct))
deftranspose(reduce_sum_p, lambda ct, x, axes: broadcast(ct, x.aval, others(axes, len(x.aval))))
deftranspose(broadcast_p, lambda ct, x, shape, dims: reduce_sum(ct, others(dims, len(shape))))
deftranspose(transpose_p, lambda ct, x, permutation: transpose(
    ct, [permutation.index(d) for d in range(len(permutation))]))


# ---- 8.4 `vjp` linearizes and transposes; `grad` is `vjp` with cotangent 1


def linear_transpose(f, *primals):
    """The transpose of a linear function of arguments like `primals`."""
    flat, leaves, in_tree, out_tree = flatten_fun(f, primals)
    jaxpr, consts = trace_to_jaxpr(flat, map(typeof, leaves))

    def f_transposed(ct):
        cts = backward_pass(jaxpr, consts, leaves_like(out_tree(), ct))
        return tree_unflatten(in_tree, map(instantiate_zeros, leaves, cts))

    return f_transposed


def vjp(f, *primals):
    """The value of `f`, and the function from a cotangent of it to cotangents of `primals`."""
    out, f_jvp = linearize(f, *primals)
    return out, linear_transpose(f_jvp, *primals)


def grad(f):
    """The gradient of `f`, whose result is a number, with respect to its first argument."""
    def gradient(x, *rest):
        out, f_vjp = vjp(lambda x: f(x, *rest), x)
        expect((), typeof(out), "The shape of the result")
        return f_vjp(1.0)[0]

    return gradient
