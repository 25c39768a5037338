"""The exercises of the book: `python -m minijax learn`.

A chapter's `exercises.py` holds stubs for the reader to fill in, `solutions.py` the same names
filled in, and `checks.py` what is asked of them, with the tools of `checking.py`.
"""
