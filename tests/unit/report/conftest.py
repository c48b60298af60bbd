"""One results folder with one session of each kind, and its report, made once."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from analysis.database import connections
from analysis.database.rows import Row
from analysis.loading.load import load
from analysis.report import named_queries, write
from analysis.report.pages import session
from analysis.report.pages.comparison.page import compare_page
from analysis.report.pages.session_data import Contents, read
from bench.measure.machine.bandwidth import bus_factor
from bench.records.run_spec import RunSpec
from tests.factory import BEGAN, Case, make_session
from tests.machine_rows import add_collectives, add_matmuls, machine_case
from tests.profile_rows import Figures, add_profile, add_timeline
from tests.unit.analysis.conftest import Stored, empty, shared, stored, stored_together
from tests.wire_rows import add_wire_steps

__all__ = ["empty", "shared", "stored", "stored_together"]

SCALING = "20261121T014925Z-smoke-3f9a"
GPUS = "20261121T034925Z-gpus-77aa"
BROKEN = "20261121T044925Z-broken-0001"
MACHINE = "machine"
"""A session that trains nothing; `measured` has its contents, but it is in no report."""
LAWS = "laws"
"""A session with sizes enough for every law; `fitted` has its contents, but it is in no report."""
HOSTILE = "we<i>rd\"&'[x] \u202ename"
HOSTILE_CASE = "\"><script>window.hacked=1<\u2215script>&amp;\u202e\u2028'"


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Loaded; without jitter, so that every figure can be worked out."""
    folder = tmp_path_factory.mktemp("report") / "results"
    folder.mkdir()
    session = make_session(
        folder,
        [
            Case(
                name="ddp",
                step_ms={1: 400.0, 2: 200.0, 4: 125.0},
                accuracy=0.9,
                steps=400,
                warmup=2,
                flops_per_example=1e9,
            ),
            Case(name="alone", strategy="single", scaling="none", step_ms={1: 100.0}),
            Case(
                name="fsdp",
                strategy="fsdp",
                step_ms={1: 400.0, 2: [210.0, 220.0, 230.0], 4: 100.0},
                statuses={(1, 2): "failed"},
                oversubscribed=frozenset({4}),
            ),
        ],
        session_id=SCALING,
    )
    add_profile(session, _profiled, {"all_reduce": (1, 1_000_000, 40_000_000)})
    add_timeline(session)
    add_wire_steps(session / "ddp.1x4.r0", factors=(0, 0.5, 1, 2), rounds=6, step_ms=_on_other_networks)
    _make(
        folder,
        GPUS,
        2,
        Case(
            name="fsdp",
            strategy="fsdp",
            device_type="cuda",
            step_ms={8: 60.0, 16: 40.0},
            flops_per_example=1e12,
        ),
    )
    add_profile(folder / GPUS, _profiled, {"all_gather": (2, 2_000_000, 40_000_000)})
    add_timeline(folder / GPUS)
    add_wire_steps(folder / GPUS / "fsdp.2x8.r0", factors=(1, 2), rounds=6, step_ms=_on_other_networks)
    failed = {(n, repeat): "failed" for n in (1, 2) for repeat in range(3)}
    _make(folder, BROKEN, 3, Case(name="ddp", step_ms={1: 50.0, 2: 30.0}, statuses=failed))
    _make(folder, HOSTILE, 4, Case(name=HOSTILE_CASE, step_ms={1: 50.0, 2: 30.0}))
    assert load(folder).problems == ()
    return folder


def _on_other_networks(factor: float, number: int, _rank: int) -> float:
    return 100 + 25 * factor + (number if factor != 1 else 0)


def _profiled(_spec: RunSpec, _rank: int) -> Figures:
    return 120, 40, 30, 60


