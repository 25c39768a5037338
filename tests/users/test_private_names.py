"""The private names of JAX that its libraries import, and what they do with them."""

from __future__ import annotations

import re
from importlib import import_module

import numpy as np
import pytest

from tests.oracle import both, in_both
from tests.users.test_libraries import X, part

# ----------------------------------------------------------------------------------------------
# The private names that libraries import


PRIVATE = {
    "ad_checkpoint": ["remat_p", "checkpoint_name"],
    "ad_util": ["stop_gradient_p", "Zero", "SymbolicZero"],
    "api": ["jit", "vmap", "ShapeDtypeStruct"],
    "api_util": ["infer_argnums_and_argnames", "flatten_fun_nokwargs", "flatten_axes"],
    "array": ["ArrayImpl"],
    "checkify": ["Error", "JaxException", "checkify", "user_checks"],
    "compiler": [],
    "core": ["ShapedArray", "trace_state_clean", "AbstractValue", "CallPrimitive", "ClosedJaxpr",
             "DropVar", "Jaxpr", "Literal", "Primitive", "Trace", "TraceTag", "Tracer", "Var",
             "call_p", "eval_context", "eval_jaxpr", "full_lower", "get_opaque_trace_state",
             "jaxpr_as_fun", "physical_aval", "safe_map", "safe_zip", "set_current_trace",
             "take_current_trace", "typeof", "jaxprs_in_params"],
    "dispatch": ["wait_for_tokens", "apply_primitive"],
    "dtypes": ["DType", "ExtendedDType", "TypePromotionError", "extended", "finfo",
               "supports_inf", "to_complex_dtype", "canonicalize_dtype", "result_type", "dtype"],
    "effects": ["Effect", "control_flow_allowed_effects", "lowerable_effects",
                "remat_allowed_effects"],
    "flatten_util": ["ravel_pytree"],
    "interpreters.ad": ["primitive_jvps", "primitive_transposes", "JVPTracer"],
    "interpreters.batching": ["primitive_batchers", "BatchTracer"],
    "interpreters.partial_eval": ["dce_jaxpr", "DynamicJaxprTracer"],
    "lax.control_flow": ["cond_p", "scan_p", "while_p", "fori_loop"],
    "lax.control_flow.loops": ["scan", "while_loop"],
    "lax.lax": ["add_p", "mul", "broadcast_shapes"],
    "lax.linalg": ["cholesky_p", "eigh"],
    "lax.slicing": ["gather_p", "GatherDimensionNumbers"],
    "lib": ["xla_client"],
    "linear_util": ["wrap_init", "transformation_with_aux"],
    "literals": ["TypedInt", "TypedFloat", "TypedComplex"],
    "mesh": ["Mesh", "AbstractMesh"],
    "nn.functions": ["relu", "softmax"],
    "nn.initializers": ["glorot_normal", "variance_scaling"],
    "numpy.array_methods": ["_IndexUpdateHelper", "_IndexUpdateRef"],
    "numpy.index_tricks": ["CClass", "RClass"],
    "numpy.lax_numpy": ["array", "where"],
    "numpy.ufuncs": ["add", "logaddexp"],
    "numpy.util": ["promote_dtypes", "promote_dtypes_inexact", "promote_args", "check_arraylike"],
    "numpy.vectorize": ["_apply_excluded", "_check_output_dims", "_parse_gufunc_signature",
                        "_parse_input_dimensions"],
    "ops.scatter": ["segment_sum"],
    "partition_spec": ["PartitionSpec"],
    "pjit": ["jit_p", "with_sharding_constraint"],
    "random": ["normal", "PRNGKey"],
    "random.prng": ["PRNGImpl"],
    "scipy.special": ["gammaln"],
    "sharding_impls": ["UNSPECIFIED", "UnspecifiedValue", "NamedSharding", "SingleDeviceSharding"],
    "source_info_util": ["current", "new_name_stack"],
    "stages": ["Compiled", "Lowered"],
    "state.types": ["AbstractRef"],
    "traceback_util": ["UnfilteredStackTrace", "api_boundary", "include_frame",
                       "register_exclusion"],
    "tree_util": ["_registry", "flatten_one_level", "tree_leaves"],
    "util": ["HashablePartial", "safe_map", "safe_zip", "unzip2", "split_list", "partition_list"],
    "xla_bridge": ["get_backend", "local_devices"],
}


