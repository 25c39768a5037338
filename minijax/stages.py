"""The public names of `jax.stages`: what a jitted function goes through until it runs."""

# chapter 6
from .core.jit import JitFunction as Wrapped
from .runtime.stages import ArgInfo, Compiled, Lowered, Traced

CompilerOptions = dict[str, str | bool]
