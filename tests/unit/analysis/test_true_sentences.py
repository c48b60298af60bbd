"""Sentences about sessions that once got a wrong one: the headline, the terminal, findings and caveats."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from analysis import summary
from analysis.database import connections
from analysis.database.rows import session_rows
from analysis.diagnosis import findings
from analysis.diagnosis.advice import first_advice
from analysis.export import content
from analysis.wording import lost_efficiency
from analysis.wording.headline import headline
from analysis.wording.main_loss import main_loss
from tests.factory import Case, make_session
from tests.profile_rows import add_profile
from tests.rewriting import rewrite_steps
from tests.unit.analysis.conftest import load_first

S = "s"


@pytest.fixture
def said(results):
    """`said()` loads the session and gives its sentences: headline, cause and first remedy, findings by name, the
    terminal's text, the caveats of an exported table."""

    def ask():
        load_first(results)
        out = io.StringIO()
        summary.show(results, out=Console(file=out, width=400))
        with connections.reader(results) as connection:
            points, losses = (session_rows(connection, view, S) for view in ("scaling", "efficiency_loss"))
            found = findings.read(connection, S)
            caveats = list(content.read(connection, S).caveats())
        return {
            "headline": headline(points),
            "main_loss": main_loss(points, lost_efficiency.explained(losses)),
            "advice": [one.worst["title"] for one in first_advice(found, points)],
            "do": [one.title for one in first_advice(found, points)],
            "findings": {row["finding"]: row for row in found},
            "losses": {(row["placement"], row["term"]): row["share"] for row in losses},
            "terminal": out.getvalue(),
            "caveats": caveats,
        }

    return ask


def around(ms, apart=0.01):
    """Step times of three repeats."""
    return [ms * (1 - apart), ms, ms * (1 + apart)]


def change(folder, run_id, part, **facts):
    path = folder / run_id / "run.json"
    run = json.loads(path.read_text("utf-8"))
    run[part] |= facts
    path.write_text(json.dumps(run), "utf-8")


def test_a_speedup_over_a_larger_baseline_names_it(results, said):
    sizes = {1: 1.0, 8: [99.0, 100.0, 101.0], 16: [55.0, 55.5, 56.2]}
    out_of_memory = {(1, repeat): "oom" for repeat in range(3)}
    make_session(results, [Case(name="ddp", step_ms=sizes, statuses=out_of_memory)], session_id=S)
    found = said()
    assert found["headline"] == (
        "ddp on 16 ranks over 2 nodes is 1.80 times as fast as on 8 ranks, at 90.0 % efficiency."
    )
    assert "ddp 1x1: 3 oom" in found["terminal"]
    assert "Speedup counts the 8 workers of a baseline as 8." in found["caveats"]


def _one_slow_node(results, slow_ms, network_ms=0.0):
    """4 ranks on one node and on two; the second node computes longer, in forward and backward alike."""
    options = {"gradient_compression": "none"}
    one = Case(name="ddp", step_ms={1: around(100.0), 4: around(26.0)}, strategy_options=options)
    two = Case(name="ddp", step_ms={4: around(26.0)}, ranks_per_node=2, strategy_options=options)
    folder = make_session(results, [one, two], session_id=S)
    for repeat, computing_ms in enumerate(around(26.0)):
        for node, more_ms in ((0, 0.0), (1, slow_ms)):
            forward = 0.3 * computing_ms + more_ms * 3 / 8
            rest = computing_ms + slow_ms + network_ms - forward - 0.2 * computing_ms
            phases = {
                "data_ns": 0.1 * computing_ms,
                "forward_ns": forward,
                "backward_ns": rest,
                "optimizer_ns": 0.1 * computing_ms,
            }
            columns = {name: round(1e6 * ms) for name, ms in phases.items()}
            columns["step_ns"] = sum(columns.values())
            columns["start_ns"] = [columns["step_ns"] * step for step in range(12)]
            rewrite_steps(folder, f"ddp.2x2.r{repeat}", columns, node=node)


def test_a_slow_node_is_blamed_for_all_that_it_costs_and_the_network_for_nothing(results, said):
    _one_slow_node(results, slow_ms=4.0)
    found = said()
    imbalance = found["losses"]["2x2", "imbalance"]
    assert imbalance == pytest.approx(4 / 30, rel=0.01)
    assert found["losses"]["2x2", "communication"] == pytest.approx(0, abs=0.005)
    assert "network_across_nodes" not in found["findings"]
    slow = found["findings"]["slow_node"]
    assert slow["cost"] == pytest.approx(imbalance, rel=0.01)
    assert slow["evidence"].endswith("by 1.50 ms on average; the others wait for them for 13 % of a step")


