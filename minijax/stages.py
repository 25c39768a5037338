"""The public names of `jax.stages`: what a jitted function goes through until it runs."""

# chapter 6
from .runtime.arguments import ArgInfo
from .runtime.jit import PjitFunction as Wrapped
from .runtime.stages import Compiled, Lowered, Traced

CompilerOptions = dict[str, str | bool]
