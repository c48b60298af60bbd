"""Scripts: their scaling is counted, copies are not judged, and advice is in their words."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis import summary
from analysis.loading.load import load
from bench.records.run_spec import RunSpec
from tests.factory import Case, make_session
from tests.profile_rows import Figures, add_profile
from tests.rewriting import rewrite_steps
from tests.unit.analysis.conftest import ask

OPTIONS: dict[str, Any] = {
    "command": ["python", "train.py"], "cwd": None, "env": {}, "step_optimizer": None, "examples_per_step": None,
    "script": None,
}  # fmt: skip
TIMES = {1: [100.0, 101.0, 102.0], 2: [110.0, 110.5, 112.0]}


def loaded(
    folder: Path,
    batches: dict[int, int],
    ranks_train: str | None = "one model",
    scaling: str = "counted",
    **case: Any,
) -> Path:
    """A session of a script. `batches`: the global batch at each number of ranks, 0 if it is not known."""
    made = Case(
        name="script",
        step_ms=TIMES,
        strategy="script",
        workload="command",
        options=OPTIONS,
        scaling="weak",
        **case,
    )
    for run in (make_session(folder, [made])).glob("*/run.json"):
        value = json.loads(run.read_text())
        spec, outcome = value["spec"], value["outcome"]
        size = spec["world_size"]
        spec |= {"scaling": scaling, "global_batch": batches[size], "batch_per_rank": batches[size] // size}
        outcome |= {
            "ranks_train": ranks_train if size > 1 else None,
            "examples_per_step": batches[size] or None,
        }
        run.write_text(json.dumps(value))
    session = next(folder.glob("*/session.json"))
    head = json.loads(session.read_text())
    for planned in head["plan"]:
        planned["scaling"] = scaling
    session.write_text(json.dumps(head))
    assert load(folder).problems == ()
    return folder


@pytest.mark.parametrize(
    ("batches", "mode"),
    [
        ({1: 64, 2: 64}, "strong"),
        ({1: 64, 2: 65}, "strong"),
        ({1: 64, 2: 128}, "weak"),
        ({1: 64, 2: 96}, "none"),
        ({1: 64, 2: 0}, "none"),
    ],
)
def test_scaling_is_what_the_batches_say(tmp_path: Path, batches: dict[int, int], mode: str) -> None:
    results = loaded(tmp_path, batches)
    assert ask(results, "SELECT DISTINCT scaling_mode FROM runs") == [{"scaling_mode": mode}]
    assert ask(results, "SELECT DISTINCT scaling_mode FROM planned_runs") == [{"scaling_mode": mode}]
    (row,) = ask(results, "SELECT speedup, efficiency FROM scaling WHERE workers = 2")
    assert (row["efficiency"] is None) is (mode == "none")


def test_the_user_may_say_the_scaling(tmp_path: Path) -> None:
    results = loaded(tmp_path, {1: 64, 2: 128}, scaling="strong")
    assert ask(results, "SELECT DISTINCT scaling_mode FROM runs") == [{"scaling_mode": "strong"}]


@pytest.mark.parametrize("scaling", ["counted", "weak"])
def test_independent_copies_have_neither_speedup_nor_efficiency(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], scaling: str
) -> None:
    results = loaded(tmp_path, {1: 64, 2: 128}, "independent copies", scaling=scaling)
    (row,) = ask(results, "SELECT speedup, efficiency, verdict, throughput FROM scaling WHERE workers = 2")
    assert (row["speedup"], row["efficiency"], row["verdict"]) == (None, None, "independent copies")
    assert row["throughput"] > 0
    (finding,) = ask(results, "SELECT severity FROM diagnosis WHERE finding = 'independent_copies'")
    assert finding["severity"] == "critical"
    summary.show(results, None, program="bench")
    said = capsys.readouterr().out
    assert "script on 2 ranks: independent copies of the model" in said
    assert "%" not in next(line for line in said.splitlines() if re.match(r"script +2 ", line))


def test_a_failed_profile_leaves_the_scaling_open(tmp_path: Path) -> None:
    results = loaded(tmp_path, {1: 64, 2: 128}, None)
    assert ask(results, "SELECT DISTINCT scaling_mode, verdict FROM scaling") == [
        {"scaling_mode": "none", "verdict": None}
    ]


def test_precision_and_accumulation_of_a_script_are_unknown(tmp_path: Path) -> None:
    results = loaded(tmp_path, {1: 64, 2: 128})
    assert ask(results, "SELECT DISTINCT precision, accumulate FROM runs") == [
        {"precision": None, "accumulate": None}
    ]


def test_advice_to_a_script_names_no_key_of_a_suite(tmp_path: Path) -> None:
    results = loaded(tmp_path, {1: 64, 2: 128}, shares=(0.6, 0.2, 0.1, 0.1))
    found = ask(results, "SELECT advice, options FROM findings WHERE finding = 'data_bound'")
    assert found
    for row in found:
        assert "num_workers of its DataLoader" in row["advice"]
        assert "data.workers" not in row["advice"]
        assert row["options"] is None


@pytest.mark.parametrize(
    ("words", "verb", "obeys"),
    [
        (["train.py", "--batch", "{batch_per_rank}"], "suite", True),
        (["train.py", "--batch", "64"], "suite", False),
        (["train.py", "--batch", "{batch_per_rank}"], "run", False),  # which has no --set
    ],
)
def test_advice_to_a_script_has_only_options_that_can_be_given(
    tmp_path: Path, words: list[str], verb: str, obeys: bool
) -> None:
    case = Case(
        name="script", step_ms={1: [4.9, 5.0, 5.1], 2: [7.9, 8.0, 8.1]}, scaling="weak", batch=32,
        strategy="script", workload="command", options=OPTIONS | {"command": ["python", *words]},
    )  # fmt: skip
    session = make_session(tmp_path, [case])

    def figures(spec: RunSpec, _rank: int) -> Figures:
        return (100, 0, 0, 90) if spec.world_size == 1 else (80, 30, 30, 42)

    add_profile(session, figures, {})
    for run in session.glob("*/run.json"):
        value = json.loads(run.read_text())
        value["outcome"]["ranks_train"] = "one model" if value["spec"]["world_size"] > 1 else None
        run.write_text(json.dumps(value))
    head = json.loads((session / "session.json").read_text())
    (session / "session.json").write_text(json.dumps(head | {"command": ["bench", verb, "mine"]}))
    assert load(tmp_path).problems == ()
    (found,) = ask(tmp_path, "SELECT advice, options FROM findings WHERE finding = 'small_batch'")
    assert found["advice"].startswith("Raise the global batch")
    assert (found["options"] is not None) is obeys


def test_only_the_first_line_of_an_error_is_a_reason(tmp_path: Path) -> None:
    made = Case(
        name="script", step_ms=TIMES, workload="command", options=OPTIONS, statuses={(2, 0): "failed"}
    )
    folder = make_session(tmp_path, [made])
    run = folder / "script.1x2.r0/run.json"
    value = json.loads(run.read_text())
    value["outcome"]["error"] = "the command ended with exit code 1\n  Traceback\n  ValueError"
    run.write_text(json.dumps(value))
    load(tmp_path)
    (row,) = ask(tmp_path, "SELECT reasons FROM coverage WHERE workers = 2")
    assert row["reasons"] == "the command ended with exit code 1"


def test_advice_for_a_loss_that_is_not_finite_names_no_learning_rate_of_ours(tmp_path: Path) -> None:
    """A script has an optimizer of its own."""
    loaded(tmp_path, {1: 64, 2: 128})
    session = next(tmp_path.glob("*/session.json")).parent
    rewrite_steps(session, "script.1x1.r1", {"loss": np.where(np.arange(12) < 6, 2.3, math.nan)})
    assert load(tmp_path).problems == ()
    (finding,) = ask(
        tmp_path, "SELECT advice, options FROM diagnosis WHERE finding = 'nonfinite_loss' LIMIT 1"
    )
    assert finding["advice"].startswith("Lower the learning rate, clip gradients")
    assert finding["options"] is None
