"""Convolution against JAX: options × transformations, shapes, errors, and what XLA makes of it."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import minijax
from tests.oracle import jax
from tests.oracle.compare import both

# name: shape of lhs, shape of rhs, strides, padding, options
CASES = {
    "valid": ((2, 3, 7, 6), (4, 3, 3, 2), (1, 1), "VALID", {}),
    "same": ((2, 3, 7, 6), (4, 3, 3, 2), (2, 1), "SAME", {}),
    "same lower": ((2, 3, 7), (4, 3, 4), (2,), "same_lower", {}),
    "uneven": ((2, 3, 7, 6), (4, 3, 3, 2), (2, 3), [(2, 0), (-1, 3)], {}),
    "dilated kernel": ((1, 2, 9), (3, 2, 3), (2,), [(1, 2)], {"rhs_dilation": (2,)}),
    "dilated array": ((1, 2, 5), (3, 2, 3), (2,), [(1, 2)], {"lhs_dilation": (3,)}),
    "all dilated": ((1, 2, 5), (3, 2, 3), (1,), [(-1, 4)],
                    {"lhs_dilation": (3,), "rhs_dilation": (2,)}),
    "channels last": ((2, 7, 6, 3), (3, 2, 3, 4), (1, 2), "SAME",
                      {"dimension_numbers": ("NHWC", "HWIO", "NHWC")}),
    "odd order": ((7, 3, 6, 2), (4, 2, 3, 3), (1, 2), [(0, 1), (1, 0)],
                  {"dimension_numbers": ("HCWN", "OWHI", "WNCH")}),
    "feature groups": ((2, 6, 7), (8, 3, 3), (1,), "SAME", {"feature_group_count": 2}),
    "depthwise": ((2, 7, 4), (3, 1, 8), (2,), "VALID",
                  {"feature_group_count": 4, "dimension_numbers": ("NWC", "WIO", "NWC")}),
    "batch groups": ((6, 3, 7), (4, 3, 3), (1,), "VALID", {"batch_group_count": 2}),
    "no space": ((5, 3), (4, 3), (), "VALID", {}),
    "three": ((1, 2, 3, 4, 3), (2, 2, 2, 2, 2), (1, 1, 1), "SAME", {}),
    "nothing": ((0, 3, 7), (4, 3, 3), (1,), "SAME", {}),
    "no window": ((2, 3, 2), (4, 3, 5), (1,), "VALID", {}),
}


def convolution(m, name):
    _, _, strides, padding, options = CASES[name]
    return lambda x, y: m.lax.conv_general_dilated(x, y, strides, padding, **options)


def operands(name, *batch):
    rng = np.random.default_rng(0)
    return [rng.normal(size=(*batch, *CASES[name][i])).astype(np.float32) for i in (0, 1)]


def ints(shape):
    """JAX computes shapes with NumPy's integers."""
    return tuple(map(int, shape))


def squares(m, f):
    return lambda *args: (f(*args) ** 2).sum()


@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name):
    def program(m):
        f = convolution(m, name)
        g = m.grad(squares(m, f), (0, 1))
        return lambda x, y: (f(x, y), m.jvp(f, (x, y), (y.mean() * x, y - 1)), m.jit(g)(x, y),
                             m.make_jaxpr(f)(x, y), m.make_jaxpr(g)(x, y))

    both(program, *operands(name))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "complex64", "int32", "uint8", "bool"])
def test_dtypes(dtype):
    x, y = (np.asarray(minijax.numpy.asarray(a * 3).astype(dtype)) for a in operands("valid"))
    if dtype == "complex64":
        x = x + 1j * x[::-1]

    def program(m):
        f = convolution(m, "valid")
        return lambda x, y: (f(x, y), m.make_jaxpr(f)(x, y))

    both(program, x, y)


@pytest.mark.parametrize("dtype, preferred", [("bfloat16", "float32"), ("int8", "int32"),
                                              ("int32", "int8"), ("float32", "bfloat16")])
def test_preferred_element_type(dtype, preferred):
    x, y = (np.asarray(minijax.numpy.asarray(a * 3).astype(dtype)) for a in operands("valid"))

    def program(m):
        f = lambda x, y: m.lax.conv(x, y, (1, 1), "SAME", "highest", np.dtype(preferred))
        g = m.grad(lambda x, y: f(x, y).astype("float32").sum(), (0, 1))
        first = (f, g) if "float" in dtype else (f,)
        return lambda x, y: ([h(x, y) for h in first], [m.make_jaxpr(h)(x, y) for h in first])

    both(program, x, y)


