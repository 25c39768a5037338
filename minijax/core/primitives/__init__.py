"""Chapter 1: the starter primitives, each with its evaluation on NumPy and its shape rule.

Their names and parameters are JAX's, without the sharding parameters.
"""
