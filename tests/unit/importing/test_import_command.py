"""bench import through the command line: the imported session in files, views, summary and report."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner, Result

from analysis.database import connections, schema
from analysis.report import write
from bench.cli.compare import command as compare_command
from bench.cli.suite import command as suite_command
from bench.common.errors import InputError
from tests.factory import Case, make_session
from tests.unit.importing.conftest import EXAMPLES, ROOT, TABLE, Take, ask, imported
from tests.unit.importing.test_nccl import as_json

NCCL = EXAMPLES / "nccl_all_reduce.txt"
RAVEN = (str(TABLE), "--suite", "raven")


class Loaded(NamedTuple):
    """A results folder, and the output of the import that loaded it."""

    results: Path
    output: str


def _import(results: Path, *arguments: str) -> str:
    def take(*arguments: str) -> Result:
        command = import_module("bench.cli.import").command
        return CliRunner().invoke(command, [*arguments, "--results", str(results)], standalone_mode=False)

    return imported(take, *arguments).output


@pytest.fixture(scope="module")
def alone(empty: Path, tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    """The published table as session S."""
    results = Path(shutil.copytree(empty, tmp_path_factory.mktemp("alone") / "r"))
    return Loaded(results, _import(results, *RAVEN, "--session", "S", "--tag", "paper"))


@pytest.fixture(scope="module")
def among(alone: Loaded, tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    """The same among other imported sessions and two measured ones, all loaded by the import of B."""
    folder = tmp_path_factory.mktemp("among")
    results = Path(shutil.copytree(alone.results, folder / "r"))
    make_session(results, [Case(name="raven", step_ms={1: 10.0, 4: 3.0, 8: 2.0})], session_id="M")
    make_session(results, [Case(name="ddp", step_ms={1: 64.0, 4: 20.0}, batch=64)], session_id="D", suite="d")
    timings = str(EXAMPLES / "timings.csv")
    _import(results, timings, "--suite", "old", "--session", "O", "--workload", "spiral_mlp", "--no-load")
    secret = folder / "all_reduce.json"
    secret.write_text(json.dumps(as_json(NCCL.read_text(encoding="utf-8"))))
    _import(results, str(NCCL), str(secret), "--suite", "h100", "--session", "N", "--no-load")
    for _ in range(2):
        _import(results, str(TABLE), "--suite", "twice", "--no-load")
    return Loaded(results, _import(results, *RAVEN, "--session", "B", "--examples", "350000"))


@pytest.fixture(scope="module")
def pages(among: Loaded, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages of S, B and M, and the page that compares them."""
    out = tmp_path_factory.mktemp("public")
    write(among.results, ["S", "B", "M"], out, compare=True)
    return out


def test_the_published_table_scales_as_its_authors_say(alone: Loaded) -> None:
    query = "SELECT workers, nodes, round(speedup, 2), round(100 * efficiency, 1), verdict FROM scaling ORDER BY 1"
    assert ask(alone.results, query) == [
        (1, 1, 1.0, 100.0, None), (4, 1, 3.81, 95.2, "one repeat"), (8, 2, 6.34, 79.3, "one repeat"),
    ]  # fmt: skip
    digest = hashlib.sha256(TABLE.read_bytes()).hexdigest()[:12]
    lines = alone.output.splitlines()
    assert lines[0] == f"1 session, 3 runs, 0 step rows loaded into {alone.results}/results.duckdb"
    said = rf"Imported on [\d-]{{10}} from published_table\.txt \(SHA-256 {digest}\); not measured by scalebench\."
    assert any(re.fullmatch(said, line) for line in lines)
    assert lines[-3] == (
        "raven on 8 ranks over 2 nodes is 6.34 times as fast as on 1 rank, at 79.3 % efficiency; one repeat each."
    )
    assert lines[-2] == f"results: {alone.results}/S"
    assert lines[-1].endswith(f" report S --open --results {alone.results}")


