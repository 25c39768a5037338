"""What programs that extend the library use: linear_util, source_info, rules, monitoring …"""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import minijax
from minijax.extend import linear_util, source_info_util
from tests.oracle import both, in_both, jax, oracle, subject

F32 = np.float32
LU = {oracle: jax.extend.linear_util, subject: linear_util}


def wrapped(jx, f):
    """As a `WrappedFun`, which in JAX has to be told names."""
    if jx is subject:
        return linear_util.wrap_init(f)
    return jax.extend.linear_util.wrap_init(f, debug_info=jax.api_util.debug_info("t", f, (1,), {}))


@in_both
def test_flatten_fun(jx):
    tree = {"a": F32(1), "b": (F32(2),)}
    leaves, in_tree = jx.tree_util.tree_flatten(((tree,), {}))
    flat, out_tree = jx.api_util.flatten_fun(wrapped(jx, lambda t: [t["a"] + 1, t]), in_tree)
    outs = flat.call_wrapped(*leaves)
    leaves, in_tree = jx.tree_util.tree_flatten((tree,))
    flat2, out_tree2 = jx.api_util.flatten_fun_nokwargs(
        wrapped(jx, lambda t: t["a"] * 2), in_tree)
    return outs, str(out_tree()), flat2.call_wrapped(*leaves), str(out_tree2())


def test_transformations():
    def program(jx):
        lu = LU[jx]

        @lu.transformation
        def scaled(factor, *args):
            out = yield args, {}
            yield factor * out

        @lu.transformation_with_aux
        def counted(*args):
            out = yield args, {}
            yield out, len(args)

        @lu.transformation2
        def shifted(f, amount, *args):
            return f(*args) + amount

        @lu.transformation_with_aux2
        def noted(f, store, note, *args):
            store.store(note)
            return f(*args)

        def f(x, y):
            fun = wrapped(jx, lambda x, y: x + y)
            fun, n = counted(scaled(fun, 3))
            fun, note = noted(shifted(fun, 100), "noted")
            with pytest.raises(lu.StoreException):
                n()
            return fun.call_wrapped(x, y), n(), note()

        return f

    both(program, 1, 2)


def test_wrapped_functions_are_compared_and_shown():
    f, double = lambda x: x + 1, linear_util.transformation(_doubled)
    assert double(linear_util.wrap_init(f)).call_wrapped(1) == 4
    assert linear_util.wrap_init(f) == linear_util.wrap_init(f)
    assert "_doubled" in repr(double(linear_util.wrap_init(f)))


def _doubled(*args):
    yield 2 * (yield args, {})


@in_both
def test_trace_state(jx):
    x = F32(1)
    core = jx.extend.core
    states = [core.get_opaque_trace_state(), core.get_opaque_trace_state()]

    def inner(y):
        states.append(core.get_opaque_trace_state())
        under = (core.unsafe_am_i_under_a_jit_DO_NOT_USE(),
                 core.unsafe_am_i_under_a_vmap_DO_NOT_USE(),
                 core.unsafe_get_axis_names_DO_NOT_USE())
        with core.take_current_trace() as trace, core.set_current_trace(trace):
            return (y + x, *map(np.asarray, under[:2]))

    out = jx.jit(inner)(x), jx.vmap(inner, axis_name="i")(np.stack([x, x]))
    return out, [a == b for a in states[:3] for b in states[:3]]


@pytest.mark.parametrize("known", [(True, False), (False, False), (True, True)])
@pytest.mark.parametrize("instantiate", [False, True])
@in_both
def test_trace_to_jaxpr_nounits(jx, known, instantiate):
    pe = jx.interpreters.partial_eval
    x, y = F32(1), F32(2)
    fun = wrapped(jx, lambda x, y: [jx.numpy.sin(x), jx.numpy.cos(x) * y, y])
    pvals = [pe.PartialVal.known(v) if k else pe.PartialVal.unknown(jx.typeof(v))
             for v, k in zip((x, y), known)]
    jaxpr, out_pvals, consts = pe.trace_to_jaxpr_nounits(fun, pvals, instantiate)
    args = [v for v, k in zip((x, y), known) if not k]
    unknown = iter(jx.core.eval_jaxpr(jaxpr, consts, *args))
    return [next(unknown) if p.get_known() is None else p.get_known() for p in out_pvals], [
        p.is_known() for p in out_pvals]


