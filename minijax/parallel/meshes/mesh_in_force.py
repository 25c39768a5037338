"""Chapter 14: the mesh in force in a thread, which `set_mesh` and `use_abstract_mesh` change.
"""

from ...core.boundary import public
from ...core.core import eval_trace, state
from ...settings import UNSET, Override
from .mesh import AbstractMesh, Mesh, abstract_mesh, concrete_mesh, no_abstract_mesh, no_mesh


class use_abstract_mesh(Override):
    """`with use_abstract_mesh(mesh):` lets tracing find an abstract mesh.

    Raises:
      ValueError: it is no `AbstractMesh`, or of another size than the one already in force.

    >>> with jax.sharding.use_abstract_mesh(jax.sharding.AbstractMesh((2,), ("x",))):
    ...     jax.sharding.get_abstract_mesh()
    AbstractMesh('x': 2, axis_types=(Auto,))
    """

    def __init__(self, mesh: AbstractMesh) -> None:
        if not isinstance(mesh, AbstractMesh):
            raise ValueError("use_abstract_mesh: expected a jax.sharding.AbstractMesh, "
                             f"got {type(mesh)}. A Mesh has one: mesh.abstract_mesh.")
        super().__init__(abstract_mesh, mesh)

    def __enter__(self) -> None:
        outer, mesh = get_abstract_mesh(), self.value
        if not (outer.empty or mesh.empty) and outer.size != mesh.size:
            raise ValueError("use_abstract_mesh cannot change the size of the mesh in force: "
                             f"{mesh} has {mesh.size} places, and {outer} has {outer.size}.")
        if not outer.empty and outer is not mesh:
            _exchanged.update([(outer, mesh), (mesh, outer)])
        super().__enter__()


# Meshes that a program has put in force within one another. Its derivatives are computed outside.
_exchanged: set[tuple[AbstractMesh, AbstractMesh]] = set()


def is_foreign(mesh: AbstractMesh) -> bool:
    """Whether a mesh is not the one in force, the program did not change that, and the user has
    some axes in hand. `shard_map` closes over values on the mesh outside."""
    around = abstract_mesh.value
    if around is None or around is mesh or around.empty or around.manual_axes:
        return False
    return (not (around.are_all_axes_auto and mesh.are_all_axes_auto)
            and (around, mesh) not in _exchanged)


class set_mesh:
    """Put a mesh in force in this thread: from now on, or as `with set_mesh(mesh):`.

    Functions that take a sharding then take a `PartitionSpec`, and `shard_map` needs no `mesh`.

    Args:
      mesh: a mesh, or `None` for none.

    Raises:
      ValueError: it is no mesh, has `Manual` axes, or a function is being traced.

    >>> with jax.set_mesh(jax.make_mesh((1,), ("x",))):
    ...     print(jax.sharding.get_mesh())
    Mesh('x': 1, axis_types=(Explicit,))
    """

    @public
    def __init__(self, mesh: Mesh | None) -> None:
        if mesh is not None and not isinstance(mesh, Mesh):
            raise ValueError(f"set_mesh: expected a jax.sharding.Mesh, got {type(mesh)}.")
        _check_not_tracing("set_mesh")
        if mesh is not None and mesh.manual_axes:
            raise ValueError(f"set_mesh: {mesh} contains manual axes, which only shard_map puts "
                             "in force.")
        self._overrides = (Override(concrete_mesh, UNSET if mesh is None else mesh),
                           Override(abstract_mesh, UNSET if mesh is None else mesh.abstract_mesh))
        for override in self._overrides:
            override.__enter__()

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc_info: object) -> None:
        for override in self._overrides:
            override.__exit__(*exc_info)


def get_mesh() -> Mesh:
    """The mesh of `set_mesh`, or an empty one.

    Raises:
      ValueError: a function is being traced. It can use `get_abstract_mesh`.

    >>> jax.sharding.get_mesh()
    Mesh(axis_sizes=(), axis_names=())
    """
    _check_not_tracing("get_mesh")
    return concrete_mesh.value or no_mesh


def get_abstract_mesh() -> AbstractMesh:
    """The mesh in force without its devices, or an empty one.

    >>> jax.sharding.get_abstract_mesh()
    AbstractMesh((), axis_types=())
    """
    return abstract_mesh.value or no_abstract_mesh


def _check_not_tracing(caller: str) -> None:
    if state.trace is not eval_trace or state.axis_sizes:
        raise ValueError(f"{caller} works outside of traced functions only. While a function is "
                         "traced, get_abstract_mesh() gives the mesh in force.")
