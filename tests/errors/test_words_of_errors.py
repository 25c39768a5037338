"""Programs that search messages for JAX's key words find them here.

Each regular expression must match JAX's message and ours.
"""

from __future__ import annotations

import functools
from collections import OrderedDict, namedtuple
from dataclasses import make_dataclass

import numpy as np
import pytest

from tests.oracle import in_both, subject

# the program -> what JAX's message says
JIT = {
    "jax.jit(3)": "^Expected a callable value",
    "jax.jit(generator)": "^Expected a function, got a generator function",
    "jax.jit(staticmethod(f))": "^staticmethod arguments are not supported",
    "jax.jit(f, static_argnums=(0, 3))": r"has static_argnums=\(0, 3\), but only accepts 2 positi",
    "jax.jit(f, donate_argnums=-3)": r"has donate_argnums=\(-3,\), but only accepts 2 positional",
    "jax.jit(f, static_argnames='z')": "has invalid argnames {'z'} in static_argnames",
    "jax.jit(f, static_argnames='x', donate_argnames='x')":
        "static_argnames and donate_argnames cannot intersect",
    "jax.jit(f, static_argnums=1)(1, np.ones(2))": "^Non-hashable static arguments are not supported",
    "jax.jit(f)('a', 1)": "^Error interpreting argument to .* as an abstract array. The problematic "
        "value is of type .*str.* and was passed to the function at path x.",
    "jax.jit(f)({'w': 'a'}, 1)": r"was passed to the function at path x\['w'\]",
    "jax.jit(lambda: 'a')()":
        "^function <lambda> at .* traced for jit returned a value of type <class 'str'>",
    "jax.jit(lambda: {'w': object})()": r"at output component \['w'\], which is not a valid JAX",
    "jax.grad(f)('a', 1)": "'?a'? of type <class 'str'> is not a valid JAX type",
    "jax.device_put('a')": "^Argument 'a' of type <class 'str'> is not a valid JAX type",
    "jax.vmap(f)('a', 1)": "^Argument 'a' of type <class 'str'> is not a valid JAX type",
    "jax.jit(f)(np.ma.array([1], mask=[True]), 1)": "^numpy masked arrays are not supported",
    "jax.vmap(f, in_axes=((0,), None))(jnp.ones(2), 1)":
        "^vmap in_axes specification must be a tree prefix of the corresponding value",
    "jax.vmap(lambda x: lax.psum(x, 'k'))(jnp.ones(2))": "^Found an unbound axis name: k",
}  # fmt: skip

TRACED = {
    "jax.jit(lambda x, y: float(x * y))(1., 2.)": "for jit. This concrete value was not available in "
        "Python because it depends on the values of the arguments x and y",
    "jax.jit(lambda x, y: bool(y['w']))(1., {'w': 2.})": r"the value of the argument y\['w'\]",
    "jax.jit(lambda x: int(x))(1)":
        "while tracing the function <lambda> at .* for jit. .* the value of the argument x",
    "jax.jit(lambda x, y, z: bool(x + y + z))(1., 2., 3.)": "the arguments x, y, and z",
    "jax.jit(lambda: bool(jnp.add(1, 1)))()": "operations on these lines",
    "jax.jit(lambda: bool(sum(jnp.add(1, 1) for _ in range(6))))()":
        "Additional originating lines are not shown",
    "jnp.sin(leak())": "^Encountered an unexpected tracer",
}  # fmt: skip

