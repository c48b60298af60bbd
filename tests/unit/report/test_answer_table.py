"""The answer at the top of a page, and its headline, from rows that are written down here."""

from __future__ import annotations

import re

import pytest

from analysis.report.sections.answer_table import MOST_CASES, answer_table
from analysis.wording.headline import faster, headline, undecided
from tests.unit.report.test_session_page import point as row_of
from tests.unit.report.test_session_page import words


def point(case="ddp", speedup=1.6, low=1.52, high=1.68, workers=2, **values):
    """A row of `scaling` on `workers` ranks, compared with one rank."""
    kinds = {"poor": 0.5, "acceptable": 0.75, "good": 0.9, "excellent": 9}

    def judged(value):
        return None if value is None else next(name for name, end in kinds.items() if value / workers < end)

    row = row_of(case, workers) | {
        "nodes": 1, "ranks_per_node": workers, "threads": 1, "axis": "ranks", "baseline_axis": "ranks",
        "baseline_case": case, "baseline_workers": 1, "throughput": 100 * speedup, "speedup": speedup,
        "speedup_lo": low, "speedup_hi": high, "efficiency": speedup / workers, "workload": "cnn",
        "efficiency_lo": low and low / workers, "efficiency_hi": high and high / workers,
        "verdict": judged(speedup), "verdict_lo": judged(low), "verdict_hi": judged(high),
        "baseline_throughput": 100.0, "ranks_train": None,
    }  # fmt: skip
    return row | values


def sessions(*compared):
    baselines = [
        point(one["case_name"], 1.0, 1.0, 1.0, workers=1, repeats=one["repeats"])
        | {"verdict": None, "is_baseline": True}
        for one in compared
    ]
    return [*baselines, *compared]


def loss(term, share, low, high, order, known_by="estimated"):
    return {
        "case_name": "ddp", "nodes": 1, "ranks_per_node": 2, "threads": 1, "term": term, "share": share,
        "share_lo": low, "share_hi": high, "term_order": order, "known_by": known_by, "efficiency": 0.8,
    }  # fmt: skip


def test_a_row_has_throughput_speedup_efficiency_and_the_verdict_beside_its_interval():
    table = answer_table(sessions(point()), [])
    (row,) = re.findall(r"<tbody>(.*?)</tbody>", table, re.S)
    assert words(row).startswith(
        "ddp ddp strong, batch 64 100 → 160 1 → 2 ranks 1.60× [1.52, 1.68] 80.0 % [76.0, 84.0] good"
    )
    assert 'aria-label="efficiency 80.0 % [76.0, 84.0]: good"' in row
    (x1, x2) = re.findall(r'<line x1="([\d.]+)%" x2="([\d.]+)%"', row)[0]
    assert (float(x1), float(x2)) == (
        pytest.approx(100 * 0.76 / 1.1, abs=0.01),
        pytest.approx(100 * 0.84 / 1.1, abs=0.01),
    )


def test_without_an_interval_the_point_is_hollow_and_beyond_a_factor_of_four_there_is_none():
    once = answer_table(sessions(point(low=None, high=None, verdict="one repeat")), [])
    assert 'class="hollow"' in once
    assert "<line x1" not in once
    assert 'aria-label="efficiency 80.0 %: one repeat"' in once
    two = point(low=None, high=None, speedup_min=1.5, speedup_max=1.7, verdict="undecided")
    assert "1.60× (1.50 to 1.70) 80.0 % (75.0 to 85.0) undecided" in words(answer_table(sessions(two), []))
    noisy = answer_table(sessions(point(low=0.4, high=1.9)), [])
    assert noisy.count(">too noisy to tell<") == 2  # neither its efficiency nor its parts are drawn
    assert "used 1" not in noisy
    assert "<circle" not in noisy


def test_the_bar_is_as_long_as_the_ranks_time_and_hatches_what_is_not_explained():
    losses = [
        loss("data", 0.004, 0.0, 0.01, 1),
        loss("communication", 0.15, -0.01, 0.3, 3),
        loss("remainder", 0.05, 0.0, 0.1, 6),
    ]
    bar = answer_table(sessions(point()), losses)
    parts = re.findall(r'<rect class="part ([\w ]+)" x="([\d.]+)%" y="0" width="([\d.]+)%"', bar)
    assert [kind for kind, _, _ in parts] == ["used", "communication pale", "unknown"]
    assert sum(float(width) for _, _, width in parts) == pytest.approx(100)
    assert "Pale: may be zero." in bar
    assert [
        name for name in ("waiting for data", "not explained", "exposed communication") if name in words(bar)
    ] == [
        "not explained",
        "exposed communication",
    ]


