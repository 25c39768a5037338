"""tiny_loops: `cond` and `scan`, which chapter 9 adds to tiny.

A Python `if` or `for` runs while a function is traced, and the jaxpr shows no trace of it. These
two are primitives, with jaxprs among their parameters, so that one equation is a choice or a loop.
"""

# ==== chapter 9: control flow

from functools import partial

import numpy as np
from tiny import *

# ---- 9.1 lists taken apart by flags, and put together again


def partition_list(flags, xs):
    """The items whose flag is false, and those whose flag is true."""
    return [[x for x, flag in zip(xs, flags) if bool(flag) is wanted] for wanted in (False, True)]


def merge_lists(flags, xs, ys):
    """The inverse of `partition_list`."""
    xs, ys = iter(xs), iter(ys)
    return [next(ys) if flag else next(xs) for flag in flags]


# ---- 9.2 `cond`: both branches become jaxprs, which take the same arguments


cond_p = Primitive("cond", lambda which, *args, branches: eval_jaxpr(
    branches[1 if which else 0], *args))
shape_rules[cond_p] = lambda which, *avals, branches: [typeof(v) for v in branches[0].outvars]


def cond(which, true_fun, false_fun, *operands):
    """`true_fun(*operands)` if the number `which` is not zero, else `false_fun(*operands)`."""
    on_true, leaves, _, out_tree = flatten_fun(true_fun, operands)
    on_false, _, _, other_tree = flatten_fun(false_fun, operands)
    (f, fs), (g, gs) = [trace_to_jaxpr(h, map(typeof, leaves)) for h in (on_false, on_true)]
    expect((out_tree(), list(map(typeof, g.outvars))), (other_tree(), list(map(typeof, f.outvars))),
           "The structure and types of the other branch")
    both = f.invars[:len(fs)] + g.invars[:len(gs)]  # each ignores what only the other one uses
    branches = [Jaxpr(both + h.invars[len(hs):], h.eqns, h.outvars) for h, hs in ((f, fs), (g, gs))]
    outs = cond_p.bind(which, *fs, *gs, *leaves, branches=branches)
    return tree_unflatten(out_tree(), outs)


# ---- 9.3 its derivative: a choice between the tangents of the branches


def jvp_jaxpr(jaxpr):
    """From primals and tangents to the tangents of the results."""
    n, f = len(jaxpr.invars), partial(eval_jaxpr, jaxpr)
    return trace_to_jaxpr(lambda *xs: jvp(f, xs[:n], xs[n:])[1], map(typeof, jaxpr.invars * 2))[0]


def cond_jvp(primals, tangents, branches):
    outs = cond_p.bind(*primals, branches=branches)
    operands = list(primals) + list(map(instantiate_zeros, primals[1:], tangents[1:]))
    return outs, cond_p.bind(*operands, branches=list(map(jvp_jaxpr, branches)))


primitive_jvps[cond_p] = cond_jvp

# ---- 9.4 a primitive that selects element by element, and one whose derivative does

select_p = Primitive("select", np.where)
mask_p = Primitive("mask", lambda which, x, i: x)
shape_rules[select_p] = shape_rules[mask_p] = lambda which, x, *y, **params: x
defbatch(select_p)
defbatch(mask_p)


def part(i, which, t):
    """`t` where the first (`i` is 0) or the second operand (`i` is 1) is selected, else 0."""
    zero = broadcast(0.0, typeof(t))
    return select_p.bind(which, *([t, zero], [zero, t])[i])


defjvp(mask_p, None, lambda t, out, which, x, i: part(i, which, t))
defjvp(select_p, None, *[lambda t, *xs, i=i: part(i, xs[1], t) for i in (0, 1)])
deftranspose(select_p, None, *[lambda ct, which, *xs, i=i: part(i, which, ct) for i in (0, 1)])

# ---- 9.5 vectorisation: one choice for all examples, or both branches and a selection


def cond_batch(values, batched, branches):
    size = [typeof(x)[0] for x, has in zip(values, batched) if has][0]
    which, args = values[0], all_batched(size, values[1:], batched[1:])
    on_false, on_true = [vmap(partial(eval_jaxpr, branch)) for branch in branches]
    if not batched[0]:
        return cond(which, on_true, on_false, *args), [True] * len(branches[0].outvars)
    spread = lambda x: broadcast(which, typeof(x), (0,))
    # The derivative of a branch may be infinite for an example that does not choose it.
    xs, ys = [branch(*[mask_p.bind(spread(x), x, i=i) for x in args])
              for i, branch in enumerate((on_true, on_false))]
    return [select_p.bind(spread(x), x, y) for x, y in zip(xs, ys)], [True] * len(xs)