@pytest.mark.parametrize("module", PRIVATE)
def test_private_names_that_libraries_import(module):
    both(lambda jx: lambda: [callable(getattr(part(jx, f"_src.{module}"), name))
                             for name in PRIVATE[module]])


def test_the_table_of_private_modules_names_modules():
    from minijax._src import SOURCES
    ours = {source for sources in SOURCES.values() for source in sources.split()} - {"."}
    for module in ours:
        import_module(f"minijax.{module}")


@pytest.mark.live_jax
def test_the_table_of_private_modules_names_modules_of_jax():
    from minijax._src import SOURCES
    for module in SOURCES:
        try:
            import_module(f"jax._src.{module}")
        except ImportError as error:  # JAX has the module, which needs a package
            assert re.search("absl|flatbuffers", str(error)), error


@in_both
def test_entries_of_the_private_registry_take_trees_apart(jx):
    entry = part(jx, "_src.tree_util")._registry[dict]
    children, aux = entry.to_iter({"b": 1, "a": 2})
    return tuple(children), aux, entry.from_iter(aux, [5, 6])


@in_both
def test_excluded_paths_are_a_list(jx):
    paths = part(jx, "_src.traceback_util")._exclude_paths
    paths.append(__file__)
    inside = __file__ in paths
    paths.remove(__file__)
    return inside, __file__ in paths


@in_both
def test_small_private_functions(jx):
    core, util = part(jx, "_src.core"), part(jx, "_src.util")
    keys = core.physical_aval(jx.typeof(jx.random.split(jx.random.key(0), 3)))
    partial, other = (util.HashablePartial(lambda x, y: x + y, 4) for _ in range(2))
    number = part(jx, "_src.literals").TypedInt(3, np.dtype("int16"))
    return (str(keys), str(core.physical_aval(core.ShapedArray((2,), np.dtype("float32")))),
            partial(3), partial == other, partial == 3, hash(partial) == hash(other),
            core.full_lower(3),
            number + 1, str(number.dtype), repr(number), isinstance(number, int))


@pytest.mark.parametrize("args", [(1,), (1.0, 2), (np.ones(2, "f"), 1), (np.int8(1), np.arange(2)),
                                  (1j, 2.0), (np.float16(3), True)], ids=str)
def test_promotion_to_complex_types(args):
    both(lambda jx: lambda *args: part(jx, "_src.numpy.util").promote_dtypes_complex(
        *map(jx.numpy.asarray, args)), *args)


@pytest.mark.parametrize("xs, ys, options", [
    (1.0, 1.0, {}), ([1.0, X], [1.0, X], {}), (X, X + 1e-4, {}), (X, X + 1e-7, {}), (X, X + 1, {"atol": 1}),
    (X, X + 1, {"atol": {np.float64: 1.0}}), (X, X + 1, {"rtol": {np.dtype("float32"): 1.0}}),
    (X, X[:2], {}), (np.int32([1]), np.int32([2]), {}), (X.astype("float16"), X.astype("float16") + 1e-3, {}),
], ids=str)  # fmt: skip
@in_both
def test_results_are_close(jx, xs, ys, options):
    try:
        part(jx, "_src.public_test_util").check_close(xs, ys, **options)
    except AssertionError:
        return "far"
    return "close"


@in_both
def test_the_clients_that_have_started(jx):
    jx.devices("cpu")
    return "cpu" in part(jx, "_src.xla_bridge")._backends


