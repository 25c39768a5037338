"""What JAX's libraries use and users seldom do. Each program is a library's habit, made small."""

from __future__ import annotations

import contextlib
import inspect
from importlib import import_module
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from tests.oracle import both, in_both, subject


class Named:
    """A callable whose `__name__` is not a string, as a module with a field of that name has."""

    __name__ = 3  # type: ignore[assignment]

    def __call__(self, x):
        return x * x


class Annotated:
    """A callable whose annotations are a view, as modules have whose classes wrap their fields."""

    __annotations__ = MappingProxyType({"x": "float"})  # type: ignore[assignment]

    def __call__(self, x):
        return x * x


def part(jx: Any, name: str) -> Any:
    """The module `name` of the library."""
    return import_module(f"{jx.__name__}.{name}")


# ----------------------------------------------------------------------------------------------
# Custom rules see arrays


def is_array(jx: Any, x: Any) -> bool:
    return isinstance(x, (jx.Array, jx.core.Tracer))


def operands_of_rules(jx: Any, wrap: Any, value: Any) -> list:
    """What the rules of a custom derivative see of a literal."""
    seen: list = []

    def look(where, *values):
        seen.append((where, [str(v.dtype) for v in values]))

    f = jx.custom_vjp(lambda x, n: x * n)

    def fwd(x, n):
        look("fwd", n)
        assert is_array(jx, n)
        return x * n, n

    def bwd(n, g):
        look("bwd", n)
        return g * n, None

    f.defvjp(fwd, bwd)
    h = jx.custom_jvp(lambda x, n: x * n)

    @h.defjvp
    def h_jvp(primals, tangents):
        look("jvp", primals[1], tangents[1])
        assert is_array(jx, primals[1])
        return primals[0] * primals[1], tangents[0] * primals[1]

    for function in (f, h):
        jx.grad(wrap(jx)(lambda x, function=function: function(x, jx.numpy.array(value))))(2.0)
    return seen


@pytest.mark.parametrize("value", [3, 3.5, np.int8(3), np.float32(2), np.uint16(1)])
@pytest.mark.parametrize("wrap", [lambda jx: jx.jit, lambda jx: lambda f: jx.jit(jx.jit(f))],
                         ids=["jit", "twice"])
def test_literals_reach_rules_as_arrays(wrap, value):
    both(lambda jx: lambda: operands_of_rules(jx, wrap, value))


def residual_types(jx: Any, transformed: Any) -> list:
    seen: list = []
    f = jx.custom_vjp(lambda x: 2 * x)
    f.defvjp(lambda x: (2 * x, True),
             lambda r, g: (seen.append(type(r) is bool), (2 * g,))[1])
    transformed(jx, f)
    return seen


@pytest.mark.parametrize("transformed", [
    lambda jx, f: jx.grad(f)(2.0), lambda jx, f: jx.jit(jx.grad(f))(2.0),
    lambda jx, f: jx.grad(jx.jit(f))(2.0), lambda jx, f: jx.vmap(jx.grad(f))(np.ones(2, "f")),
    lambda jx, f: jx.vjp(f, 2.0)[1](1.0)], ids=["grad", "jit", "of jit", "vmap", "vjp"])
def test_bool_residual_stays_bool(transformed):
    both(lambda jx: lambda: residual_types(jx, transformed))


@pytest.mark.parametrize("symbolic", [False, True])
def test_zero_from_primal_takes_trees(symbolic):
    both(lambda jx: lambda: jx.tree.map(
        lambda z: (str(z.dtype), z.shape), part(jx, "custom_derivatives").zero_from_primal(
            {"a": 1.0, "b": [jx.numpy.ones(2), None]}, symbolic_zeros=symbolic)))
    both(lambda jx: lambda: part(jx, "custom_derivatives").zero_from_primal([1.0, np.ones(2)]))


# ----------------------------------------------------------------------------------------------
# Arguments that libraries pass


def recorded(jx: Any, seen: list) -> Any:
    def dot_general(*args, **kwargs):
        seen.append([np.shape(x) for x in args[:2]] + [args[2]])
        return 2 * jx.lax.dot_general(*args, **kwargs)
    return dot_general