def test_without_examples_the_unit_is_a_whole_training(alone: Loaded) -> None:
    rows = ask(
        alone.results,
        "SELECT throughput, throughput_unit, time_per_epoch_s, elapsed_s FROM run_summary ORDER BY world_size",
    )
    assert rows[0] == (1 / 362.45, "trainings/s", 362.45 / 50, 362.45)
    assert "trainings/s" in alone.output
    assert "examples/s" not in alone.output


def test_with_examples_it_is_examples(among: Loaded) -> None:
    rows = ask(
        among.results,
        "SELECT throughput, throughput_unit, time_per_epoch_s FROM run_summary WHERE session_id = 'B' "
        "ORDER BY world_size",
    )
    assert rows[0] == (350_000 / 362.45, "examples/s", 362.45 / 50)
    assert "trainings" not in among.output


def test_two_repeats_give_a_speedup_without_interval(among: Loaded) -> None:
    ((repeats, point, low, verdict),) = ask(
        among.results,
        "SELECT repeats, speedup, speedup_lo, verdict FROM scaling WHERE session_id = 'O' AND workers = 4",
    )
    assert repeats == 2
    # geometric means: sqrt(362.45 x 365.10) / sqrt(95.23 x 96.02)
    assert point == pytest.approx((362.45 * 365.10) ** 0.5 / (95.23 * 96.02) ** 0.5)
    assert (low, verdict) == (None, "undecided")


def test_what_is_not_known_is_null(alone: Loaded) -> None:
    unknown = (
        "device_type", "device_name", "precision", "batch_per_rank", "global_batch", "examples_per_step", "parameters",
        "tokens_per_example", "setup_s", "started_at", "steps_completed", "dataset_size", "whole_run_examples",
    )  # fmt: skip
    counts = ", ".join(f"count({name})" for name in unknown)
    assert ask(alone.results, f"SELECT {counts} FROM runs") == [len(unknown) * (0,)]
    assert ask(alone.results, "SELECT count(step_ms), count(cv), count(data_share) FROM run_summary") == [
        (0, 0, 0)
    ]
    assert ask(alone.results, "SELECT step, epoch, val_loss, val_accuracy FROM evals ORDER BY 3")[0] == (
        None, None, 0.1187, 0.953,
    )  # fmt: skip


def test_nobody_is_told_that_it_was_measured_here(alone: Loaded) -> None:
    head = json.loads((alone.results / "S/session.json").read_text())
    assert head["imported"] == {
        "format": "table",
        "files": [{"name": "published_table.txt", "sha256": hashlib.sha256(TABLE.read_bytes()).hexdigest()}],
    }
    assert (head["environment"], head["slots"], head["tags"]) == ({}, {}, ["paper"])
    assert ask(alone.results, "SELECT DISTINCT fingerprint::VARCHAR, tags FROM runs") == [("{}", ["paper"])]


def test_collectives_of_nccl_tests_are_rows_of_their_table_and_no_training(among: Loaded) -> None:
    assert ask(among.results, "SELECT run_id, op, count(rank), count(*) FROM collectives GROUP BY ALL ORDER BY 1") == [
        ("all_reduce.2x8.r0", "all_reduce", 0, 8), ("all_reduce.2x8.r1", "all_reduce", 0, 8),
    ]  # fmt: skip
    columns = "workload, strategy, world_size, nodes, device_type, device_name, status, whole_run_s"
    assert ask(among.results, f"SELECT DISTINCT {columns} FROM runs WHERE session_id = 'N'") == [
        ("collectives", "process_group", 16, 2, "cuda", "NVIDIA H100 80GB HBM3", "ok", None)
    ]
    counts = "SELECT count(*), count(throughput), count(step_ms) FROM run_summary WHERE session_id = 'N'"
    assert ask(among.results, counts) == [(2, 0, 0)]
    assert not [path for path in among.results.rglob("*.json") if "hunter2" in path.read_text()]