CALLS = {
    "jax.jit(float)(1.)": r"[Tt]ry using `x.astype\(float\)`",
    "jax.jit(int)(1)": r"[Tt]ry using `x.astype\(int\)`",
    "jax.jit(complex)(1.)": r"[Tt]ry using `x.astype\(complex\)`",
    "jax.jit(f)(jnp.int32, 1)": "^Error interpreting argument to .* as an abstract array",
    "jax.vmap(f)(jnp.ones(2), y=jnp.ones(3))":
        r"size 2: axis 0 of argument x of .*;\n .* size 3: axis 0 of kwargs\['y'\] of type float32",
    "jax.vmap(f)({}, ())": "array or axis_size must be specified, got empty",
    "jax.grad(f)(x=1., y=2.)": "requires at least 1 positional arguments to be passed by the caller, "
        "but got only 0 positional arguments",
    "jax.grad(lambda x: (1, 2, 3), has_aux=True)(1.)": "two-element tuple",
    "jnp.cumulative_sum(1.)": "^The input must be non-scalar to take",
    "jnp.cumulative_prod(1.)": "^The input must be non-scalar to take",
    "jnp.cumulative_sum(jnp.ones((2, 3)))": r"^The input array has rank \d*, however",
    "jnp.cumulative_prod(jnp.ones((2, 3)))": r"^The input array has rank \d*, however",
    "jnp.quantile(jnp.ones((3, 4)), .5, weights=jnp.ones(4), method='inverted_cdf')":
        "^Weights shape must match 'a' shape when axis is None",
    "jnp.quantile(jnp.ones((3, 4)), .5, axis=0, weights=jnp.ones(4), method='inverted_cdf')":
        r"^Weights shape \(4,\) must match reduction axes \(3,\)",
    "jnp.array(2) * [1, 2]": r"^unsupported operand type\(s\) for \*: 'ArrayImpl' and 'list'",
    "jnp.array(2) * (1, 2)": r"^unsupported operand type\(s\) for \*: 'ArrayImpl' and 'tuple'",
    "(1, 2) * jnp.array(2)": r"^unsupported operand type\(s\) for \*: 'tuple' and 'ArrayImpl'",
    "[1] + jnp.array(2)": r"^unsupported operand type\(s\) for \+: 'list' and 'ArrayImpl'",
    "jnp.array(2) + [1]": r"^unsupported operand type\(s\) for \+: 'ArrayImpl' and 'list'",
    "jax.jit(lambda x: x * [1, 2])(2)": r"^unsupported operand type\(s\) for \*: .* and 'list'",
    "jnp.fft.fftfreq([0, 1, 2])": r"^The n argument of jax.numpy.fft.fftfreq only takes an int. "
        r"Got n = \[0, 1, 2\].",
    "jnp.fft.rfftfreq(10, [0, 1])": r"^The d argument of jax.numpy.fft.rfftfreq only takes a single "
        r"value. Got d = \[0, 1\].",
    "jnp.einsum('i,i,i', *[jnp.ones(2)] * 3, optimize='foo')": "Path optimizer 'foo' not found",
    "jnp.put(jnp.ones(2), 0, 1.)": "^jax.numpy.put cannot modify arrays in-place",
    "jnp.add.at(jnp.ones(2), 0, 1.)": "(?s)JAX arrays are immutable.*cannot operate inplace",
    "jnp.sin(float0)": "float0s do not support any operations by design",
    "jnp.add(float0, 1)": "float0s do not support any operations by design",
    "lax.neg(float0)": "float0s do not support any operations by design",
    "jax.jit(f).lower(1, 2).as_text(dialect='x')": "unknown dialect: x",
    "jax.jit(f).lower(1, 2).compiler_ir('x')": "unknown dialect: x",
}  # fmt: skip

