"""Ctrl-C while the sensor process starts: it goes on, and writes no traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import os, signal, sys
from pathlib import Path
from bench.measure.sensors.process import Sensors

signal.signal(signal.SIGINT, lambda *_: None)
sensors = Sensors.start(Path(sys.argv[1]))
os.killpg(0, signal.SIGINT)  # long before Python has started there
while not Path(sys.argv[1]).exists() and sensors.process.poll() is None:
    pass
sensors.stop()
sys.exit(sensors.process.returncode)
"""


def test_ctrl_c_does_not_reach_the_sensors_while_they_start(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "samples.raw")],
        capture_output=True, text=True, timeout=120, start_new_session=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
