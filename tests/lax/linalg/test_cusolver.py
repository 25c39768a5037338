"""Factorizations on NVIDIA's GPUs: the calls of their libraries are JAX's.

No test here has a GPU. Programs for one can be written without it, so that the names of the calls, their attributes and how matrices are stored can be compared.
"""

from __future__ import annotations

import re
from contextlib import nullcontext

import numpy as np
import pytest

import minijax
from minijax.runtime.platforms import lowered_for
from tests.oracle import both


def s(*shape: int, dtype: str = "float32"):
    return lambda m: m.ShapeDtypeStruct(shape, dtype)


def c(*shape: int):
    return s(*shape, dtype="complex64")


def solver(name, **options):
    return lambda m: lambda *xs: getattr(m.lax.linalg, name)(*xs, **options)


def svd(name, **options):
    return lambda m: lambda x: m.lax.linalg.svd(
        x, algorithm=getattr(m.lax.linalg.SvdAlgorithm, name), **options)


def eigh(name):
    return lambda m: lambda x: m.lax.linalg.eigh(
        x, implementation=getattr(m.lax.linalg.EighImplementation, name))


CALLS = {  # function, types of its arguments
    "cholesky": (solver("cholesky"), s(2, 3, 3)),
    "cholesky, complex": (solver("cholesky"), c(3, 3)),
    "lu": (solver("lu"), s(2, 3, 4)),
    "lu, complex, tall": (solver("lu"), c(5, 4)),
    "solve": (lambda m: m.numpy.linalg.solve, s(3, 3), s(3)),
    "permutation": (lambda m: lambda p: m.lax.linalg.lu_pivots_to_permutation(p, 6),
                    s(2, 3, dtype="int32")),
    "qr": (solver("qr"), s(2, 3, 4)),
    "qr, complex, tall": (solver("qr"), c(5, 3)),
    "qr with pivots": (solver("qr", pivoting=True), s(3, 4)),
    "qr by MAGMA": (solver("qr", pivoting=True, use_magma=True), s(3, 4)),
    "ormqr": (solver("ormqr", left=False, transpose=True), s(3, 2), s(2), s(4, 3)),
    "eigh": (solver("eigh"), s(2, 3, 3)),
    "eigh, complex, upper": (solver("eigh", lower=False), c(3, 3)),
    "eigh by Jacobi": (eigh("JACOBI"), s(3, 3)),
    "eigh by QR": (eigh("QR"), s(3, 3)),
    "svd": (solver("svd"), s(2, 3, 4)),
    "svd, thin": (solver("svd", full_matrices=False), s(2, 40, 50)),
    "svd, complex, thin, small": (solver("svd", full_matrices=False), c(4, 5)),
    "singular values": (solver("svd", compute_uv=False), s(40, 5)),
    "svd, large": (solver("svd", full_matrices=False), s(1030, 5)),
    "svd, large, wide": (solver("svd"), c(5, 1030)),
    "singular values, large": (solver("svd", compute_uv=False), s(3, 1030, 5)),
    "svd by QR": (svd("QR"), s(3, 5)),
    "svd by the polar decomposition": (svd("POLAR", full_matrices=False), s(7, 5)),
    "svd of nothing": (solver("svd"), s(0, 3)),
    "eig": (solver("eig"), s(2, 3, 3)),
    "eig, complex": (solver("eig", compute_left_eigenvectors=False), c(3, 3)),
    "eig by LAPACK": (lambda m: lambda x: m.lax.linalg.eig(
        x, implementation=m.lax.linalg.EigImplementation.LAPACK), s(3, 3)),
    "tridiagonal_solve": (solver("tridiagonal_solve"), s(2, 4), s(2, 4), s(2, 4), s(2, 4, 1)),
    "tridiagonal_solve, perturbed": (
        solver("tridiagonal_solve", perturb_singular=True), s(4), s(4), s(4), s(4, 3)),
    "triangular_solve": (solver("triangular_solve", lower=True), s(3, 3), s(2, 3)),
}


def for_gpus(m, name):
    program, *types = CALLS[name]
    return lowered(m, program(m), [t(m) for t in types])


def lowered(m, program, types):
    """The module for a GPU. We lower for other platforms where a device is asked for; JAX anywhere."""
    with lowered_for("cuda") if m is minijax else nullcontext():
        traced = m.jit(program).trace(*types)
        return traced.lower() if m is minijax else traced.lower(lowering_platforms=("cuda",))


def calls(text: str) -> list:
    """For each call its target, attributes, layouts, the operands whose memory it takes, types."""
    return [[m[1], *_attributes(m[2]), m[3].split(" loc(")[0]]
            for m in re.finditer(r"custom_call @(\w+)\(.*?\) \{(.*)\} : (.*)", text)]


def _attributes(text):
    (given,) = re.findall(r" (?:mhlo\.)?backend_config = \{(.*?)\}", f" {text}")
    layouts = [re.sub(r"dense<(\d)>", r"dense<[\1]>", re.search(rf"{name}_layouts = \[(.*?xindex>)\]",
                                                             text)[1])
               for name in ("operand", "result")]
    aliases = re.findall(r"output_tuple_indices = \[(\d*)\], operand_index = (\d+)", text)
    return sorted(given.split(", ")), layouts, [list(pair) for pair in aliases]


@pytest.mark.parametrize("name", CALLS)
def test_calls_of_libraries_for_gpus(name):
    both(lambda m: lambda: str(calls(for_gpus(m, name).as_text())))


REFUSED = {
    "schur": (solver("schur"), s(3, 3)),
    "hessenberg": (solver("hessenberg"), s(3, 3)),
    "svd in parts": (svd("DIVIDE_AND_CONQUER"), s(3, 3)),
    "some singular values": (solver("svd", subset_by_index=(0, 1), full_matrices=False), s(3, 3)),
    "eigh by QDWH": (eigh("QDWH"), s(3, 3)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_gpus_have_no_routine_for(name, monkeypatch):
    monkeypatch.setitem(CALLS, name, REFUSED[name])
    both(lambda m: lambda: for_gpus(m, name), raises=NotImplementedError)


def test_eig_by_a_newer_library_is_refused():
    program = lambda x: minijax.lax.linalg.eig(
        x, implementation=minijax.lax.linalg.EigImplementation.CUSOLVER)
    with pytest.raises(NotImplementedError, match="eig has no EigImplementation.CUSOLVER here"):
        lowered(minijax, program, [np.eye(3)])


def test_two_equations_are_solved_with_a_third():
    """The routine takes three or more. Their solution is that of the two: computed on the CPU."""
    program = minijax.lax.linalg.tridiagonal_solve
    types = [minijax.ShapeDtypeStruct(shape, "float32") for shape in [(2,)] * 3 + [(2, 1)]]
    text = lowered(minijax, program, types).as_text()
    assert "cusparse_gtsv2_ffi" in text and "tensor<4x1xf32>" in text


@pytest.mark.parametrize("m", [1, 2])
def test_more_rows_have_the_same_solution(m):
    from minijax.lax.linalg.cusolver import _solve_larger

    dl, d, du = np.full(m, 7, "f"), np.arange(1, m + 1, dtype="f"), np.full(m, 3, "f")
    b = np.arange(2 * m, dtype="f").reshape(m, 2) + 1
    np.testing.assert_allclose(minijax.jit(_solve_larger)(dl, d, du, b),
                               minijax.lax.linalg.tridiagonal_solve(dl, d, du, b), rtol=1e-6)
