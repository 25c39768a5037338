"""`jax.api_util`: between functions of pytrees and functions of flat lists."""

# chapter 3
from .core.api_util import (
    ResolvedArgs, TreeCell, arg_names, argnums_partial, argument_avals, check_argnums_passed,
    check_aux_pair, check_callable, check_static_hashable, donation_vector, ensure_index,
    ensure_index_tuple, ensure_str_tuple, flatten_fun, flatten_fun_has_aux,
    flatten_fun_nokwargs, flatten_fun_nokwargs_has_aux, fun_name, fun_signature, fun_sourceinfo,
    infer_argnums_and_argnames, leaf_names, positive_argnums, rebase_donate_argnums,
    resolve_argnums, resolve_kwargs, result_paths,
)
from .core.tree_functions import flatten_axes
from .core.util import safe_map

# chapter 5
from .core.staging import abstractify as shaped_abstractify, debug_info
