"""Chapter 15: a description of this process, for reports of bugs."""

import os
import sys

import numpy as np

from ..runtime import xla
from ..runtime.devices import devices


def print_environment_info(return_string: bool = False) -> str | None:
    """Print the versions of the libraries, the devices, and the settings of the environment.

    Args:
      return_string: whether to return the text instead.

    >>> print(print_environment_info(return_string=True))
    minijax: ...
    """
    import platform  # wanted nowhere else

    versions = {
        "minijax": sys.modules["minijax"].__version__,
        "jaxlib": ".".join(map(str, xla().JAXLIB_VERSION)),
        "numpy": np.__version__,
        "python": sys.version.replace("\n", " "),
        "devices": ", ".join(map(str, devices())),
        "platform": platform.uname(),
    }
    # "jax:    …" and "jaxlib: …" are looked for in this text.
    lines = [f"{name}: ".ljust(12 if name == "minijax" else 8) + f"{value}"
             for name, value in versions.items()]
    lines += [f"{name}={value}" for name, value in os.environ.items()
              if name.startswith(("JAX_", "XLA_"))]
    text = "\n".join(lines)
    return text if return_string else print(text)
