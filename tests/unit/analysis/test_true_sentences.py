"""Sentences about sessions that once got a wrong one: the headline, the terminal, findings and caveats."""

from __future__ import annotations

import io
import json
import re
import shutil
from pathlib import Path

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
from tests.unit.analysis.conftest import loads, session_of, stored_as


@pytest.fixture
def said(stored):
    """The session's sentences: headline, cause and first remedy, findings by name, the terminal's text, the caveats of
    an exported table."""
    results, session = stored
    out = io.StringIO()
    summary.show(results, session, out=Console(file=out, width=400))
    with connections.reader(results) as connection:
        points, losses = (session_rows(connection, view, session) for view in ("scaling", "efficiency_loss"))
        found = findings.read(connection, session)
        caveats = list(content.read(connection, session).caveats())
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


def around(ms, apart=0.01):
    """Step times of three repeats."""
    return [ms * (1 - apart), ms, ms * (1 + apart)]


def change(folder, run_id, part, **facts):
    path = folder / run_id / "run.json"
    run = json.loads(path.read_text("utf-8"))
    run[part] |= facts
    path.write_text(json.dumps(run), "utf-8")


@stored_as(
    Case(
        name="ddp",
        step_ms={1: 1.0, 8: [99.0, 100.0, 101.0], 16: [55.0, 55.5, 56.2]},
        statuses={(1, repeat): "oom" for repeat in range(3)},
    )
)
def test_a_speedup_over_a_larger_baseline_names_it(said):
    assert said["headline"] == (
        "ddp on 16 ranks over 2 nodes is 1.80 times as fast as on 8 ranks, at 89.98 % efficiency."
    )
    assert "ddp 1x1: 3 oom" in said["terminal"]
    counted = "A baseline of 8 workers has a speedup of 8: no smaller size could be its baseline."
    assert counted in said["caveats"]


def _one_slow_node(slow_ms, network_ms=0.0):
    """4 ranks on one node and on two; the second node computes longer, in forward and backward alike."""
    options = {"gradient_compression": "none"}
    one = Case(name="ddp", step_ms={1: around(100.0), 4: around(26.0)}, strategy_options=options)
    two = Case(name="ddp", step_ms={4: around(26.0)}, ranks_per_node=2, strategy_options=options)

    def slow_down(folder):
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

    return stored_as(one, two, changed=slow_down)


@_one_slow_node(slow_ms=4.0)
def test_a_slow_node_is_blamed_for_all_that_it_costs_and_the_network_for_nothing(said):
    imbalance = said["losses"]["2x2", "imbalance"]
    assert imbalance == pytest.approx(4 / 30, rel=0.01)
    assert said["losses"]["2x2", "communication"] == pytest.approx(0, abs=0.005)
    assert "network_across_nodes" not in said["findings"]
    slow = said["findings"]["slow_node"]
    assert slow["cost"] == pytest.approx(imbalance, rel=0.01)
    assert slow["evidence"].endswith(
        "by 1.50 ms on average; the others wait for them for about 13 % of a step"
    )


def _slow_second_node(folder):
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


@stored_as(
    Case(name="ddp", step_ms={1: around(100.0), 8: around(16.0)}, ranks_per_node=4), changed=_slow_second_node
)
def test_a_slow_node_that_explains_the_whole_loss_is_fixed_first(said):
    assert said["main_loss"].startswith(
        "22 % of the ranks' time was lost, mainly to waiting for slower ranks: "
    )
    assert said["advice"][0] == "One node is slower than the others"


@_one_slow_node(slow_ms=4.0, network_ms=6.0)
def test_a_slow_node_and_a_slow_network_are_blamed_for_their_own_parts(said):
    found = said["findings"]
    assert found["slow_node"]["cost"] == pytest.approx(4 / 36, rel=0.01)
    assert found["network_across_nodes"]["cost"] == pytest.approx(6 / 36, rel=0.01)
    assert found["network_across_nodes"]["certainty"] == "likely", "communication is estimated"
    assert found["network_across_nodes"]["options"] == "--set measure.profiled=4"


def _slow_second_rank(folder):
    for repeat in range(3):
        rewrite_steps(folder, f"slow.2x2.r{repeat}", {"data_ns": 8_000_000, "forward_ns": 3_000_000}, node=1)


