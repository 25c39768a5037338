"""Convolutions of jax.numpy and jax.scipy.signal, and spectra: against JAX."""

from __future__ import annotations

import numpy as np
import pytest

import minijax
import minijax.scipy.signal
from tests.oracle.compare import both

RNG = np.random.default_rng(0)
A, B = (RNG.normal(size=n).astype(np.float32) for n in (9, 4))
M, N = (RNG.normal(size=n).astype(np.float32) for n in ((5, 6), (2, 3)))
SIGNAL = RNG.normal(size=(2, 60)).astype(np.float32)
MODES = ("full", "same", "valid")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["convolve", "correlate"])
def test_vectors(name, mode):
    def program(m):
        f = lambda x, y: getattr(m.numpy, name)(x, y, mode)
        g = m.grad(lambda x, y: (f(x, y) ** 2).sum(), (0, 1))
        return lambda x, y: (f(x, y), f(y, x), m.make_jaxpr(f)(x, y), m.make_jaxpr(f)(y, x),
                             m.jit(g)(x, y))

    both(program, A, B)


@pytest.mark.parametrize("dtype", ["int32", "bool", "bfloat16", "complex64"])
def test_dtypes_of_vectors(dtype):
    x, y = (np.asarray(minijax.numpy.asarray(a * 3).astype(dtype)) for a in (A, B))
    x, y = (a * (1 + 2j) if dtype == "complex64" else a for a in (x, y))
    both(lambda m: lambda x, y: (m.numpy.convolve(x, y), m.numpy.correlate(x, y, "same"),
                                 m.numpy.correlate(y, x),
                                 m.numpy.convolve(x, A, precision="highest"),
                                 m.numpy.convolve(A, A, preferred_element_type="float32")), x, y)


CALLS = {
    **{f"{name} {mode}": (lambda s, x, y, name=name, mode=mode: getattr(s, name)(x, y, mode))
       for name in ("convolve", "correlate", "fftconvolve", "convolve2d", "correlate2d")
       for mode in MODES},
    "convolve fft": lambda s, x, y: s.convolve(x, y, method="fft"),
    "correlate fft": lambda s, x, y: s.correlate(x, y, method="fft"),
    "one axis": lambda s, x, y: s.fftconvolve(x[:2], y, axes=1),
    "last axis": lambda s, x, y: s.fftconvolve(x[:2], y, "same", axes=[-1]),
    "outer": lambda s, x, y: s.fftconvolve(x[:1], y[:, :1]),
}


@pytest.mark.parametrize("name", CALLS)
def test_matrices(name):
    def program(m):
        f = lambda x, y: CALLS[name](m.scipy.signal, x, y)
        results = [f(M, N)]
        if name.endswith(("2d same", "e full", "fft")):
            results += [m.jit(m.grad(lambda x, y: (f(x, y) ** 2).sum()))(M, N)]
        if name not in ("one axis", "last axis"):
            results += [f(N, M), f(M, M)]
        return lambda: results

    both(program, tol=2e-4)


@pytest.mark.parametrize("name", ["correlate full", "fftconvolve full", "correlate2d valid"])
def test_complex_matrices(name):
    both(lambda m: lambda x, y: (CALLS[name](m.scipy.signal, x, y),
                                 CALLS[name](m.scipy.signal, y, x),
                                 CALLS[name](m.scipy.signal, x, y.real)),
         M + 1j * M[::-1], N - 2j * N)


SPECTRA = {
    "detrend": lambda s, x: s.detrend(x),
    "detrend, constant": lambda s, x: s.detrend(x, 0, "constant"),
    "detrend, pieces": lambda s, x: s.detrend(x, bp=[20, 33]),
    "detrend, ints": lambda s, x: s.detrend((x * 10).astype("int32")),
    "stft": lambda s, x: s.stft(x, nperseg=16),
    "stft, all options": lambda s, x: s.stft(
        x, 10.0, ("tukey", 0.25), 12, 5, 20, "linear", False, "odd", False),
    "stft, other axis": lambda s, x: s.stft(x.T, nperseg=16, axis=0, boundary="even"),
    "stft, complex": lambda s, x: s.stft(x + 1j * x, nperseg=16, boundary="constant"),
    "stft, window": lambda s, x: s.stft(x, window=np.arange(1.0, 9), nperseg=8, boundary=None),
    "stft, one": lambda s, x: s.stft(x, nperseg=1, noverlap=0),
    "stft, empty": lambda s, x: s.stft(x[:0]),
    "stft, short": lambda s, x: s.stft(x[:, :10]),
    "stft, own trend": lambda s, x: s.stft(x, nperseg=16, detrend=lambda y: y - y[..., :1]),
    "welch": lambda s, x: s.welch(x, nperseg=16),
    "welch, median": lambda s, x: s.welch(x, 2.0, "hamming", 16, 4, 24, average="median"),
    "welch, spectrum": lambda s, x: s.welch(x, scaling="spectrum", return_onesided=False),
    "welch, odd": lambda s, x: s.welch(x, nperseg=15, detrend=False),
    "csd": lambda s, x: s.csd(x, x[::-1], nperseg=16),
    "csd, median": lambda s, x: s.csd(x, x[::-1] + 1, nperseg=16, average="median"),
    "csd, two lengths": lambda s, x: s.csd(x, x[:, :40], nperseg=16),
    "istft": lambda s, x: s.istft(s.stft(x, nperseg=16)[2]),
    "istft, all options": lambda s, x: s.istft(
        s.stft(x, 10.0, "hamming", 12, 8, 20, return_onesided=False)[2], 10.0, "hamming", 12, 8, 20,
        False),
    "istft, axes": lambda s, x: s.istft(np.asarray(s.stft(x, nperseg=8)[2]).T, time_axis=0,
                                        freq_axis=1),
    "istft, window": lambda s, x: s.istft(s.stft(x, nperseg=8, boundary=None)[2],
                                          window=np.arange(1, 9, dtype=np.float32), boundary=False),
}


@pytest.mark.daily(3)
@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.filterwarnings("ignore")
def test_spectra(name):
    both(lambda m: lambda x: SPECTRA[name](m.scipy.signal, x), SIGNAL, tol=2e-4)


@pytest.mark.parametrize("name", ["detrend", "csd, median", "istft"])
def test_gradients_of_spectra(name):
    def program(m):
        f = lambda x: abs(m.tree.leaves(SPECTRA[name](m.scipy.signal, x))[-1] ** 2).sum()
        return m.jit(m.grad(f))

    both(program, SIGNAL, tol=1e-3)


def test_there_and_back():
    """Segments of odd length, too, with which JAX's `istft` fails."""
    for options in ({"nperseg": 16, "noverlap": 12}, {"nperseg": 10}, {"nperseg": 9}):
        transforms = minijax.scipy.signal.stft(SIGNAL, **options)[2]
        _, again = minijax.scipy.signal.istft(transforms, **options)
        np.testing.assert_allclose(again[:, :60], SIGNAL, atol=1e-4)
