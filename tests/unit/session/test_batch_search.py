"""A search in a session's folder: the files of the probing runs determine the next step."""

from __future__ import annotations

import json
from pathlib import Path

from bench.plan.find_batch import Found, measured
from bench.plan.plan import plan
from bench.records.run_outcome import RunOutcome
from bench.records.run_spec import FindSpec, PlannedRun
from bench.session.batch_search import BatchSearch
from tests.unit.plan.test_plan import LAPTOP, case, suite

Plan = tuple[PlannedRun, ...]
SHARE = 2**30


def begun(session: Path, **keys: object) -> tuple[BatchSearch, Plan]:
    written = {"batch_per_rank": None, "find_batch": FindSpec(largest=8)} | keys
    once = case(scaling="none", world=[1, 2], **written)
    return BatchSearch(session, lambda spec: SHARE * spec.world_size), plan(suite(once), LAPTOP, "s")


def ends(session: Path, run: PlannedRun, status: str, *, rank: int | None = 0, **outcome: object) -> None:
    """The run leaves its file."""
    folder = session / run.spec.run_id
    folder.mkdir()
    told = {"status": status, "error": None if status == "ok" else "it broke", "failed_rank": rank}
    (folder / "run.json").write_text(json.dumps({"outcome": told | outcome}))


def ids(runs: Plan) -> list[str]:
    return [run.spec.run_id for run in runs]


def test_sizes_are_searched_in_turn_and_one_that_is_found_drops_out(tmp_path: Path) -> None:
    search, runs = begun(tmp_path)
    first = search.next(runs)
    assert ids(first) == ["a.1x1.find1.r0", "a.1x2.find1.r0"]
    ends(tmp_path, first[0], "ok")
    ends(tmp_path, first[1], "oom")
    second = search.next((*first, *runs))
    assert ids(second) == ["a.1x1.find2.r0"]
    ends(tmp_path, second[0], "failed")
    assert search.next((*first, *second, *runs)) == ()
    assert search.sentences(runs) == [
        "a.1x1: a micro-batch of 1 fits, 2 does not (failed)",
        "a.1x2: not even a micro-batch of 1 fits (oom)",
    ]
    whole = search.settle((*first, *second, *runs))
    assert [(run.pending, run.spec.batch_per_rank) for run in measured(whole)[:2]] == [(False, 1), (True, 0)]
    assert search.outcome_without_batch(runs[1]) == RunOutcome(
        status="oom", failed_rank=0, error="no micro-batch to measure with: find_batch tried 1: it broke"
    )


def test_a_limit_on_a_cpu_is_the_share_that_there_was_at_the_sizes_first_probing_run(tmp_path: Path) -> None:
    search, runs = begun(tmp_path)
    first = search.next(runs)
    assert [run.spec.measure.memory_limit_bytes for run in first] == [SHARE, 2 * SHARE]
    for run in first:
        ends(tmp_path, run, "ok")
    later = BatchSearch(tmp_path, lambda _spec: 1)
    assert [run.spec.measure.memory_limit_bytes for run in later.next((*first, *runs))] == [SHARE, 2 * SHARE]
    assert search.settle((*first, *runs))[2].spec.measure.memory_limit_bytes is None


def test_a_probing_run_that_says_nothing_is_begun_again_by_a_resume_alone(tmp_path: Path) -> None:
    search, runs = begun(tmp_path)
    first = search.next(runs)
    ends(tmp_path, first[0], "skipped", rank=None, skipped_for="time")
    ends(tmp_path, first[1], "failed", rank=None)  # an agent was lost: no rank is to blame
    whole = (*first, *runs)
    assert search.next(whole) == ()
    assert search.settle(whole) == whole
    assert search.outcome_without_batch(runs[0]).skipped_for == "time"
    assert search.outcome_without_batch(runs[1]).status == "failed"
    assert BatchSearch(tmp_path, lambda _spec: SHARE).next(whole) == first


def test_a_search_that_comes_to_its_bound_has_nothing_too_large(tmp_path: Path) -> None:
    search, runs = begun(tmp_path)
    done: Plan = ()
    while probes := search.next((*done, *runs)):
        for probe in probes:
            ends(tmp_path, probe, "ok")
        done = (*done, *probes)
    assert ids(done)[::2] == [f"a.1x1.find{size}.r0" for size in (1, 2, 4, 8)]
    assert search.found(runs[0].spec) == Found(largest=8, too_large=None)
    assert search.sentences(runs)[0] == "a.1x1: a micro-batch of 8 fits, the largest tried"


def test_a_batch_that_divides_badly_is_warned_of(tmp_path: Path) -> None:
    search, runs = begun(tmp_path, batch_per_rank=97)
    done: Plan = ()
    while probes := search.next((*done, *runs)):
        for probe in probes:
            ends(tmp_path, probe, "ok")
        done = (*done, *probes)
    assert search.sentences(runs)[0] == (
        "a.1x1: a micro-batch of 8 fits, the largest tried; "
        "measured with 1 only: 97 examples per rank divide into no larger equal parts that fit"
    )
