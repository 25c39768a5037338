"""`jax.api_util`: between functions of pytrees and functions of flat lists."""

# chapter 3
from .core.tree import (
    TreeCell,
    argnums_partial,
    ensure_index,
    ensure_index_tuple,
    flatten_axes,
    positive_argnums,
)
from .pytree.flattening import (
    check_aux_pair, flatten_fun, flatten_fun_has_aux, flatten_fun_nokwargs,
    flatten_fun_nokwargs_has_aux,
)
from .core.api_util import (
    ResolvedArgs,
    arg_names,
    argument_avals,
    check_argnums_passed,
    check_callable,
    check_static_hashable,
    donation_vector,
    ensure_str_tuple,
    fun_name,
    fun_signature,
    fun_sourceinfo,
    infer_argnums_and_argnames,
    leaf_names,
    rebase_donate_argnums,
    resolve_argnums,
    resolve_kwargs,
    result_paths,
)
from .core.util import safe_map

# chapter 5
from .core.staging import abstractify as shaped_abstractify, debug_info
