from tests.unit.analysis.conftest import (
    _ask_of_measured,
    _measured,
    empty,
    in_memory,
    read_back,
    results,
    without_rules,
)

__all__ = ["_ask_of_measured", "_measured", "empty", "in_memory", "read_back", "results", "without_rules"]
