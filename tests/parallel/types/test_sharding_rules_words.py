"""Programs that split arrays in their types, as JAX's own tests do: results, and words of errors."""

from __future__ import annotations

import re

import numpy as np
import pytest

import minijax
from tests.oracle import ask, both, jax
from tests.oracle.text import jaxpr_text
from tests.parallel.types.test_types import plain

M = np.arange(16, dtype=np.float32).reshape(8, 2)
CUBE = np.arange(64, dtype=np.float32).reshape(4, 2, 8)


def words(jx):
    """The names of the rows. `put` spreads an array over the mesh in force."""
    types = jx.sharding.AxisType

    def put(x, *entries, **sums):
        return jx.device_put(x, jx.P(*entries, **sums))

    def within(f, *modes):
        """What `f` returns under a mesh whose axes have these types."""
        modes = [getattr(types, mode) for mode in modes or ("Explicit", "Explicit")]
        with jx.set_mesh(jx.make_mesh((4, 2), ("x", "y"), tuple(modes))):
            return f()

    def under(mesh, f):
        with jx.sharding.use_abstract_mesh(mesh):
            return f()

    def known(*values):
        """The types of results, how they lie, and their values."""
        leaves = jx.tree.leaves(values)
        return [(str(jx.typeof(x)), str(x.sharding.spec)) for x in leaves], [*map(np.asarray, leaves)]

    grid = jx.make_mesh((4, 2), ("i", "j"))

    auto = jx.sharding.Mesh(grid.devices, ("i", "j"))

    def over(f, in_specs, out_specs, mesh=auto):
        return jx.shard_map(f, in_specs=in_specs, out_specs=out_specs, mesh=mesh)

    return {"jx": jx, "grid": grid, "auto": auto, "over": over, "jnp": jx.numpy, "lax": jx.lax, "np": np, "P": jx.P, "M": M, "CUBE": CUBE,
            "N": jx.NamedSharding, "put": put, "within": within, "under": under, "known": known,
            "reshard": jx.reshard, "auto_axes": jx.sharding.auto_axes, "mesh": jx.make_mesh(
                (4, 2), ("x", "y")), "line": jx.make_mesh((8,), ("i",)),
            "explicit_axes": jx.sharding.explicit_axes, "types": types,
            "abstract": jx.sharding.AbstractMesh,
            "text": lambda f, *args: plain(jaxpr_text(jx.make_jaxpr(f)(*args)))}


