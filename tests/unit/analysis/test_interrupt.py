"""If DuckDB does not return to Python, the process ends at once with a message, and no half-written file stays."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import sys
from pathlib import Path
from analysis.database import interrupt
from analysis.export.output_files import whole

folder = Path(sys.argv[1])
spilled = folder / "spilled"
spilled.mkdir()
(spilled / "rows").touch()
with interrupt.temporary(spilled), whole(folder / "rows.csv") as stream:
    stream.write(b"half")
    interrupt._end_at_once()
"""


def test_an_end_at_once_is_said_and_leaves_nothing_half_written(tmp_path):
    (tmp_path / "rows.csv").write_text("earlier\n")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, tmp_path], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr.strip()) == (130, "", "bench: stopped")
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]
    assert (tmp_path / "rows.csv").read_text() == "earlier\n"
