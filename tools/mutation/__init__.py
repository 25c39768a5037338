"""Mutation testing of the rules: does a test fail when a rule is changed?

`make mutants N=300 SEED=1` changes one expression at a time and runs the tests that reach it.
A mutant that no test notices shows a hole in the tests, unless it computes the same.
"""