@pytest.mark.parametrize("policy", ["dots_saveable", "dots_with_no_batch_dims_saveable"])
def test_checkpoint_can_keep_its_result(policy):
    """How often it is computed: once more in the backward pass, or not."""
    x, y = operands("same")

    def program(m):
        f = m.checkpoint(lambda x, y: m.lax.sin(convolution(m, "same")(m.lax.sin(x), y)).sum(),
                         policy=getattr(m.checkpoint_policies, policy))
        g = m.grad(f)
        return lambda: (g(x, y), str(m.make_jaxpr(g)(x, y)).count("conv_general_dilated["))

    both(program)


@pytest.mark.parametrize("name", ["same", "feature groups"])
def test_each_rule_is_one_convolution(name):
    """As in JAX, whose compiled program has the same operations and as many flops."""
    args = operands(name)
    for transform in (lambda m, f: f, lambda m, f: m.grad(squares(m, f), 0),
                      lambda m, f: m.grad(squares(m, f), 1),
                      lambda m, f: lambda x, y: m.vmap(f, (None, 0))(x, y[None] * y.mean())):
        compiled = [m.jit(transform(m, convolution(m, name))).lower(*args).compile()
                    for m in (jax, minijax)]
        expected, actual = (Counter(re.findall(r"= \S+ ([\w-]+)\(", c.as_text())) for c in compiled)
        assert actual == expected and 0 < actual["convolution"] <= 2
        flops, own_flops = (c.cost_analysis()["flops"] for c in compiled)
        assert own_flops == flops


def test_a_training_step_compiles_as_in_jax():
    """Of a convolutional network: the same operations, and as many flops."""
    shapes = {"kernel": (3, 3, 1, 4), "bias": (4,), "kernel2": (3, 3, 4, 8), "weights": (72, 10)}
    params = {name: np.ones(shape, np.float32) for name, shape in shapes.items()}
    images, labels = np.ones((4, 12, 12, 1), np.float32), np.eye(4, 10, dtype=np.float32)

    def step(m):
        layout = ("NHWC", "HWIO", "NHWC")

        def layer(x, kernel):
            x = m.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=layout)
            return m.lax.reduce_window(m.nn.relu(x), -np.inf, m.lax.max, (1, 2, 2, 1), (1, 2, 2, 1))

        def loss(p, images, labels):
            x = layer(layer(images, p["kernel"]) + p["bias"], p["kernel2"])
            scores = m.nn.log_softmax(x.reshape(4, -1) @ p["weights"])
            return -(scores * labels).mean()

        return m.jit(lambda p, *data: m.tree.map(lambda x, g: x - 0.1 * g, p,
                                                 m.grad(loss)(p, *data)))

    compiled = [step(m).lower(params, images, labels).compile() for m in (jax, minijax)]
    expected, actual = (Counter(re.findall(r"= \S+ ([\w-]+)\(", c.as_text())) for c in compiled)
    assert actual == expected
    flops, own_flops = (c.cost_analysis()["flops"] for c in compiled)
    assert own_flops == flops


@st.composite
def convolutions(draw):
    """Shapes and options of any convolution, most of them good ones."""
    ndim = draw(st.integers(0, 3))
    small, each = st.integers(1, 4), lambda strategy: [draw(strategy) for _ in range(ndim)]
    groups, features = draw(st.integers(1, 3)), draw(small)
    by_batch = draw(st.booleans())
    lhs = [draw(small) * (groups if by_batch else 1), features * (1 if by_batch else groups),
           *each(st.integers(0, 6))]
    rhs = [groups * draw(small), features, *each(small)]
    options = {"lhs_dilation": each(st.integers(1, 3)), "rhs_dilation": each(st.integers(0, 2)),
               f"{'batch' if by_batch else 'feature'}_group_count": groups}
    orders = [draw(st.permutations(range(ndim + 2))) for _ in range(3)]
    shapes = [[dict(zip(order, shape))[d] for d in range(ndim + 2)]
              for order, shape in zip(orders, (lhs, rhs))]
    padding = each(st.tuples(st.integers(-1, 3), st.integers(-1, 3)))
    return shapes, each(st.integers(1, 3)), padding, orders, options


