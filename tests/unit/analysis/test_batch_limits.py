"""The table batch_limits and its words, from sessions with probing runs."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from analysis.wording.batch_search import limits
from bench.records.run_spec import FindSpec
from tests.factory import BEGAN, Case, make_session, specs, write_attempt
from tests.unit.analysis.conftest import Ask, asks, measured

MIB = 2**20
FIND = FindSpec()


def probe(folder: Path, case: Case, micro_batch: int, status: str, *, peak_mib: int = 0) -> None:
    """A probing run of the case's first size, and its place in the plan; peak memory is the case's."""
    first = specs(case, folder.name, "smoke", [])[0]
    spec = dataclasses.replace(
        first,
        run_id=first.run_id.replace(".r0", f".find{micro_batch}.r0"),
        batch_per_rank=2 * micro_batch,
        global_batch=2 * micro_batch * first.world_size,
        train=dataclasses.replace(first.train, accumulate=2),
        measure=dataclasses.replace(first.measure, memory_limit_bytes=512 * MIB),
        find_batch=FIND,
        probe=True,
    )
    run = folder / spec.run_id
    run.mkdir()
    needs = dataclasses.replace(case, memory_bytes=peak_mib * MIB)
    write_attempt(run, needs, spec, status, BEGAN, made_by={})
    written = json.loads((run / "run.json").read_text())
    written["outcome"]["memory_before_bytes"] = 100 * MIB
    (run / "run.json").write_text(json.dumps(written))
    head = json.loads((folder / "session.json").read_text())
    planned = {"run_id": spec.run_id, "case_name": spec.case_name, "strategy": spec.strategy, "probe": True}
    head["plan"].insert(0, head["plan"][0] | planned)
    (folder / "session.json").write_text(json.dumps(head))


def _searched(results: Path, name: str) -> None:
    ddp, free, small = (
        Case(name=case, step_ms={2: 50.0}, batch=96, repeats=2) for case in ("ddp", "free", "small")
    )
    session = make_session(results, [ddp, free, small], session_id=name)
    for micro_batch, status, peak in ((8, "ok", 150), (16, "ok", 200), (32, "oom", 0), (64, "ok", 300)):
        probe(session, ddp, micro_batch, status, peak_mib=peak)
    probe(session, free, 8, "ok", peak_mib=150)
    probe(session, small, 8, "ok", peak_mib=99)


searched = asks(_searched)


@searched
def test_the_largest_is_the_one_before_the_first_that_does_not_fit(ask: Ask) -> None:
    rows = ask("FROM batch_limits ORDER BY case_name")
    ddp, free, _ = rows
    assert (ddp["probes"], ddp["largest_micro_batch"], ddp["too_large_micro_batch"]) == (4, 16, 32)
    assert (ddp["too_large_status"], ddp["too_large_error"]) == ("oom", "CUDA out of memory")
    assert (free["largest_micro_batch"], free["too_large_micro_batch"], free["too_large_status"]) == (
        8,
        None,
        None,
    )


@searched
def test_memory_is_that_of_the_largest_that_fits_beyond_what_the_rank_began_with(ask: Ask) -> None:
    ddp = ask("FROM batch_limits WHERE case_name = 'ddp'")[0]
    peak = ddp["peak_memory_allocated_bytes"]
    assert 150 * MIB < peak < 300 * MIB
    assert (ddp["used_bytes"], ddp["available_bytes"]) == (peak - 100 * MIB, 512 * MIB)
    assert ddp["headroom_bytes"] == ddp["available_bytes"] - ddp["used_bytes"]


@searched
def test_a_model_too_small_to_be_seen_in_memory_has_no_use_of_it(ask: Ask) -> None:
    (small,) = ask("FROM batch_limits WHERE case_name = 'small'")
    assert small["peak_memory_allocated_bytes"] is not None
    assert (small["used_bytes"], small["headroom_bytes"]) == (None, None)
    (said,) = limits([small])
    assert "no larger one was tried); measured" in said


@searched
def test_what_was_measured_stands_beside_it(ask: Ask) -> None:
    ddp = ask("FROM batch_limits WHERE case_name = 'ddp'")[0]
    assert [ddp[name] for name in ("accumulate", "micro_batch", "batch_per_rank", "global_batch")] == [
        1,
        48,
        48,
        96,
    ]


@searched
@pytest.mark.parametrize(
    "query",
    [
        "FROM run_summary WHERE run_id LIKE '%find%'",
        "FROM fingerprint WHERE first_run LIKE '%find%'",
        "FROM coverage WHERE planned <> 2 OR ok <> 2",
        "FROM placements WHERE runs <> 2",
        "FROM memory WHERE runs <> 2",
        "FROM scaling WHERE throughput IS NULL",
    ],
)
def test_no_other_figure_knows_of_probing_runs(ask: Ask, query: str) -> None:
    assert ask(query) == []


@searched
def test_what_was_found_is_said_in_words(ask: Ask) -> None:
    said = list(limits(ask("FROM batch_limits ORDER BY case_name")))
    assert said[0].startswith("ddp 1x2: a micro-batch of 16 fits a rank (32: oom), with 1")
    assert said[0].endswith(" of 512 MiB; measured with 1 x 48 examples per rank, 96 in all.")
    assert said[1].startswith("free 1x2: a micro-batch of 8 fits a rank (no larger one was tried), with ")


@measured(Case(name="ddp", step_ms={1: 50.0}))
def test_a_session_without_a_search_has_no_row(ask: Ask) -> None:
    assert ask("FROM batch_limits") == []
    assert ask("SELECT DISTINCT probe FROM runs") == [{"probe": False}]


@searched
@pytest.mark.parametrize(("batch_per_rank", "warned"), [(60, False), (97, True)])
def test_a_batch_that_divides_badly_is_warned_of(ask: Ask, batch_per_rank: int, warned: bool) -> None:
    row = ask("FROM batch_limits WHERE case_name = 'ddp'")[0]
    micro_batch = {60: 15, 97: 1}[batch_per_rank]
    parts = {"accumulate": batch_per_rank // micro_batch, "micro_batch": micro_batch}
    (said,) = limits([row | parts | {"batch_per_rank": batch_per_rank}])
    assert ("97 examples per rank divide into no larger equal parts that fit." in said) is warned


def _searched_later(results: Path, name: str) -> None:
    first, other = (Case(name=case, step_ms={2: 50.0}, repeats=2) for case in ("plain", "buckets"))
    sharded = Case(name="sharded", step_ms={2: 50.0}, repeats=2, strategy="fsdp")
    session = make_session(results, [first, other, sharded], session_id=name)
    for case in (first, other):  # each is written before what is there
        probe(session, case, 8, "ok")
    head = json.loads((session / "session.json").read_text())
    assert [planned["run_id"].partition(".")[0] for planned in head["plan"][:3]] == [
        "buckets",
        "plain",
        "plain",
    ]


@asks(_searched_later)
def test_of_ddp_cases_the_suites_first_is_the_reference_though_its_search_came_later(ask: Ask) -> None:
    rows = ask("FROM strategy_comparison")
    assert [(row["reference_case"], row["case_name"]) for row in rows] == [("plain", "sharded")]
