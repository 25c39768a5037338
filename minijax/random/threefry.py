"""Chapter 13: Threefry, the function that random bits come from.

A counter-based generator has no state to carry along. `threefry2x32` scrambles a counter (two
32-bit words) by a key (two more): 20 rounds of adding, rotating and xoring, with parts of the key
mixed in after every four (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011).
Other counters give unrelated words, and each block can be computed without the others.
"""

import functools

import numpy as np

from ..core.array import def_numpy
from ..core.batching import defbroadcasting
from ..core.core import Primitive, ShapedArray
from ..core.forward import defjvp_zero
from ..core.lowering import register_lowering
from ..core.primitives import elementwise_shape
from ..lax import bitwise
from ..lax.families import lower_fun

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))  # for groups of four rounds, in turn
PARITY = 0x1BD11BDA  # so that the third word of the key schedule is not zero when the key is
MASK = 0xFFFFFFFF


def _rounds(x0, x1, schedule, rotate):
    """Twenty rounds, on words of any kind that has +, ^ and the given `rotate`."""
    x0, x1 = x0 + schedule[0], x1 + schedule[1]
    for group in range(5):
        for distance in ROTATIONS[group % 2]:
            x0 = x0 + x1
            x1 = rotate(x1, distance) ^ x0
        x0 = x0 + schedule[(group + 1) % 3]
        x1 = x1 + schedule[(group + 2) % 3] + np.uint32(group + 1)
    return x0, x1


# ----------------------------------------------------------------------------------------------
# Evaluation: in NumPy, or for a few words in Python's integers, which are quicker then

FEW, SOME = 8, 256


def _evaluate(key0, key1, x0, x1):
    shape = np.broadcast_shapes(key0.shape, key1.shape, x0.shape, x1.shape)
    if np.prod(shape, dtype=int) > FEW:
        words = [np.broadcast_to(x, shape) for x in (x0, x1)]
        return _rounds(*words, _schedule(key0, key1), _rotate_numpy)
    columns = [np.broadcast_to(x, shape).ravel().tolist() for x in (key0, key1, x0, x1)]
    blocks = np.array([integer_rounds(*words) for words in zip(*columns)], np.uint32)
    return [blocks.reshape(-1, 2)[:, i].reshape(shape) for i in (0, 1)]


def numbered_blocks(key0: int, key1: int, n: int):
    """The first and the second words of the blocks 0 … n - 1, in NumPy."""
    if n <= SOME:
        lanes = integer_rounds(key0, key1, 0, *_counting_lanes(n))
        return [np.frombuffer(x.to_bytes(8 * n, "little"), np.uint32)[::2] for x in lanes]
    word0, word1, zero = (np.array(word, np.uint32) for word in (key0, key1, 0))
    return _evaluate(word0, word1, zero, np.arange(n, dtype=np.uint32))


def _schedule(key0, key1):
    return key0, key1, key0 ^ key1 ^ np.uint32(PARITY)


# Arrays, with which NumPy shifts few words faster than by a scalar.
_SHIFTS = {distance: (np.array(distance, np.uint32), np.array(32 - distance, np.uint32))
           for group in ROTATIONS for distance in group}


def _rotate_numpy(x, distance):
    left, right = _SHIFTS[distance]
    out = x << left
    out |= x >> right
    return out


def integer_rounds(key0: int, key1: int, x0: int, x1: int, ones: int = 1) -> tuple[int, int]:
    """`_rounds` on Python's integers, which do not wrap around by themselves.

    Many blocks can be computed in one pass: their words stand in one long integer, 64 bits apart,
    so that no carry and no shifted bit reaches another word. `ones` has a 1 for each of them.
    """
    mask = MASK * ones
    schedule = (key0 * ones, key1 * ones, (key0 ^ key1 ^ PARITY) * ones)
    x0, x1 = x0 + schedule[0] & mask, x1 + schedule[1] & mask
    for group in range(5):
        for distance in ROTATIONS[group % 2]:
            x0 = x0 + x1 & mask
            x1 = (x1 << distance | x1 >> 32 - distance) & mask ^ x0
        x0 = x0 + schedule[(group + 1) % 3] & mask
        x1 = x1 + schedule[(group + 2) % 3] + (group + 1) * ones & mask
    return x0, x1


@functools.cache
def _counting_lanes(n: int) -> tuple[int, int]:
    """The numbers 0 … n - 1, and as many ones, as `integer_rounds` takes them."""
    lanes = np.arange(n, dtype=np.uint64), np.ones(n, np.uint64)
    numbers, ones = (int.from_bytes(x.astype("<u8").tobytes(), "little") for x in lanes)
    return numbers, ones


# ----------------------------------------------------------------------------------------------
# The primitive


def _result_types(*avals):
    if any(aval.dtype != np.uint32 for aval in avals):
        raise TypeError(f"Arguments to threefry2x32 must have uint32 type, got {avals}")
    return [ShapedArray(elementwise_shape("threefry2x32", avals), np.uint32)] * 2


threefry2x32_p = Primitive("threefry2x32", multiple_results=True)
threefry2x32_p.def_abstract_eval(_result_types)
def_numpy(threefry2x32_p, _evaluate)
defbroadcasting(threefry2x32_p)
defjvp_zero(threefry2x32_p)


def rotate(x, distance):
    left, right = np.uint32(distance), np.uint32(32 - distance)
    return bitwise.bitwise_or(bitwise.shift_left(x, left), bitwise.shift_right_logical(x, right))


def _program(key0, key1, x0, x1):
    return _rounds(x0, x1, _schedule(key0, key1), rotate)


register_lowering(threefry2x32_p, lower_fun(_program, multiple_results=True))
