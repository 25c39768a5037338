"""`import jax` gives minijax: for libraries that were written for JAX, in processes of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from minijax.alias import JAX_VERSION
from tests.oracle import ask, jax

ROOT = Path(__file__).parents[2]

LIBRARY = {
    "__init__.py": """
        import importlib.metadata, re
        import jax
        from .layers import Linear
        assert tuple(int(n) for n in re.findall(r"[0-9]+", jax.__version__)[:3]) >= (0, 10)
        assert jax.__version__ == jax.version.__version__ == importlib.metadata.version("jax")
        """,
    "layers.py": """
        import dataclasses
        import jax, jax.numpy as jnp
        from jax import lax, random, tree_util as jtu
        from jax.scipy.special import expit
        from jax._src.core import ShapedArray
        import jax.experimental.sparse as sparse

        @jtu.register_dataclass
        @dataclasses.dataclass
        class Linear:
            w: jax.Array
            def __call__(self, x): return lax.dot(self.w, x)
        """,
}
PROGRAM = """
    import pickle, sys
    import jax, jax.numpy as jnp, library
    import minijax
    layer = library.Linear(jnp.ones((2, 3)))
    loss = lambda layer, x: jax.nn.relu(layer(x)).sum()
    print(__name__, sys.argv[1:], jax.jit(jax.grad(loss))(layer, jnp.arange(3.0)).w.tolist())
    assert jax.Array is minijax.Array and jnp is minijax.numpy and jax is not minijax
    assert isinstance(jnp.ones(2), jax.Array) and jnp.__name__ == jnp.__spec__.name == "minijax.numpy"
    kinds = [type(jnp.ones(2)), type(jnp.ones(2, "int4"))]  # libraries know arrays by their module
    jax.jit(lambda x: kinds.append(type(x)))(1.0)
    jax.vmap(lambda x: kinds.append(type(x)))(jnp.ones(2))
    jax.grad(lambda x: kinds.append(type(x)) or x)(1.0)
    assert {kind.__module__.partition(".")[0] for kind in kinds} == {"jax"}, kinds
    assert pickle.loads(pickle.dumps((kinds[0], jnp.ones(2))))[0] is kinds[0]
    assert minijax.__version__ != jax.__version__ and jax.__name__ == "jax"
    try:
        import jax.no_such_module
    except ModuleNotFoundError as error:
        print(error)
    """


def text(program: str) -> str:
    lines = program.strip("\n").split("\n")
    indent = len(lines[0]) - len(lines[0].lstrip())
    return "\n".join(line[indent:] for line in lines) + "\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "library").mkdir()
    for name, program in LIBRARY.items():
        (tmp_path / "library" / name).write_text(text(program))
    (tmp_path / "script.py").write_text(text(PROGRAM))
    return tmp_path


def python(folder, *arguments):
    done = subprocess.run([sys.executable, *arguments], cwd=folder, text=True, timeout=120,
                          capture_output=True, env={"PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"})
    return done.returncode, done.stdout, done.stderr


WANTED = ("__main__ ['a', '-n', '3'] [[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]]\n"
          "No module named 'jax.no_such_module': jax is minijax here, which has no such module.\n")


@pytest.mark.parametrize("how", [["script.py"], ["-m", "script"]])
def test_command(folder, how):
    assert python(folder, "-m", "minijax", "run", *how, "a", "-n", "3") == (0, WANTED, "")


def test_exit_codes(folder):
    (folder / "script.py").write_text("import jax, sys; sys.exit(7)")
    assert python(folder, "-m", "minijax", "run", "script.py")[0] == 7
    code, _, error = python(folder, "-m", "minijax", "run", "none.py")
    assert (code, error) == (2, "python -m minijax run: error: there is no file none.py\n")


def test_installed_twice_is_installed_once(folder):
    program = text("""
        import sys, minijax.alias
        before = len(sys.meta_path)
        minijax.alias.install()
        minijax.alias.install()
        import jax
        assert jax.numpy is minijax.numpy and len(sys.meta_path) == before + 1
        """)
    assert python(folder, "-c", program) == (0, "", "")


def test_modules_have_their_names_among_the_imported(folder):
    program = text("""
        import sys, minijax.alias
        minijax.alias.install()
        import jax, jax.nn, jax.random, jax.scipy
        for name in ("tree_util", "numpy", "lax", "random", "nn", "core", "scipy", "version"):
            module = sys.modules[f"jax.{name}"]
            assert vars(module).keys() >= vars(sys.modules[f"minijax.{name}"]).keys(), name
        import jax.numpy.linalg, jax.interpreters.ad
        assert sys.modules["jax.version"] is jax.version is not minijax.version
        """)
    assert python(folder, "-c", program) == (0, "", "")


def test_jax_that_is_imported_is_not_replaced(folder):
    program = text("""
        import sys, types, minijax.alias
        sys.modules["jax"] = types.ModuleType("jax")
        try:
            minijax.alias.install()
        except ImportError as error:
            print(error)
        assert sys.modules["jax"].__name__ == "jax" and not hasattr(sys.modules["jax"], "numpy")
        """)
    code, out, _ = python(folder, "-c", program)
    assert code == 0 and out.startswith("minijax.alias.install: jax is imported already, from None")


# What JAX pickles for `(jnp.asarray(2.0), jax.ShapeDtypeStruct((2,), "float32"))`.
PICKLED = (
    b"\x80\x02cjax._src.array\n_reconstruct_array\nq\x00(cnumpy._core.multiarray\n_reconstruct\nq\x01"
    b"cnumpy\nndarray\nq\x02K\x00\x85q\x03c_codecs\nencode\nq\x04X\x01\x00\x00\x00bq\x05X\x06\x00"
    b"\x00\x00latin1q\x06\x86q\x07Rq\x08\x87q\t(K\x01)cnumpy\ndtype\nq\nX\x02\x00\x00\x00f4q\x0b"
    b"\x89\x88\x87q\x0cRq\r(K\x03X\x01\x00\x00\x00<q\x0eNNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00"
    b"tq\x0fb\x89h\x04X\x04\x00\x00\x00\x00\x00\x00@q\x10h\x06\x86q\x11Rq\x12tq\x13}q\x14X\t\x00"
    b"\x00\x00weak_typeq\x15\x88stq\x16Rq\x17cjax\nShapeDtypeStruct\nq\x18)\x81q\x19N}q\x1a(X\x05"
    b"\x00\x00\x00shapeq\x1bK\x02\x85q\x1cX\x05\x00\x00\x00dtypeq\x1dh\rX\t\x00\x00\x00_sharding"
    b"q\x1eNX\x04\x00\x00\x00_dllq\x1fNh\x15\x89X\x10\x00\x00\x00manual_axis_typeq NX\x06\x00\x00"
    b"\x00is_refq!\x89u\x86q\"b\x86q#.")


def test_arrays_that_jax_pickled_are_read(folder):
    program = text("""
        import pathlib, pickle, minijax.alias
        minijax.alias.install()
        array, struct = pickle.loads(pathlib.Path("pickled").read_bytes())
        print(repr(array), struct)
        """)
    (folder / "pickled").write_bytes(PICKLED)
    assert python(folder, "-c", program) == (0, "Array(2., dtype=float32, weak_type=True) "
                                             "ShapeDtypeStruct(shape=(2,), dtype=float32)\n", "")


def test_the_version_is_that_of_the_tests():
    assert ask(lambda: jax.__version__) == JAX_VERSION