@in_both
def test_parts_of_vectorize_and_joins(jx):
    """A library of arrays with units writes its own `vectorize`, `c_` and `r_` with these."""
    parts, tricks = part(jx, "_src.numpy.vectorize"), part(jx, "_src.numpy.index_tricks")
    x, y = np.ones((4, 2, 3), "f"), np.ones((3,), "f")
    ins, outs = parts._parse_gufunc_signature("(n,m),(m)->(n)")
    shape, sizes = parts._parse_input_dimensions((x, y), ins, "here")
    checked = parts._check_output_dims(lambda x, y: x @ y, sizes, outs, "here")
    f, args, kwargs = parts._apply_excluded(
        lambda a, b, c: a + 10 * b + 100 * c, {1}, (1.0, 2.0, 3.0), {})
    return (list(map(tuple, ins)), list(map(tuple, outs)), tuple(shape), sizes,
            checked(x[0], y), f(*args), list(args), dict(kwargs),
            tricks.CClass()[y, y], tricks.RClass()[1:3, y], tricks.RClass()["0,2", y, y])


def logged(jx, function, *args):
    """The result of a function, and the primitives that a library's trace met in it."""
    core = part(jx, "_src.core")
    met: list[str] = []

    class Boxed(core.Tracer):
        __slots__ = ("value",)

        def __init__(self, trace, value):
            self._trace, self.value = trace, value

        @property
        def aval(self):
            return jx.typeof(self.value)

    class Logging(core.Trace):
        __slots__ = ("parent_trace",)

        def __init__(self, parent_trace):
            self.parent_trace = parent_trace
            super().__init__()

        def process_primitive(self, primitive, tracers, params):
            met.append(primitive.name)
            values = [x.value if isinstance(x, Boxed) else x for x in tracers]
            with core.set_current_trace(self.parent_trace):
                out = primitive.bind(*values, **params)
            box = lambda x: Boxed(self, x)
            return [*map(box, out)] if primitive.multiple_results else box(out)

        def process_custom_jvp_call(self, primitive, fun, jvp, tracers, *, symbolic_zeros):
            met.append("custom_jvp")
            values = [x.value if isinstance(x, Boxed) else x for x in tracers]
            avals = [jx.typeof(x) for x in values]
            outs = primitive.bind_with_trace(
                self.parent_trace, tuple(values), tuple(avals),
                {"subfuns": (fun, jvp), "symbolic_zeros": symbolic_zeros})
            return [Boxed(self, x) for x in outs]

    with core.take_current_trace() as parent:
        trace = Logging(parent)
        with core.set_current_trace(trace):
            out = function(*(Boxed(trace, x) for x in args))
        assert isinstance(trace, core.Trace) and isinstance(parent, core.Trace)
        assert not isinstance(parent, Logging)
        return trace.full_raise(out).value, met


def test_a_call_on_a_trace_needs_a_type_for_each_operand():
    import minijax as jax
    from minijax._src import core
    assert core.Trace is not None  # its module gives primitives the method
    with core.take_current_trace() as trace, pytest.raises(TypeError, match="0 types for 1"):
        jax.lax.sin_p.bind_with_trace(trace, (1.0,), (), {})


def ruled(jx):
    f = jx.custom_jvp(lambda x: jx.numpy.sin(x) * 2)
    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0] * 7))
    return f


@pytest.mark.parametrize("transformed", [
    lambda jx, f: f, lambda jx, f: jx.jit(f), lambda jx, f: jx.grad(f),
    lambda jx, f: lambda x: jx.vmap(f)(jx.numpy.stack([x, x]))],
    ids=["eager", "jit", "grad", "vmap"])
@pytest.mark.parametrize("program", [
    lambda jx, x: jx.lax.add(jx.lax.mul(x, x), jx.lax.sin(x)), lambda jx, x: ruled(jx)(x),
    lambda jx, x: jx.jit(lambda x: x * 2)(x),
    lambda jx, x: jx.lax.fori_loop(0, 3, lambda i, x: x * 2, x)],
    ids=["plain", "custom_jvp", "call", "loop"])
@in_both
def test_a_trace_of_a_library_meets_each_primitive(jx, program, transformed):
    seen: list = []

    def f(x):
        out, met = logged(jx, lambda x: program(jx, x), x)
        seen.append(met)
        return out

    return transformed(jx, f)(np.float32(0.5)), sorted(set(seen[0]))


