"""The switches of minijax, under JAX's names: ``config``, and one `State` for each setting.

A setting has a value for the whole process, and each thread may override it for the length of
a ``with`` block.  Reading ``state.value`` looks for an override only while some thread has one.

    >>> import minijax as jax
    >>> jax.config.jax_enable_x64
    False
    >>> with jax.enable_x64(True):
    ...     jax.config.jax_enable_x64
    True
"""

from __future__ import annotations

import enum
import functools
import itertools
import os
import sys
import threading
from collections.abc import Callable, Iterator
from itertools import takewhile
from types import MappingProxyType
from typing import Any

_UNSET: Any = object()
_TRUE_WORDS = ("y", "yes", "t", "true", "on", "1")
_FALSE_WORDS = ("n", "no", "f", "false", "off", "0")


_changes = 0  # of all settings, in all threads
_overrides_in_force = 0  # in all threads
common_context: int | None = None  # the answer of `trace_context` if it is the same in all threads
_changes_lock = threading.Lock()


def _count_change() -> None:
    """Note that a setting has changed."""
    global _changes, common_context
    with _changes_lock:
        _changes += 1
        common_context = None


class _Overrides(threading.local):
    """This thread's values of the settings that it overrides."""

    def __init__(self) -> None:
        self.values: dict[State, Any] = {}


_overrides = _Overrides()


class State:
    """One setting: ``state.value`` reads it, ``with state(new):`` overrides it in this thread.

    Args:
      name: its name in `config`; empty for a setting that only `with` sets.
      value: the value of the process.
      parse: checks a new value, and returns what is stored.
      help: what the setting does.
      context_default: the value of ``with state():``.
    """

    def __init__(self, name: str, value: Any, parse: Callable[[Any], Any], help: str,
                 context_default: Any = _UNSET) -> None:
        self.name, self.parse, self.context_default = name, parse, context_default
        self.__doc__ = help
        self.process_value = value
        self.overridden = 0  # how many overrides are in force, in all threads
        # Callables that see a new process value before it is set, and may refuse it by raising.
        self.guards: list[Callable[[Any], None]] = []
        # Callables `(value, begins)`, called when a value begins and ends to be in force somewhere.
        self.watchers: list[Callable[[Any, bool], None]] = []

    @property
    def __name__(self) -> str:
        return self.name.removeprefix("jax_")

    @property
    def value(self) -> Any:
        """The value in this thread."""
        if not self.overridden:
            return self.process_value
        return _overrides.values.get(self, self.process_value)

    def override(self, value: Any) -> Any:
        """Set this thread's value, or unset it if `value` is `_UNSET`; returns what it was."""
        values = _overrides.values
        previous = values.pop(self, _UNSET)
        if value is not _UNSET:
            values[self] = value
        global _overrides_in_force
        more = (value is not _UNSET) - (previous is not _UNSET)
        with _changes_lock:
            self.overridden += more
            _overrides_in_force += more
        return previous

    def watched_by(self, watcher: Callable[[Any, bool], None]) -> None:
        """Call `watcher(value, begins)` from now on, also for the value in force now."""
        self.watchers.append(watcher)
        watcher(self.value, True)

    def _tell(self, value: Any, begins: bool) -> None:
        for watcher in self.watchers:
            watcher(value, begins)

    def __call__(self, new_val: Any = _UNSET) -> Override:
        if new_val is _UNSET:
            new_val = self.context_default
        if new_val is _UNSET:
            short_name = self.name.removeprefix("jax_")
            raise TypeError(f"Context manager for {short_name} config option requires an argument: "
                            f"the new value, as in `with {short_name}(value):`.")
        return Override(self, self._parsed(new_val))

    def _parsed(self, value: Any) -> Any:
        """The value as it is kept; a refusal names the setting."""
        try:
            return self.parse(value)
        except (TypeError, ValueError) as error:
            if self.name.removeprefix("jax_") in str(error):
                raise error.with_traceback(None) from None  # the user is not shown our frames
            raise type(error)(f"{self.name}: {error}") from None

    def set_process_value(self, new_value: Any) -> None:
        """Sets the value that every thread without an override sees."""
        new_value = self._parsed(new_value)
        for guard in self.guards:
            guard(new_value)
        old_value, self.process_value = self.process_value, new_value
        self._tell(old_value, False)
        self._tell(new_value, True)
        _count_change()

    def get_global(self) -> Any:
        """The value of the process."""
        return self.process_value

    set_global = set_process_value

    def __bool__(self) -> bool:
        raise TypeError("bool() not supported for instances of type 'State' "
                        "(did you mean to use 'State.value' instead?)")

    def __repr__(self) -> str:
        return f"<State {self.name}={self.value!r}>"