CONTROL = {
    "lax.scan(lambda c, x: (c, x), 0, (jnp.ones(3), jnp.ones(4)))":
        "^scan got values with different leading axis sizes: 3, 4.",
    "lax.scan(lambda c, x: (c, x), 0, jnp.ones(3), length=4)":
        r"^scan got `length` argument of 4 which disagrees with leading axis sizes \[3\].",
    "lax.scan(lambda c, x: (c, x), 0, 3)": "^scan got value with no leading axis to scan over: 3.",
    "lax.scan('f', 0, jnp.ones(3))": "^lax.scan: f argument should be a callable.",
    "lax.cond(True, 1, 2)": "^lax.cond: true_fun and false_fun arguments should be callable.",
    "lax.associative_scan(3, jnp.ones(5))":
        "^lax.associative_scan: fn argument should be callable.",
    "jax.random.poisson(jax.random.key(0, impl='rbg'), 2.0)":
        "^`poisson` is only implemented for the threefry2x32 RNG, not rbg",
    "jax.random.multivariate_normal(jax.random.key(0), jnp.ones(2), jnp.eye(3))":
        r"requires cov.shape == \(..., n, n\) for n=2, but got cov.shape == \(3, 3\).",
    "jax.random.multivariate_normal(jax.random.key(0), jnp.ones(()), jnp.eye(3))":
        "requires mean.ndim >= 1, got mean.ndim == 0",
    "np.asarray(jax.random.key(0))": "^JAX array with PRNGKey dtype cannot be converted to a NumPy array.",
    "lax.switch(0, [42])": "^lax.switch:.*callable",
    "lax.switch(0, [])": "^Empty branch sequence",
    "lax.switch('a', [abs, abs], 1)": "^Index type must be an integer, got a.",
    "lax.switch((1., 1.), [abs, abs], 1)":
        r"^Branch index must be scalar, got \(1.0, 1.0\) of shape \(2,\).",
    "lax.switch(1., [abs, abs], 1)": "^Index type must be an integer, got 1.0 as float32",
    "lax.switch(1, [lambda: {'a': 2.}, lambda: {'a': (3., 3.)}])": "(?s)^switch branch outputs must have "
        r"the same pytree structure, but they differ.*branch 0 output at path \['a'\] is a pytree leaf but "
        r"branch1 output at path \['a'\] is a <class 'tuple'>, so their Python types differ\.",
    "lax.switch(1, [lambda: {'a': jnp.ones(1)}, lambda: {'a': jnp.float32(1)}])": "(?s)^switch branches "
        r"must have equal output types but they differ.*The output of branch 0 at path \['a'\] has type "
        r"float32\[1\] but the corresponding output of branch1 has type float32\[\], so the shapes do not",
    "lax.cond(None, f, f, 1, 1)": "^cond predicate is None",
    "lax.cond(lambda: 1, f, f, 1, 1)": "^Pred type must be either boolean or number, got <function",
    "lax.cond('foo', f, f, 1, 1)": "^Pred must be a scalar, got foo of type <class 'str'>",
    "lax.cond(jnp.ones(2), f, f, 1, 1)": r"^Pred must be a scalar, got .* of shape \(2,\)",
    "lax.cond(1j, f, f, 1, 1)": "^Pred type must be either boolean or number, got complex64",
    "lax.cond(True, lambda: (1, 2), lambda: (1,))": "(?s)^cond branch outputs must have the same.*true_fun "
        "output is a tuple of length 2 but false_fun output is a tuple of length 1, so the lengths do not",
    "lax.while_loop(lambda c: (1., 1.), lambda c: c, 0.)":
        r"^cond_fun must return a boolean scalar, but got pytree PyTreeDef\(\(\*, \*\)\)\.",
    "lax.while_loop(lambda c: c, lambda c: c, jnp.float32(0))": "^cond_fun must return a boolean scalar, "
        r"but got output type\(s\) \[ShapedArray\(float32\[\]\)\]\.",
    "lax.while_loop(lambda c: True, lambda c: (1., 1.), 0.)":
        "differ:\n\nThe input carry c is a .*a <class 'tuple'>, so their Python types differ\\.",
    "lax.while_loop(lambda c: True, lambda c: (True, 1), (np.bool_(1), np.float32(0)))":
        r"\n\nThe input carry component c\[1\] has type float32\[\] but the corresponding output carry "
        r"component has type .*, so the dtypes do not match\.",
    "lax.fori_loop(np.int16(0), jnp.int32(9), lambda i, c: c, 1.)":
        "arguments to fori_loop must have equal types, got int16 and int32",
    "jax.jit(lambda n: lax.fori_loop(0, n, lambda i, c: c, 1., unroll=3))(9)": "^Can only use `unroll`",
    "lax.fori_loop(0, 1, lambda i, x: {'T': 1.}, {'t': 1.})":
        r"with pytree metadata \('t',\).*with pytree metadata \('T',\), so the pytree node metadata does",
    "lax.scan(lambda c, x: ((0, 0, 0), x), (1, 2), jnp.arange(5.))":
        "differ:\n\nThe input carry c is a tuple of length 2 but .* of length 3, so the lengths do not match\\.",
    "lax.scan(lambda x, _: (({'a': 1, 'b': 2},) * 2, None), ({'a': 1},) * 2, None, length=1)":
        r"differ:\n\n  \* the input carry component x\[0\] is a <class 'dict'> with 1 child but the "
        "corresponding component of the carry output is a <class 'dict'> with 2 children",
    "lax.scan(lambda x, _: ((x[0] + 1., jnp.ones((1, 1))), None), (jnp.int32(0),) * 2, None, length=1)":
        r"  \* the input carry component x\[0\] has type int32\[\] .*, so the dtypes do not match;\n  \* the "
        r"input carry component x\[1\] .* so the dtypes do not match, and the shapes do not match\.",
    "lax.platform_dependent(3., tpu=lambda x: x)": "translation rule .* not found for platform",
    "jax.jit(lambda x: jnp.zeros((2, x)))(1)":
        "(?s)^Shapes must be 1D .*This concrete value was not available in Python because it depends on",
    "jax.vmap(lambda x: jnp.zeros((2, x)))(jnp.ones(1))": "This BatchTracer with object id [0-9]+ was created",
    "jax.jit(f)(2 ** 31, 1)": "^An overflow was encountered while parsing an argument to a jitted computation, "
        "whose argument path is x",
    "jax.jit(f)({'a': 2 ** 31}, 1)": r"whose argument path is x\['a'\]",
    "jax.pmap(f)({}, 1)": "^pmap requires at least one argument with a mapped axis",
}  # fmt: skip

