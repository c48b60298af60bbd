"""The log of storages: bytes at the peak, by kind."""

from __future__ import annotations

import pytest
import torch

from bench.shadow.memory import StorageLog


@pytest.fixture
def logged() -> tuple[StorageLog, int]:
    """The log of a step with 400 bytes of parameters, 80 and then 40 of activations, and 1,000 for its optimizer; and
    the moment at which backward ends."""
    with StorageLog() as log:
        parameters = torch.zeros(100)
        log.tell([parameters], "parameters")
        log.begin()
        forward = torch.zeros(20)
        del forward
        backward = torch.zeros(10)
        del backward
        ended = log.moment()
        temporary = torch.zeros(250)
        del temporary
    return log, ended


def test_the_peak_is_where_most_bytes_are_alive(logged: tuple[StorageLog, int]) -> None:
    log, _ = logged
    assert (log.peak().parameters, log.peak().activations) == (400, 1000)


def test_what_comes_after_a_moment_does_not_count(logged: tuple[StorageLog, int]) -> None:
    log, ended = logged
    memory = log.peak(until=ended, without=["parameters"])
    assert (memory.parameters, memory.activations) == (0, 80)