@pytest.mark.parametrize("transformed", [lambda f: lambda jx, x: f(jx, x),
                                         lambda f: lambda jx, x: jx.jit(lambda x: f(jx, x))(x)],
                         ids=["eager", "jit"])
@in_both
def test_the_public_trace_class_learns_its_parent_after_its_constructor(jx, transformed):
    """Haiku's trace, which writes down a graph. It imports no private module."""
    inner, met = part(jx, "extend.core"), []

    class Boxed(jx.core.Tracer):
        def __init__(self, trace, value):
            super().__init__(trace, jx.typeof(value))
            self.value = value

    class Logging(jx.core.Trace):
        def __init__(self, parent_trace):
            super().__init__()
            self.parent_trace, self.tag = parent_trace, inner.TraceTag()

        def process_primitive(self, primitive, tracers, params):
            met.append((primitive.name, sorted(params)))
            values = [x.value if isinstance(x, Boxed) else x for x in tracers]
            out = primitive.bind_with_trace(
                self.parent_trace, values, [*map(jx.typeof, tracers)], params)
            return jx.tree.map(lambda x: Boxed(self, x), out)

    def f(jx, x):
        with inner.take_current_trace() as parent:
            trace = Logging(parent)
            with inner.set_current_trace(trace):
                boxed = Boxed(trace, x)
                return jx.lax.reduce_sum_p.bind(
                    jx.lax.sin(boxed), axes=(0,), out_sharding=None).value

    return transformed(f)(jx, np.arange(3, dtype="f")), met, jx.core.Trace.__name__


def test_what_a_library_of_checkpoints_asks_of_one_process():
    both(lambda jx: lambda: [
        jx._src.distributed.global_state.client is None, jx._src.distributed.global_state.process_id,
        part(jx, "experimental.multihost_utils").reached_preemption_sync_point(3),
        callable(part(jx, "extend.ifrt_programs").ifrt_programs.make_plugin_program)])


@in_both
def test_the_mesh_of_a_with_statement_is_read_from_pxla(jx):
    mesh = jx.make_mesh((1,), ("x",))
    with pytest.warns(DeprecationWarning):
        resources = part(jx, "interpreters.pxla").thread_resources
        with mesh:
            inside = resources.env.physical_mesh == mesh
        return inside, resources.env.physical_mesh.empty


def test_other_private_names_are_absent():
    with pytest.raises(ImportError):
        import_module("minijax._src.no_such_module")
    with pytest.raises(ImportError):
        exec("from minijax._src.lax import no_such_name")


@in_both
def test_trace_state_is_clean_outside_transformations(jx):
    clean = part(jx, "_src.core").trace_state_clean
    seen = [clean()]
    jx.jit(lambda x: (seen.append(clean()), x)[1])(1.0)
    jx.grad(lambda x: (seen.append(clean()), x)[1])(1.0)
    return [*seen, clean()]


def test_private_registry_tells_which_types_are_nodes():
    class Pair(list):
        pass

    def answers(jx):
        jx.tree_util.register_pytree_node(Pair, lambda p: (list(p), None), lambda _, xs: Pair(xs))
        registry = part(jx, "_src.tree_util")._registry
        return [t in registry for t in (Pair, dict, list, tuple, int, np.ndarray)]

    both(lambda jx: lambda: answers(jx))


@pytest.mark.parametrize("shapes", [((1, 3), (1, 1)), ((1, 1), (1, 3)), ((2, 1), (1, 3))])
def test_derivative_of_integer_powers_of_other_shapes(shapes):
    """Optimal transport takes powers of a row, with exponents for each problem."""
    base = np.linspace(0.5, 2, int(np.prod(shapes[0])), dtype="float32").reshape(shapes[0])
    power = np.arange(int(np.prod(shapes[1])), dtype="int32").reshape(shapes[1])
    both(lambda jx: lambda x: jx.jvp(lambda x: jx.lax.pow(x, power), (x,), (x + 1,)), base)
    both(lambda jx: jx.jit(jx.grad(lambda x: jx.lax.pow(x, power).sum())), base)