ERRORS = {
    "put(M, 'x') @ put(M.T, None, 'x')":
        "dot_general operation.*produces an illegally sharded result",
    "put(CUBE[:, 0], 'y', 'x') @ put(CUBE[:, 0].T, 'y', 'x')":
        r"dot_general requires contracting dimensions to have consistent sharding, got \('x',\) and "
        r"\('y',\)\.",
    "put(M, 'x', 'y') @ put(M.T, 'y')": "Contracting dimensions are sharded and it is ambiguous",
    "jnp.einsum('abc,acz->abz', put(CUBE, 'x'), put(CUBE.reshape(4, 8, 2), 'y'))":
        "requires lhs batch dimensions and rhs batch dimensions to have the consistent sharding, got "
        r"\('x',\) and \('y',\)\.",
    "put(M.T, 'y') + put(M.T, None, 'y')": "add operation with inputs: .* produces an illegally",
    "put(M, 'x') + put(M, 'y')": "incompatible shardings for broadcasting",
    "put(CUBE, 'x', 'y').reshape(2, 4, 8)": "This reshape is not supported",
    "put(CUBE, 'x').reshape(4, 4, 4)": "This reshape is not supported",
    "put(CUBE, 'x').reshape(4, 2, 1, 2, 4).reshape(4, 1, 2, 4, 2)": "This reshape is not supported",
    "lax.select(put(M, 'x') > 0, put(M, 'x'), put(M, 'y'))":
        "select cases must have the same shardings",
    "lax.select(put(M, 'y') > 0, put(M, 'x'), put(M, 'x'))": "select `which` must be scalar or have",
    "lax.slice(put(M, 'x'), (0, 0), (6, 2))": "slic(e|ing) on sharded dims",
    "lax.pad(put(M, 'x'), 0.0, ((0, 3, 0), (0, 0, 0)))": "padding on sharded dims",
    "lax.split(put(M, 'x'), (2, 6))": "split on sharded dims",
    "jnp.concatenate([put(M, 'x'), put(M, 'y')], 1)": "All operands should have the same sharding",
    "jnp.stack([put(M, 'x'), put(M, 'y')], 1)": "All operands should have the same sharding",
    "lax.dynamic_update_slice(put(M, 'x'), put(M, 'y'), (0, 0))":
        "dynamic_update_slice operand sharding must be equal to update sharding",
    "lax.sort(put(M, 'x'), dimension=0)": "to sort must be unsharded over the",
    "lax.top_k(put(M, None, 'y'), 1)": "The input should be unsharded over the axis along which",
    "lax.tile(put(M, 'x'), (2, 1))": "Operand cannot be sharded on",
    "lax.linalg.lu(put(CUBE[:, :, :2], None, 'y', None))": "must be unsharded on non-batch dim",
    "put(M, 'x')[np.array([1, 2])]": r"Use `.at\[...\].get\(out_sharding=\)`",
    "put(M, 'x').at[np.array([1, 2])].set(1.0)": r"Use `.at\[...\].set/add/mul/...\(out_sharding=\)`",
    "lax.scan(lambda c, x: (c, x), 0, put(M, 'x'))": "0th dimension of all xs should be replicated",
    "jx.vmap(lambda x, y: x * y)(put(M, 'x'), put(M, 'y'))":
        "Mapped away dimension of inputs passed to vmap should be sharded the same",
    "jx.vmap(lambda x: x, spmd_axis_name='y')(put(M, 'x'))": "Only one of spmd_axis_name or arrays",
    "put(np.arange(8), 'x') + jx.device_put(np.arange(8), N(line, P('i')))":
        "For primitive .*context mesh .* should match the aval mesh",
    "jx.jit(lambda x: x * 3)(jx.device_put(np.arange(8), N(line, P('i'))))":
        "For primitive mul, context mesh .* should match the aval mesh",
    "jnp.tanh(jx.device_put(np.arange(8.0, dtype='f'), N(line, P('i'))))":
        "For primitive tanh, context mesh .* should match the aval mesh",
    "jx.jit(lambda x, y: (x, x.sum()))(jx.device_put(M, N(line, P('i'))), M)":
        "For primitive reduce_sum, context mesh .* should match the aval mesh",
    "jnp.einsum('ij,jk->ik', M, M.T, out_sharding=N(line, P('i')))":
        "Context mesh .* should match the mesh of sharding",
    "jnp.einsum('ij,jk->ik', put(M, 'x', 'y'), put(M.T, 'y'), out_sharding=P('x', "
    "unreduced={'x'}))": ".",
    "jnp.einsum('ij,jk->ik', put(M, None, 'y'), put(M.T), out_sharding=P(unreduced={'y'}))":
        "lhs and rhs contracting dims should be sharded identically",
    "jnp.einsum('ij,jk->ik', put(M), put(M.T), out_sharding=P(unreduced={'y'}))":
        "unreduced axes should be equal to the contracting specs",
    "reshard(put(M), P(unreduced={'x'})) + reshard(put(M), P(unreduced={'y'}))":
        "lhs and rhs to `add` must be unreduced along the same mesh axes",
    "reshard(put(M), P(unreduced={'x'})) + put(M)": "lhs is unreduced while rhs is not",
    "lax.with_sharding_constraint(put(M, 'x'), P('y'))":
        "`with_sharding_constraint` acts as an assert when all axes of mesh are of type `Explicit`",
    "jx.core.ShapedArray((5, 2), np.int32, sharding=N(mesh.abstract_mesh, P('x')))":
        "does not evenly divide the dimension size",
    "under(abstract((4,), ('a',)), lambda: jnp.arange(8))": "use_abstract_mesh cannot change the size",
    "jx.set_mesh(jx.sharding.Mesh(mesh.devices, ('x', 'y'), (types.Manual,) * 2))":
        "contains manual axes",
    "jx.shard_map(auto_axes(lambda x: x, out_sharding=P()), in_specs=P(), out_specs=P())(M)":
        "Going from `Manual`.*to.*`Auto`.*`Explicit`",
    "jx.shard_map(lambda x: x, in_specs=P('x'), out_specs=P('x'))(M)":
        "in_specs passed to shard_map.* does not match the specs of the input",
    "jx.jit(jx.shard_map(lambda x: x, in_specs=P('y'), out_specs=P('y')))(put(M, 'x'))":
        "in_specs passed to shard_map.* does not match the specs of the input",
    "jx.grad(lambda x: jx.shard_map(lambda x: x, in_specs=P('x'), out_specs=P('x'))(x).sum())(M)":
        "in_specs passed to shard_map.* does not match the specs of the input",
}  # fmt: skip

