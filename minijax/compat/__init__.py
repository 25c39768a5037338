"""JAX's spellings that carry no idea: aliases, deprecated forms, ignored arguments."""

from . import absl_flags, core, jaxpr, objects, params
