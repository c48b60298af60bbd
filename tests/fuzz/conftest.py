"""Hostile input from hypothesis: CI tries it for seconds; a longer profile is available.

Two profiles. `ci`: the same examples every time; each test sets their number. `long`, by `--hypothesis-profile=long`:
each test again and again with other examples, for FUZZ_SECONDS (60) each. The closing lines say how many inputs each
test tried."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable, Generator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "ci",
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.function_scoped_fixture,
    ],
)
settings.register_profile(
    "long", settings.get_profile("ci"), derandomize=False, database=settings.get_profile("default").database
)
settings.load_profile("ci")

_TRIED = "inputs tried"


def _is_fuzzed(item: pytest.Item) -> bool:
    return hasattr(getattr(item, "obj", None), "hypothesis")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Counts examples, including those of hypothesis's own shrinking: each was an input."""
    if not _is_fuzzed(item):
        yield
        return
    handle = item.obj.hypothesis  # type: ignore[attr-defined]
    inner, tried = handle.inner_test, 0

    @functools.wraps(inner)
    def counted(*args: Any, **kwargs: Any) -> Any:
        nonlocal tried
        tried += 1
        return inner(*args, **kwargs)

    handle.inner_test = counted
    try:
        yield
    finally:
        handle.inner_test = inner
        item.user_properties.append((_TRIED, tried))


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """In the long profile, try rounds of other examples until the time is over."""
    begin = time.monotonic()
    result = yield
    if _is_fuzzed(pyfuncitem) and settings.get_current_profile_name() == "long":
        names = pyfuncitem._fixtureinfo.argnames
        arguments = {name: pyfuncitem.funcargs[name] for name in names}
        while time.monotonic() - begin < float(os.environ.get("FUZZ_SECONDS", "60")):
            _again(pyfuncitem.obj, arguments)
    return result


def _again(test: Callable[..., None], arguments: dict[str, Any]) -> None:
    test(**arguments)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    reports = [
        report
        for outcome in ("passed", "failed")
        for report in terminalreporter.getreports(outcome)
        if dict(report.user_properties).get(_TRIED)
    ]
    if not reports:
        return
    counts = {report.nodeid: dict(report.user_properties)[_TRIED] for report in reports}
    terminalreporter.section(f"{sum(counts.values()):,} inputs tried")
    for name, count in sorted(counts.items()):
        terminalreporter.line(f"{count:>9,}  {name}")
