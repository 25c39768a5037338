"""The cache of compiled programs on disk, under the name of JAX's module."""
