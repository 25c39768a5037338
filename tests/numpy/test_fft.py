"""Fourier and cosine transforms against JAX's."""

from __future__ import annotations

import numpy as np
import pytest

import minijax.scipy.fft
from tests.oracle import ask, both, oracle, subject
from tests.oracle.calls import program

RNG = np.random.default_rng(0)
ARRAYS = {
    "x": RNG.normal(size=6).astype(np.float32),
    "c": (RNG.normal(size=(3, 5)) + 1j * RNG.normal(size=(3, 5))).astype(np.complex64),
    "t": RNG.normal(size=(2, 3, 4)).astype(np.float32),
    "i": np.arange(5, dtype=np.int32),
    "b": np.array([True, False, True]),
    "h": RNG.normal(size=4).astype(np.float16),
    "e0": np.zeros((0, 3), np.float32),
    "big": RNG.normal(size=(2, 1, 3, 2, 4)).astype(np.float32),
}

ROWS = [row.strip() for line in """
fft(x) | fft(c) | fft(i) | fft(b) | fft(h) | fft(2.0) | fft("a") | fft(x, 4) | fft(x, 8) | fft(c, axis=0)
fft(t, axis=1, n=2) | fft(x, norm="ortho") | fft(x, norm="forward") | fft(x, norm="a") | fft(x, 0)
fft(x, axis=1) | fft(x, axis=(0,)) | fft(e0) | fft(e0, axis=0) | ifft(x) | ifft(c, 3, 0, "ortho")
ifft(c, norm="forward") | ifft(x, norm="backward") | ifft(i, 7) | rfft(x) | rfft(x, 5) | rfft(c)
rfft(t, axis=0) | rfft(h) | rfft(i, norm="ortho") | rfft(x, norm="forward") | rfft(e0) | rfft(x[:1])
irfft(c) | irfft(c, 7) | irfft(x) | irfft(c, axis=0, norm="ortho") | irfft(c, 9, norm="forward")
irfft(x[:1]) | irfft(c, 1) | hfft(c) | hfft(c, 5, 0) | hfft(x, norm="ortho") | ihfft(x) | ihfft(c)
ihfft(x, 4, norm="forward") | ihfft(t, axis=1) | fft2(c) | fft2(t) | fft2(t, (3, 2), (0, 2)) | fft2(x)
fft2(t, axes=(0, 1, 2)) | ifft2(c, norm="ortho") | rfft2(t) | rfft2(t, norm="forward") | irfft2(c)
irfft2(c, (3, 4)) | irfft2(c, (4, 5), (1, 0)) | fftn(t) | fftn(t, (2, 2)) | fftn(t, axes=(0, 2))
fftn(t, axes=(0, 0)) | fftn(t, (2,), (0, 1)) | fftn(x[0]) | ifftn(t, norm="ortho") | fftn(big)
rfftn(t) | rfftn(big) | rfftn(t, (2, 5)) | rfftn(t, axes=(1, 0)) | irfftn(t) | irfftn(big)
irfftn(c, (3, 5)) | irfftn(t, axes=(2, 0)) | irfftn(x[0]) | rfftn(x[0]) | ifftn(big, axes=(3, 1))
fftfreq(5) | fftfreq(4, 0.5) | fftfreq(4, dtype=jnp.float16) | fftfreq([4]) | fftfreq(4, [1]) | rfftfreq(5)
rfftfreq(6, 2) | rfftfreq((4,)) | rfftfreq(4, (1,)) | fftfreq(3, x[0]) | fftshift(x) | fftshift(t)
irfft(e0[:, 0]) | irfft(e0.T) | irfft2(e0.T) | irfftn(e0.T) | hfft(e0.T) | irfft(e0[:, 0], norm="forward")
fftshift(t, 1) | fftshift(t, (0, -1)) | ifftshift(t) | ifftshift(i) | ifftshift(t, 2) | fftshift(x, 3)
""".strip().splitlines() for row in line.split(" | ")]
ROWS = ["jnp.fft." + row for row in ROWS]


def program_of(row: str, transform: str = ""):
    """The row, with `jnp` for the library's NumPy, perhaps transformed."""
    transformed = (lambda jx, f: getattr(jx, transform)(f)) if transform else None
    return program(row, ARRAYS, lambda jx: {"jnp": jx.numpy}, transformed)


@pytest.mark.parametrize("row", ROWS)
def test_eager(row):
    both(program_of(row))


@pytest.mark.parametrize("row", ROWS)
def test_text(row):
    both(program_of(row, "make_jaxpr"))


@pytest.mark.parametrize("row", ["fft(c)", "rfftn(t)", "irfft(c, 6)", "irfftn(t)", "ihfft(x)"])
def test_jit(row):
    both(program_of("jnp.fft." + row, "jit"))


