"""`jax.api_util`: between functions of pytrees and functions of flat lists."""

# chapter 3
from .core.api_util import (
    TreeCell, ensure_index, ensure_index_tuple, flatten_axes, positive_argnums)
from .pytree.flattening import (
    argnums_partial, check_aux_pair, flatten_fun, flatten_fun_has_aux, flatten_fun_nokwargs,
    flatten_fun_nokwargs_has_aux)
from .checks.arguments import check_argnums_passed, check_callable
from .pytree.names import arg_names, fun_signature, leaf_names
from .pytree.arguments import (
    ResolvedArgs, ensure_str_tuple, infer_argnums_and_argnames, resolve_argnums, result_paths,
    argument_avals, donation_vector, rebase_donate_argnums, resolve_kwargs)
from .checks.tree import check_static_hashable
from .source import fun_name, fun_sourceinfo
from .compat.util import safe_map

# chapter 5
from .core.staging import shaped_abstractify as shaped_abstractify
from .pytree.arguments import debug_info