primitive_batchers[cond_p] = cond_batch

# ---- 9.6 its transpose: a linear function is its own derivative, also at zero, so `vjp` will do


def transposed(jaxpr, linear, known, cts):
    """The cotangents of the arguments in which a jaxpr is `linear`, from those of its results."""
    def f(*xs):
        return eval_jaxpr(jaxpr, *merge_lists(linear, known, xs))

    zeros = [broadcast(0.0, v.aval) for v in partition_list(linear, jaxpr.invars)[1]]
    return list(vjp(f, *zeros)[1](list(cts)))


def cond_transpose(cts, which, *operands, branches):
    linear = [isinstance(x, Var) for x in operands]
    known, n = partition_list(linear, operands)[0], linear.count(False)
    cts = map(instantiate_zeros, branches[0].outvars, cts)
    on_false, on_true = [lambda *args, branch=branch: transposed(branch, linear, args[:n], args[n:])
                         for branch in branches]
    outs = cond(which, on_true, on_false, *known, *cts)
    return [None] + merge_lists(linear, [None] * n, outs)


primitive_transposes[cond_p] = cond_transpose

# ---- 9.7 `scan`: its jaxpr maps carries and slices to carries and results


def scan_impl(*args, jaxpr, n, length, reverse):
    carry, xs, rows = list(args[:n]), args[n:], [None] * length
    for i in reversed(range(length)) if reverse else range(length):
        outs = eval_jaxpr(jaxpr, *carry, *[x[i] for x in xs])
        carry, rows[i] = outs[:n], outs[n:]
    return carry + [np.reshape(np.asarray([row[k] for row in rows], float), (length,) + typeof(v))
                    for k, v in enumerate(jaxpr.outvars[n:])]


scan_p = Primitive("scan", scan_impl)
shape_rules[scan_p] = lambda *avals, jaxpr, n, length, reverse: [
    typeof(v) for v in jaxpr.outvars[:n]] + [(length,) + typeof(v) for v in jaxpr.outvars[n:]]


# ---- 9.8 bind it, for a function


def loop(body, carry, xs, length, reverse):
    """Bind `scan`. What `body` uses from outside is carried along, and does not change."""
    avals = [typeof(x) for x in carry] + [typeof(x)[1:] for x in xs]
    jaxpr, consts = trace_to_jaxpr(body, avals)
    expect(avals[:len(carry)], list(map(typeof, jaxpr.outvars))[:len(carry)], "The next carries")
    k = len(consts)
    jaxpr = Jaxpr(jaxpr.invars, jaxpr.eqns, jaxpr.invars[:k] + jaxpr.outvars)
    params = {"jaxpr": jaxpr, "n": k + len(carry), "length": length, "reverse": reverse}
    return scan_p.bind(*consts, *carry, *xs, **params)[k:]


def scan(f, init, xs, reverse=False):
    """`f(carry, x)` returns the next carry and a result; `x` runs along dimension 0 of `xs`."""
    flat, leaves, in_tree, out_tree = flatten_fun(f, (init, xs))
    n = len(tree_flatten(init)[0])
    lengths = [typeof(x)[0] for x in leaves[n:]]
    expect(lengths[:1] * len(lengths), lengths, "The lengths of a scan")
    outs = loop(flat, leaves[:n], leaves[n:], lengths[0], reverse)
    expect(in_tree[2][0], out_tree()[2][0], "The structure of the carry")
    return tree_unflatten(out_tree(), outs)


# ---- 9.9 forward mode: the tangents are carried beside the primals


