"""Which functions are tried at their edges, at which points, and in which modes.

A function is the text of an expression in `jnp`, `lax`, `special` and `nn`. The mode `jvp1` is the
derivative by argument 1, and `second01` is the derivative by argument 0 of the gradient by argument 1.
"""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

UNARY = """
jnp.abs jnp.absolute jnp.acos jnp.acosh jnp.angle jnp.arccos jnp.arccosh jnp.arcsin jnp.arcsinh jnp.arctan jnp.arctanh
jnp.around jnp.asin jnp.asinh jnp.atan jnp.atanh jnp.bitwise_count jnp.bitwise_invert jnp.bitwise_not jnp.cbrt
jnp.ceil jnp.conj jnp.conjugate jnp.cos jnp.cosh jnp.deg2rad jnp.degrees jnp.exp jnp.exp2 jnp.expm1 jnp.fabs jnp.floor
jnp.frexp jnp.i0 jnp.imag jnp.invert jnp.iscomplex jnp.isfinite jnp.isinf jnp.isnan jnp.isneginf jnp.isposinf
jnp.isreal jnp.log jnp.log10 jnp.log1p jnp.log2 jnp.logical_not jnp.modf jnp.nan_to_num jnp.negative jnp.positive
jnp.rad2deg jnp.radians jnp.real jnp.reciprocal jnp.rint jnp.round jnp.sign jnp.signbit jnp.sin jnp.sinc jnp.sinh
jnp.spacing jnp.sqrt jnp.square jnp.tan jnp.tanh jnp.trunc jnp.unwrap jnp.cumsum jnp.cumprod jnp.sort
jnp.zeros_like jnp.ones_like jnp.bool_ jnp.int32 jnp.uint8 jnp.int8 jnp.float16 jnp.float32 jnp.bfloat16
lax.abs lax.acos lax.acosh lax.asin lax.asinh lax.atan lax.atanh lax.bessel_i0e lax.bessel_i1e lax.bitwise_not
lax.cbrt lax.ceil lax.clz lax.conj lax.cos lax.cosh lax.cummax lax.cummin lax.cumlogsumexp lax.digamma lax.erf
lax.erf_inv lax.erfc lax.exp lax.exp2 lax.expm1 lax.floor lax.imag lax.is_finite lax.lgamma lax.log lax.log1p
lax.logistic lax.neg lax.population_count lax.real lax.reciprocal lax.round lax.rsqrt lax.sign lax.sin lax.sinh
lax.sqrt lax.square lax.stop_gradient lax.tan lax.tanh
special.dawsn special.digamma special.entr special.erf special.erfc special.erfcx special.erfinv special.exp1
special.expi special.expit special.factorial special.fresnel special.gamma special.gammaln special.gammasgn
special.i0 special.i0e special.i1 special.i1e special.log_ndtr special.loggamma special.logit special.ndtr
special.ndtri special.sici special.spence special.wofz
nn.celu nn.elu nn.gelu nn.hard_sigmoid nn.hard_silu nn.hard_swish nn.hard_tanh nn.identity nn.leaky_relu
nn.log1mexp nn.log_sigmoid nn.mish nn.relu nn.relu6 nn.selu nn.sigmoid nn.silu nn.soft_sign nn.softplus
nn.sparse_plus nn.sparse_sigmoid nn.squareplus nn.swish nn.tanh
""".split() + [
    *(f"lambda x: lax.integer_pow(x, {n})" for n in (-3, -2, -1, 0, 1, 2, 3, 4)),
    *(f"lambda x: x ** {n}" for n in ("-1", "0", "0.5", "1.0", "2", "2.0", "3", "1.5", "-0.5")),
    *(f"lambda x: {n} ** x" for n in ("0.0", "1.0", "2", "-2.0")),
    "lambda x: 1 / x", "lambda x: x // 1.0", "lambda x: x % 1.0", "lambda x: 1.0 % x",
    "lambda x: 1.0 // x", "lambda x: jnp.round(x, 2)", "lambda x: jnp.clip(x, -1, 1)",
    "lambda x: jnp.angle(x, deg=True)", "lambda x: nn.gelu(x, approximate=False)",
    "lambda x: jnp.where(x > 0, jnp.log(x), 0.0)", "lambda x: lax.reduce_precision(x, 5, 10)",
    "lambda x: lax.reduce_precision(x, 8, 7)",
    "lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)",
    "lambda x: jnp.sum(x[:, None], 1)", "lambda x: jnp.prod(jnp.stack([x, x[::-1]]), 0)",
    "lambda x: jnp.max(jnp.stack([x, x[::-1]]), 0)", "lambda x: jnp.argmax(jnp.stack([x, x[::-1]]), 0)",
    "lambda x: jnp.var(jnp.stack([x, x[::-1]]), 0)", "lambda x: jnp.mean(jnp.stack([x, x[::-1]]), 0)",
    "lambda x: jnp.count_nonzero(x[:, None], 1)", "lambda x: jnp.count_nonzero(jnp.spacing(x)[:, None], 1)",
    "lambda x: jnp.nansum(jnp.stack([x, x[::-1]]), 0)", "lambda x: jnp.linalg.norm(jnp.stack([x, x[::-1]]), axis=0)",
    "lambda x: jnp.any(x[:, None], 1)", "lambda x: jnp.nanmax(jnp.stack([x, x[::-1]]), 0)",
    "lambda x: nn.softmax(jnp.stack([x, x[::-1]]), 0)[0]", "lambda x: nn.log_softmax(jnp.stack([x, x[::-1]]), 0)[0]",
    "lambda x: nn.logsumexp(jnp.stack([x, x[::-1]]), 0)", "lambda x: nn.logmeanexp(jnp.stack([x, x[::-1]]), 0)",
    "lambda x: nn.standardize(jnp.stack([x, x[::-1]]), 0)[0]", "lambda x: nn.glu(jnp.stack([x, x[::-1]]), 0)[0]",
    "lambda x: jnp.unique(x, size=x.size)", "lambda x: jnp.argsort(x)",
    "lambda x: special.multigammaln(x, 2)", "lambda x: special.polygamma(2, x)", "lambda x: special.zeta(x, 1.0)",
    "lambda x: special.bessel_jn(x, v=2)[2]",
    "lambda x: jnp.polyval(jnp.array([1.0, 0.0, -2.0]), x)", "lambda x: jnp.gradient(x)",
    "lambda x: jnp.diff(x)", "lambda x: jnp.interp(x, jnp.array([-1.0, 0.0, 1.0]), jnp.array([2.0, 0.0, 5.0]))",
]
BINARY = """
jnp.add jnp.arctan2 jnp.atan2 jnp.bitwise_and jnp.bitwise_left_shift jnp.bitwise_or jnp.bitwise_right_shift jnp.bitwise_xor
jnp.copysign jnp.divide jnp.divmod jnp.equal jnp.float_power jnp.floor_divide jnp.fmax jnp.fmin jnp.fmod jnp.gcd
jnp.greater jnp.greater_equal jnp.heaviside jnp.hypot jnp.isclose jnp.lcm jnp.left_shift jnp.less
jnp.less_equal jnp.logaddexp jnp.logaddexp2 jnp.logical_and jnp.logical_or jnp.logical_xor jnp.maximum jnp.minimum
jnp.mod jnp.multiply jnp.nextafter jnp.not_equal jnp.pow jnp.power jnp.remainder jnp.right_shift jnp.subtract
jnp.true_divide
lax.add lax.atan2 lax.bitwise_and lax.bitwise_or lax.bitwise_xor lax.complex lax.div lax.eq lax.ge lax.gt lax.igamma lax.igamma_grad_a
lax.igammac lax.le lax.lt lax.max lax.min lax.mul lax.mulhi lax.ne lax.nextafter lax.polygamma lax.pow lax.random_gamma_grad
lax.rem lax.shift_left lax.shift_right_arithmetic lax.shift_right_logical lax.sub lax.zeta
special.beta special.betaln special.boxcox special.boxcox1p special.comb special.gammainc special.gammaincc
special.kl_div special.poch special.polygamma special.rel_entr special.xlog1py special.xlogy special.zeta
""".split() + [
    *(f"lambda x, y: nn.{name}(x, y)" for name in ("celu", "elu", "leaky_relu", "squareplus")),
    "lambda x, y: jnp.ldexp(x, y.astype(jnp.int32))", "lambda x, y: special.expn(jnp.int32(x), y)",
    "lambda x, y: jnp.clip(x, y)", "lambda x, y: x ** jnp.int32(y)", "lambda x, y: jnp.where(x, y, x)",
    "lambda x, y: jnp.searchsorted(jnp.array([0., 1., jnp.inf]), x * y)",
    "lambda x, y: jnp.vdot(x, y)", "lambda x, y: special.logsumexp(jnp.stack([x, y]), 0)",
    "lambda x, y: jnp.nan_to_num(x, nan=y)", "lambda x, y: x @ y",
]
TERNARY = """
lax.betainc special.betainc lax.clamp jnp.where jnp.clip special.hyp1f1
""".split() + ["lambda x, y, z: jnp.isclose(x, y, z)"]
FUNCTIONS = [*((text, 1) for text in UNARY), *((text, 2) for text in BINARY),
             *((text, 3) for text in TERNARY)]

