"""Table `efficiency_loss`: each cause planted alone and in pairs is found with its size, and the six add up."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner
from scipy.stats import t

from analysis.loading import read_files
from analysis.loading.scan import discover
from tests.planted import Planted, Step, plant
from tests.unit.analysis.conftest import fetch, take_in

TERMS = ("data", "imbalance", "communication", "clocks", "work", "remainder")
ALONE = Step(computation=400, data=12)
"""The step of one rank, of a batch of which each of two ranks gets half."""
CLOCK, LOWER_CLOCK = 1_980.0, 1_584.0
CAUSES = ("data", "imbalance", "communication", "clocks", "work")
CHOICES = [choice for count in (0, 1, 2) for choice in itertools.combinations(CAUSES, count)]


def _pair(causes: tuple[str, ...]) -> Step:
    """The step of each of two ranks with these causes."""
    at_full_clock = 200 + (20 if "work" in causes else 0)
    return Step(
        computation=at_full_clock / (LOWER_CLOCK / CLOCK if "clocks" in causes else 1),
        data_of_all=6,
        data=30 if "data" in causes else 0,
        imbalance=25 if "imbalance" in causes else 0,
        communication=40 if "communication" in causes else 0,
    )


def _lost_ms(causes: tuple[str, ...]) -> dict[str, float]:
    """Time that each cause adds to a rank's step; lower clocks make the whole computation longer."""
    longer = (200 + (20 if "work" in causes else 0)) * (CLOCK / LOWER_CLOCK - 1)
    planted = {"data": 30.0, "imbalance": 25.0, "communication": 40.0, "clocks": longer, "work": 20.0}
    return {cause: ms if cause in causes else 0.0 for cause, ms in planted.items()}


def _causes(causes: tuple[str, ...], **values: Any) -> Planted:
    clocks = {1: CLOCK, 2: LOWER_CLOCK if "clocks" in causes else CLOCK}
    return Planted(steps={1: ALONE, 2: _pair(causes)}, clock_mhz=clocks, **values)


REPEATS = {
    1: [Step(computation=400, data=8), Step(computation=420, data=4), Step(computation=404, data=6)],
    2: [
        Step(computation=230, data_of_all=4, communication=40, imbalance=10),
        Step(computation=220, data_of_all=6, communication=48, imbalance=6),
        Step(computation=224, data_of_all=5, communication=42, imbalance=9),
    ],
}
LATE = Planted(
    steps={
        1: [Step(computation=400 + repeat) for repeat in range(3)],
        2: [Step(computation=205, imbalance=5, communication=2, late=160 + repeat) for repeat in range(3)],
    }
)
"""The last of two ranks sleeps in backward, and the other waits for it; they communicate for 2 of 372 ms."""
OTHERS = {
    # Three repeats each, with every cause.
    "repeats": Planted(steps=REPEATS, rounds=False),
    "rounds": Planted(steps=REPEATS),
    "fsdp": Planted(steps={1: ALONE, 2: _pair(CAUSES)}, strategy="fsdp"),
    "fsdp_profiled": Planted(steps={1: ALONE, 2: _pair(CAUSES)}, strategy="fsdp", profiled="all"),
    "of_no_known_waits": Planted(steps={1: ALONE, 2: _pair(CAUSES)}, strategy="mesh", profiled="all"),
    "one_side_profiled": Planted(steps={1: ALONE, 2: _pair(CAUSES)}, profiled=frozenset({2})),
    "two_to_four": Planted(
        steps={
            2: Step(computation=200, data_of_all=6, imbalance=16, communication=30),
            4: Step(computation=110, data_of_all=5, data=7, imbalance=12, communication=45, other=3),
        },
        profiled="all",
        ranks_per_node=2,
    ),
    "two_to_four_measured": Planted(
        steps={2: Step(computation=200, communication=30), 4: Step(computation=110, communication=45)},
    ),
    "weak": Planted(
        steps={1: Step(computation=400), 2: Step(computation=440, data=5, communication=30)},
        scaling="weak",
    ),
    "threads": Planted(
        steps={1: Step(computation=400, data=20), 2: Step(computation=230, data=20)}, axis="threads"
    ),
    "gains": Planted(
        steps={
            1: Step(computation=400, data=50),
            2: Step(computation=180, data_of_all=10, communication=2),
        },
    ),
    "late_estimated": LATE,
    "late_profiled": replace(LATE, profiled="all"),
    "mostly_estimated": Planted(
        steps={
            1: [Step(computation=40 + 8 * repeat) for repeat in range(3)],
            2: [Step(computation=20, imbalance=150, communication=150 + 60 * repeat) for repeat in range(3)],
        },
    ),
    "elsewhere": Planted(steps={2: Step(computation=210, communication=9)}, baseline="gains"),
}