def innermost(*states: State) -> Any:
    """The value of the setting that this thread has overridden last; otherwise the first value of
    the process that is not `None`."""
    for state in reversed(_overrides.values):
        if state in states:
            return state.value
    values = (state.process_value for state in states)
    return next((value for value in values if value is not None), None)


class Override:
    """``with Override(state, value):`` sets a thread's value and restores the previous."""

    __slots__ = ("state", "value", "saved")

    def __init__(self, state: State, value: Any) -> None:
        self.state, self.value = state, value
        self.saved: list[Any] = []  # a stack, so that one override may be entered twice

    def __enter__(self) -> None:
        self.saved.append(self.state.override(self.value))
        self.state._tell(self.value, True)
        _count_change()

    def __exit__(self, *exc_info: object) -> None:
        self.state.override(self.saved.pop())
        self.state._tell(self.value, False)
        _count_change()

    def __call__(self, fun: Callable[..., Any]) -> Callable[..., Any]:
        """Used as a decorator: every call of ``fun`` runs under the override."""
        @functools.wraps(fun)
        def with_override(*args: Any, **kwargs: Any) -> Any:
            with Override(self.state, self.value):
                return fun(*args, **kwargs)
        return with_override


# ----------------------------------------------------------------------------------------------
# What a setting accepts: one parser a kind. Environment variables give strings.


def _truth_of_word(word: str, name: str) -> bool:
    """Reads a boolean environment variable."""
    if word.lower() in _TRUE_WORDS:
        return True
    if word.lower() in _FALSE_WORDS:
        return False
    raise ValueError(f"invalid truth value {word!r} for environment {name.upper()!r}; "
                     f"use one of {', '.join(_TRUE_WORDS + _FALSE_WORDS)}.")


def parse_choice(choices: tuple[str | None, ...], value: Any) -> Any:
    if value is not None and not isinstance(value, str) or value not in choices:
        raise ValueError(f"new enum value must be in {list(choices)}, "
                         f"got {value} of type {type(value)}.")
    return value


