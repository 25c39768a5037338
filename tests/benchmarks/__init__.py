"""`make bench`: how fast minijax is, measured against real JAX in the same run."""
