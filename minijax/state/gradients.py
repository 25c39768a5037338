"""Chapter 15: reverse mode that accumulates into references.

    vjp(f, x)[1].with_refs(ref) : cotangent of f(x) → ref += cotangent of x

`jax.vjp` returns a `VJP`. Besides being a function of the cotangent, it shows the residuals, and
`with_refs` says where to put the result. If the function takes references, the reference for the
cotangent holds that of the final contents on entry, and afterwards that of the first ones.

The counterpart in JAX is `VJP` in `jax/_src/api.py`.
"""

import types
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any

from ..checks import api as core_checks
from ..core import api
from ..core.boundary import api_boundary
from ..core.extension import Extension, register
from ..core.forward import instantiate_zeros
from ..core.jaxpr import Jaxpr, Literal
from ..core.transposition import UndefinedPrimal
from ..core.tree import NodeType, registry, tree_flatten
from . import checks
from .accumulation import RefAccum
from .discharge import is_ref_type
from .refs import is_ref


class _Marker:
    """An object that says one thing by its type. It is a pytree without leaves."""

    __slots__ = ()

    def __init_subclass__(cls):
        registry[cls] = NodeType(cls, lambda x: ((), ()), lambda *_: cls())

    def __repr__(self):
        return f"{type(self).__name__}()"


class GradValue(_Marker):
    """In `with_refs`: return the cotangent of this argument."""


class DontWant(_Marker):
    """In `with_refs`: the cotangent of this argument is not wanted."""


class GradRef(_Marker):
    """A result of `with_refs`: the cotangent has been added to the reference."""


class DidntWant(_Marker):
    """A result of `with_refs`: the cotangent was not wanted."""


ad = types.SimpleNamespace(
    DontWant=DontWant, DidntWant=DidntWant, GradRef=GradRef, GradValue=GradValue)

# ----------------------------------------------------------------------------------------------
# The pullback


class NotNeeded(_Marker):
    """In `VJP.args_res`: the derivative does not need this argument."""



class VJP:
    """What `jax.vjp` returns: a function from a cotangent of the result to those of the arguments.

    It is a pytree of its residuals.

    Attributes:
      jaxpr: the derivative, from residuals and tangents to tangents.
      in_tree, out_tree: the structures of the tuple of arguments, and of the result.
      args_res: for each leaf of the arguments, itself if it is a residual, or `NotNeeded()`.
      opaque_residuals: the other residuals.
    """

    def __init__(self, derivative: api.Linearization, places: tuple[int | None, ...],
                 args_res: list, opaque_residuals: list):
        self.derivative, self.places = derivative, places
        self.args_res, self.opaque_residuals = args_res, opaque_residuals

    jaxpr = property(lambda self: self.derivative.jaxpr)
    in_tree = property(lambda self: self.derivative.in_tree)
    out_tree = property(lambda self: self.derivative.out_tree)

    @property
    def residuals(self) -> list:
        """All residuals, in the order of the jaxpr's constants."""
        opaque = iter(self.opaque_residuals)
        return [next(opaque) if i is None else self.args_res[i] for i in self.places]

    @api_boundary
    def __call__(self, out_ct, *more):
        checks.one_cotangent(self.derivative.name, more)
        return api._pull_back(self.derivative, self.residuals, out_ct)

    def with_refs(self, *targets: Any) -> Callable:
        """A function from a cotangent of the result to a tuple like the arguments.

        Args:
          *targets: in the structure of the arguments, what to do with each cotangent: a reference
            to which it is added, `jax.ad.GradValue()` or `jax.ad.DontWant()`. The cotangent of a
            reference needs a reference.

        >>> ref = jax.new_ref(1.0)
        >>> _, f_vjp = jax.vjp(lambda x: x * x, 3.0)
        >>> f_vjp.with_refs(ref)(1.0), ref
        ((GradRef(),), Ref(7., dtype=float32, weak_type=True))
        """
        in_avals, in_tree = self.derivative.in_avals, self.in_tree
        leaves = in_tree.flatten_up_to(tuple(targets))
        checks.targets(leaves, in_avals, is_ref, is_ref_type, (GradValue, DontWant))

        @api_boundary
        def pull_back(out_ct):
            cts, tree = tree_flatten(out_ct)
            core_checks.vjp_cotangents(self.derivative.name, self.derivative.out_tree,
                                       self.derivative.out_avals, cts, tree)
            derivative, args = _accumulators(self.derivative, leaves)
            cts = api._leaf_cotangents(derivative, self.residuals, cts, args)
            return in_tree.unflatten(map(_delivered, leaves, cts))

        return pull_back

    def __repr__(self):
        return (f"VJP({self.derivative.name}, in_tree={self.in_tree}, out_tree={self.out_tree}, "
                f"args_res={self.args_res}, opaque_residuals={self.opaque_residuals})")


def _accumulators(derivative: api.Linearization, targets: Sequence) -> tuple:
    """The derivative without what only unwanted cotangents need, and the accumulators for it."""
    targets = [target for target, aval in zip(targets, derivative.in_avals)
               if api._has_tangents(aval)]
    invars = derivative.jaxpr.invars
    unwanted = {v for v, target in zip(invars, targets) if isinstance(target, DontWant)}
    jaxpr = _without(derivative.jaxpr, unwanted) if unwanted else derivative.jaxpr
    args = [RefAccum(v.aval, target) if is_ref(target) else UndefinedPrimal(v.aval)
            for v, target in zip_longest(jaxpr.invars, targets)]
    return derivative._replace(jaxpr=jaxpr), args


def _without(jaxpr: Jaxpr, unwanted: set) -> Jaxpr:
    """A linear jaxpr without the equations that depend on no other argument than `unwanted` ones.

    Their results that other equations read become arguments.
    """
    wanted, unwanted = {*jaxpr.invars} - unwanted, {*unwanted}
    eqns, read = [], dict.fromkeys(jaxpr.invars)
    for eqn in jaxpr.eqns:
        operands = [v for v in eqn.invars if type(v) is not Literal]
        if wanted.isdisjoint(operands) and not unwanted.isdisjoint(operands):
            unwanted.update(eqn.outvars)
            continue
        eqns.append(eqn)
        read.update(dict.fromkeys(v for v in operands if v in unwanted))
        if not wanted.isdisjoint(operands):
            wanted.update(eqn.outvars)
    return jaxpr.replace(invars=[*read], eqns=eqns)


def _delivered(target, ct):
    """What to show for an argument."""
    if isinstance(target, GradValue):
        return instantiate_zeros(ct)
    return DidntWant() if isinstance(target, DontWant) else GradRef()


registry[VJP] = NodeType(
    VJP,
    lambda vjp: ((vjp.args_res, vjp.opaque_residuals), (vjp.derivative, vjp.places)),
    lambda aux, children: VJP(*aux, *children),
)


class Pullbacks(Extension):
    """`vjp` returns a `VJP`."""

    def linear_function(self, f, derivative, residuals, primals):
        if primals is None:
            return NotImplemented
        leaves = tree_flatten(tuple(primals))[0]
        number = {id(x): i for i, x in enumerate(leaves)}
        places = tuple(number.get(id(x)) for x in residuals)
        args_res = [x if i in places else NotNeeded() for i, x in enumerate(leaves)]
        opaque = [x for x, i in zip(residuals, places) if i is None]
        return VJP(derivative, places, args_res, opaque)


register(Pullbacks())
