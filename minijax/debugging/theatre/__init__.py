"""Chapter 15: the trace theatre, which records a run of the real code and plays it step by step.

`recorder.py` watches a run through Python's own hook for debuggers, so no other file of the library
mentions it; `watched.py` says which functions. `boxes.py` describes the values, and `graph.py` how
they came from each other. `steps.py` folds events into steps. `drawing.py` draws the graph, and
`page.py` writes the recording and the player to one HTML file.
"""

from .page import stage, theatre, write_page
from .recorder import FORMAT, Recording, record

__all__ = ["FORMAT", "Recording", "record", "stage", "theatre", "write_page"]
