"""`jax.export`: functions that outlive the process."""

from __future__ import annotations

import base64
import collections
import zlib
from importlib import import_module

import numpy as np
import pytest

import minijax
import minijax.numpy as jnp
from minijax import export
from minijax.exporting import flatbuffer
from tests.oracle import both

X, Y = np.arange(6, dtype="float32").reshape(2, 3), np.ones(3, "float32")
S = minijax.ShapeDtypeStruct


def exporting(jx):
    return import_module(f"{jx.__name__}.export")


def model(jx):
    return lambda x, *, y: {"a": jx.numpy.sin(x) * 2 + y, "b": (x.sum(), None)}


def exported(jx, fun=model, *args, **kwargs):
    args, kwargs = (args, kwargs) if args else ((X,), {"y": Y})
    return exporting(jx).export(jx.jit(fun(jx)))(*args, **kwargs)


FACTS = """fun_name in_avals out_avals nr_devices platforms ordered_effects unordered_effects
    disabled_safety_checks calling_convention_version module_kept_var_idx uses_global_constants
    _in_named_shardings _out_named_shardings _has_named_shardings""".split()


def in_place(jx):
    """A function that works with a reference."""
    def fun(x):
        ref = jx.new_ref(x)
        jx.lax.fori_loop(0, 3, lambda i, _: jx.ref.set(ref, 0, ref[0] * 2), None)
        return ref[...] + x

    return fun


FUNCTIONS = {
    "reference": (in_place, (X,)),
    "model": (model, ()),
    "unused": (lambda jx: lambda x, y: y, (X, Y)),
    "integers": (lambda jx: lambda x, n: (x * n, n + 1), (X, np.int32(2))),
    "weak": (lambda jx: lambda x: x, (1.0,)),
    "empty": (lambda jx: lambda x: (), (X,)),
    "constants": (lambda jx: lambda x: x + np.arange(3, dtype="float32"), (X,)),
    "key": (lambda jx: lambda x: jx.random.bits(jx.random.key(x)), (np.uint32(1),)),
    "loop": (lambda jx: lambda x: jx.lax.fori_loop(0, 3, lambda i, y: y * x, x), (X,)),
    "linalg": (lambda jx: lambda x: jx.numpy.linalg.cholesky(x @ x.T + jx.numpy.eye(2)), (X,)),
    "half": (lambda jx: lambda x: x.astype("bfloat16"), (X,)),
    "float8": (lambda jx: lambda x: x.astype("float8_e4m3fn"), (X,)),
}


def facts(jx, fun, args):
    one = exported(jx, fun, *args)
    return [str(getattr(one, name)) for name in FACTS], str(one.in_tree), str(one.out_tree), str(one)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_known_of_an_exported_function(name):
    fun, args = FUNCTIONS[name]
    both(lambda jx: lambda: facts(jx, fun, args))


@pytest.mark.parametrize("name", ["model", "integers"])
def test_what_is_known_of_its_derivative(name):
    fun, args = FUNCTIONS[name]

    def program(jx):
        one = exported(jx, fun, *args).vjp()
        return [str(getattr(one, n)) for n in FACTS], str(one.in_tree), str(one.out_tree)

    both(lambda jx: lambda: program(jx))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_calls(name):
    fun, args = FUNCTIONS[name]
    args = args or (X,)
    kwargs = {"y": Y} if fun is model else {}
    both(lambda jx: lambda *xs: exported(jx, fun, *FUNCTIONS[name][1]).call(*xs, **kwargs), *args)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_stored_and_read_again(name):
    fun, args = FUNCTIONS[name]
    one = exported(minijax, fun, *args)
    again = export.deserialize(one.serialize())
    for fact in set(FACTS) - {"in_avals", "out_avals"}:
        assert getattr(again, fact) == getattr(one, fact)
    assert again.in_avals == tuple(aval.strip_weak_type() for aval in one.in_avals)
    assert (again.in_tree, again.out_tree) == (one.in_tree, one.out_tree)
    assert again.mlir_module() == one.mlir_module() and not again.has_vjp()


