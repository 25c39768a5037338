"""The public names of `jax.extend.core.primitives`: every primitive, as `<name>_p`."""

# chapter 1
from ...primitives import dot, elementwise, reductions, shaping, slicing

for _room in (dot, elementwise, reductions, shaping, slicing):
    globals().update({name: p for name, p in vars(_room).items() if name.endswith("_p")})
add_jaxvals_p = elementwise.add_any_p  # its older name

# chapter 6
from ...xla.jit import jit_p
