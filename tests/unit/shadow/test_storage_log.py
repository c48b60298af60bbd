"""The log of storages: bytes at the peak, by kind."""

from __future__ import annotations

import pytest
import torch

from bench.shadow.memory import StorageLog


@pytest.fixture
def logged() -> tuple[StorageLog, range]:
    """The log of a step with 400 bytes of parameters, 80 of activations, and 1,000 that its optimizer makes; and the
    moments of the optimizer."""
    with StorageLog() as log:
        parameters = torch.zeros(100)
        log.tell([parameters], "parameters")
        log.begin()
        backward_ends = log.moment()
        temporary = torch.zeros(250)
        del temporary
        update = range(backward_ends, log.moment())
        kept = torch.zeros(20)
        del kept
    return log, update


def test_the_peak_is_where_most_bytes_are_alive(logged: tuple[StorageLog, range]) -> None:
    log, _ = logged
    assert (log.peak().parameters, log.peak().activations) == (400, 1000)


def test_kinds_and_what_was_made_at_some_moments_can_be_left_out(logged: tuple[StorageLog, range]) -> None:
    log, update = logged
    memory = log.peak(without=["parameters"], without_made_in=[update])
    assert (memory.parameters, memory.activations) == (0, 80)
