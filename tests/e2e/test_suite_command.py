"""bench suite as a user runs it: from the suite file to the answer, and every kind of refusal."""

from __future__ import annotations

import json
import re
from pathlib import Path

import duckdb
import pytest
from processes import Marked, OneProcess

SUITE = """
title: Spirals
why: Does the command do what it says?
workload: {name: spiral_mlp}
device: cpu
measure: {warmup: 2, steps: 10, repeats: 2, timeout_s: 60}
cases:
  - {name: single, strategy: single, scaling: none, batch_per_rank: 32, world: [1]}
  - {name: ddp, strategy: ddp, scaling: strong, global_batch: 32, world: [1, 2, 4], train: {accumulate: 2}}
"""
SENTINEL = "kept-to-itself-"
SECRET_NAMES = (
    "HF_TOKEN", "WANDB_API_KEY", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "MY_PASSWD", "CREDENTIALS", "BASIC_AUTH",
    "NCCL_PRIVATE_KEY", "SLURM_JWT", "SCALEBENCH_TOKEN",
)  # fmt: skip


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Marked, str]:
    """One session on two slots: 1 and 2 ranks run, 4 are skipped."""
    folder = tmp_path_factory.mktemp("suite")
    (folder / "spirals.yaml").write_text(SUITE)
    marked = Marked(folder)
    marked.environment |= {name: f"{SENTINEL}{name}" for name in SECRET_NAMES}
    done = marked.run(*command(folder), "--session", "first", "--tag", "mine")
    assert done.returncode == 0, done.stderr
    return folder, marked, done.stdout


def command(folder: Path) -> list[str]:
    return ["suite", str(folder / "spirals.yaml"), "--results", str(folder / "r"), "--ranks-per-node", "2"]


def test_it_ends_with_rows_loaded_a_table_a_sentence_and_the_path(session: tuple[Path, Marked, str]) -> None:
    folder, _, printed = session
    lines = printed.splitlines()
    assert lines[0].startswith("1 session, 8 runs, 96 step rows loaded into")
    assert "efficiency [95 %]" in printed
    assert "ddp 1x4: 2 skipped: needs 4 slots, this machine has 2" in printed
    assert re.match(
        r"(No gain shown: )?ddp on 2 ranks( is (\d|faster|slower)|: too noisy| may be faster or slower)",
        lines[-3],
    )
    assert lines[-2] == f"results: {folder}/r/first"
    assert lines[-1].endswith(f" report first --open --results {folder}/r")


def test_every_rank_and_step_is_a_row(session: tuple[Path, Marked, str]) -> None:
    folder, marked, _ = session
    query = "SELECT run_id, rank, count(*) AS n, max(step) AS last FROM steps GROUP BY ALL ORDER BY ALL"
    done = marked.run("sql", query, "--results", str(folder / "r"), "--format", "json")
    rows = [(row["run_id"], row["rank"], row["n"], row["last"]) for row in json.loads(done.stdout)]
    single = [("single.1x1.r0", 0), ("single.1x1.r1", 0)]
    ddp = [
        ("ddp.1x1.r0", 0),
        ("ddp.1x1.r1", 0),
        *[(f"ddp.1x2.r{k}", rank) for k in (0, 1) for rank in (0, 1)],
    ]
    assert rows == [(run, rank, 12, 11) for run, rank in sorted(single + ddp)]


def test_phases_add_up_and_steps_follow_each_other(session: tuple[Path, Marked, str]) -> None:
    folder, _, _ = session
    with duckdb.connect(str(folder / "r/results.duckdb"), read_only=True) as connection:
        wrong = connection.sql(
            "SELECT count(*) FROM (SELECT *, lag(start_ns + step_ns) OVER run AS before FROM steps"
            " WINDOW run AS (PARTITION BY run_id, rank ORDER BY step))"
            " WHERE step_ns <> data_ns + forward_ns + backward_ns + optimizer_ns OR start_ns < before"
        ).fetchall()
    assert wrong == [(0,)]


def test_validation_and_sensors_have_rows(session: tuple[Path, Marked, str]) -> None:
    folder, _, _ = session
    with duckdb.connect(str(folder / "r/results.duckdb"), read_only=True) as connection:
        evals = connection.sql(
            "SELECT count(*), min(val_accuracy) > 0.2, min(step) FROM evals WHERE session_id = 'first'"
        ).fetchall()
        facts = dict(
            connection.sql("FROM environment SELECT key, value WHERE session_id = 'first'").fetchall()
        )
        tags = connection.sql("SELECT tags FROM sessions WHERE session_id = 'first'").fetchall()
    assert evals == [(6, True, 12)]
    assert facts["torch"].startswith("2.")
    assert tags == [(["mine"],)]


def test_the_same_session_again_does_nothing_twice(session: tuple[Path, Marked, str]) -> None:
    folder, marked, _ = session
    done = marked.run(*command(folder), "--session", "first", "--tag", "mine")
    assert done.returncode == 0, done.stderr
    assert "ok " not in done.stderr
    assert "every run of its plan is done" in done.stderr
    assert "loading torch" not in done.stderr
    assert not list((folder / "r/first").glob("*/attempt*"))


def test_the_same_session_name_with_other_options_is_refused(
    session: tuple[Path, Marked, str], one_process: OneProcess
) -> None:
    folder, _, _ = session
    done = one_process.run(*command(folder), "--session", "first", "--set", "measure.steps=11")
    assert done.returncode == 2
    assert "session first was begun with another suite or other options" in done.stderr


