from tests.unit.analysis.conftest import empty, in_memory, read_back, results

__all__ = ["empty", "in_memory", "read_back", "results"]