# These are compared by `make edges` only: the suite has no stored answers for them.
MORE_UNARY = [
    "jnp.cumulative_sum", "jnp.cumulative_prod", "jnp.nancumsum", "jnp.nancumprod", "jnp.ediff1d", "jnp.sort_complex",
    *(f"lambda x: jnp.{name}(jnp.stack([x, x[::-1], x]), 0)" for name in
      ("nanvar", "nanstd", "std", "nanmean", "nanprod", "median", "nanmedian", "ptp", "argmin", "nanargmax",
       "nanargmin", "nanmin", "min", "average", "all", "trapezoid")),
    *(f"lambda x: jnp.{name}(jnp.stack([x, x[::-1], x]), 0.3, 0)" for name in ("quantile", "nanquantile")),
    *(f"lambda x: lax.{name}(jnp.stack([x, x[::-1]]), (0,))" for name in
      ("reduce_sum", "reduce_prod", "reduce_max", "reduce_min")),
    *(f"lambda x: lax.{name}(jnp.stack([x, x[::-1]]), 0)" for name in ("cumsum", "cumprod")),
    "lambda x: lax.cumsum(x, reverse=True)", "lambda x: lax.top_k(x, 5)", "lambda x: lax.argmax(x, 0, jnp.int32)",
    "lambda x: lax.convert_element_type(x, jnp.int8)", "lambda x: lax.convert_element_type(x, jnp.uint32)",
    "lambda x: lax.reduce_window(x, 0.0, lax.add, (2,), (1,), 'VALID')",
    "lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (2,), (1,), 'SAME')",
    "lambda x: lax.associative_scan(jnp.multiply, x)", "lambda x: jnp.partition(x, 3)",
    "lambda x: jnp.percentile(x, 30)", "lambda x: jnp.digitize(x, jnp.array([-1.0, 0.0, 2.0]))",
    "lambda x: jnp.isin(x, x[:9])", "lambda x: jnp.vander(x, 4)", "lambda x: nn.one_hot(x, 4)",
    "lambda x: jnp.select([x > 0, x < 0], [jnp.log(x), jnp.sqrt(-x)])", "lambda x: jnp.piecewise(x, [x < 0], [jnp.exp, jnp.log])",
    "lambda x: special.softmax(jnp.stack([x, x[::-1]]), 0)", "lambda x: special.log_softmax(jnp.stack([x, x[::-1]]), 0)",
    "lambda x: jnp.convolve(x, jnp.array([1.0, -1.0]))", "lambda x: jnp.outer(x, x[::-1])", "lambda x: jnp.linalg.norm(x)",
    "lambda x: special.hyp2f1(0.5, 1.5, 2.5, x)", "lambda x: jnp.gcd(x % 100, 36)", "lambda x: jnp.lcm(x % 100, 36)",
    "lambda x: nn.relu(x) + nn.softplus(-jnp.abs(x))", "lambda x: jnp.unwrap(x, period=4.0)",
    "lambda x: jnp.kaiser(5, x[2])", "lambda x: jnp.histogram(x, bins=4, range=(-2, 2))[0]",
]
MORE_BINARY = [
    "lambda x, y: jnp.linspace(x, y, 4)", "lambda x, y: jnp.logspace(x, y, 4)", "lambda x, y: jnp.geomspace(x, y, 4)",
    "lambda x, y: jnp.average(jnp.stack([x, y]), 0, weights=jnp.array([0.5, 2.0]))",
    "lambda x, y: nn.softmax(jnp.stack([x, y]), 0)[0]", "lambda x, y: nn.logsumexp(jnp.stack([x, y]), 0, b=jnp.array([[1.0], [-2.0]]))",
    "lambda x, y: jnp.linalg.norm(jnp.stack([x, y]), axis=0)", "lambda x, y: jnp.var(jnp.stack([x, y]), 0)",
    "lambda x, y: lax.select(x > y, x, y)", "lambda x, y: lax.clamp(-1.0, x, y)", "lambda x, y: jnp.einsum('i,i->i', x, y)",
    "lambda x, y: jnp.polyval(jnp.stack([x, y, x]), y)", "lambda x, y: jnp.interp(x, jnp.array([-1.0, 0.0, 1.0]), y[:3])",
]
TABLE = [*FUNCTIONS, *((text, 1) for text in MORE_UNARY), *((text, 2) for text in MORE_BINARY)]

