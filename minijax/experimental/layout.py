"""The public names of `jax.experimental.layout`."""

from ..parallel.layouts import Format, Layout, with_layout_constraint