def scan_jvp(primals, tangents, jaxpr, n, length, reverse):
    m, f = len(primals) - n, partial(eval_jaxpr, jaxpr)
    tangents = tuple(map(instantiate_zeros, primals, tangents))

    def body(*args):
        carry, carry_ts, x, x_ts = args[:n], args[n:2 * n], args[2 * n:][:m], args[2 * n:][m:]
        outs, ts = jvp(f, carry + x, carry_ts + x_ts)
        return outs[:n] + ts[:n] + outs[n:] + ts[n:]

    outs = loop(body, primals[:n] + tangents[:n], primals[n:] + tangents[n:], length, reverse)
    middle = n + len(outs) // 2
    return outs[:n] + outs[2 * n:middle], outs[n:2 * n] + outs[middle:]


primitive_jvps[scan_p] = scan_jvp

# ---- 9.10 vectorisation: each step works on all examples


def swap(x):
    """`x` with its first two dimensions exchanged: examples and steps."""
    return transpose(x, (1, 0) + tuple(range(2, len(typeof(x)))))


def scan_batch(values, batched, jaxpr, n, length, reverse):
    size = [typeof(x)[0] for x, has in zip(values, batched) if has][0]
    values = all_batched(size, values, batched)
    body = vmap(partial(eval_jaxpr, jaxpr))
    outs = loop(body, values[:n], list(map(swap, values[n:])), length, reverse)
    return outs[:n] + list(map(swap, outs[n:])), [True] * len(outs)


primitive_batchers[scan_p] = scan_batch

# ---- 9.11 partial evaluation of one step


def split_step(jaxpr, unknown, n, known):
    """The known results of a step and the residuals; for each result, whether it is unknown; and
    what is left of the step, as a jaxpr of the residuals and the unknown arguments."""
    trace = JaxprTrace(state.trace)
    with set_current_trace(trace):
        later = [trace.box(Var(v.aval)) for v in partition_list(unknown, jaxpr.invars)[1]]
        outs = eval_jaxpr(jaxpr, *merge_lists(unknown, known, later))
        unknown_out = [bool(unbox(trace, x)[1]) or i < n and unknown[i] for i, x in enumerate(outs)]
        outs, later_outs = partition_list(unknown_out, outs)
        rest, residuals = build(trace, later, later_outs)
    return outs + residuals, unknown_out, rest


# ---- 9.12 a loop becomes two: one runs now and stacks the residuals, one is written down


def scan_partial_eval(trace, primitive, args, params):
    jaxpr, n, length, reverse = [params[name] for name in ("jaxpr", "n", "length", "reverse")]
    unknown, before, step = [bool(unbox(trace, x)[1]) for x in args], None, []

    def body(*known):
        step[:] = split_step(jaxpr, unknown, n, known)
        return step[0]

    while before != unknown:  # if a step makes a carry unknown, the next step gets it unknown
        before = list(unknown)
        trace_to_jaxpr(body, [v.aval for v in partition_list(unknown, jaxpr.invars)[0]])
        unknown[:n] = step[1][:n]
    carry, later = partition_list(unknown[:n], args[:n])
    xs, later_xs = partition_list(unknown[n:], args[n:])
    outs = loop(body, carry, xs, length, reverse)
    known_outs, residuals = outs[:step[1].count(False)], outs[step[1].count(False):]
    r, k, rest = len(residuals), len(later), step[2]
    invars = rest.invars[r:r + k] + rest.invars[:r] + rest.invars[r + k:]  # carries come first
    params = dict(params, jaxpr=Jaxpr(invars, rest.eqns, rest.outvars), n=k)
    outs = DynamicJaxprTrace.process_primitive(trace, scan_p, later + residuals + later_xs, params)
    return merge_lists(step[1], known_outs, outs)


partial_eval_rules[scan_p] = scan_partial_eval

# ---- 9.13 transposition: the loop that was written down runs backwards


def scan_transpose(cts, *operands, jaxpr, n, length, reverse):
    """Only the residuals are known. Cotangents of the carries are carried."""
    linear = [i < n or isinstance(x, Var) for i, x in enumerate(operands)]
    residuals, r = partition_list(linear, operands)[0], linear.count(False)
    avals = shape_rules[scan_p](jaxpr=jaxpr, n=n, length=length, reverse=reverse)
    cts = list(map(instantiate_zeros, map(Var, avals), cts))

    def body(*args):
        return transposed(jaxpr, linear, args[n:n + r], args[:n] + args[n + r:])

    outs = loop(body, cts[:n], residuals + cts[n:], length, not reverse)
    return merge_lists(linear, [None] * r, outs)


primitive_transposes[scan_p] = scan_transpose