DTYPES = ("float32", "float64", "bfloat16", "complex64", "int32", "uint8")


def dtype_of(name: str) -> np.dtype:
    """NumPy's dtype of this name, or that of ml_dtypes."""
    return np.dtype(getattr(ml_dtypes, name, name))


def line(name: str, arity: int, few: bool = False) -> np.ndarray:
    """The points for one argument: the more arguments, the fewer."""
    dtype = dtype_of(name)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        numbers = {info.min, info.min + 1, 0, 1, 2, 3, 7, 8, 31, 100, info.max - 1, info.max}
        numbers |= {-1, -2, -7} if info.min else set()
        return np.array(sorted(numbers)[::2 if few and arity > 2 else 1], dtype)
    if dtype.kind == "c":
        parts = line("float32", 3 if arity == 1 and not few else 4)
        return _grid(parts).astype(dtype)
    info = ml_dtypes.finfo(dtype)
    ends = [0.0, -0.0, 1.0, -1.0, 0.5, np.inf, -np.inf, np.nan]
    edges = [info.smallest_normal, info.smallest_subnormal, info.max]
    signed = [*edges, *(-x for x in edges)]
    some = [-0.5, 2.0, -2.0, 3.0, 1e10, -1e10]
    more = [-3.0, 1.5, -1.5, 2.5, -2.5, 7.0, -7.0, 10.0, 88.0, -88.0, 100.0, -100.0, 1e-10, -1e-10, 1e-20, 1e-3,
            0.25, 0.99, 1e4, 1e18, -1e18, 1e30, -1e30]
    points = {1: [*ends, *signed, *some, *more], 2: [*ends, *signed, *some, 7.0, -2.5, 1e-10, 100.0, 1e18],
              3: [*ends, *edges, -2.5, 3.0], 4: [0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan, edges[2]]}
    with np.errstate(all="ignore"):
        return np.array([float(x) for x in points[arity + (few and arity > 1)]], np.float64).astype(dtype)


