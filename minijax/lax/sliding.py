"""Chapter 11: what convolution and `reduce_window` share: windows that slide over an array.

Along one dimension, an array of n elements is dilated (dilation - 1 zeros, or other neutral
elements, between neighbours), then padded at both ends; a window, dilated too, starts at every
`stride`-th place at which it fits.
"""

from collections.abc import Sequence

from ..core.boundary import public
from .sizes import known_sizes


def dilated(n: int, dilation: int) -> int:
    """The length of `n` elements with `dilation - 1` others between neighbours."""
    return n if dilation == 1 else max(1 + dilation * (n - 1), 0)


def dilated_shape(shape: Sequence[int], dilation: Sequence[int]) -> tuple[int, ...]:
    """`shape` with its last dimensions dilated.

    Raises:
      TypeError: a dilation that is not positive.
    """
    if any(factor <= 0 for factor in dilation):
        raise TypeError(f"All dilations must be positive, got {tuple(dilation)}.")
    factors = (1,) * (len(shape) - len(dilation)) + tuple(dilation)
    return tuple(map(dilated, shape, factors))


def places(n: int, window: int, stride: int) -> int:
    """In how many places a window of this length fits into `n` elements."""
    return max((n - window) // stride + 1, 0)


@public
def padtype_to_pads(in_shape: Sequence[int], window_shape: Sequence[int],
                    window_strides: Sequence[int], padding: str) -> list[tuple[int, int]]:
    """The padding that a name stands for, as `(low, high)` for each dimension.

    Args:
      in_shape: the sizes of the array.
      window_shape: the sizes of the window, dilated.
      window_strides: the distances between windows.
      padding: "VALID", none; "SAME", as much as makes the result's sizes those of the array,
        divided by the strides and rounded up, half of it at either end; an odd one goes to the
        high end, or with "SAME_LOWER" to the low end.

    Raises:
      RuntimeError: another name.
      TypeError: not a name.

    >>> lax.padtype_to_pads((7,), (4,), (2,), "SAME")
    [(1, 2)]
    """
    if not isinstance(padding, str):
        raise TypeError(f"Unknown padding type: {padding}. A name is expected here.")
    name = padding.upper()
    if name == "VALID":
        return [(0, 0)] * len(in_shape)
    if name not in ("SAME", "SAME_LOWER"):
        raise RuntimeError("Unrecognized padding type: expected 'VALID', 'SAME' or 'SAME_LOWER', "
                           f"got {padding!r}.")
    pads = []
    for n, window, stride in _sized_alike(in_shape, window_shape, window_strides):
        stride = max(stride, 1)  # it is for the primitives to refuse others
        total = max((-(-n // stride) - 1) * stride + window - n, 0)
        small, large = total // 2, total - total // 2
        pads.append((small, large) if name == "SAME" else (large, small))
    return pads


def _sized_alike(in_shape, window_shape, window_strides):
    lengths = {len(in_shape), len(window_shape), len(window_strides)}
    if len(lengths) > 1:
        raise ValueError("padding by name needs the shape of the array, the window and the strides "
                         f"to be of one length, got {tuple(in_shape)}, {tuple(window_shape)} and "
                         f"{tuple(window_strides)}.")
    return zip(*map(known_sizes, (in_shape, window_shape, window_strides)))


def pads_of_transpose(in_shape, window, strides, out_shape, padding, in_dilation,
                      window_dilation) -> list[tuple[int, int]]:
    """The padding by which windows that slide over the cotangent of the result meet, at each
    element of the array, those windows that it was in."""
    full_in, full_window = dilated_shape(in_shape, in_dilation), dilated_shape(window,
                                                                               window_dilation)
    full_out = dilated_shape(out_shape, strides)
    pads = []
    for n, w, m, (low, _) in zip(full_in, full_window, full_out, padding):
        before = w - low - 1
        pads.append((before, n + w - 1 - m - before))
    return pads