def test_derivatives_are_stored_up_to_an_order():
    one = exported(minijax)
    call = lambda x, f: f.call(x, y=Y)["a"].sum()
    grad = minijax.grad(call)
    second = export.deserialize(one.serialize(vjp_order=2))
    np.testing.assert_array_equal(grad(X, second), grad(X, one))
    hessian_row = minijax.grad(lambda x, f: grad(x, f).sum())
    np.testing.assert_allclose(hessian_row(X, second), -2 * np.sin(X), rtol=1e-6)
    with pytest.raises(ValueError, match="No VJP is available"):
        hessian_row(X, export.deserialize(one.serialize(vjp_order=1)))
    with pytest.raises(ValueError, match="vjps of high-enough order"):
        export.deserialize(one.serialize()).serialize(vjp_order=1)


TRANSFORMED = {
    "jit": lambda jx, f: jx.jit(f), "grad": lambda jx, f: jx.grad(lambda x: f(x)["a"].sum()),
    "vjp": lambda jx, f: lambda x: jx.vjp(f, x)[1]({"a": x, "b": (np.float32(2), None)}),
    "loop": lambda jx, f: lambda x: jx.lax.fori_loop(0, 2, lambda i, y: f(y)["a"], x),
    "checkpoint": lambda jx, f: jx.grad(jx.checkpoint(lambda x: f(x)["a"].sum())),
    "jaxpr": lambda jx, f: jx.make_jaxpr(f),
    "jaxpr of grad": lambda jx, f: jx.make_jaxpr(jx.grad(lambda x: f(x)["b"][0])),
}


@pytest.mark.parametrize("name", TRANSFORMED)
def test_calls_are_transformed(name):
    both(lambda jx: TRANSFORMED[name](jx, lambda x: exported(jx).call(x, y=Y)), X)


REFUSED = {
    "jvp": (TypeError, lambda jx, f: jx.jvp(f, (X,), (X,))),
    "vmap": (NotImplementedError, lambda jx, f: jx.vmap(f)(X[None])),
    "rank": (ValueError, lambda jx, f: f(X[0])),
    "shape": (ValueError, lambda jx, f: f(X[:1])),
    "dtype": (ValueError, lambda jx, f: f(X.astype("int32"))),
    "structure": (ValueError, lambda jx, f: f([X])),
    "no jit": (ValueError, lambda jx, f: exporting(jx).export(f)),
    "callback": (NotImplementedError, lambda jx, f: exporting(jx).export(
        jx.jit(lambda x: jx.pure_callback(np.sin, x, x)))(X)),
    "ordered callback": (NotImplementedError, lambda jx, f: exporting(jx).export(
        jx.jit(lambda x: jx.debug.print("{}", x, ordered=True)))(X)),
    "callback elsewhere": (ValueError, lambda jx, f: exporting(jx).export(
        jx.jit(lambda x: jx.debug.print("{}", x)), platforms=("tpu",))(X)),
    "ordered callback elsewhere": (ValueError, lambda jx, f: exporting(jx).export(
        jx.jit(lambda x: jx.debug.print("{}", x, ordered=True)), platforms=("tpu",))(X)),
    "reference": (NotImplementedError, lambda jx, f: exporting(jx).export(
        jx.jit(lambda r: r[...]))(jx.new_ref(jx.numpy.asarray(X)))),
    "other platform": (ValueError, lambda jx, f: exporting(jx).export(
        jx.jit(lambda x: x), platforms=("tpu", "cuda"))(X).call(X)),
    "namedtuple": (ValueError, lambda jx, f: exporting(jx).register_namedtuple_serialization(
        list, serialized_name="list")),
    "no node": (ValueError, lambda jx, f: exporting(jx).register_pytree_node_serialization(
        object, serialized_name="object", serialize_auxdata=None, deserialize_auxdata=None)),
    "twice": (ValueError, lambda jx, f: exporting(jx).register_namedtuple_serialization(
        collections.OrderedDict, serialized_name="x")),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name):
    error, call = REFUSED[name]
    both(lambda jx: lambda: call(jx, lambda x: exported(jx).call(x, y=Y)), raises=error)