DERIVATIVES = {
    "rule(jax.custom_jvp, lambda p, t: (p[0], jnp.ones(1)))": "^Custom JVP rule must produce primal and "
        "tangent outputs with corresponding shapes and dtypes. Expected float32.* but got float32.1",
    "scanned(jax.custom_jvp, lambda p, t: ((p[0], 1.), (1., 1.)))": "(?s)must produce a pair .list or tuple "
        "of length two. where the first element represents the primal output .equal in value to the output "
        "of the custom_jvp-decorated function <lambda>, and in particular of the same container/pytree "
        "structure.*had container/pytree structure:\n    .float32.., float32...\nwhile the custom_jvp-",
    "scanned(jax.custom_vjp, lambda x: (jnp.ones((3, *x.shape)), None))": "(?s)must produce a pair .list or "
        "tuple of length two. where the first element represents the primal output .equal to the output of "
        "the custom_vjp-decorated function <lambda>. and the second element represents residuals .* had "
        "shapes/dtypes of:\n    float32.3.\nwhile the custom_vjp-decorated function <lambda> had output "
        "shapes/dtypes of:\n    float32..",
    "rule(jax.custom_vjp, lambda x: (x, None), lambda r, g: (jnp.ones(3),))": "must produce an output with the same type as the args tuple",
    "call(jax.custom_jvp, 0.5)": "missing a required argument: 'y'",
    "call(jax.custom_vjp, 0.5, 0.1, z=1.0)": "\nThe following keyword arguments could not be resolved to "
        "positions: z",
    "jax.grad(mapped)(0.5)": "^Linearization failed to produce known values for all output primals",
}  # fmt: skip

RULES = {
    "jax.jit(listed.bind)(1.0)": r"^listed.abstract_eval\(\) method should return a tuple or",
    "foo.bind(1.0)": "^Evaluation rule for 'foo' not implemented",
    "jax.jit(foo.bind)(1.0)": "^Abstract evaluation for 'foo' not implemented",
    "jax.grad(foo.bind)(1.0)": "^Differentiation rule for 'foo' not implemented",
    "jax.jit(typed.bind)(1.0)": "rule for primitive 'typed' not found",
}

