"""Functions and classes that run beside the devices of their arguments."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.oracle import both

CASES = """
beside(s.double)(s.x)
beside(s.double)(x=s.x)
beside(lambda tree: {"a": tree[0], "b": None})((s.x, s.x))
beside(lambda x: s.default)(s.x)
beside(s.ones).specialize(devices=s.here)()
beside(s.double).specialize(in_specs=((s.spec,), {}))(s.x)
beside(s.double).specialize(devices=s.here)(s.x)
beside(s.double).specialize(out_specs_fn=lambda x: s.spec)(s.x)
beside(s.double).specialize(devices=s.here).specialize(out_specs_fn=lambda x: s.spec)(s.x)
beside(s.double).__name__
[s.counter.add(s.x), s.counter.add(s.x), s.counter.get.specialize(devices=s.here)()]
s.c.colocated_cpu_devices(s.here) == list(s.here)
s.c.colocated_cpu_devices(s.mesh) == s.mesh
""".strip().splitlines()

REFUSED = """
beside(lambda x: 3.0)(s.x)
beside(lambda x: np.ones(3))(s.x)
beside(s.ones)()
beside(s.ones).specialize(devices=s.here).specialize(devices=s.here)
beside(s.fails)(s.x)
s.counter.total
s.jx.jit(beside(s.double))(s.x)
""".strip().splitlines()


def setting(jx: Any) -> SimpleNamespace:
    c = import_module(f"{jx.__name__}.experimental.colocated_python")

    class Counter:
        def __init__(self, start):
            self.total = start

        def add(self, x):
            self.total = self.total + x
            return self.total

        def get(self):
            return self.total

    def double(x):
        return 2 * x

    def fails(x):
        raise ValueError("of the user")

    here, x = tuple(jx.devices()[:1]), jx.numpy.arange(3.0)
    return SimpleNamespace(jx=jx, c=c, x=x, here=here, double=double, fails=fails,
                           default=jx.numpy.ones(2), ones=lambda: jx.numpy.ones(2),
                           spec=jx.ShapeDtypeStruct((3,), "float32", sharding=x.sharding),
                           mesh=jx.make_mesh((1,), ("i",)), counter=c.colocated_python_class(Counter)(1.0))


@pytest.mark.parametrize("case", CASES)
def test_results(case: str) -> None:
    both(lambda jx: eval(case, globals(), {"s": (s := setting(jx)), "beside": s.c.colocated_python}))


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case: str) -> None:
    both(lambda jx: eval(case, globals(), {"s": (s := setting(jx)), "beside": s.c.colocated_python}),
         raises=(ValueError, AttributeError))


def test_wrong_types_are_refused_where_jax_lets_them_pass() -> None:
    import minijax as jax
    s = setting(jax)
    known = s.c.colocated_python(s.double).specialize(in_specs=((s.spec,), {}), out_specs_fn=lambda x: s.spec)
    with pytest.raises(ValueError, match=r"specified to contain .*float32\[4\]|contain f32\[4\]"):
        known(jax.numpy.ones(4))
    wrong = s.c.colocated_python(s.double).specialize(out_specs_fn=lambda x: {"a": s.spec})
    with pytest.raises(ValueError, match="The results have the tree"):
        wrong(s.x)
    for value in (np.ones(3), 3.0):
        with pytest.raises(ValueError, match=r"only supports jax\.Array"):
            s.c.colocated_python(s.double)(value)


def test_an_object_is_made_at_the_first_call_and_goes_with_its_wrapper() -> None:
    import minijax as jax
    said = []

    class Loud:
        def __init__(self):
            said.append("made")

        def __del__(self):
            said.append("gone")

        def same(self, x):
            return x

    loud = setting(jax).c.colocated_python_class(Loud)()
    assert said == []
    loud.same(jax.numpy.ones(1))
    loud.same(jax.numpy.ones(1))
    assert said == ["made"]
    del loud
    assert said == ["made", "gone"]
