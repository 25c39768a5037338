"""Chapter 3: functions as pytrees."""

import functools
from collections.abc import Callable
from dataclasses import dataclass

from ..core.boundary import public
from ..core.extension import Extension, register
from ..core.tree import NodeType, registry


@dataclass(frozen=True)
class _HashableCallableShim:
    """A callable in which `functools.partial` does not recognise a partial."""

    fun: Callable
    args = property(lambda self: self.fun.args)  # libraries read the arguments of a partial

    @public
    def __call__(self, *args, **kwargs):
        return self.fun(*args, **kwargs)

    def __eq__(self, other: object) -> bool:
        return self.fun == (other.fun if isinstance(other, _HashableCallableShim) else other)

    def __hash__(self) -> int:
        return hash(self.fun)

    def __repr__(self):
        return f"{type(self).__name__}({self.fun!r})"


class Partial(functools.partial):
    """`functools.partial` as a pytree: the bound arguments are children, the function is aux data.

    This way functions with their data can go in and out of `jit` and the other transformations.

    >>> import minijax as jax
    >>> add_one = jax.tree_util.Partial(lambda x, y: x + y, 1)
    >>> add_one(2), jax.tree.leaves(add_one)
    (3, [1])
    """

    def __new__(cls, func, *args, **kwargs):
        # Python turns partial(partial(f, 1), 2) into partial(f, 1, 2). But the arguments bound in
        # `func` need not be pytrees, so they must stay part of the function.
        if isinstance(func, functools.partial):
            func = _HashableCallableShim(func)
        return super().__new__(cls, func, *args, **kwargs)


registry[Partial] = NodeType(
    Partial,
    lambda partial: ((partial.args, partial.keywords), partial.func),
    lambda func, children: Partial(func, *children[0], **children[1]),
)


class Partials(Extension):
    """The linear function that `linearize` returns is a pytree."""

    def linear_function(self, f, derivative, residuals, primals):
        return Partial(f, residuals) if primals is None else NotImplemented


register(Partials())
