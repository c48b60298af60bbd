"""Where DuckDB does not return to Python, the process ends at once: said, and nothing half-written stays."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import sys
from pathlib import Path
from analysis import stopping
from analysis.export.files import whole

folder = Path(sys.argv[1])
spilled = folder / "spilled"
spilled.mkdir()
(spilled / "rows").touch()
with stopping.temporary(spilled), whole(folder / "rows.csv") as stream:
    stream.write(b"half")
    stopping._end_at_once()
"""


def test_an_end_at_once_is_said_and_leaves_nothing_half_written(tmp_path):
    (tmp_path / "rows.csv").write_text("earlier\n")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, tmp_path], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr.strip()) == (130, "", "bench: stopped")
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]
    assert (tmp_path / "rows.csv").read_text() == "earlier\n"