def test_functions_of_the_library():
    both(lambda jx: lambda x: exporting(jx).export(jx.numpy.sin)(x).call(x), X)
    both(lambda jx: lambda x: exporting(jx).export(jx.numpy.sin)(x).fun_name, X)


def test_messages():
    call = exported(minijax).call
    with pytest.raises(ValueError, match="differences:\n   - kwargs is a <class 'dict'> with 0 child"):
        call(X)
    for x, words in ((X[0], r"Rank mismatch for args\[0\]: expected \(2, 3\)"),
                     (X[:1], r"Shape mismatch for args\[0\].shape\[0\] \(expected same constant\)"),
                     (X.astype(int), r"Dtype mismatch for args\[0\]: expected float32")):
        with pytest.raises(ValueError, match=words):
            call(x, y=Y)


# ----------------------------------------------------------------------------------------------
# Platforms


def test_other_platforms():
    for platforms in (("tpu",), ("cpu", "tpu"), ("tpu", "cuda", "cpu")):
        one = export.export(minijax.jit(jnp.sin), platforms=platforms)(X)
        assert one.platforms == platforms and one.uses_global_constants == (len(platforms) > 1)
        if "cpu" in platforms:
            np.testing.assert_allclose(one.call(X), jnp.sin(X), rtol=1e-6)
    unchecked = export.export(minijax.jit(jnp.sin), platforms=("tpu",),
                              disabled_checks=[export.DisabledSafetyCheck.platform()])(X)
    np.testing.assert_allclose(unchecked.call(X), jnp.sin(X), rtol=1e-6)


def test_what_is_for_one_platform_only():
    with pytest.raises(NotImplementedError, match="no LAPACK routine geqrf for the platform 'tpu'"):
        export.export(minijax.jit(jnp.linalg.qr), platforms=("tpu",))(np.eye(2))
    depends = minijax.jit(lambda x: minijax.lax.platform_dependent(
        x, cpu=lambda x: x + 1, default=lambda x: x + 2))
    assert depends(1.0) == 2.0
    assert export.export(depends, platforms=("tpu", "cpu"))(1.0).call(1.0) == 2.0
    one = export.export(depends, platforms=("tpu", "cuda"),
                        disabled_checks=[export.DisabledSafetyCheck.platform()])(1.0)
    assert one.call(1.0) == 3.0  # as on the platforms that it was exported for


# ----------------------------------------------------------------------------------------------
# Pytrees


def test_registered_classes_are_stored():
    Point = collections.namedtuple("Point", "x y")
    both_ways = lambda f, *args: export.deserialize(export.export(minijax.jit(f))(*args).serialize())
    with pytest.raises(ValueError, match="unregistered type .*Point"):
        both_ways(lambda p: p, Point(X, Y))
    name = "minijax.tests.Point"
    if name not in import_module("minijax.exporting.trees").by_name:
        assert export.register_namedtuple_serialization(Point, serialized_name=name) is Point
    assert both_ways(lambda p: p, Point(X, Y)).call(Point(X, Y)).y.shape == (3,)
    ordered = collections.OrderedDict(b=X, a=Y)
    assert list(both_ways(lambda p: p, ordered).call(ordered)) == ["b", "a"]
    with pytest.raises(NotImplementedError, match="only when the keys are strings"):
        both_ways(lambda p: p, collections.OrderedDict({1: X}))
    with pytest.raises(TypeError, match="dictionaries with string keys"):
        both_ways(lambda p: p, {1: X})
    tree = {"l": [X, (), None, {"d": (Y,)}]}
    assert both_ways(lambda p: p, tree).in_tree == minijax.tree.structure(((tree,), {}))


# ----------------------------------------------------------------------------------------------
# The format

