"""Every rule has a session that fires it and one that keeps it quiet, and its advice can be followed."""

from __future__ import annotations

import functools
import importlib
import shlex
from itertools import product
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner

from analysis.database import schema
from analysis.loading import read_files
from analysis.loading.scan import discover
from bench.cli.suite import command
from tests.factory import Case
from tests.profile_rows import add_profile
from tests.unit.analysis.conftest import Rows, add_labelled, asks, fetch, measured, session_of, take_in

RULES = {rule.finding: rule for rule in schema.shipped_rules()}


def planted(finding: str) -> ModuleType:
    return importlib.import_module(f"tests.unit.diagnosis.planted.{finding}")


@pytest.fixture(scope="module")
def of_planted(request, in_memory, tmp_path_factory):
    """`of_planted(finding, "fires", table)`: the table's rows of the sessions in which a rule's cause is planted; with
    "quiet", of those in which it is not. The sessions of all chosen tests are in one database."""
    here = [
        item for item in request.session.items if item.path == Path(__file__) and hasattr(item, "callspec")
    ]
    chosen = sorted({item.callspec.params.get("finding") for item in here} - {None})
    batch = read_files.Incoming(known_bad={})
    for finding, kind in product(chosen, ("fires", "quiet")):
        folder = tmp_path_factory.mktemp(f"{finding}.{kind}")
        getattr(planted(finding), kind)(folder)
        add_labelled(batch, read_files.read(discover(folder), {}), f"{finding}.{kind}.")
    with in_memory.cursor() as connection:
        connection.begin()
        take_in(connection, batch, [RULES[finding] for finding in chosen])

        @functools.cache
        def rows_of(table: str) -> Rows:
            return fetch(connection, f"FROM {table}")

        yield lambda finding, kind, table: [
            row for row in rows_of(table) if row["session_id"].startswith(f"{finding}.{kind}.")
        ]
        connection.rollback()


def found_in(of_planted, finding: str, kind: str) -> Rows:
    """The findings of this rule; others may find something, too."""
    return [row for row in of_planted(finding, kind, "diagnosis") if row["finding"] == finding]


def test_there_is_no_planted_session_without_a_rule():
    files = (Path(__file__).parent / "planted").glob("[a-z]*.py")
    assert {path.stem for path in files} <= set(RULES)


@pytest.mark.parametrize("finding", RULES)
def test_a_rule_fires_where_its_cause_is_planted(of_planted, finding):
    found = found_in(of_planted, finding, "fires")
    assert found, "nothing was found"
    for row in found:
        assert row["evidence"]
        assert row["advice"]
        assert row["meaning"]
        assert row["certainty"] in ("shown", "likely")
        assert row["cost"] is None or -1e-9 <= row["cost"] <= 1
        assert not any("None" in row[name] or "NULL" in row[name] for name in ("evidence", "advice"))


@pytest.mark.parametrize("finding", RULES)
def test_a_rule_keeps_quiet_where_its_cause_is_not(of_planted, finding):
    assert of_planted(finding, "quiet", "runs"), "there is no run to find anything in"
    assert found_in(of_planted, finding, "quiet") == []


@pytest.mark.parametrize("finding", RULES)
def test_the_options_are_some_that_bench_suite_takes(of_planted, tmp_path, finding):
    found = found_in(of_planted, finding, "fires")
    runs = sorted(of_planted(finding, "fires", "runs"), key=lambda run: (run["case_name"], -run["workers"]))
    smallest = {run["case_name"]: run for run in runs}
    every_options = {row["options"] for row in found} - {None}
    suite = tmp_path / "smoke.yaml"
    suite.write_text(_suite(list(smallest.values())))
    for options in every_options:
        resumes = options.startswith("--resume ")
        plan = [] if resumes else [str(suite), "--dry-run", "--device", "cpu", "--ranks-per-node", "8"]
        words = [*plan, "--results", str(tmp_path), *shlex.split(options)]
        answer = CliRunner().invoke(command, words, standalone_mode=False)
        said = str(answer.exception)
        taken = answer.return_value == 0 or "nodes, this machine has 1" in said
        taken = taken or (resumes and "no session" in said)  # it is only in the database
        assert taken, f"{options}: {answer.exception}"


def _suite(runs: list[dict[str, object]]) -> str:
    """A suite with the cases of these runs, as far as options may ask for them."""
    cases = [
        f"  - {{name: {run['case_name']}, strategy: {run['strategy']}, scaling: {run['scaling_mode']},\n"
        f"     world: {[1] if run['strategy'] == 'single' else [1, 2]}, {_batch(run)},\n"
        f"     workload: {{name: {run['workload']}}}}}\n"
        for run in runs
    ]
    return "title: Planted\nmeasure: {warmup: 1, steps: 4, repeats: 1}\ncases:\n" + "".join(cases)


def _batch(run: dict[str, object]) -> str:
    name = "global_batch" if run["scaling_mode"] == "strong" else "batch_per_rank"
    return f"{name}: {run[name]}"


