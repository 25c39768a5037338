"""Chapter 14: compiled programs on disk, for the next process that needs the same ones.

XLA takes a tenth of a second for a small program and minutes for a large one, each time a process
starts; reading back what it made takes milliseconds. So `jax_compilation_cache_dir` may name a
folder, and there each program has a file, whose name is a hash of everything that the compiler saw:
of the module, the options, the version of XLA, the processor. If one of these changes, so does the
name; a file therefore never has to be invalidated.

A file is written elsewhere and then renamed, so processes that write at the same time do not
disturb each other. Its header has a checksum: damaged files are noticed before XLA sees them. That
is no protection against malice: a user who can write into the folder can run code in the processes
that read from it.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import struct
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..core.extension import Extension, register
from ..settings import bool_state
from ..text.locations import user_stacklevel
from . import tell, xla
from .settings import number_state, string_state

directory = string_state(
    "jax_compilation_cache_dir", None,
    "The folder where compiled programs are kept between runs; None means nowhere.")
enable = bool_state(
    "jax_enable_compilation_cache", "Whether the folder of compiled programs is used.",
    default=True)
raise_errors = bool_state(
    "jax_raise_persistent_cache_errors",
    "Whether a file or folder that cannot be used is an error, instead of a warning.")
min_compile_time = number_state(
    "jax_persistent_cache_min_compile_time_secs", 1.0,
    "Programs that are compiled in less time are not kept.")
min_entry_size = number_state(
    "jax_persistent_cache_min_entry_size_bytes", 0, "Smaller programs are not kept.")
max_size = number_state(
    "jax_compilation_cache_max_size", -1,
    "How many bytes the folder may hold, before what was not used for longest is deleted; -1 is "
    "any number, 0 keeps nothing.")
locations_in_key = bool_state(
    "jax_compilation_cache_include_metadata_in_key",
    "Whether a program is another one if only its names of equations are others.")

xla_caches = string_state(
    "jax_persistent_cache_enable_xla_caches", "xla_gpu_per_fusion_autotune_cache_dir",
    "Which of XLA's own files for GPUs are kept in the folder too: `xla_gpu_kernel_cache_file`, "
    "`xla_gpu_per_fusion_autotune_cache_dir`, or `all`.")


def _tell(event: str, seconds: float | None = None) -> None:
    tell(f"/jax/compilation_cache/{event}", seconds)


_told: set[str] = set()


def _tell_once(event: str) -> None:
    """Tell of an event that counts once for each process."""
    if event not in _told:
        _told.add(event)
        _tell(event)


# ----------------------------------------------------------------------------------------------
# Names


_LOCATION = r'(?m) loc\("[^"\n]*"\)$'
_MODULE = r"(?m)^module @(\w+)"


def file_name(text: str, options: Any, devices: Sequence) -> str:
    """The name of a program's file: its own name, and the hash of all that the compiler sees."""
    import hashlib  # takes time to load

    name = re.search(_MODULE, text)
    if not locations_in_key.value:
        text = re.sub(_LOCATION, "", text)
    platform = devices[0].client
    kinds = [device.device_kind for device in devices]
    parts = (_MAGIC.decode(), xla().JAXLIB_VERSION, platform.platform, platform.platform_version,
             kinds, _processor(), text)
    digest = hashlib.sha256("\0".join(map(str, parts)).encode())
    digest.update(options.SerializeAsString())  # with the flags of XLA_FLAGS
    return f"{name[1][:100] if name else 'module'}-{digest.hexdigest()}-cache"


@functools.cache
def _processor() -> str:
    """What machine code for this processor may make use of."""
    try:
        with open("/proc/cpuinfo") as file:
            known = dict(re.split(r"\s*:\s*", line, maxsplit=1) for line in file if ":" in line)
        return "".join(known.get(key, "") for key in ("model name", "flags", "Features"))
    except OSError:  # not on Linux
        import platform  # wanted nowhere else

        return f"{platform.machine()} {platform.processor()}"


# ----------------------------------------------------------------------------------------------
# Files


