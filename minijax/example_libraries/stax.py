"""Layers as pairs of functions, and ways to compose them.

A layer is `(init_fun, apply_fun)`:

    output_shape, params = init_fun(key, input_shape)
    outputs = apply_fun(params, inputs, rng=None)

Parameters are pytrees, so that `grad`, `jit` and the optimisers take them as they are. A batch size
that is not known yet is written -1 in the shapes.

>>> init_fun, predict = serial(Dense(8), Relu, Dense(2), LogSoftmax)
>>> shape, params = init_fun(jax.random.key(0), (-1, 4))
>>> shape, predict(params, jnp.ones((3, 4))).shape
((-1, 2), (3, 2))
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from .. import nn, numpy as jnp, random
from ..checks.sequences import iterable
from ..core.boundary import public
from ..lax import elementwise as lax
from ..lax.convolution import conv_general_dilated
from ..lax.convolution_functions import (
    conv_general_shape_tuple,
    conv_transpose,
    conv_transpose_shape_tuple,
)
from ..lax.sliding import padtype_to_pads
from ..lax.windowed_reductions import reduce_window, reduce_window_shape_tuple
from ..nn.initializers import glorot_normal, normal, ones, zeros

Layer = tuple[Callable, Callable]

glorot, randn, logsoftmax = glorot_normal, normal, nn.log_softmax  # their old names
_glorot, _near_zero, _nearly_zero = glorot_normal(), normal(), normal(1e-6)

# ----------------------------------------------------------------------------------------------
# Layers with weights


def Dense(out_dim: int, W_init=_glorot, b_init=_near_zero) -> Layer:
    """inputs · W + b, for inputs [..., n] and outputs [..., out_dim]."""
    def init_fun(rng, input_shape):
        key_W, key_b = random.split(rng)
        W, b = W_init(key_W, (input_shape[-1], out_dim)), b_init(key_b, (out_dim,))
        return (*input_shape[:-1], out_dim), (W, b)

    def apply_fun(params, inputs, **kwargs):
        W, b = params
        return jnp.dot(inputs, W) + b

    return init_fun, apply_fun


def GeneralConv(dimension_numbers, out_chan: int, filter_shape: Sequence[int], strides=None,
                padding="VALID", W_init=None, b_init=_nearly_zero) -> Layer:
    """A convolution with a window of weights for each of `out_chan` features.

    Args:
      dimension_numbers: three strings, as for `lax.conv_general_dilated`.
      out_chan: the number of output features.
      filter_shape, strides, padding: the window, as for `lax.conv_general_dilated`.
      W_init, b_init: initializers.
    """
    strides = strides or (1,) * len(filter_shape)

    def convolve(inputs, W):
        ones = (1,) * len(filter_shape)
        return conv_general_dilated(inputs, W, strides, padding, ones, ones,
                                    dimension_numbers=dimension_numbers)

    def output_shape(input_shape, kernel_shape):
        return conv_general_shape_tuple(input_shape, kernel_shape, strides, padding,
                                        dimension_numbers)

    return _window_layer(dimension_numbers, out_chan, filter_shape, W_init, b_init, convolve,
                         output_shape)


def GeneralConvTranspose(dimension_numbers, out_chan: int, filter_shape: Sequence[int],
                         strides=None, padding="VALID", W_init=None, b_init=_nearly_zero) -> Layer:
    """The transpose of a convolution, which makes images larger: see `lax.conv_transpose`.

    Args: as for `GeneralConv`.
    """
    strides = strides or (1,) * len(filter_shape)

    def convolve(inputs, W):
        return conv_transpose(inputs, W, strides, padding, dimension_numbers=dimension_numbers)

    def output_shape(input_shape, kernel_shape):
        return conv_transpose_shape_tuple(input_shape, kernel_shape, strides, padding,
                                          dimension_numbers)

    return _window_layer(dimension_numbers, out_chan, filter_shape, W_init, b_init, convolve,
                         output_shape)


def _window_layer(dimension_numbers, out_chan, filter_shape, W_init, b_init, convolve: Callable,
                  output_shape: Callable) -> Layer:
    """A layer that convolves with a kernel W and adds a bias for each output feature."""
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    W_init = W_init or glorot_normal(rhs_spec.index("I"), rhs_spec.index("O"))

    def init_fun(rng, input_shape):
        window = iter(filter_shape)
        channels = {"O": out_chan, "I": input_shape[lhs_spec.index("C")]}
        n_windows = len(set(rhs_spec) - set(channels))
        if len(filter_shape) != n_windows:
            raise ValueError(f"stax: filter_shape must have {n_windows} sizes, got {filter_shape}.")
        kernel_shape = [channels[c] if c in channels else next(window) for c in rhs_spec]
        bias_shape = [out_chan if c == "C" else 1 for c in out_spec]
        key_W, key_b = random.split(rng)
        W, b = W_init(key_W, kernel_shape), b_init(key_b, bias_shape)
        return output_shape(input_shape, kernel_shape), (W, b)

    def apply_fun(params, inputs, **kwargs):
        W, b = params
        return convolve(inputs, W) + b

    return init_fun, apply_fun


Conv = functools.partial(GeneralConv, ("NHWC", "HWIO", "NHWC"))
Conv1DTranspose = functools.partial(GeneralConvTranspose, ("NHC", "HIO", "NHC"))
ConvTranspose = functools.partial(GeneralConvTranspose, ("NHWC", "HWIO", "NHWC"))


def BatchNorm(axis=(0, 1, 2), epsilon=1e-5, center: bool = True, scale: bool = True,
              beta_init=zeros, gamma_init=ones) -> Layer:
    """gamma · standardize(inputs) + beta (Ioffe and Szegedy, 2015), with the batch's own mean.

    Args:
      axis: the axes of which mean and variance are taken.
      epsilon: added to the variance.
      center, scale: whether there is a beta, and a gamma.
      beta_init, gamma_init: initializers.
    """
    axis = (axis,) if jnp.isscalar(axis) else axis

    def init_fun(rng, input_shape):
        shape = tuple(n for d, n in enumerate(input_shape) if d not in axis)
        key_beta, key_gamma = random.split(rng)
        beta = beta_init(key_beta, shape) if center else ()
        gamma = gamma_init(key_gamma, shape) if scale else ()
        return input_shape, (beta, gamma)

    def apply_fun(params, x, **kwargs):
        beta, gamma = params
        spread = tuple(None if d in axis else slice(None) for d in range(jnp.ndim(x)))
        out = nn.standardize(x, axis, epsilon=epsilon)
        out = gamma[spread] * out if scale else out
        return out + beta[spread] if center else out

    return init_fun, apply_fun


# ----------------------------------------------------------------------------------------------
# Pooling: one number for each window


def _pooling_layer(name: str, does: str, reducer: Callable, start: float,
                   rescale: Callable | None = None) -> Callable[..., Layer]:
    """The function `name`: `reducer` over windows, then `rescale(outputs, inputs, *windows)`."""
    def pooling(window_shape, strides=None, padding="VALID", spec: str | None = None) -> Layer:
        strides = strides or (1,) * len(window_shape)
        spec = spec or f"N{'.' * len(window_shape)}C"
        windows, steps = _in_all_dimensions(window_shape, spec), _in_all_dimensions(strides, spec)

        def init_fun(rng, input_shape):
            if len(input_shape) != len(windows):
                raise ValueError(f"{name}: the layer pools arrays of {len(windows)} dimensions "
                                 f"({spec!r}), got the input shape {tuple(input_shape)}.")
            pads = padtype_to_pads(input_shape, windows, steps, padding)
            ones = (1,) * len(windows)
            return reduce_window_shape_tuple(input_shape, windows, steps, pads, ones, ones), ()

        def apply_fun(params, inputs, **kwargs):
            out = reduce_window(inputs, start, reducer, windows, steps, padding)
            return rescale(out, inputs, windows, steps, padding) if rescale else out

        return init_fun, apply_fun

    pooling.__name__ = pooling.__qualname__ = name
    pooling.__doc__ = (
        f"{does} of each window.\n\nArgs:\n"
        "  window_shape, strides, padding: the windows in the spatial dimensions, as for\n"
        "    `lax.reduce_window`.\n"
        "  spec: a character for each dimension: `N` is the batch, `C` the features.\n\n"
        f">>> {name}((2, 2))[1]((), jnp.ones((1, 4, 4, 1))).shape\n(1, 3, 3, 1)\n")
    return pooling


def _in_all_dimensions(sizes: Sequence[int], spec: str) -> tuple[int, ...]:
    """With 1 for batch and features, which are not pooled."""
    rest = iter(sizes)
    return tuple(1 if c in "NC" else next(rest) for c in spec)


def _by_window_size(outputs, inputs, windows, steps, padding):
    """Means of sums: at the border, a window holds less."""
    ones = jnp.ones([n if w > 1 else 1 for n, w in zip(inputs.shape, windows)], inputs.dtype)
    return outputs / reduce_window(ones, 0.0, lax.add, windows, steps, padding)


MaxPool = _pooling_layer("MaxPool", "The largest", lax.max, -jnp.inf)
SumPool = _pooling_layer("SumPool", "The sum", lax.add, 0.0)
AvgPool = _pooling_layer("AvgPool", "The mean", lax.add, 0.0, _by_window_size)

# ----------------------------------------------------------------------------------------------
# Layers without weights


def elementwise(fun: Callable, **fun_kwargs) -> Layer:
    """`fun(inputs, **fun_kwargs)`, which does not change the shape."""
    def apply_fun(params, inputs, **kwargs):
        return fun(inputs, **fun_kwargs)

    return lambda rng, input_shape: (input_shape, ()), apply_fun


Tanh = elementwise(jnp.tanh)
Relu = elementwise(nn.relu)
Exp = elementwise(jnp.exp)
LogSoftmax = elementwise(nn.log_softmax, axis=-1)
Softmax = elementwise(nn.softmax, axis=-1)
Softplus = elementwise(nn.softplus)
Sigmoid = elementwise(nn.sigmoid)
Elu = elementwise(nn.elu)
LeakyRelu = elementwise(nn.leaky_relu)
Selu = elementwise(nn.selu)
Gelu = elementwise(nn.gelu)
Identity = elementwise(lambda inputs: inputs)

Flatten = (
    lambda rng, input_shape: ((input_shape[0], math.prod(input_shape[1:])), ()),
    lambda params, inputs, **kwargs: jnp.reshape(inputs, (inputs.shape[0], -1)),
)


def Dropout(rate: float, mode: str = "train") -> Layer:
    """In training, keeps each number with probability `rate`, divided by it; else it is 0.

    Args:
      rate: how many are kept, as a fraction.
      mode: "train"; in any other nothing happens.

    Raises (when applied):
      ValueError: without a key as the argument `rng`.
    """
    def apply_fun(params, inputs, **kwargs):
        rng = kwargs.get("rng")
        if rng is None:
            raise ValueError("A Dropout layer needs a key of jax.random.key: call "
                             "apply_fun(params, inputs, rng=key).")
        if mode != "train":
            return inputs
        return jnp.where(random.bernoulli(rng, rate, inputs.shape), inputs / rate, 0)

    return lambda rng, input_shape: (input_shape, ()), apply_fun


# ----------------------------------------------------------------------------------------------
# Several layers


@public
def serial(*layers: Layer) -> Layer:
    """Layers one after another; the parameters are a list."""
    for layer in layers:
        iterable("stax.serial: a layer", layer, "a pair of functions (init, apply)")
    init_funs, apply_funs = zip(*layers)

    def init_fun(rng, input_shape):
        params = []
        for init in init_funs:
            rng, layer_rng = random.split(rng)
            input_shape, param = init(layer_rng, input_shape)
            params.append(param)
        return input_shape, params

    def apply_fun(params, inputs, **kwargs):
        rngs = _keys(kwargs.pop("rng", None), len(layers))
        for apply, param, rng in zip(apply_funs, params, rngs):
            inputs = apply(param, inputs, rng=rng, **kwargs)
        return inputs

    return init_fun, apply_fun


def parallel(*layers: Layer) -> Layer:
    """Layers side by side: each takes one of a sequence of inputs and gives one of the outputs.

    >>> init_fun, apply_fun = serial(FanOut(2), parallel(Identity, Tanh), FanInSum)
    >>> apply_fun(init_fun(jax.random.key(0), (1,))[1], jnp.zeros(1)).tolist()
    [0.0]
    """
    init_funs, apply_funs = zip(*layers)

    def init_fun(rng, input_shapes):
        rngs = random.split(rng, len(layers))
        pairs = [init(key, shape) for init, key, shape in zip(init_funs, rngs, input_shapes)]
        return zip(*pairs)

    def apply_fun(params, inputs, **kwargs):
        rngs = _keys(kwargs.pop("rng", None), len(layers))
        return [apply(param, x, rng=rng, **kwargs)
                for apply, param, x, rng in zip(apply_funs, params, inputs, rngs)]

    return init_fun, apply_fun


def _keys(rng, n: int):
    """A key for each of `n` layers, if there is one."""
    return (None,) * n if rng is None else random.split(rng, n)


def shape_dependent(make_layer: Callable[[Any], Layer]) -> Layer:
    """A layer that is made when the shape of its inputs is known: `make_layer(shape)`."""
    def init_fun(rng, input_shape):
        return make_layer(input_shape)[0](rng, input_shape)

    def apply_fun(params, inputs, **kwargs):
        return make_layer(inputs.shape)[1](params, inputs, **kwargs)

    return init_fun, apply_fun


def FanOut(num: int) -> Layer:
    """The inputs, `num` times."""
    return (lambda rng, input_shape: ([input_shape] * num, ()),
            lambda params, inputs, **kwargs: [inputs] * num)


FanInSum = (
    lambda rng, input_shapes: (input_shapes[0], ()),
    lambda params, inputs, **kwargs: sum(inputs),
)


def FanInConcat(axis: int = -1) -> Layer:
    """Several inputs, joined along an axis."""
    def init_fun(rng, input_shapes):
        iterable("stax.FanInConcat: input_shapes", input_shapes, "a sequence of shapes")
        first = input_shapes[0]
        place = axis % len(first)
        size = sum(shape[place] for shape in input_shapes)
        return (*first[:place], size, *first[place + 1:]), ()

    return init_fun, lambda params, inputs, **kwargs: jnp.concatenate(inputs, axis)
