"""Chapter 13: the settings of random numbers."""

from functools import partial

from ..settings import add_traced, bool_state, choice_state, define, parse_word

default_prng_impl = choice_state(
    "jax_default_prng_impl",
    ("threefry2x32", "rbg", "unsafe_rbg"), "threefry2x32",
    "The implementation that keys are for, unless they say another.")
enable_custom_prng = bool_state(
    "jax_enable_custom_prng", "Whether `random.PRNGKey`, too, makes keys of the new style.")
threefry_partitionable = bool_state(
    "jax_threefry_partitionable",
    "Whether each random word is made by itself, so that devices can share the work; when off, the "
    "numbers are those of old releases.", default=True)


legacy_prng_key = define(
    "jax_legacy_prng_key", "allow", partial(parse_word, ("allow", "warn", "error")),
    "What to do with keys of the old style, arrays of `uint32`, where a key is expected.")
debug_key_reuse = bool_state(
    "jax_debug_key_reuse",
    "Whether using a random key for the second time raises an error.")
add_traced(default_prng_impl, enable_custom_prng, threefry_partitionable)
