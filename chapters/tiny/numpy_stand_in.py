"""The part of NumPy that tiny uses, in plain Python: for the page, where MicroPython runs tiny.

An array is a shape and the flat list of its elements. An array without dimensions is a `float`,
as results of NumPy without dimensions are NumPy scalars. Everything is a float; no view shares
memory with another array.
"""

import math


class ndarray:
    """An array with at least one dimension."""

    def __init__(self, shape, items):
        self.shape, self.items = tuple(shape), list(items)

    def tolist(self):
        return nested(self.shape, self.items)

    def __getitem__(self, i):
        size = product(self.shape[1:])
        start = range(self.shape[0])[i] * size
        return made(self.shape[1:], self.items[start : start + size])

    def __len__(self):
        return self.shape[0]

    def __repr__(self):
        return f"array({self.tolist()})"

    __add__ = __radd__ = lambda self, other: operator(add, self, other)
    __mul__ = __rmul__ = lambda self, other: operator(multiply, self, other)
    __sub__ = lambda self, other: operator(lambda x, y: add(x, negative(y)), self, other)
    __rsub__ = lambda self, other: operator(lambda x, y: add(negative(x), y), self, other)
    __neg__ = lambda self: negative(self)
    __matmul__ = lambda self, other: operator(matmul, self, other)


float64 = float


def operator(f, x, y):
    """`f(x, y)`, unless `y` has operators of its own, as a tracer has."""
    return f(x, y) if isinstance(y, (ndarray, float, int, list)) else NotImplemented


def product(sizes):
    result = 1
    for n in sizes:
        result *= n
    return result


def made(shape, items):
    """The array, or the number."""
    return ndarray(shape, items) if len(shape) else items[0]


def nested(shape, items):
    """The elements as lists in lists."""
    if not len(shape):
        return items[0]
    size = product(shape[1:])
    return [nested(shape[1:], items[i * size : (i + 1) * size]) for i in range(shape[0])]


def shape(x):
    if isinstance(x, ndarray):
        return x.shape
    return (len(x),) + (shape(x[0]) if len(x) else ()) if isinstance(x, (list, tuple)) else ()


def items_of(x):
    """The flat list of elements."""
    if isinstance(x, ndarray):
        return x.items
    if not isinstance(x, (list, tuple)):
        return [x + 0.0 if isinstance(x, (float, int)) else refuse(x)]
    parts = [asarray(part) for part in x]
    if len({shape(part) for part in parts}) > 1:
        raise ValueError("The parts of an array have different shapes.")
    return [item for part in parts for item in items_of(part)]


def refuse(x):
    raise TypeError(f"A number was expected, but got {type(x).__name__}.")


def asarray(x, dtype=float):
    return x if isinstance(x, ndarray) else made(shape(x), items_of(x))


array = asarray


def full(sizes, value):
    sizes = tuple(sizes) if isinstance(sizes, (list, tuple)) else (sizes,)
    return made(sizes, [value] * product(sizes))


def zeros(sizes):
    return full(sizes, 0.0)


def ones(sizes):
    return full(sizes, 1.0)


def eye(n):
    return ndarray((n, n), [1.0 if i == j else 0.0 for i in range(n) for j in range(n)])


def arange(n):
    return ndarray((int(n),), [float(i) for i in range(int(n))])


# Shapes


def reshape(x, new_shape):
    items = items_of(x)
    if len(items) != product(new_shape):
        raise ValueError(f"An array of shape {shape(x)} cannot have the shape {tuple(new_shape)}.")
    return made(tuple(new_shape), items)


def indices(sizes):
    """All index tuples of an array, the last index changing fastest."""
    result = [()]
    for n in sizes:
        result = [index + (i,) for index in result for i in range(n)]
    return result


