"""The examples of docs/custom train, and one rank and two train the same model."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from processes import OneProcess

CUSTOM = Path(__file__).parents[2] / "docs" / "custom"
PAGE = CUSTOM.parent / "own-training.md"
CASES = ["contrastive", "gpt", "graphs", "lines", "lstm"]
LOSSES = """
SELECT case_name, world_size, list(loss ORDER BY step) AS losses
FROM (
    SELECT case_name, world_size, step, avg(loss) AS loss
    FROM steps JOIN runs USING (session_id, run_id, attempt)
    GROUP BY ALL
)
GROUP BY ALL ORDER BY ALL
"""


@pytest.fixture(scope="module")
def losses(tmp_path_factory: pytest.TempPathFactory, one_process: OneProcess) -> dict[str, list[list[float]]]:
    """By case: the losses of every step, on one rank and on two."""
    folder = tmp_path_factory.mktemp("custom")
    shutil.copytree(CUSTOM, folder / "custom")
    results = ["--results", str(folder / "r")]
    for suite in ("custom", "graphs"):
        path = str(folder / f"custom/{suite}.yaml")
        done = one_process.run("suite", path, "--quick", "--ranks-per-node", "2", *results)
        assert done.returncode == 0, done.stderr
    found: dict[str, list[list[float]]] = {}
    for row in json.loads(one_process.run("sql", LOSSES, *results, "--format", "json").stdout):
        found.setdefault(row["case_name"], []).append(row["losses"])
    return found


@pytest.mark.parametrize("case", CASES)
def test_an_example_learns_the_same_on_one_rank_and_two(
    losses: dict[str, list[list[float]]], case: str
) -> None:
    one, two = losses[case]
    assert len(one) == 6
    assert one[0] != one[-1]
    assert two == pytest.approx(one, rel=1e-3)


def test_the_page_counts_the_lines_of_every_example() -> None:
    text = PAGE.read_text()
    for row in re.findall(r"^\| .*\]\(own/.*$", text, re.M):
        files = re.findall(r"\(custom/([a-z_]+\.py)\)", row)
        counts = [len([line for line in (CUSTOM / file).read_text().splitlines() if line]) for file in files]
        assert row.rsplit("|", 2)[1].strip() == ", ".join(map(str, counts)), row