def _grid(parts: np.ndarray) -> np.ndarray:
    out = np.empty((parts.size, parts.size), np.complex64)
    out.real, out.imag = parts[:, None], parts
    return out.ravel()


def points(name: str, arity: int, few: bool = False) -> list[np.ndarray]:
    """All combinations of the points, or of a few: one array for each argument."""
    return [x.ravel() for x in np.meshgrid(*[line(name, arity, few)] * arity, indexing="ij")]


def modes(arity: int, dtype: str, few: bool = False) -> list[str]:
    """The modes in which a function is tried with arguments of this dtype."""
    if dtype_of(dtype).kind in "iu":
        return ["value"]
    if few:
        return ["value", "grad"]
    numbers = range(arity)
    return ["value", *(f"jvp{i}" for i in numbers), "grad",
            *(f"second{i}" for i in numbers), *(f"reverse{i}" for i in numbers)]


# dtype -> functions that JAX is not asked about.
LEFT_OUT = {"int32": r"^jnp\.(gcd|lcm)$"}  # JAX's loop does not end at the least integer


def is_left_out(text: str, dtype: str) -> bool:
    """Whether the table has no entry for a function at this dtype."""
    return bool(re.search(LEFT_OUT.get(dtype, "$^"), text))


# Functions whose loops run until their series has converged.
LOOPS = re.compile(r"\bigamma|gammainc|random_gamma|betainc|expi$|exp1|expn|hyp1f1|hyp2f1|poch")


