"""Chapter 12: the inspection functions of the Python array API standard.

See https://data-apis.org/array-api/2024.12/API_specification/inspection.html.
"""

import sys
from types import ModuleType

from ..lax.dtypes import default_complex_dtype, default_float_dtype, default_int_dtype, dtype_kinds
from ..runtime.devices import devices
from ..settings import enable_x64

__array_api_version__ = "2024.12"

_TYPES_OF_32_BITS = frozenset(("bool", "int8", "int16", "int32", "uint8", "uint16", "uint32",
                               "float32", "complex64"))
_TYPES_OF_64_BITS = frozenset(("int64", "uint64", "float64", "complex128"))


class ArrayNamespaceInfo:
    """What the standard's inspection functions say of this namespace.

    >>> jnp.__array_namespace_info__().default_dtypes()["real floating"]
    dtype('float32')
    """

    def capabilities(self) -> dict:
        """Which operations traced functions may use."""
        return {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 64}

    def default_device(self) -> None:
        """`None`, since arrays that the user did not place may be moved."""
        return

    def devices(self) -> list:
        """`None`, and the devices there are."""
        return [None, *devices()]

    def default_dtypes(self, *, device=None) -> dict:
        """The types that numbers get, by their kind."""
        return {"real floating": default_float_dtype(),
                "complex floating": default_complex_dtype(),
                "integral": default_int_dtype(), "indexing": default_int_dtype()}

    def dtypes(self, *, device=None, kind: str | tuple[str, ...] | None = None) -> dict:
        """The types of a kind (or of several; by default all), by name.

        Raises:
          KeyError: there is no such kind.
        """
        known = _TYPES_OF_32_BITS | (_TYPES_OF_64_BITS if enable_x64.value else frozenset())
        kind = ("numeric", "bool") if kind is None else kind
        kinds = kind if isinstance(kind, tuple) else (kind,)
        return {dtype.name: dtype for one in kinds for dtype in dtype_kinds[one]
                if dtype.name in known}


def __array_namespace_info__() -> ArrayNamespaceInfo:
    """What this namespace can do, and its types and devices."""
    return ArrayNamespaceInfo()


def array_namespace(self, *, api_version: str | None = None) -> ModuleType:
    """The module with the functions for this array: `minijax.numpy`.

    Raises:
      ValueError: a version of the standard that is not the one we follow.

    >>> jnp.ones(2).__array_namespace__() is jnp
    True
    """
    if api_version not in (None, __array_api_version__):
        raise ValueError(f"{api_version=} is not available; available versions are: "
                         f"{[__array_api_version__]}")
    return sys.modules[__package__]