@stored_as(
    Case(name="slow", strategy="fsdp", step_ms={4: around(25.0)}),
    Case(name="slow", strategy="fsdp", step_ms={4: around(30.0)}, ranks_per_node=2),
    Case(name="far", strategy="fsdp", step_ms={4: around(25.0)}),
    Case(name="far", strategy="fsdp", step_ms={4: around(30.0)}, ranks_per_node=2),
    changed=_slow_second_rank,
)
def test_a_network_whose_communication_is_unknown_is_a_likely_cause_and_none_if_a_rank_is_slow(said):
    found = said["findings"]["network_across_nodes"]
    assert (found["case_name"], found["times"], found["certainty"]) == ("far", 1, "likely")
    assert "communication was not measured" in found["evidence"]


def _another_training(**other):
    fast = {1: around(55.8, 0.002), 2: around(28.1, 0.002)}
    single = Case(name="single", scaling="none", step_ms={1: around(100.0, 0.002)})
    return session_of(single, Case(name="ddp", step_ms=fast, baseline="single", **other))


@pytest.mark.parametrize(
    ("stored", "unlike"),
    [
        (_another_training(precision="bf16"), "bf16 against fp32"),
        (_another_training(batch=128), "a global batch of 128 against 64"),
        (_another_training(workload="mnist_cnn"), "mnist_cnn against spiral_mlp"),
    ],
    indirect=["stored"],
)
def test_a_ratio_to_another_training_is_no_efficiency(said, unlike):
    assert said["headline"].startswith("ddp on 2 ranks is ")
    assert said["headline"].endswith(f" times as fast as single on 1 rank; {unlike}, so without efficiency.")
    assert said["main_loss"] == ""
    for wrong in ("superlinear", "nothing was lost"):
        assert wrong not in said["terminal"]
    assert "Efficiency is speedup ÷ workers." not in said["caveats"]


@stored_as(
    Case(name="plain", scaling="none", step_ms={1: around(100.0)}),
    Case(name="fused", scaling="none", step_ms={1: around(50.0)}, baseline="plain"),
)
def test_settings_that_are_compared_without_scaling_have_a_speedup_and_no_efficiency(said):
    assert said["headline"] == "fused on 1 rank is 2.00 times as fast as plain."


def _two_sizes(changed=Path):
    return session_of(Case(name="ddp", step_ms={1: around(10.0), 2: around(5.2)}), changed=changed)


def _last_repeat_had(**facts):
    def change_both(folder):
        for ranks in (1, 2):
            change(folder, f"ddp.1x{ranks}.r2", "fingerprint", **facts)

    return loads(_two_sizes(change_both))


@_last_repeat_had(torch="2.16.0")
def test_repeats_under_two_versions_of_torch_are_said_to_be_unlike(said):
    sentence = (
        "Runs of this session differ in what must be equal: torch. Speedups and intervals include these "
        "differences."
    )
    assert sentence in said["terminal"]
    assert sentence in said["caveats"]
    assert "1. Runs differ in what must be equal" in said["terminal"]
    assert said["findings"]["unlike_runs"]["evidence"] == (
        "torch: 2.15.0 in 4 runs, first in ddp.1x1.r0; 2.16.0 in 2 runs, first in ddp.1x1.r2"
    )
    assert said["advice"][0] == "Runs differ in what must be equal"


@_last_repeat_had(nodes="node-b")
def test_repeats_on_two_machines_are_said_to_be_so(said):
    assert "Repeats of one size ran on different nodes: intervals include" in said["terminal"]
    assert "unlike_runs" not in said["findings"]


def _resumed(part, before, after):
    def change_both(folder):
        for repeat in range(3):
            change(folder, f"ddp.1x1.r{repeat}", part, **before)
            change(folder, f"ddp.1x2.r{repeat}", part, **after)

    return _two_sizes(change_both)


@pytest.mark.parametrize(
    ("stored", "word"),
    [
        (_resumed("fingerprint", {"content of <i>.py": "a"}, {"content of <i>.py": "b"}), "code"),
        (_resumed("outcome", {"dataset_size": 10_000}, {"dataset_size": 20_000}), "dataset size"),
    ],
    indirect=["stored"],
)
def test_a_resume_with_changed_code_or_other_data_is_said(said, word):
    assert f"must be equal: {word}. Speedups" in said["terminal"]
    assert "unlike_runs" in said["findings"]
    assert not any("<i>" in line for line in said["caveats"])


@loads(_two_sizes())
def test_alike_runs_are_not_mentioned(said):
    assert "alike" not in said["terminal"]
    assert "different nodes" not in said["terminal"]


