"""Files of the kernel that are missing, empty or odd: the figure is unknown, and nothing fails."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench.agent import cause_of_death
from bench.common import process, system_files, unreadable_image
from bench.common.system_files import number_in, numbers_of, text_of
from bench.launch import launchers
from bench.machine import amd_gpus, cgroup, cpus, environment
from bench.measure import clock_cpu
from bench.measure.sensors import other_processes

ODD = [
    "",
    "\n",
    "max",
    "max max max",
    "-1 x",
    "a:b",
    "\udcff",
    "0::/",
    "cpu0 1",
    "cpu0 x y z",
    "oom_kill x",
    "1-",
]


@pytest.mark.parametrize(
    ("text", "numbers", "number"),
    [
        ("7\n", [7], 7),
        ("-1 100000", [-1, 100_000], None),
        ("max 100000", [], None),
        ("", [], None),
        ("1_0", [], None),
    ],
)
def test_numbers_are_read_or_unknown(
    tmp_path: Path, text: str, numbers: list[int], number: int | None
) -> None:
    (tmp_path / "file").write_text(text)
    assert numbers_of(text) == numbers
    assert number_in(tmp_path / "file") == number


@pytest.mark.parametrize("place", ["missing", ".", "file/inside"])
def test_a_file_that_cannot_be_read_has_no_text(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_bytes(b"\xff\xfe")
    assert text_of(tmp_path / place) == ""
    assert text_of(tmp_path / "file") == "\ufffd\ufffd"


READERS: dict[str, tuple[Any, Callable[[], object], object]] = {
    "quota of CPUs": (cgroup, cgroup.cpu_quota, None),
    "memory that is left": (cgroup, cgroup.memory_left_bytes, None),
    "cores": (cpus, lambda: cpus.cores([0, 1]), [[0], [1]]),
    "GPUs of AMD": (amd_gpus, amd_gpus.uuids, []),
    "processes killed for memory": (cause_of_death, cause_of_death.kernel_oom_kills, None),
    "parts of files in memory": (unreadable_image, lambda: list(unreadable_image._mapped_spans()), []),
    "state of a process": (process, lambda: process.is_stopped(1), False),
    "time of other processes": (other_processes, lambda: other_processes._busy_s({0, 1}), 0.0),
    "time of a process": (other_processes, lambda: other_processes._spent_s(1), None),
    "proxy of Hydra": (launchers, lambda: launchers._hydra({}), None),
    "sizes of a process": (clock_cpu, clock_cpu.status_bytes, {}),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("text", ODD)
def test_an_odd_file_is_unknown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, reader: str, text: str
) -> None:
    """Every file of the kernel has this text."""
    module, read, unknown = READERS[reader]
    file = tmp_path / "odd"
    file.write_text(text, errors="surrogateescape")
    for name, function in (("text_of", text_of), ("number_in", number_in)):
        if hasattr(module, name):
            monkeypatch.setattr(module, name, lambda _path, function=function: function(file))
    monkeypatch.setattr(system_files, "text_of", lambda path: Path(path).read_text(errors="replace").strip())
    assert read() == unknown


def test_the_model_of_a_cpu_without_a_name_is_its_architecture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "text_of", lambda _path: "processor : 0")
    assert environment.cpu_model() == environment.platform.machine()
