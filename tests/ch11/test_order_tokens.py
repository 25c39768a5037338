"""Tokens: values without contents."""

from __future__ import annotations

import numpy as np
import pytest

import minijax
from minijax import lax
from minijax.extend.core import AbstractToken, Token
from tests.oracle import both

JAXPRS = {
    "after_all": lambda jx: jx.make_jaxpr(lambda x: jx.lax.after_all(
        jx.lax.create_token(x), jx.lax.create_token(x)))(1.0),
    "argument": lambda jx: jx.make_jaxpr(lambda t: t)(jx.lax.create_token()),
    "jit": lambda jx: jx.make_jaxpr(jx.jit(lambda t: jx.lax.after_all(t)))(jx.lax.create_token()),
    "none": lambda jx: jx.make_jaxpr(lambda: jx.lax.after_all())(),
    "typeof": lambda jx: str(jx.typeof(jx.lax.create_token())),
    "grad": lambda jx: jx.grad(lambda x: (jx.lax.create_token(x), x * x)[1])(1.0),
    "vmap": lambda jx: jx.vmap(
        lambda x: (x * 2, jx.lax.after_all(jx.lax.create_token(x)))[0])(np.ones(2)),
    "jit with arrays": lambda jx: jx.jit(lambda x: (x * 2, jx.lax.create_token(x)))(1.0)[0],
    "leaves": lambda jx: len(jx.tree.leaves({"a": jx.lax.create_token()})),
}


@pytest.mark.parametrize("name", JAXPRS)
def test_tokens(name):
    both(lambda jx: lambda: JAXPRS[name](jx))


@pytest.mark.parametrize("operand", [1.0, np.ones(2)])
def test_after_all_takes_tokens(operand):
    both(lambda jx: lambda: jx.lax.after_all(operand), raises=TypeError)
    both(lambda jx: lambda: jx.lax.create_token() + operand, raises=TypeError)


@pytest.mark.parametrize("make", [
    lax.create_token, lambda: lax.create_token(1.0), lax.after_all,
    lambda: lax.after_all(lax.create_token(), lax.create_token()),
    lambda: minijax.jit(lambda x: lax.create_token(x))(1.0),
    lambda: minijax.jit(lax.after_all)(lax.create_token(), lax.create_token()),
    lambda: minijax.lax.cond(True, lambda t: t, lax.after_all, lax.create_token()),
    lambda: minijax.lax.scan(lambda t, _: (lax.after_all(t), None), lax.create_token(), None, 3)[0],
])
def test_tokens_are_tokens(make):
    token = make()
    assert isinstance(token, Token) and minijax.typeof(token) is AbstractToken()
    token.block_until_ready()


def test_other_values_are_no_tokens():
    assert not isinstance(1.0, Token) and not isinstance(minijax.numpy.ones(2), Token)
