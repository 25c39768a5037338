"""Chapter 15: reverse mode that accumulates into references.

    vjp(f, x)[1].with_refs(ref) : cotangent of f(x) → ref += cotangent of x

`jax.vjp` returns a `VJP`. Besides being a function of the cotangent, it shows the residuals, and
`with_refs` says where to put the result. If the function takes references, the derivative is
discharged: on entry, the reference for the cotangent holds that of the final contents, and
afterwards that of the first ones.

The counterpart in JAX is `VJP` in `jax/_src/api.py`.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Sequence
from typing import Any

from ..checks.arguments import check_callable
from ..core import api
from ..core.jaxpr import ClosedJaxpr
from ..core.tree import NodeType, registry, tree_flatten
from ..errors import api_boundary
from . import checks
from .discharge import discharge, is_ref_type
from .primitives import addupdate_p, contents_of, inner_type, swap_p
from .refs import is_ref


class _Marker:
    """An object that says one thing by its type. It is a pytree without leaves."""

    __slots__ = ()

    def __init_subclass__(cls):
        registry[cls] = NodeType(cls, lambda x: ((), None), lambda *_: cls())

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
            cts = self._leaf_cotangents(out_ct, leaves)
            return in_tree.unflatten(map(_deliver, in_avals, leaves, cts))

        return pull_back

    def _leaf_cotangents(self, out_ct, targets) -> Sequence:
        """The cotangents of the arguments; of a reference, that of its first contents."""
        derivative = self.derivative
        refs = [ref for ref, aval in zip(targets, derivative.in_avals) if is_ref_type(aval)]
        if not refs:
            return tree_flatten(api._pull_back(derivative, self.residuals, out_ct))[0]
        pure = discharge(ClosedJaxpr(derivative.jaxpr, self.residuals))
        nonzeros = (*derivative.nonzeros, *[True] * len(refs))
        in_avals = tuple(map(inner_type, derivative.in_avals))
        changed = derivative._replace(jaxpr=pure.jaxpr, nonzeros=nonzeros, in_avals=in_avals)
        final = [*map(contents_of, refs)]
        return api._leaf_cotangents(changed, pure.consts, [*tree_flatten(out_ct)[0], *final])

    def __repr__(self):
        return (f"VJP({self.derivative.name}, in_tree={self.in_tree}, out_tree={self.out_tree}, "
                f"args_res={self.args_res}, opaque_residuals={self.opaque_residuals})")


def _deliver(aval, target, ct):
    """Put the cotangent of an argument where it is wanted; returns what to show for it."""
    if isinstance(target, GradValue):
        return ct
    if isinstance(target, DontWant):
        return DidntWant()
    if is_ref_type(aval):
        swap_p.bind(target, ct, tree=())
    else:
        addupdate_p.bind(target, ct, tree=())
    return GradRef()


registry[VJP] = NodeType(
    VJP,
    lambda vjp: ((vjp.args_res, vjp.opaque_residuals), (vjp.derivative, vjp.places)),
    lambda aux, children: VJP(*aux, *children),
)


@api_boundary
@functools.wraps(api.vjp)
def vjp(fun: Callable, *primals, has_aux: bool = False, reduce_axes=()) -> Any:
    check_callable(fun)
    out, derivative, residuals, aux = api._linearize("vjp", fun, primals, has_aux)
    leaves = tree_flatten(tuple(primals))[0]
    number = {id(x): i for i, x in enumerate(leaves)}
    places = tuple(number.get(id(x)) for x in residuals)
    args_res = [x if i in places else NotNeeded() for i, x in enumerate(leaves)]
    opaque = [x for x, i in zip(residuals, places) if i is None]
    return out, VJP(derivative, places, args_res, opaque), *aux
