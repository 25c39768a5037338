"""Chapter 10: `checkpoint_name`, which gives values names that policies can refer to."""

from typing import Any

from ..core.batching import primitive_batchers
from ..core.boundary import public
from ..core.core import Primitive, typeof
from ..core.forward import primitive_jvps
from ..core.lowering import register_lowering
from ..core.tree import tree_map

name_p = Primitive("name")


@public
def checkpoint_name(x: Any, name: str) -> Any:
    """`x`, with names on its leaves for the policies of `checkpoint` that go by names.

    Args:
      x: a pytree of arrays.
      name: a string.

    >>> f = lambda x: jnp.cos(checkpoint_name(jnp.sin(x), "inner"))
    >>> f = jax.checkpoint(f, policy=jax.checkpoint_policies.save_only_these_names("inner"))
    >>> jax.grad(f)(0.0).item()
    -0.0
    """
    tree_map(typeof, x)  # a TypeError for what is no array
    return tree_map(lambda leaf: name_p.bind(leaf, name=name), x)


name_p.def_impl(lambda x, *, name: x)
name_p.def_abstract_eval(lambda aval, *, name: aval)
primitive_jvps[name_p] = lambda primals, tangents, *, name: (
    name_p.bind(*primals, name=name), tangents[0])  # the tangent has no name
primitive_batchers[name_p] = lambda args, dims, *, name: (name_p.bind(*args, name=name), dims[0])
register_lowering(name_p, lambda ctx, x, *, name: x)
