"""Chapter 11: tokens, values without contents that operations could be ordered by.

JAX and minijax order effects by themselves, so nothing but these two functions takes a token. The
counterparts in JAX are in `jax/_src/lax/lax.py` and `jax/_src/core.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.array import Array
from ..core.core import Primitive, ShapedArray, Tracer
from ..core.dtypes import ExtendedDType, extended
from ..core.lowering import ir_type_handlers, register_lowering


class TokenScalar(extended):
    """Scalar class of the dtype of tokens; exists for `issubdtype`."""


class TokenDType(ExtendedDType):
    """The dtype of tokens."""

    type = TokenScalar
    name = "Tok"
    storage = np.dtype(bool)

    def __repr__(self):
        return "Tok"


class AbstractToken(ShapedArray):
    """The abstract value of a token.

    >>> jax.typeof(jax.lax.create_token())
    AbstractToken()
    """

    __slots__ = ()
    _interned: dict[tuple, ShapedArray] = {}

    def __new__(cls):
        return cls._intern((), TOKEN_DTYPE, False, None)

    def str_short(self, short_dtypes: bool = False) -> str:
        """`Tok`"""
        return "Tok"

    def update(self, **changes) -> AbstractToken:
        """Itself: there is one type of tokens."""
        if changes.get("shape"):
            raise TypeError(f"There are no arrays of tokens, here of shape {changes['shape']}.")
        return self

    def strip_weak_type(self) -> AbstractToken:
        """Itself."""
        return self

    def to_tangent_aval(self) -> AbstractToken:
        """Tokens are alike."""
        return self

    to_cotangent_aval = to_ct_aval = to_tangent_aval

    def __reduce__(self):
        return AbstractToken, ()

    def __repr__(self):
        return "AbstractToken()"

    __str__ = __repr__


TOKEN_DTYPE = TokenDType()
abstract_token = AbstractToken()
ir_type_handlers[AbstractToken] = ir_type_handlers[ShapedArray]


class _TokenClass(type):
    """Arrays and tracers that hold a token count as instances of `Token`."""

    def __instancecheck__(cls, x):
        return isinstance(x, (Array, Tracer)) and x.aval is abstract_token


class Token(metaclass=_TokenClass):
    """The class of what `create_token` returns, for `isinstance`."""


create_token_p = Primitive("create_token")
after_all_p = Primitive("after_all")


@create_token_p.def_impl
def _new(*_operands):
    return Array(np.True_, abstract_token)


create_token_p.def_abstract_eval(lambda *_avals: abstract_token)


@after_all_p.def_impl
def _after_all(*tokens):
    _check(tokens)
    for token in tokens:
        token.block_until_ready()
    return _new()


@after_all_p.def_abstract_eval
def _type_after_all(*avals):
    if any(aval is not abstract_token for aval in avals):
        raise TypeError(f"after_all: expected tokens, as create_token returns them; got {avals}.")
    return abstract_token


def _check(tokens):
    if not all(isinstance(token, Token) for token in tokens):
        raise TypeError(f"after_all: expected tokens, as create_token returns them; got {tokens}.")


def _lower(ctx, *tokens):
    """In a program, a token is a constant: XLA has nothing to order."""
    return ctx.op("stablehlo.constant dense<true> : tensor<i1>", abstract_token)


register_lowering(create_token_p, _lower)
register_lowering(after_all_p, _lower)


def create_token(_: Any = None) -> Any:
    """A new token. The argument says nothing, as in JAX.

    >>> isinstance(jax.lax.create_token(), jax.extend.core.Token)
    True
    """
    return create_token_p.bind()


def after_all(*operands: Any) -> Any:
    """One token for several.

    Args:
      *operands: tokens.

    Raises:
      TypeError: an operand is not a token.

    >>> token = jax.lax.after_all(jax.lax.create_token(), jax.lax.create_token())
    >>> jax.typeof(token)
    AbstractToken()
    """
    _check(operands)
    return after_all_p.bind(*operands)
