"""A session that begins on a busy machine says so."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from bench.measure.sensors.other_processes import OtherProcesses
from bench.session.start import warn_of_other_work


@pytest.fixture
def busy() -> Iterator[None]:
    """As many processes compute as this one has CPUs."""
    command = [sys.executable, "-c", "print(flush=True)\nwhile True: pass"]
    processes = [
        subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(len(os.sched_getaffinity(0)))
    ]
    for process in processes:
        assert process.stdout is not None
        process.stdout.readline()
    yield
    for process in processes:
        process.kill()
        process.communicate()


def test_work_of_others_is_warned_of_before_anything_is_measured(
    busy: None, capsys: pytest.CaptureFixture[str]
) -> None:
    warn_of_other_work(OtherProcesses([]))
    said = capsys.readouterr().err
    assert said.startswith("bench: other processes use ")
    assert said.endswith(" % of the CPUs available here: stop them, or the session measures a busy machine\n")
