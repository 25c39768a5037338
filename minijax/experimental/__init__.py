"""Chapter 16: what JAX calls experimental; each module is imported when it is asked for."""

from importlib import import_module as _import_module
from typing import Any as _Any

from ..compat.absent import show_absent as _show_absent
from ..debugging.callbacks import io_callback

_show_absent(__name__)


def __getattr__(name: str) -> _Any:
    """`cur_qdd`, whose module few programs need."""
    if name == "cur_qdd":
        return _import_module(f"{__name__}.hijax").cur_qdd
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
