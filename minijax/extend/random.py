"""The public names of `jax.extend.random`."""

# chapter 13
from ..random.custom import define_prng_impl, random_seed, seed_with_impl, threefry_2x32
from ..random.generators import RBG as rbg_prng_impl, UNSAFE_RBG as unsafe_rbg_prng_impl
from ..random.threefry import threefry2x32_p
from ..random.threefry_keys import THREEFRY as threefry_prng_impl
