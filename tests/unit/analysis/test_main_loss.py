"""The sentences on where lost efficiency went, from rows that are written down here."""

from __future__ import annotations

import pytest

from analysis.wording.main_loss import main_loss, main_loss_of

POINT = {
    "case_name": "ddp", "nodes": 1, "ranks_per_node": 4, "threads": 1, "workers": 4, "throughput": 100.0,
    "speedup": 2.4, "efficiency": 0.6, "is_baseline": False, "oversubscribed": False, "scaling_mode": "strong",
    "efficiency_lo": 0.55, "efficiency_hi": 0.65, "verdict": "acceptable",
    "verdict_lo": "acceptable", "verdict_hi": "acceptable", "axis": "ranks",
}  # fmt: skip


def losses(known_by="profiled", /, **shares):
    """Rows of one size: a share, or one with its interval."""
    keys = {key: POINT[key] for key in ("case_name", "nodes", "ranks_per_node", "threads")}
    rows = []
    for term, said in shares.items():
        share, low, high = said if isinstance(said, tuple) else (said, None, None)
        rows.append(
            keys
            | {"term": term, "efficiency": 0.6, "known_by": known_by}
            | {"share": share, "share_lo": low, "share_hi": high}
        )
    return rows


def test_the_largest_part_is_named_with_its_interval():
    terms = losses(data=(0.05, 0.02, 0.08), communication=(0.3, 0.25, 0.35), remainder=(0.05, 0.0, 0.1))
    assert main_loss([POINT], terms) == (
        "40 % of the ranks' time was lost, mainly to exposed communication: 30 % [25, 35]."
    )


def test_a_part_whose_interval_overlaps_the_largest_may_be_larger():
    terms = losses(communication=(0.3, 0.1, 0.5), data=(0.1, 0.08, 0.12), work=(0.0, -0.2, 0.2))
    assert main_loss([POINT], terms).endswith(
        "was lost; main cause unclear, probably exposed communication: 30 % [10, 50]."
    )
    rest = losses(remainder=(0.3, 0.1, 0.5), data=(0.1, 0.08, 0.12))
    assert main_loss([POINT], rest).endswith("was lost; main cause unclear, not explained: 30 % [10, 50].")


def test_what_repeats_do_not_support_is_only_perhaps():
    terms = losses(communication=(0.3, -0.1, 0.7), data=0.1)
    assert "main cause unclear, perhaps exposed communication: 30 % [−10, 70]." in main_loss([POINT], terms)


def test_without_repeats_and_without_profiled_steps_the_sentence_says_so():
    terms = losses("estimated", communication=0.3, data=0.1, imbalance=None)
    assert main_loss([POINT], terms) == (
        "40 % of the ranks' time was lost, by points alone mainly to exposed communication: 30 % (estimated)."
    )
    unknown = losses(None, data=(0.1, 0.05, 0.15), communication=None, remainder=(0.3, 0.2, 0.4))
    assert main_loss([POINT], unknown) == (
        "40 % of the ranks' time was lost, the largest part not explained: 30 % [20, 40] (communication is not "
        "known apart from computation: --set measure.profiled=4 measures it)."
    )


@pytest.mark.parametrize(
    ("unsure", "said"),
    [
        ({"efficiency_hi": 1.0}, "At most 45 % of the ranks' time was lost, perhaps nothing."),
        ({"verdict_lo": "poor", "verdict_hi": "superlinear"}, "These repeats do not show how much was lost."),
    ],
)
def test_where_repeats_do_not_tell_the_loss_no_cause_is_named(unsure, said):
    terms = losses(communication=(0.3, 0.25, 0.35))
    assert main_loss([POINT | unsure], terms) == said


def test_where_nothing_is_compared_or_lost_nothing_is_said():
    assert main_loss([], losses(data=0.4)) == ""
    assert main_loss([POINT | {"is_baseline": True}], losses(data=0.4)) == ""
    superlinear = [row | {"efficiency": 1.1} for row in losses(data=0.02, work=-0.12)]
    assert main_loss([POINT], superlinear) == ""


def test_the_sentence_is_about_the_largest_size_of_the_case_whose_loss_is_shown():
    wide = {"efficiency_lo": 0.2, "efficiency_hi": 1.1, "verdict_lo": "poor", "verdict_hi": "superlinear"}
    larger = POINT | wide | {"workers": 8, "ranks_per_node": 8, "verdict": "undecided"}
    terms = losses(communication=(0.3, 0.25, 0.35))
    assert main_loss([POINT, larger], terms) == "", (
        "not the loss of the smaller size: the headline is about the larger"
    )
    other = larger | {"case_name": "zero"}
    assert main_loss_of([other, POINT], terms).startswith("ddp on 4 ranks: 40 % of the ranks' time was lost")
    assert main_loss_of([other], terms) == ""