def test_every_view_can_be_asked(among: Loaded) -> None:
    with connections.reader(among.results) as connection:
        for name in [*schema.derived(), *schema.views()]:
            connection.execute(f"FROM {name}").fetchall()


@pytest.mark.parametrize("other", [False, True], ids=["alone", "among others"])
def test_a_report_shows_what_there_is(alone: Loaded, pages: Path, tmp_path: Path, other: bool) -> None:
    if not other:
        write(alone.results, ["S"], tmp_path)
    page = ((pages if other else tmp_path) / "S.html").read_text(encoding="utf-8")
    assert "from published_table.txt (SHA-256" in page
    assert "not measured by scalebench" in page
    drawn = re.findall(r'<figure class="[^"]*" id="(\w+)"', page)
    assert {"speedup", "efficiency", "throughput"} <= set(drawn)
    assert not {"loss", "phases", "memory", "step_time_distribution", "validation_loss"} & set(drawn)
    assert "trainings/s" in page
    assert "examples/s" not in page
    for word in (">None<", ">nan<", "None ·"):
        assert word not in page


def test_whole_trainings_are_never_compared_with_examples(among: Loaded, pages: Path) -> None:
    assert ask(among.results, "FROM compare('S', 'B')") == []
    (page,) = (path.read_text(encoding="utf-8") for path in pages.glob("compare-*.html"))
    assert "unit of throughput: A trainings/s · B examples/s" in re.sub(r"<[^>]*>", "", page)
    done = CliRunner().invoke(compare_command, ["S", "B", "--results", str(among.results)])
    assert str(done.exception).startswith("no case in common: ")


def test_an_import_with_examples_is_compared_with_what_was_measured(among: Loaded) -> None:
    query = "SELECT placement, ratio, throughput_unit FROM compare('O', 'D') ORDER BY placement"
    mean_s = {"1x1": (362.45 * 365.10) ** 0.5, "1x4": (95.23 * 96.02) ** 0.5}
    assert ask(among.results, query) == [
        ("1x1", pytest.approx(1_000 / (350_000 / mean_s["1x1"])), "examples/s"),
        ("1x4", pytest.approx(3_200 / (350_000 / mean_s["1x4"])), "examples/s"),
    ]
    done = CliRunner().invoke(compare_command, ["O", "D", "--results", str(among.results)])
    assert (
        "imported, not measured by scalebench: O: whole trainings, whose times may contain start-up and validation"
        in done.output
    )


def test_it_cannot_be_resumed(take: Take, tmp_path: Path) -> None:
    imported(take, *RAVEN, "--session", "S", "--no-load")
    said = (
        "session S was imported from published_table.txt: it has no runs to resume; `bench summary S` shows it, and "
        "a new --session measures again"
    )
    for arguments in (["--resume", "S"], ["smoke", "--session", "S"]):
        done = CliRunner().invoke(suite_command, [*arguments, "--results", str(tmp_path / "r")])
        assert (type(done.exception), str(done.exception)) == (InputError, said)


def test_the_same_file_again_is_another_session(among: Loaded) -> None:
    assert len(ask(among.results, "FROM sessions WHERE suite = 'twice'")) == 2


def test_the_database_can_be_left_alone(take: Take, tmp_path: Path) -> None:
    done = imported(take, *RAVEN, "--session", "S", "--no-load")
    assert done.output == f"results: {tmp_path}/r/S\n"
    assert not (tmp_path / "r/results.duckdb").exists()


@pytest.mark.parametrize(
    "path",
    [path for path in EXAMPLES.iterdir() if path.is_file() and path.suffix not in (".yaml", ".sh")],
    ids=str,
)
def test_every_example_is_shown_on_the_page(path: Path) -> None:
    page = (ROOT / "docs/import.md").read_text(encoding="utf-8")
    assert path.name in page or path.name.startswith("job_")
    if path.name != "job_1gpu.out":
        assert path.read_text(encoding="utf-8") in page
