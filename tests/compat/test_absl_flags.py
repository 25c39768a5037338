"""Settings as flags of absl. absl is no requirement of ours, so a stand-in has its place here."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest

import minijax
from minijax.compat.config import _parse_flags_once


class Flags(dict):
    """The flags that are defined. A call reads a command line, as absl's does."""

    def __call__(self, arguments, known_only):
        assert known_only
        for argument in arguments[1:]:
            name, _, word = argument.removeprefix("--").partition("=")
            self[name].present = 1
            self[name].value = {"true": True, "false": False}.get(word, word)


@pytest.fixture
def absl(monkeypatch):
    absl, app, flags = ModuleType("absl"), ModuleType("absl.app"), ModuleType("absl.flags")
    flags.FLAGS, flags.kinds, app.later = Flags(), {}, []
    app.call_after_init = app.later.append

    def definer(kind):
        def define(name, value, *rest):
            flags.FLAGS[name] = SimpleNamespace(present=0, value=value)
            flags.kinds[name] = (kind, *rest[:-1])

        return define

    for kind in ("bool", "integer", "float", "string", "enum"):
        setattr(flags, f"DEFINE_{kind}", definer(kind))
    absl.app, absl.flags = app, flags
    for module in (absl, app, flags):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    _parse_flags_once.cache_clear()
    yield absl
    _parse_flags_once.cache_clear()


@pytest.fixture(autouse=True)
def old_values():
    before = minijax.config.jax_enable_x64, minijax.config.jax_numpy_rank_promotion
    yield
    minijax.config.update("jax_enable_x64", before[0])
    minijax.config.update("jax_numpy_rank_promotion", before[1])


def test_arguments_that_begin_with_jax_set_settings(absl, monkeypatch):
    monkeypatch.setattr(sys, "argv", [
        "test.py", "-v", "--jax_enable_x64=true", "--jax_numpy_rank_promotion=warn", "--other=3",
        "--", "--jax_numpy_rank_promotion=raise"])
    minijax.config.parse_flags_with_absl()
    assert minijax.config.jax_enable_x64
    assert minijax.config.jax_numpy_rank_promotion == "warn"
    minijax.config.update("jax_enable_x64", False)
    minijax.config.parse_flags_with_absl()  # once in a process
    assert not minijax.config.jax_enable_x64


def test_settings_are_flags_of_their_types(absl):
    minijax.config.config_with_absl()
    kinds = absl.flags.kinds
    assert kinds.keys() == minijax.config.values.keys()
    assert kinds["jax_enable_x64"] == ("bool",)
    assert kinds["jax_numpy_rank_promotion"] == ("enum", ["allow", "warn", "raise"])
    assert kinds["jax_random_seed_offset"] == ("integer",)
    assert kinds["jax_compilation_cache_dir"] == ("string",)


def test_flags_are_read_when_the_program_starts(absl):
    minijax.config.config_with_absl()
    absl.flags.FLAGS(["", "--jax_enable_x64=true"], known_only=True)
    assert not minijax.config.jax_enable_x64
    for call in absl.app.later:
        call()
    assert minijax.config.jax_enable_x64


def test_a_value_that_the_setting_refuses_is_refused(absl):
    minijax.config.config_with_absl()
    absl.flags.FLAGS(["", "--jax_numpy_rank_promotion=maybe"], known_only=True)
    with pytest.raises(ValueError, match="allow"):
        minijax.config.complete_absl_config(absl.flags)
