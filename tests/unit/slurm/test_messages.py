"""The messages that docs/cluster.md explains are those of the code."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
NOT_IN_ONE_PIECE = {
    "Transport endpoint is not connected",  # the kernel's
    "Error changing the container working directory",  # Apptainer's
    "stopped by the file STOP",  # tests/e2e/cluster/test_batch_job.py sees it
}


def source() -> str:
    """Source of bench and analysis, without values; strings over several lines are joined as Python joins them."""
    files = [*ROOT.glob("bench/**/*.py"), *ROOT.glob("analysis/**/*.py")]
    python = re.sub(r'"\s*\n\s*f?"', "", "\n".join(path.read_text() for path in files))
    script = (ROOT / "bench/slurm/batch.sh").read_text().replace("$program", "apptainer")
    return re.sub(r"\{[^{}]*\}", "", python) + script


def test_every_message_that_is_explained_is_one_of_ours() -> None:
    table = (ROOT / "docs/cluster.md").read_text().partition("\n| message | what to do |\n")[2]
    cells = re.findall(r"^\| (.+?) \|", table, re.MULTILINE)[1:]
    parts = {
        part.strip()
        for cell in cells
        for shown in re.findall(r"`([^`]+)`", cell)
        for part in shown.split("…")
    }
    code = source()
    missing = {part for part in parts - NOT_IN_ONE_PIECE if part not in code}
    assert (len(parts) > 15, missing) == (True, set())
