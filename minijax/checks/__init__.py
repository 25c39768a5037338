"""What refuses bad input, and the words in which it does: one module for each module of `core/`.

The core asks one named question per concern, in one line. A check returns nothing, raises or warns:
without these lines the engine computes the same.
"""
