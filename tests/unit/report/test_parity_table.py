"""The table of the page that says whether every size trained the same."""

from __future__ import annotations

from analysis.report.sections.parity_table import parity
from tests.factory import Case
from tests.unit.analysis.conftest import stored_as
from tests.unit.report.conftest import BROKEN, GPUS, SCALING, table_of
from tests.unit.report.test_session_page import rows_of, words


def parity_row(**values):
    row = {
        "case_name": "ddp", "placement": "1x4", "baseline_placement": "1x1", "repeats": 3, "same": 3, "different": 0,
        "steps_compared": 20, "largest_relative_difference": 1.37e-7, "at_step": 7, "tolerance": 1e-4, "reasons": None,
        "final_loss_relative_difference": -0.0123,
    }  # fmt: skip
    return row | values


def test_the_verdict_stands_beside_the_largest_difference_and_its_tolerance():
    shown = parity([parity_row()])
    assert words(shown).startswith("Yes: 3 runs trained as the same repeat of the smallest size did.")
    assert rows_of(shown) == [
        "case placement same training largest difference tolerance steps compared last loss differs by",
        "ddp 1x4 same 3 runs 1.4 × 10⁻⁷ at step 7 1 × 10⁻⁴ 20 −0.012",
    ]


def test_one_run_that_differs_makes_the_answer_no():
    unlike = parity_row(same=2, different=1, largest_relative_difference=0.02)
    shown = parity([parity_row(), unlike])
    assert words(shown).startswith(
        "No: 1 of 6 runs did not train as the same repeat of the smallest size did."
    )
    assert rows_of(shown)[2].startswith("ddp 1x4 different 1 of 3 runs 0.020 at step 7")


STEPS = {1: 100.0, 2: 60.0}


@stored_as(
    Case(name="strong", step_ms=STEPS),
    Case(name="weak", step_ms=STEPS, scaling="weak"),
    Case(name="coupled", step_ms=STEPS, couples_examples=True),
)
def test_what_cannot_be_judged_has_its_reason(stored):
    shown = parity(table_of(*stored, "parity"))
    assert (
        "Yes: 3 runs trained as the same repeat of the smallest size did; 6 of 9 could not be judged."
        in words(shown)
    )
    strong, weak, coupled = rows_of(shown)[1:]
    assert strong == "strong 1x2 same 3 runs 0 1 × 10⁻⁴ 12 0 –"
    assert weak.startswith("weak 1x2 not judged – ")
    assert weak.endswith("weak scaling: more ranks, another global batch")
    assert coupled.endswith("the model couples the examples of a batch, as BatchNorm does")


def test_where_nothing_is_compared_there_is_no_such_section(page_of):
    assert parity([]) == ""
    assert "Same training: one row per case and placement" in page_of[SCALING]
    assert "Not judged: the table says why." in words(
        parity([parity_row(same=0, reasons="weak scaling", largest_relative_difference=None)])
    )
    assert "Same training: one row per case and placement" in page_of[GPUS]
    assert "Same training: one row per case and placement" not in page_of[BROKEN]
