"""Result files of MLPerf training: figures from the events, refusals, and no comparison with anything else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from analysis import history, summary
from analysis.compare.sides import sides
from analysis.database import connections
from analysis.errors import AnalysisError
from analysis.loading.load import load
from analysis.report import named_queries, write
from bench.common.errors import InputError
from bench.importing.import_session import Imported, ImportRequest, read_files
from bench.importing.references import add, named
from tests.factory import Case, make_session
from tests.unit.importing.conftest import ask

BEGIN_MS = 1_695_794_974_000
EPOCHS, EXAMPLES, BATCH = 4, 10_000, 64


def events(
    train_s: float = 100.0, *, eval_s: float = 5.0, status: str = "success", tracked: float | None = None
) -> list[dict[str, Any]]:
    """EPOCHS epochs, each of `train_s` and an evaluation. Two ranks log the first evaluation."""
    rate = EXAMPLES / train_s if tracked is None else tracked

    def event(at_s: float, key: str, value: object = None, **metadata: object) -> dict[str, Any]:
        metadata = {"file": "train.py", "lineno": 1, **metadata}
        return {
            "namespace": "",
            "time_ms": BEGIN_MS + 1000 * at_s,
            "key": key,
            "value": value,
            "metadata": metadata,
        }

    def epochs() -> Iterator[dict[str, Any]]:
        for number in range(1, EPOCHS + 1):
            at = number * (train_s + eval_s)
            for _ in range(2 if number == 1 else 1):
                yield event(at - eval_s, "eval_start", epoch_num=number)
            yield event(at, "eval_stop", epoch_num=number)
            yield event(at, "eval_accuracy", 0.1 * number, epoch_num=number)
            yield event(at, "tracked_stats", {"throughput": rate})

    return [
        event(-9, "submission_benchmark", "resnet"),
        event(-9, "submission_org", "SUBMISSION_ORG_PLACEHOLDER"),
        event(-9, "submission_platform", "1xBOX"),
        event(-9, "submission_division", "closed"),
        event(-9, "global_batch_size", BATCH),
        event(-9, "train_samples", EXAMPLES),
        event(0, "run_start"),
        *epochs(),
        event(EPOCHS * (train_s + eval_s), "run_stop", status=status),
    ]


def text(found: list[dict[str, Any]]) -> str:
    lines = [":::MLLOG " + json.dumps(one) for one in found]
    return "\n".join(["a line of a launcher", *lines]) + "\n"


def put(folder: Path, system: str, *logs: str, nodes: object = "1", each: object = "8") -> list[str]:
    """Logs in the folders of MLCommons."""
    home = folder / "training_results_v9.9/Acme"
    (home / "systems").mkdir(parents=True, exist_ok=True)
    described = {
        "number_of_nodes": nodes,
        "accelerators_per_node": each,
        "accelerator_model_name": "NVIDIA H100",
    }
    (home / "systems" / f"{system}.json").write_text(json.dumps(described))
    results = home / "results" / system / "resnet"
    results.mkdir(parents=True)
    paths = []
    for number, log in enumerate(logs):
        (results / f"result_{number}.txt").write_text(log)
        paths.append(str(results / f"result_{number}.txt"))
    return paths


def read(paths: list[str], **wishes: Any) -> Imported:
    return read_files(ImportRequest(files=tuple(paths), suite="mlperf-resnet", **wishes))


def take(results: Path, *arguments: str) -> Result:
    command = import_module("bench.cli.import").command
    return CliRunner().invoke(command, [*arguments, "--results", str(results)], standalone_mode=False)


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two sizes of a submission, a published table, and a session of the user's own."""
    folder = tmp_path_factory.mktemp("mlperf")
    results = folder / "r"
    one = put(folder, "box", text(events(100.0)), text(events(101.0)), text(events(status="aborted")))
    eight = put(folder, "boxes", text(events(14.0)), text(events(14.2)), nodes=8, each=8)
    make_session(results, [Case(name="resnet", step_ms={8: 10.0, 64: 6.0})], session_id="own")
    (reference,) = named(["dlperf"])
    add(reference, results)
    for words in (
        (*one, *eight, "--suite", "mlperf-resnet", "--session", "M", "--format", "mllog"),
        (*one, "--suite", "mlperf-again", "--session", "N"),
    ):
        done = take(results, *words, "--no-load")
        assert done.exception is None, done.output
    load(results)
    return results


