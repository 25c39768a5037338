"""What lineax takes from `jax._src.ad_util`."""

# chapter 9
from ..core.primitives import stop_gradient_p