def test_a_resume_refuses_options_that_it_would_ignore(
    session: tuple[Path, Marked, str], one_process: OneProcess
) -> None:
    folder, _, _ = session
    done = one_process.run("suite", "--resume", "first", "--results", str(folder / "r"), "--repeats", "5")
    assert done.returncode == 2
    assert "leave out --repeats" in done.stderr


def test_a_resume_of_a_misspelt_session_names_the_nearest(
    session: tuple[Path, Marked, str], one_process: OneProcess
) -> None:
    folder, _, _ = session
    done = one_process.run("suite", "--resume", "frist", "--results", str(folder / "r"))
    assert done.returncode == 2
    assert f"{folder / 'r'}: no session 'frist': did you mean first?" in done.stderr
    assert not (folder / "r/frist").exists()


def test_json_carries_the_scaling_rows_and_oversubscribed_runs_are_marked_and_get_no_verdict(
    session: tuple[Path, Marked, str], one_process: OneProcess
) -> None:
    folder, _, _ = session
    more = ["--case", "ddp", "--world", "1,4", "--oversubscribe", "--json", "--session", "crowded"]
    answer = json.loads(one_process.run(*command(folder), *more).stdout)
    assert answer["statuses"] == {"ok": 4}
    alone, crowded = answer["scaling"]
    assert [(row["case_name"], row["workers"], row["repeats"]) for row in (alone, crowded)] == [
        ("ddp", 1, 2),
        ("ddp", 4, 2),
    ]
    assert (alone["oversubscribed"], crowded["oversubscribed"]) == (False, True)
    assert crowded["verdict"] is None
    assert crowded["throughput"] > 0


def test_a_dry_run_shows_the_plan_and_writes_nothing(tmp_path: Path, one_process: OneProcess) -> None:
    (tmp_path / "spirals.yaml").write_text(SUITE)
    done = one_process.run(*command(tmp_path), "--dry-run")
    assert done.returncode == 0
    assert "6 runs, 2 skipped" in done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["spirals.yaml"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ("steps: 10", "stepz: 10"),
            "spirals.yaml:6:22: unknown key 'stepz' in measure; did you mean steps?",
        ),
        (
            ("global_batch: 32", "global_batch: 33"),
            "spirals.yaml:9:63: case ddp: global_batch 33 does not divide among 2",
        ),
        (("spiral_mlp", "spiral_mpl"), "spiral_mlp"),
        (("{name: spiral_mlp}", "{name: mnist_cnn}\ndata: {source: mnist}"), "MNIST"),
        (("device: cpu", "device: cuda"), "needs a GPU, this machine has none: --device cpu runs it without"),
    ],
)
def test_bad_input_gets_one_message_and_nothing_is_written(
    tmp_path: Path, one_process: OneProcess, change: tuple[str, str], message: str
) -> None:
    (tmp_path / "spirals.yaml").write_text(SUITE.replace(*change))
    done = one_process.run(*command(tmp_path))
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("more", [["--world", "4", "--dry-run"], ["--results", "what?", "--dry-run"]])
def test_a_dry_run_refuses_what_a_run_would_refuse(
    tmp_path: Path, one_process: OneProcess, more: list[str]
) -> None:
    (tmp_path / "spirals.yaml").write_text(SUITE)
    assert one_process.run(*command(tmp_path), "--case", "ddp", *more).returncode == 2


def test_results_that_cannot_be_written_are_refused(tmp_path: Path, one_process: OneProcess) -> None:
    (tmp_path / "spirals.yaml").write_text(SUITE)
    (tmp_path / "r").write_text("a file, not a folder")
    done = one_process.run(*command(tmp_path))
    assert done.returncode == 2
    assert "results cannot be written" in done.stderr


def test_a_compute_node_needs_nothing_of_the_analysis(tmp_path: Path) -> None:
    (tmp_path / "spirals.yaml").write_text(SUITE)
    names = ("altair", "duckdb", "polars", "pylatexenc", "scipy", "vl_convert")
    absent = f"import sys\nfor name in {names}: sys.modules[name] = None\n"
    (tmp_path / "sitecustomize.py").write_text(absent)
    marked = Marked(tmp_path)
    marked.environment["PYTHONPATH"] = str(tmp_path)
    done = marked.run(*command(tmp_path), "--repeats", "1")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("results: ")
    refused = marked.run("load", str(tmp_path / "r"))
    assert (refused.returncode, refused.stderr) == (
        2,
        "error: this command needs duckdb: install scalebench[analysis]\n",
    )
    del marked.environment["PYTHONPATH"]
    assert "1 session, 4 runs, 48 step rows" in marked.run("load", str(tmp_path / "r")).stdout


def test_no_file_of_a_session_holds_a_secret_of_the_environment(session: tuple[Path, Marked, str]) -> None:
    folder, marked, printed = session
    results = str(folder / "r")
    done = marked.run("report", "first", "--results", results, "--out", str(folder / "public"))
    assert done.returncode == 0, done.stderr
    files = [path for name in ("r", "public") for path in (folder / name).rglob("*") if path.is_file()]
    assert {"session.json", "rank0.log", "results.duckdb", "first.html"} <= {path.name for path in files}
    assert [path for path in files if SENTINEL.encode() in path.read_bytes()] == []
    assert SENTINEL not in printed
