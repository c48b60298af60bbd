"""Every suite that ships runs unchanged, with --quick and one repeat: runs that this machine can host are ok, the
others say why not."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.browser import Browser
from tests.e2e.processes import Marked, OneProcess
from tests.e2e.report_pages import open_sections
from tests.e2e.test_hostile_folder import HOSTILE_TO_A_MODULE, hostile_folder

ROOT = Path(__file__).parents[2]
TWO = ("--world", "2")
MORE = {
    **dict.fromkeys(("comm_options", "ddp_vs_fsdp", "text_scaling"), TWO),
    "mesh_sweep": ("--set", "measure.warmup=1", "--set", "measure.steps=2"),
    "model_sweep": (*TWO, "--case", "ddp~preset=10m", "--case", "fsdp~preset=350m", "--case", "*_recompute"),
}
"""Suite -> more options. Each case of these has one rank and two. Two show all that a case can fail with, and
test_parity.py trains on one. tests/unit/workloads/test_transformer.py makes the model of each preset. A step of a
mesh takes long, and test_mesh_parity.py takes several."""
ELSEWHERE = {"smoke": "test_quickstart.py"}
"""Suite -> test that runs it with --quick."""
SUITES = sorted(path.stem for path in (ROOT / "suites").glob("*.yaml") if path.stem not in ELSEWHERE)


@pytest.fixture(scope="module")
def marked(tmp_path_factory: pytest.TempPathFactory) -> Marked:
    return Marked(tmp_path_factory.mktemp("temporary"))


@pytest.fixture(scope="module")
def ended(
    tmp_path_factory: pytest.TempPathFactory, marked: Marked
) -> tuple[Path, dict[str, subprocess.CompletedProcess[str]]]:
    """The results folder, and how each suite ended, called in a folder with hostile files."""
    folder = tmp_path_factory.mktemp("shipped")
    imported = hostile_folder(folder, HOSTILE_TO_A_MODULE)
    of_all = ("--quick", "--repeats", "1", "--results", str(folder / "results"), "--no-load")
    with OneProcess(marked.environment) as one_process:
        done = {
            suite: one_process.run(
                "suite", suite, "--session", suite, *of_all, *MORE.get(suite, ()), cwd=folder
            )
            for suite in SUITES
        }
    assert marked.left() == []
    assert not imported.exists(), imported.read_text()
    return folder / "results", done


@pytest.fixture(scope="module")
def results(ended: tuple[Path, dict[str, subprocess.CompletedProcess[str]]], marked: Marked) -> Path:
    """The results folder with a database."""
    loaded = marked.run("load", str(ended[0]))
    assert loaded.returncode == 0, loaded.stderr
    return ended[0]


@pytest.mark.parametrize("suite", SUITES)
def test_a_suite_that_ships_runs_with_quick(
    suite: str, ended: tuple[Path, dict[str, subprocess.CompletedProcess[str]]]
) -> None:
    folder, done = ended[0] / suite, ended[1][suite]
    runs = {path.parent.name: json.loads(path.read_text()) for path in folder.glob("*/run.json")}
    ends = {name: run["outcome"] for name, run in runs.items()}
    statuses = [end["status"] for end in ends.values()]
    wrong = {name: run["outcome"]["error"] for name, run in runs.items() if not _well(run)}
    assert (done.returncode, wrong) == (0, {}), done.stderr[-3000:]
    assert "ok" in statuses
    assert [name for name, end in ends.items() if end["status"] == "skipped" and not end["error"]] == []
    planned = {run["run_id"] for run in json.loads((folder / "session.json").read_text())["plan"]}
    assert planned <= ends.keys()


def test_compilation_is_timed_and_lies_in_no_measured_step(results: Path) -> None:
    ends = {
        case: json.loads((results / "precision_sweep" / f"{case}.1x1.r0" / "run.json").read_text())["outcome"]
        for case in ("compiled", "fused")
    }
    assert 0 < ends["compiled"]["compile_s"] < ends["compiled"]["elapsed_s"]
    assert ends["compiled"]["measured_recompiles"] == 0
    assert (ends["fused"]["compile_s"], ends["fused"]["measured_recompiles"]) == (None, None)


def test_their_report_is_drawn_without_a_word_in_the_console(
    results: Path, marked: Marked, browser: Browser, tmp_path: Path
) -> None:
    done = marked.run("report", "--results", str(results), "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    browser.screen(1280)
    pages = sorted(tmp_path.glob("*.html"))
    sessions = [path.name for path in results.iterdir() if path.is_dir()]
    assert sorted(path.stem for path in pages if path.stem != "index") == sorted(sessions)
    browser.console()
    for page in pages:
        browser.open(page)
        open_sections(browser)
        states = browser.run(
            "return [...document.querySelectorAll('figure.chart')].map((one) => one.dataset.state)"
        )
        assert set(states) <= {"drawn"}, page.name
        assert browser.console() == [], page.name


MESSAGES = """
WITH profiled AS (
    SELECT
        case_name, op,
        sum(calls) / count(DISTINCT (run_id, step)) AS seen,
        sum(message_bytes) / count(DISTINCT (run_id, step)) AS seen_bytes
    FROM profile_collectives
    JOIN (SELECT session_id, run_id, case_name, world_size FROM runs) USING (session_id, run_id)
    WHERE session_id = 'comm_options' AND rank = 0 AND world_size = 2
    GROUP BY case_name, op
),
expected AS (
    SELECT case_name, op, sum(messages) AS messages, sum(message_bytes) AS message_bytes
    FROM message_times
    WHERE session_id = 'comm_options' AND kind = 'measured' AND world_size = 2
    GROUP BY case_name, op
)
SELECT * FROM expected LEFT JOIN profiled USING (case_name, op) WHERE messages > 0
"""


def test_a_rank_sends_the_messages_that_predictions_suppose(results: Path, marked: Marked) -> None:
    done = marked.run("sql", MESSAGES, "--results", str(results), "--format", "json")
    rows = json.loads(done.stdout)
    assert {(row["case_name"], row["op"]) for row in rows} >= {
        ("ddp_bf16", "all_reduce"),
        ("fsdp", "all_gather"),
        ("fsdp_grad_op", "all_gather"),
        ("fsdp_bf16_reduction", "reduce_scatter"),
    }
    wrong = [
        row for row in rows if (row["seen"], row["seen_bytes"]) != (row["messages"], row["message_bytes"])
    ]
    assert wrong == []


def _well(run: dict[str, Any]) -> bool:
    """Whether a run ended well; a probing run may find that its micro-batch does not fit."""
    return run["outcome"]["status"] in (("ok", "oom") if run["spec"]["probe"] else ("ok", "skipped"))
