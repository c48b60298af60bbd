"""Every query of docs/sql.md answers its question."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest

from analysis.loading import load
from bench.records.run_spec import Precision
from bench.records.vocabulary import Scaling
from ci.documents.answers import QUESTION
from tests.factory import BEGAN, Case, make_session

PAGE = (Path(__file__).parents[2] / "docs/sql.md").read_text(encoding="utf-8")
QUESTIONS = list(QUESTION.finditer(PAGE))
NUMBERED = [pytest.param(found, id=str(number)) for number, found in enumerate(QUESTIONS, start=1)]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("questions")
    make_sessions(folder)
    load.load(folder)
    return folder


def make_sessions(folder: Path) -> None:
    """Two sessions of smoke and what the questions ask about: two precisions, failed runs, earlier attempts that
    failed, a size that was skipped, another environment; between them in time one with sizes enough for laws."""
    for number in range(2):
        make_session(
            folder,
            _cases(),
            session_id=f"2026112{number}T014925Z-smoke-3f9a",
            environment=_environment(number),
            created_at=BEGAN,
        )
    many = {1: 100.0, 2: 53.0, 4: 30.0, 8: 20.0}
    many_sizes = Case(
        name="many",
        step_ms={n: [0.97 * ms, ms, 1.03 * ms] for n, ms in many.items()},
        batch=128,
        rounds=False,
    )
    make_session(
        folder,
        [many_sizes],
        session_id="20261120T194925Z-laws-3f9a",
        suite="laws",
        environment=_environment(0),
        created_at=BEGAN,
    )


def _environment(number: int) -> dict[str, dict[str, str]]:
    return {
        str(node): {"torch": f"2.1{number}.0", "python": "3.11", "cpu_model": f"x{node}"} for node in range(2)
    }


def _cases() -> list[Case]:
    return [
        case
        for precision, faster in (("fp32", 1.0), ("bf16", 2.0))
        for case in _of_precision(precision, faster)  # type: ignore[arg-type]
    ]


def _of_precision(precision: Precision, faster: float) -> list[Case]:
    suffix = "" if precision == "fp32" else f"_{precision}"
    single = Case(
        name=f"single{suffix}",
        strategy="single",
        scaling="none",
        step_ms={1: [5.0 / faster, 5.1 / faster, 4.9 / faster]},
        batch=16,
        precision=precision,
    )
    scaled = [
        Case(
            name=f"{strategy}_{scaling}{suffix}",
            strategy=strategy,
            scaling=scaling,
            step_ms={1: [slower / faster] * 3, 2: [0.7 * slower / faster] * 3, 4: slower},
            batch=16,
            precision=precision,
            statuses={(2, 2): "failed", **{(4, repeat): "skipped" for repeat in range(3)}},
            attempts={(1, 0): 1, (2, 0): 2},
            jitter=0.8,
            steps=40,
        )
        for strategy, slower in (("ddp", 10.0), ("fsdp", 12.0))
        for scaling in SCALINGS
    ]
    return [single, *scaled]


SCALINGS: tuple[Scaling, ...] = ("strong", "weak")
SCALED_CASES = 2 * 2 * len(SCALINGS)
"""Precisions, strategies, scalings."""
PLACEMENTS_THAT_RAN = 2 + 2 * SCALED_CASES
"""A single case of each precision; 1 and 2 ranks."""
OK_RUNS = 2 * 3 + SCALED_CASES * (3 + 2)

ROWS = {
    "At which size does efficiency fall below 75 %?": SCALED_CASES,
    "How sure is a speedup?": 2 * SCALED_CASES,
    "How noisy were the repeats?": 2 + 3 * SCALED_CASES,
    "Which law fits, and where is the peak?": 1,
    "What would 64 workers give?": 1,
    "What does a strategy cost before it brings anything?": SCALED_CASES,
    "What does FSDP cost in speed, and save in memory, against DDP?": SCALED_CASES,
    "How large must a model be for more ranks to pay?": 2 * SCALED_CASES // 2,
    "Is this session faster than an earlier one?": 2 + 3 * SCALED_CASES,
    "What became slower over the sessions of a suite?": PLACEMENTS_THAT_RAN,
    "How much of a step waits for data?": PLACEMENTS_THAT_RAN,
    "What grows when ranks are added?": SCALED_CASES,
    "Which rank do the others wait for?": SCALED_CASES,
    "Does memory grow, and what is left of the device?": 2 + 3 * SCALED_CASES,
    "Does the step time drift within a run?": OK_RUNS,
    "How long until the first step?": 5,
    "What does a million examples cost in rank-hours?": PLACEMENTS_THAT_RAN,
    "How long would thirty epochs take?": 2 * SCALED_CASES // 2,
    "How much memory does a rank need?": 2 + 3 * SCALED_CASES,
    "How busy was the machine?": PLACEMENTS_THAT_RAN,
    "Did the loss change with the world size?": SCALED_CASES // 2,
    "Does FSDP train as DDP does?": 2 * (3 + 2),
    "How well did each configuration train?": PLACEMENTS_THAT_RAN,
    "Which runs failed, and why?": 2 * 2,
    "Which parameters was a run made with?": 2 * 3 + SCALED_CASES * 9,
    "On what was a session measured?": 2 * 3,
    "What differs between the environments of two sessions?": 3,
    "Were two sessions made alike?": 1,
}
"""Question -> rows of its answer from the fixture, without its LIMIT."""


@pytest.mark.parametrize("found", NUMBERED)
def test_a_query_of_the_docs_gives_the_columns_that_are_shown_and_each_row_once(
    found: re.Match[str], results: Path
) -> None:
    with duckdb.connect(str(results / "results.duckdb"), read_only=True) as connection:
        relation = connection.sql(re.sub(r"\nLIMIT \d+\s*$", "", found["query"]))
        assert found["answer"].splitlines()[0].split() == relation.columns
        rows = relation.fetchall()
    if (expected := ROWS.get(found["question"])) is None:
        assert rows
    else:
        assert len(rows) == expected


def test_every_question_whose_rows_are_counted_is_asked() -> None:
    assert sorted(ROWS.keys() - {found["question"] for found in QUESTIONS}) == []


def test_cases_are_set_against_each_other_at_one_precision_alone(results: Path) -> None:
    (query,) = [found["query"] for found in QUESTIONS if found["question"].startswith("What does a strategy")]
    with duckdb.connect(str(results / "results.duckdb"), read_only=True) as connection:
        pairs = connection.sql(query).fetchall()
    assert {(case.endswith("bf16"), single.endswith("bf16")) for case, single, _ in pairs} == {
        (False, False),
        (True, True),
    }


def test_a_size_that_was_skipped_is_not_the_largest(results: Path) -> None:
    query = QUESTIONS[0]["query"]
    with duckdb.connect(str(results / "results.duckdb"), read_only=True) as connection:
        assert {largest for _, largest, _ in connection.sql(query).fetchall()} == {2}


def test_there_are_twenty_questions_and_each_has_one_query() -> None:
    headings = re.findall(r"^### .+\?$", PAGE, re.M)
    assert len(QUESTIONS) == len(headings) >= 20