@stored_as(Case(name="ddp", step_ms={1: 10.0, 2: 6.0, 4: 6.02}, repeats=1))
def test_single_repeats_on_a_plateau_are_no_critical_finding(said):
    assert "negative_scaling" not in said["findings"]
    assert "retrograde" not in said["terminal"]
    assert said["headline"].endswith(", at 41.5 % efficiency; one repeat each.")


@stored_as(
    Case(
        name="ddp",
        step_ms={1: around(10.0), 2: around(6.0)},
        statuses={(2, 1): "failed", (2, 2): "interrupted"},
    )
)
def test_one_repeat_each_is_not_said_if_the_baseline_has_several(said):
    assert said["headline"].endswith(" % efficiency; how sure is not known.")


@stored_as(
    Case(name="ddp", step_ms={1: 10.0, 2: 6.0}, statuses={(2, repeat): "failed" for repeat in range(3)})
)
def test_a_second_size_that_failed_is_not_one_at_which_nothing_ran(said):
    assert said["headline"] == (
        "ddp on 1 rank trains 6,400 examples/s; no run at a second size is ok, so there is no speedup to report."
    )


@stored_as(Case(name="ddp", scaling="weak", step_ms={1: around(100.0), 8: around(180.0)}))
def test_ranks_that_slow_each_other_down_explain_the_loss_under_weak_scaling(said):
    assert said["findings"]["contention"]["cost"] == pytest.approx(0.4, abs=0.001)
    assert "mainly to slower computation: 40 %" in said["main_loss"]
    assert "not explained" not in said["terminal"]
    assert "small_batch" not in said["findings"]
    assert said["findings"]["contention"]["options"] == "--set measure.profiled=4", "computation is estimated"


def _all_computes(folder):
    add_profile(folder, lambda _spec, _rank: (100, 0, 0, 100), {})


_OTHER_SIZES = {1: around(100.0), 8: around(180.0)}


@pytest.mark.parametrize(
    ("stored", "options"),
    [
        (
            session_of(Case(name="ddp", scaling="weak", step_ms=_OTHER_SIZES | more), changed=_all_computes),
            options,
        )
        for more, options in (({}, "--world 1,4"), ({4: around(110.0)}, None))
    ],
    indirect=["stored"],
)
def test_a_size_that_was_measured_is_not_advised_to_be_tried(said, options):
    assert said["findings"]["contention"]["options"] == options


def _two_sizes_left_nothing(results, name):
    """The session was killed before it measured 2 and 4 ranks, and did not store its end."""
    folder = make_session(results, [Case(name="ddp", step_ms={1: 10.0, 2: 6.0, 4: 4.0})], session_id=name)
    for run in [*folder.glob("ddp.1x2.*"), *folder.glob("ddp.1x4.*")]:
        shutil.rmtree(run)
    head = json.loads((folder / "session.json").read_text("utf-8")) | {"finished_at": None}
    (folder / "session.json").write_text(json.dumps(head), "utf-8")


@loads(_two_sizes_left_nothing)
def test_planned_runs_without_a_result_are_named(said):
    assert "ddp 1x2, ddp 1x4: 6 missing: planned, and left no result" in said["terminal"]


@stored_as(
    Case(name="ddp", step_ms={1: 10.0, 2: 6.0}, statuses={(1, 2): "interrupted", (2, 2): "interrupted"})
)
def test_a_session_that_someone_stopped_has_no_cause_to_fix(said):
    advice = said["findings"]["runs_not_ok"]["advice"]
    assert re.fullmatch(r"`bench suite --resume \S+` repeats only the runs that are not ok[.]", advice)


ONE_BAD = {1: [100.0, 101.0, 200.0]}
GOOD = {n: around(100.0 / n) for n in (2, 4, 8)}


@pytest.mark.parametrize(
    ("stored", "case"),
    [
        (session_of(Case(name="ddp", step_ms=ONE_BAD | GOOD)), "ddp"),
        (
            session_of(
                Case(name="single", scaling="none", step_ms=ONE_BAD),
                Case(name="ddp", step_ms=GOOD, baseline="single"),
            ),
            "single",
        ),
    ],
    indirect=["stored"],
)
def test_the_one_bad_run_of_a_baseline_is_named_and_left_in(said, case):
    row = said["findings"]["odd_run"]
    assert (row["case_name"], row["placement"]) == (None, None)
    assert row["evidence"] == (
        f"{case}.1x1.r2 took 1.96 times as long on node-a as the other runs of its size; nothing is left out"
    )
    assert said["advice"].count("Single runs are unlike the others") == 1
    # One of the three ratios is twice the others.
    assert said["headline"].endswith(" on 1 rank, too noisy to tell how much.")
    assert said["findings"]["undecided"]["evidence"].startswith("efficiency ")


