"""The public names of `jax.profiler`."""

# chapter 14
from .runtime.profiler import (
    ProfileData, ProfileEvent, ProfileOptions, ProfilePlane, StepTraceAnnotation, TraceAnnotation,
    annotate_function, device_memory_profile, register_subprocess, save_device_memory_profile,
    start_server, start_trace, stop_server, stop_trace, trace)

__all__ = [
    "ProfileData", "ProfileEvent", "ProfileOptions", "ProfilePlane", "StepTraceAnnotation",
    "TraceAnnotation", "annotate_function", "device_memory_profile", "register_subprocess",
    "save_device_memory_profile", "start_server", "start_trace", "stop_server", "stop_trace",
    "trace"]