@pytest.mark.parametrize("subscripts, shapes", [
    ("ij,jk->ik", [(2, 3), (3, 4)]), ("bij,bjk->bik", [(2, 2, 3), (2, 3, 4)]),
    ("ij,j,k->ik", [(2, 3), (3,), (2,)]), ("ii->i", [(2, 2)])])
@in_both
def test_einsum_calls_the_given_dot_general(jx, subscripts, shapes):
    seen: list = []
    arrays = [np.ones(shape, "float32") for shape in shapes]
    return jx.numpy.einsum(subscripts, *arrays, _dot_general=recorded(jx, seen)), seen


X = np.arange(6, dtype="float32")
SHAPES = [np.array([2, 3]), np.array([3, -1]), np.array(6), np.int64(6)]


@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_shapes_may_be_numpy_arrays(shape):
    both(lambda jx: lambda x: (jx.numpy.reshape(x, shape), jx.numpy.asarray(x).reshape(shape),
                               jx.jit(lambda x: x.reshape(shape))(x)), X)


def test_shapes_may_be_arrays():
    both(lambda jx: lambda x: jx.numpy.reshape(x, jx.numpy.array([2, 3])), X)


@pytest.mark.parametrize("shape, dims", [((3, 2), (1, 0)), ((3, 4, 2), (2, 0)), ((3, 2), (0, 1)),
                                         ((3, 2), (1, 1)), ((2, 2), (1, 0)), ((3, 2), (2, 0))])
def test_broadcast_in_dim_takes_dimensions_in_any_order(shape, dims):
    x = X.reshape(2, 3)
    refused = dims in [(0, 1), (1, 1), (2, 0)] and shape != (3, 4, 2) or shape == (2, 2)
    both(lambda jx: lambda x: jx.lax.broadcast_in_dim(x, shape, dims), x,
         raises=(TypeError, ValueError) if refused else None)
    if not refused:
        both(lambda jx: jx.vmap(lambda x: jx.lax.broadcast_in_dim(x, shape, dims), 1, 1),
             np.stack([x, x + 1], 1))


@pytest.mark.parametrize("transform", [
    "vmap", "grad", "checkpoint", "value_and_grad", "jacfwd", "jacrev", "hessian", "linearize"])
@pytest.mark.parametrize("kind", [Named, Annotated])
def test_callables_with_attributes_that_no_function_has(transform, kind):
    def program(jx):
        if transform == "linearize":
            return lambda x: jx.linearize(kind(), x)[0]
        function = getattr(jx, transform)(kind())
        assert isinstance(getattr(function, "__name__", ""), str)
        return function

    both(program, np.ones(2, "float32") if transform == "vmap" else 2.0)


# ----------------------------------------------------------------------------------------------
# Tables and older names


@in_both
def test_types_added_to_the_table_of_types(jx):
    class Two:
        pass

    table = part(jx, "core").pytype_aval_mappings
    table[Two] = lambda x: jx.core.ShapedArray((2,), np.dtype("float32"))
    try:
        return str(jx.typeof(Two()))
    finally:
        del table[Two]


@in_both
def test_the_tag_of_the_current_trace(jx):
    core, seen = part(jx, "extend.core"), []

    def look(x):
        seen.append(core.find_top_trace((x,)).main is None)
        return x

    look(1.0)
    jx.vmap(look)(np.ones(2))
    jx.jit(look)(1.0)
    return seen


# ----------------------------------------------------------------------------------------------
# Static arguments, and shardings of types


def checkpoint_of_static(jx: Any, static: Any) -> Any:
    f = jx.checkpoint(lambda s, x: jx.numpy.sin(x) * s[0]["a"], static_argnums=(0,))
    return jx.grad(f, argnums=1)(static, 2.0), jx.jit(lambda x: f(static, x))(2.0)


@pytest.mark.parametrize("static", [({"a": 2.0},), [{"a": 3.0}]], ids=["tuple", "list"])
def test_checkpoint_takes_static_arguments_without_a_hash(static):
    both(lambda jx: lambda: checkpoint_of_static(jx, static))


