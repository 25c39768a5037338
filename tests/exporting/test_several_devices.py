"""Exported functions that run on several devices."""

from __future__ import annotations

import base64
import zlib
from importlib import import_module

import numpy as np
import pytest

import minijax
from minijax import export
from tests.oracle import both

X = np.arange(16, dtype="float32").reshape(8, 2)
SHARDINGS = "_in_named_shardings _out_named_shardings in_shardings_hlo out_shardings_hlo"
FACTS = f"""fun_name in_avals out_avals nr_devices platforms module_kept_var_idx
    uses_global_constants {SHARDINGS}""".split()


def exporting(jx):
    return import_module(f"{jx.__name__}.export")


def mesh(jx, kind="Auto", reverse=False, sizes=(8,), names=("x",)):
    devices = np.array(jx.devices()[::-1] if reverse else jx.devices())
    types = (getattr(jx.sharding.AxisType, kind),) * len(sizes)
    return jx.sharding.Mesh(devices.reshape(sizes), names, axis_types=types)


def table(jx, kind="Auto"):
    """A mesh of two axes."""
    return mesh(jx, kind, sizes=(4, 2), names=("a", "b"))


def split(jx, *spec, **options):
    return jx.NamedSharding(mesh(jx, **options), jx.P(*(spec or ("x",))))


def wave(jx):
    return lambda x: jx.numpy.cumsum(jx.numpy.sin(x), 0)


def exported(jx, fun, *args, platforms=None, **options):
    jitted = jx.jit(fun, **options)
    return exporting(jx).export(jitted, platforms=platforms)(*(args or (X,)))


def explicit(jx):
    with jx.set_mesh(mesh(jx, "Explicit")):
        return exported(jx, lambda x: (jx.numpy.sin(x), x.T, x.sum()),
                        jx.device_put(X, split(jx, kind="Explicit")))


def abstract(jx):
    few = jx.sharding.AbstractMesh((4, 2), ("a", "b"))
    return exported(jx, wave(jx), jx.ShapeDtypeStruct((8, 2), "float32"),
                    in_shardings=jx.NamedSharding(few, jx.P("a")))


def abstract_explicit(jx):
    few = jx.sharding.AbstractMesh((8,), ("x",), (jx.sharding.AxisType.Explicit,))
    with jx.sharding.use_abstract_mesh(few):
        return exported(jx, jx.numpy.sin, jx.ShapeDtypeStruct(
            (8, 2), "float32", sharding=jx.NamedSharding(few, jx.P("x"))))


def summed(jx):
    return jx.shard_map(lambda x: jx.lax.psum(x, "x") + jx.lax.axis_index("x") * x,
                        mesh=mesh(jx), in_specs=jx.P("x"), out_specs=jx.P("x"))


def partly_manual(jx):
    return jx.shard_map(lambda x: jx.lax.psum(x, "a") * 2, mesh=table(jx), in_specs=jx.P("a"),
                        out_specs=jx.P(), axis_names={"a"})


def large_constant(jx):
    return jx.shard_map(lambda x: jx.lax.psum(x.sum(), "x") + np.arange(2000, dtype="float32"),
                        mesh=mesh(jx), in_specs=jx.P("x"), out_specs=jx.P())


def constrained(jx):
    where = jx.NamedSharding(table(jx), jx.P("a", "b"))
    return lambda x: wave(jx)(jx.lax.with_sharding_constraint(x, where))


def symbolic(jx):
    (b,) = exporting(jx).symbolic_shape("b")
    return exported(jx, wave(jx), jx.ShapeDtypeStruct((8 * b, 2), "float32"),
                    in_shardings=split(jx), out_shardings=split(jx))


def sum_to_come(jx):
    with jx.set_mesh(mesh(jx, "Explicit")):
        rows = jx.device_put(X, split(jx, kind="Explicit"))
        product = lambda x: jx.numpy.einsum("bi,bj->ij", x, x, out_sharding=jx.P(unreduced={"x"}))
        return exported(jx, product, rows)


