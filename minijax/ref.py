"""The public names of `jax.ref`."""

# chapter 15
from .state.functions import addupdate, empty_ref, free_ref, freeze, get, new_ref, set, swap
from .state.refs import AbstractRef, Ref
