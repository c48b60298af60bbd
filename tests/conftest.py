"""A test that lacks a real part is skipped with the reason; with CI=true such a skip is a failure.

The one exception is a test marked `gpu` on a machine without a GPU. pytest's hooks apply this to every kind of skip,
so no test has to remember it."""

from __future__ import annotations

import functools
import os
import shutil
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path

import pynvml
import pytest

from tests.disks import Disk

os.environ.pop("COLUMNS", None)
"""Set when tests run in parallel, in which case lines would be broken."""


@pytest.fixture(scope="session")
def require_program() -> Callable[[str], str]:
    """`require_program("chromium")`: its path, or the test is skipped with the reason."""

    def require(name: str) -> str:
        path = shutil.which(name)
        if path is None:
            pytest.skip(f"the program {name} is not on PATH")
        return path

    return require


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Callable[[str, str], Disk]]:
    """`disk("results", "64k")`: a disk of that name and size below the test's folder, unmounted at its end."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    with ExitStack() as mounted:

        def mount(name: str, size: str) -> Disk:
            made = Disk(tmp_path / name, size)
            mounted.callback(made.gone)
            return made

        yield mount


@functools.cache
def gpu_count() -> int:
    """NVIDIA GPUs of this machine; 0 without a driver."""
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return 0
    count: int = pynvml.nvmlDeviceGetCount()
    pynvml.nvmlShutdown()
    return count


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("gpu") and gpu_count() == 0:
            item.add_marker(pytest.mark.skip(reason="no NVIDIA GPU on this machine"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if not (item.get_closest_marker("gpu") and gpu_count() == 0):
        _fail_if_skipped_in_ci(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """A whole module can be skipped too, by importorskip or at module level."""
    report = yield
    _fail_if_skipped_in_ci(report)
    return report


def _fail_if_skipped_in_ci(report: pytest.TestReport | pytest.CollectReport) -> None:
    if report.outcome != "skipped" or hasattr(report, "wasxfail") or os.environ.get("CI") != "true":
        return
    _path, _line, reason = report.longrepr  # pytest's form of every skip
    report.outcome = "failed"
    report.longrepr = f"{report.nodeid}: with CI=true nothing may be skipped. {reason}"
