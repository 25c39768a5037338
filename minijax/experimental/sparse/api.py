"""New sparse arrays and conversion to dense ones, where JAX has them."""

from ._base import JAXSparse as JAXSparse
from .bcoo import BCOO as BCOO
from .bcsr import BCSR as BCSR, empty as empty, eye as eye
from .transform import todense as todense, todense_p as todense_p
