"""Exercises of chapter 1: fill in the stubs, then `python -m minijax learn check 1.1`."""

from __future__ import annotations


def count_primitives(f, *args):
    """1.1: how often each primitive is applied while `f(*args)` runs: a dict, from name to number.

    The result of `f` is not asked for. Afterwards, the trace that was current is current again.
    From `minijax.core.core`: the class `Trace`, whose `process_primitive(primitive, args, params)`
    you write; `current_trace()`; and two context managers, `new_trace(trace)`, in which a trace is
    current, and `set_current_trace(trace.parent)`, in which its parent is. `primitive.name` is the
    name, and `primitive.bind(*args, **params)` applies a primitive.
    """
    raise NotImplementedError


def bind(self, *args, **params):
    """1.2: `Primitive.bind` (`self` is the primitive), which refuses leaked boxes.

    As in the library, the current trace decides what the primitive means. But first, if one of
    `args` is a `Tracer` whose trace is neither the current one nor below it, raise
    `minijax.errors.UnexpectedTracerError` with a message that names the primitive. From
    `minijax.core.core` you need `current_trace()` and `Tracer`. A tracer's trace is its `_trace`;
    the trace below a trace is its `parent`, which is `None` at the bottom.
    """
    raise NotImplementedError


def outer_shape(x, y):
    """1.3: the shape rule of a primitive `outer`: two vectors, all products of their elements.

    `x` and `y` are `ShapedArray`s, and so is the result, `ShapedArray(shape, dtype, weak_type)`. It
    is weak if both operands are. The rule is as strict as others: it raises `TypeError` unless both
    are vectors, and of one dtype.
    """
    raise NotImplementedError


def depth(f, *args):
    """1.4: the length of the longest chain of primitives from an input of `f` to its result.

    0 if the result is an input, or depends on none. `f` returns one array or number. It may call
    `depth` itself. From `minijax.core.core`: `Trace`, `current_trace`, `new_trace` and
    `set_current_trace`, as in 1.1; `Tracer`, whose `_trace` you set, and whose property `aval` you
    write; and `typeof(x)`, the aval of a value. If `primitive.multiple_results`, `bind` gives a
    list.
    """
    raise NotImplementedError


def one_slice(n, first, second):
    """1.5: the slice s for which x[s] is x[first][second], for all arrays x of length n.

    `first` and `second` are slices like `slice(1, None, 2)`, which is written x[1::2]. Any of their
    numbers may be negative or `None`. You get no array.
    """
    raise NotImplementedError


def ambiguous_pair(lattice):
    """1.6: two types for which a table of promotions gives no single result, or `None`.

    `lattice` is a dict like `minijax.core.dtypes.PROMOTIONS`: for each type, a tuple of the types
    directly above it. A type can be promoted to itself and to all that can be reached upwards. Two
    types are ambiguous if they can be promoted to common types, and none of these can be promoted
    to all the others. Return the first such pair (a, b), where a stands before b in the dict, in
    the order of the dict: (a, b) before (a, c) before (b, c).
    """
    raise NotImplementedError


def largest(f, *args):
    """1.7: the largest size of a number that a primitive of tiny gives while `f(*args)` runs.

    All values are numbers. Their size is `abs(x)`; if no primitive runs, the answer is 0.
    Afterwards, the trace that was current is current again, even if `f` raises an error.
    From `tiny`: the class `Trace`, which is made with its parent, and whose method
    `process_primitive(self, primitive, args, params)` you write; `state.trace`, the current trace;
    and `set_current_trace(trace)`, which makes a trace current within a `with` block.
    """
    raise NotImplementedError
