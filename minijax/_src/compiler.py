"""What chex takes from `jax._src.compiler`: the module.

`chex.restrict_backends` replaces the function that compiles. There is none here to replace, so that
context restricts nothing.
"""