@in_both
def test_trace_to_jaxpr_dynamic_and_dce(jx):
    pe = jx.interpreters.partial_eval
    x = F32(1)
    jaxpr, _, consts = pe.trace_to_jaxpr_dynamic(
        wrapped(jx, lambda x: [x * 2, jx.numpy.sin(x)]), [jx.typeof(x)])
    jaxpr, used_consts, used_inputs = pe.dce_jaxpr_consts(jaxpr, [False, True])
    return str(jaxpr), used_consts, used_inputs


def test_axis_primitive_batchers():
    p = minijax.extend.core.Primitive("scaled_by_size")
    p.def_impl(lambda x: x)
    minijax.interpreters.batching.axis_primitive_batchers[p] = (
        lambda size, name, trace_type, args, dims: (args[0] * size, dims[0]))
    assert minijax.vmap(p.bind)(np.ones(3, F32)).tolist() == [3, 3, 3]


def test_emit_python_callback():
    mlir = minijax.interpreters.mlir
    p = minijax.extend.core.Primitive("host_sin")
    p.def_abstract_eval(lambda x: x)

    def lower(ctx, x):
        results, token, _ = mlir.emit_python_callback(
            ctx, lambda x: (np.sin(x),), None, [x], [x.aval], ctx.avals_out, has_side_effect=False)
        assert token is None
        return results

    mlir.register_lowering(p, lower)
    np.testing.assert_allclose(minijax.jit(p.bind)(F32(1)), np.sin(F32(1)))


def test_source_info():
    with source_info_util.extend_name_stack("outer"):
        assert str(source_info_util.current_name_stack()) == "outer"
        jaxpr = minijax.make_jaxpr(minijax.jit(lambda x: x * 2))(1.0)
        with source_info_util.reset_name_stack():
            assert str(source_info_util.current_name_stack()) == ""
        with (source_info_util.transform_name_stack("jvp"),
              source_info_util.extend_name_stack("inner")):
            assert str(source_info_util.current_name_stack()) == "outer/jvp(inner)"
    location = jaxpr.eqns[0].source_info.location
    with source_info_util.user_context(location, name_stack=source_info_util.new_name_stack("s")):
        info = source_info_util.current()
    assert (info.location, str(info.name_stack)) == (location, "s")
    assert "test_extend.py" in source_info_util.summarize(info)
    both = source_info_util.new_name_stack("a") + source_info_util.new_name_stack("b")
    assert (str(both), str(both[1:]), both.stack) == ("a/b", "b", ("a", "b"))


def test_files_can_be_excluded_from_the_users_code(tmp_path):
    path = str(tmp_path / "library.py")
    scope = {}
    exec(compile("def double(x):\n    return x * 2\n", path, "exec"), scope)
    assert path in str(minijax.make_jaxpr(scope["double"])(1.0).eqns[0].source_info)
    source_info_util.register_exclusion(path)
    again = minijax.make_jaxpr(lambda x: scope["double"](x))  # `double` itself has been traced
    assert __file__ in str(again(1.0).eqns[0].source_info)


def test_monitoring():
    seen = []
    monitoring = minijax.monitoring

    def note(event, *args, **metadata):
        seen.append((event, *args, metadata))

    kinds = {"event": "event", "event_duration_secs": "event_duration", "scalar": "scalar",
             "event_time_span": "event_time_span"}
    for name in kinds:
        getattr(monitoring, f"register_{name}_listener")(note)
    monitoring.record_event("/a", x=1)
    monitoring.record_event_duration_secs("/b", 2.0)
    monitoring.record_scalar("/c", 3)
    monitoring.record_event_time_span("/d", 0.0, 1.0)
    assert seen == [("/a", {"x": 1}), ("/b", 2.0, {}), ("/c", 3, {}), ("/d", 0.0, 1.0, {})]
    seen.clear()
    minijax.jit(lambda x: x + 5)(1.0)
    about = [(event, *kwargs.values()) for event, *_, kwargs in seen]
    assert about[::2] == about[1::2]  # a duration, and a time span
    assert about[::2] == [
        ("/jax/core/compile/jaxpr_trace_duration", "<lambda>"),
        ("/jax/core/compile/jaxpr_to_mlir_module_duration", "jit(<lambda>)"),
        ("/jax/core/compile/backend_compile_duration", "jit(<lambda>)")]
    for kind in kinds.values():
        getattr(monitoring, f"unregister_{kind}_listener")(note)
    monitoring.record_event("/a")
    assert len(seen) == 6
    monitoring.clear_event_listeners()