@pytest.mark.parametrize("shape", [(), (2,), (2, 3)])
@in_both
def test_types_state_no_sharding(jx, shape):
    seen = [str(jx.typeof(jx.numpy.ones(shape)).sharding)]
    jx.jit(lambda x: (seen.append(str(jx.typeof(x).sharding)), x)[1])(np.ones(shape, "f"))
    again = jx.core.ShapedArray(shape, "int8", sharding=jx.typeof(np.ones(shape)).sharding)
    return [*seen, str(again)]


def samples_where_the_operand_lies(jx: Any, *shape: int) -> list:
    key, x = jx.random.key(0), jx.numpy.zeros(shape)
    place = {"out_sharding": jx.typeof(x).sharding}
    return [jx.random.normal(key, shape, **place), jx.random.bernoulli(key, 0.5, shape, **place),
            jx.random.laplace(key, shape, **place), jx.random.bits(key, shape, **place)]


@pytest.mark.parametrize("shape", [(), (2, 3)])
def test_samples_take_an_operands_sharding(shape):
    both(lambda jx: lambda: samples_where_the_operand_lies(jx, *shape))


@pytest.mark.parametrize("make", [
    lambda jx, s: jx.numpy.zeros(3, out_sharding=s),
    lambda jx, s: jx.numpy.arange(3, out_sharding=s),
    lambda jx, s: jx.numpy.reshape(np.ones((3, 1), "f"), (3,), out_sharding=s),
    lambda jx, s: jx.numpy.dot(np.ones((3, 2), "f"), np.ones(2, "f"), out_sharding=s),
    lambda jx, s: jx.lax.broadcast(1.0, (3,), out_sharding=s),
    lambda jx, s: jx.jit(lambda: jx.numpy.ones(3, out_sharding=s))(),
    lambda jx, s: jx.numpy.ones((3, 1)).at[:, 0].get(out_sharding=s),
])
def test_the_sharding_of_an_array_on_no_mesh_says_nothing(make):
    both(lambda jx: lambda: make(jx, jx.typeof(jx.numpy.ones(3)).sharding))


# ----------------------------------------------------------------------------------------------
# Which platforms may compile


def test_compilation_can_be_forbidden():
    """As chex does it: another function stands in the module while the context lasts."""
    import minijax._src.compiler as compiler

    def refuse(client, *args):
        raise PermissionError(f"no compilation for {client.platform}")

    given = compiler.backend_compile_and_load
    before, after = (subject.jit(lambda x, n=n: x * n) for n in (3, 4))
    assert before(2.0) == 6.0
    try:
        compiler.backend_compile_and_load = refuse
        assert before(2.0) == 6.0  # compiled already
        with pytest.raises(PermissionError, match="no compilation for cpu"):
            after(2.0)
    finally:
        compiler.backend_compile_and_load = given
    assert after(2.0) == 8.0


# ----------------------------------------------------------------------------------------------
# Lists that hold traced values, as the values of an update

LISTS = {
    "numbers": lambda jx, x, t: x.at[:].set([0, t, 1, 0]),
    "floats": lambda jx, x, t: x.at[:2].add([1.5, t]),
    "too many": lambda jx, x, t: x.at[0].set([t]),
    "tuple": lambda jx, x, t: x.at[jx.numpy.array([0, 1])].mul((t, 2.0), unique_indices=True),
    "arrays": lambda jx, x, t: x.at[:2].set([jx.numpy.ones(()), t]),
    "nested": lambda jx, x, t: x.reshape(2, 2).at[:2].set([[1, t], [np.float32(2), 3]]),
    "boolean": lambda jx, x, t: x.at[:2].set([t, True]),
    "ragged": lambda jx, x, t: x.at[:2].set([[t], 1]),
    "mixed": lambda jx, x, t: x.reshape(2, 2).at[:].min([t.astype("int8"), jx.numpy.int16(3)]),
    "dropped": lambda jx, x, t: x.at[jx.numpy.array([0, 9])].set([t, t], mode="drop"),
}


@pytest.mark.filterwarnings("ignore:scatter inputs have incompatible types")
@pytest.mark.parametrize("transformed", [
    lambda jx, f: f, lambda jx, f: jx.jit(f), lambda jx, f: lambda t: jx.jvp(f, (t,), (t,)),
    lambda jx, f: lambda t: jx.vmap(f)(jx.numpy.stack([t, t + 1]))],
    ids=["eager", "jit", "jvp", "vmap"])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("update", LISTS)