def nested(jx):
    inner = exported(jx, wave(jx), in_shardings=split(jx), out_shardings=split(jx))
    return exported(jx, lambda x: inner.call(x) * 2, in_shardings=split(jx))


FUNCTIONS = {
    "both": lambda jx: exported(jx, wave(jx), in_shardings=split(jx),
                                out_shardings=split(jx, None)),
    "arguments": lambda jx: exported(jx, wave(jx), in_shardings=split(jx)),
    "results": lambda jx: exported(jx, wave(jx), out_shardings=split(jx)),
    "unused": lambda jx: exported(jx, lambda x, y: x * 2, X, X, in_shardings=(split(jx), None)),
    "placed": lambda jx: exported(jx, wave(jx), jx.device_put(X, split(jx))),
    "struct": lambda jx: exported(jx, wave(jx), jx.ShapeDtypeStruct(
        (8, 2), "float32", sharding=split(jx))),
    "constraint": lambda jx: exported(jx, constrained(jx)),
    "shard_map": lambda jx: exported(jx, summed(jx)),
    "partly manual": lambda jx: exported(jx, partly_manual(jx)),
    "large constant": lambda jx: exported(jx, large_constant(jx)),
    "explicit": explicit, "abstract": abstract, "abstract explicit": abstract_explicit,
    "symbolic": symbolic, "unreduced": sum_to_come, "nested": nested,
    "platforms": lambda jx: exported(jx, wave(jx), in_shardings=split(jx),
                                     platforms=("cpu", "cuda")),
    "single": lambda jx: exported(jx, wave(jx), in_shardings=jx.sharding.SingleDeviceSharding(
        jx.devices()[3])),
    "one device": lambda jx: exported(jx, wave(jx)),
    "small mesh": lambda jx: exported(jx, wave(jx), in_shardings=jx.NamedSharding(
        jx.sharding.Mesh(np.array(jx.devices()[:1]), ("x",)), jx.P("x"))),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_known(name):
    both(lambda jx: lambda: [str(getattr(FUNCTIONS[name](jx), fact)) for fact in FACTS])


@pytest.mark.parametrize("name", ["both", "arguments", "unused", "explicit", "abstract"])
def test_what_is_known_of_the_derivative(name):
    both(lambda jx: lambda: [str(getattr(FUNCTIONS[name](jx).vjp(), fact)) for fact in FACTS])


def called(jx, name, jit=False, reverse=False):
    """The result of a call on eight devices; for `unreduced`, the sums."""
    one = FUNCTIONS[name](jx)
    kind = "Explicit" if name in ("explicit", "abstract explicit", "unreduced") else "Auto"
    where = split(jx, kind=kind, reverse=reverse)
    if name == "partly manual" or name == "abstract":
        where = jx.NamedSharding(table(jx), jx.P("a"))
    args = [jx.device_put(X, where) for _ in one.in_avals]
    out = (jx.jit(one.call) if jit else one.call)(*args)
    if name == "unreduced":
        out = jx.sharding.reshard(out, jx.P())
    return out, [[d.id for d in x.sharding._device_assignment] for x in jx.tree.leaves(out)]


def passed_on(jx, reverse):
    return exported(jx, jx.shard_map(
        lambda x: jx.lax.ppermute(x, "x", [(i, (i + 1) % 8) for i in range(8)]),
        mesh=mesh(jx, reverse=reverse), in_specs=jx.P("x"), out_specs=jx.P("x")))


def symbolic_shards(jx):
    (b,) = exporting(jx).symbolic_shape("b")
    total = jx.shard_map(lambda x: jx.lax.psum(x, "x"), mesh=mesh(jx), in_specs=jx.P("x"),
                         out_specs=jx.P())
    return exported(jx, total, jx.ShapeDtypeStruct((8 * b, 2), "float32"))


CALLED = {
    "ppermute": lambda jx, x: passed_on(jx, False).call(x),
    "ppermute on another mesh": lambda jx, x: passed_on(jx, True).call(x),
    "shards of unknown size": lambda jx, x: symbolic_shards(jx).call(x),
    "with more work": lambda jx, x: jx.jit(
        lambda x, y: FUNCTIONS["arguments"](jx).call(x) + y)(x, X),
    "under jit with shardings": lambda jx, x: jx.jit(
        FUNCTIONS["arguments"](jx).call, in_shardings=split(jx, None, reverse=True),
        out_shardings=split(jx, reverse=True))(X),
    "a jit within": lambda jx, x: exported(jx, lambda x: 2 * jx.jit(
        wave(jx), in_shardings=split(jx), out_shardings=split(jx, None))(x)).call(x),
    "a branch within": lambda jx, x: exported(jx, lambda x: jx.lax.cond(
        x.sum() > 3, wave(jx), lambda x: x * 0, x), in_shardings=split(jx)).call(x),
}


@pytest.mark.parametrize("name", CALLED)
@pytest.mark.parametrize("reverse", [False, True])
def test_programs_of_exported_functions(name, reverse):
    def program(jx):
        out = CALLED[name](jx, jx.device_put(X, split(jx, reverse=reverse)))
        return out, str(out.sharding), [d.id for d in out.sharding._device_assignment]

    both(lambda jx: lambda: program(jx), tol=1e-6)


def test_calls_within_a_mesh_in_force():
    def program(jx):
        with jx.set_mesh(mesh(jx)):
            return FUNCTIONS["arguments"](jx).call(X), jx.jit(FUNCTIONS["arguments"](jx).call)(X)

    both(lambda jx: lambda: program(jx), tol=1e-6)


IN_OTHER_WORDS = {"constraint"}  # JAX fails to say how the result lies


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in IN_OTHER_WORDS])
def test_calls(name):
    both(lambda jx: lambda: called(jx, name))