def _parse_promotion(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("jax_numpy_dtype_promotion must be 'standard' or 'strict', "
                        f"got {value} of type {type(value)}.")
    return parse_choice(("standard", "strict"), value)


def _parse_number(kinds: tuple[type, ...], value: Any) -> Any:
    if value is not None and not isinstance(value, kinds):
        raise ValueError(f"new config value must be None or of type {kinds[-1].__name__}, "
                         f"got {value} of type {type(value)}.")
    return value


def _parse_optional_str(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise ValueError("new string config value must be None or of type str, "
                         f"got {value} of type {type(value)}.")
    return value


def _parse_device(value: Any) -> Any:
    if value in (None, "cpu", "gpu", "tpu", "cuda") or hasattr(value, "device_kind"):
        return value
    raise ValueError("jax.default_device must be a device, as `jax.devices()[0]`, or the name of a "
                     f"platform, as 'cpu', or None; got: {value!r}")


# ----------------------------------------------------------------------------------------------
# Making settings

_states: dict[str, State] = {}
states = MappingProxyType(_states)  # all settings by name, to be read


def define(name: str, default: Any, parse: Callable[[Any], Any], help: str,
           from_env: Callable[[str], Any] = str, context_default: Any = _UNSET) -> State:
    """Makes the setting ``name``; its environment variable is the name in capitals.

    Raises:
      ValueError: there is such a setting, or the environment has a wrong value for it.
    """
    if name in _states:
        raise ValueError(f"Config option {name} already defined: keep the object that its first "
                         "definition returned.")
    word = os.environ.get(name.upper())
    try:
        value = parse(default if word is None else from_env(word))
    except ValueError as error:
        raise ValueError(f"The environment variable {name.upper()}={word}: {error}") from None
    _states[name] = State(name, value, parse, help, context_default)
    return _states[name]


def bool_state(name: str, help: str, default: bool = False) -> State:
    """Makes a setting that is true or false."""
    return define(name, default, bool, help, context_default=True,
                   from_env=lambda word: _truth_of_word(word, name))


def fixed_state(name: str, value: Any, help: str) -> State:
    """Makes a setting of JAX's that has one value here, a truth value, a number or a string.
    Another one is refused."""

    def only(new: Any) -> Any:
        if new != value:
            raise ValueError(f"{name} is always {value!r} in minijax, got {new!r}. {help}")
        return value

    if isinstance(value, bool):
        return define(name, value, only, help, lambda word: _truth_of_word(word, name), True)
    return define(name, value, only, help, type(value))


def number_state(name: str, default: int | float, help: str) -> State:
    """Makes a setting that is a number of the default's type, or `None`."""
    kinds = (int, float) if isinstance(default, float) else (int,)
    return define(name, default, functools.partial(_parse_number, kinds), help,
                   from_env=type(default))


def string_state(name: str, default: str | None, help: str) -> State:
    """Makes a setting that is any string, or `None`."""
    return define(name, default, _parse_optional_str, help)


def choice_state(name: str, choices: tuple[str | None, ...], default: str | None,
                 help: str) -> State:
    """Makes a setting with a few possible values."""
    return define(name, default, functools.partial(parse_choice, choices), help)


enable_x64 = bool_state(
    "jax_enable_x64",
    "Whether 64-bit dtypes exist; when off, they are read as their 32-bit counterparts.")
disable_jit = bool_state(
    "jax_disable_jit",
    "Whether `jit` steps aside, so that every operation runs eagerly and can be inspected.")
enable_checks = bool_state(
    "jax_enable_checks",
    "Whether every jaxpr is type-checked when it has been traced.")
no_tracing = bool_state(
    "jax_no_tracing",
    "Whether it is an error that a jitted function has to be traced.")
no_execution = bool_state(
    "jax_no_execution",
    "Whether it is an error to compute anything.")
allow_f16_reductions = bool_state(
    "jax_allow_f16_reductions",
    "Whether lax.reduce_sum takes 16-bit floats, whose sums lose digits.", default=True)
softmax_custom_jvp = bool_state(
    "jax_softmax_custom_jvp",
    "Whether jax.nn.softmax has a derivative of its own, which keeps the result only.")
debug_nans = bool_state(
    "jax_debug_nans",
    "Whether an operation that makes a NaN raises FloatingPointError.")
debug_infs = bool_state(
    "jax_debug_infs",
    "Whether an operation that makes an infinity raises FloatingPointError.")
check_tracer_leaks = bool_state(
    "jax_check_tracer_leaks",
    "Whether a trace that ends while a tracer of it is still alive raises an error.")
explain_cache_misses = bool_state(
    "jax_explain_cache_misses",
    "Whether it is logged why a jitted function is traced, and traced again.")
check_vma = bool_state(
    "check_vma",
    "Internal: a `shard_map` is being traced that tracks which values differ by device.")
disable_bwd_checks = bool_state(
    "jax_disable_bwd_checks",
    "Whether the types of the cotangents that bwd rules return are not checked.")
log_checkpoint_residuals = bool_state(
    "jax_log_checkpoint_residuals",
    "Whether it is logged as a warning what `checkpoint` saves (else at level DEBUG).")
log_compiles = bool_state(
    "jax_log_compiles",
    "Whether every compilation by XLA is logged as a warning (else at level DEBUG).")
logging_level = choice_state(
    "jax_logging_level",
    ("NOTSET", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL", None), "NOTSET",
    "From which level on the library's log is shown on stderr; NOTSET leaves that to `logging`.")
numpy_rank_promotion = choice_state(
    "jax_numpy_rank_promotion", ("allow", "warn", "raise"), "allow",
    "What happens when broadcasting joins arrays of different rank.")
numpy_dtype_promotion = define(
    "jax_numpy_dtype_promotion", "standard", _parse_promotion,
    "'standard' promotes along JAX's lattice; 'strict' refuses to mix strong dtypes.")


class Precision(enum.Enum):
    """How exactly an accelerator multiplies; on the CPU all are the same."""

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    @classmethod
    def _missing_(cls, value):
        found = PRECISION_NAMES.get(value)
        return found if isinstance(found, cls) else None

    def __str__(self):
        return self.name

    def __repr__(self):
        return f"Precision.{self.name}"


PRECISION_NAMES: dict[str, Any] = {
    "default": Precision.DEFAULT, "fastest": Precision.DEFAULT, "bfloat16": Precision.DEFAULT,
    "high": Precision.HIGH, "bfloat16_3x": Precision.HIGH, "tensorfloat32": Precision.HIGH,
    "highest": Precision.HIGHEST, "float32": Precision.HIGHEST,
}


default_matmul_precision = choice_state(
    "jax_default_matmul_precision",
    (None, "default", "high", "highest", "bfloat16", "tensorfloat32", "float32",
     "ANY_F8_ANY_F8_F32", "ANY_F8_ANY_F8_F32_FAST_ACCUM", "ANY_F8_ANY_F8_ANY",
     "ANY_F8_ANY_F8_ANY_FAST_ACCUM", "F16_F16_F16", "F16_F16_F32", "BF16_BF16_BF16",
     "BF16_BF16_F32", "BF16_BF16_F32_X3", "BF16_BF16_F32_X6", "BF16_BF16_F32_X9",
     "TF32_TF32_F32", "TF32_TF32_F32_X3", "F32_F32_F32", "F64_F64_F64"), None,
    "The precision of matrix products that do not ask for one.")
traceback_filtering = choice_state(
    "jax_traceback_filtering",
    ("off", "tracebackhide", "remove_frames", "quiet_remove_frames", "auto"), "auto",
    "How minijax's own frames are kept out of tracebacks; 'off' shows them.")
platforms = string_state(
    "jax_platforms", None,
    "Comma-separated platforms to start, the first being the default; None means all.")
platform_name = string_state(
    "jax_platform_name", "",
    "The platform that programs run on by default; else the first of jax_platforms.")
cpu_autotune = bool_state(
    "jax_cpu_autotune",
    "Whether programs for the CPU are tuned: after a few calls, the fastest of XLA's options is "
    "found by measuring.")
default_device = define(
    "jax_default_device", None, _parse_device,
    "The device, or the platform, for what nobody put anywhere; None means the first device.")
num_cpu_devices = number_state(
    "jax_num_cpu_devices", -1,
    "How many CPU devices to make out of this machine; -1 leaves it to XLA_FLAGS.")

# On a CPU, arrays are in the host's memory. What counts as a transfer is then that a NumPy array or
# a number becomes an array, or that an array is copied to other devices. Nothing is transferred to
# the host.
(transfer_guard, transfer_guard_host_to_device, transfer_guard_device_to_device,
 transfer_guard_device_to_host) = (choice_state(
    f"jax_transfer_guard{direction}",
    (None, "allow", "log", "disallow", "log_explicit", "disallow_explicit"), None,
    "Which transfers are allowed: of NumPy arrays and numbers to the device, and of arrays from "
    "one device to others. A CPU's arrays are in the host's memory: none goes to the host.")
    for direction in ("", "_host_to_device", "_device_to_device", "_device_to_host"))

pprint_use_color = bool_state(
    "jax_pprint_use_color",
    "Whether jaxprs may be printed with colors. They never are, as without a terminal in JAX.",
    default=True)
fixed_states = [fixed_state(*row) for row in (
    ("jax_mutable_array_checks", True, "References are always checked for aliases."),
    ("jax_use_shardy_partitioner", True, "Programs are partitioned by Shardy."),
    ("jax_use_simplified_jaxpr_constants", False, "Jaxprs list their constants."),
    ("jax_custom_vjp3", False, "custom_vjp has one implementation."),
    ("jax_scan3", False, "scan has one implementation."),
    ("jax_remat3", False, "checkpoint has one implementation."),
    ("jax_check_static_indices", False, "Indices out of bounds are clamped or dropped."),
    ("jax_high_dynamic_range_gumbel", False, "Gumbel samples are drawn by one method."),
    ("jax_random_seed_offset", 0, "Seeds are used as they are."),
    ("jax_disallow_mesh_context_manager", False, "A mesh is a context manager."),
    ("jax_auto_pcast", True, "Values that differ by device are marked so where they meet."),
    ("jax_thread_guard", False, "Every thread may call functions of several processes."),
    ("jax2tf_associative_scan_reductions", False, "There is no jax2tf."),
    ("jax_remove_size_one_mesh_axis_from_type", False, "Types name all axes of a mesh."),
    ("jax_export_ignore_forward_compatibility", False,
     "Exported modules can be read by XLA of four weeks ago."),
    ("jax_enable_pgle", False, "Programs are compiled without profiles of earlier runs."),
    ("jax_bcoo_cusparse_lowering", False, "Sparse arrays are computed with as dense ones are."),
    ("jax_captured_constants_report_frames", 0, "No warning is given of large constants."),
    ("jax_compilation_cache_check_contents", False, "What the cache has is not compiled again."),
    ("jax_compilation_cache_expect_pgle", False, "Programs are compiled without profiles."),
    ("jax_compiler_enable_remat_pass", True, "XLA rematerializes by its own default."),
    ("jax_debug_log_modules", "", "There are no debugging logs."),
    ("jax_enable_recoverability", False, "A process that fails is not replaced."),
    ("jax_error_checking_behavior_divide", "ignore", "`checkify` checks divisors."),
    ("jax_error_checking_behavior_nan", "ignore", "`jax_debug_nans` and `checkify` check NaNs."),
    ("jax_error_checking_behavior_oob", "ignore", "`checkify` checks indices."),
    ("jax_exec_time_optimization_effort", 0.0, "XLA optimizes by its own default."),
    ("jax_memory_fitting_effort", 0.0, "XLA saves memory by its own default."),
    ("jax_memory_fitting_level", "O2", "XLA saves memory by its own default."),
    ("jax_ragged_dot_use_ragged_dot_instruction", True, "The CPU has one ragged_dot."),
    ("jax_refs_to_pins", False, "References become arrays of the program."),
    ("jax_share_binary_between_hosts", False, "Each process compiles its programs."),
    ("jax_threefry_gpu_kernel_lowering", False, "Random bits are computed by ordinary operations."),
    ("jax_use_magma", "auto", "There is no MAGMA."),
    ("jax_optimization_level", "UNKNOWN", "XLA optimizes by its own default."),
)]

checking_leaks = functools.partial(check_tracer_leaks, True)


# The settings that change what tracing a function gives. Later chapters may add some.
traced_settings = [enable_x64, disable_jit, numpy_rank_promotion, numpy_dtype_promotion,
                   default_matmul_precision, check_vma, allow_f16_reductions,
                   softmax_custom_jvp, default_device]


class _TraceContext(threading.local):
    """How many changes had been made when a thread last asked `trace_context`, and its answer."""

    answer: tuple[int, int] = (-1, 0)


_trace_context = _TraceContext()
_contexts: dict[tuple[Any, ...], int] = {}  # values of `traced_settings` -> their number
_new_numbers = itertools.count()


def trace_context() -> int:
    """A number for the values of `traced_settings`: a part of every cache key.

    Every call of a jitted function needs it, so the answer is kept until some setting changes.
    """
    if common_context is not None:
        return common_context
    changes, number = _trace_context.answer
    if changes != _changes or not _overrides_in_force:
        changes = _changes
        values = [state.value for state in traced_settings]
        while values[-1] is None:  # a setting that is added later changes nothing while it is None
            values.pop()
        number = _contexts.setdefault(tuple(values), next(_new_numbers))
        _trace_context.answer = changes, number
        _share(changes, number)
    return number


def _share(changes: int, number: int) -> None:
    """Keep the answer for all threads, if it is still right and none has settings of its own."""
    global common_context
    with _changes_lock:
        if changes == _changes and not _overrides_in_force:
            common_context = number


def context_differences(new: int, old: int) -> Iterator[str]:
    """What tells apart the settings of two answers of `trace_context`, in words."""
    values_of = {number: values for values, number in _contexts.items()}
    values = itertools.zip_longest(traced_settings, values_of[new], values_of[old])
    for state, now, before in values:
        if now != before:
            yield f"{state.name or 'a context'} differs: now {now} and before {before}"


def _hashable(value: Any) -> Any:
    hash(value)
    return value


def make_user_context(default_value: Any = None) -> State:
    """A value of your own on which traces depend: where it differs, functions are traced again.

    Args:
      default_value: anything with a hash.

    Raises:
      TypeError: it has none.

    >>> scale = jax.make_user_context(1)
    >>> f = jax.jit(lambda x: x * scale.value)
    >>> with scale(3):
    ...     print(f(2.0))
    6.0
    >>> print(f(2.0))
    2.0
    """
    context = State("", _hashable(default_value), _hashable, "A value of the user's own.")
    traced_settings.append(context)
    _count_change()
    return context


class Config:
    """The object ``minijax.config``: reads and sets the settings by name.

    ``config.jax_enable_x64`` is a value; ``config.enable_x64`` is the `State` behind it.

        >>> import minijax as jax
        >>> jax.config.update("jax_numpy_rank_promotion", "warn")
        >>> jax.config.jax_numpy_rank_promotion
        'warn'
        >>> jax.config.update("jax_numpy_rank_promotion", "allow")
    """

    __slots__ = ()

    def update(self, name: str, value: Any) -> None:
        """Sets a setting for the whole process.

        Args:
          name: the setting, as ``"jax_enable_x64"``.
          value: its new value.
        Raises:
          AttributeError: there is no such setting.
          ValueError, TypeError: the setting does not accept this value.
        """
        _lookup(name).set_process_value(value)

    def read(self, name: str) -> Any:
        """Reads a setting that has no context manager (as in JAX, only ``jax_enable_x64``).

        Raises:
          AttributeError: there is no such setting, or it is to be read as an attribute.
        """
        state = _lookup(name)
        if state is not enable_x64:
            raise AttributeError("For flags with a corresponding contextmanager, read their value "
                                 f"via e.g. `config.{name}` rather than `config.read({name!r})`.")
        return state.value

    def config_with_absl(self) -> None:
        """Make each setting a flag of absl. `app.run` sets those on the command line."""
        from absl import app, flags  # no requirement of minijax: programs that call this have it
        for name, state in _states.items():
            _define_flag(flags, name, state)
        app.call_after_init(lambda: self.complete_absl_config(flags))

    def complete_absl_config(self, absl_flags: Any) -> None:
        """Set the settings whose flags stand on the command line.

        Args:
          absl_flags: the module `absl.flags`, whose flags are parsed.
        """
        for name in _states:
            if name in absl_flags.FLAGS and absl_flags.FLAGS[name].present:
                self.update(name, absl_flags.FLAGS[name].value)

    def parse_flags_with_absl(self) -> None:
        """Read the arguments of the command line that begin with ``--jax``, once in a process."""
        _parse_flags_once(self)

    @property
    def values(self) -> dict[str, Any]:
        """All settings and their values, as this thread sees them."""
        return {name: state.value for name, state in _states.items()}

    @property
    def x64_enabled(self) -> bool:
        return enable_x64.value

    def __getattr__(self, name: str) -> Any:
        if name in _states:
            return _states[name].value
        if "jax_" + name in _states:
            return _states["jax_" + name]
        raise AttributeError(f"'Config' object has no attribute {name!r}{_known_names()}")

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"config.{name} cannot be assigned; "
                             f"use config.update({name!r}, {value!r}).")

    def __dir__(self) -> list[str]:
        return [*object.__dir__(self), *_states]


def _define_flag(flags: Any, name: str, state: State) -> None:
    value, text, parse = state.process_value, state.__doc__, state.parse
    if isinstance(parse, functools.partial) and parse.func is parse_choice:
        choices = [choice for choice in parse.args[0] if choice is not None]
        flags.DEFINE_enum(name, value, choices, text)
    else:
        defines = {bool: flags.DEFINE_bool, int: flags.DEFINE_integer, float: flags.DEFINE_float}
        defines.get(type(value), flags.DEFINE_string)(name, value, text)


@functools.cache
def _parse_flags_once(config: Config) -> None:
    from absl import flags
    arguments = takewhile(lambda argument: argument != "--", sys.argv)
    config.config_with_absl()
    flags.FLAGS(["", *(x for x in arguments if x.startswith("--jax"))], known_only=True)
    config.complete_absl_config(flags)


def _lookup(name: str) -> State:
    try:
        return _states[name]
    except KeyError:
        raise AttributeError(f"Unrecognized config option: {name}{_known_names()}") from None


def _known_names() -> str:
    return f". The options are: {', '.join(sorted(_states))}."


config = Config()


def __getattr__(name: str) -> State:
    """A setting that another module defines, or one of `fixed_states`, by its name."""
    for full_name in (name, f"jax_{name}"):
        if full_name in _states:
            return _states[full_name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