REFERENCES = {
    "jax.jit(jax.new_ref)(1.0)": r"traced for jit returned a mutable array reference.*\n\n"
        ".*was created on line",
    "jax.jit(lambda x_ref: x_ref)(ref)": r"traced for jit returned a mutable array reference.*\n\n"
        ".*was passed in as the argument x_ref",
    "jax.jit(lambda x_ref: {'w': x_ref})(ref)": r"tree path result\['w'\]",
    "jax.jit(f)(ref, ref)": "appeared at both x and y",
    "jax.jit(lambda x: ref[...] + x[...])(ref)": "closed over and passed as the argument x",
    "lax.scan(lambda c, x: (jax.new_ref(c), x), 0., jnp.arange(3))":
        "traced for scan returned a mutable array reference of type",
    "lax.scan(lambda c, _: (None, None), (ref, ref), None, length=1)":
        r"for scan .* at both c\[0\] and c\[1\]",
    "lax.scan(lambda c, _: (c[...] + ref[...], None), ref, None, length=1)":
        "closed over and passed as the argument c",
    "lax.cond(True, lambda: jax.new_ref(1.), lambda: jax.new_ref(2.))":
        "traced for cond returned a mutable array reference of type",
    "lax.cond(True, lambda x, y: ..., lambda x, y: ..., ref, ref)": "for cond.*at both x and y",
    "lax.cond(True, lambda x: x[...] + ref[...], lambda x: x[...], ref)":
        "closed over and passed as the argument x",
    "lax.while_loop(lambda c: True, lambda c: jax.new_ref(1.), 1.)": "returned a mutable array ref",
    "jax.vmap(lambda v: ref.__setitem__(..., v))(jnp.ones(2))": "on an unbatched array reference .*Move the array",
    "jax.jvp(lambda x: ref.__setitem__(..., x), (1.,), (1.,))": "Move the array reference",
    "custom(jax.custom_vjp(lambda x: x))(ref)": "custom_vjp primal function",
    "custom(jax.custom_vjp(f))(ref, ref)": "x and y",
    "jax.vjp(custom(jax.custom_vjp(lambda x: x[...])), ref)": "custom_vjp fwd function",
}  # fmt: skip


UP_TO = "jax.tree.structure({}).flatten_up_to({})".format
BROADCAST = "jax.tree_util.tree_broadcast({}, {})".format
TREES = {
    UP_TO("[1, 2]", "[7]"): r"List arity mismatch: 1 != 2; list: \[7\]\.",
    UP_TO("(1,)", "(7, 8)"): r"Tuple arity mismatch: 2 != 1; tuple: \(7, 8\)\.",
    UP_TO("{'p': [{'a': 1}]}", "{'p': [{'b': 7}]}"):
        r"Dict key mismatch; expected keys: \['a'\]; present keys: \['b'\]\.",
    UP_TO("[1, [2]]", "[1, 7]"): r"Expected list, got 7\.",
    UP_TO("{'p': (1,)}", "{'p': [7]}"): r"Expected tuple, got \[7\]\.",
    UP_TO("{'a': 1}", "(7,)"): r"Expected dict, got \(7,\)\.",
    UP_TO("None", "[2]"): r"Expected None, got \[2\]\.",
    UP_TO("Pair(1, 2)", "(1, 2)"): r"Expected named tuple, got \(1, 2\)\.",
    UP_TO("Pair(1, 2)", "Other(1, 2)"): "Named tuple type mismatch: expected type: .*Pair",
    UP_TO("OrderedDict(a=1)", "{'a': 1}"): "Custom node type mismatch: expected type: .*OrderedDict",
    UP_TO("OrderedDict(a=1)", "OrderedDict(b=1)"): "Mismatch custom node data: .*a.* != .*b",
    BROADCAST("(1, 2, 3)", "(0, [0])"): "structure error: different lengths of tuple at key path\n    ",
    BROADCAST("(1, {'a': 0})", "(0, {'a': 0, 'b': 0})"):
        "structure error: different numbers of pytree children at key path\n    ",
    BROADCAST("[{1: 2}]", "[{3: 4}]"): "structure error: different pytree metadata at key path\n    ",
    BROADCAST("[{1: 2}]", "[(3,)]"): "structure error: different types at key path\n    ",
    "jax.vmap(f, ({'a': 0, 'b': (0, 0)}, None))({'a': np.ones(2), 'b': np.ones(2)}, 1)":
        "must be a tree prefix of the corresponding value",
    "jax.tree_util.tree_transpose(jax.tree.structure([0]), jax.tree.structure([0]), [1, 2])": "Mismatch",
    "jax.tree_util.flatten_one_level(1)": "can't tree-flatten type: <class 'int'>",
    "jax.tree_util.register_dataclass(Object)":
        "^register_dataclass: data_fields and meta_fields are required when nodetype is not a datacl",
    "jax.tree_util.register_dataclass(Object, data_fields=['x'])":
        r"must both be specified when either is specified. Got data_fields=\['x'\] meta_fields=None",
    "jax.jit(f, static_argnums=0, donate_argnums=0)": "cannot intersect",
    "jax.tree.unflatten(jax.tree.structure([1, 2]), [1])":
        "^Too few leaves for PyTreeDef; expected 2, got 1",
    "jax.tree.unflatten(jax.tree.structure([1]), [1, 2])":
        "^Too many leaves for PyTreeDef; expected 1",
    "jax.tree.leaves({'a': 1, 2: 3})":
        "^Comparator raised exception while sorting pytree dictionary keys",
    "jax.tree_util.register_pytree_node(dict, dict.items, dict)":
        "Duplicate custom PyTreeDef type registration for <class 'dict'>",
    "jax.tree_util.register_dataclass(Data, ['x'], [])":
        "data_fields and meta_fields must include all dataclass fields with ``init=True`` and only",
}

