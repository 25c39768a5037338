"""`minijax.nn` and `scipy.special.logsumexp`: values, derivatives and jaxprs as JAX's."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import both, in_both, subject

X = np.array([-30.0, -3.0, -0.7, 0.0, 0.4, 1.0, 2.5, 40.0], np.float32)
MASK = np.array([1, 0, 1, 1, 1, 0, 1, 1], bool)

ACTIVATIONS = """relu relu6 hard_sigmoid hard_silu hard_swish sigmoid softplus silu swish gelu
    leaky_relu elu selu celu log_sigmoid hard_tanh squareplus soft_sign glu mish sparse_plus
    sparse_sigmoid softmax log_softmax logsumexp logmeanexp standardize""".split()
NEED_AN_AXIS = {"glu", "softmax", "log_softmax", "logsumexp", "logmeanexp", "standardize"}
# Where the text differs: by a literal that JAX does not round to its type.
OTHER_TEXT = {"gelu"}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_values_and_derivatives(name):
    def program(jx):
        f = getattr(jx.nn, name)
        first = jx.grad(lambda x: jx.numpy.sum(jx.numpy.sin(f(x))))
        second = jx.grad(lambda x: jx.numpy.sum(first(x) * x))
        third = jx.grad(lambda x: jx.numpy.sum(second(x) * x))
        return lambda: (f(X), first(X), second(X), third(X[1:-1]), jx.jit(first)(X),
                        jx.vmap(f)(X.reshape(2, 4)))

    both(program, tol=2e-4)


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("x", [X, np.float32(0.5), np.float16(0.5)], ids=["vector", "f32", "f16"])
def test_jaxpr_text(name, x):
    if name in NEED_AN_AXIS and not x.ndim:
        x = np.stack([x, x])
    both(lambda jx: jx.make_jaxpr(getattr(jx.nn, name)), x, text=name not in OTHER_TEXT)


@pytest.mark.parametrize("name", "softmax log_softmax logsumexp logmeanexp standardize".split())
@pytest.mark.parametrize("options", [{"axis": 0}, {"axis": (0, 1)}, {"axis": -1},
                                     {"where": MASK.reshape(2, 4)}], ids=str)
def test_axes_and_masks(name, options):
    def program(jx):
        f = lambda x: getattr(jx.nn, name)(x, **options)
        return lambda x: (f(x), jx.grad(lambda x: jx.numpy.sum(jx.numpy.sin(f(x))))(x))

    both(program, X.reshape(2, 4), tol=2e-4)


@pytest.mark.parametrize("options", [
    {"b": X}, {"b": X, "return_sign": True}, {"b": -X}, {"keepdims": True}, {"where": MASK},
    {"axis": 0}], ids=str)
@in_both
def test_logsumexp(jx, options):
    f = lambda x: jx.scipy.special.logsumexp(x, **options)
    return (f(X), f(X.astype("float16")), jx.jit(f)(X))


def test_logsumexp_does_not_overflow():
    both(lambda jx: lambda: [jx.nn.logsumexp(np.array(x, np.float32)) for x in (
        [1000, 1000], [-1000, -1000], [np.inf, 0], [-np.inf, -np.inf])])


def test_logaddexp_at_infinity():
    """Its rule is right where differentiating its code would give NaN."""
    points = [(np.inf, np.inf), (-np.inf, -np.inf), (np.inf, 0.0), (-np.inf, 0.0), (1e3, -1e3)]

    def program(jx):
        grads = [jx.grad(f, (0, 1)) for f in (jx.numpy.logaddexp, jx.numpy.logaddexp2)]
        return lambda: [grad(x, y) for grad in grads for x, y in points]

    both(program)


@pytest.mark.parametrize("options", [{}, {"axis": 0}, {"dtype": "int32"}], ids=str)
def test_one_hot(options):
    def program(jx):
        f = lambda x: jx.nn.one_hot(x, 4, **options)
        return lambda x: (f(x), jx.make_jaxpr(f)(x))

    both(program, np.array([0, 3, 7, -1], np.int32))


CALLS = {
    "relu6 at its ends": lambda jx: [jx.grad(jx.nn.relu6)(x) for x in (0.0, 6.0, 3.0)],
    "log1mexp": lambda jx: (jx.nn.log1mexp(np.array([1e-10, 0.5, 50], "f4")),
                            jx.grad(jx.nn.log1mexp)(1e-5)),
    "identity": lambda jx: jx.nn.identity(1.0),
    "parameters": lambda jx: (jx.nn.elu(X, 2.0), jx.nn.celu(X, 2.0), jx.nn.leaky_relu(X, 0.3),
                              jx.nn.squareplus(X, 1.0)),
    "exact gelu": lambda jx: [f(X) for f in (
        lambda x: jx.nn.gelu(x, approximate=False), lambda x: jx.nn.gelu(x.astype("float16"), False),
        jx.grad(lambda x: jx.numpy.sum(jx.nn.gelu(x, approximate=False) ** 2)))],
    "odd glu": lambda jx: jx.nn.glu(X[:3]),
    "integer sigmoid": lambda jx: jx.nn.sigmoid(np.arange(3)),
    "string": lambda jx: jx.nn.silu("a"),
    "stable": lambda jx: jx.nn.standardize(X, algorithm="stable"),
    "unknown algorithm": lambda jx: jx.nn.standardize(X, algorithm="best"),
    "traced num_classes": lambda jx: jx.jit(lambda n: jx.nn.one_hot(1, n))(3),
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_calls(call):
    both(lambda jx: lambda: CALLS[call](jx))


@pytest.mark.parametrize("x", [1.0, np.float16(1)])
def test_classes_are_integers(x):
    with pytest.warns(DeprecationWarning, match="jax.nn.one_hot input should be integer-typed"):
        subject.nn.one_hot(subject.numpy.array([x]), 3)