def test_throughput_leaves_out_evaluations_and_time_to_target_has_them(tmp_path: Path) -> None:
    (row,) = read(put(tmp_path, "box", text(events()))).rows
    assert row.seconds == pytest.approx(EPOCHS * 105.0)
    assert row.examples == EPOCHS * EXAMPLES
    assert row.throughput == pytest.approx(EXAMPLES / 100.0)
    assert (row.world_size, row.nodes, row.global_batch, row.batch_per_rank) == (8, 1, BATCH, 8)


@pytest.mark.parametrize("ends_ms", [5, None], ids=["after run_stop", "never"])
def test_an_evaluation_that_is_open_at_run_stop_is_no_training(tmp_path: Path, ends_ms: int | None) -> None:
    found = events()
    last = max(number for number, one in enumerate(found) if one["key"] == "eval_stop")
    late = found.pop(last)
    if ends_ms is not None:
        found.append(late | {"time_ms": late["time_ms"] + ends_ms})
    (row,) = read(put(tmp_path, "box", text(found))).rows
    assert row.training_s == pytest.approx(EPOCHS * 100.0)


def test_submitter_system_and_round_are_those_of_the_folders(tmp_path: Path) -> None:
    found = read(put(tmp_path, "box", text(events())))
    assert found.facts == {
        "benchmark": "resnet", "submitter": "Acme", "system": "box", "division": "closed", "round": "v9.9",
    }  # fmt: skip
    assert found.title == "MLPerf v9.9 resnet: Acme, box"


def test_a_log_elsewhere_needs_the_number_of_gpus(tmp_path: Path) -> None:
    path = tmp_path / "result_0.txt"
    path.write_text(text(events()))
    with pytest.raises(InputError, match="the number of GPUs is not known: give --world"):
        read([str(path)])
    found = read([str(path)], world=4)
    assert (found.rows[0].world_size, found.facts["submitter"], found.facts["system"]) == (
        4, "unknown submitter", "1xBOX",
    )  # fmt: skip


def test_several_trainings_in_a_file_are_refused(tmp_path: Path) -> None:
    later = [one | {"time_ms": one["time_ms"] + 10_000_000} for one in events()]
    with pytest.raises(InputError, match="has several trainings, one after the other: give each a file"):
        read(put(tmp_path, "box", text(events() + later)))