def broadcast_to(x, new_shape):
    x_shape, items, new_shape = shape(x), items_of(x), tuple(new_shape)
    x_shape = (1,) * (len(new_shape) - len(x_shape)) + x_shape
    if len(x_shape) != len(new_shape) or any(n not in (1, m) for n, m in zip(x_shape, new_shape)):
        raise ValueError(f"The shape {shape(x)} cannot be broadcast to {new_shape}.")
    if x_shape == new_shape:
        return made(new_shape, items)

    def source(index):
        return offset([0 if n == 1 else i for n, i in zip(x_shape, index)], x_shape)

    return made(new_shape, [items[source(index)] for index in indices(new_shape)])


def offset(index, sizes):
    """The place of an element in the flat list."""
    place = 0
    for i, n in zip(index, sizes):
        place = place * n + i
    return place


def transpose(x, permutation):
    sizes, items = shape(x), items_of(x)
    new_shape = tuple([sizes[d] for d in permutation])
    if sorted(permutation) != list(range(len(sizes))):
        raise ValueError(f"{permutation} is not a permutation of the dimensions of {sizes}.")
    places = [permutation.index(d) for d in range(len(sizes))]
    return made(new_shape, [items[offset([index[p] for p in places], sizes)]
                            for index in indices(new_shape)])


# Element by element


def elementwise(f):
    """A function of numbers as a function of arrays, which are broadcast to one shape."""
    def on_arrays(*args):
        ranks = [len(shape(x)) for x in args]
        padded = [(1,) * (max(ranks) - len(shape(x))) + shape(x) for x in args]
        out_shape = tuple([max(sizes) if 0 not in sizes else 0 for sizes in zip(*padded)])
        lists = [items_of(broadcast_to(x, out_shape)) for x in args]
        return made(out_shape, [f(*xs) for xs in zip(*lists)])

    return on_arrays


def safe(f, otherwise):
    """`f`, which raises an error where NumPy returns infinity or "not a number"."""
    def on_number(x):
        try:
            return f(x)
        except (OverflowError, ValueError):
            return otherwise(x)

    return on_number


add = elementwise(lambda x, y: x + y)
multiply = elementwise(lambda x, y: x * y)
negative = elementwise(lambda x: -x)
sin = elementwise(safe(math.sin, lambda x: float("nan")))
cos = elementwise(safe(math.cos, lambda x: float("nan")))
exp = elementwise(safe(math.exp, lambda x: float("inf")))
log = elementwise(safe(math.log, lambda x: -float("inf") if x == 0 else float("nan")))
greater = elementwise(lambda x, y: 1.0 if x > y else 0.0)
where = elementwise(lambda which, x, y: x if which else y)


# Sums and products


def sum(x, axes):
    sizes, items = shape(x), items_of(x)
    kept = [d for d in range(len(sizes)) if d not in axes]
    out_shape = [sizes[d] for d in kept]
    out = [0.0] * product(out_shape)
    for index, item in zip(indices(sizes), items):
        out[offset([index[d] for d in kept], out_shape)] += item
    return made(out_shape, out)


def matmul(x, y):
    """Of stacks of matrices, or of plain vectors and matrices."""
    if len(shape(x)) == 1:
        return matmul(reshape(x, (1,) + shape(x)), y)[0]
    if len(shape(y)) == 1:
        out = matmul(x, reshape(y, shape(y) + (1,)))
        return reshape(out, shape(out)[:-1])
    (n, k), (other, m) = shape(x)[-2:], shape(y)[-2:]
    if k != other or shape(x)[:-2] != shape(y)[:-2]:
        raise ValueError(f"The shapes {shape(x)} and {shape(y)} do not fit in a product.")
    xs, ys, out = items_of(x), items_of(y), []
    for b in range(product(shape(x)[:-2])):
        for i in range(n):
            row = xs[(b * n + i) * k : (b * n + i + 1) * k]
            for j in range(m):
                column = ys[b * k * m + j : (b + 1) * k * m : m]
                out.append(_dot(row, column))
    return made(shape(x)[:-2] + (n, m), out)


def _dot(row, column):
    total = 0.0
    for x, y in zip(row, column):
        total += x * y
    return total
