"""`python -m minijax doctor`: what is installed, and whether XLA compiles and runs a program."""

import platform
from importlib import metadata

import numpy as np

import minijax as jax

from ..runtime.compilation_cache import count_choices
from ..runtime.wrong_programs import WRONG_PROGRAMS, is_right


def version(package: str) -> str:
    """The installed version of a package, or "not installed"."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def try_xla() -> str:
    """Compile a small program and compare its result with NumPy's; raises if anything is wrong."""
    x = np.arange(6, dtype=np.float32)
    result = np.asarray(jax.jit(lambda x: 2 * x + 1)(x))
    if not np.array_equal(result, 2 * x + 1):
        raise ArithmeticError(f"2 * {x} + 1 came out as {result}")
    return "compiles and runs a program, with the right result"


def list_devices() -> str:
    """The devices that XLA sees. (Loading XLA may fail, hence the late import.)"""
    from ..runtime import client

    return ", ".join(str(device) for device in client.devices())


def autotuning() -> str:
    """Whether programs are tuned, and where the choices are kept."""
    if not jax.config.jax_cpu_autotune:
        return "off (jax_cpu_autotune finds XLA's fastest options for each program)"
    folder = jax.config.jax_compilation_cache_dir
    if not folder:
        return "on; choices last as long as the process, as jax_compilation_cache_dir is not set"
    count = count_choices()
    return f"on; {count} choice{'' if count == 1 else 's'} in {folder}"


def wrong_programs() -> str:
    """Which programs the installed XLA compiles wrongly by itself, and that minijax avoids them."""
    known = [wrong for wrong in WRONG_PROGRAMS if not is_right(wrong, wrong.default)]
    failing = [wrong.what for wrong in known if not is_right(wrong)]
    if failing:
        raise ArithmeticError(f"XLA compiles wrongly, with minijax's options, too: {failing}")
    return f"{len(known)} of {len(WRONG_PROGRAMS)} known kinds; minijax's options avoid them"


def line(name: str, value: object) -> None:
    """One finding, in two columns."""
    print(f"{name:<12}{value}")


def doctor() -> int:
    """Print the findings; return 0 if minijax works here, else 1."""
    line("minijax", jax.__version__)
    line("Python", f"{platform.python_version()} on {platform.system()} {platform.machine()}")
    for package in ("numpy", "jaxlib", "ml_dtypes", "opt_einsum"):
        line(package, version(package))
    line("jax", f"{version('jax')} (minijax never imports it; the tests compare with it)")
    x64 = "on" if jax.config.jax_enable_x64 else "off (64-bit values become 32-bit, as in JAX)"
    line("x64", x64)
    line("autotune", autotuning())
    try:
        line("devices", list_devices())
        line("XLA", try_xla())
        line("wrong", wrong_programs())
    except Exception as error:  # whatever is broken, the doctor's task is to say it
        line("XLA", f"FAILS. {type(error).__name__}: {error}")
        print("\nminijax does not work here. Does jaxlib suit this Python and this processor?")
        return 1
    print("\nAll is well.")
    return 0