def test_settings():
    f = minijax.jit(lambda x: x + 1)
    f(1.0)
    with minijax.no_tracing(True):
        f(2.0)
        with pytest.raises(RuntimeError, match="no_tracing"):
            f(1)
    bad_p = minijax.extend.core.Primitive("bad", )
    bad_p.def_abstract_eval(lambda x: minijax.core.ShapedArray((), "float32"))
    with minijax.enable_checks(True):
        minijax.make_jaxpr(bad_p.bind)(1.0)


@pytest.mark.live_jax
def test_stages_and_dlpack():
    compiled = minijax.jit(lambda x: x + 1).lower(1.0).compile()
    assert isinstance(compiled, minijax.stages.Compiled)
    assert isinstance(minijax.jit(abs), minijax.stages.Wrapped)
    x = minijax.numpy.arange(3.0)
    assert np.from_dlpack(x).tolist() == [0, 1, 2]
    assert minijax.dlpack.from_dlpack(np.arange(3, dtype=F32)).tolist() == [0, 1, 2]
    both(lambda jx: lambda: [jx.dlpack.is_supported_dtype(t) for t in (
        "float32", "int8", bool, "bfloat16", "float8_e5m2", "int4")])
    both(lambda jx: lambda: jx.dlpack.is_supported_dtype(None))


def test_backend():
    backend = minijax.extend.backend
    assert backend.get_backend("cpu") is backend.get_backend() is backend.backends()["cpu"]
    assert backend.get_default_device() == minijax.devices()[0]
    backend.clear_backends()


@pytest.mark.parametrize("answer", ["Recompute", "Saveable"])
def test_answers_of_policies(answer):
    both(lambda jx: lambda: jx.make_jaxpr(jx.grad(jx.checkpoint(
        lambda x: jx.numpy.sin(jx.numpy.sin(x)),
        policy=lambda *_, **__: getattr(jx.ad_checkpoint, answer))))(1.0), text=False)


@pytest.mark.parametrize("jitted", [False, True])
def test_fwd_and_bwd(jitted):
    def program(jx):
        fwd, bwd = jx.fwd_and_bwd(lambda x, w, b: (jx.numpy.sin(x @ w) + b["b"], x.sum()),
                                  argnums=(1, 2), has_aux=True, jitted=jitted)
        fwd1, bwd1 = jx.fwd_and_bwd(lambda x, w: x @ w, 0, jitted=jitted)

        def f(x, w, b):
            out, residuals, aux = fwd(x, w, b)
            out1, residuals1 = fwd1(x, w)
            return out, aux, bwd(residuals, jx.numpy.ones_like(out)), out1, bwd1(residuals1, out1)

        return f

    both(program, np.ones((2, 3), F32), np.ones((3, 2), F32), {"b": np.ones(2, F32)})


def test_environment():
    both(lambda jx: lambda: [jx.process_indices(), jx.process_count(), jx.process_index()])
    text = minijax.print_environment_info(return_string=True)
    assert "minijax" in text and "jaxlib" in text and np.__version__ in text
    assert isinstance(minijax.devices()[0], minijax.Device)
    assert minijax.copy_to_host_async({"a": 1}) == {"a": 1}
    with pytest.raises(AttributeError):
        minijax.no_such_name  # noqa: B018


@pytest.mark.parametrize("name", ["call_p", "closed_call_p"])
def test_plain_calls(name):
    p = getattr(minijax.extend.core.primitives, name)
    y = minijax.numpy.arange(3.0)

    def f(x):
        (out,) = p.bind(linear_util.wrap_init(lambda x: [minijax.numpy.sin(x) * x + y]), x)
        return out.sum()

    def plain(x):
        return (minijax.numpy.sin(x) * x + y).sum()

    assert minijax.make_jaxpr(f)(1.0).eqns[0].primitive is p
    for transform in (lambda f: f, minijax.jit, minijax.grad, lambda f: minijax.jit(minijax.grad(f)),
                      lambda f: minijax.grad(minijax.jit(f)), lambda f: minijax.jit(minijax.vmap(f)),
                      lambda f: minijax.vmap(minijax.grad(minijax.jit(f)))):
        x = minijax.numpy.arange(2.0) if "vmap" in transform.__code__.co_names else 2.0
        np.testing.assert_allclose(transform(f)(x), transform(plain)(x), rtol=1e-6)
    eqn = minijax.make_jaxpr(f)(1.0).eqns[0]
    twice = minijax.linear_transpose(lambda t: p.bind(t, call_jaxpr=minijax.make_jaxpr(
        lambda t: [2 * t])(1.0))[0], 1.0)
    assert twice(1.0)[0].item() == 2.0
    params = eqn.primitive.get_bind_params(eqn.params)
    assert list(params) == ["subfuns"]
    assert params["subfuns"][0].call_wrapped(y, 2.0)[0].sum() == plain(2.0)