@settings(max_examples=25, deadline=None)
@given(convolutions())
def test_shapes_of_any_convolution(case):
    (lhs, rhs), strides, padding, orders, options = case

    def program(m):
        def f(x, y):
            numbers = m.lax.ConvDimensionNumbers(*map(tuple, orders))
            return m.lax.conv_general_dilated(x, y, strides, padding, **options,
                                              dimension_numbers=numbers)

        g = lambda x, y: m.vjp(f, x, y)[1](f(x, y))
        return lambda: [m.make_jaxpr(h)(*(m.ShapeDtypeStruct(n, "float32") for n in (lhs, rhs)))
                        for h in (f, g)]

    both(program)


# ----------------------------------------------------------------------------------------------
# Functions

FUNCTIONS = {
    "conv": lambda m, x, y: m.lax.conv(x, y, (1, 2), "SAME"),
    "general padding": lambda m, x, y:
        m.lax.conv_with_general_padding(x, y, (1, 2), [(0, 1), (2, 0)], (1, 2), (2, 1)),
    "patches": lambda m, x, y: m.lax.conv_general_dilated_patches(x, (2, 3), (1, 2), "SAME"),
    "patches, last": lambda m, x, y: m.lax.conv_general_dilated_patches(
        x, (2, 3), (1, 2), "VALID", None, (1, 2), ("NHWC", "WHIO", "CWHN"), m.lax.Precision.HIGH),
    "local": lambda m, x, y: m.lax.conv_general_dilated_local(
        x, x.sum() * m.numpy.ones((4, 12, 6, 5)), (1, 1), "VALID", (2, 2)),
    "local, last": lambda m, x, y: m.lax.conv_general_dilated_local(
        x, x.sum() * m.numpy.ones((4, 2, 2, 24)), (1, 2), "VALID", (3, 2), None, None,
        ("NHWC", "WHOI", "CWHN"), "highest"),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    both(lambda m: lambda *args: (FUNCTIONS[name](m, *args),
                                  m.make_jaxpr(lambda *args: FUNCTIONS[name](m, *args))(*args)),
         *operands("same"))


@pytest.mark.parametrize("strides", [(1, 1), (2, 3), (4, 2)])
@pytest.mark.parametrize("padding", ["SAME", "VALID", [(1, 2), (0, 1)]])
def test_conv_transpose(strides, padding):
    x, y = operands("channels last")

    def program(m):
        f = lambda x, y: m.lax.conv_transpose(x, y, strides, padding, (2, 1))
        return lambda x, y: (f(x, y), m.make_jaxpr(f)(x, y), m.lax.conv_transpose(
            x, y, strides, padding, use_consistent_padding=True))

    both(program, x, y)
    numbers = ("NHWC", "HWOI", "NHWC")
    both(lambda m: lambda *args: (
        ints(m.lax.conv_transpose_shape_tuple(*args, padding, numbers)),
        ints(m.lax.conv_general_shape_tuple(x.shape, (2, 2, 3, 5), strides, padding,
                                            ("NHWC", "HWIO", "NHWC")))),
         x.shape, (3, 2, 5, 3), strides)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_the_transposed_convolution_is_the_gradient(padding):
    """With its kernel transposed, and with one or three dimensions too."""
    x, y = np.ones((1, 8, 3), np.float32), operands("valid")[1][..., 0]  # (4, 3, 3)
    y = np.transpose(y, (2, 1, 0))

    def program(m):
        forward = lambda x: m.lax.conv_general_dilated(
            x, y, (2,), padding, dimension_numbers=("NWC", "WIO", "NWC"))
        ct = forward(x)
        backward = lambda ct, y: m.lax.conv_transpose(ct, y, (2,), padding, transpose_kernel=True)
        return lambda: (backward(ct, y), m.make_jaxpr(backward)(ct, y), m.vjp(forward, x)[1](ct),
                        m.lax.conv_transpose(x[:, 0], y[0], (), padding))

    both(program)


def test_dimension_numbers():
    shapes = (1, 2, 3, 4), (1, 2, 3, 4)
    specs = ("NXYC", "YXOI", "CNYX")
    both(lambda m: lambda: (str(m.lax.conv_dimension_numbers(*shapes, None)),
                            str(m.lax.conv_dimension_numbers(*shapes, [*specs])),
                            m.lax.conv_general_permutations(specs),
                            m.lax.padtype_to_pads((7, 8), (3, 4), (2, 3), "same"),
                            ints(m.lax.conv_shape_tuple((1, 2, 9), (3, 2, 4), (2,), "SAME"))))