@pytest.fixture(scope="module")
def rows(
    in_memory: duckdb.DuckDBPyConnection, tmp_path_factory: pytest.TempPathFactory
) -> list[dict[str, Any]]:
    """Rows of one session with all cases; c is the cost of an example in seconds of all ranks."""
    results: Path = tmp_path_factory.mktemp("planted")
    estimated = {f"estimated {' '.join(causes)}": _causes(causes) for causes in CHOICES}
    profiled = {f"profiled {' '.join(causes)}": _causes(causes, profiled="all") for causes in CHOICES}
    plant(results, {**estimated, **profiled, **OTHERS})
    in_memory.begin()
    take_in(in_memory, read_files.read(discover(results), {}))
    found = fetch(
        in_memory,
        "SELECT efficiency_loss.*, scaling.efficiency AS of_scaling, scaling.global_batch "
        "FROM efficiency_loss JOIN scaling USING (session_id, case_name, nodes, ranks_per_node, threads) "
        "ORDER BY case_name, term_order",
    )
    in_memory.rollback()
    return found


def _of(rows: list[dict[str, Any]], case_name: str) -> dict[str, dict[str, Any]]:
    found = {row["term"]: row for row in rows if row["case_name"] == case_name}
    assert tuple(found) == TERMS
    return found


def _shares(rows: list[dict[str, Any]], case_name: str) -> dict[str, float | None]:
    return {term: row["share"] for term, row in _of(rows, case_name).items()}


def _expected(lost_ms: Mapping[str, float | None], step_ms: float) -> Any:
    return {
        term: None if ms is None else pytest.approx(ms / step_ms, abs=1e-6) for term, ms in lost_ms.items()
    }


def test_every_case_has_its_six_terms_and_they_add_up(rows):
    cases = {row["case_name"] for row in rows}
    assert len(cases) == 2 * len(CHOICES) + len(OTHERS)
    for case in cases:
        terms = _of(rows, case)
        assert [row["term_order"] for row in terms.values()] == [1, 2, 3, 4, 5, 6]
        (efficiency,) = {row["of_scaling"] for row in terms.values()}
        assert terms["data"]["efficiency"] == efficiency
        shares = [row["share"] for row in terms.values() if row["share"] is not None]
        assert math.fsum(shares) == pytest.approx(1 - efficiency, abs=1e-9)


@pytest.mark.parametrize("causes", CHOICES, ids=" ".join)
@pytest.mark.parametrize("known_by", ["estimated", "profiled"])
def test_a_planted_cause_is_found_with_its_size_and_no_other(rows, known_by, causes):
    terms = _of(rows, f"{known_by} {' '.join(causes)}")
    assert {row["known_by"] for row in terms.values()} == {known_by}
    lost = {**_lost_ms(causes), "remainder": 0.0}
    shares = {term: row["share"] for term, row in terms.items()}
    assert shares == _expected(lost, _pair(causes).total)
    lost_ms = {term: row["lost_ms"] for term, row in terms.items()}
    assert lost_ms == pytest.approx(lost, abs=1e-5)


def test_a_share_of_the_cost_of_an_example_is_its_rank_seconds(rows):
    row = _of(rows, "estimated data imbalance")["data"]
    assert row["rank_s_per_example"] == pytest.approx(0.030 * 2 / row["global_batch"])


def test_intervals_are_students_over_the_shares_of_each_round(rows):
    work = _of(rows, "rounds")["work"]
    # Two ranks halve the batch, so the computation of one rank is halved before the comparison.
    shares = [(230 - 400 / 2) / 284, (220 - 420 / 2) / 280, (224 - 404 / 2) / 280]
    half = t.ppf(0.975, 2) * stdev(shares) / math.sqrt(3)
    assert work["share"] == pytest.approx(mean(shares), rel=1e-6)
    assert work["share_lo"] == pytest.approx(mean(shares) - half, rel=1e-6)
    communication = _of(rows, "rounds")["communication"]["share"]  # estimated computation may include it
    assert work["share_hi"] == pytest.approx(mean(shares) + half + communication, rel=1e-6)


