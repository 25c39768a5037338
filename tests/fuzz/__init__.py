"""Random programs, run in minijax and in JAX. `python -m tests.fuzz --minutes 5 --seed 1`."""