@pytest.mark.parametrize("name", ["both", "shard_map", "explicit", "one device", "nested"])
def test_calls_on_other_meshes(name):
    both(lambda jx: lambda: called(jx, name, jit=True, reverse=True))


def test_constraints_over_another_mesh():
    out, devices = called(minijax, "constraint")
    np.testing.assert_allclose(out, np.cumsum(np.sin(X), 0), rtol=1e-5)
    assert devices == [[*range(8)]]


WHERE_RESULTS_LIE = {
    "call": lambda jx, f: lambda x: f.call(x),
    "jit": lambda jx, f: jx.jit(f.call),
    "grad": lambda jx, f: jx.grad(lambda x: f.call(x).sum()),
    "loop": lambda jx, f: jx.jit(lambda x: jx.lax.fori_loop(0, 2, lambda i, c: f.call(c), x)),
}


@pytest.mark.parametrize("name", WHERE_RESULTS_LIE)
@pytest.mark.parametrize("of", ["both", "arguments", "symbolic", "one device"])
def test_where_results_lie(name, of):
    def program(jx):
        out = WHERE_RESULTS_LIE[name](jx, FUNCTIONS[of](jx))(jx.device_put(X, split(jx)))
        return out, str(out.sharding)

    both(lambda jx: lambda: program(jx), tol=1e-6)


def test_shardings_on_a_mesh():
    def program(jx):
        one = FUNCTIONS["both"](jx)
        return [str(one.in_shardings_jax(mesh(jx))), str(one.out_shardings_jax(mesh(jx)))]

    both(lambda jx: lambda: program(jx))


def few(jx, kind="Auto"):
    return jx.NamedSharding(jx.sharding.Mesh(np.array(jx.devices()[:4]), ("x",)), jx.P("x"))


