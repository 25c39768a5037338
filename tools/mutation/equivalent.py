"""Mutants that compute the same as the original, each with the reason why no test can tell."""

ANNOTATION = "a type annotation, which nothing evaluates"
HARMLESS = "an argument for elements whose result is not used: any number in the domain does"
FASTER = "skips a fast path, or takes one that computes the same"
LENGTH = "of this shape only the length is used"
OPERANDS = "`give_rules` asks only whether there are several operands"
WEIGHTLESS = "zeros instead of a symbolic zero: more work"
SURPLUS = "flags for more values than there are, which `zip` does not read"

EQUIVALENT: dict[str, str] = {
    "minijax/lax/dot_algorithms.py (module): None | str | Precision -> ((None | str))": ANNOTATION,
    "minijax/lax/incomplete_gamma.py _expand: 2 -> 3": HARMLESS,
    **{f"minijax/lax/{file}.py (module): 2 -> 3{turn}": OPERANDS
       for file, turns in (("incomplete_gamma", 5), ("special", 2))
       for turn in ("", *(f" ({n})" for n in range(2, turns + 1)))},
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
    **{f"minijax/lax/convolution_functions.py {name}: 1 -> 2{turn}": LENGTH
       for name in ("conv_general_dilated_local", "conv_general_dilated_patches")
       for turn in ("", " (2)")},
    "minijax/lax/elementwise.py _convert_element_type: kind in \"iu\" and not dtypes.issubdtype("
    "x.dtype, np.integer) and x.dtype != bool -> "
    "(kind in 'iu' and (not dtypes.issubdtype(x.dtype, np.integer)))":
        "booleans are in the range of every integer type: saturation leaves them alone",
    "minijax/custom_rules/vmap.py _jvp_rule: Zero.from_primal_value(x) -> "
    "(instantiate_zeros(Zero.from_primal_value(x)))": WEIGHTLESS,
    "minijax/lax/slicing.py _dynamic_update_slice_transpose: Zero(z.aval) -> "
    "(instantiate_zeros(Zero(z.aval)))": WEIGHTLESS,
    "minijax/lax/gathering.py _takes_slices: indices.ndim - 1 -> (1 - indices.ndim)": FASTER,
    "minijax/lax/gathering.py _takes_slices: not x.size -> x.size": FASTER,
    "minijax/lax/control_flow/scan.py _dce: len(jaxpr.invars) - num_consts -> "
    "((len(jaxpr.invars)))": SURPLUS,
    "minijax/lax/control_flow/scan.py _jvp: len(jaxpr.outvars) - num_carry -> "
    "((len(jaxpr.outvars)))": SURPLUS,
    "minijax/lax/control_flow/scan_lowering.py _lower: unroll == 0 or length < 2 * unroll -> "
    "(unroll == 0)": "a loop of one iteration, instead of its body",
    "minijax/lax/bitwise.py _shift.rule: bits - 1 -> (1 - bits)":
        "NumPy shifts by a negative number as by one that is too large",
    "minijax/lax/indexing.py _dynamic_start: dtype.kind == \"u\" and dtype.itemsize >= 4 -> "
    "(dtype.kind == 'u')": "leaves out a conversion of the index that changes no value",
    "minijax/lax/linalg/cholesky.py _lower_half: 1 -> 2 (2)": "the matrices are square",
    "minijax/lax/linalg/triangular_solve.py _lower: False -> True":
        "without a transposition the flag is not read",
    "minijax/lax/incomplete_gamma.py _until_small.going_on: state[0] < MOST_STEPS -> "
    "(state[0] <= MOST_STEPS)": "one step more, of ten thousand",
    "minijax/lax/incomplete_gamma.py _until_small: 1 -> 2": "one step more than is needed",
    "minijax/lax/incomplete_gamma.py _until_small.more: size(*rest) > eps -> "
    "(size(*rest) >= eps)": "one step more, where a term is just negligible",
    "minijax/lax/incomplete_beta.py _beta_program: is_zero | is_one | bad -> "
    "((is_zero | is_one) & bad)": HARMLESS,
    "minijax/core/lowering_rules.py _integer_pow: len(powers) < abs(y).bit_length() -> "
    "(len(powers) <= abs(y).bit_length())": "a power more, which is no factor of the result",
    "minijax/core/batching.py defbroadcasting.rule: d is None or _ndim(x) == rank -> "
    "(_ndim(x) == rank)": "a scalar gets dimensions of size 1",
    "minijax/lax/operators.py reshape_method: len(shape) == 1 and ( isinstance(shape[0], (tuple, "
    "list)) or getattr(shape[0], \"ndim\", 0) == 1) -> (len(shape) == 1)":
        "`known_sizes` takes a number like a sequence of one",
    "minijax/custom_rules/jvp.py custom_jvp.__call__: 0 -> 1":
        "only staging asks for the number, after it has set it",
    "minijax/remat/policies.py save_only_these_names: frozenset(names_which_can_be_saved) -> "
    "names_which_can_be_saved": "of a tuple, membership is asked in the same way",
    "minijax/remat/choice.py _choose_in_jit: u and inner_of[v] not in outer_of -> u":
        "what is saved is passed through the repeated program",
    "minijax/lax/windows.py locate: np.maximum(limits, 0) -> limits":
        "no window is larger than the operand",
    "minijax/lax/slicing.py _dynamic_update_slice_transpose: is_undefined_primal(z) -> "
    "(not (is_undefined_primal(z)))": "`None` means zero, too; a known operand needs no cotangent",
}
