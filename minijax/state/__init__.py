"""Chapter 15: mutable references. How can a function that changes state be transformed?

    new_ref : a → Ref a        ref[i] : Ref a → a        ref[i] = x : Ref a, a → ()

A reference is a box for an array. Reading and writing it are primitives with an *effect*, so they
stay in a jaxpr in their order. Every transformation handles a few primitives on references. XLA
only ever sees *discharged* programs: a reference that a loop uses becomes a part of the loop's
carry, and the loop is pure again.

    refs.py        the box, its abstract value, its effects
    indexing.py    the part of a reference that an index selects
    primitives.py  new_ref, get, swap, addupdate, freeze, and their rules
    batching.py    reading and writing the references of all examples
    accumulation.py  the backward pass over references
    discharge.py   from a program with references to a pure one
    loops.py       from a loop over references to one that carries their contents
    calls.py       the rules of loops, branches and calls that use references
    programs.py    running a compiled program that changes references

The counterparts in JAX are `jax/_src/state/` and `jax/_src/ref.py`.
"""

from . import (
    accumulation as accumulation, batching as batching, calls as calls, printed as printed,
    programs as programs)