def test_a_slow_node_that_explains_the_whole_loss_is_fixed_first(results, said):
    case = Case(name="ddp", step_ms={1: around(100.0), 8: around(16.0)}, ranks_per_node=4)
    folder = make_session(results, [case], session_id=S)
    for repeat in range(3):
        for node, forward_ms in ((0, 3.75), (1, 5.25)):
            phases = {"data_ns": 1.25, "forward_ns": forward_ms, "optimizer_ns": 1.25}
            phases["backward_ns"] = around(16.0)[repeat] - sum(phases.values())
            rewrite_steps(
                folder,
                f"ddp.2x4.r{repeat}",
                {name: round(1e6 * ms) for name, ms in phases.items()},
                node=node,
            )
    found = said()
    assert found["main_loss"].startswith(
        "22 % of the ranks' time was lost, mainly to waiting for slower ranks: "
    )
    assert found["advice"][0] == "One node is slower than the others"


def test_a_slow_node_and_a_slow_network_are_blamed_for_their_own_parts(results, said):
    _one_slow_node(results, slow_ms=4.0, network_ms=6.0)
    found = said()["findings"]
    assert found["slow_node"]["cost"] == pytest.approx(4 / 36, rel=0.01)
    assert found["network_across_nodes"]["cost"] == pytest.approx(6 / 36, rel=0.01)
    assert found["network_across_nodes"]["certainty"] == "shown"


def test_a_network_whose_communication_is_unknown_is_a_likely_cause_and_none_if_a_rank_is_slow(results, said):
    slow = Case(name="slow", strategy="fsdp", step_ms={4: around(30.0)}, ranks_per_node=2)
    folder = make_session(
        results,
        [
            Case(name="slow", strategy="fsdp", step_ms={4: around(25.0)}),
            slow,
            Case(name="far", strategy="fsdp", step_ms={4: around(25.0)}),
            Case(name="far", strategy="fsdp", step_ms={4: around(30.0)}, ranks_per_node=2),
        ],
        session_id=S,
    )
    for repeat in range(3):
        rewrite_steps(folder, f"slow.2x2.r{repeat}", {"data_ns": 8_000_000, "forward_ns": 3_000_000}, node=1)
    found = said()["findings"]["network_across_nodes"]
    assert (found["case_name"], found["times"], found["certainty"]) == ("far", 1, "likely")
    assert "how much of it is communication is unknown" in found["evidence"]


@pytest.mark.parametrize(
    ("other", "unlike"),
    [
        ({"precision": "bf16"}, "bf16 against fp32"),
        ({"batch": 128}, "a global batch of 128 against 64"),
        ({"workload": "mnist_cnn"}, "mnist_cnn against spiral_mlp"),
    ],
)
def test_a_ratio_to_another_training_is_no_efficiency(results, said, other, unlike):
    fast = {1: around(55.8, 0.002), 2: around(28.1, 0.002)}
    single = Case(name="single", scaling="none", step_ms={1: around(100.0, 0.002)})
    make_session(results, [single, Case(name="ddp", step_ms=fast, baseline="single", **other)], session_id=S)
    found = said()
    assert found["headline"].startswith("ddp on 2 ranks is ")
    assert found["headline"].endswith(f" times as fast as single on 1 rank; {unlike}, so without efficiency.")
    assert found["main_loss"] == ""
    for wrong in ("superlinear", "nothing was lost"):
        assert wrong not in found["terminal"]
    assert "Efficiency is speedup ÷ workers." not in found["caveats"]


def test_settings_that_are_compared_without_scaling_have_a_speedup_and_no_efficiency(results, said):
    cases = [
        Case(name="plain", scaling="none", step_ms={1: around(100.0)}),
        Case(name="fused", scaling="none", step_ms={1: around(50.0)}, baseline="plain"),
    ]
    make_session(results, cases, session_id=S)
    assert said()["headline"] == "fused on 1 rank is 2.00 times as fast as plain."


def _two_sizes(results):
    return make_session(results, [Case(name="ddp", step_ms={1: around(10.0), 2: around(5.2)})], session_id=S)


