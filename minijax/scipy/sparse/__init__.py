"""Equations whose matrix is only known by its products with vectors."""

from . import linalg