def test_an_undecided_loss_is_hatched_as_a_whole():
    losses = [loss("communication", 0.2, 0.1, 0.3, 3)]
    bar = answer_table(sessions(point(low=0.9, high=2.1)), losses)
    assert re.findall(r'<rect class="part ([\w ]+)" x', bar) == ["unknown"]
    assert "used or lost not known" in bar


def test_many_cases_show_the_best_and_the_worst():
    every = [point(f"c{place}", 1 + place / 20) for place in range(MOST_CASES + 3)]
    table = answer_table(sessions(*every), [])
    assert re.findall(r'scope="row"><bdi>(\w+)<', table) == ["c8", "c7", "c6", "c2", "c1", "c0"]
    assert answer_table(sessions()[:1], []) == ""


@pytest.mark.parametrize(
    ("points", "said"),
    [
        ([point()], "ddp on 2 ranks is 1.60 times as fast as on 1 rank, at 80.0 % efficiency: good."),
        ([point(low=0.9, high=2.3)], "ddp on 2 ranks may be faster or slower than on 1 rank."),
        ([point(low=1.3, high=1.9)], "ddp on 2 ranks is 1.60 times as fast as on 1 rank, at 80.0 % efficiency."),
        ([point(low=0.2, high=1.9)], "ddp on 2 ranks: too noisy to tell how it scales."),
        (
            [point(low=None, high=None, repeats=1)],
            "ddp on 2 ranks is 1.60 times as fast as on 1 rank, at 80.0 % efficiency; one repeat each.",
        ),
        (
            [point(verdict="different training")],
            "ddp on 2 ranks trains a different model than on 1 rank, so the speeds cannot be compared.",
        ),
        (
            [point("a"), point("b", 0.9, 0.85, 0.95), point("c", 1.0, 0.95, 1.05), point("d", 1.2, 0.9, 1.5)],
            "2 ranks against 1: a 1.60×; d may be faster or slower; no gain shown: c 1.00×; slower: b 0.900×.",
        ),
        (
            [point("a"), point("b", 3.0, 2.9, 3.1, workers=4)],
            "At the largest sizes: b on 4 ranks 3.00×, a on 2 ranks 1.60×.",
        ),
        ([point("a"), point("b", low=0.3, high=1.9)], "2 ranks against 1: a 1.60×; b is too noisy to tell."),
        (
            [point(baseline_workers=2, workers=8, speedup=6.4, low=6.3, high=6.5)],
            "ddp on 8 ranks is 3.20 times as fast as on 2 ranks, at 80.0 % efficiency: good.",
        ),
    ],
)  # fmt: skip
def test_the_headline_states_the_finding_and_no_verdict_while_it_is_open(points, said):
    assert headline(sessions(*points)) == said


def test_a_case_that_is_compared_with_another_names_it():
    other = {"baseline_case": "plain", "baseline_workers": 1, "workers": 1, "is_baseline": False}
    fast, slow = point("fast", 1.3, 1.2, 1.4, **other), point("slow", 0.7, 0.6, 0.8, **other)
    assert headline([fast, slow]) == "1 rank against plain: fast 1.30×; slower: slow 0.700×."
    assert faster([fast, slow, point("a")]) == (
        "fast is faster than plain; slow is slower than plain; a is faster than on 1 rank."
    )
    assert headline([fast, point("a")]).startswith("At the largest sizes: ")


def test_several_sizes_without_an_interval_say_so():
    once = [point(name, low=None, high=None, repeats=1) for name in "ab"]
    assert headline(sessions(*once)) == "2 ranks against 1: a 1.60×, b 1.60×; one repeat each."


def test_rates_of_one_table_have_one_unit():
    lm = point("lm", tokens_per_s=5_000.0, tokens_per_s_lo=None, tokens_per_s_hi=None)
    table = answer_table(sessions(lm, point("cnn")), [])
    assert ">examples/s<" in table
    assert "5,000" not in table


def test_of_many_cases_the_headline_says_the_range():
    every = [point(f"c{place}", 1.5 + place / 20, 1.4, 2.1) for place in range(6)]
    assert (
        headline(sessions(*every)) == "2 ranks against 1: 6 cases are faster, from 1.50× (c0) to 1.75× (c5)."
    )


def test_what_is_undecided_is_named_and_what_is_certain_too():
    every = [
        point("a"),
        point("b", 1.2, 0.9, 1.5),
        point("c", low=1.3, high=1.9, verdict="acceptable or excellent"),
        point("d", low=0.3, high=1.9),
    ]
    assert undecided(sessions(*every)) == (
        "whether b on 2 ranks is faster than on 1 rank ([0.90, 1.50] times as fast); the verdict of c "
        "(anything from acceptable to excellent); "
        "how d scales (too noisy to tell)."
    )
    assert faster(sessions(*every)) == "a, c are faster than on 1 rank."
    assert undecided(sessions(point())) == ""