@pytest.mark.parametrize("finding", RULES)
def test_a_rule_says_in_words_when_it_fires(finding):
    assert RULES[finding].fires.startswith("Fires ")
    assert "SELECT" not in RULES[finding].fires


@measured(Case(name="ddp", step_ms={1: [30.0, 40.0, 50.0], 2: [19.0, 20.0, 22.5], 4: [9.5, 10.0, 11.0]}))
def test_of_placements_without_a_cost_the_worst_one_stands_for_the_case(ask):
    """One rank on one node varies most, four ranks on more nodes least."""
    (row,) = ask("FROM diagnosis WHERE finding = 'noisy'")
    assert (row["placement"], row["times"]) == ("1x1", 3)


@measured(Case(name="ddp", step_ms={1: 50.0}, shares=(0.3, 0.3, 0.3, 0.1), repeats=1))
def test_the_share_of_a_single_repeat_has_no_interval(ask):
    (row,) = ask("FROM diagnosis WHERE finding = 'data_bound'")
    assert (row["certainty"], "a step are spent waiting for data: 30 %; each" in row["evidence"]) == (
        "likely",
        True,
    )


@measured(Case(name="ddp", step_ms={1: 20.0, 2: [20.0, 12.5, 8.0]}))
def test_where_20_more_rounds_would_not_decide_none_are_advised_but_a_quiet_machine(ask):
    (row,) = ask("FROM diagnosis WHERE finding = 'undecided'")
    assert (row["severity"], row["options"]) == ("warning", None)
    assert row["evidence"] == "efficiency may be anything from poor to superlinear with 3 repeats"
    assert row["advice"] == (
        "20 more rounds would not decide it reliably, so report the interval. Runs vary by 46 %: measure on a quiet "
        "machine."
    )


@pytest.mark.parametrize(
    ("ask", "evidence", "advice"),
    [
        (
            session_of(Case(name="ddp", step_ms={1: 20.0, 2: [11.0, 11.12, 11.24]})),
            "efficiency is 89.9 % [88, 92] with 3 repeats: good or excellent",
            "The efficiency is on the border of good and excellent: report both. 20 more rounds would not decide "
            "it reliably.",
        ),
        (
            session_of(Case(name="ddp", step_ms={1: 20.0, 2: [11.5, 11.32, 11.14]})),
            "efficiency is 88 % [85, 92] with 3 repeats: good or excellent",
            "Take 8 more rounds; in 7 to 9 sessions of 10 they are enough. Until then, report the interval.",
        ),
    ],
    indirect=["ask"],
    ids=["on the border", "near it"],
)
def test_next_to_a_border_both_verdicts_are_reported_or_rounds_are_taken(ask, evidence, advice):
    (row,) = ask("FROM diagnosis WHERE finding = 'too_few_repeats'")
    assert (row["evidence"], row["advice"]) == (evidence, advice)


@measured(
    Case(
        name="ddp",
        step_ms={1: [10.0, 10.1, 10.0, 10.1, 10.0], 2: [5.15, 5.05, 5.15, 5.05, 5.15]},
        repeats=5,
        max_repeats=5,
        until=0.1,
        until_efficiency=0.01,
    )
)
def test_an_efficiency_that_is_wider_than_the_suite_requests_needs_repeats(ask):
    """One verdict, throughput as narrow as requested, and an efficiency that is not."""
    (row,) = ask("FROM diagnosis WHERE finding = 'too_few_repeats'")
    assert row["evidence"] == (
        "efficiency is known to within ±2.3 % with 5 repeats, but the suite requests ±1.0 %"
    )
    assert row["placement"] == "1x2"


@pytest.mark.parametrize("finding", ["negative_scaling"])
def test_a_slower_size_is_found_also_if_it_trains_differently(of_planted, finding):
    found = {row["case_name"]: row["certainty"] for row in found_in(of_planted, finding, "fires")}
    assert found == {"small": "shown", "drifts": "likely"}


STEPS = {
    "even": {1: 64_000.0, 2: 15_000.0, 4: 16_000.0},
    "lossy": {1: 64_000.0, 2: 15_000.0, 4: 20_000.0},
}


def as_long_in_both(folder):
    def figures(spec, _rank):
        step_ms, communication_ms = STEPS[spec.case_name][spec.world_size], 2_000.0 * (spec.world_size - 1)
        return step_ms, communication_ms, communication_ms, step_ms - communication_ms

    add_profile(folder, figures, {"all_reduce": (1, 1_000, 1_000)})