def program(jx: Any, text: str, mode: str) -> Callable:
    """The function in a library, in one mode: of arrays to a list of arrays."""
    f = eval(text, {"jnp": jx.numpy, "lax": jx.lax, "special": jx.scipy.special, "nn": jx.nn})

    def leaves(*args: Any) -> list:
        return jx.tree_util.tree_leaves(f(*args))

    def grad(*args: Any) -> Any:
        out, pull = jx.vjp(leaves, *args)
        ones = [jx.numpy.ones_like(x) if x.dtype.kind in "fcV" else np.zeros(x.shape, jx.dtypes.float0) for x in out]
        return pull(ones)

    def jvp(g: Callable, i: int, *args: Any) -> Any:
        tangents = [jx.numpy.full_like(x, j == i) for j, x in enumerate(args)]
        return jx.jvp(g, args, tuple(tangents))[1]

    if mode == "value":
        return leaves
    if mode == "grad":
        return grad
    which = int(mode[-1])
    if mode.startswith("jvp"):
        return lambda *args: jvp(leaves, which, *args)
    if mode.startswith("second"):
        return lambda *args: jvp(grad, which, *args)

    def reverse(*args: Any) -> Any:
        out, pull = jx.vjp(lambda *xs: grad(*xs)[which], *args)
        return pull(jx.numpy.ones_like(out))

    return reverse


def answers(jx: Any, text: str, arity: int, dtype: str, jit: bool,
            few: bool = False, together: bool = True) -> dict[str, list[np.ndarray] | str]:
    """What a library computes at all points in each mode, or the class of the error that it raises.

    Under `jit` the modes are one program, since compilation takes most of the time. `together`
    computes all points as one array.
    """
    found: dict[str, Any] = {}
    tried = modes(arity, dtype, few)

    def run(of: list[str]) -> Callable:
        def compute(*args: Any) -> dict[str, Any]:
            results = {}
            for mode in of:
                try:
                    results[mode] = program(jx, text, mode)(*args)
                except Exception as error:
                    found[mode] = type(error).__name__
            return results

        if not jit:
            return compute
        return jx.jit(compute) if together else lambda *args: one_by_one(jx.jit(compute), args)

    with warnings.catch_warnings(), jx.enable_x64(True) if dtype == "float64" else contextlib.nullcontext():
        warnings.simplefilter("ignore")
        args = [jx.numpy.asarray(x) for x in points(dtype, arity, few)]
        try:
            found |= run(tried)(*args)
        except Exception:  # of the compiler, which does not say in which mode
            for mode in tried:
                try:
                    found |= run([mode])(*args)
                except Exception as error:
                    found[mode] = type(error).__name__
    return {mode: out if isinstance(out, str) else [_comparable(x) for x in out]
            for mode, out in found.items()}


def one_by_one(compiled: Callable, args: list) -> dict[str, list[np.ndarray]]:
    """The results of a program at each point alone, concatenated.

    A loop over an array goes on until its last element has ended, and costs as much for all.
    """
    alone = [compiled(*(x[i:i + 1] for x in args)) for i in range(args[0].size)]
    return {mode: [np.concatenate([_comparable(x) for x in column])
                   for column in zip(*(out[mode] for out in alone), strict=True)]
            for mode in alone[0]}


def _comparable(x: Any) -> np.ndarray:
    """A result; in the place of float0, which has no values, booleans."""
    array = np.asarray(x)
    return array if array.dtype.fields is None else np.zeros(array.shape, bool)