def test_without_rounds_intervals_are_welchs_over_repeats(rows):
    terms = _of(rows, "repeats")
    step_ms = math.prod((284, 280, 280)) ** (1 / 3)  # the mean of throughputs is geometric
    # Two ranks halve the batch, so the computation of one rank is halved before the comparison.
    here, there = [230.0, 220.0, 224.0], [200.0, 210.0, 202.0]
    variances = [stdev(values) ** 2 / 3 for values in (here, there)]
    df = sum(variances) ** 2 / sum(variance**2 / 2 for variance in variances)
    half = t.ppf(0.975, df) * math.sqrt(sum(variances)) / step_ms
    work = terms["work"]
    assert work["share"] == pytest.approx((mean(here) - mean(there)) / step_ms, abs=1e-6)
    assert work["share_lo"] == pytest.approx(work["share"] - half, rel=1e-3)
    # Estimated computation may be longer by all that is called communication.
    communication = terms["communication"]
    assert work["share_hi"] == pytest.approx(work["share"] + half + communication["share"], rel=1e-3)
    # A cause that the baseline does not have: Student's interval of one side.
    half = t.ppf(0.975, 2) * stdev([40.0, 48.0, 42.0]) / math.sqrt(3) / step_ms
    assert communication["share_hi"] - communication["share"] == pytest.approx(half, rel=1e-3)
    assert (terms["clocks"]["share_lo"], terms["clocks"]["share_hi"]) == (None, None)


def test_a_rank_that_is_slow_in_backward_alone_is_within_the_intervals_of_an_estimate(rows):
    """Without profiled steps its sleep looks like communication; the intervals hold what the profiled steps show."""
    estimated, profiled = _of(rows, "late_estimated"), _of(rows, "late_profiled")
    measured = {term: row["share"] for term, row in profiled.items()}
    assert measured["imbalance"] == pytest.approx(166 / 373, abs=2e-3)
    assert measured["communication"] == pytest.approx(2 / 373, abs=2e-4)
    assert estimated["communication"]["share"] == pytest.approx(163 / 373, abs=2e-3)
    for term in ("imbalance", "communication", "work"):
        assert estimated[term]["share_lo"] <= measured[term] <= estimated[term]["share_hi"]
    assert estimated["communication"]["share_lo"] == 0
    for term in ("imbalance", "work"):
        added = estimated[term]["share_hi"] - estimated[term]["share"]
        assert added > estimated["communication"]["share"]
    # What was measured keeps the narrow interval of its repeats.
    for row in (*profiled.values(), estimated["remainder"], estimated["data"]):
        if row["share_hi"] is not None:
            assert row["share_hi"] - row["share_lo"] < 0.02


def test_no_interval_of_an_estimate_goes_beyond_all_of_the_time(rows):
    """Above 1 nothing can be lost; here imbalance and communication together are close to it."""
    row = _of(rows, "mostly_estimated")["imbalance"]
    assert row["share"] + _of(rows, "mostly_estimated")["communication"]["share"] > 0.9
    assert row["share_hi"] == 1


def test_one_repeat_has_no_interval(rows):
    terms = _of(rows, "estimated data").values()
    assert {(row["share_lo"], row["share_hi"]) for row in terms} == {(None, None)}


def test_fsdp_without_profiled_steps_knows_its_data_and_leaves_the_rest_to_the_remainder(rows):
    step = _pair(CAUSES)
    unknown = dict.fromkeys(("imbalance", "communication", "clocks", "work"))
    assert _shares(rows, "fsdp") == _expected(
        {"data": 30, **unknown, "remainder": step.total - 30 - 206}, step.total
    )
    assert {row["known_by"] for row in _of(rows, "fsdp").values()} == {None}


