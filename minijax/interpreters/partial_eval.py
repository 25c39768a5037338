"""The public names of `jax.interpreters.partial_eval`."""

# chapter 5
from ..core.core import current_trace as _current_trace, new_trace as _new_trace, typeof as _typeof
from ..core.staging import DynamicJaxprTrace, DynamicJaxprTracer, jaxpr_of as _jaxpr_of


def trace_to_jaxpr_dynamic(fun, in_avals, **_ignored):
    """Stage a flat function at these types: `(jaxpr, out_avals, consts)`.

    >>> from minijax.interpreters import partial_eval as pe
    >>> pe.trace_to_jaxpr_dynamic(lambda x: [x * 2], [jax.typeof(1.0)])[0]
    { lambda ; a:f32[]. let b:f32[] = mul a 2.0:f32[] in (b,) }
    """
    closed = _jaxpr_of(fun, in_avals)
    return closed.jaxpr, closed.out_avals, closed.consts

# chapter 7
from ..core.partial_eval import (
    JaxprTrace, JaxprTracer, dce_jaxpr, dce_rules, partial_eval_rules, dce_closed as _dce_closed,
    without_dead_code as _without_dead_code)
from ..core.jaxpr import convert_constvars_jaxpr, ClosedJaxpr as _ClosedJaxpr


class PartialVal(tuple):
    """What partial evaluation knows of a value: a pair `(None, value)`, or `(aval, None)`.

    >>> PartialVal.unknown(jax.typeof(1.0)).is_known()
    False
    """

    @classmethod
    def known(cls, value):
        return cls((None, value))

    @classmethod
    def unknown(cls, aval):
        return cls((aval, None))

    def is_known(self) -> bool:
        return self[0] is None

    def get_known(self):
        """The value, or `None`."""
        return self[1] if self.is_known() else None

    def get_aval(self):
        return _typeof(self[1]) if self.is_known() else self[0]


def trace_to_jaxpr_nounits(fun, pvals, instantiate=False):
    """Partially evaluate a flat function.

    Args:
      fun: from arrays to a list of arrays.
      pvals: a `PartialVal` for each argument.
      instantiate: whether (or for each result, whether) it must be a result of the jaxpr, though
        it is known.

    Returns:
      `(jaxpr, out_pvals, consts)`: a jaxpr of the unknown arguments, to the unknown results, and
      values for its `constvars`, which are known.

    >>> from minijax.interpreters import partial_eval as pe
    >>> known, unknown = pe.PartialVal.known(2.0), pe.PartialVal.unknown(jax.typeof(1.0))
    >>> jaxpr, pvals, consts = pe.trace_to_jaxpr_nounits(
    ...     lambda x, y: [jnp.sin(x), x * y], [known, unknown])
    >>> [pval.is_known() for pval in pvals]
    [True, False]
    """
    trace = JaxprTrace(_current_trace())
    with _new_trace(trace):
        args = [v.get_known() if v.is_known() else trace.new_arg(v[0]) for v in pvals]
        outs = fun(*args)
        flags = [instantiate] * len(outs) if isinstance(instantiate, bool) else instantiate
        unknown = [trace.is_unknown(out) or force for out, force in zip(outs, flags)]
        outvars = [trace.atom(out) for out, is_unknown in zip(outs, unknown) if is_unknown]
    closed = trace.builder.build(outvars)
    closed = _without_dead_code(closed)
    out_pvals = [PartialVal.unknown(_typeof(out)) if is_unknown else PartialVal.known(out)
                 for out, is_unknown in zip(outs, unknown)]
    return closed.jaxpr, out_pvals, closed.consts


def dce_jaxpr_consts(jaxpr, used_outputs, instantiate=False):
    """`dce_jaxpr` that also drops constants: `(jaxpr, used_consts, used_inputs)`."""
    keep_inputs = instantiate if isinstance(instantiate, bool) else tuple(instantiate)
    closed, used_inputs = _dce_closed(
        _ClosedJaxpr(jaxpr, jaxpr.constvars), tuple(used_outputs), keep_inputs)
    kept = set(closed.jaxpr.constvars)
    return closed.jaxpr, [v in kept for v in jaxpr.constvars], list(used_inputs)
