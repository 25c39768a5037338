"""The public names of `jax.image`: images of another size."""

# chapter 13
from .nn.image import ResizeMethod, resize, scale_and_translate
