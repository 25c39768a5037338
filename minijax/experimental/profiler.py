"""`jax.experimental.profiler`: what profiles of GPUs say."""

from ..runtime.interruptions import load


def get_profiled_instructions_proto(tensorboard_dir: str) -> bytes:
    """The costs of instructions in a profile, for XLA's scheduler: a message of XLA's, serialized.

    Args:
      tensorboard_dir: where the profile is: `<log_dir>/plugins/profile/<run>/`. Only profiles of
        NVIDIA's GPUs say something.
    """
    return load("minijax.runtime.profiler").get_profiled_instructions_proto(tensorboard_dir)