WITHOUT_A_MESH = {
    "over(lambda x, y: lax.cond(True, lambda: (x, y), lambda: (y, x)), (P('i'), P('j')), P())(M, M)":
        r"(?s)the manual axis types do not match.*This might be fixed by:\n  \* applying "
        r"`jax.lax.pcast\(..., \('j',\), to='varying'\)` to the output of true_fun at path \[0\]",
    "over(lambda x, y: lax.scan(lambda c, _: (c[::-1], ()), (x, y), (), length=2), (P('i'), P()), "
    "P('i'))(M, M)":
        r"This might be fixed by applying `jax.lax.pcast\(..., \('i',\), to='varying'\)`,? to the initial "
        r"carry value corresponding to the input carry component c\[1\]",
    "over(lambda t: jx.vjp(jnp.sin, M[:2])[1](t)[0], P('i'), P('i'))(M)":
        r"got float32\[2,2\]{V:i}, but expected float32\[2,2\]",
    "over(lambda t: jx.linearize(jnp.sin, M[:2])[1](t), P('i'), P('i'))(M)":
        r"(?s)inconsistent with the original.*applying `jax.lax.pcast\(..., \('i',\), to='varying'\)` to "
        "the primal value passed",
    "over(lambda t: jx.linearize(jnp.sin, t)[1](M[:2]), P('i'), P('i'))(M)":
        "(?s)inconsistent with the original.*to the tangent value passed",
    "over(lambda t: jx.linear_transpose(lambda x: 2 * x, M[:2])(t)[0], P('i'), P('i'))(M)":
        "cotangent type does not match function output",
    "jx.shard_map(lambda x: lax.with_sharding_constraint(x, N(auto, P('i', 'j'))), mesh=auto, "
    "in_specs=P('i'), out_specs=P('i'), check_vma=False)(M)": "contains a manual axes.*of mesh",
    "jx.vmap(over(lambda x: x, P('i'), P('i')), spmd_axis_name='i')(np.ones((8, 8), 'f'))":
        "spmd_axis_name cannot appear",
    "jx.shard_map(lambda x: x, in_specs=P(), out_specs=P())(M)": "The context mesh cannot be empty",
    "over(lambda x: over(lambda x: x, P(), P())(x), P(), P())(M)":
        "(?i)the context mesh.*should match the mesh passed to shard_map",
    "over(lambda x: x, P('k'), P())(M)": ".",
    "over(lambda x: x, P('i'), P('i'))(M[:3])": "divisible",
    "over(lambda x: x, P(unreduced={'i'}), P())(M)":
        "unreduced.*can only be used when the mesh passed to shard_map contains axis names all of "
        "type `Explicit`",
    "over(lambda x: lax.pcast(x, {'i'}, to='varying'), P(), P('i'))(M)": "must be a tuple or a str",
    "over(lambda x, y: lax.cond(True, lambda: x, lambda: y), (P('i'), P('j')), P(('i', 'j')))(M, M)":
        r"applying `jax.lax.pcast\(..., \('j',\)",
    "over(lambda x: 2 * x, P('i'), P())(M)":
        r"(?s)which require replication.*can't be statically inferred",
    "over(lambda x: x, P('i', 'j'), P(None, 'j'))(M)":
        r"out_specs is P\(None, 'j'\) which implies that the",
    "over(lambda x: {'hi': [3.]}, P('i'), P('i'))(M)": "which has length 1",
    "over(lambda x: x, P('i'), P())(np.float32(3))": "which has rank 0",
    "over(lambda x: x, P(None), P())(3.)": r"consider using an in_specs entry of `P\(\)`",
    "over(lambda x, y: x, (P('i'), P('i', None, None)), P('i'))(M, M)":
        "shard_map applied to the function '.*'",
    "over(lambda x: x, P('i'), P('i'), mesh=abstract((4,), ('i',)))(M)":
        "Please pass `jax.Array`s with a `NamedSharding` as input to `shard_map` when passing "
        "`AbstractMesh` to the mesh argument",
    "over(lambda x: x, P('i'), P('i'), mesh=abstract((4,), ('i',)))(jx.device_put(M, N(line, P('i'))))":
        "Mesh shape of the input.* does not match the mesh shape passed to shard_map",
    "jx.vmap(over(lambda x: x, P('i'), P('i'), grid), spmd_axis_name='j')(jx.device_put(M, N(grid, P('i'))))":
        "Only one of spmd_axis_name or arrays sharded on `Explicit` mesh axis type is allowed",
    "jnp.einsum('ij,jk->ik', M, M.T, out_sharding=P('x'))":
        "Using PartitionSpec when.*not under a mesh context.*is not allowed",
    "jx.device_put(M, P('x'))": "Please set a mesh via `jax.set_mesh` if a PartitionSpec is passed to",
    "jx.jit(lambda x: x, in_shardings=N(auto, P('j')))(jx.device_put(M, N(auto, P('i'))))":
        "Sharding passed to jit does not match the sharding on the respective arg",
    "jx.jit(lambda x: x, in_shardings=N(auto, P('i'))).lower(M).compile()(jx.device_put(M, N(auto, "
    "P('j'))))": "(?s)Computation was compiled for input shardings that disagree with the shardings "
                 "of arguments passed to it. Here are the.*mismatches",
    "jx.jit(lambda x: x, in_shardings=P('i'))(M)": "requires a non-empty mesh in context",
    "jx.jit(lambda x: x, in_shardings='x')": "in_shardings leaf specifications are expected to be "
                                              "PartitionSpec instances.* or None, but got",
    "jx.jit(lambda x: lax.with_sharding_constraint(x, N(auto, P(None, None, 'i'))))(M)":
        "One of with_sharding_constraint.*Sharding NamedSharding.* is only valid for values of rank at "
        "least 3, but was applied to a value of rank 2",
    "jx.device_put(M, jx.devices()[1]) + jx.device_put(M, jx.devices()[2])":
        r"Got argument x of add with shape float32\[8,2\] and .* and argument y of add with",
    "jx.device_put(M, jx.devices()[1]) @ jx.device_put(M.T, jx.devices()[2])":
        r"Got argument a of matmul with shape .* and argument b of matmul with",
    "jx.device_put(M, N(mesh, P('x'))) + jx.device_put(M, N(line, P('i')))":
        "^Received incompatible devices|should match the aval mesh|Mesh for all inputs",
}  # fmt: skip