def test_repeats_under_two_versions_of_torch_are_said_to_be_unlike(results, said):
    folder = _two_sizes(results)
    for ranks in (1, 2):
        change(folder, f"ddp.1x{ranks}.r2", "fingerprint", torch="2.16.0")
    found = said()
    sentence = (
        "Runs of this session were not made alike; they differ in torch. Speedups and intervals include these "
        "differences."
    )
    assert sentence in found["terminal"]
    assert sentence in found["caveats"]
    assert "1. Runs were not made alike" in found["terminal"]
    assert found["findings"]["unlike_runs"]["evidence"] == (
        "torch: 2.15.0 in 4 runs, first in ddp.1x1.r0; 2.16.0 in 2 runs, first in ddp.1x1.r2"
    )
    assert found["advice"][0] == "Runs were not made alike"


def test_repeats_on_two_machines_are_said_to_be_so(results, said):
    folder = _two_sizes(results)
    for ranks in (1, 2):
        change(folder, f"ddp.1x{ranks}.r2", "fingerprint", nodes="node-b")
    found = said()
    assert "Repeats of one size ran on different nodes: intervals include" in found["terminal"]
    assert "unlike_runs" not in found["findings"]


@pytest.mark.parametrize(
    ("part", "before", "after", "word"),
    [
        ("fingerprint", {"content of <i>.py": "a"}, {"content of <i>.py": "b"}, "code"),
        ("outcome", {"dataset_size": 10_000}, {"dataset_size": 20_000}, "dataset size"),
    ],
)
def test_a_resume_with_changed_code_or_other_data_is_said(results, said, part, before, after, word):
    folder = _two_sizes(results)
    for repeat in range(3):
        change(folder, f"ddp.1x1.r{repeat}", part, **before)
        change(folder, f"ddp.1x2.r{repeat}", part, **after)
    found = said()
    assert f"they differ in {word}. Speedups" in found["terminal"]
    assert "unlike_runs" in found["findings"]
    assert not any("<i>" in line for line in found["caveats"])


def test_alike_runs_are_not_mentioned(results, said):
    _two_sizes(results)
    found = said()
    assert "alike" not in found["terminal"]
    assert "different nodes" not in found["terminal"]


def test_single_repeats_on_a_plateau_are_no_critical_finding(results, said):
    make_session(results, [Case(name="ddp", step_ms={1: 10.0, 2: 6.0, 4: 6.02}, repeats=1)], session_id=S)
    found = said()
    assert "negative_scaling" not in found["findings"]
    assert "retrograde" not in found["terminal"]
    assert found["headline"].endswith(", at 41.5 % efficiency; one repeat each.")


@pytest.mark.parametrize("baseline", [None, "single"])
def test_the_one_bad_repeat_of_a_baseline_is_named(results, said, baseline):
    ones = [100.0, 101.0, 200.0]
    sizes = {n: around(100.0 / n) for n in (2, 4, 8)}
    cases = [Case(name="ddp", step_ms={**({} if baseline else {1: ones}), **sizes}, baseline=baseline)]
    if baseline:
        cases.insert(0, Case(name=baseline, scaling="none", step_ms={1: ones}))
    make_session(results, cases, session_id=S)
    found = said()
    case = baseline or "ddp"
    row = found["findings"]["outlying_repeat"]
    assert (row["case_name"], row["placement"]) == (case, "1x1")
    assert row["evidence"] == (
        f"{case}.1x1.r2 on node-a trained 320 examples/s, the 2 other repeats of 1x1 634 to 640; typical figures leave "
        "it out"
    )
    assert found["headline"].endswith(" % efficiency: excellent.")


def test_each_slow_run_is_named(results, said):
    sizes = {1: around(100.0, 0.002), 2: [50.0, 50.1, 80.0], 4: [37.0, 25.0, 25.1], 8: around(12.6, 0.002)}
    make_session(results, [Case(name="ddp", step_ms=sizes)], session_id=S)
    said()
    with connections.reader(results) as connection:
        named = session_rows(connection, "findings", S)
    told = [row["evidence"].split(" on ")[0] for row in named if row["finding"] == "outlying_repeat"]
    assert sorted(told) == ["ddp.1x2.r2", "ddp.1x4.r0"]