# The version of what follows: 2 since wrong programs of XLA are compiled again.
_MAGIC = b"minijax program 2"
_HEADER = struct.Struct("<17s32s32sd")  # magic, hashes of the file's name and of the rest, seconds


def _sha256(data: bytes) -> bytes:
    import hashlib

    return hashlib.sha256(data).digest()


def pack(name: str, program: bytes, seconds: float) -> bytes:
    """The contents of a file: a header, then the program, which took so long to compile."""
    import zlib

    program = zlib.compress(program, level=1)
    return _HEADER.pack(_MAGIC, _sha256(name.encode()), _sha256(program), seconds) + program


def unpack(name: str, data: bytes) -> tuple[bytes, float]:
    """The program, and how long it took to compile.

    Raises:
      ValueError: this is not the whole of what was written under this name.
    """
    if len(data) < _HEADER.size or not data.startswith(_MAGIC):
        raise ValueError("it was not written by this version of minijax")
    _, of_name, of_program, seconds = _HEADER.unpack_from(data)
    program = data[_HEADER.size:]
    if of_name != _sha256(name.encode()):
        raise ValueError("it holds another program")
    if of_program != _sha256(program):
        raise ValueError("it is damaged")
    import zlib

    return zlib.decompress(program), seconds


def _write(path: str, data: bytes) -> None:
    """Write a file such that others see all of it or nothing."""
    folder, name = os.path.split(path)
    os.makedirs(folder, exist_ok=True)
    _forget_unfinished(folder)
    unfinished = os.path.join(folder, f".{name}-{os.urandom(8).hex()}")
    try:
        with open(unfinished, "xb") as file:
            file.write(data)
        os.replace(unfinished, path)
    except BaseException:  # also Ctrl-C, and the end of the process while a daemon thread writes
        with contextlib.suppress(OSError):
            os.unlink(unfinished)
        raise


_UNFINISHED = r"\..*-cache-[0-9a-f]{16}"
_ABANDONED_AFTER = 3600.0  # seconds


@functools.cache
def _forget_unfinished(folder: str) -> None:
    """Delete what processes that were killed had begun to write: once for each folder."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if re.fullmatch(_UNFINISHED, entry.name):
                with contextlib.suppress(OSError):  # another process deletes it, too
                    if time.time() - entry.stat().st_mtime > _ABANDONED_AFTER:
                        os.unlink(entry.path)


def _make_room(folder: str, size: int) -> None:
    """Delete the files that were not used for longest, until `size` more bytes may be written."""
    files = []
    with contextlib.suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith("-cache"):
                with contextlib.suppress(FileNotFoundError):  # another process deletes, too
                    files.append((entry.stat().st_mtime_ns, entry.stat().st_size, entry.path))
    excess = sum(file[1] for file in files) + size - max_size.value
    for _, freed, path in sorted(files):
        if excess <= 0:
            break
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        excess -= freed


# ----------------------------------------------------------------------------------------------
# Looking up and keeping


def _path(text: str, options: Any, devices: Sequence, prefix: str = "") -> str | None:
    """The path of a file for a module; `None` if nothing is kept."""
    if not (directory.value and enable.value and max_size.value != 0):
        return None
    return os.path.join(directory.value, prefix + file_name(text, options, devices))


def load_or_compile(compile: Callable, text: str, options: Any, devices: Sequence) -> Any:
    """What `compile()` returns, or the same from a file.

    Args:
      compile: compiles the module `text` with these `options` for these `devices`.
    """
    if not enable.value:
        _tell_once("task_disabled_cache")
    if (path := _path(text, options, devices)) is None:
        return compile()
    _tell_once("tasks_using_cache")
    _tell("compile_requests_use_cache")
    there = False
    with _only_warned("could not be used", path):
        data = _read(path)
        there = data is not None
        if there:
            return _load(path, data, options, devices)
    start = time.perf_counter()
    program = compile()
    seconds = time.perf_counter() - start
    if there or seconds >= (min_compile_time.value or 0):
        with _only_warned("was not written", path):
            _keep(path, program.serialize(), seconds)
    return program


def _read(path):
    """The contents of the file, or `None` if it does not exist."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def _load(path, data, options, devices):
    """The program that the contents of a file say."""
    start = time.perf_counter()
    program, seconds = unpack(os.path.basename(path), data)
    loaded = xla("compiler").deserialize(program, options, devices)
    with contextlib.suppress(OSError):  # a folder of others', where we may only read
        os.utime(path)
    spent = time.perf_counter() - start
    _tell("cache_hits")
    _tell("compile_time_saved_sec", seconds - spent)
    _tell("cache_retrieval_time_sec", spent)
    return loaded


