"""Chapter 6: modules and classes of jaxlib, for programs that ask for them."""

from __future__ import annotations

from jaxlib import _jax, xla_client

from .client import Buffer, Device, XlaRuntimeError  # noqa: F401

ifrt_programs = _jax.ifrt_programs  # a module, as `jax.extend` gives it
PyTreeRegistry = _jax.pytree.PyTreeRegistry
# For programs that ask which of its releases jaxlib is, or test its C++ modules
jaxlib_extension_version = _version = getattr(xla_client, "_version", 0)
ifrt_version: int = getattr(xla_client, "_ifrt_version", 0)
HloSharding, OpSharding = xla_client.HloSharding, xla_client.OpSharding
pytree, jax_jit, guard_lib = _jax.pytree, _jax.jax_jit, _jax.guard_lib
