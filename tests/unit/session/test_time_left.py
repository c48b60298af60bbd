"""Whether a run still fits into the remaining time of the allocation."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.common.errors import InputError
from bench.common.files import write_json
from bench.records.run_outcome import RunOutcome
from bench.records.run_spec import RunSpec
from bench.session.recovery import run_record
from bench.session.time_left import TimeLeft
from tests.unit.session.test_session import run_spec


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def left(tmp_path: Path, clock: Clock) -> TimeLeft:
    """1,000 s of an allocation, 30 of which are kept for the end."""
    return TimeLeft(end_s=1000.0, results=tmp_path, clock=clock)


def measured_before(results: Path, spec: RunSpec, elapsed_s: float) -> None:
    folder = results / spec.session_id / spec.run_id
    folder.mkdir(parents=True)
    write_json(folder / "run.json", run_record(spec, RunOutcome(status="ok", elapsed_s=elapsed_s), {}))


def test_a_run_that_nobody_has_measured_may_run_until_the_margin(left: TimeLeft, clock: Clock) -> None:
    clock.now_s = 970.0
    assert left.too_short_for(run_spec()) is None
    clock.now_s = 970.1
    assert left.too_short_for(run_spec()) == "0 s of the allocation are left"
    clock.now_s = 5000.0
    assert left.too_short_for(run_spec()) == "0 s of the allocation are left"


def test_a_run_that_takes_longer_than_what_is_left_is_told_with_both_times(
    left: TimeLeft, clock: Clock
) -> None:
    left.took(run_spec(), 100.0)
    clock.now_s = 870.0
    assert left.too_short_for(run_spec()) is None
    clock.now_s = 871.0
    assert left.too_short_for(run_spec()) == "takes about 1 min 40 s, 1 min 39 s of the allocation are left"


def test_repeats_take_as_long_as_the_longest_of_this_session(left: TimeLeft, clock: Clock) -> None:
    for repeat, elapsed_s in enumerate((50.0, 200.0, 60.0)):
        left.took(run_spec(repeat=repeat, run_id=f"ddp.1x2.r{repeat}"), elapsed_s)
    clock.now_s = 800.0
    told = left.too_short_for(run_spec(repeat=3, run_id="ddp.1x2.r3"))
    assert told == "takes about 3 min 20 s, 2 min 50 s of the allocation are left"


def test_another_run_is_no_evidence(left: TimeLeft, clock: Clock) -> None:
    left.took(run_spec(), 500.0)
    clock.now_s = 900.0
    assert left.too_short_for(run_spec(world_size=4, ranks_per_node=4)) is None
    assert left.too_short_for(run_spec()) is not None


def test_earlier_sessions_tell_how_long_a_run_takes(left: TimeLeft, clock: Clock, tmp_path: Path) -> None:
    measured_before(tmp_path, run_spec(session_id="before"), 300.0)
    clock.now_s = 700.0
    assert left.too_short_for(run_spec()) == "takes about 5 min 00 s, 4 min 30 s of the allocation are left"
    left.took(run_spec(), 20.0)
    assert left.too_short_for(run_spec()) is not None, "one quick repeat does not make the next one quick"


def test_without_an_end_everything_fits(tmp_path: Path, clock: Clock) -> None:
    measured_before(tmp_path, run_spec(session_id="before"), 1e9)
    clock.now_s = 1e12
    assert TimeLeft(end_s=None, results=tmp_path, clock=clock).too_short_for(run_spec()) is None


@pytest.mark.parametrize(
    ("variables", "end_s"),
    [
        ({"SLURM_JOB_ID": "7", "SLURM_JOB_END_TIME": "1795269701"}, 1795269701),
        ({"SLURM_JOB_ID": "7", "SLURM_JOB_END_TIME": "0"}, None),
        ({"SLURM_JOB_ID": "7"}, None),
        ({"SLURM_JOB_END_TIME": "1795269701"}, None),
    ],
)
def test_the_end_is_slurms(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], end_s: float | None
) -> None:
    for name in ("SLURM_JOB_ID", "SLURM_JOB_END_TIME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert TimeLeft.here(tmp_path, None).end_s == end_s


def test_an_end_that_is_no_number_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_JOB_END_TIME", "NONE")
    with pytest.raises(InputError, match="SLURM_JOB_END_TIME=NONE: Slurm sets a number there"):
        TimeLeft.here(tmp_path, None)