def _keep(path, program, seconds):
    """Write the file of a program."""
    data, most = pack(os.path.basename(path), program, seconds), max_size.value
    if len(data) < (min_entry_size.value or 0):
        return
    if most is not None and most >= 0:
        if len(data) > most:
            raise ValueError(f"it has {len(data)} bytes, and the folder may have {most} "
                             "(jax_compilation_cache_max_size)")
        _make_room(os.path.dirname(path), len(data))
    _tell("cache_misses")
    _write(path, data)


_CHOICE = "autotune-"  # what the name of a choice's file begins with


def recall_choice(text: str, options: Any, devices: Sequence) -> bytes | None:
    """What the autotuner chose for a module; `None` if the folder does not have it."""
    if (path := _path(text, options, devices, _CHOICE)) is not None:
        with _only_warned("could not be used", path):
            data = _read(path)
            return None if data is None else unpack(os.path.basename(path), data)[0]
    return None


def keep_choice(text: str, options: Any, devices: Sequence, choice: bytes) -> None:
    """Write what the autotuner chose for a module."""
    if (path := _path(text, options, devices, _CHOICE)) is not None:
        with _only_warned("was not written", path):
            _keep(path, choice, 0.0)


def count_choices() -> int:
    """How many choices of the autotuner the folder has."""
    try:
        return sum(name.startswith(_CHOICE) for name in os.listdir(directory.value or ""))
    except OSError:
        return 0


_warned: set[str] = set()  # of these files, and of these folders


@contextlib.contextmanager
def _only_warned(what: str, path: str) -> Iterator[None]:
    """An error in the block is a warning, as the program can do without the file."""
    try:
        yield
    except (OSError, ValueError, RuntimeError) as error:
        if raise_errors.value:
            raise
        place = os.path.dirname(path) if isinstance(error, OSError) else path
        if place not in _warned:  # a folder that cannot be written to concerns all programs
            _warned.add(place)
            warnings.warn(f"Compiled program {path} {what}: {type(error).__name__}: {error}",
                          stacklevel=user_stacklevel())


class CompilationCache(Extension):
    """Programs are looked up on disk before XLA compiles them."""

    program_cache = sys.modules[__name__]


register(CompilationCache())


def flags_for_gpus() -> dict[str, Any]:
    """XLA flags by which its compiler for GPUs keeps what it has found out, in the same folder."""
    folder, kept = directory.value, xla_caches.value or ""
    if not (folder and enable.value):
        return {}
    names = ("xla_gpu_kernel_cache_file", "xla_gpu_per_fusion_autotune_cache_dir")
    flags: dict[str, Any] = {
        name: os.path.join(folder, name) for name in names if kept == "all" or name in kept}
    if names[0] in flags:
        flags["xla_gpu_enable_llvm_module_compilation_parallelism"] = True  # it depends on that
    return flags


# ----------------------------------------------------------------------------------------------
# JAX's functions


def set_cache_dir(path: str) -> None:
    """Keep compiled programs in a folder, from now on: the setting `jax_compilation_cache_dir`.

    Args:
      path: of the folder, which is made when it is first needed. Other users must not be able to
        write to it: a program in the folder runs in every process that uses it.

    >>> from minijax.experimental.compilation_cache import compilation_cache
    >>> compilation_cache.set_cache_dir(None)
    """
    directory.set_process_value(path)


def reset_cache() -> None:
    """Warn again of a folder that cannot be used, and count again that this process uses it.
    (Nothing else is remembered; files stay.)"""
    _warned.clear()
    _told.clear()