def test_updates_by_lists_of_traced_values(update, dtype, transformed):
    both(lambda jx: lambda t: transformed(
        jx, lambda t: LISTS[update](jx, jx.numpy.zeros(4, dtype), t))(jx.numpy.asarray(t)),
        np.float32(3))


def test_pallas_is_refused_where_it_is_used():
    pallas = import_module("minijax.experimental.pallas")
    triton = import_module("minijax.experimental.pallas.triton")
    masks = import_module(  # keras imports it before it knows whether there is a TPU
        "minijax.experimental.pallas.ops.tpu.splash_attention.splash_attention_mask")
    for module in (pallas, triton, masks, pallas.ops.tpu.splash_attention):
        with pytest.raises(AttributeError, match=r"pallas\.pallas_call: .*`jax.numpy`"):
            _ = module.pallas_call
    assert not hasattr(pallas, "__path_of_nothing__")


@in_both
def test_slices_of_pallas_index_mutable_arrays(jx):
    """haliax imports the class to know such indices from others."""
    slices = import_module(f"{jx.__name__}._src.state.indexing")
    pallas = import_module(f"{jx.__name__}.experimental.pallas")
    assert pallas.ds is pallas.dslice is slices.ds and pallas.Slice is slices.Slice
    x = np.arange(8, dtype=np.float32)
    ref = jx.new_ref(x)
    ref[pallas.ds(5, 2)] = ref[pallas.dslice(0, 2)] * 10
    part = jx.jit(lambda i: ref[pallas.ds(i, 3)])(2)
    return part, ref[...], [isinstance(index, slices.Slice) for index in
                            (pallas.ds(0, 3), pallas.ds(3), pallas.ds(np.int32(1), 2), slice(3))]


@in_both
def test_threefry_s_private_functions_work_on_words(jx):
    threefry = import_module(f"{jx.__name__}._src.random.threefry2x32")
    seed = 3
    key = threefry.threefry_seed(jx.numpy.asarray(seed))
    return (key, threefry.threefry_split(key, (2,)),
            threefry.threefry_fold_in(key, jx.numpy.uint32(4)),
            threefry.threefry_random_bits(key, 32, (3,)),
            threefry.threefry_2x32(key, jx.numpy.arange(4, dtype="uint32")))


def test_contractions_in_an_order_of_the_library_s_own():
    """haliax calls JAX's private `_einsum` with the result of `opt_einsum`."""
    def program(jx):
        einsum = import_module(f"{jx.__name__}._src.numpy.einsum")._einsum
        order = [((2, 1), frozenset("k"), "kl,jk->jl"), ((1, 0), frozenset("j"), "jl,ij->il")]
        return lambda x, y, z: (einsum([x, y, z], order, None, None, jx.lax.dot_general),
                                jx.jit(lambda *xs: einsum([*xs], order, None, np.float32,
                                                          jx.lax.dot_general))(x, y, z))

    both(program, *(np.arange(6, dtype=np.float32).reshape(shape)
                    for shape in ((3, 2), (2, 3), (3, 2))))


@pytest.mark.parametrize("sizes", [
    lambda: (n for n in (2, 3)), lambda: range(2, 4), lambda: map(int, (3, -1)),
    lambda: np.array([3, 2]), lambda: [6]], ids=["generator", "range", "map", "array", "list"])
def test_a_shape_may_be_any_iterable(sizes):
    """aqt reshapes to a generator of sizes."""
    both(lambda jx: lambda x: (jx.numpy.reshape(x, sizes()), x.reshape(sizes()),
                               jx.jit(lambda x: jx.numpy.reshape(x, sizes()))(x)),
         np.arange(6, dtype=np.float32))


def test_swap_takes_the_name_for_its_messages():
    both(lambda jx: lambda x: jx.ref.swap(jx.new_ref(x), 1, 2.0, _function_name="mine"),
         np.ones(3, np.float32))