def test_more_gpus_than_a_session_can_have_are_refused(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text(text(events()))
    with pytest.raises(InputError, match="99,999,999,999 GPUs: 1,000,000 at most"):
        read([str(tmp_path / "log.txt")], world=99_999_999_999)
    with pytest.raises(InputError, match="1,000,000,000,000 GPUs: 1,000,000 at most"):
        read(put(tmp_path, "box", text(events()), nodes=1_000_000, each=1_000_000))


def test_a_system_without_a_number_is_one_problem(tmp_path: Path) -> None:
    path = put(tmp_path, "box", text(events()))
    (tmp_path / "training_results_v9.9/Acme/systems/box.json").write_text('{"number_of_nodes": 1}')
    with pytest.raises(
        InputError, match=r"1 problem, .*\n.*box\.json has no .accelerators_per_node.; add it"
    ) as raised:
        read(path)
    assert "is not known" not in str(raised.value)


def test_a_copy_is_no_further_training(tmp_path: Path) -> None:
    log = text(events())
    with pytest.raises(InputError, match=r"result_1.txt: is a copy of .*result_0.txt: import one of them"):
        read(put(tmp_path, "box", log, "another line of a launcher\n" + log, text(events(101.0))))


def test_a_number_of_gpus_that_contradicts_the_system_is_refused(tmp_path: Path) -> None:
    path = put(tmp_path, "box", text(events()))
    assert read(path, world=8).rows[0].world_size == 8
    with pytest.raises(InputError, match="systems/ says 8 GPUs, not 4: leave --world out"):
        read(path, world=4)


@pytest.mark.parametrize("tracked", [1.0, 100_000.0])
def test_samples_that_the_logged_throughput_contradicts_are_not_known(tmp_path: Path, tracked: float) -> None:
    paths = put(tmp_path, "box", text(events()), text(events(tracked=tracked)))
    rows = read(paths).rows
    assert [(row.examples, row.throughput, row.scaling) for row in rows] == [(None, None, "strong")] * 2
    assert all(row.seconds == pytest.approx(EPOCHS * 105.0) for row in rows)


@pytest.mark.parametrize(
    ("counted", "tracked", "known"),
    [(EXAMPLES, None, True), (1000 * EXAMPLES, None, False), (EXAMPLES, "none", True)],
    ids=["agrees", "contradicts", "not reported"],
)
def test_a_count_of_samples_is_used_unless_the_logged_throughput_contradicts_it(
    tmp_path: Path, counted: int, tracked: str | None, known: bool
) -> None:
    found = [one for one in events() if tracked is None or one["key"] != "tracked_stats"]
    for one in found:
        if epoch := one["metadata"].pop("epoch_num", None):
            one["metadata"]["samples_count"] = epoch * counted
    (row,) = read(put(tmp_path, "box", text(found))).rows
    assert row.examples == (EPOCHS * EXAMPLES if known else None)


def test_a_negative_number_of_epochs_is_no_count(tmp_path: Path) -> None:
    found = events()
    for one in found:
        if epoch := one["metadata"].get("epoch_num"):
            one["metadata"]["epoch_num"] = -epoch
    (row,) = read(put(tmp_path, "box", text(found))).rows
    assert row.examples is None


def test_epochs_without_a_logged_throughput_are_no_count(tmp_path: Path) -> None:
    found = [one for one in events() if one["key"] != "tracked_stats"]
    (row,) = read(put(tmp_path, "box", text(found))).rows
    assert row.examples is None


def test_tokens_of_gpt3_become_sequences(tmp_path: Path) -> None:
    found = events()
    found[0]["value"] = "gpt3"
    found.insert(1, {**found[0], "key": "max_sequence_length", "value": 100})
    (row,) = read(put(tmp_path, "box", text(found))).rows
    assert row.examples == EPOCHS * EXAMPLES // 100
    assert row.throughput == pytest.approx(EXAMPLES / 100.0 / 100)


def test_a_training_without_success_is_a_failed_run_with_its_reason(loaded: Path) -> None:
    query = "SELECT status, error FROM runs WHERE session_id = 'M' AND status <> 'ok'"
    assert ask(loaded, query) == [("failed", "it did not reach the target: run_stop has no status success")]


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ("nothing", "has no line"),
        (":::MLLOG {\n", "line 1: is not JSON after :::MLLOG"),
        (":::MLLOG " + "[" * 100_000 + "\n", "line 1: is not JSON after :::MLLOG"),
        (":::MLLOG []\n", "line 1: has no key, or no time_ms or time_s"),
        (':::MLLOG {"key": "run_start", "time_ms": NaN}\n', "line 1: has no key, or no time_ms or time_s"),
        (':::MLLOG {"key": "run_start", "time_ms": 1e300}\n', "line 1: has no key, or no time_ms or time_s"),
        (text(events()[:-1]), "has no run_stop: the log is not complete"),
        (text([*events()[:6], *events()[7:]]), "has no run_start: the log is not complete"),
        (
            text([*events()[:6], events()[-1], events()[6] | {"time_ms": BEGIN_MS + 1e9}]),
            "is not after run_start",
        ),
        (text(events()[1:]), "has no submission_benchmark"),
        (text([events()[0] | {"value": "../../etc"}, *events()[1:]]), "has no submission_benchmark"),
        (text(events(train_s=0.0, tracked=1.0)), "evaluations take the whole time"),
    ],
    ids=range(12),
)
def test_a_broken_log_is_refused_and_nothing_is_written(tmp_path: Path, log: str, said: str) -> None:
    paths = put(tmp_path, "box", text(events()), log)
    with pytest.raises(InputError) as caught:
        read(paths, kind="mllog")
    assert said in str(caught.value)
    refused = take(tmp_path / "r", *paths, "--suite", "mlperf", "--format", "mllog")
    assert isinstance(refused.exception, InputError)
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize(
    ("nodes", "each", "said"),
    [
        ("many", "8", "are no whole numbers"),
        (-1, 8, "are no whole numbers"),
        (1, None, "are no whole numbers"),
    ],
)
def test_a_broken_description_of_the_system_is_refused(
    tmp_path: Path, nodes: object, each: object, said: str
) -> None:
    paths = put(tmp_path, "box", text(events()), nodes=nodes, each=each)
    with pytest.raises(InputError, match=said):
        read(paths)


