"""Solutions of chapter 8."""

from __future__ import annotations

import numpy as np

import minijax
from minijax.core import primitives as lax
from minijax.core.core import typeof
from minijax.core.forward import Zero, add_tangents
from minijax.core.jaxpr import Literal
from minijax.core.transposition import UndefinedPrimal, is_undefined_primal, primitive_transposes
from minijax.lax import concatenate, slice


def law_holds(f, f_transposed, v, w):
    """The two products."""
    forwards, backwards = np.asarray(f(v)), np.asarray(f_transposed(w))
    return bool(abs(np.sum(forwards * w) - np.sum(v * backwards)) < 1e-3)


def roll_transpose(ct, x, *, shift):
    """Roll back."""
    n = typeof(ct).shape[0]
    cut = shift % n if n else 0
    return [concatenate([slice(ct, (cut,), (n,)), slice(ct, (0,), (cut,))], 0)]


def my_jacobian(f, x):
    """Pull back all unit vectors at once."""
    y, pullback = minijax.vjp(f, x)
    (rows,) = minijax.vmap(pullback)(np.eye(y.shape[0], dtype=np.float32))
    return rows


def unbroadcast(aval, ct):
    """The transpose of repeating is summing. Missing dimensions in front count as size 1."""
    shape = typeof(ct).shape
    own = (1,) * (len(shape) - len(aval.shape)) + aval.shape
    repeated = [d for d, (n, m) in enumerate(zip(own, shape)) if n != m]
    summed = lax.reduce_sum(ct, repeated) if repeated else ct
    return summed if typeof(summed).shape == aval.shape else lax.reshape(summed, aval.shape)


def backward_pass(jaxpr, consts, args, cts, sums=()):
    """First what is not linear, forwards; then what is, backwards."""
    values = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *args]))
    value_of = lambda atom: atom.val if isinstance(atom, Literal) else values[atom]
    linear_eqns = []
    for eqn in jaxpr.eqns:
        operands = [value_of(v) for v in eqn.invars]
        if any(map(is_undefined_primal, operands)):
            linear_eqns.append(eqn)
            values.update((v, UndefinedPrimal(v.aval)) for v in eqn.outvars)
        else:
            outs = eqn.primitive.bind(*operands, **eqn.own_params)
            values.update(zip(eqn.outvars, outs if eqn.primitive.multiple_results else [outs]))

    ct_of = {v: ct for v, ct in zip(jaxpr.invars, sums) if ct is not None}

    def accumulate(v, ct):
        if ct is not None and not isinstance(v, Literal) and is_undefined_primal(values[v]):
            ct_of[v] = add_tangents(ct_of.get(v, Zero(v.aval)), ct)

    for v, ct in zip(jaxpr.outvars, cts):
        accumulate(v, ct)
    for eqn in reversed(linear_eqns):
        out_cts = [ct_of.pop(v, Zero(v.aval)) for v in eqn.outvars]
        if all(type(ct) is Zero for ct in out_cts):
            continue
        rule = primitive_transposes[eqn.primitive]
        ct = out_cts if eqn.primitive.multiple_results else out_cts[0]
        operands = [value_of(v) for v in eqn.invars]
        for v, operand_ct in zip(eqn.invars, rule(ct, *operands, **eqn.own_params)):
            if operand_ct is not None and type(operand_ct) is not Zero:
                check_shape(eqn.primitive, v.aval.shape, typeof(operand_ct).shape)
            accumulate(v, operand_ct)
    return [ct_of.get(v, Zero(v.aval)) if is_undefined_primal(x) else None
            for v, x in zip(jaxpr.invars, args)]


def check_shape(primitive, want, got):
    """A cotangent has the shape of its operand."""
    if want != got:
        raise TypeError(f"the transpose rule of {primitive.name} returns a cotangent of shape "
                        f"{got} for an operand of shape {want}")
