"""The scripts of docs/custom train under `bench run` as they are, and `bench` records what the pages say."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from processes import OneProcess

CUSTOM = Path(__file__).parents[2] / "docs" / "custom"
FACTS = """
WITH losses AS (
    SELECT
        list(DISTINCT rank ORDER BY rank) FILTER (isfinite(loss)) AS ranks_with_loss,
        list(DISTINCT rank ORDER BY rank) FILTER (loss IS NULL) AS ranks_without_loss
    FROM steps
)
SELECT examples_per_step, tokens_per_example, ranks_train, same_batch, losses.*
FROM runs, losses
"""


def on_two_ranks(one_process: OneProcess, folder: Path, script: str, *options: str) -> dict[str, Any]:
    """The facts of a short run of the script, which must be ok."""
    results = ["--results", str(folder / "r")]
    short = ["--world", "2", "--ranks-per-node", "2", "--repeats", "1", "--warmup", "3", "--steps", "4"]
    done = one_process.run("run", *short, *options, *results, "--", sys.executable, str(CUSTOM / script))
    assert done.returncode == 0, done.stdout + done.stderr
    (found,) = json.loads(one_process.run("sql", FACTS, *results, "--format", "json").stdout)
    facts: dict[str, Any] = found
    return facts


@pytest.mark.parametrize(
    ("script", "examples", "tokens"),
    [("gpt.py", 2 * 2 * 8, 64), ("gan.py", 2 * 128, None), ("graphs.py", 2 * 32, None)],
)
def test_an_example_trains_one_model_on_two_ranks(
    tmp_path: Path, one_process: OneProcess, script: str, examples: int, tokens: int | None
) -> None:
    assert on_two_ranks(one_process, tmp_path, script) == {
        "examples_per_step": examples,
        "tokens_per_example": tokens,
        "ranks_train": "one model",
        "same_batch": False,
        "ranks_with_loss": [0, 1],
        "ranks_without_loss": None,
    }


def test_in_a_pipeline_the_last_stage_has_the_loss_and_the_examples_of_a_shared_batch_are_given(
    tmp_path: Path, one_process: OneProcess
) -> None:
    found = on_two_ranks(one_process, tmp_path, "pipeline.py", "--examples-per-step", "128")
    assert found == {
        "examples_per_step": 256,
        "tokens_per_example": None,
        "ranks_train": None,
        "same_batch": None,
        "ranks_with_loss": [1],
        "ranks_without_loss": [0],
    }
