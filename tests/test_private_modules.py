"""Private modules of JAX that its tests and libraries import: the same names do the same."""

from __future__ import annotations

from importlib import import_module

import pytest

import minijax
from tests.oracle import both


def private(jx, name):
    return import_module(f"{jx.__name__}._src.{name}")


def documents(jx):
    pp = private(jx, "pretty_printer")
    word = pp.nest(2, pp.concat([pp.text("hello"), pp.brk(), pp.text("world", "note"), pp.brk(""), pp.text("x")]))
    words = pp.group(pp.join(pp.text(",") + pp.brk(), [pp.group(word), pp.nil(), word]))
    return [pp.group(word).format(width) for width in (80, 12, 8, 3)] + [words.format(20), str(words)]


def test_documents():
    both(lambda jx: lambda: documents(jx))


def test_slices():
    both(lambda jx: lambda: (private(jx, "indexing").ds(1, 3).start, private(jx, "indexing").Slice(2, 3).size))


@pytest.mark.parametrize("name", ["export", "export._export", "ffi", "compute_on", "xla_metadata", "shard_alike",
                                  "buffer_callback", "hashable_array", "frozen_dict"])
def test_modules_are_there(name):
    assert private(minijax, name).__name__ == f"minijax._src.{name}"


def test_kept_programs():
    interface = private(minijax, "compilation_cache_interface").CacheInterface
    with pytest.raises(TypeError, match="abstract"):
        interface()


def test_shardings_of_xla():
    from minijax.runtime import xla

    questions = private(minijax, "op_shardings")
    assert questions.are_hlo_shardings_equal(xla().replicated, xla().replicated)
    assert questions.is_hlo_sharding_replicated(xla().replicated)


def test_what_dir_shows():
    both(lambda jx: lambda: [n for n in dir(import_module(f"{jx.__name__}.experimental.hijax")) if n[0] != "_"])