@pytest.fixture(scope="session")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results folder with MACHINE, of links of 100 GB/s with 20 us of latency and 500 TFLOP/s, and LAWS, loaded."""
    folder = tmp_path_factory.mktemp("machine")
    cases = [
        machine_case("links", [1, 2, 16], device_type="cuda"),
        machine_case("square", [1], workload="matmul", device_type="cuda"),
    ]
    make_session(folder, cases, session_id=MACHINE)

    def exchange_ns(spec: RunSpec, op: str, message_bytes: int) -> float:
        return (20_000 + message_bytes * bus_factor(op, spec.world_size) / 100) * (1 + 0.02 * spec.repeat)

    add_collectives(folder / MACHINE, exchange_ns, ops=("all_reduce", "broadcast"), sizes=(1024, 2**30))
    add_matmuls(
        folder / MACHINE, lambda spec, n: 2 * n**3 / 500e3 * (1 + 0.02 * spec.repeat), sizes=(512, 8192)
    )
    peaked = {n: 100 * (1 + 0.05 * (n - 1) + 0.002 * n * (n - 1)) / n for n in (1, 2, 4, 8, 16)}
    noisy = {n: [ms, 1.01 * ms, 0.98 * ms * (1 + 0.01 * (n % 3))] for n, ms in peaked.items()}
    weak = {n: [0.98 * ms, ms, 1.02 * ms] for n, ms in {1: 100.0, 2: 102.0, 4: 104.0, 8: 109.0}.items()}
    cases = [
        Case(name="ddp", step_ms=noisy, batch=128, ranks_per_node=16, rounds=False),
        Case(name="weak", step_ms=weak, scaling="weak", rounds=False),
    ]
    make_session(folder, cases, session_id=LAWS)
    assert load(folder).problems == ()
    return folder


@pytest.fixture(scope="session")
def measured(machine: Path) -> Contents:
    return contents_of(machine, MACHINE)[MACHINE]


@pytest.fixture(scope="session")
def fitted(machine: Path) -> Contents:
    """Contents of the page of LAWS."""
    return contents_of(machine, LAWS)[LAWS]


def _make(folder: Path, session_id: str, hours: int, case: Case) -> None:
    suite = "<script>window.hacked=1</script>" + 280 * "s" if session_id == HOSTILE else "made"
    make_session(
        folder, [case], session_id=session_id, suite=suite, created_at=BEGAN + timedelta(hours=hours)
    )


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Vega is bundled once for all tests, and not into the user's own cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def pages(results: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Pages of all sessions, the index last."""
    return write(results, [], tmp_path_factory.mktemp("public") / "nested" / "report")


@pytest.fixture(scope="session")
def page_of(pages: list[Path]) -> dict[str, str]:
    """HTML by session, and of the index, with Vega cut out."""
    names = [HOSTILE, BROKEN, GPUS, SCALING, "index"]
    return {name: _without_vega(path.read_text("utf-8")) for name, path in zip(names, pages, strict=True)}


def contents_of(results: Path, *sessions: str) -> dict[str, Contents]:
    """Contents of each page, read as the report reads them; this takes a third of the time of rebuilding the
    views."""
    with connections.reader(results) as connection:
        return {session: read(connection, session) for session in sessions}


@functools.cache
def _contents(results: Path, session_id: str) -> Contents:
    return contents_of(results, session_id)[session_id]


@pytest.fixture
def contents(stored: Stored) -> Contents:
    """Contents of the page of `stored`."""
    return _contents(*stored)


def section_of(contents: Contents, identifier: str) -> str:
    """The HTML of a section of a session's page."""
    return next(str(part.content) for part in session.sections(contents) if part.identifier == identifier)


def table_of(results: Path, session: str, name: str) -> list[Row]:
    """Rows of one of the page's tables alone, its cases in the order of the suite."""
    with connections.reader(results) as connection:
        cases = named_queries.frame(connection, "cases", session).get_column("case_name").to_list()
        return named_queries.by_suite(named_queries.frame(connection, name, session), cases).to_dicts()


def comparison(results: Path, sessions: Sequence[str]) -> str:
    """HTML of the page that compares them, without Vega; `write` would make the page of every session, too."""
    with connections.reader(results) as connection:
        return compare_page(connection, sessions, bundle="")


def _without_vega(html: str) -> str:
    head, found, tail = html.partition("<script>const ")
    return head + tail.partition("</script>")[2] if found else html
