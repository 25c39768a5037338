"""Programs that search the messages of `lax` for JAX's key words find them here.

Each regular expression must match JAX's message and ours.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import both, in_both, subject

SHAPE, INDICES = (10, 9, 8, 7, 6), (5, 4, 3, 2, 5)
ALL = (0, 1, 2, 3, 4)

# (offset_dims, collapsed_slice_dims, start_index_map, the batching dimensions), and what else is
# given -> what JAX's message says
GATHER = [
    (((4, 5, 6, 8, 7), (), ALL), {"indices": (5, 4, 3, 2, 1)}, "offset_dims in gather op must be sorted"),
    (((4, 5, 6, 7, 7), (), ALL), {"indices": (5, 4, 3, 2, 1)}, "offset_dims in gather op must not repe"),
    (((4, 5, 100, 101, 102), (), ALL), {}, "Offset dimension 2 in gather op is out of bounds"),
    (((4, 5, 6, 7, 8), (4,), ALL), {}, "must either be a offset dimension or explicitly collapsed/batch"),
    (((4, 5, 6, 7, 8), (0, 1, 19), ALL), {}, "Invalid collapsed_slice_dims set in gather op; valid range"),
    (((4, 5, 6, 7, 8), (2, 1), ALL), {}, "collapsed_slice_dims in gather op must be sorted"),
    (((4, 5, 6, 7, 8), (), (0, 1, 2, 3)), {},
     "^Gather op has 4 elements in start_index_map and the bound of dimension index_vector_dim=4 of "
     "indices is 5. These two numbers must be equal."),
    (((4, 5, 6, 7, 8), (), (0, 1, 2, 3, 7)), {}, "Invalid start_index_map"),
    (((4, 5, 6, 7), (2,), ALL), {"sizes": (10, 9, 8, 100, 6)},
     "Slice size at index 3 in gather op is out of range"),
    (((4, 5, 6, 7), (), ALL), {"sizes": (10, 9, 8, 7)},
     "^Gather op must have one slice size for every input dimension"),
    (((4, 5, 6, 7), (1,), ALL), {},
     "^Gather op can only collapse slice dims with bound 1, but bound is 9 for index 1 at position 0."),
    (((4, 5, 6, 7), (), (0, 2, 3, 4), (1,), (0,)), {"indices": (9, 4, 3, 2, 4)},
     "^Gather op can only have operand batching dims with bound 0/1, but bound is 9 for index 1"),
    (((4, 5, 6), (0, 1), ALL, (), (0, 4)), {},
     "^Gather op cannot have the index vector dimension as a batching dimension"),
    (((4, 5, 6), (1, 2), (1, 2, 3, 4), (0,), (0, 1)), {"indices": (5, 4, 3, 2, 4)},
     "^Gather op requires equal numbers of operand_batching_dims and start_indices_batching_dims"),
    (((4, 5, 6, 7, 8), (2, 3, 4), (2, 3, 4), (0, 1), (1, 0)), {"indices": (10, 9, 3, 2, 3)},
     "^Gather op requires operand batching dimensions and indices batching dimensions to have the same"),
]  # fmt: skip


@pytest.mark.parametrize("numbers, given, words", GATHER)
def test_gather(numbers, given, words):
    lax = subject.lax
    indices = np.ones(given.get("indices", INDICES), np.int32)
    with pytest.raises(TypeError, match=words):
        lax.gather(np.ones(SHAPE, np.int32), indices, lax.GatherDimensionNumbers(*numbers),
                   given.get("sizes", SHAPE))


# shapes of the operand, the indices and the updates; the numbers -> what JAX's message says
V, INDEX, UPDATES = (50, 49, 48, 47, 46), (10, 9, 8, 7, 5), (10, 9, 8, 7, 3, 2, 4)
SCATTER = [
    (V, INDEX, (*UPDATES, 1), ((4, 5, 6), (1, 2), ALL), "^Updates tensor must be of rank 7; got 8."),
    (V, INDEX, UPDATES, ((4, 5, 6), (2, 1), ALL), "inserted_window_dims in scatter op must be sorted"),
    (V, INDEX, UPDATES, ((4, 5, 6), (1, 2), (0, 1, 2, 3)),
     "^Scatter op has 4 elements in scatter_dims_to_operand_dims and the bound of dimension "
     "index_vector_dim=4 of indices is 5. These two numbers must be equal"),
    (V, INDEX, UPDATES, ((4, 5, 6), (1, 2), (0, 1, 2, 3, 10)), "Invalid scatter_dims_to_operand_dims map"),
    (V, (10, 9, 8, 7, 4), UPDATES, ((4, 5, 6), (1,), (0, 1, 2, 3)),
     "^Scatter op has window of size 4; doesn't match operand of rank 5."),
    (V, INDEX, UPDATES, ((4, 5, 6), (0, 1), (0, 1, 4), (2, 3, 3)),
     "operand_batching_dims in scatter op must not repeat"),
    (V, INDEX, UPDATES, ((4, 5, 6), (0, 1), (0, 1, 2, 4), (2, 3)),
     "scatter_dims_to_operand_dims and operand_batching_dims in scatter op must be disjoint"),
    (V, INDEX, UPDATES, ((4, 5, 6), (0, 1), ALL, (), (0, 4)),
     "^Scatter op cannot have the index vector dimension as a batching dimension"),
    ((*V, 45), (10, 9, 8, 7, 4), UPDATES, ((4, 5, 6), (1, 2), (1, 2, 3, 4), (0,), (0, 1)),
     "^Scatter op requires equal numbers of operand_batching_dims and scatter_indices_batching_dims"),
    ((10, 9, 48, 47, 46, 45), (10, 9, 8, 7, 2), UPDATES, ((4, 5, 6), (2,), (2, 3), (0, 1), (1, 0)),
     "^Scatter op requires operand batching dimensions and indices batching dimensions to have the sa"),
]  # fmt: skip


@pytest.mark.parametrize("operand, indices, updates, numbers, words", SCATTER)
def test_scatter(operand, indices, updates, numbers, words):
    lax = subject.lax

    def program(x, y):
        return lax.scatter(lax.broadcast(x, operand), np.zeros(indices, np.int32),
                           lax.broadcast(y, updates), lax.ScatterDimensionNumbers(*numbers))

    with pytest.raises(TypeError, match=words):
        subject.eval_shape(program, np.int32(1), np.int32(1))


NONE = ((), ())
ONE_RAGGED = "expects exactly one lhs ragged dimension, which is one of lhs"
ONE_GROUP = "expects exactly one rhs group dimension, which is free"
RAGGED = [
    ((11, 5), (3, 5, 7), (3,), (((1,), (1,)), NONE), (2,), (0,), ONE_RAGGED),
    ((11, 5), (3, 5, 7), (3,), (((1,), (1,)), NONE), (), (0,), ONE_RAGGED),
    ((19, 11, 5), (19, 5, 7), (19,), (((2,), (1,)), ((0,), (0,))), (1,), (0,), ONE_GROUP),
    ((11, 5), (5, 7), (3,), (((1,), (0,)), NONE), (0,), (), ONE_GROUP),
    ((11, 5), (3, 5, 7), (2,), (((1,), (1,)), NONE), (0,), (0,), "must be 3 integers, one for each group"),
]  # fmt: skip


@pytest.mark.parametrize("lhs, rhs, sizes, dims, ragged, groups, words", RAGGED)
def test_ragged_dot_general(lhs, rhs, sizes, dims, ragged, groups, words):
    numbers = subject.lax.RaggedDotDimensionNumbers(dims, ragged, groups)
    with pytest.raises(TypeError, match=words):
        subject.lax.ragged_dot_general(np.ones(lhs, np.float32), np.ones(rhs, np.float32),
                                       np.ones(sizes, np.int32), numbers)


# the program -> what JAX's message says
PROGRAMS = {
    "lax.split(np.arange(5), [-1])": "^Sizes passed to split must be nonnegative",
    "lax.split(np.arange(5), [6])": "^Sum of sizes 6 must be equal",
    "lax.conv_general_dilated_patches(np.ones((1, 10, 10, 5)), (5, 5), (1, 1), (3, 3))":
        r"padding argument.*, got \(3, 3\)",
    "lax.conv(np.ones((1, 1, 3, 3)), np.ones((1, 1, 1, 1)), [1], 'SAME')":
        "window and window_strides must have the same number of dimensions",
    "lax.broadcast_in_dim(np.ones((2, 2)), (2,), (0, 1))":
        "target broadcast shape must have equal or higher rank to the operand shape",
    "lax.squeeze(np.ones((1, 2)), (None,))": "cannot be interpreted as an integer",
    "lax.dynamic_slice(np.ones((3, 4)), (np.int32(1), np.int16(2)), (2, 2))":
        "^index arguments to dynamic_slice must be integers of the same type",
    "lax.dynamic_update_slice(np.ones((3, 4)), np.ones((2, 2)), (np.int32(1), np.int16(2)))":
        "^index arguments to dynamic_update_slice must be integers of the same type",
    "lax.argmax(np.ones((0, 2)), 0, np.int32)": "require non-empty reduced dimension",
    "lax.argmin(np.ones((2, 2)), -1, np.int32)": "Invalid axis -1 for operand",
    "lax.reduce({'x': np.ones(5)}, {'y': 0.0}, lax.add, [0])":
        "^Operands must have the same tree structure as init_values",
    "lax.reduce_window(np.ones(1), 0.0, lambda x, y: [x + y], (1,), (1,), 'VALID')":
        "^reduce_window output must have the same tree structure as the operands",
    "lax.reduce_window(np.ones(1), 0.0, lax.add, (0,), (1,), 'VALID')": "must have every element be",
    "lax.reduce_window(np.ones((4, 4), int), np.zeros(1, int), lax.max, (2, 2), (2, 2), 'VALID')":
        r"^reduce_window expected init_values to be scalars but init_values have shapes \[\(1,\)\].",
    "jax.eval_shape(lambda x: lax.top_k(x, 9), jax.ShapeDtypeStruct((2**31 + 1,), np.float32))":
        "^top_k returns int32 indices, which will overflow",
    "lax.abs(lax.iota('int4', 3))": "^abs does not accept dtype int4.",
}  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_key_words(program):
    with pytest.raises(Exception, match=PROGRAMS[program]):
        eval(program, {"jax": subject, "lax": subject.lax, "np": np})


@pytest.mark.parametrize("old, new, shape", [
    ("int8", "int4", (4,)), ("float32", "uint4", (2,)), ("int4", "uint4", (3,)), ("uint4", "int8", (3, 2)),
    ("int4", "float16", (2, 4)), ("uint4", "int32", (8,)), ("uint16", "uint4", ()),
])  # fmt: skip
def test_bits_of_four_bit_integers(old, new, shape):
    def program(jx):
        def run(x):
            return jx.lax.bitcast_convert_type(x.astype(old), new).astype("float32")

        return lambda x: (run(x), jx.jit(run)(x))

    both(program, (np.arange(np.prod(shape)) % 7).reshape(shape).astype(np.float32))


@in_both
def test_a_real_cotangent_of_a_complex_product_warns_of_nothing(jx):
    x, y = np.arange(3, dtype=np.float32), np.arange(3, dtype=np.complex64)
    with_respect_to_x = jx.jacobian(lambda x, y: jx.lax.dot(x, y).real)(x, y)
    return with_respect_to_x, str(jx.make_jaxpr(jx.grad(
        lambda x: x.astype("complex64").sum().real))(x))


def test_squeeze_of_nothing_gives_an_array():
    both(lambda jx: lambda: [isinstance(jx.lax.squeeze(x, ()), jx.Array)
                             for x in (2.0, np.float32(2), np.ones(3))])