# What programs written for JAX import from these namespaces, the most used first.
NAMES = {
    "core": """Tracer ShapedArray AbstractValue Atom DropVar find_top_trace get_opaque_trace_state
        DebugInfo Effects Trace eval_jaxpr gensym new_jaxpr_eqn no_effects
        unsafe_get_axis_names_DO_NOT_USE valid_jaxtype ensure_compile_time_eval""",
    "extend.core": """Literal Jaxpr Var ClosedJaxpr Primitive JaxprEqn get_opaque_trace_state
        jaxpr_as_fun DropVar Effect TraceTag find_top_trace mapped_aval set_current_trace
        take_current_trace unmapped_aval valid_jaxtype""",
    "extend.core.primitives": "jit_p call_p closed_call_p add_p scan_p cond_p while_p fft_p sort_p",
    "extend.linear_util": "wrap_init transformation",
    "extend.source_info_util": "register_exclusion user_context",
    "extend.backend": "get_backend",
    "interpreters.ad": """primitive_transposes primitive_jvps Zero is_undefined_primal
        UndefinedPrimal deflinear JVPTracer instantiate_zeros""",
    "interpreters.batching": "primitive_batchers axis_primitive_batchers",
    "interpreters.mlir": "register_lowering lower_fun LoweringRuleContext emit_python_callback",
    "interpreters.partial_eval": "DynamicJaxprTracer PartialVal trace_to_jaxpr_nounits",
    "api_util": "flatten_fun debug_info flatten_axes flatten_fun_nokwargs safe_map",
    "errors": "ConcretizationTypeError JaxRuntimeError UnexpectedTracerError",
    "stages": "Compiled Lowered CompilerOptions Traced",
    "dtypes": "prng_key issubdtype canonicalize_dtype result_type bfloat16 float0",
    "custom_derivatives": "SymbolicZero CustomVJPPrimal custom_jvp_call_p zero_from_primal",
    "custom_batching": "custom_vmap sequential_vmap",
    "ad_checkpoint": "checkpoint_name print_saved_residuals Saveable Recompute",
    "monitoring": "record_event record_event_duration_secs",
    "debug": "print callback breakpoint log DebugEffect OrderedDebugEffect",
    "dlpack": "from_dlpack is_supported_dtype",
    "experimental": "io_callback",
    "experimental.checkify": """check Error ErrorCategory all_checks automatic_checks check_error
        checkify debug_check div_checks float_checks index_checks init_error nan_checks user_checks
        JaxRuntimeError""",
}


@pytest.mark.parametrize("module", NAMES)
@pytest.mark.live_jax
def test_names(module):
    ours = importlib.import_module(f"minijax.{module}")
    theirs = importlib.import_module(f"jax.{module}")
    assert [name for name in NAMES[module].split() if not hasattr(ours, name)] == []
    assert [name for name in NAMES[module].split() if not hasattr(theirs, name)] == []


def test_the_default_platform():
    minijax.config.update("jax_platform_name", "cpu")
    assert minijax.default_backend() == "cpu"
    minijax.config.update("jax_platform_name", "")
    assert minijax.default_backend() == "cpu"


@pytest.mark.parametrize("tree", [1, (1, [2]), {"b": 1, "a": (2,)}, None, []], ids=repr)
@in_both
def test_default_registry(jx, tree):
    registry = jx.tree_util.default_registry
    one = registry.flatten_one_level(tree)
    leaves, treedef = registry.flatten(tree, lambda x: type(x) is tuple)
    return one and [list(one[0]), one[1]], leaves, str(treedef)