def test_profiled_fsdp_knows_what_ddp_does(rows):
    lost = {**_lost_ms(CAUSES), "clocks": None, "remainder": 0.0}
    lost["work"] += _lost_ms(CAUSES)[
        "clocks"
    ]  # the clocks are unknown here, so slower computation counts as work
    assert _shares(rows, "fsdp_profiled") == _expected(lost, _pair(CAUSES).total)


def test_where_a_strategys_waits_are_not_known_a_wait_for_data_is_imbalance(rows):
    """The others wait for that rank in a collective."""
    shares = _shares(rows, "of_no_known_waits")
    lost = _lost_ms(CAUSES)
    assert shares["data"] is None
    assert shares["communication"] == pytest.approx(lost["communication"] / _pair(CAUSES).total)
    assert shares["imbalance"] == pytest.approx((lost["data"] + lost["imbalance"]) / _pair(CAUSES).total)


def test_both_sides_are_known_in_the_same_way(rows):
    lost = {**_lost_ms(CAUSES), "clocks": None, "remainder": 0.0}
    lost["work"] += _lost_ms(CAUSES)["clocks"]
    assert _shares(rows, "one_side_profiled") == _expected(lost, _pair(CAUSES).total)
    assert {row["known_by"] for row in _of(rows, "one_side_profiled").values()} == {"estimated"}


def test_a_baseline_of_two_ranks_has_causes_of_its_own(rows):
    """A step of 4 ranks costs an example as much as a step of 2 ranks that is twice as long."""
    here, there = (OTHERS["two_to_four"].steps[n] for n in (4, 2))
    lost = {
        "data": 12 - 6 / 2,
        "imbalance": 12 - 16 / 2,
        "communication": 45 - 30 / 2,
        "clocks": None,
        "work": 110 - 200 / 2,
        "remainder": 3.0,
    }
    assert _shares(rows, "two_to_four") == _expected(lost, here.total)
    efficiency = _of(rows, "two_to_four")["data"]["efficiency"]
    assert efficiency == pytest.approx(there.total / 2 / here.total)


def test_without_one_rank_nothing_is_estimated(rows):
    shares = _shares(rows, "two_to_four_measured")
    assert [term for term, share in shares.items() if share is None] == [
        "imbalance",
        "communication",
        "clocks",
        "work",
    ]
    assert shares["remainder"] == pytest.approx((155 - 230 / 2) / 155)


def test_under_weak_scaling_a_computation_that_takes_longer_is_work(rows):
    lost = {"data": 5, "imbalance": 0, "communication": 30, "clocks": None, "work": 40, "remainder": 0}
    assert _shares(rows, "weak") == _expected(lost, 475)


def test_over_threads_an_example_costs_every_threads_time(rows):
    lost = {
        "data": 20 - 20 / 2,
        "imbalance": 0,
        "communication": 0,
        "clocks": None,
        "work": 30,
        "remainder": 0,
    }
    assert _shares(rows, "threads") == _expected(lost, 250)
    assert {row["known_by"] for row in _of(rows, "threads").values()} == {"one rank"}


def test_what_gets_cheaper_is_below_0(rows):
    lost = {"data": -15, "imbalance": 0, "communication": 2, "clocks": None, "work": -20, "remainder": 0}
    assert _shares(rows, "gains") == _expected(lost, 192)
    assert _of(rows, "gains")["data"]["efficiency"] > 1


def test_a_case_is_held_against_the_baseline_that_it_names(rows):
    lost = {"data": -25, "imbalance": 0, "communication": 9, "clocks": None, "work": 10, "remainder": 0}
    assert _shares(rows, "elsewhere") == _expected(lost, 219)
    assert {row["baseline_case"] for row in _of(rows, "elsewhere").values()} == {"gains"}


def test_of_a_training_measured_elsewhere_nothing_but_the_remainder_is_known(results, read_back):
    table = Path(__file__).parents[3] / "docs/examples/published_table.txt"
    done = CliRunner().invoke(
        import_module("bench.cli.import").command,
        [str(table), "--suite", "published", "--results", str(results)],
    )
    assert done.exit_code == 0, done.output
    rows = read_back()("FROM efficiency_loss ORDER BY workers, term_order")
    assert [row["workers"] for row in rows] == [4] * 6 + [8] * 6
    for row in rows:
        assert row["share"] == (pytest.approx(1 - row["efficiency"]) if row["term"] == "remainder" else None)