SLOW_RUNS = {1: around(100.0, 0.002), 2: [50.0, 50.1, 80.0], 4: [37.0, 25.0, 25.1], 8: around(12.6, 0.002)}


@stored_as(Case(name="ddp", step_ms=SLOW_RUNS))
def test_one_finding_names_each_odd_run_the_oddest_first(stored):
    (row,) = stored.ask("FROM findings WHERE session_id = $session AND finding = 'odd_run'")
    assert row["evidence"] == (
        "ddp.1x2.r2 took 1.59 times as long on node-a, ddp.1x4.r0 took 1.48 times as long on node-a as the other runs "
        "of their size; nothing is left out"
    )


@stored_as(Case(name="ddp", step_ms={1: around(100.0), 2: around(110.0), 4: around(150.0)}))
def test_advice_to_use_fewer_ranks_means_those_that_train_most(said):
    row = said["findings"]["negative_scaling"]
    assert row["placement"] == "1x4"
    assert row["evidence"].startswith("427 examples/s on 4 ranks, but 2 gave 582, and 1 gave most, 640;")
    assert row["advice"].startswith("Use 1 rank, ")


TWO_MODES = {n: [ms / n for ms in (100.0, 100.4, 99.8, 100.2, 99.6)] for n in (1, 2)} | {
    4: [25.0, 40.0, 25.1, 40.2, 24.9]
}


@stored_as(Case(name="ddp", step_ms=TWO_MODES, repeats=5))
def test_slow_runs_are_told_as_counts(said):
    """Two of five are slow: too many to be odd, and the interval of the size shows it."""
    assert (
        "2 of 5 runs of ddp 1x4 took over 1.2 times the median run [5 to 85 %]."
        in said["terminal"].splitlines()
    )
    assert "4 ranks" in said["headline"]
    assert said["findings"]["undecided"]["placement"] == "1x4"


LESS_SLOW = {1: [100.0, 100.2, 117.0], **{n: around(100.0 / n, 0.002) for n in (2, 4, 8)}}


@stored_as(Case(name="ddp", step_ms=LESS_SLOW))
def test_a_slower_run_of_the_baseline_that_is_not_odd_widens_every_interval_and_one_number_of_rounds_is_advised(
    said,
):
    """17 % slower is within 1.2 times; the efficiencies of three rounds are 1, 1 and 1.17."""
    assert "odd_run" not in said["findings"]
    assert said["headline"].endswith(" % efficiency.")
    every = str([said["do"], *said["findings"].values()])
    asked = set(re.findall(r"Take ([0-9]+) more rounds", every))
    options = set(re.findall(r"--repeats ([0-9]+)", every))
    assert len(asked) <= 1
    assert options == {str(3 + int(number)) for number in asked}
    assert said["do"][0].startswith(("Take ", "20 more rounds would not decide"))


def _profiled(figures):
    """Adds a profile with these figures by number of ranks."""
    return lambda folder: add_profile(folder, lambda spec, _rank: figures[spec.world_size], {})


@stored_as(
    Case(name="ddp", step_ms={1: around(100.0, 0.001), 4: around(44.4, 0.001)}),
    changed=_profiled({1: (100, 0, 0, 98), 4: (44.4, 22.6, 22.6, 21.5)}),
)
def test_a_part_that_is_larger_than_the_whole_loss_is_explained_by_gains(said):
    assert said["main_loss"].startswith(
        "44 % of the ranks' time was lost, mainly to exposed communication: 51 % [51, 51]; other parts gained "
        "12 %."
    )
    # Computation takes less than at the baseline.
    assert said["findings"]["small_batch"]["evidence"].endswith(
        "; 16 examples on each of 4 ranks take 17.4 ms of computation"
    )