# What JAX 0.10.2 stored, with one derivative, of
#   export(jit(lambda x, k: {"y": jnp.sin(x["a"]) * 2, "key": k, "none": None}),
#          platforms=("cpu", "tpu"))({"a": ShapeDtypeStruct((2,), "float32")}, jax.random.key(0))
STORED_BY_JAX = (
    'c-pO&&u<e)6vy9qcD!sRt7Wygj%8LRGLf?l`9+9Alt4&<03wK_fB?~G*~A;-;9v5tBd6lPp_MAsN*sD95>ojCIP_4dJ@nW^D^)%9&_AHZO65SKHmz{qtk<!fKn|!Yedo>0n|U+yyz}u+'
    '1HegGgH^Z-AHXfR4hz_G5zfIGm`2YD7=a<^hYTEnc{mI`a0m`UHyi*7y#QHM9_6DRpgwBT3kV+aJSt2V2z#unB?;A!I*B4U;vCu<>Q__`2YAlKJPHwLJ-h2<S3lY1??FkZyMNZ}=uJwY'
    'uiR*NN#UHPJs#vE3(Gs%m=`;1%f>Ny7mh+Y$kN_?+(oUSYN&^($88cz`~r<!2zyj&>0b(P1nr2_*vCBDhp4A0i2>YVdvhVd-Y3##rM8?zc8$a3@FcDLJlqQM@lJEj<E_qoJ==P7z9M17'
    'Q4D%z{*U+7YreCbcQ4LgwKqnGM#qOnfTS2<8ljx3nh{T?()8oo2{I;Yn#PSZ*EmOEX#}OlX@>K-fxU*o1Cxq#jWDj!n4xL1mX>8hjy#H_%-*y)IIL5~jJTrAP+8LrIVQ81P6&&$1WTGp'
    '!b~$oSc>(=6;&}a7E7B0ob|DcIm(%(5_5pclVf8lojPR>n!{<0va=UdI)2_9#qyFlW{#T^DVah_Rq&)|EJDbQ3`xZZQAi|WQH5K?u!yc$gzK`x@R5_mq9krgUox^tR3b~CQNrW}LS<=_'
    '8Yx-l32p*?k1{G_DN|LM>r=2r`5fbD6&7W9E~YlD##M<jU5;WH0zXG5H6DxgTD|9$VI@5^)!S!H>M<*(ClVUhm#ewFpDV(~TD}B@Qns3RVWm{`e5dH+j{=1%y36@ZQD3bVSA<<DdAXu%'
    'Zybl^O3BHtIG%6kigq?v5Z;RGS1UzPoA&%{u6P>Oo!U^<b3NNzbIPt=F6B21rAm1%=M|uU>kbvG1-tB2{G6Y|rCWU!x17&mcv#Q*Hm+`Ote0(!22SOkXFJ8LU8?%_itpL0dB+!?J0nZ`'
    'ILDSmr2e)@mN?9w&f)cqa=#_czSrefoT67Qd2W9&$O=wZaXrivCSkP{wD09h%TC^ICKBv2Zeg`lDd3Q-TZ6`UvDvUTx&#FWe}-~(8BYuc`cyVd_{7ZY<ty|mU8L9O&G7yl4DXb<mwve#'
    '*cG(9?{;@MuJ(7m{s1NFhf#;xe4k_g7pSMGXQ*}#u5EYT^V;@497NxNaOw87Ut-L^!nNlEULwOn-w*r5`)$|SFSk1xBmMK{x!>>FOY=Nit^Od)?``8=mz%H9|267c)ORTH7t{U<MnYn)'
    '?8CAFnJ^`WJToYZCz+Z`X9kAH=o8l@Q%JOcU|Iue0lfs*urN54<C?+xI?)!8O~C;giy6ia+qRHxd|1c(pEL)NU<{iR=A=gDSRARwSg(#CNDGQl+M8w;rF|JTKoDkx4YJ|5$`wU6$2B$@'
    'SCttyrjF7XBnROLFGSurl`qWBs`S!j6T_zQD2q2#diI(*h2>52lsRM0rt}@$If%OiNm4})kVm=%^)yu6A~D3Crpv0r8CQ~hh`ppK{mAGdF%Wy-P@>4QBt?}4<e&6}#xrulu;L1ks6q*4'
    'T)<Cfb5yisb#9DfjcRkcidNC1I+9S;LO&-_1SB;KWMNEiu<%jzti}^2vQSYFlc|J2p&5@QEIpxfOPk=z4iLTUW&?`VV#Rgxxewi}xX&AI#Y0Hh0(wneBGxJhx_gcLUcq~eF4tRY17-`T'
    '`=PTPwk?dhg|feC2LT0*rt?l=IqRIZ{%5}0jkw?i@39yXEa}u-4{CQZPG$-2i`_S{`1a7t+;=xKJK)QRdI$OjG&V)pDVd+Ya`pBdx<sd_O;_HEeg3O@z4ofXwPxQZ*#0!^YqIEi{mncn'
    '*E`v>jdMk;6Cq2)9*(r_P0ZU2>%~&hZGJ=Hsi8UcQ0QL>Vn^|tP=;vu3D#fl+}n#?>vsnyY0T(uOnL3Tf2wzK@L0G<@lDwcJQ&>-L~1edK;V&rzV^9?!?uKLN@0wHpatKuU14r}!Z_{w'
    'a6;RdD+T?c-h73{g#Q3SQ#)7'
)


