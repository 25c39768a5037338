"""JAX's options that have one value here: minijax does what they say, and nothing else."""

from __future__ import annotations

from typing import Any

from ..settings import State, bool_state, define, truth_of_word


def fixed_state(name: str, value: Any, help: str) -> State:
    """Makes a setting of JAX's that has one value here, a truth value, a number or a string.
    Another one is refused."""

    def only(new: Any) -> Any:
        if new != value:
            raise ValueError(f"{name} is always {value!r} in minijax, got {new!r}. {help}")
        return value

    if isinstance(value, bool):
        return define(name, value, only, help, lambda word: truth_of_word(word, name), True)
    return define(name, value, only, help, type(value))


auto_pcast = fixed_state(
    "jax_auto_pcast", True, "Values that differ by device are marked so where they meet.")
thread_guard = fixed_state(
    "jax_thread_guard", False, "Every thread may call functions of several processes.")
jax2tf_associative_scan_reductions = fixed_state(
    "jax2tf_associative_scan_reductions", False, "There is no jax2tf.")
remove_size_one_mesh_axis_from_type = fixed_state(
    "jax_remove_size_one_mesh_axis_from_type", False, "Types name all axes of a mesh.")
fixed_states = [fixed_state(*row) for row in (
    ("jax_mutable_array_checks", True, "References are always checked for aliases."),
    ("jax_use_shardy_partitioner", True, "Programs are partitioned by Shardy."),
    ("jax_use_simplified_jaxpr_constants", False, "Jaxprs list their constants."),
    ("jax_custom_vjp3", False, "custom_vjp has one implementation."),
    ("jax_scan3", False, "scan has one implementation."),
    ("jax_remat3", False, "checkpoint has one implementation."),
    ("jax_high_dynamic_range_gumbel", False, "Gumbel samples are drawn by one method."),
    ("jax_random_seed_offset", 0, "Seeds are used as they are."),
    ("jax_disallow_mesh_context_manager", False, "A mesh is a context manager."),
    ("jax_export_ignore_forward_compatibility", False,
     "Exported modules can be read by XLA of four weeks ago."),
    ("jax_enable_pgle", False, "Programs are compiled without profiles of earlier runs."),
    ("jax_bcoo_cusparse_lowering", False, "Sparse arrays are computed with as dense ones are."),
    ("jax_captured_constants_report_frames", 0, "No warning is given of large constants."),
    ("jax_compilation_cache_check_contents", False, "What the cache has is not compiled again."),
    ("jax_compilation_cache_expect_pgle", False, "Programs are compiled without profiles."),
    ("jax_compiler_enable_remat_pass", True, "XLA rematerializes by its own default."),
    ("jax_debug_log_modules", "", "There are no debugging logs."),
    ("jax_enable_recoverability", False, "A process that fails is not replaced."),
    ("jax_error_checking_behavior_divide", "ignore", "`checkify` checks divisors."),
    ("jax_error_checking_behavior_nan", "ignore", "`jax_debug_nans` and `checkify` check NaNs."),
    ("jax_error_checking_behavior_oob", "ignore", "`checkify` checks indices."),
    ("jax_exec_time_optimization_effort", 0.0, "XLA optimizes by its own default."),
    ("jax_memory_fitting_effort", 0.0, "XLA saves memory by its own default."),
    ("jax_memory_fitting_level", "O2", "XLA saves memory by its own default."),
    ("jax_ragged_dot_use_ragged_dot_instruction", True, "The CPU has one ragged_dot."),
    ("jax_refs_to_pins", False, "References become arrays of the program."),
    ("jax_share_binary_between_hosts", False, "Each process compiles its programs."),
    ("jax_threefry_gpu_kernel_lowering", False, "Random bits are computed by ordinary operations."),
    ("jax_use_magma", "auto", "There is no MAGMA."),
    ("jax_optimization_level", "UNKNOWN", "XLA optimizes by its own default."),
)]
pprint_use_color = bool_state(
    "jax_pprint_use_color",
    "Whether jaxprs may be printed with colors. They never are, as without a terminal in JAX.",
    default=True)