# What the pages of JAX's documentation show, or users meet when they change its examples.
PAGES = {
    "jnp.zeros(3).__setitem__(0, 1)": r"x = x.at\[idx\].set\(y\) or another .at\[\] method: https://",
    "jax.jit(f).lower(1, 2).compile()(jnp.ones(2), 2)":
        "^Argument types differ from .* Perhaps you are calling the compiled executable with a "
        "different enable_x64 mode than when it was AOT compiled",
    "jnp.polyadd(jnp.ones(2), jnp.ones((2, 3)))":
        r"^Cannot broadcast to shape with fewer dimensions: arr_shape=\(2, 3\) shape=\(2,\)",
    "jnp.vectorize(f, signature='(n,m),(m)->(n)')(jnp.ones(3), jnp.ones(3))":
        r"core dimensions \('n', 'm'\) on vectorized function with excluded=frozenset\(\) and signat",
    "jnp.vectorize(f, signature='(n)->(n)', excluded={1})(1, 2)":
        r"on vectorized function with excluded=\{1\} and signature='\(n\)->\(n\)'",
    "jax.jit(lambda x: x[x > 0])(jnp.ones(3))":
        r"^Array boolean indices must be concrete; got bool\[3\]",
    "jax.make_mesh((4096, 2), ('x', 'y'))":
        r"^Number of devices \d+ must be >= the product of mesh_shape \(4096, 2\)",
    "jax.NamedSharding(jax.make_mesh((1,), ('x',)), jax.P('y'))":
        r"^Resource axis: y of P\('y',\) is not found in mesh: \('x',\)",
    "jax.vmap(lambda x: jax.pure_callback(np.sin, x, x))(jnp.ones(2))":
        "'broadcast_all', or 'legacy_vectorized'. Got vmap_method=None",
}


