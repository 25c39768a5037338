"""`scipy.special` against JAX's: values, types, derivatives to order 2, jaxprs, errors."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracle import both

X = np.array([-6.5, -2, -1.3, -0.4, 0, 0.3, 1, 1.8, 5.2, 12, 30, np.nan, np.inf, -np.inf], np.float32)
UNIT = np.array([0, 1e-30, 1e-9, 1e-3, 0.1, 0.3, 0.5, 0.8, 0.99, 1, 1.5, -0.1, np.nan], np.float32)
A, B = (x.ravel().astype(np.float32)
        for x in np.meshgrid([0, 0.1, 0.5, 1, 3, 9, 20], [0, 0.2, 1, 2, 8, 10, 30]))

# name -> arguments over the whole domain, its edges and beyond; and where to differentiate by which
FUNCTIONS = {
    "gammaln": [X], "gammasgn": [X], "loggamma": [X], "gamma": [X], "factorial": [X],
    "digamma": [X], "betaln": [A, B], "beta": [A / 20, B / 20], "comb": [A, B],
    "gammainc": [A, B], "gammaincc": [A, B], "betainc": [A + 1, B, np.float32(0.3)],
    "poch": [A / 20, B / 20], "zeta": [A + 1.1, B + 0.1], "erf": [X], "erfc": [X],
    "erfinv": [UNIT], "ndtr": [X], "ndtri": [UNIT], "log_ndtr": [X],
    "logit": [UNIT], "expit": [X], "xlogy": [A, B], "xlog1py": [A, B], "entr": [X],
    "rel_entr": [A - 0.1, B], "kl_div": [A, B - 0.2], "boxcox": [A, B - 1], "boxcox1p": [A, B - 1],
    "i0": [X], "i0e": [X], "i1": [X], "i1e": [X], "softmax": [A], "log_softmax": [A],
    "logsumexp": [A], "expi": [np.where(X > 29, 70, X)], "exp1": [np.where(X == 0, 2, X)],
    "erfcx": [X[:-3]], "dawsn": [X], "sici": [X], "spence": [X[:-3]], "fresnel": [X],
    "hyp1f1": [A - 3, B + 0.3, np.float32(0.7)],
    "hyp2f1": [A - 3, B + 0.3, np.float32(1.75), np.float32(0.7)],
}  # fmt: skip
INSIDE = {1: [[0.2, 0.55, 0.8]], 2: [[1.5, 3.2, 12.0], [0.4, 9.5, 7.25]],
          3: [[1.5, 3.2], [0.4, 9.5], [0.3, 0.8]],
          4: [[1.5, 3.2], [0.4, 2.5], [1.3, 3.8], [0.3, 0.4]]}
BY = {"exp1": [], "sici": [], "fresnel": [], "hyp1f1": [2], "hyp2f1": [],
      "beta": [0], "betainc": [2], "gammainc": [1], "gammaincc": [1], "gammasgn": []}
INSIDE_OF = {"zeta": [[2.5, 3.2, 4.0], [0.4, 3.5, 7.25]]}
# Where the text differs: by an expansion, by how `jnp.signbit` reads the sign, or by |x| without a kink.
OTHER_TEXT = {"i0", "i1", "betaln", "beta", "boxcox", "boxcox1p", "gamma", "gammasgn", "poch", "ndtri", "log_ndtr", "zeta", "logsumexp", "expi",
              "exp1", "erfcx", "dawsn", "sici", "spence", "fresnel", "hyp1f1", "hyp2f1"}


def inside(name: str) -> list[np.ndarray]:
    points = INSIDE_OF.get(name, INSIDE[len(FUNCTIONS[name])])
    return [np.array(x, np.float32) for x in points]


def function(jx, name: str):
    return getattr(jx.scipy.special, name)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values(name):
    tol = 4e-4 if name == "gammainc" else 3e-5  # compiled without optimisations, JAX's loses digits
    both(lambda jx: function(jx, name), *FUNCTIONS[name], tol=tol)


# With programs of our own, that must also be exact in double precision.
OWN = """betaln beta gammainc gammaincc betainc zeta ndtri log_ndtr i0e expi exp1 erfcx dawsn
    sici spence fresnel hyp1f1""".split()


@pytest.mark.parametrize("names", [OWN[:2], OWN[2::3], OWN[3::3], OWN[4::3]], ids=" ".join)
def test_double_precision(names):
    """Of betaln, JAX's expansion loses seven digits."""
    def program(jx):
        def run():
            with jx.enable_x64(True):
                return jx.jit(lambda: {name: function(jx, name)(
                    *(x.astype(np.float64) for x in FUNCTIONS[name])) for name in names})()

        return run

    both(program, tol=1e-6 if "betaln" in names else 1e-9)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_types(name):
    """The types of the results for half precision, integers, weak scalars and booleans."""
    args = inside(name)

    def program(jx):
        def types(*args):
            try:
                return str(jx.make_jaxpr(function(jx, name))(*args).out_avals)
            except (TypeError, ValueError) as error:
                return type(error).__name__

        half = [jx.numpy.asarray(x, dtype="bfloat16") for x in args]
        return lambda: (types(*half), types(*(x.astype(int) for x in args)),
                        types(*(0.5 for _ in args)), types(*(True for _ in args)))

    both(program)


@pytest.mark.parametrize("name", ["gamma", "loggamma"])
def test_types_of_complex_numbers(name):
    both(lambda jx: lambda: [jx.eval_shape(function(jx, name), z).weak_type
                             for z in (1j, jx.numpy.asarray(1j), np.complex64(1j))])


HALF = {*FUNCTIONS} - {"ndtr", "ndtri", "log_ndtr", "expi", "spence"}


