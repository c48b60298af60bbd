"""The callbacks of docs/scripts.md, as they are there, in scripts of the libraries that they are for."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from processes import Marked
from test_run_command import SCRIPTS

from tests.unit.analysis.conftest import ask

PAGE = Path(__file__).parents[2] / "docs/scripts.md"
BEGIN = "from __future__ import annotations\n"
WARMUP, STEPS, PROFILED, RANKS = 2, 6, 2, 2


def callback(name: str) -> str:
    """The class from the page."""
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    classes = [part for block in blocks for part in re.split(r"^(?=class )", block, flags=re.MULTILINE)]
    (found,) = [part for part in classes if part.startswith(f"class {name}(")]
    return found


def run(folder: Path, script: str, name: str, before: str) -> tuple[list[list[float]], list[list[str]]]:
    """Losses of each rank, and the lines of its log, of a script with the callback `name` in the arguments after
    `before`."""
    text = (SCRIPTS / script).read_text()
    assert text.count(BEGIN) == text.count(before) == 1
    text = text.replace(BEGIN, f"{BEGIN}import bench_probe, lightning, transformers\n{callback(name)}")
    (folder / "train.py").write_text(text.replace(before, f"{before} callbacks=[{name}()],"))
    marked = Marked(folder)
    done = marked.run(
        "run", "--world", str(RANKS), "--repeats", "1", "--warmup", str(WARMUP), "--steps", str(STEPS),
        "--ranks-per-node", str(RANKS), "--session", "s", "--results", str(folder / "r"),
        "--", sys.executable, "train.py", cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert marked.left() == []
    rows = ask(
        folder / "r", "SELECT list(loss ORDER BY step) AS losses FROM steps GROUP BY rank ORDER BY rank"
    )
    (run,) = (folder / "r/s").glob("script.*")
    logs = [(run / f"rank{rank}.log").read_text().splitlines() for rank in range(RANKS)]
    return [row["losses"] for row in rows], logs


def test_the_callback_for_the_trainer_of_transformers_ends_its_steps(tmp_path: Path) -> None:
    recorded, logs = run(tmp_path, "hf_trainer.py", "HfSteps", "args=arguments,")
    assert [len(losses) for losses in recorded] == [WARMUP + STEPS + PROFILED] * RANKS
    shown = [float(loss) for loss in re.findall(r"'loss': '([\d.]+)'", "\n".join(logs[0]))]
    means = [sum(losses) / RANKS for losses in zip(*recorded, strict=True)]
    assert means[:-1] == pytest.approx(shown[1:], abs=6e-4)  # the script ends before it prints the last one
    (found,) = ask(tmp_path / "r", "SELECT recorded_by, batch_per_rank, ranks_train FROM runs")
    how = json.loads(found["recorded_by"])
    assert (how["step"], how["examples"]) == ("bench_probe.step", "given to bench_probe.step")
    assert (found["batch_per_rank"], found["ranks_train"]) == (8, "one model")


def test_the_callback_for_lightning_ends_its_steps(tmp_path: Path) -> None:
    recorded, logs = run(tmp_path, "lightning_module.py", "LightningSteps", "accumulate_grad_batches=2,")
    assert [len(losses) for losses in recorded] == [WARMUP + STEPS + PROFILED] * RANKS
    for losses, log in zip(recorded, logs, strict=True):
        shown = [float(line.split()[1]) for line in log if line.startswith("LOSS")]
        pairs = [sum(shown[at : at + 2]) / 2 for at in range(2, len(shown), 2)]
        assert losses == pytest.approx(pairs, rel=1e-6)
    (found,) = ask(tmp_path / "r", "SELECT recorded_by, batch_per_rank, ranks_train FROM runs")
    how = json.loads(found["recorded_by"])
    assert (how["step"], how["examples"]) == (
        "bench_probe.step",
        "first dimension of the DataLoader's batches",
    )
    assert (found["batch_per_rank"], found["ranks_train"]) == (16, "one model")