def names(jx):
    """What the programs call by name."""
    Primitive = jx.extend.core.Primitive
    typed = Primitive("typed")
    typed.def_abstract_eval(lambda x: x)
    listed = Primitive("listed")
    listed.def_abstract_eval(lambda x: [x])
    leaked = []

    def leak():
        jx.jit(lambda x: leaked.append(x))(1.0)
        return leaked.pop()

    def generator(x):
        yield x

    def custom(fun):
        fun.defvjp(lambda x, *_: (x[...], jx.new_ref(0.0)), lambda r, ct: (None,))
        return fun

    def decorated(decorator, *rules):
        fun = decorator(lambda x: x * 1.0)
        (fun.defjvp if decorator is jx.custom_jvp else fun.defvjp)(
            *rules, *[lambda r, g: (g,)] * (decorator is jx.custom_vjp and len(rules) == 1))
        return fun

    def rule(*args):
        return jx.grad(decorated(*args))(np.float32(1))

    def scanned(*args):
        fun = decorated(*args)
        return jx.grad(lambda x: jx.lax.scan(lambda c, _: (fun(c), None), x, None, 1)[0])(
            np.float32(1))

    def call(decorator, *args, **kwargs):
        fun = decorator(lambda x, y, *, z=None: x)
        (fun.defjvp if decorator is jx.custom_jvp else fun.defvjp)(abs, *[abs] * (
            decorator is jx.custom_vjp))
        return fun(*args, **kwargs)

    mapped = jx.custom_batching.custom_vmap(jx.numpy.sin)
    mapped.def_vmap(lambda size, batched, x: (x, True))
    return {"rule": rule, "scanned": scanned, "call": call, "mapped": mapped, "jax": jx,
            "jnp": jx.numpy, "lax": jx.lax, "np": np, "f": lambda x, y: x,
            "Pair": namedtuple("Pair", "x y"), "Other": namedtuple("Other", "x y"),
            "OrderedDict": OrderedDict, "Object": type("Object", (), {}),
            "Data": make_dataclass("Data", "xy"),
            "foo": Primitive("foo"), "typed": typed, "leak": leak, "generator": generator,
            "custom": custom, "ref": jx.new_ref(1.0), "listed": listed,
            "float0": np.zeros(2, jx.dtypes.float0)}


PROGRAMS = JIT | TRACED | CALLS | CONTROL | DERIVATIVES | RULES | REFERENCES | TREES | PAGES


@pytest.mark.parametrize("program", PROGRAMS)
def test_key_words(program):
    if subject.__name__ == "jax":
        subject.config.update("jax_mutable_array_checks", True)
    with pytest.raises(Exception, match=PROGRAMS[program]):
        eval(program, names(subject))


def test_what_a_jaxpr_knows_of_its_function():
    def program(jx):
        def infos(f, *args):
            info = jx.make_jaxpr(f)(*args).jaxpr.debug_info
            return info.traced_for, info.func_name, info.arg_names, info.result_paths

        def many(x, *rest, y=1):
            return {"a": x, "b": (x, rest)}

        return lambda: [infos(lambda x: x, 1.0), infos(many, 1.0, {"w": 2.0}),
                        infos(functools.partial(many, y=2), 1.0)]

    assert program(subject)() == [
        ("jit", "<lambda>", ("x",), ("result",)),
        ("jit", "many", ("x", "rest[0]['w']"), ("result['a']", "result['b'][0]",
                                                "result['b'][1][0]['w']")),
        ("jit", "many", ("x",), ("result['a']", "result['b'][0]")),
    ]


@in_both
def test_what_a_jitted_function_shows(jx):
    f = jx.jit(names)
    lowered = jx.jit(lambda x, y: jx.numpy.sin(x)).lower(1.0, 2.0)
    texts = ["sine" in str(lowered.compiler_ir()),
             "sine" in lowered.compiler_ir("hlo").as_hlo_text()]
    options = {"exec_time_optimization_effort": 0.0}
    return (f.__getstate__()["function_name"], texts,
            jx.jit(lambda x: x + 1, compiler_options=options)(1.0))


@in_both
def test_a_tracer_of_a_reference_is_no_array(jx):
    seen = []
    jx.jit(lambda r: seen.append((isinstance(r, jx.Array), isinstance(r, jx.Ref))))(
        jx.new_ref(1.0))
    return seen


@in_both
def test_a_lowering_rule_may_use_references(jx):
    x = np.ones(3, np.float32)
    def lowered(x):
        ref = jx.new_ref(x)
        ref[...] *= 3
        return jx.freeze(ref)

    triple = jx.extend.core.Primitive("triple")
    triple.def_abstract_eval(lambda x: x)
    mlir = jx.interpreters.mlir
    mlir.register_lowering(triple, mlir.lower_fun(lowered, multiple_results=False))
    return jx.jit(triple.bind)(x)


def test_settings_with_one_value():
    subject.config.update("jax_mutable_array_checks", True)
    if subject.__name__ == "minijax":
        with pytest.raises(ValueError, match="always True in minijax"):
            subject.config.update("jax_mutable_array_checks", False)
