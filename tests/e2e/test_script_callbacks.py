"""The callbacks of docs/scripts.md, as they are there, in scripts of the libraries that they are for."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from processes import KEEPS_GARBAGE, Marked
from test_run_command import BEGIN, SCRIPTS

from tests.unit.analysis.conftest import ask

PAGE = Path(__file__).parents[2] / "docs/scripts.md"
WARMUP, STEPS, PROFILED, RANKS = 2, 6, 2, 2


def callback(name: str) -> str:
    """The class from the page."""
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    classes = [part for block in blocks for part in re.split(r"^(?=class )", block, flags=re.MULTILINE)]
    (found,) = [part for part in classes if part.startswith(f"class {name}(")]
    return found


def with_callback(folder: Path, script: str, name: str, before: str) -> dict[str, Any]:
    """A case of a suite: the script with the callback `name` in the arguments after `before`."""
    text = (SCRIPTS / script).read_text()
    assert text.count(BEGIN) == text.count(before) == 1
    text = text.replace(
        BEGIN, f"{BEGIN}{KEEPS_GARBAGE}import bench_probe, lightning, transformers\n{callback(name)}"
    )
    (folder / script).write_text(text.replace(before, f"{before} callbacks=[{name}()],"))
    command = {"name": "command", "command": [sys.executable, script]}
    return {"name": Path(script).stem, "world": [RANKS], "workload": command}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a session `s` of both scripts."""
    folder = tmp_path_factory.mktemp("callbacks")
    measure = {"warmup": WARMUP, "steps": STEPS, "repeats": 1}
    cases = [
        with_callback(folder, "hf_trainer.py", "HfSteps", "args=arguments,"),
        with_callback(folder, "lightning_module.py", "LightningSteps", "accumulate_grad_batches=2,"),
    ]
    suite = {"title": "Callbacks", "measure": measure, "workload": {"name": "command"}, "cases": cases}
    (folder / "callbacks.yaml").write_text(json.dumps(suite))  # JSON is YAML
    marked = Marked(folder)
    words = ("--ranks-per-node", str(RANKS), "--session", "s", "--results", str(folder / "r"))
    done = marked.run("suite", str(folder / "callbacks.yaml"), *words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert marked.left() == []
    return folder / "r"


def found(results: Path, case: str) -> tuple[dict[str, Any], list[list[float]], list[list[str]]]:
    """The run of a case, losses of each rank, and the lines of its log."""
    run = f"{case}.1x{RANKS}.r0"
    (row,) = ask(results, f"FROM runs WHERE run_id = '{run}'")
    assert row["status"] == "ok", row["error"]
    losses = f"SELECT list(loss ORDER BY step) AS losses FROM steps WHERE run_id = '{run}' GROUP BY rank ORDER BY rank"
    logs = [(results / "s" / run / f"rank{rank}.log").read_text().splitlines() for rank in range(RANKS)]
    return row, [rank["losses"] for rank in ask(results, losses)], logs


def test_the_callback_for_the_trainer_of_transformers_ends_its_steps(results: Path) -> None:
    run, recorded, logs = found(results, "hf_trainer")
    assert [len(losses) for losses in recorded] == [WARMUP + STEPS + PROFILED] * RANKS
    shown = [float(loss) for loss in re.findall(r"'loss': '([\d.]+)'", "\n".join(logs[0]))]
    means = [sum(losses) / RANKS for losses in zip(*recorded, strict=True)]
    assert means[:-1] == pytest.approx(shown[1:], abs=6e-4)  # the script ends before it prints the last one
    how = json.loads(run["recorded_by"])
    assert (how["step"], how["examples"]) == ("bench_probe.step", "given to bench_probe.step")
    assert (run["batch_per_rank"], run["ranks_train"]) == (8, "one model")


def test_the_callback_for_lightning_ends_its_steps(results: Path) -> None:
    run, recorded, logs = found(results, "lightning_module")
    assert [len(losses) for losses in recorded] == [WARMUP + STEPS + PROFILED] * RANKS
    for losses, log in zip(recorded, logs, strict=True):
        shown = [float(line.split()[1]) for line in log if line.startswith("LOSS")]
        pairs = [sum(shown[at : at + 2]) / 2 for at in range(2, len(shown), 2)]
        assert losses == pytest.approx(pairs, rel=1e-6)
    how = json.loads(run["recorded_by"])
    assert (how["step"], how["examples"]) == (
        "bench_probe.step",
        "by the loader's indices",
    )
    assert (run["batch_per_rank"], run["ranks_train"]) == (16, "one model")
