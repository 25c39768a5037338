"""Runs JAX's test files on minijax. JAX itself must not have been imported."""

import sys

import pytest

import minijax.alias
from tests.harness import show

minijax.alias.install()
show()
sys.exit(pytest.main(["--import-mode=importlib", "-p", "no:cacheprovider", *sys.argv[1:]]))