def test_two_benchmarks_are_not_one_session(tmp_path: Path) -> None:
    other = events()
    other[0]["value"] = "bert"
    with pytest.raises(InputError, match="'resnet', 'bert': import the results of each separately"):
        read(put(tmp_path, "box", text(events()), text(other)))


def test_the_suite_has_a_name_that_no_other_session_has(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="names of their own: --suite mlperf-resnet"):
        read_files(ImportRequest(files=tuple(put(tmp_path, "box", text(events()))), suite="resnet"))


def test_the_summary_names_its_origin_and_says_that_it_is_not_verified(
    loaded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    summary.show(loaded, "M")
    printed = " ".join(capsys.readouterr().out.split())
    assert (
        "MLPerf Training v9.9, resnet: Acme, box, boxes, division closed; the logs have no result id."
        in printed
    )
    assert "Derived, not verified by MLCommons." in printed
    assert "bench suite --resume" not in printed


def test_sizes_of_a_submission_are_compared_with_intervals(loaded: Path) -> None:
    query = (
        "SELECT workers, repeats, speedup_lo < 8 * 100.5 / 14.1, speedup_hi > 8 * 100.5 / 14.1, efficiency "
    )
    found = ask(loaded, query + "FROM scaling WHERE session_id = 'M' ORDER BY workers")
    assert found == [(8, 2, True, False, 1.0), (64, 2, True, True, None)]


@pytest.mark.parametrize("others", [("M", "own"), ("own", "M"), ("M", "published-dlperf"), ("M,own", "N")])
def test_a_comparison_with_anything_else_is_refused(
    loaded: Path, tmp_path: Path, others: tuple[str, str]
) -> None:
    with connections.reader(loaded) as connection, pytest.raises(AnalysisError, match="rules forbid"):
        sides(connection, *others)
    with pytest.raises(AnalysisError, match="rules forbid"):
        write(loaded, list(others), tmp_path, compare=True)
    assert list(tmp_path.glob("*.html")) == []


def test_results_of_mlperf_are_compared_among_themselves(loaded: Path) -> None:
    with connections.reader(loaded) as connection:
        assert [side.session_ids for side in sides(connection, "M", "N")] == [["M"], ["N"]]


def test_no_published_curve_is_drawn_next_to_them(loaded: Path) -> None:
    with connections.reader(loaded) as connection:
        assert named_queries.frame(connection, "published_efficiency", "M").is_empty()
        assert not named_queries.frame(connection, "published_efficiency", "own").is_empty()


def test_no_rule_judges_them_and_no_history_mixes_them(loaded: Path) -> None:
    assert ask(loaded, "SELECT count(*) FROM findings WHERE session_id = 'M'") == [(0,)]
    assert {row["session_id"] for row in history.rows(loaded, None, last=9)} == {"own"}


def test_the_time_to_the_target_is_taken_apart_and_a_training_without_success_missed_it(loaded: Path) -> None:
    query = "SELECT world_size, reached, count(*) FROM target_runs WHERE session_id = 'M' GROUP BY ALL ORDER BY ALL"
    assert ask(loaded, query) == [(8, False, 1), (8, True, 2), (64, True, 2)]
    query = """
        SELECT bound, throughput_factor, examples_factor, share_factor FROM target_efficiency
        WHERE session_id = 'M' AND world_size = 64
    """
    ((bound, throughput, examples, share),) = ask(loaded, query)
    assert (bound, examples) == ("at least", None), "one of three trainings of the baseline missed the target"
    assert throughput == pytest.approx((EXAMPLES / 14.1) / (8 * EXAMPLES / 100.5), rel=0.01)
    assert share == pytest.approx((14.1 / 19.1) / (100.5 / 105.5), rel=0.01)
