"""The base class of sparse arrays, where JAX has it."""

from .bcoo import JAXSparse as JAXSparse