REFUSED = {
    "no devices": (ValueError, lambda jx: FUNCTIONS["arguments"](jx).call(X)),
    "fewer devices": (ValueError, lambda jx: FUNCTIONS["arguments"](jx).call(
        jx.device_put(X, few(jx)))),
    "under jit": (ValueError, lambda jx: jx.jit(FUNCTIONS["arguments"](jx).call)(X)),
    "in another export": (ValueError, lambda jx: exported(
        jx, lambda x: FUNCTIONS["arguments"](jx).call(x))),
    "mesh of other axes": (ValueError, lambda jx: FUNCTIONS["arguments"](jx).in_shardings_jax(
        table(jx))),
    "mesh of other types": (ValueError, lambda jx: FUNCTIONS["both"](jx).out_shardings_jax(
        mesh(jx, "Explicit"))),
    "vmap": (NotImplementedError, lambda jx: jx.vmap(FUNCTIONS["arguments"](jx).call)(X[None])),
    "two lists of devices": (ValueError, lambda jx: exported(
        jx, lambda x, y: x + y, X, X, in_shardings=(split(jx), split(jx, reverse=True)))),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name):
    error, call = REFUSED[name]
    both(lambda jx: lambda: call(jx), raises=error)


def test_what_minijax_refuses():
    there = split(minijax).with_memory_kind("pinned_host")
    with pytest.raises(NotImplementedError, match="memory of the host"):
        exported(minijax, lambda x: x * 2, minijax.device_put(X, split(minijax)),
                 out_shardings=there)
    (b,) = export.symbolic_shape("b")
    ones = minijax.shard_map(lambda x: minijax.numpy.ones(x.shape) + x, mesh=mesh(minijax),
                             in_specs=minijax.P("x"), out_specs=minijax.P("x"))
    with pytest.raises(NotImplementedError, match="shard_map computes with the size b"):
        exported(minijax, ones, minijax.ShapeDtypeStruct((8 * b, 2), "float32"))
    inner = FUNCTIONS["arguments"](minijax)
    inside = minijax.jit(minijax.shard_map(
        lambda x: inner.call(x), mesh=mesh(minijax), in_specs=minijax.P(), out_specs=minijax.P()))
    with pytest.raises(NotImplementedError, match="within a shard_map"):
        inside(minijax.device_put(X, split(minijax, None)))


def test_gradients_of_several_results_over_explicit_axes():
    def program(jx):
        f = jx.custom_vjp(lambda x: (jx.numpy.sin(x), x.T))
        f.defvjp(lambda x: (f(x), x), lambda x, g: (g[0] * jx.numpy.cos(x) + g[1].T,))
        with jx.set_mesh(mesh(jx, "Explicit")):
            x = jx.device_put(X, split(jx, kind="Explicit"))
            out = jx.grad(lambda x: f(x)[1].sum() + f(x)[0].sum())(x)
        return out, str(out.sharding)

    both(lambda jx: lambda: program(jx))


# ----------------------------------------------------------------------------------------------
# The format


NO_DERIVATIVE = {"shard_map", "unreduced", "partly manual", "large constant"}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_stored_and_read_again(name):
    one = FUNCTIONS[name](minijax)
    order = 0 if name in NO_DERIVATIVE else 1
    again = export.deserialize(one.serialize(order))
    assert again.mlir_module() == one.mlir_module()
    pairs = [(one, again), (one.vjp(), again.vjp())] if order else [(one, again)]
    for first, second in pairs:
        for fact in [*FACTS[3:7], *SHARDINGS.split()[:2]]:
            assert getattr(first, fact) == getattr(second, fact)
        if name == "abstract explicit":
            continue  # the types of its results are not kept, as in JAX
        assert [*map(str, first.in_avals)] == [*map(str, second.in_avals)]


def test_names_that_cannot_be_stored():
    axes = minijax.sharding.Mesh(np.array(minijax.devices()), (("a", 1),))
    one = exported(minijax, wave(minijax), in_shardings=minijax.NamedSharding(
        axes, minijax.P(None)))
    with pytest.raises(TypeError, match="not a string"):
        one.serialize()


