"""minijax.numpy."""
from ._ufuncs import *
from ._special import *
from ._reductions import *
from ._constructors import *
from ._scalar_types import *
from ._shaping import *
from ._joining import *
from ._products import *
from ._einsum import *
from ._ranges import *
from ._vectorize import *
from ..operators import *