@asks(session_of(*(Case(name=name, step_ms=ms) for name, ms in STEPS.items()), changed=as_long_in_both))
def test_a_slower_size_that_lost_no_efficiency_has_no_largest_loss(ask):
    """Both cases communicate as long at 4 ranks, but only one has an efficiency below 1. The other's is exact: its
    throughputs are 1 and 4 examples/s."""
    efficiencies = {row["case_name"]: row["efficiency"] for row in ask("FROM scaling WHERE workers = 4")}
    assert efficiencies == {"even": 1.0, "lossy": pytest.approx(0.8)}
    rows = ask("FROM diagnosis WHERE finding = 'negative_scaling'")
    losses = {row["case_name"]: row["evidence"].partition("; ")[2] for row in rows}
    assert losses["even"] == ""
    assert losses["lossy"].startswith("the largest loss of the ranks' time is exposed communication: 30 %")


ON_GPUS = {"step_ms": {2: 10.0}, "device_type": "cuda", "repeats": 1}
FAILS = ON_GPUS | {"statuses": {(2, 0): "oom"}}


@measured(
    *(
        Case(
            name=f"of_{size}", train={"micro_batch": size}, batch=2 * count * size, accumulate=count, **FAILS
        )
        for size, count in ((8, 4), (8 * 5, 1), (9, 2), (11, 1))
    )
)
def test_a_case_of_fixed_micro_batches_is_advised_smaller_ones(ask):
    rows = ask("FROM diagnosis WHERE finding = 'out_of_memory'")
    found = {row["case_name"]: row["options"] for row in rows}
    assert found == {
        f"of_{size}": f"--set cases.of_{size}.train.micro_batch={less}"
        for size, less in ((8, 4), (40, 20), (9, 3), (11, 1))
    }


@measured(
    Case(name="small", train={"micro_batch": 8}, accumulate=4, **ON_GPUS),
    Case(name="large", train={"micro_batch": 16}, accumulate=2, **FAILS),
)
def test_a_smaller_fixed_micro_batch_that_fits_is_named(ask):
    (row,) = ask("FROM diagnosis WHERE finding = 'out_of_memory'")
    assert "ran out of memory with micro-batches of 16; 8 would fit" in row["evidence"]


@pytest.mark.parametrize("finding", ["small_model"])
def test_what_few_bytes_cost_is_tried_by_compressing_where_that_can_help(of_planted, finding):
    found = {row["case_name"]: row for row in found_in(of_planted, finding, "fires")}
    assert found["gpus"]["advice"].startswith("Send gradients as bf16")
    assert found["gpus"]["options"].endswith("strategy.gradient_compression=bf16")
    assert found["whole"]["advice"].startswith("Let a rank compute more")
    assert found["whole"]["options"] is None


def test_short_examples_are_told_once(results, read_back):
    planted("small_model").fires(results)
    ask = read_back(rules=[RULES["short_sequences"]])
    assert ask("FROM diagnosis") == []


def communicating(folder):
    shares = {1: (100, 0, 0, 90), 2: (100, 40, 40, 50)}
    add_profile(folder, lambda spec, _rank: shares[spec.world_size], {})


@pytest.mark.parametrize(
    ("ask", "certainty"),
    [
        (
            session_of(
                Case(name="ddp", step_ms={1: baseline_ms, 2: [9.9, 10.0, 10.1]}), changed=communicating
            ),
            certainty,
        )
        for baseline_ms, certainty in (
            ([14.9, 15.0, 15.1], ["shown"]),
            ([19.7, 20.0, 20.3], []),
            ([10.0, 15.0, 22.0], []),
        )
    ],
    indirect=["ask"],
    ids=["lost", "perhaps", "undecided"],
)
def test_a_loss_that_repeats_do_not_show_has_no_cause(ask, certainty):
    """Communication is equally certain in all; the lost efficiency is not."""
    rows = ask("FROM diagnosis WHERE finding = 'small_model'")
    assert [row["certainty"] for row in rows] == certainty


@pytest.mark.parametrize("finding", ["needless_reductions"])
def test_the_reductions_of_a_step_are_counted(of_planted, finding):
    rows = found_in(of_planted, finding, "fires")
    found = {row["session_id"].rpartition(".")[2]: row for row in rows}
    assert {name: row["magnitude"] for name, row in found.items()} == {"four": 4, "two": 2, "norm": 4}
    assert (
        "reduced 4 times per optimizer step, counted in fp32: 10.5 MiB in place of 2.64 MiB"
        in found["four"]["evidence"]
    )


@pytest.mark.parametrize("finding", ["unusable_profile"])
def test_the_advice_for_an_unusable_profile_fits_its_problem(of_planted, finding):
    advice = {row["case_name"]: row["advice"] for row in found_in(of_planted, finding, "fires")}
    assert {name for name, text in advice.items() if "Nsight" in text} == {"no_kernels"}
    assert {name for name, text in advice.items() if "in the script" in text} == {"own_profiler"}
    assert "error of torch's profiler" in advice["error"]
    assert "more steps" in advice["short"]


@pytest.mark.parametrize("finding", ["probe_error"])
def test_an_error_of_the_recorder_is_told_with_its_last_line(of_planted, finding):
    (row,) = found_in(of_planted, finding, "fires")
    assert row["evidence"] == "no figures of loss in command.1x1.r0: RuntimeError: no value"