@pytest.mark.parametrize("kind", ["FFT", "IFFT", "RFFT", "IRFFT"])
@pytest.mark.parametrize("sizes", [(5,), (3, 2, 4)])
def test_derivatives(kind, sizes):
    """Transposes; and of a nonlinear function, gradients of gradients."""
    shape = sizes if kind != "IRFFT" else (*sizes[:-1], sizes[-1] // 2 + 1)
    rng = np.random.default_rng(1)
    x = rng.normal(size=(2, *shape))
    x = x if kind == "RFFT" else x + 1j * rng.normal(size=x.shape)

    def program(jx):
        def f(x):
            return jx.lax.fft(x, kind, sizes)

        def loss(x):
            return (jx.numpy.abs(f(x)) ** 2).sum()

        def derivatives(x):
            y, pull = jx.vjp(f, x)
            turned = jx.numpy.sin(jx.numpy.arange(y.size).reshape(y.shape)).astype(y.dtype)
            return (pull(turned), jx.jvp(f, (x,), (x,)), jx.vmap(f, 1, 1)(jx.numpy.stack([x, x], 1)),
                    jx.grad(lambda x: jx.numpy.real(jx.grad(loss)(x) ** 2).sum())(x),
                    jx.make_jaxpr(jx.linear_transpose(f, x))(y))

        return derivatives

    with oracle.enable_x64(True), subject.enable_x64(True):
        both(program, x)


def test_lax():
    x = np.random.default_rng(2).normal(size=(2, 4)).astype(np.float32)
    for kind, sizes in [("fft", (4,)), ("irfft", (2, 6)), ("Fft", (4,)), (3, (6,)), ("fft", ()),
                        ("fft", (5,)), ("fft", (2, 2, 4)), ("rfft", (3,)), ("irfft", (3, 6))]:
        both(lambda jx, kind=kind, sizes=sizes: lambda x: jx.lax.fft(x, kind, sizes), x)
    both(lambda jx: lambda x: jx.lax.fft(x, jx.lax.FftType.RFFT, (4,)), x)
    both(lambda jx: lambda x: jx.lax.fft_p.bind(x, fft_type=jx.lax.FftType.FFT, fft_lengths=(4,)), x)
    assert set(subject.lax.FftType.__members__) == set(ask(lambda: [*oracle.lax.FftType.__members__]))


@pytest.mark.parametrize("n", [100, 40_000])
def test_small_and_large(n):
    """NumPy computes the one, XLA the other."""
    x = np.random.default_rng(2).normal(size=n).astype(np.float32)
    both(lambda jx: lambda x: jx.numpy.fft.irfft(jx.numpy.fft.rfft(jx.numpy.asarray(x))), x)


COSINES = [row.strip() for line in """
dct(x) | dct(t, axis=1) | dct(x, n=8) | dct(x, n=3, norm="ortho") | dct(c, norm="backward") | dct(x, 3)
dct(x, norm="a") | dct(i) | idct(x) | idct(c, norm="ortho") | idct(i) | idct(h) | idct(x, n=4) | idct(x, 1)
dctn(t, axes=(0, 2), norm="ortho") | dctn(t, s=(2, 3)) | dctn(t, s=2) | dctn(x, s=(1, 1)) | dctn(t, axes=1)
idctn(t[0], s=(2, 5), axes=(1, 0)) | idctn(t, axes=(5,)) | dct(x[:1])
""".strip().splitlines() for row in line.split(" | ")]


@pytest.mark.parametrize("row", COSINES)
def test_cosines(row):
    def program(jx):
        names = {name: jx.numpy.asarray(a) for name, a in ARRAYS.items()}
        return lambda: eval("fft." + row, {"fft": jx.scipy.fft, **names})

    assert minijax.scipy.fft.dct.__name__ == "dct"
    both(program)


def test_the_gradient_of_a_cosine_transform():
    def program(jx):
        fft = jx.scipy.fft
        return lambda x: (jx.grad(lambda x: (fft.dctn(x) ** 2).sum())(x),
                          jx.jit(fft.idct)(x), fft.idct(fft.dct(x)) - x)

    both(program, ARRAYS["t"])
    np.testing.assert_allclose(program(minijax)(ARRAYS["t"])[2], np.zeros((2, 3, 4)), atol=1e-5)


def test_more_sizes_than_dimensions():
    both(lambda jx: lambda x: jx.numpy.fft.fftn(x, s=(3, 3)), np.ones(3), raises=ValueError)


def test_frequencies_of_a_size_that_is_not_an_integer():
    both(lambda jx: lambda: (jx.numpy.fft.rfftfreq(2.5), jx.numpy.fft.rfftfreq(5.0)))


@pytest.mark.parametrize("size", [0, 1])
def test_the_inverse_of_hfft_of_few_numbers(size):
    both(lambda jx: jx.numpy.fft.ihfft, np.ones(size), raises=None if size else ValueError)