# What JAX 0.10.2 stored, with one derivative, of
#   export(jit(lambda x: cumsum(sin(x), 0), in_shardings=P("x"), out_shardings=P(None, "x"),
#          on a mesh of the types Auto, for float32[8, 8]
STORED_BY_JAX = (
    'c-qBSU2Gf25#Hr;bvm8c^X0@c3Vop&S&?X4q7+4tW!Z66$FdAtkQK#oT-&*x$g_18kED5|WW_ZM*D#VG2-F}jf;9a_|BE6Bf+8r2q9}?YNCBhBLs6hWpMpL%mI@RV`x18ce$10dN~&d`'
    'M-Jz1c4l^FcewMB2N6R1Q5wyl^XNtNJUWF=g5+8BC3FzvPoqAx5A8v_LADExqn+qc)P{DTR@97wFpkhyfzm*;KpCJs&?gw7-2sGN1^Pt@1gOR4Cm*R&AJ8~Zn~cC0LS^8)+Z;L%^nM$&'
    'BM4j}aAR|ikdL#m-v9-HKL1Ch(h8iJz6jLBV$<i1l#bA2pE+Y5A)oy&*ZvXE3A(;LeidksD`!_3?sow12HIz@9b^ZxX4fwPO65!Uxj$~dPsW+e2cK1A9$y#ppBlvM`TBi>c)xY8Hpch1'
    '5u+#nR~^4i_qOl%V~7o&T7vF=?C|OD_woHuZ7<!gQnp(DD(yy3+B?arx3*5tyS3`oX%Xnp;J6zmd_LgRDC2jzD!mW%G0@d!C*HsF5L*k>DA3n{e%Dg1QGcBV*3~DfQ>#B;Zd|J$EpJ|{'
    'zg@1s_kUTg*6I&eYWM5I<p<xdmsT3r>dPw|*J^g9e!S!Vtc~$2E8DNB@73}9!9(y{T-jQ!2Hfl~QiLW>E<YEVE^0Fwef;F4I^W;hKiJ!ca1VzmAHhT<M5b~i8tdrVn;aM-fBjiIHaJlb'
    '1$c{M2m6GV3@<S%fY5%93Q@rw5u*+#Vl*Plq8OzELK3Xul4aLO5MtueWJJKsG0Y}%oDABLz}IO^IgY8K96d&Po)3?5AUHw7XF0+}+M`M=PU8|mv_ryi+9_d5y9nt@&;%iSd+1(Fl7#jT'
    '3=YvAnxy>_jVmLE=zwxKL<be|NDt-si92)%xG*_Khv|qiiRmF_8q>qd8JUhM;yI?1TT;{zJ))#!dQ`c@(PJTj&Y4&s7RCa`n35|nQ=Cs?7%=Csay%wV-j|G!cROU|gfc;}GD+xbuZPHj'
    '0aWUc2zfI^-@3D4C{xO`a#}eP!ZDs_MzJuCMMk|k<xu@ACdQlBwVVWm^OG)&0|CtAKrlh$@lXPX6h1+CL82V2n?&FvL9md3B^83%0L4={jJe=gfMAJ?;!eVy!jub65J9HmggAxdvD08f'
    'Fh6#I2TsCG8sR8MX;3FTcWPMRf?b3PB!u`e9AcU@hzWBea=`_{%P=B*nMi~WjS-pfgorPYFt}jT^bk&<vLs7LY9fTEn9v|0lzHHqz!OF<w44=%a9ozeXvf64p^=fUPI*EQD3ndSGchbj'
    '+QVW;qFs{0P-na}Q!+9|Ba5u`BATDg<dB(5mohpsb!!$C^kS)yg*rzUOW73TDJ_$+c`j=ewQP~y&lGZ6I;B}f)yS%8!(_68o-U<yb-~D{a|=wMrPGd`Wn^`A{wZXZVBUOYkx7$9GoLi)'
    'dh?6uU`8`%(%LiVvUat%Wa*Y_&1!jF&F3<UX0DK*H7paE5NL0<WU6_sP&A4L1XGn2^nAvEaL{F=s6yQ8{N=m~-jHQ~ahaN(oOV^WP*yW_I36tHWu56CU?1H+qeQY;(6UxOXX)LS=kwi('
    'L=rU6L1&eoS(m3(GHWFVkXE>4saiIz=1N61RkYNL8Lh~?pX<A@!C?P|+Gy+;lCX-K1<Hm~B@^aPBobT53bvz0ixovLEPo+wWG^Ad8_E}qd9A3sk7}R2Q3c(C?S%cmm_yDzOU=}vu=1rD'
    '*bdY@9ihiC&GEu3Z!Eq24*3zeAzZtD?Z!=VTex-o*6o|*+vK~#;`bMSuvk5#y)zxv=|j)0I(=x*YU5ruwz_dIJFr^6m$j8^d(M-q58iWF5BY;T)>3xn{B*T3Zuoq4bKLOn2C;vkT*VE4'
    'tCPpQZRGKh>-#(9#%uoT^2TfaUb%kUul}bt)^C=#-{;Slx7O!(x^po#&z98zv*~l6f4W6qpKMX@8@@T2-lN{{fvViz%3rP1Yjp>H334_jz`g&Z^BUYzurX%Y%P>pW#VnGCS;!yXjbPP*'
    'EDVXPhb$gqi8;3pULhg_D^WlzNg-)l3Zh&Gt4KChVNm4>Kqhb+M3o~)slqyI_%H)2$I1VIRQQ2GhEy0%86Khi${`WJiZtrtltISnhXFc7hZP>s#1tI~PjiZN+65_RMF1}sIC@whhKEda'
    'Oq6&iL{$y*3Wgg^#T}9lpD3e*yrCRXjsiY8M#zm2xpIk+TOoS;l`C_~afV!!$tp0BaSTux+W2Y!Ox|e-Ox8k@vHOtZ@pX`7m~bKyPXHj9Z~@5~8<5c8IYPNpLk|Inz||0l{Fs}9O}BxF'
    'GS~?yq|>g4b_POdMEXC15D$X*V8_*m4LnrGU1QL(7IJvAKM1^7YY)lQdi0>c+L7(__j=7eB?#Beo3Fi2-X<l%0`moOO;|J+uPu-z@}`h`D|aWirQY6Kae72krP^oG>-x+SmCbwPW0m^7'
    '=BY}xN4EO@UubpDYJU%Uyt2I>v;#T+Ni@61d5f$2sT=<;_rDB(ZcN{csl}J$`hMy>H`#hkz8L(mw4yJr$!{mn({66hy0Nv|(K&N%x8L5aY_0d@LC;&CR(r-~`0du@=Crx}-OAdYxX-uN'
    'tw>mtkJm?=?UA4@^Y?lu`=G7F?(d%kaQzo5aE<='
)


def test_what_jax_stored_is_read():
    one = export.deserialize(bytearray(zlib.decompress(base64.b85decode(STORED_BY_JAX))))
    x = np.arange(64, dtype="float32").reshape(8, 8)
    assert one.nr_devices == 8 and one.has_vjp()
    assert [x.spec for x in one._in_named_shardings] == [minijax.P("x")]
    out = one.call(minijax.device_put(x, one.in_shardings_jax(mesh(minijax))[0]))
    np.testing.assert_allclose(out, np.cumsum(np.sin(x), 0), rtol=1e-5)
    assert out.sharding == one.out_shardings_jax(mesh(minijax))[0]
    grad = minijax.grad(lambda x: one.call(x).sum())(minijax.device_put(x, split(minijax)))
    np.testing.assert_allclose(grad, np.cos(x) * np.arange(8, 0, -1)[:, None], rtol=1e-5)
