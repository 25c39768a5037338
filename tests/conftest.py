"""Settings every test shares: real JAX first, XLA quick to compile, Hypothesis repeatable."""

from __future__ import annotations

import os

# Both libraries compile thousands of tiny programs here and run each once, so compiling
# quickly matters and running quickly does not. One thread an operation, since xdist's
# workers already fill the cores.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
os.environ.setdefault(
    "XLA_FLAGS", "--xla_backend_optimization_level=1 --xla_cpu_multi_thread_eigen=false"
)

# jaxlib's C++ imports `jax` by itself the first time it needs one of its helpers. A test
# process has JAX installed, so it must be complete before any other part touches jaxlib.
import jax  # noqa: E402, F401
from hypothesis import HealthCheck, settings  # noqa: E402

_common = {"deadline": None, "suppress_health_check": list(HealthCheck)}
# CI tries the same programs each time; `HYPOTHESIS_PROFILE=explore` looks for new ones.
settings.register_profile("ci", derandomize=True, max_examples=25, database=None, **_common)
settings.register_profile("explore", max_examples=300, **_common)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