def test_a_bad_repeat_that_is_not_slow_enough_to_leave_out_is_named_as_part_of_the_baseline(results, said):
    sizes = {n: around(100.0 / n, 0.002) for n in (2, 4, 8)}
    make_session(results, [Case(name="ddp", step_ms={1: [100.0, 100.2, 117.0], **sizes})], session_id=S)
    found = said()
    assert found["findings"]["outlying_repeat"]["evidence"] == (
        "ddp.1x1.r2 on node-a trained 547 examples/s, the 2 other repeats of 1x1 639 to 640; it is in the baseline "
        "of 3 sizes"
    )
    assert found["headline"].endswith(" % efficiency.")
    assert found["advice"][0] == "One repeat is far from the others"
    assert found["do"][0] == "To narrow the verdict, repeat 9 times in all, on a quiet machine."


def test_a_part_that_is_larger_than_the_whole_loss_is_explained_by_gains(results, said):
    case = Case(name="ddp", step_ms={1: around(100.0, 0.001), 4: around(44.4, 0.001)})
    folder = make_session(results, [case], session_id=S)
    figures = {1: (100, 0, 0, 98), 4: (44.4, 22.6, 22.6, 21.5)}
    add_profile(folder, lambda spec, _rank: figures[spec.world_size], {})
    assert said()["main_loss"].startswith(
        "44 % of the ranks' time was lost, mainly to exposed communication: 51 % [51, 51]; other parts gained "
        "12 %."
    )


def test_an_interval_that_says_nothing_has_no_verdict(results, said):
    sizes = {1: [100.0, 101.0], 2: [67.0, 138.0]}
    make_session(results, [Case(name="ddp", step_ms=sizes, repeats=2)], session_id=S)
    assert said()["headline"] == "ddp on 2 ranks: too noisy to tell how it scales."


def test_two_possible_verdicts_are_both_named(results, said):
    sizes = {1: [100.0, 101.0, 102.0], 4: [50.0, 52.0, 54.0]}
    make_session(results, [Case(name="ddp", step_ms=sizes)], session_id=S)
    found = said()
    assert found["headline"].endswith(" as on 1 rank, at 48.6 % efficiency.")
    assert "poor or acceptable" in found["terminal"].splitlines()[4]


@pytest.mark.parametrize(("device_type", "certainty"), [("cpu", "likely"), ("cuda", "shown")])
def test_ranks_of_one_cpu_do_not_show_that_the_batch_is_too_small(results, said, device_type, certainty):
    sizes = {1: around(100.0, 0.001), 4: around(44.4, 0.001)}
    limit = {"memory_limit_bytes": 10_000_000_000}
    before = {"memory_before_bytes": 500_000_000}
    case = Case(name="ddp", step_ms=sizes, device_type=device_type, measure=limit, outcome=before)
    memory = {"0": {f"gpu{number}_memory_bytes": "80000000000" for number in range(4)}}
    folder = make_session(results, [case], session_id=S, environment=memory)
    figures = {1: (100, 0, 0, 98), 4: (44.4, 1.0, 1.0, 42.5)}
    add_profile(folder, lambda spec, _rank: figures[spec.world_size], {})
    found = said()["findings"]
    row = found["small_batch"]
    assert row["certainty"] == found["underused_memory"]["certainty"] == certainty
    assert ("because ranks share this CPU" in row["evidence"]) == (device_type == "cpu")


def test_a_ratio_that_is_not_estimated_within_rounds_is_said_to_be_so(results, said):
    steps = {1: around(20.0), 2: around(11.0), 4: around(6.0)}
    statuses = {(1, 0): "failed", (4, 2): "failed"}
    make_session(results, [Case(name="ddp", step_ms=steps, statuses=statuses)], session_id=S)
    found = said()
    sentence = (
        "1 size is compared by means of repeats, because too few rounds have a run of both that counts: the interval "
        "of the speedup includes differences between rounds."
    )
    assert sentence in found["terminal"].splitlines()
    assert sentence in found["caveats"]


@pytest.mark.parametrize(("percent", "is_busy"), [(33.0, True), (5.0, False)])
def test_a_busy_machine_is_said_above_the_headline(results, said, percent, is_busy):
    case = Case(name="ddp", step_ms={1: around(200.0), 2: around(110.0)}, other_cpu_pct=percent)
    make_session(results, [case], session_id=S)
    *_, above, closing = said()["terminal"].splitlines()
    assert closing.startswith("ddp on 2 ranks is 1.82 times as fast as on 1 rank, ")
    assert (
        above.startswith("Measured on a busy machine: other processes used 33 % of the ranks' CPUs")
        == is_busy
    )
