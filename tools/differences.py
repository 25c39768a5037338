"""What JAX has and minijax has not, and what it does otherwise: on purpose, with the reason.

`python -m tools.differences` prints it as tables. The test of this file compares the public names
of both libraries: it fails on a missing name that is not declared here, on a declared one that
has come meanwhile, and on a difference in behaviour that is none.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from types import ModuleType

from minijax.compat.absent import ABSENT, ABSENT_NAMES

DEVICES = "where arrays lie, and programs on several devices or processes: chapter 14"
OUT_OF_SCOPE = "out of scope: programs sent elsewhere, kernels, profiles"
ACCELERATORS = "for GPUs and TPUs only"
XLA_OBJECTS = "objects of MLIR and XLA: our lowering writes StableHLO as text"
MUTABLE = "internal names of mutable references"
GUARDS = "guards and records of JAX's own machinery, which we do not have"
HALF_MADE = "types that XLA cannot compute with on a CPU: JAX itself cannot add two of them"
OLD_NAMES = "old names, which JAX itself advises against"
GOING_ON = "jobs that go on when a process fails, or is told to leave: here all end"
INTERNAL = "internals of JAX that its modules happen to show"
REFUSED = "the primitives of functions that minijax refuses: see below"
TYPED = "shardings in the types of arrays, where they are not stated yet"

# What is compared. "" is the package itself.
MODULES = """
numpy numpy.fft numpy.linalg lax lax.linalg random nn nn.initializers tree tree_util dtypes errors
flatten_util ops image debug distributed dlpack stages custom_derivatives custom_batching
ad_checkpoint api_util core typing version monitoring test_util scipy scipy.cluster
scipy.cluster.vq scipy.fft scipy.integrate scipy.interpolate scipy.linalg scipy.ndimage
scipy.optimize scipy.signal scipy.sparse scipy.sparse.linalg scipy.spatial
scipy.spatial.transform scipy.special scipy.stats example_libraries example_libraries.stax
example_libraries.optimizers experimental
experimental.checkify experimental.jet experimental.ode experimental.sparse
experimental.sparse.linalg experimental.hijax experimental.profiler interpreters
interpreters.ad
interpreters.batching interpreters.mlir interpreters.partial_eval interpreters.xla extend
extend.backend extend.core extend.core.primitives extend.linear_util extend.random
extend.source_info_util sharding experimental.mesh_utils
experimental.multihost_utils
""".split()
PACKAGES = ["", "experimental", "example_libraries", "extend", "interpreters", "lax", "nn", "numpy",
            "scipy", "scipy.stats"]

# reason -> module -> names
MISSING: dict[str, dict[str, str]] = {
    ACCELERATORS: {
        "lax": "precv psend ragged_all_to_all ragged_all_to_all_p",
        "extend.core.primitives": "ragged_all_to_all_p",
        "nn": "get_scaled_dot_general_config scaled_dot_general scaled_matmul",
        "experimental.mesh_utils": "device_kind_handler_dict",
    },
    XLA_OBJECTS: {
        "extend.backend": "get_compile_options register_backend_cache register_backend_factory",
        "interpreters.mlir": """ConstantHandler DEVICE_TO_DEVICE_TYPE
            LoweringParameters LoweringResult Mesh ModuleContext
            RECV_FROM_HOST_TYPE SEND_TO_HOST_TYPE SPMDAxisContext ShapePolyLoweringState
            ShardingContext Token TokenSet aval_to_ir_types core_call_lowering dense_int_array
            dense_int_elements dtype_to_ir_type flatten_ir_types flatten_ir_values i32_attr
            i64_attr ir_attribute ir_constant ir_constants ir_tree_registry ir_type_handlers
            jaxpr_subcomp lower_jaxpr_to_fun lower_jaxpr_to_module make_ir_context
            merge_mlir_modules module_to_bytecode module_to_string register_constant_handler
            shape_tensor token_type unflatten_ir_values_like_types""",
        "interpreters.xla": "Backend",
    },
    MUTABLE: {"": "array_garbage_collection_guard",
              "extend.core.primitives": "empty2_p",
              "experimental": "EArray primal_tangent_dtype"},
    HALF_MADE: {"numpy": "float6_e2m3fn float6_e3m2fn int1 uint1"},
    REFUSED: {
        "lax": "after_all_p approx_top_k_p create_token_p dce_sink_p rng_uniform_p",
        "lax.linalg": "cholesky_update_p symmetric_product_p tridiagonal_p",
        "extend.core.primitives":
            "after_all_p approx_top_k_p create_token_p rng_uniform_p tridiagonal_p",
    },
    OLD_NAMES: {"": "host_count host_id host_ids",
                "custom_derivatives": "remat_opt_p"},
    GOING_ON: {"experimental.multihost_utils":
               "ProcessFailureError live_devices"},
    INTERNAL: {
        "experimental.multihost_utils": """global_array_to_host_local_array_impl
            gtl_abstract_eval host_local_array_to_global_array_impl ltg_abstract_eval
            ltg_batcher""",
        "lax": "stage_p",
        "interpreters.ad": "jvp linearize",
        "interpreters.partial_eval": """custom_partial_eval_rules dce_jaxpr_call_rule
            dce_jaxpr_closed_call_rule partial_eval_jaxpr_custom_rules""",
        "extend.core": "call_impl",
        "experimental.jet": """JetTracer call_param_updaters def_comp def_deriv deflinear defzero
            deriv_prop linear_prop zero_prop""",
        "experimental.ode": "ravel_first_arg",
    },
}

# reason -> package -> modules that are not there
MISSING_MODULES: dict[str, dict[str, str]] = {
    DEVICES: {
        "experimental": "custom_partitioning transfer",
        "extend": "sharding",
    },
    OUT_OF_SCOPE: {
        "": "tools collect_profile cloud_tpu_init",
        "experimental": "fused jax2tf mosaic roofline source_mapper",
        "extend": "pallas",
    },
    XLA_OBJECTS: {"extend": "lowering xla"},
    ACCELERATORS: {"experimental": "rnn"},
}

# Parameters that functions of JAX have and ours have not: reason -> names.
MISSING_PARAMETERS: dict[str, str] = {
    OLD_NAMES: "host_id concrete",
    INTERNAL: "sum_match",
}

# Parameters that functions take and do not use: reason -> function -> names. A function `*` stands
# for all that have parameters of these names.
IGNORED: dict[str, dict[str, str]] = {
    "JAX ignores it too: it is a hint for NumPy and SciPy, whose arrays may be overwritten": {
        "*": "overwrite_a overwrite_b overwrite_c check_finite",
        "numpy.nan_to_num": "copy", "numpy.reshape": "copy", "scipy.linalg.qr": "lwork",
        "scipy.linalg.eigh": "turbo", "scipy.linalg.solve": "debug",
        "scipy.linalg.solve_triangular": "debug", "scipy.optimize.minimize": "tol",
        "numpy.intersect1d": "assume_unique", "numpy.unique": "sorted",
        "numpy.histogram_bin_edges": "weights",
    },
    "JAX chooses between algorithms of an accelerator; here there is one": {
        "scipy.linalg.svd": "lapack_driver", "scipy.linalg.eigh_tridiagonal": "tol key",
        "scipy.linalg.polar": "max_iterations eps",
        "scipy.linalg.expm_frechet": "method",
        "lax.scan": "_split_transpose",
        "lax.approx_max_k": "reduction_input_size_override",
        "lax.approx_min_k": "reduction_input_size_override",
        "interpreters.mlir.register_lowering": "inline cacheable",
        "debug.breakpoint": "backend", "experimental.sparse.bcoo_dot_general": "precision",
        "experimental.sparse.linalg.spsolve": "tol",
    },
    TYPED: {
        "experimental.sparse.bcoo_dot_general": "out_sharding",
        "experimental.sparse.bcoo_broadcast_in_dim": "sharding",
        "experimental.sparse.bcoo_reshape": "sharding",
        "experimental.sparse.bcsr_broadcast_in_dim": "sharding",
        "interpreters.mlir.emit_python_callback":
            "operand_avals returns_token sharding",
    },
    "devices are what the operating system says: one kind of memory, no physical mesh": {
        "experimental.mesh_utils.create_device_mesh":
            "contiguous_submeshes allow_split_physical_axes",
        "experimental.mesh_utils.create_hybrid_device_mesh": "allow_split_physical_axes",
        "distributed.initialize": "local_device_ids partition_index",
    },
    "an old name or argument, which JAX itself ignores": {
        "api_util.debug_info": "_ignored", "extend.core.find_top_trace": "args",
        "extend.core.get_opaque_trace_state": "convention",
        "interpreters.batching.unregister_vmappable": "data_type",
        "extend.source_info_util.summarize": "num_frames",
        "tree_util.PyTreeDef.from_node_data_and_children": "node_registry",
        "interpreters.partial_eval.trace_to_jaxpr_dynamic": "_ignored",
    },
    "the method has the signature of the method that it implements, or that implements it": {
        "experimental.jet.jet": "_",
        "experimental.hijax.HiType.str_short": "short_dtypes options",
        "experimental.hijax.HiPrimitive.is_effectful": "params",
        "core.Tracer.item": "args kwargs", "core.Tracer.tolist": "args kwargs",
        "core.Tracer.tobytes": "args kwargs",
        "extend.core.Effect.leaves": "jaxpr", "extend.core.Effect.of_equation": "eqn",
        "experimental.hijax.HiPrimitive.is_high": "avals params",
        "sharding.Sharding.check_compatible_aval": "aval_shape",
        "scipy.stats.gaussian_kde.tree_unflatten": "aux_data",
    },
    "it is a question, which this accumulator answers with no": {
        "interpreters.ad.UndefinedPrimal.accum_at": "index ct",
    },
}

# What both do, but not the same: reason -> calls, each a program of `jax`, `jnp` and `np`.
OTHERWISE: dict[str, list[str]] = {
    "Ctrl-C in a callback of a compiled program is no error of that program here": [
        "__import__('pytest').raises(KeyboardInterrupt, jax.jit(lambda x: jax.pure_callback("
        "lambda x: (_ for _ in ()).throw(KeyboardInterrupt), x, x)), 1.0).type.__name__"],
    "JAX reads the wrong elements; here it is as in NumPy": [
        "jnp.arange(3)[None, True, :]", "jnp.take(jnp.arange(300), np.int8(-1))",
        "jnp.arange(300)[jnp.int8(-1)]",
        "jax.lax.dynamic_index_in_dim(jnp.arange(300), np.int8(-1))",
        "jnp.zeros(300).at[jnp.array([-1], 'int8')].set(1.0).argmax()"],
    "XLA computes wrongly with so few bits on the CPU; here the result is right": [
        "jax.lax.population_count(jnp.int4(-1))", "jnp.sort(jnp.array([3, 2, 1, 0], 'uint2'))",
        "jnp.uint4(8) >> jnp.uint4(1)"],
    "0.0 and -0.0 are equal, and which of them is the greater is left to NumPy here": [
        "jnp.signbit(jnp.maximum(0.0, -0.0))", "jnp.signbit(jnp.minimum(-0.0, 0.0))"],
    "JAX drops a keyword argument; here it counts": [
        "jnp.vectorize(lambda a, b=1: a + b, excluded={'c'})(jnp.arange(3), b=3)"],
    "static arguments of `checkpoint` that are equal but of two types are two here": [
        "[f(jnp.arange(3), n).dtype.name for f in [jax.checkpoint(lambda x, n: x + n, "
        "static_argnums=1)] for n in (1, 1.0)]"],
    "a fill value of 0.0 and one of -0.0 are two in a cache here": [
        "[bool(jnp.signbit(jax.vmap(lambda x: x.at[jnp.array(9)].get(mode='fill', "
        "fill_value=zero))(jnp.ones((1, 3)))[0])) for zero in (0.0, -0.0)]"],
    "the approximate search for the greatest few is for accelerators; here it is the exact one": [
        "str(jax.make_jaxpr(lambda x: jax.lax.approx_max_k(x, 2))(np.ones(3, 'f')))",
        "jax.lax.approx_max_k(np.ones(3, 'f'), 2, aggregate_to_topk=False)"],
    "running sums of exponentials are of real numbers here": [
        "jax.lax.cumlogsumexp(np.ones(2, 'complex64')).tolist()"],
    "bits that only the far end of a distribution needs": [
        "jax.random.gumbel(jax.random.key(0), (2,), mode='highest').tolist()"],
    "groups along a contracted or a batch dimension are for kernels of accelerators": [
        "jax.lax.ragged_dot_general(np.ones((2, 3), 'f'), np.ones((3, 4), 'f'), np.array([1, 2]), "
        "jax.lax.RaggedDotDimensionNumbers((((1,), (0,)), ((), ())), [1], [])).shape"],
    "keys for generators that no program asks for": [
        f"jax.random.key(0, impl={name!r}).dtype.name"
        for name in ("threefry4x32", "philox2x32", "philox4x32")],
    "JAX raises an error of its inner parts; here there is a result": [
        "jax.lax.clamp(1j, jnp.array([1j]), 2j)",
        "jnp.linalg.slogdet(jnp.eye(3, dtype='complex64'), method='qr').logabsdet",
        "jnp.add.at(jnp.arange(3), slice(2), 1, inplace=False)",
        "jnp.logaddexp.reduce(jnp.arange(3.0), initial=1)",
        "jnp.maximum.reduce(jnp.arange(3), dtype=jnp.float32)",
        "jnp.vectorize(lambda a, *, b: a * b)(1.0, b=2.0)",
        "jax.vmap(lambda x: jax.lax.ppermute(x, 'i', [(0, 1)]), axis_name='i')(jnp.ones(2))",
        "jax.vmap(lambda x: jax.lax.pbroadcast(x, 'i', 1), axis_name='i')(jnp.arange(2))",
    ],
    "JAX raises a class that it does not export; here it is the usual one": [
        "jax.vjp(lambda x: x, 'a')", "jnp.tile(jnp.ones(2), -1)",
    ],
    "JAX overlooks an unknown mode where all of the array is taken": [
        "jnp.ones(()).at[()].get(mode='no such mode')"],
    "a sum over a named axis has a name of its own here: lax.psum": [
        "jax.vmap(lambda x: jnp.sum(x, axis='i'), axis_name='i')(jnp.ones(2))"],
    "an unbound name is a NameError here, in whatever collective": [
        "jax.lax.ppermute(1.0, 'i', [(0, 0)])",
        "jax.shard_map(lambda x: jax.lax.psum(x, 'i'), mesh=jax.sharding.Mesh(jax.devices(), 'x'), "
        "in_specs=jax.P('x'), out_specs=jax.P('x'))(np.ones(8))"],
    "what is mapped over shards is traced once for its types; JAX runs it each time": [
        "(lambda seen, x: [f := jax.shard_map(lambda x: (seen.append(0), x)[1], "
        "in_specs=jax.P('x'), mesh=jax.sharding.Mesh(jax.devices(), 'x'), out_specs=jax.P('x')), "
        "f(x), f(x), len(seen)])([], np.ones(8))[-1]"],
    "what is mapped over shards is always traced: Python takes no branch by its values": [
        "jax.shard_map(lambda x: x if jax.lax.psum(x.sum(), 'x') > 0 else -x, "
        "in_specs=jax.P('x'), mesh=jax.sharding.Mesh(jax.devices(), 'x'), "
        "out_specs=jax.P('x'))(np.ones(8))"],
    "what goes between CPUs in several processes goes through Gloo here, never through MPI": [
        "jax.config.update('jax_cpu_collectives_implementation', 'mpi')"],
    "JAX has what Python returned on one of several devices; here all of them have it": [
        "jax.jit(lambda x: jax.pure_callback(lambda v: v, jnp.ones(8), x))(jax.device_put("
        "np.ones(8, 'f'), jax.NamedSharding(jax.make_mesh((8,), ('x',)), jax.P('x')))) + 1"],
    "arrays lie in row-major order here, and types say no layout; another layout is refused": [
        f"(lambda lay: {program})(__import__(jax.__name__ + '.experimental.layout', fromlist='x'))"
        for program in (
            "str(jax.jit(lambda x: lay.with_layout_constraint(x, lay.Layout((1, 0))))("
            "jnp.ones((2, 3))).format.layout)",
            "str(jax.device_put(jnp.ones((2, 3)), lay.Format(lay.Layout((1, 0)), "
            "jnp.ones(1).sharding)).format.layout)",
            "str(jax.jit(lambda x: x, in_shardings=lay.Format(lay.Layout((1, 0)), "
            "jnp.ones(1).sharding))(jnp.ones((2, 3))).format.layout)")],
    "an array on all devices fits one that is split here, where JAX wants the user to reshard": [
        "(lambda m, N, P: str(jax.typeof(jax.lax.concatenate([jax.device_put(np.ones(8), N(m, s)) "
        "for s in (P('x'), P())], 0))))(jax.make_mesh((8,), ('x',)), jax.NamedSharding, jax.P)"],
    "under set_mesh, a branch may give a new array where another gives one that is split": [
        "(lambda m: [jax.set_mesh(m), str(jax.typeof(jax.jit(lambda x, p: jax.lax.cond(p, lambda x:"
        " x, lambda x: jnp.zeros(8), x))(jax.device_put(np.arange(8.0), jax.NamedSharding(m, "
        "jax.P('x'))), True))), jax.set_mesh(None)][1])(jax.make_mesh((8,), ('x',)))"],
    "a value that is on no mesh shows the mesh in force as that of its type": [
        "(lambda m: [jax.set_mesh(m), str(jax.typeof(np.ones(3)).sharding), jax.set_mesh(None)][1]"
        ")(jax.make_mesh((8,), ('x',)))"],
    "zeros, ones and full are on the devices that they are given also in a traced function": [
        "str(jax.jit(lambda: jnp.zeros(8, device=jax.NamedSharding(jax.sharding.Mesh("
        "jax.devices(), 'x'), jax.P('x'))))().sharding)"],
    "shard_map closes over arrays on its mesh here": [
        "(lambda x: str(jax.make_jaxpr(jax.shard_map(lambda s: s + x[:1], in_specs=jax.P('x'), "
        "mesh=x.sharding.mesh, out_specs=jax.P('x')))(np.ones((8, 1)))))(jax.device_put("
        "np.ones(1), jax.NamedSharding(jax.sharding.Mesh(jax.devices(), 'x'), jax.P())))"],
    "XLA takes whole operands of an operation for summands if its result is unreduced, so JAX "
    "counts them several times; here the value is right, or a loop that closes over summands is "
    "refused": [
        "(lambda m: [jax.set_mesh(m), jax.reshard(jnp.arange(8, out_sharding=jax.P(unreduced="
        "{'x'})), jax.P()).tolist(), jax.set_mesh(None)][1])(jax.make_mesh((8,), ('x',)))"],
    "rows of unreduced and reduced arrays can be taken by slices here": [
        "(lambda m: [jax.set_mesh(m), str(jax.typeof(jnp.ones((8, 8), out_sharding=jax.P(reduced="
        "{'x'}))[0])), jax.set_mesh(None)][1])(jax.make_mesh((8,), ('x',)))"],
    "a sum over spmd_axis_name in a shard_map is that of one example, as without it; JAX mixes": [
        "jax.vmap(jax.shard_map(lambda s: jax.lax.psum(s, 'x'), mesh=jax.sharding.Mesh(np.array("
        "jax.devices()).reshape(2, 4), ('x', 'y')), in_specs=jax.P('y'), out_specs=jax.P('y'), "
        "check_vma=False), spmd_axis_name='x')(np.arange(8.0).reshape(2, 4))"],
    "out_sharding of a reshape by columns is the result's; in JAX a short one is read backwards": [
        "(lambda m: [jax.set_mesh(m), str(jax.typeof(jnp.ones((8, 8)).reshape(64, 1, order='F', "
        "out_sharding=jax.P('x')))), jax.set_mesh(None)][1])(jax.make_mesh((8,), ('x',)))"],
    "what other libraries made is committed in JAX; here nobody has put it anywhere on purpose": [
        "jnp.from_dlpack(np.ones(2, 'float32')).committed"],
    "JAX loses the derivative of what is taken out of a differentiated value; here it is refused": [
        "jax.grad(lambda x: x.item() * x)(3.0)",
        "jax.grad(lambda x: jnp.arange(x, 5.0).sum())(3.0)",
        "jax.grad(lambda x: jax.lax.reduce(np.ones(2, 'f'), x, jax.lax.add, (0,)))(0.0)"],
    "JAX loses the derivative of a set's elements, and of a polynomial without leading zeros": [
        "jax.grad(lambda x: jnp.unique(x * np.ones(2)).sum())(3.0)",
        "jax.grad(lambda x: jnp.union1d(x * np.ones(2), np.zeros(1)).sum())(3.0)",
        "jax.grad(lambda x: jnp.polydiv(x * np.ones(3), np.ones(2), "
        "trim_leading_zeros=True)[1].sum())(3.0)"],
    "JAX does not count negative nondiff_argnums from the end; here they do": [
        "(lambda f: [f.defjvp(lambda n, x, t: (n * x[0], n * t[0])), "
        "jax.grad(lambda x: f(3.0, x))(2.0)][1])("
        "jax.custom_jvp(lambda n, x: n * x, nondiff_argnums=(-2,)))"],
    "cotangents of integer results say nothing: no backward rule runs for them alone": [
        "jax.vjp((lambda h: (h.defvjp(lambda a: (jnp.argsort(a), a), lambda a, ct: (2 * a,)), "
        "h)[1])(jax.custom_vjp(lambda a: jnp.argsort(a))), jnp.array([0.5, 0.3]))[1]("
        "np.zeros(2, jax.dtypes.float0))[0]"],
    "sparse arrays that share their indices are added element by element; JAX appends one": [
        "(lambda M: (M + M).nse)(__import__('importlib').import_module("
        "jax.__name__ + '.experimental.sparse').BCOO.fromdense(jnp.ones(3)))"],
    "JAX differentiates a bisection by its first bounds; here the eigenvalues, which it finds": [
        "jax.jvp(lambda d: jax.scipy.linalg.eigh_tridiagonal(d, jnp.array([1.0, 2.0]), "
        "eigvals_only=True), (jnp.array([4.0, 3.0, 2.0]),), (jnp.array([1.0, 0.0, 2.0]),))[1]"],
    "JAX pairs every example with every other, where an argument of custom_vmap is batched with "
    "its tangent, and of another argument only the tangent is": [
        "(lambda f: [f.def_vmap(lambda n, b, x, y: (x * y, any(b))), jax.vmap(lambda y, t: jax.jvp("
        "f, (5.0, y), (t, t))[1])(np.arange(3.0), np.ones(3))][1].shape)("
        "jax.custom_batching.custom_vmap(lambda x, y: x * y))"],
    "a rule in a branch or in a nested call that reads a value of a trace that is over is refused "
    "here, even if its result is not used: a second derivative would be lost": [
        "(lambda C, L, x: jax.jit(jax.grad(lambda x: L.cond(x > 0, lambda a: [h := C(lambda b: b), "
        "s := jnp.sin(a), h.defjvp(lambda p, t: (p[0] * 1.0, s * t[0])), (h(a), a)][3], "
        "lambda a: (a, a), x)[1]))(x))(jax.custom_jvp, jax.lax, 2.0)"],
    "eager derivatives: JAX's weak types depend on which of its functions are jitted; here they "
    "are those of a traced derivative": [
        "jax.jvp(lambda x: jnp.exp(-x ** 2.0), (0.5,), (1.0,))[1].weak_type",
        "jax.grad(lambda x: jax.scipy.special.rel_entr(x, x))(0.5).weak_type"],
    "derivatives where JAX's formula gives NaN, 0 or a wrong sign, and the function has one": [
        "jax.grad(jax.grad(lambda x: (x ** jnp.arange(4)).sum()))(0.0)",
        "jax.grad(lambda x, y: x ** y)(0.0, 0.0)", "jax.grad(jax.scipy.special.i0)(0.0)",
        "jax.grad(jax.grad(jnp.i0))(0.0)", "jax.grad(jax.lax.digamma)(-16.5)",
        "jax.jvp(jnp.arccosh, (-2 + 1j,), (1 + 0j,))[1]",
        "jax.jvp(jnp.sign, (-2 + 1j,), (1 + 0j,))[1]",
        "jax.grad(jnp.exp2)(128.0)",
        "jax.grad(jax.grad(jnp.hypot))(40.0, 40.0)",
        "jax.grad(jax.grad(jax.scipy.special.betaln))(0.5, 0.5)",
        "jax.grad(lambda x: jax.scipy.special.polygamma(0, x))(-16.5)",
        "jax.grad(jnp.arccosh)(1e20)", "jax.grad(jax.nn.gelu)(1e20)",
        "jax.grad(jax.grad(jax.nn.log1mexp))(100.0)",
        "jax.grad(jax.scipy.special.log_ndtr)(-1e10)",
        "jax.grad(jax.scipy.special.erfcx)(1e4)", "jax.grad(jax.scipy.special.dawsn)(1e4)",
        "jax.grad(jax.scipy.special.boxcox, 1)(2.0, 0.0)",
        "jax.grad(jax.grad(jax.scipy.special.i1))(1e-8)", "jax.grad(jax.lax.digamma)(1e30)"],
    "the cosine in the gradient of a sine with an accuracy has that accuracy; JAX's only in jvp": [
        "str(jax.make_jaxpr(jax.grad(lambda x: jax.lax.sin(x, accuracy=jax.lax.AccuracyMode."
        "HIGHEST)))(1.0))"],
    "the derivative of a determinant by an entry is its cofactor, also of a singular matrix": [
        "jax.grad(jnp.linalg.det)(jnp.diag(jnp.arange(4.0)))",
        "jax.hessian(jnp.linalg.det)(jnp.diag(jnp.array([1.0, 0.0, 0.0, 2.0])))"],
    "where singular values are equal, or the rank is deficient, JAX's derivative of the least "
    "squares solution is NaN; where the residual is 0, so is that of its square": [
        "jax.grad(lambda a: jnp.linalg.lstsq(a, jnp.ones(3))[0].sum())(jnp.eye(3)[:, :2])",
        "jax.grad(lambda a: jnp.linalg.lstsq(a, jnp.ones(2))[1].sum())(jnp.eye(2) * 2)"],
    "places beyond 2**31 do not fit in 32 bits; JAX's are negative, or nothing is set there": [
        "str(jax.eval_shape(jnp.argmax, jax.ShapeDtypeStruct((2**31 + 8,), 'int8')))",
        "str(jax.eval_shape(jnp.argsort, jax.ShapeDtypeStruct((2**31 + 8,), 'int8')))",
        "str(jax.eval_shape(lambda x: x.at[-3].set(1), "
        "jax.ShapeDtypeStruct((2**31 + 8,), 'int8')))"],
    "JAX's polar decomposition is a loop, which has no reverse mode": [
        "jax.grad(lambda a: jax.scipy.linalg.polar(a)[0][0, 1])(jnp.eye(2))"],
    "JAX's derivative of a wide matrix's R, with pivots, takes columns that were not permuted": [
        "jax.jvp(lambda x: jax.lax.linalg.qr(x, pivoting=True, full_matrices=False)[1], "
        "(jnp.array([[1.0, 2, 3], [3, 1, 1]]),), (jnp.array([[1.0, 0, 2], [0, 1, 0]]),))[1]"],
    "of Hermitian matrices one triangle is read, and the derivative by the other one is 0; JAX's "
    "is the derivative of a matrix of which both triangles are averaged, or both are read": [
        "jax.grad(lambda a: jax.scipy.linalg.cholesky(a)[1, 1])(jnp.array([[4., 1.], [1., 3.]]))",
        "jax.grad(lambda a: jnp.linalg.eigvalsh(a, symmetrize_input=False)[1])("
        "jnp.array([[2., 0.], [1., 2.]]))",
        "jax.grad(lambda a: jax.scipy.linalg.solve(a, jnp.ones(2), assume_a='pos')[0])("
        "jnp.array([[4., 1.], [1., 3.]]))"],
    "a complex number is true if any part of it is, as in NumPy; JAX drops the imaginary parts": [
        "jnp.any(np.array([1j]))", "jnp.all(np.complex64(1j))",
        "jnp.piecewise(jnp.arange(2.), [jnp.array([1j, 0])], [1, 2])"],
    "a reference without first contents is one of zeros here": [
        "str(jax.make_jaxpr(lambda: jax.freeze(jax.empty_ref("
        "jax.ShapeDtypeStruct((2,), 'f'))))())"],
    "deprecated in JAX: here by name only": ["jnp.array([1], None, True)"],
}

# Complex functions in which NumPy and XLA use other formulas, and functions made of them.
_COMPLEX = (
    r"((jnp|lax|nn)\.(abs|absolute|angle|acosh?|arccosh?|asinh?|arcsinh?|atanh?|arctanh?|cosh?"
    r"|sinh?|tanh?|exp2?|log|log10|log1p|log2|logistic|sqrt|sigmoid|log_sigmoid|log1mexp|mish"
    r"|softplus|soft_sign|squareplus|atan2|arctan2|div|divide|true_divide|isclose|logaddexp2?"
    r"|pow|power|float_power)|.*special\..*|lambda .*(\*\* |isclose|einsum|geomspace|logspace|nn\."
    r"|select|vander|jnp\.log|cumprod|angle).*)")

# Where functions give other numbers at the ends of their domains and of the types: reason ->
# patterns of `dtype how function mode: kind`, as tests/edges/compare.py names the differences.
EDGES: dict[str, list[str]] = {
    "NumPy keeps subnormal numbers, XLA takes them as zero on a CPU; to switch the processor "
    "before and after each eager operation would cost as much as the operation": [
        rf"complex64 eager {_COMPLEX} \w+: subnormal",
        r"(float64|bfloat16) eager .*(ldexp|betaln|igamma|gammainc|random_gamma|betainc|exp1|expi"
        r"|expn|hyp1f1|hyp2f1|poch).*: subnormal",
        r"bfloat16 eager .*(frexp|ldexp).* grad: value",
        r"(bfloat16|int32|uint8) eager .*spacing.* value: value",
    ],
    "XLA's program for a subnormal operand reads its bits, or does not": [
        r"\w*float\d+ eager .*(cbrt|arctan2|atan2|pow|\*\*|zeta).*: subnormal",
        r"(bfloat16|float64) jit .*(frexp|ldexp).*: subnormal",
    ],
    "complex numbers: NumPy follows Annex G of the C standard where a part is infinite, NaN, or "
    "too large for its square; XLA has formulas of its own": [
        rf"complex64 eager {_COMPLEX} \w+: (infinite|nan|value)",
    ],
    "complex numbers: another program of XLA's operations rounds and overflows differently": [
        r"complex64 jit .*(acosh|arccosh) grad: (subnormal|value)",
        r"complex64 jit nn\.(log_sigmoid|mish|softplus) value: (subnormal|infinite|value)",
        r"complex64 jit jnp\.logaddexp value: infinite",
    ],
    "the complex gamma function near its pole at -1, where JAX's digits are lost": [
        r"complex64 jit special\.gamma (value|jvp0|grad|second0|reverse0): (subnormal|value)",
    ],
    "JAX refuses this equation eagerly, too; compiled, it is not needed": [
        r"complex64 eager .*reduce_window\(.*lax\.max.* (second0|reverse0): error",
    ],
    "JAX raises an error of its inner parts; here there is a result": [
        r"complex64 (eager|jit) lax\.clamp value: error",
        r"float32 (eager|jit) lax\.betainc value: (value|subnormal)",
        r"float\d+ (eager|jit) .*special\.(exp1|expn).* (second\d|reverse\d): error",
        r"\w+ (eager|jit) special\.betainc value: (value|subnormal)",
        r"\w+ (eager|jit) lax\.random_gamma_grad (grad|second\d|reverse\d): error",
    ],
    "JAX raises OverflowError of its inner parts; here integers are refused by TypeError": [
        r"u?int\d+ (eager|jit) lax\.cumlogsumexp value: error",
    ],
    "which of 0 and -0 is the larger is left to the machine; a sum of -0 alone is 0 in NumPy": [
        r"\w+ eager .*(cummax|max|min|clip|clamp|sum).* value: zero",
        r"float64 eager .*(pow|\*\*).* value: zero",
    ],
    "JAX's formula gives NaN, infinity or 0 where the function has a derivative": [
        r"\w+ (eager|jit) special\.(beta|betaln) (grad|second\d|reverse\d): (nan|value|subnormal)",
        r"\w+ (eager|jit) special\.spence (jvp0|grad|second0|reverse0): (nan|value)",
        r"\w+ (eager|jit) special\.ndtri (second0|reverse0): nan",
        r"\w+ (eager|jit) (jnp\.|special\.|lambda .*)i[01]\b.* (jvp0|grad|second0|reverse0): \w+",
        r"\w+ (eager|jit) .*(pow|\*\*|vander).* (jvp\d|grad|second\d|reverse\d): \w+",
        r"\w+ (eager|jit) .*(digamma|l(og)?gamma|gammaln).* (jvp0|grad|second0|reverse0): \w+",
        r"\w+ (eager|jit) .*(acosh|arccosh|sign).* (jvp0|grad|second0|reverse0): \w+",
        r"\w+ (eager|jit) .*(bessel_i1e|i1e|dawsn|erfcx|log_ndtr|gelu|log1mexp|exp2).* "
        r"(jvp0|grad|second0|reverse0): \w+",
        r"\w+ (eager|jit) jnp\.hypot (jvp\d|grad|second\d|reverse\d): \w+",
        r"\w+ (eager|jit) special\.boxcox(1p)? (jvp\d|grad|second\d|reverse\d): \w+",
        r"\w+ (eager|jit) special\.expi value: nan",
        r"\w+ (eager|jit) .*special\.(exp1|expn).*: (nan|value|subnormal)",
        r"\w+ (eager|jit) lax\.random_gamma_grad (value|jvp\d): (nan|value|subnormal)",
        r"\w+ (eager|jit) special\.fresnel (second0|reverse0): value",
    ],
    "the slope of x**0 is 0 at 0, too, also where another function is made of it; JAX's is NaN": [
        r"\w+ (eager|jit) ((jnp|lax)\.(float_)?pow(er)?|special\.zeta|.*x \*\* (1\.0|jnp\.int32"
        r"\(y\))) (jvp\d|grad|second\d|reverse\d): (subnormal|nan)",
        r"complex64 jit lambda x: x \*\* 1\.0 (second0|reverse0): (infinite|value)",
    ],
    "where x is NaN or too large, the second slope of x**1 is NaN; JAX's is 0 for an integer 1": [
        r"\w+ (eager|jit) lambda x, y: x \*\* jnp\.int32\(y\) (second\d|reverse0): "
        r"(infinite|value)",
    ],
    "JAX's derivative of a cumulative sum that has reached infinity is a number without meaning; "
    "here it is NaN": [r"\w+ (eager|jit) lax\.cumlogsumexp jvp0: value"],
    "compiled, XLA drops products of 0 with NaN; JAX's operations one by one give NaN as here": [
        r"\w+ eager .*jnp\.max\(.* grad: value", r"float32 eager special\.log_ndtr second0: value",
        r"float32 eager .*(arctan2|atan2) second\d: (value|subnormal)",
        r"float32 eager .*approximate=False\) second0: value",
    ],
    "the cosine integral of JAX has one more digit in single precision; in double precision, for "
    "large numbers, it is one term of an expansion": [
        r"float(32|64) (eager|jit) special\.sici value: (value|zero)",
    ],
    "JAX's hypergeometric series is summed where it does not converge, or where the function has a "
    "pole; of NaN it is 1": [
        r"\w+ (eager|jit) .*special\.hyp[12]f1.*: (nan|value|subnormal)",
    ],
    "the digits are lost to cancellation in both libraries, in each to another number": [
        r"float32 (eager|jit) special\.(dawsn|i1) (second0|reverse0): value",
        r"float64 (eager|jit) (lax\.bessel_i1e|special\.i1e?) (second0|reverse0): value",
        r"bfloat16 (eager|jit) special\.sici value: value",
        r"bfloat16 jit special\.zeta reverse0: subnormal",
        r"\w+ (eager|jit) .*special\.zeta.* (jvp\d|grad|second\d|reverse\d): value",
        r"float32 eager jnp\.hypot (second\d|reverse\d): value",
        r"\w+ eager special\.(boxcox|boxcox1p) (jvp1|grad|second\d|reverse\d): value",
        r"\w+ (eager|jit) .*(igamma|gammainc).*: (value|nan)",
        r"\w+ (eager|jit) special\.poch (second\d|reverse\d): (value|subnormal)",
        r"\w+ (eager|jit) lax\.igamma_grad_a value: zero",
        r"\w+ eager .*cumsum\(x, reverse=True\) value: (value|subnormal)",
    ],
    "NumPy's tanh, exp2 and sums in bfloat16 are more exact than XLA's": [
        r"\w+ eager .*nn\.gelu.* (value|second0|reverse0): value",
        r"bfloat16 eager .*(exp2|logaddexp2) (value|jvp\d|grad|second\d|reverse\d): value",
        r"bfloat16 eager .*(logsumexp|searchsorted).* value: value",
    ],
    "for one large operand, the logarithm of the beta function has more digits here": [
        r"float64 (eager|jit) special\.(beta|betaln) value: value",
    ],
}


def module(library: str, name: str) -> ModuleType | None:
    """A module of a library, or `None` if it has no such module."""
    try:
        return importlib.import_module(f"{library}.{name}" if name else library)
    except ImportError:
        return None


def declared_missing(table: dict[str, dict[str, str]], where: str) -> set[str]:
    """The names that a table declares missing from a module."""
    return {name for modules in table.values() for name in modules.get(where, "").split()}


def rows() -> Iterator[tuple[str, str, str]]:
    """(reason, module, names) of all that is missing."""
    for table in (MISSING_MODULES, MISSING):
        for reason, modules in table.items():
            for where, names in modules.items():
                yield reason, f"jax.{where}".strip("."), " ".join(sorted(names.split()))


def page() -> str:
    """The tables as a page of the book."""
    lines = ["| missing from | names | because |", "|---|---|---|"]
    for reason, where, names in sorted(set(rows()), key=lambda row: (row[1], row[0], row[2])):
        listed = " ".join(f"`{name}`" for name in names.split())
        lines.append(f"| `{where}` | {listed} | {reason} |")
    lines += ["", "| module | names that can be imported, and whose calls raise an error | "
              "because |", "|---|---|---|"]
    absent = [(where, *row) for where, row in ABSENT.items()]
    absent += [(where, *row) for where, rows in ABSENT_NAMES.items() for row in rows.items()]
    for where, reason, names in absent:
        listed = " ".join(f"`{name}`" for name in names.split())
        lines.append(f"| `jax.{where}` | {listed} | {reason} |")
    lines += ["", "| parameters that no function has | because |", "|---|---|"]
    for reason, names in MISSING_PARAMETERS.items():
        lines.append(f"| {' '.join(f'`{name}`' for name in names.split())} | {reason} |")
    lines += ["", "| function | parameters without effect | because |", "|---|---|---|"]
    for reason, functions in IGNORED.items():
        for name, parameters in functions.items():
            where = "all that have them" if name == "*" else f"`jax.{name}`"
            listed = " ".join(f"`{parameter}`" for parameter in parameters.split())
            lines.append(f"| {where} | {listed} | {reason} |")
    lines += ["", "| functions at their edges | because |", "|---|---|"]
    for reason, patterns in EDGES.items():
        listed = " ".join(f"`{pattern}`" for pattern in patterns).replace("|", "\\|")
        lines.append(f"| {listed} | {reason} |")
    lines += ["", "| call | what is different |", "|---|---|"]
    for reason, calls in OTHERWISE.items():
        lines += [f"| `{call}` | {reason} |" for call in calls]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(page(), end="")