def _with_a_slow_run(scaling, step_ms, repeats):
    """Repeats of one and eight ranks; the second one of eight ranks takes three times as long."""
    apart = (1.0, 1.002, 0.998, 1.001, 1.0, 0.999, 1.002, 0.998)[:repeats]
    eight = [step_ms * factor for factor in apart]
    eight[1] *= 3
    sizes = {1: [100.0 * factor for factor in apart], 8: eight}
    return session_of(Case(name="ddp", scaling=scaling, step_ms=sizes, repeats=repeats))


@pytest.mark.parametrize("stored", [_with_a_slow_run("weak", 120.0, 8)], indirect=True)
def test_one_slow_run_of_eight_does_not_move_the_computation_that_a_finding_names(said):
    row = said["findings"]["contention"]
    assert row["evidence"].startswith(
        "by estimate, a rank computes for 108 ms per step, compared with 90.0 ms on 1 rank for as many examples: 20 % "
        "longer"
    )
    assert row["cost"] == pytest.approx(0.9 * (1 - 1 / 1.2), rel=0.01)


@pytest.mark.parametrize(
    "stored", [_with_a_slow_run("weak", 120.0, 4), _with_a_slow_run("strong", 20.0, 4)], indirect=True
)
def test_of_four_runs_one_slow_one_leaves_the_loss_unknown_and_so_its_cause(said):
    assert not {"contention", "small_batch", "small_model", "unexplained_loss"} & set(said["findings"])
    assert said["main_loss"] == "These repeats do not show how much was lost."


@stored_as(Case(name="ddp", step_ms={1: [100.0, 101.0, 102.0], 2: [67.0, 138.0, 90.0]}))
def test_an_interval_that_says_nothing_has_no_verdict(said):
    assert said["headline"] == "ddp on 2 ranks: too noisy to tell how it scales."


@stored_as(Case(name="ddp", step_ms={1: [100.0, 101.0, 102.0], 4: [50.0, 52.0, 54.0]}))
def test_two_possible_verdicts_are_both_named(said):
    assert said["headline"].endswith(" as on 1 rank, at 48.6 % efficiency.")
    assert "poor or acceptable" in said["terminal"].splitlines()[4]


def _small_batch(device_type):
    sizes = {1: around(100.0, 0.001), 4: around(44.4, 0.001)}
    limit = {"memory_limit_bytes": 10_000_000_000}
    before = {"memory_before_bytes": 500_000_000}
    return session_of(
        Case(name="ddp", step_ms=sizes, device_type=device_type, measure=limit, outcome=before),
        environment={"0": {f"gpu{number}_memory_bytes": "80000000000" for number in range(4)}},
        changed=_profiled({1: (100, 0, 0, 98), 4: (44.4, 1.0, 1.0, 42.5)}),
    )


@pytest.mark.parametrize(
    ("stored", "certainty", "shares_a_cpu"),
    [(_small_batch("cpu"), "likely", True), (_small_batch("cuda"), "shown", False)],
    indirect=["stored"],
)
def test_ranks_of_one_cpu_do_not_show_that_the_batch_is_too_small(said, certainty, shares_a_cpu):
    found = said["findings"]
    row = found["small_batch"]
    assert row["certainty"] == found["underused_memory"]["certainty"] == certainty
    assert ("because ranks share this CPU" in row["evidence"]) == shares_a_cpu


@stored_as(
    Case(
        name="ddp",
        step_ms={n: [*around(ms), ms] for n, ms in {1: 20.0, 2: 11.0, 4: 6.0}.items()},
        statuses={(1, 0): "failed", (4, 2): "failed"},
        repeats=4,
    )
)
def test_a_ratio_that_is_not_estimated_within_rounds_is_said_to_be_so(said):
    sentence = (
        "1 size is compared by means of repeats, because fewer than three rounds have an ok run of both: the interval "
        "of the speedup includes differences between rounds."
    )
    assert sentence in said["terminal"].splitlines()
    assert sentence in said["caveats"]


def _busy(percent):
    return session_of(Case(name="ddp", step_ms={1: around(200.0), 2: around(110.0)}, other_cpu_pct=percent))


@pytest.mark.parametrize(
    ("stored", "is_busy"), [(_busy(33.0), True), (_busy(5.0), False)], indirect=["stored"]
)
def test_a_busy_machine_is_said_above_the_headline(said, is_busy):
    *_, above, closing = said["terminal"].splitlines()
    assert closing.startswith("ddp on 2 ranks is 1.82 times as fast as on 1 rank, ")
    assert (
        above.startswith("Measured on a busy machine: other processes used 33 % of the ranks' CPUs")
        == is_busy
    )