@pytest.mark.parametrize("row", [*ERRORS, *WITHOUT_A_MESH])
def test_key_words(row):
    """The class of the error is JAX's, and the words are in both messages."""
    def said(jx):
        scope = words(jx)
        run = scope["within"] if row in ERRORS else lambda f: f()
        try:
            run(lambda: eval(row, scope))
        except Exception as error:
            found = re.search((ERRORS | WITHOUT_A_MESH)[row], str(error), re.DOTALL)
            return type(error).__name__, "found" if found else str(error)
        return "no error"

    assert said(minijax)[1] == "found"
    assert said(minijax) == tuple(ask(lambda: said(jax)))


# fmt: off
RESULTS = """
within(lambda: known(auto_axes(lambda x: x @ x.T, out_sharding=P('x'))(put(M, 'x', 'y'))))
within(lambda: known(jx.jit(jx.grad(lambda x: x.sum()))(put(M, 'x', 'y'))))
within(lambda: str(jx.jit(lambda x: x * 2).lower(put(M, 'x', 'y')).out_info.sharding))
within(lambda: str(jx.jit(lambda x: x * 2).trace(put(M, 'x', 'y')).out_info.sharding))
within(lambda: str(jx.jit(lambda x: x * 2).lower(put(M, 'x', 'y')).compile().out_info.sharding))
within(lambda: text(jx.jit(lambda x: x * 2), put(M, 'x')))
within(lambda: text(jx.vmap(jx.jit(lambda x: x * 2)), put(M, 'x')))
within(lambda: text(jx.jit(lambda x: x * 2), M), 'Auto', 'Auto')
within(lambda: text(lambda x: lax.scan(lambda c, _: (jx.nn.relu(c), None), x, None, length=3), M))
known(jx.jit(jx.shard_map(lambda x: lax.with_sharding_constraint(x, N(auto, P('j'))) * 2, mesh=auto, in_specs=P('i'), out_specs=P('i'), axis_names={'i'}, check_vma=False))(np.arange(8.0, dtype='f')))
within(lambda: text(jx.vmap(jx.shard_map(lambda x: jnp.cos(x) * lax.psum(x.sum(), 'y'), in_specs=P('y'), out_specs=P('y'), axis_names={'y'})), put(M, 'x', 'y')))
within(lambda: known(jx.jit(jx.vmap(jx.grad(lambda x: jx.shard_map(jnp.cos, in_specs=P('y'), out_specs=P('y'), axis_names={'y'})(reshard(x, P('y'))).sum())))(put(M, 'x'))))
within(lambda: str(jx.shard_map(lambda x: x * 2, in_specs=P('x'), out_specs=P('x'))(put(M, 'x')).sharding))
within(lambda: known(reshard(put(M, 'x'), P(unreduced={'x'})).addressable_shards[2].data))
within(lambda: [np.asarray(s.data) for s in put(put(M, 'x', 'y'), 'x', unreduced={'y'}).addressable_shards])
within(lambda: [np.asarray(s.data) for s in jx.jit(lambda x: reshard(x, P('x', unreduced={'y'})))(put(M, 'x', 'y')).addressable_shards])
within(lambda: known(jx.vmap(lambda r: jnp.zeros(4))(put(M, 'x')), jx.vmap(lambda r: jnp.ones(3), out_axes=1)(put(M, 'x'))))
within(lambda: known(jx.jit(jx.vmap(lambda r: r.at[jnp.array([1, 0])].get(out_sharding=P('y'))))(put(M, 'x'))))
within(lambda: known(jx.jit(jx.vmap(lambda r: reshard(r * 2, P('y'))))(put(M, 'x'))))
within(lambda: known(jx.vmap(auto_axes(lambda r: r.sum(), out_sharding=P()))(put(M, 'x'))))
within(lambda: known(jx.vmap(lambda r, j: r.at[j].get(out_sharding=jx.typeof(r).sharding))(put(M, 'x'), put(np.ones(8, 'i'), 'x'))))
within(lambda: text(jx.vmap(auto_axes(lambda v: v * 2, out_sharding=P('y'))), put(M, 'x')))
within(lambda: text(auto_axes(lambda v: v @ v.T, axes='x', out_sharding=P('x')), put(M, 'x', 'y')))
within(lambda: text(explicit_axes(lambda v: v * 2, in_sharding=P('x')), M), 'Auto', 'Auto')
within(lambda: text(auto_axes(lambda v: v.sum(), out_sharding=P()), M))
within(lambda: known(jx.jit(jx.shard_map(lambda y: jnp.repeat(y, 2, axis=1, out_sharding=P(None, 'y')), out_specs=P('x'), axis_names={'x'}))(put(M, 'x', 'y'))))
within(lambda: known(jx.jit(jx.shard_map(lambda y: jnp.repeat(y, 2, axis=1), out_specs=P('x'), axis_names={'x'}))(put(M[:, None], 'x', None, 'y'))))
within(lambda: known(jx.jit(jx.shard_map(lambda x: x.at[:, jnp.array([1, 0])].get(out_sharding=P(None, 'y')), out_specs=P('x'), axis_names={'x'}))(put(M, 'x', 'y'))))
within(lambda: known(jx.jit(lambda x: lax.with_sharding_constraint(x, P('y')))(put(M, 'x'))), 'Explicit', 'Auto')
within(lambda: known(jx.jit(lambda x: lax.with_sharding_constraint(x, P(None, 'y')))(put(M, 'x'))), 'Explicit', 'Auto')
within(lambda: known(jx.jit(lambda x: lax.with_sharding_constraint(x, P(P.UNCONSTRAINED, 'y')))(put(M, 'x'))), 'Explicit', 'Auto')
within(lambda: known(jx.jit(lambda x: reshard(x, P(None)))(put(M, 'x', 'y'))), 'Explicit', 'Auto')
within(lambda: known(jx.jit(lambda x: auto_axes(lambda x: x, axes='x', out_sharding=P('x', 'y'))(x))(put(M, 'x', 'y'))))
within(lambda: known(jx.jit(explicit_axes(lambda y: y @ y.T, axes='y', in_sharding=P(None, None)))(put(M, 'x'))), 'Auto', 'Auto')
within(lambda: known(jx.jit(jx.grad(lambda x: lax.reduce_window(x, -np.inf, lax.max, (1, 2), (1, 2), 'SAME').sum()))(put(M, 'x'))))
within(lambda: known(jx.jvp(lambda x: lax.reduce_window(x, -np.inf, lax.max, (1, 2), (1, 2), 'SAME'), (put(M, 'x'),), (put(M, 'x'),))))
within(lambda: text(lambda x, y: jnp.matmul(x, y, out_sharding=P('x')), put(M, 'x', 'y'), put(M.T, 'y')))
within(lambda: known(jnp.matmul(put(CUBE, 'x', None, 'y'), put(M, 'y'), out_sharding=P('x'))))
within(lambda: known(jnp.matmul(put(CUBE, 'x'), put(CUBE.swapaxes(1, 2), 'x'), out_sharding=P('x', 'y'))))
within(lambda: known(jnp.matmul(put(M, 'x'), np.ones(2, 'f'), out_sharding=P(None)), jnp.matmul(np.ones(8, 'f'), put(M, 'x'), out_sharding=P('y'))))
within(lambda: known(reshard(put(M, 'x', None), P('x', None)), reshard(put(M, 'x'), P('x'))))
within(lambda: known(jx.jit(lambda x: lax.reshape(x, (4, 2, 2, 4)))(put(CUBE, 'x', 'y')), jx.jit(lambda x: lax.reshape(x, (8, 8)))(put(CUBE, 'x'))))
""".strip().splitlines()


@pytest.mark.parametrize("row", RESULTS)
def test_results(row):
    both(lambda jx: lambda: eval(row, words(jx)))
