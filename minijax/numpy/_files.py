"""Chapter 12: arrays from and to files, buffers of bytes, and other libraries."""

from tokenize import TokenError
from typing import Any

import numpy as np

from ..core import dtypes
from ..core.array import Array
from ..core.boundary import public
from ..core.core import ShapedArray
from ..runtime import xla
from ..text.naming import named
from ._constructors import asarray

HOST = 1  # DLPack's name of the kind of device that has its data in the host's memory

save, savez = np.save, np.savez


@public
def load(file, *args, **kwargs) -> Any:
    """An array from a file that `save` wrote; see `numpy.load`. One of objects stays NumPy's.

    Raises:
      ValueError: the file is damaged, or has objects, which are code: `allow_pickle=True` runs it.
    """
    try:
        out = np.load(file, *args, **kwargs)
    except (SyntaxError, TokenError) as error:  # NumPy reads the header as an expression of Python
        raise ValueError(f"the file is damaged: {error}") from None
    if not isinstance(out, np.ndarray) or out.dtype == object:
        return out
    return asarray(out.view(dtypes.bfloat16) if out.dtype == "V2" else out)


@public
def frombuffer(buffer, dtype=float, count: int = -1, offset: int = 0) -> Any:
    """The elements in a buffer of bytes, as `numpy.frombuffer`.

    >>> frombuffer(b"abc", jnp.uint8).tolist()
    [97, 98, 99]
    """
    if isinstance(buffer, Array):  # before Python 3.12 only C++ can show a buffer
        buffer = np.asarray(buffer)
    return asarray(np.frombuffer(buffer, dtype, count, offset))


@public
def fromstring(string: str, dtype=float, count: int = -1, *, sep: str) -> Any:
    """The numbers in a text, as `numpy.fromstring`.

    >>> fromstring("1 2 3", sep=" ").tolist()
    [1.0, 2.0, 3.0]
    """
    return asarray(np.fromstring(string, dtype, count, sep=sep))


def _impure(name: str, what: str):
    """A function of NumPy's that reads something up, and so gives another result each time."""

    @named(name, what=what)
    @public
    def function(*args, **kwargs):
        """Not here: `numpy.{name}` uses up the {what} that it reads.

        Raises:
          NotImplementedError: always.
        """
        raise NotImplementedError(
            f"jnp.{name}() uses up the {what} that it reads, so that a function with it cannot be "
            f"traced: write jnp.asarray(np.{name}(...)), outside of the traced function.")

    return function


fromfile, fromiter = _impure("fromfile", "file"), _impure("fromiter", "iterator")


@public
def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """An array of another library, through the DLPack protocol.

    Args:
      x: an object with `__dlpack__` and `__dlpack_device__`, whose data are in the host's memory.
        Do not change it afterwards: unless `copy` is true, the array shares its memory.
      device: must be `None` or the device of our arrays.
      copy: whether to copy the data. `None` is `False`.

    Raises:
      TypeError: an object without the protocol.
      BufferError, RuntimeError: data on another kind of device.

    >>> from_dlpack(np.arange(3.0, dtype=np.float32))
    Array([0., 1., 2.], dtype=float32)
    """
    if not (hasattr(x, "__dlpack__") and hasattr(x, "__dlpack_device__")):
        raise TypeError("The array passed to from_dlpack must have __dlpack__ and __dlpack_device__"
                        " methods.")
    try:
        value = np.from_dlpack(x)
    except (BufferError, RuntimeError):  # NumPy has no name for bfloat16 and its like
        if x.__dlpack_device__()[0] != HOST:
            raise
        value = xla().fetch(xla("transfers").from_dlpack(x.__dlpack__()))
    value = value.astype(dtypes.canonicalize_dtype(value.dtype), copy=bool(copy))
    return asarray(Array(value, ShapedArray(value.shape, value.dtype)), device=device)
