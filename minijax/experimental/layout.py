"""The public names of `jax.experimental.layout`."""

from ..parallel.meshes.layouts import Format, Layout, with_layout_constraint