@pytest.mark.parametrize("name", ["gammaln", "betainc", "zeta", "expi"])
def test_compiled(name):
    args = inside(name)

    def program(jx):
        f = function(jx, name)
        half = [jx.numpy.asarray(x, dtype="float16") for x in args]
        # JAX's coefficients of expi are infinite in half precision.
        return lambda: (jx.vmap(jx.jit(f))(*args), f(*half) if name in HALF else None)

    both(program)


def derivatives(jx, name: str):
    """The gradient by each argument, and the derivative of that."""
    args = inside(name)

    def by(argnum, x):
        def along(x):
            y = function(jx, name)(*args[:argnum], x, *args[argnum + 1:])
            return jx.numpy.sum(y * args[argnum])

        return jx.jvp(jx.grad(along), (x,), (x,))

    return [by(i, jx.numpy.asarray(args[i])) for i in BY.get(name, range(len(args)))]


@pytest.mark.parametrize("group", range(4))  # as compiling one large program is quicker
def test_derivatives(group):
    names = [*FUNCTIONS][group::4]
    both(lambda jx: jx.jit(lambda: {name: derivatives(jx, name) for name in names}), tol=3e-4)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_text(name):
    both(lambda jx: jx.make_jaxpr(function(jx, name)), *inside(name), text=name not in OTHER_TEXT)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_errors(name):
    both(lambda jx: function(jx, name), *[np.ones(2, np.complex64)] * len(FUNCTIONS[name]))
    both(lambda jx: function(jx, name), *["a"] * len(FUNCTIONS[name]))


COMPLEX = np.array([1 + 1j, -2.4 + 0.3j, 0.2 - 3j, -3, -7.2 + 0.1j, 5 + 8j, -8.9 - 0.1j], np.complex64)
CALLS = {
    "polygamma": lambda sp: [sp.polygamma(n, A + 0.1) for n in (0, 1, 3)],
    "polygamma of a float": lambda sp: sp.polygamma(1.0, 2.0),
    "multigammaln": lambda sp: [sp.multigammaln(A + 1.5, d) for d in (1, 3)],
    "bernoulli": lambda sp: [sp.bernoulli(n) for n in (1, 30)],
    "bernoulli of -1": lambda sp: sp.bernoulli(-1),
    "expn": lambda sp: [sp.expn(n, X[5:-1]) for n in (1, 2, 7, 6000)],
    "comb": lambda sp: sp.comb(A, B, repetition=True),
    "factorial": lambda sp: sp.factorial(3, exact=True),
    "zeta of one": lambda sp: sp.zeta(2.0),
    "loggamma": lambda sp: (sp.loggamma(COMPLEX), sp.gamma(COMPLEX)),
    "log_ndtr": lambda sp: [sp.log_ndtr(X, n) for n in (0, 1, 8)],
    "log_ndtr order": lambda sp: sp.log_ndtr(X, 31),
    "log_ndtr float order": lambda sp: sp.log_ndtr(X, 2.0),
    "bessel_jn": lambda sp: sp.bessel_jn(A.reshape(7, 7) + 0.5, v=3, n_iter=35),
    "bessel_jn of a scalar": lambda sp: sp.bessel_jn(2.0, v=0, n_iter=20),
    "wofz": lambda sp: (sp.wofz(COMPLEX), sp.wofz(A), sp.erfcx(COMPLEX)),
    "sph_harm_y": lambda sp: sp.sph_harm_y(np.array([1, 4]), np.array([-1, 3]), A[:2], B[1:3]),
    "sph_harm_y diff_n": lambda sp: sp.sph_harm_y(1, 1, 0.0, 0.0, diff_n=1),
    "fresnel of complex numbers": lambda sp: sp.fresnel(COMPLEX),
    "softmax": lambda sp: (sp.softmax(A.reshape(7, 7), axis=0), sp.log_softmax(X[:5], axis=-1)),
}


def test_derivatives_of_several_results_and_by_parameters():
    """Of the hypergeometric functions by their parameters, there is a first derivative only."""
    x = np.array([0.3, 1.8, 7.5], np.float32)

    def program(jx):
        sp, (a, b, c, z) = jx.scipy.special, inside("hyp2f1")
        return jx.jit(lambda: (
            [jx.jvp(f, (x,), (x,)) for f in (sp.sici, sp.fresnel)],
            jx.jvp(lambda *p: sp.hyp1f1(*p, z), (a, b), (a, b)),
            jx.jvp(lambda *p: sp.hyp2f1(*p, z), (a, b, c), (a, b, c)),
            jx.grad(lambda x: sp.wofz(x).real)(0.7)))

    both(program, tol=1e-4)


@pytest.mark.parametrize("name, args", [
    ("hyp1f1", (np.float32([0.3, 0.5]), 1.3, np.float16(0.5))),
    ("hyp1f1", (0.7, np.float32([[1.3], [1.6]]), np.float32([0.2, 0.5]))),
    ("hyp2f1", (np.float32([0.3, 0.5]), 1.3, 2.4, 0.4)),
    ("hyp2f1", (0.7, np.float32([[1.3], [1.6]]), np.float32([2.4, 2.5]), np.float16(0.5))),
])
def test_derivatives_by_parameters_of_other_shapes_and_dtypes(name, args):
    """The first argument is moved, then the second."""
    def program(jx):
        f = getattr(jx.scipy.special, name)
        return jx.jit(lambda: (
            jx.jvp(lambda a: f(a, *args[1:]), args[:1], (np.ones_like(args[0]),)),
            jx.jvp(lambda b: f(args[0], b, *args[2:]), args[1:2], (np.ones_like(args[1]),))))

    both(program, tol=2e-3)


@pytest.mark.parametrize("call", CALLS)
def test_calls(call):
    both(lambda jx: lambda: CALLS[call](jx.scipy.special), tol=2e-5)
