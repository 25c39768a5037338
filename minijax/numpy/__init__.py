"""minijax.numpy."""
from ._ufuncs import *
from ._special import *
from ._reductions import *
from ._constructors import *
from ._scalar_types import *
