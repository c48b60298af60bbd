"""The sentences on where lost efficiency went, from rows that are written down here."""

from __future__ import annotations

from analysis.why import because

POINT = {
    "case_name": "ddp", "nodes": 1, "ranks_per_node": 4, "threads": 1, "workers": 4, "throughput": 100.0,
    "speedup": 2.4, "efficiency": 0.6, "is_baseline": False, "oversubscribed": False, "scaling": "strong",
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


def finding(**values):
    row = {
        "case_name": "ddp", "title": "Batch per rank too small", "certainty": "shown", "cost": 0.3,
        "knob": "--set cases.ddp.global_batch=1024", "finding_order": 2,
    }  # fmt: skip
    return row | values


def test_the_largest_part_is_named_with_its_interval():
    terms = losses(data=(0.05, 0.02, 0.08), communication=(0.3, 0.25, 0.35), remainder=(0.05, 0.0, 0.1))
    assert because([POINT], terms, []) == (
        "Of the ranks' time 40.0 % was lost, the largest part to exposed communication: 30.0 % [25.0, 35.0]."
    )


def test_a_part_whose_interval_overlaps_the_largest_may_be_larger():
    terms = losses(communication=(0.3, 0.1, 0.5), data=(0.1, 0.08, 0.12), work=(0.0, -0.2, 0.2))
    assert because([POINT], terms, []).endswith("30.0 % [10.0, 50.0], unless it is waiting for data.")


def test_what_repeats_do_not_support_is_only_perhaps():
    terms = losses(communication=(0.3, -0.1, 0.7), data=0.1)
    assert (
        "the largest part perhaps to exposed communication: 30.0 % [-10.0, 70.0]; repeats do not"
        in because([POINT], terms, [])
    )


def test_without_repeats_and_without_profiled_steps_the_sentence_says_so():
    terms = losses("estimated", communication=0.3, data=0.1, imbalance=None)
    assert because([POINT], terms, []) == (
        "Of the ranks' time 40.0 % was lost, the largest part by points alone to exposed communication: 30.0 % "
        "(estimated)."
    )
    unknown = losses(None, data=(0.1, 0.05, 0.15), communication=None, remainder=(0.3, 0.2, 0.4))
    assert because([POINT], unknown, []) == (
        "Of the ranks' time 40.0 % was lost, the largest part not explained: 30.0 % [20.0, 40.0] (communication is not "
        "known apart from computation: --set measure.profiled=4 measures it)."
    )


def test_the_first_remedy_explains_lost_time_and_is_not_the_loss_itself():
    findings = [
        finding(title="Slower on more workers", cost=0.4, knob=None, finding_order=1),
        finding(title="Noisy", cost=None, finding_order=2),
        finding(title="Of another case", case_name="fsdp", finding_order=3),
        finding(finding_order=5, title="later"),
        finding(finding_order=4, certainty="likely"),
    ]
    assert because([POINT], [], findings) == (
        "First to mend: Batch per rank too small, likely; try --set cases.ddp.global_batch=1024."
    )
    assert because([POINT], [], findings, name=lambda said: f"<{said}>") == (
        "First to mend: <Batch per rank too small>, likely; try <--set cases.ddp.global_batch=1024>."
    )


def test_a_remedy_without_a_setting_is_named_alone():
    assert because([POINT], [], [finding(title="A slow node", knob=None)]) == "First to mend: A slow node."


def test_where_nothing_is_compared_or_lost_nothing_is_said():
    assert because([], losses(data=0.4), [finding()]) == ""
    assert because([POINT | {"is_baseline": True}], losses(data=0.4), [finding()]) == ""
    superlinear = [row | {"efficiency": 1.1} for row in losses(data=0.02, work=-0.12)]
    assert because([POINT], superlinear, []) == ""