@pytest.mark.filterwarnings("ignore:jax.core:DeprecationWarning")
@in_both
def test_older_names_of_jax_core(jx):
    """haliax asks `jax.core` whether sizes are constant."""
    core = jx.core
    x = np.arange(2, dtype=np.float32)
    under = []

    def body(x):
        under.append((core.unsafe_am_i_under_a_jit_DO_NOT_USE(),
                      core.unsafe_am_i_under_a_vmap_DO_NOT_USE(),
                      core.nonempty_axis_env_DO_NOT_USE()))
        return x

    jx.jit(body)(x)
    jx.vmap(body, axis_name="i")(x)
    closed = jx.make_jaxpr(jx.jit(body))(x)
    core.check_jaxpr(closed.jaxpr)
    return (under, core.is_constant_dim(3), core.is_constant_shape((2, "b")),
            str(core.primal_dtype_to_tangent_dtype(np.dtype("int32"))),
            len(list(core.jaxprs_in_params(closed.eqns[0].params))),
            issubclass(core.InconclusiveDimensionOperation, Exception),
            issubclass(core.JaxprTypeError, TypeError), isinstance(core.Effect, type))


@pytest.mark.filterwarnings("ignore:jax.core:DeprecationWarning")
@in_both
def test_the_context_shows_the_current_trace(jx):
    context = import_module(f"{jx.__name__}._src.core").trace_ctx
    names = [type(context.trace).__name__]
    jx.jit(lambda x: names.append(type(context.trace).__name__) or x)(1.0)
    return names


class Incomparable:
    def __init__(self, factor, error):
        self.factor, self.error = factor, error

    def __hash__(self):
        return 3

    def __eq__(self, other):
        raise self.error("not to be compared")


@pytest.mark.parametrize("error", [TypeError, ValueError, RuntimeError])
def test_a_static_argument_whose_comparison_fails(error):
    """Modules of libraries hold arrays, whose `==` has no truth value."""
    import minijax

    def run(jx):
        f = jx.jit(lambda x, s: x * s.factor, static_argnums=1)
        same = Incomparable(3.0, error)
        assert f(2.0, same) == f(2.0, same) == 6
        with pytest.raises(ValueError, match="(?s)comparable using __eq__.*Incomparable.*not to be"):
            f(2.0, Incomparable(4.0, error))
        return True

    if error is TypeError:
        both(lambda jx: lambda: run(jx))
    else:  # JAX says of these that a field of a pytree was compared, where no pytree is
        assert run(minijax)


def test_an_error_of_the_function_is_not_taken_for_one_of_a_comparison():
    import minijax as jax

    @jax.tree_util.register_pytree_node_class
    class Broken:
        def tree_flatten(self):
            raise ValueError("no leaves today")

        @classmethod
        def tree_unflatten(cls, aux, children):
            return cls()

    f = jax.jit(lambda x, s: x, static_argnums=1)
    with pytest.raises(ValueError, match="no leaves today"):
        f(Broken(), 1)


# ----------------------------------------------------------------------------------------------
# Trees as results of `vectorize`


class Wrapped:
    """A node around an array."""

    def __init__(self, x):
        self.x = x


class WrappedShape(Wrapped):
    """A node that has the shape of its array, as a quantum state or a quantity has."""

    shape = property(lambda self: self.x.shape)
    ndim = property(lambda self: self.x.ndim)


RESULTS = {
    "shaped": lambda jx, a: WrappedShape(a * jx.numpy.ones(3)),
    "shapeless": lambda jx, a: Wrapped(a * jx.numpy.ones(3)),
    "dictionary": lambda jx, a: {"a": a},
    "array": lambda jx, a: np.ones(3, "f"),
}


@pytest.mark.parametrize("x", [np.float32(2), np.ones(2, "f")], ids=["scalar", "vector"])
@pytest.mark.parametrize("signature", ["()->(n)", "()->()", None])
@pytest.mark.parametrize("result", RESULTS)
def test_vectorize_of_a_function_that_returns_a_tree(result, signature, x):
    def run(jx, x):
        for cls in (Wrapped, WrappedShape):
            with contextlib.suppress(ValueError):  # registered by an earlier test
                jx.tree_util.register_pytree_node(cls, lambda w: ((w.x,), None),
                                                  lambda _, xs, cls=cls: cls(*xs))
        f = jx.numpy.vectorize(lambda a: RESULTS[result](jx, a), signature=signature)
        return jx.tree.leaves(f(x))

    both(lambda jx: lambda x: run(jx, x), x)


