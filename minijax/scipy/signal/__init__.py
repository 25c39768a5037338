"""Chapter 13: `scipy.signal`: convolutions in several dimensions, and spectra of signals."""

from ._convolutions import convolve, convolve2d, correlate, correlate2d, fftconvolve
from ._spectra import csd, detrend, istft, stft, welch

__all__ = ["convolve", "convolve2d", "correlate", "correlate2d", "csd", "detrend", "fftconvolve",
           "istft", "stft", "welch"]
