"""What orbax takes from `jax._src.distributed`."""

# chapter 14
from ..runtime import distributed as _distributed
from ..runtime.processes import process_count as _process_count
from ..runtime.processes import process_index as _process_index


class _GlobalState:
    @property
    def client(self):
        """The connection to the coordinator, or None in a program of one process."""
        return _distributed._client

    @property
    def process_id(self):
        return _process_index() if self.client else 0

    @property
    def num_processes(self):
        return _process_count() if self.client else 1


global_state = _GlobalState()