# ----------------------------------------------------------------------------------------------
# What libraries ask of functions that `jit` returns, and of platforms


@pytest.mark.parametrize("follow_wrapped", [True, False])
@in_both
def test_a_jitted_function_has_the_signature_of_its_function(library, follow_wrapped):
    jitted = library.jit(lambda a, b=1, *, scale=2: a * b * scale)
    return str(inspect.signature(jitted, follow_wrapped=follow_wrapped))


def test_jitted_functions_are_known_by_the_name_of_their_class():
    both(lambda library: lambda: type(library.jit(abs)).__name__)


@pytest.mark.parametrize("ask", ["devices", "local_device_count", "device_count"])
def test_an_unknown_platform_is_refused_in_the_same_words(ask):
    def program(library):
        return lambda: getattr(library, ask)("nonsense")

    both(program, raises=RuntimeError)
    with pytest.raises(RuntimeError, match="Unknown backend nonsense. Available"):
        program(subject)()


@in_both
def test_errors_of_prefixes_are_functions_of_the_argument_name(library):
    errors = import_module(f"{library.__name__}._src.tree_util").prefix_errors
    return [len(errors(*trees)) for trees in (
        ((1, 2), (1, (2, 3))), ({"a": 1, "b": 2}, {"a": (1, 2)}), (((1, 2), 3), (1, 2)))]


@pytest.mark.parametrize("name", ["isclose", "allclose"])
@in_both
def test_keys_are_close_if_they_are_equal(library, name):
    random, function = library.random, getattr(library.numpy, name)
    a, b = (random.split(random.key(seed), 3) for seed in (0, 1))
    mixed = a.at[1].set(b[1])
    return [function(x, y) for f in (lambda g: g, library.jit)
            for x, y in ((a, a), (a, b), (a, mixed), (a[0], a))]


def test_a_manager_of_checkpoints_can_be_imported_but_not_made():
    module = import_module("minijax.experimental.array_serialization.serialization")
    for make in (module.GlobalAsyncCheckpointManager, lambda: module.get_tensorstore_spec("a")):
        with pytest.raises(NotImplementedError, match=r"orbax\.checkpoint"):
            make()


def test_element_types_of_libraries_are_refused():
    class Scale(subject.dtypes.extended):
        pass

    class ScaleType(subject._src.dtypes.ExtendedDType):
        type, name, _rules = Scale, "scale32", object()

    with pytest.raises(NotImplementedError, match="defined by a library"):
        subject.lax.convert_element_type(np.float32(1), ScaleType())


@pytest.mark.parametrize("around", ["nothing", "jit", "grad"])
@pytest.mark.parametrize("name", ["grad", "value_and_grad", "vjp", "jvp", "linearize", "jacrev"])
@in_both
def test_auxiliary_data_are_put_together_outside_of_the_differentiation(library, name, around):
    """A variable of a library notes the trace in which it is made, and may be changed only there."""
    trace_state = part(library, "extend").core.get_opaque_trace_state
    found = []

    class Variable:
        def __init__(self, value):
            self.value, self.made_in = value, trace_state()

    library.tree_util.register_pytree_node(
        Variable, lambda v: ((v.value,), None), lambda _, parts: Variable(*parts))

    def f(x):
        return (x * x).sum(), Variable(x)

    def g(x):
        transformed = getattr(library, name)
        if name in ("vjp", "linearize"):
            aux = transformed(f, x, has_aux=True)[2]
        elif name == "jvp":
            aux = transformed(f, (x,), (x,), has_aux=True)[2]
        else:
            out = transformed(f, has_aux=True)(x)
            aux = out[0][1] if name == "value_and_grad" else out[1]
        found.append(aux.made_in == trace_state())
        return x.sum()

    wraps = {"nothing": lambda g: g, "jit": library.jit, "grad": library.grad}
    return (wraps[around](g)(library.numpy.ones(3)), found)[1]
