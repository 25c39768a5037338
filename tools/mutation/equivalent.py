"""Mutants that compute the same as the original, each with the reason why no test can tell."""

ANNOTATION = "a type annotation, which nothing evaluates"
HARMLESS = "an argument for elements whose result is not used: any number in the domain does"
FASTER = "skips a fast path, or takes one that computes the same"

EQUIVALENT: dict[str, str] = {
    "minijax/lax/dot_algorithms.py (module): None | str | Precision -> ((None | str))": ANNOTATION,
    "minijax/lax/incomplete_gamma.py _expand: 2 -> 3": HARMLESS,
    "minijax/lax/incomplete_gamma.py (module): 2 -> 3":
        "`give_rules` asks only whether there are several operands",
    "minijax/lax/incomplete_gamma.py _until_small.going_on: 0 -> 1":
        "the two counters agree until the last rounds: the bound is met a few steps later",
    "minijax/lax/dot_algorithms.py _multiply: False -> True": "makes a copy of an array",
    "minijax/lax/products.py _compute_dtype: dtype.itemsize <= 2 -> (dtype.itemsize < 2)":
        "NumPy adds up products of 16-bit floats in single precision by itself",
    "minijax/lax/linalg/lu.py _lu_tangent: pad(triu(factors[:k, :]), zero, ((0, n - k, 0), "
    "(0, 0, 0))) + rest -> (pad(triu(factors[:k, :]), zero, ((0, n - k, 0), (0, 0, 0))) - rest)":
        "the identity that fills up the factor is divided by and multiplied with: its sign cancels",
    "minijax/lax/linalg/triangular_solve.py _lower: conjugate_a -> (not (conjugate_a))":
        "on the CPU only 16-bit floats come here, which are their own conjugates",
    "minijax/lax/convolution_functions.py conv_general_dilated_local: 1 -> 2":
        "of this shape only the length is used",
    "minijax/lax/advanced_indexing.py _array_of_sequence: np.zeros -> np.ones": "of no elements",
    "minijax/lax/advanced_indexing.py _entry_at_hand: entry.aval.dtype.kind == \"i\" -> "
    "(not (entry.aval.dtype.kind == 'i'))": FASTER,
    "minijax/lax/advanced_indexing.py set_at_hand: state.trace is eval_trace and type(x) is Array "
    "and x._value is not None and isinstance(x.aval.dtype, np.dtype) -> "
    "(state.trace is eval_trace and type(x) is Array and (x._value is not None))": FASTER,
    "minijax/lax/elementwise.py _convert_element_type: kind in \"iu\" and not dtypes.issubdtype("
    "x.dtype, np.integer) and x.dtype != bool -> "
    "(kind in 'iu' and (not dtypes.issubdtype(x.dtype, np.integer)))":
        "booleans are in the range of every integer type: saturation leaves them alone",
    "minijax/custom_rules/vmap.py _jvp_rule: Zero.from_primal_value(x) -> "
    "(instantiate_zeros(Zero.from_primal_value(x)))": "zeros instead of a symbolic zero: more work",
}