def test_what_jax_stored_is_read():
    one = export.deserialize(bytearray(zlib.decompress(base64.b85decode(STORED_BY_JAX))))
    key, x = minijax.random.key(3), np.arange(2, dtype="float32")
    assert (one.fun_name, one.platforms, one.has_vjp()) == ("<lambda>", ("cpu", "tpu"), True)
    assert str(one.in_avals) == "(ShapedArray(float32[2]), ShapedArray(key<fry>[]))"
    out = one.call({"a": x}, key)
    np.testing.assert_allclose(out["y"], 2 * np.sin(x), rtol=1e-6)
    assert out["none"] is None and bool(out["key"] == key)
    grad = minijax.grad(lambda x: one.call({"a": x}, key)["y"].sum())
    np.testing.assert_allclose(grad(x), 2 * np.cos(x), rtol=1e-6)
    assert one.serialize(1) and one.mlir_module().startswith("#loc")


def test_flatbuffers():
    writer = flatbuffer.Writer()
    inner = lambda writer: writer.table({0: ("b", -1), 2: ("H", 7), 1: ("?", True), 5: ("I", 9)})
    buffer = writer.finish(writer.table({
        0: ("", lambda w: w.string("näme")), 2: ("", inner), 3: ("", lambda w: w.scalars("H", [1, 2])),
        4: ("", lambda w: w.vector(["a", "", "long"], flatbuffer.Writer.string)),
        5: ("", lambda w: w.vector([inner], lambda w, write: write(w))), 6: ("", lambda w: w.blob(b"12345"))}))
    table = flatbuffer.Table.root(bytes(buffer))
    assert table.string(0) == "näme" and table.string(1) is None and table.table(9) is None
    assert table.scalars(3, "H") == [1, 2] and table.scalars(1, "H") == []
    assert table.strings(4) == ["a", "", "long"] and table.blob(6) == b"12345"
    for one in (table.table(2), *table.tables(5)):
        assert one.scalar(0, "b") == -1 and one.scalar(1, "?") and one.scalar(2, "H") == 7
        assert one.scalar(5, "I") == 9 and one.scalar(4, "I", 3) == 3 and one.scalar(6, "I") == 0


def test_modules_are_written_once():
    one = exported(minijax)
    text = minijax.jit(lambda x: one.call(x, y=Y)["a"] + one.call(x, y=Y)["a"]).lower(X).as_text()
    assert text.count("func.func private @call_exported_") == 1
    assert "call_exported" in str(minijax.make_jaxpr(lambda x: one.call(x, y=Y))(X))
