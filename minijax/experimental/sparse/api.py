"""New sparse arrays and conversion to dense ones, where JAX has them."""

from ._base import JAXSparse as JAXSparse
from .bcoo import BCOO as BCOO
from .bcsr import BCSR as BCSR
from .bcsr import empty as empty
from .bcsr import eye as eye
from .transform import todense as todense
from .transform import todense_p as todense_p
